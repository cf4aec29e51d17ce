import type { Table } from '../ledger/till.ts';
import type { Ids } from '../ports/ids.ts';
import type { Statement } from '../ports/sql.ts';

/**
 * A row of the outbox: written in the transaction of the state change that it tells of, its body frozen from the state as it
 * was committed. Who delivers it reads these exact bytes.
 */
export interface EventRow {
  accountId: string;
  id: string;
  type: string;
  operationId: string;
  paymentId: string | null;
  body: string;
  createdAt: number;
}

export interface EventContent {
  accountId: string;
  operationId: string;
  paymentId: string | null;
  type: string;
  livemode: boolean;
  change: { from: string | null; to: string } | null;
  /** The resource as it is after the change; carries `operationId`. */
  data: object;
  at: number;
}

/** Raised when a member of the payload is removed or retyped; new optional members do not raise it. */
export const eventSchemaVersion = 1;

export function eventRow(ids: Ids, content: EventContent): EventRow {
  const id = ids.uuid();
  const { accountId, operationId, paymentId, type, livemode, change, data, at } = content;
  const body = JSON.stringify({
    id,
    type,
    timestamp: new Date(at).toISOString(),
    schemaVersion: eventSchemaVersion,
    livemode,
    ...(change ? { change } : {}),
    data,
  });
  return { accountId, id, type, operationId, paymentId, body, createdAt: at };
}

const insert: Statement = {
  name: 'event_insert',
  text: `INSERT INTO event (account_id, id, type, operation_id, payment_id, body, created_at)
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::text[], $7::timestamptz[])`,
};

export const events: Table<EventRow> = {
  name: 'event',
  rank: 40,
  keyOf: (event) => event.accountId + event.id,
  read: () => Promise.reject(new Error('events are written, never read, by the till')),
  write: (tx, { inserted }) => [
    tx.run(insert, [
      inserted.map((event) => event.accountId),
      inserted.map((event) => event.id),
      inserted.map((event) => event.type),
      inserted.map((event) => event.operationId),
      inserted.map((event) => event.paymentId),
      inserted.map((event) => event.body),
      inserted.map((event) => new Date(event.createdAt).toISOString()),
    ]),
  ],
};
