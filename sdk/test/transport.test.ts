import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { Vintem, VintemError, type VintemOptions } from '../src/index.ts';

/** Repeats of calls and their reports, against a server that answers as it is scripted, over real connections. */

interface Seen {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}
type Script = (response: ServerResponse, seen: Seen) => void;

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
});

/** The last entry of the script answers all further requests. */
async function scripted(script: Script[], options: Partial<VintemOptions> = {}) {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { method = '', url = '', headers } = request;
    const one = { method, path: url.replace('/api/v1/public', ''), headers, body };
    seen.push(one);
    (script[Math.min(seen.length, script.length) - 1] as Script)(response, one);
  });
  servers.push(server);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { seen, baseUrl, vintem: new Vintem({ apiKey: 'vtm_test_KEY', baseUrl, ...options }) };
}

const payment = (body: string) => ({
  id: '00c0ffee-13c4-8f0e-b6a1-5f0c1a7d9e21',
  kind: 'transfer',
  amountCents: (JSON.parse(body) as { amountCents: number }).amountCents,
  status: 'pending',
});
const created: Script = (response, { body }) => json(response, 201, payment(body));
const drop: Script = (response) => response.destroy();
const hang: Script = () => {};
const refusal =
  (statusCode: number, code: string, more: object = {}, headers: Record<string, string> = {}): Script =>
  (response) =>
    json(
      response,
      statusCode,
      { statusCode, code, message: code, error: '', requestId: 'req_1', ...more },
      headers,
    );
const page =
  (statusCode: number): Script =>
  (response) =>
    response.writeHead(statusCode, { 'content-type': 'text/html' }).end('<h1>gateway</h1>');

function json(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

const transfer = { amountCents: 1000, pixKey: 'maria@example.com', pixKeyType: 'EMAIL' } as const;
const failureOf = (work: Promise<unknown>): Promise<VintemError> =>
  work.then(
    () => Promise.reject(new Error('it succeeded')),
    (error: VintemError) => error,
  );
const keysOf = (seen: Seen[]): unknown[] => [...new Set(seen.map(({ body }) => JSON.parse(body).requestKey))];

test('the key is handed to persist before the first byte goes out, and is the one that is returned', async () => {
  const order: string[] = [];
  const { vintem, seen } = await scripted(
    [
      (response, one) => {
        order.push('sent');
        created(response, one);
      },
    ],
    {
      operation: '01939f3a-7a00-7000-8000-000000000003',
      persist: async (requestKey, what) => {
        await new Promise((later) => setTimeout(later, 50));
        expect(seen).toHaveLength(0);
        expect(what).toEqual({
          call: 'transfers.create',
          body: { ...transfer, description: '', requestKey },
          operation: '01939f3a-7a00-7000-8000-000000000003',
        });
        order.push(requestKey);
      },
    },
  );
  const { requestKey } = await vintem.transfers.create(transfer);
  expect(order).toEqual([requestKey, 'sent']);
  expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ ...transfer, description: '', requestKey });
  expect(seen[0]?.headers).toMatchObject({
    authorization: 'Bearer vtm_test_KEY',
    'x-service-operation': '01939f3a-7a00-7000-8000-000000000003',
  });
});

test('nothing is sent when persist fails', async () => {
  const { vintem, seen } = await scripted([created], {
    persist: () => Promise.reject(new Error('disk full')),
  });
  await expect(vintem.transfers.create(transfer)).rejects.toThrow('disk full');
  expect(seen).toEqual([]);
});

test.each<[string, Script]>([
  ['a lost connection', drop],
  ['no answer in time', hang],
  ['503', refusal(503, 'processing_unavailable')],
  ['429', refusal(429, 'rate_limited')],
  ['500', refusal(500, 'internal_error')],
  ['a page of a gateway', page(502)],
  ['a 2xx that is not the answer', page(200)],
  ['an answer about another payment', (response) => json(response, 201, payment('{"amountCents":1001}'))],
  [
    'half of an answer',
    (response) => {
      response.writeHead(201, { 'content-length': '200' }).write('{"id":');
      setTimeout(() => response.destroy(), 20);
    },
  ],
])('a transfer is repeated after %s, byte for byte with the same key', async (_name, fault) => {
  const { vintem, seen } = await scripted([fault, created], { timeoutMs: fault === hang ? 2_000 : 60_000 });
  const made = await vintem.transfers.create(transfer);
  expect(seen.map(({ body }) => body)).toEqual([seen[0]?.body, seen[0]?.body]);
  expect(keysOf(seen)).toEqual([made.requestKey]);
});

test('after maxRetries the error carries the key and says that the outcome is open', async () => {
  const { vintem, seen } = await scripted([refusal(503, 'maintenance')], { maxRetries: 2 });
  const error = await failureOf(vintem.transfers.create(transfer));
  expect(seen).toHaveLength(3);
  expect(error).toBeInstanceOf(VintemError);
  expect(error).toMatchObject({
    statusCode: 503,
    code: 'maintenance',
    requestId: 'req_1',
    requestKey: keysOf(seen)[0],
    retryable: true,
  });
  const again = await scripted([drop], { maxRetries: 0 });
  const lost = await failureOf(again.vintem.transfers.create(transfer));
  expect(lost).toMatchObject({
    statusCode: 0,
    code: 'network_error',
    requestKey: keysOf(again.seen)[0],
    retryable: true,
  });
  const slow = await scripted([hang], { maxRetries: 0, timeoutMs: 50 });
  expect(await failureOf(slow.vintem.transfers.create(transfer))).toMatchObject({
    code: 'timeout',
    retryable: true,
  });
});

test("a refusal is final at once, with the service's words", async () => {
  const paymentId = '00c0ffee-5a5a-8b7c-8d9e-0123456789ab';
  const { vintem, seen } = await scripted([refusal(400, 'pix_key_not_found', { paymentId })]);
  expect(await failureOf(vintem.transfers.create(transfer))).toMatchObject({
    statusCode: 400,
    code: 'pix_key_not_found',
    paymentId,
    requestId: 'req_1',
    requestKey: keysOf(seen)[0],
    retryable: false,
  });
  const fields = ['amountCents must be an integer', 'payerName is required'];
  const details = [{ field: 'amountCents', code: 'not_an_integer' }];
  const invalid = await scripted([refusal(400, 'validation_failed', { message: fields, details })]);
  const error = await failureOf(invalid.vintem.charges.create({ amountCents: 0.5, payerName: '' }));
  expect([error.message, error.details, invalid.seen.length]).toEqual([fields.join('; '), details, 1]);
});

test('a refusal behind an attempt without an answer is not final: that attempt may still arrive', async () => {
  const { vintem } = await scripted([drop, refusal(400, 'insufficient_balance')]);
  expect(await failureOf(vintem.transfers.create(transfer))).toMatchObject({
    code: 'insufficient_balance',
    retryable: true,
  });
  for (const [code, more] of [
    ['pix_key_not_found', { paymentId: '00c0ffee-5a5a-8b7c-8d9e-0123456789ab' }],
    ['idempotency_conflict', {}],
  ] as const) {
    const final = await scripted([drop, refusal(400, code, more)]);
    expect(await failureOf(final.vintem.transfers.create(transfer))).toMatchObject({
      code,
      retryable: false,
    });
  }
});

test("a gateway's own 403 or redirect is no word about a payment, and is not followed", async () => {
  const away: Script = (response) => response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end();
  for (const fault of [page(403), away]) {
    const { vintem, seen } = await scripted([fault]);
    const error = await failureOf(vintem.transfers.create(transfer));
    expect(error).toMatchObject({ code: 'unexpected_answer', retryable: true, requestKey: keysOf(seen)[0] });
    expect(seen).toHaveLength(1);
  }
});

test('Retry-After is respected, and left to the caller when it is long', async () => {
  const { vintem } = await scripted([refusal(429, 'rate_limited', {}, { 'retry-after': '1' }), created]);
  const began = performance.now();
  await vintem.transfers.create(transfer);
  expect(performance.now() - began).toBeGreaterThan(990);
  const long = await scripted([refusal(503, 'maintenance', {}, { 'retry-after': '3600' }), created]);
  expect(await failureOf(long.vintem.transfers.create(transfer))).toMatchObject({
    retryAfterMs: 3_600_000,
    retryable: true,
  });
  expect(long.seen).toHaveLength(1);
});

test('a call without a key that changes something is repeated only after a refusal', async () => {
  const id = '01939f3a-7b00-7000-8000-00000000000b';
  const named: Script = (response) => json(response, 200, { id, name: 'Loja' });
  const refused = await scripted([refusal(429, 'rate_limited'), named]);
  await refused.vintem.operations.update(id, { name: 'Loja' });
  expect(refused.seen).toHaveLength(2);
  for (const work of [
    (vintem: Vintem) => vintem.operations.update(id, { name: 'Loja' }),
    (vintem: Vintem) => vintem.webhooks.rotateSecret(id),
    (vintem: Vintem) => vintem.webhooks.replay(id, { from: '2026-11-20T00:00:00Z' }),
  ]) {
    const lost = await scripted([drop, named]);
    expect(await failureOf(work(lost.vintem))).toMatchObject({ code: 'network_error', retryable: false });
    expect(lost.seen).toHaveLength(1);
  }
});

test('an abort ends a call at once, in an attempt or between two, and keeps the key', async () => {
  for (const fault of [hang, refusal(503, 'maintenance', {}, { 'retry-after': '30' })]) {
    const { vintem, seen } = await scripted([fault]);
    const ending = new AbortController();
    const call = failureOf(vintem.transfers.create(transfer, { signal: ending.signal }));
    while (seen.length === 0) await new Promise((later) => setTimeout(later, 5));
    setTimeout(() => ending.abort(), 50);
    expect(await call).toMatchObject({ code: 'aborted', retryable: true, requestKey: keysOf(seen)[0] });
    expect(seen).toHaveLength(1);
  }
  const { vintem, seen } = await scripted([created]);
  expect(await failureOf(vintem.account.get({ signal: AbortSignal.abort() }))).toMatchObject({
    code: 'aborted',
  });
  expect(seen).toHaveLength(0);
});

test('the pages of a statement tell both balances of the period, and days go out as they were given', async () => {
  const totals = { openingBalanceCents: 100, closingBalanceCents: 350 };
  const { vintem, seen } = await scripted([
    (response) => json(response, 200, { ...totals, lines: [{ id: '1' }], nextCursor: 'next' }),
    (response) => json(response, 200, { ...totals, lines: [{ id: '2' }], nextCursor: null }),
  ]);
  const period = { from: '2026-11-01', to: new Date('2026-11-30T03:00:00Z') };
  const pages: unknown[] = [];
  for await (const page of vintem.account.statement(period).pages()) pages.push(page);
  expect(pages).toMatchObject([
    { ...totals, items: [{ id: '1' }] },
    { ...totals, items: [{ id: '2' }] },
  ]);
  const asked = '/statement?from=2026-11-01&to=2026-11-30T03%3A00%3A00.000Z';
  expect(seen.map(({ path }) => path)).toEqual([asked, `${asked}&cursor=next`]);
});

test('a file is read again after half of it or the page of a gateway, and a refusal is said as such', async () => {
  const csv = (text: string, length = text.length): Script => {
    return (response) => {
      response.writeHead(200, { 'content-type': 'text/csv; charset=utf-8', 'content-length': length });
      response.write(text, () => (length > text.length ? response.destroy() : response.end()));
    };
  };
  const { vintem, seen } = await scripted([csv('date,', 9), page(200), csv('date,kind')]);
  const file = await vintem.account.statementFile('csv', { from: '2026-11-01', separator: 'semicolon' });
  expect(await file.text()).toBe('date,kind');
  expect(seen).toHaveLength(3);
  expect(seen[2]?.path).toBe('/statement.csv?separator=semicolon&from=2026-11-01');
  const { vintem: refused } = await scripted([refusal(400, 'statement_too_large')]);
  expect(await failureOf(refused.account.statementFile('pdf'))).toMatchObject({
    code: 'statement_too_large',
    retryable: false,
  });
});

test('the confirmation of a draft is not repeated after a lost answer', async () => {
  const { vintem, seen } = await scripted([drop]);
  const id = '00c0ffee-13c4-8f0e-b6a1-5f0c1a7d9e21';
  expect(await failureOf(vintem.transfers.confirm(id, { code: '123456' }))).toMatchObject({
    code: 'network_error',
  });
  expect(seen).toHaveLength(1);
});

test('an id from outside never becomes another path', async () => {
  const { vintem, seen } = await scripted([refusal(400, 'invalid_id')]);
  for (const id of ['../account', '..', '.', 'a/b?c#d', '%2e%2e', ''])
    await failureOf(vintem.payments.get(id));
  for (const { path } of seen) expect(path).toMatch(/^\/payments\/[^/?#]+$/);
  expect(seen).toHaveLength(6);
});

test('printing the client or an error does not show the API key', async () => {
  const { vintem } = await scripted([drop], { maxRetries: 0 });
  const error = await failureOf(vintem.transfers.create(transfer));
  for (const shown of [
    inspect(vintem, { depth: 9, showHidden: true }),
    JSON.stringify(vintem),
    inspect(error, { depth: 9 }),
    JSON.stringify(error),
  ])
    expect(shown).not.toContain('vtm_test_KEY');
});

test('an address is taken with and without the path of the API, and nonsense is refused', async () => {
  const { baseUrl } = await scripted([created]);
  for (const given of [baseUrl, `${baseUrl}/`, `${baseUrl}/api/v1/public`, `${baseUrl}/api/v1/public/`])
    await new Vintem({ apiKey: 'k', baseUrl: given }).transfers.create(transfer);
  const make = (options: object) => () => new Vintem(options as VintemOptions);
  expect(make({ baseUrl })).toThrow(TypeError);
  expect(make({ apiKey: 'a\nb', baseUrl })).toThrow(TypeError);
  expect(make({ apiKey: 'k', baseUrl: 'pix.example.com' })).toThrow(TypeError);
  expect(make({ apiKey: 'k', baseUrl: 'file:///etc/passwd' })).toThrow(TypeError);
});

test('A payment that was read before is read again where a framework keeps the answers to GET, as Next.js does', async () => {
  const kept = new Map<string, Response>();
  // As Next.js 13 and 14 patch it: what is not marked comes from its cache for good.
  const patched: typeof fetch = async (input, init) => {
    if ((init?.method ?? 'GET') !== 'GET' || init?.cache === 'no-store') return fetch(input, init);
    const known = kept.get(String(input)) ?? (await fetch(input, init));
    kept.set(String(input), known.clone());
    return known;
  };
  const state =
    (status: string): Script =>
    (response) =>
      json(response, 200, { ...payment('{"amountCents":1000}'), status });
  const { vintem } = await scripted([state('pending'), state('paid')], { fetch: patched });
  expect((await vintem.payments.get('00c0ffee-13c4-8f0e-b6a1-5f0c1a7d9e21')).status).toBe('pending');
  expect((await vintem.payments.get('00c0ffee-13c4-8f0e-b6a1-5f0c1a7d9e21')).status).toBe('paid');
  expect(kept.size).toBe(0);
});
