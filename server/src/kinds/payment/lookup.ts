import type { Caller } from '../../ground/caller.ts';
import { cursorOf, type Place, placeOf } from '../../ground/cursor.ts';
import { refuse, refuseFields } from '../../ground/errors.ts';
import { pairOf } from '../../money/metadata.ts';
import { type Payment, type PaymentKind, type PaymentStatus, paymentStatuses } from '../../money/payment.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { paymentIdFor } from '../../store/rows/idempotency.ts';
import type { FindPayment } from './batch-lookups.ts';
import {
  findByEndToEnd,
  findFilteredPage,
  findPage,
  findPayment,
  findPlace,
  type Stretch,
} from './lookup.sql.ts';
import type { ShownPayment } from './view.ts';

export interface LookupDeps {
  sql: Sql;
  clock: Clock;
  /** The installation's identity secret. */
  identity: Buffer;
  /** Signs cursors. */
  cursorKey: Buffer;
  /** Asks the provider when the payment's next query is overdue; answers with what is known then. Never fails for the provider. */
  refreshIfOverdue(payment: Payment): Promise<Payment>;
}

export interface ListQuery {
  limit?: number;
  cursor?: string;
  kind?: PaymentKind;
  status?: PaymentStatus[];
  paymentMethod?: 'pix' | 'card';
  /** RFC 3339. */
  createdFrom?: string;
  createdTo?: string;
  requestKey?: string;
  endToEnd?: string;
  /** `name:value`. */
  metadata?: string;
}

/**
 * One payment of the selected operation, refreshed where that is due.
 * @throws ApiError `payment_not_found` for every payment that the caller may not see, existing or not
 */
export async function getPayment(
  deps: Pick<LookupDeps, 'sql' | 'refreshIfOverdue'>,
  find: FindPayment,
  caller: Caller,
  id: string,
): Promise<ShownPayment> {
  const shown = await find(caller, id);
  if (!shown || !visibleKinds(caller).includes(shown.kind)) throw refuse('payment_not_found');
  if (!shown.queryDue) return shown;
  const payment = await findPayment(deps.sql, caller, id);
  return payment ? deps.refreshIfOverdue(payment) : shown;
}

/** A key without `read` sees what it may create, so that it can look after a timeout whether it did. */
function visibleKinds(caller: Caller): PaymentKind[] {
  if (caller.permissions.has('read')) return ['deposit', 'transfer'];
  const kinds: PaymentKind[] = [];
  if (caller.permissions.has('charges')) kinds.push('deposit');
  if (caller.permissions.has('transfers')) kinds.push('transfer');
  return kinds;
}

/**
 * How many payments one request reads at most. A filter that matches few of them ends here with its results and a cursor to
 * continue: no request may cost in proportion to the history.
 */
const scannedAtMost = 10_000;

/**
 * A page of the selected operation's payments, newest first.
 * @throws ApiError `invalid_cursor`, `validation_failed`
 */
export async function listPayments(
  deps: LookupDeps,
  caller: Caller,
  query: ListQuery,
): Promise<{ payments: ShownPayment[]; nextCursor: string | null }> {
  const kinds = visibleKinds(caller).filter((kind) => query.kind === undefined || query.kind === kind);
  const from = timeOf('createdFrom', query.createdFrom);
  const to = timeOf('createdTo', query.createdTo);
  const pair = query.metadata === undefined ? null : pairOf(query.metadata);
  if (query.metadata !== undefined && pair === null)
    throw refuseFields([{ field: 'metadata', code: 'invalid_format' }]);
  const fits = (payment: ShownPayment): boolean =>
    kinds.includes(payment.kind) &&
    (query.status === undefined || query.status.includes(payment.status)) &&
    (query.paymentMethod === undefined || (query.paymentMethod === 'card') === (payment.card !== null)) &&
    (query.endToEnd === undefined || payment.endToEnd === query.endToEnd) &&
    (query.requestKey === undefined || payment.requestKey === query.requestKey) &&
    (pair === null || payment.metadata?.[pair.name] === pair.value) &&
    (from === null || payment.createdAt >= from) &&
    (to === null || payment.createdAt < to);

  const list = JSON.stringify([
    caller.accountId,
    caller.operationId,
    kinds,
    { ...query, cursor: '', limit: 0 },
  ]);
  const now = deps.clock.now();
  const below = query.cursor === undefined ? null : placeOf(deps.cursorKey, list, query.cursor, now);

  if (kinds.length === 0) return { payments: [], nextCursor: null };
  if (query.requestKey !== undefined) {
    const account = { id: caller.accountId, number: caller.accountNumber };
    const payment = await findPayment(
      deps.sql,
      caller,
      paymentIdFor(deps.identity, account, query.requestKey),
    );
    return { payments: payment && fits(payment) ? [payment] : [], nextCursor: null };
  }
  if (query.endToEnd !== undefined) {
    const found = await findByEndToEnd(deps.sql, caller, query.endToEnd);
    return { payments: found.filter(fits), nextCursor: null };
  }

  const { limit = 100 } = query;
  const within: Stretch = { from, to, below };
  const cursorAt = (place: Place): string => cursorOf(deps.cursorKey, list, place, now);
  const { paymentMethod: method = null } = query;
  const filtered = kinds.length < 2 || query.status !== undefined || pair !== null || method !== null;
  const payments = filtered
    ? await findFilteredPage(
        deps.sql,
        caller,
        within,
        { kinds, statuses: query.status ?? paymentStatuses, pair, method },
        scannedAtMost,
        limit + 1,
      )
    : await findPage(deps.sql, caller, within, limit + 1);
  if (payments.length > limit) {
    payments.pop();
    return { payments, nextCursor: cursorAt(payments[limit - 1] as ShownPayment) };
  }
  const reached = filtered ? await findPlace(deps.sql, caller, within, scannedAtMost - 1) : undefined;
  return { payments, nextCursor: reached ? cursorAt(reached) : null };
}

function timeOf(field: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  // The schema knows forms that Date does not: leap seconds, and names of zones behind the offset.
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw refuseFields([{ field, code: 'not_a_time' }]);
  return ms;
}
