import { afterEach, expect, test } from 'vitest';
import { buildServer } from '../src/http/server.ts';
import { makeKey } from '../src/keys/key.ts';
import { type Clock, systemClock } from '../src/ports/clock.ts';
import { systemIds } from '../src/ports/ids.ts';
import { base, type Edge, openEdge } from './support/edge.ts';

const config = { publicUrl: 'http://127.0.0.1:3000', rateLimits: true, trustedProxies: [] };
let edge: Edge;
afterEach(() => edge.close());

/** The real wall clock beside a monotonic one that stands still until it is moved. */
function handClock(): Clock & { at: number } {
  const clock = { ...systemClock, at: 1000, monotonicMs: () => clock.at };
  return clock;
}

async function open(clock: Clock = handClock()) {
  edge = await openEdge({ config, clock });
  const { ownerId } = await edge.newAccount();
  const { key } = await edge.newKey(ownerId);
  return { ownerId, key };
}

const many = (times: number, call: () => Promise<{ status: number }>) =>
  Promise.all(Array.from({ length: times }, call)).then((answers) => answers.map((one) => one.status));

const count = (statuses: number[], status: number) => statuses.filter((one) => one === status).length;

test('a burst is allowed, the next is 429 and says when, and time fills the bucket again', async () => {
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

test('failed keys of one address are limited, and a valid key never is', async () => {
  const { key } = await open();
  const wrong = makeKey(systemIds(systemClock), true).key;
  const statuses = await many(21, () => edge.call(wrong, { url: '/account' }));
  expect([count(statuses, 401), count(statuses, 429)]).toEqual([20, 1]);
  expect((await edge.call(wrong, { url: '/account' })).body.details).toEqual([{ policy: 'auth' }]);
  expect((await edge.call(key, { url: '/account' })).status).toBe(200);
});

test('behind a proxy that nobody named, failed keys are not limited by address', async () => {
  await open();
  const wrong = makeKey(systemIds(systemClock), true).key;
  const headers = { 'x-forwarded-for': '203.0.113.9' };
  const statuses = await many(30, () => edge.call(wrong, { url: '/account', headers }));
  expect(count(statuses, 401)).toBe(30);
});

test('a key has at most 256 requests in flight, and those that end make room', async () => {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const clock = handClock();
  let entered = 0;
  edge = await openEdge({
    config,
    clock,
    useCases: {
      createCharge: async () => {
        entered++;
        await gate;
        throw new Error('after the gate');
      },
      createTransfer: () => Promise.reject(new Error('not called')),
      refreshIfOverdue: async (payment) => payment,
      receiveWebhook: async () => ({ status: 200 }),
    },
  });
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
    for (let polls = 0; entered < waiting.length && polls < 1000; polls++) await systemClock.sleep(1);
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

test('processes over one database count together', async () => {
  const { key } = await open(systemClock);
  const other = buildServer(edge.parts);
  const headers = { authorization: `Bearer ${key}` };
  const here = () => edge.call(key, { url: '/account' });
  const there = async () => ({
    status: (await other.inject({ url: `${base}/account`, headers })).statusCode,
  });
  const [mine, theirs] = await Promise.all([many(200, here), many(200, there)]);
  expect(count(mine, 200) + count(theirs, 200)).toBeGreaterThan(200);
  // Together they took two bursts: once both know, neither gives more for two seconds.
  let both = false;
  for (let polls = 0; !both && polls < 100; polls++) {
    await systemClock.sleep(10);
    both = (await here()).status === 429 && (await there()).status === 429;
  }
  expect(both).toBe(true);
  await other.close();
});

test('with the limits off nothing is limited and nothing said', async () => {
  edge = await openEdge();
  const { ownerId } = await edge.newAccount();
  const { key } = await edge.newKey(ownerId);
  expect(count(await many(250, () => edge.call(key, { url: '/account' })), 200)).toBe(250);
  expect((await edge.app.inject({ url: `${base}/account` })).headers).not.toHaveProperty('ratelimit');
});
