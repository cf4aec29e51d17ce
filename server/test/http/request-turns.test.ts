import { base, openEdge } from '@vintem/testkit/edge.ts';
import { openService, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeKey } from '../../src/api/keys/key.ts';
import { answerWithinMs } from '../../src/ground/deadline.ts';
import { mountPanel, type PanelParts } from '../../src/main/panel.ts';
import { mountPayer, type PayerParts } from '../../src/main/payer.ts';
import type { Served } from '../../src/main/served.ts';
import { buildServer, type EdgeParts } from '../../src/main/server.ts';
import { type Clock, systemClock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';

const ids = systemIds(systemClock);

describe('of the public API', () => {
  let edge: Awaited<ReturnType<typeof openEdge>>;
  beforeAll(async () => {
    edge = await openEdge();
  });
  afterAll(() => edge?.close());

  const limited = () => ({ ...edge.parts.config, rateLimits: true });

  test('A crowd of one account’s requests keeps none of another account waiting behind it', async () => {
    const [crowd, other] = [await edge.newAccount(), await edge.newAccount()];
    const [crowdKey, otherKey] = [await edge.newKey(crowd.ownerId), await edge.newKey(other.ownerId)];
    // The keys that were read stay fresh.
    const app = buildServer({
      ...edge.parts,
      clock: { ...systemClock, monotonicMs: () => 1 },
      config: limited(),
    });
    const begun: string[] = [];
    app.addHook('preHandler', (request, _reply, done) => {
      begun.push(request.caller.accountId);
      done();
    });
    const call = async ({ key }: { key: string }) =>
      (await app.inject({ url: `${base}/account`, headers: { authorization: `Bearer ${key}` } })).statusCode;
    expect([await call(crowdKey), await call(otherKey)]).toEqual([200, 200]);
    begun.length = 0;
    const first = call(otherKey);
    const answers = [...Array.from({ length: 40 }, () => call(crowdKey)), call(otherKey)];
    expect(new Set(await Promise.all([first, ...answers]))).toEqual(new Set([200]));
    expect(begun).toHaveLength(42);
    expect(begun.lastIndexOf(other.ownerId)).toBeLessThan(8);
    await app.close();
  });

  test('Made-up keys are looked up one network after the other', async () => {
    const looked: string[] = [];
    /** The network that each made-up key comes from. */
    const madeUp = new Map<string, string>();
    const { sql } = edge.parts;
    const app = buildServer({
      ...edge.parts,
      config: limited(),
      sql: {
        ...sql,
        run: (statement, values) => {
          const from = madeUp.get(String(values?.[0]));
          if (statement.name === 'key_read' && from) looked.push(from);
          return sql.run(statement, values);
        },
      },
    });
    const guess = async (remoteAddress: string) => {
      const made = makeKey(ids, true);
      madeUp.set(made.id, remoteAddress);
      const headers = { authorization: `Bearer ${made.key}` };
      return (await app.inject({ url: `${base}/account`, headers, remoteAddress })).statusCode;
    };
    const guesses = Array.from({ length: 15 }, () => guess('192.0.2.1'));
    guesses.push(guess('192.0.2.2'));
    expect(new Set(await Promise.all(guesses))).toEqual(new Set([401]));
    expect(looked).toHaveLength(16);
    expect(looked.slice(0, 3)).toContain('192.0.2.2');
    await app.close();
  });
});

test('Payers wait for the turn of their seller, people of the panel and addresses that lead nowhere for that of their network', async () => {
  const service = await openService();
  const { runtime } = service;
  const app = buildServer({ ...runtime } as unknown as EdgeParts);
  mountPanel(app, runtime as unknown as PanelParts, () => runtime as unknown as Served);
  mountPayer(app, runtime as unknown as PayerParts, () => runtime as unknown as Served);
  const waiting: string[] = [];
  const go: (() => void)[] = [];
  const wait = (line: string) => {
    waiting.push(line);
    return new Promise<void>((begin) => go.push(begin));
  };
  app.turns.ofPayer = (accountNumber) => wait(`payers of ${accountNumber}`);
  app.turns.ofStranger = wait;
  const token = new URL(runtime.pages.of('charge', 77, crypto.randomUUID())).pathname;
  const remoteAddress = '192.0.2.9';
  let answered = 0;
  const asked = [token, '/pay/nowhere', '/panel/api/session'].map(async (url) => {
    const { statusCode } = await app.inject({ url, remoteAddress });
    answered++;
    return statusCode;
  });
  for (let n = 0; n < 50; n++) await new Promise((resolve) => setImmediate(resolve));
  expect(waiting).toEqual(['payers of 77', remoteAddress, remoteAddress]);
  expect(answered).toBe(0);
  for (const begin of go) begin();
  expect(await Promise.all(asked)).toEqual([404, 404, 401]);
  await app.close();
  await service.close();
});

test('Payers and people of the panel whose turn does not come in time get 503, and nothing of their requests has begun', async () => {
  const service = await openService();
  const { runtime } = service;
  let waits = 0;
  const over = Promise.withResolvers<void>();
  // A turn never comes, and the time is over when the test says so.
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => 0,
    sleep: (ms, signal) => {
      if (ms !== answerWithinMs) return systemClock.sleep(ms, signal);
      waits++;
      return over.promise;
    },
  };
  const parts = { ...runtime, clock };
  const app = buildServer({ ...parts } as unknown as EdgeParts);
  mountPanel(app, parts as unknown as PanelParts, () => parts as unknown as Served);
  mountPayer(app, parts as unknown as PayerParts, () => parts as unknown as Served);
  const never = () => new Promise<void>(() => {});
  app.turns.ofPayer = never;
  app.turns.ofStranger = never;
  let begun = 0;
  app.addHook('preHandler', (_request, _reply, done) => {
    begun++;
    done();
  });
  const page = new URL(runtime.pages.of('charge', 77, crypto.randomUUID())).pathname;
  const urls = [page, `${page}/state`, '/panel/api/session'];
  const asked = urls.map((url) => app.inject({ url, headers: { 'accept-language': 'pt-BR' } }));
  await until(async () => waits === 3);
  over.resolve();
  const [shown, state, session] = await Promise.all(asked);
  for (const answer of [shown, state, session]) {
    expect(answer?.statusCode).toBe(503);
    expect(answer?.headers['retry-after']).toBe('1');
  }
  expect(shown?.body).toContain('Nada foi cobrado. Tente de novo em um instante.');
  expect(state?.json()).toMatchObject({ code: 'overloaded' });
  expect(session?.json()).toMatchObject({ code: 'overloaded' });
  expect(begun).toBe(0);
  await app.close();
  await service.close();
});
