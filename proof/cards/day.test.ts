import { cardDay, findCardData } from '@vintem/testkit/card-day.ts';
import { openService, type Service } from '@vintem/testkit/service.ts';
import { afterEach, expect, test } from 'vitest';

/** A day of a thousand payments by card at each acquirer, from the page to the cash: books, closes and acquirer agree to the cent. */
const payments = 1_000;

let service: Service | null = null;
afterEach(async () => {
  await service?.close();
  service = null;
});

test.each(['stripe-checkout', 'asaas-checkout'] as const)(
  'a thousand payments by card agree to the cent at both connections (%s)',
  async (adapter) => {
    service = await openService();
    const began = Date.now();
    const day = await cardDay(service, { adapter, payments, seed: 2 });
    const { fates, refunds, cashCents, closes } = day;
    console.log(
      `${adapter}: ${payments} payments in ${Math.round((Date.now() - began) / 1_000)} s: ${Object.entries(
        fates,
      )
        .map(([fate, count]) => `${fate} ${count}`)
        .join(', ')}; ${refunds} refunds, ${cashCents} cents of cash, closes ${JSON.stringify(closes)}`,
    );
    expect(day.faults).toEqual([]);
    expect(closes.map(({ connection }) => connection).sort()).toEqual(['cartoes', 'simulator']);
    expect(Object.values(fates).reduce((sum, count) => sum + count, 0)).toBe(payments);
    expect(await findCardData(service, [])).toEqual([]);
  },
  1_800_000,
);
