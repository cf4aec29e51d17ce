import type { Language } from '../../ground/errors.ts';
import { refuse } from '../../ground/errors.ts';
import { cursorOf, placeOf } from '../../http/cursor.ts';
import { uuidOf } from '../../http/validation.ts';
import {
  type Payment,
  type PaymentKind,
  type PaymentStatus,
  paymentKinds,
  paymentStatuses,
} from '../../payments/payment.ts';
import { isoOf, viewOf } from '../../payments/view.ts';
import { paymentIdFor } from '../../request-keys/idempotency.ts';
import type { PanelDeps } from '../deps.ts';
import { findBalances } from './overview.sql.ts';
import {
  findRecords,
  findRecordsByEndToEnd,
  findRecordsById,
  type Line,
  type SubscribedTypes,
} from './records.sql.ts';

export interface RecordFilters {
  operationId?: string;
  kind?: PaymentKind;
  status?: PaymentStatus[];
  from?: string;
  to?: string;
  search?: string;
  minimumCents?: number;
  maximumCents?: number;
}

interface Account {
  accountId: string;
  accountNumber: number;
}

/** How far one request looks for what a filter wants, per operation. */
const scannedAtMost = 10_000;

/** The operations that are looked at. @throws ApiError `operation_not_found` */
export async function operationsOf(
  deps: PanelDeps,
  accountId: string,
  operationId: string | undefined,
): Promise<Map<string, string>> {
  const names = new Map((await findBalances(deps.sql, accountId)).map(({ id, name }) => [id, name]));
  if (operationId === undefined) return names;
  const name = names.get(operationId);
  if (name === undefined) throw refuse('operation_not_found');
  return new Map([[operationId, name]]);
}

/** A page of the account's payments, newest first, over one operation or all. @throws ApiError */
export async function listRecords(
  deps: PanelDeps,
  account: Account,
  filters: RecordFilters,
  page: { cursor?: string; limit?: number },
): Promise<{ records: Payment[]; nextCursor: string | null }> {
  const operations = [...(await operationsOf(deps, account.accountId, filters.operationId)).keys()];
  const wanted: SubscribedTypes = {
    accountId: account.accountId,
    operationIds: operations,
    kinds: filters.kind ? [filters.kind] : paymentKinds,
    statuses: filters.status ?? paymentStatuses,
    fromMs: filters.from === undefined ? null : Date.parse(filters.from),
    toMs: filters.to === undefined ? null : Date.parse(filters.to),
    below: null,
    text: null,
    minimumCents: filters.minimumCents ?? null,
    maximumCents: filters.maximumCents ?? null,
  };
  const search = filters.search?.trim() ?? '';
  const id = uuidOf(search) ?? uuidOf(search.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'));
  if (id !== null) {
    const number = account.accountNumber;
    const byKey = paymentIdFor(deps.identity, { id: account.accountId, number }, id);
    return {
      records: await findRecordsById(deps.sql, account.accountId, [id, byKey], operations),
      nextCursor: null,
    };
  }
  if (/^[A-Za-z0-9]{32}$/.test(search)) {
    const records = await findRecordsByEndToEnd(deps.sql, account.accountId, search, operations);
    return { records, nextCursor: null };
  }
  wanted.text = search === '' ? null : search.toLowerCase();

  const key = deps.secrets.derive('panel cursors');
  const list = JSON.stringify([account.accountId, operations, filters]);
  const now = deps.clock.now();
  if (page.cursor !== undefined) wanted.below = placeOf(key, list, page.cursor, now);
  const limit = page.limit ?? 50;
  const records = await findRecords(deps.sql, wanted, scannedAtMost, limit + 1);
  if (records.length <= limit) return { records, nextCursor: null };
  records.pop();
  const last = records[limit - 1] as Payment;
  return { records, nextCursor: cursorOf(key, list, last, now) };
}

export const viewOfRecord = (payment: Payment, language: Language) => ({
  ...viewOf(payment, language),
  payerName: payment.payerName,
  description: payment.description,
  requestKey: payment.requestKey,
});

export const viewOfLine = (line: Line) => ({
  seq: line.seq,
  template: line.template,
  paymentId: line.subject,
  postedAt: isoOf(line.postedAt),
  availableCents: line.available,
  reservedCents: line.reserved,
  heldCents: line.held,
  feeCents: line.feeCents,
  balanceAfterCents: line.availableAfter - line.receivableAfter,
});
