import { openService, type Service } from '@vintem/testkit/service.ts';
import { fillQueryLimit } from '@vintem/testkit/settlement.ts';
import { openFakeStandby } from '@vintem/testkit/standby.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stepProviderBalance } from '../../src/jobs/provider-balance.ts';
import { createMetrics } from '../../src/main/metrics.ts';
import { reconcile } from '../../src/operate/reconcile.ts';

/** Facts for alerts that a person or a process has to write down first. */

let service: Service;
beforeAll(async () => {
  service = await openService({ worker: false });
});
afterAll(() => service?.close());

/** As they are now: a registry keeps what the database said for ten seconds. */
async function metrics(): Promise<(line: string) => number | null> {
  const { runtime, database } = service;
  const registry = await createMetrics({
    ...runtime,
    readiness: async () => [],
    clockOffset: { offsetMs: () => null },
    pool: database.sql.load,
    databaseStandbys: null,
  });
  const text = await registry.metrics();
  return (line) => {
    const value = text.split(`\n${line} `)[1]?.split('\n')[0];
    return value === undefined ? null : Number(value);
  };
}

test('without a verify or a copy the age is the age of the installation, and nothing says that it is well', async () => {
  await service.database.admin(`UPDATE installation SET created_at = now() - interval '2 days'`);
  const read = await metrics();
  expect(read('vintem_verify_age_seconds')).toBeGreaterThanOrEqual(172_800);
  expect(read('vintem_backup_age_seconds')).toBeGreaterThanOrEqual(172_800);
  expect(read('vintem_verify_ok')).toBeNull();
});

test('the deadline is that of the next unanswered dispute', async () => {
  const insert = (status: string, days: number, endedAt: string) =>
    service.database.admin(
      `INSERT INTO dispute (account_id, id, payment_id, operation_id, connection, provider_id, end_to_end, amount_cents, status,
          opened_at, deadline_at, ended_at, debited_cents, created_at, updated_at)
        SELECT id, $1::uuid, $1, $1, 'simulator', $1::text, $1::text, 100, $2, now(), now() + $3 * interval '1 day', ${endedAt}, 0, now(), now()
          FROM account WHERE number = 0`,
      [crypto.randomUUID(), status, days],
    );
  await insert('defending', 1, 'NULL');
  await insert('rejected', 1, 'now()');
  expect((await metrics())('vintem_dispute_deadline_seconds{connection="simulator"}')).toBeNull();
  await insert('open', 3, 'NULL');
  await insert('open', 2, 'NULL');
  const seconds = (await metrics())('vintem_dispute_deadline_seconds{connection="simulator"}');
  // A machine may take an hour over it, and no more.
  expect(seconds).toBeGreaterThan(2 * 86_400 - 3_600);
  expect(seconds).toBeLessThanOrEqual(2 * 86_400);
});

test('the balance of the provider is asked when it is due, by one process, and an old one is not shown', async () => {
  const { runtime, database, simulator } = service;
  const provider = runtime.providers.get('simulator');
  if (!provider) throw new Error('no simulator');
  const dueAt = (when: string) => `UPDATE job SET due_at = ${when} WHERE what = 'balance'`;
  const step = async (change: string) => {
    await database.admin(change);
    await fillQueryLimit({ database });
    await stepProviderBalance(runtime, provider);
  };
  const shown = async () => (await metrics())('vintem_provider_balance_cents{connection="simulator"}');
  await step(`DELETE FROM job WHERE what = 'balance'`);
  expect(await shown()).toBeNull();
  const merchant = await service.newMerchant();
  await merchant.receive(70_000);
  await step(dueAt(`now() + interval '1 day'`));
  expect(await shown()).toBeNull();
  await step(dueAt(`now() - interval '1 minute'`));
  expect(await shown()).toBe(70_000);
  expect((await simulator.control('GET', '/control/state')).body.balanceCents).toBe(70_000);
  const [row] = await database.admin<{ rests: boolean }>(
    `SELECT due_at > balance_read_at + interval '9 minutes' AS rests FROM job JOIN connection ON id = subject WHERE what = 'balance'`,
  );
  expect(row?.rests).toBe(true);
  await database.admin(`UPDATE connection SET balance_read_at = now() - interval '61 minutes'`);
  expect(await shown()).toBeNull();
});

test('open payouts are what the provider has yet to take', async () => {
  const read = async () => (await metrics())('vintem_open_payout_cents{connection="simulator"}');
  const merchant = await service.newMerchant();
  await merchant.receive(50_000);
  await expect.poll(() => merchant.balanceCents()).toBe(50_000);
  expect(await read()).toBeNull();
  const taken = await merchant.transfer({ amountCents: 9_000, pixKey: 'stay-pending@simulator.example' });
  expect(taken.body.status).toBe('pending');
  expect(await read()).toBeNull();
  const lost = await merchant.transfer({ amountCents: 7_000, pixKey: 'lose-request@simulator.example' });
  expect(lost.body.status).toBe('unknown');
  expect(await read()).toBe(7_000 - (lost.body.feeCents ?? 0));
});

test('a standby that replays nothing falls behind, and only its lag is shown to the service', async () => {
  const { database } = service;
  const name = `standby-${crypto.randomUUID().slice(0, 8)}`;
  const lag = async () => (await metrics())(`vintem_replication_lag_seconds{standby="${name}"}`);
  expect(await lag()).toBeNull();
  const standby = await openFakeStandby(database.url, name);
  const write = () => database.admin('UPDATE installation SET created_at = created_at');
  try {
    standby.stick();
    await expect
      .poll(
        async () => {
          await write();
          return await lag();
        },
        { timeout: 30_000 },
      )
      .toBeGreaterThan(1);
    expect(
      await database.sql.run({
        name: 'look',
        text: 'SELECT state FROM pg_stat_replication WHERE state IS NOT NULL',
      }),
    ).toEqual([]);
  } finally {
    await standby.close();
  }
});

test('every standby that replays is counted, also under one name, and what only receives the log is none', async () => {
  const { database } = service;
  const name = `standby-${crypto.randomUUID().slice(0, 8)}`;
  /** How many of each kind PostgreSQL itself shows under the name. */
  const known = async () =>
    (
      await database.admin<{ replaying: number; receiving: number }>(
        `SELECT count(replay_lsn)::int AS replaying, (count(flush_lsn) - count(replay_lsn))::int AS receiving
          FROM pg_stat_replication WHERE application_name = $1`,
        [name],
      )
    )[0];
  const shown = async () => (await metrics())('vintem_standbys');
  // A session that was ended elsewhere may be there for a moment.
  const all = () => database.admin('SELECT pid FROM pg_stat_replication');
  await expect.poll(all, { timeout: 30_000 }).toEqual([]);
  expect(await shown()).toBe(0);
  const standbys = [
    await openFakeStandby(database.url, name),
    await openFakeStandby(database.url, name),
    await openFakeStandby(database.url, name, { replays: false }),
  ];
  try {
    await expect.poll(known, { timeout: 30_000 }).toEqual({ replaying: 2, receiving: 1 });
    expect(await shown()).toBe(2);
    await standbys[0]?.close();
    await expect.poll(known, { timeout: 30_000 }).toEqual({ replaying: 1, receiving: 1 });
    expect(await shown()).toBe(1);
  } finally {
    await Promise.all(standbys.slice(1).map((standby) => standby.close()));
  }
});

test('the certificate of a connection has its time', async () => {
  await service.database.admin(
    `UPDATE connection SET certificate_expires_at = now() + interval '30 days' WHERE id = 'simulator'`,
  );
  const read = await metrics();
  expect(read('vintem_certificate_expires_seconds{connection="simulator"}')).toBeGreaterThan(29 * 86_400);
});

test('of the simulator nothing is read where there is no test account, and everything from the first one on', async () => {
  const open = await openService({ env: { PUBLIC_URL: 'https://pay.example' } });
  try {
    const simulated = open.runtime.providers.get('simulator');
    if (!simulated) throw new Error('no simulator');
    const claimed = () =>
      open.database.admin(`SELECT subject FROM job WHERE what = 'statement' AND subject = 'simulator'`);
    expect(await open.runtime.isInUse(simulated)).toBe(false);
    expect(await claimed()).toEqual([]);
    // Nor does a comparison wait for it: it need not run.
    const operator = { ...open.runtime, actor: 'tester' };
    expect(await reconcile(open.runtime, operator, { accountId: null, sinceMs: null })).toMatchObject({
      compared: 0,
    });
    expect((await open.simulator.control('GET', '/control/state')).body.queries).toBe(0);
    await open.newMerchant();
    await expect.poll(claimed, { timeout: 30_000 }).toHaveLength(1);
    expect(await open.runtime.isInUse(simulated)).toBe(true);
  } finally {
    await open.close();
  }
});
