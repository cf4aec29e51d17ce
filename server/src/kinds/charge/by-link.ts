import { refuse } from '../../ground/errors.ts';
import type { Payment } from '../../money/payment.ts';
import type { ChargeReport, PayoutReport } from '../../provider/provider.ts';
import { linkKey, type PaymentLink, paymentLinks } from '../../store/rows/payment-links.sql.ts';
import { put, read, type View } from '../../store/till.ts';
import { maskedDocument } from '../due/terms.ts';
import type { Admission, Admitted, Kind } from '../kind.ts';
import { leftOf, openChargesMost, statusAt } from '../link/link.ts';
import type { PaymentNews } from '../payment/interpret-report.ts';
import { type ChargeOrder, charge } from './charge.ts';

/** Amount, merchant and texts of a fixed link come from its row; a payer chooses the amount of an open one alone. */
export interface LinkChargeOrder extends ChargeOrder {
  linkId: string;
  /** The payer's CPF or CNPJ, as `documentOf` gives it. */
  document?: string;
}

/**
 * A charge that a payer makes by a link: a charge like any other from its acceptance on. The link is read and counted under the lock of its operation, so
 * that its limits hold whatever comes at the same moment.
 */
export const linkCharge: Kind<Payment, LinkChargeOrder, ChargeReport | PayoutReport, PaymentNews> = {
  ...charge,
  asked: (order) => ({
    ...charge.asked(order),
    paymentLinkId: order.linkId,
    ...(order.document && { document: order.document }),
  }),
  secretOf: ({ payerName: name, document }) => (document ? JSON.stringify({ name, document }) : null),
  admissionReads: (accountId, { linkId }) => [read(paymentLinks, linkKey(accountId, linkId))],
  admit: admitByLink,
};

/** @throws ApiError `payment_link_not_found`, `payment_link_closed`, `payment_link_busy`, and those of a charge */
function admitByLink(view: View, admission: Admission<LinkChargeOrder>, now: number): Admitted<Payment> {
  const { caller, order } = admission;
  const link = view.get(paymentLinks, linkKey(caller.accountId, order.linkId));
  if (!link || link.operationId !== caller.operationId) throw refuse('payment_link_not_found');
  requireTakesCharge(link, order.amountCents, now);
  const admitted = charge.admit(view, admission, now);
  return {
    ...admitted,
    row: {
      ...admitted.row,
      paymentLinkId: link.id,
      linkPayer: admission.sealed,
      payerDocument: order.document ? maskedDocument(order.document) : null,
    },
    writes: [...admitted.writes, put(paymentLinks, { ...link, openCount: link.openCount + 1 })],
  };
}

function requireTakesCharge(link: PaymentLink, amountCents: number, now: number): void {
  if (statusAt(link, now) !== 'active' || leftOf(link) === 0) throw refuse('payment_link_closed');
  if (link.openCount >= openChargesMost) throw refuse('payment_link_busy', { retryAfterSeconds: 60 });
  if (!isOfLink(link, amountCents)) throw refuse('amount_out_of_limits');
}

/** Whether a charge of this amount can be one of the link's. */
export function isOfLink(link: PaymentLink, amountCents: number): boolean {
  if (link.amountCents !== null) return amountCents === link.amountCents;
  const { minimumCents, maximumCents } = link;
  return amountCents >= (minimumCents ?? 0) && amountCents <= (maximumCents ?? Number.POSITIVE_INFINITY);
}
