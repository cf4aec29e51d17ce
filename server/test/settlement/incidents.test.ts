import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { applyOutcome } from '../../src/flow/apply.ts';
import { findWords } from '../../src/flow/provider-words.sql.ts';
import { postUnmatched } from '../../src/flow/unmatched.ts';
import type { PaymentNews } from '../../src/kinds/payment/interpret-report.ts';
import type { Action } from '../../src/operate/incidents/endings.ts';
import {
  type IncidentView,
  listIncidents,
  resolveIncident,
  showIncident,
} from '../../src/operate/incidents/incident.ts';
import type { PayoutReport, PixReturn, ReceivedPix } from '../../src/provider/provider.ts';
import type { Operator } from '../../src/store/operator.ts';

let service: Service;

beforeAll(async () => {
  service = await openService();
});
afterAll(async () => {
  const wrong = await violationsOfBooks(service);
  await service.close();
  expect(wrong).toEqual([]);
});

const operator = (ownerId: string): Operator => ({ ...service.cellOf({ ownerId }), actor: 'tester' });

const resolve = (incident: IncidentView | undefined, action: Action) =>
  resolveIncident(operator(incident?.accountId ?? ''), incident?.id ?? '', {
    action,
    reason: 'seen and decided',
  });

const openOf = async (merchant: Merchant, kind?: string): Promise<IncidentView[]> =>
  (await listIncidents(service.cellOf(merchant), merchant.ownerId)).filter(
    (one) => one.state === 'open' && (kind === undefined || one.kind === kind),
  );

const statusOf = async (merchant: Merchant, id: string): Promise<string> =>
  (await merchant.call('GET', `/payments/${id}`)).body.status;

const providerId = (id: string): string => id.replaceAll('-', '');

/** The account's own lines: what the provider holds, what has no owner, what the installation gained. */
async function books(
  merchant: Merchant,
): Promise<{ clearing: number; suspense: number; adjustments: number; fees: number }> {
  const [sums] = await service.database.admin<Record<string, string>>(
    `SELECT coalesce(sum(clearing), 0) AS clearing, coalesce(sum(suspense), 0) AS suspense, coalesce(sum(adjustments), 0) AS adjustments,
      coalesce(sum(fee_revenue), 0) AS fees FROM journal WHERE account_id = $1`,
    [merchant.ownerId],
  );
  const { clearing, suspense, adjustments, fees } = sums as Record<string, string>;
  return {
    clearing: Number(clearing),
    suspense: Number(suspense),
    adjustments: Number(adjustments),
    fees: Number(fees),
  };
}

/** A charge that a payer paid with another amount. */
async function paidOddly(merchant: Merchant, amountCents: number, paidCents: number): Promise<string> {
  const { body } = await merchant.charge({ amountCents });
  await service.simulator.control('POST', `/control/charges/${providerId(body.id)}/pay`, {
    amountCents: paidCents,
  });
  await until(async () =>
    (await openOf(merchant, 'amount_mismatch')).some((one) => one.paymentId === body.id),
  );
  return body.id;
}

/** The provider's report of a payment, as an authenticated delivery. */
const hear = (merchant: Merchant, paymentId: string, news: Partial<PaymentNews>) =>
  applyOutcome(
    service.cellOf(merchant),
    {
      accountId: merchant.ownerId,
      paymentId,
      operationId: merchant.operationId,
      connection: 'simulator',
      kind: 'payouts' in news ? 'transfer' : 'deposit',
      observation: { from: 'webhook', id: crypto.randomUUID(), received: [], payouts: [], ...news },
    },
    service.runtime.clock.monotonicMs() + 10_000,
  );

const payout = (id: string, fields: Partial<PayoutReport>): { payouts: PayoutReport[] } => ({
  payouts: [
    {
      providerId: providerId(id),
      amountCents: 975,
      pixKey: null,
      status: 'completed',
      endToEnd: null,
      settledAt: null,
      reason: null,
      returns: [],
      ...fields,
    },
  ],
});

const returned = (amountCents: number): PixReturn => ({
  id: null,
  rtrId: crypto.randomUUID(),
  amountCents,
  at: service.runtime.clock.now(),
  status: 'settled',
});

async function transferThat(merchant: Merchant, fate: string): Promise<string> {
  const { body } = await merchant.transfer({ pixKey: `${fate}@simulator.example` });
  return body.id ?? body.paymentId;
}

const refusedTransfer = async (merchant: Merchant): Promise<string> => {
  const id = await transferThat(merchant, 'refuse-in-answer');
  expect(await statusOf(merchant, id)).toBe('cancelled');
  return id;
};

async function completedTransfer(merchant: Merchant): Promise<string> {
  const { body } = await merchant.transfer();
  await until(async () => (await statusOf(merchant, body.id)) === 'completed');
  return body.id;
}

test('The words of a refusal are kept with its attempt, without what they name', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(10_000);
  const id = await refusedTransfer(merchant);
  const [words] = await findWords(service.cellOf(merchant).sql, merchant.ownerId, [id]);
  expect(words?.name).toMatch(/^4\d\d \w+$/);
  expect(words?.message).toMatch(/^[^\d@]+$/);
});

test('another amount than asked, credited: the charge is paid with what came, less its fee', async () => {
  const merchant = await service.newMerchant();
  await service.database.admin('UPDATE account SET deposit_fee_cents = 30 WHERE id = $1', [merchant.ownerId]);
  const id = await paidOddly(merchant, 1_000, 700);
  expect(await merchant.balanceCents()).toBe(0);
  expect(await statusOf(merchant, id)).toBe('pending');
  const [incident] = await openOf(merchant);
  expect(incident).toMatchObject({ kind: 'amount_mismatch', paymentId: id, amountCents: 700 });
  await resolve(incident, 'credit');
  const { body } = await merchant.call('GET', `/payments/${id}`);
  expect(body).toMatchObject({
    status: 'paid',
    amountCents: 1_000,
    netAmountCents: 670,
    providerFeeCents: 30,
  });
  expect(await merchant.balanceCents()).toBe(670);
  expect(await books(merchant)).toMatchObject({ suspense: 0, fees: 30, clearing: -700 });
});

test('a fee above what came becomes what came', async () => {
  const merchant = await service.newMerchant();
  await service.database.admin('UPDATE account SET deposit_fee_cents = 500 WHERE id = $1', [
    merchant.ownerId,
  ]);
  const id = await paidOddly(merchant, 1_000, 300);
  await resolve((await openOf(merchant))[0], 'credit');
  expect((await merchant.call('GET', `/payments/${id}`)).body).toMatchObject({
    status: 'paid',
    netAmountCents: 0,
  });
  expect(await merchant.balanceCents()).toBe(0);
});

test('another amount, written off: the open charge expires and the money is ours', async () => {
  const merchant = await service.newMerchant();
  const id = await paidOddly(merchant, 1_000, 700);
  await resolve((await openOf(merchant))[0], 'writeoff');
  expect(await statusOf(merchant, id)).toBe('expired');
  expect(await books(merchant)).toMatchObject({ suspense: 0, adjustments: 700 });
});

test('none leaves the money in suspense, with an incident that says who looked and why', async () => {
  const merchant = await service.newMerchant();
  const id = await paidOddly(merchant, 1_000, 700);
  const [incident] = await openOf(merchant);
  await resolve(incident, 'none');
  expect(await showIncident(service.cellOf(merchant), incident?.id ?? '')).toMatchObject({
    state: 'resolved',
    resolution: { action: 'none', reason: 'seen and decided', actor: 'tester' },
  });
  expect(await statusOf(merchant, id)).toBe('pending');
  expect(await books(merchant)).toMatchObject({ suspense: 700 });
  await expect(resolve(incident, 'none')).rejects.toThrow('resolved already');

  // Nothing was posted, so the money may still be resolved later, once.
  await resolve(incident, 'writeoff');
  expect(await statusOf(merchant, id)).toBe('expired');
  expect(await books(merchant)).toMatchObject({ suspense: 0, adjustments: 700 });
  await expect(resolve(incident, 'credit')).rejects.toThrow('resolved already');
});

test('an incident is resolved once, however many try at once', async () => {
  const merchant = await service.newMerchant();
  await paidOddly(merchant, 1_000, 700);
  const [incident] = await openOf(merchant);
  const tries = await Promise.allSettled(Array.from({ length: 8 }, () => resolve(incident, 'credit')));
  expect(tries.filter((one) => one.status === 'fulfilled')).toHaveLength(1);
  for (const one of tries) {
    if (one.status === 'rejected') expect(one.reason.message).toMatch('resolved already');
  }
  expect(await merchant.balanceCents()).toBe(700);
});

test('a second payment of a paid charge is credited without a fee, and the charge stays as it is', async () => {
  const merchant = await service.newMerchant();
  const { body } = await merchant.charge();
  const pay = `/control/charges/${providerId(body.id)}/pay`;
  await service.simulator.control('POST', pay);
  await until(async () => (await statusOf(merchant, body.id)) === 'paid');
  await service.simulator.control('POST', pay);
  await until(async () => (await openOf(merchant, 'second_payment')).length === 1);
  await resolve((await openOf(merchant))[0], 'credit');
  expect(await merchant.balanceCents()).toBe(2_000);
  expect((await merchant.call('GET', `/payments/${body.id}`)).body.netAmountCents).toBe(1_000);
});

test('what came for a deleted operation goes to the main one, or is written off', async () => {
  const merchant = await service.newMerchant();
  const { body: other } = await merchant.call('POST', '/operations', {
    name: 'Filial',
    requestKey: crypto.randomUUID(),
  });
  const { body: charge } = await merchant.charge({}, other.id);
  await service.simulator.control('POST', `/control/charges/${providerId(charge.id)}/expire`);
  await until(
    async () =>
      (await merchant.call('GET', `/payments/${charge.id}`, undefined, other.id)).body.status === 'expired',
  );
  expect((await merchant.call('DELETE', `/operations/${other.id}`, {})).status).toBe(200);
  const received: ReceivedPix[] = [
    {
      endToEnd: 'E'.padEnd(32, '1'),
      amountCents: 1_000,
      paidAt: service.runtime.clock.now(),
      txid: null,
      returns: [],
    },
    {
      endToEnd: 'E'.padEnd(32, '2'),
      amountCents: 40,
      paidAt: service.runtime.clock.now(),
      txid: null,
      returns: [],
    },
  ];
  await applyOutcome(
    service.cellOf(merchant),
    {
      accountId: merchant.ownerId,
      paymentId: charge.id,
      operationId: other.id,
      connection: 'simulator',
      kind: 'deposit',
      observation: { from: 'webhook', id: crypto.randomUUID(), received, payouts: [] },
    },
    service.runtime.clock.monotonicMs() + 10_000,
  );
  const incidents = await openOf(merchant, 'deleted_operation');
  expect(incidents).toHaveLength(2);
  await resolve(
    incidents.find((one) => one.amountCents === 1_000),
    'credit',
  );
  await resolve(
    incidents.find((one) => one.amountCents === 40),
    'writeoff',
  );
  expect(await merchant.balanceCents()).toBe(1_000);
  expect(await books(merchant)).toMatchObject({ suspense: 0, adjustments: 40 });
});

test('a cancelled transfer that completed: withdrawals freeze until it is debited, and what is missing becomes a debt', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(1_500);
  const id = await refusedTransfer(merchant);
  const { body: spent } = await merchant.transfer();
  expect(spent.id).toBeDefined();
  await hear(merchant, id, payout(id, {}));
  const frozen = await merchant.transfer();
  expect([frozen.status, frozen.body.code]).toEqual([403, 'withdrawals_blocked']);
  const [incident] = await openOf(merchant, 'contradiction');
  expect(incident).toMatchObject({ freezes: true, amountCents: 975 });
  await resolve(incident, 'debit');
  expect(await statusOf(merchant, id)).toBe('cancelled');
  expect(await merchant.balanceCents()).toBe(-500);
  expect((await merchant.transfer()).body.code).toBe('insufficient_balance');
  await merchant.receive(800);
  expect(await merchant.balanceCents()).toBe(300);
  // Heard again, it is no news.
  await hear(merchant, id, payout(id, {}));
  expect(await openOf(merchant)).toEqual([]);
});

test('the same, written off: the merchant is not charged', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(1_500);
  const id = await refusedTransfer(merchant);
  await hear(merchant, id, payout(id, {}));
  await resolve((await openOf(merchant))[0], 'writeoff');
  expect(await merchant.balanceCents()).toBe(1_500);
  expect(await books(merchant)).toMatchObject({ adjustments: -975, clearing: -525 });
  expect((await merchant.transfer()).status).toBe(201);
});

test('a cancelled transfer that came back: two incidents, the freeze ends with the last', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(1_500);
  const id = await refusedTransfer(merchant);
  await hear(merchant, id, payout(id, { returns: [returned(975)] }));
  const incidents = await openOf(merchant, 'contradiction');
  expect(incidents).toHaveLength(2);
  await resolve(
    incidents.find((one) => one.reference.endsWith(':completed')),
    'debit',
  );
  expect((await merchant.transfer()).body.code).toBe('withdrawals_blocked');
  await resolve(
    incidents.find((one) => one.reference.includes(':returned:')),
    'credit',
  );
  expect(await merchant.balanceCents()).toBe(1_475);
  expect((await merchant.transfer()).status).toBe(201);
});

test('what came back of a cancelled transfer goes to the side that bore its money', async () => {
  for (const [first, wrong, right] of [
    ['debit', 'writeoff', 'credit'],
    ['writeoff', 'credit', 'writeoff'],
  ] as const) {
    const merchant = await service.newMerchant();
    await merchant.receive(1_500);
    const id = await refusedTransfer(merchant);
    await hear(merchant, id, payout(id, { returns: [returned(975)] }));
    const incidents = await openOf(merchant, 'contradiction');
    const back = incidents.find((one) => one.reference.includes(':returned:'));
    await expect(resolve(back, 'credit')).rejects.toThrow('no decision has taken this money');
    await resolve(
      incidents.find((one) => one.reference.endsWith(':completed')),
      first,
    );
    await expect(resolve(back, wrong)).rejects.toThrow(
      first === 'debit' ? 'has taken this money from the operation' : 'no decision has taken this money',
    );
    await resolve(back, right);
    // The fee of a transfer that was carried out stays with the installation.
    expect(await merchant.balanceCents()).toBe(first === 'debit' ? 1_475 : 1_500);
    expect(await books(merchant)).toMatchObject({ adjustments: 0 });
  }
});

test('two incidents that freeze, resolved at the same moment, leave no freeze behind', async () => {
  for (let round = 0; round < 5; round++) {
    const merchant = await service.newMerchant();
    await merchant.receive(1_500);
    const id = await refusedTransfer(merchant);
    await hear(merchant, id, payout(id, { returns: [returned(975)] }));
    await Promise.all((await openOf(merchant)).map((one) => resolve(one, 'none')));
    expect((await merchant.transfer()).status).toBe(201);
  }
});

test('an incident that opens while another is resolved keeps its freeze', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(3_000);
  const [one, other] = [await refusedTransfer(merchant), await refusedTransfer(merchant)];
  await hear(merchant, one, payout(one, {}));
  const [incident] = await openOf(merchant);
  await Promise.all([resolve(incident, 'none'), hear(merchant, other, payout(other, {}))]);
  expect((await merchant.transfer()).body.code).toBe('withdrawals_blocked');
});

test('a completed transfer that was refused: what had left and the fee come back', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(1_500);
  const id = await completedTransfer(merchant);
  await hear(merchant, id, payout(id, { status: 'refused' }));
  await expect(resolve((await openOf(merchant))[0], 'debit')).rejects.toThrow('does not fit');
  await resolve((await openOf(merchant))[0], 'credit');
  expect(await merchant.balanceCents()).toBe(1_500);
  expect(await books(merchant)).toMatchObject({ fees: 0, clearing: -1_500 });
  expect(await statusOf(merchant, id)).toBe('completed');
});

const mismatches: [
  Action,
  number,
  { status: string; balance: number; adjustments: number; clearing: number },
][] = [
  ['credit', 900, { status: 'cancelled', balance: 1_500, adjustments: 0, clearing: -1_500 }],
  ['debit', 900, { status: 'completed', balance: 575, adjustments: 0, clearing: -600 }],
  ['debit', 1_100, { status: 'completed', balance: 500, adjustments: -125, clearing: -400 }],
  ['writeoff', 900, { status: 'cancelled', balance: 1_500, adjustments: -900, clearing: -600 }],
];
for (const [action, reported, after] of mismatches) {
  test(`a transfer that is reported with ${reported} instead of 975, resolved by ${action}`, async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(1_500);
    const id = await transferThat(merchant, 'stay-pending');
    await hear(merchant, id, payout(id, { amountCents: reported }));
    expect(await merchant.balanceCents()).toBe(500);
    expect((await merchant.transfer()).body.code).toBe('withdrawals_blocked');
    await resolve((await openOf(merchant, 'report_mismatch'))[0], action);
    expect(await statusOf(merchant, id)).toBe(after.status);
    expect(await merchant.balanceCents()).toBe(after.balance);
    expect(await books(merchant)).toMatchObject({ adjustments: after.adjustments, clearing: after.clearing });
    await hear(merchant, id, payout(id, { amountCents: reported }));
    expect(await statusOf(merchant, id)).toBe(after.status);
  });
}

test('a debit of the provider: what is still owed of it can be forgiven, and no more', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(1_000);
  const [paid] = (await merchant.call('GET', '/payments')).body.payments;
  await merchant.transfer();
  const pix = {
    endToEnd: paid.endToEnd,
    amountCents: 1_000,
    paidAt: Date.parse(paid.paidAt),
    txid: null,
    returns: [returned(1_000)],
  };
  await hear(merchant, paid.id, { received: [pix] });
  expect(await merchant.balanceCents()).toBe(-1_000);
  await merchant.receive(400);
  await resolve((await openOf(merchant, 'debit'))[0], 'writeoff');
  expect(await merchant.balanceCents()).toBe(0);
  expect(await books(merchant)).toMatchObject({ adjustments: -600 });
});

test('more came back than was sent: credited to the operation', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(1_000);
  const id = await completedTransfer(merchant);
  await hear(merchant, id, payout(id, { returns: [returned(975), returned(50)] }));
  expect(await merchant.balanceCents()).toBe(975);
  await resolve((await openOf(merchant, 'return_exceeds'))[0], 'credit');
  expect(await merchant.balanceCents()).toBe(1_025);
});

for (const [action, status, balance] of [
  ['credit', 'cancelled', 1_500],
  ['debit', 'completed', 500],
] as const) {
  test(`an undecided transfer, resolved by ${action}, is ${status} and never followed up again`, async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(1_500);
    const id = await transferThat(merchant, 'stay-pending');
    // A day of refused repeats and "not found" would have opened it.
    const incidentId = crypto.randomUUID();
    await service.database.admin(
      `INSERT INTO incident (account_id, id, kind, payment_id, operation_id, amount_cents, reference, freezes, detail, state, opened_at)
       VALUES ($1, $2, 'undecided', $3, $4, 1000, $5, false, '{}', 'open', now())`,
      [merchant.ownerId, incidentId, id, merchant.operationId, `undecided:${id}`],
    );
    const [incident] = await openOf(merchant);
    await expect(resolve(incident, 'writeoff')).rejects.toThrow('does not fit');
    await resolve(incident, action);
    expect(await statusOf(merchant, id)).toBe(status);
    expect(await merchant.balanceCents()).toBe(balance);
    expect(
      await service.database.admin('SELECT FROM intent WHERE account_id = $1 AND payment_id = $2', [
        merchant.ownerId,
        id,
      ]),
    ).toEqual([]);
  });
}

test('an open incident blocks the deletion of its operation', async () => {
  const merchant = await service.newMerchant();
  await merchant.call('POST', '/operations', { name: 'Filial', requestKey: crypto.randomUUID() });
  await paidOddly(merchant, 1_000, 700);
  const refused = await merchant.call('DELETE', `/operations/${merchant.operationId}`, {});
  expect(refused.body.code).toBe('operation_has_unfinished_payments');
  await resolve((await openOf(merchant))[0], 'writeoff');
  expect((await merchant.call('DELETE', `/operations/${merchant.operationId}`, {})).status).toBe(200);
});

test('every resolution is on record, with who and why', async () => {
  const merchant = await service.newMerchant();
  await paidOddly(merchant, 1_000, 700);
  const [incident] = await openOf(merchant);
  await expect(
    resolveIncident(operator(incident?.accountId ?? ''), incident?.id ?? '', {
      action: 'credit',
      reason: ' ',
    }),
  ).rejects.toThrow('a reason');
  await resolve(incident, 'credit');
  const rows = await service.database.admin(
    'SELECT actor, action, subject, reason FROM audit WHERE account_id = $1',
    [merchant.ownerId],
  );
  expect(rows).toEqual([
    { actor: 'tester', action: 'incident.resolve', subject: incident?.id, reason: 'seen and decided' },
  ]);
});

test('Money that came for a payment which a restore has lost is credited to the account that its id names, once', async () => {
  const merchant = await service.newMerchant();
  const requestKey = crypto.randomUUID();
  const { body: lost } = await merchant.charge({ amountCents: 7_000, requestKey });
  const { cell } = service.cellOf(merchant);
  await service.database.admin(`DELETE FROM ${cell}.intent WHERE payment_id = $1`, [lost.id]);
  await service.database.admin(`DELETE FROM ${cell}.payment WHERE id = $1`, [lost.id]);
  await service.simulator.control('POST', `/control/charges/${providerId(lost.id)}/pay`);
  const [incident] = await untilSome(async () =>
    (await listIncidents(service.runtime, null)).filter(
      ({ kind, detail }) => kind === 'unmatched' && (detail as { named?: string }).named === lost.id,
    ),
  );
  const credited = () =>
    resolveIncident({ ...service.runtime, actor: 'tester' }, incident?.id ?? '', {
      action: 'credit',
      reason: 'its id names the account',
    });
  const available = async (): Promise<number> => (await merchant.call('GET', '/account')).body.balanceCents;
  // Of another cell: `credits-in-cells.test.ts`.
  if (cell !== service.runtime.cell) {
    await expect(credited()).rejects.toThrow('in a cell that is not open here');
    return;
  }
  await service.database.admin(`UPDATE ${cell}.account SET test = false WHERE id = $1`, [merchant.ownerId]);
  await expect(credited()).rejects.toThrow('do not both move money');
  await service.database.admin(`UPDATE ${cell}.account SET test = true WHERE id = $1`, [merchant.ownerId]);
  expect(await available()).toBe(0);
  expect(await credited()).toMatchObject({ state: 'resolved' });
  expect(await available()).toBe(7_000);
  await expect(credited()).rejects.toThrow('resolved already');

  // The merchant repeats its request: the charge comes back, finds its Pix posted, and brings nothing more.
  const { body: again } = await merchant.charge({ amountCents: 7_000, requestKey });
  expect(again.id).toBe(lost.id);
  const pix = {
    endToEnd: pixNamed(incident),
    amountCents: 7_000,
    paidAt: Date.now(),
    txid: null,
    returns: [],
  };
  await hear(merchant, lost.id, { received: [pix] });
  expect(await available()).toBe(7_000);
});

/** A transfer within the company has one end-to-end id on both sides. */
test('Money that came in is not taken for posted because a transfer of another side has the same end-to-end id', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(9_000);
  const { body: transfer } = await merchant.transfer({ amountCents: 5_000 });
  await until(async () => (await statusOf(merchant, transfer.id)) === 'completed');
  const [sent] = await service.database.admin<{ pix: string }>(
    `SELECT end_to_end AS pix FROM ${service.cellOf(merchant).cell}.payment WHERE id = $1`,
    [transfer.id],
  );
  const came = {
    named: null,
    pix: sent?.pix ?? '',
    moved: { amountCents: 4_975, at: Date.now() },
    returns: [],
    sign: 1 as const,
    isOwn: false,
  };
  await postUnmatched(service.runtime, 'simulator', came, true);
  const [incident] = (await listIncidents(service.runtime, null)).filter(
    ({ kind, reference }) => kind === 'unmatched' && reference === `unmatched:${sent?.pix}`,
  );
  const decide = (action: Action) =>
    resolveIncident({ ...service.runtime, actor: 'tester' }, incident?.id ?? '', { action, reason: 'seen' });
  await expect(decide('credit')).rejects.toThrow('no payment has posted this Pix');
  expect(await decide('writeoff')).toMatchObject({ state: 'resolved' });
});

const pixNamed = (incident: IncidentView | undefined): string =>
  incident?.reference.slice('unmatched:'.length) ?? '';

async function untilSome<Row>(look: () => Promise<Row[]>): Promise<Row[]> {
  let rows: Row[] = [];
  await until(async () => {
    rows = await look();
    return rows.length > 0;
  });
  return rows;
}
