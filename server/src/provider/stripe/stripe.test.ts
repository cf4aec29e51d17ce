import { answeringNet } from '@vintem/testkit/answering-net.ts';
import { manualClock } from '@vintem/testkit/manual-clock.ts';
import { expect, test } from 'vitest';
import { createLog } from '../../ground/log.ts';
import { placeOf } from '../adapter.ts';
import { stripeAdapter } from './stripe.ts';

const { net, answers } = answeringNet();
const stripe = stripeAdapter.create(
  {
    ...{ name: 'stripe', test: false, simulated: false, url: 'https://api.stripe.com', certificate: null },
    credentials: { secretKey: 'sk_live_x', webhookSecret: 'whsec_x' },
  },
  { net, clock: manualClock(), log: createLog('silent') },
);
const window = { fromMs: 0, toMs: 1_000_000 };
const page = (...data: object[]) =>
  answers.push({ status: 200, headers: {}, text: JSON.stringify({ object: 'list', data, has_more: false }) });
const line = { currency: 'brl', created: 1_700_000_000, net: -250 };

test('A fee that cannot be read is named by its line, and the others are listed', async () => {
  page({ ...line, id: 'txn_1' }, { ...line, id: 'txn_2', net: 'a lot' });
  expect(await stripe.listCosts?.(window)).toMatchObject({
    ...{ outcome: 'listed', complete: true },
    reports: [{ reference: 'txn_1', amountCents: 250 }],
    unread: [{ kind: 'cost', name: 'txn_2' }],
  });
});

test('A payout that cannot be read is named by the payout and its direction, and the others are listed', async () => {
  page({ ...line, type: 'payout', source: { id: 'po_1' } });
  page({ ...line, type: 'payout_failure', source: { id: 'po_1' }, net: 'a lot' });
  page();
  expect(await stripe.cards?.listPayouts?.(window)).toMatchObject({
    reports: [{ reference: 'po_1', isReturn: false }],
    unread: [{ kind: 'sent', name: 'po_1 back' }],
  });
});

test('Stripe’s test mode has the address of its live mode: the key alone says which of the two a connection is', () => {
  const url = stripeAdapter.testUrl ?? '';
  expect([url, placeOf(stripeAdapter, url)]).toEqual(['https://api.stripe.com', null]);
  const make = (test: boolean, secretKey: string) =>
    stripeAdapter.create(
      {
        ...{ name: 'stripe', test, simulated: false, url, certificate: null },
        credentials: { secretKey, webhookSecret: 'whsec_x' },
      },
      { net, clock: manualClock(), log: createLog('silent') },
    ).capabilities.movesMoney;
  expect([make(true, 'sk_test_x'), make(false, 'sk_live_x')]).toEqual([false, true]);
  expect(() => make(true, 'sk_live_x')).toThrow('live mode');
  expect(() => make(false, 'sk_test_x')).toThrow('test mode');
});
