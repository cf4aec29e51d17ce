import { callWith, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { copiedColumns, ownColumns } from '../../src/api/test-mode/reset.ts';
import { createAccount } from '../../src/operate/connections/directory.ts';

/** POST /api/v1/test/reset: another account under the same keys. */

let service: Service;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service.close());

const reset = (key: string) => callWith(`${service.url}/api/v1/test`, key)('POST', '/reset', {});

test('every column of an account is copied or its own: a new one has to be put into one of the lists', async () => {
  const columns = await service.database.admin<{ name: string }>(
    `SELECT column_name AS name FROM information_schema.columns WHERE table_schema = 'vintem' AND table_name = 'account'`,
  );
  expect([...copiedColumns, ...ownColumns].sort()).toEqual(columns.map(({ name }) => name).sort());
});

test('the key continues with an empty account under the same conditions; the old one stays, disabled', async () => {
  const shop = await service.newMerchant();
  await shop.receive(5000);
  await service.database.admin(
    `UPDATE account SET withdrawal_fee_cents = 33, rate_quotas = '{"reads":{"perSecond":7,"burst":9}}' WHERE id = '${shop.ownerId}'`,
  );
  const requestKey = crypto.randomUUID();
  const before = (await shop.charge({ requestKey })).body;
  const { status, body } = await reset(shop.key);
  expect(status).toBe(201);
  expect(body.ownerId).not.toBe(shop.ownerId);
  // Another process believes what it read of a key for a second.
  await until(async () => (await shop.call('GET', '/operations')).body.ownerId === body.ownerId, 120_000);
  expect((await shop.call('GET', '/account')).body).toMatchObject({
    operationId: body.operationId,
    balanceCents: 0,
  });
  expect((await shop.call('GET', '/payments')).body.payments).toEqual([]);
  expect((await shop.call('GET', `/payments/${before.id}`)).status).toBe(404);
  // The same request key stands for another payment now.
  const after = (await shop.charge({ requestKey })).body;
  expect([after.status, after.id === before.id]).toEqual(['pending', false]);
  const rows = await service.database.admin<{ id: string; enabled: boolean; fee: number; quotas: object }>(
    `SELECT id, enabled, withdrawal_fee_cents::int AS fee, rate_quotas AS quotas FROM account
     WHERE id IN ('${shop.ownerId}', '${body.ownerId}') ORDER BY enabled`,
  );
  const quotas = { reads: { perSecond: 7, burst: 9 } };
  expect(rows).toEqual([
    { id: shop.ownerId, enabled: false, fee: 33, quotas },
    { id: body.ownerId, enabled: true, fee: 33, quotas },
  ]);
  const [journals] = await service.database.admin<{ count: number }>(
    `SELECT count(*)::int AS count FROM journal WHERE account_id = '${shop.ownerId}'`,
  );
  expect(journals?.count).toBeGreaterThan(0);
});

test('of two resets at once one begins an account, and the other finds the keys gone', async () => {
  const shop = await service.newMerchant();
  const both = await Promise.all([reset(shop.key), reset(shop.key)]);
  const statuses = both.map(({ status }) => status).sort();
  // The second may come with the fresh account already, and then resets that one.
  expect([
    [201, 201],
    [201, 403],
  ]).toContainEqual(statuses);
  const [alive] = await service.database.admin<{ count: number }>(
    `SELECT count(DISTINCT account_id)::int AS count FROM api_key WHERE id = '${shop.key.split('_')[2]}'`,
  );
  expect(alive?.count).toBe(1);
});

test('it needs simulate, operations and webhooks, and never touches a live account', async () => {
  const shop = await service.newMerchant();
  for (const held of [
    ['simulate'],
    ['simulate', 'operations'],
    ['simulate', 'webhooks'],
    ['operations', 'webhooks'],
  ] as const)
    expect((await reset(await service.newKey(shop.ownerId, held))).body.code).toBe('permission_denied');
  const live = await createAccount(service.runtime, { name: 'Loja real', test: false, connection: 'live' });
  const key = await service.newKey(live.ownerId, ['operations', 'webhooks']);
  await service.database.admin(
    `UPDATE api_key SET permissions = '{simulate,operations,webhooks}' WHERE account_id = '${live.ownerId}'`,
  );
  expect((await reset(key)).body).toMatchObject({ statusCode: 403, code: 'test_account_required' });
  const [account] = await service.database.admin<{ enabled: boolean }>(
    `SELECT enabled FROM account WHERE id = '${live.ownerId}'`,
  );
  expect(account?.enabled).toBe(true);
});
