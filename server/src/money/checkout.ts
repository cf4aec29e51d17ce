import type { CardApproval, CheckoutReport } from '../provider/cards.ts';
import { type CardPayment, heldCents, type Refused, refusedMost, type Taking } from './card.ts';
import type { Movement } from './decide.ts';
import { type EventKind, eventKinds } from './journal.ts';
import type { Payment, PaymentReason } from './payment.ts';
import type { Refund } from './refund.ts';
import { enter, type Facts, type OpenedIncident, type PaymentEventType, quiet, touched } from './state.ts';

/**
 * The state machine of card payments by an acquirer's page.
 *
 * Every report of the acquirer is its whole word about one page: whether it still takes a payment, the last attempt, and the approval with its release.
 * So the order in which reports come does not matter, and a later one repeats what an earlier one said.
 *
 * **An approval counts once and only as asked**: this amount, in reais, in one instalment, at a cost below it. It makes the payment `paid` from
 * `unknown`, `pending` and `expired`, and books the amount as held. Every other approval posts nothing: a person decides, with the acquirer.
 *
 * **Release is the acquirer's word alone**, never a date of ours. It turns the held amount into the merchant's balance, less the account's fee. What the
 * acquirer has taken by its own word (a chargeback, or a refund that was not asked for here) is taken from the merchant at once: out of what is held, then
 * out of the balance. It comes back the same way. Refunds that were asked for here have a state machine of their own (`money/refund.ts`).
 */
export interface CardStep {
  payment: Payment;
  postings: { event: EventKind; reference: string; movement: Movement; effectiveAt: number }[];
  events: PaymentEventType[];
  incidents: OpenedIncident[];
}

export type CardFacts = Pick<Facts, 'now' | 'cause' | 'operationDeleted'> & {
  /** The account at the acquirer that the page was asked of; null: that is not known any more. */
  account: string | null;
  /** A refund that was asked for here, by its id at the acquirer: its own machine follows the one line that it is known by. */
  refundNamed(providerId: string): Pick<Refund, 'rtrId'> | undefined;
};

export type CardEvent =
  | { type: 'reported'; report: CheckoutReport }
  | ({ type: 'attemptRefused' } & Refused)
  | { type: 'refused'; reason: PaymentReason };

/** `payment` after the word of its acquirer; null when that changes nothing. */
export function nextCheckout(payment: Payment, event: CardEvent, facts: CardFacts): CardStep | null {
  if (!isOnCard(payment)) throw new Error('a payment without a card');
  if (event.type === 'refused')
    return isUnpaid(payment) && payment.status !== 'expired'
      ? enter(payment, 'failed', facts, { reasonCode: event.reason }, 'charge.failed')
      : null;
  if (event.type === 'attemptRefused') return attemptRefused(payment, event, facts);
  const { report } = event;
  if (!isOfPayment(report, payment))
    return stopped(payment, `page:${report.currency}:${report.amountCents}`, report.amountCents);
  if (report.approval !== null)
    return withOthers(
      payment,
      approved(payment, report.providerRef, report.approval, facts),
      report.others ?? [],
    );
  return isUnpaid(payment) ? waiting(payment, report, facts) : null;
}

type OnCard = Payment & { card: CardPayment };

const isOnCard = (payment: Payment): payment is OnCard => payment.card !== null;

const currency = 'BRL';

/** A report of another amount or currency says nothing of the payment or of its chargebacks. */
export const isOfPayment = (report: CheckoutReport, { amountCents }: Pick<Payment, 'amountCents'>): boolean =>
  report.amountCents === amountCents && report.currency === currency;

const isUnpaid = ({ status }: Payment): boolean =>
  status === 'unknown' || status === 'pending' || status === 'expired';

function waiting(payment: OnCard, report: CheckoutReport, facts: CardFacts): CardStep | null {
  const { status } = payment;
  if (status === 'expired') return null;
  // The payer has the page that was known first: an answer about another one came late.
  if (payment.card.ref !== null && report.providerRef !== payment.card.ref) return null;
  const { attempt } = report;
  const card: CardPayment = counted({
    ...payment.card,
    ref: report.providerRef,
    account: payment.card.account ?? facts.account,
    url: report.url ?? payment.card.url,
    ...(attempt && {
      status: attempt.status,
      refusal: attempt.refusal,
      brand: attempt.brand ?? payment.card.brand,
      last4: attempt.last4 ?? payment.card.last4,
      refusals: Math.max(payment.card.refusals, attempt.refusals),
    }),
  });
  const expiresAt = report.expiresAt ?? payment.expiresAt;
  const news = { card, expiresAt };
  const events = refusedEvents(payment.card, card);
  const isUnderWay = attempt?.status === 'processing';
  if (report.page === 'closed' && !isUnderWay)
    return enter(payment, 'expired', facts, news, ...events, 'charge.expired');
  if (status === 'unknown') return enter(payment, 'pending', facts, news, ...events);
  const isSame = expiresAt === payment.expiresAt && sameCard(card, payment.card);
  return isSame ? null : { ...changed(payment, news, facts), events: facts.operationDeleted ? [] : events };
}

/**
 * An attempt that a delivery reports as refused, where a query shows the last one alone. Each counts once, under the acquirer's own name of it, and for its own
 * page. Those that a query counts are among them, or not delivered yet: the higher number is true, and neither is added to the other.
 */
function attemptRefused(payment: OnCard, { page, attempt }: Refused, facts: CardFacts): CardStep | null {
  const { card, status } = payment;
  const { refused = [] } = card;
  if (status !== 'unknown' && status !== 'pending') return null;
  if (refused.length >= refusedMost || refused.some((one) => one.attempt === attempt)) return null;
  const next = counted({ ...card, refused: [...refused, { page, attempt }] });
  const step = changed(payment, { card: next }, facts);
  return { ...step, events: facts.operationDeleted ? [] : refusedEvents(card, next) };
}

/** The card with the refused attempts of its page counted. One that is looked at stays so: the next query says what became of it. */
function counted(card: CardPayment): CardPayment {
  const reported = (card.refused ?? []).filter(({ page }) => page === card.ref).length;
  const refusals = Math.max(card.refusals, reported);
  const isFirst = refusals > 0 && card.status === null;
  return { ...card, refusals, ...(isFirst && { status: 'refused', refusal: 'refused_by_issuer' }) };
}

const refusedEvents = (before: CardPayment, after: CardPayment): PaymentEventType[] =>
  after.refusals > before.refusals ? ['charge.card_refused'] : [];

/** @param page the acquirer's own name of the page that was paid: it is the page of the payment from then on, whichever one was known before */
function approved(payment: OnCard, page: string, approval: CardApproval, facts: CardFacts): CardStep | null {
  const { amountCents, card, status } = payment;
  const { reference, costCents, installments } = approval;
  if (status === 'paid')
    return reference === card.approval ? followed(payment, approval, facts) : again(payment, approval);
  const isAsked =
    approval.amountCents === amountCents &&
    approval.currency === currency &&
    installments === 1 &&
    (costCents === null || (costCents >= 0 && costCents < amountCents));
  if (!isUnpaid(payment) || !isAsked || facts.operationDeleted) {
    const what = `${approval.currency}:${approval.amountCents}:${installments}:${costCents ?? ''}`;
    return stopped(payment, `approval:${reference}:${what}`, approval.amountCents, {
      approval: { ...approval, brand: undefined, last4: undefined },
    });
  }
  const step: CardStep = enter(
    payment,
    'paid',
    facts,
    {
      paidAt: approval.at,
      card: {
        ...card,
        ref: page,
        account: card.account ?? facts.account,
        approval: reference,
        settlement: 'held',
        status: 'paid',
        brand: approval.brand,
        last4: approval.last4,
        refusal: null,
        releaseAt: approval.releaseAt,
        costCents: costCents ?? 0,
      },
    },
    'charge.paid',
  );
  step.postings.push({
    event: eventKinds.cardApprove,
    reference: '',
    movement: { kind: 'cardApprove', amountCents, costCents: costCents ?? 0 },
    effectiveAt: approval.at,
  });
  return both(step, followed(step.payment as OnCard, approval, facts));
}

const both = (one: CardStep, other: CardStep | null): CardStep =>
  other === null
    ? one
    : {
        payment: other.payment,
        postings: [...one.postings, ...other.postings],
        events: [...one.events, ...other.events],
        incidents: [...one.incidents, ...other.incidents],
      };

/** A paid one as its acquirer reports it again: what was taken of it, then its release. */
function followed(payment: OnCard, approval: CardApproval, facts: CardFacts): CardStep | null {
  const most = approval.amountCents;
  const odd = takingsOf(approval, facts).find(({ outCents }) => outCents > most);
  if (odd !== undefined) return stopped(payment, `taken:${odd.reference}:${odd.outCents}`, odd.outCents);
  let step: CardStep | null = null;
  for (const taking of takingsOf(approval, facts)) {
    const next = taken((step?.payment ?? payment) as OnCard, taking, facts);
    if (next !== null) step = step === null ? next : both(step, next);
  }
  const after = released((step?.payment ?? payment) as OnCard, approval, facts);
  return step === null ? after : both(step, after);
}

interface Reported extends Omit<Taking, 'heldCents'> {
  reference: string;
  at: number;
}

/**
 * Takings of the acquirer by its own word. A refund that lost its record here (a restore) is one of these, under the id that it was sent with, so that it is not begun
 * again. A second line under the id of a refund that is known by another line stands under the acquirer's own name.
 */
function takingsOf({ refunds, chargebacks }: CardApproval, facts: CardFacts): Reported[] {
  return [
    ...refunds.flatMap(({ reference, providerId, status, at, amountCents }) => {
      const ours = providerId === null ? undefined : facts.refundNamed(providerId);
      if (ours !== undefined && isLineOf(ours, reference)) return [];
      const name = ours === undefined ? (providerId ?? reference) : reference;
      const backCents = status === 'failed' ? amountCents : 0;
      return [{ reference: name, at, outCents: amountCents, backCents, costCents: 0, costBackCents: 0 }];
    }),
    ...chargebacks.map(({ report, ...cents }) => ({
      ...{ reference: report.providerId, at: report.openedAt },
      ...cents,
    })),
  ];
}

/** Whether a line of the acquirer under the id of a refund is that refund: the acquirer has named no other one as it. */
export const isLineOf = ({ rtrId }: Pick<Refund, 'rtrId'>, reference: string): boolean =>
  rtrId === null || rtrId === reference;

const nothing: Taking = { outCents: 0, backCents: 0, costCents: 0, costBackCents: 0, heldCents: 0 };

/** Posts what is new of one taking: each figure only grows, so an older report says nothing. */
function taken(payment: OnCard, reported: Reported, facts: CardFacts): CardStep | null {
  const { card } = payment;
  const { reference, at } = reported;
  const known = card.taken?.[reference] ?? nothing;
  const outCents = Math.max(known.outCents, reported.outCents);
  const backCents = Math.max(known.backCents, Math.min(reported.backCents, outCents));
  const costCents = Math.max(known.costCents, reported.costCents);
  const costBackCents = Math.max(known.costBackCents, Math.min(reported.costBackCents, costCents));
  const out = { cents: outCents - known.outCents, cost: costCents - known.costCents };
  const back = { cents: backCents - known.backCents, cost: costBackCents - known.costBackCents };
  if (out.cents + out.cost + back.cents + back.cost === 0) return null;
  const isHere = card.settlement === 'held';
  const fromHeld = Math.min(heldCents(payment), out.cents);
  const toHeld = isHere ? Math.min(known.heldCents + fromHeld, back.cents) : 0;
  const one: Taking = {
    ...{ outCents, backCents, costCents, costBackCents },
    heldCents: known.heldCents + fromHeld - toHeld,
  };
  const step: CardStep = changed(
    payment,
    {
      ...(out.cents > 0 && { notice: 'debited' as const }),
      card: {
        ...card,
        taken: { ...card.taken, [reference]: one },
        ...(isHere && { outCents: (card.outCents ?? 0) + fromHeld - toHeld }),
      },
    },
    facts,
  );
  const post = (
    event: EventKind,
    kind: 'cardSeize' | 'cardGiveBack',
    cents: { cents: number; cost: number },
    held: number,
    until: number,
  ) => {
    if (cents.cents + cents.cost === 0) return;
    const sum = cents.cents + cents.cost;
    step.postings.push(
      facts.operationDeleted
        ? {
            ...{ event: eventKinds.suspense, reference: `${reference}:${kind}:${until}`, effectiveAt: at },
            movement: { kind: 'bookToSuspense', amountCents: kind === 'cardSeize' ? -sum : sum },
          }
        : {
            ...{ event, reference: `${reference}:${until}`, effectiveAt: at },
            movement: { kind, amountCents: cents.cents, heldCents: held, costCents: cents.cost },
          },
    );
    if (facts.operationDeleted)
      step.incidents.push({
        ...{ kind: 'deleted_operation', amountCents: sum, freezes: false },
        reference: `suspense:${payment.id}:${reference}:${kind}:${until}`,
      });
    else if (kind === 'cardSeize')
      step.incidents.push({
        ...{ kind: 'debit', amountCents: cents.cents, freezes: false },
        reference: `debit:${payment.id}:${reference}:${until}`,
      });
  };
  post(eventKinds.cardSeize, 'cardSeize', out, fromHeld, outCents + costCents);
  post(eventKinds.cardGiveBack, 'cardGiveBack', back, toHeld, backCents + costBackCents);
  return step;
}

/** The acquirer's release of a paid one. */
function released(payment: OnCard, approval: CardApproval, facts: CardFacts): CardStep | null {
  const { amountCents, feeCents, card } = payment;
  const { releaseAt, costCents } = approval;
  if (card.settlement === 'available') return null;
  if (!approval.released) {
    const moved = releaseAt !== null && releaseAt !== card.releaseAt;
    return moved ? changed(payment, { card: { ...card, releaseAt } }, facts) : null;
  }
  const cost = costCents ?? card.costCents;
  if (cost < 0 || cost >= amountCents) return stopped(payment, `cost:${cost}`, amountCents);
  const step: CardStep = changed(
    payment,
    {
      card: { ...card, settlement: 'available', releaseAt: releaseAt ?? card.releaseAt, costCents: cost },
      settledAt: facts.now,
      providerFeeCents: feeCents,
      netAmountCents: amountCents - feeCents,
    },
    facts,
  );
  step.events.push('charge.card_available');
  const cents = {
    amountCents: heldCents(payment),
    feeCents: feeCents - (card.feeBackCents ?? 0),
    costCents: cost - card.costCents,
  };
  // Of a payment that was refunded whole, and whose fee came back, nothing is left to post.
  if (Object.values(cents).some((one) => one !== 0))
    step.postings.push({
      event: eventKinds.cardRelease,
      reference: '',
      movement: { kind: 'cardRelease', ...cents },
      effectiveAt: facts.now,
    });
  return step;
}

/** Both pages of a payment were paid, or one twice: the second is none of the merchant's until a person has decided. */
const again = (
  payment: Payment,
  { reference, amountCents }: Pick<CardApproval, 'reference' | 'amountCents'>,
): CardStep => stopped(payment, `approval:${reference}`, amountCents);

/**
 * The known approval is followed, and each other one goes to a person, in whichever order they are reported: a report of the other page names the known one
 * among its others.
 */
const withOthers = (
  payment: Payment,
  step: CardStep | null,
  others: readonly Pick<CardApproval, 'reference' | 'amountCents'>[],
): CardStep | null =>
  others.reduce<CardStep | null>((all, other) => {
    const current = all?.payment ?? payment;
    if (other.reference === current.card?.approval) return all;
    const next = again(current, other);
    return all === null ? next : both(all, next);
  }, step);

/** Posts nothing: what contradicts goes to a person, once for each report of its own. */
function stopped(payment: Payment, what: string, amountCents: number, detail: object = {}): CardStep {
  const step: CardStep = quiet(payment);
  step.incidents.push({
    kind: 'report_mismatch',
    reference: `mismatch:${payment.id}:card:${what}`,
    amountCents: Math.max(0, amountCents),
    freezes: false,
    detail: { card: what, ...detail },
  });
  return step;
}

const changed = (payment: Payment, news: Partial<Payment>, facts: CardFacts): CardStep =>
  quiet({ ...payment, ...news, updatedAt: touched(payment, facts) });

const sameCard = (one: CardPayment, other: CardPayment): boolean =>
  (Object.keys(one) as (keyof CardPayment)[]).every((member) => one[member] === other[member]);
