import { type Answer, type Edge, openEdge } from '@vintem/testkit/edge.ts';
import { PNG } from 'pngjs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';
import { paymentIdFor } from '../../src/store/rows/idempotency.ts';

const ids = systemIds(systemClock);
let edge: Edge;
let identity: Buffer;

beforeAll(async () => {
  edge = await openEdge();
  identity = edge.cell.identity;
});
afterAll(() => edge.close());

async function newShop() {
  const { ownerId, operationId } = await edge.newAccount();
  const { key } = await edge.newKey(ownerId);
  const [account] = await edge.database.admin<{ number: string }>(
    'SELECT number FROM account WHERE id = $1',
    [ownerId],
  );
  const number = Number(account?.number);
  const get = (url: string, headers = {}, as = key) => edge.call(as, { url, headers });
  const list = async (query = '', headers = {}, as = key) => get(`/payments${query}`, headers, as);
  /** A stored payment, as any past of the account may have left it. */
  async function store(fields: Record<string, unknown> = {}): Promise<string> {
    const requestKey = (fields.request_key as string) ?? ids.uuid();
    const id = paymentIdFor(identity, { id: ownerId, number }, requestKey);
    const deposit = (fields.kind ?? 'deposit') === 'deposit';
    const row: Record<string, unknown> = {
      account_id: ownerId,
      id,
      operation_id: operationId,
      kind: 'deposit',
      status: 'pending',
      amount_cents: 1000,
      fee_cents: 25,
      request_key: requestKey,
      fingerprint: Buffer.of(1),
      description: '',
      payer_name: deposit ? 'Maria' : null,
      pix_key: deposit ? null : Buffer.of(1),
      pix_key_type: deposit ? null : 'EMAIL',
      created_at: '2026-11-20T12:00:00.000Z',
      updated_at: fields.created_at ?? '2026-11-20T12:00:00.000Z',
      history: '[]',
      command: ids.uuid(),
      ...fields,
    };
    const names = Object.keys(row);
    await edge.database.admin(
      `INSERT INTO payment (${names.join(', ')}) VALUES (${names.map((_, at) => `$${at + 1}`).join(', ')})`,
      Object.values(row),
    );
    return id;
  }
  return { ownerId, operationId, key, get, list, store };
}

const idsOf = (answer: Answer): string[] => answer.body.payments.map((payment: { id: string }) => payment.id);
const minute = (at: number) => new Date(Date.UTC(2026, 10, 20, 12, at)).toISOString();

test('a pending charge is shown with its code and a PNG of it, and with every field that is always there [2.1a]', async () => {
  const { get, store, operationId } = await newShop();
  const id = await store({ copy_paste: '00020126CODE', expires_at: '2026-11-21T12:00:00.5Z' });
  const { status, body } = await get(`/payments/${id.toUpperCase()}`);
  expect(status).toBe(200);
  const { qrCodeBase64, ...rest } = body;
  expect(rest).toEqual({
    id,
    kind: 'deposit',
    amountCents: 1000,
    status: 'pending',
    createdAt: '2026-11-20T12:00:00.000Z',
    updatedAt: '2026-11-20T12:00:00.000Z',
    operationId,
    feeCents: 25,
    settledAt: null,
    paymentMethod: 'pix',
    expiresAt: '2026-11-21T12:00:00.500Z',
    copyPaste: '00020126CODE',
    requestKey: expect.stringMatching(/^[0-9a-f-]{36}$/),
    payerUrl: expect.stringMatching(/^http:\/\/[^/]+\/pay\/[A-Za-z0-9_-]{51}$/),
  });
  expect(qrCodeBase64).toMatch(/^data:image\/png;base64,/);
  expect(PNG.sync.read(Buffer.from(qrCodeBase64.slice(22), 'base64')).width).toBeGreaterThan(20);
});

test('a code past its state is not shown, nor is one in a list [2.1d, 2.1e]', async () => {
  const { get, list, store } = await newShop();
  const paid = {
    status: 'paid',
    copy_paste: 'CODE',
    settled_at: minute(2),
    paid_at: minute(1),
    end_to_end: 'E1234567820261120120012345678901',
    provider_fee_cents: 25,
    net_amount_cents: 975,
  };
  const id = await store(paid);
  await store({ copy_paste: 'CODE' });
  expect((await get(`/payments/${id}`)).body).toMatchObject({
    status: 'paid',
    settledAt: minute(2),
    paidAt: minute(1),
    endToEnd: 'E1234567820261120120012345678901',
    providerFeeCents: 25,
    netAmountCents: 975,
  });
  const shown = [...(await list()).body.payments, (await get(`/payments/${id}`)).body];
  for (const payment of shown) {
    expect(payment).not.toHaveProperty('copyPaste');
    expect(payment).not.toHaveProperty('qrCodeBase64');
    expect(payment).not.toHaveProperty('debitAmountCents');
    for (const inside of ['history', 'command', 'payerName', 'pixKey', 'fingerprint']) {
      expect(payment).not.toHaveProperty(inside);
    }
  }
});

test('a transfer is shown with gross and expected net, and a cancelled one with its reason [2.1h]', async () => {
  const { get, store } = await newShop();
  const id = await store({ kind: 'transfer', status: 'cancelled', reason_code: 'pix_key_not_found' });
  expect((await get(`/payments/${id}`)).body).toMatchObject({
    kind: 'transfer',
    status: 'cancelled',
    debitAmountCents: 1000,
    expectedNetAmountCents: 975,
    reasonCode: 'pix_key_not_found',
    settledAt: null,
  });
});

const always = [
  'id',
  'kind',
  'amountCents',
  'status',
  'createdAt',
  'updatedAt',
  'operationId',
  'feeCents',
  'settledAt',
  'paymentMethod',
  'expiresAt',
];
const settled = {
  settled_at: '2026-11-20T12:02:00Z',
  provider_fee_cents: 25,
  net_amount_cents: 975,
  end_to_end: 'E1',
};
const paid = { ...settled, paid_at: '2026-11-20T12:01:00Z' };
const coded = { copy_paste: '000201CODE', expires_at: '2026-11-21T12:00:00Z' };
const sent = ['debitAmountCents', 'expectedNetAmountCents'];
const closed = ['providerFeeCents', 'netAmountCents', 'endToEnd'];

/** Beside the eleven: exactly these in the lookup of one, which has the request key besides, and in the list. */
const shownFields: [kind: string, status: string, stored: object, alone: string[], listed: string[]][] = [
  ['deposit', 'unknown', {}, [], []],
  ['deposit', 'pending', coded, ['copyPaste', 'qrCodeBase64'], []],
  ['deposit', 'pending', {}, [], []],
  ['deposit', 'paid', { ...coded, ...paid }, ['paidAt', ...closed], ['paidAt', ...closed]],
  [
    'deposit',
    'failed',
    { reason_code: 'provider_refused' },
    ['reasonCode', 'notice'],
    ['reasonCode', 'notice'],
  ],
  ['deposit', 'expired', coded, [], []],
  ['transfer', 'draft', {}, sent, sent],
  ['transfer', 'unknown', {}, sent, sent],
  ['transfer', 'pending', { end_to_end: 'E1' }, [...sent, 'endToEnd'], [...sent, 'endToEnd']],
  ['transfer', 'completed', settled, [...sent, ...closed], [...sent, ...closed]],
  [
    'transfer',
    'completed',
    { ...settled, notice: 'returned' },
    [...sent, ...closed, 'notice'],
    [...sent, ...closed, 'notice'],
  ],
  [
    'transfer',
    'cancelled',
    { reason_code: 'recipient_refused' },
    [...sent, 'reasonCode'],
    [...sent, 'reasonCode'],
  ],
];
test.each(shownFields)(
  'a %s that is %s shows its fields and no others',
  async (kind, status, stored, alone, listed) => {
    const { get, list, store } = await newShop();
    const id = await store({ kind, status, ...stored });
    const one = (await get(`/payments/${id}`)).body;
    const ofCharge = kind === 'deposit' ? ['payerUrl'] : [];
    expect(Object.keys(one).sort()).toEqual([...always, 'requestKey', ...ofCharge, ...alone].sort());
    const [inList] = (await list()).body.payments;
    expect(Object.keys(inList).sort()).toEqual([...always, ...listed].sort());
    expect(one).toMatchObject({ kind, status, paymentMethod: 'pix', feeCents: 25 });
    expect([one.settledAt === null, one.expiresAt === null]).toEqual([
      !('settled_at' in stored),
      !('expires_at' in stored),
    ]);
  },
);

test('a notice is in the language of the caller [2.1f]', async () => {
  const { get, store } = await newShop();
  const completed = { kind: 'transfer', status: 'completed', settled_at: minute(3), net_amount_cents: 975 };
  const id = await store({ ...completed, notice: 'returned' });
  expect((await get(`/payments/${id}`)).body.notice).toMatch(/returned/);
  expect((await get(`/payments/${id}`, { 'accept-language': 'pt' })).body.notice).toMatch(/devolvido/);
});

test('a payment of another operation or account, or one that does not exist, is the same 404 [1.2a, 4.3a, 7e]', async () => {
  const { get, store, key } = await newShop();
  const stranger = await newShop();
  const { body } = await edge.call(key, {
    method: 'POST',
    url: '/operations',
    payload: { name: 'Filial', requestKey: ids.uuid() },
  });
  const inOther = await store({ operation_id: body.id });
  const inMain = await store();
  const other = { 'x-service-operation': body.id };
  expect((await get(`/payments/${inOther}`, other)).status).toBe(200);
  const answers = [
    await get(`/payments/${inOther}`),
    await get(`/payments/${inMain}`, other),
    await stranger.get(`/payments/${inMain}`),
    await get(`/payments/${ids.uuid()}`),
    await get('/payments/00000000-0000-0000-0000-000000000000'),
  ];
  const seen = new Set(answers.map((one) => JSON.stringify({ ...one.body, requestId: '' })));
  expect(seen.size).toBe(1);
  expect(answers[0]?.body).toMatchObject({ statusCode: 404, code: 'payment_not_found' });
  expect((await get('/payments/123')).body).toMatchObject({ statusCode: 400, code: 'invalid_id' });
});

test('a key that may only create one kind sees that kind only', async () => {
  const { ownerId, get, list, store } = await newShop();
  const deposit = await store();
  const transfer = await store({ kind: 'transfer', status: 'pending' });
  const charger = (await edge.newKey(ownerId, ['charges'])).key;
  const payer = (await edge.newKey(ownerId, ['transfers', 'operations'])).key;
  const both = (await edge.newKey(ownerId, ['transfers', 'charges'])).key;
  expect(idsOf(await list('', {}, charger))).toEqual([deposit]);
  expect(idsOf(await list('', {}, payer))).toEqual([transfer]);
  expect(idsOf(await list('?kind=deposit', {}, payer))).toEqual([]);
  expect(idsOf(await list('', {}, both))).toHaveLength(2);
  expect((await get(`/payments/${transfer}`, {}, charger)).body.code).toBe('payment_not_found');
  expect((await get(`/payments/${deposit}`, {}, payer)).body.code).toBe('payment_not_found');
  expect((await get(`/payments/${deposit}`, {}, charger)).status).toBe(200);
});

test('without parameters the list is the hundred newest of the operation [4.4, 8a]', async () => {
  const { list, store } = await newShop();
  const stored: string[] = [];
  for (let at = 0; at < 105; at++) stored.push(await store({ created_at: minute(at) }));
  const { body } = await list();
  expect(body.payments.map((one: { id: string }) => one.id)).toEqual(stored.slice(5).reverse());
  expect(body.hasMore).toBe(true);
  const rest = await list(`?cursor=${body.nextCursor}`);
  expect(idsOf(rest)).toEqual(stored.slice(0, 5).reverse());
  expect(rest.body).toMatchObject({ hasMore: false, nextCursor: null });
});

test('pages follow each other without gap or repeat while payments are created, also within one instant [4.4]', async () => {
  const { list, store } = await newShop();
  const before = new Set<string>();
  for (let at = 0; at < 11; at++) before.add(await store());
  const seen: string[] = [];
  let query = '?limit=3';
  for (;;) {
    const { body } = await list(query);
    seen.push(...body.payments.map((one: { id: string }) => one.id));
    await store({ created_at: minute(seen.length) });
    if (!body.hasMore) break;
    query = `?limit=3&cursor=${body.nextCursor}`;
  }
  expect(new Set(seen)).toEqual(before);
  expect(seen).toHaveLength(11);
});

test('a cursor continues only its own list', async () => {
  const { list, store, ownerId } = await newShop();
  const stranger = await newShop();
  for (let at = 0; at < 3; at++) await store();
  for (let at = 0; at < 3; at++) await stranger.store();
  const cursor: string = (await list('?limit=1')).body.nextCursor;
  const charger = (await edge.newKey(ownerId, ['charges'])).key;
  expect((await list(`?limit=2&cursor=${cursor}`)).status).toBe(200);
  const tampered = cursor.slice(0, 9) + (cursor[9] === 'A' ? 'B' : 'A') + cursor.slice(10);
  const refused = [
    await list(`?kind=deposit&cursor=${cursor}`),
    await list(`?cursor=${tampered}`),
    await list(`?cursor=${cursor}A`),
    await list('?cursor='),
    await list('?cursor=abc'),
    await list(`?cursor=${cursor}`, {}, charger),
    await stranger.list(`?cursor=${cursor}`),
  ];
  for (const answer of refused)
    expect(answer.body).toMatchObject({ statusCode: 400, code: 'invalid_cursor' });
});

test('filters narrow the list, together [4.4]', async () => {
  const { list, store } = await newShop();
  const old = await store({ created_at: minute(1) });
  const failed = await store({ created_at: minute(2), status: 'failed' });
  const sent = await store({ created_at: minute(3), kind: 'transfer', status: 'unknown' });
  expect(idsOf(await list('?kind=transfer'))).toEqual([sent]);
  expect(idsOf(await list('?status=failed,unknown'))).toEqual([sent, failed]);
  expect(idsOf(await list('?status=failed&kind=transfer'))).toEqual([]);
  expect(idsOf(await list('?paymentMethod=pix'))).toHaveLength(3);
  expect(idsOf(await list('?paymentMethod=card'))).toEqual([]);
  expect(idsOf(await list(`?createdFrom=${minute(2)}`))).toEqual([sent, failed]);
  expect(idsOf(await list(`?createdTo=${minute(2)}`))).toEqual([old]);
  expect(idsOf(await list(`?createdFrom=${minute(1)}&createdTo=${minute(3)}`))).toEqual([failed, old]);
  const withOffset = encodeURIComponent('2026-11-20T09:02:00-03:00');
  expect(idsOf(await list(`?createdFrom=${withOffset}`))).toEqual([sent, failed]);
});

test('a page of filtered payments begins where the last one ended', async () => {
  const { list, store } = await newShop();
  const wanted: string[] = [];
  for (let at = 0; at < 8; at++) {
    const id = await store({ created_at: minute(at), status: at % 2 === 0 ? 'failed' : 'pending' });
    if (at % 2 === 0) wanted.unshift(id);
  }
  const first = await list('?status=failed&limit=3');
  const second = await list(`?status=failed&limit=3&cursor=${first.body.nextCursor}`);
  expect([...idsOf(first), ...idsOf(second)]).toEqual(wanted);
  expect(second.body).toMatchObject({ hasMore: false, nextCursor: null });
});

test('a request key finds its payment in the selected operation, and nothing elsewhere [4.1.5]', async () => {
  const { list, store, key } = await newShop();
  const stranger = await newShop();
  const { body } = await edge.call(key, {
    method: 'POST',
    url: '/operations',
    payload: { name: 'Filial', requestKey: ids.uuid() },
  });
  const requestKey = ids.uuid();
  const id = await store({ request_key: requestKey });
  await store();
  expect(idsOf(await list(`?requestKey=${requestKey.toUpperCase()}`))).toEqual([id]);
  expect(idsOf(await list(`?requestKey=${requestKey}&status=paid`))).toEqual([]);
  expect(idsOf(await list(`?requestKey=${requestKey}`, { 'x-service-operation': body.id }))).toEqual([]);
  expect(idsOf(await stranger.list(`?requestKey=${requestKey}`))).toEqual([]);
});

test('an end-to-end id finds its payment', async () => {
  const { list, store } = await newShop();
  const endToEnd = 'E1234567820261120120012345678901';
  const id = await store({ end_to_end: endToEnd });
  await store();
  expect(idsOf(await list(`?endToEnd=${endToEnd}`))).toEqual([id]);
  expect(idsOf(await list('?endToEnd=E0'))).toEqual([]);
});

test('a parameter that is unknown or wrong is refused', async () => {
  const { list } = await newShop();
  const problems: [query: string, field: string, code: string][] = [
    ['?page=2', 'page', 'unknown_parameter'],
    ['?limit=0', 'limit', 'out_of_range'],
    ['?limit=101', 'limit', 'out_of_range'],
    ['?limit=1.5', 'limit', 'not_an_integer'],
    ['?limit=', 'limit', 'not_an_integer'],
    ['?limit=1&limit=2', 'limit', 'not_an_integer'],
    ['?kind=charge', 'kind', 'not_one_of'],
    ['?status=paid,gone', 'status', 'not_one_of'],
    ['?status=', 'status', 'not_one_of'],
    ['?paymentMethod=cash', 'paymentMethod', 'not_one_of'],
    ['?createdFrom=2026-11-20', 'createdFrom', 'not_a_time'],
    ['?createdFrom=2026-11-20T12:00:00', 'createdFrom', 'not_a_time'],
    ['?createdTo=2026-12-31T23:59:60Z', 'createdTo', 'not_a_time'],
    ['?requestKey=x', 'requestKey', 'not_a_uuid'],
  ];
  for (const [query, field, code] of problems) {
    const { status, body } = await list(query);
    expect([query, status, body.code]).toEqual([query, 400, 'validation_failed']);
    expect(body.details[0]).toMatchObject({ field, code });
  }
});

test('unknown parameters of other calls are ignored', async () => {
  const { get } = await newShop();
  expect((await get('/account?verbose=1')).status).toBe(200);
});
