import { execFile, spawnSync } from 'node:child_process';
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';

/** The built client elsewhere than in our own Node: in the system's, in Deno, in Bun and in workerd, where they are installed. */

const run = promisify(execFile);
const sdk = fileURLToPath(new URL('../', import.meta.url));

describe.each([
  ['this Node', process.execPath, []],
  ["the system's Node", 'node', []],
  ['Deno', 'deno', ['run']],
  ['Bun', 'bun', []],
] as const)('%s', (_name, program, words) => {
  test.runIf(spawnSync(program, ['--version']).status === 0)('keeps its promises', async () => {
    const { stdout } = await run(program, [...words, 'test/run.mjs'], { cwd: sdk });
    expect(stdout).toBe('works\n');
  });
});

/** A worker has no files and does nothing before it is asked: its modules are named in a configuration, and the work is its test. */
const workerOf = (modules: string[]): string => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (
    compatibilityDate = "2026-01-01",
    modules = [
      (name = "main.js", esModule = "import { keepsPromises } from './test/smoke.mjs'; export default { test: keepsPromises };"),
${modules.map((name) => `      (name = "${name}", esModule = embed "${name}"),`).join('\n')}
    ]
  ))]
);
`;

test.runIf(spawnSync('workerd', ['--version']).status === 0)('workerd keeps its promises', async () => {
  const built = (await readdir(join(sdk, 'dist'))).filter((name) => name.endsWith('.js'));
  const folder = await mkdtemp(join(tmpdir(), 'vintem-worker-'));
  try {
    // An embedded file stands below its configuration.
    for (const name of ['dist', 'test']) await cp(join(sdk, name), join(folder, name), { recursive: true });
    const config = join(folder, 'worker.capnp');
    await writeFile(config, workerOf(['test/smoke.mjs', ...built.map((name) => `dist/${name}`)]));
    const { stderr } = await run('workerd', ['test', config]);
    expect(stderr).toContain('[ PASS ] main');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
