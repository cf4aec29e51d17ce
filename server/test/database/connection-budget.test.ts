import { addCells } from '@vintem/testkit/cells.ts';
import { createDatabase, type TestDatabase } from '@vintem/testkit/database.ts';
import { openService, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLog } from '../../src/ground/log.ts';
import { ConnectionLost } from '../../src/ports/sql.ts';
import { connectionBudget } from '../../src/store/database/connection-budget.ts';
import { openPool } from '../../src/store/database/pool.ts';
import { onBehalfOf } from '../../src/store/database/whose-call.ts';

/** The pools of a process share a bound on their connections, whatever the number of cells. */

let db: TestDatabase;
beforeAll(async () => {
  db = await createDatabase();
});
afterAll(() => db.drop());

const rests = { name: 'rests', text: 'SELECT pg_sleep(0.02)' };
const one = { name: 'one', text: 'SELECT 1' };
const unexpected = (): never => {
  throw new Error('nothing comes late here');
};
const poolsOver = (most: number, number: number, size = 5, waitMs = 60_000) => {
  const budget = connectionBudget(() => most, waitMs);
  const log = createLog('silent');
  const pools = Array.from({ length: number }, () =>
    openPool({ url: db.url, log, name: 'budget', size, budget }),
  );
  return { budget, pools, close: () => Promise.all(pools.map((pool) => pool.close())) };
};

test('no more connections are open than the budget has, in whatever pool they are asked for', async () => {
  const { budget, pools, close } = poolsOver(3, 8);
  const seen: number[] = [];
  await Promise.all(
    Array.from({ length: 80 }, async (_, at) => {
      await pools[(at * 7) % pools.length]?.run(rests);
      seen.push(budget.load().open);
    }),
  );
  expect(Math.max(...seen)).toBe(3);
  expect(budget.load()).toEqual({ open: 3, idle: 3, waiting: 0, most: 3 });
  const count = `SELECT count(*)::int AS open FROM pg_stat_activity WHERE application_name = 'budget'`;
  // A backend ends a moment after its connection.
  await until(async () => (await db.admin<{ open: number }>(count))[0]?.open === 3);
  await close();
  await until(async () => (await db.admin<{ open: number }>(count))[0]?.open === 0);
});

test('a crowd in one pool keeps no other waiting behind all of it', async () => {
  const budget = connectionBudget(() => 2, 60_000);
  const served: string[] = [];
  const pool = { size: 5, open: () => 0, idle: () => 0, closeIdle: async () => {} };
  const [crowded, other] = [budget.join(pool), budget.join(pool)];
  const crowd = Array.from({ length: 6 }, () => crowded.take(async () => served.push('crowd'), unexpected));
  const one = other.take(async () => served.push('other'), unexpected);
  await Promise.all(crowd.slice(0, 2));
  expect(budget.load().waiting).toBe(5);
  crowded.give();
  await one;
  other.give();
  for (const waiting of crowd.slice(2)) {
    await waiting;
    crowded.give();
  }
  expect(served).toEqual(['crowd', 'crowd', 'other', 'crowd', 'crowd', 'crowd', 'crowd']);
});

test('A crowd of one caller keeps no other caller waiting behind all of it, and what is done for everybody has every second place', async () => {
  const budget = connectionBudget(() => 2, 60_000);
  const pool = { size: 5, open: () => 0, idle: () => 0, closeIdle: async () => {} };
  const places = budget.join(pool);
  const served: string[] = [];
  const call = (who: string | null) =>
    onBehalfOf(
      () => who,
      () => places.take(async () => served.push(who ?? 'everybody'), unexpected),
    );
  const crowd = Array.from({ length: 8 }, () => call('crowd'));
  const others = [call('other'), call(null), call(null)];
  await Promise.all(crowd.slice(0, 2));
  for (let n = 0; n < 9; n++) places.give();
  await Promise.all([...crowd, ...others]);
  expect(served.slice(0, 6)).toEqual(['crowd', 'crowd', 'everybody', 'crowd', 'everybody', 'other']);
  for (let n = 0; n < 2; n++) places.give();
});

test('Too many calls of one caller fail at once, and those of the others wait', async () => {
  const budget = connectionBudget(() => 1, 60_000);
  const pool = { size: 5, open: () => 0, idle: () => 0, closeIdle: async () => {} };
  const places = budget.join(pool);
  const call = (who: string) =>
    onBehalfOf(
      () => who,
      () => places.take(async () => who, unexpected),
    );
  const waiting = Array.from({ length: 513 }, () => call('crowd'));
  await expect(call('crowd')).rejects.toThrow('every connection of the process is in use');
  const other = call('other');
  expect(budget.load().waiting).toBe(513);
  for (let n = 0; n < 513; n++) places.give();
  expect(await other).toBe('other');
  await Promise.all(waiting);
});

test('a busy pool waits for its own connection, which one call gets, and closes none of another busy pool', async () => {
  const budget = connectionBudget(() => 2, 60_000);
  let closed = 0;
  const poolOf = (idle: number) => {
    const pool = { idle };
    const shared = { size: 5, open: () => 1, idle: () => pool.idle, closeIdle: async () => void closed++ };
    const places = budget.join(shared);
    const use = () => places.take(async () => void pool.idle--, unexpected);
    const end = () => {
      pool.idle++;
      places.give();
    };
    return { use, end };
  };
  const [one, other] = [poolOf(1), poolOf(1)];
  await other.use();
  await one.use();
  other.end();
  const served: string[] = [];
  const waiting = ['first', 'second'].map((name) => one.use().then(() => served.push(name)));
  expect(budget.load().waiting).toBe(2);
  one.end();
  await waiting[0];
  expect([served, budget.load().waiting, closed]).toEqual([['first'], 1, 0]);
  one.end();
  await waiting[1];
  expect([served, closed]).toEqual([['first', 'second'], 0]);
});

test('a call that gets no place in time fails as without a connection, and its place is not lost', async () => {
  const { budget, pools } = poolsOver(1, 2, 5, 50);
  const [holding, waiting] = pools as [(typeof pools)[0], (typeof pools)[0]];
  const tx = await holding.begin();
  await expect(waiting.run(one)).rejects.toBeInstanceOf(ConnectionLost);
  await tx.commit();
  // It has no time limit where it need not wait for another pool.
  await holding.close();
  expect(await waiting.run(one)).toHaveLength(1);
  expect(budget.load()).toEqual({ open: 1, idle: 1, waiting: 0, most: 1 });
  await waiting.close();
});

test('a call that waited for its place does not wait as long again for its connection, and what comes late is given back', async () => {
  const budget = connectionBudget(() => 1, 50);
  const pool = { size: 5, open: () => 0, idle: () => 0, closeIdle: async () => {} };
  const places = budget.join(pool);
  await places.take(async () => 'first', unexpected);
  const { promise: silent, resolve: answers } = Promise.withResolvers<string>();
  const back: string[] = [];
  const waiting = places.take(
    () => silent,
    (late) => back.push(late),
  );
  places.give();
  await expect(waiting).rejects.toThrow('no connection came in time');
  const next = places.take(async () => 'next', unexpected);
  expect(budget.load().waiting).toBe(1);
  answers('late');
  expect(await next).toBe('next');
  expect(back).toEqual(['late']);
});

test('calls that wait for a pool that is closed fail at once, and the next pool has its places', async () => {
  const budget = connectionBudget(() => 1, 60_000);
  const pool = { size: 5, open: () => 0, idle: () => 0, closeIdle: async () => {} };
  const [first, second] = [budget.join(pool), budget.join(pool)];
  await first.take(async () => 'taken', unexpected);
  const waiting = first.take(async () => 'never', unexpected);
  const other = second.take(async () => 'other', unexpected);
  first.leave();
  await expect(waiting).rejects.toThrow('every connection of the process is in use');
  expect(budget.load().waiting).toBe(1);
  first.give();
  expect(await other).toBe('other');
});

test('of pools that have the same number of places the one whose call waited longest is next', async () => {
  const budget = connectionBudget(() => 1, 60_000);
  const pool = { size: 5, open: () => 0, idle: () => 0, closeIdle: async () => {} };
  const [first, second, third] = [budget.join(pool), budget.join(pool), budget.join(pool)];
  const served: string[] = [];
  await first.take(async () => 'taken', unexpected);
  const call = (name: string, places: typeof first) =>
    places.take(async () => served.push(name), unexpected).then(() => places.give());
  const calls = [];
  for (const [name, places] of Object.entries({ third, first, second })) {
    calls.push(call(name, places));
    // Later by the clock.
    const at = performance.now();
    while (performance.now() === at);
  }
  first.give();
  await Promise.all(calls);
  expect(served).toEqual(['third', 'first', 'second']);
});

test('a connection that fails gives its place back', async () => {
  const { budget, pools, close } = poolsOver(1, 2);
  const [first, second] = pools as [(typeof pools)[0], (typeof pools)[0]];
  const ends = { name: 'ends', text: 'SELECT pg_terminate_backend(pg_backend_pid())' };
  for (let turn = 0; turn < 3; turn++)
    await expect(first.run(ends)).rejects.toMatchObject({ message: expect.any(String) });
  expect(await second.run(one)).toHaveLength(1);
  const refused = openPool({
    url: db.url.replace(/[^/]*$/, 'no_such_database'),
    log: createLog('silent'),
    name: 'budget',
    budget,
  });
  await expect(refused.run(one)).rejects.toBeInstanceOf(ConnectionLost);
  expect(await second.run(one)).toHaveLength(1);
  await close();
});

test('a pool of a cell refuses connections that work in another schema', async () => {
  const log = createLog('silent');
  // A pooler that drops the options of a connection does this.
  const stray = openPool({ url: db.url, log, name: 'stray', cell: 'vintem_2' });
  const refused = await stray.run(one).catch((error: unknown) => error);
  expect(String((refused as Error).cause)).toContain('works in vintem and not in vintem_2');
  await stray.close();
});

test('over two cells and one connection everything works: what has a connection waits for no second one', async () => {
  const service = await openService({ budget: connectionBudget(() => 1, 60_000) });
  const [, cell] = await addCells(service, 1);
  const merchant = await service.newMerchant(cell);
  await merchant.receive(2_000);
  const { status, body } = await merchant.transfer();
  expect(status).toBe(201);
  await until(async () => (await merchant.call('GET', `/payments/${body.id}`)).body.status === 'completed');
  expect(await merchant.balanceCents()).toBe(1_000);
  await service.close();
});
