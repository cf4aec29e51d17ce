import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { incidentsOf, later, providerIdOf, reservedCents, statusOf } from '@vintem/testkit/settlement.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { applyOutcome } from '../../src/flow/apply.ts';
import type { Observation } from '../../src/kinds/payment/interpret-report.ts';
import {
  listIncidents,
  resolveIncident,
  showIncident,
  wordsOfIncident,
} from '../../src/operate/incidents/incident.ts';

/** Payments that the provider does not end, and money that it reports oddly: a person and the merchant learn of each. */

let service: Service;
beforeAll(async () => {
  service = await openService({ worker: false });
});
afterEach(() => service.simulator.control('DELETE', '/control/behaviour'));
afterAll(async () => {
  const wrong = await violationsOfBooks(service);
  await service?.close();
  expect(wrong).toEqual([]);
});

const hour = 3_600_000;

/** A query of the provider by a process whose clock is `aheadMs` ahead: what it answers is applied. */
async function queried(merchant: Merchant, id: string, aheadMs: number): Promise<void> {
  const runtime = later(service.runtime, aheadMs);
  const provider = runtime.providers.get('simulator');
  if (!provider) throw new Error('no simulator');
  const startedAt = runtime.clock.now();
  const kind = (await merchant.call('GET', `/payments/${id}`)).body.kind;
  const outcome =
    kind === 'transfer'
      ? await provider.queryPayout(providerIdOf(id))
      : await provider.queryCharge(providerIdOf(id));
  const observation: Observation = { from: 'query', id: crypto.randomUUID(), startedAt, outcome };
  const about = { accountId: merchant.ownerId, paymentId: id, operationId: merchant.operationId };
  await applyOutcome(
    runtime,
    { ...about, connection: 'simulator', kind: kind, observation },
    runtime.clock.monotonicMs() + 10_000,
  );
}

const openOf = async (merchant: Merchant) =>
  (await listIncidents(later(service.runtime, 40 * hour), merchant.ownerId)).filter(
    ({ state }) => state === 'open',
  );

async function rich(): Promise<Merchant> {
  const merchant = await service.newMerchant();
  await merchant.receive(5_000);
  return merchant;
}

describe('a payment that a day of answered queries does not end', () => {
  test.each(['refuse-unknown', 'stay-pending'])(
    'opens one incident and releases nothing: a transfer under %s, which an operator ends',
    async (fate) => {
      const merchant = await rich();
      const { body } = await merchant.transfer({ pixKey: `${fate}@simulator.example` });
      const id = body.id ?? body.paymentId;
      await queried(merchant, id, 0);
      await queried(merchant, id, 23 * hour);
      expect(await incidentsOf(service, id)).toEqual([]);
      await queried(merchant, id, 25 * hour);
      await queried(merchant, id, 30 * hour);
      expect(await incidentsOf(service, id)).toMatchObject([{ kind: 'undecided', state: 'open' }]);
      expect(await reservedCents(merchant)).toBe(1_000);
      const [incident] = await openOf(merchant);
      const operator = { ...later(service.runtime, 40 * hour), actor: 'tester' };
      await resolveIncident(operator, incident?.id ?? '', { action: 'credit', reason: 'it did not leave' });
      expect(await statusOf(service, id)).toBe('cancelled');
      expect(await merchant.balanceCents()).toBe(5_000);
    },
  );

  test('opens one incident: a charge that was refused in no listed words, which an operator fails', async () => {
    const merchant = await service.newMerchant();
    await service.simulator.control('PUT', '/control/behaviour', { charge: 'refuse-unknown' });
    const { body } = await merchant.charge({ amountCents: 1_000 });
    await queried(merchant, body.id, 0);
    await queried(merchant, body.id, 25 * hour);
    expect(await incidentsOf(service, body.id)).toMatchObject([{ kind: 'undecided' }]);
    const [incident] = await openOf(merchant);
    const operator = { ...later(service.runtime, 40 * hour), actor: 'tester' };
    // `vintem incident show` has the provider's words beside it.
    const shown = await showIncident(service.cellOf(merchant), incident?.id ?? '');
    const [said] = await wordsOfIncident(service.cellOf(merchant), shown);
    expect(said).toMatchObject({
      name: '422 CobRecusaNaoDocumentada',
      message: 'Recusa que nenhuma tabela contém',
    });
    await resolveIncident(operator, incident?.id ?? '', {
      action: 'writeoff',
      reason: 'its code was never shown',
    });
    const ended = (await merchant.call('GET', `/payments/${body.id}`)).body;
    expect(ended).toMatchObject({ status: 'failed', reasonCode: 'cancelled_by_operator' });
    expect(ended.notice).toMatch(/Create another one/);
  });
});

test('a second, different mismatch of a transfer opens a second incident, the same one does not', async () => {
  const merchant = await rich();
  const { body } = await merchant.transfer({ pixKey: 'stay-pending@simulator.example' });
  const hear = (amountCents: number) =>
    applyOutcome(
      service.runtime,
      {
        accountId: merchant.ownerId,
        paymentId: body.id,
        operationId: merchant.operationId,
        connection: 'simulator',
        kind: 'transfer',
        observation: {
          from: 'webhook',
          id: crypto.randomUUID(),
          received: [],
          payouts: [
            {
              providerId: providerIdOf(body.id),
              amountCents,
              pixKey: null,
              status: 'completed',
              endToEnd: null,
              settledAt: null,
              reason: null,
              returns: [],
            },
          ],
        },
      },
      service.runtime.clock.monotonicMs() + 10_000,
    );
  for (const amountCents of [800, 800, 700, 700, 800]) await hear(amountCents);
  expect(await incidentsOf(service, body.id)).toMatchObject([
    { kind: 'report_mismatch', amount_cents: '800' },
    { kind: 'report_mismatch', amount_cents: '700' },
  ]);
});

test('a second payment of a charge has an event and a notice, so that a shop without the panel knows', async () => {
  const merchant = await service.newMerchant();
  const requestKey = crypto.randomUUID();
  const { body } = await merchant.charge({ amountCents: 1_000, requestKey });
  for (let n = 0; n < 2; n++)
    await service.simulator.control('POST', `/control/charges/${providerIdOf(body.id)}/pay`);
  await until(async () => (await incidentsOf(service, body.id)).length === 1);
  const shown = (await merchant.call('GET', `/payments/${body.id}`)).body;
  expect(shown).toMatchObject({ status: 'paid', requestKey });
  expect(shown.notice).toMatch(/paid more than once/);
  const told = await service.database.admin<{ body: string }>(
    `SELECT convert_from(body::bytea, 'UTF8') AS body FROM event WHERE payment_id = $1 AND type = 'charge.unexpected_payment'`,
    [body.id],
  );
  expect(told).toHaveLength(1);
});

test('a charge that the provider refused has a notice', async () => {
  const merchant = await service.newMerchant();
  await service.simulator.control('PUT', '/control/behaviour', { charge: 'refuse' });
  const { status, body } = await merchant.charge({ amountCents: 1_000 });
  expect([status, body.status, body.reasonCode]).toEqual([201, 'failed', 'provider_refused']);
  expect(body.notice).toMatch(/The provider refused/);
});
