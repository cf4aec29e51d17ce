import { openService, type Service, until } from '@vintem/testkit/service.ts';
import { withParts } from '@vintem/testkit/with-parts.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runWorker } from '../../src/main/worker.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Queries, Sql } from '../../src/ports/sql.ts';

let service: Service;
beforeAll(async () => {
  service = await openService({ worker: false });
});
afterAll(() => service?.close());

/** The same database, which counts what it is asked, by the names of the statements. */
function counting(sql: Sql): { sql: Sql; asked: Map<string, number> } {
  const asked = new Map<string, number>();
  const counted = <Through extends Queries>(through: Through): Through => ({
    ...through,
    run: (statement, values) => {
      asked.set(statement.name, (asked.get(statement.name) ?? 0) + 1);
      return through.run(statement, values);
    },
  });
  return {
    asked,
    sql: {
      ...counted(sql),
      begin: async () => counted(await sql.begin()),
      tx: (work) => sql.tx((tx) => work(counted(tx))),
    },
  };
}

test('what becomes due wakes those who send and ask, and nothing else', async () => {
  const { sql, asked } = counting(service.runtime.sql);
  // The tenth second at which the others look again never comes.
  const { clock } = service.runtime;
  const sleep: Clock['sleep'] = (ms, signal) => clock.sleep(ms < 10_000 ? ms : 86_400_000, signal);
  const runtime = withParts(service.runtime, () => ({
    sql,
    clock: { ...clock, sleep },
    senders: new Map(),
  }));
  const worker = runWorker(runtime, 'http://127.0.0.1:3000');
  const others = ['alert_claim_unknown', 'unknown_due', 'request_log_prune'];
  await until(async () => others.every((name) => asked.has(name)));
  const before = new Map(asked);
  for (let times = 1; times <= 30; times++) {
    const claims = asked.get('intent_claim') ?? 0;
    runtime.wake();
    await until(async () => (asked.get('intent_claim') ?? 0) > claims);
  }
  expect(others.map((name) => asked.get(name))).toEqual(others.map((name) => before.get(name)));
  await worker.stop();
});
