import {
  type DeliveryRow,
  findAhead,
  findDeliveries,
  findDelivery,
  findPlace,
  insertTestDelivery,
  replayEvents,
  retryDelivery,
} from '../../events/webhooks/deliveries.sql.ts';
import { wakeDelivering } from '../../events/webhooks/endpoints.sql.ts';
import { attemptsOf, dayMs } from '../../events/webhooks/schedule.ts';
import type { KeyHolder } from '../../ground/caller.ts';
import { cursorOf, placeOf } from '../../ground/cursor.ts';
import { refuse, refuseFields } from '../../ground/errors.ts';
import { lowestIdAt } from '../../ports/ids.ts';
import { type EventType, eventRow, insertTestEvent } from '../../store/events/event.ts';
import { getEndpoint, type WebhooksDeps } from './endpoints.ts';
import { sampleOf } from './samples.ts';

/**
 * A delivery is the pair of an endpoint and an event, so its id is a function of both: the event's time and counter, and the
 * random halves of the two laid over each other. Rejected: an id of its own, which costs an index that every delivery is
 * entered into twice.
 */
export const deliveryIdOf = (endpointId: string, eventId: string): string =>
  overlay(endpointId, eventId, '8');

export const eventIdOf = (endpointId: string, deliveryId: string): string =>
  overlay(endpointId, deliveryId, '7');

function overlay(endpointId: string, id: string, version: string): string {
  const half = (uuid: string): bigint => BigInt(`0x${uuid.slice(19).replace('-', '')}`);
  // The two variant bits are equal and fall out: they are set again.
  const random = (half(endpointId) ^ half(id)) | (1n << 63n);
  const hex = random.toString(16);
  return `${id.slice(0, 14)}${version}${id.slice(15, 19)}${hex.slice(0, 4)}-${hex.slice(4)}`;
}

/** How many deliveries one request reads at most. A filter that matches few of them ends there, with a cursor to continue. */
const scannedMost = 10_000;
const beyondEvery = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** @throws ApiError `webhook_not_found`, `invalid_cursor` */
export async function listDeliveries(
  deps: WebhooksDeps,
  holder: KeyHolder,
  endpointId: string,
  query: { limit?: number; cursor?: string; status?: DeliveryRow['status']; eventId?: string },
): Promise<{ deliveries: DeliveryRow[]; nextCursor: string | null }> {
  await getEndpoint(deps, holder, endpointId);
  const queue = { accountId: holder.accountId, endpointId };
  if (query.eventId !== undefined) {
    const one = await findDelivery(deps.sql, queue, query.eventId);
    const fits = one && (query.status === undefined || one.status === query.status);
    return { deliveries: fits ? [one] : [], nextCursor: null };
  }
  const list = JSON.stringify([holder.accountId, endpointId, query.status ?? null]);
  const key = deps.secrets.derive('cursors');
  const now = deps.clock.now();
  const below = query.cursor === undefined ? beyondEvery : placeOf(key, list, query.cursor, now).id;
  const cursorAt = (id: string): string => cursorOf(key, list, { createdAt: 0, id }, now);
  const { limit = 100 } = query;
  const scanned = query.status === undefined ? limit + 1 : scannedMost;
  const deliveries = await findDeliveries(deps.sql, queue, below, query.status ?? null, scanned, limit + 1);
  if (deliveries.length > limit) {
    deliveries.pop();
    return { deliveries, nextCursor: cursorAt((deliveries[limit - 1] as DeliveryRow).eventId) };
  }
  const reached =
    query.status === undefined ? undefined : await findPlace(deps.sql, queue, below, scanned - 1);
  return { deliveries, nextCursor: reached === undefined ? null : cursorAt(reached) };
}

/** @throws ApiError `webhook_not_found`, `delivery_not_found` */
export async function getDelivery(
  deps: WebhooksDeps,
  holder: KeyHolder,
  endpointId: string,
  deliveryId: string,
): Promise<DeliveryRow> {
  await getEndpoint(deps, holder, endpointId);
  const queue = { accountId: holder.accountId, endpointId };
  const eventId = eventIdOf(endpointId, deliveryId);
  const row =
    deliveryIdOf(endpointId, eventId) === deliveryId
      ? await findDelivery(deps.sql, queue, eventId)
      : undefined;
  if (!row) throw refuse('delivery_not_found');
  return row;
}

/**
 * One attempt more, now, with the same event: the same `webhook-id` and the same bytes.
 * @throws ApiError `webhook_not_found`, `delivery_not_found`, `webhook_disabled`
 */
export async function retryNow(
  deps: WebhooksDeps,
  holder: KeyHolder,
  endpointId: string,
  deliveryId: string,
): Promise<void> {
  const { eventId } = await getDelivery(deps, holder, endpointId, deliveryId);
  await requireEnabled(deps, holder, endpointId);
  const { accountId } = holder;
  const now = deps.clock.now();
  await deps.sql.tx(async (tx) => {
    await retryDelivery(tx, { accountId, endpointId }, eventId, now);
    await wakeDelivering(tx, accountId, endpointId, now);
  });
}

const replayWindowMs = 7 * dayMs;
const replayMost = 10_000;
/** By how much an event's id may be older or younger than the event says. */
const skewMs = 60_000;

/**
 * Sends events of a stretch of time again, each under its own id.
 * @throws ApiError `webhook_not_found`, `webhook_disabled`, `validation_failed`
 */
export async function replay(
  deps: WebhooksDeps,
  holder: KeyHolder,
  endpointId: string,
  wanted: { from: string; to?: string; types?: string[]; onlyFailed?: boolean },
): Promise<number> {
  await requireEnabled(deps, holder, endpointId);
  const now = deps.clock.now();
  const from = timeOf('from', wanted.from);
  const to = wanted.to === undefined ? now : timeOf('to', wanted.to);
  if (to <= from) throw refuseFields([{ field: 'to', code: 'not_after_from' }]);
  if (to - from > replayWindowMs) throw refuse('replay_window_too_long');
  const { accountId } = holder;
  return deps.sql.tx(async (tx) => {
    const ahead = await findAhead(tx, [{ accountId, endpointId }]);
    const scheduled = await replayEvents(
      tx,
      { accountId, endpointId },
      { from, to, types: wanted.types ?? null, onlyFailed: wanted.onlyFailed ?? true },
      {
        lowestId: lowestIdAt(from - skewMs),
        highestId: lowestIdAt(to + skewMs),
        most: replayMost,
        triesLeft: attemptsOf({ test: holder.test, aheadMs: ahead.get(accountId) ?? null }),
        nowMs: now,
      },
    );
    if (scheduled > 0) await wakeDelivering(tx, accountId, endpointId, now);
    return scheduled;
  });
}

/**
 * Sends `webhook.test`, or a sample of another type, to this endpoint alone: one attempt. It is marked as a test by
 * `livemode: false`, and neither in the log nor in the stream.
 * @throws ApiError `webhook_not_found`, `webhook_disabled`
 */
export async function sendTest(
  deps: WebhooksDeps,
  holder: KeyHolder,
  endpointId: string,
  type: EventType,
): Promise<string> {
  await requireEnabled(deps, holder, endpointId);
  const { accountId } = holder;
  const operationId = await deps.directory.resolve(accountId, null);
  const now = deps.clock.now();
  const sample = sampleOf(type, operationId, now);
  const event = eventRow(deps.ids, {
    accountId,
    operationId,
    paymentId: null,
    type,
    livemode: false,
    ...sample,
    at: now,
  });
  await deps.sql.tx(async (tx) => {
    await Promise.all([
      insertTestEvent(tx, event, endpointId),
      insertTestDelivery(tx, { accountId, endpointId }, event.id, now),
      wakeDelivering(tx, accountId, endpointId, now),
    ]);
  });
  return deliveryIdOf(endpointId, event.id);
}

async function requireEnabled(deps: WebhooksDeps, holder: KeyHolder, endpointId: string): Promise<void> {
  if (!(await getEndpoint(deps, holder, endpointId)).enabled) throw refuse('webhook_disabled');
}

function timeOf(field: string, text: string): number {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw refuseFields([{ field, code: 'not_a_time' }]);
  return ms;
}
