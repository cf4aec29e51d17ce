import { cursorOf, placeOf } from '../../ground/cursor.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Queries, Sql, Statement } from '../../ports/sql.ts';
import { timestamp } from '../../store/database/pool.ts';
import { shownColumns } from './lookup.sql.ts';
import type { ShownPayment } from './view.ts';

/** The source of charges: a static code that payers paid, or a payment link that made them. */
export interface PaymentSource {
  accountId: string;
  operationId: string;
  of: 'static_code_id' | 'payment_link_id';
  id: string;
}

const pageOf = (of: PaymentSource['of']): Statement => ({
  name: `payment_page_of_${of}`,
  text: `SELECT ${shownColumns} FROM (SELECT * FROM payment p WHERE p.account_id = $1 AND p.${of} = $2
      AND ($3::timestamptz IS NULL OR (p.created_at, p.id) < ($3, $4::uuid))
    ORDER BY p.created_at DESC, p.id DESC LIMIT $5) p WHERE p.operation_id = $6 ORDER BY p.created_at DESC, p.id DESC`,
});

const pages = { static_code_id: pageOf('static_code_id'), payment_link_id: pageOf('payment_link_id') };

const findPage = (
  sql: Queries,
  { accountId, operationId, of, id }: PaymentSource,
  below: { createdAt: number; id: string } | null,
  limit: number,
): Promise<ShownPayment[]> =>
  sql.run<ShownPayment>(pages[of], [
    accountId,
    id,
    below && timestamp(below.createdAt),
    below?.id ?? null,
    limit,
    operationId,
  ]);

export interface SourcePageDeps {
  sql: Sql;
  clock: Clock;
  /** Signs cursors. */
  cursorKey: Buffer;
}

/** A page of the charges of a source that the caller may see, newest first. @throws ApiError `invalid_cursor` */
export async function paymentsOfSource(
  { sql, clock, cursorKey }: SourcePageDeps,
  source: PaymentSource,
  { limit = 100, cursor }: { limit?: number; cursor?: string },
): Promise<{ payments: ShownPayment[]; nextCursor: string | null }> {
  const list = JSON.stringify(['payments of', source.of, source.accountId, source.operationId, source.id]);
  const now = clock.now();
  const below = cursor === undefined ? null : placeOf(cursorKey, list, cursor, now);
  const found = await findPage(sql, source, below, limit + 1);
  const last = found.length > limit ? (found[limit - 1] as ShownPayment) : null;
  return { payments: found.slice(0, limit), nextCursor: last && cursorOf(cursorKey, list, last, now) };
}
