import type { Queries, Statement } from '../../ports/sql.ts';
import { defineTable, jsonb, text, timestamptz, uuid } from '../database/define-table.ts';
import { timestamp } from '../database/pool.ts';
import type { Table } from '../database/table.ts';
import { type AuditRow, formOfAudit } from './audit-chain.ts';

export const auditRows = defineTable<AuditRow>({
  name: 'audit',
  alias: 'a',
  key: ['accountId', 'id'],
  verbs: [],
  columns: {
    accountId: uuid,
    id: uuid,
    at: timestamptz,
    actor: text,
    action: text,
    subject: text,
    reason: text.orNull,
    detail: jsonb,
  },
});

/** The time of the statement, so that both places of it have one. A clock that was set back does not take the chain back. */
const nowMs = '(extract(epoch FROM statement_timestamp()) * 1000)::bigint';

const extend: Statement = {
  name: 'audit_extend',
  text: `INSERT INTO audit_chain AS c (account_id, start, seq, at_ms, head)
    VALUES ($1, sha256(''), 1, ${nowMs}, sha256(sha256('') || int8send(1) || int8send(${nowMs}) || $2::bytea))
    ON CONFLICT (account_id) DO UPDATE SET seq = c.seq + 1, at_ms = greatest(c.at_ms, excluded.at_ms),
      head = sha256(c.head || int8send(c.seq + 1) || int8send(greatest(c.at_ms, excluded.at_ms)) || $2::bytea)`,
};

const insert: Statement = {
  name: 'audit_insert',
  text: `INSERT INTO audit (account_id, id, at, actor, action, subject, reason, detail, seq, chained_ms, hash)
    SELECT c.account_id, $2::uuid, $3::timestamptz, $4::text, $5::text, $6::text, $7::text, $8::jsonb, c.seq, c.at_ms, c.head
      FROM audit_chain c WHERE c.account_id = $1`,
};

const valuesOf = (row: AuditRow): unknown[] => [
  ...[row.accountId, row.id, timestamp(row.at), row.actor, row.action, row.subject, row.reason],
  JSON.stringify(row.detail),
];

const byAccount = (one: AuditRow, other: AuditRow): number =>
  one.accountId === other.accountId ? 0 : one.accountId < other.accountId ? -1 : 1;

/**
 * Each row is chained to the one before it of its account (`audit-chain.ts`). The head of a chain is locked to the end of the transaction, so what
 * writes audit rows writes them last, and those of several accounts in the order of the accounts.
 */
export const audits: Table<AuditRow> = {
  ...auditRows,
  write: (tx, { inserted }) =>
    [...inserted]
      .sort(byAccount)
      .flatMap((row) => [tx.run(extend, [row.accountId, formOfAudit(row)]), tx.run(insert, valuesOf(row))]),
};

const insertBefore: Statement = {
  name: 'audit_insert_before',
  text: `INSERT INTO audit (account_id, id, at, actor, action, subject, reason, detail) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
};

const chain: Statement = {
  name: 'audit_has_chain',
  text: `SELECT to_regclass('audit_chain') IS NOT NULL AS present`,
};

/** A copy that was made before the chain is restored in its own form: the migrations that follow take the row into the chain's start. */
export async function writeAuditOfCopy(tx: Queries, row: AuditRow): Promise<unknown> {
  const [has] = await tx.run<{ present: boolean }>(chain);
  if (has?.present) return Promise.all(audits.write(tx, { inserted: [row], updated: [], deleted: [] }));
  return tx.run(insertBefore, valuesOf(row));
}

/** One row by itself, at the end of a transaction. */
export const writeAudit = (tx: Queries, row: AuditRow): Promise<unknown> =>
  Promise.all(audits.write(tx, { inserted: [row], updated: [], deleted: [] }));

/** The installation itself, account number 0. */
export const installationId = '00000000-0000-0000-0000-000000000000';
