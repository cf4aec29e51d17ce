import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accountNumberOf, fingerprintOf, paymentIdFor, sameRequest } from './idempotency.ts';

const identity = Buffer.alloc(32, 7);
const account = { id: '0193a000-0000-7000-8000-0000000000a1', number: 0xdeadbeef };
const requestKey = '7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11';

const anAccount = fc.record({ id: fc.uuid(), number: fc.integer({ min: 1, max: 0xffffffff }) });

describe('a payment id', () => {
  it('is a UUIDv8 with the number of the account in front', () => {
    fc.assert(
      fc.property(anAccount, fc.uuid(), (owner, key) => {
        const id = paymentIdFor(identity, owner, key);
        expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(id.slice(0, 8)).toBe(owner.number.toString(16).padStart(8, '0'));
        expect(accountNumberOf(id)).toBe(owner.number);
      }),
    );
  });

  it('is always the same for the same account and request key', () => {
    // A literal: another id for the same key could send the same money twice after an upgrade.
    expect(paymentIdFor(identity, account, requestKey)).toBe('deadbeef-9ba5-86c2-8504-7b9902267254');
  });

  it('differs with the request key, the account and the installation', () => {
    const id = paymentIdFor(identity, account, requestKey);
    const others = [
      paymentIdFor(identity, account, '7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a12'),
      paymentIdFor(identity, { ...account, id: '0193a000-0000-7000-8000-0000000000a2' }, requestKey),
      paymentIdFor(Buffer.alloc(32, 8), account, requestKey),
    ];
    expect(new Set([id, ...others]).size).toBe(4);
  });

  it('is never shared by two request keys', () => {
    const keys = Array.from({ length: 20_000 }, (_, index) => `7b3c2a10-0a64-4a57-9a2e-${hex(index)}`);
    expect(new Set(keys.map((key) => paymentIdFor(identity, account, key))).size).toBe(keys.length);
  });
});

describe('a fingerprint', () => {
  const fields = {
    amountCents: 1000,
    pixKey: 'maria@loja.example',
    pixKeyType: 'EMAIL',
    none: null,
    yes: true,
  };
  const taken = fingerprintOf(identity, fields);

  it('has a version byte and 32 bytes more, and shows nothing of the fields', () => {
    expect(taken).toHaveLength(33);
    expect(taken[0]).toBe(1);
    expect(taken.includes('maria')).toBe(false);
  });

  it('does not depend on the order of the fields', () => {
    const text = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
    fc.assert(
      fc.property(fc.dictionary(fc.string(), text), (asked) => {
        const turned = Object.fromEntries(Object.entries(asked).reverse());
        expect(sameRequest(fingerprintOf(identity, asked), fingerprintOf(identity, turned))).toBe(true);
      }),
    );
  });

  it.each([
    { ...fields, amountCents: 1001 },
    { ...fields, pixKey: 'maria@loja.example2' },
    { ...fields, pixKeyType: 'RANDOM' },
    { ...fields, none: '' },
    { ...fields, none: 'null' },
    { ...fields, yes: 'true' },
    { ...fields, amountCents: '1000' },
    { ...fields, more: '' },
    { amountCents: 1000, pixKey: 'maria@loja.example', pixKeyType: 'EMAIL', none: null },
  ])('differs in any field: %j', (asked) => {
    expect(sameRequest(taken, fingerprintOf(identity, asked))).toBe(false);
  });

  it('does not let a value flow into its neighbour', () => {
    const one = fingerprintOf(identity, { a: 'x","b', b: 'y' });
    expect(sameRequest(one, fingerprintOf(identity, { a: 'x', b: '"b","y' }))).toBe(false);
  });

  it('differs between installations, and from one that was cut short', () => {
    expect(sameRequest(taken, fingerprintOf(Buffer.alloc(32, 8), fields))).toBe(false);
    expect(sameRequest(taken.subarray(0, 32), taken)).toBe(false);
  });
});

function hex(index: number): string {
  return index.toString(16).padStart(12, '0');
}
