import { queryOf } from '../flow/breaker.ts';
import { listingLeast } from '../flow/listing.ts';
import { confirm, NoQueryLeft, takeAllowedQuery } from '../flow/query.ts';
import type { TrackingDeps } from '../flow/tracking-deps.ts';
import { inTurn } from '../ground/lines.ts';
import { providerIdOf } from '../money/payment.ts';
import type { ChargeReport, Provider } from '../provider/provider.ts';
import { accountNumberOf } from '../store/rows/idempotency.ts';
import {
  claimLateQueries,
  type DueLate,
  postponeLateQueries,
  removeLateQueries,
} from '../store/rows/late-queries.sql.ts';
import { findOwners } from '../store/rows/payments.sql.ts';

/**
 * An expired charge is queried once more, a day later. Its provider may have shown it unpaid because its read side was late, and an ended
 * payment is not followed. The lists of the last two days are read again as well (`stepLateStatement`); this does not rest on them.
 *
 * Where many are due, one listing says of thousands that they were not paid.
 */
const claimMs = 5 * 60_000;
const dueMost = 500;
/** Queried one by one in a turn: queries of the shared limit are left for payments under way. */
const queriesMost = 5;
const busyMs = 30_000;
const clockSkewMs = 2 * 60_000;
/** After a day of tries it is left to the lists. */
const triesMost = 10;
const retryAfterMs = (tries: number): number => Math.min(6 * 3_600_000, 60_000 * 2 ** tries);

/** Works on what is due. @returns false: the next turn has its time */
export async function stepLateQueries(deps: TrackingDeps, provider: Provider): Promise<boolean> {
  const { connection, capabilities } = provider;
  const now = deps.clock.now();
  const due = await claimLateQueries(deps.sql, connection, now, now + claimMs, dueMost);
  if (due.length === 0) return false;
  // A few are queried in a turn, and the others wait.
  const left = inTurn(
    due.length >= listingLeast && capabilities.canListCharges
      ? await withoutListed(deps, provider, due)
      : due,
    ({ accountId }) => accountId,
  );
  for (const row of left.slice(0, queriesMost)) await queryLate(deps, provider, row);
  await postponeLateQueries(deps.sql, left.slice(queriesMost), deps.clock.now() + busyMs, false);
  return false;
}

/** @returns those that one listing does not show to be as they were */
async function withoutListed(
  deps: TrackingDeps,
  provider: Provider,
  due: readonly DueLate[],
): Promise<readonly DueLate[]> {
  const slot = await takeAllowedQuery(deps, provider);
  if (!slot) return due;
  const times = due.map(({ createdAt }) => createdAt);
  const window = { fromMs: Math.min(...times) - clockSkewMs, toMs: Math.max(...times) + clockSkewMs };
  const listed = await deps.breakers
    .counted(queryOf(provider.connection), () => provider.listCharges(window))
    .finally(() => slot.free());
  if (listed.outcome !== 'listed') return due;
  const unpaid = new Set(listed.reports.filter(isUnpaid).map(({ txid }) => txid));
  const [ended, left] = [true, false].map((wanted) =>
    due.filter(({ paymentId }) => unpaid.has(providerIdOf(paymentId)) === wanted),
  ) as [DueLate[], DueLate[]];
  await removeLateQueries(deps.sql, ended);
  return left;
}

const isUnpaid = ({ status, received }: ChargeReport): boolean => status !== 'paid' && received.length === 0;

async function queryLate(deps: TrackingDeps, provider: Provider, row: DueLate): Promise<void> {
  const { connection } = provider;
  const { accountId, paymentId } = row;
  try {
    const named = [{ id: paymentId, accountNumber: accountNumberOf(paymentId) }];
    await confirm(deps, provider, await findOwners(deps.sql, connection, named));
    await removeLateQueries(deps.sql, [row]);
  } catch (error) {
    const now = deps.clock.now();
    if (error instanceof NoQueryLeft) return postponeLateQueries(deps.sql, [row], now + busyMs, false);
    deps.log.warn({ err: error, accountId, paymentId }, 'an expired charge could not be queried once more');
    if (row.tries + 1 >= triesMost) await removeLateQueries(deps.sql, [row]);
    else await postponeLateQueries(deps.sql, [row], now + retryAfterMs(row.tries), true);
  }
}
