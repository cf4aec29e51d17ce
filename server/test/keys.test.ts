import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeKey } from '../src/keys/key.ts';
import { createKey, listKeys, revokeKey } from '../src/keys/keys.ts';
import { systemClock } from '../src/ports/clock.ts';
import { systemIds } from '../src/ports/ids.ts';
import type { Sql } from '../src/ports/sql.ts';
import { type Edge, openEdge, secrets } from './support/edge.ts';

const ids = systemIds(systemClock);
let edge: Edge;
let accountId: string;
let house: Parameters<typeof createKey>[0];

beforeAll(async () => {
  edge = await openEdge();
  accountId = (await edge.newAccount()).ownerId;
  house = { sql: edge.database.sql, clock: systemClock, ids, secrets };
});
afterAll(() => edge.close());

const account = (key: string, headers = {}) => edge.call(key, { url: '/account', headers });

/** Polls the real answer: a revoked key may work on for a second. */
async function until(wanted: () => Promise<boolean>, withinMs: number): Promise<void> {
  const end = systemClock.monotonicMs() + withinMs;
  while (!(await wanted())) {
    if (systemClock.monotonicMs() > end) throw new Error(`not within ${withinMs} ms`);
    await systemClock.sleep(20);
  }
}

test('without a key, or with the key elsewhere than in the header, the answer is 401 api_key_missing', async () => {
  const { key } = await edge.newKey(accountId);
  const url = '/api/v1/public/account';
  const none = [
    { url },
    { url: `${url}?api_key=${key}` },
    { url, headers: { authorization: '' } },
    { url, headers: { authorization: 'Bearer' } },
    { url, headers: { authorization: 'bearer  ' } },
    { url, headers: { cookie: `key=${key}` } },
    { url, headers: { 'x-api-key': key } },
  ];
  for (const request of none) {
    const answer = await edge.app.inject(request);
    expect(answer.statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect(answer.json().code).toBe('api_key_missing');
  }
});

test('what is no key in force is 401 api_key_invalid, and nothing tells the cases apart', async () => {
  const { key } = await edge.newKey(accountId);
  const unknown = makeKey(ids, true).key;
  const values = [
    `Bearer ${unknown}`,
    `Bearer ${key.slice(0, -1)}`,
    `Bearer ${key}x`,
    `Bearer ${key} ${key}`,
    `Basic ${key}`,
    `Bearer ${key.toUpperCase()}`,
    key,
  ];
  const bodies = new Set<string>();
  for (const authorization of values) {
    const answer = await edge.app.inject({ url: '/api/v1/public/account', headers: { authorization } });
    expect(answer.statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    bodies.add(JSON.stringify({ ...answer.json(), requestId: '' }));
  }
  expect(bodies.size).toBe(1);
  expect(bodies.values().next().value).toContain('api_key_invalid');
});

test('the scheme is taken in any case', async () => {
  const { key } = await edge.newKey(accountId);
  for (const scheme of ['bearer', 'BEARER', 'Bearer ']) {
    expect((await account('', { authorization: `${scheme} ${key}` })).status).toBe(200);
  }
});

test('a wrong checksum is refused without the database', async () => {
  const sql: Sql = {
    run: () => Promise.reject(new Error('asked the database')),
    begin: () => Promise.reject(new Error('asked the database')),
    tx: () => Promise.reject(new Error('asked the database')),
  };
  const other = await openEdge({ sql });
  const { key } = makeKey(ids, true);
  const wrong = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0');
  expect((await other.call(wrong, { url: '/account' })).status).toBe(401);
  expect((await other.call(key, { url: '/account' })).status).toBe(500);
  await other.close();
});

test('a revoked key is refused everywhere within a second, and revoking again changes nothing', async () => {
  const { id, key } = await edge.newKey(accountId);
  expect((await account(key)).status).toBe(200);
  await revokeKey(house, id);
  await until(async () => (await account(key)).status === 401, 1100);
  const before = (await listKeys(house, accountId)).find((one) => one.id === id);
  await revokeKey(house, id);
  expect((await listKeys(house, accountId)).find((one) => one.id === id)).toEqual(before);
  await expect(revokeKey(house, 'nosuchkey000')).rejects.toThrow('there is no such key');
});

test('an expired key is 401 api_key_expired', async () => {
  const { id, key } = await edge.newKey(accountId);
  await edge.database.admin(`UPDATE api_key SET expires_at = now() - interval '1 second' WHERE id = $1`, [
    id,
  ]);
  const answer = await account(key);
  expect(answer.status).toBe(401);
  expect(answer.body.code).toBe('api_key_expired');
});

test('a key of another pepper does not fit', async () => {
  const { id, key } = await edge.newKey(accountId);
  await edge.database.admin(`UPDATE api_key SET pepper_id = 'gone' WHERE id = $1`, [id]);
  expect((await account(key)).status).toBe(401);
});

test('the key itself is stored nowhere', async () => {
  const { id, key } = await edge.newKey(accountId);
  const [row] = await edge.database.admin<{ text: string }>(
    'SELECT row_to_json(k)::text AS text FROM api_key k WHERE id = $1',
    [id],
  );
  expect(row?.text).toContain(id);
  expect(row?.text).not.toContain(key.slice(22));
});

test('the use of a key is noted at most once a minute', async () => {
  const { id, key } = await edge.newKey(accountId);
  const lastUsed = async () => (await listKeys(house, accountId)).find((one) => one.id === id)?.lastUsedAt;
  expect(await lastUsed()).toBeNull();
  await account(key);
  await until(async () => (await lastUsed()) !== null, 2000);
  const first = await lastUsed();
  await systemClock.sleep(1100);
  await account(key);
  await account(key);
  expect(await lastUsed()).toBe(first);
});

test('a call without its permission is 403 and names it', async () => {
  const cases: [method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, permission: string][] = [
    ['GET', '/account', 'read'],
    ['GET', '/operations', 'read'],
    ['POST', '/operations', 'operations'],
    ['PATCH', `/operations/${ids.uuid()}`, 'operations'],
    ['DELETE', `/operations/${ids.uuid()}`, 'operations'],
    ['POST', '/pix/charges', 'charges'],
    ['POST', '/pix/transfers', 'transfers'],
    ['GET', '/payments', 'read'],
    ['GET', `/payments/${ids.uuid()}`, 'read'],
  ];
  const { key } = await edge.newKey(accountId, ['webhooks']);
  for (const [method, url, permission] of cases) {
    const answer = await edge.call(key, { method, url });
    expect(answer.status).toBe(403);
    expect(answer.body.code).toBe('permission_denied');
    expect(answer.body.message).toContain(permission);
  }
});

test('an account has at most 20 active keys, each with a name of its own', async () => {
  const { ownerId } = await edge.newAccount();
  const make = (name: string) => createKey(house, { accountId: ownerId, name, permissions: ['read'] });
  const first = await make('key 0');
  await expect(make(' key 0 ')).rejects.toThrow('named key 0 already');
  const rest = await Promise.allSettled(Array.from({ length: 22 }, (_, at) => make(`key ${at + 1}`)));
  expect(rest.filter((one) => one.status === 'fulfilled')).toHaveLength(19);
  await revokeKey(house, first.id);
  await make('key 0');
  await expect(make('one more')).rejects.toThrow('at most 20 active keys');
});

test('a key needs a name, a permission and an account', async () => {
  const make = (wanted: object) =>
    createKey(house, { accountId, name: 'fine', permissions: ['read'], ...wanted });
  await expect(make({ name: '  ' })).rejects.toThrow('1 to 64 characters');
  await expect(make({ name: 'x'.repeat(65) })).rejects.toThrow('1 to 64 characters');
  await expect(make({ permissions: [] })).rejects.toThrow('at least one permission');
  await expect(make({ accountId: ids.uuid() })).rejects.toThrow('no such account');
});
