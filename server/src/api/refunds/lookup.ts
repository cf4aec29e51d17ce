import type { Caller } from '../../ground/caller.ts';
import { cursorOf, placeOf } from '../../ground/cursor.ts';
import { refuse } from '../../ground/errors.ts';
import { findPayment } from '../../kinds/payment/lookup.sql.ts';
import type { Refund } from '../../money/refund.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { findRefund, findRefundPage } from '../../store/rows/refunds.sql.ts';

/** @throws ApiError `refund_not_found` for every refund that the caller may not see, existing or not */
export async function getRefund({ sql }: { sql: Sql }, caller: Caller, id: string): Promise<Refund> {
  const refund = await findRefund(sql, caller, id);
  if (!refund) throw refuse('refund_not_found');
  return refund;
}

/** A page of a charge's refunds, oldest first. @throws ApiError `payment_not_found`, `invalid_cursor` */
export async function listRefunds(
  deps: RefundPageDeps,
  caller: Caller,
  paymentId: string,
  query: RefundPageQuery,
): Promise<RefundPage> {
  const payment = await findPayment(deps.sql, caller, paymentId);
  if (!payment) throw refuse('payment_not_found');
  return refundPage(deps, { accountId: caller.accountId, paymentId }, query);
}

export interface RefundPageDeps {
  sql: Sql;
  clock: Clock;
  /** Signs cursors. */
  cursorKey: Buffer;
}

export interface RefundPageQuery {
  limit?: number;
  cursor?: string;
}

export interface RefundPage {
  refunds: Refund[];
  nextCursor: string | null;
}

/** A page of the refunds of a charge that the caller may see. @throws ApiError `invalid_cursor` */
export async function refundPage(
  { sql, clock, cursorKey }: RefundPageDeps,
  charge: { accountId: string; paymentId: string },
  { limit = 100, cursor }: RefundPageQuery,
): Promise<RefundPage> {
  const list = JSON.stringify(['refunds', charge.accountId, charge.paymentId]);
  const now = clock.now();
  const after = cursor === undefined ? null : placeOf(cursorKey, list, cursor, now);
  const found = await findRefundPage(sql, charge, after, limit + 1);
  const last = found.length > limit ? (found[limit - 1] as Refund) : null;
  return { refunds: found.slice(0, limit), nextCursor: last && cursorOf(cursorKey, list, last, now) };
}
