import type { Page, Reader } from './installation.ts';

/** A report of Lighthouse, as far as this rig reads it (`types/lhr/lhr.d.ts` of its package). */
export interface Judged {
  finalDisplayedUrl: string;
  runtimeError?: { message: string };
  categories: Readonly<Record<'performance' | 'accessibility' | 'best-practices', Category>>;
  audits: Readonly<Record<string, Audit | undefined>>;
}

interface Category {
  score: number | null;
  auditRefs: readonly { id: string; weight: number }[];
}

interface Audit {
  title: string;
  /** Null: it does not apply, or has none. */
  score: number | null;
  scoreDisplayMode: string;
  numericValue?: number;
  details?: { items?: readonly Item[] | Record<string, unknown>; overallSavingsBytes?: number };
}

type Item = Readonly<Record<string, unknown>>;

/** The bounds of a page. Scores from 0 to 100, at least; the rest at most. */
export interface Bounds {
  scores: { performance: number; accessibility: number; bestPractices: number };
  /** Everything that the browser fetches, as it travels. */
  bytes: number;
  /** Of script and style that was fetched and not used, as it travels. */
  unusedBytes: number;
  /** Of what the first look waits for beside the page itself. */
  blockingBytes: number;
  /** Of the layout, as the score of it counts: 0.1 is what Google calls good. */
  shift: number;
}

const KiB = 1024;
const all95 = { performance: 95, accessibility: 95, bestPractices: 95 };

/** Of the panel and the console, which are one program. */
const program: Bounds = {
  scores: all95,
  bytes: 260 * KiB,
  unusedBytes: 110 * KiB,
  // Its styles, which wait behind the sign of the page.
  blockingBytes: 24 * KiB,
  shift: 0.05,
};

const ofReader: Readonly<Record<Reader, Bounds>> = {
  payer: { scores: all95, bytes: 60 * KiB, unusedBytes: 4 * KiB, blockingBytes: 4 * KiB, shift: 0 },
  merchant: program,
  developer: { scores: all95, bytes: 60 * KiB, unusedBytes: 4 * KiB, blockingBytes: 4 * KiB, shift: 0 },
  operator: { ...program, scores: { ...all95, performance: 90 } },
};

export const boundsOf = ({ reader }: Page): Bounds => ofReader[reader];

/** Audits that find the same at every speed of the machine; each has to pass, or not to apply. */
const steady = [
  'image-delivery-insight',
  'unsized-images',
  'unminified-css',
  'unminified-javascript',
  'duplicated-javascript-insight',
  'legacy-javascript-insight',
  'font-display-insight',
  'viewport-insight',
  'third-parties-insight',
  'non-composited-animations',
];

/** The faults of a page, in words that are the same in each run. */
export function faultsIn(judged: Judged, bounds: Bounds): string[] {
  const { audits } = judged;
  return [
    ...failedOf(judged, 'accessibility'),
    ...failedOf(judged, 'best-practices'),
    ...steady.filter((id) => (audits[id]?.score ?? 1) < 1).map((id) => `${id}: ${audits[id]?.title}`),
    ...tooMuch('bytes', audits['total-byte-weight']?.numericValue ?? 0, bounds.bytes),
    ...tooMuch('unused bytes', unusedIn(audits), bounds.unusedBytes),
    ...tooMuch('bytes before the first look', blockingIn(audits), bounds.blockingBytes),
    ...tooMuch('layout shift', audits['cumulative-layout-shift']?.numericValue ?? 0, bounds.shift),
    ...itemsOf(audits['network-requests'])
      .filter(isPlainText)
      .map((item) => `sent without compression: ${nameOf(item)}`),
    ...itemsOf(audits['cache-insight']).map((item) => `a browser may not keep it: ${nameOf(item)}`),
    ...itemsOf(audits.redirects)
      .slice(1)
      .map((item) => `redirects: ${nameOf(item)}`),
  ];
}

const failedOf = ({ categories, audits }: Judged, category: keyof Judged['categories']): string[] =>
  categories[category].auditRefs
    .filter(({ id, weight }) => weight > 0 && (audits[id]?.score ?? 1) < 1)
    .map(({ id }) => `${id}: ${audits[id]?.title}`);

/** Rounded up to tenths of the bound, so that two runs say the same. */
const tooMuch = (what: string, value: number, most: number): string[] => {
  if (value <= most) return [];
  const step = Math.ceil(most / 10);
  return [`${what} ${most > 1 ? Math.ceil(value / step) * step : 'above'}, at most ${most}`];
};

const unusedIn = (audits: Judged['audits']): number =>
  ['unused-javascript', 'unused-css-rules']
    .map((id) => audits[id]?.details?.overallSavingsBytes ?? 0)
    .reduce((sum, bytes) => sum + bytes, 0);

const blockingIn = (audits: Judged['audits']): number =>
  itemsOf(audits['render-blocking-insight'])
    .map(({ totalBytes }) => Number(totalBytes))
    .reduce((sum, bytes) => sum + bytes, 0);

const itemsOf = (audit: Audit | undefined): readonly Item[] => {
  const items = audit?.details?.items;
  return Array.isArray(items) ? items : [];
};

/** Below it the head of an answer weighs more than compression saves. */
const leastBytes = 1_400;

const isPlainText = ({ mimeType, resourceSize, transferSize }: Item): boolean =>
  /^text\/(?!event-stream)|json|javascript|svg/.test(String(mimeType)) &&
  Number(resourceSize) > leastBytes &&
  Number(transferSize) >= Number(resourceSize);

/** A request without what is another one in each run. */
const nameOf = ({ url }: Item): string =>
  new URL(String(url)).pathname.replace(/^\/pay\/[^/.]{20,}/, '/pay/…');
