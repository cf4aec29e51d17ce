import type pg from 'pg';
import { SettingFault } from '../../ground/config.ts';
import { sessionSettings } from './pool.ts';
import { APP, OWNER } from './roles.ts';

/**
 * Cells on Citus. The cells that are added to the first one are distributed schemas: all tables of one stand on one node, and Citus routes to
 * it, places it and moves it. Of the schema `vintem`, the tables of the first cell stand together on one node, and the directory on the coordinator.
 *
 * Of the directory, tables that every cell refers to or reads within its own statements are reference tables, which every node has.
 * They are written rarely, since each change is a two-phase commit over all nodes. Rejected: the whole directory so, because buckets, slots and
 * what providers deliver are written all the time.
 */
export const referenceTables = ['cell', 'account'] as const;

const oldestVersion = 13;

/** The settings of a service's session on the nodes: Citus passes on none of its own, and connects to them as the role that works. */
const settingsOnNodes = [
  'lock_timeout',
  'statement_timeout',
  'idle_in_transaction_session_timeout',
  'enable_seqscan',
] as const;

/** Whether the database has the extension. */
export const isCitus = async (client: pg.Client): Promise<boolean> =>
  (await client.query(`SELECT FROM pg_catalog.pg_extension WHERE extname = 'citus'`)).rowCount === 1;

/**
 * Before anything is migrated on the coordinator of a Citus cluster; elsewhere it does nothing.
 * @param client of the login that migrates, in no other role
 * @throws SettingFault when the extension is too old, or the cluster has no nodes yet
 */
export async function prepareNodes(client: pg.Client): Promise<void> {
  if (!(await isCitus(client))) return;
  await requireNodes(client);
  await prepareRolesOnNodes(client);
}

/**
 * Distributes what is not distributed yet, where the database is the coordinator of a Citus cluster; elsewhere it does nothing. Safe to repeat.
 * @param client as the owner
 * @param directory the tables of the schema `vintem` that are not of the first cell
 */
export async function distribute(client: pg.Client, directory: readonly string[]): Promise<void> {
  if (!(await isCitus(client))) return;
  const { rows: tables } = await client.query<{ name: string }>(
    `SELECT t.name FROM unnest($1::text[]) WITH ORDINALITY AS t (name, place)
      WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_dist_partition p
        WHERE p.logicalrelid = ('vintem.' || t.name)::regclass AND p.partmethod = 'n' AND p.repmodel = 't')
      ORDER BY t.place`,
    [referenceTables],
  );
  for (const { name } of tables) await client.query('SELECT create_reference_table($1)', [`vintem.${name}`]);
  await distributeHome(client, directory);
  const { rows: cells } = await client.query<{ name: string }>(
    `SELECT name FROM vintem.cell WHERE name <> 'vintem'
        AND name NOT IN (SELECT schemaid::regnamespace::text FROM pg_catalog.pg_dist_schema) ORDER BY created_at, name`,
  );
  for (const { name } of cells) await distributeCell(client, name);
}

/**
 * The tables of the first cell, which shares its schema with the directory: each by itself, all beside the first one of them. Citus takes no table
 * that another one refers to, so those references are made again afterwards.
 */
async function distributeHome(client: pg.Client, directory: readonly string[]): Promise<void> {
  const { rows: tables } = await client.query<{ name: string; done: boolean }>(
    `SELECT c.relname AS name, coalesce(p.partmethod = 'n' AND p.repmodel = 's' AND p.colocationid > 0, false) AS done
      FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_dist_partition p ON p.logicalrelid = c.oid
      WHERE c.relnamespace = 'vintem'::regnamespace AND c.relkind = 'r' AND c.relname <> ALL ($1::text[]) ORDER BY c.relname`,
    [directory],
  );
  const missing = tables.filter(({ done }) => !done).map(({ name }) => name);
  if (missing.length === 0) return;
  await client.query('BEGIN');
  try {
    const { rows: references } = await client.query<{ table: string; name: string; definition: string }>(
      `SELECT k.conrelid::regclass::text AS table, quote_ident(k.conname) AS name, pg_get_constraintdef(k.oid) AS definition
        FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_class r ON r.oid = k.confrelid
        WHERE k.contype = 'f' AND c.relnamespace = 'vintem'::regnamespace AND c.relname = ANY ($1::text[]) AND r.relname <> ALL ($2::text[])`,
      [missing, directory],
    );
    for (const { table, name } of references)
      await client.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
    for (const name of missing)
      await client.query('SELECT create_distributed_table($1, NULL, colocate_with => $2)', [
        `vintem.${name}`,
        name === tables[0]?.name ? 'none' : `vintem.${tables[0]?.name}`,
      ]);
    for (const { table, name, definition } of references)
      await client.query(`ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

/**
 * Within the transaction that makes a cell: what follows stays on the coordinator. Citus would pass it on over a connection for each role, and
 * the owner's does not see the schema that the other login's has made. Without Citus the setting means nothing.
 */
export const keepFromNodes = (client: pg.Client): Promise<unknown> =>
  client.query('SET LOCAL citus.enable_ddl_propagation = off');

/** As the owner. */
export async function distributeCell(client: pg.Client, cell: string): Promise<void> {
  await client.query('SET citus.enable_ddl_propagation = on');
  await client.query('SELECT citus_schema_distribute($1::regnamespace)', [cell]);
}

async function requireNodes(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ version: string; coordinator: boolean; workers: boolean }>(
    `SELECT extversion AS version,
        EXISTS (SELECT FROM pg_catalog.pg_dist_node WHERE groupid = 0) AS coordinator,
        EXISTS (SELECT FROM pg_catalog.pg_dist_node WHERE groupid <> 0 AND shouldhaveshards) AS workers
      FROM pg_catalog.pg_extension WHERE extname = 'citus'`,
  );
  const { version = '', coordinator = false, workers = false } = rows[0] ?? {};
  if (Number.parseInt(version, 10) < oldestVersion)
    throw new SettingFault(`DATABASE_URL: Citus ${oldestVersion} or newer is needed, this is ${version}`);
  if (!coordinator || !workers)
    throw new SettingFault(
      "DATABASE_URL: Citus has no nodes yet: run SELECT citus_set_coordinator_host('HOST', PORT) and SELECT citus_add_node('HOST', PORT) for each worker (docs/operators/scaling.md)",
    );
}

/**
 * Citus connects to its nodes as the role that works, so both may log in there. They have no password: how nodes trust each other is pg_hba.conf's matter.
 * The roles are set on each node. Citus copies a change of a role to the nodes only when it created the role there. It did not when another
 * database on this PostgreSQL server created it.
 */
async function prepareRolesOnNodes(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ ready: boolean }>(
    `SELECT bool_and(result = 't') AS ready FROM run_command_on_all_nodes($1)`,
    [rolesAreReady],
  );
  if (rows[0]?.ready) return;
  const { rows: refused } = await client.query<{ result: string }>(
    'SELECT result FROM run_command_on_workers($1) WHERE NOT success',
    [rolesOnNode],
  );
  const [first] = refused;
  if (first)
    throw new SettingFault(
      `DATABASE_URL: the roles cannot be made on a node of the cluster: ${first.result}`,
    );
  await client.query(rolesOnNode);
}

const settingsOfApp = settingsOnNodes.map((name) => `${name}=${sessionSettings[name]}`);

const rolesAreReady = `SELECT count(*) FILTER (WHERE r.rolcanlogin) = 2 AND count(*) FILTER (WHERE s.setconfig @> '{${settingsOfApp}}') = 1
  FROM pg_catalog.pg_roles r LEFT JOIN pg_catalog.pg_db_role_setting s ON s.setrole = r.oid AND s.setdatabase = 0 AND r.rolname = '${APP}'
  WHERE r.rolname IN ('${OWNER}', '${APP}')`;

/** A command that a node runs for itself alone: each of the others gets it too, and nodes that pass it on wait for each other. */
const rolesOnNode = `DO $do$ BEGIN
  ${['create_role', 'alter_role', 'alter_role_set']
    .map((what) => `PERFORM set_config('citus.enable_${what}_propagation', 'off', true);`)
    .join('\n  ')}
  ${[OWNER, APP]
    .map(
      (
        role,
      ) => `IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = '${role}') THEN CREATE ROLE ${role}; END IF;
  ALTER ROLE ${role} LOGIN;`,
    )
    .join('\n  ')}
  ${settingsOnNodes.map((name) => `ALTER ROLE ${APP} SET ${name} = '${sessionSettings[name]}';`).join('\n  ')}
END $do$`;
