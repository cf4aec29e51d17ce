import { type Desk, newOperator } from '@vintem/testkit/console.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { journalsOf, statusOf } from '@vintem/testkit/settlement.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operatorRoles } from '../../src/operate/acts.ts';

/** A return that names no payment, given to a transfer in the console: by whom, and when it takes two people. */

let service: Service;
let shop: Merchant;
let ana: Desk;
let rui: Desk;

beforeAll(async () => {
  service = await openService({ env: { OPERATOR_ALONE_CENTS: '500' } });
  [ana, rui] = [await newOperator(service, 'treasury'), await newOperator(service, 'treasury')];
  shop = await service.newMerchant();
  await shop.receive(20_000);
});
afterAll(() => service?.close());

async function completed(): Promise<string> {
  const { body } = await shop.transfer({ amountCents: 2_000 });
  await until(async () => (await statusOf(service, body.id)) === 'completed');
  return body.id;
}

let returns = 0;
const newReturn = (amountCents: number) => ({
  returnId: `D${String(++returns).padStart(31, '0')}`,
  amountCents,
  at: new Date(service.runtime.clock.now()).toISOString(),
});
type Wanted = ReturnType<typeof newReturn>;

const reason = 'visto no extrato do banco';
const look = (desk: Desk, id: string, wanted: Wanted) =>
  desk.call('POST', `/payments/${id}/return/acts`, wanted);
const book = (desk: Desk, id: string, wanted: Wanted, shown: string) =>
  desk.call('POST', `/payments/${id}/return`, { ...wanted, reason, shown });
const posted = async (id: string) => (await journalsOf(service, id)).filter((one) => one === 'return').length;
const audited = (id: string) =>
  service.database.admin(
    `SELECT actor, reason, detail FROM audit WHERE action = 'payment.returned' AND subject = $1`,
    [id],
  );

describe('A return that names no payment', () => {
  test('is shown and booked by treasury alone, and only as it was shown', async () => {
    const id = await completed();
    const wanted = newReturn(400);
    for (const role of operatorRoles.filter((one) => one !== 'treasury')) {
      const desk = await newOperator(service, role);
      const statuses = [
        (await look(desk, id, wanted)).status,
        (await book(desk, id, wanted, 'a'.repeat(64))).status,
      ];
      expect([role, statuses]).toEqual([role, [403, 403]]);
    }
    expect((await book(ana, id, wanted, 'a'.repeat(64))).body.code).toBe('facts_changed');
    const { body } = await look(ana, id, wanted);
    expect(body).toMatchObject({ movedCents: 400, alone: true, postings: [{ movement: 'return' }] });
    // Another amount, or another return, is another act.
    expect((await book(ana, id, { ...wanted, amountCents: 401 }, body.shown)).body.code).toBe(
      'facts_changed',
    );
    expect((await book(ana, id, newReturn(400), body.shown)).body.code).toBe('facts_changed');
    expect(await posted(id)).toBe(0);
    expect((await book(ana, id, wanted, body.shown)).body).toEqual({ requestId: null });
    expect([await posted(id), await audited(id)]).toMatchObject([1, [{ actor: ana.email, reason }]]);
    expect((await look(ana, id, wanted)).body.code).toBe('act_refused');
  });

  test('above the threshold takes a second person, who sees the same postings', async () => {
    const id = await completed();
    const wanted = newReturn(501);
    const { shown, alone } = (await look(ana, id, wanted)).body;
    expect(alone).toBe(false);
    const { requestId } = (await book(ana, id, wanted, shown)).body;
    expect(await posted(id)).toBe(0);
    const { requests } = (await rui.call('GET', '/requests')).body;
    expect(requests.find((one: { id: string }) => one.id === requestId)).toMatchObject({
      ...{ act: 'bookReturn', paymentId: id, returnId: wanted.returnId, movedCents: 501, mayAgree: true },
      postings: [{ movement: 'return' }],
    });
    const agree = (desk: Desk) => desk.call('POST', `/requests/${requestId}/agreement`, { shown });
    expect((await agree(ana)).body.code).toBe('own_request');
    expect((await agree(rui)).status).toBe(200);
    expect(await posted(id)).toBe(1);
    expect(await audited(id)).toMatchObject([{ actor: `${ana.email} + ${rui.email}`, reason }]);
    expect((await agree(rui)).body.code).toBe('request_closed');
  });
});
