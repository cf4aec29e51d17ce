import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { refuse } from '../ground/errors.ts';
import type { Log } from '../ground/log.ts';
import { defaultInFlight, defaultQuotas, type Quota, type QuotaName, type Quotas } from '../ground/quotas.ts';
import type { Clock } from '../ports/clock.ts';
import type { Sql } from '../ports/sql.ts';
import { callerNetwork } from './caller-address.ts';
import { dropFull, spendShared, type Taken } from './rate-limit.sql.ts';
import type { RequestTurns } from './request-turns.ts';

/** Which limit a call counts against, beside the account's own. */
export type Policy = 'reads' | 'files' | 'charges' | 'transfers' | 'operations' | 'webhooks' | 'resets';

/** How long what was taken stays untold to the other processes. */
export const shareEveryMs = 100;
/**
 * The largest debt, in ms, for calls that several processes together allowed beyond a burst. Whatever a shared row contains, even a wrong
 * time, no caller is refused for longer than an empty bucket and this.
 */
const debtMostMs = 5_000;

/**
 * GCRA: a token bucket with one number, the instant up to which it is spent. It is full when that instant has passed, and
 * empty when it lies a whole burst ahead. A refused call costs nothing.
 *
 * Each call is decided in this process, without waiting. Ten times a second the process adds its calls to the database
 * and reads the sum of all processes. So a key that floods several processes at once gets a
 * burst from each, but the excess is a debt that all of them see a moment later: in the long run the quota holds
 * exactly. Rejected: asking the database in every call (a round trip each), and leasing slices before they are used (the
 * first call of every key would wait). Without the database each process limits by its own count.
 */
export interface LimitedKey {
  id: string;
  accountId: string;
  /** The limits of the account's own. */
  quotas?: Quotas;
}

export interface RateLimiter {
  /**
   * Counts a call against the key's policy and the account, and sets the headers that say what is left.
   * @param units how many calls of the policy it counts as (`costs.ts`); default 1. It never costs more than a whole burst
   * @throws ApiError `rate_limited`, `too_many_concurrent_requests`
   */
  take(key: LimitedKey, policy: Policy, reply: FastifyReply, units?: number): void;
  /**
   * Counts a call of the panel that names no account yet, or of a payer's page, by the caller's address.
   * @throws ApiError `rate_limited`
   */
  takeVisit(request: FastifyRequest, quota?: 'visits' | 'pages'): void;
  /**
   * Counts one try of an address to authenticate with a key that this process has not seen valid yet, before that key is looked up.
   * Forwarded headers do not matter: without trusted proxies the address is that of the connection.
   * @returns gives the try back: the key is valid
   * @throws ApiError `rate_limited`
   */
  tryAuthentication(request: FastifyRequest): () => void;
}

const unlimited: RateLimiter = {
  take: () => {},
  takeVisit: () => {},
  tryAuthentication: () => () => {},
};

/** Above this many buckets those that are full again are dropped: they say nothing. */
const maxBuckets = 20_000;

export function rateLimiter(options: {
  clock: Clock;
  sql: Sql;
  log: Log;
  enabled: boolean;
  /** False: what is taken is counted in this process alone. */
  mayShare(): boolean;
  /** The limits of the installation's own. */
  quotas: Quotas;
  /** Addresses come from forwarded headers of proxies that are trusted. */
  behindProxy: boolean;
  draining: AbortSignal;
  /** Learns of the calls under way of each account. */
  turns?: Pick<RequestTurns, 'begins' | 'ends'>;
}): RateLimiter {
  const { clock, sql, log, enabled, mayShare, behindProxy, draining, turns } = options;
  const quotas = { ...defaultQuotas, 'in-flight': { atOnce: defaultInFlight }, ...options.quotas };
  if (!enabled) return unlimited;
  /** The instant up to which a bucket is spent. */
  const spentUntil = new Map<string, number>();
  const inFlight = new Map<string, number>();

  /** The amount of each bucket that was taken and is not shared yet, and since when. */
  let untold = new Map<string, Taken>();
  let untoldSince = 0;
  let telling = false;
  let trimmedAt = 0;
  let warned = false;

  async function tellUntilAllIsTold(): Promise<void> {
    telling = true;
    while (untold.size > 0) {
      await clock.sleep(shareEveryMs, draining);
      const told = untold;
      untold = new Map();
      if (!mayShare()) continue;
      try {
        for (const shared of await spendShared(sql, told, untoldSince, clock.now())) {
          const together = shared.spentUntil + (untold.get(shared.id)?.ms ?? 0);
          spentUntil.set(shared.id, Math.max(spentUntil.get(shared.id) ?? 0, together));
        }
      } catch (err) {
        log.warn({ err }, 'rate limits were not shared with the other processes');
      }
    }
    telling = false;
  }

  function bucket(name: QuotaName, owner: string, quota: Quota = quotas[name], units = 1): Bucket {
    const now = clock.now();
    if (spentUntil.size > maxBuckets && now - trimmedAt > 1000) {
      trimmedAt = now;
      for (const [id, until] of spentUntil) if (until <= now) spentUntil.delete(id);
    }
    const id = `${name} ${owner}`;
    const ms = costMs(quota) * Math.min(units, quota.burst);
    return afterOne({ name, id, quota, ms }, Math.max(spentUntil.get(id) ?? now, now), now);
  }

  function spend(one: Bucket): void {
    spentUntil.set(one.id, one.until);
    if (untold.size === 0) untoldSince = one.now;
    note(one, one.ms);
  }

  /** Adds to what the next exchange sends to the database. */
  function note({ id, quota }: Bucket, ms: number): void {
    const mostMs = quota.burst * costMs(quota) + debtMostMs;
    untold.set(id, { ms: (untold.get(id)?.ms ?? 0) + ms, mostMs });
    if (!telling) void tellUntilAllIsTold();
  }

  /** Undoes one call, also where it was already sent to the database. */
  function giveBack(one: Bucket): void {
    spentUntil.set(one.id, (spentUntil.get(one.id) ?? 0) - one.ms);
    note(one, -one.ms);
  }

  function enter({ id: keyId, accountId }: LimitedKey, atOnce: number, response: ServerResponse): void {
    const before = inFlight.get(keyId) ?? 0;
    if (before >= atOnce) throw refuse('too_many_concurrent_requests', { retryAfterSeconds: 1 });
    inFlight.set(keyId, before + 1);
    turns?.begins(accountId);
    // Also when the caller goes away: `finish` would not come then.
    response.once('close', () => {
      const left = (inFlight.get(keyId) ?? 1) - 1;
      if (left === 0) inFlight.delete(keyId);
      else inFlight.set(keyId, left);
      turns?.ends(accountId);
    });
  }

  return {
    take(key, policy, reply, units = 1) {
      const own = bucket(policy, key.id, key.quotas?.[policy], units);
      const account = bucket('account', key.accountId, key.quotas?.account, units);
      const ofFiles =
        policy === 'files'
          ? [bucket('account-files', key.accountId, key.quotas?.['account-files'])]
          : noBuckets;
      const allowed = own.waitMs === 0 && account.waitMs === 0 && ofFiles.every(({ waitMs }) => waitMs === 0);
      if (allowed) {
        spend(own);
        spend(account);
        for (const one of ofFiles) spend(one);
      }
      reply.header('ratelimit-policy', `${policyText(own)}, ${policyText(account)}`);
      reply.header('ratelimit', `${leftOf(own, allowed)}, ${leftOf(account, allowed)}`);
      if (!allowed) throw limited([own, account, ...ofFiles]);
      enter(key, (key.quotas?.['in-flight'] ?? quotas['in-flight']).atOnce, reply.raw);
    },

    takeVisit(request, quota = 'visits') {
      const one = bucket(quota, callerNetwork(request));
      if (one.waitMs > 0) throw limited([one]);
      spend(one);
    },

    tryAuthentication(request) {
      if (!behindProxy && !warned && request.headers['x-forwarded-for'] !== undefined) {
        warned = true;
        log.warn(
          'a forwarded request came in without TRUSTED_PROXIES: all callers share one limit of failed keys',
        );
      }
      const one = bucket('auth', callerNetwork(request));
      if (one.waitMs > 0) throw limited([one]);
      spend(one);
      return () => giveBack(one);
    },
  };
}

const noBuckets: readonly Bucket[] = [];

const limited = (buckets: readonly Bucket[]) =>
  refuse('rate_limited', {
    details: buckets.filter((one) => one.waitMs > 0).map((one) => ({ policy: one.name })),
    retryAfterSeconds: Math.ceil(Math.max(...buckets.map((one) => one.waitMs)) / 1000),
  });

/** A bucket and what the call would make of it. */
interface Bucket {
  name: QuotaName;
  id: string;
  quota: Quota;
  /** The part that this call takes. */
  ms: number;
  now: number;
  spentUntil: number;
  /** After the call. */
  until: number;
  /** 0: the call is allowed. */
  waitMs: number;
}

function afterOne(
  one: Pick<Bucket, 'name' | 'id' | 'quota' | 'ms'>,
  spentUntil: number,
  now: number,
): Bucket {
  const until = spentUntil + one.ms;
  const waitMs = Math.max(0, until - now - one.quota.burst * costMs(one.quota));
  return { ...one, now, spentUntil, until, waitMs };
}

/**
 * The part of a bucket that one call takes, in whole parts of 1/1024 ms: added to a time since 1970, a double holds these exactly (until the year
 * 2248), in PostgreSQL too. With 1000 / 300 ms each sum was rounded, two processes' sums differently, and a burst ended a call early.
 */
const costMs = ({ perSecond }: Quota): number => Math.max(1, Math.round(1024_000 / perSecond)) / 1024;

/** Calls that are left at once, and seconds until the bucket is full again. */
function leftOf(one: Bucket, spent: boolean): string {
  const level = (spent ? one.until : one.spentUntil) - one.now;
  const left = Math.max(0, Math.floor(one.quota.burst - level / costMs(one.quota)));
  return `"${one.name}";r=${left};t=${Math.ceil(level / 1000)}`;
}

/** As the headers put it: a burst and the time in which an empty bucket fills. */
const policyText = ({ name, quota: { perSecond, burst } }: Bucket): string =>
  `"${name}";q=${burst};w=${Math.ceil(burst / perSecond)}`;

const bucketsPerStep = 500;

/** Where this process has come to, by the database that it looks at. */
const lookedTo = new WeakMap<Sql, string>();

/** Removes buckets that are full again, a stretch of them at a time. @returns whether there is more to look at at once */
export async function stepBucketPruning({ sql, clock }: { sql: Sql; clock: Clock }): Promise<boolean> {
  const last = await dropFull(sql, clock.now(), lookedTo.get(sql) ?? '', bucketsPerStep);
  lookedTo.set(sql, last ?? '');
  return last !== null;
}
