import {
  type CardApproval,
  type CardAttempt,
  type CardBrand,
  type CardChargeback,
  type CardPayout,
  type CardRefund,
  type CardRefusal,
  type CheckoutReport,
  cardBrands,
} from '../cards.ts';
import type { DisputeStatus } from '../dispute-report.ts';
import type { Reply } from '../exchange.ts';
import type { MovedPage, PaidPage, ProviderCost, UnreadItem } from '../provider.ts';

/** Stripe's bodies, in the version that every call asks for (https://docs.stripe.com/api/checkout/sessions). */
export const apiVersion = '2026-07-29.dahlia';

type Body = Readonly<Record<string, unknown>>;

export const recordOf = (value: unknown): Body | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Body) : null;

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

const integerOf = (value: unknown): number | null => (Number.isSafeInteger(value) ? (value as number) : null);

const msOf = (value: unknown): number | null => {
  const seconds = integerOf(value);
  return seconds === null ? null : seconds * 1000;
};

/** The name of an error: its code, else its type (https://docs.stripe.com/api/errors). */
export function errorOf(reply: Reply): { status: number; type: string; name: string } | null {
  if (reply.kind !== 'answer') return null;
  const error = recordOf(recordOf(reply.body)?.error);
  const type = textOf(error?.type) ?? 'unknown';
  const code = textOf(error?.code);
  return { status: reply.status, type, name: code !== null && /^[\w.-]{1,80}$/.test(code) ? code : type };
}

/** An id of ours within an object of a delivery: a page names it itself, everything that comes of it in its metadata. */
export function nameIn(object: unknown): string | null {
  const body = recordOf(object);
  return textOf(body?.client_reference_id) ?? textOf(recordOf(body?.metadata)?.[metadataName]);
}

/** An approval of a page of ours; 'foreign': it is of no page of ours, or no money came. Null: it cannot be read. */
export function readMovedCharge(value: unknown): MovedPage | 'foreign' | null {
  const charge = recordOf(value);
  const providerId = nameIn(charge);
  if (providerId === null || charge?.status !== 'succeeded') return 'foreign';
  const approval = intentNameIn(charge);
  if (approval === null) return null;
  return { page: null, providerId, approval, refund: null, item: movedItem('charge', charge, providerId) };
}

/** A page of ours as a delivery says it, once it is paid: the books may have lost it. */
export function paidPagesIn(object: unknown): PaidPage[] {
  const session = recordOf(object);
  const page = textOf(session?.id);
  const providerId = textOf(recordOf(session?.metadata)?.[metadataName]);
  if (session?.object !== 'checkout.session' || session.payment_status !== 'paid') return [];
  return page === null || providerId === null
    ? []
    : [{ page, providerId, item: movedItem('charge', session, providerId) }];
}

/** The same of a refund: one that is not carried out has moved nothing. */
export function readMovedRefund(value: unknown): MovedPage | 'foreign' | null {
  const body = recordOf(value);
  const providerId = nameIn(body?.payment_intent) ?? nameIn(body);
  if (providerId === null || body?.status !== 'succeeded') return 'foreign';
  const approval = intentNameIn(body);
  const refund = readRefund(body);
  if (approval === null || refund === null) return null;
  const names = [refund.reference, ...(refund.providerId === null ? [] : [refund.providerId])];
  return { page: null, providerId, approval, refund: names, item: movedItem('refund', body, providerId) };
}

/** Without what it says of the card. */
export function movedItem(
  kind: 'charge' | 'refund',
  { id, object, amount = null, amount_total = amount, currency, created, payment_intent }: Body,
  providerId: string | null,
): UnreadItem {
  const intent = textOf(recordOf(payment_intent)?.id ?? payment_intent);
  const body = { id, object, amount: amount_total, currency, created, payment_intent: intent };
  // A page and its charge are one item.
  const name = kind === 'charge' ? (intent ?? textOf(id)) : textOf(id);
  return { kind, name, providerId, endToEnd: intent, body };
}

/** Stripe's own name of the payment that an object of a delivery belongs to; null: it names none. */
export function intentNameIn(object: unknown): string | null {
  const intent = recordOf(object)?.payment_intent;
  return textOf(recordOf(intent)?.id ?? intent);
}

export const metadataName = 'vintem_payment';

/** @returns null: it is no page, or not that of this id */
export function readSession(body: unknown, providerId: string): CheckoutReport | null {
  const session = recordOf(body);
  const amountCents = integerOf(session?.amount_total);
  const currency = textOf(session?.currency);
  const providerRef = textOf(session?.id);
  const status = session?.status;
  if (session?.object !== 'checkout.session' || session.client_reference_id !== providerId) return null;
  if (amountCents === null || currency === null || providerRef === null) return null;
  if (status !== 'open' && status !== 'complete' && status !== 'expired') return null;
  const intent = recordOf(session.payment_intent);
  const approval = intent === null ? null : readApproval(intent);
  if (approval === undefined) return null;
  return {
    providerId,
    providerRef,
    amountCents,
    currency: currency.toUpperCase(),
    page: status === 'open' ? 'open' : 'closed',
    url: status === 'open' ? addressOf(session.url) : null,
    expiresAt: msOf(session.expires_at),
    attempt: approval === null && intent !== null ? readAttempt(intent) : null,
    approval,
  };
}

/** A browser is sent there. */
function addressOf(value: unknown): string | null {
  const text = textOf(value);
  return text !== null && (text.startsWith('https://') || text.startsWith('http://127.0.0.1:')) ? text : null;
}

/** Null: nothing was approved. Undefined: it cannot be read. */
function readApproval(intent: Body): CardApproval | null | undefined {
  if (intent.status !== 'succeeded') return null;
  const charge = recordOf(intent.latest_charge);
  const reference = textOf(intent.id);
  const amountCents = integerOf(charge?.amount);
  const currency = textOf(charge?.currency);
  const at = msOf(charge?.created);
  if (charge?.paid !== true || charge.status !== 'succeeded') return undefined;
  if (reference === null || amountCents === null || currency === null || at === null) return undefined;
  const details = recordOf(recordOf(charge.payment_method_details)?.card);
  const plan = recordOf(recordOf(details?.installments)?.plan);
  const settled = recordOf(charge.balance_transaction);
  // The cost and its currency are booked with the approval: one that does not say them yet is asked for again.
  const costCents = integerOf(settled?.fee);
  const refunds = readRefunds(charge.refunds);
  if (settled === null || costCents === null || refunds === null) return undefined;
  return {
    reference,
    amountCents,
    // The account counts in a currency of its own: another one than the payment's is not what was asked.
    currency: (textOf(settled.currency) ?? currency).toUpperCase(),
    installments: plan === null ? 1 : (integerOf(plan.count) ?? 0),
    at,
    brand: brandOf(details?.brand),
    last4: last4Of(details?.last4),
    costCents,
    releaseAt: msOf(settled.available_on),
    released: settled.status === 'available',
    refunds,
    // They are not part of a charge: a query of their own reads them.
    chargebacks: [],
  };
}

/** Whether a charge of the page was ever disputed: Stripe does not take that back. */
export const isDisputed = (session: unknown): boolean =>
  recordOf(recordOf(recordOf(session)?.payment_intent)?.latest_charge)?.disputed === true;

/** Whether a charge of the page has more refunds than stand with it. */
export const hasMoreRefunds = (session: unknown): boolean => {
  const charge = recordOf(recordOf(recordOf(session)?.payment_intent)?.latest_charge);
  return recordOf(charge?.refunds)?.has_more === true;
};

/** https://docs.stripe.com/api/refunds/object; null: it cannot be read. */
export function readRefunds(list: unknown): CardRefund[] | null {
  if (list === null || list === undefined) return [];
  const items = recordOf(list)?.data;
  if (!Array.isArray(items)) return null;
  const read = items.map(readRefund);
  return read.every((one) => one !== null) ? read : null;
}

const refundStates: Readonly<Record<string, CardRefund['status']>> = {
  pending: 'pending',
  requires_action: 'pending',
  succeeded: 'settled',
  failed: 'failed',
  canceled: 'failed',
};

export function readRefund(body: unknown): CardRefund | null {
  const refund = recordOf(body);
  const reference = textOf(refund?.id);
  const amountCents = integerOf(refund?.amount);
  const at = msOf(refund?.created);
  const status = textOf(refund?.status);
  if (refund?.object !== 'refund' || refund.currency !== 'brl' || reference === null || amountCents === null)
    return null;
  if (at === null || amountCents <= 0 || status === null || !Object.hasOwn(refundStates, status)) return null;
  const providerId = textOf(recordOf(refund.metadata)?.[refundMetadataName]);
  return { reference, providerId, amountCents, status: refundStates[status] as CardRefund['status'], at };
}

export const refundMetadataName = 'vintem_refund';

/** `prevented`: it was settled before it became one. An inquiry (`warning_…`) takes nothing, and one that is closed came to nothing. */
const disputeStates: Readonly<Record<string, DisputeStatus>> = {
  needs_response: 'open',
  warning_needs_response: 'open',
  under_review: 'defending',
  warning_under_review: 'defending',
  won: 'rejected',
  warning_closed: 'rejected',
  lost: 'accepted',
  prevented: 'cancelled',
};

/** https://docs.stripe.com/api/disputes/object; null: it cannot be read. */
export function readDispute(body: unknown): CardChargeback | null {
  const dispute = recordOf(body);
  const providerId = textOf(dispute?.id);
  const endToEnd = textOf(recordOf(dispute?.payment_intent)?.id ?? dispute?.payment_intent);
  const amountCents = integerOf(dispute?.amount);
  const openedAt = msOf(dispute?.created);
  const status = textOf(dispute?.status);
  const moved = dispute?.balance_transactions;
  if (dispute?.object !== 'dispute' || dispute.currency !== 'brl' || !Array.isArray(moved)) return null;
  if (providerId === null || endToEnd === null || amountCents === null || openedAt === null) return null;
  if (amountCents <= 0 || status === null || !Object.hasOwn(disputeStates, status)) return null;
  const money = { outCents: 0, backCents: 0, costCents: 0, costBackCents: 0 };
  for (const one of moved) {
    const amount = integerOf(recordOf(one)?.amount);
    const fee = integerOf(recordOf(one)?.fee);
    if (amount === null || fee === null || recordOf(one)?.currency !== 'brl') return null;
    money[amount < 0 ? 'outCents' : 'backCents'] += Math.abs(amount);
    money[fee > 0 ? 'costCents' : 'costBackCents'] += Math.abs(fee);
  }
  return {
    report: {
      ...{ providerId, endToEnd, amountCents, openedAt, reason: textOf(dispute.reason) },
      status: disputeStates[status] as DisputeStatus,
      deadlineAt: msOf(recordOf(dispute.evidence_details)?.due_by),
    },
    ...money,
  };
}

/** The lines of the balance about payouts: one that left, and the two ways in which one comes back. */
export const payoutTypes = ['payout', 'payout_failure', 'payout_cancel'] as const;

/** The payout that a line of the balance is about; null: it names none. */
export const payoutIn = (line: unknown): string | null => textOf(recordOf(recordOf(line)?.source)?.id);

/** A line of the balance about a payout, with the payout itself as its source. */
export function readPayout(item: unknown): CardPayout | null {
  const line = recordOf(item);
  const payout = recordOf(line?.source);
  const reference = payoutIn(line);
  const net = integerOf(line?.net);
  const at = msOf(line?.created);
  const isReturn = line?.type !== 'payout';
  if (line === null || reference === null || net === null || at === null) return null;
  if (line.currency !== 'brl' || net === 0 || net > 0 !== isReturn) return null;
  const dueAt = isReturn ? at : (msOf(payout?.arrival_date) ?? at);
  return { reference, isReturn, amountCents: Math.abs(net), at, dueAt };
}

/** A line of the balance about a fee of Stripe that is of no payment. */
export function readFee(item: unknown): ProviderCost | null {
  const line = recordOf(item);
  const reference = textOf(line?.id);
  const net = integerOf(line?.net);
  const at = msOf(line?.created);
  if (line === null || reference === null || net === null || at === null || line.currency !== 'brl')
    return null;
  return { reference, amountCents: 0 - net, at };
}

/** The items of a list, each by its reader; null: it is no list, or one cannot be read. */
export function listIn<One>(
  body: unknown,
  read: (item: unknown) => One | null,
): { items: One[]; more: string | null } | null {
  const list = recordOf(body);
  if (!Array.isArray(list?.data)) return null;
  const items = list.data.map(read);
  if (items.some((one) => one === null)) return null;
  const last = textOf(recordOf(list.data.at(-1))?.id);
  return { items: items as One[], more: list.has_more === true ? last : null };
}

function readAttempt(intent: Body): CardAttempt | null {
  const { status } = intent;
  const error = recordOf(intent.last_payment_error);
  if (status === 'processing' || status === 'requires_action' || status === 'requires_capture')
    return { status: 'processing', refusal: null, brand: null, last4: null, refusals: 0 };
  if (status !== 'requires_payment_method' || error === null) return null;
  const card = recordOf(recordOf(error.payment_method)?.card);
  return {
    status: 'refused',
    refusal: refusalOf(textOf(error.decline_code) ?? textOf(error.code)),
    brand: card === null ? null : brandOf(card.brand),
    last4: last4Of(card?.last4),
    refusals: 1,
  };
}

/** Elo and Hipercard are not in Stripe's published list of brands; one that it names all the same is shown. */
const brandOf = (value: unknown): CardBrand => cardBrands.find((brand) => brand === value) ?? 'other';

const last4Of = (value: unknown): string | null =>
  typeof value === 'string' && /^[0-9]{4}$/.test(value) ? value : null;

/** https://docs.stripe.com/declines/codes */
const refusals: Readonly<Record<string, CardRefusal>> = {
  insufficient_funds: 'insufficient_funds',
  withdrawal_count_limit_exceeded: 'insufficient_funds',
  expired_card: 'expired_card',
  incorrect_number: 'incorrect_data',
  incorrect_cvc: 'incorrect_data',
  incorrect_zip: 'incorrect_data',
  invalid_account: 'incorrect_data',
  invalid_cvc: 'incorrect_data',
  invalid_expiry_month: 'incorrect_data',
  invalid_expiry_year: 'incorrect_data',
  invalid_number: 'incorrect_data',
  authentication_required: 'not_authenticated',
  authentication_not_handled: 'not_authenticated',
  payment_intent_authentication_failure: 'not_authenticated',
  lost_card: 'lost_or_stolen',
  stolen_card: 'lost_or_stolen',
  pickup_card: 'lost_or_stolen',
  fraudulent: 'refused_as_risk',
  merchant_blacklist: 'refused_as_risk',
};

const refusalOf = (code: string | null): CardRefusal =>
  code !== null && Object.hasOwn(refusals, code) ? (refusals[code] as CardRefusal) : 'refused_by_issuer';

/** How many charges of a list failed: each attempt is a charge. Null: it is no list. */
export function failedIn(body: unknown): number | null {
  const items = recordOf(body)?.data;
  return Array.isArray(items) ? items.filter((one) => recordOf(one)?.status === 'failed').length : null;
}

export const intentOf = (body: unknown): string | null =>
  textOf(recordOf(recordOf(body)?.payment_intent)?.id);

/** Reais alone: what stands in other currencies is not of these books. */
export function balanceIn(body: unknown): { availableCents: number; totalCents: number } | null {
  const sum = (list: unknown): number | null => {
    if (!Array.isArray(list)) return null;
    let cents = 0;
    for (const one of list) {
      const part = recordOf(one);
      if (part?.currency !== 'brl') continue;
      const amount = integerOf(part.amount);
      if (amount === null) return null;
      cents += amount;
    }
    return cents;
  };
  const available = sum(recordOf(body)?.available);
  const pending = sum(recordOf(body)?.pending);
  return available === null || pending === null
    ? null
    : { availableCents: available, totalCents: available + pending };
}
