import { requestsAboutCharges } from '../kinds/registry/kinds.ts';
import type { SentKind, ShownRequest } from '../money/sent-kinds.ts';
import type { Queries, Statement } from '../ports/sql.ts';
import { timestamp } from '../store/database/pool.ts';
import { accountNumberOf } from '../store/rows/idempotency.ts';

/**
 * Reading for operators, over all accounts of a cell. What has an index of its own over all of them is one look; the other statements probe an index for
 * each account, so that they cost what the accounts are and not their payments.
 */

export interface FoundAccount {
  ownerId: string;
  name: string;
  test: boolean;
  enabled: boolean;
  connection: string;
  number: number;
}

const accountColumns = `a.id AS "ownerId", a.name, a.test, a.enabled, a.connection, a.number`;

const byName: Statement = {
  name: 'find_account_name',
  text: `SELECT ${accountColumns} FROM account a
    WHERE a.number > 0 AND a.name ILIKE '%' || $1 || '%' ORDER BY a.created_at, a.id LIMIT $2`,
};

/** Of the directory. `text` is taken as it is: `%` and `_` stand for themselves. */
export const findAccountsNamed = (sql: Queries, text: string, most: number): Promise<FoundAccount[]> =>
  sql.run<FoundAccount>(byName, [text.replace(/[\\%_]/g, '\\$&'), most]);

const byId: Statement = {
  name: 'find_account_id',
  text: `SELECT ${accountColumns} FROM account a WHERE a.number > 0 AND a.id = $1`,
};

export const findAccountById = async (sql: Queries, id: string): Promise<FoundAccount | undefined> =>
  (await sql.run<FoundAccount>(byId, [id]))[0];

const byDocument: Statement = {
  name: 'find_account_document',
  text: `SELECT ${accountColumns} FROM merchant_profile m JOIN account a ON a.id = m.account_id WHERE m.cnpj = $1`,
};

export const findAccountsOfDocument = (sql: Queries, document: string): Promise<FoundAccount[]> =>
  sql.run<FoundAccount>(byDocument, [document]);

const shownRequests = requestsAboutCharges.flatMap(({ request }) => request.shownAs ?? []);

export const foundKinds: readonly (
  | 'payment'
  | 'refund'
  | 'operation'
  | 'incident'
  | 'dispute'
  | 'link'
  | 'code'
  | ShownRequest
)[] = [
  ...(['payment', 'refund', 'operation', 'incident', 'dispute', 'link', 'code'] as const),
  ...shownRequests,
];

export interface FoundRow {
  kind: (typeof foundKinds)[number];
  id: string;
  ownerId: string;
  operationId: string | null;
  /**
   * Of a payment, refund, dispute or request about a charge its status, of an incident its kind, of an operation or a static code its name, of a payment
   * link its title.
   */
  state: string;
  amountCents: number | null;
}

const place = (kind: FoundRow['kind'], row: string, state: string, amount = 'amount_cents'): string =>
  `'${kind}' AS kind, ${row}.id, ${row}.account_id AS "ownerId", ${row}.operation_id AS "operationId", ${state} AS state, ${row}.${amount} AS "amountCents"`;

/** Requests about charges, each with its charge. */
const foundRequests = requestsAboutCharges.flatMap(({ table, request: { shownAs, outcome } }) =>
  shownAs === null
    ? []
    : [
        `UNION ALL SELECT ${place(shownAs, 'c', outcome === null ? 'c.status' : `coalesce(c.${outcome}, c.status)`)} FROM account a JOIN ${table.name} c ON c.account_id = a.id AND c.id = $1`,
        `UNION ALL SELECT ${place('payment', 'p', 'p.status')} FROM account a JOIN ${table.name} c ON c.account_id = a.id AND c.id = $1
      JOIN payment p ON p.account_id = c.account_id AND p.id = c.payment_id`,
      ],
);

const byAnyId: Statement = {
  name: 'find_any_id',
  text: `SELECT ${place('payment', 'p', 'p.status')} FROM account a JOIN payment p ON p.account_id = a.id AND p.id = $1 WHERE a.number = $2
    UNION ALL SELECT ${place('refund', 'r', 'r.status')} FROM account a JOIN refund r ON r.account_id = a.id AND r.id = $1 WHERE a.number = $2
    UNION ALL SELECT ${place('dispute', 'd', 'd.status')} FROM account a JOIN dispute d ON d.account_id = a.id AND d.id = $1
    ${foundRequests.join('\n    ')}
    UNION ALL SELECT ${place('link', 'l', 'l.title')} FROM account a JOIN payment_link l ON l.account_id = a.id AND l.id = $1
    UNION ALL SELECT ${place('code', 's', 's.name')} FROM account a JOIN static_code s ON s.account_id = a.id AND s.id = $1
    UNION ALL SELECT ${place('payment', 'p', 'p.status')} FROM account a JOIN event e ON e.account_id = a.id AND e.id = $1
      JOIN payment p ON p.account_id = e.account_id AND p.id = e.payment_id
    UNION ALL SELECT ${place('incident', 'i', 'i.kind')} FROM incident i WHERE i.id = $1
    UNION ALL SELECT 'operation', o.id, o.account_id, o.id, o.name, NULL FROM operation o WHERE o.id = $1`,
};

/** Whatever has this id; of a request about a charge the charge as well, of an event the payment that it is about. */
export const findById = (sql: Queries, id: string): Promise<FoundRow[]> =>
  sql.run<FoundRow>(byAnyId, [id, accountNumberOf(id)]);

const byPaymentIds: Statement = {
  name: 'find_payment_ids',
  text: `SELECT ${place('payment', 'p', 'p.status')}
    FROM payment p JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, id) USING (account_id, id)`,
};

const byRequestKey: Statement = {
  name: 'find_request_key',
  text: `SELECT ${place('refund', 'r', 'r.status')} FROM account a JOIN refund r ON r.account_id = a.id AND r.request_key = $1
    UNION ALL SELECT 'operation', k.resource_id, k.account_id, k.resource_id, k.resource, NULL
      FROM account a JOIN request_key k ON k.account_id = a.id AND k.request_key = $1`,
};

/** @param ids of each account the id that a payment under this key has */
export async function findByRequestKey(
  sql: Queries,
  requestKey: string,
  ids: readonly { accountId: string; paymentId: string }[],
): Promise<FoundRow[]> {
  const found = await Promise.all([
    sql.run<FoundRow>(byPaymentIds, [ids.map((one) => one.accountId), ids.map((one) => one.paymentId)]),
    sql.run<FoundRow>(byRequestKey, [requestKey]),
  ]);
  return found.flat();
}

const byEndToEnd: Statement = {
  name: 'find_end_to_end',
  text: `SELECT ${place('payment', 'p', 'p.status')}
    FROM account a JOIN payment p ON p.account_id = a.id AND p.end_to_end = $1 ORDER BY p.created_at LIMIT $2`,
};

export const findByEndToEnd = (sql: Queries, endToEnd: string, most: number): Promise<FoundRow[]> =>
  sql.run<FoundRow>(byEndToEnd, [endToEnd, most]);

const byReturn: Statement = {
  name: 'find_return',
  text: `SELECT ${place('refund', 'r', 'r.status')} FROM refund r WHERE r.rtr_id = $1
    UNION ALL SELECT ${place('payment', 'p', 'p.status')} FROM refund r JOIN payment p ON p.account_id = r.account_id AND p.id = r.payment_id
      WHERE r.rtr_id = $1`,
};

/** The refund that went out as this return, with its charge. */
export const findByReturn = (sql: Queries, rtrId: string): Promise<FoundRow[]> =>
  sql.run<FoundRow>(byReturn, [rtrId]);

const byNameAtProvider: Statement = {
  name: 'find_name_at_provider',
  text: `SELECT ${place('payment', 'p', 'p.status')} FROM payment p WHERE p.card IS NOT NULL AND p.card ->> 'ref' = $1
    UNION ALL SELECT ${place('dispute', 'd', 'd.status')} FROM connection c JOIN dispute d ON d.connection = c.id AND d.provider_id = $1
    UNION ALL SELECT ${place('code', 's', 's.name')}
      FROM static_identifier n JOIN static_code s ON s.account_id = n.account_id AND s.id = n.code_id WHERE n.identifier = $1`,
};

/** Names that a provider or an acquirer gave, and that are no ids of ours: a page of a card checkout, a dispute, a static code. */
export const findByNameAtProvider = (sql: Queries, name: string): Promise<FoundRow[]> =>
  sql.run<FoundRow>(byNameAtProvider, [name]);

const ofNumber: Statement = {
  name: 'find_account_of_number',
  text: 'SELECT id AS "ownerId" FROM account WHERE number = $1 AND number > 0',
};

/** Ids of payments and refunds begin with the number of their account. */
export const findOwnerOf = async (sql: Queries, paymentId: string): Promise<string | undefined> =>
  (await sql.run<{ ownerId: string }>(ofNumber, [accountNumberOf(paymentId)]))[0]?.ownerId;

const numbers: Statement = {
  name: 'find_account_numbers',
  text: 'SELECT id AS "ownerId", number FROM account WHERE number > 0',
};

export const findAccountNumbers = (sql: Queries): Promise<Pick<FoundAccount, 'ownerId' | 'number'>[]> =>
  sql.run(numbers);

export interface Posting {
  seq: number;
  chainId: string;
  template: string;
  reference: string;
  /** ms since 1970. */
  postedAt: number;
  available: number;
  reserved: number;
  held: number;
  receivable: number;
  clearing: number;
  feeRevenue: number;
  providerCost: number;
  suspense: number;
  adjustments: number;
}

const postings: Statement = {
  name: 'find_postings',
  text: `SELECT seq, chain_id AS "chainId", template, reference, posted_at AS "postedAt", available, reserved, held, receivable, clearing,
      fee_revenue AS "feeRevenue", provider_cost AS "providerCost", suspense, adjustments
    FROM journal WHERE account_id = $1 AND subject = ANY($2::uuid[]) ORDER BY posted_at, chain_id, seq LIMIT 1000`,
};

/** @param subjects the payment and its refunds */
export const findPostings = (
  sql: Queries,
  accountId: string,
  subjects: readonly string[],
): Promise<Posting[]> => sql.run<Posting>(postings, [accountId, subjects]);

export interface IncidentOfPayment {
  id: string;
  kind: string;
  state: string;
  amountCents: number;
  /** The amount in the books, where the provider reports another amount. */
  bookedCents: number | null;
  freezes: boolean;
  openedAt: number;
  resolvedAt: number | null;
}

const incidentsOf: Statement = {
  name: 'find_incidents_of_payment',
  text: `SELECT id, kind, state, amount_cents AS "amountCents", (detail ->> 'bookedCents')::bigint AS "bookedCents", freezes, opened_at AS "openedAt", resolved_at AS "resolvedAt"
    FROM incident WHERE account_id = $1 AND payment_id = $2 ORDER BY opened_at, id LIMIT 100`,
};

export const findIncidentsOf = (
  sql: Queries,
  accountId: string,
  paymentId: string,
): Promise<IncidentOfPayment[]> => sql.run<IncidentOfPayment>(incidentsOf, [accountId, paymentId]);

export interface RefundOfPayment {
  id: string;
  status: string;
  reason: string;
  amountCents: number;
  endToEnd: string;
  rtrId: string | null;
  reasonCode: string | null;
  createdAt: number;
  settledAt: number | null;
}

const refundsOf: Statement = {
  name: 'find_refunds_of_payment',
  text: `SELECT id, status, reason, amount_cents AS "amountCents", end_to_end AS "endToEnd", rtr_id AS "rtrId", reason_code AS "reasonCode",
      created_at AS "createdAt", settled_at AS "settledAt"
    FROM refund WHERE account_id = $1 AND payment_id = $2 ORDER BY created_at, id LIMIT 1000`,
};

export const findRefundRows = (
  sql: Queries,
  accountId: string,
  paymentId: string,
): Promise<RefundOfPayment[]> => sql.run<RefundOfPayment>(refundsOf, [accountId, paymentId]);

/** A request about a charge. */
export interface RequestOfPayment {
  kind: SentKind;
  id: string;
  /** `completed`: it is over, and `outcome` says which way. */
  status: string;
  /** Null: it is open, or it ended before this was stored. */
  outcome: string | null;
  /** Of the charge after it. */
  amountCents: number;
  createdAt: number;
  updatedAt: number;
}

const requestsOf: Statement = {
  name: 'find_requests_of_payment',
  text: `${requestsAboutCharges
    .map(
      ({ name, table, request: { outcome } }) =>
        `SELECT '${name}' AS kind, id, status, ${outcome ?? 'NULL'} AS outcome, amount_cents AS "amountCents", created_at AS "createdAt", updated_at AS "updatedAt"
    FROM ${table.name} WHERE account_id = $1 AND payment_id = $2`,
    )
    .join('\n    UNION ALL ')}
    ORDER BY "createdAt", id LIMIT 100`,
};

export const findRequestsOf = (
  sql: Queries,
  accountId: string,
  paymentId: string,
): Promise<RequestOfPayment[]> => sql.run<RequestOfPayment>(requestsOf, [accountId, paymentId]);

export interface OperationFacts {
  id: string;
  name: string;
  isDefault: boolean;
  deletedAt: number | null;
  availableCents: number;
  reservedCents: number;
  heldCents: number;
  receivableCents: number;
  frozen: boolean;
}

const operationsOf: Statement = {
  name: 'find_operations_of',
  text: `SELECT o.id, o.name, o.main IS NOT NULL AS "isDefault", o.deleted_at AS "deletedAt", b.available AS "availableCents",
      b.reserved AS "reservedCents", b.held AS "heldCents", b.receivable AS "receivableCents", b.frozen
    FROM operation o JOIN balance b ON b.account_id = o.account_id AND b.operation_id = o.id
    WHERE o.account_id = $1 ORDER BY o.created_at, o.id LIMIT 1000`,
};

export const findOperationsOf = (sql: Queries, accountId: string): Promise<OperationFacts[]> =>
  sql.run<OperationFacts>(operationsOf, [accountId]);

const openIncidentsOf: Statement = {
  name: 'find_open_incidents_of',
  text: `SELECT count(*)::int AS count FROM (SELECT FROM incident WHERE account_id = $1 AND state = 'open' LIMIT $2) i`,
};

/** Counts no further than `most`. */
export const countOpenIncidents = async (sql: Queries, accountId: string, most: number): Promise<number> =>
  (await sql.run<{ count: number }>(openIncidentsOf, [accountId, most]))[0]?.count ?? 0;

export interface DisputeRow {
  id: string;
  ownerId: string;
  operationId: string;
  paymentId: string;
  connection: string;
  status: string;
  amountCents: number;
  debitedCents: number;
  reason: string | null;
  endToEnd: string;
  openedAt: number;
  deadlineAt: number | null;
  endedAt: number | null;
  createdAt: number;
  updatedAt: number;
}

const disputeColumns = `d.id, d.account_id AS "ownerId", d.operation_id AS "operationId", d.payment_id AS "paymentId", d.connection, d.status,
  d.amount_cents AS "amountCents", d.debited_cents AS "debitedCents", d.reason, d.end_to_end AS "endToEnd", d.opened_at AS "openedAt",
  d.deadline_at AS "deadlineAt", d.ended_at AS "endedAt", d.created_at AS "createdAt", d.updated_at AS "updatedAt"`;

/** An index has those that have not ended. */
const openDisputes: Statement = {
  name: 'find_open_disputes',
  text: `SELECT ${disputeColumns} FROM dispute d WHERE d.ended_at IS NULL ORDER BY d.deadline_at NULLS LAST, d.id LIMIT $1`,
};

const disputesOfPayment: Statement = {
  name: 'find_disputes_of_payment',
  text: `SELECT ${disputeColumns} FROM dispute d WHERE d.account_id = $1 AND d.payment_id = $2 ORDER BY d.id LIMIT 100`,
};

export const findPaymentDisputes = (
  sql: Queries,
  accountId: string,
  paymentId: string,
): Promise<DisputeRow[]> => sql.run<DisputeRow>(disputesOfPayment, [accountId, paymentId]);

const disputesOf: Statement = {
  name: 'find_disputes_of_account',
  text: `SELECT ${disputeColumns} FROM dispute d WHERE d.account_id = $1 ORDER BY d.id DESC LIMIT $2`,
};

/** Without an account those that have not ended, the next deadline first; of an account all, the newest first. */
export const findDisputeRows = (
  sql: Queries,
  accountId: string | null,
  most: number,
): Promise<DisputeRow[]> =>
  accountId === null
    ? sql.run<DisputeRow>(openDisputes, [most])
    : sql.run<DisputeRow>(disputesOf, [accountId, most]);

export interface AuditEntry {
  id: string;
  /** The installation's own for what concerns all accounts. */
  ownerId: string;
  at: number;
  actor: string;
  action: string;
  subject: string;
  reason: string | null;
  detail: object;
}

const auditColumns = `id, account_id AS "ownerId", at, actor, action, subject, reason, detail`;

const newestAudit: Statement = {
  name: 'find_audit_newest',
  text: `SELECT entry.* FROM account a
    CROSS JOIN LATERAL (SELECT ${auditColumns} FROM audit WHERE account_id = a.id ORDER BY id DESC LIMIT $1) AS entry
    ORDER BY entry.at DESC, entry.id DESC LIMIT $1`,
};

const auditOf: Statement = {
  name: 'find_audit_of',
  text: `SELECT ${auditColumns} FROM audit WHERE account_id = $1 ORDER BY id DESC LIMIT $2`,
};

/** A row with its place in the chain of its account. */
export interface ExportedAudit extends AuditEntry {
  cell: string;
  /** Null, with the hash: it is from before the chain. */
  seq: number | null;
  /** By the database's clock, ms since 1970. */
  chainedMs: number | null;
  /** SHA-256, hex. */
  hash: string | null;
}

export const exportedAudit = `current_schema()::text AS cell, ${auditColumns}, seq, chained_ms AS "chainedMs", encode(hash, 'hex') AS hash`;

const auditPage: Statement = {
  name: 'find_audit_page',
  text: `SELECT ${exportedAudit} FROM audit
    WHERE (account_id, id) > ($1, $2) AND account_id <= $3 ORDER BY account_id, id LIMIT $4`,
};

/** A row's place in the order of time. */
export type AuditPlace = Pick<ExportedAudit, 'at' | 'id'>;

const auditBelow: Statement = {
  name: 'find_audit_below',
  text: `SELECT ${exportedAudit} FROM audit WHERE (at, id) < ($1, $2) ORDER BY at DESC, id DESC LIMIT $3`,
};

const auditOfBelow: Statement = {
  name: 'find_audit_of_below',
  text: `SELECT ${exportedAudit} FROM audit WHERE account_id = $4 AND (at, id) < ($1, $2) ORDER BY at DESC, id DESC LIMIT $3`,
};

/** Of one account or of all, the newest first. @param below null: from the newest */
export const findAuditBelow = (
  sql: Queries,
  accountId: string | null,
  below: AuditPlace | null,
  most: number,
): Promise<ExportedAudit[]> => {
  const place = [below === null ? 'infinity' : timestamp(below.at), below?.id ?? highestId, most];
  return accountId === null
    ? sql.run<ExportedAudit>(auditBelow, place)
    : sql.run<ExportedAudit>(auditOfBelow, [...place, accountId]);
};

const lowestId = '00000000-0000-0000-0000-000000000000';
const highestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Of one account or of all, page by page in the order of accounts and ids. */
export async function* auditPages(
  sql: Queries,
  accountId: string | null,
  most: number,
): AsyncGenerator<ExportedAudit[]> {
  let after = { ownerId: accountId ?? lowestId, id: lowestId };
  for (;;) {
    const page = await sql.run<ExportedAudit>(auditPage, [
      ...[after.ownerId, after.id, accountId ?? highestId, most],
    ]);
    yield page;
    const last = page.at(-1);
    if (last === undefined || page.length < most) return;
    after = last;
  }
}

/** The newest first. The installation has an account of its own. */
export const findAudit = (sql: Queries, accountId: string | null, most: number): Promise<AuditEntry[]> =>
  accountId === null
    ? sql.run<AuditEntry>(newestAudit, [most])
    : sql.run<AuditEntry>(auditOf, [accountId, most]);
