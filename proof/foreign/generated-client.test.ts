import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

/**
 * A client that a foreign generator (oazapfts) makes of the committed document, used as a merchant would. Nothing of it is
 * ours: what it cannot do, the document does not say.
 */

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);
// biome-ignore lint/suspicious/noExplicitAny: made while the test runs; tsc looks at its types below
let client: any;
let folder: string;
let service: Service;
let merchant: Merchant;

beforeAll(async () => {
  // Inside the tree, so that it finds its runtime.
  folder = await mkdtemp(join(root, 'proof/foreign/.generated-'));
  const file = join(folder, 'client.ts');
  await run(
    process.execPath,
    [join(root, 'proof/node_modules/oazapfts/dist/cli.js'), 'contract/openapi.json', file],
    {
      cwd: root,
    },
  );
  client = await import(file);
  service = await openService();
  merchant = await service.newMerchant();
  client.defaults.baseUrl = `${service.url}/api/v1/public`;
  client.defaults.headers = { authorization: `Bearer ${merchant.key}` };
});
afterAll(async () => {
  await service?.close();
  await rm(folder, { recursive: true, force: true });
});

test('its types are sound', async () => {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const words = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext'];
  await run(process.execPath, [tsc, '--ignoreConfig', ...words, join(folder, 'client.ts')], { cwd: root });
});

test('it makes a charge, sees it paid, and sends a transfer to its end [1.1, 9.1]', async () => {
  const charged = await client.postPixCharges({
    amountCents: 5000,
    payerName: 'Maria Silva',
    description: 'Pedido 1',
    requestKey: crypto.randomUUID(),
  });
  expect([charged.status, charged.data.status]).toEqual([201, 'pending']);
  expect(charged.data.copyPaste).toMatch(/^000201/);
  await service.simulator.control('POST', `/control/charges/${charged.data.id.replaceAll('-', '')}/pay`);
  const statusOf = async (id: string) => (await client.getPaymentsById(id)).data.status;
  await until(async () => (await statusOf(charged.data.id)) === 'paid');
  const { data: account } = await client.getAccount();
  expect(account).toMatchObject({ balanceCents: 5000, operationId: merchant.operationId });

  const request = {
    amountCents: 1000,
    pixKey: 'maria@example.com',
    pixKeyType: 'EMAIL',
    description: 'Repasse 1',
    requestKey: crypto.randomUUID(),
  };
  const sent = await client.postPixTransfers(request);
  expect(sent.status).toBe(201);
  expect(sent.data).toMatchObject({ debitAmountCents: 1000, expectedNetAmountCents: 975 });
  await until(async () => (await statusOf(sent.data.id)) === 'completed');
  expect((await client.postPixTransfers(request)).data.id).toBe(sent.data.id);
  expect(await service.simulator.payout(sent.data.id)).toMatchObject({ amountCents: 975, timesReceived: 1 });
  expect((await client.getAccount()).data.balanceCents).toBe(4000);
});

test('it names an operation, lists with filters, and gets the details of an error', async () => {
  const made = await client.postOperations({ name: 'Filial', requestKey: crypto.randomUUID() });
  expect(made.status).toBe(201);
  const inOther = await client.getAccount({ xServiceOperation: made.data.id });
  expect(inOther.data).toMatchObject({ operationId: made.data.id, balanceCents: 0 });
  const { data: page } = await client.getPayments({ kind: 'deposit', status: ['paid', 'pending'], limit: 5 });
  expect(page).toMatchObject({ payments: [{ kind: 'deposit', status: 'paid' }], hasMore: false });
  const refused = await client.postPixTransfers({
    amountCents: 1,
    pixKey: 'maria@example.com',
    pixKeyType: 'EMAIL',
    description: '',
    requestKey: crypto.randomUUID(),
  });
  expect([refused.status, refused.data.code]).toEqual([400, 'validation_failed']);
  expect((await client.getPaymentsById(crypto.randomUUID())).status).toBe(404);
  expect((await client.deleteOperationsById(made.data.id, {})).data).toEqual({ ok: true });
});
