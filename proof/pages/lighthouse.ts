import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { openBrowser } from '@vintem/testkit/browser.ts';
import { freePort } from '@vintem/testkit/free-port.ts';
import { installedPackages } from '../judges.ts';
import { type Bounds, boundsOf, faultsIn, type Judged } from './bounds.ts';
import { openInstallation, type Page } from './installation.ts';

/**
 * Lighthouse, as on a telephone, over the pages of `vintem start` with a shop's work in it:
 * `node proof/pages/lighthouse.ts [--rounds 3] [--only TEXT] [--with-time] [--reports DIR] [--pages FILE]`. Accessibility, best practices and what does not depend on time
 * decide; the performance score does so with `--with-time` alone, since it measures the machine as well.
 */

export interface PagesFigures {
  pages: { page: string; scores: Scores; bytes: number; faults: string[] }[];
  faults: string[];
  /** Null: it ran. */
  notRun: string | null;
}

interface Scores {
  performance: number;
  accessibility: number;
  bestPractices: number;
}

type Lighthouse = (url: string, flags: object) => Promise<{ lhr: Judged } | undefined>;

export async function judgePages({
  rounds,
  only,
  withTime,
  reports = null,
  pagesOf = null,
  say,
}: {
  rounds: number;
  /** A part of a page's name; empty: every page. */
  only: string;
  withTime: boolean;
  /** A folder for everything that Lighthouse says; null: it is not kept. */
  reports?: string | null;
  /** A file with the pages of a program that runs already (`proof/size/serve.ts`); null: one is started. */
  pagesOf?: string | null;
  say(line: string): void;
}): Promise<PagesFigures> {
  const port = await freePort();
  const browser = await openBrowser([`--remote-debugging-port=${port}`]).catch((error: Error) => error);
  if (browser instanceof Error)
    return { pages: [], faults: [], notRun: `no Chromium here: ${browser.message.split('\n')[0]}` };
  const judges = await installedPackages(new URL('judges/', import.meta.url));
  const { default: lighthouse } = (await import(
    pathToFileURL(join(judges, 'lighthouse/core/index.js')).href
  )) as { default: Lighthouse };
  const installation =
    pagesOf === null
      ? await openInstallation()
      : { pages: JSON.parse(await readFile(pagesOf, 'utf8')) as Page[], close: async () => {} };
  try {
    const pages: PagesFigures['pages'] = [];
    for (const page of installation.pages.filter(({ name }) => name.includes(only))) {
      const runs: Judged[] = [];
      for (let n = 0; n < rounds; n++) runs.push(await judge(lighthouse, page, port));
      if (reports !== null) await keepReports(reports, page, runs);
      const judged = { page: `${page.reader}: ${page.name}`, ...verdictOf(runs, boundsOf(page), withTime) };
      pages.push(judged);
      const { performance, accessibility, bestPractices } = judged.scores;
      say(`${judged.page}: ${performance} ${accessibility} ${bestPractices}, ${judged.bytes} bytes`);
      for (const fault of judged.faults) say(`  ${fault}`);
    }
    if (pages.length === 0) throw new Error(`no page has the name ${only}`);
    return {
      pages,
      faults: pages.flatMap(({ page, faults }) => faults.map((fault) => `${page}: ${fault}`)),
      notRun: null,
    };
  } finally {
    await installation.close();
    await browser.close();
  }
}

async function keepReports(folder: string, { reader, name }: Page, runs: readonly Judged[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [n, run] of runs.entries())
    await writeFile(join(folder, `${reader}-${name}-${n}.json`.replaceAll(' ', '-')), JSON.stringify(run));
}

async function judge(lighthouse: Lighthouse, { url, cookie }: Page, port: number): Promise<Judged> {
  const result = await lighthouse(url, {
    port,
    logLevel: 'error',
    onlyCategories: ['performance', 'accessibility', 'best-practices'],
    ...(cookie && { extraHeaders: { cookie } }),
  });
  if (!result) throw new Error(`Lighthouse said nothing about ${url}`);
  const { runtimeError, finalDisplayedUrl } = result.lhr;
  if (runtimeError) throw new Error(`${url}: ${runtimeError.message}`);
  // Of a person who is not signed in Lighthouse would judge the gate.
  if (new URL(finalDisplayedUrl).pathname !== new URL(url).pathname)
    throw new Error(`${url} led to ${finalDisplayedUrl}`);
  return result.lhr;
}

function verdictOf(
  runs: readonly Judged[],
  bounds: Bounds,
  withTime: boolean,
): { scores: Scores; bytes: number; faults: string[] } {
  const scoreOf = (category: keyof Judged['categories']): number =>
    Math.round(100 * median(runs.map(({ categories }) => categories[category].score ?? 0)));
  const scores = {
    performance: scoreOf('performance'),
    accessibility: scoreOf('accessibility'),
    bestPractices: scoreOf('best-practices'),
  };
  const low = Object.entries(bounds.scores).flatMap(([name, least]) => {
    const score = scores[name as keyof Scores];
    const counts = name !== 'performance' || withTime;
    return counts && score < least ? [`${name} ${score}, at least ${least}`] : [];
  });
  // A fault in the lesser part of the runs is about those runs.
  const all = runs.map((run) => faultsIn(run, bounds));
  const faults = [...new Set(all.flat())].filter(
    (fault) => all.filter((found) => found.includes(fault)).length * 2 > all.length,
  );
  const bytes = median(runs.map(({ audits }) => audits['total-byte-weight']?.numericValue ?? 0));
  return { scores, bytes, faults: [...low, ...faults] };
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** For people and for `docs/operators/correctness.md`. */
export const tableOf = ({ pages }: PagesFigures): string =>
  [
    '| Page | Performance | Accessibility | Best practices | KiB |',
    '|---|---|---|---|---|',
    ...pages.map(
      ({ page, scores: { performance, accessibility, bestPractices }, bytes }) =>
        `| ${page} | ${performance} | ${accessibility} | ${bestPractices} | ${Math.round(bytes / 1024)} |`,
    ),
  ].join('\n');

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '3' },
      only: { type: 'string', default: '' },
      'with-time': { type: 'boolean', default: false },
      reports: { type: 'string' },
      pages: { type: 'string' },
    },
  });
  const figures = await judgePages({
    rounds: Number(values.rounds),
    only: values.only,
    withTime: values['with-time'],
    reports: values.reports ?? null,
    pagesOf: values.pages ?? null,
    say: console.log,
  });
  console.log(figures.notRun ?? `\n${tableOf(figures)}`);
  for (const fault of figures.faults) console.log(`FAILED ${fault}`);
  process.exit(figures.faults.length > 0 ? 1 : 0);
}
