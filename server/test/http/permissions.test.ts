import { type Answer, base, type Edge, openEdge } from '@vintem/testkit/edge.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeKey } from '../../src/api/keys/key.ts';
import { revokeKey } from '../../src/api/keys/keys.ts';
import { type Permission, permissions } from '../../src/ground/permissions.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';

/** Who may call what: every call with every set of permissions, and with every key that is none. */

const ids = systemIds(systemClock);
let edge: Edge;
let ownerId: string;

beforeAll(async () => {
  edge = await openEdge();
  ownerId = (await edge.newAccount()).ownerId;
});
afterAll(() => edge.close());

interface Row {
  call: `${'GET' | 'POST' | 'PATCH' | 'DELETE'} ${string}`;
  /** One of these is enough. */
  needs: Permission[];
  /** The status for an allowed caller with an unknown id or an empty body: it shows that the edge let the call through. */
  allowed: number;
}

const reads: Permission[] = ['read', 'charges', 'transfers'];
const log: Permission[] = ['webhooks', 'read'];

const matrix: Row[] = [
  { call: 'POST /pix/charges', needs: ['charges'], allowed: 400 },
  { call: 'POST /card/checkouts', needs: ['charges'], allowed: 400 },
  { call: 'POST /card/checkouts/{id}/expire', needs: ['charges'], allowed: 404 },
  { call: 'POST /pix/due-charges', needs: ['charges'], allowed: 400 },
  { call: 'POST /pix/transfers', needs: ['transfers'], allowed: 400 },
  { call: 'POST /pix/transfers/{id}/confirm', needs: ['transfers'], allowed: 400 },
  // The test gives the edge nothing that could cancel a draft: behind it is an error.
  { call: 'POST /pix/transfers/{id}/cancel', needs: ['transfers'], allowed: 500 },
  { call: 'POST /payments/{id}/cancel', needs: ['charges'], allowed: 404 },
  { call: 'POST /payments/{id}/refunds', needs: ['refunds'], allowed: 400 },
  { call: 'GET /payments/{id}/refunds', needs: ['read', 'refunds'], allowed: 404 },
  { call: 'POST /payment-links', needs: ['charges'], allowed: 400 },
  { call: 'GET /payment-links', needs: ['read', 'charges'], allowed: 200 },
  { call: 'GET /payment-links/{id}', needs: ['read', 'charges'], allowed: 404 },
  { call: 'PATCH /pix/due-charges/{id}', needs: ['charges'], allowed: 404 },
  { call: 'PATCH /payment-links/{id}', needs: ['charges'], allowed: 404 },
  { call: 'GET /payment-links/{id}/payments', needs: ['read', 'charges'], allowed: 404 },
  { call: 'POST /static-codes', needs: ['charges'], allowed: 400 },
  { call: 'GET /static-codes', needs: ['read', 'charges'], allowed: 200 },
  { call: 'GET /static-codes/{id}', needs: ['read', 'charges'], allowed: 404 },
  { call: 'PATCH /static-codes/{id}', needs: ['charges'], allowed: 404 },
  { call: 'GET /static-codes/{id}/payments', needs: ['read', 'charges'], allowed: 404 },
  { call: 'GET /static-codes/{id}/poster.pdf', needs: ['read', 'charges'], allowed: 404 },
  { call: 'GET /refunds/{id}', needs: ['read', 'refunds'], allowed: 404 },
  { call: 'GET /payments/{id}', needs: reads, allowed: 404 },
  { call: 'GET /payments', needs: reads, allowed: 200 },
  { call: 'GET /account', needs: ['read'], allowed: 200 },
  { call: 'GET /disputes', needs: ['read'], allowed: 200 },
  { call: 'GET /disputes/{id}', needs: ['read'], allowed: 404 },
  // The test gives the edge nothing that could look a defence up: behind it is an error.
  { call: 'GET /disputes/{id}/defence', needs: ['read', 'disputes'], allowed: 500 },
  // No file comes with it.
  { call: 'POST /disputes/{id}/files', needs: ['disputes'], allowed: 400 },
  { call: 'DELETE /disputes/{id}/files/{fileId}', needs: ['disputes'], allowed: 500 },
  { call: 'POST /disputes/{id}/defence', needs: ['disputes'], allowed: 400 },
  { call: 'GET /statement', needs: ['read'], allowed: 200 },
  { call: 'GET /statement.csv', needs: ['read'], allowed: 200 },
  { call: 'GET /statement.ofx', needs: ['read'], allowed: 200 },
  { call: 'GET /statement.pdf', needs: ['read'], allowed: 200 },
  { call: 'GET /operations', needs: ['read'], allowed: 200 },
  { call: 'POST /operations', needs: ['operations'], allowed: 400 },
  { call: 'PATCH /operations/{id}', needs: ['operations'], allowed: 400 },
  { call: 'DELETE /operations/{id}', needs: ['operations'], allowed: 404 },
  { call: 'GET /webhooks', needs: ['webhooks'], allowed: 200 },
  { call: 'POST /webhooks', needs: ['webhooks'], allowed: 400 },
  { call: 'GET /webhooks/event-types', needs: ['webhooks'], allowed: 200 },
  { call: 'GET /webhooks/{id}', needs: ['webhooks'], allowed: 404 },
  { call: 'PATCH /webhooks/{id}', needs: ['webhooks'], allowed: 404 },
  { call: 'DELETE /webhooks/{id}', needs: ['webhooks'], allowed: 404 },
  { call: 'POST /webhooks/{id}/rotate-secret', needs: ['webhooks'], allowed: 404 },
  { call: 'POST /webhooks/{id}/test', needs: ['webhooks'], allowed: 404 },
  { call: 'GET /webhooks/{id}/deliveries', needs: ['webhooks'], allowed: 404 },
  { call: 'GET /webhooks/{id}/deliveries/{deliveryId}', needs: ['webhooks'], allowed: 404 },
  { call: 'POST /webhooks/{id}/deliveries/{deliveryId}/retry', needs: ['webhooks'], allowed: 404 },
  { call: 'POST /webhooks/{id}/replay', needs: ['webhooks'], allowed: 400 },
  { call: 'GET /events', needs: log, allowed: 200 },
  // A stream that was let through never ends: asked for with HEAD.
  { call: 'GET /events/stream', needs: log, allowed: 200 },
  { call: 'GET /events/{id}', needs: log, allowed: 404 },
];

// `simulate` opens none of these calls (`test-mode/simulate.test.ts`).
const ofCalls = permissions.filter((permission) => permission !== 'simulate');
const subsets: Permission[][] = Array.from({ length: 2 ** ofCalls.length - 1 }, (_, index) =>
  ofCalls.filter((_permission, at) => ((index + 1) >> at) & 1),
);

function send(key: string, row: Row, more: Record<string, string> = {}): Promise<Answer> {
  const [method, path] = row.call.split(' ') as ['GET' | 'POST' | 'PATCH' | 'DELETE' | 'HEAD', string];
  return edge.call(key, {
    method: path === '/events/stream' ? 'HEAD' : method,
    url: path.replaceAll(/\{\w+\}/g, ids.uuid()),
    headers: more,
    ...(method === 'GET' ? {} : { payload: {} }),
  });
}

test('every call of the document has its row, with the permissions that the document names [1.5a]', async () => {
  const { paths } = (await edge.app.inject({ url: `${base}/openapi.json` })).json();
  const documented: Record<string, Permission[]> = {};
  for (const [path, methods] of Object.entries<Record<string, { 'x-permissions': Permission[] }>>(paths)) {
    for (const [method, call] of Object.entries(methods)) {
      documented[`${method.toUpperCase()} ${path}`] = call['x-permissions'];
    }
  }
  expect(Object.fromEntries(matrix.map((row) => [row.call, row.needs]))).toEqual(documented);
});

/** Every path that the router knows, from its tree. */
function pathsOfRouter(): string[] {
  const above: string[] = [];
  const paths: string[] = [];
  for (const line of edge.app.printRoutes({ commonPrefix: false }).split('\n')) {
    const found = /^([│├└─\s]*)(\/\S*)/.exec(line);
    if (!found) continue;
    const depth = (found[1] as string).length / 4 - 1;
    const path = (above[depth - 1] ?? '') + found[2];
    above[depth] = path;
    paths.push(path);
  }
  return paths;
}

test('without a key the router opens nothing but what is written here [1.5a]', async () => {
  const open = new Set<string>();
  for (const path of pathsOfRouter()) {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
      const url = path.replaceAll(/:\w+/g, ids.uuid());
      const { statusCode } = await edge.app.inject({ method, url });
      if (![401, 404, 405].includes(statusCode)) open.add(`${method} ${path}`);
    }
  }
  expect([...open].filter((call) => !call.includes('/docs'))).toEqual([
    'GET /healthz',
    // Signed or under a secret address: see the deliveries of providers.
    'POST /hooks/providers/:connection/:token',
    'POST /hooks/providers/:connection/:token/pix',
    'GET /readyz',
    // The list of the documentation's pages.
    'GET /llms.txt',
    `GET ${base}/openapi.json`,
    'GET /api/v1/test/openapi.json',
  ]);
});

test('each set of permissions opens exactly the calls that need one of them [4.1a, 4.6, 5.2, 5.3, 7d]', async () => {
  for (const held of subsets) {
    // A fresh account for each dozen keys: it may have twenty.
    const { ownerId: account } = await edge.newAccount();
    const { key } = await edge.newKey(account, held);
    for (const row of matrix) {
      const { status, body } = await send(key, row);
      const allowed = row.needs.some((permission) => held.includes(permission));
      expect([row.call, held, status]).toEqual([row.call, held, allowed ? row.allowed : 403]);
      if (!allowed && body) {
        expect(body.code).toBe('permission_denied');
        expect(body.message).toContain(row.needs[0]);
      }
    }
  }
});

test('a key that is missing, malformed, unknown, revoked or expired opens nothing [4, 5.6, 7d]', async () => {
  const revoked = await edge.newKey(ownerId);
  await revokeKey({ sql: edge.database.sql, clock: systemClock }, revoked.id);
  const expired = await edge.newKey(ownerId);
  await edge.database.admin(`UPDATE api_key SET expires_at = now() - interval '1 s' WHERE id = $1`, [
    expired.id,
  ]);
  const { key } = await edge.newKey(ownerId);
  const bad: [authorization: string, code: string][] = [
    ['', 'api_key_missing'],
    ['Bearer', 'api_key_missing'],
    [`Bearer ${key}x`, 'api_key_invalid'],
    [`Bearer ${makeKey(ids, true).key}`, 'api_key_invalid'],
    [`Basic ${key}`, 'api_key_invalid'],
    [`Bearer ${revoked.key}`, 'api_key_invalid'],
    [`Bearer ${expired.key}`, 'api_key_expired'],
  ];
  for (const row of matrix) {
    for (const [authorization, code] of bad) {
      const { status, headers, body } = await send('', row, { authorization });
      expect([row.call, authorization.slice(0, 8), status]).toEqual([
        row.call,
        authorization.slice(0, 8),
        401,
      ]);
      expect(headers['www-authenticate']).toBe('Bearer');
      if (body) expect(body.code).toBe(code);
    }
  }
});

test('an id of another account is 404, the same as an id that does not exist [5.7]', async () => {
  const mine = await edge.newAccount();
  const { key } = await edge.newKey(mine.ownerId);
  const { key: foreign } = await edge.newKey(ownerId);
  const made = await edge.call(key, {
    method: 'POST',
    url: '/operations',
    payload: { name: 'Filial', requestKey: ids.uuid() },
  });
  const header = { 'x-service-operation': made.body.id };
  for (const url of ['/account', '/payments', `/payments/${ids.uuid()}`]) {
    const theirs = await edge.call(foreign, { url, headers: header });
    const nobodys = await edge.call(foreign, { url, headers: { 'x-service-operation': ids.uuid() } });
    expect(theirs.body).toMatchObject({ statusCode: 404, code: 'operation_not_found' });
    expect({ ...theirs.body, requestId: '' }).toEqual({ ...nobodys.body, requestId: '' });
  }
  for (const method of ['PATCH', 'DELETE'] as const) {
    const payload = method === 'PATCH' ? { name: 'Minha' } : {};
    const theirs = await edge.call(foreign, { method, url: `/operations/${made.body.id}`, payload });
    const nobodys = await edge.call(foreign, { method, url: `/operations/${ids.uuid()}`, payload });
    expect(theirs.body).toMatchObject({ statusCode: 404, code: 'operation_not_found' });
    expect({ ...theirs.body, requestId: '' }).toEqual({ ...nobodys.body, requestId: '' });
  }
  expect((await edge.call(key, { url: '/operations' })).body.operations).toHaveLength(2);
});

test('a key is asked for its permission before its operation, its path and its body are looked at', async () => {
  const { key } = await edge.newKey(ownerId, ['webhooks']);
  for (const row of matrix.filter(({ needs }) => !needs.includes('webhooks'))) {
    expect((await send(key, row, { 'x-service-operation': 'nonsense' })).status).toBe(403);
  }
  const all = (await edge.newKey(ownerId)).key;
  for (const row of matrix) {
    const { status, body } = await send(all, row, { 'x-service-operation': 'nonsense' });
    expect([row.call, status]).toEqual([row.call, 400]);
    if (body) expect(body.code).toBe('invalid_operation_header');
  }
});
