import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTraces } from '../../src/main/tracing.ts';

/** The input of a collector: real OTLP over HTTP, of the real service. */

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
let endpoint: string;

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
  endpoint = `http://127.0.0.1:${port}`;
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

test('a trace is kept whole or not at all', async () => {
  const traces = createTraces({ endpoint, share: 0.5 });
  const ids = Array.from({ length: 64 }, () => crypto.randomUUID().replaceAll('-', ''));
  const waited = { ms: 1, commands: 1 };
  const below = async (): Promise<void> => {
    await traces.around(
      'provider call',
      {},
      async () => 'taken',
      (outcome) => outcome,
    );
    const span = traces.current();
    traces.flushed(waited, span === null ? [] : [{ span, ms: 1 }]);
  };
  for (const id of ids) {
    const request = traces.request(`00-${id}-00f067aa0ba902b7-01`);
    await new Promise<void>((resolve) => request.run(() => void below().then(resolve)));
    request.end({ route: 'GET /kept', status: 200, requestId: id });
  }
  await traces.stop();
  const namesOf = (id: string) => spans.flatMap(({ traceId, name }) => (traceId === id ? [name] : [])).sort();
  const kept = ids.filter((id) => namesOf(id).length > 0);
  expect(kept.length).toBeGreaterThan(0);
  expect(kept.length).toBeLessThan(ids.length);
  for (const id of kept) expect(namesOf(id)).toEqual(['GET /kept', 'provider call', 'till wait']);
  const flushes = spans.filter(({ links }) => links?.some(({ traceId }) => kept.includes(traceId)));
  expect(flushes.filter(({ name }) => name === 'till flush')).toHaveLength(kept.length);
});
