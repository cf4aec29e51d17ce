import type { Clock } from '../../ports/clock.ts';
import { arrayIn } from '../bacen.ts';
import { type Exchange, type PagePlace, type Paging, readList } from '../exchange.ts';
import type { Unclear, UnreadKind } from '../provider.ts';
import { recordOf } from './asaas-bodies.ts';

/** The pages of Asaas' lists: `offset` and `limit`, newest first, a hundred items at most. */
export interface AsaasDeps {
  exchange: Exchange;
  clock: Clock;
  limits: AsaasLimits;
}

export interface AsaasLimits {
  pageSize: number;
  maxPages: number;
}

export const limitsOf = (given: Partial<AsaasLimits> = {}): AsaasLimits => ({
  pageSize: 100,
  maxPages: 50,
  ...given,
});

/** @param path with its filters */
export function pages({ limits: { pageSize, maxPages } }: AsaasDeps, kind: UnreadKind, path: () => string) {
  const base = path();
  const mark = base.includes('?') ? '&' : '?';
  return {
    kind,
    // By what was given: a lower cap than what is asked for would lose what lies between.
    path: ({ skip }: PagePlace) => `${base}${mark}offset=${skip}&limit=${pageSize}`,
    items: (body: unknown) => arrayIn(body, 'data'),
    paging,
    pageSize,
    maxPages,
  };
}

function paging(body: unknown): Paging {
  const { hasMore, totalCount } = recordOf(body) ?? {};
  return {
    pages: null,
    total: Number.isSafeInteger(totalCount) ? (totalCount as number) : null,
    more: typeof hasMore === 'boolean' ? hasMore : null,
  };
}

export interface Wanted<Item> {
  kind: UnreadKind;
  read: (item: unknown) => Item | 'foreign' | null;
  /** Whether an item is what the filter asked for. */
  isWanted: (item: Item) => boolean;
  /** Our id, for an item that cannot be read. */
  providerId: string;
  maxPages?: number;
}

/** Everything that a filter gives. A list with others in it did not take the filter, so nothing is known then. */
export async function listWhere<Item>(
  deps: AsaasDeps,
  path: string,
  { kind, read, isWanted, providerId, maxPages = 2 }: Wanted<Item>,
): Promise<{ items: Item[] } | Unclear> {
  const listed = await readList(deps.exchange, deps.clock, {
    ...pages(deps, kind, () => path),
    read,
    wholeOnly: undefined,
    maxPages,
  });
  if (listed.outcome !== 'listed') return listed;
  const others = listed.reports.some((item) => !isWanted(item));
  if (!listed.complete || listed.unread.length > 0 || others)
    return {
      ...{ outcome: 'unclear', cause: 'unreadable', retryAfterMs: null },
      detail: others ? 'the list was not filtered' : 'the list was not read whole',
      ...(listed.unread[0] === undefined
        ? {}
        : { unread: { ...listed.unread[0], name: providerId, providerId } }),
    };
  return { items: listed.reports };
}
