import { spendShared } from '../../edge/rate-limit.sql.ts';
import { refuse } from '../../ground/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Queries } from '../../ports/sql.ts';

export interface Limit {
  id: string;
  /** So many at once, and as many again in `everyMs`. */
  most: number;
  everyMs: number;
}

/**
 * Takes one of each bucket, in the database that all processes share, before anything is done. Rejected: counting in this process and telling the others
 * later, as calls with a key do: each charge costs a call of the provider, and a thousand strangers at many processes would make as many.
 * @throws ApiError `rate_limited`
 */
export async function takeOfBuckets(
  { sql, clock }: { sql: Queries; clock: Clock },
  limits: readonly Limit[],
): Promise<void> {
  const now = clock.now();
  const taken = limits.map(({ id, most, everyMs }) => {
    const ms = everyMs / most;
    // A bucket that refuses fills again by itself: it is spent no further than one beyond its burst.
    return [id, { ms, mostMs: everyMs + ms }] as const;
  });
  const spent = new Map(
    (await spendShared(sql, new Map(taken), now, now)).map((one) => [one.id, one.spentUntil]),
  );
  const waits = limits.map(({ id, everyMs }) => (spent.get(id) ?? now) - now - everyMs);
  const waitMs = Math.max(0, ...waits);
  if (waitMs > 0) throw refuse('rate_limited', { retryAfterSeconds: Math.ceil(waitMs / 1000) });
}
