import { hash } from 'node:crypto';
import type { Log } from '../ground/log.ts';
import type { Secrets } from '../ground/secrets.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Queries } from '../ports/sql.ts';
import type { UnreadItem, UnreadKind } from '../provider/provider.ts';
import { keepRows, removeRead, type UnreadRow } from '../store/rows/unread-items.sql.ts';

/**
 * Unread items of a provider: an item of a list, of a delivery, the answer to a query. Each is kept sealed, once, counted, and
 * asked for again where it names what can be queried. After an hour it is an incident, one for each kind and connection: a provider that
 * writes one field in a new form does so in thousands of items. The incident ends by itself when everything of it can be read.
 *
 * Rejected: to leave such an item out with a line in the log. A paid charge then stays open and a dispute is not held.
 */
export interface UnreadDeps {
  sql: Queries;
  clock: Clock;
  ids: Ids;
  log: Log;
  secrets: Secrets;
}

const hour = 3_600_000;
const incidentAfterMs = hour;
/** Of a body, in UTF-16 units: what a person needs to see of it. */
const bodyMost = 16_384;

/** Between the queries for one item: a minute at first, an hour at most. */
export const retryAfterMs = (tries: number): number => Math.min(hour, 60_000 * 2 ** Math.min(tries, 6));

/**
 * Keeps items until they can be read. An item that was kept before is only seen again.
 * @param atOnce it does not wait an hour to become an incident
 */
export async function keepUnread(
  deps: UnreadDeps,
  connection: string,
  items: readonly UnreadItem[],
  { atOnce = false } = {},
): Promise<void> {
  if (items.length === 0) return;
  const now = deps.clock.now();
  const rows = new Map(items.map((item) => rowOf(deps, item, now, atOnce)).map((row) => [keyOf(row), row]));
  const fresh = await keepRows(deps.sql, connection, [...rows.values()], now, now + retryAfterMs(0));
  if (fresh === 0) return;
  const kinds = [...new Set(items.map(({ kind }) => kind))];
  const text = kinds.every((kind) => kind === 'key')
    ? 'something happened to an API key at the provider: a person has to look'
    : 'items of the provider cannot be read';
  deps.log.error({ connection, kinds, items: fresh }, text);
}

const keyOf = ({ kind, reference }: Pick<UnreadRow, 'kind' | 'reference'>): string => `${kind} ${reference}`;

function rowOf(
  { ids, secrets }: Pick<UnreadDeps, 'ids' | 'secrets'>,
  { kind, name, providerId, endToEnd, body }: UnreadItem,
  now: number,
  atOnce: boolean,
): UnreadRow {
  const id = ids.uuid();
  const text = JSON.stringify(body) ?? String(body);
  return {
    id,
    kind,
    reference: name ?? hash('sha256', text, 'hex'),
    providerId,
    endToEnd,
    body: secrets.seal(Buffer.from(text.slice(0, bodyMost)), id),
    firstSeenAt: now,
    incidentDueAt: atOnce ? now : now + incidentAfterMs,
  };
}

/** Ends the unread items of these names: they were read. */
export const endUnread = (
  { sql }: Pick<UnreadDeps, 'sql'>,
  connection: string,
  kinds: readonly UnreadKind[],
  names: readonly string[],
): Promise<void> => removeRead(sql, connection, kinds, names);
