import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, test } from 'vitest';
import { applyOutcome } from '../src/settlement/apply-outcome.ts';
import { createInbound } from '../src/settlement/inbound.ts';
import { createFollowUp } from '../src/settlement/follow-up.ts';
import { createEfiProvider } from '../src/provider/efi.ts';
import { createAccount } from '../src/accounts/directory.ts';
import { createBreakers } from '../src/settlement/breaker.ts';
import { createTill, put, read } from '../src/ledger/till.ts';
import { paymentKey, payments } from '../src/payments/payments.sql.ts';
import { openService, type Service, until } from './support/service.ts';
import { systemClock } from '../src/ports/clock.ts';

let service: Service;
beforeAll(async () => { service = await openService({ worker: false }); });
afterAll(() => service?.close());
const out = (name: string, x: unknown) => console.log(`### ${name}: ${JSON.stringify(x)}`);
const hex = (id: string) => id.replaceAll('-', '');
const journals = (id: string) => service.database.admin(`SELECT template, event, reference, available, reserved, clearing, suspense FROM vintem.journal WHERE subject=$1 ORDER BY posted_at, seq`, [id]);
const far = () => systemClock.monotonicMs() + 15_000;

async function deliver(body: object, connection = 'simulator') {
  const raw = Buffer.from(JSON.stringify(body));
  const secret = service.house.secrets.derive('simulator client').toString('hex');
  const t = Math.floor(Date.now() / 1000);
  const sig = createHmac('sha256', secret).update(`${t}.`).update(raw).digest('hex');
  const [row] = await service.database.admin<{ webhook_token: string }>('SELECT webhook_token FROM vintem.connection WHERE id=$1', [connection]);
  const inbound = createInbound(service.house);
  const r = await inbound.receive({ connection, token: row!.webhook_token, headers: { 'x-simulator-signature': `t=${t},v1=${sig}` }, rawBody: raw });
  await inbound.idle();
  return r.status;
}
const payout = (id: string, cents: number, more: object = {}) => ({ endToEndId: 'E' + hex(id).slice(0, 31), chave: 'maria@loja.example', valor: (cents / 100).toFixed(2), horario: new Date().toISOString(), tipo: 'SOLICITACAO', status: 'REALIZADO', gnExtras: { idEnvio: hex(id) }, ...more });

test('A duplicate payout item with a return in one delivery', async () => {
  const m = await service.newMerchant();
  await m.receive(5000);
  const t = await m.transfer({ pixKey: 'stay-pending@simulator.example' });
  const item = payout(t.body.id, 975, { chave: 'stay-pending@simulator.example', devolucoes: [{ id: 'DEV1', rtrId: 'D1', valor: '9.75', horario: { solicitacao: new Date().toISOString() }, status: 'DEVOLVIDO' }] });
  out('A status', await deliver({ pix: [item, item] }));
  out('A journals', await journals(t.body.id));
  out('A incidents', await service.database.admin('SELECT kind, amount_cents FROM vintem.incident WHERE payment_id=$1', [t.body.id]));
});

test('B poison delivery: received pix with a transfer id, duplicate wrong amount, zero amount', async () => {
  const m = await service.newMerchant();
  await m.receive(5000);
  const t = await m.transfer({ pixKey: 'stay-pending@simulator.example' });
  const c = await m.charge();
  const c2 = await m.charge({ amountCents: 1500 });
  const pix = (id: string, valor: string, e: string) => ({ endToEndId: e, txid: hex(id), valor, chave: 'vintem@simulator.example', horario: new Date().toISOString() });
  await deliver({ pix: [pix(t.body.id, '10.00', 'EB1')] });
  await deliver({ pix: [pix(c.body.id, '7.00', 'EB2'), pix(c.body.id, '7.00', 'EB2')] });
  await deliver({ pix: [pix(c.body.id, '0.00', 'EB3')] });
  out('B unapplied', await service.database.admin(`SELECT count(*)::int n FROM vintem.inbound WHERE applied_at IS NULL AND authentic`));
  out('B money EB1/EB2', await service.database.admin(`SELECT count(*)::int n FROM vintem.journal WHERE reference IN ('EB1','EB2')`));
  // a good delivery left by a dead process
  const inbound = createInbound(service.house);
  const raw = Buffer.from(JSON.stringify({ pix: [pix(c2.body.id, '15.00', 'EB4')] }));
  const id = service.house.ids.uuid();
  await service.database.admin(`UPDATE vintem.inbound SET received_at = received_at - interval '1 minute' WHERE applied_at IS NULL`);
  await service.database.admin(`INSERT INTO vintem.inbound VALUES ($1,'simulator', now() - interval '30 seconds', $2, true, NULL)`, [id, service.house.secrets.seal(raw, id)]);
  for (let i = 0; i < 3; i++) { const r = await inbound.stepLeft().catch((e: Error) => `threw ${e.name} ${e.message}`); out('B stepLeft', r); }
  out('B c2 status', (await m.call('GET', `/payments/${c2.body.id}`)).body.status);
  await service.database.admin(`UPDATE vintem.inbound SET applied_at = now() WHERE applied_at IS NULL`);
});

test('C hot loop: a left delivery of a connection that is not configured', async () => {
  await service.database.admin(`INSERT INTO vintem.connection VALUES ('gone','t',now())`);
  await service.database.admin(`INSERT INTO vintem.inbound VALUES ($1,'gone', now() - interval '30 seconds', '\\x00', true, NULL)`, [service.house.ids.uuid()]);
  const inbound = createInbound(service.house);
  out('C stepLeft says more', [await inbound.stepLeft(), await inbound.stepLeft(), await inbound.stepLeft()]);
  await service.database.admin(`UPDATE vintem.inbound SET applied_at = now() WHERE applied_at IS NULL`);
});

test('D answer completed after cancelled by webhook', async () => {
  const m = await service.newMerchant();
  await m.receive(5000);
  const t = await m.transfer({ pixKey: 'stay-pending@simulator.example' });
  await deliver({ pix: [payout(t.body.id, 975, { chave: 'stay-pending@simulator.example', status: 'NAO_REALIZADO' })] });
  const before = await service.database.admin('SELECT status FROM vintem.payment WHERE id=$1', [t.body.id]);
  await applyOutcome(service.house, { accountId: m.ownerId, paymentId: t.body.id, operationId: m.operationId, connection: 'simulator', observation: { from: 'send', fence: service.house.ids.uuid(), outcome: { outcome: 'accepted', report: { providerId: hex(t.body.id), amountCents: 975, pixKey: null, status: 'completed', endToEnd: 'E', settledAt: Date.now(), reason: null, returns: [] } } } }, far());
  out('D', { before, incidents: await service.database.admin('SELECT kind FROM vintem.incident WHERE payment_id=$1', [t.body.id]), frozen: await service.database.admin('SELECT frozen FROM vintem.balance WHERE operation_id=$1', [m.operationId]) });
});

test('E path trust: return, late payment', async () => {
  const { house } = service;
  const sim = house.providers.get('simulator')!;
  const secret = house.secrets.derive('simulator client').toString('hex');
  const m = await service.newMerchant();
  await m.receive(5000);
  const t = await m.transfer({ pixKey: 'stay-pending@simulator.example' });
  const hx = hex(t.body.id);
  await service.simulator.control('POST', `/control/payouts/${hx}/complete`);
  await until(async () => (await m.call('GET', `/payments/${t.body.id}`)).body.status === 'completed');
  const pathy = createEfiProvider({ connection: 'simulator', baseUrl: service.simulator.url, clientId: 'vintem', clientSecret: secret, pixKey: 'vintem@simulator.example', webhook: { trust: 'path' }, net: house.net, clock: house.clock, log: house.log });
  (house.providers as Map<string, typeof sim>).set('simulator', pathy);
  const bal = await m.balanceCents();
  await service.simulator.control('POST', `/control/payouts/${hx}/return`);
  await new Promise((r) => setTimeout(r, 1500));
  const follow = createFollowUp(house);
  for (let i = 0; i < 5; i++) { await follow.stepSends(); await follow.stepQueries(); }
  out('E', { sim: await service.simulator.payout(t.body.id), before: bal, after: await m.balanceCents(), unapplied: await service.database.admin(`SELECT count(*)::int n FROM vintem.inbound WHERE applied_at IS NULL`) });
  (house.providers as Map<string, typeof sim>).set('simulator', sim);
});

test('F breaker stays open in a worker process', async () => {
  const { house } = service;
  const m = await service.newMerchant();
  await m.receive(5000);
  await service.database.admin(`INSERT INTO vintem.breaker VALUES ('simulator','payout',true, now() - interval '1 second', now())`);
  // the worker process: its own breakers (fresh after its start), its own till
  const worker = { ...house, breakers: createBreakers(house), till: createTill(house) };
  const api = { ...house, settings: { ...house.settings, transferWaitMs: 0 }, breakers: createBreakers(house) };
  const { createTransfer } = await import('../src/transfers/create.ts');
  const keyId = (await service.database.admin<{ id: string }>('SELECT id FROM vintem.api_key WHERE account_id=$1', [m.ownerId]))[0]!.id;
  const number = Number((await service.database.admin<{ number: string }>('SELECT number FROM vintem.account WHERE id=$1', [m.ownerId]))[0]!.number);
  const caller = { accountId: m.ownerId, accountNumber: number, operationId: m.operationId, keyId, test: true, requestId: 'r', permissions: new Set(), operationNamed: true } as never;
  await createTransfer(api, caller, { amountCents: 1000, pixKey: 'complete@simulator.example', pixKeyType: 'EMAIL', description: '', requestKey: crypto.randomUUID() });
  const follow = createFollowUp(worker);
  // the probe that the api took for accepting it delays the worker's; make it due
  await service.database.admin(`UPDATE vintem.breaker SET probe_at = now() - interval '1 second'`);
  await service.database.admin(`UPDATE vintem.intent SET due_at = now() WHERE account_id=$1`, [m.ownerId]);
  await follow.stepSends();
  await new Promise((r) => setTimeout(r, 300));
  out('F', { payments: await service.database.admin('SELECT status FROM vintem.payment WHERE account_id=$1 AND kind=$2', [m.ownerId, 'transfer']), breaker: await service.database.admin('SELECT call, open FROM vintem.breaker') });
  await service.database.admin('DELETE FROM vintem.breaker');
});

test('G restored and ready: refusal of the first send releases', async () => {
  const { house } = service;
  const m = await service.newMerchant();
  await m.receive(5000);
  await service.database.admin(`UPDATE vintem.installation SET restored_at = now()`);
  const api = { ...house, settings: { ...house.settings, transferWaitMs: 0 } };
  const { createTransfer } = await import('../src/transfers/create.ts');
  const keyId = (await service.database.admin<{ id: string }>('SELECT id FROM vintem.api_key WHERE account_id=$1', [m.ownerId]))[0]!.id;
  const number = Number((await service.database.admin<{ number: string }>('SELECT number FROM vintem.account WHERE id=$1', [m.ownerId]))[0]!.number);
  const caller = { accountId: m.ownerId, accountNumber: number, operationId: m.operationId, keyId, test: true, requestId: 'r', permissions: new Set(), operationNamed: true } as never;
  await createTransfer(api, caller, { amountCents: 1000, pixKey: 'refuse-in-answer@simulator.example', pixKeyType: 'EMAIL', description: '', requestKey: crypto.randomUUID() });
  await createFollowUp(house).stepSends();
  out('G', await service.database.admin('SELECT status FROM vintem.payment WHERE account_id=$1 AND kind=$2', [m.ownerId, 'transfer']));
  await service.database.admin(`UPDATE vintem.installation SET restored_at = NULL`);
});

test('H a simulator delivery moves a live payment', async () => {
  const { house } = service;
  const sim = house.providers.get('simulator')!;
  const secret = house.secrets.derive('simulator client').toString('hex');
  const live = createEfiProvider({ connection: 'live', baseUrl: service.simulator.url, clientId: 'vintem', clientSecret: secret, pixKey: 'vintem@simulator.example', webhook: { trust: 'path' }, net: house.net, clock: house.clock, log: house.log });
  (house.providers as Map<string, typeof sim>).set('live', live);
  await service.database.admin(`INSERT INTO vintem.connection VALUES ('live','t',now()) ON CONFLICT DO NOTHING`);
  const a = await createAccount(house, { name: 'Viva', test: false, connection: 'live' });
  const key = await service.newKey(a.ownerId);
  const c = await service.as(key)('POST', '/pix/charges', { amountCents: 1000, payerName: 'Maria', description: '', requestKey: crypto.randomUUID() });
  await deliver({ pix: [{ endToEndId: 'ELIVE', txid: hex(c.body.id), valor: '10.00', chave: 'vintem@simulator.example', horario: new Date().toISOString() }] });
  out('H', { created: c.status, status: (await service.as(key)('GET', `/payments/${c.body.id}`)).body.status, balance: (await service.as(key)('GET', '/account')).body.balanceCents });
  (house.providers as Map<string, typeof sim>).delete('live');
});

test('I a locked operation freezes the others', async () => {
  const [m1, m2] = [await service.newMerchant(), await service.newMerchant()];
  await m1.receive(3000); await m2.receive(3000);
  await service.database.admin('BEGIN');
  await service.database.admin('SELECT 1 FROM vintem.balance WHERE operation_id=$1 FOR UPDATE', [m1.operationId]);
  const t0 = performance.now();
  const first = m1.charge();
  await new Promise((r) => setTimeout(r, 100));
  const second = m2.charge().then((a) => ({ status: a.status, ms: Math.round(performance.now() - t0), body: a.body.code }));
  const r2 = await second;
  await service.database.admin('ROLLBACK');
  out('I', { other: r2, locked: (await first).status });
}, 40_000);
