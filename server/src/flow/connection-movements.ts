import { eventKinds } from '../money/journal.ts';
import { payoutName } from '../provider/cards.ts';
import type { ListOutcome, ListWindow, Provider, ProviderCost, UnreadKind } from '../provider/provider.ts';
import { lineNameOf } from '../provider/unread.ts';
import { installationId } from '../store/rows/audit.sql.ts';
import { findOtherPayouts, insertPayouts } from '../store/rows/cash-transfers.sql.ts';
import {
  type ConnectionMovement,
  findCostsPlace,
  insertMovements,
  type MovementSource,
  noteCostsRead,
  type OtherMovement,
  postedMost,
  type UnpostedMovements,
  unpostedMovements,
} from '../store/rows/connection-movements.sql.ts';
import { claimJob, endTurn, type Job } from '../store/rows/jobs.sql.ts';
import { type Command, type Posting, put, read } from '../store/till.ts';
import { queryOf } from './breaker.ts';
import { stepCash } from './cash-transfers.ts';
import { endUnread, keepUnread } from './keep-unread.ts';
import { buildIncident } from './open-incident.ts';
import { waitForQuery } from './query.ts';
import { applyWithinMs } from './send.ts';
import type { TrackingDeps } from './tracking-deps.ts';

/**
 * Movements in a provider's account that belong to no merchant: costs of the provider, money of the company itself.
 *
 * It is kept in two steps. First each movement is stored under what it is known by, once, whichever source names it: a delivery, a report, a
 * list, a person. Then what is not posted yet is posted on the installation's chain, many in one journal: a journal for each fee would double the
 * journals of a connection, and all of them would wait for one row. A process that dies between the two steps leaves movements that the next
 * one posts.
 *
 * Rejected: an incident for each Pix of the company's own. 300 of them a day bury the one that matters, and nothing is to be decided.
 */
export type MovementDeps = Pick<TrackingDeps, 'sql' | 'till' | 'clock' | 'ids' | 'log'>;

/** Stores what is new of these. One that is stored with another amount stays as it is, and a person looks. */
export async function keepMovements(
  deps: MovementDeps,
  connection: string,
  movements: readonly ConnectionMovement[],
): Promise<number> {
  const { added, differing } = await insertMovements(deps.sql, connection, movements, deps.clock.now());
  await openOthers(deps, connection, differing);
  return added;
}

/** An incident of the installation, once for each movement and amount. */
async function openOthers(
  deps: MovementDeps,
  connection: string,
  others: readonly OtherMovement[],
): Promise<void> {
  for (const { kind, reference, reportedCents, bookedCents } of others) {
    const wanted = {
      ...{ accountId: installationId, kind: 'movement_mismatch' as const },
      reference: `amount:${connection}:${kind}:${reference}:${reportedCents}`,
      amountCents: Math.abs(reportedCents),
      detail: { connection, movement: kind, pix: reference, reportedCents, bookedCents },
    };
    const deadlineMs = deps.clock.monotonicMs() + applyWithinMs;
    if (!(await deps.till.submit(buildIncident(wanted, deps.ids.uuid(), deadlineMs)))) continue;
    deps.log.error(
      { connection, kind, reference },
      'a movement of a connection is reported with another amount',
    );
  }
}

/** @returns as movements: what the provider keeps leaves its account */
export const movementsOfCosts = (
  costs: readonly ProviderCost[],
  source: MovementSource,
): ConnectionMovement[] =>
  costs
    .filter(({ amountCents }) => amountCents !== 0)
    .map(({ reference, amountCents, at }) => ({
      ...{ kind: 'cost' as const, reference, amountCents: -amountCents, at, source },
    }));

const chain = { accountId: installationId, chainId: installationId };
const movementOf = { cost: 'providerCost', own: 'ownMoney', cash: 'cashTransfer' } as const;

/**
 * Posts what is not posted yet, at most `postedMost` movements: one journal for each kind and direction. The journal is known by the first of its movements,
 * and each movement is in one journal. Answers how many were posted. Pure.
 */
export function buildPosting(connection: string, token: string, deadlineMs: number): Command<number> {
  return {
    token,
    deadlineMs,
    chains: [chain],
    reads: [read(unpostedMovements, connection)],
    eventRefs: [],
    decide: (view) => {
      const row = view.get(unpostedMovements, connection);
      if (!row || row.open.length === 0) return { answer: 0 };
      const groups = [...Map.groupBy(row.open, (one) => `${one.kind} ${one.amountCents > 0 ? 'in' : 'out'}`)];
      const journals = groups.map(([name, some]) =>
        journalOf(connection, name.split(' ')[1] as string, some),
      );
      const posted = [...row.posted, ...journals.map(({ marked }) => marked)];
      return {
        answer: row.open.length,
        postings: journals.map(({ posting }) => posting),
        writes: [put(unpostedMovements, { connection, open: [], posted })],
      };
    },
  };
}

function journalOf(
  connection: string,
  direction: string,
  some: UnpostedMovements['open'],
): { posting: Posting; marked: UnpostedMovements['posted'][number] } {
  const [first] = some;
  if (!first) throw new Error('a journal of no movements');
  const { kind } = first;
  const postedAs = `${connection}:${direction}:${first.reference}`;
  const sum = some.reduce((cents, { amountCents }) => cents + amountCents, 0);
  return {
    posting: {
      chain,
      connection,
      subject: installationId,
      event: eventKinds[movementOf[kind]],
      reference: postedAs,
      movement: { kind: movementOf[kind], amountCents: kind === 'cost' ? 0 - sum : sum },
      effectiveAt: Math.max(...some.map(({ at }) => at)),
    },
    marked: { kind, references: some.map(({ reference }) => reference), postedAs },
  };
}

/** Posts all that is stored. @returns how many movements were posted */
export async function postMovements(deps: MovementDeps, connection: string): Promise<number> {
  for (let all = 0; ; ) {
    const deadlineMs = deps.clock.monotonicMs() + applyWithinMs;
    const posted = await deps.till.submit(buildPosting(connection, deps.ids.uuid(), deadlineMs));
    all += posted;
    if (posted < postedMost) return all;
  }
}

// ---------------------------------------------------------------------------------------------------------- the list of costs

const everyMs = 10 * 60_000;
const soonMs = 30_000;
const job: Job = { what: 'costs', claimMs: 2 * 60_000 };
/** Costs of the last minutes are read again: providers write their lists late. */
const settlingMs = 10 * 60_000;
/** Where the reading of a connection begins. */
const firstMs = 24 * 3_600_000;
const windowMs = 24 * 3_600_000;

/**
 * One turn of one connection: reads the provider's lists of costs and of payouts when that is due, and posts what is stored.
 * @returns false always
 */
export async function stepConnectionMovements(deps: TrackingDeps, provider: Provider): Promise<boolean> {
  const { connection } = provider;
  if (hasLists(provider)) {
    const now = deps.clock.now();
    const turn = await claimJob(deps.sql, job, connection, now);
    if (turn) {
      const from = await findCostsPlace(deps.sql, connection, now);
      const read = await readCosts(deps, provider, from, now);
      await noteCostsRead(deps.sql, connection, read ?? from);
      await endTurn(deps.sql, turn, now + (read === null ? soonMs : everyMs));
    }
  }
  await postMovements(deps, connection);
  if (provider.cards?.listPayouts) await stepCash(deps, connection);
  return false;
}

export const hasLists = ({ listCosts, cards }: Provider): boolean =>
  listCosts !== undefined || cards?.listPayouts !== undefined;

/**
 * Reads and posts the provider's charges up to this moment, as far as it reports them. For the daily close, which compares just then.
 * @returns false: the list could not be read
 */
export async function bringCostsUpToDate(deps: TrackingDeps, provider: Provider): Promise<boolean> {
  const { connection } = provider;
  let read: number | null = 0;
  if (hasLists(provider)) {
    const now = deps.clock.now();
    read = await readCosts(deps, provider, await findCostsPlace(deps.sql, connection, now), now);
    if (read !== null) await noteCostsRead(deps.sql, connection, read);
  }
  await postMovements(deps, connection);
  return read !== null;
}

/** @returns up to where the list is read; null: it could not be */
async function readCosts(
  deps: TrackingDeps,
  provider: Provider,
  from: number,
  now: number,
): Promise<number | null> {
  const begin = from >= now ? now - firstMs : from - settlingMs;
  for (let fromMs = begin; fromMs < now; fromMs += windowMs) {
    const window = { fromMs, toMs: Math.min(now, fromMs + windowMs) };
    if (!(await readWindow(deps, provider, window))) return null;
  }
  return now;
}

async function readWindow(deps: TrackingDeps, provider: Provider, window: ListWindow): Promise<boolean> {
  const { connection, listCosts, cards } = provider;
  const costs: Listed<ProviderCost> | undefined = listCosts && {
    kind: 'cost',
    list: listCosts,
    nameOf: ({ reference }) => lineNameOf(reference),
    keep: (read) => keepMovements(deps, connection, movementsOfCosts(read, 'statement')),
  };
  if (costs && !(await readList(deps, provider, window, costs))) return false;
  const listPayouts = cards?.listPayouts;
  if (listPayouts === undefined) return true;
  return readList(deps, provider, window, {
    kind: 'sent',
    list: listPayouts,
    nameOf: ({ reference, isReturn }) => payoutName(reference, isReturn),
    keep: async (read) => {
      await insertPayouts(deps.sql, connection, read, deps.clock.now());
      await openOthers(deps, connection, await findOtherPayouts(deps.sql, connection, read));
    },
  });
}

/** A list of movements, and what is done with them. */
interface Listed<Report> {
  /** Of what cannot be read. */
  kind: UnreadKind;
  list(window: ListWindow): Promise<ListOutcome<Report>>;
  /** The name under which it was kept while it could not be read. */
  nameOf(report: Report): string;
  keep(reports: readonly Report[]): Promise<unknown>;
}

async function readList<Report>(
  deps: TrackingDeps,
  provider: Provider,
  window: ListWindow,
  listed: Listed<Report>,
): Promise<boolean> {
  const { connection } = provider;
  const { kind, nameOf } = listed;
  const slot = await waitForQuery(deps, provider);
  if (!slot) return false;
  const outcome = await deps.breakers
    .counted(queryOf(connection), () => listed.list(window))
    .finally(() => slot.free());
  if (outcome.outcome !== 'listed') return false;
  // A person decides what these were: the list is read on.
  await keepUnread(deps, connection, outcome.unread);
  // The read items of a part that is too long are kept: each movement is kept once.
  await listed.keep(outcome.reports);
  await endUnread(deps, connection, [kind], outcome.reports.map(nameOf));
  if (outcome.complete) return true;
  const lengthMs = window.toMs - window.fromMs;
  if (lengthMs <= 1_000) return false;
  const partMs = Math.max(1_000, Math.ceil(lengthMs / outcome.parts));
  for (let fromMs = window.fromMs; fromMs < window.toMs; fromMs += partMs) {
    const part = { fromMs, toMs: Math.min(window.toMs, fromMs + partMs) };
    if (!(await readList(deps, provider, part, listed))) return false;
  }
  return true;
}
