import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSimulator } from '@vintem/simulator';
import { back } from '@vintem/testkit/acquirer-kit.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../server/src/ports/clock.ts';
import { createUndiciNet } from '../../server/src/ports/undici-net.ts';
import { createStripeProvider, stripeEvents } from '../../server/src/provider/stripe/stripe.ts';
import { installedPackages } from '../judges.ts';

/** Stripe's own client drives the simulator's dialect, and judges what our adapter makes there and which deliveries it believes. */

const net = createUndiciNet();
const key = `sk_test_${Buffer.from('loja:segredo').toString('base64url')}`;
const secret = 'whsec_segredo';

// biome-ignore lint/suspicious/noExplicitAny: the client's types are the provider's, and a test looks at what it checks
let stripe: any;
let simulator: { url: string; stop(): Promise<void> };
let stateDir: string;
let deliveries: { header: string; body: string }[] = [];
const receiver = createServer((request, answer) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    deliveries.push({
      header: String(request.headers['stripe-signature']),
      body: Buffer.concat(parts).toString(),
    });
    answer.end();
  });
});

beforeAll(async () => {
  const clients = await installedPackages(new URL('clients/', import.meta.url));
  stateDir = await mkdtemp(join(tmpdir(), 'vintem-stripe-'));
  simulator = await startSimulator({ host: '127.0.0.1', port: 0, stateDir });
  await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
  const { default: Stripe } = await import(join(clients, 'stripe/esm/stripe.esm.node.js'));
  const { port } = new URL(simulator.url);
  // The client has no prefix of a path: its calls are passed to the dialect.
  const before = createServer(async (request, answer) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { host: _, connection: _alive, 'content-length': _length, ...passed } = request.headers;
    const given = await fetch(`http://127.0.0.1:${port}/stripe${request.url}`, {
      method: request.method ?? 'GET',
      headers: passed as Record<string, string>,
      ...(parts.length === 0 ? {} : { body: Buffer.concat(parts) }),
    });
    answer.writeHead(given.status, { 'content-type': 'application/json' });
    answer.end(await given.text());
  });
  await new Promise<void>((done) => before.listen(0, '127.0.0.1', done));
  ends.push(() => {
    before.closeAllConnections();
    before.close();
  });
  const at = { host: '127.0.0.1', port: (before.address() as AddressInfo).port, protocol: 'http' };
  stripe = new Stripe(key, { ...at, telemetry: false, maxNetworkRetries: 0 });
  await stripe.webhookEndpoints.create({
    url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
    enabled_events: [...stripeEvents],
  });
});
const ends: (() => void)[] = [];
afterAll(async () => {
  for (const end of ends) end();
  receiver.closeAllConnections();
  receiver.close();
  await net.close();
  await simulator?.stop();
  await rm(stateDir, { recursive: true, force: true });
});
beforeEach(() => {
  deliveries = [];
});

const provider = () =>
  createStripeProvider({
    ...{ connection: 'cartoes', test: true, simulated: true, baseUrl: `${simulator.url}/stripe` },
    ...{ secretKey: key, webhookSecrets: [secret], net, clock: systemClock },
  });

let made = 0;
const order = () => ({
  providerId: String(++made).padStart(32, '0'),
  ...{ amountCents: 12_500, description: 'Pedido 1042', minutes: 60 },
  ...{ createdAt: Date.now(), back, payer: null, host: '127.0.0.1' },
});

const pageOf = (providerId: string, providerRef: string | null, createdAt: number) => ({
  ...{ providerId, providerRef, createdAt, amountCents: 12_500, minutes: 60, approval: null },
});

const asOf = (id: string, amount = 12_500) => ({
  ...{ mode: 'payment', ui_mode: 'hosted_page', payment_method_types: ['card'], client_reference_id: id },
  line_items: [
    {
      quantity: 1,
      price_data: { currency: 'brl', unit_amount: amount, product_data: { name: 'Pedido 1042' } },
    },
  ],
  ...{ success_url: 'https://pay.example.com/', cancel_url: 'https://pay.example.com/' },
});

async function act(id: string, action: string, fields: object = {}): Promise<void> {
  const answer = await fetch(`${simulator.url}/stripe/control/cards/${id}/${action}`, {
    method: 'POST',
    body: JSON.stringify(fields),
  });
  expect(answer.status).toBe(200);
}

const whole = { expand: ['payment_intent.latest_charge.balance_transaction'] };

describe('Stripe’s own client', () => {
  test('reads the page that our adapter makes: its amount, its card alone, its names', async () => {
    const asked = order();
    const answer = await provider().cards?.create(asked);
    if (answer?.outcome !== 'accepted') throw new Error(JSON.stringify(answer));
    const session = await stripe.checkout.sessions.retrieve(answer.report.providerRef);
    expect(session).toMatchObject({
      ...{ object: 'checkout.session', amount_total: 12_500, currency: 'brl', status: 'open' },
      ...{ payment_status: 'unpaid', client_reference_id: asked.providerId, payment_method_types: ['card'] },
    });
  });

  test('makes a page that our adapter finds by our id alone and by its name, and pays the same', async () => {
    const { providerId, createdAt } = order();
    const session = await stripe.checkout.sessions.create(asOf(providerId), { idempotencyKey: providerId });
    const found = await provider().cards?.query(pageOf(providerId, null, createdAt));
    expect(found).toMatchObject({
      outcome: 'found',
      report: { providerRef: session.id, page: 'open', amountCents: 12_500, currency: 'BRL', approval: null },
    });
    await act(providerId, 'approve', { brand: 'visa', last4: '4242' });
    const paid = await stripe.checkout.sessions.retrieve(session.id, whole);
    expect(paid).toMatchObject({
      ...{ status: 'complete', payment_status: 'paid' },
      payment_intent: {
        status: 'succeeded',
        latest_charge: { paid: true, balance_transaction: { status: 'pending', currency: 'brl' } },
      },
    });
    const report = await provider().cards?.query(pageOf(providerId, session.id, createdAt));
    expect(report).toMatchObject({
      report: { approval: { reference: paid.payment_intent.id, released: false, installments: 1 } },
    });
    await act(providerId, 'release');
    const released = await stripe.checkout.sessions.retrieve(session.id, whole);
    expect(released.payment_intent.latest_charge.balance_transaction.status).toBe('available');
  });

  test('gets the first page again under its key, and an error of its own kind for another request under it', async () => {
    const { providerId } = order();
    const first = await stripe.checkout.sessions.create(asOf(providerId), { idempotencyKey: providerId });
    const again = await stripe.checkout.sessions.create(asOf(providerId), { idempotencyKey: providerId });
    expect(again.id).toBe(first.id);
    await expect(
      stripe.checkout.sessions.create(asOf(providerId, 9_000), { idempotencyKey: providerId }),
    ).rejects.toMatchObject({ type: 'StripeIdempotencyError' });
    const ours = order();
    expect(await provider().cards?.create(ours)).toMatchObject({ outcome: 'accepted' });
    // The page that is there is reported as it is: the service stops a payment whose page has another amount (`isOfPayment`).
    expect(await provider().cards?.create({ ...ours, amountCents: 1_000 })).toMatchObject({
      outcome: 'accepted',
      report: { providerId: ours.providerId, amountCents: ours.amountCents, page: 'open' },
    });
  });

  test('knows each refusal by its type', async () => {
    await expect(stripe.checkout.sessions.create(asOf('1', 10))).rejects.toMatchObject({
      ...{ type: 'StripeInvalidRequestError', code: 'amount_too_small' },
    });
    await expect(stripe.checkout.sessions.retrieve('cs_test_none')).rejects.toMatchObject({
      code: 'resource_missing',
    });
    expect(await provider().cards?.create({ ...order(), amountCents: 10 })).toMatchObject({
      ...{ outcome: 'refused', detail: '400 amount_too_small' },
    });
  });

  test('closes an open page, and our adapter reports it closed', async () => {
    const { providerId, createdAt } = order();
    const session = await stripe.checkout.sessions.create(asOf(providerId), { idempotencyKey: providerId });
    expect(await stripe.checkout.sessions.expire(session.id)).toMatchObject({ status: 'expired', url: null });
    const found = await provider().cards?.query(pageOf(providerId, session.id, createdAt));
    expect(found).toMatchObject({ report: { page: 'closed', url: null, approval: null } });
  });

  test('refunds a payment once under its key, and our adapter and the client find each other’s refunds', async () => {
    const { providerId, createdAt } = order();
    const session = await stripe.checkout.sessions.create(asOf(providerId), { idempotencyKey: providerId });
    await act(providerId, 'approve');
    const { payment_intent: intent } = await stripe.checkout.sessions.retrieve(session.id);
    const ours = { endToEnd: intent, providerId: 'a'.repeat(32), chargeId: providerId, amountCents: 2_500 };
    const sent = await provider().sendRefund({ ...ours, description: '' });
    if (sent.outcome !== 'accepted') throw new Error(JSON.stringify(sent));
    expect(await provider().sendRefund({ ...ours, description: '', repeatOf: createdAt })).toEqual(sent);
    expect(
      await provider().sendRefund({
        ...{ ...ours, providerId: 'd'.repeat(32), description: '' },
        repeatOf: Date.now() - 23.5 * 3_600_000,
      }),
    ).toMatchObject({ outcome: 'unclear' });
    expect(await stripe.refunds.retrieve(sent.report.rtrId)).toMatchObject({
      ...{ amount: 2_500, status: 'succeeded', payment_intent: intent },
      metadata: { vintem_refund: 'a'.repeat(32), vintem_payment: providerId },
    });
    const theirs = await stripe.refunds.create({ payment_intent: intent, amount: 1_000 });
    const { data } = await stripe.refunds.list({ payment_intent: intent });
    expect(data.map(({ id }: { id: string }) => id)).toEqual([theirs.id, sent.report.rtrId]);
    expect(await provider().queryRefund(intent, 'a'.repeat(32))).toMatchObject({
      ...{ outcome: 'found', report: { status: 'completed', amountCents: 2_500 } },
    });
    expect(await provider().queryRefund(intent, 'b'.repeat(32))).toEqual({ outcome: 'notFound' });
    const found = await provider().cards?.query(pageOf(providerId, session.id, createdAt));
    expect(found).toMatchObject({
      report: {
        approval: {
          refunds: expect.arrayContaining([
            expect.objectContaining({ providerId: 'a'.repeat(32), amountCents: 2_500, status: 'settled' }),
            expect.objectContaining({ providerId: null, reference: theirs.id, amountCents: 1_000 }),
          ]),
        },
      },
    });
    await expect(stripe.refunds.create({ payment_intent: intent, amount: 9_001 })).rejects.toMatchObject({
      type: 'StripeInvalidRequestError',
    });
    expect(
      await provider().sendRefund({
        ...ours,
        providerId: 'c'.repeat(32),
        amountCents: 9_001,
        description: '',
      }),
    ).toMatchObject({
      outcome: 'refused',
    });
  });

  test('makes a refund whose key Stripe has forgotten: our adapter finds it by our id and sends no second one', async () => {
    const { providerId } = order();
    const session = await stripe.checkout.sessions.create(asOf(providerId), { idempotencyKey: providerId });
    await act(providerId, 'approve');
    const { payment_intent: intent } = await stripe.checkout.sessions.retrieve(session.id);
    const ours = { endToEnd: intent, providerId: 'e'.repeat(32), chargeId: providerId, amountCents: 2_500 };
    const made = await stripe.refunds.create({
      ...{ payment_intent: intent, amount: 2_500, metadata: { vintem_refund: ours.providerId } },
    });
    expect(await provider().sendRefund({ ...ours, description: '' })).toMatchObject({
      ...{ outcome: 'accepted', report: { rtrId: made.id, status: 'completed', amountCents: 2_500 } },
    });
    const { data } = await stripe.refunds.list({ payment_intent: intent });
    expect(data.map(({ id }: { id: string }) => id)).toEqual([made.id]);
  });

  test('reads a dispute, what it took and what it gave back, and its events name the payment for our adapter', async () => {
    const { providerId, createdAt } = order();
    const session = await stripe.checkout.sessions.create(asOf(providerId), { idempotencyKey: providerId });
    await act(providerId, 'approve');
    const since = deliveries.length;
    await act(providerId, 'chargeback');
    const { payment_intent: intent } = await stripe.checkout.sessions.retrieve(session.id);
    const { data } = await stripe.disputes.list({ payment_intent: intent });
    expect(data).toMatchObject([
      {
        object: 'dispute',
        amount: 12_500,
        status: 'needs_response',
        balance_transactions: [{ amount: -12_500 }],
      },
    ]);
    const asked = pageOf(providerId, session.id, createdAt);
    const chargebackOf = async () => {
      const found = await provider().cards?.query(asked);
      return found?.outcome === 'found' ? found.report.approval?.chargebacks : found;
    };
    expect(await chargebackOf()).toMatchObject([
      {
        report: { providerId: data[0].id, endToEnd: intent, status: 'open' },
        outCents: 12_500,
        backCents: 0,
      },
    ]);
    const window = () => ({ fromMs: Date.now() - 60_000, toMs: Date.now() });
    const debited = async () => {
      const listed = await provider().disputes?.list(window());
      return listed?.outcome === 'listed'
        ? listed.reports.find((one) => one.endToEnd === intent)?.debitedCents
        : listed;
    };
    expect(await debited()).toBe(12_500);
    await act(providerId, 'win');
    expect(await debited()).toBe(0);
    expect(await stripe.disputes.retrieve(data[0].id)).toMatchObject({ status: 'won' });
    expect(await chargebackOf()).toMatchObject([
      { report: { status: 'rejected' }, outCents: 12_500, backCents: 12_500 },
    ]);
    const listed = await provider().disputes?.list(window());
    expect(listed).toMatchObject({ outcome: 'listed', complete: true });
    expect(await provider().findPix(intent)).toEqual({
      outcome: 'found',
      report: { direction: 'received', providerId },
    });
    const isOfDispute = ({ body }: { body: string }) => JSON.parse(body).type.startsWith('charge.dispute.');
    while (deliveries.slice(since).filter(isOfDispute).length < 4) await systemClock.sleep(20);
    for (const { header, body } of deliveries.slice(since).filter(isOfDispute)) {
      const delivery = { headers: { 'stripe-signature': header }, rawBody: Buffer.from(body) };
      expect(stripe.webhooks.constructEvent(body, header, secret).data.object.payment_intent).toBe(intent);
      expect(await provider().parseWebhook({ ...delivery, receivedAt: Date.now() })).toMatchObject({
        ...{ authentic: true, named: [], namedAs: [intent] },
      });
    }
  });

  test('lists the attempts of a payment and reads the balance', async () => {
    const { providerId, createdAt } = order();
    const session = await stripe.checkout.sessions.create(asOf(providerId), { idempotencyKey: providerId });
    await act(providerId, 'refuse', { reason: 'expired_card' });
    const { payment_intent: intent } = await stripe.checkout.sessions.retrieve(session.id);
    const { data } = await stripe.charges.list({ payment_intent: intent });
    expect(data.map((one: { status: string }) => one.status)).toEqual(['failed']);
    const found = await provider().cards?.query(pageOf(providerId, session.id, createdAt));
    expect(found).toMatchObject({ report: { attempt: { refusal: 'expired_card', refusals: 1 } } });
    const { available, pending } = await stripe.balance.retrieve();
    const cents = [...available, ...pending].reduce((sum, { amount }) => sum + amount, 0);
    expect((await provider().balance()).totalCents).toBe(cents);
  });

  test('believes the simulator’s signatures and ours the client’s, and neither believes a changed body or an old time', async () => {
    const { providerId } = order();
    await stripe.checkout.sessions.create(asOf(providerId), { idempotencyKey: providerId });
    await act(providerId, 'approve');
    while (deliveries.length < 2) await systemClock.sleep(20);
    for (const { header, body } of deliveries) {
      expect(stripe.webhooks.constructEvent(body, header, secret).data.object).toMatchObject({
        livemode: false,
      });
      expect(() => stripe.webhooks.constructEvent(`${body} `, header, secret)).toThrow();
      const delivery = { headers: { 'stripe-signature': header }, receivedAt: Date.now() };
      expect(provider().parseWebhook({ ...delivery, rawBody: Buffer.from(body) })).toMatchObject({
        ...{ authentic: true, named: [providerId] },
      });
      expect(provider().parseWebhook({ ...delivery, rawBody: Buffer.from(`${body} `) })).toMatchObject({
        authentic: false,
      });
      const late = { ...delivery, receivedAt: Date.now() + 301_000, rawBody: Buffer.from(body) };
      expect(provider().parseWebhook(late)).toMatchObject({ authentic: false });
    }
    const body = JSON.stringify({ object: 'event', data: { object: { client_reference_id: providerId } } });
    const header = stripe.webhooks.generateTestHeaderString({ payload: body, secret });
    expect(
      provider().parseWebhook({
        headers: { 'stripe-signature': header },
        ...{ rawBody: Buffer.from(body), receivedAt: Date.now() },
      }),
    ).toMatchObject({ authentic: true, named: [providerId] });
  });
});
