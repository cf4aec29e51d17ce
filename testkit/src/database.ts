import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { prepareInstallation } from '../../server/src/db/migrate.ts';
import { openPool, type Pool } from '../../server/src/db/pool.ts';
import { createLog } from '../../server/src/ground/log.ts';
import { systemClock } from '../../server/src/ports/clock.ts';
import { systemIds } from '../../server/src/ports/ids.ts';
import { lookAtCells, testCells } from './cells.ts';

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

/**
 * A database of its own, migrated, with the rows that every installation has (and the `live` connection, unless told
 * otherwise). `empty`: without schema and rows.
 */
export async function createDatabase({
  live = true,
  empty = false,
  poolSize = 10,
} = {}): Promise<TestDatabase> {
  const template = inject('templateUrl');
  const server = new pg.Client({ connectionString: template.replace(/[^/]*$/, 'postgres') });
  await server.connect();
  const name = `test_${randomBytes(6).toString('hex')}`;
  // Copying files takes 40 to 100 ms, writing them into the log 225.
  await server.query(`CREATE DATABASE ${name} TEMPLATE ${empty ? 'template0' : 'vintem'} STRATEGY file_copy`);
  const url = template.replace(/[^/]*$/, name);
  const looking = await lookAtCells(url, empty ? 1 : testCells);
  const sql = openPool({ url, log: createLog('silent'), name: 'vintem test', size: poolSize });
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
