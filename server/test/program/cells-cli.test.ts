import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finish } from '@vintem/testkit/command.ts';
import { createDatabase, type TestDatabase } from '@vintem/testkit/database.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

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
  expect(await json('cells', 'add')).toEqual({ name: 'vintem_2' });
  // Where the fewest are.
  ({ ownerId, operationId } = await json('account', 'create', '--name', 'Segunda', '--test'));
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
  expect(await audited('vintem_2')).toEqual([
    'account.create',
    'account.set',
    'hold.place',
    'hold.release',
    'subject.export',
  ]);
  expect(await audited('vintem')).toEqual([]);
});

test('what no cell has is refused', async () => {
  const missing = '00000000-0000-7000-8000-000000000000';
  const { code, stderr } = await finish(['hold', 'release', missing], env);
  expect(code).toBe(1);
  expect(stderr).toContain('no such hold');
  expect((await finish(['incident', 'show', missing], env)).stderr).toContain('no such incident');
});

test('new accounts stand in the open cell with the fewest, or in the one that is named', async () => {
  await json('cells', 'add');
  const create = async (...words: string[]) =>
    (await json('account', 'create', '--name', 'Outra', '--test', ...words)).ownerId;
  const cellOf = async (id: string) =>
    (await db.admin('SELECT cell FROM vintem.account WHERE id = $1', [id]))[0]?.cell;
  expect(await json('cells', 'set', 'vintem_3', '--open', 'false')).toEqual({
    name: 'vintem_3',
    open: false,
  });
  expect(await cellOf(await create())).toBe('vintem');
  expect(await cellOf(await create('--cell', 'vintem_3'))).toBe('vintem_3');
  const { code, stderr } = await finish(
    ['account', 'create', '--name', 'Outra', '--test', '--cell', 'other'],
    env,
  );
  expect(code).toBe(1);
  expect(stderr).toContain('no cell other');
  const { cells } = await json('cells', 'list');
  expect(
    cells.map((cell: { name: string; open: boolean; accounts: number }) => [
      cell.name,
      cell.open,
      cell.accounts,
    ]),
  ).toEqual([
    ['vintem', true, 2],
    ['vintem_2', true, 1],
    ['vintem_3', false, 1],
  ]);
  const status = (await json('cells', 'status')).cells;
  expect(status.map((cell: { openPayments: number }) => cell.openPayments)).toEqual([0, 0, 0]);
  // Of this command: the service does not run.
  expect(status.map((cell: { connections: number }) => cell.connections > 0)).toEqual([true, false, false]);
  expect(status.every((cell: { bytes: number }) => cell.bytes > 0)).toBe(true);
  expect(await json('migrate', '--plan')).toEqual({ pending: [] });
});
