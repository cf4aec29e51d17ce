import type { Log } from '../ground/log.ts';
import type { RefreshingCache } from '../ground/refreshing-cache.ts';
import type { Secrets } from '../ground/secrets.ts';
import type { Signal } from '../ground/signal.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Sql } from '../ports/sql.ts';
import type { Provider } from '../provider/provider.ts';
import type { SubscribedTypes } from '../store/events/subscribed-types.ts';
import type { Till } from '../store/till.ts';
import type { OutcomeWatch } from './outcome-watch.ts';

/** What applying an observation needs. */
export interface OutcomeDeps {
  sql: Sql;
  till: Till;
  clock: Clock;
  ids: Ids;
  log: Log;
  secrets: Secrets;
  /** By connection. */
  providers: ReadonlyMap<string, Provider>;
  /** Which events are written for an account. */
  subscribed: RefreshingCache<SubscribedTypes>;
  /** Payments whose `pending` is deferred for a moment: a final outcome removes the payment, and `pending` is never written. */
  deferredPending: Set<string>;
  eventsWritten: Signal;
  /** Callers that wait for the outcome of a payment. */
  outcomes: OutcomeWatch;
}
