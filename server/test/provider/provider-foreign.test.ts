import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { differences, type Foreign, foreign } from '../../../simulator/test/foreign.ts';
import type { Log } from '../../src/ground/log.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { createUndiciNet } from '../../src/ports/undici-net.ts';
import { readReport } from '../../src/provider/api-pix/efi-account.ts';
import { createEfiProvider } from '../../src/provider/efi/efi.ts';
import { readDispute } from '../../src/provider/efi/efi-disputes.ts';

/** The adapter reads what providers really send: every body here comes from outside (`contract/provider-bodies`). */

const net = createUndiciNet();
let answer: Pick<Foreign, 'status' | 'headers' | 'body' | 'text'> = {};
let token: unknown;
let calls: { method: string; path: string; body: unknown }[] = [];
const server = createServer((request, response) => {
  let text = '';
  request.on('data', (chunk) => {
    text += chunk;
  });
  request.on('end', () => {
    const isToken = request.url === '/oauth/token';
    calls.push({
      method: request.method ?? '',
      path: request.url ?? '',
      body: text === '' ? undefined : JSON.parse(text),
    });
    const given = isToken ? { status: 200, body: token } : answer;
    response.writeHead(given.status ?? 200, { 'content-type': 'application/json', ...answer.headers });
    response.end('text' in given ? given.text : JSON.stringify(given.body));
  });
});
beforeAll(() => new Promise<void>((done) => server.listen(0, '127.0.0.1', done)));
afterAll(async () => {
  await net.close();
  server.closeAllConnections();
  server.close();
});

let now = Date.parse('2026-11-21T12:00:00Z');
const clock: Clock = { now: () => now, machineMs: () => now, monotonicMs: () => now, sleep: async () => {} };
let warned: { data: Record<string, unknown>; message: string }[] = [];
const note = (data: Record<string, unknown>, message: string) => void warned.push({ data, message });
const log = { warn: note, error: note, info: () => {}, debug: () => {} } as unknown as Log;

const providerOf = (pixKey = '19974764017') =>
  createEfiProvider({
    connection: 'live',
    test: false,
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clientId: 'client',
    clientSecret: 'hush',
    pixKey,
    webhook: { trust: 'path' },
    net,
    clock,
    log,
  });

beforeEach(() => {
  warned = [];
  calls = [];
  token = foreign('efi/token-answer').body;
});

const answers = (name: string): void => {
  answer = foreign(name);
};
const idOf = (name: string): string => (foreign(name).body as { idEnvio: string }).idEnvio;
const window = { fromMs: 0, toMs: now };

const send = (name: string, provider = providerOf()) => {
  answers(name);
  return provider.sendPayout({
    providerId: '12453567890123456789',
    amountCents: 1231,
    pixKey: 'joao@meuemail.com',
    pixKeyType: 'EMAIL',
    description: 'Segue o pagamento da conta',
  });
};

describe('a send', () => {
  test.each(['efi/send-answer', 'efi/send-answer-v2-name'])('is accepted: %s', async (name) => {
    expect(await send(name)).toMatchObject({
      outcome: 'accepted',
      report: { status: 'pending', endToEnd: 'E09089356202011251226APIff82f2e5' },
    });
  });

  test.each([
    'send-refused-key-not-found',
    'send-refused-denied',
    'send-refused-account-blocked',
    'send-refused-own-key',
    'send-refused-owner',
    'send-refused-value',
  ])('a documented refusal refuses: %s', async (name) => {
    const { expects } = foreign(`efi/${name}`);
    expect(await send(`efi/${name}`)).toMatchObject({ outcome: 'refused', reason: expects });
  });

  test.each(['send-duplicate', 'send-bucket-empty', 'send-failed', 'insufficient-scope'])(
    'nothing else does: %s',
    async (name) => {
      expect(await send(`efi/${name}`)).toMatchObject({ outcome: foreign(`efi/${name}`).expects });
    },
  );

  test('an empty bucket of key look-ups asks for a rest: before the first 429, and with it', async () => {
    const provider = providerOf();
    const accepted = foreign('efi/send-answer');
    answer = { ...accepted, headers: { 'bucket-size': '0', 'retry-after': '90' } };
    const instruction = {
      providerId: '12453567890123456789',
      amountCents: 1231,
      pixKey: 'a@b.example',
      pixKeyType: 'EMAIL' as const,
      description: '',
    };
    expect(await provider.sendPayout(instruction)).toMatchObject({ outcome: 'accepted', restMs: 90_000 });
    answer = { ...accepted, headers: { 'bucket-size': '0' } };
    expect(await provider.sendPayout(instruction)).toMatchObject({ restMs: 60_000 });
    answer = { ...accepted, headers: { 'bucket-size': '1', 'retry-after': '90' } };
    expect(await provider.sendPayout(instruction)).not.toHaveProperty('restMs');
    expect(await send('efi/send-bucket-empty')).toMatchObject({
      outcome: 'unclear',
      cause: 'rateLimited',
      retryAfterMs: 60_000,
    });
  });

  test('a missing permission is named to operators, at the first token and at the refused call', async () => {
    token = { ...(token as object), scope: 'cob.read cob.write pix.read' };
    const provider = providerOf();
    await send('efi/insufficient-scope', provider);
    expect(warned).toEqual([
      {
        data: {
          connection: 'live',
          missing: [
            'pix.write',
            'pix.send',
            'gn.pix.send.read',
            'webhook.write',
            'webhook.read',
            'gn.balance.read',
            'gn.infractions.read',
            'gn.reports.write',
            'gn.reports.read',
          ],
        },
        message: 'the provider credentials lack permissions (scopes)',
      },
      {
        data: { connection: 'live', scope: 'pix.send' },
        message: 'the provider refused a call: grant this permission (scope) in its panel',
      },
    ]);
    // Nor is a defence offered, which would wait until its deadline.
    expect(provider.capabilities.defence).toBeNull();
    // Once it is granted the next call passes: the token that lacked it is not used again.
    token = foreign('efi/token-answer').body;
    expect(await send('efi/send-answer', provider)).toMatchObject({ outcome: 'accepted' });
    expect(calls.filter(({ path }) => path === '/oauth/token')).toHaveLength(2);
    expect(provider.capabilities.defence).toMatchObject({ textMost: 1000, files: null });
  });
});

describe('a cancel', () => {
  const cancel = (name: string) => {
    answers(`efi/${name}`);
    const instruction = { txid: '655dfdb1a4514b8fbb58254b958913fb', amountCents: 100, createdAt: now };
    return providerOf().cancelCharge?.(instruction);
  };

  test.each(['cancel-refused-status', 'cancel-refused-not-found'])(
    'that Efí does not carry out is refused: %s',
    async (name) => {
      expect(await cancel(name)).toMatchObject({ outcome: foreign(`efi/${name}`).expects });
      const sent = calls.at(-1);
      expect([sent?.method, sent?.body]).toEqual(['PATCH', foreign('efi/cancel-request').body]);
    },
  );
});

test('A due-date charge that is removed counts as removed whatever a change made of its amount; a change is done with its own amount alone', async () => {
  const txid = '655dfdb1a4514b8fbb58254b958913fb';
  answer = {
    status: 200,
    body: {
      ...{ txid, revisao: 2, chave: 'loja@example.com', pixCopiaECola: '000201' },
      status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR',
      calendario: {
        criacao: new Date(now).toISOString(),
        dataDeVencimento: '2027-01-10',
        validadeAposVencimento: 30,
      },
      valor: { original: '150.00' },
    },
  };
  const due = providerOf().dueCharges;
  const charge = { txid, amountCents: 10_000, createdAt: now };
  expect(await due?.cancel(charge)).toMatchObject({ outcome: 'accepted', report: { status: 'removed' } });
  const terms = {
    dueDate: '2027-01-10',
    validAfterDue: 30,
    fine: null,
    interest: null,
    discounts: [],
    rebate: null,
  };
  expect(await due?.change?.({ ...charge, terms, before: terms })).toMatchObject({ outcome: 'unclear' });
});

describe('requests have the form that the provider expects', () => {
  test('of a token, a send, an address and a report', async () => {
    const provider = providerOf();
    await send('efi/send-answer', provider);
    answers('efi/webhook-answer');
    await provider.registerWebhook('https://exemplo-pix/webhook');
    answers('efi/report-requested');
    await provider.requestDayReport('2023-12-15');
    const sent = calls.map(({ body }) => body);
    const names = ['token-request', 'send-request', 'webhook-request', 'report-request'];
    for (const [at, name] of names.entries())
      expect(differences(foreign(`efi/${name}`), sent[at]), name).toEqual([]);
  });
});

describe('a sent Pix', () => {
  test('is read as it is answered', async () => {
    answers('efi/sent');
    const query = await providerOf().queryPayout(idOf('efi/sent'));
    expect(query).toMatchObject({
      outcome: 'found',
      report: {
        status: 'completed',
        amountCents: 1,
        pixKey: 'francisco@meuemail.com',
        endToEnd: 'E09089356202210251208APIcdbe38b4',
        returns: [],
      },
    });
  });

  test('that came back has its returns, which have no status and no id', async () => {
    answers('efi/sent-returned');
    const query = await providerOf().queryPayout(idOf('efi/sent-returned'));
    if (query.outcome !== 'found') throw new Error(query.outcome);
    expect(query.report.returns.map(({ amountCents, status }) => [amountCents, status])).toEqual([
      [200, 'settled'],
      [200, 'settled'],
    ]);
  });

  test('that was refused without a reason hints at the daily limit, once an hour', async () => {
    answers('efi/sent-refused');
    const provider = providerOf();
    const query = () => provider.queryPayout(idOf('efi/sent-refused'));
    expect(await query()).toMatchObject({ report: { status: 'refused', reason: 'provider_refused' } });
    await query();
    expect(warned.map(({ message }) => message)).toEqual([
      "a payout was refused without a reason: check the account's daily limit for payouts by API",
    ]);
    now += 3_600_000;
    await query();
    expect(warned).toHaveLength(2);
  });

  test('that is not there is not found', async () => {
    answers('efi/sent-not-found');
    expect(await providerOf().queryPayout('x')).toEqual({ outcome: 'notFound' });
  });

  test('of the list is ours only with an idEnvio', async () => {
    answers('efi/sent-list');
    const listed = await providerOf().listPayouts(window);
    expect(listed).toMatchObject({
      outcome: 'listed',
      complete: true,
      reports: [{ providerId: 'identificadoEnvio123456789' }],
    });
  });
});

describe('the account', () => {
  test('its statement is the union of received and sent Pix', async () => {
    const provider = providerOf();
    answers('efi/received-list');
    const lines = await provider.statement(window);
    // The same body answers for the list of sent Pix, where nothing has a status: none of it has left.
    expect(lines).toMatchObject({ outcome: 'listed', complete: true });
    if (lines.outcome !== 'listed') return;
    expect(lines.reports.map(({ kind, amountCents, providerId }) => [kind, amountCents, providerId])).toEqual(
      [
        ['received', 1, '465669b3847d4a30ae14848c5d4d1683'],
        ['received', 10_000, null],
        ['received', 2, 'fc9a4386fefdh964b5dbc6c91a8722d5'],
        ['debited', 1, 'fc9a4386fefdh964b5dbc6c91a8722d5'],
        ['debited', 1, 'fc9a4386fefdh964b5dbc6c91a8722d5'],
      ],
    );
    expect(calls.map(({ path }) => path.split('?')[0])).toEqual([
      '/oauth/token',
      '/v2/pix',
      '/v2/gn/pix/enviados',
    ]);
  });

  test('what was sent in the app stands in it without an id of ours', async () => {
    answers('efi/sent-list');
    const lines = await providerOf().statement(window);
    if (lines.outcome !== 'listed') throw new Error(lines.outcome);
    const sent = lines.reports.filter(({ kind }) => kind === 'sent');
    expect(sent.map(({ amountCents, providerId }) => [amountCents, providerId])).toEqual([
      [1, 'identificadoEnvio123456789'],
      [800, null],
    ]);
  });

  test('its disputes have their deadline and an amount with or without decimals', async () => {
    answers('efi/disputes');
    const dispute = {
      providerId: '8ad75c93-6150-422c-929e-822f361c7a6b',
      endToEnd: 'E09089356202312181249APId91a6304',
      amountCents: 10_050,
      status: 'open',
      reason: 'golpe',
      openedAt: Date.UTC(2023, 11, 22, 16, 1, 35),
      deadlineAt: Date.UTC(2023, 11, 22, 16, 1, 35),
    };
    expect(await providerOf().disputes?.list(window)).toEqual({
      outcome: 'listed',
      complete: true,
      unread: [],
      reports: [dispute],
    });
    const [item] = (foreign('efi/disputes').body as { infracoes: object[] }).infracoes;
    expect(readDispute({ ...item, valor: '100' })).toMatchObject({ amountCents: 10_000 });
    expect(readDispute({ ...item, valor: '100.50', tipoSituacao: undefined })).toEqual({
      ...dispute,
      reason: 'Solicitacao de devolução',
    });
    for (const wrong of [{ valor: '0' }, { valor: '1,00' }, { status: 'OUTRA' }, { endToEndId: null }])
      expect(readDispute({ ...item, ...wrong })).toBeNull();
  });

  test('a defence goes out as documented, and is taken', async () => {
    answers('efi/defence-answer');
    const { justificativa } = foreign('efi/defence-request').body as { justificativa: string };
    const defence = { disputeId: '8ad75c93-6150-422c-929e-822f361c7a6b', text: justificativa, files: [] };
    expect(await providerOf().disputes?.defend?.(defence)).toEqual({ outcome: 'accepted' });
    expect(calls.at(-1)).toEqual({
      method: 'POST',
      path: '/v2/gn/infracoes/8ad75c93-6150-422c-929e-822f361c7a6b/defesa',
      body: foreign('efi/defence-request').body,
    });
  });

  const defend = () =>
    providerOf().disputes?.defend?.({ disputeId: crypto.randomUUID(), text: 'Entregue.', files: [] });

  test.each(['invalid', 'not-found', 'defended', 'document', 'late'])(
    'a documented refusal refuses a defence: %s',
    async (name) => {
      answers(`efi/defence-refused-${name}`);
      const { expects } = foreign(`efi/defence-refused-${name}`);
      expect(await defend()).toMatchObject({ outcome: 'refused', reason: expects });
    },
  );

  test('nothing else refuses a defence, and a missing permission sends none', async () => {
    answers('efi/defence-failed');
    expect(await defend()).toMatchObject({ outcome: 'unclear', cause: 'server' });
    const unnamed = foreign('efi/defence-refused-defended');
    answer = { ...unnamed, body: { ...(unnamed.body as object), violacoes: undefined } };
    expect(await defend()).toMatchObject({ outcome: 'unclear', cause: 'unknownRefusal' });
    answers('efi/insufficient-scope');
    expect(await defend()).toMatchObject({ outcome: 'notSent' });
  });

  test('its balance says what is blocked', async () => {
    answers('efi/balance');
    expect(await providerOf().balance()).toEqual({
      availableCents: 10_000,
      totalCents: 10_000,
      blocked: { judicialCents: 0, medCents: 0, totalCents: 0 },
    });
    expect(calls.at(-1)?.path).toBe('/v2/gn/saldo?bloqueios=true');
  });

  test('whose Pix it is: received, sent, or none', async () => {
    const provider = providerOf();
    answers('efi/received');
    expect(await provider.findPix('E12345678202009091221ghijk78901234')).toMatchObject({
      report: { direction: 'received', providerId: '5b933948f3224266b1050ac54319e775' },
    });
    answers('efi/received-not-found');
    expect(await provider.findPix('E1')).toEqual({ outcome: 'notFound' });
    answers('efi/sent');
    // The body of a sent Pix is no answer to the query for a received one, whose end-to-end id it may have.
    expect((await provider.findPix('E2')).outcome).toBe('unclear');
  });
});

describe('the report of a day', () => {
  const steps = (name: string) => {
    answers(name);
    return providerOf().readDayReport('x');
  };

  test('is requested, made, and read', async () => {
    answers('efi/report-requested');
    expect(await providerOf().requestDayReport('2023-12-15')).toEqual({
      outcome: 'requested',
      reportId: '3d0ca315-aff9-4fc2-be61-3b76b9a2d798',
    });
    expect(await steps('efi/report-pending')).toEqual({ outcome: 'pending' });
    expect(await steps('efi/report-empty')).toEqual({
      outcome: 'ready',
      returns: [],
      costs: [],
      unreadable: 0,
    });
    expect(await steps('efi/report-received')).toEqual({
      outcome: 'ready',
      returns: [],
      // The tariff of a received Pix, `TPR`.
      costs: [
        { reference: 'received:E0000000020211108181557703828021', amountCents: 100, at: 1638303300358 },
      ],
      unreadable: 0,
    });
    expect(await steps('efi/report-not-found')).toEqual({ outcome: 'notFound' });
    answers('efi/report-day-not-over');
    expect(await providerOf().requestDayReport('2026-11-21')).toMatchObject({ outcome: 'unclear' });
  });

  test('a page or a JSON is no report', async () => {
    answer = { status: 200, text: '<html>' };
    expect(await providerOf().readDayReport('x')).toMatchObject({ outcome: 'unclear', cause: 'unreadable' });
    answer = { status: 200, body: {} };
    expect(await providerOf().readDayReport('x')).toMatchObject({ outcome: 'unclear' });
  });

  test('a return is known by its ids, in whatever order a record has them', () => {
    const [e, d] = ['E09089356202210251208APIcdbe38b4', 'D09089356202210261757eeb3cf6972c'];
    const report = `CA;x\r\nPDR;1;${e};${d};2.00;2026-11-20T10:00:00.000Z\r\nXX;${d};y;3,50;${e}\nYY;${e};1.00\nZZ;${d};4.00\nEE;;;\nT;0\n`;
    expect(readReport(report)).toEqual({
      returns: [
        { id: d, rtrId: d, endToEnd: e, amountCents: 200 },
        { id: d, rtrId: d, endToEnd: e, amountCents: 350 },
        { id: e, rtrId: null, endToEnd: e, amountCents: 100 },
        { id: d, rtrId: d, endToEnd: null, amountCents: 400 },
      ],
      costs: [],
      unreadable: 1,
    });
  });
});

describe('a delivery', () => {
  const deliver = (name: string, pixKey?: string) => {
    const content = providerOf(pixKey).parseWebhook({
      headers: {},
      rawBody: Buffer.from(JSON.stringify(foreign(name).body)),
      receivedAt: now,
    });
    if (!content.authentic) throw new Error(content.reason);
    return content;
  };
  const ours = '2c3c7441-b91e-4982-3c25-6105581e18ae';

  test.each<[string, string, Record<string, unknown>]>([
    ['efi/delivery-test', ours, { received: [], payouts: [] }],
    ['efi/delivery-received', ours, { received: [{ txid: 'fc9a43k6ff384ryP5f41719', amountCents: 1 }] }],
    [
      'efi/delivery-received-with-payer',
      '71cdf9ba-c695-4e3c-b010-abb521a3f1be',
      { received: [{ txid: 'ca1b8194ccf14c518b5d46adbb28684e', amountCents: 900 }] },
    ],
    [
      'efi/delivery-given-back',
      ours,
      { received: [{ returns: [{ amountCents: 11_000, status: 'settled' }] }] },
    ],
    ['efi/delivery-give-back-refused', ours, { received: [{ returns: [{ status: 'failed' }] }] }],
    ['efi/delivery-sent', ours, { payouts: [{ providerId: '123ABC', status: 'completed' }] }],
    [
      'efi/delivery-sent-returned',
      ours,
      { payouts: [{ status: 'completed', returns: [{ amountCents: 200, status: 'settled' }] }] },
    ],
    [
      'efi/delivery-sent-refused',
      ours,
      {
        payouts: [{ providerId: '123ABC', status: 'refused', reason: 'recipient_refused', settledAt: null }],
      },
    ],
  ])('%s', (name, pixKey, expected) => {
    expect(deliver(name, pixKey)).toMatchObject(expected);
  });
});
