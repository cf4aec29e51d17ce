import type { Queries, Statement } from '../ports/sql.ts';

const since: Statement = {
  name: 'reconcile_since',
  text: `SELECT i.created_at AS "createdAt", i.restored_at AS "restoredAt", (SELECT min(created_at) FROM intent) AS "oldestOpenAt",
      (SELECT max(p.at) FROM operation o CROSS JOIN LATERAL (
        SELECT max(created_at) AS at FROM payment
        WHERE account_id = o.account_id AND operation_id = o.id AND created_at < i.restored_at) p) AS "lastBeforeAt"
    FROM installation i`,
};

export interface LastKnown {
  /** Of the installation. */
  createdAt: number;
  restoredAt: number | null;
  /** The oldest payment that is followed up. */
  oldestOpenAt: number | null;
  /** The newest payment that the backup held. */
  lastBeforeAt: number | null;
}

export const findLastKnown = async (sql: Queries): Promise<LastKnown> =>
  (await sql.run<LastKnown>(since))[0] as LastKnown;

const connections: Statement = {
  name: 'reconcile_connection',
  text: 'SELECT connection FROM account WHERE id = $1',
};

export const findConnectionOf = async (sql: Queries, accountId: string): Promise<string | undefined> =>
  (await sql.run<{ connection: string }>(connections, [accountId]))[0]?.connection;

const used: Statement = {
  name: 'reconcile_connections_used',
  text: 'SELECT DISTINCT connection FROM account WHERE number <> 0 ORDER BY connection',
};

/** The connections that accounts are bound to; the installation's own account has none. */
export const findConnections = async (sql: Queries): Promise<string[]> =>
  (await sql.run<{ connection: string }>(used)).map(({ connection }) => connection);

const traces: Statement = {
  name: 'reconcile_traces',
  text: `SELECT p.account_id AS "accountId", p.id,
      (SELECT count(*) FROM journal j WHERE j.account_id = p.account_id AND j.subject = p.id) AS journals,
      (SELECT count(*) FROM incident i WHERE i.account_id = p.account_id AND i.payment_id = p.id AND i.state = 'open') AS incidents,
      ARRAY(SELECT j.reference FROM journal j WHERE j.account_id = p.account_id AND j.subject = p.id AND j.reference <> '') AS "references"
    FROM payment p JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, id) USING (account_id, id)`,
};

/** What the ledger knows of a payment. */
export interface Traces {
  accountId: string;
  id: string;
  journals: number;
  /** Open ones. */
  incidents: number;
  /** The provider's ids of money that may come several times. */
  references: string[];
}

export const findTraces = (
  sql: Queries,
  rows: readonly { accountId: string; id: string }[],
): Promise<Traces[]> =>
  sql.run<Traces>(traces, [rows.map((row) => row.accountId), rows.map((row) => row.id)]);

const settled: Statement = {
  name: 'reconcile_settled',
  text: `SELECT p.account_id AS "accountId", p.id, p.created_at AS "createdAt"
    FROM account a JOIN operation o ON o.account_id = a.id
      CROSS JOIN LATERAL (SELECT * FROM payment
        WHERE account_id = o.account_id AND operation_id = o.id AND created_at >= $2 AND created_at < $3) p
    WHERE a.connection = $1 AND ($4::uuid IS NULL OR a.id = $4) AND p.status IN ('paid', 'completed') AND p.id > $5
    ORDER BY p.id LIMIT $6`,
};

/** Payments of a connection that are settled here, created in the window, in the order of their ids. */
export const findSettled = (
  sql: Queries,
  connection: string,
  window: { fromMs: number; toMs: number },
  accountId: string | null,
  after: string,
  most: number,
): Promise<{ accountId: string; id: string }[]> =>
  sql.run(settled, [
    connection,
    new Date(window.fromMs).toISOString(),
    new Date(window.toMs).toISOString(),
    accountId,
    after,
    most,
  ]);
