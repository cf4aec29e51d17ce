import type { Signal } from '../../ground/signal.ts';
import {
  isTerminal,
  type Payment,
  type PaymentKind,
  paymentIdOf,
  providerIdOf,
} from '../../payments/payment.ts';
import type { PaymentOwner } from '../../payments/payments.sql.ts';
import type {
  ChargeReport,
  ListOutcome,
  PayoutReport,
  Provider,
  QueryOutcome,
} from '../../provider/provider.ts';
import { accountNumberOf } from '../../request-keys/idempotency.ts';
import {
  type Intent,
  leaseMarginMs,
  patience,
  queryPriorities,
  refundPriority,
  sendPriority,
} from '../dispatch/intent.ts';
import {
  claimDue,
  claimDueNeighbours,
  claimDueSends,
  claimMentioned,
  claimOverdue,
  countDue,
  makeDue,
  renewClaims,
  type SendClass,
} from '../dispatch/intents.sql.ts';
import { type Slot, takeQuery, takeSend } from '../dispatch/limit.ts';
import type { SendDeps } from '../dispatch/send.ts';
import {
  type Attempt,
  applyDeferred,
  applyWithinMs,
  callProvider,
  resultOf,
  type Sender,
  startSend,
  takeOverSend,
} from '../dispatch/send.ts';
import { applyRefundDeferred, callRefund, queryRefund, startRefund } from '../dispatch/send-refund.ts';
import { applyOutcome } from './apply-outcome.ts';
import type { CellsOf } from './cells-of.ts';
import type { Observed } from './outcome-command.ts';

/** What following payments needs: queries, deliveries of the provider, its statement, the comparison after a restore. */
export interface TrackingDeps extends SendDeps {
  wake: Signal;
  cells: CellsOf<TrackingDeps>;
}

/**
 * What happens with no client active: due sends go out, ended leases are taken over, and payments without news are queried
 * until the provider's word ends them, for ever, within the query limit that all processes share.
 *
 * Any number of processes run this over one database. A row is claimed by moving its time on (and by no lock), so a process
 * that dies with claimed rows loses nothing: they are due again when that time has passed. One row that fails or hangs holds up
 * no other: calls are under way side by side, and a step only begins what there is room for.
 *
 * Where the adapter can list and several queries are due, one listing answers for all that its window covers.
 */
export interface FollowUp {
  connection: string;
  /** Begins due sends; true when there may be more at once. */
  stepSends(): Promise<boolean>;
  /** Begins one query or listing; true when there may be more at once. */
  stepQueries(): Promise<boolean>;
  /** Takes over what callers of this process committed and do not wait for. */
  sender: Sender;
  /** Resolves when everything begun has ended. */
  idle(): Promise<void>;
}

/**
 * How long claimed rows stay out of sight of the others: so much later does a payment get its query when the process that claimed it
 * was paused or killed. Rejected: 30 s, enough for any call without a renewal.
 */
const claimMs = 4_000;
/** While claimed rows are worked on, their claims are renewed this often: a provider that answers slowly is not asked twice. */
const renewEveryMs = 1_500;
/** Sends that are under way at once in one process. */
const sendsMost = 256;
/** Payments that one listing answers for. */
const listingMost = 1_000;
/** Fewer due queries than this are made one by one: a window may hold a thousand payments that nobody asked for. */
const listingLeast = 4;
/** After a listing of the fewest payments was still longer than the adapter reads, they are asked for one by one this long. */
const listingRestMs = 60_000;
/** After a listing that failed they are asked for one by one this long: each of those tells whether it was the listing. */
const failedListingRestMs = 10_000;
/** By how much the provider's clock may differ from ours. */
const clockSkewMs = 2 * 60_000;

export function createFollowUp(deps: TrackingDeps, provider: Provider): FollowUp {
  const { connection } = provider;
  const sending = new Set<Promise<void>>();
  const applying = new Set<Promise<void>>();
  const querying = new Set<Promise<void>>();
  /** Halved when a listing was longer than the adapter reads, doubled when one was read whole. */
  let listingSize = listingMost;
  let listsAgainAt = 0;

  function begin(underWay: Set<Promise<void>>, what: string, work: Promise<unknown>): void {
    const ended = work.then(
      () => {},
      (error: unknown) => deps.log.error({ err: error, connection, what }, 'background work failed'),
    );
    underWay.add(ended);
    void ended.finally(() => underWay.delete(ended));
  }

  /** @returns how long the provider asks sends to rest afterwards, in milliseconds */
  async function sendOne(intent: Intent): Promise<number> {
    if (intent.state === 'sending') {
      await takeOverSend(deps, intent);
      return 0;
    }
    if (intent.kind === 'refund') {
      const refund = await startRefund(deps, intent);
      if (refund) {
        const observed = await callRefund(deps, refund);
        begin(applying, 'the outcome of a refund', applyRefundDeferred(deps, observed));
      }
      return 0;
    }
    const attempt = await startSend(deps, intent);
    return attempt ? sendDeferred(attempt) : 0;
  }

  /** The place is free again with the provider's answer. @returns as `sendOne` */
  async function sendDeferred(attempt: Attempt): Promise<number> {
    const observed = await callProvider(deps, attempt);
    begin(applying, 'the outcome of a send', applyDeferred(deps, observed));
    return restAfter(observed);
  }

  async function stepSends(): Promise<boolean> {
    const { capabilities } = provider;
    const room = sendsMost - sending.size;
    if (room <= 0) {
      await Promise.race(sending);
      return true;
    }
    const now = deps.clock.now();
    const limit = capabilities.maxParallelSends;
    const claimed = (of: SendClass) => claimDueSends(deps.sql, connection, of, now, now + claimMs, room);
    const due =
      limit === null
        ? await claimDue(deps.sql, connection, sendPriority, now, now + claimMs, room)
        : (await Promise.all([claimed('unlimited'), claimed('abandoned')])).flat();
    for (const intent of due) begin(sending, 'a send', holding(deps, [intent], now, sendOne(intent)));
    if (limit === null) return due.length === room;
    return (await beginLimited(limit)) || due.length >= room;
  }

  /** One transfer where the adapter limits them: only who holds a slot claims one. */
  async function beginLimited(limit: number): Promise<boolean> {
    // The slot outlives everything that its holder may still do: commit, call, and the outcome.
    const slotMs = 2 * applyWithinMs + provider.capabilities.sendTimeoutMs + leaseMarginMs;
    const slot = await takeSend(deps, connection, limit, slotMs);
    if (!slot) return false;
    const now = deps.clock.now();
    const [intent] = await claimDueSends(deps.sql, connection, 'limited', now, now + claimMs, 1);
    begin(
      sending,
      'a send',
      (intent ? holding(deps, [intent], now, sendOne(intent)) : Promise.resolve(0)).then(
        (restMs) => slot.free(restMs),
        async (error: unknown) => {
          await slot.free();
          throw error;
        },
      ),
    );
    return intent !== undefined;
  }

  async function stepQueries(): Promise<boolean> {
    const { capabilities } = provider;
    const now = deps.clock.now();
    const counts = await countDue(deps.sql, connection, now, listingLeast);
    const first = queryPriorities.map((one) => counts.find(({ priority }) => priority === one)).find(Boolean);
    if (!first) return false;
    const slot = await takeQuery(deps, connection, capabilities.callTimeoutMs * 2);
    if (!slot) return false;
    if (!(await deps.breakers.allows(connection, 'query'))) {
      await slot.free();
      return false;
    }
    const ofTransfers = first.priority === queryPriorities[0] || first.priority === queryPriorities[1];
    const canList = ofTransfers ? capabilities.canListPayouts : capabilities.canListCharges;
    const lists =
      canList && first.priority !== refundPriority && first.due >= listingLeast && now >= listsAgainAt;
    begin(
      querying,
      'a query',
      queryDue(first.priority, lists ? listingSize : 1).finally(() => slot.free()),
    );
    return true;
  }

  async function queryDue(priority: number, most: number): Promise<void> {
    const now = deps.clock.now();
    const claim = most > 1 ? claimDueNeighbours : claimDue;
    const due = await claim(deps.sql, connection, priority, now, now + claimMs, most);
    if (due.length >= listingLeast) return holding(deps, due, now, queryByListing(due));
    const [one, ...others] = due;
    if (others.length > 0) await makeDue(deps.sql, others, now);
    if (one) await holding(deps, [one], now, queryOne(deps, provider, one));
  }

  async function queryByListing(due: readonly Intent[]): Promise<void> {
    const startedAt = deps.clock.now();
    const kind = due[0]?.kind === 'deposit' ? 'deposit' : 'transfer';
    const window = {
      fromMs: Math.min(...due.map((intent) => intent.createdAt)) - clockSkewMs,
      toMs: Math.min(
        startedAt,
        Math.max(...due.map((intent) => intent.attemptEndedAt ?? startedAt)) + clockSkewMs,
      ),
    };
    const outcome: ListOutcome<ChargeReport | PayoutReport> =
      kind === 'deposit'
        ? await provider.listCharges(
            window,
            new Map(due.map((intent) => [providerIdOf(intent.paymentId), intent.createdAt])),
          )
        : await provider.listPayouts(window);
    deps.breakers.record(connection, 'query', connection, resultOf(outcome));
    if (outcome.outcome === 'unclear') {
      // It says nothing of any one payment, so their own waits do not grow: a short outage would otherwise keep a thousand of
      // them per listing from being queried for minutes.
      const waitMs = patience(outcome.retryAfterMs);
      listsAgainAt = startedAt + Math.max(waitMs, failedListingRestMs);
      await makeDue(deps.sql, due, deps.clock.now() + waitMs);
      return;
    }
    const id = deps.ids.uuid();
    const apply = (intent: Intent, outcome: QueryOutcome<ChargeReport | PayoutReport>) =>
      applyQuery(deps, intent, { id, startedAt, outcome });
    const reports = new Map(outcome.reports.map((report) => [idOf(report), report]));
    const unseen: Intent[] = [];
    await Promise.all(
      due.map((intent) => {
        const providerId = providerIdOf(intent.paymentId);
        const report = reports.get(providerId);
        reports.delete(providerId);
        if (report) return apply(intent, { outcome: 'found', report });
        if (outcome.complete) return apply(intent, { outcome: 'notFound' });
        unseen.push(intent);
        return undefined;
      }),
    );
    const others = await claimOthers(kind, reports);
    await Promise.all(others.map(({ intent, report }) => apply(intent, { outcome: 'found', report })));
    // One that was cut off and still answered for most of them is no reason to ask for fewer: the rest is asked for again.
    if (outcome.complete) listingSize = Math.min(listingMost, listingSize * 2);
    else if (unseen.length * 2 > due.length && listingSize > listingLeast)
      listingSize = Math.max(listingLeast, listingSize >> 1);
    else if (unseen.length === due.length) listsAgainAt = startedAt + listingRestMs;
    if (unseen.length > 0) await makeDue(deps.sql, unseen, deps.clock.now());
  }

  /**
   * Payments whose end the same listing tells although nobody asked for them yet. After an outage what is due lies scattered over
   * hours, and a window holds thousands of others that wait for their own time: without them and with the waits above, 100,000
   * open payments came down to 70,000 in 30 s and then by 14 a second; with both, all were known after 51 s.
   */
  async function claimOthers<Report extends ChargeReport | PayoutReport>(
    kind: PaymentKind,
    reports: ReadonlyMap<string, Report>,
  ): Promise<{ intent: Intent; report: Report }[]> {
    const ids = [...reports.values()]
      .filter(({ status }) => status !== 'open' && status !== 'pending')
      .flatMap((report) => paymentIdOf(idOf(report)) ?? [])
      .map((id) => ({ id, accountNumber: accountNumberOf(id) }));
    if (ids.length === 0) return [];
    const now = deps.clock.now();
    const claimed = await claimMentioned(deps.sql, connection, kind, now, now + claimMs, ids, listingMost);
    return claimed.flatMap((intent) => {
      const report = reports.get(providerIdOf(intent.paymentId));
      return report ? [{ intent, report }] : [];
    });
  }

  return {
    connection,
    stepSends,
    stepQueries,
    sender: {
      hasRoom: () => sending.size < sendsMost,
      begin: (attempt) => begin(sending, 'a send', sendDeferred(attempt)),
    },
    idle: async () => {
      while (sending.size + applying.size + querying.size > 0) {
        await Promise.all([...sending, ...applying, ...querying]);
      }
    },
  };
}

/** A slot that rests keeps the sends of all processes back: the next one would only be answered 429, and then queried. */
function restAfter({ observation }: Observed): number {
  if (observation.from !== 'send') return 0;
  const { outcome } = observation;
  if (outcome.outcome === 'accepted') return patience(outcome.restMs ?? null);
  return outcome.outcome === 'unclear' && outcome.cause === 'rateLimited'
    ? patience(outcome.retryAfterMs)
    : 0;
}

/**
 * Renews the claims of rows while `work` is under way. A row that something else has given another time is left alone.
 *
 * @param claimedAt `now` of the claim
 */
async function holding<Result>(
  deps: Pick<TrackingDeps, 'sql' | 'clock' | 'log'>,
  rows: readonly Intent[],
  claimedAt: number,
  work: Promise<Result>,
): Promise<Result> {
  const ended = new AbortController();
  void (async () => {
    let untilMs = claimedAt + claimMs;
    for (;;) {
      await deps.clock.sleep(renewEveryMs, ended.signal);
      if (ended.signal.aborted) return;
      const renewedMs = deps.clock.now() + claimMs;
      try {
        await renewClaims(deps.sql, rows, untilMs, renewedMs);
        untilMs = renewedMs;
      } catch (error) {
        deps.log.warn({ err: error, rows: rows.length }, 'claims were not renewed');
      }
    }
  })();
  try {
    return await work;
  } finally {
    ended.abort();
  }
}

const idOf = (report: ChargeReport | PayoutReport): string =>
  'providerId' in report ? report.providerId : report.txid;

/** What of a payment is needed to ask after it. */
type Asked = Pick<
  Intent,
  'accountId' | 'paymentId' | 'operationId' | 'connection' | 'kind' | 'createdAt' | 'providerRef'
>;

async function queryOne(deps: TrackingDeps, provider: Provider, asked: Asked): Promise<Payment | null> {
  if (asked.kind === 'refund') {
    await queryRefund(deps, provider, asked);
    return null;
  }
  const startedAt = deps.clock.now();
  return applyQuery(deps, asked, {
    id: deps.ids.uuid(),
    startedAt,
    outcome: await ask(deps, provider, asked),
  });
}

async function ask(
  deps: TrackingDeps,
  provider: Provider,
  asked: Asked,
): Promise<QueryOutcome<ChargeReport | PayoutReport>> {
  const providerId = providerIdOf(asked.paymentId);
  const outcome: QueryOutcome<ChargeReport | PayoutReport> =
    asked.kind === 'deposit'
      ? await provider.queryCharge(providerId, asked.createdAt)
      : await provider.queryPayout(providerId, asked.providerRef);
  deps.breakers.record(provider.connection, 'query', asked.accountId, resultOf(outcome));
  return outcome;
}

async function applyQuery(
  deps: TrackingDeps,
  asked: Asked,
  query: { id: string; startedAt: number; outcome: QueryOutcome<ChargeReport | PayoutReport> },
): Promise<Payment | null> {
  const { accountId, paymentId, operationId, connection } = asked;
  const observation = { from: 'query', ...query } as const;
  try {
    return await applyOutcome(
      deps,
      { accountId, paymentId, operationId, connection, observation },
      deps.clock.monotonicMs() + applyWithinMs,
    );
  } catch (error) {
    // The row is due again when its claim has run out.
    deps.log.warn({ err: error, paymentId }, 'a query was not applied');
    return null;
  }
}

/** A lookup waits this long for a query of its own. */
const refreshWaitMs = 2_000;

/**
 * The payment for a lookup: refreshed when its query is overdue and the shared limit has one left, else as it stands. A failure of
 * the provider never becomes one of the lookup. The claim makes it one query, however many look at once.
 */
export async function refreshIfOverdue(deps: TrackingDeps, payment: Payment): Promise<Payment> {
  if (isTerminal(payment.status) || payment.status === 'draft') return payment;
  const refreshed = refresh(deps, payment).catch((error: unknown) => {
    deps.log.warn({ err: error, paymentId: payment.id }, 'a refresh failed');
    return payment;
  });
  const cut = new AbortController();
  const waited = deps.clock.sleep(refreshWaitMs, AbortSignal.any([cut.signal, deps.draining]));
  const latest = await Promise.race([refreshed, waited.then(() => payment)]);
  cut.abort();
  return latest;
}

async function refresh(deps: TrackingDeps, payment: Payment): Promise<Payment> {
  const { accountId, id } = payment;
  const now = deps.clock.now();
  const intent = await claimOverdue(deps.sql, accountId, id, now, now + claimMs);
  const provider = intent && deps.providers.get(intent.connection);
  if (!provider) return payment;
  const slot = await takeAllowedQuery(deps, provider);
  if (!slot) {
    await makeDue(deps.sql, [intent], now);
    return payment;
  }
  try {
    return (await holding(deps, [intent], now, queryOne(deps, provider, intent))) ?? payment;
  } finally {
    await slot.free();
  }
}

/** A query of the shared limit, or null when none is left at this moment or the breaker is open. */
export async function takeAllowedQuery(deps: TrackingDeps, provider: Provider): Promise<Slot | null> {
  const { connection, capabilities } = provider;
  const slot = await takeQuery(deps, connection, capabilities.callTimeoutMs * 2);
  if (!slot || (await deps.breakers.allows(connection, 'query'))) return slot;
  await slot.free();
  return null;
}

/** The limit that all processes share had no query left in time: it says nothing of the payment. */
export class NoQueryLeft extends Error {
  override name = 'NoQueryLeft';
  constructor() {
    super('no query of the shared limit was left');
  }
}

/** A delivery waits this long for queries of the shared limit, then it is left for later. */
export const queryWaitMs = 10_000;

/** A query of the shared limit, as soon as it allows one. @throws NoQueryLeft by `untilMs`, monotonic */
export async function nextQuery(deps: TrackingDeps, provider: Provider, untilMs: number): Promise<Slot> {
  for (;;) {
    const slot = await takeAllowedQuery(deps, provider);
    if (slot) return slot;
    if (deps.clock.monotonicMs() >= untilMs || deps.draining.aborted) throw new NoQueryLeft();
    await deps.clock.sleep(200, deps.draining);
  }
}

/**
 * What a delivery does that is not believed by itself: its payments are queried, as soon as the limit allows. One that is
 * followed is only made due, so that a listing may answer for many; one that has ended is queried here.
 * @throws NoQueryLeft, or Error when one could not be queried: the delivery is not applied yet
 */
export async function confirm(
  deps: TrackingDeps,
  provider: Provider,
  owners: readonly PaymentOwner[],
): Promise<void> {
  const { connection } = provider;
  const asked = (owner: PaymentOwner): Asked => ({
    ...owner,
    paymentId: owner.id,
    connection,
    providerRef: null,
  });
  const followed = owners.filter((owner) => owner.followed).map(asked);
  if (followed.length > 0) {
    await makeDue(deps.sql, followed, deps.clock.now());
    deps.wake();
  }
  const untilMs = deps.clock.monotonicMs() + queryWaitMs;
  for (const owner of owners.filter((one) => !one.followed)) {
    const slot = await nextQuery(deps, provider, untilMs);
    try {
      const startedAt = deps.clock.now();
      const outcome = await ask(deps, provider, asked(owner));
      if (outcome.outcome === 'unclear') throw new Error(`the provider does not answer: ${outcome.detail}`);
      if (outcome.outcome === 'notFound') throw new Error('the provider does not know the payment');
      const { accountId, id: paymentId, operationId } = owner;
      const observation = { from: 'query', id: deps.ids.uuid(), startedAt, outcome } as const;
      await applyOutcome(
        deps,
        { accountId, paymentId, operationId, connection, observation },
        deps.clock.monotonicMs() + applyWithinMs,
      );
    } finally {
      await slot.free();
    }
  }
}
