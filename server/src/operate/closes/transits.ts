import { waitForQuery } from '../../flow/query.ts';
import type { TrackingDeps } from '../../flow/tracking-deps.ts';
import { providerIdOf } from '../../money/payment.ts';
import type { Provider } from '../../provider/provider.ts';
import type { InTransit } from './connection-closes.sql.ts';

/** Transfers and refunds that have no end here, by what the provider says of each. */
export interface Transits {
  /** Completed at the provider: the money has left, and the books learn it later. */
  settledCents: number;
  /** Under way there, or it does not say. Whether the money has left is not known. */
  pendingCents: number;
  /** Refused, or the provider knows nothing of it: the money is in the account. */
  unsentCents: number;
}

type State = 'settled' | 'pending' | 'unsent';

/** Queries of one comparison; what is in transit beyond them counts as under way. */
const askedMost = 30;

/** Asks for each once it is final, and again while it is under way. The answer is null when no query of the shared limit was left. */
export function createTransitQueries(
  deps: TrackingDeps,
  provider: Provider,
): (open: readonly InTransit[]) => Promise<Transits | null> {
  const final = new Map<string, State>();
  return async (open) => {
    const transits: Transits = { settledCents: 0, pendingCents: 0, unsentCents: 0 };
    let asked = 0;
    for (const one of open) {
      let state = final.get(one.id);
      if (state === undefined) {
        const answer = asked++ < askedMost ? await stateAt(deps, provider, one) : 'pending';
        if (answer === null) return null;
        state = answer;
        // Payouts unknown there may still arrive.
        if (state === 'settled') final.set(one.id, state);
      }
      transits[`${state}Cents`] += one.cents;
    }
    return transits;
  };
}

async function stateAt(deps: TrackingDeps, provider: Provider, one: InTransit): Promise<State | null> {
  const { capabilities } = provider;
  const isRefund = one.endToEnd !== null;
  if (!isRefund && !capabilities.queryPayoutByOwnId && one.providerRef === null) return 'pending';
  const slot = await waitForQuery(deps, provider);
  if (!slot) return null;
  const id = providerIdOf(one.id);
  const outcome = await (one.endToEnd === null
    ? provider.queryPayout(id, one.providerRef)
    : provider.queryRefund(one.endToEnd, id)
  ).finally(() => slot.free());
  if (outcome.outcome === 'notFound') return 'unsent';
  if (outcome.outcome !== 'found') return 'pending';
  const { status } = outcome.report;
  return status === 'completed' ? 'settled' : status === 'refused' ? 'unsent' : 'pending';
}
