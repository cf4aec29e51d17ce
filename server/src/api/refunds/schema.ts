import { Type } from 'typebox';
import { Body, Cents, Text, Uuid } from '../../ground/schema.ts';
import { RefundSchema } from '../../kinds/payment/refund-view.ts';

export const RefundBody = Body(
  {
    amountCents: Type.Optional(
      Cents('Amount to give back; default: all that is left of the charge', {
        minimum: 1,
        maximum: 100_000_000,
      }),
    ),
    description: Type.Optional(Text('Message to the payer', { minLength: 0, maxLength: 140 })),
    requestKey: Uuid('Made by the caller, once per refund; repeat it, never replace it, after a timeout'),
  },
  {
    examples: [
      {
        amountCents: 400,
        description: 'Item devolvido',
        requestKey: '4a0e8f52-5a4e-4a63-8ff0-0d5c2a9b7c31',
      },
    ],
  },
);

export const RefundPageQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 100, description: 'Refunds per page' }),
    ),
    cursor: Type.Optional(Type.String({ maxLength: 200, description: '`nextCursor` of the page before' })),
  },
  { additionalProperties: false },
);

export const nextRefunds = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  description: 'For the next page of the same charge; valid for 7 days',
});

export const RefundListSchema = Type.Object({
  refunds: Type.Array(RefundSchema, { description: 'Oldest first' }),
  hasMore: Type.Boolean({ description: 'Later ones follow' }),
  nextCursor: nextRefunds,
});
