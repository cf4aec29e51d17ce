import { createDatabase, type TestDatabase } from '@vintem/testkit/database.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { retention, stepCellRetention, stepDirectoryRetention } from '../../src/main/retention.ts';
import { systemClock } from '../../src/ports/clock.ts';
import type { Queries, Sql } from '../../src/ports/sql.ts';
import { storageBudgets, takeStorage } from '../../src/store/database/storage-budget.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await createDatabase();
});
afterAll(() => db.drop());

const prunes = Object.entries(retention).flatMap(([table, rows]) =>
  'step' in rows ? [{ table, ...rows }] : [],
);

/** The same connection, which notes what runs over it. */
function noting(sql: Sql, names: string[]): Sql {
  const run: Queries['run'] = (statement, values) => {
    names.push(statement.name);
    return sql.run(statement, values);
  };
  return {
    ...sql,
    run,
    tx: (work) =>
      sql.tx((tx) =>
        work({
          ...tx,
          run: (statement, values) => {
            names.push(statement.name);
            return tx.run(statement, values);
          },
        }),
      ),
  };
}

test('Every table of the schema has a retention, and there is none of another table', async () => {
  const tables = await db.admin<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'vintem'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`,
  );
  expect(Object.keys(retention).sort()).toEqual(tables.map(({ name }) => name).sort());
});

test('An index that exists finds the rows that are removed by age', async () => {
  const indexes = await db.admin<{ table: string; index: string }>(
    `SELECT tablename AS table, indexname AS index FROM pg_indexes WHERE schemaname = 'vintem'`,
  );
  for (const { table, index } of prunes) expect(indexes).toContainEqual({ table, index });
});

test('The loops of a worker run every statement of the list', async () => {
  const names: string[] = [];
  const deps = { sql: noting(db.sql, names), clock: systemClock };
  await stepDirectoryRetention(deps);
  await stepCellRetention(deps);
  const own = prunes.filter(({ step }) => typeof step === 'function').map(({ statement }) => statement);
  expect([...new Set(names)].sort()).toEqual([...new Set(own)].sort());
});

test('A step removes at most some hundred rows, and leaves what is young', async () => {
  const account = '01939f3a-7a00-7000-8000-000000000003';
  await db.admin(
    `INSERT INTO webhook_url_change (account_id, changed_at)
      SELECT '${account}', now() - interval '2 hours' - n * interval '1 second' FROM generate_series(1, 1200) n`,
  );
  await db.admin(`INSERT INTO webhook_url_change (account_id, changed_at) VALUES ('${account}', now())`);
  await db.admin(
    `INSERT INTO rate_bucket (id, spent_until) SELECT 'full:' || n, 1 FROM generate_series(1, 1200) n UNION ALL SELECT 'in use', 9e15`,
  );
  const deps = { sql: db.sql, clock: systemClock };
  const count = async () =>
    (
      await db.admin<{ changes: number; buckets: number }>(
        'SELECT (SELECT count(*)::int FROM webhook_url_change) AS changes, (SELECT count(*)::int FROM rate_bucket) AS buckets',
      )
    )[0];
  expect(await stepCellRetention(deps)).toBe(true);
  expect(await stepDirectoryRetention(deps)).toBe(true);
  expect(await count()).toEqual({ changes: 701, buckets: 701 });
  while (await stepCellRetention(deps));
  while (await stepDirectoryRetention(deps));
  expect(await count()).toEqual({ changes: 1, buckets: 1 });
});

describe('A budget of storage', () => {
  const account = (n: number) => `01939f3a-7a00-7000-8000-0000000001${n.toString().padStart(2, '0')}`;
  const { bytes, perSecond } = storageBudgets.answers;
  const take = (tx: Queries, n: number, wanted: number, nowMs: number) =>
    takeStorage(tx, 'answers', new Map([[account(n), wanted]]), nowMs).then((got) => got.get(account(n)));

  test('grants what is left of it, and what time has given back', async () => {
    expect(await take(db.sql, 1, bytes - 1000, 0)).toBe(bytes - 1000);
    expect(await take(db.sql, 1, 5000, 0)).toBe(1000);
    expect(await take(db.sql, 1, 5000, 0)).toBe(0);
    expect(await take(db.sql, 1, 5000, 10_000)).toBe(10 * perSecond);
    expect(await take(db.sql, 1, 2 * bytes, 10_000 + (bytes / perSecond) * 1000)).toBe(bytes);
  });

  test('is taken by all processes together: at once they get no more than one', async () => {
    const got = await Promise.all(
      Array.from({ length: 8 }, () => db.sql.tx((tx) => take(tx, 2, bytes / 4, 0))),
    );
    expect(got.reduce((sum: number, one) => sum + (one ?? 0), 0)).toBe(bytes);
  });

  test('is of each account and kind, and is given back when nothing was stored after all', async () => {
    const failed = db.sql.tx(async (tx) => {
      await take(tx, 3, bytes, 0);
      throw new Error('not stored');
    });
    await expect(failed).rejects.toThrow('not stored');
    expect(await take(db.sql, 3, bytes, 0)).toBe(bytes);
    expect(await take(db.sql, 4, bytes, 0)).toBe(bytes);
    const other = await takeStorage(db.sql, 'refused-requests', new Map([[account(3), 10]]), 0);
    expect(other.get(account(3))).toBe(10);
  });

  test('that a wrong clock used up far ahead is full again within its own time', async () => {
    await take(db.sql, 5, 1, 0);
    await db.admin(`UPDATE storage_budget SET spent_until = 9e15 WHERE account_id = '${account(5)}'`);
    expect(await take(db.sql, 5, 100, 0)).toBe(0);
    expect(await take(db.sql, 5, 100, 10_000)).toBe(100);
  });
});
