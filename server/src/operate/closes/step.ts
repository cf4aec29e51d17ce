import type { CellsOf } from '../../flow/cells-of.ts';
import type { TrackingDeps } from '../../flow/tracking-deps.ts';
import type { RefreshingCache } from '../../ground/refreshing-cache.ts';
import { type CellShare, movedInAll } from '../../money/day-closes.ts';
import type { Provider } from '../../provider/provider.ts';
import { type SubscribedTypes, subscribedBy } from '../../store/events/subscribed-types.ts';
import { claimJob, endTurn, type Job } from '../../store/rows/jobs.sql.ts';
import { dayOf } from '../statement/period.ts';
import { findCandidates } from './candidates.ts';
import { buildClose } from './close-chain.ts';
import { buildConnectionClose, carriedOf, closingOf, isNewDifference } from './close-connection.ts';
import { type ChainToClose, findChainsToClose, findCloseState, noteDayClosed } from './closes.sql.ts';
import { type Comparison, compare } from './compare.ts';
import {
  findConnectionsToClose,
  findFirstMoved,
  findHeldAt,
  findLastClose,
  findMovedAt,
  waitsForReport,
} from './connection-closes.sql.ts';
import { dayAfter, dayBefore, endsAt } from './day.ts';
import { isToClose, readDay } from './read-day.ts';
import { createSums, type Sums } from './since.ts';

export interface CloseDeps extends Omit<TrackingDeps, 'cells'> {
  /** Schema of its accounts. */
  cell: string;
  subscribed: RefreshingCache<SubscribedTypes>;
  cells: CellsOf<CloseDeps>;
}

/** After midnight: what was posted just before it is committed then, and the provider has written its account. */
const graceMs = 10 * 60_000;
/** A process that closes many chains renews its claim with each page. */
const job: Job = { what: 'closes', claimMs: 10 * 60_000 };
/** After a provider whose balance could not be compared. */
const soonMs = 2 * 60_000;
/** A balance that could not be compared for so long after the day is left out: the next day compares all the same. */
const compareWithinMs = 12 * 3_600_000;
const chainsPerPage = 200;
const applyWithinMs = 8_000;

/**
 * Closes the days that are over, one after the other, when it is due. The claim keeps processes from doing the same work; what keeps the
 * days in order is the lock of each chain and the database's own constraints. A day is over when this process and the database say so.
 * @returns a step of it; a comparison that waits continues with the sums of the one before
 */
export function createCloses(deps: CloseDeps): () => Promise<boolean> {
  const sums = createSums();
  return async () => {
    const now = deps.clock.now();
    const turn = await claimJob(deps.sql, job, '', now);
    if (!turn) return false;
    const { closedDay, databaseNow } = await findCloseState(deps.sql);
    const { closedTo, waits } = await closeDays(deps, closedDay, Math.min(now, databaseNow), sums);
    const dueAt = waits ? deps.clock.now() + soonMs : endsAt(dayAfter(closedTo)) + graceMs;
    await endTurn(deps.sql, turn, dueAt);
    return false;
  };
}

/** The last day that is over, with what came late in it. */
export const lastDayOver = (nowMs: number): string => dayBefore(dayOf(nowMs - graceMs));

/**
 * Each chain is closed in its cell; a connection's close, in the directory, sums all cells. A cell that is made from now on has nothing on a
 * day that is over.
 *
 * Every day after `closedDay` that is over; the first one of an installation is the last that is over.
 * @returns `waits`: a provider's balance is still to be compared
 */
export async function closeDays(
  deps: CloseDeps,
  closedDay: string | null,
  nowMs: number,
  sums = createSums(),
): Promise<{ closedTo: string; waits: boolean }> {
  await deps.cells.refresh();
  const last = lastDayOver(nowMs);
  let closedTo = closedDay;
  for (let day = closedTo === null ? last : dayAfter(closedTo); day <= last; day = dayAfter(day)) {
    for (const cell of deps.cells.all()) await closeChains(cell, day);
    await noteDayClosed(deps.sql, day);
    closedTo = day;
  }
  const through = closedTo ?? last;
  let waits = false;
  for (const connection of await connectionsToClose(deps)) {
    if (!(await closeConnection(deps, connection, through, nowMs, sums))) waits = true;
  }
  return { closedTo: through, waits };
}

/** Of the connections that have a day to compare, in the order in which they are closed. */
export async function providersToCompare(
  deps: CloseDeps,
  closedDay: string | null,
  nowMs: number,
): Promise<Provider[]> {
  await deps.cells.refresh();
  const last = lastDayOver(nowMs);
  const through = closedDay !== null && closedDay > last ? closedDay : last;
  const found: Provider[] = [];
  for (const connection of await connectionsToClose(deps)) {
    const provider = deps.providers.get(connection);
    if (!provider?.capabilities.hasBalance) continue;
    const previous = await findLastClose(deps.sql, connection);
    if (!previous || previous.day < through) found.push(provider);
  }
  return found;
}

async function connectionsToClose(deps: CloseDeps): Promise<string[]> {
  const ofCells = await Promise.all(deps.cells.all().map(({ sql }) => findConnectionsToClose(sql)));
  return [...new Set(ofCells.flat())].sort();
}

async function closeChains(deps: CloseDeps, day: string): Promise<void> {
  for (let after: { accountId: string; chainId: string } | null = null; ; ) {
    const page: ChainToClose[] = await findChainsToClose(deps.sql, after, chainsPerPage);
    const wrote = await Promise.all(
      page.filter((chain) => isToClose(chain, day)).map((chain) => closeChain(deps, chain, day)),
    );
    if (wrote.includes(true)) deps.eventsWritten();
    const last = page.at(-1);
    if (!last || page.length < chainsPerPage) return;
    after = last;
  }
}

async function closeChain(
  deps: CloseDeps,
  chain: Parameters<typeof isToClose>[0],
  day: string,
): Promise<boolean> {
  const read = await readDay(deps.sql, chain, day);
  const subscribed = await subscribedBy(deps, chain.accountId);
  const deadlineMs = deps.clock.monotonicMs() + applyWithinMs;
  return deps.till.submit(buildClose({ chain, day, read, subscribed, token: deps.ids.uuid(), deadlineMs }));
}

/** Each day of a connection after its last close. @returns false: one is still to be compared, and waits */
async function closeConnection(
  deps: CloseDeps,
  connection: string,
  through: string,
  nowMs: number,
  sums: Sums,
): Promise<boolean> {
  let previous = await findLastClose(deps.sql, connection);
  const first = previous ? dayAfter(previous.day) : await firstDayOf(deps, connection, through);
  for (let day = first; day <= through; day = dayAfter(day)) {
    const shares = await sharesOf(deps, connection, previous?.day ?? null, day);
    const carriedCents = carriedOf(previous);
    const books = { closingCents: closingOf(previous, movedInAll(shares)), carriedCents };
    const comparison = await comparisonOf(deps, connection, day, books, nowMs, sums);
    if (comparison === 'later') return false;
    sums.forget(connection);
    const provider = deps.providers.get(connection);
    const candidates =
      comparison && provider && isNewDifference(comparison.differenceCents, carriedCents)
        ? await findCandidates(deps, provider, day, comparison.differenceCents - carriedCents)
        : [];
    const close = await deps.till.submit(
      buildConnectionClose({
        connection,
        day,
        previous,
        shares,
        heldCents: await heldAt(deps, connection, day),
        comparison,
        candidates,
        token: deps.ids.uuid(),
        deadlineMs: deps.clock.monotonicMs() + applyWithinMs,
      }),
    );
    if (close === undefined) return true;
    if (close.incidentId !== null)
      deps.log.error({ connection, day, incidentId: close.incidentId }, 'the daily close has a difference');
    previous = close;
  }
  return true;
}

/** The day of a connection's first close. Where that one waited over a midnight, it is not the last day: each day has a close of its own. */
async function firstDayOf(deps: CloseDeps, connection: string, through: string): Promise<string> {
  const ofCells = await Promise.all(deps.cells.all().map(({ sql }) => findFirstMoved(sql, connection)));
  return [...ofCells.filter((day) => day !== null), through].sort()[0] ?? through;
}

const sharesOf = (
  deps: CloseDeps,
  connection: string,
  afterDay: string | null,
  day: string,
): Promise<CellShare[]> =>
  Promise.all(
    deps.cells.all().map(async ({ cell, sql }) => ({
      ...(await findMovedAt(sql, connection, afterDay, day)),
      cell,
    })),
  );

async function heldAt(deps: CloseDeps, connection: string, day: string): Promise<number> {
  const ofCells = await Promise.all(deps.cells.all().map(({ sql }) => findHeldAt(sql, connection, day)));
  return ofCells.reduce((sum, cents) => sum + cents, 0);
}

async function comparisonOf(
  deps: CloseDeps,
  connection: string,
  day: string,
  books: { closingCents: number; carriedCents: number },
  nowMs: number,
  sums: Sums,
): Promise<Comparison | null | 'later'> {
  const provider = deps.providers.get(connection);
  if (!provider?.capabilities.hasBalance) return null;
  const compared = await compare(deps, provider, day, books, sums);
  const isLast = nowMs >= endsAt(day) + compareWithinMs;
  if (compared === null && !isLast) return 'later';
  // Payouts under way end soon, and then it is known whether it had left. It is assumed only when it did not end for hours.
  if (compared?.assumed && !isLast) return 'later';
  if (compared) {
    const { comparison } = compared;
    const isNew = isNewDifference(comparison.differenceCents, books.carriedCents);
    const mayBeNamed = isNew && !isLast && provider.capabilities.statement.dayReports !== null;
    return mayBeNamed && (await waitsForReport(deps.sql, connection, day)) ? 'later' : comparison;
  }
  deps.log.warn({ connection, day }, 'the daily close could not be compared with the provider');
  return null;
}
