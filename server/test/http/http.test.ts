import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { base, type Edge, openEdge, tillThat } from '@vintem/testkit/edge.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { HookDelivery } from '../../src/flow/inbound.ts';
import { refuse } from '../../src/ground/errors.ts';
import { buildServer } from '../../src/main/server.ts';

let edge: Edge;
let key: string;
let address: string;

beforeAll(async () => {
  edge = await openEdge();
  const { ownerId } = await edge.newAccount();
  key = (await edge.newKey(ownerId)).key;
  address = await edge.app.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(() => edge.close());

const json = { 'content-type': 'application/json' };
const post = (payload: string | Buffer, headers: Record<string, string> = json, url = '/pix/charges') =>
  edge.call(key, { method: 'POST', url, payload, headers });
const charge = {
  amountCents: 1000,
  payerName: 'Maria Silva',
  description: '',
  requestKey: '7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11',
};
const transfer = {
  amountCents: 1000,
  pixKey: 'maria@example.com',
  pixKeyType: 'EMAIL',
  description: '',
  requestKey: '7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11',
};

test('an unknown path is 404 route_not_found, with and without a key [9.1]', async () => {
  for (const headers of [{}, { authorization: `Bearer ${key}` }]) {
    const answer = await edge.app.inject({ url: `${base}/nothing`, headers });
    expect(answer.statusCode).toBe(404);
    expect(answer.json()).toMatchObject({ statusCode: 404, error: 'Not Found', code: 'route_not_found' });
  }
});

test('a known path with another method is 405 and says which it takes', async () => {
  const answer = await edge.app.inject({ method: 'PUT', url: `${base}/pix/charges`, payload: 'x' });
  expect(answer.statusCode).toBe(405);
  expect(answer.headers.allow).toBe('POST, OPTIONS');
  expect(answer.json().code).toBe('method_not_allowed');
  const byId = await edge.app.inject({ method: 'POST', url: `${base}/operations/x` });
  expect(byId.statusCode).toBe(405);
  expect(byId.headers.allow).toBe('PATCH, DELETE, OPTIONS');
});

test('every other method is 405, not only those that some call has', async () => {
  for (const method of ['PUT', 'PATCH', 'TRACE', 'QUERY'] as const) {
    const answer = await edge.app.inject({ method: method as 'PUT', url: `${base}/operations` });
    expect([method, answer.statusCode]).toEqual([method, 405]);
  }
  expect((await edge.app.inject({ method: 'HEAD', url: `${base}/pix/charges` })).statusCode).toBe(405);
});

test('a path that cannot be decoded is refused', async () => {
  const answer = await edge.app.inject({ url: `${base}/payments/%zz` });
  expect(answer.statusCode).toBe(400);
  expect(answer.json().code).toBe('malformed_request');
  expect(answer.headers['x-request-id']).toBe(answer.json().requestId);
});

test('OPTIONS is 204 with Allow and never allows another origin [5.1]', async () => {
  const answer = await edge.app.inject({
    method: 'OPTIONS',
    url: `${base}/operations`,
    headers: { origin: 'https://shop.example', 'access-control-request-method': 'POST' },
  });
  expect(answer.statusCode).toBe(204);
  expect(answer.headers.allow).toBe('GET, POST, HEAD, OPTIONS');
  const names = Object.keys(answer.headers).filter((name) => name.startsWith('access-control'));
  expect(names).toEqual([]);
});

test('HEAD answers like GET without a body', async () => {
  const head = await edge.app.inject({
    method: 'HEAD',
    url: `${base}/account`,
    headers: { authorization: `Bearer ${key}` },
  });
  expect(head.statusCode).toBe(200);
  expect(head.body).toBe('');
  expect((await edge.app.inject({ method: 'HEAD', url: `${base}/account` })).statusCode).toBe(401);
});

test('one trailing slash is tolerated, another case is not', async () => {
  expect((await edge.call(key, { url: '/account/' })).status).toBe(200);
  expect((await edge.call(key, { url: '/Account' })).status).toBe(404);
});

test('every answer names its request, is not stored and is JSON in UTF-8', async () => {
  for (const url of ['/account', '/nothing', '/payments/x']) {
    const { headers, body, status } = await edge.call(key, { url });
    expect(headers['x-request-id']).toMatch(/^req_[0-9a-f]{12}7[0-9a-f]{19}$/);
    expect(headers['cache-control']).toBe('no-store');
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    if (status >= 400) expect(body.requestId).toBe(headers['x-request-id']);
  }
});

test('a client cannot choose the id of its request', async () => {
  const { headers } = await edge.call(key, { url: '/account', headers: { 'x-request-id': 'mine' } });
  expect(headers['x-request-id']).not.toBe('mine');
});

test('messages are English, or Portuguese for who prefers it', async () => {
  const inEnglish = await edge.call(key, { url: '/nothing' });
  expect(inEnglish.headers['content-language']).toBe('en');
  expect(inEnglish.body.message).toBe('There is no such call.');
  for (const preferred of ['pt-BR', 'pt;q=0.9, en;q=0.5', 'fr, pt-PT']) {
    const answer = await edge.call(key, { url: '/nothing', headers: { 'accept-language': preferred } });
    expect(answer.headers['content-language']).toBe('pt-BR');
    expect(answer.body.message).toBe('Esta chamada não existe.');
  }
  for (const preferred of ['*', 'fr', 'en, pt;q=0.9', '', ';;q=x']) {
    const answer = await edge.call(key, { url: '/nothing', headers: { 'accept-language': preferred } });
    expect(answer.headers['content-language']).toBe('en');
  }
});

test('a body that is no JSON object is malformed_json with one message [4]', async () => {
  const bodies = ['', '{', '[]', '"x"', 'null', '12', '{"a":1}x', '\ufeff', '{}\ufeff', '{"a":undefined}'];
  for (const body of [...bodies, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])]) {
    const answer = await post(body);
    expect(answer.status).toBe(400);
    expect(answer.body.code).toBe('malformed_json');
    expect(answer.body.message).toBeTypeOf('string');
  }
  const without = await edge.call(key, { method: 'POST', url: '/pix/charges' });
  expect(without.body.code).toBe('malformed_json');
});

test('a body of another type or encoding is 415 [4]', async () => {
  const text = JSON.stringify(charge);
  const types: Record<string, string>[] = [
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/x-www-form-urlencoded' },
    { 'content-type': 'application/json; charset=iso-8859-1' },
    { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    { 'content-type': 'nonsense' },
  ];
  for (const headers of types) expect((await post(text, headers)).body.code).toBe('unsupported_media_type');
});

test('A body is read as UTF-8 with a byte order mark in front, and under every name of UTF-8', async () => {
  const text = JSON.stringify({ ...charge, unknown: 1 });
  for (const charset of ['utf-8', 'UTF8', '"utf8"']) {
    const answer = await post(`\ufeff${text}`, { 'content-type': `application/json; charset=${charset}` });
    expect(answer.body.details).toEqual([{ field: 'unknown', code: 'unknown_property' }]);
  }
});

test('An object without members may be the empty list that PHP writes, where the members are free or there are none', async () => {
  const answer = await post(JSON.stringify({ ...charge, metadata: [], unknown: 1 }));
  expect(answer.body.details).toEqual([{ field: 'unknown', code: 'unknown_property' }]);
  const filled = await post(JSON.stringify({ ...charge, metadata: ['a'] }));
  expect(filled.body.details).toEqual([{ field: 'metadata', code: 'not_an_object' }]);
  const url = '/operations/7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11';
  const none = await edge.call(key, { method: 'DELETE', url, payload: '[]', headers: json });
  expect(none.body.code).not.toBe('malformed_json');
});

test('Text that turns its direction, or shows nothing, is refused where people give it', async () => {
  for (const mark of ['\u202e', '\u2066', '\u200f', '\u061c']) {
    const answer = await post(
      JSON.stringify({ ...charge, payerName: `Maria${mark}gnp.exe`, description: mark }),
    );
    expect(answer.body.details).toMatchObject([
      { field: 'payerName', code: 'invalid_characters' },
      { field: 'description', code: 'invalid_characters' },
    ]);
    const labelled = await post(JSON.stringify({ ...charge, metadata: { order: `1${mark}` } }));
    expect(labelled.body.details).toMatchObject([{ field: 'metadata.order', code: 'invalid_characters' }]);
  }
  const unseen = await post(JSON.stringify({ ...charge, payerName: '\u200b\u200b' }));
  expect(unseen.body.details).toMatchObject([{ field: 'payerName', code: 'out_of_length' }]);
});

test('a body above 16 KiB is 413 and a URL above 4 KiB is 414', async () => {
  const large = await post(JSON.stringify({ ...charge, description: 'x'.repeat(17_000) }));
  expect(large.status).toBe(413);
  expect(large.body.code).toBe('body_too_large');
  const long = await edge.call(key, { url: `/payments?cursor=${'x'.repeat(4100)}` });
  expect(long.status).toBe(414);
  expect(long.body.code).toBe('uri_too_long');
});

test('a name that appears twice is refused, whatever its two values', async () => {
  const text = JSON.stringify(charge).replace('{', '{"amount\\u0043ents":5000,');
  const answer = await post(text);
  expect(answer.status).toBe(400);
  expect(answer.body.code).toBe('validation_failed');
  expect(answer.body.details).toEqual([{ field: 'amountCents', code: 'duplicate_property' }]);
});

test('names in strings, and in what lies deeper, are no duplicates', async () => {
  const answer = await post(
    JSON.stringify({
      ...charge,
      payerName: '"amountCents": {[,',
      description: '\\"requestKey\\":',
      amountCents: 1,
    }),
  );
  expect(answer.body.details).toEqual([
    { field: 'amountCents', code: 'out_of_range', min: 200, max: 200000 },
  ]);
});

test('every wrong field has one message, in the order of the fields [2.5, 7a]', async () => {
  const answer = await post('{"amountCents":"1000","payerName":null,"foo":1,"requestKey":"x"}');
  expect(answer.status).toBe(400);
  expect(answer.body).toEqual({
    statusCode: 400,
    error: 'Bad Request',
    code: 'validation_failed',
    requestId: answer.headers['x-request-id'],
    message: [
      'amountCents must be an integer between 200 and 200000',
      'payerName is required',
      'requestKey must be a UUID',
      'property foo is not allowed',
    ],
    details: [
      { field: 'amountCents', code: 'not_an_integer', min: 200, max: 200000 },
      { field: 'payerName', code: 'required' },
      { field: 'requestKey', code: 'not_a_uuid' },
      { field: 'foo', code: 'unknown_property' },
    ],
  });
});

test('names of the language itself are unknown properties like any other', async () => {
  for (const name of ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']) {
    const answer = await post(JSON.stringify(charge).replace('{', `{"${name}":{"x":1},`));
    expect(answer.body.details).toEqual([{ field: name, code: 'unknown_property' }]);
  }
});

test('integers are not coerced', async () => {
  for (const value of [
    '"1000"',
    'true',
    '1000.5',
    'null',
    '[1000]',
    '{}',
    '1e400',
    '-1000',
    '199',
    '200001',
  ]) {
    const answer = await post(JSON.stringify(charge).replace('1000', value));
    expect(answer.status).toBe(400);
    expect(answer.body.details[0].field).toBe('amountCents');
  }
});

test('lengths count code points after normalisation', async () => {
  const refused = async (fields: object) => {
    const answer = await post(JSON.stringify({ ...charge, ...fields, amountCents: 1 }));
    return (answer.body.details as { field: string }[])
      .map((one) => one.field)
      .filter((one) => one !== 'amountCents');
  };
  expect(await refused({ payerName: ' a ' })).toEqual(['payerName']);
  expect(await refused({ payerName: '   ' })).toEqual(['payerName']);
  expect(await refused({ payerName: '😀' })).toEqual(['payerName']);
  expect(await refused({ payerName: '😀'.repeat(100) })).toEqual([]);
  expect(await refused({ payerName: '😀'.repeat(101) })).toEqual(['payerName']);
  expect(await refused({ payerName: `  ${'a'.repeat(100)}  ` })).toEqual([]);
  expect(await refused({ payerName: 'e\u0301'.repeat(100) })).toEqual([]);
  expect(await refused({ description: 'x'.repeat(200) })).toEqual([]);
  expect(await refused({ description: 'x'.repeat(201) })).toEqual(['description']);
});

test('control characters and lone surrogates are refused', async () => {
  for (const bad of ['a\\u0000b', 'a\\u001fb', 'a\\nb', 'a\\u007fb', 'a\\u0085b', 'a\\ud800b']) {
    const answer = await post(JSON.stringify(charge).replace('Maria Silva', bad));
    expect(answer.body.details).toEqual([{ field: 'payerName', code: 'invalid_characters' }]);
  }
});

test('a Pix key has the form of its type', async () => {
  const keys: [string, string][] = [
    ['CPF', '123.456.789-09'],
    ['CNPJ', '1234567800019A'],
    ['PHONE', '5511999999999'],
    ['RANDOM', 'not-a-uuid'],
    ['EMAIL', 'no-at-sign'],
  ];
  for (const [pixKeyType, pixKey] of keys) {
    const answer = await post(JSON.stringify({ ...transfer, pixKeyType, pixKey }), json, '/pix/transfers');
    expect(answer.status).toBe(400);
    expect(answer.body.code).toBe('validation_failed');
    expect(answer.body.details).toEqual([{ field: 'pixKey', code: 'invalid_pix_key', pixKeyType }]);
  }
  const lower = await post(JSON.stringify({ ...transfer, pixKeyType: 'email' }), json, '/pix/transfers');
  expect(lower.body.details[0]).toMatchObject({ field: 'pixKeyType', code: 'not_one_of' });
});

test('checks come in order: key, permission, header, operation, body', async () => {
  const { ownerId } = await edge.newAccount();
  const reader = (await edge.newKey(ownerId, ['read'])).key;
  const charger = (await edge.newKey(ownerId, ['charges'])).key;
  const worst = { method: 'POST', url: '/pix/charges', payload: '{', headers: json } as const;
  const header = (value: string) => ({ headers: { ...json, 'x-service-operation': value } });
  expect((await edge.call('', { ...worst, ...header('x') })).status).toBe(401);
  expect((await edge.call(reader, { ...worst, ...header('x') })).status).toBe(403);
  expect((await edge.call(charger, { ...worst, ...header('x') })).body.code).toBe('invalid_operation_header');
  const foreign = header('7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11');
  expect((await edge.call(charger, { ...worst, ...foreign })).body.code).toBe('operation_not_found');
  expect((await edge.call(charger, worst)).body.code).toBe('malformed_json');
});

test('a creation that fails unexpectedly is 503, another call 500, and neither says what happened [7g]', async () => {
  const creation = await post(JSON.stringify(charge));
  expect(creation.status).toBe(503);
  expect(creation.body.code).toBe('processing_unavailable');
  expect(JSON.stringify(creation.body)).not.toContain('behind the edge');
  const hook = await edge.app.inject({
    method: 'POST',
    url: '/hooks/providers/simulator/token',
    payload: 'x',
  });
  expect(hook.statusCode).toBe(500);
  expect(hook.json().code).toBe('internal_error');
});

test('health and readiness need no key', async () => {
  expect((await edge.app.inject({ url: '/healthz' })).statusCode).toBe(200);
  expect((await edge.app.inject({ url: '/readyz' })).statusCode).toBe(200);
});

test('what is no HTTP gets a JSON error and the connection ends', async () => {
  const port = Number(new URL(address).port);
  const received = await new Promise<string>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('NONSENSE\r\n\r\n'));
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('end', () => resolve(text));
    socket.on('error', reject);
  });
  expect(received).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  const body = JSON.parse(received.split('\r\n\r\n')[1] ?? '');
  expect(body).toMatchObject({
    code: 'malformed_request',
    requestId: expect.stringMatching(/^req_[0-9a-f]{32}$/),
  });
  expect(received).toContain(`X-Request-Id: ${body.requestId}\r\n`);
});

test('two Authorization headers are refused', async () => {
  const status = await new Promise((resolve, reject) => {
    const request = httpRequest(`${address}${base}/account`, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    request.setHeader('authorization', [`Bearer ${key}`, `Bearer ${key}`]);
    request.on('error', reject);
    request.end();
  });
  expect(status).toBe(401);
});

test('a draining process refuses new requests and closes their connections', async () => {
  const other = await openEdge();
  other.drain();
  const answer = await other.app.inject({ url: `${base}/account` });
  expect(answer.statusCode).toBe(503);
  expect(answer.headers.connection).toBe('close');
  expect(answer.headers['retry-after']).toBe('1');
  await other.close();
});

test('a drain answers what is under way and ends every connection', async () => {
  let release = () => {};
  const entered = Promise.withResolvers<void>();
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const other = await openEdge(
    {},
    tillThat(async () => {
      entered.resolve();
      await gate;
      throw refuse('amount_below_fee');
    }),
  );
  const { ownerId } = await other.newAccount();
  const authorization = `Bearer ${(await other.newKey(ownerId)).key}`;
  const url = await other.app.listen({ port: 0, host: '127.0.0.1' });
  const agent = new Agent({ keepAlive: true });
  const send = (method: string, path: string, body?: string) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { authorization, ...(body ? json : {}) };
      const sent = httpRequest(`${url}${base}${path}`, { method, agent, headers }, (answer) => {
        answer.resume();
        resolve(answer);
      });
      sent.on('error', reject);
      sent.end(body);
    });
  expect((await send('GET', '/account')).headers.connection).toBe('keep-alive');
  const underWay = send('POST', '/pix/charges', JSON.stringify(charge));
  // An answer before it has entered is a failure, not a wait without end.
  await Promise.race([
    entered.promise,
    underWay.then(({ statusCode }) => expect(statusCode).toBe('under way')),
  ]);
  other.drain();
  const late = await send('GET', '/account');
  expect([late.statusCode, late.headers.connection]).toEqual([503, 'close']);
  const closed = other.app.close();
  release();
  const answered = await underWay;
  expect([answered.statusCode, answered.headers.connection]).toEqual([400, 'close']);
  await closed;
  agent.destroy();
  await other.database.drop();
});

test('a delivery of a provider is passed on unchanged, whatever its type, up to 1 MiB', async () => {
  const received: HookDelivery[] = [];
  const other = await openEdge({
    inbound: {
      isOurAddress: async (_connection, token) => token === 'right',
      receive: async (delivery) => {
        received.push(delivery);
        return { status: 200 };
      },
    },
  });
  const payload = '{"pix": [ {"a":1, "a":2} ]}\n';
  const deliver = (path: string, headers: Record<string, string>, body: string) =>
    other.app.inject({ method: 'POST', url: `/hooks/providers/${path}`, headers, payload: body });
  const first = await deliver('simulator/right/pix', { ...json, 'x-signature': 'abc' }, payload);
  const second = await deliver('live/wrong', { 'content-type': 'text/strange' }, payload);
  const third = await deliver('live/right', {}, '');
  expect([first.statusCode, second.statusCode, third.statusCode]).toEqual([200, 404, 200]);
  expect(received.map((one) => [one.connection, one.rawBody.toString()])).toEqual([
    ['simulator', payload],
    ['live', ''],
  ]);
  expect(received[0]?.headers['x-signature']).toBe('abc');
  expect((await deliver('live/right', json, ' '.repeat(1024 * 1024 + 1))).statusCode).toBe(413);
  expect((await deliver('live/right', json, ' '.repeat(1024 * 1024))).statusCode).toBe(200);
  await other.close();
});

test('behind a trusted proxy a request that came without TLS is refused', async () => {
  const other = await openEdge({
    config: { publicUrl: 'https://pay.example', rateLimits: false, trustedProxies: ['127.0.0.1'] },
  });
  const { ownerId } = await other.newAccount();
  const { key } = await other.newKey(ownerId);
  const plain = await other.call(key, { url: '/account', headers: { 'x-forwarded-proto': 'http' } });
  expect(plain.body).toMatchObject({ statusCode: 403, code: 'tls_required' });
  const secure = await other.call(key, { url: '/account', headers: { 'x-forwarded-proto': 'https' } });
  expect(secure.status).toBe(200);
  expect(secure.headers['strict-transport-security']).toContain('max-age');
  await other.close();
});

test('headers above 16 KiB are 431, in the form of every error', async () => {
  const { status, body } = await new Promise<{ status: number | undefined; body: string }>(
    (resolve, reject) => {
      const request = httpRequest(`${address}${base}/account`, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
        });
        answer.on('end', () => resolve({ status: answer.statusCode, body: text }));
      });
      request.setHeader('x-large', 'x'.repeat(17 * 1024));
      request.on('error', reject);
      request.end();
    },
  );
  expect(status).toBe(431);
  expect(JSON.parse(body)).toMatchObject({
    statusCode: 431,
    code: 'headers_too_large',
    requestId: expect.stringMatching(/^req_/),
  });
});

test('a body of another type is 415 on every call that takes one', async () => {
  const id = '7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11';
  const calls = [
    ['POST', '/pix/charges'],
    ['POST', '/pix/transfers'],
    ['POST', `/pix/transfers/${id}/confirm`],
    ['POST', `/pix/transfers/${id}/cancel`],
    ['POST', '/operations'],
    ['PATCH', `/operations/${id}`],
    ['DELETE', `/operations/${id}`],
  ] as const;
  for (const [method, url] of calls) {
    const answer = await edge.call(key, {
      method,
      url,
      payload: 'x',
      headers: { 'content-type': 'text/plain' },
    });
    expect([method, url, answer.status]).toEqual([method, url, 415]);
  }
});

test('another header for repeats is ignored: the requestKey of the body is the only one', async () => {
  const answer = await post(JSON.stringify({ ...charge, requestKey: undefined }), {
    ...json,
    'idempotency-key': charge.requestKey,
  });
  expect(answer.body.details).toEqual([{ field: 'requestKey', code: 'required' }]);
});

test('every path takes OPTIONS, says its methods and allows no other origin; HEAD is the GET without its body', async () => {
  const { paths } = (await edge.app.inject({ url: `${base}/openapi.json` })).json();
  for (const [path, calls] of Object.entries<object>(paths)) {
    const url = base + path.replaceAll(/\{\w+\}/g, charge.requestKey);
    const origin = { origin: 'https://shop.example', 'access-control-request-method': 'POST' };
    const options = await edge.app.inject({ method: 'OPTIONS', url, headers: origin });
    const methods = Object.keys(calls).map((method) => method.toUpperCase());
    const expected = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
    expect([path, options.statusCode, String(options.headers.allow).split(', ').sort()]).toEqual([
      path,
      204,
      expected.sort(),
    ]);
    const headers = { authorization: `Bearer ${key}`, ...origin };
    const head = await edge.app.inject({ method: 'HEAD', url, headers });
    expect([path, head.body]).toEqual([path, '']);
    const names = [...Object.keys(options.headers), ...Object.keys(head.headers)];
    expect(names.filter((name) => name.startsWith('access-control'))).toEqual([]);
    // A stream never ends.
    if (!methods.includes('GET') || path.endsWith('/stream')) continue;
    const get = await edge.app.inject({ url, headers });
    expect([path, head.statusCode, head.headers['content-type']]).toEqual([
      path,
      get.statusCode,
      get.headers['content-type'],
    ]);
  }
});

test('the language of messages is a setting of the service, and the caller’s wish goes before it', async () => {
  const config = {
    publicUrl: 'http://127.0.0.1:3000',
    rateLimits: false,
    trustedProxies: [],
    defaultLanguage: 'pt-BR' as const,
  };
  const other = buildServer({ ...edge.parts, config });
  const own = await other.inject({ url: `${base}/nothing` });
  expect([own.headers['content-language'], own.json().message]).toEqual([
    'pt-BR',
    'Esta chamada não existe.',
  ]);
  const asked = await other.inject({ url: `${base}/nothing`, headers: { 'accept-language': 'en' } });
  expect(asked.headers['content-language']).toBe('en');
  await other.close();
});
