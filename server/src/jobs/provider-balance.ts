import { waitForQuery } from '../flow/query.ts';
import type { TrackingDeps } from '../flow/tracking-deps.ts';
import type { Statement } from '../ports/sql.ts';
import type { Provider, ProviderBalance } from '../provider/provider.ts';
import { timestamp } from '../store/database/pool.ts';
import { claimJob, endingTurn, endOfTurn, endTurn, type Job } from '../store/rows/jobs.sql.ts';

/** How often the balance is read. The provider refuses payouts from an account that holds too little: the metrics warn before. */
const everyMs = 10 * 60_000;
/** A new connection is not asked at once, so that its other first calls come before. */
const job: Job = { what: 'balance', claimMs: 2 * 60_000, firstAfterMs: 2 * 60_000, runsAfterRestore: true };

const note: Statement = {
  name: 'balance_note',
  text: `WITH ended AS (${endingTurn})
    UPDATE connection c SET balance_cents = $5, balance_read_at = $6, blocked_judicial_cents = $7, blocked_med_cents = $8,
      blocked_total_cents = $9
    FROM ended WHERE c.id = ended.subject`,
};

/** Stores the balance at the provider, for the metrics. @returns false always: the loop waits its usual time before the next step */
export async function stepProviderBalance(deps: TrackingDeps, provider: Provider): Promise<boolean> {
  if (!provider.capabilities.hasBalance) return false;
  const { connection } = provider;
  const now = deps.clock.now();
  const turn = await claimJob(deps.sql, job, connection, now);
  if (!turn) return false;
  const balance = await askBalance(deps, provider);
  const readAt = deps.clock.now();
  const dueAt = readAt + everyMs;
  if (balance === null) await endTurn(deps.sql, turn, dueAt);
  else
    await deps.sql.run(note, [
      ...endOfTurn(turn, dueAt),
      balance.availableCents,
      timestamp(readAt),
      balance.blocked?.judicialCents ?? null,
      balance.blocked?.medCents ?? null,
      balance.blocked?.totalCents ?? null,
    ]);
  return false;
}

/** @returns null: the provider did not answer, or no query of the shared limit was left */
export async function askBalance(deps: TrackingDeps, provider: Provider): Promise<ProviderBalance | null> {
  const slot = await waitForQuery(deps, provider);
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
