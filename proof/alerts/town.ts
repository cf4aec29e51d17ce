import { randomBytes } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@vintem/testkit/free-port.ts';
import { openReceiver, type Receiver } from '@vintem/testkit/receiver.ts';
import { type FakeStandby, openFakeStandby } from '@vintem/testkit/standby.ts';
import pg from 'pg';
import { createLog } from '../../server/src/ground/log.ts';
import { startEmbedded } from '../../server/src/store/database/embedded.ts';
import { command, newFolder, type Part, part } from '../chaos/processes.ts';
import { type Call, callWith, control, fund, pause } from '../processes/clients.ts';
import { openRelay, type Relay } from '../processes/relay.ts';

/** An installation as production has it: database, provider, api and worker are processes of their own, each with its metrics. */
export interface Town {
  folder: string;
  call: Call;
  operations: readonly string[];
  /** The merchant's server, which receives every event. */
  receiver: Receiver;
  /** Where the audit log goes. */
  auditReceiver: Receiver;
  simulatorUrl: string;
  simulator: Part;
  api: Part;
  worker: Part;
  /** An api of its own, with more settings. It is scraped on `sparePort`. */
  spareApi(env: Record<string, string>): Promise<Part>;
  /** The way of the api to the database. */
  relay: Relay;
  databasePort: number;
  /** The one that api and worker expect. */
  standby: { open(): Promise<void>; close(): Promise<void> };
  /** The superuser's. */
  databaseUrl: string;
  /** As the owner of the database, for what no process of the program may do. */
  sql<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  /** A session of its own that holds what `text` locks, until the returned function is called. */
  lock(text: string): Promise<() => Promise<void>>;
  /** A command of the operator's. @throws Error unless it ends with one of `codes` */
  run<T>(words: string[], codes?: number[]): Promise<T>;
  /** By job, for Prometheus. `spare` runs for one fault only, so no rule may ask whether it is up. */
  jobs: Record<string, number[]>;
  close(): Promise<void>;
}

export async function openTown(sparePort: number): Promise<Town> {
  const folder = await newFolder('alerts');
  const logFile = join(folder, 'log.jsonl');
  const [port, simulatorPort, apiMetrics, workerMetrics] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const dataDir = join(folder, 'database');
  // As root the database runs as another user, who has to pass through.
  await mkdir(dataDir, { mode: 0o711 });
  const database = await startEmbedded({
    dataDir,
    log: createLog('silent'),
    say: () => {},
  });
  const direct = new URL(database.url);
  const databasePort = Number(direct.port);
  const relay = await openRelay(databasePort);
  const relayed = new URL(direct);
  relayed.port = `${relay.port}`;
  const auditReceiver = await openReceiver();
  const env = {
    AUDIT_FORWARD_URL: auditReceiver.url,
    DATA_DIR: join(folder, 'data'),
    DATABASE_URL: direct.href,
    VINTEM_SECRET: randomBytes(32).toString('base64'),
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    SIMULATOR_PORT: `${simulatorPort}`,
    RATE_LIMITS: 'off',
    WEBHOOK_ALLOW_INSECURE_LOCAL: 'true',
    LOG_LEVEL: 'error',
    DATABASE_STANDBYS: '1',
  };
  const launch = (name: string, ready: string, more: Record<string, string> = {}) =>
    part(name, { words: [name], env: { ...env, ...more }, ready, logFile });
  const simulator = launch('simulator', 'simulator');
  const worker = launch('worker', 'vintem worker ready', { METRICS_PORT: `${workerMetrics}` });
  const api = launch('api', 'vintem api ready', {
    PORT: `${port}`,
    METRICS_PORT: `${apiMetrics}`,
    DATABASE_URL: relayed.href,
  });
  const spares: Part[] = [];
  const clients: pg.Client[] = [];
  const connect = async () => {
    const client = new pg.Client({ connectionString: direct.href });
    // The server may end before it.
    client.on('error', () => {});
    await client.connect();
    await client.query('SET search_path = vintem');
    clients.push(client);
    return client;
  };
  const run = async <T>(words: string[], codes: number[] = [0]): Promise<T> => {
    const { code, json, text } = await command<T>(words, env);
    if (!codes.includes(code ?? -1)) throw new Error(`vintem ${words.join(' ')} ended with ${code}: ${text}`);
    return json;
  };
  const receiver = await openReceiver();
  let replaying: FakeStandby | null = null;
  const standby = {
    async open() {
      replaying = await openFakeStandby(direct.href, 'db1');
    },
    async close() {
      await replaying?.close();
      replaying = null;
    },
  };
  const close = async () => {
    for (const one of [api, worker, simulator, ...spares]) {
      if (!one.isRunning()) continue;
      one.signal('SIGTERM');
      await Promise.race([one.exited(), pause(10_000)]);
      one.signal('SIGKILL');
    }
    relay.close();
    await standby.close();
    await Promise.all(clients.map((client) => client.end().catch(() => {})));
    await database.stop();
    await receiver.stop();
    await auditReceiver.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await run(['migrate']);
    await standby.open();
    await simulator.start();
    const account = await run<{ ownerId: string }>(['account', 'create', '--name', 'Loja', '--test']);
    const { key } = await run<{ key: string }>([
      ...['key', 'create', '--account', account.ownerId, '--name', 'alerts'],
      ...['--permissions', 'read,charges,transfers,operations,webhooks'],
    ]);
    await Promise.all([api.start(), worker.start()]);
    const call = callWith(`http://127.0.0.1:${port}`, key);
    const endpoint = { url: receiver.url, events: ['*'], requestKey: crypto.randomUUID() };
    const made = await call('POST', '/webhooks', endpoint);
    if (made.status !== 201) throw new Error(`the endpoint was refused: ${JSON.stringify(made.body)}`);
    const simulatorUrl = `http://127.0.0.1:${simulatorPort}`;
    const operations = await fund(call, simulatorUrl);
    const owner = await connect();
    return {
      folder,
      call,
      operations,
      receiver,
      auditReceiver,
      simulatorUrl,
      simulator,
      api,
      worker,
      spareApi: async (more) => {
        const spare = launch('api', 'vintem api ready', {
          PORT: `${await freePort()}`,
          METRICS_PORT: `${sparePort}`,
          ...more,
        });
        spares.push(spare);
        await spare.start();
        return spare;
      },
      relay,
      databasePort,
      standby,
      databaseUrl: direct.href,
      sql: async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) =>
        (await owner.query<Row>(text, values)).rows,
      lock: async (text) => {
        const client = await connect();
        await client.query('BEGIN');
        await client.query(text);
        return async () => {
          await client.query('ROLLBACK');
          await client.end();
        };
      },
      run,
      jobs: { 'vintem-api': [apiMetrics], 'vintem-worker': [workerMetrics], spare: [sparePort] },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A merchant who charges, is paid and pays out twice a second, whatever the answers are. */
export function trade({ call, operations, simulatorUrl }: Town): { stop(): Promise<void> } {
  let trading = true;
  const shop = async () => {
    while (trading) {
      await Promise.allSettled([sell(), payOut(call, operations[0] as string)]);
      await pause(500);
    }
  };
  const sell = async () => {
    const id = await charge(call, operations[0] as string, 1_000);
    await control(simulatorUrl, 'POST', `/control/charges/${id}/pay`);
  };
  const open = shop();
  return {
    stop: async () => {
      trading = false;
      await open;
    },
  };
}

/** Returns the id without hyphens, as the provider knows it. */
export async function charge(call: Call, operationId: string, amountCents: number): Promise<string> {
  const order = { amountCents, payerName: 'Maria', requestKey: crypto.randomUUID() };
  const { body } = await call('POST', '/pix/charges', order, operationId);
  return String(body?.id).replaceAll('-', '');
}

export function payOut(call: Call, operationId: string, pixKey = 'maria@loja.example') {
  const requestKey = crypto.randomUUID();
  const order = { amountCents: 1_000, pixKey, pixKeyType: 'EMAIL', description: '', requestKey };
  return call('POST', '/pix/transfers', order, operationId);
}
