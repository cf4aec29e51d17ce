import { type DefenceEnd, endedBy, isLate } from '../../money/defence.ts';
import type { Dispute } from '../../money/dispute.ts';
import type { AttemptResult, Intent } from '../../money/intent.ts';
import type { DisputeReport } from '../../provider/dispute-report.ts';
import type { QueryOutcome, SendOutcome } from '../../provider/provider.ts';
import type { Answered, Hearing, Observed, OnRecord } from '../kind.ts';
import { holdReads } from '../payment/hold-of-pix.ts';
import { type Reading, readQuery, readSend, type Standing } from '../reading.ts';
import { isDefenceOpen, type SentDefence } from './defences.sql.ts';
import { disputeOf, ended, eventOfFailed } from './end.ts';

/** The dispute, as the provider shows it. One that it shows `defending` has its defence. */
export type DefenceReport = Pick<DisputeReport, 'status'>;

export type ObservedDefence = Observed<Answered<DefenceReport>> & {
  /** The payment. */
  chargeId: string;
};

export const observedDefence = (
  { accountId, id, operationId, paymentId }: SentDefence,
  connection: string,
  observation: Answered<DefenceReport>,
): ObservedDefence => ({
  ...{ accountId, paymentId: id, operationId, connection, kind: 'defence', observation },
  chargeId: paymentId,
});

/**
 * An answer or a query about a defence, heard beside its dispute. What it does not decide, the provider's word about the dispute or its deadline may. Pure.
 */
export function hearDefence({
  accountId,
  chargeId,
  operationId,
  observation,
}: ObservedDefence): Hearing<SentDefence> {
  return {
    chains: [{ accountId, chainId: operationId }],
    reads: holdReads(accountId, operationId, chargeId),
    eventRefs: [],
    pix: [],
    decide: (view, stored, now) => {
      const { row, intent, capabilities, ids } = stored;
      const held = disputeOf(view, row);
      const reading = held ? readDefence(observation, stored, held.dispute, now) : null;
      if (!held || reading === null) return null;
      const left = leftAfter(intent, reading.ending);
      const end =
        endOf(observation, reading, row) ?? endByDispute(row, intent, reading.ending, held.dispute, now);
      const after = end === null ? row : ended(row, end, left, now);
      return {
        ...{ row: after, ending: reading.ending, undecided: false, providerRef: null },
        ...{ incidents: [], postings: [], others: [], unclear: [] },
        writes:
          after === row ? [] : eventOfFailed(view, after, held, { livemode: capabilities.movesMoney, ids }),
      };
    },
  };
}

/** The attempts that may have left, after the observation. */
const leftAfter = (intent: Intent | undefined, ending: AttemptResult | null): number =>
  (intent?.attempt ?? 0) - (ending?.type === 'notSent' ? 1 : 0);

type DefenceReading = Pick<Reading<unknown>, 'ending'> & { event: 'sent' | 'refused' | null };

/** The end that the observation itself says. What was never known may become known. */
function endOf(
  { outcome }: Answered<DefenceReport>,
  { event }: DefenceReading,
  { status }: SentDefence,
): DefenceEnd | null {
  if (event === 'sent') return status === 'unknown' || status === 'expired' ? { status: 'completed' } : null;
  if (event !== 'refused' || status !== 'unknown') return null;
  const reason = (outcome.outcome === 'refused' && outcome.defence) || 'provider_refused';
  return { status: 'failed', reason };
}

/** While an attempt is under way, its own outcome ends it. */
function endByDispute(
  row: SentDefence,
  intent: Intent | undefined,
  ending: AttemptResult | null,
  dispute: Dispute,
  now: number,
): DefenceEnd | null {
  if (!isDefenceOpen(row) || !intent) return null;
  const isUnderWay = intent.state === 'sending' && (ending === null || ending.type === 'notFound');
  return isUnderWay ? null : endedBy(leftAfter(intent, ending) > 0, dispute, now);
}

/** By the rules of every kind (`reading.ts`), with the outcome as it speaks of the defence. @returns null when it says nothing of it */
function readDefence(
  observation: Answered<DefenceReport>,
  { row, intent, capabilities }: OnRecord<SentDefence>,
  dispute: Dispute,
  now: number,
): DefenceReading | null {
  const standing: Standing = {
    ...{ intent, isOpen: isDefenceOpen(row), isPending: false },
    // The provider takes one for each dispute.
    capabilities: { ...capabilities, repeatIsSafe: true },
  };
  const eventsOf = ({ status }: DefenceReport) => (status === 'defending' ? [{ type: 'sent' } as const] : []);
  const reading =
    observation.from === 'send'
      ? readSend({ ...observation, outcome: ofSent(observation.outcome, intent) }, standing, eventsOf)
      : readQuery(
          { ...observation, outcome: ofAsked(observation.outcome, isLate(dispute, now)) },
          standing,
          eventsOf,
        );
  return reading && { ending: reading.ending, event: reading.events[0]?.type ?? null };
}

/** "There is one already", after an attempt that may have arrived, is ours. */
const ofSent = (
  outcome: SendOutcome<DefenceReport>,
  intent: Intent | undefined,
): SendOutcome<DefenceReport> =>
  outcome.outcome === 'refused' && outcome.defence === 'already_defended' && (intent?.attempt ?? 0) > 1
    ? { outcome: 'accepted', report: { status: 'defending' } }
    : outcome;

/**
 * A dispute that is still open is one whose defence is not there: after two of these it is sent again, and not once the deadline is over. Of one that has
 * ended nothing is sent again either.
 */
const ofAsked = (
  outcome: SendOutcome<DefenceReport> | QueryOutcome<DefenceReport>,
  isLate: boolean,
): QueryOutcome<DefenceReport> => {
  const asked = outcome as QueryOutcome<DefenceReport>;
  if (asked.outcome !== 'found' || asked.report.status !== 'open') return asked;
  return isLate
    ? { outcome: 'unclear', cause: 'unknownRefusal', detail: 'the deadline is over', retryAfterMs: null }
    : { outcome: 'notFound' };
};
