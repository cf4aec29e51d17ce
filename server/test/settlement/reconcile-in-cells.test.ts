import { addCells } from '@vintem/testkit/cells.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { deliver, receivedItem } from '@vintem/testkit/settlement.ts';
import { verifiedCell } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { applyOutcome } from '../../src/flow/apply.ts';
import { postUnmatched } from '../../src/flow/unmatched.ts';
import type { Runtime } from '../../src/main/runtime.ts';
import { listIncidents, resolveIncident } from '../../src/operate/incidents/incident.ts';
import { reconcile } from '../../src/operate/reconcile.ts';
import type { Transaction } from '../../src/ports/sql.ts';
import type { Operator } from '../../src/store/operator.ts';
import { installationId } from '../../src/store/rows/audit.sql.ts';
import { createTill } from '../../src/store/till.ts';

/** The provider's lists are compared with the cell of each payment's account; money without an owner stands in the first cell. */

let service: Service;
let cells: readonly Runtime[];
let merchants: Merchant[];
beforeAll(async () => {
  service = await openService({ worker: false });
  cells = await addCells(service, 2);
  merchants = await Promise.all(cells.map((cell) => service.newMerchant(cell)));
});
afterAll(() => service?.close());

const operator = (): Operator => ({
  ...service.runtime,
  actor: 'tester',
  everyCell: cells.map(({ sql }) => sql),
});

const compare = (accountId: string | null = null) =>
  reconcile(service.runtime, operator(), { accountId, sinceMs: null });

const pay = (id: string) =>
  service.simulator.control('POST', `/control/charges/${id.replaceAll('-', '')}/pay`);

const faults = async () =>
  (await Promise.all(cells.map((cell) => verifiedCell(cell)))).flatMap(({ checks }) =>
    checks.filter(({ ok }) => !ok),
  );

const suspenseOf = async (cell: string) =>
  service.database.admin<{ suspense: string; reference: string }>(
    `SELECT suspense, reference FROM ${cell}.journal WHERE account_id = $1 ORDER BY seq`,
    [installationId],
  );

test('what each cell missed is posted there, once', async () => {
  await service.simulator.behave({ webhook: 'drop' });
  const charges = await Promise.all(merchants.map((merchant) => merchant.charge({ amountCents: 700 })));
  for (const { body } of charges) await pay(body.id);
  expect(await compare(merchants[1]?.ownerId)).toMatchObject({ compared: 1, missing: 1, unexpected: 0 });
  expect(await compare()).toMatchObject({ compared: 3, missing: 2, unexpected: 0, different: 0 });
  expect(await compare()).toMatchObject({ compared: 3, missing: 0, unexpected: 0, different: 0 });
  for (const merchant of merchants) expect(await merchant.balanceCents()).toBe(700);
  expect(await faults()).toEqual([]);
});

test('a Pix of a static code whose delivery was lost is booked in the cell of its merchant, once, and is absent from no list', async () => {
  await service.simulator.behave({ webhook: 'drop' });
  const merchant = merchants[1] as Merchant;
  const code = await merchant.call('POST', '/static-codes', {
    name: 'Balcão',
    requestKey: crypto.randomUUID(),
  });
  const { identifier } = code.body;
  const before = await merchant.balanceCents();
  await service.simulator.control('POST', '/control/static', { identifier, amountCents: 900 });
  for (let pass = 0; pass < 2; pass++) {
    expect(await compare()).toMatchObject({ unexpected: 0, different: 0, absent: 0, waitsFor: [] });
    expect(await merchant.balanceCents()).toBe(before + 900);
  }
  expect((await merchant.call('GET', `/static-codes/${code.body.id}`)).body.paidCount).toBe(1);
  expect(await faults()).toEqual([]);
});

test('money that matches no payment of any cell is in suspense of the first one, once', async () => {
  const txid = crypto.randomUUID().replaceAll('-', '');
  const provider = service.runtime.providers.get('simulator');
  await provider?.createCharge({
    txid,
    amountCents: 50,
    payerName: 'Ana',
    description: 'x',
    expirySeconds: 3_600,
  });
  await pay(txid);
  expect(await compare()).toMatchObject({ compared: 3, missing: 0, unexpected: 1 });
  await compare();
  expect((await suspenseOf('vintem')).map(({ suspense }) => suspense)).toEqual(['50']);
  for (const { cell } of cells.slice(1)) expect(await suspenseOf(cell)).toEqual([]);
  expect(await faults()).toEqual([]);
});

test('it is taken back only when a payment has posted the same Pix, whatever the payment’s cell', async () => {
  const [paid] = await service.database.admin<{ pix: string; at: Date }>(
    `SELECT end_to_end AS pix, created_at AS at FROM vintem_3.payment WHERE account_id = $1`,
    [merchants[2]?.ownerId],
  );
  const { pix, at } = paid as { pix: string; at: Date };
  const moved = { amountCents: 700, at: at.getTime() };
  const unmatched = { named: null, pix, moved, returns: [], sign: 1 as const, isOwn: false };
  await postUnmatched(service.runtime, 'simulator', unmatched, true);
  const open = (await listIncidents(operator(), null)).filter(({ kind }) => kind === 'unmatched');
  const decide = (amountCents: number) => {
    const incident = open.find((one) => one.amountCents === amountCents);
    return resolveIncident(operator(), incident?.id ?? '', { action: 'credit', reason: 'posted by itself' });
  };
  await expect(decide(50)).rejects.toThrow();
  expect(await decide(700)).toMatchObject({ state: 'resolved' });
  expect((await suspenseOf('vintem')).map(({ suspense }) => suspense)).toEqual(['50', '700', '-700']);
  expect(await faults()).toEqual([]);
});

test('incidents of all cells are listed together, the newest first', async () => {
  for (const [at, { charge }] of merchants.entries()) {
    const { body } = await charge({ amountCents: 700 });
    await deliver(service, [
      receivedItem(body.id, 700, `Efirst${at}`),
      receivedItem(body.id, 700, `Esecond${at}`),
    ]);
  }
  await until(async () => (await listIncidents(operator(), null)).length === 5);
  const all = await listIncidents(operator(), null);
  expect(new Set(all.map(({ accountId }) => accountId))).toEqual(
    new Set([installationId, ...merchants.map(({ ownerId }) => ownerId)]),
  );
  expect(all.map(({ openedAt }) => openedAt)).toEqual(
    all.map(({ openedAt }) => openedAt).sort((one, other) => other - one),
  );
  expect(await faults()).toEqual([]);
});

test('One Pix that is reported of charges of several cells at the same time is booked under one of them', async () => {
  await service.simulator.behave({ webhook: 'drop' });
  const balances = () => Promise.all(merchants.map((one) => one.balanceCents()));
  const before = await balances();
  const charges = await Promise.all(merchants.map((one) => one.charge({ amountCents: 1_000 })));
  const paidAt = service.runtime.clock.now();
  const report = (at: number, endToEnd: string, sql = (cells[at] as Runtime).sql) => {
    const cell = { ...(cells[at] as Runtime), sql };
    const { ownerId: accountId, operationId } = merchants[at] as Merchant;
    const received = [{ endToEnd, amountCents: 1_000, paidAt, txid: null, returns: [] }];
    const observation = { from: 'webhook' as const, id: crypto.randomUUID(), received, payouts: [] };
    const paymentId = charges[at]?.body.id as string;
    const observed = { accountId, paymentId, operationId, connection: 'simulator', kind: 'deposit' as const };
    // Each has a till of its own, as in a process of its own.
    const deps = { ...cell, till: createTill(cell) };
    return applyOutcome(deps, { ...observed, observation }, cell.clock.monotonicMs() + 60_000);
  };
  // The first one has written and not committed: the second one waits for it, and is not answered before.
  let [answered, wasEarly] = [false, false];
  const isWaiting = async (): Promise<boolean> => {
    const waiting = await service.database.admin(
      `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    return answered || waiting.length > 0;
  };
  let second: Promise<unknown> = Promise.resolve();
  const { sql } = service.runtime;
  const writes = async (): Promise<Transaction> => {
    const tx = await sql.begin();
    const commit = async (): Promise<void> => {
      second = report(1, 'Eshared').finally(() => {
        answered = true;
      });
      await until(isWaiting);
      wasEarly = answered;
      await tx.commit();
    };
    return { ...tx, commit };
  };
  await report(0, 'Eshared', { ...sql, begin: writes });
  await second;
  expect(wasEarly).toBe(false);
  await report(2, 'Eshared');
  const gained = async () => (await balances()).map((cents, at) => cents - (before[at] as number));
  const first = await gained();
  expect(first.toSorted()).toEqual([0, 0, 1_000]);
  // Nor later, in either direction.
  for (const at of [0, 1, 2]) await report(at, 'Eshared');
  expect(await gained()).toEqual(first);
  const winner = first.indexOf(1_000);
  for (const at of [0, 1, 2].filter((one) => one !== winner)) {
    const opened = (await listIncidents(operator(), (merchants[at] as Merchant).ownerId)).filter(
      ({ paymentId }) => paymentId === charges[at]?.body.id,
    );
    expect(opened).toMatchObject([
      {
        kind: 'report_mismatch',
        freezes: false,
        detail: { pix: 'Eshared', bookedUnder: charges[winner]?.body.id },
      },
    ]);
  }
});
