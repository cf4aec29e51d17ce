import type { Clock } from '../../ports/clock.ts';
import type { FanOut } from '../publish.ts';
import {
  findListeners,
  insertDeliveries,
  type NewDelivery,
  type QueueKey,
  wakeQueues,
} from './deliveries.sql.ts';
import { attemptsOf } from './schedule.ts';

/**
 * Makes a delivery for every endpoint that subscribes to an event at the moment of its publication. An endpoint that is disabled
 * gets one as well, skipped: a replay can send it later.
 */
export function fanOutTo({ clock }: { clock: Clock }): FanOut {
  return async (tx, published) => {
    const listeners = new Map<string, Awaited<ReturnType<typeof findListeners>>>();
    for (const listener of await findListeners(tx, [...new Set(published.map((event) => event.accountId))])) {
      const known = listeners.get(listener.accountId);
      if (known) known.push(listener);
      else listeners.set(listener.accountId, [listener]);
    }
    const deliveries: NewDelivery[] = [];
    const queues = new Map<string, QueueKey>();
    for (const { accountId, eventId, paymentId, seq, type, operationId } of published) {
      for (const { endpointId, events, operationIds, enabled, test, aheadMs } of listeners.get(accountId) ??
        []) {
        const hears =
          (events[0] === '*' || events.includes(type)) &&
          (operationIds === null || operationIds.includes(operationId));
        if (!hears) continue;
        const triesLeft = attemptsOf({ test, aheadMs });
        deliveries.push({ accountId, endpointId, eventId, paymentId, seq, skipped: !enabled, triesLeft });
        if (enabled) queues.set(endpointId, { accountId, endpointId });
      }
    }
    if (deliveries.length === 0) return;
    const now = clock.now();
    await Promise.all([
      insertDeliveries(tx, deliveries, now),
      ...(queues.size > 0 ? [wakeQueues(tx, [...queues.values()], now)] : []),
    ]);
  };
}
