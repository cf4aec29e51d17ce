import * as cards from './card-model.ts';
import * as dues from './due-model.ts';
import * as links from './link-model.ts';
import * as payments from './model.ts';
import * as refunds from './refund-model.ts';

/** The object of a search: one payment, a paid charge whose money goes back, a payment by card, a charge with a due date, or one by a payment link. */
export type Local = payments.Local | refunds.RefundLocal | cards.CardLocal | dues.DueLocal | links.LinkLocal;
export type World = payments.World<Local>;

/** A payment of a kind, what goes back of a paid charge in such parts, a payment by card from its beginning or from its approval, a charge with a due date and so many changes, or a charge by a link for so many payments. */
export type Subject =
  | payments.Kind
  | { back: refunds.RefundKind; parts: readonly number[] }
  | { card: cards.CardBegin; parts: readonly number[] }
  | { changes: number }
  | { link: number };

/** The functions of one model. */
interface Machine {
  actionsOf(local: Local, rules: payments.Rules): payments.Action<Local>[];
  /** Throws a Violation when this state must not exist. */
  check(world: World): void;
  hasEnded(local: Local): boolean;
  /** A reserve that is held for it. */
  reservedFor(local: Local): number;
  /** The part of it that its acquirer has not released. */
  cardHeldFor(local: Local): number;
  /** Whether it keeps its operation from being deleted, besides by the columns. */
  blocksDeletion(local: Local): boolean;
  keyOf(local: Local): string;
}

const noCard = { cardHeldFor: () => 0 };
const machines = {
  payment: { ...payments, ...noCard } as unknown as Machine,
  refunds: { ...refunds, ...noCard } as unknown as Machine,
  link: { ...links, ...noCard } as unknown as Machine,
  due: { ...dues, ...noCard } as unknown as Machine,
  card: { ...cards, reservedFor: refunds.reservedFor } as unknown as Machine,
};

export function machineOf(local: Local): Machine {
  if (local.kind === 'due') return machines.due;
  if ('others' in local) return machines.link;
  return 'page' in local ? machines.card : 'lanes' in local ? machines.refunds : machines.payment;
}

export const newLocal = (subject: Subject): Local => {
  if (typeof subject === 'string') return payments.newLocal(subject);
  if ('link' in subject) return links.newLinkLocal(subject.link);
  if ('changes' in subject) return dues.newDueLocal(subject.changes);
  return 'card' in subject
    ? cards.newCardLocal(subject.card, subject.parts)
    : refunds.newRefundLocal(subject.back, subject.parts);
};

export const copyOf = (local: Local): Local => ({ ...local, now: local.now + 1 });
