import type { DisputeReport } from './dispute-report.ts';

/** The outcome of a query over a connection that has no card payments (any more). */
export const withoutCards = {
  outcome: 'unclear',
  cause: 'unknownRefusal',
  detail: 'the connection has no card payments',
  retryAfterMs: null,
} as const;

/** The names by which a page is found. */
export interface CheckoutName {
  /** The payment id without hyphens. */
  providerId: string;
  /** The acquirer's own name of the page; null: it has not answered. */
  providerRef: string | null;
  /** When our request to create it went out. */
  createdAt: number;
  /** As asked, for an acquirer that does not repeat it. */
  amountCents: number;
  /** How long the page takes payments, as asked: the same. */
  minutes: number;
  /** The acquirer's own name of the approval (`CardApproval.reference`); null: none is known. */
  approval: string | null;
}

/** Of a page that the acquirer has named. */
export type NamedPage = CheckoutName & { providerRef: string };

export interface CheckoutInstruction extends Omit<CheckoutName, 'providerRef' | 'approval'> {
  /** The payer reads it on the page. */
  description: string;
  /** Our addresses, to which the acquirer sends the payer back: which one proves nothing. */
  back: Readonly<Record<CardReturn, string>>;
  /** Fills in the page, as far as the acquirer takes it; null: the merchant gave nothing. */
  payer: NamedCardPayer | null;
  /** W3C Trace Context of the waiting caller; forwarded unchanged. */
  traceparent?: string | undefined;
}

/** How a payer comes back from the acquirer's page, by the acquirer's word to the browser. */
export const cardReturns = ['success', 'cancel', 'expired'] as const;
export type CardReturn = (typeof cardReturns)[number];

/** The payer of a card payment, as far as the merchant gave it. */
export interface CardPayer {
  /** A CPF of 11 digits or a CNPJ of 14 characters, with right check digits. */
  document?: string;
  email?: string;
  /** `+5511987654321` */
  phone?: string;
}

export interface NamedCardPayer extends CardPayer {
  name: string;
}

export const cardBrands = ['visa', 'mastercard', 'elo', 'amex', 'hipercard', 'other'] as const;
export type CardBrand = (typeof cardBrands)[number];

/** Why an attempt was refused, in words of ours: those of an acquirer are not shown to anyone. */
export const cardRefusals = [
  'insufficient_funds',
  'expired_card',
  'incorrect_data',
  'not_authenticated',
  'lost_or_stolen',
  'refused_by_issuer',
  'refused_as_risk',
] as const;
export type CardRefusal = (typeof cardRefusals)[number];

/** The acquirer's report of a page. */
export interface CheckoutReport {
  /** Our id. */
  providerId: string;
  /** The acquirer's own name of the page. */
  providerRef: string;
  amountCents: number;
  /** ISO 4217, in capitals. */
  currency: string;
  /** `closed`: it takes no payment any more. */
  page: 'open' | 'closed';
  url: string | null;
  /** The deadline in the acquirer's own answer; null when it gives none. */
  expiresAt: number | null;
  /** The last attempt that was not approved; null: there was none, or an approval followed it. */
  attempt: CardAttempt | null;
  approval: CardApproval | null;
  /** Further payments of the page that were approved as well, where the acquirer makes more than one. */
  others?: readonly Pick<CardApproval, 'reference' | 'amountCents'>[];
}

export interface CardAttempt {
  status: 'processing' | 'refused';
  refusal: CardRefusal | null;
  brand: CardBrand | null;
  last4: string | null;
  /** Refused ones of this page so far, as far as the acquirer counts them. */
  refusals: number;
}

/** A refused attempt as a delivery reports it, where a query shows the last one alone. */
export interface RefusedAttempt {
  /** The acquirer's own name of the page. */
  page: string;
  /** Our id; null: the delivery does not name it. */
  providerId: string | null;
  /** The acquirer's own name of the attempt, or of the event that reports it: each repeat of the delivery has the same. */
  attempt: string;
}

export interface CardApproval {
  /** The acquirer's own name of it: another name is another payment. */
  reference: string;
  amountCents: number;
  currency: string;
  installments: number;
  at: number;
  brand: CardBrand;
  last4: string | null;
  /** The part that the acquirer keeps; null: it has not said. */
  costCents: number | null;
  releaseAt: number | null;
  released: boolean;
  /** Every refund of it, asked for here or elsewhere. */
  refunds: CardRefund[];
  chargebacks: CardChargeback[];
}

export interface CardRefund {
  /** The acquirer's own name. */
  reference: string;
  /** Our id of the refund, without hyphens, as the acquirer repeats it; null: it names none. */
  providerId: string | null;
  amountCents: number;
  status: 'pending' | 'settled' | 'failed';
  at: number;
}

/** Money that the acquirer paid out to an account of the company at a bank. */
export interface CardPayout {
  /** The acquirer's own name of the payout. */
  reference: string;
  /** It came back: the bank refused it, or the company stopped it. */
  isReturn: boolean;
  /** Above zero. */
  amountCents: number;
  at: number;
  /** When it should be at the bank; of a return, as `at`. */
  dueAt: number;
}

/** The name of a line about a payout: one that came back has two. */
export const payoutName = (reference: string, isReturn: boolean): string =>
  isReturn ? `${reference} back` : reference;

export interface CardChargeback {
  /** `providerId`: the acquirer's own name of it; `endToEnd`: of the approval. */
  report: DisputeReport;
  /** The amounts that the acquirer has taken and given back for it, each in all, without its costs. */
  outCents: number;
  backCents: number;
  /** Its costs, and what of them came back. */
  costCents: number;
  costBackCents: number;
}
