import type { Payment } from '../../money/payment.ts';
import type { SentKind } from '../../money/sent-kinds.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import {
  boolean,
  bytea,
  cents,
  defineTable,
  integer,
  jsonb,
  sealed,
  text,
  timestamptz,
  uuid,
} from '../database/define-table.ts';
import { accountNumberOf } from './idempotency.ts';

/** A payment's place in the till: 36 characters of account, 36 of payment. */
export const paymentKey = (accountId: string, id: string): string => accountId + id;

/** Operation, kind, request key and creation never change; amount and fee of a charge with a due date alone do (`kinds/due-change`). */
export const payments = defineTable<Payment>({
  name: 'payment',
  alias: 'p',
  key: ['accountId', 'id'],
  tokenOf: (payment) => payment.command,
  verbs: ['read', 'insert', 'update'],
  columns: {
    accountId: uuid,
    id: uuid,
    operationId: uuid,
    kind: text,
    status: text.changes,
    amountCents: cents.changes,
    feeCents: cents.changes,
    requestKey: uuid,
    fingerprint: bytea,
    description: text,
    payerName: text.orNull,
    pixKey: sealed.orNull,
    pixKeyType: text.orNull,
    createdAt: timestamptz,
    updatedAt: timestamptz.changes,
    settledAt: timestamptz.rare.changes,
    paidAt: timestamptz.rare.changes,
    expiresAt: timestamptz.orNull.changes,
    copyPaste: text.rare.changes,
    endToEnd: text.rare.changes,
    notice: text.rare.changes,
    reasonCode: text.rare.changes,
    providerFeeCents: cents.rare.changes,
    netAmountCents: cents.rare.changes,
    returnedCents: cents.changes,
    history: jsonb.changes,
    command: uuid,
    metadata: jsonb.rare,
    expiresInMinutes: integer.rare,
    fiscalDocuments: jsonb.rare,
    connection: text.orNull.changes,
    refundedCents: cents.later,
    receiver: jsonb.orNull.later,
    disputed: boolean.later,
    staticCodeId: uuid.rare,
    paymentLinkId: uuid.rare,
    card: jsonb.rare.changes,
    due: jsonb.rare.changes,
    payer: sealed.rare,
    linkPayer: sealed.rare,
    payerDocument: text.rare,
  },
});

/** The columns of a payment, for a SELECT over `payment p`. */
export const paymentColumns = payments.columns;

/**
 * Account and id come out of one relation, which OFFSET 0 keeps whole. Rejected: the account's id from `account` and the other from the ids.
 * Of few accounts the planner expects to read all payments and intents of each once, for all ids, and reads them for every id until the
 * first ANALYZE: 555 µs for one in the first seconds of a database, 24 now.
 */
const owners: Statement = {
  name: 'payment_owners',
  text: `SELECT p.account_id AS "accountId", p.id, p.operation_id AS "operationId",
      CASE WHEN p.card IS NOT NULL THEN 'checkout' WHEN p.due IS NOT NULL THEN 'due_charge' ELSE p.kind END AS kind, p.created_at AS "createdAt",
      p.end_to_end AS "endToEnd", i.payment_id IS NOT NULL AS followed
    FROM (SELECT a.id AS account_id, n.id, coalesce(a.first_connection, a.connection) AS connection
        FROM unnest($1::bigint[], $2::uuid[]) AS n (number, id) JOIN account a USING (number) OFFSET 0) k
      JOIN payment p ON p.account_id = k.account_id AND p.id = k.id
      LEFT JOIN intent i ON i.account_id = k.account_id AND i.payment_id = k.id
    WHERE coalesce(p.connection, k.connection) = $3`,
};

export interface PaymentOwner {
  accountId: string;
  id: string;
  /** Immutable, as kind and creation are: may be read before the lock. */
  operationId: string;
  kind: SentKind;
  createdAt: number;
  /** Never changes once it is known. */
  endToEnd: string | null;
  /** It is still being sent or followed. */
  followed: boolean;
}

/** Whose payments these are, for ids that came in over a provider connection; ids unknown there have no row. */
export const findOwners = (
  sql: Queries,
  connection: string,
  ids: readonly { accountNumber: number; id: string }[],
): Promise<PaymentOwner[]> =>
  sql.run<PaymentOwner>(owners, [ids.map((one) => one.accountNumber), ids.map((one) => one.id), connection]);

const placeOfTransfer: Statement = {
  name: 'transfer_place',
  text: `SELECT p.account_id AS "accountId", p.operation_id AS "operationId", p.amount_cents - p.fee_cents AS "sentCents", p.end_to_end AS "endToEnd",
      coalesce(p.connection, a.first_connection, a.connection) AS connection
    FROM account a JOIN payment p ON p.account_id = a.id AND p.id = $2
    WHERE a.number = $1 AND p.kind = 'transfer'`,
};

export interface PlaceOfTransfer {
  accountId: string;
  operationId: string;
  sentCents: number;
  endToEnd: string | null;
  connection: string;
}

/** Of a transfer in this cell. */
export const findPlaceOfTransfer = async (sql: Queries, id: string): Promise<PlaceOfTransfer | undefined> =>
  (await sql.run<PlaceOfTransfer>(placeOfTransfer, [accountNumberOf(id), id]))[0];

const ofPage: Statement = {
  name: 'payment_of_page',
  text: `SELECT p.id FROM payment p WHERE p.card IS NOT NULL AND p.card ->> 'ref' = $2 AND p.connection = $1`,
};

/** The payment of an acquirer's page, by the acquirer's own name of it; undefined: there is none here. */
export const findPaymentOfPage = async (
  sql: Queries,
  connection: string,
  page: string,
): Promise<string | undefined> => (await sql.run<{ id: string }>(ofPage, [connection, page]))[0]?.id;

const approvalKnown: Statement = {
  name: 'payment_approval_known',
  text: `SELECT EXISTS (SELECT FROM payment p WHERE p.account_id = $1 AND p.id = $2 AND p.card ->> 'approval' = $3)
    OR EXISTS (SELECT FROM incident i WHERE i.account_id = $1 AND i.payment_id = $2
      AND starts_with(i.reference, 'mismatch:' || $2 || ':card:approval:' || $3)) AS known`,
};

/** Whether an approval, by the acquirer's own name, is booked with the payment, or a person has decided about it or will. */
export const isApprovalKnown = async (
  sql: Queries,
  { accountId, id }: Pick<PaymentOwner, 'accountId' | 'id'>,
  approval: string,
): Promise<boolean> =>
  (await sql.run<{ known: boolean }>(approvalKnown, [accountId, id, approval]))[0]?.known ?? false;

/** A card payment on whose page no attempt is left, with the facts of the account that its cancel needs. */
export interface UsedUp {
  accountId: string;
  accountNumber: number;
  operationId: string;
  test: boolean;
  connection: string;
  paymentId: string;
}

/** The number is `attemptsMost`, as the index has it. A notice: its close was asked for. An attempt that is looked at may still be approved. */
const usedUp: Statement = {
  name: 'payment_used_up',
  text: `SELECT p.account_id AS "accountId", a.number AS "accountNumber", p.operation_id AS "operationId", a.test, a.connection,
      p.id AS "paymentId"
    FROM payment p JOIN account a ON a.id = p.account_id
    WHERE p.status = 'pending' AND (p.card ->> 'refusals')::int >= 3 AND p.card ->> 'status' = 'refused' AND p.notice IS NULL
      AND (p.account_id, p.id) > ($2::uuid, $3::uuid) ORDER BY p.account_id, p.id LIMIT $1`,
};

/** Those behind a place whose close was not asked for yet, `most` of them. */
export const findUsedUp = (
  sql: Queries,
  { accountId, paymentId }: Pick<UsedUp, 'accountId' | 'paymentId'>,
  most: number,
): Promise<UsedUp[]> => sql.run<UsedUp>(usedUp, [most, accountId, paymentId]);

const known: Statement = {
  name: 'payment_known',
  text: `SELECT p.id, p.amount_cents AS "amountCents" FROM payment p
    JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, id) USING (account_id, id)`,
};

/** The amounts of those that are there, by id. */
export async function findKnownPayments(
  sql: Queries,
  wanted: readonly { accountId: string; id: string }[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await sql.run<{ id: string; amountCents: number }>(known, [
    wanted.map(({ accountId }) => accountId),
    wanted.map(({ id }) => id),
  ]);
  return new Map(rows.map(({ id, amountCents }) => [id, amountCents]));
}

const connectionOf: Statement = {
  name: 'payment_connection',
  text: `SELECT coalesce(p.connection, a.first_connection, a.connection) AS connection
    FROM payment p JOIN account a ON a.id = p.account_id WHERE p.account_id = $1 AND p.id = $2`,
};

/** Over which connection a payment came in or went out; undefined: there is no such payment. */
export const findConnectionOf = async (
  sql: Queries,
  accountId: string,
  id: string,
): Promise<string | undefined> =>
  (await sql.run<{ connection: string }>(connectionOf, [accountId, id]))[0]?.connection;
