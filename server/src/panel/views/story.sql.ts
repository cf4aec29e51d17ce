import type { Queries, Statement } from '../../ports/sql.ts';

/** Happenings around a payment, beside its own states: each list has at most 50 rows. */
const most = 50;

export interface StoryIncident {
  id: string;
  kind: string;
  amountCents: number;
  openedAt: number;
  resolvedAt: number | null;
  action: string | null;
  decidedBy: 'account' | 'operator' | 'rule' | null;
}

const selectIncidents: Statement = {
  name: 'panel_incidents_of_payment',
  text: `SELECT id, kind, amount_cents AS "amountCents", opened_at AS "openedAt", resolved_at AS "resolvedAt",
      resolution ->> 'action' AS action, CASE WHEN resolution ->> 'actor' LIKE 'panel:%' THEN 'account'
        WHEN resolution ->> 'actor' = 'rule' THEN 'rule' WHEN resolved_at IS NOT NULL THEN 'operator' END AS "decidedBy"
    FROM incident WHERE account_id = $1 AND payment_id = $2 ORDER BY opened_at, id LIMIT ${most}`,
};

export const findIncidentsOf = (
  sql: Queries,
  accountId: string,
  paymentId: string,
): Promise<StoryIncident[]> => sql.run<StoryIncident>(selectIncidents, [accountId, paymentId]);

export interface StoryRefund {
  id: string;
  status: string;
  reason: string;
  amountCents: number;
  createdAt: number;
  updatedAt: number;
  settledAt: number | null;
}

const selectRefunds: Statement = {
  name: 'panel_refunds_of_payment',
  text: `SELECT id, status, reason, amount_cents AS "amountCents", created_at AS "createdAt", updated_at AS "updatedAt", settled_at AS "settledAt"
    FROM refund WHERE account_id = $1 AND payment_id = $2 ORDER BY created_at, id LIMIT ${most}`,
};

export const findRefundsOf = (sql: Queries, accountId: string, paymentId: string): Promise<StoryRefund[]> =>
  sql.run<StoryRefund>(selectRefunds, [accountId, paymentId]);

export interface StoryReturn {
  amountCents: number;
  at: number;
}

const selectReturns: Statement = {
  name: 'panel_returns_of_payment',
  text: `SELECT k.amount_cents AS "amountCents", k.at FROM known_return k
    WHERE k.account_id = $1 AND k.payment = $2::text AND NOT EXISTS (SELECT FROM refund r
      WHERE r.account_id = $1 AND r.payment_id = $2::uuid AND replace(r.id::text, '-', '') = k.return_id)
    ORDER BY k.at, k.reference LIMIT ${most}`,
};

/** Returns of its Pix that no refund of ours asked for. */
export const findReturnsOf = (sql: Queries, accountId: string, paymentId: string): Promise<StoryReturn[]> =>
  sql.run<StoryReturn>(selectReturns, [accountId, paymentId]);
