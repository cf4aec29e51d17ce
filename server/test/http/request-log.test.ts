import { newPerson, openTab, type Tab } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { later } from '@vintem/testkit/settlement.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stepRequestPruning } from '../../src/edge/request-log/request-log.ts';
import { storageBudgets, takeStorage } from '../../src/store/database/storage-budget.ts';

/** A merchant's view of the requests of its own programs: refused ones too, and nothing that is personal or secret. */

let service: Service;
let merchant: Merchant;
let tab: Tab;

beforeAll(async () => {
  service = await openService();
  merchant = await service.newMerchant();
  await merchant.receive(10_000);
  await newPerson(service, merchant.ownerId, 'ana@loja.example');
  tab = openTab(service);
  await tab.signIn('ana@loja.example');
});
afterAll(() => service?.close());

const listed = async (query = '', of = tab, accountId = merchant.ownerId) =>
  (await of.call('GET', `/accounts/${accountId}/requests${query}`)).body.requests;
/** Rows are written once a second. */
const logged = async (
  fits: (row: { errorCode: string | null; status: number; requestId: string }) => boolean,
) => {
  await until(async () => (await listed()).some(fits));
  return (await listed()).find(fits);
};

test('a transfer stands there with its payment, its key and its id, and without its Pix key', async () => {
  const { body } = await merchant.transfer({ pixKey: 'canary@loja.example', description: 'CANARY' });
  await until(async () => (await listed(`?paymentId=${body.id}`)).length > 0);
  const rows = await listed(`?paymentId=${body.id}`);
  expect(rows).toHaveLength(1);
  expect(rows[0]).toMatchObject({
    method: 'POST',
    route: '/api/v1/public/pix/transfers',
    status: 201,
    errorCode: null,
    paymentId: body.id,
    operationId: merchant.operationId,
    ip: '127.0.0.1',
    body: { values: { amountCents: body.amountCents, pixKeyType: 'EMAIL' }, fields: { pixKey: 'string' } },
  });
  expect(rows[0].requestId).toMatch(/^req_[0-9a-f]{32}$/);
  expect(merchant.key).toContain(rows[0].keyId);
  expect(rows[0].keyName).not.toBeNull();
});

test('a refused request has its code, also one that no handler has seen', async () => {
  const refused = await merchant.transfer({ amountCents: 1 });
  expect(refused.status).toBe(400);
  expect(await logged(({ errorCode }) => errorCode === refused.body.code)).toMatchObject({
    status: 400,
    body: { values: { amountCents: 1 } },
  });
  await merchant.call('POST', '/pix/charges', { CANARY: 'CANARY' });
  const refusals = () => listed('?status=4xx&method=POST');
  await until(async () => (await refusals()).length === 2);
  const rows: { status: number; method: string; paymentId: string | null }[] = await refusals();
  expect(rows.map(({ status, method, paymentId }) => [method, status, paymentId])).toEqual([
    ['POST', 400, null],
    ['POST', 400, null],
  ]);
});

test('a refusal that a payment records leads to that payment', async () => {
  const { body } = await merchant.transfer({ pixKey: 'refuse-in-answer@simulator.example' });
  expect(body.code).toBe('provider_refused');
  expect(await logged(({ errorCode }) => errorCode === 'provider_refused')).toMatchObject({
    paymentId: body.paymentId,
  });
});

test('a request without a valid key is in no log', async () => {
  await service.as(`${merchant.key.slice(0, -4)}AAAA`)('GET', '/account');
  await service.as('nothing')('GET', '/account');
  await merchant.call('GET', '/operations');
  await until(async () =>
    (await listed()).some((row: { route: string }) => row.route.endsWith('/operations')),
  );
  expect(await service.database.admin(`SELECT id FROM request_log WHERE status = 401`)).toEqual([]);
});

test('nothing of what was sent as text is in the table', async () => {
  const rows = await service.database.admin<{ text: string }>('SELECT r::text AS text FROM request_log r');
  expect(rows.length).toBeGreaterThan(3);
  expect(rows.filter(({ text }) => /canary/i.test(text))).toEqual([]);
  expect(rows.filter(({ text }) => text.includes(merchant.key.split('_').at(-1) ?? merchant.key))).toEqual(
    [],
  );
});

test('pages follow each other without gap or repeat, and another account sees none of it', async () => {
  let last = '';
  for (let n = 0; n < 12; n++)
    last = (await merchant.call('GET', '/account')).headers.get('x-request-id') ?? '';
  // Rows are written behind the answers, in their order.
  await logged(({ requestId }) => requestId === last);
  const all = (await listed('?limit=100')).map((row: { id: string }) => row.id);
  const seen: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path = `/accounts/${merchant.ownerId}/requests?limit=5${cursor ? `&cursor=${cursor}` : ''}`;
    const { body } = await tab.call('GET', path);
    seen.push(...body.requests.map((row: { id: string }) => row.id));
    cursor = body.nextCursor;
  }
  expect(seen).toEqual(all);
  const other = await service.newMerchant();
  await newPerson(service, other.ownerId, 'ze@oficina.example');
  const stranger = openTab(service);
  await stranger.signIn('ze@oficina.example');
  expect((await stranger.call('GET', `/accounts/${merchant.ownerId}/requests`)).status).toBe(404);
  expect(await listed(`?paymentId=${(await merchant.charge()).body.id}`, stranger, other.ownerId)).toEqual(
    [],
  );
});

test('a flood is kept in part, and the last row counts the missing ones', async () => {
  // On a slow machine one crowd may be spread over seconds, and all of it is kept.
  await until(async () => {
    await Promise.all(Array.from({ length: 120 }, () => merchant.call('GET', '/account')));
    return (await listed('?limit=100')).some((row: { leftOut: number }) => row.leftOut > 0);
  });
});

test('A program that polls stores no more than the budget of its account, and what it changes is kept beside it', async () => {
  const polling = await service.newMerchant();
  const { sql, clock } = service.cellOf(polling);
  const { bytes } = storageBudgets['reading-requests'];
  await takeStorage(sql, 'reading-requests', new Map([[polling.ownerId, bytes]]), clock.now());
  await polling.call('GET', '/account');
  await polling.call('PATCH', `/operations/${polling.operationId}`, { name: 'Loja' });
  const kept = () =>
    sql.run<{ method: string; leftOut: number }>(
      {
        name: 'test_kept_requests',
        text: 'SELECT method, left_out AS "leftOut" FROM request_log WHERE account_id = $1',
      },
      [polling.ownerId],
    );
  await until(async () => (await kept()).length > 0);
  expect(await kept()).toEqual([{ method: 'PATCH', leftOut: 1 }]);
});

test('what is older than thirty days goes, and nothing younger', async () => {
  const [before] = await service.database.admin<{ n: number }>(
    'SELECT count(*)::integer AS n FROM request_log',
  );
  const old = await service.database.admin(
    `UPDATE request_log SET at = at - interval '2 days' WHERE id IN (SELECT id FROM request_log ORDER BY id LIMIT 3) RETURNING id`,
  );
  expect(old.length).toBeGreaterThan(0);
  for (const cell of service.runtime.cells.all())
    while (await stepRequestPruning(later(cell, 29 * 86_400_000)));
  const [after] = await service.database.admin<{ n: number }>(
    'SELECT count(*)::integer AS n FROM request_log',
  );
  expect(after?.n).toBe((before?.n ?? 0) - old.length);
});
