import { type EventType, eventSchemaVersion, eventTypes } from '../events/event.ts';
import { OperationSchema } from '../operations/schema.ts';
import { PaymentSchema } from '../payments/schema.ts';
import { sampleOf, sampleTypes } from './samples.ts';

const sampleOperation = '01939f3a-7a00-7000-8000-000000000003';

/** Every event as the document shows it: its whole body, and one that the real functions made. */
export const describedEvents = sampleTypes.map((type) => {
  const { change, data } = sampleOf(type, sampleOperation, Date.UTC(2026, 10, 20, 20, 43, 18));
  return {
    type,
    description: eventTypes[type].description,
    schema: bodyOf(type),
    example: {
      id: '01939f3a-7c00-7000-8000-000000000001',
      type,
      timestamp: '2026-11-20T20:43:18.000Z',
      schemaVersion: eventSchemaVersion,
      livemode: false,
      ...(change ? { change } : {}),
      data,
    },
  };
});

function bodyOf(type: EventType): Record<string, unknown> {
  const ofPayment = type.startsWith('charge.') || type.startsWith('transfer.');
  return {
    type: 'object',
    properties: {
      id: { type: 'string', format: 'uuid', description: 'Id of the event, the `webhook-id`' },
      type: { type: 'string', const: type },
      timestamp: { type: 'string', format: 'date-time', description: 'When it happened' },
      schemaVersion: { type: 'integer', description: 'Version of the payload' },
      livemode: { type: 'boolean', description: 'false: of a test account, or a sample' },
      ...(ofPayment && {
        change: {
          type: 'object',
          description: 'The state that was left and the one that was entered',
          properties: { from: { type: ['string', 'null'] }, to: { type: 'string' } },
          required: ['from', 'to'],
        },
      }),
      data: dataOf(type, ofPayment),
    },
    required: [
      'id',
      'type',
      'timestamp',
      'schemaVersion',
      'livemode',
      'data',
      ...(ofPayment ? ['change'] : []),
    ],
  };
}

function dataOf(type: EventType, ofPayment: boolean): Record<string, unknown> {
  const operation = { type: 'string', format: 'uuid', description: 'The business operation' };
  if (type === 'webhook.test') {
    return { type: 'object', properties: { operationId: operation }, required: ['operationId'] };
  }
  if (!ofPayment) {
    const more = { type: 'object', properties: { operationId: operation }, required: ['operationId'] };
    return { description: 'The operation as it was then', allOf: [OperationSchema, more] };
  }
  const requestKey = { type: 'string', format: 'uuid', description: 'As the caller gave it' };
  return {
    description: 'The payment as it was then, without its code',
    allOf: [PaymentSchema, { type: 'object', properties: { requestKey }, required: ['requestKey'] }],
  };
}
