import { type EventContent, type EventType, eventTypes } from '../events/event.ts';
import { newPayment, type Payment, type PaymentStatus } from '../payments/payment.ts';
import { viewOf } from '../payments/view.ts';

/**
 * What each event looks like, made by the functions that make the real ones: for tests of an endpoint, and for the pages.
 */
type Sample = Pick<EventContent, 'change' | 'data'>;

/** @param operationId carried at `data.operationId` */
export function sampleOf(type: EventType, operationId: string, at: number): Sample {
  switch (type) {
    case 'charge.created':
      return ofPayment(charge(operationId, at), 'unknown', 'pending', at);
    case 'charge.paid':
      return ofPayment(
        { ...charge(operationId, at), ...settled(at), paidAt: at - 1_000 },
        'pending',
        'paid',
        at,
      );
    case 'charge.expired':
      return ofPayment(charge(operationId, at), 'pending', 'expired', at);
    case 'charge.failed':
      return ofPayment(
        { ...charge(operationId, at), reasonCode: 'provider_refused' },
        'unknown',
        'failed',
        at,
      );
    case 'charge.unexpected_payment':
      return ofPayment(
        { ...charge(operationId, at), ...settled(at), paidAt: at - 60_000, notice: 'paid_again' },
        'paid',
        'paid',
        at,
      );
    case 'transfer.created':
      return ofPayment(transfer(operationId, at), 'unknown', 'pending', at);
    case 'transfer.completed':
      return ofPayment({ ...transfer(operationId, at), ...settled(at) }, 'pending', 'completed', at);
    case 'transfer.cancelled':
      return ofPayment(
        { ...transfer(operationId, at), reasonCode: 'recipient_refused' },
        'pending',
        'cancelled',
        at,
      );
    case 'transfer.returned':
      return ofPayment(
        { ...transfer(operationId, at), ...settled(at), returnedCents: 975, notice: 'returned' },
        'completed',
        'completed',
        at,
      );
    case 'transfer.unknown':
      return ofPayment(transfer(operationId, at), 'unknown', 'unknown', at);
    case 'operation.created':
    case 'operation.updated':
    case 'operation.deleted': {
      const time = new Date(at).toISOString();
      return {
        change: null,
        data: {
          id: operationId,
          name: 'Loja do Centro',
          isDefault: false,
          balanceCents: 0,
          balanceUpdatedAt: time,
          createdAt: time,
          operationId,
        },
      };
    }
    case 'webhook.test':
      return { change: null, data: { operationId } };
  }
}

export const sampleTypes = Object.keys(eventTypes) as EventType[];

const paymentId = '00000000-7f0e-8a31-9c1d-2b8f7d1a5e42';
const requestKey = '7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11';

function ofPayment(payment: Payment, from: PaymentStatus, to: PaymentStatus, at: number): Sample {
  const view = viewOf({ ...payment, status: to, updatedAt: at }, 'pt-BR');
  return { change: { from, to }, data: { ...view, requestKey } };
}

const settled = (at: number) => ({
  settledAt: at,
  endToEnd: 'E12345678202611202044a1b2c3d4e5f',
  providerFeeCents: 25,
  netAmountCents: 975,
});

function transfer(operationId: string, at: number): Payment {
  return { ...charge(operationId, at), kind: 'transfer', feeCents: 25, expiresAt: null, payerName: null };
}

function charge(operationId: string, at: number): Payment {
  const begun = {
    accountId: '',
    id: paymentId,
    operationId,
    kind: 'deposit' as const,
    amountCents: 1000,
    feeCents: 25,
    requestKey,
    fingerprint: Buffer.alloc(0),
    description: '',
    payerName: null,
    pixKey: null,
    pixKeyType: null,
    command: '',
  };
  const payment = newPayment(begun, 'unknown', at - 60_000, { by: 'api', id: '' });
  return { ...payment, status: 'pending', updatedAt: at, expiresAt: at + 86_340_000 };
}
