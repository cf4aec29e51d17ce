import { type Bank, type Entry, moment, report } from './bank.ts';
import type { World } from './world.ts';

/**
 * The acquirer's pages for card payments, without I/O. They ask for no card, and nothing here holds a number or a token of one: a call of
 * `/control` approves or refuses each attempt.
 */
export type Card = {
  /** The client's own name of it: the payment's id without hyphens. */
  id: string;
  /** The acquirer's name of the page. */
  ref: string;
  client: string;
  idempotencyKey: string;
  /** Of the request: a repeat under the same key must be the same. */
  body: string;
  amountCents: number;
  currency: string;
  name: string;
  /** Where the payer goes once it is paid. */
  returnUrl: string;
  /** Without a payment, and once the page has ended; absent: as above. */
  cancelUrl?: string;
  expiredUrl?: string;
  /** With what the client fills in the page; absent: nothing. */
  payer?: Readonly<Record<string, unknown>>;
  /** Where the client called, `127.0.0.1:4010`: the page's address is the same in every answer. */
  host: string;
  createdAt: number;
  expiresAt: number;
  status: 'open' | 'complete' | 'expired';
  /** The acquirer's name of the payment, once a payer has tried. */
  intent?: string;
  /** An attempt waits for a check. */
  inReview?: true;
  /** Its client closed it; absent: it expired, or is not closed. */
  cancelled?: true;
  /** Absent: `stripePrices`. */
  prices?: CardPrices;
  attempts: Attempt[];
  /** Its events so far. */
  events: string[];
  timesReceived: number;
};

export type Attempt = {
  id: string;
  at: number;
  status: 'succeeded' | 'failed';
  /** Why it failed, in the acquirer's words. */
  code?: string;
  brand: string;
  last4: string;
  amountCents: number;
  currency: string;
  installments: number;
  feeCents: number;
  releaseAt: number;
  released: boolean;
  releasedAt?: number;
  /** Asked for, or paid before its time. */
  anticipation?: 'asked' | 'credited';
  anticipatedAt?: number;
  refunds: CardRefund[];
  dispute?: CardDispute;
};

/** A refund of an approved payment: of the client's own, or one that a person made on the acquirer's pages. */
export type CardRefund = {
  id: string;
  /** Absent: a person made it. */
  idempotencyKey?: string;
  /** Of the request. */
  body?: string;
  metadata: Record<string, string>;
  amountCents: number;
  at: number;
  status: 'pending' | 'succeeded' | 'failed';
};

/** The acquirer takes its amount and a cost when it is opened, and gives both back when it is won. */
export type CardDispute = {
  id: string;
  at: number;
  amountCents: number;
  costCents: number;
  status: 'open' | 'won' | 'lost';
};

/** A move between the acquirer's balance of a client and its bank. `fee`: the acquirer took it for itself. */
export type CardCash = {
  id: string;
  client: string;
  kind: 'payout' | 'fee';
  amountCents: number;
  at: number;
  /** When it should be at the bank. */
  dueAt: number;
  /** The bank refused it: when the acquirer had it again. */
  failedAt?: number;
};

/** Pays out of what was released, or takes a fee of it. `wrong`: there is not so much. */
export function payOut(
  bank: Bank,
  world: World,
  { client, kind, amountCents }: Pick<CardCash, 'client' | 'kind'> & { amountCents?: number },
): { answer: CardCash | 'wrong'; writes: Entry[] } {
  const at = moment(bank, world);
  const there = cardBalance(bank, client).availableCents;
  const asked = amountCents ?? there;
  if (asked <= 0 || asked > there) return { answer: 'wrong', writes: [] };
  const id = `${kind === 'payout' ? 'po' : 'fee'}_${world.letters(24)}`;
  const cash: CardCash = { id, client, kind, amountCents: asked, at, dueAt: at + day };
  bank.cardCash.set(id, cash);
  return { answer: cash, writes: [['card-cash', cash]] };
}

/** The bank of the client refuses a payout: the acquirer has its money again. */
export function failPayout(
  bank: Bank,
  world: World,
  id: string,
): { answer: CardCash | 'wrong'; writes: Entry[] } {
  const cash = bank.cardCash.get(id);
  if (cash?.kind !== 'payout' || cash.failedAt !== undefined) return { answer: 'wrong', writes: [] };
  cash.failedAt = moment(bank, world);
  return { answer: cash, writes: [['card-cash', cash]] };
}

/** The fees of an acquirer, and how long it holds. */
export type CardPrices = {
  bps: number;
  cents: number;
  disputeCents: number;
  heldDays: number;
  /** It pays before its time, for a fee. */
  anticipates?: true;
};

export type CardRequest = Pick<
  Card,
  | 'id'
  | 'client'
  | 'idempotencyKey'
  | 'body'
  | 'amountCents'
  | 'currency'
  | 'name'
  | 'returnUrl'
  | 'host'
  | 'expiresAt'
  | 'cancelUrl'
  | 'expiredUrl'
  | 'payer'
> & { ref?: string; prices?: CardPrices };

const day = 86_400_000;
/** 3.99 % and 39 cents, R$ 55.00 for each dispute; in Brazil a card payment is released after 30 days. */
const stripePrices: CardPrices = { bps: 399, cents: 39, disputeCents: 5_500, heldDays: 30 };
const pricesOf = ({ prices = stripePrices }: Pick<Card, 'prices'>): CardPrices => prices;
const priceOf = (card: Card, amountCents: number): number =>
  Math.min(amountCents - 1, Math.round((amountCents * pricesOf(card).bps) / 10_000) + pricesOf(card).cents);

/** Whether the key of a request is still known. */
const isKept = ({ behaviour }: Bank, requestedAt: number, now: number): boolean =>
  behaviour.keys === 'kept' && now - requestedAt <= day;

/** The page under a key; the first one again for a repeat within a day, `conflict` for another request under the key. */
export function openPage(
  bank: Bank,
  world: World,
  request: CardRequest,
): { answer: Card | 'conflict'; writes: Entry[] } {
  const now = moment(bank, world);
  for (const known of bank.cards.values()) {
    const isSame = known.client === request.client && known.idempotencyKey === request.idempotencyKey;
    if (!isSame || !isKept(bank, known.createdAt, now)) continue;
    known.timesReceived++;
    return { answer: known.body === request.body ? known : 'conflict', writes: [['card', known]] };
  }
  const card: Card = {
    ...request,
    ref: request.ref ?? `cs_test_${world.letters(24)}`,
    createdAt: now,
    status: 'open',
    attempts: [],
    events: [],
    timesReceived: 1,
  };
  bank.cards.set(card.ref, card);
  return { answer: card, writes: [['card', card]] };
}

/** As far as an acquirer looks at it; in linear steps. */
export const mailAddress = /^[^@\s]+@[^@\s.]+(?:[.][^@\s.]+)+$/;

/** The newest page of an id, in any client's name. */
export const cardOf = (bank: Bank, id: string): Card | undefined =>
  [...bank.cards.values()].findLast((card) => card.id === id);

export const approvalOf = ({ attempts }: Card): Attempt | undefined =>
  attempts.find(({ status }) => status === 'succeeded');

export const isOpen = (card: Card, now: number): boolean => card.status === 'open' && card.expiresAt > now;

export type CardAction =
  | 'approve'
  | 'review'
  | 'refuse'
  | 'release'
  | 'chargeback'
  | 'win'
  | 'lose'
  | 'expire'
  | 'refund'
  | 'anticipate';

export type CardFields = Partial<
  Pick<Attempt, 'brand' | 'last4' | 'amountCents' | 'currency' | 'installments'>
> & {
  reason?: string;
};

/** An act of a payer, of his bank or of time; `wrong`: it cannot be as it stands. */
export function moveCard(
  bank: Bank,
  world: World,
  card: Card,
  action: CardAction,
  fields: CardFields,
): { answer: 'done' | 'wrong'; writes: Entry[] } {
  const now = moment(bank, world);
  const events = eventsOf(bank, world, card, action, fields, now);
  if (events === null) return { answer: 'wrong', writes: [] };
  return { answer: 'done', writes: reported(bank, card, events, now) };
}

function eventsOf(
  bank: Bank,
  world: World,
  card: Card,
  action: CardAction,
  fields: CardFields,
  now: number,
): string[] | null {
  const approval = approvalOf(card);
  switch (action) {
    case 'approve':
      if (approval) return null;
      if (bank.behaviour.approval === 'review' && !card.inReview)
        return eventsOf(bank, world, card, 'review', fields, now);
      card.attempts.push(
        attemptOf(bank, world, card, 'succeeded', { ...oddApproval(bank, card), ...fields }, now),
      );
      card.status = 'complete';
      delete card.inReview;
      return ['payment_intent.succeeded', 'checkout.session.completed'];
    case 'review':
      if (approval) return null;
      card.intent ??= `pi_${world.letters(24)}`;
      card.inReview = true;
      return ['payment_intent.processing'];
    case 'refuse':
      if (approval) return null;
      card.attempts.push({
        ...attemptOf(bank, world, card, 'failed', fields, now),
        code: fields.reason ?? 'insufficient_funds',
      });
      delete card.inReview;
      return ['payment_intent.payment_failed'];
    case 'expire':
      if (approval || card.status !== 'open') return null;
      card.status = 'expired';
      return ['checkout.session.expired'];
    case 'release':
      if (!approval || approval.released) return null;
      approval.released = true;
      approval.releasedAt = now;
      return ['charge.updated'];
    // Asked for first, and credited by the second call.
    case 'anticipate':
      if (!pricesOf(card).anticipates || !approval || approval.released) return null;
      if (approval.anticipation === 'credited') return null;
      approval.anticipation = approval.anticipation === 'asked' ? 'credited' : 'asked';
      approval.anticipatedAt = now;
      return ['charge.anticipated'];
    case 'refund': {
      const amountCents = fields.amountCents ?? (approval ? leftOf(approval) : 0);
      if (!approval || amountCents <= 0 || amountCents > leftOf(approval)) return null;
      const refund = { id: `re_${world.letters(24)}`, metadata: {}, amountCents, at: now };
      approval.refunds.push({ ...refund, status: 'succeeded' });
      return ['refund.created', 'charge.refunded'];
    }
    case 'chargeback': {
      if (!approval || approval.dispute) return null;
      const amountCents = Math.min(approval.amountCents, fields.amountCents ?? approval.amountCents);
      const costCents = bank.behaviour.fees === 'on' ? pricesOf(card).disputeCents : 0;
      const dispute = { id: `du_${world.letters(24)}`, at: now, amountCents, costCents };
      approval.dispute = { ...dispute, status: 'open' };
      return ['charge.dispute.created', 'charge.dispute.funds_withdrawn'];
    }
    case 'win':
      if (approval?.dispute?.status !== 'open') return null;
      approval.dispute.status = 'won';
      return ['charge.dispute.closed', 'charge.dispute.funds_reinstated'];
    case 'lose':
      if (approval?.dispute?.status !== 'open') return null;
      approval.dispute.status = 'lost';
      return ['charge.dispute.closed'];
  }
}

function oddApproval({ behaviour }: Bank, { amountCents }: Card): CardFields {
  if (behaviour.approval === 'other-amount') return { amountCents: amountCents - 1 };
  if (behaviour.approval === 'other-currency') return { currency: 'usd' };
  return behaviour.approval === 'two-instalments' ? { installments: 2 } : {};
}

/** The amount that may still be given back: a refund that failed is not. */
export const leftOf = ({ amountCents, refunds }: Attempt): number => amountCents - refundedOf(refunds);

export const refundedOf = (refunds: readonly CardRefund[]): number =>
  refunds.filter(({ status }) => status !== 'failed').reduce((cents, one) => cents + one.amountCents, 0);

/** The amount that the acquirer has taken for a dispute, cost included. */
export const takenFor = (dispute: CardDispute | undefined): number =>
  dispute === undefined || dispute.status === 'won' ? 0 : dispute.amountCents + dispute.costCents;

export type RefundRequest = Pick<CardRefund, 'metadata' | 'amountCents'> & {
  idempotencyKey: string;
  body: string;
};

/** A refund that the client asks for; the first one again for a repeat under its key within a day. */
export function refundCard(
  bank: Bank,
  world: World,
  card: Card,
  { idempotencyKey, body, ...asked }: RefundRequest,
): { answer: CardRefund | 'conflict' | 'too much' | 'disputed'; writes: Entry[] } {
  const now = moment(bank, world);
  const approval = approvalOf(card);
  const known = approval?.refunds.find(
    (one) => one.idempotencyKey === idempotencyKey && isKept(bank, one.at, now),
  );
  if (known) return { answer: known.body === body ? known : 'conflict', writes: [] };
  if (!approval || asked.amountCents > leftOf(approval)) return { answer: 'too much', writes: [] };
  if (approval.dispute && approval.dispute.status !== 'won') return { answer: 'disputed', writes: [] };
  const { refund: fate } = bank.behaviour;
  const status = fate === 'stay-pending' || fate === 'refuse-later' ? 'pending' : 'succeeded';
  const refund = { ...asked, id: `re_${world.letters(24)}`, idempotencyKey, body, at: now, status } as const;
  approval.refunds.push(refund);
  const events = ['refund.created', 'charge.refunded'];
  if (fate === 'refuse-later') {
    approval.refunds[approval.refunds.length - 1] = { ...refund, status: 'failed' };
    events.push('refund.failed');
  }
  return { answer: refund, writes: reported(bank, card, events, now) };
}

/** The events of a card, each of which is delivered. */
function reported(bank: Bank, card: Card, events: readonly string[], now: number): Entry[] {
  card.events.push(...events);
  const from = card.events.length - events.length;
  return [
    ['card', card],
    ...events.flatMap((_event, at) =>
      report(bank, now, { key: card.client, kind: 'card', id: card.ref, returns: from + at + 1 }),
    ),
  ];
}

function attemptOf(
  bank: Bank,
  world: World,
  card: Card,
  status: Attempt['status'],
  {
    brand = 'visa',
    last4 = '4242',
    amountCents = card.amountCents,
    currency = card.currency,
    installments = 1,
  }: CardFields,
  at: number,
): Attempt {
  card.intent ??= `pi_${world.letters(24)}`;
  return {
    id: `ch_${world.letters(24)}`,
    ...{ at, status, brand, last4, amountCents, currency, installments },
    feeCents: status === 'succeeded' && bank.behaviour.fees === 'on' ? priceOf(card, amountCents) : 0,
    releaseAt: at + pricesOf(card).heldDays * day,
    released: false,
    refunds: [],
  };
}

/** The acquirer's money of a client, and when it may be paid out. */
export function cardBalance(bank: Bank, client: string): { availableCents: number; pendingCents: number } {
  const balance = { availableCents: 0, pendingCents: 0 };
  for (const card of bank.cards.values()) {
    const approval = card.client === client ? approvalOf(card) : undefined;
    if (!approval) continue;
    balance[approval.released ? 'availableCents' : 'pendingCents'] +=
      approval.amountCents - approval.feeCents;
    // Money taken back is taken from what may be paid out, whichever payment it is of.
    balance.availableCents -= refundedOf(approval.refunds) + takenFor(approval.dispute);
  }
  for (const cash of bank.cardCash.values())
    if (cash.client === client && cash.failedAt === undefined) balance.availableCents -= cash.amountCents;
  return balance;
}
