import { createDatabase, type TestDatabase } from '@vintem/testkit/database.ts';
import { recording, rowsVisited } from '@vintem/testkit/rows-visited.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSince } from '../../src/operate/closes/since.ts';
import { createAccount } from '../../src/operate/connections/directory.ts';
import { figuresOf, noFigures } from '../../src/operate/statement/figures.ts';
import { periodOf } from '../../src/operate/statement/period.ts';
import { findSums } from '../../src/operate/statement/statement.sql.ts';
import { readNewest } from '../../src/operate/statement/statement.ts';
import { findReceived } from '../../src/panel/people/mail-choices.sql.ts';
import { findPaidPage, findPaidPageByAmount, type PaidPage } from '../../src/panel/views/paid-records.ts';
import type { ByAmount, RecordSearch } from '../../src/panel/views/records.sql.ts';
import { systemClock as clock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';
import type { Sql } from '../../src/ports/sql.ts';

// A walk along a chain of journals costs what it shows and no history: counted by the rows that its scans read, never by time.
const minutes = 60_000;
const begin = Date.parse('2026-01-01T03:00:00Z');
const dayMs = 86_400_000;
/** Of São Paulo, the days of the chain. */
const dayAt = (n: number): string => new Date(begin + n * dayMs).toISOString().slice(0, 10);
/** Journals up to the end of a day: one a minute, the first one a minute after the first day has begun. */
const seqAt = (day: number): number => day * 1_440 - 1;

let db: TestDatabase;
let accountId: string;
/** A charge of R$ 0,03 with a fee of R$ 0,01 is paid each minute. */
let busy: string;
/** A transfer each hour: its reserve, and its end half an hour later. */
let calm: string;
const ids = systemIds(clock);
const noHash = Buffer.alloc(32);

beforeAll(async () => {
  db = await createDatabase({ live: false });
  const needs = { sql: db.sql, clock, ids };
  const made = await createAccount(needs, { name: 'Loja', test: true, connection: 'simulator' });
  [accountId, busy] = [made.ownerId, made.operationId];
  calm = ids.uuid();
  await db.admin(
    `INSERT INTO operation (account_id, id, name, slot, created_at, updated_at) VALUES ($1, $2, 'Second', 2, now(), now())`,
    [accountId, calm],
  );
  await db.admin(
    `INSERT INTO balance (account_id, operation_id, head, updated_at) VALUES ($1, $2, $3, now())`,
    [accountId, calm, noHash],
  );
  await post(busy, 1, minutes);
  await db.admin(
    `INSERT INTO journal SELECT $1, $2, n, CASE n % 2 WHEN 1 THEN 'reserve' ELSE 'complete' END,
        ('00000000-0000-4000-9000-' || lpad(((n + 1) / 2)::text, 12, '0'))::uuid, CASE n % 2 WHEN 1 THEN 1 ELSE 2 END, '',
        CASE n % 2 WHEN 1 THEN -5 ELSE 0 END, CASE n % 2 WHEN 1 THEN 5 ELSE -5 END, 0, 0, CASE n % 2 WHEN 1 THEN 0 ELSE 4 END,
        CASE n % 2 WHEN 1 THEN 0 ELSE 1 END, 0, 0, 0, 1000000, 0, 0, 0, at, at, gen_random_uuid(), 2, $3, $3,
        CASE n % 2 WHEN 1 THEN NULL ELSE 'simulator' END
      FROM generate_series(1, 2000) n, LATERAL (SELECT $4::timestamptz + n * interval '30 minutes' AS at) t`,
    [accountId, calm, noHash, new Date(begin)],
  );
  await db.admin('UPDATE balance SET seq = 2000 WHERE operation_id = $1', [calm]);
  await db.admin(
    `INSERT INTO payment (account_id, id, operation_id, kind, status, amount_cents, fee_cents, request_key, fingerprint, description,
        payer_name, pix_key, pix_key_type, created_at, updated_at, settled_at, net_amount_cents, history, command)
      SELECT account_id, subject, chain_id, CASE event WHEN 4 THEN 'deposit' ELSE 'transfer' END, CASE event WHEN 4 THEN 'paid' ELSE 'completed' END,
        2 + (seq * 7919) % 100000, 1, gen_random_uuid(), '', '', CASE event WHEN 4 THEN 'Maria' END, CASE event WHEN 2 THEN '\\x00'::bytea END,
        CASE event WHEN 2 THEN 'EMAIL' END, posted_at - interval '1 minute', posted_at, posted_at, 1, '[]', gen_random_uuid()
      FROM journal WHERE account_id = $1 AND event IN (2, 4)`,
    [accountId],
  );
  await db.admin('ANALYZE');
});
afterAll(() => db.drop());

const post = async (operationId: string, from: number, to: number): Promise<void> => {
  await db.admin(
    `INSERT INTO journal SELECT $1, $2, n, 'credit', ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 4, '', 2, 0, 0, 0, -3, 1, 0, 0, 0,
        2 * n, 0, 0, 0, at, at, gen_random_uuid(), 2, $3, $3, 'simulator'
      FROM generate_series($5::int, $6::int) n, LATERAL (SELECT $4::timestamptz + n * interval '1 minute' AS at) t`,
    [accountId, operationId, noHash, new Date(begin), from, to],
  );
  await db.admin('UPDATE balance SET seq = $2, available = 2 * $2::bigint WHERE operation_id = $1', [
    operationId,
    to,
  ]);
};

/** Of days behind each other, with the figures of their journals. */
const close = async (days: readonly number[]): Promise<void> => {
  for (const day of days) {
    const [opening, closing] = [day === 0 ? 0 : seqAt(day), seqAt(day + 1)];
    const count = closing - opening;
    await db.admin(
      `INSERT INTO day_close (account_id, chain_id, day, previous_day, opening_seq, closing_seq, head, opening_cents, in_cents, out_cents,
          fee_cents, refund_cents, hold_cents, closing_cents, available, reserved, held, receivable, closed_at, command)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, $10, 0, 0, $11, $11, 0, 0, 0, now(), gen_random_uuid())`,
      [
        ...[accountId, busy, dayAt(day), day === 0 ? null : dayAt(day - 1), opening, closing, noHash],
        ...[2 * opening, 3 * count, count, 2 * closing],
      ],
    );
  }
};

/** The rows that a call read, of all its statements and of the one that read most. */
interface ReadBy<T> {
  answer: T;
  rows: number;
  most: number;
  names: string[];
}

async function readBy<T>(call: (sql: Sql) => Promise<T>): Promise<ReadBy<T>> {
  const { sql, runs } = recording(db.sql);
  const answer = await call(sql);
  const each = [];
  for (const run of runs) each.push(await rowsVisited(db.url, run));
  const names = runs.map(({ statement }) => statement.name);
  return { answer, rows: each.reduce((sum, one) => sum + one, 0), most: Math.max(...each), names };
}

test('a comparison that waits sums up each journal once, and again when its day was closed meanwhile', async () => {
  const since = createSince('simulator', dayAt(0));
  const cents = 3 * minutes - 4 * 1_000;
  const first = await readBy(since);
  expect(first.answer).toEqual({ cents, journals: minutes + 2_000 });
  expect(first.rows).toBeLessThan(1.1 * (minutes + 2_000));
  expect(first.most).toBeLessThan(6_000);
  const again = await readBy(since);
  expect(again.answer).toEqual(first.answer);
  expect([again.names, again.rows < 20]).toEqual([['close_since_chains'], true]);
  await post(busy, minutes + 1, minutes + 10);
  const more = await readBy(since);
  expect(more.answer).toEqual({ cents: cents + 30, journals: minutes + 2_010 });
  expect(more.rows).toBeLessThan(50);
  await db.admin('DELETE FROM journal WHERE chain_id = $1 AND seq > $2', [busy, minutes]);
  await db.admin('UPDATE balance SET seq = $2 WHERE operation_id = $1', [busy, minutes]);
  await close([0]);
  expect(await createSince('simulator', dayAt(0))(db.sql)).toEqual({
    cents: cents - 3 * seqAt(1),
    journals: minutes + 2_000,
  });
  // The same process, which has summed the journals before its close: they are in the close now.
  expect((await since(db.sql)).cents).toBe(cents - 3 * seqAt(1));
  expect(await createSince('another', dayAt(0))(db.sql)).toMatchObject({ cents: 0 });
});

test('a digest of a busy day is counted in parts, each journal once', async () => {
  const { answer, rows, most } = await readBy((sql) =>
    findReceived(sql, accountId, { [busy]: 10, [calm]: 3 }, { [busy]: 25_010, [calm]: 2_000 }),
  );
  expect(answer).toEqual({ count: 25_000, cents: 75_000 });
  expect(rows).toBeLessThan(28_000);
  expect(most).toBeLessThan(5_500);
  expect(await findReceived(db.sql, accountId, { [busy]: 10 }, { [busy]: 10 })).toEqual({
    count: 0,
    cents: 0,
  });
});

test('the totals of a long period are those of its closed days and of the journals beside them', async () => {
  const [first, last] = [1, 40];
  await close(Array.from({ length: last - first }, (_, at) => first + at));
  const figuresIn = async (operationId: string, after: number, upTo: number) =>
    figuresOf(await findSums(db.sql, { accountId, operationId }, after, upTo), {
      reservedCents: 0,
      releasedCents: 0,
    });
  const one = (from: string, to: string) =>
    readBy((sql) => readNewest({ sql }, accountId, [busy], periodOf({ from, to }), { limit: 10 }));
  // The whole chain, of which the last day is open: 60,000 journals are more than a page sums up.
  const whole = await one(dayAt(0), dayAt(41));
  expect(whole.answer.totals).toEqual(await figuresIn(busy, 0, minutes));
  // For the sums, and for the fees of transfers.
  expect(whole.rows).toBeLessThan(2 * (minutes - seqAt(40)) + 300);
  // It begins and ends within closed days.
  const [from, to] = ['2026-01-03T15:00:00Z', '2026-02-08T15:00:00Z'];
  const within = await one(from, to);
  const seqOf = (time: string): number => (Date.parse(time) - begin) / 60_000 - 1;
  expect(within.answer.totals).toEqual(await figuresIn(busy, seqOf(from), seqOf(to)));
  expect(within.rows).toBeLessThan(2 * 1_440 + 300);
  // Without any closed day in it.
  const short = await one('2026-01-03T15:00:00Z', '2026-01-03T16:00:00Z');
  expect(short.answer.totals).toEqual({ ...noFigures, inCents: 180, feeCents: 60 });
  // An operation without closes is summed up as before, and beside one with them.
  const both = await readNewest({ sql: db.sql }, accountId, [busy, calm], periodOf({}), { limit: 10 });
  expect(both.totals).toMatchObject({ inCents: 3 * minutes, outCents: 4 * 1_000 });
  // More than a page sums up is in no closed day.
  await db.admin('DELETE FROM day_close WHERE day > $1', [dayAt(2)]);
  expect((await one(dayAt(0), dayAt(41))).answer.totals).toBeNull();
});

const wanted = (more: Partial<RecordSearch>): RecordSearch => ({
  ...{
    accountId,
    operationIds: [busy, calm],
    kinds: ['deposit', 'transfer'],
    statuses: ['paid', 'completed'],
  },
  ...{ fromMs: null, toMs: null, order: 'newest', behind: null, text: null, mark: null },
  ...{ minimumCents: null, maximumCents: null },
  ...more,
});

test('a list by the date of payment reads its page, has each payment of its period once, and in order', async () => {
  const [fromMs, toMs] = [begin + 20 * dayMs, begin + 20.5 * dayMs];
  const expected = (order: string) =>
    db
      .admin<{ id: string }>(
        `SELECT id FROM payment WHERE account_id = $1 AND settled_at >= $2 AND settled_at < $3 ORDER BY settled_at ${order}, kind`,
        [accountId, new Date(fromMs), new Date(toMs)],
      )
      .then((rows) => rows.map(({ id }) => id));
  for (const order of ['newest', 'oldest'] as const) {
    const found: string[] = [];
    let places: ReadonlyMap<string, number> | null = null;
    do {
      const at: ReadonlyMap<string, number> | null = places;
      const page: ReadBy<PaidPage> = await readBy((sql) =>
        findPaidPage(sql, wanted({ fromMs, toMs, order }), at, 100, { depths: [3_000], matching: null }),
      );
      expect(page.rows).toBeLessThan(700);
      expect(page.answer.searchedTo).toBeNull();
      found.push(...page.answer.records.map(({ id }) => id));
      places = page.answer.places;
    } while (places !== null && places.size > 0);
    expect(found.length).toBe(720 + 12);
    expect(new Set(found)).toEqual(new Set(await expected('ASC')));
    const deposits = (await expected(order === 'newest' ? 'DESC' : 'ASC')).filter((id) => id[19] === '8');
    expect(found.filter((id) => id[19] === '8')).toEqual(deposits);
  }
});

test('a rare payment is found by its date page by page, and the page says how far it has looked', async () => {
  await db.admin(
    `UPDATE payment SET payer_name = 'Zuleica' WHERE id = '00000000-0000-4000-8000-000000005000'`,
  );
  for (const order of ['newest', 'oldest'] as const) {
    const found: string[] = [];
    let places: ReadonlyMap<string, number> | null = null;
    let pages = 0;
    do {
      const at: ReadonlyMap<string, number> | null = places;
      const page: ReadBy<PaidPage> = await readBy((sql) =>
        findPaidPage(sql, wanted({ order, text: 'zuleica' }), at, 10, {
          depths: [200, 10_000],
          matching: null,
        }),
      );
      expect(page.most).toBeLessThan(11_000);
      found.push(...page.answer.records.map(({ id }) => id));
      places = page.answer.places;
      expect(page.answer.searchedTo === null).toBe(places.size === 0);
      pages++;
    } while (places !== null && places.size > 0);
    expect(found).toEqual(['00000000-0000-4000-8000-000000005000']);
    expect(pages).toBe(minutes / 5_000);
  }
});

test('the largest of a period stand first among those that are looked through, page by page', async () => {
  const fromMs = begin + 30 * dayMs;
  for (const order of ['largest', 'smallest'] as const) {
    const found: { id: string; amountCents: number }[] = [];
    let behind: ByAmount['behind'] = null;
    for (let page = 0; page < 3; page++) {
      const by: ByAmount = { order, behind };
      const { answer, rows } = await readBy((sql) =>
        findPaidPageByAmount(sql, wanted({ fromMs }), by, 20, 4_000),
      );
      expect(rows).toBeLessThan(10_000);
      found.push(...answer.records);
      const last = answer.records.at(-1);
      behind = last ? { cents: last.amountCents, id: last.id } : null;
      // Of each operation 2,000 journals: the calm one has no more, and the list begins with the 2,000th of the busy one.
      expect(answer.searchedTo).toBe(begin + (minutes - 2_000 + 1) * 60_000);
    }
    const sort = order === 'largest' ? 'DESC' : 'ASC';
    const best = await db.admin<{ id: string }>(
      `SELECT id FROM payment WHERE account_id = $1 AND settled_at >= $2 ORDER BY amount_cents ${sort}, id ${sort} LIMIT 60`,
      [accountId, new Date(begin + (minutes - 2_000 + 1) * 60_000)],
    );
    expect(found.map(({ id }) => id)).toEqual(best.map(({ id }) => id));
  }
});
