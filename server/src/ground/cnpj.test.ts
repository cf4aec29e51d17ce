import { expect, test } from 'vitest';
import { cnpjOf, cnpjText } from './cnpj.ts';

/** The example of Receita Federal for the check digits of a CNPJ with letters ("Cálculo do DV do CNPJ alfanumérico"): 12.ABC.345/01DE-35. */
test.each([
  ['12.ABC.345/01DE-35', '12ABC34501DE35'],
  ['12abc34501de35', '12ABC34501DE35'],
  ['00.000.000/0001-91', '00000000000191'],
  [' 33.000.167/0001-01 ', '33000167000101'],
])('%s is a CNPJ', (written, bare) => {
  expect(cnpjOf(written)).toBe(bare);
});

test.each([
  '',
  '12.ABC.345/01DE-36',
  '12ABC34501DE3A',
  '00000000000000',
  '00000000000192',
  '123',
  '52998224725',
  '12ABC34501DÉ35',
  '١٢ABC34501DE35',
])('%s is none', (written) => {
  expect(cnpjOf(written)).toBeNull();
});

test('is shown as people write it', () => {
  expect(cnpjText('12ABC34501DE35')).toBe('12.ABC.345/01DE-35');
});
