import { isElsewhere, queryPriorities, singlePriority } from '../money/intent.ts';
import type { Provider } from '../provider/provider.ts';
import { claimDue, claimDueNeighbours, countDue, makeDue } from '../store/rows/intents.sql.ts';
import { holding, intentClaimMs } from './claims.ts';
import { createDueSends } from './due-sends.ts';
import { leaveElsewhere } from './elsewhere.ts';
import { createListings, type Listings, listingLeast } from './listing.ts';
import { queryOne, takeAllowedQuery } from './query.ts';
import type { Sender } from './send.ts';
import type { TrackingDeps } from './tracking-deps.ts';
import { createUnderWay } from './under-way.ts';

/**
 * The work with no client active: due sends go out, ended leases are taken over, and payments without news are queried
 * until the provider's report ends them, without a last try, within the query limit that all processes share.
 *
 * Any number of processes run this over one database. A claim moves the time at which a row is due and holds no lock, so a process
 * that dies with claimed rows loses nothing: they are due again when that time has passed. One row that fails or hangs delays
 * no other: calls are under way side by side, and a step begins only what there is room for.
 *
 * Where the adapter can list and several queries are due, one listing answers for all that its window covers.
 */
export interface FollowUp {
  connection: string;
  /** Begins due sends; true when there may be more at once. */
  stepSends(): Promise<boolean>;
  /** Begins one query or listing; true when there may be more at once. */
  stepQueries(): Promise<boolean>;
  /** Sends what callers of this process committed as `sending` and do not wait for. */
  sender: Sender;
  /** Resolves when everything begun has ended; nothing may be begun meanwhile. */
  idle(): Promise<void>;
}

export function createFollowUp(deps: TrackingDeps, provider: Provider): FollowUp {
  const { connection } = provider;
  const sends = createDueSends(deps, provider);
  const querying = createUnderWay(deps, connection);
  const listings = createListings(deps, provider);
  return {
    connection,
    stepSends: sends.step,
    sender: sends.sender,

    async stepQueries() {
      const now = deps.clock.now();
      const counts = await countDue(deps.sql, connection, now, listingLeast);
      const first = queryPriorities
        .map((one) => counts.find(({ priority }) => priority === one))
        .find(Boolean);
      if (!first) return false;
      const slot = await takeAllowedQuery(deps, provider);
      if (!slot) return false;
      const most = (canList(provider, first) ? listings.size(now) : null) ?? 1;
      const work = queryDue(deps, provider, listings, first.priority, most);
      querying.begin(
        'a query',
        work.finally(() => slot.free()),
      );
      return true;
    },

    async idle() {
      await Promise.all([sends.idle(), querying.ended()]);
    },
  };
}

function canList({ capabilities }: Provider, { priority, due }: { priority: number; due: number }): boolean {
  if (priority === singlePriority || due < listingLeast) return false;
  const ofTransfers = priority === queryPriorities[0] || priority === queryPriorities[1];
  return ofTransfers ? capabilities.canListPayouts : capabilities.canListCharges;
}

async function queryDue(
  deps: TrackingDeps,
  provider: Provider,
  listings: Listings,
  priority: number,
  most: number,
): Promise<void> {
  const now = deps.clock.now();
  const claim = most > 1 ? claimDueNeighbours : claimDue;
  const claimed = await claim(deps.sql, provider.connection, priority, now, now + intentClaimMs, most);
  const [elsewhere = [], due = []] = [true, false].map((is) =>
    claimed.filter((intent) => isElsewhere(intent, provider) === is),
  );
  await Promise.all(elsewhere.map((intent) => leaveElsewhere(deps, intent)));
  if (due.length >= listingLeast) return holding(deps, due, now, listings.read(due));
  const [one, ...others] = due;
  if (others.length > 0) await makeDue(deps.sql, others, now);
  if (one) await holding(deps, [one], now, queryOne(deps, provider, one));
}
