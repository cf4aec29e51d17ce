import { type SubscribedTypes, subscribedBy } from '../../events/subscribed-types.ts';
import { refuse } from '../../ground/errors.ts';
import type { Log } from '../../ground/log.ts';
import type { RefreshingCache } from '../../ground/refreshing-cache.ts';
import type { Secrets } from '../../ground/secrets.ts';
import type { Signal } from '../../ground/signal.ts';
import { eventKinds } from '../../ledger/journal.ts';
import type { Till } from '../../ledger/till.ts';
import { type ChainKey, type Posting, put, read, remove, type View, type Write } from '../../ledger/till.ts';
import { type Cause, isTerminal, type Payment } from '../../payments/payment.ts';
import { paymentKey, payments } from '../../payments/payments.sql.ts';
import { knownReturns, knownReturnsKey } from '../../payments/returns.sql.ts';
import type { KnownReturn } from '../../payments/returns.ts';
import type { Facts, OpenedIncident, Step } from '../../payments/state.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Sql } from '../../ports/sql.ts';
import type { Capabilities, Provider } from '../../provider/provider.ts';
import { afterEnding, type Ending, type Intent, isOverdue } from '../dispatch/intent.ts';
import { intents } from '../dispatch/intents.sql.ts';
import { incidentKey, incidents, openIncidents } from '../incidents/incidents.sql.ts';
import { unreadableReference } from '../incidents/unreadable.ts';
import { announce } from '../payment-events.ts';
import {
  type Observation,
  readObservation,
  receivedIn,
  runEvents,
  tellsOfReturns,
} from './interpret-report.ts';
import type { OutcomeWatch } from './outcome-watch.ts';

/** What applying an observation needs. */
export interface OutcomeDeps {
  sql: Sql;
  till: Till;
  clock: Clock;
  ids: Ids;
  log: Log;
  secrets: Secrets;
  /** By connection. */
  providers: ReadonlyMap<string, Provider>;
  /** Which events are written for an account. */
  subscribed: RefreshingCache<SubscribedTypes>;
  /** Payments whose `pending` is deferred for a moment: a final outcome removes the payment, and `pending` is never written. */
  deferredPending: Set<string>;
  eventsWritten: Signal;
  /** Callers that wait for the outcome of a payment. */
  outcomes: OutcomeWatch;
}

/**
 * The one way on from an answer, a webhook and a query: what the provider said becomes events of the state machine, and the
 * till applies them together with the intent. What the provider's words mean is read in `reading.ts`.
 */
export interface Observed {
  accountId: string;
  paymentId: string;
  operationId: string;
  connection: string;
  observation: Observation;
}

/** @returns the payment as it is after the outcome */
export async function applyOutcome(
  deps: OutcomeDeps,
  observed: Observed,
  deadlineMs: number,
): Promise<Payment> {
  const scope: Scope = { operationDeleted: false, incidents: null };
  const wanted = await subscribedBy(deps, observed.accountId);
  for (;;) {
    const answer = await submit(deps, observed, scope, wanted, deadlineMs);
    if ('payment' in answer) {
      if (isTerminal(answer.payment.status)) deps.deferredPending.delete(observed.paymentId);
      deps.outcomes.committed(answer.payment);
      deps.eventsWritten();
      return answer.payment;
    }
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

function submit(
  deps: OutcomeDeps,
  observed: Observed,
  scope: Scope,
  wanted: SubscribedTypes,
  deadlineMs: number,
): Promise<Answer> {
  const { accountId, paymentId } = observed;
  const key = paymentKey(accountId, paymentId);
  const withReturns = tellsOfReturns(observed.observation);
  const operation: ChainKey = { accountId, chainId: observed.operationId };
  const account: ChainKey = { accountId, chainId: accountId };
  const token = deps.ids.uuid();
  const jitter = deps.ids.bytes(1).readUInt8() / 255;
  const capabilities = capabilitiesOf(deps, observed.connection);
  return deps.till.submit<Answer>({
    token,
    deadlineMs,
    chains: scope.operationDeleted ? [operation, account] : [operation],
    reads: [
      read(payments, key),
      read(intents, key),
      ...(withReturns ? [read(knownReturns, knownReturnsKey(accountId, paymentId))] : []),
      ...(scope.incidents ? [read(openIncidents, key)] : []),
      ...(scope.incidents ?? []).map((reference) => read(incidents, incidentKey(accountId, reference))),
    ],
    eventRefs: receivedIn(observed.observation).map(({ endToEnd: reference }) => ({
      accountId,
      subject: paymentId,
      event: eventKinds.suspense,
      reference,
    })),
    decide: (view) => {
      const payment = view.get(payments, key);
      const balance = view.balance(operation);
      if (!payment || !balance) throw refuse('payment_not_found');
      if (balance.deletedAt !== null && !scope.operationDeleted)
        return { answer: { widen: { operationDeleted: true } } };
      const now = deps.clock.now();
      const intent = view.get(intents, key);
      const returns = withReturns
        ? (view.get(knownReturns, knownReturnsKey(accountId, paymentId))?.returns ?? [])
        : [];
      const onRecord = { payment, intent, returns };
      const reading = readObservation(observed.observation, onRecord, capabilities);
      if (reading === null) return { answer: { payment } };

      let unreadable = false;
      const facts: Omit<Facts, 'incidentOpen'> = {
        now,
        cause: causeOf(observed.observation),
        operationDeleted: scope.operationDeleted,
        posted: (event, reference) => view.posted({ accountId, subject: paymentId, event, reference }),
        knowsReturn: (reference) => returns.some((one) => one.reference === reference),
        isPixKey: (reported) => {
          if (payment.pixKey === null) return false;
          try {
            return deps.secrets.open(payment.pixKey, paymentId).toString() === reported;
          } catch {
            unreadable = true;
            return null;
          }
        },
      };
      const incidentOpen = scope.incidents !== null && view.get(openIncidents, key) !== undefined;
      const steps = runEvents(payment, reading.events, { ...facts, incidentOpen });
      const last = steps.at(-1)?.payment ?? payment;
      const opened = steps.flatMap((step) => step.incidents);
      const followed = intent && followedOn(intent, reading.ending, payment, last, now, jitter);
      if (followed && (reading.undecided || isOverdue(last, followed)) && !incidentOpen) {
        opened.push({
          kind: 'undecided',
          reference: `undecided:${paymentId}`,
          amountCents: payment.amountCents,
          freezes: false,
        });
      }
      if (unreadable) {
        opened.push({
          kind: 'unreadable',
          reference: unreadableReference(paymentId),
          amountCents: payment.amountCents,
          freezes: false,
        });
      }
      const expires = last.status === 'expired' && last !== payment;
      const asked = new Set(scope.incidents);
      const wantedIncidents = opened.flatMap(referencesOf);
      if (
        wantedIncidents.some((reference) => !asked.has(reference)) ||
        (expires && scope.incidents === null)
      ) {
        return { answer: { widen: { incidents: [...asked, ...wantedIncidents] } } };
      }

      const writes: Write[] = [];
      if (last !== payment) writes.push(put(payments, last));
      const after = returnsAfter(returns, reading.returns, steps);
      if (after !== returns)
        writes.push(put(knownReturns, { accountId, payment: paymentId, returns: after }));
      writes.push(...eventsOf(deps, observed.connection, payment, steps, wanted));
      if (intent && isTerminal(last.status)) writes.push(remove(intents, key));
      else if (followed && followed !== intent) writes.push(put(intents, followed));
      const freeze: ChainKey[] = [];
      for (const incident of opened) {
        if (isOpened(incident, accountId, view)) continue;
        const { kind, reference, amountCents, freezes } = incident;
        const { operationId } = payment;
        const detail = { status: payment.status, from: observed.observation.from };
        const id = deps.ids.uuid();
        writes.push(
          put(openIncidents, { accountId, paymentId }),
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
        deps.log.error({ accountId, paymentId, incident: id, kind, amountCents }, 'incident opened');
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

/** What is left of the intent; null when the payment has ended. */
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
  const told: Ending =
    ending.type === 'news' && after.status === before.status ? { type: 'unchanged' } : ending;
  return afterEnding(intent, told, after, now, jitter);
}

/** Under which references the same event may have opened an incident. */
const referencesOf = ({ reference, formerly = [] }: OpenedIncident): string[] => [reference, ...formerly];

const isOpened = (incident: OpenedIncident, accountId: string, view: View): boolean =>
  referencesOf(incident).some((reference) => {
    const found = view.get(incidents, incidentKey(accountId, reference));
    return found && (reference === incident.reference || found.amountCents === incident.amountCents);
  });

/** The known returns with what this observation adds: new ones, and more names of old ones. `known` itself when nothing is new. */
function returnsAfter(
  known: readonly KnownReturn[],
  told: readonly KnownReturn[],
  steps: readonly Step[],
): readonly KnownReturn[] {
  const added = steps.flatMap((step) => step.returns);
  const named = known.map((one) => {
    const now = told.find(({ reference }) => reference === one.reference);
    return now && (now.id !== one.id || now.rtrId !== one.rtrId) ? now : one;
  });
  const isNew = added.length > 0 || named.some((one, at) => one !== known[at]);
  return isNew ? [...named, ...added] : known;
}

function postingsOf(steps: readonly Step[], subject: string, chain: ChainKey): Posting[] {
  return steps.flatMap((step) => step.postings.map((posting) => ({ ...posting, chain, subject })));
}

/** One event per state entered, told with the state that it left. */
function eventsOf(
  deps: OutcomeDeps,
  connection: string,
  before: Payment,
  steps: readonly Step[],
  wanted: SubscribedTypes,
): Write[] {
  let from = before.status;
  return steps.flatMap(({ payment, events }) => {
    const told = announce(deps, connection, payment, from, events, wanted);
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

function capabilitiesOf(deps: OutcomeDeps, connection: string): Capabilities {
  const provider = deps.providers.get(connection);
  if (!provider) throw refuse('provider_not_configured');
  return provider.capabilities;
}
