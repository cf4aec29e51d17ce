import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLog } from '../../src/ground/log.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { createUndiciNet } from '../../src/ports/undici-net.ts';
import { parseBrCode } from '../../src/provider/br-code.ts';
import { createEfiProvider, type EfiOptions, simulatorLimits } from '../../src/provider/efi/efi.ts';

/** Answers that no well-behaved provider gives, from a bare server. */

interface Seen {
  method: string;
  path: string;
  authorization: string;
  headers: IncomingMessage['headers'];
  body: unknown;
}
type Answer = { status: number; body?: unknown; text?: string; headers?: Record<string, string> } | 'drop';

const net = createUndiciNet();
let seen: Seen[] = [];
/** Calls of the API, without those for tokens. */
let calls: Seen[] = [];
let tokenCalls = 0;
let answerToken: () => Answer;
let answer: (call: Seen) => Answer;
const server = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8');
  request.on('data', (chunk) => {
    text += chunk;
  });
  request.on('end', () => {
    const call: Seen = {
      method: request.method ?? '',
      path: request.url ?? '',
      authorization: request.headers.authorization ?? '',
      headers: request.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
    seen.push(call);
    const isToken = call.path === '/oauth/token';
    if (isToken) tokenCalls++;
    else calls.push(call);
    const given = isToken ? answerToken() : answer(call);
    if (given === 'drop') return request.socket.destroy();
    response.writeHead(given.status, { 'content-type': 'application/json', ...given.headers });
    response.end(given.text ?? (given.body === undefined ? '' : JSON.stringify(given.body)));
  });
});

beforeAll(() => new Promise<void>((done) => server.listen(0, '127.0.0.1', done)));
afterAll(async () => {
  await net.close();
  server.closeAllConnections();
  server.close();
});

/** Stands still unless a test moves it. */
let now = 0;
const clock: Clock = { now: () => now, machineMs: () => now, monotonicMs: () => now, sleep: async () => {} };
/** As long as the machine needs: the time that passes here is what a test moves. */
const callTimeoutMs = 60_000;
const id = 'a'.repeat(32);
const key = '123e4567-e89b-12d3-a456-426614174000';

const providerWith = (more: Partial<EfiOptions> = {}) =>
  createEfiProvider({
    connection: 'live',
    test: false,
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    clientId: 'client',
    clientSecret: 'hush',
    pixKey: key,
    webhook: { trust: 'path' },
    net,
    clock,
    log: createLog('silent'),
    limits: { callTimeoutMs, sendTimeoutMs: callTimeoutMs },
    ...more,
  });

const payout = (provider = providerWith()) =>
  provider.sendPayout({
    providerId: id,
    amountCents: 975,
    pixKey: 'fulano@example.com',
    pixKeyType: 'EMAIL',
    description: 'Férias — “março” 😀',
  });

const charge = (provider = providerWith()) =>
  provider.createCharge({
    txid: id,
    amountCents: 1050,
    payerName: 'João\u0000da Silva',
    description: 'é'.repeat(200),
    expirySeconds: 3600,
  });

const accepted = { idEnvio: id, e2eId: 'E1', valor: '9.75', horario: {}, status: 'EM_PROCESSAMENTO' };
const cob = (more: Record<string, unknown> = {}) => ({
  txid: id,
  status: 'ATIVA',
  valor: { original: '10.50' },
  calendario: { criacao: new Date(now).toISOString(), expiracao: 3600 },
  ...more,
});

beforeEach(() => {
  now = Date.UTC(2026, 10, 20, 15);
  seen = [];
  calls = [];
  tokenCalls = 0;
  answerToken = () => ({ status: 200, body: { access_token: `token-${tokenCalls}`, expires_in: 3600 } });
  answer = () => ({ status: 201, body: accepted });
});

describe('how long a provider asks to wait', () => {
  const day = 86_400_000;
  test.each<[string, number | null]>([
    ['0', 0],
    ['7', 7_000],
    ['3601', 3_601_000],
    ['86400', day],
    ['99999999999999999999', Number.MAX_SAFE_INTEGER],
    ['Fri, 20 Nov 2026 15:00:30 GMT', 30_000],
    ['Friday, 20-Nov-26 15:00:30 GMT', 30_000],
    ['Sat, 21 Nov 2026 15:00:00 GMT', day],
    ['Thu, 19 Nov 2026 15:00:00 GMT', 0],
    ['', null],
    ['soon', null],
    ['later 2040', null],
    ['-5', null],
    ['1.5', null],
    ['7, 8', null],
    ['2040-01-01', null],
  ])('%j, in the answer to sends, queries and listings', async (value, retryAfterMs) => {
    answer = () => ({ status: 429, headers: { 'retry-after': value } });
    const provider = providerWith();
    const window = { fromMs: now - 60_000, toMs: now };
    const told = [
      await payout(provider),
      await charge(provider),
      await provider.queryPayout(id),
      await provider.queryCharge(id),
      await provider.listPayouts(window),
      await provider.listCharges(window),
    ];
    for (const outcome of told)
      expect(outcome).toMatchObject({ outcome: 'unclear', cause: 'rateLimited', retryAfterMs });
  });
});

describe('the outcome of a send', () => {
  const html = '<html>Bad gateway</html>';
  test.each<[string, Answer, Record<string, unknown>]>([
    ['201', { status: 201, body: accepted }, { outcome: 'accepted' }],
    ['200', { status: 200, body: { ...accepted, more: 1 } }, { outcome: 'accepted' }],
    [
      'a documented refusal',
      { status: 422, body: { nome: 'pagamento_negado' } },
      { outcome: 'refused', reason: 'provider_refused' },
    ],
    [
      'a key that does not exist, in calls before v3',
      { status: 400, body: { nome: 'chave_nao_encontrada' } },
      { outcome: 'refused', reason: 'pix_key_not_found' },
    ],
    [
      'a missing permission',
      { status: 403, body: { error: 'insufficient_scope' } },
      { outcome: 'notSent', detail: 'the credentials lack a permission (scope) for this call' },
    ],
    [
      'the name of a missing permission under another status',
      { status: 400, body: { error: 'insufficient_scope' } },
      { outcome: 'unclear', cause: 'unknownRefusal' },
    ],
    [
      'a key of somebody else',
      { status: 400, body: { nome: 'chave_nao_pertence_ao_documento' } },
      { outcome: 'refused', reason: 'recipient_refused' },
    ],
    ['a duplicate', { status: 409, body: { nome: 'id_envio_duplicado' } }, { outcome: 'duplicate' }],
    [
      'another 409',
      { status: 409, body: { nome: 'conflito' } },
      { outcome: 'unclear', cause: 'unknownRefusal' },
    ],
    [
      'the name of a refusal under another status',
      { status: 403, body: { nome: 'pagamento_negado' } },
      { outcome: 'unclear', cause: 'unknownRefusal' },
    ],
    [
      'the name of a refusal under 500',
      { status: 500, body: { nome: 'pagamento_negado' } },
      { outcome: 'unclear', cause: 'server' },
    ],
    [
      'an unknown 4xx',
      { status: 400, body: { nome: 'saldo_insuficiente' } },
      { outcome: 'unclear', cause: 'unknownRefusal' },
    ],
    [
      'a name of Object',
      { status: 400, body: { nome: 'constructor' } },
      { outcome: 'unclear', cause: 'unknownRefusal' },
    ],
    ['a 4xx page', { status: 404, text: html }, { outcome: 'unclear', cause: 'unknownRefusal' }],
    [
      '429',
      { status: 429, headers: { 'retry-after': '7' } },
      { outcome: 'unclear', cause: 'rateLimited', retryAfterMs: 7000 },
    ],
    [
      '429 with a date',
      { status: 429, headers: { 'retry-after': 'Fri, 20 Nov 2026 15:00:30 GMT' } },
      { outcome: 'unclear', cause: 'rateLimited', retryAfterMs: 30_000 },
    ],
    [
      '429 with nonsense',
      { status: 429, headers: { 'retry-after': 'soon' } },
      { outcome: 'unclear', cause: 'rateLimited', retryAfterMs: null },
    ],
    [
      '503',
      { status: 503, text: html, headers: { 'retry-after': '1' } },
      { outcome: 'unclear', cause: 'server', retryAfterMs: 1000 },
    ],
    ['a page with 200', { status: 200, text: html }, { outcome: 'unclear', cause: 'unreadable' }],
    ['half a JSON', { status: 201, text: '{"idEnvio":' }, { outcome: 'unclear', cause: 'unreadable' }],
    ['null', { status: 201, text: 'null' }, { outcome: 'unclear', cause: 'unreadable' }],
    ['an empty 201', { status: 201 }, { outcome: 'unclear', cause: 'unreadable' }],
    ['a redirect', { status: 302, headers: { location: '/' } }, { outcome: 'unclear', cause: 'unreadable' }],
    [
      'another id',
      { status: 201, body: { ...accepted, idEnvio: 'b'.repeat(32) } },
      { outcome: 'unclear', cause: 'unreadable' },
    ],
    [
      'another amount',
      { status: 201, body: { ...accepted, valor: '9.76' } },
      { outcome: 'unclear', cause: 'unreadable' },
    ],
    [
      'a number for an amount',
      { status: 201, body: { ...accepted, valor: 9.75 } },
      { outcome: 'accepted', report: { amountCents: 975 } },
    ],
    [
      'a number that is no whole number of cents',
      { status: 201, body: { ...accepted, valor: 9.755 } },
      { outcome: 'unclear', cause: 'unreadable' },
    ],
    [
      'no status',
      { status: 201, body: { ...accepted, status: undefined } },
      { outcome: 'unclear', cause: 'unreadable' },
    ],
    ['a broken connection', 'drop', { outcome: 'unclear', cause: 'network' }],
  ])('%s', async (_name, given, expected) => {
    answer = () => given;
    expect(await payout()).toMatchObject(expected);
    expect(calls.length).toBe(1);
  });

  test('a status that is new leaves a payout pending', async () => {
    answer = () => ({ status: 201, body: { ...accepted, status: 'DEVOLVIDO_PARCIALMENTE' } });
    expect(await payout()).toMatchObject({
      outcome: 'accepted',
      report: { status: 'pending', settledAt: null },
    });
  });

  test.each<[string, Answer, Record<string, unknown>]>([
    ['a duplicate', { status: 409, body: { nome: 'txid_duplicado' } }, { outcome: 'duplicate' }],
    [
      'a refusal by type',
      {
        status: 400,
        body: { type: 'https://pix.bcb.gov.br/api/v2/error/CobOperacaoInvalida', title: 'x', status: 400 },
      },
      { outcome: 'refused' },
    ],
    [
      'no right to it',
      { status: 403, body: { type: 'https://pix.bcb.gov.br/api/v2/error/AcessoNegado' } },
      { outcome: 'unclear', cause: 'unknownRefusal' },
    ],
    [
      'another txid',
      { status: 201, body: { ...cob(), txid: 'b'.repeat(32) } },
      { outcome: 'unclear', cause: 'unreadable' },
    ],
    [
      'another amount',
      { status: 201, body: { ...cob(), valor: { original: '10.51' } } },
      { outcome: 'unclear', cause: 'unreadable' },
    ],
  ])('of a charge: %s', async (_name, given, expected) => {
    answer = () => given;
    expect(await charge()).toMatchObject(expected);
  });

  test('a refused connection is not sent', async () => {
    const unreachable = providerWith({ baseUrl: 'http://127.0.0.1:1' });
    expect(await payout(unreachable)).toMatchObject({ outcome: 'notSent' });
    expect(await unreachable.queryPayout(id)).toMatchObject({ outcome: 'unclear', cause: 'network' });
  });
});

test('A refund at Efí is asked for by its amount alone: its body knows no other member', async () => {
  answer = () => ({
    status: 201,
    body: { id, rtrId: 'D1', valor: '5.00', horario: {}, status: 'DEVOLVIDO' },
  });
  const refund = { endToEnd: 'E1', providerId: id, amountCents: 500, description: 'Devolução' };
  expect(await providerWith().sendRefund(refund)).toMatchObject({ outcome: 'accepted' });
  expect(calls.map(({ body }) => body)).toEqual([{ valor: '5.00' }]);
});

describe('access tokens', () => {
  test('one serves all, and those who come first wait for the same one', async () => {
    const provider = providerWith();
    await Promise.all(Array.from({ length: 10 }, () => payout(provider)));
    await payout(provider);
    expect(tokenCalls).toBe(1);
    expect(seen[0]?.authorization).toBe(`Basic ${Buffer.from('client:hush').toString('base64')}`);
    expect(new Set(calls.map((call) => call.authorization))).toEqual(new Set(['Bearer token-1']));
  });

  test('is renewed at nine tenths of its life, while the old one serves', async () => {
    const provider = providerWith();
    await payout(provider);
    now += 3239_000;
    await payout(provider);
    expect(tokenCalls).toBe(1);
    now += 1000;
    await payout(provider);
    await expect.poll(() => tokenCalls).toBe(2);
    expect(calls.at(-1)?.authorization).toBe('Bearer token-1');
    await expect
      .poll(async () => {
        await payout(provider);
        return calls.at(-1)?.authorization;
      })
      .toBe('Bearer token-2');
    expect(tokenCalls).toBe(2);
  });

  test('one that cannot be renewed serves to its end', async () => {
    const provider = providerWith();
    await payout(provider);
    answerToken = () => ({ status: 500 });
    now += 3_500_000;
    expect(await payout(provider)).toMatchObject({ outcome: 'accepted' });
    now += 100_000;
    expect(await payout(provider)).toMatchObject({ outcome: 'notSent' });
    expect(calls.length).toBe(2);
  });

  test.each<[string, Answer]>([
    ['401', { status: 401, body: { error: 'invalid_client' } }],
    ['500', { status: 500 }],
    ['a page', { status: 200, text: '<html>' }],
    ['no token', { status: 200, body: {} }],
    ['a broken connection', 'drop'],
  ])('without one (%s) nothing was sent', async (_name, given) => {
    answerToken = () => given;
    const outcome = await payout();
    expect(outcome).toMatchObject({ outcome: 'notSent' });
    expect(JSON.stringify(outcome)).not.toContain('hush');
    expect(calls.length).toBe(0);
  });

  test('a refused one is replaced, and the send said again once: it is one attempt', async () => {
    answer = (call) =>
      call.authorization === 'Bearer token-1' ? { status: 401 } : { status: 201, body: accepted };
    const provider = providerWith();
    expect(await payout(provider)).toMatchObject({ outcome: 'accepted' });
    expect(await payout(provider)).toMatchObject({ outcome: 'accepted' });
    expect(calls.map((call) => call.authorization)).toEqual([
      'Bearer token-1',
      'Bearer token-2',
      'Bearer token-2',
    ]);
  });

  test('a second 401 is unclear', async () => {
    answer = () => ({ status: 401 });
    expect(await payout()).toMatchObject({ outcome: 'unclear', cause: 'unknownRefusal' });
    expect(calls.length).toBe(2);
  });

  test('after a 401 a broken connection is unclear, and not said a third time', async () => {
    answer = () => (calls.length === 1 ? { status: 401 } : 'drop');
    expect(await payout()).toMatchObject({ outcome: 'unclear', cause: 'network' });
    expect(calls.length).toBe(2);
  });

  test('after a 401 without another token the send is unclear', async () => {
    answer = () => {
      answerToken = () => ({ status: 500 });
      return { status: 401 };
    };
    expect(await payout()).toMatchObject({ outcome: 'unclear', cause: 'unknownRefusal' });
    expect(calls.length).toBe(1);
  });

  test('a 401 that comes late leaves no time for a second send', async () => {
    answer = () => {
      now += callTimeoutMs - 1_000;
      return { status: 401 };
    };
    expect(await payout()).toMatchObject({ outcome: 'unclear', cause: 'unknownRefusal' });
    expect(calls.length).toBe(1);
  });
});

describe('what is said of a charge', () => {
  test('the body names no debtor and fits the limits', async () => {
    answer = () => ({ status: 201, body: cob() });
    await charge();
    expect(calls[0]).toMatchObject({ method: 'PUT', path: `/v2/cob/${id}` });
    expect(calls[0]?.body).toEqual({
      calendario: { expiracao: 3600 },
      valor: { original: '10.50' },
      chave: key,
      solicitacaoPagador: 'é'.repeat(140),
      infoAdicionais: [
        { nome: 'Pagador', valor: 'João da Silva' },
        { nome: 'Descrição', valor: 'é'.repeat(200) },
      ],
    });
  });

  test('the body names the debtor where the payer gave a document', async () => {
    answer = () => ({ status: 201, body: cob() });
    const instruction = { txid: id, amountCents: 1050, payerName: 'Ana', description: '', expirySeconds: 60 };
    await providerWith().createCharge({ ...instruction, payerDocument: '11144477735' });
    await providerWith().createCharge({ ...instruction, payerDocument: '11222333000181' });
    expect(calls[0]?.body).toMatchObject({ devedor: { cpf: '11144477735', nome: 'Ana' } });
    expect(calls[1]?.body).toMatchObject({ devedor: { cnpj: '11222333000181', nome: 'Ana' } });
  });

  test('an empty description is left out, and an emoji is not cut in two', async () => {
    answer = () => ({ status: 201, body: cob() });
    const provider = providerWith();
    const instruction = { txid: id, amountCents: 1050, payerName: 'Ana', expirySeconds: 60 };
    await provider.createCharge({ ...instruction, description: '' });
    await provider.createCharge({ ...instruction, description: `${'a'.repeat(139)}😀` });
    expect(calls[0]?.body).not.toHaveProperty('solicitacaoPagador');
    expect(calls[0]?.body).toMatchObject({ infoAdicionais: [{ nome: 'Pagador', valor: 'Ana' }] });
    expect(calls[1]?.body).toMatchObject({ solicitacaoPagador: 'a'.repeat(139) });
  });

  test('a location alone becomes a code', async () => {
    answer = () => ({ status: 201, body: cob({ loc: { location: 'pix.example.com/qr/v2/abc' } }) });
    const outcome = await charge();
    if (outcome.outcome !== 'accepted') throw new Error(outcome.outcome);
    expect(parseBrCode(outcome.report.copyPaste ?? '')).toMatchObject({
      location: 'pix.example.com/qr/v2/abc',
      amount: '10.50',
    });
  });

  test('the code of the provider goes before, and a location that does not fit gives none', async () => {
    answer = () => ({ status: 201, body: cob({ pixCopiaECola: 'CODE', location: 'x' }) });
    expect(await charge()).toMatchObject({ report: { copyPaste: 'CODE' } });
    answer = () => ({ status: 201, body: cob({ location: 'x'.repeat(78) }) });
    expect(await charge()).toMatchObject({ report: { copyPaste: null } });
  });

  const hours = 3_600_000;
  test.each<[string, unknown, unknown, number | null]>([
    ["in the provider's time", 0, 3600, hours],
    ['with a clock that is 20 minutes late', -20 * 60_000, 3600, hours - 20 * 60_000],
    ['with local time labelled Z', -3 * hours, 3600, hours],
    ['with the zone added twice', 3 * hours, 3600, hours],
    ['written as text', 0, '3600', hours],
    ['without a life is the one that was asked for', 0, undefined, hours],
    ['with a life that is none is the one that was asked for', 0, 'x', hours],
    ['without a creation time counts from the request', null, 3600, hours],
    ['with a local time without zone', '2026-11-20T12:00:00', 3600, hours],
    ['with an offset without its colon', '2026-11-20T12:00:00-0300', 3600, hours],
  ])('a deadline %s', async (_name, criacao, expiracao, expected) => {
    const at = typeof criacao === 'number' ? new Date(now + criacao).toISOString() : criacao;
    answer = () => ({ status: 201, body: cob({ calendario: { criacao: at, expiracao } }) });
    expect(await charge()).toMatchObject({
      outcome: 'accepted',
      report: { expiresAt: expected === null ? null : now + expected },
    });
  });

  test('a query knows local time labelled Z by the time of the request', async () => {
    const criacao = new Date(now - 3 * hours).toISOString();
    answer = () => ({ status: 200, body: cob({ calendario: { criacao, expiracao: 3600 } }) });
    const provider = providerWith();
    expect(await provider.queryCharge(id, now)).toMatchObject({ report: { expiresAt: now + hours } });
    expect(await provider.queryCharge(id)).toMatchObject({ report: { expiresAt: now - 2 * hours } });
    // A charge that was really created three hours after the payment keeps its time.
    expect(await provider.queryCharge(id, now - 6 * hours)).toMatchObject({
      report: { expiresAt: now - 2 * hours },
    });
  });

  test.each([-190, -185, -175, -170, 185])(
    'A charge that is repeated %i minutes from its creation is not taken for one in a wrong zone',
    async (minutes) => {
      const criacao = new Date(now + minutes * 60_000).toISOString();
      answer = () => ({ status: 200, body: cob({ calendario: { criacao, expiracao: 3600 } }) });
      expect(await charge()).toMatchObject({ report: { expiresAt: now + minutes * 60_000 + hours } });
    },
  );

  test('A charge that is three hours old is not moved at a provider that has written the right time', async () => {
    const provider = providerWith();
    const create = (criacao: number) => {
      const calendario = { criacao: new Date(criacao).toISOString(), expiracao: 3600 };
      answer = () => ({ status: 201, body: cob({ calendario }) });
      return charge(provider);
    };
    expect(await create(now)).toMatchObject({ report: { createdAt: now } });
    expect(await create(now - 3 * hours)).toMatchObject({ report: { expiresAt: now - 2 * hours } });
  });

  test('A Pix of a charge in local time labelled Z is moved as the deadline is, and is never before its charge', async () => {
    const paid = (minutes: number) => new Date(now - 3 * hours + minutes * 60_000).toISOString();
    const calendario = { criacao: paid(0), expiracao: 3600 };
    const pix = (horario: string) => ({ endToEndId: 'E1', valor: '10.50', horario, txid: id });
    answer = () => ({ status: 200, body: cob({ calendario, status: 'CONCLUIDA', pix: [pix(paid(5))] }) });
    const provider = providerWith();
    expect(await provider.queryCharge(id, now)).toMatchObject({
      report: { createdAt: now, received: [{ paidAt: now + 5 * 60_000 }] },
    });
    answer = () => ({
      status: 200,
      body: cob({ calendario: { ...calendario, criacao: new Date(now).toISOString() }, pix: [pix(paid(5))] }),
    });
    expect(await provider.queryCharge(id, now)).toMatchObject({ report: { received: [{ paidAt: now }] } });
  });

  test.each(['10.5', 10.5, '10.50', '10.500'])(
    'An amount that a bank writes %j is the amount of the charge and of its Pix',
    async (valor) => {
      const pix = [{ endToEndId: 'E1', valor, horario: '2026-11-20T12:00:00' }];
      answer = () => ({ status: 201, body: cob({ valor: { original: valor }, status: 'CONCLUIDA', pix }) });
      expect(await charge()).toMatchObject({
        outcome: 'accepted',
        report: { amountCents: 1050, received: [{ amountCents: 1050, paidAt: now }] },
      });
    },
  );

  test.each([
    ['ATIVA', 'open'],
    ['CONCLUIDA', 'paid'],
    ['REMOVIDA_PELO_PSP', 'removed'],
    ['REMOVIDO_PELO_PSP', 'removed'],
    ['REMOVIDA_PELO_USUARIO_RECEBEDOR', 'removed'],
    ['REMOVIDO_PELO_USUARIO_RECEBEDOR', 'removed'],
    ['NOVO_ESTADO', 'open'],
  ])('the status %s is %s', async (status, expected) => {
    answer = () => ({ status: 200, body: cob({ status }) });
    expect(await providerWith().queryCharge(id)).toMatchObject({ report: { status: expected } });
  });

  test('a Pix that cannot be read makes the whole answer unreadable: no sum is guessed', async () => {
    answer = () => ({
      status: 200,
      body: cob({
        pix: [
          { endToEndId: 'E1', valor: '10.50' },
          { endToEndId: 'E2', valor: '1,00' },
        ],
      }),
    });
    expect(await providerWith().queryCharge(id)).toMatchObject({ outcome: 'unclear', cause: 'unreadable' });
  });

  test('a Pix that names another charge is none of the charge that was asked for', async () => {
    const own = { endToEndId: 'E1', txid: id, valor: '10.50' };
    const foreign = { endToEndId: 'E2', txid: id.replace(/./g, 'b'), valor: '10.50' };
    answer = () => ({ status: 200, body: cob({ status: 'CONCLUIDA', pix: [foreign, own] }) });
    expect(await providerWith().queryCharge(id)).toMatchObject({
      report: { received: [{ endToEnd: 'E1', txid: id }] },
    });
    answer = () => ({ status: 200, body: cob({ pix: [foreign] }) });
    expect(await providerWith().queryCharge(id)).toMatchObject({ report: { received: [] } });
  });

  test('a return is reported, and is settled only when the provider says so', async () => {
    const horario = { solicitacao: '2026-11-20T15:00:00Z', liquidacao: '2026-11-20T15:00:01Z' };
    const pix = {
      endToEndId: 'E1',
      valor: '10.50',
      horario: '2026-11-20T14:00:00.5-03:00',
      devolucoes: [
        { id: 'R1', rtrId: 'D1', valor: '1.00', horario, status: 'DEVOLVIDO', natureza: 'MED_FRAUDE' },
        {
          id: 'R2',
          rtrId: 'D2',
          valor: '2.00',
          horario: { solicitacao: horario.solicitacao },
          status: 'EM_PROCESSAMENTO',
        },
        { id: 'R3', rtrId: 'D3', valor: '3.00', horario: {}, status: 'NAO_REALIZADO' },
        { id: 'R4', rtrId: 'D4', valor: '4.00', horario: null, status: 'OUTRO' },
      ],
    };
    answer = () => ({ status: 200, body: cob({ status: 'CONCLUIDA', pix: [pix] }) });
    const paidAt = Date.UTC(2026, 10, 20, 17, 0, 0, 500);
    const query = await providerWith().queryCharge(id);
    expect(query.outcome === 'found' && query.report.received).toEqual([
      {
        endToEnd: 'E1',
        amountCents: 1050,
        paidAt,
        txid: id,
        returns: [
          {
            id: 'R1',
            rtrId: 'D1',
            amountCents: 100,
            at: Date.UTC(2026, 10, 20, 15, 0, 1),
            status: 'settled',
          },
          { id: 'R2', rtrId: 'D2', amountCents: 200, at: Date.UTC(2026, 10, 20, 15), status: 'pending' },
          { id: 'R3', rtrId: 'D3', amountCents: 300, at: paidAt, status: 'failed' },
          { id: 'R4', rtrId: 'D4', amountCents: 400, at: paidAt, status: 'pending' },
        ],
      },
    ]);
  });
});

describe('not found', () => {
  test.each<[string, Answer, Record<string, unknown>]>([
    [
      'API Pix',
      { status: 404, body: { type: 'https://pix.bcb.gov.br/api/v2/error/CobNaoEncontrado' } },
      { outcome: 'notFound' },
    ],
    ['Efí', { status: 400, body: { nome: 'cobranca_nao_encontrada' } }, { outcome: 'notFound' }],
    ['a proxy', { status: 404, text: '<html>not found' }, { outcome: 'unclear', cause: 'unknownRefusal' }],
    [
      'another 404',
      { status: 404, body: { nome: 'rota_invalida' } },
      { outcome: 'unclear', cause: 'unknownRefusal' },
    ],
    [
      'a 500',
      { status: 500, body: { nome: 'cobranca_nao_encontrada' } },
      { outcome: 'unclear', cause: 'server' },
    ],
  ])('is what %s says', async (_name, given, expected) => {
    answer = () => given;
    expect(await providerWith().queryCharge(id)).toMatchObject(expected);
  });

  test('another charge or payout than the one asked for is no answer', async () => {
    answer = () => ({ status: 200, body: cob({ txid: 'b'.repeat(32) }) });
    expect(await providerWith().queryCharge(id)).toMatchObject({ outcome: 'unclear', cause: 'unreadable' });
    answer = () => ({ status: 200, body: { ...accepted, idEnvio: 'b'.repeat(32) } });
    expect(await providerWith().queryPayout(id)).toMatchObject({ outcome: 'unclear', cause: 'unreadable' });
  });
});

describe('what is said of a payout', () => {
  test('the body carries the net amount, both keys and a plain text', async () => {
    await payout();
    expect(calls[0]).toMatchObject({ method: 'PUT', path: `/v3/gn/pix/${id}` });
    expect(calls[0]?.body).toEqual({
      valor: '9.75',
      pagador: { chave: key, infoPagador: 'Ferias - "marco" ?' },
      favorecido: { chave: 'fulano@example.com' },
    });
  });

  test.each<[string, Record<string, unknown>, string | null]>([
    ['in favorecido', { chave: key, favorecido: { chave: 'fulano@example.com' } }, 'fulano@example.com'],
    ['in chave', { chave: 'fulano@example.com' }, 'fulano@example.com'],
    ['nowhere: chave is ours', { chave: key }, null],
    ['nowhere: masked', { favorecido: { chave: '***.456.789-**' } }, null],
    ['nowhere: a bank account', { chave: key, favorecido: { contaBanco: {} } }, null],
  ])("the receiver's key is read %s", async (_name, more, expected) => {
    answer = () => ({ status: 200, body: { ...accepted, ...more } });
    expect(await providerWith().queryPayout(id)).toMatchObject({
      outcome: 'found',
      report: { pixKey: expected },
    });
  });

  test.each([
    ['AC07', 'recipient_account_closed'],
    ['AC03', 'recipient_refused'],
    ['FRAD', 'fraud_suspected'],
    ['XX99', 'provider_refused'],
    [undefined, 'provider_refused'],
  ])('the code %s means %s', async (codigo, reason) => {
    answer = () => ({
      status: 200,
      body: { ...accepted, status: 'NAO_REALIZADO', horario: null, gnExtras: { erro: { codigo } } },
    });
    expect(await providerWith().queryPayout(id)).toMatchObject({ report: { status: 'refused', reason } });
  });

  test('one send at a time is asked for live, and no limit at the simulator', () => {
    expect(providerWith().capabilities).toEqual({
      repeatIsSafe: true,
      refusalIsFinal: true,
      maxParallelSends: 1,
      movesMoney: true,
      charges: true,
      payouts: true,
      queryPayoutByOwnId: true,
      cancelsCharges: true,
      canListCharges: true,
      canListPayouts: true,
      canRefund: true,
      canDispute: true,
      defence: { textMost: 1000, files: null, timeoutMs: callTimeoutMs },
      hasBalance: true,
      webhookTrust: 'path',
      callTimeoutMs,
      sendTimeoutMs: callTimeoutMs,
      statement: { lists: true, dayReports: { utcOffsetMs: -3 * 3_600_000 } },
      cards: false,
      dueCharges: true,
      staticCodes: 'local',
    });
    expect(providerWith({ limits: simulatorLimits }).capabilities.maxParallelSends).toBeNull();
  });
});

describe('lists', () => {
  const window = { fromMs: Date.UTC(2026, 0, 1), toMs: Date.UTC(2026, 0, 2) };
  const one = (call: number) => ({ ...accepted, e2eId: `${accepted.e2eId}${call}` });
  const page = (items: unknown[], page: number, pages: number | null, total: number) => ({
    status: 200,
    body: {
      parametros: {
        paginacao: {
          paginaAtual: page,
          itensPorPagina: 1000,
          quantidadeDePaginas: pages,
          quantidadeTotalDeItens: total,
        },
      },
      pix: items,
    },
  });

  test('the window and the pages are asked for as API Pix names them', async () => {
    answer = () => page([], 0, 1, 0);
    await providerWith().listPayouts(window);
    expect(calls[0]?.path).toBe(
      '/v2/gn/pix/enviados?inicio=2026-01-01T00%3A00%3A00.000Z&fim=2026-01-02T00%3A00%3A00.000Z&paginacao.paginaAtual=0&paginacao.itensPorPagina=1000',
    );
  });

  test.each<[string, (call: number) => Answer, Record<string, unknown>]>([
    ['whole', (call) => page([one(call)], call - 1, 2, 2), { outcome: 'listed', complete: true, unread: [] }],
    [
      'that gives fewer items a page than were asked for',
      (call) => page(call < 4 ? [one(call)] : [], call - 1, null, 3),
      { outcome: 'listed', complete: true, reports: [{}, {}, {}] },
    ],
    [
      'that says nothing of its length, and ends with an empty page',
      (call) => ({ status: 200, body: { pix: call < 3 ? [one(call)] : [] } }),
      { outcome: 'listed', complete: true, reports: [{}, {}] },
    ],
    [
      'that is not divided, whatever page is asked for',
      () => ({ status: 200, body: { pix: [accepted] } }),
      { outcome: 'listed', complete: true, reports: [{}] },
    ],
    [
      'that gives the same page twice and names more',
      () => page([accepted], 0, 3, 2),
      { outcome: 'listed', complete: false, reports: [{}] },
    ],
    ['that has grown', () => page([accepted], 0, 1, 2), { outcome: 'listed', complete: false }],
    [
      'with something unreadable',
      () => page([accepted, { idEnvio: 'x' }], 0, 1, 2),
      { outcome: 'listed', complete: true, unread: [{ kind: 'sent', name: 'x', providerId: 'x' }] },
    ],
    [
      'with a payout of somebody else',
      () => page([accepted, { endToEndId: 'E9' }], 0, 1, 2),
      { outcome: 'listed', complete: true },
    ],
    [
      'whose second page fails',
      (call) => (call === 1 ? page([accepted], 0, 2, 2) : { status: 500 }),
      { outcome: 'listed', complete: false },
    ],
    ['whose first page fails', () => ({ status: 500 }), { outcome: 'unclear', cause: 'server' }],
    ['that is none', () => ({ status: 200, body: {} }), { outcome: 'unclear', cause: 'unreadable' }],
  ])('a list %s', async (_name, given, expected) => {
    answer = () => given(calls.length);
    const listed = await providerWith().listPayouts(window);
    expect(listed).toMatchObject(expected);
    if (listed.outcome === 'listed') expect(listed.reports[0]).toMatchObject({ providerId: id });
  });

  test('of a list that is wanted whole and is too long no more than the first page is asked for, and it says how to divide it', async () => {
    answer = () => page([one(calls.length)], calls.length - 1, 24, 24_000);
    const cut = { outcome: 'listed', complete: false, parts: 3 };
    expect(await providerWith().listPayouts({ ...window, wholeOnly: true })).toMatchObject(cut);
    expect(calls).toHaveLength(1);
    // Where a part is of use, as many pages are read as may be.
    answer = () => page([one(calls.length)], calls.length - 2, 24, 24_000);
    expect(await providerWith().listPayouts(window)).toMatchObject(cut);
    expect(calls).toHaveLength(11);
    answer = () => page([accepted], 0, 9_000_000, 9_000_000_000);
    expect(await providerWith().listPayouts({ ...window, wholeOnly: true })).toMatchObject({ parts: 100 });
  });

  test('a balance below zero is read, and one that is missing is an error', async () => {
    answer = () => ({ status: 200, body: { saldo: '-0.05' } });
    expect(await providerWith().balance()).toEqual({ availableCents: -5, totalCents: -5, blocked: null });
    answer = () => ({ status: 200, body: {} });
    await expect(providerWith().balance()).rejects.toThrow('no balance');
  });
});

describe('webhooks', () => {
  const deliver = (body: unknown, provider = providerWith()) =>
    provider.parseWebhook({
      headers: {},
      rawBody: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
      receivedAt: now,
    });
  const pix = { endToEndId: 'E1', txid: id, chave: key, valor: '1.00', horario: '2026-11-20T15:00:00Z' };
  const sent = {
    endToEndId: 'E2',
    chave: key,
    tipo: 'SOLICITACAO',
    status: 'REALIZADO',
    valor: '9.75',
    horario: '2026-11-20T15:00:00Z',
    gnExtras: { idEnvio: id },
  };

  test('many items are separated; unreadable ones and those of other keys are left out', () => {
    const content = deliver({
      pix: [
        pix,
        {
          ...pix,
          endToEndId: 'E3',
          txid: undefined,
          chave: undefined,
          horario: 'now',
          gnExtras: { tarifa: '0.01' },
        },
        { ...pix, chave: 'outro@example.com' },
        { ...pix, valor: '1,00' },
        null,
        'text',
        sent,
        {
          ...sent,
          status: 'NAO_REALIZADO',
          horario: null,
          gnExtras: { idEnvio: id, erro: { codigo: 'AC07' } },
        },
        { ...sent, gnExtras: {} },
        { ...sent, status: 'AGENDADO' },
      ],
    });
    if (!content.authentic) throw new Error(content.reason);
    const at = Date.UTC(2026, 10, 20, 15);
    expect(content.received).toEqual([
      { endToEnd: 'E1', amountCents: 100, paidAt: at, txid: id, returns: [] },
      { endToEnd: 'E3', amountCents: 100, paidAt: now, txid: null, returns: [] },
    ]);
    expect(content.payouts).toMatchObject([
      { providerId: id, status: 'completed', settledAt: at, pixKey: null, endToEnd: 'E2', reason: null },
      { providerId: id, status: 'refused', settledAt: null, reason: 'recipient_account_closed' },
      { providerId: id, status: 'pending', settledAt: null },
    ]);
  });

  test.each([['{"evento":"teste_webhook"}'], ['{}'], ['null'], ['[]']])('%s says nothing', (body) => {
    expect(deliver(body)).toEqual({
      authentic: true,
      addressed: true,
      received: [],
      payouts: [],
      unread: [],
    });
  });

  test.each([
    { pix: [{ ...pix }] },
    { pix },
    [pix],
    pix,
    { Pix: [{ endtoendid: 'E1', valor: 1, horario: '2026-11-20T12:00:00', txId: id }] },
    { pix: [{ ...pix, valor: { original: '1.00' } }] },
  ])('%j names a Pix, in whatever container and letters a bank puts it', (body) => {
    expect(deliver(body)).toMatchObject({
      received: [{ endToEnd: 'E1', amountCents: 100, paidAt: Date.UTC(2026, 10, 20, 15), txid: id }],
      unread: [],
    });
  });

  test.each([
    [{ pix: [{ ...pix, valor: 'R$ 1' }] }, { name: 'E1', providerId: id, endToEnd: 'E1' }],
    [{ pix: {} }, { name: null }],
    [{ cobrancas: [{ txid: id }] }, { name: null }],
    [{ pix: [{ ...sent, valor: null }] }, { providerId: id }],
  ])('%j cannot be read, and is kept with what it names', (body, item) => {
    const kept = expect.objectContaining({ kind: 'delivery', ...item });
    expect(deliver(body)).toMatchObject({ received: [], payouts: [], unread: [kept] });
  });

  test('what is no JSON is not believed', () => {
    expect(deliver('pix=1')).toMatchObject({ authentic: false });
  });

  test('a signed connection believes no delivery without its header', () => {
    const signed = providerWith({
      webhook: { trust: 'signed', secret: 's', header: 'x-provider-signature' },
    });
    expect(deliver({ pix: [pix] }, signed)).toMatchObject({ authentic: false });
  });

  test('behind a proxy that checks certificates, only what it has verified is believed', () => {
    const pinned = providerWith({ webhook: { trust: 'mtls' } });
    const delivery = { headers: {}, rawBody: Buffer.from(JSON.stringify({ pix: [pix] })), receivedAt: now };
    expect(pinned.parseWebhook(delivery)).toMatchObject({ authentic: false });
    expect(pinned.parseWebhook({ ...delivery, clientVerified: false })).toMatchObject({ authentic: false });
    expect(pinned.parseWebhook({ ...delivery, clientVerified: true })).toMatchObject({
      authentic: true,
      received: [{ endToEnd: 'E1' }],
    });
  });

  test('is registered under our key, without asking for a client certificate unless a proxy checks it', async () => {
    answer = () => ({ status: 200, body: {} });
    await providerWith().registerWebhook('https://example.com/hooks/1');
    await providerWith({ webhook: { trust: 'mtls' } }).registerWebhook('https://example.com/hooks/1');
    expect(calls[0]).toMatchObject({
      method: 'PUT',
      path: `/v2/webhook/${key}`,
      body: { webhookUrl: 'https://example.com/hooks/1' },
    });
    expect(calls.map((call) => call.headers['x-skip-mtls-checking'])).toEqual(['true', undefined]);
    answer = () => ({ status: 400, body: { nome: 'webhook_invalido' } });
    await expect(providerWith().registerWebhook('https://example.com')).rejects.toThrow('webhook_invalido');
  });
});
