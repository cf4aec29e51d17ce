import { Type } from 'typebox';
import { Cents, NullableTime, OneOf, Time, Uuid } from '../../ground/schema.ts';
import { reasonCodes } from '../../money/payment.ts';
import { type Refund, refundReasons, refundStatuses } from '../../money/refund.ts';
import { isoOf } from './view.ts';

export const refundExample = {
  id: '00c0ffee-61d2-8c44-a05e-9d1f7b3a2e60',
  paymentId: '00c0ffee-7f0e-8a31-9c1d-2b8f7d1a5e42',
  operationId: '01939f3a-7a00-7000-8000-000000000003',
  amountCents: 400,
  status: 'completed',
  reason: 'requested',
  description: 'Item devolvido',
  createdAt: '2026-11-21T13:10:00.000Z',
  updatedAt: '2026-11-21T13:10:01.204Z',
  settledAt: '2026-11-21T13:10:01.204Z',
  requestKey: '4a0e8f52-5a4e-4a63-8ff0-0d5c2a9b7c31',
  endToEnd: 'D12345678202611211310a1b2c3d4e5f',
} as const;

export const RefundSchema = Type.Object(
  {
    id: Uuid('Id of the refund'),
    paymentId: Uuid('The charge'),
    operationId: Uuid('Business operation that owns the charge'),
    amountCents: Cents('Amount that goes back to the payer'),
    status: OneOf(
      refundStatuses,
      'unknown: not confirmed yet; pending: the provider has it; completed: the payer has the money; failed: refused, the amount is back in the balance',
    ),
    feeBackCents: Type.Optional(
      Cents(
        'Of the charge’s fee, what comes back to your balance when the refund completes; absent: the fee is kept',
        { minimum: 0 },
      ),
    ),
    reason: Type.String({
      description: 'Why it was made; more may be added',
      'x-extensible-enum': refundReasons,
    }),
    description: Type.String({ description: 'Message to the payer; may be empty' }),
    createdAt: Time('Creation'),
    updatedAt: Time('Last change; strictly increasing per refund'),
    settledAt: NullableTime('When the completion was posted'),
    requestKey: Uuid('Key of the request that created it'),
    endToEnd: Type.Optional(
      Type.String({
        description:
          'Id of the return in the payment system (`D…`); of a card payment, the acquirer’s name of the refund',
      }),
    ),
    reasonCode: Type.Optional(
      Type.String({
        description: 'Why it failed; more codes may be added',
        'x-extensible-enum': reasonCodes,
      }),
    ),
  },
  { title: 'Refund', examples: [refundExample] },
);

/** A refund as calls and events show it. */
export const refundViewOf = (refund: Refund) => ({
  id: refund.id,
  paymentId: refund.paymentId,
  operationId: refund.operationId,
  amountCents: refund.amountCents,
  ...(refund.feeBackCents !== null && { feeBackCents: refund.feeBackCents }),
  status: refund.status,
  reason: refund.reason,
  description: refund.description,
  createdAt: isoOf(refund.createdAt),
  updatedAt: isoOf(refund.updatedAt),
  settledAt: refund.settledAt === null ? null : isoOf(refund.settledAt),
  requestKey: refund.requestKey,
  ...(refund.rtrId !== null && { endToEnd: refund.rtrId }),
  ...(refund.reasonCode !== null && { reasonCode: refund.reasonCode }),
});
