import type { FastifyReply } from 'fastify';
import type { Clock } from '../ports/clock.ts';
import { refuse } from './errors.ts';

/** Which limit a call counts against, beside the account's own. */
export type Policy = 'reads' | 'charges' | 'transfers' | 'operations' | 'webhooks';

interface Quota {
  perSecond: number;
  burst: number;
}

const quotas: Readonly<Record<Policy | 'account', Quota>> = {
  reads: { perSecond: 100, burst: 200 },
  charges: { perSecond: 50, burst: 100 },
  transfers: { perSecond: 20, burst: 40 },
  operations: { perSecond: 5, burst: 20 },
  webhooks: { perSecond: 5, burst: 20 },
  account: { perSecond: 300, burst: 600 },
};

/** The window that the headers speak of, in seconds: a burst is what a quiet window leaves. */
const windowSeconds = (quota: Quota): number => quota.burst / quota.perSecond;

/**
 * GCRA: a token bucket with one number, the instant up to which it is spent. A bucket is full when that instant has
 * passed, and empty when it lies a whole burst ahead.
 */
export interface RateLimiter {
  /**
   * Counts one call against the key's policy and the account, and sets the headers that say what is left.
   * @throws ApiError `rate_limited`
   */
  take(key: { id: string; accountId: string }, policy: Policy, reply: FastifyReply): void;
}

const unlimited: RateLimiter = { take: () => {} };

/** Buckets that are kept; above it those that are full anyway are dropped. */
const maxBuckets = 20_000;

export function rateLimiter({ clock, enabled }: { clock: Clock; enabled: boolean }): RateLimiter {
  if (!enabled) return unlimited;
  /** The instant up to which a bucket is spent, monotonic. */
  const spentUntil = new Map<string, number>();

  function dropFull(now: number): void {
    for (const [name, until] of spentUntil) if (until <= now) spentUntil.delete(name);
  }

  return {
    take(key, policy, reply) {
      const now = clock.monotonicMs();
      if (spentUntil.size > maxBuckets) dropFull(now);
      const keyBucket = `${policy} ${key.id}`;
      const ownUntil = Math.max(spentUntil.get(keyBucket) ?? 0, now);
      const accountUntil = Math.max(spentUntil.get(key.accountId) ?? 0, now);
      const own = afterOne(ownUntil, now, quotas[policy]);
      const account = afterOne(accountUntil, now, quotas.account);
      const allowed = own.waitMs === 0 && account.waitMs === 0;
      if (allowed) {
        spentUntil.set(keyBucket, own.until);
        spentUntil.set(key.accountId, account.until);
      }
      reply.header('ratelimit-policy', policyHeaders[policy]);
      reply.header(
        'ratelimit',
        `"${policy}";r=${own.remaining};t=${own.refillSeconds}, "account";r=${account.remaining};t=${account.refillSeconds}`,
      );
      if (allowed) return;
      throw refuse('rate_limited', {
        details: [
          ...(own.waitMs > 0 ? [{ policy }] : []),
          ...(account.waitMs > 0 ? [{ policy: 'account' }] : []),
        ],
        retryAfterSeconds: Math.max(1, Math.ceil(Math.max(own.waitMs, account.waitMs) / 1000)),
      });
    },
  };
}

interface AfterOne {
  /** The bucket's new instant, if the call is allowed. */
  until: number;
  /** 0: allowed. */
  waitMs: number;
  remaining: number;
  /** Until the bucket is full again. */
  refillSeconds: number;
}

function afterOne(spentUntil: number, now: number, quota: Quota): AfterOne {
  const costMs = 1000 / quota.perSecond;
  const capacityMs = costMs * quota.burst;
  const until = spentUntil + costMs;
  // A hair of tolerance: sums of fractions like 1000/300 are not exact.
  const overMs = until - now - capacityMs;
  const waitMs = overMs > 1e-6 ? overMs : 0;
  const level = waitMs > 0 ? spentUntil : until;
  return {
    until,
    waitMs,
    remaining: Math.max(0, Math.floor((capacityMs - (level - now)) / costMs + 1e-6)),
    refillSeconds: Math.ceil((level - now) / 1000),
  };
}

const policyHeaders = Object.fromEntries(
  Object.keys(quotas).map((name) => [
    name,
    [name, 'account']
      .map((each) => {
        const quota = quotas[each as Policy];
        return `"${each}";q=${quota.burst};w=${Math.ceil(windowSeconds(quota))}`;
      })
      .join(', '),
  ]),
) as Record<Policy, string>;
