import { type Edge, openEdge } from '@vintem/testkit/edge.ts';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { refuse } from '../../src/ground/errors.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';

/** Both sides of every edge of every field, one row each: what is taken, as what, and what is refused with which code. */

const ids = systemIds(systemClock);
let edge: Edge;
let key: string;
/** The input that the edge handed on. */
let taken: Record<string, unknown> | null;

const take = async (request: object): Promise<never> => {
  taken = { ...request };
  throw refuse('insufficient_balance');
};
vi.mock(import('../../src/flow/accept.ts'), () => ({
  accept: (_cell, _kind, _caller, order) => take(order),
}));
vi.mock(import('../../src/api/transfers/create.ts'), async (original) => ({
  ...(await original()),
  sendTransfer: (_cell, _caller, request) => take(request),
}));
vi.mock(import('../../src/api/transfers/draft.ts'), async (original) => ({
  ...(await original()),
  sendDraft: (_cell, _caller, _id, code) => take({ code }),
  cancelDraft: () => take({}),
}));

beforeAll(async () => {
  edge = await openEdge();
  const { ownerId } = await edge.newAccount();
  key = (await edge.newKey(ownerId)).key;
});
afterAll(() => edge.close());

const uuid = '7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11';
const charge = { amountCents: 1000, payerName: 'Maria Silva', description: '', requestKey: uuid };
const transfer = {
  amountCents: 1000,
  pixKey: 'maria@example.com',
  pixKeyType: 'EMAIL',
  description: '',
  requestKey: uuid,
};
const transferTo = (pixKeyType: string, pixKey: string) => ({ ...transfer, pixKeyType, pixKey });

/** `undefined` leaves the field out. `as`: what is handed on, where it is not the value itself. */
type Row = [field: string, value: unknown, expected: 'taken' | { as: unknown } | { code: string }];
const taken_ = 'taken' as const;
const a = (times: number) => 'a'.repeat(times);

async function post(url: string, body: object) {
  taken = null;
  return edge.call(key, { method: 'POST', url, payload: JSON.stringify(body), headers: json });
}
const json = { 'content-type': 'application/json' };

function bodyWith(base: object, field: string, value: unknown): object {
  const body: Record<string, unknown> = { ...base };
  if (value === undefined) delete body[field];
  else body[field] = value;
  return body;
}

async function check(url: string, base: object, [field, value, expected]: Row): Promise<void> {
  const { body } = await post(url, bodyWith(base, field, value));
  if (expected === 'taken' || 'as' in expected) {
    expect(body.code).toBe('insufficient_balance');
    expect(taken?.[field]).toEqual(expected === 'taken' ? value : expected.as);
    return;
  }
  expect(taken).toBeNull();
  expect(body).toMatchObject({
    statusCode: 400,
    code: 'validation_failed',
    error: 'Bad Request',
    message: [expect.stringContaining(field)],
  });
  expect(body.details).toEqual([expect.objectContaining({ field, code: expected.code })]);
}

/** The same for every UUID that a caller gives. */
const uuids = (field: string): Row[] => [
  [field, uuid, taken_],
  [field, uuid.toUpperCase(), { as: uuid }],
  [field, '00000000-0000-0000-0000-000000000000', taken_],
  [field, 'ffffffff-ffff-ffff-ffff-ffffffffffff', taken_],
  [field, '01939f3a-7c00-7000-8000-000000000001', taken_],
  [field, undefined, { code: 'required' }],
  [field, null, { code: 'required' }],
  [field, '', { code: 'not_a_uuid' }],
  [field, `{${uuid}}`, { code: 'not_a_uuid' }],
  [field, `urn:uuid:${uuid}`, { code: 'not_a_uuid' }],
  [field, uuid.replaceAll('-', ''), { code: 'not_a_uuid' }],
  [field, ` ${uuid}`, { code: 'not_a_uuid' }],
  [field, uuid.replace('7', 'g'), { code: 'not_a_uuid' }],
  [field, 7, { code: 'not_a_uuid' }],
];

/** Integers are the JSON numbers without a fraction, and nothing is made into one. */
const cents = (field: string, least: number, most: number): Row[] => [
  [field, least, taken_],
  [field, most, taken_],
  [field, least - 1, { code: 'out_of_range' }],
  [field, most + 1, { code: 'out_of_range' }],
  [field, 0, { code: 'out_of_range' }],
  [field, -least, { code: 'out_of_range' }],
  [field, least + 0.5, { code: 'not_an_integer' }],
  [field, Number.MAX_SAFE_INTEGER + 2, { code: 'out_of_range' }],
  [field, String(least), { code: 'not_an_integer' }],
  [field, true, { code: 'not_an_integer' }],
  [field, [least], { code: 'not_an_integer' }],
  [field, {}, { code: 'not_an_integer' }],
  [field, undefined, { code: 'required' }],
  [field, null, { code: 'required' }],
];

/** Lengths are code points after NFC; with `trims` outer white space does not count. */
const text = (field: string, least: number, most: number, trims: boolean): Row[] => [
  [field, a(most), taken_],
  [field, a(most + 1), { code: 'out_of_length' }],
  [field, '😀'.repeat(most), taken_],
  [field, '😀'.repeat(most + 1), { code: 'out_of_length' }],
  [field, 'e\u0301'.repeat(most), { as: 'é'.repeat(most) }],
  [field, `x${'\u00a0'}y`, taken_],
  [field, 'São João 日本 العربية', taken_],
  ...(least > 0
    ? ([
        [field, a(least), taken_],
        [field, a(least - 1), { code: 'out_of_length' }],
        [field, '', { code: 'out_of_length' }],
      ] as Row[])
    : ([[field, '', taken_]] as Row[])),
  ...(trims
    ? ([
        [field, `  ${a(most)} \t`.replace('\t', ' '), { as: a(most) }],
        [field, ' '.repeat(10), { code: 'out_of_length' }],
      ] as Row[])
    : ([[field, ' x ', taken_]] as Row[])),
  [field, 'a\u0000b', { code: 'invalid_characters' }],
  [field, 'a\nb', { code: 'invalid_characters' }],
  [field, 'a\u001fb', { code: 'invalid_characters' }],
  [field, 'a\u007fb', { code: 'invalid_characters' }],
  [field, 'a\u009fb', { code: 'invalid_characters' }],
  [field, 'a\ud800b', { code: 'invalid_characters' }],
  [field, 12, { code: 'not_a_string' }],
  [field, false, { code: 'not_a_string' }],
  [field, ['x'], { code: 'not_a_string' }],
];

const shown = (rows: Row[]) =>
  rows.map(([field, value, expected]): [string, Row] => {
    const text = JSON.stringify(value) ?? 'nothing';
    return [
      `${field} ${text.length > 50 ? `${text.slice(0, 40)}… (${text.length})` : text}`,
      [field, value, expected],
    ];
  });

const pairs = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, 'x']));

/** Pairs of the caller's own; the field of a wrong value is named with its pair. */
const metadata: Row[] = [
  ['metadata', undefined, taken_],
  ['metadata', { orderId: '1042', 'a.b-c_D': '😀 ã' }, taken_],
  ['metadata', pairs(20), taken_],
  ['metadata', pairs(21), { code: 'out_of_count' }],
  ['metadata', { [a(40)]: a(200) }, taken_],
  ['metadata', { [a(41)]: 'x' }, { code: 'invalid_format' }],
  ['metadata', { name: 'e\u0301' }, { as: { name: 'é' } }],
  ['metadata', { constructor: 'x' }, taken_],
  ...['', '__proto__', '1', 'a b', 'a:b', 'ã'].map(
    (name): Row => ['metadata', Object.fromEntries([[name, 'x']]), { code: 'invalid_format' }],
  ),
  ['metadata', null, { code: 'not_an_object' }],
  ['metadata', [], { as: {} }],
  ['metadata', 'x', { code: 'not_an_object' }],
  ['metadata', 1, { code: 'not_an_object' }],
];

const documentKey = '35261112ABCD78000195550010000010421123456780';
const documents: Row[] = [
  ['fiscalDocuments', undefined, taken_],
  ['fiscalDocuments', [{ kind: 'nfe', key: documentKey }], taken_],
  [
    'fiscalDocuments',
    [{ kind: 'nfse', key: `123456789${documentKey.slice(6, 18)}${'1'.repeat(29)}` }],
    taken_,
  ],
  ['fiscalDocuments', [{ kind: 'other', key: '2026/0001-A' }], taken_],
  [
    'fiscalDocuments',
    Array.from({ length: 21 }, () => ({ kind: 'other', key: '1' })),
    { code: 'out_of_count' },
  ],
  ['fiscalDocuments', null, { code: 'not_a_list' }],
  ['fiscalDocuments', { kind: 'nfe', key: documentKey }, { code: 'not_a_list' }],
];

/** The field of a wrong document is named with its place. */
const wrongDocuments: [item: unknown, field: string, code: string][] = [
  ['x', 'fiscalDocuments.0', 'not_an_object'],
  [null, 'fiscalDocuments.0', 'not_an_object'],
  [{ kind: 'nfe' }, 'fiscalDocuments.0.key', 'required'],
  [{ kind: 'nfe', key: documentKey, amountCents: 1 }, 'fiscalDocuments.0.amountCents', 'unknown_property'],
  [{ kind: 'NFE', key: documentKey }, 'fiscalDocuments.0.kind', 'not_one_of'],
  [{ kind: 'nfe', key: 1 }, 'fiscalDocuments.0.key', 'not_a_string'],
  [{ kind: 'other', key: '' }, 'fiscalDocuments.0.key', 'out_of_length'],
  [{ kind: 'nfe', key: documentKey.slice(1) }, 'fiscalDocuments.0.key', 'out_of_length'],
  [{ kind: 'nfse', key: documentKey }, 'fiscalDocuments.0.key', 'out_of_length'],
  [{ kind: 'cte', key: documentKey.toLowerCase() }, 'fiscalDocuments.0.key', 'invalid_format'],
  [{ kind: 'other', key: 'a b' }, 'fiscalDocuments.0.key', 'invalid_format'],
  [{ kind: 'other', key: 'a\u0000' }, 'fiscalDocuments.0.key', 'invalid_format'],
];

describe('a fiscal document', () => {
  test.each(wrongDocuments)('that is %j is refused under its place', async (item, field, code) => {
    const { body } = await post('/pix/charges', { ...charge, fiscalDocuments: [item] });
    expect(taken).toBeNull();
    expect(body.details).toEqual([expect.objectContaining({ field, code })]);
  });
});

const wrongPairs: [value: unknown, code: string][] = [
  ['', 'out_of_length'],
  [a(201), 'out_of_length'],
  ['a\u0000b', 'invalid_characters'],
  ['a\ud800b', 'invalid_characters'],
  [1, 'not_a_string'],
  [null, 'not_a_string'],
  [{}, 'not_a_string'],
];

describe('a pair of the caller', () => {
  test.each(wrongPairs)('with the value %j is refused', async (value, code) => {
    const { body } = await post('/pix/charges', { ...charge, metadata: { orderId: value } });
    expect(taken).toBeNull();
    expect(body.details).toEqual([expect.objectContaining({ field: 'metadata.orderId', code })]);
  });

  test('stands there once', async () => {
    const payload = JSON.stringify({ ...charge, metadata: { a: '1' } }).replace('"a":"1"', '"a":"1","a":"2"');
    const { body } = await edge.call(key, { method: 'POST', url: '/pix/charges', payload, headers: json });
    expect(body.details).toEqual([{ field: 'metadata', code: 'duplicate_property' }]);
  });
});

describe('a charge', () => {
  test.each(
    shown([
      ...cents('amountCents', 200, 200_000),
      ...text('payerName', 2, 100, true),
      ['payerName', undefined, { code: 'required' }],
      ['payerName', null, { code: 'required' }],
      ['payerName', '😀', { code: 'out_of_length' }],
      ...text('description', 0, 200, false),
      ['description', undefined, { as: '' }],
      ['description', null, { code: 'not_a_string' }],
      ...uuids('requestKey'),
      ...metadata,
      ...documents,
      ['operationId', uuid, { code: 'unknown_property' }],
      ['AmountCents', 1000, { code: 'unknown_property' }],
    ]),
  )('%s [1.7, 4.2a, 7a, 8a]', (_name, row) => check('/pix/charges', charge, row));
});

test('a member that the schema does not name is refused: state, owner, fee and prototype cannot be set from outside', async () => {
  const hidden = [
    'status',
    'accountId',
    'operationId',
    'feeCents',
    'netAmountCents',
    'endToEnd',
    'constructor',
  ];
  for (const [url, base] of [
    ['/pix/charges', charge],
    ['/pix/transfers', transfer],
  ] as const) {
    for (const field of hidden) await check(url, base, [field, 1, { code: 'unknown_property' }]);
  }
});

describe('a transfer', () => {
  test.each(
    shown([
      ...cents('amountCents', 1000, 1_000_000),
      ...text('description', 0, 80, false),
      ['description', undefined, { code: 'required' }],
      ['description', null, { code: 'required' }],
      ...uuids('requestKey'),
      ...metadata,
      ['pixKeyType', undefined, { code: 'required' }],
      ['pixKeyType', 'email', { code: 'not_one_of' }],
      ['pixKeyType', 'EVP', { code: 'not_one_of' }],
      ['pixKeyType', 1, { code: 'not_one_of' }],
      ['pixKey', undefined, { code: 'required' }],
      ['pixKey', null, { code: 'required' }],
      ['pixKey', 7, { code: 'not_a_string' }],
      ['pixKey', 'a@', { code: 'out_of_length' }],
      ['pixKey', 'a@b', taken_],
      ['pixKey', `${a(148)}@b`, taken_],
      ['pixKey', `${a(149)}@b`, { code: 'out_of_length' }],
      ['pixKey', '  Maria@Example.COM ', { as: 'maria@example.com' }],
      ['pixKey', 'a\u0000@b.c', { code: 'invalid_characters' }],
      ['pixKey', 'maria', { code: 'invalid_pix_key' }],
      ['pixKey', 'a@b@c', { code: 'invalid_pix_key' }],
      ['code', '123456', { code: 'unknown_property' }],
      ['scheduledFor', '2026-12-01', { code: 'unknown_property' }],
    ]),
  )('%s [4.1a, 4.1b, 8a]', (_name, row) => check('/pix/transfers', transfer, row));

  const keys: [type: string, key: string, handed: string | null][] = [
    ['CPF', '12345678909', '12345678909'],
    ['CPF', ' 12345678909 ', '12345678909'],
    // The schema takes what the interface takes; a key that cannot exist is refused later, with a record.
    ['CPF', '12345678901', '12345678901'],
    ['CPF', '123.456.789-09', null],
    ['CPF', '1234567890', '1234567890'],
    ['CPF', '123456789012', '123456789012'],
    ['CPF', '1234567890９', null],
    ['CNPJ', '12345678000195', '12345678000195'],
    ['CNPJ', '12.345.678/0001-95', null],
    ['CNPJ', '1234567800019', '1234567800019'],
    ['CNPJ', '12ABC67800019X', null],
    ['PHONE', '+5511999998888', '+5511999998888'],
    ['PHONE', '+1234567', '+1234567'],
    ['PHONE', '+123456', '+123456'],
    ['PHONE', '+123456789012345', '+123456789012345'],
    ['PHONE', '+1234567890123456', '+1234567890123456'],
    ['PHONE', '5511999998888', null],
    ['PHONE', '+0511999998888', '+0511999998888'],
    ['PHONE', '+55 11 99999-8888', null],
    ['PHONE', '+55-11-99999-8888', null],
    ['CNPJ', '12ABC34501DE35', null],
    ['RANDOM', uuid, uuid],
    ['RANDOM', uuid.toUpperCase(), uuid],
    ['RANDOM', uuid.replaceAll('-', ''), null],
    ['RANDOM', 'abc', null],
    ['EMAIL', 'MARIA@EXAMPLE.COM', 'maria@example.com'],
    ['EMAIL', '12345678909', null],
    ['CPF', 'maria@example.com', null],
  ];
  test.each(keys)('to the %s %s is handed on as %s [4.1c]', async (type, pixKey, handed) => {
    const { body } = await post('/pix/transfers', transferTo(type, pixKey));
    if (handed !== null) {
      expect(body.code).toBe('insufficient_balance');
      expect(taken).toMatchObject({ pixKey: handed, pixKeyType: type });
    } else {
      expect(taken).toBeNull();
      expect(body).toMatchObject({ code: 'validation_failed' });
      expect(body.details).toEqual([expect.objectContaining({ field: 'pixKey', code: 'invalid_pix_key' })]);
    }
  });

  test('With CNPJ_LETTERS a CNPJ with letters is handed on in capitals, and one with wrong check digits is not', async () => {
    const { config } = edge.parts;
    const lettered = await openEdge({ config: { ...config, cnpjLetters: true } });
    const { ownerId } = await lettered.newAccount();
    const own = (await lettered.newKey(ownerId)).key;
    const send = (pixKey: string) => {
      taken = null;
      const payload = JSON.stringify(transferTo('CNPJ', pixKey));
      return lettered.call(own, { method: 'POST', url: '/pix/transfers', payload, headers: json });
    };
    await send('12abc34501de35');
    expect(taken).toMatchObject({ pixKey: '12ABC34501DE35', pixKeyType: 'CNPJ' });
    const { body } = await send('12ABC34501DE36');
    expect(taken).toBeNull();
    expect(body.details).toMatchObject([{ field: 'pixKey', code: 'invalid_pix_key' }]);
    await lettered.close();
  });

  test('1000.0 and 1e3 are the integer 1000', async () => {
    for (const number of ['1000.0', '1e3', '10E2', '100000e-2']) {
      const payload = JSON.stringify(transfer).replace('"amountCents":1000', `"amountCents":${number}`);
      taken = null;
      await edge.call(key, { method: 'POST', url: '/pix/transfers', payload, headers: json });
      expect(taken).toMatchObject({ amountCents: 1000 });
    }
  });
});

describe('a business operation', () => {
  const rows = text('name', 2, 64, true).filter(
    ([, , expected]) => typeof expected === 'object' && 'code' in expected,
  );
  test.each(
    shown([
      ...rows,
      ['name', undefined, { code: 'required' }],
      ['name', null, { code: 'required' }],
      ['requestKey', undefined, { code: 'required' }],
      ['requestKey', 'x', { code: 'not_a_uuid' }],
      ['isDefault', true, { code: 'unknown_property' }],
    ]),
  )('%s [8a]', (_name, row) => check('/operations', { name: 'Filial', requestKey: uuid }, row));

  test('takes names of 2 and of 64 characters, trimmed and composed, and two of one name [2.4]', async () => {
    const { ownerId } = await edge.newAccount();
    const own = (await edge.newKey(ownerId)).key;
    for (const [given, name] of [
      ['ab', 'ab'],
      [`  ${'😀'.repeat(64)}  `, '😀'.repeat(64)],
      ['Cafe\u0301', 'Café'],
      ['Café', 'Café'],
    ]) {
      const payload = { name: given, requestKey: ids.uuid() };
      const made = await edge.call(own, { method: 'POST', url: '/operations', payload });
      expect([made.status, made.body.name]).toEqual([201, name]);
      const renamed = await edge.call(own, {
        method: 'PATCH',
        url: `/operations/${made.body.id}`,
        payload: { name: given },
      });
      expect([renamed.status, renamed.body]).toEqual([200, made.body]);
    }
  });

  test('is renamed by its name alone', async () => {
    const refused = await edge.call(key, {
      method: 'PATCH',
      url: `/operations/${uuid}`,
      payload: { name: 'Nova', requestKey: uuid },
    });
    expect(refused.body.details).toEqual([{ field: 'requestKey', code: 'unknown_property' }]);
    const empty = await edge.call(key, { method: 'PATCH', url: `/operations/${uuid}`, payload: {} });
    expect(empty.body.details).toEqual([{ field: 'name', code: 'required' }]);
  });
});

describe('an id in the path', () => {
  const calls = [
    ['GET', '/payments/ID'],
    ['PATCH', '/operations/ID'],
    ['DELETE', '/operations/ID'],
    ['POST', '/pix/transfers/ID/confirm'],
    ['POST', '/pix/transfers/ID/cancel'],
  ] as const;
  test.each(calls)('of %s %s is a UUID in any case, else 400 invalid_id', async (method, path) => {
    const payload = path.endsWith('confirm')
      ? { code: '123456' }
      : method === 'PATCH'
        ? { name: 'Nova' }
        : {};
    const call = (id: string) =>
      edge.call(key, { method, url: path.replace('ID', id), ...(method === 'GET' ? {} : { payload }) });
    for (const id of ['x', '123', uuid.replaceAll('-', ''), `{${uuid}}`, `${uuid}0`, '%20']) {
      expect((await call(id)).body).toMatchObject({ statusCode: 400, code: 'invalid_id' });
    }
    for (const id of [uuid, uuid.toUpperCase(), '00000000-0000-0000-0000-000000000000']) {
      expect((await call(id)).body.code).not.toBe('invalid_id');
    }
  });
});

describe('the operation header', () => {
  test('is one UUID in any case and of any version, or 400 [4, 5.7, 7c]', async () => {
    const { body } = await edge.call(key, { url: '/operations' });
    const main: string = body.operations[0].id;
    const call = (value: string) =>
      edge.call(key, { url: '/account', headers: { 'x-service-operation': value } });
    expect((await call(main.toUpperCase())).body.operationId).toBe(main);
    expect((await call('00000000-0000-0000-0000-000000000000')).body.code).toBe('operation_not_found');
    for (const value of [
      '',
      ' ',
      'x',
      main.replaceAll('-', ''),
      `{${main}}`,
      `${main},${main}`,
      `${main}, ${main}`,
    ]) {
      expect((await call(value)).body).toMatchObject({ statusCode: 400, code: 'invalid_operation_header' });
    }
  });
});

describe('a parameter of the list', () => {
  const wrong: [query: string, field: string, code: string][] = [
    ['limit=0', 'limit', 'out_of_range'],
    ['limit=101', 'limit', 'out_of_range'],
    ['limit=x', 'limit', 'not_an_integer'],
    ['limit=1.5', 'limit', 'not_an_integer'],
    ['limit=', 'limit', 'not_an_integer'],
    ['limit=+5', 'limit', 'not_an_integer'],
    ['kind=charge', 'kind', 'not_one_of'],
    ['kind=Deposit', 'kind', 'not_one_of'],
    ['status=done', 'status', 'not_one_of'],
    ['status=paid,done', 'status', 'not_one_of'],
    ['paymentMethod=boleto', 'paymentMethod', 'not_one_of'],
    ['createdFrom=2026-11-20', 'createdFrom', 'not_a_time'],
    ['createdFrom=2026-11-20T12:00:00', 'createdFrom', 'not_a_time'],
    ['createdTo=yesterday', 'createdTo', 'not_a_time'],
    ['createdTo=1700000000', 'createdTo', 'not_a_time'],
    ['requestKey=x', 'requestKey', 'not_a_uuid'],
    ['metadata=x', 'metadata', 'out_of_length'],
    ['metadata=orderId', 'metadata', 'invalid_format'],
    ['metadata=1d:x', 'metadata', 'invalid_format'],
    ['endToEnd=', 'endToEnd', 'out_of_length'],
    [`endToEnd=${a(65)}`, 'endToEnd', 'out_of_length'],
    ['page=2', 'page', 'unknown_parameter'],
    ['Limit=5', 'Limit', 'unknown_parameter'],
  ];
  test.each(wrong)('%s is refused [8a]', async (query, field, code) => {
    const { body } = await edge.call(key, { url: `/payments?${query}` });
    expect(body).toMatchObject({ statusCode: 400, code: 'validation_failed' });
    expect(body.details).toEqual([expect.objectContaining({ field, code })]);
  });

  const fine = [
    'limit=1',
    'limit=100',
    'kind=deposit',
    'kind=transfer&status=draft,unknown,pending,paid,completed,failed,expired,cancelled',
    'paymentMethod=pix',
    'createdFrom=2026-11-20T12:00:00Z&createdTo=2026-11-20T12:00:00.123%2B00:00',
    'createdFrom=2026-11-20T12:00:00-03:00',
    `requestKey=${uuid.toUpperCase()}`,
    'endToEnd=E12345678202611202044a1b2c3d4e5f',
    'metadata=orderId:10:42',
    '',
  ];
  test.each(fine)('%s is taken', async (query) => {
    const { status, body } = await edge.call(key, { url: `/payments?${query}` });
    expect([status, body]).toEqual([200, { payments: [], hasMore: false, nextCursor: null }]);
  });

  test('of the other calls is ignored, and a body of GET as well', async () => {
    expect((await edge.call(key, { url: '/account?x=1' })).status).toBe(200);
    expect((await edge.call(key, { url: '/operations?limit=999' })).status).toBe(200);
    const withBody = await edge.call(key, {
      method: 'GET',
      url: '/account',
      payload: '{"a":',
      headers: json,
    });
    expect(withBody.status).toBe(200);
  });
});
