import { generateKeyPairSync, sign } from 'node:crypto';
import { answeringNet } from '@vintem/testkit/answering-net.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { foreign } from '../../../simulator/test/foreign.ts';
import type { Log } from '../../src/ground/log.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Net, NetAnswer, NetRequest } from '../../src/ports/net.ts';
import { createWooviProvider } from '../../src/provider/woovi/woovi.ts';
import { readCharge } from '../../src/provider/woovi/woovi-bodies.ts';

/** The adapter reads what Woovi really sends: every body here comes from outside (`contract/provider-bodies/woovi`). */

const outside = answeringNet();
const { net } = outside;
let warned: string[] = [];
let now = 0;
const clock: Clock = { now: () => now, machineMs: () => now, monotonicMs: () => now, sleep: async () => {} };
const note = (_: unknown, message: string) => void warned.push(message);
const log = { warn: note, error: note, info: note, debug: note } as unknown as Log;

const saying = (name: string): NetAnswer => {
  const { status = 200, headers = {}, body } = foreign(name);
  return { status, headers, text: JSON.stringify(body) };
};
const notFound: NetAnswer = { status: 400, headers: {}, text: '{"error":"Payment not found"}' };

const create = () =>
  createWooviProvider({
    connection: 'live',
    test: false,
    baseUrl: 'https://api.woovi.com',
    appId: 'Q2xpZW50X0lk',
    net,
    clock,
    log,
  });

beforeEach(() => {
  outside.answers = [];
  outside.calls = [];
  warned = [];
  now = Date.parse('2026-11-21T12:00:00Z');
});

const send = (providerId = 'payment-1', amountCents = 100) =>
  create().sendPayout({
    providerId,
    amountCents,
    pixKey: 'c4249323-b4ca-43f2-8139-8232aab09b93',
    pixKeyType: 'RANDOM',
    description: 'pagamento comentário',
  });

describe('a cancel', () => {
  const cancel = () => create().cancelCharge?.({ txid: 'charge-1', amountCents: 100, createdAt: now });

  test('is carried out by Woovi’s own answer alone', async () => {
    outside.answers = [saying('woovi/charge-delete-answer')];
    expect(await cancel()).toMatchObject({
      outcome: 'accepted',
      report: { txid: 'charge-1', amountCents: 100, status: 'removed', received: [] },
    });
    expect(outside.calls.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'DELETE https://api.woovi.com/api/v1/charge/charge-1',
    ]);
  });

  test('of a charge that is not found, or is not deleted, is refused', async () => {
    for (const text of ['{"error":"Charge not found"}', '{"error":"Cobrança já paga"}']) {
      outside.answers = [{ status: 400, headers: {}, text }];
      expect(await cancel()).toMatchObject({ outcome: 'refused' });
    }
    outside.answers = [{ status: 200, headers: {}, text: '{}' }];
    expect(await cancel()).toMatchObject({ outcome: 'unclear', cause: 'unreadable' });
  });
});

describe('a charge with a due date', () => {
  const day = { until: '2026-11-23', type: 'percent', value: 500 } as const;
  const make = (txid: string, amountCents: number) =>
    create().dueCharges?.create({
      ...{ txid, amountCents, description: 'good' },
      terms: {
        ...{ dueDate: '2026-11-26', validAfterDue: 5, rebate: null, discounts: [day] },
        fine: { type: 'fixed', value: 20 },
        interest: { type: 'percent_day', value: 10, days: 'calendar' },
      },
      payer: {
        ...{ name: 'Dan', document: '31324227036', email: 'email0@example.com' },
        address: {
          ...{ street: 'Street, 100', neighborhood: 'Neighborhood', postalCode: '30421322' },
          ...{ city: 'Belo Horizonte', state: 'MG' },
        },
      },
    });

  test('goes out as Woovi writes one, and its answer is read', async () => {
    outside.answers = [saying('woovi/charge-overdue-answer')];
    const id = 'c782e0ac-833d-4a89-9e73-9b60b2b41d3a';
    expect(await make(id, 1500)).toMatchObject({
      outcome: 'accepted',
      // Of such a charge `expiresDate` is not said to be its last day.
      report: { txid: id, amountCents: 1500, status: 'open', expiresAt: null, copyPaste: '0002010...' },
    });
    const sample = foreign('woovi/charge-overdue-request').body as Record<string, unknown>;
    const { discountSettings, ...body } = JSON.parse(String(outside.calls[0]?.body));
    const { phone: _, ...customer } = sample.customer as { phone: string; address: { complement: string } };
    const { complement: __, ...address } = customer.address;
    expect(body).toEqual({
      ...sample,
      ...{ correlationID: id, value: 1500, customer: { ...customer, address } },
      additionalInfo: [{ key: 'Descrição', value: 'good' }],
    });
    expect(discountSettings).toEqual({
      modality: 'PERCENTAGE_UNTIL_SPECIFIED_DATE',
      discountFixedDate: [{ daysActive: 2, value: 500 }],
    });
  });
});

describe('whose a key is', () => {
  const look = () => create().lookUpReceiver?.('00000000191');
  const bucket = (tokens: number): NetAnswer => {
    const full = saying('woovi/tokens');
    return { ...full, text: JSON.stringify({ ...JSON.parse(full.text), tokens }) };
  };

  test('is asked for once there are enough look-ups left', async () => {
    outside.answers = [saying('woovi/tokens'), saying('woovi/look-up-answer')];
    const receiver = { name: 'Fulano de Tal', taxId: '000.***.***-91', bank: 'ISPB 12345678' };
    expect(await look()).toEqual({ outcome: 'found', receiver });
    expect(JSON.parse(String(outside.calls[1]?.body))).toEqual(foreign('woovi/look-up-request').body);
    expect(outside.calls.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET https://api.woovi.com/api/v1/pix-keys/tokens',
      'POST https://api.woovi.com/api/v1/pix-keys/check',
    ]);
  });

  test.each([
    ['nobody’s', [bucket(250), saying('woovi/look-up-unknown')], 'notFound'],
    ['not asked: payments need what is left', [bucket(249)], 'notAsked'],
    ['not asked: Woovi has not granted it', [bucket(500), saying('woovi/look-up-not-granted')], 'notAsked'],
    ['no answer about one under suspicion', [bucket(500), saying('woovi/look-up-suspected')], 'unclear'],
    ['no answer without look-ups', [bucket(500), saying('woovi/bucket-empty')], 'unclear'],
    ['no answer while the bucket cannot be read', [{ ...bucket(1), text: '{}' }], 'unclear'],
    ['no answer that names nobody', [bucket(500), { ...bucket(1), text: '{"owner":{}}' }], 'unclear'],
    ['not asked without the scope', [saying('woovi/scope-missing')], 'notSent'],
  ])('%s', async (_, given, outcome) => {
    outside.answers = given;
    expect(await look()).toMatchObject({ outcome });
    expect(outside.answers).toEqual([]);
  });
});

describe('a refund', () => {
  const refund = foreign('woovi/refund-answer').body as { refund: { correlationID: string } };
  const providerId = refund.refund.correlationID;
  const send = () =>
    create().sendRefund({ endToEnd: 'E1', providerId, amountCents: 100, description: 'Devolução' });

  test('is asked for under our id, and is under way', async () => {
    outside.answers = [saying('woovi/refund-answer')];
    expect(await send()).toMatchObject({
      outcome: 'accepted',
      report: { providerId, amountCents: 100, status: 'pending', rtrId: null },
    });
    expect(JSON.parse(String(outside.calls[0]?.body))).toEqual({
      transactionEndToEndId: 'E1',
      correlationID: providerId,
      value: 100,
      comment: 'Devolução',
    });
  });

  test('is found with its end, or without one where the answer has no status', async () => {
    const body = foreign('woovi/refund').body as { pixTransactionRefund: { correlationID: string } };
    const { correlationID } = body.pixTransactionRefund;
    outside.answers = [saying('woovi/refund')];
    expect(await create().queryRefund('E1', correlationID)).toMatchObject({
      outcome: 'found',
      report: { status: 'completed', rtrId: 'D09089356202108032000a543e325902', amountCents: 100 },
    });
    const { status: _, ...rest } = body.pixTransactionRefund as Record<string, unknown>;
    outside.answers = [{ status: 200, headers: {}, text: JSON.stringify({ pixTransactionRefund: rest }) }];
    expect(await create().queryRefund('E1', correlationID)).toMatchObject({ report: { status: 'pending' } });
  });

  test('is refused by no text of an answer: only its query and its delivery end it', async () => {
    outside.answers = [{ status: 400, headers: {}, text: '{"error":"Valor do reembolso inválido"}' }];
    expect(await send()).toMatchObject({ outcome: 'unclear', cause: 'unknownRefusal' });
    outside.answers = [
      { status: 400, headers: {}, text: '{"error":"Já existe um reembolso com o correlationID"}' },
    ];
    expect(await send()).toEqual({ outcome: 'duplicate' });
    outside.answers = [saying('woovi/scope-missing')];
    expect(await send()).toMatchObject({ outcome: 'notSent' });
  });
});

describe('disputes', () => {
  const pix = (endToEndId: string): NetAnswer => ({
    status: 200,
    headers: {},
    text: JSON.stringify({ transaction: { endToEndId, value: 4_500, type: 'PAYMENT' } }),
  });

  test('are listed with their own amount, or that of their Pix', async () => {
    outside.answers = [saying('woovi/dispute-list'), pix('E31680151202503252045C0MHIPSJI6S')];
    const listed = await create().disputes?.list({ fromMs: 0, toMs: now });
    expect(listed).toMatchObject({
      outcome: 'listed',
      complete: true,
      reports: [
        { providerId: '67e3170b38e62d5935ed4faf', amountCents: 100, status: 'open', deadlineAt: null },
        { amountCents: 4_500, status: 'rejected', reason: null },
      ],
    });
  });

  test('without an amount that can be had, or of a status that is new, are not guessed', async () => {
    outside.answers = [saying('woovi/dispute-list'), { status: 500, headers: {}, text: '{}' }];
    expect(await create().disputes?.list({ fromMs: 0, toMs: now })).toMatchObject({ outcome: 'unclear' });
    const disputes = [{ endToEndId: 'E1', status: 'ESCALATED', value: 1 }];
    const pageInfo = { skip: 0, limit: 100, hasPreviousPage: false, hasNextPage: false };
    outside.answers = [{ status: 200, headers: {}, text: JSON.stringify({ disputes, pageInfo }) }];
    expect(await create().disputes?.list({ fromMs: 0, toMs: now })).toMatchObject({
      complete: true,
      reports: [],
      unread: [{ kind: 'dispute', endToEnd: 'E1', name: 'E1' }],
    });
  });
});

describe('what left the account', () => {
  const at = '2026-11-21T11:00:00.000Z';
  /** `originalTransaction` of Woovi's own sample is a transaction of this type. */
  const sample = (
    foreign('woovi/delivery-refund-received-rejected').body as {
      originalTransaction: Record<string, unknown>;
    }
  ).originalTransaction;
  const withdrawal = { ...sample, endToEndId: 'E-left', value: 11_111, time: at };
  const payment = {
    payment: { correlationID: 'saque0', value: 11_111, status: 'CONFIRMED' },
    transaction: { endToEndId: 'E-left', value: 11_111, time: at },
  };
  const list = (name: string, items: object[], hasNextPage = false): NetAnswer => ({
    ...{ status: 200, headers: {} },
    text: JSON.stringify({ [name]: items, pageInfo: { hasNextPage } }),
  });
  const statement = async (...answers: NetAnswer[]) => {
    outside.answers = [list('transactions', []), list('payments', []), ...answers];
    return create().statement({ fromMs: Date.parse(at) - 1_000, toMs: Date.parse(at) + 1_000 });
  };
  const line = { kind: 'sent', id: 'E-left', endToEnd: 'E-left', amountCents: 11_111, at: Date.parse(at) };

  test('and that no list of payouts has, is a line without a name: its panel or its evening sent it', async () => {
    const none = list('payments', []);
    expect(await statement(list('transactions', [withdrawal]), none, none)).toMatchObject({
      ...{ outcome: 'listed', complete: true, unread: [] },
      reports: [{ ...line, providerId: null }],
    });
    const searched = outside.calls.slice(-2).map(({ url }) => new URL(url).searchParams.get('start'));
    expect(searched).toEqual(['2026-11-21T10:50:00.000Z', '2026-11-14T11:00:00.000Z']);
  });

  test('is a line of the payout that was made before the window', async () => {
    expect(
      await statement(list('transactions', [withdrawal]), list('payments', []), list('payments', [payment])),
    ).toMatchObject({ complete: true, unread: [], reports: [{ ...line, providerId: 'saque0' }] });
  });

  test('is kept unread where the payouts before it cannot be searched whole', async () => {
    const endless = Array.from({ length: 40 }, () => list('payments', [], true));
    expect(await statement(list('transactions', [withdrawal]), ...endless)).toMatchObject({
      ...{ complete: true, reports: [] },
      unread: [{ kind: 'sent', endToEnd: 'E-left' }],
    });
  });

  test('has not left while its transaction says otherwise', async () => {
    const pending = { ...withdrawal, status: 'CREATED' };
    expect(await statement(list('transactions', [pending]))).toMatchObject({ reports: [], unread: [] });
  });
});

describe('a list', () => {
  const transactions = Array.from({ length: 120 }, (_, at) => ({
    endToEndId: `E${at}`,
    value: 100 + at,
    type: 'PAYMENT',
    status: 'CONFIRMED',
    time: '2026-11-21T11:00:00.000Z',
  }));
  /** Woovi with a lower cap than what is asked for; its `pageInfo` names no total. */
  const cappedNet = (cap: number, asked: string[]): Net =>
    ({
      async request({ url }: NetRequest) {
        const { pathname, searchParams } = new URL(url);
        if (pathname === '/api/v1/payment' || searchParams.get('type') === 'WITHDRAW')
          return {
            ...{ status: 200, headers: {} },
            text: '{"payments":[],"transactions":[],"pageInfo":{"hasNextPage":false}}',
          };
        const skip = Number(searchParams.get('skip'));
        asked.push(String(skip));
        const given = transactions.slice(skip, skip + cap);
        const pageInfo = {
          skip,
          limit: cap,
          hasPreviousPage: skip > 0,
          hasNextPage: skip + cap < transactions.length,
        };
        return { status: 200, headers: {}, text: JSON.stringify({ transactions: given, pageInfo }) };
      },
    }) as unknown as Net;

  test('whose provider gives fewer items a page than were asked for is read by what was given', async () => {
    const asked: string[] = [];
    const capped = createWooviProvider({
      ...{ connection: 'live', test: false, baseUrl: 'https://api.woovi.com', appId: 'Q2xpZW50X0lk' },
      ...{ net: cappedNet(50, asked), clock, log },
    });
    const listed = await capped.statement({ fromMs: 0, toMs: now });
    if (listed.outcome !== 'listed') throw new Error(listed.outcome);
    expect(listed.complete).toBe(true);
    expect(listed.reports.map(({ id }) => id)).toEqual(transactions.map(({ endToEndId }) => endToEndId));
    expect(asked).toEqual(['0', '50', '100']);
  });

  test('that promises more and gives nothing is not whole', async () => {
    const text = '{"transactions":[],"pageInfo":{"skip":0,"limit":100,"hasNextPage":true}}';
    outside.answers = [{ status: 200, headers: {}, text }];
    expect(await create().listReturns?.({ fromMs: 0, toMs: now })).toMatchObject({ complete: false });
  });

  test.each([
    ['ACTIVE', 'open'],
    ['EXPIRED', 'open'],
    // The type of a charge with a due date, and no status of its documents.
    ['OVERDUE', 'open'],
    ['COMPLETED', 'paid'],
  ])('reads a charge that is %s as %s: only a payment ends it', (status, read) => {
    const charge = { correlationID: 'c', status, value: 100, createdAt: '2026-11-21T11:00:00.000Z' };
    expect(readCharge(charge)).toMatchObject({ status: read, received: [] });
  });

  test('names a paid charge whose Pix cannot be read, and reads the others', async () => {
    const charge = (correlationID: string | null, status: string) => ({
      ...{ correlationID, status, value: 100, createdAt: '2026-11-21T11:00:00.000Z' },
    });
    const charges = [charge('paid', 'COMPLETED'), charge('open', 'ACTIVE'), charge(null, 'ACTIVE')];
    const odd = { type: 'PAYMENT', value: 'R$ 1', endToEndId: 'E1', charge: { correlationID: 'paid' } };
    const pageInfo = { hasNextPage: false };
    outside.answers = [
      { charges, pageInfo },
      { transactions: [odd], pageInfo },
    ].map((body) => ({
      ...{ status: 200, headers: {}, text: JSON.stringify(body) },
    }));
    expect(await create().listCharges({ fromMs: 0, toMs: now })).toMatchObject({
      complete: true,
      reports: [{ txid: 'open', status: 'open' }],
      unread: [
        { kind: 'received', endToEnd: 'E1', providerId: 'paid' },
        { kind: 'charge', providerId: 'paid' },
      ],
    });
  });
});

describe('a defence', () => {
  const disputeId = '67e3170b38e62d5935ed4faf';
  const { file } = foreign('woovi/file-answer').body as { file: { id: string; correlationID: string } };
  const photo = {
    id: file.correlationID,
    name: 'evidence.png',
    type: 'image/png' as const,
    read: async () => Buffer.from('89504e470d0a1a0a', 'hex'),
  };
  const defend = () => create().disputes?.defend?.({ disputeId, text: null, files: [photo] });
  const evidence = (): NetAnswer => {
    const { documents } = foreign('woovi/evidence-answer').body as { documents: object[] };
    return { status: 200, headers: {}, text: JSON.stringify({ documents }) };
  };

  test('uploads each file under its own id, and names them as evidence', async () => {
    outside.answers = [{ ...saying('woovi/file-answer'), status: 201 }, evidence()];
    expect(await defend()).toEqual({ outcome: 'accepted' });
    const [upload, named] = outside.calls;
    expect(upload).toMatchObject({ method: 'POST', url: 'https://api.woovi.com/api/v1/files' });
    const form = Buffer.from(upload?.body ?? '').toString('latin1');
    expect(upload?.headers?.['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    expect(form).toContain('name="purpose"\r\n\r\nDISPUTE_EVIDENCE\r\n');
    expect(form).toContain(`name="correlationID"\r\n\r\n${file.correlationID}\r\n`);
    expect(form).toContain('name="file"; filename="evidence.png"\r\ncontent-type: image/png\r\n\r\n\x89PNG');
    expect(named).toMatchObject({ url: `https://api.woovi.com/api/v1/dispute/${disputeId}/evidence` });
    const { documents } = foreign('woovi/evidence-request').body as { documents: object[] };
    expect(JSON.parse(String(named?.body))).toEqual({
      documents: [{ ...documents[0], description: 'evidence.png', correlationID: file.correlationID }],
    });
  });

  test('is refused by what is documented, and by nothing else', async () => {
    const stored = saying('woovi/file-answer');
    for (const name of ['evidence-not-allowed', 'evidence-refused-ended']) {
      outside.answers = [stored, saying(`woovi/${name}`)];
      expect(await defend(), name).toMatchObject({ outcome: 'refused', reason: 'provider_refused' });
    }
    expect(warned).toEqual(['the provider has not granted this account evidence by file']);
    outside.answers = [stored, { status: 400, headers: {}, text: '{"error":"Disputa inválida"}' }];
    expect(await defend()).toMatchObject({ outcome: 'unclear', cause: 'unknownRefusal' });
    outside.answers = [stored, { status: 500, headers: {}, text: '{}' }];
    expect(await defend()).toMatchObject({ outcome: 'unclear', cause: 'server' });
    outside.answers = [stored, { status: 200, headers: {}, text: '{"documents":[]}' }];
    expect(await defend()).toMatchObject({ outcome: 'unclear', cause: 'unreadable' });
    outside.answers = [stored, saying('woovi/scope-missing')];
    expect(await defend()).toMatchObject({ outcome: 'notSent' });
  });

  test('is not sent while a file is not stored, and refused with a file that is', async () => {
    outside.answers = [{ status: 502, headers: {}, text: '{}' }];
    expect(await defend()).toMatchObject({ outcome: 'notSent', retryAfterMs: 120_000 });
    outside.answers = [saying('woovi/file-refused')];
    expect(await defend()).toMatchObject({ outcome: 'refused', reason: 'provider_refused' });
    // Not the file that was sent.
    outside.answers = [{ status: 200, headers: {}, text: '{"file":{"id":"1","correlationID":"other"}}' }];
    expect(await defend()).toMatchObject({ outcome: 'notSent' });
    expect(outside.calls.every(({ url }) => url.endsWith('/files'))).toBe(true);
  });
});

describe('a send', () => {
  test('asks as documented, with the key alone and without a token, and prepares', async () => {
    outside.answers = [saying('woovi/payment-answer-created')];
    const { body } = foreign('woovi/payment-request') as { body: Record<string, unknown> };
    await create().sendPayout({
      ...{ providerId: String(body.correlationID), amountCents: 100, pixKeyType: 'CPF' },
      ...{ pixKey: String(body.destinationAlias), description: 'um comentário' },
    });
    expect(outside.calls).toMatchObject([
      {
        method: 'POST',
        url: 'https://api.woovi.com/api/v1/payment',
        headers: { authorization: 'Q2xpZW50X0lk' },
      },
    ]);
    // The text is plain, as bank statements show it.
    const expected = { ...body, comment: 'um comentario', type: 'PIX_KEY' };
    expect(JSON.parse(String(outside.calls[0]?.body))).toEqual(expected);
  });

  test('is prepared: Woovi has it, and has sent nothing', async () => {
    outside.answers = [saying('woovi/payment-answer-created')];
    expect(await send('payment1')).toMatchObject({ outcome: 'accepted', report: { status: 'prepared' } });
  });

  test('that a panel approved at once is pending', async () => {
    outside.answers = [saying('woovi/payment-answer')];
    expect(await send()).toMatchObject({
      outcome: 'accepted',
      report: { status: 'pending', endToEnd: null },
    });
  });

  test('that was refused counts only when the payout is not there', async () => {
    outside.answers = [saying('woovi/payment-key-not-found'), notFound];
    expect(await send()).toMatchObject({ outcome: 'refused', reason: 'pix_key_not_found' });
    outside.answers = [saying('woovi/payment-key-not-found'), { ...saying('woovi/payment-answer-created') }];
    expect(await send('payment1')).toMatchObject({ outcome: 'accepted', report: { status: 'prepared' } });
    const failed: NetAnswer = { status: 500, headers: {}, text: '{}' };
    outside.answers = [saying('woovi/payment-key-not-found'), failed];
    expect(await send()).toMatchObject({ outcome: 'unclear', cause: 'server', refused: true });
    // "No balance" is no refusal of what was made.
    outside.answers = [saying('woovi/payment-without-balance')];
    expect(await send()).toMatchObject({ outcome: 'unclear', cause: 'unknownRefusal' });
  });

  test('under a used id is a duplicate', async () => {
    outside.answers = [saying('woovi/payment-duplicate')];
    expect(await send()).toEqual({ outcome: 'duplicate' });
  });

  test('that asks for a rest is unclear', async () => {
    outside.answers = [saying('woovi/bucket-empty')];
    expect(await send()).toMatchObject({ outcome: 'unclear', cause: 'rateLimited' });
  });

  test.each(['woovi/app-id-invalid', 'woovi/scope-missing'])('%s is not sent, and is named', async (name) => {
    outside.answers = [saying(name)];
    expect(await send()).toMatchObject({ outcome: 'notSent' });
    expect(warned).toEqual(['the provider refused our AppID: check it and its permissions (scopes)']);
  });

  test.each([
    [{ status: 400, headers: {}, text: '{"error":"Something new"}' }, 'unknownRefusal'],
    [{ status: 422, headers: {}, text: '{"errorCode":"INVALID_PIX_KEY","error":"x"}' }, 'unknownRefusal'],
    [{ status: 503, headers: {}, text: '<html>' }, 'server'],
  ])('%o is unclear', async (answer, cause) => {
    outside.answers = [answer];
    expect(await send()).toMatchObject({ outcome: 'unclear', cause });
  });
});

describe('the second step of a payout', () => {
  const confirm = (providerId = 'payment1', amountCents = 100) =>
    create().confirmPayout?.({ providerId, providerRef: null, amountCents });
  const created = saying('woovi/payment-answer-created');

  test('approves it under its own id, and it is on its way', async () => {
    outside.answers = [saying('woovi/payment-approve-answer')];
    expect(await confirm()).toMatchObject({ outcome: 'accepted', report: { status: 'pending' } });
    const { body } = foreign('woovi/payment-approve-request') as { body: Record<string, unknown> };
    outside.answers = [saying('woovi/payment-approve-answer')];
    await confirm(String(body.correlationID));
    expect(outside.calls.map(({ method, url }) => `${method} ${url}`)).toEqual(
      Array(2).fill('POST https://api.woovi.com/api/v1/payment/approve'),
    );
    expect(JSON.parse(String(outside.calls[1]?.body))).toEqual(body);
  });

  test('without money leaves it prepared, and operators read so', async () => {
    outside.answers = [saying('woovi/payment-approve-without-balance'), created];
    expect(await confirm()).toMatchObject({ outcome: 'accepted', report: { status: 'prepared' } });
    expect(warned).toEqual(['a payout waits for money: the balance at the provider is too small']);
    for (const look of [notFound, { status: 500, headers: {}, text: '{}' }]) {
      outside.answers = [saying('woovi/payment-approve-without-balance'), look];
      expect(await confirm()).toMatchObject({
        ...{ outcome: 'unclear', cause: 'unknownRefusal', words: expect.anything() },
      });
    }
  });

  test.each([
    [saying('woovi/scope-missing'), { outcome: 'notSent' }],
    [{ status: 400, headers: {}, text: '{"error":"Payment cannot be approved"}' }, { outcome: 'unclear' }],
    [
      { status: 503, headers: {}, text: '<html>' },
      { outcome: 'unclear', cause: 'server' },
    ],
    // It is another one's.
    [saying('woovi/payment-answer'), { outcome: 'unclear' }],
  ])('%o decides nothing', async (answer, expected) => {
    outside.answers = [answer];
    expect(await confirm()).toMatchObject(expected);
  });

  test('for another amount is not believed', async () => {
    outside.answers = [saying('woovi/payment-approve-answer')];
    expect(await confirm('payment1', 200)).toMatchObject({ outcome: 'unclear' });
  });
});

describe('what is read', () => {
  test('a confirmed payout', async () => {
    outside.answers = [saying('woovi/payment-confirmed')];
    expect(await create().queryPayout('payment-1')).toMatchObject({
      outcome: 'found',
      report: { status: 'completed', endToEnd: 'E...', settledAt: Date.parse('2025-01-01T00:00:00.000Z') },
    });
  });

  test('DENIED, of which no document says what it means, ends nothing', async () => {
    const confirmed = foreign('woovi/payment-confirmed').body as { payment: object };
    const denied = { payment: { ...confirmed.payment, status: 'DENIED' } };
    outside.answers = [{ status: 200, headers: {}, text: JSON.stringify(denied) }];
    expect(await create().queryPayout('payment-1')).toMatchObject({ report: { status: 'pending' } });
  });

  test.each(['Company not found', 'Invalid Authorization header', 'Account not found'])(
    '"%s" says nothing of the payout',
    async (error) => {
      outside.answers = [{ status: 400, headers: {}, text: JSON.stringify({ error }) }];
      expect(await create().queryPayout('payment-1')).toMatchObject({ outcome: 'unclear' });
    },
  );

  test('a list of payouts', async () => {
    outside.answers = [saying('woovi/payment-list')];
    const listed = await create().listPayouts({ fromMs: 0, toMs: now });
    expect(listed).toMatchObject({
      complete: true,
      reports: [{ providerId: 'payment1', status: 'completed' }],
    });
  });

  test('a created charge', async () => {
    outside.answers = [saying('woovi/charge-answer')];
    const txid = 'c782e0ac-833d-4a89-9e73-9b60b2b41d3a';
    const outcome = await create().createCharge({
      txid,
      amountCents: 100,
      payerName: 'João',
      description: '',
      expirySeconds: 60,
    });
    expect(outcome).toMatchObject({
      outcome: 'accepted',
      report: { txid, amountCents: 100, expiresAt: Date.parse('2023-02-25T20:09:06.141Z') },
    });
    // Woovi takes no shorter life than five minutes.
    expect(JSON.parse(String(outside.calls[0]?.body))).toMatchObject({ expiresIn: 300 });
    expect(JSON.parse(String(outside.calls[0]?.body))).not.toHaveProperty('customer');
  });

  test('a paid charge without its Pix is no answer', async () => {
    const { charge } = foreign('woovi/delivery-charge-completed').body as {
      charge: { correlationID: string };
    };
    const empty = { status: 200, headers: {}, text: '{"transactions":[],"pageInfo":{"hasNextPage":false}}' };
    outside.answers = [{ status: 200, headers: {}, text: JSON.stringify({ charge }) }, empty];
    expect(await create().queryCharge(charge.correlationID)).toMatchObject({
      outcome: 'unclear',
      cause: 'unreadable',
    });
  });

  test('the balance, of the default account or of one', async () => {
    outside.answers = [saying('woovi/account-list')];
    expect(await create().balance()).toMatchObject({
      availableCents: 129_430,
      totalCents: 129_430,
      blocked: null,
    });
  });

  test('whose Pix a transaction is', async () => {
    outside.answers = [saying('woovi/transaction')];
    expect(await create().findPix('E18236120202012032010s0133872GZA')).toEqual({
      outcome: 'found',
      report: { direction: 'received', providerId: '9134e286-6f71-427a-bf00-241681624586' },
    });
  });
});

describe('a delivery', () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const keysAnswer = (...keys: string[]): NetAnswer => ({
    status: 200,
    headers: {},
    text: JSON.stringify({
      public_keys: keys.map((key) => ({ key_identifier: 'k', is_current: true, key })),
    }),
  });
  const { public_keys: [{ key: realKey = '' } = {}] = [] } = foreign('woovi/public-keys').body as {
    public_keys: { key: string }[];
  };
  /** The list names no document: it stands in the answer for one account. */
  const account = [saying('woovi/account-list'), saying('woovi/account')];
  const signed = (body: unknown) => {
    const rawBody = Buffer.from(JSON.stringify(body));
    const signature = sign('RSA-SHA256', rawBody, privateKey).toString('base64');
    return { headers: { 'x-webhook-signature': signature }, rawBody, receivedAt: now };
  };

  test.each<[string, Record<string, unknown>]>([
    [
      'woovi/delivery-charge-completed',
      {
        received: [
          {
            txid: '3f2a2690-8224-4aae-a1ba-ed26d4d61f81',
            amountCents: 1,
            endToEnd: 'Efa8df7c628cf43d2af424696ea0c6444',
          },
        ],
      },
    ],
    ['woovi/delivery-transaction-received', { received: [{ txid: null, amountCents: 200 }] }],
    ['woovi/delivery-movement-confirmed', { payouts: [{ status: 'completed', amountCents: 30 }] }],
    ['woovi/delivery-movement-failed', { payouts: [{ status: 'refused', reason: 'provider_refused' }] }],
    ['woovi/delivery-movement-failed-code', { payouts: [{ status: 'refused', reason: 'provider_refused' }] }],
    [
      'woovi/delivery-movement-removed',
      { received: [], payouts: [], removed: ['222a1750-de17-406c-bd0c-25af9a5a5d08'] },
    ],
    [
      'woovi/delivery-refund-received',
      {
        returned: [
          {
            endToEnd: 'E31680151202508141543GVL7OCT44VU',
            back: { rtrId: 'D548114172025081421318FbVaF2LTWr', amountCents: 10_001, status: 'settled' },
          },
        ],
      },
    ],
    ['woovi/delivery-refund-sent', { returned: [{ back: { amountCents: 10_001 } }] }],
    [
      'woovi/delivery-refund-sent-rejected',
      {
        returned: [
          {
            endToEnd: 'E31680151202508221630EG1PB3VBC54',
            back: { rtrId: 'D54811417202508221647qjsBFT3ArbQ', amountCents: 10_001, status: 'failed' },
          },
        ],
      },
    ],
    ['woovi/delivery-refund-received-rejected', { received: [], payouts: [] }],
  ])('%s', async (name, expected) => {
    outside.answers = [keysAnswer(realKey, pem), ...account];
    expect(await create().parseWebhook(signed(foreign(name).body))).toMatchObject({
      authentic: true,
      // Each sample is of another company, or names none.
      addressed: false,
      ...expected,
    });
  });

  const own = { accountId: '6290ccfd42831958a405debc', taxID: '123.456.789-01' };
  test.each<[string, object, boolean]>([
    ['names our account', { account: { accountId: own.accountId } }, true],
    ['names our account by its other name', { account: { id: own.accountId } }, true],
    ['names our company', { company: { id: 'x', taxID: own.taxID }, account: {} }, true],
    [
      'names our company and the sandbox',
      { company: { taxID: own.taxID }, account: { environment: 'TESTING' } },
      false,
    ],
    [
      'names our company and another account',
      { company: { taxID: own.taxID }, account: { id: 'other' } },
      false,
    ],
    [
      'names our account by its number, with an id that is none of ours',
      { company: { id: 'x' }, account: { id: 'other', branch: '1', account: '000000000000123456' } },
      true,
    ],
    [
      'names our company and the number of another account',
      { company: { taxID: own.taxID }, account: { branch: '0001', account: '00000000000000000221' } },
      false,
    ],
    ['names another company', { company: { taxID: '11222333000181' }, account: {} }, false],
    ['names no company', { company: undefined, account: undefined }, false],
  ])('that Woovi signed and that %s is believed only where it is for us', async (_, named, addressed) => {
    outside.answers = [keysAnswer(pem), ...account];
    const body = { ...(foreign('woovi/delivery-charge-completed').body as object), ...named };
    const provider = create();
    const delivery = signed(body);
    expect(await provider.parseWebhook(delivery)).toMatchObject({ authentic: true, addressed });
    expect(provider.readWebhook(delivery.rawBody, now)).toMatchObject({ addressed });
  });

  test('of a confirmed payout is believed where it names our account as the one that paid', async () => {
    outside.answers = [keysAnswer(pem), ...account];
    const provider = create();
    const body = foreign('woovi/delivery-movement-confirmed').body as object;
    const { accountId } = own;
    expect(await provider.parseWebhook(signed({ ...body, account: { accountId } }))).toMatchObject({
      addressed: true,
      payouts: [{ status: 'completed', amountCents: 30 }],
    });
    expect(await provider.parseWebhook(signed(body))).toMatchObject({ addressed: false });
  });

  test('that comes before Woovi has said which account it is, is not believed', async () => {
    outside.answers = [keysAnswer(pem), { status: 403, headers: {}, text: '{"error":"no scope"}' }];
    const body = { ...(foreign('woovi/delivery-charge-completed').body as object), account: own };
    expect(await create().parseWebhook(signed(body))).toMatchObject({ authentic: true, addressed: false });
  });

  test('at registration names no money, and needs no signature', async () => {
    const rawBody = Buffer.from(JSON.stringify(foreign('woovi/delivery-test').body));
    const content = await create().parseWebhook({ headers: {}, rawBody, receivedAt: now });
    expect(content).toEqual({ authentic: true, addressed: true, received: [], payouts: [] });
  });

  test('that calls itself a test and names money is none', async () => {
    const forged = {
      ...(foreign('woovi/delivery-charge-completed').body as object),
      evento: 'teste_webhook',
    };
    const rawBody = Buffer.from(JSON.stringify(forged));
    expect(await create().parseWebhook({ headers: {}, rawBody, receivedAt: now })).toMatchObject({
      authentic: false,
    });
  });

  test('under a new key asks for the keys again, and a flood of forged ones does not', async () => {
    const provider = create();
    const delivery = signed(foreign('woovi/delivery-movement-confirmed').body);
    outside.answers = [keysAnswer(realKey)];
    expect(await provider.parseWebhook(delivery)).toMatchObject({ authentic: false });
    expect(await provider.parseWebhook(delivery)).toMatchObject({ authentic: false });
    expect(outside.calls).toHaveLength(1);
    now += 11_000;
    outside.answers = [keysAnswer(realKey, pem), ...account];
    expect(await provider.parseWebhook(delivery)).toMatchObject({ authentic: true });
  });

  test('keys that cannot be read again serve on', async () => {
    const provider = create();
    const delivery = signed(foreign('woovi/delivery-movement-confirmed').body);
    outside.answers = [keysAnswer(pem), ...account];
    await provider.parseWebhook(delivery);
    now += 2 * 3_600_000;
    outside.answers = [{ status: 503, headers: {}, text: '' }, ...account];
    expect(await provider.parseWebhook(delivery)).toMatchObject({ authentic: true });
  });
});
