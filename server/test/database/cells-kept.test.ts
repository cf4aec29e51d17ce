import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addCells } from '@vintem/testkit/cells.ts';
import { finish } from '@vintem/testkit/command.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Runtime } from '../../src/main/runtime.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { makeCell } from '../../src/store/database/cells.ts';

/** Copies of three cells: the backup, the anchor of their chains, and their sealed values. */

const secret = randomBytes(32).toString('base64');
const name = `restored_${randomBytes(6).toString('hex')}`;
const other = `${name}_too`;
const url = inject('templateUrl').replace(/[^/]*$/, name);
let folder: string;
let service: Service;
let cells: readonly Runtime[];
let merchants: Merchant[];
/** In every cell one that the provider has not decided. */
let pending: string[];

const env = (databaseUrl: string, more: Record<string, string> = {}) => ({
  DATABASE_URL: databaseUrl,
  DATA_DIR: folder,
  VINTEM_SECRET: secret,
  LOG_LEVEL: 'error',
  ...more,
});

async function at<Row extends pg.QueryResultRow>(database: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: inject('templateUrl').replace(/[^/]*$/, database) });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

async function done(words: string[], databaseUrl: string, more?: Record<string, string>) {
  const { code, stdout, stderr } = await finish([...words, '--json'], env(databaseUrl, more));
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vintem-cells-'));
  await at('postgres', `CREATE DATABASE ${name} TEMPLATE template0 STRATEGY file_copy`);
  service = await openService({ env: { VINTEM_SECRET: secret } });
  cells = await addCells(service, 2);
  merchants = await Promise.all(cells.map((cell) => service.newMerchant(cell)));
  pending = [];
  for (const merchant of merchants) {
    await merchant.receive(5_000);
    const { body } = await merchant.transfer({ pixKey: 'stay-pending@simulator.example' });
    pending.push(body.id);
    await until(async () => (await merchant.call('GET', `/payments/${body.id}`)).body.status === 'pending');
  }
});
afterAll(async () => {
  await service?.close();
  for (const one of [name, other]) await at('postgres', `DROP DATABASE IF EXISTS ${one} WITH (FORCE)`);
  await rm(folder, { recursive: true, force: true });
});

test('verify examines every cell, and its anchor names the chains of all of them', async () => {
  const anchor = join(folder, 'anchor');
  const found = await done(['verify', '--full', '--anchor', anchor], service.database.url);
  expect(found.ok).toBe(true);
  const { chains } = JSON.parse(await readFile(anchor, 'utf8'));
  const accounts = new Set(chains.map(({ accountId }: { accountId: string }) => accountId));
  expect(accounts).toEqual(new Set(merchants.map(({ ownerId }) => ownerId)));
  const one = await done(
    ['verify', '--account', merchants[2]?.ownerId ?? '', '--full'],
    service.database.url,
  );
  expect(one.ok).toBe(true);
});

test('a copy holds all cells as of one moment, and a restore makes them', async () => {
  const file = join(folder, 'copy');
  const { tables } = await done(['backup', file], service.database.url);
  const rows = Object.fromEntries(tables.map((one: { name: string; rows: number }) => [one.name, one.rows]));
  expect(rows).toMatchObject({ cell: 3, payment: 2, 'vintem_2.payment': 2, 'vintem_3.payment': 2 });
  expect(rows).not.toHaveProperty('vintem_2.request_log');
  await done(['restore', file], url);
  for (const [place, { cell }] of cells.entries()) {
    const [intent] = await at(
      name,
      `SELECT payment_id, state, attempt, fence IS NOT NULL AS fenced FROM ${cell}.intent`,
    );
    // Whatever was under way may have been sent since: it is queried first.
    expect(intent).toEqual({ payment_id: pending[place], state: 'sending', attempt: 1, fenced: true });
  }
  const found = await done(['verify', '--full', '--anchor', join(folder, 'anchor')], url);
  expect(found.ok).toBe(true);
  expect(await done(['migrate'], url)).toEqual({ applied: [] });
});

test('a restore into a database that has cells is refused, and changes nothing', async () => {
  await at('postgres', `CREATE DATABASE ${other} TEMPLATE template0 STRATEGY file_copy`);
  const into = inject('templateUrl').replace(/[^/]*$/, other);
  await done(['migrate'], into);
  const login = new pg.Client({ connectionString: into });
  await login.connect();
  await makeCell(login, systemClock.now());
  await login.end();
  const { code, stderr } = await finish(['restore', join(folder, 'copy')], env(into));
  expect(code).toBe(1);
  expect(stderr).toContain('the database has cells');
  expect(await at(other, 'SELECT FROM vintem.account WHERE number <> 0')).toEqual([]);
});

test('what is sealed in every cell is sealed again under another secret', async () => {
  const before = await done(['secret', 'status'], url);
  expect(before.sealed).toHaveLength(1);
  const change = { VINTEM_SECRET: randomBytes(32).toString('base64'), VINTEM_SECRET_PREVIOUS: secret };
  await done(['secret', 'rotate'], url, change);
  const ids = await at<{ id: string }>(
    name,
    cells
      .map(
        ({ cell }) =>
          `SELECT encode(substring(pix_key FROM 2 FOR 4), 'hex') AS id FROM ${cell}.payment WHERE pix_key IS NOT NULL`,
      )
      .join(' UNION ALL '),
  );
  const after = await done(['secret', 'status'], url, change);
  expect(ids.map(({ id }) => id)).toEqual(Array(3).fill(after.current));
  expect(after.sealed.map((one: { secret: string }) => one.secret)).toEqual([after.current]);
});

test('a Pix that two cells have booked is found in both, with the other payment', async () => {
  const [pix] = await service.database.admin<{ pix: string; subject: string }>(
    'SELECT pix, subject FROM vintem_2.journal WHERE pix IS NOT NULL',
  );
  const [own] = await service.database.admin<{ pix: string; subject: string }>(
    'SELECT pix, subject FROM vintem_3.journal WHERE pix IS NOT NULL',
  );
  const book = (endToEnd: string | undefined) =>
    service.database.admin('UPDATE vintem_3.journal SET pix = $1 WHERE subject = $2 AND pix IS NOT NULL', [
      endToEnd,
      own?.subject,
    ]);
  await book(pix?.pix);
  const { code, stdout } = await finish(['verify', '--full', '--json'], env(service.database.url));
  expect(code).toBe(3);
  const { checks } = JSON.parse(stdout);
  expect(checks.find(({ number }: { number: number }) => number === 76)).toMatchObject({
    ...{ name: 'a Pix is booked in one cell', ok: false },
    violations: [
      {
        accountId: merchants[1]?.ownerId,
        paymentId: pix?.subject,
        fault: expect.stringContaining(own?.subject ?? '-'),
      },
      {
        accountId: merchants[2]?.ownerId,
        paymentId: own?.subject,
        fault: expect.stringContaining(pix?.subject ?? '-'),
      },
    ],
  });
  await book(own?.pix);
  for (const cell of ['vintem_2', 'vintem_3']) await service.database.admin(`DELETE FROM ${cell}.incident`);
});

test('a broken chain of one cell is found there, and its incident stands there', async () => {
  await service.database.admin(
    `UPDATE vintem_3.journal SET effective_at = effective_at + interval '1 second' WHERE account_id = $1 AND seq = 1`,
    [merchants[2]?.ownerId],
  );
  const { code, stdout } = await finish(['verify', '--full', '--json'], env(service.database.url));
  expect(code).toBe(3);
  const broken = JSON.parse(stdout).checks.filter(({ ok }: { ok: boolean }) => !ok);
  expect(
    broken.flatMap(({ violations }: { violations: { accountId: string }[] }) => violations)[0]?.accountId,
  ).toBe(merchants[2]?.ownerId);
  const incidents = await service.database.admin(`SELECT kind FROM vintem_3.incident WHERE account_id = $1`, [
    merchants[2]?.ownerId,
  ]);
  expect(incidents[0]).toEqual({ kind: 'divergence' });
  expect(await service.database.admin(`SELECT FROM vintem.incident`)).toEqual([]);
});
