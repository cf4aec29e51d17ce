import { base, type Edge, openEdge, tillThat } from '@vintem/testkit/edge.ts';
import { afterEach, expect, test } from 'vitest';
import { makeKey } from '../../src/api/keys/key.ts';
import { shareEveryMs } from '../../src/edge/rate-limit.ts';
import { addressQuotas, quotaNames } from '../../src/ground/quotas.ts';
import { buildServer } from '../../src/main/server.ts';
import { ratesOf, setRates, withDefaults } from '../../src/operate/accounts/rates.ts';
import { type Clock, systemClock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';

const config = { publicUrl: 'http://127.0.0.1:3000', rateLimits: true, trustedProxies: [] };
let edge: Edge;
afterEach(() => edge.close());

/** Stands still until it is moved; it begins at the real time. */
function handClock(): Clock & { at: number } {
  const startedAt = systemClock.now();
  const clock = { ...systemClock, at: 1000, now: () => startedAt + clock.at, monotonicMs: () => clock.at };
  return clock;
}

async function open(clock: Clock = handClock()) {
  edge = await openEdge({ config, clock });
  const { ownerId } = await edge.newAccount();
  const { key } = await edge.newKey(ownerId);
  return { ownerId, key };
}

type Call = () => Promise<{ status: number }>;

const together = async (times: number, call: Call): Promise<number[]> =>
  (await Promise.all(Array.from({ length: times }, call))).map(({ status }) => status);

/** A few at a time: to the limits it is one moment, and no caller waits until a slow machine has served two hundred others. */
async function many(times: number, call: Call): Promise<number[]> {
  const statuses: number[] = [];
  while (statuses.length < times)
    statuses.push(...(await together(Math.min(20, times - statuses.length), call)));
  return statuses;
}

const count = (statuses: number[], status: number) => statuses.filter((one) => one === status).length;

test('a burst is allowed, the next is 429 and says when, and time fills the bucket again [7f]', async () => {
  const clock = handClock();
  const { key } = await open(clock);
  const read = () => edge.call(key, { url: '/account' });
  expect(count(await many(200, read), 200)).toBe(200);
  const refused = await read();
  expect(refused.status).toBe(429);
  expect(refused.body).toMatchObject({ code: 'rate_limited', details: [{ policy: 'reads' }] });
  expect(refused.headers['retry-after']).toBe('1');
  expect(refused.headers['ratelimit-policy']).toBe('"reads";q=200;w=2, "account";q=600;w=2');
  expect(refused.headers.ratelimit).toBe('"reads";r=0;t=2, "account";r=400;t=1');
  clock.at += 10;
  expect((await read()).status).toBe(200);
  expect((await read()).status).toBe(429);
  clock.at += 2000;
  expect(count(await many(201, read), 200)).toBe(200);
});

test.each([
  [300, 600],
  [7, 100],
  [0.3, 20],
  [99_999, 500],
])(
  '%d calls a second: of a burst of %d each call is allowed, however often it is shared meanwhile',
  async (perSecond, burst) => {
    const clock = handClock();
    const sharing: Clock = {
      ...clock,
      sleep: (ms, ending) => systemClock.sleep(ms === shareEveryMs ? 0 : ms, ending),
    };
    const quota = { perSecond, burst };
    edge = await openEdge({
      config: { ...config, rateQuotas: { reads: quota, account: quota } },
      clock: sharing,
    });
    const { ownerId } = await edge.newAccount();
    const { key } = await edge.newKey(ownerId);
    const statuses = await many(burst + 20, () => edge.call(key, { url: '/account' }));
    expect([count(statuses, 200), count(statuses, 429)]).toEqual([burst, 20]);
  },
);

test('each policy and each key has its own bucket, the account one for all', async () => {
  const { ownerId, key } = await open();
  const create = () => edge.call(key, { method: 'POST', url: '/operations', payload: { name: 'x' } });
  const statuses = await many(21, create);
  expect([count(statuses, 400), count(statuses, 429)]).toEqual([20, 1]);
  const keys = [key];
  for (let at = 0; at < 3; at++) keys.push((await edge.newKey(ownerId)).key);
  let allowed = 0;
  for (const each of keys) allowed += count(await many(200, () => edge.call(each, { url: '/account' })), 200);
  expect(allowed).toBe(580);
  const last = await edge.call(keys[3] ?? '', { url: '/account' });
  expect(last.body.details).toEqual([{ policy: 'account' }]);
});

test('every answer to a key says what is left, a refused permission too', async () => {
  const { ownerId } = await open();
  const { key } = await edge.newKey(ownerId, ['webhooks']);
  const answer = await edge.call(key, { url: '/account' });
  expect(answer.status).toBe(403);
  expect(answer.headers.ratelimit).toBe('"reads";r=199;t=1, "account";r=599;t=1');
});

test('failed keys of one address are limited, and a key that worked before never is', async () => {
  const { key } = await open();
  expect((await edge.call(key, { url: '/account' })).status).toBe(200);
  const wrong = makeKey(systemIds(systemClock), true).key;
  const statuses = await many(21, () => edge.call(wrong, { url: '/account' }));
  expect([count(statuses, 401), count(statuses, 429)]).toEqual([20, 1]);
  expect((await edge.call(wrong, { url: '/account' })).body.details).toEqual([{ policy: 'auth' }]);
  expect((await edge.call(key, { url: '/account' })).status).toBe(200);
});

test('a forwarded header cannot switch the limit of failed keys off, and a key that worked before still works', async () => {
  const { key } = await open();
  expect((await edge.call(key, { url: '/account' })).status).toBe(200);
  const guess = (forwarded: string) =>
    edge.call(makeKey(systemIds(systemClock), true).key, {
      url: '/account',
      headers: { 'x-forwarded-for': forwarded },
    });
  const statuses: number[] = [];
  for (let n = 0; n < 30; n++) statuses.push((await guess(`203.0.113.${n}`)).status);
  expect([count(statuses, 401), count(statuses, 429)]).toEqual([20, 10]);
  expect((await edge.call(key, { url: '/account' })).status).toBe(200);
});

test.each([
  ['one IPv4 address with another port each time', (n: number) => `198.51.100.9:${2000 + n}`],
  ['one IPv6 network of a customer', (n: number) => `"[2001:db8:7:7::${n.toString(16)}]:${2000 + n}"`],
])('Wrong keys of %s, as the proxy writes it, are counted together', async (_, entry) => {
  edge = await openEdge({
    config: { ...config, trustedProxies: ['127.0.0.1', '10.0.0.0/8'] },
    clock: handClock(),
  });
  const guess = (n: number) =>
    edge.call(makeKey(systemIds(systemClock), true).key, {
      url: '/account',
      // A second proxy of ours stands between, with a port of its own.
      headers: { 'x-forwarded-for': `${entry(n)}, 10.0.0.5:${4000 + n}`, 'x-forwarded-proto': 'https' },
    });
  const statuses: number[] = [];
  for (let n = 0; n < 30; n++) statuses.push((await guess(n)).status);
  expect([count(statuses, 401), count(statuses, 429)]).toEqual([20, 10]);
  const other = { 'x-forwarded-for': '198.51.100.8:1, 10.0.0.5:1', 'x-forwarded-proto': 'https' };
  expect((await edge.call('vtk_none', { url: '/account', headers: other })).status).toBe(401);
});

test('an address that has used up its failures is refused before a key is looked up', async () => {
  const lookups: string[] = [];
  await open();
  const { sql } = edge.parts;
  const watched = {
    ...sql,
    run: (statement: { name: string }, values?: unknown[]) => {
      lookups.push(statement.name);
      return sql.run(statement as never, values as never);
    },
  };
  const app = buildServer({ ...edge.parts, sql: watched as typeof sql });
  const guess = () =>
    app.inject({
      url: `${base}/account`,
      headers: { authorization: `Bearer ${makeKey(systemIds(systemClock), true).key}` },
    });
  const statuses: number[] = [];
  for (let n = 0; n < 50; n++) statuses.push((await guess()).statusCode);
  expect([count(statuses, 401), count(statuses, 429)]).toEqual([20, 30]);
  expect(lookups.filter((name) => name === 'key_read').length).toBe(20);
  await app.close();
});

test('many first requests with the same new key are all admitted', async () => {
  const { key } = await open();
  expect(count(await together(60, () => edge.call(key, { url: '/account' })), 200)).toBe(60);
});

test('a key has at most 256 requests in flight, and those that end make room', async () => {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const clock = handClock();
  let entered = 0;
  edge = await openEdge(
    { config, clock },
    tillThat(async () => {
      entered++;
      await gate;
      throw new Error('after the gate');
    }),
  );
  const { ownerId } = await edge.newAccount();
  const { key } = await edge.newKey(ownerId);
  const payload = {
    amountCents: 1000,
    payerName: 'Maria',
    requestKey: '7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11',
  };
  const waiting: Promise<{ status: number }>[] = [];
  while (waiting.length < 256) {
    waiting.push(edge.call(key, { method: 'POST', url: '/pix/charges', payload }));
    await expect.poll(() => entered, { interval: 1 }).toBe(waiting.length);
    // At 50 charges a second, since their rate is not what this is about.
    clock.at += 20;
  }
  expect(entered).toBe(256);
  const over = await edge.call(key, { url: '/account' });
  expect(over.status).toBe(429);
  expect(over.body.code).toBe('too_many_concurrent_requests');
  release();
  expect(
    count(
      (await Promise.all(waiting)).map((one) => one.status),
      503,
    ),
  ).toBe(256);
  expect((await edge.call(key, { url: '/account' })).status).toBe(200);
});

test('quotas are the installation’s, and over them the account’s own, for every process within a second', async () => {
  const clock = handClock();
  edge = await openEdge({
    config: { ...config, rateQuotas: { reads: { perSecond: 1, burst: 4 } } },
    clock,
  });
  const { ownerId } = await edge.newAccount();
  const other = await edge.newAccount();
  const key = (await edge.newKey(ownerId)).key;
  const poor = (await edge.newKey(other.ownerId)).key;
  await setRates({ ...edge.parts, actor: 'test' }, other.ownerId, {
    reads: { perSecond: 0.1, burst: 2 },
    account: { perSecond: 10, burst: 3 },
  });
  const read = (as: string) => edge.call(as, { url: '/account' });
  expect(count(await many(6, () => read(key)), 200)).toBe(4);
  const first = await read(poor);
  expect(first.headers['ratelimit-policy']).toBe('"reads";q=2;w=20, "account";q=3;w=1');
  expect(first.headers.ratelimit).toBe('"reads";r=1;t=10, "account";r=2;t=1');
  expect((await read(poor)).status).toBe(200);
  const refused = await read(poor);
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, '10']);
  await setRates({ ...edge.parts, actor: 'test' }, other.ownerId, {});
  clock.at += 30_000;
  expect((await read(poor)).headers['ratelimit-policy']).toBe('"reads";q=4;w=4, "account";q=600;w=2');
});

test('every limit of keys and accounts can be an account’s own; one by address cannot', async () => {
  const { ownerId } = await open();
  const operator = { ...edge.parts, actor: 'test' };
  for (const name of addressQuotas)
    await expect(setRates(operator, ownerId, { [name]: { perSecond: 1, burst: 1 } })).rejects.toThrow(
      'whole installation',
    );
  const all = Object.fromEntries(
    quotaNames
      .filter((name) => !addressQuotas.includes(name))
      .map((name) => [name, { perSecond: 7, burst: 9 }]),
  );
  const own = { ...all, 'in-flight': { atOnce: 3 } };
  expect(await setRates(operator, ownerId, own)).toEqual(own);
  expect(await ratesOf(operator, ownerId)).toEqual(own);
  expect(withDefaults({ reads: { perSecond: 1, burst: 1 } }, own)).toMatchObject(own);
  await expect(ratesOf(operator, systemIds(systemClock).uuid())).rejects.toThrow('no such account');
});

test('requests in flight are counted by the account’s own limits, and by the installation’s', async () => {
  let entered = 0;
  let gate = Promise.withResolvers<void>();
  const clock = handClock();
  edge = await openEdge(
    { config: { ...config, rateQuotas: { 'in-flight': { atOnce: 2 } } }, clock },
    tillThat(async () => {
      entered++;
      await gate.promise;
      throw new Error('after the gate');
    }),
  );
  const requestKey = '7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11';
  const charge = { amountCents: 1000, payerName: 'Maria', requestKey };
  const [poor, rich] = [await edge.newAccount(), await edge.newAccount()];
  const own = { 'in-flight': { atOnce: 3 } };
  await setRates({ ...edge.parts, actor: 'test' }, rich.ownerId, own);
  for (const [account, most] of [
    [poor, 2],
    [rich, 3],
  ] as const) {
    entered = 0;
    gate = Promise.withResolvers<void>();
    const { key } = await edge.newKey(account.ownerId);
    const ask = () => edge.call(key, { method: 'POST', url: '/pix/charges', payload: charge });
    const held = Array.from({ length: most }, ask);
    await expect.poll(() => entered, { interval: 1 }).toBe(most);
    expect((await ask()).body.code).toBe('too_many_concurrent_requests');
    gate.resolve();
    await Promise.all(held);
  }
});

test('processes over one database count together [7f]', async () => {
  const { key } = await open();
  const other = buildServer(edge.parts);
  const headers = { authorization: `Bearer ${key}` };
  const here = () => edge.call(key, { url: '/account' });
  const there = async () => ({
    status: (await other.inject({ url: `${base}/account`, headers })).statusCode,
  });
  const [mine, theirs] = await Promise.all([many(200, here), many(200, there)]);
  // A burst at least, two when neither heard of the other in time. Once both know, neither gives more: the time stands still.
  expect(count(mine, 200) + count(theirs, 200)).toBeGreaterThanOrEqual(200);
  await expect.poll(async () => [(await here()).status, (await there()).status]).toEqual([429, 429]);
  await other.close();
});

test('with the limits off nothing is limited and nothing said', async () => {
  edge = await openEdge();
  const { ownerId } = await edge.newAccount();
  const { key } = await edge.newKey(ownerId);
  expect(count(await many(250, () => edge.call(key, { url: '/account' })), 200)).toBe(250);
  expect((await edge.app.inject({ url: `${base}/account` })).headers).not.toHaveProperty('ratelimit');
});
