import { centsOf } from '../../ground/money.ts';
import type {
  CardApproval,
  CardAttempt,
  CardBrand,
  CardChargeback,
  CardRefund,
  CheckoutReport,
  RefusedAttempt,
} from '../cards.ts';
import type { DisputeReport, DisputeStatus } from '../dispute-report.ts';
import type { MovedPage, PaidPage, ProviderCost } from '../provider.ts';
import { momentOf, ownName, readCost, recordOf, textOf } from './asaas-bodies.ts';

/**
 * Bodies of Asaas Checkout, as Asaas' own Java client describes them (github.com/asaasdev/asaas-api-sdk-java at 0641522, `documentation/models`) and
 * docs.asaas.com shows them; copies in `contract/provider-bodies/asaas`. A page cannot be read: what is known of it are the payments that name it
 * as their `checkoutSession`. They do not inherit the page's `externalReference` as a rule.
 */

type Body = Readonly<Record<string, unknown>>;

/** A payment by card, as far as one of a page may be. */
export interface CardPaymentItem {
  /** `pay_…`. */
  id: string;
  /** The page; null: it came of none. */
  session: string | null;
  /** Our id, where the payment inherited it. */
  reference: string | null;
  amountCents: number;
  /** The plan of instalments that it is a part of; null: none. */
  installment: string | null;
  state: 'tried' | 'checked' | 'approved';
  /** The whole item. */
  body: Body;
}

/** Money came, and may have gone back since (docs.asaas.com/docs/payment-events). */
const approved: ReadonlySet<unknown> = new Set([
  ...['CONFIRMED', 'RECEIVED', 'REFUNDED', 'REFUND_REQUESTED', 'REFUND_IN_PROGRESS'],
  ...['CHARGEBACK_REQUESTED', 'CHARGEBACK_DISPUTE', 'AWAITING_CHARGEBACK_REVERSAL'],
]);

/** No money came yet. */
const unpaid: ReadonlySet<unknown> = new Set(['PENDING', 'OVERDUE', 'AWAITING_RISK_ANALYSIS']);

/** A payment of a page as a delivery says it; null: it is of no page, or no money came. A status that is new may be that of money. */
export function paidPageIn(value: unknown, providerId: string | null): PaidPage | null {
  const payment = recordOf(value);
  const page = textOf(payment?.checkoutSession);
  if (payment === null || page === null || unpaid.has(payment.status)) return null;
  const item = { kind: 'charge', name: textOf(payment.id) ?? page, providerId, endToEnd: page } as const;
  return { page, providerId, item: { ...item, body: payment } };
}

/** Longer than any that was seen (`evt_`, 32 hexadecimal digits, `&` and a number). */
const eventIdMost = 100;

/**
 * The refused attempt that a delivery reports; null: none, or none that has a name. The event comes of each failed payment by card
 * (docs.asaas.com/changelog, 2023-12-11), and its id is the same in each repeat (docs.asaas.com/docs/sobre-os-webhooks, "Gerencie eventos duplicados"; changelog
 * for 2024-03-25). The payment has no name of the attempt: all attempts of a page may be one payment.
 */
export function refusedAttemptIn(delivery: Body, providerId: string | null): RefusedAttempt | null {
  const page = textOf(recordOf(delivery.payment)?.checkoutSession);
  const attempt = textOf(delivery.id);
  const isRefusal = delivery.event === 'PAYMENT_CREDIT_CARD_CAPTURE_REFUSED';
  if (!isRefusal || page === null || attempt === null || attempt.length > eventIdMost) return null;
  return { page, providerId, attempt };
}

/** The same as a list says it; 'foreign': it is of no page, or no money came. Payments of one plan are one approval. */
export function readMovedPayment(value: unknown): MovedPage | 'foreign' | null {
  const payment = recordOf(value);
  const reference = textOf(payment?.externalReference);
  const paid = paidPageIn(payment, reference !== null && ownId.test(reference) ? reference : null);
  if (paid === null) return payment === null ? null : 'foreign';
  const approval = textOf(payment?.installment) ?? textOf(payment?.id);
  return approval === null ? null : { ...paid, approval, refund: null };
}

/** A payment of ours, as a page names it. */
export const ownId = /^[0-9a-f]{32}$/;

/**
 * 'foreign': it was deleted. Null: it cannot be read, or is nothing that a page for cards makes: paid by another means, or marked as paid in cash, for
 * which no money came.
 */
export function readCardPayment(value: unknown): CardPaymentItem | 'foreign' | null {
  const payment = recordOf(value);
  const id = textOf(payment?.id);
  const amountCents = centsOf(payment?.value);
  if (payment === null || id === null || amountCents === null) return null;
  const { status, billingType, deleted } = payment;
  if (deleted === true) return 'foreign';
  const isApproved = approved.has(status);
  if (isApproved && billingType !== 'CREDIT_CARD') return null;
  if (!isApproved && !unpaid.has(status)) return null;
  return {
    ...{ id, amountCents, session: textOf(payment.checkoutSession) },
    ...{ reference: textOf(payment.externalReference), installment: textOf(payment.installment) },
    state: isApproved ? 'approved' : status === 'AWAITING_RISK_ANALYSIS' ? 'checked' : 'tried',
    body: payment,
  };
}

const brands: Readonly<Record<string, CardBrand>> = {
  VISA: 'visa',
  MASTERCARD: 'mastercard',
  ELO: 'elo',
  AMEX: 'amex',
  HIPERCARD: 'hipercard',
};

function cardOf({ body }: CardPaymentItem): { brand: CardBrand; last4: string | null } | null {
  const card = recordOf(body.creditCard);
  if (card === null) return null;
  const brand = textOf(card.creditCardBrand);
  const digits = textOf(card.creditCardNumber);
  return {
    brand: brand !== null && Object.hasOwn(brands, brand) ? (brands[brand] as CardBrand) : 'other',
    last4: digits !== null && /^\d{4}$/.test(digits) ? digits : null,
  };
}

/** The last attempt that was not approved. A payment that waits without a card was not tried yet; Asaas gives no reason by a query. */
export function attemptIn(items: readonly CardPaymentItem[]): CardAttempt | null {
  const checked = items.find(({ state }) => state === 'checked');
  if (checked)
    return { status: 'processing', refusal: null, brand: null, last4: null, refusals: 0, ...cardOf(checked) };
  const refused = items.filter((one) => one.state === 'tried' && cardOf(one) !== null);
  const [last] = refused;
  if (last === undefined) return null;
  return {
    ...{ status: 'refused', refusal: 'refused_by_issuer', brand: null, last4: null },
    ...cardOf(last),
    refusals: refused.length,
  };
}

/** A page that was asked for, with what is known of it. */
export const reportOf = (
  { providerId, amountCents }: { providerId: string; amountCents: number },
  providerRef: string,
  known: Pick<CheckoutReport, 'page'> & Partial<CheckoutReport>,
): CheckoutReport => ({
  ...{ providerId, providerRef, amountCents, currency: 'BRL' },
  ...{ url: null, expiresAt: null, attempt: null, approval: null, ...known },
});

/**
 * The approval of a page. `released` is said by the status alone; a payment that was anticipated is asked for apart. Null: it cannot be read, or
 * contradicts itself.
 */
export function approvalOf(item: CardPaymentItem, createdAt: number): CardApproval | null {
  const { id, body, amountCents } = item;
  const netCents = centsOf(body.netValue);
  const confirmedAt =
    momentOf(body.confirmedDate) ?? momentOf(body.clientPaymentDate) ?? momentOf(body.dateCreated);
  const refunds = cardRefundsIn(id, body.refunds ?? []);
  const chargebacks = chargebacksIn(item);
  if (netCents === null || confirmedAt === null || refunds === null || chargebacks === null) return null;
  const goneCents =
    refunds.reduce((sum, one) => sum + (one.status === 'settled' ? one.amountCents : 0), 0) +
    chargebacks.reduce((sum, { outCents, backCents }) => sum + outCents - backCents, 0);
  // Whole by its status, and nothing says how it went back.
  if (body.status === 'REFUNDED' && goneCents < amountCents) return null;
  const card = cardOf(item);
  return {
    ...{ reference: id, amountCents, currency: 'BRL', installments: item.installment === null ? 1 : 0 },
    // A day alone: its first moment may be before the page was made.
    at: Math.max(confirmedAt, createdAt),
    ...{ brand: card?.brand ?? 'other', last4: card?.last4 ?? null },
    costCents: amountCents - netCents,
    releaseAt: momentOf(body.estimatedCreditDate) ?? momentOf(body.creditDate),
    // Nothing of what went back whole is released any more: it is over.
    released: body.status === 'RECEIVED' || body.status === 'REFUNDED',
    ...{ refunds, chargebacks },
  };
}

/** It was anticipated, or is being: its own list says which. */
export const isAnticipated = ({ body }: CardPaymentItem): boolean =>
  body.status === 'CONFIRMED' && body.anticipated === true;

/** docs.asaas.com/docs/anticipation-events: the money was credited for these. */
const credited: ReadonlySet<unknown> = new Set(['CREDITED', 'DEBITED', 'OVERDUE']);

/** Of a list of anticipations. 'foreign': it is of another payment. Null: it cannot be read. */
export function readAnticipation(value: unknown): { payment: string; isCredited: boolean } | null {
  const one = recordOf(value);
  const payment = textOf(one?.payment);
  const status = textOf(one?.status);
  return payment === null || status === null ? null : { payment, isCredited: credited.has(status) };
}

/** Several payments of one plan are one approval, of a number of instalments that was not asked for. */
export function planOf(items: readonly CardPaymentItem[], createdAt: number): CardApproval | null {
  const [first] = items;
  const approval = first === undefined ? null : approvalOf(first, createdAt);
  if (first === undefined || approval === null) return null;
  return {
    ...approval,
    reference: first.installment ?? first.id,
    amountCents: items.reduce((sum, one) => sum + one.amountCents, 0),
    ...(items.length > 1 && { installments: items.length }),
  };
}

// --------------------------------------------------------------------------------------------- refunds

/**
 * Refunds of a payment. Asaas gives them no name, so they are named by their moment, amount and the id in their description, and by a number where all
 * of that is the same. Null: one cannot be read.
 */
export function cardRefundsIn(paymentId: string, items: unknown): CardRefund[] | null {
  if (!Array.isArray(items)) return null;
  const seen = new Map<string, number>();
  const refunds: CardRefund[] = [];
  for (const value of items) {
    const refund = recordOf(value);
    const amountCents = centsOf(refund?.value);
    const at = momentOf(refund?.dateCreated);
    const status = textOf(refund?.status);
    if (refund === null || amountCents === null || amountCents === 0 || at === null || status === null)
      return null;
    const { description } = refund;
    const providerId = typeof description === 'string' ? (ownName.exec(description)?.[1] ?? null) : null;
    const name = [paymentId, at, amountCents, ...(providerId === null ? [] : [providerId])].join('/');
    const nth = (seen.get(name) ?? 0) + 1;
    seen.set(name, nth);
    refunds.push({
      ...{ reference: nth === 1 ? name : `${name}/${nth}`, providerId, amountCents, at },
      status: status === 'DONE' ? 'settled' : status === 'CANCELLED' ? 'failed' : 'pending',
    });
  }
  return refunds;
}

// ----------------------------------------------------------------------------------------- chargebacks

const chargebackStates: Readonly<Record<string, DisputeStatus>> = {
  REQUESTED: 'open',
  IN_DISPUTE: 'defending',
  DISPUTE_LOST: 'accepted',
  DONE: 'accepted',
  REVERSED: 'rejected',
};

const dayMs = 24 * 3_600_000;

/** docs.asaas.com/docs/chargeback; null: it cannot be read. */
export function readChargeback(value: unknown): DisputeReport | null {
  const one = recordOf(value);
  const [providerId, endToEnd, status] = [one?.id, one?.payment, one?.status].map(textOf);
  const amountCents = centsOf(one?.value);
  const openedAt = momentOf(one?.disputeStartDate);
  const until = momentOf(one?.deadlineToSendDisputeDocuments);
  if (providerId == null || endToEnd == null || status == null || openedAt === null) return null;
  if (amountCents === null || amountCents === 0 || !Object.hasOwn(chargebackStates, status)) return null;
  return {
    ...{ providerId, endToEnd, amountCents, openedAt, reason: textOf(one?.reason)?.toLowerCase() ?? null },
    status: chargebackStates[status] as DisputeStatus,
    // The whole of that day counts.
    deadlineAt: until === null ? null : until + dayMs - 1000,
    debitedCents: status === 'REVERSED' ? 0 : amountCents,
  };
}

/** Statuses of a payment for whose chargeback the money has not come back. */
const isTaken: ReadonlySet<unknown> = new Set([
  ...['CHARGEBACK_REQUESTED', 'CHARGEBACK_DISPUTE', 'AWAITING_CHARGEBACK_REVERSAL'],
]);

export const lacksChargeback = ({ body }: CardPaymentItem): boolean =>
  isTaken.has(body.status) && recordOf(body.chargeback) === null;

/** The chargeback of a payment. What was taken comes back when the payment has its status from before again, and not with the won dispute alone. */
function chargebacksIn({ id, body }: CardPaymentItem): CardChargeback[] | null {
  if (recordOf(body.chargeback) === null) return isTaken.has(body.status) ? null : [];
  const read = readChargeback({ payment: id, ...recordOf(body.chargeback) });
  if (read === null || read.endToEnd !== id) return null;
  const { debitedCents: _, ...report } = read;
  const isWon = report.status === 'rejected' || body.status === 'AWAITING_CHARGEBACK_REVERSAL';
  const isBack = isWon && !isTaken.has(body.status);
  const outCents = report.amountCents;
  return [
    {
      report: isWon ? { ...report, status: 'rejected' } : report,
      ...{ outCents, backCents: isBack ? outCents : 0, costCents: 0, costBackCents: 0 },
    },
  ];
}

// --------------------------------------------------------------------------------------------- account

/** Fees of the account. The fee of a payment is none of them: it is booked with the approval, by the payment's net value. */
export const readOtherCost = (line: unknown): ProviderCost | 'foreign' | null =>
  recordOf(line)?.type === 'PAYMENT_FEE' && textOf(recordOf(line)?.paymentId) !== null
    ? 'foreign'
    : readCost(line);

/** `GET /v3/finance/payment/statistics`: what of the payments that it counts will be credited. */
export const netValueIn = (body: unknown): number | null => centsOf(recordOf(body)?.netValue);
