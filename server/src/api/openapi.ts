import type { FastifySchema } from 'fastify';
import type { RouteFacts } from '../edge/edge.ts';
import { catalogue, type ErrorCode, errorBody, fieldCodes, refuse, refuseFields } from '../ground/errors.ts';

/**
 * The OpenAPI 3.1 document, from the very schemas that the calls are checked with. Written here and not by a plugin: a route
 * already says everything in JSON Schema, which OpenAPI 3.1 takes as it is.
 */
export interface DescribedRoute {
  method: string;
  /** Below the base path, in the router's form: `/payments/:id`. */
  path: string;
  schema: FastifySchema & { summary?: string; tags?: readonly string[] };
  facts: RouteFacts;
}

/** The bodies that are sent to merchants' endpoints. */
export interface DescribedEvent {
  type: string;
  description: string;
  /** The whole body. */
  schema: Record<string, unknown>;
  example: object;
}

type Json = Record<string, unknown>;

export const interfaceVersion = '1.1.0';

/** @param address of the public API, base path included */
export function openApiOf(
  routes: readonly DescribedRoute[],
  address: string,
  events: readonly DescribedEvent[] = [],
): Json {
  const schemas: Json = { Error: errorSchema };
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = callOf(route, schemas);
  }
  const webhooks = Object.fromEntries(
    events.map((event) => [event.type, { post: webhookOf(event, schemas) }]),
  );
  if (events.length > 0) schemas.Event = unionOf(events);
  const used = new Set([
    ...routes.flatMap(({ schema }) => schema.tags ?? []),
    ...(events.length > 0 ? ['Notifications'] : []),
  ]);
  return {
    openapi: '3.1.0',
    info: {
      title: 'vintem',
      version: interfaceVersion,
      description: overview,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: address }],
    security: [{ apiKey: [] }],
    tags: tags.filter(({ name }) => used.has(name)),
    paths,
    webhooks,
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: `vtm_live_…` or `vtm_test_…`' },
      },
      parameters: {
        ServiceOperation: {
          name: 'X-Service-Operation',
          in: 'header',
          required: false,
          description: 'The business operation; without it the main one',
          schema: { type: 'string', format: 'uuid' },
        },
      },
      headers: {
        RequestId: {
          description: 'Id of the request',
          schema: { type: 'string', pattern: '^req_[0-9a-f]{32}$' },
        },
        IdempotentReplayed: {
          description: '`true` when the answer belongs to an earlier request with the same requestKey',
          schema: { type: 'string', const: 'true' },
        },
        RateLimitPolicy: { description: 'The limits that apply', schema: { type: 'string' } },
        RateLimit: { description: 'What is left of them', schema: { type: 'string' } },
        Deprecation: {
          description: 'Since when the call is deprecated (RFC 9745)',
          schema: { type: 'string', pattern: '^@[0-9]+$' },
        },
        RetryAfter: { description: 'Seconds to wait', schema: { type: 'integer', minimum: 1 } },
      },
      responses: Object.fromEntries(
        [...errorStatuses, ...unlisted].map((status) => [`Error${status}`, errorResponseOf(status)]),
      ),
      schemas,
    },
  };
}

const errorStatuses = [400, 401, 403, 404, 405, 413, 414, 415, 429, 500, 503];

/** Answers to what is no request of any of the calls. */
const unlisted = [408, 431];

const overview = `Pix charges, automatic Pix transfers and business operations. Amounts are integers in cents, times are RFC 3339 in UTC.

Every call carries \`Authorization: Bearer <API_KEY>\` and may name a business operation in \`X-Service-Operation\`; without it the
main one is used. Calls that create something carry a \`requestKey\`, a UUID of the caller's: the same request with the same key
returns the same resource and never pays twice. After a timeout or \`unknown\`, keep the key and look the payment up; never make another.

New fields of answers, event types, codes and headers may be added at any time; \`status\`, \`kind\` and the members of \`card\` are closed.`;

const tags = [
  { name: 'Charges', description: 'Payments received' },
  {
    name: 'Static codes',
    description: 'Codes that stay the same: any number of payers pay them, with or without an amount',
  },
  { name: 'Payment links', description: 'Public pages on which payers make charges of their own' },
  { name: 'Refunds', description: 'Received Pix that go back to their payers, in whole or in part' },
  {
    name: 'Disputes',
    description: 'Pix and card payments that a payer contests, with their deadlines and defences',
  },
  { name: 'Transfers', description: 'Payouts. The API key authorizes them: no code, no confirmation' },
  { name: 'Payments', description: 'Lookup of both; it never confirms anything' },
  { name: 'Account', description: 'Balance and conditions' },
  { name: 'Operations', description: 'Up to ten business operations, each with a balance of its own' },
  { name: 'Webhooks', description: 'Endpoints that events are sent to, signed after Standard Webhooks' },
  // A tag of its own: openapi-generator writes one file for each tag, and calls and webhooks overwrite each other's.
  { name: 'Notifications', description: 'The events as they are sent to an endpoint' },
  { name: 'Events', description: 'The log of what was sent' },
  {
    name: 'Test mode',
    description: 'Test accounts alone: the part of the payer, of the receiver and of the provider',
  },
];

const webhookHeader = (name: string, description: string, schema: Json): Json => ({
  name,
  in: 'header',
  required: true,
  description,
  schema,
});

/** One event as it is posted to an endpoint. */
function webhookOf({ type, description, schema, example }: DescribedEvent, schemas: Json): Json {
  return {
    operationId: `on${type.split('.').map(capital).join('')}`,
    tags: ['Notifications'],
    summary: type,
    description,
    // Our deliveries carry a signature and no API key.
    security: [],
    parameters: [
      webhookHeader(
        'webhook-id',
        'Id of the event: the same in every attempt, so duplicates are seen by it',
        {
          type: 'string',
        },
      ),
      webhookHeader('webhook-timestamp', 'Unix seconds of this attempt; refuse what is 5 minutes away', {
        type: 'string',
      }),
      webhookHeader(
        'webhook-signature',
        'Space-separated list of `v1,<base64 HMAC-SHA-256>` over `id.timestamp.body`',
        {
          type: 'string',
        },
      ),
    ],
    requestBody: {
      required: true,
      content: {
        'application/json': { schema: named(schema, schemas), examples: { [type]: { value: example } } },
      },
    },
    responses: { '2XX': { description: 'Taken. Anything else is tried again for three days' } },
  };
}

/** The event of the log: one of the bodies that are sent, distinguished by `type`. */
function unionOf(events: readonly DescribedEvent[]): Json {
  const refs = events.map(({ type, schema }) => [type, `#/components/schemas/${schema.title}`] as const);
  return {
    description: 'One event, as it was sent. Ignore types that you do not know: more may be added',
    oneOf: refs.map(([, $ref]) => ({ $ref })),
    discriminator: { propertyName: 'type', mapping: Object.fromEntries(refs) },
    examples: events.map(({ example }) => example),
  };
}

/** Something that fits the schema: its own example, or one made of its parts. */
export function exampleOf(schema: unknown): unknown {
  const { examples, properties, items, enum: choices, format, type, ...rest } = schema as Json;
  if (Array.isArray(examples)) return examples[0];
  if ('const' in rest) return rest.const;
  if ('default' in rest) return rest.default;
  if (Array.isArray(choices)) return choices[0];
  const first = Array.isArray(type) ? (type.includes('null') ? 'null' : type[0]) : type;
  switch (first) {
    case 'object':
      return Object.fromEntries(
        Object.entries((properties ?? {}) as Json).map(([name, field]) => [name, exampleOf(field)]),
      );
    case 'array':
      return [exampleOf(items)];
    case 'boolean':
      return false;
    case 'integer':
      return rest.minimum ?? 0;
    case 'null':
      return null;
    default:
      if (format === 'uuid') return '01939f3a-7a00-7000-8000-000000000003';
      return format === 'date-time' ? '2026-11-20T20:43:18.000Z' : 'text';
  }
}

function callOf({ method, path, schema, facts }: DescribedRoute, schemas: Json): Json {
  const body = schema.body as Json | undefined;
  const hasBody = body !== undefined || facts.consumes !== undefined;
  const [success = 200, answer] = Object.entries(schema.response as Record<string, Json>)[0] ?? [];
  const statuses = errorStatuses.filter((status) => {
    if (status === 413 || status === 415) return hasBody;
    if (status === 414) return schema.params !== undefined || schema.querystring !== undefined;
    // A creation answers 503 where another call answers 500.
    if (status === 500) return !facts.creates;
    return status !== 405;
  });
  return {
    operationId: nameOf(method, path),
    tags: schema.tags,
    summary: schema.summary,
    description: `Needs the permission ${facts.permissions.map((name) => `\`${name}\``).join(' or ')}.`,
    'x-permissions': facts.permissions,
    ...(facts.deprecatedAt !== undefined && { deprecated: true }),
    parameters: [
      ...parametersOf('path', schema.params as Json | undefined),
      ...parametersOf('query', schema.querystring as Json | undefined),
      { $ref: '#/components/parameters/ServiceOperation' },
    ],
    ...(body && {
      requestBody: {
        // Only a body without required fields may be left out.
        required: Array.isArray(body.required) && body.required.length > 0,
        content: { 'application/json': { schema: body } },
      },
    }),
    ...(facts.consumes && {
      requestBody: {
        required: true,
        content: Object.fromEntries(
          facts.consumes.map((type) => [type, { schema: { type: 'string', format: 'binary' } }]),
        ),
      },
    }),
    responses: {
      [success]: {
        description: 'Done',
        headers: {
          'X-Request-Id': { $ref: '#/components/headers/RequestId' },
          'RateLimit-Policy': { $ref: '#/components/headers/RateLimitPolicy' },
          RateLimit: { $ref: '#/components/headers/RateLimit' },
          ...(facts.deprecatedAt !== undefined && {
            Deprecation: { $ref: '#/components/headers/Deprecation' },
          }),
          ...(body?.properties !== undefined &&
            'requestKey' in (body.properties as Json) && {
              'Idempotent-Replayed': { $ref: '#/components/headers/IdempotentReplayed' },
            }),
        },
        content: {
          [facts.produces ?? 'application/json']: {
            schema: named(answer, schemas),
            examples: Object.fromEntries(
              Object.entries(facts.examples ?? { example: exampleOf(answer) }).map(([name, value]) => [
                name,
                { value },
              ]),
            ),
          },
        },
      },
      ...Object.fromEntries(
        statuses.map((status) => [status, { $ref: `#/components/responses/Error${status}` }]),
      ),
    },
  };
}

/** `POST /pix/charges` → `postPixCharges`, `GET /payments/:id` → `getPaymentsById`, `GET /statement.csv` → `getStatementCsv`. */
const nameOf = (method: string, path: string): string =>
  method.toLowerCase() +
  path
    .split(/[/.]/)
    .filter((part) => part !== '')
    .map((part) => (part.startsWith(':') ? `By${capital(part.slice(1))}` : capital(part)))
    .join('');

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

function parametersOf(place: 'path' | 'query', schema: Json | undefined): Json[] {
  const required = (schema?.required ?? []) as string[];
  return Object.entries((schema?.properties ?? {}) as Record<string, Json>).map(([name, field]) => {
    const { description, ...rest } = field;
    return {
      name,
      in: place,
      required: required.includes(name),
      description,
      schema: rest,
      // `status=paid,failed`
      ...(rest.type === 'array' && { style: 'form', explode: false }),
    };
  });
}

/** Schemas with a title stand once, under components. */
function named(schema: unknown, schemas: Json): unknown {
  if (Array.isArray(schema)) return schema.map((item) => named(item, schemas));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { title, ...rest } = schema as Json;
  // A property may have this name, and is no title.
  const members = typeof title === 'string' ? rest : (schema as Json);
  const inner = Object.fromEntries(
    Object.entries(members).map(([name, value]) => [
      name,
      name === 'examples' ? value : named(value, schemas),
    ]),
  );
  if (typeof title !== 'string') return inner;
  schemas[title] = inner;
  return { $ref: `#/components/schemas/${title}` };
}

const errorSchema: Json = {
  type: 'object',
  description: 'Branch on `statusCode` and `code`, never on `message`',
  properties: {
    statusCode: { type: 'integer' },
    message: {
      description: 'An array exactly when `code` is `validation_failed`: one string per field',
      anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
    },
    error: { type: 'string', description: 'Reason phrase of the status' },
    code: {
      type: 'string',
      description: 'More codes may be added',
      'x-extensible-enum': Object.keys(catalogue),
    },
    requestId: { type: 'string' },
    details: {
      type: 'array',
      description: 'What is wrong with which field, or which limit refused',
      items: {
        type: 'object',
        properties: {
          field: { type: 'string' },
          code: { type: 'string', description: 'More codes may be added', 'x-extensible-enum': fieldCodes },
          min: { type: 'integer' },
          max: { type: 'integer' },
          allowed: { type: 'array', items: { type: 'string' } },
          pixKeyType: { type: 'string', description: 'The type whose format the key does not have' },
          policy: { type: 'string', description: 'The rate limit that refused' },
          triesLeft: { type: 'integer', description: 'Codes that may still be tried' },
        },
      },
    },
    paymentId: { type: 'string', format: 'uuid', description: 'The payment that the refusal speaks of' },
  },
  required: ['statusCode', 'message', 'error', 'code', 'requestId'],
};

const exampleRequestId = 'req_01939f3a7c0070008000000000000001';

function errorResponseOf(status: number): Json {
  const codes = (Object.keys(catalogue) as ErrorCode[]).filter((code) => catalogue[code].status === status);
  const examples = codes.map((code) => {
    const refusal =
      code === 'validation_failed'
        ? refuseFields([
            { field: 'amountCents', code: 'out_of_range', min: 1000, max: 1_000_000 },
            { field: 'foo', code: 'unknown_property' },
          ])
        : refuse(code, { params: { permission: 'transfers', limit: '2000' } });
    return [code, { value: errorBody(refusal, 'en', exampleRequestId) }];
  });
  return {
    description: codes.map((code) => `\`${code}\``).join(', '),
    headers: {
      'X-Request-Id': { $ref: '#/components/headers/RequestId' },
      ...((status === 429 || status === 503) && {
        'Retry-After': { $ref: '#/components/headers/RetryAfter' },
      }),
    },
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(examples),
      },
    },
  };
}
