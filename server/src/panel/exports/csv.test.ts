import { expect, test } from 'vitest';
import { csvLine } from './csv.ts';

test.each(['=1+1', '+55 11', '-2', '@SUM(A1)', '\t=1'])('%j is text for every spreadsheet', (text) => {
  expect(csvLine([text], { separator: ',' })).toBe(`'${text}\r\n`);
});

test('quotes, separators and line ends are quoted', () => {
  expect(csvLine(['a"b', 'c,d', 'e\nf', 'g;h'], { separator: ',' })).toBe('"a""b","c,d","e\nf",g;h\r\n');
  expect(csvLine(['c,d', 'g;h'], { separator: ';' })).toBe('c,d;"g;h"\r\n');
});

test('amounts are numbers in the form of the separator, below zero as well', () => {
  expect(csvLine([{ cents: 123456 }, { cents: -5 }, null], { separator: ',' })).toBe('1234.56,-0.05,\r\n');
  expect(csvLine([{ cents: 123456 }, { cents: -5 }], { separator: ';' })).toBe('1234,56;-0,05\r\n');
});
