import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Net, NotSent, type Route } from '../../src/ports/net.ts';
import { createUndiciNet } from '../../src/ports/undici-net.ts';
import { certificate, passphrase, pfx } from '../program/certificate.ts';

/** Deliveries that go out through a proxy of the operator's. */
const before = getCACertificates('default');
beforeAll(() => setDefaultCACertificates([...before, certificate]));
afterAll(() => setDefaultCACertificates(before));

let net: Net;
let proxy: Server;
let endpoint: Server;
let asked: IncomingMessage[];
/** The proxy's behaviour at a CONNECT. */
let behaves: 'connects' | 'refuses' | 'hangs';
const sockets = new Set<Socket>();

const listen = (server: Server): Promise<number> =>
  new Promise((done) => {
    server.on('connection', (socket) => sockets.add(socket));
    server.listen(0, '127.0.0.1', () => done((server.address() as AddressInfo).port));
  });

beforeEach(async () => {
  net = createUndiciNet();
  asked = [];
  behaves = 'connects';
  endpoint = createTlsServer({ pfx, passphrase }, (_request, answer) => answer.end('arrived'));
  proxy = createServer((_request, answer) => answer.end('no proxy for that'));
  proxy.on('connect', (request: IncomingMessage, socket: Socket) => {
    asked.push(request);
    if (behaves === 'hangs') return;
    if (behaves === 'refuses' || request.url?.startsWith('['))
      return void socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    const [host, port] = String(request.url).split(':');
    const through = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      through.pipe(socket).pipe(through);
    });
    sockets.add(through);
  });
});
afterEach(async () => {
  await net.close();
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await Promise.all([endpoint, proxy].map((server) => new Promise((done) => server.close(done))));
});

async function send(user = ''): Promise<{ url: string; answer: Promise<{ text: string }> }> {
  const url = `https://localhost:${await listen(endpoint)}/hook`;
  const route: Route = {
    resolve: async () => ['127.0.0.1'],
    connectTimeoutMs: behaves === 'hangs' ? 300 : 60_000,
    proxy: new URL(`http://${user}127.0.0.1:${await listen(proxy)}`),
    connectionsPerOrigin: 5,
    connectionLifeMs: 60_000,
  };
  const request = () => net.request({ method: 'POST', url, body: '{}', timeoutMs: 60_000, route });
  return { url, answer: request() };
}

test('a delivery goes through the proxy, to the address that was checked, under the certificate of the name', async () => {
  const { url, answer } = await send();
  expect((await answer).text).toBe('arrived');
  expect(asked.map((request) => request.url)).toEqual([`127.0.0.1:${new URL(url).port}`]);
  expect(asked[0]?.headers['proxy-authorization']).toBeUndefined();
});

test('A name with two families goes through a proxy that reaches only one of them', async () => {
  const port = await listen(endpoint);
  const route: Route = {
    resolve: async () => ['2001:db8::1', '2001:db8::2', '127.0.0.1'],
    connectTimeoutMs: 60_000,
    proxy: new URL(`http://127.0.0.1:${await listen(proxy)}`),
    connectionsPerOrigin: 5,
    connectionLifeMs: 60_000,
  };
  const url = `https://localhost:${port}/hook`;
  const answer = await net.request({ method: 'POST', url, body: '{}', timeoutMs: 60_000, route });
  expect(answer.text).toBe('arrived');
  expect(asked.map((request) => request.url)).toEqual([`[2001:db8::1]:${port}`, `127.0.0.1:${port}`]);
});

test('user and password of the proxy go to the proxy', async () => {
  const { answer } = await send('merchant:s%40crete@');
  await answer;
  expect(asked[0]?.headers['proxy-authorization']).toBe(
    `Basic ${Buffer.from('merchant:s@crete').toString('base64')}`,
  );
});

test.each(['refuses', 'hangs'] as const)('a proxy that %s: nothing was sent', async (how) => {
  behaves = how;
  const { answer } = await send();
  await expect(answer).rejects.toBeInstanceOf(NotSent);
});

test('a certificate for another name is not believed', async () => {
  const port = await listen(endpoint);
  const route: Route = {
    resolve: async () => ['127.0.0.1'],
    connectTimeoutMs: 60_000,
    proxy: new URL(`http://127.0.0.1:${await listen(proxy)}`),
    connectionsPerOrigin: 5,
    connectionLifeMs: 60_000,
  };
  const url = `https://shop.example:${port}/hook`;
  await expect(
    net.request({ method: 'POST', url, body: '{}', timeoutMs: 60_000, route }),
  ).rejects.toBeInstanceOf(NotSent);
  expect(asked).toHaveLength(1);
});
