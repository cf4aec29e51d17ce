import { applyOutcome, ReturnUndecided } from '../flow/apply.ts';
import { keepMovements, movementsOfCosts } from '../flow/connection-movements.ts';
import {
  nameOfMoved,
  noteLost,
  type Stray,
  strayOfLine,
  strayOfPage,
  strayOfReport,
  strayOfUnread,
} from '../flow/find-lost-payments.ts';
import { byCell, findOwnersInCells, findPage } from '../flow/in-cells.ts';
import { keepUnread } from '../flow/keep-unread.ts';
import { takeQuery } from '../flow/limit.ts';
import { compareAmounts, movementsOf, namedOf } from '../flow/movement-amounts.ts';
import { sortForeign } from '../flow/nameless-payouts.ts';
import { askForPage } from '../flow/query.ts';
import { applyWithinMs } from '../flow/send.ts';
import type { TrackingDeps } from '../flow/tracking-deps.ts';
import {
  bookUnmatched,
  namesStaticCode,
  type Unmatched,
  unmatchedLine,
  unmatchedOf,
} from '../flow/unmatched.ts';
import { closedDays, linesOfReport } from '../jobs/day-reports.ts';
import { findLacking, findNews } from '../jobs/statement.sql.ts';
import {
  inStatementAlone,
  lineOfUnnamed,
  noPixNamed,
  setAside,
  withoutName,
} from '../jobs/statement-lines.ts';
import { settledReturns } from '../kinds/payment/interpret-report.ts';
import { type Payment, paymentIdOf, providerIdOf } from '../money/payment.ts';
import { lowestIdAt } from '../ports/ids.ts';
import type { Queries } from '../ports/sql.ts';
import { queryAnyCharge } from '../provider/due-charges.ts';
import type {
  ChargeReport,
  DayReportOutcome,
  ListOutcome,
  ListWindow,
  MovedPage,
  PayoutReport,
  Provider,
  QueryOutcome,
  StatementLine,
  Unclear,
  UnreadItem,
} from '../provider/provider.ts';
import { type Operator, OperatorRefused } from '../store/operator.ts';
import { installationId, writeAudit } from '../store/rows/audit.sql.ts';
import { accountNumberOf } from '../store/rows/idempotency.ts';
import { type PaymentOwner, paymentKey, payments } from '../store/rows/payments.sql.ts';
import type { LineToAnswer } from '../store/rows/statement-lines.sql.ts';
import { endRestore } from './pause.ts';
import {
  findConnections,
  findConnectionsOf,
  findOldestOpen,
  findRestore,
  findSettled,
  findTraces,
  type OpenPayment,
  type Restore,
} from './reconcile.sql.ts';
import { createSeen, forgetAbandoned, type Seen } from './reconcile-seen.sql.ts';

/**
 * Compares what the provider lists (charges, payouts, the statement of its account) with what is here.
 *
 * What it has and we lack is posted the way every word of the provider's is: a payment of ours through `applyOutcome`, anything
 * else to suspense of the installation with an incident. Both happen once per id of the provider, so a comparison may be
 * repeated, and webhooks and queries may come in between. What contradicts us is never posted: it opens the incident that
 * the same word would open in a webhook.
 *
 * After a restore, or another loss of time, this is what ends the pause, and only on evidence: everything was compared from before the time that
 * was lost, and so long after it that a list which lags shows it; the payments that are known to be settled are in the lists; what cannot be read is
 * set aside under a name; and nothing that only the provider knows is still under way there. Otherwise the pause stays, unless a person accepts by name
 * what is open.
 *
 * A payout of the lost time that a lagging list does not show yet would leave again under another request key. Known payments in the list do not exclude
 * it: they are from before the loss, so they show that the list is whole up to them, and a list is whole from its beginning to some moment. Only a payout from
 * behind the loss would show that the list has passed it, and withdrawals are paused. So time decides. Rejected: to ask for the time only of connections
 * without a known payment in the window.
 */
export interface Reconciled {
  /** Items of the provider's lists that are payments of ours. */
  compared: number;
  /** Of them, those whose money was missing here: it is posted now. */
  missing: number;
  /** At the provider, and no payment of ours. */
  unexpected: number;
  /** Both know it, and disagree; or settled here and not listed there. */
  different: number;
  /** Of those, settled here and not listed there: the lists are not whole, or lag. The first of their ids, for a person. */
  absent: number;
  absentIds: string[];
  /** At the provider under an id of ours, under way, and no payment of ours. */
  underWay: number;
  /** Items of the lists that cannot be read and name nothing that could be looked up. */
  unread: number;
  /** The reasons why the lists are no evidence. */
  waitsFor: Doubt[];
  /** Lines of the statement that the provider could not answer, and items of lists that could not be read: the running service looks them up again. */
  setAside: number;
  /** Reports of closed days that could not be read: the running service requests them again. */
  unreadReports: number;
  /**
   * This comparison began so soon after the loss that lists of payouts may lag behind it: from when on one counts (ms since 1970). Null: this one does,
   * or nothing was lost.
   */
  countsFrom: number | null;
  /** ms since 1970. */
  since: number;
  /** There was a restore, and everything that can be compared has been. */
  restoreEnded: boolean;
  /** Connections that pay out and list no payouts: what these paid was not compared, and after a restore the pause waits for a person. */
  unlisted: string[];
}

/**
 * The reasons why a comparison is no evidence: known settled payments that no list shows, payouts of ours under way that the books
 * lack, parts of lists or reports that could not be read, lists that may lag behind the loss.
 */
export const doubts = ['absent', 'under-way', 'unread', 'early'] as const;
export type Doubt = (typeof doubts)[number];

const absentShown = 20;
const hourMs = 3_600_000;
/** How far back a comparison goes by default. */
const usualMs = 24 * hourMs;
/** A window that is longer than the adapter reads is divided, down to this. */
const windowLeastMs = 1_000;
/** Payments of the last minutes may be on their way into the provider's lists. */
const settlingMs = 5 * 60_000;
const chunk = 500;
/** Of a report that is being made: about four minutes. */
const reportLooksMost = 50;
/** After a restore, open payments from before the window that are queried one by one: 40 s of the shared limit. */
const staleMost = 200;
/** No comparison takes longer: what an older one left in the database belongs to a process that ended. */
const abandonedAfterMs = 7 * 24 * hourMs;

interface Options {
  accountId: string | null;
  sinceMs: number | null;
  /** The findings that a person accepts, and why. */
  accepted?: { doubts: readonly Doubt[]; reason: string };
}

/** @throws OperatorRefused no such account, or its provider is not configured; Error when the provider does not answer */
export async function reconcile(
  deps: TrackingDeps,
  operator: Operator,
  options: Options,
): Promise<Reconciled> {
  const { accountId } = options;
  const { listLagMs } = deps.settings;
  await deps.cells.refresh();
  const now = deps.clock.now();
  const restore = await findRestore(
    deps.sql,
    deps.cells.all().map(({ sql }) => sql),
  );
  const { needed, stale } = await neededOf(deps, restore, now);
  const since = Math.max(options.sinceMs ?? needed, 0);
  const result: Reconciled = {
    compared: 0,
    missing: 0,
    unexpected: 0,
    different: 0,
    absent: 0,
    absentIds: [],
    underWay: 0,
    unread: 0,
    waitsFor: [],
    setAside: 0,
    unreadReports: 0,
    countsFrom: null,
    since,
    restoreEnded: false,
    unlisted: [],
  };
  let providers: Provider[] = [];
  // Without test accounts the simulator need not run, and nothing can have been lost there.
  for (const provider of deps.providers.values())
    if (provider.identity === null || (await deps.isInUse(provider))) providers.push(provider);
  if (accountId === null && restore !== null) {
    // Payments sent in the lost time are known to their provider alone: without one of them nothing has been compared.
    const missing = (await findConnections(deps.sql)).filter((one) => !deps.providers.has(one));
    if (missing.length > 0)
      throw new OperatorRefused(
        `there are accounts at a provider that is not configured: ${missing.join(', ')}`,
      );
  }
  if (accountId !== null) {
    const connections = await findConnectionsOf(deps.sql, accountId);
    if (connections.length === 0) throw new OperatorRefused('no such account');
    const missing = connections.filter((one) => !deps.providers.has(one));
    if (missing.length > 0)
      throw new OperatorRefused(`a provider of this account is not configured: ${missing.join(', ')}`);
    providers = providers.filter(({ connection }) => connections.includes(connection));
  }
  const held = providers.filter(({ identity }) => identity === null).map(({ connection }) => connection);
  if (held.length > 0)
    throw new OperatorRefused(
      `held, so that nothing can be compared: ${held.join(', ')}; \`vintem check\` says why`,
    );
  result.unlisted = unlistedOf(providers);
  await forgetAbandoned(deps.sql, lowestIdAt(now - abandonedAfterMs));
  const doubtful: string[] = [];
  for (const provider of providers) {
    const seen = createSeen(deps);
    const open = openIn(result);
    try {
      await compareConnection(deps, provider, accountId, { fromMs: since, toMs: now }, seen, stale, result);
    } finally {
      await seen.end();
    }
    const isEarly = restore !== null && mayLag(provider) && now < restore.restoredAt + listLagMs;
    if (isEarly) result.countsFrom = restore.restoredAt + listLagMs;
    if (isEarly || openIn(result) > open) doubtful.push(provider.connection);
  }
  result.waitsFor = doubtsOf(result);
  const accepted = options.accepted?.doubts ?? [];
  const isEvidence = result.waitsFor.every((doubt) => accepted.includes(doubt));
  if (accountId === null && since <= needed && restore !== null && isEvidence) {
    const { unlisted } = result;
    const reason = doubtful.length === 0 ? null : (options.accepted?.reason ?? null);
    result.restoreEnded = await endRestore(operator, {
      ...{ restoredAt: restore.restoredAt, unlisted, doubtful, reason },
    });
  }
  const audit = {
    accountId: accountId ?? installationId,
    id: operator.ids.uuid(),
    at: operator.clock.now(),
    actor: operator.actor,
    action: 'reconcile',
    subject: accountId ?? 'installation',
    reason: options.accepted?.reason ?? null,
    detail: { ...result, accepted },
  };
  await operator.sql.tx(async (tx) => {
    await writeAudit(tx, audit);
  });
  return result;
}

const openIn = ({ absent, underWay, unread, unreadReports }: Reconciled): number =>
  absent + underWay + unread + unreadReports;

/** Its list of payouts is the evidence, and real money is at stake. */
const mayLag = ({ capabilities }: Provider): boolean =>
  capabilities.movesMoney && capabilities.payouts && capabilities.canListPayouts;

const doubtsOf = ({ absent, underWay, unread, unreadReports, countsFrom }: Reconciled): Doubt[] => [
  ...(absent > 0 ? (['absent'] as const) : []),
  ...(underWay > 0 ? (['under-way'] as const) : []),
  ...(unread + unreadReports > 0 ? (['unread'] as const) : []),
  ...(countsFrom === null ? [] : (['early'] as const)),
];

const unlistedOf = (providers: Iterable<Provider>): string[] =>
  [...providers]
    .filter(({ capabilities }) => capabilities.payouts && !capabilities.canListPayouts)
    .map(({ connection }) => connection);

/**
 * From when on everything has to be compared: after a restore, from before the time that was lost and from before every
 * open payment, since each of them may have ended in the time that was lost. A few that have been open for long would stretch that to
 * their age: the oldest ones are queried one by one instead.
 */
async function neededOf(
  deps: TrackingDeps,
  restore: Restore | null,
  now: number,
): Promise<{ needed: number; stale: OpenPayment[] }> {
  if (restore === null) return { needed: now - usualMs, stale: [] };
  const from = Math.min(restore.lostSince, restore.restoredAt) - hourMs;
  const ofCells = await Promise.all(
    deps.cells.all().map(({ sql }) => findOldestOpen(sql, from, staleMost + 1)),
  );
  const oldest = ofCells.flat().sort((a, b) => a.createdAt - b.createdAt);
  const [stale, next] = [oldest.slice(0, staleMost), oldest[staleMost]];
  return { needed: next ? next.createdAt - hourMs : from, stale };
}

async function compareConnection(
  deps: TrackingDeps,
  provider: Provider,
  accountId: string | null,
  window: ListWindow,
  seen: Seen,
  stale: readonly OpenPayment[],
  result: Reconciled,
): Promise<void> {
  const compare = async (reports: readonly (ChargeReport | PayoutReport)[]): Promise<void> => {
    for (let at = 0; at < reports.length; at += chunk) {
      const part = new Map(reports.slice(at, at + chunk).map((report) => [idOf(report), report]));
      const fresh = await seen.add([...part.keys()]);
      const news = [...part.values()].filter((report) => fresh.has(idOf(report)));
      if (news.length > 0) await compareReports(deps, provider, accountId, news, result);
    }
  };
  const unread: TakeUnread = (items) => takeUnread(deps, provider, accountId, items, result);
  const { canListCharges, canListPayouts } = provider.capabilities;
  if (canListCharges) {
    for await (const reports of listed(deps, provider, window, (part) => provider.listCharges(part), unread))
      await compare(reports);
  }
  const listDue = provider.capabilities.dueCharges ? provider.dueCharges?.list : undefined;
  if (listDue) {
    for await (const reports of listed(deps, provider, window, listDue, unread)) await compare(reports);
  }
  if (canListPayouts) {
    for await (const reports of listed(deps, provider, window, (part) => provider.listPayouts(part), unread))
      await compare(reports);
  }
  const { lists, dayReports } = provider.capabilities.statement;
  // The statement shows when money moved, so also what was created before the window, and what is under no id of ours.
  if (lists) {
    for await (const lines of listed(deps, provider, window, (part) => provider.statement(part), unread))
      await compareLines(deps, provider, accountId, lines, seen, compare, result);
  }
  // Whose these are is not known: a comparison of one account leaves them to the next one of all.
  if (provider.listReturns && accountId === null) {
    for await (const returns of listed(deps, provider, window, provider.listReturns, unread))
      for (const one of await withoutName(deps, returns)) {
        result.setAside++;
        await setAside(deps, provider.connection, lineOfUnnamed(one), noPixNamed);
      }
  }
  if (dayReports) {
    for (const day of closedDays(window, deps.clock.now(), dayReports.utcOffsetMs)) {
      const report = await reportOf(deps, provider, day);
      if (report === null) result.unreadReports++;
      else {
        const lines = linesOfReport(day, dayReports.utcOffsetMs, report);
        await keepMovements(deps, provider.connection, movementsOfCosts(report.costs ?? [], 'report'));
        await compareReported(deps, provider, accountId, lines, seen, compare, result);
      }
    }
  }
  const listMoved = provider.cards?.listMoved;
  if (listMoved) {
    for await (const moved of listed(deps, provider, window, listMoved, unread))
      await compareMoved(deps, provider, accountId, moved, result);
  }
  await compareStale(deps, provider, accountId, stale, seen, compare);
  if (!canListCharges && !canListPayouts) return;
  const between = { fromMs: window.fromMs + settlingMs, toMs: window.toMs - settlingMs };
  for (const cell of deps.cells.all()) {
    for await (const page of findSettled(cell.sql, provider.connection, between, accountId)) {
      const there = await seen.among(page.map(({ id }) => providerIdOf(id)));
      for (const { id, accountId: owner, kind } of page) {
        if (there.has(providerIdOf(id)) || !(kind === 'deposit' ? canListCharges : canListPayouts)) continue;
        result.different++;
        result.absent++;
        if (result.absentIds.length < absentShown) result.absentIds.push(id);
        deps.log.error(
          { accountId: owner, paymentId: id },
          'settled here, and not in the lists of the provider',
        );
      }
    }
  }
}

/**
 * Approvals and refunds of an acquirer's pages. One that the books lack is looked for under its own name. What the books do not have even then is kept
 * for a person at once: of a page of the lost time nothing else says that its payer has paid, until the request for it is made once more, which finds the
 * page instead of making another one.
 */
async function compareMoved(
  deps: TrackingDeps,
  provider: Provider,
  accountId: string | null,
  moved: readonly MovedPage[],
  result: Reconciled,
): Promise<void> {
  const ids = await Promise.all(moved.map((one) => idOfMoved(deps, provider, one)));
  const owners = await ownersOf(
    deps,
    provider,
    ids.filter((id) => id !== null),
  );
  for (const [at, one] of moved.entries()) {
    const id = ids[at] ?? null;
    const owner = id === null ? undefined : owners.get(id);
    if (accountId !== null && owner?.accountId !== accountId) continue;
    const before = owner && (await stateOf([owner])).get(owner.id);
    if (owner === undefined || before === undefined) {
      result.unexpected++;
      const stray = one.refund === null ? strayOfPage(one, nameOfMoved(one)) : null;
      if (stray !== null) await noteLost(deps, provider.connection, stray);
      await keepUnread(deps, provider.connection, [one.item], { atOnce: true });
      continue;
    }
    result.compared++;
    if (isBooked(one, before)) continue;
    const answer = await askForMoved(deps, provider, owner, one);
    const after = (await stateOf([owner])).get(owner.id) ?? before;
    if (after.journals > before.journals) {
      result.missing++;
      deps.log.warn({ accountId: owner.accountId, paymentId: owner.id }, 'missing money was posted');
    }
    // An open incident of the payment is a person's already.
    if (isBooked(one, after) || after.incidents > 0) continue;
    // That its payment is known says nothing of this money: it stays until a person has looked.
    if (answer === 'asked') result.different++;
    else result.setAside++;
    await keepUnread(deps, provider.connection, [{ ...one.item, providerId: null }], { atOnce: true });
  }
}

/** Ours, without hyphens; null: neither its name nor its page is known here. */
async function idOfMoved(
  deps: TrackingDeps,
  { connection }: Provider,
  { providerId, page }: MovedPage,
): Promise<string | null> {
  if (providerId !== null || page === null) return providerId;
  const id = await findPage(deps, connection, page);
  return id === undefined ? null : providerIdOf(id);
}

const isBooked = ({ approval, refund }: MovedPage, { payment, references }: State): boolean =>
  refund === null
    ? payment.card?.approval === approval
    : refund.some((name) => references.has(name) || payment.card?.taken?.[name] !== undefined);

/** Under the acquirer's own name: the payment may have another page here. @throws Error the acquirer does not answer */
async function askForMoved(
  deps: TrackingDeps,
  provider: Provider,
  owner: Owner,
  moved: MovedPage,
): Promise<'asked' | 'unreadable'> {
  const outcome = await askForPage(owner.cell, provider, { owner, page: nameOfMoved(moved) }, (query) =>
    asked(deps, provider, query),
  );
  if (outcome.outcome === 'unclear' && isOutage(outcome)) throw notAnswered(outcome);
  return outcome.outcome === 'found' ? 'asked' : 'unreadable';
}

/**
 * Open payments from before the window, each by a query of its own. One that is not found or cannot be read stays as it is, and the
 * follow-up continues to query it. Rejected: to end the comparison for one that cannot be read, because then no restore would ever end.
 */
async function compareStale(
  deps: TrackingDeps,
  provider: Provider,
  accountId: string | null,
  stale: readonly OpenPayment[],
  seen: Seen,
  compare: (reports: readonly (ChargeReport | PayoutReport)[]) => Promise<void>,
): Promise<void> {
  const ours = stale.filter(
    (one) => one.connection === provider.connection && (accountId === null || one.accountId === accountId),
  );
  const there = await seen.among(ours.map(({ paymentId }) => providerIdOf(paymentId)));
  for (const { paymentId, kind } of ours) {
    const providerId = providerIdOf(paymentId);
    if (there.has(providerId)) continue;
    const outcome = await queryPix(deps, provider, kind === 'deposit' ? 'received' : 'sent', providerId);
    if (outcome.outcome === 'found') await compare([outcome.report]);
    if (outcome.outcome !== 'unclear') continue;
    if (isOutage(outcome)) throw notAnswered(outcome);
    const { connection } = provider;
    deps.log.error({ connection, paymentId, detail: outcome.detail }, 'an open payment cannot be compared');
  }
}

const idOf = (report: ChargeReport | PayoutReport): string =>
  'providerId' in report ? report.providerId : report.txid;

/** Whose a payment is, and where it stands. */
interface Owner extends PaymentOwner {
  cell: TrackingDeps;
}

async function ownersOf(
  deps: TrackingDeps,
  { connection }: Provider,
  providerIds: readonly string[],
): Promise<Map<string, Owner>> {
  const ids = providerIds.map(paymentIdOf).filter((id) => id !== null);
  const cells = await findOwnersInCells(
    deps,
    connection,
    ids.map((id) => ({ id, accountNumber: accountNumberOf(id) })),
  );
  const owners = cells.flatMap((cell) => cell.owners.map((owner) => ({ ...owner, cell: cell.deps })));
  return new Map(owners.map((owner) => [providerIdOf(owner.id), owner]));
}

async function compareReports(
  deps: TrackingDeps,
  provider: Provider,
  accountId: string | null,
  reports: readonly (ChargeReport | PayoutReport)[],
  result: Reconciled,
): Promise<void> {
  const startedAt = deps.clock.now();
  const owners = await ownersOf(deps, provider, reports.map(idOf));
  for (const report of reports) {
    const owner = owners.get(idOf(report));
    // A charge under a transfer's id is not that transfer.
    if (owner && (owner.kind === 'transfer') !== 'providerId' in report) owners.delete(idOf(report));
  }
  const mine = [...owners.values()].filter((owner) => accountId === null || owner.accountId === accountId);
  const before = await stateOf(mine);
  const told: Owner[] = [];
  await Promise.all(
    reports.map(async (report) => {
      const owner = owners.get(idOf(report));
      if (!owner) {
        if (accountId !== null) return;
        result.unexpected++;
        await takeStray(deps, provider, strayOfReport(report), result);
        await postAll(deps, provider.connection, report);
        return;
      }
      const state = before.get(owner.id);
      if (!state) return;
      result.compared++;
      if (!hasNews(report, state.payment, state.references)) return;
      told.push(owner);
      if (!(await applied(provider, owner, report, startedAt))) result.different++;
    }),
  );
  const movements = reports.filter((one) => owners.has(idOf(one))).flatMap(movementsOf);
  // Only now: what was missing is booked.
  const others = new Set(await compareAmounts(deps, provider.connection, movements, accountId));
  const after = await stateOf(told);
  for (const report of reports) {
    const owner = owners.get(idOf(report));
    const was = owner && before.get(owner.id);
    if (!owner || !was) continue;
    const is = after.get(owner.id) ?? was;
    if (is.journals > was.journals) {
      result.missing++;
      deps.log.warn({ accountId: owner.accountId, paymentId: owner.id }, 'missing money was posted');
    }
    if (is.incidents > was.incidents || others.has(owner.id) || disagrees(report, is.payment)) {
      result.different++;
      deps.log.error({ accountId: owner.accountId, paymentId: owner.id }, 'the provider disagrees');
    }
  }
}

/** @returns false: a return in it may be a refund that is not final yet. The refund is queried, and another comparison decides. */
async function applied(
  { connection }: Provider,
  { cell: deps, accountId, id: paymentId, operationId, kind }: Owner,
  report: ChargeReport | PayoutReport,
  startedAt: number,
): Promise<boolean> {
  const outcome: QueryOutcome<ChargeReport | PayoutReport> = { outcome: 'found', report };
  const observation = { from: 'query', id: deps.ids.uuid(), startedAt, outcome } as const;
  try {
    await applyOutcome(
      deps,
      { accountId, paymentId, operationId, connection, kind, observation },
      deps.clock.monotonicMs() + applyWithinMs,
    );
    return true;
  } catch (error) {
    if (!(error instanceof ReturnUndecided)) throw error;
    deps.log.warn({ accountId, paymentId, connection }, 'a return may be a refund that is not final yet');
    return false;
  }
}

/** A payment, and what the ledger knows of it. */
export interface State {
  payment: Payment;
  journals: number;
  incidents: number;
  references: ReadonlySet<string>;
}

async function stateOf(owners: readonly Owner[]): Promise<Map<string, State>> {
  const groups = [...Map.groupBy(owners, ({ cell }) => cell)];
  const ofCells = await Promise.all(groups.map(([{ sql }, some]) => stateIn(sql, some)));
  return new Map(ofCells.flat());
}

async function stateIn(sql: Queries, owners: readonly PaymentOwner[]): Promise<[string, State][]> {
  const keys = owners.map((owner) => paymentKey(owner.accountId, owner.id));
  const [rows, traces] = await Promise.all([payments.read(sql, keys), findTraces(sql, owners)]);
  const known = new Map(traces.map((one) => [one.id, one]));
  return rows.map((payment) => {
    const { journals = 0, incidents = 0, references = [] } = known.get(payment.id) ?? {};
    return [payment.id, { payment, journals, incidents, references: new Set(references) }];
  });
}

/** Whether the report says something that is not in the books: only then is it applied. */
function hasNews(
  report: ChargeReport | PayoutReport,
  payment: Payment,
  references: ReadonlySet<string>,
): boolean {
  const pix = 'providerId' in report ? [report] : report.received;
  // One that is posted under another name is applied again, and changes nothing.
  const returns = pix.flatMap((one) =>
    settledReturns(one).map((back) => ({ ...back, endToEnd: one.endToEnd })),
  );
  if (returns.some(({ rtrId, id, endToEnd }) => !references.has(rtrId ?? `${endToEnd}/${id}`))) return true;
  if ('providerId' in report) {
    return (
      report.status !== 'pending' &&
      payment.status !== (report.status === 'completed' ? 'completed' : 'cancelled')
    );
  }
  return report.received.some((pix) => pix.endToEnd !== payment.endToEnd && !references.has(pix.endToEnd));
}

/** Findings that no further word of the provider can explain. */
function disagrees(report: ChargeReport | PayoutReport, payment: Payment): boolean {
  if ('providerId' in report) {
    return (
      report.amountCents !== payment.amountCents - payment.feeCents ||
      (payment.status === 'completed' && report.status !== 'completed') ||
      (payment.status === 'cancelled' && report.status !== 'refused')
    );
  }
  return payment.status === 'paid' && report.received.length === 0;
}

/** Everything that a report of no payment of ours says to have moved. */
async function postAll(
  deps: TrackingDeps,
  connection: string,
  report: ChargeReport | PayoutReport,
): Promise<void> {
  const news =
    'providerId' in report ? { received: [], payouts: [report] } : { received: report.received, payouts: [] };
  await postEach(deps, connection, unmatchedOf(news, deps.clock.now()));
}

const postEach = (deps: TrackingDeps, connection: string, all: readonly Unmatched[]): Promise<unknown> =>
  bookUnmatched(deps, connection, all, true);

async function compareLines(
  deps: TrackingDeps,
  provider: Provider,
  accountId: string | null,
  lines: readonly StatementLine[],
  seen: Seen,
  compare: (reports: readonly (ChargeReport | PayoutReport)[]) => Promise<void>,
  result: Reconciled,
): Promise<void> {
  const there = await seen.among(lines.flatMap((line) => line.providerId ?? []));
  // A line that names a static code has no charge to query: it is all that there is to know.
  const ofCodes = lines.filter(namesStaticCode);
  if (accountId === null && ofCodes.length > 0)
    await postEach(deps, provider.connection, ofCodes.map(unmatchedLine));
  const listed = lines.filter(
    (line) => !namesStaticCode(line) && (line.providerId === null || !there.has(line.providerId)),
  );
  const { foreign: decided, undecided } = await sortForeign(deps, provider, listed);
  // Whose these are is not known: a comparison of one account leaves them to the next one of all.
  for (const { line, problem } of accountId === null ? undecided : []) {
    result.setAside++;
    await setAside(deps, provider.connection, line, problem);
  }
  const unseen = provider.capabilities.canListPayouts
    ? decided
    : await withNews(deps, provider, decided, result);
  const ids = unseen.map((line) => line.providerId).filter((id) => id !== null);
  const owners = await ownersOf(deps, provider, ids);
  let outages = 0;
  for (const line of unseen) {
    const { providerId, kind } = line;
    if (providerId !== null && there.has(providerId)) continue;
    const owner = providerId === null ? undefined : owners.get(providerId);
    if (accountId !== null && owner?.accountId !== accountId) continue;
    if (providerId !== null) {
      // Created before the window: what the provider says of it as a whole, with the ids of its returns.
      const direction = kind === 'received' || kind === 'debited' ? 'received' : 'sent';
      const outcome = await queryPix(deps, provider, direction, providerId, line.providerRef);
      if (outcome.outcome === 'found') {
        await compare([outcome.report]);
        there.add(providerId);
        outages = 0;
        continue;
      }
      if (outcome.outcome === 'unclear') {
        // Two in a row are the provider's trouble and not the line's.
        if (isOutage(outcome) && ++outages === 2) throw notAnswered(outcome);
        result.setAside++;
        await setAside(deps, provider.connection, line, notAnswered(outcome).message);
        continue;
      }
    }
    result.unexpected++;
    // A line that names a payment of the books contradicts the query: it is posted as before, and the payment stays as it is.
    if (!owner) await takeStray(deps, provider, strayOfLine(line), result);
    await postEach(deps, provider.connection, [unmatchedLine(line)]);
  }
  const alone = new Set(
    namedOf(lines.filter((line) => !there.has(line.providerId ?? ''))).map(({ paymentId }) => paymentId),
  );
  const others = await compareAmounts(deps, provider.connection, namedOf(lines), accountId);
  result.different += new Set(others.filter((id) => alone.has(id))).size;
  const compared = lines.filter(
    ({ kind, providerId }) => kind === 'returned' && providerId !== null && there.has(providerId),
  );
  if (provider.capabilities.returnsInStatementAlone)
    await setLackingAside(deps, provider, accountId, compared, result);
}

/** Returns of payments that were compared with the provider's answer about them, and that the books lack all the same. */
async function setLackingAside(
  deps: TrackingDeps,
  provider: Provider,
  accountId: string | null,
  returns: readonly StatementLine[],
  result: Reconciled,
): Promise<void> {
  const { connection } = provider;
  const ids = returns.flatMap(({ providerId }) => providerId ?? []);
  const owners = await ownersOf(deps, provider, ids);
  const ours = returns.flatMap((line) => {
    const owner = owners.get(line.providerId ?? '');
    if (owner === undefined || (accountId !== null && owner.accountId !== accountId)) return [];
    return [{ ...line, paymentId: owner.id, accountNumber: accountNumberOf(owner.id) }];
  });
  for (const cell of await byCell(deps, ours))
    for (const line of await findLacking(cell.deps.sql, connection, cell.items)) {
      result.setAside++;
      await setAside(deps, connection, line, inStatementAlone);
    }
}

/**
 * Without the payouts that the books have as well. Where a provider lists no payouts each line would cost a query of its own, and the one that does so
 * (Inter) allows twenty a minute.
 */
async function withNews(
  deps: TrackingDeps,
  provider: Provider,
  lines: readonly StatementLine[],
  result: Reconciled,
): Promise<StatementLine[]> {
  const named = lines.flatMap((line) => {
    const id = line.kind === 'sent' && line.providerId !== null ? paymentIdOf(line.providerId) : null;
    return id === null ? [] : [{ ...line, paymentId: id, accountNumber: accountNumberOf(id) }];
  });
  const known = new Set(
    (
      await ownersOf(
        deps,
        provider,
        named.flatMap(({ providerId }) => providerId ?? []),
      )
    ).keys(),
  );
  for (const cell of await byCell(deps, named)) {
    const { unknown, strays } = await findNews(cell.deps.sql, provider.connection, cell.items);
    for (const { providerId } of [...unknown, ...strays]) if (providerId !== null) known.delete(providerId);
  }
  result.compared += known.size;
  return lines.filter(
    ({ providerId, kind }) => kind !== 'sent' || providerId === null || !known.has(providerId),
  );
}

/** Before its money is posted: the account is stopped first. */
async function takeStray(
  deps: TrackingDeps,
  { connection }: Provider,
  stray: Stray | null,
  result: Reconciled,
): Promise<void> {
  if (stray === null) return;
  const known = await noteLost(deps, connection, stray);
  // An open charge takes nothing from an account, and its payer may come at any time.
  if (stray.status === 'pending' && known === 'open') result.underWay++;
}

/** Returns that the report of a closed day names: whatever is not yet compared is queried as a whole. */
async function compareReported(
  deps: TrackingDeps,
  provider: Provider,
  accountId: string | null,
  lines: readonly LineToAnswer[],
  seen: Seen,
  compare: (reports: readonly (ChargeReport | PayoutReport)[]) => Promise<void>,
  result: Reconciled,
): Promise<void> {
  for (const line of lines) {
    const unanswered = async (problem: string): Promise<void> => {
      // Whose it is remains unknown: a comparison of one account leaves it to the next one of all.
      if (accountId !== null) return;
      result.setAside++;
      await setAside(deps, provider.connection, line, problem);
    };
    const { endToEnd } = line;
    if (endToEnd === null) {
      await unanswered('the report names no end-to-end id');
      continue;
    }
    const found = await asked(deps, provider, () => provider.findPix(endToEnd));
    if (found.outcome !== 'found') {
      await unanswered(
        found.outcome === 'unclear' ? notAnswered(found).message : 'the provider does not know this Pix',
      );
      continue;
    }
    const { providerId, direction } = found.report;
    const owner =
      providerId === null ? undefined : (await ownersOf(deps, provider, [providerId])).values().next().value;
    if (providerId !== null && owner) {
      if (accountId !== null && owner.accountId !== accountId) continue;
      if (!(await seen.among([providerId])).has(providerId)) {
        const outcome = await queryPix(deps, provider, direction, providerId);
        if (outcome.outcome === 'found') await compare([outcome.report]);
        else await unanswered('the provider does not answer for the payment');
      }
      const kind = direction === 'sent' ? ('returned' as const) : ('debited' as const);
      const ours = { ...line, kind, paymentId: owner.id, accountNumber: accountNumberOf(owner.id) };
      result.different += (await compareAmounts(deps, provider.connection, [ours])).length;
    } else if (accountId === null && line.amountCents !== null) {
      result.unexpected++;
      const kind = direction === 'sent' ? 'returned' : 'debited';
      await postEach(deps, provider.connection, [
        unmatchedLine({ ...line, amountCents: line.amountCents, kind }),
      ]);
    } else {
      await unanswered('the report names no amount');
    }
  }
}

const queryPix = (
  deps: TrackingDeps,
  provider: Provider,
  direction: 'received' | 'sent',
  providerId: string,
  providerRef: string | null = null,
): Promise<QueryOutcome<ChargeReport | PayoutReport>> =>
  asked<QueryOutcome<ChargeReport | PayoutReport>>(deps, provider, () =>
    direction === 'received'
      ? queryAnyCharge(provider, providerId)
      : provider.queryPayout(providerId, providerRef),
  );

const isOutage = ({ cause }: Unclear): boolean => cause !== 'unreadable' && cause !== 'unknownRefusal';

const notAnswered = ({ cause, detail }: Unclear): Error =>
  new Error(`the provider does not answer: ${cause} (${detail})`);

/** The report of a closed day, requested and read; null when the provider does not give it. Efí takes about 30 s to make one. */
async function reportOf(
  deps: TrackingDeps,
  provider: Provider,
  day: string,
): Promise<Extract<DayReportOutcome, { outcome: 'ready' }> | null> {
  type Step = DayReportOutcome | Awaited<ReturnType<Provider['requestDayReport']>>;
  let outcome: Step = { outcome: 'notFound' };
  let reportId = '';
  for (let looks = 0; looks < reportLooksMost; looks++) {
    const lost: boolean = outcome.outcome === 'notFound';
    outcome = await asked<Step>(deps, provider, () =>
      lost ? provider.requestDayReport(day) : provider.readDayReport(reportId),
    );
    if (outcome.outcome === 'ready') return outcome;
    if (outcome.outcome === 'unclear') break;
    if (outcome.outcome === 'requested') reportId = outcome.reportId;
    else await deps.clock.sleep(Math.min(5_000, 250 * 2 ** looks), deps.draining);
  }
  const detail = outcome.outcome === 'unclear' ? outcome.detail : outcome.outcome;
  deps.log.error({ connection: provider.connection, day, detail }, 'the report of a day cannot be read');
  return null;
}

/**
 * An item that cannot be read never ends the comparison: it is kept until it can be (`keep-unread.ts`). One that names nothing cannot be looked up, so it may
 * be a payout of ours.
 */
async function takeUnread(
  deps: TrackingDeps,
  provider: Provider,
  accountId: string | null,
  items: readonly UnreadItem[],
  result: Reconciled,
): Promise<void> {
  await keepUnread(deps, provider.connection, items);
  // Whose they are remains unknown: a comparison of one account leaves them to the next one of all.
  if (accountId !== null) return;
  for (const item of items) {
    const { providerId, endToEnd } = item;
    if (providerId === null && endToEnd === null) {
      result.unread++;
      continue;
    }
    result.setAside++;
    const known = providerId !== null && (await ownersOf(deps, provider, [providerId])).has(providerId);
    if (!known) await takeStray(deps, provider, strayOfUnread(item), result);
  }
}

type TakeUnread = (items: readonly UnreadItem[]) => Promise<void>;

/** The parts of a window, each read whole, the oldest first. */
async function* listed<Report>(
  deps: TrackingDeps,
  provider: Provider,
  window: ListWindow,
  list: (window: ListWindow) => Promise<ListOutcome<Report>>,
  unread: TakeUnread,
): AsyncGenerator<Report[]> {
  const outcome = await asked(deps, provider, () => list({ ...window, wholeOnly: true }));
  if (outcome.outcome !== 'listed') throw notAnswered(outcome);
  const lengthMs = window.toMs - window.fromMs;
  if (outcome.complete || lengthMs <= windowLeastMs) {
    // More may be there within a second than can be read.
    await unread(outcome.complete ? outcome.unread : [...outcome.unread, spanOf(window)]);
    yield outcome.reports;
    return;
  }
  const partMs = Math.max(windowLeastMs, Math.ceil(lengthMs / outcome.parts));
  for (let fromMs = window.fromMs; fromMs < window.toMs; fromMs += partMs) {
    // Both ends are included, and a provider may cut times to the second: what is listed twice is compared once.
    yield* listed(deps, provider, { fromMs, toMs: Math.min(window.toMs, fromMs + partMs) }, list, unread);
  }
}

const spanOf = ({ fromMs, toMs }: ListWindow): UnreadItem => ({
  ...{ kind: 'span', name: null, providerId: null, endToEnd: null },
  body: { fromMs, toMs },
});

/** One call of the shared limit. While the provider cannot answer it is repeated, four times over half a minute. */
async function asked<Outcome extends { outcome: string }>(
  deps: TrackingDeps,
  provider: Provider,
  ask: () => Promise<Outcome | Unclear>,
): Promise<Outcome | Unclear> {
  for (let tries = 1; ; tries++) {
    await takeTurn(deps, provider);
    const outcome = await ask();
    if (!isUnclear(outcome) || !isOutage(outcome) || tries === 5) return outcome;
    // A person waits for this: what a provider wants beyond a minute is said at the end instead.
    const patienceMs = Math.min(outcome.retryAfterMs ?? 0, 60_000);
    await deps.clock.sleep(Math.max(patienceMs, 1_000 * 2 ** tries), deps.draining);
  }
}

const isUnclear = (outcome: { outcome: string } | Unclear): outcome is Unclear =>
  outcome.outcome === 'unclear';

/** Listings and queries count in the limit that all processes share. */
async function takeTurn(deps: TrackingDeps, provider: Provider): Promise<void> {
  const { connection, capabilities } = provider;
  for (let tries = 0; tries < 600; tries++) {
    const slot = await takeQuery(deps, connection, capabilities.callTimeoutMs * 2);
    if (slot) return void (await slot.free());
    await deps.clock.sleep(100, deps.draining);
  }
  throw new Error('no query of the shared limit was left within a minute');
}
