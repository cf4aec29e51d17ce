import { expect, test } from 'vitest';
import { cellsOf, Histogram, Histograms } from './histogram.ts';

test('a value counts in every bucket from its own on, a bound belongs to its bucket, and the sum is kept', () => {
  const histogram = new Histogram([0.1, 1]);
  for (const value of [0.05, 0.1, 0.5, 3]) histogram.observe(value);
  expect(histogram.read()).toEqual({ counts: [2, 3, 4], count: 4, sum: 3.65 });
});

test('a histogram over shared memory is read by another owner of the memory', () => {
  const bounds = [1, 2];
  const memory = new SharedArrayBuffer(8 * cellsOf(bounds));
  new Histogram(bounds, new Float64Array(memory)).observe(1.5);
  expect(new Histogram(bounds, new Float64Array(memory)).read()).toEqual({
    counts: [0, 1, 1],
    count: 1,
    sum: 1.5,
  });
});

test('the same labels are the same histogram', () => {
  const histograms = new Histograms(['route', 'status'], [1]);
  histograms.of('a', '200').observe(0.5);
  histograms.of('a', '200').observe(0.5);
  histograms.of('a', '500').observe(0.5);
  const all = [...histograms.all()].map(({ labels, histogram }) => [...labels, histogram.read().count]);
  expect(all).toEqual([
    ['a', '200', 2],
    ['a', '500', 1],
  ]);
});
