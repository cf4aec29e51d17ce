import { DisputeSchema } from '../../kinds/dispute/view.ts';
import { LinkSnapshotSchema } from '../../kinds/link/link.ts';
import { changeOutcomes } from '../../kinds/payment/payment-events.ts';
import { RefundSchema } from '../../kinds/payment/refund-view.ts';
import { PaymentSchema } from '../../kinds/payment/schema.ts';
import { defenceReasons } from '../../money/defence.ts';
import { CloseSchema } from '../../operate/closes/view.ts';
import { type EventType, eventSchemaVersion, eventTypes } from '../../store/events/event.ts';
import { OperationSchema } from '../operations/schema.ts';
import { sampleOf, sampleTypes } from './samples.ts';

const defence = {
  title: 'FailedDefence',
  type: 'object',
  description: 'The defence that the provider certainly has not',
  properties: {
    status: { title: 'FailedDefenceStatus', type: 'string', enum: ['failed'] },
    reasonCode: {
      type: 'string',
      description: 'Why it failed; more codes may be added',
      'x-extensible-enum': defenceReasons,
    },
  },
  required: ['status', 'reasonCode'],
};

const dueChange = {
  title: 'EndedDueChange',
  type: 'object',
  description: 'The change, and how it ended',
  properties: {
    id: { type: 'string', format: 'uuid', description: 'As `changeId` of the charge named it' },
    outcome: {
      type: 'string',
      description:
        '`carried_out`, `refused`: the charge stays as it was, or `charge_ended`: it was paid or ended before; more may be added',
      'x-extensible-enum': changeOutcomes,
    },
  },
  required: ['id', 'outcome'],
};

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

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function bodyOf(type: EventType): Record<string, unknown> {
  const isChange = /^(charge|transfer|dispute|refund)\./.test(type);
  const name = `${type.split('.').map(capital).join('')}Event`;
  return {
    title: name,
    type: 'object',
    properties: {
      id: { type: 'string', format: 'uuid', description: 'Id of the event, the `webhook-id`' },
      // openapi-generator 7.23 gives a `const` the wrong type in Java, and checks an enumeration in Go only where it has a name.
      type: { title: `${name}Type`, type: 'string', enum: [type] },
      timestamp: { type: 'string', format: 'date-time', description: 'When it happened' },
      schemaVersion: { type: 'integer', description: 'Version of the payload' },
      livemode: { type: 'boolean', description: 'false: of a test account, or a sample' },
      ...(isChange && {
        change: {
          type: 'object',
          description: 'The state that was left and the one that was entered',
          properties: { from: { type: ['string', 'null'] }, to: { type: 'string' } },
          required: ['from', 'to'],
        },
      }),
      data: dataOf(type),
    },
    required: [
      'id',
      'type',
      'timestamp',
      'schemaVersion',
      'livemode',
      'data',
      ...(isChange ? ['change'] : []),
    ],
  };
}

function dataOf(type: EventType): Record<string, unknown> {
  const operation = { type: 'string', format: 'uuid', description: 'The business operation' };
  if (type === 'webhook.test') {
    return {
      title: 'TestSnapshot',
      type: 'object',
      properties: { operationId: operation },
      required: ['operationId'],
    };
  }
  if (type === 'close.completed') return { ...CloseSchema, title: 'CloseSnapshot' };
  if (type === 'dispute.defence_failed')
    return merged('FailedDefenceSnapshot', 'The dispute as it was then', DisputeSchema, { defence });
  if (type.startsWith('dispute.')) return { ...DisputeSchema, title: 'DisputeSnapshot' };
  if (type.startsWith('operation.')) {
    return merged('OperationSnapshot', 'The operation as it was then', OperationSchema, {
      operationId: operation,
    });
  }
  if (type.startsWith('payment_link.'))
    return merged('PaymentLinkSnapshot', 'The payment link as it was then', LinkSnapshotSchema, {});
  if (type.startsWith('refund.'))
    return merged('RefundSnapshot', 'The refund as it was then', RefundSchema, {});
  const requestKey = { type: 'string', format: 'uuid', description: 'As the caller gave it' };
  if (type === 'charge.changed')
    return merged('ChangedChargeSnapshot', 'The charge as it was then, without its code', PaymentSchema, {
      ...{ requestKey, dueChange },
    });
  return merged('PaymentSnapshot', 'The payment as it was then, without its code', PaymentSchema, {
    requestKey,
  });
}

/** One object and no `allOf`: openapi-generator 7.23 forgets in an `allOf` that a member may be null. */
function merged(
  title: string,
  description: string,
  { properties, required }: { properties: object; required?: readonly string[] },
  more: object,
): Record<string, unknown> {
  return {
    title,
    description,
    type: 'object',
    properties: { ...properties, ...more },
    required: [...new Set([...(required ?? []), ...Object.keys(more)])],
  };
}
