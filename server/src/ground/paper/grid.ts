import { beginPages, bottom, drawRule, firstTop, type Heading, nextTop, oneLine } from './pages.ts';
import { colours, left, type Page, right, shown } from './pdf.ts';

/** Figures by the day, as they are printed: a first column of names and columns of amounts. Plain data, since a thread of its own draws it. */
export interface Grid extends Heading {
  columns: readonly string[];
  groups: readonly GridGroup[];
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

export async function drawGrid(grid: Grid): Promise<Page> {
  const { page, numbers } = await beginPages(grid);
  let top = drawColumns(page, grid, firstTop);
  /** The next place that has room for so many rows. */
  const room = (rows: number): number => {
    if (top + rows * rowHeight <= bottom) return top;
    page.addPage();
    numbers.next();
    return drawColumns(page, grid, nextTop);
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
  drawRule(page, top + 12);
  return top + rowHeight + 3;
}

/** The first from the left, the others up to their column's end. */
function drawCells(page: Page, [first = '', ...others]: readonly string[], top: number): void {
  page.text(first, left, top, oneLine);
  const width = (right - left - firstWidth) / others.length;
  for (const [at, text] of others.entries())
    page.text(text, left + firstWidth + (at + 1) * width - page.widthOfString(text), top, oneLine);
}
