import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAccount } from '../src/accounts/directory.ts';
import { lowestIdAt } from '../src/events/log.ts';
import { createLog } from '../src/log.ts';
import { deleteOperation, operationDirectory } from '../src/operations/operations.ts';
import { findDays, findOpenIncidents, findUnknown } from '../src/panel/overview.sql.ts';
import { findLastCompared, findReconciledOperations } from '../src/panel/reconciliation.sql.ts';
import { systemClock as clock } from '../src/ports/clock.ts';
import { systemIds } from '../src/ports/ids.ts';
import type { Sql } from '../src/ports/sql.ts';
import { findOldestOpen, findSettled } from '../src/settlement/reconcile.sql.ts';
import { createSeen, forgetAbandoned } from '../src/settlement/reconcile-seen.sql.ts';
import { createDatabase, type TestDatabase } from './support/database.ts';
import { recording, rowsVisited } from './support/rows-visited.ts';

// No statement of a call or a page reads in proportion to history: counted by the rows that its scans read, never by time.
const count = 3_000;
const limit = 100;

let db: TestDatabase;
let accountId: string;
/** Holds all the payments. */
let full: string;
/** Holds none. */
let empty: string;
const ids = systemIds(clock);

beforeAll(async () => {
  db = await createDatabase({ live: false });
  const needs = { sql: db.sql, clock, ids };
  const made = await createAccount(needs, { name: 'Loja', test: true, connection: 'simulator' });
  [accountId, full] = [made.ownerId, made.operationId];
  empty = ids.uuid();
  await db.admin(
    `INSERT INTO operation (account_id, id, name, slot, created_at, updated_at) VALUES ($1, $2, 'Second', 2, now(), now())`,
    [accountId, empty],
  );
  await db.admin(
    `INSERT INTO balance (account_id, operation_id, head, updated_at) VALUES ($1, $2, $3, now())`,
    [accountId, empty, Buffer.alloc(32)],
  );
  // Deleted operations stay, each with its balance row.
  await db.admin(
    `WITH o AS (INSERT INTO operation (account_id, id, name, created_at, updated_at, deleted_at)
        SELECT $1, gen_random_uuid(), 'Gone', now(), now(), now() FROM generate_series(1, 300) RETURNING id)
      INSERT INTO balance (account_id, operation_id, head, updated_at, deleted_at) SELECT $1, id, $2, now(), now() FROM o`,
    [accountId, Buffer.alloc(32)],
  );
  await insertPayments(`'paid'`, count);
  await insertPayments(`'pending'`, count);
  await db.admin(
    `INSERT INTO intent (account_id, payment_id, operation_id, connection, kind, priority, state, fence, attempt, due_at, news_at,
        failures, absences, known, refused, created_at)
      SELECT account_id, id, operation_id, 'simulator', kind, 5, 'awaiting', gen_random_uuid(), 1, created_at + interval '1 day',
        created_at, 0, 0, false, false, created_at FROM payment WHERE status = 'pending'`,
  );
  await db.admin(
    `INSERT INTO incident (account_id, id, kind, operation_id, amount_cents, reference, freezes, detail, state, opened_at)
      SELECT $1, gen_random_uuid(), 'unmatched', $2, 1, 'one ' || n, false, '{}', 'open', now() FROM generate_series(1, ${count}) n`,
    [accountId, full],
  );
  await db.admin(
    `INSERT INTO audit (account_id, id, at, actor, action, subject, detail)
      SELECT $1, gen_random_uuid(), now(), 'tester', 'account.set', '', '{}' FROM generate_series(1, ${count})`,
    [accountId],
  );
  await db.admin('ANALYZE');
});
afterAll(() => db.drop());

const insertPayments = (status: string, most: number): Promise<unknown> =>
  db.admin(
    `INSERT INTO payment (account_id, id, operation_id, kind, status, amount_cents, fee_cents, request_key, fingerprint, description,
        payer_name, created_at, updated_at, settled_at, net_amount_cents, history, command)
      SELECT $1, gen_random_uuid(), $2, 'deposit', ${status}, 100, 0, gen_random_uuid(), '', '', 'Maria', at, at,
        CASE WHEN ${status} = 'paid' THEN at END, 100, '[]', gen_random_uuid()
      FROM generate_series(1, ${most}) n, LATERAL (SELECT date_trunc('milliseconds', now()) - n * interval '1 minute' AS at) t`,
    [accountId, full],
  );

/** Statements of the call that visit more rows than the limit. */
async function tooMany(call: (sql: Sql) => Promise<unknown>): Promise<Record<string, number>> {
  const { sql, runs } = recording(db.sql);
  await call(sql).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error)) throw error;
  });
  expect(runs.length).toBeGreaterThan(0);
  const found: Record<string, number> = {};
  for (const run of runs) {
    if (run.statement.text.includes('INSERT INTO')) continue;
    const rows = await rowsVisited(db.url, run);
    if (rows > limit) found[run.statement.name] = rows;
  }
  return found;
}

test('deleting an operation reads no open payment of another one, and no deleted operation', async () => {
  for (const operationId of [empty, full]) {
    expect(
      await tooMany((sql) =>
        deleteOperation(
          {
            sql,
            clock,
            ids,
            log: createLog('silent'),
            identity: Buffer.alloc(32),
            directory: operationDirectory({ sql, clock }),
          } as never,
          { accountId, accountNumber: 1, test: true } as never,
          operationId,
        ),
      ),
    ).toEqual({});
    await db.admin('UPDATE operation SET deleted_at = NULL, slot = 2 WHERE id = $1 AND slot IS NULL', [
      operationId,
    ]);
    await db.admin('UPDATE balance SET deleted_at = NULL WHERE operation_id = $1', [operationId]);
  }
});

test('home and reconciliation find what is unconfirmed without reading what is settled or waits for a payer', async () => {
  const operations = [full, empty];
  expect(await tooMany((sql) => findUnknown(sql, accountId, operations))).toEqual({});
  expect(await tooMany((sql) => findOpenIncidents(sql, accountId, operations))).toEqual({});
  expect(await tooMany((sql) => findReconciledOperations(sql, accountId))).toEqual({});
  expect(await tooMany((sql) => findLastCompared(sql, accountId))).toEqual({});
  // Three of the settled payments are of the last three minutes.
  expect(await tooMany((sql) => findDays(sql, accountId, operations, clock.now() - 200_000))).toEqual({});
});

test('a comparison reads each settled payment of its window once, however many pages that takes', async () => {
  const settled = 12_000;
  await insertPayments(`'paid'`, settled - count);
  const { sql, runs } = recording(db.sql);
  const window = { fromMs: clock.now() - 30 * 86_400_000, toMs: clock.now() };
  const found = new Set<string>();
  for await (const page of findSettled(sql, 'simulator', window, null))
    for (const { id } of page) found.add(id);
  expect(found.size).toBe(settled);
  let rows = 0;
  for (const run of runs) rows += await rowsVisited(db.url, run);
  // The open payments of the same window are read as well, and the operations.
  expect(rows).toBeLessThan(1.2 * (settled + count));
});

test('what a comparison has seen is its own, and goes with it or with its age', async () => {
  const [one, other] = [createSeen({ sql: db.sql, ids }), createSeen({ sql: db.sql, ids })];
  expect(await one.add(['a', 'b', 'b'])).toEqual(new Set(['a', 'b']));
  expect(await one.add(['b', 'c'])).toEqual(new Set(['c']));
  expect(await other.add(['c'])).toEqual(new Set(['c']));
  expect(await one.among(['a', 'c', 'd'])).toEqual(new Set(['a', 'c']));
  await one.end();
  expect(await db.admin('SELECT provider_id FROM reconcile_seen')).toEqual([{ provider_id: 'c' }]);
  await forgetAbandoned(db.sql, lowestIdAt(clock.now() - 60_000));
  expect(await other.among(['c'])).toEqual(new Set(['c']));
  await forgetAbandoned(db.sql, lowestIdAt(clock.now() + 60_000));
  expect(await other.among(['c'])).toEqual(new Set());
});

test('the oldest open payments are found page by page', async () => {
  const { sql, runs } = recording(db.sql);
  const oldest = await findOldestOpen(sql, clock.now(), 3);
  const [row] = await db.admin<{ at: Date }>('SELECT min(created_at) AS at FROM intent');
  expect(oldest).toHaveLength(3);
  expect(oldest[0]?.createdAt).toBe(row?.at.getTime());
  expect(oldest.map(({ createdAt }) => createdAt)).toEqual(oldest.map(({ createdAt }) => createdAt).sort());
  expect(await findOldestOpen(db.sql, oldest[2]?.createdAt ?? 0, 3)).toHaveLength(2);
  expect(runs.length).toBeGreaterThan(0);
});

test('what is unconfirmed is found, the oldest first', async () => {
  await insertPayments(`'unknown'`, 3);
  const rows = await findUnknown(db.sql, accountId, [full, empty]);
  expect(rows).toHaveLength(3);
  expect(rows.map(({ createdAt }) => createdAt)).toEqual(rows.map(({ createdAt }) => createdAt).sort());
});
