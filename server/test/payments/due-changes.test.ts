import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import {
  fillQueryLimit,
  incidentsOf,
  intentOf,
  later,
  providerIdOf,
  statusOf,
} from '@vintem/testkit/settlement.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createFollowUp } from '../../src/flow/follow-up.ts';
import type { Runtime } from '../../src/main/runtime.ts';
import { resolveIncident } from '../../src/operate/incidents/incident.ts';
import { find, storyOf } from '../../src/operate/look.ts';
import type { Provider } from '../../src/provider/provider.ts';

/** A merchant changes a charge with a due date; each step of a worker is made by hand here. */

let service: Service;
let simulator: Provider;
beforeAll(async () => {
  service = await openService({ worker: false });
  simulator = service.runtime.providers.get('simulator') as Provider;
});
afterAll(async () => {
  const wrong = service ? await violationsOfBooks(service) : [];
  await service?.close();
  expect(wrong).toEqual([]);
});
beforeEach(async () => {
  await service.simulator.behave({ webhook: 'drop' });
  await service.database.admin('DELETE FROM breaker');
  await fillQueryLimit(service);
});

const dayMs = 24 * 3_600_000;
const inDays = (days: number): string =>
  new Date(Date.now() - 3 * 3_600_000 + days * dayMs).toISOString().slice(0, 10);
const terms = {
  fine: { type: 'percent', value: 200 },
  interest: { type: 'percent_month', value: 300, days: 'calendar' },
};

async function charged(merchant: Merchant, fields: object = {}): Promise<string> {
  const { status, body } = await merchant.call('POST', '/pix/due-charges', {
    ...{ amountCents: 10_000, payer: { name: 'Maria Silva', document: '111.444.777-35' } },
    ...{ dueDate: inDays(30), requestKey: crypto.randomUUID(), ...terms, ...fields },
  });
  expect([status, body.status]).toEqual([201, 'pending']);
  return body.id;
}
const change = (merchant: Merchant, id: string, fields: object, call = merchant.call) =>
  call('PATCH', `/pix/due-charges/${id}`, fields);
const shown = async (merchant: Merchant, id: string) => (await merchant.call('GET', `/payments/${id}`)).body;
const pay = (id: string, body: object = {}) =>
  service.simulator.control('POST', `/control/charges/${providerIdOf(id)}/pay`, body);

/** The charge as the provider has it. */
async function truthOf(id: string) {
  const found = await simulator.dueCharges?.query(providerIdOf(id));
  if (found?.outcome !== 'found') throw new Error('the provider has no such charge');
  return found.report;
}

/** Lets a worker of another process work at a later time until nothing is due. */
async function workAt(merchant: Merchant, ...seconds: number[]): Promise<void> {
  for (const second of seconds) {
    const runtime: Runtime = later(service.cellOf(merchant), second * 1000);
    const followUp = createFollowUp(runtime, simulator);
    await fillQueryLimit(service);
    await followUp.stepSends();
    await followUp.idle();
    while (await followUp.stepQueries());
    await followUp.idle();
  }
}

/** Those of a charge, the first ones first, with their intents. */
async function changesOf(id: string) {
  const rows = await service.database.admin<{ id: string; status: string }>(
    'SELECT id, status FROM due_change WHERE payment_id = $1 ORDER BY created_at',
    [id],
  );
  return Promise.all(
    rows.map(async (row) => [row.status, (await intentOf(service, row.id))?.state ?? null] as const),
  );
}

/** The events of a charge, the first one first. */
async function toldOf(merchant: Merchant, id: string) {
  const { body } = await merchant.call('GET', `/events?paymentId=${id}`);
  return (
    body.events as {
      type: string;
      data: { amountCents: number; dueChange?: { id: string; outcome: string } };
    }[]
  )
    .map(({ type, data }) => [type, data.amountCents, data.dueChange] as const)
    .reverse();
}

describe('A change of a due-date charge', () => {
  test('is carried out by the provider, raises its number and is seen by its word; a repeat changes nothing more', async () => {
    const merchant = await service.newMerchant();
    const id = await charged(merchant);
    const fields = { amountCents: 12_000, dueDate: inDays(40), validAfterDue: 5, fine: null };
    const { status, body } = await change(merchant, id, fields);
    expect([status, body.status, body.notice]).toEqual([200, 'pending', undefined]);
    expect(body).toMatchObject({
      ...{ id, amountCents: 12_000, dueDate: inDays(40) },
      dueTerms: { validAfterDue: 5, fine: null, interest: terms.interest },
    });
    expect(body.copyPaste).toMatch(/^000201/);
    expect(await truthOf(id)).toMatchObject({
      amountCents: 12_000,
      due: { revision: 1, terms: { dueDate: inDays(40), validAfterDue: 5, fine: null } },
    });
    const again = await change(merchant, id, fields);
    expect([again.status, again.body]).toEqual([200, body]);
    expect(await changesOf(id)).toEqual([['completed', null]]);
    expect((await truthOf(id)).due?.revision).toBe(1);
    await pay(id, { on: inDays(45) });
    await workAt(merchant, 3_700);
    // Five days late, without the fine.
    expect(await shown(merchant, id)).toMatchObject({
      ...{ status: 'paid', amountCents: 12_000, originalAmountCents: 12_000, amountPaidCents: 12_060 },
    });
    expect(await incidentsOf(service, id)).toEqual([]);
  });

  test('whose answer is lost leaves the charge as it was, with a notice, until a query shows it', async () => {
    const merchant = await service.newMerchant();
    const id = await charged(merchant);
    await service.simulator.behave({ change: 'lose-answer', webhook: 'drop' });
    const { status, body } = await change(merchant, id, { amountCents: 8_000 });
    expect([status, body.status, body.amountCents]).toEqual([200, 'pending', 10_000]);
    expect(body.notice).toContain('A change of this charge was requested.');
    expect((await change(merchant, id, { amountCents: 8_000 })).body).toEqual(body);
    expect((await change(merchant, id, { amountCents: 7_000 })).body.code).toBe('charge_change_under_way');
    expect(await changesOf(id)).toEqual([['unknown', 'awaiting']]);
    await workAt(merchant, 20);
    expect(await shown(merchant, id)).toMatchObject({ status: 'pending', amountCents: 8_000 });
    expect((await shown(merchant, id)).notice).toBeUndefined();
    expect(await changesOf(id)).toEqual([['completed', null]]);
    expect(await incidentsOf(service, id)).toEqual([]);
  });

  test('that never arrived is sent again after two queries that show the charge as it was', async () => {
    const merchant = await service.newMerchant();
    const id = await charged(merchant);
    await service.simulator.behave({ change: 'lose-request', webhook: 'drop' });
    await change(merchant, id, { dueDate: inDays(50) });
    await service.simulator.behave({ webhook: 'drop' });
    await workAt(merchant, 8);
    expect((await truthOf(id)).due?.revision).toBe(0);
    await workAt(merchant, 20, 40, 80);
    expect((await truthOf(id)).due).toMatchObject({ revision: 1, terms: { dueDate: inDays(50) } });
    expect((await shown(merchant, id)).dueDate).toBe(inDays(50));
    expect(await changesOf(id)).toEqual([['completed', null]]);
  });

  test('that the provider refuses leaves the charge as it was, and may be asked for again', async () => {
    const merchant = await service.newMerchant();
    const id = await charged(merchant);
    await service.simulator.behave({ change: 'refuse', webhook: 'drop' });
    const refused = await change(merchant, id, { amountCents: 8_000 });
    expect([refused.status, refused.body.code]).toEqual([400, 'charge_change_refused']);
    expect(await shown(merchant, id)).toMatchObject({ status: 'pending', amountCents: 10_000 });
    expect((await shown(merchant, id)).notice).toBeUndefined();
    await service.simulator.behave({ webhook: 'drop' });
    expect((await change(merchant, id, { amountCents: 8_000 })).body.amountCents).toBe(8_000);
    expect(await changesOf(id)).toEqual([
      ['completed', null],
      ['completed', null],
    ]);
  });

  test('is over when a payer was quicker: the charge is paid as it was', async () => {
    const merchant = await service.newMerchant();
    const id = await charged(merchant);
    await service.simulator.behave({ change: 'late-change', webhook: 'drop' });
    const { status, body } = await change(merchant, id, { amountCents: 8_000 });
    expect([status, body.code]).toEqual([400, 'charge_change_refused']);
    await workAt(merchant, 3_700);
    expect(await shown(merchant, id)).toMatchObject({ status: 'paid', amountPaidCents: 10_000 });
    expect(await merchant.balanceCents()).toBe(10_000);
    expect(await changesOf(id)).toEqual([['completed', null]]);
    expect((await change(merchant, id, { amountCents: 8_000 })).body.code).toBe('charge_already_paid');
    expect(await incidentsOf(service, id)).toEqual([]);
  });

  test.each([
    ['its answer', []],
    ['the Pix', ['pix']],
  ])('and an earlier Pix end the same whatever comes first: %s', async (_name, first) => {
    const merchant = await service.newMerchant();
    const id = await charged(merchant);
    if (first.length > 0) await service.simulator.behave({ change: 'lose-answer', webhook: 'drop' });
    await change(merchant, id, { amountCents: 5_000 });
    await service.simulator.behave({ webhook: 'drop' });
    // The payer's bank read the code before the change.
    await pay(id, { amountCents: 10_000 });
    await workAt(merchant, 20, 3_700);
    const body = await shown(merchant, id);
    expect(body).toMatchObject({ status: 'paid', amountCents: 5_000, amountPaidCents: 10_000 });
    expect(body.notice).toContain('paid by its terms of another moment');
    expect(await merchant.balanceCents()).toBe(10_000);
    expect(await incidentsOf(service, id)).toEqual([]);
    expect(await changesOf(id)).toEqual([['completed', null]]);
  });

  test('of a charge that an odd Pix paid before it was confirmed is tried ever more rarely, and is an incident a day after a person left it', async () => {
    const merchant = await service.newMerchant();
    await service.simulator.behave({ charge: 'lose-answer', webhook: 'drop' });
    const { body: made } = await merchant.call('POST', '/pix/due-charges', {
      ...{ amountCents: 10_000, payer: { name: 'Maria Silva', document: '111.444.777-35' } },
      ...{ dueDate: inDays(30), requestKey: crypto.randomUUID(), ...terms },
    });
    await service.simulator.behave({ webhook: 'drop' });
    await pay(made.id, { amountCents: 1_234 });
    await change(merchant, made.id, { amountCents: 8_000 });
    const [{ id: changeId } = { id: '' }] = await service.database.admin<{ id: string }>(
      'SELECT id FROM due_change WHERE payment_id = $1',
      [made.id],
    );
    const waits: number[] = [];
    let second = 60;
    for (let tries = 0; tries < 12; tries++) {
      await workAt(merchant, second);
      const at = (await intentOf(service, changeId))?.due_at.getTime() ?? 0;
      waits.push(Math.round((at - Date.now()) / 1000) - second);
      second = Math.ceil((at - Date.now()) / 1000) + 1;
    }
    expect(waits.at(-1)).toBeGreaterThan(14 * 60);
    expect(waits.filter((wait) => wait < 60).length).toBeLessThan(5);
    expect(await incidentsOf(service, made.id)).toMatchObject([{ kind: 'amount_mismatch', state: 'open' }]);
    // Nothing of it was sent, and the charge is not confirmed.
    expect((await shown(merchant, made.id)).status).toBe('unknown');
    const [incident] = await service.database.admin<{ id: string }>(
      'SELECT id FROM incident WHERE payment_id = $1',
      [made.id],
    );
    await resolveIncident({ ...service.cellOf(merchant), actor: 'tester' }, incident?.id ?? '', {
      ...{ action: 'none', reason: 'the payer is asked' },
    });
    await workAt(merchant, second + 2 * 24 * 3_600, second + 2 * 24 * 3_600 + 3_600);
    expect((await incidentsOf(service, made.id)).map(({ kind, state }) => [kind, state])).toEqual([
      ['amount_mismatch', 'resolved'],
      ['undecided', 'open'],
    ]);
    expect(await changesOf(made.id)).toEqual([['unknown', 'ready']]);
  });

  test('of a charge that is confirmed later goes out with the confirmation', async () => {
    const merchant = await service.newMerchant();
    await service.simulator.behave({ charge: 'lose-answer', query: 'error-500', webhook: 'drop' });
    const { body: made } = await merchant.call('POST', '/pix/due-charges', {
      ...{ amountCents: 10_000, payer: { name: 'Maria Silva', document: '111.444.777-35' } },
      ...{ dueDate: inDays(30), requestKey: crypto.randomUUID(), ...terms },
    });
    await change(merchant, made.id, { amountCents: 8_000 });
    await workAt(merchant, 60, 120, 240, 480, 960);
    expect((await shown(merchant, made.id)).status).toBe('unknown');
    await service.simulator.behave({ webhook: 'drop' });
    await service.database.admin('DELETE FROM breaker');
    await service.database.admin(`UPDATE intent SET due_at = 'epoch' WHERE payment_id = $1`, [made.id]);
    await workAt(merchant, 1_000, 1_001);
    expect(await shown(merchant, made.id)).toMatchObject({ status: 'pending', amountCents: 8_000 });
  });

  test('ends with a cancel of its charge', async () => {
    const merchant = await service.newMerchant();
    const id = await charged(merchant);
    await service.simulator.behave({ change: 'lose-request', webhook: 'drop' });
    await change(merchant, id, { amountCents: 8_000 });
    const { body } = await merchant.call('POST', `/payments/${id}/cancel`, {});
    expect(body).toMatchObject({ status: 'failed', reasonCode: 'cancelled_by_merchant' });
    expect(await changesOf(id)).toEqual([['completed', null]]);
    expect((await change(merchant, id, { amountCents: 8_000 })).body.code).toBe('charge_already_ended');
  });

  test('that is asked for by twenty at once is one', async () => {
    const merchant = await service.newMerchant();
    const id = await charged(merchant);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => change(merchant, id, { amountCents: 9_000 })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    await until(async () => (await shown(merchant, id)).amountCents === 9_000);
    expect((await truthOf(id)).due?.revision).toBe(1);
    expect(await changesOf(id)).toEqual([['completed', null]]);
  });

  test('back to what was before is believed under a later number alone', async () => {
    const merchant = await service.newMerchant();
    const id = await charged(merchant);
    await change(merchant, id, { amountCents: 8_000 });
    await service.simulator.behave({ query: 'answer', change: 'lose-answer', webhook: 'drop' });
    expect((await change(merchant, id, { amountCents: 10_000 })).body.amountCents).toBe(8_000);
    await workAt(merchant, 20);
    expect((await shown(merchant, id)).amountCents).toBe(10_000);
    expect((await truthOf(id)).due?.revision).toBe(2);
  });

  test('reports by an event how it ended, under an id by which an operator finds it', async () => {
    const merchant = await service.newMerchant();
    const id = await charged(merchant);
    await service.simulator.behave({ change: 'lose-answer', webhook: 'drop' });
    const { body } = await change(merchant, id, { amountCents: 8_000 });
    await service.simulator.behave({ webhook: 'drop' });
    await workAt(merchant, 20);
    const done = { id: body.changeId, outcome: 'carried_out' };
    expect((await shown(merchant, id)).changeId).toBeUndefined();
    expect(await toldOf(merchant, id)).toEqual([['charge.changed', 8_000, done]]);

    await service.simulator.behave({ change: 'refuse', webhook: 'drop' });
    await change(merchant, id, { amountCents: 7_000 });
    // The worker that saw the first one works at a later time.
    const refused = (await toldOf(merchant, id)).find(([, , ended]) => ended?.outcome === 'refused');
    expect(refused?.slice(0, 2)).toEqual(['charge.changed', 8_000]);

    const { database, runtime } = service;
    const rows = await database.admin<{ id: string; outcome: string }>(
      'SELECT id, outcome FROM due_change WHERE payment_id = $1 ORDER BY created_at',
      [id],
    );
    expect(rows).toEqual([done, { id: refused?.[2]?.id, outcome: 'refused' }]);
    const deps = { sql: runtime.sql, cells: runtime.cells, identity: async () => runtime.identity };
    expect((await find(deps, body.changeId)).found).toMatchObject([
      { kind: 'change', id: body.changeId, state: 'carried_out', amountCents: 8_000 },
      { kind: 'payment', id },
    ]);
    expect((await storyOf(deps, id)).changes).toMatchObject([
      { ...done, status: 'completed', amountCents: 8_000, endedAt: expect.any(String) },
      { amountCents: 7_000, outcome: 'refused' },
    ]);
  });

  test('that ends with its charge reports it before the charge does', async () => {
    const merchant = await service.newMerchant();
    const id = await charged(merchant);
    await service.simulator.behave({ change: 'lose-request', webhook: 'drop' });
    const { body } = await change(merchant, id, { amountCents: 80_000 });
    await merchant.call('POST', `/payments/${id}/cancel`, {});
    expect(await toldOf(merchant, id)).toEqual([
      ['charge.changed', 10_000, { id: body.changeId, outcome: 'charge_ended' }],
      ['charge.failed', 10_000, undefined],
    ]);
    const [row] = await service.database.admin<{ outcome: string }>(
      'SELECT outcome FROM due_change WHERE id = $1',
      [body.changeId],
    );
    expect(row?.outcome).toBe('charge_ended');
  });

  test.each([
    [
      'of nothing that there is',
      {},
      { id: '0190a000-0000-7000-8000-000000000077' },
      404,
      'payment_not_found',
    ],
    ['to a due date that is over', { dueDate: inDays(-1) }, {}, 400, 'due_date_out_of_range'],
    [
      'to a rebate of everything',
      { rebate: { type: 'percent', value: 10_000 } },
      {},
      400,
      'due_terms_invalid',
    ],
    [
      'of a discount behind the due date',
      { discounts: [{ until: inDays(31), type: 'fixed', value: 1 }] },
      {},
      400,
      'due_terms_invalid',
    ],
    ['of its payer', { payer: { name: 'Ana' } }, {}, 400, 'validation_failed'],
    ['to an amount that is too small', { amountCents: 199 }, {}, 400, 'validation_failed'],
  ])('%s is refused and changes nothing', async (_name, fields, other, status, code) => {
    const merchant = await service.newMerchant();
    const id = await charged(merchant);
    const before = await shown(merchant, id);
    const answer = await change(merchant, 'id' in other ? (other.id as string) : id, {
      amountCents: 9_000,
      ...fields,
    });
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(await shown(merchant, id)).toEqual(before);
    expect(await changesOf(id)).toEqual([]);
  });

  test('of another account’s charge, of one without a due date and by a key without the permission is refused', async () => {
    const [merchant, other] = [await service.newMerchant(), await service.newMerchant()];
    const id = await charged(merchant);
    const { body: plain } = await merchant.charge();
    const fields = { amountCents: 9_000 };
    expect((await change(merchant, id, fields, other.call)).status).toBe(404);
    expect((await change(merchant, plain.id, fields)).body.code).toBe('payment_not_found');
    const reads = service.as(await service.newKey(merchant.ownerId, ['read', 'transfers']));
    expect((await change(merchant, id, fields, reads)).status).toBe(403);
    expect(await statusOf(service, id)).toBe('pending');
    expect(await changesOf(id)).toEqual([]);
  });

  test('is refused after twenty of one charge', async () => {
    const merchant = await service.newMerchant();
    const id = await charged(merchant);
    for (let nth = 1; nth <= 20; nth++)
      expect((await change(merchant, id, { amountCents: 10_000 + nth })).body.amountCents).toBe(10_000 + nth);
    expect((await change(merchant, id, { amountCents: 9_000 })).body.code).toBe('charge_changed_too_often');
  });
});
