import type { Queries, Statement } from '../../ports/sql.ts';
import type { Readable } from '../database/table.ts';

/**
 * The rest of a Pix in suspense: the amount that came in, less returns and decided amounts. Every act on money in suspense acts on
 * what is left. Each read is bounded by the parts of one Pix.
 */
export interface SuspenseOfPix {
  accountId: string;
  /** The payment, or the installation for money that matches none. */
  subject: string;
  /** The end-to-end id; of money that matches no payment the name under which it is booked. */
  pix: string;
  /** Negative: more went back than came in. */
  leftCents: number;
  /** Of it, what decisions credited to an operation, less what they took back. */
  creditedCents: number;
}

/** The parts of a Pix: itself and its returns, by the references of their journals, with the incident of each. */
const parts = `SELECT n.name, CASE WHEN k.subject = k.account_id THEN 'unmatched:' ELSE 'suspense:' || k.subject || ':' END || n.name AS incident
    FROM (SELECT k.pix AS name UNION
      SELECT CASE WHEN k.subject = k.account_id AND strpos(k.pix, ':') > 0 THEN split_part(k.pix, ':', 1) || ':' ELSE '' END || r.reference
      FROM known_return r WHERE r.account_id = k.account_id
        AND r.payment = CASE WHEN k.subject = k.account_id THEN k.pix ELSE k.subject::text END
        AND (k.subject = k.account_id OR r.pix = k.pix)) n`;

const refundsOf = `SELECT r.id FROM refund r
    WHERE r.account_id = k.account_id AND r.payment_id = k.subject AND r.end_to_end = k.pix AND r.reason = 'odd_money'`;

const keys = 'unnest($1::uuid[], $2::uuid[], $3::text[]) AS k (account_id, subject, pix)';

const incidentsOf = `SELECT i.id, i.opened_at FROM incident i WHERE i.account_id = k.account_id AND i.reference IN (
      SELECT p.incident FROM (${parts}) p UNION SELECT 'return_refused:' || r.id FROM (${refundsOf}) r)`;

const select: Statement = {
  name: 'suspense_of_pix',
  text: `SELECT k.account_id AS "accountId", k.subject, k.pix, (coalesce((SELECT sum(j.suspense) FROM (${parts}) p JOIN journal j
      ON j.account_id = k.account_id AND j.subject = k.subject AND j.event = 7 AND j.reference = p.name), 0)
    + coalesce((SELECT sum(j.suspense) FROM (${incidentsOf}) i CROSS JOIN (VALUES (''), (':back')) AS m (more) JOIN journal j
      ON j.account_id = k.account_id AND j.subject = k.subject AND j.event = 10 AND j.reference = i.id || m.more), 0)
    + coalesce((SELECT sum(j.suspense) FROM (${refundsOf}) r JOIN journal j
      ON j.account_id = k.account_id AND j.subject = r.id AND j.event IN (11, 13)), 0))::bigint AS "leftCents",
    coalesce((SELECT -sum(j.suspense) FROM (${incidentsOf}) i CROSS JOIN (VALUES (''), (':back')) AS m (more) JOIN journal j
      ON j.account_id = k.account_id AND j.subject = k.subject AND j.event = 10 AND j.reference = i.id || m.more
      WHERE j.chain_id <> j.account_id), 0)::bigint AS "creditedCents"
    FROM ${keys}`,
};

export const suspenseKey = (accountId: string, subject: string, pix: string): string =>
  accountId + subject + pix;

const columnsOf = (wanted: readonly string[]): unknown[] => [
  wanted.map((key) => key.slice(0, 36)),
  wanted.map((key) => key.slice(36, 72)),
  wanted.map((key) => key.slice(72)),
];

/** Keyed by 36 characters of account, 36 of subject, then the Pix. */
export const suspenseOfPix: Readable<SuspenseOfPix> = {
  name: 'suspense_of_pix',
  keyOf: ({ accountId, subject, pix }) => suspenseKey(accountId, subject, pix),
  read: (tx, wanted) => tx.run<SuspenseOfPix>(select, columnsOf(wanted)),
};

const related: Statement = {
  name: 'suspense_incidents',
  text: `SELECT i.id FROM ${keys} CROSS JOIN LATERAL (${incidentsOf}) i ORDER BY i.opened_at, i.id`,
};

/** The incidents of one Pix, the oldest first. */
export const findIncidentsOfPix = async (sql: Queries, key: string): Promise<string[]> =>
  (await sql.run<{ id: string }>(related, columnsOf([key]))).map(({ id }) => id);

const ofReturn: Statement = {
  name: 'suspense_pix_of_return',
  text: 'SELECT pix FROM known_return WHERE account_id = $1 AND payment = $2 AND reference = $3',
};

/** Of which Pix of a payment this is a return; null: of none that is known. It never changes. */
export const findPixOfReturn = async (
  sql: Queries,
  accountId: string,
  paymentId: string,
  reference: string,
): Promise<string | null> =>
  (await sql.run<{ pix: string | null }>(ofReturn, [accountId, paymentId, reference]))[0]?.pix || null;

/** The cost of decisions about a payment for its operation; below zero: they brought it money. */
export interface BorneByOperation {
  accountId: string;
  paymentId: string;
  cents: number;
}

const borne: Statement = {
  name: 'borne_by_operation',
  text: `SELECT k.account_id AS "accountId", k.subject AS "paymentId",
      -sum(j.available + j.reserved + j.held + j.receivable)::bigint AS cents
    FROM unnest($1::uuid[], $2::uuid[]) AS k (account_id, subject)
      JOIN journal j ON j.account_id = k.account_id AND j.subject = k.subject AND j.event = 10
    WHERE j.chain_id <> j.account_id GROUP BY 1, 2`,
};

/** Keyed like payments. */
export const borneByOperation: Readable<BorneByOperation> = {
  name: 'borne_by_operation',
  keyOf: ({ accountId, paymentId }) => accountId + paymentId,
  read: (tx, wanted) =>
    tx.run<BorneByOperation>(borne, [
      wanted.map((key) => key.slice(0, 36)),
      wanted.map((key) => key.slice(36)),
    ]),
};
