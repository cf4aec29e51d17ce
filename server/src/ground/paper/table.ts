import { amountText } from '../money.ts';
import type { PageNumbers } from './page-numbers.ts';
import { beginPages, bottom, drawRule, firstTop, type Heading, nextTop, oneLine } from './pages.ts';
import { colours, left, type Page, right, shown } from './pdf.ts';

/** A statement as it is printed. Plain data, since a thread of its own draws it. */
export interface Table extends Heading {
  columns: { when: string; what: string; amount: string; balance: string };
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
  amountCents: number;
  balanceCents: number;
  /** The sum that it counts for. */
  figure: string;
}

/** Where texts begin and where numbers end. */
const column = { when: left, what: left + 92, amount: right - 80, balance: right };
const rowHeight = 15;
/** Between the lines of one row. */
const lineHeight = 11;
const whatWidth = column.amount - 70 - column.what;

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
        const lines = linesOf(page.font('Helvetica').fontSize(9), shown(row.what), whatWidth);
        const height = rowHeight + (lines.length - 1) * lineHeight;
        if (top + height > bottom) top = nextPage(page, table, numbers);
        drawRow(page, row, lines, top);
        top += height;
        sums.set(row.figure, (sums.get(row.figure) ?? 0) + row.amountCents);
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
        page.font('Helvetica').fontSize(9).fillColor(colours.soft).text(label, column.what, top);
        drawNumbers(page, '', amountText(sums.get(figure) ?? 0), top);
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
  page.font('Helvetica-Bold').fontSize(9).fillColor(colours.soft);
  page.text(columns.when, column.when, top).text(columns.what, column.what, top);
  drawNumbers(page, columns.amount, columns.balance, top);
  drawRule(page, top + 13);
  return top + rowHeight + 4;
}

function drawNumbers(page: Page, first: string, second: string, top: number): void {
  for (const [text, end] of [
    [first, column.amount],
    [second, column.balance],
  ] as const) {
    page.text(text, end - page.widthOfString(text), top, oneLine);
  }
}

function drawSum(page: Page, { label, cents }: TableSum, top: number): number {
  page.font('Helvetica-Bold').fontSize(9).fillColor(colours.ink).text(label, column.what, top);
  drawNumbers(page, '', amountText(cents), top);
  return top + rowHeight;
}

function drawRow(page: Page, row: TableRow, lines: readonly string[], top: number): void {
  page.font('Helvetica').fontSize(9).fillColor(colours.ink);
  page.text(row.when, column.when, top, oneLine);
  for (const [at, line] of lines.entries()) page.text(line, column.what, top + at * lineHeight, oneLine);
  drawNumbers(page, amountText(row.amountCents), amountText(row.balanceCents), top);
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
