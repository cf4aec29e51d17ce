import { deflateSync } from 'node:zlib';
import { PNG } from 'pngjs';
import { describe, expect, test } from 'vitest';
import { cleanLogo, logoMostBytes, logoTallest, logoWidest } from './logo.ts';

const picture = (width: number, height: number): PNG => {
  const png = new PNG({ width, height });
  for (let at = 0; at < png.data.length; at++) png.data[at] = (at * 37) % 256;
  return png;
};
const bytesOf = (width: number, height: number): Buffer => PNG.sync.write(picture(width, height));

const crcTable = Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});
function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  let crc = 0xffffffff;
  for (const byte of body) crc = (crcTable[(crc ^ byte) & 255] ?? 0) ^ (crc >>> 8);
  const out = Buffer.alloc(8 + data.length + 4);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE((crc ^ 0xffffffff) >>> 0, 8 + data.length);
  return out;
}
const header = (width: number, height: number, depth: number, interlace: number): Buffer => {
  const data = Buffer.alloc(13);
  data.writeUInt32BE(width, 0);
  data.writeUInt32BE(height, 4);
  data.set([depth, 6, 0, 0, interlace], 8);
  return data;
};
const file = (head: Buffer, pixels: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', head),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ]);

describe('a logo', () => {
  test('is stored as a new file of the same pixels', () => {
    const clean = cleanLogo(bytesOf(120, 40));
    expect(clean && PNG.sync.read(clean).data.equals(picture(120, 40).data)).toBe(true);
  });

  test('loses everything that is not a pixel: text, profiles, what follows the end', () => {
    const sent = bytesOf(20, 20);
    const text = chunk('tEXt', Buffer.from('Comment\0<script>alert(1)</script>'));
    const end = sent.length - 12;
    const polyglot = Buffer.concat([
      sent.subarray(0, end),
      text,
      sent.subarray(end),
      Buffer.from('<html><script>alert(2)</script>'),
    ]);
    const clean = cleanLogo(polyglot);
    if (clean !== null) {
      expect(clean.includes('script')).toBe(false);
      expect(PNG.sync.read(clean).data.equals(picture(20, 20).data)).toBe(true);
    }
    const within = cleanLogo(Buffer.concat([sent.subarray(0, end), text, sent.subarray(end)]));
    expect(within?.includes('script')).toBe(false);
  });

  test.each<[string, Buffer]>([
    [
      'an SVG',
      Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>${' '.repeat(60)}`),
    ],
    ['a JPEG', Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(100)])],
    ['a GIF', Buffer.concat([Buffer.from('GIF89a'), Buffer.alloc(100)])],
    ['nothing', Buffer.alloc(0)],
    ['a head alone', bytesOf(20, 20).subarray(0, 40)],
    ['half a picture', bytesOf(120, 40).subarray(0, 300)],
    ['one that is too wide', bytesOf(logoWidest + 1, 2)],
    ['one that is too tall', bytesOf(2, logoTallest + 1)],
    ['one of no width', file(header(0, 10, 8, 0), deflateSync(Buffer.alloc(10)))],
    [
      'one whose head lies about its size',
      file(header(0x7fffffff, 0x7fffffff, 8, 0), deflateSync(Buffer.alloc(10))),
    ],
    ['an interlaced one', file(header(10, 10, 8, 1), deflateSync(Buffer.alloc(410)))],
    ['one of sixteen bits', file(header(10, 10, 16, 0), deflateSync(Buffer.alloc(810)))],
    ['a large file', Buffer.concat([bytesOf(20, 20), Buffer.alloc(logoMostBytes)])],
  ])('is not %s', (_what, sent) => {
    expect(cleanLogo(sent)).toBeNull();
  });

  test('with too few pixels is refused: the decoder would fill it with memory of ours', () => {
    for (const bytes of [10, 401 * 100 - 1])
      expect(cleanLogo(file(header(100, 100, 8, 0), deflateSync(Buffer.alloc(bytes))))).toBeNull();
    expect(cleanLogo(file(header(100, 100, 8, 0), deflateSync(Buffer.alloc(401 * 100))))).not.toBeNull();
  });

  test('that unpacks to a thousand times its size is unpacked no further than its head says', () => {
    const bomb = file(header(10, 10, 8, 0), deflateSync(Buffer.alloc(40 * 1024 * 1024)));
    expect(bomb.length).toBeLessThan(logoMostBytes);
    const before = process.memoryUsage().arrayBuffers;
    const clean = cleanLogo(bomb);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4 * 1024 * 1024);
    expect(clean).toBeNull();
  });
});
