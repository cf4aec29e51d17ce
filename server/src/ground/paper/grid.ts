import type { Language } from '../errors.ts';
import type { Letterhead } from '../letterhead.ts';
import { numberPages } from './page-numbers.ts';
import { colours, drawHead, drawLetterhead, left, newDocument, type Page, right, shown } from './pdf.ts';

/** Figures by the day, as they are printed: a first column of names and columns of amounts. Plain data, since a thread of its own draws it. */
export interface Grid {
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
  columns: readonly string[];
  groups: readonly GridGroup[];
  /** The text of a grid without rows. */
  empty: string;
}

export interface GridGroup {
  /** Above its rows; null: nothing. */
  title: string | null;
  rows: readonly GridRow[];
}

export interface GridRow {
  /** One for each column. */
  cells: readonly string[];
  /** A sum. */
  strong: boolean;
}

const rowHeight = 14;
const firstWidth = 56;
const bottom = 841.89 - 72;
const oneLine = { lineBreak: false } as const;

export async function drawGrid(grid: Grid): Promise<Page> {
  const page = await newDocument(grid.title, grid.language);
  if (grid.letterhead) drawLetterhead(page, grid.letterhead, grid.title);
  else drawHead(page, grid.title);
  const numbers = numberPages(page, grid.page);
  numbers.next();
  page.font('Helvetica-Bold').fontSize(12).fillColor(colours.ink).text(shown(grid.owner), left, 128);
  page.font('Helvetica').fontSize(10).fillColor(colours.soft).text(grid.period, left, 146);
  if (grid.warning !== null) page.fillColor(colours.copper).text(grid.warning, left, 160);
  let top = drawColumns(page, grid, 184);
  /** The next place that has room for so many rows. */
  const room = (rows: number): number => {
    if (top + rows * rowHeight <= bottom) return top;
    page.addPage();
    numbers.next();
    return drawColumns(page, grid, 72);
  };
  for (const { title, rows } of grid.groups) {
    if (title !== null) {
      top = room(2) + 4;
      page.font('Helvetica-Bold').fontSize(9).fillColor(colours.ink).text(shown(title), left, top, oneLine);
      top += rowHeight;
    }
    for (const row of rows) {
      top = room(1);
      page
        .font(row.strong ? 'Helvetica-Bold' : 'Helvetica')
        .fontSize(8)
        .fillColor(colours.ink);
      drawCells(page, row.cells, top);
      top += rowHeight;
    }
  }
  if (grid.groups.length === 0) page.fontSize(9).fillColor(colours.soft).text(grid.empty, left, top);
  numbers.end();
  page.end();
  return page;
}

function drawColumns(page: Page, { columns }: Grid, top: number): number {
  page.font('Helvetica-Bold').fontSize(8).fillColor(colours.soft);
  drawCells(page, columns, top);
  page
    .moveTo(left, top + 12)
    .lineTo(right, top + 12)
    .lineWidth(0.5)
    .strokeColor(colours.line)
    .stroke();
  return top + rowHeight + 3;
}

/** The first from the left, the others up to their column's end. */
function drawCells(page: Page, [first = '', ...others]: readonly string[], top: number): void {
  page.text(first, left, top, oneLine);
  const width = (right - left - firstWidth) / others.length;
  for (const [at, text] of others.entries())
    page.text(text, left + firstWidth + (at + 1) * width - page.widthOfString(text), top, oneLine);
}
