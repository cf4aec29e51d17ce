import { queryOf } from '../flow/breaker.ts';
import { noteLost, strayOfLine } from '../flow/find-lost-payments.ts';
import { byCell } from '../flow/in-cells.ts';
import { endUnread, keepUnread } from '../flow/keep-unread.ts';
import type { Slot } from '../flow/limit.ts';
import { compareAmounts, namedOf } from '../flow/movement-amounts.ts';
import { sortForeign } from '../flow/nameless-payouts.ts';
import { confirm, NoQueryLeft, takeAllowedQuery, waitForQuery } from '../flow/query.ts';
import type { TrackingDeps } from '../flow/tracking-deps.ts';
import { bookUnmatched, unmatchedLine } from '../flow/unmatched.ts';
import { paymentIdOf } from '../money/payment.ts';
import type {
  ListOutcome,
  ListWindow,
  Provider,
  StatementLine,
  UnnamedReturn,
} from '../provider/provider.ts';
import { accountNumberOf } from '../store/rows/idempotency.ts';
import { claimJob, endTurn, type Job } from '../store/rows/jobs.sql.ts';
import { findOwners } from '../store/rows/payments.sql.ts';
import { setLinesAside } from '../store/rows/statement-lines.sql.ts';
import {
  beginLateReading,
  beginStatement,
  endLateReading,
  endStatement,
  findLacking,
  findNews,
} from './statement.sql.ts';
import { inStatementAlone, lineOfUnnamed, setAside, withoutName } from './statement-lines.ts';

/**
 * Reads what moved at the provider, a little at a time, for money that moved after a payment had ended here: an expired charge that
 * was paid after all, a completed transfer that came back. The provider reports these by webhook alone, and an ended payment is not
 * followed, so a lost webhook would leave the money with the provider until the next `vintem reconcile`. Where a return stands under the time
 * of its Pix and comes later than this reading, the report of its day names it (`day-reports.ts`).
 *
 * Rejected: to query every ended payment for days; the shared limit is five queries a second, and ten thousand lines of a listing cost
 * one. What is under no id of our form is money of the company itself: it becomes a movement of the connection, as where `reconcile` finds it. An id
 * of our form that no account has is left to `reconcile`. One for which its account has no payment proves that the database lost a time: its money
 * goes to suspense, and a payout stops the account.
 *
 * A line proves nothing by itself: the payment that it names is queried. A line without an answer is set aside with retries of
 * its own, and the reading continues. So is a return that a provider lists without its Pix, unless the books have it: nothing can be posted
 * for it until its delivery comes, and a person has to have that sent again.
 */
const everyMs = 10 * 60_000;
/** After a provider that did not answer, or when no query was left. */
const soonMs = 30_000;
/** Lines of the last minutes are read again by the next pass: providers write their lists late. */
const settlingMs = 10 * 60_000;
/** Lists may be this late, and are read again this often. */
const lateForMs = 48 * 3_600_000;
const lateEveryMs = 24 * 3_600_000;
const job: Job = { what: 'statement', claimMs: everyMs };
const lateJob: Job = { what: 'late_statement', claimMs: everyMs, firstAfterMs: lateEveryMs };
/**
 * Listings of one turn, so that queries of the shared limit are left for payments under way. With ten thousand lines a listing, and a turn every
 * ten seconds, a pass gets through seven thousand lines a second, and every line is read by two passes.
 */
const listingsMost = 20;
const widthLeastMs = 1_000;

/**
 * One turn of one connection. A pass reads up to the moment at which it began, in as many turns as that takes, and the next one begins
 * where lines may have been written late since.
 * @returns false always: the loop waits its usual time before the next turn
 */
export async function stepStatement(deps: TrackingDeps, provider: Provider): Promise<boolean> {
  if (!provider.capabilities.statement.lists) return false;
  const { connection } = provider;
  const now = deps.clock.now();
  const turn = await claimJob(deps.sql, job, connection, now);
  const place = turn && (await beginStatement(deps.sql, connection, now));
  if (!place) return false;
  const { passAt } = place;
  if (passAt === null) {
    await endTurn(deps.sql, turn, now + everyMs);
    return false;
  }
  const { readTo, restMs } = await readOn(deps, provider, place.readTo, passAt);
  if (readTo < passAt) {
    await endStatement(deps.sql, turn, { readTo, passAt }, now + restMs);
  } else {
    const next = { readTo: passAt - settlingMs, passAt: null };
    await endStatement(deps.sql, turn, next, passAt + everyMs);
  }
  return false;
}

/**
 * Once a day the lists of the last two days are read again. A provider whose read side was out of order shows a Pix hours later under the time at
 * which it moved, and the reading above has passed that time. What the books have costs a query for ten thousand lines, and nothing more.
 * @returns false always
 */
export async function stepLateStatement(deps: TrackingDeps, provider: Provider): Promise<boolean> {
  if (!provider.capabilities.statement.lists) return false;
  const { connection } = provider;
  const now = deps.clock.now();
  const turn = await claimJob(deps.sql, lateJob, connection, now);
  const place = turn && (await beginLateReading(deps.sql, connection, now, now - lateForMs));
  if (!place) return false;
  const { passAt } = place;
  const { readTo, restMs } = await readOn(deps, provider, place.readTo, passAt);
  if (readTo < passAt) await endLateReading(deps.sql, turn, { readTo, passAt }, now + restMs);
  else await endLateReading(deps.sql, turn, null, passAt + lateEveryMs);
  return false;
}

/**
 * Reads the lines that no pass may have read yet, for the daily close: money that the company moved itself since then would be a difference. A provider
 * that does not answer leaves it at that. What is read is read again by the next pass.
 * @returns false: there may be more
 */
export async function readLatest(deps: TrackingDeps, provider: Provider): Promise<boolean> {
  if (!provider.capabilities.statement.lists) return true;
  const now = deps.clock.now();
  const { readTo } = await readOn(deps, provider, now - everyMs - settlingMs, now, waitForQuery);
  return readTo >= now;
}

/** Reads on, up to `passAt`. @returns up to where that was done, and how long the next turn should rest */
async function readOn(
  deps: TrackingDeps,
  provider: Provider,
  from: number,
  passAt: number,
  takeSlot: (deps: TrackingDeps, provider: Provider) => Promise<Slot | null> = takeAllowedQuery,
): Promise<{ readTo: number; restMs: number }> {
  let readTo = from;
  let widthMs = Math.max(passAt - from, widthLeastMs);
  for (let listings = 0; listings < listingsMost && readTo < passAt; listings++) {
    const slot = await takeSlot(deps, provider);
    if (!slot) return { readTo, restMs: 0 };
    const toMs = Math.min(passAt, readTo + widthMs);
    const divisible = widthMs > widthLeastMs;
    const window = { fromMs: readTo, toMs, wholeOnly: divisible };
    const outcome = await deps.breakers
      .counted(queryOf(provider.connection), () => provider.statement(window))
      .finally(() => slot.free());
    if (outcome.outcome !== 'listed') return { readTo, restMs: soonMs };
    if (!outcome.complete && divisible) {
      widthMs = Math.max(widthLeastMs, Math.ceil(widthMs / outcome.parts));
      continue;
    }
    const returns = await returnsOf(deps, provider, window);
    if (returns === null) return { readTo, restMs: soonMs };
    if (!returns.complete && divisible) {
      widthMs = Math.max(widthLeastMs, Math.ceil(widthMs / returns.parts));
      continue;
    }
    await setUnreadAside(deps, provider, window, [outcome, returns]);
    if (!(await answerLines(deps, provider, outcome.reports))) return { readTo, restMs: soonMs };
    await waitForDeliveries(deps, provider, returns.reports);
    readTo = toMs;
  }
  return { readTo, restMs: 0 };
}

type Listed<Report> = Extract<ListOutcome<Report>, { outcome: 'listed' }>;

/** @returns null: the provider did not answer, or no query of the shared limit was left */
async function returnsOf(
  deps: TrackingDeps,
  provider: Provider,
  window: ListWindow,
): Promise<Listed<UnnamedReturn> | null> {
  const { connection, listReturns } = provider;
  if (!listReturns) return { outcome: 'listed', reports: [], unread: [], complete: true };
  const slot = await waitForQuery(deps, provider);
  if (!slot) return null;
  const outcome = await deps.breakers
    .counted(queryOf(connection), () => listReturns(window))
    .finally(() => slot.free());
  return outcome.outcome === 'listed' ? outcome : null;
}

/** Unreadable items, and the rest of a window that is too large and cannot be divided, are kept for a person and never skipped. */
async function setUnreadAside(
  deps: TrackingDeps,
  { connection }: Provider,
  { fromMs, toMs }: ListWindow,
  lists: readonly [Listed<StatementLine>, Listed<UnnamedReturn>],
): Promise<void> {
  const [lines, returns] = lists;
  const name = new Date(fromMs).toISOString();
  const span = lists.every(({ complete }) => complete)
    ? []
    : [{ kind: 'span' as const, name, providerId: null, endToEnd: null, body: { fromMs, toMs } }];
  await keepUnread(deps, connection, [...lines.unread, ...returns.unread, ...span]);
  const kinds = ['received', 'sent', 'report', 'delivery'] as const;
  await endUnread(
    deps,
    connection,
    kinds,
    lines.reports.flatMap(({ endToEnd }) => endToEnd ?? []),
  );
  await endUnread(
    deps,
    connection,
    ['return'],
    returns.reports.map(({ rtrId }) => rtrId),
  );
}

/** Stores lines whose delivery may still be under way: a line is shown to operators only when the books lack it at its first look-up. */
async function waitForDeliveries(
  deps: TrackingDeps,
  { connection }: Provider,
  returns: readonly UnnamedReturn[],
): Promise<void> {
  const now = deps.clock.now();
  const lines = (await withoutName(deps, returns)).map(lineOfUnnamed);
  await setLinesAside(deps.sql, connection, lines, { now, nextAt: now + settlingMs, problem: null });
}

/** Stores lines about which the books cannot decide yet: most are decided at their first look-up. */
async function waitForBooks(
  deps: TrackingDeps,
  { connection }: Provider,
  lines: readonly StatementLine[],
): Promise<void> {
  const now = deps.clock.now();
  await setLinesAside(deps.sql, connection, lines, { now, nextAt: now + settlingMs, problem: null });
}

/** A line that names a payment's id of ours. */
type LineOfPayment = StatementLine & { paymentId: string; accountNumber: number };

/** @returns false: no query of the shared limit was left, and the same lines are to be read again */
async function answerLines(
  deps: TrackingDeps,
  provider: Provider,
  lines: readonly StatementLine[],
): Promise<boolean> {
  const named = namedOf(lines);
  const others = lines.filter(({ providerId }) => providerId === null || paymentIdOf(providerId) === null);
  const { foreign, undecided } = await sortForeign(deps, provider, others);
  if (foreign.length > 0) await bookUnmatched(deps, provider.connection, foreign.map(unmatchedLine), true);
  await waitForBooks(
    deps,
    provider,
    undecided.map(({ line }) => line),
  );
  for (const cell of await byCell(deps, named)) {
    const { unknown, strays } = await findNews(cell.deps.sql, provider.connection, cell.items);
    for (const line of strays) await takeStray(deps, provider, line);
    if (!(await answerInCell(cell.deps, provider, unknown))) return false;
  }
  // Only now: what was missing is booked.
  await compareAmounts(deps, provider.connection, named);
  return true;
}

/** Before its money is posted: the account is stopped first. */
async function takeStray(deps: TrackingDeps, { connection }: Provider, line: StatementLine): Promise<void> {
  const stray = strayOfLine(line);
  if (stray === null) return;
  await noteLost(deps, connection, stray);
  await bookUnmatched(deps, connection, [unmatchedLine(line)], true);
}

async function answerInCell(
  deps: TrackingDeps,
  provider: Provider,
  news: readonly LineOfPayment[],
): Promise<boolean> {
  const { connection } = provider;
  if (news.length === 0) return true;
  const lineOf = new Map(news.map((line) => [line.paymentId, line]));
  const owners = await findOwners(
    deps.sql,
    connection,
    [...lineOf.keys()].map((id) => ({ id, accountNumber: accountNumberOf(id) })),
  );
  for (const owner of owners) {
    const { accountId, id: paymentId } = owner;
    try {
      await confirm(deps, provider, [owner], lineOf.get(paymentId)?.providerRef);
      // Only now: the line may name a return otherwise than its webhook did, or the webhook may have been under way. One that is
      // followed is queried again.
      const ofPayment = news.filter((line) => line.paymentId === paymentId);
      if (owner.followed) continue;
      for (const line of await findLacking(deps.sql, connection, ofPayment)) {
        deps.log.warn({ accountId, paymentId }, 'the statement names money that the books lack');
        if (provider.capabilities.returnsInStatementAlone && line.kind === 'returned')
          await setAside(deps, connection, line, inStatementAlone);
      }
    } catch (error) {
      if (error instanceof NoQueryLeft) return false;
      const line = lineOf.get(paymentId);
      if (line) await setAside(deps, connection, line, (error as Error).message);
    }
  }
  return true;
}
