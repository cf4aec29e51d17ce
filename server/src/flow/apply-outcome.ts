import { refuse } from '../ground/errors.ts';
import { isTerminal, type Payment } from '../money/payment.ts';
import { subscribedBy } from '../store/events/subscribed-types.ts';
import { makeDue } from '../store/rows/intents.sql.ts';
import { applyRefund } from './apply-refund.ts';
import { buildOutcome, type Observed, type OutcomeAnswer, usualScope } from './outcome-command.ts';
import type { OutcomeDeps } from './outcome-deps.ts';

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
      await applyRefundLines(deps, observed, answer, deadlineMs);
      return answer.payment;
    }
    scope = { ...scope, ...answer.widen };
  }
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

/** Applies what a report of a charge says of its refunds. @throws ReturnUndecided */
async function applyRefundLines(
  deps: OutcomeDeps,
  { accountId, operationId, connection, observation }: Observed,
  { told, undecided }: Extract<OutcomeAnswer, { payment: Payment }>,
  deadlineMs: number,
): Promise<void> {
  for (const { refund, line } of told) {
    const { id: refundId, paymentId, reason } = refund;
    const cause = { by: observation.from === 'webhook' ? 'webhook' : 'query', id: deps.ids.uuid() } as const;
    const heard = { from: 'charge', cause, line } as const;
    await applyRefund(
      deps,
      { accountId, refundId, paymentId, operationId, reason, connection, observation: heard },
      deadlineMs,
    );
  }
  if (undecided.length === 0) return;
  const rows = undecided.map(({ id: paymentId }) => ({ accountId, paymentId }));
  await makeDue(deps.sql, rows, deps.clock.now());
  throw new ReturnUndecided();
}

function report(deps: OutcomeDeps, { payment, opened }: Extract<OutcomeAnswer, { payment: Payment }>): void {
  for (const { accountId, paymentId, id, kind, amountCents } of opened)
    deps.log.error({ accountId, paymentId, incident: id, kind, amountCents }, 'incident opened');
  if (isTerminal(payment.status)) deps.deferredPending.delete(payment.id);
  deps.outcomes.committed(payment);
  deps.eventsWritten();
}
