import type { Secrets } from '../../ground/secrets.ts';
import type { Queries, Sql, Statement } from '../../ports/sql.ts';
import { directoryTables, homeCell } from './cells.ts';

/**
 * Every column whose values are sealed under the installation's secret. What is sealed anywhere else cannot be sealed again by
 * `secret rotate`: a test compares the list with the whole database after a rotation.
 */
interface SealedColumn {
  table: string;
  /** The primary key, in order. */
  key: readonly { name: string; type: 'uuid' | 'text' }[];
  column: string;
  /** `bytea`: by `Secrets.seal`. `text`: by better-auth, under a key that is derived from the secret. */
  type: 'bytea' | 'text';
  /** The column of the key that is the context of the sealed value. */
  context: string;
  /** Of one step, where values are large. */
  rowsPerStep?: number;
}

const ofAccount = (id: string) =>
  [
    { name: 'account_id', type: 'uuid' },
    { name: id, type: 'uuid' },
  ] as const;
const byId = (type: 'uuid' | 'text') => [{ name: 'id', type }] as const;

const sealedColumns: readonly SealedColumn[] = [
  { table: 'payment', key: ofAccount('id'), column: 'pix_key', type: 'bytea', context: 'id' },
  { table: 'payment', key: ofAccount('id'), column: 'payer', type: 'bytea', context: 'id' },
  { table: 'payment', key: ofAccount('id'), column: 'link_payer', type: 'bytea', context: 'id' },
  { table: 'saved_receiver', key: ofAccount('id'), column: 'pix_key', type: 'bytea', context: 'id' },
  { table: 'draft', key: ofAccount('payment_id'), column: 'email', type: 'bytea', context: 'payment_id' },
  { table: 'dispute_defence', key: ofAccount('id'), column: 'body', type: 'bytea', context: 'id' },
  // Up to 10 MiB each.
  {
    table: 'dispute_file',
    key: ofAccount('id'),
    column: 'body',
    type: 'bytea',
    context: 'id',
    rowsPerStep: 2,
  },
  { table: 'inbound', key: byId('uuid'), column: 'body', type: 'bytea', context: 'id' },
  { table: 'unread_item', key: byId('uuid'), column: 'body', type: 'bytea', context: 'id' },
  { table: 'webhook_endpoint', key: ofAccount('id'), column: 'secret', type: 'bytea', context: 'id' },
  {
    table: 'webhook_endpoint',
    key: ofAccount('id'),
    column: 'previous_secret',
    type: 'bytea',
    context: 'id',
  },
  { table: 'connection', key: byId('text'), column: 'credentials', type: 'bytea', context: 'id' },
  { table: 'retired_pepper', key: byId('text'), column: 'sealed', type: 'bytea', context: 'id' },
  { table: 'page_key', key: byId('text'), column: 'sealed', type: 'bytea', context: 'id' },
  { table: 'operator_person', key: byId('uuid'), column: 'app_secret', type: 'bytea', context: 'id' },
  { table: 'panel_two_factor', key: byId('uuid'), column: 'secret', type: 'text', context: 'id' },
  { table: 'panel_two_factor', key: byId('uuid'), column: 'backup_codes', type: 'text', context: 'id' },
];

export const isSealed = (table: string, column: string): boolean =>
  sealedColumns.some((one) => one.table === table && one.column === column);

/** Rows of one step: read in some 10 ms, and written in one transaction of some 20. */
const usualRowsPerStep = 1_000;

const rowsPerStepOf = ({ rowsPerStep = usualRowsPerStep }: SealedColumn): number => rowsPerStep;

/** Sealed by better-auth before it named its key: the start seals these again. */
export const unnamed = 'unknown';

/** SQL for the id of the secret that a value is sealed under: see `Secrets.seal`, and better-auth's `$ba$VERSION$…`. */
const secretIdOf = ({ column, type }: SealedColumn): string =>
  type === 'bytea'
    ? `encode(substring(${column} FROM 2 FOR 4), 'hex')`
    : `CASE WHEN ${column} LIKE '$ba$%' THEN lpad(to_hex(split_part(${column}, '$', 3)::bigint), 8, '0') ELSE '${unnamed}' END`;

interface Statements {
  page: Statement;
  reseal: Statement;
}

const statementsOf = (sealed: SealedColumn, cell: string): Statements => {
  const { key, column, type } = sealed;
  const table = cell === homeCell ? sealed.table : `${cell}.${sealed.table}`;
  const name = table.replace('.', '_');
  const names = key.map(({ name }) => name);
  const after = key.map((part, at) => `$${at + 1}::${part.type}`);
  const own = `$${key.length + 1}`;
  const arrays = key.map((part, at) => `$${at + 1}::${part.type}[]`);
  return {
    // A page of all rows, of which only those under other secrets and the last are sent. It begins in the index: with `$1 OR` in front
    // of the comparison, for the first page, each page read all rows before it, and two million payments took more than 5 s a page.
    page: {
      name: `sealed_page_${name}_${column}`,
      text: `WITH page AS (
          SELECT ${names}, ${column}, row_number() OVER (ORDER BY ${names}) AS place
          FROM ${table} WHERE (${names}) > (${after}) ORDER BY ${names} LIMIT ${rowsPerStepOf(sealed)})
        SELECT ARRAY[${names.map((name) => `${name}::text`)}] AS key, secret_id AS "secretId",
            CASE WHEN secret_id <> ${own} THEN ${column} END AS value, total::integer, own::integer
        FROM (SELECT page.*, ${column} IS NOT NULL AS present, CASE WHEN ${column} IS NOT NULL THEN ${secretIdOf(sealed)} END AS secret_id,
            count(*) OVER () AS total,
            count(*) FILTER (WHERE ${column} IS NOT NULL AND ${secretIdOf(sealed)} = ${own}) OVER () AS own
          FROM page) AS p
        WHERE (present AND secret_id <> ${own}) OR place = total ORDER BY place`,
    },
    // Rows that another transaction holds are left to the next pass: this never waits while it holds others, so no deadlock.
    reseal: {
      name: `sealed_again_${name}_${column}`,
      text: `WITH wanted AS (
          SELECT * FROM unnest(${arrays}, $${key.length + 1}::${type}[], $${key.length + 2}::${type}[]) AS k (${names}, before, after)),
        free AS (
          SELECT t.${names.join(', t.')}, w.after FROM ${table} t JOIN wanted w USING (${names})
          WHERE t.${column} = w.before FOR UPDATE OF t SKIP LOCKED)
        UPDATE ${table} t SET ${column} = f.after FROM free f
        WHERE ${names.map((name) => `t.${name} = f.${name}`).join(' AND ')} RETURNING 1 AS done`,
    },
  };
};

/** A sealed column of a cell, or of the directory. */
interface SealedPlace {
  sealed: SealedColumn;
  statements: Statements;
}

const otherCells: Statement = {
  name: 'sealed_cells',
  text: `SELECT name FROM cell WHERE name <> '${homeCell}' ORDER BY created_at, name`,
};

/** Of the directory once, of the cells' tables in each. */
async function placesOf(sql: Queries): Promise<SealedPlace[]> {
  const others = await sql.run<{ name: string }>(otherCells);
  const ofCells = sealedColumns.filter(({ table }) => !directoryTables.includes(table));
  return [
    ...sealedColumns.map((sealed) => ({ sealed, statements: statementsOf(sealed, homeCell) })),
    ...others.flatMap(({ name }) =>
      ofCells.map((sealed) => ({ sealed, statements: statementsOf(sealed, name) })),
    ),
  ];
}

interface PageRow {
  key: string[];
  secretId: string | null;
  value: Buffer | string | null;
  total: number;
  own: number;
}

/** Lower than every key. */
const lowestKey = { uuid: '00000000-0000-0000-0000-000000000000', text: '' };

/** Reads a column page by page. `foreign`: the rows that are sealed under another secret than `ownId`. */
async function* pagesOf(
  sql: Queries,
  { sealed, statements: { page } }: SealedPlace,
  ownId: string,
): AsyncGenerator<{ own: number; foreign: PageRow[] }> {
  let after: string[] = sealed.key.map(({ type }) => lowestKey[type]);
  for (;;) {
    const rows: PageRow[] = await sql.run<PageRow>(page, [...after, ownId]);
    const last = rows.at(-1);
    if (!last) return;
    yield { own: last.own, foreign: rows.filter(({ value }) => value !== null) };
    if (last.total < rowsPerStepOf(sealed)) return;
    after = last.key;
  }
}

const keysByPepper: Statement = {
  name: 'sealed_keys',
  text: `SELECT pepper_id AS id, count(*)::integer AS count FROM api_key k
    WHERE revoked_at IS NULL AND NOT EXISTS (SELECT FROM retired_pepper r WHERE r.id = k.pepper_id) GROUP BY 1`,
};

/** How many values need each secret: those that are sealed under it, and the API keys whose pepper only this secret gives. */
export async function countSealed(sql: Queries, ownId: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const add = (id: string, count: number) => {
    if (count > 0) counts.set(id, (counts.get(id) ?? 0) + count);
  };
  for (const place of await placesOf(sql)) {
    for await (const { own, foreign } of pagesOf(sql, place, ownId)) {
      add(ownId, own);
      for (const { secretId } of foreign) add(secretId ?? unnamed, 1);
    }
  }
  for (const { id, count } of await sql.run<{ id: string; count: number }>(keysByPepper)) add(id, count);
  return counts;
}

/**
 * Seals everything again that is sealed under another secret, in small transactions. What was done stays done when it is cut off,
 * and what others change at the same moment is left to the next pass.
 * @returns how many values were left because they cannot be opened
 */
export async function sealAgain({ sql, secrets }: { sql: Sql; secrets: Secrets }): Promise<number> {
  for (;;) {
    let found = 0;
    let closed = 0;
    for (const place of await placesOf(sql)) {
      for await (const { foreign } of pagesOf(sql, place, secrets.id)) {
        const done = await sealPage(sql, secrets, place, foreign);
        found += foreign.length;
        closed += done.closed;
      }
    }
    if (found === closed) return closed;
  }
}

async function sealPage(
  sql: Sql,
  secrets: Secrets,
  { sealed, statements: { reseal } }: SealedPlace,
  rows: readonly PageRow[],
): Promise<{ closed: number }> {
  const context = sealed.key.findIndex(({ name }) => name === sealed.context);
  const opened: { row: PageRow; after: Buffer | string }[] = [];
  for (const row of rows) {
    const after =
      row.value instanceof Buffer
        ? resealed(secrets, row.value, row.key[context] as string)
        : await resealedByPanel(secrets, row.value as string);
    if (after !== null) opened.push({ row, after });
  }
  if (opened.length > 0) {
    await sql.tx((tx) =>
      tx.run(reseal, [
        ...sealed.key.map((_, at) => opened.map(({ row }) => row.key[at])),
        opened.map(({ row }) => row.value),
        opened.map(({ after }) => after),
      ]),
    );
  }
  return { closed: rows.length - opened.length };
}

function resealed(secrets: Secrets, value: Buffer, context: string): Buffer | null {
  try {
    return secrets.seal(secrets.open(value, context), context);
  } catch {
    return null;
  }
}

/** The purpose under which better-auth's secret is derived: it seals second factors under it. */
export const panelPurpose = 'panel sessions';

/** The secrets in better-auth's form, the current first. Its version of a secret is the secret's id as a number. */
export const panelSecretsOf = (secrets: Pick<Secrets, 'known'>): { version: number; value: string }[] =>
  secrets.known.map(({ id, derive }) => ({
    version: Number.parseInt(id, 16),
    value: derive(panelPurpose).toString('base64'),
  }));

/** Also for values of versions that did not name their secret: the one that opens them is found by trying. */
async function resealedByPanel(secrets: Secrets, value: string): Promise<string | null> {
  const { symmetricDecrypt, symmetricEncrypt } = await import('better-auth/crypto');
  const known = panelSecretsOf(secrets);
  const [current] = known as [{ version: number; value: string }];
  const keys = new Map(known.map(({ version, value: key }) => [version, key]));
  for (const { value: legacySecret } of known) {
    try {
      const key = { keys, currentVersion: current.version, legacySecret };
      const data = await symmetricDecrypt({ key, data: value });
      return await symmetricEncrypt({ key, data });
    } catch {
      // Another one may open it.
    }
  }
  return null;
}

const unnamedFactors: Statement = {
  name: 'sealed_unnamed',
  text: `SELECT EXISTS (SELECT FROM panel_two_factor WHERE secret NOT LIKE '$ba$%' OR backup_codes NOT LIKE '$ba$%') AS found`,
};

/** Second factors of versions that did not name their secret get the current one's name: better-auth opens no other ones. */
export async function nameFactors(deps: { sql: Sql; secrets: Secrets }): Promise<void> {
  const [row] = await deps.sql.run<{ found: boolean }>(unnamedFactors);
  if (!row?.found) return;
  // All of the directory.
  for (const sealed of sealedColumns.filter(({ type }) => type === 'text')) {
    const place = { sealed, statements: statementsOf(sealed, homeCell) };
    for await (const { foreign } of pagesOf(deps.sql, place, deps.secrets.id)) {
      const rows = foreign.filter(({ secretId }) => secretId === unnamed);
      await sealPage(deps.sql, deps.secrets, place, rows);
    }
  }
}
