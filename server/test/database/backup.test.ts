import { randomBytes } from 'node:crypto';
import { access, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endPrograms, finish, run } from '@vintem/testkit/command.ts';
import { type Program, programOn } from '@vintem/testkit/program.ts';
import {
  callWith,
  type Merchant,
  merchantOf,
  type Simulator,
  simulatorAt,
  until,
} from '@vintem/testkit/service.ts';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createLog } from '../../src/ground/log.ts';
import { createSecrets } from '../../src/ground/secrets.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';
import { leftOut } from '../../src/store/database/backup.ts';
import { openBackupFile, purposeOfBackup } from '../../src/store/database/backup-file.ts';
import { findEmbedded } from '../../src/store/database/embedded.ts';
import { migrate, readMigrations } from '../../src/store/database/migrate.ts';

/** The real program: a copy made while money moves, and the state of that money after a restore from the copy alone. */

const secret = randomBytes(32);
const vintemSecret = secret.toString('base64');
let folder: string;
let file: string;
/** The output of `backup` for `file`. */
// biome-ignore lint/suspicious/noExplicitAny: what a test looks at is checked by the test
let told: any;
/** The metrics about it. */
let noted: Date;
let program: Program;
let merchant: Merchant;
let simulator: Simulator;
/** Everything that was asked for and answered, before the copy, during it and after it. */
const transfers: { requestKey: string; pixKey: string }[] = [];
const charges: { requestKey: string; amountCents: number }[] = [];
/** Pending when the copy was made, decided afterwards. */
const left = { completed: '', refused: '' };
let balanceCents: number;

const programEnv = () => ({ VINTEM_SECRET: vintemSecret, SIMULATOR_STATE: join(folder, 'simulator') });

function merchantAt(at: Program, known?: Merchant): Merchant {
  const key = known?.key ?? /vintem test key (vtm_test_\S+)/.exec(at.output())?.[1] ?? '';
  simulator = simulatorAt(at.simulatorUrl);
  const call = callWith(`${at.url}/api/v1/public`, key);
  return merchantOf({ ownerId: '', operationId: '', ...known, key, call }, simulator);
}

async function transferOne(pixKey = 'maria@loja.example'): Promise<string> {
  const request = { requestKey: crypto.randomUUID(), pixKey };
  const { status, body } = await merchant.transfer(request);
  if (status !== 201) throw new Error(`a transfer was answered ${status}: ${JSON.stringify(body)}`);
  transfers.push(request);
  return body.id;
}

async function chargeOne(amountCents: number): Promise<void> {
  const request = { requestKey: crypto.randomUUID(), amountCents };
  const { body } = await merchant.charge(request);
  charges.push(request);
  await simulator.control('POST', `/control/charges/${body.id.replaceAll('-', '')}/pay`);
}

const statusOf = async (id: string): Promise<string> =>
  (await merchant.call('GET', `/payments/${id}`)).body.status;

const commandEnv = (dataDir: string, url?: string): Record<string, string> => ({
  DATA_DIR: dataDir,
  VINTEM_SECRET: vintemSecret,
  LOG_LEVEL: 'error',
  ...(url ? { DATABASE_URL: url } : {}),
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vintem-backup-'));
  file = join(folder, 'copy');
  program = await programOn(programEnv());
  await program.start();
  merchant = merchantAt(program);
  for (let n = 0; n < 5; n++) await chargeOne(200_000);
  await until(async () => (await merchant.balanceCents()) === 1_000_000);
  left.completed = await transferOne('stay-pending@simulator.example');
  left.refused = await transferOne('stay-pending@simulator.example');

  let loaded = true;
  const callers = Array.from({ length: 4 }, async (_, n) => {
    // Enough money for every transfer, however long the copy takes.
    while (loaded && transfers.length < 800) await (n % 2 === 0 ? transferOne() : chargeOne(700 + n));
  });
  const load = Promise.all(callers);
  load.catch(() => {});
  await until(async () => transfers.length > 20);
  const { code, stdout, stderr } = await finish(['backup', file, '--json'], commandEnv(program.dataDir));
  const during = transfers.length;
  await until(async () => transfers.length > during + 10);
  loaded = false;
  await load;
  expect({ code, stderr: stderr.replace(/^vintem: the copy .*\n/, '') }).toEqual({ code: 0, stderr: '' });
  told = JSON.parse(stdout);
  const looks = new pg.Client({ connectionString: (await findEmbedded(program.dataDir)) ?? '' });
  await looks.connect();
  noted = (await looks.query('SELECT backed_up_at AS at FROM vintem.installation')).rows[0].at;
  await looks.end();

  await simulator.control('POST', `/control/payouts/${left.completed.replaceAll('-', '')}/complete`);
  await simulator.control('POST', `/control/payouts/${left.refused.replaceAll('-', '')}/refuse`);
  const open = async () =>
    (await merchant.call('GET', '/payments')).body.payments.filter((one: { status: string }) =>
      ['unknown', 'pending'].includes(one.status),
    );
  await until(async () => (await open()).length === 0);
  // The two oldest are on no first page.
  await until(
    async () =>
      (await statusOf(left.completed)) === 'completed' && (await statusOf(left.refused)) === 'cancelled',
  );
  balanceCents = await merchant.balanceCents();
  await program.stop();
});
afterAll(async () => {
  await endPrograms();
  await program?.remove();
  await rm(folder, { recursive: true, force: true });
});

// ------------------------------------------------------------------------------------------------------- on PostgreSQL

interface Empty {
  url: string;
  dataDir: string;
  restore(copy: string, env?: Record<string, string>): ReturnType<typeof finish>;
  look<Row extends pg.QueryResultRow>(text: string): Promise<Row[]>;
}

const databases: string[] = [];
const logins: string[] = [];

/** A database without anything, and without a connection: a restore wants to be alone on it. */
async function emptyDatabase(): Promise<Empty> {
  const name = `restored_${randomBytes(6).toString('hex')}`;
  databases.push(name);
  await atServer(`CREATE DATABASE ${name} TEMPLATE template0 STRATEGY file_copy`);
  const url = inject('templateUrl').replace(/[^/]*$/, name);
  const dataDir = await mkdtemp(join(folder, 'data-'));
  return {
    url,
    dataDir,
    restore: (copy, env = {}) => finish(['restore', copy, '--json'], { ...commandEnv(dataDir, url), ...env }),
    look: async (text) => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      try {
        return (await client.query(text)).rows;
      } finally {
        await client.end();
      }
    },
  };
}

async function atServer(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('templateUrl').replace(/[^/]*$/, 'postgres') });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

afterAll(async () => {
  for (const name of databases) await atServer(`DROP DATABASE ${name} WITH (FORCE)`);
  for (const name of logins) await atServer(`DROP ROLE ${name}`);
});

/** Nothing that counts: no table, or tables without a row. */
async function isEmpty({ look }: Empty): Promise<boolean> {
  const [row] = await look(`SELECT to_regclass('vintem.account') IS NULL AS none`);
  if (row?.none) return true;
  const [counts] = await look(
    'SELECT (SELECT count(*) FROM vintem.account) + (SELECT count(*) FROM vintem.payment) AS rows',
  );
  return counts?.rows === '0';
}

/** The hash of every row of what invariant 48 names, and of the balances. */
async function hashes({ look }: Empty): Promise<Record<string, string>> {
  const of: Record<string, string> = {};
  for (const table of [
    'payment',
    'journal',
    'operation',
    'event',
    'event_log',
    'balance',
    'incident',
    'api_key',
  ]) {
    const [row] = await look(
      `SELECT count(*) || ' ' || md5(string_agg(t::text, E'\\n' ORDER BY t::text COLLATE "C")) AS hash FROM vintem."${table}" t`,
    );
    of[table] = row?.hash;
  }
  return of;
}

describe('a backup', () => {
  test('is one whole file, for its owner alone, which says what is in it', async () => {
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await expect(access(`${file}.part`)).rejects.toThrow();
    expect(told).toMatchObject({ file, bytes: (await stat(file)).size });
    expect(noted.toISOString()).toBe(told.createdAt);
    const rows = Object.fromEntries(
      told.tables.map((one: { name: string; rows: number }) => [one.name, one.rows]),
    );
    // The installation's own and the merchant's.
    expect(rows).toMatchObject({ installation: 1, account: 2, operation: 1, publisher: 1 });
    expect(rows.payment).toBeGreaterThan(25);
    expect(rows.journal).toBeGreaterThan(40);
  });

  test('holds every table, or says why not', async () => {
    const empty = await emptyDatabase();
    expect((await finish(['migrate'], commandEnv(empty.dataDir, empty.url))).code).toBe(0);
    const tables = await empty.look<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'vintem'::regnamespace AND relkind NOT IN ('i', 't') ORDER BY 1`,
    );
    const held = [...told.tables.map(({ name }: { name: string }) => name), ...Object.keys(told.leftOut)];
    expect(held.toSorted()).toEqual(tables.map(({ name }) => name));
    expect(told.leftOut).toEqual(leftOut);
  });

  test('holds no secret of ours, and what was sealed stays so', async () => {
    const copy = await openBackupFile(file);
    const { secretId, salt } = copy.sealedUnder;
    const secrets = createSecrets(systemIds(systemClock), secret);
    expect(secretId).toBe(secrets.id);
    const all: Buffer[] = [];
    for await (const block of copy.blocks(secrets.derive(purposeOfBackup(salt))))
      if (block.kind === 'rows') all.push(Buffer.from(block.rows));
    await copy.close();
    const text = Buffer.concat(all).toString('latin1');
    expect(text).toContain('Loja de teste');
    const kept = ['maria@loja.example', vintemSecret, secret.toString('hex'), merchant.key];
    expect(kept.filter((word) => text.includes(word))).toEqual([]);
  });

  test('is of no use without the secret: no name, address or key of a row can be found in the file', async () => {
    const content = await readFile(file);
    // Zstandard begins so: nothing of the content is there in the clear.
    expect(content.indexOf(Buffer.from('28b52ffd', 'hex'))).toBe(-1);
    const copy = await openBackupFile(file);
    const first = (key: Buffer) => copy.blocks(key).next();
    await expect(first(randomBytes(32))).rejects.toThrow();
    await copy.close();
  });

  test('is not made under a secret that the installation does not have', async () => {
    const { code, stderr } = await finish(['backup', join(folder, 'unreadable')], {
      ...commandEnv(program.dataDir),
      VINTEM_SECRET: randomBytes(32).toString('base64'),
    });
    expect([code, stderr]).toEqual([2, expect.stringContaining('the backup is encrypted under the secret')]);
    await expect(access(join(folder, 'unreadable'))).rejects.toThrow();
  });

  test('takes the place of nothing', async () => {
    const before = await readFile(file);
    const { code, stderr } = await finish(['backup', file], commandEnv(program.dataDir));
    expect([code, stderr]).toEqual([1, `vintem: ${file} exists already\n`]);
    expect(before.equals(await readFile(file))).toBe(true);
  });

  test('of a database that nothing was started on is refused', async () => {
    const empty = await emptyDatabase();
    const { code, stderr } = await finish(
      ['backup', join(folder, 'nothing')],
      commandEnv(empty.dataDir, empty.url),
    );
    expect([code, stderr]).toEqual([1, expect.stringContaining('there is nothing to back up')]);
    await expect(access(join(folder, 'nothing'))).rejects.toThrow();
    await expect(access(join(folder, 'nothing.part'))).rejects.toThrow();
  });
});

describe('a file that is not a whole backup', () => {
  /** The program refuses it, with these words, and nothing is written. */
  const refusedAs = async (content: Buffer, words: string): Promise<void> => {
    const other = join(folder, `other-${randomBytes(4).toString('hex')}`);
    await writeFile(other, content);
    const empty = await emptyDatabase();
    const { code, stdout, stderr } = await empty.restore(other);
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining(words) });
    expect(await isEmpty(empty)).toBe(true);
  };
  const read = async (content: Buffer): Promise<void> => {
    const other = join(folder, 'other');
    await writeFile(other, content);
    await (await openBackupFile(other)).close();
  };

  test('is refused and nothing is written: another file, an empty one, none', async () => {
    await refusedAs(Buffer.from('a letter\n'), 'is no backup of vintem');
    await expect(read(Buffer.alloc(0))).rejects.toThrow('is no backup of vintem');
    await expect(openBackupFile(join(folder, 'nowhere'))).rejects.toThrow('there is no such file');
    await expect(openBackupFile(folder)).rejects.toThrow('is no file');
  });

  test('is refused and nothing is written: cut short anywhere', async () => {
    const whole = await readFile(file);
    await read(whole);
    await refusedAs(whole.subarray(0, -1), 'is damaged or cut short');
    for (let length = 16; length < whole.length; length += 1 + (whole.length >> 6)) {
      await expect(read(whole.subarray(0, length))).rejects.toThrow('is damaged or cut short');
    }
  });

  test('is refused and nothing is written: one byte changed anywhere', async () => {
    const changed = Buffer.from(await readFile(file));
    const change = (at: number) => changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    change(changed.length >> 1);
    await refusedAs(changed, 'is damaged or cut short');
    change(changed.length >> 1);
    await read(changed);
    for (let at = 16; at < changed.length; at += 1 + (changed.length >> 6)) {
      change(at);
      await expect(read(changed)).rejects.toThrow('is damaged or cut short');
      change(at);
    }
  });

  test('is refused: of a format that is not known', async () => {
    const whole = await readFile(file);
    const later = Buffer.concat([Buffer.from('vintem backup 3\n'), whole.subarray(16)]);
    await expect(read(later)).rejects.toThrow('is a backup of format 3');
  });
});

describe('a restore', () => {
  /** Restored once, and then changed from test to test. */
  let full: Empty;
  beforeAll(async () => {
    full = await emptyDatabase();
  });

  test('of one backup twice gives the same payments, journals, operations, events and balances', async () => {
    const second = await emptyDatabase();
    for (const empty of [full, second]) {
      const { code, stdout, stderr } = await empty.restore(file);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(JSON.parse(stdout)).toMatchObject({
        createdAt: told.createdAt,
        sha256: told.sha256,
        rows: told.tables.reduce((sum: number, { rows }: { rows: number }) => sum + rows, 0),
        migrated: [],
        withdrawalsPaused: true,
        bindings: [{ connection: 'simulator', state: 'active', accounts: expect.any(Number), routed: 0 }],
      });
      expect(JSON.parse(stdout).bindings[0].accounts).toBeGreaterThan(0);
    }
    expect(await hashes(second)).toEqual(await hashes(full));
    const verified = await finish(['verify', '--full'], commandEnv(full.dataDir, full.url));
    expect(verified.code).toBe(0);
    // A restore must keep these as well.
    const [state] = await full.look(
      `SELECT withdrawals_paused_at = restored_at AS paused, (SELECT count(*)::int FROM vintem.audit WHERE action = 'restore') AS audited
        FROM vintem.installation`,
    );
    expect(state).toEqual({ paused: true, audited: 1 });
  });

  test('takes whatever was unfinished for a send that may have arrived', async () => {
    await full.look(`UPDATE vintem.intent SET state = 'ready', attempt = 0, lease_until = NULL`);
    await full.look(
      `WITH d AS (INSERT INTO vintem.dispute (account_id, id, payment_id, operation_id, connection, provider_id, end_to_end, amount_cents,
            status, opened_at, debited_cents, created_at, updated_at)
          SELECT account_id, id, id, operation_id, 'simulator', 'd', 'E', 1, 'open', now(), 0, now(), now() FROM vintem.payment LIMIT 1
          RETURNING account_id, id, operation_id),
        f AS (INSERT INTO vintem.dispute_defence (account_id, id, dispute_id, payment_id, operation_id, status, attempts, amount_cents,
              fingerprint, created_at, updated_at, command)
            SELECT account_id, gen_random_uuid(), id, id, operation_id, 'unknown', 0, 1, '', now(), now(), id FROM d RETURNING *)
        INSERT INTO vintem.intent (account_id, payment_id, operation_id, connection, kind, priority, state, fence, attempt, due_at, news_at,
            failures, absences, known, refused, created_at)
          SELECT account_id, id, operation_id, 'simulator', 'defence', 0, 'ready', command, 0, now(), now(), 0, 0, false, false, now() FROM f`,
    );
    const second = join(folder, 'with-ready');
    expect((await finish(['backup', second], commandEnv(full.dataDir, full.url))).code).toBe(0);
    const empty = await emptyDatabase();
    expect((await empty.restore(second)).code).toBe(0);
    const intents = await empty.look(
      'SELECT state, attempt, lease_until <= now() AS ended, priority FROM vintem.intent GROUP BY 1, 2, 3, 4',
    );
    expect(intents).toEqual([{ state: 'sending', attempt: 1, ended: true, priority: 0 }]);
    const [defence] = await empty.look(
      "SELECT count(*)::int AS one, bool_and(identity IS NOT NULL) AS named FROM vintem.intent WHERE kind = 'defence'",
    );
    expect(defence).toEqual({ one: 1, named: true });
  });

  test('into a database that is not empty is refused and changes nothing', async () => {
    const before = await hashes(full);
    const { code, stderr } = await full.restore(file);
    expect([code, stderr]).toEqual([1, expect.stringContaining('is not empty (it holds 1 account)')]);
    expect(await hashes(full)).toEqual(before);
  });

  test('beside any other session on the database is refused', async () => {
    const empty = await emptyDatabase();
    const other = new pg.Client({ connectionString: empty.url });
    await other.connect();
    const { code, stderr } = await empty.restore(file);
    await other.end();
    expect([code, stderr]).toEqual([1, expect.stringContaining('1 other connection uses this database')]);
    expect(await isEmpty(empty)).toBe(true);
  });

  test('without the secret of its installation is refused, and none is made', async () => {
    const empty = await emptyDatabase();
    const another = await empty.restore(file, { VINTEM_SECRET: randomBytes(32).toString('base64') });
    expect([another.code, another.stderr]).toEqual([
      2,
      'vintem: VINTEM_SECRET: the backup was made under another secret\n',
    ]);
    const { VINTEM_SECRET: _, ...env } = commandEnv(empty.dataDir, empty.url);
    const none = await finish(['restore', file], env);
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('VINTEM_SECRET: ')]);
    await expect(access(join(empty.dataDir, 'secret'))).rejects.toThrow();
    expect(await isEmpty(empty)).toBe(true);
  });

  test('works for a login that is no superuser', async () => {
    const empty = await emptyDatabase();
    const login = empty.url.split('/').at(-1) as string;
    await atServer(`CREATE ROLE ${login} LOGIN PASSWORD 'p'`);
    await atServer(`GRANT vintem_owner, vintem_app TO ${login}`);
    await empty.look('CREATE SCHEMA vintem AUTHORIZATION vintem_owner');
    const url = new URL(empty.url);
    url.username = login;
    url.password = 'p';
    const other = new pg.Client({ connectionString: empty.url });
    await other.connect();
    const beside = await empty.restore(file, { DATABASE_URL: url.href });
    await other.end();
    expect([beside.code, beside.stderr]).toEqual([1, expect.stringContaining('1 other connection uses')]);
    expect(await empty.restore(file, { DATABASE_URL: url.href })).toMatchObject({ code: 0, stderr: '' });
    const copy = join(folder, 'by-login');
    expect((await finish(['backup', copy], commandEnv(empty.dataDir, url.href))).code).toBe(0);
    logins.push(login);
  });

  test('names every key and person that is valid again, freezes people and ends all sessions', async () => {
    const empty = await emptyDatabase();
    const done = JSON.parse((await empty.restore(file)).stdout);
    const keys = await empty.look<{ id: string }>('SELECT id FROM api_key WHERE revoked_at IS NULL');
    expect(keys.length).toBeGreaterThan(0);
    expect(done.keys.map(({ id }: { id: string }) => id).sort()).toEqual(keys.map(({ id }) => id).sort());
    expect(done.people).toEqual([expect.objectContaining({ role: 'owner' })]);
    expect(
      await empty.look(
        `SELECT bool_and(frozen_until > now() + interval '23 hours') AS frozen,
          (SELECT count(*)::integer FROM panel_session) AS sessions FROM panel_user`,
      ),
    ).toEqual([{ frozen: true, sessions: 0 }]);
  });

  test('of an older copy takes it in its own form and migrates it on', async () => {
    const [older, empty, prepared] = [await emptyDatabase(), await emptyDatabase(), await emptyDatabase()];
    const log = createLog('silent');
    const all = await readMigrations();
    const last = all.at(-1)?.name ?? '';
    await migrate({ url: older.url, clock: systemClock, log, migrations: all.slice(0, -1) });
    await older.look(
      `INSERT INTO vintem.installation (id, identity_secret, created_at) VALUES (1, '\\x01', now())`,
    );
    const copy = join(folder, 'older');
    expect((await finish(['backup', copy], commandEnv(older.dataDir, older.url))).code).toBe(0);
    expect((await finish(['migrate'], commandEnv(prepared.dataDir, prepared.url))).code).toBe(0);
    const refused = await prepared.restore(copy);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`has the migration ${last}`)]);
    const { code, stdout } = await empty.restore(copy);
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ migrated: [last] })]);
    expect(await empty.look('SELECT identity_secret AS secret FROM vintem.installation')).toEqual([
      { secret: Buffer.of(1) },
    ]);

    await older.look(`INSERT INTO vintem.migration VALUES ('9999_later', now(), 'x')`);
    expect((await finish(['backup', `${copy}-later`], commandEnv(older.dataDir, older.url))).code).toBe(0);
    const newer = await prepared.restore(`${copy}-later`);
    expect([newer.code, newer.stderr]).toEqual([
      1,
      expect.stringContaining('by a newer vintem (9999_later)'),
    ]);
  });

  test('that is killed leaves an empty database, which the next one fills', async () => {
    await full.look(
      `INSERT INTO vintem.audit SELECT gen_random_uuid(), gen_random_uuid(), now(), 'x', 'x', repeat('x', 200), NULL, '{}'
        FROM generate_series(1, 60000)`,
    );
    const second = join(folder, 'large');
    expect((await finish(['backup', second], commandEnv(full.dataDir, full.url))).code).toBe(0);
    const empty = await emptyDatabase();
    const name = empty.url.split('/').at(-1);
    const server = new pg.Client({ connectionString: inject('templateUrl').replace(/[^/]*$/, 'postgres') });
    await server.connect();
    const found = async (text: string) => (await server.query(text, [name])).rowCount !== 0;
    const restoring = run(['restore', second], commandEnv(empty.dataDir, empty.url));
    const copied = 'SELECT FROM pg_stat_progress_copy WHERE datname = $1 AND tuples_processed > 1000';
    await until(() => found(copied));
    restoring.kill('SIGKILL');
    await restoring.exit;
    await until(async () => !(await found('SELECT FROM pg_stat_activity WHERE datname = $1')));
    await server.end();
    expect(await isEmpty(empty)).toBe(true);
    expect(await empty.restore(second)).toMatchObject({ code: 0, stderr: '' });
    expect(await hashes(empty)).toEqual(await hashes(full));
  });
});

test('an older copy is all that is left: withdrawals wait for the comparison, and nothing is paid twice', async () => {
  const restored = await programOn(programEnv());
  const vintem = (words: string[]) =>
    finish([...words, '--json'], {
      ...commandEnv(restored.dataDir),
      SIMULATOR_URL: restored.simulatorUrl,
    });
  try {
    const done = await vintem(['restore', file]);
    expect({ code: done.code, stderr: done.stderr }).toEqual({ code: 0, stderr: '' });
    await restored.start();
    expect(restored.output()).not.toContain('vintem test key');
    merchant = merchantAt(restored, merchant);

    const beside = await vintem(['restore', file]);
    expect([beside.code, beside.stderr]).toEqual([1, expect.stringContaining('is in use by `vintem start`')]);
    expect((await vintem(['verify', '--full'])).code).toBe(0);

    const last = transfers.at(-1);
    const paused = await merchant.transfer(last);
    expect([paused.status, paused.body.code]).toEqual([503, 'withdrawals_paused']);
    expect((await vintem(['withdrawals', 'resume'])).code).toBe(1);

    const compared = await vintem(['reconcile']);
    // Where it fails, what it said of it.
    expect(compared.code === 0 ? '' : compared.stderr).toBe('');
    const result = JSON.parse(compared.stdout);
    expect(result).toMatchObject({ different: 0, restoreEnded: true });
    // Payments of the lost time, which the copy does not know.
    expect(result.unexpected).toBeGreaterThan(10);
    expect(await statusOf(left.completed)).toBe('completed');
    expect(await statusOf(left.refused)).toBe('cancelled');

    // As the guide says, the clients repeat every request that they do not find, with the same keys.
    const again = [
      ...(await Promise.all(charges.map((request) => merchant.charge(request)))),
      ...(await Promise.all(transfers.map((request) => merchant.transfer(request)))),
    ];
    const ids: string[] = again.map(({ body }) => body.id ?? body.paymentId);
    expect(new Set(ids).size).toBe(charges.length + transfers.length);
    const notEnded = async () => {
      const all = await Promise.all(
        again.map(async ({ status }, at) => [status, await statusOf(ids[at] ?? '')]),
      );
      return all.filter(([, now]) => !['paid', 'completed', 'cancelled'].includes(`${now}`));
    };
    // Each query without an answer doubles the wait for the next one: on a busy machine the last payment ends after minutes.
    await expect.poll(notEnded, { timeout: 500_000 }).toEqual([]);

    expect(await merchant.balanceCents()).toBe(balanceCents);
    const { payouts } = (await simulator.control('GET', '/control/state')).body;
    expect(payouts.length).toBe(transfers.length);
    for (const { idEnvio, timesAccepted } of payouts) expect([idEnvio, timesAccepted]).toEqual([idEnvio, 1]);
    // Money that stood in suspense is theirs by now: money that came in, and money that went out.
    const { incidents } = JSON.parse((await vintem(['incident', 'list'])).stdout);
    const open = (cents: (amount: number) => boolean) =>
      incidents.find(
        (one: { kind: string; amountCents: number }) => one.kind === 'unmatched' && cents(one.amountCents),
      );
    for (const incident of [open((cents) => cents === 975), open((cents) => cents < 975)]) {
      const claim = ['incident', 'resolve', incident.id, '--action', 'credit', '--reason', 'asked for again'];
      expect(await vintem(claim)).toMatchObject({ code: 0, stderr: '' });
    }
    const verified = await vintem(['verify', '--full']);
    const broken = JSON.parse(verified.stdout).checks.filter((check: { ok: boolean }) => !check.ok);
    expect({ code: verified.code, broken }).toEqual({ code: 0, broken: [] });
    const repeated = JSON.parse((await vintem(['reconcile'])).stdout);
    expect(repeated).toMatchObject({ missing: 0, unexpected: 0, different: 0, restoreEnded: false });
  } finally {
    await restored.remove();
  }
});
