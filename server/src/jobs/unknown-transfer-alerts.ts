import { applyWithinMs } from '../flow/send.ts';
import type { Signal } from '../ground/signal.ts';
import { paymentEvent } from '../kinds/payment/payment-events.ts';
import { sendPriority, singlePriority } from '../money/intent.ts';
import type { Clock } from '../ports/clock.ts';
import { type Ids, idsOf } from '../ports/ids.ts';
import type { Sql, Statement } from '../ports/sql.ts';
import { defineTable, timestamptz, uuid } from '../store/database/define-table.ts';
import { timestamp } from '../store/database/pool.ts';
import { events } from '../store/events/event.ts';
import { paymentKey, payments } from '../store/rows/payments.sql.ts';
import { type Command, put, read, type Till } from '../store/till.ts';

interface AlertDeps {
  sql: Sql;
  till: Till;
  clock: Clock;
  ids: Ids;
  /** The connections of this process. */
  providers: ReadonlyMap<string, unknown>;
  eventsWritten: Signal;
}

/**
 * Writes an event for each transfer that stayed `unknown` for 15 minutes, once per payment: it is not known whether the Pix was sent, and a
 * merchant should look before it repeats the payout another way.
 */
const afterMs = 15 * 60_000;
const most = 100;

interface Told {
  accountId: string;
  paymentId: string;
  toldAt: number;
}

export const unknownTold = defineTable<Told>({
  name: 'unknown_told',
  alias: 't',
  key: ['accountId', 'paymentId'],
  verbs: ['read', 'insert'],
  columns: { accountId: uuid, paymentId: uuid, toldAt: timestamptz },
  also: { mail_due_at: { as: 'toldAt' } },
});

/**
 * An unknown transfer has one of the first two priorities of intents, or is queried alone, for which there is an index: no rows of other kinds are read.
 */
const selectDue: Statement = {
  name: 'unknown_due',
  text: `SELECT i.account_id AS "accountId", i.payment_id AS "paymentId", i.operation_id AS "operationId",
      NOT a.test AS livemode
    FROM (SELECT account_id, payment_id, operation_id, created_at FROM intent
        WHERE connection = ANY ($1::text[]) AND priority = ANY ($2::smallint[]) AND kind = 'transfer' AND created_at <= $3
      UNION ALL SELECT account_id, payment_id, operation_id, created_at FROM intent
        WHERE connection = ANY ($1::text[]) AND priority = ${singlePriority} AND kind = 'transfer' AND created_at <= $3) i
      JOIN account a ON a.id = i.account_id JOIN payment p ON p.account_id = i.account_id AND p.id = i.payment_id
    WHERE p.status = 'unknown'
      AND NOT EXISTS (SELECT FROM unknown_told t WHERE t.account_id = i.account_id AND t.payment_id = i.payment_id)
    ORDER BY i.created_at LIMIT $4`,
};

interface Due {
  accountId: string;
  paymentId: string;
  operationId: string;
  livemode: boolean;
}

const unknownTransfer = 1;

export function createUnknownTransferAlerts(deps: AlertDeps): { step(): Promise<boolean> } {
  return {
    /** One round; true when there may be more at once. */
    step: async () => {
      const due = await deps.sql.run<Due>(selectDue, [
        [...deps.providers.keys()],
        [sendPriority, unknownTransfer],
        timestamp(deps.clock.now() - afterMs),
        most,
      ]);
      await Promise.all(due.map((one) => tell(deps, one)));
      if (due.length > 0) deps.eventsWritten();
      return due.length === most;
    },
  };
}

function tell(deps: AlertDeps, due: Due): Promise<void> {
  const deadlineMs = deps.clock.monotonicMs() + applyWithinMs;
  return deps.till.submit(buildUnknownAlert({ due, token: deps.ids.uuid(), deadlineMs }));
}

/** Writes the event, unless the transfer has left `unknown` or the event was written before. Pure. */
function buildUnknownAlert(input: { due: Due; token: string; deadlineMs: number }): Command<void> {
  const { due, token, deadlineMs } = input;
  const { accountId, paymentId, operationId, livemode } = due;
  const key = paymentKey(accountId, paymentId);
  return {
    token,
    deadlineMs,
    chains: [{ accountId, chainId: operationId }],
    reads: [read(payments, key), read(unknownTold, key)],
    eventRefs: [],
    decide: (view, now) => {
      const payment = view.get(payments, key);
      if (payment?.status !== 'unknown' || view.get(unknownTold, key)) return { answer: undefined };
      const event = paymentEvent(idsOf(token), livemode, payment, 'unknown', 'transfer.unknown', now);
      const told: Told = { accountId, paymentId, toldAt: now };
      return { answer: undefined, writes: [put(events, event), put(unknownTold, told)] };
    },
  };
}
