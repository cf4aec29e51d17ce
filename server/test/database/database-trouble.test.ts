import { freezePostgres, postmasterOf } from '@vintem/testkit/processes.ts';
import { type Program, programOn, testMerchant } from '@vintem/testkit/program.ts';
import {
  type Answer,
  type Merchant,
  openService,
  type Service,
  simulatorAt,
  until,
} from '@vintem/testkit/service.ts';
import { intentOf, journalsOf, reservedCents } from '@vintem/testkit/settlement.ts';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findEmbedded } from '../../src/store/database/embedded.ts';

/** Answers to callers while the database fails, and that the service recovers by itself afterwards. */

describe('a flush that the database refuses', () => {
  let service: Service;
  let merchant: Merchant;
  beforeAll(async () => {
    service = await openService();
    merchant = await service.newMerchant();
    await merchant.receive(50_000);
    await service.database.admin(`
      CREATE SEQUENCE trouble_times;
      CREATE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = vintem AS $$
      BEGIN
        IF nextval('trouble_times') <= TG_ARGV[1]::bigint THEN
          IF TG_ARGV[0] = 'slow' THEN PERFORM pg_sleep(30); END IF;
          RAISE EXCEPTION USING ERRCODE = TG_ARGV[0], MESSAGE = 'made for a test';
        END IF;
        RETURN NULL;
      END $$`);
  });
  afterAll(() => service?.close());

  /** The next `times` flushes that write a journal fail with this SQLSTATE. Sequences do not roll back. */
  async function fails(state: string, times: number): Promise<void> {
    await service.database.admin('DROP TRIGGER IF EXISTS trouble ON journal');
    await service.database.admin('ALTER SEQUENCE trouble_times RESTART');
    await service.database.admin(
      `CREATE TRIGGER trouble AFTER INSERT ON journal FOR EACH STATEMENT EXECUTE FUNCTION trouble('${state}', ${times})`,
    );
  }
  const works = () => service.database.admin('DROP TRIGGER IF EXISTS trouble ON journal');

  test.each([
    ['a deadlock', '40P01', 3],
    ['a serialization failure', '40001', 3],
    ['a cancelled statement', '57014', 1],
    ['a shutdown', '57P01', 2],
    ['a connection whose server became a standby', '0A000', 2],
  ])('%s is run again, and the caller notices nothing of it', async (_name, state, times) => {
    const before = await merchant.balanceCents();
    await fails(state, times);
    const requestKey = crypto.randomUUID();
    const { status, body } = await merchant.transfer({ requestKey });
    expect(status).toBe(201);
    await works();
    expect(await merchant.balanceCents()).toBe(before - 1000);
    await until(async () => (await intentOf(service, body.id)) === undefined);
    expect(await journalsOf(service, body.id)).toEqual(['reserve', 'complete']);
    expect((await service.simulator.payout(body.id))?.timesReceived).toBe(1);
  });

  test('a statement that runs into its time limit inside the flush is one of them', async () => {
    await fails('slow', 1);
    const began = performance.now();
    const { status, body } = await merchant.transfer();
    expect(performance.now() - began).toBeGreaterThan(4_900);
    await works();
    // The caller waits no longer than eight seconds: it has the payment, or knows nothing and may ask again.
    expect([201, 503]).toContain(status);
    if (status === 201) await until(async () => (await intentOf(service, body.id)) === undefined);
  });

  test.each([
    ['a full disk', '53100'],
    ['a server that is out of memory', '53200'],
    ['a read-only server', '25006'],
  ])('%s answers 503 at once, commits nothing and keeps the key free', async (_name, state) => {
    const before = await merchant.balanceCents();
    await fails(state, 1_000_000);
    const requestKey = crypto.randomUUID();
    const answers = await Promise.all([merchant.transfer({ requestKey }), merchant.transfer()]);
    for (const { status, body } of answers) {
      expect(status).toBe(503);
      expect(body).toMatchObject({ statusCode: 503, code: 'processing_unavailable' });
    }
    expect((await merchant.call('GET', '/account')).status).toBe(200);
    await works();
    expect(await merchant.balanceCents()).toBe(before);
    const again = await merchant.transfer({ requestKey });
    expect(again.status).toBe(201);
    expect(again.headers.get('idempotent-replayed')).toBeNull();
  });

  test('readiness fails while there is no room to write, though reads work, and comes back by itself', async () => {
    const readiness = async () => {
      const answer = await fetch(`${service.url}/readyz`);
      return { status: answer.status, ...((await answer.json()) as { problems: string[] }) };
    };
    expect(await readiness()).toMatchObject({ status: 200, problems: [] });
    await service.database.admin('ALTER SEQUENCE trouble_times RESTART');
    await service.database.admin(
      `CREATE TRIGGER trouble BEFORE INSERT ON write_probe FOR EACH STATEMENT EXECUTE FUNCTION trouble('53100', 1000000)`,
    );
    await until(async () => (await readiness()).status === 503);
    expect((await readiness()).problems).toEqual(['the database cannot write']);
    expect((await merchant.call('GET', '/account')).status).toBe(200);
    await service.database.admin('DROP TRIGGER trouble ON write_probe');
    await until(async () => (await readiness()).status === 200);
    const [{ rows } = { rows: -1 }] = await service.database.admin<{ rows: number }>(
      'SELECT count(*)::int AS rows FROM write_probe',
    );
    expect(rows).toBe(0);
  });

  test('news that cannot be written while the disk is full is written afterwards', async () => {
    const { body } = await merchant.transfer({ pixKey: 'stay-pending@simulator.example' });
    await fails('53100', 1_000_000);
    await service.simulator.control('POST', `/control/payouts/${body.id.replaceAll('-', '')}/complete`);
    const stored = () =>
      service.database.admin<{ n: number }>(
        'SELECT count(*)::int AS n FROM inbound WHERE applied_at IS NULL AND authentic',
      );
    await until(async () => ((await stored())[0]?.n ?? 0) > 0);
    await works();
    await until(async () => (await intentOf(service, body.id)) === undefined);
    expect(await journalsOf(service, body.id)).toEqual(['reserve', 'complete']);
  });
});

describe('a database that is', () => {
  let program: Program;
  let merchant: Merchant;
  const sent: { requestKey: string }[] = [];
  beforeAll(async () => {
    program = await programOn();
    await program.start();
    ({ merchant } = await testMerchant(program));
    await merchant.receive(100_000);
  });
  afterAll(() => program?.remove(), 30_000);

  const readiness = async (): Promise<number> => {
    const answer = await fetch(`${program.url}/readyz`);
    await answer.arrayBuffer();
    return answer.status;
  };
  const ready = () => until(async () => (await readiness()) === 200);
  const postmaster = (): number => postmasterOf(program.dataDir);
  const transfers = (count: number): Promise<Answer>[] =>
    Array.from({ length: count }, () => {
      const request = { requestKey: crypto.randomUUID() };
      sent.push(request);
      return merchant.transfer(request);
    });
  /** Every answer is honest: made, or unknown to the caller; asked again with its key it is there once. */
  async function honest(answers: Answer[]): Promise<void> {
    for (const { status, body } of answers) {
      expect([201, 503]).toContain(status);
      if (status === 503) expect(['processing_unavailable', 'request_in_progress']).toContain(body.code);
    }
    const again = await Promise.all(sent.map((request) => merchant.transfer(request)));
    expect(again.map(({ status }) => status)).toEqual(sent.map(() => 201));
    expect(new Set(again.map(({ body }) => body.id)).size).toBe(sent.length);
    await until(async () => (await reservedCents(merchant)) === 0);
    expect(await merchant.balanceCents()).toBe(100_000 - sent.length * 1000);
    const truth = await Promise.all(
      again.map(({ body }) => simulatorAt(program.simulatorUrl).payout(body.id)),
    );
    expect(truth.map((payout) => payout?.timesAccepted)).toEqual(sent.map(() => 1));
  }

  test('frozen: callers are answered while it stands still, and work continues afterwards', async () => {
    const all = await freezePostgres(postmaster());
    let answers: Answer[];
    try {
      // It continues only after the last answer: a limit of ours ended each call that is answered here.
      const asked = transfers(6);
      expect(await readiness()).toBe(503);
      expect((await fetch(`${program.url}/healthz`)).status).toBe(200);
      answers = await Promise.all(asked);
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
    } finally {
      for (const pid of all) process.kill(pid, 'SIGCONT');
    }
    await ready();
    await honest(answers);
  });

  test('out of connections: 503, and on by itself when there are some', async () => {
    const url = (await findEmbedded(program.dataDir)) ?? '';
    const greedy: pg.Client[] = [];
    const take = async (): Promise<boolean> => {
      const client = new pg.Client({ connectionString: url });
      client.on('error', () => {});
      try {
        await client.connect();
        greedy.push(client);
        return true;
      } catch {
        return false;
      }
    };
    const answers: Answer[] = [];
    // The service takes back what it can while it is being robbed: until it holds none.
    await until(async () => {
      while (await take());
      await greedy[0]?.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'vintem%' AND pid <> pg_backend_pid()`,
      );
      while (await take());
      return (await readiness()) === 503;
    });
    answers.push(...(await Promise.all(transfers(3))));
    for (const client of greedy) await client.end().catch(() => {});
    await ready();
    await honest(answers);
  });

  test('killed in the middle of transfers: nothing is lost and nothing is paid twice', async () => {
    const asked = transfers(20);
    await new Promise((done) => setTimeout(done, 30));
    process.kill(postmaster(), 'SIGKILL');
    const answers = await Promise.all(asked);
    await ready();
    await honest(answers);
  });
});
