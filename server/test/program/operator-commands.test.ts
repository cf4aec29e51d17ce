import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { finish } from '@vintem/testkit/command.ts';
import { type Program, programOn, testMerchant } from '@vintem/testkit/program.ts';
import { type Merchant, type Simulator, until } from '@vintem/testkit/service.ts';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findEmbedded } from '../../src/store/database/embedded.ts';

let program: Program;
let simulator: Simulator;
let merchant: Merchant;

beforeAll(async () => {
  program = await programOn();
  await program.start();
  ({ merchant, simulator } = await testMerchant(program));
});
afterAll(() => program?.remove(), 30_000);

interface Ended {
  code: number | null;
  // biome-ignore lint/suspicious/noExplicitAny: what a test looks at is checked by the test
  json: any;
  errors: string;
}

/** `vintem ... --json`, beside the running service. */
async function vintem(...words: string[]): Promise<Ended> {
  const env = {
    DATA_DIR: program.dataDir,
    SIMULATOR_URL: program.simulatorUrl,
    LOG_LEVEL: 'silent',
  };
  const { code, stdout, stderr } = await finish([...words, '--json'], env);
  return { code, json: stdout === '' ? null : JSON.parse(stdout), errors: stderr };
}

test('conditions are set, and what is outside the limits is refused', async () => {
  const set = await vintem(
    'account',
    'set',
    merchant.ownerId,
    '--withdrawal-fee-cents',
    '40',
    '--enabled',
    'true',
    '--refund-fees',
    'returned',
  );
  expect(set).toMatchObject({
    code: 0,
    json: { ownerId: merchant.ownerId, withdrawalFeeCents: 40, enabled: true, refundFees: 'returned' },
  });
  expect((await vintem('account', 'set', merchant.ownerId, '--refund-fees', 'half')).code).toBe(2);
  expect((await vintem('account', 'set', merchant.ownerId, '--withdrawal-fee-cents', 'much')).code).toBe(2);
  expect((await vintem('account', 'set', merchant.ownerId, '--minimum-withdrawal-cents', '5')).code).toBe(1);
  expect((await vintem('account', 'set', merchant.ownerId)).code).toBe(2);
});

test('a hold is placed, listed and released', async () => {
  await merchant.receive(2_000);
  const operation = ['--operation', merchant.operationId];
  const placed = await vintem(
    'hold',
    'place',
    ...operation,
    '--amount-cents',
    '500',
    '--reason',
    'a dispute',
  );
  expect(placed).toMatchObject({
    code: 0,
    json: { amountCents: 500, capturedCents: 500, reason: 'a dispute' },
  });
  expect((await vintem('hold', 'list', ...operation)).json.holds).toHaveLength(1);
  expect((await vintem('hold', 'release', placed.json.id)).json).toMatchObject({
    id: placed.json.id,
    capturedCents: 0,
  });
  expect(await merchant.balanceCents()).toBe(2_000);
});

test('withdrawals are paused and resumed', async () => {
  expect((await vintem('withdrawals', 'pause')).code).toBe(2);
  expect((await vintem('withdrawals', 'pause', '--reason', 'a drill')).json).toMatchObject({ paused: true });
  expect((await merchant.transfer()).body.code).toBe('withdrawals_paused');
  expect((await vintem('withdrawals', 'resume')).json).toMatchObject({ paused: false });
  expect((await merchant.transfer()).status).toBe(201);
});

test('an incident is listed, shown and resolved', async () => {
  const { body } = await merchant.charge();
  const pay = `/control/charges/${body.id.replaceAll('-', '')}/pay`;
  await simulator.control('POST', pay, { amountCents: 900 });
  const list = () => vintem('incident', 'list', '--account', merchant.ownerId);
  await until(async () => (await list()).json.incidents.length === 1);
  const [incident] = (await list()).json.incidents;
  expect(incident).toMatchObject({
    kind: 'amount_mismatch',
    paymentId: body.id,
    operationId: merchant.operationId,
    amountCents: 900,
    state: 'open',
  });
  expect(incident.openedAt).toMatch(/^\d{4}-.*Z$/);
  expect((await vintem('incident', 'show', incident.id)).json).toMatchObject({
    ...{ payerName: 'Maria', paymentCents: 1_000, paymentStatus: 'pending' },
    allowed: [
      { act: 'operation', action: 'credit' },
      { act: 'installation', action: 'writeoff' },
      { act: 'payer', action: 'return' },
      { act: null, action: 'none' },
    ],
  });
  const resolve = (action: string) =>
    vintem('incident', 'resolve', incident.id, '--action', action, '--reason', 'ok');
  expect((await resolve('approve')).code).toBe(2);
  expect((await resolve('debit')).code).toBe(1);
  expect(await resolve('credit')).toMatchObject({ code: 0, json: { state: 'resolved' } });
  expect((await resolve('credit')).errors).toMatch('resolved already');
  expect((await vintem('incident', 'show', incident.id)).json.resolution).toMatchObject({
    action: 'credit',
    reason: 'ok',
  });
});

test('What takes two people is refused to one at the shell, and with --break-glass recorded, mailed and done as it was shown', async () => {
  const people = await onDatabase(
    `INSERT INTO vintem.operator_person (id, email, name, role, created_at, enrolled_at, password, app_secret, app_step)
      SELECT gen_random_uuid(), role || '@vintem.example', role, role, now(), now(), 'x', 'x', 1 FROM unnest(ARRAY['risk', 'treasury']) AS role RETURNING id`,
  );
  const before = await merchant.balanceCents();
  const { body } = await merchant.charge();
  await simulator.control('POST', `/control/charges/${body.id.replaceAll('-', '')}/pay`, {
    amountCents: 700,
  });
  const open = async () =>
    (await vintem('incident', 'list', '--account', merchant.ownerId)).json.incidents.find(
      (one: { state: string }) => one.state === 'open',
    );
  await until(async () => (await open()) !== undefined);
  const { id } = await open();
  const resolve = (...more: string[]) =>
    vintem('incident', 'resolve', id, '--action', 'credit', '--reason', 'seen in the list', ...more);
  const refused = await resolve();
  expect([refused.code, refused.errors]).toEqual([1, expect.stringContaining('two people decide this')]);
  expect(await merchant.balanceCents()).toBe(before);
  expect((await resolve('--dry-run')).json.postings).not.toEqual([]);
  for (const other of ['--dry-run', '--break-glass'])
    expect((await resolve('--request', other)).code).toBe(2);
  const asked = await resolve('--request');
  expect(asked.json).toEqual({ requestId: expect.any(String), expiresAt: expect.any(String) });
  expect(await merchant.balanceCents()).toBe(before);
  expect((await vintem('request', 'list')).json.requests).toMatchObject([
    {
      ...{ id: asked.json.requestId, act: 'resolveIncident', subject: id, body: { action: 'credit' } },
      ...{ movedCents: expect.any(Number), takenUp: false, reason: 'seen in the list' },
    },
  ]);
  expect(
    await onDatabase(`SELECT action FROM vintem.audit WHERE subject = '${asked.json.requestId}'`),
  ).toEqual([{ action: 'request.ask' }]);
  expect(await resolve('--break-glass')).toMatchObject({ code: 0, json: { state: 'resolved' } });
  expect(await merchant.balanceCents()).toBe(before + 700);

  await vintem('withdrawals', 'pause', '--reason', 'a drill');
  expect((await vintem('withdrawals', 'resume')).code).toBe(1);
  expect((await vintem('withdrawals', 'resume', '--break-glass')).code).toBe(2);
  expect((await merchant.transfer()).body.code).toBe('withdrawals_paused');
  const resumed = await vintem('withdrawals', 'resume', '--break-glass', '--reason', 'nobody else is awake');
  expect(resumed.json).toMatchObject({ paused: false });

  const alone = await onDatabase(
    `SELECT r.act, r.moved_cents::integer AS moved, r.reason, r.requested_user IS NOT NULL AS named, a.action
      FROM vintem.operator_request r JOIN vintem.audit a ON a.subject = r.id::text WHERE r.state = 'alone' ORDER BY r.requested_at`,
  );
  expect(alone).toEqual([
    {
      ...{ act: 'resolveIncident', reason: 'seen in the list', named: true, action: 'request.alone' },
      moved: expect.any(Number),
    },
    {
      ...{ act: 'resumeWithdrawals', reason: 'nobody else is awake', named: true, action: 'request.alone' },
      moved: 0,
    },
  ]);
  const folder = join(program.dataDir, 'mail');
  const mails = await Promise.all(
    (await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')),
  );
  expect(mails.filter((mail) => mail.includes('seen in the list'))).toHaveLength(1);
  expect(mails.filter((mail) => mail.includes('nobody else is awake'))).toHaveLength(1);

  // One operator cannot agree with another one any more: the shell is all there is.
  await onDatabase('UPDATE vintem.operator_person SET suspended_at = now() WHERE id = $1', [people[0]?.id]);
  await vintem('withdrawals', 'pause', '--reason', 'a drill');
  const noTwo = await vintem('withdrawals', 'resume', '--request', '--reason', 'it is over');
  expect([noTwo.code, noTwo.errors]).toEqual([1, expect.stringContaining('no two operators')]);
  expect((await vintem('withdrawals', 'resume')).json).toMatchObject({ paused: false });
  await onDatabase('DELETE FROM vintem.operator_person');
});

test('a payment is found by every name that it has, and shown with its postings', async () => {
  const id = await merchant.paidCharge({ amountCents: 5000 });
  const { body } = await merchant.call('GET', `/payments/${id}`);
  const names = [id, id.replaceAll('-', ''), id.toUpperCase(), body.requestKey, body.endToEnd];
  for (const name of names) {
    const { json } = await vintem('find', name);
    expect([name, json.found]).toMatchObject([
      name,
      [{ kind: 'payment', id, ownerId: merchant.ownerId, state: 'paid', amountCents: 5000 }],
    ]);
  }
  const shown = await vintem('payment', 'show', id);
  expect(shown.json).toMatchObject({
    id,
    ownerId: merchant.ownerId,
    status: 'paid',
    providerId: id.replaceAll('-', ''),
    endToEnd: body.endToEnd,
    intents: [],
    postings: [{ clearing: -5000, available: 5000 }],
  });
  expect((await vintem('payment', 'show', crypto.randomUUID())).code).toBe(1);
  expect((await vintem('payment', 'show', 'nothing')).code).toBe(2);
});

test('an account is found by its name and shown with its balances, and nothing is found for what is not there', async () => {
  const { json } = await vintem('find', 'Loja');
  expect(json.found).toContainEqual(expect.objectContaining({ kind: 'account', id: merchant.ownerId }));
  expect((await vintem('find', 'Loja%')).json).toEqual({ found: [], more: false });
  expect((await vintem('find', crypto.randomUUID())).json).toEqual({ found: [], more: false });
  const shown = await vintem('account', 'show', merchant.ownerId);
  expect(shown.json).toMatchObject({
    ownerId: merchant.ownerId,
    test: true,
    withdrawalFeeCents: 40,
    operations: [
      { id: merchant.operationId, isDefault: true, availableCents: await merchant.balanceCents() },
    ],
  });
  expect((await vintem('account', 'show', crypto.randomUUID())).code).toBe(1);
});

test('a dispute and the acts of operators are listed', async () => {
  const id = await merchant.paidCharge({ amountCents: 3000 });
  const { body } = await merchant.call('GET', `/payments/${id}`);
  expect(body.endToEnd).toMatch(/^E/);
  const opened = await simulator.control('POST', `/control/charges/${id.replaceAll('-', '')}/dispute`, {});
  await onDatabase("UPDATE vintem.job SET due_at = 'epoch' WHERE what = 'disputes'");
  await until(async () => (await vintem('dispute', 'list')).json.disputes.length > 0);
  const listed = (await vintem('dispute', 'list', '--account', merchant.ownerId)).json.disputes;
  expect(listed).toMatchObject([
    { paymentId: id, status: 'open', amountCents: 3000, ownerId: merchant.ownerId },
  ]);
  await simulator.control('POST', `/control/disputes/${opened.body.id}/cancel`);
  const { entries } = (await vintem('audit', 'list', '--account', merchant.ownerId)).json;
  expect(entries).toContainEqual(
    expect.objectContaining({ action: 'account.set', subject: merchant.ownerId }),
  );
  expect((await vintem('audit', 'list', '--limit', '1')).json.entries).toHaveLength(1);
  expect((await vintem('audit', 'list', '--limit', '0')).code).toBe(2);
});

test('The audit log is exported row by row with its place in the chain, and over no file that is there', async () => {
  const file = join(program.dataDir, 'audit.jsonl');
  const exported = await vintem('audit', 'export', file);
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  expect(exported).toMatchObject({ code: 0, json: { file, rows: lines.length } });
  const rows = lines.map((line) => JSON.parse(line));
  expect(rows).toContainEqual(
    expect.objectContaining({
      ...{ cell: 'vintem', ownerId: merchant.ownerId, action: 'account.set', seq: 1 },
      ...{ hash: expect.stringMatching(/^[0-9a-f]{64}$/), chainedAt: expect.stringMatching(/^20/) },
    }),
  );
  expect((await vintem('audit', 'export', file)).code).toBe(1);
  expect(await readFile(file, 'utf8')).toBe(`${lines.join('\n')}\n`);
});

test('the lists of the provider are compared', async () => {
  expect((await vintem('reconcile')).json).toMatchObject({ missing: 0, unexpected: 0, different: 0 });
  expect((await vintem('reconcile', '--since', 'yesterday')).code).toBe(2);
});

test('The address that a person enters at a provider is shown, reached, and changed only when that is asked for', async () => {
  const shown = async () => {
    const { code, json } = await vintem('provider', 'address', '--connection', 'simulator', '--show');
    expect([code, json.connection]).toEqual([0, 'simulator']);
    return new URL(json.address).pathname;
  };
  const path = await shown();
  const reach = async (at: string) =>
    (
      await fetch(program.url + at, {
        method: 'POST',
        body: '{"pix":[]}',
        headers: { 'content-type': 'application/json' },
      })
    ).status;
  // Without a signature it is refused there, and at another address not known.
  expect([await reach(path), await reach(`${path}x`)]).toEqual([401, 404]);
  expect(await shown()).toBe(path);
  expect((await vintem('provider', 'address', '--connection', 'simulator')).code).toBe(0);
  expect(await shown()).not.toBe(path);
  expect((await vintem('provider', 'address', '--connection', 'nowhere', '--show')).code).toBe(1);
});

test('the balance of the provider, and lines of its statement that have no answer', async () => {
  const balance = await vintem('provider', 'balance', '--connection', 'simulator');
  expect(balance).toMatchObject({
    code: 0,
    json: {
      connection: 'simulator',
      availableCents: expect.any(Number),
      blocked: { judicialCents: 0, medCents: 0, totalCents: 0 },
    },
  });
  // The only connection needs no name; a wrong one is answered with those that exist.
  expect((await vintem('provider', 'balance')).json.connection).toBe('simulator');
  expect(await vintem('provider', 'balance', '--connection', 'live')).toMatchObject({
    code: 1,
    errors: expect.stringContaining('--connection takes simulator'),
  });
  const database = new pg.Client({ connectionString: (await findEmbedded(program.dataDir)) ?? '' });
  await database.connect();
  await database.query(
    `INSERT INTO vintem.statement_line (connection, kind, reference, rtr_id, amount_cents, moved_at, first_seen_at, tries, next_at, problem)
      VALUES ('simulator', 'reported', 'D1', 'D1', 75, now(), now(), 3, now() + interval '1 hour', 'the report names no end-to-end id')`,
  );
  await database.end();
  expect((await vintem('statement', 'list')).json.lines).toMatchObject([
    { connection: 'simulator', kind: 'reported', id: 'D1', amountCents: 75, tries: 3 },
  ]);
  const dismiss = ['statement', 'dismiss', 'reported', 'D1', '--connection', 'simulator'];
  expect((await vintem(...dismiss)).code).toBe(2);
  expect((await vintem(...dismiss, '--reason', 'settled by hand')).code).toBe(0);
  expect((await vintem('statement', 'list')).json).toEqual({ lines: [] });
  expect((await vintem(...dismiss, '--reason', 'settled by hand')).code).toBe(1);
});

test('a return that names no payment is rehearsed, and given to its transfer with its line', async () => {
  await merchant.receive(2_000);
  const { id } = (await merchant.transfer()).body;
  await until(async () => (await merchant.call('GET', `/payments/${id}`)).body.status === 'completed');
  const returnId = `D${'5'.repeat(31)}`;
  await onDatabase(
    `INSERT INTO vintem.statement_line (connection, kind, reference, rtr_id, amount_cents, moved_at, first_seen_at, tries, next_at)
      VALUES ('simulator', 'reported', $1, $1, 75, now(), now(), 3, now() + interval '1 hour')`,
    [returnId],
  );
  const before = await merchant.balanceCents();
  const returned = (...more: string[]) =>
    vintem('payment', 'returned', id, '--reason', 'seen there', ...more);
  expect((await returned()).code).toBe(2);
  expect((await returned('--return', returnId, '--amount-cents', '76')).code).toBe(1);
  expect(await returned('--return', returnId, '--dry-run')).toMatchObject({
    code: 0,
    json: { dryRun: true, postings: [{ movement: 'return', lines: { available: 75 } }] },
  });
  expect(await merchant.balanceCents()).toBe(before);
  expect(await returned('--return', returnId)).toMatchObject({
    code: 0,
    json: { paymentId: id, returnId, connection: 'simulator', amountCents: 75, returnedCents: 75 },
  });
  expect(await merchant.balanceCents()).toBe(before + 75);
  expect((await vintem('statement', 'list')).json).toEqual({ lines: [] });
  expect((await returned('--return', returnId)).code).toBe(1);
});

/** A statement of the superuser's. */
async function onDatabase(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: (await findEmbedded(program.dataDir)) ?? '' });
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}

const lastVerify = async () =>
  (await onDatabase('SELECT verified_ok AS ok FROM vintem.installation WHERE verified_at IS NOT NULL'))[0];

test('close: 0 where the books and the provider agree, 3 where they differ, 1 without a close, 2 for what is no day', async () => {
  // The worker closes the same days, and a balance may have to wait for its turn.
  await until(async () => (await vintem('close')).code === 0);
  const { day, connections } = (await vintem('close')).json;
  expect(connections).toMatchObject([{ connection: 'simulator', day, differenceCents: 0 }]);
  const close = ['close', '--day', day];
  expect(await vintem(...close)).toMatchObject({ code: 0, json: { complete: true } });

  await onDatabase(
    `INSERT INTO vintem.connection_close (connection, day, opening_cents, in_cents, out_cents, refund_cents, fee_cents, held_cents,
        closing_cents, since_cents, in_transit_cents, provider_cents, difference_cents, compared_at, closed_at, head)
      VALUES ('elsewhere', $1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, now(), now(), '')`,
    [day],
  );
  const differs = await vintem(...close);
  await onDatabase(`DELETE FROM vintem.connection_close WHERE connection = 'elsewhere'`);
  expect(differs.code).toBe(3);
  expect(differs.json.connections).toMatchObject([{ differenceCents: 1 }, { differenceCents: 0 }]);

  const one = await vintem(...close, '--connection', connections[0].connection);
  expect([one.code, one.json.connections]).toEqual([0, [connections[0]]]);
  expect((await vintem(...close, '--connection', 'nowhere')).code).toBe(1);
  expect((await vintem('close', '--day', '2020-01-01')).code).toBe(1);
  expect((await vintem('close', '--day', '2999-01-01')).code).toBe(1);
  expect((await vintem('close', '--day', '2026-02-30')).code).toBe(2);
});

test('verify: 0 while everything holds, 3 when something does not, which it then records', async () => {
  const anchor = join(program.dataDir, 'anchor.json');
  expect(await vintem('verify', '--anchor', anchor)).toMatchObject({ code: 0, json: { ok: true } });
  const kept = await readFile(anchor, 'utf8');
  expect(await vintem('verify', '--anchor', anchor)).toMatchObject({ code: 0 });
  expect(await readFile(anchor, 'utf8')).toBe(kept);
  await writeFile(join(program.dataDir, 'other'), 'no anchor');
  expect((await vintem('verify', '--anchor', join(program.dataDir, 'other'))).code).toBe(2);

  await onDatabase('UPDATE vintem.balance SET available = available + 1 WHERE operation_id = $1', [
    merchant.operationId,
  ]);
  const broken = await vintem('verify', '--account', merchant.ownerId);
  expect(broken).toMatchObject({ code: 3, json: { ok: false } });
  // Monitoring asks for passes over all accounts.
  expect(await lastVerify()).toEqual({ ok: true });
  expect((await vintem('verify')).code).toBe(3);
  expect(await lastVerify()).toEqual({ ok: false });
  const check = broken.json.checks.find((one: { ok: boolean }) => !one.ok);
  expect(check).toMatchObject({ number: 3, examined: 2 });
  expect(check.violations).toEqual([
    {
      accountId: merchant.ownerId,
      operationId: merchant.operationId,
      paymentId: null,
      fault: 'available differs by 1',
    },
  ]);
  const { incidents } = (await vintem('incident', 'list', '--account', merchant.ownerId)).json;
  expect(incidents[0]).toMatchObject({
    kind: 'divergence',
    state: 'open',
    operationId: merchant.operationId,
  });
});

test('What leaves more odd money to an account is refused to one at the shell where two administrators could agree, and what takes it away is not', async () => {
  const rule = (...words: string[]) => vintem('account', 'odd-money', merchant.ownerId, ...words);
  const widening = ['--kinds', 'second_payment', '--most-cents', '700'];
  expect((await rule(...widening)).json).toMatchObject({ kinds: ['second_payment'], mostCents: 700 });
  await onDatabase(
    `INSERT INTO vintem.operator_person (id, email, name, role, created_at, enrolled_at, password, app_secret, app_step)
      SELECT gen_random_uuid(), who || '@vintem.example', who, 'administrator', now(), now(), 'x', 'x', 1 FROM unnest(ARRAY['lia', 'davi']) AS who`,
  );
  expect((await rule('--most-cents', '600', '--reason', 'fewer')).json).toMatchObject({ mostCents: 600 });
  const refused = await rule('--most-cents', '601');
  expect([refused.code, refused.errors]).toEqual([1, expect.stringContaining('two people decide this')]);
  expect((await rule('--most-cents', '601', '--break-glass')).code).toBe(2);
  const alone = ['--break-glass', '--reason', 'both are on a flight'];
  expect((await rule('--most-cents', '601', ...alone)).json).toMatchObject({ mostCents: 601 });
  expect((await vintem('account', 'show', merchant.ownerId)).json).toMatchObject({
    ...{ oddMoneyKinds: ['second_payment'], oddMoneyMostCents: 601 },
  });
  const recorded = await onDatabase(
    `SELECT r.act, r.moved_cents::integer AS moved, r.body, a.reason FROM vintem.operator_request r
      JOIN vintem.audit a ON a.subject = r.subject AND a.action = 'account.odd_money' AND a.reason = r.reason WHERE r.act = 'changeOddMoneyRule'`,
  );
  expect(recorded).toEqual([
    {
      ...{ act: 'changeOddMoneyRule', moved: 601, reason: 'both are on a flight' },
      body: {
        kinds: 'second_payment',
        mostCents: '601',
        kindsBefore: 'second_payment',
        mostCentsBefore: '600',
      },
    },
  ]);
  await onDatabase(`DELETE FROM vintem.operator_request WHERE act = 'changeOddMoneyRule'`);
  await onDatabase(
    `DELETE FROM vintem.operator_person WHERE email IN ('lia@vintem.example', 'davi@vintem.example')`,
  );
});

test('Operators are changed at the shell alone until two administrators could agree, and then only with --break-glass', async () => {
  const create = (email: string, ...more: string[]) =>
    vintem('operator', 'create', '--email', email, '--name', 'Nova Pessoa', '--role', 'support', ...more);
  expect(await create('sozinha')).toMatchObject({ code: 2, errors: expect.stringContaining('--email') });
  expect((await create('sozinha@vintem.example')).json.link).toContain('/operator/convite#');
  await onDatabase(
    `INSERT INTO vintem.operator_person (id, email, name, role, created_at, enrolled_at, password, app_secret, app_step)
      SELECT gen_random_uuid(), who || '@vintem.example', who, 'administrator', now(), now(), 'x', 'x', 1 FROM unnest(ARRAY['ana', 'rui']) AS who`,
  );
  for (const words of [
    ['create', '--email', 'nova@vintem.example', '--name', 'Nova Pessoa', '--role', 'risk'],
    ['suspend', '--email', 'rui@vintem.example'],
    ['reset-factor', '--email', 'rui@vintem.example'],
    ['grant', '--email', 'rui@vintem.example', '--role', 'auditor'],
  ]) {
    const refused = await vintem('operator', ...words);
    expect([refused.code, refused.errors]).toEqual([1, expect.stringContaining('two people decide this')]);
  }
  expect((await vintem('operator', 'suspend', '--email', 'rui@vintem.example', '--break-glass')).code).toBe(
    2,
  );
  const asked = await vintem(
    'operator',
    'suspend',
    '--email',
    'rui@vintem.example',
    '--request',
    '--reason',
    'r',
  );
  expect(asked.json.requestId).toEqual(expect.any(String));
  const [request] = (await vintem('request', 'list')).json.requests.filter(
    ({ id }: { id: string }) => id === asked.json.requestId,
  );
  expect(request).toMatchObject({
    ...{ act: 'changeOperators', subject: 'rui@vintem.example' },
    body: { change: 'suspend', email: 'rui@vintem.example', roleNow: 'administrator', stateNow: 'active' },
  });
  const reason = 'rui lost the laptop';
  const words = ['--email', 'rui@vintem.example', '--break-glass', '--reason', reason];
  const suspended = await vintem('operator', 'suspend', ...words);
  expect(suspended).toMatchObject({ code: 0, json: { email: 'rui@vintem.example' } });
  expect(suspended.json.suspendedAt).not.toBe(null);
  const recorded = await onDatabase(
    `SELECT act, subject, body->>'change' AS change FROM vintem.operator_request WHERE reason = '${reason}' AND state = 'alone'`,
  );
  expect(recorded).toEqual([{ act: 'changeOperators', subject: 'rui@vintem.example', change: 'suspend' }]);
  // One administrator is left, who could ask and not agree.
  expect((await create('outra@vintem.example')).code).toBe(0);
  const last = await vintem('operator', 'suspend', '--email', 'ana@vintem.example');
  expect([last.code, last.errors]).toEqual([1, expect.stringContaining('no other administrator')]);
});
