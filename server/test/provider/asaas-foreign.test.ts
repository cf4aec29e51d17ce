import { answeringNet } from '@vintem/testkit/answering-net.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { foreign } from '../../../simulator/test/foreign.ts';
import type { Log } from '../../src/ground/log.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { NetAnswer, NetRequest } from '../../src/ports/net.ts';
import { asaasAdapter } from '../../src/provider/asaas/asaas.ts';
import { momentOf } from '../../src/provider/asaas/asaas-bodies.ts';

/** The adapter reads what Asaas documents: every body here comes from outside (`contract/provider-bodies/asaas`). */

const outside = answeringNet();
const { net } = outside;
const now = Date.parse('2026-11-27T17:00:00Z');
const clock: Clock = { now: () => now, machineMs: () => now, monotonicMs: () => now, sleep: async () => {} };

const saying = (name: string): NetAnswer => {
  const { status = 200, body } = foreign(`asaas/${name}`);
  return { status, headers: {}, text: JSON.stringify(body) };
};
const empty = (): NetAnswer => ({
  ...{ status: 200, headers: {} },
  text: JSON.stringify({ object: 'list', hasMore: false, totalCount: 0, limit: 100, offset: 0, data: [] }),
});

const credentials = {
  apiKey: '$aact_prod_key',
  customer: 'cus_000005219613',
  email: 'operador@vintem.example',
  webhookToken: 'w'.repeat(32),
  withdrawalToken: 'q'.repeat(32),
};
const create = (given: Record<string, string> = credentials) =>
  asaasAdapter.create(
    {
      ...{ name: 'asaas', test: false, simulated: false, url: 'https://api.asaas.com/v3' },
      ...{ credentials: given, certificate: null },
    },
    { net, clock, log: {} as Log },
  );
const bodyOf = (call: NetRequest | undefined) => JSON.parse(String(call?.body));

beforeEach(() => {
  outside.answers = [];
  outside.calls = [];
});

const id = '123e4567e89b12d3a456426614174000';
const payout = {
  ...{ providerId: id, amountCents: 23_456, pixKey: '123e4567-e12b-12d1-a456-426655440000' },
  ...{ pixKeyType: 'RANDOM' as const, description: 'Pagamento' },
};

describe('a charge at Asaas', () => {
  const charge = () =>
    create().createCharge({
      ...{ txid: id, amountCents: 12_990, payerName: 'Maria', description: 'Pedido 056984' },
      expirySeconds: 2_120,
    });

  test('is looked for, made with the key of the account in its own header, and its code is asked for', async () => {
    outside.answers = [empty(), saying('payment-answer'), saying('qr-code')];
    expect(await charge()).toMatchObject({
      outcome: 'accepted',
      report: { txid: id, amountCents: 12_990, copyPaste: '00020126580014br.gov.bcb.pix' },
    });
    const [look, made, code] = outside.calls;
    expect(look?.url).toContain(`https://api.asaas.com/v3/payments?externalReference=${id}`);
    expect(made?.headers).toMatchObject({ access_token: '$aact_prod_key' });
    expect(made?.headers?.['user-agent']).toMatch(/^vintem\//);
    expect(bodyOf(made)).toEqual(foreign('asaas/payment-request').body);
    expect(code?.url).toBe('https://api.asaas.com/v3/payments/pay_080225913252/pixQrCode');
  });

  test('is never made where one of its reference is there, or where the list does not take the filter', async () => {
    outside.answers = [saying('payment-list')];
    expect(await charge()).toEqual({ outcome: 'duplicate' });
    const others = saying('payment-list');
    outside.answers = [{ ...others, text: others.text.replace(id, 'f'.repeat(32)) }];
    expect(await charge()).toMatchObject({ outcome: 'notSent' });
    expect(outside.calls.every(({ method }) => method === 'GET')).toBe(true);
  });

  test('that is paid names its Pix by a second call, and its deadline stands in its description', async () => {
    outside.answers = [saying('payment-list'), saying('pix-transaction')];
    expect(await create().queryCharge(id)).toMatchObject({
      outcome: 'found',
      report: {
        ...{ status: 'paid', amountCents: 12_990, expiresAt: Date.parse('2026-11-27T17:35:20Z') },
        received: [
          {
            ...{ endToEnd: 'E00000000202611271730abcdefghijk', amountCents: 12_990, txid: id },
            paidAt: Date.parse('2026-11-27T17:30:02Z'),
          },
        ],
      },
    });
  });
});

test('A listing looks up the Pix of those charges alone that are asked for', async () => {
  const window = { fromMs: now - 60_000, toMs: now };
  outside.answers = [saying('payment-list')];
  expect(await create().listCharges(window, new Map([['f'.repeat(32), now]]))).toMatchObject({ reports: [] });
  expect(outside.calls).toHaveLength(1);
  outside.answers = [saying('payment-list'), saying('pix-transaction')];
  expect(await create().listCharges(window, new Map([[id, now]]))).toMatchObject({
    reports: [{ txid: id, status: 'paid' }],
  });
});

describe('a payout at Asaas', () => {
  test('goes out under our id, after a look that did not find it', async () => {
    outside.answers = [empty(), saying('transfer-answer')];
    expect(await create().sendPayout(payout)).toMatchObject({
      outcome: 'accepted',
      report: { providerId: id, providerRef: '777eb7c8-b1a2-4356-8fd8-a1b0644b5282', status: 'pending' },
    });
    expect(bodyOf(outside.calls[1])).toEqual(foreign('asaas/transfer-request').body);
  });

  test('is refused by an error only when no transfer of it is there afterwards, and keeps the words', async () => {
    outside.answers = [empty(), saying('error'), empty()];
    expect(await create().sendPayout(payout)).toMatchObject({
      ...{ outcome: 'refused', reason: 'provider_refused' },
      words: { name: '400 invalid_action', message: 'Saldo insuficiente para realizar a transferência.' },
    });
    outside.answers = [empty(), saying('error'), saying('transfer-list')];
    expect(await create().sendPayout(payout)).toEqual({ outcome: 'duplicate' });
    outside.answers = [empty(), { status: 404, headers: {}, text: '' }];
    const unknown = await create().sendPayout(payout);
    expect(unknown).toMatchObject({ outcome: 'unclear', cause: 'unknownRefusal' });
    expect(unknown).not.toHaveProperty('refused');
    outside.answers = [empty(), saying('error'), { status: 503, headers: {}, text: '' }];
    expect(await create().sendPayout(payout)).toMatchObject({
      ...{ outcome: 'unclear', refused: true, words: { name: '400 invalid_action' } },
    });
  });

  test('that equals another one of the last quarter of an hour, or meets a refused key, was not sent', async () => {
    outside.answers = [empty(), saying('transfer-conflict')];
    expect(await create().sendPayout(payout)).toMatchObject({ outcome: 'notSent', answered: true });
    outside.answers = [empty(), saying('key-invalid')];
    expect(await create().sendPayout(payout)).toMatchObject({ outcome: 'notSent' });
  });

  test('of a list without its reference is not known, and by its own name it is', async () => {
    const others = saying('transfer-list');
    outside.answers = [{ ...others, text: others.text.replace(id, 'f'.repeat(32)) }];
    expect(await create().queryPayout(id)).toMatchObject({ outcome: 'unclear' });
    outside.answers = [saying('transfer-done')];
    expect(await create().queryPayout(id, '777eb7c8-b1a2-4356-8fd8-a1b0644b5282')).toMatchObject({
      report: {
        ...{ status: 'completed', endToEnd: 'E19540550202611271735abcdefghijk' },
        settledAt: Date.parse('2026-11-27T03:00:00Z'),
        receiver: { name: 'Marcelo Almeida', bank: 'Banco do Brasil' },
      },
    });
  });

  test('that could not be looked for, by an answer that cannot be read, says not that Asaas is down', async () => {
    const others = saying('transfer-list');
    outside.answers = [{ ...others, text: others.text.replace(id, 'f'.repeat(32)) }];
    expect(await create().sendPayout(payout)).toMatchObject({ outcome: 'notSent', answered: true });
    outside.answers = [{ status: 503, headers: {}, text: '' }];
    expect(await create().sendPayout(payout)).not.toHaveProperty('answered');
  });

  test('with two completed transfers under its reference is not known, and a person sees both', async () => {
    const done = foreign('asaas/transfer-done').body as object;
    const both = { ...JSON.parse(empty().text), totalCount: 2, data: [done, { ...done, id: 'another' }] };
    outside.answers = [{ ...empty(), text: JSON.stringify(both) }];
    expect(await create().queryPayout(id)).toMatchObject({
      ...{ outcome: 'unclear', cause: 'unreadable' },
      unread: { kind: 'payout', name: id, providerId: id },
    });
  });

  test('is not offered without the token of its question', () => {
    const { withdrawalToken: _, ...rest } = credentials;
    const { capabilities, withdrawals } = create(rest);
    expect([capabilities.payouts, withdrawals]).toEqual([false, undefined]);
    expect(() => create({ ...credentials, withdrawalToken: 'short' })).toThrow(/at least 32/);
    expect(() => create({ ...credentials, withdrawalToken: credentials.webhookToken })).toThrow(
      /another one/,
    );
  });

  test('is asked for under its token, and answered in the form of Asaas', () => {
    const { withdrawals } = create();
    const { headers, body } = foreign('asaas/transfer-question');
    expect(withdrawals?.isAuthentic(headers ?? {})).toBe(true);
    expect(withdrawals?.isAuthentic({ 'asaas-access-token': credentials.webhookToken })).toBe(false);
    expect(withdrawals?.read(Buffer.from(JSON.stringify(body)))).toEqual({
      ...{ providerId: id, providerRef: '777eb7c8-b1a2-4356-8fd8-a1b0644b5282', amountCents: 23_456 },
      pixKey: 'maria@loja.example',
    });
    const other = JSON.stringify(foreign('asaas/refund-question').body);
    expect(withdrawals?.read(Buffer.from(other))).toBe(null);
    expect(withdrawals?.read(Buffer.from('no json'))).toBe(null);
    expect(withdrawals?.answerOf(true)).toEqual(foreign('asaas/transfer-approved').body);
    expect(Object.keys(withdrawals?.answerOf(false) as object)).toEqual(
      Object.keys(foreign('asaas/transfer-refused').body as object),
    );
  });
});

test('A list of Pix without a word about its end is not taken as whole', async () => {
  const without = (data: unknown[]) => ({ ...empty(), text: JSON.stringify({ object: 'list', data }) });
  const window = { fromMs: now - 60_000, toMs: now };
  outside.answers = [without([foreign('asaas/pix-transaction').body]), without([])];
  expect(await create().statement(window)).toMatchObject({ outcome: 'unclear' });
  outside.answers = [empty(), empty()];
  expect(await create().statement(window)).toMatchObject({ outcome: 'listed', reports: [], complete: true });
});

test('a refund is known by the id at the end of its description', async () => {
  const pixes = { ...JSON.parse(empty().text), totalCount: 1, data: [foreign('asaas/pix-transaction').body] };
  outside.answers = [{ ...empty(), text: JSON.stringify(pixes) }, saying('refund-list')];
  expect(
    await create().queryRefund('E00000000202611271730abcdefghijk', '223e4567e89b12d3a456426614174000'),
  ).toMatchObject({
    outcome: 'found',
    report: { status: 'completed', amountCents: 3_050, rtrId: 'D19540550202611271740abcdefghijk' },
  });
  outside.answers = [empty()];
  expect(await create().queryRefund('E00000000202611271730abcdefghijk', id)).toMatchObject({
    // An answer that can be read, so it counts as no failure of the connection (`flow/breaker.ts`).
    ...{ outcome: 'unclear', cause: 'unknownRefusal' },
    detail: 'its Pix is not in the list',
  });
});

test('A delivery about an API key of the account is for a person', () => {
  const rawBody = Buffer.from(JSON.stringify(foreign('asaas/delivery-key').body));
  expect(create().readWebhook(rawBody, now)).toMatchObject({
    unread: [{ kind: 'key', name: 'ACCESS_TOKEN_CREATED 175027c1-029c-41e5-8b9a-e289b9788c33' }],
  });
});

test('fees, balance and deliveries are read as they are documented', async () => {
  outside.answers = [saying('statement')];
  expect(await create().listCosts?.({ fromMs: now - 1_000, toMs: now })).toMatchObject({
    reports: [
      { reference: 'line:fin_000000000001', amountCents: 99, at: Date.parse('2026-11-27T03:00:00Z') },
    ],
  });
  outside.answers = [saying('balance')];
  expect(await create().balance()).toMatchObject({ availableCents: 12_891 });
  for (const name of ['delivery-payment', 'delivery-transfer'])
    expect(
      create().readWebhook(Buffer.from(JSON.stringify(foreign(`asaas/${name}`).body)), now),
    ).toMatchObject({ addressed: true, named: [id], received: [], payouts: [] });
});

test.each([
  ['2026-11-27 14:30:02', '2026-11-27T17:30:02Z'],
  ['17/12/2024 15:27:42', '2024-12-17T18:27:42Z'],
  ['2026-11-27', '2026-11-27T03:00:00Z'],
])('the time %s is read as São Paulo has it', (text, utc) => {
  expect(momentOf(text)).toBe(Date.parse(utc));
});

test.each(['27/11', '2026-02-30', '', null, 20261127])('%o is no time', (value) => {
  expect(momentOf(value)).toBe(null);
});
