import type { Queries, Statement } from '../../ports/sql.ts';

export type Mode = 'shared' | 'own';

/** A row of `connection` as operators know it. */
export interface ConnectionRow {
  name: string;
  /** Null: the settings of the environment make it. */
  adapter: string | null;
  mode: Mode;
  test: boolean;
  simulated: boolean;
  url: string | null;
  credentials: Buffer | null;
  certificateExpiresAt: number | null;
  state: 'active' | 'retired';
  version: number;
  /** Of the account behind it (`provider/identity.ts`); null: it was never asked for. */
  identity: string | null;
  /** Since when a process holds it (`held.ts`), and why; null: none does. */
  heldSince: number | null;
  heldReason: string | null;
  createdAt: number | null;
  /** Accounts that are bound to it, for Pix or for cards. */
  accounts: number;
  /** Accounts that have it in their list for charges. */
  routed: number;
}

const columns = `c.id AS name, c.adapter, c.mode, c.test, c.simulated, c.url, c.credentials,
  c.certificate_expires_at AS "certificateExpiresAt", c.state, c.version, c.identity,
  c.held_since AS "heldSince", c.held_reason AS "heldReason", c.created_at AS "createdAt",
  (SELECT count(*) FROM account a WHERE c.id IN (a.connection, a.card_connection)) AS accounts,
  (SELECT count(*) FROM account a WHERE c.id = ANY (a.charge_fallback)) AS routed`;

const list: Statement = { name: 'connections', text: `SELECT ${columns} FROM connection c ORDER BY c.id` };

export const listConnectionRows = (sql: Queries): Promise<ConnectionRow[]> => sql.run<ConnectionRow>(list);

const one: Statement = {
  name: 'connection_one',
  text: `SELECT ${columns} FROM connection c WHERE c.id = $1`,
};

export const findConnectionRow = async (sql: Queries, name: string): Promise<ConnectionRow | undefined> =>
  (await sql.run<ConnectionRow>(one, [name]))[0];

const live: Statement = {
  name: 'connection_live',
  text: 'SELECT EXISTS (SELECT FROM connection WHERE adapter IS NOT NULL AND NOT test) AS live',
};

/**
 * Whether a connection that moves money was ever made here: the installation is no trial then (`isTrial` knows that of the settings). A
 * retired one counts, since its payments are real.
 */
export const hasLiveConnection = async (sql: Queries): Promise<boolean> =>
  (await sql.run<{ live: boolean }>(live))[0]?.live ?? false;

const lock: Statement = {
  name: 'connection_lock',
  text: 'SELECT FROM connection WHERE id = $1 FOR NO KEY UPDATE',
};

/** The row, held to the end of the transaction: who binds an account to it, changes it or retires it comes one after the other. */
export async function lockConnection(tx: Queries, name: string): Promise<ConnectionRow | undefined> {
  await tx.run(lock, [name]);
  return findConnectionRow(tx, name);
}

const versions: Statement = {
  name: 'connection_versions',
  text: 'SELECT id AS name, version FROM connection WHERE adapter IS NOT NULL',
};

export const readVersions = (sql: Queries): Promise<{ name: string; version: number }[]> =>
  sql.run<{ name: string; version: number }>(versions);

export interface NewConnection {
  name: string;
  adapter: string;
  mode: Mode;
  test: boolean;
  simulated: boolean;
  url: string | null;
  credentials: Buffer;
  certificateExpiresAt: number | null;
  webhookToken: string;
  identity: string | null;
  now: number;
}

const time = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

const insert: Statement = {
  name: 'connection_insert',
  text: `INSERT INTO connection (id, adapter, mode, test, simulated, url, credentials, certificate_expires_at, webhook_token,
      query_bucket_at, created_at, identity)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11) ON CONFLICT DO NOTHING RETURNING id`,
};

/** @returns false when the name is taken */
export const insertConnection = async (tx: Queries, given: NewConnection): Promise<boolean> => {
  const { name, adapter, mode, test, simulated, url, credentials, certificateExpiresAt } = given;
  const rows = await tx.run(insert, [
    name,
    adapter,
    mode,
    test,
    simulated,
    url,
    credentials,
    time(certificateExpiresAt),
    given.webhookToken,
    time(given.now),
    given.identity,
  ]);
  return rows.length > 0;
};

const update: Statement = {
  name: 'connection_change',
  text: `UPDATE connection SET mode = $2, url = $3, credentials = $4, certificate_expires_at = $5, state = $6, identity = $7,
      version = version + 1
    WHERE id = $1`,
};

export const updateConnection = (
  tx: Queries,
  row: Omit<
    ConnectionRow,
    'adapter' | 'test' | 'simulated' | 'version' | 'createdAt' | 'accounts' | 'routed'
  >,
): Promise<unknown> =>
  tx.run(update, [
    row.name,
    row.mode,
    row.url,
    row.credentials,
    time(row.certificateExpiresAt),
    row.state,
    row.identity,
  ]);

const know: Statement = {
  name: 'connection_know_account',
  text: `UPDATE connection SET identity = $2, version = version + 1 WHERE id = $1 AND version = $3`,
};

/** Keeps what a provider said of the account behind a connection, unless it was changed meanwhile. */
export const keepAccount = (
  sql: Queries,
  { name, version, identity }: Pick<ConnectionRow, 'name' | 'version' | 'identity'>,
): Promise<unknown> => sql.run(know, [name, identity, version]);

const selectCells: Statement = {
  name: 'connection_cells',
  text: 'SELECT quote_ident(name) AS name FROM cell ORDER BY created_at, name',
};

const openIn = (cell: string): Statement => ({
  name: `connection_open_${cell}`,
  text: `SELECT EXISTS (SELECT FROM ${cell}.intent WHERE connection = $1) AS open`,
});

/** Whether anything of any cell is still sent or followed over it. */
export async function hasOpenPayments(sql: Queries, name: string): Promise<boolean> {
  for (const cell of await sql.run<{ name: string }>(selectCells)) {
    const [found] = await sql.run<{ open: boolean }>(openIn(cell.name), [name]);
    if (found?.open) return true;
  }
  return false;
}

const openOf: Statement = {
  name: 'connection_account_open',
  text: `SELECT EXISTS (SELECT FROM intent WHERE account_id = $1) AS payments,
      EXISTS (SELECT FROM draft WHERE account_id = $1) AS drafts`,
};

export const findOpenOf = async (
  sql: Queries,
  accountId: string,
): Promise<{ payments: boolean; drafts: boolean }> =>
  (await sql.run<{ payments: boolean; drafts: boolean }>(openOf, [accountId]))[0] ?? {
    payments: false,
    drafts: false,
  };

const bound: Statement = {
  name: 'connection_account',
  text: 'SELECT connection, test FROM account WHERE id = $1 AND number > 0 FOR NO KEY UPDATE',
};

export const lockAccount = async (
  tx: Queries,
  accountId: string,
): Promise<{ connection: string; test: boolean } | undefined> =>
  (await tx.run<{ connection: string; test: boolean }>(bound, [accountId]))[0];

/** From then on it may have payments elsewhere, as one that was moved: `first_connection` says so to comparisons. */
const route: Statement = {
  name: 'connection_route',
  text: `UPDATE account SET charge_fallback = $2::text[], first_connection = coalesce(first_connection, connection) WHERE id = $1`,
};

/** Where new charges of an account go, in this order, while its own connection takes none. */
export const setChargeFallback = (
  tx: Queries,
  accountId: string,
  connections: readonly string[],
): Promise<unknown> => tx.run(route, [accountId, connections]);

const bind: Statement = {
  name: 'connection_bind',
  text: `UPDATE account SET first_connection = coalesce(first_connection, connection), connection = $2 WHERE id = $1`,
};

export const bindAccount = (tx: Queries, accountId: string, connection: string): Promise<unknown> =>
  tx.run(bind, [accountId, connection]);
