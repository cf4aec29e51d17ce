import { expect, test } from 'vitest';
import { providerIdOf } from '../../money/payment.ts';
import { newRefund, type Refund } from '../../money/refund.ts';
import type { KnownReturn } from '../../money/returns.ts';
import type { ChargeReport, PixReturn } from '../../provider/provider.ts';
import type { Observation } from './interpret-report.ts';
import { sortRefundLines } from './refund-lines.ts';

/** A charge's report lists its refunds beside what the provider took back. None of them may be posted as money taken back. */

const at = 1_795_200_000_000;
const endToEnd = 'E99999999202611221201abcdefghijk';
const rtrId = 'D99999999202611221201abcdefghijk';

const refundOf = (more: Partial<Refund>): Refund => ({
  ...newRefund(
    {
      accountId: '0193a000-0000-7000-8000-0000000000a1',
      id: '00c0ffee-61d2-8c44-a05e-9d1f7b3a2e60',
      operationId: '0193a000-0000-7000-8000-0000000000b2',
      paymentId: '00c0ffee-7f0e-8a31-9c1d-2b8f7d1a5e42',
      endToEnd,
      reason: 'requested',
      amountCents: 600,
      feeBackCents: null,
      description: '',
      requestKey: '4a0e8f52-5a4e-4a63-8ff0-0d5c2a9b7c31',
      fingerprint: Buffer.alloc(32),
      command: '0193a000-0000-7000-8000-0000000000c3',
    },
    at,
    { by: 'query', id: '0193a000-0000-7000-8000-0000000000d4' },
  ),
  ...more,
});

const line = (more: Partial<PixReturn>): PixReturn => ({
  id: null,
  rtrId: null,
  amountCents: 600,
  at,
  status: 'settled',
  ...more,
});

/** The answer to a query of the charge, with these returns. */
function sorted(returns: PixReturn[], refunds: Refund[], known: KnownReturn[] = []) {
  const report: ChargeReport = {
    txid: 'x',
    amountCents: 2_000,
    status: 'paid',
    createdAt: at,
    expiresAt: null,
    copyPaste: null,
    received: [{ endToEnd, amountCents: 2_000, paidAt: at, txid: 'x', returns }],
  };
  const query: Observation = { from: 'query', id: 'q', startedAt: at, outcome: { outcome: 'found', report } };
  const { observation, told, undecided } = sortRefundLines(query, refunds, known);
  const left = (observation as { outcome: { report: ChargeReport } }).outcome.report.received[0]?.returns;
  return { told: told.map((one) => one.line), left, undecided: undecided.map(({ id }) => id) };
}

const ours = refundOf({});

test('a line under the id of a refund is that refund, whatever its state and amount', () => {
  const named = line({ id: providerIdOf(ours.id), rtrId, amountCents: 601 });
  for (const refund of [ours, refundOf({ status: 'completed', rtrId: null }), refundOf({ status: 'failed' })])
    expect(sorted([named], [refund])).toEqual({ told: [named], left: [], undecided: [] });
});

test('a line under the known rtrId of a refund is that refund', () => {
  const named = line({ rtrId });
  const refund = refundOf({ status: 'completed', rtrId });
  expect(sorted([named], [refund])).toEqual({ told: [named], left: [], undecided: [] });
});

test('a line with an rtrId alone is the completed refund of its amount that has none, and each refund takes one line', () => {
  const lines = [line({ rtrId }), line({ rtrId: rtrId.replace('D', 'D0').slice(0, 32) })];
  const refund = refundOf({ status: 'completed' });
  expect(sorted(lines, [refund])).toEqual({ told: [lines[0]], left: [lines[1]], undecided: [] });
});

test('beside an unfinished refund of its amount a line with an rtrId alone decides nothing', () => {
  const unnamed = line({ rtrId });
  expect(sorted([unnamed], [ours])).toEqual({ told: [], left: [], undecided: [ours.id] });
  const other = line({ rtrId, amountCents: 599 });
  expect(sorted([other], [ours])).toEqual({ told: [], left: [other], undecided: [] });
});

test('beside an unfinished refund of the same amount, the completed one takes no line either: it may be the other’s', () => {
  const done = refundOf({ id: '00c0ffee-61d2-8c44-a05e-9d1f7b3a2e61', status: 'completed' });
  const lines = [line({ rtrId }), line({ rtrId: 'D1' })];
  expect(sorted(lines, [ours, done])).toEqual({ told: [], left: [], undecided: [ours.id, ours.id] });
});

test('a line that is not settled says nothing of a refund that it does not name', () => {
  const failed = line({ rtrId, status: 'failed' });
  const done = refundOf({ status: 'completed' });
  expect(sorted([failed], [done])).toEqual({ told: [], left: [failed], undecided: [] });
});

test('what is known as taken back is no refund, whatever its amount', () => {
  const med = { reference: rtrId, pix: endToEnd, id: null, rtrId, amountCents: 600, at, posted: true };
  const taken = line({ rtrId });
  const done = refundOf({ status: 'completed' });
  const other = line({ rtrId: 'D1' });
  expect(sorted([taken, other], [done], [med])).toEqual({ told: [other], left: [taken], undecided: [] });
});

test('what the provider took back stays in the report, also of another Pix of the same charge', () => {
  const foreign = line({ id: 'med1', rtrId });
  expect(sorted([foreign], [ours])).toEqual({ told: [], left: [foreign], undecided: [] });
  const elsewhere = refundOf({ endToEnd: 'E0' });
  const named = line({ id: providerIdOf(elsewhere.id), rtrId });
  expect(sorted([named], [elsewhere])).toEqual({ told: [], left: [named], undecided: [] });
});
