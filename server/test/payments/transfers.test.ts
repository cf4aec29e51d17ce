import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** The fate of money that leaves, whatever the provider does with the request. Steered by key, so that all run side by side. */

let service: Service;

beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

/** A merchant with R$ 50,00 and one transfer of R$ 10,00 to a key that makes the simulator behave as `behaviour`. */
async function sendTo(behaviour: string) {
  const merchant = await service.newMerchant();
  await merchant.receive(5000);
  const request = { pixKey: `${behaviour}@simulator.example`, requestKey: crypto.randomUUID() };
  const answer = await merchant.transfer(request);
  const id: string = answer.body.id ?? answer.body.paymentId;
  const status = async () => (await merchant.call('GET', `/payments/${id}`)).body.status;
  return { merchant, request, answer, id, status };
}

const reservedCents = async (merchant: Merchant): Promise<number> =>
  (await merchant.call('GET', '/account')).body.reservedWithdrawalCents;

describe.concurrent('a transfer', () => {
  test('sends the net, debits the gross, and is completed by the provider [3d, 4.1.6, 4.1a, 4.1d]', async () => {
    const { merchant, answer, id, status } = await sendTo('complete');
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({
      kind: 'transfer',
      amountCents: 1000,
      feeCents: 25,
      debitAmountCents: 1000,
      expectedNetAmountCents: 975,
      paymentMethod: 'pix',
      expiresAt: null,
    });
    await until(async () => (await status()) === 'completed');
    expect(await merchant.balanceCents()).toBe(4000);
    expect(await reservedCents(merchant)).toBe(0);
    expect(await service.simulator.payout(id)).toMatchObject({
      amountCents: 975,
      status: 'completed',
      timesAccepted: 1,
      timesReceived: 1,
    });
    const done = (await merchant.call('GET', `/payments/${id}`)).body;
    expect(done).toMatchObject({ netAmountCents: 975, providerFeeCents: 25 });
    expect(done.settledAt).toMatch(/Z$/);
    expect(done.endToEnd).toHaveLength(32);
  });

  test('keeps the pairs of its request, shows them everywhere, and is another request with other pairs', async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(5000);
    const request = { pixKey: 'complete@simulator.example', requestKey: crypto.randomUUID() };
    const metadata = { invoice: '77', store: 'centro' };
    const { status, body } = await merchant.transfer({ ...request, metadata });
    expect([status, body.metadata]).toEqual([201, metadata]);
    const again = await merchant.transfer({ ...request, metadata: { store: 'centro', invoice: '77' } });
    expect([again.status, again.body.id]).toEqual([201, body.id]);
    for (const other of [undefined, {}, { invoice: '77' }, { invoice: '77', store: 'Centro' }])
      expect((await merchant.transfer({ ...request, metadata: other })).body.code).toBe(
        'idempotency_conflict',
      );
    const listed = async (pair: string) =>
      (await merchant.call('GET', `/payments?metadata=${pair}`)).body.payments;
    expect(await listed('invoice:77')).toMatchObject([{ id: body.id, metadata }]);
    expect(await listed('invoice:7')).toEqual([]);
    const completed = async () =>
      (await merchant.call('GET', `/events?paymentId=${body.id}&type=transfer.completed`)).body.events;
    await until(async () => (await completed()).length === 1);
    expect((await completed())[0].data.metadata).toEqual(metadata);
    const { lines } = (await merchant.call('GET', '/statement')).body;
    expect(lines.filter((line: { metadata?: object }) => line.metadata)).toMatchObject([
      { kind: 'transfer', paymentId: body.id, metadata },
      { kind: 'transfer_fee', paymentId: body.id, metadata },
    ]);
  });

  test('keeps its reserve while the provider only has it, and is decided by the provider alone [1.5a, 3f, 3h, 4.1.2]', async () => {
    const { merchant, id, status } = await sendTo('stay-pending');
    await until(async () => (await status()) === 'pending');
    expect(await merchant.balanceCents()).toBe(4000);
    expect(await reservedCents(merchant)).toBe(1000);
    await service.simulator.control('POST', `/control/payouts/${id.replaceAll('-', '')}/complete`);
    await until(async () => (await status()) === 'completed');
    expect(await reservedCents(merchant)).toBe(0);
    expect(await merchant.balanceCents()).toBe(4000);
  });

  test('refused in the answer is a 400 that names the payment, costs nothing, and stays so when repeated [3g]', async () => {
    const { merchant, request, answer, id, status } = await sendTo('refuse-in-answer');
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ statusCode: 400, code: 'provider_refused', paymentId: id });
    expect(await status()).toBe('cancelled');
    expect(await merchant.balanceCents()).toBe(5000);
    expect(await reservedCents(merchant)).toBe(0);
    const again = await merchant.transfer(request);
    expect(again.status).toBe(400);
    expect(again.body).toMatchObject({ code: 'provider_refused', paymentId: id });
    expect(await service.simulator.payout(id)).toMatchObject({ timesReceived: 1, timesAccepted: 0 });
  });

  test('refused later gives the whole reserve back, without a fee [3g]', async () => {
    const { merchant, request, answer, status } = await sendTo('refuse-later');
    expect(answer.status).toBe(201);
    await until(async () => (await status()) === 'cancelled');
    expect(await merchant.balanceCents()).toBe(5000);
    expect((await merchant.transfer(request)).status).toBe(400);
  });

  test('whose answer is lost is unknown, is queried, and is never sent again [3b, 3f, 4.1.5]', async () => {
    const { answer, id, merchant, status } = await sendTo('lose-answer');
    expect(answer.status).toBe(201);
    expect(['unknown', 'completed']).toContain(answer.body.status);
    await until(async () => (await status()) === 'completed');
    expect(await merchant.balanceCents()).toBe(4000);
    expect(await service.simulator.payout(id)).toMatchObject({ timesReceived: 1, timesAccepted: 1 });
  });

  test('whose first request arrives later than every query is paid once', async () => {
    await service.simulator.control('PUT', '/control/behaviour', { delayMs: 8000 });
    const { answer, id, merchant, status } = await sendTo('delay-request');
    expect(answer.body.status).toBe('unknown');
    expect(await reservedCents(merchant)).toBe(1000);
    await until(async () => (await status()) === 'completed');
    expect(await merchant.balanceCents()).toBe(4000);
    expect((await service.simulator.payout(id))?.timesAccepted).toBe(1);
  });

  test.each(['error-500-after-accepting', 'garbage', 'hang'])(
    'answered with %s is unclear, holds its reserve, and ends as the provider says',
    async (behaviour) => {
      const { answer, id, merchant, status } = await sendTo(behaviour);
      expect(answer.status).toBe(201);
      await until(async () => (await status()) === 'completed');
      expect(await merchant.balanceCents()).toBe(4000);
      expect(await service.simulator.payout(id)).toMatchObject({ timesReceived: 1, timesAccepted: 1 });
    },
  );

  test.each(['lose-request', 'error-500'])(
    'that the provider never took (%s) keeps its reserve: not found releases nothing [3h]',
    async (behaviour) => {
      const { answer, id, merchant, status } = await sendTo(behaviour);
      expect(answer.body.status).toBe('unknown');
      // Two queries at least ten seconds apart did not find it: then it goes out again, under the same id.
      await until(async () => ((await service.simulator.payout(id))?.timesReceived ?? 0) >= 2);
      expect(await status()).toBe('unknown');
      expect(await reservedCents(merchant)).toBe(1000);
      expect(await merchant.balanceCents()).toBe(4000);
    },
  );

  test('that came back is money again, in parts and at most what was sent, and stays completed', async () => {
    const { merchant, id, status } = await sendTo('complete');
    await until(async () => (await status()) === 'completed');
    const path = `/control/payouts/${id.replaceAll('-', '')}/return`;
    await service.simulator.control('POST', path, { amountCents: 400 });
    await until(async () => (await merchant.balanceCents()) === 4400);
    await service.simulator.control('POST', path, { amountCents: 575 });
    await until(async () => (await merchant.balanceCents()) === 4975);
    expect(await status()).toBe('completed');
    expect((await merchant.call('GET', `/payments/${id}`)).body.notice).toBeTypeOf('string');
  });
});

describe.concurrent('a request key', () => {
  test('repeated with the same data returns the same payment and neither reserves nor sends again [4.1.1]', async () => {
    const { merchant, request, id, status } = await sendTo('complete');
    await until(async () => (await status()) === 'completed');
    const again = await merchant.transfer({ ...request, requestKey: request.requestKey.toUpperCase() });
    expect(again.status).toBe(201);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body).toMatchObject({ id, status: 'completed' });
    expect(await merchant.balanceCents()).toBe(4000);
    expect((await service.simulator.payout(id))?.timesReceived).toBe(1);
  });

  test('repeated with other data, as a charge, or in another operation is refused and changes nothing [4.1.4, 7b]', async () => {
    const { merchant, request, id } = await sendTo('stay-pending');
    const other = (
      await merchant.call('POST', '/operations', { name: 'Outra', requestKey: crypto.randomUUID() })
    ).body;
    const refusals = await Promise.all([
      merchant.transfer({ ...request, amountCents: 1001 }),
      merchant.transfer({ ...request, description: 'x' }),
      merchant.transfer(request, other.id),
      merchant.charge({ requestKey: request.requestKey }),
      merchant.call('POST', '/operations', { name: 'Mais uma', requestKey: request.requestKey }),
    ]);
    for (const refusal of refusals) {
      expect(refusal.status).toBe(400);
      expect(refusal.body.code).toBe('idempotency_conflict');
    }
    expect(refusals[0]?.body.paymentId).toBe(id);
    expect(await merchant.balanceCents()).toBe(4000);
  });

  test('sent fifty times at once makes one payment, one reserve and one send [4.1.1]', async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(5000);
    const requestKey = crypto.randomUUID();
    const answers = await Promise.all(Array.from({ length: 50 }, () => merchant.transfer({ requestKey })));
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([201]));
    expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
    expect(answers.filter((answer) => answer.headers.get('idempotent-replayed') === null)).toHaveLength(1);
    await until(async () => (await merchant.balanceCents()) === 4000);
    expect(await service.simulator.payout(answers[0]?.body.id)).toMatchObject({
      timesReceived: 1,
      timesAccepted: 1,
    });
  });

  test('of a refused request stays free', async () => {
    const merchant = await service.newMerchant();
    const requestKey = crypto.randomUUID();
    const poor = await merchant.transfer({ requestKey });
    expect(poor.body).toMatchObject({ statusCode: 400, code: 'insufficient_balance' });
    await merchant.receive(2000);
    expect((await merchant.transfer({ requestKey })).status).toBe(201);
  });
});

describe.concurrent('a balance', () => {
  test('is never overdrawn, however many withdraw at once [3d]', async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(10_500);
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => merchant.transfer({ amountCents: 1000 })),
    );
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(10);
    expect(answers.filter((answer) => answer.body.code === 'insufficient_balance')).toHaveLength(20);
    await until(async () => (await reservedCents(merchant)) === 0);
    expect(await merchant.balanceCents()).toBe(500);
  });

  test('of one operation never covers another [1.3b, 1.4a]', async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(5000);
    const other = (
      await merchant.call('POST', '/operations', { name: 'Outra', requestKey: crypto.randomUUID() })
    ).body;
    expect((await merchant.transfer({}, other.id)).body.code).toBe('insufficient_balance');
    await merchant.receive(1500, other.id);
    expect((await merchant.transfer({ amountCents: 1500 }, other.id)).status).toBe(201);
    expect(await merchant.balanceCents()).toBe(5000);
    expect(await merchant.balanceCents(other.id)).toBe(0);
  });

  test('of an account is out of reach of every other account', async () => {
    const [one, other] = [await service.newMerchant(), await service.newMerchant()];
    await one.receive(5000);
    const { body } = await one.transfer();
    expect((await other.call('GET', `/payments/${body.id}`)).status).toBe(404);
    expect((await other.transfer({}, one.operationId)).status).toBe(404);
    expect((await other.call('GET', '/payments')).body.payments).toEqual([]);
  });
});

describe.concurrent('a key that cannot exist', () => {
  test('is refused without calling the provider', async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(5000);
    const answer = await merchant.transfer({ pixKey: '12345678901', pixKeyType: 'CPF' });
    expect(answer.body).toMatchObject({ statusCode: 400, code: 'pix_key_not_found' });
    expect(await service.simulator.payout(answer.body.paymentId)).toBeUndefined();
    expect((await merchant.call('GET', `/payments/${answer.body.paymentId}`)).body.status).toBe('cancelled');
    expect(await merchant.balanceCents()).toBe(5000);
  });
});
