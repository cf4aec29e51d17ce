import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { Writable } from 'node:stream';
import { openEdge } from '@vintem/testkit/edge.ts';
import { openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLog } from '../../src/ground/log.ts';

/** A caller's own request id and trace, and the result of a request that does not arrive whole. */

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

let service: Service;
/** The requests to the provider, as they came over the wire. */
const asked: { path: string; traceparent: string | undefined }[] = [];
let provider = '';
const wire = createServer((incoming, answer) => {
  asked.push({ path: incoming.url ?? '', traceparent: incoming.headers.traceparent as string | undefined });
  if (provider === '') return void answer.writeHead(503).end();
  const on = request(
    provider + incoming.url,
    { method: incoming.method, headers: incoming.headers },
    (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(answer);
    },
  );
  on.on('error', () => answer.destroy());
  incoming.pipe(on);
});

beforeAll(async () => {
  await new Promise<void>((resolve) => wire.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(wire.address() as AddressInfo).port}`;
  service = await openService({ env: { SIMULATOR_URL: url } });
  provider = service.simulator.url;
  // The provider was away when the service started: webhooks arrive once the service has registered its address again.
  await until(async () => asked.some(({ path }) => path.startsWith('/v2/webhook/')));
});
afterAll(async () => {
  await service?.close();
  wire.close();
});

test('a trace is forwarded to the provider with the call that its caller waits for, and with no other', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(5000);
  const post = (path: string, body: object, headers: Record<string, string>) =>
    fetch(`${service.url}/api/v1/public${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${merchant.key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ amountCents: 1000, description: '', requestKey: crypto.randomUUID(), ...body }),
    });
  const heardOf = async (answer: Response) => {
    const { id } = (await answer.json()) as { id: string };
    return asked.filter(({ path }) => path.includes(id.replaceAll('-', '')))[0]?.traceparent;
  };
  const charge = { payerName: 'Maria' };
  const transfer = { pixKey: 'maria@loja.example', pixKeyType: 'EMAIL' };
  expect(await heardOf(await post('/pix/charges', charge, { traceparent }))).toBe(traceparent);
  expect(await heardOf(await post('/pix/transfers', transfer, { traceparent }))).toBe(traceparent);
  expect(await heardOf(await post('/pix/transfers', transfer, {}))).toBeUndefined();
  expect(await heardOf(await post('/pix/charges', charge, { traceparent: 'mine' }))).toBeUndefined();
  // Queries of the follow-up have no caller: one comes because nothing else shows how the transfer ended.
  await service.simulator.behave({ webhook: 'drop' });
  const lost = { ...transfer, pixKey: 'lose-answer@simulator.example' };
  const answer = await post('/pix/transfers', lost, { traceparent });
  const { id } = (await answer.json()) as { id: string };
  const about = () => asked.filter(({ path }) => path.includes(`id-envio/${id.replaceAll('-', '')}`));
  await until(async () => about().length > 0);
  expect(about().every((one) => one.traceparent === undefined)).toBe(true);
});

test("a caller's own X-Request-Id and trace stand beside ours in the log, and the answer carries ours", async () => {
  let lines = '';
  const into = new Writable({
    write: (line, _encoding, done) => {
      lines += line;
      done();
    },
  });
  const edge = await openEdge({ log: createLog('debug', into) });
  const { ownerId } = await edge.newAccount();
  const { key } = await edge.newKey(ownerId);
  const one = await edge.call(key, { url: '/account', headers: { 'x-request-id': 'order-17', traceparent } });
  const two = await edge.call(key, { url: '/account', headers: { 'x-request-id': 'a b' } });
  await edge.close();
  const written = lines
    .split('\n')
    .flatMap((line) => (line.includes('"answered"') ? [JSON.parse(line)] : []));
  expect(one.headers['x-request-id']).toMatch(/^req_[0-9a-f]{32}$/);
  expect(written.find(({ requestId }) => requestId === one.headers['x-request-id'])).toMatchObject({
    clientRequestId: 'order-17',
    traceparent,
  });
  expect(written.find(({ requestId }) => requestId === two.headers['x-request-id'])).not.toHaveProperty(
    'clientRequestId',
  );
});

test.concurrent.each([
  ['its headers', 'POST /api/v1/public/pix/charges HTTP/1.1\r\nHost: x\r\n'],
  [
    'its body',
    'POST /api/v1/public/pix/charges HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer KEY\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"amountCents"',
  ],
])(
  'a request that does not bring %s in time is answered 408 request_timeout and cut',
  async (_what, beginning) => {
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    let text = '';
    socket.setEncoding('utf8').on('data', (part) => {
      text += part;
    });
    socket.write(beginning.replace('KEY', (await service.newMerchant()).key));
    // The request continues a byte at a time: the limit counts the whole request, not the pause between bytes.
    const drip = setInterval(() => socket.write(beginning.includes('\r\n\r\n') ? ' ' : 'X'), 500);
    await new Promise((resolve) => socket.on('error', () => {}).once('close', resolve));
    clearInterval(drip);
    expect(text).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
    expect(text).toMatch(/Connection: close/i);
    expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4))).toMatchObject({
      statusCode: 408,
      code: 'request_timeout',
      requestId: expect.stringMatching(/^req_/),
    });
  },
);
