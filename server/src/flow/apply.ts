import { refuse } from '../ground/errors.ts';
import type { Log } from '../ground/log.ts';
import type { RefreshingCache } from '../ground/refreshing-cache.ts';
import type { Secrets } from '../ground/secrets.ts';
import type { Signal } from '../ground/signal.ts';
import type { AnyKind, Observed, Sent } from '../kinds/kind.ts';
import { kindOf } from '../kinds/registry/kinds.ts';
import type { Payment } from '../money/payment.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Sql } from '../ports/sql.ts';
import type { Provider } from '../provider/provider.ts';
import { type SubscribedTypes, subscribedBy } from '../store/events/subscribed-types.ts';
import { makeDue } from '../store/rows/intents.sql.ts';
import type { Till } from '../store/till.ts';
import { buildOutcome, type OutcomeAnswer } from './outcome.ts';
import type { OutcomeWatch } from './outcome-watch.ts';

/** The dependencies of applying an observation. */
export interface ApplyDeps {
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
  /** Sent payments and refunds whose `pending` is deferred for a moment: a final outcome removes the entry, and `pending` is never written. */
  deferredPending: Set<string>;
  eventsWritten: Signal;
  /** Callers that wait for the outcome of a payment. */
  outcomes: OutcomeWatch;
}

/**
 * Applies an answer, a report or a query: the one call for all of them, whatever was sent. What the report says of others is applied to them
 * afterwards: a report of a charge lists its refunds.
 * @param deadlineMs monotonic
 * @returns what was sent, after the outcome
 * @throws ApiError `notFound` of the kind, `provider_not_configured`, or 503 by the deadline; ReturnUndecided
 */
export async function applyOutcome<Row extends Sent = Payment>(
  deps: ApplyDeps,
  observed: Observed,
  deadlineMs: number,
): Promise<Row> {
  const capabilities = deps.providers.get(observed.connection)?.capabilities;
  if (!capabilities) throw refuse('provider_not_configured');
  const kind = kindOf(observed.kind);
  const subscribed = await subscribedBy(deps, observed.accountId);
  const answer = await deps.till.submit(
    buildOutcome(kind, {
      observed,
      capabilities,
      subscribed,
      secrets: deps.secrets,
      token: deps.ids.uuid(),
      jitter: deps.ids.bytes(1).readUInt8() / 255,
      deadlineMs,
    }),
  );
  report(deps, kind, answer);
  for (const other of answer.others) await applyOutcome(deps, other, deadlineMs);
  if (answer.unclear.length > 0) {
    await makeDue(deps.sql, answer.unclear, deps.clock.now());
    throw new ReturnUndecided();
  }
  return answer.row as Row;
}

/**
 * A reported return may be a refund that is still under way, under a name that the refund does not have yet. Nothing is posted for it: the
 * refund is queried, and the report is applied again later.
 */
export class ReturnUndecided extends Error {
  override name = 'ReturnUndecided';
  constructor() {
    super('a reported return may be a refund that is not final yet');
  }
}

function report(deps: ApplyDeps, kind: AnyKind, { row, opened }: OutcomeAnswer): void {
  for (const { accountId, paymentId, id, kind: of, amountCents } of opened)
    deps.log.error(
      { accountId, paymentId, sent: row.id, incident: id, kind: of, amountCents },
      'incident opened',
    );
  if (!kind.isOpen(row)) deps.deferredPending.delete(row.id);
  deps.outcomes.committed(row);
  deps.eventsWritten();
}
