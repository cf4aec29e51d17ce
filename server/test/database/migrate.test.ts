import { createDatabase, type TestDatabase } from '@vintem/testkit/database.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SettingFault } from '../../src/ground/config.ts';
import { createLog } from '../../src/ground/log.ts';
import {
  createAccount,
  createFirstTestAccount,
  listAccounts,
} from '../../src/operate/connections/directory.ts';
import { findEarlierAudit } from '../../src/operate/verify/verify.sql.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';
import type { Sql } from '../../src/ports/sql.ts';
import {
  migrate,
  planMigrations,
  prepareInstallation,
  readMigrations,
} from '../../src/store/database/migrate.ts';
import {
  headerOf,
  indexStatementsOf,
  locksOf,
  statementsToRun,
} from '../../src/store/database/migration-file.ts';
import { openPool } from '../../src/store/database/pool.ts';
import { checkServiceRole } from '../../src/store/database/roles.ts';

const clock = systemClock;
const log = createLog('silent');
const ids = systemIds(clock);

let db: TestDatabase;
beforeEach(async () => {
  db = await createDatabase({ empty: true });
});
afterEach(() => db.drop());

const files = await readMigrations();
const names = files.map(({ name }) => name);

/** Changes of the kinds that later migrations make, each on tables of the baseline. */
const later = [
  'ALTER TABLE intent DROP CONSTRAINT intent_kind_check; ALTER TABLE intent ADD CONSTRAINT intent_kind_check CHECK (true);',
  'ALTER TABLE payment ADD COLUMN later jsonb CHECK (later IS NULL);',
  'ALTER TABLE payment ADD CONSTRAINT payment_later CHECK (amount_cents > 0) NOT VALID;',
  'ALTER TABLE payment VALIDATE CONSTRAINT payment_later;',
  '-- concurrent\nCREATE INDEX payment_notice ON payment (notice);\nDROP INDEX payment_of_kind;',
  'CREATE TABLE later (account_id uuid REFERENCES account); GRANT SELECT ON later TO vintem_app;',
  'UPDATE hold SET reason = reason; DELETE FROM panel_verification; ALTER TABLE connection ADD COLUMN later text;',
].map((text, n) => ({ name: `999${n}_later`, text }));

const lockModes = [
  ['RowExclusiveLock', 'ROW EXCLUSIVE'],
  ['ShareUpdateExclusiveLock', 'SHARE UPDATE EXCLUSIVE'],
  ['ShareLock', 'SHARE'],
  ['ShareRowExclusiveLock', 'SHARE ROW EXCLUSIVE'],
  ['AccessExclusiveLock', 'ACCESS EXCLUSIVE'],
] as const;
/** Of the names in `pg_locks`, as the manual names it. */
const strongest = (modes: readonly string[]): string | undefined =>
  lockModes.findLast(([held]) => modes.includes(held))?.[1];
const blocksWriters = (mode: string | undefined): boolean =>
  mode !== undefined && !['ROW EXCLUSIVE', 'SHARE UPDATE EXCLUSIVE'].includes(mode);

/** A login of its own, and the URL with it. */
async function createLogin(
  attributes: string,
): Promise<{ login: string; url: string; drop(): Promise<void> }> {
  const login = `login_${ids.bytes(4).toString('hex')}`;
  await db.admin(`CREATE ROLE ${login} LOGIN PASSWORD 'secret' ${attributes}`);
  const url = new URL(db.url);
  url.username = login;
  url.password = 'secret';
  return {
    login,
    url: url.toString(),
    drop: async () => {
      await db.admin(`DROP OWNED BY ${login}`);
      await db.admin(`DROP ROLE ${login}`);
    },
  };
}

describe('migrations', () => {
  it('are applied once, in the order of their names, and recorded', async () => {
    expect(await migrate({ url: db.url, clock, log })).toEqual({ applied: names });
    expect(await migrate({ url: db.url, clock, log })).toEqual({ applied: [] });
    const rows = await db.admin<{ name: string }>('SELECT name FROM vintem.migration ORDER BY name');
    expect(rows.map((row) => row.name)).toEqual(names);
  });

  it('tell of the indexes that they build where there are rows already, and of none in a database that they make', async () => {
    const built: string[] = [];
    const telling = {
      ...log,
      info: ({ index }: { index: string }) => built.push(index),
    } as unknown as typeof log;
    const options = { url: db.url, clock, log: telling };
    const indexed = (name: string) => ({
      name,
      text: `-- concurrent\nCREATE INDEX of_${name} ON payment (notice);`,
    });
    await migrate({ ...options, migrations: [...files, indexed('a9998')] });
    expect(built).toEqual([]);
    await migrate({ ...options, migrations: [...files, indexed('a9998'), indexed('a9999')] });
    expect(built).toEqual(['of_a9999']);
  });

  it('may be started by several processes at once', async () => {
    const results = await Promise.all(Array.from({ length: 5 }, () => migrate({ url: db.url, clock, log })));
    expect(results.flatMap(({ applied }) => applied).sort()).toEqual(names);
  });

  it('are refused when one was changed after it had been applied', async () => {
    await migrate({ url: db.url, clock, log });
    const changed = files.map((file) => ({ ...file, text: `${file.text}\n-- one more thought` }));
    await expect(migrate({ url: db.url, clock, log, migrations: changed })).rejects.toThrow(
      'was changed after',
    );
  });

  it('are refused by a program that is older than the database', async () => {
    const newer = { name: '9999_newer', text: 'SELECT 1' };
    await migrate({ url: db.url, clock, log, migrations: [...files, newer] });
    await expect(migrate({ url: db.url, clock, log })).rejects.toThrow('a newer vintem (9999_newer)');
  });

  it('are accepted by an older program that every newer one says it works with', async () => {
    const newer = [
      { name: '9998_newer', text: '-- compatibleFrom: 1.2.0\nSELECT 1' },
      { name: '9999_newer', text: '-- compatibleFrom: 1.3.0\nSELECT 1' },
    ];
    await migrate({ url: db.url, clock, log, migrations: [...files, ...newer] });
    const as = (version: string) => migrate({ url: db.url, clock, log, version });
    expect(await as('1.3.0')).toEqual({ applied: [] });
    expect(await as('1.10.0')).toEqual({ applied: [] });
    await expect(as('1.2.9')).rejects.toThrow(
      'a newer vintem (9999_newer), and this is 1.2.9: use 1.3.0 or later',
    );
  });

  it('wait for the end of older processes that cannot work with them: those would post by the old rules', async () => {
    await migrate({ url: db.url, clock, log });
    const older = openPool({ url: db.url, log, name: 'vintem' });
    await older.run({ name: 'test.works', text: 'SELECT 1' });
    const compatible = { name: '9998_newer', text: '-- compatibleFrom: 0.1.0\nSELECT 1' };
    const incompatible = { name: '9999_newer', text: 'SELECT 1' };
    const migrations = [...files, compatible, incompatible];
    const hurried = { ...clock, sleep: async () => {} };
    await expect(migrate({ url: db.url, clock: hurried, log, migrations })).rejects.toThrow(
      'migration 9999_newer: a process of an older vintem works on this database (connections: 1)',
    );
    const applied = await db.admin(`SELECT name FROM vintem.migration WHERE name > '9'`);
    expect(applied).toEqual([{ name: '9998_newer' }]);
    await older.close();
    expect(await migrate({ url: db.url, clock, log, migrations })).toEqual({ applied: ['9999_newer'] });
  });

  it('are planned with their locks, and a plan changes nothing', async () => {
    await migrate({ url: db.url, clock, log });
    const more = [
      {
        name: '9998_index',
        text: '-- compatibleFrom: 1.2.0\n-- concurrent\nCREATE INDEX a ON payment (notice);\nDROP INDEX payment_list;',
      },
      {
        name: '9999_column',
        text: 'ALTER TABLE hold ADD COLUMN b int; UPDATE hold SET b = 1; CREATE TABLE c (id uuid REFERENCES account);',
      },
    ];
    const options = { url: db.url, clock, log, migrations: [...files, ...more] };
    const plan = [
      {
        name: '9998_index',
        locks: ['payment: SHARE UPDATE EXCLUSIVE'],
        readsRowsOf: [],
        concurrent: true,
        compatibleFrom: '1.2.0',
      },
      {
        name: '9999_column',
        locks: ['hold: ACCESS EXCLUSIVE', 'account: SHARE ROW EXCLUSIVE'],
        readsRowsOf: ['hold'],
        concurrent: false,
        compatibleFrom: null,
      },
    ];
    expect(await planMigrations(options)).toEqual(plan);
    expect(await planMigrations(options)).toEqual(plan);
    expect(await planMigrations({ url: db.url, clock, log })).toEqual([]);
  });

  it('are all pending in the plan of an empty database', async () => {
    const plan = await planMigrations({ url: db.url, clock, log });
    expect(plan.map(({ name }) => name)).toEqual(names);
    expect(await db.admin(`SELECT FROM pg_namespace WHERE nspname = 'vintem'`)).toEqual([]);
  });

  it('take the locks that the plan names, and read the rows of the tables that it names', async () => {
    await migrate({ url: db.url, clock, log, migrations: [] });
    for (const file of [...files, ...later]) {
      await db.admin('BEGIN');
      await db.admin('SET LOCAL ROLE vintem_owner');
      await db.admin('SET LOCAL search_path = vintem');
      // Tables are empty here: what looks up single rows would read them whole.
      await db.admin('SET LOCAL enable_seqscan = off');
      const before = await db.admin<{ oid: string; scans: string }>(
        `SELECT oid, pg_stat_get_xact_numscans(oid) AS scans FROM pg_class WHERE relnamespace = 'vintem'::regnamespace ORDER BY oid`,
      );
      const indexes = await db.admin<{ index: string; table: string }>(
        `SELECT indexname AS index, tablename AS table FROM pg_indexes WHERE schemaname = 'vintem'`,
      );
      await db.admin(file.text);
      const taken = await db.admin<{ table: string; modes: string[]; scanned: boolean }>(
        `SELECT relation::regclass::text AS table, array_agg(mode) AS modes, pg_stat_get_xact_numscans(relation) > min(scans) AS scanned
          FROM pg_locks JOIN pg_class c ON c.oid = relation JOIN unnest($1::oid[], $2::bigint[]) AS before (oid, scans) ON before.oid = relation
          WHERE pid = pg_backend_pid() AND c.relkind = 'r' AND c.relnamespace = 'vintem'::regnamespace
            AND mode NOT IN ('AccessShareLock', 'RowShareLock')
          GROUP BY relation ORDER BY 1`,
        [before.map(({ oid }) => oid), before.map(({ scans }) => scans)],
      );
      const tables = await db.admin<{ table: string }>(
        `SELECT relname AS table FROM pg_class WHERE relnamespace = 'vintem'::regnamespace AND relkind = 'r'`,
      );
      // The lock on a table that was dropped has no name to compare any more.
      const isThere = new Set(tables.map(({ table }) => table));
      // A file that is concurrent runs here as it stands, inside a transaction.
      const asRun = { ...file, text: file.text.replace('-- concurrent\n', '') };
      const planned = locksOf(asRun, (name) => indexes.find(({ index }) => index === name)?.table ?? null)
        .filter(({ table }) => isThere.has(table))
        .toSorted((a, b) => (a.table < b.table ? -1 : 1));
      expect([file.name, planned.map(({ table, mode }) => `${table}: ${mode}`)]).toEqual([
        file.name,
        taken.map(({ table, modes }) => `${table}: ${strongest(modes)}`),
      ]);
      const waitedFor = taken
        .filter(({ scanned, modes }) => scanned && blocksWriters(strongest(modes)))
        .map(({ table }) => table);
      const named = planned.filter(({ readsRows }) => readsRows).map(({ table }) => table);
      expect([file.name, waitedFor]).toEqual([file.name, named]);
      await db.admin('COMMIT');
    }
  });

  it('that add to a table of payments after the baseline do not make it wait for a look at every row', () => {
    const large = new Set(['payment', 'intent', 'journal', 'event', 'event_log', 'request_log', 'refund']);
    const slow = files
      .filter(({ name }) => name > '0001_schema')
      .flatMap((file) => locksOf(file, () => null).map((lock) => ({ file: file.name, ...lock })))
      .filter(({ table, readsRows }) => readsRows && large.has(table));
    // Add a check as NOT VALID and validate it in a later migration; build an index in a file that is `concurrent`.
    expect(slow).toEqual([]);
  });

  it('give no new column a constraint in the same statement, which Citus refuses where cells stand on workers', () => {
    const refused = files
      .filter(({ name }) => name > '0112')
      .flatMap((file) => statementsToRun(file).map((statement) => `${file.name}: ${statement}`))
      .filter((statement) =>
        / ADD COLUMN [^,]*\b(?:CHECK|REFERENCES|UNIQUE|PRIMARY KEY|CONSTRAINT)\b/.test(statement),
      );
    // Add the column, and then a constraint with a name: proof/citus/migrations.test.ts tries it.
    expect(refused).toEqual([]);
  });

  it('begin the chain of each account with the audit rows from before it, those of merchants too', async () => {
    const before = files.filter(({ name }) => name < '0071');
    await migrate({ url: db.url, clock, log, migrations: before });
    const [one, other] = [ids.uuid(), ids.uuid()];
    await db.admin(
      `INSERT INTO vintem.audit SELECT $1, gen_random_uuid(), now(), 'ana', 'account.set', 'x', 'why', '{"a": [1, "é"]}' FROM generate_series(1, 3)`,
      [one],
    );
    await db.admin(
      `INSERT INTO vintem.panel_audit VALUES ($1, gen_random_uuid(), $2, 'key.created', '{"keyId": "k"}', '10.0.0.1', now())`,
      [other, one],
    );
    await migrate({ url: db.url, clock, log });
    const moved = await db.admin(
      'SELECT actor, action, subject, detail FROM vintem.audit WHERE account_id = $1',
      [other],
    );
    expect(moved).toEqual([
      {
        actor: `panel:${one}`,
        action: 'key.created',
        subject: other,
        detail: { keyId: 'k', ipAddress: '10.0.0.1' },
      },
    ]);
    const chains = await db.admin<{ account_id: string; start: Buffer; seq: string; head: Buffer }>(
      'SELECT account_id, start, seq, head FROM vintem.audit_chain',
    );
    expect(chains.map(({ account_id, seq }) => [account_id, seq]).sort()).toEqual(
      [one, other].sort().map((id) => [id, '0']),
    );
    for (const { account_id, start, head } of chains) {
      expect(await findEarlierAudit(db.sql, account_id)).toEqual(start);
      expect(head).toEqual(start);
    }
  });

  it('build indexes while others write, and begin an index anew that was not finished', async () => {
    await migrate({ url: db.url, clock, log });
    await db.admin(`INSERT INTO vintem.rate_bucket VALUES ('a', 1), ('b', 1)`);
    const index = {
      name: '9999_index',
      text: '-- concurrent\nCREATE INDEX ready ON rate_bucket (spent_until);\nCREATE UNIQUE INDEX once ON rate_bucket (spent_until);',
    };
    const run = () => migrate({ url: db.url, clock, log, migrations: [...files, index] });
    // Two rows are the same: PostgreSQL leaves an invalid index behind.
    await expect(run()).rejects.toThrow('migration 9999_index: could not create unique index');
    const indexes = () =>
      db.admin(`SELECT c.relname AS name, indisvalid AS valid FROM pg_index JOIN pg_class c ON c.oid = indexrelid
        WHERE c.relname IN ('ready', 'once') ORDER BY 1`);
    expect(await indexes()).toEqual([
      { name: 'once', valid: false },
      { name: 'ready', valid: true },
    ]);
    await db.admin(`DELETE FROM vintem.rate_bucket WHERE id = 'b'`);
    // An open write transaction of the service on the table is waited for and not blocked.
    const writing = await db.sql.begin();
    await writing.run({ name: 'test.write', text: `UPDATE rate_bucket SET spent_until = 2` });
    const running = Promise.all([run(), run()]);
    await writing.run({ name: 'test.write', text: `UPDATE rate_bucket SET spent_until = 2` });
    await writing.commit();
    expect((await running).flatMap(({ applied }) => applied)).toEqual(['9999_index']);
    expect(await indexes()).toEqual([
      { name: 'once', valid: true },
      { name: 'ready', valid: true },
    ]);
  });

  it('that are concurrent hold nothing but indexes', () => {
    const mixed = {
      name: '9999_mixed',
      text: '-- concurrent\nCREATE INDEX a ON hold (id);\nUPDATE hold SET reason = 1',
    };
    expect(() => indexStatementsOf(mixed)).toThrow(
      '9999_mixed.sql is concurrent and may only create and drop indexes',
    );
    for (const file of files) if (headerOf(file).concurrent) expect(indexStatementsOf(file)).not.toEqual([]);
  });

  it('that fail change nothing, and those before them stay', async () => {
    const broken = { name: '9999_broken', text: 'CREATE TABLE half (); SELECT 1 / 0' };
    await expect(migrate({ url: db.url, clock, log, migrations: [...files, broken] })).rejects.toThrow(
      'migration 9999_broken: division by zero',
    );
    expect(await db.admin(`SELECT to_regclass('vintem.half') AS half`)).toEqual([{ half: null }]);
    expect(await migrate({ url: db.url, clock, log })).toEqual({ applied: [] });
  });
});

describe('roles', () => {
  it('let the service write a journal and never change, remove or empty one', async () => {
    await migrate({ url: db.url, clock, log });
    await checkServiceRole(db.sql, { log, own: null });
    for (const text of [
      'UPDATE vintem.journal SET available = 1',
      'DELETE FROM vintem.journal',
      'TRUNCATE vintem.journal',
      'DROP TABLE vintem.journal',
      'ALTER TABLE vintem.journal ADD more int',
    ]) {
      const refused = db.sql.tx((tx) => tx.run({ name: `test.${text}`.slice(0, 60), text }));
      await expect(refused).rejects.toMatchObject({ code: '42501' });
    }
  });

  it('end the start when the service could change a journal', async () => {
    await migrate({ url: db.url, clock, log });
    await db.admin('GRANT UPDATE (available) ON vintem.journal TO vintem_app');
    await expect(checkServiceRole(db.sql, { log, own: null })).rejects.toBeInstanceOf(SettingFault);
    const owner = openPool({ url: db.url, log, name: 'vintem test', role: 'vintem_owner' });
    await expect(checkServiceRole(owner, { log, own: null })).rejects.toBeInstanceOf(SettingFault);
    await owner.close();
  });

  it('end the start when a pooler between has dropped the limits of the session', async () => {
    await migrate({ url: db.url, clock, log });
    const within: Sql = {
      ...db.sql,
      run: (statement, values) =>
        db.sql.tx(async (tx) => {
          await tx.run({ name: 'test.dropped', text: 'SET LOCAL lock_timeout = 0' });
          return tx.run(statement, values);
        }),
    };
    const refused = checkServiceRole(within, { log, own: null });
    await expect(refused).rejects.toBeInstanceOf(SettingFault);
    await expect(refused).rejects.toThrow(
      'DATABASE_URL: the connection has other settings than vintem asks for (lock_timeout): a pooler',
    );
  });

  it('are enough for a login that may create roles and use the database', async () => {
    // The roles are the server's and exist from other databases: their admin must hand them over.
    const user = await createLogin('CREATEROLE');
    await db.admin(`GRANT CREATE ON DATABASE ${new URL(db.url).pathname.slice(1)} TO ${user.login}`);
    const [server] = await db.admin<{ version: number }>(
      `SELECT current_setting('server_version_num')::int AS version`,
    );
    // Before PostgreSQL 16 there is only one form, and it hands over everything.
    const admin = (server?.version ?? 0) >= 160_000 ? 'ADMIN TRUE, SET FALSE, INHERIT FALSE' : 'ADMIN OPTION';
    await db.admin(`GRANT vintem_owner, vintem_app TO ${user.login} WITH ${admin}`);
    expect(await migrate({ url: user.url, clock, log })).toEqual({ applied: names });
    const pool = openPool({ url: user.url, log, name: 'vintem test' });
    await checkServiceRole(pool, { log, own: null });
    await pool.close();
    await user.drop();
  });

  it('of a login without rights end the start with the SQL to run, after which it starts', async () => {
    const user = await createLogin('');
    const fault = await migrate({ url: user.url, clock, log }).catch((error: unknown) => error as Error);
    expect(fault).toBeInstanceOf(SettingFault);
    expect((fault as Error).message).toContain('DATABASE_URL');
    const [, ...statements] = (fault as Error).message.split('\n');
    for (const statement of statements) {
      if (!statement.includes('CREATE ROLE')) await db.admin(statement);
    }
    expect(await migrate({ url: user.url, clock, log })).toEqual({ applied: names });
    await user.drop();
  });

  it('can be apart: one login migrates, the other one serves', async () => {
    const service = await createLogin('');
    const both = { url: service.url, migrationUrl: db.url, clock, log };
    expect(await migrate(both)).toEqual({ applied: names });
    const pool = openPool({ url: service.url, log, name: 'vintem test' });
    await checkServiceRole(pool, { log, own: null });
    await pool.close();
    // Without the owner it still starts while there is nothing to migrate.
    expect(await migrate({ url: service.url, clock, log })).toEqual({ applied: [] });
    const newer = { name: '9999_newer', text: 'SELECT 1' };
    await expect(migrate({ url: service.url, clock, log, migrations: [...files, newer] })).rejects.toThrow(
      'MIGRATION_DATABASE_URL',
    );
    await service.drop();
  });
});

describe('the installation', () => {
  it('has its rows once, however many processes begin', async () => {
    await migrate({ url: db.url, clock, log });
    const begin = (live: boolean) => prepareInstallation({ sql: db.sql, clock, ids }, { live });
    await Promise.all([begin(false), begin(false), begin(false)]);
    const before = await db.admin('SELECT identity_secret FROM vintem.installation');
    expect((before[0] as { identity_secret: Buffer }).identity_secret).toHaveLength(32);
    await begin(true);
    expect(await db.admin('SELECT identity_secret FROM vintem.installation')).toEqual(before);
    expect(
      await db.admin('SELECT id, length(webhook_token) AS length FROM vintem.connection ORDER BY id'),
    ).toEqual([
      { id: 'live', length: 32 },
      { id: 'simulator', length: 32 },
    ]);
    expect(
      await db.admin(
        'SELECT number, operation_id = account_id AS own, seq, head FROM vintem.account JOIN vintem.balance ON account_id = id',
      ),
    ).toEqual([{ number: '0', own: true, seq: '0', head: Buffer.alloc(32) }]);
  });

  it('gets one test account from a first start, also from two at once', async () => {
    await migrate({ url: db.url, clock, log });
    await prepareInstallation({ sql: db.sql, clock, ids }, { live: false });
    const made = await Promise.all([1, 2, 3].map(() => createFirstTestAccount({ sql: db.sql, clock, ids })));
    expect(made.filter((account) => account !== null)).toHaveLength(1);
    expect(await listAccounts(db.sql)).toMatchObject([{ name: 'Loja de teste', test: true, enabled: true }]);
  });
});

describe('an account', () => {
  it('has a number of its own, drawn again while it is taken or zero', async () => {
    await migrate({ url: db.url, clock, log });
    await prepareInstallation({ sql: db.sql, clock, ids }, { live: false });
    const draws = [0, 7, 7, 0xffffffff];
    const drawn = {
      ...ids,
      bytes: (length: number) => {
        if (length !== 4) return ids.bytes(length);
        const number = Buffer.alloc(4);
        number.writeUInt32BE(draws.shift() as number);
        return number;
      },
    };
    const needs = { sql: db.sql, clock, ids: drawn };
    const first = await createAccount(needs, { name: 'One', test: true, connection: 'simulator' });
    const second = await createAccount(needs, { name: 'Two', test: true, connection: 'simulator' });
    const rows = await db.admin(
      `SELECT a.id, a.number, o.name, o.slot, o.main, (SELECT count(*) FROM balance b WHERE b.account_id = a.id) AS chains
         FROM account a JOIN operation o ON o.account_id = a.id ORDER BY number`,
    );
    expect(rows).toEqual([
      { id: first.ownerId, number: '7', name: 'Principal', slot: 1, main: true, chains: '2' },
      { id: second.ownerId, number: '4294967295', name: 'Principal', slot: 1, main: true, chains: '2' },
    ]);
  });
});
