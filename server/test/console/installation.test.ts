import { randomUUID } from 'node:crypto';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { type Desk, newOperator } from '@vintem/testkit/console.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { statusOf } from '@vintem/testkit/settlement.ts';
import fastify from 'fastify';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { processesRoute } from '../../src/console/views/processes.ts';
import { livingWorkers } from '../../src/main/shares.ts';
import { endsAt } from '../../src/operate/closes/day.ts';
import { closeDays } from '../../src/operate/closes/step.ts';
import { answersOf, verdictOf } from '../../src/operate/closes/verdict.ts';
import { createConnection } from '../../src/operate/connections/connections.ts';
import { endExamination, takeExamination } from '../../src/operate/connections/examination.sql.ts';
import { stepExaminations } from '../../src/operate/connections/examination.ts';
import { dayOf } from '../../src/operate/statement/period.ts';
import type { Finding } from '../../src/provider/provider.ts';
import { readMigrationState } from '../../src/store/database/state.sql.ts';

/** The console's pages about the installation itself: connections and closes. */

let service: Service;
let shop: Merchant;
let treasury: Desk;
let support: Desk;

beforeAll(async () => {
  service = await openService({ worker: false });
  shop = await service.newMerchant();
  treasury = await newOperator(service, 'treasury');
  support = await newOperator(service, 'support');
});
afterAll(() => service?.close());

const named = async (desk: Desk, name: string) => (await desk.call('GET', `/connections/${name}`)).body;

describe('a connection', () => {
  test('is shown with its state, its accounts and what its breaker refuses, and never with its credentials', async () => {
    const { runtime } = service;
    const config = { simulatorUrl: service.simulator.url, hooksUrl: service.url, provider: null };
    await createConnection(
      { ...runtime, actor: 'tester', config },
      { name: 'banco-dois', adapter: 'efi', mode: 'shared', url: null, credentials: null, simulated: true },
    );
    const later = new Date(Date.now() + 30_000).toISOString();
    await service.database.admin(
      `INSERT INTO breaker (connection, call, open, probe_at, changed_at)
       VALUES ('banco-dois', 'payout', true, '${later}', now()), ('banco-dois', 'query', false, now(), now())`,
    );
    await service.database.admin(
      `UPDATE connection SET held_since = now(), held_seen_at = now(), held_reason = 'another account' WHERE id = 'simulator'`,
    );
    const { connections, next } = (await support.call('GET', '/connections')).body;
    expect(next).toBe(null);
    expect(connections.map(({ name }: { name: string }) => name)).toEqual(
      connections.map(({ name }: { name: string }) => name).sort(),
    );
    const one = connections.find(({ name }: { name: string }) => name === 'banco-dois');
    expect(one).toMatchObject({
      ...{ adapter: 'efi', mode: 'shared', state: 'active', environment: 'simulator', accounts: 0 },
      ...{ heldSince: null, faults: null, foundAt: null },
    });
    expect(one.refused).toMatchObject([{ call: 'payout', probeAt: later }]);
    const simulator = await named(support, 'simulator');
    expect(simulator).toMatchObject({ adapter: 'environment', heldReason: 'another account', accounts: 1 });
    expect(simulator.bound).toEqual([{ ownerId: shop.ownerId, name: 'Loja', test: true, enabled: true }]);
    expect(JSON.stringify([connections, simulator])).not.toMatch(/clientId|credentials|secret|webhook/i);
    await service.database.admin(
      `UPDATE connection SET held_since = NULL, held_seen_at = NULL, held_reason = NULL WHERE id = 'simulator'`,
    );
  });

  test('of a name that is none answers 404, and one that cannot be 400', async () => {
    for (const path of ['', '/money'])
      expect((await treasury.call('GET', `/connections/nenhuma${path}`)).status).toBe(404);
    expect((await treasury.call('POST', '/connections/nenhuma/examination', {})).status).toBe(404);
    expect((await treasury.call('GET', '/connections/A%00')).status).toBe(400);
    expect((await treasury.call('GET', '/connections?after=A')).status).toBe(400);
  });

  test('is shown page by page where there are more than one page has', async () => {
    const columns = `INSERT INTO connection (id, webhook_token, query_bucket_at, test, simulated)`;
    await service.database.admin(
      `${columns} SELECT 'z' || to_char(n, 'FM0000'), 'w' || n, now(), true, true FROM generate_series(1, 401) n`,
    );
    const found: string[] = [];
    const sizes: number[] = [];
    for (let next: string | null = ''; next !== null; ) {
      const { body } = await support.call('GET', `/connections${next === '' ? '' : `?after=${next}`}`);
      found.push(...body.connections.map(({ name }: { name: string }) => name));
      sizes.push(body.connections.length);
      next = body.next;
    }
    expect(Math.max(...sizes)).toBe(200);
    expect(found.filter((name) => /^z\d{4}$/.test(name))).toHaveLength(401);
    expect(new Set(found).size).toBe(found.length);
    await service.database.admin(`DELETE FROM connection WHERE id ~ '^z[0-9]{4}$'`);
  });

  test('shows its money to those who count it, and to no other role', async () => {
    await service.database.admin(
      `UPDATE connection SET balance_cents = 123456, balance_read_at = now(), blocked_total_cents = 700 WHERE id = 'simulator'`,
    );
    await service.database.admin(
      `INSERT INTO cash_transfer (connection, reference, to_connection, amount_cents, left_at, due_at, found_at)
       VALUES ('banco-dois', 'po_1', 'simulator', 5000, now(), now() + interval '2 days', now()),
         ('banco-dois', 'po_2', NULL, 9000, now(), now(), now())`,
    );
    await service.database.admin(
      `INSERT INTO connection_movement (connection, kind, reference, amount_cents, moved_at, source, found_at)
       VALUES ('simulator', 'cost', 'c1', -90, now(), 'person', now()), ('simulator', 'cost', 'c2', 20, now(), 'person', now()),
         ('simulator', 'own', 'o1', 4000, now(), 'person', now())`,
    );
    const { body } = await treasury.call('GET', '/connections/simulator/money');
    expect(body).toMatchObject({ balanceCents: 123_456, blockedTotalCents: 700, blockedMedCents: null });
    // Both ends of cash under way; what went elsewhere is none.
    expect(body.cash).toMatchObject([{ reference: 'po_1', toConnection: 'simulator', amountCents: 5_000 }]);
    expect(body.days.filter(({ closed }: { closed: boolean }) => !closed)).toMatchObject([
      { costCents: 70, ownInCents: 4_000, ownOutCents: 0 },
    ]);
    expect((await support.call('GET', '/connections/simulator/money')).body.code).toBe(
      'operator_role_denied',
    );
    await service.database.admin(`DELETE FROM connection_movement WHERE reference IN ('c1', 'c2', 'o1')`);
    await service.database.admin(`DELETE FROM cash_transfer WHERE connection = 'banco-dois'`);
  });
});

describe('an examination', () => {
  const ask = (desk: Desk) => desk.call('POST', '/connections/banco-dois/examination', {});
  const age = () =>
    service.database.admin(
      `UPDATE connection_examination SET asked_at = asked_at - interval '61 seconds' WHERE connection = 'banco-dois'`,
    );

  test('is asked for once a minute, with a name, and shows what the doctor finds once a worker has made it', async () => {
    const [first, second] = await Promise.all([ask(support), ask(treasury)]);
    expect([first.body.underWay, second.body.underWay]).toEqual([true, true]);
    expect(first.body.askedBy).toBe(second.body.askedBy);
    const asked = await service.database.admin(
      `SELECT actor FROM audit WHERE action = 'connection.examine' AND subject = 'banco-dois'`,
    );
    expect(asked).toEqual([{ actor: first.body.askedBy }]);
    let doctor: readonly Finding[] = [];
    const kept = {
      ...service.runtime,
      examine: async (name: string) => {
        doctor = await service.runtime.examine(name);
        return doctor;
      },
    };
    expect(await stepExaminations(kept)).toBe(true);
    expect(await stepExaminations(kept)).toBe(false);
    expect(doctor.map(({ check }) => check)).toContain('token');
    const { examination } = await named(support, 'banco-dois');
    expect(examination).toMatchObject({ underWay: false, unanswered: false });
    const checksOf = (findings: readonly Finding[]) => findings.map(({ check }) => check);
    const seen = (await named(treasury, 'banco-dois')).examination;
    expect(checksOf(seen.findings)).toEqual(checksOf(doctor));
    // The balance and the limits of payouts are for those who count the money.
    const amounts = doctor.filter(({ check, ok }) => ok && ['balance', 'payout limit'].includes(check));
    expect(amounts.length).toBeGreaterThan(0);
    expect(checksOf(examination.findings)).toEqual(checksOf(doctor.filter((one) => !amounts.includes(one))));
    const { connections } = (await support.call('GET', '/connections')).body;
    expect(connections.find(({ name }: { name: string }) => name === 'banco-dois').faults).toBe(
      doctor.filter(({ ok }) => !ok).length,
    );
    // Within the minute nothing begins anew.
    expect((await ask(support)).body.underWay).toBe(false);
  });

  test('that has no answer in time says so, and what was found before stays', async () => {
    const before = (await named(support, 'banco-dois')).examination;
    await age();
    await ask(support);
    const failing = { ...service.runtime, examine: () => Promise.reject(new Error('no answer')) };
    expect(await stepExaminations(failing)).toBe(true);
    const { examination } = await named(support, 'banco-dois');
    expect(examination).toMatchObject({ underWay: false, unanswered: true, foundAt: before.foundAt });
    expect(examination.findings).toEqual(before.findings);
  });

  test('is taken by one worker, and by another when that one has ended', async () => {
    await age();
    await ask(support);
    const { sql } = service.runtime;
    const now = Date.now();
    const taken = await Promise.all([takeExamination(sql, now, now - 1), takeExamination(sql, now, now - 1)]);
    expect(taken.filter((one) => one !== undefined)).toEqual(['banco-dois']);
    expect(await takeExamination(sql, now + 1, now)).toBe(undefined);
    expect(await takeExamination(sql, now + 120_001, now + 1)).toBe('banco-dois');
    // The first one comes back too late to write.
    await endExamination(sql, { connection: 'banco-dois', takenAt: now }, now + 130_000, []);
    expect((await named(support, 'banco-dois')).examination.underWay).toBe(true);
    await endExamination(sql, { connection: 'banco-dois', takenAt: now + 120_001 }, now + 130_000, []);
    expect((await named(support, 'banco-dois')).examination).toMatchObject({ underWay: false, findings: [] });
  });
});

describe('a close', () => {
  const dayMs = 86_400_000;
  const startedAt = Date.now();
  const inDays = (days: number): string => dayOf(startedAt + days * dayMs);
  const close = (day: string, closedDay: string | null) =>
    closeDays(service.runtime, closedDay, endsAt(day) + 3_600_000);

  test('is listed by connection with the provider’s word, and its day names the ground on which it agrees', async () => {
    await close(inDays(1), null);
    await shop.receive(10_000);
    const { body } = await shop.transfer({ amountCents: 2_000 });
    await until(async () => (await statusOf(service, body.id)) === 'completed');
    await close(inDays(2), inDays(1));
    const { closes, next } = (await treasury.call('GET', '/closes?connection=simulator')).body;
    expect(next).toBe(null);
    expect(closes.map(({ day }: { day: string }) => day)).toEqual([inDays(2), inDays(1)]);
    expect(closes[0]).toMatchObject({
      ...{ openingCents: 0, inCents: 10_000, outCents: 1_975, closingCents: 8_025, feeCents: 25 },
      ...{ providerCents: 8_025, differenceCents: 0, verdict: 'agrees', incidentId: null },
    });
    const day = (await treasury.call('GET', `/closes/${inDays(2)}`)).body;
    const one = day.closes.find(({ connection }: { connection: string }) => connection === 'simulator');
    expect(one).toMatchObject({ ...closes[0], answers: null });
    expect(one.head).toMatch(/^[0-9a-f]{64}$/);
    const { operations } = (await treasury.call('GET', `/closes/${inDays(2)}/operations`)).body;
    expect(operations).toMatchObject([
      { ownerId: shop.ownerId, operationId: shop.operationId, inCents: 10_000, closingCents: 8_000 },
    ]);
    expect((await treasury.call('GET', `/closes/${inDays(9)}`)).status).toBe(404);
    expect((await treasury.call('GET', '/closes/2026-13-45')).status).toBe(400);
    expect((await support.call('GET', '/closes')).body.code).toBe('operator_role_denied');
  });

  test('stands in the file of its connection and of its operations', async () => {
    const file = await treasury.call(
      'GET',
      `/closes.csv?connection=simulator&from=${inDays(2)}&to=${inDays(2)}`,
      undefined,
      {
        'accept-language': 'en',
      },
    );
    const lines = String(file.body).trimEnd().split('\r\n');
    expect(lines).toHaveLength(2);
    expect(lines[0]?.startsWith('day,connection,opening,in,out,refunds,closing')).toBe(true);
    expect(lines[1]?.startsWith(`${inDays(2)},simulator,0.00,100.00,19.75,0.00,80.25`)).toBe(true);
    const all = String((await treasury.call('GET', '/closes.csv')).body)
      .trimEnd()
      .split('\r\n');
    expect(all.length).toBeGreaterThanOrEqual(3);
    const early = await treasury.call('GET', `/closes.csv?to=${inDays(1)}`);
    expect(String(early.body)).not.toContain(inDays(2));
    const operations = await treasury.call('GET', `/closes/${inDays(2)}/operations.csv`);
    expect(String(operations.body)).toContain(shop.operationId);
  });

  test('of many days is read page by page, over all connections and of one', async () => {
    await service.database.admin(
      `INSERT INTO connection_close (connection, day, previous_day, opening_cents, in_cents, out_cents, refund_cents, fee_cents, held_cents,
          closing_cents, closed_at, head)
        SELECT c.name, d.day, CASE WHEN d.n > 1 THEN d.day - 1 END, 0, 0, 0, 0, 0, 0, 0, now(), sha256('x')
        FROM unnest(ARRAY['banco-1', 'banco-2', 'banco-3', 'banco-4', 'banco-5', 'banco-6', 'banco-7']) AS c (name),
          (SELECT n, date '2025-01-01' + n::integer AS day FROM generate_series(1, 70) n) d ORDER BY c.name, d.day`,
    );
    const read = async (filter: string): Promise<string[]> => {
      const found: string[] = [];
      for (let next: string | null = ''; next !== null; ) {
        const query = [filter, next === '' ? '' : `below=${next}`].filter(Boolean).join('&');
        const { body } = await treasury.call('GET', `/closes?${query}`);
        expect(body.closes.length).toBeLessThanOrEqual(60);
        found.push(
          ...body.closes.map((one: { day: string; connection: string }) => `${one.day} ${one.connection}`),
        );
        next = body.next;
      }
      return found;
    };
    const all = (await read('')).filter((one) => /banco-\d$/.test(one));
    // Seven a day: pages end within a day.
    expect([all.length, new Set(all).size]).toEqual([490, 490]);
    expect(all.slice(0, 2)).toEqual(['2025-03-12 banco-1', '2025-03-12 banco-2']);
    expect(await read('connection=banco-3')).toHaveLength(70);
    expect((await treasury.call('GET', `/closes?below=${randomUUID()}`)).status).toBe(400);
  });
});

describe('the page of processes', () => {
  test('shows machines, cells, migrations and what waits to the roles that look after them', async () => {
    const url = service.database.url;
    const client = new pg.Client({ connectionString: url, application_name: 'vintem outgoing' });
    await client.connect();
    const { body } = await support.call('GET', '/processes');
    await client.end();
    expect(body.cells).toMatchObject([{ name: 'vintem', open: true, accounts: 1 }]);
    expect(body.cells[0].bytes).toBeGreaterThan(0);
    expect(body.machines).toMatchObject([{ connections: 1 }]);
    expect(body.migrations).toMatchObject({ missing: [], unknown: [] });
    expect(body.migrations.newest).toMatch(/^0\d{3}_/);
    expect(body.workers).toEqual([]);
    expect(body.readings).toContainEqual({ name: 'outbox_lag_seconds', of: null, value: expect.any(Number) });
    const risk = await newOperator(service, 'risk');
    expect((await risk.call('GET', '/processes')).body.code).toBe('operator_role_denied');
  });

  test('is read once in ten seconds, however many look, and again after a failure', async () => {
    let [at, reads, fails] = [0, 0, true];
    const app = fastify();
    processesRoute(app.withTypeProvider<TypeBoxTypeProvider>(), {
      ...service.runtime,
      clock: { ...service.runtime.clock, monotonicMs: () => at },
      reading: async () => [],
      workers: async () => {
        reads++;
        if (fails) throw new Error('no database');
        return [];
      },
    });
    const look = async () => (await app.inject('/processes')).statusCode;
    expect(await look()).toBe(500);
    fails = false;
    expect(await Promise.all([look(), look(), look()])).toEqual([200, 200, 200]);
    at = 9_999;
    await look();
    expect(reads).toBe(2);
    at = 10_000;
    await look();
    expect(reads).toBe(3);
    await app.close();
  });

  test('names migrations that a program or a database lacks, and shares the cells among the workers that live', async () => {
    const { sql } = service.runtime;
    await service.database.admin(
      `INSERT INTO migration (name, applied_at, sha256) VALUES ('9998_of_a_newer_program', now(), 'x')`,
    );
    expect(await readMigrationState(sql)).toMatchObject({
      unknown: ['9998_of_a_newer_program'],
      missing: [],
    });
    await service.database.admin(
      `DELETE FROM migration WHERE name IN ('9998_of_a_newer_program', '0076_closes_by_day')`,
    );
    expect((await readMigrationState(sql)).missing).toEqual(['0076_closes_by_day']);
    await service.database.admin(
      `INSERT INTO worker (id, alive_until) VALUES (gen_random_uuid(), now() + interval '1 hour'), (gen_random_uuid(), now())`,
    );
    const cells = { all: () => [{ cell: 'vintem' }, { cell: 'vintem_2' }] };
    expect((await livingWorkers({ sql, cells })).map((one) => one.cells)).toEqual([['vintem', 'vintem_2']]);
  });
});

describe('the verdict on a close', () => {
  const base = {
    ...{ differenceCents: 0, inTransitCents: 0, incidentId: null },
    ...{ transitSettledCents: 0, transitPendingCents: 0, transitUnsentCents: 0 },
  };

  test('names the assumption under which books and provider agree', () => {
    expect(verdictOf(base)).toBe('agrees');
    expect(verdictOf({ ...base, inTransitCents: 500, transitSettledCents: 500 })).toBe('agrees');
    // Under way, and the provider says that the money is still there.
    expect(verdictOf({ ...base, transitPendingCents: 500 })).toBe('agrees');
    expect(verdictOf({ ...base, inTransitCents: 500, transitPendingCents: 500 })).toBe('assumed');
    expect(verdictOf({ ...base, differenceCents: 7 })).toBe('known');
    expect(verdictOf({ ...base, differenceCents: 7, incidentId: randomUUID() })).toBe('differs');
    expect(verdictOf({ ...base, differenceCents: null, inTransitCents: null })).toBe('uncompared');
  });

  test('stands beside the difference that each other answer would leave', () => {
    const figures = {
      ...base,
      inTransitCents: 800,
      transitSettledCents: 300,
      transitPendingCents: 500,
      transitUnsentCents: 40,
    };
    expect(answersOf(figures)).toEqual({
      ...{ settledCents: 300, pendingCents: 500, unsentCents: 40 },
      ...{ ifNone: -800, ifSettled: -500, ifPending: 0, ifAll: 40 },
    });
    expect(answersOf(base)).toBe(null);
  });
});
