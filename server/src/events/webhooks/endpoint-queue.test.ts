import { expect, test } from 'vitest';
import type { DueDelivery } from './deliveries.sql.ts';
import {
  type EndpointQueue,
  isHungry,
  mayBegin,
  newQueue,
  put,
  takeNext,
  wantsProbe,
} from './endpoint-queue.ts';

const delivery = (seq: number): DueDelivery => ({
  accountId: 'a',
  endpointId: 'e',
  eventId: `${seq}`,
  paymentId: null,
  seq,
  made: 0,
  triesLeft: 12,
  delivered: false,
  body: '{}',
});

/** Its last attempt began at 0. */
const queueAfter = (failedInARow: number): EndpointQueue => ({
  ...newQueue({ accountId: 'a', endpointId: 'e' }, 0),
  failedInARow,
  attemptedAt: 0,
});

test('An endpoint rests from its fiftieth failure in a row: one attempt at a time, and one a second', () => {
  expect([
    mayBegin(queueAfter(49), 1),
    mayBegin(queueAfter(50), 999),
    mayBegin(queueAfter(50), 1_000),
  ]).toEqual([true, false, true]);
  expect(mayBegin({ ...queueAfter(50), running: 1 }, 15_000)).toBe(false);
});

test('A queue whose endpoint rests reads nothing before its next probe, and then wants it with or without room', () => {
  const queue = queueAfter(50);
  for (let seq = 1; seq <= 128; seq++) put(queue, 'firsts', delivery(seq));
  expect([isHungry(queueAfter(50), 999), isHungry(queueAfter(50), 1_000)]).toEqual([false, true]);
  expect([wantsProbe(queue, 999), wantsProbe(queue, 1_000)]).toEqual([false, true]);
  expect([isHungry(queue, 1_000), wantsProbe(queueAfter(49), 1_000)]).toEqual([false, false]);
});

test('A probe is the delivery that was tried before, and otherwise new events and repeats take turns', () => {
  const eventsOf = (failedInARow: number) => {
    const queue = queueAfter(failedInARow);
    for (const seq of [3, 4]) put(queue, 'firsts', delivery(seq));
    for (const seq of [1, 2]) put(queue, 'repeats', delivery(seq));
    return [0, 1, 2, 3].map(() => takeNext(queue)?.seq);
  };
  expect(eventsOf(50)).toEqual([1, 2, 3, 4]);
  expect(eventsOf(49)).toEqual([1, 3, 2, 4]);
});
