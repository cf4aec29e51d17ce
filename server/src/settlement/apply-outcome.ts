import type { House } from '../house.ts';
import { refuse } from '../http/errors.ts';
import { eventKinds } from '../ledger/journal.ts';
import type { EventRef } from '../ledger/ledger.sql.ts';
import { type ChainKey, type Posting, put, read, remove, type Write } from '../ledger/till.ts';
import { type Cause, isTerminal, type Payment } from '../payments/payment.ts';
import { paymentKey, payments } from '../payments/payments.sql.ts';
import { type Facts, next, type PaymentEvent, type Step } from '../payments/state.ts';
import type {
  Capabilities,
  ChargeReport,
  PayoutReport,
  QueryOutcome,
  ReceivedPix,
  SendOutcome,
} from '../provider/provider.ts';
import { announce } from './announce.ts';
import { incidentKey, incidents, openIncidents } from './incidents.sql.ts';
import { afterEnding, type Ending, type Intent, undecidedAfterMs } from './intent.ts';
import { intents } from './intents.sql.ts';

/**
 * The one way on from an answer, a webhook and a query: what the provider said becomes events of the state machine, and the
 * till applies them together with the intent.
 *
 * **Who may call an answer a terminal refusal** is decided here. A refusal in the answer to a send counts only when that send
 * was the only attempt ever started: after an unclear or repeated attempt an earlier request may still be on its way, and only a refusal
 * that the provider reports *for that id* (by query or authenticated webhook) releases, where the adapter declares such a
 * refusal final. "Not found" never does.
 */
export interface Observed {
  accountId: string;
  paymentId: string;
  operationId: string;
  connection: string;
  observation: Observation;
}

export type Observation =
  | { from: 'send'; fence: string; outcome: SendOutcome<ChargeReport | PayoutReport> }
  | { from: 'query'; id: string; startedAt: number; outcome: QueryOutcome<ChargeReport | PayoutReport> }
  /** An authenticated delivery, stored under `id`. */
  | { from: 'webhook'; id: string; received: ReceivedPix[]; payouts: PayoutReport[] };

/** @returns the payment as it is after the outcome */
export async function applyOutcome(house: House, observed: Observed, deadlineMs: number): Promise<Payment> {
  const scope: Scope = { operationDeleted: false, incidents: null };
  for (;;) {
    const answer = await submit(house, observed, scope, deadlineMs);
    if ('payment' in answer) return answer.payment;
    Object.assign(scope, answer.widen);
  }
}

/** What a command locks and reads beyond the usual. Known only once the rows were seen, and rare: then it runs once more. */
interface Scope {
  /** The operation was deleted: the account's own chain is locked besides. */
  operationDeleted: boolean;
  /** References of the incidents that might be opened; null: none is expected. */
  incidents: string[] | null;
}

type Answer = { payment: Payment } | { widen: Partial<Scope> };

function submit(house: House, observed: Observed, scope: Scope, deadlineMs: number): Promise<Answer> {
  const { accountId, paymentId } = observed;
  const key = paymentKey(accountId, paymentId);
  const operation: ChainKey = { accountId, chainId: observed.operationId };
  const account: ChainKey = { accountId, chainId: accountId };
  const token = house.ids.uuid();
  const jitter = house.ids.bytes(1).readUInt8() / 255;
  const capabilities = capabilitiesOf(house, observed.connection);
  return house.till.submit<Answer>({
    token,
    deadlineMs,
    chains: scope.operationDeleted ? [operation, account] : [operation],
    reads: [
      read(payments, key),
      read(intents, key),
      ...(scope.incidents ? [read(openIncidents, key)] : []),
      ...(scope.incidents ?? []).map((reference) => read(incidents, incidentKey(accountId, reference))),
    ],
    eventRefs: eventRefsOf(observed),
    decide: (view) => {
      const payment = view.get(payments, key);
      const balance = view.balance(operation);
      if (!payment || !balance) throw refuse('payment_not_found');
      if (balance.deletedAt !== null && !scope.operationDeleted)
        return { answer: { widen: { operationDeleted: true } } };
      const now = house.clock.now();
      const intent = view.get(intents, key);
      const reading = readObservation(observed.observation, payment, intent, capabilities, now);
      if (reading === null) return { answer: { payment } };

      const facts: Omit<Facts, 'incidentOpen'> = {
        now,
        cause: causeOf(observed.observation),
        operationDeleted: scope.operationDeleted,
        posted: (event, reference) => view.posted({ accountId, subject: paymentId, event, reference }),
        isPixKey: (reported) =>
          payment.pixKey !== null && house.secrets.open(payment.pixKey, paymentId).toString() === reported,
      };
      const incidentOpen = scope.incidents !== null && view.get(openIncidents, key) !== undefined;
      const steps = run(payment, reading.events, { ...facts, incidentOpen });
      const last = steps.at(-1)?.payment ?? payment;
      const opened = steps.flatMap((step) => step.incidents);
      if (reading.undecided) {
        opened.push({
          kind: 'undecided',
          reference: `undecided:${paymentId}`,
          amountCents: payment.amountCents,
          freezes: false,
        });
      }
      const expires = steps.some((step) => step.payment.status === 'expired');
      if (scope.incidents === null && (opened.length > 0 || expires)) {
        return { answer: { widen: { incidents: opened.map((incident) => incident.reference) } } };
      }

      const writes: Write[] = [];
      if (last !== payment) writes.push(put(payments, last));
      writes.push(...eventsOf(house, observed.connection, payment, steps));
      if (intent) {
        if (isTerminal(last.status)) writes.push(remove(intents, key));
        else if (reading.ending) {
          // What was known already is no news: the schedule goes on from the last that was.
          const ending: Ending =
            reading.ending.type === 'news' && last === payment ? { type: 'unchanged' } : reading.ending;
          writes.push(put(intents, afterEnding(intent, ending, last, now, jitter)));
        }
      }
      const freeze: ChainKey[] = [];
      for (const { kind, reference, amountCents, freezes } of opened) {
        if (view.get(incidents, incidentKey(accountId, reference))) continue;
        const { operationId } = payment;
        const detail = { status: payment.status, from: observed.observation.from };
        const id = house.ids.uuid();
        writes.push(
          put(incidents, {
            accountId,
            id,
            kind,
            paymentId,
            operationId,
            amountCents,
            reference,
            freezes,
            detail,
            openedAt: now,
          }),
        );
        house.log.error({ accountId, paymentId, incident: id, kind, amountCents }, 'incident opened');
        if (freezes && balance.deletedAt === null) freeze.push(operation);
      }
      return {
        answer: { payment: last },
        writes,
        freeze,
        postings: postingsOf(steps, paymentId, scope.operationDeleted ? account : operation),
      };
    },
  });
}

/** Every event on the state that the one before it left. */
function run(payment: Payment, observed: readonly PaymentEvent[], facts: Facts): Step[] {
  const steps: Step[] = [];
  for (const event of observed) {
    const step = next(steps.at(-1)?.payment ?? payment, event, facts);
    if (step) steps.push(step);
  }
  return steps;
}

interface Reading {
  events: PaymentEvent[];
  /** What it means for the intent; null when the intent stays as it is. */
  ending: Ending | null;
  /** A day of only refused repeats and absences. */
  undecided: boolean;
}

/** What an observation says; null when it may say nothing: an owner that was overtaken writes nothing. */
function readObservation(
  observation: Observation,
  payment: Payment,
  intent: Intent | undefined,
  capabilities: Capabilities,
  now: number,
): Reading | null {
  switch (observation.from) {
    case 'webhook':
      return reported(
        [...observation.received.flatMap(eventsOfReceived), ...observation.payouts.flatMap(eventsOfPayout)],
        payment,
        intent,
        capabilities,
      );
    case 'query': {
      const { outcome, startedAt } = observation;
      if (outcome.outcome === 'found') {
        return reported(eventsOfReport(outcome.report, startedAt), payment, intent, capabilities);
      }
      if (outcome.outcome === 'unclear') {
        return {
          events: [],
          ending: { type: 'queryFailed', retryAfterMs: outcome.retryAfterMs },
          undecided: false,
        };
      }
      // A charge whose repeat was refused and that is then not found holds no money, and nobody has its code.
      const refusedForGood = payment.kind === 'deposit' && intent?.refused === true;
      return {
        events: refusedForGood ? [{ type: 'refused', reason: 'provider_refused' }] : [],
        ending: { type: 'notFound', startedAt, repeatIsSafe: capabilities.repeatIsSafe },
        undecided:
          payment.kind === 'transfer' &&
          intent?.refused === true &&
          intent.absentSince !== null &&
          now - intent.absentSince > undecidedAfterMs,
      };
    }
    case 'send': {
      if (intent?.state !== 'sending' || intent.fence !== observation.fence) return null;
      const { outcome } = observation;
      switch (outcome.outcome) {
        case 'accepted':
          return {
            events: eventsOfReport(outcome.report, null),
            ending: { type: 'answered' },
            undecided: false,
          };
        case 'refused':
          return intent.attempt === 1
            ? { events: [{ type: 'refused', reason: outcome.reason }], ending: null, undecided: false }
            : { events: [], ending: { type: 'refused' }, undecided: false };
        case 'duplicate':
          return { events: [], ending: { type: 'duplicate' }, undecided: false };
        case 'unclear':
          return {
            events: [],
            ending: { type: 'unclear', cause: outcome.cause, retryAfterMs: outcome.retryAfterMs },
            undecided: false,
          };
        case 'notSent':
          return { events: [], ending: { type: 'notSent' }, undecided: false };
      }
    }
  }
}

/**
 * What the provider reports for the id. Where the adapter cannot say that a refusal is final for an id, one after an unclear or
 * repeated attempt releases nothing: a person decides.
 */
function reported(
  observed: PaymentEvent[],
  payment: Payment,
  intent: Intent | undefined,
  capabilities: Capabilities,
): Reading {
  const refusalCounts =
    capabilities.refusalIsFinal || (intent?.attempt === 1 && payment.status === 'pending');
  const believed = refusalCounts ? observed : observed.filter((event) => event.type !== 'refused');
  return {
    events: believed,
    ending: { type: 'news' },
    undecided: believed.length < observed.length && !isTerminal(payment.status),
  };
}

function eventsOfReport(report: ChargeReport | PayoutReport, observedAt: number | null): PaymentEvent[] {
  if ('providerId' in report) return eventsOfPayout(report);
  const paid = report.received.flatMap(eventsOfReceived);
  const { amountCents, expiresAt, copyPaste } = report;
  if (report.status === 'open')
    return [...paid, { type: 'chargeOpen', amountCents, expiresAt, copyPaste, observedAt }];
  return report.status === 'removed' ? [...paid, { type: 'chargeRemoved' }] : paid;
}

function eventsOfReceived(received: ReceivedPix): PaymentEvent[] {
  const { endToEnd, amountCents, paidAt } = received;
  return [
    { type: 'chargePaid', endToEnd, amountCents, paidAt },
    ...received.returns
      .filter((one) => one.status === 'settled')
      .map(
        (one): PaymentEvent => ({
          type: 'debited',
          returnId: one.id,
          amountCents: one.amountCents,
          at: one.at,
        }),
      ),
  ];
}

function eventsOfPayout(report: PayoutReport): PaymentEvent[] {
  const { amountCents, pixKey, endToEnd, settledAt } = report;
  switch (report.status) {
    case 'pending':
      return [{ type: 'payoutPending', amountCents, pixKey, endToEnd }];
    case 'refused':
      return [{ type: 'refused', reason: report.reason ?? 'provider_refused' }];
    case 'completed':
      return [
        { type: 'payoutCompleted', amountCents, pixKey, endToEnd, settledAt },
        ...report.returns
          .filter((one) => one.status === 'settled')
          .map((one): PaymentEvent => {
            return { type: 'payoutReturned', returnId: one.id, amountCents: one.amountCents, at: one.at };
          }),
      ];
  }
}

/** The provider ids of money that may come several times: whether they are in the journal is read under the lock. */
function eventRefsOf({ accountId, paymentId: subject, observation }: Observed): EventRef[] {
  const received: ReceivedPix[] = [];
  const payouts: PayoutReport[] = [];
  if (observation.from === 'webhook') {
    received.push(...observation.received);
    payouts.push(...observation.payouts);
  } else if ('report' in observation.outcome) {
    const { report } = observation.outcome;
    if ('providerId' in report) payouts.push(report);
    else received.push(...report.received);
  }
  const refs: EventRef[] = [];
  for (const pix of received) {
    refs.push({ accountId, subject, event: eventKinds.suspense, reference: pix.endToEnd });
    for (const { id: reference } of pix.returns) {
      refs.push({ accountId, subject, event: eventKinds.debit, reference });
      refs.push({ accountId, subject, event: eventKinds.suspense, reference });
    }
  }
  for (const payout of payouts) {
    for (const { id: reference } of payout.returns) {
      refs.push({ accountId, subject, event: eventKinds.return, reference });
      refs.push({ accountId, subject, event: eventKinds.suspense, reference });
    }
  }
  return refs;
}

function postingsOf(steps: readonly Step[], subject: string, chain: ChainKey): Posting[] {
  return steps.flatMap((step) => step.postings.map((posting) => ({ ...posting, chain, subject })));
}

/** One event per state entered, told with the state that it left. */
function eventsOf(house: House, connection: string, before: Payment, steps: readonly Step[]): Write[] {
  let from = before.status;
  return steps.flatMap(({ payment, events }) => {
    const told = announce(house, connection, payment, from, events);
    from = payment.status;
    return told;
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

function capabilitiesOf(house: House, connection: string): Capabilities {
  const provider = house.providers.get(connection);
  if (!provider) throw refuse('provider_not_configured');
  return provider.capabilities;
}
