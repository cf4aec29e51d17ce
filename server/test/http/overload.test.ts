import type { AddressInfo } from 'node:net';
import { manualClock } from '@vintem/testkit/manual-clock.ts';
import {
  callWith,
  type Merchant,
  merchantOf,
  openService,
  type Service,
  until,
} from '@vintem/testkit/service.ts';
import { shiftedClock } from '@vintem/testkit/shifted-clock.ts';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLoad } from '../../src/edge/load.ts';
import { readConfig } from '../../src/ground/config.ts';
import { createPapers } from '../../src/ground/paper/papers.ts';
import { serveCells, waitForTurn } from '../../src/main/served.ts';
import { buildServer } from '../../src/main/server.ts';

let service: Service;
let merchant: Merchant;

beforeAll(async () => {
  service = await openService({ worker: false, env: { TRANSFER_WAIT_MS: '0' } });
  merchant = await service.newMerchant();
});
afterAll(() => service.close());

/** A database whose flushes stand still until `go`. */
async function stall(): Promise<{ go(): Promise<void> }> {
  const other = new pg.Client({ connectionString: service.database.url });
  await other.connect();
  await other.query('BEGIN; LOCK TABLE vintem.payment IN ACCESS EXCLUSIVE MODE');
  return {
    go: async () => {
      await other.query('ROLLBACK');
      await other.end();
    },
  };
}

const waiting = async (): Promise<boolean> =>
  (
    await service.database.admin(
      `SELECT FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    )
  ).length > 0;

test('what cannot be answered in time is shed, reads before creations, and it comes back by itself', async () => {
  // The same as in `runApi`, with a quarter of its eight seconds: reads are refused from 250 ms of waiting on, creations from a second.
  const { runtime } = service;
  const timed = manualClock();
  const load = createLoad(timed, () => waitForTurn(runtime), 2_000);
  const servedOf = serveCells(runtime, {
    config: readConfig({ RATE_LIMITS: 'off' }),
    clockOffset: { isTolerable: () => true },
    papers: createPapers(),
    began: () => {},
  });
  const app = buildServer({
    ...runtime,
    mayShare: () => true,
    config: { publicUrl: service.url, rateLimits: false, trustedProxies: [] },
    cellOf: servedOf,
    inbound: { isOurAddress: async () => true, receive: async () => ({ status: 200 }) },
    questions: { isAuthentic: () => false, answer: async () => ({}) },
    readiness: async () => [],
    loadOf: () => load,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const local = merchantOf(
    { ...merchant, call: callWith(`${url}/api/v1/public`, merchant.key) },
    service.simulator,
  );
  const read = () => local.call('GET', '/account');
  for (let late = 1; late <= 2; late++) {
    const stalled = await stall();
    const held = local.transfer();
    await until(waiting);
    // Two measurements lie a quarter of a second apart; each waits 400 ms behind the flush that stands still.
    timed.advance(300);
    expect((await read()).status).toBe(200);
    timed.advance(400);
    await stalled.go();
    expect((await held).body.code).toBe('insufficient_balance');
    // The measurement was submitted before this one.
    await waitForTurn(runtime);
  }
  // The measurement ends right behind the transfer that it waited for.
  let shed = await read();
  await until(async () => {
    if (shed.status === 200) shed = await read();
    return shed.status !== 200;
  });
  expect([shed.status, shed.body.code]).toEqual([503, 'overloaded']);
  expect(Number(shed.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect((await local.transfer()).body.code).toBe('insufficient_balance');
  // Health and deliveries of providers are never shed.
  for (const path of ['/healthz', '/readyz']) expect((await fetch(url + path)).status).toBe(200);
  const hook = await fetch(`${url}/hooks/providers/simulator/none`, { method: 'POST', body: '{}' });
  expect(await hook.text()).not.toContain('overloaded');
  await until(async () => {
    timed.advance(300);
    return (await read()).status === 200;
  });
  await app.close();
});

test('one late turn sheds nothing, two do: reads from an eighth of the time on, changes from a quarter, creations from half', async () => {
  const clock = shiftedClock();
  let nowMs = 0;
  let waitMs = 0;
  let fails = false;
  const own = { ...clock, monotonicMs: () => nowMs };
  const load = createLoad(
    own,
    async () => {
      nowMs += waitMs;
      if (fails) throw new Error('the database is gone');
    },
    8_000,
  );
  const refused = (facts: Parameters<typeof load.admit>[0]): boolean => {
    try {
      load.admit(facts);
      return false;
    } catch {
      return true;
    }
  };
  const [read, change, create] = [
    { policy: 'reads' },
    { policy: 'operations' },
    { policy: 'transfers', creates: true },
  ] as const;
  const measured = async (ms: number) => {
    waitMs = ms;
    nowMs += 300;
    refused(read);
    await Promise.resolve();
    await Promise.resolve();
    return [read, change, create].map(refused);
  };
  expect(await measured(5_000)).toEqual([false, false, false]);
  expect(await measured(10)).toEqual([false, false, false]);
  await measured(1_200);
  expect(await measured(1_200)).toEqual([true, false, false]);
  await measured(2_500);
  expect(await measured(2_500)).toEqual([true, true, false]);
  await measured(4_100);
  expect(await measured(4_100)).toEqual([true, true, true]);
  expect(await measured(900)).toEqual([false, false, false]);
  await measured(4_100);
  await measured(4_100);
  fails = true;
  expect(await measured(0)).toEqual([false, false, false]);
});
