import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setConditions } from '../../src/operate/accounts/conditions.ts';
import {
  endRestore,
  pauseAfterRestore,
  pauseWithdrawals,
  resumeWithdrawals,
} from '../../src/operate/pause.ts';
import type { Operator } from '../../src/store/operator.ts';

let service: Service;

beforeAll(async () => {
  service = await openService();
});
afterAll(() => service.close());

const directory = (): Operator => ({ ...service.runtime, actor: 'tester' });

/** An operator's command about an account runs in the account's cell. */
const operator = (merchant: Pick<Merchant, 'ownerId'>): Operator => ({
  ...service.cellOf(merchant),
  actor: 'tester',
});

test('a new fee is for new payments; those that exist keep theirs [2.1b]', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(5_000);
  const { body: before } = await merchant.transfer({ pixKey: 'stay-pending@simulator.example' });
  await setConditions(operator(merchant), merchant.ownerId, {
    withdrawalFeeCents: 100,
    withdrawalFeeBps: 50,
  });
  const { body: after } = await merchant.transfer({ amountCents: 2_000 });
  expect([before.feeCents, after.feeCents, after.expectedNetAmountCents]).toEqual([25, 110, 1_890]);
  expect((await merchant.call('GET', `/payments/${before.id}`)).body.feeCents).toBe(25);
  expect((await merchant.call('GET', '/account')).body).toMatchObject({
    feeCents: 100,
    withdrawalFeeBps: 50,
  });
});

test('conditions only narrow the limits of the interface, and must leave room', async () => {
  const { ownerId } = await service.newMerchant();
  for (const change of [
    { minimumWithdrawalCents: 999 },
    { maximumWithdrawalCents: 1_000_001 },
    { minimumDepositCents: 199 },
    { maximumDepositCents: 200_001 },
    { withdrawalFeeCents: -1 },
    { depositFeeBps: 10_001 },
    { withdrawalFeeCents: 1.5 },
    { minimumDepositCents: 5_000, maximumDepositCents: 4_000 },
  ]) {
    await expect(setConditions(operator({ ownerId }), ownerId, change)).rejects.toThrow();
  }
  await expect(setConditions(directory(), crypto.randomUUID(), { enabled: false })).rejects.toThrow(
    'no such account',
  );
  expect(await service.database.admin('SELECT FROM audit WHERE account_id = $1', [ownerId])).toEqual([]);
});

test('a narrower limit and a disabled account refuse, and a repeat of what was accepted is still answered', async () => {
  const merchant = await service.newMerchant();
  const request = { amountCents: 900, requestKey: crypto.randomUUID() };
  const { body: charge } = await merchant.charge(request);
  await setConditions(operator(merchant), merchant.ownerId, { minimumDepositCents: 1_000 });
  expect((await merchant.charge({ amountCents: 900 })).body.code).toBe('amount_out_of_limits');
  await setConditions(operator(merchant), merchant.ownerId, { enabled: false });
  expect((await merchant.charge()).body.code).toBe('account_disabled');
  expect((await merchant.charge(request)).body.id).toBe(charge.id);
});

test('when a withdrawal block is answered, nothing that was begun before can still be accepted', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(100_000);
  let blockedAt = 0;
  const accepted: number[] = [];
  const callers = Array.from({ length: 8 }, async () => {
    for (;;) {
      const { status } = await merchant.transfer();
      if (status !== 201) return;
      accepted.push(1);
    }
  });
  await until(async () => accepted.length > 5);
  await setConditions(operator(merchant), merchant.ownerId, { withdrawalsBlocked: true });
  const [row] = await service.database.admin<{ transfers: number }>(
    `SELECT count(*)::integer AS transfers FROM payment WHERE account_id = $1 AND kind = 'transfer'`,
    [merchant.ownerId],
  );
  blockedAt = row?.transfers ?? 0;
  await Promise.all(callers);
  const [later] = await service.database.admin<{ transfers: number }>(
    `SELECT count(*)::integer AS transfers FROM payment WHERE account_id = $1 AND kind = 'transfer'`,
    [merchant.ownerId],
  );
  expect(later?.transfers).toBe(blockedAt);
  expect((await merchant.transfer()).body.code).toBe('withdrawals_blocked');
});

test('every change is on record, with what it was and what it is', async () => {
  const { ownerId } = await service.newMerchant();
  await setConditions(operator({ ownerId }), ownerId, { depositFeeCents: 7 });
  const [row] = await service.database.admin(
    'SELECT actor, action, detail FROM audit WHERE account_id = $1',
    [ownerId],
  );
  expect(row).toMatchObject({
    actor: 'tester',
    action: 'account.set',
    detail: { before: { depositFeeCents: 0 }, after: { depositFeeCents: 7 } },
  });
});

test('a pause stops every account, first sends included, and a resume lets them continue [1.4b]', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(5_000);
  expect(await pauseWithdrawals(directory(), 'the provider is in trouble')).toMatchObject({ paused: true });
  const refused = await merchant.transfer();
  expect([refused.status, refused.body.code]).toEqual([503, 'withdrawals_paused']);
  expect((await merchant.charge()).status).toBe(201);
  expect(await resumeWithdrawals(directory())).toEqual({ paused: false, reason: null, pausedAt: null });
  expect((await merchant.transfer()).status).toBe(201);
});

test('the pause of a restore ends with the comparison alone; one that an operator made stays', async () => {
  const restoredAt = service.runtime.clock.now();
  const ended = (restoredAt: number) =>
    endRestore(directory(), { restoredAt, unlisted: [], doubtful: [], reason: null });
  await service.runtime.sql.tx((tx) => pauseAfterRestore(tx, restoredAt));
  await expect(resumeWithdrawals(directory())).rejects.toThrow('reconcile');
  // The comparison was for a loss before this one.
  expect(await ended(restoredAt - 1)).toBe(false);
  expect(await ended(restoredAt)).toBe(true);
  expect(await ended(restoredAt)).toBe(false);
  const merchant = await service.newMerchant();
  await merchant.receive(2_000);
  expect((await merchant.transfer()).status).toBe(201);

  // In one and the same millisecond.
  const at = service.runtime.clock.now();
  await service.runtime.sql.tx((tx) => pauseAfterRestore(tx, at));
  const clock = { ...service.runtime.clock, now: () => at };
  await pauseWithdrawals({ ...directory(), clock }, 'and something else');
  expect(await ended(at)).toBe(true);
  expect((await merchant.transfer()).body.code).toBe('withdrawals_paused');
  await resumeWithdrawals(directory());
});
