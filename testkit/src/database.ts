import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { createLog } from '../../server/src/ground/log.ts';
import { systemClock } from '../../server/src/ports/clock.ts';
import { systemIds } from '../../server/src/ports/ids.ts';
import type { ConnectionBudget } from '../../server/src/store/database/connection-budget.ts';
import { migrate, prepareInstallation } from '../../server/src/store/database/migrate.ts';
import { openPool, type Pool } from '../../server/src/store/database/pool.ts';
import { lookAtCells, makeCells, showCellsAsOne, testCells } from './cells.ts';
import { createCitusDatabase } from './citus.ts';

export interface TestDatabase {
  /** The superuser's; `openPool({ url })` makes another process's pool. */
  url: string;
  /** Works as vintem_app, as the service does. */
  sql: Pool;
  /**
   * A statement as the superuser, who may do anything: to look, and to break things on purpose. Where the run has several cells, it reads
   * all of them as one, and changes the tables of each.
   */
  admin<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Closes and removes it. */
  drop(): Promise<void>;
}

async function createOnCluster(
  cluster: string,
  { live, poolSize }: { live: boolean; poolSize: number },
): Promise<TestDatabase> {
  const { url, drop } = await createCitusDatabase(cluster, `test_${randomBytes(6).toString('hex')}`);
  await migrate({ url, clock: systemClock, log: createLog('silent') });
  if (testCells > 1) {
    await makeCells(url, testCells - 1);
    await showCellsAsOne(url);
  }
  const looking = await lookAtCells(url, testCells);
  const sql = openPool({ url, log: createLog('silent'), name: 'vintem test', size: poolSize });
  await prepareInstallation({ sql, clock: systemClock, ids: systemIds(systemClock) }, { live });
  return {
    url,
    sql,
    admin: looking.query,
    drop: async () => {
      await sql.close();
      await looking.end();
      await drop();
    },
  };
}

/**
 * A database of its own, migrated, with the rows that every installation has (and the `live` connection, unless asked
 * otherwise). `empty`: without schema and rows.
 */
export async function createDatabase({
  live = true,
  empty = false,
  poolSize = 10,
  budget,
}: {
  live?: boolean;
  empty?: boolean;
  poolSize?: number;
  budget?: ConnectionBudget;
} = {}): Promise<TestDatabase> {
  const template = inject('templateUrl');
  if (process.env.TEST_CITUS_URL) return createOnCluster(template, { live, poolSize });
  const server = new pg.Client({ connectionString: template.replace(/[^/]*$/, 'postgres') });
  await server.connect();
  const name = `test_${randomBytes(6).toString('hex')}`;
  // Copying files takes 40 to 100 ms, writing them into the log 225.
  await server.query(`CREATE DATABASE ${name} TEMPLATE ${empty ? 'template0' : 'vintem'} STRATEGY file_copy`);
  const url = template.replace(/[^/]*$/, name);
  const looking = await lookAtCells(url, empty ? 1 : testCells);
  const sql = openPool({
    url,
    log: createLog('silent'),
    name: 'vintem test',
    size: poolSize,
    ...(budget && { budget }),
  });
  if (!empty) {
    await prepareInstallation({ sql, clock: systemClock, ids: systemIds(systemClock) }, { live });
  }
  return {
    url,
    sql,
    admin: looking.query,
    drop: async () => {
      await sql.close();
      await looking.end();
      await server.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await server.end();
    },
  };
}
