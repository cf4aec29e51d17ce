import type { CardApproval, CardAttempt, CardBrand, CardRefusal, CheckoutReport } from '../cards.ts';
import type { Reply } from '../exchange.ts';

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
  const refunded = integerOf(charge.amount_refunded) ?? 0;
  return {
    reference,
    amountCents,
    // The account counts in a currency of its own: another one than the payment's is not what was asked.
    currency: (textOf(settled?.currency) ?? currency).toUpperCase(),
    installments: plan === null ? 1 : (integerOf(plan.count) ?? 0),
    at,
    brand: brandOf(details?.brand),
    last4: last4Of(details?.last4),
    costCents: integerOf(settled?.fee),
    releaseAt: msOf(settled?.available_on),
    released: settled?.status === 'available',
    takenBackCents: charge.disputed === true ? amountCents : refunded,
  };
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

/** Elo and Hipercard are not in Stripe's list of brands. */
const brands: ReadonlySet<string> = new Set<CardBrand>(['visa', 'mastercard', 'amex']);

const brandOf = (value: unknown): CardBrand =>
  typeof value === 'string' && brands.has(value) ? (value as CardBrand) : 'other';

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
