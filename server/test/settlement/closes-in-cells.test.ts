import { addCells } from '@vintem/testkit/cells.ts';
import { type Merchant, openService, type Service } from '@vintem/testkit/service.ts';
import { verifiedCell } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Runtime } from '../../src/main/runtime.ts';
import { endsAt } from '../../src/operate/closes/day.ts';
import { closeDays } from '../../src/operate/closes/step.ts';
import { dayOf } from '../../src/operate/statement/period.ts';

/** The daily close over three cells: each operation's in its cell, and one sum for the connection. */

const hourMs = 3_600_000;
const today = dayOf(Date.now());
const yesterday = dayOf(Date.now() - 24 * hourMs);
const tomorrow = dayOf(Date.now() + 24 * hourMs);

let service: Service;
let cells: readonly Runtime[];
let merchants: Merchant[];
beforeAll(async () => {
  service = await openService({ worker: false });
});
afterAll(() => service?.close());

const closesOfConnection = () =>
  service.database.admin<Record<string, string | null>>(
    `SELECT c.*, (SELECT count(*) FROM connection_close_cell s WHERE s.connection = c.connection AND s.day = c.day)::int AS shares
       FROM connection_close c ORDER BY day`,
  );

const faults = async () => {
  const found = await Promise.all(
    cells.map(async (cell) =>
      (await verifiedCell(cell)).checks.filter(({ ok }) => !ok).map(({ number }) => `${cell.cell} ${number}`),
    ),
  );
  return found.flat();
};

test('a day before there were cells is the first one’s alone', async () => {
  const first = await service.newMerchant();
  await first.receive(1_000);
  await closeDays(service.runtime, null, endsAt(yesterday) + hourMs);
  expect(await closesOfConnection()).toMatchObject([
    { closing_cents: '0', since_cents: '1000', provider_cents: '1000', difference_cents: '0', shares: 0 },
  ]);
  cells = await addCells(service, 2);
  expect(await faults()).toEqual([]);
});

test('the connection’s day sums all cells and agrees with the provider to the cent', async () => {
  merchants = await Promise.all(cells.map((cell) => service.newMerchant(cell)));
  for (const [at, merchant] of merchants.entries()) await merchant.receive(2_000 * (at + 1));
  await closeDays(service.runtime, yesterday, endsAt(today) + hourMs);
  expect(await closesOfConnection()).toMatchObject([
    { closing_cents: '0' },
    { in_cents: '13000', closing_cents: '13000', provider_cents: '13000', difference_cents: '0', shares: 3 },
  ]);
  for (const [at, { cell }] of cells.entries()) {
    const rows = await service.database.admin(
      `SELECT d.chain_id, d.in_cents, s.in_cents AS share FROM ${cell}.day_close d, connection_close_cell s
        WHERE d.account_id = $1 AND s.cell = $2`,
      [merchants[at]?.ownerId, cell],
    );
    const cents = 2_000 * (at + 1);
    const share = String(at === 0 ? 1_000 + cents : cents);
    expect(rows).toEqual([{ chain_id: merchants[at]?.operationId, in_cents: String(cents), share }]);
  }
  expect(await faults()).toEqual([]);
});

test('is written once by processes that close at the same time', async () => {
  await Promise.all([1, 2, 3].map(() => closeDays(service.runtime, today, endsAt(tomorrow) + hourMs)));
  expect((await closesOfConnection()).map(({ shares }) => shares)).toEqual([0, 3, 3]);
  expect(await faults()).toEqual([]);
});

test('verify finds a share that a cell’s journals do not prove', async () => {
  // Their sum is that of the connection still.
  await service.database.admin(
    `UPDATE connection_close_cell SET in_cents = in_cents + CASE cell WHEN 'vintem_2' THEN 1 ELSE -1 END
      WHERE cell <> 'vintem' AND in_cents > 0`,
  );
  expect(await faults()).toEqual(['vintem_2 58', 'vintem_3 58']);
});
