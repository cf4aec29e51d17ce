import { createBell } from '../../ground/loop.ts';
import type { Traces } from '../../ground/traces.ts';
import { type AttemptDeps, attempt, canSign } from './attempt.ts';
import {
  claimQueues,
  type DueDelivery,
  findAhead,
  findDue,
  findFirst,
  findQueueEndpoints,
  leaveQueues,
  type QueueEndpoint,
  renewQueues,
  restQueue,
} from './deliveries.sql.ts';
import { createOutcomeWriter, type Ended, endedOf, type OutcomeDeps } from './delivery-outcomes.ts';
import {
  type EndpointQueue,
  empty,
  hasRoom,
  isHungry,
  isIdle,
  keyOf,
  mayBegin,
  newQueue,
  put,
  queueLeaseMs,
  takeNext,
  waiting,
  waitingMost,
  wantsProbe,
} from './endpoint-queue.ts';
import { createExtraPlaces } from './extra-places.ts';
import { paceAfter } from './pace.ts';
import { type Result, succeeded } from './schedule.ts';

/**
 * Delivers. At least once: an attempt is recorded after it was made, so a process that dies in between leaves a repeat behind
 * and never a gap.
 *
 * **Queues.** Each endpoint has a queue, and one process at a time holds its lease. So the number at once (`pace.ts`) is exact whatever the number of
 * processes, first attempts start in the order of the log, connections stay where they are, and a delivery costs two writes in its
 * life (made, recorded) and not three. A queue waits for no other: a dead endpoint holds its own places and nothing else.
 * A process that dies loses its queues when their leases end. Rejected: a lease per delivery, which needs all of this once more
 * in the database.
 *
 * **Order.** The first attempt for an event of a payment begins when that of the event before has ended. Repeats follow their
 * schedule, so order is a help and no promise.
 */
export interface Deliverer {
  /** Events were published: the next look waits for no pace, since the publisher keeps one. */
  announce(): void;
  /** Looks for work and begins it; true when there may be more at once. */
  step(): Promise<boolean>;
  /** Gives back the queues that nothing is under way in: another process may take them at once. */
  release(): Promise<void>;
  /** Whether it holds a queue. */
  isHolding(): boolean;
  /** `wake` is called when a place became free of a queue for which more may wait than was read. */
  onWork(wake: () => void): void;
  /** Begins nothing more; resolves when what is under way has ended or `withinMs` have passed. */
  stop(withinMs: number): Promise<void>;
}

export interface DeliveryDeps extends AttemptDeps, OutcomeDeps {
  traces?: Traces | null;
}

const renewEveryMs = 3_000;
/** Queues that one process holds; the others are for the others. */
const queuesMost = 500;
/** How old what is known of an endpoint may become while its queue is full. */
const refreshMs = 1_000;
/** Between two looks for work, so that a busy endpoint is served in crowds. */
const paceMs = 20;

/** @param hearsAll whatever is published for its queues is announced: with a free place of a queue that was read to its end it does not look again */
export function createDeliverer(
  deps: DeliveryDeps,
  { hearsAll }: { hearsAll: boolean } = { hearsAll: false },
): Deliverer {
  const { clock } = deps;
  const announced = createBell();
  let news = announced.listen();
  let wake = (): void => {};
  let refreshedAt = clock.monotonicMs();
  let steppedAt = Number.NEGATIVE_INFINITY;
  let reading = false;
  /** Outcomes that were written while a read was under way, which may have seen their deliveries as they were before. */
  const writtenMeanwhile: Ended[] = [];

  const held = holdQueues(deps);
  const outcomes = createOutcomeWriter(deps, (batch) => {
    if (reading) writtenMeanwhile.push(...batch);
    else forget(batch);
  });
  const places = createPlaces(
    deps,
    (ended) => outcomes.add(ended),
    (queue) => {
      if (!hearsAll || queue.mayHaveMore) wake();
    },
  );

  async function step(): Promise<boolean> {
    if (places.closed()) return false;
    // Places that become free ring: without a pace a look for queues was made for every fifth delivery.
    const early = steppedAt + paceMs - clock.monotonicMs();
    if (early > 0) await clock.sleep(early, news);
    if (places.closed()) return false;
    news = announced.listen();
    steppedAt = clock.monotonicMs();
    await held.renew();
    const now = clock.now();
    await held.claim(now);
    const nowMs = clock.monotonicMs();
    for (const queue of held.all()) if (wantsProbe(queue, nowMs)) places.fill(queue);
    const hungry = held.all().filter((queue) => isHungry(queue, nowMs));
    // Those that are read say how it is; for the others anything may have come.
    for (const queue of held.all()) queue.mayHaveMore = true;
    const stale = clock.monotonicMs() - refreshedAt >= refreshMs;
    if (hungry.length === 0 && !(stale && held.all().length > 0)) return false;
    if (stale) refreshedAt = clock.monotonicMs();
    reading = true;
    const found = await read(deps, held, hungry, stale ? held.all() : hungry, now).finally(() => {
      reading = false;
      forget(writtenMeanwhile.splice(0));
    });
    for (const queue of hungry) places.fill(queue);
    const idle = hungry.filter((queue) => isIdle(queue, clock.monotonicMs()) && held.holds(queue));
    await Promise.all(idle.map(held.putToRest));
    return found && (!hearsAll || hungry.some(({ mayHaveMore }) => mayHaveMore));
  }

  return {
    announce: announced.ring,
    step,
    release: held.leave,
    isHolding: () => held.all().length > 0,
    onWork: (given) => {
      wake = given;
    },
    stop: async (withinMs) => {
      places.close();
      outcomes.hurry();
      const cut = new AbortController();
      const quiet = places.empty().then(outcomes.written);
      await Promise.race([quiet, clock.sleep(withinMs, cut.signal)]);
      cut.abort();
      await held.leave();
    },
  };
}

function forget(batch: readonly Ended[]): void {
  for (const { queue, outcome } of batch) queue.busy.delete(outcome.eventId);
}

// ------------------------------------------------------------------------------------------------------------------- held

type Held = ReturnType<typeof holdQueues>;

/** The queues whose leases this process holds. */
function holdQueues({ sql, clock, ids }: DeliveryDeps) {
  const owner = ids.uuid();
  const queues = new Map<string, EndpointQueue>();
  let renewedAt = clock.monotonicMs();
  const drop = (queue: EndpointQueue): void => {
    queues.delete(queue.endpointId);
    queue.firsts = [];
    queue.repeats = [];
  };
  return {
    all: () => [...queues.values()],
    get: (endpointId: string) => queues.get(endpointId),
    holds: (queue: EndpointQueue) => queues.get(queue.endpointId) === queue,

    async claim(now: number): Promise<void> {
      if (queues.size >= queuesMost) return;
      const began = clock.monotonicMs();
      const claimed = await claimQueues(sql, owner, now, now + queueLeaseMs, queuesMost - queues.size);
      for (const key of claimed) {
        // Ours already, when the lease ran out while the process stood still.
        const known = queues.get(key.endpointId);
        if (known) known.heldUntil = began + queueLeaseMs;
        else queues.set(key.endpointId, newQueue(key, began));
      }
    },

    async renew(): Promise<void> {
      const now = clock.monotonicMs();
      if (queues.size === 0 || now - renewedAt < renewEveryMs) return;
      const before = [...queues.values()];
      const kept = await renewQueues(sql, before, owner, clock.now() + queueLeaseMs);
      renewedAt = now;
      const ours = new Set(kept.map(({ endpointId }) => endpointId));
      for (const queue of before) {
        if (ours.has(queue.endpointId)) queue.heldUntil = now + queueLeaseMs;
        // Another process holds it: what is under way ends, nothing more is begun.
        else drop(queue);
      }
    },

    async putToRest(queue: EndpointQueue): Promise<void> {
      queues.delete(queue.endpointId);
      const { wakes = -1, enabled = false } = queue.endpoint ?? {};
      await restQueue(sql, keyOf(queue), owner, wakes, enabled);
    },

    /** Attempts still under way would be begun by the next owner at once: those leases end by themselves. */
    async leave(): Promise<void> {
      const free = [...queues.values()].filter((queue) => queue.running === 0);
      for (const queue of free) drop(queue);
      if (free.length > 0) await leaveQueues(sql, free, owner);
    },
  };
}

/** Reads what waits for the hungry queues, behind what is here already. @returns whether there was something */
async function read(
  { sql }: DeliveryDeps,
  held: Held,
  hungry: readonly EndpointQueue[],
  known: readonly EndpointQueue[],
  now: number,
): Promise<boolean> {
  // Each statement sees what was committed before it: the queues' `wakes` are read before their deliveries, so that a
  // queue is not put to rest over what arrived in between; test clocks after them, so that a repeat that a clock has just
  // made due shows the time to which that was moved.
  const tx = await sql.begin();
  let endpoints: Awaited<ReturnType<typeof findQueueEndpoints>>;
  let ahead: Map<string, number>;
  let firsts: DueDelivery[];
  let repeats: DueDelivery[];
  try {
    [endpoints, firsts, repeats, ahead] = await Promise.all([
      findQueueEndpoints(tx, known),
      findFirst(
        tx,
        hungry.map((queue) => ({ ...keyOf(queue), after: queue.after, most: waitingMost })),
      ),
      findDue(
        tx,
        // Those that are busy come first again: they are no repeats to begin.
        hungry.map((queue) => ({ ...keyOf(queue), most: waitingMost + queue.busy.size })),
        now,
      ),
      findAhead(tx, known),
    ]);
  } finally {
    await tx.rollback();
  }
  for (const queue of known) queue.endpoint = null;
  for (const endpoint of endpoints) {
    const queue = held.get(endpoint.endpointId);
    if (!queue) continue;
    queue.endpoint = { ...endpoint, aheadMs: ahead.get(endpoint.accountId) ?? null };
    queue.failedInARow ??= endpoint.failedAttempts;
  }
  const [first, due] = [countOf(firsts), countOf(repeats)];
  for (const queue of hungry) {
    const most = Math.max(first.get(queue.endpointId) ?? 0, due.get(queue.endpointId) ?? 0);
    queue.mayHaveMore = most >= waitingMost;
  }
  let found = false;
  const putAll = (as: 'firsts' | 'repeats', deliveries: readonly DueDelivery[]) => {
    for (const delivery of deliveries) {
      const queue = held.get(delivery.endpointId);
      if (queue && put(queue, as, delivery)) found = true;
    }
  };
  putAll('firsts', firsts);
  putAll('repeats', repeats);
  return found;
}

/** How many of them each endpoint has. */
function countOf(deliveries: readonly DueDelivery[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { endpointId } of deliveries) counts.set(endpointId, (counts.get(endpointId) ?? 0) + 1);
  return counts;
}

// ----------------------------------------------------------------------------------------------------------------- places

/** Makes attempts, as many at once for a queue as its pace allows. */
function createPlaces(
  deps: DeliveryDeps,
  done: (ended: Ended) => void,
  hasRoomAgain: (queue: EndpointQueue) => void,
) {
  const { clock, traces } = deps;
  const underWay = new Set<Promise<void>>();
  const extra = createExtraPlaces();
  let closed = false;

  /** Begins what the queue's places allow. */
  function fill(queue: EndpointQueue): void {
    const { endpoint } = queue;
    if (!endpoint?.enabled) {
      empty(queue);
      return;
    }
    // They wait without an attempt: a receiver is not at fault when we cannot sign.
    if (!canSign(deps, queue, endpoint)) return;
    for (;;) {
      const now = clock.monotonicMs();
      if (closed || now >= queue.heldUntil || !mayBegin(queue, now) || !extra.hasPlace(queue)) return;
      const delivery = takeNext(queue);
      if (!delivery) return;
      const work = begin(queue, endpoint, delivery);
      underWay.add(work);
      void work.finally(() => underWay.delete(work));
    }
  }

  async function begin(queue: EndpointQueue, endpoint: QueueEndpoint, delivery: DueDelivery): Promise<void> {
    const first = delivery.made === 0 && delivery.paymentId !== null ? delivery.paymentId : null;
    if (first !== null) queue.payments.add(first);
    extra.take(queue);
    queue.attemptedAt = clock.monotonicMs();
    const make = () => attempt(deps, queue, endpoint, delivery);
    const attempted = await (traces ? traces.around('delivery', {}, make, outcomeOf) : make());
    extra.give(queue);
    queue.workedAt = clock.monotonicMs();
    if (first !== null) queue.payments.delete(first);
    queue.failedInARow = succeeded(attempted.result) ? 0 : (queue.failedInARow ?? 0) + 1;
    queue.pace = paceAfter(queue.pace, attempted.result, waiting(queue) > 0);
    done(endedOf(deps, queue, endpoint, delivery, attempted));
    if (hasRoom(queue)) hasRoomAgain(queue);
    fill(queue);
  }

  return {
    fill,
    closed: () => closed,
    close: () => {
      closed = true;
    },
    empty: async () => {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}

const outcomeOf = ({ result }: { result: Result }): string => (succeeded(result) ? 'delivered' : 'failed');
