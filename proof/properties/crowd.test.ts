import { type Run, recordedBy, rowsVisited } from '@vintem/testkit/rows-visited.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** A printed code that ten thousand payers pay, as at a concert: each Pix is one payment of one chain, and no statement looks through those before it. */

const count = 10_000;
/** While so many are paid, statements are looked at: none reads more than four rows for each of them. */
const last = 500;

let service: Service;
let merchant: Merchant;

beforeAll(async () => {
  service = await openService();
  merchant = await service.newMerchant();
});
afterAll(() => service?.close());

/** Of each statement that is recorded the last run with the most values, which reads the most. */
const recorded = new Map<string, Run>();

function record(): void {
  const { sql } = service.runtime;
  const valuesOf = ({ values }: Run): number =>
    Math.max(0, ...values.map((value) => (Array.isArray(value) ? value.length : 1)));
  Object.assign(
    sql,
    recordedBy({ ...sql }, (run) => {
      const known = recorded.get(run.statement.name);
      if (!known || valuesOf(run) >= valuesOf(known)) recorded.set(run.statement.name, run);
    }),
  );
}

/** Rows that each of them reads now, where it is run once more. An INSERT reads none, and its rows are there already. */
async function readingMost(most: number): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const [name, run] of recorded) {
    if (!/^(?:SELECT|WITH|UPDATE|DELETE)\b/.test(run.statement.text)) continue;
    const rows = await rowsVisited(service.database.url, run);
    if (rows > most) found[name] = rows;
  }
  return found;
}

test('A static code that is paid 10,000 times has 10,000 payments on one chain, and no statement reads in proportion to them', async () => {
  const { body: code } = await merchant.call('POST', '/static-codes', {
    ...{ name: 'Palco', amountCents: 1_250, requestKey: crypto.randomUUID() },
  });
  const shown = async () => (await merchant.call('GET', `/static-codes/${code.id}`)).body;
  let paid = 0;
  const pay = async (more: number): Promise<void> => {
    for (const end = paid + more; paid < end; paid += 50)
      await Promise.all(
        Array.from({ length: 50 }, () =>
          service.simulator.control('POST', '/control/static', {
            identifier: code.identifier,
            amountCents: 1_250,
          }),
        ),
      );
    await until(async () => (await shown()).paidCount === paid, 300_000);
  };
  await pay(count - last);
  record();
  await pay(last);
  // Before anything else is asked: a verification reads everything.
  expect(recorded.size).toBeGreaterThan(20);
  expect(await readingMost(4 * last)).toEqual({});
  expect(await shown()).toMatchObject({ paidCount: count, paidCents: count * 1_250 });
  const [books] = await service.database.admin<Record<string, number>>(
    `SELECT count(DISTINCT p.id)::int AS payments, count(DISTINCT p.end_to_end)::int AS pix, count(*)::int AS credits,
      count(DISTINCT j.chain_id)::int AS chains
      FROM payment p JOIN journal j ON j.subject = p.id WHERE p.static_code_id = $1`,
    [code.id],
  );
  expect(books).toEqual({ payments: count, pix: count, credits: count, chains: 1 });
  expect(await merchant.balanceCents()).toBe(count * 1_250);
  expect(await violationsOfBooks(service, { accountId: merchant.ownerId })).toEqual([]);
});
