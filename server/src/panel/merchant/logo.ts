import { inflateSync } from 'node:zlib';
import { PNG } from 'pngjs';

/** Of the picture that is stored; the panel scales what people choose down to it. */
export const logoWidest = 480;
export const logoTallest = 160;
/** Of the file that is sent. */
export const logoMostBytes = 64 * 1024;

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** By the colour type of the head: grey, RGB, palette, grey and alpha, RGBA (PNG, third edition, 11.2.1). */
const bytesOfPixelBy: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

/** The data of all IDAT chunks. */
function packedPixels(png: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = signature.length; at + 12 <= png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  return Buffer.concat(parts);
}

/**
 * A logo as a new PNG, made from the pixels of the one that was sent: what else stood in the file (text, profiles, scripts behind the
 * end, a second format) is gone. Only plain PNG: eight bits, no interlacing, within the limits, which its head says before anything
 * is unpacked; unpacking stops at the size that follows from them. No other format is read: SVG can hold scripts, and a decoder of
 * JPEG would be one more to attack. The panel makes a PNG of whatever picture the browser can show.
 *
 * @returns null for everything else
 */
export function cleanLogo(sent: Buffer): Buffer | null {
  if (sent.length > logoMostBytes || sent.length < 57 || !sent.subarray(0, 8).equals(signature)) return null;
  if (sent.toString('latin1', 12, 16) !== 'IHDR') return null;
  const [width, height] = [sent.readUInt32BE(16), sent.readUInt32BE(20)];
  const [depth, , , , interlace] = sent.subarray(24, 29);
  if (width === 0 || height === 0 || width > logoWidest || height > logoTallest) return null;
  if (depth !== 8 || interlace !== 0) return null;
  const bytesOfPixel = bytesOfPixelBy[sent[25] ?? -1];
  if (bytesOfPixel === undefined) return null;
  try {
    // The decoder fills what a short file leaves out with whatever its buffers held before, so it gets whole ones only.
    const filtered = height * (1 + width * bytesOfPixel);
    if (inflateSync(packedPixels(sent), { maxOutputLength: filtered }).length !== filtered) return null;
    const { data } = PNG.sync.read(sent);
    if (data.length !== width * height * 4) return null;
    const fresh = new PNG({ width, height });
    data.copy(fresh.data);
    return PNG.sync.write(fresh);
  } catch {
    return null;
  }
}
