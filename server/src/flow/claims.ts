import type { Intent } from '../money/intent.ts';
import { renewClaims } from '../store/rows/intents.sql.ts';
import type { SendDeps } from './send.ts';

/**
 * How long other processes leave claimed rows alone. When the process that claimed a row was paused or killed, the query of its payment is
 * late by so much. Rejected: 30 s, enough for any call without a renewal.
 */
export const intentClaimMs = 4_000;
/** While claimed rows are worked on, their claims are renewed this often: a provider that answers slowly gets no second query. */
const renewEveryMs = 1_500;

/**
 * Renews the claims of rows while `work` is under way. A row whose time has been changed otherwise is left alone.
 *
 * @param claimedAt `now` of the claim
 */
export async function holding<Result>(
  deps: Pick<SendDeps, 'sql' | 'clock' | 'log'>,
  rows: readonly Intent[],
  claimedAt: number,
  work: Promise<Result>,
): Promise<Result> {
  const ended = new AbortController();
  void (async () => {
    let untilMs = claimedAt + intentClaimMs;
    for (;;) {
      await deps.clock.sleep(renewEveryMs, ended.signal);
      if (ended.signal.aborted) return;
      const renewedMs = deps.clock.now() + intentClaimMs;
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
