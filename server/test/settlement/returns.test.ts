import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import {
  deliver,
  incidentsOf,
  journalsOf,
  payoutItem,
  providerIdOf,
  receivedItem,
  statusOf,
} from '@vintem/testkit/settlement.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { reconcile } from '../../src/operate/reconcile.ts';

/** Money that comes back or is taken back: each return is posted once, under whatever names the provider reports it. */

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

const left = async (): Promise<number> =>
  (
    await service.database.admin<{ n: number }>(
      'SELECT count(*)::int AS n FROM inbound WHERE applied_at IS NULL AND authentic',
    )
  )[0]?.n ?? -1;
const applied = () => until(async () => (await left()) === 0);

const hear = async (items: object[]): Promise<void> => {
  expect(await deliver(service, items)).toBe(200);
  await applied();
};

/** `POST /control/...`: the party that holds the money returns it. */
async function giveBack(
  path: string,
  body: object = {},
): Promise<{ id: string; rtrId: string; amountCents: number }> {
  const answer = await service.simulator.control('POST', path, body);
  expect(answer.status).toBe(200);
  return answer.body;
}

const completes = async (merchant: Merchant): Promise<string> => {
  await merchant.receive(5_000);
  const { body } = await merchant.transfer({ pixKey: 'complete@simulator.example' });
  await until(async () => (await statusOf(service, body.id)) === 'completed');
  return body.id;
};

const journals = (subject: string, template: string) =>
  service.database.admin<{ reference: string; clearing: string }>(
    'SELECT reference, clearing FROM journal WHERE subject = $1 AND template = $2 ORDER BY seq',
    [subject, template],
  );

const time = '2026-11-20T15:00:00.000Z';
const settled = { horario: { solicitacao: time, liquidacao: time }, status: 'DEVOLVIDO' };
/** A return as API Pix reports it, under one of its names or both. */
const back = (names: { id?: string; rtrId?: string }, valor: string) => ({ ...names, valor, ...settled });
const rtr = (n: number) => `D9999999920261120150${String(n).padStart(12, '0')}`;

describe('one return of a payout', () => {
  /** An id in the payment system is of one return alone. */
  const formsOf = (n: number) => ({
    id: back({ id: '7' }, '4.00'),
    rtrId: { rtrId: rtr(n), valor: '4.00', horario: time },
    both: back({ id: '7', rtrId: rtr(n) }, '4.00'),
  });
  let given = 100;
  const orders = [
    ['id', 'both', 'rtrId'],
    ['id', 'rtrId', 'both'],
    ['rtrId', 'both', 'id'],
    ['rtrId', 'id', 'both'],
    ['both', 'rtrId', 'id'],
  ] as const;
  test.each(orders)('that is reported by %s, then %s, then %s is credited once', async (...order) => {
    const merchant = await service.newMerchant();
    const id = await completes(merchant);
    given += 2;
    const forms = formsOf(given);
    const before = await merchant.balanceCents();
    for (const form of order)
      await hear([payoutItem(id, 'complete@simulator.example', { devolucoes: [forms[form]] })]);
    expect(await merchant.balanceCents()).toBe(before + 400);
    expect(await journals(id, 'return')).toHaveLength(1);
    expect(await incidentsOf(service, id)).toEqual([]);
    // Another one of the same amount, under the form that was not used last.
    const second =
      order[2] === 'id' ? { rtrId: rtr(given + 1), valor: '4.00', horario: time } : back({ id: '8' }, '4.00');
    const both = { devolucoes: [forms[order[2]], second] };
    await hear([payoutItem(id, 'complete@simulator.example', both)]);
    expect(await merchant.balanceCents()).toBe(before + 800);
  });

  test('in the form of a sent Pix, without id and status, has arrived', async () => {
    const merchant = await service.newMerchant();
    const id = await completes(merchant);
    const before = await merchant.balanceCents();
    await service.simulator.control('PUT', '/control/behaviour', { returnForm: 'rtrId' });
    await giveBack(`/control/payouts/${id}/return`, { amountCents: 300 });
    await until(async () => (await merchant.balanceCents()) === before + 300);
  });

  test('whose form changes from report to report is credited once by webhooks, queries and the statement', async () => {
    const merchant = await service.newMerchant();
    const id = await completes(merchant);
    const before = await merchant.balanceCents();
    await service.simulator.control('PUT', '/control/behaviour', {
      returnForm: 'changing',
      webhook: 'duplicate',
    });
    await giveBack(`/control/payouts/${id}/return`, { amountCents: 300 });
    await giveBack(`/control/payouts/${id}/return`, { amountCents: 300 });
    await until(async () => (await merchant.balanceCents()) === before + 600);
    for (let n = 0; n < 3; n++)
      await reconcile(
        service.runtime,
        { ...service.runtime, actor: 'tester' },
        { accountId: merchant.ownerId, sinceMs: null },
      );
    await applied();
    expect(await merchant.balanceCents()).toBe(before + 600);
    expect(await journals(id, 'return')).toHaveLength(2);
  });
});

describe('different returns with the same id', () => {
  test('of two Pix of one charge are both taken back: each Pix has its own', async () => {
    const merchant = await service.newMerchant();
    const { body } = await merchant.charge({ amountCents: 1_000 });
    for (let n = 0; n < 2; n++)
      await service.simulator.control('POST', `/control/charges/${providerIdOf(body.id)}/pay`);
    await until(async () => (await incidentsOf(service, body.id)).length === 1);
    const { body: state } = await service.simulator.control(
      'GET',
      `/control/state?txid=${providerIdOf(body.id)}`,
    );
    await service.simulator.control('PUT', '/control/behaviour', { returnForm: 'id' });
    for (const { endToEnd } of state.charges[0].payments)
      await giveBack(`/control/charges/${body.id}/return`, { endToEnd, id: '1' });
    await until(async () => (await incidentsOf(service, body.id)).length === 3);
    // A credited amount is taken from the operation, one in suspense from there.
    expect(await journalsOf(service, body.id)).toEqual(
      expect.arrayContaining(['credit', 'bookToSuspense', 'debit', 'bookToSuspense']),
    );
    const sums = await service.database.admin<{ clearing: string; suspense: string }>(
      'SELECT sum(clearing) AS clearing, sum(suspense) AS suspense FROM journal WHERE subject = $1',
      [body.id],
    );
    expect(sums).toEqual([{ clearing: '0', suspense: '0' }]);
  });

  test('of two charges of an account are two debits with an incident each', async () => {
    const merchant = await service.newMerchant();
    const paid: string[] = [];
    for (let n = 0; n < 2; n++) {
      const { body } = await merchant.charge({ amountCents: 1_000 });
      await hear([receivedItem(body.id, 1_000, `Etwo${n}${body.id.slice(0, 8)}`)]);
      paid.push(body.id);
    }
    for (const [n, id] of paid.entries())
      await hear([
        { ...receivedItem(id, 1_000, `Etwo${n}${id.slice(0, 8)}`), devolucoes: [back({ id: '7' }, '10.00')] },
      ]);
    for (const id of paid) expect(await incidentsOf(service, id)).toMatchObject([{ kind: 'debit' }]);
    await service.simulator.control('GET', '/control/state');
  });

  test('of two Pix that match nothing are both booked, in any form once', async () => {
    const strangers = ['Estranger1', 'Estranger2'];
    for (const endToEnd of strangers)
      for (const names of [
        { id: '9' },
        { rtrId: `${rtr(9)}${endToEnd.slice(-1)}`.slice(1).padStart(32, 'D') },
        { id: '9' },
      ])
        await hear([
          { ...receivedItem(crypto.randomUUID(), 8_000, endToEnd), devolucoes: [back(names, '80.00')] },
        ]);
    const sums = await service.database.admin<{ n: string; cents: string }>(
      `SELECT count(*) AS n, sum(suspense) AS cents FROM journal WHERE template = 'bookToSuspense' AND subject = account_id
        AND (reference LIKE 'Estranger%')`,
    );
    expect(sums).toEqual([{ n: '4', cents: '0' }]);
  });

  test('of a Pix that matches nothing is booked once when one report lists it twice', async () => {
    const listed = (...devolucoes: object[]) => ({
      ...receivedItem(crypto.randomUUID(), 8_000, 'Elisted1'),
      devolucoes,
    });
    const one = { id: 'a', rtrId: rtr(77) };
    await hear([listed(back(one, '80.00'), back(one, '80.00'))]);
    // Known under both names by now.
    await hear([listed(back({ id: 'a' }, '80.00'), back({ rtrId: rtr(77) }, '80.00'))]);
    const sums = await service.database.admin<{ n: string; cents: string }>(
      `SELECT count(*) AS n, sum(suspense) AS cents FROM journal WHERE template = 'bookToSuspense' AND subject = account_id
        AND reference IN ('Elisted1', $1)`,
      [rtr(77)],
    );
    expect(sums).toEqual([{ n: '2', cents: '0' }]);
  });
});
