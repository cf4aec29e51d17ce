import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createPageAddresses, type PageKind, tokenLength } from './page-address.ts';

const key = Buffer.alloc(32, 7);
const pages = createPageAddresses(key, 'https://pay.example.com');
const kinds: PageKind[] = ['charge', 'link', 'receipt', 'refundReceipt'];
const id = '00c0ffee-7f0e-8a31-9c1d-2b8f7d1a5e42';
const tokenOf = (url: string): string => url.slice('https://pay.example.com/pay/'.length);
const token = tokenOf(pages.of('charge', 17, id));

const subject = fc.record({
  kind: fc.constantFrom(...kinds),
  accountNumber: fc.integer({ min: 0, max: 0xffff_ffff }),
  id: fc.uuid(),
});

describe('the address of a page', () => {
  test('An address leads back to its kind, account and id, whatever they are', () => {
    fc.assert(
      fc.property(subject, (one) => {
        const url = pages.of(one.kind, one.accountNumber, one.id);
        expect(url).toMatch(/^https:\/\/pay\.example\.com\/pay\/[A-Za-z0-9_-]{51}$/);
        expect(pages.read(tokenOf(url))).toEqual(one);
      }),
    );
  });

  test('A subject has the same address in every process of the installation and after a restart', () => {
    expect(createPageAddresses(Buffer.from(key), 'https://pay.example.com').of('charge', 17, id)).toBe(
      pages.of('charge', 17, id),
    );
    // Printed addresses live on: this form never changes.
    expect(token).toBe('AQgIU6g1POjxaPz9dXV9RjRf6MSZeSDw4FGkWj7D4eP_BiK6NC8');
  });

  test('A token with any one bit changed leads nowhere', () => {
    const bytes = Buffer.from(token, 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const altered = Buffer.from(bytes);
      altered[bit >> 3] = (altered[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(pages.read(altered.toString('base64url')), `bit ${bit}`).toBeNull();
    }
  });

  test('A token has one spelling: padding, other letters for its last bits and a longer text are refused', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const spellings = [...alphabet].map((last) => token.slice(0, -1) + last);
    expect(spellings.filter((one) => pages.read(one) !== null)).toEqual([token]);
    for (const wrong of ['', '=', `${token}=`, `${token}A`, ` ${token}`, token.slice(0, -1), `${token}/`])
      expect(pages.read(wrong), wrong).toBeNull();
    expect(pages.read(token.replaceAll('-', '+').replaceAll('_', '/'))).toBe(
      /[-_]/.test(token) ? null : expect.anything(),
    );
  });

  test('A token of another installation leads nowhere', () => {
    const other = createPageAddresses(Buffer.alloc(32, 8), 'https://pay.example.com');
    expect(other.read(token)).toBeNull();
    expect(pages.read(tokenOf(other.of('charge', 17, id)))).toBeNull();
  });

  test('The pieces of two tokens make no third one', () => {
    const a = Buffer.from(tokenOf(pages.of('charge', 17, id)), 'base64url');
    const b = Buffer.from(tokenOf(pages.of('receipt', 17, id)), 'base64url');
    // Their first byte is the same.
    for (let cut = 2; cut < a.length; cut++)
      expect(
        pages.read(Buffer.concat([a.subarray(0, cut), b.subarray(cut)]).toString('base64url')),
      ).toBeNull();
  });

  test('A stranger who tries texts of the right form finds no page', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 38, maxLength: 38 }), (bytes) => {
        bytes[0] = 1;
        expect(pages.read(Buffer.from(bytes).toString('base64url'))).toBeNull();
      }),
      { numRuns: 1_000 },
    );
  });

  test('Addresses of one account share no piece that a stranger could count or compare', () => {
    const tokens = Array.from({ length: 200 }, (_, at) =>
      tokenOf(pages.of('charge', 17, `00000011-7f0e-8a31-9c1d-${at.toString(16).padStart(12, '0')}`)),
    );
    for (let at = 2; at + 8 <= tokenLength; at++)
      expect(new Set(tokens.map((one) => one.slice(at, at + 8))).size).toBeGreaterThan(198);
  });
});
