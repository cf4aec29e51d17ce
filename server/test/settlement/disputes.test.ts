import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { fillQueryLimit, incidentsOf, journalsOf, statusOf } from '@vintem/testkit/settlement.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { applyOutcome } from '../../src/flow/apply.ts';
import { queryOne } from '../../src/flow/query.ts';
import { stepDisputes } from '../../src/jobs/poll.ts';
import { observedRefund } from '../../src/kinds/payment/refund-lines.ts';
import { setConditions } from '../../src/operate/accounts/conditions.ts';
import { listHolds, releaseHold } from '../../src/operate/accounts/holds.ts';
import { type IncidentView, listIncidents, resolveIncident } from '../../src/operate/incidents/incident.ts';
import { stepUnread } from '../../src/operate/unread/unread-items.ts';
import type { Provider } from '../../src/provider/provider.ts';

/** Disputes (MED): what is disputed is held at once, and the provider's word alone ends it. */

let service: Service;
beforeAll(async () => {
  service = await openService({ worker: false });
});
afterAll(async () => {
  const wrong = await violationsOfBooks(service);
  await service?.close();
  expect(wrong).toEqual([]);
});

const txid = (id: string): string => id.replaceAll('-', '');

/** One reading of the provider's disputes, now. The limit of queries is full again: how soon readings follow each other is the machine's. */
async function readDisputes(): Promise<void> {
  const provider = service.runtime.providers.get('simulator');
  if (!provider) throw new Error('no simulator');
  await service.database.admin("UPDATE job SET due_at = 'epoch' WHERE what = 'disputes'");
  await fillQueryLimit(service);
  await stepDisputes(service.runtime, provider);
}

const paid = (merchant: Merchant, amountCents: number): Promise<string> =>
  merchant.paidCharge({ amountCents });

/** A payer disputes a charge. @returns the provider's id of the dispute */
async function dispute(id: string, body: object = {}): Promise<string> {
  const answer = await service.simulator.control('POST', `/control/charges/${txid(id)}/dispute`, body);
  expect(answer.status).toBe(200);
  await readDisputes();
  return answer.body.id;
}

async function moves(disputeId: string, action: string): Promise<void> {
  const { status } = await service.simulator.control('POST', `/control/disputes/${disputeId}/${action}`);
  expect(status).toBe(200);
  await readDisputes();
}

/** A charge that its payer has paid, of which no word comes before `query`. */
async function unheard(merchant: Merchant, amountCents: number): Promise<string> {
  const { id } = (await merchant.charge({ amountCents })).body;
  await service.simulator.behave({ webhook: 'drop' });
  await service.simulator.control('POST', `/control/charges/${txid(id)}/pay`);
  return id;
}

/** Applies the answer to a query of a charge. */
async function query(merchant: Merchant, id: string): Promise<void> {
  const provider = service.runtime.providers.get('simulator');
  if (!provider) throw new Error('no simulator');
  const { ownerId: accountId, operationId } = merchant;
  await queryOne(service.cellOf(merchant), provider, {
    accountId,
    paymentId: id,
    operationId,
    connection: 'simulator',
    kind: 'deposit',
    createdAt: service.runtime.clock.now(),
    providerRef: null,
  });
  await service.simulator.behave({});
}

const holdsOf = (merchant: Merchant) => listHolds(service.cellOf(merchant), merchant.operationId);

async function releaseOf(merchant: Merchant): Promise<void> {
  const open = (await holdsOf(merchant)).find(({ releasedAt }) => releasedAt === null);
  await releaseHold({ ...service.cellOf(merchant), actor: 'tester' }, open?.id ?? '');
}

test('A dispute that cannot be read holds its whole Pix until it can be read', async () => {
  const merchant = await service.newMerchant();
  const id = await paid(merchant, 20_000);
  await service.simulator.behave({ lists: 'odd-items' });
  await dispute(id, { amountCents: 5_000 });
  expect(await merchant.balanceCents()).toBe(0);
  const shown = () => list(merchant);
  expect(await shown()).toMatchObject([{ status: 'open', heldCents: 20_000 }]);
  await readDisputes();
  expect(await merchant.balanceCents()).toBe(0);
  await service.simulator.behave({});
  await readDisputes();
  expect(await shown()).toMatchObject([{ status: 'open', amountCents: 5_000, heldCents: 5_000 }]);
  expect(await merchant.balanceCents()).toBe(15_000);
});

test('A dispute that cannot be read and names no Pix is an incident at once', async () => {
  const provider = service.runtime.providers.get('simulator');
  if (!provider) throw new Error('no simulator');
  const odd: Provider = {
    ...provider,
    disputes: {
      list: async () => ({
        ...{ outcome: 'listed', reports: [], complete: true },
        unread: [
          { kind: 'dispute', name: 'I1', providerId: null, endToEnd: null, body: { idInfracao: 'I1' } },
        ],
      }),
    },
  };
  await service.database.admin("UPDATE job SET due_at = 'epoch' WHERE what = 'disputes'");
  await fillQueryLimit(service);
  await stepDisputes(service.runtime, odd);
  await stepUnread(service.runtime, odd);
  const open = (await listIncidents(service.runtime, null)).filter(({ kind }) => kind === 'unread');
  expect(open).toMatchObject([{ state: 'open', detail: { items: 'dispute' } }]);
});

/** The provider takes money of a received Pix. */
async function takes(id: string, amountCents?: number, endToEnd?: string): Promise<void> {
  const before = (await journalsOf(service, id)).length;
  const { status } = await service.simulator.control('POST', `/control/charges/${txid(id)}/return`, {
    amountCents,
    endToEnd,
  });
  expect(status).toBe(200);
  await until(async () => (await journalsOf(service, id)).length > before);
}

async function refund(merchant: Merchant, id: string, amountCents: number): Promise<string> {
  const { status, body } = await merchant.call('POST', `/payments/${id}/refunds`, {
    requestKey: crypto.randomUUID(),
    amountCents,
  });
  expect(status).toBe(201);
  return body.id;
}

const refundStatus = async (merchant: Merchant, refundId: string): Promise<string> =>
  (await merchant.call('GET', `/refunds/${refundId}`)).body.status;

/** The provider has taken it, and says no more. */
async function refundOnItsWay(merchant: Merchant, id: string, amountCents: number): Promise<string> {
  await service.simulator.behave({ refund: 'stay-pending' });
  const refundId = await refund(merchant, id, amountCents);
  await service.simulator.behave({});
  expect(await refundStatus(merchant, refundId)).toBe('pending');
  return refundId;
}

/** A line in a report of the charge: the provider has carried the refund out, with this amount. */
async function reports(merchant: Merchant, id: string, refundId: string, amountCents: number): Promise<void> {
  const { clock } = service.runtime;
  const line = { id: txid(refundId), rtrId: null, amountCents, at: clock.now(), status: 'settled' } as const;
  await applyOutcome(
    service.cellOf(merchant),
    observedRefund(
      {
        accountId: merchant.ownerId,
        id: refundId,
        operationId: merchant.operationId,
        paymentId: id,
        reason: 'requested',
      },
      'simulator',
      { from: 'charge', cause: { by: 'query', id: crypto.randomUUID() }, line },
    ),
    clock.monotonicMs() + 10_000,
  );
}

async function completes(
  merchant: Merchant,
  id: string,
  refundId: string,
  amountCents: number,
): Promise<void> {
  await reports(merchant, id, refundId, amountCents);
  expect(await refundStatus(merchant, refundId)).toBe('completed');
}

const openOf = async (merchant: Merchant): Promise<IncidentView[]> =>
  (await listIncidents(service.cellOf(merchant), merchant.ownerId)).filter(({ state }) => state === 'open');

const list = async (merchant: Merchant, query = '') =>
  (await merchant.call('GET', `/disputes${query}`)).body.disputes;

async function columns({ ownerId, operationId }: Merchant): Promise<string> {
  const [row] = await service.database.admin<Record<string, string>>(
    'SELECT available, held, receivable, hold_wanted FROM balance WHERE account_id = $1 AND operation_id = $2',
    [ownerId, operationId],
  );
  return [row?.available, row?.held, row?.receivable, row?.hold_wanted].join(' ');
}

const eventTypes = async (merchant: Merchant): Promise<string[]> =>
  (
    await service.database.admin<{ type: string }>(
      `SELECT type FROM event WHERE account_id = $1 AND type LIKE 'dispute.%' ORDER BY id`,
      [merchant.ownerId],
    )
  ).map(({ type }) => type);

describe('a dispute', () => {
  test('holds its amount at once, shows the deadline, and frees it when it is rejected', async () => {
    const merchant = await service.newMerchant();
    const id = await paid(merchant, 5000);
    const disputeId = await dispute(id, { amountCents: 3000 });
    expect(await columns(merchant)).toBe('2000 3000 0 0');
    const [shown] = await list(merchant);
    expect(shown).toMatchObject({
      paymentId: id,
      operationId: merchant.operationId,
      status: 'open',
      amountCents: 3000,
      heldCents: 3000,
      debitedCents: 0,
      reason: 'golpe',
      endedAt: null,
    });
    expect(Date.parse(shown.deadlineAt)).toBeGreaterThan(Date.parse(shown.openedAt));
    expect((await merchant.call('GET', `/disputes/${shown.id}`)).body).toEqual(shown);
    await readDisputes();
    await moves(disputeId, 'defend');
    expect(await columns(merchant)).toBe('2000 3000 0 0');
    await moves(disputeId, 'reject');
    expect(await columns(merchant)).toBe('5000 0 0 0');
    const { lines } = (await merchant.call('GET', '/statement')).body;
    expect(lines.at(-1)).toMatchObject({
      ...{ kind: 'hold_released', amountCents: 3000, cause: 'dispute', paymentId: id },
    });
    expect(await list(merchant, '?status=rejected')).toMatchObject([{ id: shown.id, heldCents: 0 }]);
    expect(await list(merchant, '?status=open')).toEqual([]);
    expect(await eventTypes(merchant)).toEqual(['dispute.opened', 'dispute.defending', 'dispute.rejected']);
  });

  test('that is cancelled frees what is held, and one that is opened again holds it again', async () => {
    const merchant = await service.newMerchant();
    const id = await paid(merchant, 1000);
    const disputeId = await dispute(id);
    await moves(disputeId, 'cancel');
    expect(await columns(merchant)).toBe('1000 0 0 0');
    await moves(disputeId, 'open');
    expect(await columns(merchant)).toBe('0 1000 0 0');
    await moves(disputeId, 'reject');
    expect(await columns(merchant)).toBe('1000 0 0 0');
  });

  test('that is accepted keeps its amount until the provider takes it out of the hold', async () => {
    const merchant = await service.newMerchant();
    const id = await paid(merchant, 4000);
    const disputeId = await dispute(id);
    await moves(disputeId, 'accept');
    expect(await columns(merchant)).toBe('0 4000 0 0');
    await takes(id, 1500);
    expect(await columns(merchant)).toBe('0 2500 0 0');
    expect(await list(merchant)).toMatchObject([{ status: 'accepted', debitedCents: 1500, heldCents: 2500 }]);
    await takes(id);
    expect(await columns(merchant)).toBe('0 0 0 0');
    expect(await list(merchant)).toMatchObject([{ debitedCents: 4000, heldCents: 0 }]);
    const { lines } = (await merchant.call('GET', '/statement')).body;
    expect(lines.slice(1)).toMatchObject(
      [
        ['hold', -4000],
        ['hold_released', 1500],
        ['debit', -1500],
        ['hold_released', 2500],
        ['debit', -2500],
      ].map(([kind, amountCents]) => ({
        ...{ kind, amountCents, cause: 'dispute', paymentId: id },
        payerName: lines[0].payerName,
      })),
    );
    expect((await incidentsOf(service, id)).map(({ kind }) => kind)).toEqual(['debit', 'debit']);
  });

  test('that is accepted explains its debit to the cent, whichever is heard first: no person is asked', async () => {
    const merchant = await service.newMerchant();
    const [one, other] = [await paid(merchant, 4000), await paid(merchant, 3000)];
    await moves(await dispute(one), 'accept');
    await takes(one);
    const late = await dispute(other);
    await takes(other);
    expect(await openOf(merchant)).toMatchObject([{ kind: 'debit', paymentId: other }]);
    await moves(late, 'accept');
    expect(await openOf(merchant)).toEqual([]);
    const decided = (await listIncidents(service.cellOf(merchant), merchant.ownerId)).filter(
      ({ kind }) => kind === 'debit',
    );
    expect(decided.map(({ state, resolution }) => [state, resolution])).toEqual(
      [1, 2].map(() => [
        'resolved',
        { action: 'none', actor: 'rule', reason: 'an accepted dispute explains the debit to the cent' },
      ]),
    );
    // No mail is sent about the one that was never open.
    const ofOne = decided.find(({ paymentId }) => paymentId === one);
    expect(
      await service.database.admin('SELECT mail_due_at FROM incident WHERE id = $1', [ofOne?.id]),
    ).toEqual([{ mail_due_at: null }]);
    expect(
      await service.database.admin(
        `SELECT actor, subject FROM audit WHERE action = 'incident.resolve' AND account_id = $1 ORDER BY subject`,
        [merchant.ownerId],
      ),
    ).toEqual(
      decided
        .map(({ id }) => ({ actor: 'rule', subject: id }))
        .sort((a, b) => (a.subject < b.subject ? -1 : 1)),
    );
    // The provider changes its word: no accepted dispute explains the debit any more.
    await moves(late, 'reject');
    expect(await openOf(merchant)).toMatchObject([{ kind: 'debit', paymentId: other, resolution: null }]);
    await moves(late, 'accept');
    expect(await openOf(merchant)).toEqual([]);
  });

  test('that is accepted leaves a debit of another amount, and what a person has ended, to people', async () => {
    const merchant = await service.newMerchant();
    const operator = { ...service.cellOf(merchant), actor: 'tester' };
    const [one, other] = [await paid(merchant, 4000), await paid(merchant, 3000)];
    const disputeId = await dispute(one, { amountCents: 1000 });
    await takes(one, 999);
    await moves(disputeId, 'accept');
    const [open] = await openOf(merchant);
    expect(open).toMatchObject({ kind: 'debit', amountCents: 999 });
    await resolveIncident(operator, open?.id ?? '', { action: 'none', reason: 'one cent less' });
    const late = await dispute(other);
    await takes(other);
    const [second] = await openOf(merchant);
    await resolveIncident(operator, second?.id ?? '', { action: 'none', reason: 'looked at' });
    await moves(late, 'accept');
    await moves(late, 'reject');
    const all = await listIncidents(operator, merchant.ownerId);
    expect(all.map(({ state, resolution }) => [state, resolution?.actor])).toEqual([
      ['resolved', 'tester'],
      ['resolved', 'tester'],
    ]);
  });

  test('that explains a debit leaves the debt to be waived', async () => {
    const merchant = await service.newMerchant();
    const id = await paid(merchant, 3000);
    const { body } = await merchant.transfer({ amountCents: 3000 });
    await until(async () => (await statusOf(service, body.id)) === 'completed');
    await moves(await dispute(id), 'accept');
    await takes(id);
    const operator = { ...service.cellOf(merchant), actor: 'tester' };
    const [ended] = await listIncidents(operator, merchant.ownerId);
    expect(ended).toMatchObject({ state: 'resolved', amountCents: 3000 });
    expect(await columns(merchant)).toBe('0 0 3000 0');
    await resolveIncident(operator, ended?.id ?? '', { action: 'writeoff', reason: 'goodwill' });
    expect(await columns(merchant)).toBe('0 0 0 0');
  });

  test('of money that was withdrawn wants it of what comes later, and what then is missing is a debt', async () => {
    const merchant = await service.newMerchant();
    const id = await paid(merchant, 3000);
    const { body } = await merchant.transfer({ amountCents: 2000 });
    await until(async () => (await statusOf(service, body.id)) === 'completed');
    await dispute(id);
    expect(await columns(merchant)).toBe('0 1000 0 2000');
    await paid(merchant, 500);
    expect(await columns(merchant)).toBe('0 1500 0 1500');
    await takes(id);
    expect(await columns(merchant)).toBe('0 0 1500 0');
  });

  test('holds with others of the same Pix no more than the Pix, and takes the place of one that ends', async () => {
    const merchant = await service.newMerchant();
    const id = await paid(merchant, 2000);
    const other = await paid(merchant, 9000);
    const first = await dispute(id);
    const second = await dispute(id, { amountCents: 1200 });
    expect(await columns(merchant)).toBe('9000 2000 0 0');
    expect((await list(merchant)).map(({ heldCents }: { heldCents: number }) => heldCents)).toEqual([
      0, 2000,
    ]);
    await moves(first, 'reject');
    expect(await columns(merchant)).toBe('9800 1200 0 0');
    await moves(second, 'cancel');
    expect(await columns(merchant)).toBe('11000 0 0 0');
    expect(await statusOf(service, other)).toBe('paid');
  });

  test('of a Pix that was taken back already holds what is left of it', async () => {
    const merchant = await service.newMerchant();
    const id = await paid(merchant, 2000);
    await paid(merchant, 5000);
    await takes(id, 1500);
    await dispute(id);
    expect(await columns(merchant)).toBe('5000 500 0 0');
  });

  test('of a Pix that was refunded in part holds what is left of it', async () => {
    const merchant = await service.newMerchant();
    const id = await paid(merchant, 2000);
    const refundId = await refund(merchant, id, 1500);
    await until(async () => (await refundStatus(merchant, refundId)) === 'completed');
    await dispute(id);
    expect(await columns(merchant)).toBe('0 500 0 0');
  });

  test('frees what a refund takes that was on its way, and the provider takes no more than the rest', async () => {
    const merchant = await service.newMerchant();
    const id = await paid(merchant, 2000);
    await paid(merchant, 5000);
    const refundId = await refundOnItsWay(merchant, id, 1500);
    await dispute(id);
    expect(await columns(merchant)).toBe('3500 2000 0 0');
    await completes(merchant, id, refundId, 1500);
    expect(await columns(merchant)).toBe('5000 500 0 0');
    await takes(id, 500);
    expect(await columns(merchant)).toBe('5000 0 0 0');
  });

  test('ends its hold with a whole refund, and the fee that comes back is free', async () => {
    const merchant = await service.newMerchant();
    const operator = { ...service.cellOf(merchant), actor: 'tester' };
    await setConditions(operator, merchant.ownerId, { depositFeeCents: 100, refundFees: 'returned' });
    const id = await paid(merchant, 2000);
    await paid(merchant, 1000);
    const refundId = await refundOnItsWay(merchant, id, 2000);
    await dispute(id);
    expect(await columns(merchant)).toBe('0 800 0 1200');
    await completes(merchant, id, refundId, 2000);
    expect(await columns(merchant)).toBe('900 0 0 0');
  });

  test('whose hold an operator released is not held again by a refund', async () => {
    const merchant = await service.newMerchant();
    const id = await paid(merchant, 2000);
    await paid(merchant, 5000);
    const refundId = await refundOnItsWay(merchant, id, 500);
    await dispute(id);
    const [hold] = await service.database.admin<{ id: string }>('SELECT id FROM hold WHERE account_id = $1', [
      merchant.ownerId,
    ]);
    await releaseHold({ ...service.cellOf(merchant), actor: 'tester' }, hold?.id as string);
    await completes(merchant, id, refundId, 500);
    expect(await columns(merchant)).toBe('6500 0 0 0');
  });

  test('that arrives before its payment holds the amount once the money is there', async () => {
    const merchant = await service.newMerchant();
    const id = await unheard(merchant, 20_000);
    const disputeId = await dispute(id);
    expect(await list(merchant)).toMatchObject([{ paymentId: id, amountCents: 20_000, heldCents: 0 }]);
    await query(merchant, id);
    expect(await statusOf(service, id)).toBe('paid');
    expect(await columns(merchant)).toBe('0 20000 0 0');
    expect((await list(merchant))[0].heldCents).toBe(20_000);
    await moves(disputeId, 'accept');
    await takes(id);
    expect(await columns(merchant)).toBe('0 0 0 0');
  });

  test('that arrives before its payment and a return of it holds what is left once the money is there', async () => {
    const merchant = await service.newMerchant();
    const id = await unheard(merchant, 20_000);
    await dispute(id);
    const back = { amountCents: 5_000 };
    await service.simulator.control('POST', `/control/charges/${txid(id)}/return`, back);
    await query(merchant, id);
    expect(await columns(merchant)).toBe('0 15000 0 0');
    expect(await list(merchant)).toMatchObject([{ debitedCents: 5_000, heldCents: 15_000 }]);
  });

  test('that is read as accepted after the provider took its amount holds nothing of the rest of its Pix', async () => {
    const merchant = await service.newMerchant();
    const id = await paid(merchant, 3000);
    const opened = await service.simulator.control('POST', `/control/charges/${txid(id)}/dispute`, {
      amountCents: 1000,
    });
    await service.simulator.control('POST', `/control/disputes/${opened.body.id}/accept`);
    await takes(id, 1000);
    await readDisputes();
    expect(await columns(merchant)).toBe('2000 0 0 0');
    expect(await list(merchant)).toMatchObject([{ debitedCents: 1000, heldCents: 0 }]);
  });

  test('whose hold a person released stays released for all later news of it, until another dispute of the Pix', async () => {
    const merchant = await service.newMerchant();
    const id = await paid(merchant, 10_000);
    const disputeId = await dispute(id);
    await releaseOf(merchant);
    expect(await columns(merchant)).toBe('10000 0 0 0');
    await moves(disputeId, 'defend');
    await moves(disputeId, 'accept');
    expect(await columns(merchant)).toBe('10000 0 0 0');
    expect(await holdsOf(merchant)).toMatchObject([{ releasedBy: 'tester' }]);
    const [audited] = await service.database.admin<{ detail: object }>(
      `SELECT detail FROM audit WHERE account_id = $1 AND action = 'hold.release'`,
      [merchant.ownerId],
    );
    expect(audited?.detail).toMatchObject({ disputes: [(await list(merchant))[0].id] });
    await takes(id, 4000);
    expect(await columns(merchant)).toBe('6000 0 0 0');
    await dispute(id, { amountCents: 500 });
    expect(await columns(merchant)).toBe('0 6000 0 0');
  });

  test('of a deleted operation, or of a Pix that stands in suspense, holds nothing and is on record', async () => {
    const merchant = await service.newMerchant();
    const shop = (
      await merchant.call('POST', '/operations', { name: 'Loja 2', requestKey: crypto.randomUUID() })
    ).body.id;
    const id = await merchant.paidCharge({ amountCents: 1000 }, shop);
    const sent = await merchant.transfer({ amountCents: 1000 }, shop);
    await until(async () => (await statusOf(service, sent.body.id)) === 'completed');
    expect((await merchant.call('DELETE', `/operations/${shop}`)).status).toBe(200);
    await dispute(id);
    const [row] = await service.database.admin<{ status: string; hold_id: string | null }>(
      'SELECT status, hold_id FROM dispute WHERE payment_id = $1',
      [id],
    );
    expect(row).toEqual({ status: 'open', hold_id: null });

    const twice = await paid(merchant, 1000);
    await service.simulator.control('POST', `/control/charges/${txid(twice)}/pay`);
    await until(async () => (await incidentsOf(service, twice)).length === 1);
    await dispute(twice);
    expect(await columns(merchant)).toBe('1000 0 0 0');
    expect(await list(merchant)).toMatchObject([{ paymentId: twice, heldCents: 0 }]);
  });

  test('of a Pix that stands in suspense holds it from the moment on in which a person credits it', async () => {
    const merchant = await service.newMerchant();
    const operator = { ...service.cellOf(merchant), actor: 'tester' };
    for (const ends of ['taken', 'rejected'] as const) {
      const { body } = await merchant.charge({ amountCents: 1000 });
      const pay = `/control/charges/${txid(body.id)}/pay`;
      await service.simulator.control('POST', pay, { amountCents: 900 });
      await until(async () => (await incidentsOf(service, body.id)).length === 1);
      const disputeId = await dispute(body.id);
      expect(await columns(merchant)).toBe('0 0 0 0');
      const [incident] = await openOf(merchant);
      const reason = 'the payer meant this charge';
      await resolveIncident(operator, incident?.id ?? '', { action: 'credit', reason });
      expect(await columns(merchant)).toBe('0 900 0 0');
      expect(
        (await list(merchant)).find((one: { paymentId: string }) => one.paymentId === body.id),
      ).toMatchObject({
        heldCents: 900,
      });
      // The same report says nothing new.
      await readDisputes();
      expect(await columns(merchant)).toBe('0 900 0 0');
      if (ends === 'taken') await takes(body.id, 900);
      else await moves(disputeId, 'reject');
      expect(await columns(merchant)).toBe(ends === 'taken' ? '0 0 0 0' : '900 0 0 0');
    }
  });

  test('of a second Pix of a paid charge holds it as well from the moment on in which a person credits it', async () => {
    const merchant = await service.newMerchant();
    const operator = { ...service.cellOf(merchant), actor: 'tester' };
    const id = await paid(merchant, 1000);
    const pix: string[] = [];
    for (const amountCents of [600, 300]) {
      await service.simulator.control('POST', `/control/charges/${txid(id)}/pay`, { amountCents });
      await until(async () => (await openOf(merchant)).length === pix.length + 1);
      const newest = (await openOf(merchant)).find((one) => one.amountCents === amountCents);
      pix.push(newest?.reference.split(':')[2] ?? '');
    }
    const [first, second] = pix as [string, string];
    const disputeId = await dispute(id, { endToEnd: first });
    expect(await columns(merchant)).toBe('1000 0 0 0');
    for (const one of await openOf(merchant))
      await resolveIncident(operator, one.id, { action: 'credit', reason: 'the payer meant to pay again' });
    expect(await columns(merchant)).toBe('1300 600 0 0');
    expect((await list(merchant)).map((one: { heldCents: number }) => one.heldCents)).toEqual([600]);
    await moves(disputeId, 'defend');
    expect(await columns(merchant)).toBe('1300 600 0 0');
    // The provider's word to the other one says nothing of the first.
    const otherId = await dispute(id, { endToEnd: second, amountCents: 200 });
    expect(await columns(merchant)).toBe('1100 800 0 0');
    await takes(id, 250, first);
    expect(await columns(merchant)).toBe('1100 550 0 0');
    expect((await openOf(merchant)).map(({ kind }) => kind)).toEqual(['debit']);
    await moves(otherId, 'reject');
    expect(await columns(merchant)).toBe('1300 350 0 0');
    await takes(id, 350, first);
    expect(await columns(merchant)).toBe('1300 0 0 0');
    // Of the other, whose dispute is over, a person decides.
    await takes(id, 300, second);
    expect(await columns(merchant)).toBe('1300 0 0 0');
  });

  test('wants less of its Pix when a person says that a refund of it was carried out', async () => {
    const merchant = await service.newMerchant();
    const operator = { ...service.cellOf(merchant), actor: 'tester' };
    await setConditions(operator, merchant.ownerId, { depositFeeCents: 100, refundFees: 'returned' });
    const id = await paid(merchant, 2000);
    await paid(merchant, 1000);
    const refundId = await refundOnItsWay(merchant, id, 1500);
    await dispute(id);
    expect(await columns(merchant)).toBe('0 1300 0 700');
    await reports(merchant, id, refundId, 1400);
    const [incident] = await openOf(merchant);
    await resolveIncident(operator, incident?.id ?? '', { action: 'debit', reason: 'the bank shows it' });
    expect(await refundStatus(merchant, refundId)).toBe('completed');
    // 1300 and 75 of the fee and the 100 that did not leave, less the 500 that the provider may still take.
    expect(await columns(merchant)).toBe('975 500 0 0');
  });

  test('that the provider has ended when it is seen first holds only what may still be taken', async () => {
    const merchant = await service.newMerchant();
    const [one, other] = [await paid(merchant, 1000), await paid(merchant, 700)];
    for (const [id, action] of [
      [one, 'reject'],
      [other, 'accept'],
    ] as const) {
      const opened = await service.simulator.control('POST', `/control/charges/${txid(id)}/dispute`);
      await service.simulator.control('POST', `/control/disputes/${opened.body.id}/${action}`);
    }
    await readDisputes();
    expect(await columns(merchant)).toBe('1000 700 0 0');
    expect((await eventTypes(merchant)).toSorted()).toEqual(['dispute.accepted', 'dispute.rejected']);
  });
});

test('a debit without a dispute is taken from the balance', async () => {
  const merchant = await service.newMerchant();
  const id = await paid(merchant, 1000);
  await takes(id, 400);
  expect(await columns(merchant)).toBe('600 0 0 0');
});

test('a dispute of another operation or account is the same 404', async () => {
  const merchant = await service.newMerchant();
  const id = await paid(merchant, 1000);
  await dispute(id);
  const [shown] = await list(merchant);
  const other = await service.newMerchant();
  for (const unknown of [shown.id, crypto.randomUUID()])
    expect((await other.call('GET', `/disputes/${unknown}`)).body.code).toBe('dispute_not_found');
});
