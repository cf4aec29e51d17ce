import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import {
  beside,
  fillQueryLimit,
  incidentsOf,
  journalsOf,
  later,
  leave,
  providerIdOf,
  reservedCents,
  statusOf,
} from '@vintem/testkit/settlement.ts';
import { violations } from '@vintem/testkit/verified.ts';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { strayOfReport } from '../../src/flow/find-lost-payments.ts';
import { createFollowUp } from '../../src/flow/follow-up.ts';
import { applyNews, gatherOwners } from '../../src/flow/inbound-news.ts';
import type { Runtime } from '../../src/main/runtime.ts';
import { listIncidents, resolveIncident } from '../../src/operate/incidents/incident.ts';
import type { PayoutReport, Provider, SendOutcome, Unclear } from '../../src/provider/provider.ts';

/** A provider that takes a payout by one call and sends it by a second one (Woovi), and a process that may end between them. Each step is made by hand. */

let service: Service;
let simulator: Provider;
let merchant: Merchant;
/** Of the merchant. */
let cell: Runtime;
beforeAll(async () => {
  service = await openService({ dialect: 'woovi', worker: false });
  simulator = service.runtime.providers.get('simulator') as Provider;
});
afterAll(() => service?.close());
beforeEach(async () => {
  await service.simulator.behave({});
  merchant = await service.newMerchant();
  cell = service.cellOf(merchant);
  await merchant.receive(5000);
});
afterEach(() => service.simulator.behave({}));

const lost: Unclear = { outcome: 'unclear', cause: 'network', detail: 'lost', retryAfterMs: null };

const withCalls = (calls: Partial<Provider>): Provider => ({ ...simulator, ...calls });

/** A worker of another process, at a later time, until nothing is due. */
async function work(aheadMs: number, provider: Provider = simulator): Promise<void> {
  await fillQueryLimit(service);
  const runtime = later(beside(cell), aheadMs);
  const followUp = createFollowUp(
    { ...runtime, providers: new Map([[provider.connection, provider]]) },
    provider,
  );
  while (await followUp.stepSends());
  await followUp.idle();
  while (await followUp.stepQueries());
  await followUp.idle();
}

/** A minute of a worker that looks every ten seconds. */
async function workOn(fromMs: number, provider: Provider = simulator): Promise<void> {
  for (let at = 0; at <= 60_000; at += 12_000) await work(fromMs + at, provider);
}

const stepOf = async (id: string) =>
  (
    await service.database.admin<{ step: string | null; state: string }>(
      'SELECT step, state FROM intent WHERE payment_id = $1',
      [id],
    )
  )[0];
const received = async (id: string) => (await service.simulator.payout(id))?.timesReceived ?? 0;

/** A delivery of the provider, as it is applied once it is stored. */
async function hears(body: unknown): Promise<void> {
  await fillQueryLimit(service);
  const { clock, ids } = service.runtime;
  const news = simulator.readWebhook(Buffer.from(JSON.stringify(body)), clock.now());
  if (news === null) throw new Error('the delivery cannot be read');
  const delivery = { id: ids.uuid(), connection: simulator.connection, news };
  await applyNews(service.runtime, gatherOwners(service.runtime), delivery, clock.monotonicMs());
}

async function completes(id: string): Promise<void> {
  await expect.poll(async () => (await simulator.queryPayout(providerIdOf(id))).outcome).toBe('found');
  await expect
    .poll(async () => {
      const found = await simulator.queryPayout(providerIdOf(id));
      return found.outcome === 'found' ? found.report.status : found.outcome;
    })
    .toBe('completed');
  await workOn(3_600_000);
  expect(await statusOf(service, id)).toBe('completed');
  expect(await journalsOf(service, id)).toEqual(['reserve', 'complete']);
  // The first step went out once, whatever happened between the two.
  expect(await received(id)).toBe(1);
  expect(await violations(service)).toEqual([]);
}

test('Both steps go out one after the other', async () => {
  const id = await leave(service, merchant, 'complete');
  await work(0);
  await completes(id);
});

test('A process that ends before it reads the first answer leaves the second step to another', async () => {
  const id = await leave(service, merchant, 'complete');
  const dies = withCalls({
    sendPayout: async (instruction) => {
      await simulator.sendPayout(instruction);
      return lost;
    },
  });
  await work(0, dies);
  expect(await stepOf(id)).toMatchObject({ step: null, state: 'awaiting' });
  expect(await reservedCents(merchant)).toBe(1000);
  await workOn(30_000);
  await completes(id);
});

test('A process that ends behind the record of the second step leaves that alone to another, which looks twice', async () => {
  const id = await leave(service, merchant, 'complete');
  let confirmed = 0;
  const counting = withCalls({
    confirmPayout: async (confirmation) => {
      confirmed++;
      return (await simulator.confirmPayout?.(confirmation)) as SendOutcome<PayoutReport>;
    },
  });
  await work(0, withCalls({ confirmPayout: async () => lost }));
  expect(await stepOf(id)).toMatchObject({ step: 'confirmed', state: 'awaiting' });
  await work(30_000, counting);
  expect(confirmed).toBe(0);
  await workOn(42_000, counting);
  expect(confirmed).toBe(1);
  await completes(id);
});

test('A second step that did not leave goes out later, and the first one not again', async () => {
  const id = await leave(service, merchant, 'complete');
  await work(0, withCalls({ confirmPayout: async () => ({ outcome: 'notSent', detail: 'no connection' }) }));
  expect(await stepOf(id)).toMatchObject({ step: 'prepared', state: 'awaiting' });
  await workOn(30_000);
  await completes(id);
});

test('A lost answer to the second step sends nothing again', async () => {
  const id = await leave(service, merchant, 'complete');
  await service.simulator.behave({ confirm: 'lose-answer' });
  await work(0);
  await service.simulator.behave({});
  const silent = withCalls({
    confirmPayout: async () => {
      throw new Error('a second step went out though the provider has sent it');
    },
  });
  await workOn(30_000, silent);
  await completes(id);
});

test('What stops withdrawals stops the second step, and a prepared payout keeps its reserve', async () => {
  const id = await leave(service, merchant, 'complete');
  const block = (blocked: boolean) =>
    service.database.admin('UPDATE account SET withdrawals_blocked = $2 WHERE id = $1', [
      merchant.ownerId,
      blocked,
    ]);
  const blocking = withCalls({
    sendPayout: async (instruction) => {
      const outcome = await simulator.sendPayout(instruction);
      await block(true);
      return outcome;
    },
    confirmPayout: async () => {
      throw new Error('a second step went out though withdrawals are blocked');
    },
  });
  await workOn(0, blocking);
  expect(await stepOf(id)).toMatchObject({ step: 'prepared', state: 'awaiting' });
  expect([await statusOf(service, id), await reservedCents(merchant)]).toEqual(['pending', 1000]);
  await block(false);
  await workOn(90_000);
  await completes(id);
});

test('A payout that the account at the provider cannot pay is sent once it can', async () => {
  const id = await leave(service, merchant, 'complete');
  const poor = withCalls({
    confirmPayout: async ({ providerId }) => {
      const found = await simulator.queryPayout(providerId);
      if (found.outcome !== 'found') throw new Error(found.outcome);
      return { outcome: 'accepted', report: found.report };
    },
  });
  await workOn(0, poor);
  expect(await stepOf(id)).toMatchObject({ step: 'prepared', state: 'awaiting' });
  await workOn(3_600_000);
  await completes(id);
});

test('A payout that a person removed in the panel of the provider is theirs to decide at once, and is not sent again', async () => {
  const id = await leave(service, merchant, 'complete');
  // The second step does not leave, so the payout waits at the provider.
  await work(0, withCalls({ confirmPayout: async () => ({ outcome: 'notSent', detail: 'no connection' }) }));
  expect(await stepOf(id)).toMatchObject({ step: 'prepared' });
  await service.simulator.control('POST', `/control/payouts/${providerIdOf(id)}/remove`);
  await until(async () => (await incidentsOf(service, id)).length > 0);
  expect(await incidentsOf(service, id)).toMatchObject([{ kind: 'undecided' }]);
  expect(await reservedCents(merchant)).toBe(1000);
  await workOn(3_600_000);
  expect(await received(id)).toBe(1);
  expect(await incidentsOf(service, id)).toHaveLength(1);
  const [incident] = await listIncidents(service.runtime, merchant.ownerId);
  await resolveIncident({ ...cell, actor: 'ana' }, incident?.id ?? '', {
    action: 'credit',
    reason: 'removed in the panel, and it is not there',
  });
  expect([await statusOf(service, id), await reservedCents(merchant)]).toEqual(['cancelled', 0]);
  expect(await violations(service)).toEqual([]);
});

test('What says that a payout was removed which the provider has sent, or still has, opens nothing', async () => {
  const [sent, waits] = [
    await leave(service, merchant, 'complete'),
    await leave(service, merchant, 'hold-for-approval'),
  ];
  await work(0, withCalls({ confirmPayout: async () => lost }));
  await service.simulator.control('POST', `/control/payouts/${providerIdOf(sent)}/complete`);
  const removed = [sent, waits].map((id) => ({
    event: 'OPENPIX:MOVEMENT_REMOVED',
    payment: { correlationID: providerIdOf(id) },
  }));
  for (const body of removed) await hears(body);
  expect(await incidentsOf(service, sent)).toEqual([]);
  expect(await incidentsOf(service, waits)).toEqual([]);
  expect(await statusOf(service, sent)).toBe('completed');
});

test('A prepared payout with another amount than ours is not sent, and a person looks', async () => {
  const id = await leave(service, merchant, 'complete');
  const other = withCalls({
    sendPayout: async (instruction) => {
      const outcome = await simulator.sendPayout(instruction);
      if (outcome.outcome !== 'accepted') throw new Error(outcome.outcome);
      return { ...outcome, report: { ...outcome.report, amountCents: 1 } };
    },
    confirmPayout: async () => {
      throw new Error('a second step went out for another amount');
    },
  });
  await work(0, other);
  expect(await stepOf(id)).toMatchObject({ step: null, state: 'awaiting' });
  expect(await incidentsOf(service, id)).toMatchObject([{ kind: 'report_mismatch' }]);
});

test('A prepared payout that the books lack may be sent by a person, so it counts as under way', () => {
  const report: PayoutReport = {
    ...{ providerId: '123e4567e89b82d3a456426614174000', amountCents: 975, pixKey: null, status: 'prepared' },
    ...{ endToEnd: null, settledAt: null, reason: null, returns: [] },
  };
  expect(strayOfReport(report)).toMatchObject({ kind: 'transfer', status: 'pending', amountCents: 975 });
});
