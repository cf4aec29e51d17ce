import { type Merchant, openService, type Service } from '@vintem/testkit/service.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listHolds, placeHold, releaseHold } from '../../src/operate/accounts/holds.ts';
import type { Operator } from '../../src/store/operator.ts';

let service: Service;

beforeAll(async () => {
  service = await openService();
});
afterAll(async () => {
  const wrong = await violationsOfBooks(service);
  await service.close();
  expect(wrong).toEqual([]);
});

const operator = (merchant: Merchant): Operator => ({ ...service.cellOf(merchant), actor: 'tester' });

const hold = (merchant: Merchant, amountCents: number) =>
  placeHold(operator(merchant), {
    operationId: merchant.operationId,
    amountCents,
    reason: 'an order of the court',
  });

const capturedOf = async (merchant: Merchant): Promise<number[]> =>
  (await listHolds(operator(merchant), merchant.operationId)).map((one) => one.capturedCents);

test('a hold keeps back what is there, and gives it back [2.3b]', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(10_000);
  const placed = await hold(merchant, 4_000);
  expect([placed.amountCents, placed.capturedCents]).toEqual([4_000, 4_000]);
  expect(await merchant.balanceCents()).toBe(6_000);
  const refused = await merchant.transfer({ amountCents: 6_001 });
  expect([refused.status, refused.body.code]).toEqual([400, 'insufficient_balance']);
  expect((await releaseHold(operator(merchant), placed.id)).releasedAt).not.toBeNull();
  expect(await merchant.balanceCents()).toBe(10_000);
  await releaseHold(operator(merchant), placed.id);
  expect(await merchant.balanceCents()).toBe(10_000);
});

test('a hold that wants more than there is takes later credits until it has all', async () => {
  const merchant = await service.newMerchant();
  const placed = await hold(merchant, 3_000);
  expect(placed.capturedCents).toBe(0);
  await merchant.receive(1_000);
  expect([await merchant.balanceCents(), await capturedOf(merchant)]).toEqual([0, [1_000]]);
  await merchant.receive(5_000);
  expect([await merchant.balanceCents(), await capturedOf(merchant)]).toEqual([3_000, [3_000]]);
});

test('of several holds the first is filled first, and the rest goes to the next', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(1_000);
  const first = await hold(merchant, 800);
  const second = await hold(merchant, 500);
  expect(await capturedOf(merchant)).toEqual([800, 200]);
  await releaseHold(operator(merchant), first.id);
  expect([await merchant.balanceCents(), await capturedOf(merchant)]).toEqual([500, [0, 500]]);
  await releaseHold(operator(merchant), second.id);
  expect(await merchant.balanceCents()).toBe(1_000);
});

test('a hold whose whole share goes to the next moves no money', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(300);
  const first = await hold(merchant, 300);
  await hold(merchant, 900);
  await releaseHold(operator(merchant), first.id);
  expect([await merchant.balanceCents(), await capturedOf(merchant)]).toEqual([0, [0, 300]]);
});

test('an open hold blocks the deletion, also of an empty operation [4.9.2a]', async () => {
  const merchant = await service.newMerchant();
  const { body: other } = await merchant.call('POST', '/operations', {
    name: 'Filial',
    requestKey: crypto.randomUUID(),
  });
  const placed = await placeHold(operator(merchant), {
    operationId: other.id,
    amountCents: 1,
    reason: 'look at it',
  });
  const refused = await merchant.call('DELETE', `/operations/${other.id}`, {});
  expect([refused.status, refused.body.code]).toEqual([400, 'operation_on_hold']);
  await releaseHold(operator(merchant), placed.id);
  expect((await merchant.call('DELETE', `/operations/${other.id}`, {})).status).toBe(200);
  await expect(
    placeHold(operator(merchant), { operationId: other.id, amountCents: 1, reason: 'too late' }),
  ).rejects.toThrow('deleted');
});

test('holds and transfers at once never take the same cent', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(20_000);
  const all = await Promise.all([
    ...Array.from({ length: 15 }, () => merchant.transfer({ amountCents: 1_000 })),
    ...Array.from({ length: 10 }, () => hold(merchant, 1_000)),
  ]);
  const sent = all.filter((one) => 'status' in one && one.status === 201).length;
  const held = (await capturedOf(merchant)).reduce((sum, one) => sum + one, 0);
  expect(sent * 1_000 + held + (await merchant.balanceCents())).toBe(20_000);
  expect(await merchant.balanceCents()).toBe(0);
});

test('who placed and released a hold, and why, stays on record', async () => {
  const merchant = await service.newMerchant();
  const placed = await hold(merchant, 100);
  await releaseHold(operator(merchant), placed.id);
  const rows = await service.database.admin(
    'SELECT actor, action, reason FROM audit WHERE account_id = $1 ORDER BY id',
    [merchant.ownerId],
  );
  expect(rows).toEqual([
    { actor: 'tester', action: 'hold.place', reason: 'an order of the court' },
    { actor: 'tester', action: 'hold.release', reason: null },
  ]);
  const attempt = service.runtime.sql.run({ name: 'cheat', text: 'DELETE FROM audit' });
  await expect(attempt).rejects.toThrow(/permission denied/);
});
