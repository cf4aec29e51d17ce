import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';

/** The built client elsewhere than in our own Node: in the system's, in Deno and in Bun, where they are installed. */

const run = promisify(execFile);
const sdk = fileURLToPath(new URL('../', import.meta.url));

describe.each([
  ['this Node', process.execPath, []],
  ["the system's Node", 'node', []],
  ['Deno', 'deno', ['run']],
  ['Bun', 'bun', []],
] as const)('%s', (_name, program, words) => {
  test.runIf(spawnSync(program, ['--version']).status === 0)('keeps its promises', async () => {
    const { stdout } = await run(program, [...words, 'test/smoke.mjs'], { cwd: sdk });
    expect(stdout).toBe('works\n');
  });
});
