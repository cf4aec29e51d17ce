import { callWith, type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { paymentSystemCodes } from '../../../simulator/src/behaviour.ts';
import { createKey } from '../../src/api/keys/keys.ts';
import { acts, disputeActs } from '../../src/api/test-mode/simulate.ts';
import { permissions } from '../../src/ground/permissions.ts';
import { createConnection } from '../../src/operate/connections/connections.ts';
import { createAccount } from '../../src/operate/connections/directory.ts';

/** The calls under /api/v1/test: what a merchant plays in a test account. */

let service: Service;
let shop: Merchant;
beforeAll(async () => {
  service = await openService();
  shop = await service.newMerchant();
  await shop.receive(100_000);
});
afterAll(() => service.close());

const act = (id: string, what: string, body: object = {}, key = shop.key) =>
  callWith(`${service.url}/api/v1/test`, key)('POST', `/payments/${id}/${what}`, body);
const payment = async (id: string) => (await shop.call('GET', `/payments/${id}`)).body;
const becomes = (id: string, status: string) => until(async () => (await payment(id)).status === status);

test('a charge is paid, and what was received goes back', async () => {
  const { id } = (await shop.charge({ amountCents: 5000 })).body;
  expect(await act(id, 'pay')).toMatchObject({ status: 200, body: { ok: true } });
  await becomes(id, 'paid');
  expect((await act(id, 'return', { amountCents: 2000 })).status).toBe(200);
  await until(async () => (await payment(id)).notice !== undefined);
});

const disputes = async () => (await shop.call('GET', '/disputes')).body.disputes;
const move = (id: string, what: string, key = shop.key) =>
  callWith(`${service.url}/api/v1/test`, key)('POST', `/disputes/${id}/${what}`, {});

test('what was received is disputed: it is held, and the word of the provider ends it', async () => {
  const { id } = (await shop.charge({ amountCents: 5000 })).body;
  expect((await act(id, 'dispute')).body.code).toBe('simulation_refused');
  await act(id, 'pay');
  await becomes(id, 'paid');
  expect((await act(id, 'dispute', { amountCents: 5001 })).body.code).toBe('simulation_refused');
  expect((await act(id, 'dispute', { amountCents: 3000 })).status).toBe(200);
  await until(async () => (await disputes()).length === 1);
  const [opened] = await disputes();
  expect(opened).toMatchObject({ paymentId: id, status: 'open', heldCents: 3000 });
  const other = await service.newMerchant();
  for (const what of disputeActs) {
    expect((await move(opened.id, what, other.key)).body.code).toBe('dispute_not_found');
    expect((await move(crypto.randomUUID(), what)).body.code).toBe('dispute_not_found');
  }
  for (const [what, status, heldCents] of [
    ['defend', 'defending', 3000],
    ['accept', 'accepted', 3000],
    ['reject', 'rejected', 0],
    ['cancel', 'cancelled', 0],
  ] as const) {
    expect((await move(opened.id, what)).status).toBe(200);
    await until(async () => (await disputes())[0].status === status);
    expect((await disputes())[0].heldCents).toBe(heldCents);
  }
});

test('a transfer that waits is completed and returned, or refused with a code of the payment system', async () => {
  const wait = { pixKey: 'stay-pending@simulator.example' };
  const { id } = (await shop.transfer(wait)).body;
  expect((await act(id, 'complete')).status).toBe(200);
  await becomes(id, 'completed');
  expect((await act(id, 'return')).status).toBe(200);
  await until(async () => (await payment(id)).notice !== undefined);
  const other = (await shop.transfer(wait)).body.id;
  expect((await act(other, 'refuse', { code: 'FRAD' })).status).toBe(200);
  await becomes(other, 'cancelled');
  expect((await payment(other)).reasonCode).toBe('fraud_suspected');
});

const fates = {
  AB03: 'provider_refused',
  AC03: 'recipient_refused',
  AC06: 'recipient_refused',
  AC07: 'recipient_account_closed',
  AC14: 'recipient_refused',
  AG03: 'recipient_refused',
  AM02: 'recipient_refused',
  AM04: 'provider_refused',
  BE01: 'recipient_refused',
  DS04: 'recipient_refused',
  DUPL: 'provider_refused',
  FRAD: 'fraud_suspected',
  RR04: 'provider_refused',
};

test.each(Object.entries(fates))(
  'a key that names %s is refused with it, as %s',
  async (code, reasonCode) => {
    const { id } = (await shop.transfer({ pixKey: `${code.toLowerCase()}@simulator.example` })).body;
    await becomes(id, 'cancelled');
    expect((await payment(id)).reasonCode).toBe(reasonCode);
  },
);

test('these are all codes that the simulator knows', () => {
  expect(Object.keys(fates)).toEqual(Object.keys(paymentSystemCodes).sort());
});

test('what does not fit the kind or the state of a payment changes nothing', async () => {
  const { id } = (await shop.charge()).body;
  for (const what of ['complete', 'refuse', 'return', 'dispute'] as const)
    expect(await act(id, what)).toMatchObject({ status: 400, body: { code: 'simulation_refused' } });
  expect((await act(id, 'refuse', { code: 'XXXX' })).status).toBe(400);
  expect((await act(id, 'pay', { amount: 1 })).body.code).toBe('validation_failed');
  expect((await payment(id)).status).toBe('pending');
});

test('a payment of another account is 404 like one that does not exist, and is not touched', async () => {
  const { id } = (await shop.charge()).body;
  const other = await service.newMerchant();
  for (const what of acts) {
    expect((await act(id, what, {}, other.key)).body.code).toBe('payment_not_found');
    expect((await act(crypto.randomUUID(), what)).body.code).toBe('payment_not_found');
  }
  expect((await payment(id)).status).toBe('pending');
});

test('a live account reaches none of it: no key may carry the permission, and a key that has it is refused', async () => {
  const live = await createAccount(service.runtime, { name: 'Loja real', test: false, connection: 'live' });
  const wanted = { accountId: live.ownerId, name: 'all', permissions };
  await expect(createKey(service.runtime, wanted)).rejects.toThrow('only for keys of test accounts');
  const key = await service.newKey(live.ownerId, ['read']);
  await service.database.admin(`UPDATE api_key SET permissions = '{read,simulate}' WHERE account_id = $1`, [
    live.ownerId,
  ]);
  const { id } = (await shop.charge()).body;
  for (const what of acts)
    expect((await act(id, what, {}, key)).body).toMatchObject({
      statusCode: 403,
      code: 'test_account_required',
    });
  for (const what of disputeActs)
    expect((await move(id, what, key)).body).toMatchObject({
      statusCode: 403,
      code: 'test_account_required',
    });
});

test('every other permission opens none of it', async () => {
  const key = await service.newKey(
    shop.ownerId,
    permissions.filter((permission) => permission !== 'simulate'),
  );
  expect((await act(crypto.randomUUID(), 'pay', {}, key)).body.code).toBe('permission_denied');
});

test('the calls have a document of their own, and the public one names none of them', async () => {
  const of = async (prefix: string) =>
    ((await (await fetch(`${service.url}/api/v1/${prefix}/openapi.json`)).json()) as { paths: object }).paths;
  expect(Object.keys(await of('test'))).toEqual(
    expect.arrayContaining([...acts.map((what) => `/payments/{id}/${what}`), '/clock/advance']),
  );
  expect(Object.keys(await of('public')).filter((path) => path.includes('test/payments'))).toEqual([]);
});

test('an account on another connection of the simulator is played where its money is', async () => {
  const { runtime } = service;
  await createConnection(
    {
      ...runtime,
      actor: 'tester',
      config: { simulatorUrl: service.simulator.url, hooksUrl: service.url, provider: null },
    },
    { name: 'outra', adapter: 'woovi', mode: 'shared', url: null, credentials: null, simulated: true },
  );
  await until(async () => runtime.providers.has('outra'));
  const { ownerId } = await createAccount(runtime, { name: 'Outra', test: true, connection: 'outra' });
  const key = await service.newKey(ownerId);
  const call = service.as(key);
  const charge = { amountCents: 5000, payerName: 'Maria', description: '', requestKey: crypto.randomUUID() };
  const { id } = (await call('POST', '/pix/charges', charge)).body;
  const status = async () => (await call('GET', `/payments/${id}`)).body.status;
  expect(await act(id, 'pay', {}, key)).toMatchObject({ status: 200, body: { ok: true } });
  await until(async () => (await status()) === 'paid');
  expect((await act(id, 'dispute', {}, key)).status).toBe(200);
  await until(async () => (await call('GET', '/disputes')).body.disputes.length === 1);
  const [{ id: disputeId }] = (await call('GET', '/disputes')).body.disputes;
  expect((await move(disputeId, 'reject', key)).status).toBe(200);
  await until(async () => (await call('GET', '/disputes')).body.disputes[0].status === 'rejected');
});
