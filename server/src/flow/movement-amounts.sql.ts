import type { Queries, Statement } from '../ports/sql.ts';
import type { StatementLine } from '../provider/provider.ts';

/** A movement of a payment, as a list, a statement or a report names it. */
export type NamedMovement = Pick<StatementLine, 'kind' | 'id' | 'rtrId' | 'endToEnd'> & {
  /** Null: the report names none. */
  amountCents: number | null;
  paymentId: string;
  accountNumber: number;
};

/** A movement that the books have, with another amount. */
export interface OtherAmount {
  /** Of the movements that were given. */
  n: number;
  accountId: string;
  operationId: string;
  /** Under which name the books have it; empty: the payout itself. */
  name: string;
  bookedCents: number;
}

/**
 * Compared by ids as in `statement_unknown`, and then by amount. What was booked as received is the clearing line of its journal, whatever the charge
 * asked for. What a person has decided about with just this amount is no news.
 */
const others: Statement = {
  name: 'movement_other_amount',
  text: `SELECT k.n, p.account_id AS "accountId", p.operation_id AS "operationId",
      min(CASE WHEN k.kind = 'sent' THEN '' ELSE coalesce(j.pix, r.reference, f.id::text) END) AS name,
      min(coalesce(abs(j.clearing), r.amount_cents, f.amount_cents, p.net_amount_cents)) AS "bookedCents"
    FROM (SELECT generate_series(0, cardinality($3::uuid[]) - 1) AS n, unnest($2::bigint[]) AS number, unnest($3::uuid[]) AS id,
        unnest($4::text[]) AS kind, unnest($5::text[]) AS rtr_id, unnest($6::text[]) AS return_id,
        unnest($7::text[]) AS end_to_end, unnest($8::bigint[]) AS amount_cents) k
      JOIN account a USING (number)
      JOIN payment p ON p.account_id = a.id AND p.id = k.id
      LEFT JOIN journal j ON j.account_id = p.account_id AND j.subject = p.id AND k.kind = 'received'
        AND j.connection = $1 AND j.pix = k.end_to_end
      LEFT JOIN known_return r ON r.account_id = p.account_id AND r.payment = p.id::text AND k.kind IN ('returned', 'debited')
        AND (r.rtr_id = k.rtr_id OR r.return_id = k.return_id AND r.pix IN ('', k.end_to_end))
      LEFT JOIN refund f ON f.account_id = p.account_id AND f.payment_id = p.id AND k.kind = 'debited' AND f.status = 'completed'
        AND f.end_to_end = k.end_to_end AND (f.rtr_id = k.rtr_id OR replace(f.id::text, '-', '') = k.return_id)
    WHERE coalesce(p.connection, a.first_connection, a.connection) = $1
      AND (k.kind <> 'sent' OR p.kind = 'transfer' AND p.status = 'completed')
      AND (k.kind = 'sent' OR j.pix IS NOT NULL OR r.reference IS NOT NULL OR f.id IS NOT NULL)
      AND NOT EXISTS (SELECT FROM incident i WHERE i.account_id = p.account_id AND i.payment_id = p.id
        AND i.kind IN ('report_mismatch', 'refund_mismatch') AND i.amount_cents = k.amount_cents)
    GROUP BY k.n, k.amount_cents, p.account_id, p.operation_id
    HAVING bool_and(coalesce(abs(j.clearing), r.amount_cents, f.amount_cents, p.net_amount_cents) <> k.amount_cents)`,
};

export const findOtherAmounts = (
  sql: Queries,
  connection: string,
  movements: readonly NamedMovement[],
): Promise<OtherAmount[]> =>
  sql.run<OtherAmount>(others, [
    connection,
    movements.map((one) => one.accountNumber),
    movements.map((one) => one.paymentId),
    movements.map((one) => one.kind),
    movements.map((one) => one.rtrId),
    // Where the provider gave no `id`, the line repeats its `rtrId`.
    movements.map((one) => (one.id === one.rtrId ? null : one.id)),
    movements.map((one) => one.endToEnd),
    movements.map((one) => one.amountCents),
  ]);
