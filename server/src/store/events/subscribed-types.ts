import { type RefreshingCache, refreshingCache } from '../../ground/refreshing-cache.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql, Statement } from '../../ports/sql.ts';
import { type EventType, eventTypes, isEventType } from './event.ts';

/**
 * Which types an account's events are written of: those that the log always keeps, and `charge.created` and
 * `transfer.created` where an endpoint subscribes to them (`*` does).
 *
 * Cached for at most a second, so that a settlement costs no query. A new subscription takes effect within one second.
 * Rejected: reading it under the lock (one more statement in every batch, for two types that few use),
 * and always writing them (two more rows per payment that no endpoint wants).
 */
export type SubscribedTypes = ReadonlySet<EventType>;

const names = (Object.keys(eventTypes) as EventType[]).filter((type) => type !== 'webhook.test');
export const always: SubscribedTypes = new Set(names.filter((type) => eventTypes[type].kept));
const every: SubscribedTypes = new Set(names);

const select: Statement = {
  name: 'events_wanted',
  text: `SELECT DISTINCT unnest(events) AS type FROM webhook_endpoint WHERE account_id = $1 AND deleted_at IS NULL`,
};

/**
 * The types to write for the account at this moment. When they cannot be read, every type: a row too many is never delivered to an
 * endpoint that did not subscribe, while an event that was not written is lost. An outcome is applied either way.
 */
export async function subscribedBy(
  deps: { subscribed: RefreshingCache<SubscribedTypes> },
  accountId: string,
): Promise<SubscribedTypes> {
  try {
    return (await deps.subscribed.get(accountId)) ?? every;
  } catch {
    return every;
  }
}

export function subscribedTypes(deps: { sql: Sql; clock: Clock }): RefreshingCache<SubscribedTypes> {
  return refreshingCache<SubscribedTypes>({
    clock: deps.clock,
    maxAgeMs: 1000,
    maxEntries: 10_000,
    read: async (accountId) => {
      const types = (await deps.sql.run<{ type: string }>(select, [accountId])).map(({ type }) => type);
      if (types.includes('*')) return every;
      const asked = types
        .filter(isEventType)
        .filter((type) => !eventTypes[type].kept && type !== 'webhook.test');
      return asked.length === 0 ? always : new Set([...always, ...asked]);
    },
  });
}
