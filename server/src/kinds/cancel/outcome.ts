import type { CheckoutReport } from '../../provider/cards.ts';
import type { ChargeReport, QueryOutcome, SendOutcome } from '../../provider/provider.ts';
import { paymentKey, payments } from '../../store/rows/payments.sql.ts';
import {
  type ChargeRequest,
  hearingOf,
  isRequestOpen,
  type ObservedRequest,
  observedOf,
} from '../charge-request/charge-request.ts';
import type { Answered, Hearing, Observed, OnRecord } from '../kind.ts';
import { type Reading, readQuery, readSend, type Standing } from '../reading.ts';

/** The charge; of a payment by card its page. */
export type CancelReport = ChargeReport | CheckoutReport;

export const observedCancel = observedOf<CancelReport>('cancel');

/**
 * An answer or a query about a cancel. It ends nothing by itself: its report goes to the charge, whose state machine decides, and the cancel
 * ends with the charge (`end.ts`). Pure.
 */
export function hearCancel(observed: ObservedRequest<CancelReport>): Hearing<ChargeRequest> {
  const { accountId, chargeId, observation } = observed;
  return {
    ...hearingOf(observed),
    decide: (view, stored) => {
      const reading = readCancel(observation, stored);
      if (reading === null) return null;
      const connection = view.get(payments, paymentKey(accountId, chargeId))?.connection;
      return {
        row: stored.row,
        ending: reading.ending,
        undecided: false,
        providerRef: null,
        ...(connection && { connection }),
        incidents: [],
        postings: [],
        writes: [],
        others: endsCharge(observation.outcome) ? [aboutCharge(observed)] : [],
        unclear: [],
      };
    },
  };
}

type Outcome = SendOutcome<CancelReport> | QueryOutcome<CancelReport>;

/** The provider shows the charge as ended. */
const endsCharge = (outcome: Outcome): boolean => 'report' in outcome && hasEnded(outcome.report);

/** An approval ends a page as well: the payer was quicker. */
const hasEnded = (report: CancelReport): boolean =>
  'page' in report ? report.page === 'closed' || report.approval !== null : report.status !== 'open';

const aboutCharge = ({ chargeId, ...observed }: ObservedRequest<CancelReport>): Observed => ({
  ...observed,
  paymentId: chargeId,
  kind: isOfPage(observed.observation.outcome) ? 'checkout' : 'deposit',
});

const isOfPage = (outcome: Outcome): boolean => 'report' in outcome && 'page' in outcome.report;

/** By the rules of every kind (`reading.ts`), with the outcome as it speaks of the cancel. @returns null when it says nothing of it */
function readCancel(
  observation: Answered<CancelReport>,
  { row, intent, capabilities }: OnRecord<ChargeRequest>,
): Pick<Reading<unknown>, 'ending'> | null {
  const { refusalIsFinal } = capabilities;
  const standing: Standing = {
    intent,
    isOpen: isRequestOpen(row),
    isPending: false,
    // Whatever may be said of other repeats at this provider: a charge is cancelled once, however often it is asked for.
    capabilities: { refusalIsFinal, repeatIsSafe: true },
  };
  const nothing = (): never[] => [];
  return observation.from === 'send'
    ? readSend({ ...observation, outcome: ofCancelSent(observation.outcome) }, standing, nothing)
    : readQuery({ ...observation, outcome: ofCancelAsked(observation.outcome) }, standing, nothing);
}

/**
 * A refusal, and an acceptance that shows the charge open, say that the cancel is not carried out now. Why is what a query of the charge shows: it may
 * have been paid, and nothing else than its own report ends it.
 */
const ofCancelSent = (outcome: SendOutcome<CancelReport>): SendOutcome<CancelReport> =>
  outcome.outcome === 'refused' || (outcome.outcome === 'accepted' && !endsCharge(outcome))
    ? {
        outcome: 'unclear',
        cause: 'unknownRefusal',
        detail: 'the charge is not cancelled',
        retryAfterMs: null,
      }
    : outcome;

/** A charge that is still open is one whose cancel is not there: after two of these it is sent again. */
const ofCancelAsked = (outcome: QueryOutcome<CancelReport>): QueryOutcome<CancelReport> =>
  outcome.outcome === 'found' && !endsCharge(outcome) ? { outcome: 'notFound' } : outcome;
