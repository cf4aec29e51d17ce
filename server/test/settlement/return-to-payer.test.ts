import { type Merchant, openService, type Service, until as untilWithin } from '@vintem/testkit/service.ts';
import { incidentsOf, journalsOf, later, reservedCents } from '@vintem/testkit/settlement.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { applyOutcome } from '../../src/flow/apply.ts';
import { observedRefund } from '../../src/kinds/payment/refund-lines.ts';
import { type ReturnRule, setReturnRule } from '../../src/operate/accounts/return-rule.ts';
import type { Action } from '../../src/operate/incidents/endings.ts';
import {
  type IncidentView,
  keepIncident,
  listIncidents,
  resolveIncident,
} from '../../src/operate/incidents/incident.ts';
import { stepPayerReturns } from '../../src/operate/incidents/return-rule.ts';
import { pauseWithdrawals, resumeWithdrawals } from '../../src/operate/pause.ts';
import type { RefundReport } from '../../src/provider/provider.ts';

/** Money in suspense goes back to its payer: by a person's decision, or by the account's rule. */

let service: Service;
beforeAll(async () => {
  service = await openService();
});
afterAll(async () => {
  const wrong = await violationsOfBooks(service);
  await service?.close();
  expect(wrong).toEqual([]);
});

const minute = 60_000;
const until = (holds: () => Promise<boolean>) => untilWithin(holds, 300_000);
const operator = (ownerId: string, aheadMs = 0) => ({
  ...later(service.cellOf({ ownerId }), aheadMs),
  actor: 'tester',
});

const openOf = async (merchant: Merchant): Promise<IncidentView[]> =>
  (await listIncidents(operator(merchant.ownerId), merchant.ownerId)).filter(({ state }) => state === 'open');

const control = (path: string, body?: object) => service.simulator.control('POST', path, body);

/** A charge of 2000 with money of 700 in suspense under it. */
interface Odd {
  merchant: Merchant;
  charge: string;
  incident: IncidentView;
}

const makers = {
  second_payment: async (): Promise<Odd> => {
    const merchant = await service.newMerchant();
    return odd(merchant, await merchant.paidCharge({ amountCents: 2_000 }));
  },
  amount_mismatch: async (): Promise<Odd> => {
    const merchant = await service.newMerchant();
    const { body } = await merchant.charge({ amountCents: 2_000 });
    return odd(merchant, body.id);
  },
};

async function odd(merchant: Merchant, charge: string): Promise<Odd> {
  const before = await openOf(merchant);
  await control(`/control/charges/${charge}/pay`, { amountCents: 700 });
  await until(async () => (await openOf(merchant)).length > before.length);
  const known = new Set(before.map(({ id }) => id));
  const incident = (await openOf(merchant)).find(({ id }) => !known.has(id)) as IncidentView;
  return { merchant, charge, incident };
}

const resolve = ({ id, accountId }: Pick<IncidentView, 'id' | 'accountId'>, action: Action, aheadMs = 0) =>
  resolveIncident(operator(accountId, aheadMs), id, { action, reason: 'looked at the bank statement' });

const refundsOf = async ({ merchant, charge }: Odd) =>
  (await merchant.call('GET', `/payments/${charge}/refunds`)).body.refunds;

const ended = async (made: Odd, status: string) => {
  await until(async () => (await refundsOf(made))[0]?.status === status);
  return (await refundsOf(made))[0];
};

/** The words of the charge about its odd money. */
const noticeOf = async ({ merchant, charge }: Odd): Promise<string> =>
  (await merchant.call('GET', `/payments/${charge}`)).body.notice;

/** Money without an owner, and the company's gain (negative: loss). */
async function books({ merchant }: Odd) {
  const [sums] = await service.database.admin<{ suspense: string; adjustments: string; reserved: string }>(
    `SELECT sum(suspense) AS suspense, sum(adjustments) AS adjustments, sum(reserved) AS reserved FROM journal
      WHERE account_id = $1`,
    [merchant.ownerId],
  );
  return {
    balance: await merchant.balanceCents(),
    suspense: Number(sums?.suspense),
    gained: Number(sums?.adjustments),
    reserved: Number(sums?.reserved),
  };
}

/** The provider's record of the returns of a charge. */
const atProvider = async ({ charge }: Odd) =>
  (await service.simulator.control('GET', `/control/state?txid=${charge}`)).body.charges[0].refunds ?? [];

/** How the provider treats the refunds of this account's returns: they carry no message to steer by. */
const behaviour = (refund: string) => service.simulator.control('PUT', '/control/behaviour', { refund });

describe('a person returns', () => {
  test('a second payment: whole, once, out of suspense, and the charge stays as it is', async () => {
    const made = await makers.second_payment();
    const before = await books(made);
    expect(before).toMatchObject({ suspense: 700, gained: 0 });
    await resolve(made.incident, 'return');
    const refund = await ended(made, 'completed');
    expect(refund).toMatchObject({ amountCents: 700, reason: 'odd_money', paymentId: made.charge });
    expect(await journalsOf(service, refund.id)).toEqual(['suspenseReserve', 'refundComplete']);
    expect(await books(made)).toEqual({ ...before, suspense: 0 });
    expect(await reservedCents(made.merchant)).toBe(0);
    expect(await atProvider(made)).toMatchObject([
      { timesReceived: 1, status: 'completed', amountCents: 700 },
    ]);
    const { body: charge } = await made.merchant.call('GET', `/payments/${made.charge}`);
    expect(charge.status).toBe('paid');
    expect(charge.refundedCents).toBeUndefined();
    // Of the Pix that paid it, everything can still be refunded.
    const asked = { requestKey: crypto.randomUUID() };
    const { body: whole } = await made.merchant.call('POST', `/payments/${made.charge}/refunds`, asked);
    expect(whole.amountCents).toBe(2_000);
    await expect(resolve(made.incident, 'return')).rejects.toThrow(/resolved already/);
    const types = async () =>
      (await made.merchant.call('GET', '/events')).body.events.map(({ type }: { type: string }) => type);
    await until(async () => (await types()).includes('refund.completed'));
  });

  test('another amount: the open charge expires', async () => {
    const made = await makers.amount_mismatch();
    await resolve(made.incident, 'return');
    await ended(made, 'completed');
    expect((await made.merchant.call('GET', `/payments/${made.charge}`)).body.status).toBe('expired');
    expect(await books(made)).toEqual({ balance: 0, suspense: 0, gained: 0, reserved: 0 });
  });

  test('money for an operation that was deleted, without a word to the merchant', async () => {
    const merchant = await service.newMerchant();
    const { body: made } = await merchant.call('POST', '/operations', {
      name: 'Filial',
      requestKey: crypto.randomUUID(),
    });
    const { body: charge } = await merchant.charge({}, made.id);
    await control(`/control/charges/${charge.id}/expire`);
    const shown = () => merchant.call('GET', `/payments/${charge.id}`, undefined, made.id);
    await until(async () => (await shown()).body.status === 'expired');
    expect((await merchant.call('DELETE', `/operations/${made.id}`, {})).status).toBe(200);
    const pix = {
      endToEnd: 'E'.padEnd(32, '3'),
      amountCents: 700,
      paidAt: service.runtime.clock.now(),
      txid: null,
      returns: [],
    };
    await applyOutcome(
      service.cellOf(merchant),
      {
        accountId: merchant.ownerId,
        paymentId: charge.id,
        operationId: made.id,
        connection: 'simulator',
        kind: 'deposit',
        observation: { from: 'webhook', id: crypto.randomUUID(), received: [pix], payouts: [] },
      },
      service.runtime.clock.monotonicMs() + 10_000,
    );
    const [incident] = await openOf(merchant);
    expect(incident).toMatchObject({ kind: 'deleted_operation', amountCents: 700 });
    await resolve(incident as IncidentView, 'return');
    const [stored] = await service.database.admin<{ id: string; end_to_end: string }>(
      'SELECT id, end_to_end FROM refund WHERE payment_id = $1',
      [charge.id],
    );
    expect(stored?.end_to_end).toBe(pix.endToEnd);
    expect(await journalsOf(service, stored?.id ?? '')).toContain('suspenseReserve');
    const events = await service.database.admin(
      `SELECT FROM event WHERE payment_id = $1 AND type LIKE 'refund.%'`,
      [charge.id],
    );
    expect(events).toEqual([]);
  });

  test('twice at once: it is decided once', async () => {
    const made = await makers.second_payment();
    const tries = await Promise.allSettled(
      Array.from({ length: 4 }, (_, at) => resolve(made.incident, at % 2 === 0 ? 'return' : 'credit')),
    );
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('nothing that is not a received Pix in suspense', async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(5_000);
    const { body: sent } = await merchant.transfer({ pixKey: 'stay-pending@simulator.example' });
    const payout = {
      providerId: sent.id.replaceAll('-', ''),
      amountCents: 1,
      pixKey: null,
      status: 'completed' as const,
      endToEnd: null,
      settledAt: null,
      reason: null,
      returns: [],
    };
    const { ownerId: accountId, operationId } = merchant;
    await applyOutcome(
      service.cellOf(merchant),
      {
        accountId,
        paymentId: sent.id,
        operationId,
        connection: 'simulator',
        kind: 'transfer',
        observation: { from: 'webhook', id: crypto.randomUUID(), received: [], payouts: [payout] },
      },
      service.runtime.clock.monotonicMs() + 10_000,
    );
    const [incident] = await openOf(merchant);
    expect(incident?.kind).toBe('report_mismatch');
    await expect(resolve(incident as IncidentView, 'return')).rejects.toThrow(/does not fit/);
  });

  test('nothing of which a part went back already, what the payer disputes, or what is too old', async () => {
    const made = await makers.second_payment();
    const before = await books(made);
    await expect(resolve(made.incident, 'return', 91 * 24 * 60 * minute)).rejects.toThrow(/90 days/);
    const suspended = made.incident.reference.split(':')[2];
    const disputed = (status: string) =>
      service.database.admin(
        `INSERT INTO dispute (account_id, id, payment_id, operation_id, connection, provider_id, end_to_end, amount_cents, status,
            opened_at, debited_cents, created_at, updated_at)
          VALUES ($1, $2, $3, $4, 'simulator', $7, $5, 700, $6, now(), 0, now(), now())`,
        [
          made.merchant.ownerId,
          crypto.randomUUID(),
          made.charge,
          made.merchant.operationId,
          suspended,
          status,
          crypto.randomUUID(),
        ],
      );
    for (const status of ['open', 'defending', 'accepted']) {
      await disputed(status);
      await expect(resolve(made.incident, 'return')).rejects.toThrow(/disputes/);
      await service.database.admin('DELETE FROM dispute WHERE payment_id = $1', [made.charge]);
    }
    await control(`/control/charges/${made.charge}/return`, { amountCents: 100, endToEnd: suspended });
    await until(async () => (await openOf(made.merchant)).some(({ kind }) => kind === 'debit'));
    await expect(resolve(made.incident, 'return')).rejects.toThrow(/went back already/);
    expect(await books(made)).toEqual({ ...before, suspense: 600 });
    expect(await atProvider(made)).toEqual([]);
  });
});

describe('a return to the payer', () => {
  test('that the provider refuses stands in suspense again, and may be returned again under another id', async () => {
    const made = await makers.second_payment();
    const before = await books(made);
    expect(await noticeOf(made)).toMatch(/only after review/);
    await behaviour('refuse-in-answer');
    await resolve(made.incident, 'return');
    const failed = await ended(made, 'failed');
    await behaviour('complete');
    expect(await noticeOf(made)).toMatch(/only after review/);
    expect(await journalsOf(service, failed.id)).toEqual(['suspenseReserve', 'suspenseRelease']);
    expect(await books(made)).toEqual(before);
    const [again] = await openOf(made.merchant);
    expect(again).toMatchObject({ kind: 'return_refused', amountCents: 700, paymentId: made.charge });
    await resolve(again as IncidentView, 'return');
    await until(async () => (await refundsOf(made)).length === 2);
    await until(async () => (await refundsOf(made))[1].status === 'completed');
    expect((await refundsOf(made))[1].id).not.toBe(failed.id);
    expect(await books(made)).toEqual({ ...before, suspense: 0 });
    expect(await noticeOf(made)).toMatch(/goes back to its payer/);
  });

  test.each([
    ['credit', { balance: 2_700, gained: 0 }, /credited to the balance/],
    ['writeoff', { balance: 2_000, gained: 700 }, /did not enter the balance/],
  ] as const)('that the provider refuses can be given by %s', async (action, after, notice) => {
    const made = await makers.second_payment();
    await behaviour('refuse-in-answer');
    await resolve(made.incident, 'return');
    await ended(made, 'failed');
    await behaviour('complete');
    const [again] = await openOf(made.merchant);
    await expect(resolve(again as IncidentView, 'debit')).rejects.toThrow(/does not fit/);
    await resolve(again as IncidentView, action);
    expect(await books(made)).toEqual({ ...after, suspense: 0, reserved: 0 });
    expect(await noticeOf(made)).toMatch(notice);
  });

  test('A charge says that money waits for review until the last of its odd money is decided', async () => {
    const first = await makers.second_payment();
    const second = await odd(first.merchant, first.charge);
    await resolve(first.incident, 'credit');
    expect(await noticeOf(first)).toMatch(/only after review/);
    await resolve(second.incident, 'writeoff');
    expect(await noticeOf(first)).toMatch(/did not enter the balance/);
  });

  test.each(['lose-answer', 'error-500-after-accepting'])(
    'whose answer is %s is queried, and paid once',
    async (how) => {
      const made = await makers.second_payment();
      await behaviour(how);
      await resolve(made.incident, 'return');
      await until(async () => (await atProvider(made)).length === 1);
      await behaviour('complete');
      await ended(made, 'completed');
      expect(await atProvider(made)).toMatchObject([{ timesReceived: 1 }]);
      expect(await books(made)).toMatchObject({ suspense: 0, reserved: 0, balance: 2_000 });
    },
  );

  test('keeps its reserve while the provider only has it; a person may end it', async () => {
    const made = await makers.second_payment();
    await behaviour('stay-pending');
    await resolve(made.incident, 'return');
    const refund = await ended(made, 'pending');
    await behaviour('complete');
    expect(await books(made)).toMatchObject({ suspense: 0, reserved: 700, balance: 2_000 });
    expect(await reservedCents(made.merchant)).toBe(0);
    const report = (found: Partial<RefundReport>) =>
      applyOutcome(
        service.cellOf(made.merchant),
        observedRefund(
          {
            accountId: made.merchant.ownerId,
            id: refund.id,
            operationId: made.merchant.operationId,
            paymentId: made.charge,
            reason: 'odd_money',
          },
          'simulator',
          {
            from: 'query',
            id: crypto.randomUUID(),
            startedAt: service.runtime.clock.now(),
            outcome: {
              outcome: 'found',
              report: {
                providerId: refund.id.replaceAll('-', ''),
                rtrId: null,
                amountCents: 700,
                status: 'completed',
                settledAt: null,
                reason: null,
                ...found,
              },
            },
          },
        ),
        service.runtime.clock.monotonicMs() + 10_000,
      );
    await report({ amountCents: 701 });
    const [mismatch] = await openOf(made.merchant);
    expect(mismatch?.kind).toBe('refund_mismatch');
    await expect(resolve(mismatch as IncidentView, 'writeoff')).rejects.toThrow(/does not fit/);
    await resolve(mismatch as IncidentView, 'credit');
    expect(await ended(made, 'failed')).toMatchObject({ reasonCode: 'cancelled_by_operator' });
    expect(await books(made)).toMatchObject({ suspense: 700, reserved: 0, balance: 2_000 });
    expect(await incidentsOf(service, made.charge)).toMatchObject([
      { kind: 'second_payment', state: 'resolved' },
      { kind: 'refund_mismatch', state: 'resolved' },
      { kind: 'return_refused', state: 'open' },
    ]);
    // It had left all the same: the company bears it, and keeps what stands in suspense.
    await report({});
    const open = await openOf(made.merchant);
    // Another return would go out under another id, and the payer would have the money twice.
    const refused = open.find(({ kind }) => kind === 'return_refused') as IncidentView;
    await expect(resolve(refused, 'return')).rejects.toThrow(/failed here, as carried out/);
    for (const one of open) await resolve(one, 'writeoff');
    expect(open.map(({ kind }) => kind).sort()).toEqual(['refund_contradiction', 'return_refused']);
    expect(await books(made)).toEqual({ suspense: 0, reserved: 0, balance: 2_000, gained: 0 });
  });

  test('is not sent when the provider took the Pix back while it waited', async () => {
    const made = await makers.second_payment();
    const before = await books(made);
    const endToEnd = made.incident.reference.split(':')[2];
    await pauseWithdrawals({ ...service.runtime, actor: 'tester' }, 'the provider is being looked at');
    await resolve(made.incident, 'return');
    await control(`/control/charges/${made.charge}/return`, { amountCents: 700, endToEnd });
    await until(async () => (await openOf(made.merchant)).some(({ kind }) => kind === 'debit'));
    expect(await refundsOf(made)).toMatchObject([{ status: 'unknown' }]);
    await resumeWithdrawals({ ...service.runtime, actor: 'tester' });
    const refund = await ended(made, 'failed');
    expect(await journalsOf(service, refund.id)).toEqual(['suspenseReserve', 'suspenseRelease']);
    expect(await atProvider(made)).toEqual([]);
    expect(await books(made)).toEqual({ ...before, suspense: 0 });
    const open = await openOf(made.merchant);
    expect(open.map(({ kind }) => kind).sort()).toEqual(['debit', 'return_refused']);
    const refused = open.find(({ kind }) => kind === 'return_refused') as IncidentView;
    await expect(resolve(refused, 'return')).rejects.toThrow(/went back already/);
    // The credit and the debit cover each other.
    for (const one of open) {
      await expect(resolve(one, 'writeoff')).rejects.toThrow(/nothing of it is left/);
      await resolve(one, 'none');
    }
    expect(await books(made)).toEqual({ ...before, suspense: 0 });
  });

  test('is not decided while the provider names a return of the Pix that was not looked up yet', async () => {
    const made = await makers.second_payment();
    const endToEnd = made.incident.reference.split(':')[2];
    const named = (kind: string) =>
      service.database.admin(
        `INSERT INTO statement_line (connection, kind, reference, end_to_end, moved_at, first_seen_at, tries, next_at)
          VALUES ('simulator', $2, $1, $1, now(), now(), 0, now() + interval '1 year')`,
        [endToEnd, kind],
      );
    for (const kind of ['reported', 'debited']) {
      await named(kind);
      await expect(resolve(made.incident, 'return')).rejects.toThrow(/no answer yet/);
      await service.database.admin('DELETE FROM statement_line WHERE end_to_end = $1', [endToEnd]);
    }
    await resolve(made.incident, 'return');
    await ended(made, 'completed');
  });

  test('that the provider takes back is the merchant’s by a person’s word', async () => {
    const made = await makers.second_payment();
    await resolve(made.incident, 'return');
    const refund = await ended(made, 'completed');
    await applyOutcome(
      service.cellOf(made.merchant),
      observedRefund(
        {
          accountId: made.merchant.ownerId,
          id: refund.id,
          operationId: made.merchant.operationId,
          paymentId: made.charge,
          reason: 'odd_money',
        },
        'simulator',
        {
          from: 'charge',
          cause: { by: 'query', id: crypto.randomUUID() },
          line: {
            id: refund.id.replaceAll('-', ''),
            rtrId: null,
            amountCents: 700,
            at: service.runtime.clock.now(),
            status: 'failed',
          },
        },
      ),
      service.runtime.clock.monotonicMs() + 10_000,
    );
    const [incident] = await openOf(made.merchant);
    expect(incident?.kind).toBe('refund_contradiction');
    await resolve(incident as IncidentView, 'credit');
    expect(await books(made)).toEqual({ balance: 2_700, suspense: 0, gained: 0, reserved: 0 });
  });
});

describe('the rule of an account', () => {
  const rule = (merchant: Merchant, change: Partial<ReturnRule>) =>
    setReturnRule(operator(merchant.ownerId), merchant.ownerId, change);
  const step = async (aheadMs: number) => {
    for (const cell of service.runtime.cells.all()) await stepPayerReturns(later(cell, aheadMs));
  };

  test.each([
    ['never', 'second_payment', false],
    ['second_payment', 'second_payment', true],
    ['second_payment', 'amount_mismatch', false],
    ['all', 'amount_mismatch', true],
  ] as const)('%s: a %s goes back after its time: %s', async (wanted, kind, goes) => {
    const merchant = await service.newMerchant();
    await rule(merchant, { returnOddMoney: wanted });
    const asked = { amountCents: 2_000 };
    const charge =
      kind === 'second_payment' ? await merchant.paidCharge(asked) : (await merchant.charge(asked)).body.id;
    const made = await odd(merchant, charge);
    await step(9 * minute);
    expect(await refundsOf(made)).toEqual([]);
    await step(11 * minute);
    expect(await refundsOf(made)).toHaveLength(goes ? 1 : 0);
    if (!goes) return;
    const [shown] = await listIncidents(operator(merchant.ownerId), merchant.ownerId);
    expect(shown?.resolution).toMatchObject({ action: 'return', actor: 'rule' });
  });

  test('leaves alone what a person keeps, what arrived before it, and what was refused once', async () => {
    const kept = await makers.second_payment();
    await rule(kept.merchant, { returnOddMoney: 'all' });
    // It arrived before the rule.
    await step(60 * minute);
    expect(await refundsOf(kept)).toEqual([]);
    const other = await odd(kept.merchant, kept.charge);
    const { incident } = other;
    const { keptAt } = await keepIncident(operator(incident.accountId), incident.id, 'the payer called');
    expect(keptAt).not.toBeNull();
    await step(60 * minute);
    expect(await refundsOf(other)).toEqual([]);
    const race = { action: 'return', reason: 'rule of the account', decider: 'rule' } as const;
    await expect(resolveIncident(operator(incident.accountId), incident.id, race)).rejects.toThrow(
      /keeps its money/,
    );
    await behaviour('refuse-in-answer');
    await resolve(incident, 'return');
    await ended(kept, 'failed');
    await behaviour('complete');
    await step(60 * minute);
    expect(await refundsOf(kept)).toHaveLength(1);
    expect((await openOf(kept.merchant)).map(({ kind }) => kind)).toContain('return_refused');
  });

  test('tries what cannot go back once, and leaves it to people', async () => {
    const merchant = await service.newMerchant();
    await rule(merchant, { returnOddMoney: 'all' });
    const { body } = await merchant.charge({ amountCents: 2_000 });
    const made = await odd(merchant, body.id);
    await step(91 * 24 * 60 * minute);
    const [left] = await openOf(merchant);
    expect(left?.keptAt).not.toBeNull();
    expect(await refundsOf(made)).toEqual([]);
  });

  test('takes no time outside of a week', async () => {
    const merchant = await service.newMerchant();
    for (const afterMinutes of [-1, 10_081, 1.5])
      await expect(rule(merchant, { afterMinutes })).rejects.toThrow(/0 to 10080 minutes/);
    await expect(rule({ ...merchant, ownerId: crypto.randomUUID() }, {})).rejects.toThrow(/no such account/);
  });
});
