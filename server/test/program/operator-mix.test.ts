import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { truthOf } from '@vintem/testkit/truth.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setConditions } from '../../src/operate/accounts/conditions.ts';
import { placeHold, releaseHold } from '../../src/operate/accounts/holds.ts';
import { actions } from '../../src/operate/incidents/endings.ts';
import { listIncidents, resolveIncident } from '../../src/operate/incidents/incident.ts';
import { reconcile } from '../../src/operate/reconcile.ts';
import { type Operator, OperatorRefused } from '../../src/store/operator.ts';

/** Merchants, payers, the provider and operators, all at once and in any order; `verify` looks all the while. */
const mixMs = Number(process.env.MIX_MS ?? 8_000);

let service: Service;
let operator: Operator;

beforeAll(async () => {
  service = await openService();
  operator = { ...service.runtime, actor: 'tester' };
});
afterAll(() => service.close());

const fates = [
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

const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T;

test('whatever happens at once, every invariant holds at every moment, and in the end the provider agrees', {
  timeout: mixMs + 600_000,
}, async () => {
  const merchants = await Promise.all([1, 2, 3].map(() => service.newMerchant()));
  for (const merchant of merchants) await merchant.receive(100_000);
  const sent: string[] = [];
  const control = (path: string, body?: object) =>
    service.simulator.control('POST', `/control/${path}`, body);

  const deeds: (() => Promise<unknown>)[] = [
    ...Array.from({ length: 5 }, () => async () => {
      const { body } = await pick(merchants).transfer({ pixKey: `${pick(fates)}@simulator.example` });
      if (body.id) sent.push(body.id.replaceAll('-', ''));
    }),
    ...Array.from({ length: 4 }, () => () => chargeSomebody(pick(merchants))),
    () =>
      sent.length > 0 ? control(`payouts/${pick(sent)}/${pick(['return', 'complete', 'refuse'])}`) : idle,
    () => holdSomething(pick(merchants)),
    () => resolveSomething(),
    () => setConditions(operator, pick(merchants).ownerId, { withdrawalFeeCents: pick([0, 25, 90]) }),
    () => comeAndGo(pick(merchants)),
    () => service.simulator.behave({ webhook: pick(['send', 'send', 'drop', 'duplicate', 'reorder']) }),
  ];
  const idle = Promise.resolve();

  async function chargeSomebody(merchant: Merchant, operationId?: string): Promise<void> {
    const { body } = await merchant.charge({ amountCents: 500 }, operationId);
    if (!body.id) return;
    const path = `charges/${body.id.replaceAll('-', '')}`;
    const what = pick(['pay', 'pay', 'pay oddly', 'pay twice', 'expire', 'remove', 'nothing']);
    if (what.startsWith('pay'))
      await control(`${path}/pay`, what === 'pay oddly' ? { amountCents: 333 } : {});
    if (what === 'pay twice') await control(`${path}/pay`);
    if (what === 'expire' || what === 'remove') await control(`${path}/${what}`);
  }

  async function holdSomething(merchant: Merchant): Promise<void> {
    const amountCents = pick([1, 700, 40_000]);
    const { operationId } = merchant;
    const hold = await placeHold(operator, { operationId, amountCents, reason: 'a mix' });
    await releaseHold(operator, hold.id);
  }

  async function resolveSomething(): Promise<void> {
    const open = (await listIncidents(operator, null)).filter((one) => one.state === 'open');
    if (open.length === 0) return;
    try {
      await resolveIncident(operator, pick(open).id, { action: pick(actions), reason: 'a mix' });
    } catch (error) {
      if (!(error instanceof OperatorRefused)) throw error;
    }
  }

  async function comeAndGo(merchant: Merchant): Promise<void> {
    const { body } = await merchant.call('POST', '/operations', {
      name: 'Filial',
      requestKey: crypto.randomUUID(),
    });
    if (!body.id) return;
    if (pick([true, false])) await chargeSomebody(merchant, body.id);
    await merchant.call('DELETE', `/operations/${body.id}`, {});
  }

  const beganAt = service.runtime.clock.now();
  const untilMs = service.runtime.clock.monotonicMs() + mixMs;
  let passes = 0;
  // On a slow machine longer: the books are looked at twice while everything happens.
  const goesOn = (): boolean => service.runtime.clock.monotonicMs() < untilMs || passes < 2;
  await Promise.all([
    ...Array.from({ length: 6 }, async () => {
      while (goesOn()) await pick(deeds)();
    }),
    (async () => {
      for (; goesOn(); passes++)
        expect(await violationsOfBooks(service, { full: passes % 2 === 0 })).toEqual([]);
    })(),
  ]);

  await service.simulator.behave({});
  const sinceMs = beganAt - 60_000;
  // The first comparison posts what webhooks did not tell; payouts that were under way then are in the second.
  for (let each = 0; each < 2; each++)
    await reconcile(service.runtime, operator, { accountId: null, sinceMs });
  const brokenNow = async (): Promise<unknown[]> => {
    const truth = await truthOf(service.simulator);
    return violationsOfBooks(service, {
      provider: { ...truth, payouts: truth.payouts.filter((one) => one.status !== 'pending') },
    });
  };
  // A decision of the provider is still on its way here.
  await until(async () => (await brokenNow()).length === 0).catch(() => {});
  expect(await brokenNow()).toEqual([]);
});
