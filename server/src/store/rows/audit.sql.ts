import { defineTable, jsonb, text, timestamptz, uuid } from '../database/define-table.ts';

/** An act of an operator. Written with its effects, in the same transaction, and never changed. */
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

export const audits = defineTable<AuditRow>({
  name: 'audit',
  alias: 'a',
  key: ['accountId', 'id'],
  verbs: ['insert'],
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

/** The installation itself, account number 0. */
export const installationId = '00000000-0000-0000-0000-000000000000';
