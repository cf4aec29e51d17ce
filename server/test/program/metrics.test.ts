import { readFile } from 'node:fs/promises';
import { freePort } from '@vintem/testkit/free-port.ts';
import { openService, type Service } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLog } from '../../src/ground/log.ts';
import { createMetrics } from '../../src/main/metrics.ts';
import { serveMonitoring } from '../../src/main/monitoring.ts';
import { createReadiness } from '../../src/main/readiness.ts';
import type { Sql } from '../../src/ports/sql.ts';

let service: Service;
let metrics: { stop(): Promise<void> };
let url: string;
let registry: Awaited<ReturnType<typeof createMetrics>>;

beforeAll(async () => {
  service = await openService();
  const { runtime, database } = service;
  registry = await createMetrics({
    ...runtime,
    readiness: createReadiness(runtime, { isTolerable: () => true }),
    clockOffset: { offsetMs: () => 12 },
    pool: database.sql.load,
    databaseStandbys: null,
  });
  const readiness = async () => [];
  const draining = new AbortController().signal;
  const monitoring = { log: createLog('silent'), readiness, metrics: registry, draining };
  const port = await freePort();
  metrics = await serveMonitoring(monitoring, { host: '127.0.0.1', port });
  url = `http://127.0.0.1:${port}`;
});
afterAll(async () => {
  await metrics?.stop();
  await service?.close();
});

test('the metrics show the process, the work and what needs a person, and name no account', async () => {
  await service.database.admin(
    `INSERT INTO incident (account_id, id, kind, amount_cents, reference, freezes, detail, state, opened_at)
      VALUES ($1, $2, 'unmatched', 700, 'x', false, '{}', 'open', now())`,
    ['00000000-0000-0000-0000-000000000000', crypto.randomUUID()],
  );
  const merchant = await service.newMerchant();
  await merchant.receive(10_000);
  await expect.poll(() => merchant.balanceCents()).toBe(10_000);
  const transfer = await merchant.transfer();
  expect(transfer.status).toBe(201);
  expect((await merchant.call('GET', `/payments/${crypto.randomUUID()}`)).status).toBe(404);

  const answer = await fetch(`${url}/metrics`);
  expect(answer.headers.get('content-type')).toContain('text/plain');
  const text = await answer.text();
  const read = (line: string): number => Number(text.split(`\n${line} `)[1]?.split('\n')[0] ?? Number.NaN);
  expect(text).toContain('vintem_process_cpu_seconds_total');
  expect(text).toContain('vintem_open_incidents{kind="unmatched"} 1');
  expect(text).toContain('# TYPE vintem_open_payments gauge');
  expect(text).toContain('# TYPE vintem_http_request_seconds histogram');
  const request = 'route="POST /api/v1/public/pix/transfers",status="201"';
  expect(read(`vintem_http_request_seconds_count{${request}}`)).toBe(1);
  expect(read(`vintem_http_request_seconds_bucket{${request},le="+Inf"}`)).toBe(1);
  expect(text).toContain('route="GET /api/v1/public/payments/:id",status="404"');
  expect(read('vintem_till_flush_seconds_count')).toBeGreaterThan(0);
  expect(read('vintem_till_batch_size_sum')).toBe(read('vintem_till_wait_seconds_count'));
  const call = 'connection="simulator",call="send_payout",outcome="accepted"';
  expect(read(`vintem_provider_call_seconds_count{${call}}`)).toBe(1);
  expect(read('vintem_clock_offset_seconds')).toBe(0.012);
  expect(read('vintem_pool_connections')).toBeGreaterThan(0);
  expect(read('vintem_withdrawals_paused')).toBe(0);
  expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-/);
  expect(text).not.toContain(merchant.key);
  expect((await fetch(`${url}/`)).status).toBe(404);
});

test('a gauge whose reading takes long is read less often, at the latest after two minutes', async () => {
  let now = 0;
  const asked: string[] = [];
  const tookMs: Record<string, number> = { metric_open_payments: 100, metric_open_payout_cents: 5_000 };
  const sql = {
    run: async ({ name }: { name: string }) => {
      asked.push(name);
      // The others have their answers first, and the slower one comes last.
      for (let turns = tookMs[name] ?? 0; turns > 0; turns--) await null;
      now += tookMs[name] ?? 0;
      return [];
    },
  } as unknown as Sql;
  const { runtime } = service;
  const gauges = await createMetrics({
    ...runtime,
    sql,
    cells: { all: () => [{ sql }] },
    clock: { monotonicMs: () => now },
    readiness: async () => [],
    clockOffset: { offsetMs: () => null },
    pool: service.database.sql.load,
    databaseStandbys: null,
  });
  const askedAt = async (ms: number): Promise<string[]> => {
    now = ms;
    asked.length = 0;
    await gauges.getMetricsAsJSON();
    return [...asked];
  };
  const slow = (names: readonly string[]): string[] => names.filter((name) => name in tookMs).sort();
  const first = await askedAt(0);
  expect(slow(first)).toEqual(Object.keys(tookMs));
  expect(await askedAt(9_000)).toEqual([]);
  const second = await askedAt(16_000);
  expect(slow(second)).toEqual([]);
  expect(second.length).toBe(first.length - 2);
  expect(slow(await askedAt(45_000))).toEqual(['metric_open_payments']);
  expect(slow(await askedAt(135_000))).toContain('metric_open_payout_cents');
});

test('docs/operators/metrics.md lists every metric of the program, with its labels, and no other', async () => {
  const page = await readFile(new URL('../../../docs/operators/metrics.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| `(vintem_\w+)(?:\{([\w,]*)\})?` \|/gm)];
  const listed = new Map(rows.map(([, name, labels]) => [name as string, labels ?? '']));
  const text = await registry.metrics();
  // Those of the process are the usual ones of Node, which the page names as a whole.
  const usual = /^vintem_(process|nodejs)_/;
  const own = [...text.matchAll(/^# TYPE (vintem_\w+) /gm)].map(([, name]) => name as string);
  expect([...listed.keys()].sort()).toEqual(own.filter((name) => !usual.test(name)).sort());
  for (const [, name, , labels] of text.matchAll(/^(vintem_\w+?)(_bucket|_sum|_count)?\{(.*)\} /gm)) {
    const documented = listed.get(name as string);
    if (documented === undefined) continue;
    const used = [...(labels as string).matchAll(/(\w+)="/g)].map(([, label]) => label);
    expect(`${name}{${used.filter((label) => label !== 'le')}}`).toBe(`${name}{${documented}}`);
  }
});

test('the database is asked once for scrapes that come together', async () => {
  let asked = 0;
  const { runtime, database } = service;
  const sql = {
    ...runtime.sql,
    run: ((...args: Parameters<typeof runtime.sql.run>) => {
      asked++;
      return runtime.sql.run(...args);
    }) as typeof runtime.sql.run,
  };
  const own = await createMetrics({
    ...runtime,
    sql,
    readiness: async () => [],
    clockOffset: { offsetMs: () => null },
    pool: database.sql.load,
    databaseStandbys: null,
  });
  await Promise.all([own.metrics(), own.metrics()]);
  const once = asked;
  await own.metrics();
  expect(asked).toBe(once);
});

test('without the database the metrics of the process are served, and say that it is not ready', async () => {
  const { runtime, database } = service;
  const gone = async (): Promise<never> => {
    throw new Error('the database is gone');
  };
  const sql = { ...runtime.sql, run: gone, begin: gone, tx: gone };
  const readiness = createReadiness({ sql, clock: runtime.clock }, { isTolerable: () => true });
  const own = await createMetrics({
    ...runtime,
    sql,
    readiness,
    clockOffset: { offsetMs: () => 0 },
    pool: database.sql.load,
    databaseStandbys: 2,
  });
  const text = await own.metrics();
  expect(text).toContain('\nvintem_ready 0');
  expect(text).toContain('\nvintem_till_flush_seconds_count ');
  expect(text).not.toContain('\nvintem_withdrawals_paused ');
  // No standby is missed while the primary cannot be asked.
  expect(text).toContain('\nvintem_standbys_expected 2');
  expect(text).not.toContain('\nvintem_standbys ');
});
