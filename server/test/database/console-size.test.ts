import { createDatabase, type TestDatabase } from '@vintem/testkit/database.ts';
import { recording, type Visited, visited } from '@vintem/testkit/rows-visited.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findOpenIncidents, findUnknownTransfers } from '../../src/console/views/worklist.sql.ts';
import { createAccount } from '../../src/operate/connections/directory.ts';
import {
  countOpenIncidents,
  findByEndToEnd,
  findById,
  findByNameAtProvider,
  findByReturn,
  findDisputeRows,
} from '../../src/operate/find.sql.ts';
import { systemClock as clock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';
import type { Sql } from '../../src/ports/sql.ts';

// Reading of operators over all accounts: counted by the rows that its scans read, never by time.
const count = 3_000;
const accounts = 500;
const most = 200;

let db: TestDatabase;
let accountId: string;
let operationId: string;
const ids = systemIds(clock);

beforeAll(async () => {
  db = await createDatabase({ live: false });
  const needs = { sql: db.sql, clock, ids };
  const made = await createAccount(needs, { name: 'Loja', test: true, connection: 'simulator' });
  ({ ownerId: accountId, operationId } = made);
  const of = [accountId, operationId];
  await db.admin(
    `INSERT INTO account (id, number, name, test, connection, created_at)
      SELECT gen_random_uuid(), 1000 + n, 'Loja', true, 'simulator', now() FROM generate_series(1, ${accounts}) n`,
  );
  await db.admin(
    `INSERT INTO payment (account_id, id, operation_id, kind, status, amount_cents, fee_cents, request_key, fingerprint, description,
        payer_name, created_at, updated_at, settled_at, net_amount_cents, end_to_end, history, command)
      SELECT id, gen_random_uuid(), gen_random_uuid(), 'deposit', 'paid', 100, 0, gen_random_uuid(), '', '', 'Maria', now(), now(), now(), 100,
        'E' || number || '/' || n, '[]', gen_random_uuid() FROM account, generate_series(1, ${count / accounts}) n WHERE number > 0`,
  );
  const intents = (kind: string, priority: number, known: boolean): Promise<unknown> =>
    db.admin(
      `INSERT INTO intent (account_id, payment_id, operation_id, connection, kind, priority, state, fence, attempt, due_at, news_at,
          failures, absences, known, refused, created_at)
        SELECT account_id, CASE WHEN $1 = 'transfer' THEN gen_random_uuid() ELSE id END, operation_id, 'simulator', $1, $2, 'awaiting',
          gen_random_uuid(), 1, now(), now(), 0, 0, $3, false, now() - interval '1 hour' FROM payment`,
      [kind, priority, known],
    );
  await intents('deposit', 5, false);
  await db.admin(
    `INSERT INTO incident (account_id, id, kind, operation_id, amount_cents, reference, freezes, detail, state, opened_at, resolved_at, resolution)
      SELECT $1, gen_random_uuid(), 'unmatched', $2, 1, 'one ' || n, false, '{}', 'resolved', now() - interval '1 day', now(),
        '{"action": "dismiss", "reason": "seen", "actor": "tester"}' FROM generate_series(1, ${count}) n`,
    of,
  );
  await openIncidents(3);
  await db.admin(
    `INSERT INTO dispute (account_id, id, payment_id, operation_id, connection, provider_id, end_to_end, amount_cents, status, opened_at,
        deadline_at, debited_cents, created_at, updated_at)
      SELECT $1, gen_random_uuid(), gen_random_uuid(), $2, 'simulator', 'dispute ' || n, 'E' || n, 1, 'open', now(), now() + n * interval '1 hour',
        0, now(), now() FROM generate_series(1, ${count}) n`,
    of,
  );
  await db.admin(
    `INSERT INTO refund (account_id, id, operation_id, payment_id, end_to_end, reason, status, amount_cents, description, request_key, fingerprint,
        rtr_id, created_at, updated_at, settled_at, history, command)
      SELECT account_id, gen_random_uuid(), operation_id, id, end_to_end, 'requested', 'completed', 1, '', gen_random_uuid(), '', 'D' || end_to_end,
        now(), now(), now(), '[]', gen_random_uuid() FROM payment`,
  );
  await db.admin('ANALYZE');
});
afterAll(() => db.drop());

const openIncidents = (many: number): Promise<unknown> =>
  db.admin(
    `INSERT INTO incident (account_id, id, kind, operation_id, amount_cents, reference, freezes, detail, state, opened_at)
      SELECT $1, gen_random_uuid(), 'unmatched', $2, 1, 'open ' || gen_random_uuid(), false, '{}', 'open', now() FROM generate_series(1, $3)`,
    [accountId, operationId, many],
  );

/** Read by the statements of a call, all together. */
async function looked(call: (sql: Sql) => Promise<unknown>): Promise<Visited> {
  const { sql, runs } = recording(db.sql);
  await call(sql);
  expect(runs.length).toBeGreaterThan(0);
  const all = { rows: 0, pages: 0 };
  for (const run of runs) {
    const { rows, pages } = await visited(db.url, run);
    all.rows += rows;
    all.pages += pages;
  }
  return all;
}
const read = async (call: (sql: Sql) => Promise<unknown>): Promise<number> => (await looked(call)).rows;
/** Looks into an index that find nothing are pages and no rows. */
const readPages = async (call: (sql: Sql) => Promise<unknown>): Promise<number> => (await looked(call)).pages;

test('A Pix and a return are found over all accounts without a look into each', async () => {
  const [paid] = await db.admin<{ owner: string; pix: string }>(
    'SELECT account_id AS owner, end_to_end AS pix FROM payment LIMIT 1',
  );
  const { owner = '', pix = '' } = paid ?? {};
  expect(await findByEndToEnd(db.sql, pix, 51)).toMatchObject([{ kind: 'payment', ownerId: owner }]);
  expect(await readPages((sql) => findByEndToEnd(sql, pix, 51))).toBeLessThan(15);
  expect((await findByReturn(db.sql, `D${pix}`)).map(({ kind }) => kind)).toEqual(['refund', 'payment']);
  expect(await readPages((sql) => findByReturn(sql, `D${pix}`))).toBeLessThan(15);
});

test('A dispute is found by its name at the provider, and what an id names reads an account once for each table', async () => {
  expect(await findByNameAtProvider(db.sql, 'dispute 7')).toMatchObject([
    { kind: 'dispute', ownerId: accountId },
  ]);
  expect(await read((sql) => findByNameAtProvider(sql, 'dispute 7'))).toBeLessThan(20);
  expect(await read((sql) => findByNameAtProvider(sql, 'nothing'))).toBeLessThan(20);
  expect(await read((sql) => findById(sql, ids.uuid()))).toBeLessThan(15 * accounts);
});

test('The worklist reads what is open: no resolved incident, no charge that waits for its payer', async () => {
  expect(await findOpenIncidents(db.sql, most)).toHaveLength(3);
  expect(await read((sql) => findOpenIncidents(sql, most))).toBeLessThan(10);
  expect(await findUnknownTransfers(db.sql, clock.now(), most)).toEqual([]);
  expect(await read((sql) => findUnknownTransfers(sql, clock.now(), most))).toBeLessThan(20);
});

test('The worklist reads no more of what is open than it shows', async () => {
  expect(await findDisputeRows(db.sql, null, most)).toHaveLength(most);
  expect(await read((sql) => findDisputeRows(sql, null, most))).toBeLessThan(1.2 * most);
  await openIncidents(count);
  await db.admin('ANALYZE incident');
  expect(await findOpenIncidents(db.sql, most)).toHaveLength(most);
  expect(await read((sql) => findOpenIncidents(sql, most))).toBeLessThan(1.2 * most);
  expect(await countOpenIncidents(db.sql, accountId, 100)).toBe(100);
  expect(await read((sql) => countOpenIncidents(sql, accountId, 100))).toBeLessThan(120);
});

test('Unknown transfers are shown the oldest first, whatever queue they wait in', async () => {
  await db.admin(
    `INSERT INTO payment SELECT (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'kind', 'transfer', 'status', 'unknown',
        'payer_name', null, 'pix_key', '\\x00', 'pix_key_type', 'EMAIL', 'end_to_end', null, 'settled_at', null, 'net_amount_cents', null))).*
      FROM payment p LIMIT 4`,
  );
  await db.admin(
    `INSERT INTO intent (account_id, payment_id, operation_id, connection, kind, priority, state, fence, attempt, due_at, news_at,
        failures, absences, known, refused, created_at)
      SELECT account_id, id, operation_id, 'simulator', 'transfer', n - 1, 'awaiting', gen_random_uuid(), 1, now(), now(), 0, 0, false, false,
        now() - n * interval '1 hour' FROM (SELECT *, row_number() OVER (ORDER BY id) AS n FROM payment WHERE kind = 'transfer') p`,
  );
  const found = await findUnknownTransfers(db.sql, clock.now() - 5_400_000, 2);
  expect(found.map(({ createdAt }) => Math.round((clock.now() - createdAt) / 3_600_000))).toEqual([4, 3]);
  expect(await findUnknownTransfers(db.sql, clock.now(), most)).toHaveLength(4);
});
