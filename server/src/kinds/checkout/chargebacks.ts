import { takenCents } from '../../money/card.ts';
import { isOfPayment } from '../../money/checkout.ts';
import { type Dispute, reported } from '../../money/dispute.ts';
import type { Payment } from '../../money/payment.ts';
import type { Ids } from '../../ports/ids.ts';
import type { CheckoutReport } from '../../provider/cards.ts';
import { events } from '../../store/events/event.ts';
import { disputesKey, disputesOfPayment } from '../../store/rows/disputes.sql.ts';
import { put, type Read, read, type View, type Write } from '../../store/till.ts';
import { disputeEvent } from '../dispute/dispute-event.ts';
import { paymentEvent } from '../payment/payment-events.ts';

interface Place {
  accountId: string;
  paymentId: string;
  operationId: string;
  connection: string;
}

/** The disputes that the acquirer reports with a page. */
export const chargebackReads = (report: CheckoutReport | null, { accountId, paymentId }: Place): Read[] =>
  chargebacksIn(report).length === 0 ? [] : [read(disputesOfPayment, disputesKey(accountId, paymentId))];

const chargebacksIn = (report: CheckoutReport | null) => report?.approval?.chargebacks ?? [];

/**
 * The chargebacks of a card payment, as disputes of the one resource. What the acquirer takes for one is posted by the payment's own machine
 * (`money/checkout.ts`), and stands here as what was debited. Pure.
 * @param after the payment with what was taken of it
 */
export function chargebackWrites(
  view: View,
  place: Place,
  report: CheckoutReport | null,
  after: Payment,
  { ids, livemode, silent, now }: { ids: Pick<Ids, 'uuid'>; livemode: boolean; silent: boolean; now: number },
): Write[] {
  const { accountId, paymentId, connection } = place;
  const chargebacks = chargebacksIn(report);
  if (report === null || chargebacks.length === 0) return [];
  // Of an approval that is not this payment's, a person decides.
  if (!isOfPayment(report, after) || after.card?.approval !== report.approval?.reference) return [];
  const known = view.get(disputesOfPayment, disputesKey(accountId, paymentId))?.disputes ?? [];
  const all = new Map<string, Dispute>(known.map((one) => [one.providerId, one]));
  const news: Write[] = [];
  for (const { report: word } of chargebacks) {
    const before = all.get(word.providerId);
    const step = reported(before, word, { ...place, id: ids.uuid() }, now);
    const dispute = step?.dispute ?? before;
    if (dispute === undefined) continue;
    const taking = after.card?.taken?.[word.providerId];
    const debitedCents = Math.min(
      dispute.amountCents,
      taking ? takenCents({ taken: { [word.providerId]: taking } }) : 0,
    );
    if (step === null && dispute.debitedCents === debitedCents) continue;
    all.set(word.providerId, { ...dispute, debitedCents });
    if (before === undefined && !silent)
      news.push(put(events, paymentEvent(ids, livemode, after, after.status, 'charge.card_chargeback', now)));
    if (step?.event && !silent)
      news.push(
        put(
          events,
          disputeEvent(ids, livemode, { ...step, dispute: { ...dispute, debitedCents } }, before, 0),
        ),
      );
  }
  const disputes = [...all.values()].filter((one) => one.connection === connection);
  const isSame = disputes.every((one) => known.includes(one));
  return isSame && news.length === 0
    ? []
    : [put(disputesOfPayment, { accountId, paymentId, disputes }), ...news];
}
