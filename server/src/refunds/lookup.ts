import { refuse } from '../ground/errors.ts';
import type { Caller } from '../http/auth.ts';
import { findPayment } from '../payments/lookup.sql.ts';
import type { Refund } from '../payments/refund.ts';
import { findRefund, findRefundsOf } from '../payments/refunds.sql.ts';
import type { Sql } from '../ports/sql.ts';

/** @throws ApiError `refund_not_found` for every refund that the caller may not see, existing or not */
export async function getRefund({ sql }: { sql: Sql }, caller: Caller, id: string): Promise<Refund> {
  const refund = await findRefund(sql, caller, id);
  if (!refund) throw refuse('refund_not_found');
  return refund;
}

/** Oldest first. @throws ApiError `payment_not_found` */
export async function listRefunds(
  { sql }: { sql: Sql },
  caller: Caller,
  paymentId: string,
): Promise<Refund[]> {
  const payment = await findPayment(sql, caller, paymentId);
  if (!payment) throw refuse('payment_not_found');
  return findRefundsOf(sql, caller.accountId, paymentId);
}
