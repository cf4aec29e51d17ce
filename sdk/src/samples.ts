import type { EventType, Payment, PaymentStatus, VintemEvent } from './types.ts';
import { keyOfSecret, signatureOf } from './webhook.ts';

/**
 * A webhook secret: `whsec_` and the base64 of 32 random bytes.
 *
 * @example
 * const secret = makeSecret();
 * const { body, headers } = signedWebhook('charge.paid', secret);
 * verifyWebhook(body, headers, [secret]);
 */
export const makeSecret = (): string =>
  `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;

/** From which state to which the payment of a sample goes. */
const changes: Record<
  Exclude<
    EventType,
    | `operation.${string}`
    | `dispute.${string}`
    | `refund.${string}`
    | `payment_link.${string}`
    | 'close.completed'
    | 'webhook.test'
  >,
  [PaymentStatus, PaymentStatus]
> = {
  'charge.created': ['unknown', 'pending'],
  'charge.paid': ['pending', 'paid'],
  'charge.expired': ['pending', 'expired'],
  'charge.failed': ['unknown', 'failed'],
  'charge.changed': ['pending', 'pending'],
  'charge.unexpected_payment': ['paid', 'paid'],
  'charge.card_refused': ['pending', 'pending'],
  'charge.card_available': ['paid', 'paid'],
  'charge.card_chargeback': ['paid', 'paid'],
  'charge.refunded': ['paid', 'paid'],
  'transfer.created': ['unknown', 'pending'],
  'transfer.completed': ['pending', 'completed'],
  'transfer.cancelled': ['pending', 'cancelled'],
  'transfer.returned': ['completed', 'completed'],
  'transfer.unknown': ['unknown', 'unknown'],
};

/**
 * An event as the service sends it, of R$ 10,00 (1000 cents), with an id of its own.
 *
 * @param data replaces members of `data`
 *
 * @example
 * const event = sampleEvent('charge.paid', { requestKey: crypto.randomUUID(), amountCents: 1990 });
 * console.log(event.change.to, event.data.amountCents);
 */
export function sampleEvent<Type extends EventType>(
  type: Type,
  data: Record<string, unknown> = {},
): Extract<VintemEvent, { type: Type }> & VintemEvent {
  const timestamp = new Date().toISOString();
  const operationId = '01939f3a-7a00-7000-8000-000000000003';
  const base = { id: crypto.randomUUID(), type, timestamp, schemaVersion: 1, livemode: false };
  const change = (changes as Record<string, [PaymentStatus, PaymentStatus] | undefined>)[type];
  const disputed = type.startsWith('dispute.') ? type.slice('dispute.'.length) : null;
  const status = disputed === 'opened' ? 'open' : disputed;
  const ofDispute = status && {
    ...base,
    change: { from: status === 'open' ? null : 'open', to: status },
    data: { ...dispute(operationId, status, timestamp), ...data },
  };
  const whole = change
    ? {
        ...base,
        change: { from: change[0], to: change[1] },
        data: { ...samplePayment(type.startsWith('charge'), change[1], timestamp), operationId, ...data },
      }
    : type === 'refund.completed' || type === 'refund.failed'
      ? refundSample(base, type === 'refund.completed' ? 'completed' : 'failed', { operationId, ...data })
      : {
          ...base,
          data:
            type === 'webhook.test'
              ? { operationId, ...data }
              : type === 'close.completed'
                ? { ...close(operationId, timestamp), ...data }
                : type.startsWith('payment_link.')
                  ? { ...link(operationId, type.slice('payment_link.'.length), timestamp), ...data }
                  : { ...operation(operationId, timestamp), ...data },
        };
  return (ofDispute ?? whole) as unknown as Extract<VintemEvent, { type: Type }> & VintemEvent;
}

const link = (operationId: string, event: string, at: string) => ({
  id: crypto.randomUUID(),
  operationId,
  title: 'Curso de cerâmica',
  description: '',
  amountCents: 1000,
  methods: ['pix'],
  maxPayments: 1,
  payerFields: { name: 'optional', document: 'none' },
  expiresAt: null,
  successUrl: null,
  status: event === 'expired' ? 'expired' : 'completed',
  openCount: 0,
  paidCount: event === 'expired' ? 0 : event === 'overpaid' ? 2 : 1,
  paidCents: event === 'expired' ? 0 : event === 'overpaid' ? 2000 : 1000,
  createdAt: at,
  updatedAt: at,
});

const close = (operationId: string, closedAt: string) => ({
  operationId,
  day: new Date(Date.parse(closedAt) - 86_400_000).toISOString().slice(0, 10),
  openingCents: 10_000,
  inCents: 5_000,
  outCents: 2_000,
  feeCents: 50,
  refundCents: 0,
  holdCents: 0,
  closingCents: 12_950,
  reservedCents: 0,
  heldCents: 0,
  lastSeq: 17,
  head: '5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef',
  closedAt,
});

function refundSample(base: { timestamp: string }, status: 'completed' | 'failed', data: object) {
  const at = base.timestamp;
  return {
    ...base,
    change: { from: 'pending', to: status },
    data: {
      id: crypto.randomUUID(),
      paymentId: crypto.randomUUID(),
      amountCents: 1000,
      status,
      reason: 'requested',
      description: '',
      createdAt: at,
      updatedAt: at,
      settledAt: status === 'completed' ? at : null,
      requestKey: crypto.randomUUID(),
      ...(status === 'completed'
        ? { endToEnd: `D${crypto.randomUUID().replaceAll('-', '').slice(1)}` }
        : { reasonCode: 'provider_refused' }),
      ...data,
    },
  };
}

function samplePayment(
  isCharge: boolean,
  status: PaymentStatus,
  at: string,
): Payment & { requestKey: string } {
  const settled = status === 'paid' || status === 'completed';
  return {
    id: crypto.randomUUID(),
    kind: isCharge ? 'deposit' : 'transfer',
    amountCents: 1000,
    status,
    createdAt: at,
    updatedAt: at,
    operationId: '',
    feeCents: isCharge ? 0 : 25,
    settledAt: settled ? at : null,
    paymentMethod: 'pix',
    expiresAt: isCharge ? at : null,
    ...(settled
      ? {
          endToEnd: `E${crypto.randomUUID().replaceAll('-', '').slice(1)}`,
          netAmountCents: isCharge ? 1000 : 975,
        }
      : {}),
    ...(status === 'paid' ? { paidAt: at } : {}),
    ...(isCharge ? {} : { debitAmountCents: 1000, expectedNetAmountCents: 975 }),
    ...(status === 'failed' || status === 'cancelled' ? { reasonCode: 'provider_refused' } : {}),
    requestKey: crypto.randomUUID(),
  };
}

const dispute = (operationId: string, status: string, at: string) => ({
  id: crypto.randomUUID(),
  paymentId: crypto.randomUUID(),
  operationId,
  status,
  amountCents: 1000,
  heldCents: status === 'rejected' || status === 'cancelled' ? 0 : 1000,
  debitedCents: 0,
  endToEnd: `E${crypto.randomUUID().replaceAll('-', '').slice(1)}`,
  reason: 'golpe',
  openedAt: at,
  deadlineAt: at,
  endedAt: status === 'open' || status === 'defending' ? null : at,
  createdAt: at,
  updatedAt: at,
});

const operation = (id: string, at: string) => ({
  id,
  name: 'Loja do Centro',
  isDefault: false,
  balanceCents: 0,
  balanceUpdatedAt: at,
  createdAt: at,
  operationId: id,
});

export interface SignedWebhook {
  /** To the byte as it is signed. */
  body: string;
  headers: Record<string, string>;
  event: VintemEvent;
}

/**
 * An event as it arrives at an endpoint: body and headers, signed now or at `at`.
 *
 * @param what a type, for a sample of it, or an event
 *
 * @example
 * const secret = makeSecret();
 * const { body, headers } = signedWebhook(sampleEvent('transfer.completed'), secret);
 * const tooOld = signedWebhook('charge.paid', secret, { at: new Date(Date.now() - 600_000) });
 * expect(verifyWebhook(body, headers, [secret]).type).toBe('transfer.completed');
 * expect(() => verifyWebhook(tooOld.body, tooOld.headers, [secret])).toThrow();
 */
export function signedWebhook(
  what: EventType | VintemEvent,
  secret: string,
  { at = new Date() }: { at?: Date | undefined } = {},
): SignedWebhook {
  const event = typeof what === 'string' ? sampleEvent(what) : what;
  const body = JSON.stringify(event);
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const signature = signatureOf(keyOfSecret(secret), event.id, timestamp, new TextEncoder().encode(body));
  const headers = {
    'content-type': 'application/json',
    'webhook-id': event.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature,
  };
  return { body, headers, event };
}
