import type { EndpointQueue } from './endpoint-queue.ts';
import { placesAtFirst } from './pace.ts';

/**
 * The places beyond the first five of each endpoint. A process has only so many, and an account a part of them: sockets are everybody's, and
 * endpoints that hang hold theirs for 15 s. The first five of an endpoint are its own.
 */
const extraMost = 512;
const extraOfAccount = 128;

type Placed = Pick<EndpointQueue, 'accountId' | 'running' | 'pace'>;

export function createExtraPlaces() {
  let taken = 0;
  const takenBy = new Map<string, number>();
  const count = (accountId: string, by: 1 | -1): void => {
    taken += by;
    const own = (takenBy.get(accountId) ?? 0) + by;
    if (own === 0) takenBy.delete(accountId);
    else takenBy.set(accountId, own);
  };
  return {
    hasPlace({ accountId, running, pace }: Placed): boolean {
      if (running >= pace.most) return false;
      return running < placesAtFirst || (taken < extraMost && (takenBy.get(accountId) ?? 0) < extraOfAccount);
    },
    take(queue: Placed): void {
      if (++queue.running > placesAtFirst) count(queue.accountId, 1);
    },
    give(queue: Placed): void {
      if (queue.running-- > placesAtFirst) count(queue.accountId, -1);
    },
  };
}
