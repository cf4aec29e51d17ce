import type { Payment } from '../../money/payment.ts';
import type { ChargeReport, PayoutReport } from '../../provider/provider.ts';
import type { Kind } from '../kind.ts';
import { admittedByLink, askedByLink, type ByLink, linkReads } from '../link/takes-charge.ts';
import type { PaymentNews } from '../payment/interpret-report.ts';
import { type ChargeOrder, charge } from './charge.ts';

export type LinkChargeOrder = ChargeOrder & ByLink;

/** A charge that a payer makes by a link: a charge like any other from its acceptance on. */
export const linkCharge: Kind<Payment, LinkChargeOrder, ChargeReport | PayoutReport, PaymentNews> = {
  ...charge,
  asked: (order) => ({ ...charge.asked(order), ...askedByLink(order) }),
  secretOf: ({ payerName: name, document }) => (document ? JSON.stringify({ name, document }) : null),
  admissionReads: linkReads,
  admit: (view, admission, now) => {
    const admitted = admittedByLink(charge.admit, view, admission, now);
    return { ...admitted, row: { ...admitted.row, linkPayer: admission.sealed } };
  },
};
