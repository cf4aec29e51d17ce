import type { Queries, Statement } from '../ports/sql.ts';
import { timestamps } from '../store/database/pool.ts';

/** A committed event without its place in the log. */
export interface FreshEvent {
  accountId: string;
  eventId: string;
  type: string;
  operationId: string;
  paymentId: string | null;
  createdAt: number;
}

const lock: Statement = {
  name: 'publish_lock',
  text: `SELECT shard FROM publisher WHERE shard = 0 FOR NO KEY UPDATE SKIP LOCKED`,
};

/** @returns whether we are the publisher until the transaction ends */
export const becomePublisher = async (tx: Queries): Promise<boolean> => (await tx.run(lock)).length > 0;

const look: Statement = {
  name: 'publish_look',
  text: `SELECT FROM event_fresh ORDER BY created_at, event_id LIMIT 1`,
};

/** Whether an event waits for its place in the log. Locks and writes nothing. */
export const hasFresh = async (sql: Queries): Promise<boolean> => (await sql.run(look)).length > 0;

const select: Statement = {
  name: 'publish_fresh',
  text: `SELECT account_id AS "accountId", event_id AS "eventId", type, operation_id AS "operationId", payment_id AS "paymentId",
      created_at AS "createdAt"
    FROM event_fresh ORDER BY created_at, event_id LIMIT $1`,
};

/** The oldest first. */
export const findFresh = (tx: Queries, most: number): Promise<FreshEvent[]> =>
  tx.run<FreshEvent>(select, [most]);

const take: Statement = {
  name: 'publish_take_seqs',
  text: `INSERT INTO event_sequence (account_id, last_seq) VALUES (unnest($1::uuid[]), unnest($2::bigint[]))
    ON CONFLICT (account_id) DO UPDATE SET last_seq = event_sequence.last_seq + excluded.last_seq
    RETURNING account_id AS "accountId", last_seq AS "lastSeq"`,
};

/** @returns the last of the numbers that each account was given */
export const takeSeqs = (
  tx: Queries,
  counts: ReadonlyMap<string, number>,
): Promise<{ accountId: string; lastSeq: number }[]> =>
  tx.run(take, [[...counts.keys()], [...counts.values()]]);

const insertLog: Statement = {
  name: 'publish_log',
  text: `INSERT INTO event_log (account_id, seq, event_id) VALUES (unnest($1::uuid[]), unnest($2::bigint[]), unnest($3::uuid[]))`,
};

export const logEvents = (
  tx: Queries,
  published: readonly { accountId: string; seq: number; eventId: string }[],
): Promise<unknown> =>
  tx.run(insertLog, [
    published.map(({ accountId }) => accountId),
    published.map(({ seq }) => seq),
    published.map(({ eventId }) => eventId),
  ]);

const remove: Statement = {
  name: 'publish_remove',
  text: `DELETE FROM event_fresh f USING unnest($1::timestamptz[], $2::uuid[]) AS k (created_at, event_id)
    WHERE f.created_at = k.created_at AND f.event_id = k.event_id`,
};

export const removeFresh = (tx: Queries, published: readonly FreshEvent[]): Promise<unknown> =>
  tx.run(remove, [
    timestamps(published.map(({ createdAt }) => createdAt)),
    published.map(({ eventId }) => eventId),
  ]);
