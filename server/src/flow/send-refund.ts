import type { Caller } from '../ground/caller.ts';
import { type Intent, leaseMarginMs } from '../money/intent.ts';
import { providerIdOf } from '../money/payment.ts';
import { isRefundOpen, type Refund } from '../money/refund.ts';
import type { Provider, RefundReport, SendOutcome } from '../provider/provider.ts';
import { fingerprintOf, paymentIdFor } from '../store/rows/idempotency.ts';
import { refundKey, refunds } from '../store/rows/refunds.sql.ts';
import type { AcceptDeps } from './accept.ts';
import { applyRefund } from './apply-refund.ts';
import { storedOr } from './await-outcome.ts';
import { type DispatchPlan, planDispatch, probeOf, waitLeftMs } from './dispatch-plan.ts';
import { endUnread, keepUnread } from './keep-unread.ts';
import { claimOn, findClaims } from './pix-claims.ts';
import { withProbe } from './probe.ts';
import { keepWords } from './provider-words.sql.ts';
import { buildRefundAdmission, type RefundOrder } from './refund-admission.ts';
import type { ObservedRefund } from './refund-outcome.ts';
import {
  type Attempt,
  anotherAccount,
  applyWithinMs,
  countedSend,
  type SendDeps,
  startWithProbe,
} from './send.ts';
import { buildRefundStart } from './send-commands.ts';

/** A started attempt of a refund. */
export type RefundAttempt = Omit<Attempt, 'payment'> & { refund: Refund };

export interface AcceptedRefund {
  refund: Refund;
  /** An earlier request with this key made it. */
  replayed: boolean;
}

/**
 * Commits a refund, sends it or leaves it to a worker, and waits for its outcome as long as transfers do.
 * @throws ApiError what refuses the order (`refund-admission.ts`), or 503 when nothing is known to be committed
 */
export async function acceptRefund(
  deps: AcceptDeps,
  caller: Caller,
  order: RefundOrder,
): Promise<AcceptedRefund> {
  const { accountId, operationId, accountNumber } = caller;
  const { requestKey, ...asked } = order;
  const refundId = paymentIdFor(deps.identity, { id: accountId, number: accountNumber }, requestKey);
  const fingerprint = fingerprintOf(deps.identity, { ...asked, kind: 'refund', operationId });
  const admit = async (connection: string) => {
    const plan = planDispatch(deps, { ...caller, connection }, 'refund', deps.settings.transferWaitMs);
    const offered = deps.providers.get(connection)?.capabilities.canRefund ?? false;
    const input = { caller, order, plan, offered, refundId, fingerprint };
    const answer = await withProbe(
      deps,
      probeOf(plan),
      (hasProbe) => deps.till.submit(buildRefundAdmission({ ...input, token: deps.ids.uuid(), hasProbe })),
      (admitted) => !('elsewhere' in admitted) && !admitted.replayed,
    );
    return { plan, answer };
  };
  let { plan, answer } = await admit(caller.connection);
  if ('elsewhere' in answer) ({ plan, answer } = await admit(answer.elsewhere));
  if ('elsewhere' in answer) throw new Error('the connection of a received Pix has changed');
  const { connection } = plan;
  const { refund, replayed, fence, breakerOpen } = answer;
  deps.breakers.seen(connection, plan.call, breakerOpen);
  if (replayed) return { refund, replayed };
  if (fence === null || plan.leaseMs === null) {
    deps.wake();
    return { refund, replayed };
  }
  const leaseEndsMs = plan.startedMs + plan.leaseMs;
  const { identity } = plan;
  const attempt = {
    refund,
    connection,
    identity,
    fence,
    leaseEndsMs,
    repeat: false,
    traceparent: plan.traceparent,
  };
  // No caller waits for the answer: `pending` may be deferred, since the final state may follow soon.
  const apply = plan.waitMs > 0 ? applyNow : applyRefundDeferred;
  const sending = callRefund(deps, attempt).then((observed) => apply(deps, observed));
  return { refund: await answered(deps, sending, refund, plan), replayed };
}

/** The refund with its outcome when that comes in time, else as it is stored. Sending continues in both cases. */
async function answered(
  deps: AcceptDeps,
  sending: Promise<unknown>,
  asCommitted: Refund,
  plan: DispatchPlan,
): Promise<Refund> {
  const outcome = sending.catch((error: unknown) => {
    // The outcome could not be stored: the lease runs out and the follow-up queries the provider.
    deps.log.error({ err: error, refundId: asCommitted.id }, 'the outcome of a refund was not applied');
  });
  if (plan.waitMs === 0) return asCommitted;
  const cut = new AbortController();
  const waited = deps.clock.sleep(waitLeftMs(deps, plan), AbortSignal.any([cut.signal, deps.draining]));
  await Promise.race([outcome, waited]);
  cut.abort(null);
  return storedOr(deps, plan, asCommitted, readRefund(deps, asCommitted));
}

const readRefund = (
  { sql }: Pick<SendDeps, 'sql'>,
  { accountId, id }: { accountId: string; id: string },
): Promise<Refund[]> => refunds.read(sql, [refundKey(accountId, id)]);

const applyNow = async (deps: SendDeps, observed: ObservedRefund): Promise<void> => {
  await applyRefund(deps, observed, deps.clock.monotonicMs() + applyWithinMs);
};

/** Makes the call of an attempt. An owner that was frozen past its lease sends nothing. */
export async function callRefund(deps: SendDeps, attempt: RefundAttempt): Promise<ObservedRefund> {
  const { refund, connection, fence } = attempt;
  const provider = deps.providers.get(connection);
  if (!provider) throw new Error(`no provider for ${connection}`);
  const claim = await claimSince(deps, refund);
  const callEndsMs = deps.clock.monotonicMs() + provider.capabilities.sendTimeoutMs;
  let outcome: SendOutcome<RefundReport>;
  if (callEndsMs + leaseMarginMs / 2 > attempt.leaseEndsMs) {
    outcome = { outcome: 'notSent', detail: 'too late for its lease' };
  } else if (claim !== null) {
    deps.log.warn({ refundId: refund.id, claim }, 'a return to the payer is not sent');
    outcome = { outcome: 'refused', reason: 'provider_refused', detail: claim };
  } else if (!provider.capabilities.canRefund) {
    // A return to the payer may be decided by a process that does not know what the connection can do.
    outcome = { outcome: 'refused', reason: 'provider_refused', detail: 'the connection cannot refund' };
  } else {
    const { endToEnd, amountCents, description, accountId, id } = refund;
    const { traceparent } = attempt;
    outcome = await deps.breakers.counted(countedSend(attempt, 'refund', accountId), () =>
      provider.identity !== attempt.identity
        ? anotherAccount()
        : provider.sendRefund({
            endToEnd,
            providerId: providerIdOf(id),
            amountCents,
            description,
            traceparent,
          }),
    );
    await keepWords(deps, { accountId, paymentId: id, fence }, outcome);
  }
  return observedOf(refund, connection, { from: 'send', fence, outcome });
}

/**
 * What has claimed the Pix of a return to the payer since that return was decided. The return may wait for hours while withdrawals are paused
 * or the provider is down, and the provider may have taken the money back in the meantime. @returns null when nothing has
 */
async function claimSince(
  { sql }: Pick<SendDeps, 'sql'>,
  { accountId, id, paymentId, endToEnd, reason }: Refund,
): Promise<string | null> {
  if (reason !== 'odd_money') return null;
  const claims = await findClaims(sql, accountId, paymentId);
  return claimOn(endToEnd, { ...claims, refunds: claims.refunds.filter((one) => one.id !== id) });
}

const observedOf = (
  { accountId, id: refundId, paymentId, operationId, reason }: Refund,
  connection: string,
  observation: ObservedRefund['observation'],
): ObservedRefund => ({ accountId, refundId, paymentId, operationId, reason, connection, observation });

/** How long `pending` in the answer is deferred, since the final state may follow soon; as for transfers (`send.ts`). */
const settlesWithinMs = 200;

/** Applies what an attempt ended with; `pending` is deferred for a moment, since most refunds end soon after their answer. */
export async function applyRefundDeferred(deps: SendDeps, observed: ObservedRefund): Promise<void> {
  const { refundId, observation } = observed;
  if (observation.from === 'send' && observation.outcome.outcome === 'accepted') {
    if (observation.outcome.report.status === 'pending') {
      deps.deferredPending.add(refundId);
      await deps.clock.sleep(settlesWithinMs, deps.draining);
      if (!deps.deferredPending.delete(refundId)) return;
    }
  }
  await applyNow(deps, observed);
}

/**
 * Commits a `ready` refund (or one whose repeat is due) as `sending`, before the first byte is sent.
 * @returns null when there is nothing to send now
 */
export async function startRefund(deps: SendDeps, intent: Intent): Promise<RefundAttempt | null> {
  const provider = deps.providers.get(intent.connection);
  if (!provider || provider.identity === null) return null;
  const { capabilities, identity } = provider;
  const startedMs = deps.clock.monotonicMs();
  const deadlineMs = startedMs + applyWithinMs;
  const input = { intent, capabilities, identity, deadlineMs, candidates: null };
  const { started, breakerOpen } = await startWithProbe(deps, input, buildRefundStart);
  deps.breakers.seen(intent.connection, 'refund', breakerOpen);
  if (!started) return null;
  const leaseEndsMs = startedMs + capabilities.sendTimeoutMs + leaseMarginMs;
  const { row: refund, fence, repeat } = started;
  return { refund, fence, repeat, connection: intent.connection, identity, leaseEndsMs };
}

/** Queries a refund. @returns null when the refund is not open and there is nothing to query */
export async function queryRefund(
  deps: SendDeps,
  provider: Provider,
  { accountId, paymentId: id }: Pick<Intent, 'accountId' | 'paymentId'>,
): Promise<Refund | null> {
  const [refund] = await readRefund(deps, { accountId, id });
  if (!refund || !isRefundOpen(refund)) return null;
  const startedAt = deps.clock.now();
  const { connection } = provider;
  const outcome = await deps.breakers.counted({ connection, call: 'query', accountId }, () =>
    provider.queryRefund(refund.endToEnd, providerIdOf(id)),
  );
  if (outcome.outcome === 'unclear' && outcome.unread) await keepUnread(deps, connection, [outcome.unread]);
  if (outcome.outcome === 'found') await endUnread(deps, connection, ['refund'], [providerIdOf(id)]);
  const observation = { from: 'query', id: deps.ids.uuid(), startedAt, outcome } as const;
  const observed = observedOf(refund, connection, observation);
  return applyRefund(deps, observed, deps.clock.monotonicMs() + applyWithinMs);
}
