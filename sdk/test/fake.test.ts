import { openService, type Service } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Vintem, VintemError } from '../src/index.ts';
import { createFakeServer } from '../src/testing.ts';

/** The fake server beside the real one: the same calls, with the same answers and refusals. */

interface Side {
  vintem: Vintem;
  pay(id: string): Promise<unknown>;
}
let service: Service;
const sides: Record<string, () => Promise<Side>> = {
  'the service': async () => {
    const { key } = await service.newMerchant();
    return {
      vintem: new Vintem({ apiKey: key, baseUrl: service.url }),
      pay: (id) => service.simulator.control('POST', `/control/charges/${id.replaceAll('-', '')}/pay`),
    };
  },
  'the fake server': async () => {
    const fake = createFakeServer();
    return { vintem: new Vintem(fake), pay: async (id) => fake.pay(id) };
  },
};
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

const refusalOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'accepted',
    (error: VintemError) => `${error.statusCode} ${error.code}${error.paymentId ? ' with a payment' : ''}`,
  );
const to = { pixKey: 'maria@example.com', pixKeyType: 'EMAIL' } as const;

describe.each(Object.keys(sides))('%s', (name) => {
  test('charges, transfers and their request keys', async () => {
    const { vintem, pay } = await (sides[name] as () => Promise<Side>)();
    const charge = await vintem.charges.create({ amountCents: 5000, payerName: 'Maria' });
    expect(charge).toMatchObject({
      kind: 'deposit',
      status: 'pending',
      settledAt: null,
      paymentMethod: 'pix',
    });
    expect(charge.copyPaste).toMatch(/^000201/);
    await pay(charge.id);
    const paid = await vintem.payments.waitFor(charge.id, { timeoutMs: 30_000 });
    expect(paid).toMatchObject({ status: 'paid', netAmountCents: 5000 });
    expect(paid.copyPaste).toBeUndefined();

    const made = await vintem.transfers.create({ amountCents: 1000, ...to });
    expect(made).toMatchObject({ feeCents: 25, debitAmountCents: 1000, expectedNetAmountCents: 975 });
    const done = await vintem.payments.waitFor(made.id, { timeoutMs: 30_000 });
    expect(done).toMatchObject({ status: 'completed', netAmountCents: 975 });
    const { requestKey } = made;
    expect((await vintem.transfers.create({ amountCents: 1000, ...to, requestKey })).id).toBe(made.id);
    expect(await refusalOf(vintem.transfers.create({ amountCents: 1001, ...to, requestKey }))).toBe(
      '400 idempotency_conflict with a payment',
    );
    const account = await vintem.account.get();
    expect(account).toMatchObject({ balanceCents: 4000, reservedWithdrawalCents: 0, enabled: true });

    expect(await refusalOf(vintem.transfers.create({ amountCents: 500_000, ...to }))).toBe(
      '400 insufficient_balance',
    );
    expect(await refusalOf(vintem.transfers.create({ amountCents: 999, ...to }))).toBe(
      '400 validation_failed',
    );
    expect(await refusalOf(vintem.charges.create({ amountCents: 0.5, payerName: 'M' }))).toBe(
      '400 validation_failed',
    );
    expect(await refusalOf(vintem.payments.get(crypto.randomUUID()))).toBe('404 payment_not_found');
    expect(await refusalOf(vintem.payments.get('nothing'))).toBe('400 invalid_id');
    const refused = {
      amountCents: 1000,
      pixKey: 'refuse-in-answer@simulator.example',
      pixKeyType: 'EMAIL',
    } as const;
    expect(await refusalOf(vintem.transfers.create(refused))).toMatch(/^400 \w+_refused with a payment$/);

    const listed: string[] = [];
    for await (const { id } of vintem.payments.list({ limit: 1, status: ['paid', 'completed'] }))
      listed.push(id);
    expect(listed).toEqual([made.id, charge.id]);
    const { value: found } = await vintem.payments.list({ requestKey }).pages().next();
    expect(found?.items.map(({ id }) => id)).toEqual([made.id]);
    expect(await refusalOf(vintem.payments.list().pages('nonsense').next())).toBe('400 invalid_cursor');
  });

  test('business operations and events', async () => {
    const { vintem, pay } = await (sides[name] as () => Promise<Side>)();
    expect((await vintem.operations.list()).operations).toMatchObject([{ isDefault: true, balanceCents: 0 }]);
    const branch = await vintem.operations.create({ name: 'Filial' });
    expect((await vintem.account.get({ operation: branch.id })).operationId).toBe(branch.id);
    expect((await vintem.operations.update(branch.id, { name: 'Praia' })).name).toBe('Praia');
    const inBranch = await vintem.charges.create(
      { amountCents: 500, payerName: 'Maria' },
      { operation: branch.id },
    );
    expect(await refusalOf(vintem.payments.get(inBranch.id))).toBe('404 payment_not_found');
    expect(await refusalOf(vintem.operations.delete(branch.id))).toBe(
      '400 operation_has_unfinished_payments',
    );
    expect(await refusalOf(vintem.account.get({ operation: crypto.randomUUID() }))).toBe(
      '404 operation_not_found',
    );
    expect(await refusalOf(vintem.account.get({ operation: 'x' }))).toBe('400 invalid_operation_header');

    const heard: string[] = [];
    let cursor = '';
    const opened = (): void => void pay(inBranch.id);
    for await (const event of vintem.events.follow('0', { types: ['charge.paid'], opened })) {
      if (event.type !== 'charge.paid') continue;
      heard.push(`${event.change.from} ${event.change.to} ${event.data.requestKey === inBranch.requestKey}`);
      cursor = event.cursor;
      break;
    }
    expect(heard).toEqual(['pending paid true']);
    expect(Number(cursor)).toBeGreaterThan(0);
    expect(await refusalOf(vintem.operations.delete(branch.id))).toBe('400 operation_has_balance');
  });

  test('a wrong key', async () => {
    const { vintem } = await (sides[name] as () => Promise<Side>)();
    expect(await refusalOf(vintem.account.get())).toBe('accepted');
    const fake = createFakeServer();
    const wrong =
      name === 'the service'
        ? new Vintem({ apiKey: 'vtm_test_wrong', baseUrl: service.url })
        : new Vintem({ ...fake, apiKey: 'vtm_test_wrong' });
    expect(await refusalOf(wrong.account.get())).toBe('401 api_key_invalid');
  });
});

test('the faults of the fake server are those of a network', async () => {
  const fake = createFakeServer({ balanceCents: 5000 });
  const vintem = new Vintem({ ...fake, timeoutMs: 200 });
  fake.fail('drop', 'hang', 503);
  await vintem.transfers.create({ amountCents: 1000, ...to });
  fake.fail('lose-answer', 'lose-answer', 'lose-answer', 'lose-answer', 'lose-answer');
  const error = await vintem.transfers.create({ amountCents: 1000, ...to }).catch((failed) => failed);
  expect(error).toBeInstanceOf(VintemError);
  expect(error).toMatchObject({ retryable: true, code: 'network_error' });
  await vintem.transfers.create({ amountCents: 1000, ...to, requestKey: error.requestKey });
  expect((await vintem.account.get()).balanceCents).toBe(3000);
  expect(fake.events.filter(({ type }) => type === 'transfer.completed')).toHaveLength(2);
});
