import type { DueDelivery, QueueEndpoint, QueueKey } from './deliveries.sql.ts';
import { type Pace, paceAtFirst } from './pace.ts';
import { isResting, probeEveryMs } from './schedule.ts';

/** How long a queue belongs to a process that is not heard of any more. */
export const queueLeaseMs = 10_000;
/** Deliveries of a queue that wait in memory for one of its places. */
export const waitingMost = 128;
/** A queue without work stays this long before it is put to rest: a busy endpoint's next event is never far. */
const lingerMs = 1_000;

/** The waiting deliveries of one endpoint, in the process that holds its lease. */
export interface EndpointQueue extends QueueKey {
  endpoint: QueueEndpoint | null;
  /** Signing keys, newest first, for the sealed secrets that they were read from. */
  keys: { of: string; keys: Buffer[] } | null;
  /** That its secret cannot be opened. */
  reported: boolean;
  firsts: DueDelivery[];
  repeats: DueDelivery[];
  /** Events that wait here, are under way, or whose outcome is not written yet. */
  busy: Set<string>;
  /** Payments whose first attempts are under way. */
  payments: Set<string>;
  running: number;
  pace: Pace;
  /** Failed attempts since its last success; null: not read yet. */
  failedInARow: number | null;
  /** The place in the log up to which first attempts were read. */
  after: number;
  /** The last look did not read it, or did not see its end. */
  mayHaveMore: boolean;
  repeatsNext: boolean;
  /** Monotonic: until then the lease holds, when the last attempt began, and since when there is nothing to do. */
  heldUntil: number;
  attemptedAt: number;
  workedAt: number;
}

export const newQueue = ({ accountId, endpointId }: QueueKey, claimedAt: number): EndpointQueue => ({
  accountId,
  endpointId,
  endpoint: null,
  keys: null,
  reported: false,
  firsts: [],
  repeats: [],
  busy: new Set(),
  payments: new Set(),
  running: 0,
  pace: paceAtFirst,
  failedInARow: null,
  after: 0,
  mayHaveMore: true,
  repeatsNext: false,
  heldUntil: claimedAt + queueLeaseMs,
  attemptedAt: Number.NEGATIVE_INFINITY,
  workedAt: claimedAt,
});

export const keyOf = ({ accountId, endpointId }: QueueKey): QueueKey => ({ accountId, endpointId });

export const waiting = ({ firsts, repeats }: EndpointQueue): number => firsts.length + repeats.length;

/** Half of what it may hold has gone. */
export const hasRoom = (queue: EndpointQueue): boolean => waiting(queue) < waitingMost / 2;

const rests = ({ failedInARow }: EndpointQueue): boolean => isResting(failedInARow ?? 0);

/** An endpoint that rests waits for its next probe. @param now monotonic */
export const mayBegin = (queue: EndpointQueue, now: number): boolean =>
  !rests(queue) || (queue.running === 0 && now - queue.attemptedAt >= probeEveryMs);

export const isHungry = (queue: EndpointQueue, now: number): boolean =>
  hasRoom(queue) && queue.running < queue.pace.most && mayBegin(queue, now);

/** It holds enough deliveries and waits for its probe alone. */
export const wantsProbe = (queue: EndpointQueue, now: number): boolean =>
  rests(queue) && waiting(queue) > 0 && mayBegin(queue, now);

export const isIdle = (queue: EndpointQueue, now: number): boolean =>
  queue.busy.size === 0 && queue.running === 0 && now - queue.workedAt > lingerMs;

/** Puts a delivery that was read behind the others; false for one that is here already. */
export function put(queue: EndpointQueue, as: 'firsts' | 'repeats', delivery: DueDelivery): boolean {
  if (as === 'firsts') queue.after = delivery.seq;
  if (queue.busy.has(delivery.eventId)) return false;
  queue.busy.add(delivery.eventId);
  queue[as].push(delivery);
  return true;
}

/** Its endpoint is disabled: nothing waits, and switched on again it begins anew. */
export function empty(queue: EndpointQueue): void {
  for (const one of [...queue.firsts.splice(0), ...queue.repeats.splice(0)]) queue.busy.delete(one.eventId);
  queue.after = 0;
}

/** New events and repeats take turns, so that neither starves the other. A probe is a repeat where there is one: the oldest. */
export function takeNext(queue: EndpointQueue): DueDelivery | undefined {
  queue.repeatsNext = rests(queue) || !queue.repeatsNext;
  if (queue.repeatsNext && queue.repeats.length > 0) return queue.repeats.shift();
  const at = queue.firsts.findIndex(({ paymentId }) => paymentId === null || !queue.payments.has(paymentId));
  if (at === -1) return queue.repeats.shift();
  return queue.firsts.splice(at, 1)[0];
}
