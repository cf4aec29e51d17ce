import type { Payment } from '../../money/payment.ts';
import type { ChargeReport, PayoutReport } from '../../provider/provider.ts';
import type { View } from '../../store/till.ts';
import { maskedDocument } from '../due/terms.ts';
import type { Admission, Admitted, Kind } from '../kind.ts';
import { type ByLink, linkReads, takenBy } from '../link/takes-charge.ts';
import type { PaymentNews } from '../payment/interpret-report.ts';
import { type ChargeOrder, charge } from './charge.ts';

export type LinkChargeOrder = ChargeOrder & ByLink;

/** A charge that a payer makes by a link: a charge like any other from its acceptance on. */
export const linkCharge: Kind<Payment, LinkChargeOrder, ChargeReport | PayoutReport, PaymentNews> = {
  ...charge,
  asked: (order) => ({
    ...charge.asked(order),
    paymentLinkId: order.linkId,
    ...(order.document && { document: order.document }),
  }),
  secretOf: ({ payerName: name, document }) => (document ? JSON.stringify({ name, document }) : null),
  admissionReads: linkReads,
  admit: admitByLink,
};

/** @throws ApiError as `takenBy`, and those of a charge */
function admitByLink(view: View, admission: Admission<LinkChargeOrder>, now: number): Admitted<Payment> {
  const { link, counted } = takenBy(view, admission, now);
  const admitted = charge.admit(view, admission, now);
  const { document } = admission.order;
  return {
    ...admitted,
    row: {
      ...admitted.row,
      paymentLinkId: link.id,
      linkPayer: admission.sealed,
      payerDocument: document ? maskedDocument(document) : null,
    },
    writes: [...admitted.writes, counted],
  };
}
