import { lowestIdAt } from '../ports/ids.ts';
import type { Queries, Statement } from '../ports/sql.ts';

export interface EventOfPayment {
  id: string;
  type: string;
  createdAt: number;
}

const selectEvents: Statement = {
  name: 'payment_events',
  text: `SELECT id, type, created_at AS "createdAt" FROM unnest($3::uuid[], $4::uuid[]) AS w (low, high) CROSS JOIN LATERAL (
      SELECT * FROM event WHERE account_id = $1 AND id >= w.low AND id < w.high AND payment_id = $2 LIMIT 20) e ORDER BY id`,
};

/** Instants that one look takes: the last ones of what has very many. */
const instantsMost = 60;

/** The events of a payment, found around the instants at which something came of it: there is no index by payment. */
export const findEventsOf = async (
  sql: Queries,
  accountId: string,
  paymentId: string,
  instants: readonly number[],
): Promise<EventOfPayment[]> => {
  const last = instants.slice(-instantsMost);
  const rows = await sql.run<EventOfPayment>(selectEvents, [
    accountId,
    paymentId,
    last.map((ms) => lowestIdAt(ms - 2_000)),
    last.map((ms) => lowestIdAt(ms + 10_000)),
  ]);
  return [...new Map(rows.map((row) => [row.id, row])).values()];
};

export interface DeliveryOfEvent {
  eventId: string;
  endpointId: string;
  status: 'pending' | 'delivered' | 'failed' | 'skipped';
  attempts: number;
  /** Of the last attempt, ms since 1970; null: none was made. */
  lastAt: number | null;
  /** A status code, or why there was no answer. */
  lastResult: string | null;
}

const selectDeliveries: Statement = {
  name: 'payment_deliveries',
  text: `SELECT d.event_id AS "eventId", e.id AS "endpointId", d.status, d.made AS attempts, (d.attempts -> -1 ->> 'at')::timestamptz AS "lastAt",
      coalesce(d.attempts -> -1 ->> 'statusCode', d.attempts -> -1 ->> 'error') AS "lastResult"
    FROM webhook_endpoint e CROSS JOIN unnest($2::uuid[]) AS v (id)
      JOIN webhook_delivery d ON d.account_id = e.account_id AND d.endpoint_id = e.id AND d.event_id = v.id
    WHERE e.account_id = $1 ORDER BY d.event_id, e.id`,
};

/** To each endpoint of the account. */
export const findDeliveriesOf = (
  sql: Queries,
  accountId: string,
  eventIds: readonly string[],
): Promise<DeliveryOfEvent[]> => sql.run<DeliveryOfEvent>(selectDeliveries, [accountId, eventIds]);
