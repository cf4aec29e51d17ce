import { refuse } from '../ground/errors.ts';
import type { Sent } from '../kinds/kind.ts';
import { type Intent, isPixCharge, priorityOf } from '../money/intent.ts';
import { unknownIdentity } from '../provider/identity.ts';
import type { AccountState } from '../store/rows/conditions.sql.ts';
import { type LostPayment, lostPayments } from '../store/rows/lost-payments.sql.ts';
import { paymentKey } from '../store/rows/payments.sql.ts';
import type { View } from '../store/till.ts';

/**
 * Admission of an id that a provider lists and the books lack (`lost-payments.sql.ts`).
 *
 * Accounts without such ids pay nothing for the rule: that the account has some stands in its conditions, which every admission reads.
 * @returns what a provider lists under the id of a new payment; undefined: nothing was found
 */
export const lostIn = (view: View, account: AccountState | undefined, id: string): LostPayment | undefined =>
  account?.lostPayments ? view.get(lostPayments, paymentKey(account.accountId, id)) : undefined;

/**
 * The intent of a payment that a provider already has: it is queried there, and never sent.
 * @throws ApiError `idempotency_conflict`: the provider has the id as another kind
 */
export function adoptedIntent(intent: Intent, { status }: Sent, lost: LostPayment, now: number): Intent {
  // A provider's list does not say whether a charge has a due date. One by card is at no provider of Pix.
  const kind = isPixCharge(intent.kind) ? 'deposit' : intent.kind;
  if (lost.kind !== kind) throw refuse('idempotency_conflict');
  return {
    ...intent,
    connection: lost.connection,
    identity: lost.identity ?? unknownIdentity,
    priority: priorityOf(intent.kind, status),
    state: 'awaiting',
    attempt: 1,
    leaseUntil: null,
    dueAt: now,
    attemptEndedAt: now,
    known: true,
    providerRef: lost.providerRef,
  };
}
