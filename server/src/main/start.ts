import { spawn } from 'node:child_process';
import { getCompileCacheDir } from 'node:module';
import { connect, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { type Config, isTrial, reachableHost, SettingFault } from '../ground/config.ts';
import type { Log } from '../ground/log.ts';
import { hasSecret, loadSecrets } from '../ground/secrets.ts';
import { hasLiveConnection } from '../operate/connections/connections.sql.ts';
import {
  createFirstTestAccount,
  FIRST_ACCOUNT,
  findFirstTestAccount,
  findTestAccount,
} from '../operate/connections/directory.ts';
import { noteDatabaseLoss } from '../operate/lost-time.ts';
import type { Clock } from '../ports/clock.ts';
import { type Ids, systemIds } from '../ports/ids.ts';
import { homeCell, makeCell } from '../store/database/cells.ts';
import { connectAlone } from '../store/database/client.ts';
import { type DatabaseClock, databaseClock } from '../store/database/clock-offset.ts';
import type { BudgetLoad } from '../store/database/connection-budget.ts';
import { type EmbeddedPostgres, startEmbedded } from '../store/database/embedded.ts';
import { claimSecret, keepInUse, missingSecrets } from '../store/database/installation-secret.ts';
import { waitForLock } from '../store/database/lock.ts';
import { createMarkWatch, type MarkWatch } from '../store/database/mark.ts';
import {
  type MigrateOptions,
  migrate,
  type PendingMigration,
  planMigrations,
  prepareInstallation,
} from '../store/database/migrate.ts';
import {
  databaseOfCommand,
  databaseOfPart,
  loginsOf,
  type OpenDatabase,
  prepareDataDir,
} from '../store/database/open.ts';
import { openPool, type Pool, serviceBudget } from '../store/database/pool.ts';
import { checkServiceRole } from '../store/database/roles.ts';
import {
  checkMaker,
  findServiceLogin,
  makeServiceLogin,
  mayMakeLogin,
} from '../store/database/service-login.ts';
import { type Cells, createCells } from './cells.ts';
import type { DeliveryThreadOptions } from './delivery-thread.ts';
import { createReadiness } from './readiness.ts';
import type { Ground, OpenCell, Runtime } from './runtime.ts';
import type { Worker } from './worker.ts';

/** The start of a process. */
export interface Edge {
  config: Config;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** One line on standard output. */
  say: (line: string) => void;
  /** Whether the person at the terminal says yes; absent: there is no terminal, or a program reads the answer. */
  confirm?: (question: string) => Promise<boolean>;
}

/** The parts of every command once its database is there. */
/** Rows of a cell's accounts, and the directory. */
export interface CellDatabase {
  cell: string;
  sql: Pool;
}

export interface Context extends Omit<Ground, 'net'> {
  sql: Pool;
  /** Of its pools, whatever their cell. */
  load(): BudgetLoad;
  openCell: OpenCell;
  /** The databases of a command; a process that serves has runtimes. */
  cells: Cells<CellDatabase>;
  /** With the login that the service's own connections use. */
  databaseUrl: string;
  /** Notices when the database goes back, once it has begun. */
  mark: MarkWatch;
  /** Compares the machine's clock by what `clock` measures. */
  watchClock: DatabaseClock['watch'];
}

/** Aborted when the process shall end. */
type Ending = AbortSignal;

/** `vintem start`: everything, until `ending`. */
export async function start(edge: Edge, ending: Ending): Promise<void> {
  const { config, clock, log, say } = edge;
  await prepareDataDir(config.dataDir, 'write');
  const running: Running = {};
  const lock = await waitForLock(clock, config.dataDir, { command: 'start', port: config.port }, 15_000);
  running.lock = { stop: lock.release };
  try {
    await requireFree('PORT', config.host, config.port);
    // While initdb works, the rest of the program is read and the simulator starts.
    const parts = serviceParts();
    parts.catch(() => {});
    if (isTrial(config) && config.simulatorPort !== null) {
      await requireFree('SIMULATOR_PORT', '127.0.0.1', config.simulatorPort);
      running.simulator = keepSimulator(edge, config.simulatorPort, await simulatorClientKey(edge));
    }
    const database = await databaseOfStart(edge, running);
    const context = await prepare(edge, database, running);
    await refuseLiveCopy(context, database.copyOf);
    const trial = isTrial(config) && !(await hasLiveConnection(context.sql));
    await (trial ? greet(context, say) : endTrial(context));
    const simulates = trial || (await findTestAccount(context.sql)) !== null;
    if (simulates && !running.simulator && config.simulatorPort !== null) {
      await requireFree('SIMULATOR_PORT', '127.0.0.1', config.simulatorPort);
      running.simulator = keepSimulator(edge, config.simulatorPort, await simulatorClientKey(edge));
    }
    if (!simulates && running.simulator) {
      // It was begun beside the database, which says only now that money moves here.
      await running.simulator.stop(2_000);
      delete running.simulator;
    }
    await running.simulator?.ready;
    const service = await parts;
    if (ending.aborted) return;
    const runtime = await openRunning(service, context, running, ending);
    const worker = service.runWorker(runtime, config.publicUrl, { hearsAll: true });
    running.worker = worker;
    const api = await service.runApi(runtime, config, { besideWorker: true });
    running.api = api;
    running.outgoing = runDeliveries(service, runtime, worker, {
      databaseUrl: context.databaseUrl,
      hearsAll: true,
    });
    if (running.simulator) say(`vintem simulator http://127.0.0.1:${config.simulatorPort}`);
    const { hasMailbox, mailboxLink } = await import('../panel/site/mailbox.ts');
    if (trial && hasMailbox({ config }))
      say(`vintem mailbox ${mailboxLink(config.publicUrl, context.secrets)}`);
    if (trial) {
      say(`vintem documentation ${api.url}/docs`);
      say(`vintem console ${config.operatorUrl}/operator opens to whom \`vintem operator create\` invites`);
    }
    say(`vintem ready ${api.url}`);
    await aborted(ending);
  } finally {
    await lock.announceEnd();
    await drain(running, clock, log);
  }
}

/** `vintem api` or `vintem worker`: one part alone, on a database that is there, until `ending`. */
export async function startPart(edge: Edge, ending: Ending, part: 'api' | 'worker'): Promise<void> {
  const { config, clock, log, say } = edge;
  if (part === 'api') await requireFree('PORT', config.host, config.port);
  const running: Running = {};
  try {
    const database = await databaseOfPart(edge);
    const context = await prepare(edge, database, running);
    const service = await serviceParts();
    if (ending.aborted) return;
    const runtime = await openRunning(service, context, running, ending);
    if (part === 'api') {
      const api = await service.runApi(runtime, config);
      running.api = api;
      say(`vintem api ready ${api.url}`);
    } else {
      // The writes of an `api` process are found by looking.
      const worker = service.runWorker(runtime, config.publicUrl, { hearsAll: false });
      running.worker = worker;
      running.outgoing = runDeliveries(service, runtime, worker, {
        databaseUrl: context.databaseUrl,
        hearsAll: false,
      });
      say('vintem worker ready');
    }
    await aborted(ending);
  } finally {
    await drain(running, clock, log);
  }
}

/**
 * `vintem simulator`: the provider simulator alone, until `ending`. Where no secret of an installation is configured (it runs
 * apart, with a folder of its own), it serves every client, since it cannot know the installation's.
 */
export async function startSimulator(edge: Edge, ending: Ending): Promise<void> {
  const { config, clock, log, say } = edge;
  const port = config.simulatorPort ?? 4010;
  const host = config.simulatorHost;
  const knowsInstallation = await hasSecret(config);
  if (!knowsInstallation)
    log.warn({ dataDir: config.dataDir }, 'the simulator serves every client: no VINTEM_SECRET');
  await requireFree('SIMULATOR_PORT', host, port);
  const child = spawnSimulator(config, port, knowsInstallation ? await simulatorClientKey(edge) : null, host);
  await listens(clock, port, child.exit, host);
  say(`vintem simulator ready http://${reachableHost(host)}:${port}`);
  await Promise.race([aborted(ending), child.exit]);
  if (!ending.aborted) throw new Error(`the simulator ended (${await child.exit})`);
  await child.stop(clock);
}

/** `vintem migrate`. */
export async function migrateAlone(edge: Edge): Promise<{ applied: string[] }> {
  const database = await databaseOfCommand(edge, 'migrate');
  try {
    const done = await migrate(migrateOptions(edge, database));
    await prepareServiceLogin(edge, database);
    return done;
  } finally {
    await database.close();
  }
}

/** `vintem cells add`, over a schema that is up to date, with the login that may change it. @returns its name */
export async function addCellAlone(edge: Edge): Promise<string> {
  const database = await databaseOfCommand(edge, 'cells add');
  try {
    await migrate(migrateOptions(edge, database));
    const client = await connectAlone(database.migrationUrl ?? database.url, 'vintem cells add', {});
    try {
      const { rows } = await client.query<{ now: Date }>('SELECT clock_timestamp() AS now');
      return await makeCell(client, rows[0]?.now.getTime() ?? edge.clock.now());
    } finally {
      await client.end();
    }
  } finally {
    await database.close();
  }
}

/** `vintem migrate --plan`: what `migrate` would apply. */
export async function planOfMigrate(edge: Edge): Promise<PendingMigration[]> {
  const database = await databaseOfCommand(edge, 'migrate --plan');
  try {
    return await planMigrations(migrateOptions(edge, database));
  } finally {
    await database.close();
  }
}

/** The service itself. Read when it is wanted: the other commands start without it, and `start` while initdb works. */
async function serviceParts() {
  const [runtime, api, worker, outgoing, net] = await Promise.all([
    import('./runtime.ts'),
    import('./api.ts'),
    import('./worker.ts'),
    import('./delivery-thread.ts'),
    import('../ports/undici-net.ts'),
  ]);
  return { ...runtime, ...api, ...worker, ...outgoing, ...net };
}

type ServiceParts = Awaited<ReturnType<typeof serviceParts>>;

/** The shared parts of `api` and `worker` of one process. */
async function openRunning(
  service: ServiceParts,
  context: Context,
  running: Running,
  ending: Ending,
): Promise<Runtime> {
  const net = service.createUndiciNet();
  running.net = { stop: net.close };
  const clockOffset = context.watchClock();
  const runtime = await service.openRuntime({ ...context, net, clockOffset }, ending);
  running.till = {
    stop: async () => {
      for (const cell of runtime.cells.all()) cell.till.close();
    },
  };
  running.cells = { stop: runtime.cells.close };
  running.traces = { stop: async () => runtime.traces?.stop() };
  void keepInUse(context, ending);
  // Before anything is sent or accepted.
  await context.mark.begin(
    {
      ...context,
      dataDir: context.config.dataDir,
      onLoss: (since, why) => noteDatabaseLoss(runtime, since, why),
    },
    ending,
  );
  const { host, metricsPort } = context.config;
  if (metricsPort !== null) {
    await requireFree('METRICS_PORT', host, metricsPort);
    const [{ createMetrics }, { serveMonitoring }] = await Promise.all([
      import('./metrics.ts'),
      import('./monitoring.ts'),
    ]);
    const readiness = createReadiness(runtime, clockOffset);
    const { databaseStandbys } = context.config;
    const deps = { ...runtime, readiness, clockOffset, pool: context.load, databaseStandbys };
    const metrics = await createMetrics(deps);
    running.metrics = await serveMonitoring(
      { log: runtime.log, readiness, metrics, draining: ending },
      { host, port: metricsPort },
    );
  }
  return runtime;
}

function runDeliveries(
  service: ServiceParts,
  runtime: Runtime,
  { shares }: Worker,
  options: Omit<DeliveryThreadOptions, 'memory'>,
): Stoppable {
  const outgoing = service.startDeliveryThread({ ...options, memory: runtime.measures.deliveries.memory });
  shares.each(outgoing.take);
  runtime.cells.each((cell) => {
    cell.eventsWritten.listen(outgoing.written);
  });
  return outgoing;
}

interface OnDatabaseOptions {
  /** Also with a secret that cannot open everything that is stored: for looking alone. */
  anySecret?: boolean;
}

/** Runs `work` beside a running service or alone, on a database that is migrated. */
export async function onDatabase<T>(
  edge: Edge,
  command: string,
  work: (context: Context) => Promise<T>,
  options: OnDatabaseOptions = {},
): Promise<T> {
  const running: Running = {};
  try {
    const database = await databaseOfCommand(edge, command);
    running.database = { stop: database.close };
    return await work(await prepare(edge, database, running, options));
  } finally {
    await drain(running, edge.clock, edge.log);
  }
}

// ---------------------------------------------------------------------------------------------------------- the ending

interface Stoppable {
  /** `withinMs`: what is left of the 10 s that are promised. */
  stop(withinMs: number): Promise<void>;
}

/** The running parts, in the order in which they end. */
interface Running {
  api?: Stoppable;
  worker?: Stoppable;
  /** Behind those whose last events it publishes. */
  outgoing?: Stoppable;
  /** Sends whose provider answers only now find it closed: their leases run out, and the next process asks. */
  till?: Stoppable;
  simulator?: Stoppable & { ready: Promise<void> };
  metrics?: Stoppable;
  traces?: Stoppable;
  net?: Stoppable;
  clock?: Stoppable;
  cells?: Stoppable;
  pool?: Stoppable;
  database?: Stoppable;
  lock?: Stoppable;
}

/**
 * When each has to have ended, in ms after the drain began; what has not is left behind. Open requests first: their waits
 * are cut, so they are answered as soon as what they have under way is.
 */
const ENDS_MS: Record<keyof Running, number> = {
  api: 4_000,
  worker: 5_500,
  outgoing: 6_200,
  till: 6_500,
  simulator: 7_000,
  metrics: 7_100,
  traces: 7_150,
  net: 7_200,
  clock: 7_300,
  cells: 7_400,
  pool: 7_500,
  database: 9_500,
  lock: 9_700,
};

async function drain(running: Running, clock: Clock, log: Log): Promise<void> {
  const began = clock.monotonicMs();
  for (const [name, endsMs] of Object.entries(ENDS_MS) as [keyof Running, number][]) {
    const part = running[name];
    if (!part) continue;
    const leftMs = Math.max(200, endsMs - (clock.monotonicMs() - began));
    const waited = new AbortController();
    const late = clock.sleep(leftMs, waited.signal).then(() => 'late' as const);
    try {
      if ((await Promise.race([part.stop(leftMs), late])) === 'late') {
        log.warn({ part: name, leftMs }, 'did not end in time');
      }
    } catch (error) {
      log.error({ err: error, part: name }, 'did not end as it should');
    }
    waited.abort();
  }
}

function aborted(ending: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (ending.aborted) resolve();
    else ending.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Restarts a process that ends by itself, after waits that grow while it keeps failing. */
async function keep(
  clock: Clock,
  ending: AbortSignal,
  { lost, again }: { lost(): Promise<unknown>; again(): Promise<void> },
): Promise<void> {
  let waitMs = 100;
  for (;;) {
    const began = clock.monotonicMs();
    await Promise.race([lost(), aborted(ending)]);
    if (clock.monotonicMs() - began > 60_000) waitMs = 100;
    await clock.sleep(waitMs, ending);
    if (ending.aborted) return;
    waitMs = Math.min(waitMs * 2, 5_000);
    await again();
  }
}

/** @throws SettingFault when another process listens there */
async function requireFree(setting: string, host: string, port: number): Promise<void> {
  const code = await new Promise<string | undefined>((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
  if (code === 'EADDRINUSE') {
    // `api` and `worker` with one environment on one machine.
    const hint =
      setting === 'METRICS_PORT' ? '; every process on a machine needs a METRICS_PORT of its own' : '';
    throw new SettingFault(`${setting}: port ${port} on ${host} is taken${hint}`);
  }
  if (code === 'EACCES') throw new SettingFault(`${setting}: this user may not listen on port ${port}`);
  if (code !== undefined) throw new SettingFault(`HOST: ${host} is no address of this machine (${code})`);
}

// ------------------------------------------------------------------------------------------------------ the database

type Database = Omit<OpenDatabase, 'close'>;

export const migrateOptions = (
  { clock, log }: Edge,
  { url, migrationUrl }: Pick<Database, 'url' | 'migrationUrl'>,
): MigrateOptions => ({ url, migrationUrl, clock, log });

/** Migrated, with the rows that every installation has, behind a pool whose login and role were checked. */
async function prepare(
  edge: Edge,
  database: Database,
  running: Running,
  options: OnDatabaseOptions = {},
): Promise<Context> {
  const { applied } = await migrate(migrateOptions(edge, database));
  const isNew = applied[0]?.startsWith('0001_') ?? false;
  if (isNew) edge.log.info({ migrations: applied.length }, 'made the database');
  else if (applied.length > 0) edge.log.info({ applied }, 'migrated');
  const found = await withServiceLogin(edge, database);
  if (found !== null) return openContext(edge, found, running, options);
  // A secret that cannot open everything makes no login: looking needs none.
  if (options.anySecret) return openContext(edge, database, running, options);
  await checkMaker(database);
  const before: Running = {};
  try {
    // Claims the secret: a start that is refused for another one leaves no login behind.
    const { clock, ids, secrets } = await openContext(edge, database, before, options);
    const { name, url } = await makeServiceLogin({ clock, ids, secrets }, database);
    edge.log.info({ login: name }, 'made a login for the service, which can do nothing else');
    database = { ...database, url, own: name };
  } finally {
    await drain(before, edge.clock, edge.log);
  }
  return openContext(edge, database, running, options);
}

/** With the login that the service shall use; null: it has to be made. Changes nothing. */
export async function withServiceLogin(edge: Edge, database: Database): Promise<Database | null> {
  if (database.embedded) return database;
  const secrets = (await hasSecret(edge.config)) ? await loadSecrets(edge.ids, edge.config) : null;
  const found = await findServiceLogin(database, secrets);
  if (found.kind === 'missing') return null;
  return found.kind === 'own' ? { ...database, url: found.url, own: found.name } : database;
}

/**
 * After `migrate`, whose login often may make roles where that of a later `start` may not. Without a secret, with another one than the
 * installation's, or without the right to make roles it is left to the start, which says what is missing.
 */
async function prepareServiceLogin(edge: Edge, database: Database): Promise<void> {
  const { config, clock, ids, log } = edge;
  if (!(await hasSecret(config)) || (await withServiceLogin(edge, database)) !== null) return;
  const secrets = await loadSecrets(ids, config);
  const sql = openPool({ url: database.url, log, name: 'vintem login', size: 1 });
  try {
    if ((await missingSecrets({ sql, secrets })).length > 0) return;
  } finally {
    await sql.close();
  }
  if (await mayMakeLogin(database)) await makeServiceLogin({ clock, ids, secrets }, database);
}

/** The parts of every command, over a migrated database. */
async function openContext(
  edge: Edge,
  database: Database,
  running: Running,
  { anySecret = false }: OnDatabaseOptions,
): Promise<Context> {
  const { config, log } = edge;
  const budget = serviceBudget();
  const mark = createMarkWatch();
  const { verify } = mark;
  const sql = openPool({ url: database.url, log, name: 'vintem', budget, verify });
  running.pool = { stop: sql.close };
  await checkServiceRole(sql, { log, own: database.own });
  // From here on every time and every id follows the database's clock.
  const clockEnds = new AbortController();
  const { clock, measured, watch } = databaseClock({ sql, clock: edge.clock, log }, clockEnds.signal);
  running.clock = { stop: async () => clockEnds.abort() };
  await measured;
  const ids = systemIds(clock);
  await prepareInstallation({ sql, clock, ids }, { live: config.provider !== null });
  const secrets = await loadSecrets(ids, config);
  if (!anySecret) await claimSecret({ sql, secrets });
  const openCell = (cell: string) =>
    openPool({ url: database.url, log, name: 'vintem', size: 5, cell, budget, verify });
  const cells = createCells<CellDatabase>(sql);
  cells.begin({ cell: homeCell, sql }, (cell) => {
    const pool = openCell(cell);
    return { runtime: { cell, sql: pool }, close: pool.close };
  });
  running.cells = { stop: cells.close };
  return {
    config,
    sql,
    load: sql.load,
    databaseUrl: database.url,
    clock,
    ids,
    log,
    secrets,
    openCell,
    cells,
    mark,
    watchClock: watch,
  };
}

/**
 * A copy of a data folder is for looking at an old state or for rehearsing an update. With connections that move money it would pay
 * and be paid beside the original, from one account at the provider and two books.
 */
async function refuseLiveCopy({ sql, config }: Context, copyOf: string | null): Promise<void> {
  if (copyOf === null || (config.provider === null && !(await hasLiveConnection(sql)))) return;
  throw new SettingFault(
    `DATA_DIR: ${config.dataDir} is a copy of ${copyOf}, and its connections move money: two services must not work on one account at a provider. Look at the copy with commands (\`vintem verify\`, \`vintem account list\`); to let it take over, end the other one and move ${copyOf} away`,
  );
}

async function databaseOfStart(edge: Edge, running: Running): Promise<Database & { copyOf: string | null }> {
  const { databaseUrl, migrationDatabaseUrl } = edge.config;
  if (databaseUrl !== null) {
    const database = { url: databaseUrl, migrationUrl: migrationDatabaseUrl ?? undefined };
    return { ...database, embedded: false, own: null, copyOf: null };
  }
  const database = await keepDatabase(edge);
  running.database = database;
  return database;
}

/** The embedded PostgreSQL, started anew whenever it ends by itself. */
async function keepDatabase({
  config,
  clock,
  log,
  say,
}: Edge): Promise<Stoppable & Database & { copyOf: string | null }> {
  const options = { dataDir: config.dataDir, log, say };
  let server: EmbeddedPostgres = await startEmbedded(options);
  const logins = loginsOf(server);
  const ending = new AbortController();
  const kept = keep(clock, ending.signal, {
    lost: () => server.lost,
    again: async () => {
      log.error('PostgreSQL ended by itself; starting it again');
      try {
        server = await startEmbedded({ ...options, port: Number(new URL(logins.url).port) });
        log.info('PostgreSQL runs again');
      } catch (error) {
        log.error({ err: error }, 'PostgreSQL did not start');
      }
    },
  });
  return {
    ...logins,
    copyOf: server.copyOf,
    stop: async (withinMs) => {
      ending.abort();
      // Waits for a start that is under way: nothing else would stop the process that it starts.
      await kept;
      await server.stop(withinMs);
    },
  };
}

/**
 * The first start of an empty database: an account to try things with, and its key. Should the process end between the
 * two, the next start makes the key.
 */
async function greet(context: Context, say: (line: string) => void): Promise<void> {
  const created = await createFirstTestAccount(context);
  const accountId = created?.ownerId ?? (await firstAccountWithoutKey(context));
  const cell = accountId === null ? undefined : await context.cells.ofAccount(accountId);
  if (accountId === null || cell === undefined) return;
  const { createKey, firstKeyName } = await import('../api/keys/keys.ts');
  const { permissions } = await import('../ground/permissions.ts');
  const { key } = await createKey(
    { ...context, sql: cell.sql },
    { accountId, name: firstKeyName, permissions },
  );
  say(`vintem test key ${key}`);
  const { createFirstMember } = await import('../panel/people/members.ts');
  const { email, password } = await createFirstMember(context, accountId);
  say(`vintem panel ${context.config.publicUrl} e-mail ${email} password ${password}`);
}

/** A printed key must not open anything once the installation is more than a trial: output is kept in logs. */
async function endTrial({ sql, clock, log, cells }: Context): Promise<void> {
  const account = await findFirstTestAccount(sql);
  const cell = account === null ? undefined : await cells.ofAccount(account);
  if (account === null || cell === undefined) return;
  const [{ revokeFirstKey }, { endFirstMember }] = await Promise.all([
    import('../api/keys/keys.ts'),
    import('../panel/people/members.ts'),
  ]);
  const ended = [
    ...(await revokeFirstKey({ sql: cell.sql, clock }, account)),
    ...(await endFirstMember({ sql })),
  ];
  if (ended.length > 0)
    log.warn({ ended }, 'the key and the password that the first start printed are revoked');
}

async function firstAccountWithoutKey({ sql }: Context): Promise<string | null> {
  const [row] = await sql.run<{ id: string }>(
    {
      name: 'start.keyless',
      text: `SELECT id FROM account
            WHERE name = $1 AND test AND NOT EXISTS (SELECT FROM api_key)
              AND (SELECT count(*) FROM account WHERE number > 0) = 1`,
    },
    [FIRST_ACCOUNT],
  );
  return row?.id ?? null;
}

// ------------------------------------------------------------------------------------------------------- the simulator

/** The simulator as a child, started anew whenever it ends by itself. */
function keepSimulator(
  { config, clock, log }: Edge,
  port: number,
  clientKey: string,
): Stoppable & { ready: Promise<void> } {
  let child = spawnSimulator(config, port, clientKey);
  const ending = new AbortController();
  const ready = listens(clock, port, child.exit);
  ready.catch(() => {});
  void keep(clock, ending.signal, {
    lost: () => child.exit,
    again: async () => {
      log.error({ exit: await child.exit }, 'the simulator ended by itself; starting it again');
      child = spawnSimulator(config, port, clientKey);
    },
  });
  return {
    ready,
    stop: () => {
      ending.abort();
      return child.stop(clock);
    },
  };
}

/** The simulator's credentials of our clients: the secret of the client `vintem`, from which those of others are made. */
const simulatorClientKey = async ({ ids, config }: Edge): Promise<string> =>
  (await loadSecrets(ids, config)).derive('simulator client').toString('hex');

interface Child {
  /** Resolves with how it ended. */
  exit: Promise<string>;
  stop(clock: Clock): Promise<void>;
}

/** It ends when the channel to us does, however we end. */
function spawnSimulator(
  { simulatorState, simulatorUrl }: Config,
  port: number,
  clientKey: string | null,
  host = '127.0.0.1',
): Child {
  const main = fileURLToPath(import.meta.resolve('@vintem/simulator'));
  const child = spawn(process.execPath, [main], {
    // Out of the terminal's process group: Ctrl-C is for us, and open payments are answered first.
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: getCompileCacheDir(),
      SIMULATOR_HOST: host,
      SIMULATOR_PORT: `${port}`,
      SIMULATOR_STATE: simulatorState,
      SIMULATOR_URL: simulatorUrl,
      ...(clientKey !== null && { SIMULATOR_CLIENT_KEY: clientKey }),
    },
  });
  const exit = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  return {
    exit,
    stop: async (clock) => {
      child.kill('SIGTERM');
      const waited = new AbortController();
      await Promise.race([exit, clock.sleep(800, waited.signal)]);
      waited.abort();
      child.kill('SIGKILL');
    },
  };
}

/** @throws Error when the program ended before it listened */
async function listens(clock: Clock, port: number, exit: Promise<string>, host = '127.0.0.1'): Promise<void> {
  const address = reachableHost(host).replace(/^\[|\]$/g, '');
  let ended: string | null = null;
  exit.then((reason) => {
    ended = reason;
  });
  for (;;) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, address, () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', () => resolve(false));
    });
    if (ended !== null) throw new Error(`the simulator did not start (${ended})`);
    if (open) return;
    await clock.sleep(20);
  }
}
