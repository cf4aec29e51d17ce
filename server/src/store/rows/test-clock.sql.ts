import type { Statement } from '../../ports/sql.ts';
import type { Readable } from '../database/table.ts';
import { paymentKey } from './payments.sql.ts';

/** By how much the test clock of an account was moved since a charge of it was paid. */
export interface ClockMove {
  accountId: string;
  paymentId: string;
  movedMs: number;
}

const select: Statement = {
  name: 'test_clock_moved_since_paid',
  text: `SELECT c.account_id AS "accountId", p.id AS "paymentId",
      c.ahead_ms - coalesce((SELECT max(m.ahead_ms) FROM test_clock_move m
        WHERE m.account_id = c.account_id AND m.at <= coalesce(p.paid_at, p.created_at)), 0) AS "movedMs"
    FROM unnest($1::uuid[], $2::uuid[]) AS k (account_id, payment_id)
      JOIN test_clock c ON c.account_id = k.account_id
      JOIN payment p ON p.account_id = k.account_id AND p.id = k.payment_id`,
};

/** By charge; no row where the account's clock was never moved. */
export const clockMovesSincePaid: Readable<ClockMove> = {
  name: 'test_clock',
  keyOf: ({ accountId, paymentId }) => paymentKey(accountId, paymentId),
  read: (sql, keys) =>
    sql.run<ClockMove>(select, [keys.map((key) => key.slice(0, 36)), keys.map((key) => key.slice(36))]),
};
