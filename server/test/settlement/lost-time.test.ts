import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { violations, violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDueSends } from '../../src/flow/due-sends.ts';
import { prepareLimits } from '../../src/flow/limit.ts';
import { stepStatement } from '../../src/jobs/statement.ts';
import { markLostTime } from '../../src/operate/after-restore.ts';
import { listIncidents, resolveIncident } from '../../src/operate/incidents/incident.ts';
import {
  askAtNewConnection,
  markCompared,
  pauseAfterRestore,
  resumeWithdrawals,
} from '../../src/operate/pause.ts';
import { reconcile } from '../../src/operate/reconcile.ts';
import type { ListWindow, Provider, UnreadItem } from '../../src/provider/provider.ts';
import type { Operator } from '../../src/store/operator.ts';

// Without a worker nothing is followed up: what a comparison finds, it finds itself.
let service: Service;

beforeAll(async () => {
  service = await openService({ worker: false });
});
afterAll(() => service.close());

const operator = (): Operator => ({
  ...service.runtime,
  everyCell: service.runtime.cells.all().map(({ sql }) => sql),
  actor: 'tester',
});

const compare = () => reconcile(service.runtime, operator(), { accountId: null, sinceMs: null });

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

/** A transfer that the provider carried out, or has under way, and that the copy is too old to know. */
async function lostTransfer(shop: Merchant, fields: object, status: 'completed' | 'pending') {
  const request = { requestKey: crypto.randomUUID(), ...fields };
  const { body } = await shop.transfer(request);
  await until(async () => (await service.simulator.payout(body.id))?.status === status);
  await forget(shop, body.id);
  return { request, id: body.id as string };
}

/** As if the copy were older than the payment: its journals are turned back as well. */
async function forget(shop: Merchant, id: string) {
  await service.database.admin('DELETE FROM intent WHERE payment_id = $1', [id]);
  await service.database.admin('DELETE FROM payment WHERE id = $1', [id]);
  const sums = await service.database.admin<{
    available: string;
    reserved: string;
    count: string;
    head: Buffer;
  }>(
    `SELECT coalesce(sum(available), 0)::text AS available, coalesce(sum(reserved), 0)::text AS reserved, count(*)::text AS count
      FROM journal WHERE account_id = $1 AND chain_id = $2 AND subject = $3`,
    [shop.ownerId, shop.operationId, id],
  );
  const [moved] = sums;
  await service.database.admin('ALTER TABLE journal DISABLE TRIGGER ALL');
  await service.database.admin('DELETE FROM journal WHERE account_id = $1 AND subject = $2', [
    shop.ownerId,
    id,
  ]);
  await service.database.admin('ALTER TABLE journal ENABLE TRIGGER ALL');
  await service.database.admin(
    `UPDATE balance SET available = available - $3::bigint, reserved = reserved - $4::bigint, seq = seq - $5::bigint,
      head = coalesce((SELECT hash FROM journal WHERE account_id = $1 AND chain_id = $2 ORDER BY seq DESC LIMIT 1), head)
      WHERE account_id = $1 AND operation_id = $2`,
    [shop.ownerId, shop.operationId, moved?.available, moved?.reserved, moved?.count],
  );
}

test('a payout that was completed in the lost time stops its account, and the repeat of its request takes its fate', async () => {
  const { runtime } = service;
  const shop = await service.newMerchant();
  await shop.receive(100_000);
  await service.simulator.behave({ webhook: 'drop' });
  const { request, id } = await lostTransfer(shop, { amountCents: 90_000 }, 'completed');
  expect(await shop.balanceCents()).toBe(100_000);
  await runtime.sql.tx((tx) => pauseAfterRestore(tx, runtime.clock.now()));
  expect(await compare()).toMatchObject({ unexpected: 1, waitsFor: [], restoreEnded: true });
  const stopped = (await listIncidents(runtime, shop.ownerId)).filter(({ kind }) => kind === 'lost_payout');
  expect(stopped).toMatchObject([{ state: 'open', amountCents: 89_975, detail: { paymentId: id } }]);
  // The same money does not leave again under another request key.
  expect((await shop.transfer({ amountCents: 90_000 })).body.code).toBe('withdrawals_blocked');
  // The repeat brings the payment back: it is queried, and never sent.
  const { status, body } = await shop.transfer(request);
  expect({ status, id: body.id }).toEqual({ status: 201, id });
  await compare();
  expect((await shop.call('GET', `/payments/${id}`)).body.status).toBe('completed');
  expect(await shop.balanceCents()).toBe(10_000);
  expect(await service.simulator.payout(id)).toMatchObject({ timesReceived: 1, timesAccepted: 1 });
  await service.simulator.behave({});
  expect((await shop.transfer({ amountCents: 1_000 })).status).toBe(201);
});

test('Lists of payouts that are read soon after the loss end no pause, however whole they look, since a payout may be missing in them yet', async () => {
  const { runtime } = service;
  const simulator = runtime.providers.get('simulator') as Provider;
  const live = { capabilities: { ...simulator.capabilities, movesMoney: true } };
  const shop = await service.newMerchant();
  await shop.receive(100_000);
  await service.simulator.behave({ webhook: 'drop' });
  const { request } = await lostTransfer(shop, { amountCents: 90_000 }, 'completed');
  await runtime.sql.tx((tx) => pauseAfterRestore(tx, runtime.clock.now()));
  const restoredAt = await restoredAtOf();
  // No known payment is old enough to be expected in the lists: the connection was quiet before the loss.
  const lagging = { listPayouts: nothingListed, statement: nothingListed };
  expect(await compareWith({ ...live, ...emptyReports, ...lagging })).toMatchObject({
    ...{ unexpected: 0, absent: 0, restoreEnded: false },
    ...{ waitsFor: ['early'], countsFrom: restoredAt + hourMs },
  });
  expect((await shop.transfer({ amountCents: 90_000 })).body.code).toBe('withdrawals_paused');
  await service.database.admin(
    `UPDATE installation SET restored_at = restored_at - interval '1 hour', withdrawals_paused_at = restored_at - interval '1 hour'`,
  );
  expect(await compareWith(live)).toMatchObject({ unexpected: 1, countsFrom: null, restoreEnded: true });
  expect((await shop.transfer({ amountCents: 90_000 })).body.code).toBe('withdrawals_blocked');
  expect((await shop.transfer(request)).status).toBe(201);
  await compare();
  await service.simulator.behave({});
});

test('A person who accepts lists that may lag has first payouts queried before they are sent', async () => {
  const { runtime } = service;
  const simulator = runtime.providers.get('simulator') as Provider;
  const live = { ...simulator, capabilities: { ...simulator.capabilities, movesMoney: true } };
  await runtime.sql.tx((tx) => pauseAfterRestore(tx, runtime.clock.now()));
  const providers = runtime.providers as Map<string, Provider>;
  providers.set('simulator', live);
  const reason = 'a planned move to another server: nothing was lost';
  const accepted = { doubts: ['early'] as const, reason };
  const ended = await reconcile(runtime, operator(), { accountId: null, sinceMs: null, accepted });
  providers.set('simulator', simulator);
  expect(ended).toMatchObject({ waitsFor: ['early'], restoreEnded: true });
  await markCompared(operator(), 'simulator', reason);
});

const restoredAtOf = async (): Promise<number> => {
  const [row] = await service.database.admin<{ at: string }>(
    'SELECT floor(extract(epoch FROM restored_at) * 1000)::text AS at FROM installation',
  );
  return Number(row?.at);
};

test('a payout of the lost time that is under way keeps the pause and stops its account until a person decides', async () => {
  const { runtime } = service;
  const shop = await service.newMerchant();
  await shop.receive(100_000);
  await service.simulator.behave({ settleAfterMs: 3_600_000 });
  const { id } = await lostTransfer(shop, { amountCents: 90_000 }, 'pending');
  await service.simulator.behave({});
  await runtime.sql.tx((tx) => pauseAfterRestore(tx, runtime.clock.now()));
  expect(await compare()).toMatchObject({ underWay: 1, waitsFor: ['under-way'], restoreEnded: false });
  await expect(resumeWithdrawals(operator())).rejects.toThrow('run `vintem reconcile`');
  const reason = 'its merchant has been called';
  const accepted = { doubts: ['under-way'] as const, reason };
  const ended = await reconcile(runtime, operator(), { accountId: null, sinceMs: null, accepted });
  expect(ended).toMatchObject({ waitsFor: ['under-way'], restoreEnded: true });
  expect((await shop.transfer()).body.code).toBe('withdrawals_blocked');
  const [incident] = (await listIncidents(runtime, shop.ownerId)).filter(
    ({ kind }) => kind === 'lost_payout',
  );
  expect(incident).toMatchObject({ detail: { paymentId: id, status: 'pending' } });
  await resolveIncident(operator(), incident?.id ?? '', { action: 'none', reason });
  expect((await shop.transfer()).status).toBe(201);
  await markCompared(operator(), 'simulator', reason);
});

test('lists in which known settled payments are missing end no pause, unless a person accepts that by name', async () => {
  const { runtime } = service;
  const shop = await service.newMerchant();
  await shop.receive(5_000);
  await service.database.admin(
    `UPDATE payment SET created_at = created_at - interval '20 minutes' WHERE account_id = $1`,
    [shop.ownerId],
  );
  await runtime.sql.tx((tx) => pauseAfterRestore(tx, runtime.clock.now()));
  const lagging = {
    ...emptyReports,
    ...{ listCharges: nothingListed, listPayouts: nothingListed, statement: nothingListed },
  };
  const since = runtime.clock.now() - 2 * hourMs;
  const compared = await compareWith(lagging, since);
  expect(compared).toMatchObject({ waitsFor: ['absent'], restoreEnded: false });
  expect(compared.absentIds.length).toBeGreaterThan(0);
  expect((await shop.transfer()).body.code).toBe('withdrawals_paused');
  // The lists have caught up.
  expect(await compare()).toMatchObject({ restoreEnded: true });
});

test('an item that cannot be read is set aside under its name, and the comparison goes to its end', async () => {
  const { runtime } = service;
  const simulator = runtime.providers.get('simulator') as Provider;
  const named = {
    ...{ kind: 'received' as const, name: 'E1', endToEnd: 'E1', providerId: null, body: { valor: '200,00' } },
  };
  const listing = (unread: readonly UnreadItem[]) => ({
    ...emptyReports,
    statement: async (window: ListWindow) => {
      const listed = await simulator.statement(window);
      return listed.outcome === 'listed' ? { ...listed, unread: [...unread] } : listed;
    },
  });
  await runtime.sql.tx((tx) => pauseAfterRestore(tx, runtime.clock.now()));
  // Without a name nothing can be looked up: a person decides.
  const nameless = { ...named, name: null, endToEnd: null };
  expect(await compareWith(listing([nameless]))).toMatchObject({ waitsFor: ['unread'], restoreEnded: false });
  expect(await compareWith(listing([named]))).toMatchObject({
    setAside: 1,
    waitsFor: [],
    restoreEnded: true,
  });
  const kept = await service.database.admin<{ reference: string }>(
    `SELECT reference FROM unread_item WHERE kind = 'received' ORDER BY reference`,
  );
  expect(kept.map(({ reference }) => reference)).toContain('E1');
});

test('a line of the statement with an id of ours that the books lack stops the account, without a comparison', async () => {
  const { runtime } = service;
  const shop = await service.newMerchant();
  await shop.receive(100_000);
  // The database went back, and nothing noticed it. News that came meanwhile would book what is being forgotten.
  await service.simulator.behave({ webhook: 'drop' });
  const { request, id } = await lostTransfer(shop, { amountCents: 90_000 }, 'completed');
  const charge = { amountCents: 700, requestKey: crypto.randomUUID() };
  const paid = await shop.paidCharge(charge);
  await forget(shop, paid);
  await service.database.admin(
    `WITH due AS (UPDATE job SET due_at = 'epoch' WHERE what = 'statement')
      UPDATE connection SET statement_read_to = now() - interval '1 hour', statement_pass_at = NULL`,
  );
  const simulator = runtime.providers.get('simulator') as Provider;
  await stepStatement(runtime, simulator);
  expect((await shop.transfer({ amountCents: 90_000 })).body.code).toBe('withdrawals_blocked');
  const kinds = (await listIncidents(runtime, null)).filter(({ detail }) =>
    JSON.stringify(detail).includes(id),
  );
  expect(kinds.map(({ kind }) => kind).sort()).toEqual(['lost_payout', 'unmatched']);
  const unmatched = (await listIncidents(runtime, null)).filter((one) => one.kind === 'unmatched');
  expect(unmatched.map(({ amountCents }) => amountCents)).toEqual(expect.arrayContaining([89_975, 700]));
  expect((await shop.transfer(request)).body.id).toBe(id);
  await service.simulator.behave({});
});

test('A delivery of the provider about a payout of ours that the books lack stops the account, without a comparison', async () => {
  const { runtime } = service;
  const shop = await service.newMerchant();
  await shop.receive(100_000);
  await service.simulator.behave({ settleAfterMs: hourMs });
  const { request, id } = await lostTransfer(shop, { amountCents: 90_000 }, 'pending');
  await service.simulator.control('POST', `/control/payouts/${id.replaceAll('-', '')}/complete`);
  await service.simulator.behave({});
  const ofShop = async () =>
    (await listIncidents(runtime, shop.ownerId)).filter(({ kind }) => kind === 'lost_payout');
  await expect.poll(async () => (await ofShop()).length, { timeout: 50_000 }).toBe(1);
  expect(await ofShop()).toMatchObject([{ detail: { paymentId: id, status: 'settled' } }]);
  expect((await shop.transfer({ amountCents: 90_000 })).body.code).toBe('withdrawals_blocked');
  expect((await shop.transfer(request)).body.id).toBe(id);
});

test('lost-time says of a live database what a restore says of its copy', async () => {
  const { runtime } = service;
  const shop = await service.newMerchant();
  await shop.receive(10_000);
  const since = runtime.clock.now() - 3 * hourMs;
  await expect(markLostTime(operator(), runtime.clock.now() + hourMs, null)).rejects.toThrow('future');
  const { keys } = await markLostTime(operator(), since, 'a standby was promoted');
  expect(keys.map(({ accountId }) => accountId)).toContain(shop.ownerId);
  expect((await shop.transfer()).body.code).toBe('withdrawals_paused');
  await expect(resumeWithdrawals(operator())).rejects.toThrow('run `vintem reconcile`');
  // A second loss during the first: the earlier time counts.
  await markLostTime(operator(), since + hourMs, null);
  const compared = await compare();
  expect(compared).toMatchObject({ restoreEnded: true });
  expect(compared.since).toBeLessThanOrEqual(since - hourMs);
  expect((await shop.transfer()).status).toBe(201);
  const [audit] = await service.database.admin<{ reason: string }>(
    `SELECT reason FROM audit WHERE action = 'withdrawals.lost_time' ORDER BY at LIMIT 1`,
  );
  expect(audit?.reason).toBe('a standby was promoted');
});

test('a connection that is made after the comparison is asked before a first payout, until a person has compared it', async () => {
  const { runtime } = service;
  const providers = runtime.providers as Map<string, Provider>;
  const simulator = providers.get('simulator') as Provider;
  await markLostTime(operator(), runtime.clock.now() - hourMs, null);
  const accepted = { doubts: ['under-way'] as const, reason: 'it was decided' };
  await reconcile(runtime, operator(), { accountId: null, sinceMs: null, accepted });
  await runtime.sql.tx((tx) => askAtNewConnection(tx, 'again', runtime.clock.now()));
  await service.database.admin(
    `INSERT INTO connection (id, webhook_token, query_bucket_at) VALUES ('again', 'v', now())`,
  );
  await prepareLimits(runtime.sql, 'again', null);
  const shop = await service.newMerchant();
  await shop.receive(10_000);
  const asked: string[] = [];
  providers.set('again', {
    ...simulator,
    connection: 'again',
    queryPayout: async (id) => {
      asked.push(id);
      return { outcome: 'notFound' };
    },
  });
  const { body } = await shop.transfer();
  // No caller sends it by itself.
  expect(
    await service.simulator.control('GET', `/control/state?idEnvio=${body.id.replaceAll('-', '')}`),
  ).toMatchObject({
    body: { payouts: [] },
  });
  const due = createDueSends(runtime, simulator);
  await until(async () => {
    await due.step();
    await due.idle();
    const { body: state } = await service.simulator.control(
      ...(['GET', `/control/state?idEnvio=${body.id.replaceAll('-', '')}`] as const),
    );
    return state.payouts.length === 1;
  });
  expect(asked).toEqual([body.id.replaceAll('-', '')]);
  providers.delete('again');
  await markCompared(operator(), 'again', 'nothing was there');
});

test('a charge of the lost time is looked for at the other connections before it is sent, and stays where it is', async () => {
  const { runtime } = service;
  const providers = runtime.providers as Map<string, Provider>;
  const simulator = providers.get('simulator') as Provider;
  const shop = await service.newMerchant();
  const request = { amountCents: 800, requestKey: crypto.randomUUID() };
  const { body: lost } = await shop.charge(request);
  await forget(shop, lost.id);
  // It was made while the account was bound to another connection, and the binding is lost as well.
  const queried: string[] = [];
  const sent: string[] = [];
  const notFound = async (id: string) => {
    queried.push(id);
    return { outcome: 'notFound' as const };
  };
  providers.set('before', { ...simulator, connection: 'before', identity: 'of before' });
  providers.set('simulator', {
    ...simulator,
    queryCharge: notFound,
    createCharge: async (instruction) => {
      sent.push(instruction.txid);
      return simulator.createCharge(instruction);
    },
  });
  await service.database.admin(
    `INSERT INTO connection (id, webhook_token, query_bucket_at) VALUES ('before', 'u', now())`,
  );
  await prepareLimits(runtime.sql, 'before', null);
  await runtime.sql.tx((tx) => pauseAfterRestore(tx, runtime.clock.now()));
  const { status } = await shop.charge(request);
  expect(status).toBe(201);
  const due = createDueSends(runtime, providers.get('simulator') as Provider);
  await until(async () => {
    await due.step();
    await due.idle();
    return (await intentOf(lost.id))?.state === 'awaiting';
  });
  // From now on it is asked for at that account, and at no other that comes behind the connection.
  expect(await intentOf(lost.id)).toEqual({
    ...{ connection: 'before', state: 'awaiting', identity: 'of before' },
  });
  expect(sent).toEqual([]);
  providers.delete('before');
  providers.set('simulator', simulator);
});

test('a charge that another connection has is followed up at the account that listed it, when its request is repeated', async () => {
  const { runtime } = service;
  const providers = runtime.providers as Map<string, Provider>;
  const simulator = providers.get('simulator') as Provider;
  const shop = await service.newMerchant();
  const request = { amountCents: 900, requestKey: crypto.randomUUID() };
  const { body: lost } = await shop.charge(request);
  await forget(shop, lost.id);
  // The account was moved in the lost time, and moves back with the copy.
  const empty = { listCharges: nothingListed, listPayouts: nothingListed, statement: nothingListed };
  const listCharges: Provider['listCharges'] = async (window) => {
    const listed = await simulator.listCharges(window);
    if (listed.outcome !== 'listed') return listed;
    return { ...listed, reports: listed.reports.filter(({ txid }) => txid === lost.id.replaceAll('-', '')) };
  };
  const there = { connection: 'there', identity: 'of there', listCharges };
  providers.set('there', { ...simulator, ...emptyReports, ...empty, ...there });
  await service.database.admin(
    `INSERT INTO connection (id, webhook_token, query_bucket_at) VALUES ('there', 'w', now())`,
  );
  await prepareLimits(runtime.sql, 'there', null);
  await runtime.sql.tx((tx) => pauseAfterRestore(tx, runtime.clock.now()));
  expect(await compareWith({ ...emptyReports, ...empty })).toMatchObject({ unexpected: 1 });
  expect((await shop.charge(request)).body.id).toBe(lost.id);
  expect(await intentOf(lost.id)).toEqual({ connection: 'there', state: 'awaiting', identity: 'of there' });
  providers.delete('there');
  expect(await compare()).toMatchObject({ restoreEnded: true });
  // The connections of these tests are one simulator, so their charges are listed at the wrong one as well.
  await service.database.admin(
    `DELETE FROM lost_payment WHERE connection = 'simulator' AND kind = 'deposit'`,
  );
});

test('A charge of the lost time that is repeated in the moment in which its connection is made again waits until this process has taken that up, and stays where it is', async () => {
  const { runtime } = service;
  const providers = runtime.providers as Map<string, Provider>;
  const simulator = providers.get('simulator') as Provider;
  const shop = await service.newMerchant();
  const request = { amountCents: 850, requestKey: crypto.randomUUID() };
  const { body: lost } = await shop.charge(request);
  await forget(shop, lost.id);
  await service.database.admin(
    `INSERT INTO connection (id, webhook_token, query_bucket_at, adapter, url, credentials)
      VALUES ('just-made', 'j', now(), 'efi', 'https://banco.example', 'sealed')`,
  );
  await runtime.sql.tx((tx) => pauseAfterRestore(tx, runtime.clock.now()));
  const sent: string[] = [];
  const here: Provider = {
    ...simulator,
    queryCharge: async () => ({ outcome: 'notFound' }),
    createCharge: async (instruction) => {
      sent.push(instruction.txid);
      return simulator.createCharge(instruction);
    },
  };
  providers.set('simulator', here);
  expect((await shop.charge(request)).status).toBe(201);
  const due = createDueSends(runtime, here);
  await due.step();
  await due.idle();
  expect(await intentOf(lost.id)).toMatchObject({ connection: 'simulator', state: 'ready' });
  await prepareLimits(runtime.sql, 'just-made', null);
  providers.set('just-made', { ...simulator, connection: 'just-made', identity: 'of just-made' });
  await service.database.admin(`UPDATE intent SET due_at = now() WHERE payment_id = $1`, [lost.id]);
  await until(async () => {
    await due.step();
    await due.idle();
    return (await intentOf(lost.id))?.state === 'awaiting';
  });
  expect(await intentOf(lost.id)).toMatchObject({ connection: 'just-made', identity: 'of just-made' });
  expect(sent).toEqual([]);
  providers.delete('just-made');
  providers.set('simulator', simulator);
  await service.database.admin(
    `UPDATE connection SET adapter = NULL, credentials = NULL WHERE id = 'just-made'`,
  );
});

test('Money of a charge that was repeated on another connection is credited to the account that its id names', async () => {
  const { runtime } = service;
  const shop = await service.newMerchant();
  await service.simulator.behave({ webhook: 'drop' });
  const { body: charge } = await shop.charge({ amountCents: 20_000 });
  // Its own connection was made again only after the merchant had repeated it.
  for (const table of ['payment', 'intent'])
    await service.database.admin(
      `UPDATE ${table} SET connection = 'elsewhere' WHERE ${table === 'payment' ? 'id' : 'payment_id'} = $1`,
      [charge.id],
    );
  await service.simulator.control('POST', `/control/charges/${charge.id.replaceAll('-', '')}/pay`);
  await runtime.sql.tx((tx) => pauseAfterRestore(tx, runtime.clock.now()));
  const numbers = async () => (await violationsOfBooks(service)).map(({ number }) => number);
  const before = await numbers();
  await compare();
  // The connections of these tests are one simulator, so their charges are listed at the wrong one as well.
  await service.database.admin(`DELETE FROM lost_payment WHERE kind = 'deposit' AND payment_id <> $1`, [
    charge.id,
  ]);
  expect(await numbers()).toContain(65);
  const isIts = ({ kind, state, detail }: { kind: string; state: string; detail: { named?: unknown } }) =>
    kind === 'unmatched' && state === 'open' && detail.named === charge.id;
  const [found] = (await listIncidents(runtime, null)).filter(isIts);
  expect(found?.amountCents).toBe(20_000);
  await resolveIncident(operator(), found?.id ?? '', { action: 'credit', reason: 'it names the charge' });
  expect(await shop.balanceCents()).toBe(20_000);
  expect((await shop.call('GET', `/payments/${charge.id}`)).body.status).toBe('pending');
  expect(await numbers()).toEqual(before);
  await service.simulator.behave({});
});

test('what was not sent yet may have been sent in a lost time: to the account that was behind its connection', async () => {
  const shop = await service.newMerchant();
  const { body } = await shop.charge();
  await service.database.admin(`UPDATE connection SET identity = 'as it was' WHERE id = 'simulator'`);
  await service.database.admin(
    `UPDATE intent SET state = 'ready', attempt = 0, lease_until = NULL, identity = NULL WHERE payment_id = $1`,
    [body.id],
  );
  await markLostTime(operator(), service.runtime.clock.now(), null);
  expect(await intentOf(body.id)).toMatchObject({ state: 'sending', identity: 'as it was' });
  expect((await violations(service)).map(({ number }) => number)).not.toContain(66);
});

const intentOf = async (id: string) =>
  (
    await service.database.admin<{ connection: string; state: string; identity: string | null }>(
      'SELECT connection, state, identity FROM intent WHERE payment_id = $1',
      [id],
    )
  )[0];

test('verify names a payment whose money another connection moved as well, and none of which that one only has a code or a refusal', async () => {
  const shop = await service.newMerchant();
  const id = await shop.paidCharge();
  const elsewhere = async (kind: string, status: string): Promise<boolean> => {
    await service.database.admin(
      `INSERT INTO lost_payment (account_id, payment_id, connection, kind, status, found_at)
        VALUES ($1, $2, 'elsewhere', $3, $4, now())`,
      [shop.ownerId, id, kind, status],
    );
    const isNamed = (await violations(service)).some(({ number }) => number === 65);
    await service.database.admin('DELETE FROM lost_payment WHERE payment_id = $1', [id]);
    return isNamed;
  };
  expect([await elsewhere('deposit', 'settled'), await elsewhere('deposit', 'open')]).toEqual([true, false]);
  const payouts = ['settled', 'pending', 'open', 'refused'];
  const named: boolean[] = [];
  for (const status of payouts) named.push(await elsewhere('transfer', status));
  expect(named).toEqual([true, true, true, false]);
  expect((await violations(service)).map(({ number }) => number)).not.toContain(65);
});
