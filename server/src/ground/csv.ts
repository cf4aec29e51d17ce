import type { Language } from './errors.ts';
import { withoutDirection } from './printable.ts';

/**
 * Tables for spreadsheets (RFC 4180). What begins like a formula gets an apostrophe in front: a payer's name must not be run
 * by the spreadsheet that opens the file. Which sign separates is the reader's choice: where it takes another one than ours, a cell also
 * begins behind each `;`, comma, tab and line end inside of a text, and our quotes do not count there. Amounts are ours and stay numbers,
 * also below zero.
 */
export interface CsvForm {
  /** Where `;` separates, the comma is the decimal sign. */
  separator: ',' | ';';
  language: Language;
}

/** Text; an amount; an instant (ISO 8601 or milliseconds); or a code of the API with its word in Portuguese. */
export type Cell = string | null | { cents: number } | { at: string | number } | { code: string; pt: string };

const brasilia = new Intl.DateTimeFormat('pt-BR', {
  timeZone: 'America/Sao_Paulo',
  day: '2-digit',
  month: '2-digit',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});

export const csvLine = (cells: readonly Cell[], form: CsvForm): string =>
  `${cells.map((cell) => csvCell(cell, form)).join(form.separator)}\r\n`;

function csvCell(cell: Cell, form: CsvForm): string {
  const { separator, language } = form;
  if (cell === null) return '';
  if (typeof cell === 'object') {
    if ('code' in cell) return csvCell(language === 'en' ? cell.code : cell.pt, form);
    if ('at' in cell) return timeText(cell.at, language);
    const amount = amountText(cell.cents, separator === ';' ? ',' : '.');
    return amount.includes(separator) ? `"${amount}"` : amount;
  }
  const safe = withoutDirection(cell).replace(formula, "$1'");
  return /["\r\n]/.test(safe) || safe.includes(separator) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * Where a formula would begin: also in the full-width signs that spreadsheets take for the others. A `+` with nothing but digits is a phone
 * key: with an apostrophe it could not be looked up or imported.
 */
const formula = /(^|[;,\t\r\n])(?=[=+\-@\t\r\uff1d\uff0b\uff0d\uff20])(?!\+\d{1,20}(?:[;,\t\r\n]|$))/g;

/** `20/11/2026 17:43:18` in Brasília, or RFC 3339 in UTC. */
function timeText(at: string | number, language: Language): string {
  const time = new Date(at);
  return language === 'en' ? time.toISOString() : brasilia.format(time).replace(',', '');
}

function amountText(cents: number, decimal: string): string {
  const digits = String(Math.abs(cents)).padStart(3, '0');
  return `${cents < 0 ? '-' : ''}${digits.slice(0, -2)}${decimal}${digits.slice(-2)}`;
}
