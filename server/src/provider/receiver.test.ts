import { describe, expect, test } from 'vitest';
import { receiverOf } from './receiver.ts';

describe('a receiver', () => {
  test.each([
    ['a CPF is kept as receipts show it', '31324227036', '***.242.270-**'],
    ['with separators too', '313.242.270-36', '***.242.270-**'],
    ['a masked CPF stays as the provider masked it', '000.***.***-91', '000.***.***-91'],
    ['a CNPJ is public', '11222333000181', '11.222.333/0001-81'],
    ['a CNPJ with letters', '12ABC34501DE35', '12.ABC.345/01DE-35'],
    ['anything else is nothing', '123', null],
    ['nor is what is no text', 31324227036, null],
  ])('%s', (_, taxId, shown) => {
    expect(receiverOf({ name: 'Fulano de Tal', taxId })?.taxId).toBe(shown);
  });

  test.each([
    ['a known code is its name', '00000000', 'Banco do Brasil S.A.'],
    ['an unknown one is shown', '12345678', 'ISPB 12345678'],
    ['a name is a name', 'A Bank', 'A Bank'],
    ['an empty one is none', '', null],
    ['nor is a number', 341, null],
  ])('bank: %s', (_, bank, name) => {
    expect(receiverOf({ name: 'Fulano de Tal', taxId: null, bank })?.bank).toBe(name);
  });

  test.each([undefined, null, '', '  ', 7, {}])('without a name there is none: %j', (name) => {
    expect(receiverOf({ name, taxId: '31324227036' })).toBeNull();
  });

  test('a name is one short line', () => {
    expect(receiverOf({ name: `  Maria\n${'a'.repeat(300)}`, taxId: null })?.name).toBe(
      `Maria ${'a'.repeat(134)}`,
    );
  });
});

test('A name that a provider gives is shown without marks that turn its direction', () => {
  expect(receiverOf({ name: 'Maria\u202egnp.exe\u2066', taxId: null })?.name).toBe('Mariagnp.exe');
});
