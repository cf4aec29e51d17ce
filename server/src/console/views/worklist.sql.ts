import { outgoingPriorities } from '../../money/intent.ts';
import type { Queries, Statement } from '../../ports/sql.ts';

/** Lists of what is open in a cell. Each reads what is open by an index, never what has ended. */

export interface OpenIncident {
  id: string;
  kind: string;
  ownerId: string;
  paymentId: string | null;
  amountCents: number;
  freezes: boolean;
  openedAt: number;
}

const incidents: Statement = {
  name: 'worklist_incidents',
  text: `SELECT id, kind, account_id AS "ownerId", payment_id AS "paymentId", amount_cents AS "amountCents", freezes, opened_at AS "openedAt"
    FROM incident WHERE state = 'open' ORDER BY opened_at, id LIMIT $1`,
};

/** The oldest first. */
export const findOpenIncidents = (sql: Queries, most: number): Promise<OpenIncident[]> =>
  sql.run<OpenIncident>(incidents, [most]);

export interface UnknownTransfer {
  id: string;
  ownerId: string;
  connection: string;
  amountCents: number;
  createdAt: number;
}

/** Of each connection and priority: among so many transfers under way the oldest unknown ones are looked for. */
const lookedAt = 1_000;

/**
 * By the queue of what is under way (`intent_due`), where each connection keeps transfers apart from the charges that wait for a payer. An index
 * of unknown transfers alone would be written by every transfer, twice.
 */
const underWay = (priority: number): string =>
  `(SELECT i.payment_id, i.account_id, i.connection, i.created_at FROM connection c CROSS JOIN LATERAL (
      SELECT * FROM intent WHERE connection = c.id AND priority = ${priority} AND kind = 'transfer' ORDER BY due_at LIMIT ${lookedAt}) i
    WHERE NOT i.known AND i.created_at < $1 ORDER BY i.created_at LIMIT $2)`;

const unknown: Statement = {
  name: 'worklist_unknown_transfers',
  text: `SELECT u.payment_id AS id, u.account_id AS "ownerId", u.connection, p.amount_cents AS "amountCents", u.created_at AS "createdAt"
    FROM (${outgoingPriorities.map(underWay).join('\n    UNION ALL ')} ORDER BY created_at LIMIT $2) u
      JOIN payment p ON p.account_id = u.account_id AND p.id = u.payment_id
    ORDER BY u.created_at`,
};

/** Transfers from before `beforeMs` that the provider has not confirmed to know, the oldest first. */
export const findUnknownTransfers = (
  sql: Queries,
  beforeMs: number,
  most: number,
): Promise<UnknownTransfer[]> => sql.run<UnknownTransfer>(unknown, [new Date(beforeMs).toISOString(), most]);

const paused: Statement = {
  name: 'worklist_pause',
  text: `SELECT withdrawals_paused_at AS "pausedAt", withdrawals_paused_reason AS reason, restored_at AS "restoredAt", uncompared_connections AS uncompared
    FROM installation`,
};

export interface Pause {
  pausedAt: number | null;
  reason: string | null;
  /** Since when a comparison with the providers is wanted. */
  restoredAt: number | null;
  /** Connections whose payouts of a lost time were never compared. */
  uncompared: string[];
}

export const readPause = async (sql: Queries): Promise<Pause> =>
  (await sql.run<Pause>(paused))[0] ?? { pausedAt: null, reason: null, restoredAt: null, uncompared: [] };

const certificates: Statement = {
  name: 'worklist_certificates',
  text: `SELECT id AS connection, adapter, certificate_expires_at AS "endsAt" FROM connection
    WHERE state = 'active' AND certificate_expires_at < $1 ORDER BY certificate_expires_at, id LIMIT $2`,
};

/** Of connections in use, those that end before `beforeMs`. */
export const findEndingCertificates = (
  sql: Queries,
  beforeMs: number,
  most: number,
): Promise<{ connection: string; adapter: string; endsAt: number }[]> =>
  sql.run(certificates, [new Date(beforeMs).toISOString(), most]);

const cash: Statement = {
  name: 'worklist_cash',
  text: `SELECT t.connection, t.reference, t.amount_cents AS "amountCents", t.left_at AS "leftAt", t.to_connection AS "toConnection"
    FROM connection c CROSS JOIN LATERAL (SELECT * FROM cash_transfer
      WHERE connection = c.id AND to_connection IS NOT NULL AND arrival IS NULL AND returned_at IS NULL AND own_at IS NULL
      ORDER BY left_at, reference LIMIT $2) t
    WHERE t.due_at < $1 ORDER BY t.left_at, t.connection, t.reference LIMIT $2`,
};

export interface LateCash {
  connection: string;
  reference: string;
  amountCents: number;
  leftAt: number;
  toConnection: string;
}

/** Cash that left one connection and should have been in another before `beforeMs`. */
export const findLateCash = (sql: Queries, beforeMs: number, most: number): Promise<LateCash[]> =>
  sql.run<LateCash>(cash, [new Date(beforeMs).toISOString(), most]);

// ------------------------------------------------------------------------------------------------------- who works at it

const claims: Statement = {
  name: 'worklist_claims',
  text: `SELECT c.item, c.operator_id AS "operatorId", p.name FROM worklist_claim c JOIN operator_person p ON p.id = c.operator_id
    WHERE c.item = ANY ($1::text[])`,
};

export interface Claim {
  item: string;
  operatorId: string;
  name: string;
}

export const findClaims = (sql: Queries, items: readonly string[]): Promise<Claim[]> =>
  sql.run<Claim>(claims, [items]);

const take: Statement = {
  name: 'worklist_take',
  text: `INSERT INTO worklist_claim (item, operator_id, taken_at) VALUES ($1, $2, $3)
    ON CONFLICT (item) DO UPDATE SET operator_id = excluded.operator_id, taken_at = excluded.taken_at`,
};
const forget: Statement = {
  name: 'worklist_forget',
  text: 'DELETE FROM worklist_claim WHERE taken_at < $1',
};
const keptMs = 30 * 86_400_000;

/** From the one who has it, if there is one. */
export async function takeItem(tx: Queries, item: string, operatorId: string, nowMs: number): Promise<void> {
  await tx.run(forget, [new Date(nowMs - keptMs).toISOString()]);
  await tx.run(take, [item, operatorId, new Date(nowMs).toISOString()]);
}

const leave: Statement = {
  name: 'worklist_leave',
  text: 'DELETE FROM worklist_claim WHERE item = $1 AND operator_id = $2 RETURNING item',
};

/** @returns false: it was not theirs */
export const leaveItem = async (tx: Queries, item: string, operatorId: string): Promise<boolean> =>
  (await tx.run(leave, [item, operatorId])).length > 0;
