import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, type TestDatabase } from '@vintem/testkit/database.ts';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readConfig, SettingFault } from '../../src/ground/config.ts';
import { createLog } from '../../src/ground/log.ts';
import { createSecrets } from '../../src/ground/secrets.ts';
import { type Context, type Edge, migrateAlone, onDatabase } from '../../src/main/start.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';
import { dropRetiredLogins } from '../../src/store/database/service-login.ts';

/** The login that the service makes for itself where `DATABASE_URL` names one that can do more than it should. */

const ids = systemIds(systemClock);
const log = createLog('silent');
const newSecret = () => randomBytes(32).toString('base64');

let db: TestDatabase;
let folder: string;
let secret: string;
beforeEach(async () => {
  db = await createDatabase();
  folder = await mkdtemp(join(tmpdir(), 'vintem-login-'));
  secret = newSecret();
});
afterEach(async () => {
  await db.drop();
  await rm(folder, { recursive: true });
});

const edge = (settings: Record<string, string> = {}): Edge => ({
  config: readConfig({ DATABASE_URL: db.url, DATA_DIR: folder, VINTEM_SECRET: secret, ...settings }),
  clock: systemClock,
  ids,
  log,
  say: () => {},
});

/** The login of every command and every start. */
const prepared = <T>(work: (context: Context) => Promise<T>, settings: Record<string, string> = {}) =>
  onDatabase(edge(settings), 'test', work, {});

const loginOf = async ({ sql, databaseUrl }: Context) => {
  const [row] = await sql.run<{ login: string }>({
    name: 'test.login',
    text: 'SELECT session_user::text AS login',
  });
  expect(new URL(databaseUrl).username).toBe(row?.login);
  return row?.login as string;
};

/** The logins that were made for this database. */
const made = async () =>
  (
    await db.admin<{ name: string }>(
      `SELECT rolname::text AS name FROM pg_roles, pg_database
        WHERE datname = current_database() AND rolname LIKE 'vintem\\_' || pg_database.oid || '\\_%' ORDER BY 1`,
    )
  ).map(({ name }) => name);

/** An ordinary login, and its URL. */
async function createLogin(more: string): Promise<{ name: string; url: string }> {
  const name = `login_${randomBytes(6).toString('hex')}`;
  await db.admin(`CREATE ROLE ${name} LOGIN PASSWORD 'a' ${more}`);
  const url = new URL(db.url);
  url.username = name;
  url.password = 'a';
  return { name, url: url.href };
}

describe('a superuser in DATABASE_URL', () => {
  it('makes a login that is a member of vintem_app alone, once, and every connection is made with it', async () => {
    const first = await prepared(loginOf);
    expect(await prepared(loginOf)).toBe(first);
    expect(await made()).toEqual([first]);
    const [role] = await db.admin(
      `SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls AS more, rolpassword AS stored,
          ARRAY(SELECT o.rolname::text FROM pg_roles o WHERE o.oid <> a.oid AND pg_has_role(a.oid, o.oid, 'MEMBER')) AS roles
        FROM pg_authid a WHERE rolname = $1`,
      [first],
    );
    expect(role).toEqual({
      more: false,
      stored: expect.stringMatching(/^SCRAM-SHA-256\$4096:/),
      roles: ['vintem_app'],
    });
  });

  it('is no way to more: what succeeds as the superuser is refused to the login of the service', async () => {
    const { databaseUrl } = await prepared(async (context) => context);
    await db.admin('CREATE TABLE public.of_another (n int)');
    const { username: own } = new URL(databaseUrl);
    const attacks = [
      'CREATE TABLE vintem.another (n int)',
      'CREATE TABLE public.another (n int)',
      `CREATE FUNCTION vintem.another() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
      'CREATE SCHEMA another',
      'ALTER TABLE vintem.journal ADD COLUMN another int',
      'ALTER TABLE vintem.journal DISABLE TRIGGER ALL',
      'ALTER TABLE vintem.journal OWNER TO CURRENT_USER',
      'DROP TABLE vintem.journal CASCADE',
      'DROP SCHEMA vintem CASCADE',
      'UPDATE vintem.journal SET available = 1',
      'DELETE FROM vintem.journal',
      'TRUNCATE vintem.journal CASCADE',
      'DELETE FROM vintem.migration',
      'SET session_replication_role = replica',
      'SET ROLE vintem_owner',
      'SET SESSION AUTHORIZATION vintem',
      'CREATE ROLE another SUPERUSER LOGIN',
      `ALTER ROLE "${own}" SUPERUSER`,
      `ALTER ROLE vintem PASSWORD 'another'`,
      `GRANT vintem_owner TO "${own}"`,
      `GRANT pg_read_all_data TO "${own}"`,
      'SELECT rolpassword FROM pg_authid',
      'SELECT * FROM public.of_another',
      `SELECT pg_read_file('PG_VERSION')`,
      `SELECT pg_ls_dir('.')`,
      `COPY (SELECT 1) TO PROGRAM 'cat > /dev/null'`,
      `COPY public.of_another FROM PROGRAM 'echo 1'`,
    ];
    const refused = attacks.map((attack) => [attack, '42501']);
    for (const role of ['NONE', 'vintem_app']) {
      expect([role, await attacked(databaseUrl, role, attacks)]).toEqual([role, refused]);
    }
    // The control: an attack that fails for another reason than the login would show nothing.
    const succeeded = attacks.map((attack) => [attack, null]);
    expect(await attacked(db.url, 'NONE', attacks)).toEqual(succeeded);
  });

  it('makes one login for processes that start at once on an empty database', async () => {
    await db.drop();
    db = await createDatabase({ empty: true });
    const logins = await Promise.all([1, 2, 3, 4].map(() => prepared(loginOf)));
    expect(new Set(logins).size).toBe(1);
    expect(await made()).toEqual([logins[0]]);
  });

  it('makes it in `migrate` where a secret is set', async () => {
    await migrateAlone(edge());
    const [login] = await made();
    expect(login).toBeDefined();
    expect(await prepared(loginOf)).toBe(login);
  });

  it('leaves no login behind when the start is refused for its secret', async () => {
    const right = await prepared(loginOf);
    const wrong = { VINTEM_SECRET: newSecret() };
    await expect(prepared(loginOf, wrong)).rejects.toBeInstanceOf(SettingFault);
    await migrateAlone(edge(wrong));
    expect(await made()).toEqual([right]);
    // Looking at the secrets needs no login of its own, and makes none.
    await onDatabase(edge(wrong), 'test', async () => {}, { anySecret: true });
    expect(await made()).toEqual([right]);
  });

  it('finds the login again whose password or role was taken away, and refuses one that was given another', async () => {
    const login = await prepared(loginOf);
    await db.admin(`ALTER ROLE "${login}" NOLOGIN PASSWORD 'another'`);
    await db.admin(`REVOKE vintem_app FROM "${login}"`);
    expect(await prepared(loginOf)).toBe(login);
    await db.admin(`GRANT vintem_owner TO "${login}"`);
    await expect(prepared(loginOf)).rejects.toThrow('take other roles than vintem_app: revoke them');
  });

  it('lets its login into a database that is closed to the public', async () => {
    await db.admin(`REVOKE CONNECT ON DATABASE ${new URL(db.url).pathname.slice(1)} FROM PUBLIC`);
    const login = await prepared(loginOf);
    expect(await made()).toEqual([login]);
  });

  it('has a login for each secret while the secret changes, and the old one goes with its secret', async () => {
    await db.admin(`REVOKE CONNECT ON DATABASE ${new URL(db.url).pathname.slice(1)} FROM PUBLIC`);
    const before = await prepared(loginOf);
    const next = newSecret();
    // Prepared: the earlier processes read values that the new secret seals.
    expect(await prepared(loginOf, { VINTEM_SECRET_PREVIOUS: next })).toBe(before);
    const changed = { VINTEM_SECRET: next, VINTEM_SECRET_PREVIOUS: secret };
    const after = await prepared(loginOf, changed);
    expect(await prepared(loginOf, { VINTEM_SECRET_PREVIOUS: next })).toBe(before);
    expect(await made()).toEqual([before, after].sort());

    const urls = { url: db.url };
    const secrets = createSecrets(ids, Buffer.from(next, 'base64'));
    // One that is still connected stays.
    await prepared(() => dropRetiredLogins(urls, secrets, log), { VINTEM_SECRET_PREVIOUS: next });
    expect(await made()).toEqual([before, after].sort());
    await vanished(before);
    expect(await dropRetiredLogins(urls, secrets, log)).toBe(1);
    expect(await made()).toEqual([after]);
    expect(await prepared(loginOf, changed)).toBe(after);
  });
});

describe('a login that is no superuser', () => {
  it('serves as it is when it is a member of vintem_app alone', async () => {
    await migrateAlone(edge());
    const before = await made();
    const service = await createLogin('');
    await db.admin(`GRANT vintem_app TO ${service.name}`);
    expect(await prepared(loginOf, { DATABASE_URL: service.url })).toBe(service.name);
    expect(await made()).toEqual(before);
  });

  it('makes a login when it may make roles', async () => {
    const maker = await createLogin('CREATEROLE');
    await db.admin(`GRANT CREATE ON DATABASE ${new URL(db.url).pathname.slice(1)} TO ${maker.name}`);
    await db.admin(`GRANT vintem_owner, vintem_app TO ${maker.name} WITH ADMIN OPTION`);
    const login = await prepared(loginOf, { DATABASE_URL: maker.url });
    expect(await made()).toEqual([login]);
    await migrateAlone(edge({ DATABASE_URL: maker.url }));
  });

  it('is refused with the SQL to run when it owns the schema and may make no roles, after which the start works', async () => {
    const owner = await createLogin('');
    await db.admin(`GRANT vintem_owner, vintem_app TO ${owner.name}`);
    const fault = await prepared(loginOf, { DATABASE_URL: owner.url }).catch((error: Error) => error);
    expect(fault).toBeInstanceOf(SettingFault);
    expect(await made()).toEqual([]);
    const [said, ...statements] = (fault as Error).message.split('\n');
    expect(said).toContain(`DATABASE_URL: the login ${owner.name} can change what the service may not`);
    const login = `login_${randomBytes(6).toString('hex')}`;
    for (const statement of statements) await db.admin(statement.replaceAll('vintem_login', login));
    const service = new URL(db.url);
    service.username = login;
    service.password = '...';
    const apart = { DATABASE_URL: service.href, MIGRATION_DATABASE_URL: owner.url };
    expect(await prepared(loginOf, apart)).toBe(login);
  });

  it('that owns the schema takes the login that a migration by a superuser made', async () => {
    await migrateAlone(edge());
    const owner = await createLogin('');
    await db.admin(`GRANT vintem_owner, vintem_app TO ${owner.name}`);
    const login = await prepared(loginOf, { DATABASE_URL: owner.url });
    expect(await made()).toEqual([login]);
  });
});

/** A connection that was closed is gone from the server's list a moment later. */
async function vanished(login: string): Promise<void> {
  await expect
    .poll(() => db.admin('SELECT FROM pg_stat_activity WHERE usename = $1', [login]), { timeout: 60_000 })
    .toEqual([]);
}

/** @returns each attack with the SQLSTATE of its refusal; null: it succeeded. Everything is taken back. */
async function attacked(url: string, role: string, attacks: string[]): Promise<[string, string | null][]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const results: [string, string | null][] = [];
  for (const attack of attacks) {
    await client.query(`BEGIN; SET LOCAL ROLE ${role}`);
    const refused = await client.query(attack).then(
      () => null,
      (error: { code?: string }) => error.code ?? String(error),
    );
    results.push([attack, refused]);
    await client.query('ROLLBACK');
  }
  await client.end();
  return results;
}
