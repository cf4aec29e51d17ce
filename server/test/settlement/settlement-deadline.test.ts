import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openService, type Service, until } from '@vintem/testkit/service.ts';
import { intentOf, statusOf } from '@vintem/testkit/settlement.ts';
import { violations } from '@vintem/testkit/verified.ts';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** A caller is answered within the time of one request, whatever hangs, one after the other. */

const answerWithinMs = 8_000;
/** What this machine may take for the rest. */
const allowanceMs = 1_000;

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

test('a till, a provider and a read that hang in turn: 201 within the eight seconds, with the payment as it stands', {
  timeout: 60_000,
}, async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(10_000);
  const [till, table] = [await holder(), await holder()];
  await till.query('BEGIN');
  await till.query('SELECT FROM balance WHERE operation_id = $1 FOR UPDATE', [merchant.operationId]);
  const began = performance.now();
  const asked = merchant.transfer({ pixKey: 'hang@simulator.example' });
  const askedAt = service.runtime.clock.monotonicMs();
  while (service.runtime.clock.monotonicMs() < askedAt + 4_000) await service.runtime.clock.sleep(100);
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
  const { status, body } = await asked;
  const tookMs = performance.now() - began;
  await table.query('ROLLBACK');
  await Promise.all([till.end(), table.end()]);
  expect({ status, id: body.id, state: body.status }).toEqual({ status: 201, id, state: 'unknown' });
  expect(tookMs).toBeGreaterThan(answerWithinMs - 500);
  expect(tookMs).toBeLessThan(answerWithinMs + allowanceMs);
  // The provider had it: its word ends what was left unclear.
  await until(async () => (await statusOf(service, id)) === 'completed', 30_000);
  expect(await merchant.balanceCents()).toBe(9_000);
  expect((await service.simulator.payout(id))?.timesAccepted).toBe(1);
  expect(await violations(service)).toEqual([]);
});

test('a key, an operation and a till that hang in turn: 503 within the same eight seconds, and nothing is committed', {
  timeout: 30_000,
}, async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(10_000);
  const other = await service.newKey(merchant.ownerId);
  const [keys, balances] = [await holder(), await holder()];
  await balances.query('BEGIN');
  await balances.query('SELECT FROM balance WHERE operation_id = $1 FOR UPDATE', [merchant.operationId]);
  await keys.query('BEGIN');
  await keys.query('LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE');
  const requestKey = crypto.randomUUID();
  const body = { amountCents: 1000, pixKey: 'maria@loja.example', pixKeyType: 'EMAIL', description: '' };
  const began = performance.now();
  const asked = service.as(other)('POST', '/pix/transfers', { ...body, requestKey });
  await service.runtime.clock.sleep(1_500);
  await keys.query('ROLLBACK');
  const answer = await asked;
  const tookMs = performance.now() - began;
  await balances.query('ROLLBACK');
  await Promise.all([keys.end(), balances.end()]);
  expect(answer.status).toBe(503);
  expect(answer.body.code).toBe('processing_unavailable');
  expect(tookMs).toBeGreaterThan(answerWithinMs - 500);
  expect(tookMs).toBeLessThan(answerWithinMs + allowanceMs);
  expect((await merchant.call('GET', `/payments?requestKey=${requestKey}`)).body.payments).toEqual([]);
  expect(await merchant.balanceCents()).toBe(10_000);
});

test('a provider whose sign-in hangs keeps a caller no longer than any other call to it, and nothing left', {
  timeout: 60_000,
}, async () => {
  const asked: string[] = [];
  const deaf: Server = createServer((request) => asked.push(request.url ?? ''));
  await new Promise<void>((listening) => deaf.listen(0, '127.0.0.1', listening));
  const { port } = deaf.address() as AddressInfo;
  const apart = await openService({ env: { SIMULATOR_URL: `http://127.0.0.1:${port}` }, worker: false });
  try {
    const merchant = await apart.newMerchant();
    const began = performance.now();
    const { status, body } = await merchant.charge();
    expect(performance.now() - began).toBeLessThan(6_000 + allowanceMs);
    expect({ status, state: body.status }).toEqual({ status: 201, state: 'unknown' });
    expect(await intentOf(apart, body.id)).toMatchObject({ state: 'ready', attempt: 0 });
    expect(new Set(asked)).toEqual(new Set(['/oauth/token']));
  } finally {
    deaf.closeAllConnections();
    deaf.close();
    await apart.close();
  }
});
