import { isHolding } from '../../money/dispute.ts';
import type { AttemptResult, Intent } from '../../money/intent.ts';
import { eventKinds } from '../../money/journal.ts';
import type { Cause, Payment } from '../../money/payment.ts';
import type { KnownReturn } from '../../money/returns.ts';
import { isSamePixKey } from '../../money/same-pix-key.ts';
import type { Facts, OpenedIncident, Step } from '../../money/state.ts';
import { openIncidents } from '../../store/rows/incidents.sql.ts';
import { intents } from '../../store/rows/intents.sql.ts';
import { lateAfterMs, lateQueries } from '../../store/rows/late-queries.sql.ts';
import { paymentKey } from '../../store/rows/payments.sql.ts';
import { refundsOfPayment } from '../../store/rows/refunds.sql.ts';
import { knownReturns, knownReturnsKey } from '../../store/rows/returns.sql.ts';
import { unreadableReference } from '../../store/rows/unreadable.ts';
import { type ChainKey, type Posting, put, read, type View, type Write } from '../../store/till.ts';
import type { Heard, Hearing, Observed, OnRecord } from '../kind.ts';
import { linkWrites } from '../link/link.ts';
import { debitsJudged, withExplanations } from './explained-debits.ts';
import { broughtBy, disputesIn, holdReads, withHolds } from './hold-of-pix.ts';
import { interpret, type Observation, payoutsIn, type Reading, runEvents } from './interpret-report.ts';
import { announce } from './payment-events.ts';
import { observedLine, sortRefundLines } from './refund-lines.ts';

/**
 * Turns an answer, a webhook or a query about a charge or a transfer into events of the state machine. Pure. In rare cases it asks for rows
 * and for a chain that the command did not name: the till reads and locks them then.
 */
export function hearPayment(observed: Observed<Observation>): Hearing<Payment> {
  const { accountId, paymentId, operationId, connection } = observed;
  const key = paymentKey(accountId, paymentId);
  const interpretation = interpret(observed.observation);
  const { received, returned, namesRefunds, hasReturns } = interpretation;
  const suspenseOf = (reference: string) => ({
    accountId,
    subject: paymentId,
    event: eventKinds.suspense,
    reference,
  });
  return {
    chains: [{ accountId, chainId: operationId }],
    reads: [
      ...(namesRefunds ? [read(refundsOfPayment, key)] : []),
      ...(hasReturns
        ? [
            read(knownReturns, knownReturnsKey(accountId, paymentId)),
            ...holdReads(accountId, operationId, paymentId),
          ]
        : []),
    ],
    // A person may have posted a Pix before its payment was here (`creditOfNamed`).
    eventRefs: received.flatMap((reference) => [
      suspenseOf(reference),
      { ...suspenseOf(reference), event: eventKinds.resolution },
    ]),
    pix: [...received, ...returned].map((endToEnd) => ({ connection, endToEnd })),
    decide: (view, stored, now) => {
      const { row: payment, intent, capabilities } = stored;
      const known = hasReturns ? returnsIn(view, observed) : [];
      const refunds = namesRefunds ? (view.get(refundsOfPayment, key)?.refunds ?? []) : [];
      const { observation, told, undecided } = sortRefundLines(observed.observation, refunds, known);
      const about = told.length + undecided.length > 0 ? interpret(observation) : interpretation;
      const changeSent = changeSentOf(view, payment);
      const reading = about.read({ payment, intent, returns: known, changeSent }, capabilities);
      const passedOn = {
        others: told.map((line) => observedLine(line, observed, stored.ids.uuid())),
        unclear: undecided.map(({ id }) => ({ accountId, paymentId: id })),
      };
      if (reading === null)
        return told.length + undecided.length > 0 ? nothingHeard(payment, passedOn) : null;
      // A dispute may be known before its Pix: what it wants is held with the posting of the Pix.
      const movesHolds = hasReturns || (payment.disputed && bringsPix(reading));
      const returns = movesHolds && !hasReturns ? returnsIn(view, observed) : known;
      return { ...heardOf(view, { observed, stored, reading, returns, movesHolds }, now), ...passedOn };
    },
  };
}

/** The till reads it when it is asked for: few charges have an open change. */
const changeSentOf = (view: View, { accountId, due }: Payment): Intent | undefined =>
  due?.change && view.get(intents, accountId + due.change.id);

const nothingHeard = (
  row: Payment,
  passedOn: Pick<Heard<Payment>, 'others' | 'unclear'>,
): Heard<Payment> => ({
  row,
  ending: null,
  undecided: false,
  providerRef: null,
  incidents: [],
  postings: [],
  writes: [],
  ...passedOn,
});

const returnsIn = (view: View, { accountId, paymentId }: Observed): readonly KnownReturn[] =>
  view.get(knownReturns, knownReturnsKey(accountId, paymentId))?.returns ?? [];

const bringsPix = ({ events }: Reading): boolean => events.some(({ type }) => type === 'chargePaid');

interface Case {
  observed: Observed<Observation>;
  stored: OnRecord<Payment>;
  reading: Reading;
  /** The returns that are known of it. */
  returns: readonly KnownReturn[];
  /** The holds of disputed Pix may change. */
  movesHolds: boolean;
}

function heardOf(view: View, heard: Case, now: number): Omit<Heard<Payment>, 'others' | 'unclear'> {
  const { observed, stored, reading, returns, movesHolds } = heard;
  const { accountId, paymentId, observation } = observed;
  const payment = stored.row;
  const operation: ChainKey = { accountId, chainId: observed.operationId };
  const isDeleted = view.balance(operation)?.deletedAt !== null;
  const { steps, last, unreadable } = stepsOf(view, heard, isDeleted, now);
  const writes: Write[] = [];
  const after = returnsAfter(returns, reading.returns, steps);
  if (after !== returns) writes.push(put(knownReturns, { accountId, payment: paymentId, returns: after }));
  const { ids, capabilities } = stored;
  const announced = { ids, livemode: capabilities.movesMoney, silent: isDeleted };
  writes.push(...stored.requestsEndedWith(view, payment, last, announced, now));
  writes.push(...eventsOf(stored, steps));
  writes.push(...linkWrites(view, payment, last, announced));
  if (last.status === 'expired' && payment.status !== 'expired') {
    const { connection } = observed;
    const late = { accountId, paymentId, connection, createdAt: payment.createdAt, dueAt: now + lateAfterMs };
    writes.push(put(lateQueries, late));
  }
  const postings = postingsOf(steps, observed, isDeleted ? accountChain(view, accountId) : operation);
  const held = {
    chain: operation,
    paymentId,
    token: stored.ids.token,
    endToEnd: last.endToEnd,
    broughtBy: (pix: string | null) => broughtBy(view, last, pix ?? last.endToEnd ?? ''),
    postings,
    reported: reading.returns,
    known: returns,
  };
  const known = { accountId, paymentId, connection: observed.connection, returns: after };
  const isDisputed = after !== returns && disputesIn(view, accountId, paymentId).length > 0;
  const judged = isDisputed ? { ...known, disputes: disputesIn(view, accountId, paymentId) } : null;
  const opened = steps.flatMap((step) => step.incidents);
  const movesHeld = (reading.returns.length > 0 || movesHolds) && !isDeleted;
  const taken = movesHeld ? withHolds(view, held, now) : { postings, writes: [] };
  return {
    row: last,
    ending: asPrepared(heard, steps) ?? reading.ending,
    undecided: reading.undecided,
    providerRef: payoutsIn(observation).find((report) => report.providerRef)?.providerRef ?? null,
    incidents: [
      ...(judged ? withExplanations(judged, opened) : opened),
      ...(unreadable ? [incidentAbout(payment, 'unreadable', unreadableReference(paymentId))] : []),
    ],
    postings: taken.postings,
    writes: [...writes, ...taken.writes, ...(judged ? debitsJudged(view, judged, stored.ids, now) : [])],
  };
}

/**
 * The payout that was asked for stands there unsent; null: the observation does not say that. A provider that has called it sent does not know better by an
 * older word, and what has another amount or key is not ours.
 */
function asPrepared(
  { observed: { observation }, stored: { row, intent, capabilities }, reading }: Case,
  steps: readonly Step[],
): AttemptResult | null {
  if (!capabilities.confirmsPayouts || !intent || reading.ending === null) return null;
  if (!payoutsIn(observation).some(({ status }) => status === 'prepared')) return null;
  const wasSent = intent.step === null && row.status === 'pending';
  if (wasSent || steps.some(({ incidents }) => incidents.length > 0)) return null;
  return {
    type: 'prepared',
    startedAt: saidAt(observation, intent),
    repeatIsSafe: capabilities.repeatIsSafe,
  };
}

/** When the query began that says it; null: the answer to the owner's own call. A delivery, and an owner that was overtaken, may speak of any time. */
function saidAt(observation: Observation, { state, fence }: Intent): number | null {
  if (observation.from === 'query') return observation.startedAt;
  return observation.from === 'send' && state === 'sending' && fence === observation.fence ? null : 0;
}

/** The account's own chain: what a deleted operation would have got stands there in suspense. The till locks it when it is asked for. */
function accountChain(view: View, accountId: string): ChainKey {
  const chain = { accountId, chainId: accountId };
  view.balance(chain);
  return chain;
}

/** The payment after all that was reported, with a value that cannot be opened noted. */
function stepsOf(
  view: View,
  { observed, stored, reading, returns }: Case,
  operationDeleted: boolean,
  now: number,
): { steps: readonly Step[]; last: Payment; unreadable: boolean } {
  const { accountId, paymentId, connection, observation } = observed;
  const payment = stored.row;
  let unreadable = false;
  const facts: Facts = {
    now,
    cause: causeOf(observation),
    operationDeleted,
    incidentOpen: () => isLookedAt(view, payment),
    posted: (event, reference) => view.posted({ accountId, subject: paymentId, event, reference }),
    bookedUnder: (endToEnd) => {
      const booked = view.booked({ connection, endToEnd });
      return booked && booked.subject !== paymentId ? booked.subject : null;
    },
    isCreditedAndDisputed: (endToEnd) =>
      broughtBy(view, payment, endToEnd) > 0 &&
      disputesIn(view, accountId, paymentId).some((one) => one.endToEnd === endToEnd && isHolding(one)),
    knowsReturn: (reference) => returns.some((one) => one.reference === reference),
    isPixKey: (reported) => {
      if (payment.pixKey === null || payment.pixKeyType === null) return false;
      try {
        const key = stored.secrets.open(payment.pixKey, paymentId).toString();
        return isSamePixKey(payment.pixKeyType, key, reported);
      } catch {
        unreadable = true;
        return null;
      }
    },
  };
  const steps = runEvents(payment, reading.events, facts);
  const last = withReceiver(steps.at(-1)?.payment ?? payment, payment, observation);
  return { steps, last, unreadable };
}

/** A person looks at the payment: an incident about it is open. */
export const isLookedAt = (view: View, { accountId, id }: Payment): boolean =>
  view.get(openIncidents, paymentKey(accountId, id)) !== undefined;

/** The incident of a payment whose end a person has to find out. */
export const undecidedPayment = (payment: Payment): OpenedIncident =>
  incidentAbout(payment, 'undecided', `undecided:${payment.id}`);

const incidentAbout = (
  { amountCents }: Payment,
  kind: 'undecided' | 'unreadable',
  reference: string,
): OpenedIncident => ({ kind, reference, amountCents, freezes: false });

/** The receiver that a report names is stored when the report changes the payment anyway; it causes no write of its own. */
function withReceiver(last: Payment, before: Payment, observation: Observation): Payment {
  if (last === before || last.receiver !== null) return last;
  const receiver = payoutsIn(observation).find((report) => report.receiver)?.receiver;
  return receiver ? { ...last, receiver } : last;
}

/** The known returns with what this observation adds: new ones, and more names of old ones. `known` itself when nothing is new. */
function returnsAfter(
  known: readonly KnownReturn[],
  reported: readonly KnownReturn[],
  steps: readonly Step[],
): readonly KnownReturn[] {
  const added = steps.flatMap((step) => step.returns);
  const named = known.map((one) => {
    const now = reported.find(({ reference }) => reference === one.reference);
    return now && (now.id !== one.id || now.rtrId !== one.rtrId) ? now : one;
  });
  const isNew = added.length > 0 || named.some((one, at) => one !== known[at]);
  return isNew ? [...named, ...added] : known;
}

function postingsOf(
  steps: readonly Step[],
  { paymentId: subject, connection }: Observed,
  chain: ChainKey,
): Posting[] {
  return steps.flatMap((step) =>
    step.postings.map((posting) => ({ ...posting, chain, subject, connection })),
  );
}

/** One event for each state that was entered, with the state that was left. */
function eventsOf(
  { row, ids, capabilities, subscribed }: OnRecord<Payment>,
  steps: readonly Step[],
): Write[] {
  let from = row.status;
  return steps.flatMap(({ payment, events }) => {
    const writes = announce(ids, capabilities.movesMoney, payment, from, events, subscribed);
    from = payment.status;
    return writes;
  });
}

function causeOf(observation: Observation): Cause {
  switch (observation.from) {
    case 'send':
      return { by: 'answer', id: observation.fence };
    case 'query':
      return { by: 'query', id: observation.id };
    case 'webhook':
      return { by: 'webhook', id: observation.id };
  }
}
