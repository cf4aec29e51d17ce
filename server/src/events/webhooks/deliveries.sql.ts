import type { Queries, Statement } from '../../ports/sql.ts';
import { later } from '../../store/database/later.ts';
import { timestamp, timestamps } from '../../store/database/pool.ts';

export interface QueueKey {
  accountId: string;
  endpointId: string;
}

// ------------------------------------------------------------------------------------------------------------------ fan-out

/** The facts that decide whether an endpoint gets an event. */
export interface Listener extends QueueKey {
  events: string[];
  operationIds: string[] | null;
  enabled: boolean;
  test: boolean;
  /** Of the account's test clock; null: it has none. */
  aheadMs: number | null;
}

const selectListeners: Statement = {
  name: 'delivery_listeners',
  text: `SELECT w.account_id AS "accountId", w.id AS "endpointId", w.events, w.operation_ids AS "operationIds", w.enabled, a.test,
      c.ahead_ms AS "aheadMs"
    FROM webhook_endpoint w JOIN account a ON a.id = w.account_id LEFT JOIN test_clock c ON c.account_id = w.account_id
    WHERE w.account_id = ANY ($1::uuid[]) AND w.deleted_at IS NULL`,
};

/** The endpoints of this moment. */
export const findListeners = (tx: Queries, accountIds: readonly string[]): Promise<Listener[]> =>
  tx.run<Listener>(selectListeners, [accountIds]);

export interface NewDelivery extends QueueKey {
  eventId: string;
  paymentId: string | null;
  seq: number;
  skipped: boolean;
  triesLeft: number;
}

const insert: Statement = {
  name: 'delivery_insert',
  text: `INSERT INTO webhook_delivery (account_id, endpoint_id, event_id, payment_id, seq, status, tries_left, created_at)
    VALUES (unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::uuid[]), unnest($4::uuid[]), unnest($5::bigint[]), unnest($6::text[]),
      unnest($7::int[]), $8::timestamptz)
    ON CONFLICT (account_id, endpoint_id, event_id) DO NOTHING`,
};

export const insertDeliveries = (
  tx: Queries,
  deliveries: readonly NewDelivery[],
  nowMs: number,
): Promise<unknown> =>
  tx.run(insert, [
    deliveries.map(({ accountId }) => accountId),
    deliveries.map(({ endpointId }) => endpointId),
    deliveries.map(({ eventId }) => eventId),
    deliveries.map(({ paymentId }) => paymentId),
    deliveries.map(({ seq }) => seq),
    deliveries.map(({ skipped }) => (skipped ? 'skipped' : 'pending')),
    deliveries.map(({ triesLeft }) => triesLeft),
    timestamp(nowMs),
  ]);

/** Locked in key order: the publisher and the owners of queues meet here. */
const wake: Statement = {
  name: 'lane_wake',
  text: `WITH woken AS (
      SELECT l.account_id, l.endpoint_id FROM webhook_lane l
        JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, endpoint_id) USING (account_id, endpoint_id)
      ORDER BY l.account_id, l.endpoint_id FOR NO KEY UPDATE OF l)
    UPDATE webhook_lane l SET due_at = least(l.due_at, $3), wakes = l.wakes + 1
    FROM woken WHERE l.account_id = woken.account_id AND l.endpoint_id = woken.endpoint_id`,
};

export const wakeQueues = (tx: Queries, queues: readonly QueueKey[], nowMs: number): Promise<unknown> =>
  tx.run(wake, [...keysOf(queues), timestamp(nowMs)]);

const keysOf = (queues: readonly QueueKey[]): [string[], string[]] => [
  queues.map(({ accountId }) => accountId),
  queues.map(({ endpointId }) => endpointId),
];

// -------------------------------------------------------------------------------------------------------------------- queues

const claim: Statement = {
  name: 'lane_claim',
  text: `WITH due AS (
      SELECT account_id, endpoint_id FROM webhook_lane
      WHERE due_at <= $1 AND (lease_until IS NULL OR lease_until <= $1)
      ORDER BY due_at LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED)
    UPDATE webhook_lane l SET owner = $2, lease_until = $3
    FROM due WHERE l.account_id = due.account_id AND l.endpoint_id = due.endpoint_id
    RETURNING l.account_id AS "accountId", l.endpoint_id AS "endpointId"`,
};

/** Claims queues with due deliveries that no process holds. */
export const claimQueues = (
  sql: Queries,
  owner: string,
  nowMs: number,
  untilMs: number,
  most: number,
): Promise<QueueKey[]> => sql.run<QueueKey>(claim, [timestamp(nowMs), owner, timestamp(untilMs), most]);

const renew: Statement = {
  name: 'lane_renew',
  text: `WITH held AS (
      SELECT l.account_id, l.endpoint_id FROM webhook_lane l
        JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, endpoint_id) USING (account_id, endpoint_id)
      WHERE l.owner = $3
      ORDER BY l.account_id, l.endpoint_id FOR NO KEY UPDATE OF l)
    UPDATE webhook_lane l SET lease_until = $4
    FROM held WHERE l.account_id = held.account_id AND l.endpoint_id = held.endpoint_id
    RETURNING l.account_id AS "accountId", l.endpoint_id AS "endpointId"`,
};

/** @returns the queues that are still ours */
export const renewQueues = (
  sql: Queries,
  queues: readonly QueueKey[],
  owner: string,
  untilMs: number,
): Promise<QueueKey[]> => sql.run<QueueKey>(renew, [...keysOf(queues), owner, timestamp(untilMs)]);

const rest: Statement = {
  name: 'lane_rest',
  text: `UPDATE webhook_lane l SET owner = NULL, lease_until = NULL, due_at = CASE WHEN $4::bigint <> l.wakes THEN l.due_at
      WHEN $5 THEN (SELECT min(d.due_at) FROM webhook_delivery d
        WHERE d.account_id = $1 AND d.endpoint_id = $2 AND d.status = 'pending' AND d.due_at IS NOT NULL) END
    WHERE l.account_id = $1 AND l.endpoint_id = $2 AND l.owner = $3`,
};

/**
 * Gives a queue back: until its next retry is due (without an end, when the endpoint is disabled), or at once to the next owner where
 * something arrived since `wakes` was read.
 */
export const restQueue = (
  sql: Queries,
  { accountId, endpointId }: QueueKey,
  owner: string,
  wakes: number,
  enabled: boolean,
): Promise<unknown> => sql.run(rest, [accountId, endpointId, owner, wakes, enabled]);

const leave: Statement = {
  name: 'lane_leave',
  text: `WITH held AS (
      SELECT l.account_id, l.endpoint_id FROM webhook_lane l
        JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, endpoint_id) USING (account_id, endpoint_id)
      WHERE l.owner = $3
      ORDER BY l.account_id, l.endpoint_id FOR NO KEY UPDATE OF l)
    UPDATE webhook_lane l SET owner = NULL, lease_until = NULL
    FROM held WHERE l.account_id = held.account_id AND l.endpoint_id = held.endpoint_id`,
};

/** Releases queues unchanged, so that another process can continue. */
export const leaveQueues = (sql: Queries, queues: readonly QueueKey[], owner: string): Promise<unknown> =>
  sql.run(leave, [...keysOf(queues), owner]);

/** A queue as its owner reads it each time it looks for work. */
export interface QueueEndpoint extends QueueKey {
  url: string;
  enabled: boolean;
  secret: Buffer;
  previousSecret: Buffer | null;
  previousSecretUntil: number | null;
  failingSince: number | null;
  failedAttempts: number;
  test: boolean;
  /** Of the account's test clock; null: it has none. */
  aheadMs: number | null;
  wakes: number;
}

const selectEndpoints: Statement = {
  name: 'lane_endpoints',
  text: `SELECT w.account_id AS "accountId", w.id AS "endpointId", w.url, w.enabled AND w.deleted_at IS NULL AS enabled, w.secret,
      w.previous_secret AS "previousSecret", w.previous_secret_until AS "previousSecretUntil",
      w.failing_since AS "failingSince", w.failed_attempts AS "failedAttempts", a.test, l.wakes
    FROM unnest($1::uuid[], $2::uuid[]) AS k (account_id, endpoint_id)
      JOIN webhook_lane l ON l.account_id = k.account_id AND l.endpoint_id = k.endpoint_id
      JOIN webhook_endpoint w ON w.account_id = k.account_id AND w.id = k.endpoint_id
      JOIN account a ON a.id = w.account_id`,
};

export const findQueueEndpoints = (
  tx: Queries,
  queues: readonly QueueKey[],
): Promise<Omit<QueueEndpoint, 'aheadMs'>[]> => tx.run(selectEndpoints, keysOf(queues));

const selectAhead: Statement = {
  name: 'lane_test_clocks',
  text: `SELECT account_id AS "accountId", ahead_ms AS "aheadMs" FROM test_clock WHERE account_id = ANY ($1::uuid[])`,
};

/** How far the test clocks of these queues' accounts are ahead, by account; those without one are left out. */
export async function findAhead(tx: Queries, queues: readonly QueueKey[]): Promise<Map<string, number>> {
  const accounts = [...new Set(queues.map(({ accountId }) => accountId))];
  const rows = await tx.run<{ accountId: string; aheadMs: number }>(selectAhead, [accounts]);
  return new Map(rows.map(({ accountId, aheadMs }) => [accountId, aheadMs]));
}

/** A delivery that wants an attempt. */
export interface DueDelivery extends QueueKey {
  eventId: string;
  paymentId: string | null;
  seq: number;
  made: number;
  triesLeft: number;
  delivered: boolean;
  body: string;
}

const dueColumns = `d.account_id AS "accountId", d.endpoint_id AS "endpointId", d.event_id AS "eventId",
  d.payment_id AS "paymentId", coalesce(d.seq, 0) AS seq, d.made, d.tries_left AS "triesLeft",
  d.delivered_at IS NOT NULL AS delivered, e.body`;

const selectFirst: Statement = {
  name: 'delivery_first',
  text: `SELECT ${dueColumns}
    FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::int[]) AS k (account_id, endpoint_id, after, most)
      CROSS JOIN LATERAL (SELECT * FROM webhook_delivery d
        WHERE d.account_id = k.account_id AND d.endpoint_id = k.endpoint_id AND d.status = 'pending' AND d.due_at IS NULL
          AND d.seq > k.after ORDER BY d.seq LIMIT k.most) d
      JOIN event e ON e.account_id = d.account_id AND e.id = d.event_id
    ORDER BY d.account_id, d.endpoint_id, d.seq`,
};

/** First attempts behind `after`, in the order of the log. */
export const findFirst = (
  tx: Queries,
  queues: readonly (QueueKey & { after: number; most: number })[],
): Promise<DueDelivery[]> =>
  tx.run<DueDelivery>(selectFirst, [
    ...keysOf(queues),
    queues.map(({ after }) => after),
    queues.map(({ most }) => most),
  ]);

const selectDue: Statement = {
  name: 'delivery_due',
  text: `SELECT ${dueColumns}
    FROM unnest($1::uuid[], $2::uuid[], $3::int[]) AS k (account_id, endpoint_id, most)
      CROSS JOIN LATERAL (SELECT * FROM webhook_delivery d
        WHERE d.account_id = k.account_id AND d.endpoint_id = k.endpoint_id AND d.status = 'pending' AND d.due_at <= $4
        ORDER BY d.due_at LIMIT k.most) d
      JOIN event e ON e.account_id = d.account_id AND e.id = d.event_id
    ORDER BY d.account_id, d.endpoint_id, d.due_at`,
};

/** Repeats that are due. */
export const findDue = (
  tx: Queries,
  queues: readonly (QueueKey & { most: number })[],
  nowMs: number,
): Promise<DueDelivery[]> =>
  tx.run<DueDelivery>(selectDue, [...keysOf(queues), queues.map(({ most }) => most), timestamp(nowMs)]);

// ----------------------------------------------------------------------------------------------------------------- outcomes

export interface Attempt {
  n: number;
  /** ISO 8601. */
  at: string;
  statusCode: number | null;
  error: string | null;
  durationMs: number;
  responseSnippet: string | null;
}

/** The delivery after an attempt. */
export interface Outcome extends QueueKey {
  eventId: string;
  attempt: Attempt;
  status: 'pending' | 'delivered' | 'failed';
  dueAt: number | null;
  triesLeft: number;
  succeeded: boolean;
}

/**
 * Keeps the last 50 attempts, and what was answered of the last three: a row is rewritten whole, so each kept answer is written again with each
 * try. An outcome whose attempt was recorded by another owner is left out.
 */
const record: Statement = {
  name: 'delivery_record',
  text: `UPDATE webhook_delivery d SET status = k.status, due_at = k.due_at, tries_left = k.tries_left, made = k.n,
      attempts = jsonb_set(CASE WHEN jsonb_array_length(d.attempts) < 50 THEN d.attempts ELSE d.attempts - 0 END,
          '{-3,responseSnippet}', 'null') || k.attempt,
      delivered_at = CASE WHEN k.succeeded THEN coalesce(d.delivered_at, $9) ELSE d.delivered_at END
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::timestamptz[], $6::int[], $7::jsonb[], $8::boolean[], $10::int[])
      AS k (account_id, endpoint_id, event_id, status, due_at, tries_left, attempt, succeeded, n)
    WHERE d.account_id = k.account_id AND d.endpoint_id = k.endpoint_id AND d.event_id = k.event_id AND d.made = k.n - 1`,
};

export const recordOutcomes = (tx: Queries, outcomes: readonly Outcome[], nowMs: number): Promise<unknown> =>
  tx.run(record, [
    ...keysOf(outcomes),
    outcomes.map(({ eventId }) => eventId),
    outcomes.map(({ status }) => status),
    timestamps(outcomes.map(({ dueAt }) => dueAt)),
    outcomes.map(({ triesLeft }) => triesLeft),
    outcomes.map(({ attempt }) => JSON.stringify(attempt)),
    outcomes.map(({ succeeded }) => succeeded),
    timestamp(nowMs),
    outcomes.map(({ attempt }) => attempt.n),
  ]);

/** A batch of outcomes of an endpoint: the failures behind its last success, if there was one. */
export interface HealthNews extends QueueKey {
  recovered: boolean;
  failedAttempts: number;
  failedDeliveries: number;
  firstFailureAt: number | null;
}

const note: Statement = {
  name: 'webhook_note_health',
  text: `WITH news AS (
      SELECT w.account_id, w.id, k.recovered, k.failed_attempts, k.failed_deliveries, k.first_failure_at
      FROM webhook_endpoint w JOIN unnest($1::uuid[], $2::uuid[], $3::boolean[], $4::int[], $5::int[], $6::timestamptz[])
        AS k (account_id, id, recovered, failed_attempts, failed_deliveries, first_failure_at) USING (account_id, id)
      ORDER BY w.account_id, w.id FOR NO KEY UPDATE OF w)
    UPDATE webhook_endpoint w SET
      failed_attempts = CASE WHEN news.recovered THEN 0 ELSE w.failed_attempts END + news.failed_attempts,
      failed_deliveries = CASE WHEN news.recovered THEN 0 ELSE w.failed_deliveries END + news.failed_deliveries,
      failing_since = coalesce(CASE WHEN news.recovered THEN NULL ELSE w.failing_since END, news.first_failure_at),
      told = CASE WHEN news.recovered THEN 0 ELSE w.told END,
      tell_after = CASE WHEN news.recovered AND news.first_failure_at IS NULL THEN NULL ELSE coalesce(w.tell_after, $7) END
    FROM news WHERE w.account_id = news.account_id AND w.id = news.id
    RETURNING w.account_id AS "accountId", w.id AS "endpointId", w.failed_attempts AS "failedAttempts",
      w.failed_deliveries AS "failedDeliveries", w.failing_since AS "failingSince"`,
};

export const noteHealth = (
  tx: Queries,
  news: readonly HealthNews[],
  nowMs: number,
): Promise<
  (QueueKey & { failedAttempts: number; failedDeliveries: number; failingSince: number | null })[]
> =>
  tx.run(note, [
    ...keysOf(news),
    news.map(({ recovered }) => recovered),
    news.map(({ failedAttempts }) => failedAttempts),
    news.map(({ failedDeliveries }) => failedDeliveries),
    timestamps(news.map(({ firstFailureAt }) => firstFailureAt)),
    timestamp(nowMs),
  ]);

// -------------------------------------------------------------------------------------------------- what a merchant asks for

export interface DeliveryRow {
  eventId: string;
  type: string;
  status: 'pending' | 'delivered' | 'failed' | 'skipped';
  dueAt: number | null;
  attempts: Attempt[];
  createdAt: number;
}

const rowColumns = `d.event_id AS "eventId", e.type, d.status, d.due_at AS "dueAt", d.attempts, d.created_at AS "createdAt"`;

const selectOne: Statement = {
  name: 'delivery_read',
  text: `SELECT ${rowColumns} FROM webhook_delivery d JOIN event e ON e.account_id = d.account_id AND e.id = d.event_id
    WHERE d.account_id = $1 AND d.endpoint_id = $2 AND d.event_id = $3`,
};

export const findDelivery = async (
  sql: Queries,
  { accountId, endpointId }: QueueKey,
  eventId: string,
): Promise<DeliveryRow | undefined> =>
  (await sql.run<DeliveryRow>(selectOne, [accountId, endpointId, eventId]))[0];

const selectPage: Statement = {
  name: 'delivery_page',
  text: `SELECT ${rowColumns}
    FROM (SELECT * FROM webhook_delivery WHERE account_id = $1 AND endpoint_id = $2 AND event_id < $3
      ORDER BY event_id DESC LIMIT $4) d JOIN event e ON e.account_id = d.account_id AND e.id = d.event_id
    WHERE $5::text IS NULL OR d.status = $5 ORDER BY d.event_id DESC LIMIT $6`,
};

/** Those of the `scanned` deliveries below `below` that have the status, newest event first. */
export const findDeliveries = (
  sql: Queries,
  { accountId, endpointId }: QueueKey,
  below: string,
  status: string | null,
  scanned: number,
  most: number,
): Promise<DeliveryRow[]> =>
  sql.run<DeliveryRow>(selectPage, [accountId, endpointId, below, scanned, status, most]);

const selectPlace: Statement = {
  name: 'delivery_place',
  text: `SELECT event_id AS "eventId" FROM webhook_delivery WHERE account_id = $1 AND endpoint_id = $2 AND event_id < $3
    ORDER BY event_id DESC OFFSET $4 LIMIT 1`,
};

/** The event of the delivery that has `offset` before it below `below`. */
export const findPlace = async (
  sql: Queries,
  { accountId, endpointId }: QueueKey,
  below: string,
  offset: number,
): Promise<string | undefined> =>
  (await sql.run<{ eventId: string }>(selectPlace, [accountId, endpointId, below, offset]))[0]?.eventId;

const insertNow: Statement = {
  name: 'delivery_insert_now',
  text: `INSERT INTO webhook_delivery (account_id, endpoint_id, event_id, status, due_at, tries_left, created_at)
    VALUES ($1, $2, $3, 'pending', $4, 1, $4)`,
};

/** A test: one attempt, now. */
export const insertTestDelivery = (
  tx: Queries,
  { accountId, endpointId }: QueueKey,
  eventId: string,
  nowMs: number,
): Promise<unknown> => tx.run(insertNow, [accountId, endpointId, eventId, timestamp(nowMs)]);

const retry: Statement = {
  name: 'delivery_retry',
  text: `UPDATE webhook_delivery SET status = 'pending', due_at = $4, tries_left = CASE WHEN status = 'pending' THEN tries_left ELSE 1 END
    WHERE account_id = $1 AND endpoint_id = $2 AND event_id = $3 RETURNING event_id`,
};

/** One attempt more, now; where attempts are still to come, this one is the next of them. */
export const retryDelivery = async (
  tx: Queries,
  { accountId, endpointId }: QueueKey,
  eventId: string,
  nowMs: number,
): Promise<boolean> => (await tx.run(retry, [accountId, endpointId, eventId, timestamp(nowMs)])).length > 0;

const replayLeft: Statement = {
  name: 'delivery_replay_left',
  text: `WITH chosen AS (
      SELECT event_id, row_number() OVER (ORDER BY event_id) AS n FROM (
        SELECT d.event_id FROM webhook_delivery d JOIN event e ON e.account_id = d.account_id AND e.id = d.event_id
        WHERE d.account_id = $1 AND d.endpoint_id = $2 AND d.event_id >= $3 AND d.event_id < $4
          AND d.status IN ('failed', 'skipped') AND d.seq IS NOT NULL
          AND e.created_at >= $5 AND e.created_at < $6 AND ($7::text[] IS NULL OR e.type = ANY ($7))
        ORDER BY d.event_id LIMIT $8) AS oldest)
    UPDATE webhook_delivery d SET status = 'pending', tries_left = $9, due_at = ${later('$10::timestamptz', 'n * 10')}
    FROM chosen WHERE d.account_id = $1 AND d.endpoint_id = $2 AND d.event_id = chosen.event_id
      AND d.status IN ('failed', 'skipped')
    RETURNING d.event_id`,
};

const heardEvents: Statement = {
  name: 'delivery_replay_heard',
  text: `SELECT e.id, e.payment_id AS "paymentId"
    FROM (SELECT * FROM event WHERE account_id = $1 AND id >= $3 AND id < $4 ORDER BY id LIMIT $8) e
      JOIN webhook_endpoint w ON w.account_id = $1 AND w.id = $2
    WHERE e.endpoint_id IS NULL AND e.created_at >= $5 AND e.created_at < $6 AND ($7::text[] IS NULL OR e.type = ANY ($7))
      AND (w.events = '{*}' OR e.type = ANY (w.events))
      AND (w.operation_ids IS NULL OR e.operation_id = ANY (w.operation_ids)) ORDER BY e.id`,
};

const replayAll: Statement = {
  name: 'delivery_replay_all',
  text: `INSERT INTO webhook_delivery (account_id, endpoint_id, event_id, payment_id, seq, status, due_at, tries_left, created_at)
    VALUES ($1::uuid, $2::uuid, unnest($3::uuid[]), unnest($4::uuid[]), 0, 'pending', unnest($5::timestamptz[]), $6::integer, $7::timestamptz)
    ON CONFLICT (account_id, endpoint_id, event_id) DO UPDATE
      SET status = 'pending', due_at = excluded.due_at, tries_left = excluded.tries_left
      WHERE webhook_delivery.status <> 'pending'
    RETURNING event_id`,
};

export interface Replay {
  from: number;
  to: number;
  types: readonly string[] | null;
  /** Only what failed or was skipped. */
  onlyFailed: boolean;
}

/** Sends events again, a hundred a second, the oldest first. @returns how many */
export async function replayEvents(
  tx: Queries,
  { accountId, endpointId }: QueueKey,
  { from, to, types, onlyFailed }: Replay,
  limits: { lowestId: string; highestId: string; most: number; triesLeft: number; nowMs: number },
): Promise<number> {
  const { lowestId, highestId, most, triesLeft, nowMs } = limits;
  const chosen = [accountId, endpointId, lowestId, highestId, timestamp(from), timestamp(to), types, most];
  if (onlyFailed) return (await tx.run(replayLeft, [...chosen, triesLeft, timestamp(nowMs)])).length;
  const heard = await tx.run<{ id: string; paymentId: string | null }>(heardEvents, chosen);
  const rows = await tx.run(replayAll, [
    accountId,
    endpointId,
    heard.map(({ id }) => id),
    heard.map(({ paymentId }) => paymentId),
    heard.map((_, at) => timestamp(nowMs + (at + 1) * 10)),
    triesLeft,
    timestamp(nowMs),
  ]);
  return rows.length;
}

const prune: Statement = {
  name: 'prune_deliveries',
  text: `DELETE FROM webhook_delivery d USING (
      SELECT o.account_id, o.endpoint_id, o.event_id FROM webhook_endpoint w CROSS JOIN LATERAL (
        SELECT account_id, endpoint_id, event_id FROM webhook_delivery
        WHERE account_id = w.account_id AND endpoint_id = w.id AND event_id < $2 ORDER BY event_id LIMIT $3) o
      WHERE w.account_id = ANY ($1::uuid[]) LIMIT $3) AS old
    WHERE d.account_id = old.account_id AND d.endpoint_id = old.endpoint_id AND d.event_id = old.event_id
    RETURNING d.event_id`,
};

/** Removes deliveries of events below an id, at most `most`. @returns how many */
export const pruneDeliveries = async (
  sql: Queries,
  accountIds: readonly string[],
  below: string,
  most: number,
): Promise<number> => (await sql.run(prune, [accountIds, below, most])).length;

// -------------------------------------------------------------------------------------------------------------- test clocks

const shift: Statement = {
  name: 'delivery_shift',
  text: `UPDATE webhook_delivery d SET due_at = ${later('d.due_at', '-$2::double precision')} FROM webhook_endpoint w
    WHERE w.account_id = $1 AND d.account_id = w.account_id AND d.endpoint_id = w.id AND d.status = 'pending'
      AND d.due_at IS NOT NULL`,
};

const wakeAll: Statement = {
  name: 'lane_wake_account',
  text: `UPDATE webhook_lane SET due_at = least(due_at, $2), wakes = wakes + 1 WHERE account_id = $1`,
};

/** Brings the next attempts of an account nearer. Its queues look for work at once. */
export async function shiftDeliveries(
  tx: Queries,
  accountId: string,
  byMs: number,
  nowMs: number,
): Promise<void> {
  await tx.run(shift, [accountId, byMs]);
  await tx.run(wakeAll, [accountId, timestamp(nowMs)]);
}
