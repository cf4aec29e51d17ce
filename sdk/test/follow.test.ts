import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { Vintem, VintemError } from '../src/index.ts';

/** A stream that is lost comes back behind the last event that was handled: none is missed, none is skipped. */

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
});

/** A log of events; each connection sends some bytes of what follows `Last-Event-ID`, and is cut. */
async function streaming(bytesOf: (connection: number) => number, status = 200, lineEnd = '\n') {
  const log = [1, 2, 3, 4].map(
    (n) =>
      `id: ${n}\nevent: charge.paid\ndata: {"id":"event ${n}","type":"charge.paid","data":{"payerName":"ção\u2028!"}}\n\n`,
  );
  const asked: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    const last = request.headers['last-event-id'];
    asked.push(typeof last === 'string' ? last : undefined);
    if (status !== 200)
      return void response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify({ statusCode: status, code: 'api_key_invalid', message: 'no', requestId: 'r' }));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const bytes = Buffer.from(
      `retry: 2000\nid: ${last ?? 0}\n: listening\n\n${log.slice(Number(last ?? 0)).join('')}`.replaceAll(
        '\n',
        lineEnd,
      ),
    );
    response.write(bytes.subarray(0, bytesOf(asked.length)), () => response.destroy());
  });
  servers.push(server);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { asked, vintem: new Vintem({ apiKey: 'k', baseUrl }) };
}

test('cut in the middle of an event, it continues behind the last whole one', async () => {
  // Half of the second event, in the middle of a character; then one event and a half; then all.
  const { vintem, asked } = await streaming((connection) => [210, 200, 10_000][connection - 1] ?? 10_000);
  const heard: string[] = [];
  for await (const { id, cursor } of vintem.events.follow()) {
    heard.push(`${id} at ${cursor}`);
    if (heard.length === 4) break;
  }
  expect(heard).toEqual(['event 1 at 1', 'event 2 at 2', 'event 3 at 3', 'event 4 at 4']);
  expect(asked[0]).toBeUndefined();
  expect(asked.slice(1).every((last) => Number(last) >= 1)).toBe(true);
});

test.each(['\r\n', '\r'])('Events arrive behind a proxy that ends lines with %j', async (lineEnd) => {
  const { vintem } = await streaming(() => 10_000, 200, lineEnd);
  const opened: string[] = [];
  const heard: unknown[] = [];
  for await (const { id, data } of vintem.events.follow('0', {
    opened: (cursor) => void opened.push(cursor),
  })) {
    heard.push([id, (data as { payerName?: string }).payerName]);
    if (heard.length === 3) break;
  }
  expect(opened).toEqual(['0']);
  expect(heard).toEqual([1, 2, 3].map((n) => [`event ${n}`, 'ção\u2028!']));
});

test('a refusal ends it, and an abort ends it quietly', async () => {
  const refused = await streaming(() => 0, 401);
  const failure = await refused.vintem.events
    .follow()
    .next()
    .catch((error) => error);
  expect(failure).toBeInstanceOf(VintemError);
  expect([failure.statusCode, failure.code]).toEqual([401, 'api_key_invalid']);
  const { vintem } = await streaming(() => 10_000);
  const ending = new AbortController();
  const events = vintem.events.follow('0', { signal: ending.signal });
  expect((await events.next()).value?.id).toBe('event 1');
  ending.abort();
  const after: string[] = [];
  for await (const { id } of events) after.push(id);
  expect(after.length).toBeLessThanOrEqual(3);
});
