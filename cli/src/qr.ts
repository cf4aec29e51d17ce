import { encodeQR } from 'qr';

/** Black on white, whatever the terminal's own colours are: not every telephone reads an inverted code. */
const ink = { begin: '\x1b[38;5;16;48;5;231m', end: '\x1b[0m' };

/** Bit 0 for a dark dot above, bit 1 for one below. */
const blocks = [' ', '▀', '▄', '█'];

/** Half blocks: two rows of the code in one line, so that it fits into 80 columns. In a file, without colours, the blocks are what is light. */
export function drawQr(text: string, coloured: boolean): string {
  const options = { ecc: 'low', border: 2 } as const;
  if (!coloured) return encodeQR(text, 'ascii', options);
  const rows = encodeQR(text, 'raw', options);
  const lineAt = (y: number): string =>
    (rows[y] ?? []).map((dark, x) => blocks[Number(dark) + 2 * Number(rows[y + 1]?.[x] ?? false)]).join('');
  return rows.flatMap((_, y) => (y % 2 === 0 ? [`${ink.begin}${lineAt(y)}${ink.end}\n`] : [])).join('');
}
