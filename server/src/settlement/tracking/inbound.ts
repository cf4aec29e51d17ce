import { hash, timingSafeEqual } from 'node:crypto';
import type { HookDelivery } from '../../http/hooks.ts';
import { paymentIdOf } from '../../payments/payment.ts';
import { findOwners, type PaymentOwner } from '../../payments/payments.sql.ts';
import type { Provider, WebhookNews } from '../../provider/provider.ts';
import { accountNumberOf } from '../../request-keys/idempotency.ts';
import { applyWithinMs } from '../dispatch/send.ts';
import { postUnmatched, unmatchedOf } from '../incidents/unmatched.ts';
import { openOrReport } from '../incidents/unreadable.ts';
import { installationId } from '../operator/audit.sql.ts';
import { applyOutcome } from './apply-outcome.ts';
import type { TrackingDeps } from './follow-up.ts';
import { confirm } from './follow-up.ts';
import {
  findLeft,
  findWebhookTokens,
  insertDeliveries,
  markApplied,
  postponeDelivery,
  type StoredDelivery,
  type WebhookTokens,
} from './inbound.sql.ts';

/**
 * What a provider delivers at our address.
 *
 * It is stored, sealed, before anything else is made of it, and answered then; many deliveries share one insert. What it says
 * is applied afterwards, at our own pace: a delivery whose process dies in between is found by the next one. Duplicates, other
 * orders, early arrivals and unknown ids change nothing wrongly, because the state machine and the event references decide, not the
 * delivery.
 *
 * How far it is believed is the adapter's declaration: signed or from a pinned peer, it applies directly; protected by its
 * secret address alone, it only wakes a query.
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

/** A stored delivery that nobody has marked after this long belongs to a process that is gone. */
const leftAfterMs = 20_000;

/** Nobody waits for a mark: those of this long share a write. */
const markEveryMs = 100;

/** How long a delivery that could not be applied waits, by the tries that failed: one that never can holds up no other. */
const retryAfterMs = (tries: number): number => Math.min(3_600_000, 5_000 * 2 ** Math.min(tries, 10));

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

  /** It was authentic when it came; its signature's time has passed since, so only the content is read again. */
  async function applyLeft(row: StoredDelivery, provider: Provider): Promise<boolean> {
    const { id, connection, receivedAt, tries } = row;
    const accountId = installationId;
    const unreadable = { accountId, paymentId: null, operationId: null, amountCents: 0 };
    try {
      const body = await openOrReport(deps, row.body, id, { ...unreadable, need: `delivery:${id}` });
      if (body === null) throw new Error('it cannot be opened');
      const news = provider.readWebhook(body, receivedAt);
      if (news) await applyNews(deps, id, connection, news);
      await markApplied(deps.sql, [id], deps.clock.now());
      return true;
    } catch (error) {
      deps.log.error({ err: error, delivery: id, tries }, 'a delivery that was left cannot be applied');
      await postponeDelivery(deps.sql, id, deps.clock.now() + retryAfterMs(tries));
      return false;
    }
  }

  function apply(id: string, connection: string, news: WebhookNews): void {
    const work = applyNews(deps, id, connection, news).then(
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
      const content = provider.parseWebhook({ headers, rawBody, receivedAt, clientVerified });
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
 * The tokens of a connection, read once for all who ask while a read is under way: a flood of strangers costs one query at a time. Whoever
 * comes during a read waits for the next one, since that one may have begun before the address was changed.
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

async function applyNews(
  deps: TrackingDeps,
  deliveryId: string,
  connection: string,
  news: WebhookNews,
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
  for (const pix of news.received) of(pix.txid).received.push(pix);
  for (const payout of news.payouts) of(payout.providerId).payouts.push(payout);

  const provider = deps.providers.get(connection);
  if (!provider) throw new Error(`no provider for ${connection}`);
  const ids = [...told.keys()].map((id) => ({ id, accountNumber: accountNumberOf(id) }));
  const owners = ids.length > 0 ? await findOwners(deps.sql, connection, ids) : [];
  const owned: { owner: PaymentOwner; news: WebhookNews }[] = [];
  for (const owner of owners) {
    const { received, payouts } = told.get(owner.id) as WebhookNews;
    told.delete(owner.id);
    // A Pix received under a transfer's id is not that transfer's, nor a payout under a charge's.
    const charge = owner.kind === 'deposit';
    (charge ? foreign.payouts : foreign.received).push(...((charge ? payouts : received) as never[]));
    owned.push({ owner, news: charge ? { received, payouts: [] } : { received: [], payouts } });
  }
  for (const { received, payouts } of told.values()) {
    foreign.received.push(...received);
    foreign.payouts.push(...payouts);
  }
  const unmatched = unmatchedOf(foreign, deps.clock.now());
  if (provider.capabilities.webhookTrust === 'path') {
    // Not believed: what is ours is asked after, what is not is only reported to a person.
    await Promise.all([
      confirm(deps, provider, owners),
      ...unmatched.map((money) => postUnmatched(deps, money, false)),
    ]);
    return;
  }
  await Promise.all([
    ...owned.map(({ owner, news }) => applyOwned(deps, deliveryId, connection, owner, news)),
    ...unmatched.map((money) => postUnmatched(deps, money, true)),
  ]);
}

const applyOwned = (
  deps: TrackingDeps,
  deliveryId: string,
  connection: string,
  { accountId, id: paymentId, operationId }: PaymentOwner,
  { received, payouts }: WebhookNews,
): Promise<unknown> =>
  applyOutcome(
    deps,
    {
      accountId,
      paymentId,
      operationId,
      connection,
      observation: { from: 'webhook', id: deliveryId, received, payouts },
    },
    deps.clock.monotonicMs() + applyWithinMs,
  );
