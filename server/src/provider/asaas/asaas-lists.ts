import type { Clock } from '../../ports/clock.ts';
import { arrayIn } from '../bacen.ts';
import type { Exchange, PagePlace, Paging } from '../exchange.ts';
import type { UnreadKind } from '../provider.ts';
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
