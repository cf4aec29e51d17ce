import type { Log } from '../../ground/log.ts';
import type { DeliveryMeasures, DeliveryOutcome } from '../../ground/measures.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Queries, Sql } from '../../ports/sql.ts';
import { takeStorage } from '../../store/database/storage-budget.ts';
import type { Attempted } from './attempt.ts';
import {
  type DueDelivery,
  type HealthNews,
  noteHealth,
  type Outcome,
  type QueueEndpoint,
  recordOutcomes,
} from './deliveries.sql.ts';
import { type EndpointQueue, keyOf } from './endpoint-queue.ts';
import { disableEndpoint } from './endpoints.sql.ts';
import { isGone, isHopeless, succeeded, waitAfterMs } from './schedule.ts';

export interface OutcomeDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** Counts attempts by what they ended with. */
  measures?: { deliveries: Pick<DeliveryMeasures, 'byOutcome'> };
}

/** The outcome of an attempt, on its way to the database. */
export interface Ended {
  outcome: Outcome;
  gone: boolean;
  queue: EndpointQueue;
}

/** Between two writes, so that a busy endpoint is served in crowds. */
const paceMs = 20;
const batchMost = 1_000;

/** Writes what attempts ended with, in crowds, one transaction at a time, as the till does. */
export interface OutcomeWriter {
  add(ended: Ended): void;
  /** Waits for nothing any more, and gives up what cannot be written at once. */
  hurry(): void;
  /** Resolves when everything that was added is written, or given up. */
  written(): Promise<void>;
}

/** @param done what has just been written */
export function createOutcomeWriter(
  deps: OutcomeDeps,
  done: (batch: readonly Ended[]) => void,
): OutcomeWriter {
  const { clock, log } = deps;
  let waiting: Ended[] = [];
  let writing: Promise<void> | null = null;
  let wroteAt = Number.NEGATIVE_INFINITY;
  let hurried = false;

  async function writeAll(): Promise<void> {
    let retryMs = 50;
    // Outcomes of one turn of the event loop are written together from the start.
    await Promise.resolve();
    while (waiting.length > 0) {
      const early = wroteAt + paceMs - clock.monotonicMs();
      if (early > 0 && !hurried) await clock.sleep(early);
      wroteAt = clock.monotonicMs();
      const batch = waiting.slice(0, batchMost);
      try {
        await write(deps, batch);
      } catch (error) {
        log.warn({ err: error, outcomes: batch.length }, 'what deliveries ended with is not written yet');
        await clock.sleep(retryMs);
        retryMs = Math.min(retryMs * 2, 2_000);
        // Outcomes that are not written only cause another attempt, by the next holder of the queue.
        if (hurried) break;
        continue;
      }
      waiting = waiting.slice(batch.length);
      done(batch);
      retryMs = 50;
    }
    writing = null;
  }

  return {
    add: (ended) => {
      waiting.push(ended);
      writing ??= writeAll();
    },
    hurry: () => {
      hurried = true;
    },
    written: async () => {
      await writing;
    },
  };
}

/** The state of a delivery after an attempt: delivered, to be tried again, or failed. */
export function endedOf(
  { clock, ids, measures }: OutcomeDeps,
  queue: EndpointQueue,
  endpoint: QueueEndpoint,
  delivery: DueDelivery,
  { result, at }: Attempted,
): Ended {
  const success = succeeded(result);
  const waitMs = success ? null : waitAfterMs(endpoint, delivery, result, ids.bytes(1).readUInt8() / 255);
  const { statusCode, error, durationMs, responseSnippet } = result;
  const status = statusOf(success, waitMs, delivery);
  measures?.deliveries.byOutcome[status].observe(durationMs / 1000);
  return {
    queue,
    gone: isGone(result),
    outcome: {
      ...keyOf(queue),
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
  };
}

function statusOf(success: boolean, waitMs: number | null, { delivered }: DueDelivery): DeliveryOutcome {
  if (success) return 'delivered';
  if (waitMs !== null) return 'pending';
  return delivered ? 'delivered' : 'failed';
}

async function write({ sql, clock }: OutcomeDeps, batch: readonly Ended[]): Promise<void> {
  const now = clock.now();
  const news = healthNewsOf(batch);
  const sorted = batch
    .map(({ outcome }) => outcome)
    .sort((one, other) => (keyText(one) < keyText(other) ? -1 : 1));
  await sql.tx(async (tx) => {
    const recorded = recordOutcomes(tx, await cutToBudget(tx, sorted, now), now);
    const health = news.length > 0 ? await noteHealth(tx, news, now) : [];
    for (const { queue, gone } of batch) {
      if (gone) await disableEndpoint(tx, queue.accountId, queue.endpointId, 'gone', now);
    }
    for (const one of health) {
      if (isHopeless(one, now)) await disableEndpoint(tx, one.accountId, one.endpointId, 'failing', now);
    }
    await recorded;
  });
}

/** Of each answer, whatever the account's budget: what a receiver that works says (`ok`) asks for no statement. */
const freeBytes = 64;

/** Answers are kept whole as far as the budget of their account reaches; of the others the beginning is. */
async function cutToBudget(tx: Queries, outcomes: readonly Outcome[], nowMs: number): Promise<Outcome[]> {
  const wanted = new Map<string, number>();
  for (const one of outcomes) {
    const bytes = beyondFree(one);
    if (bytes > 0) wanted.set(one.accountId, (wanted.get(one.accountId) ?? 0) + bytes);
  }
  if (wanted.size === 0) return [...outcomes];
  const left = await takeStorage(tx, 'answers', wanted, nowMs);
  return outcomes.map((one) => {
    const bytes = beyondFree(one);
    if (bytes === 0) return one;
    const after = (left.get(one.accountId) ?? 0) - bytes;
    left.set(one.accountId, after);
    return after >= 0 ? one : { ...one, attempt: { ...one.attempt, responseSnippet: beginningOf(one) } };
  });
}

const beyondFree = ({ attempt }: Outcome): number =>
  Math.max(0, Buffer.byteLength(attempt.responseSnippet ?? '') - freeBytes);

/** A character that is cut in two becomes U+FFFD, which is three bytes. */
const beginningOf = ({ attempt }: Outcome): string =>
  Buffer.from(attempt.responseSnippet ?? '')
    .subarray(0, freeBytes)
    .toString('utf8');

const keyText = ({ accountId, endpointId, eventId }: Outcome): string => accountId + endpointId + eventId;

/** Of endpoints that failed, or that are known to have failed before and did not now. */
function healthNewsOf(batch: readonly Ended[]): HealthNews[] {
  const byEndpoint = new Map<string, HealthNews>();
  for (const { queue, outcome } of batch) {
    const healthy = { ...keyOf(queue), failedAttempts: 0, failedDeliveries: 0, firstFailureAt: null };
    if (outcome.succeeded) {
      byEndpoint.set(queue.endpointId, { ...healthy, recovered: true });
      continue;
    }
    const known = byEndpoint.get(queue.endpointId) ?? { ...healthy, recovered: false };
    known.failedAttempts++;
    if (outcome.status === 'failed') known.failedDeliveries++;
    known.firstFailureAt ??= Date.parse(outcome.attempt.at);
    byEndpoint.set(queue.endpointId, known);
    queue.endpoint = queue.endpoint && { ...queue.endpoint, failingSince: known.firstFailureAt };
  }
  const news = [...byEndpoint.values()].sort((one, other) => (one.endpointId < other.endpointId ? -1 : 1));
  const queues = new Map(batch.map(({ queue }) => [queue.endpointId, queue]));
  return news.filter(
    ({ endpointId, failedAttempts }) =>
      failedAttempts > 0 || queues.get(endpointId)?.endpoint?.failingSince !== null,
  );
}
