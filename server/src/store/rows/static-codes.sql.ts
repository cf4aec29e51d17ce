import type { Metadata } from '../../money/metadata.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { bigint, cents, defineTable, jsonb, text, timestamptz, uuid } from '../database/define-table.ts';
import { timestamp } from '../database/pool.ts';
import { listedRows } from './listed-rows.sql.ts';

export const staticCodeStatuses = ['active', 'retired'] as const;

/** A code that a merchant prints and that payers pay as often as they like. */
export interface StaticCode {
  accountId: string;
  id: string;
  operationId: string;
  name: string;
  identifier: string;
  /** Null: the payer types it. */
  amountCents: number | null;
  /** Whose Pix key it pays into. */
  connection: string;
  /** Null: the provider, which makes its codes itself, has not answered yet. */
  copyPaste: string | null;
  status: (typeof staticCodeStatuses)[number];
  metadata: Metadata | null;
  requestKey: string;
  paidCount: number;
  paidCents: number;
  createdAt: number;
  updatedAt: number;
}

export const staticCodeKey = (accountId: string, id: string): string => accountId + id;

/** The till counts what a code brings; name, text and status change beside it, under the lock of the account. */
export const staticCodes = defineTable<StaticCode>({
  name: 'static_code',
  alias: 's',
  key: ['accountId', 'id'],
  verbs: ['read', 'insert', 'update'],
  columns: {
    accountId: uuid,
    id: uuid,
    operationId: uuid,
    name: text,
    identifier: text,
    amountCents: cents.orNull,
    connection: text,
    copyPaste: text.orNull,
    status: text,
    metadata: jsonb.orNull,
    requestKey: uuid,
    paidCount: bigint.later,
    paidCents: cents.later,
    createdAt: timestamptz,
    updatedAt: timestamptz.changes,
  },
});

const { columns } = staticCodes;

/** The operation that a code belongs to. */
interface Scope {
  accountId: string;
  operationId: string;
}

export const { find: findStaticCode, page: findStaticCodePage } = listedRows<StaticCode>(
  'static_code',
  's',
  columns,
);

const countOf: Statement = {
  name: 'static_code_count',
  text: 'SELECT count(*)::integer AS count FROM (SELECT FROM static_code WHERE account_id = $1 LIMIT $2) s',
};

/** How many codes an account has, up to `most`. */
export const countStaticCodes = async (sql: Queries, accountId: string, most: number): Promise<number> =>
  (await sql.run<{ count: number }>(countOf, [accountId, most]))[0]?.count ?? 0;

const change: Statement = {
  name: 'static_code_change',
  text: `UPDATE static_code s SET name = coalesce($4, s.name), status = coalesce($5, s.status),
      updated_at = greatest($6, s.updated_at)
    WHERE s.account_id = $1 AND s.id = $2 AND s.operation_id = $3 RETURNING ${columns}`,
};

/** @returns it after the change; undefined: there is none */
export const changeStaticCode = async (
  tx: Queries,
  { accountId, operationId }: Scope,
  id: string,
  { name, status }: { name?: string; status?: StaticCode['status'] },
  now: number,
): Promise<StaticCode | undefined> =>
  (
    await tx.run<StaticCode>(change, [
      accountId,
      id,
      operationId,
      name ?? null,
      status ?? null,
      timestamp(now),
    ])
  )[0];

const giveText: Statement = {
  name: 'static_code_text',
  text: `UPDATE static_code s SET copy_paste = coalesce(s.copy_paste, $3) WHERE s.account_id = $1 AND s.id = $2
    RETURNING ${columns}`,
};

/** The text that the provider has made; the first one stays. */
export const storeCodeText = async (
  sql: Queries,
  { accountId, id }: Pick<StaticCode, 'accountId' | 'id'>,
  copyPaste: string,
): Promise<StaticCode | undefined> => (await sql.run<StaticCode>(giveText, [accountId, id, copyPaste]))[0];

// ------------------------------------------------------------------------------------------------------------- the directory

/** To whom a Pix under an identifier belongs. */
export interface IdentifierPlace {
  identifier: string;
  accountId: string;
  accountNumber: number;
  operationId: string;
  codeId: string;
}

const insertPlace: Statement = {
  name: 'static_identifier_insert',
  text: `INSERT INTO static_identifier (identifier, account_id, operation_id, code_id, connection) VALUES ($1, $2, $3, $4, $5)`,
};

export const insertIdentifier = (
  tx: Queries,
  { identifier, accountId, operationId, id, connection }: StaticCode,
): Promise<unknown> => tx.run(insertPlace, [identifier, accountId, operationId, id, connection]);

const selectPlaces: Statement = {
  name: 'static_identifier_places',
  text: `SELECT s.identifier, s.account_id AS "accountId", a.number AS "accountNumber", s.operation_id AS "operationId",
      s.code_id AS "codeId"
    FROM static_identifier s JOIN account a ON a.id = s.account_id
    WHERE s.identifier = ANY ($2::text[]) AND s.connection = $1`,
};

/** Those of a connection: an identifier says nothing of a Pix that came over another one. */
export const findIdentifiers = (
  sql: Queries,
  connection: string,
  identifiers: readonly string[],
): Promise<IdentifierPlace[]> => sql.run<IdentifierPlace>(selectPlaces, [connection, identifiers]);
