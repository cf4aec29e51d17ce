import type { Static } from 'typebox';
import type { Caller } from '../../ground/caller.ts';
import { refuse } from '../../ground/errors.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import type { SummarySchema } from './schema.ts';

export type Summary = Static<typeof SummarySchema>;

/**
 * `enabled`: the account is, and its provider could take an order right now (its connection is set up and no breaker of
 * it is open). Balance and reserve are the operation's, everything else the account's. A maximum of 0 says that the account
 * takes no cards, without a field of its own.
 */
const select: Statement = {
  name: 'account_summary',
  text: `SELECT b.operation_id AS "operationId",
      a.enabled, a.connection,
      b.available - b.receivable AS "balanceCents", a.withdrawal_fee_cents AS "feeCents", a.card_fee_cents AS "cardFeeCents",
      CASE WHEN a.card_connection IS NULL THEN 0 ELSE a.minimum_card_cents END AS "minimumCardCents",
      CASE WHEN a.card_connection IS NULL THEN 0 ELSE a.maximum_card_cents END AS "maximumCardCents",
      b.card_held AS "cardHeldCents", a.minimum_deposit_cents AS "minimumDepositCents",
      a.maximum_deposit_cents AS "maximumDepositCents", a.minimum_withdrawal_cents AS "minimumWithdrawalCents",
      a.maximum_withdrawal_cents AS "maximumWithdrawalCents", b.reserved AS "reservedWithdrawalCents",
      a.deposit_fee_cents AS "depositFeeCents", a.withdrawal_fee_bps AS "withdrawalFeeBps",
      a.deposit_fee_bps AS "depositFeeBps", a.card_fee_bps AS "cardFeeBps",
      a.refund_fees AS "refundFees"
    FROM account a JOIN balance b ON b.account_id = a.id
    WHERE a.id = $1 AND b.operation_id = $2 AND b.deleted_at IS NULL`,
};

/** By itself: what is joined stands on one node of a cluster, and this is of the directory. */
const takesOrders: Statement = {
  name: 'account_connection_takes_orders',
  text: `SELECT EXISTS (SELECT FROM connection WHERE id = $1)
      AND NOT EXISTS (SELECT FROM breaker WHERE connection = $1 AND open) AS "takesOrders"`,
};

/** @throws ApiError `operation_not_found` when the operation was deleted since it was resolved */
export async function summaryOf(sql: Queries, caller: Caller): Promise<Summary> {
  const [found] = await sql.run<Summary & { connection: string }>(select, [
    caller.accountId,
    caller.operationId,
  ]);
  if (!found) throw refuse('operation_not_found');
  const { connection, ...summary } = found;
  if (!summary.enabled) return summary;
  const [state] = await sql.run<{ takesOrders: boolean }>(takesOrders, [connection]);
  return { ...summary, enabled: state?.takesOrders === true };
}
