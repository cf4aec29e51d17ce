import { afterCharge, leftOf, statusAt } from '../../server/src/kinds/link/link.ts';
import type { Payment } from '../../server/src/money/payment.ts';
import type { PaymentLink } from '../../server/src/store/rows/payment-links.sql.ts';
import { accountId, nothingStored, operationId, Violation } from './memory.ts';
import * as payments from './model.ts';
import { type Action, chargeCents, linkId, type Rules, start } from './model.ts';

/**
 * One charge that a payer makes by a payment link, through everything that can happen to a charge, beside other payers of the same link and its merchant. The
 * other payers' charges are counted as the service counts them, without a provider of their own: a code given out is paid, or ends, or both one after the other.
 */
export interface LinkLocal extends payments.Local {
  /** The codes of other payers: of those that wait, those that ended unpaid, and those that were paid. */
  others: { open: number; ended: number; paid: number };
}

export const newLinkLocal = (maxPayments: number): LinkLocal => ({
  ...payments.newLocal('charge'),
  stored: { ...nothingStored, link: newLink(maxPayments) },
  others: { open: 0, ended: 0, paid: 0 },
});

const newLink = (maxPayments: number): PaymentLink => ({
  ...{ accountId, id: linkId, operationId, title: 'Curso', description: '', maxPayments },
  ...{ amountCents: chargeCents, minimumCents: null, maximumCents: null },
  ...{ nameField: 'none', documentField: 'none', takesPix: true, takesCard: false },
  ...{ expiresAt: null, successUrl: null, metadata: null, status: 'active', requestKey: linkId },
  ...{ openCount: 0, paidCount: 0, paidCents: 0, createdAt: start, updatedAt: start },
});

const linkOf = ({ stored: { link } }: LinkLocal): PaymentLink => {
  if (!link) throw new Error('no link');
  return link;
};

const isSold = ({ maxPayments, paidCount }: PaymentLink): boolean => paidCount >= (maxPayments ?? Infinity);

/** Everything that can happen next: to the charge, to the codes of others, and by the merchant. */
export function actionsOf(local: LinkLocal, rules: Rules): Action<LinkLocal>[] {
  const actions = payments.actionsOf(local, rules).map((one) => guarded(one as unknown as Action<LinkLocal>));
  const can = (name: string, change: (one: LinkLocal) => void) =>
    actions.push({ name, fault: false, run: ({ local: one }) => change(one) });
  const link = linkOf(local);
  const { open, ended, paid } = local.others;
  const status = statusAt(link, local.now);
  if (status === 'active' && leftOf(link) !== 0 && open + ended + paid < (link.maxPayments ?? 0))
    can('another payer makes a charge', (one) => {
      one.others = { ...one.others, open: open + 1 };
      setLink(one, { openCount: link.openCount + 1 });
    });
  if (open > 0) {
    can('another payer pays', (one) =>
      hear(one, 'pending', 'paid', { open: open - 1, ended, paid: paid + 1 }),
    );
    can('the code of another payer ends', (one) =>
      hear(one, 'pending', 'expired', { open: open - 1, ended: ended + 1, paid }),
    );
  }
  if (ended > 0)
    can('a code of another payer that ended is paid', (one) =>
      hear(one, 'expired', 'paid', { open, ended: ended - 1, paid: paid + 1 }),
    );
  if (link.status === 'active') {
    can('the time of the link is over', (one) => setLink(one, { status: 'expired' }));
    can('the merchant closes the link', (one) => setLink(one, { status: 'disabled' }));
  }
  if (link.status === 'completed')
    can('the merchant closes the link that was sold', (one) => setLink(one, { status: 'disabled' }));
  if (link.status === 'disabled' && !isSold(link))
    can('the merchant opens the link again', (one) => setLink(one, { status: 'active' }));
  return actions;
}

/** A charge is made by a link that takes it at that moment alone. */
const guarded = (action: Action<LinkLocal>): Action<LinkLocal> => ({
  ...action,
  run: async (world) => {
    const before = world.local;
    const [link, payment] = [linkOf(before), before.stored.payment];
    const takes = statusAt(link, before.now) === 'active' && !isSold(link) && leftOf(link) !== 0;
    await action.run(world);
    if (payment === null && world.local.stored.payment !== null && !takes)
      throw new Violation('a charge was made by a link that takes none (67)');
  },
});

function setLink(local: LinkLocal, change: Partial<PaymentLink>): void {
  local.stored = { ...local.stored, link: { ...linkOf(local), ...change } };
}

/** The writes of the till when the charge of another payer enters another state. */
function hear(
  local: LinkLocal,
  before: Payment['status'],
  after: Payment['status'],
  others: LinkLocal['others'],
): void {
  const step = afterCharge(
    linkOf(local),
    { status: before },
    { status: after, amountCents: chargeCents, updatedAt: start },
  );
  local.others = others;
  local.stored = {
    ...local.stored,
    link: step.link,
    linkEvents: [...local.stored.linkEvents, ...step.events],
  };
}

/** Throws a Violation when this state must not exist. */
export function check(world: payments.World<LinkLocal>): void {
  payments.check(world as payments.World);
  const { others, stored } = world.local;
  const link = linkOf(world.local);
  const { payment, linkEvents } = stored;
  const isOpen = payment?.status === 'unknown' || payment?.status === 'pending' ? 1 : 0;
  const paid = others.paid + (payment?.status === 'paid' ? 1 : 0);
  if (link.openCount !== others.open + isOpen) throw new Violation('a link counts other open charges (67)');
  if (link.paidCount !== paid) throw new Violation('a link counts other payments (67)');
  if (link.paidCents !== paid * chargeCents) throw new Violation('a link counts other money (67)');
  const most = link.maxPayments ?? Infinity;
  // A deleted operation is invisible: nothing more is reported of it.
  const isHeard = (type: string, times: number) => {
    const reported = linkEvents.filter((one) => one === type).length;
    if (reported > times || (reported < times && !world.columns.deleted))
      throw new Violation(`a link with ${paid} of ${most} payments reported ${type} ${reported} times`);
  };
  isHeard('payment_link.completed', paid >= most ? 1 : 0);
  isHeard('payment_link.overpaid', Math.max(0, paid - most));
  if (paid >= most && link.status === 'active') throw new Violation('a link that was sold is active');
}

export const { hasEnded, reservedFor, blocksDeletion } = payments;

export function keyOf(local: LinkLocal): string {
  const { status, openCount, paidCount, paidCents } = linkOf(local);
  const { open, ended, paid } = local.others;
  const events = [...local.stored.linkEvents].join();
  return `${payments.keyOf(local)}|${[status, openCount, paidCount, paidCents, open, ended, paid, events].join('|')}`;
}
