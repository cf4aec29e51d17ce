import type { Quotas } from '../../ground/quotas.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { timestamp } from '../../store/database/pool.ts';

/** A support view in force: an operator who sees the panel of one account, and changes nothing there. */
export interface SupportView {
  id: string;
  operatorName: string;
  operatorEmail: string;
  /** Of the operator's session: the view is used from nowhere else. */
  network: string;
  reason: string;
  endsAt: number;
  accountId: string;
  accountNumber: number;
  accountName: string;
  cell: string;
  test: boolean;
  connection: string;
  quotas: Quotas;
}

/** An operator whose session has been idle for so long is out of the console, and of its views. */
const idle = `interval '30 minutes'`;

/** Its own time, the operator's session and standing, and the grant: whatever of them ends, ends the view. */
const inForce = `v.ended_at IS NULL AND v.ends_at > $1 AND s.expires_at > $1 AND s.seen_at > $1::timestamptz - ${idle}
    AND p.suspended_at IS NULL AND p.enrolled_at IS NOT NULL AND p.role = v.role
    AND (NOT v.granted OR EXISTS (SELECT FROM support_grant g WHERE g.account_id = v.account_id AND g.until_at > $1))`;
const standing = `support_view v JOIN operator_session s ON s.id = v.session_id AND s.operator_id = v.operator_id
    JOIN operator_person p ON p.id = v.operator_id`;

const byToken: Statement = {
  name: 'support_view_in_force',
  text: `SELECT v.id, p.name AS "operatorName", p.email AS "operatorEmail", s.network, v.reason, v.ends_at AS "endsAt",
      a.id AS "accountId", a.number AS "accountNumber", a.name AS "accountName", a.cell, a.test, a.connection, a.rate_quotas AS quotas
    FROM ${standing} JOIN account a ON a.id = v.account_id
    WHERE v.token_hash = $2 AND ${inForce}`,
};

export const findView = async (
  sql: Queries,
  tokenHash: Buffer,
  now: number,
): Promise<SupportView | undefined> => (await sql.run<SupportView>(byToken, [timestamp(now), tokenHash]))[0];

const byIds: Statement = {
  name: 'support_views_in_force',
  text: `SELECT v.id FROM ${standing} WHERE v.id = ANY ($2::uuid[]) AND ${inForce}`,
};

/** Those of these views that are in force. */
export const findViewsInForce = async (
  sql: Queries,
  ids: readonly string[],
  now: number,
): Promise<string[]> => (await sql.run<{ id: string }>(byIds, [timestamp(now), ids])).map(({ id }) => id);

const ofAccounts: Statement = {
  name: 'support_views_of_accounts',
  text: `SELECT v.account_id AS "accountId", max(v.ends_at) AS "endsAt" FROM ${standing}
    WHERE v.account_id = ANY ($2::uuid[]) AND ${inForce} GROUP BY v.account_id`,
};

/** Which of these accounts an operator sees now, and until when. */
export const findSeenAccounts = async (
  sql: Queries,
  accountIds: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, number>> => {
  const rows = await sql.run<{ accountId: string; endsAt: number }>(ofAccounts, [timestamp(now), accountIds]);
  return new Map(rows.map(({ accountId, endsAt }) => [accountId, endsAt]));
};

const insert: Statement = {
  name: 'support_view_insert',
  text: `INSERT INTO support_view (id, account_id, operator_id, session_id, token_hash, role, reason, granted, begun_at, ends_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
};

export const insertView = (
  tx: Queries,
  view: {
    id: string;
    accountId: string;
    operatorId: string;
    sessionId: string;
    tokenHash: Buffer;
    role: string;
    reason: string;
    granted: boolean;
    begunAt: number;
    endsAt: number;
  },
): Promise<unknown> =>
  tx.run(insert, [
    ...[view.id, view.accountId, view.operatorId, view.sessionId, view.tokenHash, view.role, view.reason],
    ...[view.granted, timestamp(view.begunAt), timestamp(view.endsAt)],
  ]);

const endOfSession: Statement = {
  name: 'support_view_end_of_session',
  text: `UPDATE support_view SET ended_at = $2 WHERE session_id = $1 AND ended_at IS NULL AND ends_at > $2
    RETURNING id, account_id AS "accountId"`,
};

/** The views of an operator's session. @returns those that ended */
export const endViewsOfSession = (
  tx: Queries,
  sessionId: string,
  now: number,
): Promise<{ id: string; accountId: string }[]> => tx.run(endOfSession, [sessionId, timestamp(now)]);

const endOfAccount: Statement = {
  name: 'support_view_end_of_account',
  text: `UPDATE support_view SET ended_at = $2 WHERE account_id = $1 AND ended_at IS NULL AND ends_at > $2`,
};
const dropGrant: Statement = {
  name: 'support_grant_drop',
  text: 'DELETE FROM support_grant WHERE account_id = $1',
};

/** No operator sees the account any more, and none begins under the grant that there was. */
export async function endSupport(tx: Queries, accountId: string, now: number): Promise<void> {
  await tx.run(dropGrant, [accountId]);
  await tx.run(endOfAccount, [accountId, timestamp(now)]);
}

const putGrant: Statement = {
  name: 'support_grant_put',
  text: `INSERT INTO support_grant (account_id, granted_by, granted_at, until_at) VALUES ($1, $2, $3, $4)
    ON CONFLICT (account_id) DO UPDATE SET granted_by = $2, granted_at = $3, until_at = $4`,
};

/** In the place of the one before. */
export const putSupportGrant = (
  tx: Queries,
  grant: { accountId: string; grantedBy: string; grantedAt: number; untilAt: number },
): Promise<unknown> =>
  tx.run(putGrant, [grant.accountId, grant.grantedBy, timestamp(grant.grantedAt), timestamp(grant.untilAt)]);

const readGrant: Statement = {
  name: 'support_grant_read',
  text: 'SELECT until_at AS "untilAt" FROM support_grant WHERE account_id = $1 AND until_at > $2',
};

/** @returns until when; null: there is none */
export const findSupportGrant = async (
  sql: Queries,
  accountId: string,
  now: number,
): Promise<number | null> =>
  (await sql.run<{ untilAt: number }>(readGrant, [accountId, timestamp(now)]))[0]?.untilAt ?? null;

export interface ListedView {
  operatorName: string;
  reason: string;
  granted: boolean;
  begunAt: number;
  endsAt: number;
  endedAt: number | null;
}

const list: Statement = {
  name: 'support_view_list',
  text: `SELECT p.name AS "operatorName", v.reason, v.granted, v.begun_at AS "begunAt", v.ends_at AS "endsAt", v.ended_at AS "endedAt"
    FROM support_view v JOIN operator_person p ON p.id = v.operator_id
    WHERE v.account_id = $1 ORDER BY v.begun_at DESC LIMIT 50`,
};

export const listViews = (sql: Queries, accountId: string): Promise<ListedView[]> =>
  sql.run<ListedView>(list, [accountId]);

const owners: Statement = {
  name: 'support_owners',
  text: `SELECT a.name AS "accountName", u.email FROM account a
      LEFT JOIN panel_member m ON m.account_id = a.id AND m.role = 'owner'
      LEFT JOIN panel_user u ON u.id = m.user_id AND u.email_verified
    WHERE a.id = $1 ORDER BY u.email`,
};

/** @returns undefined: there is no such account */
export async function findOwners(
  sql: Queries,
  accountId: string,
): Promise<{ accountName: string; emails: string[] } | undefined> {
  const rows = await sql.run<{ accountName: string; email: string | null }>(owners, [accountId]);
  const [first] = rows;
  return (
    first && {
      accountName: first.accountName,
      emails: rows.flatMap(({ email }) => (email === null ? [] : [email])),
    }
  );
}
