import { type Dialect, openService, type Service, until } from '@vintem/testkit/service.ts';
import { journalsOf, later, providerIdOf, statusOf } from '@vintem/testkit/settlement.ts';
import { violations } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Provider } from '../../src/provider/provider.ts';
import { createFollowUp } from '../../src/settlement/tracking/follow-up.ts';

/**
 * Everything that a provider may do to payouts at once, under everything it may do to queries, webhooks and charges. Afterwards it is
 * well again, time passes, and each payment has the fate that the provider itself holds true.
 */

let service: Service;
let simulator: Provider;

const payouts = [
  'complete',
  'stay-pending',
  'refuse-in-answer',
  'refuse-later',
  'lose-answer',
  'lose-request',
  'delay-request',
  'error-500',
  'error-500-after-accepting',
  'garbage',
];
/** What the provider never takes: the reserve stays, whatever is not found. */
const neverTaken = new Set(['lose-request', 'error-500']);

/** What a worker does with all that is due then. */
async function work(aheadMs: number): Promise<void> {
  const followUp = createFollowUp(later(service.runtime, aheadMs), simulator);
  await followUp.stepSends();
  await followUp.idle();
  while (await followUp.stepQueries());
  await followUp.idle();
}

const rows = [
  { query: 'answer', webhook: 'drop', charge: 'error-500' },
  { query: 'not-found', webhook: 'reorder', charge: 'lose-answer' },
  { query: 'error-500', webhook: 'delay', charge: 'no-code' },
  { query: 'stale', webhook: 'duplicate', charge: 'lose-request' },
  { query: 'hang', webhook: 'drop', charge: 'create' },
  { query: 'error-500', webhook: 'drop', charge: 'refuse' },
];

/** One protocol gets everything; another one what is most unlike in it: not found, lost and failing answers. */
describe.each<{ dialect: Dialect; rows: typeof rows }>([
  { dialect: 'efi', rows },
  { dialect: 'woovi', rows: rows.slice(1, 3) },
])('in the protocol of $dialect', ({ dialect, rows }) => {
  beforeAll(async () => {
    service = await openService({ worker: false, dialect });
    simulator = service.runtime.providers.get('simulator') as Provider;
  });
  afterAll(() => service?.close());
  beforeEach(async () => {
    for (const text of [
      'DELETE FROM breaker',
      `UPDATE connection SET query_bucket_at = now() - interval '1 hour'`,
      `UPDATE query_slot SET lease_until = now() - interval '1 hour'`,
    ])
      await service.database.admin(text);
  });

  test.each(rows)('queries $query, webhooks $webhook, charges $charge', async (behaviour) => {
    await service.simulator.behave({});
    const merchant = await service.newMerchant();
    await merchant.receive(20_000);
    await service.simulator.behave({ ...behaviour, delayMs: 700 });
    // One that hangs keeps its caller for five seconds: where queries hang too.
    const fates = behaviour.query === 'hang' ? [...payouts, 'hang'] : payouts;
    const [charge, ...answers] = await Promise.all([
      merchant.charge({ amountCents: 3000 }),
      ...fates.map((fate) => merchant.transfer({ pixKey: `${fate}@simulator.example` })),
    ]);
    const ids = answers.map(({ body }) => (body.id ?? body.paymentId) as string);
    // It stays like that for a while, and nothing that is merely not known becomes something.
    for (const second of behaviour.query === 'hang' ? [6] : [6, 17]) await work(second * 1000);
    for (const [index, id] of ids.entries()) {
      if (neverTaken.has(fates[index] as string)) expect(await statusOf(service, id)).toBe('unknown');
    }
    await service.simulator.behave({});
    const pay = () =>
      service.simulator.control('POST', `/control/charges/${providerIdOf(charge.body.id)}/pay`);
    const settled = async (): Promise<boolean> => {
      const statuses = await Promise.all(ids.map((id) => statusOf(service, id)));
      return statuses.every(
        (status, index) =>
          neverTaken.has(fates[index] as string) || status === 'completed' || status === 'cancelled',
      );
    };
    await service.simulator.control('POST', `/control/payouts/${providerIdOf(ids[1] as string)}/complete`);
    const expectedCharge = behaviour.charge === 'refuse' ? 'failed' : 'paid';
    let paid = expectedCharge === 'failed';
    const done = async () =>
      (await settled()) && (await statusOf(service, charge.body.id)) === expectedCharge;
    for (let minute = 1; minute < 600 && !(await done()); minute += 4) {
      await work(minute * 60_000);
      if (!paid) paid = (await pay()).status === 200;
    }
    await until(done);

    const truth = (await service.simulator.control('GET', '/control/state')).body;
    for (const [index, id] of ids.entries()) {
      const row = truth.payouts.find((one: { idEnvio: string }) => one.idEnvio === providerIdOf(id));
      const status = await statusOf(service, id);
      const fate = `${fates[index]}: ${row?.status} at the provider`;
      expect(row.timesAccepted, fate).toBeLessThanOrEqual(1);
      if (neverTaken.has(fates[index] as string)) {
        expect(status, fate).toBe('unknown');
        expect(row.status).toBeUndefined();
      } else expect(status, fate).toBe(row.status === 'completed' ? 'completed' : 'cancelled');
      expect(await journalsOf(service, id)).toHaveLength(status === 'unknown' ? 1 : 2);
    }
    const account = (await merchant.call('GET', '/account')).body;
    const completed = (await Promise.all(ids.map((id) => statusOf(service, id)))).filter(
      (one) => one === 'completed',
    );
    expect(account.reservedWithdrawalCents).toBe(2000);
    expect(account.balanceCents).toBe(
      20_000 + (expectedCharge === 'paid' ? 3000 : 0) - 2000 - completed.length * 1000,
    );
  });

  test('afterwards every invariant holds, and the provider’s own truth agrees', async () => {
    expect(await violations(service)).toEqual([]);
  });
});
