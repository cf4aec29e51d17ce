import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** What a collector gets: real OTLP over HTTP, of the real service. */

interface Seen {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  links?: { traceId: string; spanId: string }[];
  attributes: { key: string; value: Record<string, unknown> }[];
}

const spans: Seen[] = [];
let collector: Server;
let service: Service;

beforeAll(async () => {
  collector = createServer(async (request, answer) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const { resourceSpans } = JSON.parse(Buffer.concat(parts).toString());
    for (const { scopeSpans } of resourceSpans) for (const one of scopeSpans) spans.push(...one.spans);
    answer.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const { port } = collector.address() as AddressInfo;
  const endpoint = `http://127.0.0.1:${port}`;
  service = await openService({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER_ARG: '1' },
  });
});
afterAll(async () => {
  await service?.close();
  collector?.close();
});

test('a transfer is one trace: request, wait for the till, call to the provider; the batch is a linked span', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(5_000);
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const answer = await fetch(`${service.url}/api/v1/public/pix/transfers`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${merchant.key}`,
      'content-type': 'application/json',
      traceparent: `00-${traceId}-00f067aa0ba902b7-00`,
    },
    body: JSON.stringify({
      requestKey: crypto.randomUUID(),
      amountCents: 1_000,
      pixKey: 'maria@loja.example',
      pixKeyType: 'EMAIL',
      description: 'aluguel',
    }),
  });
  expect(answer.status).toBe(201);
  await until(async () => (await merchant.balanceCents()) <= 4_000);
  await service.runtime.traces?.stop();

  const ours = spans.filter((span) => span.traceId === traceId);
  const named = (name: string) => ours.filter((span) => span.name === name);
  const [request] = named('POST /api/v1/public/pix/transfers');
  expect(request?.parentSpanId).toBe('00f067aa0ba902b7');
  const waits = named('till wait');
  expect(waits.length).toBeGreaterThan(0);
  for (const wait of waits) {
    expect(wait.parentSpanId).toBe(request?.spanId);
    const flush = spans.find(({ spanId }) => spanId === wait.links?.[0]?.spanId);
    expect(flush).toMatchObject({ name: 'till flush' });
    expect(flush?.links?.some(({ spanId }) => spanId === request?.spanId)).toBe(true);
  }
  const calls = named('provider call');
  expect(calls.map(({ parentSpanId }) => parentSpanId)).toContain(request?.spanId);
  expect(spans.some(({ name }) => name.includes('/hooks/providers'))).toBe(true);

  const text = JSON.stringify(spans);
  for (const secret of [merchant.key, merchant.ownerId, 'maria', 'aluguel', '"1000"'])
    expect(text).not.toContain(secret);
});
