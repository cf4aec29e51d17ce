import { expect, test } from 'vitest';
import { foreignAmong, holderWarning } from './holders.ts';

test('Accounts of another company than the holder are counted, and branches of the holder are not others', () => {
  expect(foreignAmong(['11222333', '11222333', '44555666'], '11222333')).toBe(1);
  expect(foreignAmong(['44555666'], '11222333')).toBe(1);
  expect(foreignAmong([], '11222333')).toBe(0);
});

test('A connection without a holder counts the accounts beside those of the company that most are of', () => {
  expect(foreignAmong(['11222333', '11222333', '44555666'], null)).toBe(1);
  expect(foreignAmong(['11222333'], null)).toBe(0);
  expect(foreignAmong([], null)).toBe(0);
});

test('The warning names the holder, the number of accounts and the day, and is no fault', () => {
  expect(holderWarning({ connection: 'live', holderCnpj: '11222333000181', accounts: 2 })).toEqual({
    check: 'holder',
    ok: true,
    message:
      'an account of 11.222.333/0001-81 serves 2 accounts of another company: ask a lawyer before 2026-12-31, see docs/operators/who-may-run-this.md',
  });
});
