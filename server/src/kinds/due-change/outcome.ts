import { revisedBy } from '../../money/due.ts';
import type { ChargeReport, QueryOutcome } from '../../provider/provider.ts';
import { paymentKey, payments } from '../../store/rows/payments.sql.ts';
import { put, type View, type Write } from '../../store/till.ts';
import {
  type ChargeRequest,
  hearingOf,
  isRequestOpen,
  type ObservedRequest,
  observedOf,
} from '../charge-request/charge-request.ts';
import type { Answered, Hearing, Observed, OnRecord } from '../kind.ts';
import { changedEvent } from '../payment/payment-events.ts';
import { isSinceSent, type Reading, type Refusal, readQuery, readSend, type Standing } from '../reading.ts';
import { type DuePayment, hasDueDate } from './admission.ts';
import type { ChangeRequest } from './changes.sql.ts';

export const observedChange = observedOf<ChargeReport>('due_change');

/**
 * An answer or a query about a change. A report goes to the charge, which takes the terms over or ends, and the change ends with that; a refusal that counts
 * ends it here, and the charge stays as it was. Pure.
 */
export function hearChange(observed: ObservedRequest<ChargeReport>): Hearing<ChangeRequest> {
  const { accountId, chargeId, observation } = observed;
  return {
    ...hearingOf(observed),
    decide: (view, stored, now) => {
      const charge = view.get(payments, paymentKey(accountId, chargeId));
      if (!hasDueDate(charge)) return null;
      const { row } = stored;
      const reading = readChange(observation, stored, charge);
      if (reading === null) return null;
      const isRefused = reading.events.length > 0 && isRequestOpen(row);
      const updatedAt = Math.max(now, row.updatedAt);
      return {
        row: isRefused ? { ...row, status: 'completed', outcome: 'refused', updatedAt } : row,
        ending: reading.ending,
        undecided: false,
        providerRef: null,
        ...(charge.connection && { connection: charge.connection }),
        incidents: [],
        postings: [],
        writes: isRefused ? refusedWrites(view, charge, stored, now) : [],
        others: 'report' in observation.outcome ? [aboutCharge(observed)] : [],
        unclear: [],
      };
    },
  };
}

const aboutCharge = ({ chargeId, ...observed }: ObservedRequest<ChargeReport>): Observed => ({
  ...observed,
  paymentId: chargeId,
  kind: 'due_charge',
});

function refusedWrites(
  view: View,
  charge: DuePayment,
  { row, ids, capabilities }: OnRecord<ChangeRequest>,
  now: number,
): Write[] {
  const { accountId, operationId: chainId } = charge;
  const after = withoutChange(charge, row, now);
  const silent = view.balance({ accountId, chainId })?.deletedAt !== null;
  const dueChange = { id: row.id, outcome: 'refused' } as const;
  const { movesMoney } = capabilities;
  return [
    put(payments, after),
    ...(silent ? [] : [changedEvent(ids, movesMoney, after, after.status, dueChange)]),
  ];
}

function withoutChange(charge: DuePayment, { id }: ChargeRequest, now: number): DuePayment {
  const { change, ...due } = charge.due;
  return change?.id === id ? { ...charge, due, updatedAt: Math.max(now, charge.updatedAt + 1) } : charge;
}

/** By the rules of every kind (`reading.ts`), with the outcome as it speaks of the change. @returns null when it says nothing of it */
function readChange(
  observation: Answered<ChargeReport>,
  { row, intent, capabilities }: OnRecord<ChangeRequest>,
  charge: DuePayment,
): Reading<Refusal> | null {
  const standing: Standing = {
    intent,
    isOpen: isRequestOpen(row),
    isPending: false,
    // All terms are named, so that a second time changes nothing.
    capabilities: { ...capabilities, repeatIsSafe: true },
  };
  const nothing = (): never[] => [];
  if (observation.from === 'send') return readSend(observation, standing, nothing);
  const outcome = ofAsked(observation, charge, isSinceSent(observation, intent));
  // A repeat was refused, and a query that began afterwards shows the charge as it was: neither attempt changed it.
  const isSince = observation.startedAt >= (intent?.attemptEndedAt ?? Number.POSITIVE_INFINITY);
  if (
    outcome.outcome === 'notFound' &&
    intent?.state === 'awaiting' &&
    intent.refused &&
    !intent.known &&
    isSince
  )
    return { events: [{ type: 'refused', reason: 'provider_refused' }], ending: null, undecided: false };
  return readQuery({ ...observation, outcome }, standing, nothing);
}

/** An open charge that is as it was is one whose change is not there: after two of these it is sent again. */
function ofAsked(
  { outcome }: Extract<Answered<ChargeReport>, { from: 'query' }>,
  charge: DuePayment,
  isSince: boolean,
): QueryOutcome<ChargeReport> {
  if (outcome.outcome !== 'found' || outcome.report.status !== 'open') return outcome;
  return revisedBy(charge, { ...outcome.report, isSince }) ? outcome : { outcome: 'notFound' };
}
