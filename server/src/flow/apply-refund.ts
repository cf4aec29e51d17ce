import { refuse } from '../ground/errors.ts';
import { isRefundOpen, type Refund } from '../money/refund.ts';
import { subscribedBy } from '../store/events/subscribed-types.ts';
import type { OutcomeDeps } from './outcome-deps.ts';
import { buildRefundOutcome, type ObservedRefund, type RefundAnswer } from './refund-outcome.ts';

/**
 * Applies an answer, a query or a line of a charge's report to a refund.
 * @param deadlineMs monotonic
 * @throws ApiError `refund_not_found`, `provider_not_configured`, or 503 by the deadline
 */
export async function applyRefund(
  deps: OutcomeDeps,
  observed: ObservedRefund,
  deadlineMs: number,
): Promise<Refund> {
  const capabilities = deps.providers.get(observed.connection)?.capabilities;
  if (!capabilities) throw refuse('provider_not_configured');
  const subscribed = await subscribedBy(deps, observed.accountId);
  for (let incidents: readonly string[] | null = null; ; ) {
    const answer: RefundAnswer = await deps.till.submit(
      buildRefundOutcome({
        observed,
        incidents,
        capabilities,
        subscribed,
        token: deps.ids.uuid(),
        jitter: deps.ids.bytes(1).readUInt8() / 255,
        deadlineMs,
      }),
    );
    if ('refund' in answer) {
      report(deps, answer);
      return answer.refund;
    }
    incidents = answer.widen;
  }
}

function report(deps: OutcomeDeps, { refund, opened }: Extract<RefundAnswer, { refund: Refund }>): void {
  for (const { accountId, paymentId, id, kind, amountCents } of opened)
    deps.log.error(
      { accountId, paymentId, refundId: refund.id, incident: id, kind, amountCents },
      'incident opened',
    );
  if (!isRefundOpen(refund)) deps.deferredPending.delete(refund.id);
  deps.eventsWritten();
}
