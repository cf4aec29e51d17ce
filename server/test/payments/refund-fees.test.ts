import { type Merchant, openService, type Service, until as untilWithin } from '@vintem/testkit/service.ts';
import { journalsOf, reservedCents } from '@vintem/testkit/settlement.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RefundFees } from '../../src/money/refund.ts';
import { setConditions } from '../../src/operate/accounts/conditions.ts';

/** The part of a charge's fee that comes back with its refunds. */

let service: Service;
beforeAll(async () => {
  service = await openService();
});
afterAll(async () => {
  const wrong = await violationsOfBooks(service);
  await service?.close();
  expect(wrong).toEqual([]);
});

const until = (holds: () => Promise<boolean>) => untilWithin(holds, 300_000);

const agree = (merchant: Merchant, refundFees: RefundFees) =>
  setConditions({ ...service.cellOf(merchant), actor: 'tester' }, merchant.ownerId, { refundFees });

/** A merchant who pays R$ 0,33 for a charge, with a paid one of R$ 20,00. */
async function paid(refundFees: RefundFees) {
  const merchant = await service.newMerchant();
  await merchant.receive(1_000);
  await agree(merchant, refundFees);
  await setConditions({ ...service.cellOf(merchant), actor: 'tester' }, merchant.ownerId, {
    depositFeeCents: 33,
  });
  return { merchant, id: await merchant.paidCharge({ amountCents: 2_000 }) };
}

const ask = async (merchant: Merchant, id: string, fields: object = {}) => {
  const asked = { requestKey: crypto.randomUUID(), ...fields };
  const { status, body } = await merchant.call('POST', `/payments/${id}/refunds`, asked);
  expect(status).toBe(201);
  return body;
};

const shown = async (merchant: Merchant, id: string) => (await merchant.call('GET', `/refunds/${id}`)).body;

async function refund(merchant: Merchant, id: string, fields: object = {}, ends = 'completed') {
  const { id: refundId } = await ask(merchant, id, fields);
  await until(async () => (await shown(merchant, refundId)).status === ends);
  return shown(merchant, refundId);
}

const lines = async (merchant: Merchant) =>
  (await merchant.call('GET', '/statement')).body.lines.map(
    ({ kind, amountCents }: { kind: string; amountCents: number }) => [kind, amountCents],
  );

const events = async (merchant: Merchant, type: string) =>
  (await merchant.call('GET', '/events')).body.events.filter((one: { type: string }) => one.type === type);

const receipt = ['charge', 1_000];
const charged = [receipt, ['charge', 2_000], ['charge_fee', -33]];

describe.concurrent('the fee of a refunded charge', () => {
  test('stays, unless it was agreed that it comes back', async () => {
    const { merchant, id } = await paid('kept');
    expect((await merchant.call('GET', '/account')).body.refundFees).toBe('kept');
    const done = await refund(merchant, id);
    expect(done).not.toHaveProperty('feeBackCents');
    expect(await merchant.balanceCents()).toBe(967);
    expect(await lines(merchant)).toEqual([...charged, ['refund', -2_000]]);
  });

  test('comes back with a whole refund, when it completes and once, as a line of its own', async () => {
    const { merchant, id } = await paid('returned');
    expect((await merchant.call('GET', '/account')).body.refundFees).toBe('returned');
    const requestKey = crypto.randomUUID();
    const begun = await ask(merchant, id, { requestKey, description: 'stay-pending@simulator.example' });
    expect(begun.feeBackCents).toBe(33);
    await until(async () => (await shown(merchant, begun.id)).status === 'pending');
    expect(await merchant.balanceCents()).toBe(967);
    await service.simulator.control('POST', `/control/refunds/${begun.id}/complete`);
    await until(async () => (await shown(merchant, begun.id)).status === 'completed');
    expect(await merchant.balanceCents()).toBe(1_000);
    expect(await reservedCents(merchant)).toBe(0);
    expect(await journalsOf(service, begun.id)).toEqual(['refundReserve', 'refundComplete']);
    const [{ seq, ...fee }] = (await merchant.call('GET', '/statement')).body.lines.slice(-1);
    expect(fee).toMatchObject({
      kind: 'charge_fee_back',
      amountCents: 33,
      balanceCents: 1_000,
      paymentId: id,
    });
    expect(fee.id).toBe(String(seq));
    expect(await lines(merchant)).toEqual([...charged, ['refund', -2_000], ['charge_fee_back', 33]]);
    await until(async () => (await events(merchant, 'refund.completed')).length === 1);
    expect((await events(merchant, 'refund.completed'))[0].data).toMatchObject({ feeBackCents: 33 });
    const again = await ask(merchant, id, { requestKey, description: 'stay-pending@simulator.example' });
    expect(again).toMatchObject({ id: begun.id, feeBackCents: 33, status: 'completed' });
    expect(await merchant.balanceCents()).toBe(1_000);
  });

  test('comes back in parts that are the whole fee in the end; what a failed refund would have brought, with the next', async () => {
    const { merchant, id } = await paid('returned');
    // 33 of 2000: 8.25 and 16.5 cents of what is refunded, half a cent up.
    expect((await refund(merchant, id, { amountCents: 500 })).feeBackCents).toBe(8);
    const steered = { amountCents: 500, description: 'refuse-later@simulator.example' };
    expect((await refund(merchant, id, steered, 'failed')).feeBackCents).toBe(9);
    expect(await merchant.balanceCents()).toBe(967 + 2_000 - 500 + 8);
    expect((await refund(merchant, id, { amountCents: 1 })).feeBackCents).toBe(0);
    expect((await refund(merchant, id, { amountCents: 499 })).feeBackCents).toBe(9);
    expect((await refund(merchant, id)).feeBackCents).toBe(16);
    expect(await merchant.balanceCents()).toBe(1_000);
  });

  test('is decided when the refund is accepted, whatever is agreed before it completes', async () => {
    const steered = { amountCents: 1_000, description: 'stay-pending@simulator.example' };
    const { merchant, id } = await paid('returned');
    const returned = await ask(merchant, id, steered);
    await agree(merchant, 'kept');
    const kept = await ask(merchant, id, steered);
    expect(kept).not.toHaveProperty('feeBackCents');
    await agree(merchant, 'returned');
    for (const one of [returned, kept]) {
      await until(async () => (await shown(merchant, one.id)).status === 'pending');
      await service.simulator.control('POST', `/control/refunds/${one.id}/complete`);
      await until(async () => (await shown(merchant, one.id)).status === 'completed');
    }
    // Half of 33 cents, half a cent up.
    expect([returned.feeBackCents, (await shown(merchant, returned.id)).feeBackCents]).toEqual([17, 17]);
    expect(await shown(merchant, kept.id)).not.toHaveProperty('feeBackCents');
    expect(await merchant.balanceCents()).toBe(967 + 17);
  });

  test('of what the provider took back stays', async () => {
    const { merchant, id } = await paid('returned');
    await service.simulator.control('POST', `/control/charges/${id}/return`, { amountCents: 1_000 });
    await until(async () => (await journalsOf(service, id)).includes('debit'));
    expect((await refund(merchant, id)).feeBackCents).toBe(17);
    expect(await merchant.balanceCents()).toBe(967 + 17);
  });
});

test('verify finds a refund that brought back another fee than was decided', async () => {
  const { merchant, id } = await paid('returned');
  const whole = await refund(merchant, id);
  const found = async (cents: number | null) => {
    await service.database.admin('UPDATE refund SET fee_back_cents = $2 WHERE id = $1', [whole.id, cents]);
    const broken = await violationsOfBooks(service);
    return broken.flatMap(({ number, violations }) => violations.map(({ fault }) => `${number} ${fault}`));
  };
  expect(await found(32)).toEqual([`60 the fee of the refund ${whole.id} differs by 1`]);
  expect(await found(null)).toEqual([`60 the fee of the refund ${whole.id} differs by 33`]);
  expect(await found(33)).toEqual([]);
});
