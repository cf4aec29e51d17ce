import { freePort } from '@vintem/testkit/free-port.ts';
import { manualClock } from '@vintem/testkit/manual-clock.ts';
import { callWith, openService, type Service, until } from '@vintem/testkit/service.ts';
import { fillQueryLimit, intentOf, later, leave, statusOf } from '@vintem/testkit/settlement.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { spendShared } from '../../src/edge/rate-limit.sql.ts';
import { createFollowUp } from '../../src/flow/follow-up.ts';
import { prepareLimits, takeQuery, takeSend } from '../../src/flow/limit.ts';
import { readConfig } from '../../src/ground/config.ts';
import { runApi } from '../../src/main/api.ts';
import { runWorker } from '../../src/main/worker.ts';
import { systemClock } from '../../src/ports/clock.ts';
import type { Queries } from '../../src/ports/sql.ts';
import type { Provider } from '../../src/provider/provider.ts';
import { databaseClock, watchClock } from '../../src/store/database/clock-offset.ts';
import { renewClaims } from '../../src/store/rows/intents.sql.ts';

/** Processes whose clocks differ from the database's, and so from each other's. */

let service: Service;
beforeAll(async () => {
  service = await openService({ worker: false });
});
afterAll(() => service?.close());

test.each([
  [1_500, true],
  [-1_500, true],
  [3_000, false],
  [-3_600_000, false],
])('a clock that is %i ms ahead of the database is tolerable: %s', async (aheadMs, tolerable) => {
  const { sql, log } = service.runtime;
  const ending = new AbortController();
  const clock = { ...systemClock, machineMs: () => systemClock.machineMs() + aheadMs };
  const watched = watchClock({ sql, clock, log }, ending.signal);
  await watched.measured;
  expect(watched.isTolerable()).toBe(tolerable);
  ending.abort();
});

test('a clock that is wrong and is set while the process runs shows the database’s time, and the jump is noticed at once', async () => {
  const { sql, log } = service.runtime;
  const ending = new AbortController();
  let aheadMs = 3_600_000;
  const machineMs = () => systemClock.machineMs() + aheadMs;
  const machine = { ...systemClock, now: machineMs, machineMs };
  const { clock, measured } = databaseClock({ sql, clock: machine, log }, ending.signal);
  const watched = watchClock({ sql, clock, log }, ending.signal);
  await Promise.all([measured, watched.measured]);
  /** The database's time lies between a look before and one after it, give or take what the comparison leaves. */
  const agrees = async () => {
    const before = clock.now();
    const [row] = await service.database.admin<{ now: Date }>('SELECT clock_timestamp() AS now');
    const at = row?.now.getTime() ?? 0;
    return before - 1_000 < at && at < clock.now() + 1_000;
  };
  expect(await agrees()).toBe(true);
  expect(watched.isTolerable()).toBe(false);
  aheadMs = 0;
  expect(await agrees()).toBe(true);
  // It was wrong: only a new comparison says that it is right now.
  await until(async () => watched.isTolerable());
  aheadMs = -60_000;
  expect(watched.isTolerable()).toBe(false);
  expect(await agrees()).toBe(true);
  ending.abort();
});

test('a process that has not compared its clock for half a minute knows it no longer', async () => {
  const { log } = service.runtime;
  const ending = new AbortController();
  // A pause of half a minute, for the process, its machine and the database alike.
  let pausedMs = 0;
  const clock = {
    ...systemClock,
    machineMs: () => systemClock.machineMs() + pausedMs,
    monotonicMs: () => systemClock.monotonicMs() + pausedMs,
  };
  const sql: Queries = { run: async () => [{ now: clock.machineMs() }] as never };
  const watched = watchClock({ sql, clock, log }, ending.signal);
  await watched.measured;
  expect(watched.isTolerable()).toBe(true);
  pausedMs = 31_000;
  expect(watched.isTolerable()).toBe(false);
  await until(async () => watched.isTolerable());
  ending.abort();
});

test('a look-up at a process whose clock is wrong asks the provider nothing and writes no shared row', async () => {
  const merchant = await service.newMerchant();
  const { body } = await merchant.charge();
  const port = await freePort();
  const config = readConfig({
    PORT: String(port),
    DATA_DIR: service.dataDir,
    SIMULATOR_URL: service.simulator.url,
  });
  const api = await runApi(later(service.runtime, 3_600_000), config);
  const shared = () =>
    service.database.admin(`SELECT due_at, query_bucket_at, (SELECT count(*) FROM rate_bucket) AS buckets
      FROM intent i JOIN connection c ON c.id = i.connection WHERE payment_id = '${body.id}'`);
  const queries = async () =>
    (await service.simulator.control('GET', '/control/state?idEnvio=0')).body.queries;
  const before = [await shared(), await queries()];
  const call = callWith(`${api.url}/api/v1/public`, merchant.key);
  for (let times = 0; times < 5; times++)
    expect((await call('GET', `/payments/${body.id}`)).body.status).toBe('pending');
  // Its shares would have been written by now.
  await systemClock.sleep(300);
  expect([await shared(), await queries()]).toEqual(before);
  await api.stop();
});

test('a process does not wait for a provider that never answers before it is ready', async () => {
  const { connections } = service.runtime;
  const silent = (provider: Provider): Provider => ({
    ...provider,
    registerWebhook: () => new Promise(() => {}),
  });
  const each: typeof connections.each = (use) => connections.each((provider) => use(silent(provider)));
  const config = readConfig({ PORT: String(await freePort()), DATA_DIR: service.dataDir });
  const api = await runApi({ ...service.runtime, connections: { ...connections, each } }, config);
  expect((await fetch(`${api.url}/healthz`)).status).toBe(200);
  await api.stop();
});

test('limits that a wrong clock has written an hour ahead delay no caller for longer than seconds', async () => {
  const { runtime, database } = service;
  const connection = 'simulator';
  await database.admin(`UPDATE connection SET query_bucket_at = now() + interval '1 hour'`);
  await database.admin(`UPDATE query_slot SET lease_until = now() + interval '1 hour'`);
  const slot = await takeQuery(runtime, connection, 10_000);
  expect(slot).not.toBeNull();
  await slot?.free();
  await prepareLimits(runtime.sql, 'simulator', 2);
  await database.admin(`UPDATE send_slot SET lease_until = now() + interval '2 hours'`);
  const send = await takeSend(runtime, connection, 2, 10_000);
  expect(send).not.toBeNull();
  await send?.free();
  const now = runtime.clock.now();
  await database.admin(`INSERT INTO rate_bucket VALUES ('reads someone', ${now + 3_600_000})`);
  const taken = new Map([['reads someone', { ms: 10, mostMs: 7_000 }]]);
  const [shared] = await spendShared(runtime.sql, taken, now, now);
  expect((shared?.spentUntil ?? 0) - now).toBeLessThanOrEqual(7_000);
});

test('a worker whose clock is wrong claims nothing, not even in its first moment', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(3000);
  const id = await leave(service, merchant, 'complete');
  const wrong = runWorker(later(service.runtime, 3_600_000), 'http://127.0.0.1:3000');
  await new Promise((done) => setTimeout(done, 800));
  await wrong.stop();
  expect(await intentOf(service, id)).toMatchObject({ state: 'ready', attempt: 0 });
  expect(await service.simulator.payout(id)).toBeUndefined();
  const right = runWorker(service.runtime, 'http://127.0.0.1:3000');
  await until(async () => (await statusOf(service, id)) === 'completed');
  await right.stop();
});

test('a lease that an early clock ends too soon allows no repeat before its true end', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(3000);
  const id = await leave(service, merchant, 'complete');
  const leaseUntil = Date.now() + 15_000;
  await service.database.admin(
    `UPDATE intent SET state = 'sending', attempt = 1, fence = gen_random_uuid(), lease_until = $2, due_at = now() - interval '1 s' WHERE payment_id = $1`,
    [id, new Date(leaseUntil).toISOString()],
  );
  const provider = service.runtime.providers.get('simulator') as Provider;
  const early = later(service.runtime, 20_000);
  const step = async (runtime: typeof early) => {
    const followUp = createFollowUp(runtime, provider);
    await followUp.stepSends();
    await followUp.idle();
    while (await followUp.stepQueries());
    await followUp.idle();
  };
  await step(early);
  expect(await intentOf(service, id)).toMatchObject({ state: 'awaiting' });
  // Queries of a process with the right time, before the end of the lease, count for nothing.
  await service.database.admin(
    "UPDATE intent SET due_at = now() - interval '1 s', absences = 0, absent_at = NULL WHERE payment_id = $1",
    [id],
  );
  await fillQueryLimit(service);
  await step(service.runtime);
  const [row] = await service.database.admin<{ absences: number }>(
    'SELECT absences FROM intent WHERE payment_id = $1',
    [id],
  );
  expect(row?.absences).toBe(0);
  expect(await service.simulator.payout(id)).toBeUndefined();
});

test('a claim ends within seconds, and is renewed while its process works: a slow provider is not asked twice', async () => {
  const merchant = await service.newMerchant();
  const { body } = await merchant.charge();
  const due = () =>
    service.database.admin(
      `UPDATE intent SET due_at = now() - interval '1 s' WHERE payment_id = '${body.id}'`,
    );
  const dueAt = async () => {
    const rows = await service.database.admin<{ at: Date }>(
      `SELECT due_at AS at FROM intent WHERE payment_id = '${body.id}'`,
    );
    return rows[0]?.at.getTime() ?? 0;
  };
  const provider = service.runtime.providers.get('simulator') as Provider;
  const gate = Promise.withResolvers<void>();
  let asked = 0;
  const slow: Provider = {
    ...provider,
    queryCharge: async (...query) => {
      asked++;
      await gate.promise;
      return provider.queryCharge(...query);
    },
  };
  await due();
  // Time moves by hand: how late a renewal is must be the service's and not the machine's.
  const timed = manualClock();
  const startedAt = Date.now() - timed.monotonicMs();
  const clock = { ...timed, now: () => startedAt + timed.monotonicMs() };
  const runtime = { ...service.runtime, clock };
  const [one, other] = [createFollowUp(runtime, slow), createFollowUp(runtime, slow)];
  await until(async () => {
    await one.stepQueries();
    return asked === 1;
  });
  const first = await dueAt();
  // So much later does another process ask when this one is paused now.
  expect(first - clock.now()).toBeLessThan(5_000);
  while (clock.now() <= first) {
    const before = await dueAt();
    await until(async () => timed.sleepers() === 1);
    timed.advance(1_500);
    await until(async () => (await dueAt()) > before);
  }
  await other.stepQueries();
  expect(asked).toBe(1);
  gate.resolve();
  await Promise.all([one.idle(), other.idle()]);
  expect(await dueAt()).toBeGreaterThan(clock.now());
});

test('a process that was paused does not renew a claim that another one has taken since', async () => {
  const merchant = await service.newMerchant();
  const { body } = await merchant.charge();
  const taken = new Date(Date.now() + 4_000);
  const rows = await service.database.admin<{ accountId: string; paymentId: string }>(
    `UPDATE intent SET due_at = $2 WHERE payment_id = $1 RETURNING account_id AS "accountId", payment_id AS "paymentId"`,
    [body.id, taken.toISOString()],
  );
  const dueAt = async () => {
    const found = await service.database.admin<{ at: Date }>(
      'SELECT due_at AS at FROM intent WHERE payment_id = $1',
      [body.id],
    );
    return found[0]?.at.getTime();
  };
  const [earlierMs, laterMs] = [taken.getTime() - 3_000, taken.getTime() + 1_500];
  await renewClaims(service.runtime.sql, rows, earlierMs, laterMs);
  expect(await dueAt()).toBe(taken.getTime());
  await renewClaims(service.runtime.sql, rows, taken.getTime(), laterMs);
  expect(await dueAt()).toBe(laterMs);
});
