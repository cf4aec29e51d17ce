import {
  committedCoverage,
  renderCoverage,
  sentences,
  titlesBySentence,
} from '@vintem/testkit/interface-coverage.ts';
import { expect, test } from 'vitest';

const page = committedCoverage();
const shown = titlesBySentence();

test('Every part of the interface from 1 to 9 is on the page, and the title of a test names each sentence', () => {
  const numbers = sentences(page);
  expect([...new Set(numbers.map((number) => number[0]))]).toEqual([
    '1',
    '2',
    '3',
    '4',
    '5',
    '6',
    '7',
    '8',
    '9',
  ]);
  expect(new Set(numbers).size).toBe(numbers.length);
  expect(numbers.filter((number) => !shown.has(number))).toEqual([]);
});

test('A title of a test names sentences of the page, and no others', () => {
  const numbers = new Set(sentences(page));
  expect([...shown.keys()].filter((number) => !numbers.has(number))).toEqual([]);
});

test('The page names the tests whose titles name its sentences (`node testkit/src/interface-coverage.ts --write`)', () => {
  expect(page).toBe(renderCoverage(page, shown));
});
