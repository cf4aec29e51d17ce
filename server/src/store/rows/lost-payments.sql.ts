import type { PaymentKind } from '../../money/payment.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { defineTable, text, timestamptz, uuid } from '../database/define-table.ts';

/**
 * A payment that a provider lists under an id of ours and the books lack: it was made in a time that the database lost. The id names the account, not
 * the operation and not the request. So the merchant's repeat of the request brings it back (`adoptedIntent`), and until then, or until a
 * person has decided, a payout stops the account's withdrawals.
 */
export interface LostPayment {
  accountId: string;
  paymentId: string;
  /** Where the provider lists it. */
  connection: string;
  /** `checkout`: by card, at an acquirer. */
  kind: PaymentKind | 'checkout';
  /** As the provider says it; a line of a statement says only that money moved. */
  status: 'open' | 'pending' | 'settled' | 'refused';
  /** The provider's own name of it from its first answer, where its queries need that. */
  providerRef: string | null;
  /** The account at the provider that lists it; null: found before accounts were kept with it. */
  identity: string | null;
  foundAt: number;
  /** A person has looked: it no longer stops the account's withdrawals. */
  decidedAt: number | null;
}

/** Keyed like payments. Found by `noteLost`; a till decides or removes. */
export const lostPayments = defineTable<LostPayment>({
  name: 'lost_payment',
  alias: 'l',
  key: ['accountId', 'paymentId'],
  verbs: ['read', 'update', 'delete'],
  columns: {
    accountId: uuid,
    paymentId: uuid,
    connection: text,
    kind: text,
    status: text,
    providerRef: text.orNull,
    identity: text.orNull,
    foundAt: timestamptz,
    decidedAt: timestamptz.orNull.changes,
  },
});

const note: Statement = {
  name: 'lost_payment_note',
  text: `INSERT INTO lost_payment AS l (account_id, payment_id, connection, kind, status, provider_ref, found_at, identity)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (account_id, payment_id) DO UPDATE
      SET status = EXCLUDED.status, provider_ref = coalesce(EXCLUDED.provider_ref, l.provider_ref)
      WHERE l.connection = EXCLUDED.connection AND l.status IN ('open', 'pending')`,
};

const mark: Statement = {
  name: 'lost_payment_mark',
  text: 'UPDATE account SET lost_payments = true WHERE id = $1 AND NOT lost_payments',
};

const place: Statement = {
  name: 'lost_payment_place',
  text: `WITH decided AS MATERIALIZED (SELECT l.account_id FROM lost_payment l
      WHERE l.account_id = (SELECT id FROM account WHERE number = $1) AND l.payment_id = $2 AND l.decided_at IS NOT NULL)
    SELECT a.id AS "accountId", (SELECT coalesce(p.connection, a.first_connection, a.connection)
      FROM payment p WHERE p.account_id = a.id AND p.id = $2) AS "bookedOn",
      EXISTS (SELECT FROM decided d WHERE d.account_id = a.id) AS decided
    FROM account a WHERE a.number = $1`,
};

export interface LostPlace {
  accountId: string;
  /** The connection of the payment that the books have under the id; null: they have none. */
  bookedOn: string | null;
  /** A person has decided about it. */
  decided: boolean;
}

/** Whose an id of our form is. Undefined: no account has its number, so it is not ours, or its account was lost as well. */
export const findLostPlace = async (
  sql: Queries,
  accountNumber: number,
  paymentId: string,
): Promise<LostPlace | undefined> => (await sql.run<LostPlace>(place, [accountNumber, paymentId]))[0];

/** Stores it, or the later word on it. From the commit on a new payment of the account looks here first. */
export async function storeLost(
  tx: Queries,
  lost: Omit<LostPayment, 'decidedAt' | 'foundAt'>,
  now: number,
): Promise<void> {
  const { accountId, paymentId, connection, kind, status, providerRef, identity } = lost;
  const found = new Date(now).toISOString();
  await Promise.all([
    tx.run(mark, [accountId]),
    tx.run(note, [accountId, paymentId, connection, kind, status, providerRef, found, identity]),
  ]);
}
