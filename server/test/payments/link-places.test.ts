import { createDatabase, type TestDatabase } from '@vintem/testkit/database.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { gatherPlaces, type Place, type TakePlace } from '../../src/api/links/limits.ts';
import { systemClock } from '../../src/ports/clock.ts';
import type { Sql } from '../../src/ports/sql.ts';

/** Places of networks and accounts that many callers take together: a limit is never passed, and what is refused costs no other caller anything. */

let db: TestDatabase;
beforeAll(async () => {
  db = await createDatabase();
});
afterAll(() => db.drop());

const now = 1_790_000_000_000;
const clock = { ...systemClock, now: () => now };
const newProcess = (sql: Sql = db.sql): TakePlace => gatherPlaces({ sql, clock });

let named = 0;
const newName = (): string => `${++named}`;
const placeOf = (network: string, account: string, most = { network: 10, account: 300 }): Place => ({
  narrow: { id: `link-1-network ${network}`, most: most.network, everyMs: 60_000 },
  wide: { id: `link-2-account ${account}`, most: most.account, everyMs: 60_000 },
});

/** Which of them have their place. */
const passed = async (calls: readonly Promise<void>[]): Promise<boolean[]> =>
  (await Promise.allSettled(calls)).map(({ status }) => status === 'fulfilled');
const count = (all: readonly boolean[]): number => all.filter(Boolean).length;

const readSpent = {
  name: 'test.spent',
  text: 'SELECT coalesce(max(spent_until) - $2::float8, 0) AS ms FROM rate_bucket WHERE id = $1',
};
const spentMs = async (id: string): Promise<number> =>
  (await db.sql.run<{ ms: number }>(readSpent, [id, now]))[0]?.ms ?? 0;

test('Three processes whose callers ask for places of one network at once let exactly its limit pass, and spend so many of the account', async () => {
  const place = placeOf(newName(), newName());
  const processes = [newProcess(), newProcess(), newProcess()];
  const calls = Array.from({ length: 60 }, (_, at) => (processes[at % 3] as TakePlace)(place));
  expect(count(await passed(calls))).toBe(10);
  expect(await spentMs(place.narrow.id)).toBe(60_000);
  expect(await spentMs(place.wide.id)).toBe(10 * 200);
});

test('Three processes whose callers ask for places of one account at once let exactly its limit pass', async () => {
  const account = newName();
  const processes = [newProcess(), newProcess(), newProcess()];
  const calls = Array.from({ length: 45 }, (_, at) =>
    (processes[at % 3] as TakePlace)(placeOf(newName(), account, { network: 10, account: 25 })),
  );
  expect(count(await passed(calls))).toBe(25);
  expect(await spentMs(`link-2-account ${account}`)).toBe(60_000);
});

test('Places go in the order in which they were asked for, and who is refused among others takes none from them', async () => {
  const account = newName();
  const [bots, payers] = [newName(), newName()];
  const most = { network: 3, account: 5 };
  const take = newProcess();
  const calls = [bots, bots, bots, bots, bots, payers, bots, payers, payers].map((network) =>
    take(placeOf(network, account, most)),
  );
  // Three of the bots, and two of the payers, with whom the account is full.
  expect(await passed(calls)).toEqual([true, true, true, false, false, true, false, true, false]);
});

test('A database that fails takes no place, and the next callers have theirs', async () => {
  let fails = true;
  const failing: Sql = {
    ...db.sql,
    tx: (work) =>
      db.sql.tx(async (tx) => {
        const done = await work(tx);
        if (fails) throw new Error('lost');
        return done;
      }),
  };
  const take = newProcess(failing);
  const place = placeOf(newName(), newName());
  expect(count(await passed([take(place), take(place)]))).toBe(0);
  expect([await spentMs(place.narrow.id), await spentMs(place.wide.id)]).toEqual([0, 0]);
  fails = false;
  expect(count(await passed(Array.from({ length: 11 }, () => take(place))))).toBe(10);
});
