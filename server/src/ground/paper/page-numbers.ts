import { colours, type Page, right } from './pdf.ts';

/** pdfkit's own objects, which its types leave out: one that is written when it is known, and the resources of a page. */
interface Reference {
  write(content: string): void;
  end(content?: string): void;
}
interface Insides {
  ref(data: Record<string, unknown>): Reference;
  addContent(content: string): void;
  page: { xobjects: Record<string, Reference> };
}

export interface PageNumbers {
  /** Writes the number of the page that is open. */
  next(): void;
  /** Before the document ends: now it is known how many there are. */
  end(): void;
}

const top = 800;
/** Room for the count of all pages, to the right of the number. */
const countWidth = 18;

/**
 * `Página 3/6`, though a page leaves the memory as soon as it is drawn: every page shows one form (ISO 32000-1, 8.10), and the form is written last.
 * @param word before the number of a page
 */
export function numberPages(page: Page, word: string): PageNumbers {
  const document = page as unknown as Insides;
  const font = document.ref({
    Type: 'Font',
    Subtype: 'Type1',
    BaseFont: 'Helvetica',
    Encoding: 'WinAnsiEncoding',
  });
  font.end();
  const form = document.ref({
    Type: 'XObject',
    Subtype: 'Form',
    BBox: [0, 0, countWidth, 10],
    Resources: { Font: { F: font } },
  });
  let count = 0;
  return {
    next: () => {
      count++;
      const text = `${word} ${count}/`;
      page.font('Helvetica').fontSize(8).fillColor(colours.soft);
      const end = right - countWidth;
      page.text(text, end - page.widthOfString(text), top, { lineBreak: false });
      document.page.xobjects.Pages = form;
      // pdfkit draws downwards: the form is turned back. The base line of a line of text stands 0.718 of its size below its top.
      document.addContent(`q 1 0 0 -1 ${end} ${(top + 8 * 0.718).toFixed(2)} cm /Pages Do Q`);
    },
    end: () =>
      form.end(
        `BT /F 8 Tf ${colourOf(colours.soft)} rg 0 0 Td [<${Buffer.from(String(count)).toString('hex')}>] TJ ET`,
      ),
  };
}

/** `#rrggbb` as a page description writes it. */
const colourOf = (hex: string): string =>
  [1, 3, 5].map((from) => (Number.parseInt(hex.slice(from, from + 2), 16) / 255).toFixed(3)).join(' ');
