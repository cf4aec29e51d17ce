import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { centsOf, feeOf, reaisOf, signedCentsOf, signedWholeCentsOf, wholeCentsOf } from './money.ts';

const cents = fc.integer({ min: 0, max: 999_999_999_999 });

describe('reais as text', () => {
  test('every amount survives the way to text and back', () => {
    fc.assert(fc.property(cents, (amount) => centsOf(reaisOf(amount)) === amount));
  });

  test.each([
    [0, '0.00'],
    [1, '0.01'],
    [10, '0.10'],
    [975, '9.75'],
    [1000, '10.00'],
    [1_000_000, '10000.00'],
    [999_999_999_999, '9999999999.99'],
  ])('%i cents are written %s', (amount, text) => {
    expect(reaisOf(amount)).toBe(text);
  });

  test.each([
    '',
    '1.',
    '1.234',
    '1.005',
    '.50',
    '1,00',
    '-1.00',
    '+1.00',
    ' 1.00',
    '1.00 ',
    '1e2.00',
    '12345678901.00',
    '٣.٠٠',
    'NaN',
    '1.00\n',
  ])('%j is no amount', (text) => {
    expect(centsOf(text)).toBeNull();
  });

  test.each([
    ['97', 9700],
    ['39.9', 3990],
    ['39.900', 3990],
    [39.95, 3995],
    [39.9, 3990],
    [97, 9700],
    [0, 0],
    [1.13, 113],
    [9_999_999_999.99, 999_999_999_999],
  ])('an amount that a bank writes %j is read as %i cents', (value, expected) => {
    expect(centsOf(value)).toBe(expected);
  });

  test('every number of cents survives the way through a JSON number', () => {
    fc.assert(fc.property(cents, (amount) => centsOf(JSON.parse(reaisOf(amount))) === amount));
  });

  test.each([
    [39.955],
    [0.1 + 0.2],
    [-1],
    [-0],
    [1e10],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [null],
    [undefined],
    [{}],
    [true],
  ])('%j is no amount', (value) => {
    expect(centsOf(value)).toBeNull();
  });

  test.each([
    ['-0.05', -5],
    [-0.05, -5],
    ['12.3', 1230],
    ['--1', null],
    ['-', null],
  ])('a balance %j is %j cents', (value, expected) => {
    expect(signedCentsOf(value)).toBe(expected);
  });

  test.each([
    [100, 100],
    ['100', 100],
    [100.5, null],
    ['1.00', null],
    [-1, null],
    [null, null],
  ])('cents written %j are %j', (value, expected) => {
    expect(wholeCentsOf(value)).toBe(expected);
  });

  test.each([[-1], [0.5], [Number.NaN], [Number.POSITIVE_INFINITY], [1_000_000_000_000]])(
    '%d cents cannot be written',
    (amount) => {
      expect(() => reaisOf(amount)).toThrow(RangeError);
    },
  );
});

describe('the fee', () => {
  test.each([
    [1000, 25, 0, 25],
    [1000, 0, 100, 10],
    [1000, 25, 100, 35],
    [50, 0, 100, 1],
    [49, 0, 100, 0],
    [149, 0, 100, 1],
    [150, 0, 100, 2],
    [1_000_000, 0, 10_000, 1_000_000],
  ])('of %i cents at %i + %i bps is %i', (amount, fixedCents, bps, fee) => {
    expect(feeOf(amount, { fixedCents, bps })).toBe(fee);
  });

  test('is the exact percentage, half a cent rounded up', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 1_000_000 }),
        fc.integer({ min: 0, max: 10_000 }),
        fc.integer({ min: 0, max: 10_000 }),
        (amount, fixedCents, bps) => {
          const exact = (BigInt(amount) * BigInt(bps) * 2n + 10_000n) / 20_000n;
          expect(feeOf(amount, { fixedCents, bps })).toBe(fixedCents + Number(exact));
        },
      ),
    );
  });
});

test.each<[unknown, number | null]>([
  [-500, -500],
  ['-500', -500],
  ['129430', 129_430],
  [0, 0],
  ['--5', null],
  [-1.5, null],
  [null, null],
])('A balance of %j whole cents, which may be below zero, is read as %j', (value, expected) => {
  expect(signedWholeCentsOf(value)).toBe(expected);
});
