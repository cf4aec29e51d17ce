import { type AttemptResult, failedQuery, type Intent, isRefusedUnlooked } from '../money/intent.ts';
import type { PaymentReason } from '../money/payment.ts';
import type { Capabilities, SendOutcome } from '../provider/provider.ts';
import type { Answered } from './kind.ts';

type Queried<Report> = Extract<Answered<Report>, { from: 'query' }>;

/**
 * How an answer to a send or to a query is read, for every kind. Pure: the service, the search of all states and the tests use the same
 * functions.
 *
 * **Which refusal is terminal** is decided here. A refusal in the answer to a send counts only when that send
 * was the only attempt ever started, and the provider has not shown that it has the payment: after an unclear or repeated attempt an earlier request may still be on its way, and only a refusal
 * that the provider reports *for that id* (by query or authenticated webhook) releases, where the adapter declares such a
 * refusal final. "Not found" never does: it only proves the documented refusal of the only attempt, where the provider's refusals count with such a look.
 */
export interface Reading<Event> {
  events: Event[];
  /** The change of the intent; null when the intent stays as it is. */
  ending: AttemptResult | null;
  /** It reports a refusal that does not count: a person has to decide. */
  undecided: boolean;
}

export type Refusal = { type: 'refused'; reason: PaymentReason };

/** The facts that a reading depends on besides the observation. */
export interface Standing {
  intent: Intent | undefined;
  /** It has not ended. */
  isOpen: boolean;
  /** The provider has confirmed it. */
  isPending: boolean;
  capabilities: Pick<Capabilities, 'refusalIsFinal' | 'repeatIsSafe'>;
}

/** The part of an intent that says when it was last sent, and by which owner. */
export type LastSent = Pick<Intent, 'attemptEndedAt' | 'fence'>;

/** The answer to the send, or a query that began after it. A list may lag, whenever it was asked for. */
export function isSinceSent(observation: Answered<unknown>, sent: LastSent | undefined): boolean {
  if (sent === undefined) return false;
  if (observation.from === 'send') return observation.fence === sent.fence;
  const { isList = false, startedAt } = observation;
  return !isList && sent.attemptEndedAt !== null && startedAt >= sent.attemptEndedAt;
}

/** An answer to a send. @param eventsOf what a report says @returns null when it says nothing */
export function readSend<Report, Event extends { type: string }>(
  { fence, outcome }: { fence: string; outcome: SendOutcome<Report> },
  standing: Standing,
  eventsOf: (report: Report) => Event[],
): Reading<Event | Refusal> | null {
  const { intent, capabilities } = standing;
  if (intent?.state !== 'sending' || intent.fence !== fence) {
    // The fence guards the intent, not the provider's report: "completed" after a release must not be lost. An owner whose lease another
    // process took over may not end an attempt or change the intent by its outcome.
    return outcome.outcome === 'accepted' ? reported(eventsOf(outcome.report), standing) : null;
  }
  switch (outcome.outcome) {
    case 'accepted': {
      const counts = capabilities.refusalIsFinal || intent.attempt === 1;
      return { ...believed(eventsOf(outcome.report), standing, counts), ending: { type: 'answered' } };
    }
    case 'refused':
      return intent.attempt === 1 && !intent.known
        ? { events: [{ type: 'refused', reason: outcome.reason }], ending: null, undecided: false }
        : nothingOf({ type: 'refused' });
    case 'duplicate':
      return nothingOf({ type: 'duplicate' });
    case 'unclear':
      if (outcome.refused && intent.attempt === 1 && !intent.known) return nothingOf({ type: 'refused' });
      return nothingOf({ type: 'unclear', cause: outcome.cause, retryAfterMs: outcome.retryAfterMs });
    case 'notSent':
      return nothingOf({
        type: 'notSent',
        ...(outcome.retryAfterMs !== undefined && { retryAfterMs: outcome.retryAfterMs }),
        ...(outcome.waits && { waits: true }),
      });
  }
}

/** An answer to a query. @param eventsOf what a report says */
export function readQuery<Report, Event extends { type: string }>(
  {
    startedAt,
    outcome,
    isList,
    removed,
  }: Pick<Queried<Report>, 'startedAt' | 'outcome' | 'isList' | 'removed'>,
  standing: Standing,
  eventsOf: (report: Report) => Event[],
): Reading<Event | Refusal> {
  const { intent, isOpen } = standing;
  switch (outcome.outcome) {
    case 'found':
      return reported(eventsOf(outcome.report), standing);
    case 'unclear':
      return nothingOf(failedQuery(outcome));
    case 'notFound':
      if (isOpen && intent && isList === undefined && isRefusedUnlooked(intent, startedAt))
        return {
          events: [{ type: 'refused', reason: 'provider_refused' }],
          ending: null,
          undecided: false,
        };
      return {
        ...nothingOf({
          type: 'notFound',
          startedAt,
          repeatIsSafe: standing.capabilities.repeatIsSafe,
          ...(removed && { removed }),
        }),
        undecided: isOpen && removed === true && intent !== undefined && intent.state !== 'ready',
      };
  }
}

/**
 * The provider's report for the id. Where the adapter cannot say that a refusal is final for an id, one after an unclear or
 * repeated attempt releases nothing: a person decides.
 */
export function reported<Event extends { type: string }>(
  observed: Event[],
  standing: Standing,
): Reading<Event> {
  const { intent, isPending, capabilities } = standing;
  const counts = capabilities.refusalIsFinal || (intent?.attempt === 1 && isPending);
  return { ...believed(observed, standing, counts), ending: { type: 'news' } };
}

function believed<Event extends { type: string }>(
  observed: Event[],
  { isOpen }: Standing,
  refusalCounts: boolean,
): Pick<Reading<Event>, 'events' | 'undecided'> {
  const events = refusalCounts ? observed : observed.filter((event) => event.type !== 'refused');
  return { events, undecided: events.length < observed.length && isOpen };
}

const nothingOf = (ending: AttemptResult): Reading<never> => ({ events: [], ending, undecided: false });
