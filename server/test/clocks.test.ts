import { afterAll, beforeAll, expect, test } from 'vitest';
import { watchClock } from '../src/db/clock-offset.ts';
import { systemClock } from '../src/ports/clock.ts';
import type { Provider } from '../src/provider/provider.ts';
import { createFollowUp } from '../src/settlement/follow-up.ts';
import { runWorker } from '../src/worker.ts';
import { openService, type Service, until } from './support/service.ts';
import { intentOf, later, leave, statusOf } from './support/settlement.ts';

/** Processes whose clocks differ from the database's, and so from each other's. */

let service: Service;
beforeAll(async () => {
  service = await openService({ worker: false });
});
afterAll(() => service?.close());

test.each([
  [1_500, true],
  [-1_500, true],
  [3_000, false],
  [-3_600_000, false],
])('a clock that is %i ms ahead of the database is tolerable: %s', async (aheadMs, tolerable) => {
  const { sql, log } = service.house;
  const ending = new AbortController();
  const clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
  const watched = watchClock({ sql, clock, log }, ending.signal);
  await watched.measured;
  expect(watched.isTolerable()).toBe(tolerable);
  ending.abort();
});

test('a worker whose clock is wrong claims nothing, not even in its first moment', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(3000);
  const id = await leave(service, merchant, 'complete');
  const wrong = runWorker(later(service.house, 3_600_000));
  await new Promise((done) => setTimeout(done, 800));
  await wrong.stop();
  expect(await intentOf(service, id)).toMatchObject({ state: 'ready', attempt: 0 });
  expect(await service.simulator.payout(id)).toBeUndefined();
  const right = runWorker(service.house);
  await until(async () => (await statusOf(service, id)) === 'completed');
  await right.stop();
});

test('a lease that an early clock ends too soon lets nobody repeat before it has ended in truth', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(3000);
  const id = await leave(service, merchant, 'complete');
  const leaseUntil = Date.now() + 15_000;
  await service.database.admin(
    `UPDATE intent SET state = 'sending', attempt = 1, fence = gen_random_uuid(), lease_until = $2, due_at = now() WHERE payment_id = $1`,
    [id, new Date(leaseUntil).toISOString()],
  );
  const provider = service.house.providers.get('simulator') as Provider;
  const early = later(service.house, 20_000);
  const step = async (house: typeof early) => {
    const followUp = createFollowUp(house, provider);
    await followUp.stepSends();
    await followUp.idle();
    while (await followUp.stepQueries());
    await followUp.idle();
  };
  await step(early);
  expect(await intentOf(service, id)).toMatchObject({ state: 'awaiting' });
  // Queries of a process with the right time, before the end of the lease, count for nothing.
  await service.database.admin(
    "UPDATE intent SET due_at = now() - interval '1 s', absences = 0, absent_at = NULL WHERE payment_id = $1",
    [id],
  );
  await service.database.admin(`UPDATE connection SET query_bucket_at = now() - interval '1 hour'`);
  await step(service.house);
  const [row] = await service.database.admin<{ absences: number }>(
    'SELECT absences FROM intent WHERE payment_id = $1',
    [id],
  );
  expect(row?.absences).toBe(0);
  expect(await service.simulator.payout(id)).toBeUndefined();
});
