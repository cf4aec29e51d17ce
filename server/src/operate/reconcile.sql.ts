import { type PaymentKind, paymentKinds } from '../money/payment.ts';
import type { SentKind } from '../money/sent-kinds.ts';
import type { Queries, Statement } from '../ports/sql.ts';
import { timestamp } from '../store/database/pool.ts';

const installation: Statement = {
  name: 'reconcile_installation',
  text: `SELECT created_at AS "createdAt", restored_at AS "restoredAt", lost_since AS "lostSince" FROM installation`,
};

const lastBefore: Statement = {
  name: 'reconcile_last_before',
  text: `SELECT max(p.at) AS at FROM operation o CROSS JOIN LATERAL (
      SELECT max(created_at) AS at FROM payment
      WHERE account_id = o.account_id AND operation_id = o.id AND created_at < $1) p`,
};

export interface Restore {
  /** ms since 1970. */
  restoredAt: number;
  /** Since when something may be lost: at the latest since the newest payment there was; of an installation without payments, since its own creation. */
  lostSince: number;
}

/** The restore whose comparison is still wanted, or null. @param cells all of them */
export async function findRestore(directory: Queries, cells: readonly Queries[]): Promise<Restore | null> {
  const [row] = await directory.run<{
    createdAt: number;
    restoredAt: number | null;
    lostSince: number | null;
  }>(installation);
  if (!row || row.restoredAt === null) return null;
  const { restoredAt, createdAt, lostSince } = row;
  const last = await Promise.all(
    cells.map(async (sql) => (await sql.run<{ at: number | null }>(lastBefore, [timestamp(restoredAt)]))[0]),
  );
  const lastAt = last.reduce((newest, one) => Math.max(newest, one?.at ?? 0), 0) || createdAt;
  return { restoredAt, lostSince: Math.min(lastAt, lostSince ?? lastAt) };
}

/** The page is cut before it is filtered, and its last row comes along: the next page begins behind it. */
const openPage: Statement = {
  name: 'reconcile_open_page',
  text: `WITH page AS MATERIALIZED (
      SELECT account_id, payment_id, operation_id, connection, kind, created_at FROM intent
      WHERE (account_id, payment_id) > ($1, $2) ORDER BY account_id, payment_id LIMIT $4)
    SELECT account_id AS "accountId", payment_id AS "paymentId", connection, kind, created_at AS "createdAt" FROM page
    WHERE created_at < $3 OR (account_id, payment_id) = (SELECT account_id, payment_id FROM page ORDER BY 1 DESC, 2 DESC LIMIT 1)
    ORDER BY page.account_id, page.payment_id`,
};

export interface OpenPayment {
  accountId: string;
  paymentId: string;
  connection: string;
  kind: PaymentKind;
  createdAt: number;
}

type OpenRow = Omit<OpenPayment, 'kind'> & { kind: SentKind };

const openPerPage = 20_000;

/** A due-date charge is none of them: it may wait for a year, and the statement has its payment. */
const isPayment = ({ kind }: OpenRow): boolean => (paymentKinds as readonly string[]).includes(kind);

/** The oldest open payments that were created before `beforeMs`, at most `most`, the oldest first. Reads every open payment once. */
export async function findOldestOpen(sql: Queries, beforeMs: number, most: number): Promise<OpenPayment[]> {
  let oldest: OpenPayment[] = [];
  let below = beforeMs;
  let after: Pick<OpenPayment, 'accountId' | 'paymentId'> | undefined = {
    accountId: lowestId,
    paymentId: lowestId,
  };
  while (after) {
    const page: OpenRow[] = await sql.run<OpenRow>(openPage, [
      after.accountId,
      after.paymentId,
      timestamp(below),
      openPerPage,
    ]);
    // Only payments have lists to be compared with: everything else is queried by itself.
    const old = page.filter((one): one is OpenPayment => one.createdAt < below && isPayment(one));
    oldest = [...oldest, ...old].sort((a, b) => a.createdAt - b.createdAt).slice(0, most);
    if (oldest.length === most) below = oldest.at(-1)?.createdAt ?? below;
    after = page.at(-1);
  }
  return oldest;
}

const lowestId = '00000000-0000-0000-0000-000000000000';

const connections: Statement = {
  name: 'reconcile_connection',
  text: `SELECT c.connection FROM account a CROSS JOIN LATERAL (VALUES (a.connection), (a.card_connection)) AS c (connection)
    WHERE a.id = $1 AND c.connection IS NOT NULL ORDER BY 1`,
};

/** Those of an account, for Pix and for cards; none: there is no such account. */
export const findConnectionsOf = async (sql: Queries, accountId: string): Promise<string[]> =>
  (await sql.run<{ connection: string }>(connections, [accountId])).map(({ connection }) => connection);

const used: Statement = {
  name: 'reconcile_connections_used',
  text: `SELECT DISTINCT c.connection FROM account a CROSS JOIN LATERAL (VALUES (a.connection), (a.card_connection)) AS c (connection)
    WHERE a.number <> 0 AND c.connection IS NOT NULL ORDER BY 1`,
};

/** The connections that accounts are bound to; the installation's own account has none. */
export const findConnections = async (sql: Queries): Promise<string[]> =>
  (await sql.run<{ connection: string }>(used)).map(({ connection }) => connection);

const traces: Statement = {
  name: 'reconcile_traces',
  text: `SELECT p.account_id AS "accountId", p.id,
      (SELECT count(*) FROM journal j WHERE j.account_id = p.account_id AND j.subject = p.id) AS journals,
      (SELECT count(*) FROM incident i WHERE i.account_id = p.account_id AND i.payment_id = p.id AND i.state = 'open') AS incidents,
      ARRAY(SELECT j.reference FROM journal j WHERE j.account_id = p.account_id AND j.subject = p.id AND j.reference <> '')
        || ARRAY(SELECT r.rtr_id FROM known_return r
          WHERE r.account_id = p.account_id AND r.payment = p.id::text AND r.rtr_id IS NOT NULL)
        || ARRAY(SELECT coalesce(f.rtr_id, f.end_to_end || '/' || replace(f.id::text, '-', '')) FROM refund f
          WHERE f.account_id = p.account_id AND f.payment_id = p.id AND f.status = 'completed') AS "references"
    FROM payment p JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, id) USING (account_id, id)`,
};

/** The ledger's view of a payment. */
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

const operations: Statement = {
  name: 'reconcile_operations',
  text: `SELECT o.account_id AS "accountId", o.id AS "operationId" FROM account a JOIN operation o ON o.account_id = a.id
    WHERE (a.connection = $1 OR a.first_connection IS NOT NULL) AND ($2::uuid IS NULL OR a.id = $2) AND (o.account_id, o.id) > ($3, $4)
    ORDER BY o.account_id, o.id LIMIT $5`,
};

/** Each stretch is one walk along `payment_list`, cut before anything is filtered: no statement takes longer for a longer history. */
const stretches: Statement = {
  name: 'reconcile_payments',
  // The provider lists a payment of a static code under the code, and no charge for it.
  text: `SELECT k.account_id AS "accountId", k.operation_id AS "operationId", p.id, p.kind, p.created_at AS "createdAt",
      p.static_code_id IS NULL AND p.status IN ('paid', 'completed') AND coalesce(p.connection, a.first_connection, a.connection) = $7 AS settled
    FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::uuid[]) AS k (account_id, operation_id, created_at, id)
      JOIN account a ON a.id = k.account_id
      CROSS JOIN LATERAL (SELECT id, kind, created_at, status, connection, static_code_id FROM payment
        WHERE account_id = a.id AND operation_id = k.operation_id AND (created_at, id) > (k.created_at, k.id) AND created_at < $5
        ORDER BY created_at, id LIMIT $6) p`,
};

interface SettledPayment {
  accountId: string;
  id: string;
  kind: PaymentKind;
}

interface Place {
  accountId: string;
  operationId: string;
  createdAt: number;
  id: string;
}

const operationsPerPage = 500;
/** Over all operations of a statement. */
const paymentsPerPage = 5_000;

/**
 * Payments of a connection that are settled here and were created in the window, page by page: every payment of the window is read once,
 * in the order of an index.
 */
export async function* findSettled(
  sql: Queries,
  connection: string,
  window: { fromMs: number; toMs: number },
  accountId: string | null,
): AsyncGenerator<SettledPayment[]> {
  let after: Pick<Place, 'accountId' | 'operationId'> = { accountId: lowestId, operationId: lowestId };
  for (;;) {
    const page = await sql.run<typeof after>(operations, [
      connection,
      accountId,
      after.accountId,
      after.operationId,
      operationsPerPage,
    ]);
    const last = page.at(-1);
    if (!last) return;
    after = last;
    const places = page.map((one) => ({ ...one, createdAt: window.fromMs, id: lowestId }));
    yield* settledBehind(sql, connection, places, window.toMs);
  }
}

async function* settledBehind(
  sql: Queries,
  connection: string,
  from: readonly Place[],
  toMs: number,
): AsyncGenerator<SettledPayment[]> {
  for (let places = from; places.length > 0; ) {
    const each = Math.ceil(paymentsPerPage / places.length);
    const rows = await sql.run<Place & SettledPayment & { settled: boolean }>(stretches, [
      places.map((place) => place.accountId),
      places.map((place) => place.operationId),
      places.map((place) => place.createdAt),
      places.map((place) => place.id),
      timestamp(toMs),
      each,
      connection,
    ]);
    yield rows.filter(({ settled }) => settled);
    const read = Map.groupBy(rows, ({ accountId, operationId }) => accountId + operationId);
    places = [...read.values()].filter((one) => one.length === each).map(newest);
  }
}

const newest = (places: readonly Place[]): Place =>
  places.reduce((a, b) =>
    b.createdAt > a.createdAt || (b.createdAt === a.createdAt && b.id > a.id) ? b : a,
  );
