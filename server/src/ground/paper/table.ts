import type { Language } from '../errors.ts';
import type { Letterhead } from '../letterhead.ts';
import { amountText } from '../money.ts';
import { colours, drawHead, drawLetterhead, left, newDocument, type Page, right, shown } from './pdf.ts';

/** A statement as it is printed. Plain data, since a thread of its own draws it. */
export interface Table {
  language: Language;
  title: string;
  /** Null: the account has set none. */
  letterhead: Letterhead | null;
  /** The word before the number of a page. */
  page: string;
  /** Whose it is, and of which time. */
  owner: string;
  period: string;
  /** Below them; null: nothing. */
  warning: string | null;
  columns: { when: string; what: string; amount: string; balance: string };
  opening: TableSum;
  closing: TableSum;
  /** The text of a table without rows. */
  empty: string;
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
const bottom = 841.89 - 72;

/** The statement for people: opening balance, a row for each line, totals, closing balance. */
export async function beginTable(table: Table): Promise<DrawnTable> {
  const page = await newDocument(table.title, table.language);
  if (table.letterhead) drawLetterhead(page, table.letterhead, table.title);
  else drawHead(page, table.title);
  const pages = { count: 1 };
  drawNumber(page, table, pages.count);
  page.font('Helvetica-Bold').fontSize(12).fillColor(colours.ink);
  page.text(shown(table.owner), left, 128);
  page.font('Helvetica').fontSize(10).fillColor(colours.soft);
  page.text(table.period, left, 146);
  if (table.warning !== null) page.fillColor(colours.copper).text(table.warning, left, 160);

  const sums = new Map(Object.keys(table.sums).map((figure) => [figure, 0]));
  let isEmpty = true;
  let top = drawColumns(page, table, 184);
  top = drawSum(page, table.opening, top);
  return {
    page,
    rows: (rows) => {
      for (const row of rows) {
        isEmpty = false;
        if (top + rowHeight > bottom) top = nextPage(page, table, pages);
        drawRow(page, row, top);
        top += rowHeight;
        sums.set(row.figure, (sums.get(row.figure) ?? 0) + row.amountCents);
      }
    },
    end: () => {
      if (top + 8 * rowHeight > bottom) top = nextPage(page, table, pages);
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
      page.end();
    },
  };
}

export interface DrawnTable {
  page: Page;
  rows(rows: readonly TableRow[]): void;
  end(): void;
}

function nextPage(page: Page, table: Table, pages: { count: number }): number {
  page.addPage();
  pages.count++;
  drawNumber(page, table, pages.count);
  return drawColumns(page, table, 72);
}

function drawColumns(page: Page, { columns }: Table, top: number): number {
  page.font('Helvetica-Bold').fontSize(9).fillColor(colours.soft);
  page.text(columns.when, column.when, top).text(columns.what, column.what, top);
  drawNumbers(page, columns.amount, columns.balance, top);
  page
    .moveTo(left, top + 13)
    .lineTo(right, top + 13)
    .lineWidth(0.5)
    .strokeColor(colours.line)
    .stroke();
  return top + rowHeight + 4;
}

/** Without the count of all pages, which nothing knows before the last: a page leaves the memory as soon as it is drawn. */
function drawNumber(page: Page, { page: word }: Table, at: number): void {
  const text = `${word} ${at}`;
  page.font('Helvetica').fontSize(8).fillColor(colours.soft);
  page.text(text, right - page.widthOfString(text), 800, oneLine);
}

/** Without pdfkit's line breaking, which is ten times the work of a row. */
const oneLine = { lineBreak: false } as const;

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

function drawRow(page: Page, row: TableRow, top: number): void {
  page.font('Helvetica').fontSize(9).fillColor(colours.ink);
  page.text(row.when, column.when, top, oneLine);
  page.text(cutTo(page, shown(row.what), column.amount - 70 - column.what), column.what, top, oneLine);
  drawNumbers(page, amountText(row.amountCents), amountText(row.balanceCents), top);
}

function cutTo(page: Page, text: string, width: number): string {
  if (page.widthOfString(text) <= width) return text;
  let kept = text.slice(0, 80);
  while (kept !== '' && page.widthOfString(`${kept}…`) > width) kept = kept.slice(0, -1);
  return `${kept}…`;
}
