import { eventRow, events } from '../events/event.ts';
import type { House } from '../house.ts';
import { put, type Write } from '../ledger/till.ts';
import type { Payment, PaymentStatus } from '../payments/payment.ts';
import type { PaymentEventType } from '../payments/state.ts';
import { viewOf } from '../payments/view.ts';

/** Kept in the event log; `charge.created` and `transfer.created` are for those who subscribe to them. */
const kept: ReadonlySet<PaymentEventType> = new Set([
  'charge.paid',
  'charge.expired',
  'charge.failed',
  'transfer.completed',
  'transfer.cancelled',
  'transfer.returned',
]);

/** The rows of the outbox that tell what happened to a payment, to be written in the transaction in which it happens. */
export function announce(
  house: House,
  connection: string,
  payment: Payment,
  from: PaymentStatus,
  types: readonly PaymentEventType[],
): Write[] {
  const { accountId, operationId, id: paymentId, requestKey, updatedAt } = payment;
  return types
    .filter((type) => kept.has(type))
    .map((type) =>
      put(
        events,
        eventRow(house.ids, {
          accountId,
          operationId,
          paymentId,
          type,
          livemode: connection === 'live',
          change: { from, to: payment.status },
          data: { ...viewOf(payment, 'pt-BR'), requestKey },
          at: updatedAt,
        }),
      ),
    );
}
