import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { fillQueryLimit } from '@vintem/testkit/settlement.ts';
import { violations } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { stepLateStatement, stepStatement } from '../../src/jobs/statement.ts';
import { setAside, stepStatementLines } from '../../src/jobs/statement-lines.ts';
import { allowedActions } from '../../src/operate/incidents/allowed.ts';
import { listIncidents, resolveIncident } from '../../src/operate/incidents/incident.ts';
import { storyOf } from '../../src/operate/look.ts';
import { pauseAfterRestore } from '../../src/operate/pause.ts';
import { reconcile } from '../../src/operate/reconcile.ts';
import { listUnread } from '../../src/operate/unread/unread-items.ts';
import type { Provider } from '../../src/provider/provider.ts';
import type { Operator } from '../../src/store/operator.ts';

// Without a worker nothing is followed up: only what a test reads reports.
let service: Service;
let shop: Merchant;
let charge: string;
let transfer: string;
let lessReturn: number;

beforeAll(async () => {
  service = await openService({ worker: false });
  await service.newMerchant();
  await turn();
});
afterAll(() => service?.close());

/** A paid charge, a completed transfer and its return, all of them in the books. */
beforeEach(async () => {
  await service.simulator.behave({ webhook: 'send' });
  shop = await service.newMerchant();
  charge = await shop.paidCharge({ amountCents: 10_000 });
  const { body } = await shop.transfer({ amountCents: 2_000 });
  transfer = body.id;
  await until(async () => (await statusOf(transfer)) === 'completed');
  const before = await shop.balanceCents();
  await service.simulator.control('POST', `/control/payouts/${providerId(transfer)}/return`);
  await until(async () => (await shop.balanceCents()) > before);
  lessReturn = before;
});

const providerId = (id: string): string => id.replaceAll('-', '');
const statusOf = async (id: string): Promise<string> =>
  (await shop.call('GET', `/payments/${id}`)).body.status;

const simulator = (): Provider => {
  const provider = service.runtime.providers.get('simulator');
  if (!provider) throw new Error('no provider');
  return provider;
};

const operator = (): Operator => ({
  ...service.runtime,
  everyCell: service.runtime.cells.all().map(({ sql }) => sql),
  actor: 'tester',
});

async function turn(): Promise<void> {
  await service.runtime.sql.run({
    name: 'due',
    text: `UPDATE job SET due_at = 'epoch' WHERE what = 'statement'`,
  });
  await fillQueryLimit(service);
  await stepStatement(service.runtime, simulator());
}

async function lateTurn(): Promise<void> {
  await service.runtime.sql.run({
    name: 'late',
    text: `INSERT INTO job VALUES ('late_statement', 'simulator', 'epoch') ON CONFLICT (what, subject) DO UPDATE SET due_at = 'epoch'`,
  });
  await fillQueryLimit(service);
  await stepLateStatement(service.runtime, simulator());
}

const compare = async (): Promise<void> => {
  await fillQueryLimit(service);
  expect(
    (await reconcile(service.runtime, operator(), { accountId: shop.ownerId, sinceMs: null })).different,
  ).toBe(2);
};

const found = async () =>
  (await listIncidents(service.runtime, shop.ownerId)).filter(({ kind }) => kind === 'movement_mismatch');

const movements = async () =>
  (await found())
    .map(({ detail, amountCents, state, freezes }) => {
      const { movement, reportedCents, bookedCents } = detail as Record<string, unknown>;
      expect(reportedCents).toBe(amountCents);
      return [movement, reportedCents, bookedCents, state, freezes].join(' ');
    })
    .toSorted();

const all = ['received 10001 10000 open true', 'returned 1976 1975 open true', 'sent 1976 1975 open true'];

describe('A movement that the books have with another amount is an incident, once, and moves nothing', () => {
  test.each([
    ['the reading of the statement', turn],
    ['the second reading of the lists', lateTurn],
    ['a comparison', compare],
  ] as const)('in %s', async (_name, look) => {
    const balance = await shop.balanceCents();
    await service.simulator.behave({ lists: 'other-amount' });
    await look();
    expect(await movements()).toEqual(all);
    await look();
    await turn();
    expect(await movements()).toEqual(all);
    expect(await shop.balanceCents()).toBe(balance);
    await service.simulator.behave({});
    expect(await violations(service)).toEqual([]);
  });

  test('in a line that was set aside, whatever list it stood in', async () => {
    const { endToEnd } = (await shop.call('GET', `/payments/${charge}`)).body;
    const line = {
      ...{ kind: 'received' as const, id: endToEnd, rtrId: null, endToEnd, at: Date.now() },
      ...{ amountCents: 9_000, providerId: providerId(charge) },
    };
    await setAside(service.runtime, 'simulator', line, 'the provider did not answer');
    await service.database.admin(`UPDATE statement_line SET next_at = 'epoch'`);
    await fillQueryLimit(service);
    await stepStatementLines(service.runtime, simulator());
    expect(await movements()).toEqual(['received 9000 10000 open true']);
  });

  test('in an item that could not be read before', async () => {
    await service.simulator.behave({ lists: 'odd-items' });
    await turn();
    expect((await listUnread(service.runtime)).length).toBeGreaterThan(0);
    expect(await movements()).toEqual([]);
    await service.simulator.behave({ lists: 'other-amount' });
    await turn();
    expect(await listUnread(service.runtime)).toEqual([]);
    expect(await movements()).toEqual(all);
    await service.simulator.behave({});
  });

  test('in a lost time, whose pause such a contradiction does not hide', async () => {
    const { runtime } = service;
    await runtime.sql.tx((tx) => pauseAfterRestore(tx, runtime.clock.now()));
    await service.simulator.behave({ lists: 'other-amount' });
    await fillQueryLimit(service);
    const compared = await reconcile(runtime, operator(), { accountId: null, sinceMs: null });
    expect(compared.different).toBeGreaterThanOrEqual(2);
    expect(await movements()).toEqual(all);
    // The pause is over, and this operation stays frozen.
    expect((await shop.transfer()).body.code).toBe('withdrawals_blocked');
    await service.simulator.behave({});
  });
});

test('Money in suspense that a list names with another amount is one more incident, once, and stays as it is', async () => {
  await service.simulator.behave({ webhook: 'drop' });
  const { body } = await shop.charge({ amountCents: 330 });
  await service.simulator.control('POST', `/control/charges/${providerId(body.id)}/pay`);
  // As if the copy were older than the charge.
  await service.database.admin('DELETE FROM intent WHERE payment_id = $1', [body.id]);
  await service.database.admin('DELETE FROM payment WHERE id = $1', [body.id]);
  const look = async () => {
    await fillQueryLimit(service);
    await reconcile(service.runtime, operator(), { accountId: null, sinceMs: null });
    const ofInstallation = await listIncidents(service.runtime, null);
    return ofInstallation.flatMap(({ kind, amountCents, detail }) =>
      amountCents === 330 || (detail as { bookedCents?: number }).bookedCents === 330
        ? [[kind, amountCents]]
        : [],
    );
  };
  expect(await look()).toEqual([['unmatched', 330]]);
  await service.simulator.behave({ webhook: 'drop', lists: 'other-amount' });
  for (let n = 0; n < 2; n++)
    expect((await look()).toSorted()).toEqual([
      ['movement_mismatch', 331],
      ['unmatched', 330],
    ]);
  await service.simulator.behave({});
  expect(await violations(service)).toEqual([]);
});

test('A person sees both amounts in the story, and alone ends the freeze, which posts nothing', async () => {
  await service.simulator.behave({ lists: 'other-amount' });
  await turn();
  await service.simulator.behave({});
  expect((await shop.transfer()).body.code).toBe('withdrawals_blocked');
  const { incidents } = await storyOf(service.runtime, charge);
  expect(incidents).toMatchObject([{ kind: 'movement_mismatch', amountCents: 10_001, bookedCents: 10_000 }]);
  const balance = await shop.balanceCents();
  for (const { id } of await found()) {
    expect((await allowedActions(operator(), id)).map(({ action }) => action)).toEqual(['none']);
    await resolveIncident(operator(), id, { action: 'none', reason: 'the provider corrected its list' });
  }
  expect(await shop.balanceCents()).toBe(balance);
  expect(balance).toBeGreaterThan(lessReturn);
  expect((await shop.transfer()).status).toBe(201);
  await service.simulator.behave({ lists: 'other-amount' });
  await turn();
  const again = (await found()).filter(({ paymentId }) => paymentId === charge || paymentId === transfer);
  expect(again.map(({ state }) => state)).toEqual(['resolved', 'resolved', 'resolved']);
  await service.simulator.behave({});
});
