import fc from 'fast-check';
import { createStaticPix, hasError, parsePix } from 'pix-utils';
import { describe, expect, test } from 'vitest';
import { buildBrCode, crc16, parseBrCode } from './br-code.ts';

const ascii = (max: number) =>
  fc.string({
    unit: fc.constantFrom(...'ABCDEFGHIJ KLMNOPQRSTUVWXYZ0123456789'),
    minLength: 1,
    maxLength: max,
  });
const location = fc
  .string({ unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789-'), minLength: 1, maxLength: 60 })
  .map((tail) => `qr.example/v2/${tail}`);
const amount = fc
  .tuple(fc.integer({ min: 0, max: 2000 }), fc.integer({ min: 10, max: 99 }))
  .map(([r, c]) => `${r}.${c}`);

describe('BR Code', () => {
  test('the checksum is CRC16-CCITT-FALSE', () => {
    expect(crc16('123456789')).toBe('29B1');
    expect(crc16('')).toBe('FFFF');
  });

  test('what is built is read back', () => {
    fc.assert(
      fc.property(
        location,
        fc.option(amount, { nil: undefined }),
        ascii(25),
        ascii(15),
        (place, reais, name, city) => {
          const code = buildBrCode({
            location: `https://${place}`,
            ...(reais === undefined ? {} : { amount: reais }),
            merchantName: name,
            merchantCity: city,
          });
          expect(parseBrCode(code)).toEqual({
            pixKey: null,
            location: place,
            amount: reais ?? null,
            merchantName: name,
            merchantCity: city,
            txid: '***',
          });
        },
      ),
    );
  });

  test('pix-utils reads what is built', () => {
    const code = buildBrCode({
      location: 'https://qr.example/v2/2353c790eefb11eaadc10242ac120002',
      amount: '123.45',
      merchantName: 'RECEBEDOR',
      merchantCity: 'BRASILIA',
    });
    const read = parsePix(code);
    if (hasError(read)) throw new Error(read.message);
    expect(read).toMatchObject({
      type: 'DYNAMIC',
      url: 'qr.example/v2/2353c790eefb11eaadc10242ac120002',
      merchantName: 'RECEBEDOR',
      merchantCity: 'BRASILIA',
    });
  });

  test('a code of pix-utils is read', () => {
    const pix = createStaticPix({
      merchantName: 'FULANO DE TAL',
      merchantCity: 'SAO PAULO',
      pixKey: 'fulano@example.com',
      infoAdicional: '',
      txid: 'ABC123',
      transactionAmount: 10.5,
    });
    if (hasError(pix)) throw new Error(pix.message);
    expect(parseBrCode(pix.toBRCode())).toEqual({
      pixKey: 'fulano@example.com',
      location: null,
      amount: '10.50',
      merchantName: 'FULANO DE TAL',
      merchantCity: 'SAO PAULO',
      txid: 'ABC123',
    });
  });

  test('a code with one changed character is refused', () => {
    const code = buildBrCode({ location: 'qr.example/1', merchantName: 'A', merchantCity: 'B' });
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: code.length - 5 }),
        fc.constantFrom('~', '0', 'x'),
        (at, character) => {
          fc.pre(code[at] !== character);
          expect(parseBrCode(code.slice(0, at) + character + code.slice(at + 1))).toBeNull();
        },
      ),
    );
  });

  test('any text is answered, never thrown at', () => {
    fc.assert(fc.property(fc.string(), (text) => parseBrCode(text) === null));
  });

  test('a location that does not fit is refused', () => {
    expect(() => buildBrCode({ location: 'x'.repeat(78), merchantName: 'A', merchantCity: 'B' })).toThrow(
      RangeError,
    );
  });
});
