/**
 * Tables for spreadsheets (RFC 4180). What begins like a formula gets an apostrophe in front: a payer's name must not be run
 * by the spreadsheet of whoever opens the file. Amounts are ours and stay numbers, also below zero.
 */
export interface CsvForm {
  /** Where `;` separates, the comma is the decimal sign. */
  separator: ',' | ';';
}

/** Cents stand in an object, everything else is text. */
export type Cell = string | null | { cents: number };

export const csvLine = (cells: readonly Cell[], form: CsvForm): string =>
  `${cells.map((cell) => csvCell(cell, form)).join(form.separator)}\r\n`;

function csvCell(cell: Cell, { separator }: CsvForm): string {
  if (cell === null) return '';
  if (typeof cell === 'object') {
    const amount = amountText(cell.cents, separator === ';' ? ',' : '.');
    return amount.includes(separator) ? `"${amount}"` : amount;
  }
  const safe = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /["\r\n]/.test(safe) || safe.includes(separator) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function amountText(cents: number, decimal: string): string {
  const digits = String(Math.abs(cents)).padStart(3, '0');
  return `${cents < 0 ? '-' : ''}${digits.slice(0, -2)}${decimal}${digits.slice(-2)}`;
}
