import { newDraft } from '@vintem/testkit/draft.ts';
import { mailsTo } from '@vintem/testkit/panel.ts';
import { openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Vintem, VintemError } from '../src/index.ts';
import { createFakeServer } from '../src/testing.ts';

/** The fake server beside the real one: the same calls, with the same answers and refusals. */

interface Side {
  vintem: Vintem;
  pay(id: string): Promise<unknown>;
  /** A person begins a transfer of R$ 10. */
  draft(): Promise<{ id: string; code: string }>;
}
let service: Service;
const sides: Record<string, () => Promise<Side>> = {
  'the service': async () => {
    const shop = await service.newMerchant();
    return {
      vintem: new Vintem({ apiKey: shop.key, baseUrl: service.url }),
      draft: async () => {
        const before = (await mailsTo(service, 'ana@empresa.example')).length;
        const id = await newDraft(service, shop);
        await until(async () => (await mailsTo(service, 'ana@empresa.example')).length > before);
        const mail = (await mailsTo(service, 'ana@empresa.example')).at(-1) ?? '';
        return { id, code: /^Código: (\d{6})/m.exec(mail)?.[1] ?? '' };
      },
      pay: (id) => service.simulator.control('POST', `/control/charges/${id.replaceAll('-', '')}/pay`),
    };
  },
  'the fake server': async () => {
    const fake = createFakeServer();
    return {
      vintem: new Vintem(fake),
      pay: async (id) => fake.pay(id),
      draft: async () => fake.draft({ amountCents: 1000, pixKey: to.pixKey }),
    };
  },
};
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

const sideOf = (name: string) => (sides[name] as () => Promise<Side>)();
const refusalOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'accepted',
    (error: VintemError) => `${error.statusCode} ${error.code}${error.paymentId ? ' with a payment' : ''}`,
  );
const to = { pixKey: 'maria@example.com', pixKeyType: 'EMAIL' } as const;

describe.each(Object.keys(sides))('%s', (name) => {
  test('charges, transfers and their request keys', async () => {
    const { vintem, pay } = await sideOf(name);
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
    const { vintem, pay } = await sideOf(name);
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
    const { vintem } = await sideOf(name);
    expect(await refusalOf(vintem.account.get())).toBe('accepted');
    const fake = createFakeServer();
    const wrong =
      name === 'the service'
        ? new Vintem({ apiKey: 'vtm_test_wrong', baseUrl: service.url })
        : new Vintem({ ...fake, apiKey: 'vtm_test_wrong' });
    expect(await refusalOf(wrong.account.get())).toBe('401 api_key_invalid');
  });
});

/** Names and kinds of the members, however deep; `null` and a string are both what may stand there. */
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value !== 'object' || value === null)
    return value === null || typeof value === 'string' ? 'text' : typeof value;
  const members = Object.entries(value).map(([name, of]) => [name, shapeOf(of)] as const);
  return Object.fromEntries(members.sort(([one], [other]) => (one < other ? -1 : 1)));
};

/** The same story on either side: what it tells that does not depend on ids and times, and the shape of every answer. */
async function tell({ vintem, pay, draft }: Side): Promise<{ said: unknown[]; shapes: unknown[] }> {
  const said: unknown[] = [];
  const shapes: unknown[] = [];
  const saw = <Value>(value: Value): Value => {
    shapes.push(shapeOf(value));
    return value;
  };
  const charge = await vintem.charges.create({
    amountCents: 9000,
    payerName: 'Maria',
    description: 'Pedido',
  });
  await pay(charge.id);
  await vintem.payments.waitFor(charge.id);
  const transfer = await vintem.transfers.create({ amountCents: 1000, ...to, description: 'Farinha' });
  await vintem.payments.waitFor(transfer.id);

  const first = await draft();
  said.push(saw(await vintem.payments.get(first.id)).status);
  const wrong = first.code === '000000' ? '000001' : '000000';
  said.push(await refusalOf(vintem.transfers.confirm(first.id, { code: wrong })));
  // Under way or completed already, as the provider likes; what it charges for it the fake one does not tell.
  const confirmed = await vintem.transfers.confirm(first.id, { code: first.code });
  said.push((await vintem.payments.waitFor(confirmed.id)).status);
  said.push(await refusalOf(vintem.transfers.confirm(first.id, { code: first.code })));
  const second = saw(await vintem.transfers.cancel((await draft()).id));
  said.push([second.status, second.reasonCode], await refusalOf(vintem.transfers.cancel(second.id)));
  said.push(await refusalOf(vintem.transfers.cancel(charge.id)));

  said.push(await refusalOf(vintem.testMode.dispute(charge.id, { amountCents: 9001 })));
  await vintem.testMode.dispute(charge.id, { amountCents: 3000 });
  const disputes = async () => {
    const { value } = await vintem.disputes.list().pages().next();
    return value?.items ?? [];
  };
  await until(async () => (await disputes()).length > 0);
  const [{ id = '' } = {}] = await disputes();
  for (const [act, status] of [
    ['defend', 'defending'],
    ['reject', 'rejected'],
  ] as const) {
    await vintem.testMode.moveDispute(id, act);
    await until(async () => (await vintem.disputes.get(id)).status === status);
    const { heldCents, debitedCents } = saw(await vintem.disputes.get(id));
    said.push([heldCents, debitedCents, (await vintem.account.get()).balanceCents]);
  }
  said.push(await refusalOf(vintem.disputes.get(crypto.randomUUID())));

  for await (const line of vintem.account.statement()) {
    saw(line);
    const { kind, amountCents, balanceCents, description, payerName } = line;
    said.push([kind, amountCents, balanceCents, description, payerName, line.paymentId === null]);
  }
  const pages = vintem.account.statement({ from: '2020-01-01', limit: 2 }).pages();
  const { value: page } = await pages.next();
  said.push([page?.items.length, page?.openingBalanceCents, page?.closingBalanceCents]);
  const { value: empty } = await vintem.account.statement({ to: '2020-01-01' }).pages().next();
  said.push([empty?.items, empty?.openingBalanceCents, empty?.closingBalanceCents]);

  said.push(saw(await vintem.testMode.clock()).started, saw(await vintem.testMode.startClock()).started);
  said.push(await refusalOf(vintem.testMode.advance(new Date(Date.now() - 1000))));
  const open = await vintem.charges.create({ amountCents: 500, payerName: 'Maria' });
  const lapses = await draft();
  saw(await vintem.testMode.advance(new Date(Date.now() + 3 * 86_400_000)));
  await until(async () => (await vintem.testMode.clock()).status === 'ready', 240_000);
  said.push((await vintem.payments.get(open.id)).status, (await vintem.payments.get(lapses.id)).reasonCode);
  return { said, shapes };
}

test('statement, drafts, disputes and test clock are told alike by both', { timeout: 500_000 }, async () => {
  const [real, fake] = [await tell(await sideOf('the service')), await tell(await sideOf('the fake server'))];
  expect(fake.said).toEqual(real.said);
  expect(fake.shapes).toEqual(real.shapes);
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
