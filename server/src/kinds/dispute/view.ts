import type { Static } from 'typebox';
import { Type } from 'typebox';
import { Cents, NullableTime, OneOf, Time, Uuid } from '../../ground/schema.ts';
import type { Dispute } from '../../money/dispute.ts';

export const disputeStatuses = ['open', 'defending', 'accepted', 'rejected', 'cancelled'] as const;

const example = {
  id: '01939f3a-7c00-7000-8000-000000000007',
  paymentId: '00c0ffee-7f0e-8a31-9c1d-2b8f7d1a5e42',
  operationId: '01939f3a-7a00-7000-8000-000000000003',
  status: 'open',
  amountCents: 1000,
  heldCents: 1000,
  debitedCents: 0,
  endToEnd: 'E12345678202611202044a1b2c3d4e5f',
  reason: 'golpe',
  openedAt: '2026-11-21T12:00:00.000Z',
  deadlineAt: '2026-11-24T12:00:00.000Z',
  endedAt: null,
  createdAt: '2026-11-21T12:04:10.000Z',
  updatedAt: '2026-11-21T12:04:10.000Z',
};

export const DisputeSchema = Type.Object(
  {
    id: Uuid('Id of the dispute'),
    paymentId: Uuid('The charge whose Pix or card payment is disputed'),
    operationId: Uuid('Business operation that owns the charge'),
    status: OneOf(disputeStatuses, 'State; decided by the settlement provider alone'),
    amountCents: Cents('What is disputed', { minimum: 1 }),
    heldCents: Cents('What is held for it at this moment; later credits fill it up', { minimum: 0 }),
    debitedCents: Cents('What the provider has taken of it', { minimum: 0 }),
    endToEnd: Type.String({
      description: 'End-to-end id of the disputed Pix; of a card payment, the acquirer’s name of the payment',
    }),
    reason: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: "The provider's word for why",
    }),
    openedAt: Time('When it was opened at the provider'),
    deadlineAt: NullableTime("The provider's deadline for the defence; null when it gives none"),
    endedAt: NullableTime('When its end was seen'),
    createdAt: Time('When it was seen first'),
    updatedAt: Time('Last change; strictly increasing per dispute'),
  },
  { title: 'Dispute', examples: [example] },
);

export type DisputeView = Static<typeof DisputeSchema>;

const isoOf = (ms: number): string => new Date(ms).toISOString();
const isoOrNull = (ms: number | null): string | null => (ms === null ? null : isoOf(ms));

export const viewOfDispute = (dispute: Dispute, heldCents: number): DisputeView => ({
  id: dispute.id,
  paymentId: dispute.paymentId,
  operationId: dispute.operationId,
  status: dispute.status,
  amountCents: dispute.amountCents,
  heldCents,
  debitedCents: dispute.debitedCents,
  endToEnd: dispute.endToEnd,
  reason: dispute.reason,
  openedAt: isoOf(dispute.openedAt),
  deadlineAt: isoOrNull(dispute.deadlineAt),
  endedAt: isoOrNull(dispute.endedAt),
  createdAt: isoOf(dispute.createdAt),
  updatedAt: isoOf(dispute.updatedAt),
});
