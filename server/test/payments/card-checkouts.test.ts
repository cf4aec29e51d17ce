import {
  type Merchant,
  openService,
  type Service,
  type Simulator,
  simulatorAt,
  until,
} from '@vintem/testkit/service.ts';
import { fillQueryLimit, spendQueryLimit } from '@vintem/testkit/settlement.ts';
import { verified } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { stepCash } from '../../src/flow/cash-transfers.ts';
import { bringCostsUpToDate } from '../../src/flow/connection-movements.ts';
import { createInbound } from '../../src/flow/inbound.ts';
import { keepUnread } from '../../src/flow/keep-unread.ts';
import { setConditions } from '../../src/operate/accounts/conditions.ts';
import { bookMovement } from '../../src/operate/book-movement.ts';
import { createConnection } from '../../src/operate/connections/connections.ts';
import { routePayouts, takePayoutAsOwn } from '../../src/operate/connections/payouts.ts';
import { storyOf } from '../../src/operate/look.ts';
import { reconcile } from '../../src/operate/reconcile.ts';
import { anonymiseSubject, exportSubject } from '../../src/operate/subject.ts';
import { stepUnread } from '../../src/operate/unread/unread-items.ts';
import type { Provider } from '../../src/provider/provider.ts';
import { paymentIdFor } from '../../src/store/rows/idempotency.ts';
import { findUsedUp } from '../../src/store/rows/payments.sql.ts';

/**
 * Payments by card on the page of an acquirer: what each report makes of payment, books and answers. In Stripe's protocol whole, and what Asaas does
 * otherwise at every acquirer. Which duties all of them have says `acquirers.test.ts`.
 */

let service: Service;
let acquirer: Simulator;

beforeAll(async () => {
  service = await openService();
  acquirer = simulatorAt(`${service.simulator.url}/stripe`);
  const config = { simulatorUrl: service.simulator.url, hooksUrl: service.url, provider: null };
  for (const [name, adapter] of [
    ['cartoes', 'stripe-checkout'],
    ['parcelas', 'asaas-checkout'],
  ] as const) {
    await createConnection(
      { ...service.runtime, actor: 'tester', config },
      { ...{ name, adapter, mode: 'shared', url: null, credentials: null, simulated: true } },
    );
    await until(async () => service.runtime.providers.has(name));
  }
});
afterAll(async () => {
  const { ok, checks } = await verified(service);
  await service.close();
  expect(ok ? [] : checks.filter((one) => !one.ok)).toEqual([]);
});
beforeEach(async () => {
  await service.database.admin('DELETE FROM breaker');
  await acquirer.behave({});
});

async function shop(conditions: object = {}): Promise<Merchant> {
  const merchant = await service.newMerchant();
  const card = { cardConnection: 'cartoes', cardFeeCents: 39, cardFeeBps: 399, minimumCardCents: 500 };
  await setConditions({ ...service.cellOf(merchant), actor: 'tester' }, merchant.ownerId, {
    ...card,
    ...conditions,
  });
  return merchant;
}

const order = (fields: object = {}) => ({
  ...{ amountCents: 10_000, payerName: 'Maria Silva', description: 'Pedido 1042' },
  requestKey: crypto.randomUUID(),
  ...fields,
});

const pay = (merchant: Merchant, fields: object = {}) =>
  merchant.call('POST', '/card/checkouts', order(fields));

const move = async (id: string, action: string, fields: object = {}) => {
  // At the root: a test need not know in which dialect the page lives.
  const { status, body } = await service.simulator.control(
    'POST',
    `/control/cards/${id.replaceAll('-', '')}/${action}`,
    fields,
  );
  expect({ action, status, body }).toMatchObject({ status: 200 });
  return body;
};

const payment = async (merchant: Merchant, id: string) =>
  (await merchant.call('GET', `/payments/${id}`)).body;

const becomes = (merchant: Merchant, id: string, what: object) =>
  expect.poll(() => payment(merchant, id), { interval: 50 }).toMatchObject(what);

/** The id of the payment that a request makes. */
async function idOf(ownerId: string, { requestKey }: { requestKey: string }): Promise<string> {
  const [row] = await service.database.admin<{ number: number }>('SELECT number FROM account WHERE id = $1', [
    ownerId,
  ]);
  return paymentIdFor(service.runtime.identity, { id: ownerId, number: row?.number ?? 0 }, requestKey);
}

const pagesOf = async (at: Simulator, id: string): Promise<{ ref: string; intent?: string }[]> => {
  const { cards } = (await at.control('GET', '/control/state')).body;
  return cards.filter((one: { id: string }) => one.id === id.replaceAll('-', ''));
};

const account = async (merchant: Merchant) => (await merchant.call('GET', '/account')).body;

const eventsOf = async (merchant: Merchant, id: string): Promise<string[]> =>
  (await merchant.call('GET', '/events?limit=100')).body.events
    .filter((one: { data: { id?: string } }) => one.data.id === id)
    .map((one: { type: string }) => one.type)
    .reverse();

describe('A card checkout', () => {
  test('is pending with a page of ours, is held once approved, and is the merchant’s once released [2.1i]', async () => {
    const merchant = await shop();
    const { status, body } = await pay(merchant);
    expect(status).toBe(201);
    expect(body).toMatchObject({
      ...{ kind: 'deposit', paymentMethod: 'card', status: 'pending', feeCents: 438, card: null },
      ...{ expectedNetAmountCents: 9562, settledAt: null },
    });
    expect(body.checkoutUrl).toMatch(/\/pay\/[\w-]{51}$/);
    const there = await fetch(body.checkoutUrl, { redirect: 'manual' });
    expect([there.status, there.headers.get('location')]).toEqual([
      303,
      expect.stringContaining('/stripe/c/pay/cs_test_'),
    ]);
    // It stays where the payer's browser reaches it after each query, which answers the address once more.
    const page = await fetch(there.headers.get('location') ?? '');
    expect(page.status).toBe(200);
    expect(await account(merchant)).toMatchObject({
      ...{
        cardFeeCents: 39,
        cardFeeBps: 399,
        minimumCardCents: 500,
        maximumCardCents: 200_000,
        cardHeldCents: 0,
      },
    });

    await move(body.id, 'approve', { brand: 'mastercard', last4: '4444' });
    await becomes(merchant, body.id, {
      ...{ status: 'paid', settledAt: null, cardSettlementStatus: 'held' },
      card: {
        ...{ status: 'paid', brand: 'mastercard', last4: '4444', installments: 1 },
        ...{ refusedReason: null, attemptsLeft: null },
      },
    });
    const held = await payment(merchant, body.id);
    expect(held).not.toHaveProperty('checkoutUrl');
    expect(Date.parse(held.releaseAt) - Date.parse(held.paidAt)).toBe(30 * 86_400_000);
    expect(await account(merchant)).toMatchObject({ balanceCents: 0, cardHeldCents: 10_000 });

    await move(body.id, 'release');
    await becomes(merchant, body.id, {
      ...{ status: 'paid', cardSettlementStatus: 'available', settledAt: expect.any(String) },
      ...{ providerFeeCents: 438, netAmountCents: 9562 },
    });
    expect(await account(merchant)).toMatchObject({ balanceCents: 9562, cardHeldCents: 0 });
    expect(await eventsOf(merchant, body.id)).toEqual(['charge.paid', 'charge.card_available']);
  });

  test('is made once for a request key, whatever answer was lost, and another body under the key is refused', async () => {
    const merchant = await shop();
    const asked = order();
    await acquirer.behave({ checkout: 'lose-answer' });
    const first = await merchant.call('POST', '/card/checkouts', asked);
    expect(first.body).toMatchObject({ status: 'unknown' });
    expect(first.body).not.toHaveProperty('checkoutUrl');
    await acquirer.behave({});
    await becomes(merchant, first.body.id, { status: 'pending' });
    const again = await merchant.call('POST', '/card/checkouts', asked);
    expect([again.status, again.headers.get('idempotent-replayed'), again.body.id]).toEqual([
      ...[201, 'true', first.body.id],
    ]);
    for (const other of [{ amountCents: 9_000 }, { expiresInMinutes: 61 }, { payerName: 'Ana' }])
      expect((await merchant.call('POST', '/card/checkouts', { ...asked, ...other })).body.code).toBe(
        'idempotency_conflict',
      );
    expect((await merchant.charge({ requestKey: asked.requestKey })).body.code).toBe('idempotency_conflict');
    const { cards } = (await acquirer.control('GET', '/control/state')).body;
    const pages = cards.filter((one: { id: string }) => one.id === first.body.id.replaceAll('-', ''));
    expect(pages).toEqual([expect.objectContaining({ timesReceived: 1 })]);
  });

  test('that is approved before the answer to its creation comes is paid by that, once', async () => {
    const merchant = await shop();
    await acquirer.behave({ checkout: 'hang' });
    const request = order();
    const asked = merchant.call('POST', '/card/checkouts', request);
    const id = await idOf(merchant.ownerId, request);
    await until(async () => (await pagesOf(acquirer, id)).length > 0);
    await move(id, 'approve');
    await becomes(merchant, id, { status: 'paid', cardSettlementStatus: 'held' });
    expect((await asked).body).toMatchObject({ id });
    await acquirer.behave({});
    expect((await merchant.call('POST', '/card/checkouts', request)).body).toMatchObject({
      id,
      status: 'paid',
    });
    expect(await pagesOf(acquirer, id)).toHaveLength(1);
    expect((await eventsOf(merchant, id)).filter((type) => type === 'charge.paid')).toHaveLength(1);
    await expectSameAsAcquirer();
  });

  test('whose request was lost is made by its repeat, under the same id', async () => {
    const merchant = await shop();
    await acquirer.behave({ checkout: 'lose-request' });
    const { body } = await pay(merchant);
    expect(body.status).toBe('unknown');
    await acquirer.behave({});
    await becomes(merchant, body.id, { status: 'pending', checkoutUrl: expect.any(String) });
  });

  test('that the acquirer refuses to make has failed', async () => {
    const merchant = await shop();
    await acquirer.behave({ checkout: 'refuse' });
    const { body } = await pay(merchant);
    expect(body).toMatchObject({ status: 'failed', reasonCode: 'provider_refused' });
    // Its words are in the story of the payment, and counted.
    const error = (await storyOf(service.runtime, body.id)).words.at(-1)?.name ?? '';
    expect(error).toMatch(/^400 \S/);
    const counted = [...service.runtime.measures.providerErrors.all()].map(({ labels }) => labels);
    expect(counted).toContainEqual([expect.any(String), 'create_checkout', error]);
  });

  test('says why an attempt was refused in words of ours, how many are left, and is paid by a later one [8b]', async () => {
    const merchant = await shop();
    const { id } = (await pay(merchant)).body;
    await move(id, 'refuse', { reason: 'expired_card', brand: 'amex', last4: '0005' });
    await becomes(merchant, id, {
      status: 'pending',
      card: {
        ...{ status: 'refused', brand: 'amex', last4: '0005', installments: 1, attemptsLeft: 2 },
        refusedReason: 'The card has expired.',
      },
    });
    await move(id, 'refuse', { reason: 'do_not_honor' });
    await becomes(merchant, id, { card: { attemptsLeft: 1, refusedReason: expect.any(String) } });
    await move(id, 'review');
    await becomes(merchant, id, { status: 'pending', card: { status: 'processing', refusedReason: null } });
    await move(id, 'approve');
    await becomes(merchant, id, { status: 'paid', cardSettlementStatus: 'held' });
    expect(await eventsOf(merchant, id)).toEqual([
      'charge.card_refused',
      'charge.card_refused',
      'charge.paid',
    ]);
  });

  test('is closed once its third attempt was refused, and an approval that was quicker is a payment', async () => {
    const merchant = await shop();
    const [first, other] = [(await pay(merchant)).body.id, (await pay(merchant)).body.id];
    await acquirer.behave({ cancel: 'error-500' });
    for (const id of [first, other]) for (let attempt = 0; attempt < 3; attempt++) await move(id, 'refuse');
    await becomes(merchant, first, {
      ...{ status: 'pending', notice: expect.any(String) },
      card: { status: 'refused', attemptsLeft: 0 },
    });
    await becomes(merchant, other, { status: 'pending', notice: expect.any(String) });
    await move(other, 'approve');
    await becomes(merchant, other, { status: 'paid', cardSettlementStatus: 'held' });
    await acquirer.behave({});
    await becomes(merchant, first, { status: 'expired' });
    const pages = (await acquirer.control('GET', '/control/state')).body.cards;
    expect(pages.find((one: { id: string }) => one.id === first.replaceAll('-', ''))).toMatchObject({
      status: 'expired',
      refusals: 3,
    });
    expect((await eventsOf(merchant, first)).at(-1)).toBe('charge.expired');
  });

  test('expires by the word of its acquirer, and an approval that comes after all is a payment', async () => {
    const merchant = await shop();
    const { id, checkoutUrl } = (await pay(merchant)).body;
    await move(id, 'expire');
    await becomes(merchant, id, { status: 'expired' });
    const there = await fetch(checkoutUrl, { redirect: 'manual' });
    expect(there.headers.get('location')).not.toContain('/stripe/');
    await move(id, 'approve');
    await becomes(merchant, id, { status: 'paid', cardSettlementStatus: 'held' });
    expect((await account(merchant)).cardHeldCents).toBe(10_000);
  });

  test('is closed before its time by the word of its acquirer, once, and says so to every repeat', async () => {
    const merchant = await shop();
    const { id, checkoutUrl } = (await pay(merchant)).body;
    const expire = () => merchant.call('POST', `/card/checkouts/${id}/expire`, {});
    const closed = await expire();
    expect([closed.status, closed.body]).toMatchObject([200, { id, status: 'expired' }]);
    for (const gone of ['checkoutUrl', 'notice']) expect(closed.body).not.toHaveProperty(gone);
    const { cards } = (await acquirer.control('GET', '/control/state')).body;
    expect(cards.find((one: { id: string }) => one.id === id.replaceAll('-', '')).status).toBe('expired');
    const there = await fetch(checkoutUrl, { redirect: 'manual' });
    expect(there.headers.get('location')).not.toContain('/stripe/');
    expect((await expire()).body).toEqual(closed.body);
    expect((await merchant.call('POST', `/payments/${id}/cancel`, {})).body).toEqual(closed.body);
    expect(await eventsOf(merchant, id)).toEqual(['charge.expired']);
  });

  test('whose close was not answered is closed all the same, and says so once', async () => {
    const merchant = await shop();
    const { id } = (await pay(merchant)).body;
    await acquirer.behave({ cancel: 'lose-answer', webhook: 'drop' });
    const asked = await merchant.call('POST', `/card/checkouts/${id}/expire`, {});
    expect(asked.body).toMatchObject({ status: 'pending', notice: expect.any(String) });
    await acquirer.behave({});
    await becomes(merchant, id, { status: 'expired' });
    expect(await eventsOf(merchant, id)).toEqual(['charge.expired']);
  });

  test('that was approved before it could be closed is paid, whichever was asked first, and a charge of Pix has no page', async () => {
    const merchant = await shop();
    const { id } = (await pay(merchant)).body;
    await acquirer.behave({ webhook: 'drop' });
    await move(id, 'approve');
    const asked = await merchant.call('POST', `/card/checkouts/${id}/expire`, {});
    expect([asked.status === 200 ? asked.body.status : asked.body.code]).not.toContain('expired');
    await becomes(merchant, id, { status: 'paid', cardSettlementStatus: 'held' });
    expect((await merchant.call('POST', `/card/checkouts/${id}/expire`, {})).body.code).toBe(
      'charge_already_paid',
    );
    expect(await service.database.admin(`SELECT FROM intent WHERE kind = 'cancel'`)).toEqual([]);
    const pix = (await merchant.charge()).body.id;
    expect((await merchant.call('POST', `/card/checkouts/${pix}/expire`, {})).body.code).toBe(
      'payment_not_found',
    );
  });

  test('books the cost of its acquirer with the approval, so that both agree on what the acquirer has', async () => {
    const merchant = await shop();
    await acquirer.behave({ fees: 'on' });
    const { id } = (await pay(merchant)).body;
    await move(id, 'approve');
    await becomes(merchant, id, { status: 'paid' });
    const [journal] = await service.database.admin(
      `SELECT template, clearing, provider_cost AS cost, card_held AS held, connection FROM journal WHERE subject = $1`,
      [id],
    );
    expect(journal).toEqual({
      ...{ template: 'cardApprove', clearing: '-9562', cost: '-438', held: '10000', connection: 'cartoes' },
    });
    await move(id, 'release');
    await becomes(merchant, id, { cardSettlementStatus: 'available' });
    expect((await account(merchant)).balanceCents).toBe(9562);
    const [sum] = await service.database.admin<{ clearing: string }>(
      `SELECT -sum(clearing) AS clearing FROM journal WHERE connection = 'cartoes'`,
    );
    const balance = await service.runtime.providers.get('cartoes')?.balance();
    expect(Number(sum?.clearing)).toBe(balance?.totalCents);
  });

  test('is shown by lists with its method, and a filter parts it from Pix', async () => {
    const merchant = await shop();
    const { id } = (await pay(merchant)).body;
    const pix = (await merchant.charge()).body.id;
    const listed = async (method: string) =>
      (await merchant.call('GET', `/payments?paymentMethod=${method}`)).body.payments.map(
        (one: { id: string; paymentMethod: string }) => [one.id, one.paymentMethod],
      );
    expect(await listed('card')).toEqual([[id, 'card']]);
    expect(await listed('pix')).toEqual([[pix, 'pix']]);
  });
});

describe('An approval that is not what was asked', () => {
  test.each([
    ['amount', { amountCents: 9_999 }],
    ['currency', { currency: 'usd' }],
    ['number of instalments', { installments: 2 }],
  ])('of another %s posts nothing, and a person looks', async (_what, fields) => {
    const merchant = await shop();
    const { id } = (await pay(merchant)).body;
    await move(id, 'approve', fields);
    const incidents = () =>
      service.database.admin<{ kind: string }>('SELECT kind, freezes FROM incident WHERE payment_id = $1', [
        id,
      ]);
    await expect.poll(incidents).toEqual([{ kind: 'report_mismatch', freezes: false }]);
    expect(await payment(merchant, id)).toMatchObject({ status: 'pending', card: null });
    expect(await service.database.admin('SELECT FROM journal WHERE subject = $1', [id])).toEqual([]);
    expect(await account(merchant)).toMatchObject({ balanceCents: 0, cardHeldCents: 0 });
  });
});

/** By how much the acquirer has more than the books say: the approvals above that were not what was asked. */
let unbookedCents = 0;
async function differenceAtAcquirer(): Promise<number> {
  const [sum] = await service.database.admin<{ clearing: string }>(
    `SELECT -sum(clearing) AS clearing FROM journal WHERE connection = 'cartoes'`,
  );
  const balance = await service.runtime.providers.get('cartoes')?.balance();
  return (balance?.totalCents ?? 0) - Number(sum?.clearing);
}
const expectSameAsAcquirer = async () => expect(await differenceAtAcquirer()).toBe(unbookedCents);

async function paidCard(merchant: Merchant, state: 'held' | 'available' = 'held'): Promise<string> {
  const { id } = (await pay(merchant)).body;
  await move(id, 'approve');
  await becomes(merchant, id, { status: 'paid' });
  if (state === 'available') {
    await move(id, 'release');
    await becomes(merchant, id, { cardSettlementStatus: 'available' });
  }
  return id;
}

const refund = (merchant: Merchant, id: string, fields: object = {}) =>
  merchant.call('POST', `/payments/${id}/refunds`, { requestKey: crypto.randomUUID(), ...fields });

const refundIs = (merchant: Merchant, id: string, what: object) =>
  expect
    .poll(async () => (await merchant.call('GET', `/refunds/${id}`)).body, { interval: 50 })
    .toMatchObject(what);

describe('A refund of a card payment', () => {
  beforeAll(async () => {
    unbookedCents = await differenceAtAcquirer();
  });

  test('goes out of what the acquirer holds, in parts, and the rest is released less the whole fee', async () => {
    const merchant = await shop();
    const id = await paidCard(merchant);
    const asked = { requestKey: crypto.randomUUID(), amountCents: 3_000 };
    const first = await merchant.call('POST', `/payments/${id}/refunds`, asked);
    expect([first.status, first.body]).toMatchObject([201, { paymentId: id, amountCents: 3_000 }]);
    await refundIs(merchant, first.body.id, { status: 'completed', settledAt: expect.any(String) });
    expect(await account(merchant)).toMatchObject({ balanceCents: 0, cardHeldCents: 7_000 });
    const again = await merchant.call('POST', `/payments/${id}/refunds`, asked);
    expect([again.headers.get('idempotent-replayed'), again.body.id]).toEqual(['true', first.body.id]);
    expect((await refund(merchant, id, { amountCents: 7_001 })).body.code).toBe('refund_exceeds');
    await expectSameAsAcquirer();
    await move(id, 'release');
    await becomes(merchant, id, { cardSettlementStatus: 'available', refundedCents: 3_000 });
    expect(await account(merchant)).toMatchObject({ balanceCents: 7_000 - 438, cardHeldCents: 0 });
    expect(await eventsOf(merchant, id)).toEqual(['charge.paid', 'charge.card_available']);
    const lines = (await merchant.call('GET', '/statement')).body.lines;
    expect(lines.map((one: { kind: string; amountCents: number }) => [one.kind, one.amountCents])).toEqual([
      ['charge', 7_000],
      ['charge_fee', -438],
    ]);
    await expectSameAsAcquirer();
  });

  test('of a whole held payment leaves the fee as it is agreed: given back, or owed', async () => {
    for (const [refundFees, balanceCents] of [
      ['returned', 0],
      ['kept', -438],
    ] as const) {
      const merchant = await shop({ refundFees });
      const id = await paidCard(merchant);
      const { body } = await refund(merchant, id);
      await refundIs(merchant, body.id, { status: 'completed', amountCents: 10_000 });
      expect(await account(merchant)).toMatchObject({ balanceCents: 0, cardHeldCents: 0 });
      await move(id, 'release');
      await becomes(merchant, id, { cardSettlementStatus: 'available' });
      expect((await account(merchant)).balanceCents).toBe(balanceCents);
    }
  });

  test('of all that is held, with the fee kept, leaves its operation undeletable until the release takes the fee', async () => {
    const merchant = await shop({ refundFees: 'kept' });
    const id = await paidCard(merchant);
    const { body } = await refund(merchant, id);
    await refundIs(merchant, body.id, { status: 'completed' });
    const branch = { name: 'Filial', requestKey: crypto.randomUUID() };
    const other = await merchant.call('POST', '/operations', branch);
    expect(other.status).toBe(201);
    const remove = () => merchant.call('DELETE', `/operations/${merchant.operationId}`);
    expect((await remove()).body.code).toBe('operation_has_unfinished_payments');
    await move(id, 'release');
    await becomes(merchant, id, { cardSettlementStatus: 'available' });
    expect((await account(merchant)).balanceCents).toBe(-438);
    expect((await remove()).body.code).toBe('operation_has_balance');
  });

  test('of a released one is paid out of the balance, which must have it', async () => {
    const merchant = await shop();
    const id = await paidCard(merchant, 'available');
    expect((await refund(merchant, id)).body.code).toBe('insufficient_balance');
    const { body } = await refund(merchant, id, { amountCents: 9_000 });
    await refundIs(merchant, body.id, { status: 'completed' });
    expect((await account(merchant)).balanceCents).toBe(562);
    await expectSameAsAcquirer();
  });

  test('that the acquirer refuses is held again, or back in the balance where it was released meanwhile', async () => {
    const merchant = await shop();
    const id = await paidCard(merchant);
    await acquirer.behave({ refund: 'refuse-in-answer' });
    const { body } = await refund(merchant, id, { amountCents: 3_000 });
    await refundIs(merchant, body.id, { status: 'failed', reasonCode: 'provider_refused' });
    expect(await account(merchant)).toMatchObject({ balanceCents: 0, cardHeldCents: 10_000 });
    await acquirer.behave({ refund: 'refuse-later' });
    const later = await refund(merchant, id, { amountCents: 3_000 });
    await refundIs(merchant, later.body.id, { status: 'failed' });
    await move(id, 'release');
    await becomes(merchant, id, { cardSettlementStatus: 'available' });
    expect((await account(merchant)).balanceCents).toBe(9_562);
    await expectSameAsAcquirer();
  });

  test('whose answer was lost is carried out once', async () => {
    const merchant = await shop();
    const id = await paidCard(merchant);
    await acquirer.behave({ refund: 'lose-answer', webhook: 'drop' });
    const { body } = await refund(merchant, id, { amountCents: 3_000 });
    expect(body.status).toBe('unknown');
    await acquirer.behave({});
    await refundIs(merchant, body.id, { status: 'completed' });
    const { cards } = (await acquirer.control('GET', '/control/state')).body;
    const card = cards.find((one: { id: string }) => one.id === id.replaceAll('-', ''));
    expect(card.refundedCents).toBe(3_000);
  });

  test('that a person made on the acquirer’s pages is taken from the merchant once, with an incident', async () => {
    const merchant = await shop();
    const id = await paidCard(merchant);
    await move(id, 'refund', { amountCents: 2_500 });
    await expect.poll(async () => (await account(merchant)).cardHeldCents, { interval: 50 }).toBe(7_500);
    const incidents = await service.database.admin(
      'SELECT kind, freezes FROM incident WHERE payment_id = $1',
      [id],
    );
    expect(incidents).toEqual([{ kind: 'debit', freezes: false }]);
    expect((await refund(merchant, id, { amountCents: 7_501 })).body.code).toBe('refund_exceeds');
    await expectSameAsAcquirer();
  });
});

describe('A chargeback of a card payment', () => {
  const disputesOf = async (merchant: Merchant) => (await merchant.call('GET', '/disputes')).body.disputes;
  const disputeIs = (merchant: Merchant, what: object) =>
    expect.poll(() => disputesOf(merchant), { interval: 50 }).toMatchObject([what]);

  test('before the release takes what is held, and a won one gives it back', async () => {
    const merchant = await shop();
    await acquirer.behave({ fees: 'on' });
    const id = await paidCard(merchant);
    await move(id, 'chargeback');
    await disputeIs(merchant, {
      ...{ paymentId: id, status: 'open', amountCents: 10_000, heldCents: 0, debitedCents: 10_000 },
      ...{ reason: 'fraudulent', deadlineAt: expect.any(String), endedAt: null },
    });
    expect(await account(merchant)).toMatchObject({ balanceCents: 0, cardHeldCents: 0 });
    expect((await payment(merchant, id)).notice).toEqual(expect.any(String));
    await expectSameAsAcquirer();
    await move(id, 'win');
    await disputeIs(merchant, { status: 'rejected', debitedCents: 0, endedAt: expect.any(String) });
    expect(await account(merchant)).toMatchObject({ balanceCents: 0, cardHeldCents: 10_000 });
    await expectSameAsAcquirer();
    await move(id, 'release');
    await becomes(merchant, id, { cardSettlementStatus: 'available' });
    expect((await account(merchant)).balanceCents).toBe(9_562);
    const events = (await merchant.call('GET', '/events?limit=100')).body.events;
    expect(
      events.map(({ type }: { type: string }) => type).filter((type: string) => type.startsWith('dispute.')),
    ).toEqual(['dispute.rejected', 'dispute.opened']);
    expect(await eventsOf(merchant, id)).toEqual([
      ...['charge.paid', 'charge.card_chargeback', 'charge.card_available'],
    ]);
    await expectSameAsAcquirer();
  });

  test('after the release is a debit of the balance, and what is missing a debt, also where no delivery reported it and payments have just spent the queries', async () => {
    const merchant = await shop();
    await acquirer.behave({ fees: 'on' });
    const id = await paidCard(merchant, 'available');
    await acquirer.behave({ fees: 'on', webhook: 'drop' });
    await move(id, 'chargeback');
    await spendQueryLimit(service);
    await service.database.admin(`UPDATE job SET due_at = now() WHERE what = 'disputes'`);
    await disputeIs(merchant, { status: 'open', debitedCents: 10_000 });
    expect((await account(merchant)).balanceCents).toBe(-438);
    await acquirer.behave({ fees: 'on' });
    await move(id, 'lose');
    await disputeIs(merchant, { status: 'accepted', debitedCents: 10_000 });
    const lines = (await merchant.call('GET', '/statement')).body.lines;
    expect(lines.map((one: { kind: string; amountCents: number }) => [one.kind, one.amountCents])).toEqual([
      ['charge', 10_000],
      ['charge_fee', -438],
      ['debit', -10_000],
    ]);
    expect((await refund(merchant, id, { amountCents: 1 })).body.code).toBe('refund_exceeds');
    await expectSameAsAcquirer();
  });

  test('of a payment that was refunded in part takes the rest of it, and the merchant owes what went back twice', async () => {
    const merchant = await shop();
    const id = await paidCard(merchant);
    const { body } = await refund(merchant, id, { amountCents: 4_000 });
    await refundIs(merchant, body.id, { status: 'completed' });
    await move(id, 'chargeback');
    await disputeIs(merchant, { status: 'open', debitedCents: 10_000 });
    expect(await account(merchant)).toMatchObject({ balanceCents: -4_000, cardHeldCents: 0 });
    await expectSameAsAcquirer();
    await move(id, 'win');
    await disputeIs(merchant, { status: 'rejected', debitedCents: 0 });
    expect(await account(merchant)).toMatchObject({ balanceCents: 0, cardHeldCents: 6_000 });
    await expectSameAsAcquirer();
  });
});

describe.each([
  { connection: 'cartoes', desk: 'stripe' },
  { connection: 'parcelas', desk: 'asaas' },
])('At every acquirer a payment by card ($desk)', ({ connection, desk }) => {
  const at = () => simulatorAt(`${service.simulator.url}/${desk}`);
  beforeEach(() => at().behave({ fees: 'on' }));
  const booked = async (): Promise<number> => {
    const [sum] = await service.database.admin<{ cents: string }>(
      'SELECT coalesce(-sum(clearing), 0) AS cents FROM journal WHERE connection = $1',
      [connection],
    );
    return Number(sum?.cents);
  };
  const there = async () => (await service.runtime.providers.get(connection)?.balance())?.totalCents ?? 0;
  let apartCents = 0;
  beforeAll(async () => {
    apartCents = (await there()) - (await booked());
  });
  const expectSame = async () => expect((await there()) - (await booked())).toBe(apartCents);
  const shopHere = () => shop({ cardConnection: connection });
  const heldFor = async (merchant: Merchant): Promise<string> => {
    const { id } = (await pay(merchant)).body;
    await move(id, 'approve');
    await becomes(merchant, id, { status: 'paid', cardSettlementStatus: 'held' });
    return id;
  };

  test('is held, is released, and is given back in part before and after that, and both have the same money', async () => {
    const merchant = await shopHere();
    const id = await heldFor(merchant);
    expect(await account(merchant)).toMatchObject({ balanceCents: 0, cardHeldCents: 10_000 });
    const first = (await refund(merchant, id, { amountCents: 2_000 })).body;
    await refundIs(merchant, first.id, { status: 'completed', amountCents: 2_000 });
    await expectSame();
    await move(id, 'release');
    await becomes(merchant, id, { cardSettlementStatus: 'available', settledAt: expect.any(String) });
    const second = (await refund(merchant, id, { amountCents: 3_000 })).body;
    await refundIs(merchant, second.id, { status: 'completed' });
    expect(await account(merchant)).toMatchObject({ balanceCents: 5_000 - 438, cardHeldCents: 0 });
    expect((await refund(merchant, id, { amountCents: 5_001 })).body.code).toBe('refund_exceeds');
    await expectSame();
  });

  test('is made, refused once and approved by queries alone, where no delivery comes', async () => {
    const merchant = await shopHere();
    await at().behave({ fees: 'on', webhook: 'drop' });
    const { id } = (await pay(merchant)).body;
    await move(id, 'refuse', { reason: 'insufficient_funds', brand: 'elo', last4: '0001' });
    await move(id, 'approve', { brand: 'elo', last4: '0002' });
    await becomes(merchant, id, { status: 'paid', card: { status: 'paid', last4: '0002' } });
    await expectSame();
  });

  test('of which the answer to a refund was lost is given back once', async () => {
    const merchant = await shopHere();
    const id = await heldFor(merchant);
    await at().behave({ fees: 'on', refund: 'lose-answer', webhook: 'drop' });
    const { body } = await refund(merchant, id, { amountCents: 4_000 });
    expect(body.status).toBe('unknown');
    await at().behave({ fees: 'on' });
    await refundIs(merchant, body.id, { status: 'completed' });
    const { cards } = (await at().control('GET', '/control/state')).body;
    const card = cards.find((one: { id: string }) => one.id === id.replaceAll('-', ''));
    expect(card.refundedCents).toBe(4_000);
    await expectSame();
  });

  test('that is charged back is a dispute, also where no delivery reports it, and comes back when that is won', async () => {
    const merchant = await shopHere();
    const id = await heldFor(merchant);
    await move(id, 'release');
    await becomes(merchant, id, { cardSettlementStatus: 'available' });
    await at().behave({ fees: 'on', webhook: 'drop' });
    await move(id, 'chargeback');
    const disputes = async () => {
      await fillQueryLimit(service);
      await service.database.admin(`UPDATE job SET due_at = 'epoch' WHERE what = 'disputes'`);
      return (await merchant.call('GET', '/disputes')).body.disputes;
    };
    const become = (what: object) => expect.poll(disputes, { interval: 200 }).toMatchObject([what]);
    await become({ paymentId: id, status: 'open', debitedCents: 10_000 });
    expect((await account(merchant)).balanceCents).toBe(-438);
    await expectSame();
    await move(id, 'win');
    await become({ status: 'rejected', debitedCents: 0 });
    expect((await account(merchant)).balanceCents).toBe(10_000 - 438);
    const told = (await eventsOf(merchant, id)).filter((type) => type === 'charge.card_chargeback');
    expect(told).toHaveLength(1);
    await expectSame();
  });

  test.each(['send', 'duplicate', 'reorder'])(
    'ends with its third refusal, each counted once however its deliveries come (%s), and an approval that comes after all is a payment',
    async (webhook) => {
      const merchant = await shopHere();
      const { id } = (await pay(merchant)).body;
      await at().behave({ fees: 'on', webhook });
      for (const left of [2, 1]) {
        await move(id, 'refuse', { brand: 'elo', last4: '0001' });
        await becomes(merchant, id, { status: 'pending', card: { status: 'refused', attemptsLeft: left } });
      }
      await move(id, 'refuse', { brand: 'elo', last4: '0003' });
      await becomes(merchant, id, { status: 'expired', card: { attemptsLeft: 0, last4: '0003' } });
      const { cards } = (await at().control('GET', '/control/state')).body;
      const page = cards.find((one: { id: string }) => one.id === id.replaceAll('-', ''));
      expect(page).toMatchObject({ status: 'expired', refusals: 3 });
      expect(await eventsOf(merchant, id)).toEqual([
        ...['charge.card_refused', 'charge.card_refused', 'charge.card_refused'],
        'charge.expired',
      ]);
      await move(id, 'approve');
      await becomes(merchant, id, { status: 'paid', cardSettlementStatus: 'held' });
      await expectSame();
    },
  );

  test('is not closed for its refusals while a further attempt may still be approved', async () => {
    const merchant = await shopHere();
    const { id } = (await pay(merchant)).body;
    for (const left of [2, 1]) {
      await move(id, 'refuse');
      await becomes(merchant, id, { card: { attemptsLeft: left } });
    }
    await move(id, 'review');
    await becomes(merchant, id, { card: { status: 'processing' } });
    // Its third refusal is heard while a fourth attempt is looked at.
    await service.database.admin(
      `UPDATE payment SET card = jsonb_set(card, '{refusals}', '3') WHERE id = $1`,
      [id],
    );
    const place = { accountId: merchant.ownerId, paymentId: '00000000-0000-0000-0000-000000000000' };
    const { sql } = service.cellOf(merchant);
    expect((await findUsedUp(sql, place, 100)).map(({ paymentId }) => paymentId)).not.toContain(id);
    await move(id, 'approve');
    await becomes(merchant, id, { status: 'paid', cardSettlementStatus: 'held' });
    await expectSame();
  });

  test('is closed before its time by the acquirer’s word, and an approval that comes after all is a payment', async () => {
    const merchant = await shopHere();
    const { id } = (await pay(merchant)).body;
    const closed = await merchant.call('POST', `/card/checkouts/${id}/expire`, {});
    expect([closed.status, closed.body]).toMatchObject([200, { id, status: 'expired' }]);
    await move(id, 'approve');
    await becomes(merchant, id, { status: 'paid', cardSettlementStatus: 'held' });
    await expectSame();
  });
});

describe('At Asaas a payment by card', () => {
  const asaas = () => simulatorAt(`${service.simulator.url}/asaas`);
  beforeEach(() => asaas().behave({}));

  test('counts refused attempts whose deliveries come before its page is known, and those of no page of ours never', async () => {
    const merchant = await shopHere();
    const { id } = (await pay(merchant)).body;
    const setRef = async (ref: string) => {
      const [row] = await service.database.admin<{ ref: string }>(
        `UPDATE payment p SET card = jsonb_set(p.card, '{ref}', to_jsonb($2::text)) FROM payment o
          WHERE p.id = $1 AND o.id = p.id RETURNING o.card ->> 'ref' AS ref`,
        [id, ref],
      );
      return row?.ref ?? '';
    };
    // As while the answer that names the page is not committed: deliveries of it name nothing that the books know.
    const ref = await setRef(crypto.randomUUID());
    const left = async (): Promise<number> => {
      const [row] = await service.database.admin<{ count: string }>(
        `SELECT count(*) FROM inbound WHERE connection = 'parcelas' AND applied_at IS NULL AND authentic`,
      );
      return Number(row?.count);
    };
    await expect.poll(left, { interval: 50 }).toBe(0);
    const leftAgain = async () => {
      await service.database.admin(
        `UPDATE inbound SET next_at = 'epoch' WHERE connection = 'parcelas' AND applied_at IS NULL`,
      );
      await createInbound(service.runtime).stepLeft();
      return left();
    };
    /** Those that were tried and name nothing: the delivery of a closed page is left for a moment too, until it is marked. */
    const namesNothing = async (): Promise<number> => {
      await leftAgain();
      const [row] = await service.database.admin<{ count: string }>(
        `SELECT count(*) FROM inbound WHERE connection = 'parcelas' AND applied_at IS NULL AND authentic AND tries > 0`,
      );
      return Number(row?.count);
    };
    for (let attempt = 0; attempt < 3; attempt++) await move(id, 'refuse');
    await expect.poll(namesNothing, { interval: 50 }).toBe(3);
    await setRef(ref);
    await expect.poll(leftAgain, { interval: 50 }).toBe(0);
    await becomes(merchant, id, { status: 'expired', card: { status: 'refused', attemptsLeft: 0 } });

    const { id: other } = (await pay(merchant)).body;
    const provider = service.runtime.providers.get('parcelas') as Provider;
    const back = { success: 'https://pay.example.com/a', cancel: 'https://pay.example.com/b' };
    const foreignId = crypto.randomUUID().replaceAll('-', '');
    const made = await provider.cards?.create({
      ...{ providerId: foreignId, amountCents: 10_000, createdAt: Date.now(), minutes: 60, description: 'x' },
      ...{ back: { ...back, expired: back.cancel }, payer: null },
    });
    expect(made?.outcome).toBe('accepted');
    await move(foreignId, 'refuse');
    await expect.poll(namesNothing, { interval: 50 }).toBe(1);
    await service.database.admin(
      `UPDATE inbound SET received_at = received_at - interval '11 minutes' WHERE connection = 'parcelas' AND applied_at IS NULL`,
    );
    await expect.poll(leftAgain, { interval: 50 }).toBe(0);
    expect(await payment(merchant, other)).toMatchObject({ status: 'pending', card: null });
  });
  const shopHere = () => shop({ cardConnection: 'parcelas' });

  test('is found where the filter by page answers nothing: it is neither paid nor closed until its own name is known', async () => {
    const merchant = await shopHere();
    await asaas().behave({ pageFilter: 'empty', webhook: 'drop' });
    const { id } = (await pay(merchant)).body;
    await move(id, 'approve');
    const provider = service.runtime.providers.get('parcelas');
    const [row] = await service.database.admin<{ ref: string; at: Date }>(
      `SELECT card ->> 'ref' AS ref, created_at AS at FROM payment WHERE id = $1`,
      [id],
    );
    const name = {
      ...{ providerId: id.replaceAll('-', ''), providerRef: row?.ref ?? '', approval: null },
      ...{ createdAt: row?.at.getTime() ?? 0, amountCents: 10_000, minutes: 60 },
    };
    expect(await provider?.cards?.query(name)).toMatchObject({ report: { page: 'open', approval: null } });
    expect(await provider?.cards?.expire(name)).toMatchObject({ outcome: 'unclear' });
    expect(await payment(merchant, id)).toMatchObject({ status: 'pending' });
    await asaas().behave({});
    await becomes(merchant, id, { status: 'paid', cardSettlementStatus: 'held' });
  });

  test('is not read where the filter by page gives every payment of the account', async () => {
    const merchant = await shopHere();
    await asaas().behave({ pageFilter: 'ignored', webhook: 'drop' });
    const [paid, open] = [(await pay(merchant)).body.id, (await pay(merchant)).body.id];
    await move(paid, 'approve');
    const [row] = await service.database.admin<{ ref: string }>(
      `SELECT card ->> 'ref' AS ref FROM payment WHERE id = $1`,
      [open],
    );
    const name = { providerId: open.replaceAll('-', ''), providerRef: row?.ref ?? null, approval: null };
    const found = await service.runtime.providers
      .get('parcelas')
      ?.cards?.query({ ...name, createdAt: Date.now(), amountCents: 10_000, minutes: 60 });
    expect(found).toMatchObject({ outcome: 'unclear', detail: 'the list was not filtered' });
    expect(await payment(merchant, open)).toMatchObject({ status: 'pending', card: null });
  });

  test('is released when its anticipation was credited, and not when that was only asked for', async () => {
    const merchant = await shopHere();
    const { id } = (await pay(merchant)).body;
    await move(id, 'approve');
    await becomes(merchant, id, { status: 'paid' });
    await move(id, 'anticipate');
    const [row] = await service.database.admin<{ card: { ref: string; approval: string } }>(
      'SELECT card FROM payment WHERE id = $1',
      [id],
    );
    const name = { providerId: id.replaceAll('-', ''), providerRef: row?.card.ref ?? null };
    const found = await service.runtime.providers.get('parcelas')?.cards?.query({
      ...{ ...name, approval: row?.card.approval ?? null, createdAt: Date.now() - 60_000 },
      ...{ amountCents: 10_000, minutes: 60 },
    });
    expect(found).toMatchObject({ report: { approval: { released: false } } });
    expect(await payment(merchant, id)).toMatchObject({ cardSettlementStatus: 'held' });
    await move(id, 'anticipate');
    await becomes(merchant, id, { cardSettlementStatus: 'available' });
  });

  test('that went back whole before its release is over: what is left of it is the fee alone', async () => {
    const merchant = await shop({ cardConnection: 'parcelas', refundFees: 'kept' });
    const { id } = (await pay(merchant)).body;
    await move(id, 'approve');
    await becomes(merchant, id, { status: 'paid' });
    const { body } = await refund(merchant, id);
    await refundIs(merchant, body.id, { status: 'completed' });
    await becomes(merchant, id, { cardSettlementStatus: 'available' });
    expect(await account(merchant)).toMatchObject({ balanceCents: -438, cardHeldCents: 0 });
  });

  test('leaves the token of its card in no table: deliveries are stored without it', async () => {
    const merchant = await shopHere();
    const { id } = (await pay(merchant)).body;
    await move(id, 'approve');
    await becomes(merchant, id, { status: 'paid' });
    const bodies = () =>
      service.database.admin<{ id: string; body: Buffer }>(
        `SELECT id, body FROM inbound WHERE connection = 'parcelas' ORDER BY received_at DESC LIMIT 5`,
      );
    await until(async () => (await bodies()).length > 1);
    for (const one of await bodies()) {
      const text = service.runtime.secrets.open(one.body, one.id).toString();
      expect(text).toContain('"event"');
      expect(text).not.toContain('creditCardToken');
    }
  });

  test('that is still open ends the item that was kept of it, once it can be read', async () => {
    const merchant = await shopHere();
    const { id } = (await pay(merchant)).body;
    const name = id.replaceAll('-', '');
    const item = { kind: 'charge', name, providerId: name, endToEnd: null, body: {} } as const;
    await keepUnread(service.runtime, 'parcelas', [item]);
    const asked = async () => {
      await fillQueryLimit(service);
      await service.database.admin(
        `UPDATE unread_item SET next_at = 'epoch' WHERE connection = 'parcelas' AND reference = $1`,
        [name],
      );
      await stepUnread(service.runtime, service.runtime.providers.get('parcelas') as Provider);
      return service.database.admin('SELECT FROM unread_item WHERE reference = $1', [name]);
    };
    await expect.poll(asked, { interval: 100 }).toEqual([]);
    expect(await payment(merchant, id)).toMatchObject({ status: 'pending' });
  });

  test('that was made on a page that the books do not know is kept for a person at once, without its token, by its delivery and by its chargeback', async () => {
    const merchant = await shopHere();
    const { id } = (await pay(merchant)).body;
    // As after a restore that lost the name of the page: its payer has the address, and the payment another page.
    const [page] = await service.database.admin<{ ref: string }>(
      `UPDATE payment p SET card = jsonb_set(p.card, '{ref}', to_jsonb($2::text)) FROM payment o
        WHERE p.id = $1 AND o.id = p.id RETURNING o.card ->> 'ref' AS ref`,
      [id, crypto.randomUUID()],
    );
    const kept = async () => {
      const rows = await service.database.admin<{ id: string; kind: string; body: Buffer }>(
        `SELECT id, kind, body FROM unread_item WHERE connection = 'parcelas' AND reference LIKE 'pay_%'`,
      );
      return rows.map(({ id: item, kind, body }) => {
        const text = service.runtime.secrets.open(body, item).toString();
        return { kind, ofPage: text.includes(page?.ref ?? 'none'), token: text.includes('creditCardToken') };
      });
    };
    const item = { kind: 'charge', ofPage: true, token: false };
    await move(id, 'approve');
    await expect.poll(kept, { interval: 50 }).toEqual([item]);
    await stepUnread(service.runtime, service.runtime.providers.get('parcelas') as Provider);
    const incidents = await service.database.admin(
      `SELECT detail ->> 'items' AS items FROM incident WHERE kind = 'unread' AND state = 'open' AND detail ->> 'connection' = 'parcelas'`,
    );
    expect(incidents).toEqual([{ items: 'charge' }]);

    await service.database.admin(`DELETE FROM unread_item WHERE connection = 'parcelas'`);
    await asaas().behave({ webhook: 'drop' });
    await move(id, 'chargeback');
    const keptByList = async () => {
      await fillQueryLimit(service);
      await service.database.admin(`UPDATE job SET due_at = 'epoch' WHERE what = 'disputes'`);
      return kept();
    };
    await expect.poll(keptByList, { interval: 200 }).toEqual([item]);
    expect(await service.database.admin('SELECT FROM journal WHERE subject = $1', [id])).toEqual([]);
  });
});

describe('A comparison after a loss of time', () => {
  const compare = (accountId: string | null = null) =>
    reconcile(
      service.runtime,
      {
        ...service.runtime,
        everyCell: service.runtime.cells.all().map(({ sql }) => sql),
        actor: 'tester',
      },
      { accountId, sinceMs: Date.now() - 600_000 },
    );
  const acquirers = [
    ['cartoes', 'stripe'],
    ['parcelas', 'asaas'],
  ] as const;
  const keptOf = (name: string) =>
    service.database.admin<{ provider_id: string }>(
      `SELECT provider_id FROM unread_item WHERE connection = $1 AND kind = 'charge' AND incident_due_at <= now()`,
      [name],
    );
  const pageAt = async (name: string, providerId: string): Promise<void> => {
    const back = { success: 'https://pay.example.com/a', cancel: 'https://pay.example.com/b' };
    const made = await service.runtime.providers.get(name)?.cards?.create({
      ...{ providerId, amountCents: 10_000, createdAt: Date.now(), minutes: 60, description: 'Pedido' },
      ...{ back: { ...back, expired: back.cancel }, payer: null },
    });
    expect(made?.outcome).toBe('accepted');
  };
  /** A page of which the books know nothing, under an id of an account that they have. */
  const lostPage = async (merchant: Merchant, name: string): Promise<string> => {
    const { id } = (await pay(merchant)).body;
    const providerId = id.replaceAll('-', '').replace(/.$/, (last: string) => (last === '0' ? '1' : '0'));
    await pageAt(name, providerId);
    return providerId;
  };
  /** A request whose payment the books have lost, and whose page the acquirer has. */
  const lostRequest = async ({ ownerId }: Merchant, name: string) => {
    const request = order();
    const id = await idOf(ownerId, request);
    await pageAt(name, id.replaceAll('-', ''));
    return { id, request };
  };
  const itemsOf = (id: string) =>
    service.database.admin('SELECT tries FROM unread_item WHERE provider_id = $1', [id.replaceAll('-', '')]);
  /** Once the item has been asked for again. */
  const askAgain = async (name: string): Promise<void> => {
    await fillQueryLimit(service);
    await service.database.admin(`UPDATE unread_item SET next_at = 'epoch' WHERE connection = $1`, [name]);
    await stepUnread(service.runtime, service.runtime.providers.get(name) as Provider);
  };
  const mismatchesOf = (id: string) =>
    service.database.admin<{ reference: string }>(
      `SELECT reference FROM incident WHERE payment_id = $1 AND kind = 'report_mismatch'`,
      [id],
    );

  test.each(acquirers)(
    'keeps for a person at once what was paid on a page that the books have lost (%s)',
    async (name, dialect) => {
      const merchant = await shop({ cardConnection: name });
      await simulatorAt(`${service.simulator.url}/${dialect}`).behave({
        webhook: 'drop',
        ...(dialect === 'asaas' && { pageFilter: 'inherited' }),
      });
      const [paid, open] = [await lostPage(merchant, name), await lostPage(merchant, name)];
      await move(paid, 'approve');
      await fillQueryLimit(service);
      expect((await compare()).unexpected).toBeGreaterThan(0);
      const kept = (await keptOf(name)).map(({ provider_id: id }) => id);
      expect(kept).toContain(paid);
      expect(kept).not.toContain(open);
      await simulatorAt(`${service.simulator.url}/${dialect}`).behave({});
    },
  );

  test.each(acquirers)(
    'lets the repeat of a request find the page that was paid, and make no other one, though its key is forgotten (%s)',
    async (name, dialect) => {
      const merchant = await shop({ cardConnection: name });
      const there = simulatorAt(`${service.simulator.url}/${dialect}`);
      await there.behave({ webhook: 'drop', keys: 'forgotten', pageFilter: 'inherited' });
      const { id, request } = await lostRequest(merchant, name);
      await move(id, 'approve');
      await fillQueryLimit(service);
      await compare();
      expect(await itemsOf(id)).toHaveLength(1);
      const { status, body } = await merchant.call('POST', '/card/checkouts', request);
      expect([status, body.id]).toEqual([201, id]);
      await fillQueryLimit(service);
      await becomes(merchant, id, { status: 'paid', cardSettlementStatus: 'held' });
      expect(await pagesOf(there, id)).toHaveLength(1);
      await expect.poll(() => askAgain(name).then(() => itemsOf(id)), { interval: 100 }).toEqual([]);
      // It is followed by queries of that page until it is released, and by lists after that.
      await move(id, 'release');
      await expect
        .poll(
          async () => {
            await fillQueryLimit(service);
            await service.database.admin('UPDATE intent SET due_at = now() WHERE payment_id = $1', [id]);
            return payment(merchant, id);
          },
          { interval: 200 },
        )
        .toMatchObject({ cardSettlementStatus: 'available' });
      await move(id, 'chargeback');
      await expect
        .poll(
          async () => {
            await fillQueryLimit(service);
            await service.database.admin(`UPDATE job SET due_at = 'epoch' WHERE what = 'disputes'`);
            return (await account(merchant)).balanceCents;
          },
          { interval: 200 },
        )
        .toBe(-438);
      await there.behave({});
    },
  );

  test('that comes after the repeat books what was paid on the first page; what is then paid on the second goes to a person', async () => {
    const merchant = await shop();
    await acquirer.behave({ webhook: 'drop', keys: 'forgotten' });
    const { id, request } = await lostRequest(merchant, 'cartoes');
    await move(id, 'approve');
    expect((await merchant.call('POST', '/card/checkouts', request)).body).toMatchObject({
      id,
      status: 'pending',
    });
    const [first, second] = await pagesOf(acquirer, id);
    expect(second?.ref).not.toBe(first?.ref);
    await fillQueryLimit(service);
    await compare();
    expect(await payment(merchant, id)).toMatchObject({ status: 'paid', cardSettlementStatus: 'held' });
    expect(await mismatchesOf(id)).toEqual([]);
    await acquirer.behave({ keys: 'forgotten' });
    // The newest page of the payment.
    await move(id, 'approve');
    const intent = (await pagesOf(acquirer, id)).at(-1)?.intent;
    await expect
      .poll(() => mismatchesOf(id), { interval: 50 })
      .toEqual([{ reference: `mismatch:${id}:card:approval:${intent}` }]);
    expect(await account(merchant)).toMatchObject({ balanceCents: 0, cardHeldCents: 10_000 });
  });

  test.each(acquirers)(
    'books one of two pages that were both paid before one was known, and the other goes to a person (%s)',
    async (name, dialect) => {
      const at = simulatorAt(`${service.simulator.url}/${dialect}`);
      const merchant = await shop({ cardConnection: name });
      await at.behave({
        webhook: 'drop',
        ...(dialect === 'asaas' ? { pageFilter: 'inherited' } : { keys: 'forgotten' }),
      });
      const { id, request } = await lostRequest(merchant, name);
      await move(id, 'approve');
      expect((await merchant.call('POST', '/card/checkouts', request)).body).toMatchObject({ id });
      // The newest page of the payment.
      await move(id, 'approve');
      await fillQueryLimit(service);
      await compare();
      expect(await payment(merchant, id)).toMatchObject({ status: 'paid', cardSettlementStatus: 'held' });
      expect(await mismatchesOf(id)).toHaveLength(1);
      expect(await itemsOf(id)).toEqual([]);
      expect(await account(merchant)).toMatchObject({ balanceCents: 0, cardHeldCents: 10_000 });
      await at.behave({});
    },
  );

  test('keeps what was paid for a person until it is booked, whatever page its payment has by then', async () => {
    const merchant = await shop();
    const { id } = (await pay(merchant)).body;
    const providerId = id.replaceAll('-', '');
    const item = { kind: 'charge', name: 'pi_lost', providerId, endToEnd: 'pi_lost', body: {} } as const;
    await keepUnread(service.runtime, 'cartoes', [item], { atOnce: true });
    await expect
      .poll(() => askAgain('cartoes').then(() => itemsOf(id)), { interval: 100 })
      .toMatchObject([{ tries: 1 }]);
    await service.database.admin(`DELETE FROM unread_item WHERE reference = 'pi_lost'`);
  });

  test('is not needed where the delivery of such a page comes again', async () => {
    const merchant = await shop();
    const id = await lostPage(merchant, 'cartoes');
    await move(id, 'approve');
    await expect.poll(async () => (await keptOf('cartoes')).map((one) => one.provider_id)).toContain(id);
  });

  test('books an approval and a refund that no delivery says', async () => {
    const merchant = await shop();
    const refunded = await paidCard(merchant, 'available');
    const { id: expired } = (await pay(merchant)).body;
    await move(expired, 'expire');
    await becomes(merchant, expired, { status: 'expired' });
    await acquirer.behave({ webhook: 'drop' });
    await move(expired, 'approve');
    await move(refunded, 'refund', { amountCents: 1_000 });
    const before = (await account(merchant)).balanceCents;
    await fillQueryLimit(service);
    // Of an account alone: over its connection for cards as well.
    expect((await compare(merchant.ownerId)).missing).toBe(2);
    expect(await payment(merchant, expired)).toMatchObject({ status: 'paid', cardSettlementStatus: 'held' });
    expect((await account(merchant)).balanceCents).toBe(before - 1_000);
    expect((await compare()).missing).toBe(0);
    expect((await account(merchant)).balanceCents).toBe(before - 1_000);
  });
});

test('The brand and the last digits of a card are exported with its payer, and go when the payer is anonymised', async () => {
  const merchant = await shop();
  const id = await paidCard(merchant, 'available');
  const who = { ...service.cellOf(merchant), actor: 'tester' };
  const payer = { accountId: merchant.ownerId, name: 'Maria Silva', pixKey: null };
  expect(await exportSubject(who, payer)).toMatchObject([{ id, card: { brand: 'visa', last4: '4242' } }]);
  const year = 365 * 86_400_000;
  const later = { ...who, clock: { ...who.clock, now: () => who.clock.now() + 6 * year } };
  await anonymiseSubject(later, payer, { years: 5, reason: 'asked for' });
  expect((await payment(merchant, id)).card).toMatchObject({ status: 'paid', brand: 'other', last4: null });
});

describe('The way back from the page of an acquirer', () => {
  const hosts = ['loja.example', 'loja.example:8443'];
  const urls = {
    successUrl: 'https://loja.example/obrigado?pedido=1042&a=%3Cb%3E',
    cancelUrl: 'https://loja.example:8443/carrinho',
  };
  const visit = async (url: string, body?: URLSearchParams) => {
    const answer = await fetch(url, { redirect: 'manual', ...(body && { method: 'POST', body }) });
    return { status: answer.status, to: answer.headers.get('location') ?? '', html: await answer.text() };
  };

  test.each(['cartoes', 'parcelas'])(
    'leads over %s to the shop, paid or not, by the word of the acquirer and not of the browser',
    async (cardConnection) => {
      const merchant = await shop({ cardConnection, returnHosts: hosts });
      const { body } = await pay(merchant, urls);
      expect(body.status).toBe('pending');
      const page = (await visit(body.checkoutUrl)).to;
      const leave = /href="([^"]+)">Leave/.exec((await visit(page)).html)?.[1] ?? '';
      expect(await visit(leave)).toMatchObject({ status: 303, to: urls.cancelUrl });
      // Nothing was paid, whatever the address says.
      const success = leave.replace('how=cancel', 'how=success');
      const own = success.slice(service.url.length).split('/back')[0];
      expect(await visit(success)).toMatchObject({ status: 303, to: own });
      expect((await visit(`${service.url}${own}`)).html).toContain(`href="${urls.cancelUrl}"`);
      await acquirer.behave({ webhook: 'drop' });
      await simulatorAt(`${service.simulator.url}/asaas`).behave({ webhook: 'drop' });
      const approved = await visit(page, new URLSearchParams({ act: 'approve' }));
      expect(approved).toMatchObject({ status: 303 });
      await fillQueryLimit(service);
      // In this process the way was just looked at: for some seconds its page shows the payment once it is known.
      await becomes(merchant, body.id, { status: 'paid' });
      for (const way of [approved.to, leave])
        expect(await visit(way)).toMatchObject({ status: 303, to: urls.successUrl });
      expect((await visit(`${service.url}${own}`)).html).toContain(
        `href="${urls.successUrl.replace('&', '&amp;')}"`,
      );
      await simulatorAt(`${service.simulator.url}/asaas`).behave({});
    },
  );

  test('asks the acquirer at once, and shows the shop to one who has paid though no delivery came', async () => {
    const merchant = await shop({ returnHosts: hosts });
    const { body } = await pay(merchant, urls);
    await acquirer.behave({ webhook: 'drop' });
    await fillQueryLimit(service);
    const approved = await visit((await visit(body.checkoutUrl)).to, new URLSearchParams({ act: 'approve' }));
    expect(await visit(approved.to)).toMatchObject({ status: 303, to: expect.stringContaining('/obrigado') });
    expect(await payment(merchant, body.id)).toMatchObject({ status: 'paid' });
  });

  test('without an address of the shop is the page of the charge, and no other page has one', async () => {
    const merchant = await shop();
    const { body } = await pay(merchant);
    const leave =
      /href="([^"]+)">Leave/.exec((await visit((await visit(body.checkoutUrl)).to)).html)?.[1] ?? '';
    expect(await visit(leave)).toMatchObject({
      status: 303,
      to: leave.slice(service.url.length).split('/back')[0],
    });
    const pix = (await merchant.charge()).body;
    for (const url of [`${pix.payerUrl}/back`, `${body.checkoutUrl}/back`, `${service.url}/pay/none/back`])
      expect((await visit(url)).status).toBe(404);
  });

  test('is of a host that the account allows, read as a browser reads it, and else nothing is made', async () => {
    const merchant = await shop({ returnHosts: hosts });
    for (const [url, code] of [
      ['https://other.example/', 'return_url_not_allowed'],
      ['https://www.loja.example/', 'return_url_not_allowed'],
      ['https://loja.example:444/', 'return_url_not_allowed'],
      ['https://loja.example.other.example/', 'return_url_not_allowed'],
      ['https://other.example#@loja.example/', 'return_url_not_allowed'],
      ['https://loja.example@other.example/', 'return_url_not_allowed'],
      ['https://maria@loja.example/', 'return_url_not_allowed'],
      ['http://loja.example/', 'return_url_not_allowed'],
      ['javascript:alert(1)//loja.example', 'return_url_not_allowed'],
      ['/obrigado', 'validation_failed'],
      [`https://loja.example/${'a'.repeat(500)}`, 'validation_failed'],
    ])
      for (const field of ['successUrl', 'cancelUrl'])
        expect((await pay(merchant, { [field]: url })).body, `${field} ${url}`).toMatchObject({
          ...{ statusCode: 400, code },
        });
    const without = await shop();
    expect((await pay(without, urls)).body.code).toBe('return_url_not_allowed');
    expect((await without.call('GET', '/payments')).body.payments).toEqual([]);
    const operator = { ...service.cellOf(merchant), actor: 'tester' };
    for (const host of [
      '',
      'https://loja.example',
      'loja.example/',
      'Loja.example',
      'loja.example:443',
      'a b',
    ])
      await expect(
        setConditions(operator, merchant.ownerId, { returnHosts: [host] }),
        host,
      ).rejects.toThrow();
    // A repeat is answered as it was, whatever is allowed by now.
    const asked = order(urls);
    const first = await merchant.call('POST', '/card/checkouts', asked);
    await setConditions(operator, merchant.ownerId, { returnHosts: [] });
    expect((await merchant.call('POST', '/card/checkouts', asked)).body.id).toBe(first.body.id);
  });
});

describe('The payer of a card checkout', () => {
  const payer = { document: '111.444.777-35', email: 'maria@example.com', phone: '+5511987654321' };

  test('is handed to the acquirer as far as it takes it, stands sealed, and leaves the payment as it is shown', async () => {
    for (const [cardConnection, dialect, filled] of [
      ['cartoes', 'stripe', { email: payer.email }],
      [
        'parcelas',
        'asaas',
        { name: 'Maria Silva', cpfCnpj: '11144477735', email: payer.email, phone: '11987654321' },
      ],
    ] as const) {
      const merchant = await shop({ cardConnection });
      const { body } = await pay(merchant, { payer });
      expect(body).toMatchObject({ status: 'pending' });
      expect(JSON.stringify(body)).not.toMatch(/11144477735|maria@|87654321/);
      const state = (
        await simulatorAt(`${service.simulator.url}/${dialect}`).control('GET', '/control/state')
      ).body;
      const page = state.cards.find((one: { id: string }) => one.id === body.id.replaceAll('-', ''));
      expect(page.payer).toEqual(filled);
      const [row] = await service.database.admin<{ row: string }>(
        `SELECT p::text AS row FROM ${service.cellOf(merchant).cell}.payment p WHERE id = $1`,
        [body.id],
      );
      expect(row?.row).not.toMatch(/11144477735|maria@|87654321/);
    }
  });

  test('and the ways back are of the request: another one under the key is refused, the same in other words is not', async () => {
    const merchant = await shop({ returnHosts: ['loja.example'] });
    const successUrl = 'https://loja.example/1';
    const asked = order({ payer, successUrl });
    const first = await merchant.call('POST', '/card/checkouts', asked);
    const again = { ...asked, payer: { phone: payer.phone, email: payer.email, document: '11144477735' } };
    const replayed = await merchant.call('POST', '/card/checkouts', again);
    expect([replayed.body.id, replayed.headers.get('idempotent-replayed')]).toEqual([first.body.id, 'true']);
    for (const other of [
      { payer: { ...payer, email: 'ana@example.com' } },
      { payer: { ...payer, phone: '+5511987654322' } },
      { payer: { email: payer.email, phone: payer.phone } },
      { payer: {} },
      { successUrl: 'https://loja.example/2' },
      { successUrl: undefined },
      { successUrl: undefined, cancelUrl: successUrl },
      { cancelUrl: successUrl },
    ])
      expect(
        (await merchant.call('POST', '/card/checkouts', { ...asked, ...other })).body.code,
        JSON.stringify(other),
      ).toBe('idempotency_conflict');
  });

  test('is refused where a member of it is malformed or unknown', async () => {
    const merchant = await shop();
    for (const odd of [
      { document: '111.444.777-36' },
      { document: '1' },
      { email: 'maria' },
      { email: 'maria@example.com, ana@example.com' },
      { phone: '11987654321' },
      { phone: '+55 11 98765-4321' },
      { phone: '+0511987654321' },
      { name: 'Maria' },
      'maria@example.com',
      null,
    ])
      expect((await pay(merchant, { payer: odd })).body, JSON.stringify(odd)).toMatchObject({
        ...{ statusCode: 400, code: 'validation_failed' },
      });
    expect((await pay(merchant, { payer: {} })).body.status).toBe('pending');
    expect((await pay(merchant, { payer: { document: '12.ABC.345/01DE-35' } })).body.status).toBe('pending');
  });

  test('is found, exported and anonymised with the ways back of the shop', async () => {
    const merchant = await shop({ returnHosts: ['loja.example'] });
    const successUrl = 'https://loja.example/maria';
    const { body } = await pay(merchant, { payer, successUrl });
    await move(body.id, 'approve');
    await becomes(merchant, body.id, { status: 'paid' });
    await move(body.id, 'release');
    await becomes(merchant, body.id, { cardSettlementStatus: 'available' });
    const who = { ...service.cellOf(merchant), actor: 'tester' };
    const given = { document: '11144477735', email: payer.email, phone: payer.phone };
    for (const pixKey of Object.values(given))
      expect(await exportSubject(who, { accountId: merchant.ownerId, name: null, pixKey })).toMatchObject([
        { id: body.id, payer: given, card: { successUrl, cancelUrl: null } },
      ]);
    const later = { ...who, clock: { ...who.clock, now: () => who.clock.now() + 6 * 365 * 86_400_000 } };
    const subject = { accountId: merchant.ownerId, name: null, pixKey: payer.email };
    expect(await anonymiseSubject(later, subject, { years: 5, reason: 'asked for' })).toMatchObject({
      anonymised: 1,
    });
    expect(await exportSubject(who, subject)).toEqual([]);
    const [row] = await service.database.admin<{ row: string }>(
      `SELECT to_jsonb(p)::text AS row FROM ${service.cellOf(merchant).cell}.payment p WHERE id = $1`,
      [body.id],
    );
    expect(row?.row).toContain('"payer": null');
    expect(row?.row).not.toContain('loja.example');
  });
});

describe('Bad input of a card checkout', () => {
  test('gets a documented error and changes nothing', async () => {
    const [merchant, without] = [await shop(), await service.newMerchant()];
    expect((await pay(without)).body).toMatchObject({ statusCode: 403, code: 'card_not_enabled' });
    for (const [fields, code] of [
      [{ amountCents: 499 }, 'amount_out_of_limits'],
      [{ amountCents: 200_001 }, 'amount_out_of_limits'],
      [{ amountCents: 99 }, 'validation_failed'],
      [{ expiresInMinutes: 29 }, 'validation_failed'],
      [{ expiresInMinutes: 1441 }, 'validation_failed'],
      [{ card: { number: '4242424242424242' } }, 'validation_failed'],
      [{ payerName: 'M' }, 'validation_failed'],
    ] as const)
      expect((await pay(merchant, fields)).body, JSON.stringify(fields)).toMatchObject({
        statusCode: 400,
        code,
      });
    await setConditions({ ...service.cellOf(merchant), actor: 'tester' }, merchant.ownerId, {
      ...{ cardFeeCents: 600 },
    });
    expect((await pay(merchant, { amountCents: 500 })).body.code).toBe('amount_below_fee');
    const reader = service.as(await service.newKey(merchant.ownerId, ['read']));
    expect((await reader('POST', '/card/checkouts', order())).body.code).toBe('permission_denied');
    expect((await merchant.call('GET', '/payments')).body.payments).toEqual([]);
    const paid = await pay(merchant);
    await move(paid.body.id, 'approve');
    await becomes(merchant, paid.body.id, { status: 'paid' });
    expect((await refund(merchant, paid.body.id, { amountCents: 10_001 })).body.code).toBe('refund_exceeds');
  });

  test('an account takes cards over a connection for cards of its own kind of money alone', async () => {
    const { ownerId } = await service.newMerchant();
    const operator = { ...service.runtime, actor: 'tester' };
    for (const change of [
      { cardConnection: 'nada' },
      { cardConnection: 'simulator' },
      { minimumCardCents: 99 },
      { cardFeeBps: 10_001 },
      { minimumCardCents: 5_000, maximumCardCents: 4_999 },
    ])
      await expect(setConditions(operator, ownerId, change)).rejects.toThrow();
  });

  test('a day at the longest and half an hour at the shortest are taken', async () => {
    const merchant = await shop();
    for (const expiresInMinutes of [30, 1440])
      expect((await pay(merchant, { expiresInMinutes })).body).toMatchObject({
        status: 'pending',
        expiresAt: expect.any(String),
      });
  });
});

describe('Cash that its acquirer paid out', () => {
  /** The client of the service at the simulator. */
  const client = 'vintem-cartoes';
  const cash = async (path: string, amountCents?: number) => {
    const { status, body } = await acquirer.control('POST', `/control/card-cash/${path}`, { amountCents });
    expect({ path, status, body }).toMatchObject({ status: 200 });
    return body as { id: string; amountCents: number };
  };
  const provider = () => service.runtime.providers.get('cartoes') as Provider;
  const operator = () => ({ ...service.runtime, actor: 'tester' });
  /** As the loop and a close do it: the lists are read up to now, then what has arrived ends. */
  const readLists = async () => {
    await until(() => bringCostsUpToDate(service.runtime, provider()));
    await stepCash(service.runtime, 'cartoes');
  };
  const arrives = async (amountCents: number, requestKey: string = crypto.randomUUID()) => {
    await bookMovement(operator(), {
      ...{ connection: 'simulator', kind: 'own', amountCents, requestKey },
      ...{ at: service.runtime.clock.now(), reason: 'TED of the acquirer' },
    });
    await stepCash(service.runtime, 'cartoes');
  };
  const lines = async (): Promise<{ cartoes: number; simulator: number; transit: number }> => {
    const [row] = await service.database.admin<Record<string, string>>(
      `SELECT coalesce(sum(-clearing) FILTER (WHERE connection = 'cartoes'), 0) AS cartoes,
          coalesce(sum(-clearing) FILTER (WHERE connection = 'simulator'), 0) AS simulator,
          coalesce(sum(-suspense) FILTER (WHERE event IN (20, 21)), 0) AS transit FROM journal`,
    );
    return {
      cartoes: Number(row?.cartoes),
      simulator: Number(row?.simulator),
      transit: Number(row?.transit),
    };
  };
  /** Approvals of other tests that were not booked are the acquirer's alone. */
  const apart = async () => (await provider().balance()).totalCents - (await lines()).cartoes;
  const released = async (amountCents = 200_000) => {
    const merchant = await shop();
    const { body } = await pay(merchant, { amountCents });
    await move(body.id, 'approve');
    await becomes(merchant, body.id, { status: 'paid' });
    await move(body.id, 'release');
    await becomes(merchant, body.id, { cardSettlementStatus: 'available' });
  };

  beforeAll(async () => {
    await routePayouts(operator(), 'cartoes', 'simulator');
  });

  test('is in transit from the acquirer’s word to the statement of the connection for Pix, and each agrees with its books at every moment', async () => {
    await released();
    const before = await lines();
    const difference = await apart();
    await cash(`${client}/payout`, 7_001);
    await readLists();
    const away = await lines();
    expect(away).toEqual({ ...before, cartoes: before.cartoes - 7_001, transit: before.transit + 7_001 });
    expect(await apart()).toBe(difference);
    await arrives(7_002);
    expect((await lines()).transit).toBe(away.transit);
    await arrives(7_001);
    const there = await lines();
    expect(there).toEqual({ ...away, simulator: away.simulator + 14_003, transit: before.transit });
    await readLists();
    expect(await lines()).toEqual(there);
  });

  test('that the other statement shows first arrives once, and the second of one amount waits for its own', async () => {
    await released();
    const before = await lines();
    await arrives(3_003);
    await cash(`${client}/payout`, 3_003);
    await cash(`${client}/payout`, 3_003);
    await readLists();
    expect((await lines()).transit).toBe(before.transit + 3_003);
    await arrives(3_003);
    expect((await lines()).transit).toBe(before.transit);
  });

  test('that its bank refused is at the acquirer again, also where money of one amount had been taken for it', async () => {
    await released();
    const before = await lines();
    const difference = await apart();
    const [one, other] = [await cash(`${client}/payout`, 2_002), await cash(`${client}/payout`, 2_004)];
    await readLists();
    await arrives(2_004);
    await cash(`${one.id}/fail`);
    await cash(`${other.id}/fail`);
    await readLists();
    expect(await lines()).toEqual({ ...before, simulator: before.simulator + 2_004 });
    expect(await apart()).toBe(difference);
    // The money that had been taken for its arrival may be that of another.
    await cash(`${client}/payout`, 2_004);
    await readLists();
    expect((await lines()).transit).toBe(before.transit);
  });

  test('that does not arrive is an incident once, and is the company’s own when a person says so', async () => {
    await released();
    const before = await lines();
    const { id: reference } = await cash(`${client}/payout`, 5_005);
    await readLists();
    await service.database.admin(
      `UPDATE cash_transfer SET due_at = now() - interval '5 days' WHERE reference = '${reference}'`,
    );
    for (let turn = 0; turn < 2; turn++) await stepCash(service.runtime, 'cartoes');
    const incidents = await service.database.admin(
      `SELECT kind, amount_cents, detail ->> 'toConnection' AS "to" FROM incident WHERE reference = 'cash:cartoes:${reference}'`,
    );
    expect(incidents).toEqual([{ kind: 'cash_missing', amount_cents: '5005', to: 'simulator' }]);
    const wanted = { connection: 'cartoes', reference, reason: 'paid to the other bank' };
    await takePayoutAsOwn(operator(), wanted);
    expect((await lines()).transit).toBe(before.transit);
    await expect(takePayoutAsOwn(operator(), wanted)).rejects.toThrow('is under way');
  });

  test('to no connection is the company’s own at once, and a fee of the acquirer that is of no payment is a cost', async () => {
    await released();
    await routePayouts(operator(), 'cartoes', null);
    const before = await lines();
    const difference = await apart();
    await cash(`${client}/payout`, 1_001);
    await cash(`${client}/fee`, 99);
    await readLists();
    await routePayouts(operator(), 'cartoes', 'simulator');
    await readLists();
    expect(await lines()).toEqual({ ...before, cartoes: before.cartoes - 1_100 });
    expect(await apart()).toBe(difference);
  });
});

test('A card number that a caller sends is stored in no table, whatever was answered, and no column of ours is made for one', async () => {
  const merchant = await shop();
  const number = '4242424242424242';
  for (const fields of [{ card: { number } }, { cardNumber: number }, { payer: { number } }])
    expect((await pay(merchant, fields)).status).toBe(400);
  await paidCard(merchant);
  const tables = await service.database.admin<{ name: string }>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema')`,
  );
  expect(tables.length).toBeGreaterThan(40);
  for (const { name } of tables)
    expect([
      name,
      await service.database.admin(`SELECT FROM ${name} t WHERE t::text LIKE $1`, [`%${number}%`]),
    ]).toEqual([name, []]);
  const columns = await service.database.admin(
    `SELECT FROM information_schema.columns WHERE column_name ~ '(^|_)(pan|cvv|cvc|card_number|card_token)($|_)'`,
  );
  expect(columns).toEqual([]);
});
