import { newDraft } from '@vintem/testkit/draft.ts';
import { openReceiver, type Receiver } from '@vintem/testkit/receiver.ts';
import { callWith, type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClock, setTarget } from '../../src/api/test-mode/clock.sql.ts';
import { createAccount } from '../../src/operate/connections/directory.ts';

/** A test clock takes everything of an account that waits to its end: charges, drafts, deliveries. */

const dayMs = 86_400_000;
/** A bound for what is waited for, not a measure: the machine may be busy. */
const withinMs = 240_000;

let service: Service;
let receiver: Receiver;
beforeAll(async () => {
  service = await openService({ env: { WEBHOOK_ALLOW_INSECURE_LOCAL: 'true' } });
  receiver = await openReceiver();
});
afterAll(async () => {
  await service.close();
  await receiver.stop();
});

const testCalls = (merchant: Pick<Merchant, 'key'>) => callWith(`${service.url}/api/v1/test`, merchant.key);
const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();

async function advance(merchant: Merchant, ms: number): Promise<void> {
  const answer = await testCalls(merchant)('POST', '/clock/advance', { to: inMs(ms) });
  expect(answer).toMatchObject({ status: 200, body: { status: 'advancing' } });
  await until(async () => (await testCalls(merchant)('GET', '/clock')).body.status === 'ready', withinMs);
}

test('three days bring a charge to its expiry, a draft to its end and a delivery through all of its attempts', {
  timeout: withinMs,
}, async () => {
  const shop = await service.newMerchant();
  await shop.receive(5000);
  expect((await testCalls(shop)('POST', '/clock', {})).body).toMatchObject({ status: 'ready', to: null });
  receiver.answer(500);
  const events = ['charge.expired', 'charge.paid'];
  const hook = (
    await shop.call('POST', '/webhooks', { url: receiver.url, events, requestKey: crypto.randomUUID() })
  ).body;
  const charge = (await shop.charge()).body;
  const draft = await newDraft(service, shop);
  const stateOf = async (id: string) => (await shop.call('GET', `/payments/${id}`)).body;

  await advance(shop, 4 * dayMs);

  expect((await stateOf(charge.id)).status).toBe('expired');
  expect(await stateOf(draft)).toMatchObject({ status: 'cancelled' });
  const { deliveries } = (await shop.call('GET', `/webhooks/${hook.id}/deliveries`)).body;
  const [delivery] = deliveries.filter(({ type }: { type: string }) => type === 'charge.expired');
  // The charge expires on the first day, so that three more days hold all twelve.
  expect(delivery.attempts.length).toBeGreaterThanOrEqual(11);
  const times = receiver.got.map(({ headers }) => Date.parse(String(headers['x-webhook-test-time'])));
  expect([...times].sort((one, other) => one - other)).toEqual(times);
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(2 * dayMs);
  // The signature is of the real time.
  const signed = receiver.got.map(({ headers }) => Number(headers['webhook-timestamp']) * 1000);
  expect(Math.max(...signed) - Date.now()).toBeLessThan(dayMs / 2);
});

test('the ninety days in which a charge is refunded pass with it, for earlier charges', {
  timeout: withinMs,
}, async () => {
  const shop = await service.newMerchant();
  const received = async (): Promise<string> => {
    await shop.receive(5000);
    return (await shop.call('GET', '/payments?status=paid&limit=1')).body.payments[0].id;
  };
  const paid = await received();
  const refund = (id: string, requestKey: string = crypto.randomUUID()) =>
    shop.call('POST', `/payments/${id}/refunds`, { amountCents: 100, requestKey });
  const requestKey = crypto.randomUUID();
  await advance(shop, 89 * dayMs);
  expect((await refund(paid, requestKey)).status).toBe(201);
  await advance(shop, 91 * dayMs);
  expect(await refund(paid)).toMatchObject({ status: 400, body: { code: 'refund_window_closed' } });
  // A repeat is answered first, and a charge that was paid afterwards has its own ninety days.
  expect((await refund(paid, requestKey)).status).toBe(201);
  expect((await refund(await received())).status).toBe(201);
});

test('another account stands still beside it', { timeout: withinMs }, async () => {
  const [mine, other] = [await service.newMerchant(), await service.newMerchant()];
  const { id } = (await other.charge()).body;
  await advance(mine, 2 * dayMs);
  expect((await other.call('GET', `/payments/${id}`)).body.status).toBe('pending');
  expect((await testCalls(other)('GET', '/clock')).body.status).toBe('ready');
});

test('a clock goes forward only, by two years at most, and one move at a time', async () => {
  const shop = await service.newMerchant();
  for (const to of [inMs(-1000), inMs(800 * dayMs), 'tomorrow']) {
    const { status, body } = await testCalls(shop)('POST', '/clock/advance', { to });
    expect([status, body.code]).toEqual([400, 'validation_failed']);
  }
  const { sql } = service.database;
  const tx = await sql.begin();
  try {
    await createClock(tx, shop.ownerId, Date.now());
    expect(await setTarget(tx, shop.ownerId, dayMs, Date.now())).toBe(true);
    expect(await setTarget(tx, shop.ownerId, 2 * dayMs, Date.now())).toBe(false);
  } finally {
    await tx.rollback();
  }
});

test('a live account has no clock: not by a key, and not in the database', async () => {
  const live = await createAccount(service.runtime, { name: 'Loja real', test: false, connection: 'live' });
  const key = await service.newKey(live.ownerId, ['read']);
  await service.database.admin(
    `UPDATE api_key SET permissions = '{simulate}' WHERE account_id = '${live.ownerId}'`,
  );
  const call = testCalls({ key });
  for (const answer of [
    await call('GET', '/clock'),
    await call('POST', '/clock', {}),
    await call('POST', '/clock/advance', { to: inMs(dayMs) }),
  ])
    expect(answer.body).toMatchObject({ statusCode: 403, code: 'test_account_required' });
  await expect(
    service.database.admin(`INSERT INTO test_clock (account_id, moved_at) VALUES ('${live.ownerId}', now())`),
  ).rejects.toThrow('foreign key');
});
