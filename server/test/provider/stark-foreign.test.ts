import { execFile } from 'node:child_process';
import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { answeringNet } from '@vintem/testkit/answering-net.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { foreign } from '../../../simulator/test/foreign.ts';
import { createLog } from '../../src/ground/log.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { NetAnswer } from '../../src/ports/net.ts';
import { readCredentials } from '../../src/provider/adapter.ts';
import { starkAdapter } from '../../src/provider/stark/stark.ts';

/** The adapter reads what Stark Bank documents: every body here comes from outside (`contract/provider-bodies/stark`). */

const outside = answeringNet();
const { net } = outside;
const now = Date.parse('2026-11-21T12:00:00Z');
const clock: Clock = { now: () => now, machineMs: () => now, monotonicMs: () => now, sleep: async () => {} };

const pair = generateKeyPairSync('ec', { namedCurve: 'secp256k1' });
const pem = pair.privateKey.export({ type: 'sec1', format: 'pem' }).toString();
const provider = (workspaceId = '5078376503050240', identity: string | null = null) =>
  starkAdapter.create(
    {
      ...{ name: 'stark', test: false, simulated: false, url: 'https://api.starkbank.com' },
      credentials: { projectId: '5656565656565656', privateKey: pem, workspaceId },
      ...{ certificate: null, identity },
    },
    { net, clock, log: createLog('silent') },
  );

const json = (status: number, body: unknown): NetAnswer => ({
  status,
  headers: {},
  text: JSON.stringify(body),
});
const saying = (name: string): NetAnswer => {
  const { status = 200, body } = foreign(`stark/${name}`);
  return json(status, body);
};
// biome-ignore lint/suspicious/noExplicitAny: bodies of every shape are changed.
type Json = any;
const changed = (name: string, change: (body: Json) => void): NetAnswer => {
  const { status = 200, body } = structuredClone(foreign(`stark/${name}`));
  change(body);
  return json(status, body);
};
const nothing = (name: string): NetAnswer => json(200, { cursor: null, [name]: [] });

beforeEach(() => {
  outside.answers = [];
  outside.calls = [];
});

const providerId = '123e4567e89b12d3a456426614174000';
const amountCents = 2;
const instruction = {
  ...{ providerId, amountCents, pixKey: 'tony@starkbank.com', pixKeyType: 'EMAIL' as const },
  description: 'Payment for service #1234',
};
const own = (transfer: Json) =>
  Object.assign(transfer, { externalId: providerId, tags: [`vintem/${providerId}`] });
const listed = (change: (transfer: Json) => void = () => {}) =>
  changed('transfer-list', (body) => change(own(body.transfers[0])));
const entry = (id: string, amount: number) => ({
  ...{ id, amount, fee: 0, created: '2020-08-31T16:10:19.163070+00:00', balance: 0, tags: [] },
  ...{ source: 'transfer/5107489032896512/chargeback', description: '', externalId: '' },
});
const ledger = (...entries: object[]) => json(200, { cursor: null, transactions: entries });

test('Each call is signed over project, time and the exact bytes of its body', async () => {
  outside.answers = [saying('key-answer'), changed('transfer-answer', ({ transfers }) => own(transfers[0]))];
  expect(await provider().sendPayout(instruction)).toMatchObject({ outcome: 'accepted' });
  for (const { headers = {}, body = '', url } of outside.calls) {
    const { 'access-id': id, 'access-time': time, 'access-signature': signature = '' } = headers;
    expect([id, time]).toEqual(['project/5656565656565656', String(now / 1000)]);
    const bytes = Buffer.concat([Buffer.from(`${id}:${time}:`), Buffer.from(body)]);
    expect(verify('SHA256', bytes, pair.publicKey, Buffer.from(signature, 'base64')), url).toBe(true);
    expect(headers['user-agent']).toMatch(/^vintem\//);
  }
  const { body } = foreign('stark/transfer-request') as Json;
  expect(JSON.parse(String(outside.calls[1]?.body)).transfers[0]).toEqual({
    ...body.transfers[0],
    amount: amountCents,
  });
});

test('A private key of another curve, or none, is refused before anything is stored', () => {
  const other = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;
  for (const privateKey of ['no key', other.export({ type: 'pkcs8', format: 'pem' }).toString()])
    expect(() =>
      starkAdapter.create(
        {
          ...{ name: 'stark', test: true, simulated: false, url: 'https://sandbox.api.starkbank.com' },
          ...{ credentials: { projectId: '1', privateKey, workspaceId: '1' }, certificate: null },
        },
        { net, clock, log: createLog('silent') },
      ),
    ).toThrow('privateKey');
});

describe('a payout', () => {
  test('A key whose bank code is not the ISPB is never paid: it would become a TED', async () => {
    const other = changed('key-answer', ({ key }) => Object.assign(key, { ispb: '341' }));
    // A second call would be answered.
    outside.answers = [other, saying('transfer-answer')];
    expect(await provider().sendPayout(instruction)).toMatchObject({ outcome: 'notSent' });
    expect(outside.calls).toHaveLength(1);
  });

  test('A look-up that is not answered sends nothing, and an unknown key refuses', async () => {
    outside.answers = [json(500, {}), saying('key-unknown')];
    expect(await provider().sendPayout(instruction)).toMatchObject({ outcome: 'notSent' });
    expect(await provider().sendPayout(instruction)).toMatchObject({
      ...{ outcome: 'refused', reason: 'pix_key_not_found' },
    });
    expect(outside.calls.every(({ method }) => method === 'GET')).toBe(true);
  });

  test('A look-up that was answered and cannot be read says of one payout, and not that the provider is down', async () => {
    outside.answers = [changed('key-answer', ({ key }) => delete key.ispb)];
    expect(await provider().sendPayout(instruction)).toMatchObject({ outcome: 'notSent', answered: true });
    outside.answers = [json(500, { errors: [{ code: 'internalServerError', message: 'Houston' }] })];
    expect(await provider().sendPayout(instruction)).not.toHaveProperty('answered');
    outside.answers = [json(429, {})];
    expect(await provider().sendPayout(instruction)).not.toHaveProperty('answered');
  });

  test('An externalId that was used is a duplicate whatever the code of its error, once the transfer is found', async () => {
    for (const name of ['transfer-duplicate', 'transfer-refused']) {
      outside.answers = [saying('key-answer'), saying(name), listed()];
      expect(await provider().sendPayout(instruction)).toEqual({ outcome: 'duplicate' });
    }
  });

  test('Only the first request can be refused, by a code of the table and with nothing under its id', async () => {
    outside.answers = [saying('key-answer'), saying('transfer-refused'), nothing('transfers')];
    expect(await provider().sendPayout(instruction)).toMatchObject({
      ...{ outcome: 'refused', words: { name: '400 invalidTaxId' } },
    });
    const repeat = { ...instruction, repeatOf: now - 20_000 };
    for (const look of [nothing('transfers'), json(500, {})]) {
      outside.answers = [saying('key-answer'), saying('transfer-refused'), look];
      const repeated = await provider().sendPayout(repeat);
      expect(repeated).toMatchObject({ outcome: 'unclear', cause: 'unknownRefusal' });
      expect(repeated).not.toHaveProperty('refused');
    }
    outside.answers = [saying('key-answer'), saying('transfer-duplicate'), nothing('transfers')];
    expect(await provider().sendPayout(instruction)).toMatchObject({ outcome: 'unclear' });
    outside.answers = [saying('key-answer'), saying('transfer-refused'), json(500, {})];
    expect(await provider().sendPayout(instruction)).toMatchObject({ outcome: 'unclear', refused: true });
  });

  test('An answer that names another id or amount accepts nothing', async () => {
    for (const change of [{ amount: 3 }, { externalId: 'another', tags: ['vintem/another'] }]) {
      const made = changed('transfer-answer', ({ transfers }) => Object.assign(own(transfers[0]), change));
      outside.answers = [saying('key-answer'), made];
      expect(await provider().sendPayout(instruction)).toMatchObject({ outcome: 'unclear' });
    }
  });

  test('A failure releases the amount only when the ledger has it back', async () => {
    const failed = () =>
      listed((one) => Object.assign(one, { status: 'failed', transactionIds: ['6547649079541760', '7'] }));
    outside.answers = [
      failed(),
      ledger(entry('6547649079541760', -2), entry('7', 2)),
      saying('transfer-log-list'),
    ];
    expect(await provider().queryPayout(providerId)).toMatchObject({ report: { status: 'refused' } });
    outside.answers = [
      listed((one) => Object.assign(one, { status: 'failed' })),
      ledger(entry('6547649079541760', -2)),
    ];
    outside.answers.push(nothing('logs'));
    expect(await provider().queryPayout(providerId)).toMatchObject({ report: { status: 'pending' } });
    // An entry that the ledger does not give says nothing.
    outside.answers = [failed(), ledger(entry('6547649079541760', -2))];
    expect(await provider().queryPayout(providerId)).toMatchObject({ outcome: 'unclear' });
  });

  test('A success that came back is completed with its return, and a status without a name ends nothing', async () => {
    const back = (one: Json) => Object.assign(one, { status: 'success', transactionIds: ['6', '7'] });
    outside.answers = [listed(back), ledger(entry('6', -2), entry('7', 1))];
    expect(await provider().queryPayout(providerId)).toMatchObject({
      report: { status: 'completed', returns: [{ id: '7', rtrId: null, amountCents: 1, status: 'settled' }] },
    });
    outside.answers = [listed((one) => Object.assign(one, { status: 'reviewing' }))];
    expect(await provider().queryPayout(providerId)).toMatchObject({ report: { status: 'pending' } });
  });

  test('A transfer that names its entries in the ledger in another form cannot be read', async () => {
    outside.answers = [listed((one) => Object.assign(one, { transactionIds: ['6', 'x7'] }))];
    expect(await provider().queryPayout(providerId)).toMatchObject({ outcome: 'unclear' });
    outside.answers = [
      listed((one) => Object.assign(one, { transactionIds: ['6', 'invalidTransactionId'] })),
    ];
    expect(await provider().queryPayout(providerId)).toMatchObject({ outcome: 'found' });
  });

  test('A transfer whose externalId is not that of its tag cannot be read', async () => {
    outside.answers = [listed((one) => Object.assign(one, { externalId: 'another' }))];
    expect(await provider().queryPayout(providerId)).toMatchObject({
      ...{ outcome: 'unclear', unread: { kind: 'payout', providerId } },
    });
  });
});

describe('what came in', () => {
  const code = () => changed('code-list', () => {});
  const deposits = (change: (deposit: Json) => void = () => {}) =>
    changed('deposit-list', (body) => change(body.deposits[0]));

  test('A deposit names its Pix and its code by tags, and counts once it is in the ledger', async () => {
    outside.answers = [code(), deposits()];
    expect(await provider().queryCharge(providerId)).toMatchObject({
      report: {
        status: 'paid',
        received: [
          {
            ...{ endToEnd: 'E20018183202408281923xg35f29fxuz', amountCents: 10_005, txid: providerId },
            ...{ paidAt: Date.parse('2024-08-28T19:23:59.396Z'), returns: [] },
          },
        ],
      },
    });
    outside.answers = [deposits()];
    expect(await provider().findPix('E20018183202408281923XG35F29FXUZ')).toMatchObject({
      report: { direction: 'received', providerId },
    });
    outside.answers = [code(), deposits((one) => Object.assign(one, { transactionIds: [] }))];
    expect(await provider().queryCharge(providerId)).toMatchObject({ report: { status: 'open' } });
  });

  test.each([
    [7_005, 'what remains'],
    [10_005, 'what came in'],
  ])('A reversal is read from the ledger, whether the amount of the deposit (%s) is %s', async (amount) => {
    const reversed = (one: Json) => Object.assign(one, { amount, transactionIds: ['6', '7'] });
    outside.answers = [code(), deposits(reversed), ledger(entry('6', 10_005), entry('7', -3_000))];
    expect(await provider().queryCharge(providerId)).toMatchObject({
      report: { received: [{ amountCents: 10_005, returns: [{ id: '7', amountCents: 3_000 }] }] },
    });
  });

  test('A deposit without an end-to-end id, and one that its ledger contradicts, is unread', async () => {
    outside.answers = [code(), deposits((one) => Object.assign(one, { tags: [`vintem/${providerId}`] }))];
    expect(await provider().queryCharge(providerId)).toMatchObject({
      outcome: 'unclear',
      unread: { providerId },
    });
    outside.answers = [
      code(),
      deposits((one) => Object.assign(one, { transactionIds: ['6', '7'] })),
      ledger(entry('6', 9_000), entry('7', -3_000)),
    ];
    expect(await provider().queryCharge(providerId)).toMatchObject({ outcome: 'unclear' });
  });
});

describe('a list of charges', () => {
  const window = { fromMs: 0, toMs: now };
  const unnamed = () =>
    changed('deposit-list', ({ deposits }) =>
      Object.assign(deposits[0], { tags: [`vintem/${providerId}`], created: '2026-11-20T12:00:00+00:00' }),
    );

  test('A charge with a deposit that cannot be read is not listed as open', async () => {
    outside.answers = [saying('code-list'), unnamed()];
    expect(await provider().listCharges(window)).toMatchObject({
      ...{ complete: true, reports: [] },
      unread: [{ kind: 'charge', providerId }],
    });
  });

  test('A charge without a deposit is open only where all deposits were seen', async () => {
    outside.answers = [saying('code-list'), nothing('deposits')];
    expect(await provider().listCharges(window)).toMatchObject({ reports: [{ txid: providerId }] });
    outside.answers = [saying('code-list'), json(200, { cursor: 'next', deposits: [] })];
    expect(await provider().listCharges({ ...window, wholeOnly: true })).toMatchObject({
      ...{ complete: false, reports: [] },
    });
  });
});

describe('a delivery', () => {
  const stark = generateKeyPairSync('ec', { namedCurve: 'secp256k1' });
  const keys = () => {
    const content = createPublicKey(stark.privateKey).export({ type: 'spki', format: 'pem' });
    return json(200, { publicKeys: [{ content }] });
  };
  const signed = (body: unknown, key = stark.privateKey) => {
    const rawBody = Buffer.from(JSON.stringify(body));
    const signature = sign('SHA256', rawBody, key).toString('base64');
    return { headers: { 'digital-signature': signature }, rawBody, receivedAt: now };
  };

  test('A delivery is believed by the key that Stark publishes, and is for us only where it names our account', async () => {
    outside.answers = [keys()];
    const body = foreign('stark/delivery-transfer').body;
    const at = provider();
    expect(await at.parseWebhook(signed(body))).toMatchObject({
      ...{ authentic: true, addressed: true },
      payouts: [{ providerId, status: 'completed', amountCents: 2, endToEnd: null }],
    });
    outside.answers = [keys()];
    expect(await provider('another').parseWebhook(signed(body))).toMatchObject({
      ...{ authentic: true, addressed: false },
    });
    expect(await at.parseWebhook(signed(body, pair.privateKey))).toMatchObject({ authentic: false });
  });

  test('A delivered failure and a delivered reversal name their payments and end nothing', () => {
    const failed = Buffer.from(JSON.stringify(foreign('stark/delivery-transfer-failed').body));
    expect(provider().readWebhook(failed, now)).toMatchObject({ payouts: [], named: [providerId] });
    const { body } = structuredClone(foreign('stark/delivery-deposit')) as Json;
    const read = () => provider('6219417801195520').readWebhook(Buffer.from(JSON.stringify(body)), now);
    expect(read()).toMatchObject({ addressed: true, received: [{ txid: providerId, amountCents: 10_005 }] });
    body.event.log.deposit.transactionIds.push('7');
    expect(read()).toMatchObject({ received: [], named: [providerId] });
  });
});

test('The account behind the project is known by what Stark says of its balance', async () => {
  const asked = async (id: string) => {
    outside.answers = [changed('balance', ({ balances }) => Object.assign(balances[0], { id }))];
    const found = await provider().askAccount?.();
    return found?.outcome === 'found' ? found.identity : null;
  };
  expect(await asked('1')).not.toBe(await asked('2'));
  expect(await asked('1')).toBe(await asked('1'));
  outside.answers = [json(500, {})];
  expect(await provider().askAccount?.()).toMatchObject({ outcome: 'unclear' });
  expect(provider().identity).toBeNull();
});

test('The ledger is the statement: payments of ours by their ids, everything else as the company’s own money, each with its fee', async () => {
  const of = (id: string, amount: number, source: string, fee = 0) => ({
    ...entry(id, amount),
    ...{ source, fee, created: '2026-11-21T10:00:00.000000+00:00' },
  });
  const entries = [
    of('1', -2, 'transfer/5107489032896512', 160),
    of('2', 10_005, 'deposit/5160583015956480', 50),
    of('3', -900, 'boleto-payment/77'),
    of('4', -5, 'transfer/9'),
    of('5', 5, 'transfer/9/chargeback'),
  ];
  const window = { fromMs: now - 86_400_000, toMs: now };
  const success = (body: Json) => {
    Object.assign(own(body.transfers[0]), { status: 'success' });
    body.transfers.push({ ...body.transfers[0], id: '9', status: 'failed' });
  };
  outside.answers = [ledger(...entries), changed('transfer-list', success), saying('deposit-list')];
  const listed = await provider().statement(window);
  expect(listed).toMatchObject({ outcome: 'listed', complete: true, unread: [] });
  expect(listed.outcome === 'listed' && listed.reports).toMatchObject([
    { id: '1', kind: 'sent', amountCents: 2, providerId },
    { kind: 'received', amountCents: 10_005, providerId, endToEnd: 'E20018183202408281923xg35f29fxuz' },
    { id: '3', kind: 'sent', amountCents: 900, providerId: null, endToEnd: null },
  ]);
  outside.answers = [ledger(...entries)];
  expect(await provider().listCosts?.(window)).toMatchObject({
    reports: [
      { reference: 'line:1', amountCents: 160 },
      { reference: 'line:2', amountCents: 50 },
    ],
  });
});

test('The commands of the page make a key pair that the adapter takes, and the page names every member of the credentials', async () => {
  const page = await readFile(new URL('../../../docs/operators/stark.md', import.meta.url), 'utf8');
  const [, commands = ''] = /```sh\n(\s+umask .*?)```/s.exec(page) ?? [];
  const folder = await mkdtemp(join(tmpdir(), 'vintem-stark-'));
  try {
    await promisify(execFile)('sh', ['-ec', commands], { cwd: folder });
    const privateKey = await readFile(join(folder, 'stark.pem'), 'utf8');
    const published = createPublicKey(await readFile(join(folder, 'stark-public.pem'), 'utf8'));
    const [, sample = ''] = /```json\n(.*?)```/s.exec(page) ?? [];
    const credentials = { ...JSON.parse(sample), privateKey };
    expect(Object.keys(credentials)).toEqual(Object.keys(starkAdapter.members));
    const at = starkAdapter.create(
      {
        ...{ name: 'loja', test: true, simulated: false, url: starkAdapter.testUrl ?? '' },
        ...{ credentials: readCredentials(starkAdapter, credentials), certificate: null },
      },
      { net, clock, log: createLog('silent') },
    );
    outside.answers = [saying('balance')];
    expect(await at.balance()).toMatchObject({ availableCents: 200 });
    const {
      'access-id': id,
      'access-time': time,
      'access-signature': signature = '',
    } = outside.calls[0]?.headers ?? {};
    const bytes = Buffer.from(`${id}:${time}:`);
    expect(verify('SHA256', bytes, published, Buffer.from(signature, 'base64'))).toBe(true);
  } finally {
    await rm(folder, { recursive: true });
  }
});
