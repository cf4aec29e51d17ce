import { type ApiScope, type CellOf, onceForCell, type RouteFacts } from '../../edge/edge.ts';
import { eventStreamHeaders } from '../../edge/event-stream.ts';
import { type EventLogDeps, getEvent, listEvents } from '../../events/log.ts';
import { createStreams, type StreamDeps } from '../../events/stream.ts';
import { IdParams } from '../../ground/schema.ts';
import { EventListSchema, EventQuerySchema, EventSchema, StreamQuerySchema, StreamSchema } from './schema.ts';

const tags = ['Events'];
const facts: RouteFacts = { permissions: ['webhooks', 'read'], policy: 'reads', operation: 'syntax' };

/** Of the whole account, every operation: filtered by what is asked for and not by X-Service-Operation. */
export function eventRoutes(api: ApiScope, cellOf: CellOf<EventLogDeps & StreamDeps>): void {
  const streamsOf = onceForCell(cellOf, createStreams);

  api.get(
    '/events',
    {
      schema: {
        tags,
        summary: 'The events of the last 90 days',
        querystring: EventQuerySchema,
        response: { 200: EventListSchema },
      },
      config: { api: facts },
    },
    async (request, reply) => {
      const { events, nextCursor } = await listEvents(cellOf(request), request.caller, request.query);
      // The bodies go out as they are, the very bytes that were signed: no serializer touches them.
      const tail = JSON.stringify({ hasMore: nextCursor !== null, nextCursor }).slice(1);
      const text = `{"events":[${events.map(({ body }) => body).join(',')}],${tail}`;
      return reply
        .type('application/json; charset=utf-8')
        .serializer(asIs)
        .send(text as never);
    },
  );

  api.get(
    '/events/stream',
    {
      schema: {
        tags,
        summary: 'Events as they happen',
        querystring: StreamQuerySchema,
        response: { 200: StreamSchema },
      },
      config: { api: { ...facts, produces: 'text/event-stream' } },
    },
    async (request, reply) => {
      if (request.method === 'HEAD') return reply.type('text/event-stream; charset=utf-8').send('');
      const lastEventId = request.headers['last-event-id'];
      const opened = await streamsOf(request).open(request.caller, {
        lastEventId: Array.isArray(lastEventId) ? lastEventId.join() : lastEventId,
        types: request.query.types ?? null,
      });
      reply.hijack();
      reply.raw.writeHead(200, {
        ...(reply.getHeaders() as Record<string, string>),
        'content-type': 'text/event-stream; charset=utf-8',
        ...eventStreamHeaders,
      });
      opened.attach(reply.raw);
    },
  );

  api.get(
    '/events/:id',
    {
      schema: {
        tags,
        summary: 'One event',
        params: IdParams('Id of the event'),
        response: { 200: EventSchema },
      },
      config: { api: facts },
    },
    async (request, reply) => {
      const { body } = await getEvent(cellOf(request), request.caller, request.params.id);
      return reply
        .type('application/json; charset=utf-8')
        .serializer(asIs)
        .send(body as never);
    },
  );
}

const asIs = (text: unknown): string => text as string;
