/**
 * When a delivery is tried again, and what an endpoint's failures mean: pure rules.
 *
 * Twelve attempts over three days, three of them in the first minute: a shop waits at its counter, and a server that was down
 * for a weekend misses nothing. Test accounts get the first four, and all of them with a test clock.
 */
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
export const dayMs = 24 * hour;

/** After the failure before it. */
const waitsMs = [
  0,
  5 * second,
  30 * second,
  2 * minute,
  10 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
];
const testAttempts = 4;

interface Tried {
  test: boolean;
  /** Of the account's test clock; null: it has none. */
  aheadMs: number | null;
}

export const attemptsOf = ({ test, aheadMs }: Tried): number =>
  test && aheadMs === null ? testAttempts : waitsMs.length;

/** The outcome of an attempt. */
export interface Result {
  /** Null: no answer. */
  statusCode: number | null;
  /** Generic on purpose; null for an answer. */
  error: 'connection failed' | 'timed out' | 'address not allowed' | 'unreadable answer' | null;
  /** Of the answer's `Retry-After`. */
  retryAfterMs: number | null;
  responseSnippet: string | null;
  durationMs: number;
}

export const succeeded = ({ statusCode }: Result): boolean =>
  statusCode !== null && statusCode >= 200 && statusCode < 300;

/** Gone for good: the endpoint is disabled. */
export const isGone = ({ statusCode }: Result): boolean => statusCode === 410;

/** The endpoint is overloaded: fewer at once. */
export const isStrained = ({ statusCode }: Result): boolean =>
  statusCode === 429 || statusCode === 502 || statusCode === 504;

/**
 * How long to wait after a failed attempt; null: no more by itself.
 * @param made attempts in all, before this one counts; deliveries created before the test clock was started have fewer attempts
 * @param triesLeft attempts of this round that are left, before this one counts
 * @param jitter from 0 to 1
 */
export function waitAfterMs(
  account: Tried,
  { made, triesLeft }: { made: number; triesLeft: number },
  result: Result,
  jitter: number,
): number | null {
  if (triesLeft <= 1 || isGone(result)) return null;
  const done = Math.min(attemptsOf(account) - triesLeft, made) + 1;
  const scheduledMs = (waitsMs[Math.max(1, done)] ?? dayMs) * (0.9 + 0.2 * jitter);
  const askedMs =
    result.statusCode === 429 || result.statusCode === 503 ? Math.min(result.retryAfterMs ?? 0, dayMs) : 0;
  return Math.round(Math.max(scheduledMs, askedMs));
}

/** `Retry-After`: seconds, or an HTTP date (RFC 9110, 10.2.3). */
export function retryAfterMsOf(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * second;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}

/** An endpoint's failures since its last success. */
export interface Health {
  failedAttempts: number;
  /** Deliveries that were given up. */
  failedDeliveries: number;
  /** The first failed attempt. */
  failingSince: number | null;
}

export const isFailing = ({ failedAttempts, failedDeliveries }: Health): boolean =>
  failedAttempts >= 20 || failedDeliveries >= 5;

/**
 * After so many failed attempts in a row an endpoint rests until its next success: one attempt at a time, and one a second. What else is due waits,
 * unwritten, and loses none of its tries. Rejected: longer pauses as time goes by. A probe costs little, and a server that works again gets its events
 * within a second.
 */
export const restsAfter = 50;
export const isResting = (failedInARow: number): boolean => failedInARow >= restsAfter;
export const probeEveryMs = 1_000;

/** Ten deliveries have twelve tries each at most: an endpoint that rests may fail so often without giving one up. */
const hopelessAttempts = 200;

/** Five days without one success, and not because of a single delivery. */
export const isHopeless = (
  { failingSince, failedAttempts, failedDeliveries }: Health,
  nowMs: number,
): boolean =>
  failingSince !== null &&
  nowMs - failingSince >= 5 * dayMs &&
  (failedDeliveries >= 10 || failedAttempts >= hopelessAttempts);

/** The mail that an endpoint's state calls for: 0 none, 1 failing, 2 for a day, 3 for three days, 4 disabled by us. */
export function mailFor(health: Health, disabledReason: string | null, nowMs: number): number {
  if (disabledReason === 'failing' || disabledReason === 'gone') return 4;
  if (disabledReason !== null || health.failingSince === null) return 0;
  const forMs = nowMs - health.failingSince;
  if (forMs >= 3 * dayMs) return 3;
  if (forMs >= dayMs) return 2;
  return isFailing(health) ? 1 : 0;
}
