import type { Payment } from '../../money/payment.ts';
import type { CheckoutReport } from '../../provider/cards.ts';
import type { View } from '../../store/till.ts';
import { maskedDocument } from '../due/terms.ts';
import type { Admission, Admitted, Kind } from '../kind.ts';
import { type ByLink, linkReads, takenBy } from '../link/takes-charge.ts';
import { type CheckoutOrder, checkout } from './checkout.ts';

/** Without ways back to a shop: the acquirer leads to the payer's page, which has the link's own. */
export type LinkCheckoutOrder = Omit<CheckoutOrder, 'successUrl' | 'cancelUrl' | 'payer'> & ByLink;

/** A payment by card that a payer makes by a link: a checkout like any other from its acceptance on. */
export const linkCheckout: Kind<Payment, LinkCheckoutOrder, CheckoutReport, never> = {
  ...checkout,
  asked: (order) => ({
    ...checkout.asked(order),
    paymentLinkId: order.linkId,
    ...(order.document && { document: order.document }),
  }),
  secretOf: ({ document }) => (document ? JSON.stringify({ document }) : null),
  admissionReads: linkReads,
  admit: admitByLink,
};

/** @throws ApiError as `takenBy`, and those of a checkout */
function admitByLink(view: View, admission: Admission<LinkCheckoutOrder>, now: number): Admitted<Payment> {
  const { link, counted } = takenBy(view, admission, now);
  const admitted = checkout.admit(view, admission, now);
  const { document } = admission.order;
  return {
    ...admitted,
    row: {
      ...admitted.row,
      paymentLinkId: link.id,
      payerDocument: document ? maskedDocument(document) : null,
    },
    writes: [...admitted.writes, counted],
  };
}
