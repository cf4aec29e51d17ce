import { refuse, refuseFields } from '../../ground/errors.ts';
import type { DueCharge } from '../../money/due.ts';
import { type Payment, providerIdOf } from '../../money/payment.ts';
import { withoutDueCharges } from '../../provider/due-charges.ts';
import type { DuePayer, DueTerms } from '../../provider/due-terms.ts';
import type { ChargeReport, PayoutReport } from '../../provider/provider.ts';
import { chargeReminders } from '../../store/rows/charge-reminders.sql.ts';
import { openOrReport, unreadableKeyOf } from '../../store/rows/unreadable.ts';
import { put, type View } from '../../store/till.ts';
import { type ChargeOrder, charge } from '../charge/charge.ts';
import { nextReminder } from '../due/reminder-times.ts';
import { maskedDocument, requireTerms } from '../due/terms.ts';
import type { Admission, Admitted, Kind, PrepareDeps, Prepared, Sending } from '../kind.ts';
import type { PaymentNews } from '../payment/interpret-report.ts';
import { locatedPayment, sentPayment } from '../payment/sent-payment.ts';

declare module '../../money/sent-kinds.ts' {
  interface SentKinds {
    due_charge: true;
  }
}

export interface DueChargeOrder extends ChargeOrder {
  /** `payerName` is its name. */
  payer: DuePayer;
  terms: DueTerms;
  /** The payer, whose mail is known, is reminded. */
  reminders?: true;
}

/**
 * A charge with a due date: a charge in everything but its terms, its payer, who has a document, and the amount that pays it (`money/due.ts`). It stays on
 * its account's connection, since not every other one has such charges.
 */
export const dueCharge: Kind<Payment, DueChargeOrder, ChargeReport | PayoutReport, PaymentNews> = {
  ...charge,
  name: 'due_charge',
  mayMove: false,
  offers: (can) => can.dueCharges,
  asked: (order) => ({
    ...charge.asked(order),
    payer: JSON.stringify(order.payer),
    terms: JSON.stringify(order.terms),
    ...(order.reminders && { reminders: true }),
  }),
  secretOf: ({ payer }) => JSON.stringify(payer),
  admit: admitDueCharge,
  prepare: prepareDueCharge,
  locate: locatedPayment(
    async (provider, txid, { createdAt }) => provider.dueCharges?.query(txid, createdAt) ?? withoutDueCharges,
  ),
  observed: (row, connection, observation) => ({
    ...sentPayment.observed(row, connection, observation),
    kind: 'due_charge',
  }),
};

/** @throws ApiError `due_date_out_of_range`, `due_terms_invalid`, `not_offered_by_provider`, `validation_failed` without an address that the provider needs, and those of a charge */
function admitDueCharge(view: View, admission: Admission<DueChargeOrder>, now: number): Admitted<Payment> {
  const { order, account, can, sealed } = admission;
  requireTerms(order, now);
  const refusal = can?.dueTerms?.refusal(order, now) ?? null;
  if (refusal === 'terms') throw refuse('not_offered_by_provider');
  if (refusal === 'address') throw refuseFields([{ field: 'payer.address', code: 'required' }]);
  const admitted = charge.admit(view, admission, now);
  const due: DueCharge = {
    ...order.terms,
    document: maskedDocument(order.payer.document),
    ...(order.reminders && { reminders: true }),
    fee: { fixedCents: account.depositFeeCents, bps: account.depositFeeBps },
    paid: null,
  };
  const { accountId, id: paymentId } = admitted.row;
  const dueAt = order.reminders ? nextReminder(order.terms, now) : null;
  const reminder =
    dueAt === null ? [] : [put(chargeReminders, { accountId, paymentId, dueAt, sentCount: 0 })];
  return {
    ...admitted,
    row: { ...admitted.row, due, payer: sealed },
    writes: [...admitted.writes, ...reminder],
  };
}

async function prepareDueCharge(
  deps: PrepareDeps,
  payment: Payment,
  { traceparent }: Sending,
): Promise<Prepared<ChargeReport>> {
  const { id, amountCents, description, due, payer } = payment;
  if (due === null || payer === null) throw new Error('a due-date charge without its terms');
  const opened = await openOrReport(deps, payer, id, unreadableKeyOf(payment, 'send'));
  // Certainly not sent, and not the provider's fault: it is tried again when the payer can be opened.
  if (opened === null) return { outcome: 'notSent', detail: 'its payer cannot be opened' };
  const { dueDate, validAfterDue, fine, interest, discounts, rebate } = due;
  const instruction = {
    ...{ txid: providerIdOf(id), amountCents, description, traceparent },
    payer: JSON.parse(opened.toString()) as DuePayer,
    terms: { dueDate, validAfterDue, fine, interest, discounts, rebate },
  };
  return async (provider) =>
    provider.dueCharges?.create(instruction) ?? {
      outcome: 'notSent',
      detail: 'the connection has no due-date charges',
    };
}
