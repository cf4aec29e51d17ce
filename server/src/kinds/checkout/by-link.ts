import type { Payment } from '../../money/payment.ts';
import type { CheckoutReport } from '../../provider/cards.ts';
import type { Kind } from '../kind.ts';
import { admittedByLink, askedByLink, type ByLink, linkReads } from '../link/takes-charge.ts';
import { type CheckoutOrder, checkout } from './checkout.ts';
import type { RefusedNews } from './outcome.ts';

/** Without ways back to a shop: the acquirer leads to the payer's page, which has the link's own. */
export type LinkCheckoutOrder = Omit<CheckoutOrder, 'successUrl' | 'cancelUrl' | 'payer'> & ByLink;

/** A payment by card that a payer makes by a link: a checkout like any other from its acceptance on. */
export const linkCheckout: Kind<Payment, LinkCheckoutOrder, CheckoutReport, RefusedNews> = {
  ...checkout,
  asked: (order) => ({ ...checkout.asked(order), ...askedByLink(order) }),
  secretOf: ({ document }) => (document ? JSON.stringify({ document }) : null),
  admissionReads: linkReads,
  admit: (view, admission, now) => admittedByLink(checkout.admit, view, admission, now),
};
