import type { House } from '../house.ts';
import { isTerminal, type Payment, providerIdOf } from '../payments/payment.ts';
import type {
  ChargeReport,
  ListOutcome,
  PayoutReport,
  Provider,
  QueryOutcome,
} from '../provider/provider.ts';
import { applyOutcome } from './apply-outcome.ts';
import { type Intent, queryPriorities, sendPriority } from './intent.ts';
import { claimDue, claimOverdue, countDue, makeDue } from './intents.sql.ts';
import { type Slot, takeQuery, takeSend } from './limit.ts';
import { applyWithinMs, resultOf, send, startSend, takeOverSend } from './send.ts';

/**
 * What happens with no client active: due sends go out, ended leases are taken over, and payments without news are queried
 * until the provider's word ends them, for ever, within the query limit that all processes share.
 *
 * Any number of processes run this over one database. A row is claimed by moving its time on (and by no lock), so a process
 * that dies with claimed rows loses nothing: they are due again when that time has passed.
 *
 * Where the adapter can list and several queries are due, one listing answers for all that its window covers.
 */

/** How long claimed rows stay out of sight of the others. */
const claimMs = 30_000;
/** Sends that one step takes on. */
const sendsMost = 256;
/** Payments that one listing answers for. */
const listingMost = 1_000;
/** Fewer due queries than this are made one by one: a window may hold a thousand payments that nobody asked for. */
const listingLeast = 4;
/** By how much the provider's clock may differ from ours. */
const clockSkewMs = 2 * 60_000;

export interface FollowUp {
  /** One round of sends; true when there may be more at once. */
  stepSends(): Promise<boolean>;
  /** One round of queries; true when there may be more at once. */
  stepQueries(): Promise<boolean>;
}

export function createFollowUp(house: House): FollowUp {
  /** Halved when a listing was longer than the adapter reads, doubled when one was read whole. */
  const listingSizes = new Map<string, number>();

  async function sendsOf(provider: Provider): Promise<boolean> {
    const { connection, capabilities } = provider;
    const limited = capabilities.maxParallelSends;
    const now = house.clock.now();
    const due = await claimDue(house.sql, connection, sendPriority, now, now + claimMs, limited ?? sendsMost);
    await Promise.all(
      due.map(async (intent) => {
        if (intent.state === 'sending') return takeOverSend(house, intent);
        let slot: Slot | null = null;
        if (limited !== null && intent.kind === 'transfer') {
          slot = await takeSend(house, connection, limited, capabilities.callTimeoutMs * 2);
          if (!slot) return void (await makeDue(house.sql, [intent], house.clock.now() + 200));
        }
        try {
          const attempt = await startSend(house, intent);
          if (attempt) await send(house, attempt);
        } finally {
          await slot?.free();
        }
      }),
    );
    return due.length > 0;
  }

  async function queriesOf(provider: Provider): Promise<boolean> {
    const { connection, capabilities } = provider;
    const now = house.clock.now();
    const counts = await countDue(house.sql, connection, now, listingLeast);
    const first = queryPriorities.map((one) => counts.find(({ priority }) => priority === one)).find(Boolean);
    if (!first) return false;
    if (!(await house.breakers.allows(connection, 'query'))) return false;
    const slot = await takeQuery(house, connection, capabilities.callTimeoutMs * 2);
    if (!slot) return false;
    try {
      const lists = capabilities.canList && first.due >= listingLeast;
      const most = lists ? (listingSizes.get(connection) ?? listingMost) : 1;
      const due = await claimDue(house.sql, connection, first.priority, now, now + claimMs, most);
      if (lists && due.length >= listingLeast) await queryByListing(provider, due);
      else await Promise.all(due.map((intent) => queryOne(house, provider, intent)));
    } finally {
      await slot.free();
    }
    return true;
  }

  async function queryByListing(provider: Provider, due: readonly Intent[]): Promise<void> {
    const { connection } = provider;
    const startedAt = house.clock.now();
    const kind = due[0]?.kind;
    const window = {
      fromMs: Math.min(...due.map((intent) => intent.createdAt)) - clockSkewMs,
      toMs: Math.min(
        startedAt,
        Math.max(...due.map((intent) => intent.attemptEndedAt ?? startedAt)) + clockSkewMs,
      ),
    };
    const outcome: ListOutcome<ChargeReport | PayoutReport> =
      kind === 'deposit' ? await provider.listCharges(window) : await provider.listPayouts(window);
    house.breakers.record(connection, 'query', connection, resultOf(outcome));
    const id = house.ids.uuid();
    if (outcome.outcome === 'unclear') {
      await Promise.all(due.map((intent) => applyQuery(house, intent, { id, startedAt, outcome })));
      return;
    }
    const reports = new Map(outcome.reports.map((report) => [idOf(report), report]));
    const unseen: Intent[] = [];
    await Promise.all(
      due.map((intent) => {
        const report = reports.get(providerIdOf(intent.paymentId));
        if (report)
          return applyQuery(house, intent, { id, startedAt, outcome: { outcome: 'found', report } });
        if (outcome.complete)
          return applyQuery(house, intent, { id, startedAt, outcome: { outcome: 'notFound' } });
        unseen.push(intent);
        return undefined;
      }),
    );
    const size = listingSizes.get(connection) ?? listingMost;
    listingSizes.set(connection, outcome.complete ? Math.min(listingMost, size * 2) : Math.max(1, size >> 1));
    if (unseen.length > 0) await makeDue(house.sql, unseen, house.clock.now());
  }

  const overProviders = async (step: (provider: Provider) => Promise<boolean>): Promise<boolean> => {
    const more = await Promise.all([...house.providers.values()].map(step));
    return more.includes(true);
  };
  return { stepSends: () => overProviders(sendsOf), stepQueries: () => overProviders(queriesOf) };
}

const idOf = (report: ChargeReport | PayoutReport): string =>
  'providerId' in report ? report.providerId : report.txid;

async function queryOne(house: House, provider: Provider, intent: Intent): Promise<Payment | null> {
  const startedAt = house.clock.now();
  const providerId = providerIdOf(intent.paymentId);
  const outcome =
    intent.kind === 'deposit'
      ? await provider.queryCharge(providerId)
      : await provider.queryPayout(providerId);
  house.breakers.record(provider.connection, 'query', intent.accountId, resultOf(outcome));
  return applyQuery(house, intent, { id: house.ids.uuid(), startedAt, outcome });
}

async function applyQuery(
  house: House,
  intent: Intent,
  query: { id: string; startedAt: number; outcome: QueryOutcome<ChargeReport | PayoutReport> },
): Promise<Payment | null> {
  const { accountId, paymentId, operationId, connection } = intent;
  const observation = { from: 'query', ...query } as const;
  try {
    return await applyOutcome(
      house,
      { accountId, paymentId, operationId, connection, observation },
      house.clock.monotonicMs() + applyWithinMs,
    );
  } catch (error) {
    // The row is due again when its claim has run out.
    house.log.warn({ err: error, paymentId }, 'a query was not applied');
    return null;
  }
}

/** A lookup waits this long for a query of its own. */
const refreshWaitMs = 2_000;

/**
 * The payment for a lookup: refreshed when its query is overdue and the shared limit has one left, else as it stands. A failure of
 * the provider never becomes one of the lookup. The claim makes it one query, however many look at once.
 */
export async function refreshIfOverdue(house: House, payment: Payment): Promise<Payment> {
  if (isTerminal(payment.status) || payment.status === 'draft') return payment;
  const refreshed = refresh(house, payment).catch((error: unknown) => {
    house.log.warn({ err: error, paymentId: payment.id }, 'a refresh failed');
    return payment;
  });
  const cut = new AbortController();
  const waited = house.clock.sleep(refreshWaitMs, AbortSignal.any([cut.signal, house.draining]));
  const latest = await Promise.race([refreshed, waited.then(() => payment)]);
  cut.abort();
  return latest;
}

async function refresh(house: House, payment: Payment): Promise<Payment> {
  const { accountId, id } = payment;
  const now = house.clock.now();
  const intent = await claimOverdue(house.sql, accountId, id, now, now + claimMs);
  const provider = intent && house.providers.get(intent.connection);
  if (!provider) return payment;
  const slot = (await house.breakers.allows(provider.connection, 'query'))
    ? await takeQuery(house, provider.connection, provider.capabilities.callTimeoutMs * 2)
    : null;
  if (!slot) {
    await makeDue(house.sql, [intent], now);
    return payment;
  }
  try {
    return (await queryOne(house, provider, intent)) ?? payment;
  } finally {
    await slot.free();
  }
}

/** What a delivery that is not trusted by itself does: its payments are asked after, as soon as the limit allows. */
export async function wakeQueries(
  house: House,
  rows: readonly { accountId: string; id: string }[],
): Promise<void> {
  await makeDue(
    house.sql,
    rows.map(({ accountId, id }) => ({ accountId, paymentId: id })),
    house.clock.now(),
  );
  house.wake();
}
