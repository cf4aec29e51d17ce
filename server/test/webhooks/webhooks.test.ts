import { openReceiver, type Receiver, verified } from '@vintem/testkit/receiver.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Permission } from '../../src/ground/permissions.ts';

let service: Service;
const receivers: Receiver[] = [];

beforeAll(async () => {
  service = await openService({ env: { WEBHOOK_ALLOW_INSECURE_LOCAL: 'true' } });
});
afterAll(() => service.close());
afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.stop();
});

async function receive(): Promise<Receiver> {
  const receiver = await openReceiver();
  receivers.push(receiver);
  return receiver;
}

const register = (merchant: Merchant, url: string, fields: object = {}) =>
  merchant.call('POST', '/webhooks', { url, events: ['*'], requestKey: crypto.randomUUID(), ...fields });

async function listening(fields: object = {}) {
  const merchant = await service.newMerchant();
  const receiver = await receive();
  const { status, body } = await register(merchant, receiver.url, fields);
  expect(status).toBe(201);
  return { merchant, receiver, endpoint: body };
}

test('a paid charge and a completed transfer arrive signed, with the operation at data.operationId [6.1–6.9]', async () => {
  const { merchant, receiver, endpoint } = await listening();
  await merchant.receive(5000);
  const transfer = await merchant.transfer({ amountCents: 2000 });
  const paid = await receiver.first(({ body }) => body.type === 'charge.paid');
  const completed = await receiver.first(({ body }) => body.type === 'transfer.completed');
  for (const received of [paid, completed]) {
    expect(verified(endpoint.secret, received)).toEqual(received.body);
    expect(received.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'vintem-Webhooks/1',
      'webhook-id': received.body.id,
      'x-webhook-attempt': '1',
    });
    expect(received.body).toMatchObject({ schemaVersion: 1, livemode: false });
    expect(received.body.data.operationId).toBe(merchant.operationId);
  }
  expect(completed.body).toMatchObject({
    change: { to: 'completed' },
    data: {
      id: transfer.body.id,
      status: 'completed',
      amountCents: 2000,
      requestKey: expect.any(String),
    },
  });
  await until(async () => {
    const { body } = await merchant.call('GET', `/webhooks/${endpoint.id}/deliveries`);
    return body.deliveries.every((one: { status: string }) => one.status === 'delivered');
  });
  const { body } = await merchant.call('GET', `/webhooks/${endpoint.id}/deliveries?status=delivered`);
  expect(body.deliveries[0].attempts).toEqual([
    {
      n: 1,
      at: expect.any(String),
      statusCode: 200,
      error: null,
      durationMs: expect.any(Number),
      responseSnippet: 'noted',
    },
  ]);
});

test('a payment settles into frozen bytes: deliveries, log and every endpoint carry the same', async () => {
  const { merchant, receiver } = await listening({ events: ['charge.paid'] });
  const second = await receive();
  await register(merchant, second.url, { events: ['charge.paid'] });
  await merchant.receive(3000);
  const [one, other] = await Promise.all([receiver, second].map((each) => each.first(() => true)));
  expect(one?.text).toBe(other?.text);
  expect(one?.headers['webhook-signature']).not.toBe(other?.headers['webhook-signature']);
  expect(JSON.stringify((await merchant.call('GET', `/events/${one?.body.id}`)).body)).toBe(one?.text);
  // Once per state entered, whatever else the provider repeats.
  expect((await merchant.call('GET', '/events?type=charge.paid')).body.events).toHaveLength(1);
});

test('an endpoint is created once per request key, and its secret is shown once [4.11]', async () => {
  const merchant = await service.newMerchant();
  const receiver = await receive();
  const body = {
    url: receiver.url,
    events: ['transfer.completed', 'charge.paid', 'charge.paid'],
    description: ' Loja ',
    operationIds: [merchant.operationId],
    requestKey: crypto.randomUUID(),
  };
  const created = await merchant.call('POST', '/webhooks', body);
  expect(created.status).toBe(201);
  expect(created.body).toEqual({
    id: expect.any(String),
    url: receiver.url,
    events: ['charge.paid', 'transfer.completed'],
    description: 'Loja',
    operationIds: [merchant.operationId],
    enabled: true,
    status: 'active',
    disabledReason: null,
    disabledAt: null,
    secretHint: `whsec_…${created.body.secret.replace(/=+$/, '').slice(-4)}`,
    schemaVersion: 1,
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
    secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
  });
  const { secret, ...endpoint } = created.body;
  const again = await merchant.call('POST', '/webhooks', body);
  expect([again.status, again.headers.get('idempotent-replayed'), again.body]).toEqual([
    201,
    'true',
    endpoint,
  ]);
  expect((await merchant.call('GET', `/webhooks/${endpoint.id}`)).body).toEqual(endpoint);
  expect((await merchant.call('GET', '/webhooks')).body).toEqual({ webhooks: [endpoint], limit: 10 });
  const rows = await service.database.admin<{ secret: Buffer }>(
    'SELECT secret FROM webhook_endpoint WHERE id = $1',
    [endpoint.id],
  );
  expect(rows[0]?.secret.includes(Buffer.from(secret.slice(6), 'base64'))).toBe(false);
  expect(rows[0]?.secret.includes(secret)).toBe(false);
});

test('a request key is one namespace with payments and operations', async () => {
  const merchant = await service.newMerchant();
  const { url } = await receive();
  const requestKey = crypto.randomUUID();
  const { id } = (await register(merchant, url, { requestKey })).body;
  const conflict = { status: 400, body: { code: 'idempotency_conflict' } };
  expect(await register(merchant, url, { requestKey, events: ['charge.paid'] })).toMatchObject(conflict);
  expect(await merchant.charge({ requestKey })).toMatchObject(conflict);
  expect(await merchant.call('POST', '/operations', { name: 'Filial', requestKey })).toMatchObject(conflict);
  const charge = await merchant.charge();
  const key = crypto.randomUUID();
  expect((await merchant.charge({ requestKey: key })).status).toBe(201);
  expect(await register(merchant, url, { requestKey: key })).toMatchObject({
    status: 400,
    body: { code: 'idempotency_conflict', paymentId: expect.any(String) },
  });
  expect(charge.status).toBe(201);
  expect(await merchant.call('DELETE', `/webhooks/${id}`, {})).toMatchObject({
    status: 200,
    body: { ok: true },
  });
  expect(await merchant.call('DELETE', `/webhooks/${id}`, {})).toMatchObject({
    status: 200,
    body: { ok: true },
  });
  expect(await register(merchant, url, { requestKey })).toMatchObject({
    status: 400,
    body: { code: 'request_key_consumed' },
  });
  expect((await merchant.call('GET', `/webhooks/${id}`)).body.code).toBe('webhook_not_found');
});

test('ten endpoints, also for calls at the same time; deleting one frees its place', async () => {
  const merchant = await service.newMerchant();
  const { url } = await receive();
  const answers = await Promise.all(Array.from({ length: 13 }, () => register(merchant, url)));
  const created = answers.filter(({ status }) => status === 201);
  expect(created).toHaveLength(10);
  for (const { status, body } of answers) {
    if (status !== 201) expect([status, body.code]).toEqual([400, 'webhook_limit_reached']);
  }
  await merchant.call('DELETE', `/webhooks/${created[0]?.body.id}`, {});
  expect((await register(merchant, url)).status).toBe(201);
});

test('what cannot be an endpoint is refused, field by field', async () => {
  const merchant = await service.newMerchant();
  const { url } = await receive();
  for (const [fields, code] of [
    [{ url: 'http://10.0.0.1/' }, 'webhook_url_not_allowed'],
    [{ url: 'http://example.com/' }, 'webhook_url_not_allowed'],
    [{ url: 'https://169.254.169.254/' }, 'webhook_url_not_allowed'],
    [{ url: 'https://user:pass@example.com/' }, 'webhook_url_not_allowed'],
    [{ url: `https://example.com/${'a'.repeat(2048)}` }, 'validation_failed'],
    [{ events: [] }, 'validation_failed'],
    [{ events: ['charge.stolen'] }, 'validation_failed'],
    [{ events: 'charge.paid' }, 'validation_failed'],
    [{ description: 'a'.repeat(201) }, 'validation_failed'],
    [{ description: 'a\u0000b' }, 'validation_failed'],
    [{ operationIds: ['x'] }, 'validation_failed'],
    [{ operationIds: [] }, 'validation_failed'],
    [{ secret: 'mine' }, 'validation_failed'],
    [{ requestKey: 'x' }, 'validation_failed'],
  ] as const) {
    const answer = await register(merchant, url, fields);
    expect([fields, answer.status, answer.body.code]).toEqual([fields, 400, code]);
  }
  const foreign = await service.newMerchant();
  expect(await register(merchant, url, { operationIds: [foreign.operationId] })).toMatchObject({
    status: 404,
    body: { code: 'operation_not_found' },
  });
  expect((await merchant.call('GET', '/webhooks')).body.webhooks).toEqual([]);
});

test('a payment whose first news is its end was created and ended for its subscribers, each once, in that order', async () => {
  const { merchant, receiver } = await listening();
  // A new subscription takes effect within a second.
  await service.runtime.clock.sleep(1_100);
  await merchant.receive(5000);
  const { body: lost } = await merchant.transfer({ pixKey: 'lose-answer@simulator.example' });
  const refused = await merchant.transfer({ pixKey: 'refuse-in-answer@simulator.example' });
  // Refused by our own rules: the provider never learns of it.
  const unsent = await merchant.transfer({ pixKey: `${'a'.repeat(80)}@loja.example` });
  const told = (id: string) =>
    receiver.got.filter(({ body }) => body.data.id === id).map(({ body }) => [body.type, body.change.from]);
  const ended = [
    [lost.id, 'transfer.completed'],
    [refused.body.paymentId ?? refused.body.id, 'transfer.cancelled'],
  ];
  await until(async () => ended.every(([id, type]) => told(id).some(([one]) => one === type)));
  for (const [id, type] of ended) {
    const types = told(id);
    expect(types[0]).toEqual(['transfer.created', 'unknown']);
    expect(types.filter(([one]) => one === 'transfer.created')).toHaveLength(1);
    expect(types.filter(([one]) => one === type)).toHaveLength(1);
  }
  await until(async () => told(unsent.body.paymentId).length > 0);
  expect(told(unsent.body.paymentId)).toEqual([['transfer.cancelled', 'unknown']]);
});

test('an endpoint is changed field by field; the eleventh new address within an hour is refused', async () => {
  const { merchant, endpoint } = await listening({ description: 'Loja' });
  const path = `/webhooks/${endpoint.id}`;
  const patch = async (fields: object) => merchant.call('PATCH', path, fields);
  expect((await patch({ description: null, events: ['charge.paid'] })).body).toMatchObject({
    description: null,
    events: ['charge.paid'],
    url: endpoint.url,
  });
  expect((await patch({ operationIds: [merchant.operationId] })).body.operationIds).toEqual([
    merchant.operationId,
  ]);
  expect((await patch({ operationIds: null })).body.operationIds).toBeNull();
  expect((await patch({ enabled: false })).body).toMatchObject({
    status: 'disabled',
    disabledReason: 'by_request',
  });
  expect((await patch({ enabled: true })).body).toMatchObject({ status: 'active', disabledAt: null });
  expect((await patch({ enabled: 'yes' })).body).toMatchObject({
    code: 'validation_failed',
    details: [{ field: 'enabled', code: 'not_a_boolean' }],
  });
  expect((await patch({ url: 'https://10.0.0.1/' })).body.code).toBe('webhook_url_not_allowed');
  for (let n = 0; n < 10; n++) expect((await patch({ url: `${endpoint.url}/${n}` })).status).toBe(200);
  const refused = await patch({ url: `${endpoint.url}/10` });
  expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_500);
  expect((await patch({ url: `${endpoint.url}/9` })).status).toBe(200);
  // Making and removing endpoints is no way around it.
  expect((await register(merchant, `${endpoint.url}/11`)).status).toBe(201);
  await merchant.call('DELETE', path, {});
  const another = await register(merchant, `${endpoint.url}/12`);
  expect([another.status, another.body.code]).toEqual([429, 'rate_limited']);
});

test('only the permission webhooks manages endpoints, and no key sees those of another account', async () => {
  const { merchant, endpoint } = await listening();
  const reader = service.as(
    await service.newKey(merchant.ownerId, ['read', 'charges', 'transfers', 'operations']),
  );
  const foreign = await service.newMerchant();
  const calls: [string, string, object?][] = [
    ['GET', `/webhooks/${endpoint.id}`],
    ['PATCH', `/webhooks/${endpoint.id}`, { enabled: false }],
    ['DELETE', `/webhooks/${endpoint.id}`, {}],
    ['POST', `/webhooks/${endpoint.id}/rotate-secret`, {}],
    ['POST', `/webhooks/${endpoint.id}/test`, {}],
    ['GET', `/webhooks/${endpoint.id}/deliveries`],
    ['POST', `/webhooks/${endpoint.id}/replay`, { from: '2026-01-01T00:00:00Z' }],
  ];
  for (const [method, path, body] of calls) {
    expect(await reader(method, path, body)).toMatchObject({
      status: 403,
      body: { code: 'permission_denied' },
    });
    expect(await foreign.call(method, path, body)).toMatchObject({
      status: 404,
      body: { code: 'webhook_not_found' },
    });
  }
  expect((await merchant.call('GET', `/webhooks/${endpoint.id}`, undefined, 'x')).body.code).toBe(
    'invalid_operation_header',
  );
  expect(
    (await merchant.call('GET', `/webhooks/${endpoint.id}`, undefined, foreign.operationId)).status,
  ).toBe(200);
});

test('a secret is rotated once at a time, unless by force', async () => {
  const { merchant, endpoint } = await listening();
  const rotate = (body: object) => merchant.call('POST', `/webhooks/${endpoint.id}/rotate-secret`, body);
  const first = await rotate({});
  expect(first.status).toBe(200);
  expect(Date.parse(first.body.previousSecretExpiresAt) - Date.now()).toBeGreaterThan(23.9 * 3600_000);
  expect((await rotate({})).body.code).toBe('rotation_in_progress');
  const forced = await rotate({ force: true, overlapHours: 0 });
  expect(forced.body.secret).not.toBe(first.body.secret);
  expect((await rotate({ overlapHours: 169 })).body.code).toBe('validation_failed');
  expect((await merchant.call('GET', `/webhooks/${endpoint.id}`)).body.secretHint).toBe(
    `whsec_…${forced.body.secret.replace(/=+$/, '').slice(-4)}`,
  );
});

test('a test goes to its endpoint alone and into no log', async () => {
  const { merchant, receiver, endpoint } = await listening({ events: ['charge.paid'] });
  const { body } = await merchant.call('POST', `/webhooks/${endpoint.id}/test`, {});
  const tested = await receiver.first(({ body }) => body.type === 'webhook.test');
  expect(tested.body).toMatchObject({ livemode: false, data: { operationId: merchant.operationId } });
  verified(endpoint.secret, tested);
  await merchant.call('POST', `/webhooks/${endpoint.id}/test`, { type: 'transfer.completed' });
  const sample = await receiver.first(({ body }) => body.type === 'transfer.completed');
  expect(sample.body).toMatchObject({ livemode: false, data: { status: 'completed', kind: 'transfer' } });
  const path = `/webhooks/${endpoint.id}/deliveries/${body.deliveryId}`;
  await until(async () => (await merchant.call('GET', path)).body.status === 'delivered');
  expect((await merchant.call('GET', '/events')).body.events).toEqual([]);
  expect((await merchant.call('GET', '/webhooks/event-types')).body.eventTypes).toContainEqual({
    type: 'transfer.completed',
    description: expect.any(String),
    schemaVersion: 1,
  });
});

test('filters: by type and by operation; a new operation is heard without one [1.2c]', async () => {
  const { merchant, receiver, endpoint } = await listening({ events: ['charge.paid'] });
  const filial = (
    await merchant.call('POST', '/operations', { name: 'Filial', requestKey: crypto.randomUUID() })
  ).body;
  const narrow = await receive();
  await register(merchant, narrow.url, { operationIds: [filial.id] });
  await merchant.receive(2000);
  await merchant.receive(2500, filial.id);
  await receiver.first(({ body }) => body.data.operationId === filial.id);
  await narrow.first(({ body }) => body.type === 'charge.paid');
  expect(receiver.types()).toEqual(['charge.paid', 'charge.paid']);
  expect(new Set(narrow.got.map(({ body }) => body.data.operationId))).toEqual(new Set([filial.id]));
  expect(endpoint.operationIds).toBeNull();
});

test('operations tell of their creation, change and deletion', async () => {
  const { merchant, receiver } = await listening();
  const { id } = (
    await merchant.call('POST', '/operations', { name: 'Filial', requestKey: crypto.randomUUID() })
  ).body;
  await merchant.call('PATCH', `/operations/${id}`, { name: 'Filial Sul' });
  await merchant.call('PATCH', `/operations/${id}`, { name: 'Filial Sul' });
  await merchant.call('DELETE', `/operations/${id}`, {});
  await receiver.first(({ body }) => body.type === 'operation.deleted');
  expect(receiver.types()).toEqual(['operation.created', 'operation.updated', 'operation.deleted']);
  for (const { body } of receiver.got) expect(body.data).toMatchObject({ id, operationId: id });
});

test('replay sends a stretch of time again, under the same ids', async () => {
  const { merchant, receiver, endpoint } = await listening();
  const from = new Date(Date.now() - 60_000).toISOString();
  for (const name of ['Loja A', 'Loja B', 'Loja C']) {
    await merchant.call('PATCH', `/operations/${merchant.operationId}`, { name });
  }
  await until(async () => receiver.got.length === 3);
  const path = `/webhooks/${endpoint.id}/replay`;
  await until(async () =>
    (await merchant.call('GET', `/webhooks/${endpoint.id}/deliveries`)).body.deliveries.every(
      (one: { status: string }) => one.status === 'delivered',
    ),
  );
  expect((await merchant.call('POST', path, { from })).body).toEqual({ scheduled: 0 });
  expect(
    (await merchant.call('POST', path, { from, onlyFailed: false, types: ['charge.paid'] })).body,
  ).toEqual({
    scheduled: 0,
  });
  expect((await merchant.call('POST', path, { from, onlyFailed: false })).body).toEqual({ scheduled: 3 });
  await until(async () => receiver.got.length === 6);
  expect(receiver.got.slice(3).map(({ text }) => text)).toEqual(
    receiver.got.slice(0, 3).map(({ text }) => text),
  );
  const late = await receive();
  const added = (await register(merchant, late.url)).body;
  expect(
    (await merchant.call('POST', `/webhooks/${added.id}/replay`, { from, onlyFailed: false })).body,
  ).toEqual({
    scheduled: 3,
  });
  await until(async () => late.got.length === 3);
  expect((await merchant.call('POST', path, { from: '2026-01-01T00:00:00Z' })).body.code).toBe(
    'replay_window_too_long',
  );
  expect((await merchant.call('POST', path, { from, to: from })).body.details).toEqual([
    { field: 'to', code: 'not_after_from' },
  ]);
});

test('a page of deliveries or events begins where the previous page ended', async () => {
  const { merchant, receiver, endpoint } = await listening();
  for (let n = 0; n < 7; n++) {
    await merchant.call('PATCH', `/operations/${merchant.operationId}`, { name: `Loja ${n}` });
  }
  await until(async () => receiver.got.length === 7);
  for (const [path, name] of [
    [`/webhooks/${endpoint.id}/deliveries?limit=3`, 'deliveries'],
    ['/events?limit=3', 'events'],
    ['/events?limit=3&type=operation.updated', 'events'],
  ] as const) {
    const ids: string[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await merchant.call('GET', path + (cursor && `&cursor=${cursor}`));
      ids.push(...body[name].map((one: { id: string }) => one.id));
      expect(body.hasMore).toBe(body.nextCursor !== null);
      if (body.nextCursor === null) break;
      cursor = body.nextCursor;
    }
    expect([path, new Set(ids).size, ids.length]).toEqual([path, 7, 7]);
  }
  const { body } = await merchant.call('GET', `/webhooks/${endpoint.id}/deliveries?limit=1`);
  const foreign = await listening();
  expect(
    (
      await foreign.merchant.call(
        'GET',
        `/webhooks/${foreign.endpoint.id}/deliveries?cursor=${body.nextCursor}`,
      )
    ).body.code,
  ).toBe('invalid_cursor');
});

test("a payment's events are found by its id", async () => {
  const { merchant } = await listening();
  await merchant.receive(4000);
  const transfer = (await merchant.transfer({ amountCents: 1500 })).body;
  await until(
    async () => (await merchant.call('GET', `/events?paymentId=${transfer.id}`)).body.events.length > 0,
  );
  const { events } = (await merchant.call('GET', `/events?paymentId=${transfer.id}`)).body;
  expect(new Set(events.map((event: { data: { id: string } }) => event.data.id))).toEqual(
    new Set([transfer.id]),
  );
  expect((await merchant.call('GET', `/events?paymentId=${crypto.randomUUID()}`)).body.events).toEqual([]);
});

test('the log is for the permissions read and webhooks, and for its own account', async () => {
  const { merchant, receiver } = await listening();
  await merchant.call('PATCH', `/operations/${merchant.operationId}`, { name: 'Loja Z' });
  const { body } = await receiver.first(() => true);
  const as = async (...held: Permission[]) => service.as(await service.newKey(merchant.ownerId, held));
  for (const held of ['read', 'webhooks'] as const) {
    expect((await (await as(held))('GET', `/events/${body.id}`)).body).toEqual(body);
  }
  expect((await (await as('charges', 'transfers', 'operations'))('GET', '/events')).status).toBe(403);
  const foreign = await service.newMerchant();
  expect((await foreign.call('GET', `/events/${body.id}`)).body.code).toBe('event_not_found');
  expect((await foreign.call('GET', '/events')).body.events).toEqual([]);
});
