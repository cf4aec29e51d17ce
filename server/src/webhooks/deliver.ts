import type { Log } from '../ground/log.ts';
import type { DeliveryMeasures, DeliveryOutcome } from '../ground/measures.ts';
import type { Secrets } from '../ground/secrets.ts';
import type { Traces } from '../ground/traces.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import { type Net, NetFailure, NotSent } from '../ports/net.ts';
import type { Sql } from '../ports/sql.ts';
import { reportUnreadable } from '../settlement/incidents/unreadable.ts';
import { type Addresses, AddressRefused } from './address.ts';
import {
  claimLanes,
  type DueDelivery,
  findDue,
  findFirst,
  findLaneEndpoints,
  type HealthNews,
  type LaneEndpoint,
  type LaneKey,
  leaveLanes,
  noteHealth,
  type Outcome,
  recordOutcomes,
  renewLanes,
  restLane,
} from './deliveries.sql.ts';
import { disableEndpoint } from './endpoints.sql.ts';
import {
  concurrencyMost,
  isGone,
  isHopeless,
  type Pace,
  paceAfter,
  type Result,
  retryAfterMsOf,
  succeeded,
  waitAfterMs,
} from './schedule.ts';
import { keyOfSecret, signatureHeaders } from './sign.ts';

/**
 * Delivers. At least once: an attempt is recorded after it was made, so a process that dies in between leaves a repeat behind
 * and never a gap.
 *
 * **Lanes.** An endpoint's queue is a lane, and one process at a time holds the lane's lease. So "five at once" is exact whatever the number of
 * processes, first attempts start in the order of the log, connections stay where they are, and a delivery costs two writes in its
 * life (made, recorded) and not three. A lane waits for no other: a dead endpoint holds its own five places and nothing else.
 * A process that dies loses its lanes when their leases end. Rejected: a lease per delivery, which needs all of this once more
 * in the database.
 *
 * **Order.** The first attempt for an event of a payment begins when that of the event before has ended. Repeats follow their
 * schedule, so order is a help and no promise.
 *
 * **Writes.** What attempts ended with is written in crowds, one transaction at a time, as the till does.
 */
export interface Deliverer {
  /** Looks for work and begins it; true when something was found. */
  step(): Promise<boolean>;
  /** `wake` is called when this process published an event or a delivery slot became free. */
  onWork(wake: () => void): void;
  /** Begins nothing more; resolves when what is under way has ended or `withinMs` have passed. */
  stop(withinMs: number): Promise<void>;
}

export interface DeliveryDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  net: Net;
  secrets: Pick<Secrets, 'open'>;
  log: Log;
  addresses: Addresses;
  /** Counts attempts by what they ended with. */
  measures?: { deliveries: Pick<DeliveryMeasures, 'byOutcome'> };
  traces?: Traces | null;
}

/** How long a lane belongs to a process that is not heard of any more. */
export const laneLeaseMs = 10_000;
const renewEveryMs = 3_000;
/** Lanes that one process holds; the others are for the others. */
const lanesMost = 500;
/** A lane without work stays this long before it is put to rest: a busy endpoint's next event is never far. */
const lingerMs = 1_000;
/** How old what is known of an endpoint may become while its queue is full. */
const refreshMs = 1_000;
/** Deliveries of a lane that wait in memory for one of its places. */
const queueMost = 128;
/** Between two looks for work, and between two writes of outcomes, so that a busy endpoint is served in crowds. */
const paceMs = 20;
const attemptMs = 15_000;
const answerMost = 64 * 1024;
const snippetMost = 1024;
const userAgent = 'vintem-Webhooks/1';

interface Lane extends LaneKey {
  endpoint: LaneEndpoint | null;
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
  /** The place in the log up to which first attempts were read. */
  after: number;
  repeatsNext: boolean;
  /** Monotonic: until then the lease holds, and since when there is nothing to do. */
  heldUntil: number;
  workedAt: number;
}

interface Ended {
  outcome: Outcome;
  gone: boolean;
  lane: Lane;
}

export function createDeliverer(deps: DeliveryDeps): Deliverer {
  const { sql, clock, ids, net, secrets, addresses, log, traces } = deps;
  const owner = ids.uuid();
  const lanes = new Map<string, Lane>();
  let wake = (): void => {};
  let stopping = false;
  let renewedAt = clock.monotonicMs();
  let refreshedAt = renewedAt;
  let steppedAt = Number.NEGATIVE_INFINITY;
  let wroteAt = Number.NEGATIVE_INFINITY;
  let ended: Ended[] = [];
  let writing: Promise<void> | null = null;
  let reading = false;
  /** Outcomes that were written while a read was under way, which may have seen their deliveries as they were before. */
  const writtenMeanwhile: Ended[] = [];
  const underWay = new Set<Promise<void>>();

  // ---------------------------------------------------------------------------------------------------------------- work

  async function step(): Promise<boolean> {
    if (stopping) return false;
    // Every place that becomes free rings: without a pace a look for lanes was made for every fifth delivery.
    const early = steppedAt + paceMs - clock.monotonicMs();
    if (early > 0) await clock.sleep(early);
    if (stopping) return false;
    steppedAt = clock.monotonicMs();
    await renewHeld();
    const now = clock.now();
    if (lanes.size < lanesMost) {
      const began = clock.monotonicMs();
      for (const key of await claimLanes(sql, owner, now, now + laneLeaseMs, lanesMost - lanes.size)) {
        // Ours already, when the lease ran out while the process stood still.
        const held = lanes.get(key.endpointId);
        if (held) held.heldUntil = began + laneLeaseMs;
        else lanes.set(key.endpointId, laneOf(key, began));
      }
    }
    const hungry = [...lanes.values()].filter(
      (lane) => lane.firsts.length + lane.repeats.length < queueMost / 2 && lane.running < concurrencyMost,
    );
    const stale = clock.monotonicMs() - refreshedAt >= refreshMs;
    if (hungry.length === 0 && !(stale && lanes.size > 0)) return false;
    if (stale) refreshedAt = clock.monotonicMs();
    reading = true;
    const found = await read(hungry, stale ? [...lanes.values()] : hungry, now).finally(() => {
      reading = false;
      forget(writtenMeanwhile.splice(0));
    });
    for (const lane of hungry) advance(lane);
    await Promise.all(hungry.filter(isIdle).map(putToRest));
    return found;
  }

  /** Reads what waits for the hungry lanes, behind what is here already. @returns whether there was something */
  async function read(hungry: readonly Lane[], known: readonly Lane[], now: number): Promise<boolean> {
    // Each statement sees what was committed before it: the lanes' `wakes` are read before their deliveries, so that a
    // lane is not put to rest over what arrived in between.
    const tx = await sql.begin();
    let endpoints: LaneEndpoint[];
    let firsts: DueDelivery[];
    let repeats: DueDelivery[];
    try {
      [endpoints, firsts, repeats] = await Promise.all([
        findLaneEndpoints(tx, known),
        findFirst(
          tx,
          hungry.map((lane) => ({ ...keyOf(lane), after: lane.after, most: queueMost })),
        ),
        findDue(
          tx,
          // Those that are busy come first again: they are no repeats to begin.
          hungry.map((lane) => ({ ...keyOf(lane), most: queueMost + lane.busy.size })),
          now,
        ),
      ]);
    } finally {
      await tx.rollback();
    }
    for (const lane of known) lane.endpoint = null;
    for (const endpoint of endpoints) {
      const lane = lanes.get(endpoint.endpointId);
      if (lane) lane.endpoint = endpoint;
    }
    let found = false;
    for (const delivery of firsts) {
      const lane = lanes.get(delivery.endpointId);
      if (!lane) continue;
      lane.after = delivery.seq;
      if (lane.busy.has(delivery.eventId)) continue;
      lane.busy.add(delivery.eventId);
      lane.firsts.push(delivery);
      found = true;
    }
    for (const delivery of repeats) {
      const lane = lanes.get(delivery.endpointId);
      if (!lane || lane.busy.has(delivery.eventId)) continue;
      lane.busy.add(delivery.eventId);
      lane.repeats.push(delivery);
      found = true;
    }
    return found;
  }

  /** Begins what the lane's places allow. */
  function advance(lane: Lane): void {
    const { endpoint } = lane;
    if (!endpoint?.enabled) {
      for (const waiting of [...lane.firsts.splice(0), ...lane.repeats.splice(0)])
        lane.busy.delete(waiting.eventId);
      // Switched on again, it begins anew.
      lane.after = 0;
      return;
    }
    // They wait without an attempt: a receiver is not at fault when we cannot sign.
    if (!canSign(lane, endpoint)) return;
    while (!stopping && lane.running < lane.pace.most && clock.monotonicMs() < lane.heldUntil) {
      const delivery = takeNext(lane);
      if (!delivery) return;
      const first = isFirst(delivery) && delivery.paymentId !== null ? delivery.paymentId : null;
      if (first !== null) lane.payments.add(first);
      lane.running++;
      const made = () => attempt(lane, endpoint, delivery);
      const work = (traces ? traces.around('delivery', {}, made, outcomeOf) : made()).then((end) => {
        lane.running--;
        lane.workedAt = clock.monotonicMs();
        if (first !== null) lane.payments.delete(first);
        lane.pace = paceAfter(lane.pace, end.result);
        record(lane, endpoint, delivery, end);
        if (lane.firsts.length + lane.repeats.length < queueMost / 2) wake();
        advance(lane);
      });
      underWay.add(work);
      void work.finally(() => underWay.delete(work));
    }
  }

  /** New events and repeats take turns, so that neither starves the other. */
  function takeNext(lane: Lane): DueDelivery | undefined {
    lane.repeatsNext = !lane.repeatsNext;
    if (lane.repeatsNext && lane.repeats.length > 0) return lane.repeats.shift();
    const at = lane.firsts.findIndex(({ paymentId }) => paymentId === null || !lane.payments.has(paymentId));
    if (at === -1) return lane.repeats.shift();
    return lane.firsts.splice(at, 1)[0];
  }

  // ------------------------------------------------------------------------------------------------------------- attempts

  async function attempt(
    lane: Lane,
    endpoint: LaneEndpoint,
    delivery: DueDelivery,
  ): Promise<{ result: Result; at: number }> {
    const at = clock.now();
    const began = clock.monotonicMs();
    const end = (result: Omit<Result, 'durationMs'>) => ({
      at,
      result: { ...result, durationMs: Math.round(clock.monotonicMs() - began) },
    });
    const nothing = { statusCode: null, retryAfterMs: null, responseSnippet: null };
    try {
      addresses.checkUrl(endpoint.url, endpoint);
      const { status, headers, text } = await net.request({
        method: 'POST',
        url: endpoint.url,
        headers: {
          'content-type': 'application/json',
          'user-agent': userAgent,
          ...signatureHeaders(
            keysOf(lane, endpoint, at),
            delivery.eventId,
            Math.floor(at / 1000),
            delivery.body,
          ),
          'x-webhook-attempt': String(delivery.made + 1),
          // Beside the signature, which carries the real time: a receiver's check of its age stays as strict as it is.
          ...(endpoint.aheadMs !== null && {
            'x-webhook-test-time': new Date(at + endpoint.aheadMs).toISOString(),
          }),
        },
        body: delivery.body,
        timeoutMs: attemptMs,
        maxBytes: answerMost,
        cutsLongAnswers: true,
        route: addresses.routeOf(endpoint),
      });
      const retryAfterMs = retryAfterMsOf(headers['retry-after'], clock.now());
      return end({ statusCode: status, error: null, retryAfterMs, responseSnippet: snippetOf(text) });
    } catch (error) {
      if (error instanceof AddressRefused) return end({ ...nothing, error: 'address not allowed' });
      if (error instanceof NetFailure && error.timedOut) return end({ ...nothing, error: 'timed out' });
      // What exactly failed is not told: the log of deliveries is no scanner of ports.
      if (!(error instanceof NotSent || error instanceof NetFailure)) {
        log.error({ err: error, endpoint: endpoint.endpointId }, 'an attempt could not be made');
      }
      return end({ ...nothing, error: 'connection failed' });
    }
  }

  function canSign(lane: Lane, endpoint: LaneEndpoint): boolean {
    try {
      keysOf(lane, endpoint, clock.now());
      return true;
    } catch {
      if (!lane.reported) {
        lane.reported = true;
        const { accountId, endpointId } = endpoint;
        const value = { accountId, paymentId: null, operationId: null, amountCents: 0 };
        void reportUnreadable(deps, { ...value, need: `webhook:${endpointId}` });
      }
      return false;
    }
  }

  function keysOf(lane: Lane, { endpointId, secret, ...endpoint }: LaneEndpoint, now: number): Buffer[] {
    const { previousSecret, previousSecretUntil } = endpoint;
    const both = previousSecret !== null && previousSecretUntil !== null && previousSecretUntil > now;
    const sealed = both ? [secret, previousSecret] : [secret];
    const of = sealed.map((one) => one.toString('base64')).join();
    if (lane.keys?.of !== of) {
      const keys = sealed.map((one) => keyOfSecret(secrets.open(one, endpointId).toString()));
      lane.keys = { of, keys };
    }
    return lane.keys.keys;
  }

  // ------------------------------------------------------------------------------------------------------------- outcomes

  function record(
    lane: Lane,
    endpoint: LaneEndpoint,
    delivery: DueDelivery,
    { result, at }: { result: Result; at: number },
  ): void {
    const success = succeeded(result);
    const jitter = ids.bytes(1).readUInt8() / 255;
    const waitMs = success ? null : waitAfterMs(endpoint, delivery.triesLeft, result, jitter);
    const { statusCode, error, durationMs, responseSnippet } = result;
    const status: DeliveryOutcome =
      success || (waitMs === null && delivery.delivered)
        ? 'delivered'
        : waitMs === null
          ? 'failed'
          : 'pending';
    deps.measures?.deliveries.byOutcome[status].observe(durationMs / 1000);
    ended.push({
      lane,
      gone: isGone(result),
      outcome: {
        ...keyOf(lane),
        eventId: delivery.eventId,
        attempt: {
          n: delivery.made + 1,
          at: new Date(at).toISOString(),
          statusCode,
          error,
          durationMs,
          responseSnippet,
        },
        status,
        dueAt: waitMs === null ? null : clock.now() + waitMs,
        triesLeft: success ? 0 : Math.max(0, delivery.triesLeft - 1),
        succeeded: success,
      },
    });
    writing ??= writeAll();
  }

  async function writeAll(): Promise<void> {
    let waitMs = 50;
    // What ends within one turn of the event loop is written together from the start.
    await Promise.resolve();
    while (ended.length > 0) {
      const early = wroteAt + paceMs - clock.monotonicMs();
      if (early > 0 && !stopping) await clock.sleep(early);
      wroteAt = clock.monotonicMs();
      const batch = ended.slice(0, 1_000);
      try {
        await write(batch);
      } catch (error) {
        log.warn({ err: error, outcomes: batch.length }, 'what deliveries ended with is not written yet');
        await clock.sleep(waitMs);
        waitMs = Math.min(waitMs * 2, 2_000);
        // Outcomes that are not written only cause another attempt, by the next holder of the lane.
        if (stopping) break;
        continue;
      }
      ended = ended.slice(batch.length);
      if (reading) writtenMeanwhile.push(...batch);
      else forget(batch);
      waitMs = 50;
    }
    writing = null;
  }

  function forget(batch: readonly Ended[]): void {
    for (const { lane, outcome } of batch) lane.busy.delete(outcome.eventId);
  }

  async function write(batch: readonly Ended[]): Promise<void> {
    const now = clock.now();
    const news = healthNewsOf(batch);
    const sorted = batch
      .map(({ outcome }) => outcome)
      .sort((one, other) => (keyText(one) < keyText(other) ? -1 : 1));
    await sql.tx(async (tx) => {
      const recorded = recordOutcomes(tx, sorted, now);
      const health = news.length > 0 ? await noteHealth(tx, news, now) : [];
      for (const { lane, gone } of batch) {
        if (gone) await disableEndpoint(tx, lane.accountId, lane.endpointId, 'gone', now);
      }
      for (const one of health) {
        if (isHopeless(one, now)) await disableEndpoint(tx, one.accountId, one.endpointId, 'failing', now);
      }
      await recorded;
    });
  }

  // ---------------------------------------------------------------------------------------------------------------- lanes

  async function renewHeld(): Promise<void> {
    const now = clock.monotonicMs();
    if (lanes.size === 0 || now - renewedAt < renewEveryMs) return;
    const held = [...lanes.values()];
    const kept = await renewLanes(sql, held, owner, clock.now() + laneLeaseMs);
    renewedAt = now;
    const ours = new Set(kept.map(({ endpointId }) => endpointId));
    for (const lane of held) {
      if (ours.has(lane.endpointId)) lane.heldUntil = now + laneLeaseMs;
      else drop(lane);
    }
  }

  /** Somebody else holds it: what is under way ends, nothing more is begun. */
  function drop(lane: Lane): void {
    lanes.delete(lane.endpointId);
    lane.firsts = [];
    lane.repeats = [];
  }

  const isIdle = (lane: Lane): boolean =>
    lane.busy.size === 0 &&
    lane.running === 0 &&
    clock.monotonicMs() - lane.workedAt > lingerMs &&
    lanes.get(lane.endpointId) === lane;

  async function putToRest(lane: Lane): Promise<void> {
    lanes.delete(lane.endpointId);
    const { wakes = -1, enabled = false } = lane.endpoint ?? {};
    await restLane(sql, keyOf(lane), owner, wakes, enabled);
  }

  return {
    step,
    onWork: (given) => {
      wake = given;
    },
    stop: async (withinMs) => {
      stopping = true;
      const cut = new AbortController();
      const quiet = async () => {
        while (underWay.size > 0) await Promise.all(underWay);
        await writing;
      };
      await Promise.race([quiet(), clock.sleep(withinMs, cut.signal)]);
      cut.abort();
      // What is still under way would be begun by the next owner at once: those leases end by themselves.
      const free = [...lanes.values()].filter((lane) => lane.running === 0);
      if (free.length > 0) await leaveLanes(sql, free, owner);
    },
  };
}

const laneOf = ({ accountId, endpointId }: LaneKey, claimedAt: number): Lane => ({
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
  pace: { most: concurrencyMost, successes: 0 },
  after: 0,
  repeatsNext: false,
  heldUntil: claimedAt + laneLeaseMs,
  workedAt: claimedAt,
});

const keyOf = ({ accountId, endpointId }: LaneKey): LaneKey => ({ accountId, endpointId });

const keyText = ({ accountId, endpointId, eventId }: Outcome): string => accountId + endpointId + eventId;

const isFirst = ({ made }: DueDelivery): boolean => made === 0;

/** PostgreSQL's JSON cannot hold the null character. */
const snippetOf = (text: string): string =>
  Buffer.from(text.slice(0, snippetMost)).subarray(0, snippetMost).toString('utf8').replaceAll('\0', '�');

/** Of endpoints that failed, or that are known to have failed before and did not now. */
function healthNewsOf(batch: readonly Ended[]): HealthNews[] {
  const byLane = new Map<string, HealthNews>();
  for (const { lane, outcome } of batch) {
    const known = byLane.get(lane.endpointId) ?? {
      ...keyOf(lane),
      recovered: false,
      failedAttempts: 0,
      failedDeliveries: 0,
      firstFailureAt: null,
    };
    if (outcome.succeeded) {
      byLane.set(lane.endpointId, {
        ...keyOf(lane),
        recovered: true,
        failedAttempts: 0,
        failedDeliveries: 0,
        firstFailureAt: null,
      });
      continue;
    }
    known.failedAttempts++;
    if (outcome.status === 'failed') known.failedDeliveries++;
    known.firstFailureAt ??= Date.parse(outcome.attempt.at);
    byLane.set(lane.endpointId, known);
    lane.endpoint = lane.endpoint && { ...lane.endpoint, failingSince: known.firstFailureAt };
  }
  const news = [...byLane.values()].sort((one, other) => (one.endpointId < other.endpointId ? -1 : 1));
  const lanes = new Map(batch.map(({ lane }) => [lane.endpointId, lane]));
  return news.filter(
    ({ endpointId, failedAttempts }) =>
      failedAttempts > 0 || lanes.get(endpointId)?.endpoint?.failingSince !== null,
  );
}

const outcomeOf = ({ result }: { result: Result }): string => (succeeded(result) ? 'delivered' : 'failed');
