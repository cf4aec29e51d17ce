import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { reservedCents } from '@vintem/testkit/settlement.ts';
import { violations } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { prepareLimits } from '../../src/flow/limit.ts';
import { listOpenLines, stepStatementLines } from '../../src/jobs/statement-lines.ts';
import { createAccount } from '../../src/operate/connections/directory.ts';
import { listIncidents, resolveIncident } from '../../src/operate/incidents/incident.ts';
import { markCompared, pauseAfterRestore, resumeWithdrawals } from '../../src/operate/pause.ts';
import { reconcile } from '../../src/operate/reconcile.ts';
import type { DayReportOutcome, Provider } from '../../src/provider/provider.ts';
import type { Operator } from '../../src/store/operator.ts';

// Without a worker nothing is followed up: what a comparison finds, it finds itself.
let service: Service;
let merchant: Merchant;

beforeAll(async () => {
  service = await openService({ worker: false });
  merchant = await service.newMerchant();
});
afterAll(() => service.close());

const operator = (): Operator => ({
  ...service.runtime,
  everyCell: service.runtime.cells.all().map(({ sql }) => sql),
  actor: 'tester',
});

const compare = (accountId: string | null = null) =>
  reconcile(service.runtime, operator(), { accountId, sinceMs: null });

const pay = (id: string) =>
  service.simulator.control('POST', `/control/charges/${id.replaceAll('-', '')}/pay`);

test('what agrees is counted and left alone', async () => {
  await merchant.receive(10_000);
  const { body } = await merchant.transfer();
  await until(async () => (await merchant.call('GET', `/payments/${body.id}`)).body.status === 'completed');
  expect(await compare()).toMatchObject({ compared: 2, missing: 0, unexpected: 0, different: 0 });
  expect(await compare(merchant.ownerId)).toMatchObject({
    compared: 2,
    missing: 0,
    unexpected: 0,
    different: 0,
  });
  expect(await violations(service)).toEqual([]);
});

test('what the provider has and we missed is posted, once', async () => {
  await service.simulator.behave({ webhook: 'drop' });
  const { body: charge } = await merchant.charge({ amountCents: 700 });
  await pay(charge.id);
  const { body: transfer } = await merchant.transfer({ pixKey: 'lose-answer@simulator.example' });
  await until(async () => (await service.simulator.payout(transfer.id))?.status === 'completed');
  expect(await compare()).toMatchObject({ compared: 4, missing: 2, unexpected: 0, different: 0 });
  expect((await merchant.call('GET', `/payments/${charge.id}`)).body.status).toBe('paid');
  expect((await merchant.call('GET', `/payments/${transfer.id}`)).body.status).toBe('completed');
  expect(await compare()).toMatchObject({ compared: 4, missing: 0 });
  expect(await violations(service)).toEqual([]);
});

test('a completed transfer that came back unheard is posted as a return', async () => {
  const { body } = await merchant.call('GET', '/payments');
  const transfer = body.payments.find((one: { kind: string }) => one.kind === 'transfer');
  await service.simulator.control('POST', `/control/payouts/${transfer.id.replaceAll('-', '')}/return`);
  const before = await merchant.balanceCents();
  expect(await compare()).toMatchObject({ missing: 1, different: 0 });
  expect(await merchant.balanceCents()).toBe(before + transfer.netAmountCents);
  expect(await violations(service)).toEqual([]);
});

test('after a restore: what was lost is in suspense with an incident, and the pause ends', async () => {
  await service.simulator.behave({});
  const request = { amountCents: 900, requestKey: crypto.randomUUID() };
  const { body: lost } = await merchant.charge(request);
  await service.simulator.behave({ webhook: 'drop' });
  await pay(lost.id);
  // The backup is older than that charge.
  await service.database.admin('DELETE FROM intent WHERE payment_id = $1', [lost.id]);
  await service.database.admin('DELETE FROM payment WHERE id = $1', [lost.id]);
  await service.runtime.sql.tx((tx) => pauseAfterRestore(tx, service.runtime.clock.now()));
  expect((await merchant.transfer()).body.code).toBe('withdrawals_paused');

  expect(await compare(merchant.ownerId)).toMatchObject({ restoreEnded: false });
  expect(await compare()).toMatchObject({ unexpected: 1, different: 0, restoreEnded: true });
  expect((await merchant.transfer()).status).toBe(201);
  const [incident] = await listIncidents(service.runtime, null);
  expect(incident).toMatchObject({ kind: 'unmatched', amountCents: 900, state: 'open' });
  const claim = () =>
    resolveIncident(operator(), incident?.id ?? '', { action: 'credit', reason: 'the merchant repeated it' });

  // The merchant repeats its request: the same id, so the provider says that it is paid, and the money is there once.
  const before = await merchant.balanceCents();
  const { body: again } = await merchant.charge(request);
  expect(again.id).toBe(lost.id);
  // (The transfer of a moment ago completed unheard as well.)
  expect(await compare()).toMatchObject({ missing: 2, unexpected: 0 });
  expect(await merchant.balanceCents()).toBe(before + 900);
  await claim();
  await service.simulator.behave({});
  expect(await compare()).toMatchObject({ missing: 0, unexpected: 0, different: 0 });
  expect(await violations(service)).toEqual([]);
});

test('after a restore a payment that has been open for a month is queried, and the comparison does not go back to it', async () => {
  await service.simulator.behave({ webhook: 'drop' });
  const { body } = await merchant.charge({ amountCents: 400 });
  await pay(body.id);
  const { runtime } = service;
  const monthAgo = new Date(runtime.clock.now() - 30 * 86_400_000).toISOString();
  await service.database.admin('UPDATE intent SET created_at = $2 WHERE payment_id = $1', [
    body.id,
    monthAgo,
  ]);
  // At the provider it lies outside of every window.
  const provider = runtime.providers.get('simulator') as Provider;
  const listed: number[] = [];
  const txid = body.id.replaceAll('-', '');
  const narrow: Provider = {
    ...provider,
    listCharges: async (window) => {
      listed.push(window.fromMs);
      const outcome = await provider.listCharges(window);
      if (outcome.outcome !== 'listed') return outcome;
      return { ...outcome, reports: outcome.reports.filter((report) => report.txid !== txid) };
    },
    statement: async () => ({ outcome: 'listed', reports: [], unread: [], complete: true }),
  };
  (runtime.providers as Map<string, Provider>).set('simulator', narrow);
  await runtime.sql.tx((tx) => pauseAfterRestore(tx, runtime.clock.now()));
  const { since, missing, restoreEnded } = await compare();
  (runtime.providers as Map<string, Provider>).set('simulator', provider);
  await service.simulator.behave({});
  expect({ missing, restoreEnded }).toEqual({ missing: 1, restoreEnded: true });
  expect(Math.min(since, ...listed)).toBeGreaterThan(runtime.clock.now() - 86_400_000);
  expect((await merchant.call('GET', `/payments/${body.id}`)).body.status).toBe('paid');
});

/** A provider on whose closed days nothing was returned. */
const emptyReports = {
  requestDayReport: async () => ({ outcome: 'requested' as const, reportId: 'r' }),
  readDayReport: async () => ({ outcome: 'ready' as const, returns: [], unreadable: 0 }),
};

/** Compares while the simulator's connection answers otherwise. */
async function compareWith(changed: Partial<Provider>, sinceMs: number | null = null) {
  const providers = service.runtime.providers as Map<string, Provider>;
  const simulator = providers.get('simulator') as Provider;
  providers.set('simulator', { ...simulator, ...changed });
  try {
    return await reconcile(service.runtime, operator(), { accountId: null, sinceMs });
  } finally {
    providers.set('simulator', simulator);
  }
}

const nothingListed = async () => ({
  outcome: 'listed' as const,
  reports: [],
  unread: [],
  complete: true as const,
});
const hourMs = 3_600_000;

test('an old open payment that the provider answers unreadably stays open, and a restore ends all the same', async () => {
  const { body } = await merchant.charge({ amountCents: 330 });
  const txid = body.id.replaceAll('-', '');
  const monthAgo = new Date(service.runtime.clock.now() - 30 * 86_400_000).toISOString();
  await service.database.admin('UPDATE intent SET created_at = $2 WHERE payment_id = $1', [
    body.id,
    monthAgo,
  ]);
  await service.runtime.sql.tx((tx) => pauseAfterRestore(tx, service.runtime.clock.now()));
  const simulator = service.runtime.providers.get('simulator') as Provider;
  const unreadable = { outcome: 'unclear', cause: 'unreadable', detail: '200', retryAfterMs: null } as const;
  const compared = await compareWith({
    ...emptyReports,
    listCharges: nothingListed,
    statement: nothingListed,
    queryCharge: async (asked, at) => (asked === txid ? unreadable : simulator.queryCharge(asked, at)),
  });
  expect(compared).toMatchObject({ restoreEnded: true });
  expect((await merchant.call('GET', `/payments/${body.id}`)).body.status).toBe('pending');
  await service.database.admin('UPDATE intent SET created_at = now() WHERE payment_id = $1', [body.id]);
});

test('a line that the provider cannot answer is set aside, and a restore ends all the same', async () => {
  await service.simulator.behave({ webhook: 'drop' });
  const { body } = await merchant.charge({ amountCents: 310 });
  const txid = body.id.replaceAll('-', '');
  await pay(body.id);
  await service.runtime.sql.tx((tx) => pauseAfterRestore(tx, service.runtime.clock.now()));
  const simulator = service.runtime.providers.get('simulator') as Provider;
  const unreadable = { outcome: 'unclear', cause: 'unreadable', detail: '200', retryAfterMs: null } as const;
  const done = await compareWith({
    ...emptyReports,
    listCharges: nothingListed,
    queryCharge: async (asked, at) => (asked === txid ? unreadable : simulator.queryCharge(asked, at)),
  });
  expect(done).toMatchObject({ setAside: 1, restoreEnded: true });
  const [line] = await listOpenLines(service.runtime);
  expect(line).toMatchObject({ kind: 'received', providerId: txid, amountCents: 310 });
  await service.runtime.sql.run({ name: 'lines due', text: `UPDATE statement_line SET next_at = 'epoch'` });
  await stepStatementLines(service.runtime, simulator);
  // It is followed, so it is only made due: the lookup queries it as soon as the shared limit has a query left.
  const status = async () => (await merchant.call('GET', `/payments/${body.id}`)).body.status;
  await until(async () => (await status()) === 'paid');
  await service.simulator.behave({});
  expect(await violations(service)).toEqual([]);
});

test('a line that was set aside and names no payment here is posted as unexpected, once', async () => {
  await service.simulator.behave({ webhook: 'drop' });
  const request = { amountCents: 320, requestKey: crypto.randomUUID() };
  const { body } = await merchant.charge(request);
  const txid = body.id.replaceAll('-', '');
  await pay(body.id);
  // The backup is older than that charge, and it was made before the window.
  await service.database.admin('DELETE FROM intent WHERE payment_id = $1', [body.id]);
  await service.database.admin('DELETE FROM payment WHERE id = $1', [body.id]);
  const simulator = service.runtime.providers.get('simulator') as Provider;
  const unreadable = { outcome: 'unclear', cause: 'unreadable', detail: '200', retryAfterMs: null } as const;
  const done = await compareWith({
    ...emptyReports,
    listCharges: nothingListed,
    queryCharge: async (asked, at) => (asked === txid ? unreadable : simulator.queryCharge(asked, at)),
  });
  expect(done).toMatchObject({ setAside: 1 });
  await service.runtime.sql.run({ name: 'lines due', text: `UPDATE statement_line SET next_at = 'epoch'` });
  await stepStatementLines(service.runtime, simulator);
  expect(await listOpenLines(service.runtime)).toEqual([]);
  const unexpected = async () =>
    (await listIncidents(service.runtime, null)).filter(
      ({ kind, amountCents }) => kind === 'unmatched' && amountCents === 320,
    );
  expect(await unexpected()).toHaveLength(1);
  await compare();
  expect(await unexpected()).toHaveLength(1);
  const posted = await service.database.admin(
    `SELECT suspense::integer AS cents FROM journal WHERE template = 'bookToSuspense' AND suspense = 320`,
  );
  expect(posted).toEqual([{ cents: 320 }]);
  // The merchant repeats its request, and what stands in suspense is its money.
  const before = await merchant.balanceCents();
  await merchant.charge(request);
  expect(await compare()).toMatchObject({ missing: 1, unexpected: 0 });
  expect(await merchant.balanceCents()).toBe(before + 320);
  const [incident] = await unexpected();
  await resolveIncident(operator(), incident?.id ?? '', { action: 'credit', reason: 'it was repeated' });
  await service.simulator.behave({});
  expect(await violations(service)).toEqual([]);
});

test('a return of an older payout is found in the report of its day, once it is made', async () => {
  const { body: sent } = await merchant.transfer();
  await until(async () => (await merchant.call('GET', `/payments/${sent.id}`)).body.status === 'completed');
  await service.simulator.behave({ webhook: 'drop' });
  const path = `/control/payouts/${sent.id.replaceAll('-', '')}/return`;
  const { body: back } = await service.simulator.control('POST', path);
  const [pix] = await service.database.admin<{ id: string }>(
    'SELECT end_to_end AS id FROM payment WHERE id = $1',
    [sent.id],
  );
  const answers: DayReportOutcome[] = [
    { outcome: 'pending' },
    {
      outcome: 'ready',
      returns: [
        { id: back.rtrId, rtrId: back.rtrId, endToEnd: pix?.id ?? null, amountCents: back.amountCents },
      ],
      unreadable: 0,
    },
  ];
  const before = await merchant.balanceCents();
  const reports = {
    requestDayReport: emptyReports.requestDayReport,
    readDayReport: async () => answers.shift() ?? emptyReports.readDayReport(),
  };
  // Neither list reaches back to it.
  const old = { listCharges: nothingListed, listPayouts: nothingListed, statement: nothingListed };
  const since = Date.now() - 30 * hourMs;
  expect(await compareWith({ ...old, ...reports }, since)).toMatchObject({ missing: 1, unreadReports: 0 });
  expect(await merchant.balanceCents()).toBe(before + back.amountCents);
  await service.simulator.behave({});
  expect(await violations(service)).toEqual([]);
});

test('a report that cannot be had is counted, and ends nothing', async () => {
  const refused = async () =>
    ({
      outcome: 'unclear',
      cause: 'unknownRefusal',
      detail: '403 insufficient_scope',
      retryAfterMs: null,
    }) as const;
  const since = Date.now() - 30 * hourMs;
  const compared = await compareWith({ requestDayReport: refused }, since);
  expect(compared.unreadReports).toBeGreaterThanOrEqual(1);
});

test('a connection without a statement is compared by its lists', async () => {
  const simulator = service.runtime.providers.get('simulator') as Provider;
  const never = async () => {
    throw new Error('it offers none');
  };
  const compared = await compareWith({
    capabilities: { ...simulator.capabilities, statement: { lists: false, dayReports: null } },
    statement: never,
    requestDayReport: never,
  });
  expect(compared).toMatchObject({ unreadReports: 0, setAside: 0 });
});

test('law 3: where a provider lists no payouts, a refusal of a first send releases nothing after a restore, until a person has compared', async () => {
  const { runtime } = service;
  const providers = runtime.providers as Map<string, Provider>;
  const simulator = providers.get('simulator') as Provider;
  const shop = await service.newMerchant();
  await shop.receive(20_000);
  const refused = () => shop.transfer({ pixKey: 'refuse-in-answer@simulator.example', pixKeyType: 'EMAIL' });

  providers.set('simulator', {
    ...simulator,
    capabilities: { ...simulator.capabilities, canListPayouts: false },
  });
  await runtime.sql.tx((tx) => pauseAfterRestore(tx, runtime.clock.now()));
  expect(await compare()).toMatchObject({ restoreEnded: true, unlisted: ['simulator'] });
  await resumeWithdrawals(operator());
  await refused();
  expect(await reservedCents(shop)).toBe(1_000);
  await expect(markCompared(operator(), 'live ', 'as the bank has it')).rejects.toThrow(
    'no restore left payouts',
  );
  await markCompared(operator(), 'simulator', 'as the bank has it');
  await refused();
  // The second one is released, the first one is still open.
  expect(await reservedCents(shop)).toBe(1_000);
  await expect(markCompared(operator(), 'simulator', 'again')).rejects.toThrow('no restore left payouts');
  providers.set('simulator', simulator);
});

test('after a restore the pause stays while a provider that accounts are bound to is not configured', async () => {
  const { runtime } = service;
  await service.database.admin(
    `INSERT INTO connection (id, webhook_token, query_bucket_at) VALUES ('live', 't', now())`,
  );
  const live = await createAccount(runtime, { name: 'Viva', test: false, connection: 'live' });
  await runtime.sql.tx((tx) => pauseAfterRestore(tx, runtime.clock.now()));
  await expect(compare()).rejects.toThrow('not configured: live');
  await expect(compare(live.ownerId)).rejects.toThrow('not configured: live');
  await service.database.admin(`UPDATE account SET card_connection = 'cards' WHERE id = '${live.ownerId}'`);
  await expect(compare()).rejects.toThrow('not configured: cards, live');
  await expect(compare(live.ownerId)).rejects.toThrow('not configured: cards, live');
  await service.database.admin(`UPDATE account SET card_connection = NULL WHERE id = '${live.ownerId}'`);
  expect((await merchant.transfer()).body.code).toBe('withdrawals_paused');
  // The operator gives its settings, and nothing ever happened there.
  const nothing = async () => ({
    outcome: 'listed' as const,
    reports: [],
    unread: [],
    complete: true as const,
  });
  const simulator = runtime.providers.get('simulator') as Provider;
  const lists = { listCharges: nothing, listPayouts: nothing, statement: nothing, ...emptyReports };
  (runtime.providers as Map<string, Provider>).set('live', { ...simulator, ...lists, connection: 'live' });
  await prepareLimits(runtime.sql, 'live', null);
  expect(await compare()).toMatchObject({ unexpected: 0, restoreEnded: true });
  // One that pays out and lists no payouts: what it paid in the time that was lost is a person's to find out.
  const { capabilities } = simulator;
  (runtime.providers as Map<string, Provider>).set('live', {
    ...simulator,
    ...lists,
    connection: 'live',
    capabilities: { ...capabilities, canListPayouts: false },
  });
  await runtime.sql.tx((tx) => pauseAfterRestore(tx, runtime.clock.now()));
  await expect(resumeWithdrawals(operator())).rejects.toThrow('run `vintem reconcile`');
  expect(await compare()).toMatchObject({ unexpected: 0, restoreEnded: true, unlisted: ['live'] });
  expect((await merchant.transfer()).body.code).toBe('withdrawals_paused');
  await resumeWithdrawals(operator());
  (runtime.providers as Map<string, Provider>).delete('live');
  const { status, body } = await merchant.transfer();
  expect(status).toBe(201);
  await until(async () => (await merchant.call('GET', `/payments/${body.id}`)).body.status === 'completed');
});

test('an earlier charge that was paid in the window is found by the statement', async () => {
  await service.simulator.behave({ webhook: 'drop' });
  const { body } = await merchant.charge({ amountCents: 300 });
  const since = Date.parse(body.createdAt) + 2_000;
  await until(async () => service.runtime.clock.now() > since + 1_000);
  await pay(body.id);
  const narrow = { accountId: null, sinceMs: since };
  expect(await reconcile(service.runtime, operator(), narrow)).toMatchObject({ compared: 1, missing: 1 });
  expect((await merchant.call('GET', `/payments/${body.id}`)).body.status).toBe('paid');
  await service.simulator.behave({});
  expect(await violations(service)).toEqual([]);
});

test('a payment that is settled here and not listed there is reported, and changes nothing', async () => {
  await service.database.admin(
    `UPDATE payment SET created_at = created_at - interval '1 hour' WHERE account_id = $1 AND kind = 'deposit'`,
    [merchant.ownerId],
  );
  const balance = await merchant.balanceCents();
  const before = await compare();
  expect(before.different).toBe(0);
  const [row] = await service.database.admin<{ id: string }>(
    `SELECT id FROM payment WHERE account_id = $1 AND status = 'paid' LIMIT 1`,
    [merchant.ownerId],
  );
  const id = row?.id ?? '';
  const other = `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`;
  await service.database.admin('UPDATE payment SET id = $2 WHERE id = $1', [id, other]);
  expect((await compare()).different).toBe(1);
  expect(await merchant.balanceCents()).toBe(balance);
});
