import type { DefenceReason } from '../../money/defence.ts';
import type { Statement } from '../../ports/sql.ts';
import {
  bytea,
  cents,
  defineTable,
  integer,
  jsonb,
  sealed,
  text,
  timestamptz,
  uuid,
} from '../../store/database/define-table.ts';
import type { Derived } from '../../store/database/table.ts';
import type { Sent } from '../kind.ts';

/** A defence as it is sent and followed. `unknown`: it waits, or may have left. */
export interface SentDefence extends Omit<Sent, 'expiresAt' | 'card'> {
  disputeId: string;
  /** The charge whose Pix is disputed. */
  paymentId: string;
  status: 'unknown' | 'completed' | 'failed' | 'expired';
  /** Why it failed. */
  reason: DefenceReason | null;
  /** The text, sealed, with its id as context; null: it has none. */
  body: Buffer | null;
  /** In order. */
  fileIds: readonly string[];
  /** Those that may have left, once it is over. */
  attempts: number;
  sentAt: number | null;
  updatedAt: number;
  /** When the people of the account get the mail that it has failed. */
  mailDueAt: number | null;
  /** The token of the command that created it. */
  command: string;
}

export const isDefenceOpen = ({ status }: Pick<SentDefence, 'status'>): boolean => status === 'unknown';

/** Keyed by 36 characters of account and 36 of its own id. */
export const sentDefences = defineTable<SentDefence>({
  name: 'dispute_defence',
  alias: 'f',
  key: ['accountId', 'id'],
  tokenOf: ({ command }) => command,
  verbs: ['read', 'insert', 'update'],
  columns: {
    accountId: uuid,
    id: uuid,
    operationId: uuid,
    disputeId: uuid,
    paymentId: uuid,
    status: text.changes,
    reason: text.orNull.changes,
    body: sealed.orNull,
    fileIds: jsonb,
    attempts: integer.changes,
    amountCents: cents,
    fingerprint: bytea,
    createdAt: timestamptz,
    sentAt: timestamptz.orNull.changes,
    updatedAt: timestamptz.changes,
    mailDueAt: timestamptz.orNull.changes,
    command: uuid,
  },
});

/** The defence of a dispute: the one that was not refused for what it says. */
export type DefenceOfDispute = Pick<SentDefence, 'accountId' | 'id' | 'disputeId'>;

const select: Statement = {
  name: 'defence_of_dispute',
  text: `SELECT f.account_id AS "accountId", f.id, f.dispute_id AS "disputeId"
    FROM dispute_defence f JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, dispute_id) USING (account_id, dispute_id)
    WHERE f.reason IS DISTINCT FROM 'provider_refused'`,
};

/** Keyed by 36 characters of account and 36 of the dispute. Put beside a defence, so that a later command of the same flush sees it. */
export const defencesOfDisputes: Derived<DefenceOfDispute> = {
  name: 'defence_of_dispute',
  isDerived: true,
  keyOf: ({ accountId, disputeId }) => accountId + disputeId,
  read: (tx, keys) =>
    tx.run<DefenceOfDispute>(select, [keys.map((key) => key.slice(0, 36)), keys.map((key) => key.slice(36))]),
};
