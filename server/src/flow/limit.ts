import { retryAfterMostMs } from '../money/intent.ts';
import type { Clock } from '../ports/clock.ts';
import type { Queries, Sql, Statement } from '../ports/sql.ts';

/**
 * The limits towards a provider that all processes share, held in the database: five queries a second with a burst of ten and
 * five under way at once, and as many sends at once as the adapter allows. One listing counts as one query.
 */
const queriesPerSecond = 5;
const queryBurst = 10;
const queriesAtOnce = 5;

const intervalMs = 1000 / queriesPerSecond;

/** A bucket or a lease that ends later than it should by more than this was written by a process with a wrong clock. */
const wrongByMs = 2_000;

/**
 * The bucket is one time (GCRA): how far ahead of now the tokens are spent, an interval at most. One that lies further ahead was
 * written with a wrong clock, and counts as spent up to now: else every process would wait for that time.
 */
const takeToken: Statement = {
  name: 'query_token',
  text: `UPDATE connection c SET query_bucket_at = b.at + $3::double precision * interval '1 millisecond'
    FROM (SELECT CASE WHEN query_bucket_at > $5::timestamptz THEN $4::timestamptz
        ELSE GREATEST(query_bucket_at, $2::timestamptz) END AS at FROM connection WHERE id = $1 FOR UPDATE) AS b
    WHERE c.id = $1 AND b.at <= $4::timestamptz
    RETURNING c.id`,
};

const takeSlots: Record<'query_slot' | 'send_slot', Statement> = {
  query_slot: slotStatement('query_slot'),
  send_slot: slotStatement('send_slot'),
};

function slotStatement(table: 'query_slot' | 'send_slot'): Statement {
  return {
    name: `${table}_take`,
    text: `UPDATE ${table} SET lease_until = $3
      WHERE connection = $1 AND slot = (
        SELECT slot FROM ${table} WHERE connection = $1 AND slot <= $4 AND (lease_until <= $2 OR lease_until > $5)
        ORDER BY slot LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING slot`,
  };
}

const freeSlots: Record<'query_slot' | 'send_slot', Statement> = {
  query_slot: {
    name: 'query_slot_free',
    text: 'UPDATE query_slot SET lease_until = $3 WHERE connection = $1 AND slot = $2 AND lease_until = $4',
  },
  send_slot: {
    name: 'send_slot_free',
    text: 'UPDATE send_slot SET lease_until = $3 WHERE connection = $1 AND slot = $2 AND lease_until = $4',
  },
};

const makeSlots: Record<'query_slot' | 'send_slot', Statement> = {
  query_slot: {
    name: 'query_slot_make',
    text: `INSERT INTO query_slot (connection, slot, lease_until) SELECT $1, n, $3 FROM generate_series(1, $2::integer) AS n ON CONFLICT DO NOTHING`,
  },
  send_slot: {
    name: 'send_slot_make',
    text: `INSERT INTO send_slot (connection, slot, lease_until) SELECT $1, n, $3 FROM generate_series(1, $2::integer) AS n ON CONFLICT DO NOTHING`,
  },
};

const time = (ms: number): string => new Date(ms).toISOString();

/** Makes the rows that the limits live in; harmless when they exist. */
export async function prepareLimits(
  sql: Queries,
  connection: string,
  maxParallelSends: number | null,
): Promise<void> {
  await sql.run(makeSlots.query_slot, [connection, queriesAtOnce, time(0)]);
  if (maxParallelSends !== null) await sql.run(makeSlots.send_slot, [connection, maxParallelSends, time(0)]);
}

/** A slot with a lease. */
export interface Slot {
  /** Gives it back early; with `restMs` it stays taken for that long. */
  free(restMs?: number): Promise<void>;
}

/**
 * The result of `work`. When it fails, the slot is given back at once: until the end of its lease no process could take it. Where that fails too, the
 * slot is left to its lease, and what is thrown is the failure of `work`.
 */
export async function freedOnFailure<Result>(slot: Slot, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    await slot.free().catch(() => {});
    throw error;
  }
}

/** @param farthestMs no slot is leased or rests for longer than this */
async function takeSlot(
  { sql, clock }: { sql: Sql; clock: Clock },
  table: 'query_slot' | 'send_slot',
  connection: string,
  most: number,
  leaseMs: number,
  farthestMs: number,
): Promise<Slot | null> {
  const now = clock.now();
  const until = time(now + leaseMs);
  const [taken] = await sql.run<{ slot: number }>(takeSlots[table], [
    connection,
    time(now),
    until,
    most,
    time(now + farthestMs + wrongByMs),
  ]);
  if (!taken) return null;
  return {
    free: async (restMs = 0) => {
      await sql.run(freeSlots[table], [connection, taken.slot, time(clock.now() + restMs), until]);
    },
  };
}

/** The right to one query (or one listing) of the shared limit, or null when there is none left at this moment. */
export async function takeQuery(
  deps: { sql: Sql; clock: Clock },
  connection: string,
  leaseMs: number,
): Promise<Slot | null> {
  const slot = await takeSlot(deps, 'query_slot', connection, queriesAtOnce, leaseMs, leaseMs);
  if (!slot) return null;
  const now = deps.clock.now();
  const emptied = now - (queryBurst - 1) * intervalMs;
  // A bucket that was not used is full: its time counts as one burst in the past, however old it is.
  const taking = deps.sql.run(takeToken, [
    connection,
    time(emptied),
    intervalMs,
    time(now),
    time(now + intervalMs + wrongByMs),
  ]);
  const [token] = await freedOnFailure(slot, taking);
  if (token) return slot;
  await slot.free();
  return null;
}

/** The right to one send, where the adapter limits them; null when all are taken. */
export const takeSend = (
  deps: { sql: Sql; clock: Clock },
  connection: string,
  most: number,
  leaseMs: number,
): Promise<Slot | null> => takeSlot(deps, 'send_slot', connection, most, leaseMs, retryAfterMostMs);
