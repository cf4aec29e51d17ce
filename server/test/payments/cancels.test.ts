import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import {
  deliver,
  fillQueryLimit,
  incidentsOf,
  intentOf,
  journalsOf,
  later,
  providerIdOf,
  receivedItem,
  statusOf,
} from '@vintem/testkit/settlement.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createFollowUp } from '../../src/flow/follow-up.ts';
import type { Runtime } from '../../src/main/runtime.ts';
import type { Provider } from '../../src/provider/provider.ts';

/** A merchant cancels a charge; each step of a worker is made by hand here. */

let service: Service;
let simulator: Provider;
beforeAll(async () => {
  service = await openService({ worker: false });
  simulator = service.runtime.providers.get('simulator') as Provider;
});
afterAll(async () => {
  const wrong = service ? await violationsOfBooks(service) : [];
  await service?.close();
  expect(wrong).toEqual([]);
});
beforeEach(async () => {
  await service.simulator.behave({ webhook: 'drop' });
  await service.database.admin('DELETE FROM breaker');
  await fillQueryLimit(service);
});

const pay = (id: string) => service.simulator.control('POST', `/control/charges/${providerIdOf(id)}/pay`);
const cancel = (merchant: Merchant, id: string, call = merchant.call) =>
  call('POST', `/payments/${id}/cancel`, {});

/** At the provider: `removed`, `open`, `paid`. */
async function truthOf(id: string): Promise<string> {
  const { body } = await service.simulator.control('GET', `/control/state?txid=${providerIdOf(id)}`);
  return body.charges[0].status;
}

/** Lets a worker of another process work at a later time until nothing is due. */
async function workAt(merchant: Merchant, ...seconds: number[]): Promise<void> {
  for (const second of seconds) {
    const runtime: Runtime = later(service.cellOf(merchant), second * 1000);
    const followUp = createFollowUp(runtime, simulator);
    await fillQueryLimit(service);
    await followUp.stepSends();
    await followUp.idle();
    while (await followUp.stepQueries());
    await followUp.idle();
  }
}

async function cancelOf(id: string) {
  const [row] = await service.database.admin<{ id: string; status: string }>(
    'SELECT id, status FROM charge_cancel WHERE payment_id = $1',
    [id],
  );
  return { row, intent: row && (await intentOf(service, row.id)) };
}

const eventsOf = async (merchant: Merchant, id: string): Promise<string[]> =>
  (
    await service.database.admin<{ type: string }>(
      'SELECT type FROM event WHERE account_id = $1 AND payment_id = $2 ORDER BY id',
      [merchant.ownerId, id],
    )
  ).map(({ type }) => type);

describe('A charge that its merchant cancels', () => {
  test('is failed with the reason cancelled_by_merchant once the provider has removed it, and every repeat is answered the same', async () => {
    const merchant = await service.newMerchant();
    const { body: charge } = await merchant.charge();
    const { status, body } = await cancel(merchant, charge.id);
    expect([status, body.status, body.reasonCode]).toEqual([200, 'failed', 'cancelled_by_merchant']);
    expect(body.notice).toBe('You cancelled this charge. It cannot be paid any more.');
    expect(body.copyPaste).toBeUndefined();
    expect(await truthOf(charge.id)).toBe('removed');
    expect(await cancelOf(charge.id)).toMatchObject({ row: { status: 'completed' }, intent: undefined });
    const again = await Promise.all([1, 2, 3].map(() => cancel(merchant, charge.id)));
    for (const answer of again) expect([answer.status, answer.body]).toEqual([200, body]);
    expect(await eventsOf(merchant, charge.id)).toEqual(['charge.failed']);
    const [event] = await service.database.admin<{ body: string }>(
      'SELECT body FROM event WHERE payment_id = $1',
      [charge.id],
    );
    expect(JSON.parse(event?.body ?? '{}').data).toMatchObject({ reasonCode: 'cancelled_by_merchant' });
  });

  test('stays pending with a notice while the cancel has no answer, is queried, and fails by what the query shows', async () => {
    const merchant = await service.newMerchant();
    const { body: charge } = await merchant.charge();
    await service.simulator.behave({ cancel: 'lose-answer', webhook: 'drop' });
    const { status, body } = await cancel(merchant, charge.id);
    expect([status, body.status]).toEqual([200, 'pending']);
    expect(body.notice).toContain('Cancelling this charge was requested');
    expect(body.updatedAt > charge.updatedAt).toBe(true);
    expect(await cancelOf(charge.id)).toMatchObject({
      row: { status: 'unknown' },
      intent: { state: 'awaiting' },
    });
    await workAt(merchant, 20);
    expect(await statusOf(service, charge.id)).toBe('failed');
    expect(await cancelOf(charge.id)).toMatchObject({ row: { status: 'completed' }, intent: undefined });
  });

  test('is cancelled by a repeat after two queries that show it open, and not by a query that does not find it', async () => {
    const merchant = await service.newMerchant();
    const { body: charge } = await merchant.charge();
    await service.simulator.behave({ cancel: 'lose-request', webhook: 'drop' });
    expect((await cancel(merchant, charge.id)).body.status).toBe('pending');
    await service.simulator.behave({ cancel: 'lose-request', query: 'not-found', webhook: 'drop' });
    await workAt(merchant, 8, 20, 40, 80);
    expect(await statusOf(service, charge.id)).toBe('pending');
    expect(await truthOf(charge.id)).toBe('open');
    await service.simulator.behave({ webhook: 'drop' });
    await workAt(merchant, 200, 400, 800);
    expect(await statusOf(service, charge.id)).toBe('failed');
    expect((await cancel(merchant, charge.id)).body.reasonCode).toBe('cancelled_by_merchant');
  });

  test('is paid when a payer was quicker, has charge.paid and no charge.failed, and its cancel is refused as of a paid one', async () => {
    const merchant = await service.newMerchant();
    const { body: charge } = await merchant.charge({ amountCents: 2_500 });
    await service.simulator.behave({ cancel: 'late-cancel', webhook: 'drop' });
    expect((await cancel(merchant, charge.id)).body.status).toBe('pending');
    await workAt(merchant, 20);
    expect(await statusOf(service, charge.id)).toBe('paid');
    expect(await merchant.balanceCents()).toBe(2_500);
    expect(await eventsOf(merchant, charge.id)).toEqual(['charge.paid']);
    expect(await cancelOf(charge.id)).toMatchObject({ row: { status: 'completed' }, intent: undefined });
    const again = await cancel(merchant, charge.id);
    expect([again.status, again.body.code]).toEqual([400, 'charge_already_paid']);
    expect((await merchant.call('GET', `/payments/${charge.id}`)).body.notice).toBeUndefined();
  });

  test('stays failed when a Pix arrives behind the cancel: the money waits in suspense for a person', async () => {
    const merchant = await service.newMerchant();
    const { body: charge } = await merchant.charge({ amountCents: 2_500 });
    await cancel(merchant, charge.id);
    await deliver(service, [receivedItem(charge.id, 2_500, `E${providerIdOf(charge.id).slice(1)}`)]);
    await until(async () => (await incidentsOf(service, charge.id)).length > 0);
    expect(await statusOf(service, charge.id)).toBe('failed');
    expect(await incidentsOf(service, charge.id)).toMatchObject([
      { kind: 'failed_charge_paid', amount_cents: '2500' },
    ]);
    expect(await journalsOf(service, charge.id)).toEqual(['bookToSuspense']);
    expect(await merchant.balanceCents()).toBe(0);
    expect(await eventsOf(merchant, charge.id)).toEqual(['charge.failed', 'charge.unexpected_payment']);
  });

  test('is not cancelled at the provider before the provider has confirmed it', async () => {
    const merchant = await service.newMerchant();
    await service.simulator.behave({ charge: 'lose-answer', query: 'not-found', webhook: 'drop' });
    const { body: charge } = await merchant.charge();
    expect(charge.status).toBe('unknown');
    expect((await cancel(merchant, charge.id)).body).toMatchObject({ status: 'unknown' });
    await workAt(merchant, 3);
    expect(await truthOf(charge.id)).toBe('open');
    expect(await cancelOf(charge.id)).toMatchObject({ intent: { state: 'ready', attempt: 0 } });
    await service.simulator.behave({ webhook: 'drop' });
    await workAt(merchant, 40, 90);
    expect(await statusOf(service, charge.id)).toBe('failed');
    expect(await truthOf(charge.id)).toBe('removed');
    expect(await eventsOf(merchant, charge.id)).toEqual(['charge.failed']);
  });

  test('keeps its cancel open after a refusal that no table contains, and loses it with its own end', async () => {
    const merchant = await service.newMerchant();
    const { body: charge } = await merchant.charge();
    await service.simulator.behave({ cancel: 'refuse', webhook: 'drop' });
    expect((await cancel(merchant, charge.id)).body.status).toBe('pending');
    await workAt(merchant, 8, 20, 40, 80);
    expect(await statusOf(service, charge.id)).toBe('pending');
    await service.simulator.control('POST', `/control/charges/${providerIdOf(charge.id)}/expire`);
    await workAt(merchant, 400);
    expect(await statusOf(service, charge.id)).toBe('expired');
    expect(await cancelOf(charge.id)).toMatchObject({ row: { status: 'completed' }, intent: undefined });
    const again = await cancel(merchant, charge.id);
    expect([again.status, again.body.code]).toEqual([400, 'charge_already_ended']);
  });
});

describe('A cancel', () => {
  test('of a charge that is paid or has failed, of a transfer, and of what is not there is refused and changes nothing', async () => {
    const merchant = await service.newMerchant();
    const other = await service.newMerchant();
    const { body: charge } = await merchant.charge();
    await pay(charge.id);
    await deliver(service, [receivedItem(charge.id, charge.amountCents, `Epaid${providerIdOf(charge.id)}`)]);
    await until(async () => (await statusOf(service, charge.id)) === 'paid');
    const before = (await merchant.call('GET', `/payments/${charge.id}`)).body;
    const codeOf = async (id: string, call = merchant.call) => (await cancel(merchant, id, call)).body.code;
    expect(await codeOf(charge.id)).toBe('charge_already_paid');
    await service.simulator.behave({ charge: 'refuse', webhook: 'drop' });
    const refused = (await merchant.charge()).body;
    await service.simulator.behave({ webhook: 'drop' });
    expect(await codeOf(refused.id)).toBe('charge_already_ended');
    expect(await codeOf(charge.id, other.call)).toBe('payment_not_found');
    expect(await codeOf('0190a000-0000-7000-8000-000000000077')).toBe('payment_not_found');
    expect((await merchant.call('GET', `/payments/${charge.id}`)).body).toEqual(before);
    const reads = service.as(await service.newKey(merchant.ownerId, ['read', 'transfers']));
    expect((await cancel(merchant, charge.id, reads)).status).toBe(403);
    const [{ count } = { count: '?' }] = await service.database.admin<{ count: string }>(
      'SELECT count(*) FROM charge_cancel WHERE account_id = $1',
      [merchant.ownerId],
    );
    expect(count).toBe('0');
  });

  test('is one however many ask for it at once, and reaches the provider once', async () => {
    const merchant = await service.newMerchant();
    const { body: charge } = await merchant.charge();
    const answers = await Promise.all(Array.from({ length: 20 }, () => cancel(merchant, charge.id)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    await until(async () => (await statusOf(service, charge.id)) === 'failed');
    const [{ count } = { count: '?' }] = await service.database.admin<{ count: string }>(
      'SELECT count(*) FROM charge_cancel WHERE payment_id = $1',
      [charge.id],
    );
    expect(count).toBe('1');
  });

  test('whose owner died is taken over, queried and then sent again', async () => {
    const merchant = await service.newMerchant();
    const { body: charge } = await merchant.charge();
    await service.simulator.behave({ cancel: 'lose-request', webhook: 'drop' });
    await cancel(merchant, charge.id);
    await service.simulator.behave({ webhook: 'drop' });
    // The state that a process leaves which committed the attempt and died.
    await service.database.admin(
      `UPDATE intent SET state = 'sending', fence = $2, priority = 0,
         lease_until = now() + interval '15 s', due_at = now() + interval '15 s',
         attempt_ended_at = NULL WHERE kind = 'cancel' AND account_id = $1`,
      [merchant.ownerId, crypto.randomUUID()],
    );
    await workAt(merchant, 16, 30, 45, 60, 90);
    expect(await statusOf(service, charge.id)).toBe('failed');
  });
});
