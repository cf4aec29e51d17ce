import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Acts that only the ports may do, a line each. */
const worldly = [
  "import { randomBytes } from 'node:crypto';",
  "import { randomUUID as id } from 'node:crypto';",
  "import whole from 'node:crypto';",
  "import { setTimeout as wait } from 'node:timers/promises';",
  "import { Pool } from 'undici';",
  'export const a = Date.now();',
  'export const b = new Date();',
  'export const c = new Date;',
  'export const d = Math.random();',
  'export const e = crypto.randomUUID();',
  'export const f = performance.now();',
  'export const g = Date.now;',
  'export const h = AbortSignal.timeout(5);',
  'export const i = process.hrtime.bigint();',
  'export const j = globalThis.setTimeout;',
  'export const k = setTimeout(() => {}, 5);',
  'export const l = setInterval(() => {}, 5);',
  'export const m = setImmediate(() => {});',
  "export const n = fetch('http://127.0.0.1/');",
];

const harmless = [
  "import { createHash } from 'node:crypto';",
  'export const o = new Date(5).toISOString();',
  'export const p = Date.UTC(2026, 10, 20) + Date.parse("2026-11-20T00:00:00Z");',
  'export const q = createHash("sha256");',
];

describe('the lint rule of the ports', () => {
  it('stops every way to the world outside of them, and nothing else', async () => {
    const everything = worldly.map((_, index) => index + 1);
    expect(await refusedLines('server/src/api/charges/probe.ts')).toEqual(everything);
    expect(await refusedLines('server/src/probe.ts')).toEqual(everything);
    for (const file of [
      'server/src/ports/probe.ts',
      'server/src/api/charges/probe.test.ts',
      'server/test/probe.ts',
    ])
      expect(await refusedLines(file)).toEqual([]);
  });

  it('is not switched off by a comment', async () => {
    for (const [file, text] of await sources()) {
      expect([file, text.match(/biome-ignore[^\n]*(noRestricted|plugin)/)]).toEqual([file, null]);
    }
  });

  it('has no way around that it cannot see', async () => {
    const around = [
      // A whole module of chance or time under a name.
      /import \* as \w+ from 'node:(crypto|timers)/,
      /import\(\s*'(node:)?(crypto|timers|timers\/promises|perf_hooks|undici)'\s*\)/,
      /from '(crypto|timers|timers\/promises|perf_hooks|http|https)'/,
      /require\(\s*'(node:)?(crypto|timers|timers\/promises|perf_hooks|undici)'/,
      // Parts of Date and Math under other names.
      /\{[^}]*\b(now|random)\b[^}]*\} = (Date|Math)\b/,
      /= (Date|Math);/,
    ];
    for (const [file, text] of await sources()) {
      expect([file, around.filter((way) => way.test(text))]).toEqual([file, []]);
    }
  });
});

/** Lints the probe as if it stood at `file`; the lines that were refused. */
async function refusedLines(file: string): Promise<number[]> {
  const runtime = await mkdtemp(join(tmpdir(), 'vintem-lint-'));
  onTestFinished(() => rm(runtime, { recursive: true, force: true }));
  await cp(join(root, 'biome.json'), join(runtime, 'biome.json'));
  await mkdir(join(runtime, file, '..'), { recursive: true });
  await cp(join(root, 'server/ports.grit'), join(runtime, 'server/ports.grit'));
  await writeFile(join(runtime, file), [...worldly, ...harmless, ''].join('\n'));
  const report = await new Promise<string>((resolve) => {
    const options = ['lint', '--vcs-enabled=false', '--reporter=github', '--max-diagnostics=none', file];
    // It ends with 1 when it found something: what it found is on its output.
    execFile(join(root, 'proof/node_modules/.bin/biome'), options, { cwd: runtime }, (_, out, err) =>
      resolve(out + err),
    );
  });
  const refused = report
    .split('\n')
    .filter((line) => /title=(lint\/style\/noRestricted|plugin)/.test(line))
    .map((line) => Number(/line=(\d+)/.exec(line)?.[1]));
  return [...new Set(refused)].sort((one, other) => one - other);
}

/** The sources that the rule is for. */
async function sources(): Promise<[file: string, text: string][]> {
  const src = join(root, 'server/src');
  const edge = /^ports\/|\.test\.ts$|^(main|config)\.ts$|^db\/embedded\.ts$/;
  const files = (await readdir(src, { recursive: true })).filter(
    (file) => file.endsWith('.ts') && !edge.test(file),
  );
  return Promise.all(
    files.map(async (file): Promise<[string, string]> => [file, await readFile(join(src, file), 'utf8')]),
  );
}
