import { expect, test } from 'vitest';
import { contrastWithWhite, leastContrast } from './colour.ts';

/** Ratios as WCAG's formula gives them; #767676 is the well-known lightest grey that passes on white, #777777 the first that fails. */
test.each([
  ['#ffffff', 1],
  ['#000000', 21],
  ['#767676', 4.54],
  ['#777777', 4.48],
  ['#0000ff', 8.59],
])('white on %s has a contrast of %d', (colour, ratio) => {
  expect(contrastWithWhite(colour)).toBeCloseTo(ratio, 2);
  expect(contrastWithWhite(colour) >= leastContrast).toBe(ratio >= 4.5);
});
