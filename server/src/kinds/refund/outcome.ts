import { refuse } from '../../ground/errors.ts';
import { isHeld } from '../../money/card.ts';
import type { Cause, Notice, Payment } from '../../money/payment.ts';
import {
  chainOfRefund,
  isRefundOpen,
  nextRefund,
  type Refund,
  type RefundEvent,
  type RefundOutcome,
} from '../../money/refund.ts';
import type { OpenedIncident } from '../../money/state.ts';
import type { PixReturn, RefundReport } from '../../provider/provider.ts';
import { paymentKey, payments } from '../../store/rows/payments.sql.ts';
import { knownReturns, knownReturnsKey } from '../../store/rows/returns.sql.ts';
import { put, read, type View } from '../../store/till.ts';
import type { Heard, Hearing, OnRecord } from '../kind.ts';
import { type Adjusted, broughtBy, holdReads, leftOf, shrunk } from '../payment/hold-of-pix.ts';
import { announceRefund } from '../payment/payment-events.ts';
import type { ObservedRefund, RefundObservation } from '../payment/refund-lines.ts';
import { type Reading, readQuery, readSend, reported, type Standing } from '../reading.ts';

/** An answer, a query or a line of its charge's report about a refund: refund, charge, posting, hold and events together. Pure. */
export function hearRefund(observed: ObservedRefund): Hearing<Refund> {
  const { accountId, chargeId, operationId, reason } = observed;
  const operation = { accountId, chainId: operationId };
  return {
    // A return to the payer is posted on the account's own chain. The operation's is locked as well: its withdrawals may have to be frozen.
    chains: reason === 'odd_money' ? [{ accountId, chainId: accountId }, operation] : [operation],
    reads: [
      read(payments, paymentKey(accountId, chargeId)),
      read(knownReturns, knownReturnsKey(accountId, chargeId)),
      ...holdReads(accountId, operationId, chargeId),
    ],
    eventRefs: [],
    pix: [],
    decide: (view, stored, now) => {
      const charge = view.get(payments, paymentKey(accountId, chargeId));
      if (!charge) throw refuse('refund_not_found');
      const reading = readRefund(observed.observation, stored);
      return reading && heardOf(view, { observed, stored, charge, reading }, now);
    },
  };
}

/** By the rules of transfers (`reading.ts`). @returns null when it says nothing of this refund */
function readRefund(
  observation: RefundObservation,
  { row, intent, capabilities }: OnRecord<Refund>,
): Reading<RefundEvent> | null {
  const standing: Standing = {
    intent,
    isOpen: isRefundOpen(row),
    isPending: row.status === 'pending',
    capabilities,
  };
  switch (observation.from) {
    case 'charge':
      return reported([eventOfLine(observation.line)], standing);
    case 'query':
      return readQuery(observation, standing, eventsOfReport);
    case 'send':
      return readSend(observation, standing, eventsOfReport);
  }
}

const eventsOfReport = ({ status, amountCents, rtrId, settledAt, reason }: RefundReport): RefundEvent[] => {
  if (status === 'completed') return [{ type: 'completed', amountCents, rtrId, settledAt }];
  if (status === 'pending') return [{ type: 'pending', amountCents, rtrId }];
  return [{ type: 'refused', reason: reason ?? 'provider_refused', reportedCents: amountCents }];
};

function eventOfLine({ status, amountCents, rtrId, at }: PixReturn): RefundEvent {
  if (status === 'settled') return { type: 'completed', amountCents, rtrId, settledAt: at };
  if (status === 'pending') return { type: 'pending', amountCents, rtrId };
  return { type: 'refused', reason: 'provider_refused', reportedCents: amountCents };
}

interface Case {
  observed: ObservedRefund;
  stored: OnRecord<Refund>;
  charge: Payment;
  reading: Reading<RefundEvent>;
}

function heardOf(view: View, { observed, stored, charge, reading }: Case, now: number): Heard<Refund> {
  const { accountId, paymentId: subject, operationId, connection } = observed;
  const { row: refund, ids, capabilities, subscribed } = stored;
  const [event] = reading.events;
  const step = event
    ? nextRefund(refund, event, { now, cause: causeOf(observed), held: isHeld(charge) })
    : null;
  const isDeleted = view.balance({ accountId, chainId: operationId })?.deletedAt !== null;
  const chargeNow = step ? noticed(step, chargeAfter(step, charge, now), now) : charge;
  const freed = step && !isDeleted ? heldLess(view, chargeNow, ids.token, now) : null;
  const chain = { accountId, chainId: chainOfRefund(refund) };
  const ended = step?.posting ? [{ ...step.posting, chain, subject, reference: '', connection }] : [];
  return {
    row: step?.refund ?? refund,
    ending: reading.ending,
    undecided: reading.undecided,
    providerRef: null,
    incidents: step?.incident ? [step.incident] : [],
    // The freed amount of the hold is posted first: it was computed before a returned fee could fill the hold.
    postings: [...(freed?.postings ?? []), ...ended],
    writes: [
      ...(chargeNow === charge ? [] : [put(payments, chargeNow)]),
      // A deleted operation is invisible: what happens to its payments writes no events.
      ...(step && !isDeleted
        ? announceRefund(ids, capabilities.movesMoney, refund, step, chargeNow, subscribed)
        : []),
      ...(freed?.writes ?? []),
    ],
    others: [],
    unclear: [],
  };
}

/** A refunded amount cannot be taken again: the hold of a disputed Pix shrinks to the rest of the Pix. */
export function heldLess(view: View, charge: Payment, token: string, now: number): Adjusted | null {
  const { accountId, id: paymentId, operationId, endToEnd } = charge;
  if (endToEnd === null) return null;
  const returns = view.get(knownReturns, knownReturnsKey(accountId, paymentId))?.returns ?? [];
  const chain = { accountId, chainId: operationId };
  const left = leftOf(broughtBy(view, charge, endToEnd), endToEnd, returns);
  return shrunk(view, { chain, paymentId, endToEnd, token }, left, now);
}

/** The charge with what it has given back. */
export function chargeAfter(
  { refundedCents, card: changes }: RefundOutcome,
  charge: Payment,
  now: number,
): Payment {
  if (refundedCents === 0 && changes === null) return charge;
  const { card } = charge;
  return {
    ...charge,
    refundedCents: charge.refundedCents + refundedCents,
    updatedAt: Math.max(now, charge.updatedAt + 1),
    card:
      card === null || changes === null
        ? card
        : {
            ...card,
            outCents: (card.outCents ?? 0) + changes.outCents,
            feeBackCents: (card.feeBackCents ?? 0) + changes.feeBackCents,
          },
  };
}

/** A return to the payer that the provider refused puts its money before a person again, and the notice says so. */
function noticed({ incident }: RefundOutcome, charge: Payment, now: number): Payment {
  if (incident?.kind !== 'return_refused' || charge.notice !== 'odd_returned') return charge;
  return { ...charge, notice: waitingNotice(charge), updatedAt: Math.max(now, charge.updatedAt + 1) };
}

const waitingNotice = ({ status }: Payment): Notice => {
  if (status === 'paid') return 'paid_again';
  return status === 'failed' ? 'paid_after_failure' : 'paid_other_amount';
};

export const undecidedRefund = ({ id, amountCents }: Refund): OpenedIncident => ({
  kind: 'refund_undecided',
  reference: `refund_undecided:${id}`,
  amountCents,
  freezes: false,
});

function causeOf({ observation }: ObservedRefund): Cause {
  switch (observation.from) {
    case 'send':
      return { by: 'answer', id: observation.fence };
    case 'query':
      return { by: 'query', id: observation.id };
    case 'charge':
      return observation.cause;
  }
}
