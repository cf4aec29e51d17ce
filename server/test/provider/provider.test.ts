import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSimulator } from '@vintem/simulator';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLog } from '../../src/ground/log.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { createUndiciNet } from '../../src/ports/undici-net.ts';
import { parseBrCode } from '../../src/provider/br-code.ts';
import { createEfiProvider, type EfiProvider, simulatorLimits } from '../../src/provider/efi/efi.ts';
import type { Provider, WebhookDelivery } from '../../src/provider/provider.ts';

/** The adapter against the simulator, which behaves as the provider does: what each ending of a call is taken for. */

const net = createUndiciNet();
const key = 'recebedor@vintem.example';
let stateDir: string;
let simulator: { url: string; stop(): Promise<void> };
/** Waits as long as the machine needs. */
let provider: EfiProvider;
/** For what is never answered: long enough for the simulator to have taken the call. */
let impatient: EfiProvider;
let deliveries: WebhookDelivery[] = [];
const inbox = createServer((request, answer) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    deliveries.push({
      headers: request.headers as IncomingHttpHeaders,
      rawBody: Buffer.concat(chunks),
      receivedAt: Date.now(),
    });
    answer.end();
  });
});

const providerWith = (
  more: { clientSecret?: string; callTimeoutMs?: number; pageSize?: number; maxPages?: number } = {},
) => {
  const { clientSecret = 'a secret', ...limits } = more;
  return createEfiProvider({
    connection: 'simulator',
    test: true,
    baseUrl: simulator.url,
    clientId: 'vintem',
    clientSecret,
    pixKey: key,
    webhook: { trust: 'signed', secret: clientSecret },
    net,
    clock: systemClock,
    log: createLog('silent'),
    limits: { ...simulatorLimits, callTimeoutMs: 60_000, ...limits },
  });
};

beforeAll(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'vintem-provider-'));
  simulator = await startSimulator({ host: '127.0.0.1', port: 0, stateDir });
  await new Promise<void>((done) => inbox.listen(0, '127.0.0.1', done));
  provider = providerWith();
  impatient = providerWith({ callTimeoutMs: 5_000 });
  await provider.registerWebhook(`http://127.0.0.1:${(inbox.address() as AddressInfo).port}/hooks/secret`);
});

afterAll(async () => {
  await simulator.stop();
  await net.close();
  inbox.closeAllConnections();
  inbox.close();
  await rm(stateDir, { recursive: true });
});

const control = (method: 'GET' | 'PUT' | 'POST' | 'DELETE', path: string, body?: unknown) =>
  net.request({
    method,
    url: `${simulator.url}/control/${path}`,
    timeoutMs: 60_000,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });

beforeEach(async () => {
  await control('DELETE', 'behaviour');
  deliveries = [];
});

const callerFor = (behaviour: string): EfiProvider =>
  behaviour === 'hang' || behaviour === 'delay-request' ? impatient : provider;

let made = 0;
const newId = () => (0x1000_0000_0000 + ++made).toString(16).padStart(32, 'a');

const charge = (txid: string, at: Provider = provider) =>
  at.createCharge({
    txid,
    amountCents: 12_345,
    payerName: 'João da Silva',
    description: 'Pedido nº 1',
    expirySeconds: 3600,
  });

const payout = (providerId: string, pixKey = 'fulano@example.com', at: Provider = provider) =>
  at.sendPayout({
    providerId,
    amountCents: 975,
    pixKey,
    pixKeyType: 'EMAIL',
    description: 'Saque de março',
  });

async function until<T>(find: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (;;) {
    const found = await find();
    if (found !== undefined) return found;
    await systemClock.sleep(10);
  }
}

describe('a charge', () => {
  test('is created with its code and the deadline of the provider', async () => {
    const txid = newId();
    const before = Date.now();
    const outcome = await charge(txid);
    if (outcome.outcome !== 'accepted') throw new Error(outcome.outcome);
    expect(outcome.report).toMatchObject({ txid, amountCents: 12_345, status: 'open', received: [] });
    expect(outcome.report.createdAt).toBeGreaterThanOrEqual(before - 1000);
    expect(outcome.report.expiresAt).toBe(outcome.report.createdAt + 3_600_000);
    expect(parseBrCode(outcome.report.copyPaste ?? '')).toMatchObject({ amount: '123.45' });
  });

  test('is a duplicate when its txid was used, with the same data as with others', async () => {
    const txid = newId();
    await charge(txid);
    expect(await charge(txid)).toEqual({ outcome: 'duplicate' });
  });

  test('is refused only by a documented refusal', async () => {
    await control('PUT', 'behaviour', { charge: 'refuse' });
    expect(await charge(newId())).toMatchObject({ outcome: 'refused', reason: 'provider_refused' });
  });

  test.each([
    ['lose-answer', 'network', 'found'],
    ['lose-request', 'network', 'notFound'],
    ['error-500', 'server', 'notFound'],
    ['hang', 'network', 'found'],
  ])('with %s is unclear (%s), and a query then says %s', async (behaviour, cause, query) => {
    await control('PUT', 'behaviour', { charge: behaviour });
    const txid = newId();
    expect(await charge(txid, callerFor(behaviour))).toMatchObject({ outcome: 'unclear', cause });
    expect(await provider.queryCharge(txid)).toMatchObject({ outcome: query });
  });

  test('without a code and a location has none', async () => {
    await control('PUT', 'behaviour', { charge: 'no-code' });
    expect(await charge(newId())).toMatchObject({ outcome: 'accepted', report: { copyPaste: null } });
  });

  test('that was paid shows every Pix, and the webhook says the same', async () => {
    const txid = newId();
    await charge(txid);
    await control('POST', `charges/${txid}/pay`, {});
    await control('POST', `charges/${txid}/pay`, { amountCents: 1 });
    const query = await provider.queryCharge(txid);
    if (query.outcome !== 'found') throw new Error(query.outcome);
    expect(query.report.status).toBe('paid');
    expect(query.report.received.map((pix) => pix.amountCents)).toEqual([12_345, 1]);
    const told = await until(() => {
      const pix = deliveries.flatMap((delivery) => {
        const content = provider.parseWebhook(delivery);
        return content.authentic ? content.received : [];
      });
      return pix.length === 2 ? pix : undefined;
    });
    const inOrder = told.toSorted((a, b) => b.amountCents - a.amountCents);
    expect(inOrder).toEqual(query.report.received);
  });

  test('that was removed says so', async () => {
    const txid = newId();
    await charge(txid);
    await control('POST', `charges/${txid}/remove`, {});
    expect(await provider.queryCharge(txid)).toMatchObject({
      outcome: 'found',
      report: { status: 'removed' },
    });
  });

  test('that expired shows a deadline in the past and stays open', async () => {
    const txid = newId();
    await charge(txid);
    await control('POST', `charges/${txid}/expire`, {});
    const query = await provider.queryCharge(txid);
    if (query.outcome !== 'found') throw new Error(query.outcome);
    expect(query.report.status).toBe('open');
    expect(query.report.expiresAt).toBeLessThan(Date.now() - 60_000);
  });
});

describe('a payout', () => {
  test('is accepted, completes, and the webhook says the same as the query', async () => {
    const id = newId();
    const before = Date.now();
    expect(await payout(id)).toMatchObject({
      outcome: 'accepted',
      report: { providerId: id, amountCents: 975, status: 'pending', settledAt: null },
    });
    const report = await until(async () => {
      const query = await provider.queryPayout(id);
      return query.outcome === 'found' && query.report.status === 'completed' ? query.report : undefined;
    });
    expect(report).toMatchObject({ pixKey: 'fulano@example.com', reason: null, returns: [] });
    expect(report.endToEnd).toMatch(/^E/);
    expect(report.settledAt).toBeGreaterThan(before - 1_000);
    const told = await until(() =>
      deliveries
        .flatMap((delivery) => {
          const content = provider.parseWebhook(delivery);
          return content.authentic ? content.payouts : [];
        })
        .find((payout) => payout.providerId === id),
    );
    // Deliveries about payouts name neither the receiver's key nor the receiver.
    expect(told).toEqual({ ...report, pixKey: null, receiver: null });
  });

  test('under an id that was used is a duplicate', async () => {
    const id = newId();
    await payout(id);
    expect(await payout(id)).toEqual({ outcome: 'duplicate' });
  });

  test.each([
    ['refuse-in-answer', 'refused', 'provider_refused', 'refused'],
    ['pix-key-not-found', 'refused', 'pix_key_not_found', 'refused'],
    ['lose-answer', 'unclear', 'network', 'found'],
    ['lose-request', 'unclear', 'network', 'notFound'],
    ['error-500', 'unclear', 'server', 'notFound'],
    ['error-500-after-accepting', 'unclear', 'server', 'found'],
    ['hang', 'unclear', 'network', 'found'],
    ['garbage', 'unclear', 'unreadable', 'found'],
    ['delay-request', 'unclear', 'network', undefined],
  ])('with %s ends %s (%s)', async (behaviour, outcome, why, query) => {
    const id = newId();
    expect(await payout(id, `${behaviour}@simulator.example`, callerFor(behaviour))).toMatchObject({
      outcome,
      ...(outcome === 'refused' ? { reason: why } : { cause: why }),
    });
    if (query === 'refused') {
      expect(await provider.queryPayout(id)).toMatchObject({
        outcome: 'found',
        report: { status: 'refused' },
      });
    } else if (query !== undefined) {
      expect(await provider.queryPayout(id)).toMatchObject({ outcome: query });
    }
  });

  test('refused later says why', async () => {
    const id = newId();
    await payout(id, 'refuse-later@simulator.example');
    const report = await until(async () => {
      const query = await provider.queryPayout(id);
      return query.outcome === 'found' && query.report.status === 'refused' ? query.report : undefined;
    });
    expect(report).toMatchObject({ reason: 'recipient_refused', settledAt: null });
  });

  test('that came back shows the return', async () => {
    const id = newId();
    await payout(id, 'stay-pending@simulator.example');
    await control('POST', `payouts/${id}/complete`, {});
    await control('POST', `payouts/${id}/return`, {});
    const query = await provider.queryPayout(id);
    expect(query).toMatchObject({
      outcome: 'found',
      report: { status: 'completed', returns: [{ amountCents: 975, status: 'settled' }] },
    });
  });

  test.each([
    ['not-found', { outcome: 'notFound' }],
    ['error-500', { outcome: 'unclear', cause: 'server' }],
    ['hang', { outcome: 'unclear', cause: 'network' }],
    ['stale', { outcome: 'found', report: { status: 'pending' } }],
  ])('asked for with query %s', async (behaviour, expected) => {
    const id = newId();
    await payout(id);
    await control('PUT', 'behaviour', { query: behaviour });
    expect(await callerFor(behaviour).queryPayout(id)).toMatchObject(expected);
  });

  test('with an unknown id is not found', async () => {
    expect(await provider.queryPayout(newId())).toEqual({ outcome: 'notFound' });
    expect(await provider.queryCharge(newId())).toEqual({ outcome: 'notFound' });
  });
});

describe('lists', () => {
  test('a window is read to its last page, and says when it was not', async () => {
    const fromMs = Date.now() - 1000;
    const txids: string[] = [];
    const ids: string[] = [];
    for (let turn = 0; turn < 5; turn++) {
      txids.push(newId());
      ids.push(newId());
      await charge(txids[turn] as string);
      await payout(ids[turn] as string);
    }
    const window = { fromMs, toMs: Date.now() + 1000 };
    const paged = providerWith({ pageSize: 2, maxPages: 100 });
    for (const from of [provider, paged]) {
      const charges = await from.listCharges(window);
      const payouts = await from.listPayouts(window);
      if (charges.outcome !== 'listed' || payouts.outcome !== 'listed') throw new Error('not listed');
      expect([charges.complete, payouts.complete]).toEqual([true, true]);
      expect(charges.reports.map((report) => report.txid)).toEqual(expect.arrayContaining(txids));
      expect(payouts.reports.map((report) => report.providerId)).toEqual(expect.arrayContaining(ids));
    }
    const cutOff = await providerWith({ pageSize: 2, maxPages: 1 }).listPayouts(window);
    expect(cutOff).toMatchObject({ outcome: 'listed', complete: false });
  });

  test('the statement and the balance agree', async () => {
    // Transfers of other tests may still be on its way out of the balance.
    type State = { payouts: { status?: string; pixKey: string }[] };
    const underWay = async () => {
      const { payouts } = (await (await fetch(`${simulator.url}/control/state`)).json()) as State;
      return payouts.some((one) => one.status === 'pending' && !/^(stay-pending|hang)@/.test(one.pixKey));
    };
    while (await underWay());
    const before = (await provider.balance()).availableCents;
    const fromMs = Date.now() - 1;
    const txid = newId();
    await charge(txid);
    await control('POST', `charges/${txid}/pay`, {});
    const id = newId();
    await payout(id, 'stay-pending@simulator.example');
    await control('POST', `payouts/${id}/complete`, {});
    expect((await provider.balance()).availableCents).toBe(before + 12_345 - 975);
    const statement = await provider.statement({ fromMs, toMs: Date.now() + 1000 });
    if (statement.outcome !== 'listed') throw new Error(statement.outcome);
    expect(statement.reports).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: 'received', amountCents: 12_345, providerId: txid }),
        expect.objectContaining({ kind: 'sent', amountCents: 975, providerId: id }),
      ]),
    );
  });
});

describe('trust', () => {
  test('a delivery is believed only as it was signed, and not for long', async () => {
    const txid = newId();
    await charge(txid);
    await control('POST', `charges/${txid}/pay`, {});
    const delivery = await until(() => deliveries[0]);
    expect(provider.parseWebhook(delivery).authentic).toBe(true);
    const faults: WebhookDelivery[] = [
      { ...delivery, headers: {} },
      { ...delivery, headers: { 'x-simulator-signature': 't=1,v1=00' } },
      { ...delivery, rawBody: Buffer.concat([delivery.rawBody, Buffer.from(' ')]) },
      { ...delivery, receivedAt: delivery.receivedAt + 301_000 },
    ];
    for (const fault of faults) expect(provider.parseWebhook(fault).authentic).toBe(false);
    expect(providerWith({ clientSecret: 'another secret' }).parseWebhook(delivery).authentic).toBe(false);
  });
});
