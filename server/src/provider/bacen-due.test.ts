import { describe, expect, it } from 'vitest';
import { changeBody, shownTermsIn } from './bacen-due.ts';
import type { DueTerms } from './due-terms.ts';

const plain: DueTerms = {
  ...{ dueDate: '2027-08-10', validAfterDue: 30, fine: null, interest: null, discounts: [], rebate: null },
};
const full: DueTerms = {
  ...{ dueDate: '2027-08-10', validAfterDue: 5, fine: { type: 'percent', value: 200 } },
  interest: { type: 'percent_month', value: 100, days: 'working' },
  discounts: [
    { until: '2027-08-01', type: 'fixed', value: 500 },
    { until: '2027-08-05', type: 'fixed', value: 300 },
  ],
  rebate: { type: 'fixed', value: 100 },
};
const changed = (terms: DueTerms, before: DueTerms) =>
  changeBody({ txid: 't', amountCents: 12_000, terms, before, createdAt: 0 });

describe('A change of a due-date charge', () => {
  it('names all terms, and is read back as they were asked for', () => {
    const body = changed(full, plain);
    expect(body).toEqual({
      calendario: { dataDeVencimento: '2027-08-10', validadeAposVencimento: 5 },
      valor: {
        original: '120.00',
        multa: { modalidade: 2, valorPerc: '2.00' },
        juros: { modalidade: 7, valorPerc: '1.00' },
        abatimento: { modalidade: 1, valorPerc: '1.00' },
        desconto: {
          modalidade: 1,
          descontoDataFixa: [
            { data: '2027-08-01', valorPerc: '5.00' },
            { data: '2027-08-05', valorPerc: '3.00' },
          ],
        },
      },
    });
    expect(shownTermsIn({ ...(body as object), revisao: 3 })).toEqual({ due: { terms: full, revision: 3 } });
  });

  it('names a part that it takes away as nothing, and leaves out one that was never there', () => {
    const body = changed(plain, full) as { valor: Record<string, unknown> };
    expect(body.valor).toEqual({
      original: '120.00',
      multa: { modalidade: 1, valorPerc: '0.00' },
      juros: { modalidade: 1, valorPerc: '0.00' },
      abatimento: { modalidade: 1, valorPerc: '0.00' },
      desconto: { modalidade: 1, descontoDataFixa: [{ data: '2027-08-10', valorPerc: '0.00' }] },
    });
    expect(shownTermsIn(body)).toEqual({ due: { terms: plain, revision: null } });
    expect((changed(plain, plain) as typeof body).valor).toEqual({ original: '120.00' });
  });

  it.each([
    ['without a due date', { calendario: { expiracao: 3600 } }],
    [
      'with interest by the year, which is not offered here',
      { valor: { juros: { modalidade: 4, valorPerc: '12.00' } } },
    ],
    ['with a part that cannot be read', { valor: { multa: { modalidade: 1, valorPerc: 'R$ 2' } } }],
    ['with discounts for each day', { valor: { desconto: { modalidade: 3, valorPerc: '1.00' } } }],
  ])('says nothing of the terms of an answer %s', (_name, some) => {
    expect(shownTermsIn({ calendario: { dataDeVencimento: '2027-08-10' }, ...some } as object)).toEqual({});
  });
});
