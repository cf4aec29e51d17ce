import type pg from 'pg';
import { queryPriorities, sendPriority } from '../../money/intent.ts';
import type { Queries, Sql, Statement } from '../../ports/sql.ts';
import { distributeCell, isCitus, keepFromNodes } from './citus.ts';
import { timestamp } from './pool.ts';
import { APP, OWNER } from './roles.ts';

/** The schema that holds the directory and the first cell. */
export const homeCell = 'vintem';

/**
 * The tables that all accounts share. Every other table of the schema belongs to a cell: its rows belong to one account each, and the same table exists
 * in every cell.
 */
export const directoryTables: readonly string[] = [
  'migration',
  'cell',
  'cell_migration',
  'installation',
  'account',
  'api_key',
  'retired_pepper',
  'page_key',
  'sealing_secret',
  'rate_bucket',
  'write_probe',
  'worker',
  'connection',
  'connection_examination',
  'job',
  'query_slot',
  'send_slot',
  'breaker',
  'inbound',
  'statement_line',
  'unread_item',
  'connection_movement',
  'cash_transfer',
  'static_identifier',
  'reconcile_seen',
  'lost_payment',
  'database_mark',
  'lost_time',
  'connection_close',
  'connection_close_cell',
  'panel_user',
  'panel_session',
  'panel_session_access',
  'panel_credential',
  'panel_verification',
  'panel_two_factor',
  'panel_passkey',
  'panel_member',
  'panel_mail_choice',
  'panel_invitation',
  'panel_place',
  'panel_new_email',
  'panel_attempt',
  'security_event',
  'operator_person',
  'operator_session',
  'operator_passkey',
  'operator_challenge',
  'operator_identity',
  'operator_oidc_flow',
  'operator_request',
  'operator_view',
  'worklist_claim',
  'notice',
  'support_grant',
  'support_view',
];

/**
 * Makes the next cell, with the tables of the first one as its catalogue has them now: columns, constraints, indexes, settings and rights. So a
 * new cell is what the migrations have made of the first one, without running them again. One transaction: a process that ends in between
 * leaves nothing.
 * @param client of a login that makes schemas and may work as the owner
 * @returns its name
 */
export async function makeCell(client: pg.Client, now: number): Promise<string> {
  await client.query('BEGIN');
  try {
    const name = await makeCellWithin(client, now);
    await client.query('COMMIT');
    return name;
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

/** The same as a part of the caller's transaction, which continues as the owner and finds tables by the schema in their name alone. */
export async function makeCellWithin(client: pg.Client, now: number): Promise<string> {
  await client.query(`SET LOCAL ROLE ${OWNER}`);
  // No migration changes a table meanwhile, and no other process makes a cell.
  await client.query('LOCK TABLE vintem.migration IN SHARE ROW EXCLUSIVE MODE');
  const { rows: cells } = await client.query<{ name: string }>('SELECT name FROM vintem.cell');
  const numbers = cells.map(({ name }) => Number(name.split('_')[1] ?? 1));
  const name = `${homeCell}_${Math.max(...numbers) + 1}`;
  await client.query('SET LOCAL ROLE NONE');
  await keepFromNodes(client);
  await client.query(`CREATE SCHEMA ${name} AUTHORIZATION ${OWNER}`);
  await client.query(`SET LOCAL ROLE ${OWNER}`);
  await client.query(`GRANT USAGE ON SCHEMA ${name} TO ${APP}`);
  // Definitions name every table with its schema.
  await client.query(`SET LOCAL search_path = ''`);
  for (const statement of await statementsOfCell(client, name)) await client.query(statement);
  await client.query(`INSERT INTO ${name}.publisher SELECT shard FROM vintem.publisher`);
  if (await isCitus(client)) await distributeCell(client, name);
  await client.query('INSERT INTO vintem.cell (name, created_at) VALUES ($1, $2)', [name, timestamp(now)]);
  await client.query(
    `INSERT INTO vintem.cell_migration (cell, name, applied_at) SELECT $1, name, $2 FROM vintem.migration`,
    [name, timestamp(now)],
  );
  return name;
}

export interface CellRow {
  name: string;
  createdAt: number;
  /** Takes new accounts. */
  open: boolean;
  accounts: number;
}

const list: Statement = {
  name: 'cells',
  text: `SELECT c.name, c.created_at AS "createdAt", c.open,
      (SELECT count(*) FROM account a WHERE a.cell = c.name AND a.number > 0)::integer AS accounts
    FROM cell c ORDER BY c.created_at, c.name`,
};

/** The first one in front. */
export const listCells = (sql: Queries): Promise<CellRow[]> => sql.run<CellRow>(list);

const setOpen: Statement = {
  name: 'cell_open',
  text: 'UPDATE cell SET open = $2 WHERE name = $1 RETURNING name',
};

/** @returns whether there is such a cell */
export const openCellToAccounts = async (sql: Sql, name: string, open: boolean): Promise<boolean> =>
  (await sql.tx((tx) => tx.run(setOpen, [name, open]))).length > 0;

/** Open payments of a cell are counted no further. */
const countedMost = 100_000;

const load: Statement = {
  name: 'cell_load',
  // The first entry of an index for each connection and priority, and not a look at every row.
  // The connections are read before: on Citus they stand on another node than the intents.
  text: `WITH known AS MATERIALIZED (SELECT id FROM connection)
    SELECT (SELECT count(*) FROM (SELECT 1 FROM intent LIMIT ${countedMost}) i)::integer AS "openPayments",
      coalesce(greatest(extract(epoch FROM clock_timestamp() - (SELECT min(due_at) FROM (SELECT (SELECT min(i.due_at) FROM intent i
        WHERE i.connection = known.id AND i.priority = p.priority) AS due_at FROM known, unnest(ARRAY[${[sendPriority, ...queryPriorities].join(', ')}]) AS p (priority)) AS first)), 0),
        0)::double precision AS "oldestDueSeconds",
      (SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r')::bigint AS bytes`,
};

export interface CellLoad {
  /** At most a hundred thousand: then there may be more. */
  openPayments: number;
  oldestDueSeconds: number;
  /** Of its tables with their indexes; of the first one with the directory's. */
  bytes: number;
}

/** @param sql of the cell */
export async function loadOfCell(sql: Queries): Promise<CellLoad> {
  const [row] = await sql.run<CellLoad>(load);
  if (!row) throw new Error('a cell has no answer');
  return row;
}

const connections: Statement = {
  name: 'cell_connections',
  text: `SELECT CASE WHEN application_name ~ ' vintem_[0-9]+$' THEN split_part(application_name, ' ', -1) ELSE '${homeCell}' END AS cell,
      count(*)::integer AS connections
    FROM pg_stat_activity
    WHERE datname = current_database() AND application_name ~ '^vintem( outgoing)?( vintem_[0-9]+)?$' GROUP BY 1`,
};

/** How many connections all processes have in each cell, those of this one included; a cell without one is not in it. */
export async function connectionsOfCells(sql: Queries): Promise<ReadonlyMap<string, number>> {
  const rows = await sql.run<{ cell: string; connections: number }>(connections);
  return new Map(rows.map(({ cell, connections }) => [cell, connections]));
}

/** In order: tables, keys and checks, foreign keys, other indexes, rights, identities of rows. */
async function statementsOfCell(client: pg.Client, cell: string): Promise<string[]> {
  const { rows } = await client.query<{ statement: string }>(
    `WITH source AS (
       SELECT c.oid, c.relname, c.reloptions, c.relpersistence, c.relreplident, c.relacl FROM pg_catalog.pg_class c
        WHERE c.relnamespace = 'vintem'::pg_catalog.regnamespace AND c.relkind = 'r' AND c.relname <> ALL ($1::text[])),
     parts AS (
       SELECT 1 AS step, s.relname AS at, pg_catalog.format('CREATE %sTABLE %I.%I (%s)%s',
           CASE s.relpersistence WHEN 'u' THEN 'UNLOGGED ' ELSE '' END, $2::text, s.relname,
           (SELECT string_agg(pg_catalog.format('%I %s%s%s%s', a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
                CASE WHEN a.attcollation <> t.typcollation THEN pg_catalog.format(' COLLATE %I.%I', n.nspname, l.collname) ELSE '' END,
                CASE WHEN d.oid IS NULL THEN '' ELSE ' DEFAULT ' || pg_catalog.pg_get_expr(d.adbin, d.adrelid) END,
                CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END), ', ' ORDER BY a.attnum)
              FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
                LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
                LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation LEFT JOIN pg_catalog.pg_namespace n ON n.oid = l.collnamespace
             WHERE a.attrelid = s.oid AND a.attnum > 0 AND NOT a.attisdropped),
           CASE WHEN s.reloptions IS NULL THEN '' ELSE ' WITH (' || pg_catalog.array_to_string(s.reloptions, ', ') || ')' END) AS statement
         FROM source s
       UNION ALL
       SELECT 2, s.relname || k.contype::text || k.conname, pg_catalog.format('ALTER TABLE %I.%I ADD CONSTRAINT %I %s', $2::text, s.relname, k.conname,
           pg_catalog.pg_get_constraintdef(k.oid))
         FROM source s JOIN pg_catalog.pg_constraint k ON k.conrelid = s.oid WHERE k.contype IN ('c', 'p', 'u')
       UNION ALL
       -- To a table of the cell itself or of the directory.
       SELECT 3, s.relname || k.conname, pg_catalog.format('ALTER TABLE %I.%I ADD CONSTRAINT %I %s', $2::text, s.relname, k.conname,
           CASE WHEN k.confrelid IN (SELECT oid FROM source)
             THEN pg_catalog.replace(pg_catalog.pg_get_constraintdef(k.oid), ' REFERENCES vintem.', pg_catalog.format(' REFERENCES %I.', $2::text))
             ELSE pg_catalog.pg_get_constraintdef(k.oid) END)
         FROM source s JOIN pg_catalog.pg_constraint k ON k.conrelid = s.oid WHERE k.contype = 'f'
       UNION ALL
       SELECT 4, s.relname || i.relname, pg_catalog.replace(pg_catalog.pg_get_indexdef(i.oid), ' ON vintem.', pg_catalog.format(' ON %I.', $2::text))
         FROM source s JOIN pg_catalog.pg_index x ON x.indrelid = s.oid JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
        WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.conindid = i.oid AND k.contype IN ('p', 'u', 'x'))
       UNION ALL
       SELECT 5, s.relname, pg_catalog.format('GRANT %s ON %I.%I TO ${APP}', string_agg(r.privilege_type, ', ' ORDER BY r.privilege_type), $2::text, s.relname)
         FROM source s, pg_catalog.aclexplode(s.relacl) r
        WHERE r.grantee = '${APP}'::pg_catalog.regrole GROUP BY s.relname
       UNION ALL
       SELECT 6, s.relname, pg_catalog.format('ALTER TABLE %I.%I REPLICA IDENTITY FULL', $2::text, s.relname) FROM source s WHERE s.relreplident = 'f')
     SELECT statement FROM parts ORDER BY step, at`,
    [directoryTables, cell],
  );
  return rows.map(({ statement }) => statement);
}
