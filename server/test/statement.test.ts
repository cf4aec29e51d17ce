import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ListWindow, Provider } from '../src/provider/provider.ts';
import { pauseAfterRestore } from '../src/settlement/pause.ts';
import { reconcile } from '../src/settlement/reconcile.ts';
import { stepStatement } from '../src/settlement/statement.ts';
import { type Merchant, openService, type Service, until } from './support/service.ts';
import { violations } from './support/verified.ts';

// Without a worker nothing is followed up: what the statement tells, it tells alone.
let service: Service;
let merchant: Merchant;

beforeAll(async () => {
  service = await openService({ worker: false });
  merchant = await service.newMerchant();
  await turn();
});
afterAll(() => service.close());

const control = (path: string) => service.simulator.control('POST', `/control/${path}`);
const providerId = (id: string): string => id.replaceAll('-', '');
const queries = async (): Promise<number> =>
  (await service.simulator.control('GET', '/control/state')).body.queries;
const statusOf = async (id: string): Promise<string> =>
  (await merchant.call('GET', `/payments/${id}`)).body.status;

const simulator = (): Provider => {
  const provider = service.house.providers.get('simulator');
  if (!provider) throw new Error('no provider');
  return provider;
};

/** One turn now, whenever the last one was, with the whole of the shared limit. */
async function turn(provider = simulator(), house = service.house): Promise<void> {
  await house.sql.run({
    name: 'due',
    text: `UPDATE connection SET statement_due_at = NULL, query_bucket_at = 'epoch'`,
  });
  await stepStatement(house, provider);
}

async function expiredCharge(): Promise<string> {
  const { body } = await merchant.charge({ amountCents: 700 });
  await control(`charges/${providerId(body.id)}/expire`);
  // The first look at the provider is due five seconds after the charge was made.
  await until(async () => (await statusOf(body.id)) === 'expired');
  return body.id;
}

test('an expired charge whose payment nobody told of is paid', async () => {
  const id = await expiredCharge();
  await service.simulator.behave({ webhook: 'drop' });
  await control(`charges/${providerId(id)}/pay`);
  const before = await merchant.balanceCents();
  await turn();
  expect(await statusOf(id)).toBe('paid');
  expect(await merchant.balanceCents()).toBe(before + 700);
  expect(await violations(service)).toEqual([]);
});

test('what the books have costs one listing of each direction, however many lines there are', async () => {
  await service.simulator.behave({ webhook: 'send' });
  for (let n = 0; n < 5; n++) await merchant.receive(1_000);
  const before = await queries();
  await turn();
  expect((await queries()) - before).toBeLessThanOrEqual(2);
});

test('a completed transfer that came back unheard is posted as a return, once', async () => {
  await service.simulator.behave({ webhook: 'send' });
  await merchant.receive(10_000);
  const { body: sent } = await merchant.transfer();
  await until(async () => (await statusOf(sent.id)) === 'completed');
  const { body } = await merchant.call('GET', `/payments/${sent.id}`);
  await service.simulator.behave({ webhook: 'drop' });
  const before = await merchant.balanceCents();
  await control(`payouts/${providerId(body.id)}/return`);
  await turn();
  expect(await merchant.balanceCents()).toBe(before + body.netAmountCents);
  await turn();
  expect(await merchant.balanceCents()).toBe(before + body.netAmountCents);
  expect(await violations(service)).toEqual([]);
});

test('one process at a time reads, and not before it is due', async () => {
  const provider = simulator();
  await turn();
  const before = await queries();
  await Promise.all([stepStatement(service.house, provider), stepStatement(service.house, provider)]);
  expect(await queries()).toBe(before);
});

test('a busy statement is read in parts, in turns without a pause, and what was late by the next pass', async () => {
  const { sql, clock } = service.house;
  const id = await expiredCharge();
  await service.simulator.behave({ webhook: 'drop' });
  await control(`charges/${providerId(id)}/pay`);
  // The limit gives ten listings at one moment.
  const now = clock.now();
  const house = { ...service.house, clock: { ...clock, now: () => now } };
  const readFrom = now - 20 * 60_000;
  await sql.run(
    { name: 'place', text: 'UPDATE connection SET statement_read_to = $1, statement_pass_at = NULL' },
    [new Date(readFrom).toISOString()],
  );
  // A line a second, of which a listing has a hundred.
  const read: ListWindow[] = [];
  let listings = 0;
  const busy: Provider = {
    ...simulator(),
    statement: async (window) => {
      listings++;
      const parts = Math.ceil((1.25 * (window.toMs - window.fromMs)) / 100_000);
      if (parts > 1) return { outcome: 'listed', reports: [], complete: false, parts };
      read.push(window);
      return simulator().statement(window);
    },
  };
  const dueInMs = async (): Promise<number> => {
    const text = 'SELECT statement_due_at AS "dueAt" FROM connection';
    return ((await sql.run<{ dueAt: number }>({ name: 'due at', text }))[0]?.dueAt ?? 0) - now;
  };
  await turn(busy, house);
  expect([listings, await statusOf(id), await dueInMs()]).toEqual([10, 'expired', 0]);
  await turn(busy, house);
  expect([listings, await statusOf(id), await dueInMs()]).toEqual([17, 'paid', 10 * 60_000]);
  expect(read.map(({ fromMs }) => fromMs)).toEqual([readFrom, ...read.map(({ toMs }) => toMs).slice(0, -1)]);
  expect(read.at(-1)?.toMs).toBe(now);
  read.length = 0;
  await turn(busy, house);
  expect(read[0]?.fromMs).toBe(now - 10 * 60_000);
});

test('a provider that does not answer is read again from the same place', async () => {
  const id = await expiredCharge();
  await service.simulator.behave({ webhook: 'drop', query: 'error-500' });
  await control(`charges/${providerId(id)}/pay`);
  await turn();
  expect(await statusOf(id)).toBe('expired');
  await service.simulator.behave({ webhook: 'drop' });
  await turn();
  expect(await statusOf(id)).toBe('paid');
});

test('after a restore nothing is read until everything has been reconciled', async () => {
  await service.house.sql.tx((tx) => pauseAfterRestore(tx, service.house.clock.now()));
  const before = await queries();
  await turn();
  expect(await queries()).toBe(before);
  await reconcile(service.house, { ...service.house, actor: 'tester' }, { accountId: null, sinceMs: null });
  const reconciled = await queries();
  await turn();
  expect(await queries()).toBeGreaterThanOrEqual(reconciled);
});
