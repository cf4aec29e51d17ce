import type { Caller } from '../../ground/caller.ts';
import { cursorOf, placeOf } from '../../ground/cursor.ts';
import { refuse } from '../../ground/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { type Figure, type Figures, figureOf, figuresOf, noFigures, withFigures } from './figures.ts';
import { type Entry, type Line, linesOf } from './line.ts';
import { mergeInOrder, type Piece, placesIn, placesText } from './merge.ts';
import { dayOf, type Period, periodOf } from './period.ts';
import {
  findClosed,
  findEntries,
  findNewestEntries,
  findPlaces,
  findPosted,
  findSums,
  findTransferFees,
  type Place,
  type Scope,
} from './statement.sql.ts';

export interface StatementDeps {
  sql: Sql;
  clock: Clock;
  /** Signs cursors. */
  cursorKey: Buffer;
}

/** A day in São Paulo or an RFC 3339 time, as `periodOf` reads them. */
export interface PeriodQuery {
  from?: string;
  to?: string;
}

export interface StatementPage {
  lines: Line[];
  /** Before the first line and after the last line of the whole period, whatever page this is. */
  openingBalanceCents: number;
  closingBalanceCents: number;
  nextCursor: string | null;
}

/** How many journals one request looks through at most. */
const scannedAtMost = 1_000;

/** A journal has three lines at most; a cursor counts them as `seq * linesPerJournal + lines shown`. */
const linesPerJournal = 4;

/**
 * A page of the statement of the selected operation, the oldest line first: a balance is read downwards, and a reader that has come to the
 * end continues there later.
 * @throws ApiError `operation_not_found`, `validation_failed`, `invalid_cursor`
 */
export async function readStatement(
  deps: StatementDeps,
  caller: Caller,
  query: PeriodQuery & { limit?: number; cursor?: string },
): Promise<StatementPage> {
  const { from, to, limit = 100, cursor } = query;
  const { opening, closing } = await stretchOf(deps, caller, periodOf(query));
  const list = JSON.stringify(['statement', caller.accountId, caller.operationId, from ?? '', to ?? '']);
  const now = deps.clock.now();
  const at = cursor === undefined ? null : placeOf(deps.cursorKey, list, cursor, now).createdAt;
  const began = at === null ? opening.seq + 1 : Math.floor(at / linesPerJournal);
  const shownOfFirst = at === null ? 0 : at % linesPerJournal;

  const lastScanned = Math.min(closing.seq, began - 1 + scannedAtMost);
  const entries = await findEntries(deps.sql, caller, began - 1, lastScanned, limit + 1);
  const lines: Line[] = [];
  const cursorAt = (seq: number, shown: number): string =>
    cursorOf(deps.cursorKey, list, { createdAt: seq * linesPerJournal + shown, id: caller.operationId }, now);
  const page = {
    lines,
    openingBalanceCents: opening.balanceCents,
    closingBalanceCents: closing.balanceCents,
  };
  for (const entry of entries) {
    const ofEntry = linesOf(entry);
    const from = entry.seq === began ? shownOfFirst : 0;
    const room = limit - lines.length;
    lines.push(...ofEntry.slice(from, from + room));
    if (from + room < ofEntry.length) return { ...page, nextCursor: cursorAt(entry.seq, from + room) };
  }
  const reached = entries.length > limit ? (entries.at(-1)?.seq ?? lastScanned) : lastScanned;
  return { ...page, nextCursor: reached < closing.seq ? cursorAt(reached + 1, 0) : null };
}

/** A page for people, who begin with what happened last. */
export interface NewestPage {
  /** The newest first. A balance is that of all operations together. */
  lines: (Line & { operationId: string })[];
  openingBalanceCents: number;
  closingBalanceCents: number;
  /** Of the whole period; null on a later page, and where more than `summedAtMost` journals are in no closed day of it. */
  totals: Figures | null;
  /** With a filter: how far it was looked for, where there is a next page. ms since 1970. */
  lookedBackTo: number | null;
  /** Where the next page continues; null: this was the last one. */
  nextBelow: string | null;
}

/** The lines that a reader looks for. */
export interface LineFilter {
  figure?: Figure;
  /** In the name of payer or receiver, the description or the end-to-end id. Keys are sealed, and are not opened for it. */
  search?: string;
  amountCents?: number;
}

/** Whether a line is looked for; null: all are. Pure. */
export function wantedBy({ figure, search, amountCents }: LineFilter): ((line: Line) => boolean) | null {
  if (figure === undefined && search === undefined && amountCents === undefined) return null;
  const text = search?.trim().toLowerCase();
  return (line) =>
    (figure === undefined || figureOf(line) === figure) &&
    (amountCents === undefined || Math.abs(line.amountCents) === amountCents) &&
    (text === undefined || textsIn(line).some((one) => one.toLowerCase().includes(text)));
}

const textsIn = ({ payment, reason }: Line): string[] =>
  [payment?.payerName, payment?.receiver?.name, payment?.description, payment?.endToEnd, reason].filter(
    (text) => text !== null && text !== undefined,
  );

/** The limit of journals that a page reads to sum up its period beside the closed days: a tenth of a second. */
export const summedAtMost = 50_000;

/**
 * A page of the statement of one operation or several, the newest line first, in whole journals: no place within one is needed.
 * @param limit journals of a page, with a filter those that have a line which is looked for
 * @param below `nextBelow` of the page before
 * @param summed whether the figures of the period are wanted
 * @param filter such a page looks through `scannedAtMost` journals of all operations together, and may end with fewer lines
 * @throws ApiError `operation_not_found`
 */
export async function readNewest(
  { sql }: Pick<StatementDeps, 'sql'>,
  accountId: string,
  operationIds: readonly string[],
  period: Period,
  { below, limit, summed = true }: { below?: string | undefined; limit: number; summed?: boolean },
  filter: LineFilter = {},
): Promise<NewestPage> {
  const wanted = wantedBy(filter);
  const scanned = wanted ? Math.max(limit, Math.floor(scannedAtMost / operationIds.length)) : limit;
  const places = below === undefined ? null : placesIn(below);
  const pieces = await Promise.all(
    operationIds.map(async (operationId) => {
      const scope = { accountId, operationId };
      const stretch = await stretchOf({ sql }, scope, period);
      const last = places === null ? stretch.closing.seq : (places.get(operationId) ?? 0) - 1;
      return { ...stretch, ...(await pieceOf(sql, scope, stretch, last, scanned)) };
    }),
  );
  const totals = summed && places === null ? await totalsOf(sql, accountId, pieces, period) : null;
  const looked = mergeInOrder(pieces, wanted ? scannedAtMost : limit, 'newest');
  let balanceCents = sumOf(pieces, (piece) => piece.balanceCents);
  const lines: NewestPage['lines'] = [];
  let [journalsShown, journalsLooked] = [0, 0];
  for (const { operationId, row } of looked.rows) {
    if (journalsShown === limit) break;
    journalsLooked++;
    const before = lines.length;
    for (const line of linesOf(row).reverse()) {
      if (!wanted || wanted(line)) lines.push({ ...line, operationId, balanceCents });
      balanceCents -= line.amountCents;
    }
    if (!wanted || lines.length > before) journalsShown++;
  }
  const merged =
    journalsLooked === looked.rows.length ? looked : mergeInOrder(pieces, journalsLooked, 'newest');
  const nextBelow = placesText(merged.places);
  return {
    lines,
    openingBalanceCents: sumOf(pieces, ({ opening }) => opening.balanceCents),
    closingBalanceCents: sumOf(pieces, ({ closing }) => closing.balanceCents),
    totals,
    lookedBackTo: wanted && nextBelow ? (merged.rows.at(-1)?.row.postedAt ?? null) : null,
    nextBelow,
  };
}

function sumOf<One>(some: readonly One[], cents: (one: One) => number): number {
  return some.reduce((sum, one) => sum + cents(one), 0);
}

/** The journals of a stretch up to `before`, the newest first, as far as one request looks, and the balance after the first of them. */
async function pieceOf(
  sql: Sql,
  scope: Scope,
  { opening, closing }: { opening: Place; closing: Place },
  before: number,
  limit: number,
): Promise<Piece<Entry> & { balanceCents: number }> {
  const last = Math.max(opening.seq, Math.min(closing.seq, before));
  const lowest = Math.max(opening.seq, last - scannedAtMost);
  const rows = await findNewestEntries(sql, scope, lowest, last, limit);
  const [first, end] = [rows[0], rows.length === limit ? rows.at(-1) : undefined];
  const balanceCents = first
    ? first.availableAfter - first.receivableAfter
    : last === opening.seq
      ? opening.balanceCents
      : (await findPosted(sql, scope, last)).balanceCents;
  const beyond = end ? end.seq : lowest + 1;
  const rest =
    beyond <= opening.seq + 1
      ? null
      : { beyond, at: end ? end.postedAt : (await findPosted(sql, scope, beyond)).postedAt };
  return { operationId: scope.operationId, rows, rest, balanceCents };
}

/**
 * The figures of a period: of its closed days as their closes have them, and of the journals beside those. Without the closes a month of a large operation
 * had no totals. @returns null: too many journals are in no closed day
 */
async function totalsOf(
  sql: Sql,
  accountId: string,
  pieces: readonly { operationId: string; opening: Place; closing: Place }[],
  { fromMs, toMs }: Period,
): Promise<Figures | null> {
  const days = [fromMs, toMs].map((ms) => (ms === null ? null : dayOf(ms))) as [string | null, string | null];
  const parts = await Promise.all(
    pieces.map(async ({ operationId, opening, closing }) => {
      const scope = { accountId, operationId };
      const closed = await findClosed(sql, scope, [opening.seq, closing.seq], days);
      const beside = [
        [opening.seq, closed.fromSeq],
        [closed.toSeq, closing.seq],
      ] as const;
      return { scope, closed, beside };
    }),
  );
  const stretches = parts.flatMap(({ scope, beside }) => beside.map((ends) => ({ scope, ends })));
  if (sumOf(stretches, ({ ends: [after, last] }) => last - after) > summedAtMost) return null;
  const figures = await Promise.all(
    stretches
      .filter(({ ends: [after, last] }) => last > after)
      .map(({ scope, ends: [after, last] }) => figuresBetween(sql, scope, after, last)),
  );
  return [...parts.map(({ closed }) => closed), ...figures].reduce<Figures>(withFigures, noFigures);
}

/** Reads every journal of the stretch: the caller bounds it. */
async function figuresBetween(sql: Sql, scope: Scope, afterSeq: number, lastSeq: number): Promise<Figures> {
  const [sums, fees] = await Promise.all([
    findSums(sql, scope, afterSeq, lastSeq),
    findTransferFees(sql, scope, afterSeq, lastSeq),
  ]);
  return figuresOf(sums, fees);
}

/** @throws ApiError `operation_not_found` when it was deleted since it was resolved */
async function stretchOf(
  { sql }: Pick<StatementDeps, 'sql'>,
  scope: Scope,
  { fromMs, toMs }: Period,
): Promise<{ opening: Place; closing: Place }> {
  const places = await findPlaces(sql, scope, fromMs, toMs);
  if (!places) throw refuse('operation_not_found');
  return places;
}

/** How many journals a file holds: a table of any size is streamed, accounting programs and printed pages take less. */
export const mostJournals = { csv: 200_000, ofx: 20_000, pdf: 2_000 };

/** A whole period for a file: its ends are known before its first line is read. */
export interface Stretch {
  opening: Place;
  closing: Place;
  /** The lines, the oldest first, so many journals at a time; no snapshot is held between two reads, and journals never change. */
  pages(journals: number): AsyncGenerator<Line[]>;
}

/**
 * @param most how many journals the file may hold
 * @throws ApiError `operation_not_found`, `statement_too_large`
 */
export async function openStretch(
  deps: Pick<StatementDeps, 'sql'>,
  scope: Scope,
  period: Period,
  most: number,
): Promise<Stretch> {
  const { opening, closing } = await stretchOf(deps, scope, period);
  if (closing.seq - opening.seq > most)
    throw refuse('statement_too_large', { params: { limit: String(most) } });
  async function* pages(journals: number): AsyncGenerator<Line[]> {
    for (let after = opening.seq; after < closing.seq; after += journals) {
      const last = Math.min(after + journals, closing.seq);
      yield (await findEntries(deps.sql, scope, after, last, journals)).flatMap(linesOf);
    }
  }
  return { opening, closing, pages };
}
