import { answeringNet } from '@vintem/testkit/answering-net.ts';
import { beforeEach, expect, test } from 'vitest';
import { foreign } from '../../../simulator/test/foreign.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { NetAnswer } from '../../src/ports/net.ts';
import { createStripeProvider } from '../../src/provider/stripe/stripe.ts';

/** The adapter reads what Stripe publishes: every body here comes from outside (`contract/provider-bodies/stripe`). */

const outside = answeringNet();
const now = Date.parse('2026-11-21T12:00:00Z');
const clock: Clock = { now: () => now, machineMs: () => now, monotonicMs: () => now, sleep: async () => {} };
const provider = createStripeProvider({
  ...{ connection: 'cartoes', test: false, simulated: false, baseUrl: 'https://api.stripe.com' },
  ...{ secretKey: 'sk_live_key', webhookSecrets: ['whsec_secret'], net: outside.net, clock },
});

const saying = (name: string): NetAnswer => {
  const { status = 200, body } = foreign(`stripe/${name}`);
  return { status, headers: {}, text: JSON.stringify(body) };
};

beforeEach(() => {
  outside.answers = [];
  outside.calls = [];
});

const providerId = '01a1f90c35617216b2f52b350d206c41';
const intent = 'pi_1PgafyB7WZ01zgkWSjxsAJo3';
const page = {
  ...{
    providerId,
    providerRef: 'cs_test_1',
    createdAt: now,
    amountCents: 12_500,
    minutes: 60,
    approval: null,
  },
};

test('a page without a payment is open at its address, and one that was paid is approved as asked, with its cost and release', async () => {
  outside.answers = [saying('session-open'), saying('session-paid')];
  expect(await provider.cards?.query(page)).toMatchObject({
    outcome: 'found',
    report: {
      ...{ providerId, amountCents: 12_500, currency: 'BRL', page: 'open', attempt: null, approval: null },
      url: expect.stringMatching(/^https:\/\/checkout\.stripe\.com\//),
    },
  });
  expect(await provider.cards?.query(page)).toMatchObject({
    outcome: 'found',
    report: {
      page: 'closed',
      approval: {
        ...{ reference: intent, amountCents: 12_500, currency: 'BRL', installments: 1, costCents: 538 },
        ...{ brand: 'visa', last4: '4242', releaseAt: 1_234_567_890_000, released: false, refunds: [] },
      },
    },
  });
});

test('a dispute, a payout, the balance and a delivery are read as Stripe writes them', async () => {
  outside.answers = [saying('dispute-list')];
  const window = { fromMs: now - 1_000, toMs: now };
  expect(await provider.disputes?.list(window)).toMatchObject({
    outcome: 'listed',
    reports: [{ endToEnd: intent, amountCents: 1_000, debitedCents: 1_000, status: 'open' }],
  });
  outside.answers = [saying('payout-list'), saying('empty-list'), saying('empty-list'), saying('balance')];
  expect(await provider.cards?.listPayouts?.(window)).toMatchObject({
    outcome: 'listed',
    reports: [{ reference: 'po_1Pgc79B7WZ01zgkWu1KToYf4', amountCents: 1_100, isReturn: false }],
  });
  expect(await provider.balance()).toMatchObject({ availableCents: 5_000, totalCents: 12_000 });
  const { body } = foreign('stripe/delivery-intent');
  expect(provider.readWebhook(Buffer.from(JSON.stringify(body)), now)).toMatchObject({ named: [providerId] });
});

test('a refund that Stripe made is accepted under our id', async () => {
  const { body } = foreign('stripe/refund');
  const refund = { ...(body as object), metadata: { vintem_refund: providerId } };
  outside.answers = [saying('empty-list'), { status: 200, headers: {}, text: JSON.stringify(refund) }];
  expect(
    await provider.sendRefund({
      ...{ endToEnd: intent, providerId, amountCents: 400 },
    } as Parameters<typeof provider.sendRefund>[0]),
  ).toMatchObject({ outcome: 'accepted', report: { amountCents: 400, status: 'completed' } });
});
