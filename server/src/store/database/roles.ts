import type pg from 'pg';
import { SettingFault } from '../../ground/config.ts';
import type { Log } from '../../ground/log.ts';
import type { Sql } from '../../ports/sql.ts';
import { sessionSettings } from './pool.ts';

/**
 * Who may do what in the database. `vintem_owner` owns the schema and migrates it; `vintem_app` is what the service works
 * as, and may not change a journal once it is written. Neither can log in: a login is a member of one or both.
 */
export const OWNER = 'vintem_owner';
export const APP = 'vintem_app';
/** PostgreSQL's own role for what its statistics say. */
const STATISTICS = 'pg_read_all_stats';

interface Rights {
  login: string;
  superuser: boolean;
  /** Creates roles, and schemas in this database. */
  creates: boolean;
  version: number;
  schemaOwner: string | null;
}

/**
 * Makes the roles, the memberships and the schema as far as they are missing. Two processes may do so at once: what the
 * other one made first is reported as one of `RACES`, and the caller begins anew.
 * @param serviceLogin the login of the service's own connections
 * @returns whether this login may work as the owner; without that it can only use what is there already
 * @throws SettingFault with the SQL to run when the login may neither own nor create
 */
export async function prepareRoles(client: pg.Client, serviceLogin: string): Promise<{ owns: boolean }> {
  const rights = await rightsOf(client);
  if (rights.version < 150_000) {
    throw new SettingFault(
      `DATABASE_URL: PostgreSQL 15 or newer is needed, this is ${Math.floor(rights.version / 10_000)}`,
    );
  }
  if (!rights.creates && !(await mayWorkAs(client, rights, rights.login, OWNER))) {
    if (await mayWorkAs(client, rights, rights.login, APP)) return { owns: false };
    throw missingRights(rights.login, serviceLogin);
  }
  try {
    for (const role of [OWNER, APP]) {
      if (!(await roleExists(client, role))) await client.query(`CREATE ROLE ${role} NOLOGIN`);
    }
    // For `replication_lag()` and `replaying_standbys()` (server/sql/0002_standbys.sql). Only a superuser may give it.
    if (rights.superuser && !(await mayWorkAs(client, rights, OWNER, STATISTICS)))
      await client.query(`GRANT ${STATISTICS} TO ${OWNER}`);
    await join(client, rights, rights.login, OWNER);
    await join(client, rights, serviceLogin, APP);
    if (rights.schemaOwner === null) {
      await client.query(`CREATE SCHEMA vintem AUTHORIZATION ${OWNER}`);
    } else if (rights.schemaOwner !== OWNER) {
      throw new SettingFault(
        `DATABASE_URL: the schema vintem belongs to ${rights.schemaOwner} and not to ${OWNER}`,
      );
    }
  } catch (error) {
    if ((error as { code?: string }).code === '42501') throw missingRights(rights.login, serviceLogin, error);
    throw error;
  }
  return { owns: true };
}

/** PostgreSQL's errors when two processes make the same object at the same time. */
export const RACES = new Set([
  '42710', // duplicate_object: the role
  '42P06', // duplicate_schema
  '42P07', // duplicate_table
  '23505', // unique_violation in a catalogue
  'XX000', // "tuple concurrently updated": a GRANT
]);

/**
 * The last wall before the ledger: what every service connection works as may not change or remove a journal, and its login
 * cannot leave that role for one that may.
 * @param own the name of the login that vintem made for itself: another one, or one that could do more, is a fault and not a matter of
 * setup
 * @throws SettingFault when it may
 */
export async function checkServiceRole(
  sql: Sql,
  { log, own }: { log: Log; own: string | null },
): Promise<void> {
  await checkSession(sql);
  const [row] = await sql.run<{
    role: string;
    login: string;
    superuser: boolean;
    others: string[];
    changes: boolean;
    flushes: boolean;
  }>({
    name: 'roles.check',
    text: `SELECT current_user::text AS role, session_user::text AS login,
                  (SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls FROM pg_roles WHERE rolname = session_user) AS superuser,
                  ARRAY(SELECT r.rolname::text FROM pg_roles r
                    WHERE r.rolname NOT IN ('${APP}', session_user) AND pg_has_role(session_user, r.oid, 'MEMBER')
                    ORDER BY 1) AS others,
                  has_table_privilege('vintem.journal', 'UPDATE, DELETE, TRUNCATE')
                    OR has_any_column_privilege('vintem.journal', 'UPDATE') AS changes,
                  current_setting('fsync') = 'on' AS flushes`,
  });
  if (!row || row.role !== APP || row.changes) {
    throw new SettingFault(
      `DATABASE_URL: the service works as ${row?.role ?? 'no role'}, which may change journals that are written; revoke UPDATE, DELETE and TRUNCATE on vintem.journal`,
    );
  }
  if (!row.flushes) {
    throw new SettingFault(
      'DATABASE_URL: this PostgreSQL acknowledges commits that are not on disk (fsync is off)',
    );
  }
  if (own !== null && (row.login !== own || row.superuser || row.others.length > 0)) {
    throw new SettingFault(
      `the database lets the login of the service, ${own}, work as ${row.login} or take other roles than ${APP}: revoke them`,
    );
  }
  if (!row.superuser && row.others.length > 0) {
    log.warn(
      { login: row.login, role: APP, others: row.others },
      'the login of DATABASE_URL may take other roles: give the service a login of its own and set MIGRATION_DATABASE_URL',
    );
  }
}

/**
 * The limits and the search path of a session travel as its start-up options, which a pooler (PgBouncer) refuses or drops. Without them
 * a lock would be waited for without end.
 */
async function checkSession(sql: Sql): Promise<void> {
  const lost = await sql.run<{ name: string }>(
    {
      name: 'roles.session',
      text: `SELECT name FROM unnest($1::text[], $2::text[]) AS wanted (name, value)
        JOIN pg_catalog.pg_settings USING (name) WHERE setting <> value
          AND NOT (name = 'plan_cache_mode' AND EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'citus')) ORDER BY name`,
    },
    [Object.keys(sessionSettings), Object.values(sessionSettings)],
  );
  if (lost.length === 0) return;
  throw new SettingFault(
    `DATABASE_URL: the connection has other settings than vintem asks for (${lost.map(({ name }) => name).join(', ')}): a pooler between drops the option "options"; give them to the login with ALTER ROLE (docs/operators/connections.md)`,
  );
}

async function rightsOf(client: pg.Client): Promise<Rights> {
  const { rows } = await client.query<{
    login: string;
    superuser: boolean;
    creates: boolean;
    version: number;
    schemaOwner: string | null;
  }>(
    `SELECT rolname AS login, rolsuper AS superuser,
            rolsuper OR (rolcreaterole AND has_database_privilege(oid, current_database(), 'CREATE')) AS creates,
            current_setting('server_version_num')::int AS version,
            (SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = 'vintem') AS "schemaOwner"
       FROM pg_roles WHERE rolname = session_user`,
  );
  return rows[0] as Rights;
}

async function roleExists(client: pg.Client, role: string): Promise<boolean> {
  return (await client.query('SELECT FROM pg_roles WHERE rolname = $1', [role])).rowCount === 1;
}

/** Whether `login` may SET ROLE to it. From 16 on a membership can lack just that. */
async function mayWorkAs(client: pg.Client, rights: Rights, login: string, role: string): Promise<boolean> {
  if (!(await roleExists(client, role))) return false;
  const kind = rights.version >= 160_000 ? 'SET' : 'MEMBER';
  const { rows } = await client.query<{ may: boolean }>('SELECT pg_has_role($1::name, $2::name, $3) AS may', [
    login,
    role,
    kind,
  ]);
  return rows[0]?.may === true;
}

/**
 * Also for a superuser, who needs no membership: the same login still works after it becomes an ordinary one.
 * Without INHERIT (16+), so that a session without SET ROLE holds none of the role's rights.
 */
async function join(client: pg.Client, rights: Rights, login: string, role: string): Promise<void> {
  const member = await client.query(
    `SELECT FROM pg_auth_members WHERE roleid = to_regrole($1) AND member = (SELECT oid FROM pg_roles WHERE rolname = $2)`,
    [role, login],
  );
  if (member.rowCount && (await mayWorkAs(client, rights, login, role))) return;
  const how = rights.version >= 160_000 ? ' WITH SET TRUE, INHERIT FALSE' : '';
  await client.query(`GRANT ${role} TO ${client.escapeIdentifier(login)}${how}`);
}

/** The statements that a person has to run before this login can migrate. */
export function missingRights(login: string, serviceLogin: string, cause?: unknown): SettingFault {
  const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
  const fault = new SettingFault(
    `DATABASE_URL: the login ${login} may neither create the roles of vintem nor work as ${OWNER}. ` +
      `Set MIGRATION_DATABASE_URL to a login that may, or run this as a superuser in the same database:
  CREATE ROLE ${OWNER} NOLOGIN;
  CREATE ROLE ${APP} NOLOGIN;
  CREATE SCHEMA vintem AUTHORIZATION ${OWNER};
  GRANT ${OWNER} TO ${quoted(login)};
  GRANT ${APP} TO ${quoted(serviceLogin)};`,
  );
  fault.cause = cause;
  return fault;
}
