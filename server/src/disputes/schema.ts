import { Type } from 'typebox';
import { printableLines } from '../ground/printable.ts';
import { Body, NullableTime, OneOf, Time, Uuid } from '../http/schema.ts';
import { isoOf } from '../payments/view.ts';
import { defenceReasons, defenceStatuses } from '../settlement/disputes/defence.ts';
import type { DefenceOf, OpenedDefence } from '../settlement/disputes/defend.ts';
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

const defenceExample = {
  disputeId: '01939f3a-7c00-7000-8000-000000000007',
  status: 'sent',
  text: 'O produto foi entregue em 20/11, com assinatura do cliente.',
  createdAt: '2026-11-21T15:00:00.000Z',
  updatedAt: '2026-11-21T15:00:02.310Z',
  sentAt: '2026-11-21T15:00:02.310Z',
} as const;

export const DefenceBody = Body(
  {
    text: Type.String({
      minLength: 1,
      maxLength: 1000,
      pattern: printableLines,
      'x-trim': true,
      description: 'Why the Pix was rightly received. It cannot be changed once it is sent',
    }),
  },
  { examples: [{ text: defenceExample.text }] },
);

export const DefenceSchema = Type.Object(
  {
    disputeId: Uuid('The dispute that it answers'),
    status: OneOf(
      defenceStatuses,
      'pending: not sent yet; unknown: sent, and not confirmed yet; sent: the provider has it; failed: the provider certainly has not',
    ),
    text: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'Null once the data of the payer is anonymised',
    }),
    createdAt: Time('Creation'),
    updatedAt: Time('Last change'),
    sentAt: NullableTime('When it was known that the provider has it'),
    reasonCode: Type.Optional(
      Type.String({
        description: 'Why it failed; more codes may be added',
        'x-extensible-enum': defenceReasons,
      }),
    ),
  },
  { title: 'Defence', examples: [defenceExample] },
);

export const DefenceOfDisputeSchema = Type.Object(
  {
    offer: Type.Union(
      [
        Type.Object({
          textMost: Type.Integer({
            description: 'Longest text, in UTF-16 code units: some symbols count as two',
          }),
        }),
        Type.Null(),
      ],
      { description: 'What a defence may contain at this moment; null: none is taken, or no further one' },
    ),
    defence: Type.Union([DefenceSchema, Type.Null()], { description: 'Null: there is none' }),
  },
  { examples: [{ offer: null, defence: defenceExample }] },
);

export const defenceViewOf = (defence: OpenedDefence) => ({
  disputeId: defence.disputeId,
  status: defence.status,
  text: defence.text,
  createdAt: isoOf(defence.createdAt),
  updatedAt: isoOf(defence.updatedAt),
  sentAt: defence.sentAt === null ? null : isoOf(defence.sentAt),
  ...(defence.reason !== null && { reasonCode: defence.reason }),
});

export const defenceOfDisputeView = ({ offer, defence }: DefenceOf) => ({
  offer,
  defence: defence && defenceViewOf(defence),
});
