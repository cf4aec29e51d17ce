import { Type } from 'typebox';
import { Body, NullableTime, OneOf, Text, Time, Uuid } from '../../ground/schema.ts';
import { eventTypes } from '../../store/events/event.ts';

const types = Object.keys(eventTypes);

export const urlMost = 2048;
export const descriptionMost = 200;

const Url = Text('Address that events are sent to: https, a public name', {
  minLength: 1,
  maxLength: urlMost,
});
const Events = Type.Array(OneOf(['*', ...types], 'Event type, or * for all'), {
  minItems: 1,
  maxItems: types.length + 1,
  description: 'Which events; `["*"]` includes types that are added later, a list never grows by itself',
});
const Description = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  maxLength: descriptionMost,
  description: 'A name for people',
});
const OperationIds = Type.Unsafe<string[] | null>({
  type: ['array', 'null'],
  items: { type: 'string', format: 'uuid' },
  minItems: 1,
  maxItems: 10,
  description: 'Only events of these business operations; null: of all, later ones included',
});

const webhookExample = {
  id: '01939f3a-7d00-7000-8000-000000000004',
  url: 'https://loja.example.com/vintem',
  events: ['charge.paid', 'transfer.completed'],
  description: 'Loja',
  operationIds: null,
  enabled: true,
  status: 'active',
  disabledReason: null,
  disabledAt: null,
  secretHint: 'whsec_…wdHh',
  schemaVersion: 1,
  createdAt: '2026-11-20T20:43:18.000Z',
  updatedAt: '2026-11-20T20:43:18.000Z',
};

const fields = {
  id: Uuid('Id of the endpoint'),
  url: Type.String({ description: 'Address' }),
  events: Type.Array(Type.String(), { description: 'Which events' }),
  description: Description,
  operationIds: OperationIds,
  enabled: Type.Boolean({ description: 'Whether events are sent' }),
  status: OneOf(['active', 'failing', 'disabled'], 'How it fares'),
  disabledReason: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: '`by_request`, `gone` (it answered 410), `failing` (five days without a success)',
  }),
  disabledAt: NullableTime('When it was disabled; a replay since then sends what was skipped'),
  secretHint: Type.String({ description: 'The end of the secret' }),
  schemaVersion: Type.Integer({ description: 'Version of the payloads, as of the creation' }),
  createdAt: Time('Creation'),
  updatedAt: Time('Last change'),
};

export const WebhookSchema = Type.Object(fields, { title: 'Webhook', examples: [webhookExample] });

export const NewWebhookSchema = Type.Object(
  {
    ...fields,
    secret: Type.Optional(
      Type.String({ description: 'What signatures are verified with; shown this once, not to a repeat' }),
    ),
  },
  {
    title: 'CreatedWebhook',
    examples: [{ ...webhookExample, secret: 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=' }],
  },
);

export const WebhookListSchema = Type.Object({
  webhooks: Type.Array(WebhookSchema, { description: 'The oldest first' }),
  limit: Type.Integer({ const: 10, description: 'Always 10' }),
});

export const NewWebhookBody = Body(
  {
    url: Url,
    events: Events,
    description: Type.Optional(Description),
    operationIds: Type.Optional(OperationIds),
    requestKey: Uuid('Made by the caller, once per endpoint'),
  },
  {
    examples: [
      {
        url: 'https://loja.example.com/vintem',
        events: ['charge.paid', 'transfer.completed'],
        requestKey: '0e6b4a2e-6f0e-4d2a-9a53-2f1f0b1c7d11',
      },
    ],
  },
);

export const WebhookPatchBody = Body(
  {
    url: Type.Optional(Url),
    events: Type.Optional(Events),
    description: Type.Optional(Description),
    operationIds: Type.Optional(OperationIds),
    enabled: Type.Optional(Type.Boolean({ description: 'false: events are recorded as skipped' })),
  },
  { examples: [{ enabled: true }] },
);

export const RotateBody = Body(
  {
    overlapHours: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 168,
        default: 24,
        description: 'How long the old one signs as well',
      }),
    ),
    force: Type.Optional(Type.Boolean({ default: false, description: 'Also inside of an overlap' })),
  },
  { examples: [{ overlapHours: 24 }] },
);

export const RotatedSchema = Type.Object({
  secret: Type.String({ description: 'Shown this once' }),
  previousSecretExpiresAt: Time('Until then every message carries both signatures'),
});

export const TestBody = Body({
  type: Type.Optional(OneOf(types, 'A sample of this type instead of `webhook.test`')),
});
export const TestedSchema = Type.Object({ deliveryId: Uuid('Id of the delivery') });

export const EmptyBody = Body({});
export const DeletedSchema = Type.Object({ ok: Type.Boolean({ description: 'Always true' }) });

export const EventTypesSchema = Type.Object({
  eventTypes: Type.Array(
    Type.Object({
      type: Type.String(),
      description: Type.String(),
      schemaVersion: Type.Integer(),
    }),
  ),
});

const deliveryStatuses = ['pending', 'delivered', 'failed', 'skipped'] as const;

const AttemptSchema = Type.Object({
  n: Type.Integer({ description: 'Number, from 1' }),
  at: Time('Start'),
  statusCode: Type.Unsafe<number | null>({ type: ['integer', 'null'], description: 'Null: no answer' }),
  error: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'Null: an answer' }),
  durationMs: Type.Integer({ description: 'Until the answer or the error' }),
  responseSnippet: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description:
      'The beginning of the answer: at most 1 KiB, of the last three attempts. 64 bytes once the account has stored 4 MB of answers, and its 64 bytes a second beyond',
  }),
});

export const DeliverySchema = Type.Object(
  {
    id: Uuid('Id of the delivery'),
    eventId: Uuid('Id of the event, the `webhook-id`'),
    type: Type.String({ description: 'Type of the event' }),
    status: OneOf(
      deliveryStatuses,
      'skipped: the endpoint was disabled; failed: no more attempts by themselves',
    ),
    attempts: Type.Array(AttemptSchema, { description: 'The last 50' }),
    nextAttemptAt: NullableTime('The next attempt'),
    createdAt: Time('Creation'),
  },
  {
    title: 'Delivery',
    examples: [
      {
        id: '01939f3a-7c00-8000-8000-000000000005',
        eventId: '01939f3a-7c00-7000-8000-000000000001',
        type: 'transfer.completed',
        status: 'delivered',
        attempts: [
          {
            n: 1,
            at: '2026-11-20T20:43:18.120Z',
            statusCode: 200,
            error: null,
            durationMs: 41,
            responseSnippet: 'ok',
          },
        ],
        nextAttemptAt: null,
        createdAt: '2026-11-20T20:43:18.060Z',
      },
    ],
  },
);

const nextCursor = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  description: 'For the next page, with the same filters; valid for 7 days',
});

export const DeliveryListSchema = Type.Object({
  deliveries: Type.Array(DeliverySchema, { description: 'Those of the newest events first' }),
  hasMore: Type.Boolean({ description: 'More may follow' }),
  nextCursor,
});

export const DeliveryQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 100, description: 'Deliveries per page' }),
    ),
    cursor: Type.Optional(Type.String({ maxLength: 200, description: '`nextCursor` of the page before' })),
    status: Type.Optional(OneOf(deliveryStatuses, 'Only with this status')),
    eventId: Type.Optional(Uuid('Only of this event: one or none')),
  },
  { additionalProperties: false },
);

export const RetriedSchema = Type.Object({ deliveryId: Uuid('Id of the delivery') });

export const ReplayBody = Body(
  {
    from: Time('Events created at or after'),
    to: Type.Optional(Time('Events created before; default: now')),
    types: Type.Optional(Type.Array(OneOf(types, 'Event type'), { minItems: 1, maxItems: types.length })),
    onlyFailed: Type.Optional(
      Type.Boolean({
        default: true,
        description: 'Only what failed or was skipped; false: everything again',
      }),
    ),
  },
  { examples: [{ from: '2026-11-20T00:00:00Z' }] },
);

export const ReplayedSchema = Type.Object({
  scheduled: Type.Integer({ description: 'How many are sent, a hundred a second; at most 10,000 per call' }),
});

export const WebhookParams = Type.Object({ id: Uuid('Id of the endpoint') });
export const DeliveryParams = Type.Object({
  id: Uuid('Id of the endpoint'),
  deliveryId: Uuid('Id of the delivery'),
});
