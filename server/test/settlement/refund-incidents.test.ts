import { type Merchant, openService, type Service, until as untilWithin } from '@vintem/testkit/service.ts';
import { incidentsOf, journalsOf, later, reservedCents } from '@vintem/testkit/settlement.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { applyOutcome } from '../../src/flow/apply.ts';
import { observedRefund } from '../../src/kinds/payment/refund-lines.ts';
import { type ConditionChange, setConditions } from '../../src/operate/accounts/conditions.ts';
import { type Action, actions } from '../../src/operate/incidents/endings.ts';
import { listIncidents, resolveIncident } from '../../src/operate/incidents/incident.ts';
import type { RefundReport } from '../../src/provider/provider.ts';

/** How a person resolves an incident of a refund: every action that fits, and that every other one changes nothing. */

let service: Service;
beforeAll(async () => {
  service = await openService();
});
afterAll(async () => {
  const wrong = await violationsOfBooks(service);
  await service?.close();
  expect(wrong).toEqual([]);
});

const hour = 3_600_000;
const until = (holds: () => Promise<boolean>) => untilWithin(holds, 300_000);

interface Refunded {
  merchant: Merchant;
  charge: string;
  refund: string;
}

const shown = async ({ merchant, refund }: Refunded) =>
  (await merchant.call('GET', `/refunds/${refund}`)).body;

/** A refund of 600 of a charge of 2000, as far as the provider's `behaviour` takes it. */
async function refunded(
  behaviour: string,
  status: string,
  conditions: ConditionChange = {},
): Promise<Refunded> {
  const merchant = await service.newMerchant();
  await merchant.receive(1_000);
  await setConditions({ ...service.cellOf(merchant), actor: 'tester' }, merchant.ownerId, conditions);
  const charge = await merchant.paidCharge({ amountCents: 2_000 });
  const { body } = await merchant.call('POST', `/payments/${charge}/refunds`, {
    requestKey: crypto.randomUUID(),
    amountCents: 600,
    description: `${behaviour}@simulator.example`,
  });
  const made = { merchant, charge, refund: body.id };
  await until(async () => (await shown(made)).status === status);
  return made;
}

/** The provider answers a query about it, `aheadMs` from now. */
const answered = (
  { merchant, charge, refund }: Refunded,
  report: Partial<RefundReport>,
  { aheadMs = 0 } = {},
) => {
  const runtime = later(service.cellOf(merchant), aheadMs);
  const found: RefundReport = {
    providerId: refund.replaceAll('-', ''),
    rtrId: null,
    amountCents: 600,
    status: 'completed',
    settledAt: null,
    reason: null,
    ...report,
  };
  const outcome = { outcome: 'found', report: found } as const;
  return applyOutcome(
    runtime,
    observedRefund(
      {
        accountId: merchant.ownerId,
        id: refund,
        operationId: merchant.operationId,
        paymentId: charge,
        reason: 'requested',
      },
      'simulator',
      { from: 'query', id: crypto.randomUUID(), startedAt: runtime.clock.now(), outcome },
    ),
    runtime.clock.monotonicMs() + 10_000,
  );
};

/** The refund is with the provider, which says so for a day and does not end it. */
async function undecided(): Promise<Refunded> {
  const made = await refunded('stay-pending', 'pending');
  for (const aheadMs of [0, 25 * hour]) await answered(made, { status: 'pending' }, { aheadMs });
  return made;
}

const mismatchOf = (amountCents: number) => async (): Promise<Refunded> => {
  const made = await refunded('stay-pending', 'pending');
  await answered(made, { amountCents });
  return made;
};

/** Refused, and only then reported with another amount. */
async function mismatchOfFailed(): Promise<Refunded> {
  const made = await refunded('refuse-in-answer', 'failed');
  await answered(made, { amountCents: 700 });
  return made;
}

async function completedAfterFailure(): Promise<Refunded> {
  const made = await refunded('refuse-in-answer', 'failed');
  await answered(made, {});
  return made;
}

async function refusedAfterCompletion(): Promise<Refunded> {
  const made = await refunded('complete', 'completed');
  await answered(made, { status: 'refused', reason: 'provider_refused' });
  return made;
}

/** The merchant's part of the 3000 that came in, and the company's gain (negative: loss). */
const books = async ({ merchant }: Refunded) => {
  const [sums] = await service.database.admin<{ adjustments: string }>(
    'SELECT coalesce(sum(adjustments), 0) AS adjustments FROM journal WHERE account_id = $1',
    [merchant.ownerId],
  );
  return {
    balance: await merchant.balanceCents(),
    reserved: await reservedCents(merchant),
    gained: Number(sums?.adjustments),
  };
};

const resolve = async ({ merchant }: Refunded, action: Action) => {
  const operator = { ...later(service.cellOf(merchant), 26 * hour), actor: 'tester' };
  const open = (await listIncidents(operator, merchant.ownerId)).filter(({ state }) => state === 'open');
  expect(open).toHaveLength(1);
  return resolveIncident(operator, open[0]?.id ?? '', { action, reason: 'looked at the bank statement' });
};

interface Ending {
  status: string;
  balance: number;
  gained?: number;
  journals: string[];
}

const back = { status: 'failed', balance: 3_000, journals: ['refundReserve', 'refundRelease'] };
const gone = { status: 'completed', balance: 2_400, journals: ['refundReserve', 'refundComplete'] };

const cases: {
  name: string;
  opens(): Promise<Refunded>;
  kind: string;
  ends: Partial<Record<Action, Ending>>;
}[] = [
  {
    name: 'undecided for a day',
    opens: undecided,
    kind: 'refund_undecided',
    ends: { credit: back, debit: gone },
  },
  {
    name: 'reported with less than asked',
    opens: mismatchOf(400),
    kind: 'refund_mismatch',
    // The part that did not go back is the merchant's again.
    ends: { credit: back, debit: { ...gone, balance: 2_600 } },
  },
  {
    name: 'reported with more than asked',
    opens: mismatchOf(700),
    kind: 'refund_mismatch',
    // The merchant agreed to 600.
    ends: { credit: back, debit: { ...gone, gained: -100 } },
  },
  {
    name: 'refused, then reported with another amount',
    opens: mismatchOfFailed,
    kind: 'refund_mismatch',
    ends: { debit: { ...back, balance: 2_400, gained: -100 }, writeoff: { ...back, gained: -700 } },
  },
  {
    name: 'refused, then carried out',
    opens: completedAfterFailure,
    kind: 'refund_contradiction',
    ends: { debit: { ...back, balance: 2_400 }, writeoff: { ...back, gained: -600 } },
  },
  {
    name: 'carried out, then refused',
    opens: refusedAfterCompletion,
    kind: 'refund_contradiction',
    ends: { credit: { ...gone, balance: 3_000 } },
  },
];

describe.concurrent.each(cases)('a refund that is $name', ({ opens, kind, ends }) => {
  const fitting = Object.entries(ends) as [Action, Ending][];

  test.each(fitting)('ends by %s', async (action, { status, balance, gained = 0, journals }) => {
    const made = await opens();
    expect(await incidentsOf(service, made.charge)).toMatchObject([{ kind, state: 'open' }]);
    expect(await resolve(made, action)).toMatchObject({ state: 'resolved', resolution: { action } });
    expect((await shown(made)).status).toBe(status);
    expect(await journalsOf(service, made.refund)).toEqual(journals);
    // `+ 0`: a sum of nothing may be -0.
    expect(await books(made)).toEqual({ balance, reserved: 0, gained: gained + 0 });
    const { body } = await made.merchant.call('GET', `/payments/${made.charge}`);
    expect(body.refundedCents ?? 0).toBe(status === 'completed' ? 600 : 0);
    // Withdrawals are free again.
    expect((await made.merchant.transfer({ amountCents: 1_000 })).status).toBe(201);
  });

  test('is left as it is by every other action, and by none', async () => {
    const made = await opens();
    const before = [await shown(made), await books(made), await journalsOf(service, made.refund)];
    const as = async () => [await shown(made), await books(made), await journalsOf(service, made.refund)];
    for (const action of actions.filter((one) => one !== 'none' && !(one in ends)))
      await expect(resolve(made, action)).rejects.toThrow(/does not fit/);
    expect(await incidentsOf(service, made.charge)).toMatchObject([{ kind, state: 'open' }]);
    expect(await as()).toEqual(before);
    await resolve(made, 'none');
    expect(await as()).toEqual(before);
  });
});

describe.concurrent('of a charge of 2000 whose fee of 20 comes back', () => {
  const agreed = { depositFeeCents: 20, refundFees: 'returned' } as const;

  test('a refund that a person completes brings its part back', async () => {
    const made = await refunded('stay-pending', 'pending', agreed);
    for (const aheadMs of [0, 25 * hour]) await answered(made, { status: 'pending' }, { aheadMs });
    expect((await books(made)).balance).toBe(2_380);
    await resolve(made, 'debit');
    expect(await books(made)).toEqual({ balance: 2_386, reserved: 0, gained: 0 });
  });

  test('a refund that was refused and carried out all the same takes its amount and brings its part back', async () => {
    const made = await refunded('refuse-in-answer', 'failed', agreed);
    await answered(made, {});
    expect((await books(made)).balance).toBe(2_980);
    await resolve(made, 'debit');
    expect(await books(made)).toEqual({ balance: 2_386, reserved: 0, gained: 0 });
  });

  test('a refund that was carried out and then refused comes back, and its part of the fee is taken again', async () => {
    const made = await refunded('complete', 'completed', agreed);
    await answered(made, { status: 'refused', reason: 'provider_refused' });
    expect((await books(made)).balance).toBe(2_386);
    await resolve(made, 'credit');
    expect(await books(made)).toEqual({ balance: 2_980, reserved: 0, gained: 0 });
  });
});

test('a refund that has ended by itself leaves nothing to decide about its day of silence', async () => {
  const made = await undecided();
  await answered(made, {});
  const before = await books(made);
  for (const action of ['credit', 'debit', 'writeoff'] as const)
    await expect(resolve(made, action)).rejects.toThrow(/does not fit/);
  await resolve(made, 'none');
  expect(await books(made)).toEqual(before);
  expect((await shown(made)).status).toBe('completed');
});

test('a refund that a person has ended is not sent again, and a later word of the provider opens an incident', async () => {
  const made = await undecided();
  await resolve(made, 'credit');
  await answered(made, {});
  // The undecided one was opened a day ahead.
  expect(await incidentsOf(service, made.charge)).toMatchObject([
    { kind: 'refund_contradiction', state: 'open' },
    { kind: 'refund_undecided', state: 'resolved' },
  ]);
  expect(await journalsOf(service, made.refund)).toEqual(['refundReserve', 'refundRelease']);
  const { body } = await service.simulator.control('GET', `/control/state?txid=${made.charge}`);
  expect(body.charges[0].refunds).toMatchObject([{ timesReceived: 1 }]);
});
