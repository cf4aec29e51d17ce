import { deleteEndpoint, findEndpoints } from '../../events/webhooks/endpoints.sql.ts';
import { type KeyHolder, requirePermission } from '../../ground/caller.ts';
import { refuse } from '../../ground/errors.ts';
import { drawNumbers, insertBooks } from '../../operate/connections/directory.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Sql, Statement, Transaction } from '../../ports/sql.ts';
import { timestamp } from '../../store/database/pool.ts';
import { lockAccount } from '../../store/rows/lock.sql.ts';

/**
 * A fresh start for a test account. Journals are never removed, so it is another account that begins: with the same conditions, the same keys
 * and the same people. The account before is disabled and stays as it is, for the operator.
 */
export interface ResetDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
}

/** The rules of an account: what a fresh one has from the one before. A test holds both lists against the table's columns. */
export const copiedColumns = [
  'test',
  'connection',
  'first_connection',
  'charge_fallback',
  'enabled',
  'withdrawals_blocked',
  'withdrawal_fee_cents',
  'withdrawal_fee_bps',
  'deposit_fee_cents',
  'deposit_fee_bps',
  'minimum_deposit_cents',
  'maximum_deposit_cents',
  'minimum_withdrawal_cents',
  'maximum_withdrawal_cents',
  'rate_quotas',
  'refund_fees',
  'card_connection',
  'card_fee_cents',
  'card_fee_bps',
  'minimum_card_cents',
  'maximum_card_cents',
  'return_hosts',
  'return_odd_money',
  'return_odd_money_after_minutes',
  'return_odd_money_since',
  'merchant_odd_kinds',
  'merchant_odd_most_cents',
  'cell',
  'second_factor_grace_days',
  'second_factor_since',
  'name',
] as const;

/** The rows that every account has of its own. */
export const ownColumns = ['id', 'number', 'created_at', 'lost_payments'] as const;

const readRules: Statement = {
  name: 'test_account_rules',
  text: 'SELECT to_jsonb(account)::text AS rules FROM account WHERE id = $1 AND test',
};

/** A list of values, and no SELECT: Citus takes none with parameters. */
const copyAccount: Statement = {
  name: 'test_account_copy',
  text: `INSERT INTO account (id, number, created_at, ${copiedColumns.join(', ')})
    VALUES ($2, $3, $4, ${copiedColumns.map((column) => `(jsonb_populate_record(NULL::account, $1::jsonb)).${column}`).join(', ')})`,
};

const endAccount: Statement = {
  name: 'test_account_end',
  text: `UPDATE account SET enabled = false, name = left(name, 40) || ' (' || $2::text || ')' WHERE id = $1 AND test`,
};

/** Keys that ended stay where they were used. */
const moveKeys: Statement = {
  name: 'test_account_keys',
  text: 'UPDATE api_key SET account_id = $2 WHERE account_id = $1 AND revoked_at IS NULL RETURNING id',
};

const movePeople: Statement = {
  name: 'test_account_people',
  text: 'UPDATE panel_member SET account_id = $2 WHERE account_id = $1 RETURNING user_id AS "userId"',
};

const moveInvitations: Statement = {
  name: 'test_account_invitations',
  text: 'UPDATE panel_invitation SET account_id = $2 WHERE account_id = $1',
};

const moveProfile: Statement = {
  name: 'test_account_profile',
  text: 'UPDATE merchant_profile SET account_id = $2 WHERE account_id = $1',
};

const stopClock: Statement = {
  name: 'test_account_clock',
  text: 'UPDATE test_clock SET target_ahead_ms = NULL WHERE account_id = $1',
};

/**
 * @throws ApiError `test_account_required`, `permission_denied`; `account_disabled`: it was reset a moment ago
 */
export async function resetAccount(
  deps: ResetDeps,
  holder: KeyHolder,
): Promise<{ ownerId: string; operationId: string }> {
  // A provider's own test environment belongs to one account, and cannot be handed on.
  if (!holder.test || holder.connection !== 'simulator') throw refuse('test_account_required');
  // It ends operations and endpoints: `simulate` alone is not enough for that.
  requirePermission(holder.permissions, ['operations']);
  requirePermission(holder.permissions, ['webhooks']);
  return drawNumbers(() => deps.sql.tx((tx) => begin(tx, deps, holder)));
}

async function begin(
  tx: Transaction,
  { clock, ids }: ResetDeps,
  { accountId, keyId, userId }: KeyHolder,
): Promise<{ ownerId: string; operationId: string }> {
  const account = await lockAccount(tx, accountId);
  if (!account?.test) throw refuse('test_account_required');
  const now = clock.now();
  const fresh = { ownerId: ids.uuid(), operationId: ids.uuid() };
  let number = 0;
  while (number === 0) number = ids.bytes(4).readUInt32BE();
  const [found] = await tx.run<{ rules: string }>(readRules, [accountId]);
  if (!found) throw refuse('test_account_required');
  await tx.run(copyAccount, [found.rules, fresh.ownerId, number, timestamp(now)]);
  await insertBooks(tx, fresh, now);
  const moved = await tx.run<{ id: string }>(moveKeys, [accountId, fresh.ownerId]);
  const people = await tx.run<{ userId: string }>(movePeople, [accountId, fresh.ownerId]);
  // Of two resets at once the second finds keys and people gone.
  const followed =
    keyId === null ? people.some((one) => one.userId === userId) : moved.some(({ id }) => id === keyId);
  if (!followed) throw refuse('account_disabled');
  await tx.run(moveInvitations, [accountId, fresh.ownerId]);
  await tx.run(moveProfile, [accountId, fresh.ownerId]);
  for (const { id } of await findEndpoints(tx, accountId)) await deleteEndpoint(tx, accountId, id, now);
  await tx.run(stopClock, [accountId]);
  await tx.run(endAccount, [accountId, new Date(now).toISOString().slice(0, 16)]);
  return fresh;
}
