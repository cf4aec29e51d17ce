import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createDatabase, type TestDatabase } from '@vintem/testkit/database.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Rows } from '../../src/store/database/define-table.ts';
import { isSealed } from '../../src/store/database/sealed-columns.ts';
import { byWriteOrder, type Table } from '../../src/store/database/table.ts';
import { claimJob, endTurn, type Job, makeJobDue } from '../../src/store/rows/jobs.sql.ts';

const source = join(import.meta.dirname, '../../src');

let db: TestDatabase;
let described: Rows<unknown>[];
beforeAll(async () => {
  db = await createDatabase();
  described = await allDescriptions();
});
afterAll(() => db.drop());

/** Every table that is described anywhere in the program. */
async function allDescriptions(): Promise<Rows<unknown>[]> {
  const found: Rows<unknown>[] = [];
  for (const file of globSync('**/*.ts', { cwd: source, exclude: ['**/*.test.ts'] })) {
    const names = readFileSync(join(source, file), 'utf8').matchAll(
      /^(?:export )?const (\w+) = (?:defineTable|describeRows)\b/gm,
    );
    for (const [, name] of names) {
      const module = (await import(join(source, file))) as Record<string, Rows<unknown>>;
      const rows = module[name as string];
      if (rows === undefined) throw new Error(`${file} does not export ${name}`);
      found.push(rows);
    }
  }
  return found;
}

const nameOf = (property: string, name: string | null): string =>
  name ?? property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The program's description of its columns, in the words of the catalogue. */
const saidColumns = () =>
  described.flatMap(({ description }) =>
    Object.entries<{ type: string; name: string | null; isNullable: boolean; isSealed: boolean }>(
      description.columns,
    ).map(([property, column]) => ({
      table: description.table ?? description.name,
      name: nameOf(property, column.name),
      type: column.type === 'timestamptz' ? 'timestamp with time zone' : column.type,
      isNullable: column.isNullable,
      isSealed: column.isSealed,
    })),
  );

test('A described column is in the database with this type, takes null where it is said to, and is sealed where it is said to be', async () => {
  const there = await db.admin<{ table: string; name: string; type: string; isNullable: boolean }>(
    `SELECT table_name AS table, column_name AS name, data_type AS type, is_nullable = 'YES' AS "isNullable"
      FROM information_schema.columns WHERE table_schema = 'vintem'`,
  );
  const columns = saidColumns();
  expect(columns.length).toBeGreaterThan(200);
  const catalogue = new Set(there.map((column) => JSON.stringify(column)));
  const wrong = columns.filter(({ table, name, type, isNullable }) => {
    return !catalogue.has(JSON.stringify({ table, name, type, isNullable }));
  });
  expect(wrong).toEqual([]);
  expect(columns.filter((column) => isSealed(column.table, column.name) !== column.isSealed)).toEqual([]);
});

test('A rare column has no default in the database: an insert that goes without it leaves it null', async () => {
  const rare = described.flatMap(({ description }) =>
    Object.entries<{ name: string | null; isRare: boolean; isNullable: boolean }>(description.columns)
      .filter(([, { isRare, isNullable }]) => isRare && isNullable)
      .map(([property, { name }]) => `${description.table ?? description.name}.${nameOf(property, name)}`),
  );
  const withDefault = await db.admin<{ name: string }>(
    `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
      WHERE table_schema = 'vintem' AND (column_default IS NOT NULL OR is_generated <> 'NEVER')`,
  );
  const those = new Set(withDefault.map(({ name }) => name));
  expect(rare.length).toBeGreaterThan(20);
  expect(those).toContain('payment.refunded_cents');
  expect(rare.filter((name) => those.has(name))).toEqual([]);
});

test('A key by which rows are read or changed is unique in the database', async () => {
  const unique = await db.admin<{ table: string; names: string[] }>(
    `SELECT indrelid::regclass::text AS table, array_agg(attname::text ORDER BY attname) AS names
      FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
      WHERE indisunique AND indpred IS NULL GROUP BY indexrelid, indrelid`,
  );
  const keys = new Set(
    unique.map(({ table, names }) => `${table.replace('vintem.', '')} ${names.join(' ')}`),
  );
  for (const { description } of described) {
    if (description.verbs.every((verb) => verb === 'insert')) continue;
    const columns = description.columns as Record<string, { name: string | null }>;
    const names = description.key.map((property) => nameOf(property, columns[property]?.name ?? null));
    expect(keys).toContain(`${description.table ?? description.name} ${names.sort().join(' ')}`);
  }
});

test('The order of writes is one order, in whichever order a batch read the tables', () => {
  const tables = described.filter((rows): rows is Rows<unknown> & Table<unknown> => 'rank' in rows);
  expect(tables.length).toBeGreaterThan(10);
  expect(tables.every(({ rank }) => rank >= 0)).toBe(true);
  const inOrder = tables.toSorted(byWriteOrder).map(({ name }) => name);
  expect(
    tables
      .toReversed()
      .sort(byWriteOrder)
      .map(({ name }) => name),
  ).toEqual(inOrder);
  expect(new Set(inOrder).size).toBe(tables.length);
});

test('A table whose rows carry the token of their command can be read, so that a lost answer to COMMIT finds them', () => {
  for (const rows of described)
    if ('tokenOf' in rows)
      expect(rows.statements.map(({ name }) => name)).toContain(`${rows.description.name}_read`);
});

const job: Job = { what: 'disputes', claimMs: 5_000 };
const jobRow = async () =>
  (
    await db.admin(`SELECT xmin::text, xmax::text, ctid::text, due_at FROM job WHERE subject = 'somewhere'`)
  )[0];

test('A turn of a job has one process, and only this one ends it', async () => {
  const turn = await claimJob(db.sql, job, 'somewhere', 1_000);
  expect(turn).toEqual({ what: 'disputes', subject: 'somewhere', until: 6_000 });
  expect(await claimJob(db.sql, job, 'somewhere', 5_999)).toBeUndefined();
  const later = await claimJob(db.sql, job, 'somewhere', 6_000);
  if (!turn || !later) throw new Error('a turn is due');
  await endTurn(db.sql, turn, 900_000);
  expect(await jobRow()).toMatchObject({ due_at: new Date(11_000) });
  await endTurn(db.sql, later, 100_000);
  expect(await claimJob(db.sql, job, 'somewhere', 99_999)).toBeUndefined();
});

test('A job that is made due while its turn is under way has its next turn at once', async () => {
  const turn = await claimJob(db.sql, job, 'somewhere', 200_000);
  if (!turn) throw new Error('a turn is due');
  await makeJobDue(db.sql, 'disputes', 'somewhere', 201_000);
  await endTurn(db.sql, turn, 900_000);
  expect(await claimJob(db.sql, job, 'somewhere', 201_000)).toBeDefined();
});

test('A job that is not due is not written', async () => {
  const before = await jobRow();
  expect(await claimJob(db.sql, job, 'somewhere', 201_000)).toBeUndefined();
  expect(await jobRow()).toEqual(before);
});

test('No turn of a job begins while a restore waits for its reconciliation, but for a job that says so', async () => {
  await db.admin('UPDATE installation SET restored_at = now()');
  expect(await claimJob(db.sql, job, 'somewhere', 900_000)).toBeUndefined();
  expect(await claimJob(db.sql, job, 'elsewhere', 900_000)).toBeUndefined();
  expect(await claimJob(db.sql, { ...job, runsAfterRestore: true }, 'elsewhere', 900_000)).toBeDefined();
  await db.admin('UPDATE installation SET restored_at = NULL');
});

test('The first turn of a job of a new subject may come later', async () => {
  const late: Job = { ...job, firstAfterMs: 50_000 };
  expect(await claimJob(db.sql, late, 'new', 1_000)).toBeUndefined();
  expect(await claimJob(db.sql, late, 'new', 50_999)).toBeUndefined();
  expect(await claimJob(db.sql, late, 'new', 51_000)).toBeDefined();
});
