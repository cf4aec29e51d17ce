import { readdir, readFile } from 'node:fs/promises';
import type pg from 'pg';
import type { Log } from '../../ground/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Sql } from '../../ports/sql.ts';
import { directoryTables } from './cells.ts';
import { distribute, prepareNodes } from './citus.ts';
import { connectAlone } from './client.ts';
import {
  headerOf,
  indexStatementsOf,
  isAtLeast,
  locksOf,
  type Migration,
  sha256Of,
  statementsToRun,
} from './migration-file.ts';
import { timestamp } from './pool.ts';
import { APP, missingRights, OWNER, prepareRoles, RACES } from './roles.ts';

const FOLDER = new URL('../../../sql/', import.meta.url);
const PACKAGE = new URL('../../../package.json', import.meta.url);

export interface MigrateOptions {
  /** `DATABASE_URL`, or the embedded server's. */
  url: string;
  /** `MIGRATION_DATABASE_URL`: the owner's connection, where `url` is the program's own role. */
  migrationUrl?: string | undefined;
  clock: Clock;
  log: Log;
  /** Other migrations than those of `server/sql`. */
  migrations?: Migration[];
  /** Another version of the program than that of `package.json`. */
  version?: string;
}

/**
 * Makes roles and schema, then applies what of `server/sql` is not applied yet: in the order of the names, each in a
 * transaction of its own or concurrently (`migration-file.ts`), forward only. Processes may start at once.
 *
 * A database with migrations that this program does not contain is accepted when every one of them says that it works with this version:
 * so a process of the version before can be started again during an update, and an update can be taken back.
 * @throws SettingFault when the login's rights do not suffice; Error when a migration that was applied has changed since, or when the
 * schema is too new
 */
export async function migrate(options: MigrateOptions): Promise<{ applied: string[] }> {
  const program = await programOf(options);
  const client = await connect(options.migrationUrl ?? options.url);
  try {
    const serviceLogin = await loginOfService(client, options);
    for (let attempt = 1; ; attempt++) {
      try {
        return await migrateOver(client, serviceLogin, program, options);
      } catch (error) {
        // The other process may need a moment to commit what it made first.
        if (attempt === 10 || !RACES.has((error as { code?: string }).code ?? '')) throw error;
        await client.query('ROLLBACK');
        await client.query('RESET ROLE');
        await options.clock.sleep(20 * attempt);
      }
    }
  } finally {
    await client.end();
  }
}

export interface PendingMigration {
  name: string;
  /** On tables that exist before: `payment: SHARE UPDATE EXCLUSIVE`. */
  locks: string[];
  /** Of these, the tables whose every row is read while writers wait: the time grows with them. */
  readsRowsOf: string[];
  concurrent: boolean;
  /** The oldest version of the program that works with it; null: only programs that contain it. */
  compatibleFrom: string | null;
}

/** The migrations that `migrate` would apply, in order. Changes nothing. @throws Error as `migrate` */
export async function planMigrations(options: MigrateOptions): Promise<PendingMigration[]> {
  const program = await programOf(options);
  const client = await connect(options.migrationUrl ?? options.url);
  try {
    const { rows: roles } = await client.query(
      `SELECT FROM pg_roles WHERE rolname = $1 AND pg_has_role(session_user, oid, 'MEMBER')`,
      [APP],
    );
    if (roles.length > 0) await client.query(`SET ROLE ${APP}`);
    const pending = pendingOf(program, await readApplied(client));
    const { rows: indexes } = await client.query<{ index: string; table: string }>(
      `SELECT indexname AS index, tablename AS table FROM pg_indexes WHERE schemaname = 'vintem'`,
    );
    const tables = new Map(indexes.map(({ index, table }) => [index, table]));
    const inCells = (await cellsBehind(client, program)).map(({ cell, migration }) => ({
      name: `${cell}: ${migration.name}`,
      migration,
    }));
    const all = [...pending.map((migration) => ({ name: migration.name, migration })), ...inCells];
    return all.map(({ name, migration }) => {
      const locks = locksOf(migration, (index) => tables.get(index) ?? null);
      return {
        name,
        locks: locks.map(({ table, mode }) => `${table}: ${mode}`),
        readsRowsOf: locks.filter(({ readsRows }) => readsRows).map(({ table }) => table),
        concurrent: headerOf(migration).concurrent,
        compatibleFrom: headerOf(migration).compatibleFrom,
      };
    });
  } finally {
    await client.end();
  }
}

/** The migrations of this program. */
interface Program {
  version: string;
  migrations: readonly Migration[];
}

const programOf = async ({ version, migrations }: MigrateOptions): Promise<Program> => ({
  version: version ?? (JSON.parse(await readFile(PACKAGE, 'utf8')) as { version: string }).version,
  migrations: migrations ?? (await readMigrations()),
});

/** Every file of `server/sql`, in order. */
export async function readMigrations(): Promise<Migration[]> {
  const names = (await readdir(FOLDER)).filter((name) => /^\d{4}_\w+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => ({
      name: name.slice(0, -4),
      // A checkout on Windows may have turned the line ends around.
      text: (await readFile(new URL(name, FOLDER), 'utf8')).replaceAll('\r\n', '\n'),
    })),
  );
}

async function migrateOver(
  client: pg.Client,
  serviceLogin: string,
  program: Program,
  needs: Needs,
): Promise<{ applied: string[] }> {
  const { owns } = await prepareRoles(client, serviceLogin);
  if (owns) await prepareNodes(client);
  await client.query(`SET ROLE ${owns ? OWNER : APP}`);
  const before = await readApplied(client);
  const pending = pendingOf(program, before);
  const behind = await cellsBehind(client, program);
  if (pending.length === 0 && behind.length === 0) {
    if (owns) await distribute(client, directoryTables);
    return { applied: [] };
  }
  if (!owns) throw missingRights(serviceLogin, serviceLogin);
  await client.query('BEGIN');
  await client.query(
    `CREATE TABLE IF NOT EXISTS vintem.migration
      (name text PRIMARY KEY, applied_at timestamptz NOT NULL, sha256 text NOT NULL, compatible_from text)`,
  );
  await client.query(`GRANT SELECT ON vintem.migration TO ${APP}`);
  await client.query('COMMIT');
  const applied: string[] = [];
  for (const migration of pending) {
    const { concurrent } = headerOf(migration);
    const isApplied = concurrent
      ? await applyConcurrently(client, migration, needs, before.size > 0)
      : await apply(client, migration, needs);
    if (isApplied) applied.push(migration.name);
  }
  for (const { cell, migration } of await cellsBehind(client, program)) {
    const name = `${cell}: ${migration.name}`;
    if (await applyInCell(client, cell, migration, needs)) applied.push(name);
  }
  await distribute(client, directoryTables);
  return { applied };
}

/** The migrations that the other cells lack, by cell and in order: an interrupted one continues where it ended. */
async function cellsBehind(
  client: pg.Client,
  { migrations }: Program,
): Promise<{ cell: string; migration: Migration }[]> {
  const { rows: tables } = await client.query<{ present: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'vintem' AND c.relname = 'cell_migration') AS present`,
  );
  if (!tables[0]?.present) return [];
  const ofCells = migrations.filter((migration) => headerOf(migration).cells);
  const { rows } = await client.query<{ cell: string; name: string }>(
    `SELECT c.name AS cell, k.name FROM vintem.cell c, unnest($1::text[]) WITH ORDINALITY AS k (name, place)
      WHERE c.name <> 'vintem' AND NOT EXISTS (SELECT FROM vintem.cell_migration m WHERE m.cell = c.name AND m.name = k.name)
      ORDER BY c.created_at, c.name, k.place`,
    [ofCells.map(({ name }) => name)],
  );
  return rows.map(({ cell, name }) => ({
    cell,
    migration: ofCells.find((migration) => migration.name === name) as Migration,
  }));
}

/** @returns false: another process was first */
async function applyInCell(
  client: pg.Client,
  cell: string,
  migration: Migration,
  { clock }: Needs,
): Promise<boolean> {
  await client.query('BEGIN');
  try {
    await client.query('LOCK TABLE vintem.migration IN SHARE ROW EXCLUSIVE MODE');
    const { rowCount } = await client.query(
      `INSERT INTO vintem.cell_migration (cell, name, applied_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
      [cell, migration.name, timestamp(clock.now())],
    );
    if (rowCount === 1) {
      await client.query(`SET LOCAL lock_timeout = '10s'`);
      // Nothing of the first cell can be meant: what the cell lacks is an error.
      await client.query(`SET LOCAL search_path = ${cell}`);
      await run(client, migration);
    }
    await client.query('COMMIT');
    return rowCount === 1;
  } catch (error) {
    await client.query('ROLLBACK');
    throw named(migration, error);
  }
}

interface Needs {
  clock: Clock;
  log: Log;
}

async function apply(client: pg.Client, migration: Migration, { clock }: Needs): Promise<boolean> {
  await client.query('BEGIN');
  try {
    // Held to the end of the transaction: another process that wants the same migration waits here, then sees it.
    await client.query('LOCK TABLE vintem.migration IN SHARE ROW EXCLUSIVE MODE');
    const before = await readApplied(client);
    const pending = isPending(migration, before);
    if (pending) {
      if (before.size > 0 && headerOf(migration).compatibleFrom === null)
        await olderProcessesEnd(client, clock);
      // Rather fail and be started again than queue the whole service behind a lock that another session holds.
      await client.query(`SET LOCAL lock_timeout = '10s'`);
      await run(client, migration);
      await record(client, migration, clock);
    }
    await client.query('COMMIT');
    return pending;
  } catch (error) {
    await client.query('ROLLBACK');
    throw named(migration, error);
  }
}

/** Statement by statement: Citus refuses to pass a text of several on to its nodes ("cannot insert multiple commands into a prepared statement"). */
async function run(client: pg.Client, migration: Migration): Promise<void> {
  for (const statement of statementsToRun(migration)) await client.query(statement);
}

/** Names of the connections of running processes (`main/start.ts`, `main/delivery-worker.ts`), in every version. */
const SERVICE_CONNECTIONS = ['vintem', 'vintem outgoing'];

/**
 * Before a migration that older programs cannot work with. An old process that is still running would post by the old rules:
 * a return that is known under new references would be posted twice. A process of this program has no such connection yet, since it
 * migrates first. Rejected: to say so in the documentation alone, because a rolling update starts the new process first.
 * @throws Error when one still works on the database after ten seconds
 */
async function olderProcessesEnd(client: pg.Client, clock: Clock): Promise<void> {
  for (let tries = 1; ; tries++) {
    // Within a transaction it would show the same sessions each time.
    await client.query('SELECT pg_stat_clear_snapshot()');
    const { rows } = await client.query<{ count: number }>(
      `SELECT count(*)::integer AS count FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = ANY ($1::text[])`,
      [SERVICE_CONNECTIONS],
    );
    const count = rows[0]?.count ?? 0;
    if (count === 0) return;
    if (tries === 20) {
      throw new Error(
        `a process of an older vintem works on this database (connections: ${count}), and this migration does not allow that: stop every older process first`,
      );
    }
    await clock.sleep(500);
  }
}

/** One installation's concurrent migrations, among the advisory locks of its database. */
const CONCURRENT_LOCK = 0x76696e74;

/**
 * One statement after the other, each committed by itself. A process that ends in between leaves an index that is missing or invalid:
 * the next one drops an invalid index and builds it again.
 *
 * The lock is asked for again and again: a session that waits for an advisory lock has a snapshot, and CREATE INDEX CONCURRENTLY would wait
 * for that session.
 */
async function applyConcurrently(
  client: pg.Client,
  migration: Migration,
  { clock, log }: Needs,
  hasRows: boolean,
): Promise<boolean> {
  while (!(await tryLock(client))) await clock.sleep(200);
  try {
    if (!isPending(migration, await readApplied(client))) return false;
    for (const statement of indexStatementsOf(migration)) {
      if (statement.action === 'create') {
        const { rows } = await client.query<{ valid: boolean }>(
          `SELECT i.indisvalid AS valid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
            WHERE c.relname = $1 AND c.relnamespace = 'vintem'::regnamespace`,
          [statement.index],
        );
        if (rows[0]?.valid) continue;
        if (rows[0]) await client.query(`DROP INDEX CONCURRENTLY ${statement.index}`);
        // It may take minutes, but for a database that is being made.
        if (hasRows) log.info({ index: statement.index, table: statement.table }, 'building an index');
      }
      await client.query(statement.text);
    }
    await record(client, migration, clock);
    return true;
  } catch (error) {
    throw named(migration, error);
  } finally {
    await client.query('SELECT pg_advisory_unlock($1)', [CONCURRENT_LOCK]).catch(() => {});
  }
}

const tryLock = async (client: pg.Client): Promise<boolean> =>
  (await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [CONCURRENT_LOCK]))
    .rows[0]?.taken === true;

const record = (client: pg.Client, migration: Migration, clock: Clock): Promise<unknown> =>
  client.query(
    'INSERT INTO vintem.migration (name, applied_at, sha256, compatible_from) VALUES ($1, $2, $3, $4)',
    [migration.name, timestamp(clock.now()), sha256Of(migration), headerOf(migration).compatibleFrom],
  );

function named(migration: Migration, error: unknown): unknown {
  if (error instanceof Error) error.message = `migration ${migration.name}: ${error.message}`;
  return error;
}

interface Applied {
  sha256: string;
  compatibleFrom: string | null;
}

async function readApplied(client: pg.Client): Promise<Map<string, Applied>> {
  const { rows: tables } = await client.query<{ present: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'vintem' AND c.relname = 'migration') AS present`,
  );
  if (!tables[0]?.present) return new Map();
  const { rows } = await client.query<Applied & { name: string }>(
    'SELECT name, sha256, compatible_from AS "compatibleFrom" FROM vintem.migration ORDER BY name',
  );
  return new Map(rows.map((row) => [row.name, row]));
}

/** @throws Error when the database is too new for the program, or has another form of one of its migrations */
function pendingOf({ version, migrations }: Program, applied: Map<string, Applied>): Migration[] {
  const pending = migrations.filter((migration) => isPending(migration, applied));
  const newer = [...applied].filter(([name]) => !migrations.some((migration) => migration.name === name));
  for (const [name, { compatibleFrom }] of newer) {
    if (compatibleFrom !== null && isAtLeast(version, compatibleFrom) && pending.length === 0) continue;
    const needed =
      compatibleFrom === null || isAtLeast(version, compatibleFrom)
        ? 'use that one'
        : `use ${compatibleFrom} or later`;
    throw new Error(
      `the database was migrated by a newer vintem (${name}), and this is ${version}: ${needed}`,
    );
  }
  return pending;
}

function isPending(migration: Migration, applied: Map<string, Applied>): boolean {
  const before = applied.get(migration.name);
  if (before !== undefined && before.sha256 !== sha256Of(migration)) {
    throw new Error(
      `${migration.name}.sql was changed after it had been applied; put it back and add a new file`,
    );
  }
  return before === undefined;
}

const connect = (url: string): Promise<pg.Client> =>
  connectAlone(url, 'vintem migrate', { search_path: 'vintem', lock_timeout: '0', statement_timeout: '0' });

/** The login of `DATABASE_URL`, which serves where it can do no more than it should. */
async function loginOfService(client: pg.Client, { url, migrationUrl }: MigrateOptions): Promise<string> {
  const service = migrationUrl ? await connect(url) : client;
  try {
    const { rows } = await service.query<{ login: string }>('SELECT session_user::text AS login');
    return (rows[0] as { login: string }).login;
  } finally {
    if (service !== client) await service.end();
  }
}

const NIL = '00000000-0000-0000-0000-000000000000';

/**
 * The rows that every installation has once: its secret, its own account (number 0, for money that matches nothing of
 * ours) with that account's chain, and the provider connections. Safe to repeat and to run twice at once.
 */
export async function prepareInstallation(
  { sql, clock, ids }: { sql: Sql; clock: Clock; ids: Ids },
  { live }: { live: boolean },
): Promise<void> {
  const connections = live ? ['simulator', 'live'] : ['simulator'];
  const [found] = await sql.run<{ complete: boolean }>(
    {
      name: 'installation.complete',
      text: `SELECT EXISTS (SELECT FROM installation)
                    AND (SELECT count(*) FROM connection WHERE id = ANY ($1::text[])) = cardinality($1) AS complete`,
    },
    [connections],
  );
  if (found?.complete) return;
  const now = timestamp(clock.now());
  await sql.tx(async (tx) => {
    await tx.run(
      {
        name: 'installation.insert',
        text: 'INSERT INTO installation (id, identity_secret, created_at) VALUES (1, $1, $2) ON CONFLICT DO NOTHING',
      },
      [ids.bytes(32), now],
    );
    await tx.run(
      {
        name: 'installation.account',
        text: `INSERT INTO account (id, number, name, test, connection, created_at)
               VALUES ($1, 0, 'installation', false, 'none', $2) ON CONFLICT DO NOTHING`,
      },
      [NIL, now],
    );
    await tx.run(
      {
        name: 'installation.balance',
        text: `INSERT INTO balance (account_id, operation_id, head, updated_at)
               VALUES ($1, $1, $2, $3) ON CONFLICT DO NOTHING`,
      },
      [NIL, Buffer.alloc(32), now],
    );
    for (const id of connections) {
      await tx.run(
        {
          name: 'installation.connection',
          text: `INSERT INTO connection (id, webhook_token, query_bucket_at, test)
                 VALUES ($1, $2, $3, $1 = 'simulator') ON CONFLICT DO NOTHING`,
        },
        [id, ids.bytes(24).toString('base64url'), now],
      );
    }
  });
}
