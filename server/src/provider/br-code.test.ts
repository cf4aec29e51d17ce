import fc from 'fast-check';
import { createStaticPix, hasError, parsePix } from 'pix-utils';
import { describe, expect, test } from 'vitest';
import {
  buildBrCode,
  buildStaticBrCode,
  crc16,
  isStaticIdentifier,
  newStaticIdentifier,
  parseBrCode,
  staticIdentifierOf,
} from './br-code.ts';

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

describe('A static BR Code', () => {
  const identifier = newStaticIdentifier(Buffer.alloc(15, 0xa5));
  const pixKey = (most: number) =>
    fc.string({ unit: fc.constantFrom(...'abcdefghij0123456789@.-+'), minLength: 1, maxLength: most });

  test('of any key, name, city and text has the lengths that its standard allows, and is read back by pix-utils', () => {
    fc.assert(
      fc.property(
        pixKey(77),
        fc.option(amount, { nil: undefined }),
        fc.string({ unit: 'binary', maxLength: 60 }),
        fc.string({ unit: 'grapheme', maxLength: 40 }),
        fc.string({ unit: 'grapheme', maxLength: 120 }),
        (key, reais, merchantName, merchantCity, description) => {
          const code = buildStaticBrCode({
            ...{ pixKey: key, identifier, merchantName, merchantCity, description },
            ...(reais === undefined ? {} : { amount: reais }),
          });
          const read = parseBrCode(code);
          expect(read).toMatchObject({
            pixKey: key,
            amount: reais ?? null,
            txid: identifier,
            location: null,
          });
          expect(read?.merchantName).toMatch(/^[\x20-\x7e]{1,25}$/);
          expect(read?.merchantCity).toMatch(/^[\x20-\x7e]{1,15}$/);
          expect(code).toMatch(/^[\x20-\x7e]+$/);
          expect(code.length).toBeLessThanOrEqual(512);
          const judged = parsePix(code);
          if (hasError(judged)) throw new Error(`${judged.message}: ${code}`);
          expect(judged).toMatchObject({ type: 'STATIC', pixKey: key, txid: identifier });
        },
      ),
    );
  });

  test.each([
    ['Padaria São João do Açaí Ltda Filial', 'PADARIA SAO JOAO DO ACAI'],
    ['Café 🌸 Ñandú', 'CAFE  NANDU'],
    ['🌸🌸', 'RECEBEDOR'],
    ['\u202egnp.yap', 'GNP.YAP'],
  ])('writes the name %j as %j', (merchantName, shown) => {
    const code = buildStaticBrCode({ pixKey: 'a@b.br', identifier, merchantName, merchantCity: 'Brasília' });
    expect(parseBrCode(code)).toMatchObject({ merchantName: shown, merchantCity: 'BRASILIA' });
  });

  test('leaves out a text that does not fit beside its key, and refuses a key or an identifier that does not fit', () => {
    const of = (key: string, id = identifier) =>
      buildStaticBrCode({
        pixKey: key,
        identifier: id,
        merchantName: 'A',
        merchantCity: 'B',
        description: 'Mesa 4',
      });
    expect(of('k'.repeat(67))).toContain('0206MESA 4');
    expect(of('k'.repeat(68))).not.toContain('MESA');
    expect(() => of('k'.repeat(78))).toThrow(RangeError);
    expect(() => of('')).toThrow(RangeError);
    expect(() => of('key', 'A'.repeat(26))).toThrow(RangeError);
    expect(() => of('key', '***')).toThrow(RangeError);
  });

  test('has an identifier of 120 bits, which is known in either case and in no other form', () => {
    const made = new Set(Array.from({ length: 500 }, (_, at) => newStaticIdentifier(Buffer.alloc(15, at))));
    expect(made.size).toBe(256);
    for (const one of made) {
      expect(isStaticIdentifier(one)).toBe(true);
      expect(staticIdentifierOf(one.toLowerCase())).toBe(one);
    }
    for (const other of [
      '',
      '***',
      'S',
      identifier.slice(1),
      `${identifier}A`,
      identifier.replace('S', 'T'),
      null,
    ])
      expect(staticIdentifierOf(other)).toBe(null);
  });
});
