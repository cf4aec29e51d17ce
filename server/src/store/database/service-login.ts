import { createHash, createHmac, pbkdf2Sync } from 'node:crypto';
import pg from 'pg';
import { SettingFault } from '../../ground/config.ts';
import type { Log } from '../../ground/log.ts';
import type { Secrets } from '../../ground/secrets.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import { connectAlone } from './client.ts';
import { APP, OWNER, RACES } from './roles.ts';

/**
 * A login of its own for the service, where `DATABASE_URL` names one that can do more than the service may: a superuser, one that makes
 * roles, the owner of the schema. Under `SET ROLE` such a login is one injected `RESET ROLE` away from every journal, so it makes another
 * one, which is a member of `vintem_app` and of nothing else, and every connection of the service is made with that.
 *
 * Name and password follow from the installation's secret and the database, so every process finds the same login without a place to
 * keep it in. During a change of the secret there are two logins; `secret rotate` removes the one of the secret that ended.
 */
export type ServiceLogin =
  /** The login that was given can do no more than it should. */
  | { kind: 'given' }
  | { kind: 'own'; name: string; url: string }
  /** The login that was given can do more, and the service has none of its own yet. */
  | { kind: 'missing' };

export interface DatabaseUrls {
  url: string;
  migrationUrl?: string | undefined;
}

interface Facts {
  login: string;
  /** More than the service may. */
  exceeds: boolean;
  makesRoles: boolean;
  database: string;
}

/** Rights over the whole server that lead from SQL to its files and programs, and so to every table. */
const SERVER_ROLES = ['pg_execute_server_program', 'pg_write_server_files', 'pg_write_all_data'];

/** The rights of `client`'s login beyond `vintem_app`. Also where nothing was migrated yet. */
async function factsOf(client: pg.Client): Promise<Facts> {
  const { rows } = await client.query<Facts>(
    `SELECT session_user::text AS login,
        rolsuper OR rolcreaterole OR rolreplication OR rolbypassrls OR EXISTS (
          SELECT FROM pg_roles o
           WHERE o.rolname <> $1 AND pg_has_role(session_user, o.oid, 'MEMBER')
             AND (o.rolsuper OR o.rolname = $2 OR o.rolname = ANY ($3)
               OR o.oid = (SELECT nspowner FROM pg_namespace WHERE nspname = 'vintem')
               OR has_table_privilege(o.oid, journal.oid, 'UPDATE, DELETE, TRUNCATE'))) AS exceeds,
        rolsuper OR rolcreaterole AS "makesRoles",
        (SELECT oid::text FROM pg_database WHERE datname = current_database()) AS database
      FROM pg_roles
      LEFT JOIN (SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                  WHERE n.nspname = 'vintem' AND c.relname = 'journal') AS journal ON true
      WHERE rolname = session_user`,
    [APP, OWNER, SERVER_ROLES],
  );
  return rows[0] as Facts;
}

/** Changes nothing. @param secrets null where none is set: no login can be derived then */
export async function findServiceLogin(
  { url }: DatabaseUrls,
  secrets: Secrets | null,
): Promise<ServiceLogin> {
  const given = await connect(url);
  try {
    const facts = await factsOf(given);
    if (!facts.exceeds) return { kind: 'given' };
    if (secrets === null) return { kind: 'missing' };
    const own = ownLogin(url, secrets, facts.database);
    const { rowCount } = await given.query('SELECT FROM pg_roles WHERE rolname = $1', [own.name]);
    if (rowCount === 0 || (await refusalOf(own.url)) !== null) return { kind: 'missing' };
    return { kind: 'own', name: own.name, url: own.url };
  } finally {
    await given.end();
  }
}

interface Needs {
  clock: Clock;
  ids: Ids;
  secrets: Secrets;
}

/**
 * Makes the login or puts it right again. Processes may do so at once. Only after the secret is known to be the installation's: another
 * one would leave an unused login behind.
 * @throws SettingFault when neither login may make it (with the SQL to run), or when the server does not let it in
 */
export async function makeServiceLogin(
  needs: Needs,
  urls: DatabaseUrls,
): Promise<{ name: string; url: string }> {
  const maker = await connectAsMaker(urls);
  try {
    const own = ownLogin(urls.url, needs.secrets, maker.database);
    await writeLogin(maker.client, needs, own);
    const refusal = await refusalOf(own.url);
    if (refusal !== null) throw notLetIn(own.name, refusal);
    return { name: own.name, url: own.url };
  } finally {
    await maker.client.end();
  }
}

/** Before anything is begun that would need it. @throws SettingFault when `makeServiceLogin` could not make one with these */
export async function checkMaker(urls: DatabaseUrls): Promise<void> {
  const { client } = await connectAsMaker(urls);
  await client.end();
}

export const mayMakeLogin = (urls: DatabaseUrls): Promise<boolean> =>
  checkMaker(urls).then(
    () => true,
    (error) => {
      if (error instanceof SettingFault) return false;
      throw error;
    },
  );

/** A connection that may make roles. @throws SettingFault with the SQL to run when neither login may */
async function connectAsMaker({ url, migrationUrl }: DatabaseUrls): Promise<Facts & { client: pg.Client }> {
  let login = '';
  for (const each of migrationUrl ? [migrationUrl, url] : [url]) {
    const client = await connect(each);
    const facts = await factsOf(client);
    if (facts.makesRoles) return { client, ...facts };
    await client.end();
    login = facts.login;
  }
  throw needsLogin(`the login ${login} can change what the service may not, and can make no login for it`);
}

/**
 * After a change of the secret: the logins of secrets that are no longer needed, as far as no connection uses them.
 * @returns how many were removed
 */
export async function dropRetiredLogins(urls: DatabaseUrls, secrets: Secrets, log: Log): Promise<number> {
  let dropped = 0;
  const client = await connect(urls.migrationUrl ?? urls.url);
  try {
    const { makesRoles, database } = await factsOf(client);
    if (!makesRoles) return 0;
    const { rows } = await client.query<{ name: string; database: string }>(
      `SELECT rolname::text AS name, current_database()::text AS database FROM pg_roles
        WHERE rolname ~ ('^' || $1 || '[0-9a-f]{8}$') AND rolname <> $2
          AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE usename = rolname)`,
      [prefixOf(database), ownLogin(urls.url, secrets, database).name],
    );
    for (const each of rows) {
      const [name, place] = [each.name, each.database].map((one) => client.escapeIdentifier(one));
      try {
        await client.query(`BEGIN; REVOKE ALL ON DATABASE ${place} FROM ${name}; DROP ROLE ${name}; COMMIT`);
        dropped++;
      } catch (err) {
        await client.query('ROLLBACK');
        log.warn({ err, login: each.name }, 'a login of an earlier secret could not be removed');
      }
    }
    return dropped;
  } finally {
    await client.end();
  }
}

interface OwnLogin {
  name: string;
  password: string;
  url: string;
}

/** Roles are the server's: the name holds the database that it is for. */
const prefixOf = (database: string): string => `vintem_${database}_`;

function ownLogin(given: string, secrets: Secrets, database: string): OwnLogin {
  const of = (what: string) => secrets.derive(`database login ${what} ${database}`);
  const name = `${prefixOf(database)}${of('name').toString('hex').slice(0, 8)}`;
  const password = of('password').toString('base64url');
  return { name, password, url: withLogin(given, name, password) };
}

/** An address without a host (a socket) has no place for a login, and parameters win over what stands before the host. */
function withLogin(given: string, name: string, password: string): string {
  const url = new URL(given);
  for (const parameter of ['user', 'password']) url.searchParams.delete(parameter);
  if (url.host === '') {
    url.searchParams.set('user', name);
    url.searchParams.set('password', password);
  } else {
    url.username = name;
    url.password = password;
  }
  return url.href;
}

/** Whole or not at all; the lock keeps processes that start at once from making the same login. */
async function writeLogin(client: pg.Client, { clock, ids }: Needs, own: OwnLogin): Promise<void> {
  const name = client.escapeIdentifier(own.name);
  const verifier = client.escapeLiteral(scramVerifier(own.password, ids.bytes(16)));
  for (let attempt = 1; ; attempt++) {
    try {
      await client.query('BEGIN');
      await client.query('SELECT pg_advisory_xact_lock($1)', [LOGIN_LOCK]);
      const { rowCount } = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [own.name]);
      await client.query(
        rowCount === 0
          ? `CREATE ROLE ${name} LOGIN PASSWORD ${verifier}`
          : `ALTER ROLE ${name} LOGIN PASSWORD ${verifier}`,
      );
      await grant(client, own.name, name);
      await client.query('COMMIT');
      return;
    } catch (error) {
      await client.query('ROLLBACK');
      const { code, message } = error as pg.DatabaseError;
      if (attempt < 10 && RACES.has(code ?? '')) await clock.sleep(20 * attempt);
      else if (!(error instanceof pg.DatabaseError)) throw error;
      else throw needsLogin(`the server does not let vintem make a login for the service (${message})`);
    }
  }
}

/** Among the advisory locks of its database (`store/database/migrate.ts` has another). */
const LOGIN_LOCK = 0x76696e75;

/** The service's role, and the way into the database where its owner has closed it to the public. */
async function grant(client: pg.Client, login: string, name: string): Promise<void> {
  const { rows } = await client.query<{ version: number; connects: boolean; database: string }>(
    `SELECT current_setting('server_version_num')::int AS version,
        has_database_privilege($1, current_database(), 'CONNECT') AS connects, current_database()::text AS database`,
    [login],
  );
  const { version, connects, database } = rows[0] as (typeof rows)[number];
  await client.query(`GRANT ${APP} TO ${name}${version >= 160_000 ? ' WITH SET TRUE, INHERIT FALSE' : ''}`);
  if (!connects)
    await client.query(`GRANT CONNECT ON DATABASE ${client.escapeIdentifier(database)} TO ${name}`);
}

/**
 * The form in which PostgreSQL keeps a password (RFC 5803), so that the password itself reaches neither the server nor its log. The passwords of
 * these logins are 256 random bits: more rounds would make each connection slower and no guess harder.
 */
export function scramVerifier(password: string, salt: Buffer): string {
  const salted = pbkdf2Sync(password, salt, SCRAM_ROUNDS, 32, 'sha256');
  const keyed = (what: string) => createHmac('sha256', salted).update(what).digest();
  const stored = createHash('sha256').update(keyed('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${SCRAM_ROUNDS}:${salt.toString('base64')}$${stored}:${keyed('Server Key').toString('base64')}`;
}

const SCRAM_ROUNDS = 4_096;

/** Why the server does not let a login in as `vintem_app`; null: it does. @throws Error when it does not answer */
async function refusalOf(url: string): Promise<string | null> {
  try {
    const client = await connect(url, { role: APP });
    await client.end();
    return null;
  } catch (error) {
    const { cause } = error as Error;
    if (cause instanceof pg.DatabaseError && /^(28|42501|22023)/.test(cause.code ?? '')) return cause.message;
    throw error;
  }
}

const notLetIn = (name: string, refusal: string): SettingFault =>
  new SettingFault(
    `DATABASE_URL: the service has a login of its own, ${name}, which the server does not let in (${refusal}): let it in with a password (scram-sha-256) in pg_hba.conf`,
  );

const needsLogin = (why: string): SettingFault =>
  new SettingFault(
    `DATABASE_URL: ${why}. Set MIGRATION_DATABASE_URL to what DATABASE_URL is now, and DATABASE_URL to a login that is made so, with a password of your own:
  CREATE ROLE vintem_login LOGIN PASSWORD '...';
  GRANT ${APP} TO vintem_login;`,
  );

const connect = (url: string, settings: Record<string, string> = {}): Promise<pg.Client> =>
  connectAlone(url, 'vintem login', settings);
