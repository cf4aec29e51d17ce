import { expect, test } from 'vitest';
import { ApiError } from '../ground/errors.ts';
import { formOfJson, formOfPage, typedCents } from './form.ts';

test.each([
  ['25', 2500],
  ['25,9', 2590],
  ['25,90', 2590],
  ['1.250,90', 125090],
  ['25.90', 2590],
  [' R$ 0,01 ', 1],
  ['1.250', null],
  ['1,250', null],
  ['1.25.0,00', null],
  ['-5', null],
  ['1e3', null],
  ['٢٥', null],
  ['999999999', null],
  ['', null],
])('The amount %j that a payer types is %j cents', (text, cents) => {
  expect(typedCents(text)).toBe(cents);
});

const refusalOf = (make: () => unknown): unknown => {
  try {
    return make();
  } catch (error) {
    return error instanceof ApiError ? error.options.details : error;
  }
};

test('A JSON body is read by its names alone, and each fault of it is named', () => {
  const replaces = '00000001-7f0e-8a31-9c1d-2b8f7d1a5e42';
  expect(formOfJson({ method: 'pix', amountCents: 100, payerName: 'Ana', replaces })).toEqual({
    ...{ method: 'pix', formKey: null, amountCents: 100, payerName: 'Ana', payerDocument: null, replaces },
  });
  expect(
    refusalOf(() =>
      formOfJson({
        ...{ method: 'boleto', amountCents: 1.5, payerName: 7, payerDocument: '1'.repeat(19) },
        ...{ formKey: 'x', fee: 0 },
      }),
    ),
  ).toEqual([
    { field: 'fee', code: 'unknown_property' },
    { field: 'method', code: 'not_one_of', allowed: ['pix', 'card'] },
    { field: 'amountCents', code: 'not_an_integer' },
    { field: 'payerName', code: 'not_a_string' },
    { field: 'payerDocument', code: 'out_of_length', min: 0, max: 18 },
    { field: 'formKey', code: 'not_a_uuid' },
  ]);
  expect(refusalOf(() => formOfJson(undefined))).toEqual([{ field: 'method', code: 'required' }]);
});

test('The form of a page takes no cents, and no key that is none', () => {
  const sent = formOfPage(
    new URLSearchParams('amount=10,00&amountCents=1&payerName=Ana&payerDocument=111&formKey=x&replaces=1'),
  );
  expect(sent).toEqual({
    ...{
      method: null,
      formKey: null,
      amountCents: 1000,
      payerName: 'Ana',
      payerDocument: '111',
      replaces: null,
    },
  });
  expect(formOfPage(new URLSearchParams('method=card')).method).toBe('card');
  expect(refusalOf(() => formOfPage(new URLSearchParams('method=Card')))).toEqual([
    { field: 'method', code: 'not_one_of', allowed: ['pix', 'card'] },
  ]);
  expect(refusalOf(() => formOfPage(new URLSearchParams('amount=dez')))).toEqual([
    { field: 'amount', code: 'not_an_integer' },
  ]);
  expect(refusalOf(() => formOfPage(new URLSearchParams({ payerName: 'Ana \u202Egnp.exe' })))).toEqual([
    { field: 'payerName', code: 'invalid_characters' },
  ]);
});
