import { createHmac } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSimulator } from '@vintem/simulator';
import {
  callWith,
  type Merchant,
  merchantOf,
  openService,
  type Service,
  type Simulator,
  simulatorAt,
  until,
} from '@vintem/testkit/service.ts';
import { truthOf } from '@vintem/testkit/truth.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { planDispatch } from '../../src/flow/dispatch-plan.ts';
import type { Caller } from '../../src/ground/caller.ts';
import { transfer } from '../../src/kinds/transfer/transfer.ts';
import {
  type ConnectionDeps,
  createConnection,
  decisiveFaults,
  listConnections,
  moveAccount,
  restoreCredentials,
  retireConnection,
  rotateCredentials,
  setConnection,
  showConnection,
  testConnection,
  type Wanted,
} from '../../src/operate/connections/connections.ts';
import { simulatorCredentials } from '../../src/operate/connections/credentials.ts';
import { createAccount } from '../../src/operate/connections/directory.ts';
import { examineConnections } from '../../src/operate/connections/doctor.ts';
import { createHoldNotes, stepHolds } from '../../src/operate/connections/held.ts';
import { keepConnections } from '../../src/operate/connections/keep.ts';
import { resolveIncident } from '../../src/operate/incidents/incident.ts';
import { reconcile } from '../../src/operate/reconcile.ts';
import { placeOf } from '../../src/provider/adapter.ts';
import { identityOf } from '../../src/provider/identity.ts';
import type { Provider } from '../../src/provider/provider.ts';
import { adapterNames, adapters } from '../../src/provider/registry/adapters.ts';
import { certificate, passphrase, pfx } from './certificate.ts';

/** Two merchants with a provider account of their own beside a shared one. Each provider account is a simulator of its own. */
interface Bank {
  simulator: Simulator;
  stop(): Promise<void>;
}

const clientKey = 'ab'.repeat(32);
const clientSecretOf = (clientId: string): string =>
  createHmac('sha256', Buffer.from(clientKey, 'hex')).update(clientId).digest('hex');

let service: Service;
let banks: Record<'a' | 'b', Bank>;
let deps: ConnectionDeps;

async function openBank(): Promise<Bank> {
  const stateDir = await mkdtemp(join(tmpdir(), 'vintem-bank-'));
  const running = await startSimulator({ host: '127.0.0.1', port: 0, stateDir, clientKey });
  return {
    simulator: simulatorAt(running.url),
    stop: async () => {
      await running.stop();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}

const wanted = (name: 'loja-a' | 'loja-b', more: Partial<Wanted> = {}, credentials: object = {}): Wanted => ({
  name,
  adapter: 'efi',
  mode: 'own',
  url: (name === 'loja-a' ? banks.a : banks.b).simulator.url,
  credentials: {
    clientId: name,
    clientSecret: clientSecretOf(name),
    pixKey: `${name}@banco.example`,
    certificate: pfx.toString('base64'),
    certificatePassphrase: passphrase,
    ...credentials,
  },
  simulated: false,
  ...more,
});

async function merchantOn(connection: string, simulator: Simulator, test: boolean): Promise<Merchant> {
  const account = await createAccount(service.runtime, { name: 'Loja', test, connection });
  const key = await service.newKey(account.ownerId, ['read', 'charges', 'transfers']);
  return merchantOf({ ...account, key, call: service.as(key) }, simulator);
}

const balanceOf = async (bank: Simulator): Promise<number> => (await truthOf(bank)).balanceCents;

const ended = (ownerId: string): Promise<void> =>
  until(
    async () =>
      (await service.database.admin('SELECT FROM vintem.intent WHERE account_id = $1', [ownerId])).length ===
      0,
  );

beforeAll(async () => {
  service = await openService();
  banks = { a: await openBank(), b: await openBank() };
  const { runtime } = service;
  deps = {
    ...runtime,
    actor: 'tester',
    config: {
      simulatorUrl: service.simulator.url,
      hooksUrl: service.url,
      provider: { clientId: 'of the environment', pixKey: 'environment@banco.example' },
    },
  };
});
afterAll(async () => {
  await service.close();
  await Promise.all([banks.a.stop(), banks.b.stop()]);
});

const connectionOf = async (name: string) =>
  (
    await service.database.admin<{ identity: string; version: number }>(
      'SELECT identity, version FROM vintem.connection WHERE id = $1',
      [name],
    )
  )[0];

/** Which of the two providers took a payout, and how often. */
async function takenAt(id: string): Promise<[number, number]> {
  const of = async ({ simulator }: Bank): Promise<number> => {
    const { body } = await simulator.control('GET', `/control/state?idEnvio=${id.replaceAll('-', '')}`);
    return body.payouts[0]?.timesAccepted ?? 0;
  };
  return [await of(banks.a), await of(banks.b)];
}

describe('what cannot be used is named, and nothing is stored', () => {
  test.each<[string, Partial<Wanted>, object, string]>([
    ['another adapter', { adapter: 'banco' }, {}, 'adapter: must be one of'],
    ['a reserved name', { name: 'live' }, {}, "name: live is the connection of the environment's settings"],
    ['a name that is no name', { name: 'Loja A' }, {}, 'name: takes 2 to 40 small letters'],
    ['an address without TLS', { url: 'http://pix.example' }, {}, 'url: must be an https URL'],
    ['a missing member', {}, { pixKey: undefined }, 'pixKey: must be a text'],
    ['a member of another adapter', {}, { appId: 'x' }, 'appId: is no member of these credentials'],
    [
      'a wrong passphrase',
      {},
      { certificatePassphrase: 'x' },
      'certificatePassphrase: is not the passphrase',
    ],
    ['bytes that are no certificate', {}, { certificate: 'AAAA' }, 'certificate: is not a PKCS #12 file'],
    ['a PEM certificate without key', {}, { certificate, certificatePassphrase: undefined }, 'certificate'],
    [
      'a key that is no key',
      {},
      { certificate, certificateKey: 'x' },
      'certificateKey: is no private key in PEM',
    ],
    ['a wrong secret', {}, { clientSecret: 'x' }, 'token: the provider refuses the credentials'],
    ['a host where nobody listens', { url: 'http://127.0.0.1:9' }, {}, 'token: the provider is not reached'],
    [
      'a trust that does not exist',
      {},
      { webhookTrust: 'blind' },
      'webhookTrust: must be path, mtls or signed',
    ],
  ])('%s', async (_, more, credentials, message) => {
    const before = await listConnections(deps);
    const attempt = createConnection(deps, wanted('loja-a', more, credentials));
    await expect(attempt).rejects.toThrow(message);
    expect(await listConnections(deps)).toEqual(before);
  });

  test('a certificate that has expired', async () => {
    const clock = { ...deps.clock, now: () => Date.parse('2127-01-01') };
    await expect(createConnection({ ...deps, clock }, wanted('loja-a'))).rejects.toThrow(
      'certificate: has expired on 2126-10-27',
    );
  });
});

test('two merchants with connections of their own beside a shared one: each cent stands at its own provider', async () => {
  const made = await createConnection(deps, wanted('loja-a'));
  expect(made).toMatchObject({ name: 'loja-a', adapter: 'efi', mode: 'own', state: 'active', test: false });
  expect(new Date(made.certificateExpiresAt ?? 0).getUTCFullYear()).toBe(2126);
  await createConnection(deps, wanted('loja-b'));
  await expect(createConnection(deps, wanted('loja-b'))).rejects.toThrow(
    'there is a connection loja-b already',
  );
  // Another connection for an account that has one would book its payments a second time, as money without an owner.
  const taken = { clientId: 'loja-c', clientSecret: clientSecretOf('loja-c') };
  for (const [member, theirs] of [
    ['clientId: is that of the connection loja-b', { pixKey: 'loja-c@banco.example' }],
    ['pixKey: is that of the connection loja-b', taken],
    ['pixKey: is that of the connection live', { ...taken, pixKey: 'environment@banco.example' }],
  ] as const) {
    const again = { ...wanted('loja-b', {}, theirs), name: 'loja-c' };
    await expect(createConnection(deps, again)).rejects.toThrow(member);
  }
  await expect(rotateCredentials(deps, 'loja-b', { pixKey: 'loja-a@banco.example' })).rejects.toThrow(
    'pixKey: is that of the connection loja-a',
  );
  expect((await testConnection(deps, 'loja-a')).findings.every(({ ok }) => ok)).toBe(true);
  // A running process takes them up by itself.
  await until(async () => service.runtime.providers.has('loja-a') && service.runtime.providers.has('loja-b'));

  const ofA = await merchantOn('loja-a', banks.a.simulator, false);
  const ofB = await merchantOn('loja-b', banks.b.simulator, false);
  const shared = await service.newMerchant();
  await expect(merchantOn('loja-a', banks.a.simulator, false)).rejects.toThrow('belongs to one account');
  await expect(merchantOn('loja-b', banks.b.simulator, true)).rejects.toThrow('moves money');

  for (const [merchant, cents] of [
    [ofA, 5_000],
    [ofB, 7_000],
    [shared, 9_000],
  ] as const) {
    await merchant.receive(cents);
    expect((await merchant.transfer({ amountCents: 1_000 })).status).toBe(201);
    await ended(merchant.ownerId);
  }
  const balances = new Map([
    ['loja-a', await balanceOf(banks.a.simulator)],
    ['loja-b', await balanceOf(banks.b.simulator)],
    ['simulator', await balanceOf(service.simulator)],
  ]);
  expect([...balances.values()]).toEqual([4_025, 6_025, 8_025]);
  const provider = { payouts: [], charges: [], balanceCents: null, balances };
  expect(await violationsOfBooks(service, { provider })).toEqual([]);
  const compared = await reconcile(service.runtime, deps, { accountId: null, sinceMs: null });
  expect(compared).toMatchObject({ compared: 6, missing: 0, unexpected: 0, different: 0, setAside: 0 });

  // A cent that is booked on another connection than where it is shows.
  const wrong = new Map(balances).set('loja-a', 4_026).set('loja-b', 6_024);
  const broken = await violationsOfBooks(service, { provider: { ...provider, balances: wrong } });
  expect(broken.map(({ number }) => number)).toEqual([52]);

  const events = await service.database.admin<{ live: boolean }>(
    `SELECT DISTINCT (body::jsonb ->> 'livemode')::boolean AS live FROM vintem.event WHERE account_id = $1`,
    [ofA.ownerId],
  );
  expect(events).toEqual([{ live: true }]);
});

test('an account is moved only with nothing open; what still comes of the old connection is booked there', async () => {
  await setConnection(deps, 'loja-b', { mode: 'shared' });
  const { ownerId } = await createAccount(service.runtime, {
    name: 'Loja',
    test: false,
    connection: 'loja-b',
  });
  const key = await service.newKey(ownerId, ['read', 'charges', 'transfers']);
  const [row] = await service.database.admin<{ id: string }>(
    'SELECT id FROM vintem.operation WHERE account_id = $1',
    [ownerId],
  );
  const merchant = merchantOf(
    { ownerId, operationId: row?.id ?? '', key, call: service.as(key) },
    banks.b.simulator,
  );
  await merchant.receive(5_000);
  const { body: transfer } = await merchant.transfer({ amountCents: 2_000 });
  await ended(ownerId);
  await banks.b.simulator.behave({ payout: 'stay-pending' });
  const { body: pending } = await merchant.transfer({ amountCents: 1_000 });
  const other = {
    clientId: 'loja-c',
    clientSecret: clientSecretOf('loja-c'),
    pixKey: 'loja-c@banco.example',
  };
  await createConnection(deps, wanted('loja-a', { name: 'loja-c', mode: 'shared' }, other));
  await expect(moveAccount(deps, ownerId, 'loja-c')).rejects.toThrow('the account has unfinished payments');
  await expect(moveAccount(deps, ownerId, 'loja-a')).rejects.toThrow('belongs to one account');
  await expect(moveAccount(deps, ownerId, 'simulator')).rejects.toThrow('moves no money');
  const idOf = (id: string): string => id.replaceAll('-', '');
  await banks.b.simulator.control('POST', `/control/payouts/${idOf(pending.id)}/complete`);
  await ended(ownerId);
  expect(await moveAccount(deps, ownerId, 'loja-c')).toEqual({ ownerId, connection: 'loja-c' });
  await expect(retireConnection(deps, 'loja-b')).rejects.toThrow('accounts are bound to it');

  await banks.b.simulator.control('POST', `/control/payouts/${idOf(transfer.id)}/return`);
  const journalsOf = () =>
    service.database.admin<{ template: string; connection: string }>(
      `SELECT template, connection FROM vintem.journal WHERE subject = $1 AND clearing <> 0 ORDER BY seq`,
      [transfer.id],
    );
  await until(async () => (await journalsOf()).length === 2);
  const journals = await journalsOf();
  expect(journals).toEqual([
    { template: 'complete', connection: 'loja-b' },
    { template: 'return', connection: 'loja-b' },
  ]);
  expect(await violationsOfBooks(service)).toEqual([]);
});

test('in one simulator each connection is shown its own account: merchants of three protocols beside a shared connection', async () => {
  const paths = { 'teste-efi': '', 'teste-woovi': '/woovi', 'teste-bb': '/api-pix' };
  const merchants: { merchant: Merchant; sends: boolean }[] = [
    { merchant: await service.newMerchant(), sends: true },
  ];
  for (const [name, path] of Object.entries(paths)) {
    const adapter = name.replace('teste-', '');
    const made = { name, adapter, mode: 'own', url: null, credentials: null, simulated: true } as const;
    await createConnection(deps, made);
    await until(async () => service.runtime.providers.has(name));
    const merchant = await merchantOn(name, simulatorAt(service.simulator.url + path), true);
    merchants.push({ merchant, sends: adapter !== 'bb' });
  }
  for (const { merchant, sends } of merchants) {
    await merchant.receive(5_000);
    if (sends) expect((await merchant.transfer({ amountCents: 1_000 })).status).toBe(201);
    await ended(merchant.ownerId);
  }
  const balances = new Map([['teste-bb', await balanceOf(simulatorAt(`${service.simulator.url}/api-pix`))]]);
  for (const [name, provider] of service.runtime.providers)
    if (provider.capabilities.hasBalance) balances.set(name, (await provider.balance()).availableCents);
  expect([balances.get('teste-efi'), balances.get('teste-woovi'), balances.get('teste-bb')]).toEqual([
    4_025, 4_025, 5_000,
  ]);
  const provider = { payouts: [], charges: [], balanceCents: null, balances };
  expect(await violationsOfBooks(service, { provider })).toEqual([]);
  const compared = await reconcile(service.runtime, deps, { accountId: null, sinceMs: null });
  expect(compared).toMatchObject({ missing: 0, unexpected: 0, different: 0, setAside: 0 });
  expect(compared.compared).toBeGreaterThanOrEqual(7);
});

test('The simulator of a start, which serves the clients of its installation alone, takes those of every adapter', async () => {
  const stateDir = await mkdtemp(join(tmpdir(), 'vintem-bank-'));
  const ofInstallation = service.runtime.secrets.derive('simulator client').toString('hex');
  const running = await startSimulator({
    ...{ host: '127.0.0.1', port: 0, stateDir },
    clientKey: ofInstallation,
  });
  try {
    const there = { ...deps, config: { ...deps.config, simulatorUrl: running.url } };
    for (const adapter of adapterNames) {
      const name = `cada-${adapter}`;
      const made = { name, adapter, mode: 'shared', url: null, credentials: null, simulated: true } as const;
      await createConnection(there, made);
      const { findings } = await testConnection(there, name);
      expect([adapter, decisiveFaults(findings)]).toEqual([adapter, []]);
      await retireConnection(there, name);
    }
  } finally {
    await running.stop();
    await rm(stateDir, { recursive: true, force: true });
  }
});

test('credentials change and change back beside a running service', async () => {
  const before = await showConnection(deps, 'loja-a');
  await expect(rotateCredentials(deps, 'loja-a', { clientSecret: 'x' })).rejects.toThrow(
    'token: the provider refuses',
  );
  expect(await showConnection(deps, 'loja-a')).toEqual(before);
  await expect(restoreCredentials(deps, 'loja-a')).rejects.toThrow('no credentials from before');
  const provider = service.runtime.providers.get('loja-a');
  await rotateCredentials(deps, 'loja-a', { clientId: 'other', clientSecret: clientSecretOf('other') });
  await service.runtime.connections.refresh();
  expect(service.runtime.providers.get('loja-a')).toBe(provider);
  expect(await provider?.balance()).toMatchObject({ availableCents: await balanceOf(banks.a.simulator) });
  await restoreCredentials(deps, 'loja-a');
  const [row] = await service.database.admin<{ credentials: Buffer }>(
    `SELECT credentials FROM vintem.connection WHERE id = 'loja-a'`,
  );
  expect(row?.credentials.toString('latin1')).not.toContain('banco.example');
  const audit = await service.database.admin<{ action: string }>(
    `SELECT action FROM vintem.audit WHERE subject = 'loja-a' ORDER BY at, id`,
  );
  expect(audit.map(({ action }) => action)).toEqual([
    'connection.create',
    'connection.rotate',
    'connection.rotate_back',
  ]);
});

test('A transfer whose answer was lost goes only to the account of its first attempt, whatever is done to the connection', async () => {
  const own = { clientId: 'viva', clientSecret: clientSecretOf('viva'), pixKey: 'viva@banco.example' };
  await createConnection(deps, wanted('loja-a', { name: 'viva', mode: 'shared' }, own));
  await until(async () => service.runtime.providers.has('viva'));
  const merchant = await merchantOn('viva', banks.a.simulator, false);
  await merchant.receive(100_000);
  await ended(merchant.ownerId);
  await banks.a.simulator.behave({ payout: 'lose-answer', query: 'error-500', webhook: 'drop' });
  const { body } = await merchant.transfer({ amountCents: 50_000 });
  await until(async () => (await takenAt(body.id))[0] === 1);
  const before = await connectionOf('viva');

  // Refused, and nothing is changed.
  const url = banks.b.simulator.url;
  for (const attempt of [
    () => setConnection(deps, 'viva', { url }),
    () => rotateCredentials(deps, 'viva', { pixKey: 'viva-2@banco.example' }),
  ])
    await expect(attempt()).rejects.toThrow('payments on it are unfinished');
  expect(await connectionOf('viva')).toEqual(before);
  // Another secret of the same account is no other account.
  const renewed = { clientId: 'viva-2', clientSecret: clientSecretOf('viva-2') };
  await rotateCredentials(deps, 'viva', renewed);
  expect((await connectionOf('viva'))?.identity).toBe(before?.identity);
  await restoreCredentials(deps, 'viva');

  // As a process that read the connection before sees it, or a restored copy of it: the row says another account.
  await otherAccountBehind('viva', url);
  await service.runtime.connections.refresh();
  await service.database.admin(
    `UPDATE vintem.intent SET state = 'awaiting', lease_until = NULL, attempt_ended_at = now() - interval '1 h', priority = 0, absences = 2,
       absent_at = now(), due_at = now() WHERE payment_id = $1`,
    [body.id],
  );
  const [open] = await untilSome(() =>
    service.database.admin<{ kind: string; connection: string }>(
      `SELECT kind, detail ->> 'connection' AS connection FROM vintem.incident WHERE payment_id = $1`,
      [body.id],
    ),
  );
  expect(open).toEqual({ kind: 'undecided', connection: 'viva' });
  expect(await takenAt(body.id)).toEqual([1, 0]);

  // With the account of the first attempt it ends by itself.
  await banks.a.simulator.behave({});
  await otherAccountBehind('viva', banks.a.simulator.url);
  await service.runtime.connections.refresh();
  await service.database.admin('UPDATE vintem.intent SET due_at = now() WHERE payment_id = $1', [body.id]);
  await ended(merchant.ownerId);
  expect((await merchant.call('GET', `/payments/${body.id}`)).body.status).toBe('completed');
  expect(await takenAt(body.id)).toEqual([1, 0]);
  expect(await violationsOfBooks(service)).toEqual([]);
});

/** A case that the service never allows: another account comes behind a connection with a payment that is not finished. */
async function otherAccountBehind(name: string, url: string): Promise<void> {
  const identity = identityOf(url, [`${name}@banco.example`]);
  await service.database.admin(
    'UPDATE vintem.connection SET url = $2, identity = $3, version = version + 1 WHERE id = $1',
    [name, url, identity],
  );
}

async function untilSome<Row>(look: () => Promise<Row[]>): Promise<Row[]> {
  let rows: Row[] = [];
  await until(async () => {
    rows = await look();
    return rows.length > 0;
  });
  return rows;
}

describe("a provider's own test environment", () => {
  const sandbox = (more: Partial<Wanted> = {}): Wanted => ({
    ...wanted(
      'loja-a',
      {},
      { clientId: 'loja-s', clientSecret: clientSecretOf('loja-s'), pixKey: 'loja-s@banco.example' },
    ),
    name: 'loja-s',
    mode: 'shared',
    sandbox: true,
    ...more,
  });

  test('An address of a test environment makes no live connection, and a live address none of a test environment', async () => {
    await expect(
      createConnection(deps, sandbox({ url: 'https://pix-h.api.efipay.com.br', sandbox: false })),
    ).rejects.toThrow(/^url: is of the provider's test environment: make a connection with --sandbox/);
    await expect(createConnection(deps, sandbox({ url: 'https://pix.api.efipay.com.br' }))).rejects.toThrow(
      /^url: is where the provider moves money/,
    );
    await expect(
      createConnection(
        deps,
        sandbox({
          adapter: 'itau',
          url: null,
          credentials: {
            clientId: 'i',
            clientSecret: 's',
            pixKey: 'k',
            certificate: pfx.toString('base64'),
            certificatePassphrase: passphrase,
          },
        }),
      ),
    ).rejects.toThrow(/^url: is missing, and no test environment of this provider is known/);
  });

  test('Stripe has one address for both, and a key of the other mode makes no connection', async () => {
    const made = (secretKey: string, isTest: boolean) =>
      createConnection(
        deps,
        sandbox({
          ...{ name: 'cartoes', adapter: 'stripe-checkout', sandbox: isTest },
          credentials: { secretKey, webhookSecret: 'whsec_x' },
        }),
      );
    await expect(made('rk_live_x', true)).rejects.toThrow("secretKey: is of Stripe's live mode");
    await expect(made('rk_test_x', false)).rejects.toThrow("secretKey: is of Stripe's test mode");
  });

  test.each(adapterNames.filter((name) => name !== 'stripe-checkout'))(
    'Each known host of %s is of one environment, and makes no connection of the other',
    async (name) => {
      const adapter = adapters[name];
      const { defaultUrl, testUrl, otherHosts = {} } = adapter;
      const known = (url: string | null, hosts: readonly string[] = []) => [
        ...(url === null ? [] : [url]),
        ...hosts.map((host) => `https://${host}/api`),
      ];
      const live = known(defaultUrl, otherHosts.live);
      const test = known(testUrl, otherHosts.test);
      expect(live.map((url) => placeOf(adapter, url))).toEqual(live.map(() => 'live'));
      expect(test.map((url) => placeOf(adapter, url))).toEqual(test.map(() => 'test'));
      expect(test.length).toBeGreaterThan(0);
      const credentials = {
        ...simulatorCredentials(adapter, service.runtime.secrets, 'loja-s'),
        ...(adapter.certificate === 'required' && {
          ...{ certificate: pfx.toString('base64'), certificatePassphrase: passphrase },
        }),
      };
      const made = (url: string, isTest: boolean) =>
        createConnection(deps, sandbox({ adapter: name, credentials, url, sandbox: isTest }));
      for (const url of test)
        await expect(made(url, false)).rejects.toThrow("url: is of the provider's test environment");
      for (const url of live)
        await expect(made(url, true)).rejects.toThrow('url: is where the provider moves money');
    },
  );

  test('Only test accounts bind to it, and it is named wherever connections are', async () => {
    const { runtime } = service;
    expect(await createConnection(deps, sandbox())).toMatchObject({ test: true, environment: 'sandbox' });
    await until(async () => runtime.providers.has('loja-s'));
    expect(runtime.providers.get('loja-s')?.capabilities.movesMoney).toBe(false);
    await expect(createAccount(runtime, { name: 'Loja', test: false, connection: 'loja-s' })).rejects.toThrow(
      'loja-s moves no money, and the account is a live one',
    );
    const [found] = await examineConnections({ ...deps, ofEnvironment: new Map() }, 'loja-s');
    expect(found?.findings[0]).toMatchObject({ check: 'environment', ok: true });
    await expect(setConnection(deps, 'loja-s', { url: 'https://pix.api.efipay.com.br' })).rejects.toThrow(
      /^url: is where the provider moves money/,
    );
    const shop = await merchantOn('loja-s', banks.a.simulator, true);
    const { id } = (await shop.charge({ amountCents: 5000 })).body;
    const key = await service.newKey(shop.ownerId, ['read', 'simulate']);
    const played = await callWith(`${service.url}/api/v1/test`, key)('POST', `/payments/${id}/pay`, {});
    expect(played.body).toMatchObject({ statusCode: 403, code: 'simulator_account_required' });
    const clock = await callWith(`${service.url}/api/v1/test`, key)('POST', '/clock', {});
    expect(clock.body.code).toBe('simulator_account_required');
  });
});

const holdIncidents = (connection: string) =>
  service.database.admin<{ id: string; state: string; reason: string }>(
    `SELECT id, state, detail ->> 'reason' AS reason FROM vintem.incident
      WHERE kind = 'connection_held' AND detail ->> 'connection' = $1 ORDER BY id`,
    [connection],
  );

test('A connection whose provider answers with another account than before is held, also by a process that starts and after it was changed', async () => {
  const { runtime } = service;
  await createConnection(deps, {
    name: 'loja-w',
    adapter: 'woovi',
    mode: 'shared',
    url: `${banks.a.simulator.url}/woovi`,
    credentials: { appId: Buffer.from(`loja-w:${clientSecretOf('loja-w')}`).toString('base64') },
    simulated: false,
  });
  await runtime.connections.refresh();
  const real = (await connectionOf('loja-w'))?.identity as string;
  expect(runtime.providers.get('loja-w')?.identity).toBe(real);
  const begun = () => keepConnections({ ...runtime, config: deps.config, wrap: (one) => one }, new Map());
  const rowSays = (identity: string) =>
    service.database.admin(
      `UPDATE vintem.connection SET identity = $1, version = version + 1 WHERE id = 'loja-w'`,
      [identity],
    );
  await rowSays('an earlier account');
  const first = begun();
  await until(async () => {
    await first.refresh();
    return first.held.has('loja-w');
  });
  expect(first.providers.get('loja-w')?.identity).toBeNull();
  await createHoldNotes({ ...runtime, connections: first })();
  expect(await holdIncidents('loja-w')).toMatchObject([
    { state: 'open', reason: 'the provider answers with another account than before' },
  ]);

  // A process that starts now, before it has asked, and one that knew it, after a change that is none of the account.
  const second = begun();
  await second.refresh();
  expect(second.providers.get('loja-w')?.identity).toBeNull();
  await service.database.admin(`UPDATE vintem.connection SET version = version + 1 WHERE id = 'loja-w'`);
  await first.refresh();
  expect(first.providers.get('loja-w')?.identity).toBeNull();

  // A person may resolve the incident; the connection stays held, and another incident is not opened for it.
  const [{ id } = { id: '' }] = await holdIncidents('loja-w');
  await expect(
    resolveIncident(deps, id, { action: 'writeoff', reason: 'no money is there' }),
  ).rejects.toThrow('does not fit');
  await resolveIncident(deps, id, { action: 'none', reason: 'the bank is asked' });
  await createHoldNotes({ ...runtime, connections: first })();
  expect(await holdIncidents('loja-w')).toMatchObject([{ id, state: 'resolved' }]);

  // With the earlier account it is used again.
  await rowSays(real);
  await until(async () => {
    await first.refresh();
    return first.held.size === 0;
  });
  expect(first.providers.get('loja-w')?.identity).toBe(real);
  await retireConnection(deps, 'loja-w');
});

test('The connection of the environment is held while another account is behind it and a payment on it is unfinished', async () => {
  const { runtime } = service;
  const merchant = await service.newMerchant();
  await merchant.receive(5_000);
  await service.simulator.behave({ payout: 'stay-pending' });
  const { body } = await merchant.transfer({ amountCents: 1_000 });
  const simulator = runtime.providers.get('simulator') as Provider;
  const before = await connectionOf('simulator');
  const other = { ...simulator, identity: 'another account' };
  const started = keepConnections(
    { ...runtime, config: deps.config, wrap: (one) => one },
    new Map([['simulator', other]]),
  );
  await started.refresh();
  expect(started.providers.get('simulator')).toMatchObject({ identity: null });
  expect((await connectionOf('simulator'))?.identity).toBe(before?.identity);
  const plan = planDispatch(
    { clock: runtime.clock, providers: started.providers, senders: new Map() },
    { connection: 'simulator' } as Caller,
    transfer,
    0,
  );
  expect(plan.configured).toBe(false);
  // The account that answers now is asked for nothing.
  const held = started.providers.get('simulator') as Provider;
  await expect(held.balance()).rejects.toThrow('the connection is held');
  expect(await held.statement({ fromMs: 0, toMs: 1 })).toMatchObject({ outcome: 'unclear' });
  expect(await runtime.isInUse(held)).toBe(false);
  await expect(
    reconcile({ ...runtime, providers: started.providers }, deps, { accountId: null, sinceMs: null }),
  ).rejects.toThrow('held, so that nothing can be compared: simulator');

  // It is said to people, once, for as long as it lasts.
  for (const noteHolds of [1, 2].map(() => createHoldNotes({ ...runtime, connections: started })))
    await noteHolds();
  const reason =
    'payments on it are unfinished, and these credentials are of another account at the provider';
  expect(await showConnection(deps, 'simulator')).toMatchObject({ heldReason: reason });
  const [incident, ...others] = await holdIncidents('simulator');
  expect(others).toEqual([]);
  expect(incident).toMatchObject({ state: 'open', reason });
  const ofEnvironment = (provider: Provider) => new Map([['simulator', { provider, certificate: null }]]);
  const findings = async (provider: Provider) =>
    (await examineConnections({ ...deps, ofEnvironment: ofEnvironment(provider) }, 'simulator'))[0]?.findings;
  expect(await findings(other)).toContainEqual({
    ...{ check: 'account', ok: false },
    message: expect.stringContaining(`nothing is sent and nothing is asked for over it, because ${reason}`),
    action: expect.stringContaining('vintem connection create'),
  });

  await service.simulator.control('POST', `/control/payouts/${body.id.replaceAll('-', '')}/complete`);
  await until(async () => {
    await started.refresh();
    return started.providers.get('simulator')?.identity === other.identity;
  });
  expect((await connectionOf('simulator'))?.identity).toBe(other.identity);
  expect(started.held.size).toBe(0);
  // None has said it for two minutes.
  await stepHolds(runtime);
  expect((await showConnection(deps, 'simulator')).heldSince).toBeDefined();
  await service.database.admin(
    `UPDATE vintem.connection SET held_seen_at = now() - interval '3 min' WHERE held_since IS NOT NULL`,
  );
  await stepHolds(runtime);
  expect((await showConnection(deps, 'simulator')).heldSince).toBeUndefined();
  expect(await holdIncidents('simulator')).toEqual([{ ...incident, state: 'resolved' }]);
  expect(await findings(other)).not.toContainEqual(expect.objectContaining({ check: 'account' }));
  await service.database.admin('UPDATE vintem.connection SET identity = $2 WHERE id = $1', [
    'simulator',
    before?.identity,
  ]);
});
