import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { type Config, SettingFault } from '../../ground/config.ts';
import type { Log } from '../../ground/log.ts';
import { hasSecret, loadSecrets } from '../../ground/secrets.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import {
  type Block,
  type Header,
  purposeOfBackup,
  rowSum,
  type Sealing,
  type TableEnd,
  type WrittenFile,
  writeBackupFile,
} from './backup-file.ts';
import { homeCell } from './cells.ts';
import { isCitus } from './citus.ts';
import { connectAlone } from './client.ts';
import { databaseOfCommand } from './open.ts';
import { withSessionOptions } from './pool.ts';
import { APP } from './roles.ts';

/**
 * A consistent copy of the database while the service runs.
 *
 * Everything is read in one snapshot (REPEATABLE READ), table by table, as the role that the service works as and without a
 * right to write. One snapshot covers the directory and every cell. Nothing is migrated first, so that a copy can be made with the new version before it touches anything. The
 * snapshot keeps PostgreSQL from cleaning up old versions of busy rows while it lasts, which slows a hot balance: reading fast
 * matters more than a small file.
 */
export interface BackedUp extends WrittenFile {
  /** RFC 3339. */
  createdAt: string;
  tables: ({ name: string } & TableEnd)[];
  leftOut: Record<string, string>;
}

/** Tables that a copy leaves out. Every other table is in it, those of later migrations included. */
export const leftOut: Readonly<Record<string, string>> = {
  migration: 'named in the header; written anew by the migrations of the restore',
  rate_bucket: 'counters of seconds: every bucket is full again',
  storage_budget: 'what was stored lately: counted anew',
  key_place: 'look-ups of the last hour: counted anew',
  query_slot: 'leases of calls that were under way in processes that are gone',
  send_slot: 'leases of calls that were under way in processes that are gone',
  write_probe: 'empty: what is written there is taken back',
  reconcile_seen: 'what a comparison with the provider has seen so far: the next one begins anew',
  breaker: 'how the provider was then: counted anew',
  request_log: 'what was asked for in the last thirty days: nothing stands on it',
  panel_session: 'who was signed in then may have signed out since: people sign in again',
  panel_session_access: 'of sessions, which are left out',
  operator_session:
    'who was signed in then may have signed out or been suspended since: operators sign in again',
  operator_challenge: 'what authenticators were asked to sign in minutes that are over',
  operator_oidc_flow: 'sign-ins that were under way in minutes that are over',
  panel_verification: 'codes and links of minutes, which may have been used since',
};

interface Needs {
  config: Config;
  clock: Clock;
  ids: Ids;
  log: Log;
  say: (line: string) => void;
}

/**
 * The key of this file.
 * @throws SettingFault when the secret that is set is not the installation's: the copy could not be restored with it
 */
async function sealingOf({ config, ids }: Needs, { secretIds }: Header): Promise<Sealing> {
  const secrets = (await hasSecret(config)) ? await loadSecrets(ids, config) : null;
  const isKnown =
    secretIds.length === 0 || secretIds.some((id) => secrets?.known.some((one) => one.id === id));
  if (!secrets || !isKnown) {
    throw new SettingFault(
      'VINTEM_SECRET: the backup is encrypted under the secret of the installation, which is not set here',
    );
  }
  const salt = ids.bytes(32);
  return { secretId: secrets.id, salt, key: secrets.derive(purposeOfBackup(salt)) };
}

/** Rows go out in blocks of about this size. */
const blockBytes = 256 * 1024;

/** A snapshot of the coordinator says nothing of what the nodes have committed. */
const noSnapshot =
  'the database is a Citus cluster, whose nodes cannot be copied as of one moment: copy each node with its log, see docs/operators/scaling.md#backup-of-a-cluster';

/** @throws SettingFault where no copy of one moment can be made: on a Citus cluster, or without the installation's secret */
export async function backup(needs: Needs, file: string): Promise<BackedUp> {
  const database = await databaseOfCommand(needs, 'backup');
  const url = database.embedded ? (database.migrationUrl ?? database.url) : database.url;
  try {
    const client = await connectReading(url);
    try {
      if (await isCitus(client)) throw new SettingFault(noSnapshot);
      const tables: BackedUp['tables'] = [];
      const header = await takeSnapshot(client, needs.clock);
      const sealing = await sealingOf(needs, header);
      const written = await writeBackupFile(file, blocksOf(client, header, tables), sealing);
      await noteBackedUp(needs, url, header.createdAt);
      return { ...written, createdAt: header.createdAt, tables, leftOut: header.leftOut };
    } finally {
      await client.end();
    }
  } finally {
    await database.close();
  }
}

/** Alerts ask for the age of the newest copy. It is good without that: a database that was not migrated yet has no place for it. */
async function noteBackedUp({ log }: Pick<Needs, 'log'>, url: string, createdAt: string): Promise<void> {
  try {
    const client = await connectAlone(url, 'vintem backup', { role: APP, search_path: 'vintem' });
    try {
      await client.query(
        'UPDATE installation SET backed_up_at = $1 WHERE backed_up_at IS NULL OR backed_up_at < $1',
        [createdAt],
      );
    } finally {
      await client.end();
    }
  } catch (error) {
    log.warn({ err: error }, 'the copy is made; the metrics cannot tell of it');
  }
}

/** A table of the installation as the catalogue has it. */
export interface CatalogTable {
  /** With its schema where that is not `vintem`: `vintem_2.payment`. */
  name: string;
  columns: string[];
  /** Tables that its foreign keys name. */
  parents: string[];
}

/** All of them, each after its parents: in this order their rows can be written. */
export async function readCatalog(client: pg.Client): Promise<CatalogTable[]> {
  const { rows } = await client.query<CatalogTable>(
    `SELECT ${catalogName('c')} AS name,
        ARRAY(SELECT a.attname::text FROM pg_attribute a
          WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum) AS columns,
        ARRAY(SELECT DISTINCT ${catalogName('p')} FROM pg_constraint k JOIN pg_class p ON p.oid = k.confrelid
          WHERE k.conrelid = c.oid AND k.contype = 'f' AND p.oid <> c.oid ORDER BY 1) AS parents
      FROM pg_class c
      WHERE c.relnamespace = ANY (SELECT to_regnamespace(name) FROM unnest($1::text[]) AS name) AND c.relkind IN ('r', 'p', 'S', 'm')
      ORDER BY c.relnamespace <> to_regnamespace('vintem'), 1`,
    [[homeCell, ...(await readOtherCells(client))]],
  );
  const byName = new Map(rows.map((table) => [table.name, table]));
  const ordered = new Set<CatalogTable>();
  const place = (table: CatalogTable, above: readonly string[]): void => {
    if (above.includes(table.name)) throw new Error(`foreign keys go in a circle: ${above.join(', ')}`);
    for (const parent of table.parents) {
      const found = byName.get(parent);
      if (found) place(found, [...above, table.name]);
    }
    ordered.add(table);
  };
  for (const table of rows) place(table, []);
  return [...ordered];
}

/** Of a table under the alias, as a copy names it. */
const catalogName = (table: string): string =>
  `CASE WHEN ${table}.relnamespace = to_regnamespace('vintem') THEN '' ELSE ${table}.relnamespace::regnamespace || '.' END || ${table}.relname`;

/** The cells beside the first one, in the order in which they were made; of a schema from before there were any, none. */
export async function readOtherCells(client: pg.Client): Promise<string[]> {
  const { rows: tables } = await client.query<{ present: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'cell' AND relnamespace = to_regnamespace('vintem')) AS present`,
  );
  if (!tables[0]?.present) return [];
  const { rows } = await client.query<{ name: string }>(
    `SELECT name FROM vintem.cell WHERE name <> '${homeCell}' ORDER BY length(name), name`,
  );
  return rows.map(({ name }) => name);
}

/** A table without its schema. */
export const baseOf = (name: string): string => name.slice(name.indexOf('.') + 1);

export function quoted(name: string): string {
  const schema = name.includes('.') ? name.slice(0, name.indexOf('.')) : homeCell;
  return `${schema}."${baseOf(name).replaceAll('"', '""')}"`;
}

async function connectReading(url: string): Promise<pg.Client> {
  const session = withSessionOptions(url, {
    role: APP,
    search_path: 'vintem',
    default_transaction_read_only: 'on',
    statement_timeout: '0',
    lock_timeout: '10s',
    idle_in_transaction_session_timeout: '0',
  });
  const client = new pg.Client({
    ...session,
    application_name: 'vintem backup',
    connectionTimeoutMillis: 10_000,
  });
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    // The role does not exist where nothing was ever migrated.
    const empty = (error as { code?: string }).code === '22023';
    throw new Error(empty ? nothingThere : `no connection to PostgreSQL: ${(error as Error).message}`, {
      cause: error,
    });
  }
  return client;
}

const nothingThere = 'there is nothing to back up: no vintem was ever started on this database';

/** Begins the transaction that everything is read in. No table changes its form until it ends. */
async function takeSnapshot(client: pg.Client, clock: Clock): Promise<Header> {
  const before = await readCatalog(client);
  if (before.length === 0) throw new Error(nothingThere);
  const createdAt = new Date(clock.now()).toISOString();
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  // Takes no snapshot yet: the first statement after it does, and what a migration changed in between is seen.
  // Only what is read below: up to PostgreSQL 15 this lock needs SELECT, which the role of a backup lacks on `write_probe`.
  const locked = before.filter(({ name }) => !Object.hasOwn(leftOut, baseOf(name)));
  await client.query(`LOCK TABLE ${locked.map(({ name }) => quoted(name)).join(', ')} IN ACCESS SHARE MODE`);
  const { rows: migrations } = await client.query<{ name: string; sha256: string }>(
    'SELECT name, sha256 FROM migration ORDER BY name',
  );
  if (JSON.stringify(await readCatalog(client)) !== JSON.stringify(before)) {
    throw new Error('the database was migrated at this moment: run it again');
  }
  const cells = await readOtherCells(client);
  const secretIds = await readSecretIds(client, before);
  return { createdAt, migrations, secretIds, ...(cells.length > 0 ? { cells } : {}), leftOut };
}

/** The secrets that the copy needs; of a schema that does not list them yet, those of its API keys. */
async function readSecretIds(client: pg.Client, catalog: readonly CatalogTable[]): Promise<string[]> {
  const isListed = catalog.some(({ name }) => name === 'sealing_secret');
  const { rows } = await client.query<{ id: string }>(
    isListed
      ? 'SELECT id FROM sealing_secret WHERE cleared_at IS NULL ORDER BY 1'
      : 'SELECT DISTINCT pepper_id AS id FROM api_key WHERE revoked_at IS NULL ORDER BY 1',
  );
  return rows.map(({ id }) => id);
}

async function* blocksOf(client: pg.Client, header: Header, done: BackedUp['tables']): AsyncGenerator<Block> {
  yield { kind: 'header', header };
  for (const { name, columns } of await readCatalog(client)) {
    if (Object.hasOwn(leftOut, baseOf(name))) continue;
    yield { kind: 'table', table: { name, columns } };
    const sum = rowSum();
    const copy = client.query(copyTo(`COPY ${quoted(name)} (${columnList(columns)}) TO STDOUT`));
    for await (const rows of inBlocks(copy)) {
      sum.add(rows);
      yield { kind: 'rows', rows };
    }
    const end = sum.end();
    done.push({ name, ...end });
    yield { kind: 'tableEnd', end };
  }
  await client.query('COMMIT');
  yield { kind: 'end' };
}

export const columnList = (columns: readonly string[]): string =>
  columns.map((column) => `"${column.replaceAll('"', '""')}"`).join(', ');

/** PostgreSQL sends row by row; a block for each would cost more than the rows. */
async function* inBlocks(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let kept: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    kept.push(chunk);
    bytes += chunk.length;
    if (bytes < blockBytes) continue;
    yield Buffer.concat(kept);
    kept = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(kept);
}
