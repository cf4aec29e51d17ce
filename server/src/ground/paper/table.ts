import { amountText } from '../money.ts';
import type { PageNumbers } from './page-numbers.ts';
import { beginPages, bottom, drawRule, firstTop, type Heading, nextTop, oneLine } from './pages.ts';
import { colours, left, type Page, right, shown } from './pdf.ts';

/** A statement as it is printed. Plain data, since a thread of its own draws it. */
export interface Table extends Heading {
  columns: Record<'when' | 'what' | 'document' | 'debit' | 'credit' | 'balance', string>;
  opening: TableSum;
  closing: TableSum;
  /** The labels of the figures, in their order. */
  sums: Readonly<Record<string, string>>;
}

export interface TableSum {
  label: string;
  cents: number;
}

export interface TableRow {
  when: string;
  what: string;
  /** The number of the entry, as in the other files. */
  document: string;
  /** At most 0, and at least 0. */
  debitCents: number;
  creditCents: number;
  balanceCents: number;
  /** The parts of it, each with the sum that it counts for. */
  figures: readonly (readonly [figure: string, cents: number])[];
}

/** Six columns need more of the paper than its head. */
const beyond = 26;
/** Where texts begin and where numbers end. */
const column = {
  when: left - beyond,
  what: left - beyond + 76,
  document: right + beyond - 186,
  debit: right + beyond - 126,
  credit: right + beyond - 64,
  balance: right + beyond,
};
const size = 8.5;
const rowHeight = 14;
/** Between the lines of one row. */
const lineHeight = 10.5;
const whatWidth = column.document - 36 - column.what;

/** The statement for people: opening balance, a row for each line, totals, closing balance. */
export async function beginTable(table: Table): Promise<DrawnTable> {
  const { page, numbers } = await beginPages(table);
  const sums = new Map(Object.keys(table.sums).map((figure) => [figure, 0]));
  let isEmpty = true;
  let top = drawColumns(page, table, firstTop);
  top = drawSum(page, table.opening, top);
  return {
    page,
    rows: (rows) => {
      for (const row of rows) {
        isEmpty = false;
        const lines = linesOf(page.font('Helvetica').fontSize(size), shown(row.what), whatWidth);
        const height = rowHeight + (lines.length - 1) * lineHeight;
        if (top + height > bottom) top = nextPage(page, table, numbers);
        drawRow(page, row, lines, top);
        top += height;
        for (const [figure, cents] of row.figures) sums.set(figure, (sums.get(figure) ?? 0) + cents);
      }
    },
    end: () => {
      if (top + 8 * rowHeight > bottom) top = nextPage(page, table, numbers);
      if (isEmpty) {
        page.fillColor(colours.soft).text(table.empty, column.what, top);
        top += rowHeight;
      }
      top = drawSum(page, table.closing, top) + rowHeight / 2;
      for (const [figure, label] of Object.entries(table.sums)) {
        page.font('Helvetica').fontSize(size).fillColor(colours.soft).text(label, column.what, top);
        drawNumbers(page, { balance: amountText(sums.get(figure) ?? 0) }, top);
        top += rowHeight;
      }
      numbers.end();
      page.end();
    },
  };
}

export interface DrawnTable {
  page: Page;
  rows(rows: readonly TableRow[]): void;
  end(): void;
}

function nextPage(page: Page, table: Table, numbers: PageNumbers): number {
  page.addPage();
  numbers.next();
  return drawColumns(page, table, nextTop);
}

function drawColumns(page: Page, { columns }: Table, top: number): number {
  const { when, what, ...numbers } = columns;
  page.font('Helvetica-Bold').fontSize(size).fillColor(colours.soft);
  page.text(when, column.when, top).text(what, column.what, top);
  drawNumbers(page, numbers, top);
  drawRule(page, top + 13, beyond);
  return top + rowHeight + 4;
}

type Numbers = Partial<Record<'document' | 'debit' | 'credit' | 'balance', string>>;

function drawNumbers(page: Page, numbers: Numbers, top: number): void {
  for (const [name, text] of Object.entries(numbers))
    page.text(text, column[name as keyof Numbers] - page.widthOfString(text), top, oneLine);
}

function drawSum(page: Page, { label, cents }: TableSum, top: number): number {
  page.font('Helvetica-Bold').fontSize(size).fillColor(colours.ink).text(label, column.what, top);
  drawNumbers(page, { balance: amountText(cents) }, top);
  return top + rowHeight;
}

function drawRow(page: Page, row: TableRow, lines: readonly string[], top: number): void {
  page.font('Helvetica').fontSize(size).fillColor(colours.ink);
  page.text(row.when, column.when, top, oneLine);
  for (const [at, line] of lines.entries()) page.text(line, column.what, top + at * lineHeight, oneLine);
  const { document, debitCents, creditCents, balanceCents } = row;
  drawNumbers(
    page,
    {
      document,
      ...(debitCents < 0 && { debit: amountText(debitCents) }),
      ...(creditCents > 0 && { credit: amountText(creditCents) }),
      balance: amountText(balanceCents),
    },
    top,
  );
}

/** A text in lines of at most this width, broken between words; a word that is wider than a line is broken within. In the page's font. */
export function linesOf(page: Pick<Page, 'widthOfString'>, text: string, width: number): string[] {
  if (page.widthOfString(text) <= width) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (page.widthOfString(longer) <= width) line = longer;
    else {
      if (line !== '') lines.push(line);
      line = word;
      while (page.widthOfString(line) > width) {
        const fits = lengthThatFits(page, line, width);
        lines.push(line.slice(0, fits));
        line = line.slice(fits);
      }
    }
  }
  return [...lines, line];
}

/** At least one letter, found by halving. */
function lengthThatFits(page: Pick<Page, 'widthOfString'>, text: string, width: number): number {
  let [fits, tooLong] = [1, text.length];
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >> 1;
    if (page.widthOfString(text.slice(0, middle)) <= width) fits = middle;
    else tooLong = middle;
  }
  return fits;
}
