import type { Intent } from '../../money/intent.ts';
import type { RefundFees } from '../../money/refund.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import type { Readable } from '../database/table.ts';

/** An account's conditions, as every flush reads them. Shared by its operations. */
export interface Conditions {
  accountId: string;
  enabled: boolean;
  withdrawalsBlocked: boolean;
  withdrawalFeeCents: number;
  withdrawalFeeBps: number;
  depositFeeCents: number;
  depositFeeBps: number;
  minimumDepositCents: number;
  maximumDepositCents: number;
  minimumWithdrawalCents: number;
  maximumWithdrawalCents: number;
  refundFees: RefundFees;
  /** The acquirer's connection; null: the account takes no cards. */
  cardConnection: string | null;
  cardFeeCents: number;
  cardFeeBps: number;
  minimumCardCents: number;
  maximumCardCents: number;
  /** The hosts to which a card payment may send its payer back, each with its port unless it is 443. */
  returnHosts: readonly string[];
}

/** The conditions, and what a time that the database lost left to be decided (`flow/lost-payments.ts`). */
export interface AccountState extends Conditions {
  /** A provider lists ids of this account that the books lack: a new payment looks among them first. */
  lostPayments: boolean;
  /** A payout is among them that was not repeated, and that no person has decided: the account's withdrawals are stopped. */
  lostPayouts: boolean;
}

/** The second question is asked of accounts alone that have lost payments. */
const select: Statement = {
  name: 'conditions_read',
  text: `SELECT id AS "accountId", enabled, withdrawals_blocked AS "withdrawalsBlocked", withdrawal_fee_cents AS "withdrawalFeeCents",
      withdrawal_fee_bps AS "withdrawalFeeBps", deposit_fee_cents AS "depositFeeCents", deposit_fee_bps AS "depositFeeBps",
      minimum_deposit_cents AS "minimumDepositCents", maximum_deposit_cents AS "maximumDepositCents",
      minimum_withdrawal_cents AS "minimumWithdrawalCents", maximum_withdrawal_cents AS "maximumWithdrawalCents",
      refund_fees AS "refundFees", card_connection AS "cardConnection", card_fee_cents AS "cardFeeCents", card_fee_bps AS "cardFeeBps",
      minimum_card_cents AS "minimumCardCents", maximum_card_cents AS "maximumCardCents",
      return_hosts AS "returnHosts", lost_payments AS "lostPayments",
      CASE WHEN lost_payments THEN EXISTS (SELECT FROM lost_payment l WHERE l.account_id = account.id AND l.kind = 'transfer'
        AND l.status <> 'refused' AND l.decided_at IS NULL) ELSE false END AS "lostPayouts"
    FROM account WHERE id = ANY ($1::uuid[])`,
};

/** Keyed by account. */
export const conditions: Readable<AccountState> = {
  name: 'conditions',
  keyOf: (row) => row.accountId,
  read: (tx, keys) => tx.run<AccountState>(select, [keys]),
};

const update: Statement = {
  name: 'conditions_update',
  text: `UPDATE account SET enabled = $2, withdrawals_blocked = $3, withdrawal_fee_cents = $4, withdrawal_fee_bps = $5,
      deposit_fee_cents = $6, deposit_fee_bps = $7, minimum_deposit_cents = $8, maximum_deposit_cents = $9,
      minimum_withdrawal_cents = $10, maximum_withdrawal_cents = $11, refund_fees = $12,
      card_connection = $13, card_fee_cents = $14, card_fee_bps = $15, minimum_card_cents = $16, maximum_card_cents = $17, return_hosts = $18::text[]
    WHERE id = $1`,
};

/** Under the account's lock (`lock.sql.ts`). */
export const updateConditions = (tx: Queries, after: Conditions): Promise<unknown> =>
  tx.run(update, [
    after.accountId,
    after.enabled,
    after.withdrawalsBlocked,
    after.withdrawalFeeCents,
    after.withdrawalFeeBps,
    after.depositFeeCents,
    after.depositFeeBps,
    after.minimumDepositCents,
    after.maximumDepositCents,
    after.minimumWithdrawalCents,
    after.maximumWithdrawalCents,
    after.refundFees,
    after.cardConnection,
    after.cardFeeCents,
    after.cardFeeBps,
    after.minimumCardCents,
    after.maximumCardCents,
    after.returnHosts,
  ]);

const cardConnection: Statement = {
  name: 'account_card_connection',
  text: 'SELECT card_connection AS connection FROM account WHERE id = $1',
};

/** Null: the account takes no cards. */
export const findCardConnection = async (sql: Queries, accountId: string): Promise<string | null> =>
  (await sql.run<{ connection: string | null }>(cardConnection, [accountId]))[0]?.connection ?? null;

/** The conditions of the whole installation. */
export interface Platform {
  withdrawalsPausedAt: number | null;
  /** Set by a restore until a reconciliation has ended. */
  restoredAt: number | null;
  /** Connections whose payouts of a time that a restore lost were never compared: their providers list none. */
  uncompared: string[];
  /** The connections of the database, while first sends are queried elsewhere before they go out; else none. */
  recorded: string[];
}

const selectPlatform: Statement = {
  name: 'platform_read',
  text: `SELECT withdrawals_paused_at AS "withdrawalsPausedAt", restored_at AS "restoredAt",
    uncompared_connections AS uncompared, CASE WHEN restored_at IS NULL AND uncompared_connections = '{}' THEN '{}'
      ELSE ARRAY(SELECT id FROM connection WHERE adapter IS NOT NULL) END AS recorded FROM installation`,
};

export const platformKey = 'installation';

/** One row, under `platformKey`. */
export const platform: Readable<Platform> = {
  name: 'platform',
  keyOf: () => platformKey,
  read: (tx) => tx.run<Platform>(selectPlatform),
};

/**
 * How often an id may have been sent in a time that a restore lost, as far as a refusal is concerned: with 1, the refusal of its first send counts as
 * that of a repeat, and releases nothing. Charges and refunds are listed by every provider, payouts are not.
 */
export const lostAttempts = (
  installation: Platform | undefined,
  { kind, connection }: Pick<Intent, 'kind' | 'connection'>,
): 0 | 1 =>
  installation?.restoredAt !== null || (kind === 'transfer' && installation.uncompared.includes(connection))
    ? 1
    : 0;

/**
 * Whether a backup was restored and the provider's lists have not been compared since. A statement of its own, because this row stands in the
 * directory and accounts' rows in their cell, which may be on another machine.
 */
export const isRestored = async (sql: Queries): Promise<boolean> =>
  (await platform.read(sql, [platformKey]))[0]?.restoredAt !== null;
