import { expect, test } from 'vitest';
import { ApiError } from './errors.ts';
import { createPlaces } from './places.ts';

const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'let in',
    (error: unknown) => (error as ApiError).code,
  );

test('Work beyond the places waits in its order, and beyond the queue it is refused with the time to come back', async () => {
  const places = createPlaces({ atOnce: 1, waiting: 1, perOwner: 9 });
  const leave = await places.take('a');
  const order: string[] = [];
  const second = places.run('b', async () => order.push('b'));
  const refused = await places.take('c').catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ApiError);
  expect(refused).toMatchObject({ code: 'overloaded', options: { retryAfterSeconds: 2 } });
  expect(order).toEqual([]);
  leave();
  leave();
  await second;
  expect(order).toEqual(['b']);
  // Given back twice by the first owner, the place was still one.
  const [one, other] = [places.take('a'), places.take('b')];
  (await one)();
  (await other)();
});

test('One owner takes no more than its share, whether it works or waits', async () => {
  const places = createPlaces({ atOnce: 1, waiting: 9, perOwner: 2 });
  const [held, waits] = [await places.take('a'), places.take('a')];
  expect(await codeOf(places.take('a'))).toBe('too_many_concurrent_requests');
  const other = places.take('b');
  held();
  (await waits)();
  (await other)();
  expect(await codeOf(places.take('a'))).toBe('let in');
});

test('Work that fails gives its place back', async () => {
  const places = createPlaces({ atOnce: 1, waiting: 0, perOwner: 1 });
  await expect(places.run('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await codeOf(places.take('a'))).toBe('let in');
});
