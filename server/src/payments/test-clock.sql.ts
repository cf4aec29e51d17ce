import type { Queries, Statement } from '../ports/sql.ts';

const moved: Statement = {
  name: 'test_clock_moved_since_paid',
  text: `SELECT c.ahead_ms - coalesce((SELECT max(m.ahead_ms) FROM test_clock_move m
        WHERE m.account_id = c.account_id AND m.at <= coalesce(p.paid_at, p.created_at)), 0) AS "movedMs"
    FROM test_clock c JOIN payment p ON p.account_id = c.account_id AND p.id = $2 WHERE c.account_id = $1`,
};

/** By how much the test clock of an account was moved since a charge of it was paid, in ms; 0 where it has none. */
export const clockMovedSincePaid = async (
  sql: Queries,
  { accountId, id }: { accountId: string; id: string },
): Promise<number> => (await sql.run<{ movedMs: number }>(moved, [accountId, id]))[0]?.movedMs ?? 0;
