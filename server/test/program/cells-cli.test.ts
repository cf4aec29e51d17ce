import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finish } from '@vintem/testkit/command.ts';
import { createDatabase, type TestDatabase } from '@vintem/testkit/database.ts';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAccount } from '../../src/accounts/directory.ts';
import { makeCell } from '../../src/db/cells.ts';
import { openPool } from '../../src/db/pool.ts';
import { createLog } from '../../src/ground/log.ts';
import { systemClock as clock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';

/** Commands of operators find the cell of what they name, and what they do is in that cell's audit log. */

let db: TestDatabase;
let env: Record<string, string>;
/** In the second cell. */
let ownerId: string;
let operationId: string;

beforeAll(async () => {
  db = await createDatabase({ empty: true });
  env = {
    DATABASE_URL: db.url,
    DATA_DIR: await mkdtemp(join(tmpdir(), 'vintem-cells-')),
    VINTEM_SECRET: randomBytes(32).toString('base64'),
  };
  await json('account', 'create', '--name', 'Primeira', '--test');
  const login = new pg.Client({ connectionString: db.url });
  await login.connect();
  const cell = await makeCell(login, clock.now());
  await login.end();
  const sql = openPool({ url: db.url, log: createLog('silent'), name: 'test', cell });
  const account = { name: 'Segunda', test: true, connection: 'simulator' };
  ({ ownerId, operationId } = await createAccount({ sql, clock, ids: systemIds(clock) }, account));
  await sql.close();
});
afterAll(async () => {
  await db.drop();
  await rm(env.DATA_DIR as string, { recursive: true });
});

async function json(...words: string[]) {
  const { code, stdout, stderr } = await finish([...words, '--json'], env);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

const audited = async (cell: string) =>
  (
    await db.admin<{ action: string }>(
      `SELECT action FROM ${cell}.audit WHERE account_id = $1 ORDER BY at, id`,
      [ownerId],
    )
  ).map(({ action }) => action);

test('accounts of all cells are listed, the oldest first', async () => {
  const { accounts } = await json('account', 'list');
  expect(accounts.map(({ name }: { name: string }) => name)).toEqual(['Primeira', 'Segunda']);
});

test('an account, its keys, operations and holds are found in their cell', async () => {
  await json('account', 'set', ownerId, '--withdrawals-blocked', 'true');
  const made = await json('key', 'create', '--account', ownerId, '--name', 'k', '--permissions', 'read');
  await json('key', 'revoke', made.id);
  const words = ['--amount-cents', '100', '--reason', 'a court asks'];
  const hold = await json('hold', 'place', '--operation', operationId, ...words);
  expect((await json('hold', 'list', '--operation', operationId)).holds).toMatchObject([{ id: hold.id }]);
  await json('hold', 'release', hold.id);
  expect(await json('subject', 'export', '--account', ownerId, '--name', 'Maria')).toMatchObject({
    payments: [],
  });
  expect(await audited('vintem_2')).toEqual(['account.set', 'hold.place', 'hold.release', 'subject.export']);
  expect(await audited('vintem')).toEqual([]);
});

test('what no cell has is refused', async () => {
  const missing = '00000000-0000-7000-8000-000000000000';
  const { code, stderr } = await finish(['hold', 'release', missing], env);
  expect(code).toBe(1);
  expect(stderr).toContain('no such hold');
  expect((await finish(['incident', 'show', missing], env)).stderr).toContain('no such incident');
});
