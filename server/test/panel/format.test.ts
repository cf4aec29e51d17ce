import { describe, expect, test } from 'vitest';
import * as format from '../../../panel/src/format.ts';

const zone = 'America/Sao_Paulo';
const texts = { 'pt-BR': 'pt-BR', en: 'en-GB' } as const;
const instants = [
  '2024-02-29T23:59:59.999Z',
  '2025-01-01T02:59:59Z',
  '2025-12-31T03:00:00.5Z',
  '2026-11-20T20:43:18Z',
];

/** The panel writes money and time itself; `Intl`, which is too slow for a page's first look, says how. */
describe.each(['pt-BR', 'en'] as const)('in %s', (language) => {
  const byIntl = (options: Intl.DateTimeFormatOptions, at: string): string =>
    new Intl.DateTimeFormat(texts[language], { timeZone: zone, ...options })
      .format(new Date(at))
      .replace(',', '');
  const day = { day: '2-digit', month: '2-digit' } as const;
  const minute = { hour: '2-digit', minute: '2-digit' } as const;

  test.each([
    ['dateTime', format.dateTime, { ...day, year: 'numeric', ...minute }],
    ['shortDateTime', format.shortDateTime, { ...day, ...minute }],
    ['dateTimeSeconds', format.dateTimeSeconds, { ...day, year: 'numeric', ...minute, second: '2-digit' }],
    ['time', format.time, { ...minute, second: '2-digit' }],
    ['the day', (at: string) => format.plainDay(format.dayOf(at)), { ...day, year: 'numeric' }],
    ['the short day', (at: string) => format.shortDay(format.dayOf(at)), day],
  ] as const)('%s is by the clock of São Paulo', (_name, write, options) => {
    expect(instants.map(write)).toEqual(instants.map((at) => byIntl(options, at)));
  });

  test('the marks of a chart', () => {
    const marks = [0, 50, 100, 250, 50_000, 100_000, 250_000, 1e7, 1.5e8, 2e8, 5e10, 2.5e11];
    const numbers = new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 });
    expect(marks.map((cents) => format.roughMoney(cents, language))).toEqual(
      marks.map((cents) => `R$ ${numbers.format(cents / 100)}`),
    );
  });

  test('sizes of files', () => {
    const sizes = [1, 1023, 1024, 1536, 900 * 1024, 1024 ** 2, 2.44 * 1024 ** 2];
    const numbers = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
    const byUnits = (bytes: number): string =>
      bytes < 1024 ** 2
        ? `${numbers.format(Math.max(1, Math.round(bytes / 1024)))} KB`
        : `${numbers.format(bytes / 1024 ** 2)} MB`;
    expect(sizes.map((bytes) => format.fileSize(bytes, language))).toEqual(sizes.map(byUnits));
  });
});

test('money', () => {
  const amounts = [0, 1, 99, 100, 12_345, 99_999, 100_000, 123_456_789, 10_000_000_000, -1, -100, -123_456];
  const reais = new Intl.NumberFormat('pt-BR', { style: 'currency', currency: 'BRL' });
  expect(amounts.map(format.money)).toEqual(
    amounts.map((cents) => reais.format(cents / 100).replace('-', '−')),
  );
  const plain = new Intl.NumberFormat('pt-BR', { minimumFractionDigits: 2 });
  expect(amounts.map(format.plainMoney)).toEqual(amounts.map((cents) => plain.format(cents / 100)));
});
