import { beforeEach, describe, expect, test } from 'vitest';
import { foreign } from '../../../simulator/test/foreign.ts';
import type { Log } from '../../src/ground/log.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { type Net, type NetAnswer, type NetRequest, NotSent } from '../../src/ports/net.ts';
import { interAdapter, interScopes } from '../../src/provider/inter/inter.ts';

/** The adapter reads what Inter documents: every body here comes from outside (`contract/provider-bodies/inter`). */

let answers: (NetAnswer | Error)[] = [];
let calls: NetRequest[] = [];
let warned: string[] = [];
const now = Date.parse('2026-11-21T12:00:00Z');
const net = {
  async request(request: NetRequest) {
    const isToken = request.url.endsWith('/oauth/v2/token');
    calls.push(request);
    const token = { access_token: 'token', expires_in: 3600, scope: interScopes.join(' ') };
    const answer = isToken ? { status: 200, headers: {}, text: JSON.stringify(token) } : answers.shift();
    if (answer instanceof Error) throw answer;
    if (!answer) throw new Error(`no answer for ${request.method} ${request.url}`);
    return answer;
  },
} as Net;
const clock: Clock = { now: () => now, machineMs: () => now, monotonicMs: () => now, sleep: async () => {} };
const note = (_: unknown, message: string) => void warned.push(message);
const log = { warn: note, error: note, info: note, debug: note } as unknown as Log;

const saying = (name: string): NetAnswer => {
  const { status = 200, headers = {}, body } = foreign(`inter/${name}`);
  return { status, headers, text: JSON.stringify(body) };
};

const create = (url = 'https://cdpj.partners.bancointer.com.br', credentials: Record<string, string> = {}) =>
  interAdapter.create(
    {
      name: 'inter',
      test: false,
      simulated: false,
      url,
      credentials: { clientId: 'an id', clientSecret: 's&=', pixKey: 'chave', ...credentials },
      certificate: null,
    },
    { net, clock, log },
  );

beforeEach(() => {
  answers = [];
  calls = [];
  warned = [];
});

const providerId = '123e4567e89b12d3a456426614174000';
const code = 'c42f0787-02cb-4b31-827e-459ec9d7ece1';
const send = (provider = create()) =>
  provider.sendPayout({
    providerId,
    amountCents: 23_456,
    pixKey: '123e4567-e12b-12d1-a456-426655440000',
    pixKeyType: 'RANDOM',
    description: 'Pagamento Pix Teste',
  });

describe('the token', () => {
  test('is asked for once, with all permissions, and the account goes with every call', async () => {
    answers = [saying('send-answer'), saying('sent')];
    const provider = create(undefined, { accountNumber: '123456' });
    await send(provider);
    await provider.queryPayout(providerId, code);
    const [token, ...others] = calls;
    expect(token?.url).toBe('https://cdpj.partners.bancointer.com.br/oauth/v2/token');
    expect(Object.fromEntries(new URLSearchParams(String(token?.body)))).toEqual({
      grant_type: 'client_credentials',
      client_id: 'an id',
      client_secret: 's&=',
      scope: interScopes.join(' '),
    });
    expect(others.map(({ headers }) => headers?.['x-conta-corrente'])).toEqual(['123456', '123456']);
  });

  test('comes from the same host where the connection was given the address of API Pix', async () => {
    answers = [saying('send-answer')];
    await send(create('https://cdpj.partners.bancointer.com.br/pix/v2'));
    expect(calls.map(({ url }) => new URL(url).pathname)).toEqual(['/oauth/v2/token', '/banking/v2/pix']);
  });

  test('an account with a zero before it is refused before anything is stored', () => {
    expect(() => create(undefined, { accountNumber: '0123' })).toThrow('accountNumber');
  });
});

describe('a payout', () => {
  test('is asked for as documented, under our id', async () => {
    answers = [saying('send-answer')];
    const outcome = await send();
    expect(outcome).toMatchObject({
      outcome: 'accepted',
      restMs: 1_000,
      report: { providerId, providerRef: code, amountCents: 23_456, status: 'pending', endToEnd: null },
    });
    const { body, headers } = foreign('inter/send-request');
    // The description ends in our id: the statement repeats it.
    const descricao = `Pagamento Pix Teste ${providerId}`;
    expect(JSON.parse(String(calls[1]?.body))).toEqual({ ...(body as object), descricao });
    expect(calls[1]?.headers).toMatchObject(headers ?? {});
    expect(warned).toEqual([]);
  });

  test('that waits for approval is pending, and is reported to a person', async () => {
    answers = [saying('send-answer-approval')];
    expect(await send()).toMatchObject({
      outcome: 'accepted',
      report: { status: 'pending', providerRef: code },
    });
    expect(warned).toHaveLength(1);
  });

  test.each(['send-refused', 'send-unprocessable', 'send-conflict', 'access-denied', 'unavailable'])(
    '%s ends as its file says',
    async (name) => {
      answers = [saying(name)];
      expect((await send()).outcome).toBe(foreign(`inter/${name}`).expects);
    },
  );

  test.each<[string, unknown]>([
    ['without a word of what is wrong', { title: 'Dados inválidos.', detail: '', violacoes: [] }],
    [
      'about the idempotency key',
      { title: 'Dados inválidos.', violacoes: [{ propriedade: 'x-id-idempotente', razao: '' }] },
    ],
    ['about nothing', { title: 'Dados inválidos.', violacoes: [{ razao: 'x' }] }],
    ['in another form', [{ razao: 'x', propriedade: 'valor' }]],
  ])('a 400 %s refuses nothing', async (_name, body) => {
    answers = [{ status: 400, headers: {}, text: JSON.stringify(body) }];
    expect((await send()).outcome).toBe('unclear');
  });

  test('a limit rests for a minute, and what was not sent was not sent', async () => {
    answers = [{ status: 429, headers: {}, text: '' }];
    expect(await send()).toMatchObject({ outcome: 'unclear', cause: 'rateLimited', retryAfterMs: 60_000 });
    answers = [new NotSent('no way')];
    expect(await send()).toMatchObject({ outcome: 'notSent' });
  });

  test('is found under Inter’s code alone; without it nothing is asked, and nothing is proved', async () => {
    expect(await create().queryPayout(providerId, null)).toEqual({ outcome: 'notFound' });
    expect(calls).toEqual([]);
    answers = [saying('sent')];
    expect(await create().queryPayout(providerId, code)).toEqual({
      outcome: 'found',
      report: {
        providerId,
        providerRef: code,
        amountCents: 23_456,
        pixKey: '01123456000123',
        status: 'completed',
        endToEnd: 'E00416968202309302034aqtneKsYCqs',
        settledAt: Date.parse('2023-09-30T20:34:00.663Z'),
        reason: null,
        returns: [],
        receiver: { name: 'João da Silva', taxId: '01.123.456/0001-23', bank: null },
      },
    });
    answers = [saying('sent')];
    expect(await create().queryPayout(providerId, 'another code')).toMatchObject({ outcome: 'unclear' });
  });

  /** A failure that happened so long ago. */
  const failedFor = (minutes: number, status = 'FALHA'): NetAnswer => {
    const body = structuredClone(foreign('inter/sent-failed').body) as {
      transacaoPix: Record<string, unknown>;
      historico: { dataHoraEvento: string }[];
    };
    const at = new Date(now - minutes * 60_000 - 3 * 3_600_000).toISOString().slice(0, -1);
    Object.assign(body.transacaoPix, { status, dataHoraMovimento: at, dataHoraSolicitacao: at });
    for (const one of body.historico) one.dataHoraEvento = at;
    return { status: 200, headers: {}, text: JSON.stringify(body) };
  };
  const debit = (more: object = {}) => ({
    idTransacao: 'MTIz',
    dataInclusao: '2026-11-21T08:50:00',
    dataTransacao: '2026-11-21',
    tipoTransacao: 'PIX',
    tipoOperacao: 'D',
    valor: '234.56',
    titulo: 'Pix enviado',
    detalhes: {
      tipoDetalhe: 'PIX',
      endToEndId: 'E1',
      codigoSolicitacao: code,
      descricaoPix: `Teste ${providerId}`,
    },
    ...more,
  });
  const statement = (...transacoes: object[]): NetAnswer => ({
    status: 200,
    headers: {},
    text: JSON.stringify({
      totalPaginas: 1,
      totalElementos: transacoes.length,
      ultimaPagina: true,
      transacoes,
    }),
  });

  test.each(['FALHA', 'CANCELADO_SEM_SALDO', 'NAO_DEBITADO', 'AGENDAMENTO_CANCELADO'])(
    'A failure (%s) ends a payout once it has stood for minutes and the statement has no debit for it',
    async (status) => {
      answers = [failedFor(4, status)];
      expect(await create().queryPayout(providerId, code)).toMatchObject({
        report: { status: 'pending', reason: null },
      });
      answers = [failedFor(6, status), statement()];
      expect(await create().queryPayout(providerId, code)).toMatchObject({
        report: { status: 'refused', reason: 'recipient_refused', settledAt: null },
      });
      expect(calls.at(-1)?.url).toContain(
        'dataInicio=2026-11-21&dataFim=2026-11-21&tipoTransacao=PIX&tipoOperacao=D',
      );
    },
  );

  test.each<[string, object]>([
    ['our id', { codigoSolicitacao: 'another', endToEndId: 'E1', descricaoPix: providerId }],
    ['its code', { codigoSolicitacao: code }],
    ['its Pix', { endToEndId: 'E00416968202309302034aqtneKsYCqs' }],
  ])(
    'A failure beside a debit that names %s ends nothing, and a person is asked to look',
    async (_, detalhes) => {
      answers = [failedFor(6), statement(debit({ detalhes }))];
      expect(await create().queryPayout(providerId, code)).toMatchObject({ report: { status: 'pending' } });
      expect(warned).toHaveLength(1);
    },
  );

  test.each<[string, NetAnswer]>([
    ['does not answer', saying('unavailable')],
    ['has a line that cannot be read', statement(debit({ valor: 'muito' }))],
  ])('A failure beside a statement that %s is unclear', async (_, answer) => {
    answers = [failedFor(6), answer];
    expect(await create().queryPayout(providerId, code)).toMatchObject({ outcome: 'unclear' });
  });

  test('A payout that is not repeated any more is found in the statement by its id, and is as its query says', async () => {
    const late = {
      providerId,
      amountCents: 23_456,
      pixKey: 'a@b.example',
      pixKeyType: 'EMAIL',
      description: '',
    } as const;
    answers = [statement(debit()), saying('sent')];
    expect(await create().sendPayout({ ...late, repeatOf: now - 16 * 60_000 })).toMatchObject({
      outcome: 'accepted',
      report: { providerId, providerRef: code, status: 'completed' },
    });
    expect(calls.map(({ method }) => method)).toEqual(['POST', 'GET', 'GET']);
    answers = [statement()];
    expect(await create().sendPayout({ ...late, repeatOf: now - 16 * 60_000 })).toMatchObject({
      outcome: 'unclear',
    });
    expect(calls.filter(({ url }) => url.endsWith('/banking/v2/pix'))).toEqual([]);
  });

  test('The statement names payouts under our ids with the code of each, and what the company sent itself under no id', async () => {
    const own = debit({ detalhes: { endToEndId: 'E2', descricaoPix: 'aluguel' } });
    answers = [{ status: 200, headers: {}, text: '{"pix":[]}' }, statement(debit(), own)];
    expect(await create().statement({ fromMs: now - 60_000, toMs: now })).toMatchObject({
      outcome: 'listed',
      complete: true,
      unread: [],
      reports: [
        { kind: 'sent', id: 'E1', amountCents: 23_456, providerId, providerRef: code },
        { kind: 'sent', id: 'E2', amountCents: 23_456, providerId: null, endToEnd: 'E2' },
      ],
    });
  });

  test('not found counts in Inter’s form alone', async () => {
    answers = [saying('not-found')];
    expect(await create().queryPayout(providerId, code)).toEqual({ outcome: 'notFound' });
    answers = [{ status: 404, headers: {}, text: '<h1>not found</h1>' }];
    expect(await create().queryPayout(providerId, code)).toMatchObject({ outcome: 'unclear' });
  });

  test.each<[string, string, number]>([
    ['PAGO', 'completed', 0],
    ['PIX_PAGO', 'completed', 0],
    ['REPROVADO', 'refused', 0],
    ['EXPIRADO', 'refused', 0],
    ['CANCELADO', 'refused', 0],
    ['CRIADO', 'pending', 0],
    ['APROVADO', 'pending', 0],
    ['ENVIADO', 'pending', 0],
    ['DEBITADO', 'pending', 0],
    ['AGENDADO', 'pending', 0],
    ['AGUARDANDO_APROVACAO', 'pending', 1],
    ['PARCIALMENTE_PAGO', 'pending', 1],
    ['PARCIALMENTE_DEBITADO', 'pending', 1],
    ['UM_STATUS_NOVO', 'pending', 1],
  ])('the status %s is %s', async (wire, status, hints) => {
    const body = structuredClone(foreign('inter/sent').body) as { transacaoPix: { status: string } };
    body.transacaoPix.status = wire;
    answers = [{ status: 200, headers: {}, text: JSON.stringify(body) }];
    expect(await create().queryPayout(providerId, code)).toMatchObject({
      outcome: 'found',
      report: { status },
    });
    expect(warned).toHaveLength(hints);
  });
});

test('the balance is read with what is blocked', async () => {
  answers = [saying('balance')];
  expect(await create().balance()).toEqual({
    availableCents: 285_055,
    totalCents: 411_150,
    blocked: { judicialCents: 51_035, medCents: 51_035, totalCents: 126_095 },
  });
});
