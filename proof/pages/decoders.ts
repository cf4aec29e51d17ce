import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { installedPackages } from '../judges.ts';

/** A picture of a camera or a scanner: four bytes for each pixel, as in a PNG. */
export interface Pixels {
  width: number;
  height: number;
  data: Uint8ClampedArray;
}

/** Reads a QR code out of a picture; null: it finds none. */
export type Decoder = (pixels: Pixels) => Promise<string | null>;

export interface Judges {
  /** Three that share no code: jsQR, ZXing as its port to JavaScript, ZBar as it was compiled from C. */
  decoders: Readonly<Record<string, Decoder>>;
  /** The first page of a PDF file as a printer puts it on paper. */
  printed(pdf: Uint8Array, dotsPerInch: number): Promise<Pixels>;
}

export async function installedJudges(): Promise<Judges> {
  const folder = await installedPackages(new URL('judges/', import.meta.url));
  const require = createRequire(join(folder, 'judges.js'));
  return {
    decoders: {
      jsQR: jsQrOf(require('jsqr')),
      ZXing: zxingOf(require('@zxing/library')),
      ZBar: zbarOf(require('@undecaf/zbar-wasm')),
    },
    printed: printerOf(
      await import(pathToFileURL(join(folder, 'pdfjs-dist/legacy/build/pdf.mjs')).href),
      require('@napi-rs/canvas'),
      `${join(folder, 'pdfjs-dist/standard_fonts')}/`,
    ),
  };
}

interface JsQr {
  default(data: Uint8ClampedArray, width: number, height: number): { data: string } | null;
}

const jsQrOf =
  ({ default: read }: JsQr): Decoder =>
  async ({ data, width, height }) =>
    read(data, width, height)?.data ?? null;

interface Zxing {
  RGBLuminanceSource: new (luminances: Uint8ClampedArray, width: number, height: number) => object;
  HybridBinarizer: new (source: object) => object;
  BinaryBitmap: new (binarizer: object) => object;
  QRCodeReader: new () => { decode(bitmap: object, hints: Map<unknown, unknown>): { getText(): string } };
  DecodeHintType: { TRY_HARDER: unknown };
  NotFoundException: new () => Error;
  FormatException: new () => Error;
  ChecksumException: new () => Error;
}

const zxingOf =
  (zxing: Zxing): Decoder =>
  async (pixels) => {
    const source = new zxing.RGBLuminanceSource(greyOf(pixels), pixels.width, pixels.height);
    const bitmap = new zxing.BinaryBitmap(new zxing.HybridBinarizer(source));
    try {
      const hints = new Map([[zxing.DecodeHintType.TRY_HARDER, true]]);
      return new zxing.QRCodeReader().decode(bitmap, hints).getText();
    } catch (error) {
      // All three say that no symbol was read: it found none, or took something else for one (`Reader.decode` of its documents).
      const unread = [zxing.NotFoundException, zxing.FormatException, zxing.ChecksumException];
      if (unread.some((kind) => error instanceof kind)) return null;
      throw error;
    }
  };

/** Luminance as ITU-R BT.601 weighs it. */
function greyOf({ data, width, height }: Pixels): Uint8ClampedArray {
  const grey = new Uint8ClampedArray(width * height);
  for (let at = 0; at < grey.length; at++) {
    const [red = 0, green = 0, blue = 0] = data.subarray(4 * at, 4 * at + 3);
    grey[at] = 0.299 * red + 0.587 * green + 0.114 * blue;
  }
  return grey;
}

interface Zbar {
  scanImageData(image: Pixels): Promise<{ decode(): string }[]>;
}

const zbarOf =
  ({ scanImageData }: Zbar): Decoder =>
  async (pixels) =>
    (await scanImageData(pixels))[0]?.decode() ?? null;

interface PdfJs {
  getDocument(given: object): {
    promise: Promise<{
      getPage(number: number): Promise<{
        getViewport(given: { scale: number }): { width: number; height: number };
        render(given: object): { promise: Promise<void> };
      }>;
    }>;
    destroy(): Promise<void>;
  };
}

interface Canvases {
  createCanvas(
    width: number,
    height: number,
  ): {
    getContext(kind: '2d'): {
      getImageData(x: number, y: number, width: number, height: number): Pixels;
    };
  };
}

const printerOf =
  ({ getDocument }: PdfJs, { createCanvas }: Canvases, standardFontDataUrl: string): Judges['printed'] =>
  async (pdf, dotsPerInch) => {
    const reading = getDocument({ data: new Uint8Array(pdf), standardFontDataUrl, verbosity: 0 });
    const page = await (await reading.promise).getPage(1);
    // A PDF counts in points, of which an inch has 72.
    const viewport = page.getViewport({ scale: dotsPerInch / 72 });
    const [width, height] = [Math.round(viewport.width), Math.round(viewport.height)];
    const canvas = createCanvas(width, height);
    const canvasContext = canvas.getContext('2d');
    await page.render({ canvas, canvasContext, viewport, background: '#fff' }).promise;
    await reading.destroy();
    return canvasContext.getImageData(0, 0, width, height);
  };
