import { type SubscribedTypes, subscribedBy } from '../../events/subscribed-types.ts';
import { refuse } from '../../ground/errors.ts';
import type { Log } from '../../ground/log.ts';
import type { RefreshingCache } from '../../ground/refreshing-cache.ts';
import type { Secrets } from '../../ground/secrets.ts';
import type { Signal } from '../../ground/signal.ts';
import type { Till } from '../../ledger/till.ts';
import { isTerminal, type Payment } from '../../payments/payment.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Sql } from '../../ports/sql.ts';
import type { Provider } from '../../provider/provider.ts';
import { buildOutcome, type Observed, type OutcomeAnswer, usualScope } from './outcome-command.ts';
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

/**
 * Applies an answer, a webhook or a query: the one call for all of them.
 * @param deadlineMs monotonic
 * @returns the payment after the outcome
 * @throws ApiError `payment_not_found`, `provider_not_configured`, or 503 by the deadline
 */
export async function applyOutcome(
  deps: OutcomeDeps,
  observed: Observed,
  deadlineMs: number,
): Promise<Payment> {
  const capabilities = deps.providers.get(observed.connection)?.capabilities;
  if (!capabilities) throw refuse('provider_not_configured');
  const subscribed = await subscribedBy(deps, observed.accountId);
  for (let scope = usualScope; ; ) {
    const answer: OutcomeAnswer = await deps.till.submit(
      buildOutcome({
        observed,
        scope,
        capabilities,
        subscribed,
        secrets: deps.secrets,
        token: deps.ids.uuid(),
        jitter: deps.ids.bytes(1).readUInt8() / 255,
        deadlineMs,
      }),
    );
    if ('payment' in answer) {
      report(deps, answer);
      return answer.payment;
    }
    scope = { ...scope, ...answer.widen };
  }
}

function report(deps: OutcomeDeps, { payment, opened }: Extract<OutcomeAnswer, { payment: Payment }>): void {
  for (const { accountId, paymentId, id, kind, amountCents } of opened)
    deps.log.error({ accountId, paymentId, incident: id, kind, amountCents }, 'incident opened');
  if (isTerminal(payment.status)) deps.deferredPending.delete(payment.id);
  deps.outcomes.committed(payment);
  deps.eventsWritten();
}
