import type { Defence, DefenceTurn } from '../../money/defence.ts';
import type { Dispute } from '../../money/dispute.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { timestamp } from '../database/pool.ts';
import { isRestored } from './conditions.sql.ts';
import type { Scope } from './disputes.sql.ts';

const columns = `f.account_id AS "accountId", f.dispute_id AS "disputeId", f.operation_id AS "operationId", f.connection, f.status,
  f.reason, f.body, f.file_ids AS "fileIds", f.attempts, f.created_at AS "createdAt", f.sent_at AS "sentAt", f.updated_at AS "updatedAt"`;

const one: Statement = {
  name: 'defence_one',
  text: `SELECT ${columns} FROM dispute_defence f WHERE f.account_id = $1 AND f.operation_id = $2 AND f.dispute_id = $3`,
};

export const findDefence = async (
  sql: Queries,
  { accountId, operationId }: Scope,
  disputeId: string,
): Promise<Defence | undefined> => (await sql.run<Defence>(one, [accountId, operationId, disputeId]))[0];

const several: Statement = {
  name: 'defence_several',
  text: `SELECT ${columns} FROM dispute_defence f WHERE f.account_id = $1 AND f.operation_id = $2 AND f.dispute_id = ANY ($3::uuid[])`,
};

/** Those of some disputes. */
export const findDefences = (
  sql: Queries,
  { accountId, operationId }: Scope,
  disputeIds: readonly string[],
): Promise<Defence[]> => sql.run<Defence>(several, [accountId, operationId, disputeIds]);

const insert: Statement = {
  name: 'defence_insert',
  text: `INSERT INTO dispute_defence AS f (account_id, dispute_id, operation_id, connection, status, body, file_ids, attempts, due_at, created_at,
      updated_at)
    VALUES ($1, $2, $3, $4, 'pending', $5, $6::uuid[], 0, $7, $7, $7)
    ON CONFLICT (account_id, dispute_id) DO UPDATE SET status = 'pending', reason = NULL, body = excluded.body,
      file_ids = excluded.file_ids, attempts = 0, fence = NULL, due_at = excluded.due_at, mail_due_at = NULL, created_at = excluded.created_at, updated_at = excluded.updated_at
      WHERE f.status = 'failed' AND f.reason = 'provider_refused'
    RETURNING ${columns}`,
};

/** In the place of one that the provider certainly refused. @returns undefined: there is another one, which stays */
export const insertDefence = async (
  sql: Queries,
  { accountId, id, operationId, connection }: Dispute,
  { body, fileIds }: Pick<Defence, 'body' | 'fileIds'>,
  now: number,
): Promise<Defence | undefined> => {
  const values = [accountId, id, operationId, connection, body, fileIds, timestamp(now)];
  return (await sql.run<Defence>(insert, values))[0];
};

/** A defence that this process has for the length of its lease, with its dispute as the provider reported it last. */
export interface ClaimedDefence extends Defence {
  fence: string;
  /** The account at the provider that its first attempt went to; null: nothing was sent. */
  identity: string | null;
  dispute: Pick<Dispute, 'status' | 'deadlineAt' | 'providerId' | 'paymentId' | 'amountCents'>;
}

const claim: Statement = {
  name: 'defence_claim',
  text: `WITH due AS (
      SELECT account_id, dispute_id FROM dispute_defence
        WHERE connection = $1 AND due_at <= $2
        ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    UPDATE dispute_defence f SET fence = $3, due_at = $4
    FROM due
      JOIN dispute d ON d.account_id = due.account_id AND d.id = due.dispute_id
    WHERE f.account_id = due.account_id AND f.dispute_id = due.dispute_id
    RETURNING ${columns}, f.fence, f.identity, d.status AS "disputeStatus", d.deadline_at AS "deadlineAt", d.provider_id AS "providerId",
      d.payment_id AS "paymentId", d.amount_cents AS "amountCents"`,
};

interface ClaimRow extends Defence {
  fence: string;
  identity: string | null;
  disputeStatus: Dispute['status'];
  deadlineAt: number | null;
  providerId: string;
  paymentId: string;
  amountCents: number;
}

/** The one that is due longest; no other process has it before `untilMs`. Not while a restore waits for its reconciliation. */
export async function claimDefence(
  sql: Queries,
  connection: string,
  { now, fence, untilMs }: { now: number; fence: string; untilMs: number },
): Promise<ClaimedDefence | undefined> {
  if (await isRestored(sql)) return undefined;
  const [row] = await sql.run<ClaimRow>(claim, [connection, timestamp(now), fence, timestamp(untilMs)]);
  if (!row) return undefined;
  const { disputeStatus: status, deadlineAt, providerId, paymentId, amountCents, ...defence } = row;
  return { ...defence, dispute: { status, deadlineAt, providerId, paymentId, amountCents } };
}

const begin: Statement = {
  name: 'defence_begin',
  text: `UPDATE dispute_defence SET status = 'unknown', attempts = attempts + 1, updated_at = $4, identity = coalesce(identity, $5)
    WHERE account_id = $1 AND dispute_id = $2 AND fence = $3 RETURNING attempts`,
};

type Owned = Pick<ClaimedDefence, 'accountId' | 'disputeId' | 'fence'>;

/** Counts an attempt, before its first byte goes out. @returns how many there were with it; undefined: another process has the defence */
export const beginAttempt = async (
  sql: Queries,
  { accountId, disputeId, fence }: Owned,
  identity: string | null,
  now: number,
): Promise<number | undefined> =>
  (await sql.run<{ attempts: number }>(begin, [accountId, disputeId, fence, timestamp(now), identity]))[0]
    ?.attempts;

const turn: Statement = {
  name: 'defence_turn',
  text: `UPDATE dispute_defence SET status = $4, reason = $5, attempts = $6, due_at = $7, sent_at = $8, updated_at = $9, mail_due_at = $10, fence = NULL
    WHERE account_id = $1 AND dispute_id = $2 AND fence = $3 RETURNING status`,
};

/** Marks that the people of the account were mailed about one that failed. @returns false: another process has the defence, and nothing was written */
export async function turnDefence(
  sql: Queries,
  { accountId, disputeId, fence }: Owned,
  turned: DefenceTurn & { attempts: number },
  now: number,
): Promise<boolean> {
  const dueAt = 'dueAt' in turned && turned.dueAt !== null ? timestamp(turned.dueAt) : null;
  const at = timestamp(now);
  const rows = await sql.run(turn, [
    accountId,
    disputeId,
    fence,
    turned.status,
    turned.status === 'failed' ? turned.reason : null,
    turned.attempts,
    dueAt,
    turned.status === 'sent' ? at : null,
    at,
    turned.status === 'failed' ? at : null,
  ]);
  return rows.length > 0;
}
