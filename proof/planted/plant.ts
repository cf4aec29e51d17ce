import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
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

const commands: Record<Bug['rig'], string[]> = {
  search: ['proof/search/search.ts', '--first'],
  simulation: ['proof/simulation/simulate.ts', '--seeds', '50', '--seconds', '60', '--first'],
  properties: [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config',
    'vitest.properties.config.ts',
    '-t',
    'at once|many callers',
  ],
  history: ['proof/processes/kill-loop.ts', '--seed', '5', '--loops', '3', '--clients', '8'],
};

/** The same on the tree as it is, where nothing ends the simulation early: a few of its seeds and the kept ones. */
const sound: Record<Bug['rig'], string[]> = {
  ...commands,
  simulation: ['proof/simulation/simulate.ts', '--seeds', '8', '--seconds', '20', '--first'],
};

/** What finds a mistake does so in seconds; the whole of a rig takes a minute on two quiet cores. */
const longestMs = 240_000;

/** Slow rigs first: a run that its bound cuts short has then seen what takes long. */
const order = ['simulation', 'history', 'properties', 'search'] as const;

/** Two processes over one PostgreSQL, in the copy. */
const propertiesConfig = `export default { test: { include: ['proof/properties/*.test.ts'],
  globalSetup: ['testkit/src/global-setup.ts'], testTimeout: 60000, hookTimeout: 60000, bail: 1 } };`;

export interface Planted {
  bug: Bug;
  /** The rig that found it, and what it said; null: none did. */
  found: { rig: Bug['rig']; says: string } | null;
  seconds: number;
}

interface SubscribedTypes {
  say(line: string): void;
  only: string;
  from: number;
  /** For all of it. */
  withinMs: number;
}

export async function plantAll({ say, only, from, withinMs }: SubscribedTypes): Promise<Planted[]> {
  const until = performance.now() + withinMs;
  const wanted = bugs.filter(({ name }, at) => name.includes(only) && at >= from);
  const results: Planted[] = [];
  const copy = await mkdtemp(join(tmpdir(), 'vintem-planted-'));
  try {
    for (const part of ['server', 'simulator', 'proof', 'tsconfig.json', 'package.json'])
      await cp(join(root, part), join(copy, part), {
        recursive: true,
        filter: (source) => !source.includes('node_modules'),
      });
    for (const modules of ['node_modules', 'server/node_modules', 'proof/node_modules'])
      if (existsSync(join(root, modules))) await symlink(join(root, modules), join(copy, modules));
    await writeFile(join(copy, 'vitest.properties.config.ts'), propertiesConfig);
    const drifted: string[] = [];
    for (const bug of wanted)
      if (!(await readFile(join(copy, bug.file), 'utf8')).includes(bug.line))
        drifted.push(`${bug.file} has no line for "${bug.name}"`);
    if (drifted.length > 0) throw new Error(`the list is out of date:\n${drifted.join('\n')}`);
    for (const rig of order) {
      const those = wanted.filter((bug) => bug.rig === rig);
      if (those.length === 0) continue;
      // A rig that fails on the tree as it is says nothing about a mistake.
      const began = performance.now();
      const verdict = await run(copy, sound[rig], until);
      if (verdict.kind !== 'passed') throw new Error(`${rig} fails without any bug: ${verdict.says}`);
      say(`${rig} is sound (${secondsSince(began)} s)`);
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

async function plant(bug: Bug, copy: string, until: number, say: SubscribedTypes['say']): Promise<Planted> {
  const began = performance.now();
  const path = join(copy, bug.file);
  const whole = await readFile(path, 'utf8');
  await writeFile(
    path,
    whole.replace(bug.line, () => bug.with),
  );
  let found: Planted['found'] = null;
  const others = (['search', 'simulation'] as const).filter((rig) => rig !== bug.rig);
  for (const rig of [bug.rig, ...others]) {
    const verdict = await run(copy, commands[rig], until);
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

type Verdict = { kind: 'passed' } | { kind: 'failed' | 'broken'; says: string };

/** Runs a rig to its end. `failed`: it names what does not hold; `broken`: it ended otherwise, and proves nothing. */
function run(folder: string, command: string[], until: number): Promise<Verdict> {
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
      const says = lines.find((one) => /^(VIOLATION|NO END|invariant |AssertionError|RangeError)/.test(one));
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
