import type { Queries, Statement } from '../../ports/sql.ts';
import { homeCell } from './cells.ts';
import { readMigrations } from './migrate.ts';
import { headerOf } from './migration-file.ts';

/** The database as an operator looks at it: which migrations it has, and who is connected. */

export interface MigrationState {
  applied: number;
  newest: string;
  newestAt: number;
  /** Those of this program that the database, or a cell, lacks: `CELL: NAME` where it is another cell. */
  missing: string[];
  /** Those of the database that this program does not contain: a newer one has run. */
  unknown: string[];
}

const applied: Statement = {
  name: 'migrations_applied',
  text: 'SELECT name, applied_at AS at FROM migration ORDER BY name',
};

const ofCells: Statement = {
  name: 'migrations_of_cells',
  text: `SELECT c.name AS cell, k.name FROM cell c, unnest($1::text[]) AS k (name)
    WHERE c.name <> '${homeCell}' AND NOT EXISTS (SELECT FROM cell_migration m WHERE m.cell = c.name AND m.name = k.name)
    ORDER BY c.created_at, c.name, k.name`,
};

/** Read once: a program's own files do not change while it runs. */
let own: ReturnType<typeof readMigrations> | undefined;

export async function readMigrationState(sql: Queries): Promise<MigrationState> {
  own ??= readMigrations();
  const migrations = await own;
  const rows = await sql.run<{ name: string; at: number }>(applied);
  const behind = await sql.run<{ cell: string; name: string }>(ofCells, [
    migrations.filter((one) => headerOf(one).cells).map(({ name }) => name),
  ]);
  const names = new Set(rows.map(({ name }) => name));
  const known = new Set(migrations.map(({ name }) => name));
  const last = rows.at(-1);
  return {
    applied: rows.length,
    newest: last?.name ?? '',
    newestAt: last?.at ?? 0,
    missing: [
      ...[...known].filter((name) => !names.has(name)),
      ...behind.map(({ cell, name }) => `${cell}: ${name}`),
    ],
    unknown: [...names].filter((name) => !known.has(name)),
  };
}

export interface ConnectedMachine {
  /** Null: over the socket of this machine. */
  address: string | null;
  connections: number;
  /** When its oldest connection began. */
  since: number;
}

const machines: Statement = {
  name: 'connected_machines',
  text: `SELECT host(client_addr) AS address, count(*)::integer AS connections, min(backend_start) AS since
    FROM pg_stat_activity WHERE datname = current_database() AND application_name ~ '^vintem( outgoing)?( vintem_[0-9]+)?$'
    GROUP BY 1 ORDER BY 1 NULLS FIRST LIMIT 200`,
};

/** From where processes of the service are connected to the database. */
export const findConnectedMachines = (sql: Queries): Promise<ConnectedMachine[]> =>
  sql.run<ConnectedMachine>(machines);
