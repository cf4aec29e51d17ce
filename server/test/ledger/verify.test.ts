import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { truthOf } from '@vintem/testkit/truth.ts';
import { verified as verifiedOf } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { divergencesOf, recordDivergences } from '../../src/flow/divergences.ts';
import { setConditions } from '../../src/operate/accounts/conditions.ts';
import { placeHold } from '../../src/operate/accounts/holds.ts';
import { listIncidents, resolveIncident } from '../../src/operate/incidents/incident.ts';
import { invariants } from '../../src/operate/verify/invariants.ts';
import { findStoredBooks } from '../../src/operate/verify/verify.sql.ts';
import { readAnchor, type Verified, type VerifyOptions } from '../../src/operate/verify/verify.ts';
import type { Operator } from '../../src/store/operator.ts';

let service: Service;
let merchant: Merchant;

beforeAll(async () => {
  service = await openService();
  merchant = await service.newMerchant();
});
afterAll(() => service.close());

const operator = (): Operator => ({ ...service.runtime, actor: 'tester' });

const verified = (full = true, more: Partial<VerifyOptions> = {}): Promise<Verified> =>
  verifiedOf(service, { full, ...more });

const faults = ({ checks }: Verified): string[] =>
  checks.flatMap((check) => check.violations.map(({ fault }) => `${check.number} ${fault}`));

test('every invariant has its number once, and is examined or says why not', async () => {
  const numbers = invariants.map((one) => one.number);
  expect(numbers).toEqual([...new Set(numbers)].sort((one, other) => one - other));
  for (const { notHere, name, number, ...functions } of invariants) {
    expect(name).not.toBe('');
    expect(Object.keys(functions).length > 0, `${number}`).toBe(notHere === undefined);
  }
});

test('what the service wrote is consistent, in full and from the checkpoints, beside running traffic', async () => {
  await merchant.receive(300_000);
  let running = true;
  const traffic = (async () => {
    const made: Promise<unknown>[] = [];
    for (let round = 0; round < 40; round++) {
      for (let each = 0; each < 5; each++) made.push(merchant.transfer());
      await Promise.all(made.splice(0));
      await merchant.charge({ amountCents: 500 });
    }
    running = false;
  })();
  let passes = 0;
  while (running) {
    const result = await verified(passes % 2 === 0);
    expect(faults(result)).toEqual([]);
    expect(result.ok).toBe(true);
    passes++;
  }
  await traffic;
  expect(passes).toBeGreaterThan(1);
  const last = await verified();
  expect(faults(last)).toEqual([]);
  const examined = last.checks.find((check) => check.number === 22)?.examined;
  expect(examined).toBeGreaterThanOrEqual(242);
  const checkpoints = await service.database.admin('SELECT * FROM checkpoint');
  expect(checkpoints.length).toBeGreaterThan(0);
});

test('the provider’s own truth agrees', async () => {
  await until(
    async () => (await service.database.admin("SELECT FROM intent WHERE kind = 'transfer'")).length === 0,
  );
  const provider = await truthOf(service.simulator);
  const result = await verified(true, { provider });
  expect(faults(result)).toEqual([]);
  expect(result.checks.find((check) => check.number === 12)?.examined).toBeGreaterThan(100);
});

test('the application may write checkpoints and change none', async () => {
  const attempt = service.runtime.sql.run({ name: 'cheat', text: 'UPDATE checkpoint SET available = 0' });
  await expect(attempt).rejects.toThrow(/permission denied/);
});

test('a changed byte in an old journal is found; deletion answers 503 until a person has looked; nothing is repaired', async () => {
  const { anchor } = await verified();
  const victim = await service.newMerchant();
  const { body: other } = await victim.call('POST', '/operations', {
    name: 'Filial',
    requestKey: crypto.randomUUID(),
  });
  await victim.receive(1_000);
  expect((await verified()).ok).toBe(true);
  await service.database.admin(
    `UPDATE journal SET effective_at = effective_at + interval '1 second' WHERE account_id = $1 AND seq = 1`,
    [victim.ownerId],
  );
  const result = await verified();
  expect(faults(result)).toEqual(['4 journal 1 is not what was hashed']);
  expect(await recordDivergences(operator(), divergencesOf(result.checks))).toBe(1);
  expect(await recordDivergences(operator(), divergencesOf(result.checks))).toBe(0);
  const refused = await victim.call('DELETE', `/operations/${other.id}`, {});
  expect([refused.status, refused.body.code]).toEqual([503, 'ledger_divergence']);
  expect(faults(await verified())).toEqual(['4 journal 1 is not what was hashed']);
  // The heads that were kept elsewhere are of other chains: they still fit.
  expect(faults(await verified(true, { anchor }))).toEqual(['4 journal 1 is not what was hashed']);

  const [incident] = await listIncidents(service.runtime, victim.ownerId);
  expect(incident?.kind).toBe('divergence');
  await resolveIncident(operator(), incident?.id ?? '', { action: 'none', reason: 'it was me, for a test' });
  expect((await victim.call('DELETE', `/operations/${other.id}`, {})).status).toBe(200);
  expect(await recordDivergences(operator(), divergencesOf(result.checks))).toBe(0);
  await service.database.admin(
    `UPDATE journal SET effective_at = effective_at - interval '1 second' WHERE account_id = $1 AND seq = 1`,
    [victim.ownerId],
  );
  expect((await verified()).ok).toBe(true);
});

test('a hold that is not what the disputes of its Pix say is found, in full and from the checkpoints', async () => {
  const victim = await service.newMerchant();
  const { body: charge } = await victim.charge({ amountCents: 1_000 });
  const path = `/control/charges/${charge.id.replaceAll('-', '')}`;
  await service.simulator.control('POST', `${path}/pay`);
  const { admin } = service.database;
  await until(
    async () =>
      (await admin("SELECT FROM payment WHERE id = $1 AND status = 'paid'", [charge.id])).length === 1,
  );
  expect((await service.simulator.control('POST', `${path}/dispute`, { amountCents: 400 })).status).toBe(200);
  // A reading that began before the dispute does not count: it finds its claim gone, and the next one begins at once.
  await admin("UPDATE job SET due_at = 'epoch' WHERE what = 'disputes'");
  await until(async () => {
    // One that found no query left would come back after two minutes.
    await admin(
      `WITH due AS (UPDATE job SET due_at = 'epoch' WHERE what = 'disputes' AND due_at <= now() + interval '3 minutes')
        UPDATE connection SET query_bucket_at = now() - interval '1 minute'`,
    );
    // The next one is ten minutes ahead, and a claim lasts five: none is on its way that would put right what is broken below.
    const atRest = "SELECT FROM job WHERE what = 'disputes' AND due_at > now() + interval '6 minutes'";
    const known = 'SELECT FROM dispute WHERE payment_id = $1';
    return (await admin(known, [charge.id])).length === 1 && (await admin(atRest)).length > 0;
  });
  expect(faults(await verified())).toEqual([]);
  expect(faults(await verified(false))).toEqual([]);
  const [row] = await admin<{ end_to_end: string }>('SELECT end_to_end FROM payment WHERE id = $1', [
    charge.id,
  ]);
  const endToEnd = row?.end_to_end;

  const change = (assignment: string) =>
    admin(`UPDATE dispute SET ${assignment} WHERE payment_id = $1`, [charge.id]);
  const wrong = async (fault: string, number = 61) => {
    for (const full of [true, false])
      expect([...new Set(faults(await verified(full)))]).toEqual([
        expect.stringMatching(new RegExp(`^${number} .*${fault}$`)),
      ]);
  };
  await change('amount_cents = 500');
  await wrong('what is held differs by -100');
  await change("amount_cents = 400, status = 'rejected'");
  await wrong('what is held differs by 400');
  await change("status = 'open', debited_cents = 100");
  await wrong('what is held differs by 100');
  await change('amount_cents = 500');
  await wrong('100 were taken, 0 went back');
  await change('amount_cents = 400, debited_cents = 0');
  // Amounts that an operator released stay free, and no others.
  await admin('UPDATE dispute SET hold_id = $2 WHERE payment_id = $1', [charge.id, crypto.randomUUID()]);
  await wrong('what is held differs by -400');
  await change('released_at = now()');
  expect(faults(await verified())).toEqual([]);

  // A Pix is booked under the charge that it paid.
  await admin("UPDATE payment SET end_to_end = 'Eother' WHERE id = $1", [charge.id]);
  await admin("UPDATE dispute SET end_to_end = 'Eother' WHERE payment_id = $1", [charge.id]);
  await wrong('it is paid by Eother', 63);
  await admin('UPDATE payment SET end_to_end = $2 WHERE id = $1', [charge.id, endToEnd]);
  await admin('UPDATE dispute SET end_to_end = $2 WHERE payment_id = $1', [charge.id, endToEnd]);
  expect(faults(await verified())).toEqual([]);

  await admin(
    `INSERT INTO dispute_defence (account_id, id, dispute_id, payment_id, operation_id, status, reason, attempts, amount_cents, fingerprint,
        created_at, updated_at, command)
      SELECT account_id, id, id, payment_id, operation_id, 'failed', 'provider_refused', 1, amount_cents, '', now(), now(), id
        FROM dispute WHERE payment_id = $1`,
    [charge.id],
  );
  expect(faults(await verified())).toEqual([]);
  const defence = (assignment: string) =>
    admin(`UPDATE dispute_defence SET ${assignment} WHERE account_id = $1`, [victim.ownerId]);
  // The database refuses the first of these by itself.
  await admin('ALTER TABLE dispute_defence DROP CONSTRAINT dispute_defence_left');
  await defence('attempts = 2');
  await wrong('failed by provider_refused after 2 attempts', 62);
  await defence('attempts = 0');
  await wrong('refused without an attempt', 62);
  await defence("reason = 'deadline_over', file_ids = jsonb_build_array(gen_random_uuid())");
  await wrong('1 of its files are not there', 62);
  await defence("file_ids = '[]', status = 'unknown', reason = NULL");
  await wrong('is unknown, and its intent gone', 62);
  await defence("status = 'failed', reason = 'deadline_over'");
  expect(faults(await verified())).toEqual([]);
});

test('a journal that is attributed to another connection is found', async () => {
  const victim = await service.newMerchant();
  await victim.receive(1_000);
  const { admin } = service.database;
  const [row] = await admin<{ connection: string; hash: Buffer }>(
    `SELECT connection, hash FROM vintem.journal WHERE account_id = $1 AND chain_id = $2`,
    [victim.ownerId, victim.operationId],
  );
  expect(row?.connection).toBe('simulator');
  const change = (assignment: string) =>
    admin(`UPDATE vintem.journal SET ${assignment} WHERE account_id = $1 AND chain_id = $2`, [
      victim.ownerId,
      victim.operationId,
    ]);
  await change(`connection = 'another'`);
  expect(faults(await verified())).toEqual([
    '4 journal 1 is not what was hashed',
    '52 journal 1 moves another, its payment is on simulator',
  ]);
  await change(`connection = 'simulator'`);
  const balances = new Map([['simulator', (await truthOf(service.simulator)).balanceCents]]);
  const truth = { payouts: [], charges: [], balanceCents: null, balances };
  expect(faults(await verified(true, { provider: truth }))).toEqual([]);
});

test('a deletion that finds a difference opens the incident by itself', async () => {
  const victim = await service.newMerchant();
  await victim.call('POST', '/operations', { name: 'Filial', requestKey: crypto.randomUUID() });
  const change = (by: number) =>
    service.database.admin(
      'UPDATE balance SET reserved = reserved + $3 WHERE account_id = $1 AND operation_id = $2',
      [victim.ownerId, victim.operationId, by],
    );
  await change(1);
  const remove = () => victim.call('DELETE', `/operations/${victim.operationId}`, {});
  for (let twice = 0; twice < 2; twice++) expect((await remove()).body.code).toBe('ledger_divergence');
  await change(-1);
  expect((await remove()).body.code).toBe('ledger_divergence');
  const incidents = await listIncidents(service.runtime, victim.ownerId);
  expect(incidents).toMatchObject([{ kind: 'divergence', operationId: victim.operationId, state: 'open' }]);
  await resolveIncident(operator(), incidents[0]?.id ?? '', { action: 'none', reason: 'put right by hand' });
  expect((await remove()).status).toBe(200);
});

test('an anchor shows a ledger that was written anew, which nothing else does', async () => {
  const { anchor } = await verified();
  const chain = anchor.chains.find((one) => one.accountId === merchant.ownerId);
  if (!chain) throw new Error('the anchor lacks the chain');
  expect(chain.seq).toBeGreaterThan(0);
  const forged = { ...anchor, chains: [{ ...chain, hash: '00'.repeat(32) }] };
  expect(faults(await verified(true, { anchor: forged }))).toEqual([`4 journal ${chain.seq} is another one`]);
  const longer = { ...anchor, chains: [{ ...chain, seq: 1_000_000 }] };
  expect(faults(await verified(true, { anchor: longer }))).toEqual(['4 journal 1000000 is gone']);
  const { audit: _, ...older } = anchor;
  expect(readAnchor(JSON.stringify(older))).toEqual({ ...anchor, audit: null });
  const { checks } = await verified(true, { anchor: { ...anchor, audit: null } });
  expect(checks.filter(({ name }) => name === 'the audit log is that of the anchor')).toEqual([]);
});

test('A row of the audit log that is changed, removed or added is found, in full and among the last rows of an account', async () => {
  const { admin } = service.database;
  const { ownerId, operationId } = await service.newMerchant();
  // A clock that is wrong does not date the chain.
  const late: Operator = { ...operator(), clock: { ...service.runtime.clock, now: () => 0 } };
  await setConditions(late, ownerId, { withdrawalFeeCents: 1 });
  const hold = (reason: string) => placeHold(operator(), { operationId, amountCents: 100, reason });
  await Promise.all([
    ...['one', 'another'].map(hold),
    setConditions(operator(), ownerId, { withdrawalFeeCents: 2 }),
  ]);
  await hold('a file says so');
  const rows = await admin<{ seq: string; isNow: boolean }>(
    `SELECT seq, abs(chained_ms - extract(epoch FROM clock_timestamp()) * 1000) < 3600000 AS "isNow"
      FROM audit WHERE account_id = $1 ORDER BY seq`,
    [ownerId],
  );
  expect(rows).toEqual(['1', '2', '3', '4', '5'].map((seq) => ({ seq, isNow: true })));
  const { anchor } = await verified();

  const found = async (fault: string, passes = [true, false]) => {
    for (const full of passes) expect(faults(await verified(full))).toEqual([`75 ${fault}`]);
  };
  const rowAt = (seq: number) =>
    admin<{ row: object }>('SELECT to_jsonb(a) AS row FROM audit a WHERE account_id = $1 AND seq = $2', [
      ...[ownerId, seq],
    ]);
  const add = (row: object) =>
    admin('INSERT INTO audit SELECT r.* FROM jsonb_populate_record(NULL::audit, $1) AS r', [row]);
  const remove = (seq: number) =>
    admin('DELETE FROM audit WHERE account_id = $1 AND seq = $2', [ownerId, seq]);

  for (const change of [
    "actor = 'another'",
    'reason = NULL',
    "detail = '{}'",
    "at = at + interval '1 second'",
  ]) {
    const [kept] = await rowAt(5);
    await admin(`UPDATE audit SET ${change} WHERE account_id = $1 AND seq = 5`, [ownerId]);
    await found('audit row 5 is not what was hashed');
    await remove(5);
    await add(kept?.row ?? {});
  }
  for (const seq of [3, 5]) {
    const [kept] = await rowAt(seq);
    await remove(seq);
    await found(`audit row ${seq} is gone`);
    await add(kept?.row ?? {});
  }
  const [last] = await rowAt(5);
  const planted = { ...last?.row, id: crypto.randomUUID() };
  await add({ ...planted, seq: 6 });
  await found('audit row 6 is behind the head');
  await remove(6);
  await add({ ...planted, seq: null, chained_ms: null, hash: null });
  await found('the audit rows from before the chain are others', [true]);
  await admin('DELETE FROM audit WHERE account_id = $1 AND seq IS NULL', [ownerId]);
  expect(faults(await verified())).toEqual([]);

  // The last row taken away together with its head: only what was kept elsewhere shows it.
  await remove(5);
  await admin(
    `UPDATE audit_chain c SET seq = a.seq, head = a.hash FROM audit a
      WHERE c.account_id = $1 AND a.account_id = c.account_id AND a.seq = 4`,
    [ownerId],
  );
  expect(faults(await verified())).toEqual([]);
  expect(faults(await verified(true, { anchor }))).toEqual(['75 audit row 5 is gone']);
  await admin('DELETE FROM audit_chain WHERE account_id = $1', [ownerId]);
  await found('audit rows without a chain', [true]);
  await admin('DELETE FROM audit WHERE account_id = $1', [ownerId]);
  // A chain without a row of its own stands for the rows from before it, as the migration makes it.
  await add({ ...planted, seq: null, chained_ms: null, hash: null });
  await admin(
    `INSERT INTO audit_chain (account_id, start, seq, at_ms, head)
      SELECT account_id, digest, 0, 0, digest FROM (SELECT account_id, sha256(sha256(convert_to(jsonb_build_array(account_id, id,
        (extract(epoch FROM at) * 1000000)::bigint, actor, action, subject, reason, detail)::text, 'UTF8'))) AS digest
        FROM audit WHERE account_id = $1) AS earlier`,
    [ownerId],
  );
  const { anchor: early } = await verified();
  expect(faults(await verified(true, { anchor: early }))).toEqual([]);
  for (const table of ['audit', 'audit_chain'])
    await admin(`DELETE FROM ${table} WHERE account_id = $1`, [ownerId]);
  expect(faults(await verified(true, { anchor: early }))).toEqual(['75 audit row 0 is gone']);
  expect((await verified()).ok).toBe(true);
});

test('The service adds to the audit log and changes nothing in it', async () => {
  for (const text of ['UPDATE audit SET reason = NULL', 'DELETE FROM audit', 'DELETE FROM audit_chain']) {
    const attempt = service.runtime.sql.run({ name: `cheat ${text}`, text });
    await expect(attempt).rejects.toThrow(/permission denied/);
  }
});

test('what lies below a checkpoint is looked at in full only, and a checkpoint that was changed is found', async () => {
  const [last] = await service.database.admin<{ seq: string; chain_id: string }>(
    'SELECT seq, chain_id FROM checkpoint WHERE account_id = $1 ORDER BY seq DESC LIMIT 1',
    [merchant.ownerId],
  );
  const shift = (by: string) =>
    service.database.admin(
      `UPDATE journal SET posted_at = posted_at ${by} interval '1 second' WHERE account_id = $1 AND chain_id = $2 AND seq = 5`,
      [merchant.ownerId, last?.chain_id],
    );
  await shift('+');
  expect((await verified(false)).ok).toBe(true);
  expect(faults(await verified())).toEqual(['4 journal 5 is not what was hashed']);
  await shift('-');
  const raise = (by: number) =>
    service.database.admin(
      'UPDATE checkpoint SET clearing = clearing + $3 WHERE account_id = $1 AND seq = $2',
      [merchant.ownerId, last?.seq, by],
    );
  await raise(1);
  expect(faults(await verified())).toEqual([`4 the checkpoint at ${last?.seq} is not what the journals say`]);
  await raise(-1);
  expect((await verified()).ok).toBe(true);
});

const damages: [string, string, number][] = [
  [
    'a balance',
    `UPDATE balance SET available = available + 1 WHERE account_id = $1 AND operation_id <> $1`,
    3,
  ],
  [
    'a removed journal',
    `DELETE FROM journal WHERE account_id = $1 AND seq = (SELECT max(seq) FROM journal WHERE account_id = $1)`,
    4,
  ],
  ['a state', `UPDATE payment SET status = 'expired', settled_at = NULL WHERE account_id = $1`, 20],
  [
    'a send without its account at the provider',
    `UPDATE intent SET identity = NULL WHERE account_id = $1`,
    66,
  ],
  ['a lost follow-up', `DELETE FROM intent WHERE account_id = $1`, 45],
  [
    'a freeze without an incident',
    `UPDATE balance SET frozen = true WHERE account_id = $1 AND operation_id <> $1`,
    19,
  ],
  ['a lost event', `DELETE FROM event WHERE account_id = $1`, 41],
  ['a second main operation of none', `UPDATE operation SET main = NULL WHERE account_id = $1`, 31],
  ['a fee', `UPDATE payment SET fee_cents = fee_cents + 1 WHERE account_id = $1`, 27],
  [
    'a hold without its row',
    `UPDATE balance SET hold_wanted = 5, available = 0 WHERE account_id = $1 AND operation_id <> $1`,
    6,
  ],
];
for (const [what, statement, number] of damages) {
  test(`damage is found: ${what}`, async () => {
    const victim = await service.newMerchant();
    await victim.receive(1_000);
    await victim.charge();
    expect((await verified(true, { accountId: victim.ownerId })).ok).toBe(true);
    await service.database.admin(statement, [victim.ownerId]);
    const broken = (await verified(true, { accountId: victim.ownerId })).checks.filter((check) => !check.ok);
    expect(broken.map((check) => check.number)).toContain(number);
  });
}

test('what is open is added up whatever it is, page by page and as of one moment', async () => {
  const busy = await service.newMerchant();
  await busy.receive(2_000);
  const { body } = await busy.transfer({ amountCents: 1_000, pixKey: 'stay-pending@simulator.example' });
  const { admin } = service.database;
  const copies = 10_001;
  await admin(
    `WITH copy AS (INSERT INTO payment SELECT r.* FROM payment p, generate_series(1, ${copies}) n,
         LATERAL (SELECT ('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid AS id) new,
         LATERAL jsonb_populate_record(p, jsonb_build_object('id', new.id, 'request_key', new.id)) r
       WHERE p.id = $1 RETURNING id)
     INSERT INTO intent SELECT r.* FROM intent i, copy, LATERAL jsonb_populate_record(i, jsonb_build_object('payment_id', copy.id)) r
       WHERE i.payment_id = $1`,
    [body.id],
  );
  // One that has lost its payment, on the first page: it ends no page.
  await admin(
    `INSERT INTO intent SELECT r.* FROM intent i, LATERAL
       jsonb_populate_record(i, jsonb_build_object('payment_id', '00000000-0000-4000-7fff-000000000000')) r
     WHERE i.payment_id = $1`,
    [body.id],
  );
  const [operation] = (await findStoredBooks(service.runtime.sql, busy.ownerId)).operations;
  expect(operation).toMatchObject({
    reserved: 1_000,
    unfinished: copies + 2,
    openTransferCents: (copies + 1) * 1_000,
  });
  await admin('DELETE FROM intent WHERE account_id = $1 AND payment_id <> $2', [busy.ownerId, body.id]);
  await admin(`DELETE FROM payment WHERE account_id = $1 AND kind = 'transfer' AND id <> $2`, [
    busy.ownerId,
    body.id,
  ]);
});
