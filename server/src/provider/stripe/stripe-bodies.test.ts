import { describe, expect, it } from 'vitest';
import { readSession } from './stripe-bodies.ts';

const providerId = '00c0ffee7f0e8a319c1d2b8f7d1a5e42';

const pageWith = (balanceTransaction: unknown) => ({
  ...{ id: 'cs_test_1', object: 'checkout.session', status: 'complete', url: null, expires_at: 5_000 },
  ...{ client_reference_id: providerId, amount_total: 10_000, currency: 'brl' },
  payment_intent: {
    ...{ id: 'pi_1', object: 'payment_intent', status: 'succeeded' },
    latest_charge: {
      ...{ id: 'ch_1', object: 'charge', amount: 10_000, currency: 'brl', created: 2_000 },
      ...{
        paid: true,
        status: 'succeeded',
        payment_method_details: { card: { brand: 'visa', last4: '4242' } },
      },
      balance_transaction: balanceTransaction,
    },
  },
});

describe('A page of Stripe', () => {
  it('that is paid cannot be read before Stripe says what it keeps of the payment', () => {
    const settled = { fee: 438, currency: 'brl', status: 'pending', available_on: 9_000 };
    expect(readSession(pageWith(settled), providerId)?.approval).toMatchObject({
      ...{ reference: 'pi_1', costCents: 438, releaseAt: 9_000_000, released: false },
    });
    for (const none of [null, 'txn_1', { ...settled, fee: null }])
      expect(readSession(pageWith(none), providerId)).toBeNull();
  });

  it.each([
    ['visa', 'visa'],
    ['elo', 'elo'],
    ['hipercard', 'hipercard'],
    ['other', 'other'],
    ['diners', 'other'],
    ['constructor', 'other'],
  ])('that names the brand %s is paid with %s', (named, brand) => {
    const page = pageWith({ fee: 438, currency: 'brl', status: 'pending', available_on: 9_000 });
    page.payment_intent.latest_charge.payment_method_details.card.brand = named;
    expect(readSession(page, providerId)?.approval?.brand).toBe(brand);
  });
});
