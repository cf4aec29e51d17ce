import { refuse } from '../ground/errors.ts';
import { announce } from '../kinds/payment/payment-events.ts';
import { isHolding } from '../money/dispute.ts';
import { afterEnding, type Ending, type Intent, isOverdue } from '../money/intent.ts';
import { eventKinds } from '../money/journal.ts';
import { type Cause, isTerminal, type Payment } from '../money/payment.ts';
import type { Refund } from '../money/refund.ts';
import type { KnownReturn } from '../money/returns.ts';
import type { Facts, OpenedIncident, Step } from '../money/state.ts';
import { type Ids, idsOf } from '../ports/ids.ts';
import type { Capabilities } from '../provider/provider.ts';
import type { SubscribedTypes } from '../store/events/subscribed-types.ts';
import { type Incident, incidentKey, incidents, openIncidents } from '../store/rows/incidents.sql.ts';
import { intents } from '../store/rows/intents.sql.ts';
import { lateAfterMs, lateQueries } from '../store/rows/late-queries.sql.ts';
import { paymentKey, payments } from '../store/rows/payments.sql.ts';
import { refundsOfPayment } from '../store/rows/refunds.sql.ts';
import { knownReturns, knownReturnsKey } from '../store/rows/returns.sql.ts';
import { unreadableReference } from '../store/rows/unreadable.ts';
import {
  type ChainKey,
  type Command,
  type Decision,
  type Posting,
  put,
  type Read,
  read,
  remove,
  type View,
  type Write,
} from '../store/till.ts';
import { broughtBy, disputesIn, holdReads, withHolds } from './hold-of-pix.ts';
import {
  type Interpretation,
  interpret,
  type Observation,
  type OnRecord,
  payoutsIn,
  type Reading,
  runEvents,
} from './interpret-report.ts';
import { type RefundLine, sortRefundLines } from './refund-lines.ts';

/** An observation of the provider, and the payment that it concerns. */
export interface Observed {
  accountId: string;
  paymentId: string;
  operationId: string;
  connection: string;
  observation: Observation;
}

export interface OutcomeInput {
  observed: Observed;
  scope: OutcomeScope;
  /** Of the payment's connection. */
  capabilities: Capabilities;
  /** The event types that this account's log keeps. */
  subscribed: SubscribedTypes;
  secrets: { open(sealed: Buffer, context: string): Buffer };
  token: string;
  /** 0 to 1, random: spreads the next query. */
  jitter: number;
  deadlineMs: number;
}

/** What the command locks and reads in rare cases. A run finds such a case only in the rows that it reads: then the command runs once more. */
export interface OutcomeScope {
  /** The operation was deleted: the account's own chain is locked as well. */
  operationDeleted: boolean;
  /** References of the incidents that may be opened; null: none is expected. */
  incidents: readonly string[] | null;
  /** A dispute of the charge is known, and its Pix is posted: what is disputed is held with it. */
  disputed: boolean;
}

export const usualScope: OutcomeScope = { operationDeleted: false, incidents: null, disputed: false };

/**
 * The payment after the outcome, the incidents that were opened, what was said of refunds of it (nothing is done about that here), and
 * refunds that a return may be; or the scope to run with again.
 */
export type OutcomeAnswer =
  | {
      payment: Payment;
      opened: readonly Incident[];
      told: readonly RefundLine[];
      undecided: readonly Refund[];
    }
  | { widen: Partial<OutcomeScope> };

/**
 * The one command for an answer, a webhook and a query: what the provider said becomes events of the state machine, applied
 * together with the intent. Pure.
 * @throws ApiError from `decide`: `payment_not_found`
 */
export function buildOutcome(input: OutcomeInput): Command<OutcomeAnswer> {
  const { observed, scope, capabilities, token, deadlineMs } = input;
  const { accountId, paymentId } = observed;
  const interpretation = interpret(observed.observation);
  const key = paymentKey(accountId, paymentId);
  const operation: ChainKey = { accountId, chainId: observed.operationId };
  const account: ChainKey = { accountId, chainId: accountId };
  return {
    token,
    deadlineMs,
    chains: scope.operationDeleted ? [operation, account] : [operation],
    reads: readsOf(input, interpretation),
    // A person may have posted a Pix before its payment was here (`creditOfNamed`).
    eventRefs: interpretation.received.flatMap((reference) => [
      suspenseOf(observed, reference),
      { ...suspenseOf(observed, reference), event: eventKinds.resolution },
    ]),
    pix: interpretation.received.map((endToEnd) => ({ connection: observed.connection, endToEnd })),
    decide: (view, now) => {
      const payment = view.get(payments, key);
      const balance = view.balance(operation);
      if (!payment || !balance) throw refuse('payment_not_found');
      if (balance.deletedAt !== null && !scope.operationDeleted)
        return { answer: { widen: { operationDeleted: true } } };
      const returns = readsHolds(scope, interpretation)
        ? (view.get(knownReturns, knownReturnsKey(accountId, paymentId))?.returns ?? [])
        : [];
      const onRecord = { payment, intent: view.get(intents, key), returns };
      const sorted = sortRefundLines(
        observed.observation,
        interpretation.namesRefunds ? (view.get(refundsOfPayment, key)?.refunds ?? []) : [],
        returns,
      );
      const { told, undecided } = sorted;
      const about = told.length + undecided.length > 0 ? interpret(sorted.observation) : interpretation;
      const reading = about.read(onRecord, capabilities);
      if (reading === null) return { answer: { payment, opened: [], told, undecided } };
      const needsHolds = payment.disputed && !readsHolds(scope, interpretation) && bringsPix(reading);
      if (needsHolds) return { answer: { widen: { disputed: true } } };
      return decisionOf(view, input, onRecord, reading, { told, undecided, now });
    },
  };
}

/** Whether the holds of disputed Pix may change. */
const readsHolds = ({ disputed }: OutcomeScope, { hasReturns }: Interpretation): boolean =>
  hasReturns || disputed;

function readsOf({ observed, scope }: OutcomeInput, interpretation: Interpretation): Read[] {
  const { accountId, paymentId } = observed;
  const { namesRefunds } = interpretation;
  const key = paymentKey(accountId, paymentId);
  return [
    read(payments, key),
    read(intents, key),
    ...(namesRefunds ? [read(refundsOfPayment, key)] : []),
    ...(readsHolds(scope, interpretation)
      ? [
          read(knownReturns, knownReturnsKey(accountId, paymentId)),
          ...holdReads(accountId, observed.operationId, paymentId),
        ]
      : []),
    ...(scope.incidents ? [read(openIncidents, key)] : []),
    ...(scope.incidents ?? []).map((reference) => read(incidents, incidentKey(accountId, reference))),
  ];
}

const bringsPix = ({ events }: Reading): boolean => events.some(({ type }) => type === 'chargePaid');

const suspenseOf = ({ accountId, paymentId }: Observed, reference: string) => ({
  accountId,
  subject: paymentId,
  event: eventKinds.suspense,
  reference,
});

function decisionOf(
  view: View,
  input: OutcomeInput,
  onRecord: OnRecord,
  reading: Reading,
  { told, undecided, now }: { told: readonly RefundLine[]; undecided: readonly Refund[]; now: number },
): Decision<OutcomeAnswer> {
  const { observed, scope, token } = input;
  const { accountId, paymentId } = observed;
  const { payment, intent, returns } = onRecord;
  const key = paymentKey(accountId, paymentId);
  const { steps, last, followed, wanted } = consequencesOf(view, input, onRecord, reading, now);
  const widen = missingIncidents(scope, wanted, last !== payment && last.status === 'expired');
  if (widen) return { answer: { widen } };

  const ids = idsOf(token);
  const writes: Write[] = [];
  if (last !== payment) writes.push(put(payments, last));
  const after = returnsAfter(returns, reading.returns, steps);
  if (after !== returns) writes.push(put(knownReturns, { accountId, payment: paymentId, returns: after }));
  writes.push(...eventsOf(ids, input, payment, steps));
  if (intent && isTerminal(last.status)) writes.push(remove(intents, key));
  else if (followed && followed !== intent) writes.push(put(intents, followed));
  if (last.status === 'expired' && payment.status !== 'expired') {
    const { connection } = observed;
    const late = { accountId, paymentId, connection, createdAt: payment.createdAt, dueAt: now + lateAfterMs };
    writes.push(put(lateQueries, late));
  }
  const opened = wanted
    .filter((incident) => !isOpened(incident, accountId, view))
    .map((incident) => incidentOf(ids, incident, payment, observed, now));
  if (opened.length > 0) writes.push(put(openIncidents, { accountId, paymentId }));
  writes.push(...opened.map((incident) => put(incidents, incident)));
  const operation: ChainKey = { accountId, chainId: observed.operationId };
  const account: ChainKey = { accountId, chainId: accountId };
  const postings = postingsOf(steps, observed, scope.operationDeleted ? account : operation);
  const held = {
    chain: operation,
    paymentId,
    token,
    endToEnd: last.endToEnd,
    broughtBy: (pix: string | null) => broughtBy(view, last, pix ?? last.endToEnd ?? ''),
    postings,
    reported: reading.returns,
    known: returns,
  };
  const taken =
    (reading.returns.length > 0 || scope.disputed) && !scope.operationDeleted
      ? withHolds(view, held, now)
      : { postings, writes: [] };
  const freezes = !scope.operationDeleted && opened.some((incident) => incident.freezes);
  return {
    answer: { payment: last, opened, told, undecided },
    writes: [...writes, ...taken.writes],
    freeze: freezes ? [operation] : [],
    postings: taken.postings,
  };
}

interface Consequences {
  steps: readonly Step[];
  /** The payment after all steps. */
  last: Payment;
  /** The intent afterwards; null or undefined when none is left. */
  followed: Intent | null | undefined;
  /** Incidents that are wanted, also those that were opened before. */
  wanted: readonly OpenedIncident[];
}

function consequencesOf(
  view: View,
  input: OutcomeInput,
  { payment, intent, returns }: OnRecord,
  reading: Reading,
  now: number,
): Consequences {
  const { observed, scope, secrets, jitter } = input;
  const { accountId, paymentId, observation } = observed;
  let unreadable = false;
  const facts: Facts = {
    now,
    cause: causeOf(observation),
    operationDeleted: scope.operationDeleted,
    incidentOpen:
      scope.incidents !== null && view.get(openIncidents, paymentKey(accountId, paymentId)) !== undefined,
    posted: (event, reference) => view.posted({ accountId, subject: paymentId, event, reference }),
    bookedUnder: (endToEnd) => {
      const booked = view.booked({ connection: observed.connection, endToEnd });
      return booked && booked.subject !== paymentId ? booked.subject : null;
    },
    isCreditedAndDisputed: (endToEnd) =>
      broughtBy(view, payment, endToEnd) > 0 &&
      disputesIn(view, accountId, paymentId).some((one) => one.endToEnd === endToEnd && isHolding(one)),
    knowsReturn: (reference) => returns.some((one) => one.reference === reference),
    isPixKey: (reported) => {
      if (payment.pixKey === null) return false;
      try {
        return secrets.open(payment.pixKey, paymentId).toString() === reported;
      } catch {
        unreadable = true;
        return null;
      }
    },
  };
  const steps = runEvents(payment, reading.events, facts);
  const last = withReceiver(steps.at(-1)?.payment ?? payment, payment, observation);
  const named = intent && { ...intent, providerRef: intent.providerRef ?? providerRefOf(observation) };
  const asBefore = named?.providerRef === intent?.providerRef ? intent : named;
  const followed = asBefore && followedOn(asBefore, reading.ending, payment, last, now, jitter);
  const undecided =
    followed && (reading.undecided || isOverdue(last, followed)) && !facts.incidentOpen
      ? [incidentAbout(payment, 'undecided', `undecided:${paymentId}`)]
      : [];
  const sealed = unreadable ? [incidentAbout(payment, 'unreadable', unreadableReference(paymentId))] : [];
  const wanted = [...steps.flatMap((step) => step.incidents), ...undecided, ...sealed];
  return { steps, last, followed, wanted };
}

const incidentAbout = (
  { amountCents }: Payment,
  kind: 'undecided' | 'unreadable',
  reference: string,
): OpenedIncident => ({ kind, reference, amountCents, freezes: false });

/** The incidents to read in another run; null when this run has read all that it needs. */
function missingIncidents(
  scope: OutcomeScope,
  wanted: readonly OpenedIncident[],
  expires: boolean,
): Partial<OutcomeScope> | null {
  const known = new Set(scope.incidents);
  const references = wanted.flatMap(referencesOf);
  const isMissing = references.some((reference) => !known.has(reference));
  return isMissing || (expires && scope.incidents === null) ? { incidents: [...known, ...references] } : null;
}

const incidentOf = (
  ids: Pick<Ids, 'uuid'>,
  { kind, reference, amountCents, freezes, detail }: OpenedIncident,
  { operationId, status }: Payment,
  { accountId, paymentId, observation }: Observed,
  now: number,
): Incident => ({
  accountId,
  id: ids.uuid(),
  kind,
  paymentId,
  operationId,
  amountCents,
  reference,
  freezes,
  detail: { status, from: observation.from, ...detail },
  openedAt: now,
});

/** The receiver that a report names is stored when the report changes the payment anyway; it causes no write of its own. */
function withReceiver(last: Payment, before: Payment, observation: Observation): Payment {
  if (last === before || last.receiver !== null) return last;
  const receiver = payoutsIn(observation).find((report) => report.receiver)?.receiver;
  return receiver ? { ...last, receiver } : last;
}

/** What the provider names the payout in this observation. */
const providerRefOf = (observation: Observation): string | null =>
  payoutsIn(observation).find((report) => report.providerRef)?.providerRef ?? null;

/** The intent after the observation; null when the payment has ended. */
function followedOn(
  intent: Intent,
  ending: Ending | null,
  before: Payment,
  after: Payment,
  now: number,
  jitter: number,
): Intent | null {
  if (isTerminal(after.status)) return null;
  if (ending === null) return intent;
  // Only another state is news: otherwise the schedule continues from the last one.
  const isNews = ending.type !== 'news' || after.status !== before.status;
  return afterEnding(intent, isNews ? ending : { type: 'unchanged' }, after, now, jitter);
}

/** The references under which the same event may have opened an incident. */
const referencesOf = ({ reference, formerly = [] }: OpenedIncident): string[] => [reference, ...formerly];

const isOpened = (incident: OpenedIncident, accountId: string, view: View): boolean =>
  referencesOf(incident).some((reference) => {
    const found = view.get(incidents, incidentKey(accountId, reference));
    return found && (reference === incident.reference || found.amountCents === incident.amountCents);
  });

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
  ids: Pick<Ids, 'uuid'>,
  { capabilities, subscribed }: OutcomeInput,
  before: Payment,
  steps: readonly Step[],
): Write[] {
  let from = before.status;
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
