import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freePort } from '@vintem/testkit/free-port.ts';
import { manualClock } from '@vintem/testkit/manual-clock.ts';
import {
  type Answer,
  callWith,
  type Merchant,
  merchantOf,
  openService,
  type Service,
  until,
} from '@vintem/testkit/service.ts';
import { intentOf, statusOf } from '@vintem/testkit/settlement.ts';
import { violations } from '@vintem/testkit/verified.ts';
import { withParts } from '@vintem/testkit/with-parts.ts';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../src/ground/config.ts';
import { runApi } from '../../src/main/api.ts';
import type { Sql } from '../../src/ports/sql.ts';
import { createTill } from '../../src/store/till.ts';

/** A caller is answered within the time of one request, whatever hangs, one after the other. */

const answerWithinMs = 8_000;

/** The same service at another address, whose time a test moves: a caller there is `merchant`. @param sql what it reads from, beside its till */
async function timedApi(merchant: Merchant, sql: Sql = service.runtime.sql) {
  const clock = manualClock();
  const till = createTill({ ...service.runtime, clock });
  const config = readConfig({
    PORT: String(await freePort()),
    DATA_DIR: service.dataDir,
    SIMULATOR_URL: service.simulator.url,
    RATE_LIMITS: 'off',
  });
  // Deliveries go to the service itself.
  const connections = { ...service.runtime.connections, each: () => () => {} };
  const timedRuntime = withParts(service.runtime, () => ({ clock, till, sql, connections }));
  const api = await runApi(timedRuntime, config);
  const call = callWith(`${api.url}/api/v1/public`, merchant.key);
  return { clock, api, timed: merchantOf({ ...merchant, call }, service.simulator) };
}

/** Until a session of this database waits for a lock, or there is nothing left that could: the caller is answered. */
async function waitsForALock(asked: Promise<Answer>): Promise<void> {
  let answered = false;
  void asked.then(() => {
    answered = true;
  });
  const text = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
  await until(async () => answered || (await service.database.admin(text)).length > 0);
}

let service: Service;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

/** A session of its own, to hold locks with. */
async function holder(): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: service.database.url,
    options: '-c search_path=vintem',
  });
  await client.connect();
  return client;
}

test('a till, a provider and a read that hang in turn: 201 within the eight seconds, with the payment as it stands', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(10_000);
  const [till, table] = [await holder(), await holder()];
  await till.query('BEGIN');
  await till.query('SELECT FROM balance WHERE operation_id = $1 FOR UPDATE', [merchant.operationId]);
  const { clock, api, timed } = await timedApi(merchant);
  const asked = timed.transfer({ pixKey: 'hang@simulator.example' });
  await waitsForALock(asked);
  clock.advance(answerWithinMs / 2);
  await till.query('ROLLBACK');
  // After its commit, the payment table is locked against reads.
  let id = '';
  await until(async () => {
    const [row] = await service.database.admin<{ id: string }>(
      `SELECT id FROM payment WHERE account_id = $1 AND kind = 'transfer'`,
      [merchant.ownerId],
    );
    id = row?.id ?? '';
    return id !== '';
  });
  await table.query('BEGIN');
  await table.query('LOCK TABLE payment IN ACCESS EXCLUSIVE MODE');
  clock.advance(answerWithinMs / 2);
  const { status, body } = await asked;
  await table.query('ROLLBACK');
  await Promise.all([till.end(), table.end()]);
  expect({ status, id: body.id, state: body.status }).toEqual({ status: 201, id, state: 'unknown' });
  // The provider had it: its word ends what was left unclear.
  await until(async () => (await statusOf(service, id)) === 'completed');
  await api.stop();
  expect(await merchant.balanceCents()).toBe(9_000);
  expect((await service.simulator.payout(id))?.timesAccepted).toBe(1);
  expect(await violations(service)).toEqual([]);
});

test('the same for a refund, whose read never ends: 201 within the eight seconds, as it was committed', async () => {
  const merchant = await service.newMerchant();
  const charge = await merchant.paidCharge({ amountCents: 10_000 });
  const till = await holder();
  await till.query('BEGIN');
  await till.query('SELECT FROM balance WHERE operation_id = $1 FOR UPDATE', [merchant.operationId]);
  // A lock on the table would not do: the database ends a statement that waits for it, after two seconds of its own time.
  const { sql } = service.runtime;
  const hanging: Sql = {
    ...sql,
    run: (statement, values) =>
      statement.name === 'refund_read' ? new Promise<never>(() => {}) : sql.run(statement, values),
  };
  const { clock, api, timed } = await timedApi(merchant, hanging);
  const asked = timed.call('POST', `/payments/${charge}/refunds`, {
    description: 'hang@simulator.example',
    requestKey: crypto.randomUUID(),
  });
  await waitsForALock(asked);
  clock.advance(answerWithinMs / 2);
  await till.query('ROLLBACK');
  await till.end();
  const committed = () =>
    service.database.admin<{ id: string }>('SELECT id FROM refund WHERE payment_id = $1', [charge]);
  await until(async () => (await committed()).length > 0);
  clock.advance(answerWithinMs / 2);
  const { status, body } = await asked;
  const [{ id } = { id: '' }] = await committed();
  expect({ status, id: body.id, state: body.status }).toEqual({ status: 201, id, state: 'unknown' });
  // The provider had it: its webhook ends what was left unclear.
  await until(async () => (await merchant.call('GET', `/refunds/${id}`)).body.status === 'completed');
  await api.stop();
  expect(await merchant.balanceCents()).toBe(0);
  expect(await violations(service)).toEqual([]);
});

test('a key, an operation and a till that hang in turn: 503 within the same eight seconds, and nothing is committed', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(10_000);
  const { clock, api, timed } = await timedApi(merchant);
  const [keys, balances] = [await holder(), await holder()];
  await balances.query('BEGIN');
  await balances.query('SELECT FROM balance WHERE operation_id = $1 FOR UPDATE', [merchant.operationId]);
  await keys.query('BEGIN');
  await keys.query('LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE');
  const requestKey = crypto.randomUUID();
  const asked = timed.transfer({ requestKey });
  await waitsForALock(asked);
  clock.advance(1_500);
  await keys.query('ROLLBACK');
  await waitsForALock(asked);
  clock.advance(answerWithinMs - 1_500);
  const answer = await asked;
  await balances.query('ROLLBACK');
  await Promise.all([keys.end(), balances.end()]);
  expect(answer.status).toBe(503);
  expect(answer.body.code).toBe('processing_unavailable');
  expect((await merchant.call('GET', `/payments?requestKey=${requestKey}`)).body.payments).toEqual([]);
  await api.stop();
  expect(await merchant.balanceCents()).toBe(10_000);
});

test('a provider whose sign-in hangs keeps a caller no longer than any other call to it, and nothing left', async () => {
  const asked: string[] = [];
  const deaf: Server = createServer((request) => asked.push(request.url ?? ''));
  await new Promise<void>((listening) => deaf.listen(0, '127.0.0.1', listening));
  const { port } = deaf.address() as AddressInfo;
  const apart = await openService({ env: { SIMULATOR_URL: `http://127.0.0.1:${port}` }, worker: false });
  try {
    const merchant = await apart.newMerchant();
    const { status, body } = await merchant.charge();
    expect({ status, state: body.status }).toEqual({ status: 201, state: 'unknown' });
    expect(await intentOf(apart, body.id)).toMatchObject({ state: 'ready', attempt: 0 });
    expect(new Set(asked)).toEqual(new Set(['/oauth/token']));
  } finally {
    deaf.closeAllConnections();
    deaf.close();
    await apart.close();
  }
});
