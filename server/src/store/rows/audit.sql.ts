import type { Statement } from '../../ports/sql.ts';
import type { Table } from '../database/table.ts';

/** What an operator did. Written with what was done, in the same transaction, and never changed. */
export interface AuditRow {
  /** The installation's own for what concerns all accounts. */
  accountId: string;
  id: string;
  at: number;
  actor: string;
  action: string;
  /** The id of what was changed. */
  subject: string;
  reason: string | null;
  detail: object;
}

const insert: Statement = {
  name: 'audit_insert',
  text: `INSERT INTO audit (account_id, id, at, actor, action, subject, reason, detail)
    VALUES (unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::timestamptz[]), unnest($4::text[]), unnest($5::text[]), unnest($6::text[]), unnest($7::text[]), unnest($8::jsonb[]))`,
};

export const audits: Table<AuditRow> = {
  name: 'audit',
  rank: 70,
  keyOf: (row) => row.accountId + row.id,
  read: () => Promise.reject(new Error('the audit log is written, never read, by the till')),
  write: (tx, { inserted }) => [
    tx.run(insert, [
      inserted.map((row) => row.accountId),
      inserted.map((row) => row.id),
      inserted.map((row) => new Date(row.at).toISOString()),
      inserted.map((row) => row.actor),
      inserted.map((row) => row.action),
      inserted.map((row) => row.subject),
      inserted.map((row) => row.reason),
      inserted.map((row) => JSON.stringify(row.detail)),
    ]),
  ],
};

/** The installation itself, account number 0. */
export const installationId = '00000000-0000-0000-0000-000000000000';
