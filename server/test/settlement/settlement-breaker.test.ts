import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import {
  incidentsOf,
  intentOf,
  later,
  leave,
  providerIdOf,
  reservedCents,
  statusOf,
} from '@vintem/testkit/settlement.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createFollowUp } from '../../src/flow/follow-up.ts';
import { createEfiProvider, simulatorLimits } from '../../src/provider/efi/efi.ts';
import type { Provider } from '../../src/provider/provider.ts';

/** The breaker, seen by those who call: nothing is committed while it is open, and one call in thirty seconds tries. */

let service: Service;
let merchants: Merchant[];
beforeAll(async () => {
  service = await openService({ worker: false });
  merchants = await Promise.all(Array.from({ length: 12 }, () => service.newMerchant()));
  await Promise.all(merchants.map((merchant) => merchant.receive(5000)));
});
afterAll(() => service?.close());
beforeEach(async () => {
  await service.simulator.behave({});
  await service.database.admin('DELETE FROM intent');
  await service.database.admin('DELETE FROM breaker');
});

const row = async (call: string) =>
  (
    await service.database.admin<{ open: boolean; probe_at: Date }>(
      'SELECT open, probe_at FROM breaker WHERE call = $1',
      [call],
    )
  )[0];
/** How many payouts the provider has and does not answer. */
async function underWay(): Promise<number> {
  const sending = await service.database.admin<{ id: string }>(
    `SELECT payment_id AS id FROM intent WHERE state = 'sending'`,
  );
  const seen = await Promise.all(sending.map(({ id }) => service.simulator.payout(id)));
  return seen.filter((payout) => payout?.timesReceived === 1).length;
}

const probeNow = () => service.database.admin(`UPDATE breaker SET probe_at = now() - interval '1 s'`);
const payments = async (): Promise<number> =>
  (await service.database.admin<{ n: number }>('SELECT count(*)::int AS n FROM payment'))[0]?.n ?? -1;

test('opens after ten broken connections, answers 503 and commits nothing, lets one try, and closes when it succeeds', async () => {
  await service.simulator.behave({ payout: 'lose-request' });
  await Promise.all(merchants.slice(0, 10).map((merchant) => merchant.transfer()));
  await until(async () => (await row('payout'))?.open === true);
  const [before, merchant] = [await payments(), merchants[0] as Merchant];
  const requestKey = crypto.randomUUID();
  const refused = await merchant.transfer({ requestKey });
  expect(refused.status).toBe(503);
  expect(refused.body).toMatchObject({ statusCode: 503, code: 'provider_unavailable' });
  const wait = Number(refused.headers.get('retry-after'));
  expect(wait).toBeGreaterThan(0);
  expect(wait).toBeLessThanOrEqual(30);
  expect(await payments()).toBe(before);
  expect(await reservedCents(merchant)).toBe(1000);
  // Charges are another kind of call, and what was accepted before is answered as ever.
  expect((await merchant.charge()).status).toBe(201);

  // Its turn: one tries and fails, and the others wait again.
  await probeNow();
  const three = await Promise.all([1, 2, 3].map(() => merchants[11]?.transfer()));
  expect(three.map((answer) => answer?.status).sort()).toEqual([201, 503, 503]);
  await service.simulator.behave({});
  await probeNow();
  const tried = await merchant.transfer({ requestKey });
  expect(tried.status).toBe(201);
  expect(tried.headers.get('idempotent-replayed')).toBeNull();
  await until(async () => (await row('payout'))?.open === false);
  expect((await merchant.transfer()).status).toBe(201);
});

test('gives its turn back when the one that took it is refused for another reason', async () => {
  const poor = await service.newMerchant();
  const [merchant] = merchants as [Merchant];
  await merchant.receive(2000);
  await service.database.admin(
    `INSERT INTO breaker (connection, call, open, probe_at, changed_at) VALUES ('simulator', 'payout', true, now() - interval '1 s', now())`,
  );
  const refused = await poor.transfer();
  expect(refused.body).toMatchObject({ statusCode: 400, code: 'insufficient_balance' });
  expect((await row('payout'))?.open).toBe(true);
  // A key that cannot exist is recorded as refused and never sent: it says nothing of the provider.
  const impossible = await merchant.transfer({ pixKey: '12345678901', pixKeyType: 'CPF' });
  expect(impossible.body.code).toBe('pix_key_not_found');
  expect((await merchant.transfer()).status).toBe(201);
  await until(async () => (await row('payout'))?.open === false);
});

test('stays closed for the others when one merchant’s payload breaks the provider, and opens when it is everybody’s', async () => {
  const [alone, ...others] = merchants as [Merchant, ...Merchant[]];
  await alone.receive(40_000);
  // Three are seen in the window: then it takes three to say that the provider is down. (One alone speaks for itself.)
  for (const merchant of others.slice(2, 4)) expect((await merchant.transfer()).status).toBe(201);
  await Promise.all(
    Array.from({ length: 24 }, () => alone.transfer({ pixKey: 'error-500@simulator.example' })),
  );
  for (const merchant of others.slice(0, 2)) {
    await merchant.receive(2000);
    expect((await merchant.transfer()).status).toBe(201);
  }
  expect((await row('payout'))?.open ?? false).toBe(false);
  await service.simulator.behave({ payout: 'error-500' });
  await Promise.all(others.map((merchant) => merchant.transfer()));
  await Promise.all(others.map((merchant) => merchant.transfer()));
  await until(async () => (await row('payout'))?.open === true);
});

test('is neither opened nor probed by repeats of what never goes through while others pay', async () => {
  const provider = service.runtime.providers.get('simulator') as Provider;
  const merchant = merchants[5] as Merchant;
  await merchant.receive(16_000);
  const hopeless = await Promise.all(
    Array.from({ length: 12 }, () => leave(service, merchant, 'lose-request')),
  );
  // Each was sent once and not found twice: its repeat is due.
  await service.database.admin(
    `UPDATE intent SET state = 'awaiting', attempt = 1, absences = 2, attempt_ended_at = now(), absent_at = now(),
       absent_since = now(), due_at = now() - interval '1 s' WHERE payment_id = ANY ($1)`,
    [hopeless],
  );
  const repeats = async (aheadMs: number) => {
    const followUp = createFollowUp(later(service.runtime, aheadMs), provider);
    await followUp.stepSends();
    await followUp.idle();
  };
  await repeats(0);
  expect((await row('payout'))?.open ?? false).toBe(false);
  expect((await service.simulator.payout(hopeless[0] as string))?.timesReceived).toBe(1);

  await service.database.admin(
    `INSERT INTO breaker (connection, call, open, probe_at, changed_at) VALUES ('simulator', 'payout', true, now() - interval '1 s', now())
     ON CONFLICT (connection, call) DO UPDATE SET open = true, probe_at = excluded.probe_at`,
  );
  await service.database.admin(
    `UPDATE intent SET state = 'awaiting', absences = 2, due_at = now() - interval '1 s' WHERE payment_id = ANY ($1)`,
    [hopeless],
  );
  // They go out all the same (the provider has just answered queries about them) and leave the turn to who is new.
  await repeats(0);
  expect((await row('payout'))?.open).toBe(true);
  expect((await merchant.transfer()).status).toBe(201);
  await until(async () => (await row('payout'))?.open === false);
  // One that gets through says as much as a new one.
  const good = await leave(service, merchant, 'complete');
  await service.database.admin(
    `UPDATE intent SET state = 'awaiting', attempt = 1, absences = 2, attempt_ended_at = now(), absent_at = now(),
       absent_since = now(), due_at = now() - interval '1 s' WHERE payment_id = $1`,
    [good],
  );
  await service.database.admin(`UPDATE breaker SET open = true, probe_at = now() + interval '30 s'`);
  await repeats(0);
  await until(async () => (await row('payout'))?.open === false);
  expect(await Promise.all(hopeless.map((id) => statusOf(service, id)))).toEqual(
    hopeless.map(() => 'unknown'),
  );
  expect(await incidentsOf(service, hopeless[0] as string)).toEqual([]);
});

test('is not opened by the few of a crowd that hang: they end together, after all others were answered', async () => {
  await Promise.all(merchants.map((merchant) => merchant.receive(4000)));
  await service.simulator.behave({ webhook: 'drop' });
  const crowd = merchants.flatMap((merchant) => [
    merchant.transfer({ pixKey: 'hang@simulator.example', pixKeyType: 'EMAIL' }),
    merchant.transfer(),
  ]);
  const statuses = (await Promise.all(crowd)).map(({ body }) => body.status);
  expect(statuses.filter((status) => status === 'unknown')).toHaveLength(merchants.length);
  expect((await row('payout'))?.open ?? false).toBe(false);
});

test('is not opened by calls that ran out of time while the process stood still', async () => {
  await Promise.all(merchants.map((merchant) => merchant.receive(2000)));
  await service.simulator.behave({ payout: 'hang', webhook: 'drop' });
  const answers = merchants.map((merchant) => merchant.transfer());
  await until(async () => (await underWay()) === merchants.length);
  // As after SIGSTOP and SIGCONT: nothing of this process ran, and then all its timers end at once.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, simulatorLimits.sendTimeoutMs + 1_000);
  const settled = await Promise.all(answers);
  expect(settled.map(({ body }) => body.status)).toEqual(merchants.map(() => 'unknown'));
  expect((await row('payout'))?.open ?? false).toBe(false);

  // The same calls of a process that runs say that the provider is down.
  await Promise.all(merchants.map((merchant) => merchant.transfer()));
  await until(async () => (await row('payout'))?.open === true);
});

test('a refused connection is not sent: the charge waits unchanged, and is sent when the provider is back', async () => {
  // A port that a server had and has no more.
  const closed = createServer();
  await new Promise<void>((done) => closed.listen(0, '127.0.0.1', done));
  const { port } = closed.address() as AddressInfo;
  await new Promise((done) => closed.close(done));
  const [merchant] = merchants as [Merchant];
  const { runtime } = service;
  const away = createEfiProvider({
    connection: 'simulator',
    test: true,
    baseUrl: `http://127.0.0.1:${port}`,
    clientId: 'vintem',
    clientSecret: 'x',
    pixKey: 'vintem@simulator.example',
    webhook: { trust: 'path' },
    limits: simulatorLimits,
    net: runtime.net,
    clock: runtime.clock,
    log: runtime.log,
  });
  const there = runtime.providers.get('simulator') as Provider;
  const providers = runtime.providers as Map<string, Provider>;
  providers.set('simulator', away);
  const { status, body } = await merchant.charge();
  expect(status).toBe(201);
  expect(body.status).toBe('unknown');
  expect(await intentOf(service, body.id)).toMatchObject({ state: 'ready', attempt: 0, failures: 1 });
  providers.set('simulator', there);
  const followUp = createFollowUp(later(runtime, 10_000), there);
  await followUp.stepSends();
  await followUp.idle();
  expect(await statusOf(service, body.id)).toBe('pending');
});

test('is not opened by refunds whose Pix the provider does not list yet: it answers, and nothing was sent', async () => {
  const there = await openService({ worker: false, dialect: 'asaas' });
  try {
    const merchant = await there.newMerchant();
    const provider = there.runtime.providers.get('simulator') as Provider;
    const { body } = await merchant.charge({ amountCents: 20_000 });
    await there.simulator.control('POST', `/control/charges/${providerIdOf(body.id)}/pay`);
    await until(async () => {
      const followUp = createFollowUp(later(there.cellOf(merchant), 6_000), provider);
      while (await followUp.stepQueries());
      await followUp.idle();
      return (await statusOf(there, body.id)) === 'paid';
    });
    await there.simulator.behave({ query: 'not-found' });
    for (let one = 0; one < 12; one++) {
      const asked = { requestKey: crypto.randomUUID(), amountCents: 100 };
      const { status, body: answer } = await merchant.call('POST', `/payments/${body.id}/refunds`, asked);
      expect([status, answer.code]).toEqual([201, undefined]);
    }
    expect(await there.database.admin('SELECT call FROM breaker WHERE open')).toEqual([]);
  } finally {
    await there.close();
  }
});
