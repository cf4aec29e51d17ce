import { answeringNet } from '@vintem/testkit/answering-net.ts';
import { expect, test } from 'vitest';
import { createLog } from '../../ground/log.ts';
import { systemClock } from '../../ports/clock.ts';
import type { DueTerms } from '../due-terms.ts';
import { createWooviProvider } from './woovi.ts';
import { wooviDueTerms } from './woovi-due.ts';

/** 2026-11-30 at noon of Brasília. */
const noon = Date.parse('2026-11-30T15:00:00Z');
const terms: DueTerms = {
  ...{ dueDate: '2026-12-10', validAfterDue: 5, rebate: null },
  fine: { type: 'fixed', value: 200 },
  interest: { type: 'percent_day', value: 10, days: 'calendar' },
  discounts: [
    { until: '2026-12-03', type: 'percent', value: 500 },
    { until: '2026-12-09', type: 'percent', value: 200 },
  ],
};
const address = { street: 'Rua A, 12', city: 'Recife', state: 'PE', postalCode: '50030000' };
const payer = { name: 'Maria Silva', document: '11144477735', address };

function wooviAt(now: number) {
  const { net, answers, calls } = answeringNet();
  const provider = createWooviProvider({
    ...{ connection: 'woovi', test: false, baseUrl: 'https://api.woovi.com', appId: 'x' },
    ...{ net, clock: { ...systemClock, now: () => now }, log: createLog('silent') },
  });
  const create = () =>
    provider.dueCharges?.create({ txid: 'a'.repeat(32), amountCents: 10_000, terms, payer, description: '' });
  return { create, answers, calls };
}

test('Days count from the day of Brasília on which it goes out, and amounts are cents and basis points', async () => {
  const { create, answers, calls } = wooviAt(noon);
  answers.push({ status: 400, headers: {}, text: '{"error":"no"}' });
  await create();
  expect(JSON.parse(String(calls[0]?.body))).toEqual({
    ...{ correlationID: 'a'.repeat(32), value: 10_000, type: 'OVERDUE' },
    ...{ daysForDueDate: 10, daysAfterDueDate: 5 },
    fines: { value: 200, type: 'FIXED' },
    interests: { value: 10, type: 'PERCENTAGE' },
    discountSettings: {
      modality: 'PERCENTAGE_UNTIL_SPECIFIED_DATE',
      discountFixedDate: [
        { daysActive: 3, value: 500 },
        { daysActive: 9, value: 200 },
      ],
    },
    customer: {
      ...{ name: 'Maria Silva', taxID: '11144477735' },
      address: {
        ...{ zipcode: '50030000', street: 'Rua A', number: '12', city: 'Recife', state: 'PE', country: 'BR' },
      },
    },
  });
});

test.each([
  ['a moment before midnight of Brasília', '2026-12-01T02:59:30Z'],
  ['a moment after it', '2026-12-01T03:00:30Z'],
])('%s nothing goes out, since the day that days count from is not certain', async (_, at) => {
  const { create, calls } = wooviAt(Date.parse(at));
  expect(await create()).toMatchObject({ outcome: 'notSent', answered: true, retryAfterMs: 120_000 });
  expect(calls).toEqual([]);
});

test('What was admitted before a day of its terms came is not sent as something else', async () => {
  const { create, calls } = wooviAt(Date.parse('2026-12-03T15:00:00Z'));
  expect(await create()).toMatchObject({ outcome: 'refused' });
  expect(calls).toEqual([]);
});

test.each<[string, Partial<DueTerms>]>([
  ['interest by the month', { interest: { type: 'percent_month', value: 100, days: 'calendar' } }],
  ['interest in cents', { interest: { type: 'fixed_day', value: 10, days: 'calendar' } }],
  ['interest of working days', { interest: { type: 'percent_day', value: 10, days: 'working' } }],
  ['a rebate', { rebate: { type: 'fixed', value: 100 } }],
  ['a due date of today', { dueDate: '2026-11-30', discounts: [] }],
  ['a discount that ends today', { discounts: [{ until: '2026-11-30', type: 'fixed', value: 100 }] }],
  ['a discount on the due date', { discounts: [{ until: '2026-12-10', type: 'fixed', value: 100 }] }],
  [
    'discounts that grow',
    {
      discounts: [
        { until: '2026-12-03', type: 'fixed', value: 100 },
        { until: '2026-12-05', type: 'fixed', value: 200 },
      ],
    },
  ],
])('%s cannot be said at Woovi as it is meant', (_, other) => {
  const asked = { terms: { ...terms, ...other }, payer };
  expect(wooviDueTerms.refusal({ terms, payer }, noon)).toBeNull();
  expect(wooviDueTerms.refusal(asked, noon)).toBe('terms');
});

test('A payer without an address is none that Woovi takes', () => {
  const { address: _, ...without } = payer;
  expect(wooviDueTerms.refusal({ terms, payer: without }, noon)).toBe('address');
});
