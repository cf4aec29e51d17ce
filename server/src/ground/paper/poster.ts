import type { Language } from '../errors.ts';
import type { Letterhead } from '../letterhead.ts';
import { colours, drawQr, newDocument, type Page, shown } from './pdf.ts';

/** Sides in points: A4, A6 and the roll of receipt printers, 80 by 150 mm, cut off where the poster ends. */
export const posterSizes = {
  a4: [595.28, 841.89],
  a6: [297.64, 419.53],
  '80mm': [226.77, 425.2],
} as const;

export type PosterSize = keyof typeof posterSizes;

/** A page with one QR code to hang up. Plain data, since a thread of its own draws it. */
export interface Poster {
  language: Language;
  size: PosterSize;
  /** Of the document, as readers show it. */
  documentTitle: string;
  /** The logo and the colour of the merchant; null: ours. */
  letterhead: Letterhead | null;
  merchant: string;
  /** The greatest line: how it is paid. */
  title: string;
  name: string;
  amount: string;
  /** The text of the QR code. */
  code: string;
  steps: readonly string[];
  /** To find the paper again. */
  foot: string;
  /** Null: nothing. */
  warning: string | null;
}

/** Parts of the paper's hundredth of width, so that one drawing fits each paper. A roll is narrow: its code and small letters take more of it. */
const sheets = { side: 54, step: 3.7, foot: 2.4, name: 4.6 };
const roll = { side: 82, step: 4.6, foot: 3.2, name: 5 };

/** A PDF of one page. */
export async function drawPoster(poster: Poster): Promise<Page> {
  const [width, height] = posterSizes[poster.size];
  const page = await newDocument(poster.documentTitle, poster.language, { size: [width, height], margin: 0 });
  const unit = width / 100;
  const part = poster.size === '80mm' ? roll : sheets;
  const ours = poster.letterhead?.colour ?? colours.deep;
  let top = 6 * unit;
  /** A text in the middle, of at most so many lines: a long one ends with three dots and never makes a second page. */
  const line = (text: string, size: number, lines: number, font: string, colour: string, gap: number) => {
    page.font(font).fontSize(size * unit);
    page.fillColor(colour);
    const room = { width: 90 * unit, align: 'center', height: lines * page.currentLineHeight(true) } as const;
    const needed = Math.min(page.heightOfString(shown(text), { width: room.width }), room.height);
    page.text(shown(text), 5 * unit, top, { ...room, ellipsis: true });
    top += needed + gap * unit;
  };
  const logo = poster.letterhead?.logo ?? null;
  if (logo !== null) {
    page.image(Buffer.from(logo), 30 * unit, top, {
      fit: [40 * unit, 12 * unit],
      align: 'center',
      valign: 'center',
    });
    top += 13.5 * unit;
  }
  line(poster.merchant, 4.4, 1, 'Helvetica-Bold', ours, 1.6);
  line(poster.title, 8, 1, 'Helvetica-Bold', colours.ink, 1.6);
  line(poster.name, part.name, 2, 'Helvetica', colours.ink, 1.2);
  line(poster.amount, 6, 1, 'Helvetica-Bold', colours.ink, 3);
  drawQr(page, poster.code, 50 * unit - (part.side * unit) / 2, top, part.side * unit);
  top += (part.side + 3) * unit;
  for (const [n, step] of poster.steps.entries())
    line(`${n + 1}. ${step}`, part.step, 1, 'Helvetica', colours.ink, 0.8);
  top += 1.2 * unit;
  line(poster.foot, part.foot, 1, 'Courier', colours.soft, 0.8);
  if (poster.warning !== null) line(poster.warning, part.foot, 1, 'Helvetica-Bold', colours.copper, 0);
  page.end();
  return page;
}
