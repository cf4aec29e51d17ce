import { Type } from 'typebox';
import { Cents, OneOf, Uuid } from '../../ground/schema.ts';
import { refundFees } from '../../money/refund.ts';

const Bps = (description: string) => Type.Integer({ minimum: 0, description });

export const SummarySchema = Type.Object(
  {
    operationId: Uuid('The selected business operation'),
    enabled: Type.Boolean({ description: 'Charges and transfers can be created' }),
    balanceCents: Cents('Available balance of the business operation'),
    feeCents: Cents('Fixed part of the withdrawal fee', { minimum: 0 }),
    cardFeeCents: Cents('Fixed part of the card fee', { minimum: 0 }),
    minimumCardCents: Cents('0: card payments are off', { minimum: 0 }),
    maximumCardCents: Cents('0: card payments are off', { minimum: 0 }),
    cardHeldCents: Cents('Card payments that the acquirer has not released; not in the balance', {
      minimum: 0,
    }),
    minimumDepositCents: Cents('Smallest charge', { minimum: 0 }),
    maximumDepositCents: Cents('Largest charge', { minimum: 0 }),
    minimumWithdrawalCents: Cents('Smallest transfer', { minimum: 0 }),
    maximumWithdrawalCents: Cents('Largest transfer', { minimum: 0 }),
    reservedWithdrawalCents: Cents('Reserved for unfinished transfers of the business operation', {
      minimum: 0,
    }),
    depositFeeCents: Cents('Fixed part of the charge fee', { minimum: 0 }),
    withdrawalFeeBps: Bps('Percentage part of the withdrawal fee, in hundredths of a percent'),
    depositFeeBps: Bps('Percentage part of the charge fee, in hundredths of a percent'),
    cardFeeBps: Bps('Percentage part of the card fee, in hundredths of a percent'),
    refundFees: OneOf(
      refundFees,
      'returned: a refund brings back its part of the charge’s fee; kept: the fee stays',
    ),
  },
  {
    title: 'AccountSummary',
    examples: [
      {
        operationId: '01939f3a-7a00-7000-8000-000000000003',
        enabled: true,
        balanceCents: 125000,
        feeCents: 25,
        cardFeeCents: 0,
        minimumCardCents: 0,
        maximumCardCents: 0,
        cardHeldCents: 0,
        minimumDepositCents: 200,
        maximumDepositCents: 200000,
        minimumWithdrawalCents: 1000,
        maximumWithdrawalCents: 1000000,
        reservedWithdrawalCents: 0,
        depositFeeCents: 0,
        withdrawalFeeBps: 0,
        depositFeeBps: 0,
        cardFeeBps: 0,
        refundFees: 'kept',
      },
    ],
  },
);
