import { expect, test } from 'vitest';
import { csvLine } from './csv.ts';

test.each(['=1+1', '+55 11', '-2', '@SUM(A1)', '\t=1'])('%j is text for every spreadsheet', (text) => {
  expect(csvLine([text], { separator: ',', language: 'en' })).toBe(`'${text}\r\n`);
});

test('quotes, separators and line ends are quoted', () => {
  expect(csvLine(['a"b', 'c,d', 'e\nf', 'g;h'], { separator: ',', language: 'en' })).toBe(
    '"a""b","c,d","e\nf",g;h\r\n',
  );
  expect(csvLine(['c,d', 'g;h'], { separator: ';', language: 'pt-BR' })).toBe('c,d;"g;h"\r\n');
});

test('amounts are numbers in the form of the separator, below zero as well', () => {
  expect(csvLine([{ cents: 123456 }, { cents: -5 }, null], { separator: ',', language: 'en' })).toBe(
    '1234.56,-0.05,\r\n',
  );
  expect(csvLine([{ cents: 123456 }, { cents: -5 }], { separator: ';', language: 'pt-BR' })).toBe(
    '1234,56;-0,05\r\n',
  );
});

test('codes and times are those of the API in English, and words in Portuguese, in the time of Brasília', () => {
  const cells = [{ code: 'paid', pt: 'Paga' }, { at: '2026-11-21T01:00:05.000Z' }];
  expect(csvLine(cells, { separator: ',', language: 'en' })).toBe('paid,2026-11-21T01:00:05.000Z\r\n');
  expect(csvLine(cells, { separator: ';', language: 'pt-BR' })).toBe('Paga;20/11/2026 22:00:05\r\n');
});
