import { type Edge, openEdge, secrets } from '@vintem/testkit/edge.ts';
import { manualClock } from '@vintem/testkit/manual-clock.ts';
import { until } from '@vintem/testkit/service.ts';
import { shiftedClock } from '@vintem/testkit/shifted-clock.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEndingKeys } from '../../src/api/keys/ending.ts';
import { makeKey } from '../../src/api/keys/key.ts';
import { touchKey } from '../../src/api/keys/keys.sql.ts';
import {
  createKey,
  keyring,
  listKeys,
  overlaps,
  revokeKey,
  rollKey,
  rollKeyById,
  wakeKey,
} from '../../src/api/keys/keys.ts';
import { createUnusedKeys } from '../../src/api/keys/unused.ts';
import { createLog } from '../../src/ground/log.ts';
import type { Letter } from '../../src/ground/mail.ts';
import { createSecrets } from '../../src/ground/secrets.ts';
import { buildServer } from '../../src/main/server.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';
import type { Sql } from '../../src/ports/sql.ts';

const ids = systemIds(systemClock);
let edge: Edge;
let accountId: string;
let runtime: Parameters<typeof createKey>[0];

beforeAll(async () => {
  edge = await openEdge();
  accountId = (await edge.newAccount()).ownerId;
  runtime = { sql: edge.database.sql, clock: systemClock, ids, secrets };
});
afterAll(() => edge.close());

const account = (key: string, headers = {}) => edge.call(key, { url: '/account', headers });

test('without a key, or with the key elsewhere than in the header, the answer is 401 api_key_missing [5.1]', async () => {
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

test('what is no key in force is 401 api_key_invalid, and the cases look the same', async () => {
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

test('a revoked key is refused everywhere within a second, and revoking again changes nothing [5.6]', async () => {
  const { id, key } = await edge.newKey(accountId);
  const timed = manualClock();
  const other = await openEdge({ sql: edge.database.sql, clock: timed });
  expect((await other.call(key, { url: '/account' })).status).toBe(200);
  await revokeKey(runtime, id);
  timed.advance(1_000);
  expect((await other.call(key, { url: '/account' })).status).toBe(401);
  await other.close();
  const before = (await listKeys(runtime, accountId)).find((one) => one.id === id);
  await revokeKey(runtime, id);
  expect((await listKeys(runtime, accountId)).find((one) => one.id === id)).toEqual(before);
  await expect(revokeKey(runtime, 'nosuchkey000')).rejects.toThrow('there is no such key');
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

test('the key itself is stored nowhere [5.1]', async () => {
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
  const lastUsed = async () => (await listKeys(runtime, accountId)).find((one) => one.id === id)?.lastUsedAt;
  expect(await lastUsed()).toBeNull();
  await account(key);
  await until(async () => (await lastUsed()) !== null);
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
  const make = (name: string) => createKey(runtime, { accountId: ownerId, name, permissions: ['read'] });
  const first = await make('key 0');
  await expect(make(' key 0 ')).rejects.toThrow('named key 0 already');
  const rest = await Promise.allSettled(Array.from({ length: 22 }, (_, at) => make(`key ${at + 1}`)));
  expect(rest.filter((one) => one.status === 'fulfilled')).toHaveLength(19);
  await revokeKey(runtime, first.id);
  await make('key 0');
  await expect(make('one more')).rejects.toThrow('at most 20 active keys');
});

test('a key needs a name, a permission and an account [5.2]', async () => {
  const make = (wanted: object) =>
    createKey(runtime, { accountId, name: 'fine', permissions: ['read'], ...wanted });
  await expect(make({ name: '  ' })).rejects.toThrow('1 to 64 characters');
  await expect(make({ name: 'x'.repeat(65) })).rejects.toThrow('1 to 64 characters');
  await expect(make({ permissions: [] })).rejects.toThrow('at least one permission');
  await expect(make({ accountId: ids.uuid() })).rejects.toThrow('no such account');
});

test('a key with a life expires after it, and one without never does [5.9]', async () => {
  const forever = await createKey(runtime, { accountId, name: 'forever', permissions: ['read'] });
  const short = await createKey(runtime, {
    accountId,
    name: 'short',
    permissions: ['read'],
    expiresInDays: 30,
  });
  const [one, other] = await Promise.all(
    [forever, short].map(async ({ id }) => (await listKeys(runtime, accountId)).find((key) => key.id === id)),
  );
  expect(one?.expiresAt).toBeNull();
  expect((other?.expiresAt ?? 0) - (other?.createdAt ?? 0)).toBe(30 * 24 * 3600 * 1000);
  expect((await account(short.key)).status).toBe(200);
  for (const expiresInDays of [0, -1, 1.5, Number.NaN, 3651]) {
    const wanted = { accountId, name: 'never', permissions: ['read'] as const, expiresInDays };
    await expect(createKey(runtime, wanted)).rejects.toThrow('1 to 3650 days');
  }
});

test('a rolled key stays valid for its overlap beside the new one, then it is 401 api_key_expired [5.9]', async () => {
  const { ownerId } = await edge.newAccount();
  const wanted = {
    name: 'shop',
    permissions: ['read', 'charges'] as const,
    ips: ['127.0.0.1'],
    expiresInDays: 90,
  };
  const old = await createKey(runtime, { accountId: ownerId, ...wanted });
  const made = await rollKey(runtime, ownerId, old.id, overlaps['1h']);
  expect([(await account(old.key)).status, (await account(made.key)).status]).toEqual([200, 200]);
  const keys = await listKeys(runtime, ownerId);
  const [before, after] = [old.id, made.id].map((id) => keys.find((key) => key.id === id));
  expect(before).toMatchObject({ rolledTo: made.id });
  expect(Math.abs((before?.expiresAt ?? 0) - systemClock.now() - overlaps['1h'])).toBeLessThan(60_000);
  expect(after).toMatchObject({
    name: 'shop',
    permissions: ['read', 'charges'],
    ips: ['127.0.0.1'],
    rolledTo: null,
  });
  expect((after?.expiresAt ?? 0) - (after?.createdAt ?? 0)).toBe(90 * 24 * 3600 * 1000);
  await edge.database.admin(`UPDATE api_key SET expires_at = now() - interval '1 s' WHERE id = $1`, [old.id]);
  await until(async () => (await account(old.key)).body.code === 'api_key_expired');
  expect((await account(made.key)).status).toBe(200);
});

test('rolled without an overlap, the old key ends at once', async () => {
  const { ownerId } = await edge.newAccount();
  const old = await createKey(runtime, { accountId: ownerId, name: 'leaked', permissions: ['read'] });
  expect((await account(old.key)).status).toBe(200);
  const made = await rollKeyById(runtime, old.id, overlaps.now);
  await until(async () => (await account(old.key)).body.code === 'api_key_expired');
  expect((await account(made.key)).status).toBe(200);
});

test('a key is rolled once, in its own account, while it is active, and never lives longer by it', async () => {
  const { ownerId } = await edge.newAccount();
  const other = await edge.newAccount();
  const old = await createKey(runtime, {
    accountId: ownerId,
    name: 'one',
    permissions: ['read'],
    expiresInDays: 1,
  });
  const before = (await listKeys(runtime, ownerId))[0]?.expiresAt;
  await expect(rollKey(runtime, other.ownerId, old.id, 0)).rejects.toThrow('no such active key');
  const rolls = await Promise.allSettled(
    Array.from({ length: 3 }, () => rollKey(runtime, ownerId, old.id, overlaps['7d'])),
  );
  expect(rolls.filter((one) => one.status === 'fulfilled')).toHaveLength(1);
  expect((await listKeys(runtime, ownerId)).find((key) => key.id === old.id)?.expiresAt).toBe(before);
  await revokeKey(runtime, old.id);
  await expect(rollKey(runtime, ownerId, old.id, 0)).rejects.toThrow('no such active key');
  await expect(rollKeyById(runtime, 'nosuchkey000', 0)).rejects.toThrow('no such key');
});

test('a rolled key keeps neither its name nor its place among the twenty', async () => {
  const { ownerId } = await edge.newAccount();
  const make = (name: string) => createKey(runtime, { accountId: ownerId, name, permissions: ['read'] });
  const first = await make('key 0');
  for (let at = 1; at < 20; at++) await make(`key ${at}`);
  await rollKey(runtime, ownerId, first.id, overlaps['7d']);
  await expect(make('key 0')).rejects.toThrow('at most 20 active keys');
  const active = (await listKeys(runtime, ownerId)).filter((key) => key.rolledTo === null);
  await revokeKey(runtime, active.find((key) => key.name === 'key 0')?.id ?? '');
  await make('key 0');
});

test('a key with a list of addresses is 403 ip_not_allowed from elsewhere, before its permission is looked at [5.9]', async () => {
  const { ownerId } = await edge.newAccount();
  const limited = await createKey(runtime, {
    accountId: ownerId,
    name: 'limited',
    permissions: ['webhooks'],
    ips: ['203.0.113.0/24', '2001:db8:1::/48'],
  });
  const from = (remoteAddress: string) => edge.call(limited.key, { url: '/account', remoteAddress });
  expect((await from('198.51.100.7')).body).toMatchObject({ statusCode: 403, code: 'ip_not_allowed' });
  expect((await from('203.0.113.200')).body.code).toBe('permission_denied');
  expect((await from('::ffff:203.0.113.1')).body.code).toBe('permission_denied');
  expect((await from('2001:db8:1:ff::1')).body.code).toBe('permission_denied');
  expect((await from('2001:db8:2::1')).body.code).toBe('ip_not_allowed');
});

test('a forwarded address counts only from a trusted proxy', async () => {
  const { ownerId } = await edge.newAccount();
  const wanted = {
    accountId: ownerId,
    name: 'limited',
    permissions: ['read'] as const,
    ips: ['203.0.113.9'],
  };
  const { key } = await createKey(runtime, wanted);
  const headers = { 'x-forwarded-for': '203.0.113.9', authorization: `Bearer ${key}` };
  const url = '/api/v1/public/account';
  expect((await edge.app.inject({ url, headers })).json().code).toBe('ip_not_allowed');
  const config = { publicUrl: 'http://127.0.0.1:3000', rateLimits: false, trustedProxies: ['10.0.0.0/8'] };
  const behind = buildServer({ ...edge.parts, config });
  const through = (remoteAddress: string, forwarded: string) =>
    behind.inject({
      url,
      remoteAddress,
      headers: { ...headers, 'x-forwarded-for': forwarded, 'x-forwarded-proto': 'https' },
    });
  expect((await through('10.1.2.3', '203.0.113.9')).statusCode).toBe(200);
  expect((await through('10.1.2.3', '203.0.113.9, 10.9.9.9')).statusCode).toBe(200);
  expect((await through('192.0.2.1', '203.0.113.9')).json().code).toBe('ip_not_allowed');
  // Some proxies write the port, or brackets and quotes.
  expect((await through('10.1.2.3', '203.0.113.9:51234')).statusCode).toBe(200);
  expect((await through('10.1.2.3', '203.0.113.9:51234, 10.9.9.9:443')).statusCode).toBe(200);
  expect((await through('10.1.2.3', '"[::ffff:203.0.113.9]:51234"')).statusCode).toBe(200);
  expect((await through('10.1.2.3', '203.0.113.8:51234')).json().code).toBe('ip_not_allowed');
  // An entry that is no address is the proxy's own.
  expect((await through('10.1.2.3', 'unknown')).json().code).toBe('ip_not_allowed');
  // Addresses that the caller itself put in front do not count.
  expect((await through('10.1.2.3', '203.0.113.9, 198.51.100.7')).json().code).toBe('ip_not_allowed');
  await behind.close();
});

test('at most twenty addresses, each an address or a narrow network', async () => {
  const make = (ips: string[]) => createKey(runtime, { accountId, name: 'ips', permissions: ['read'], ips });
  await expect(make(['10.0.0.0/8'])).rejects.toThrow('10.0.0.0/8 is no address');
  await expect(make(['nonsense'])).rejects.toThrow('nonsense is no address');
  await expect(make(Array.from({ length: 21 }, (_, at) => `192.0.2.${at}`))).rejects.toThrow('at most 20');
  expect((await make(Array.from({ length: 20 }, (_, at) => `192.0.2.${at}`))).id).toHaveLength(12);
});

test('the last use says when, from where and by which program', async () => {
  const { id, key } = await edge.newKey(accountId);
  await edge.call(key, {
    url: '/account',
    remoteAddress: '198.51.100.7',
    headers: { 'user-agent': 'loja-app/2.1 (secret details)' },
  });
  const stored = async () => (await listKeys(runtime, accountId)).find((one) => one.id === id);
  await until(async () => (await stored())?.lastUsedAt !== null);
  expect(await stored()).toMatchObject({ lastUsedIp: '198.51.100.7', lastUsedAgent: 'loja-app' });
});

test('a key that may send money rests after 180 days without use, others do not, and it can be woken [5.9]', async () => {
  const sender = await edge.newKey(accountId, ['read', 'transfers']);
  const reader = await edge.newKey(accountId, ['read']);
  const long = (id: string, days: number) =>
    edge.database.admin(
      `UPDATE api_key SET created_at = now() - interval '300 days', last_used_at = now() - make_interval(days => $2) WHERE id = $1`,
      [id, days],
    );
  await long(sender.id, 181);
  await long(reader.id, 181);
  expect((await account(sender.key)).body.code).toBe('api_key_invalid');
  expect((await account(reader.key)).status).toBe(200);
  await wakeKey(runtime, sender.id);
  expect((await account(sender.key)).status).toBe(200);
  const busy = await edge.newKey(accountId, ['read', 'transfers']);
  await long(busy.id, 179);
  expect((await account(busy.key)).status).toBe(200);
  await expect(wakeKey(runtime, 'nosuchkey000')).rejects.toThrow('no such active key');
});

test('a mail reports a key without use for 90 days once, again only after it was used, and not twice by two processes [5.9]', async () => {
  const clock = shiftedClock();
  const { ownerId } = await edge.newAccount();
  const { id } = await edge.newKey(ownerId, ['read', 'transfers']);
  const ended = await edge.newKey(ownerId, ['read']);
  await revokeKey(runtime, ended.id);
  const letters: Letter[] = [];
  let refuses = false;
  const mail = {
    send: async (letter: Letter) => {
      if (refuses) throw new Error('no mail today');
      letters.push(letter);
    },
  };
  const round = () =>
    createUnusedKeys(
      { sql: edge.database.sql, clock, mail, log: createLog('silent') },
      'https://pix.example',
    ).step();
  const told = () => letters.filter(({ en }) => en.text.includes(id));
  clock.skip(89 * 86_400_000);
  await round();
  expect(told()).toEqual([]);
  clock.skip(2 * 86_400_000);
  refuses = true;
  await round();
  refuses = false;
  // The mail that failed is tried again when its claim has ended, not at once by everybody.
  await round();
  expect(told()).toEqual([]);
  clock.skip(601_000);
  await Promise.all([round(), round()]);
  expect(told()).toHaveLength(1);
  expect(told()[0]?.en.text).toMatch(
    /It can send money, so it is suspended from \d\d\/\d\d\/\d{4} \d\d:\d\d \(Brasília\) on/,
  );
  expect(told()[0]?.['pt-BR'].text).toMatch(/suspensa a partir de \d\d\/\d\d\/\d{4} \d\d:\d\d \(Brasília\)/);
  expect(told()[0]?.['pt-BR'].text).toContain('Ver as chaves: https://pix.example/integracoes/chaves\n');
  expect(letters.some(({ en }) => en.text.includes(ended.id))).toBe(false);
  clock.skip(86_400_000);
  await round();
  expect(told()).toHaveLength(1);
  await touchKey(edge.database.sql, id, { at: clock.now(), ip: '127.0.0.1', agent: null });
  clock.skip(91 * 86_400_000);
  await round();
  expect(told()).toHaveLength(2);
});

test('A mail names a key that ends within two weeks once, and none that was replaced or revoked', async () => {
  const clock = shiftedClock();
  const { ownerId } = await edge.newAccount();
  const made = async (expiresInDays: number) =>
    createKey(runtime, {
      accountId: ownerId,
      name: `${expiresInDays} dias`,
      permissions: ['read'],
      expiresInDays,
    });
  const [soon, later, replaced, revoked] = [await made(20), await made(60), await made(30), await made(19)];
  await rollKeyById(runtime, replaced.id, 7 * 86_400_000);
  await revokeKey(runtime, revoked.id);
  const letters: Letter[] = [];
  const mail = { send: async (letter: Letter) => void letters.push(letter) };
  const round = () =>
    createEndingKeys(
      { sql: edge.database.sql, clock, mail, log: createLog('silent') },
      'https://pix.example',
    ).step();
  await round();
  expect(letters).toEqual([]);
  clock.skip(7 * 86_400_000);
  await Promise.all([round(), round()]);
  await round();
  const own = letters.filter(({ en }) =>
    [soon, later, replaced, revoked].some(({ id }) => en.text.includes(id)),
  );
  expect(own.map(({ en }) => en.subject)).toEqual(['the API key "20 dias" ends soon']);
  expect(own[0]?.['pt-BR'].text).toMatch(
    /Vale até +\d\d\/\d\d\/\d{4}[\s\S]*Trocar a chave: https:\/\/pix\.example\/integracoes\/chaves\n/,
  );
});

test('keys of the previous pepper work while that pepper is set', async () => {
  const [old, young] = [ids.bytes(32), ids.bytes(32)];
  const made = await createKey(
    { ...runtime, secrets: createSecrets(ids, old) },
    { accountId, name: 'older pepper', permissions: ['read'] },
  );
  const ring = (current: Buffer, previous: Buffer | null) =>
    keyring({ ...runtime, secrets: createSecrets(ids, current, previous), log: createLog('silent') });
  expect(await ring(young, old).get(made.key)).toMatchObject({ id: made.id, accountId });
  expect(await ring(young, null).get(made.key)).toBeUndefined();
  const [stored] = await edge.database.admin<{ pepper_id: string }>(
    'SELECT pepper_id FROM api_key WHERE id = $1',
    [made.id],
  );
  expect(stored?.pepper_id).toBe(createSecrets(ids, old).currentPepper.id);
});
