import { expect, it } from 'vitest';
import { invariants } from '../../server/src/operate/verify/invariants.ts';
import { faultsOfPart, runParts } from './gate.ts';

/** The short part of the gate: see `gate.ts`; the whole of it belongs to `npm run proof`. */

it('every invariant is kept at every death of one story, and of one over three cells; the same seed does the same again', async () => {
  const parts = await runParts([
    { from: 2, seeds: 1 },
    { from: 3, seeds: 1, cells: 3 },
  ]);
  expect(parts.flatMap(faultsOfPart)).toEqual([]);
  for (const { deaths } of parts) expect(deaths).toBeGreaterThan(100);
  // Two cores that are free need 200 s, and as many as the machine has to share with others, a multiple.
}, 1_800_000);

it('each invariant has a number of its own, in their order', () => {
  const numbers = invariants.map(({ number }) => number);
  expect(numbers).toEqual([...new Set(numbers)].sort((one, other) => one - other));
});
