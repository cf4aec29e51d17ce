import { randomBytes } from 'node:crypto';
import { makeCells } from '@vintem/testkit/cells.ts';
import { ask, createCitusDatabase } from '@vintem/testkit/citus.ts';
import { afterAll, expect, test } from 'vitest';
import { createLog } from '../../server/src/ground/log.ts';
import { systemClock } from '../../server/src/ports/clock.ts';
import { directoryTables } from '../../server/src/store/database/cells.ts';
import { migrate, readMigrations } from '../../server/src/store/database/migrate.ts';

/** An update of a cluster that serves: its cells stand on workers already when the migrations of later versions come. */
const address = process.env.CITUS_URL;

/** A cluster that has cells and this migration is updated by those behind it; earlier ones add columns in a form that Citus refuses. */
const oldest = '0111_search_of_all_accounts';

const ending: (() => Promise<unknown>)[] = [];

afterAll(async () => {
  for (const end of ending.reverse()) await end();
});

async function migratedCluster(name: string, cellsAfter: number): Promise<string> {
  const database = await createCitusDatabase(address as string, `${name}_${randomBytes(4).toString('hex')}`);
  ending.push(database.drop);
  const needs = { url: database.url, clock: systemClock, log: createLog('silent') };
  const migrations = await readMigrations();
  await migrate({ ...needs, migrations: migrations.slice(0, cellsAfter) });
  await makeCells(database.url, 1);
  await migrate({ ...needs, migrations });
  return database.url;
}

/** Columns, constraints and indexes of both cells as each node has them: a worker's have the number of their shard in the name. */
const shape = `SELECT format('%s: %s', c.relname, d.line) AS line FROM pg_class c CROSS JOIN LATERAL (
    SELECT format('%s %s %s', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull) FROM pg_attribute a
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL SELECT format('%s %s', k.conname, pg_get_constraintdef(k.oid)) FROM pg_constraint k WHERE k.conrelid = c.oid
    UNION ALL SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i WHERE i.indrelid = c.oid AND i.indisvalid) AS d (line)
  WHERE c.relkind = 'r' AND c.relnamespace::regnamespace::text LIKE 'vintem%'`;

/** The lines of every node in order, without numbers of shards, and without whether old rows were looked at: a new cell has none. */
async function shapesOf(url: string): Promise<string[]> {
  const rows = await ask<{ lines: string }>(
    url,
    `SELECT result AS lines FROM run_command_on_all_nodes($1) WHERE success ORDER BY nodeid`,
    [`SELECT json_agg(line)::text FROM (${shape}) AS s`],
  );
  const lines = rows.flatMap(({ lines }) => JSON.parse(lines) as string[]);
  return [...new Set(lines.map((line) => line.replace(/_1\d{5,}\b| NOT VALID$/g, '')))].sort();
}

test.runIf(address)(
  'A cluster whose cells stand on workers takes every later migration, and has what a new one has',
  async () => {
    const first = (await readMigrations()).findIndex(({ name }) => name === oldest) + 1;
    expect(first).toBeGreaterThan(0);
    const updated = await shapesOf(await migratedCluster('updated', first));
    const made = await shapesOf(await migratedCluster('made', Number.POSITIVE_INFINITY));
    expect(updated.length).toBeGreaterThan(directoryTables.length);
    expect(updated).toEqual(made);
  },
);
