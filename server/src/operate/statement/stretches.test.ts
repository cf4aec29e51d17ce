import fc from 'fast-check';
import { expect, test } from 'vitest';
import { partsOf, type Stretch } from './stretches.ts';

const journals = fc
  .array(fc.record({ after: fc.nat(50), length: fc.nat(40) }), { maxLength: 20 })
  .map((all) =>
    all.map(
      ({ after, length }, at): Stretch => ({
        accountId: 'account',
        chainId: String(at),
        after,
        upTo: after + length,
      }),
    ),
  );
const numbersOf = (all: readonly Stretch[]): string[] =>
  all.flatMap(({ chainId, after, upTo }) =>
    Array.from({ length: upTo - after }, (_, at) => `${chainId} ${after + at + 1}`),
  );

test('every journal is in one part, in its order, and no part has more than it may', () => {
  fc.assert(
    fc.property(journals, fc.integer({ min: 1, max: 30 }), (all, most) => {
      const parts = [...partsOf(all, most)];
      expect(numbersOf(parts.flat())).toEqual(numbersOf(all));
      for (const part of parts) expect(numbersOf(part).length).toBeLessThanOrEqual(most);
      // As few statements as can be.
      expect(parts.length).toBe(Math.ceil(numbersOf(all).length / most));
    }),
  );
});

test('a chain whose close is behind its end has nothing since', () => {
  expect([...partsOf([{ accountId: 'a', chainId: 'b', after: 7, upTo: 7 }], 5)]).toEqual([]);
});
