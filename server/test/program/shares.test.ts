import { addCells } from '@vintem/testkit/cells.ts';
import { openService, type Service, until } from '@vintem/testkit/service.ts';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Runtime } from '../../src/main/runtime.ts';
import { joinWorkers, shareOf } from '../../src/main/shares.ts';
import { runWorker } from '../../src/main/worker.ts';

/** Workers share the cells among them: a matter of load alone, since two in one cell do no harm. */

let service: Service;
let cells: readonly Runtime[];
beforeAll(async () => {
  service = await openService({ worker: false, env: { TRANSFER_WAIT_MS: '0' } });
  cells = await addCells(service, 2);
});
afterAll(() => service?.close());

const join = () => {
  const ending = new AbortController();
  const clockOffset = { isTolerable: () => true, measured: Promise.resolve() };
  return { shares: joinWorkers(service.runtime, clockOffset, ending.signal), ending, clockOffset };
};
const cellsOf = ({ shares }: ReturnType<typeof join>) =>
  cells.map(({ cell }) => cell).filter((cell) => shares.has(cell));

test('every cell has a worker, and only one where there are no more workers than cells', () => {
  const number = fc.integer({ min: 1, max: 40 });
  fc.assert(
    fc.property(number, number, (workerCount, cellCount) => {
      const workers = Array.from({ length: workerCount }, (_, at) => `worker ${at}`);
      const names = Array.from({ length: cellCount }, (_, at) => `cell ${at}`);
      const shares = workers.map((id) => shareOf(id, workers, names));
      const sizes = shares.map(({ length }) => length);
      expect(new Set(shares.flat()).size).toBe(cellCount);
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThan(2);
      expect(Math.min(...sizes)).toBeGreaterThan(0);
      if (workerCount <= cellCount) expect(shares.flat()).toHaveLength(cellCount);
    }),
  );
  expect(shareOf('one that is not alive', ['another'], ['a cell'])).toEqual([]);
});

test('one that died and one whose clock is wrong keep no cell from a worker that begins', async () => {
  await service.database.admin('DELETE FROM worker');
  await service.database.admin(`INSERT INTO worker (id, alive_until)
    VALUES ('00000000-0000-4000-8000-000000000000', clock_timestamp() - interval '1 millisecond')`);
  const wrong = join();
  wrong.clockOffset.isTolerable = () => false;
  await wrong.shares.read;
  const right = join();
  await right.shares.read;
  expect(cellsOf(wrong)).toEqual([]);
  expect(cellsOf(right)).toEqual(['vintem', 'vintem_2', 'vintem_3']);
  for (const { ending, shares } of [wrong, right]) {
    ending.abort();
    await shares.leave();
  }
});

test('the cells of a worker that leaves, or of one that stands still, pass to the others', async () => {
  const first = join();
  await first.shares.read;
  expect(cellsOf(first)).toEqual(['vintem', 'vintem_2', 'vintem_3']);
  const second = join();
  await second.shares.read;
  await until(async () => cellsOf(first).length + cellsOf(second).length === 3);
  expect(cellsOf(first).length).toBeGreaterThan(0);
  expect(cellsOf(second).length).toBeGreaterThan(0);

  second.ending.abort();
  await second.shares.leave();
  await until(async () => cellsOf(first).length === 3);

  // It renews no more, as a process that is killed or paused.
  first.ending.abort();
  const third = join();
  await third.shares.read;
  expect(cellsOf(third).length).toBeLessThan(3);
  await until(async () => cellsOf(third).length === 3);
  expect(cellsOf(first)).toEqual([]);
  third.ending.abort();
  await third.shares.leave();
});

test('the cells of a worker whose clock is wrong pass to the others, and come back with its clock', async () => {
  const wrong = join();
  const right = join();
  await Promise.all([wrong.shares.read, right.shares.read]);
  await until(async () => cellsOf(right).length < 3);
  wrong.clockOffset.isTolerable = () => false;
  await until(async () => cellsOf(right).length === 3);
  await until(async () => cellsOf(wrong).length === 0);
  wrong.clockOffset.isTolerable = () => true;
  await until(async () => cellsOf(wrong).length > 0 && cellsOf(right).length < 3);
  for (const { ending, shares } of [wrong, right]) {
    ending.abort();
    await shares.leave();
  }
});

test('a worker sends nothing in a cell of another one, and does so once that one has died', async () => {
  await service.database.admin('DELETE FROM worker');
  const another = join();
  await another.shares.read;
  const worker = runWorker(service.runtime, 'http://127.0.0.1:3000');
  // Accepted payments are left to the loops, as by an `api` in a process of its own.
  for (const { senders } of cells) senders.clear();
  const inShares = () => cells.filter(({ cell }) => worker.shares.has(cell)).length + cellsOf(another).length;
  await until(async () => cellsOf(another).length < 3 && inShares() === 3);
  const theirs = cells.find(({ cell }) => !worker.shares.has(cell));
  const own = cells.find(({ cell }) => worker.shares.has(cell));
  const [left, taken] = [await service.newMerchant(theirs), await service.newMerchant(own)];
  await Promise.all([left.receive(2_000), taken.receive(2_000)]);
  const isCompleted = async (merchant: typeof left, id: string) =>
    (await merchant.call('GET', `/payments/${id}`)).body.status === 'completed';
  const waits = (await left.transfer()).body.id;
  const sent = (await taken.transfer()).body.id;
  await until(() => isCompleted(taken, sent));
  expect(await isCompleted(left, waits)).toBe(false);
  another.ending.abort();
  await until(() => isCompleted(left, waits));
  expect((await service.simulator.payout(waits))?.timesReceived).toBe(1);
  await worker.stop();
});

test('several workers in one cell send each payment once', async () => {
  const [home, second] = cells as [Runtime, Runtime];
  await service.database.admin('DELETE FROM worker');
  const workers = [1, 2, 3, 4].map(() => runWorker(service.runtime, 'http://127.0.0.1:3000'));
  const inCells = () => workers.map(({ shares }) => cells.filter(({ cell }) => shares.has(cell)).length);
  await until(async () => inCells().join() === '1,1,1,1');
  for (const cell of [home, second]) {
    const merchant = await service.newMerchant(cell);
    await merchant.receive(20_000);
    const made = await Promise.all(Array.from({ length: 10 }, () => merchant.transfer()));
    for (const { body } of made)
      await until(
        async () => (await merchant.call('GET', `/payments/${body.id}`)).body.status === 'completed',
      );
    const sent = await Promise.all(made.map(({ body }) => service.simulator.payout(body.id)));
    expect(sent.map((one) => one?.timesReceived)).toEqual(made.map(() => 1));
    expect(await merchant.balanceCents()).toBe(10_000);
  }
  await Promise.all(workers.map((worker) => worker.stop()));
  expect(await service.database.admin('SELECT FROM worker')).toEqual([]);
});
