import type { Sql, Statement } from '../../ports/sql.ts';
import { timestamp } from '../../store/database/pool.ts';

/** A value written by a process with a wrong clock ($2 is the writer's time) delays a person for one window at most. */
const usedWith =
  'least(greatest(a.used_until, $2), $2::timestamptz + make_interval(secs => $4::float8)) + make_interval(secs => $3::float8)';
const fits = `${usedWith} <= $2::timestamptz + make_interval(secs => $4::float8) + interval '1 millisecond'`;

/**
 * One statement counts and decides, so parallel attempts cannot share a place. It looks before it writes: a conflict locks the row
 * also where its condition refuses, and each of a stranger's refused attempts was a commit that everybody's payments waited for.
 */
const take: Statement = {
  name: 'panel_attempt_take',
  text: `INSERT INTO panel_attempt AS a (subject, used_until)
      SELECT $1, $2::timestamptz + make_interval(secs => $3::float8)
      WHERE NOT EXISTS (SELECT FROM panel_attempt a WHERE a.subject = $1 AND NOT (${fits}))
    ON CONFLICT (subject) DO UPDATE SET used_until = ${usedWith} WHERE ${fits}
    RETURNING 1 AS taken`,
};

/** @returns false when the limit is reached; nothing is counted then */
export const takeAttempt = (
  sql: Sql,
  attempt: { subject: Buffer; nowMs: number; stepMs: number; windowMs: number },
): Promise<boolean> =>
  sql.tx(
    async (tx) =>
      (
        await tx.run(take, [
          attempt.subject,
          timestamp(attempt.nowMs),
          attempt.stepMs / 1000,
          attempt.windowMs / 1000,
        ])
      ).length > 0,
  );

const giveBack: Statement = {
  name: 'panel_attempt_give_back',
  text: `UPDATE panel_attempt SET used_until = used_until - make_interval(secs => $2::float8) WHERE subject = $1`,
};

export const giveAttemptBack = (sql: Sql, subject: Buffer, stepMs: number): Promise<unknown> =>
  sql.tx((tx) => tx.run(giveBack, [subject, stepMs / 1000]));

const forget: Statement = {
  name: 'panel_attempt_forget',
  text: `DELETE FROM panel_attempt WHERE subject = $1`,
};

export const forgetAttempts = (sql: Sql, subject: Buffer): Promise<unknown> =>
  sql.tx((tx) => tx.run(forget, [subject]));

/** The outer condition is read again under the row's lock: an attempt that was counted meanwhile stays. */
const prune: Statement = {
  name: 'panel_attempt_prune',
  text: `DELETE FROM panel_attempt WHERE subject IN (
      SELECT subject FROM panel_attempt WHERE used_until < $1 ORDER BY used_until LIMIT $2)
      AND used_until < $1
    RETURNING 1 AS pruned`,
};

/** @returns how many were removed */
export const pruneAttempts = (sql: Sql, beforeMs: number, most: number): Promise<number> =>
  sql.tx(async (tx) => (await tx.run(prune, [timestamp(beforeMs), most])).length);
