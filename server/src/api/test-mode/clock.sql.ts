import type { Queries, Statement } from '../../ports/sql.ts';
import { timestamp } from '../../store/database/pool.ts';

export interface ClockRow {
  /** How far the account's time is ahead of ours. */
  aheadMs: number;
  /** Null: it stands. */
  targetAheadMs: number | null;
  movedAt: number;
}

const columns = `ahead_ms AS "aheadMs", target_ahead_ms AS "targetAheadMs", moved_at AS "movedAt"`;

const select: Statement = {
  name: 'test_clock_read',
  text: `SELECT ${columns} FROM test_clock WHERE account_id = $1`,
};

export const findClock = async (sql: Queries, accountId: string): Promise<ClockRow | undefined> =>
  (await sql.run<ClockRow>(select, [accountId]))[0];

const insert: Statement = {
  name: 'test_clock_insert',
  text: 'INSERT INTO test_clock (account_id, moved_at) VALUES ($1, $2) ON CONFLICT DO NOTHING',
};

export const createClock = (sql: Queries, accountId: string, now: number): Promise<unknown> =>
  sql.run(insert, [accountId, timestamp(now)]);

const target: Statement = {
  name: 'test_clock_target',
  text: `UPDATE test_clock SET target_ahead_ms = $2, moved_at = $3
    WHERE account_id = $1 AND target_ahead_ms IS NULL AND ahead_ms < $2 RETURNING account_id`,
};

/** @returns false: it is on its way already */
export const setTarget = async (
  sql: Queries,
  accountId: string,
  targetAheadMs: number,
  now: number,
): Promise<boolean> => (await sql.run(target, [accountId, targetAheadMs, timestamp(now)])).length > 0;

const selectMoving: Statement = {
  name: 'test_clock_moving',
  text: `SELECT account_id AS "accountId" FROM test_clock WHERE target_ahead_ms IS NOT NULL ORDER BY moved_at LIMIT $1`,
};

export const findMoving = async (sql: Queries, most: number): Promise<string[]> =>
  (await sql.run<{ accountId: string }>(selectMoving, [most])).map(({ accountId }) => accountId);

const lock: Statement = {
  name: 'test_clock_lock',
  text: `SELECT ${columns} FROM test_clock WHERE account_id = $1 AND target_ahead_ms IS NOT NULL FOR UPDATE SKIP LOCKED`,
};

/** Undefined: it stands, or another process moves it. */
export const lockMoving = async (
  tx: Queries,
  accountId: string,
): Promise<(ClockRow & { targetAheadMs: number }) | undefined> =>
  (await tx.run<ClockRow & { targetAheadMs: number }>(lock, [accountId]))[0];

const move: Statement = {
  name: 'test_clock_move',
  text: `UPDATE test_clock SET ahead_ms = $2, moved_at = $3, target_ahead_ms = CASE WHEN $4 THEN NULL ELSE target_ahead_ms END
    WHERE account_id = $1`,
};

const noteMove: Statement = {
  name: 'test_clock_move_note',
  text: `INSERT INTO test_clock_move (account_id, ahead_ms, at) VALUES ($1, $2, $3) ON CONFLICT (account_id, ahead_ms) DO NOTHING`,
};

/** A clock that is locked. */
export const moveClock = (
  tx: Queries,
  accountId: string,
  { aheadMs, stops }: { aheadMs: number; stops: boolean },
  now: number,
): Promise<unknown> =>
  Promise.all([
    tx.run(move, [accountId, aheadMs, timestamp(now), stops]),
    tx.run(noteMove, [accountId, aheadMs, timestamp(now)]),
  ]);

/** The waiting work of an account; all times by our clock, as far away as they are by the account's. */
export interface Waiting {
  /** Open charges, those that end first. */
  charges: { id: string; dueAt: number }[];
  /** When a delivery is tried again, when a draft lapses. */
  deadlines: number[];
  /** Events and first attempts that the workers have before them. */
  working: boolean;
}

/** Of a charge counts what the clock was moved since it was created. */
const selectCharges: Statement = {
  name: 'test_clock_charges',
  text: `SELECT p.id, p.expires_at - (c.ahead_ms - coalesce((SELECT max(m.ahead_ms) FROM test_clock_move m
        WHERE m.account_id = p.account_id AND m.at <= p.created_at), 0)) * interval '1 millisecond' AS "dueAt"
    FROM intent i JOIN payment p ON p.account_id = i.account_id AND p.id = i.payment_id
      JOIN test_clock c ON c.account_id = i.account_id
    WHERE i.account_id = $1 AND i.kind = 'deposit' AND p.status = 'pending' AND p.expires_at IS NOT NULL
    ORDER BY "dueAt" LIMIT 100`,
};

const selectDeadlines: Statement = {
  name: 'test_clock_deadlines',
  text: `SELECT min(d.due_at) AS "dueAt" FROM webhook_endpoint w
      CROSS JOIN LATERAL (SELECT d.due_at FROM webhook_delivery d
        WHERE d.account_id = w.account_id AND d.endpoint_id = w.id AND d.status = 'pending' AND d.due_at IS NOT NULL
        ORDER BY d.due_at LIMIT 1) d
    WHERE w.account_id = $1 AND w.enabled AND w.deleted_at IS NULL
    UNION ALL SELECT min(expires_at) FROM draft WHERE account_id = $1`,
};

const selectWorking: Statement = {
  name: 'test_clock_working',
  text: `SELECT EXISTS (SELECT FROM event_fresh WHERE account_id = $1)
      OR EXISTS (SELECT FROM webhook_endpoint w
        CROSS JOIN LATERAL (SELECT FROM webhook_delivery d
          WHERE d.account_id = w.account_id AND d.endpoint_id = w.id AND d.status = 'pending' AND d.due_at IS NULL LIMIT 1) d
        WHERE w.account_id = $1 AND w.enabled AND w.deleted_at IS NULL) AS working`,
};

export async function findWaiting(tx: Queries, accountId: string): Promise<Waiting> {
  const [charges, deadlines, [state]] = await Promise.all([
    tx.run<{ id: string; dueAt: number }>(selectCharges, [accountId]),
    tx.run<{ dueAt: number | null }>(selectDeadlines, [accountId]),
    tx.run<{ working: boolean }>(selectWorking, [accountId]),
  ]);
  return {
    charges,
    deadlines: deadlines.flatMap(({ dueAt }) => dueAt ?? []),
    working: state?.working ?? false,
  };
}
