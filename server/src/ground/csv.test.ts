import { expect, test } from 'vitest';
import { csvLine } from './csv.ts';

test.each(['=1+1', '+55 11', '-2', '@SUM(A1)', '\t=1'])('%j is text for every spreadsheet', (text) => {
  expect(csvLine([text], { separator: ',', language: 'en' })).toBe(`'${text}\r\n`);
});

test.each([',', ';'] as const)(
  'A formula behind any separator is text in a file with %j, whichever separator its reader takes',
  (separator) => {
    const formulas = ['=cmd', '+1+1', '-1+1', '@SUM(A1)', '＝1', '＋1', '－1', '＠A'];
    for (const formula of formulas)
      for (const before of ['', 'A;', 'A,', 'A\t', 'A\n', 'A"\r\n']) {
        const line = csvLine(['x', `${before}${formula},B`], { separator, language: 'en' });
        // As other programs split it: at any of the signs, with the quotes taken off or left where they stand.
        for (const quotes of ['', '"'])
          for (const cell of line.replaceAll('"', quotes).split(/[;,\t\r\n]/))
            expect(cell.replace(/^"/, '')).not.toMatch(/^[=+\-@＝＋－＠]/);
      }
  },
);

test.each([
  ['+5511987654321', '+5511987654321'],
  ['Maria;+5511987654321', 'Maria;+5511987654321'],
  ['+55 11', "'+55 11"],
  ['+1+1', "'+1+1"],
])('A phone key is no formula: %j', (text, cell) => {
  expect(csvLine([text], { separator: ',', language: 'en' })).toBe(`${cell}\r\n`);
});

test('A mark that turns the direction of text is not in a table', () => {
  expect(csvLine(['Maria\u202egnp.exe\u2066'], { separator: ',', language: 'en' })).toBe('Mariagnp.exe\r\n');
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
