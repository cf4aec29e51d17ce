import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Balance, decide, emptyBalance, type Movement } from '../../money/decide.ts';
import { figuresOf, noFigures, withLines } from './figures.ts';
import { type Entry, type EntrySum, type Line, linesOf } from './line.ts';

const payment = (feeCents: number) => ({
  id: 'p',
  kind: 'transfer' as const,
  feeCents,
  description: '',
  metadata: null,
  fiscalDocuments: null,
  payerName: null,
  pixKey: null,
  pixKeyType: null,
  receiver: null,
  endToEnd: null,
  requestKey: 'k',
});

/** Posts the movements one after the other, and gives the entries with the balance before and after each. */
function post(movements: readonly { movement: Movement; feeCents?: number }[]) {
  let balance: Balance = { ...emptyBalance };
  const posted: { movement: Movement; entry: Entry; before: number; after: number }[] = [];
  for (const { movement, feeCents = 0 } of movements) {
    const decision = decide(balance, movement);
    if ('refused' in decision) continue;
    const { lines, balance: next } = decision;
    const entry: Entry = {
      seq: posted.length + 1,
      template: movement.kind,
      postedAt: posted.length,
      available: lines.available,
      held: lines.held,
      receivable: lines.receivable,
      feeRevenue: lines.feeRevenue,
      availableAfter: next.available,
      receivableAfter: next.receivable,
      payment: payment(feeCents),
      hold: null,
    };
    const [before, after] = [balance, next].map((one) => one.available - one.receivable) as [number, number];
    posted.push({ movement, entry, before, after });
    balance = next;
  }
  return posted;
}

const linesAfter = (movements: readonly { movement: Movement; feeCents?: number }[]): Line[] =>
  post(movements).flatMap(({ entry }) => linesOf(entry));

const shown = (lines: readonly Line[]) => lines.map((line) => [line.id, line.kind, line.amountCents]);

test('a paid charge is one line and its fee another', () => {
  const lines = linesAfter([{ movement: { kind: 'credit', amountCents: 1000, feeCents: 30 } }]);
  expect(shown(lines)).toEqual([
    ['1', 'charge', 1000],
    ['1-fee', 'charge_fee', -30],
  ]);
  expect(lines.map((line) => line.balanceCents)).toEqual([1000, 970]);
});

test('a completed transfer is one line with its net and one with its fee, where the balance changes', () => {
  const lines = linesAfter([
    { movement: { kind: 'credit', amountCents: 2000, feeCents: 0 } },
    { movement: { kind: 'reserve', grossCents: 1000 }, feeCents: 25 },
    { movement: { kind: 'complete', grossCents: 1000, feeCents: 25 }, feeCents: 25 },
  ]);
  expect(shown(lines)).toEqual([
    ['1', 'charge', 2000],
    ['2', 'transfer', -975],
    ['2-fee', 'transfer_fee', -25],
  ]);
});

test('a cancelled transfer comes back with its fee', () => {
  const lines = linesAfter([
    { movement: { kind: 'credit', amountCents: 2000, feeCents: 0 } },
    { movement: { kind: 'reserve', grossCents: 1000 }, feeCents: 25 },
    { movement: { kind: 'release', grossCents: 1000 }, feeCents: 25 },
  ]);
  expect(shown(lines).slice(3)).toEqual([
    ['3', 'transfer_cancelled', 975],
    ['3-fee', 'transfer_fee_cancelled', 25],
  ]);
  expect(lines.at(-1)?.balanceCents).toBe(2000);
});

test('a refund stands where its amount is set aside, and the fee that it brings back where it completes', () => {
  const lines = linesAfter([
    { movement: { kind: 'credit', amountCents: 1000, feeCents: 10 } },
    { movement: { kind: 'refundReserve', amountCents: 400 }, feeCents: 10 },
    { movement: { kind: 'refundComplete', amountCents: 400, feeCents: 0 }, feeCents: 10 },
    { movement: { kind: 'refundReserve', amountCents: 500 }, feeCents: 10 },
    { movement: { kind: 'hold', amountCents: 93 }, feeCents: 10 },
    { movement: { kind: 'refundComplete', amountCents: 500, feeCents: 5 }, feeCents: 10 },
  ]);
  expect(shown(lines).slice(2)).toEqual([
    ['2', 'refund', -400],
    ['4', 'refund', -500],
    ['5', 'hold', -90],
    ['6', 'charge_fee_back', 5],
    ['6-hold', 'hold', -3],
  ]);
});

test('what a hold captures of a charge is a line of its own, and its release brings it back', () => {
  const lines = linesAfter([
    { movement: { kind: 'hold', amountCents: 300 } },
    { movement: { kind: 'credit', amountCents: 1000, feeCents: 10 } },
    { movement: { kind: 'releaseHold', capturedCents: 300, wantedCents: 0 } },
  ]);
  expect(shown(lines)).toEqual([
    ['2', 'charge', 1000],
    ['2-fee', 'charge_fee', -10],
    ['2-hold', 'hold', -300],
    ['3', 'hold_released', 300],
  ]);
});

test('a debit that is not covered makes the balance negative, and the next charge is shown whole', () => {
  const lines = linesAfter([
    { movement: { kind: 'debit', amountCents: 500 } },
    { movement: { kind: 'credit', amountCents: 800, feeCents: 0 } },
  ]);
  expect(lines.map(({ kind, amountCents, balanceCents }) => [kind, amountCents, balanceCents])).toEqual([
    ['debit', -500, -500],
    ['charge', 800, 300],
  ]);
});

test('a movement of a newer program still adds up', () => {
  const [line] = linesOf({
    ...(post([{ movement: { kind: 'debit', amountCents: 5 } }])[0]?.entry as Entry),
    template: 'invented',
  });
  expect(line).toMatchObject({ kind: 'correction', amountCents: -5, balanceCents: -5 });
});

const cents = fc.integer({ min: 1, max: 1_000 });
const fee = fc.integer({ min: 0, max: 50 });
const movements = fc.oneof(
  fc.tuple(cents, fee).map(([n, f]) => ({ movement: { kind: 'credit', amountCents: n + 50, feeCents: f } })),
  fc
    .tuple(cents, fee)
    .map(([n, f]) => ({ movement: { kind: 'creditFromSuspense', amountCents: n + 50, feeCents: f } })),
  fc
    .tuple(cents, fee)
    .map(([n, f]) => ({ movement: { kind: 'creditBesidePayment', amountCents: n + 50, feeCents: f } })),
  fc.tuple(cents, fee).map(([n, f]) => ({ movement: { kind: 'reserve', grossCents: n + 50 }, feeCents: f })),
  fc
    .tuple(cents, fee)
    .map(([n, f]) => ({ movement: { kind: 'debitLateCompletion', netCents: n, feeCents: f } })),
  fc.tuple(cents, fee).map(([n, f]) => ({ movement: { kind: 'creditNeverLeft', netCents: n, feeCents: f } })),
  ...(['debitLateCompletion', 'creditNeverLeft'] as const).map((kind) =>
    fc.tuple(cents, fee).map(([n, f]) => ({ movement: { kind, netCents: n + 50, feeCents: 0 - f } })),
  ),
  fc
    .tuple(cents, fee)
    .map(([n, f]) => ({ movement: { kind: 'refundComplete', amountCents: n, feeCents: f } })),
  ...(['return', 'debit', 'debitToSuspense', 'bookToSuspense', 'writeOff', 'bookLoss', 'hold'] as const).map(
    (kind) => cents.map((amountCents) => ({ movement: { kind, amountCents } })),
  ),
) as fc.Arbitrary<{ movement: Movement; feeCents?: number }>;

test('whatever is posted: the lines of each journal lead from the balance before it to the balance after it', () => {
  fc.assert(
    fc.property(fc.array(movements, { maxLength: 40 }), (history) => {
      const seen = new Set<string>();
      for (const { movement, entry, before, after } of post(history)) {
        const lines = linesOf(entry);
        let balance = before;
        for (const line of lines) {
          expect(line.amountCents).not.toBe(0);
          balance += line.amountCents;
          expect(line.balanceCents).toBe(balance);
          expect(seen.has(line.id)).toBe(false);
          seen.add(line.id);
        }
        expect(balance).toBe(after);
        // A fee is what the ledger says it is, and what came in stands there whole.
        const charged = lines.find(({ kind }) => kind === 'charge_fee')?.amountCents ?? 0;
        if (movement.kind === 'credit') {
          expect(charged).toBe(0 - movement.feeCents);
          expect(lines[0]?.amountCents).toBe(movement.amountCents);
        }
      }
    }),
    { numRuns: 300 },
  );
});

test('a lost dispute is a loss on its day: the hold lets the amount go, and a debit takes it whole', () => {
  const lines = linesAfter([
    { movement: { kind: 'credit', amountCents: 1000, feeCents: 0 } },
    { movement: { kind: 'hold', amountCents: 1000 } },
    { movement: { kind: 'debitHeld', amountCents: 1000, capturedCents: 1000, wantedCents: 0 } },
  ]);
  expect(shown(lines).slice(1)).toEqual([
    ['2', 'hold', -1000],
    ['3-hold', 'hold_released', 1000],
    ['3', 'debit', -1000],
  ]);
  expect(lines.slice(2).map(({ cause }) => cause)).toEqual(['dispute', 'dispute']);
  expect(lines.map(({ balanceCents }) => balanceCents)).toEqual([1000, 0, 1000, 0]);
  const figures = { inCents: 1000, outCents: 1000, feeCents: 0, refundCents: 0, holdCents: 0 };
  expect(withLines(noFigures, lines)).toEqual(figures);
});

test('a cancelled transfer is no turnover: it is taken off what went out', () => {
  const lines = linesAfter([
    { movement: { kind: 'credit', amountCents: 2000, feeCents: 0 } },
    { movement: { kind: 'reserve', grossCents: 1000 }, feeCents: 25 },
    { movement: { kind: 'release', grossCents: 1000 }, feeCents: 25 },
  ]);
  expect(withLines(noFigures, lines)).toEqual({ ...noFigures, inCents: 2000 });
});

test('whatever is posted: summed up by kind and signs, it has the figures of its lines', () => {
  fc.assert(
    fc.property(fc.array(movements, { maxLength: 40 }), (history) => {
      const groups = new Map<string, EntrySum>();
      const lines: Line[] = [];
      let reservedFees = 0;
      for (const { entry } of post(history)) {
        const ofEntry = linesOf(entry);
        lines.push(...ofEntry);
        if (entry.template === 'reserve')
          reservedFees -= ofEntry.find(({ kind }) => kind === 'transfer_fee')?.amountCents ?? 0;
        const { template, available, held, receivable, feeRevenue } = entry;
        const total = available + receivable;
        const signs = [held, feeRevenue, total, total + held, total + held + feeRevenue].map(Math.sign);
        const key = [template, ...signs].join();
        const sum = groups.get(key) ?? { template, available: 0, held: 0, receivable: 0, feeRevenue: 0 };
        sum.available += available;
        sum.held += held;
        sum.receivable += receivable;
        sum.feeRevenue += feeRevenue;
        groups.set(key, sum);
      }
      // Fees of transfers are in no journal of a reserve: the statement reads them beside the sums.
      const fees = { reservedCents: reservedFees, releasedCents: 0 };
      expect(figuresOf([...groups.values()], fees)).toEqual(withLines(noFigures, lines));
    }),
    { numRuns: 200 },
  );
});
