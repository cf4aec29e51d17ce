import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net';
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Net, NetFailure, type NetRequest, NotSent, type Route } from '../../src/ports/net.ts';
import { createUndiciNet } from '../../src/ports/undici-net.ts';
import { certificate, passphrase, pfx } from '../program/certificate.ts';

let net: Net = createUndiciNet();
const stops: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
  await net.close();
  net = createUndiciNet();
});

const listen = (server: TcpServer): Promise<number> =>
  new Promise((done) => {
    server.listen(0, '127.0.0.1', () => done((server.address() as AddressInfo).port));
  });

const stopOf = (server: Server) => async () => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
};

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  stops.push(stopOf(server));
  return `http://127.0.0.1:${await listen(server)}`;
}

const put = (url: string, more: Partial<NetRequest> = {}) =>
  net.request({ method: 'PUT', url, body: '{"a":1}', timeoutMs: 60_000, ...more });

/** For a request to reach its server, however slow the machine is. */
const longEnoughMs = 2_000;

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'answered',
    (error: unknown) => error,
  );
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((done) => setTimeout(done, 5));
}

describe('one exchange', () => {
  test('carries method, path, headers and body, and brings status, headers and text', async () => {
    const url = await serve((request, answer) => {
      let body = '';
      request.setEncoding('utf8');
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        answer.writeHead(201, { 'content-type': 'text/plain', 'x-two': ['a', 'b'] });
        answer.end(`${request.method} ${request.url} ${request.headers['x-given']} ${body} é`);
      });
    });
    const answer = await put(`${url}/a/b?c=d%20e`, { headers: { 'x-given': 'yes' } });
    expect(answer.status).toBe(201);
    expect(answer.text).toBe('PUT /a/b?c=d%20e yes {"a":1} é');
    expect(answer.headers).toMatchObject({ 'content-type': 'text/plain', 'x-two': 'a, b' });
  });

  test('a redirect is an answer', async () => {
    let seen = 0;
    const url = await serve((_request, answer) => {
      seen++;
      answer.writeHead(307, { location: '/elsewhere' }).end();
    });
    expect((await put(url)).status).toBe(307);
    expect(seen).toBe(1);
  });

  test('those that follow each other share connections', async () => {
    const ports = new Set<number | undefined>();
    const url = await serve((request, answer) => {
      ports.add(request.socket.remotePort);
      answer.end();
    });
    for (let turn = 0; turn < 20; turn++) await put(url);
    // undici takes a connection back one turn of the event loop after its answer: two take turns.
    expect(ports.size).toBeLessThanOrEqual(2);
  });

  test('a text in many parts is put together', async () => {
    const text = 'é'.repeat(200_000);
    const url = await serve((_request, answer) => answer.end(text));
    expect((await put(url)).text).toBe(text);
  });
});

describe('origins', () => {
  const route: Route = {
    resolve: async () => ['127.0.0.1'],
    connectTimeoutMs: 60_000,
    proxy: null,
    connectionsPerOrigin: 5,
    connectionLifeMs: 60_000,
  };

  test('Connections to origins that requests left long ago are closed, and those of requests under way stay', async () => {
    let open = 0;
    let answerHeld = (): void => {};
    const server = createServer((request, answer) => {
      if (request.headers.host?.startsWith('held.')) answerHeld = () => void answer.end('held');
      else answer.end();
    });
    server.keepAliveTimeout = 600_000;
    server.on('connection', (socket) => {
      open++;
      socket.on('close', () => open--);
    });
    stops.push(stopOf(server));
    const port = await listen(server);
    const call = (name: string) => put(`http://${name}.test:${port}`, { route });
    const held = call('held');
    for (let turn = 0; turn < 510; turn++) await call(`endpoint-${turn}`);
    await until(() => open <= 500);
    answerHeld();
    expect((await held).text).toBe('held');
    expect((await call('endpoint-0')).status).toBe(200);
  });
});

describe('what is certainly not sent', () => {
  test('a refused connection', async () => {
    const server = createServer();
    const port = await listen(server);
    await new Promise((done) => server.close(done));
    expect(await failureOf(put(`http://127.0.0.1:${port}`))).toBeInstanceOf(NotSent);
  });

  test('a host that does not exist', async () => {
    expect(await failureOf(put('http://host.invalid/'))).toBeInstanceOf(NotSent);
  });

  test('an address or a header that is none', async () => {
    expect(await failureOf(put('nowhere'))).toBeInstanceOf(NotSent);
    expect(await failureOf(put('http://127.0.0.1:1/', { headers: { 'x-a': 'b\r\nc' } }))).toBeInstanceOf(
      NotSent,
    );
  });

  test('a TLS handshake that fails', async () => {
    let seen = 0;
    const url = await serve(() => {
      seen++;
    });
    expect(await failureOf(put(url.replace('http:', 'https:')))).toBeInstanceOf(NotSent);
    expect(seen).toBe(0);
  });

  test('what found no free connection in its time, and it is not sent later either', async () => {
    let seen = 0;
    const held: (() => void)[] = [];
    const url = await serve((_request, answer) => {
      seen++;
      held.push(() => answer.end());
    });
    const first = Array.from({ length: 64 }, () => put(url));
    await until(() => seen === 64);
    expect(await failureOf(put(url, { timeoutMs: 50 }))).toBeInstanceOf(NotSent);
    for (const release of held.splice(0)) release();
    await Promise.all(first);
    const after = put(url);
    await until(() => held.length === 1);
    held[0]?.();
    await after;
    expect(seen).toBe(65);
  });

  test('everything after the port was closed', async () => {
    const url = await serve((_request, answer) => answer.end());
    await net.close();
    expect(await failureOf(put(url))).toBeInstanceOf(NotSent);
  });
});

describe('what the other side may have seen', () => {
  test('no answer in time', async () => {
    let seen = 0;
    const url = await serve(() => {
      seen++;
    });
    const failure = await failureOf(put(url, { timeoutMs: longEnoughMs }));
    expect(failure).toBeInstanceOf(NetFailure);
    expect(failure).toMatchObject({ timedOut: true });
    expect(seen).toBe(1);
  });

  test('an answer that does not end in time', async () => {
    const url = await serve((_request, answer) => {
      answer.writeHead(200);
      answer.write('{');
    });
    expect(await failureOf(put(url, { timeoutMs: longEnoughMs }))).toMatchObject({
      name: 'NetFailure',
      timedOut: true,
    });
  });

  test.each(['PUT', 'GET'] as const)('a broken connection; a %s is never said twice', async (method) => {
    let seen = 0;
    const url = await serve((request) => {
      seen++;
      request.socket.destroy();
    });
    const failure = await failureOf(net.request({ method, url, timeoutMs: 60_000 }));
    expect(failure).toBeInstanceOf(NetFailure);
    expect(failure).toMatchObject({ timedOut: false });
    expect(seen).toBe(1);
  });

  test('a connection that was kept and breaks with the next request', async () => {
    let seen = 0;
    const url = await serve((request, answer) => {
      seen++;
      if (seen === 1) answer.end();
      else request.socket.destroy();
    });
    await put(url);
    expect(await failureOf(put(url))).toBeInstanceOf(NetFailure);
    expect(seen).toBe(2);
  });

  test('an answer that breaks off', async () => {
    const url = await serve((request, answer) => {
      answer.writeHead(200, { 'content-length': '100' });
      answer.write('{', () => request.socket.destroy());
    });
    expect(await failureOf(put(url))).toBeInstanceOf(NetFailure);
  });

  test('an answer that is no HTTP', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end('hello\r\n\r\n'));
    });
    stops.push(() => new Promise((done) => server.close(() => done())));
    const port = await listen(server);
    expect(await failureOf(put(`http://127.0.0.1:${port}`))).toBeInstanceOf(NetFailure);
  });

  test('an answer that is too large', async () => {
    const url = await serve((_request, answer) => answer.end('x'.repeat(1001)));
    expect(await failureOf(put(url, { maxBytes: 1000 }))).toBeInstanceOf(NetFailure);
    expect((await put(url, { maxBytes: 1001 })).text.length).toBe(1001);
  });
});

describe('over TLS', () => {
  const before = getCACertificates('default');
  beforeAll(() => setDefaultCACertificates([...before, certificate]));
  afterAll(() => setDefaultCACertificates(before));

  async function serveTls(listener: RequestListener): Promise<number> {
    const server = createTlsServer(
      { pfx, passphrase, ca: certificate, requestCert: true, rejectUnauthorized: false },
      listener,
    );
    stops.push(stopOf(server));
    return listen(server);
  }

  test('the certificate is shown where it is given, and only there', async () => {
    const port = await serveTls((request, answer) =>
      answer.end(String((request.socket as TLSSocket).authorized)),
    );
    expect((await put(`https://localhost:${port}`, { certificate: { pfx, passphrase } })).text).toBe('true');
    expect((await put(`https://localhost:${port}`)).text).toBe('false');
  });

  test('a request that was given up during the handshake is never written', async () => {
    let seen = 0;
    const port = await serveTls((_request, answer) => {
      seen++;
      answer.end();
    });
    // A door that opens late: the handshake begins when the request has already been given up.
    let open = () => {};
    const opened = new Promise<void>((done) => {
      open = done;
    });
    const sockets: Socket[] = [];
    const door = createTcpServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => {});
      void opened.then(() => {
        const inner = connect(port, '127.0.0.1');
        inner.on('error', () => {});
        socket.pipe(inner).pipe(socket);
      });
    });
    const doorPort = await listen(door);
    stops.push(() => {
      for (const socket of sockets) socket.destroy();
      return new Promise((done) => door.close(() => done()));
    });
    const url = `https://localhost:${doorPort}`;
    expect(await failureOf(put(url, { timeoutMs: 100 }))).toBeInstanceOf(NotSent);
    open();
    await put(url);
    expect(seen).toBe(1);
    expect(sockets.length).toBeLessThanOrEqual(2);
  });
});
