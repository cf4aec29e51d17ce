import type { Language } from '../errors.ts';
import type { Letterhead } from '../letterhead.ts';
import { numberPages, type PageNumbers } from './page-numbers.ts';
import { colours, drawHead, drawLetterhead, left, newDocument, type Page, right, shown } from './pdf.ts';

/** The head of a document of several pages. */
export interface Heading {
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
  /** The text of a document without rows. */
  empty: string;
}

/** Where the columns begin on the first page and on the others, and where the last row ends. */
export const firstTop = 184;
export const nextTop = 72;
export const bottom = 841.89 - 72;
/** Without pdfkit's line breaking, which is ten times the work of a row. */
export const oneLine = { lineBreak: false } as const;

/** The first page with its heading. */
export async function beginPages(heading: Heading): Promise<{ page: Page; numbers: PageNumbers }> {
  const page = await newDocument(heading.title, heading.language);
  if (heading.letterhead) drawLetterhead(page, heading.letterhead, heading.title);
  else drawHead(page, heading.title);
  const numbers = numberPages(page, heading.page);
  numbers.next();
  page.font('Helvetica-Bold').fontSize(12).fillColor(colours.ink).text(shown(heading.owner), left, 128);
  page.font('Helvetica').fontSize(10).fillColor(colours.soft).text(heading.period, left, 146);
  if (heading.warning !== null) page.fillColor(colours.copper).text(heading.warning, left, 160);
  return { page, numbers };
}

/** Below the names of the columns. */
export function drawRule(page: Page, top: number, beyond = 0): void {
  page
    .moveTo(left - beyond, top)
    .lineTo(right + beyond, top)
    .lineWidth(0.5)
    .strokeColor(colours.line)
    .stroke();
}
