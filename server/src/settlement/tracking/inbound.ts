import { hash, timingSafeEqual } from 'node:crypto';
import type { HookDelivery } from '../../http/hooks.ts';
import { paymentIdOf } from '../../payments/payment.ts';
import type { PaymentOwner } from '../../payments/payments.sql.ts';
import { findRefundOwners, type RefundOwner } from '../../payments/refunds.sql.ts';
import type {
  Provider,
  QueryOutcome,
  ReceivedPix,
  ReturnOf,
  StatementLine,
  WebhookNews,
} from '../../provider/provider.ts';
import { accountNumberOf } from '../../request-keys/idempotency.ts';
import { applyWithinMs } from '../dispatch/send.ts';
import { postUnmatched, unmatchedLine, unmatchedOf } from '../incidents/unmatched.ts';
import { openOrReport } from '../incidents/unreadable.ts';
import { installationId } from '../operator/audit.sql.ts';
import { applyOutcome } from './apply-outcome.ts';
import { applyRefund } from './apply-refund.ts';
import { byCell, findOwnersInCells, type OwnersOfCell } from './in-cells.ts';
import {
  findLeft,
  findWebhookTokens,
  insertDeliveries,
  leaveDelivery,
  markApplied,
  postponeDelivery,
  type StoredDelivery,
  type WebhookTokens,
} from './inbound.sql.ts';
import { confirm, NoQueryLeft, nextQuery, queryWaitMs } from './query.ts';
import type { TrackingDeps } from './tracking-deps.ts';

/**
 * What a provider delivers at our address.
 *
 * A delivery is stored, sealed, before anything else is done with it, and then answered; many deliveries share one insert. What it reports
 * is applied afterwards: when its process dies in between, another process finds the delivery. Duplicates, other
 * orders, early arrivals and unknown ids change nothing wrongly, because the state machine and the event references decide, not the
 * delivery.
 *
 * The adapter declares how far a delivery is believed: signed or from a verified peer, it applies directly; protected by its
 * secret address alone, it only causes a query.
 */
export interface Inbound {
  /** Whether an address of ours with this connection and secret exists. */
  isOurAddress(connection: string, token: string): Promise<boolean>;
  /** Only what came to an address of ours. */
  receive(delivery: HookDelivery): Promise<{ status: number }>;
  /** Applies what was stored and left; true when there was something. */
  stepLeft(): Promise<boolean>;
  /** Resolves when everything received so far is applied. */
  idle(): Promise<void>;
}

/** A stored delivery that is not marked after this long belongs to a process that has ended. */
const leftAfterMs = 20_000;

/** No caller waits for a mark: all marks of this time share a write. */
const markEveryMs = 100;

/** How long a delivery that could not be applied waits, by the tries that failed: one that can never be applied delays no other. */
const retryAfterMs = (tries: number): number => Math.min(3_600_000, 5_000 * 2 ** Math.min(tries, 10));

/** How long a delivery waits that found no query of the shared limit left: that is no failed try, so the wait does not grow. */
const busyMs = 5_000;

/** What is applied at once in a process; a flood beyond it is stored and applied by the worker, a hundred at a time. */
const appliesMost = 1_000;

export function createInbound(deps: TrackingDeps): Inbound {
  const tokensOf = tokenReader(deps);
  const underWay = new Set<Promise<void>>();
  let waiting: { row: StoredDelivery; resolve(): void; reject(error: unknown): void }[] = [];
  let storing = false;
  let applied: string[] = [];
  let marking = false;

  function store(row: StoredDelivery): Promise<void> {
    return new Promise((resolve, reject) => {
      waiting.push({ row, resolve, reject });
      if (!storing) void storeAll();
    });
  }

  async function storeAll(): Promise<void> {
    storing = true;
    await Promise.resolve();
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        await insertDeliveries(
          deps.sql,
          batch.map(({ row }) => row),
        );
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    storing = false;
  }

  /** Marks many at a time, behind the answers: an unmarked one is only applied again, which changes nothing. */
  async function mark(id: string): Promise<void> {
    applied.push(id);
    if (marking) return;
    marking = true;
    while (applied.length > 0) {
      await deps.clock.sleep(markEveryMs, deps.draining);
      const batch = applied;
      applied = [];
      try {
        await markApplied(deps.sql, batch, deps.clock.now());
      } catch (error) {
        deps.log.warn({ err: error, deliveries: batch.length }, 'deliveries were not marked');
      }
    }
    marking = false;
  }

  /** The delivery was authentic when it came; its signature may have expired since, so only the content is read again. */
  async function applyLeft(row: StoredDelivery, provider: Provider): Promise<boolean> {
    const { id, connection, receivedAt, tries } = row;
    const accountId = installationId;
    const unreadable = { accountId, paymentId: null, operationId: null, amountCents: 0 };
    try {
      const body = await openOrReport(deps, row.body, id, { ...unreadable, need: `delivery:${id}` });
      if (body === null) throw new Error('it cannot be opened');
      const news = provider.readWebhook(body, receivedAt);
      // Deliveries are applied here one after the other: one that waits for a query would delay the others.
      if (news) await applyNews(deps, id, connection, news, deps.clock.monotonicMs());
      await markApplied(deps.sql, [id], deps.clock.now());
      return true;
    } catch (error) {
      if (error instanceof NoQueryLeft) {
        await leaveDelivery(deps.sql, id, deps.clock.now() + busyMs);
        return false;
      }
      deps.log.error({ err: error, delivery: id, tries }, 'a delivery that was left cannot be applied');
      await postponeDelivery(deps.sql, id, deps.clock.now() + retryAfterMs(tries));
      return false;
    }
  }

  function apply(id: string, connection: string, news: WebhookNews): void {
    const untilMs = deps.clock.monotonicMs() + queryWaitMs;
    const work = applyNews(deps, id, connection, news, untilMs).then(
      () => mark(id),
      (error: unknown) => deps.log.error({ err: error, delivery: id }, 'a delivery was not applied'),
    );
    underWay.add(work);
    void work.finally(() => underWay.delete(work));
  }

  return {
    async isOurAddress(connection, token) {
      const tokens = deps.providers.has(connection) ? await tokensOf(connection) : undefined;
      return tokens !== undefined && isGood(tokens, token);
    },

    async receive({ connection, headers, rawBody, clientVerified }) {
      const provider = deps.providers.get(connection);
      if (!provider) return { status: 404 };
      const receivedAt = deps.clock.now();
      const content = await provider.parseWebhook({ headers, rawBody, receivedAt, clientVerified });
      const id = deps.ids.uuid();
      const body = deps.secrets.seal(rawBody, id);
      await store({
        id,
        connection,
        receivedAt,
        body,
        authentic: content.authentic,
        tries: 0,
        nextAt: receivedAt + leftAfterMs,
      });
      if (!content.authentic) {
        deps.log.warn({ delivery: id, connection, reason: content.reason }, 'a delivery is not authentic');
        return { status: 401 };
      }
      if (underWay.size < appliesMost) apply(id, connection, content);
      return { status: 200 };
    },

    async stepLeft() {
      let done = false;
      for (const provider of deps.providers.values()) {
        const left = await findLeft(deps.sql, provider.connection, deps.clock.now(), 100);
        for (const row of left) done = (await applyLeft(row, provider)) || done;
      }
      return done;
    },

    async idle() {
      while (underWay.size > 0 || marking) await Promise.all([...underWay, Promise.resolve()]);
    },
  };
}

/**
 * The tokens of a connection. All callers that come while a read is under way share the next read: a flood of strangers costs one statement at a
 * time. They do not share the read under way, since it may have begun before the address was changed.
 */
function tokenReader(deps: TrackingDeps): (connection: string) => Promise<WebhookTokens | undefined> {
  const reads = new Map<string, { now: Promise<unknown>; next: Promise<WebhookTokens | undefined> | null }>();
  const start = (connection: string): Promise<WebhookTokens | undefined> => {
    const read = findWebhookTokens(deps.sql, connection);
    const turn = { now: read, next: null };
    reads.set(connection, turn);
    const ended = () => {
      if (reads.get(connection) === turn && turn.next === null) reads.delete(connection);
    };
    read.then(ended, ended);
    return read;
  };
  return (connection) => {
    const turn = reads.get(connection);
    if (!turn) return start(connection);
    turn.next ??= turn.now.then(
      () => start(connection),
      () => start(connection),
    );
    return turn.next;
  };
}

const sameSecret = (expected: string, given: string): boolean =>
  timingSafeEqual(hash('sha256', expected, 'buffer'), hash('sha256', given, 'buffer'));

const isGood = ({ current, previous }: WebhookTokens, given: string): boolean =>
  sameSecret(current, given) || (previous !== null && sameSecret(previous, given));

const ownersWithCell = ({ deps, owners }: OwnersOfCell) => owners.map((owner) => ({ cell: deps, owner }));

/** @param untilMs monotonic: how long it waits for queries of the shared limit */
async function applyNews(
  deps: TrackingDeps,
  deliveryId: string,
  connection: string,
  news: WebhookNews,
  untilMs: number,
): Promise<void> {
  const told = new Map<string, WebhookNews>();
  const foreign: WebhookNews = { received: [], payouts: [] };
  const of = (providerId: string | null): WebhookNews => {
    const id = providerId === null ? null : paymentIdOf(providerId);
    if (id === null) return foreign;
    let one = told.get(id);
    if (!one) {
      one = { received: [], payouts: [] };
      told.set(id, one);
    }
    return one;
  };
  const provider = deps.providers.get(connection);
  if (!provider) throw new Error(`no provider for ${connection}`);
  const { named, lines } = await withReturned(deps, provider, news, untilMs);
  for (const pix of named.received) of(pix.txid).received.push(pix);
  for (const payout of named.payouts) of(payout.providerId).payouts.push(payout);

  const ids = [...told.keys()].map((id) => ({ id, accountNumber: accountNumberOf(id) }));
  const cells = await findOwnersInCells(deps, connection, ids);
  const owned: { cell: TrackingDeps; owner: PaymentOwner; news: WebhookNews }[] = [];
  for (const { cell, owner } of cells.flatMap(ownersWithCell)) {
    const { received, payouts } = told.get(owner.id) as WebhookNews;
    told.delete(owner.id);
    // A Pix received under a transfer's id is not that transfer's, nor a payout under a charge's.
    const charge = owner.kind === 'deposit';
    (charge ? foreign.payouts : foreign.received).push(...((charge ? payouts : received) as never[]));
    owned.push({ cell, owner, news: charge ? { received, payouts: [] } : { received: [], payouts } });
  }
  for (const { received, payouts } of told.values()) {
    foreign.received.push(...received);
    foreign.payouts.push(...payouts);
  }
  const unmatched = [...unmatchedOf(foreign, deps.clock.now()), ...lines.map(unmatchedLine)];
  if (provider.capabilities.webhookTrust === 'path') {
    // Not believed: what is ours is queried, what is not is only reported to a person.
    await Promise.all([
      ...cells.map(({ deps: cell, owners }) => confirm(cell, provider, owners)),
      ...unmatched.map((money) => postUnmatched(deps, connection, money, false)),
    ]);
    return;
  }
  const refunds = await refundsNamedIn(deps, connection, owned);
  await Promise.all([
    ...owned.map(({ cell, owner, news }) => applyOwned(cell, deliveryId, connection, owner, news, refunds)),
    ...unmatched.map((money) => postUnmatched(deps, connection, money, true)),
  ]);
}

/**
 * The news with every return that names only its Pix put into the report of the payment that the Pix belongs to; that report is queried now.
 * `lines`: returns of Pix that have no id of a payment.
 * @throws Error when the provider does not answer: the delivery is not applied yet
 */
async function withReturned(
  deps: TrackingDeps,
  provider: Provider,
  { received, payouts, returned = [] }: WebhookNews,
  untilMs: number,
): Promise<{ named: WebhookNews; lines: StatementLine[] }> {
  const named: WebhookNews = { received: [...received], payouts: [...payouts] };
  const lines: StatementLine[] = [];
  for (const one of returned) {
    const slot = await nextQuery(deps, provider, untilMs);
    const line = await addReturned(provider, one, named).finally(() => slot.free());
    if (line) lines.push(line);
  }
  return { named, lines };
}

async function addReturned(
  provider: Provider,
  { endToEnd, back }: ReturnOf,
  news: WebhookNews,
): Promise<StatementLine | undefined> {
  const answered = <Report>(outcome: QueryOutcome<Report>): Report => {
    if (outcome.outcome === 'found') return outcome.report;
    const detail = outcome.outcome === 'unclear' ? outcome.detail : 'not found';
    throw new Error(`the Pix of a return cannot be asked for: ${detail}`);
  };
  const { direction, providerId } = answered(await provider.findPix(endToEnd));
  if (providerId === null) {
    const { id, rtrId, amountCents, at } = back;
    const kind = direction === 'sent' ? 'returned' : 'debited';
    return { id: rtrId ?? id ?? endToEnd, rtrId, at, kind, amountCents, endToEnd, providerId };
  }
  if (direction === 'sent') {
    const payout = answered(await provider.queryPayout(providerId));
    news.payouts.push({ ...payout, returns: [...payout.returns, back] });
    return;
  }
  const charge = answered(await provider.queryCharge(providerId));
  const pix = charge.received.find((one) => one.endToEnd === endToEnd);
  if (!pix) throw new Error('the Pix of a return is not among those of its charge');
  news.received.push({ ...pix, returns: [...pix.returns, back] });
}

/** The refunds of ours that a delivery names, by their ids: one read for all. */
async function refundsNamedIn(
  deps: TrackingDeps,
  connection: string,
  owned: readonly { news: WebhookNews }[],
): Promise<ReadonlyMap<string, RefundOwner>> {
  const lines = owned.flatMap(({ news }) => news.received.flatMap(({ returns }) => returns));
  const ids = lines.flatMap(({ id }) => (id === null ? [] : (paymentIdOf(id) ?? [])));
  if (ids.length === 0) return new Map();
  const named = ids.map((id) => ({ id, accountNumber: accountNumberOf(id) }));
  const found = await Promise.all(
    (await byCell(deps, named)).map((cell) => findRefundOwners(cell.deps.sql, connection, cell.items)),
  );
  return new Map(found.flat().map((one) => [one.id, one]));
}

/**
 * Applies lines about refunds to their refunds directly. Where the charge is already paid with this Pix and nothing else is reported, the
 * charge's own command is left out: the end of a refund then costs one command, as that of a transfer does.
 */
async function applyOwned(
  deps: TrackingDeps,
  deliveryId: string,
  connection: string,
  owner: PaymentOwner,
  { received, payouts }: WebhookNews,
  refunds: ReadonlyMap<string, RefundOwner>,
): Promise<void> {
  const { accountId, id: paymentId, operationId } = owner;
  const deadlineMs = deps.clock.monotonicMs() + applyWithinMs;
  const left: ReceivedPix[] = [];
  for (const pix of received) {
    const returns = [];
    for (const line of pix.returns) {
      const refund = line.id === null ? undefined : refunds.get(paymentIdOf(line.id) ?? '');
      const isOurs =
        refund?.accountId === accountId && refund.paymentId === paymentId && refund.endToEnd === pix.endToEnd;
      if (!isOurs) returns.push(line);
      else {
        const observation = { from: 'charge', cause: { by: 'webhook', id: deliveryId }, line } as const;
        const { id: refundId, reason } = refund;
        const about = { accountId, refundId, paymentId, operationId, reason, connection };
        await applyRefund(deps, { ...about, observation }, deadlineMs);
      }
    }
    const isKnown = owner.endToEnd === pix.endToEnd && pix.returns.length > 0 && returns.length === 0;
    if (!isKnown) left.push({ ...pix, returns });
  }
  if (left.length + payouts.length === 0) return;
  const observation = { from: 'webhook', id: deliveryId, received: left, payouts } as const;
  await applyOutcome(deps, { accountId, paymentId, operationId, connection, observation }, deadlineMs);
}
