import { createPrivateKey } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSimulator } from '@vintem/simulator';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLog } from '../../server/src/ground/log.ts';
import { simulatorKey } from '../../server/src/operate/connections/credentials.ts';
import { systemClock } from '../../server/src/ports/clock.ts';
import { createUndiciNet } from '../../server/src/ports/undici-net.ts';
import type { Provider } from '../../server/src/provider/provider.ts';
import { createStarkProvider } from '../../server/src/provider/stark/stark.ts';
import { installedPackages } from '../judges.ts';

/** Stark's own client drives the simulator's dialect, and judges what our adapter makes there, signs and believes. */

const net = createUndiciNet();
const projectId = Buffer.from('loja:segredo').toString('base64url');
const pem = simulatorKey('segredo');

// biome-ignore lint/suspicious/noExplicitAny: the client's types are the provider's, and a test looks at what it checks
type Any = any;
let starkbank: Any;
let ecdsa: Any;
let provider: Provider;
let simulator: { url: string; stop(): Promise<void> };
let stateDir: string;
const deliveries: { signature: string; body: string }[] = [];
const receiver = createServer((request, answer) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    const body = Buffer.concat(parts).toString();
    deliveries.push({ signature: String(request.headers['digital-signature']), body });
    answer.end();
  });
});
/** Signed messages of our adapter, with their signatures. */
const signed: { message: string; signature: string }[] = [];

beforeAll(async () => {
  const clients = await installedPackages(new URL('clients/', import.meta.url));
  stateDir = await mkdtemp(join(tmpdir(), 'vintem-stark-'));
  simulator = await startSimulator({ host: '127.0.0.1', port: 0, stateDir });
  await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
  const load = createRequire(join(clients, 'starkbank/index.js'));
  starkbank = load('starkbank');
  ecdsa = load('starkbank-ecdsa');
  // The client knows Stark's own hosts alone: its calls are led to the dialect.
  load('axios').interceptors.request.use((call: Any) => ({
    ...call,
    url: String(call.url).replace('https://sandbox.api.starkbank.com', `${simulator.url}/stark`),
  }));
  starkbank.setUser(new starkbank.Project({ environment: 'sandbox', id: projectId, privateKey: pem }));
  provider = createStarkProvider({
    ...{ connection: 'loja', test: true, simulated: true, baseUrl: `${simulator.url}/stark` },
    ...{ projectId, privateKey: createPrivateKey(pem), workspaceId: 'loja' },
    net: {
      ...net,
      request(request) {
        const {
          'access-id': id,
          'access-time': time,
          'access-signature': signature = '',
        } = request.headers ?? {};
        signed.push({ message: `${id}:${time}:${request.body ?? ''}`, signature });
        return net.request(request);
      },
    },
    ...{ clock: systemClock, log: createLog('silent') },
  });
}, 300_000);
afterAll(async () => {
  await net.close();
  receiver.closeAllConnections();
  receiver.close();
  await simulator?.stop();
  await rm(stateDir, { recursive: true, force: true });
});

async function control(path: string, body: object = {}): Promise<void> {
  const answer = await fetch(`${simulator.url}/stark/control/${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(200);
}

async function until<T>(find: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (;;) {
    const found = await find();
    if (found !== undefined) return found;
    await systemClock.sleep(20);
  }
}

async function all(list: AsyncIterable<Any>): Promise<Any[]> {
  const items: Any[] = [];
  for await (const item of list) items.push(item);
  return items;
}

const idOf = (letter: string): string => letter.repeat(32);
const window = () => ({ fromMs: Date.now() - 3_600_000, toMs: Date.now() + 60_000 });
const payoutOf = (providerId: string) => ({
  ...{ providerId, amountCents: 975, pixKey: 'fulano@example.com', pixKeyType: 'EMAIL' as const },
  description: 'Saque',
});
const ended = (id: string) =>
  until(async () => {
    const query = await provider.queryPayout(id);
    return query.outcome === 'found' && query.report.status !== 'pending' ? query.report : undefined;
  });

describe("Stark's own client", () => {
  test('finds a transfer of our adapter by its tag, with its logs and its entries in the ledger', async () => {
    const id = idOf('a');
    expect(await provider.sendPayout(payoutOf(id))).toMatchObject({ outcome: 'accepted' });
    await ended(id);
    const [transfer, ...others] = await all(await starkbank.transfer.query({ tags: [`vintem/${id}`] }));
    expect(others).toEqual([]);
    expect(transfer).toMatchObject({ amount: 975, status: 'success', externalId: id, bankCode: '99999999' });
    expect(await starkbank.transfer.get(transfer.id)).toMatchObject({ id: transfer.id, status: 'success' });
    const logs = await all(await starkbank.transfer.log.query({ transferIds: [transfer.id] }));
    expect(logs.map(({ type }) => type).sort()).toEqual(['created', 'success']);
    const entries = await all(await starkbank.transaction.query({ ids: transfer.transactionIds }));
    expect(entries).toMatchObject([{ amount: -975, source: `transfer/${transfer.id}` }]);
  });

  test('makes a transfer that our adapter finds as ours, and may not make it again, nor we', async () => {
    const id = idOf('b');
    const key = await starkbank.dictKey.get('fulano@example.com');
    const transfer = () =>
      new starkbank.Transfer({
        ...{ amount: 975, name: key.name, taxId: key.taxId, bankCode: key.ispb, branchCode: key.branchCode },
        ...{ accountNumber: key.accountNumber, accountType: key.accountType, externalId: id },
        tags: [`vintem/${id}`],
      });
    const [made] = await starkbank.transfer.create([transfer()]);
    expect(made).toMatchObject({ status: 'created', externalId: id });
    await expect(starkbank.transfer.create([transfer()])).rejects.toMatchObject({ status: 400 });
    expect(await provider.sendPayout(payoutOf(id))).toEqual({ outcome: 'duplicate' });
    expect(await ended(id)).toMatchObject({ status: 'completed', amountCents: 975 });
  });

  test('reads a code of our adapter, and reverses its deposit in part: our adapter reports both', async () => {
    const txid = idOf('c');
    const charge = {
      txid,
      amountCents: 12_345,
      payerName: 'João',
      description: 'Pedido',
      expirySeconds: 3600,
    };
    const created = await provider.createCharge(charge);
    if (created.outcome !== 'accepted') throw new Error(created.outcome);
    const [code] = await all(await starkbank.dynamicBrcode.query({ tags: [`vintem/${txid}`] }));
    expect(code).toMatchObject({ amount: 12_345, expiration: 3600, id: created.report.copyPaste });
    expect(await starkbank.dynamicBrcode.get(code.uuid)).toMatchObject({ uuid: code.uuid });
    await control(`charges/${txid}/pay`);
    const [deposit] = await all(await starkbank.deposit.query({ tags: [`dynamic-brcode/${code.uuid}`] }));
    expect(deposit).toMatchObject({ amount: 12_345, type: 'pix' });
    expect(await starkbank.deposit.update(deposit.id, { amount: 12_000 })).toMatchObject({ amount: 12_000 });
    const query = await provider.queryCharge(txid);
    expect(query).toMatchObject({
      report: { status: 'paid', received: [{ amountCents: 12_345, returns: [{ amountCents: 345 }] }] },
    });
    const statement = await provider.statement(window());
    const lines = statement.outcome === 'listed' ? statement.reports : [];
    expect(
      lines
        .filter(({ providerId }) => providerId === txid)
        .map(({ kind, amountCents }) => [kind, amountCents]),
    ).toEqual([
      ['debited', 345],
      ['received', 12_345],
    ]);
    expect((await starkbank.balance.get()).amount).toBe((await provider.balance()).totalCents);
  });

  test('registers an address, and believes and refuses the same deliveries as our adapter', async () => {
    const { port } = receiver.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/hooks/secret`;
    await provider.registerWebhook(url);
    const [hook] = await all(await starkbank.webhook.query());
    expect(hook).toMatchObject({ url, subscriptions: ['transfer', 'deposit'] });
    await provider.sendPayout(payoutOf(idOf('d')));
    const { signature, body } = await until(() => deliveries[0]);
    const event = await starkbank.event.parse({ content: body, signature });
    expect(event).toMatchObject({ subscription: 'transfer', workspaceId: 'loja' });
    const delivery = (content: string) => ({
      headers: { 'digital-signature': signature },
      ...{ rawBody: Buffer.from(content), receivedAt: Date.now() },
    });
    expect(await provider.parseWebhook(delivery(body))).toMatchObject({
      ...{ authentic: true, addressed: true, payouts: [{ providerId: idOf('d'), status: 'completed' }] },
    });
    const changed = body.replace('975', '976');
    await expect(starkbank.event.parse({ content: changed, signature })).rejects.toThrow();
    expect(await provider.parseWebhook(delivery(changed))).toMatchObject({ authentic: false });
    expect(await starkbank.webhook.delete(hook.id)).toMatchObject({ id: hook.id });
    expect(await all(await starkbank.webhook.query())).toEqual([]);
  });

  test('is refused with the wrong key, as our adapter is, and verifies each signature of ours', async () => {
    const other = new starkbank.Project({
      ...{ environment: 'sandbox', id: projectId, privateKey: simulatorKey('outro') },
    });
    await expect(starkbank.balance.get({ user: other })).rejects.toMatchObject({
      ...{ status: 400, errors: [{ code: 'invalidSignature' }] },
    });
    const publicKey = ecdsa.PrivateKey.fromPem(pem).publicKey();
    expect(signed.length).toBeGreaterThan(10);
    for (const { message, signature } of signed.slice(-10))
      expect(ecdsa.Ecdsa.verify(message, ecdsa.Signature.fromBase64(signature), publicKey)).toBe(true);
  });
});
