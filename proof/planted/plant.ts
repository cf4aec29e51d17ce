import { spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Bug, bugs } from './bugs.ts';

/**
 * Plants one mistake after the other into a copy of the tree and runs the rigs there: each must be found. What survives
 * is a hole in the rigs. `--only TEXT` takes those whose name contains it, `--from N`
 * those from the Nth on.
 */
const root = fileURLToPath(new URL('../../', import.meta.url));

const commands: Record<Bug['rig'], string[]> = {
  search: ['proof/search/search.ts', '--first'],
  simulation: ['proof/simulation/simulate.ts', '--seeds', '150', '--seconds', '60', '--first'],
  properties: ['node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.properties.config.ts'],
};

/** Two processes over one PostgreSQL, in the copy. */
const propertiesConfig = `export default { test: { include: ['proof/properties/*.test.ts'],
  globalSetup: ['server/test/support/global-setup.ts'], testTimeout: 60000, hookTimeout: 60000, bail: 1 } };`;

export interface Planted {
  bug: Bug;
  /** The rig that found it, and what it said; null: none did. */
  found: { rig: Bug['rig']; says: string } | null;
  seconds: number;
}

async function plantAll(say: (line: string) => void, only: string, from: number): Promise<Planted[]> {
  const results: Planted[] = [];
  const copy = await mkdtemp(join(tmpdir(), 'vintem-planted-'));
  try {
    for (const part of [
      'server/src',
      'server/test/support',
      'server/sql',
      'server/package.json',
      'simulator/src',
      'simulator/package.json',
      'tsconfig.json',
      'package.json',
      'proof',
    ])
      await cp(join(root, part), join(copy, part), {
        recursive: true,
        filter: (source) => !source.includes('node_modules'),
      });
    for (const modules of ['node_modules', 'server/node_modules', 'proof/node_modules'])
      await symlink(join(root, modules), join(copy, modules)).catch(() => {});
    await writeFile(join(copy, 'vitest.properties.config.ts'), propertiesConfig);
    // A rig that fails on the tree as it is says nothing about a mistake.
    const wanted = bugs.filter(({ name }, at) => name.includes(only) && at >= from);
    for (const rig of new Set(wanted.map((bug) => bug.rig))) {
      const says = await run(copy, commands[rig]);
      if (says !== null) throw new Error(`${rig} fails without any bug: ${says}`);
      say(`${rig} is sound`);
    }
    for (const bug of wanted) {
      const began = performance.now();
      const path = join(copy, bug.file);
      const whole = await readFile(path, 'utf8');
      if (!whole.includes(bug.line))
        throw new Error(`${bug.file} has no line for "${bug.name}": the list is out of date`);
      await writeFile(
        path,
        whole.replace(bug.line, () => bug.with),
      );
      let found: Planted['found'] = null;
      const order: Bug['rig'][] = [
        bug.rig,
        ...(['search', 'simulation'] as const).filter((rig) => rig !== bug.rig),
      ];
      for (const rig of order) {
        const says = await run(copy, commands[rig]);
        if (says === null) continue;
        found = { rig, says };
        break;
      }
      await writeFile(path, whole);
      const seconds = Math.round((performance.now() - began) / 100) / 10;
      results.push({ bug, found, seconds });
      say(
        `${found ? `killed by ${found.rig}` : 'SURVIVED'} in ${seconds} s: ${bug.name}${found ? ` (${found.says})` : ''}`,
      );
    }
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
  return results;
}

/** What a rig says when it fails; null when it does not. */
function run(folder: string, command: string[]): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, command, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    const keep = (chunk: Buffer) => {
      text += chunk.toString();
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    const late = setTimeout(() => child.kill('SIGKILL'), 240_000);
    child.once('error', reject);
    child.once('exit', (code) => {
      clearTimeout(late);
      if (code === 0) return resolve(null);
      const line = text
        .split('\n')
        .map((one) => one.trim())
        .find((one) => /^(VIOLATION|NO END|invariant|Error:|SyntaxError|AssertionError|× )/.test(one));
      resolve((line ?? `exit ${code}`).slice(0, 140));
    });
  });
}

if (import.meta.main) {
  const given = (name: string): string | undefined => {
    const at = process.argv.indexOf(`--${name}`);
    return at === -1 ? undefined : process.argv[at + 1];
  };
  const results = await plantAll(console.log, given('only') ?? '', Number(given('from') ?? 0));
  const killed = results.filter(({ found }) => found !== null).length;
  console.log(`planted bugs: ${killed} of ${results.length} killed`);
  process.exitCode = killed === results.length ? 0 : 1;
}
