import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openReceiver, type Received, type Receiver } from '@vintem/testkit/receiver.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { type ShiftedClock, shiftedClock } from '@vintem/testkit/shifted-clock.ts';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Addresses } from '../../src/events/webhooks/address.ts';
import { type Outgoing, runDeliveries } from '../../src/events/webhooks/delivery-loop.ts';
import { keyOfSecret, signatureHeaders } from '../../src/events/webhooks/sign.ts';
import { createMail } from '../../src/ground/mail.ts';
import { createUnknownTransferAlerts } from '../../src/jobs/unknown-transfer-alerts.ts';
import type { Runtime } from '../../src/main/runtime.ts';
import { storageBudgets, takeStorage } from '../../src/store/database/storage-budget.ts';

const hour = 3600_000;
const day = 24 * hour;

let service: Service;
let clock: ShiftedClock;
let outgoing: Outgoing[];
let mailDir: string;
const receivers: Receiver[] = [];
const extra: Outgoing[] = [];

beforeAll(async () => {
  service = await openService({
    env: { WEBHOOK_ALLOW_INSECURE_LOCAL: 'true', TRANSFER_WAIT_MS: '0' },
    worker: false,
  });
  clock = shiftedClock();
  mailDir = mkdtempSync(join(tmpdir(), 'vintem-mail-'));
  outgoing = deliver();
});
afterAll(async () => {
  for (const one of outgoing) await one.stop();
  await service.close();
  rmSync(mailDir, { recursive: true, force: true });
});
afterEach(async () => {
  for (const one of extra.splice(0)) await one.stop();
  for (const receiver of receivers.splice(0)) await receiver.stop();
});

/** The process that delivers, days ahead if need be. Accounts count as live ones, but may be reached on loopback. */
function runtime(cell: Runtime = service.runtime): Runtime {
  const addresses: Addresses = {
    ...service.runtime.addresses,
    checkUrl: (url) => service.runtime.addresses.checkUrl(url, { test: true }),
    routeOf: () => service.runtime.addresses.routeOf({ test: true }),
  };
  const mail = createMail(
    { smtpUrl: null, mailFrom: null, dataDir: mailDir, defaultLanguage: 'en' },
    { clock, ids: service.runtime.ids, sql: service.runtime.sql },
  );
  return { ...cell, clock, addresses, mail };
}

/** Deliveries of one such process for every cell. */
const deliver = (): Outgoing[] =>
  service.runtime.cells.all().map((cell) => runDeliveries(runtime(cell), () => true));

async function listening(fields: object = {}, { live = false } = {}) {
  const merchant = await service.newMerchant();
  const receiver = await openReceiver();
  receivers.push(receiver);
  const body = { url: receiver.url, events: ['*'], requestKey: crypto.randomUUID(), ...fields };
  const answer = await merchant.call('POST', '/webhooks', body);
  expect(answer.status).toBe(201);
  if (live) await service.database.admin('UPDATE account SET test = false WHERE id = $1', [merchant.ownerId]);
  return { merchant, receiver, endpoint: answer.body };
}

/** An event that takes no settlement: a business operation is renamed. */
const rename = (merchant: Merchant, name: string) =>
  merchant.call('PATCH', `/operations/${merchant.operationId}`, { name });

const endpointOf = async (merchant: Merchant, id: string) =>
  (await merchant.call('GET', `/webhooks/${id}`)).body;

const deliveriesOf = async (merchant: Merchant, id: string, query = '') =>
  (await merchant.call('GET', `/webhooks/${id}/deliveries${query}`)).body.deliveries;

async function onlyDelivery(merchant: Merchant, id: string) {
  const found = await deliveriesOf(merchant, id);
  expect(found).toHaveLength(1);
  return found[0];
}

/** The public verifier looks at the time, and here it is days ahead. */
const signedBy = (secrets: string[], received: Received | undefined): string | undefined =>
  received &&
  signatureHeaders(
    secrets.map(keyOfSecret),
    received.body.id,
    Number(received.headers['webhook-timestamp']),
    received.text,
  )['webhook-signature'];

test('both secrets sign during a rotation, the new one first, and then the new one alone', async () => {
  const { merchant, receiver, endpoint } = await listening();
  const rotated = await merchant.call('POST', `/webhooks/${endpoint.id}/rotate-secret`, { overlapHours: 1 });
  expect(rotated.status).toBe(200);
  await rename(merchant, 'Loja L');
  await until(async () => receiver.got.length === 1);
  expect(receiver.got[0]?.headers['webhook-signature']).toBe(
    signedBy([rotated.body.secret, endpoint.secret], receiver.got[0]),
  );
  clock.skip(hour + 1_000);
  await rename(merchant, 'Loja M');
  await until(async () => receiver.got.length === 2);
  expect(receiver.got[1]?.headers['webhook-signature']).toBe(
    signedBy([rotated.body.secret], receiver.got[1]),
  );
});

test('a receiver that fails gets the same id and the same bytes again, signed anew [6.1–6.9]', async () => {
  const { merchant, receiver, endpoint } = await listening();
  receiver.answer(500);
  await rename(merchant, 'Loja A');
  await until(async () => receiver.got.length === 1);
  await until(async () => (await onlyDelivery(merchant, endpoint.id)).attempts.length === 1);
  clock.skip(6_000);
  await until(async () => receiver.got.length === 2);
  await until(async () => (await onlyDelivery(merchant, endpoint.id)).attempts.length === 2);
  receiver.answer(204);
  clock.skip(40_000);
  await until(async () => (await onlyDelivery(merchant, endpoint.id)).status === 'delivered');
  const [first, second, third] = receiver.got;
  expect(receiver.got).toHaveLength(3);
  for (const received of receiver.got) {
    expect(received.text).toBe(first?.text);
    expect(received.headers['webhook-id']).toBe(first?.body.id);
  }
  expect(receiver.got.map(({ headers }) => headers['x-webhook-attempt'])).toEqual(['1', '2', '3']);
  for (const received of receiver.got) {
    expect(received.headers['webhook-signature']).toBe(signedBy([endpoint.secret], received));
  }
  expect(second?.headers['webhook-timestamp']).not.toBe(third?.headers['webhook-timestamp']);
  const delivery = await onlyDelivery(merchant, endpoint.id);
  expect(delivery).toMatchObject({ status: 'delivered', nextAttemptAt: null, eventId: first?.body.id });
  expect(delivery.attempts.map(({ statusCode }: { statusCode: number }) => statusCode)).toEqual([
    500, 500, 204,
  ]);
});

test('a server that is down for two days misses nothing', async () => {
  const { merchant, receiver, endpoint } = await listening({}, { live: true });
  const { url } = receiver;
  await receiver.stop();
  for (const name of ['Loja B', 'Loja C', 'Loja D']) await rename(merchant, name);
  await until(async () => (await deliveriesOf(merchant, endpoint.id)).length === 3);
  for (const [skipMs, attempts] of [
    [0, 1],
    [6_000, 2],
    [40_000, 3],
    [140_000, 4],
    [12 * 60_000, 5],
    [34 * 60_000, 6],
    [2.3 * hour, 7],
    [5.6 * hour, 8],
    [11.1 * hour, 9],
    [15.5 * hour, 10],
  ] as const) {
    clock.skip(skipMs);
    await until(async () =>
      (await deliveriesOf(merchant, endpoint.id)).every(
        (one: { attempts: { error: string }[] }) =>
          one.attempts.length === attempts && one.attempts.at(-1)?.error === 'connection failed',
      ),
    );
  }
  const again = await openReceiver(Number(new URL(url).port));
  receivers.push(again);
  clock.skip(22.1 * hour);
  await until(async () => again.got.length === 3);
  expect(new Set(again.got.map(({ body }) => body.data.name))).toEqual(
    new Set(['Loja B', 'Loja C', 'Loja D']),
  );
  await until(async () =>
    (await deliveriesOf(merchant, endpoint.id)).every(
      (one: { status: string }) => one.status === 'delivered',
    ),
  );
});

test('after the last attempt a delivery is failed, and a retry by hand still sends it', async () => {
  const { merchant, receiver, endpoint } = await listening();
  receiver.answer(503);
  await rename(merchant, 'Loja E');
  for (const [skipMs, attempts] of [
    [0, 1],
    [6_000, 2],
    [40_000, 3],
    [140_000, 4],
  ] as const) {
    clock.skip(skipMs);
    await until(async () => (await deliveriesOf(merchant, endpoint.id))[0]?.attempts.length === attempts);
  }
  const failed = await onlyDelivery(merchant, endpoint.id);
  expect(failed).toMatchObject({ status: 'failed', nextAttemptAt: null });
  receiver.answer(200);
  const path = `/webhooks/${endpoint.id}/deliveries/${failed.id}`;
  expect(await merchant.call('POST', `${path}/retry`, {})).toMatchObject({
    status: 202,
    body: { deliveryId: failed.id },
  });
  await until(async () => (await merchant.call('GET', path)).body.status === 'delivered');
  expect(receiver.got).toHaveLength(5);
  expect(new Set(receiver.got.map(({ text }) => text)).size).toBe(1);
  // A delivered event can be sent once more, and stays delivered when that fails.
  receiver.answer(500);
  await merchant.call('POST', `${path}/retry`, {});
  await until(async () => (await merchant.call('GET', path)).body.attempts.length === 6);
  expect((await merchant.call('GET', path)).body.status).toBe('delivered');
});

test('a redirect is a failure and is not followed', async () => {
  const { merchant, receiver, endpoint } = await listening();
  const other = await openReceiver();
  receivers.push(other);
  receiver.answer((response) => response.writeHead(302, { location: other.url }).end());
  await rename(merchant, 'Loja F');
  await until(async () => (await deliveriesOf(merchant, endpoint.id))[0]?.attempts.length === 1);
  const delivery = await onlyDelivery(merchant, endpoint.id);
  expect(delivery).toMatchObject({ status: 'pending', attempts: [{ statusCode: 302, error: null }] });
  expect(other.got).toEqual([]);
});

test('410 disables the endpoint at once and mails; what comes then is skipped, and a replay sends it', async () => {
  const { merchant, receiver, endpoint } = await listening();
  const person = crypto.randomUUID();
  await service.database.admin(
    `INSERT INTO panel_user (id, name, email, email_verified, created_at, updated_at)
      VALUES ($1, 'Ana', 'ana@loja.example', true, now(), now())`,
    [person],
  );
  await service.database.admin(
    `INSERT INTO panel_member (account_id, user_id, role, created_at) VALUES ($1, $2, 'developer', now())`,
    [merchant.ownerId, person],
  );
  receiver.answer(410);
  await rename(merchant, 'Loja G');
  await until(async () => (await endpointOf(merchant, endpoint.id)).status === 'disabled');
  const disabled = await endpointOf(merchant, endpoint.id);
  expect(disabled).toMatchObject({ enabled: false, disabledReason: 'gone', disabledAt: expect.any(String) });
  await rename(merchant, 'Loja H');
  await until(async () => (await deliveriesOf(merchant, endpoint.id, '?status=skipped')).length === 1);
  expect(receiver.got).toHaveLength(1);
  clock.skip(10_000);
  await until(async () => (await mails()).some((text) => text.includes(endpoint.id)));
  const [mail] = (await mails()).filter((text) => text.includes(endpoint.id));
  expect(mail).toMatch(/^To: ana@loja\.example\r$/m);
  expect(mail).toContain('410');

  const retry = `/webhooks/${endpoint.id}/replay`;
  expect((await merchant.call('POST', retry, { from: disabled.disabledAt })).body.code).toBe(
    'webhook_disabled',
  );
  receiver.answer(200);
  const enabled = await merchant.call('PATCH', `/webhooks/${endpoint.id}`, { enabled: true });
  expect(enabled.body).toMatchObject({
    enabled: true,
    status: 'active',
    disabledAt: null,
    disabledReason: null,
  });
  const from = new Date(Date.parse(disabled.disabledAt) - clock.now() + Date.now() - 60_000).toISOString();
  const replayed = await merchant.call('POST', retry, { from });
  expect(replayed).toMatchObject({ status: 202, body: { scheduled: 2 } });
  await until(async () => receiver.got.length === 3);
  expect(
    receiver.got
      .slice(1)
      .map(({ body }) => body.data.name)
      .sort(),
  ).toEqual(['Loja G', 'Loja H']);
});

const mails = async (): Promise<string[]> => {
  const folder = join(mailDir, 'mail');
  const names = await readdir(folder).catch(() => []);
  return Promise.all(
    names.filter((name) => name.endsWith('.eml')).map((name) => readFile(join(folder, name), 'utf8')),
  );
};

test('an endpoint without a success for five days is disabled, with mails on the way', async () => {
  const { merchant, receiver, endpoint } = await listening();
  receiver.answer(500);
  for (let n = 0; n < 10; n++) await rename(merchant, `Loja ${n} x`);
  for (const [skipMs, attempts] of [
    [0, 1],
    [6_000, 2],
    [40_000, 3],
    [140_000, 4],
  ] as const) {
    clock.skip(skipMs);
    await until(async () => {
      const found = await deliveriesOf(merchant, endpoint.id);
      return (
        found.length === 10 && found.every((one: { attempts: unknown[] }) => one.attempts.length === attempts)
      );
    });
  }
  await until(async () => (await endpointOf(merchant, endpoint.id)).status === 'failing');
  const told = async () => (await mails()).filter((text) => text.includes(endpoint.id)).length;
  for (const [skipMs, letters] of [
    [61_000, 1],
    [day, 2],
    [2 * day, 3],
    [2.1 * day, 4],
  ] as const) {
    clock.skip(skipMs);
    await until(async () => (await told()) === letters);
  }
  expect(await endpointOf(merchant, endpoint.id)).toMatchObject({
    status: 'disabled',
    disabledReason: 'failing',
  });
});

test('one endpoint that hangs delays no other, and five at once is all that it gets', async () => {
  const { merchant, receiver: hanging, endpoint } = await listening();
  const quick = await openReceiver();
  receivers.push(quick);
  await merchant.call('POST', '/webhooks', {
    url: quick.url,
    events: ['*'],
    requestKey: crypto.randomUUID(),
  });
  let open = 0;
  let most = 0;
  hanging.answer((response) => {
    most = Math.max(most, ++open);
    response.once('close', () => open--);
  });
  for (let n = 0; n < 12; n++) await rename(merchant, `Loja ${n} y`);
  await until(async () => quick.got.length === 12);
  await until(async () => most >= 5);
  expect(most).toBe(5);
  await merchant.call('DELETE', `/webhooks/${endpoint.id}`, {});
});

test('an answer is read up to 64 KiB and kept up to 1 KiB', async () => {
  const { merchant, receiver, endpoint } = await listening();
  receiver.answer((response) => response.writeHead(200).end(`\0${'é'.repeat(200_000)}`));
  await rename(merchant, 'Loja I');
  await until(async () => (await deliveriesOf(merchant, endpoint.id))[0]?.status === 'delivered');
  const { responseSnippet } = (await onlyDelivery(merchant, endpoint.id)).attempts[0];
  expect(responseSnippet.startsWith('�éé')).toBe(true);
  expect(Buffer.byteLength(responseSnippet)).toBeLessThanOrEqual(1024 + 4);
});

/** As if the account had stored its whole budget of answers a moment ago. */
const useUpAnswers = ({ ownerId }: Merchant) =>
  service
    .cellOf({ ownerId })
    .sql.tx((tx) =>
      takeStorage(tx, 'answers', new Map([[ownerId, storageBudgets.answers.bytes]]), clock.now()),
    );

test('Of an account that has stored its budget of answers the beginning of an answer is kept, and another account is not cut', async () => {
  const [used, other] = [await listening(), await listening()];
  await useUpAnswers(used.merchant);
  for (const { merchant, receiver, endpoint } of [used, other]) {
    receiver.answer((response) => response.writeHead(200).end('x'.repeat(1000)));
    await rename(merchant, 'Loja I');
    await until(async () => (await deliveriesOf(merchant, endpoint.id))[0]?.status === 'delivered');
  }
  const kept = async ({ merchant, endpoint }: typeof used) =>
    (await onlyDelivery(merchant, endpoint.id)).attempts[0].responseSnippet.length;
  expect([await kept(used), await kept(other)]).toEqual([64, 1000]);
});

test('The answers to the last three attempts of an endpoint are kept', async () => {
  const { merchant, receiver, endpoint } = await listening();
  receiver.answer((response) => response.writeHead(500).end('no'));
  await rename(merchant, 'Loja I');
  const attempts = async () => (await onlyDelivery(merchant, endpoint.id)).attempts;
  await until(async () => (await deliveriesOf(merchant, endpoint.id)).length === 1);
  for (let made = 1; made <= 5; made++) {
    await until(async () => (await attempts()).length === made);
    const { id } = await onlyDelivery(merchant, endpoint.id);
    if (made < 5) await merchant.call('POST', `/webhooks/${endpoint.id}/deliveries/${id}/retry`, {});
  }
  const snippets = (await attempts()).map((one: { responseSnippet: string | null }) => one.responseSnippet);
  expect(snippets).toEqual([null, null, 'no', 'no', 'no']);
});

test('a Retry-After of 503 is waited for', async () => {
  const { merchant, receiver, endpoint } = await listening();
  receiver.answer((response) => response.writeHead(503, { 'retry-after': '3600' }).end());
  await rename(merchant, 'Loja J');
  await until(async () => (await deliveriesOf(merchant, endpoint.id))[0]?.attempts.length === 1);
  const { nextAttemptAt, attempts } = await onlyDelivery(merchant, endpoint.id);
  expect(Date.parse(nextAttemptAt) - Date.parse(attempts[0].at)).toBeGreaterThanOrEqual(3_600_000);
});

test("first attempts of one payment's events begin in order, each after the one before has ended", async () => {
  const { merchant, receiver } = await listening({
    events: ['charge.created', 'charge.paid', 'transfer.created', 'transfer.completed'],
  });
  // A new subscription takes effect within a second.
  await service.runtime.clock.sleep(1_100);
  let open = 0;
  let most = 0;
  receiver.answer((response) => {
    most = Math.max(most, ++open);
    void service.runtime.clock.sleep(150).then(() => {
      open--;
      response.end();
    });
  });
  await merchant.receive(3000);
  await until(async () => receiver.got.length === 2);
  expect(receiver.types()).toEqual(['charge.created', 'charge.paid']);
  expect(most).toBe(1);
});

test('two processes deliver together: nothing is skipped, nothing is sent twice', async () => {
  extra.push(...deliver(), ...deliver());
  const all = await Promise.all([0, 1, 2, 3].map(() => listening()));
  for (let n = 0; n < 25; n++) {
    await Promise.all(all.map(({ merchant }) => rename(merchant, `Loja ${n} z`)));
  }
  await until(async () => all.every(({ receiver }) => receiver.got.length >= 25));
  for (const { receiver, merchant, endpoint } of all) {
    expect(new Set(receiver.got.map(({ body }) => body.id)).size).toBe(25);
    expect(receiver.got).toHaveLength(25);
    await until(async () =>
      (await deliveriesOf(merchant, endpoint.id)).every(
        (one: { status: string }) => one.status === 'delivered',
      ),
    );
  }
});

test('the queue of a process that died is taken over when its lease ends', async () => {
  const { merchant, receiver, endpoint } = await listening();
  await service.database.admin(
    `UPDATE webhook_lane SET owner = $2, lease_until = $3 WHERE endpoint_id = $1`,
    [endpoint.id, crypto.randomUUID(), new Date(clock.now() + 10_000).toISOString()],
  );
  await rename(merchant, 'Loja K');
  await until(async () => (await deliveriesOf(merchant, endpoint.id)).length === 1);
  expect(receiver.got).toEqual([]);
  clock.skip(10_001);
  await until(async () => receiver.got.length === 1);
});

test('a transfer that stays unknown for 15 minutes is reported once', async () => {
  const { merchant, receiver } = await listening({ events: ['transfer.unknown'] });
  await merchant.receive(5000);
  // No worker sends it: it stays as it was committed.
  const { body: transfer } = await merchant.transfer({ amountCents: 2000 });
  expect(transfer.status).toBe('unknown');
  await service.database.admin(`UPDATE intent SET created_at = $2 WHERE payment_id = $1`, [
    transfer.id,
    new Date(clock.now() - 14 * 60_000).toISOString(),
  ]);
  for (const looks of [1, 2, 3]) {
    clock.skip(looks === 1 ? 0 : 61_000);
    await Promise.all([
      createUnknownTransferAlerts(runtime(service.cellOf(merchant))).step(),
      createUnknownTransferAlerts(runtime(service.cellOf(merchant))).step(),
    ]);
    if (looks === 2) await until(async () => receiver.got.length === 1);
    // Time for a second one, which must not come.
    await service.runtime.clock.sleep(300);
    expect(receiver.got).toHaveLength(looks === 1 ? 0 : 1);
  }
  expect(receiver.got[0]?.body).toMatchObject({
    type: 'transfer.unknown',
    change: { from: 'unknown', to: 'unknown' },
    data: { id: transfer.id, status: 'unknown', operationId: merchant.operationId },
  });
});

test('events and deliveries are kept for 90 days', async () => {
  const { merchant, receiver, endpoint } = await listening();
  await rename(merchant, 'Loja N');
  await until(async () => receiver.got.length === 1);
  const { body } = receiver.got[0] as never as { body: { id: string } };
  await until(async () => (await onlyDelivery(merchant, endpoint.id)).status === 'delivered');
  expect((await merchant.call('GET', `/events/${body.id}`)).body).toEqual(body);
  clock.skip(91 * day);
  extra.push(...deliver());
  await until(async () => (await merchant.call('GET', `/events/${body.id}`)).status === 404);
  expect(await deliveriesOf(merchant, endpoint.id)).toEqual([]);
  expect((await merchant.call('GET', '/events')).body.events).toEqual([]);
});
