import { hash, timingSafeEqual } from 'node:crypto';
import type { House } from '../house.ts';
import type { HookDelivery } from '../http/hooks.ts';
import { eventKinds } from '../ledger/journal.ts';
import { put, read } from '../ledger/till.ts';
import { paymentIdOf } from '../payments/payment.ts';
import { findOwners, type PaymentOwner } from '../payments/payments.sql.ts';
import type { WebhookNews } from '../provider/provider.ts';
import { accountNumberOf } from '../request-keys/claim.ts';
import { applyOutcome } from './apply-outcome.ts';
import { wakeQueries } from './follow-up.ts';
import {
  findLeft,
  findWebhookToken,
  insertDeliveries,
  markApplied,
  type StoredDelivery,
} from './inbound.sql.ts';
import { incidentKey, incidents } from './incidents.sql.ts';
import { applyWithinMs } from './send.ts';

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
  receive(delivery: HookDelivery): Promise<{ status: number }>;
  /** Applies what was stored and left; true when there was something. */
  stepLeft(): Promise<boolean>;
  /** Resolves when everything received so far is applied. */
  idle(): Promise<void>;
}

/** A stored delivery that nobody has marked after this long belongs to a process that is gone. */
const leftAfterMs = 20_000;

export function createInbound(house: House): Inbound {
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
          house.sql,
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
      const batch = applied;
      applied = [];
      try {
        await markApplied(house.sql, batch, house.clock.now());
      } catch (error) {
        house.log.warn({ err: error, deliveries: batch.length }, 'deliveries were not marked');
      }
    }
    marking = false;
  }

  function apply(id: string, connection: string, news: WebhookNews): void {
    const work = applyNews(house, id, connection, news).then(
      () => mark(id),
      (error: unknown) => house.log.error({ err: error, delivery: id }, 'a delivery was not applied'),
    );
    underWay.add(work);
    void work.finally(() => underWay.delete(work));
  }

  return {
    async receive({ connection, token, headers, rawBody }) {
      const provider = house.providers.get(connection);
      const expected = await findWebhookToken(house.sql, connection);
      if (!provider || expected === undefined || !sameSecret(expected, token)) return { status: 404 };
      const receivedAt = house.clock.now();
      const content = provider.parseWebhook({ headers, rawBody, receivedAt });
      const id = house.ids.uuid();
      const body = house.secrets.seal(rawBody, id);
      await store({ id, connection, receivedAt, body, authentic: content.authentic });
      if (!content.authentic) {
        house.log.warn({ delivery: id, connection, reason: content.reason }, 'a delivery is not authentic');
        return { status: 401 };
      }
      apply(id, connection, content);
      return { status: 200 };
    },

    async stepLeft() {
      const left = await findLeft(house.sql, house.clock.now() - leftAfterMs, 100);
      for (const row of left) {
        const provider = house.providers.get(row.connection);
        if (!provider) continue;
        const rawBody = house.secrets.open(row.body, row.id);
        // It was authentic when it came; its signature's time has passed since, so only the content is read again.
        const news = provider.readWebhook(rawBody, row.receivedAt);
        if (news) await applyNews(house, row.id, row.connection, news);
        await markApplied(house.sql, [row.id], house.clock.now());
      }
      return left.length > 0;
    },

    async idle() {
      while (underWay.size > 0 || marking) await Promise.all([...underWay, Promise.resolve()]);
    },
  };
}

const sameSecret = (expected: string, given: string): boolean =>
  timingSafeEqual(hash('sha256', expected, 'buffer'), hash('sha256', given, 'buffer'));

async function applyNews(
  house: House,
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

  const ids = [...told.keys()].map((id) => ({ id, accountNumber: accountNumberOf(id) }));
  const owners = ids.length > 0 ? await findOwners(house.sql, ids) : [];
  const owned = new Map(owners.map((owner) => [owner.id, owner]));
  for (const [id, one] of told) {
    if (owned.has(id)) continue;
    foreign.received.push(...one.received);
    foreign.payouts.push(...one.payouts);
  }
  const trust = house.providers.get(connection)?.capabilities.webhookTrust;
  if (trust === 'path') {
    await wakeQueries(house, owners);
    return;
  }
  await Promise.all([
    ...owners.map((owner) =>
      applyOwned(house, deliveryId, connection, owner, told.get(owner.id) as WebhookNews),
    ),
    ...foreign.received.map((pix) => postUnmatched(house, pix.endToEnd, pix.amountCents, pix.paidAt)),
    // Money left the provider's account under an id that we never sent.
    ...foreign.payouts
      .filter((payout) => payout.status === 'completed')
      .map((payout) => {
        const reference = payout.endToEnd ?? payout.providerId;
        return postUnmatched(house, reference, -payout.amountCents, payout.settledAt ?? house.clock.now());
      }),
  ]);
}

const applyOwned = (
  house: House,
  deliveryId: string,
  connection: string,
  { accountId, id: paymentId, operationId }: PaymentOwner,
  { received, payouts }: WebhookNews,
): Promise<unknown> =>
  applyOutcome(
    house,
    {
      accountId,
      paymentId,
      operationId,
      connection,
      observation: { from: 'webhook', id: deliveryId, received, payouts },
    },
    house.clock.monotonicMs() + applyWithinMs,
  );

/** The installation itself, account number 0: what matches nothing of ours is kept on its chain. */
const installationId = '00000000-0000-0000-0000-000000000000';

/** Money that matches nothing of ours: suspense of the installation, and an incident. Once per id of the provider. */
function postUnmatched(house: House, reference: string, amountCents: number, at: number): Promise<void> {
  const accountId = installationId;
  const chain = { accountId, chainId: accountId };
  const ref = { accountId, subject: accountId, event: eventKinds.suspense, reference };
  const incident = `unmatched:${reference}`;
  return house.till.submit<void>({
    token: house.ids.uuid(),
    deadlineMs: house.clock.monotonicMs() + applyWithinMs,
    chains: [chain],
    reads: [read(incidents, incidentKey(accountId, incident))],
    eventRefs: [ref],
    decide: (view) => {
      if (view.posted(ref)) return { answer: undefined };
      const id = house.ids.uuid();
      house.log.error({ incident: id, kind: 'unmatched', amountCents }, 'incident opened');
      return {
        answer: undefined,
        postings: [{ chain, ...ref, movement: { kind: 'suspend', amountCents }, effectiveAt: at }],
        writes: [
          put(incidents, {
            accountId,
            id,
            kind: 'unmatched',
            paymentId: null,
            operationId: null,
            amountCents: Math.abs(amountCents),
            reference: incident,
            freezes: false,
            detail: {},
            openedAt: house.clock.now(),
          }),
        ],
      };
    },
  });
}
