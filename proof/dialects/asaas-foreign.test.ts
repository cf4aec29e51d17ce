import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSimulator } from '@vintem/simulator';
import { back } from '@vintem/testkit/acquirer-kit.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../server/src/ports/clock.ts';
import { createUndiciNet } from '../../server/src/ports/undici-net.ts';
import { createAsaasProvider } from '../../server/src/provider/asaas/asaas.ts';
import { createAsaasCheckoutProvider } from '../../server/src/provider/asaas/asaas-checkout.ts';
import { installedPackages } from '../judges.ts';

/** A public client of Asaas (npm `asaas`) drives the dialect, and its types judge the answers to it and what our adapter makes there. */

const net = createUndiciNet();
const apiKey = `$aact_hmlg_${Buffer.from('loja:segredo').toString('base64')}`;

// biome-ignore lint/suspicious/noExplicitAny: the client's types are read from its own file
let client: any;
let types: string;
let simulator: { url: string; stop(): Promise<void> };
let stateDir: string;

beforeAll(async () => {
  const clients = await installedPackages(new URL('clients/', import.meta.url));
  stateDir = await mkdtemp(join(tmpdir(), 'vintem-asaas-'));
  simulator = await startSimulator({ host: '127.0.0.1', port: 0, stateDir });
  const { AsaasClient } = await import(join(clients, 'asaas/dist/index.js'));
  client = new AsaasClient(apiKey, { baseUrl: `${simulator.url}/asaas/v3`, printError: false });
  const read = (file: string) => readFile(join(clients, `asaas/dist/types/${file}.d.ts`), 'utf8');
  types = (await read('AsaasTypes')) + (await read('TransferTypes')) + (await read('WebhookTypes'));
});
afterAll(async () => {
  console.log(`Asaas: ${bodies} bodies compared with the types of its client`);
  await net.close();
  await simulator?.stop();
  await rm(stateDir, { recursive: true, force: true });
});

const provider = () =>
  createAsaasProvider({
    ...{ connection: 'loja', test: true, simulated: true, baseUrl: `${simulator.url}/asaas`, apiKey },
    ...{ customer: 'cus_000005219613', email: 'a@b.example', net, clock: systemClock },
    ...{ webhookToken: 'w'.repeat(32), withdrawalToken: 'q'.repeat(32) },
  });

/** Each is compared with its type, and one that lacks a member fails. */
let bodies = 0;

/** The members that a type of the client names, its parents' left out. */
function membersOf(name: string): string[] {
  const [, body = ''] = new RegExp(`interface ${name}\\b[^{]*\\{([^}]*)\\}`).exec(types) ?? [];
  const members = [...body.matchAll(/^\s+(\w+)\??:/gm)].map(([, member = '']) => member);
  expect(members.length, name).toBeGreaterThan(1);
  return members;
}

/** Members that Asaas' own, newer client does not name any more, and one of instalments alone. */
const gone = [
  'installment',
  'confirmedDate',
  'canBePaidAfterDueDate',
  'creditCard',
  'changeValue',
  'payment',
];
function lacking(name: string, value: object): string[] {
  bodies++;
  return membersOf(name).filter((member) => !(member in value) && !gone.includes(member));
}

const id = (n: number): string => String(n).padStart(32, 'a');

async function pay(txid: string): Promise<void> {
  const answer = await fetch(`${simulator.url}/asaas/control/charges/${txid}/pay`, { method: 'POST' });
  expect(answer.status).toBe(200);
}

test('A charge of our adapter is found by the client under our reference, with every member that it knows', async () => {
  const asked = {
    txid: id(1),
    amountCents: 12_345,
    payerName: 'Maria',
    description: 'Pedido',
    expirySeconds: 600,
  };
  expect(await provider().createCharge(asked)).toMatchObject({ outcome: 'accepted' });
  await pay(id(1));
  const { data, totalCount } = await client.payments.list({ externalReference: id(1) });
  expect([totalCount, data[0].value, data[0].status]).toEqual([1, 123.45, 'RECEIVED']);
  expect(lacking('IAsaasPaymentResponse', data[0])).toEqual([]);
  const pix = await client.pixTransactions.getById(data[0].pixTransaction);
  expect(pix).toMatchObject({ value: 123.45, type: 'CREDIT', status: 'DONE' });
  expect(lacking('IPixTransaction', pix)).toEqual([]);
});

test('A charge of the client is none of ours, and is not taken for one', async () => {
  const made = await client.payments.new({
    ...{ customer: 'cus_000005219613', billingType: 'PIX', value: 10, dueDate: '2099-01-01' },
    externalReference: 'pedido-7',
  });
  expect(made.status).toBe('PENDING');
  const listed = await provider().listCharges({ fromMs: Date.now() - 60_000, toMs: Date.now() });
  expect(JSON.stringify(listed)).not.toContain('pedido-7');
});

test('A transfer of our adapter is found by the client, and both see it complete', async () => {
  const sent = await provider().sendPayout({
    ...{ providerId: id(2), amountCents: 975, pixKey: 'a@b.example', pixKeyType: 'EMAIL', description: '' },
  });
  const ref = sent.outcome === 'accepted' ? sent.report.providerRef : undefined;
  await expect.poll(async () => (await client.transfers.getById(ref)).status).toBe('DONE');
  const transfer = await client.transfers.getById(ref);
  expect(transfer).toMatchObject({ value: 9.75, operationType: 'PIX' });
  expect(lacking('ITransferResponse', transfer)).toEqual([]);
  expect(lacking('IBankAccountResponse', transfer.bankAccount)).toEqual([]);
  expect(await provider().queryPayout(id(2), null)).toMatchObject({ report: { status: 'completed' } });
});

test('A transfer of the client has no reference, and stands in our statement as the money of the company', async () => {
  const made = await client.transfers.create({
    ...{ value: 5, operationType: 'PIX', pixAddressKey: 'a@b.example', pixAddressKeyType: 'EMAIL' },
    description: 'lucro',
  });
  await expect.poll(async () => (await client.transfers.getById(made.id)).status).toBe('DONE');
  const window = { fromMs: Date.now() - 60_000, toMs: Date.now() + 60_000 };
  const statement = await provider().statement(window);
  const lines = statement.outcome === 'listed' ? statement.reports : [];
  expect(lines.find(({ amountCents }) => amountCents === 500)).toMatchObject({
    kind: 'sent',
    providerId: null,
  });
});

test('The address that our adapter registers is listed with the members that the client knows', async () => {
  await provider().registerWebhook('http://127.0.0.1:9/hooks');
  const { data } = await client.webhooks.list();
  expect(data).toMatchObject([{ url: 'http://127.0.0.1:9/hooks', enabled: true, interrupted: false }]);
});

test('What Asaas refuses, the dialect refuses to the client as well', async () => {
  const refused = async (call: Promise<unknown>) =>
    call.then(
      () => null,
      ({ response }) => [response.status, response.data.errors[0].code],
    );
  expect(await refused(client.transfers.create({ value: 0 }))).toEqual([400, 'invalid_value']);
  expect(await refused(client.transfers.create({ value: 1.005 }))).toEqual([400, 'invalid_value']);
  expect(await refused(client.payments.new({ billingType: 'PIX', value: 1 }))).toEqual([
    400,
    'invalid_customer',
  ]);
  const stranger = new client.constructor('$aact_prod_x', {
    ...{ baseUrl: `${simulator.url}/asaas/v3`, printError: false },
  });
  expect(await refused(stranger.transfers.list())).toEqual([401, 'invalid_access_token']);
});

test('A card payment of our adapter is found by the client, with every member that it knows of one', async () => {
  const cards = createAsaasCheckoutProvider({
    ...{ connection: 'cartoes', test: true, simulated: true, baseUrl: `${simulator.url}/asaas` },
    ...{ apiKey: cardKey, email: 'a@b.example', webhookToken: 'w'.repeat(32), net, clock: systemClock },
  });
  const { AsaasClient } = await import(
    join(await installedPackages(new URL('clients/', import.meta.url)), 'asaas/dist/index.js')
  );
  const theirs = new AsaasClient(cardKey, { baseUrl: `${simulator.url}/asaas/v3`, printError: false });
  const made = await cards.cards?.create({
    ...{ providerId: id(9), amountCents: 12_345, description: 'Pedido', minutes: 60 },
    ...{ createdAt: Date.now(), back, payer: null },
  });
  if (made?.outcome !== 'accepted') throw new Error(JSON.stringify(made));
  const answer = await fetch(`${simulator.url}/asaas/control/cards/${id(9)}/approve`, { method: 'POST' });
  expect(answer.status).toBe(200);
  const { data, totalCount } = await theirs.payments.list({ billingType: 'CREDIT_CARD' });
  expect([totalCount, data[0].value, data[0].status]).toEqual([1, 123.45, 'CONFIRMED']);
  expect(data[0].checkoutSession).toBe(made.report.providerRef);
  const ofSlips = ['canBePaidAfterDueDate'];
  const missing = membersOf('IAsaasPaymentResponse').filter(
    (one) => !(one in data[0]) && !ofSlips.includes(one),
  );
  expect(missing).toEqual([]);
});

const cardKey = `$aact_hmlg_${Buffer.from('cartoes:segredo').toString('base64')}`;
