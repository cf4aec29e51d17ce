import * as payments from './model.ts';
import * as refunds from './refund-model.ts';

/** The object of a search: one payment, or a paid charge whose money goes back. */
export type Local = payments.Local | refunds.RefundLocal;
export type World = payments.World<Local>;

/** A payment of a kind, or what goes back of a paid charge, in such parts. */
export type Subject = payments.Kind | { back: refunds.RefundKind; parts: readonly number[] };

const goesBack = (local: Local): local is refunds.RefundLocal => 'lanes' in local;

export const newLocal = (subject: Subject): Local =>
  typeof subject === 'string'
    ? payments.newLocal(subject)
    : refunds.newRefundLocal(subject.back, subject.parts);

export const actionsOf = (local: Local, rules: payments.Rules): payments.Action<Local>[] =>
  (goesBack(local)
    ? refunds.actionsOf(local, rules)
    : payments.actionsOf(local, rules)) as payments.Action<Local>[];

/** Throws a Violation when this state must not exist. */
export const check = (world: World): void =>
  goesBack(world.local)
    ? refunds.check(world as payments.World<refunds.RefundLocal>)
    : payments.check(world as payments.World);

export const copyOf = (local: Local): Local => ({ ...local, now: local.now + 1 });

export const hasEnded = (local: Local): boolean =>
  goesBack(local) ? refunds.hasEnded(local) : payments.hasEnded(local);

/** A reserve that is held for it. */
export const reservedFor = (local: Local): number =>
  goesBack(local) ? refunds.reservedFor(local) : payments.reservedFor(local);

/** Whether it keeps its operation from being deleted, besides by the columns. */
export const blocksDeletion = (local: Local): boolean =>
  goesBack(local) ? refunds.blocksDeletion(local) : payments.blocksDeletion(local);

export const keyOf = (local: Local): string =>
  goesBack(local) ? refunds.keyOf(local) : payments.keyOf(local);
