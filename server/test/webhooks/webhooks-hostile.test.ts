import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAddresses } from '../../src/events/webhooks/address.ts';
import { type Outgoing, runDeliveries } from '../../src/events/webhooks/delivery-loop.ts';
import type { Runtime } from '../../src/main/runtime.ts';
import { certificate, passphrase, pfx } from '../program/certificate.ts';

/**
 * Names that resolve as an attacker wishes. Deliveries run over the real network port, with a name server of the test's own;
 * what it lets through is on loopback, so loopback counts as a network of the operator's here.
 */
let service: Service;
let outgoing: Outgoing;
let answers: (hostname: string) => string[];
let asked: string[] = [];
let got: { host: string | undefined; servername: string | false | null }[] = [];
let port: number;
const before = getCACertificates();

const tls = createServer({ pfx, passphrase }, (request, response) => {
  const { servername } = request.socket as unknown as { servername: string };
  got.push({ host: request.headers.host, servername });
  request.resume().on('end', () => response.end());
});
// No process closes a connection because the machine is slow.
tls.keepAliveTimeout = 600_000;

beforeAll(async () => {
  setDefaultCACertificates([...before, certificate]);
  await new Promise<void>((listening) => tls.listen(0, '127.0.0.1', listening));
  port = (tls.address() as AddressInfo).port;
  service = await openService({ worker: false });
  const lookup = async (hostname: string) => {
    asked.push(hostname);
    return answers(hostname);
  };
  const net = { ...service.runtime.net, lookup };
  const rules = {
    allowCidrs: ['127.0.0.1/32'],
    denyCidrs: [],
    allowInsecureLocal: false,
    proxy: null,
    ownHosts: [],
    ownPort: 1,
  };
  const strict = createAddresses(rules, net);
  const runtime: Runtime = {
    ...service.runtime,
    net,
    addresses: {
      ...strict,
      // The test's certificate is one for `localhost`, which no rule lets through.
      checkUrl: (url, account) =>
        url.startsWith('https://localhost:') ? undefined : strict.checkUrl(url, account),
    },
  };
  outgoing = runDeliveries(runtime, () => true);
});
afterAll(async () => {
  await outgoing.stop();
  await service.close();
  tls.closeAllConnections();
  await new Promise((closed) => tls.close(closed));
  setDefaultCACertificates(before);
});

/** Of what was asked: an endpoint of a test before may have its next attempt meanwhile. */
const askedFor = (name: string): string[] => asked.filter((one) => one === name);

/** An endpoint at a name that has no address yet when it is registered, and one event for it. */
async function attemptAt(url: string): Promise<{ merchant: Merchant; path: string }> {
  asked = [];
  got = [];
  const merchant = await service.newMerchant();
  const { body } = await merchant.call('POST', '/webhooks', {
    url: 'https://later.example.com/',
    events: ['*'],
    requestKey: crypto.randomUUID(),
  });
  await service.database.admin('UPDATE webhook_endpoint SET url = $2 WHERE id = $1', [body.id, url]);
  await merchant.call('PATCH', `/operations/${merchant.operationId}`, { name: 'Loja A' });
  const path = `/webhooks/${body.id}/deliveries`;
  await until(async () => (await merchant.call('GET', path)).body.deliveries[0]?.attempts.length === 1);
  return { merchant, path };
}

async function attemptOf(url: string) {
  const { merchant, path } = await attemptAt(url);
  return (await merchant.call('GET', path)).body.deliveries[0].attempts[0];
}

test('the address that was checked is the one connected to, under the name of the endpoint', async () => {
  answers = () => ['127.0.0.1'];
  expect(await attemptOf(`https://localhost:${port}/hook`)).toMatchObject({ statusCode: 200, error: null });
  expect(askedFor('localhost')).toEqual(['localhost']);
  expect(got).toEqual([{ host: `localhost:${port}`, servername: 'localhost' }]);
});

test('a certificate for another name ends the attempt', async () => {
  answers = () => ['127.0.0.1'];
  expect(await attemptOf(`https://hook.example.com:${port}/hook`)).toMatchObject({
    statusCode: null,
    error: 'connection failed',
  });
  expect(got).toEqual([]);
});

test.each([
  ['private', ['10.0.0.1']],
  ['metadata', ['169.254.169.254']],
  ['mapped', ['::ffff:127.0.0.2']],
  ['one private address among public ones', ['93.184.216.34', '192.168.1.1']],
])('a name that resolves to what is inside reaches nothing: %s', async (_, resolved) => {
  answers = () => resolved;
  // The log of deliveries says only that the connection failed, so it cannot be used to scan the network.
  expect(await attemptOf(`https://inside.example.com:${port}/hook`)).toMatchObject({
    statusCode: null,
    error: 'connection failed',
  });
  expect(got).toEqual([]);
});

test('a name that answers public first and private later gets no second look-up', async () => {
  tls.closeAllConnections();
  const turns = [['127.0.0.1'], ['10.0.0.1']];
  answers = (hostname) => (hostname === 'localhost' && turns.shift()) || ['10.0.0.1'];
  const { merchant, path } = await attemptAt(`https://localhost:${port}/rebind`);
  expect(askedFor('localhost')).toEqual(['localhost']);
  expect(got).toHaveLength(1);
  // The connection that was checked serves on; a new one would be checked anew.
  await merchant.call('PATCH', `/operations/${merchant.operationId}`, { name: 'Loja B' });
  await until(
    async () => (await merchant.call('GET', `${path}?status=delivered`)).body.deliveries.length === 2,
  );
  expect(askedFor('localhost')).toEqual(['localhost']);
  tls.closeAllConnections();
  await merchant.call('PATCH', `/operations/${merchant.operationId}`, { name: 'Loja C' });
  await until(
    async () => (await merchant.call('GET', `${path}?status=pending`)).body.deliveries.length === 1,
  );
  await until(
    async () =>
      (await merchant.call('GET', `${path}?status=pending`)).body.deliveries[0].attempts[0]?.error ===
      'connection failed',
  );
  expect(got).toHaveLength(2);
});

test('a URL that the rules no longer allow is not connected to', async () => {
  answers = () => ['127.0.0.1'];
  expect(await attemptOf(`http://plain.example.com:${port}/hook`)).toMatchObject({
    statusCode: null,
    error: 'address not allowed',
  });
  expect(askedFor('plain.example.com')).toEqual([]);
  expect(got.filter(({ host }) => host !== `localhost:${port}`)).toEqual([]);
});

test('a live account cannot register what a test account can only with the setting for it', async () => {
  const merchant = await service.newMerchant();
  for (const url of [`http://127.0.0.1:${port}/`, `http://localhost:${port}/`]) {
    const answer = await merchant.call('POST', '/webhooks', {
      url,
      events: ['*'],
      requestKey: crypto.randomUUID(),
    });
    expect([answer.status, answer.body.code]).toEqual([400, 'webhook_url_not_allowed']);
  }
});
