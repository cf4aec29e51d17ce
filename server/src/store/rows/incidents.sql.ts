import type { IncidentKind } from '../../money/state.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { boolean, cents, defineTable, jsonb, text, timestamptz, uuid } from '../database/define-table.ts';
import type { Derived, Readable } from '../database/table.ts';
import { isRestored } from './conditions.sql.ts';

/** Something a person has to look at. The till never guesses: it posts to suspense or posts nothing, and opens one of these. */
export interface Incident {
  accountId: string;
  id: string;
  /**
   * `divergence`: `verify` found an invariant broken. `close_difference`: a daily close is not what the provider's account holds. `unread`:
   * for an hour a provider has sent what cannot be read. `connection_held`: another account stands behind a connection than before. `cash_missing`: what an
   * acquirer paid out has not arrived at the connection that it was to go to.
   */
  kind: IncidentKind | 'divergence' | 'close_difference' | 'cash_missing' | 'unread' | 'connection_held';
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

export const incidentKey = (accountId: string, reference: string): string => accountId + reference;

const columnsOfIncident = {
  accountId: uuid,
  id: uuid,
  kind: text,
  paymentId: uuid.orNull,
  operationId: uuid.orNull,
  amountCents: cents,
  reference: text,
  freezes: boolean,
  detail: jsonb,
  openedAt: timestamptz,
};

/** Keyed by reference: 36 characters of account, then the reference. Opened here, resolved by an operator elsewhere. */
export const incidents = defineTable<Incident>({
  name: 'incident',
  alias: 'i',
  key: ['accountId', 'reference'],
  verbs: ['read', 'insert'],
  columns: columnsOfIncident,
  also: { state: `'open'`, mail_due_at: { as: 'openedAt' } },
});

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

/**
 * Which payments have an open incident; keyed like payments. Put beside every incident that is opened, so that a later command of
 * the same flush sees it; what is stored is the incident itself.
 */
export const openIncidents: Derived<OpenIncidents> = {
  name: 'incident_open',
  isDerived: true,
  keyOf: (row) => row.accountId + row.paymentId,
  read: (tx, keys) =>
    tx.run<OpenIncidents>(open, [keys.map((key) => key.slice(0, 36)), keys.map((key) => key.slice(36))]),
};

/** An incident with its ending: what an operator sees and closes. */
export interface IncidentCase extends Incident {
  state: 'open' | 'resolved';
  resolvedAt: number | null;
  resolution: Resolution | null;
  /** A person keeps its money: the account's rule does not send it back. */
  keptAt: number | null;
}

export interface Resolution {
  action: string;
  reason: string;
  actor: string;
  /** The token of the command that resolved it. */
  command: string;
  /** The account is of another cell, which credits it next. */
  owed?: OwedCredit;
  /** It was owed, and that cell has it. */
  credited?: OwedCredit;
}

/** Money that a decision took out of suspense for an account of another cell. */
export interface OwedCredit {
  accountId: string;
  /** That its id names. */
  paymentId: string;
  /** Of the journal: the payment, or the account. */
  subject: string;
  /** Under which it came in, and over which connection. */
  pix: string;
  connection: string;
  amountCents: number;
  at: number;
}

/** The same rows, keyed by 36 characters of account and 36 of incident: to be resolved. */
export const incidentCases = defineTable<IncidentCase>({
  name: 'incident_case',
  table: 'incident',
  alias: 'i',
  key: ['accountId', 'id'],
  verbs: ['read', 'update'],
  columns: {
    ...columnsOfIncident,
    state: text.changes,
    resolvedAt: timestamptz.orNull.changes,
    resolution: jsonb.orNull.changes,
    keptAt: timestamptz.orNull.changes,
  },
});

const caseColumns = incidentCases.columns;

/** An incident that a rule ends as it is opened: it is kept like any other, and no person is asked. */
export const endedIncidents = defineTable<IncidentCase>({
  name: 'incident_ended',
  table: 'incident',
  alias: 'i',
  key: ['accountId', 'reference'],
  verbs: ['read', 'insert'],
  columns: {
    ...columnsOfIncident,
    state: text,
    resolvedAt: timestamptz.orNull,
    resolution: jsonb.orNull,
    keptAt: timestamptz.orNull,
  },
});

/** Whom a resolution names where no person has decided. */
export const ruleActor = 'rule';

/** Of a payment the incidents about debits that the merchant has borne; keyed like payments. */
export interface DebitIncidents {
  accountId: string;
  paymentId: string;
  incidents: readonly Pick<IncidentCase, 'id' | 'reference' | 'state' | 'resolution'>[];
}

const debits: Statement = {
  name: 'incident_debits',
  text: `SELECT i.account_id AS "accountId", i.payment_id AS "paymentId", json_agg(json_build_object(
      'id', i.id, 'reference', i.reference, 'state', i.state, 'resolution', i.resolution) ORDER BY i.reference) AS incidents
    FROM incident i JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, payment_id) USING (account_id, payment_id)
    WHERE i.kind = 'debit' AND starts_with(i.reference, 'debit:') GROUP BY i.account_id, i.payment_id`,
};

export const debitIncidents: Readable<DebitIncidents> = {
  name: 'incident_debits',
  keyOf: (row) => row.accountId + row.paymentId,
  read: (tx, keys) => tx.run(debits, [keys.map((key) => key.slice(0, 36)), keys.map((key) => key.slice(36))]),
};

const returnable: Statement = {
  name: 'incident_returnable',
  text: `SELECT i.id FROM incident i JOIN account a ON a.id = i.account_id
    WHERE i.state = 'open' AND i.kept_at IS NULL
      AND i.kind IN ('amount_mismatch', 'second_payment', 'failed_charge_paid', 'deleted_operation')
      AND (a.return_odd_money = 'all' OR a.return_odd_money = i.kind)
      AND i.opened_at >= a.return_odd_money_since
      AND i.opened_at <= $1::timestamptz - make_interval(mins => a.return_odd_money_after_minutes)
    ORDER BY i.opened_at LIMIT $2`,
};

/** Incidents whose money the rules of their accounts send back now, the oldest first. Not while a restore waits for its reconciliation. */
export const findReturnable = async (sql: Queries, now: number, most: number): Promise<string[]> =>
  (await isRestored(sql))
    ? []
    : (await sql.run<{ id: string }>(returnable, [new Date(now).toISOString(), most])).map(({ id }) => id);

const freezing: Statement = {
  name: 'incident_freezing',
  text: `SELECT i.account_id AS "accountId", i.operation_id AS "operationId", array_agg(i.id::text) AS ids
    FROM incident i JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, operation_id) USING (account_id, operation_id)
    WHERE i.state = 'open' AND i.freezes GROUP BY i.account_id, i.operation_id`,
};

/** The open incidents that freeze an operation; keyed by account and operation. */
export const freezingIncidents: Readable<{ accountId: string; operationId: string; ids: string[] }> = {
  name: 'incident_freezing',
  keyOf: (row) => row.accountId + row.operationId,
  read: (tx, keys) =>
    tx.run(freezing, [keys.map((key) => key.slice(0, 36)), keys.map((key) => key.slice(36))]),
};

export const oddKinds = [
  'amount_mismatch',
  'second_payment',
  'failed_charge_paid',
  'return_refused',
] as const;

/** Money of a charge's Pix that waits for a person. */
export const isOddMoney = (kind: string): kind is (typeof oddKinds)[number] =>
  (oddKinds as readonly string[]).includes(kind);

const odd: Statement = {
  name: 'incident_odd',
  text: `SELECT i.account_id AS "accountId", i.payment_id AS "paymentId", array_agg(i.id) AS ids
    FROM incident i JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, payment_id) USING (account_id, payment_id)
    WHERE i.state = 'open' AND i.kind = ANY ($3::text[]) GROUP BY i.account_id, i.payment_id`,
};

/** Of a payment the open incidents of odd money; keyed like payments. */
export const oddMoney: Readable<{ accountId: string; paymentId: string; ids: string[] }> = {
  name: 'incident_odd',
  keyOf: (row) => row.accountId + row.paymentId,
  read: (tx, keys) =>
    tx.run(odd, [keys.map((key) => key.slice(0, 36)), keys.map((key) => key.slice(36)), oddKinds]),
};

const reportedGone: Statement = {
  name: 'incident_reported_gone',
  text: `SELECT i.account_id AS "accountId", i.payment_id AS "paymentId", array_agg(split_part(i.reference, ':', 2)) AS ids
    FROM incident i JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, payment_id) USING (account_id, payment_id)
    WHERE i.kind = 'refund_contradiction' AND i.reference LIKE '%:completed' OR i.kind = 'refund_mismatch' AND i.state = 'open'
    GROUP BY i.account_id, i.payment_id`,
};

/**
 * Of a payment the refunds that failed here and that the provider reports as carried out, or with another amount that no person has looked at;
 * keyed like payments. That a person has resolved the contradiction does not bring the money back.
 */
export const refundsReportedGone: Readable<{ accountId: string; paymentId: string; ids: string[] }> = {
  name: 'incident_reported_gone',
  keyOf: (row) => row.accountId + row.paymentId,
  read: (tx, keys) =>
    tx.run(reportedGone, [keys.map((key) => key.slice(0, 36)), keys.map((key) => key.slice(36))]),
};

/** The Pix that stood in suspense under a charge and that a person credited to the charge's operation, beside the one that paid it. */
export interface CreditedPix {
  accountId: string;
  paymentId: string;
  pix: readonly { endToEnd: string; cents: number }[];
}

const credited: Statement = {
  name: 'incident_credited',
  text: `SELECT i.account_id AS "accountId", i.payment_id AS "paymentId", json_agg(json_build_object(
      'endToEnd', coalesce(r.end_to_end, split_part(i.reference, ':', 3)), 'cents', i.amount_cents)) AS pix
    FROM incident i JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, payment_id) USING (account_id, payment_id)
      JOIN payment p ON p.account_id = i.account_id AND p.id = i.payment_id
      LEFT JOIN refund r ON r.account_id = i.account_id
        AND r.id = CASE WHEN i.kind = 'return_refused' THEN split_part(i.reference, ':', 2)::uuid END
    WHERE i.state = 'resolved' AND i.resolution ->> 'action' = 'credit'
      AND i.kind IN ('amount_mismatch', 'second_payment', 'failed_charge_paid', 'return_refused')
      AND coalesce(r.end_to_end, split_part(i.reference, ':', 3)) IS DISTINCT FROM p.end_to_end
    GROUP BY i.account_id, i.payment_id`,
};

/** Keyed like payments. */
export const creditedPix: Readable<CreditedPix> = {
  name: 'incident_credited',
  keyOf: (row) => row.accountId + row.paymentId,
  read: (tx, keys) =>
    tx.run(credited, [keys.map((key) => key.slice(0, 36)), keys.map((key) => key.slice(36))]),
};

const openOdd: Statement = {
  name: 'incident_odd_open',
  text: `SELECT ${caseColumns} FROM incident i WHERE i.account_id = $1 AND i.state = 'open' AND i.kind = ANY ($2::text[])
    ORDER BY i.opened_at DESC, i.id DESC LIMIT $3`,
};

const sumOdd: Statement = {
  name: 'incident_odd_sum',
  text: `SELECT coalesce(sum(i.amount_cents), 0)::bigint AS "sumCents" FROM incident i
    WHERE i.account_id = $1 AND i.state = 'open' AND i.kind = ANY ($2::text[])`,
};

/** The odd money of an account that no person has decided about: the sum of all of it, and the newest. */
export async function findOpenOddMoney(
  sql: Queries,
  accountId: string,
  most: number,
): Promise<{ sumCents: number; incidents: IncidentCase[] }> {
  const [sums, incidents] = await Promise.all([
    sql.run<{ sumCents: number }>(sumOdd, [accountId, oddKinds]),
    sql.run<IncidentCase>(openOdd, [accountId, oddKinds, most]),
  ]);
  return { sumCents: sums[0]?.sumCents ?? 0, incidents };
}

const find: Statement = {
  name: 'incident_find',
  text: `SELECT ${caseColumns} FROM incident i WHERE i.id = $1`,
};

export const findIncident = async (sql: Queries, id: string): Promise<IncidentCase | undefined> =>
  (await sql.run<IncidentCase>(find, [id]))[0];

const list: Statement = {
  name: 'incident_list',
  text: `SELECT ${caseColumns} FROM incident i
    WHERE ($1::uuid IS NULL OR i.account_id = $1) AND (i.opened_at, i.id) < ($2, $3)
    ORDER BY i.opened_at DESC, i.id DESC LIMIT $4`,
};

/** The newest first, older ones than the given place. */
export const findIncidents = (
  sql: Queries,
  accountId: string | null,
  before: { openedAt: number; id: string },
  most: number,
): Promise<IncidentCase[]> =>
  sql.run<IncidentCase>(list, [accountId, new Date(before.openedAt).toISOString(), before.id, most]);

const suspended: Statement = {
  name: 'incident_suspended',
  text: `SELECT j.suspense AS cents, j.effective_at AS at, coalesce(j.connection, a.first_connection, a.connection) AS connection
    FROM journal j JOIN account a ON a.id = j.account_id
    WHERE j.account_id = $1 AND j.subject = $2 AND j.event = $3 AND j.reference = $4`,
};

export interface SuspendedMoney {
  cents: number;
  at: number;
  /** Where it came in or left. */
  connection: string;
}

/** The amount that an event put into suspense (negative: that it left missing), and when it happened. The journal never changes. */
export const findSuspended = async (
  sql: Queries,
  ref: { accountId: string; subject: string; event: number; reference: string },
): Promise<SuspendedMoney | undefined> =>
  (await sql.run<SuspendedMoney>(suspended, [ref.accountId, ref.subject, ref.event, ref.reference]))[0];

const place: Statement = {
  name: 'incident_place',
  text: `SELECT a.number, a.test, coalesce(a.first_connection, a.connection) AS "firstConnection", o.id AS "mainOperationId" FROM account a
    LEFT JOIN operation o ON o.account_id = a.id AND o.main WHERE a.id = $1`,
};

/** The facts of an account that a decision needs, its current main operation included. */
export const findPlaceOf = async (sql: Queries, accountId: string): Promise<AccountPlace | undefined> =>
  (await sql.run<AccountPlace>(place, [accountId]))[0];

interface AccountPlace {
  number: number;
  test: boolean;
  firstConnection: string;
  mainOperationId: string | null;
}

const claimant: Statement = {
  name: 'incident_claimant',
  text: `SELECT p.account_id AS "accountId", p.id FROM account a
      JOIN payment p ON p.account_id = a.id AND (p.end_to_end = $1 OR p.id = $2)
    WHERE p.status IN ('paid', 'completed') AND p.kind = $3 AND coalesce(p.connection, a.first_connection, a.connection) = $4
      AND CASE p.kind WHEN 'transfer' THEN p.amount_cents - p.fee_cents
        ELSE coalesce(p.net_amount_cents + p.provider_fee_cents, p.amount_cents) END = $5 LIMIT 1`,
};

/**
 * The settled payment of any account that names this end-to-end id, or is itself named, and has moved this money. A Pix between two accounts of the
 * company has one end-to-end id on both sides: the payment of the other side has posted its own half and not this one.
 */
export const findClaimant = async (
  sql: Queries,
  { endToEnd, paymentId, cents, connection }: UnmatchedPix,
): Promise<{ accountId: string; id: string } | undefined> => {
  const kind = cents > 0 ? 'deposit' : 'transfer';
  const given = [endToEnd, paymentId, kind, connection, Math.abs(cents)];
  return (await sql.run<{ accountId: string; id: string }>(claimant, given))[0];
};

export interface UnmatchedPix {
  endToEnd: string;
  /** Where its name is the id of a payment of ours. */
  paymentId: string | null;
  /** Above zero: it came in. */
  cents: number;
  connection: string;
}

const namedPlace: Statement = {
  name: 'incident_named_place',
  text: `SELECT a.id AS "accountId", a.test, a.cell = current_schema() AS "isHere", o.id AS "mainOperationId",
      coalesce(a.first_connection, a.connection) AS "firstConnection" FROM account a
    LEFT JOIN operation o ON o.account_id = a.id AND o.main WHERE a.number = $1 AND a.number > 0`,
};

export interface PlaceOfNumber {
  accountId: string;
  test: boolean;
  /** Its rows are in this cell: only then has it an operation here. */
  isHere: boolean;
  mainOperationId: string | null;
  /** That of payments that name none. */
  firstConnection: string;
}

/** The account with this number, whatever its cell. */
export const findNamedPlace = async (
  sql: Queries,
  accountNumber: number,
): Promise<PlaceOfNumber | undefined> => (await sql.run<PlaceOfNumber>(namedPlace, [accountNumber]))[0];

const owedCredits: Statement = {
  name: 'incident_owed',
  text: `SELECT i.id, i.resolution FROM incident i WHERE i.resolution ? 'owed' ORDER BY i.resolved_at LIMIT $1`,
};

/** Decisions whose money another cell has still to credit, the oldest first. */
export const findOwedCredits = (
  sql: Queries,
  most: number,
): Promise<{ id: string; resolution: Resolution & { owed: OwedCredit } }[]> => sql.run(owedCredits, [most]);

// jsonb_set is IMMUTABLE, and jsonb_build_object is not: Citus takes no other function of columns in an UPDATE.
const credit: Statement = {
  name: 'incident_owed_credited',
  text: `UPDATE incident SET resolution = jsonb_set(resolution - 'owed', '{credited}', resolution -> 'owed')
    WHERE id = $1 AND resolution ? 'owed'`,
};

/** The other cell has it. */
export const noteCredited = (sql: Queries, id: string): Promise<unknown> => sql.run(credit, [id]);

const testOf: Statement = {
  name: 'incident_connection_test',
  text: 'SELECT test FROM connection WHERE id = $1',
};

/** Whether no money moves over the connection; undefined: there is none of that name. */
export const isTestConnection = async (sql: Queries, name: string): Promise<boolean | undefined> =>
  (await sql.run<{ test: boolean }>(testOf, [name]))[0]?.test;

const paidBy: Statement = {
  name: 'incident_paid_by',
  text: `SELECT p.id FROM account a JOIN payment p ON p.account_id = a.id AND p.end_to_end = $1
    WHERE p.kind = 'deposit' AND p.id <> $2 AND coalesce(p.connection, a.first_connection, a.connection) = $3 LIMIT 1`,
};

/** Another charge than this one that a Pix paid. */
export const findOtherCharge = async (
  sql: Queries,
  endToEnd: string,
  paymentId: string,
  connection: string,
): Promise<string | undefined> =>
  (await sql.run<{ id: string }>(paidBy, [endToEnd, paymentId, connection]))[0]?.id;
