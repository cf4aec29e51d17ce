import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, stripVTControlCharacters } from 'node:util';
import { type Bug, bugs } from './bugs.ts';

/**
 * Plants one mistake after the other into a copy of the tree and runs the rig there that must find it; where that one does not,
 * the others. What survives is a hole in the rigs. A rig that breaks (the mistake does not even load) or takes too long has found
 * nothing. `--only TEXT` takes those whose name contains it, `--from N` those from the Nth on. `--minutes N` (20) bounds the whole:
 * what did not get its turn is printed as such, and counts as not killed.
 */
const root = fileURLToPath(new URL('../../', import.meta.url));

type Rig = Exclude<Bug['rig'], 'suite'>;

const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config'];

const commands: Record<Rig, string[]> = {
  search: ['proof/search/search.ts', '--first'],
  simulation: ['proof/simulation/simulate.ts', '--seeds', '50', '--seconds', '60', '--first'],
  properties: [...vitest, 'vitest.properties.config.ts', '-t', 'at once|many callers'],
  history: ['proof/processes/kill-loop.ts', '--seed', '5', '--loops', '3', '--clients', '8'],
};

/** The same on the tree as it is, where nothing ends the simulation early: a few of its seeds and the kept ones. */
const sound: Record<Rig, string[]> = {
  ...commands,
  simulation: ['proof/simulation/simulate.ts', '--seeds', '8', '--seconds', '20', '--first'],
};

/** The commands that must fail with the mistake: that of its rig first, for a mistake of the money path the others after it. */
function rigsOf({ rig, test, story }: Bug): [Bug['rig'], string[]][] {
  if (rig === 'suite') return [[rig, [...vitest, 'vitest.suite.config.ts', test ?? '']]];
  if (story !== undefined) return [[rig, [...commands[rig], `--${story}`]]];
  const others = (['search', 'simulation'] as const).filter((one) => one !== rig);
  return [rig, ...others].map((one) => [one, commands[one]]);
}

/** A rig finds a mistake in seconds, and the whole of a rig takes a minute on two quiet cores: this ends a rig that hangs. */
const longestMs = 900_000;

/** Slow rigs first: a run that its bound cuts short has then seen what takes long. */
const order = ['simulation', 'history', 'properties', 'suite', 'search'] as const;

/** Two processes over one PostgreSQL, in the copy. */
const configOf = (include: string): string => `export default { test: { include: ['${include}'],
  globalSetup: ['testkit/src/global-setup.ts'], testTimeout: 60000, hookTimeout: 60000, bail: 1 } };`;

export interface Planted {
  bug: Bug;
  /** The rig that found it, and what it said; null: none did. */
  found: { rig: Bug['rig']; says: string } | null;
  seconds: number;
}

interface Options {
  say(line: string): void;
  only: string;
  from: number;
  /** For all of it. */
  withinMs: number;
}

/** Whether the code has the line that the mistake replaces. */
export const applies = async (bug: Bug): Promise<boolean> =>
  (await readFile(join(root, bug.file), 'utf8')).split(bug.line).length === 2;

export async function plantAll({ say, only, from, withinMs }: Options): Promise<Planted[]> {
  const until = performance.now() + withinMs;
  const wanted = bugs.filter(({ name }, at) => name.includes(only) && at >= from);
  const results: Planted[] = [];
  const copy = await mkdtemp(join(tmpdir(), 'vintem-planted-'));
  try {
    await copyTree(copy);
    await writeFile(join(copy, 'vitest.properties.config.ts'), configOf('proof/properties/*.test.ts'));
    await writeFile(join(copy, 'vitest.suite.config.ts'), configOf('server/**/*.test.ts'));
    const drifted: string[] = [];
    for (const bug of wanted) if (!(await applies(bug))) drifted.push(`${bug.file}: "${bug.name}"`);
    if (drifted.length > 0) throw new Error(`lines that the code does not have:\n${drifted.join('\n')}`);
    for (const rig of order) {
      const those = wanted.filter((bug) => bug.rig === rig);
      if (those.length === 0) continue;
      // A rig that fails on the tree as it is says nothing about a mistake.
      const commandsOfRig =
        rig === 'suite'
          ? new Map(those.map((bug) => [bug.test, rigsOf(bug)[0]?.[1] ?? []])).values()
          : [sound[rig]];
      for (const command of commandsOfRig) {
        const began = performance.now();
        const verdict = await run(copy, command, until);
        if (verdict.kind !== 'passed') throw new Error(`${rig} fails without any bug: ${verdict.says}`);
        say(`${rig} is sound (${secondsSince(began)} s)`);
      }
      for (const bug of those) {
        const planted = await plant(bug, copy, until, say);
        results.push(planted);
        say(row(planted));
      }
    }
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
  return results;
}

/** The packages of the project in the copy are the copy's own: a link into the tree as it is would run code without the mistake. */
export async function copyTree(copy: string, more: readonly string[] = []): Promise<void> {
  // Tests read pages as well.
  const parts = [
    'server',
    'simulator',
    'testkit',
    'proof',
    'contract',
    'docs',
    'tsconfig.json',
    'package.json',
  ];
  for (const part of [...parts, ...more])
    await cp(join(root, part), join(copy, part), {
      recursive: true,
      filter: (source) => !source.includes('node_modules'),
    });
  for (const modules of ['server/node_modules', 'proof/node_modules'])
    if (existsSync(join(root, modules))) await symlink(join(root, modules), join(copy, modules));
  await mkdir(join(copy, 'node_modules/@vintem'), { recursive: true });
  for (const name of await readdir(join(root, 'node_modules')))
    if (name !== '@vintem') await symlink(join(root, 'node_modules', name), join(copy, 'node_modules', name));
  for (const name of await readdir(join(root, 'node_modules/@vintem'))) {
    const own = existsSync(join(copy, name)) ? copy : root;
    await symlink(join(own, name), join(copy, 'node_modules/@vintem', name));
  }
}

async function plant(bug: Bug, copy: string, until: number, say: Options['say']): Promise<Planted> {
  const began = performance.now();
  const path = join(copy, bug.file);
  const whole = await readFile(path, 'utf8');
  await writeFile(
    path,
    whole.replace(bug.line, () => bug.with),
  );
  let found: Planted['found'] = null;
  for (const [rig, command] of rigsOf(bug)) {
    const verdict = await run(copy, command, until);
    if (verdict.kind === 'broken') say(`  ${rig} says nothing of "${bug.name}": ${verdict.says}`);
    if (verdict.kind !== 'failed') continue;
    found = { rig, says: verdict.says };
    break;
  }
  await writeFile(path, whole);
  return { bug, found, seconds: secondsSince(began) };
}

const secondsSince = (began: number): number => Math.round((performance.now() - began) / 100) / 10;

const row = ({ bug, found, seconds }: Planted): string =>
  `| ${bug.name} | ${found?.rig ?? 'SURVIVED'} | ${seconds} | ${found?.says.replaceAll('|', '/') ?? ''} |`;

export type Verdict = { kind: 'passed' } | { kind: 'failed' | 'broken'; says: string };

/** Runs a rig to its end. `failed`: it names what does not hold; `broken`: it ended otherwise, and proves nothing. */
export function run(folder: string, command: string[], until: number): Promise<Verdict> {
  const mayTakeMs = Math.min(longestMs, until - performance.now());
  if (mayTakeMs <= 0) return Promise.resolve({ kind: 'broken', says: 'the time for all of it is over' });
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, command, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    const keep = (chunk: Buffer) => {
      text += chunk.toString();
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    const late = setTimeout(() => child.kill('SIGKILL'), mayTakeMs);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(late);
      if (code === 0) return resolve({ kind: 'passed' });
      if (signal) return resolve({ kind: 'broken', says: `no end within ${Math.round(mayTakeMs / 1000)} s` });
      const lines = stripVTControlCharacters(text)
        .split('\n')
        .map((one) => one.trim());
      const says = lines.find((one) =>
        /^(?:Caused by: )?(VIOLATION|NO END|invariant |AssertionError|RangeError)/.test(one),
      );
      if (says) return resolve({ kind: 'failed', says: says.slice(0, 140) });
      const last = lines.find((one) => /Error\b/.test(one)) ?? lines.at(-1);
      resolve({ kind: 'broken', says: `exit ${code}: ${last?.slice(0, 140)}` });
    });
  });
}

if (import.meta.main) {
  const { values: given } = parseArgs({
    options: {
      minutes: { type: 'string', default: '20' },
      only: { type: 'string', default: '' },
      from: { type: 'string', default: '0' },
    },
  });
  const began = performance.now();
  const minutes = Number(given.minutes);
  const results = await plantAll({
    say: console.log,
    only: given.only,
    from: Number(given.from),
    withinMs: minutes * 60_000,
  });
  const killed = results.filter(({ found }) => found !== null).length;
  console.log(`\n| Mistake | Killed by | Seconds | What it said |\n|---|---|---|---|`);
  for (const one of results) console.log(row(one));
  console.log(
    `\nplanted bugs: ${killed} of ${results.length} killed in ${secondsSince(began)} s (bound: ${minutes} minutes)`,
  );
  process.exitCode = killed === results.length ? 0 : 1;
}
