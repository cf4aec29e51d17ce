import { type Cause, providerIdOf } from '../../money/payment.ts';
import type { Refund } from '../../money/refund.ts';
import { isRefundOpen } from '../../money/refund.ts';
import type { KnownReturn } from '../../money/returns.ts';
import type { PixReturn, ReceivedPix, RefundReport } from '../../provider/provider.ts';
import type { Observed, Observation as Seen } from '../kind.ts';
import type { Observation } from './interpret-report.ts';

/**
 * Returns of a received Pix that are refunds of ours. A report of the charge lists them beside what the provider took back by itself, and
 * they must never be posted as such. Pure.
 *
 * A line is a refund of ours when it has the refund's own id, or the `rtrId` (the return's id in the payment system) that the provider has named
 * for that refund before. A line whose `rtrId` is that of a known return is no refund. A settled line with an `rtrId` alone is the completed refund
 * of its amount that has no `rtrId` yet. While another refund of that amount is unfinished, the line may be either of them: then nothing is
 * decided, and the query of the unfinished refund names its `rtrId`.
 */
export interface RefundLine {
  refund: Refund;
  line: PixReturn;
}

/** A line in a report of its charge. */
export interface RefundNews {
  from: 'charge';
  cause: Cause;
  line: PixReturn;
}

/** The provider's report of a refund. */
export type RefundObservation = Seen<RefundReport, RefundNews>;

/** The charge and the reason never change: the command for a refund names them before it reads the refund. */
export type ObservedRefund = Observed<RefundObservation> & { chargeId: string; reason: Refund['reason'] };

/** An observation of a refund over a connection. */
export const observedRefund = (
  { accountId, id, operationId, paymentId, reason }: RefundPlace,
  connection: string,
  observation: RefundObservation,
): ObservedRefund => ({
  accountId,
  paymentId: id,
  operationId,
  connection,
  kind: 'refund',
  chargeId: paymentId,
  reason,
  observation,
});

type RefundPlace = Pick<Refund, 'accountId' | 'id' | 'operationId' | 'paymentId' | 'reason'>;

/** The news of a refund in a report of its charge. @param id of the report, for the refund's history */
export function observedLine(
  { refund, line }: RefundLine,
  { connection, observation }: Observed<Observation>,
  id: string,
): ObservedRefund {
  const cause = { by: observation.from === 'webhook' ? 'webhook' : 'query', id } as const;
  return observedRefund(refund, connection, { from: 'charge', cause, line });
}

export interface Sorted {
  /** The observation without the lines of refunds. */
  observation: Observation;
  told: RefundLine[];
  /** Refunds that a line may be about. */
  undecided: Refund[];
}

export function sortRefundLines(
  observation: Observation,
  refunds: readonly Refund[],
  known: readonly KnownReturn[],
): Sorted {
  const told: RefundLine[] = [];
  const undecided: Refund[] = [];
  const sorted = (received: readonly ReceivedPix[]): ReceivedPix[] =>
    received.map((pix) => {
      const lines = sortLines(
        pix.returns,
        refunds.filter(({ endToEnd }) => endToEnd === pix.endToEnd),
        known,
      );
      told.push(...lines.told);
      undecided.push(...lines.undecided);
      return { ...pix, returns: lines.others };
    });
  return { observation: withReceived(observation, sorted), told, undecided };
}

function sortLines(returns: readonly PixReturn[], refunds: readonly Refund[], known: readonly KnownReturn[]) {
  const told: RefundLine[] = [];
  const undecided: Refund[] = [];
  const free = new Set(refunds);
  const unnamed: PixReturn[] = [];
  for (const line of returns) {
    const refund = refunds.find((one) => isNamed(one, line));
    if (!refund) unnamed.push(line);
    else {
      told.push({ refund, line });
      free.delete(refund);
    }
  }
  const others = unnamed.filter((line) => {
    // A return that is not settled moved no money, so nothing has to be known of it.
    if (line.id !== null || line.status !== 'settled') return true;
    if (known.some(({ rtrId }) => rtrId === line.rtrId)) return true;
    const same = [...free].filter((one) => one.rtrId === null && one.amountCents === line.amountCents);
    const open = same.filter(isRefundOpen);
    undecided.push(...open);
    if (open.length > 0) return false;
    const done = same.find(({ status }) => status === 'completed');
    if (!done) return true;
    free.delete(done);
    told.push({ refund: done, line });
    return false;
  });
  return { others, told, undecided };
}

const isNamed = (refund: Refund, { id, rtrId }: PixReturn): boolean =>
  id === providerIdOf(refund.id) || (rtrId !== null && rtrId === refund.rtrId);

/** The received Pix of an observation, changed. */
function withReceived(
  observation: Observation,
  change: (received: readonly ReceivedPix[]) => ReceivedPix[],
): Observation {
  if (observation.from === 'webhook') return { ...observation, received: change(observation.received) };
  const { outcome } = observation;
  if (!('report' in outcome) || 'providerId' in outcome.report) return observation;
  const report = { ...outcome.report, received: change(outcome.report.received) };
  return { ...observation, outcome: { ...outcome, report } } as Observation;
}
