import { type Desk, newOperator } from '@vintem/testkit/console.ts';
import { type DatabaseGate, openGate } from '@vintem/testkit/database-gate.ts';
import { freePort } from '@vintem/testkit/free-port.ts';
import { newPerson, openTab, password, type Tab } from '@vintem/testkit/panel.ts';
import { callWith, type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/ground/config.ts';
import { runApi } from '../../src/main/api.ts';
import { openRuntime } from '../../src/main/runtime.ts';
import { actOfRoute } from '../../src/operate/acts.ts';
import { authCalls } from '../../src/panel/auth/auth-calls.ts';
import { openPool, type Pool } from '../../src/store/database/pool.ts';

/**
 * Every route of the public document, of the panel and of the operators' console × everything that can be wrong with the database: the answer is 503 with
 * `Retry-After` and the documented body, and never 500. Nothing of it depends on the route: a new one is part of the table.
 */

let service: Service;
let merchant: Merchant;
let gate: DatabaseGate;
let pool: Pool;
/** The service under test: as the one beside it, but its database is behind the gate. */
let behind: Pick<Service, 'url'>;
let stop: () => Promise<void>;
let tab: Tab;
let desk: Desk;

interface Route {
  method: string;
  path: string;
}
const publicRoutes: Route[] = [];
const panelRoutes: Route[] = [];
const consoleRoutes: Route[] = [];

beforeAll(async () => {
  service = await openService();
  merchant = await service.newMerchant();
  await merchant.receive(10_000);
  await newPerson(service, merchant.ownerId, 'ana@loja.example');
  gate = await openGate(service.database.url);
  pool = openPool({ url: gate.url, log: service.runtime.log, name: 'behind the gate' });
  const port = await freePort();
  const config = readConfig({
    PORT: String(port),
    DATA_DIR: service.dataDir,
    SIMULATOR_URL: service.simulator.url,
    RATE_LIMITS: 'off',
  });
  const draining = new AbortController();
  const runtime = await openRuntime({ ...service.runtime, config, sql: pool }, draining.signal);
  const api = await runApi(runtime, config);
  behind = { url: api.url };
  stop = async () => {
    draining.abort();
    await api.stop();
  };
  tab = openTab({ ...service, url: api.url });
  await tab.signIn('ana@loja.example');
  desk = await newOperator({ ...service, url: api.url }, 'administrator');
  publicRoutes.push(...(await routesOf('/api/v1/public')));
  const account = `/accounts/${merchant.ownerId}`;
  for (const { method, path } of await routesOf('/panel/api')) {
    // It reads files.
    if (path === '/mailbox') continue;

    panelRoutes.push({ method, path: personal.test(path) ? path : account + path });
  }
  for (const call of Object.keys(authCalls)) {
    if (withoutDatabase.test(call)) continue;
    const [method = '', path = ''] = call.split(' ');
    panelRoutes.push({ method, path: `/auth${path}` });
  }
  for (const route of actOfRoute.keys()) {
    const [method = '', path = ''] = route.split(' ');
    consoleRoutes.push({ method, path: path.replaceAll(/:\w+/g, merchant.operationId) });
  }
});
afterAll(async () => {
  await gate.open();
  await stop();
  await pool.close();
  await gate.close();
  await service.close();
});

/** Second steps of a sign-in: without the cookie of the first they are refused before anything is read. */
const withoutDatabase = /two-factor\/verify|verify-authentication/;

/** Of a person, and of no account. */
const personal = /^\/(session|sessions|profile|reauthenticate|email|invitations|mailbox)\b/;

async function routesOf(base: string): Promise<Route[]> {
  const { paths } = (await (await fetch(`${behind.url}${base}/openapi.json`)).json()) as {
    paths: Record<string, object>;
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({
      method: method.toUpperCase(),
      path: path.replaceAll(/\{\w+\}/g, merchant.operationId),
    })),
  );
}

/** Checks before the database: bodies that are read before a caller is looked up. */
const bodies: Record<string, object> = {
  '/profile': { name: 'Ana' },
  '/reauthenticate': { password },
  '/email': { email: 'outra@loja.example' },
  '/email/confirm': { token: 'a'.repeat(43) },
  '/email/cancel': { token: 'a'.repeat(43) },
  '/invitations/look': { token: 'a'.repeat(43) },
  '/invitations/accept': { token: 'a'.repeat(43), name: 'Ana Prado', password },
  '/auth/sign-in/email': { email: 'ana@loja.example', password },
  '/auth/request-password-reset': { email: 'ana@loja.example' },
  '/auth/reset-password': { newPassword: 'outra girafa azul', token: 'a'.repeat(24) },
  '/auth/change-password': { currentPassword: password, newPassword: 'outra girafa azul' },
};

type Told = readonly [status: number, code: string | undefined, retryAfter: string | null];
type Seen = Record<string, Told>;

async function seenBy(
  routes: readonly Route[],
  call: (route: Route) => Promise<{ status: number; headers: Headers; body: { code?: string } }>,
): Promise<Seen> {
  const seen = await Promise.all(
    routes.map(async (route) => {
      const { status, headers, body } = await call(route);
      const told: Told = [status, body?.code, headers.get('retry-after')];
      return [`${route.method} ${route.path}`, told] as const;
    }),
  );
  return Object.fromEntries(seen);
}

const unavailable: Told = [503, 'processing_unavailable', '1'];
const all = (routes: readonly Route[]): Seen =>
  Object.fromEntries(routes.map(({ method, path }) => [`${method} ${path}`, unavailable]));

const withKey = (key: string) => {
  const call = callWith(`${behind.url}/api/v1/public`, key);
  return ({ method, path }: Route) => call(method, path, method === 'GET' ? undefined : {});
};
const signedIn = ({ method, path }: Route) =>
  tab.call(method, path, method === 'GET' ? undefined : (bodies[path] ?? {}));

const onDesk = ({ method, path }: Route) => desk.call(method, path, method === 'GET' ? undefined : {});

test('the table holds every route', () => {
  expect(publicRoutes.length).toBeGreaterThan(20);
  expect(panelRoutes.length).toBeGreaterThan(60);
  expect(consoleRoutes.length).toBeGreaterThan(50);
});

describe.each([
  ['stopped', () => gate.stopped()],
  ['starting', () => gate.starting()],
  ['slow', () => gate.silent()],
])('a database that is %s', (_state, begin) => {
  let warm: string;
  let cold: string;
  beforeAll(async () => {
    await gate.open();
    [warm, cold] = [await service.newKey(merchant.ownerId), await service.newKey(merchant.ownerId)];
    await until(async () => (await withKey(warm)({ method: 'GET', path: '/account' })).status === 200);
    await begin();
  });

  test('answers 503 on every route, wherever the request meets the database first', async () => {
    // With the key cached a read fails in its own statement, without it in the key's; the panel's in the session's.
    const reads = publicRoutes.filter(
      // It lists what the program knows.
      ({ method, path }) => method === 'GET' && path !== '/webhooks/event-types',
    );
    const [own, keys, panel, operators] = await Promise.all([
      seenBy(reads, withKey(warm)),
      seenBy(publicRoutes, withKey(cold)),
      seenBy(panelRoutes, signedIn),
      seenBy(consoleRoutes, onDesk),
    ]);
    expect(operators).toEqual(all(consoleRoutes));
    expect(own).toEqual(all(reads));
    expect(keys).toEqual(all(publicRoutes));
    expect(panel).toEqual(all(panelRoutes));
    const hook = await fetch(`${behind.url}/hooks/providers/simulator/${'a'.repeat(43)}`, {
      method: 'POST',
      body: '{}',
    });
    expect(hook.status).toBe(503);
    expect((await fetch(`${behind.url}/readyz`)).status).toBe(503);
    expect((await fetch(`${behind.url}/healthz`)).status).toBe(200);
  });
});

describe.each([
  ['full', '53100'],
  ['read-only', '25006'],
])('a database that is %s', (_state, code) => {
  beforeAll(async () => {
    await gate.open();
    await service.database.admin(`
      CREATE OR REPLACE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION USING ERRCODE = '${code}', MESSAGE = 'made for a test'; END $$`);
    await everyTable(
      (table) =>
        `CREATE TRIGGER trouble BEFORE INSERT OR UPDATE OR DELETE ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION trouble()`,
    );
  });
  afterAll(() => everyTable((table) => `DROP TRIGGER IF EXISTS trouble ON ${table}`));

  test('answers 503 to what writes, and reads without an error', async () => {
    const key = await writable(() => service.newKey(merchant.ownerId));
    const reads = (routes: readonly Route[]) =>
      routes.filter(({ method, path }) => method === 'GET' && !/stream|updates|passkey/.test(path));
    const seen = {
      ...(await seenBy(reads(publicRoutes), withKey(key))),
      ...(await seenBy(reads(panelRoutes), signedIn)),
    };
    expect(Object.entries(seen).filter(([, [status]]) => ![200, 400, 404].includes(status))).toEqual([]);
    // Some pages are of another role.
    const onDesks = await seenBy(reads(consoleRoutes), onDesk);
    expect(Object.entries(onDesks).filter(([, [status]]) => ![200, 400, 403, 404].includes(status))).toEqual(
      [],
    );
    const order = { amountCents: 1000, description: '', requestKey: crypto.randomUUID() };
    const pix = { pixKey: 'maria@loja.example', pixKeyType: 'EMAIL' };
    const account = `/accounts/${merchant.ownerId}`;
    const call = callWith(`${behind.url}/api/v1/public`, key);
    const answers = await Promise.all([
      call('POST', '/pix/charges', { ...order, payerName: 'Maria' }),
      call('POST', '/pix/transfers', { ...order, ...pix }),
      call('POST', '/operations', { name: 'Filial', requestKey: order.requestKey }),
      call('PATCH', `/operations/${merchant.operationId}`, { name: 'Outra' }),
      call('POST', '/webhooks', {
        url: 'https://93.184.216.34/',
        events: ['*'],
        requestKey: order.requestKey,
      }),
      tab.call('PATCH', '/profile', { name: 'Ana Paula' }),
      tab.call('POST', `${account}/pix/charges`, { ...order, payerName: 'Maria' }),
      tab.call('POST', `${account}/members/invitations`, { email: 'bia@loja.example', role: 'viewer' }),
      tab.call('POST', '/auth/sign-in/email', { email: 'ana@loja.example', password }),
      tab.call('GET', '/auth/passkey/generate-authenticate-options'),
    ]);
    expect(
      answers.map(({ status, body, headers }) => [status, body.code, headers.get('retry-after')]),
    ).toEqual(answers.map(() => unavailable));
  });
});

async function everyTable(statement: (table: string) => string): Promise<void> {
  const tables = await service.database.admin<{ name: string }>(
    `SELECT quote_ident(relname) AS name FROM pg_class WHERE relnamespace = 'vintem'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`,
  );
  for (const { name } of tables) await service.database.admin(statement(`vintem.${name}`));
}

/** Done as the superuser's session, which the triggers let through. */
async function writable<T>(work: () => Promise<T>): Promise<T> {
  await service.database.admin('ALTER TABLE vintem.api_key DISABLE TRIGGER trouble');
  const done = await work();
  await service.database.admin('ALTER TABLE vintem.api_key ENABLE TRIGGER trouble');
  return done;
}
