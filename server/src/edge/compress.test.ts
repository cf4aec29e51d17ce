import { expect, test } from 'vitest';
import { takesBrotli } from './compress.ts';

const takes = (value?: string): boolean =>
  takesBrotli({ headers: value === undefined ? {} : { 'accept-encoding': value } });

test('Brotli is for those who name it and give it a weight', () => {
  for (const value of ['br', 'gzip, deflate, br, zstd', 'gzip;q=0.5,br;q=0.1', 'BR ; q=1'])
    expect(takes(value), value).toBe(true);
  for (const value of [undefined, '', 'gzip', 'identity', 'br;q=0', 'gzip, br; q=0.000', 'abr', 'br-x'])
    expect(takes(value), value).toBe(false);
});
