import { openReceiver, type Receiver } from '@vintem/testkit/receiver.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventRow, events } from '../../src/events/event.ts';

let service: Service;
let receiver: Receiver;
beforeAll(async () => {
  service = await openService({ env: { WEBHOOK_ALLOW_INSECURE_LOCAL: 'true' } });
  receiver = await openReceiver();
});
afterAll(async () => {
  await receiver.stop();
  await service.close();
});

const perSecond = Number(process.env.EVENTS_PER_SECOND ?? 300);
const seconds = 4;

/** Commits events of one kind, as a settlement does, and remembers when. */
async function commit(merchants: Merchant[], count: number, committedAt: Map<string, number>): Promise<void> {
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
  const now = clock.monotonicMs();
  for (const { id } of rows) committedAt.set(id, now);
  service.runtime.eventsWritten();
}

test(`at ${perSecond} events a second the first attempt begins within a second of the commit`, {
  timeout: 60_000,
}, async () => {
  const merchants = [await service.newMerchant(), await service.newMerchant(), await service.newMerchant()];
  for (const merchant of merchants) {
    await merchant.call('POST', '/webhooks', {
      url: receiver.url,
      events: ['*'],
      requestKey: crypto.randomUUID(),
    });
  }
  const committedAt = new Map<string, number>();
  const { clock } = service.runtime;
  const everyMs = 20;
  const began = clock.monotonicMs();
  let written = 0;
  for (let at = everyMs; at <= seconds * 1000; at += everyMs) {
    await clock.sleep(began + at - clock.monotonicMs());
    const due = Math.floor((perSecond * at) / 1000);
    if (due > written) await commit(merchants, due - written, committedAt);
    written = due;
  }
  await until(async () => receiver.got.length >= written, 20_000);
  const waits = receiver.got
    .map(({ body, atMs }) => atMs - (committedAt.get(body.id) ?? Number.NaN))
    .sort((one, other) => one - other);
  const at = (share: number) => Math.round(waits[Math.floor(waits.length * share)] ?? 0);
  if (process.env.TEST_LOG) console.log({ written, p50: at(0.5), p99: at(0.99), max: at(0.9999) });
  expect(receiver.got).toHaveLength(written);
  expect(at(0.99)).toBeLessThan(1_000);
});
