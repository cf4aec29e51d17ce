import type { Behaviour } from './behaviour.ts';
import { addDue, type DueList, emptyDueList, nextDueAt, takeDue } from './due.ts';

/**
 * Reports that the provider still has to send to its client, without any I/O.
 *
 * A notification waits until it is due and then up to 10 ms more, so that everything which falls due within that
 * time goes out in one delivery of as many as the protocol puts into a request, at most 100. A delivery that fails puts its notifications back, with growing
 * waits; an hour after it came up, a notification is given up at its next failure. What it says is read from the
 * payment or payout when it goes out, `returns` says how many returns of a payout it knows of.
 */
export type Notification = {
  n: number;
  /** The Pix key whose registered address it goes to. */
  key: string;
  kind: 'payment' | 'payout' | 'card' | 'question' | 'key';
  /** endToEndId of a received payment, idEnvio of a payout, the acquirer's name of a page, of an API key what happened to it. */
  id: string;
  /** Of a page, which of its events it is, from 1. */
  returns: number;
  /** Which of them it is about, from 1; absent: the last. */
  about?: number;
  createdAt: number;
  dueAt: number;
  failures: number;
  reorder: boolean;
};

export type Outbox = {
  waiting: Map<number, Notification>;
  due: DueList<Notification>;
  nextNumber: number;
  reorderUntil: number;
};

export type Delivery = { key: string; notifications: Notification[]; copies: 1 | 2 };

export const gatherMs = 10;
export const itemsPerDelivery = 100;
/** About 60 MB. Beyond it new notifications are not kept: the client's own queries must find what they said. */
export const mostWaiting = 200_000;
const reorderMs = 200;
const retryWaitsMs = [1_000, 2_000, 5_000, 10_000, 30_000];
const lastRetryWaitMs = 60_000;
const giveUpAfterMs = 60 * 60 * 1000;

export function emptyOutbox(): Outbox {
  return { waiting: new Map(), due: emptyDueList(), nextNumber: 1, reorderUntil: 0 };
}

/** Puts a notification into the outbox; undefined when it is full. */
export function notify(
  outbox: Outbox,
  behaviour: Behaviour,
  now: number,
  about: Pick<Notification, 'key' | 'kind' | 'id' | 'returns' | 'about'>,
): Notification | undefined {
  if (outbox.waiting.size >= mostWaiting) return undefined;
  const reorder = behaviour.webhook === 'reorder';
  let dueAt = now;
  if (behaviour.webhook === 'delay') dueAt = now + behaviour.delayMs;
  if (reorder) {
    // The window begins with its first notification: a fixed raster would cut between two that came together.
    if (outbox.reorderUntil <= now) outbox.reorderUntil = now + Math.max(reorderMs, behaviour.delayMs);
    dueAt = outbox.reorderUntil;
  }
  const notification = { ...about, n: outbox.nextNumber++, createdAt: now, dueAt, failures: 0, reorder };
  restoreNotification(outbox, notification);
  return notification;
}

export function restoreNotification(outbox: Outbox, notification: Notification): void {
  outbox.waiting.set(notification.n, notification);
  outbox.nextNumber = Math.max(outbox.nextNumber, notification.n + 1);
  addDue(outbox.due, notification.dueAt, notification);
}

/** When takeDeliveries has something to give, or undefined. */
export function nextDeliveryAt(outbox: Outbox): number | undefined {
  const first = nextDueAt(outbox.due);
  return first === undefined ? undefined : first + gatherMs;
}

/** Takes what is due, in deliveries for one key each; `dropped` are the numbers that the behaviour swallows. */
export function takeDeliveries(
  outbox: Outbox,
  behaviour: Behaviour,
  now: number,
  perDelivery = itemsPerDelivery,
): { deliveries: Delivery[]; dropped: number[] } {
  const taken = takeDue(outbox.due, now).filter((notification) => outbox.waiting.has(notification.n));
  // A question that is not asked has no answer: what depends on it would wait without an end.
  const lost = behaviour.webhook === 'drop' ? taken.filter(({ kind }) => kind !== 'question') : [];
  const dropped = lost.map(({ n }) => n);
  for (const n of dropped) outbox.waiting.delete(n);
  const kept = taken.filter(({ n }) => outbox.waiting.has(n));
  const inOrder = kept.filter((notification) => !notification.reorder);
  const reversed = kept.filter((notification) => notification.reorder).reverse();
  const byKey = new Map<string, Notification[]>();
  for (const notification of inOrder.concat(reversed)) {
    const same = byKey.get(notification.key);
    if (same === undefined) byKey.set(notification.key, [notification]);
    else same.push(notification);
  }
  const copies = behaviour.webhook === 'duplicate' ? 2 : 1;
  const deliveries: Delivery[] = [];
  for (const [key, notifications] of byKey) {
    for (let at = 0; at < notifications.length; at += perDelivery) {
      deliveries.push({ key, notifications: notifications.slice(at, at + perDelivery), copies });
    }
  }
  return { deliveries, dropped };
}

/** Ends a delivery: answers the numbers that are done, delivered or given up. The others wait for their next turn. */
export function deliveryEnded(outbox: Outbox, delivery: Delivery, delivered: boolean, now: number): number[] {
  const done: number[] = [];
  for (const notification of delivery.notifications) {
    if (delivered || now - notification.createdAt > giveUpAfterMs) {
      outbox.waiting.delete(notification.n);
      done.push(notification.n);
    } else {
      const waitMs = retryWaitsMs[notification.failures] ?? lastRetryWaitMs;
      notification.failures++;
      notification.dueAt = now + waitMs;
      addDue(outbox.due, notification.dueAt, notification);
    }
  }
  return done;
}
