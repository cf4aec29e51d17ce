import type { Place } from '../kinds/kind.ts';
import { type Intent, isElsewhere, patience } from '../money/intent.ts';
import { type PaymentKind, paymentIdOf, providerIdOf } from '../money/payment.ts';
import type {
  ChargeReport,
  ListOutcome,
  ListWindow,
  PayoutReport,
  Provider,
  QueryOutcome,
  UnreadItem,
} from '../provider/provider.ts';
import { accountNumberOf } from '../store/rows/idempotency.ts';
import { claimMentioned, makeDue } from '../store/rows/intents.sql.ts';
import { findOwners } from '../store/rows/payments.sql.ts';
import { queryOf } from './breaker.ts';
import { intentClaimMs } from './claims.ts';
import { applyQuery } from './query.ts';
import type { TrackingDeps } from './tracking-deps.ts';

type Report = ChargeReport | PayoutReport;

/** One listing of a provider answers for all due payments that its window covers. */
export interface Listings {
  /** How many payments the next listing should answer for; null: for now payments are queried one by one. */
  size(now: number): number | null;
  /** Applies what one listing says of claimed payments. Those that it does not speak of become due again. */
  read(due: readonly Intent[]): Promise<void>;
}

/** Payments that one listing answers for. */
const listingMost = 1_000;
/** Fewer due queries than this are made one by one: a window may hold a thousand other payments. */
export const listingLeast = 4;
/** When a listing for the fewest payments was still longer than the adapter reads, payments are queried one by one for this long. */
const listingRestMs = 60_000;
/** After a listing that failed, payments are queried one by one for this long: their answers show whether only listings fail. */
const failedListingRestMs = 10_000;
/** By how much the provider's clock may differ from ours. */
const clockSkewMs = 2 * 60_000;

export function createListings(deps: TrackingDeps, provider: Provider): Listings {
  const { connection } = provider;
  /** Halved when a listing was longer than the adapter reads, doubled when one was read whole. */
  let size = listingMost;
  let againAt = 0;

  /** A listing that was cut off and still answered for half of its payments or more does not make the next one smaller. */
  function learn(read: { startedAt: number; complete: boolean; asked: number; unseen: number }): void {
    if (read.complete) size = Math.min(listingMost, size * 2);
    else if (read.unseen * 2 > read.asked && size > listingLeast) size = Math.max(listingLeast, size >> 1);
    else if (read.unseen === read.asked) againAt = read.startedAt + listingRestMs;
  }

  return {
    size: (now) => (now >= againAt ? size : null),

    async read(due) {
      const startedAt = deps.clock.now();
      const outcome = await deps.breakers.counted(queryOf(connection), () => list(provider, due, startedAt));
      if (outcome.outcome === 'unclear') {
        // It says nothing of any one payment, so their own waits do not grow: a short outage would otherwise keep a thousand of
        // them per listing from being queried for minutes.
        const waitMs = patience(outcome.retryAfterMs);
        againAt = startedAt + Math.max(waitMs, failedListingRestMs);
        await makeDue(deps.sql, due, deps.clock.now() + waitMs);
        return;
      }
      const unseen = await applyListed(deps, provider, due, { ...outcome, startedAt });
      const complete = outcome.complete && unseen.length === 0;
      learn({ startedAt, complete, asked: due.length, unseen: unseen.length });
      if (unseen.length > 0) await makeDue(deps.sql, unseen, deps.clock.now());
    },
  };
}

const placeOf = ({ accountId, paymentId, operationId, connection, kind }: Intent): Place => ({
  accountId,
  paymentId,
  operationId,
  connection,
  kind,
});

const kindOf = (due: readonly Intent[]): PaymentKind => (due[0]?.kind === 'deposit' ? 'deposit' : 'transfer');

function list(
  provider: Provider,
  due: readonly Intent[],
  startedAt: number,
): Promise<ListOutcome<ChargeReport> | ListOutcome<PayoutReport>> {
  const lastEnded = Math.max(...due.map((intent) => intent.attemptEndedAt ?? startedAt));
  const window: ListWindow = {
    fromMs: Math.min(...due.map((intent) => intent.createdAt)) - clockSkewMs,
    toMs: Math.min(startedAt, lastEnded + clockSkewMs),
  };
  if (kindOf(due) === 'transfer') return provider.listPayouts(window);
  const asked = due.map((intent) => [providerIdOf(intent.paymentId), intent.createdAt] as const);
  return provider.listCharges(window, new Map(asked));
}

/** @returns those that the listing does not speak of, where it was not whole or an item that cannot be read may be theirs */
async function applyListed(
  deps: TrackingDeps,
  provider: Provider,
  due: readonly Intent[],
  listed: {
    reports: readonly Report[];
    unread: readonly UnreadItem[];
    complete: boolean;
    startedAt: number;
  },
): Promise<Intent[]> {
  const query = { id: deps.ids.uuid(), startedAt: listed.startedAt };
  const apply = (intent: Intent, outcome: QueryOutcome<Report>) =>
    applyQuery(deps, { ...placeOf(intent), observation: { from: 'query', ...query, outcome, isList: true } });
  const reports = new Map(listed.reports.map((report) => [idOf(report), report]));
  const unseen: Intent[] = [];
  await Promise.all(
    due.map((intent) => {
      const providerId = providerIdOf(intent.paymentId);
      const report = reports.get(providerId);
      reports.delete(providerId);
      if (report) return apply(intent, { outcome: 'found', report });
      if (listed.complete && !listed.unread.some((item) => mayBe(item, providerId)))
        return apply(intent, { outcome: 'notFound' });
      unseen.push(intent);
      return undefined;
    }),
  );
  const others = await claimOthers(deps, provider, kindOf(due), reports);
  await Promise.all(others.map(({ intent, report }) => apply(intent, { outcome: 'found', report })));
  return unseen;
}

/**
 * Payments that are not due yet and whose end the same listing reports. After an outage what is due lies scattered over
 * hours, and a window holds thousands of others that wait for their own time. Without these payments, and with waits that grew after a failed
 * listing, 100,000 open payments came down to 70,000 in 30 s and then by 14 a second; with both changes, all were known after 51 s.
 */
async function claimOthers(
  deps: TrackingDeps,
  provider: Provider,
  kind: PaymentKind,
  reports: ReadonlyMap<string, Report>,
): Promise<{ intent: Intent; report: Report }[]> {
  const { connection } = provider;
  const ids = [...reports.values()]
    .filter(({ status }) => status !== 'open' && status !== 'prepared' && status !== 'pending')
    .flatMap((report) => paymentIdOf(idOf(report)) ?? [])
    .map((id) => ({ id, accountNumber: accountNumberOf(id) }));
  if (ids.length === 0) return [];
  // Read by itself: Citus takes no lock in a statement that joins the accounts, which every node has a copy of.
  const owners = await findOwners(deps.sql, connection, ids);
  const now = deps.clock.now();
  const claimed = await claimMentioned(
    deps.sql,
    connection,
    kind,
    now,
    now + intentClaimMs,
    owners.filter(({ followed }) => followed),
    listingMost,
  );
  return claimed.flatMap((intent) => {
    const report = reports.get(providerIdOf(intent.paymentId));
    return report && !isElsewhere(intent, provider) ? [{ intent, report }] : [];
  });
}

/** An item without an id may be any payment's. One of what came in concerns a charge that is listed by itself. */
const mayBe = ({ kind, providerId }: UnreadItem, asked: string): boolean =>
  kind !== 'received' && (providerId === null || providerId === asked);

const idOf = (report: Report): string => ('providerId' in report ? report.providerId : report.txid);
