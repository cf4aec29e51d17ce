import { expect, test } from 'vitest';
import { foreign } from './foreign.ts';
import { startProvider, until } from './provider.ts';

/** The Asaas dialect answers with Asaas' members (`contract/provider-bodies/asaas`). */

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape are read.
type Json = any;

/** The members of an object and of what it holds, where both have one. */
function membersOf(value: Json, path = ''): string[] {
  if (Array.isArray(value)) return value.slice(0, 1).flatMap((item) => membersOf(item, `${path}[]`));
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([name, item]) => [
    `${path}.${name}`,
    ...membersOf(item, `${path}.${name}`),
  ]);
}

const sentAs = (name: string, ours: Json) =>
  expect(membersOf(ours).toSorted(), name).toEqual(membersOf(foreign(`asaas/${name}`).body).toSorted());

async function asaas() {
  const { url } = await startProvider();
  const access_token = `$aact_hmlg_${Buffer.from('loja:segredo').toString('base64')}`;
  const call = async (method: string, path: string, body?: unknown, headers: Json = {}): Promise<Json> => {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(url + path, { method, headers: { access_token, ...headers }, ...init });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
  };
  return {
    call,
    asaas: (method: string, path: string, body?: unknown) => call(method, `/asaas/v3${path}`, body),
  };
}

test('answers', async () => {
  const { call, asaas: ask } = await asaas();
  const request = { ...(foreign('asaas/payment-request').body as Json), dueDate: '2099-01-01' };
  const made = await ask('POST', '/payments', request);
  sentAs('payment-answer', made.body);
  sentAs('qr-code', (await ask('GET', `/payments/${made.body.id}/pixQrCode`)).body);
  await call('PUT', '/asaas/control/behaviour', { fees: 'on' });
  await call('POST', `/asaas/control/charges/${request.externalReference}/pay`, {});
  const paid = await ask('GET', `/payments?externalReference=${request.externalReference}`);
  sentAs('payment-list', paid.body);
  expect(paid.body.data[0]).toMatchObject({ value: 129.9, netValue: 128.91, status: 'RECEIVED' });
  sentAs('pix-transaction', (await ask('GET', `/pix/transactions/${paid.body.data[0].pixTransaction}`)).body);
  sentAs('statement', (await ask('GET', '/financialTransactions')).body);
  expect((await ask('GET', '/finance/balance')).body).toEqual(foreign('asaas/balance').body);
  sentAs('account-number', (await ask('GET', '/myAccount/accountNumber')).body);
  sentAs('token-bucket', (await ask('GET', '/pix/tokenBucket/addressKey')).body);
  await ask('POST', `/payments/${made.body.id}/refund`, foreign('asaas/refund-request').body);
  sentAs('refund-list', (await ask('GET', `/payments/${made.body.id}/refunds`)).body);
  const other = await ask('POST', '/payments', { ...request, externalReference: 'outra' });
  sentAs('payment-deleted', (await ask('DELETE', `/payments/${other.body.id}`)).body);
});

test('a transfer is asked for at the address of its account, and cancelled where that does not approve it', async () => {
  const { call, asaas: ask } = await asaas();
  const asked = await call('PUT', '/asaas/control/questions/loja', {
    url: 'http://127.0.0.1:1/no',
    token: 'q',
  });
  expect(asked.status).toBe(200);
  const made = await ask('POST', '/transfers', foreign('asaas/transfer-request').body);
  sentAs('transfer-answer', made.body);
  expect(made.body.status).toBe('PENDING');
  sentAs('error', (await ask('POST', '/transfers', { value: 0 })).body);
  expect((await ask('GET', `/transfers/${made.body.id}`)).body.status).toBe('PENDING');
});

test('a reference is no key, and an equal transfer is refused where the guard is on', async () => {
  const { call, asaas: ask } = await asaas();
  const request = foreign('asaas/transfer-request').body as Json;
  const first = await ask('POST', '/transfers', request);
  const second = await ask('POST', '/transfers', request);
  expect(second.body.id).not.toBe(first.body.id);
  await call('PUT', '/asaas/control/behaviour', { sameTransfer: 'refuse' });
  expect((await ask('POST', '/transfers', request)).status).toBe(409);
  const done = await until(
    () => ask('GET', `/transfers?externalReference=${request.externalReference}`),
    ({ body }: Json) => body.data.every(({ status }: Json) => status === 'DONE'),
  );
  expect(done.body.totalCount).toBe(2);
  sentAs('transfer-list', done.body);
});

test('a wrong key is refused, and so is a call that names no agent', async () => {
  const { call } = await asaas();
  const refused = await call('GET', '/asaas/v3/payments', undefined, { access_token: '$aact_prod_x' });
  expect([refused.status, refused.body.errors[0].code]).toEqual([401, 'invalid_access_token']);
  const unnamed = await call('GET', '/asaas/v3/payments', undefined, { 'user-agent': '' });
  expect([unnamed.status, unnamed.body.errors[0].code]).toEqual([400, 'user_agent_not_informed']);
});

test('a page for cards, its payment and what comes of it have the members of Asaas', async () => {
  const { call, asaas: ask } = await asaas();
  const request = foreign('asaas/checkout-request').body as Json;
  const made = await ask('POST', '/checkouts', request);
  sentAs('checkout-answer', made.body);
  expect(made.body).toMatchObject({ status: 'ACTIVE', externalReference: request.externalReference });
  expect((await ask('GET', `/checkouts/${made.body.id}`)).status).toBe(404);
  const steer = (action: string, fields: Json = {}) =>
    call('POST', `/asaas/control/cards/${request.externalReference}/${action}`, fields);
  await call('PUT', '/asaas/control/behaviour', { fees: 'on' });
  await steer('approve', { brand: 'mastercard', last4: '4771' });
  const paid = await ask('GET', `/payments?checkoutSession=${made.body.id}`);
  sentAs('card-payment-list', paid.body);
  expect(paid.body.data[0]).toMatchObject({ value: 1300, netValue: 1260.64, status: 'CONFIRMED' });
  sentAs('payment-statistics', (await ask('GET', statistics)).body);
  await steer('anticipate');
  sentAs('anticipation-list', (await ask('GET', `/anticipations?payment=${paid.body.data[0].id}`)).body);
  const refunds = `/payments/${paid.body.data[0].id}/refunds`;
  await ask('POST', refunds.slice(0, -1), { value: 100, description: 'volta' });
  sentAs('card-refund-list', (await ask('GET', refunds)).body);
  await steer('chargeback');
  sentAs('chargeback', (await ask('GET', `/payments/${paid.body.data[0].id}/chargeback`)).body);
  sentAs('chargeback-list', (await ask('GET', '/chargebacks/')).body);
  sentAs('account-status', (await ask('GET', '/myAccount/status/')).body);
});

const statistics = '/finance/payment/statistics?billingType=CREDIT_CARD&status=CONFIRMED&anticipated=false';

test('a page for cards is refused as Asaas does it, and an open one is cancelled once', async () => {
  const { asaas: ask } = await asaas();
  const request = foreign('asaas/checkout-request').body as Json;
  for (const fields of [
    { billingTypes: ['PIX'] },
    { chargeTypes: ['INSTALLMENT'] },
    { minutesToExpire: 9 },
    { minutesToExpire: 1441 },
    { callback: { successUrl: 'https://a.example' } },
    { items: [] },
    { items: [{ ...request.items[0], name: 'x'.repeat(31) }] },
    { items: [{ ...request.items[0], value: 4.99 }] },
    { currency: 'USD' },
  ]) {
    const refused = await ask('POST', '/checkouts', { ...request, ...fields });
    expect([fields, refused.status]).toEqual([fields, 400]);
    sentAs('error', refused.body);
  }
  const { body } = await ask('POST', '/checkouts', request);
  sentAs('checkout-cancelled', (await ask('POST', `/checkouts/${body.id}/cancel`, {})).body);
  expect((await ask('POST', `/checkouts/${body.id}/cancel`, {})).status).toBe(400);
  expect((await ask('POST', '/checkouts/none/cancel', {})).status).toBe(404);
});
