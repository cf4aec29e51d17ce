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
  text: `SELECT withdrawals_paused_at AS "pausedAt", withdrawals_paused_reason AS reason FROM installation`,
};

export const readPause = async (sql: Queries): Promise<{ pausedAt: number | null; reason: string | null }> =>
  (await sql.run<{ pausedAt: number | null; reason: string | null }>(paused))[0] ?? {
    pausedAt: null,
    reason: null,
  };
