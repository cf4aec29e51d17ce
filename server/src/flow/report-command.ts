import { defenceEndedWith } from '../kinds/defence/end.ts';
import { disputeEvent } from '../kinds/dispute/dispute-event.ts';
import { debitsJudged } from '../kinds/payment/explained-debits.ts';
import { adjusted, broughtBy, disputesIn, holdReads, leftOf } from '../kinds/payment/hold-of-pix.ts';
import { type Dispute, heldOf, reported, wantedCents, withRelease, withTaken } from '../money/dispute.ts';
import { postedReturnsOf } from '../money/returns.ts';
import { idsOf } from '../ports/ids.ts';
import type { DisputeReport } from '../provider/dispute-report.ts';
import { events } from '../store/events/event.ts';
import { disputesOfPayment } from '../store/rows/disputes.sql.ts';
import { paymentKey, payments } from '../store/rows/payments.sql.ts';
import { knownReturns, knownReturnsKey } from '../store/rows/returns.sql.ts';
import { type ChainKey, type Command, put, read } from '../store/till.ts';

export interface ReportInput {
  accountId: string;
  paymentId: string;
  operationId: string;
  connection: string;
  livemode: boolean;
  report: DisputeReport;
  /** Also the id of the hold, where one is placed. */
  token: string;
  deadlineMs: number;
}

/** Turns the provider's report of a dispute into its state, its hold and its event. Pure. @returns whether it was new */
export function buildDisputeReport(input: ReportInput): Command<boolean> {
  const { accountId, paymentId, operationId, connection, report, token, deadlineMs } = input;
  const chain: ChainKey = { accountId, chainId: operationId };
  return {
    token,
    deadlineMs,
    chains: [chain],
    reads: [
      read(payments, paymentKey(accountId, paymentId)),
      read(knownReturns, knownReturnsKey(accountId, paymentId)),
      ...holdReads(accountId, operationId, paymentId),
    ],
    eventRefs: [],
    decide: (view, now) => {
      const payment = view.get(payments, paymentKey(accountId, paymentId));
      const balance = view.balance(chain);
      const earlier = disputesIn(view, accountId, paymentId);
      const known = earlier.find(
        (one) => one.connection === connection && one.providerId === report.providerId,
      );
      const ids = idsOf(token);
      const place = { accountId, id: ids.uuid(), paymentId, operationId, connection };
      const step = reported(known, report, place, now);
      if (!step || !payment || !balance) return { answer: false };
      const others = earlier.filter((one) => one !== known);
      const isSame = ({ endToEnd }: Dispute): boolean => endToEnd === step.dispute.endToEnd;
      const returns = view.get(knownReturns, knownReturnsKey(accountId, paymentId))?.returns ?? [];
      const { endToEnd } = step.dispute;
      const ofPix = withTaken(
        withRelease([...others.filter(isSame), step.dispute]),
        postedReturnsOf(endToEnd, returns),
        now,
      );
      const deleted = balance.deletedAt !== null;
      const left = deleted ? 0 : leftOf(broughtBy(view, payment, endToEnd), endToEnd, returns);
      const hold = adjusted(view, { chain, paymentId, ofPix, token }, wantedCents(ofPix, left), now);
      const after = ofPix.map((one) => ({ ...one, holdId: hold.holdId }));
      const disputes = [...others.filter((one) => !isSame(one)), ...after].sort((one, other) =>
        one.id < other.id ? -1 : 1,
      );
      const dispute = after.find(({ id }) => id === step.dispute.id) ?? step.dispute;
      const knownNow = { accountId, paymentId, connection, disputes, returns };
      const held = heldOf(after, hold.capturedCents).get(dispute.id) ?? 0;
      return {
        answer: true,
        postings: hold.postings,
        writes: [
          ...hold.writes,
          put(disputesOfPayment, { accountId, paymentId, disputes }),
          // The posting of a Pix that is not known yet finds it there.
          ...(payment.disputed ? [] : [put(payments, { ...payment, disputed: true })]),
          // A deleted operation is invisible, so its disputes write no events.
          ...(deleted || step.event === null
            ? []
            : [put(events, disputeEvent(ids, input.livemode, { ...step, dispute }, known, held))]),
          ...(known === undefined || known.status === dispute.status
            ? []
            : defenceEndedWith(view, { dispute, heldCents: held }, { livemode: input.livemode, ids }, now)),
          ...(returns.length === 0 ? [] : debitsJudged(view, knownNow, ids, now)),
        ],
      };
    },
  };
}
