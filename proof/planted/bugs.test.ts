import { expect, it } from 'vitest';
import { bugs } from './bugs.ts';
import { applies } from './plant.ts';

it.each(bugs)('the code has one line that "$name" replaces', async (bug) => {
  expect(await applies(bug)).toBe(true);
});
