import { rm } from 'node:fs/promises';
import pg from 'pg';
import { createLog } from '../../server/src/ground/log.ts';
import { systemClock as clock } from '../../server/src/ports/clock.ts';
import { systemIds } from '../../server/src/ports/ids.ts';
import { startEmbedded } from '../../server/src/store/database/embedded.ts';
import { migrate, planMigrations, readMigrations } from '../../server/src/store/database/migrate.ts';
import type { Migration } from '../../server/src/store/database/migration-file.ts';
import { newFolder, sleep } from '../chaos/processes.ts';
import { numbersGiven } from '../flags.ts';
import { seed } from '../size/seed.ts';
import { createWorld } from '../size/world.ts';

/**
 * The cost of each migration for a service whose tables are large: its time, the locks that `vintem migrate --plan` names, and the longest that a
 * reader and a writer of payments waited meanwhile. It begins with the baseline, `0001_schema.sql`, filled with COPY. The last two are the rig's own,
 * so that there is something to compare with: a column with a check of every row, and an index that is built concurrently.
 *
 *   node proof/upgrade/large.ts [--payments 1000000]
 */
const examples: Migration[] = [
  {
    name: '9998_checked_column',
    text: "ALTER TABLE payment ADD COLUMN example jsonb CHECK (jsonb_typeof(example) = 'object');",
  },
  {
    name: '9999_index',
    text: '-- concurrent\nCREATE INDEX payment_example ON payment (account_id, kind, created_at);',
  },
];
const log = createLog('silent');

async function measureMigrations(payments: number): Promise<void> {
  const dataDir = await newFolder('large');
  const server = await startEmbedded({ dataDir, log, say: () => {} });
  try {
    const files = [...(await readMigrations()), ...examples];
    const options = (migrations: Migration[]) => ({
      url: server.serviceUrl,
      migrationUrl: server.url,
      clock,
      log,
      migrations,
    });
    const before = files.slice(0, 1);
    await migrate(options(before));
    const began = performance.now();
    await fill(server.url, payments);
    console.log(
      `${payments} payments stored in ${secondsSince(began)} s, ${await sizeOf(server.url)} of tables and indexes`,
    );
    console.log(`without a migration: ${said(await beside(server.url, () => sleep(5_000)))}`);
    let together = 0;
    for (let n = before.length; n < files.length; n++) {
      const upTo = options(files.slice(0, n + 1));
      const [plan] = await planMigrations(upTo);
      if (plan === undefined) throw new Error('a migration is not in the plan');
      let ms = 0;
      const waits = await beside(server.url, async () => {
        const started = performance.now();
        await migrate(upTo);
        ms = Math.round(performance.now() - started);
      });
      together += ms;
      console.log(`${plan.name}: ${ms} ms, ${said(waits)}; ${plan.locks.join(', ') || 'new tables alone'}`);
    }
    console.log(`together ${together} ms`);
  } finally {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function fill(url: string, payments: number): Promise<void> {
  await once(
    url,
    `INSERT INTO connection (id, webhook_token, query_bucket_at) VALUES ('simulator', 'token', now())`,
  );
  const open = Math.floor(payments / 10);
  const world = createWorld({ settled: payments - open, open, operations: 1_000 }, clock.now());
  await seed(url, world, Buffer.alloc(32, 1), systemIds(clock), 'simulator');
}

/** Runs `work` beside a reader and a writer of one payment. @returns the longest that each waited, ms */
async function beside(
  url: string,
  work: () => Promise<unknown>,
): Promise<{ readerMs: number; writerMs: number }> {
  let isWorking = true;
  const [payment] = await once<{ of: string; id: string }>(
    url,
    'SELECT account_id AS of, id FROM payment LIMIT 1',
  );
  const longest = async (text: string): Promise<number> => {
    const client = await connect(url);
    let most = 0;
    while (isWorking) {
      const asked = performance.now();
      await client.query(text, [payment?.of, payment?.id]);
      most = Math.max(most, performance.now() - asked);
      await sleep(5);
    }
    await client.end();
    return Math.round(most);
  };
  const reader = longest('SELECT status FROM payment WHERE account_id = $1 AND id = $2');
  const writer = longest('UPDATE payment SET updated_at = updated_at WHERE account_id = $1 AND id = $2');
  try {
    await work();
  } finally {
    isWorking = false;
  }
  return { readerMs: await reader, writerMs: await writer };
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, options: '-c search_path=vintem' });
  await client.connect();
  return client;
}

async function once<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = await connect(url);
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

const sizeOf = async (url: string): Promise<string> => {
  const [row] = await once<{ size: string }>(
    url,
    `SELECT pg_size_pretty(sum(pg_total_relation_size(oid))) AS size FROM pg_class
      WHERE relnamespace = 'vintem'::regnamespace AND relkind = 'r'`,
  );
  return row?.size ?? '';
};

const secondsSince = (began: number): number => Math.round((performance.now() - began) / 1000);
const said = ({ readerMs, writerMs }: { readerMs: number; writerMs: number }): string =>
  `a reader waited ${readerMs} ms at most, a writer ${writerMs} ms`;

const { payments } = numbersGiven({ payments: 1_000_000 });
await measureMigrations(payments);
