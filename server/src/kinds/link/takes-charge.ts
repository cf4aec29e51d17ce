import { refuse } from '../../ground/errors.ts';
import type { Payment } from '../../money/payment.ts';
import { linkKey, type PaymentLink, paymentLinks } from '../../store/rows/payment-links.sql.ts';
import { put, type Read, read, type View, type Write } from '../../store/till.ts';
import { maskedDocument } from '../due/terms.ts';
import type { Admission, Admitted } from '../kind.ts';
import { leftOf, openChargesMost, statusAt } from './link.ts';

/** Beside the order of its kind, that of a charge by a link. Amount, merchant and texts of a fixed link come from its row. */
export interface ByLink {
  linkId: string;
  /** The payer's CPF or CNPJ, as `documentOf` gives it. */
  document?: string;
}

/** Where the page asks for no name, or the payer gives none: a charge has one. */
export const nameless = 'Pagador';

export const linkReads = (accountId: string, { linkId }: ByLink): Read[] => [
  read(paymentLinks, linkKey(accountId, linkId)),
];

/**
 * The link, read under the lock of its operation, so that its limits hold whatever comes at the same moment; and the write that counts the charge.
 * @throws ApiError `payment_link_not_found`, `payment_link_closed`, `payment_link_busy`, `amount_out_of_limits`
 */
function takenBy(
  view: View,
  { caller, order }: Pick<Admission<ByLink & { amountCents: number }>, 'caller' | 'order'>,
  now: number,
): { link: PaymentLink; counted: Write } {
  const link = view.get(paymentLinks, linkKey(caller.accountId, order.linkId));
  if (!link || link.operationId !== caller.operationId) throw refuse('payment_link_not_found');
  if (statusAt(link, now) !== 'active' || leftOf(link) === 0) throw refuse('payment_link_closed');
  if (link.openCount >= openChargesMost) throw refuse('payment_link_busy', { retryAfterSeconds: 60 });
  if (!isOfLink(link, order.amountCents)) throw refuse('amount_out_of_limits');
  return { link, counted: put(paymentLinks, { ...link, openCount: link.openCount + 1 }) };
}

/** Whether a charge of this amount can be one of the link's. */
export function isOfLink(link: PaymentLink, amountCents: number): boolean {
  if (link.amountCents !== null) return amountCents === link.amountCents;
  const { minimumCents, maximumCents } = link;
  return amountCents >= (minimumCents ?? 0) && amountCents <= (maximumCents ?? Number.POSITIVE_INFINITY);
}

/** Beside what its kind is asked for. */
export const askedByLink = ({ linkId, document }: ByLink) => ({
  paymentLinkId: linkId,
  ...(document && { document }),
});

/**
 * The charge as its kind admits it, as one of its link.
 * @throws ApiError as `takenBy`, and those of the kind
 */
export function admittedByLink<Order extends ByLink & { amountCents: number }>(
  admit: (view: View, admission: Admission<Order>, now: number) => Admitted<Payment>,
  view: View,
  admission: Admission<Order>,
  now: number,
): Admitted<Payment> {
  const { link, counted } = takenBy(view, admission, now);
  const admitted = admit(view, admission, now);
  const { document } = admission.order;
  const payerDocument = document ? maskedDocument(document) : null;
  return {
    ...admitted,
    row: { ...admitted.row, paymentLinkId: link.id, payerDocument },
    writes: [...admitted.writes, counted],
  };
}
