import { openReceiver, type Receiver } from '@vintem/testkit/receiver.ts';
import { callWith, openService, type Service, until } from '@vintem/testkit/service.ts';
import { gate } from '@vintem/testkit/till.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stepTestClocks } from '../../src/api/test-mode/clock.ts';
import { createPublisher } from '../../src/events/publish.ts';
import { createDeliverer } from '../../src/events/webhooks/deliver.ts';
import { fanOutTo } from '../../src/events/webhooks/fan-out.ts';
import type { Sql } from '../../src/ports/sql.ts';

/** Deliveries beside a test clock. */

const hourMs = 3_600_000;

let service: Service;
let receiver: Receiver;
beforeAll(async () => {
  service = await openService({ env: { WEBHOOK_ALLOW_INSECURE_LOCAL: 'true' }, worker: false });
  receiver = await openReceiver();
});
afterAll(async () => {
  await service.close();
  await receiver.stop();
});

/** An account with a clock, whose endpoint has refused an event once. */
async function refusedOnce() {
  const shop = await service.newMerchant();
  const cell = service.cellOf(shop);
  const clockCall = callWith(`${service.url}/api/v1/test`, shop.key);
  const subscription = { url: receiver.url, events: ['*'], requestKey: crypto.randomUUID() };
  const { id } = (await shop.call('POST', '/webhooks', subscription)).body;
  await clockCall('POST', '/clock', {});
  receiver.answer(500);
  await shop.call('PATCH', `/operations/${shop.operationId}`, { name: 'Loja A' });
  await createPublisher(cell, fanOutTo(cell)).step();
  const attempts = async () =>
    (await shop.call('GET', `/webhooks/${id}/deliveries`)).body.deliveries[0]?.attempts ?? [];
  const deliverUntil = async (made: number, sql: Sql = cell.sql): Promise<void> => {
    const deliverer = createDeliverer({ ...cell, sql });
    await until(async () => {
      await deliverer.step();
      return (await attempts()).length === made;
    });
    await deliverer.stop(60_000);
  };
  await deliverUntil(1);
  return { shop, cell, endpointId: id as string, clockCall, attempts, deliverUntil };
}

test('a repeat that the clock makes due while it is looked for shows the time to which the clock was moved', async () => {
  const { cell, endpointId, clockCall, attempts, deliverUntil } = await refusedOnce();
  // So far away that the clock alone makes it due, whatever the machine needs until then.
  const dueAt = Date.now() + hourMs;
  await service.database.admin('UPDATE webhook_delivery SET due_at = $2 WHERE endpoint_id = $1', [
    endpointId,
    new Date(dueAt).toISOString(),
  ]);
  const to = new Date(Date.now() + 24 * hourMs).toISOString();
  expect((await clockCall('POST', '/clock/advance', { to })).status).toBe(200);

  // The clock read the time before the look began, and commits its move in the middle of it.
  const beganAt = Date.now();
  const look = gate(cell.sql, 'after lane_endpoints');
  const delivered = deliverUntil(2, look.sql);
  await look.reached;
  await stepTestClocks({ ...cell, clock: { ...cell.clock, now: () => beganAt } });
  look.open();
  await delivered;

  const [, repeat] = await attempts();
  const told = Date.parse(String(receiver.got.at(-1)?.headers['x-webhook-test-time']));
  expect(told - Date.parse(repeat.at)).toBe(dueAt - beganAt);
});

test('what is sent again in an account with a clock is tried twelve times, first after seconds', async () => {
  const { shop, endpointId, attempts, deliverUntil } = await refusedOnce();
  await service.database.admin(
    `UPDATE webhook_delivery SET status = 'failed', due_at = NULL, tries_left = 0 WHERE endpoint_id = $1`,
    [endpointId],
  );
  const from = new Date(Date.now() - hourMs).toISOString();
  const path = `/webhooks/${endpointId}`;
  expect((await shop.call('POST', `${path}/replay`, { from })).status).toBe(202);
  await deliverUntil(2);
  const [, again] = await attempts();
  const [{ nextAttemptAt }] = (await shop.call('GET', `${path}/deliveries`)).body.deliveries;
  expect(Date.parse(nextAttemptAt) - Date.parse(again.at)).toBeLessThan(hourMs);
  const [row] = await service.database.admin<{ left: number }>(
    'SELECT tries_left AS left FROM webhook_delivery WHERE endpoint_id = $1',
    [endpointId],
  );
  expect(row?.left).toBe(11);
});
