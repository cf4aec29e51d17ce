import { outgoingPriorities } from '../money/intent.ts';
import type { Queries, Statement } from '../ports/sql.ts';

/** A payout that a person ended is looked for among those that leave later, for so long. */
const decidedDays = 40;

/**
 * One statement, so that a payout which ends meanwhile is either under way here or booked here. By priority, which the index of due rows has.
 * An end-to-end id is looked for in each account's index: a list of own payouts is short, and an index for them would cost every transfer a write.
 */
const select: Statement = {
  name: 'nameless_payouts',
  text: `WITH open AS MATERIALIZED (SELECT coalesce(p.amount_cents - p.fee_cents, r.amount_cents) AS cents
      FROM (SELECT account_id, payment_id FROM intent
          WHERE connection = $1 AND priority IN (${outgoingPriorities.join(', ')}) AND kind IN ('transfer', 'refund') AND attempt > 0 LIMIT $4) n
        LEFT JOIN payment p ON p.account_id = n.account_id AND p.id = n.payment_id
        LEFT JOIN refund r ON r.account_id = n.account_id AND r.id = n.payment_id),
    decided AS MATERIALIZED (SELECT CASE p.kind WHEN 'transfer' THEN p.amount_cents - p.fee_cents ELSE i.amount_cents END AS cents
      FROM incident i JOIN payment p ON p.account_id = i.account_id AND p.id = i.payment_id
      WHERE i.opened_at > now() - interval '${decidedDays} days' AND i.state = 'resolved'
        AND i.kind IN ('undecided', 'report_mismatch', 'refund_undecided', 'refund_mismatch')
        AND i.resolution ->> 'action' IN ('credit', 'debit', 'writeoff')
        AND p.connection = $1 AND (p.kind = 'deposit' OR p.end_to_end IS NULL)),
    own AS MATERIALIZED (SELECT m.reference FROM connection_movement m WHERE m.connection = $1 AND m.kind = 'own'
      AND m.reference = ANY ($5::text[]))
    SELECT (SELECT count(*) FROM open) = $4 OR EXISTS (SELECT FROM open WHERE cents = k.cents) AS "underWay",
      EXISTS (SELECT FROM decided WHERE cents = k.cents) AS decided,
      EXISTS (SELECT FROM account a JOIN payment p ON p.account_id = a.id AND p.end_to_end = k.pix
        WHERE coalesce(p.connection, a.first_connection, a.connection) = $1)
      OR EXISTS (SELECT FROM journal j WHERE j.connection = $1 AND j.pix = k.pix)
      OR EXISTS (SELECT FROM refund f WHERE f.rtr_id = k.pix)
      OR EXISTS (SELECT FROM own m WHERE m.reference IN ('received:' || k.pix, 'sent:' || k.pix)) AS booked
    FROM unnest($2::text[], $3::bigint[]) WITH ORDINALITY AS k (pix, cents, n) ORDER BY k.n`,
};

/** More than these are not compared one by one. */
const openMost = 10_000;

export interface InBooks {
  /** A payout or refund of this amount was sent over the connection and has no end yet. */
  underWay: boolean;
  /** A person ended a payout or refund of this amount without its Pix: it may have left after all. */
  decided: boolean;
  /** The cell has the Pix, in either direction; the company's own money counts. */
  booked: boolean;
}

/** Of Pix that left the account, in their order: those that the books of a cell have. */
export const findInBooks = (
  sql: Queries,
  connection: string,
  sent: readonly { pix: string; amountCents: number }[],
): Promise<InBooks[]> =>
  sql.run<InBooks>(select, [
    connection,
    sent.map(({ pix }) => pix),
    sent.map(({ amountCents }) => amountCents),
    openMost,
    sent.flatMap(({ pix }) => [`received:${pix}`, `sent:${pix}`]),
  ]);
