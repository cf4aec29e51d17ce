import type { Readable, Table } from '../ledger/till.ts';
import type { IncidentKind } from '../payments/state.ts';
import type { Statement } from '../ports/sql.ts';

/** Something a person has to look at. The till never guesses: it posts to suspense or posts nothing, and opens one of these. */
export interface Incident {
  accountId: string;
  id: string;
  kind: IncidentKind;
  paymentId: string | null;
  operationId: string | null;
  amountCents: number;
  /** Unique in the account: one incident per event, however often it is reported. */
  reference: string;
  /** While it is open the operation's withdrawals are frozen. */
  freezes: boolean;
  detail: object;
  openedAt: number;
}

const select: Statement = {
  name: 'incident_read',
  text: `SELECT i.account_id AS "accountId", i.id, i.kind, i.payment_id AS "paymentId", i.operation_id AS "operationId",
      i.amount_cents AS "amountCents", i.reference, i.freezes, i.detail, i.opened_at AS "openedAt"
    FROM incident i JOIN unnest($1::uuid[], $2::text[]) AS k (account_id, reference) USING (account_id, reference)`,
};

const insert: Statement = {
  name: 'incident_insert',
  text: `INSERT INTO incident (account_id, id, kind, payment_id, operation_id, amount_cents, reference, freezes, detail, state, opened_at)
    SELECT account_id, id, kind, payment_id, operation_id, amount_cents, reference, freezes, detail, 'open', opened_at
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::bigint[], $7::text[], $8::boolean[], $9::jsonb[],
      $10::timestamptz[])
      AS k (account_id, id, kind, payment_id, operation_id, amount_cents, reference, freezes, detail, opened_at)`,
};

export const incidentKey = (accountId: string, reference: string): string => accountId + reference;

/** Keyed by reference: 36 characters of account, then the reference. Opened here, resolved by an operator elsewhere. */
export const incidents: Table<Incident> = {
  name: 'incident',
  rank: 30,
  keyOf: (incident) => incidentKey(incident.accountId, incident.reference),
  read: (tx, keys) =>
    tx.run<Incident>(select, [keys.map((key) => key.slice(0, 36)), keys.map((key) => key.slice(36))]),
  write: (tx, { inserted }) => [
    tx.run(insert, [
      inserted.map((incident) => incident.accountId),
      inserted.map((incident) => incident.id),
      inserted.map((incident) => incident.kind),
      inserted.map((incident) => incident.paymentId),
      inserted.map((incident) => incident.operationId),
      inserted.map((incident) => incident.amountCents),
      inserted.map((incident) => incident.reference),
      inserted.map((incident) => incident.freezes),
      inserted.map((incident) => JSON.stringify(incident.detail)),
      inserted.map((incident) => new Date(incident.openedAt).toISOString()),
    ]),
  ],
};

export interface OpenIncidents {
  accountId: string;
  paymentId: string;
}

const open: Statement = {
  name: 'incident_open',
  text: `SELECT DISTINCT i.account_id AS "accountId", i.payment_id AS "paymentId"
    FROM incident i JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, payment_id) USING (account_id, payment_id)
    WHERE i.state = 'open'`,
};

/** Which payments have an open incident; keyed like payments. */
export const openIncidents: Readable<OpenIncidents> = {
  name: 'incident_open',
  keyOf: (row) => row.accountId + row.paymentId,
  read: (tx, keys) =>
    tx.run<OpenIncidents>(open, [keys.map((key) => key.slice(0, 36)), keys.map((key) => key.slice(36))]),
};
