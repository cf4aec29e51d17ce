import { expect, test } from 'vitest';
import { mergeNewest, placesIn, placesText } from './merge.ts';

const rows = (...at: number[]) => at.map((postedAt) => ({ seq: postedAt, postedAt }));
const shown = (merged: ReturnType<typeof mergeNewest>) =>
  merged.rows.map(({ operationId, row }) => operationId + row.seq);

test('A page over several operations has the youngest journals of all of them, and the next page continues in each', () => {
  const pieces = [
    { operationId: 'a', rows: rows(9, 5, 1), rest: null },
    { operationId: 'b', rows: rows(8, 7, 6), rest: { below: 6, at: 6 } },
  ];
  const page = mergeNewest(pieces, 3);
  expect(shown(page)).toEqual(['a9', 'b8', 'b7']);
  expect([...page.places]).toEqual([
    ['a', 6],
    ['b', 7],
  ]);
});

test('A page over several operations ends where the unread part of one may be younger than the next journal of another', () => {
  const pieces = [
    { operationId: 'a', rows: rows(9, 5, 1), rest: null },
    { operationId: 'b', rows: rows(8), rest: { below: 8, at: 8 } },
    { operationId: 'c', rows: [], rest: { below: 3, at: 3 } },
  ];
  const page = mergeNewest(pieces, 10);
  expect(shown(page)).toEqual(['a9', 'b8']);
  expect([...page.places]).toEqual([
    ['a', 6],
    ['b', 8],
    ['c', 3],
  ]);
  const end = mergeNewest([{ operationId: 'a', rows: rows(2), rest: null }], 10);
  expect(placesText(end.places)).toBeNull();
});

test('A place of a page is read as it was written', () => {
  const places = new Map([
    ['01939f3a-7a00-7000-8000-000000000003', 12],
    ['01939f3a-7a00-7000-8000-000000000004', 1],
  ]);
  expect(placesIn(placesText(places) ?? '')).toEqual(places);
});
