import { createDynamicPix, hasError, parsePix } from 'pix-utils';
import { expect, test } from 'vitest';
import { brCode, crc16 } from './br-code.ts';

test('the CRC is CRC-16/CCITT-FALSE', () => {
  expect(crc16('123456789')).toBe('29B1');
});

test('a code of another hand reads the same', () => {
  const location = 'pix.simulator.example/qr/v2/0123456789abcdef0123456789abcdef';
  const theirs = createDynamicPix({
    merchantName: 'VINTEM SIMULADOR',
    merchantCity: 'BRASILIA',
    url: location,
  });
  if (hasError(theirs)) throw new Error(theirs.message);
  const ours = parsePix(brCode(location, '12.34'));
  expect(ours).toMatchObject({
    type: 'DYNAMIC',
    merchantCategoryCode: '0000',
    transactionCurrency: '986',
    countryCode: 'BR',
    merchantName: 'VINTEM SIMULADOR',
    merchantCity: 'BRASILIA',
    url: location,
  });
  expect(parsePix(theirs.toBRCode())).toMatchObject({ url: location });
});
