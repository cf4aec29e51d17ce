import { expect, test } from 'vitest';
import { defaultBehaviour } from './behaviour.ts';
import {
  type Delivery,
  deliveryEnded,
  emptyOutbox,
  gatherMs,
  mostWaiting,
  nextDeliveryAt,
  notify,
  takeDeliveries,
} from './outbox.ts';

const about = (id: string, key = 'k') => ({ key, kind: 'payout' as const, id, returns: 0 });
const ids = (deliveries: Delivery[]) => deliveries.map((one) => one.notifications.map((each) => each.id));

test('what falls due within 10 ms goes out together, and what comes later does not hold it up', () => {
  const outbox = emptyOutbox();
  notify(outbox, defaultBehaviour, 1000, about('a'));
  notify(outbox, defaultBehaviour, 1004, about('b'));
  notify(outbox, defaultBehaviour, 1004, about('c', 'other'));
  expect(nextDeliveryAt(outbox)).toBe(1000 + gatherMs);
  notify(outbox, defaultBehaviour, 1011, about('d'));
  expect(ids(takeDeliveries(outbox, defaultBehaviour, 1010).deliveries)).toEqual([['a', 'b'], ['c']]);
  expect(nextDeliveryAt(outbox)).toBe(1021);
});

test('in a protocol with a delivery for each payment, what falls due together goes out apart', () => {
  const outbox = emptyOutbox();
  for (const id of ['a', 'b', 'c']) notify(outbox, defaultBehaviour, 1000, about(id));
  expect(ids(takeDeliveries(outbox, defaultBehaviour, 1010, 1).deliveries)).toEqual([['a'], ['b'], ['c']]);
});

test('a failed delivery is tried again after 1, 2, 5, 10, 30 and then every 60 s, for an hour', () => {
  const outbox = emptyOutbox();
  notify(outbox, defaultBehaviour, 0, about('a'));
  const waits: number[] = [];
  let now = gatherMs;
  for (;;) {
    const [delivery] = takeDeliveries(outbox, defaultBehaviour, now).deliveries;
    if (delivery === undefined) throw new Error('nothing was due');
    if (deliveryEnded(outbox, delivery, false, now).length > 0) break;
    const next = (nextDeliveryAt(outbox) ?? 0) - gatherMs;
    waits.push((next - now) / 1000);
    now = next;
  }
  expect(waits.slice(0, 7)).toEqual([1, 2, 5, 10, 30, 60, 60]);
  expect(now).toBeGreaterThan(3_600_000);
  expect(now).toBeLessThanOrEqual(3_660_010);
  expect(outbox.waiting.size).toBe(0);
  expect(nextDeliveryAt(outbox)).toBeUndefined();
});

test('what failed goes out again together with what is new by then', () => {
  const outbox = emptyOutbox();
  notify(outbox, defaultBehaviour, 0, about('a'));
  const [first] = takeDeliveries(outbox, defaultBehaviour, 10).deliveries;
  deliveryEnded(outbox, first as Delivery, false, 20);
  notify(outbox, defaultBehaviour, 1020, about('b'));
  expect(ids(takeDeliveries(outbox, defaultBehaviour, 1030).deliveries)).toEqual([['a', 'b']]);
});

test('it is bounded: what comes on top is not kept', () => {
  const outbox = emptyOutbox();
  for (let n = 0; n < mostWaiting; n++) notify(outbox, defaultBehaviour, n, about('a'));
  expect(notify(outbox, defaultBehaviour, 0, about('b'))).toBeUndefined();
  expect(outbox.waiting.size).toBe(mostWaiting);
});
