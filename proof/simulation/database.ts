import { readdir, readFile } from 'node:fs/promises';
import { PGlite } from '@electric-sql/pglite';
import type pg from 'pg';
import { directoryTables, homeCell, makeCellWithin } from '../../server/src/store/database/cells.ts';
import { parseTimestamp } from '../../server/src/store/database/pool.ts';
import { openSession, type Session } from './wire.ts';

/**
 * PostgreSQL in this process, migrated, used under the service's own role. One session, held by one caller at a time. What the rig itself
 * reads and writes is of the cell of the merchant, and of the directory.
 */
export interface Database extends Session {
  /** Schemas with tables of accounts, the first one in front. */
  readonly cells: readonly string[];
  /** The one of the merchant. */
  readonly cell: string;
  /** The session as a connection to a cell has it. */
  on(cell: string): Session;
  /** Runs `work` as the superuser, outside of any process's sight and between transactions. */
  admin<T>(work: () => T): T;
  /** Grows with every statement that writes to the table, and when what was written is taken back. */
  version(table: string): number;
  /** Grows with every statement that writes. */
  changes(): number;
  /** Keeps the tables as they are, for `restore`. */
  keep(): void;
  /**
   * Brings the tables that were written to since then back to how they were kept. Afresh: all of them, without what earlier rows left behind
   * on disk, on which the order of equal rows and the choice of an index depend; 0.1 s more.
   */
  restore(how?: { afresh: boolean }): void;
  /** Waits for the session; the answer gives it on. */
  acquire(): Promise<() => void>;
  /** Whether a transaction is open. */
  isBusy(): boolean;
  /** Empties every table: twenty DELETEs of few rows cost a tenth of a TRUNCATE. */
  clear(): void;
  close(): Promise<void>;
}

const migrations = new URL('../../server/sql/', import.meta.url);

/** @param cells of more than one the merchant is in the second */
export async function openDatabase({ cells: count = 1 } = {}): Promise<Database> {
  const lite = await PGlite.create();
  await lite.waitReady;
  const bare = openSession(lite, parserOf);
  bare.exec(`CREATE ROLE vintem_owner NOLOGIN; CREATE ROLE vintem_app NOLOGIN;
    CREATE SCHEMA vintem AUTHORIZATION vintem_owner; SET search_path = vintem; SET TimeZone = 'UTC'; SET jit = off;
    SET bytea_output = 'hex'; SET synchronous_commit = off; SET plan_cache_mode = force_generic_plan;
    SET ROLE vintem_owner; CREATE TABLE migration (name text PRIMARY KEY, applied_at timestamptz NOT NULL);`);
  for (const name of (await readdir(migrations)).filter((one) => one.endsWith('.sql')).sort())
    bare.exec(await readFile(new URL(name, migrations), 'utf8'));
  bare.exec('RESET ROLE');
  const cells = [homeCell];
  while (cells.length < count) cells.push(await makeCell(bare));
  const cell = cells[1] ?? homeCell;
  const tables = bare
    .run<{ name: string }>(
      `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'vintem' AND c.relkind IN ('r', 'p') ORDER BY c.relname`,
      [],
    )
    .map(({ name }) => name);
  // Tables that others refer to go last.
  const last = ['account', 'connection', 'installation'];
  const order = [
    ...tables.filter((name) => ![...last, 'publisher', 'migration', 'cell', 'cell_migration'].includes(name)),
    ...last,
  ];
  const placesOf = (name: string): string[] =>
    (directoryTables.includes(name) ? [homeCell] : cells.toReversed()).map((schema) => `${schema}.${name}`);
  const places = order.flatMap(placesOf);
  const clearing = `RESET ROLE; ${places.map((place) => `DELETE FROM ${place}`).join('; ')}; SET ROLE vintem_app`;
  bare.exec('SET ROLE vintem_app');

  const versions = new Map<string, number>();
  let changes = 0;
  const changed = (names: readonly string[]): void => {
    for (const name of names) versions.set(name, (versions.get(name) ?? 0) + 1);
    if (names.length > 0) changes++;
  };
  /** The tables that the open transaction wrote to. */
  let written: string[] = [];
  /** Null: a transaction that was taken back may have changed it. */
  let path: string | null = homeCell;
  const look = (wanted: string): void => {
    if (path === wanted) return;
    bare.exec(`SET search_path = ${wanted}`);
    path = wanted;
  };
  const sessions = new Map<string, Session>();
  const on = (cell: string): Session => sessions.get(cell) ?? connect(cell);
  const connect = (cell: string): Session => {
    const wanted = cell === homeCell ? homeCell : `${cell}, ${homeCell}`;
    // Statements of its own: PostgreSQL plans one again whenever the path is another one than before.
    const here = openSession(lite, parserOf, `${cell} `);
    const session: Session = {
      run: (text, values) => {
        look(wanted);
        const names = writtenBy(text);
        written.push(...names);
        changed(names);
        return here.run(text, values);
      },
      exec: (text) => {
        if (text === 'BEGIN') look(wanted);
        if (text === 'ROLLBACK') {
          changed(written);
          path = null;
        }
        if (text === 'ROLLBACK' || text === 'BEGIN' || text === 'COMMIT') written = [];
        else if (text === clearing) changed(order);
        bare.exec(text);
      },
    };
    sessions.set(cell, session);
    return session;
  };
  const session = on(cell);
  let kept = new Map<string, number>();
  let restores = 0;

  let busy = false;
  const waiting: (() => void)[] = [];
  return {
    ...session,
    cells,
    cell,
    on,
    version: (table) => versions.get(table) ?? 0,
    changes: () => changes,
    keep: () => {
      bare.exec('RESET ROLE; DROP SCHEMA IF EXISTS kept CASCADE; CREATE SCHEMA kept');
      for (const place of places) bare.exec(`CREATE TABLE ${keptOf(place)} AS TABLE ${place}`);
      bare.exec('SET ROLE vintem_app');
      kept = new Map(versions);
    },
    restore: ({ afresh } = { afresh: false }) => {
      const dirty = afresh ? order : order.filter((name) => versions.get(name) !== kept.get(name));
      // A vacuum now and then: every run leaves its rows behind.
      bare.exec('RESET ROLE');
      if (++restores % 20 === 0) for (const place of places) bare.exec(`VACUUM ${place}`);
      bare.exec('SET session_replication_role = replica; BEGIN');
      if (afresh) bare.exec(`TRUNCATE ${places.join(', ')}`);
      for (const place of dirty.flatMap(placesOf)) {
        if (!afresh) bare.run(`DELETE FROM ${place}`, []);
        bare.run(`INSERT INTO ${place} SELECT * FROM ${keptOf(place)}`, []);
      }
      bare.exec('COMMIT; SET session_replication_role = origin; SET ROLE vintem_app');
      changed(dirty);
      for (const name of dirty) kept.set(name, versions.get(name) as number);
    },
    admin: (work) => {
      session.exec('RESET ROLE');
      try {
        return work();
      } finally {
        session.exec('SET ROLE vintem_app');
      }
    },
    isBusy: () => busy,
    acquire: () =>
      new Promise((resolve) => {
        const take = () => {
          busy = true;
          let given = false;
          resolve(() => {
            if (given) return;
            given = true;
            busy = false;
            waiting.shift()?.();
          });
        };
        if (busy || waiting.length > 0) waiting.push(take);
        else take();
      }),
    clear: () => session.exec(clearing),
    close: () => lite.close(),
  };
}

const keptOf = (place: string): string => `kept."${place}"`;

/** As `vintem cells add` makes one. */
async function makeCell(bare: Session): Promise<string> {
  const client = { query: async (text: string, values: unknown[] = []) => rowsOf(bare.run(text, values)) };
  bare.exec('BEGIN');
  const name = await makeCellWithin(client as unknown as pg.Client, 0);
  bare.exec('COMMIT');
  return name;
}

const rowsOf = (rows: unknown[]) => ({ rows, rowCount: rows.length });

const writes = /(?:INSERT INTO|DELETE FROM|(?<!FOR |FOR NO KEY |DO )UPDATE)\s+(\w+)/g;
const writers = new Map<string, readonly string[]>();

/** The tables that a statement writes to. */
function writtenBy(text: string): readonly string[] {
  let names = writers.get(text);
  if (!names) {
    names = [...text.matchAll(writes)].map(([, name]) => name as string);
    writers.set(text, names);
  }
  return names;
}

function integer(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error(`${text} is not a safe integer`);
  return value;
}

/** `{a,"b c",NULL}` of one dimension. */
function list(text: string, parse: (element: string) => unknown): unknown[] {
  const elements: unknown[] = [];
  for (const [whole, quoted] of text.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|[^,]+/g))
    elements.push(
      quoted !== undefined
        ? parse(quoted.replaceAll(/\\(.)/g, '$1'))
        : whole === 'NULL'
          ? null
          : parse(whole),
    );
  return elements;
}

/** As the service's pool reads: integers as numbers, instants as ms since 1970, bytes as Buffers, JSON parsed. */
function parserOf(oid: number): (text: string) => unknown {
  switch (oid) {
    case 16:
      return (text) => text === 't';
    case 17:
      return (text) => Buffer.from(text.slice(2), 'hex');
    case 20:
    case 21:
    case 23:
      return integer;
    case 1700:
      return (text) => (text.includes('.') ? Number(text) : integer(text));
    case 700:
    case 701:
      return Number;
    case 114:
    case 3802:
      return JSON.parse;
    case 1184:
      return parseTimestamp;
    case 1009:
    case 1015:
    case 2951:
      return (text) => list(text, (one) => one);
    case 1005:
    case 1007:
    case 1016:
      return (text) => list(text, integer);
    case 1185:
      return (text) => list(text, parseTimestamp);
    default:
      return (text) => text;
  }
}
