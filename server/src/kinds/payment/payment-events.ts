import type { Payment, PaymentStatus } from '../../money/payment.ts';
import type { Refund, RefundOutcome } from '../../money/refund.ts';
import type { Ids } from '../../ports/ids.ts';
import { type EventType, eventRow, events } from '../../store/events/event.ts';
import { always, type SubscribedTypes } from '../../store/events/subscribed-types.ts';
import { put, type Write } from '../../store/till.ts';
import { refundViewOf } from './refund-view.ts';
import { viewOf } from './view.ts';

/**
 * The rows of the outbox that tell what happened to a payment, to be written in the transaction in which it happens.
 * @param wanted which types this account's log keeps, as it was read before the transaction; default: what every log keeps
 */
export function announce(
  ids: Pick<Ids, 'uuid'>,
  livemode: boolean,
  payment: Payment,
  from: PaymentStatus,
  types: readonly EventType[],
  wanted: SubscribedTypes = always,
): Write[] {
  return types
    .filter((type) => wanted.has(type))
    .map((type) => put(events, paymentEvent(ids, livemode, payment, from, type)));
}

export const changeOutcomes = ['carried_out', 'refused', 'charge_ended'] as const;

/** A change that is over, and how. */
export interface EndedChange {
  id: string;
  outcome: (typeof changeOutcomes)[number];
}

/** That a change of a charge with a due date has ended. @param charge as it is after it */
export const changedEvent = (
  ids: Pick<Ids, 'uuid'>,
  livemode: boolean,
  charge: Payment,
  from: PaymentStatus,
  dueChange: EndedChange,
): Write =>
  put(events, paymentEvent(ids, livemode, charge, from, 'charge.changed', charge.updatedAt, { dueChange }));

/**
 * The same for a refund.
 * @param charge as it is after the change
 */
export function announceRefund(
  ids: Pick<Ids, 'uuid'>,
  livemode: boolean,
  before: Refund,
  { refund, events: types }: Pick<RefundOutcome, 'refund' | 'events'>,
  charge: Payment,
  wanted: SubscribedTypes = always,
): Write[] {
  return types
    .filter((type) => wanted.has(type))
    .map((type) =>
      put(
        events,
        type === 'charge.refunded'
          ? paymentEvent(ids, livemode, charge, charge.status, type)
          : refundEvent(ids, livemode, refund, before, type),
      ),
    );
}

const refundEvent = (
  ids: Pick<Ids, 'uuid'>,
  livemode: boolean,
  refund: Refund,
  before: Refund,
  type: EventType,
) =>
  eventRow(ids, {
    accountId: refund.accountId,
    operationId: refund.operationId,
    paymentId: refund.paymentId,
    type,
    livemode,
    change: { from: before.status, to: refund.status },
    data: refundViewOf(refund),
    at: refund.updatedAt,
  });

/** @param at when it happened: for what is no change of the payment */
export function paymentEvent(
  ids: Pick<Ids, 'uuid'>,
  livemode: boolean,
  payment: Payment,
  from: PaymentStatus,
  type: EventType,
  at: number = payment.updatedAt,
  more: object = {},
) {
  const { accountId, operationId, id: paymentId, requestKey } = payment;
  return eventRow(ids, {
    accountId,
    operationId,
    paymentId,
    type,
    livemode,
    change: { from, to: payment.status },
    data: { ...viewOf(payment, 'pt-BR'), requestKey, ...more },
    at,
  });
}
