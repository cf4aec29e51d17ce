import { manualClock } from '@vintem/testkit/manual-clock.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { fillQueryLimit, statusOf } from '@vintem/testkit/settlement.ts';
import { violations } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { keyIdOf } from '../../src/api/keys/key.ts';
import { narrowKey } from '../../src/api/keys/keys.ts';
import { refreshIfOverdue } from '../../src/flow/refresh.ts';
import { findPayment } from '../../src/kinds/payment/lookup.sql.ts';
import type { Payment } from '../../src/money/payment.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';
import type { Provider } from '../../src/provider/provider.ts';

/** Rules of the interface that need the whole service: who may have what said, and what is never done. */

const ids = systemIds(systemClock);
let service: Service;

beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

const newOperation = async (merchant: Merchant, name = 'Filial'): Promise<string> =>
  (await merchant.call('POST', '/operations', { name, requestKey: ids.uuid() })).body.id;
const hex = (id: string) => id.replaceAll('-', '');
const admin = (text: string, values: unknown[] = []) => service.database.admin(text, values);

describe('a business operation', () => {
  test('is created, renamed and deleted without a word to the provider and without moving money [1.3a]', async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(5000);
    const seen = async () => {
      const { charges, payouts, queries } = (await service.simulator.control('GET', '/control/state')).body;
      return [charges.length, payouts.length, queries];
    };
    const [before, journals] = [await seen(), await admin('SELECT count(*) FROM journal')];
    const id = await newOperation(merchant);
    await merchant.call('PATCH', `/operations/${id}`, { name: 'Outra' });
    await merchant.call('DELETE', `/operations/${id}`, {});
    expect(await seen()).toEqual(before);
    expect(await admin('SELECT count(*) FROM journal')).toEqual(journals);
    expect(await merchant.balanceCents()).toBe(5000);
  });

  test('shares the keys of its account, and its payments go over the one connection of the account [1.2c, 1.3b, 5.8]', async () => {
    const merchant = await service.newMerchant();
    const other = await newOperation(merchant);
    const answers = [await merchant.charge(), await merchant.charge({}, other)];
    for (const [at, { status, body }] of answers.entries()) {
      expect([status, body.operationId]).toEqual([201, [merchant.operationId, other][at]]);
      expect(
        (await service.simulator.control('GET', `/control/state?txid=${hex(body.id)}`)).body.charges,
      ).toHaveLength(1);
    }
    const connections = await admin('SELECT DISTINCT connection FROM intent WHERE account_id = $1', [
      merchant.ownerId,
    ]);
    expect(connections).toEqual([{ connection: 'simulator' }]);
  });

  test('that was deleted takes no payment, shows none, and keeps its records [4.9.7, 7e]', async () => {
    const merchant = await service.newMerchant();
    const id = await newOperation(merchant);
    await merchant.receive(1000, id);
    const requestKey = ids.uuid();
    const sent = await merchant.transfer({ requestKey }, id);
    const status = async () =>
      (await merchant.call('GET', `/payments/${sent.body.id}`, undefined, id)).body.status;
    await until(async () => (await status()) === 'completed');
    const records = () =>
      admin(
        `SELECT (SELECT count(*) FROM payment WHERE operation_id = $1)::int AS payments,
           (SELECT count(*) FROM journal WHERE chain_id = $1)::int AS journals`,
        [id],
      );
    const before = await records();
    expect(before).toEqual([{ payments: 2, journals: 3 }]);
    expect((await merchant.call('DELETE', `/operations/${id}`, {})).body).toEqual({ ok: true });
    const refused = [
      await merchant.charge({}, id),
      await merchant.transfer({}, id),
      // A repeat of what was paid out of it, too.
      await merchant.transfer({ requestKey }, id),
      await merchant.call('GET', `/payments/${sent.body.id}`, undefined, id),
      await merchant.call('GET', '/payments', undefined, id),
      await merchant.call('GET', '/account', undefined, id),
      await merchant.call('POST', `/pix/transfers/${sent.body.id}/cancel`, {}, id),
      await merchant.call('PATCH', `/operations/${id}`, { name: 'Nova' }),
    ];
    for (const answer of refused)
      expect(answer.body).toMatchObject({ statusCode: 404, code: 'operation_not_found' });
    expect((await merchant.call('GET', `/payments/${sent.body.id}`)).body.code).toBe('payment_not_found');
    expect(await records()).toEqual(before);
  });

  test('is free of what blocks another: withdrawal blocks and pauses stop all of them, and charges of none [1.4b]', async () => {
    const merchant = await service.newMerchant();
    const other = await newOperation(merchant);
    await merchant.receive(2000);
    await merchant.receive(2000, other);
    const both = async () => [await merchant.transfer(), await merchant.transfer({}, other)];
    await admin('UPDATE account SET withdrawals_blocked = true WHERE id = $1', [merchant.ownerId]);
    for (const { body } of await both())
      expect(body).toMatchObject({ statusCode: 403, code: 'withdrawals_blocked' });
    expect((await merchant.charge({}, other)).status).toBe(201);
    await admin('UPDATE account SET withdrawals_blocked = false WHERE id = $1', [merchant.ownerId]);
    await admin(`UPDATE installation SET withdrawals_paused_at = now(), withdrawals_paused_reason = 'x'`);
    for (const { body, headers } of await both()) {
      expect(body).toMatchObject({ statusCode: 503, code: 'withdrawals_paused' });
      expect(headers.get('retry-after')).toBe('60');
    }
    expect((await merchant.charge()).status).toBe(201);
    await admin('UPDATE installation SET withdrawals_paused_at = NULL, withdrawals_paused_reason = NULL');
    for (const { status } of await both()) expect(status).toBe(201);
  });

  test('with a charge that waits or a transfer under way stays, and goes when both have ended [4.9.2a]', async () => {
    const merchant = await service.newMerchant();
    const id = await newOperation(merchant);
    const remove = async () => (await merchant.call('DELETE', `/operations/${id}`, {})).body;
    const { body: charge } = await merchant.charge({ amountCents: 1000 }, id);
    expect(await remove()).toMatchObject({ statusCode: 400, code: 'operation_has_unfinished_payments' });
    await service.simulator.control('POST', `/control/charges/${hex(charge.id)}/pay`);
    const statusOf = async (payment: string) =>
      (await merchant.call('GET', `/payments/${payment}`, undefined, id)).body.status;
    await until(async () => (await statusOf(charge.id)) === 'paid');
    expect(await remove()).toMatchObject({ code: 'operation_has_balance' });
    const { body: sent } = await merchant.transfer({ pixKey: 'stay-pending@simulator.example' }, id);
    expect(await remove()).toMatchObject({ code: 'operation_has_unfinished_payments' });
    await service.simulator.control('POST', `/control/payouts/${hex(sent.id)}/complete`);
    await until(async () => (await statusOf(sent.id)) === 'completed');
    expect(await remove()).toEqual({ ok: true });
  });
});

describe('a payment', () => {
  test('is never confirmed by a caller: however often it is looked up or repeated, it stays as the provider has it [1.5b]', async () => {
    const merchant = await service.newMerchant();
    const requestKey = ids.uuid();
    const { body } = await merchant.charge({ requestKey });
    for (let times = 0; times < 20; times++) {
      expect((await merchant.call('GET', `/payments/${body.id}`)).body.status).toBe('pending');
      expect((await merchant.charge({ requestKey })).body.status).toBe('pending');
    }
    expect(await merchant.balanceCents()).toBe(0);
  });

  test('repeated late shows what it has become, with the status of its first answer [4.2c]', async () => {
    const merchant = await service.newMerchant();
    const requestKey = ids.uuid();
    const first = await merchant.charge({ requestKey, amountCents: 700 });
    await service.simulator.control('POST', `/control/charges/${hex(first.body.id)}/pay`);
    await until(async () => (await merchant.charge({ requestKey, amountCents: 700 })).body.status === 'paid');
    const late = await merchant.charge({ requestKey, amountCents: 700 });
    expect([late.status, late.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    expect(late.body).toEqual((await merchant.call('GET', `/payments/${first.body.id}`)).body);
  });

  test('repeated by another key of the account is the same payment, if that key has the permission', async () => {
    const merchant = await service.newMerchant();
    const body = { amountCents: 500, payerName: 'Maria', requestKey: ids.uuid() };
    const first = await merchant.call('POST', '/pix/charges', body);
    const charger = service.as(await service.newKey(merchant.ownerId, ['charges']));
    const reader = service.as(await service.newKey(merchant.ownerId, ['read']));
    const again = await charger('POST', '/pix/charges', body);
    expect([again.status, again.body.id]).toEqual([201, first.body.id]);
    expect((await reader('POST', '/pix/charges', body)).status).toBe(403);
  });

  test('carries its fee and its net: the amount is both together, for charges and for transfers [2.1g, 2.3b, 4.1.6]', async () => {
    const merchant = await service.newMerchant();
    await admin(
      'UPDATE account SET deposit_fee_cents = 10, deposit_fee_bps = 99, withdrawal_fee_bps = 100 WHERE id = $1',
      [merchant.ownerId],
    );
    const { body: charge } = await merchant.charge({ amountCents: 5050 });
    // 10 + 5050 × 0,99 % = 59,995, of which half a cent is rounded up.
    expect(charge.feeCents).toBe(60);
    await service.simulator.control('POST', `/control/charges/${hex(charge.id)}/pay`);
    const get = async (id: string) => (await merchant.call('GET', `/payments/${id}`)).body;
    await until(async () => (await get(charge.id)).status === 'paid');
    expect(await get(charge.id)).toMatchObject({ providerFeeCents: 60, netAmountCents: 4990 });
    expect(await merchant.balanceCents()).toBe(4990);
    const { body: sent } = await merchant.transfer({ amountCents: 4000 });
    expect(sent).toMatchObject({ feeCents: 65, debitAmountCents: 4000, expectedNetAmountCents: 3935 });
    await until(async () => (await get(sent.id)).status === 'completed');
    expect(await get(sent.id)).toMatchObject({ providerFeeCents: 65, netAmountCents: 3935 });
    expect(await merchant.balanceCents()).toBe(990);
  });

  test('below its fee, or outside the account’s narrower limits, is refused and leaves its key free [2.1h]', async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(5000);
    const set = (columns: string) => admin(`UPDATE account SET ${columns} WHERE id = $1`, [merchant.ownerId]);
    await set('withdrawal_fee_cents = 1000, deposit_fee_cents = 200');
    const requestKey = ids.uuid();
    expect((await merchant.transfer({ requestKey })).body.code).toBe('amount_below_fee');
    expect((await merchant.charge({ amountCents: 200, requestKey })).body.code).toBe('amount_below_fee');
    expect((await merchant.transfer({ amountCents: 1001 })).body.expectedNetAmountCents).toBe(1);
    await set(
      'withdrawal_fee_cents = 25, deposit_fee_cents = 0, minimum_withdrawal_cents = 1500, maximum_deposit_cents = 900',
    );
    expect((await merchant.transfer({ requestKey })).body.code).toBe('amount_out_of_limits');
    expect((await merchant.charge({ requestKey })).body.code).toBe('amount_out_of_limits');
    await set('minimum_withdrawal_cents = 1000, maximum_deposit_cents = 200000');
    expect((await merchant.transfer({ requestKey })).status).toBe(201);
  });
});

test('with an open breaker creations are 503 before anything is written, repeats and reads work [7g]', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(5000);
  const requestKey = ids.uuid();
  const first = await merchant.transfer({ requestKey });
  const open = `INSERT INTO breaker (connection, call, open, probe_at, changed_at)
    SELECT 'simulator', call, true, now() + interval '30 minutes', now() FROM unnest(ARRAY['charge', 'payout']) call
    ON CONFLICT (connection, call) DO UPDATE SET open = true, probe_at = excluded.probe_at`;
  await admin(open);
  const fresh = ids.uuid();
  for (const answer of [
    await merchant.transfer({ requestKey: fresh }),
    await merchant.charge({ requestKey: fresh }),
  ]) {
    expect(answer.body).toMatchObject({ statusCode: 503, code: 'provider_unavailable' });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  }
  expect((await merchant.call('GET', `/payments?requestKey=${fresh}`)).body.payments).toEqual([]);
  expect((await merchant.transfer({ requestKey })).body.id).toBe(first.body.id);
  expect((await merchant.call('GET', '/account')).body.enabled).toBe(false);
  await admin('DELETE FROM breaker');
  expect((await merchant.transfer({ requestKey: fresh })).status).toBe(201);
});

test('a disabled account creates nothing, and looks up what it has', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(2000);
  const { body } = await merchant.charge();
  await admin('UPDATE account SET enabled = false WHERE id = $1', [merchant.ownerId]);
  for (const answer of [await merchant.charge(), await merchant.transfer()]) {
    expect(answer.body).toMatchObject({ statusCode: 403, code: 'account_disabled' });
  }
  expect((await merchant.call('GET', `/payments/${body.id}`)).status).toBe(200);
  expect((await merchant.call('GET', '/account')).body).toMatchObject({ enabled: false, balanceCents: 2000 });
});

test('a limited request uses no request key up [7f]', async () => {
  const limited = await openService({ env: { RATE_LIMITS: 'charges=0.001/1' } });
  const merchant = await limited.newMerchant();
  expect((await merchant.charge()).status).toBe(201);
  const requestKey = ids.uuid();
  const refused = await merchant.charge({ requestKey });
  expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(90);
  expect((await merchant.call('GET', `/payments?requestKey=${requestKey}`)).body.payments).toEqual([]);
  await limited.close();
});

describe('a look at a payment', () => {
  let alone: Service;
  let merchant: Merchant;
  beforeAll(async () => {
    // Without a worker: what is asked of the provider is asked by the look alone.
    alone = await openService({ worker: false });
    merchant = await alone.newMerchant();
  });
  afterAll(() => alone?.close());
  // Full for every test: on a fast machine the tests before it leave no query, and it would look at a limit instead of its subject.
  beforeEach(() => fillQueryLimit(alone));

  /** A charge that was paid without a word to us, and whose next query is due `dueInMs` from now. */
  async function paidUnheard(dueInMs: number) {
    const { body } = await merchant.charge();
    await alone.simulator.behave({ webhook: 'drop' });
    await alone.simulator.control('POST', `/control/charges/${hex(body.id)}/pay`);
    await alone.database.admin(
      'UPDATE intent SET due_at = now() + make_interval(secs => $2) WHERE payment_id = $1',
      [body.id, dueInMs / 1000],
    );
    const look = () => merchant.call('GET', `/payments/${body.id}`);
    return { id: body.id as string, look };
  }
  const queries = async () => (await alone.simulator.control('GET', '/control/state')).body.queries as number;

  test('queries the provider when its next query is overdue, once for any number of lookups [4.3b]', async () => {
    const { id, look } = await paidUnheard(-1000);
    const before = await queries();
    const answers = await Promise.all(Array.from({ length: 12 }, look));
    for (const { status } of answers) expect(status).toBe(200);
    // Callers wait two seconds: where the provider takes longer, what it said stands in the books soon.
    await until(async () => (await statusOf(alone, id)) === 'paid');
    expect((await look()).body.status).toBe('paid');
    expect((await queries()) - before).toBe(1);
  });

  test('sends no query before it is due, and lists never send one [4.3b]', async () => {
    const { look } = await paidUnheard(60_000);
    const before = await queries();
    expect((await look()).body.status).toBe('pending');
    const overdue = await paidUnheard(-1000);
    const { body } = await merchant.call('GET', '/payments?limit=1');
    expect(body.payments[0]).toMatchObject({ id: overdue.id, status: 'pending' });
    expect(await queries()).toBe(before);
  });

  test('leaves the shared limit to others when it is used up [1.6b, 8c]', async () => {
    const { look } = await paidUnheard(-1000);
    // All queries that may be under way at once are. A time further ahead would count as written with a wrong clock.
    await alone.database.admin(`UPDATE query_slot SET lease_until = now() + interval '9 s'`);
    const before = await queries();
    const { status, body } = await look();
    expect([status, body.status]).toEqual([200, 'pending']);
    expect(await queries()).toBe(before);
    await alone.database.admin(`UPDATE query_slot SET lease_until = now() - interval '1 s'`);
    await until(async () => (await look()).body.status === 'paid');
  });

  test.each(['error-500', 'hang', 'not-found'])('never fails for the provider (%s) [4.3b]', async (query) => {
    const { look } = await paidUnheard(-1000);
    await alone.simulator.behave({ query, webhook: 'drop' });
    const before = await queries();
    const { status, body } = await look();
    expect([status, body.status]).toEqual([200, 'pending']);
    // The caller may have left before the query arrived.
    await until(async () => (await queries()) > before);
    expect((await queries()) - before).toBe(1);
    await alone.simulator.behave({});
  });

  test('waits two seconds for a provider that never answers [4.3b]', async () => {
    const { id } = await paidUnheard(-1000);
    const { runtime } = alone;
    const timed = manualClock();
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
    const { promise: answer, resolve: goOn } = Promise.withResolvers<void>();
    const provider = runtime.providers.get('simulator') as Provider;
    const silent: Provider = {
      ...provider,
      queryCharge: async (...query) => {
        ask();
        await answer;
        return provider.queryCharge(...query);
      },
    };
    const payment = await findPayment(
      runtime.sql,
      { accountId: merchant.ownerId, operationId: merchant.operationId },
      id,
    );
    let shown: Payment | undefined;
    const looked = refreshIfOverdue(
      { ...runtime, clock: timed, providers: new Map([[provider.connection, silent]]) },
      payment as Payment,
    ).then((found) => {
      shown = found;
    });
    await Promise.race([asked, looked]);
    expect(shown).toBeUndefined();
    timed.advance(1_999);
    await new Promise(setImmediate);
    expect(shown).toBeUndefined();
    timed.advance(1);
    await looked;
    expect(shown).toEqual(payment);
    goOn();
  });
});

test('afterwards every invariant holds, and the provider’s own truth agrees', async () => {
  expect(await violations(service)).toEqual([]);
});

test('a permission that was removed from a key moves no money from the moment on at which it was removed', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(5000);
  const key = await service.newKey(merchant.ownerId);
  const id = keyIdOf(key) as string;
  const caller = service.as(key);
  // The keyring at the edge holds the key with all its permissions now, and may give it out for a second.
  expect((await caller('GET', '/account')).status).toBe(200);
  const { requestKey, ...order } = { requestKey: ids.uuid(), amountCents: 1000, description: '' };
  const transfer = { ...order, pixKey: 'maria@loja.example', pixKeyType: 'EMAIL' };
  const charge = { ...order, payerName: 'Maria' };
  await narrowKey(service.runtime, merchant.ownerId, id, ['read', 'charges']);
  expect((await caller('POST', '/pix/transfers', { ...transfer, requestKey })).body).toMatchObject({
    statusCode: 403,
    code: 'permission_denied',
  });
  expect((await caller('POST', '/pix/charges', { ...charge, requestKey: ids.uuid() })).status).toBe(201);
  await narrowKey(service.runtime, merchant.ownerId, id, ['read']);
  expect((await caller('POST', '/pix/charges', { ...charge, requestKey: ids.uuid() })).body).toMatchObject({
    statusCode: 403,
    code: 'permission_denied',
  });
  expect(await merchant.balanceCents()).toBe(5000);
});
