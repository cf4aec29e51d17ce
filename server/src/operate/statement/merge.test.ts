import { expect, test } from 'vitest';
import { mergeInOrder, placesIn, placesText } from './merge.ts';

const rows = (...at: number[]) => at.map((postedAt) => ({ seq: postedAt, postedAt }));
const shown = (merged: ReturnType<typeof mergeInOrder>) =>
  merged.rows.map(({ operationId, row }) => operationId + row.seq);

test('A page over several operations has the youngest journals of all of them, and the next page continues in each', () => {
  const pieces = [
    { operationId: 'a', rows: rows(9, 5, 1), rest: null },
    { operationId: 'b', rows: rows(8, 7, 6), rest: { beyond: 6, at: 6 } },
  ];
  const page = mergeInOrder(pieces, 3, 'newest');
  expect(shown(page)).toEqual(['a9', 'b8', 'b7']);
  expect([...page.places]).toEqual([
    ['a', 6],
    ['b', 7],
  ]);
});

test('A page over several operations ends where the unread part of one may be younger than the next journal of another', () => {
  const pieces = [
    { operationId: 'a', rows: rows(9, 5, 1), rest: null },
    { operationId: 'b', rows: rows(8), rest: { beyond: 8, at: 8 } },
    { operationId: 'c', rows: [], rest: { beyond: 3, at: 3 } },
  ];
  const page = mergeInOrder(pieces, 10, 'newest');
  expect(shown(page)).toEqual(['a9', 'b8']);
  expect([...page.places]).toEqual([
    ['a', 6],
    ['b', 8],
    ['c', 3],
  ]);
  const end = mergeInOrder([{ operationId: 'a', rows: rows(2), rest: null }], 10, 'newest');
  expect(placesText(end.places)).toBeNull();
});

test('A place of a page is read as it was written', () => {
  const places = new Map([
    ['01939f3a-7a00-7000-8000-000000000003', 12],
    ['01939f3a-7a00-7000-8000-000000000004', 1],
  ]);
  expect(placesIn(placesText(places) ?? '')).toEqual(places);
});

test('A page from the oldest on ends where the unread part of one operation may be older than the next journal of another', () => {
  const pieces = [
    { operationId: 'a', rows: rows(1, 5, 9), rest: null },
    { operationId: 'b', rows: rows(2), rest: { beyond: 4, at: 4 } },
  ];
  const page = mergeInOrder(pieces, 10, 'oldest');
  expect(shown(page)).toEqual(['a1', 'b2']);
  expect([...page.places]).toEqual([
    ['a', 4],
    ['b', 4],
  ]);
});
