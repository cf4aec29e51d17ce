import {
  type Answer,
  callWith,
  type Merchant,
  openService,
  type Service,
  until,
} from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKey, narrowKey, rollKey } from '../../server/src/api/keys/keys.ts';
import { type Permission, permissions } from '../../server/src/ground/permissions.ts';

/**
 * Who may call what: every route of the document × every kind of caller, with the exact status. A route that the document
 * has and this table has not fails; so does an answer that holds an id of another account.
 */
interface Row {
  /** One of these permissions is enough. */
  held: readonly Permission[];
  /** The operation of the header must be the account's; otherwise it is only read as a UUID. */
  resolves: boolean;
  /** The owner's status with the body below. */
  allowed: number;
  /** Another account's status for the owner's ids; absent where the path has none. */
  foreign?: number;
  query?: string;
  body?: object;
  /** The status for holders of one of the permissions and none of these: the payment is not of their kind. */
  otherKind?: { without: readonly Permission[]; status: number };
}

const lookups = { held: ['read', 'charges', 'transfers'], resolves: true } as const;
const hooks = { held: ['webhooks'], resolves: false } as const;
const events = { held: ['webhooks', 'read'], resolves: false } as const;
const operations = { held: ['operations'], resolves: false } as const;
const malformed = { unknownProperty: 1 };

const rows: Record<string, Row> = {
  'POST /pix/charges': { held: ['charges'], resolves: true, allowed: 400, body: malformed },
  'POST /pix/due-charges': { held: ['charges'], resolves: true, allowed: 400, body: malformed },
  'POST /card/checkouts': { held: ['charges'], resolves: true, allowed: 400, body: malformed },
  'POST /card/checkouts/{id}/expire': {
    held: ['charges'],
    resolves: true,
    allowed: 400,
    foreign: 400,
    body: malformed,
  },
  'POST /pix/transfers': { held: ['transfers'], resolves: true, allowed: 400, body: malformed },
  'POST /pix/transfers/{id}/confirm': {
    held: ['transfers'],
    resolves: true,
    allowed: 400,
    foreign: 400,
    body: malformed,
  },
  'POST /pix/transfers/{id}/cancel': {
    held: ['transfers'],
    resolves: true,
    allowed: 400,
    foreign: 400,
    body: malformed,
  },
  'POST /payments/{id}/cancel': {
    held: ['charges'],
    resolves: true,
    allowed: 400,
    foreign: 400,
    body: malformed,
  },
  'POST /payments/{id}/refunds': { held: ['refunds'], resolves: true, allowed: 400, body: malformed },
  'GET /payments/{id}/refunds': {
    held: ['read', 'refunds'],
    resolves: true,
    allowed: 200,
    foreign: 404,
  },
  'POST /static-codes': { held: ['charges'], resolves: true, allowed: 400, body: malformed },
  'GET /static-codes': { held: ['read', 'charges'], resolves: true, allowed: 200 },
  'GET /static-codes/{id}': { held: ['read', 'charges'], resolves: true, allowed: 404, foreign: 404 },
  'PATCH /static-codes/{id}': {
    held: ['charges'],
    resolves: true,
    allowed: 400,
    foreign: 400,
    body: malformed,
  },
  'GET /static-codes/{id}/payments': {
    held: ['read', 'charges'],
    resolves: true,
    allowed: 404,
    foreign: 404,
  },
  'GET /static-codes/{id}/poster.pdf': {
    held: ['read', 'charges'],
    resolves: true,
    allowed: 404,
    foreign: 404,
  },
  'POST /payment-links': { held: ['charges'], resolves: true, allowed: 400, body: malformed },
  'GET /payment-links': { held: ['read', 'charges'], resolves: true, allowed: 200 },
  'GET /payment-links/{id}': { held: ['read', 'charges'], resolves: true, allowed: 404, foreign: 404 },
  'PATCH /pix/due-charges/{id}': {
    held: ['charges'],
    resolves: true,
    allowed: 400,
    foreign: 400,
    body: malformed,
  },
  'PATCH /payment-links/{id}': {
    held: ['charges'],
    resolves: true,
    allowed: 400,
    foreign: 400,
    body: malformed,
  },
  'GET /payment-links/{id}/payments': {
    held: ['read', 'charges'],
    resolves: true,
    allowed: 404,
    foreign: 404,
  },
  'GET /refunds/{id}': { held: ['read', 'refunds'], resolves: true, allowed: 404, foreign: 404 },
  'GET /payments/{id}': {
    ...lookups,
    allowed: 200,
    foreign: 404,
    otherKind: { without: ['read', 'charges'], status: 404 },
  },
  'GET /payments': { ...lookups, allowed: 200 },
  'GET /account': { held: ['read'], resolves: true, allowed: 200 },
  'GET /disputes': { held: ['read'], resolves: true, allowed: 200 },
  'GET /disputes/{id}': { held: ['read'], resolves: true, allowed: 404, foreign: 404 },
  'GET /disputes/{id}/defence': { held: ['read', 'disputes'], resolves: true, allowed: 404, foreign: 404 },
  'POST /disputes/{id}/files': {
    held: ['disputes'],
    resolves: true,
    allowed: 404,
    foreign: 404,
    query: '?name=recibo.pdf',
    body: new Blob(['%PDF-1.7'], { type: 'application/pdf' }),
  },
  'DELETE /disputes/{id}/files/{fileId}': { held: ['disputes'], resolves: true, allowed: 404, foreign: 404 },
  'POST /disputes/{id}/defence': {
    held: ['disputes'],
    resolves: true,
    allowed: 404,
    foreign: 404,
    body: { text: 'Entregue.' },
  },
  'GET /statement': { held: ['read'], resolves: true, allowed: 200 },
  'GET /statement.csv': { held: ['read'], resolves: true, allowed: 200 },
  'GET /statement.ofx': { held: ['read'], resolves: true, allowed: 200 },
  'GET /statement.pdf': { held: ['read'], resolves: true, allowed: 200 },
  'GET /operations': { held: ['read'], resolves: false, allowed: 200 },
  'POST /operations': { ...operations, allowed: 400, body: malformed },
  'PATCH /operations/{id}': { ...operations, allowed: 200, foreign: 404, body: { name: 'Outro nome' } },
  'DELETE /operations/{id}': { ...operations, allowed: 400, foreign: 404, body: {} },
  'GET /webhooks': { ...hooks, allowed: 200 },
  'POST /webhooks': { ...hooks, allowed: 400, body: malformed },
  'GET /webhooks/event-types': { ...hooks, allowed: 200 },
  'GET /webhooks/{id}': { ...hooks, allowed: 200, foreign: 404 },
  'PATCH /webhooks/{id}': { ...hooks, allowed: 200, foreign: 404, body: { description: 'x' } },
  'DELETE /webhooks/{id}': { ...hooks, allowed: 400, foreign: 400, body: malformed },
  'POST /webhooks/{id}/rotate-secret': { ...hooks, allowed: 400, foreign: 400, body: malformed },
  'POST /webhooks/{id}/test': { ...hooks, allowed: 400, foreign: 400, body: malformed },
  'GET /webhooks/{id}/deliveries': { ...hooks, allowed: 200, foreign: 404 },
  'GET /webhooks/{id}/deliveries/{deliveryId}': { ...hooks, allowed: 404, foreign: 404 },
  'POST /webhooks/{id}/deliveries/{deliveryId}/retry': { ...hooks, allowed: 404, foreign: 404, body: {} },
  'POST /webhooks/{id}/replay': { ...hooks, allowed: 400, foreign: 400, body: malformed },
  'GET /events': { ...events, allowed: 200 },
  'GET /events/stream': { ...events, allowed: 400 },
  'GET /events/{id}': { ...events, allowed: 404, foreign: 404 },
};

describe('every route for every caller', () => {
  let service: Service;
  let owner: Merchant;
  let stranger: Merchant;
  let routes: string[];
  let webhookId: string;
  let paymentId: string;
  let gone: string;
  let cells = 0;

  beforeAll(async () => {
    service = await openService({ env: { WEBHOOK_ALLOW_CIDRS: '203.0.113.0/24' } });
    owner = await service.newMerchant();
    stranger = await service.newMerchant();
    const document = (await owner.call('GET', '/openapi.json')).body as { paths: Record<string, object> };
    routes = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => ['get', 'post', 'put', 'patch', 'delete'].includes(method))
        .map((method) => `${method.toUpperCase()} ${path}`),
    );
    paymentId = (await owner.charge()).body.id;
    const hook = {
      url: 'https://203.0.113.7/hook',
      events: ['charge.paid'],
      requestKey: crypto.randomUUID(),
    };
    webhookId = (await owner.call('POST', '/webhooks', hook)).body.id;
    const made = await owner.call('POST', '/operations', {
      name: 'Vai embora',
      requestKey: crypto.randomUUID(),
    });
    gone = made.body.id;
    expect((await owner.call('DELETE', `/operations/${gone}`, {})).status).toBe(200);
  });
  afterAll(async () => {
    await service?.close();
    process.stderr.write(`authorization matrix: ${routes?.length} routes, ${cells} cells\n`);
  });

  /** The route with the owner's ids in it. */
  function ask(call: Merchant['call'], route: string, operationId?: string): Promise<Answer> {
    const [method = '', path = ''] = route.split(' ');
    const id = path.startsWith('/webhooks')
      ? webhookId
      : path.startsWith('/operations')
        ? owner.operationId
        : path.startsWith('/events')
          ? crypto.randomUUID()
          : paymentId;
    // A stream would not end: one that is asked for wrongly does.
    const address = path.replace('{id}', id).replace(/\{(delivery|file)Id\}/, crypto.randomUUID());
    const query = path === '/events/stream' ? '?types=nothing' : (rows[route]?.query ?? '');
    cells++;
    return call(method, address + query, rows[route]?.body, operationId);
  }

  const keyed = (key: string): Merchant['call'] => callWith(`${service.url}/api/v1/public`, key);

  it('has a row for each route of the document, and none besides', () => {
    expect(routes.sort()).toEqual(Object.keys(rows).sort());
  });

  it('refuses a missing, a wrong and a revoked key', async () => {
    const { keyring: _, ...bad } = { keyring: null, wrong: 'vtm_test_000000000000_x', other: 'nothing' };
    const key = await service.newKey(owner.ownerId);
    const id = key.split('_')[2] ?? '';
    await service.database.admin('UPDATE vintem.api_key SET revoked_at = now() WHERE id = $1', [id]);
    for (const route of routes)
      for (const one of [...Object.values(bad), key]) {
        const { status } = await ask(keyed(one), route);
        expect(status, `${route} with ${one.slice(0, 12)}`).toBe(401);
      }
  });

  it('lets every set of permissions do exactly what one of its members may do', async () => {
    for (let bits = 1; bits < 2 ** permissions.length; bits++) {
      const held = permissions.filter((_, at) => bits & (1 << at));
      const call = keyed(await service.newKey(owner.ownerId, held));
      for (const route of routes) {
        const row = rows[route] as Row;
        const may = row.held.some((one) => held.includes(one));
        const blind = row.otherKind && !row.otherKind.without.some((one) => held.includes(one));
        const expected = !may ? 403 : blind ? row.otherKind?.status : row.allowed;
        const { status } = await ask(call, route);
        expect(status, `${route} with ${held.join('+')}`).toBe(expected);
      }
      await service.database.admin(
        'UPDATE vintem.api_key SET revoked_at = now() WHERE permissions = $1 AND account_id = $2',
        [held, owner.ownerId],
      );
    }
  });

  it('asks a key for what it may since it was narrowed, and a rolled or expired key for nothing once its time is over', async () => {
    for (const held of [['read', 'charges'], ['read']] as const) {
      const made = await createKey(service.runtime, {
        accountId: owner.ownerId,
        name: `estreita ${held.length}`,
        permissions,
      });
      const call = keyed(made.key);
      expect((await ask(call, 'GET /account')).status).toBe(200);
      await narrowKey(service.runtime, owner.ownerId, made.id, held);
      // Every process reads a key anew within a second.
      await until(async () => (await ask(call, 'GET /webhooks')).status === 403);
      for (const route of routes) {
        const row = rows[route] as Row;
        const may = row.held.some((one) => (held as readonly string[]).includes(one));
        if (!may) expect((await ask(call, route)).status, `${route} narrowed to ${held.join('+')}`).toBe(403);
      }
    }
    const old = await createKey(service.runtime, { accountId: owner.ownerId, name: 'trocada', permissions });
    await rollKey(service.runtime, owner.ownerId, old.id, 0);
    await until(async () => (await ask(keyed(old.key), 'GET /account')).status === 401);
    for (const route of routes) expect((await ask(keyed(old.key), route)).status, route).toBe(401);
  });

  it('shows nothing of another account, not even an id', async () => {
    const ids = [owner.ownerId, owner.operationId, webhookId, paymentId];
    for (const route of routes) {
      const row = rows[route] as Row;
      const { status, body } = await ask(stranger.call, route);
      if (row.foreign !== undefined) expect(status, route).toBe(row.foreign);
      const text = JSON.stringify(body ?? '');
      for (const id of ids) expect(text.includes(id), `${route} tells ${id}`).toBe(false);
    }
  });

  it.each([
    ['not a UUID', 400, 400],
    ['of another account', 404, null],
    ['deleted', 404, null],
  ] as const)('with an operation in the header that is %s', async (which, resolving, syntax) => {
    const operation = which === 'not a UUID' ? 'x' : which === 'deleted' ? gone : stranger.operationId;
    const call = keyed(await service.newKey(owner.ownerId));
    for (const route of routes) {
      const row = rows[route] as Row;
      const { status } = await ask(call, route, operation);
      expect(status, route).toBe(row.resolves ? resolving : (syntax ?? row.allowed));
    }
  });
});
