import { createDatabase, type TestDatabase } from '@vintem/testkit/database.ts';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLog } from '../../src/ground/log.ts';
import { createAccount } from '../../src/operate/connections/directory.ts';
import { systemClock as clock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';
import { directoryTables, makeCell } from '../../src/store/database/cells.ts';
import { migrate, readMigrations } from '../../src/store/database/migrate.ts';
import { headerOf, locksOf } from '../../src/store/database/migration-file.ts';
import { openPool } from '../../src/store/database/pool.ts';

/** Cells: schemas with every table of some accounts, beside one directory. */

const log = createLog('silent');
const ids = systemIds(clock);

let db: TestDatabase;
let login: pg.Client;
beforeEach(async () => {
  db = await createDatabase();
  login = new pg.Client({ connectionString: db.url });
  await login.connect();
});
afterEach(async () => {
  await login.end();
  await db.drop();
});

/** The catalogue of a cell's tables, without the name of its schema. */
async function formOf(cell: string) {
  const named = (text: string) => text.replaceAll(`${cell}.`, '');
  const columns = await db.admin<{ line: string }>(
    `SELECT concat_ws(' ', c.relname, a.attnum::text, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attcollation,
        pg_get_expr(d.adbin, d.adrelid), c.relpersistence, c.relreplident, c.reloptions) AS line
       FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
         LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
      WHERE c.relnamespace = $1::regnamespace AND c.relkind = 'r' AND c.relname <> ALL ($2) ORDER BY c.relname, a.attname`,
    [cell, directoryTables],
  );
  const constraints = await db.admin<{ line: string }>(
    `SELECT concat_ws(' ', c.relname, k.conname, k.convalidated, pg_get_constraintdef(k.oid)) AS line
       FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
      WHERE c.relnamespace = $1::regnamespace AND k.contype <> 'n' AND c.relname <> ALL ($2) ORDER BY 1`,
    [cell, directoryTables],
  );
  const indexes = await db.admin<{ line: string }>(
    `SELECT indexdef AS line FROM pg_indexes WHERE schemaname = $1 AND tablename <> ALL ($2) ORDER BY tablename, indexname`,
    [cell, directoryTables],
  );
  const rights = await db.admin<{ line: string }>(
    `SELECT concat_ws(' ', table_name, grantee, privilege_type) AS line FROM information_schema.role_table_grants
      WHERE table_schema = $1 AND table_name <> ALL ($2) AND grantee = 'vintem_app' ORDER BY 1`,
    [cell, directoryTables],
  );
  // The place of a column may differ where the first cell has dropped one.
  const lines = [columns, constraints, indexes, rights].map((rows) =>
    rows.map(({ line }) => named(line).replace(/^(\w+) \d+ /, '$1 ')),
  );
  return lines;
}

describe('a new cell', () => {
  it('has the tables of the first one, with their columns, constraints, indexes, settings and rights', async () => {
    const name = await makeCell(login, clock.now());
    expect(name).toBe('vintem_2');
    const [first, second] = [await formOf('vintem'), await formOf(name)];
    expect(first[0]?.length).toBeGreaterThan(250);
    expect(second).toEqual(first);
    expect(await makeCell(login, clock.now())).toBe('vintem_3');
  });

  it('keeps the rows of its accounts, and the directory theirs', async () => {
    const name = await makeCell(login, clock.now());
    const sql = openPool({ url: db.url, log, name: 'test', cell: name });
    const needs = { sql, clock, ids };
    const { ownerId } = await createAccount(needs, { name: 'Loja', test: true, connection: 'simulator' });
    await sql.close();
    const cellOf = () => db.admin('SELECT cell FROM vintem.account WHERE id = $1', [ownerId]);
    expect(await cellOf()).toEqual([{ cell: name }]);
    for (const table of ['operation', 'balance']) {
      expect(await db.admin(`SELECT FROM vintem.${table} WHERE account_id = $1`, [ownerId])).toEqual([]);
      const rows = await db.admin(`SELECT FROM ${name}.${table} WHERE account_id = $1`, [ownerId]);
      expect(rows.length).toBeGreaterThan(0);
    }
  });

  it('gets each later migration of the cells once, where an interrupted one ended', async () => {
    const names = [await makeCell(login, clock.now()), await makeCell(login, clock.now())];
    const files = await readMigrations();
    const later = { name: '9998_later', text: '-- cells\nALTER TABLE payment ADD COLUMN later text;' };
    const migrations = [...files, later];
    await db.admin('ALTER TABLE vintem_3.payment ADD COLUMN later text');
    await expect(migrate({ url: db.url, clock, log, migrations })).rejects.toThrow('9998_later');
    await db.admin('ALTER TABLE vintem_3.payment DROP COLUMN later');
    expect(await migrate({ url: db.url, clock, log, migrations })).toEqual({
      applied: ['vintem_3: 9998_later'],
    });
    expect(await migrate({ url: db.url, clock, log, migrations })).toEqual({ applied: [] });
    const columns = await db.admin<{ schema: string }>(
      `SELECT table_schema AS schema FROM information_schema.columns WHERE table_name = 'payment' AND column_name = 'later' ORDER BY 1`,
    );
    expect(columns.map(({ schema }) => schema)).toEqual(['vintem', ...names]);
  });
});

it('migrations after the baseline are about the directory or about cells, and say so', async () => {
  const wrong = (await readMigrations())
    .filter(({ name }) => name > '0001_schema')
    // Takes the rows of a table of the directory into the first cell, and drops it.
    .filter(({ name }) => name !== '0071_audit_of_merchants')
    .filter((migration) => {
      const made = [...migration.text.matchAll(/^CREATE (?:UNLOGGED )?TABLE (\w+)/gm)].map(
        ([, name]) => name ?? '',
      );
      const tables = [...made, ...locksOf(migration, () => null).map(({ table }) => table)];
      return tables.some((table) => directoryTables.includes(table) === headerOf(migration).cells);
    });
  expect(wrong.map(({ name }) => name)).toEqual([]);
});
