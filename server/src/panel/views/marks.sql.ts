import type { Queries, Statement } from '../../ports/sql.ts';
import { oddKinds } from '../../store/rows/incidents.sql.ts';

const odd = oddKinds.map((kind) => `'${kind}'`).join(', ');

/** Whether payment `p` has the mark of a parameter; null: every payment. Each question is one walk along an index of its table. */
export const hasMark = (
  parameter: string,
): string => `CASE ${parameter}::text WHEN 'refunded' THEN p.refunded_cents > 0
      WHEN 'disputed' THEN EXISTS (SELECT FROM dispute d WHERE d.account_id = p.account_id AND d.payment_id = p.id)
      WHEN 'odd' THEN EXISTS (SELECT FROM incident i WHERE i.account_id = p.account_id AND i.payment_id = p.id AND i.state = 'open' AND i.kind IN (${odd}))
      WHEN 'returned' THEN p.kind = 'transfer' AND EXISTS (SELECT FROM known_return k WHERE k.account_id = p.account_id AND k.payment = p.id::text)
      ELSE true END`;

export interface Marked {
  id: string;
  /** A dispute of it is not decided. */
  open: boolean;
  /** The part that the provider took back. */
  debitedCents: number;
  odd: boolean;
  /** Of a transfer. */
  returnedCents: number;
}

const selectMarks: Statement = {
  name: 'panel_marks',
  text: `SELECT p.id, coalesce(d.open, false) AS open, coalesce(d.debited, 0) AS "debitedCents", o.odd, coalesce(r.returned, 0) AS "returnedCents"
    FROM payment p
      CROSS JOIN LATERAL (SELECT bool_or(ended_at IS NULL) AS open, sum(debited_cents)::bigint AS debited FROM dispute
        WHERE account_id = p.account_id AND payment_id = p.id) d
      CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM incident i WHERE i.account_id = p.account_id AND i.payment_id = p.id AND i.state = 'open'
        AND i.kind IN (${odd})) AS odd) o
      CROSS JOIN LATERAL (SELECT sum(amount_cents)::bigint AS returned FROM known_return k
        WHERE p.kind = 'transfer' AND k.account_id = p.account_id AND k.payment = p.id::text) r
    WHERE p.account_id = $1 AND p.id = ANY ($2::uuid[])`,
};

export const findMarks = (sql: Queries, accountId: string, ids: readonly string[]): Promise<Marked[]> =>
  sql.run<Marked>(selectMarks, [accountId, ids]);
