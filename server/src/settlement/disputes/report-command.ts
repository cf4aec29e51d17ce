import { eventRow, events } from '../../events/event.ts';
import { type ChainKey, type Command, put, read } from '../../ledger/till.ts';
import { paymentKey, payments } from '../../payments/payments.sql.ts';
import { knownReturns, knownReturnsKey } from '../../payments/returns.sql.ts';
import { idsOf } from '../../ports/ids.ts';
import type { DisputeReport } from '../../provider/provider.ts';
import { type Dispute, type DisputeStep, heldOf, reported, wantedCents } from './dispute.ts';
import { disputesOfPayment } from './disputes.sql.ts';
import { adjusted, broughtBy, disputesIn, holdReads, leftOf } from './hold-of-pix.ts';
import { viewOfDispute } from './view.ts';

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

/** What the provider says of a dispute becomes its state, its hold and its event. Pure. @returns whether it said something new */
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
      const ofPix = [...others.filter(isSame), step.dispute];
      const deleted = balance.deletedAt !== null;
      const returns = view.get(knownReturns, knownReturnsKey(accountId, paymentId))?.returns ?? [];
      const left = deleted ? 0 : leftOf(broughtBy(view, payment, report.endToEnd), report.endToEnd, returns);
      const hold = adjusted(view, { chain, paymentId, ofPix, token }, wantedCents(ofPix, left), now);
      const disputes = [...others, step.dispute]
        .map((one) => (isSame(one) ? { ...one, holdId: hold.holdId } : one))
        .sort((one, other) => (one.id < other.id ? -1 : 1));
      const held = heldOf(ofPix, hold.capturedCents).get(step.dispute.id) ?? 0;
      return {
        answer: true,
        postings: hold.postings,
        writes: [
          ...hold.writes,
          put(disputesOfPayment, { accountId, paymentId, disputes }),
          // A deleted operation is invisible, so its disputes write no events.
          ...(deleted || step.event === null ? [] : [put(events, eventOf(input, ids, step, known, held))]),
        ],
      };
    },
  };
}

function eventOf(
  { accountId, operationId, paymentId, livemode }: ReportInput,
  ids: { uuid(): string },
  { dispute, event }: DisputeStep,
  known: Dispute | undefined,
  heldCents: number,
) {
  return eventRow(ids, {
    accountId,
    operationId,
    paymentId,
    type: event as NonNullable<DisputeStep['event']>,
    livemode,
    change: { from: known?.status ?? null, to: dispute.status },
    data: viewOfDispute(dispute, heldCents),
    at: dispute.updatedAt,
  });
}
