import { before } from '../ground/deadline.ts';
import type { Signal } from '../ground/signal.ts';
import type { Payment } from '../money/payment.ts';
import { paymentKey, payments } from '../store/rows/payments.sql.ts';
import { type DispatchPlan, waitLeftMs } from './dispatch-plan.ts';
import { type Attempt, type SendDeps, type Sender, send } from './send.ts';

/** What sending a committed payment and waiting for its outcome needs. */
export interface AwaitDeps extends SendDeps {
  /** Senders of this process, by connection; empty without a worker. */
  senders: ReadonlyMap<string, Sender>;
  /** Raised when something became due; the worker of this process listens. */
  wake: Signal;
}

/**
 * Sends a committed payment, or leaves it to a worker, and waits for the provider's answer as long as the plan allows.
 * @param fence of the attempt that was committed as `sending`; null: a worker sends
 * @returns the payment with its outcome, or as it is stored when the wait is over; sending continues in both cases
 */
export async function awaitOutcome(
  deps: AwaitDeps,
  plan: DispatchPlan,
  payment: Payment,
  fence: string | null,
): Promise<Payment> {
  if (payment.status !== 'unknown') {
    deps.eventsWritten();
    return payment;
  }
  const { connection, identity, leaseMs, startedMs, waitMs } = plan;
  if (fence === null || leaseMs === null) {
    deps.wake();
    return waitMs > 0 ? watched(deps, payment, plan) : payment;
  }
  const leaseEndsMs = startedMs + leaseMs;
  const attempt: Attempt = { payment, connection, identity, fence, leaseEndsMs, repeat: false };
  const sender = waitMs > 0 ? undefined : deps.senders.get(connection);
  if (sender) {
    sender.begin(attempt);
    return payment;
  }
  return answered(deps, send(deps, { ...attempt, traceparent: plan.traceparent }), payment, plan);
}

/** This process sends: the outcome when it comes in time, else the stored state. */
async function answered(
  deps: AwaitDeps,
  sending: Promise<Payment>,
  asCommitted: Payment,
  plan: DispatchPlan,
): Promise<Payment> {
  const outcome = sending.catch((error: unknown) => {
    // The outcome could not be stored: the lease runs out and the follow-up queries the provider.
    deps.log.error({ err: error, paymentId: asCommitted.id }, 'the outcome of a send was not applied');
    return asCommitted;
  });
  const cut = new AbortController();
  const waited = deps.clock
    .sleep(waitLeftMs(deps, plan), AbortSignal.any([cut.signal, deps.draining]))
    .then(() => null);
  const payment = await Promise.race([outcome, waited]);
  cut.abort(null);
  return payment ?? (await storedPayment(deps, asCommitted, plan));
}

/** A worker sends, perhaps in another process: the outcome when it comes in time, else the stored state. */
async function watched(deps: AwaitDeps, payment: Payment, plan: DispatchPlan): Promise<Payment> {
  const over = new AbortController();
  const ended = AbortSignal.any([over.signal, deps.draining]);
  const outcome = deps.outcomes.outcomeOf(payment, ended);
  void deps.clock.sleep(waitLeftMs(deps, plan), ended).then(() => over.abort(null));
  const known = await outcome;
  over.abort(null);
  return known ?? (await storedPayment(deps, payment, plan));
}

const storedPayment = (deps: AwaitDeps, payment: Payment, plan: DispatchPlan): Promise<Payment> =>
  storedOr(deps, plan, payment, payments.read(deps.sql, [paymentKey(payment.accountId, payment.id)]));

/** What is stored now, or what was committed when that cannot be read in time: what was accepted never becomes an error. */
export async function storedOr<Accepted extends { id: string }>(
  { clock, log }: Pick<AwaitDeps, 'clock' | 'log'>,
  { answerByMs }: DispatchPlan,
  committed: Accepted,
  look: Promise<Accepted[]>,
): Promise<Accepted> {
  try {
    const [row] = await before(clock, answerByMs, look);
    return row ?? committed;
  } catch (error) {
    log.warn({ err: error, id: committed.id }, 'the latest state could not be read');
    return committed;
  }
}
