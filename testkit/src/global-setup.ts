import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { createLog } from '../../server/src/ground/log.ts';
import { systemClock } from '../../server/src/ports/clock.ts';
import { startEmbedded } from '../../server/src/store/database/embedded.ts';
import { migrate } from '../../server/src/store/database/migrate.ts';
import { makeCells, showCellsAsOne, testCells } from './cells.ts';
import { startInstalled } from './installed-postgres.ts';
import { beginRun } from './run.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The superuser's URL to the migrated template; `database.ts` clones it. */
    templateUrl: string;
  }
}

/**
 * One PostgreSQL for the whole run with a migrated database to clone: as `npm start` runs it, or the installed one whose programs
 * stand in the folder `TEST_POSTGRES_BIN`. On the Citus cluster whose coordinator is at `TEST_CITUS_URL` each database is migrated by itself, since it
 * stands on several servers.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  beginRun();
  const cluster = process.env.TEST_CITUS_URL;
  if (cluster) {
    project.provide('templateUrl', cluster);
    return async () => {};
  }
  const bin = process.env.TEST_POSTGRES_BIN;
  if (bin) {
    const server = await startInstalled(bin);
    await migrate({ url: server.url, clock: systemClock, log: createLog('silent') });
    await withCells(server.url);
    await asTemplate(server.url);
    project.provide('templateUrl', server.url);
    return server.stop;
  }
  const dataDir = await mkdtemp(join(tmpdir(), 'vintem-test-'));
  // As root the server runs as another user, who has to pass through.
  await chmod(dataDir, 0o711);
  const log = createLog('silent');
  const server = await startEmbedded({ dataDir, log, say: () => {} });
  await migrate({ url: server.url, clock: systemClock, log });
  await withCells(server.url);
  await asTemplate(server.url);
  project.provide('templateUrl', server.url);
  return async () => {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
    if (server.apart) await rm(server.apart, { recursive: true, force: true });
  };
}

async function withCells(url: string): Promise<void> {
  if (testCells < 2) return;
  await makeCells(url, testCells - 1);
  await showCellsAsOne(url);
}

/** A template must have no connection while it is cloned. */
async function asTemplate(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url.replace(/[^/]*$/, 'postgres') });
  await client.connect();
  await client.query('ALTER DATABASE vintem WITH IS_TEMPLATE true ALLOW_CONNECTIONS false');
  await client.end();
}
