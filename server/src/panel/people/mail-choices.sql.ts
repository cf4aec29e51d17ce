import type { Language } from '../../ground/errors.ts';
import { partsOf } from '../../operate/statement/stretches.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { timestamp } from '../../store/database/pool.ts';
import type { Pace, QuietHours, Zone } from './mail-times.ts';

/** The last entry of each operation, by its id. */
export type Heads = Readonly<Record<string, number>>;

export interface MailChoice extends QuietHours {
  accountId: string;
  userId: string;
  /** `YYYY-MM`, announced next at `monthDueAt`; null: none is. */
  month: string | null;
  monthDueAt: number | null;
  received: Pace;
  receivedDueAt: number | null;
  /** As far as such a mail has counted. */
  told: Heads;
}

const columns = `c.account_id AS "accountId", c.user_id AS "userId", c.month, c.month_due_at AS "monthDueAt", c.received,
  c.received_due_at AS "receivedDueAt", c.told, c.quiet_from AS "quietFrom", c.quiet_to AS "quietTo", c.zone`;

const select: Statement = {
  name: 'mail_choice',
  text: `SELECT ${columns} FROM panel_mail_choice c WHERE c.account_id = $1 AND c.user_id = $2`,
};

export const findMailChoice = async (
  sql: Queries,
  accountId: string,
  userId: string,
): Promise<MailChoice | undefined> => (await sql.run<MailChoice>(select, [accountId, userId]))[0];

/** A choice that was made before continues where it stands, also while its mail is under way: nothing is sent twice or left out by a change of something else. */
const put: Statement = {
  name: 'mail_choice_put',
  text: `INSERT INTO panel_mail_choice AS c (account_id, user_id, month, month_due_at, received, received_due_at, told, quiet_from, quiet_to, zone)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    ON CONFLICT (account_id, user_id) DO UPDATE SET
      month = CASE WHEN excluded.month IS NOT NULL THEN coalesce(c.month, excluded.month) END,
      month_due_at = CASE WHEN excluded.month IS NOT NULL THEN coalesce(c.month_due_at, excluded.month_due_at) END,
      told = CASE WHEN c.received = 'off' THEN excluded.told ELSE c.told END,
      received = excluded.received, received_due_at = excluded.received_due_at,
      quiet_from = excluded.quiet_from, quiet_to = excluded.quiet_to, zone = excluded.zone`,
};

const time = (ms: number | null): string | null => (ms === null ? null : timestamp(ms));

export const putMailChoice = (tx: Queries, one: MailChoice): Promise<unknown> =>
  tx.run(put, [
    ...[one.accountId, one.userId, one.month, time(one.monthDueAt), one.received, time(one.receivedDueAt)],
    ...[JSON.stringify(one.told), one.quietFrom, one.quietTo, one.zone as Zone],
  ]);

/** A choice whose mail is due, hidden from other processes until `claimedUntil`. */
export interface DueMail extends MailChoice {
  email: string;
  language: Language;
  accountName: string;
  claimedUntil: number;
}

/**
 * The row itself is asked again once its lock is had: of two processes one gets it. Only of accounts of this cell, whose entries are here, and of people
 * whose address is confirmed.
 */
const claimOf = (name: string, due: 'month_due_at' | 'received_due_at'): Statement => ({
  name,
  text: `WITH d AS MATERIALIZED (
      SELECT c.account_id, c.user_id, u.email, u.language, a.name
      FROM panel_mail_choice c JOIN account a ON a.id = c.account_id JOIN panel_user u ON u.id = c.user_id
      WHERE c.${due} <= $1 AND a.cell = current_schema() AND u.email_verified ORDER BY c.${due} LIMIT $3)
    UPDATE panel_mail_choice c SET ${due} = $2 FROM d
    WHERE c.account_id = d.account_id AND c.user_id = d.user_id AND c.${due} <= $1
    RETURNING ${columns}, d.email, d.language, d.name AS "accountName", c.${due} AS "claimedUntil"`,
});

const claimMonth = claimOf('mail_choice_claim_month', 'month_due_at');
const claimReceived = claimOf('mail_choice_claim_received', 'received_due_at');

const claiming =
  (statement: Statement) =>
  (sql: Queries, now: number, untilMs: number, most: number): Promise<DueMail[]> =>
    sql.run<DueMail>(statement, [timestamp(now), timestamp(untilMs), most]);

export const claimMonths = claiming(claimMonth);
export const claimDigests = claiming(claimReceived);

const endMonth: Statement = {
  name: 'mail_choice_end_month',
  text: `UPDATE panel_mail_choice SET month = $4, month_due_at = $5 WHERE account_id = $1 AND user_id = $2 AND month_due_at = $3`,
};

export const endMonthMail = (
  sql: Queries,
  { accountId, userId, claimedUntil }: DueMail,
  next: { month: string; dueAt: number },
): Promise<unknown> =>
  sql.run(endMonth, [accountId, userId, timestamp(claimedUntil), next.month, timestamp(next.dueAt)]);

/** The count is noted also when the person has chosen another pace meanwhile, and not when they began anew. */
const endReceived: Statement = {
  name: 'mail_choice_end_received',
  text: `UPDATE panel_mail_choice SET told = $5, received_due_at = CASE WHEN received_due_at = $3 THEN $6 ELSE received_due_at END
    WHERE account_id = $1 AND user_id = $2 AND told = $4`,
};

export const endDigest = (
  sql: Queries,
  { accountId, userId, claimedUntil, told }: DueMail,
  next: { told: Heads; dueAt: number },
): Promise<unknown> =>
  sql.run(endReceived, [
    ...[accountId, userId, timestamp(claimedUntil), JSON.stringify(told)],
    ...[JSON.stringify(next.told), timestamp(next.dueAt)],
  ]);

const selectHeads: Statement = {
  name: 'mail_choice_heads',
  text: `SELECT b.operation_id AS "operationId", b.seq FROM balance b WHERE b.account_id = $1 AND b.operation_id <> b.account_id`,
};

/** The last entry of each operation of an account. */
export const findHeads = async (sql: Queries, accountId: string): Promise<Heads> =>
  Object.fromEntries(
    (await sql.run<{ operationId: string; seq: number }>(selectHeads, [accountId])).map(
      ({ operationId, seq }) => [operationId, seq],
    ),
  );

const selectReceived: Statement = {
  name: 'mail_choice_received',
  text: `SELECT coalesce(sum(r.count), 0)::bigint AS count, coalesce(sum(r.cents), 0)::bigint AS cents
    FROM unnest($2::uuid[], $3::bigint[], $4::bigint[]) AS o (id, after, upto)
      CROSS JOIN LATERAL (SELECT count(*) AS count, sum(available + reserved + held + receivable + fee_revenue) AS cents FROM journal j
        WHERE j.account_id = $1 AND j.chain_id = o.id AND j.seq > o.after AND j.seq <= o.upto
          AND j.template IN ('credit', 'creditFromSuspense', 'creditBesidePayment')) r`,
};

/**
 * The Pix that came in for the operations of an account, by their entries after one place and up to another: each is counted once. In parts: a day of a large
 * account is more than one statement may read.
 */
export async function findReceived(
  sql: Queries,
  accountId: string,
  after: Heads,
  upTo: Heads,
): Promise<{ count: number; cents: number }> {
  const sum = { count: 0, cents: 0 };
  const stretches = Object.entries(upTo).map(([chainId, seq]) => ({
    ...{ accountId, chainId, upTo: seq },
    after: after[chainId] ?? 0,
  }));
  for (const part of partsOf(stretches)) {
    const [row] = await sql.run<{ count: number; cents: number }>(selectReceived, [
      accountId,
      part.map(({ chainId }) => chainId),
      part.map((one) => one.after),
      part.map((one) => one.upTo),
    ]);
    sum.count += row?.count ?? 0;
    sum.cents += row?.cents ?? 0;
  }
  return sum;
}
