import type { PaymentKind } from '../../money/payment.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import type { Table } from '../database/table.ts';

/**
 * What a provider lists under an id of ours and the books lack: it was made in a time that the database lost. The id names the account, not
 * the operation and not the request. So the merchant's repeat of the request brings it back (`adoptedIntent`), and until then, or until a
 * person has decided, a payout stops the account's withdrawals.
 */
export interface LostPayment {
  accountId: string;
  paymentId: string;
  /** Where the provider lists it. */
  connection: string;
  kind: PaymentKind;
  /** As the provider says it; a line of a statement says only that money moved. */
  status: 'open' | 'pending' | 'settled' | 'refused';
  /** What the provider named it in its first answer, where its queries need that. */
  providerRef: string | null;
  foundAt: number;
  /** A person has looked: it no longer stops the account's withdrawals. */
  decidedAt: number | null;
}

const select: Statement = {
  name: 'lost_payment_read',
  text: `SELECT l.account_id AS "accountId", l.payment_id AS "paymentId", l.connection, l.kind, l.status, l.provider_ref AS "providerRef",
      l.found_at AS "foundAt", l.decided_at AS "decidedAt"
    FROM lost_payment l JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, payment_id) USING (account_id, payment_id)`,
};

const decide: Statement = {
  name: 'lost_payment_decide',
  text: `UPDATE lost_payment l SET decided_at = k.decided_at
    FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) AS k (account_id, payment_id, decided_at)
    WHERE l.account_id = k.account_id AND l.payment_id = k.payment_id`,
};

const remove: Statement = {
  name: 'lost_payment_delete',
  text: `DELETE FROM lost_payment l USING unnest($1::uuid[], $2::uuid[]) AS k (account_id, payment_id)
    WHERE l.account_id = k.account_id AND l.payment_id = k.payment_id`,
};

const halves = (keys: readonly string[]): [accounts: string[], payments: string[]] => [
  keys.map((key) => key.slice(0, 36)),
  keys.map((key) => key.slice(36)),
];

/** Keyed like payments. Found by `noteLost`; a till decides or removes. */
export const lostPayments: Table<LostPayment> = {
  name: 'lost_payment',
  rank: 25,
  keyOf: (lost) => lost.accountId + lost.paymentId,
  read: (tx, keys) => tx.run<LostPayment>(select, halves(keys)),
  write: (tx, { updated, deleted }) => [
    ...(updated.length === 0
      ? []
      : [
          tx.run(decide, [
            updated.map((lost) => lost.accountId),
            updated.map((lost) => lost.paymentId),
            updated.map((lost) => lost.decidedAt),
          ]),
        ]),
    ...(deleted.length === 0 ? [] : [tx.run(remove, halves(deleted))]),
  ],
};

const note: Statement = {
  name: 'lost_payment_note',
  text: `INSERT INTO lost_payment AS l (account_id, payment_id, connection, kind, status, provider_ref, found_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
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
  text: `SELECT a.id AS "accountId", (SELECT coalesce(p.connection, a.first_connection, a.connection)
      FROM payment p WHERE p.account_id = a.id AND p.id = $2) AS "bookedOn",
      EXISTS (SELECT FROM lost_payment l WHERE l.account_id = a.id AND l.payment_id = $2 AND l.decided_at IS NOT NULL) AS decided
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
  const { accountId, paymentId, connection, kind, status, providerRef } = lost;
  await Promise.all([
    tx.run(mark, [accountId]),
    tx.run(note, [accountId, paymentId, connection, kind, status, providerRef, new Date(now).toISOString()]),
  ]);
}
