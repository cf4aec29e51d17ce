import { Type } from 'typebox';
import { OneOf, Time, Uuid } from '../../ground/schema.ts';
import { eventTypes } from '../../store/events/event.ts';

const types = Object.keys(eventTypes);

/** The payload as it was frozen: what it may carry besides is not filtered away. */
export const EventSchema = Type.Unsafe<object>({
  type: 'object',
  title: 'Event',
  properties: {
    id: { type: 'string', format: 'uuid', description: 'Id of the event, the `webhook-id`' },
    type: { type: 'string', description: 'More types may be added' },
    timestamp: { type: 'string', format: 'date-time', description: 'When it happened' },
    schemaVersion: { type: 'integer', description: 'Version of the payload' },
    livemode: { type: 'boolean', description: 'false: of a test account, or a sample' },
    change: {
      type: ['object', 'null'],
      description:
        'The state that was left and the one that was entered; only for payments, refunds and disputes',
      properties: { from: { type: ['string', 'null'] }, to: { type: 'string' } },
    },
    data: {
      type: 'object',
      description:
        'The payment, refund, dispute or business operation as it was then; always carries `operationId`',
      additionalProperties: true,
      properties: { operationId: { type: 'string', format: 'uuid' } },
      required: ['operationId'],
    },
  },
  required: ['id', 'type', 'timestamp', 'schemaVersion', 'livemode', 'data'],
  examples: [
    {
      id: '01939f3a-7c00-7000-8000-000000000001',
      type: 'transfer.completed',
      timestamp: '2026-11-20T20:43:18.000Z',
      schemaVersion: 1,
      livemode: false,
      change: { from: 'pending', to: 'completed' },
      data: {
        id: '01939f3a-7b00-7000-8000-000000000002',
        kind: 'transfer',
        amountCents: 1000,
        status: 'completed',
        createdAt: '2026-11-20T20:43:17.000Z',
        updatedAt: '2026-11-20T20:43:18.000Z',
        operationId: '01939f3a-7a00-7000-8000-000000000003',
        feeCents: 25,
        settledAt: '2026-11-20T20:43:18.000Z',
        paymentMethod: 'pix',
        expiresAt: null,
        requestKey: '0c3c1d5e-2a91-4c1b-8a53-6f9f3f1a9b20',
      },
    },
  ],
});

export const EventListSchema = Type.Object({
  events: Type.Array(EventSchema, { description: 'Newest first' }),
  hasMore: Type.Boolean({ description: 'Older ones may follow' }),
  nextCursor: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'For the next page, with the same filters; valid for 7 days',
  }),
});

export const EventQuerySchema = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 100, description: 'Events per page' }),
    ),
    cursor: Type.Optional(Type.String({ maxLength: 200, description: '`nextCursor` of the page before' })),
    type: Type.Optional(OneOf(types, 'Only this type')),
    paymentId: Type.Optional(Uuid('Only of this payment')),
    createdFrom: Type.Optional(Time('Created at or after; RFC 3339 with an offset or Z')),
    createdTo: Type.Optional(Time('Created before; RFC 3339 with an offset or Z')),
  },
  { additionalProperties: false },
);

export const StreamQuerySchema = Type.Object(
  {
    types: Type.Optional(
      Type.Array(OneOf(types, 'Event type'), { description: 'Only these types, separated by commas' }),
    ),
  },
  { additionalProperties: false },
);

export const StreamSchema = Type.String({
  description:
    'Server-sent events, as they are published: `id` is the place in the log, `event` the type, `data` the event. A client that comes back with `Last-Event-ID` misses nothing. A comment every 15 s keeps the connection.',
});
