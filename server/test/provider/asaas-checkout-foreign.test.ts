import { beforeEach, describe, expect, test } from 'vitest';
import { foreign } from '../../../simulator/test/foreign.ts';
import type { Log } from '../../src/ground/log.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Net, NetAnswer, NetRequest } from '../../src/ports/net.ts';
import { asaasCheckoutAdapter, asaasCheckoutEvents } from '../../src/provider/asaas/asaas-checkout.ts';
import type { CheckoutName, NamedCardPayer } from '../../src/provider/cards.ts';

/** The adapter of Asaas Checkout reads what Asaas documents: the bodies come from outside (`contract/provider-bodies/asaas`). */

// biome-ignore lint/suspicious/noExplicitAny: bodies of every shape are changed.
type Json = any;

let answers: NetAnswer[] = [];
let calls: NetRequest[] = [];
let now = Date.parse('2025-10-20T05:00:00Z');
const net = {
  async request(request: NetRequest) {
    calls.push(request);
    const answer = answers.shift();
    if (!answer) throw new Error(`no answer for ${request.method} ${request.url}`);
    return answer;
  },
} as Net;
const clock: Clock = { now: () => now, machineMs: () => now, monotonicMs: () => now, sleep: async () => {} };

const said = (body: unknown, status = 200): NetAnswer => ({
  ...{ status, headers: {} },
  text: body === null ? '' : JSON.stringify(body),
});
const saying = (name: string): NetAnswer => {
  const { status = 200, body } = foreign(`asaas/${name}`);
  return said(body, status);
};
const listOf = (...data: unknown[]) =>
  said({ object: 'list', hasMore: false, totalCount: data.length, limit: 100, offset: 0, data });
const payment = (fields: Json = {}): Json => ({
  ...(foreign('asaas/card-payment-list').body as Json).data[0],
  ...fields,
});
const chargeback = (fields: Json = {}): Json => ({
  ...(foreign('asaas/chargeback').body as Json),
  ...fields,
});

const webhookToken = 'w'.repeat(32);
const credentials = { apiKey: '$aact_prod_key', email: 'operador@vintem.example', webhookToken };
const create = (given: Record<string, string> = credentials, test = false) =>
  asaasCheckoutAdapter.create(
    {
      ...{ name: 'cartoes', test, simulated: false, url: 'https://api.asaas.com/v3' },
      ...{ credentials: given, certificate: null },
    },
    { net, clock, log: {} as Log },
  );
const bodyOf = (call: NetRequest | undefined) => JSON.parse(String(call?.body));

const providerId = '123e4567e89b12d3a456426614174000';
const ref = '3e5429a0-8c9c-4d97-b184-1b34b2c115c0';
const madeAt = Date.parse('2025-10-20T04:30:00Z');
const name = (fields: Partial<CheckoutName> = {}): CheckoutName => ({
  ...{ providerId, providerRef: ref, approval: null, createdAt: madeAt, amountCents: 130_000, minutes: 60 },
  ...fields,
});
const query = (fields: Partial<CheckoutName> = {}) => create().cards?.query(name(fields));
/** The page by its filter, and nothing under our reference. */
const found = (item: Json) => {
  answers = [listOf(item), listOf()];
  return query();
};

beforeEach(() => {
  answers = [];
  calls = [];
  now = Date.parse('2025-10-20T05:00:00Z');
});

describe('a page of Asaas Checkout', () => {
  const back = {
    success: 'https://vintem.example/pay/1/back?how=success',
    cancel: 'https://vintem.example/pay/1/back?how=cancel',
    expired: 'https://vintem.example/pay/1/back?how=expired',
  };
  const made = (payer: NamedCardPayer | null = null) =>
    create().cards?.create({
      ...{ providerId, amountCents: 130_000, description: 'Pedido 1042', minutes: 60, createdAt: madeAt },
      ...{ back, payer },
    });

  test('is asked for with one item of the amount, for cards alone and at once, and has the address that Asaas documents', async () => {
    answers = [saying('checkout-answer')];
    expect(await made()).toMatchObject({
      outcome: 'accepted',
      report: {
        ...{ providerRef: ref, amountCents: 130_000, currency: 'BRL', page: 'open', approval: null },
        url: `https://www.asaas.com/checkoutSession/show?id=${ref}`,
        expiresAt: madeAt + 60 * 60_000,
      },
    });
    const [call] = calls;
    expect(call?.url).toBe('https://api.asaas.com/v3/checkouts');
    expect(call?.headers).toMatchObject({ access_token: '$aact_prod_key' });
    expect(bodyOf(call)).toEqual(foreign('asaas/checkout-request').body);
  });

  test('has the members that were given of its payer and no other, and is asked for without them where Asaas refuses them', async () => {
    answers = [saying('error'), saying('checkout-answer')];
    const payer = { name: 'Ana Paula', document: '24971563792', email: 'ana@email.com' };
    expect(await made({ ...payer, phone: '+5547988887777' })).toMatchObject({ outcome: 'accepted' });
    const { body } = foreign('asaas/checkout-request');
    const customerData = {
      name: 'Ana Paula',
      cpfCnpj: '24971563792',
      email: 'ana@email.com',
      phone: '47988887777',
    };
    expect(calls.map(bodyOf)).toEqual([{ ...(body as Json), customerData }, body]);
    answers = [saying('checkout-answer')];
    await made({ name: 'Ana Paula', phone: '+12025550123' });
    expect(bodyOf(calls[2])).toEqual({ ...(body as Json), customerData: { name: 'Ana Paula' } });
  });

  test.each([
    ['another amount', { items: [{ name: 'x', quantity: 1, value: 1 }] }],
    ['another reference', { externalReference: 'other' }],
    ['other means of payment', { billingTypes: ['PIX', 'CREDIT_CARD'] }],
    ['a page that is not open', { status: 'EXPIRED' }],
    ['no name', { id: null }],
  ])('is unclear where the answer has %s', async (_what, fields) => {
    answers = [said({ ...(foreign('asaas/checkout-answer').body as Json), ...fields })];
    expect(await made()).toMatchObject({ outcome: 'unclear' });
  });

  test('is approved by a payment that names it, with amount, cost, day of credit and card, and without its token', async () => {
    answers = [saying('card-payment-list'), listOf()];
    expect(await query()).toEqual({
      outcome: 'found',
      report: {
        ...{ providerId, providerRef: ref, amountCents: 130_000, currency: 'BRL', page: 'closed' },
        ...{ url: null, expiresAt: null, attempt: null },
        approval: {
          ...{ reference: 'pay_153tzg41ea6pa9j1', amountCents: 130_000, currency: 'BRL', installments: 1 },
          ...{ at: madeAt, brand: 'mastercard', last4: '4771', costCents: 3_936, released: false },
          ...{ releaseAt: Date.parse('2025-11-21T03:00:00Z'), refunds: [], chargebacks: [] },
        },
      },
    });
    expect(calls.map(({ url }) => url)).toEqual([
      `https://api.asaas.com/v3/payments?checkoutSession=${ref}&offset=0&limit=100`,
      `https://api.asaas.com/v3/payments?externalReference=${providerId}&offset=0&limit=100`,
    ]);
  });

  test('is released by the status of its payment alone, and not by a day of credit that is over', async () => {
    now = Date.parse('2026-01-20T05:00:00Z');
    answers = [said(payment()), listOf(), listOf()];
    const approval = 'pay_153tzg41ea6pa9j1';
    expect(await query({ approval })).toMatchObject({ report: { approval: { released: false } } });
    answers = [said(payment({ status: 'RECEIVED', paymentDate: '2025-11-21' })), listOf(), listOf()];
    expect(await query({ approval })).toMatchObject({ report: { approval: { released: true } } });
    expect(calls[0]?.url).toBe(`https://api.asaas.com/v3/payments/${approval}`);
  });

  test('is released by an anticipation that was credited, and not by one that was asked for or is another payment’s', async () => {
    const approval = 'pay_153tzg41ea6pa9j1';
    const anticipated = (fields: Json) => {
      const [one] = (foreign('asaas/anticipation-list').body as Json).data;
      answers = [said(payment({ anticipated: true })), listOf({ ...one, ...fields }), listOf(), listOf()];
      return query({ approval });
    };
    expect(await anticipated({})).toMatchObject({ report: { approval: { released: true } } });
    expect(await anticipated({ status: 'PENDING' })).toMatchObject({
      report: { approval: { released: false } },
    });
    expect(await anticipated({ payment: 'pay_other' })).toMatchObject({ outcome: 'unclear' });
  });

  test.each([
    ['paid by another means', { billingType: 'PIX' }],
    ['marked as paid in cash', { status: 'RECEIVED_IN_CASH' }],
    ['in a status that is new', { status: 'SOMETHING_NEW' }],
    ['without its net value', { netValue: null }],
    ['refunded whole, and no refund says how', { status: 'REFUNDED' }],
    ['with a refund that cannot be read', { refunds: [{ status: 'DONE', value: 'x' }] }],
  ])(
    'is unclear and is kept for a person, without the token of its card, where its payment is %s',
    async (_what, fields) => {
      const outcome = await found(payment({ creditCard: { creditCardToken: 'a-token' }, ...fields }));
      expect(outcome).toMatchObject({ outcome: 'unclear', unread: { providerId } });
      expect(JSON.stringify(outcome)).not.toMatch(/a-token|creditCardToken/);
    },
  );

  test('whose known payment is not approved any more is kept for a person without the token of its card', async () => {
    const creditCard = { creditCardNumber: '4771', creditCardToken: 'a-token' };
    for (const fields of [{ status: 'PENDING' }, { billingType: 'PIX' }, { status: 'SOMETHING_NEW' }]) {
      answers = [said(payment({ creditCard, ...fields }))];
      const outcome = await query({ approval: 'pay_153tzg41ea6pa9j1' });
      expect(outcome).toMatchObject({ outcome: 'unclear', unread: { providerId } });
      expect(JSON.stringify(outcome)).not.toMatch(/a-token|creditCardToken/);
    }
  });

  test('with two approved payments is unclear, and one in instalments is reported as what it is', async () => {
    answers = [listOf(payment(), payment({ id: 'pay_2' })), listOf()];
    expect(await query()).toMatchObject({ outcome: 'unclear', cause: 'unreadable' });
    const part = { installment: 'plan-1', value: 650, netValue: 630.32 };
    answers = [listOf(payment(part), payment({ ...part, id: 'pay_2' })), listOf()];
    expect(await query()).toMatchObject({
      report: { approval: { reference: 'plan-1', installments: 2, amountCents: 130_000 } },
    });
  });

  test('that was paid again after its payment was known reports the second as well, and an empty or unfiltered list says nothing', async () => {
    const approval = 'pay_153tzg41ea6pa9j1';
    const second = payment({ id: 'pay_2' });
    const others = async (...lists: NetAnswer[]) => {
      answers = [said(payment()), ...lists];
      const outcome = await query({ approval });
      return outcome?.outcome === 'found'
        ? { first: outcome.report.approval?.reference, others: outcome.report.others }
        : outcome;
    };
    const both = { first: approval, others: [{ reference: 'pay_2', amountCents: 130_000 }] };
    const alone = { first: approval, others: undefined };
    expect(await others(listOf(payment(), second), listOf())).toEqual(both);
    expect(await others(listOf(second), listOf())).toEqual(both);
    expect(await others(listOf(payment(), payment({ id: 'pay_2', status: 'PENDING' })), listOf())).toEqual(
      alone,
    );
    expect(await others(listOf(), listOf())).toEqual(alone);
    expect(await others(listOf(payment(), payment({ id: 'pay_3', checkoutSession: 'other' })))).toEqual(
      alone,
    );
    expect(await others(said(null, 500))).toMatchObject({ outcome: 'unclear', cause: 'server' });
    const odd = payment({ id: 'pay_2', status: 'SOMETHING_NEW' });
    expect(await others(listOf(payment(), odd))).toMatchObject({
      ...{ outcome: 'unclear', unread: { name: providerId, providerId } },
    });
  });

  test('that was paid beside another page of the same request is approved by its own payment, and the other one is reported with it', async () => {
    const own = payment({ externalReference: providerId });
    const other = payment({ id: 'pay_2', checkoutSession: 'other', externalReference: providerId });
    answers = [listOf(own), listOf(own, other)];
    expect(await query()).toMatchObject({
      outcome: 'found',
      report: {
        ...{ providerRef: ref, approval: { reference: own.id } },
        others: [{ reference: 'pay_2', amountCents: 130_000 }],
      },
    });
    // Of two that are not the page's own, none is the payment.
    answers = [listOf(), listOf(other, { ...other, id: 'pay_3', checkoutSession: 'third' })];
    expect(await query()).toMatchObject({ outcome: 'unclear', cause: 'unreadable' });
  });

  test('is not read out of a list that has payments of other pages', async () => {
    answers = [listOf(payment(), payment({ id: 'pay_2', checkoutSession: 'other' }))];
    expect(await query()).toMatchObject({ outcome: 'unclear', detail: 'the list was not filtered' });
  });

  test('that is known by its approval is that payment, and no other', async () => {
    answers = [said(payment({ checkoutSession: 'other' }))];
    expect(await query({ approval: 'pay_153tzg41ea6pa9j1' })).toMatchObject({ outcome: 'unclear' });
    answers = [said(null, 404)];
    expect(await query({ approval: 'pay_153tzg41ea6pa9j1' })).toEqual({ outcome: 'notFound' });
  });

  test('is cancelled when its time is over, and closed by the answer that it was open until then', async () => {
    now = madeAt + 60 * 60_000;
    answers = [listOf(), listOf(), saying('checkout-cancelled')];
    expect(await query()).toMatchObject({ outcome: 'found', report: { page: 'closed', url: null } });
    expect(calls.at(-1)?.url).toBe(`https://api.asaas.com/v3/checkouts/${ref}/cancel`);
  });

  test('that Asaas does not cancel is closed after its own time alone, when the whole list of its days has no payment of it', async () => {
    const refused = said({ errors: [{ code: 'invalid_action', description: 'x' }] }, 400);
    now = madeAt + 60 * 60_000;
    answers = [listOf(), listOf(), refused, listOf(), listOf()];
    expect(await query()).toMatchObject({ outcome: 'unclear' });
    now = madeAt + 91 * 60_000;
    answers = [
      listOf(),
      listOf(),
      refused,
      listOf(),
      listOf(),
      listOf(payment({ checkoutSession: 'other' })),
    ];
    expect(await query()).toMatchObject({ outcome: 'found', report: { page: 'closed' } });
    expect(calls.at(-1)?.url).toContain('dateCreated[ge]=2025-10-20&dateCreated[le]=2025-10-20');
    answers = [listOf(), listOf(), refused, listOf(), listOf(), listOf(payment())];
    expect(await query()).toMatchObject({ report: { approval: { amountCents: 130_000 } } });
  });

  test('that Asaas does not cancel is looked for on its own days alone, each in a list of its own, however late that is', async () => {
    const refused = said({ errors: [{ code: 'invalid_action', description: 'x' }] }, 400);
    now = madeAt + 90 * 86_400_000;
    for (const [minutes, days] of [
      [60, ['2025-10-20']],
      [1440, ['2025-10-20', '2025-10-21']],
    ] as const) {
      calls = [];
      const lists = days.map(() => listOf(payment({ checkoutSession: 'other' })));
      answers = [listOf(), listOf(), refused, listOf(), listOf(), ...lists];
      expect(await query({ minutes })).toMatchObject({ report: { page: 'closed' } });
      expect(calls.slice(5).map(({ url }) => /dateCreated.*?&offset/.exec(url)?.[0])).toEqual(
        days.map((day) => `dateCreated[ge]=${day}&dateCreated[le]=${day}&offset`),
      );
    }
  });

  test('that waits for a check of its risk is not closed by its time', async () => {
    now = madeAt + 90 * 60_000;
    answers = [listOf(payment({ status: 'AWAITING_RISK_ANALYSIS' })), listOf()];
    expect(await query()).toMatchObject({ report: { page: 'open', attempt: { status: 'processing' } } });
  });
});

describe('a chargeback at Asaas', () => {
  const approval = 'pay_153tzg41ea6pa9j1';
  const taken = async (status: string, fields: Json) => {
    answers = [said(payment({ status, chargeback: chargeback(fields) })), listOf(), listOf()];
    const outcome = await query({ approval });
    return outcome?.outcome === 'found' ? outcome.report.approval?.chargebacks : outcome;
  };

  test('is taken with its opening, and given back with the status of its payment from before, not with the won dispute', async () => {
    expect(await taken('CHARGEBACK_REQUESTED', {})).toMatchObject([
      {
        ...{ outCents: 130_000, backCents: 0, costCents: 0 },
        report: { status: 'open', reason: 'fraud', deadlineAt: Date.parse('2025-11-11T02:59:59Z') },
      },
    ]);
    expect(await taken('AWAITING_CHARGEBACK_REVERSAL', { status: 'IN_DISPUTE' })).toMatchObject([
      { backCents: 0, report: { status: 'rejected' } },
    ]);
    expect(await taken('CONFIRMED', { status: 'REVERSED' })).toMatchObject([
      { backCents: 130_000, report: { status: 'rejected' } },
    ]);
    expect(await taken('REFUNDED', { status: 'DONE' })).toMatchObject([
      { backCents: 0, report: { status: 'accepted' } },
    ]);
  });

  test('is asked for where the payment does not carry it, and one that cannot be read leaves the payment unclear', async () => {
    answers = [said(payment({ status: 'CHARGEBACK_REQUESTED' })), saying('chargeback'), listOf(), listOf()];
    expect(await query({ approval })).toMatchObject({
      report: { approval: { chargebacks: [{ outCents: 130_000 }] } },
    });
    expect(calls[1]?.url).toBe(`https://api.asaas.com/v3/payments/${approval}/chargeback`);
    expect(await taken('CHARGEBACK_REQUESTED', { status: 'NEW' })).toMatchObject({ outcome: 'unclear' });
  });

  test('is listed by the day of its opening', async () => {
    answers = [saying('chargeback-list')];
    const window = { fromMs: Date.parse('2025-11-01T12:00:00Z'), toMs: Date.parse('2025-11-05T12:00:00Z') };
    expect(await create().disputes?.list(window)).toMatchObject({
      ...{ outcome: 'listed', complete: true, unread: [] },
      reports: [{ endToEnd: approval, status: 'open', debitedCents: 130_000 }],
    });
    expect(calls[0]?.url).toContain(
      '/chargebacks/?originDisputeDate[ge]=2025-11-01&originDisputeDate[le]=2025-11-05',
    );
  });
});

describe('a refund at Asaas Checkout', () => {
  const asked = {
    ...{ endToEnd: 'pay_153tzg41ea6pa9j1', providerId: 'b'.repeat(32), amountCents: 10_000 },
    description: 'volta',
  };

  test('is looked for, and made with our id at the end of its description', async () => {
    const [refund] = (foreign('asaas/card-refund-list').body as Json).data;
    answers = [listOf(), said(payment({ refunds: [refund] }))];
    expect(await create().sendRefund(asked)).toMatchObject({
      ...{ outcome: 'accepted', report: { status: 'completed', amountCents: 10_000 } },
    });
    expect(bodyOf(calls[1])).toEqual({ value: 100, description: `volta ${'b'.repeat(32)}` });
    answers = [saying('card-refund-list')];
    expect(await create().sendRefund({ ...asked, repeatOf: now })).toMatchObject({ outcome: 'accepted' });
    expect(calls).toHaveLength(3);
  });

  test('that may have gone out and is not there is not made again', async () => {
    answers = [listOf()];
    expect(await create().sendRefund({ ...asked, repeatOf: now - 1 })).toMatchObject({ outcome: 'unclear' });
    expect(calls).toHaveLength(1);
  });

  test('is refused where Asaas refuses it and no refund is there afterwards', async () => {
    const refused = said({ errors: [{ code: 'invalid_action', description: 'x' }] }, 400);
    answers = [listOf(), refused, listOf()];
    expect(await create().sendRefund(asked)).toMatchObject({ outcome: 'refused' });
    answers = [listOf(), refused, saying('card-refund-list')];
    expect(await create().sendRefund(asked)).toMatchObject({ outcome: 'accepted' });
    answers = [listOf(), refused, said(null, 500)];
    expect(await create().sendRefund(asked)).toMatchObject({ outcome: 'unclear', refused: true });
    answers = [listOf(), said(null, 500)];
    expect(await create().sendRefund(asked)).toMatchObject({ outcome: 'unclear', cause: 'server' });
    answers = [said(null, 404)];
    expect(await create().queryRefund(asked.endToEnd, asked.providerId)).toMatchObject({
      outcome: 'unclear',
    });
  });
});

describe('a delivery of Asaas Checkout', () => {
  const delivery = (named: string) => ({
    headers: { 'asaas-access-token': webhookToken },
    rawBody: Buffer.from(JSON.stringify(foreign(`asaas/${named}`).body)),
    receivedAt: now,
  });

  test.each(['card-delivery-payment', 'checkout-delivery'])('names its page: %s', async (named) => {
    expect(await create().parseWebhook(delivery(named))).toMatchObject({
      ...{ authentic: true, addressed: true, received: [], named: [], namedAs: [ref] },
    });
    expect(await create().findPix(ref)).toEqual({
      ...{ outcome: 'found', report: { direction: 'received', providerId: null, page: ref } },
    });
    expect(calls).toEqual([]);
  });

  test('is authentic by its token, and for us only when it names a page or an id of ours', async () => {
    const foreignOne = delivery('delivery-payment');
    const body = foreign('asaas/delivery-payment').body as Json;
    const rawBody = (fields: Json) =>
      Buffer.from(JSON.stringify({ ...body, payment: { ...body.payment, ...fields } }));
    expect(
      await create().parseWebhook({ ...foreignOne, rawBody: rawBody({ externalReference: 'loja-1' }) }),
    ).toMatchObject({ authentic: true, addressed: false, named: [] });
    expect(
      await create().parseWebhook({ ...foreignOne, rawBody: rawBody({ externalReference: providerId }) }),
    ).toMatchObject({ authentic: true, addressed: true, named: [providerId] });
    for (const headers of [{}, { 'asaas-access-token': `${webhookToken}x` }])
      expect(await create().parseWebhook({ ...foreignOne, headers })).toMatchObject({ authentic: false });
  });

  test('reports money on its page, to be kept without the token where the books do not know the page, and none where nothing was paid', () => {
    const paidIn = (status: string) => {
      const body = foreign('asaas/card-delivery-payment').body as Json;
      const rawBody = Buffer.from(JSON.stringify({ ...body, payment: { ...body.payment, status } }));
      return create().readWebhook(rawBody, now)?.paidPages;
    };
    expect(paidIn('CONFIRMED')).toMatchObject([
      { page: ref, providerId: null, item: { kind: 'charge', name: expect.stringMatching(/^pay_/) } },
    ]);
    expect(JSON.stringify(paidIn('CONFIRMED'))).not.toContain('creditCardToken');
    expect(paidIn('SOMETHING_NEW')).toHaveLength(1);
    for (const status of ['PENDING', 'OVERDUE', 'AWAITING_RISK_ANALYSIS']) expect(paidIn(status)).toEqual([]);
    const { rawBody } = delivery('checkout-delivery');
    expect(create().readWebhook(rawBody, now)?.paidPages).toEqual([]);
  });

  test('reports a refused attempt under the id of its event, and nothing where it has none or reports something else', () => {
    const body = foreign('asaas/card-delivery-payment').body as Json;
    const refusedIn = (fields: Json, paymentFields: Json = {}) => {
      const payment = { ...body.payment, status: 'PENDING', ...paymentFields };
      const event = 'PAYMENT_CREDIT_CARD_CAPTURE_REFUSED';
      const rawBody = Buffer.from(JSON.stringify({ ...body, event, payment, ...fields }));
      return create().readWebhook(rawBody, now)?.refusedAttempts;
    };
    const one = { page: ref, providerId: null, attempt: body.id };
    expect(refusedIn({})).toEqual([one]);
    expect(refusedIn({}, { externalReference: providerId })).toEqual([{ ...one, providerId }]);
    for (const id of [undefined, null, '', 7, 'x'.repeat(101)]) expect(refusedIn({ id })).toEqual([]);
    expect(refusedIn({}, { checkoutSession: null })).toEqual([]);
    expect(refusedIn({ event: 'PAYMENT_CONFIRMED' })).toEqual([]);
    expect(refusedIn({ event: 'PAYMENT_AWAITING_RISK_ANALYSIS' })).toEqual([]);
  });

  test('says that the API key ends, for a person and about no payment', async () => {
    expect(await create().parseWebhook(delivery('delivery-key'))).toMatchObject({
      ...{ authentic: true, received: [], payouts: [], unread: [{ kind: 'key' }] },
    });
  });

  test('is stored without the token of the card, and reads the same', () => {
    const { rawBody } = delivery('card-delivery-payment');
    const kept = create().redactDelivery?.(rawBody) ?? rawBody;
    expect(rawBody.toString()).toContain('0760c074');
    expect(kept.toString()).not.toContain('0760c074');
    expect(create().readWebhook(kept, now)).toEqual(create().readWebhook(rawBody, now));
    expect(create().redactDelivery?.(Buffer.from('{'))?.toString()).toBe('{');
  });

  test('is asked for with its events, and only at our address', async () => {
    answers = [listOf(), said({})];
    await create().registerWebhook('https://vintem.example/hooks/providers/cartoes/secret');
    expect(bodyOf(calls[1])).toMatchObject({
      ...{ authToken: webhookToken, events: asaasCheckoutEvents, interrupted: false },
    });
  });
});

describe('the account of Asaas Checkout', () => {
  test('has its free balance and what of confirmed payments is still to come', async () => {
    answers = [said({ balance: 10.5 }), saying('payment-statistics'), said({ balance: 10.5 })];
    expect(await create().balance()).toEqual({ availableCents: 1_050, totalCents: 127_114, blocked: null });
    answers = [said({ balance: 10.5 }), saying('payment-statistics'), said({ balance: 1_271.14 })];
    await expect(create().balance()).rejects.toThrow(/moved/);
  });

  test('has fees of its own as costs, and not those of its payments, which stand in their net value', async () => {
    const line = { object: 'financialTransaction', id: 'fin_1', value: -5, date: '2025-10-20' };
    answers = [
      listOf(
        { ...line, type: 'PAYMENT_FEE', paymentId: 'pay_1' },
        { ...line, id: 'fin_2', type: 'RECEIVABLE_ANTICIPATION_FEE', paymentId: 'pay_1' },
        { ...line, id: 'fin_3', type: 'PAYMENT_RECEIVED', value: 100, paymentId: 'pay_1' },
      ),
    ];
    expect(await create().listCosts?.({ fromMs: now, toMs: now })).toMatchObject({
      reports: [{ reference: 'line:fin_2', amountCents: 500 }],
    });
  });

  test('takes a key of its own environment alone, and a token that is long enough', () => {
    expect(() => create(credentials, true)).toThrow(/apiKey/);
    expect(() => create({ ...credentials, apiKey: '$aact_hmlg_key' })).toThrow(/apiKey/);
    expect(() => create({ ...credentials, webhookToken: 'short' })).toThrow(/webhookToken/);
    expect(create({ ...credentials, apiKey: '$aact_hmlg_key' }, true).capabilities.movesMoney).toBe(false);
  });

  test('is looked at by the doctor: key, address, balance, and whether it may take cards', async () => {
    const looked = async (status: NetAnswer) => {
      answers = [saying('webhook-list'), saying('balance'), status];
      const findings = await create().diagnose({ webhookUrl: 'https://other.example/hooks' });
      return findings.map(({ check, ok }) => [check, ok]);
    };
    expect(await looked(saying('account-status'))).toEqual(
      expect.arrayContaining([
        ['token', true],
        ['webhook', false],
        ['balance', true],
        ['cards', true],
      ]),
    );
    const waiting = { ...(foreign('asaas/account-status').body as Json), general: 'PENDING' };
    expect(await looked(said(waiting))).toContainEqual(['cards', false]);
  });
});
