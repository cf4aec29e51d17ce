import type { Language } from '../errors.ts';
import type { Letterhead } from '../letterhead.ts';
import {
  colours,
  drawHead,
  drawLetterhead,
  drawQr,
  left,
  newDocument,
  type Page,
  right,
  shown,
} from './pdf.ts';

/** A page with one amount and what belongs to it: a receipt. Plain data, since a thread of its own draws it. */
export interface Sheet {
  language: Language;
  /** Of the document, as readers show it. */
  documentTitle: string;
  title: string;
  what: string;
  amount: string;
  rows: readonly SheetRow[];
  /** Below the rows; null: nothing. */
  remark: string | null;
  /** Below it, so that it is not overlooked; null: nothing. */
  warning: string | null;
  letterhead: Letterhead | null;
  /** The public page that says today's state of this receipt, as a QR code at the bottom; null: none. */
  proof: { url: string; text: string } | null;
}

/** `code`: in letters of one width. */
export type SheetRow = readonly [label: string, value: string, code: boolean];

/** A PDF of one A4 page, in the look of the page that the browser prints. */
export async function drawSheet(sheet: Sheet): Promise<Page> {
  const page = await newDocument(sheet.documentTitle, sheet.language);
  if (sheet.letterhead) drawLetterhead(page, sheet.letterhead, sheet.title);
  else drawHead(page, sheet.title);
  page.font('Helvetica-Bold').fontSize(12).text(sheet.what, left, 136);
  page.fontSize(30).fillColor(colours.ink).text(sheet.amount, left, 154);
  let top = 214;
  for (const [label, value, code] of sheet.rows) {
    page.font('Helvetica').fontSize(10.5).fillColor(colours.soft).text(label, left, top, { width: 130 });
    page.fillColor(colours.ink);
    page.font(code ? 'Courier' : 'Helvetica');
    page.text(shown(value), left + 140, top, { width: right - left - 140 });
    top = page.y + 9;
    page.moveTo(left, top).lineTo(right, top).lineWidth(0.5).strokeColor(colours.line).stroke();
    top += 10;
  }
  page.font('Helvetica').fontSize(9.5).fillColor(colours.soft);
  if (sheet.remark !== null) page.text(sheet.remark, left, top + 8);
  if (sheet.warning !== null)
    page
      .font('Helvetica-Bold')
      .fillColor(colours.copper)
      .text(sheet.warning, left, top + 26);
  if (sheet.proof !== null) drawProof(page, sheet.proof);
  page.end();
  return page;
}

/** Some 32 mm wide: a telephone reads it off paper. */
const proofSide = 92;

function drawProof(page: Page, { url, text }: { url: string; text: string }): void {
  const top = 842 - 72 - proofSide;
  drawQr(page, url, left, top, proofSide);
  page.font('Helvetica').fontSize(9.5).fillColor(colours.soft);
  page.text(text, left + proofSide + 16, top + 8, { width: right - left - proofSide - 16 });
  page.fontSize(7).text(url, { width: right - left - proofSide - 16, link: url });
}
