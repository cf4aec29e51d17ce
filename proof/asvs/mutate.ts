import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { copyTree, run } from '../planted/plant.ts';
import { type Mutation, mutations } from './mutations.ts';

/**
 * Makes one mistake after the other in a copy of the tree and runs the test there that shows the requirement: it must fail. A test that
 * fails without a mistake, or breaks, shows nothing. `--only TEXT` takes the mistakes of ids that begin with it or of a test's file that
 * contains it; `--minutes N` (20) bounds the whole.
 */
const root = fileURLToPath(new URL('../../', import.meta.url));

export interface Mutated {
  mutation: Mutation;
  /** `unknown`: the time was over, or the test broke. */
  verdict: 'killed' | 'survived' | 'unknown';
  says: string;
  seconds: number;
}

interface Options {
  say(line: string): void;
  only: string;
  withinMs: number;
}

const isPure = (test: string): boolean => test.includes('/src/');

const configOf = (setup: boolean): string => `export default { test: { include: ['**/*.test.ts'],
  ${setup ? "globalSetup: ['testkit/src/global-setup.ts']," : ''} testTimeout: 120000, hookTimeout: 120000, bail: 1 } };`;

const commandOf = (test: string, titles: readonly string[]): string[] => [
  'node_modules/vitest/vitest.mjs',
  'run',
  '--config',
  isPure(test) ? 'vitest.pure.config.ts' : 'vitest.service.config.ts',
  test,
  '-t',
  titles.map((title) => title.replaceAll(/[^\p{L}\p{N} ]/gu, '.')).join('|'),
];

/** Whether the code has the line that the mistake replaces. */
export const applies = async ({ file, line }: Mutation): Promise<boolean> =>
  (await readFile(join(root, file), 'utf8')).includes(line);

export async function mutateAll({ say, only, withinMs }: Options): Promise<Mutated[]> {
  const until = performance.now() + withinMs;
  const wanted = mutations.filter(
    ({ ids, test }) => ids.some((id) => id.startsWith(only)) || test.includes(only),
  );
  const results: Mutated[] = [];
  const copy = await mkdtemp(join(tmpdir(), 'vintem-asvs-'));
  const add = (one: Mutated): void => {
    results.push(one);
    say(rowOf(one));
  };
  try {
    await copyTree(copy, ['panel', 'docs', 'site']);
    // As in an image: the pages are those that were built, and nothing builds them again.
    await rm(join(copy, 'panel/build.js'));
    await writeFile(join(copy, 'vitest.pure.config.ts'), configOf(false));
    await writeFile(join(copy, 'vitest.service.config.ts'), configOf(true));
    for (const [test, those] of Map.groupBy(wanted, (one) => one.test)) {
      const titles = [...new Set(those.map(({ title }) => title))];
      const sound = await run(copy, commandOf(test, titles), until);
      for (const mutation of those) {
        if (sound.kind === 'passed') add(await mutate(mutation, copy, until));
        else add({ mutation, verdict: 'unknown', says: `without the mistake: ${sound.says}`, seconds: 0 });
      }
    }
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
  return results;
}

async function mutate(mutation: Mutation, copy: string, until: number): Promise<Mutated> {
  const began = performance.now();
  const path = join(copy, mutation.file);
  const whole = await readFile(path, 'utf8');
  if (!whole.includes(mutation.line)) throw new Error(`${mutation.file} has no line: ${mutation.line}`);
  await writeFile(
    path,
    whole.replace(mutation.line, () => mutation.with),
  );
  const verdict = await run(copy, commandOf(mutation.test, [mutation.title]), until);
  await writeFile(path, whole);
  const seconds = Math.round((performance.now() - began) / 100) / 10;
  if (verdict.kind === 'passed') return { mutation, verdict: 'survived', says: '', seconds };
  return {
    mutation,
    verdict: verdict.kind === 'failed' ? 'killed' : 'unknown',
    says: verdict.says,
    seconds,
  };
}

const rowOf = ({ mutation, verdict, says, seconds }: Mutated): string =>
  `| ${mutation.ids.join(', ')} | ${verdict} | ${seconds} | ${mutation.title.slice(0, 60)} | ${says.replaceAll('|', '/')} |`;

if (import.meta.main) {
  const { values: given } = parseArgs({
    options: { minutes: { type: 'string', default: '20' }, only: { type: 'string', default: '' } },
  });
  const results = await mutateAll({
    say: console.log,
    only: given.only,
    withinMs: Number(given.minutes) * 60_000,
  });
  const killed = results.filter(({ verdict }) => verdict === 'killed').length;
  console.log(`asvs: ${killed} of ${results.length} mutations killed`);
  process.exitCode = killed === results.length ? 0 : 1;
}
