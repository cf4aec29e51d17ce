import { randomBytes } from 'node:crypto';
import { addCells } from '@vintem/testkit/cells.ts';
import { newPerson, openTab } from '@vintem/testkit/panel.ts';
import { type Run, recordedBy } from '@vintem/testkit/rows-visited.ts';
import { callWith, type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { verifiedCell } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeKey } from '../../src/api/keys/key.ts';
import { createMetrics } from '../../src/main/metrics.ts';
import type { Runtime } from '../../src/main/runtime.ts';
import { setConditions } from '../../src/operate/accounts/conditions.ts';
import { hasOpenPayments } from '../../src/operate/connections/connections.sql.ts';

/** Three cells behind one address: merchants of each see one service, and their rows stand in their own cell alone. */

let service: Service;
let cells: readonly Runtime[];
let merchants: Merchant[];
/** One that the provider has not decided, in every cell. */
const pending: string[] = [];
beforeAll(async () => {
  service = await openService();
  cells = await addCells(service, 2);
  merchants = await Promise.all(cells.map((cell) => service.newMerchant(cell)));
});
afterAll(() => service?.close());

test('charges, deliveries of the provider, transfers and refunds of every cell', async () => {
  expect(cells.map(({ cell }) => cell)).toEqual(['vintem', 'vintem_2', 'vintem_3']);
  for (const [at, merchant] of merchants.entries()) {
    const { body: charge } = await merchant.charge({ amountCents: 10_000 });
    await service.simulator.control('POST', `/control/charges/${charge.id.replaceAll('-', '')}/pay`);
    const status = async (path: string) => (await merchant.call('GET', path)).body.status;
    await until(async () => (await status(`/payments/${charge.id}`)) === 'paid');
    const sent = await merchant.transfer();
    expect(sent.status).toBe(201);
    await until(async () => (await status(`/payments/${sent.body.id}`)) === 'completed');
    const refund = { requestKey: crypto.randomUUID(), amountCents: 500, description: '' };
    const back = await merchant.call('POST', `/payments/${charge.id}/refunds`, refund);
    expect(back.status).toBe(201);
    await until(async () => (await status(`/refunds/${back.body.id}`)) === 'completed');
    expect(await merchant.balanceCents()).toBe(8_500);
    for (const [other, { cell }] of cells.entries()) {
      for (const table of ['payment', 'journal', 'balance', 'operation', 'refund', 'event']) {
        const rows = await service.database.admin(`SELECT FROM ${cell}.${table} WHERE account_id = $1`, [
          merchant.ownerId,
        ]);
        expect(rows.length > 0, `${table} of ${at} in ${cell}`).toBe(other === at);
      }
    }
  }
});

test('a payment’s transaction writes in its own cell alone', async () => {
  const schemas = cells.map(({ cell }) => cell);
  const tables = await service.database.admin<{ name: string; schema: string }>(
    `SELECT relnamespace::regnamespace || '.' || relname AS name, relnamespace::regnamespace::text AS schema FROM pg_class
      WHERE relkind = 'r' AND relnamespace = ANY ($1::regnamespace[])`,
    [schemas],
  );
  const last = cells.at(-1)?.cell;
  const writers = ['payment', 'journal', 'balance', 'refund', 'event']
    .map((table) => `SELECT xmin::text AS x FROM ${last}.${table} WHERE account_id = $1`)
    .join(' UNION ');
  const written: string[] = [];
  for (const { name, schema } of tables.filter((table) => table.schema !== last)) {
    const rows = await service.database.admin(
      `SELECT FROM ${name} WHERE xmin::text IN (SELECT x FROM (${writers}) AS w WHERE x NOT IN
        (SELECT xmin::text FROM vintem.account)) LIMIT 1`,
      [merchants.at(-1)?.ownerId],
    );
    if (rows.length > 0) written.push(`${schema} ${name}`);
  }
  expect(written).toEqual([]);
});

test('a block of withdrawals is set in the cell of its account alone, where it stops the tills', async () => {
  for (const [at, { ownerId }] of merchants.entries())
    for (const [other, cell] of cells.entries()) {
      const set = setConditions({ ...cell, actor: 'tester' }, ownerId, { withdrawalsBlocked: false });
      if (other === at) expect(await set).toMatchObject({ accountId: ownerId, withdrawalsBlocked: false });
      else await expect(set).rejects.toThrow('is of another cell');
    }
});

test('metrics are of all cells', async () => {
  const registry = await createMetrics({
    ...service.runtime,
    readiness: async () => [],
    clockOffset: { offsetMs: () => 0 },
    pool: service.database.sql.load,
    databaseStandbys: null,
  });
  for (const merchant of merchants) {
    const { body } = await merchant.transfer({ pixKey: 'stay-pending@simulator.example' });
    pending.push(body.id);
    await until(async () => (await merchant.call('GET', `/payments/${body.id}`)).body.status === 'pending');
  }
  expect(await registry.getSingleMetricAsString('vintem_open_payments')).toMatch(
    /kind="transfer",state="awaiting"\} 3$/m,
  );
});

test('what is open over a connection is seen from every cell, in whatever cell it stands', async () => {
  const open = () => Promise.all(cells.map(({ sql }) => hasOpenPayments(sql, 'simulator')));
  const complete = (id: string) =>
    service.simulator.control('POST', `/control/payouts/${id.replaceAll('-', '')}/complete`);
  const [last = '', ...others] = [...pending].reverse();
  for (const id of others) await complete(id);
  const counts = cells.map(({ cell }) => `SELECT count(*)::int AS open FROM ${cell}.intent`);
  const inCells = async () =>
    (await service.database.admin<{ open: number }>(counts.join(' UNION ALL '))).map((row) => row.open);
  await until(async () => (await inCells()).join() === '0,0,1');
  expect(await open()).toEqual([true, true, true]);
  await complete(last);
  await until(async () => (await inCells()).join() === '0,0,0');
  expect(await open()).toEqual([false, false, false]);
});

test('one delivery that names payments of all cells', async () => {
  const charges = await Promise.all(merchants.map(async (merchant) => (await merchant.charge()).body.id));
  await service.simulator.behave({ webhook: 'drop' });
  for (const id of charges)
    await service.simulator.control('POST', `/control/charges/${id.replaceAll('-', '')}/pay`);
  await service.simulator.behave({});
  for (const [at, id] of charges.entries())
    await until(async () => (await merchants[at]?.call('GET', `/payments/${id}`))?.body.status === 'paid');
});

test('the events of each account, without gaps', async () => {
  for (const merchant of merchants) {
    await until(async () => {
      const { body } = await merchant.call('GET', '/events');
      return body.events?.some((event: { type: string }) => event.type === 'transfer.completed');
    });
  }
});

test('requests of every cell are in the log of their account', async () => {
  for (const [at, merchant] of merchants.entries()) {
    const logged = `SELECT FROM ${cells[at]?.cell}.request_log WHERE request_id = ANY($1)`;
    // The log keeps fifteen of a second, and the tests before asked more often: of one request alone it may not tell.
    const asked: (string | null)[] = [];
    await until(async () => {
      asked.push((await merchant.call('GET', '/account')).headers.get('x-request-id'));
      return (await service.database.admin(logged, [asked])).length > 0;
    });
  }
});

test('verify, each cell by itself', async () => {
  for (const cell of cells) {
    const result = await verifiedCell(cell);
    expect(result.checks.filter(({ ok }) => !ok)).toEqual([]);
    expect(Math.max(...result.checks.map(({ examined }) => examined))).toBeGreaterThan(3);
  }
});

test('verify finds a chain that stands outside the cell of its account, the installation’s own as well', async () => {
  const { admin } = service.database;
  const stray = merchants[2]?.ownerId;
  const own = '00000000-0000-0000-0000-000000000000';
  await admin(`INSERT INTO vintem_2.balance SELECT * FROM vintem_3.balance WHERE account_id = $1 LIMIT 1`, [
    stray,
  ]);
  const columns = (
    await admin<{ name: string }>(
      `SELECT attname AS name FROM pg_attribute WHERE attrelid = 'vintem.balance'::regclass AND attnum > 2 AND NOT attisdropped`,
    )
  ).map(({ name }) => name);
  await admin(
    `INSERT INTO vintem_2.balance SELECT $1, $1, ${columns.join(', ')} FROM vintem_3.balance WHERE account_id = $2 LIMIT 1`,
    [own, stray],
  );
  const found = await Promise.all(cells.map((cell) => verifiedCell(cell)));
  const strays = found.map(({ checks }) =>
    checks
      .flatMap(({ violations }) => violations)
      .filter(({ fault }) => fault === 'a chain outside the cell of its account')
      .map(({ accountId }) => accountId),
  );
  expect(strays).toEqual([[], [own, stray], []]);
});

test('verify finds rows of an account outside of its cell, and an account whose cell has nothing of it', async () => {
  const { admin } = service.database;
  const [, second, third] = merchants.map(({ ownerId }) => ownerId);
  const faultsOf = async (name: string, account: string | undefined) =>
    (await verifiedCell(cells.find(({ cell }) => cell === name) as Runtime)).checks
      .flatMap(({ violations }) => violations)
      .filter(({ accountId }) => accountId === account)
      .map(({ fault }) => fault);
  await admin('INSERT INTO vintem_2.event SELECT * FROM vintem_3.event WHERE account_id = $1 LIMIT 1', [
    third,
  ]);
  expect(await faultsOf('vintem_2', third)).toContain('rows outside the cell of their account: event');
  await admin('DELETE FROM vintem_2.event WHERE account_id = $1', [third]);
  await admin(`UPDATE vintem.account SET cell = 'vintem_3' WHERE id = $1`, [second]);
  expect(await faultsOf('vintem_3', second)).toEqual(['0 live operations', '0 main operations']);
  expect(await faultsOf('vintem_2', second)).toContainEqual(
    expect.stringMatching(/^rows outside the cell of their account: operation, .*journal/),
  );
  await admin(`UPDATE vintem.account SET cell = 'vintem_2' WHERE id = $1`, [second]);
});

test('A person with accounts in three cells signs in once and sees each with its own rows', async () => {
  const email = 'ana@redes.example';
  for (const { ownerId } of merchants) await newPerson(service, ownerId, email);
  const tab = openTab(service);
  expect((await tab.signIn(email)).status).toBe(200);
  const { body: session } = await tab.call('GET', '/session');
  expect(session.accounts.map(({ id }: { id: string }) => id).sort()).toEqual(
    merchants.map(({ ownerId }) => ownerId).sort(),
  );
  for (const { ownerId, operationId } of merchants) {
    const { body: overview } = await tab.call('GET', `/accounts/${ownerId}/overview`);
    expect(overview.operations.map(({ id }: { id: string }) => id)).toEqual([operationId]);
    const { body: page } = await tab.call('GET', `/accounts/${ownerId}/records`);
    expect(page.records.length).toBeGreaterThan(2);
    const [first] = page.records;
    const other = merchants.find((one) => one.ownerId !== ownerId) as Merchant;
    expect((await tab.call('GET', `/accounts/${ownerId}/records/${first.id}`)).status).toBe(200);
    expect((await tab.call('GET', `/accounts/${other.ownerId}/records/${first.id}`)).status).toBe(404);
  }
});

test('A call finds the cell of its account with the key alone: no statement asks for it', async () => {
  const runs: Run[] = [];
  const { sql } = service.runtime;
  const unrecorded = { ...sql };
  Object.assign(
    sql,
    recordedBy(unrecorded, (run) => runs.push(run)),
  );
  try {
    for (const merchant of merchants) {
      const key = await service.newKey(merchant.ownerId);
      runs.length = 0;
      expect((await service.as(key)('GET', '/account')).status).toBe(200);
      const names = runs.map(({ statement: { name } }) => name);
      expect(names).toContain('key_read');
      expect(names.filter((name) => name.startsWith('cell_of'))).toEqual([]);
    }
  } finally {
    Object.assign(sql, unrecorded);
  }
});

test('A process that knows one cell serves the accounts of a second from their first request on', async () => {
  const env = { VINTEM_SECRET: randomBytes(32).toString('base64'), RATE_LIMITS: 'on' };
  const first = await openService({ env });
  const late = await openService({ env, database: first.database, worker: false });
  try {
    const [, second] = await addCells(first, 1);
    const merchant = await first.newMerchant(second);
    const elsewhere = callWith(`${late.url}/api/v1/public`, merchant.key);
    expect((await elsewhere('GET', '/account')).status).toBe(200);
    // A made-up key is looked up inside the limit of its address.
    const runs: Run[] = [];
    const { sql } = late.runtime;
    Object.assign(
      sql,
      recordedBy({ ...sql }, (run) => runs.push(run)),
    );
    const guesses = Array.from({ length: 200 }, () => makeKey(late.runtime.ids, true).key);
    const call = (key: string) => callWith(`${late.url}/api/v1/public`, key)('GET', '/account');
    const refused = await Promise.all(guesses.map(call));
    expect(refused.every(({ status }) => status === 401 || status === 429)).toBe(true);
    const looks = runs.filter(({ statement: { name } }) => name === 'key_read');
    expect(looks.length).toBeLessThanOrEqual(42);
    expect((await elsewhere('GET', '/account')).status).toBe(200);
  } finally {
    await late.close();
    await first.close();
  }
});
