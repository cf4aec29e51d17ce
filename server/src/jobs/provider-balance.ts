import { takeAllowedQuery } from '../flow/query.ts';
import type { TrackingDeps } from '../flow/tracking-deps.ts';
import type { Queries, Statement } from '../ports/sql.ts';
import type { Provider, ProviderBalance } from '../provider/provider.ts';
import { timestamp } from '../store/database/pool.ts';

/** How often the balance is read. The provider refuses payouts from an account that holds too little: the metrics warn before. */
const everyMs = 10 * 60_000;
const claimMs = 2 * 60_000;

/** A new connection is claimed without a query, so that its other first calls come before. */
const claim: Statement = {
  name: 'balance_claim',
  text: `WITH before AS (SELECT id, balance_due_at FROM connection
        WHERE id = $1 AND (balance_due_at IS NULL OR balance_due_at <= $2) FOR NO KEY UPDATE SKIP LOCKED)
    UPDATE connection c SET balance_due_at = $3 FROM before b WHERE c.id = b.id
    RETURNING b.balance_due_at IS NOT NULL AS due`,
};

const note: Statement = {
  name: 'balance_note',
  text: `UPDATE connection SET balance_due_at = $2, balance_cents = coalesce($3, balance_cents),
      balance_read_at = CASE WHEN $3 IS NULL THEN balance_read_at ELSE $4 END,
      blocked_judicial_cents = CASE WHEN $3 IS NULL THEN blocked_judicial_cents ELSE $6::bigint END,
      blocked_med_cents = CASE WHEN $3 IS NULL THEN blocked_med_cents ELSE $7::bigint END,
      blocked_total_cents = CASE WHEN $3 IS NULL THEN blocked_total_cents ELSE $8::bigint END
    WHERE id = $1 AND balance_due_at = $5`,
};

/** Claims the reading of a connection's balance; empty: another process has it, or it is not due. `due`: false for a new connection. */
export const claimBalance = (
  sql: Queries,
  connection: string,
  now: number,
  untilMs: number,
): Promise<{ due: boolean }[]> => sql.run(claim, [connection, timestamp(now), timestamp(untilMs)]);

/** Stores the balance at the provider, for the metrics. @returns false always: the loop waits its usual time before the next step */
export async function stepProviderBalance(deps: TrackingDeps, provider: Provider): Promise<boolean> {
  if (!provider.capabilities.hasBalance) return false;
  const { connection } = provider;
  const now = deps.clock.now();
  const claimedTo = now + claimMs;
  const [claimed] = await claimBalance(deps.sql, connection, now, claimedTo);
  if (!claimed?.due) return false;
  const balance = await askBalance(deps, provider);
  const readAt = deps.clock.now();
  await deps.sql.run(note, [
    connection,
    timestamp(readAt + everyMs),
    balance?.availableCents ?? null,
    timestamp(readAt),
    timestamp(claimedTo),
    balance?.blocked?.judicialCents ?? null,
    balance?.blocked?.medCents ?? null,
    balance?.blocked?.totalCents ?? null,
  ]);
  return false;
}

/** @returns null: the provider did not answer, or no query of the shared limit was left */
export async function askBalance(deps: TrackingDeps, provider: Provider): Promise<ProviderBalance | null> {
  const slot = await takeAllowedQuery(deps, provider);
  if (!slot) return null;
  try {
    return await provider.balance();
  } catch (error) {
    const { connection } = provider;
    deps.log.warn({ err: error, connection }, "the provider's balance cannot be read");
    return null;
  } finally {
    await slot.free();
  }
}
