import { type Merchant, openService, type Service, until as untilWithin } from '@vintem/testkit/service.ts';
import { deliver, receivedItem, reservedCents } from '@vintem/testkit/settlement.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { paymentIdFor } from '../../src/store/rows/idempotency.ts';

/** A received Pix goes back to its payer, whatever the provider does with the request. Steered by message, so that all run side by side. */

let service: Service;
beforeAll(async () => {
  service = await openService();
});
afterAll(async () => {
  const wrong = await violationsOfBooks(service);
  await service?.close();
  expect(wrong).toEqual([]);
});

const until = (holds: () => Promise<boolean>) => untilWithin(holds, 300_000);

/** A merchant with a paid charge of R$ 20,00, whose fee is covered by another one. */
async function paid(amountCents = 2_000) {
  const merchant = await service.newMerchant();
  await merchant.receive(1_000);
  const id = await merchant.paidCharge({ amountCents });
  return { merchant, id, endToEnd: (await payment(merchant, id)).endToEnd as string };
}

const payment = async (merchant: Merchant, id: string) =>
  (await merchant.call('GET', `/payments/${id}`)).body;

const refund = (merchant: Merchant, id: string, fields: object = {}) =>
  merchant.call('POST', `/payments/${id}/refunds`, { requestKey: crypto.randomUUID(), ...fields });

const steered = (behaviour: string) => ({ description: `${behaviour}@simulator.example` });

const becomes = (merchant: Merchant, refundId: string, status: string) =>
  until(async () => (await merchant.call('GET', `/refunds/${refundId}`)).body.status === status);

/** The provider's own truth about the refunds of a charge. */
const atProvider = async (id: string) =>
  (await service.simulator.control('GET', `/control/state?txid=${id}`)).body.charges[0].refunds ?? [];

const templates = async (subject: string): Promise<string[]> =>
  (
    await service.database.admin<{ template: string }>(
      'SELECT template FROM journal WHERE subject = $1 ORDER BY seq',
      [subject],
    )
  ).map(({ template }) => template);

const incidents = (paymentId: string) =>
  service.database.admin<{ kind: string; state: string }>(
    'SELECT kind, state FROM incident WHERE payment_id = $1 ORDER BY opened_at, id',
    [paymentId],
  );

describe.concurrent('a refund', () => {
  test('gives the whole charge back, once, and the charge says so', async () => {
    const { merchant, id } = await paid();
    const before = await merchant.balanceCents();
    const requestKey = crypto.randomUUID();
    const { status, body } = await refund(merchant, id, { requestKey, description: 'Item devolvido' });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      paymentId: id,
      amountCents: 2_000,
      reason: 'requested',
      description: 'Item devolvido',
      requestKey,
    });
    await becomes(merchant, body.id, 'completed');
    expect(await merchant.balanceCents()).toBe(before - 2_000);
    expect(await reservedCents(merchant)).toBe(0);
    expect((await payment(merchant, id)).refundedCents).toBe(2_000);
    expect(await templates(body.id)).toEqual(['refundReserve', 'refundComplete']);
    // The same return, reported with its charge, is not taken for money that the provider took back.
    expect(await templates(id)).toEqual(['credit']);
    expect(await atProvider(id)).toMatchObject([
      { timesReceived: 1, status: 'completed', amountCents: 2_000 },
    ]);
    const { body: done } = await merchant.call('GET', `/refunds/${body.id}`);
    expect(done.endToEnd).toMatch(/^D/);
    expect(done.settledAt).toMatch(/Z$/);
    const again = await refund(merchant, id, { requestKey, description: 'Item devolvido' });
    expect(again.status).toBe(201);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body).toEqual(done);
  });

  test('may be partial, and several of them add up to the charge and no more', async () => {
    const { merchant, id } = await paid();
    for (const amountCents of [500, 700]) {
      const { body } = await refund(merchant, id, { amountCents });
      await becomes(merchant, body.id, 'completed');
    }
    const tooMuch = await refund(merchant, id, { amountCents: 801 });
    expect(tooMuch).toMatchObject({ status: 400, body: { code: 'refund_exceeds' } });
    expect(tooMuch.body.message).toMatch(/800/);
    const { body: rest } = await refund(merchant, id);
    expect(rest.amountCents).toBe(800);
    await becomes(merchant, rest.id, 'completed');
    expect(await refund(merchant, id)).toMatchObject({ status: 400, body: { code: 'refund_exceeds' } });
    const { body } = await merchant.call('GET', `/payments/${id}/refunds`);
    expect(body.refunds.map((one: { amountCents: number }) => one.amountCents)).toEqual([500, 700, 800]);
    expect((await payment(merchant, id)).refundedCents).toBe(2_000);
  });

  /** As if the refund had been asked for so many times more. */
  const repeatRefund = (refundId: string, times: number, status: string) =>
    service.database.admin(
      `INSERT INTO refund SELECT (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'status', $3::text, 'amount_cents', 1,
          'request_key', gen_random_uuid(), 'command', gen_random_uuid(), 'rtr_id', NULL, 'fee_back_cents', NULL,
          'reason_code', CASE WHEN $3 = 'failed' THEN 'refused_by_provider' END, 'settled_at', CASE WHEN $3 = 'completed' THEN r.settled_at END,
          'updated_at', r.updated_at + n * interval '1 millisecond',
          'created_at', r.created_at + n * interval '1 millisecond'))).* FROM refund r, generate_series(1, $2::int) AS n WHERE r.id = $1`,
      [refundId, times, status],
    );

  /** Nothing was posted for them: the books are examined behind these tests. */
  const forget = (paymentId: string, kept: readonly string[]) =>
    service.database.admin('DELETE FROM refund WHERE payment_id = $1 AND id <> ALL ($2::uuid[])', [
      paymentId,
      kept,
    ]);

  test('A charge goes back in at most a hundred parts, of which the last takes all that is left', async () => {
    const { merchant, id } = await paid();
    const { body: first } = await refund(merchant, id, { amountCents: 100 });
    await becomes(merchant, first.id, 'completed');
    await repeatRefund(first.id, 98, 'completed');
    const part = await refund(merchant, id, { amountCents: 1 });
    expect(part).toMatchObject({ status: 400, body: { code: 'refund_limit_reached' } });
    expect(part.body.message).toMatch(/1802/);
    const rest = await refund(merchant, id);
    expect(rest).toMatchObject({ status: 201, body: { amountCents: 1_802 } });
    await becomes(merchant, rest.body.id, 'completed');
    await forget(id, [first.id, rest.body.id]);
  });

  test('A charge is asked for two hundred refunds at most, those that failed included', async () => {
    const { merchant, id } = await paid();
    const { body: first } = await refund(merchant, id, { amountCents: 100 });
    await becomes(merchant, first.id, 'completed');
    await repeatRefund(first.id, 199, 'failed');
    expect(await refund(merchant, id)).toMatchObject({ status: 400, body: { code: 'refund_limit_reached' } });
    await forget(id, [first.id]);
  });

  test('The refunds of a charge come in pages, each once and the oldest first', async () => {
    const { merchant, id } = await paid();
    const { body: first } = await refund(merchant, id, { amountCents: 100 });
    await becomes(merchant, first.id, 'completed');
    await repeatRefund(first.id, 150, 'failed');
    const all: string[] = [];
    const sizes: number[] = [];
    let path = `/payments/${id}/refunds`;
    for (let next: string | null = ''; next !== null; ) {
      const { status, body } = await merchant.call('GET', path);
      expect([status, body.hasMore]).toEqual([200, body.nextCursor !== null]);
      sizes.push(body.refunds.length);
      all.push(...body.refunds.map((one: { id: string }) => one.id));
      next = body.nextCursor;
      path = `/payments/${id}/refunds?cursor=${next}`;
    }
    expect(sizes).toEqual([100, 51]);
    expect([all[0], new Set(all).size]).toEqual([first.id, 151]);
    const small = await merchant.call('GET', `/payments/${id}/refunds?limit=2`);
    const { id: other } = await paid();
    const foreign = await merchant.call('GET', `/payments/${other}/refunds?cursor=${small.body.nextCursor}`);
    expect(foreign.status === 404 || foreign.body.code === 'invalid_cursor').toBe(true);
    await forget(id, [first.id]);
  });

  test('asked for twice at once is admitted once', async () => {
    const { merchant, id } = await paid();
    const before = await merchant.balanceCents();
    const both = await Promise.all([refund(merchant, id), refund(merchant, id)]);
    expect(both.map(({ status }) => status).sort()).toEqual([201, 400]);
    expect(both.find(({ status }) => status === 400)?.body.code).toBe('refund_exceeds');
    const made = both.find(({ status }) => status === 201)?.body.id;
    await becomes(merchant, made, 'completed');
    expect([await merchant.balanceCents(), await reservedCents(merchant)]).toEqual([before - 2_000, 0]);
    expect(await atProvider(id)).toMatchObject([{ timesReceived: 1, amountCents: 2_000 }]);
  });

  test('keeps its reserve while the provider only has it, and is decided by the provider alone', async () => {
    const { merchant, id } = await paid();
    const before = await merchant.balanceCents();
    const { body } = await refund(merchant, id, { amountCents: 600, ...steered('stay-pending') });
    await becomes(merchant, body.id, 'pending');
    expect(await merchant.balanceCents()).toBe(before - 600);
    expect(await reservedCents(merchant)).toBe(600);
    expect((await payment(merchant, id)).refundedCents).toBeUndefined();
    await service.simulator.control('POST', `/control/refunds/${body.id}/complete`);
    await becomes(merchant, body.id, 'completed');
    expect(await reservedCents(merchant)).toBe(0);
    expect(await merchant.balanceCents()).toBe(before - 600);
  });

  test('refused in the answer, or later, gives the whole reserve back and leaves the charge to be refunded', async () => {
    const { merchant, id } = await paid();
    const before = await merchant.balanceCents();
    for (const behaviour of ['refuse-in-answer', 'refuse-later']) {
      const { status, body } = await refund(merchant, id, steered(behaviour));
      expect(status).toBe(201);
      await becomes(merchant, body.id, 'failed');
      expect((await merchant.call('GET', `/refunds/${body.id}`)).body.reasonCode).toBe('provider_refused');
      expect(await merchant.balanceCents()).toBe(before);
      expect(await templates(body.id)).toEqual(['refundReserve', 'refundRelease']);
    }
    const { body } = await refund(merchant, id);
    await becomes(merchant, body.id, 'completed');
  });

  test.each(['lose-answer', 'error-500-after-accepting', 'garbage', 'hang'])(
    'whose answer is %s is queried, and is paid once',
    async (behaviour) => {
      const { merchant, id } = await paid();
      const before = await merchant.balanceCents();
      const { body } = await refund(merchant, id, steered(behaviour));
      await becomes(merchant, body.id, 'completed');
      expect(await merchant.balanceCents()).toBe(before - 2_000);
      expect(await atProvider(id)).toMatchObject([{ timesReceived: 1, status: 'completed' }]);
      expect(await templates(id)).toEqual(['credit']);
    },
  );

  test('that is not in any table of refusals keeps its reserve', async () => {
    const { merchant, id } = await paid();
    const { body } = await refund(merchant, id, steered('refuse-unknown'));
    expect(body.status).toBe('unknown');
    expect(await reservedCents(merchant)).toBe(2_000);
  });

  test('reported with another amount posts nothing and opens an incident; the right amount then ends it', async () => {
    const { merchant, id, endToEnd } = await paid();
    const before = await merchant.balanceCents();
    const { body } = await refund(merchant, id, { amountCents: 600, ...steered('stay-pending') });
    await becomes(merchant, body.id, 'pending');
    const time = new Date().toISOString();
    const back = (valor: string) => ({
      id: body.id.replaceAll('-', ''),
      rtrId: 'D99999999202611201501abcdefghijk',
      valor,
      horario: { solicitacao: time, liquidacao: time },
      status: 'DEVOLVIDO',
    });
    const report = (valor: string) =>
      deliver(service, [{ ...receivedItem(id, 2_000, endToEnd), devolucoes: [back(valor)] }]);
    expect(await report('6.01')).toBe(200);
    await until(async () => (await incidents(id)).length === 1);
    expect(await incidents(id)).toMatchObject([{ kind: 'refund_mismatch', state: 'open' }]);
    expect(await templates(body.id)).toEqual(['refundReserve']);
    expect(await refund(merchant, id)).toMatchObject({ status: 403, body: { code: 'withdrawals_blocked' } });
    await service.simulator.control('POST', `/control/refunds/${body.id}/complete`);
    await becomes(merchant, body.id, 'completed');
    expect(await templates(body.id)).toEqual(['refundReserve', 'refundComplete']);
    expect(await templates(id)).toEqual(['credit']);
    expect(await merchant.balanceCents()).toBe(before - 600);
    expect((await payment(merchant, id)).refundedCents).toBe(600);
  });

  test('beside money that the provider takes back of the same Pix: each is posted once', async () => {
    const { merchant, id } = await paid();
    const { body } = await refund(merchant, id, { amountCents: 600 });
    await becomes(merchant, body.id, 'completed');
    await service.simulator.control('POST', `/control/charges/${id}/return`, { amountCents: 600 });
    await until(async () => (await templates(id)).includes('debit'));
    expect(await templates(id)).toEqual(['credit', 'debit']);
    expect(await refund(merchant, id, { amountCents: 801 })).toMatchObject({
      status: 400,
      body: { code: 'refund_exceeds' },
    });
  });

  test('that a restore has lost, and that was posted as money taken back, is not begun again', async () => {
    const { merchant, id } = await paid();
    const requestKey = crypto.randomUUID();
    const number = Number.parseInt(id.slice(0, 8), 16);
    const refundId = paymentIdFor(service.runtime.identity, { id: merchant.ownerId, number }, requestKey);
    const returned = { amountCents: 600, id: refundId.replaceAll('-', '') };
    await service.simulator.control('POST', `/control/charges/${id}/return`, returned);
    await until(async () => (await templates(id)).includes('debit'));
    const before = await merchant.balanceCents();
    expect(await refund(merchant, id, { requestKey, amountCents: 600 })).toMatchObject({
      status: 400,
      body: { code: 'refund_already_booked' },
    });
    expect([await merchant.balanceCents(), await reservedCents(merchant)]).toEqual([before, 0]);
    expect(await templates(id)).toEqual(['credit', 'debit']);
  });

  test('writes its events', async () => {
    const { merchant, id } = await paid();
    const { body } = await refund(merchant, id);
    await becomes(merchant, body.id, 'completed');
    const events = async () =>
      (await merchant.call('GET', '/events')).body.events.filter(
        ({ type }: { type: string }) => type === 'refund.completed',
      );
    await until(async () => (await events()).length === 1);
    expect((await events())[0].data).toMatchObject({ id: body.id, paymentId: id, status: 'completed' });
  });
});

describe.concurrent('what cannot be refunded answers its error and moves nothing', () => {
  const moved = async (merchant: Merchant) =>
    [await merchant.balanceCents(), await reservedCents(merchant)] as const;

  test('a charge that is not paid, a transfer, a payment that does not exist', async () => {
    const { merchant } = await paid();
    const { body: open } = await merchant.charge({ amountCents: 1_000 });
    const { body: sent } = await merchant.transfer({ pixKey: 'complete@simulator.example' });
    await until(async () => (await payment(merchant, sent.id)).status === 'completed');
    const before = await moved(merchant);
    for (const id of [open.id, sent.id])
      expect(await refund(merchant, id)).toMatchObject({
        status: 400,
        body: { code: 'payment_not_refundable' },
      });
    expect(await refund(merchant, crypto.randomUUID())).toMatchObject({
      status: 404,
      body: { code: 'payment_not_found' },
    });
    expect(await moved(merchant)).toEqual(before);
  });

  test('a charge of another account, of another operation or of a deleted one', async () => {
    const { merchant, id } = await paid();
    const before = await moved(merchant);
    const other = await service.newMerchant();
    expect(await refund(other, id)).toMatchObject({ status: 404, body: { code: 'payment_not_found' } });
    expect((await other.call('GET', `/payments/${id}/refunds`)).status).toBe(404);
    const { body: made } = await merchant.call('POST', '/operations', {
      name: 'Filial',
      requestKey: crypto.randomUUID(),
    });
    const asked = { requestKey: crypto.randomUUID() };
    const elsewhere = () => merchant.call('POST', `/payments/${id}/refunds`, asked, made.id);
    expect(await elsewhere()).toMatchObject({ status: 404, body: { code: 'payment_not_found' } });
    expect((await merchant.call('DELETE', `/operations/${made.id}`, {})).status).toBe(200);
    expect(await elsewhere()).toMatchObject({ status: 404, body: { code: 'operation_not_found' } });
    expect(await moved(merchant)).toEqual(before);
    expect(await moved(other)).toEqual([0, 0]);
    expect(await atProvider(id)).toEqual([]);
    const { body } = await refund(merchant, id);
    expect((await other.call('GET', `/refunds/${body.id}`)).body.code).toBe('refund_not_found');
  });

  test('more than the balance, more than the charge, nothing at all', async () => {
    const { merchant, id } = await paid();
    await merchant.transfer({ amountCents: 2_000, pixKey: 'stay-pending@simulator.example' });
    const before = await moved(merchant);
    expect(await refund(merchant, id)).toMatchObject({ status: 400, body: { code: 'insufficient_balance' } });
    expect(await refund(merchant, id, { amountCents: 2_001 })).toMatchObject({
      status: 400,
      body: { code: 'refund_exceeds' },
    });
    for (const amountCents of [0, -1, 1.5, '100'])
      expect((await refund(merchant, id, { amountCents })).body.code).toBe('validation_failed');
    expect((await refund(merchant, id, { description: 'x'.repeat(141) })).body.code).toBe(
      'validation_failed',
    );
    expect(await moved(merchant)).toEqual(before);
  });

  test('a Pix of more than 90 days ago', async () => {
    const { merchant, id } = await paid();
    const before = await moved(merchant);
    await service.database.admin(
      `UPDATE payment SET paid_at = now() - interval '90 days 1 minute' WHERE id = $1`,
      [id],
    );
    expect(await refund(merchant, id)).toMatchObject({ status: 400, body: { code: 'refund_window_closed' } });
    expect(await moved(merchant)).toEqual(before);
    expect(await atProvider(id)).toEqual([]);
  });

  test('a request key that was used: for other data, a charge, an operation; and one of a refund for them', async () => {
    const { merchant, id } = await paid();
    const requestKey = crypto.randomUUID();
    const conflict = { status: 400, body: { code: 'idempotency_conflict' } };
    const first = await refund(merchant, id, { amountCents: 100, requestKey });
    expect(first.status).toBe(201);
    await becomes(merchant, first.body.id, 'completed');
    expect(await refund(merchant, id, { amountCents: 101, requestKey })).toMatchObject(conflict);
    expect(await merchant.charge({ requestKey })).toMatchObject(conflict);
    expect(await merchant.transfer({ requestKey })).toMatchObject(conflict);
    expect(await merchant.call('POST', '/operations', { name: 'Filial', requestKey })).toMatchObject(
      conflict,
    );
    const [ofCharge, ofOperation] = [crypto.randomUUID(), crypto.randomUUID()];
    const before = await merchant.balanceCents();
    await merchant.charge({ requestKey: ofCharge });
    await merchant.call('POST', '/operations', { name: 'Filial', requestKey: ofOperation });
    for (const used of [ofCharge, ofOperation])
      expect(await refund(merchant, id, { amountCents: 100, requestKey: used })).toMatchObject(conflict);
    expect(await merchant.balanceCents()).toBe(before);
    expect(await atProvider(id)).toMatchObject([{ amountCents: 100 }]);
    const { body } = await merchant.call('GET', `/payments/${id}/refunds`);
    expect(body.refunds).toHaveLength(1);
  });

  test('with a key that may do everything but refund', async () => {
    const { merchant, id } = await paid();
    const held = ['read', 'charges', 'transfers', 'operations', 'webhooks'] as const;
    const call = service.as(await service.newKey(merchant.ownerId, held));
    const asked = { requestKey: crypto.randomUUID() };
    expect((await call('POST', `/payments/${id}/refunds`, asked)).status).toBe(403);
    const only = service.as(await service.newKey(merchant.ownerId, ['refunds']));
    expect((await only('POST', `/payments/${id}/refunds`, asked)).status).toBe(201);
    expect((await only('GET', `/payments/${id}`)).status).toBe(403);
    expect((await only('GET', `/payments/${id}/refunds`)).status).toBe(200);
    expect(await reservedCents(merchant)).toBeLessThanOrEqual(2_000);
  });
});
