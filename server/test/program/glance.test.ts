import { createDatabase, type TestDatabase } from '@vintem/testkit/database.ts';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { outgoingLook } from '../../src/events/webhooks/delivery-loop.ts';
import { createLog } from '../../src/ground/log.ts';
import {
  type CellGlance,
  type DirectoryGlance,
  glanceAtDirectory,
  glanceInCell,
} from '../../src/main/glance.ts';
import { systemClock } from '../../src/ports/clock.ts';
import type { Queries } from '../../src/ports/sql.ts';
import type { Provider } from '../../src/provider/provider.ts';
import { openPool } from '../../src/store/database/pool.ts';
import { installationId } from '../../src/store/rows/audit.sql.ts';

/** Idle loops make no step before a look says that there may be work: a look that misses some would leave it lying. */

let database: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  database = await createDatabase({ live: false });
  client = new pg.Client(database.url);
  await client.connect();
  await client.query('SET search_path TO vintem');
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

const sql: Queries = {
  run: async <Row>({ text }: { text: string }, values: readonly unknown[] = []) =>
    (await client.query(text, [...values])).rows as Row[],
};
const connections = { providers: new Map([['bank', {} as Provider]]), held: new Map<string, string>() };
/** Each look is its own. */
const glances = (): { cell: CellGlance; directory: DirectoryGlance } => {
  const deps = { sql, clock: systemClock, connections };
  return { cell: glanceInCell(deps), directory: glanceAtDirectory(deps) };
};

const past = '2020-01-01T00:00:00Z';
const future = '2100-01-01T00:00:00Z';
const bank = 'bank';

/** An empty table in front of the real one, without its constraints: a row has only what a look reads. */
async function holding(table: string, row: Record<string, unknown>): Promise<void> {
  await client.query(`DROP TABLE IF EXISTS pg_temp.${table}`);
  await client.query(`CREATE TEMP TABLE ${table} AS SELECT * FROM vintem.${table} WITH NO DATA`);
  const names = Object.keys(row);
  const places = names.map((_, at) => `$${at + 1}`);
  await client.query(
    `INSERT INTO pg_temp.${table} (${names.join()}) VALUES (${places.join()})`,
    Object.values(row),
  );
}
const release = (table: string) => client.query(`DROP TABLE pg_temp.${table}`);

type Row = Record<string, unknown>;
const ofCell: [Parameters<CellGlance['sees']>[0], string, Row, Row | null][] = [
  ['sends', 'intent', { connection: bank, priority: 0, due_at: past }, { due_at: future }],
  [
    'sends',
    'intent',
    { connection: bank, priority: 4, state: 'sending', kind: 'transfer', due_at: past },
    { due_at: future },
  ],
  ...[1, 2, 3, 4, 5].map((priority): (typeof ofCell)[number] => [
    'queries',
    'intent',
    { connection: bank, priority, due_at: past },
    { due_at: future },
  ]),
  ['lateQueries', 'late_query', { connection: bank, due_at: past }, { due_at: future }],
  ...[0, 1, 2, 3].map((priority): (typeof ofCell)[number] => [
    'unknown',
    'intent',
    { connection: bank, priority, kind: 'transfer', created_at: past, due_at: future },
    { kind: 'charge' },
  ]),
  ['drafts', 'draft', { expires_at: past }, { expires_at: future }],
  ['links', 'payment_link', { status: 'active', expires_at: past }, { expires_at: future }],
  ['soldLinks', 'payment_link', { status: 'completed', max_payments: 1, open_count: 2 }, { open_count: 0 }],
  ['usedUpCheckouts', 'payment', { status: 'pending', card: '{"refusals": 3}' }, { card: '{"refusals": 2}' }],
  ...['amount_mismatch', 'second_payment', 'failed_charge_paid', 'deleted_operation'].map(
    (kind): (typeof ofCell)[number] => [
      'payerReturns',
      'incident',
      { state: 'open', kind },
      { state: 'resolved' },
    ],
  ),
  ...['unknown_told', 'incident', 'dispute', 'dispute_defence'].map((table): (typeof ofCell)[number] => [
    'alerts',
    table,
    { mail_due_at: past },
    { mail_due_at: null },
  ]),
  ['testClocks', 'test_clock', { target_ahead_ms: 1 }, { target_ahead_ms: null }],
  ['auditForward', 'audit_chain', { seq: 2, forwarded_seq: 1 }, { forwarded_seq: 2 }],
];

test.each(ofCell)('a look at a cell sees that %s may have work in %s', async (work, table, row, others) => {
  expect(await glances().cell.sees(work)).toBe(false);
  await holding(table, row);
  expect(await glances().cell.sees(work)).toBe(true);
  await holding(table, { ...row, ...others });
  expect(await glances().cell.sees(work)).toBe(false);
  await release(table);
});

const ofDirectory: [Parameters<DirectoryGlance['sees']>[0], string, Row, Row][] = [
  ['deliveries', 'inbound', { connection: bank, authentic: true, next_at: past }, { next_at: future }],
  ['statementLines', 'statement_line', { connection: bank, next_at: past }, { next_at: future }],
  ['unread', 'unread_item', { connection: bank }, { connection: 'another' }],
  [
    'unread',
    'incident',
    { account_id: installationId, state: 'open', kind: 'unread' },
    { state: 'resolved' },
  ],
  [
    'owedCredits',
    'incident',
    { account_id: installationId, state: 'resolved', resolution: '{"owed": {}}' },
    { resolution: '{"credited": {}}' },
  ],
  ['connectionMovements', 'connection_movement', { connection: bank }, { posted_as: 'reference' }],
  ['examinations', 'connection_examination', { asked_at: past }, { ended_at: past }],
];

test.each(ofDirectory)(
  'a look at the directory sees that %s may have work in %s',
  async (work, table, row, others) => {
    expect(await glances().directory.sees(work)).toBe(false);
    await holding(table, row);
    expect(await glances().directory.sees(work)).toBe(true);
    await holding(table, { ...row, ...others });
    expect(await glances().directory.sees(work)).toBe(false);
    await release(table);
  },
);

const ofEvents: [string, string, Row, Row | null][] = [
  ['publish', 'event_fresh', { created_at: future }, null],
  ['deliver', 'webhook_lane', { due_at: past }, { due_at: future }],
  ['deliver', 'webhook_lane', { due_at: past, lease_until: past }, { lease_until: future }],
  ['unwell', 'webhook_endpoint', { failing_since: past }, { failing_since: null }],
];

test.each(ofEvents)(
  'a look at what goes out sees that %s may have work in %s',
  async (work, table, row, others) => {
    const seen = async () =>
      (await sql.run<{ work: string }>(outgoingLook, [new Date().toISOString()])).map((one) => one.work);
    expect(await seen()).not.toContain(work);
    await holding(table, row);
    expect(await seen()).toContain(work);
    if (others) await holding(table, { ...row, ...others });
    else await release(table);
    expect(await seen()).not.toContain(work);
    if (others) await release(table);
  },
);

test('a turn rests only while its row says so: one that no process has taken yet is due', async () => {
  const isDue = () => glances().directory.isDue('disputes', bank);
  expect(await isDue()).toBe(true);
  await holding('job', { what: 'disputes', subject: bank, due_at: future });
  expect(await isDue()).toBe(false);
  expect(await glances().directory.isDue('disputes', 'another')).toBe(true);
  expect(await glances().directory.isDue('balance', bank)).toBe(true);
  await holding('job', { what: 'disputes', subject: bank, due_at: past });
  expect(await isDue()).toBe(true);
  await release('job');
});

test('connections are compared when one was made or changed, when a cell was, while one is held, and every ten seconds', async () => {
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  const held = new Map<string, string>();
  const { mayDiffer } = glanceAtDirectory({ sql, clock, connections: { ...connections, held } });
  const later = (ms: number) => {
    nowMs += ms;
    return mayDiffer();
  };
  expect(await later(1_000)).toBe(true);
  expect(await later(2_000)).toBe(false);
  await holding('connection', { version: 7 });
  expect(await later(2_000)).toBe(true);
  expect(await later(2_000)).toBe(false);
  await client.query('UPDATE pg_temp.connection SET version = 8');
  expect(await later(2_000)).toBe(true);
  await holding('cell', { name: 'vintem_2' });
  await client.query(
    `INSERT INTO pg_temp.cell (name) VALUES ('vintem_3'), ('vintem_4'), ('vintem_5'), ('vintem_6')`,
  );
  expect(await later(2_000)).toBe(true);
  expect(await later(9_000)).toBe(false);
  expect(await later(1_100)).toBe(true);
  held.set(bank, 'another account answers');
  expect(await later(100)).toBe(true);
  held.clear();
  expect(await later(100)).toBe(false);
  await client.query('UPDATE pg_temp.connection SET held_seen_at = now()');
  expect(await later(100)).toBe(true);
  await Promise.all(['connection', 'cell'].map(release));
});

test('looks answer over the settings of the service, by indexes alone', async () => {
  const pool = openPool({ url: database.url, log: createLog('silent'), name: 'vintem test', size: 1 });
  const deps = { sql: pool, clock: systemClock, connections };
  expect(await glanceInCell(deps).sees('sends')).toBe(false);
  expect(await glanceAtDirectory(deps).sees('deliveries')).toBe(false);
  await pool.close();
});
