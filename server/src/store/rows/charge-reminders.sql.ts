import type { DueCharge } from '../../money/due.ts';
import type { PaymentStatus } from '../../money/payment.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { defineTable, integer, timestamptz, uuid } from '../database/define-table.ts';
import { timestamp } from '../database/pool.ts';

export interface ChargeReminder {
  accountId: string;
  /** The charge. */
  paymentId: string;
  /** Of the next one; null: none is sent any more. */
  dueAt: number | null;
  sentCount: number;
}

/** The till writes one with its charge, and moves it with a change of the due date. */
export const chargeReminders = defineTable<ChargeReminder>({
  name: 'charge_reminder',
  alias: 'm',
  key: ['accountId', 'paymentId'],
  verbs: ['read', 'insert', 'update'],
  columns: { accountId: uuid, paymentId: uuid, dueAt: timestamptz.orNull.changes, sentCount: integer },
});

/** A reminder whose time has come, with its charge as it stands at this moment. */
export interface DueReminder {
  accountId: string;
  accountNumber: number;
  accountName: string;
  /** Off: nothing goes out in its name any more. */
  enabled: boolean;
  test: boolean;
  paymentId: string;
  operationId: string;
  status: PaymentStatus;
  amountCents: number;
  due: DueCharge;
  payer: Buffer;
  /** The merchant has asked to cancel it. */
  isCancelling: boolean;
  /** Until when it is hidden: names this claim. */
  claimedUntil: number;
}

const claim: Statement = {
  name: 'charge_reminder_claim',
  text: `WITH due AS (
      SELECT account_id, payment_id FROM charge_reminder WHERE due_at <= $1 ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    UPDATE charge_reminder m SET due_at = $2
    FROM due
      JOIN payment p ON p.account_id = due.account_id AND p.id = due.payment_id
      JOIN account a ON a.id = due.account_id
    WHERE m.account_id = due.account_id AND m.payment_id = due.payment_id
    RETURNING m.account_id AS "accountId", a.number AS "accountNumber", a.name AS "accountName", a.enabled, a.test, p.id AS "paymentId",
      p.operation_id AS "operationId", p.status, p.amount_cents AS "amountCents", p.due, p.payer,
      EXISTS (SELECT FROM charge_cancel c WHERE c.account_id = p.account_id AND c.payment_id = p.id) AS "isCancelling",
      m.due_at AS "claimedUntil"`,
};

/** Takes the reminder that is due for longest, as its charge stands at this moment. Hidden from other processes until `untilMs`. */
export const claimReminder = async (
  sql: Queries,
  nowMs: number,
  untilMs: number,
): Promise<DueReminder | undefined> =>
  (await sql.run<DueReminder>(claim, [timestamp(nowMs), timestamp(untilMs)]))[0];

const plan: Statement = {
  name: 'charge_reminder_plan',
  text: `UPDATE charge_reminder SET due_at = CASE WHEN due_at = $5 THEN $3 ELSE due_at END, sent_count = sent_count + $4
    WHERE account_id = $1 AND payment_id = $2`,
};

const unplan: Statement = {
  name: 'charge_reminder_unplan',
  text: 'UPDATE charge_reminder SET due_at = NULL WHERE account_id = $1 AND payment_id = $2',
};

interface Named {
  accountId: string;
  paymentId: string;
}

/**
 * Plans the next one, unless the charge or the payer has planned otherwise while this one was under way: a changed due date, an end, no mails any more.
 * @param sent how many mails have left since it was read: 0 or 1
 */
export const planReminder = (
  sql: Queries,
  { accountId, paymentId, claimedUntil }: Named & Pick<DueReminder, 'claimedUntil'>,
  dueAt: number | null,
  sent: 0 | 1,
): Promise<unknown> =>
  sql.run(plan, [
    accountId,
    paymentId,
    dueAt === null ? null : timestamp(dueAt),
    sent,
    timestamp(claimedUntil),
  ]);

/** The charge has no reminder any more. */
export const unplanReminder = (sql: Queries, { accountId, paymentId }: Named): Promise<unknown> =>
  sql.run(unplan, [accountId, paymentId]);

const stopped: Statement = {
  name: 'reminder_stopped',
  text: 'SELECT FROM reminder_stop WHERE account_id = $1 AND address = $2',
};

export const isStopped = async (sql: Queries, accountId: string, address: Buffer): Promise<boolean> =>
  (await sql.run(stopped, [accountId, address])).length > 0;

const stop: Statement = {
  name: 'reminder_stop',
  text: 'INSERT INTO reminder_stop (account_id, address, stopped_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
};

export const stopAddress = (
  sql: Queries,
  accountId: string,
  address: Buffer,
  now: number,
): Promise<unknown> => sql.run(stop, [accountId, address, timestamp(now)]);

const ofCharge: Statement = {
  name: 'charge_reminder_payer',
  text: `SELECT p.account_id AS "accountId", p.id AS "paymentId", p.payer FROM account a
      JOIN charge_reminder m ON m.account_id = a.id AND m.payment_id = $2
      JOIN payment p ON p.account_id = m.account_id AND p.id = m.payment_id
    WHERE a.number = $1`,
};

/** The charge of a reminder's page; undefined: no reminder is sent of it. */
export const findReminded = async (
  sql: Queries,
  accountNumber: number,
  id: string,
): Promise<(Named & { payer: Buffer }) | undefined> =>
  (await sql.run<Named & { payer: Buffer }>(ofCharge, [accountNumber, id]))[0];
