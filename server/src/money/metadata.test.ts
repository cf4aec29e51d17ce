import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fingerprintOf, sameRequest } from '../store/rows/idempotency.ts';
import { askedMetadata, metadataOf, pairOf } from './metadata.ts';

const identity = Buffer.alloc(32, 7);
const asked = { amountCents: 1000, description: '' };
const pairs = fc.dictionary(fc.stringMatching(/^[A-Za-z][A-Za-z0-9]{0,9}$/), fc.string({ minLength: 1 }));

describe('the pairs of a payment', () => {
  it('leave the fingerprint of a request without them as it always was', () => {
    for (const none of [undefined, {}])
      expect(fingerprintOf(identity, { ...asked, ...askedMetadata(metadataOf(none)) })).toEqual(
        fingerprintOf(identity, asked),
      );
  });

  it('are the same request in any order, and another one with any other pair', () => {
    const of = (given: Record<string, string>) =>
      fingerprintOf(identity, { ...asked, ...askedMetadata(metadataOf(given)) });
    fc.assert(
      fc.property(pairs, pairs, (one, other) => {
        const turned = Object.fromEntries(Object.entries(one).reverse());
        expect(sameRequest(of(one), of(turned))).toBe(true);
        const same = JSON.stringify(metadataOf(one)) === JSON.stringify(metadataOf(other));
        expect(sameRequest(of(one), of(other))).toBe(same);
      }),
    );
  });

  it.each([
    ['orderId:1042', { name: 'orderId', value: '1042' }],
    ['a:b:c', { name: 'a', value: 'b:c' }],
    ['a:', null],
    [':b', null],
    ['ab', null],
    ['__proto__:x', null],
  ])('%s as a filter', (text, pair) => expect(pairOf(text)).toEqual(pair));
});
