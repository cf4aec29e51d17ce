import type { CardBrand, CardRefusal, RefusedAttempt } from '../provider/cards.ts';

/** The page and the card of a payment by card, as they are stored with it. */
export interface CardPayment {
  /** How long the page was asked to live. */
  minutes: number;
  /** Where the payer goes once it is paid, and without a payment; https, of a host that the account allows. Absent: our page. */
  successUrl?: string;
  cancelUrl?: string;
  /** The acquirer's own name of the page; null: it has not answered. */
  ref: string | null;
  /** Which account at the acquirer has the page (`provider/identity.ts`); null: none is known to have it. */
  account: string | null;
  /** The acquirer's page. Payers come to it by our address alone. */
  url: string | null;
  /** The acquirer's own name of the approved payment; null: none was approved. */
  approval: string | null;
  settlement: 'held' | 'available' | null;
  /** Of the last attempt; null: there was none. */
  status: 'processing' | 'paid' | 'refused' | null;
  brand: CardBrand | null;
  /** Four digits. */
  last4: string | null;
  refusal: CardRefusal | null;
  /** Attempts that the acquirer reported as refused. */
  refusals: number;
  /** Those of them that deliveries report one by one, each once; also of a page whose creation was not answered yet. Absent: none. */
  refused?: readonly Refused[];
  /** When the acquirer says that it will release; null: it has not said. */
  releaseAt: number | null;
  /** The acquirer's own cost, as far as it is booked. */
  costCents: number;
  /** Of the held amount, the part that refunds and the acquirer have taken; absent: none. */
  outCents?: number;
  /** The part of the account's fee that refunds gave back before the fee was taken; absent: none. */
  feeBackCents?: number;
  /** Takings of the acquirer by its own word, under the acquirer's names; absent: nothing. */
  taken?: Readonly<Record<string, Taking>>;
}

/** A refused attempt under the acquirer's own names. */
export type Refused = Pick<RefusedAttempt, 'page' | 'attempt'>;

/** A chargeback, or a refund that was not asked for here. What was taken and what came back only grow, so that no order of reports matters. */
export interface Taking {
  outCents: number;
  backCents: number;
  /** The acquirer's cost of it, and what of that came back. */
  costCents: number;
  costBackCents: number;
  /** Of what is taken, the part that was taken out of the held amount. */
  heldCents: number;
}

/** After so many refusals the acquirer is asked to close the page. */
export const attemptsMost = 3;
/** Beyond so many further ones say nothing: the page was to be closed long before. */
export const refusedMost = 30;

export const newCard = (
  minutes: number,
  urls: Pick<CardPayment, 'successUrl' | 'cancelUrl'> = {},
): CardPayment => ({
  minutes,
  ...urls,
  ref: null,
  account: null,
  url: null,
  approval: null,
  settlement: null,
  status: null,
  brand: null,
  last4: null,
  refusal: null,
  refusals: 0,
  releaseAt: null,
  costCents: 0,
});

/** The acquirer approved it and has not released it. */
export const isHeld = ({ card }: { card: CardPayment | null }): boolean => card?.settlement === 'held';

/** The part of a card payment that its acquirer holds for the merchant. */
export const heldCents = ({
  amountCents,
  card,
}: {
  amountCents: number;
  card: CardPayment | null;
}): number => (card?.settlement === 'held' ? amountCents - (card.outCents ?? 0) : 0);

/** A payment whose card has changed. */
export const withCard = <Row extends { updatedAt: number }>(
  row: Row,
  card: CardPayment,
  now: number,
): Row => ({
  ...row,
  card,
  updatedAt: Math.max(now, row.updatedAt + 1),
});

/** Taken of a card payment by its acquirer and not given back. */
export const takenCents = ({ taken = {} }: Pick<CardPayment, 'taken'>): number =>
  Object.values(taken).reduce((cents, { outCents, backCents }) => cents + outCents - backCents, 0);
