import { expect, test } from 'vitest';
import { createExtraPlaces } from './extra-places.ts';
import { paceAtFirst, placesMost } from './pace.ts';

const queueOf = (accountId: string) => ({
  accountId,
  running: 0,
  pace: { ...paceAtFirst, most: placesMost },
});

test('Endpoints that hang take no place from the first five of another, and an account takes a quarter of the others', () => {
  const places = createExtraPlaces();
  const fill = (queue: ReturnType<typeof queueOf>) => {
    while (places.hasPlace(queue)) places.take(queue);
    return queue.running;
  };
  const own = Array.from({ length: 4 }, () => queueOf('a'));
  expect(own.map(fill)).toEqual([64, 64, 5 + 128 - 2 * 59, 5]);
  const others = Array.from({ length: 8 }, (_, n) => queueOf(`other ${n}`)).map(fill);
  expect(others.reduce((sum, running) => sum + running - 5, 0)).toBe(512 - 128);
  const late = queueOf('late');
  expect(fill(late)).toBe(5);
  for (let n = 0; n < 10; n++) places.give(own[0] as (typeof own)[0]);
  expect(fill(late)).toBe(15);
});
