import type { Metadata } from '../../money/metadata.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import {
  bigint,
  boolean,
  cents,
  defineTable,
  integer,
  jsonb,
  text,
  timestamptz,
  uuid,
} from '../database/define-table.ts';
import { timestamp } from '../database/pool.ts';
import type { Conditions } from './conditions.sql.ts';
import { listedRows } from './listed-rows.sql.ts';

export const linkStatuses = ['active', 'completed', 'expired', 'disabled'] as const;
export type LinkStatus = (typeof linkStatuses)[number];

export const fieldRules = ['none', 'optional', 'required'] as const;
export type FieldRule = (typeof fieldRules)[number];

/** A public page by which payers make charges of their own. */
export interface PaymentLink {
  accountId: string;
  id: string;
  operationId: string;
  title: string;
  description: string;
  /** Null: the payer types it, between the two below, which are null otherwise. */
  amountCents: number | null;
  minimumCents: number | null;
  maximumCents: number | null;
  /** Null: as many as come. */
  maxPayments: number | null;
  /** Whether the payer gives a name. */
  nameField: FieldRule;
  /** Whether the payer gives a CPF or CNPJ. */
  documentField: FieldRule;
  /** How its payers may pay: one of the two at least. */
  takesPix: boolean;
  takesCard: boolean;
  expiresAt: number | null;
  successUrl: string | null;
  metadata: Metadata | null;
  /** As it was entered; `statusAt` says what it is at a moment. */
  status: LinkStatus;
  requestKey: string;
  /** Its charges that may still be paid by a code that was given out. */
  openCount: number;
  paidCount: number;
  paidCents: number;
  createdAt: number;
  updatedAt: number;
}

export const linkKey = (accountId: string, id: string): string => accountId + id;

/** The till counts; what the merchant changes is changed under the lock of the account. */
export const paymentLinks = defineTable<PaymentLink>({
  name: 'payment_link',
  alias: 'l',
  key: ['accountId', 'id'],
  verbs: ['read', 'insert', 'update'],
  columns: {
    accountId: uuid,
    id: uuid,
    operationId: uuid,
    title: text.changes,
    description: text.changes,
    amountCents: cents.orNull,
    minimumCents: cents.orNull,
    maximumCents: cents.orNull,
    maxPayments: integer.orNull.changes,
    nameField: text,
    documentField: text,
    takesPix: boolean,
    takesCard: boolean,
    expiresAt: timestamptz.orNull.changes,
    successUrl: text.orNull,
    metadata: jsonb.orNull,
    status: text.changes,
    requestKey: uuid,
    openCount: bigint.later,
    paidCount: bigint.later,
    paidCents: cents.later,
    createdAt: timestamptz,
    updatedAt: timestamptz.changes,
  },
});

const { columns } = paymentLinks;

export const { find: findLink, page: findLinks } = listedRows<PaymentLink>('payment_link', 'l', columns);

/** The conditions of an account that say which of its links' methods it offers, and for which amounts. */
export type MethodConditions = Pick<
  Conditions,
  'cardConnection' | 'minimumDepositCents' | 'maximumDepositCents' | 'minimumCardCents' | 'maximumCardCents'
>;

/** A link as its public page needs it, with the conditions under which its account takes charges. */
export interface PublicLink extends PaymentLink, MethodConditions {
  test: boolean;
  enabled: boolean;
  connection: string;
  chargeFallback: readonly string[];
}

/** Behind OFFSET 0, a barrier to the planner: it would join all accounts and all operations for the few links that are asked for. */
const selectPublic: Statement = {
  name: 'payment_link_public',
  text: `SELECT f.* FROM unnest($1::bigint[], $2::uuid[]) AS k (number, id) CROSS JOIN LATERAL (
      SELECT ${columns}, a.number AS "accountNumber", a.test, a.enabled, a.connection, a.charge_fallback AS "chargeFallback",
        a.card_connection AS "cardConnection", a.minimum_deposit_cents AS "minimumDepositCents", a.maximum_deposit_cents AS "maximumDepositCents",
        a.minimum_card_cents AS "minimumCardCents", a.maximum_card_cents AS "maximumCardCents"
      FROM account a JOIN payment_link l ON l.account_id = a.id
        JOIN operation o ON o.account_id = l.account_id AND o.id = l.operation_id AND o.deleted_at IS NULL
      WHERE a.number = k.number AND l.id = k.id OFFSET 0) f`,
};

/** The place of a link in its address. */
export interface LinkPlace {
  accountNumber: number;
  id: string;
}

const nameOf = ({ accountNumber, id }: LinkPlace): string => `${accountNumber} ${id}`;

/** Each in its place; undefined: there is none, or its operation was deleted. One that several ask for is read once. */
export async function findPublicLinks(
  sql: Queries,
  places: readonly LinkPlace[],
): Promise<(PublicLink | undefined)[]> {
  const once = [...new Map(places.map((place) => [nameOf(place), place])).values()];
  const found = await sql.run<PublicLink & { accountNumber: number }>(selectPublic, [
    once.map(({ accountNumber }) => accountNumber),
    once.map(({ id }) => id),
  ]);
  const byName = new Map(found.map((link) => [nameOf(link), link]));
  return places.map((place) => byName.get(nameOf(place)));
}

const selectDue: Statement = {
  name: 'payment_link_due',
  text: `SELECT l.account_id AS "accountId", l.id, a.test FROM payment_link l JOIN account a ON a.id = l.account_id
    WHERE l.status = 'active' AND l.expires_at <= $1 ORDER BY l.expires_at LIMIT $2`,
};

/** Active links whose time is over. */
export const findDueLinks = (
  sql: Queries,
  now: number,
  most: number,
): Promise<{ accountId: string; id: string; test: boolean }[]> => sql.run(selectDue, [timestamp(now), most]);

/** A link that was looked at, with a charge of it that still waits for its payer and what its cancel needs to know of the account. */
export interface LeftCharge extends Pick<PublicLink, 'accountId' | 'operationId' | 'test' | 'connection'> {
  accountNumber: number;
  linkId: string;
  /** Null: none of it is to be cancelled. */
  paymentId: string | null;
}

const selectLeft: Statement = {
  name: 'payment_link_left',
  text: `SELECT l.account_id AS "accountId", a.number AS "accountNumber", l.operation_id AS "operationId", a.test, a.connection,
      l.id AS "linkId", p.id AS "paymentId"
    FROM (SELECT account_id, id, operation_id FROM payment_link
        WHERE status = 'completed' AND max_payments = 1 AND open_count > 0 AND (account_id, id) > ($2::uuid, $3::uuid)
        ORDER BY account_id, id LIMIT $1) l
      JOIN account a ON a.id = l.account_id
      LEFT JOIN LATERAL (SELECT id FROM (SELECT id, status, notice FROM payment WHERE account_id = l.account_id AND payment_link_id = l.id
          ORDER BY created_at DESC, id DESC LIMIT 100) last WHERE status IN ('unknown', 'pending') AND notice IS NULL) p ON true
    ORDER BY l.account_id, l.id`,
};

/** Of links for one payment that was made, `most` of them behind a place: charges of other payers whose cancel was not asked for yet. */
export const findLeftCharges = (
  sql: Queries,
  { accountId, linkId }: Pick<LeftCharge, 'accountId' | 'linkId'>,
  most: number,
): Promise<LeftCharge[]> => sql.run<LeftCharge>(selectLeft, [most, accountId, linkId]);
