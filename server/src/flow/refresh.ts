import { recentMap } from '../ground/recent-map.ts';
import { isElsewhere } from '../money/intent.ts';
import { isTerminal, type Payment } from '../money/payment.ts';
import { claimOverdue, makeDue, urge } from '../store/rows/intents.sql.ts';
import { holding, intentClaimMs } from './claims.ts';
import { queryOne, takeAllowedQuery } from './query.ts';
import type { TrackingDeps } from './tracking-deps.ts';

/** A lookup waits this long for a query of its own. */
const refreshWaitMs = 2_000;

/**
 * The payment for a lookup: refreshed when its query is due and the shared limit has one left, else as it is stored. A failure of
 * the provider never makes the lookup fail. The claim makes it one query for any number of lookups at once.
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
  cut.abort(null);
  return latest;
}

/** A payer's browser may come back as often as it likes; queries are of a limit that all payments share. */
const returnsEveryMs = 5_000;
const returnsKept = 4_096;
/** Of a connection: one a second, twenty at once. Payers who come back leave queries of the shared limit to all else, however many pages a stranger opens. */
const eachMs = 1_000;
const atOnceMs = 20_000;

/** The same for a payment whose payer comes back from the acquirer's page: its query is due at once, in each process every few seconds at most. */
export function refresherOfReturned(deps: TrackingDeps): (payment: Payment) => Promise<Payment> {
  const returned = recentMap<number>(returnsKept);
  const spent = new Map<string | null, number>();
  return async (payment) => {
    const { accountId, id, connection, status } = payment;
    const nowMs = deps.clock.monotonicMs();
    if (status !== 'pending' || nowMs - (returned.get(id) ?? Number.NEGATIVE_INFINITY) < returnsEveryMs)
      return payment;
    const spentUntil = Math.max(spent.get(connection) ?? 0, nowMs);
    if (spentUntil - nowMs > atOnceMs) return payment;
    spent.set(connection, spentUntil + eachMs);
    returned.set(id, nowMs);
    const now = deps.clock.now();
    await urge(deps.sql, accountId, id, now, now + intentClaimMs);
    return refreshIfOverdue(deps, payment);
  };
}

async function refresh(deps: TrackingDeps, payment: Payment): Promise<Payment> {
  const { accountId, id } = payment;
  const now = deps.clock.now();
  const intent = await claimOverdue(deps.sql, accountId, id, now, now + intentClaimMs);
  const provider = intent && deps.providers.get(intent.connection);
  if (!provider || isElsewhere(intent, provider)) return payment;
  const slot = await takeAllowedQuery(deps, provider);
  if (!slot) {
    await makeDue(deps.sql, [intent], now);
    return payment;
  }
  try {
    return (
      ((await holding(deps, [intent], now, queryOne(deps, provider, intent))) as Payment | null) ?? payment
    );
  } finally {
    await slot.free();
  }
}
