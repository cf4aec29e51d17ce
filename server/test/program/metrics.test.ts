import { createDatabase, type TestDatabase } from '@vintem/testkit/database.ts';
import { freePort } from '@vintem/testkit/program.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMetrics } from '../../src/compose/metrics.ts';
import { serveMonitoring } from '../../src/compose/monitoring.ts';
import { createLog } from '../../src/ground/log.ts';

let database: TestDatabase;
let metrics: { stop(): Promise<void> };
let url: string;

beforeAll(async () => {
  database = await createDatabase();
  const port = await freePort();
  metrics = await serveMonitoring(
    {
      log: createLog('silent'),
      readiness: async () => [],
      metrics: await createMetrics({ sql: database.sql }),
      draining: new AbortController().signal,
    },
    { host: '127.0.0.1', port },
  );
  url = `http://127.0.0.1:${port}`;
});
afterAll(async () => {
  await metrics?.stop();
  await database?.drop();
});

test('the metrics tell of the process and of what a person has to look at, and of nobody in particular', async () => {
  await database.admin(
    `INSERT INTO incident (account_id, id, kind, amount_cents, reference, freezes, detail, state, opened_at)
      VALUES ($1, $2, 'unmatched', 700, 'x', false, '{}', 'open', now())`,
    ['00000000-0000-0000-0000-000000000000', crypto.randomUUID()],
  );
  const answer = await fetch(`${url}/metrics`);
  expect(answer.headers.get('content-type')).toContain('text/plain');
  const text = await answer.text();
  expect(text).toContain('vintem_process_cpu_seconds_total');
  expect(text).toContain('vintem_open_incidents{kind="unmatched"} 1');
  expect(text).toContain('# TYPE vintem_open_payments gauge');
  expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-/);
  expect((await fetch(`${url}/`)).status).toBe(404);
});
