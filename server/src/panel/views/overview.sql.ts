import type { Queries, Statement } from '../../ports/sql.ts';

export interface BalanceRow {
  id: string;
  name: string;
  main: boolean;
  availableCents: number;
  reservedCents: number;
  heldCents: number;
  /** Received by card, and kept by the acquirer. */
  cardHeldCents: number;
  receivableCents: number;
  frozen: boolean;
  createdAt: number;
  updatedAt: number;
}

const selectBalances: Statement = {
  name: 'panel_balances',
  text: `SELECT o.id, o.name, o.main IS TRUE AS main, b.available AS "availableCents", b.reserved AS "reservedCents",
      b.held AS "heldCents", b.card_held AS "cardHeldCents", b.receivable AS "receivableCents", b.frozen, o.created_at AS "createdAt", b.updated_at AS "updatedAt"
    FROM operation o JOIN balance b ON b.account_id = o.account_id AND b.operation_id = o.id
    WHERE o.account_id = $1 AND o.deleted_at IS NULL ORDER BY o.created_at, o.id`,
};

export const findBalances = (sql: Queries, accountId: string): Promise<BalanceRow[]> =>
  sql.run<BalanceRow>(selectBalances, [accountId]);

const selectUnknown: Statement = {
  name: 'panel_unknown',
  text: `SELECT p.id, p.kind, p.amount_cents AS "amountCents", p.operation_id AS "operationId", p.created_at AS "createdAt"
    FROM unnest($2::uuid[]) AS o (id) CROSS JOIN LATERAL (
      SELECT * FROM payment WHERE account_id = $1 AND operation_id = o.id AND status = 'unknown'
      ORDER BY created_at, id LIMIT $3) p
    ORDER BY p.created_at LIMIT $3`,
};

export interface UnknownRow {
  id: string;
  kind: 'deposit' | 'transfer';
  amountCents: number;
  operationId: string;
  createdAt: number;
}

/** Payments that are not confirmed yet, the oldest first. */
export const findUnknown = (
  sql: Queries,
  accountId: string,
  operationIds: readonly string[],
  most = 20,
): Promise<UnknownRow[]> => sql.run<UnknownRow>(selectUnknown, [accountId, operationIds, most]);

export interface IncidentRow {
  id: string;
  kind: string;
  paymentId: string | null;
  operationId: string | null;
  amountCents: number;
  freezes: boolean;
  openedAt: number;
}

const selectIncidents: Statement = {
  name: 'panel_incidents',
  text: `SELECT id, kind, payment_id AS "paymentId", operation_id AS "operationId", amount_cents AS "amountCents", freezes,
      opened_at AS "openedAt"
    FROM (
      SELECT i.* FROM unnest($2::uuid[]) AS o (id) CROSS JOIN LATERAL (
        SELECT * FROM incident WHERE account_id = $1 AND operation_id = o.id AND state = 'open'
        ORDER BY opened_at DESC LIMIT 20) i
      UNION ALL (SELECT * FROM incident WHERE account_id = $1 AND operation_id IS NULL AND state = 'open'
        ORDER BY opened_at DESC LIMIT 20)) AS open
    ORDER BY opened_at DESC LIMIT 20`,
};

export const findOpenIncidents = (
  sql: Queries,
  accountId: string,
  operationIds: readonly string[],
): Promise<IncidentRow[]> => sql.run<IncidentRow>(selectIncidents, [accountId, operationIds]);

export interface HoldRow {
  operationId: string;
  wantedCents: number;
  reason: string;
  placedAt: number;
}

const selectHolds: Statement = {
  name: 'panel_holds',
  text: `SELECT h.operation_id AS "operationId", h.wanted_cents AS "wantedCents", h.reason, h.placed_at AS "placedAt"
    FROM unnest($2::uuid[]) AS o (id) CROSS JOIN LATERAL (
      SELECT * FROM hold WHERE account_id = $1 AND operation_id = o.id AND released_at IS NULL
      ORDER BY placed_at, id LIMIT 20) h
    ORDER BY h.placed_at LIMIT 20`,
};

/** Why amounts are held, the oldest first. */
export const findOpenHolds = (
  sql: Queries,
  accountId: string,
  operationIds: readonly string[],
): Promise<HoldRow[]> => sql.run<HoldRow>(selectHolds, [accountId, operationIds]);

export interface FirstSteps {
  key: boolean;
  webhook: boolean;
  charge: boolean;
  transfer: boolean;
}

/** An account with a longer chain than this is not new. */
const newAtMost = 100;

const selectFirstSteps: Statement = {
  name: 'panel_first_steps',
  text: `WITH early AS MATERIALIZED (
      SELECT coalesce(bool_or(j.template IN ('credit', 'cardApprove')), false) AS charge, coalesce(bool_or(j.template = 'complete'), false) AS transfer
      FROM (SELECT account_id, operation_id FROM balance WHERE account_id = $1) b
        JOIN journal j ON j.account_id = b.account_id AND j.chain_id = b.operation_id AND j.seq <= ${newAtMost})
    SELECT EXISTS (SELECT 1 FROM api_key WHERE account_id = $1 AND revoked_at IS NULL) AS key,
      EXISTS (SELECT 1 FROM webhook_endpoint WHERE account_id = $1) AS webhook, charge, transfer
    FROM early WHERE NOT EXISTS (SELECT 1 FROM balance WHERE account_id = $1 AND seq > ${newAtMost})`,
};

/** The first steps of a new account over all of its operations; null: it is not new any more. */
export const findFirstSteps = async (sql: Queries, accountId: string): Promise<FirstSteps | null> =>
  (await sql.run<FirstSteps>(selectFirstSteps, [accountId]))[0] ?? null;

const selectPlatform: Statement = {
  name: 'panel_platform',
  text: `SELECT i.withdrawals_paused_at IS NOT NULL AS "withdrawalsPaused", a.withdrawals_blocked AS "withdrawalsBlocked", a.enabled
    FROM installation i, account a WHERE a.id = $1`,
};

export interface Restrictions {
  withdrawalsPaused: boolean;
  withdrawalsBlocked: boolean;
  enabled: boolean;
}

export const findRestrictions = async (sql: Queries, accountId: string): Promise<Restrictions> =>
  (await sql.run<Restrictions>(selectPlatform, [accountId]))[0] as Restrictions;
