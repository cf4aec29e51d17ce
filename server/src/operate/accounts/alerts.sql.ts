import type { DefenceReason } from '../../money/defence.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import type { DisputeStatus } from '../../provider/dispute-report.ts';
import { timestamp } from '../../store/database/pool.ts';

const claimUnknown: Statement = {
  name: 'alert_claim_unknown',
  text: `WITH due AS (
      SELECT account_id, payment_id FROM unknown_told WHERE mail_due_at <= $1
      ORDER BY mail_due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
    UPDATE unknown_told t SET mail_due_at = $2
    FROM due
      JOIN payment p ON p.account_id = due.account_id AND p.id = due.payment_id
      JOIN account a ON a.id = due.account_id
      JOIN operation o ON o.account_id = due.account_id AND o.id = p.operation_id
    WHERE t.account_id = due.account_id AND t.payment_id = due.payment_id
    RETURNING t.account_id AS "accountId", a.name AS "accountName", p.id AS "paymentId", o.name AS "operationName",
      p.amount_cents AS "amountCents", p.created_at AS "createdAt", p.status = 'unknown' AS open`,
};

export interface UnknownAlert {
  accountId: string;
  accountName: string;
  paymentId: string;
  operationName: string;
  amountCents: number;
  createdAt: number;
  /** Still unknown at this moment. */
  open: boolean;
}

/** Takes transfers that an event reported as unknown and that no mail has reported. Hidden from other processes until `untilMs`. */
export const claimUnknownAlerts = (
  sql: Queries,
  nowMs: number,
  untilMs: number,
  most: number,
): Promise<UnknownAlert[]> =>
  sql.run<UnknownAlert>(claimUnknown, [timestamp(nowMs), timestamp(untilMs), most]);

const endUnknown: Statement = {
  name: 'alert_end_unknown',
  text: `UPDATE unknown_told SET mail_due_at = NULL WHERE account_id = $1 AND payment_id = ANY ($2::uuid[])`,
};

export const endUnknownAlerts = (
  sql: Queries,
  accountId: string,
  paymentIds: readonly string[],
): Promise<unknown> => sql.run(endUnknown, [accountId, paymentIds]);

const claimDisputes: Statement = {
  name: 'alert_claim_disputes',
  text: `WITH due AS (
      SELECT account_id, id FROM dispute WHERE mail_due_at <= $1 ORDER BY mail_due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
    UPDATE dispute d SET mail_due_at = $2
    FROM due
      JOIN account a ON a.id = due.account_id
    WHERE d.account_id = due.account_id AND d.id = due.id
    RETURNING d.account_id AS "accountId", a.name AS "accountName", d.id, d.payment_id AS "paymentId",
      d.amount_cents AS "amountCents", d.status, d.deadline_at AS "deadlineAt",
      (SELECT p.payer_name FROM payment p WHERE p.account_id = d.account_id AND p.id = d.payment_id) AS "payerName",
      (SELECT p.description FROM payment p WHERE p.account_id = d.account_id AND p.id = d.payment_id) AS description`,
};

export interface DisputeAlert {
  accountId: string;
  accountName: string;
  id: string;
  paymentId: string;
  payerName: string | null;
  description: string | null;
  amountCents: number;
  status: DisputeStatus;
  deadlineAt: number | null;
}

/** Disputes that have moved since the last mail; out of sight of the others until `untilMs`. */
export const claimDisputeAlerts = (
  sql: Queries,
  nowMs: number,
  untilMs: number,
  most: number,
): Promise<DisputeAlert[]> =>
  sql.run<DisputeAlert>(claimDisputes, [timestamp(nowMs), timestamp(untilMs), most]);

const endDispute: Statement = {
  name: 'alert_end_dispute',
  text: `UPDATE dispute d SET mail_due_at = NULL FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS k (account_id, id, status)
    WHERE d.account_id = k.account_id AND d.id = k.id AND d.status = k.status`,
};

/** Not for one that has moved on meanwhile: that is mailed again. */
export const endDisputeAlerts = (sql: Queries, told: readonly DisputeAlert[]): Promise<unknown> =>
  sql.run(endDispute, [
    told.map(({ accountId }) => accountId),
    told.map(({ id }) => id),
    told.map(({ status }) => status),
  ]);

const claimDefences: Statement = {
  name: 'alert_claim_defences',
  text: `WITH due AS (
      SELECT account_id, id, dispute_id FROM dispute_defence WHERE mail_due_at <= $1 ORDER BY mail_due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
    UPDATE dispute_defence f SET mail_due_at = $2
    FROM due
      JOIN account a ON a.id = due.account_id
      JOIN dispute d ON d.account_id = due.account_id AND d.id = due.dispute_id
    WHERE f.account_id = due.account_id AND f.id = due.id
    RETURNING f.account_id AS "accountId", f.id, a.name AS "accountName", f.dispute_id AS "disputeId", d.payment_id AS "paymentId",
      (SELECT p.payer_name FROM payment p WHERE p.account_id = d.account_id AND p.id = d.payment_id) AS "payerName",
      (SELECT p.description FROM payment p WHERE p.account_id = d.account_id AND p.id = d.payment_id) AS description,
      d.amount_cents AS "amountCents", f.reason, d.deadline_at AS "deadlineAt", d.ended_at IS NULL AND NOT EXISTS (SELECT FROM dispute_defence n
        WHERE n.account_id = f.account_id AND n.dispute_id = f.dispute_id AND n.created_at > f.created_at) AS open`,
};

export interface DefenceAlert {
  accountId: string;
  id: string;
  accountName: string;
  disputeId: string;
  paymentId: string;
  payerName: string | null;
  description: string | null;
  amountCents: number;
  reason: DefenceReason;
  deadlineAt: number | null;
  /** Its dispute has not ended, and no other defence has taken its place. */
  open: boolean;
}

/** Defences that failed and that no mail has reported; out of sight of the others until `untilMs`. */
export const claimDefenceAlerts = (
  sql: Queries,
  nowMs: number,
  untilMs: number,
  most: number,
): Promise<DefenceAlert[]> =>
  sql.run<DefenceAlert>(claimDefences, [timestamp(nowMs), timestamp(untilMs), most]);

const endDefence: Statement = {
  name: 'alert_end_defence',
  text: `UPDATE dispute_defence f SET mail_due_at = NULL FROM unnest($1::uuid[], $2::uuid[]) AS k (account_id, id)
    WHERE f.account_id = k.account_id AND f.id = k.id`,
};

export const endDefenceAlerts = (sql: Queries, told: readonly DefenceAlert[]): Promise<unknown> =>
  sql.run(endDefence, [told.map(({ accountId }) => accountId), told.map(({ id }) => id)]);

const claimIncidents: Statement = {
  name: 'alert_claim_incidents',
  text: `WITH due AS (
      SELECT account_id, id FROM incident WHERE mail_due_at <= $1 ORDER BY mail_due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
    UPDATE incident i SET mail_due_at = $2
    FROM due
      LEFT JOIN account a ON a.id = due.account_id
    WHERE i.account_id = due.account_id AND i.id = due.id
    RETURNING i.account_id AS "accountId", a.name AS "accountName", i.id, i.kind, i.payment_id AS "paymentId",
      i.operation_id AS "operationId", i.amount_cents AS "amountCents", i.freezes, i.opened_at AS "openedAt",
      i.state = 'open' AS open, CASE WHEN i.kind = 'close_difference' THEN i.detail END AS detail`,
};

export interface IncidentAlert {
  accountId: string;
  /** Null: of the installation itself. */
  accountName: string | null;
  id: string;
  kind: string;
  paymentId: string | null;
  operationId: string | null;
  amountCents: number;
  freezes: boolean;
  openedAt: number;
  /** Of a daily close that is not what the provider's account holds: what the provider has more than the books. */
  close: { connection: string; day: string; moreCents: number } | null;
  /** Still open at this moment. */
  open: boolean;
}

/** Incidents that no mail was sent of; out of sight of the others until `untilMs`. */
export const claimIncidentAlerts = async (
  sql: Queries,
  nowMs: number,
  untilMs: number,
  most: number,
): Promise<IncidentAlert[]> => {
  const rows = await sql.run<Omit<IncidentAlert, 'close'> & { detail: CloseDetail | null }>(claimIncidents, [
    timestamp(nowMs),
    timestamp(untilMs),
    most,
  ]);
  return rows.map(({ detail, ...alert }) => ({ ...alert, close: detail && moreOf(detail) }));
};

/** The detail of a daily close's incident. */
interface CloseDetail {
  connection: string;
  day: string;
  differenceCents: number;
  carriedCents: number;
}

const moreOf = ({ connection, day, differenceCents, carriedCents }: CloseDetail) => ({
  connection,
  day,
  moreCents: differenceCents - carriedCents,
});

const endIncident: Statement = {
  name: 'alert_end_incident',
  text: `UPDATE incident i SET mail_due_at = NULL FROM unnest($1::uuid[], $2::uuid[]) AS k (account_id, id)
    WHERE i.account_id = k.account_id AND i.id = k.id`,
};

export const endIncidentAlerts = (sql: Queries, told: readonly IncidentAlert[]): Promise<unknown> =>
  sql.run(endIncident, [told.map(({ accountId }) => accountId), told.map(({ id }) => id)]);
