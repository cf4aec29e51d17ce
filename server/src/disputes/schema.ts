import { Type } from 'typebox';
import { OneOf } from '../http/schema.ts';
import { DisputeSchema, disputeStatuses } from '../settlement/disputes/view.ts';

export const DisputeListSchema = Type.Object({
  disputes: Type.Array(DisputeSchema, { description: 'Newest first' }),
  hasMore: Type.Boolean({ description: 'Older ones follow' }),
  nextCursor: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'For the next page, with the same filters; valid for 7 days',
  }),
});

export const DisputeQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 100, description: 'Disputes per page' }),
    ),
    cursor: Type.Optional(Type.String({ maxLength: 200, description: '`nextCursor` of the page before' })),
    status: Type.Optional(
      Type.Array(OneOf(disputeStatuses, 'State'), { description: 'Only these states, separated by commas' }),
    ),
  },
  { additionalProperties: false },
);
