import { type EventType, eventRow, events } from '../events/event.ts';
import { always, type SubscribedTypes } from '../events/subscribed-types.ts';
import { put, type Write } from '../ledger/till.ts';
import type { Payment, PaymentStatus } from '../payments/payment.ts';
import { viewOf } from '../payments/view.ts';
import type { Ids } from '../ports/ids.ts';

/**
 * The rows of the outbox that tell what happened to a payment, to be written in the transaction in which it happens.
 * @param wanted which types this account's log keeps, as it was read before the transaction; default: what every log keeps
 */
export function announce(
  ids: Pick<Ids, 'uuid'>,
  connection: string,
  payment: Payment,
  from: PaymentStatus,
  types: readonly EventType[],
  wanted: SubscribedTypes = always,
): Write[] {
  return types
    .filter((type) => wanted.has(type))
    .map((type) => put(events, paymentEvent(ids, connection, payment, from, type)));
}

/** @param at when it happened: for what is no change of the payment */
export function paymentEvent(
  ids: Pick<Ids, 'uuid'>,
  connection: string,
  payment: Payment,
  from: PaymentStatus,
  type: EventType,
  at: number = payment.updatedAt,
) {
  const { accountId, operationId, id: paymentId, requestKey } = payment;
  return eventRow(ids, {
    accountId,
    operationId,
    paymentId,
    type,
    livemode: connection === 'live',
    change: { from, to: payment.status },
    data: { ...viewOf(payment, 'pt-BR'), requestKey },
    at,
  });
}
