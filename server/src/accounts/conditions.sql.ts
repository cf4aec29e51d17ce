import type { Readable } from '../ledger/till.ts';
import type { Statement } from '../ports/sql.ts';

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
}

const select: Statement = {
  name: 'conditions_read',
  text: `SELECT id AS "accountId", enabled, withdrawals_blocked AS "withdrawalsBlocked", withdrawal_fee_cents AS "withdrawalFeeCents",
      withdrawal_fee_bps AS "withdrawalFeeBps", deposit_fee_cents AS "depositFeeCents", deposit_fee_bps AS "depositFeeBps",
      minimum_deposit_cents AS "minimumDepositCents", maximum_deposit_cents AS "maximumDepositCents",
      minimum_withdrawal_cents AS "minimumWithdrawalCents", maximum_withdrawal_cents AS "maximumWithdrawalCents"
    FROM account WHERE id = ANY ($1::uuid[])`,
};

/** Keyed by account. */
export const conditions: Readable<Conditions> = {
  name: 'conditions',
  keyOf: (row) => row.accountId,
  read: (tx, keys) => tx.run<Conditions>(select, [keys]),
};

/** What holds for the whole installation. */
export interface Platform {
  withdrawalsPausedAt: number | null;
  /** Set by a restore until a reconciliation has ended. */
  restoredAt: number | null;
}

const selectPlatform: Statement = {
  name: 'platform_read',
  text: `SELECT withdrawals_paused_at AS "withdrawalsPausedAt", restored_at AS "restoredAt" FROM installation`,
};

export const platformKey = 'installation';

/** One row, under `platformKey`. */
export const platform: Readable<Platform> = {
  name: 'platform',
  keyOf: () => platformKey,
  read: (tx) => tx.run<Platform>(selectPlatform),
};
