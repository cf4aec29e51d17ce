import type { Static } from 'typebox';
import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import type { DeliveryRow } from '../../events/webhooks/deliveries.sql.ts';
import type { Endpoint } from '../../events/webhooks/endpoints.sql.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { type EventType, eventSchemaVersion, eventTypes } from '../../store/events/event.ts';
import { deliveryIdOf, getDelivery, listDeliveries, replay, retryNow, sendTest } from './deliveries.ts';
import {
  changeEndpoint,
  createEndpoint,
  endpointsPerAccount,
  getEndpoint,
  listEndpoints,
  removeEndpoint,
  rotateSecret,
  statusOf,
  type WebhooksDeps,
} from './endpoints.ts';
import {
  DeletedSchema,
  DeliveryListSchema,
  DeliveryParams,
  DeliveryQuery,
  DeliverySchema,
  EmptyBody,
  EventTypesSchema,
  NewWebhookBody,
  NewWebhookSchema,
  ReplayBody,
  ReplayedSchema,
  RetriedSchema,
  RotateBody,
  RotatedSchema,
  TestBody,
  TestedSchema,
  WebhookListSchema,
  WebhookParams,
  WebhookPatchBody,
  WebhookSchema,
} from './schema.ts';

const tags = ['Webhooks'];
const facts: RouteFacts = { permissions: ['webhooks'], policy: 'webhooks', operation: 'syntax' };
const reads: RouteFacts = { ...facts, policy: 'reads' };

/** With the installation's identity secret. */
type WebhookCell = WebhooksDeps & { identity: Buffer };

/** Endpoints belong to the account: every operation shares them, and X-Service-Operation is checked but means nothing here. */
export function webhookRoutes(api: ApiScope, cellOf: CellOf<WebhookCell>): void {
  collectionRoutes(api, cellOf);
  endpointRoutes(api, cellOf);
  endpointActionRoutes(api, cellOf);
  deliveryRoutes(api, cellOf);
}

function collectionRoutes(api: ApiScope, cellOf: CellOf<WebhookCell>): void {
  api.get(
    '/webhooks',
    {
      schema: { tags, summary: 'The webhook endpoints', response: { 200: WebhookListSchema } },
      config: { api: reads },
    },
    async (request) => ({
      webhooks: (await listEndpoints(cellOf(request), request.caller)).map(viewOfEndpoint),
      limit: endpointsPerAccount,
    }),
  );

  api.post(
    '/webhooks',
    {
      schema: {
        tags,
        summary: 'Register a webhook endpoint',
        body: NewWebhookBody,
        response: { 201: NewWebhookSchema },
      },
      config: { api: { ...facts, creates: true } },
    },
    async (request, reply) => {
      const deps = cellOf(request);
      const { endpoint, secret, replayed } = await createEndpoint(
        deps,
        deps.identity,
        request.caller,
        request.body,
      );
      if (replayed) reply.header('idempotent-replayed', 'true');
      const view = viewOfEndpoint(endpoint);
      return reply.code(201).send(secret === null ? view : { ...view, secret });
    },
  );

  api.get(
    '/webhooks/event-types',
    {
      schema: { tags, summary: 'What can be subscribed to', response: { 200: EventTypesSchema } },
      config: { api: reads },
    },
    async () => ({
      eventTypes: Object.entries(eventTypes).map(([type, { description }]) => ({
        type,
        description,
        schemaVersion: eventSchemaVersion,
      })),
    }),
  );
}

function endpointRoutes(api: ApiScope, cellOf: CellOf<WebhooksDeps>): void {
  api.get(
    '/webhooks/:id',
    {
      schema: {
        tags,
        summary: 'One webhook endpoint',
        params: WebhookParams,
        response: { 200: WebhookSchema },
      },
      config: { api: reads },
    },
    async (request) => viewOfEndpoint(await getEndpoint(cellOf(request), request.caller, request.params.id)),
  );

  api.patch(
    '/webhooks/:id',
    {
      schema: {
        tags,
        summary: 'Change a webhook endpoint, switch it on or off',
        params: WebhookParams,
        body: WebhookPatchBody,
        response: { 200: WebhookSchema },
      },
      config: { api: facts },
    },
    async (request) =>
      viewOfEndpoint(await changeEndpoint(cellOf(request), request.caller, request.params.id, request.body)),
  );

  api.delete(
    '/webhooks/:id',
    {
      schema: {
        tags,
        summary: 'Delete a webhook endpoint',
        params: WebhookParams,
        body: EmptyBody,
        response: { 200: DeletedSchema },
      },
      config: { api: facts },
    },
    async (request) => {
      await removeEndpoint(cellOf(request), request.caller, request.params.id);
      return { ok: true as const };
    },
  );
}

function endpointActionRoutes(api: ApiScope, cellOf: CellOf<WebhooksDeps>): void {
  api.post(
    '/webhooks/:id/rotate-secret',
    {
      schema: {
        tags,
        summary: 'A new secret; the old one signs as well for a while',
        params: WebhookParams,
        body: RotateBody,
        response: { 200: RotatedSchema },
      },
      config: { api: facts },
    },
    async (request, reply) => {
      const rotated = await rotateSecret(cellOf(request), request.caller, request.params.id, request.body);
      const previousSecretExpiresAt = isoOf(rotated.previousSecretExpiresAt);
      return reply.code(200).send({ secret: rotated.secret, previousSecretExpiresAt });
    },
  );

  api.post(
    '/webhooks/:id/test',
    {
      schema: {
        tags,
        summary: 'Send a test event to this endpoint alone',
        params: WebhookParams,
        body: TestBody,
        response: { 202: TestedSchema },
      },
      config: { api: facts },
    },
    async (request, reply) => {
      const { type = 'webhook.test' } = request.body;
      const deliveryId = await sendTest(
        cellOf(request),
        request.caller,
        request.params.id,
        type as EventType,
      );
      return reply.code(202).send({ deliveryId });
    },
  );
}

function deliveryRoutes(api: ApiScope, cellOf: CellOf<WebhooksDeps>): void {
  api.get(
    '/webhooks/:id/deliveries',
    {
      schema: {
        tags,
        summary: 'What was sent to an endpoint, and how it ended',
        params: WebhookParams,
        querystring: DeliveryQuery,
        response: { 200: DeliveryListSchema },
      },
      config: { api: reads },
    },
    async (request) => {
      const { id } = request.params;
      const { deliveries, nextCursor } = await listDeliveries(
        cellOf(request),
        request.caller,
        id,
        request.query,
      );
      return {
        deliveries: deliveries.map((delivery) => viewOfDelivery(id, delivery)),
        hasMore: nextCursor !== null,
        nextCursor,
      };
    },
  );

  api.get(
    '/webhooks/:id/deliveries/:deliveryId',
    {
      schema: {
        tags,
        summary: 'One delivery with its attempts',
        params: DeliveryParams,
        response: { 200: DeliverySchema },
      },
      config: { api: reads },
    },
    async (request) => {
      const { id, deliveryId } = request.params;
      return viewOfDelivery(id, await getDelivery(cellOf(request), request.caller, id, deliveryId));
    },
  );

  api.post(
    '/webhooks/:id/deliveries/:deliveryId/retry',
    {
      schema: {
        tags,
        summary: 'One attempt more, now',
        params: DeliveryParams,
        body: EmptyBody,
        response: { 202: RetriedSchema },
      },
      config: { api: facts },
    },
    async (request, reply) => {
      const { id, deliveryId } = request.params;
      await retryNow(cellOf(request), request.caller, id, deliveryId);
      return reply.code(202).send({ deliveryId });
    },
  );

  api.post(
    '/webhooks/:id/replay',
    {
      schema: {
        tags,
        summary: 'Send events of up to 7 days again',
        params: WebhookParams,
        body: ReplayBody,
        response: { 202: ReplayedSchema },
      },
      config: { api: facts },
    },
    async (request, reply) => {
      const scheduled = await replay(cellOf(request), request.caller, request.params.id, request.body);
      return reply.code(202).send({ scheduled });
    },
  );
}

function viewOfEndpoint(endpoint: Endpoint): Static<typeof WebhookSchema> {
  return {
    id: endpoint.id,
    url: endpoint.url,
    events: endpoint.events,
    description: endpoint.description,
    operationIds: endpoint.operationIds,
    enabled: endpoint.enabled,
    status: statusOf(endpoint),
    disabledReason: endpoint.disabledReason,
    disabledAt: endpoint.disabledAt === null ? null : isoOf(endpoint.disabledAt),
    secretHint: endpoint.secretHint,
    schemaVersion: endpoint.schemaVersion,
    createdAt: isoOf(endpoint.createdAt),
    updatedAt: isoOf(endpoint.updatedAt),
  };
}

function viewOfDelivery(endpointId: string, delivery: DeliveryRow): Static<typeof DeliverySchema> {
  const { eventId, type, status, attempts, dueAt, createdAt } = delivery;
  return {
    id: deliveryIdOf(endpointId, eventId),
    eventId,
    type,
    status,
    attempts,
    // A first attempt has no time of its own: it is made as soon as there is a place.
    nextAttemptAt: status === 'pending' ? isoOf(dueAt ?? createdAt) : null,
    createdAt: isoOf(createdAt),
  };
}
