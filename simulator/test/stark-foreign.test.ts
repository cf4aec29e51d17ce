import {
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  verify,
} from 'node:crypto';
import { expect, test } from 'vitest';
import { differences, foreign } from './foreign.ts';
import { newId, startEndpoint, startProvider, until } from './provider.ts';

/** The Stark dialect answers and delivers with Stark's forms: same field names, same types; and it reads nothing that is not signed. */

const project = `project/${Buffer.from('client:secret').toString('base64url')}`;

function ownKey() {
  const pair = createECDH('secp256k1');
  const d = createHash('sha256').update('secret').digest();
  pair.setPrivateKey(d);
  const point = pair.getPublicKey();
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'));
  const jwk = { kty: 'EC', crv: 'secp256k1', d: d.toString('base64url'), x, y };
  return createPrivateKey({ key: jwk as never, format: 'jwk' });
}
const key = ownKey();

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape are read.
type Json = any;

async function stark() {
  const { url } = await startProvider();
  const call = async (method: string, path: string, body?: unknown, signed?: string): Promise<Json> => {
    const text = body === undefined ? '' : JSON.stringify(body);
    const time = String(Math.floor(Date.now() / 1000));
    const bytes = Buffer.from(`${project}:${time}:${signed ?? text}`);
    const headers = {
      'access-id': project,
      'access-time': time,
      'access-signature': sign('SHA256', bytes, key).toString('base64'),
    };
    const answer = await fetch(`${url}/stark${path}`, {
      method,
      headers,
      ...(text === '' ? {} : { body: text }),
    });
    return { status: answer.status, body: await answer.json() };
  };
  return { url, call };
}

const sentAs = (name: string, ours: unknown) => expect(differences(foreign(name), ours), name).toEqual([]);

const transferOf = async (call: Awaited<ReturnType<typeof stark>>['call'], pixKey: string) => {
  const { body } = await call('GET', `/v2/dict-key/${pixKey}`);
  const { ispb: bankCode, name, taxId, branchCode, accountNumber, accountType } = body.key;
  const externalId = newId();
  const given = { amount: 975, name, taxId, bankCode, branchCode, accountNumber, accountType, externalId };
  return { ...given, tags: [`vintem/${externalId}`] };
};

test('Every answer of the Stark dialect has the form that Stark documents', async () => {
  const { call } = await stark();
  sentAs('stark/key-answer', (await call('GET', '/v2/dict-key/alguem@exemplo.example')).body);
  const unknown = await call('GET', '/v2/dict-key/pix-key-not-found@simulator.example');
  expect(unknown.status).toBe(400);
  sentAs('stark/key-unknown', unknown.body);
  const transfer = await transferOf(call, 'alguem@exemplo.example');
  const made = await call('POST', '/v2/transfer', { transfers: [transfer] });
  sentAs('stark/transfer-answer', made.body);
  const again = await call('POST', '/v2/transfer', { transfers: [transfer] });
  expect(again.status).toBe(400);
  sentAs('stark/transfer-duplicate', again.body);
  const wrong = { ...transfer, externalId: newId(), taxId: '1' };
  sentAs('stark/transfer-refused', (await call('POST', '/v2/transfer', { transfers: [wrong] })).body);
  const mine = `/v2/transfer?tags=${encodeURIComponent(`vintem/${transfer.externalId}`)}`;
  const { body: sent } = await until(
    () => call('GET', mine),
    ({ body }) => body.transfers[0].status === 'success',
  );
  sentAs('stark/transfer-list', sent);
  const failing = await transferOf(call, 'refuse-later@simulator.example');
  const { body } = await call('POST', '/v2/transfer', { transfers: [failing] });
  const { body: logs } = await until(
    () => call('GET', `/v2/transfer/log?transferIds=${body.transfers[0].id}`),
    (one) => one.body.logs.length === 2,
  );
  sentAs('stark/transfer-log-list', logs);
  sentAs('stark/transaction-list', (await call('GET', '/v2/transaction')).body);
  sentAs('stark/balance', (await call('GET', '/v2/balance')).body);
  const id = newId();
  const code = { amount: 12_345, expiration: 60, tags: [`vintem/${id}`], displayDescription: 'Pedido' };
  sentAs('stark/code-answer', (await call('POST', '/v2/dynamic-brcode', { brcodes: [code] })).body);
  sentAs('stark/code-list', (await call('GET', `/v2/dynamic-brcode?tags=vintem/${id}`)).body);
  await call('POST', `/control/charges/${id}/pay`);
  sentAs('stark/deposit-list', (await call('GET', `/v2/deposit?tags=vintem/${id}`)).body);
  sentAs('stark/public-keys', (await call('GET', '/v2/public-key?limit=1')).body);
});

test('A call whose signature is of another body, or that has none, is refused before it is read', async () => {
  const { url, call } = await stark();
  const transfer = await transferOf(call, 'alguem@exemplo.example');
  const refused = await call('POST', '/v2/transfer', { transfers: [transfer] }, '{}');
  expect(refused.status).toBe(400);
  sentAs('stark/signature-refused', refused.body);
  const bare = await fetch(`${url}/stark/v2/balance`);
  expect([bare.status, ((await bare.json()) as Json).errors[0].code]).toEqual([400, 'invalidAccessId']);
  expect((await call('GET', '/v2/transfer')).body.transfers).toEqual([]);
});

test('A project that was made with a public key signs with its own, and works for its account', async () => {
  const { url } = await stark();
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'secp256k1' });
  const pem = publicKey.export({ type: 'spki', format: 'pem' });
  const make = async (id: string, body: object) =>
    (await fetch(`${url}/stark/control/projects/${id}`, { method: 'PUT', body: JSON.stringify(body) }))
      .status;
  expect(await make('5656565656565656', { publicKey: pem, workspaceId: '5078376503050240' })).toBe(200);
  const balance = async (signs: typeof privateKey, id: string) => {
    const time = String(Math.floor(Date.now() / 1000));
    const signature = sign('SHA256', Buffer.from(`project/${id}:${time}:`), signs).toString('base64');
    const headers = {
      ...{ 'access-id': `project/${id}`, 'access-time': time },
      'access-signature': signature,
    };
    const answer = await fetch(`${url}/stark/v2/balance`, { headers });
    return [answer.status, ((await answer.json()) as Json).errors?.[0].code];
  };
  expect(await balance(privateKey, '5656565656565656')).toEqual([200, undefined]);
  expect(await balance(key, '5656565656565656')).toEqual([400, 'invalidSignature']);
  expect(await balance(privateKey, '5656565656565657')).toEqual([400, 'invalidAccessId']);
  const other = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey;
  const wrong = other.export({ type: 'spki', format: 'pem' });
  expect(await make('1', { publicKey: wrong, workspaceId: '5078376503050240' })).toBe(400);
  expect(await make('1', { publicKey: pem, workspaceId: 'loja' })).toBe(400);
});

test('A second code under one tag is another code, and a reversal leaves what it names', async () => {
  const { call } = await stark();
  const id = newId();
  const code = { amount: 500, tags: [`vintem/${id}`] };
  await call('POST', '/v2/dynamic-brcode', { brcodes: [code] });
  await call('POST', '/v2/dynamic-brcode', { brcodes: [code] });
  const { body } = await call('GET', `/v2/dynamic-brcode?tags=vintem/${id}`);
  expect(new Set(body.brcodes.map(({ uuid }: Json) => uuid)).size).toBe(2);
  await call('POST', `/control/charges/${id}/pay`);
  const { body: paid } = await call('GET', `/v2/deposit?tags=vintem/${id}`);
  const [deposit] = paid.deposits;
  for (const _ of [1, 2])
    expect((await call('PATCH', `/v2/deposit/${deposit.id}`, { amount: 200 })).body.deposit).toMatchObject({
      amount: 200,
      transactionIds: [deposit.transactionIds[0], expect.any(String)],
    });
});

test('Every delivery of the Stark dialect has the form that Stark documents, and the signature of its published key', async () => {
  const { call } = await stark();
  const inbox = await startEndpoint();
  const registered = { url: inbox.url, subscriptions: ['transfer', 'deposit'] };
  await call('POST', '/v2/webhook', registered);
  sentAs('stark/webhook-list', (await call('GET', '/v2/webhook?limit=100')).body);
  const told = (subscription: string) =>
    until(
      () => inbox.deliveries.find(({ raw }) => JSON.parse(raw).event.subscription === subscription),
      (one) => one !== undefined,
    );
  const id = newId();
  await call('POST', '/v2/dynamic-brcode', { brcodes: [{ amount: 100, tags: [`vintem/${id}`] }] });
  await call('POST', `/control/charges/${id}/pay`);
  const deposit = await told('deposit');
  sentAs('stark/delivery-deposit', JSON.parse(deposit?.raw ?? ''));
  await call('POST', '/v2/transfer', { transfers: [await transferOf(call, 'alguem@exemplo.example')] });
  const transfer = await told('transfer');
  sentAs('stark/delivery-transfer', JSON.parse(transfer?.raw ?? ''));
  const { body } = await call('GET', '/v2/public-key?limit=1');
  const published = createPublicKey(body.publicKeys[0].content);
  for (const one of [deposit, transfer]) {
    const signature = Buffer.from(String(one?.headers['digital-signature']), 'base64');
    expect(verify('SHA256', Buffer.from(one?.raw ?? ''), published, signature)).toBe(true);
  }
});
