import { type Intent, isElsewhere, queryPriorities, singlePriority } from '../money/intent.ts';
import type { Provider } from '../provider/provider.ts';
import { claimDue, claimDueNeighbours, countDue, makeDue } from '../store/rows/intents.sql.ts';
import { createAccountTurns } from './account-turns.ts';
import { holding, intentClaimMs } from './claims.ts';
import { createDueSends } from './due-sends.ts';
import { leaveElsewhere } from './elsewhere.ts';
import { freedOnFailure } from './limit.ts';
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
 *
 * While several are due, accounts take turns (`account-turns.ts`): every second query is of the one whose turn it is, whatever is more urgent of another
 * account. Where a listing answers for a thousand, every fifth is.
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

/** One in so many queries belongs to the accounts in turn. */
const oneInTurn = { ofQueries: 2, ofListings: 5 };

export function createFollowUp(deps: TrackingDeps, provider: Provider): FollowUp {
  const { connection } = provider;
  const sends = createDueSends(deps, provider);
  const querying = createUnderWay(deps, connection);
  const listings = createListings(deps, provider);
  const turns = createAccountTurns(deps.sql, connection, 'queries');
  let crowded = 0;

  /** Whether the next query belongs to the account whose turn it is. */
  function isTurn(counts: readonly Due[], size: number | null): boolean {
    if (!counts.some(({ due }) => due >= listingLeast)) return false;
    return ++crowded % (size === null ? oneInTurn.ofQueries : oneInTurn.ofListings) === 0;
  }

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
      const size = canList(provider, first) ? listings.size(now) : null;
      const claimedAt = deps.clock.now();
      const inTurn = isTurn(counts, size) ? await freedOnFailure(slot, turns.claim(claimedAt, 1)) : [];
      const claiming =
        inTurn.length > 0 ? inTurn : claimInOrder(deps, connection, first.priority, size ?? 1, claimedAt);
      const work = queryDue(deps, provider, listings, claiming, claimedAt);
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

/** How many queries of a priority are due. */
type Due = Awaited<ReturnType<typeof countDue>>[number];

function canList({ capabilities }: Provider, { priority, due }: Due): boolean {
  if (priority === singlePriority || due < listingLeast) return false;
  const ofTransfers = priority === queryPriorities[0] || priority === queryPriorities[1];
  return ofTransfers ? capabilities.canListPayouts : capabilities.canListCharges;
}

/** @param most more than one: for a listing */
function claimInOrder(
  { sql }: TrackingDeps,
  connection: string,
  priority: number,
  most: number,
  now: number,
): Promise<Intent[]> {
  const claim = most > 1 ? claimDueNeighbours : claimDue;
  return claim(sql, connection, priority, now, now + intentClaimMs, most);
}

async function queryDue(
  deps: TrackingDeps,
  provider: Provider,
  listings: Listings,
  claiming: Intent[] | Promise<Intent[]>,
  now: number,
): Promise<void> {
  const claimed = await claiming;
  const [elsewhere = [], due = []] = [true, false].map((is) =>
    claimed.filter((intent) => isElsewhere(intent, provider) === is),
  );
  await Promise.all(elsewhere.map((intent) => leaveElsewhere(deps, intent)));
  if (due.length >= listingLeast) return holding(deps, due, now, listings.read(due));
  const [one, ...others] = due;
  if (others.length > 0) await makeDue(deps.sql, others, now);
  if (one) await holding(deps, [one], now, queryOne(deps, provider, one));
}
