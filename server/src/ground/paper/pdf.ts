import type PDFDocument from 'pdfkit';
import QRCode from 'qrcode';
import type { Language } from '../errors.ts';
import type { Letterhead } from '../letterhead.ts';

/** The look that PDF files for people share: A4, the mark at the top left, what it is at the top right. */
export type Page = InstanceType<typeof PDFDocument>;

export const colours = {
  ink: '#16211d',
  soft: '#52605a',
  line: '#e2e6e0',
  deep: '#0f4f3e',
  copper: '#9a5422',
};
export const left = 72;
export const right = 595.28 - 72;

/** Text that the fonts of every reader can show: names come from payers, in whatever writing. */
export const shown = (text: string): string =>
  text.normalize('NFC').replace(/[^\x20-\x7e\u00a0-\u00ff\u2013-\u2022]/gu, '?');

/** @param paper sides and margin in points */
export async function newDocument(
  title: string,
  language: Language,
  paper: { size: 'A4' | [number, number]; margin: number } = { size: 'A4', margin: 72 },
): Promise<Page> {
  // A fifth of a second of reading that no start should wait for.
  const { default: Document } = await import('pdfkit');
  return new Document({
    ...paper,
    lang: language,
    info: { Title: title, Author: 'vintem', Producer: 'vintem', Creator: 'vintem' },
  });
}

/** The merchant's name, logo and colour at the top left, what it is at the top right. */
export function drawLetterhead(page: Page, { name, detail, colour, logo }: Letterhead, title: string): void {
  const ours = colour ?? colours.deep;
  page.rect(0, 0, 595.28, 8).fill(ours);
  if (logo !== null) page.image(Buffer.from(logo), left, 62, { fit: [110, 40], valign: 'center' });
  const from = logo === null ? left : left + 124;
  const width = right - from - 110;
  page.font('Helvetica-Bold').fontSize(14).fillColor(ours);
  page.text(shown(name), from, detail === null ? 76 : 68, { width, height: 18, ellipsis: true });
  page.font('Helvetica').fontSize(9.5).fillColor(colours.soft);
  if (detail !== null) page.text(shown(detail), from, 88, { width });
  page.fontSize(11).text(title, right - 104, 80, { width: 104, align: 'right' });
  page.moveTo(left, 112).lineTo(right, 112).lineWidth(1).strokeColor(colours.line).stroke();
}

export function drawHead(page: Page, title: string): void {
  drawCoin(page);
  page
    .font('Helvetica-Bold')
    .fontSize(16)
    .fillColor(colours.deep)
    .text('vintem', left + 34, 76);
  page.font('Helvetica').fontSize(11).fillColor(colours.soft);
  page.text(title, left, 80, { width: right - left, align: 'right' });
  page.moveTo(left, 112).lineTo(right, 112).lineWidth(1).strokeColor(colours.line).stroke();
}

/** The QR code of a text: squares, which are sharp at any size. What is around it has to be white, four of its modules wide. */
export function drawQr(page: Page, text: string, x: number, y: number, side: number): void {
  const { modules } = QRCode.create(text, { errorCorrectionLevel: 'M' });
  const step = side / modules.size;
  for (let row = 0; row < modules.size; row++)
    for (let column = 0; column < modules.size; column++)
      if (modules.data[row * modules.size + column]) page.rect(x + column * step, y + row * step, step, step);
  page.fill(colours.ink);
}

/** The mark of `vintem.svg`. */
function drawCoin(page: Page): void {
  page.save().translate(left, 70).scale(0.8);
  page.circle(16, 16, 15).fill('#b7682c');
  page.circle(16, 16, 11.5).lineWidth(1.5).stroke('#f3d9bf');
  page.moveTo(10.5, 10.5).lineTo(16, 21.5).lineTo(21.5, 10.5);
  page.lineWidth(3).lineCap('round').lineJoin('round').stroke('#ffffff');
  page.restore();
}
