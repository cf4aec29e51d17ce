import { execFile, spawnSync } from 'node:child_process';
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openService, type Service } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** The built client against a real service, from other programs than our own Node: the system's, Deno, Bun and workerd, where they are installed. */

const run = promisify(execFile);
const sdk = fileURLToPath(new URL('../', import.meta.url));

let service: Service;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

/** `{apiKey, baseUrl}` of a test account, as JSON. */
const newAccount = async (): Promise<string> =>
  JSON.stringify({ apiKey: (await service.newMerchant()).key, baseUrl: service.url });

describe.each([
  ['this Node', process.execPath, []],
  ["the system's Node", 'node', []],
  ['Deno', 'deno', ['run', '--allow-net=127.0.0.1']],
  ['Bun', 'bun', []],
] as const)('%s', (_name, program, words) => {
  test.runIf(spawnSync(program, ['--version']).status === 0)('keeps its promises', async () => {
    const { stdout } = await run(program, [...words, 'test/run.mjs', await newAccount()], { cwd: sdk });
    expect(stdout).toBe('works\n');
  });
});

/** A worker has no files and does nothing before it is asked: its modules are named in a configuration, and the work is its test. */
const workerOf = (
  modules: string[],
  account: string,
): string => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (
    compatibilityDate = "2026-01-01",
    globalOutbound = "loopback",
    modules = [
      (name = "main.js", esModule = "import { keepsPromises } from './test/smoke.mjs'; export default { test: () => keepsPromises(${account.replaceAll('"', "'")}) };"),
${modules.map((name) => `      (name = "${name}", esModule = embed "${name}"),`).join('\n')}
    ]
  )),
  (name = "loopback", network = (allow = ["local"]))]
);
`;

test.runIf(spawnSync('workerd', ['--version']).status === 0)('workerd keeps its promises', async () => {
  const built = (await readdir(join(sdk, 'dist'))).filter((name) => name.endsWith('.js'));
  const folder = await mkdtemp(join(tmpdir(), 'vintem-worker-'));
  try {
    // An embedded file stands below its configuration.
    for (const name of ['dist', 'test']) await cp(join(sdk, name), join(folder, name), { recursive: true });
    const config = join(folder, 'worker.capnp');
    await writeFile(
      config,
      workerOf(['test/smoke.mjs', ...built.map((name) => `dist/${name}`)], await newAccount()),
    );
    const { stderr } = await run('workerd', ['test', config]);
    expect(stderr).toContain('[ PASS ] main');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
