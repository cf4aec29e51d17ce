import type { ServerResponse } from 'node:http';
import { openReceiver, type Receiver } from '@vintem/testkit/receiver.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPublisher } from '../../src/events/publish.ts';
import { createDeliverer } from '../../src/events/webhooks/deliver.ts';
import { runDeliveries } from '../../src/events/webhooks/delivery-loop.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Sql, Statement } from '../../src/ports/sql.ts';
import { eventRow, events } from '../../src/store/events/event.ts';

let service: Service;
let receiver: Receiver;
beforeAll(async () => {
  service = await openService({ worker: false, env: { WEBHOOK_ALLOW_INSECURE_LOCAL: 'true' } });
  receiver = await openReceiver();
});
afterAll(async () => {
  await receiver.stop();
  await service.close();
});

/** Commits events of one kind, as a settlement does. */
async function commit(merchants: Merchant[], count: number): Promise<string[]> {
  const { ids, clock, sql } = service.runtime;
  const rows = Array.from({ length: count }, (_, n) => {
    const { ownerId, operationId } = merchants[n % merchants.length] as Merchant;
    return eventRow(ids, {
      accountId: ownerId,
      operationId,
      paymentId: crypto.randomUUID(),
      type: 'transfer.completed',
      livemode: false,
      change: { from: 'pending', to: 'completed' },
      data: { operationId, filler: 'x'.repeat(700) },
      at: clock.now(),
    });
  });
  await sql.tx((tx) => Promise.all(events.write(tx, { inserted: rows, updated: [], deleted: [] })));
  service.runtime.eventsWritten();
  return rows.map(({ id }) => id);
}

test('A publisher takes its lock, which is written to the log, only while events wait', async () => {
  const merchant = await service.newMerchant();
  const { runtime } = service;
  let locked = 0;
  const begin: Sql['begin'] = () => {
    locked++;
    return runtime.sql.begin();
  };
  const published: number[] = [];
  const publisher = createPublisher({ ...runtime, sql: { ...runtime.sql, begin } }, async (_, events) => {
    published.push(events.length);
  });
  while (await publisher.step());
  locked = 0;
  for (let idle = 0; idle < 3; idle++) expect(await publisher.step()).toBe(0);
  // In an installation of several cells it is notified of what others wrote as well.
  publisher.announce();
  expect(await publisher.step()).toBe(0);
  expect(locked).toBe(0);
  for (let life = 1; life <= 3; life++) {
    await commit([merchant], 2);
    publisher.announce();
    expect([await publisher.step(), await publisher.step(), await publisher.step()]).toEqual([2, 0, 0]);
    expect([published.at(-1), locked]).toEqual([2, life]);
  }
});

test('committed events go out at once: each is announced, and none waits until a process looks', async () => {
  const merchants = [await service.newMerchant(), await service.newMerchant(), await service.newMerchant()];
  for (const merchant of merchants) {
    await merchant.call('POST', '/webhooks', {
      url: receiver.url,
      events: ['*'],
      requestKey: crypto.randomUUID(),
    });
  }
  const { runtime } = service;
  // A loop that rests and is not woken rests for a day. A pace is shorter than a rest.
  const sleep: Clock['sleep'] = (ms, signal) =>
    runtime.clock.sleep(signal && ms >= 100 ? 86_400_000 : ms, signal);
  const outgoing = runDeliveries({ ...runtime, clock: { ...runtime.clock, sleep } }, () => true);
  runtime.eventsWritten.listen(outgoing.written);
  const written: string[] = [];
  for (let round = 0; round < 200; round++) written.push(...(await commit(merchants, 6)));
  await until(async () => receiver.got.length >= written.length);
  expect(receiver.got.map(({ body }) => body.id).sort()).toEqual(written.sort());
  await outgoing.stop();
});

test('an event that comes alone is looked for once: where all was read, the place that its delivery leaves asks for nothing', async () => {
  const merchant = await service.newMerchant();
  const lone = await openReceiver();
  const url = `${lone.url}/lone`;
  await merchant.call('POST', '/webhooks', { url, events: ['*'], requestKey: crypto.randomUUID() });
  const { runtime } = service;
  let looks = 0;
  const run: Sql['run'] = (statement, values) => {
    if (statement.name === 'lane_claim') looks++;
    return runtime.sql.run(statement, values);
  };
  const sleep: Clock['sleep'] = (ms, signal) =>
    runtime.clock.sleep(signal && ms >= 100 ? 86_400_000 : ms, signal);
  const deps = { ...runtime, sql: { ...runtime.sql, run }, clock: { ...runtime.clock, sleep } };
  const outgoing = runDeliveries(deps, () => true);
  runtime.eventsWritten.listen(outgoing.written);
  const events = 10;
  for (let one = 1; one <= events; one++) {
    await commit([merchant], 1);
    await until(async () => {
      const delivered = await service.database.admin(
        "SELECT 1 FROM webhook_delivery d JOIN webhook_endpoint w ON w.id = d.endpoint_id WHERE w.url = $1 AND d.status = 'delivered'",
        [url],
      );
      return delivered.length === one;
    });
  }
  // One at its start, where what others left behind may be found.
  expect(looks).toBeLessThanOrEqual(events + 2);
  await outgoing.stop();
  await lone.stop();
});

test('more events than a queue holds at once arrive without a further announcement: the places that become free ask for the rest', async () => {
  const merchant = await service.newMerchant();
  const busy = await openReceiver();
  const url = `${busy.url}/many`;
  await merchant.call('POST', '/webhooks', { url, events: ['*'], requestKey: crypto.randomUUID() });
  const { runtime } = service;
  const sleep: Clock['sleep'] = (ms, signal) =>
    runtime.clock.sleep(signal && ms >= 100 ? 86_400_000 : ms, signal);
  const outgoing = runDeliveries({ ...runtime, clock: { ...runtime.clock, sleep } }, () => true);
  runtime.eventsWritten.listen(outgoing.written);
  const written = await commit([merchant], 400);
  await until(async () => busy.got.length >= written.length);
  expect(new Set(busy.got.map(({ body }) => body.id))).toEqual(new Set(written));
  await outgoing.stop();
  await busy.stop();
});

test('what was just published is delivered without the pace of the deliverer', async () => {
  const { runtime } = service;
  const paced: number[] = [];
  // On a clock that stands still every look comes too early.
  const clock: Clock = {
    ...runtime.clock,
    monotonicMs: () => 0,
    sleep: async (ms, signal) => {
      if (!signal?.aborted) paced.push(ms);
    },
  };
  const deliverer = createDeliverer({ ...runtime, clock });
  await deliverer.step();
  deliverer.announce();
  await deliverer.step();
  expect(paced).toEqual([]);
  await deliverer.step();
  expect(paced).toEqual([20]);
  await deliverer.release();
});

test('A receiver that answers well gets more than five deliveries at once while events wait, and never more than 64', async () => {
  const merchant = await service.newMerchant();
  const busy = await openReceiver();
  const url = `${busy.url}/busy`;
  await merchant.call('POST', '/webhooks', { url, events: ['*'], requestKey: crypto.randomUUID() });
  // Each crowd is answered when it is complete. It is complete only with more places than before.
  const crowds = [5, 6, 12, 24, 40];
  const held: ServerResponse[] = [];
  let most = 0;
  busy.answer((response) => {
    most = Math.max(most, held.push(response));
    if (held.length < (crowds[0] ?? 1)) return;
    crowds.shift();
    for (const one of held.splice(0)) one.writeHead(200).end();
  });
  const { runtime } = service;
  const written = await commit([merchant], 300);
  // A receiver that takes more than a second keeps five places: on this clock a slow machine is a quick receiver.
  const monotonicMs = () => runtime.clock.monotonicMs() / 100;
  const outgoing = runDeliveries({ ...runtime, clock: { ...runtime.clock, monotonicMs } }, () => true);
  await until(async () => crowds.length === 0 && busy.got.length >= written.length);
  expect(new Set(busy.got.map(({ body }) => body.id))).toEqual(new Set(written));
  expect(most).toBeGreaterThanOrEqual(40);
  expect(most).toBeLessThanOrEqual(64);
  await outgoing.stop();
  await busy.stop();
});

test('An endpoint that keeps failing rests: it gets one attempt a second until its next success, which sends what has waited', async () => {
  const merchant = await service.newMerchant();
  const { clock, sql, ...runtime } = service.runtime;
  const down = await openReceiver();
  const { url } = down;
  await merchant.call('POST', '/webhooks', { url, events: ['*'], requestKey: crypto.randomUUID() });
  let works = false;
  down.answer((response) => response.writeHead(works ? 200 : 500).end());
  const written = await commit([merchant], 120);
  // A second passes when the test says so.
  let skippedMs = 0;
  const monotonicMs = () => skippedMs + clock.monotonicMs() / 1_000;
  const outgoing = runDeliveries({ ...runtime, sql, clock: { ...clock, monotonicMs } }, () => true);
  const attempts: Statement = {
    name: 'test_attempts',
    text: 'SELECT sum(made)::int AS made FROM webhook_delivery WHERE account_id = $1',
  };
  const made = async () => (await sql.run<{ made: number }>(attempts, [merchant.ownerId]))[0]?.made ?? 0;
  await until(async () => (await made()) >= 50);
  for (let probes = 1; probes <= 3; probes++) {
    const before = await made();
    skippedMs += 1_000;
    await until(async () => (await made()) > before);
  }
  // Four more were under way when the fiftieth failed.
  expect(await made()).toBeLessThanOrEqual(50 + 4 + 3);
  const first = down.got.length;
  works = true;
  skippedMs += 1_000;
  // Shorter than the time of a test, so that a rest without an end fails by name.
  const sentAll = async () => new Set(down.got.map(({ body }) => body.id)).size === written.length;
  await expect(until(sentAll, 45_000)).resolves.toBeUndefined();
  const tried = new Set(down.got.slice(0, first).map(({ body }) => body.id));
  const sent = down.got.slice(first).map(({ body }) => body.id as string);
  expect(sent.filter((id) => !tried.has(id)).sort()).toEqual(written.filter((id) => !tried.has(id)).sort());
  await outgoing.stop();
  await down.stop();
});
