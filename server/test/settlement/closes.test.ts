import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { statusOf } from '@vintem/testkit/settlement.ts';
import { shiftedClock } from '@vintem/testkit/shifted-clock.ts';
import { posting } from '@vintem/testkit/till.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Letter, Mail } from '../../src/ground/mail.ts';
import { createAlerts } from '../../src/operate/accounts/alerts.ts';
import { buildClose } from '../../src/operate/closes/close-chain.ts';
import { closeNow } from '../../src/operate/closes/close-now.ts';
import { type ChainToClose, findChainsToClose } from '../../src/operate/closes/closes.sql.ts';
import { dayAfter, endsAt, startsAt } from '../../src/operate/closes/day.ts';
import { readDay } from '../../src/operate/closes/read-day.ts';
import { closeDays, createCloses, lastDayOver } from '../../src/operate/closes/step.ts';
import { dayOf } from '../../src/operate/statement/period.ts';
import { createTill } from '../../src/store/till.ts';

/** The daily close: each day of São Paulo, once, in order, beside the provider's account. */

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const startedAt = Date.now();
/** `inDays(0)` is the day on which this file began: midnight may pass while it runs. */
const inDays = (days: number): string => dayOf(startedAt + days * dayMs);
/** An instant at which a day is over for good. */
const overAt = (day: string): number => endsAt(day) + hourMs;

/** The shared state of the tests of one service; they close one day after the other. */
function kit() {
  let service: Service;
  beforeAll(async () => {
    service = await openService({ worker: false });
  });
  afterAll(() => service?.close());
  return {
    get service() {
      return service;
    },
    /** Everything up to a day, as the worker does it when the day is over. */
    close: async (day: string, closedDay?: string | null) => {
      const [row] = await service.database.admin<{ day: string | null }>(
        `SELECT to_char(closed_day, 'YYYY-MM-DD') AS day FROM installation`,
      );
      return closeDays(
        service.runtime,
        closedDay === undefined ? (row?.day ?? null) : closedDay,
        overAt(day),
      );
    },
    /** Money that is posted on a later day. */
    creditIn: async (days: number, { ownerId, operationId }: Merchant, amountCents: number) => {
      const clock = shiftedClock();
      clock.skip(startsAt(inDays(days)) + dayMs / 2 - Date.now());
      const movement = { kind: 'credit', amountCents, feeCents: 0 } as const;
      const chain = { accountId: ownerId, chainId: operationId };
      await createTill({ ...service.cellOf({ ownerId }), clock }).submit(posting(chain, movement));
    },
    closesOf: async (operationId: string): Promise<string[]> => {
      const all = await service.database.admin<Record<string, string>>(
        `SELECT *, to_char(day, 'YYYY-MM-DD') AS day FROM day_close c WHERE chain_id = $1 ORDER BY c.day`,
        [operationId],
      );
      return all.map(
        (row) =>
          `${row.day} ${row.opening_cents} +${row.in_cents} -${row.out_cents} fee ${row.fee_cents} = ${row.closing_cents}`,
      );
    },
    connectionCloses: () =>
      service.database.admin<Record<string, string | null>>(
        `SELECT *, to_char(day, 'YYYY-MM-DD') AS day FROM connection_close c ORDER BY c.day`,
      ),
  };
}

describe('the daily close of an operation', () => {
  const shared = kit();
  let merchant: Merchant;

  test('leads from its opening to its closing, and agrees with the provider to the cent', async () => {
    const { service } = shared;
    merchant = await service.newMerchant();
    // Tomorrow is closed while nothing has moved: all that this test moves is in the day after it, also when midnight passes meanwhile.
    await shared.close(inDays(1));
    await merchant.receive(10_000);
    const { body } = await merchant.transfer({ amountCents: 2_000 });
    await until(async () => (await statusOf(service, body.id)) === 'completed');
    await shared.close(inDays(2));
    expect(await shared.closesOf(merchant.operationId)).toEqual([
      `${inDays(1)} 0 +0 -0 fee 0 = 0`,
      `${inDays(2)} 0 +10000 -1975 fee 25 = 8000`,
    ]);
    expect((await shared.connectionCloses()).at(-1)).toMatchObject({
      connection: 'simulator',
      opening_cents: '0',
      in_cents: '10000',
      out_cents: '1975',
      closing_cents: '8025',
      provider_cents: '8025',
      difference_cents: '0',
      incident_id: null,
    });
    expect(await violationsOfBooks(service)).toEqual([]);
  });

  test('carries the hash of the last journal', async () => {
    const { service } = shared;
    const [head] = await service.database.admin<{ same: boolean }>(
      `SELECT c.head = b.head AS same FROM day_close c JOIN balance b ON b.account_id = c.account_id AND b.operation_id = c.chain_id
        WHERE c.chain_id = $1 ORDER BY c.day DESC LIMIT 1`,
      [merchant.operationId],
    );
    expect(head?.same).toBe(true);
  });

  test('never changes: what is posted late is in the next day', async () => {
    const { service } = shared;
    await merchant.receive(700);
    await shared.creditIn(3, merchant, 50);
    await shared.close(inDays(3));
    expect(await shared.closesOf(merchant.operationId)).toEqual([
      `${inDays(1)} 0 +0 -0 fee 0 = 0`,
      `${inDays(2)} 0 +10000 -1975 fee 25 = 8000`,
      `${inDays(3)} 8000 +750 -0 fee 0 = 8750`,
    ]);
    const change = { name: 'close_change', text: 'UPDATE day_close SET in_cents = in_cents + 1' };
    await expect(service.runtime.sql.run(change)).rejects.toThrow(/permission denied/);
  });

  test('comes after the one before, also from a process that was held up', async () => {
    const { service } = shared;
    await shared.close(inDays(4));
    const before = await shared.closesOf(merchant.operationId);
    await shared.close(inDays(2), null);
    await shared.close(inDays(3), null);
    expect(await shared.closesOf(merchant.operationId)).toEqual(before);
    expect(before.map((line) => line.slice(0, 10))).toEqual([1, 2, 3, 4].map(inDays));
    const behind = service.database.admin(
      `INSERT INTO day_close SELECT account_id, chain_id, day - 9, NULL, opening_seq, closing_seq, head, opening_cents, in_cents, out_cents,
        fee_cents, refund_cents, hold_cents, closing_cents, available, reserved, held, receivable, closed_at, command FROM day_close
        WHERE chain_id = $1 LIMIT 1`,
      [merchant.operationId],
    );
    await expect(behind).rejects.toThrow(/day_close_next/);
  });

  test('is not written by a process that was held up with the first day of all until another closed a later one', async () => {
    const { service } = shared;
    const { ownerId, operationId, receive } = await service.newMerchant();
    const runtime = service.cellOf({ ownerId });
    await receive(1_000);
    const before = { accountId: ownerId, chainId: '00000000-0000-0000-0000-000000000000' };
    const chains = await findChainsToClose(runtime.sql, before, 10);
    const chain = chains.find(({ chainId }) => chainId === operationId) as ChainToClose;
    expect(chain.lastDay).toBeNull();
    const day = inDays(4);
    const read = await readDay(runtime.sql, chain, day);
    await shared.close(inDays(5));
    const token = crypto.randomUUID();
    const deadlineMs = runtime.clock.monotonicMs() + 60_000;
    const held = buildClose({ chain, day, read, subscribed: new Set(), token, deadlineMs });
    expect(await runtime.till.submit(held)).toBe(false);
    expect(await shared.closesOf(operationId)).toEqual([`${inDays(5)} 1000 +0 -0 fee 0 = 1000`]);
  });

  test('is written once by processes that close at the same time', async () => {
    await Promise.all([1, 2, 3].map(() => shared.close(inDays(7))));
    expect((await shared.closesOf(merchant.operationId)).map((line) => line.slice(0, 10))).toEqual(
      [1, 2, 3, 4, 5, 6, 7].map(inDays),
    );
  });

  test('is an event for merchants that subscribe to it', async () => {
    const { service } = shared;
    const subscriber = await service.newMerchant();
    const { status } = await subscriber.call('POST', '/webhooks', {
      url: 'https://loja.example/hooks',
      events: ['close.completed'],
      requestKey: crypto.randomUUID(),
    });
    expect(status).toBe(201);
    await shared.close(inDays(8));
    expect(await shared.closesOf(subscriber.operationId)).toEqual([`${inDays(8)} 0 +0 -0 fee 0 = 0`]);
    const events = await service.database.admin<{ account_id: string; body: string }>(
      `SELECT account_id, body FROM event WHERE type = 'close.completed'`,
    );
    expect(events.map((one) => one.account_id)).toEqual([subscriber.ownerId]);
    expect(JSON.parse(events[0]?.body ?? '{}').data).toMatchObject({
      operationId: subscriber.operationId,
      day: inDays(8),
      closingCents: 0,
    });
  });
});

describe('a difference', () => {
  const shared = kit();

  test('of one cent is found and named, once', async () => {
    const { service } = shared;
    const merchant = await service.newMerchant();
    await merchant.receive(10_000);
    await plantOneCent(service);
    await shared.close(inDays(0));
    await shared.close(inDays(1));
    const closes = await shared.connectionCloses();
    expect(closes.map((row) => row.difference_cents)).toEqual(['1', '1']);
    const incidents = await service.database.admin<{ id: string; detail: { candidates: object[] } }>(
      'SELECT * FROM incident',
    );
    expect(incidents).toMatchObject([
      { id: closes[0]?.incident_id, kind: 'close_difference', amount_cents: '1', state: 'open' },
    ]);
    expect(incidents[0]?.detail.candidates[0]).toMatchObject({
      what: 'provider_line',
      amountCents: 1,
    });
    expect(await violationsOfBooks(service)).toEqual([]);
    // The operator reads of the difference and its day, once.
    const letters: Letter[] = [];
    const mail: Mail = { send: async (letter) => void letters.push(letter) };
    const clock = shiftedClock();
    clock.skip(hourMs);
    const alerts = createAlerts(
      { sql: service.database.sql, clock, mail, log: service.runtime.log },
      'https://pix.example',
    );
    await alerts.step();
    clock.skip(hourMs);
    await alerts.step();
    expect(letters).toMatchObject([{ to: null, en: { subject: '1 incident to decide' } }]);
    const named = `simulator, ${inDays(0)}: `;
    expect(letters[0]?.en.text).toContain(`${named}the provider has R$ 0,01 more than the ledger`);
    expect(letters[0]?.['pt-BR'].text).toContain(`${named}o provedor tem R$ 0,01 a mais que os lançamentos`);
    expect(letters[0]?.en.text).toContain(incidents[0]?.id);
  });
});

describe('the first close of a connection', () => {
  const shared = kit();

  test('that waited over a midnight leaves each day a close of its own', async () => {
    const { service } = shared;
    const merchant = await service.newMerchant();
    await shared.creditIn(1, merchant, 300);
    // Nothing can be compared: the process ends.
    const ending = { ...service.runtime, draining: AbortSignal.abort() };
    const { waits } = await closeDays(ending, null, overAt(inDays(1)));
    expect([waits, await shared.connectionCloses()]).toEqual([true, []]);
    await shared.creditIn(2, merchant, 500);
    await closeDays(ending, inDays(1), endsAt(inDays(2)) + 13 * hourMs);
    expect((await shared.connectionCloses()).map((row) => [row.day, row.in_cents])).toEqual([
      [inDays(1), '300'],
      [inDays(2), '500'],
    ]);
    expect(await violationsOfBooks(service)).toEqual([]);
  });
});

describe('a day is closed', () => {
  const shared = kit();

  test('only after a restore was compared', async () => {
    const { service } = shared;
    await service.newMerchant();
    await service.database.admin('UPDATE installation SET restored_at = now()');
    await createCloses(service.runtime)();
    expect(await shared.connectionCloses()).toEqual([]);
    await expect(closeNow(service.runtime, null)).rejects.toThrow(/vintem reconcile/);
    await service.database.admin('UPDATE installation SET restored_at = NULL');
  });

  test('only when the database says that it is over, whatever the clock of the process says', async () => {
    const { service } = shared;
    const clock = shiftedClock();
    clock.skip(10 * dayMs);
    const ahead = { ...service.runtime, clock };
    const before = lastDayOver(Date.now());
    await createCloses(ahead)();
    const [row] = await service.database.admin<{ day: string }>(
      `SELECT to_char(closed_day, 'YYYY-MM-DD') AS day FROM installation`,
    );
    // A day may end while it is closed.
    expect([before, lastDayOver(Date.now())]).toContain(row?.day);
    await expect(closeNow(ahead, dayAfter(inDays(0)))).rejects.toThrow(/is not over/);
  });
});

/** The company's own charge, of which vintem learns nothing. */
async function plantOneCent(service: Service): Promise<void> {
  await service.simulator.behave({ webhook: 'drop' });
  const txid = crypto.randomUUID().replaceAll('-', '');
  const provider = service.runtime.providers.get('simulator');
  const instruction = { txid, amountCents: 1, payerName: 'Ana', description: 'x', expirySeconds: 3_600 };
  await provider?.createCharge(instruction);
  const { status } = await service.simulator.control('POST', `/control/charges/${txid}/pay`);
  expect(status).toBe(200);
}
