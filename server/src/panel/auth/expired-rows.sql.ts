import type { Sql, Statement } from '../../ports/sql.ts';
import { timestamp } from '../../store/database/pool.ts';

const pruneVerifications: Statement = {
  name: 'panel_verification_prune',
  text: `DELETE FROM panel_verification WHERE id IN (
      SELECT id FROM panel_verification WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)
    RETURNING 1 AS pruned`,
};

const pruneSessions: Statement = {
  name: 'panel_session_prune',
  text: `DELETE FROM panel_session WHERE id IN (
      SELECT id FROM panel_session WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)
    RETURNING 1 AS pruned`,
};

/** @returns how many were removed of the one that had more */
export const pruneExpired = (sql: Sql, beforeMs: number, most: number): Promise<number> =>
  sql.tx(async (tx) => {
    const values = [timestamp(beforeMs), most];
    const verifications = await tx.run(pruneVerifications, values);
    return Math.max(verifications.length, (await tx.run(pruneSessions, values)).length);
  });
