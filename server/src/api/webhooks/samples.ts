import { viewOfFailedDefence } from '../../kinds/defence/failed-view.ts';
import { type DisputeView, viewOfDispute } from '../../kinds/dispute/view.ts';
import { viewOfLink } from '../../kinds/link/link.ts';
import { refundViewOf } from '../../kinds/payment/refund-view.ts';
import { viewOf } from '../../kinds/payment/view.ts';
import { newCard } from '../../money/card.ts';
import type { Dispute, DisputeEventType } from '../../money/dispute.ts';
import type { DueCharge } from '../../money/due.ts';
import { newPayment, type Payment, type PaymentStatus } from '../../money/payment.ts';
import { newRefund, type Refund, type RefundStatus } from '../../money/refund.ts';
import { closeExample } from '../../operate/closes/view.ts';
import type { DisputeStatus } from '../../provider/dispute-report.ts';
import { type EventContent, type EventType, eventTypes } from '../../store/events/event.ts';
import type { LinkStatus } from '../../store/rows/payment-links.sql.ts';

/**
 * A sample of each event, made by the functions that make the real ones: for tests of an endpoint, and for the pages.
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
    case 'charge.changed': {
      const view = viewOf({ ...charge(operationId, at), due, amountCents: 10_000 }, 'pt-BR');
      const dueChange = { id: '00000000-1c64-8b0e-b1a6-2f5d7a90c3e8', outcome: 'carried_out' };
      return { change: { from: 'pending', to: 'pending' }, data: { ...view, requestKey, dueChange } };
    }
    case 'charge.unexpected_payment':
      return ofPayment(
        { ...charge(operationId, at), ...settled(at), paidAt: at - 60_000, notice: 'paid_again' },
        'paid',
        'paid',
        at,
      );
    case 'charge.card_refused':
      return ofPayment(
        {
          ...charge(operationId, at),
          card: {
            ...newCard(60),
            status: 'refused',
            brand: 'visa',
            refusal: 'insufficient_funds',
            refusals: 1,
          },
        },
        'pending',
        'pending',
        at,
      );
    case 'charge.card_available': {
      const paid = { ...newCard(60), status: 'paid', brand: 'visa', last4: '4242' } as const;
      return ofPayment(
        {
          ...charge(operationId, at),
          ...settled(at),
          paidAt: at - 30 * 86_400_000,
          card: { ...paid, approval: 'pi_1', settlement: 'available', releaseAt: at },
        },
        'paid',
        'paid',
        at,
      );
    }
    case 'charge.card_chargeback': {
      const paid = { ...newCard(60), status: 'paid', brand: 'visa', last4: '4242' } as const;
      return ofPayment(
        {
          ...charge(operationId, at),
          ...{ paidAt: at - 86_400_000, notice: 'debited', disputed: true },
          card: { ...paid, approval: 'pi_1', settlement: 'held', releaseAt: at + 29 * 86_400_000 },
        },
        'paid',
        'paid',
        at,
      );
    }
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
    case 'dispute.opened':
    case 'dispute.defending':
    case 'dispute.accepted':
    case 'dispute.rejected':
    case 'dispute.cancelled':
      return ofDispute(type, operationId, at);
    case 'dispute.defence_failed': {
      const { data } = ofDispute('dispute.opened', operationId, at);
      return { change: { from: 'open', to: 'open' }, data: viewOfFailedDefence(data, 'provider_refused') };
    }
    case 'charge.refunded':
      return ofPayment(
        { ...charge(operationId, at), ...settled(at), paidAt: at - 86_400_000, refundedCents: 400 },
        'paid',
        'paid',
        at,
      );
    case 'refund.completed':
      return ofRefund(refund(operationId, at), 'completed', { rtrId: sampleReturn, settledAt: at });
    case 'refund.failed':
      return ofRefund(refund(operationId, at), 'failed', { reasonCode: 'provider_refused' });
    case 'payment_link.completed':
      return ofLink(operationId, at, { status: 'completed', paidCount: 12 });
    case 'payment_link.overpaid':
      return ofLink(operationId, at, { status: 'completed', paidCount: 13 });
    case 'payment_link.expired':
      return ofLink(operationId, at, { status: 'expired', paidCount: 3 });
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
    case 'close.completed':
      return { change: null, data: { ...closeExample, operationId } };
    case 'webhook.test':
      return { change: null, data: { operationId } };
  }
}

const sampleReturn = 'D12345678202611202044a1b2c3d4e5f';

function ofRefund(one: Refund, to: RefundStatus, news: Partial<Refund>): Sample {
  return { change: { from: 'pending', to }, data: refundViewOf({ ...one, ...news, status: to }) };
}

function refund(operationId: string, at: number): Refund {
  const begun = {
    accountId: '',
    id: '00000000-61d2-8c44-a05e-9d1f7b3a2e60',
    operationId,
    paymentId,
    endToEnd: 'E12345678202611202044a1b2c3d4e5f',
    reason: 'requested' as const,
    amountCents: 400,
    feeBackCents: null,
    description: 'Item devolvido',
    requestKey: '4a0e8f52-5a4e-4a63-8ff0-0d5c2a9b7c31',
    fingerprint: Buffer.alloc(0),
    command: '',
  };
  return { ...newRefund(begun, at - 1_000, { by: 'api', id: '' }), updatedAt: at };
}

export const sampleTypes = Object.keys(eventTypes) as EventType[];

const paymentId = '00000000-7f0e-8a31-9c1d-2b8f7d1a5e42';
const requestKey = '7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11';

function ofPayment(payment: Payment, from: PaymentStatus, to: PaymentStatus, at: number): Sample {
  const view = viewOf({ ...payment, status: to, updatedAt: at }, 'pt-BR');
  return { change: { from, to }, data: { ...view, requestKey } };
}

function ofDispute(type: DisputeEventType, operationId: string, at: number): Sample & { data: DisputeView } {
  const status = type === 'dispute.opened' ? 'open' : (type.slice('dispute.'.length) as DisputeStatus);
  const isFree = status === 'rejected' || status === 'cancelled';
  const dispute: Dispute = {
    accountId: '',
    id: '01939f3a-7c00-7000-8000-000000000007',
    paymentId,
    operationId,
    connection: '',
    providerId: '',
    endToEnd: 'E12345678202611202044a1b2c3d4e5f',
    amountCents: 1000,
    status,
    reason: 'golpe',
    openedAt: at - 3_600_000,
    deadlineAt: at + 3 * 86_400_000,
    endedAt: status === 'open' || status === 'defending' ? null : at,
    debitedCents: 0,
    holdId: null,
    releasedAt: null,
    createdAt: at,
    updatedAt: at,
    mailDueAt: null,
  };
  return {
    change: { from: status === 'open' ? null : 'open', to: status },
    data: viewOfDispute(dispute, isFree ? 0 : 1000),
  };
}

const due = {
  ...{ dueDate: '2026-12-10', validAfterDue: 30, document: '***.444.777-**', rebate: null, paid: null },
  ...{ fine: { type: 'percent', value: 200 }, interest: null, discounts: [] },
  fee: { fixedCents: 25, bps: 0 },
} as const satisfies DueCharge;

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
    connection: null,
  };
  const payment = newPayment(begun, 'unknown', at - 60_000, { by: 'api', id: '' });
  return { ...payment, status: 'pending', updatedAt: at, expiresAt: at + 86_340_000 };
}

function ofLink(
  operationId: string,
  at: number,
  { status, paidCount }: { status: LinkStatus; paidCount: number },
): Sample {
  const link = {
    ...{ accountId: '', id: '01939f3a-7a00-7000-8000-000000000091', operationId, requestKey: '' },
    ...{ title: 'Curso de cerâmica', description: 'Turma de sábado', amountCents: 25_000 },
    ...{ minimumCents: null, maximumCents: null, maxPayments: 12, nameField: 'required' as const },
    documentField: 'none' as const,
    ...{ takesPix: true, takesCard: true },
    ...{ expiresAt: at + 86_400_000, successUrl: null, metadata: null, status },
    ...{ openCount: 0, paidCount, paidCents: paidCount * 25_000 },
    ...{ createdAt: at - 86_400_000, updatedAt: at },
  };
  return { change: null, data: viewOfLink(link, at) };
}
