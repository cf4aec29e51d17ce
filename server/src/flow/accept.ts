import type { Caller } from '../ground/caller.ts';
import { ApiError } from '../ground/errors.ts';
import type { Payment } from '../money/payment.ts';
import { fingerprintOf, paymentIdFor } from '../store/rows/idempotency.ts';
import { buildAdmission, type Order } from './admission.ts';
import { type AwaitDeps, awaitOutcome } from './await-outcome.ts';
import { planDispatch, probeOf } from './dispatch-plan.ts';
import { withLostLook } from './lost-payments.ts';
import { withProbe } from './probe.ts';

/** What accepting a payment needs. */
export interface AcceptDeps extends AwaitDeps {
  /** The installation's identity secret: payment ids and fingerprints. */
  identity: Buffer;
}

export interface Accepted {
  payment: Payment;
  /** An earlier request with this key made the payment. */
  replayed: boolean;
}

/**
 * Accepts a payment on the account's connection. A charge goes to the next connection of the account's list where this one's breaker is open: it was
 * refused before anything was committed, so its creation was certainly not sent. A committed charge moves on only while nothing of it was
 * sent (`send.ts`), and a repeat of its request key finds it on the connection that it is on. A payout has one connection.
 * @throws ApiError as `acceptOn` does; where no connection takes the charge, the error of the first one
 */
export async function acceptPayment(deps: AcceptDeps, caller: Caller, order: Order): Promise<Accepted> {
  const fallback = order.kind === 'deposit' ? (caller.chargeFallback ?? []) : [];
  let refused: unknown;
  for (const connection of [caller.connection, ...fallback]) {
    try {
      return await acceptOn(deps, { ...caller, connection }, order);
    } catch (error) {
      refused ??= error;
      const tries = connection === caller.connection ? breakerIsOpen(error) : takesNoCharge(error);
      if (!tries) throw error;
    }
  }
  throw refused;
}

const breakerIsOpen = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'provider_unavailable';

/** Of a fallback: its own breaker is open, or it cannot receive. */
const takesNoCharge = (error: unknown): boolean =>
  breakerIsOpen(error) ||
  (error instanceof ApiError &&
    (error.code === 'provider_not_configured' || error.code === 'not_offered_by_provider'));

/**
 * Commits a payment, sends it or leaves it to a worker, and waits for its outcome as long as the order says.
 * @throws ApiError what refuses the order (`admission.ts`), or 503 when nothing is known to be committed
 */
async function acceptOn(deps: AcceptDeps, caller: Caller, order: Order): Promise<Accepted> {
  const { accountId, operationId, accountNumber } = caller;
  const { kind, requestKey, asked, pixKey } = order;
  const plan = planDispatch(deps, caller, kind, order.waitMs);
  const paymentId = paymentIdFor(deps.identity, { id: accountId, number: accountNumber }, requestKey);
  const input = {
    caller,
    order,
    plan,
    paymentId,
    fingerprint: fingerprintOf(deps.identity, { ...asked, kind, operationId }),
    sealedKey: pixKey === null ? null : deps.secrets.seal(pixKey.key, paymentId),
  };
  const { payment, replayed, fence, breakerOpen } = await withProbe(
    deps,
    probeOf(plan),
    (hasProbe) =>
      withLostLook(plan, (planned) =>
        deps.till.submit(buildAdmission({ ...input, plan: planned, token: deps.ids.uuid(), hasProbe })),
      ),
    ({ payment, replayed }) => !replayed && payment.status === 'unknown',
  );
  deps.breakers.seen(plan.connection, plan.call, breakerOpen);
  if (replayed) return { payment, replayed };
  return { payment: await awaitOutcome(deps, plan, payment, fence), replayed };
}
