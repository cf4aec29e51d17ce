import { newDraft } from '@vintem/testkit/draft.ts';
import { mailsTo } from '@vintem/testkit/panel.ts';
import { openReceiver, type Receiver } from '@vintem/testkit/receiver.ts';
import { openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Delivery, Vintem, VintemError, verifyWebhook } from '../src/index.ts';
import { createFakeServer } from '../src/testing.ts';

/** The fake server beside the real one: the same calls, with the same answers and refusals. */

interface Side {
  vintem: Vintem;
  pay(id: string): Promise<unknown>;
  /** A person begins a transfer of R$ 10. */
  draft(): Promise<{ id: string; code: string }>;
  shop: Shop;
}
/** What stands at an endpoint's address. */
interface Shop {
  url: string;
  got: { text: string; headers: Record<string, string | string[] | undefined> }[];
  answer(status: number): void;
}
let service: Service;
const receivers: Receiver[] = [];
const sides: Record<string, () => Promise<Side>> = {
  'the service': async () => {
    const shop = await service.newMerchant();
    const receiver = await openReceiver();
    receivers.push(receiver);
    return {
      shop: receiver,
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
    let status = 200;
    const shop: Shop = {
      url: 'http://127.0.0.1:4000/hook',
      got: [],
      answer: (given) => {
        status = given;
      },
    };
    fake.receive = async (request) => {
      shop.got.push({ text: await request.text(), headers: Object.fromEntries(request.headers) });
      return new Response('noted', { status });
    };
    return {
      shop,
      vintem: new Vintem(fake),
      pay: async (id) => fake.pay(id),
      draft: async () => fake.draft({ amountCents: 1000, pixKey: to.pixKey }),
    };
  },
};
beforeAll(async () => {
  service = await openService({ env: { WEBHOOK_ALLOW_INSECURE_LOCAL: 'true' } });
});
afterAll(async () => {
  await Promise.all(receivers.map((receiver) => receiver.stop()));
  await service?.close();
});

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
  // Under way or completed already, as the provider likes.
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
  said.push(await refusalOf(vintem.refunds.create(charge.id, { amountCents: 1 })));
  await vintem.testMode.advance(new Date(Date.now() + 91 * 86_400_000));
  await until(async () => (await vintem.testMode.clock()).status === 'ready', 240_000);
  said.push(await refusalOf(vintem.refunds.create(charge.id, { amountCents: 1 })));
  return { said, shapes };
}

test('statement, drafts, disputes and test clock are told alike by both', { timeout: 500_000 }, async () => {
  const [real, fake] = [await tell(await sideOf('the service')), await tell(await sideOf('the fake server'))];
  expect(fake.said).toEqual(real.said);
  expect(fake.shapes).toEqual(real.shapes);
});

/** A paid charge and a completed transfer, as every story needs them. */
async function begin({ vintem, pay }: Side) {
  const charge = await vintem.charges.create({
    amountCents: 9000,
    payerName: 'Maria',
    description: 'Pão, 2×',
  });
  await pay(charge.id);
  await vintem.payments.waitFor(charge.id);
  const transfer = await vintem.transfers.create({ amountCents: 2000, ...to, description: 'Farinha & sal' });
  await vintem.payments.waitFor(transfer.id);
  return { charge, transfer };
}

/** Refunds, what comes back, a defence, the files of the statement, and a fresh start. */
async function tellOfMoney(side: Side): Promise<{ said: unknown[]; shapes: unknown[] }> {
  const { vintem } = side;
  const said: unknown[] = [];
  const shapes: unknown[] = [];
  const saw = <Value>(value: Value): Value => {
    shapes.push(shapeOf(value));
    return value;
  };
  const balance = async () => (await vintem.account.get()).balanceCents;
  const { charge, transfer } = await begin(side);

  const { id: refundId } = await vintem.refunds.create(charge.id, { amountCents: 500, description: 'Troco' });
  await until(async () => (await vintem.refunds.get(refundId)).status === 'completed');
  said.push(
    saw(await vintem.refunds.get(refundId)).reason,
    saw(await vintem.payments.get(charge.id)).refundedCents,
  );
  said.push(await refusalOf(vintem.refunds.create(charge.id, { amountCents: 8501 })));
  said.push(await refusalOf(vintem.refunds.create(transfer.id)));

  said.push(await refusalOf(vintem.testMode.return(transfer.id, { amountCents: 1976 })));
  await vintem.testMode.return(transfer.id, { amountCents: 300 });
  await until(async () => (await vintem.payments.get(transfer.id)).notice !== undefined);
  said.push(saw(await vintem.payments.get(transfer.id)).notice, await balance());
  await vintem.testMode.return(charge.id, { amountCents: 200 });
  await until(async () => (await vintem.payments.get(charge.id)).notice !== undefined);
  said.push(saw(await vintem.payments.get(charge.id)).notice, await balance());
  const removed = await vintem.charges.create({ amountCents: 500, payerName: 'Maria' });
  await vintem.testMode.end(removed.id, 'remove');
  const gone = saw(await vintem.payments.waitFor(removed.id));
  said.push(gone.status, gone.reasonCode, gone.notice, await refusalOf(vintem.testMode.return(removed.id)));

  const other = await vintem.charges.create({ amountCents: 700, payerName: 'Maria' });
  await vintem.testMode.pay(other.id, { amountCents: 600 });
  await until(async () => (await vintem.payments.get(other.id)).notice !== undefined);
  const paidOther = saw(await vintem.payments.get(other.id));
  said.push(paidOther.status, paidOther.notice, await balance());

  await vintem.testMode.dispute(charge.id, { amountCents: 3000 });
  const opened = async () => (await vintem.disputes.list().pages().next()).value?.items ?? [];
  await until(async () => (await opened()).length > 0);
  const [{ id = '' } = {}] = await opened();
  said.push(saw(await vintem.disputes.defence(id)).offer);
  const defence = saw(await vintem.disputes.defend(id, { text: 'Entregue em 20/11.' }));
  said.push(defence.status, (await vintem.disputes.defend(id, { text: 'Entregue em 20/11.' })).text);
  said.push(await refusalOf(vintem.disputes.defend(id, { text: 'Outro texto.' })));
  await until(async () => (await vintem.disputes.get(id)).status === 'defending');
  await until(async () => (await vintem.disputes.defence(id)).defence?.status === 'sent');
  said.push(saw(await vintem.disputes.defence(id)).offer);
  await vintem.testMode.moveDispute(id, 'accept');
  await until(async () => (await vintem.disputes.get(id)).status === 'accepted');
  await vintem.testMode.return(charge.id, { amountCents: 3000 });
  await until(async () => (await vintem.disputes.get(id)).debitedCents > 0);
  const { heldCents, debitedCents } = saw(await vintem.disputes.get(id));
  said.push(heldCents, debitedCents, await balance());

  for await (const { kind, amountCents, balanceCents } of vintem.account.statement())
    said.push([kind, amountCents, balanceCents]);
  const file = async (...[format, form]: Parameters<typeof vintem.account.statementFile>) => {
    const blob = await vintem.account.statementFile(format, form);
    // Ids and times are each side's own.
    const text = (await blob.text())
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[ED][0-9A-Za-z]{31}\b/g, 'ID')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+-03:00|\d{14}\[-3:BRT\]/g, 'TIME')
      .replaceAll(/<(ACCTID|REFNUM)>\S+/g, '<$1>ID');
    return [blob.type.split(';')[0], text];
  };
  said.push(
    await file('csv', { from: '2020-01-01' }),
    await file('csv', { separator: 'semicolon', bom: 'yes' }),
  );
  said.push(await file('ofx', { from: '2020-01-01' }));
  const [type, pdf] = await file('pdf');
  said.push(
    type,
    pdf?.slice(0, 5),
    await refusalOf(vintem.account.statementFile('csv', { from: 'yesterday' })),
  );

  // These are written only where an endpoint hears them; the fake server writes them always.
  const seldom = ['charge.created', 'transfer.created', 'charge.refunded'];
  const events: string[] = [];
  for await (const event of vintem.events.list()) {
    if (seldom.includes(event.type)) continue;
    saw(event);
    events.push(`${event.type} ${'change' in event ? JSON.stringify(event.change) : ''}`);
  }
  said.push(events);

  const before = (await vintem.operations.list()).ownerId;
  const fresh = saw(await vintem.testMode.reset());
  // Every process knows of it within a second.
  await until(async () => (await vintem.operations.list()).ownerId !== before);
  const { ownerId, operations } = await vintem.operations.list();
  said.push(
    ownerId === fresh.ownerId,
    operations.map(({ id }) => id === fresh.operationId),
  );
  said.push((await vintem.webhooks.list()).webhooks, await balance());
  said.push(await refusalOf(vintem.payments.get(charge.id)));
  return { said, shapes };
}

/** Endpoints, what is sent to them, and what is tried again. */
async function tellOfWebhooks(side: Side): Promise<{ said: unknown[]; shapes: unknown[] }> {
  const { vintem, shop } = side;
  const said: unknown[] = [];
  const shapes: unknown[] = [];
  const saw = <Value>(value: Value): Value => {
    shapes.push(shapeOf(value));
    return value;
  };
  said.push((await vintem.webhooks.eventTypes()).eventTypes);
  said.push(await refusalOf(vintem.webhooks.create({ url: 'ftp://loja.example', events: ['*'] })));
  const { id, secret = '' } = saw(
    await vintem.webhooks.create({ url: shop.url, events: ['charge.paid', 'transfer.completed'] }),
  );
  await begin(side);
  const all = async (): Promise<Delivery[]> => {
    const found: Delivery[] = [];
    for await (const delivery of vintem.webhooks.deliveries(id)) found.push(delivery);
    return found;
  };
  const settled = (count: number, status: string) =>
    until(async () => (await all()).filter((one) => one.status === status).length === count, 60_000);
  await settled(2, 'delivered');
  const [second] = saw(await all());
  said.push(
    (await all()).map(({ type, attempts }) => [type, attempts.map(({ n, statusCode }) => [n, statusCode])]),
  );
  said.push(shop.got.map(({ text, headers }) => verifyWebhook(text, headers, [secret]).type));
  said.push(shop.got.map(({ headers }) => headers['x-webhook-attempt']));

  const both = await vintem.webhooks.rotateSecret(id, { overlapHours: 1 });
  said.push(await refusalOf(vintem.webhooks.rotateSecret(id)));
  await vintem.webhooks.retryDelivery(id, second?.id ?? '');
  await until(async () => shop.got.length === 3);
  const again = shop.got[2];
  for (const one of [secret, both.secret])
    said.push(verifyWebhook(again?.text ?? '', again?.headers ?? {}, [one]).type);
  said.push(again?.headers['webhook-id'] === second?.eventId, again?.headers['x-webhook-attempt']);

  shop.answer(500);
  const { deliveryId } = await vintem.webhooks.test(id, { type: 'transfer.cancelled' });
  await until(async () => (await vintem.webhooks.delivery(id, deliveryId)).status === 'failed');
  const failed = saw(await vintem.webhooks.delivery(id, deliveryId));
  said.push([
    failed.type,
    failed.attempts.map(({ statusCode, responseSnippet }) => [statusCode, responseSnippet]),
  ]);
  said.push(await refusalOf(vintem.webhooks.delivery(id, crypto.randomUUID())));

  const off = saw(await vintem.webhooks.update(id, { enabled: false }));
  said.push([off.status, off.disabledReason], await refusalOf(vintem.webhooks.test(id)));
  const from = new Date(Date.now() - 3_600_000).toISOString();
  said.push(await refusalOf(vintem.webhooks.replay(id, { from })));
  await begin(side);
  await settled(2, 'skipped');
  shop.answer(200);
  await vintem.webhooks.update(id, { enabled: true, events: ['charge.paid'] });
  said.push((await vintem.webhooks.replay(id, { from })).scheduled);
  await settled(4, 'delivered');
  said.push(
    (await vintem.webhooks.replay(id, { from, onlyFailed: false, types: ['charge.paid'] })).scheduled,
  );
  await until(async () => shop.got.length === 8);
  said.push(await refusalOf(vintem.webhooks.replay(id, { from: '2020-01-01T00:00:00Z' })));

  // Three days of attempts within one move of the clock, and an endpoint that is gone.
  await settled(4, 'delivered');
  await vintem.testMode.startClock();
  shop.answer(503);
  const heard = shop.got.length;
  const charge = await vintem.charges.create({ amountCents: 500, payerName: 'Maria' });
  await side.pay(charge.id);
  await until(
    async () => (await all())[0]?.status === 'pending' && ((await all())[0]?.attempts.length ?? 0) > 0,
  );
  await vintem.testMode.advance(new Date(Date.now() + 5 * 86_400_000));
  await until(async () => (await vintem.testMode.clock()).status === 'ready', 240_000);
  const [tried] = await all();
  said.push([
    tried?.status,
    tried?.attempts.map(({ n, statusCode }) => [n, statusCode]),
    shop.got.length - heard,
  ]);
  said.push(shop.got.slice(heard).map(({ headers }) => 'x-webhook-test-time' in headers));
  shop.answer(410);
  await vintem.webhooks.test(id);
  await until(async () => (await vintem.webhooks.get(id)).status === 'disabled');
  said.push((await vintem.webhooks.get(id)).disabledReason);
  return { said, shapes };
}

test.each([
  ['refunds, returns, defences, files and a reset', tellOfMoney],
  ['endpoints and deliveries', tellOfWebhooks],
])('%s are told alike by both', { timeout: 500_000 }, async (_name, story) => {
  const [real, fake] = [
    await story(await sideOf('the service')),
    await story(await sideOf('the fake server')),
  ];
  expect(fake.said).toEqual(real.said);
  expect(fake.shapes).toEqual(real.shapes);
});

test('every call of the API and of test mode is there', async () => {
  const missing: string[] = [];
  for (const base of ['public', 'test']) {
    const document = await fetch(`${service.url}/api/v1/${base}/openapi.json`);
    const { paths } = (await document.json()) as { paths: Record<string, object> };
    const calls = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => ['get', 'post', 'patch', 'put', 'delete'].includes(method))
        .map((method) => [method.toUpperCase(), path] as const),
    );
    expect(calls.length).toBeGreaterThan(10);
    const fake = createFakeServer();
    for (const [method, path] of calls) {
      const url = `${fake.baseUrl}/api/v1/${base}${path.replaceAll(/\{\w+\}/g, crypto.randomUUID())}`;
      const answer = await fake.fetch(url, {
        method,
        headers: { authorization: `Bearer ${fake.apiKey}` },
        ...(method !== 'GET' && { body: '{}' }),
      });
      if (path.endsWith('/stream')) await answer.body?.cancel();
      else if ((await answer.text()).includes('route_not_found')) missing.push(`${method} ${path}`);
    }
  }
  expect(missing).toEqual([]);
});

test('the faults of the fake server are those of a network', async () => {
  const fake = createFakeServer({ balanceCents: 5000 });
  const vintem = new Vintem({ ...fake, timeoutMs: 2_000 });
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
