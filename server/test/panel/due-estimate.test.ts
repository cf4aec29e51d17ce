import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type DueTerms, estimateOn, estimates } from '../../../panel/src/due-estimate.ts';
import { addDays, owedOn, sumOf } from '../../../simulator/src/cobv.ts';

/** A Tuesday with three working days behind it, in a month without holidays. */
const dueDate = '2027-07-13';

const part = fc.option(
  fc.record({
    type: fc.constantFrom('fixed' as const, 'percent' as const),
    value: fc.integer({ min: 1, max: 900 }),
  }),
);
const interest = fc.option(
  fc.record({
    type: fc.constantFrom('fixed_day' as const, 'percent_day' as const, 'percent_month' as const),
    value: fc.integer({ min: 1, max: 900 }),
    days: fc.constantFrom('calendar' as const, 'working' as const),
  }),
);
const interestModes = { fixed_day: 1, percent_day: 2, percent_month: 3 };
const rate = (mode: number, hundredths: number) => ({ mode, value: (hundredths / 100).toFixed(2) });

/** The same terms as the simulated bank reads them. */
function atBank({ fine, interest: late, rebate, discounts, validAfterDue }: DueTerms) {
  const modeOf = (type: 'fixed' | 'percent') => (type === 'fixed' ? 1 : 2);
  return {
    ...{ dueDate, validAfterDue },
    ...(fine && { fine: rate(modeOf(fine.type), fine.value) }),
    ...(rebate && { rebate: rate(modeOf(rebate.type), rebate.value) }),
    ...(late && {
      interest: rate(interestModes[late.type] + (late.days === 'working' ? 4 : 0), late.value),
    }),
    ...(discounts[0] && {
      discount: {
        mode: modeOf(discounts[0].type),
        dates: discounts.map(({ until, value }) => ({ data: until, valorPerc: (value / 100).toFixed(2) })),
      },
    }),
  };
}

test('On days of a week without holidays the estimate of the form is what the simulated bank asks for', () => {
  const discounts = fc
    .tuple(
      fc.constantFrom('fixed' as const, 'percent' as const),
      fc.uniqueArray(fc.integer({ min: -6, max: 0 }), { maxLength: 3 }),
    )
    .map(([type, days]) => days.map((day, at) => ({ until: addDays(dueDate, day), type, value: 100 + at })));
  fc.assert(
    fc.property(
      fc.record({
        ...{ amountCents: fc.integer({ min: 5_000, max: 200_000 }), dueDate: fc.constant(dueDate) },
        ...{ validAfterDue: fc.constant(30), fine: part, interest, discounts, rebate: part },
      }),
      fc.integer({ min: -8, max: 3 }),
      (terms, days) => {
        const day = addDays(dueDate, days);
        const owed = owedOn(terms.amountCents, atBank(terms), day);
        expect(owed && sumOf(owed)).toBe(estimateOn(day, terms));
      },
    ),
    { numRuns: 500 },
  );
});

test('The estimate names the days on which the amount changes, and none on which the charge is over', () => {
  const none = { amountCents: 10_000, dueDate, interest: null, rebate: null };
  const fine = { type: 'percent' as const, value: 200 };
  const discounts = [{ until: addDays(dueDate, -5), type: 'fixed' as const, value: 500 }];
  expect(estimates({ ...none, fine, discounts, validAfterDue: 3 })).toEqual([
    { day: '2027-07-08', cents: 9_500 },
    { day: '2027-07-13', cents: 10_000 },
    { day: '2027-07-14', cents: 10_200 },
    { day: '2027-07-16', cents: 10_200 },
  ]);
  expect(estimates({ ...none, fine, discounts: [], validAfterDue: 0 })).toEqual([
    { day: dueDate, cents: 10_000 },
  ]);
});
