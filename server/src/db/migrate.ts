import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';
import type { Log } from '../log.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Sql } from '../ports/sql.ts';
import { timestamp, withSessionOptions } from './pool.ts';
import { APP, isSuperuser, missingRights, OWNER, prepareRoles, RACES } from './roles.ts';

const FOLDER = new URL('../../sql/', import.meta.url);

export interface Migration {
  /** The file's name without `.sql`. */
  name: string;
  text: string;
}

export interface MigrateOptions {
  /** `DATABASE_URL`, or the embedded server's. */
  url: string;
  /** `MIGRATION_DATABASE_URL`: the owner's connection, where `url` is the program's own role. */
  migrationUrl?: string | undefined;
  clock: Clock;
  log: Log;
  /** The embedded server's only login is its superuser, whose password is ours alone: not worth a warning. */
  embedded?: boolean;
  /** Other migrations than those of `server/sql`. */
  migrations?: Migration[];
}

/**
 * Makes roles and schema, then applies what of `server/sql` is not applied yet: in the order of the names, each in a
 * transaction of its own, forward only. Processes may start at once.
 * @throws SettingFault when the login's rights do not suffice; Error when a migration that was applied has changed since
 */
export async function migrate(options: MigrateOptions): Promise<{ applied: string[] }> {
  const migrations = options.migrations ?? (await readMigrations());
  const client = await connect(options.migrationUrl ?? options.url);
  try {
    const serviceLogin = await loginOfService(client, options);
    for (let attempt = 1; ; attempt++) {
      try {
        return await migrateOver(client, serviceLogin, migrations, options.clock);
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
  migrations: Migration[],
  clock: Clock,
): Promise<{ applied: string[] }> {
  const { owns } = await prepareRoles(client, serviceLogin);
  await client.query(`SET ROLE ${owns ? OWNER : APP}`);
  const known = await readApplied(client);
  const pending = migrations.filter((migration) => isPending(migration, known));
  const newer = [...known.keys()].find((name) => !migrations.some((migration) => migration.name === name));
  if (newer) throw new Error(`the database was migrated by a newer vintem (${newer}): use that one`);
  if (pending.length === 0) return { applied: [] };
  if (!owns) throw missingRights(serviceLogin, serviceLogin);
  await client.query('BEGIN');
  await client.query(
    'CREATE TABLE IF NOT EXISTS vintem.migration (name text PRIMARY KEY, applied_at timestamptz NOT NULL, sha256 text NOT NULL)',
  );
  await client.query(`GRANT SELECT ON vintem.migration TO ${APP}`);
  await client.query('COMMIT');
  const applied: string[] = [];
  for (const migration of pending) {
    if (await apply(client, migration, clock)) applied.push(migration.name);
  }
  return { applied };
}

async function apply(client: pg.Client, migration: Migration, clock: Clock): Promise<boolean> {
  await client.query('BEGIN');
  try {
    // Held to the end of the transaction: another process that wants the same migration waits here, then sees it.
    await client.query('LOCK TABLE vintem.migration IN SHARE ROW EXCLUSIVE MODE');
    const pending = isPending(migration, await readApplied(client));
    if (pending) {
      // Rather fail and be started again than queue the whole service behind a lock that somebody holds.
      await client.query(`SET LOCAL lock_timeout = '10s'`);
      await client.query(migration.text);
      await client.query('INSERT INTO vintem.migration (name, applied_at, sha256) VALUES ($1, $2, $3)', [
        migration.name,
        timestamp(clock.now()),
        sha256(migration),
      ]);
    }
    await client.query('COMMIT');
    return pending;
  } catch (error) {
    await client.query('ROLLBACK');
    if (error instanceof Error) error.message = `migration ${migration.name}: ${error.message}`;
    throw error;
  }
}

async function readApplied(client: pg.Client): Promise<Map<string, string>> {
  const { rows: tables } = await client.query<{ present: boolean }>(
    `SELECT to_regclass('vintem.migration') IS NOT NULL AS present`,
  );
  if (!tables[0]?.present) return new Map();
  const { rows } = await client.query<{ name: string; sha256: string }>(
    'SELECT name, sha256 FROM vintem.migration ORDER BY name',
  );
  return new Map(rows.map((row) => [row.name, row.sha256]));
}

function isPending(migration: Migration, applied: Map<string, string>): boolean {
  const before = applied.get(migration.name);
  if (before !== undefined && before !== sha256(migration)) {
    throw new Error(
      `${migration.name}.sql was changed after it had been applied; put it back and add a new file`,
    );
  }
  return before === undefined;
}

const sha256 = (migration: Migration): string => createHash('sha256').update(migration.text).digest('hex');

async function connect(url: string): Promise<pg.Client> {
  const session = withSessionOptions(url, {
    search_path: 'vintem',
    lock_timeout: '0',
    statement_timeout: '0',
  });
  const client = new pg.Client({
    ...session,
    application_name: 'vintem migrate',
    connectionTimeoutMillis: 10_000,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    const { host, pathname } = new URL(url);
    // Two addresses of one name fail together, in an error without a message.
    const { message, code } = error as NodeJS.ErrnoException;
    throw new Error(`no connection to PostgreSQL at ${host}${pathname}: ${message || code}`, {
      cause: error,
    });
  }
}

/** The login of `DATABASE_URL`; warns when it could leave the role that protects the ledger. */
async function loginOfService(client: pg.Client, options: MigrateOptions): Promise<string> {
  const service = options.migrationUrl ? await connect(options.url) : client;
  try {
    const { rows } = await service.query<{ login: string }>('SELECT session_user::text AS login');
    const login = (rows[0] as { login: string }).login;
    if (!options.embedded && (await isSuperuser(service))) {
      options.log.warn(
        { login },
        `DATABASE_URL logs in as a superuser: the service works as ${APP}, but whoever holds this login can leave that role and change the ledger`,
      );
    }
    return login;
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
          text: `INSERT INTO connection (id, webhook_token, query_bucket_at)
                 VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
        },
        [id, ids.bytes(24).toString('base64url'), now],
      );
    }
  });
}
