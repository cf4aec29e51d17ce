import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freePort } from '@vintem/testkit/free-port.ts';
import { merchantOf, openService, type Service, simulatorAt, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { foreign } from '../../../simulator/test/foreign.ts';
import { createConnection } from '../../src/operate/connections/connections.ts';
import { createAccount } from '../../src/operate/connections/directory.ts';
import { type DoctorDeps, examineConnections, examineWayIn } from '../../src/operate/connections/doctor.ts';
import type { Net, NetAnswer, NetRequest } from '../../src/ports/net.ts';
import { NotSent } from '../../src/ports/net.ts';
import { buildStaticBrCode } from '../../src/provider/br-code.ts';
import { certificateFindings } from '../../src/provider/diagnosis.ts';
import type { Finding, FindingCheck } from '../../src/provider/provider.ts';
import { certificate, otherCertificate, passphrase, pfx } from './certificate.ts';

/** Each fault that stands between a connection and its payments is planted in each protocol, and must be found under its name. */

type Fault = (request: NetRequest, pass: () => Promise<NetAnswer>) => Promise<NetAnswer> | undefined;

let service: Service;
let deps: DoctorDeps;
let fault: Fault = () => undefined;

beforeAll(async () => {
  service = await openService();
  const { runtime } = service;
  const net: Net = {
    ...runtime.net,
    request: (request) => fault(request, () => runtime.net.request(request)) ?? runtime.net.request(request),
  };
  deps = {
    ...runtime,
    net,
    actor: 'tester',
    ofEnvironment: new Map(),
    config: { simulatorUrl: service.simulator.url, hooksUrl: service.url, provider: null },
  };
  for (const adapter of ['efi', 'woovi', 'bb', 'sicoob', 'inter', 'stark', 'asaas', 'asaas-checkout'])
    await createConnection(deps, {
      name: `loja-${adapter}`,
      adapter,
      mode: 'shared',
      url: null,
      credentials: null,
      simulated: true,
    });
});
afterAll(() => service.close());
beforeEach(() => {
  fault = () => undefined;
});

const examined = async (name: string, with_: DoctorDeps = deps): Promise<Finding[]> =>
  (await examineConnections(with_, name))[0]?.findings ?? [];

const faultsOf = (findings: Finding[]): FindingCheck[] =>
  findings.filter(({ ok }) => !ok).map(({ check }) => check);

/** The running service has registered its address by itself. */
const healthy = async (name: string): Promise<Finding[]> => {
  let findings: Finding[] = [];
  await until(async () => {
    findings = await examined(name);
    return faultsOf(findings).length === 0;
  });
  return findings;
};

const json = (status: number, body: unknown): Promise<NetAnswer> =>
  Promise.resolve({ status, headers: { date: new Date().toUTCString() }, text: JSON.stringify(body) });

const at =
  (address: RegExp, answer: (pass: () => Promise<NetAnswer>) => Promise<NetAnswer>): Fault =>
  (request, pass) =>
    address.test(`${request.method} ${request.url}`) ? answer(pass) : undefined;

const changed = async (
  pass: () => Promise<NetAnswer>,
  change: (body: object) => object,
): Promise<NetAnswer> => {
  const answer = await pass();
  return { ...answer, text: JSON.stringify(change(JSON.parse(answer.text))) };
};

const hourBehind: Fault = (request, pass) =>
  request.url.startsWith(service.simulator.url)
    ? pass().then((answer) => ({
        ...answer,
        headers: { ...answer.headers, date: new Date(Date.now() - 3_600_000).toUTCString() },
      }))
    : undefined;

describe('a connection that is well', () => {
  test.each<[string, FindingCheck[]]>([
    [
      'loja-efi',
      [
        ...(['token', 'scopes', 'clock', 'pix key', 'webhook', 'balance', 'limits'] as const),
        ...(['payout limit', 'fees', 'due-date charges', 'way in', 'refusal'] as const),
      ],
    ],
    [
      'loja-woovi',
      [
        ...(['token', 'clock', 'webhook', 'balance', 'limits', 'payout limit'] as const),
        ...(['automatic withdrawal', 'fees', 'due-date charges', 'way in', 'refusal'] as const),
      ],
    ],
    ['loja-bb', ['token', 'scopes', 'clock', 'pix key', 'webhook', 'due-date charges', 'way in']],
    [
      'loja-inter',
      [
        ...(['token', 'scopes', 'clock', 'pix key', 'webhook', 'balance'] as const),
        ...(['payout limit', 'fees', 'due-date charges', 'way in'] as const),
      ],
    ],
    [
      'loja-stark',
      [
        ...(['token', 'clock', 'webhook', 'balance'] as const),
        ...(['payout limit', 'fees', 'due-date charges', 'way in', 'refusal'] as const),
      ],
    ],
    [
      'loja-asaas',
      [
        ...(['token', 'clock', 'webhook', 'balance', 'limits', 'approval'] as const),
        ...(['payout limit', 'fees', 'due-date charges', 'way in', 'refusal'] as const),
      ],
    ],
    [
      'loja-asaas-checkout',
      ['token', 'clock', 'webhook', 'balance', 'cards', 'due-date charges', 'way in', 'refusal'],
    ],
  ])('%s', async (name, checks) => {
    const findings = await healthy(name);
    expect(findings.map(({ check }) => check)).toEqual(checks);
    const said = JSON.stringify(findings);
    expect(said).not.toContain('simulator.example');
    expect(said).not.toContain('/hooks/');
  });

  test('all of them are examined together, and one that does not exist is named', async () => {
    const all = await examineConnections(deps, null);
    expect(all.map(({ connection, adapter }) => [connection, adapter])).toEqual([
      ['loja-asaas', 'asaas'],
      ['loja-asaas-checkout', 'asaas-checkout'],
      ['loja-bb', 'bb'],
      ['loja-efi', 'efi'],
      ['loja-inter', 'inter'],
      ['loja-sicoob', 'sicoob'],
      ['loja-stark', 'stark'],
      ['loja-woovi', 'woovi'],
    ]);
    await expect(examineConnections(deps, 'nobody')).rejects.toThrow('no connection nobody');
    expect(await examined('simulator')).toMatchObject([{ check: 'token', ok: false }]);
  });
});

test('Each connection says whether charges with a due date are made, from which day on, and under which conditions', async () => {
  const said = async (name: string) => {
    const found = (await healthy(name)).find(({ check }) => check === 'due-date charges');
    return found?.message.split('; ')[0];
  };
  const offered = 'offered, and a query of one is answered';
  expect(await said('loja-efi')).toBe(`${offered}, due dates from today on`);
  expect(await said('loja-woovi')).toBe(
    `${offered}, due dates from tomorrow on, with the payer's address, without changes`,
  );
  expect(await said('loja-inter')).toMatch(/^not offered: the application lacks cobv\.read and cobv\.write/);
  for (const name of ['loja-stark', 'loja-asaas', 'loja-asaas-checkout'])
    expect(await said(name)).toBe('not offered: this service makes none here');
});

const withoutScope = (pass: () => Promise<NetAnswer>) =>
  changed(pass, (body) => ({ ...body, scope: 'cob.read cob.write' }));
const keyRefused = () => json(403, { type: 'https://pix.bcb.gov.br/api/v2/error/AcessoNegado' });
const emptied = (name: string, change: object) => () =>
  json(200, { ...(foreign(name).body as object), ...change });
const bucket = (foreign('efi/buckets').body as { baldeB: object }).baldeB;

describe('a planted fault is found under its name, alone', () => {
  test.each<[string, string, FindingCheck, Fault]>([
    ['loja-efi', 'credentials', 'token', at(/oauth/, () => json(401, { error: 'invalid_client' }))],
    ['loja-efi', 'a permission', 'scopes', at(/oauth/, withoutScope)],
    ['loja-efi', 'the clock', 'clock', (...call) => hourBehind(...call)],
    ['loja-efi', 'the Pix key', 'pix key', at(/GET .*\/v2\/webhook\//, keyRefused)],
    [
      'loja-asaas-checkout',
      'an account that is not approved',
      'cards',
      at(/GET .*\/v3\/myAccount\/status/, emptied('asaas/account-status', { general: 'PENDING' })),
    ],
    [
      'loja-asaas',
      'a queue that was stopped',
      'webhook',
      at(/GET .*\/v3\/webhooks/, (pass) =>
        changed(pass, (body) => ({
          ...body,
          data: (body as { data: object[] }).data.map((one) => ({ ...one, interrupted: true })),
        })),
      ),
    ],
    ['loja-efi', 'the balance', 'balance', at(/saldo/, () => json(500, {}))],
    [
      'loja-efi',
      'an empty bucket',
      'limits',
      at(/balde/, emptied('efi/buckets', { baldeB: { ...bucket, fichasDisponiveis: 0 } })),
    ],
    [
      'loja-efi',
      'another address',
      'webhook',
      at(/GET .*\/v2\/webhook\//, (pass) =>
        changed(pass, (body) => ({ ...body, webhookUrl: 'https://old.example/hook' })),
      ),
    ],
    [
      'loja-woovi',
      'the AppID',
      'token',
      at(/api\/v1/, () => json(401, foreign('woovi/app-id-invalid').body)),
    ],
    ['loja-woovi', 'the clock', 'clock', (...call) => hourBehind(...call)],
    ['loja-woovi', 'the balance', 'balance', at(/account/, () => json(500, {}))],
    [
      'loja-woovi',
      'a limit below the least transfer',
      'payout limit',
      at(/limits/, (pass) =>
        changed(pass, (body) => ({
          limits: { ...(body as { limits: object }).limits, pixOutDifferentHolderDayLimit: 100 },
        })),
      ),
    ],
    [
      'loja-woovi',
      'a permission to read fees',
      'fees',
      at(/type=FEE/, () => json(403, foreign('woovi/scope-missing').body)),
    ],
    ['loja-woovi', 'an empty bucket', 'limits', at(/tokens/, emptied('woovi/tokens', { tokens: 19 }))],
    ['loja-woovi', 'no address', 'webhook', at(/GET .*\/webhook\?/, () => json(200, { webhooks: [] }))],
    [
      'loja-stark',
      'the signature',
      'token',
      at(/stark\/v2/, () => json(400, foreign('stark/signature-refused').body)),
    ],
    ['loja-stark', 'the balance', 'balance', at(/balance/, () => json(500, {}))],
    ['loja-stark', 'no address', 'webhook', at(/GET .*\/webhook\?/, () => json(200, { webhooks: [] }))],
    ['loja-bb', 'credentials', 'token', at(/oauth/, () => json(401, { error: 'invalid_client' }))],
    ['loja-bb', 'a permission', 'scopes', at(/oauth/, withoutScope)],
    ['loja-inter', 'a permission', 'scopes', at(/oauth/, withoutScope)],
    ['loja-inter', 'the Pix key', 'pix key', at(/GET .*\/v2\/webhook\//, keyRefused)],
    ...(['loja-efi', 'loja-sicoob'] as const).map((name): [string, string, FindingCheck, Fault] => [
      name,
      'a permission of charges with a due date that the token does not name',
      'due-date charges',
      at(/GET .*\/cobv\//, keyRefused),
    ]),
    [
      'loja-woovi',
      'a permission of charges',
      'due-date charges',
      at(/GET .*\/api\/v1\/charge\//, () => json(403, foreign('woovi/scope-missing').body)),
    ],
    ['loja-bb', 'the clock', 'clock', (...call) => hourBehind(...call)],
    ['loja-bb', 'the Pix key', 'pix key', at(/GET .*\/v2\/webhook\//, keyRefused)],
    [
      'loja-bb',
      'no address',
      'webhook',
      at(/GET .*\/v2\/webhook\//, () =>
        json(404, { type: 'https://pix.bcb.gov.br/api/v2/error/WebhookNaoEncontrado' }),
      ),
    ],
    [
      'loja-bb',
      "a provider's own certificate",
      'certificate',
      at(/oauth/, () => Promise.reject(new NotSent('SELF_SIGNED_CERT_IN_CHAIN'))),
    ],
  ])('%s: %s', async (name, _what, check, planted) => {
    await healthy(name);
    fault = planted;
    const faults = (await examined(name)).filter(({ ok }) => !ok);
    expect(faults.map((one) => one.check)).toEqual([check]);
    expect(faults[0]?.action).toMatch(/\w{4}/);
  });
});

test('an account at a bank that sends no payouts receives, gives back, and shows what is not offered', async () => {
  await healthy('loja-bb');
  const { ownerId, operationId } = await createAccount(service.runtime, {
    name: 'Loja',
    test: true,
    connection: 'loja-bb',
  });
  const key = await service.newKey(ownerId);
  const bank = simulatorAt(`${service.simulator.url}/api-pix`);
  const merchant = merchantOf({ ownerId, operationId, key, call: service.as(key) }, bank);
  const { body: charge } = await merchant.charge({ amountCents: 2_000 });
  await bank.control('POST', `/control/charges/${charge.id.replaceAll('-', '')}/pay`);
  await until(async () => (await merchant.call('GET', `/payments/${charge.id}`)).body.status === 'paid');
  const requestKey = crypto.randomUUID();
  const { status, body } = await merchant.call('POST', `/payments/${charge.id}/refunds`, {
    requestKey,
    amountCents: 500,
  });
  expect(status).toBe(201);
  await until(async () => (await merchant.call('GET', `/refunds/${body.id}`)).body.status === 'completed');
  const refused = await merchant.transfer({ amountCents: 1_000 });
  expect(refused).toMatchObject({ status: 400, body: { code: 'not_offered_by_provider' } });
});

test('A printed code that names another Pix key than its connection, or one that the bank refuses, is a fault of its own', async () => {
  await healthy('loja-efi');
  const { ownerId } = await createAccount(service.runtime, {
    ...{ name: 'Banca', test: true, connection: 'loja-efi' },
  });
  const call = service.as(await service.newKey(ownerId));
  const newCode = async (name: string) =>
    (await call('POST', '/static-codes', { name, requestKey: crypto.randomUUID() })).body;
  const aboutCodes = async () => (await examined('loja-efi')).filter(({ check }) => check === 'static codes');
  const [code] = [await newCode('Balcão'), await newCode('Feira')];
  const inUse = '2 static codes in use pay into the Pix key of the connection';
  expect(await aboutCodes()).toEqual([{ check: 'static codes', ok: true, message: inUse }]);
  fault = at(/GET .*\/v2\/webhook\//, keyRefused);
  expect(faultsOf(await examined('loja-efi'))).toEqual(['pix key', 'static codes']);
  fault = () => undefined;
  const earlier = buildStaticBrCode({
    ...{ pixKey: 'antiga@loja.example', identifier: code.identifier },
    ...{ merchantName: 'Banca', merchantCity: 'Recife' },
  });
  await service.database.admin('UPDATE static_code SET copy_paste = $2 WHERE id = $1', [code.id, earlier]);
  expect(await aboutCodes()).toMatchObject([
    { ok: false, message: expect.stringMatching(/^1 of 2 static codes in use pay into another Pix key/) },
  ]);
  expect(JSON.stringify(await aboutCodes())).not.toContain('antiga@loja.example');
  // A retired one is the merchant's own decision.
  await call('PATCH', `/static-codes/${code.id}`, { status: 'retired' });
  expect(await aboutCodes()).toMatchObject([{ ok: true }]);
});

describe('the way in', () => {
  const elsewhere = (url: string): DoctorDeps => ({ ...deps, config: { ...deps.config, hooksUrl: url } });

  test('where no server listens', async () => {
    const nobody = `http://localhost:${await freePort()}`;
    for (const name of ['loja-efi', 'loja-bb']) {
      const findings = await examined(name, elsewhere(nobody));
      expect(faultsOf(findings)).toEqual(['webhook', 'way in']);
      expect(findings.at(-1)?.message).toContain('ECONNREFUSED');
    }
  });

  test('where something else says yes to everything', async () => {
    const other: Server = createServer((_, answer) => void answer.end());
    await new Promise<void>((done) => other.listen(0, done));
    const deps_ = elsewhere(`http://localhost:${(other.address() as AddressInfo).port}`);
    expect((await examined('loja-bb', deps_)).at(-1)).toMatchObject({
      check: 'way in',
      message: 'it answers to a wrong secret too',
    });
    expect((await examined('loja-efi', deps_)).at(-1)).toMatchObject({
      check: 'way in',
      message: 'it answers 200',
    });
    other.closeAllConnections();
    other.close();
  });

  const saying = (answer: (headers: Record<string, string>) => number | Error): Net =>
    ({
      request: async ({ headers = {} }: NetRequest) => {
        const said = answer(headers);
        if (said instanceof Error) throw said;
        return { status: said, headers: {}, text: '' };
      },
    }) as unknown as Net;
  const wayIn = (answer: (headers: Record<string, string>) => number | Error, url = 'https://pay.example') =>
    examineWayIn(
      { net: saying(answer), config: { hooksUrl: url } },
      { ours: `${url}/a`, wrong: `${url}/b`, trust: 'mtls', local: false },
    );
  const believesHeader = (headers: Record<string, string>) =>
    headers['x-ssl-client-verify'] === 'SUCCESS' ? 200 : 403;

  test.each<[string, (headers: Record<string, string>) => number | Error, FindingCheck, boolean]>([
    ['a proxy that refuses', () => 403, 'refusal', true],
    [
      'a handshake that ends',
      () => new NotSent('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'),
      'refusal',
      true,
    ],
    ['this service that refuses', () => 401, 'refusal', true],
    ['a proxy that lets everybody in', () => 200, 'refusal', false],
    ["a proxy that passes a caller's header", believesHeader, 'refusal', false],
    ['a proxy without a service', () => 502, 'way in', false],
    ['a proxy that does not pass it on', () => 404, 'way in', false],
    ['nobody', () => new NotSent('ENOTFOUND'), 'way in', false],
  ])('behind certificates: %s', async (_name, answer, check, ok) => {
    expect(await wayIn(answer)).toMatchObject([{ check, ok }]);
  });

  test.each(['http://pay.example', 'https://localhost', 'https://127.0.0.1'])(
    'a live provider cannot reach %s',
    async (url) => {
      expect(await wayIn(() => 403, url)).toMatchObject([{ check: 'way in', ok: false }]);
    },
  );
});

describe('the client certificate', () => {
  const now = Date.parse('2026-11-22');
  const pem = (...certificates: string[]) => ({
    cert: Buffer.from(certificates.join('')),
    key: Buffer.from(''),
  });
  test.each<[string, ReturnType<typeof pem> | { pfx: Buffer; passphrase: string }, number, RegExp, boolean]>([
    ['good', { pfx, passphrase }, now, /^it is valid until 2126-10-27, \d+ days$/, true],
    ['at its end', { pfx, passphrase }, Date.parse('2126-10-01'), /2126-10-27, 26 days/, false],
    ['over', { pfx, passphrase }, Date.parse('2127-01-01'), /it has expired on 2126-10-27/, false],
    ['not yet', { pfx, passphrase }, Date.parse('2020-01-01'), /it is valid from 2026-11-20 on/, false],
    ['a chain', pem(certificate, certificate), now, /it is valid/, true],
    [
      'a broken chain',
      pem(certificate, otherCertificate),
      now,
      /certificate 2 of its chain has not issued/,
      false,
    ],
  ])('%s', (_name, given, at_, message, ok) => {
    const [finding] = certificateFindings(given, at_);
    expect(finding).toMatchObject({ check: 'certificate', ok });
    expect(finding?.message).toMatch(message);
  });
});
