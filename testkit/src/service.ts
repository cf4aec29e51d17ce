import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSimulator } from '@vintem/simulator';
import { createKey } from '../../server/src/api/keys/keys.ts';
import { type Outgoing, runDeliveries } from '../../server/src/events/webhooks/delivery-loop.ts';
import { readConfig } from '../../server/src/ground/config.ts';
import { createLog } from '../../server/src/ground/log.ts';
import { type Permission, permissions } from '../../server/src/ground/permissions.ts';
import { createSecrets } from '../../server/src/ground/secrets.ts';
import { type Api, runApi } from '../../server/src/main/api.ts';
import { openRuntime, providersOf, type Runtime } from '../../server/src/main/runtime.ts';
import { runWorker, type Worker } from '../../server/src/main/worker.ts';
import { simulatorKey } from '../../server/src/operate/connections/credentials.ts';
import { createAccount } from '../../server/src/operate/connections/directory.ts';
import { systemClock } from '../../server/src/ports/clock.ts';
import { systemIds } from '../../server/src/ports/ids.ts';
import { createUndiciNet } from '../../server/src/ports/undici-net.ts';
import { simulatorDeskOf } from '../../server/src/provider/adapter.ts';
import type { Provider } from '../../server/src/provider/provider.ts';
import { adapters } from '../../server/src/provider/registry/adapters.ts';
import type { ConnectionBudget } from '../../server/src/store/database/connection-budget.ts';
import { claimSecret } from '../../server/src/store/database/installation-secret.ts';
import { openPool } from '../../server/src/store/database/pool.ts';
import { defaultBehaviour } from '../../simulator/src/behaviour.ts';
import { createDatabase, type TestDatabase } from './database.ts';
import { freePort } from './free-port.ts';

/** The whole service in this process: real PostgreSQL, real HTTP, the real simulator in between. */
export interface Service {
  /** Where it listens. */
  url: string;
  /** Its mails stand in `mail` below. */
  dataDir: string;
  runtime: Runtime;
  database: TestDatabase;
  simulator: Simulator;
  /** A test account with a key of every permission, in the next cell unless another is given. */
  newMerchant(cell?: Runtime): Promise<Merchant>;
  /** The runtime of the cell that a merchant was placed in. */
  cellOf(merchant: Pick<Merchant, 'ownerId'>): Runtime;
  newKey(ownerId: string, held?: readonly Permission[]): Promise<string>;
  /** A caller with another key of an account. */
  as(key: string): Call;
  close(): Promise<void>;
}

export interface Merchant {
  ownerId: string;
  operationId: string;
  key: string;
  call: Call;
  /** Puts money into an operation the only way there is: a charge that a payer pays. */
  receive(amountCents: number, operationId?: string): Promise<void>;
  charge(fields?: object, operationId?: string): Promise<Answer>;
  /** A charge that a payer has paid. @returns its id */
  paidCharge(fields?: object, operationId?: string): Promise<string>;
  transfer(fields?: object, operationId?: string): Promise<Answer>;
  balanceCents(operationId?: string): Promise<number>;
}

export type Call = (method: string, path: string, body?: object, operationId?: string) => Promise<Answer>;

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what a test looks at is checked by the test
  body: any;
}

export interface Simulator {
  url: string;
  control(method: string, path: string, body?: object): Promise<Answer>;
  behave(behaviour: object): Promise<void>;
  /** The provider's own truth about a payout. */
  payout(
    paymentId: string,
  ): Promise<
    { status: string; amountCents: number; timesReceived: number; timesAccepted: number } | undefined
  >;
}

export interface ServiceOptions {
  env?: Record<string, string>;
  /** Without a worker nothing happens but what callers wait for. */
  worker?: boolean;
  /** The database of another service, which removes it. */
  database?: TestDatabase;
  /** Which protocol test accounts are served in, and which of the simulator's truths is looked at. */
  dialect?: Dialect;
  /** Of the connections of all cells. */
  budget?: ConnectionBudget;
  /** Takes every line of the log, down to the level `trace`. */
  logTo?: NodeJS.WritableStream;
}

export type Dialect = keyof typeof dialects;

/** Of Asaas' question before a transfer leaves. */
export const questionToken = 'q'.repeat(32);

/** How the connection of test accounts is made in each protocol. The secret is that of the simulator's only client. */
const dialects = {
  efi: null,
  woovi: (secret: string) => ({ appId: Buffer.from(`vintem:${secret}`).toString('base64') }),
  inter: (secret: string) => ({
    clientId: 'vintem',
    clientSecret: secret,
    pixKey: 'inter@simulator.example',
  }),
  stark: (secret: string) => ({
    projectId: Buffer.from(`vintem:${secret}`).toString('base64url'),
    privateKey: simulatorKey(secret),
    workspaceId: 'vintem',
  }),
  asaas: (secret: string) => ({
    apiKey: `$aact_hmlg_${Buffer.from(`vintem:${secret}`).toString('base64')}`,
    customer: 'cus_000005219613',
    email: 'operador@vintem.example',
    webhookToken: 'w'.repeat(32),
    withdrawalToken: questionToken,
  }),
  /** One of those that speak API Pix alone. */
  sicredi: (secret: string) => ({
    clientId: 'vintem',
    clientSecret: secret,
    pixKey: 'sicredi@simulator.example',
  }),
} satisfies Record<string, ((secret: string) => Record<string, string>) | null>;

export const dialectNames = Object.keys(dialects) as Dialect[];

export async function openService({
  env = {},
  worker = true,
  database: given,
  dialect = 'efi',
  budget,
  logTo,
}: ServiceOptions = {}): Promise<Service> {
  const shared = budget && { budget };
  const database = given ?? (await createDatabase({ live: false, ...shared }));
  const stateDir = await mkdtemp(join(tmpdir(), 'vintem-service-'));
  const bank = await startSimulator({ host: '127.0.0.1', port: 0, stateDir });
  const port = await freePort();
  const config = readConfig({
    PORT: String(port),
    SIMULATOR_URL: bank.url,
    DATA_DIR: stateDir,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'silent',
    ...env,
  });
  const log = logTo ? createLog('trace', logTo) : createLog(process.env.TEST_LOG ?? 'silent');
  const ids = systemIds(systemClock);
  const net = createUndiciNet();
  const draining = new AbortController();
  const secrets = createSecrets(ids, config.secret ?? ids.bytes(32), config.secretPrevious);
  await claimSecret({ sql: database.sql, secrets });
  const openCell = (cell: string) =>
    openPool({ url: database.url, log, name: 'vintem test', size: 3, cell, ...shared });
  const ground = { config, sql: database.sql, clock: systemClock, ids, net, secrets, log, openCell };
  const runtime = await openRuntime(ground, draining.signal, providersIn(dialect, ground));
  const working: Worker | null = worker ? runWorker(runtime, config.publicUrl) : null;
  const outgoing: Outgoing[] = [];
  if (worker)
    runtime.cells.each((cell) => {
      const one = runDeliveries(cell, () => true);
      outgoing.push(one);
      cell.eventsWritten.listen(one.written);
    });
  const api: Api = await runApi(runtime, config);
  const simulator = simulatorAt(bank.url + simulatorDeskOf(adapters[dialect]));
  // A person enters this address in Asaas' panel.
  if (dialect === 'asaas')
    await simulator.control('PUT', '/control/questions/vintem', {
      url: `${api.url}/hooks/providers/simulator/withdrawals`,
      token: questionToken,
    });
  const as = (key: string): Call => callWith(`${api.url}/api/v1/public`, key);
  const cellsOfAccounts = new Map<string, Runtime>();
  const cellOf = ({ ownerId }: Pick<Merchant, 'ownerId'>): Runtime => cellsOfAccounts.get(ownerId) ?? runtime;
  const newKey = async (ownerId: string, held: readonly Permission[] = permissions): Promise<string> => {
    const wanted = { accountId: ownerId, name: `key ${ids.uuid()}`, permissions: held };
    return (await createKey(cellOf({ ownerId }), wanted)).key;
  };

  let placed = 0;
  /** Each in turn, and the first one last: what works there alone shows with one merchant. */
  const nextCell = (): Runtime => {
    const cells = runtime.cells.all();
    return cells[++placed % cells.length] ?? runtime;
  };

  return {
    url: api.url,
    dataDir: stateDir,
    runtime,
    database,
    simulator,
    newKey,
    as,
    cellOf,
    newMerchant: async (cell = nextCell()) => {
      const { ownerId, operationId } = await createAccount(cell, {
        name: 'Loja',
        test: true,
        connection: 'simulator',
      });
      cellsOfAccounts.set(ownerId, cell);
      const key = await newKey(ownerId);
      return merchantOf({ ownerId, operationId, key, call: as(key) }, simulator);
    },
    close: async () => {
      draining.abort();
      await api.stop();
      await Promise.all([working?.stop(), ...outgoing.map((one) => one.stop())]);
      await runtime.cells.close();
      await net.close();
      await bank.stop();
      if (!given) await database.drop();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}

function providersIn(dialect: Dialect, ground: Parameters<typeof openRuntime>[0]): Map<string, Provider> {
  const providers = providersOf(ground);
  const credentialsOf = dialects[dialect];
  if (credentialsOf === null) return providers;
  const secret = ground.secrets.derive('simulator client').toString('hex');
  const settings = {
    name: 'simulator',
    test: true,
    simulated: true,
    url: ground.config.simulatorUrl + adapters[dialect].simulatorPath,
    credentials: credentialsOf(secret),
    certificate: null,
  };
  return providers.set(settings.name, adapters[dialect].create(settings, ground));
}

export function merchantOf(
  known: Pick<Merchant, 'ownerId' | 'operationId' | 'key' | 'call'>,
  simulator: Simulator,
): Merchant {
  const { call } = known;
  const merchant: Merchant = {
    ...known,
    charge: (fields = {}, operationId) => {
      const body = {
        amountCents: 1000,
        payerName: 'Maria',
        description: '',
        requestKey: crypto.randomUUID(),
        ...fields,
      };
      return call('POST', '/pix/charges', body, operationId);
    },
    transfer: (fields = {}, operationId) => {
      const key = { pixKey: 'maria@loja.example', pixKeyType: 'EMAIL', description: '' };
      const body = { amountCents: 1000, ...key, requestKey: crypto.randomUUID(), ...fields };
      return call('POST', '/pix/transfers', body, operationId);
    },
    balanceCents: async (operationId) =>
      (await call('GET', '/account', undefined, operationId)).body.balanceCents,
    receive: async (amountCents, operationId) => {
      for (let left = amountCents; left > 0; left -= 200_000) {
        await merchant.paidCharge({ amountCents: Math.min(left, 200_000) }, operationId);
      }
    },
    paidCharge: async (fields, operationId) => {
      const { body } = await merchant.charge(fields, operationId);
      await simulator.control('POST', `/control/charges/${body.id.replaceAll('-', '')}/pay`);
      await until(
        async () =>
          (await call('GET', `/payments/${body.id}`, undefined, operationId)).body.status === 'paid',
      );
      return body.id;
    },
  };
  return merchant;
}

export function simulatorAt(url: string): Simulator {
  const control = async (method: string, path: string, body?: object): Promise<Answer> => {
    const answer = await fetch(url + path, {
      method,
      ...(body ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } : {}),
    });
    return { status: answer.status, headers: answer.headers, body: await answer.json() };
  };
  return {
    url,
    control,
    // One call: between two calls the simulator would behave well for a moment, and send what it should drop.
    // One that it does not have is refused: the test would go on with one that behaves well.
    behave: async (behaviour) => {
      const { status, body } = await control('PUT', '/control/behaviour', {
        ...defaultBehaviour,
        ...behaviour,
      });
      if (status !== 200) throw new Error(`the simulator does not behave so: ${JSON.stringify(body)}`);
    },
    payout: async (paymentId) => {
      const { body } = await control('GET', `/control/state?idEnvio=${paymentId.replaceAll('-', '')}`);
      return body.payouts[0];
    },
  };
}

export const callWith =
  (base: string, key: string): Call =>
  async (method, path, body, operationId) => {
    const answer = await fetch(base + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body ? { 'content-type': typeOf(body) } : {}),
        ...(operationId ? { 'x-service-operation': operationId } : {}),
      },
      ...(body ? { body: bytesOf(body) } : {}),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      body: text === '' ? undefined : isJson(answer.headers.get('content-type')) ? JSON.parse(text) : text,
    };
  };

/** A file goes out as it is, everything else as JSON. */
export const typeOf = (body: object): string => (body instanceof Blob ? body.type : 'application/json');
export const bytesOf = (body: object): Blob | string => (body instanceof Blob ? body : JSON.stringify(body));

/** Files are text to a test. */
const isJson = (type: string | null): boolean => type?.includes('json') ?? false;

/** Looks at the real state until it is so; fails when it is not within `withinMs`. */
export async function until(holds: () => Promise<boolean>, withinMs = 120_000): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`it did not become so within ${withinMs} ms`);
    await systemClock.sleep(20);
  }
}
