import type { ConnectionRow } from '../../operate/connections/connections.sql.ts';
import type { Queries, Statement } from '../../ports/sql.ts';

/** A connection of the list: without its credentials. */
export type ListedConnection = Omit<
  ConnectionRow,
  'credentials' | 'url' | 'version' | 'identity' | 'routed'
> & {
  /** Calls that its breaker refuses, with when that began and when one may try again. */
  refused: { call: string; since: number; probeAt: number }[];
  /** Faults that the doctor found when it looked last; null: it never did. */
  faults: number | null;
  foundAt: number | null;
};

// Accounts are counted in one pass: an installation may have as many connections as merchants.
const page: Statement = {
  name: 'console_connections',
  text: `WITH bound AS (
      SELECT id, count(*)::integer AS accounts FROM (
        SELECT connection AS id FROM account WHERE number > 0
        UNION ALL SELECT card_connection FROM account WHERE number > 0 AND card_connection IS DISTINCT FROM connection) a
      WHERE id IS NOT NULL GROUP BY id)
    SELECT c.id AS name, c.adapter, c.mode, c.test, c.simulated, c.state, c.created_at AS "createdAt",
      c.certificate_expires_at AS "certificateExpiresAt", c.held_since AS "heldSince", c.held_reason AS "heldReason",
      coalesce(b.accounts, 0) AS accounts,
      coalesce((SELECT json_agg(json_build_object('call', r.call, 'since', (extract(epoch FROM r.changed_at) * 1000)::bigint,
          'probeAt', (extract(epoch FROM r.probe_at) * 1000)::bigint) ORDER BY r.call)
        FROM breaker r WHERE r.connection = c.id AND r.open), '[]') AS refused,
      (SELECT count(*)::integer FROM jsonb_array_elements(e.findings) f WHERE NOT (f->>'ok')::boolean) AS faults, e.found_at AS "foundAt"
    FROM (SELECT * FROM connection WHERE ($1::text IS NULL OR id > $1) AND ($2::text IS NULL OR id = $2) ORDER BY id LIMIT $3) c
      LEFT JOIN bound b ON b.id = c.id
      LEFT JOIN connection_examination e ON e.connection = c.id AND e.findings IS NOT NULL
    ORDER BY c.id`,
};

interface Place {
  /** Names above it. */
  after?: string | undefined;
  /** This one alone. */
  name?: string | undefined;
  most: number;
}

/** In the order of their names. */
export async function findListedConnections(
  sql: Queries,
  { after, name, most }: Place,
): Promise<ListedConnection[]> {
  const rows = await sql.run<ListedConnection>(page, [after ?? null, name ?? null, most]);
  return rows.map((row) => ({ ...row, faults: row.foundAt === null ? null : (row.faults ?? 0) }));
}

const accounts: Statement = {
  name: 'console_connection_accounts',
  text: `SELECT id AS "ownerId", name, test, enabled FROM account
    WHERE number > 0 AND $1 IN (connection, card_connection) ORDER BY created_at DESC, id LIMIT $2`,
};

export interface BoundAccount {
  ownerId: string;
  name: string;
  test: boolean;
  enabled: boolean;
}

/** The newest first. */
export const findBoundAccounts = (sql: Queries, connection: string, most: number): Promise<BoundAccount[]> =>
  sql.run<BoundAccount>(accounts, [connection, most]);

const money: Statement = {
  name: 'console_connection_money',
  text: `SELECT balance_cents AS "balanceCents", balance_read_at AS "balanceReadAt", blocked_judicial_cents AS "blockedJudicialCents",
      blocked_med_cents AS "blockedMedCents", blocked_total_cents AS "blockedTotalCents", pays_out_to AS "paysOutTo"
    FROM connection WHERE id = $1`,
};

/** The provider's last word on its account. */
export interface ConnectionMoney {
  balanceCents: number | null;
  balanceReadAt: number | null;
  blockedJudicialCents: number | null;
  blockedMedCents: number | null;
  blockedTotalCents: number | null;
  /** Of an acquirer: the connection at which its payouts arrive. */
  paysOutTo: string | null;
}

export const findConnectionMoney = async (
  sql: Queries,
  connection: string,
): Promise<ConnectionMoney | undefined> => (await sql.run<ConnectionMoney>(money, [connection]))[0];

const onTheWay: Statement = {
  name: 'console_cash_to',
  text: `SELECT t.connection, t.reference, t.to_connection AS "toConnection", t.amount_cents AS "amountCents", t.left_at AS "leftAt",
      t.due_at AS "dueAt"
    FROM cash_transfer t WHERE $1 IN (t.connection, t.to_connection) AND t.to_connection IS NOT NULL
      AND (t.arrival IS NULL AND t.own_at IS NULL) = (t.returned_at IS NULL) AND t.returned_at IS NULL
    ORDER BY t.left_at, t.reference LIMIT $2`,
};

/** Cash that left an acquirer and has not arrived: what this connection paid out, and what it waits for. */
export interface CashOnTheWay {
  connection: string;
  reference: string;
  toConnection: string;
  amountCents: number;
  leftAt: number;
  dueAt: number;
}

/** The oldest first. */
export const findCashOnTheWay = (sql: Queries, connection: string, most: number): Promise<CashOnTheWay[]> =>
  sql.run<CashOnTheWay>(onTheWay, [connection, most]);
