import { type Answer, base, type Edge, openEdge } from '@vintem/testkit/edge.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLog } from '../../src/ground/log.ts';
import { buildServer } from '../../src/main/server.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';
import { paymentIdFor } from '../../src/store/rows/idempotency.ts';
import { type Command, createTill, type Posting } from '../../src/store/till.ts';

const ids = systemIds(systemClock);
let edge: Edge;

beforeAll(async () => {
  edge = await openEdge();
});
afterAll(() => edge.close());

async function newShop() {
  const { ownerId, operationId } = await edge.newAccount();
  const { key } = await edge.newKey(ownerId);
  const call = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object, headers = {}) =>
    edge.call(key, { method, url, headers, ...(payload && { payload }) });
  const create = (name: string, requestKey = ids.uuid()) => call('POST', '/operations', { name, requestKey });
  const remove = (id: string, headers = {}) => call('DELETE', `/operations/${id}`, {}, headers);
  const list = async () => (await call('GET', '/operations')).body.operations as Answer['body'][];
  return { ownerId, operationId, key, call, create, remove, list };
}

/** Posts by the till, as the runtime does. */
async function post(accountId: string, chainId: string, ...movements: Posting['movement'][]): Promise<void> {
  const till = createTill({ sql: edge.database.sql, clock: systemClock, log: createLog('silent') });
  for (const movement of movements) {
    const command: Command<void> = {
      token: ids.uuid(),
      chains: [{ accountId, chainId }],
      reads: [],
      eventRefs: [],
      decide: () => ({
        answer: undefined,
        postings: [
          {
            chain: { accountId, chainId },
            subject: ids.uuid(),
            event: 4,
            reference: '',
            movement,
            effectiveAt: systemClock.now(),
            connection: 'simulator',
          },
        ],
      }),
      deadlineMs: systemClock.monotonicMs() + 5000,
    };
    await till.submit(command);
  }
}

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

test('an account begins with one main operation [1.2b, 2.4, 4.6]', async () => {
  const { call, ownerId, operationId } = await newShop();
  const { status, body } = await call('GET', '/operations');
  expect(status).toBe(200);
  expect(body).toEqual({
    ownerId,
    limit: 10,
    operations: [
      {
        id: operationId,
        name: 'Principal',
        isDefault: true,
        balanceCents: 0,
        balanceUpdatedAt: expect.stringMatching(isoTime),
        createdAt: expect.stringMatching(isoTime),
      },
    ],
  });
});

test('a new operation is empty, is not the main one, and comes last [1.2a]', async () => {
  const { create, list, call } = await newShop();
  const { status, body } = await create('  Loja do Centro ');
  expect(status).toBe(201);
  expect(body).toMatchObject({ name: 'Loja do Centro', isDefault: false, balanceCents: 0 });
  expect(body.balanceUpdatedAt).toBe(body.createdAt);
  expect((await list()).map((one) => one.name)).toEqual(['Principal', 'Loja do Centro']);
  const selected = await call('GET', '/account', undefined, { 'x-service-operation': body.id });
  expect(selected.body.operationId).toBe(body.id);
});

test('A key that may change operations and not read sees no balance in what a creation, its repeat or a rename answers', async () => {
  const { ownerId, operationId, call } = await newShop();
  await post(ownerId, operationId, { kind: 'credit', amountCents: 12_345, feeCents: 0 });
  const { key } = await edge.newKey(ownerId, ['operations']);
  const send = (method: 'POST' | 'PATCH', url: string, payload: object) =>
    edge.call(key, { method, url, payload });
  const requestKey = ids.uuid();
  const made = await send('POST', '/operations', { name: 'Filial', requestKey });
  expect(made.status).toBe(201);
  await post(ownerId, made.body.id, { kind: 'credit', amountCents: 678, feeCents: 0 });
  const answers = [
    made,
    await send('POST', '/operations', { name: 'Filial', requestKey }),
    await send('PATCH', `/operations/${operationId}`, { name: 'Principal' }),
    await send('PATCH', `/operations/${made.body.id}`, { name: 'Loja da Praia' }),
  ];
  for (const { body } of answers)
    expect(Object.keys(body).sort()).toEqual(['createdAt', 'id', 'isDefault', 'name']);
  const mayRead = await call('PATCH', `/operations/${operationId}`, { name: 'Principal' });
  expect(mayRead.body.balanceCents).toBe(12_345);
});

test('a repeat creates nothing, also after a rename, in other case and many at once [4.7a]', async () => {
  const { create, call, list } = await newShop();
  const requestKey = ids.uuid();
  const answers = await Promise.all(Array.from({ length: 8 }, () => create('Filial', requestKey)));
  expect(new Set(answers.map((one) => one.body.id)).size).toBe(1);
  expect(answers.map((one) => one.status)).toEqual(Array(8).fill(201));
  expect(answers.filter((one) => one.headers['idempotent-replayed'] === 'true')).toHaveLength(7);
  const { id } = answers[0]?.body ?? {};
  await call('PATCH', `/operations/${id}`, { name: 'Outra' });
  const repeat = await create('Filial', requestKey.toUpperCase());
  expect(repeat.status).toBe(201);
  expect(repeat.body).toMatchObject({ id, name: 'Outra' });
  expect(await list()).toHaveLength(2);
});

test('a repeat with other data is refused and changes nothing', async () => {
  const { create, call, list } = await newShop();
  const requestKey = ids.uuid();
  const { body } = await create('Filial', requestKey);
  await call('PATCH', `/operations/${body.id}`, { name: 'Outra' });
  for (const name of ['Outra', 'Mais uma']) {
    const answer = await create(name, requestKey);
    expect(answer.status).toBe(400);
    expect(answer.body.code).toBe('idempotency_conflict');
  }
  expect(await list()).toHaveLength(2);
});

test('a request key of a payment creates no operation', async () => {
  const { create, ownerId, operationId } = await newShop();
  const [installation] = await edge.database.admin<{ identity_secret: Buffer }>('SELECT * FROM installation');
  const [account] = await edge.database.admin<{ number: string }>(
    'SELECT number FROM account WHERE id = $1',
    [ownerId],
  );
  const requestKey = ids.uuid();
  const identity = installation?.identity_secret ?? Buffer.alloc(0);
  const id = paymentIdFor(identity, { id: ownerId, number: Number(account?.number) }, requestKey);
  await edge.database.admin(
    `INSERT INTO payment (account_id, id, operation_id, kind, status, amount_cents, fee_cents, request_key, fingerprint,
       description, payer_name, created_at, updated_at, history, command)
     VALUES ($1, $2, $3, 'deposit', 'failed', 1000, 0, $4, '\\x01', '', 'Maria', now(), now(), '[]', $2)`,
    [ownerId, id, operationId, requestKey],
  );
  const answer = await create('Filial', requestKey);
  expect(answer.body).toMatchObject({ statusCode: 400, code: 'idempotency_conflict', paymentId: id });
});

test('the eleventh is refused, also when many come at once, and deletion frees its place [1.2a, 4.7b, 4.9.5, 7c, 8a]', async () => {
  const { create, remove, list } = await newShop();
  const answers = await Promise.all(Array.from({ length: 14 }, (_, at) => create(`Loja ${at}`)));
  expect(answers.filter((one) => one.status === 201)).toHaveLength(9);
  for (const answer of answers.filter((one) => one.status !== 201)) {
    expect(answer.body).toMatchObject({ statusCode: 400, code: 'operation_limit_reached' });
  }
  const [, second] = await list();
  expect((await remove(second.id)).body).toEqual({ ok: true });
  expect((await create('Nova')).status).toBe(201);
  expect((await create('Demais')).status).toBe(400);
});

test('a refused creation leaves its request key free', async () => {
  const { create, remove, list } = await newShop();
  for (let at = 0; at < 9; at++) await create(`Loja ${at}`);
  const requestKey = ids.uuid();
  expect((await create('Depois', requestKey)).status).toBe(400);
  const [, second] = await list();
  await remove(second.id);
  expect((await create('Depois', requestKey)).status).toBe(201);
});

test('renaming changes the name and nothing else [4.8]', async () => {
  const { create, call } = await newShop();
  const { body } = await create('Filial');
  const renamed = await call('PATCH', `/operations/${body.id}`, { name: 'Filial Nova' });
  expect(renamed.status).toBe(200);
  expect(renamed.body).toEqual({ ...body, name: 'Filial Nova' });
  expect((await call('PATCH', `/operations/${body.id}`, { name: 'Filial Nova' })).body).toEqual(renamed.body);
  expect((await call('PATCH', `/operations/${ids.uuid()}`, { name: 'Filial' })).body.code).toBe(
    'operation_not_found',
  );
  expect((await call('PATCH', '/operations/x', { name: 'Filial' })).body.code).toBe('invalid_id');
  for (const name of ['x', '', ' a ', 'n'.repeat(65)]) {
    expect((await call('PATCH', `/operations/${body.id}`, { name })).body.code).toBe('validation_failed');
  }
});

test('deletion takes an empty object, no body, and an empty one; anything else is refused [4.9]', async () => {
  const { create, call, key } = await newShop();
  const made = await Promise.all([create('A1'), create('B2'), create('C3'), create('D4')]);
  const [a, b, c, d] = made.map((one) => `/operations/${one.body.id}`) as [string, string, string, string];
  expect((await call('DELETE', a, {})).body).toEqual({ ok: true });
  expect((await call('DELETE', b)).body).toEqual({ ok: true });
  const empty = { method: 'DELETE', url: c, headers: { 'content-type': 'application/json' } } as const;
  expect((await edge.call(key, empty)).body).toEqual({ ok: true });
  const refused = await call('DELETE', d, { force: true });
  expect(refused.status).toBe(400);
  expect(refused.body.details).toEqual([{ field: 'force', code: 'unknown_property' }]);
});

test('deleting again succeeds and removes nothing else, also under its own header [4.9.6]', async () => {
  const { create, remove, list } = await newShop();
  const { body } = await create('Filial');
  for (let times = 0; times < 3; times++) {
    const answer = await remove(body.id, { 'x-service-operation': body.id });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ ok: true });
  }
  expect(await list()).toHaveLength(1);
});

test('what never was, or is another account’s, cannot be deleted', async () => {
  const { remove, ownerId } = await newShop();
  const other = await newShop();
  for (const id of [ids.uuid(), other.operationId, ownerId]) {
    const answer = await remove(id);
    expect(answer.status).toBe(404);
    expect(answer.body.code).toBe('operation_not_found');
  }
});

test('a deleted operation cannot be renamed, selected or created again by its key [4.7c, 4.8]', async () => {
  const { create, remove, call } = await newShop();
  const requestKey = ids.uuid();
  const { body } = await create('Filial', requestKey);
  await remove(body.id);
  const header = { 'x-service-operation': body.id };
  expect((await call('PATCH', `/operations/${body.id}`, { name: 'Nova' })).status).toBe(404);
  expect((await call('GET', '/account', undefined, header)).status).toBe(404);
  expect((await call('GET', '/payments', undefined, header)).status).toBe(404);
  const again = await create('Filial', requestKey);
  expect(again.body).toMatchObject({ statusCode: 400, code: 'request_key_consumed' });
});

test('the last operation stays, also when all are deleted at once [4.9.1, 8a]', async () => {
  const { create, remove, list, operationId } = await newShop();
  expect((await remove(operationId)).body).toMatchObject({ statusCode: 400, code: 'last_operation' });
  const made = await Promise.all([create('A1'), create('B2'), create('C3')]);
  const all = [operationId, ...made.map((one) => one.body.id)];
  const answers = await Promise.all(all.map((id) => remove(id)));
  expect(answers.filter((one) => one.status === 200)).toHaveLength(3);
  const left = await list();
  expect(left).toHaveLength(1);
  expect(left[0].isDefault).toBe(true);
});

test('when the main operation goes, the oldest takes over for calls without the header [4.9.4]', async () => {
  const { create, remove, list, call, operationId } = await newShop();
  const first = (await create('Primeira')).body.id;
  await create('Segunda');
  await remove(operationId);
  expect((await list()).map((one) => [one.name, one.isDefault])).toEqual([
    ['Primeira', true],
    ['Segunda', false],
  ]);
  expect((await call('GET', '/account')).body.operationId).toBe(first);
});

test('another process finds the new main operation at once', async () => {
  const { create, remove, operationId, key } = await newShop();
  const other = buildServer(edge.parts);
  const selected = async () => {
    const headers = { authorization: `Bearer ${key}` };
    return (await other.inject({ url: `${base}/account`, headers })).json().operationId;
  };
  expect(await selected()).toBe(operationId);
  const { body } = await create('Filial');
  await remove(operationId);
  expect(await selected()).toBe(body.id);
});

test('a balance blocks deletion, a hold by itself as well [4.9.2a]', async () => {
  const { create, remove, ownerId } = await newShop();
  const { body } = await create('Filial');
  await post(ownerId, body.id, { kind: 'credit', amountCents: 5000, feeCents: 100 });
  expect((await remove(body.id)).body).toMatchObject({ statusCode: 400, code: 'operation_has_balance' });
  const held = (await create('Bloqueada')).body.id;
  await edge.database.admin(
    'UPDATE balance SET hold_wanted = 100 WHERE account_id = $1 AND operation_id = $2',
    [ownerId, held],
  );
  expect((await remove(held)).body).toMatchObject({ statusCode: 400, code: 'operation_on_hold' });
});

test('a reserve, an intent, a draft and an open incident block deletion [4.9.2a]', async () => {
  const { create, remove, ownerId } = await newShop();
  const blocked = { statusCode: 400, code: 'operation_has_unfinished_payments' };
  const { database } = edge;

  const reserved = (await create('Reservada')).body.id;
  await post(
    ownerId,
    reserved,
    { kind: 'credit', amountCents: 5000, feeCents: 0 },
    { kind: 'reserve', grossCents: 5000 },
  );
  expect((await remove(reserved)).body).toMatchObject(blocked);

  const draft = (await create('Rascunho')).body.id;
  const id = ids.uuid();
  await database.admin(
    `INSERT INTO payment (account_id, id, operation_id, kind, status, amount_cents, fee_cents, request_key, fingerprint,
       description, pix_key, pix_key_type, created_at, updated_at, history, command)
     VALUES ($1, $2, $3, 'transfer', 'draft', 1000, 25, $2, '\\x01', '', '\\x01', 'EMAIL', now(), now(), '[]', $2)`,
    [ownerId, id, draft],
  );
  expect((await remove(draft)).body).toMatchObject(blocked);
  await database.admin(`UPDATE payment SET status = 'cancelled' WHERE id = $1`, [id]);

  await database.admin(
    `INSERT INTO incident (account_id, id, kind, operation_id, amount_cents, reference, freezes, detail, state, opened_at)
     VALUES ($1, $2, 'contradiction', $3, 0, 'x', true, '{}', 'open', now())`,
    [ownerId, id, draft],
  );
  expect((await remove(draft)).body).toMatchObject(blocked);
  await database.admin(`UPDATE incident SET state = 'resolved' WHERE id = $1`, [id]);
  expect((await remove(draft)).status).toBe(200);
});

test('money that came and went leaves a zero that can be deleted', async () => {
  const { create, remove, ownerId } = await newShop();
  const { body } = await create('Filial');
  await post(
    ownerId,
    body.id,
    { kind: 'credit', amountCents: 5000, feeCents: 0 },
    { kind: 'reserve', grossCents: 5000 },
    { kind: 'complete', grossCents: 5000, feeCents: 25 },
  );
  expect((await remove(body.id)).body).toEqual({ ok: true });
});

test('a balance that differs from its journals blocks deletion with 503 [4.9.3, 7g]', async () => {
  const { create, remove, ownerId, list } = await newShop();
  const broken = [
    'available = available + 100',
    'seq = seq + 1',
    `head = decode(repeat('ab', 32), 'hex')`,
    'receivable = 1',
  ];
  for (const change of broken) {
    const { id } = (await create('Filial')).body;
    const before = (await list()).length;
    await edge.database.admin(`UPDATE balance SET ${change} WHERE account_id = $1 AND operation_id = $2`, [
      ownerId,
      id,
    ]);
    const answer = await remove(id);
    expect(answer.body).toMatchObject({ statusCode: 503, code: 'ledger_divergence' });
    expect(answer.headers['retry-after']).toBeUndefined();
    expect(await list()).toHaveLength(before);
  }
});

test('a hidden divergence is found: the columns are zero and the journals are not [4.9.3]', async () => {
  const { create, remove, ownerId } = await newShop();
  const { body } = await create('Filial');
  await post(ownerId, body.id, { kind: 'credit', amountCents: 5000, feeCents: 0 });
  await edge.database.admin('UPDATE balance SET available = 0 WHERE account_id = $1 AND operation_id = $2', [
    ownerId,
    body.id,
  ]);
  expect((await remove(body.id)).status).toBe(503);
});

test('after a restore a zero is not confirmed until the provider was compared [4.9.2a]', async () => {
  const other = await openEdge();
  const { ownerId, operationId } = await other.newAccount();
  const { key } = await other.newKey(ownerId);
  const made = await other.call(key, {
    method: 'POST',
    url: '/operations',
    payload: { name: 'Filial', requestKey: ids.uuid() },
  });
  await other.database.admin('UPDATE installation SET restored_at = now()');
  const remove = { method: 'DELETE', url: `/operations/${operationId}`, payload: {} } as const;
  expect((await other.call(key, remove)).body).toMatchObject({
    statusCode: 400,
    code: 'balance_not_confirmed',
  });
  await other.database.admin('UPDATE installation SET restored_at = NULL');
  expect((await other.call(key, remove)).status).toBe(200);
  expect((await other.call(key, { url: '/account' })).body.operationId).toBe(made.body.id);
  await other.close();
});

test('every change of an operation leaves its event, a repeat none', async () => {
  const { create, remove, call, ownerId, operationId } = await newShop();
  const requestKey = ids.uuid();
  const { body } = await create('Filial', requestKey);
  await create('Filial', requestKey);
  await call('PATCH', `/operations/${body.id}`, { name: 'Nova' });
  await call('PATCH', `/operations/${body.id}`, { name: 'Nova' });
  await remove(operationId);
  await remove(operationId);
  const rows = await edge.database.admin<{ type: string; body: string }>(
    'SELECT type, body FROM event WHERE account_id = $1 ORDER BY id',
    [ownerId],
  );
  expect(rows.map((row) => [row.type, JSON.parse(row.body).data.operationId])).toEqual([
    ['operation.created', body.id],
    ['operation.updated', body.id],
    ['operation.deleted', operationId],
    ['operation.updated', body.id],
  ]);
  expect(JSON.parse(rows[3]?.body ?? '').data).toMatchObject({ name: 'Nova', isDefault: true });
});
