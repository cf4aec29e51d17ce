import fc from 'fast-check';
import { PNG } from 'pngjs';
import decodeQR from 'qr/decode.js';
import { describe, expect, test } from 'vitest';
import { buildBrCode } from './br-code.ts';
import { qrPngDataUrl } from './qr.ts';

const prefix = 'data:image/png;base64,';

async function read(code: string): Promise<string> {
  const url = await qrPngDataUrl(code);
  expect(url.startsWith(prefix)).toBe(true);
  const png = PNG.sync.read(Buffer.from(url.slice(prefix.length), 'base64'));
  return decodeQR({ width: png.width, height: png.height, data: png.data });
}

describe('the QR image', () => {
  test('is read back to the same code, at every length that a provider may send', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({
          unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789'),
          minLength: 1,
          maxLength: 60,
        }),
        async (tail) => {
          const code = buildBrCode({
            location: `qr.example/v2/${tail}`,
            amount: '10.00',
            merchantName: 'RECEBEDOR',
            merchantCity: 'BRASILIA',
          });
          expect(await read(code)).toBe(code);
        },
      ),
      { numRuns: 20 },
    );
    const longest = 'A1b2'.repeat(128);
    expect(await read(longest)).toBe(longest);
  });

  test('is small', async () => {
    expect((await qrPngDataUrl('x'.repeat(512))).length).toBeLessThan(8 * 1024);
  });

  test('the same code gives the same image', async () => {
    expect(await qrPngDataUrl('same')).toBe(await qrPngDataUrl('same'));
  });
});
