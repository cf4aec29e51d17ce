import { createDatabase, type TestDatabase } from '@vintem/testkit/database.ts';
import { recording, rowsVisited, visited } from '@vintem/testkit/rows-visited.ts';
import { credit, posting, tillOver } from '@vintem/testkit/till.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deleteOperation, operationDirectory } from '../../src/api/operations/operations.ts';
import { pruneBelow } from '../../src/events/log.sql.ts';
import { createOutcomeWatch } from '../../src/flow/outcome-watch.ts';
import { createLog } from '../../src/ground/log.ts';
import { findByEndToEnd, findPage as findListed } from '../../src/kinds/payment/lookup.sql.ts';
import { eventKinds } from '../../src/money/journal.ts';
import type { Payment } from '../../src/money/payment.ts';
import { createAccount } from '../../src/operate/connections/directory.ts';
import { findOldestOpen, findSettled } from '../../src/operate/reconcile.sql.ts';
import { createSeen, forgetAbandoned } from '../../src/operate/reconcile-seen.sql.ts';
import { findEntries, findNewestEntries, findPlaces } from '../../src/operate/statement/statement.sql.ts';
import { createCashDays } from '../../src/panel/views/cash-days.ts';
import { findPage } from '../../src/panel/views/list-records.ts';
import {
  findFirstSteps,
  findOpenHolds,
  findOpenIncidents,
  findRestrictions,
  findUnknown,
} from '../../src/panel/views/overview.sql.ts';
import { findLastCompared, findReconciledOperations } from '../../src/panel/views/reconciliation.sql.ts';
import {
  findJournal,
  findRecordsByEndToEnd,
  highestSeq,
  type RecordSearch,
} from '../../src/panel/views/records.sql.ts';
import { systemClock as clock } from '../../src/ports/clock.ts';
import { lowestIdAt, systemIds } from '../../src/ports/ids.ts';
import type { Sql } from '../../src/ports/sql.ts';
import { countSealed } from '../../src/store/database/sealed-columns.ts';
import { installationId } from '../../src/store/rows/audit.sql.ts';
import { claimTurns, lookForTurns, type Turn } from '../../src/store/rows/intent-turns.sql.ts';
import { claimDueSends, type SendClass } from '../../src/store/rows/intents.sql.ts';
import { payments } from '../../src/store/rows/payments.sql.ts';
import type { ChainKey } from '../../src/store/till.ts';

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
  expect(await tooMany((sql) => findOpenHolds(sql, accountId, operations))).toEqual({});
  expect(await tooMany((sql) => findRestrictions(sql, accountId))).toEqual({});
});

test('home reads a day from its close, and each journal since then once', async () => {
  const made = await createAccount(
    { sql: db.sql, clock, ids },
    { name: 'Loja', test: true, connection: 'simulator' },
  );
  const scope = { accountId: made.ownerId, operationId: made.operationId };
  const [long, closedTo] = [12_000, 8_000];
  // A credit of 3 with a fee of 1 each minute since the day before yesterday.
  await db.admin(
    `INSERT INTO journal SELECT $1, $2, n, 'credit', gen_random_uuid(), 4, '', 2, 0, 0, 0, -3, 1, 0, 0, 0, 2 * n, 0, 0, 0, at, at,
        gen_random_uuid(), 2, $3, $3, 'simulator'
      FROM generate_series(1, ${long}) n, LATERAL (SELECT '2026-01-01Z'::timestamptz + n * interval '1 minute' AS at) t`,
    [scope.accountId, scope.operationId, Buffer.alloc(32)],
  );
  await db.admin(
    'UPDATE balance SET seq = $2, available = 2 * $2::bigint WHERE account_id = $1 AND operation_id = $3',
    [made.ownerId, long, scope.operationId],
  );
  const { sql: counted, runs } = recording(db.sql);
  const read = (process: ReturnType<typeof createCashDays>) =>
    process(scope.accountId, [scope.operationId], '2025-12-30');
  const sumOf = (days: { inCents: number; outCents: number }[]) =>
    days.reduce((sum, { inCents, outCents }) => [(sum[0] ?? 0) + inCents, (sum[1] ?? 0) + outCents], [0, 0]);
  // The first two looks read their sums only when both have begun: how fast one of them is decides nothing.
  const { promise: bothBegan, resolve: letGo } = Promise.withResolvers<void>();
  let began = 0;
  const atOnce: typeof counted = {
    ...counted,
    run: async (statement, values) => {
      if (statement.name === 'panel_open_day_sums' && began < 2) {
        if (++began === 2) letGo();
        await bothBegan;
      }
      return counted.run(statement, values);
    },
  };
  const process = createCashDays({ sql: atOnce });
  // Two looks at once sum up the same piece, and it counts once.
  const looks = [
    ...(await Promise.all([read(process), read(process)])),
    await read(process),
    await read(process),
  ];
  expect(looks.map(({ days, complete }) => [...sumOf(days), complete])).toEqual([
    [15_000, 5_000, false],
    [15_000, 5_000, false],
    [30_000, 10_000, false],
    [36_000, 12_000, true],
  ]);
  expect(looks.at(-1)?.days[1]).toEqual({ day: '2026-01-01', inCents: 3 * 1_440, outCents: 1_440 });
  runs.length = 0;
  expect(await read(process)).toEqual(looks.at(-1));
  expect(runs.map(({ statement }) => statement.name)).toEqual(['panel_closed_days', 'panel_chain_heads']);

  await db.admin(
    `INSERT INTO day_close (account_id, chain_id, day, previous_day, opening_seq, closing_seq, head, opening_cents, in_cents, out_cents,
        fee_cents, refund_cents, hold_cents, closing_cents, available, reserved, held, receivable, closed_at, command)
      VALUES ($1, $2, '2026-01-06', NULL, 0, ${closedTo}, $3, 0, ${3 * closedTo}, 0, ${closedTo}, 0, 0, ${2 * closedTo}, ${2 * closedTo}, 0, 0, 0,
        now(), gen_random_uuid())`,
    [scope.accountId, scope.operationId, Buffer.alloc(32)],
  );
  const closed = await read(createCashDays({ sql: db.sql }));
  expect([...sumOf(closed.days), closed.complete]).toEqual([36_000, 12_000, true]);
  expect(closed.days[0]?.day).toBe('2026-01-06');
  expect((await read(process)).days).toEqual(closed.days);
  await db.admin('ANALYZE');
  runs.length = 0;
  await read(process);
  for (const run of runs) expect(await rowsVisited(db.url, run), run.statement.name).toBeLessThan(limit);
  // The first steps of a new account look at the beginning of the chain alone: a hundred lines, and only where it is not longer.
  expect(await findFirstSteps(db.sql, scope.accountId)).toBeNull();
  expect(await tooMany((sql) => findFirstSteps(sql, scope.accountId))).toEqual({});
});

test('a payment is found by its end-to-end id without reading the operation', async () => {
  // Beside one large account many with a payment or two: for a plan the average operation is a small one.
  await db.admin(
    `INSERT INTO payment SELECT (jsonb_populate_record(p, jsonb_build_object('account_id', gen_random_uuid(), 'id', gen_random_uuid(),
        'operation_id', gen_random_uuid()))).* FROM payment p LIMIT ${count}`,
  );
  await db.admin(`UPDATE payment SET end_to_end = 'E' || id WHERE status = 'paid'`);
  await db.admin('ANALYZE payment');
  expect(await tooMany((sql) => findByEndToEnd(sql, { accountId, operationId: full }, 'Enone'))).toEqual({});
  expect(await tooMany((sql) => findRecordsByEndToEnd(sql, accountId, 'Enone', [full, empty]))).toEqual({});
  await db.admin('DELETE FROM payment WHERE account_id <> $1', [accountId]);
  await db.admin('ANALYZE payment');
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

test('a page of a statement reads no more of a long history than the page, wherever its period begins', async () => {
  const made = await createAccount(
    { sql: db.sql, clock, ids },
    { name: 'Loja', test: true, connection: 'simulator' },
  );
  const scope = { accountId: made.ownerId, operationId: made.operationId };
  const long = 20_000;
  await db.admin(
    `INSERT INTO journal SELECT $1, $2, n, 'credit', gen_random_uuid(), 4, '', 1, 0, 0, 0, -1, 0, 0, 0, 0, n, 0, 0, 0, at, at,
        gen_random_uuid(), 2, $3, $3, 'simulator'
      FROM generate_series(1, ${long}) n, LATERAL (SELECT '2026-01-01Z'::timestamptz + n * interval '1 minute' AS at) t`,
    [scope.accountId, scope.operationId, Buffer.alloc(32)],
  );
  await db.admin('UPDATE balance SET seq = $2, available = $2 WHERE account_id = $1', [made.ownerId, long]);
  await db.admin(
    `INSERT INTO payment (account_id, id, operation_id, kind, status, amount_cents, fee_cents, request_key, fingerprint, description,
        payer_name, created_at, updated_at, settled_at, net_amount_cents, history, command)
      SELECT account_id, subject, chain_id, 'deposit', 'paid', 100, 0, gen_random_uuid(), '', '', 'Maria', posted_at, posted_at, posted_at,
        100, '[]', gen_random_uuid() FROM journal WHERE account_id = $1`,
    [made.ownerId],
  );
  await db.admin('ANALYZE');
  for (const minute of [0, 1, 9_999, 19_990]) {
    const fromMs = Date.parse('2026-01-01T00:00:00Z') + minute * 60_000;
    const places = await findPlaces(db.sql, scope, fromMs, null);
    expect(places).toEqual({
      opening: { seq: Math.max(0, minute - 1), balanceCents: Math.max(0, minute - 1) },
      closing: { seq: long, balanceCents: long },
    });
    expect(await tooMany((sql) => findPlaces(sql, scope, fromMs, null))).toEqual({});
    const after = places?.opening.seq ?? 0;
    expect(await tooMany((sql) => findEntries(sql, scope, after, long, 20))).toEqual({});
    expect(await tooMany((sql) => findNewestEntries(sql, scope, 0, long, 20))).toEqual({});
    expect(await tooMany((sql) => findJournal(sql, made.ownerId, made.operationId, highestSeq, 20))).toEqual(
      {},
    );
    const [entry] = await findEntries(db.sql, scope, after, long, 20);
    expect([entry?.seq, entry?.payment?.id.length]).toEqual([after + 1, 36]);
  }
  await db.admin('DELETE FROM payment WHERE account_id = $1', [made.ownerId]);
});

test('a list of payments reads its page, and what is rare is found page by page, each payment once', async () => {
  const wanted: RecordSearch = {
    accountId,
    operationIds: [full, empty],
    kinds: ['deposit'],
    statuses: ['paid', 'pending'],
    fromMs: null,
    toMs: null,
    order: 'newest',
    behind: null,
    text: null,
    mark: null,
    minimumCents: null,
    maximumCents: null,
  };
  expect(await tooMany((sql) => findPage(sql, wanted, 10, [60, 10_000]))).toEqual({});
  // Of the other kind there is none: nothing is read for it.
  const transfers = { ...wanted, kinds: ['transfer'] };
  expect(await findPage(db.sql, transfers, 10, [60, 10_000])).toEqual({ records: [], next: null });
  expect(await tooMany((sql) => findPage(sql, transfers, 10, [60, 10_000]))).toEqual({});
  const both = { ...wanted, kinds: ['deposit', 'transfer'] };
  expect(await tooMany((sql) => findPage(sql, both, 10, [60, 10_000]))).toEqual({});
  expect((await findPage(db.sql, both, 10, [60, 10_000])).records).toEqual(
    (await findPage(db.sql, wanted, 10, [60, 10_000])).records,
  );
  const rare = async (order: string): Promise<string> => {
    const [row] = await db.admin<{ id: string }>(
      `UPDATE payment SET payer_name = 'Zuleica' WHERE id = (SELECT id FROM payment WHERE account_id = $1 AND operation_id = $2
        ORDER BY created_at ${order}, id ${order} OFFSET 7 LIMIT 1) RETURNING id`,
      [accountId, full],
    );
    return row?.id ?? '';
  };
  const ids = [await rare('DESC'), await rare('ASC')];
  const [{ all = 0 } = {}] = await db.admin<{ all: number }>(
    'SELECT count(*)::int AS all FROM payment WHERE account_id = $1 AND operation_id = $2',
    [accountId, full],
  );
  for (const order of ['newest', 'oldest'] as const) {
    const found: string[] = [];
    let behind: RecordSearch['behind'] = null;
    let pages = 0;
    do {
      const rest: RecordSearch = { ...wanted, order, text: 'zuleica', behind };
      const { records, next } = await findPage(db.sql, rest, 10, [20, 900]);
      found.push(...records.map((one) => one.id));
      behind = next;
      pages++;
    } while (behind !== null);
    expect(found).toEqual(order === 'newest' ? ids : ids.toReversed());
    // 900 for each page, whatever the tests before have left.
    expect(pages).toBe(Math.floor(all / 900) + 1);
  }
});

test('a page of payments looks at no entry of the index outside of it, however far back it is', async () => {
  const [place] = await db.admin<{ at: string; id: string }>(
    `SELECT extract(epoch FROM created_at) * 1000 AS at, id FROM payment WHERE account_id = $1 AND operation_id = $2 AND kind = 'deposit'
      ORDER BY created_at DESC, id DESC OFFSET ${count} LIMIT 1`,
    [accountId, full],
  );
  const deep = { createdAt: Number(place?.at), id: place?.id ?? '' };
  const wanted: RecordSearch = {
    ...{
      accountId,
      operationIds: [full, empty],
      kinds: ['deposit', 'transfer'],
      statuses: ['paid', 'pending'],
    },
    ...{
      fromMs: null,
      toMs: null,
      order: 'newest',
      behind: null,
      text: null,
      mark: null,
      minimumCents: null,
      maximumCents: null,
    },
  };
  const pagesOf = async (call: (sql: Sql) => Promise<unknown>): Promise<number> => {
    const { sql, runs } = recording(db.sql);
    await call(sql);
    let pages = 0;
    for (const run of runs) pages += (await visited(db.url, run)).pages;
    return pages;
  };
  for (const below of [null, deep]) {
    const within = { from: null, to: null, below };
    const [first] = await findListed(db.sql, { accountId, operationId: full }, within, 10);
    const { records } = await findPage(db.sql, { ...wanted, behind: below }, 10, [11]);
    expect(first?.id).toBe(records[0]?.id);
    expect(await pagesOf((sql) => findPage(sql, { ...wanted, behind: below }, 10, [11]))).toBeLessThan(100);
    expect(
      await pagesOf((sql) => findListed(sql, { accountId, operationId: full }, within, 10)),
    ).toBeLessThan(20);
    // A period that ends before the place of the page, or begins behind it, bounds it as well.
    const ofPeriod: RecordSearch = {
      ...wanted,
      behind: below,
      toMs: deep.createdAt - 600_000,
      fromMs: deep.createdAt - 1_200_000,
    };
    const found = (await findPage(db.sql, ofPeriod, 100, [101])).records.map(({ createdAt }) => createdAt);
    expect(found.length).toBeGreaterThan(0);
    expect(Math.max(...found)).toBeLessThan(ofPeriod.toMs ?? 0);
    expect(Math.min(...found)).toBeGreaterThanOrEqual(ofPeriod.fromMs ?? 0);
    // From the other end the same period holds the same, and the page costs no more.
    const oldest: RecordSearch = { ...ofPeriod, order: 'oldest', behind: null };
    expect((await findPage(db.sql, oldest, 100, [101])).records.map(({ createdAt }) => createdAt)).toEqual(
      found.toReversed(),
    );
    const on: RecordSearch = { ...wanted, order: 'oldest', behind: below };
    expect(await pagesOf((sql) => findPage(sql, on, 10, [11]))).toBeLessThan(100);
  }
});

test('due charges are found without reading the transfers that wait for a slot', async () => {
  const ready = (kind: string, most: number): Promise<unknown> =>
    db.admin(
      `INSERT INTO intent (account_id, payment_id, operation_id, connection, kind, priority, state, fence, attempt, due_at, news_at,
          failures, absences, known, refused, created_at)
        SELECT $1, gen_random_uuid(), $2, 'limited', $3, 0, 'ready', gen_random_uuid(), 0, now() - n * interval '1 second', now(),
          0, 0, false, false, now() FROM generate_series(1, ${most}) n`,
      [accountId, full, kind],
    );
  await ready('transfer', count);
  await ready('deposit', 2);
  await db.admin('ANALYZE');
  const now = clock.now();
  const claim = (sql: Sql, of: SendClass) => claimDueSends(sql, 'limited', of, now, now + 30_000, 256);
  expect(await tooMany((sql) => claim(sql, 'unlimited'))).toEqual({});
  expect(
    await db.admin(`SELECT FROM intent WHERE connection = 'limited' AND kind = 'deposit' AND due_at > now()`),
  ).toHaveLength(2);
  expect(await claim(db.sql, 'limited')).toHaveLength(256);
  await db.admin(`DELETE FROM intent WHERE connection = 'limited'`);
});

test('accounts are served in turn without reading what else is due', async () => {
  const accounts = ['0190a000-0000-7000-8000-00000000000a', '0190a000-0000-7000-8000-00000000000b'] as const;
  const due = (accountId: string, kind: string, most: number, priority: number): Promise<unknown> =>
    db.admin(
      `INSERT INTO intent (account_id, payment_id, operation_id, connection, kind, priority, state, fence, attempt, due_at, news_at,
          failures, absences, known, refused, created_at)
        SELECT $1, gen_random_uuid(), $1, 'turns', $2, $3::smallint, CASE WHEN $3::smallint = 0 THEN 'ready' ELSE 'awaiting' END, gen_random_uuid(),
          least($3::smallint, 1::smallint), now() - n * interval '1 second', now(), 0, 0, false, false, now() FROM generate_series(1, $4) n`,
      [accountId, kind, priority, most],
    );
  await due(accounts[0], 'transfer', 5_000, 1);
  await due(accounts[0], 'transfer', 5_000, 0);
  await due(accounts[0], 'deposit', 5_000, 0);
  await due(accounts[1], 'deposit', 1, 5);
  await due(accounts[1], 'deposit', 1, 0);
  const now = clock.now();
  const claim = (sql: Sql, turns: Turn[]) => claimTurns(sql, 'turns', turns, now, now + 30_000, 8);
  for (const of of ['queries', 'sends', 'unlimited', 'limited'] as const) {
    expect(await tooMany((sql) => lookForTurns(sql, 'turns', of, null, now))).toEqual({});
    const turns = await lookForTurns(db.sql, 'turns', of, null, now);
    expect(new Set(turns.map(({ accountId }) => accountId))).toEqual(
      new Set(of === 'limited' ? accounts.slice(0, 1) : accounts),
    );
    expect(await tooMany((sql) => claim(sql, turns))).toEqual({});
  }
  const [first] = await lookForTurns(db.sql, 'turns', 'limited', null, now);
  expect(await claim(db.sql, first ? [first] : [])).toHaveLength(8);
  await db.admin(`DELETE FROM intent WHERE connection = 'turns'`);
});

test('events are removed in small batches, however many accounts have old ones', async () => {
  const accounts = await Promise.all(
    [1, 2, 3].map(() =>
      createAccount({ sql: db.sql, clock, ids }, { name: 'Loja', test: true, connection: 'simulator' }),
    ),
  );
  const owners = accounts.map(({ ownerId }) => ownerId);
  await db.admin(
    `WITH e AS (INSERT INTO event (account_id, id, type, operation_id, body, created_at)
        SELECT a, lpad(to_hex(n), 32, '0')::uuid, 'charge.paid', a, '{}', now() FROM unnest($1::uuid[]) a, generate_series(1, 1500) n
        RETURNING account_id, id)
      INSERT INTO event_log SELECT account_id, row_number() OVER (PARTITION BY account_id ORDER BY id), id FROM e`,
    [owners],
  );
  const below = lowestIdAt(1_000);
  const removed: number[] = [];
  do removed.push(await pruneBelow(db.sql, owners, below, 1_000));
  while (removed.at(-1) !== 0);
  expect(Math.max(...removed)).toBe(2_000);
  expect(
    await db.admin(
      'SELECT FROM event WHERE account_id = ANY ($1) UNION ALL SELECT FROM event_log WHERE account_id = ANY ($1)',
      [owners],
    ),
  ).toEqual([]);
});

test('callers that wait for outcomes share one read, and an outcome of this process wakes them at once', async () => {
  const { sql, runs } = recording(db.sql);
  const watch = createOutcomeWatch({ sql, clock, log: createLog('silent') });
  const rows = await db.admin<{ id: string }>(`SELECT id FROM payment WHERE status = 'pending' LIMIT 52`);
  const [here, late, ...elsewhere] = rows.map(({ id }) => ({ accountId, id }));
  await db.admin(`UPDATE payment SET status = 'unknown' WHERE id = ANY ($1)`, [rows.map(({ id }) => id)]);
  const over = new AbortController();
  const wait = (one: { accountId: string; id: string } | undefined) =>
    watch.outcomeOf(payments, one ?? { accountId: '', id: '' }, over.signal);
  const waiting = elsewhere.map(wait);
  const [own, never] = [wait(here), wait(late)];
  watch.committed({ ...here, status: 'completed' } as Payment);
  expect(await own).toMatchObject({ id: here?.id, status: 'completed' });
  expect(runs).toEqual([]);
  await db.admin(`UPDATE payment SET status = 'pending' WHERE id = ANY ($1)`, [
    elsewhere.map(({ id }) => id),
  ]);
  expect((await Promise.all(waiting)).map((payment) => payment?.status)).toEqual(
    elsewhere.map(() => 'pending'),
  );
  // Each read asks for all who still wait: no caller has a statement of its own.
  expect(
    runs.every(({ values }) => (values[1] as string[]).length === 51 || (values[1] as string[]).length === 1),
  ).toBe(true);
  over.abort();
  expect(await never).toBeNull();
  await db.admin(`UPDATE payment SET status = 'pending' WHERE status = 'unknown'`);
});

test('unmatched money shares no flush with a merchant', async () => {
  const { sql, runs } = recording(db.sql);
  const till = tillOver(sql);
  const own: ChainKey = { accountId, chainId: full };
  const installation: ChainKey = { accountId: installationId, chainId: installationId };
  const suspend = () =>
    posting(installation, { kind: 'bookToSuspense', amountCents: 100 }, { event: eventKinds.suspense });
  const answers = [
    till.submit(suspend()),
    till.submit(credit(own, 100)),
    till.submit(suspend()),
    till.submit(credit(own, 100)),
  ];
  expect(await Promise.all(answers)).toEqual(['posted', 'posted', 'posted', 'posted']);
  const locked = runs
    .filter(({ statement }) => statement.name === 'balance_lock')
    .map(({ values }) => values[1]);
  expect(locked).toContainEqual([full]);
  expect(locked.every((chains) => (chains as string[]).length === 1)).toBe(true);
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

test('a page of sealed values begins where the one before ended', async () => {
  const { sql, runs } = recording(db.sql);
  await countSealed(sql, '00000000');
  const pages = runs.filter(({ statement }) => statement.name === 'sealed_page_payment_pix_key');
  // The pages hold a thousand rows.
  expect(pages.length).toBeGreaterThan(6);
  for (const page of pages) expect(await rowsVisited(db.url, page)).toBeLessThan(1_100);
});
