import pg from 'pg';
import type { Log } from '../../ground/log.ts';
import {
  CommitUnknown,
  ConnectionLost,
  committed,
  type Sql,
  type Statement,
  sqlState,
  type Transaction,
} from '../../ports/sql.ts';
import { arrayWritersOf, binaryArray } from './arrays.ts';
import {
  type BudgetLoad,
  type ConnectionBudget,
  connectionBudget,
  type Places,
  type SharingPool,
} from './connection-budget.ts';
import { type Answer, type Asked, RoundTrip } from './round-trip.ts';

/**
 * The Sql port over `pg` with its pipeline: statements that are issued in one turn of the event loop go out together at its end
 * (`RoundTrip`), without waiting for those before them. Behind one that fails nothing of its round trip is run, COMMIT included,
 * and a later one of its transaction fails (25P02) or turns COMMIT into ROLLBACK.
 *
 * Values: numbers, strings, booleans, Buffers, null, and arrays of them (`Buffer[]` for `bytea[]`, `number[]` for
 * `bigint[]`, `string[]` for `uuid[]` and `text[]`, null elements allowed). Instants go as text, `timestamp(ms)`, and in
 * arrays as milliseconds. JSON goes as text, also in arrays (`$1::jsonb`, `$1::jsonb[]` with `JSON.stringify`ed strings):
 * the driver would take a bare array for a PostgreSQL array. Arrays need their cast in the statement (`$1::uuid[]`).
 *
 * Results: `bigint` and `numeric` are numbers (an integer that is not safe is an error), `timestamptz` is ms since 1970,
 * `bytea` a Buffer, `json` and `jsonb` parsed, `uuid` text.
 */
export interface Pool extends Sql {
  /** Waits for the transactions under way and closes every connection. */
  close(): Promise<void>;
  /** Of its budget: of all pools that share it. */
  load(): BudgetLoad;
}

export interface PoolOptions {
  url: string;
  log: Log;
  /** Shown in `pg_stat_activity`, with the cell behind it where that is not the first one. */
  name: string;
  /** How many connections at most; 10 by default. */
  size?: number;
  /** The role that every connection works as, from its first moment. */
  role?: string;
  /** The schema of the accounts whose rows it reads and writes, in front of the directory; the first cell by default. */
  cell?: string;
  /** Looks at every connection before it is used. Rejects: it is not used. */
  verify?(client: pg.PoolClient): Promise<void>;
  /** Shared with the other pools of the process; by default it has one of its own, of its size. */
  budget?: ConnectionBudget;
}

const LOCK_TIMEOUT_MS = 2_000;
const STATEMENT_TIMEOUT_MS = 5_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 3_000;
/** The settings that every statement of the service relies on, as `pg_settings` shows them. A pooler between may drop it: `checkServiceRole` looks. */
export const sessionSettings = {
  search_path: 'vintem',
  // An acknowledged commit is on disk, and at the synchronous standby where there is one. Of the server it could be changed under open sessions
  // (ALTER SYSTEM and a reload), and `local` would make a synchronous standby an asynchronous one.
  synchronous_commit: 'on',
  // A BEGIN that fails (a cancel may hit it) would leave the statements issued behind it outside of any transaction,
  // each committing by itself. So outside of BEGIN … READ WRITE nothing can be written.
  default_transaction_read_only: 'on',
  // Every statement reads by a key. For arrays of one element PostgreSQL would plan each execution again, for a plan a few percent
  // better than the generic one: half of the database's cost of a lone transfer.
  plan_cache_mode: 'force_generic_plan',
  // A plan that was made while a table was empty is kept until the table is analyzed, a minute later at best.
  enable_seqscan: 'off',
  lock_timeout: `${LOCK_TIMEOUT_MS}`,
  statement_timeout: `${STATEMENT_TIMEOUT_MS}`,
  idle_in_transaction_session_timeout: `${IDLE_IN_TRANSACTION_TIMEOUT_MS}`,
} as const;
/** Waiting for a place among the connections of the process, and then for a connection. */
const CONNECT_TIMEOUT_MS = 5_000;
/** Without any answer for this long the server's machine is gone: the server itself gives up after 5 s. */
const ANSWER_TIMEOUT_MS = 8_000;

/**
 * How many connections the pools of all cells have together in what serves requests and follows payments, and in the thread that delivers. One
 * for each cell, so that its next statement finds one open, and what a process with one cell has besides.
 *
 * Rejected: 32 at most, for any number of cells. Over 64 of them a worker without work opened one for each look, 1.9 s of CPU a second for 0.26
 * now, and a transfer took three times the CPU.
 */
export const serviceBudget = (): ConnectionBudget =>
  connectionBudget((pools) => Math.max(10, pools + 6), CONNECT_TIMEOUT_MS);
export const deliveryBudget = (): ConnectionBudget =>
  connectionBudget((pools) => Math.max(5, pools + 1), CONNECT_TIMEOUT_MS);

export function openPool(options: PoolOptions): Pool {
  const { log } = options;
  const pool = openDriverPool(options);
  // Without listeners a backend that dies would end the process: on idle connections through the pool, on those that
  // are taken through the client itself.
  let closing = false;
  pool.on('error', (error) => {
    if (!closing) log.warn({ err: error }, 'an idle database connection was lost');
  });
  const size = pool.options.max;
  const { budget = connectionBudget(() => size, CONNECT_TIMEOUT_MS) } = options;
  const places = budget.join(sharing(pool, size));
  const connections = connectionsOf(pool, places);
  const begin = () => beginOn(connections);
  return {
    begin,

    run: async <Row>(statement: Statement, values: readonly unknown[] = []) => {
      if (onlyReads(statement)) return readOn<Row>(connections, statement, values);
      const tx = await begin();
      try {
        // Not awaited before COMMIT: both travel in one round trip.
        const rows = tx.run<Row>(statement, values);
        await tx.commit();
        return rows;
      } catch (error) {
        // A value that cannot be encoded throws after BEGIN: without this the connection would stay taken.
        await tx.rollback();
        throw error;
      }
    },

    tx: async (work) => committed(await begin(), work),

    close: async () => {
      closing = true;
      await pool.end();
      places.leave();
    },

    load: budget.load,
  };
}

function sharing(pool: pg.Pool, size: number): SharingPool {
  let closing = 0;
  return {
    size,
    open: () => pool.totalCount - closing,
    idle: () => pool.idleCount - pool.waitingCount,
    closeIdle: async () => {
      closing++;
      try {
        (await pool.connect()).release(true);
      } finally {
        closing--;
      }
    },
  };
}

function openDriverPool({
  url,
  name,
  size = 10,
  role = 'vintem_app',
  cell = 'vintem',
  verify,
}: PoolOptions): pg.Pool {
  const looks = [...(cell === 'vintem' ? [] : [worksIn(cell)]), ...(verify ? [verify] : []), plansOfServer()];
  const { connectionString, options } = withSessionOptions(url, {
    role,
    ...sessionSettings,
    // The cell first: names of its tables exist in the first cell as well.
    search_path: cell === 'vintem' ? 'vintem' : `${cell},vintem`,
    tcp_keepalives_idle: '10',
    tcp_keepalives_interval: '5',
    tcp_keepalives_count: '3',
  });
  return new pg.Pool({
    connectionString,
    options,
    application_name: cell === 'vintem' ? name : `${name} ${cell}`,
    max: size,
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    idleTimeoutMillis: 20_000,
    ...(looks.length > 0 && { verify: verifiedBy(looks) }),
  });
}

/** In another schema the same statements would find the tables of other accounts. A pooler between may drop what a connection asks for. */
const worksIn =
  (cell: string) =>
  async (client: pg.PoolClient): Promise<void> => {
    const { rows } = await client.query<{ schema: string }>('SELECT current_schema() AS schema');
    const schema = rows[0]?.schema;
    if (schema !== cell)
      throw new Error(`the connection works in ${schema} and not in ${cell}: is a pooler between?`);
  };

/**
 * Citus plans some statements only with their values: those that it carries out in steps, as an INSERT from a SELECT. It names a price for their generic plan that
 * PostgreSQL never takes, so there PostgreSQL chooses: from the sixth run on, the generic one for all others. A pool asks once where there is no Citus.
 */
export const plansOfServer = (): ((client: pg.ClientBase) => Promise<void>) => {
  let mayBeCitus = true;
  return async (client) => {
    if (!mayBeCitus) return;
    const { rowCount } = await client.query(
      `SELECT pg_catalog.set_config('plan_cache_mode', 'auto', false) FROM pg_catalog.pg_extension WHERE extname = 'citus'`,
    );
    mayBeCitus = rowCount === 1;
  };
};

const verifiedBy =
  (looks: readonly ((client: pg.PoolClient) => Promise<void>)[]) =>
  (client: pg.PoolClient, verified: (error?: Error) => void): void => {
    void (async () => {
      for (const look of looks) await look(client);
    })().then(() => verified(), verified);
  };

/** The connections of a pool, as what is sent over them needs them. */
interface Connections {
  take(): Promise<pg.PoolClient>;
  /** @param broken it is closed */
  give(client: pg.PoolClient, broken: boolean): void;
  /** Statements issued in one turn of the event loop leave as one round trip. Throws for values that cannot be sent: nothing is issued then. */
  issue(client: pg.PoolClient, statement: Statement, values?: readonly unknown[]): Promise<Answer>;
  isLost(client: pg.PoolClient): boolean;
}

function connectionsOf(pool: pg.Pool, places: Places): Connections {
  const lost = new WeakSet<pg.PoolClient>();
  pool.on('connect', (client) => {
    client.on('error', () => lost.add(client));
    client.on('end', () => lost.add(client));
  });
  const plans = plansByGrowth();
  const leaving = new WeakMap<pg.PoolClient, Asked[]>();
  return {
    take: async () => {
      try {
        const client = await places.take(
          () => pool.connect(),
          (late) => late.release(),
        );
        plans.renew(client);
        return client;
      } catch (error) {
        throw connectionLost('no connection to PostgreSQL', error);
      }
    },

    give: (client, broken) => {
      client.release(broken);
      places.give();
    },

    issue: (client, statement, values = []) => {
      const { name, text } = statement;
      const sent = encoded(statement, values);
      const answer = new Promise<Answer>((resolve, reject) => {
        const failed = (error: Error) => {
          if (!lost.has(client) && !endsConnection(error)) {
            // Not used again: the next call gets another connection, and with it the server that has become the primary.
            if (takesNoWrites(error)) lost.add(client);
            return reject(error);
          }
          lost.add(client);
          reject(connectionLost('the database connection was lost', error));
        };
        const answered = (one: Answer) => {
          plans.moved(name, Math.max(rowsGiven(statement, values), one.rows.length));
          resolve(one);
        };
        const asked: Asked = { name, text, values: sent, answered, failed };
        const others = leaving.get(client);
        if (others) return void others.push(asked);
        const together = [asked];
        leaving.set(client, together);
        process.nextTick(() => {
          leaving.delete(client);
          client.query(new RoundTrip(together, parserOf));
        });
      });
      // Several statements are issued before the first is awaited. If that one throws, the others are never awaited.
      answer.catch(() => {});
      return answer;
    },

    isLost: (client) => lost.has(client),
  };
}

/** Rows of one statement at which the tables are taken for grown. Later ANALYZE has been there. */
const growth = [64, 256, 1_024, 4_096, 16_384, 65_536];

interface Plans {
  /** A connection was taken: its plans are made again at their next use, if tables have grown since it was taken the last time. */
  renew(client: pg.PoolClient): void;
  /** A statement was given or returned so many rows. */
  moved(name: string, rows: number): void;
}

/**
 * Kept plans are those for the tables as they were then. On empty ones any index is as good as another, and until the first ANALYZE, a
 * minute later, a payment was looked up through all of its account (5 ms for thirty, at 10,000 payments), a refund through all refunds
 * (1.6 s for sixty, at 28,000). So they are made again as what the statements move grows. Rejected: by how often a connection was taken.
 * Polling takes it a thousand times before the first payment comes, and then it takes as many more.
 */
function plansByGrowth(): Plans {
  const moved = new Map<string, number>();
  const madeAt = new WeakMap<pg.PoolClient, number>();
  let grown = 0;
  return {
    renew: (client) => {
      const stale = (madeAt.get(client) ?? grown) < grown;
      madeAt.set(client, grown);
      // By itself: in front of BEGIN in a round trip it would begin a transaction of its own.
      if (stale) client.query('DISCARD PLANS', () => {});
    },
    moved: (name, rows) => {
      const before = moved.get(name) ?? 0;
      if (rows === 0 || before >= (growth.at(-1) as number)) return;
      moved.set(name, before + rows);
      if (growth.some((step) => before < step && step <= before + rows)) grown++;
    },
  };
}

/** Rows that a statement is given: its longest array, or one that it may write. */
function rowsGiven(statement: Statement, values: readonly unknown[]): number {
  let rows = onlyReads(statement) ? 0 : 1;
  for (const value of values) if (Array.isArray(value) && value.length > rows) rows = value.length;
  return rows;
}

/** A statement that changes nothing needs no transaction. */
async function readOn<Row>(
  { take, give, issue, isLost }: Connections,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  const client = await take();
  try {
    const result = await issue(client, statement, values);
    return result.rows as Row[];
  } finally {
    give(client, isLost(client));
  }
}

async function beginOn({ take, give, issue, isLost }: Connections): Promise<Transaction> {
  const client = await take();
  let ended = false;
  /** The first thing that went wrong: nothing of this transaction can be committed any more. */
  let failure: unknown;
  let failed = false;
  const fail = (error: unknown) => {
    if (failed) return;
    failed = true;
    failure = error;
  };
  issue(client, begins).catch(fail);

  /** Ends whatever is open and gives the connection back, or throws it away. */
  async function giveBack(): Promise<void> {
    ended = true;
    if (isLost(client)) return give(client, true);
    try {
      await issue(client, rollsBack);
      give(client, false);
    } catch {
      give(client, true);
    }
  }

  return {
    run: <Row>(statement: Statement, values: readonly unknown[] = []) => {
      if (ended || failed) {
        const refused = Promise.reject(failed ? failure : new Error('the transaction has ended'));
        refused.catch(() => {});
        return refused;
      }
      const rows = issue(client, statement, values).then(
        (result) => result.rows as Row[],
        (error) => {
          fail(error);
          throw error;
        },
      );
      rows.catch(() => {});
      return rows;
    },
    commit: async () => {
      if (ended) throw failed ? failure : new Error('the transaction has ended');
      if (failed || isLost(client)) {
        fail(connectionLost('the database connection was lost', undefined));
        await giveBack();
        throw failure;
      }
      ended = true;
      let result: Answer;
      try {
        result = await issue(client, commits);
      } catch (error) {
        await giveBack();
        // A statement before it failed: the server did not run COMMIT.
        if (failed && !(failure instanceof ConnectionLost)) throw failure;
        // It failed itself. With the connection gone it may have been read and carried out (a FATAL proves nothing either: waiting for a
        // standby is cancelled after the local commit). An ERROR of PostgreSQL proves that nothing was committed, but one of Citus does not:
        // its node may have committed without being able to say so. Nothing here has constraints that are checked at COMMIT.
        throw new CommitUnknown('COMMIT was not confirmed', { cause: error });
      }
      give(client, false);
      // COMMIT of a transaction in which something failed answers ROLLBACK.
      if (result.completed !== 'COMMIT')
        throw failed ? failure : new Error('the transaction was rolled back');
    },
    rollback: async () => {
      if (!ended) await giveBack();
    },
  };
}

/** A parameter for `timestamptz`. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}

/** A parameter for `timestamptz[]`. */
export function timestamps(instants: readonly (number | null)[]): (string | null)[] {
  return instants.map((ms) => (ms === null ? null : new Date(ms).toISOString()));
}

/**
 * A connection URL without the parameters that are ours to set, and the `options` that set `settings` from a
 * connection's first moment. (The driver lets parameters of the URL win over everything else.)
 */
export function withSessionOptions(
  url: string,
  settings: Record<string, string>,
): { connectionString: string; options: string } {
  const address = new URL(url);
  const before = address.searchParams.get('options');
  for (const ours of ['options', 'application_name', 'statement_timeout', 'lock_timeout', 'query_timeout']) {
    address.searchParams.delete(ours);
  }
  const fixed = {
    TimeZone: 'UTC',
    DateStyle: 'ISO,MDY',
    client_encoding: 'UTF8',
    bytea_output: 'hex',
    jit: 'off',
  };
  const all = Object.entries({ ...fixed, ...settings }).map(([name, value]) => `-c ${name}=${value}`);
  return { connectionString: address.toString(), options: [...(before ? [before] : []), ...all].join(' ') };
}

const begins: Statement = { name: 'begin', text: 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE' };
const commits: Statement = { name: 'commit', text: 'COMMIT' };
const rollsBack: Statement = { name: 'rollback', text: 'ROLLBACK' };

const knownWriters = new WeakMap<Statement, ReturnType<typeof arrayWritersOf>>();

/** The parameters of a statement as they go out: arrays in PostgreSQL's binary format. @throws Error for a value that cannot be sent */
export function encoded(statement: Statement, values: readonly unknown[]): (string | Buffer | null)[] {
  let writers = knownWriters.get(statement);
  if (writers === undefined) {
    writers = arrayWritersOf(statement.text);
    knownWriters.set(statement, writers);
  }
  return values.map((value, at) => {
    if (value === null || value === undefined) return null;
    if (typeof value === 'string' || value instanceof Buffer) return value;
    if (typeof value === 'number' || typeof value === 'boolean') return String(value);
    const writer = Array.isArray(value) ? writers[at] : undefined;
    if (writer === undefined) throw new Error(`${statement.name}: $${at + 1} is nothing that can be sent`);
    return binaryArray(writer, value as unknown[]);
  });
}

const READS = /^\s*(?:--[^\n]*\n\s*)*(?:SELECT|WITH)\b/i;
const MAY_WRITE = /\b(INSERT|UPDATE|DELETE|MERGE|SHARE|INTO|LOCK)\b/i;
const knownReads = new WeakMap<Statement, boolean>();

/** Whether a statement can run in a read-only transaction. In doubt it cannot, which costs a BEGIN and a COMMIT. */
export function onlyReads(statement: Statement): boolean {
  const known = knownReads.get(statement);
  if (known !== undefined) return known;
  const reads = READS.test(statement.text) && !MAY_WRITE.test(statement.text);
  knownReads.set(statement, reads);
  return reads;
}

function endsConnection(error: Error): boolean {
  const { severity } = error as { severity?: string };
  return severity === 'FATAL' || severity === 'PANIC' || error.message === 'Query read timeout';
}

/**
 * The server behind this connection is a standby by now, or was made read-only. Behind a proxy or an address that moved, the connection
 * itself stays well. `BEGIN … READ WRITE` answers 0A000 on a standby; nothing else of ours can be answered so.
 */
const takesNoWrites = (error: Error): boolean => ['0A000', '25006'].includes(sqlState(error) ?? '');

function connectionLost(message: string, cause: unknown): ConnectionLost {
  const error = new ConnectionLost(message, { cause });
  // Only PostgreSQL's own codes: those of the operating system (EPIPE) can look like one.
  if (cause instanceof pg.DatabaseError) Object.assign(error, { code: cause.code });
  return error;
}

// ----------------------------------------------------------------------------------------------------------- results

const OID = {
  int8: 20,
  numeric: 1700,
  timestamptz: 1184,
  date: 1082,
  timestamp: 1114,
  interval: 1186,
  int8Array: 1016,
  numericArray: 1231,
  timestamptzArray: 1185,
};

type Parser = (text: string) => unknown;

const parsers = new Map<number, Parser>([
  [OID.int8, parseInteger],
  [OID.numeric, parseNumeric],
  [OID.timestamptz, parseTimestamp],
  // Without a zone they are not instants: the driver's Date would be one of the machine's own zone.
  [OID.date, (text) => text],
  [OID.timestamp, (text) => text],
  [OID.interval, (text) => text],
  [OID.int8Array, (text) => parseList(text, parseInteger)],
  [OID.numericArray, (text) => parseList(text, parseNumeric)],
  [OID.timestamptzArray, (text) => parseList(text, parseTimestamp)],
]);

const parserOf = (oid: number): Parser => parsers.get(oid) ?? (pg.types.getTypeParser(oid, 'text') as Parser);

function parseInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error(`PostgreSQL answered ${text}: not a safe integer`);
  return value;
}

function parseNumeric(text: string): number {
  if (!text.includes('.')) return parseInteger(text);
  const value = Number(text);
  if (!Number.isFinite(value)) throw new Error(`PostgreSQL answered ${text}: not a number`);
  return value;
}

/** `{1,NULL,"2026-11-20 20:43:18+00"}` of values that hold no comma, quote or backslash themselves. */
function parseList<Value>(text: string, parse: (element: string) => Value): (Value | null)[] {
  if (text === '{}') return [];
  if (text.startsWith('{{') || text.startsWith('[')) throw new Error('only one-dimensional arrays are read');
  return text
    .slice(1, -1)
    .split(',')
    .map((element) => (element === 'NULL' ? null : parse(element.replaceAll('"', ''))));
}

/** `2026-11-20 20:43:18.123+00`, as a server with DateStyle ISO and TimeZone UTC writes it. Below a ms is cut off. */
export function parseTimestamp(text: string): number {
  if (text.charCodeAt(4) !== 45 || !text.endsWith('+00') || text.length > 29) {
    const ms = Date.parse(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'));
    if (Number.isNaN(ms)) throw new Error(`PostgreSQL answered ${text}: not an instant that can be read`);
    return ms;
  }
  const ms = text.length > 22 ? Math.trunc(Number(`0${text.slice(19, -3)}`) * 1000 + 1e-6) : 0;
  return Date.UTC(
    digits(text, 0, 4),
    digits(text, 5, 7) - 1,
    digits(text, 8, 10),
    digits(text, 11, 13),
    digits(text, 14, 16),
    digits(text, 17, 19),
    ms,
  );
}

function digits(text: string, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at++) value = value * 10 + text.charCodeAt(at) - 48;
  return value;
}
