import { refuse } from '../ground/errors.ts';
import { type Intent, priorityOf } from '../money/intent.ts';
import type { Payment } from '../money/payment.ts';
import { unknownIdentity } from '../provider/identity.ts';
import type { AccountState } from '../store/rows/conditions.sql.ts';
import { type LostPayment, lostPayments } from '../store/rows/lost-payments.sql.ts';
import { paymentKey } from '../store/rows/payments.sql.ts';
import { type Read, read, type View } from '../store/till.ts';
import type { DispatchPlan } from './dispatch-plan.ts';

/**
 * Admission of an id that a provider lists and the books lack (`lost-payments.sql.ts`).
 *
 * Accounts without such ids pay nothing for the rule: that the account has some stands in its conditions, which every admission reads. A command that meets such
 * an account says so and changes nothing, and runs again with the row. Rejected: to read the row always, one statement more in every transfer.
 */

/** Thrown by `decide`: the command has to read what was found of its id. */
export class LostLookDue extends Error {
  override name = 'LostLookDue';
}

/** Runs the command; where its account has lost payments, once more with what was found of the id. */
export async function withLostLook<Answer>(
  plan: DispatchPlan,
  run: (plan: DispatchPlan) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await run(plan);
  } catch (error) {
    if (!(error instanceof LostLookDue)) throw error;
    return run({ ...plan, looksForLost: true });
  }
}

export const lostReads = (plan: DispatchPlan, accountId: string, paymentId: string): Read[] =>
  plan.looksForLost ? [read(lostPayments, paymentKey(accountId, paymentId))] : [];

/**
 * What a provider lists under the id of a new payment; undefined: nothing was found.
 * @throws LostLookDue when that was not read
 */
export function lostIn(
  view: View,
  plan: DispatchPlan,
  account: AccountState | undefined,
  paymentId: string,
): LostPayment | undefined {
  if (!account?.lostPayments) return undefined;
  if (!plan.looksForLost) throw new LostLookDue();
  return view.get(lostPayments, paymentKey(account.accountId, paymentId));
}

/**
 * The intent of a payment that a provider already has: it is queried there, and never sent.
 * @throws ApiError `idempotency_conflict`: the provider has the id as another kind
 */
export function adoptedIntent(intent: Intent, payment: Payment, lost: LostPayment, now: number): Intent {
  if (lost.kind !== payment.kind) throw refuse('idempotency_conflict');
  return {
    ...intent,
    connection: lost.connection,
    identity: lost.identity ?? unknownIdentity,
    priority: priorityOf(payment.kind, payment.status),
    state: 'awaiting',
    attempt: 1,
    leaseUntil: null,
    dueAt: now,
    attemptEndedAt: now,
    known: true,
    providerRef: lost.providerRef,
  };
}
