import { refuse } from '../ground/errors.ts';
import { announceRefund } from '../kinds/payment/payment-events.ts';
import { afterEnding, type Ending, failedQuery, type Intent, isOverdue } from '../money/intent.ts';
import type { Cause, Payment } from '../money/payment.ts';
import {
  chainOfRefund,
  isRefundOpen,
  nextRefund,
  type Refund,
  type RefundEvent,
  type RefundOutcome,
} from '../money/refund.ts';
import type { OpenedIncident } from '../money/state.ts';
import { idsOf } from '../ports/ids.ts';
import type {
  Capabilities,
  PixReturn,
  QueryOutcome,
  RefundReport,
  SendOutcome,
} from '../provider/provider.ts';
import type { SubscribedTypes } from '../store/events/subscribed-types.ts';
import { type Incident, incidentKey, incidents } from '../store/rows/incidents.sql.ts';
import { intents } from '../store/rows/intents.sql.ts';
import { paymentKey, payments } from '../store/rows/payments.sql.ts';
import { refundKey, refunds } from '../store/rows/refunds.sql.ts';
import { knownReturns, knownReturnsKey } from '../store/rows/returns.sql.ts';
import { type Command, type Decision, put, read, remove, type View, type Write } from '../store/till.ts';
import { type Adjusted, broughtBy, holdReads, leftOf, shrunk } from './hold-of-pix.ts';

/** What the provider said of a refund. */
export type RefundObservation =
  | { from: 'send'; fence: string; outcome: SendOutcome<RefundReport> }
  | { from: 'query'; id: string; startedAt: number; outcome: QueryOutcome<RefundReport> }
  /** A line in a report of its charge. */
  | { from: 'charge'; cause: Cause; line: PixReturn };

export interface ObservedRefund {
  accountId: string;
  refundId: string;
  /** The charge. */
  paymentId: string;
  operationId: string;
  reason: Refund['reason'];
  connection: string;
  observation: RefundObservation;
}

interface Reading {
  event: RefundEvent | null;
  /** What it means for the intent; null when the intent stays as it is. */
  ending: Ending | null;
  /** It reports a refusal that does not count: a person has to decide. */
  undecided: boolean;
}

/**
 * Interprets what was observed of a refund, by the rules of transfers (`interpret-report.ts`): a refusal in the answer to a send counts only when that
 * send was the only attempt ever started; "not found" never releases; a duplicate proves that the provider knows the id and no more.
 * @returns null when it says nothing of this refund
 */
function readRefundObservation(
  observation: RefundObservation,
  refund: Refund,
  intent: Intent | undefined,
  { refusalIsFinal, repeatIsSafe }: Capabilities,
): Reading | null {
  const refusalCounts = refusalIsFinal || (intent?.attempt === 1 && refund.status === 'pending');
  switch (observation.from) {
    case 'charge':
      return reported(eventOfLine(observation.line), refund, refusalCounts, { type: 'news' });
    case 'query': {
      const { outcome, startedAt } = observation;
      if (outcome.outcome === 'found')
        return reported(eventOfReport(outcome.report), refund, refusalCounts, { type: 'news' });
      return nothing(
        outcome.outcome === 'unclear' ? failedQuery(outcome) : { type: 'notFound', startedAt, repeatIsSafe },
      );
    }
    case 'send':
      return readSend(observation, refund, intent, refusalCounts);
  }
}

function readSend(
  { fence, outcome }: Extract<RefundObservation, { from: 'send' }>,
  refund: Refund,
  intent: Intent | undefined,
  refusalCounts: boolean,
): Reading | null {
  if (intent?.state !== 'sending' || intent.fence !== fence) {
    // The fence guards the intent, not the provider's report.
    return outcome.outcome === 'accepted'
      ? reported(eventOfReport(outcome.report), refund, refusalCounts, { type: 'news' })
      : null;
  }
  const first = intent.attempt === 1;
  switch (outcome.outcome) {
    case 'accepted':
      return reported(eventOfReport(outcome.report), refund, refusalCounts || first, { type: 'answered' });
    case 'refused':
      return first
        ? { event: { type: 'refused', reason: outcome.reason }, ending: null, undecided: false }
        : nothing({ type: 'refused' });
    case 'duplicate':
      return nothing({ type: 'duplicate' });
    case 'unclear':
      return nothing({ type: 'unclear', cause: outcome.cause, retryAfterMs: outcome.retryAfterMs });
    case 'notSent':
      return nothing({ type: 'notSent' });
  }
}

const nothing = (ending: Ending): Reading => ({ event: null, ending, undecided: false });

const reported = (event: RefundEvent, refund: Refund, refusalCounts: boolean, ending: Ending): Reading =>
  event.type === 'refused' && !refusalCounts
    ? { event: null, ending, undecided: isRefundOpen(refund) }
    : { event, ending, undecided: false };

function eventOfReport({ status, amountCents, rtrId, settledAt, reason }: RefundReport): RefundEvent {
  if (status === 'completed') return { type: 'completed', amountCents, rtrId, settledAt };
  if (status === 'pending') return { type: 'pending', amountCents, rtrId };
  return { type: 'refused', reason: reason ?? 'provider_refused', reportedCents: amountCents };
}

function eventOfLine({ status, amountCents, rtrId, at }: PixReturn): RefundEvent {
  if (status === 'settled') return { type: 'completed', amountCents, rtrId, settledAt: at };
  if (status === 'pending') return { type: 'pending', amountCents, rtrId };
  return { type: 'refused', reason: 'provider_refused', reportedCents: amountCents };
}

export interface RefundOutcomeInput {
  observed: ObservedRefund;
  /** References of incidents that may be opened; null: none is expected. */
  incidents: readonly string[] | null;
  capabilities: Capabilities;
  subscribed: SubscribedTypes;
  token: string;
  /** 0 to 1, random: spreads the next query. */
  jitter: number;
  deadlineMs: number;
}

/** The refund after the outcome; or the incidents to read and to run with again. */
export type RefundAnswer = { refund: Refund; opened: readonly Incident[] } | { widen: readonly string[] };

/**
 * The one command for an answer, a webhook and a query about a refund: refund, its charge, intent, posting and events together. Pure.
 * @throws ApiError from `decide`: `refund_not_found`
 */
export function buildRefundOutcome(input: RefundOutcomeInput): Command<RefundAnswer> {
  const { observed, token, deadlineMs } = input;
  const { accountId, refundId, paymentId, operationId, reason } = observed;
  const operation = { accountId, chainId: operationId };
  const key = refundKey(accountId, refundId);
  return {
    token,
    deadlineMs,
    // A return to the payer is posted on the account's own chain. The operation's is locked as well: its withdrawals may have to be frozen.
    chains: reason === 'odd_money' ? [{ accountId, chainId: accountId }, operation] : [operation],
    reads: [
      read(refunds, key),
      read(intents, key),
      read(payments, paymentKey(accountId, paymentId)),
      read(knownReturns, knownReturnsKey(accountId, paymentId)),
      ...holdReads(accountId, operationId, paymentId),
      ...(input.incidents ?? []).map((reference) => read(incidents, incidentKey(accountId, reference))),
    ],
    eventRefs: [],
    decide: (view, now) => {
      const refund = view.get(refunds, key);
      const charge = view.get(payments, paymentKey(accountId, paymentId));
      if (!refund || !charge) throw refuse('refund_not_found');
      const intent = view.get(intents, key);
      const reading = readRefundObservation(observed.observation, refund, intent, input.capabilities);
      if (reading === null) return { answer: { refund, opened: [] } };
      return decisionOf(view, input, { refund, charge, intent, reading }, now);
    },
  };
}

interface Found {
  refund: Refund;
  charge: Payment;
  intent: Intent | undefined;
  reading: Reading;
}

function decisionOf(
  view: View,
  input: RefundOutcomeInput,
  found: Found,
  now: number,
): Decision<RefundAnswer> {
  const { observed, token, jitter, subscribed, capabilities } = input;
  const { accountId, refundId, operationId, connection } = observed;
  const { refund, charge, intent, reading } = found;
  const step = reading.event && nextRefund(refund, reading.event, { now, cause: causeOf(observed) });
  const after = step?.refund ?? refund;
  const followed = intent && followedOn(intent, reading.ending, refund, after, now, jitter);
  const wanted = incidentsOf(step, reading, after, followed);
  const unread = wanted.filter(({ reference }) => !input.incidents?.includes(reference));
  if (unread.length > 0) return { answer: { widen: wanted.map(({ reference }) => reference) } };

  const ids = idsOf(token);
  const opened = wanted
    .filter(({ reference }) => !view.get(incidents, incidentKey(accountId, reference)))
    .map((one): Incident => incidentOf(ids.uuid(), one, observed, refund, now));
  const operation = { accountId, chainId: operationId };
  const chain = { accountId, chainId: chainOfRefund(refund) };
  const isDeleted = view.balance(operation)?.deletedAt !== null;
  const writes: Write[] = after === refund ? [] : [put(refunds, after)];
  const freed = step && !isDeleted ? heldLess(view, chargeAfter(step, charge, now), token, now) : null;
  const ended = step?.posting
    ? [{ ...step.posting, chain, subject: refundId, reference: '', connection }]
    : [];
  const key = refundKey(accountId, refundId);
  if (intent && !followed) writes.push(remove(intents, key));
  else if (followed && followed !== intent) writes.push(put(intents, followed));
  if (step) writes.push(...chargeWrites(step, charge, now));
  // A deleted operation is invisible: what happens to its payments writes no events.
  if (step && !isDeleted)
    writes.push(
      ...announceRefund(
        ids,
        capabilities.movesMoney,
        refund,
        step,
        chargeAfter(step, charge, now),
        subscribed,
      ),
    );
  return {
    answer: { refund: after, opened },
    writes: [...writes, ...(freed?.writes ?? []), ...opened.map((one) => put(incidents, one))],
    freeze: !isDeleted && opened.some(({ freezes }) => freezes) ? [operation] : [],
    // What the hold frees is posted first: it was computed before a returned fee could fill the hold.
    postings: [...(freed?.postings ?? []), ...ended],
  };
}

/** What was refunded cannot be taken again: the hold of a disputed Pix shrinks to what is left of the Pix. */
export function heldLess(view: View, charge: Payment, token: string, now: number): Adjusted | null {
  const { accountId, id: paymentId, operationId, endToEnd } = charge;
  if (endToEnd === null) return null;
  const returns = view.get(knownReturns, knownReturnsKey(accountId, paymentId))?.returns ?? [];
  const chain = { accountId, chainId: operationId };
  const left = leftOf(broughtBy(view, charge, endToEnd), endToEnd, returns);
  return shrunk(view, { chain, paymentId, endToEnd, token }, left, now);
}

/** The charge with what it has given back. */
export const chargeAfter = ({ refundedCents }: RefundOutcome, charge: Payment, now: number): Payment =>
  refundedCents === 0
    ? charge
    : {
        ...charge,
        refundedCents: charge.refundedCents + refundedCents,
        updatedAt: Math.max(now, charge.updatedAt + 1),
      };

const chargeWrites = (step: RefundOutcome, charge: Payment, now: number): Write[] =>
  step.refundedCents === 0 ? [] : [put(payments, chargeAfter(step, charge, now))];

/** The intent after the observation; null when the refund has ended. */
function followedOn(
  intent: Intent,
  ending: Ending | null,
  before: Refund,
  after: Refund,
  now: number,
  jitter: number,
): Intent | null {
  if (!isRefundOpen(after)) return null;
  if (ending === null) return intent;
  const isNews = ending.type !== 'news' || after.status !== before.status;
  const about = { kind: 'refund', status: after.status, expiresAt: null } as const;
  return afterEnding(intent, isNews ? ending : { type: 'unchanged' }, about, now, jitter);
}

function incidentsOf(
  step: RefundOutcome | null,
  { undecided }: Reading,
  { id, amountCents, status, createdAt }: Refund,
  followed: Intent | null | undefined,
): OpenedIncident[] {
  const wanted = step?.incident ? [step.incident] : [];
  const about = { kind: 'refund', status, expiresAt: null, createdAt } as const;
  if (!followed || !(undecided || isOverdue(about, followed))) return wanted;
  const reference = `refund_undecided:${id}`;
  return [...wanted, { kind: 'refund_undecided', reference, amountCents, freezes: false }];
}

const incidentOf = (
  id: string,
  { kind, reference, amountCents, freezes }: OpenedIncident,
  { accountId, paymentId, operationId, observation }: ObservedRefund,
  refund: Refund,
  openedAt: number,
): Incident => ({
  accountId,
  id,
  kind,
  paymentId,
  operationId,
  amountCents,
  reference,
  freezes,
  detail: { refundId: refund.id, status: refund.status, from: observation.from },
  openedAt,
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
