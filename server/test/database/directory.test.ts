import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { intentOf, leave } from '@vintem/testkit/settlement.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createFollowUp } from '../../src/flow/follow-up.ts';
import { directoryTables as directory } from '../../src/store/database/cells.ts';

/**
 * The directory is what all accounts share: the installation, accounts, keys, people, connections with their limits and breakers, and what
 * the providers deliver. Everything else belongs to one account. A payment's transaction writes the rows of its accounts alone: a row that
 * all accounts share would make every batch of every process wait for one lock.
 */
let service: Service;
let merchant: Merchant;
beforeAll(async () => {
  service = await openService({ worker: false });
  merchant = await service.newMerchant();
  await merchant.receive(100_000);
});
afterAll(() => service?.close());
beforeEach(async () => {
  await service.simulator.behave({});
  await service.database.admin('DELETE FROM breaker');
});

test('has no table that depends on an account’s', async () => {
  const keys = await service.database.admin<{ child: string; parent: string }>(
    `SELECT c.relname AS child, p.relname AS parent FROM pg_constraint k
       JOIN pg_class c ON c.oid = k.conrelid JOIN pg_class p ON p.oid = k.confrelid
      WHERE k.contype = 'f' AND c.relnamespace = 'vintem'::regnamespace`,
  );
  expect(keys.length).toBeGreaterThan(10);
  expect(
    keys.filter(({ child, parent }) => directory.includes(child) && !directory.includes(parent)),
  ).toEqual([]);
  // A table that is not in the directory is found by the account in front of its key.
  const others = await service.database.admin<{ name: string; first: string | null }>(
    `SELECT c.relname AS name, a.attname AS first FROM pg_class c
       LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
       LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
      WHERE c.relnamespace = 'vintem'::regnamespace AND c.relkind = 'r' AND c.relname <> ALL ($1)`,
    [directory],
  );
  expect(others.length).toBeGreaterThan(20);
  // Queues without a key of their own, which begin with the account, and the turns of a cell's publishers.
  const keyless = ['event_fresh', 'webhook_url_change', 'publisher'];
  expect(others.filter(({ name, first }) => first !== 'account_id' && !keyless.includes(name))).toEqual([]);
});

/** The transactions that wrote rows of payments, and what they wrote in the directory. */
async function writtenTogether(): Promise<{ payments: number; directory: string[] }> {
  const [row] = await service.database.admin<{ transactions: string[] }>(
    `SELECT array_agg(DISTINCT x) AS transactions FROM (
       SELECT xmin::text AS x FROM journal UNION SELECT xmin::text FROM payment UNION SELECT xmin::text FROM intent
       UNION SELECT xmin::text FROM refund UNION SELECT xmin::text FROM event
       UNION SELECT xmin::text FROM draft
     ) AS written`,
  );
  const { transactions } = row as { transactions: string[] };
  const found = await Promise.all(
    directory.map(async (table) => {
      const rows = await service.database.admin(
        `SELECT FROM ${table} WHERE xmin::text = ANY ($1) OR (xmax::text = ANY ($1) AND xmax <> '0'::xid)`,
        [transactions],
      );
      return rows.length > 0 ? [table] : [];
    }),
  );
  return { payments: transactions.length, directory: found.flat() };
}

test('is not written by the transaction of a charge, a payment in, a transfer or a refund', async () => {
  const { body: charge } = await merchant.charge({ amountCents: 5_000 });
  await service.simulator.control('POST', `/control/charges/${charge.id.replaceAll('-', '')}/pay`);
  await until(async () => (await merchant.call('GET', `/payments/${charge.id}`)).body.status === 'paid');
  expect((await merchant.transfer()).status).toBe(201);
  const refund = { requestKey: crypto.randomUUID(), amountCents: 1_000, description: '' };
  expect((await merchant.call('POST', `/payments/${charge.id}/refunds`, refund)).status).toBe(201);
  const written = await writtenTogether();
  expect(written.payments).toBeGreaterThan(4);
  expect(written.directory).toEqual([]);
});

const open = (call: string) =>
  service.database.admin(
    `INSERT INTO breaker (connection, call, open, probe_at, changed_at) VALUES ('simulator', $1, true, now() - interval '1 s', now())`,
    [call],
  );
const isOpen = async () =>
  (await service.database.admin<{ open: boolean }>('SELECT open FROM breaker'))[0]?.open;

test('is not written by a payment that probes an open breaker either, a caller’s or a worker’s', async () => {
  // The provider keeps the answer back: the probe's own row shows before the breaker closes.
  await service.simulator.behave({ payout: 'lose-request' });
  await open('payout');
  expect((await merchant.transfer()).status).toBe(201);
  expect(await isOpen()).toBe(true);
  expect((await writtenTogether()).directory).toEqual([]);

  await service.database.admin('DELETE FROM breaker');
  const id = await leave(service, merchant, 'lose-request');
  await open('payout');
  const provider = service.runtime.providers.get('simulator');
  if (!provider) throw new Error('no provider');
  const followUp = createFollowUp(service.runtime, provider);
  await followUp.stepSends();
  await followUp.idle();
  expect((await intentOf(service, id))?.attempt).toBe(1);
  expect(await isOpen()).toBe(true);
  expect((await writtenTogether()).directory).toEqual([]);
});
