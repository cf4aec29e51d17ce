import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { type Config, SettingFault } from '../../ground/config.ts';
import type { Log } from '../../ground/log.ts';
import { hasSecret, loadSecrets, type Secrets } from '../../ground/secrets.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { baseOf, columnList, quoted, readCatalog, readOtherCells } from './backup.ts';
import {
  type BackupFile,
  type Block,
  type Header,
  openBackupFile,
  purposeOfBackup,
  rowSum,
} from './backup-file.ts';
import { homeCell, makeCellWithin } from './cells.ts';
import { startEmbedded } from './embedded.ts';
import { waitForLock } from './lock.ts';
import { migrate, readMigrations } from './migrate.ts';
import { loginsOf, type OpenDatabase, prepareDataDir } from './open.ts';
import { encoded, withSessionOptions } from './pool.ts';
import { OWNER } from './roles.ts';

/**
 * A copy becomes the database again: one that is empty, while nothing else works on it.
 *
 * Empty means no account besides the installation's own (number 0) and no journal; what the migrations and a first start left
 * is replaced. The file is read from end to end before anything is written, and everything is written in one transaction: a
 * restore that fails or is killed leaves an empty database. Journals may only be inserted by the service, and other tables
 * hold rows that it never inserts so, which is why this works as the owner.
 *
 * No other process may be connected, because a process keeps the secret from which payment ids are made for as long as it runs. A process
 * that began on the empty database would give the same request key another id, and the provider would take it for another payment.
 */
export interface Restored {
  /** Of the copy, RFC 3339. */
  createdAt: string;
  sha256: string;
  rows: number;
  /** Migrations that came after the copy was made. */
  migrated: string[];
}

/** Changes of the rows, in the same transaction: a copy is not the latest word on any payment. */
export type AsRestored = (tx: RestoredCells, copy: { createdAt: string; sha256: string }) => Promise<unknown>;

/** The first cell with the directory, and every cell by itself, in one transaction. */
export interface RestoredCells extends Queries {
  inEveryCell(work: (tx: Queries) => Promise<unknown>): Promise<void>;
}

interface Needs {
  config: Config;
  clock: Clock;
  ids: Ids;
  log: Log;
  say: (line: string) => void;
}

/**
 * @throws Error when the file is not whole, or the database is not empty or not alone; nothing is written then
 */
export async function restore(needs: Needs, file: string, asRestored: AsRestored): Promise<Restored> {
  const copy = await openBackupFile(file);
  try {
    const secrets = await secretsFor(needs);
    const blocks = readerOf(copy, secrets);
    const header = await headerOf(blocks);
    await checkMigrations(header);
    checkSecret(secrets, header);
    const opened: OpenedCopy = { header, sha256: copy.sha256, blocks };
    const { config, clock } = needs;
    await prepareDataDir(config.dataDir, 'write');
    const lock = await waitForLock(clock, config.dataDir, { command: 'restore', port: null }, 15_000);
    try {
      if (config.databaseUrl !== null) {
        const { databaseUrl: url, migrationDatabaseUrl } = config;
        const database = { url, migrationUrl: migrationDatabaseUrl ?? undefined };
        return await restoreInto(needs, database, opened, asRestored);
      }
      const server = await startEmbedded({ ...needs, dataDir: config.dataDir });
      try {
        return await restoreInto(needs, loginsOf(server), opened, asRestored);
      } finally {
        await server.stop();
      }
    } finally {
      await lock.release();
    }
  } finally {
    await copy.close();
  }
}

/** A copy with the key to it. */
interface OpenedCopy {
  header: Header;
  sha256: string;
  blocks: () => AsyncGenerator<Block>;
}

/** @throws SettingFault when it is encrypted under a secret that is not configured */
function readerOf(copy: BackupFile, secrets: Secrets | null): OpenedCopy['blocks'] {
  const { secretId, salt } = copy.sealedUnder;
  const secret = secrets?.known.find(({ id }) => id === secretId);
  if (!secret) throw anotherSecret(secrets);
  const key = secret.derive(purposeOfBackup(salt));
  return () => copy.blocks(key);
}

async function headerOf(blocks: OpenedCopy['blocks']): Promise<Header> {
  for await (const block of blocks()) {
    if (block.kind === 'header') return block.header;
    break;
  }
  throw new Error('the backup does not begin with its header');
}

async function checkMigrations({ migrations }: Header): Promise<void> {
  const ours = new Map((await readMigrations()).map((one) => [one.name, one]));
  for (const { name, sha256 } of migrations) {
    const own = ours.get(name);
    if (!own) throw new Error(`the backup was made by a newer vintem (${name}): use that one`);
    if (createHash('sha256').update(own.text).digest('hex') !== sha256) {
      throw new Error(`${name}.sql is not the one that the database of the backup was made with`);
    }
  }
}

/** The secrets that are set; null: none is, and none is made. */
const secretsFor = async ({ config, ids }: Needs): Promise<Secrets | null> =>
  (await hasSecret(config)) ? loadSecrets(ids, config) : null;

const anotherSecret = (secrets: Secrets | null): SettingFault =>
  new SettingFault(
    secrets
      ? 'VINTEM_SECRET: the backup was made under another secret'
      : 'VINTEM_SECRET: the backup is of no use without the secret of its installation: set it, or copy the file `secret` of the old DATA_DIR into the new one',
  );

/** Without the same secret no API key of the copy would be good, and what is sealed in it could not be opened. */
function checkSecret(secrets: Secrets | null, { secretIds }: Header): void {
  if (secretIds.length === 0) return;
  if (!secretIds.some((id) => secrets?.known.some((one) => one.id === id))) throw anotherSecret(secrets);
}

async function restoreInto(
  { clock, log }: Needs,
  { url, migrationUrl }: Pick<OpenDatabase, 'url' | 'migrationUrl'>,
  copy: OpenedCopy,
  asRestored: AsRestored,
): Promise<Restored> {
  const { header } = copy;
  const before = await connect(migrationUrl ?? url, {});
  try {
    await checkAlone(before, clock);
    await checkVersion(before, header);
  } finally {
    await before.end();
  }
  const wanted = new Set(header.migrations.map(({ name }) => name));
  const migrations = (await readMigrations()).filter(({ name }) => wanted.has(name));
  await migrate({ url, migrationUrl, clock, log, migrations });

  const client = await connect(migrationUrl ?? url, { role: OWNER });
  let rows: number;
  try {
    await client.query('BEGIN');
    rows = await load(client, clock, copy, asRestored);
    await client.query('COMMIT');
    // PostgreSQL does not know yet how the rows are spread.
    const tables = (await readCatalog(client)).map(({ name }) => quoted(name));
    await client.query(`ANALYZE ${tables.join(', ')}`);
  } finally {
    // Without a COMMIT before it, this takes everything back.
    await client.end();
  }
  const { applied } = await migrate({ url, migrationUrl, clock, log });
  return { createdAt: header.createdAt, sha256: copy.sha256, rows, migrated: applied };
}

/**
 * Of a login that may not look at others', PostgreSQL shows nothing but who they are, which is enough. Waits a moment for those
 * that are on their way out.
 */
async function checkAlone(client: pg.Client, clock: Clock): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { rows } = await client.query<{ count: number }>(
      `SELECT count(*)::integer AS count FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND usesysid IS NOT NULL
          AND COALESCE(backend_type, 'client backend') = 'client backend'`,
    );
    const count = rows[0]?.count ?? 0;
    if (count === 0) return;
    if (tries === 10) {
      throw new Error(
        `${count} other connection${count === 1 ? ' uses' : 's use'} this database: end \`start\`, \`api\`, \`worker\` and whatever else works on it first`,
      );
    }
    await clock.sleep(100);
  }
}

/** A copy goes into the form that its tables had; afterwards the later migrations bring it on. */
async function checkVersion(client: pg.Client, { migrations, createdAt }: Header): Promise<void> {
  // The schema is closed to a login that has taken no role, and to_regclass would fail on it.
  const { rowCount } = await client.query(
    `SELECT FROM pg_class WHERE relname = 'migration'
        AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'vintem')`,
  );
  if (rowCount === 0) return;
  await client.query(`SET ROLE ${OWNER}`);
  const { rows } = await client.query<{ name: string; sha256: string }>(
    'SELECT name, sha256 FROM vintem.migration ORDER BY name',
  );
  const known = new Map(migrations.map(({ name, sha256 }) => [name, sha256]));
  const later = rows.find(({ name, sha256 }) => known.get(name) !== sha256);
  if (later) {
    throw new Error(
      `the database has the migration ${later.name}, which the backup of ${createdAt} has not or has in another form: restore into a database that nothing was started on`,
    );
  }
  await checkEmpty(client);
}

async function checkEmpty(client: pg.Client): Promise<void> {
  const { rows: tables } = await client.query<{ present: boolean }>(
    `SELECT to_regclass('vintem.journal') IS NOT NULL AS present`,
  );
  if (!tables[0]?.present) return;
  const { rows } = await client.query<{ accounts: number; journals: boolean }>(
    `SELECT (SELECT count(*) FROM vintem.account WHERE number <> 0)::integer AS accounts,
        EXISTS (SELECT FROM vintem.journal) AS journals`,
  );
  const { accounts = 0, journals = false } = rows[0] ?? {};
  if (accounts === 0 && !journals) return;
  const holds = accounts > 0 ? `${accounts} account${accounts === 1 ? '' : 's'}` : 'journals';
  throw new Error(
    `the database is not empty (it holds ${holds}): restore into a new DATA_DIR or an empty database; nothing was changed`,
  );
}

/** @returns how many rows were written */
async function load(
  client: pg.Client,
  clock: Clock,
  copy: OpenedCopy,
  asRestored: AsRestored,
): Promise<number> {
  const { header } = copy;
  await makeCells(client, clock, header);
  const catalog = await readCatalog(client);
  const names = catalog.map(({ name }) => quoted(name)).join(', ');
  // From here on no other session reads or writes these tables, and their earlier changes are visible.
  await client.query(`LOCK TABLE ${names} IN ACCESS EXCLUSIVE MODE`);
  await checkAlone(client, clock);
  await checkEmpty(client);
  await checkForm(client, header);
  const kept = catalog.filter(({ name }) => name !== 'migration');
  await client.query(`TRUNCATE ${kept.map(({ name }) => quoted(name)).join(', ')}`);

  const missing = new Set(kept.map(({ name }) => name));
  for (const name of [...missing]) if (Object.hasOwn(header.leftOut, baseOf(name))) missing.delete(name);
  let total = 0;
  let whole = false;
  const blocks = copy.blocks();
  try {
    await blocks.next();
    for (;;) {
      const { value: block, done } = await blocks.next();
      if (done) break;
      if (block.kind === 'end') whole = true;
      else if (block.kind !== 'table') throw new Error(`the backup has a block out of place (${block.kind})`);
      else {
        const { name, columns } = block.table;
        if (!missing.delete(name)) throw new Error(`the backup has a table ${name} that has no place here`);
        total += await loadTable(client, name, columns, blocks);
      }
    }
  } finally {
    await blocks.return(undefined);
  }
  if (!whole || missing.size > 0) {
    throw new Error(`the backup lacks ${missing.size > 0 ? [...missing].join(', ') : 'its end'}`);
  }
  await asRestored(restoredCells(client, header), { createdAt: header.createdAt, sha256: copy.sha256 });
  return total;
}

/** In the form that their tables had when the copy was made. */
async function makeCells(client: pg.Client, clock: Clock, { cells = [] }: Header): Promise<void> {
  if ((await readOtherCells(client)).length > 0)
    throw new Error(
      'the database has cells: restore into one that nothing was started on; nothing was changed',
    );
  for (const cell of cells) {
    const name = await makeCellWithin(client, clock.now());
    if (name !== cell) throw new Error(`the backup names a cell ${cell} where ${name} comes next`);
  }
  await client.query(`SET LOCAL search_path = '${homeCell}'`);
}

/** Another process may have migrated since. */
async function checkForm(client: pg.Client, { migrations }: Header): Promise<void> {
  const { rows } = await client.query<{ name: string; sha256: string }>(
    'SELECT name, sha256 FROM vintem.migration ORDER BY name',
  );
  if (JSON.stringify(rows) !== JSON.stringify(migrations)) {
    throw new Error('the database was migrated at this moment: restore into one that nothing works on');
  }
}

async function loadTable(
  client: pg.Client,
  name: string,
  columns: readonly string[],
  blocks: AsyncGenerator<Block>,
): Promise<number> {
  const sum = rowSum();
  let told: { rows: number; sha256: string } | null = null;
  async function* rowsOf(): AsyncGenerator<Buffer> {
    for (;;) {
      const { value: block, done } = await blocks.next();
      if (done) return;
      if (block.kind === 'rows') {
        sum.add(block.rows);
        yield block.rows;
      } else if (block.kind === 'tableEnd') {
        told = block.end;
        return;
      } else throw new Error(`the backup has a block out of place (${block.kind})`);
    }
  }
  const into = client.query(copyFrom(`COPY ${quoted(name)} (${columnList(columns)}) FROM STDIN`));
  await pipeline(rowsOf(), into);
  const read = sum.end();
  const end = told as { rows: number; sha256: string } | null;
  if (end?.sha256 !== read.sha256 || end.rows !== read.rows || into.rowCount !== read.rows) {
    throw new Error(`the rows of ${name} are not those that the backup counted and summed`);
  }
  return read.rows;
}

const queriesOf = (client: pg.Client): Queries => ({
  run: async <Row>(statement: Statement, values: readonly unknown[] = []) =>
    (await client.query(statement.text, encoded(statement, values))).rows as Row[],
});

function restoredCells(client: pg.Client, { cells = [] }: Header): RestoredCells {
  const queries = queriesOf(client);
  return {
    ...queries,
    async inEveryCell(work) {
      for (const cell of cells) {
        await client.query(`SET LOCAL search_path = '${cell}', '${homeCell}'`);
        await work(queries);
      }
      await client.query(`SET LOCAL search_path = '${homeCell}'`);
      await work(queries);
    },
  };
}

async function connect(url: string, settings: Record<string, string>): Promise<pg.Client> {
  const session = withSessionOptions(url, {
    ...settings,
    search_path: 'vintem',
    statement_timeout: '0',
    lock_timeout: '10s',
    idle_in_transaction_session_timeout: '0',
  });
  const client = new pg.Client({
    ...session,
    application_name: 'vintem restore',
    connectionTimeoutMillis: 10_000,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    const { message, code } = error as { message: string; code?: string };
    if (code === '42501' || code === '22023') {
      throw new SettingFault(
        `MIGRATION_DATABASE_URL: a restore writes as ${OWNER}, which this login may not: ${message}`,
      );
    }
    throw new Error(`no connection to PostgreSQL: ${message || code}`, { cause: error });
  }
}
