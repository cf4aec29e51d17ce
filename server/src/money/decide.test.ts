import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accounts, type Balance, decide, emptyBalance, type Lines, type Movement } from './decide.ts';

const balance = (columns: Partial<Balance>): Balance => ({ ...emptyBalance, ...columns });

/** The lines that are not zero. */
const moved = (lines: Lines): Partial<Lines> =>
  Object.fromEntries(accounts.filter((account) => lines[account] !== 0).map((one) => [one, lines[one]]));

function post(before: Balance, movement: Movement): { lines: Partial<Lines>; balance: Balance } {
  const decision = decide(before, movement);
  if ('refused' in decision) throw new Error(`refused: ${decision.refused}`);
  return { lines: moved(decision.lines), balance: decision.balance };
}

describe('a movement writes', () => {
  it('for a reserve: the gross from available to reserved', () => {
    expect(post(balance({ available: 1000 }), { kind: 'reserve', grossCents: 1000 })).toEqual({
      lines: { available: -1000, reserved: 1000 },
      balance: balance({ reserved: 1000 }),
    });
  });

  it('for a completion: the net out of clearing and the fee earned', () => {
    const movement: Movement = { kind: 'complete', grossCents: 1000, feeCents: 25 };
    expect(post(balance({ reserved: 1000 }), movement)).toEqual({
      lines: { reserved: -1000, clearing: 975, feeRevenue: 25 },
      balance: emptyBalance,
    });
  });

  it('for a release: the whole gross back, without a fee', () => {
    expect(post(balance({ reserved: 1000 }), { kind: 'release', grossCents: 1000 })).toEqual({
      lines: { reserved: -1000, available: 1000 },
      balance: balance({ available: 1000 }),
    });
  });

  it('for a credit: the amount into clearing, less the fee to the operation', () => {
    expect(post(balance({}), { kind: 'credit', amountCents: 1000, feeCents: 30 })).toEqual({
      lines: { clearing: -1000, feeRevenue: 30, available: 970 },
      balance: balance({ available: 970 }),
    });
  });

  it('for a credit that its fee eats up: nothing to the operation', () => {
    expect(post(balance({}), { kind: 'credit', amountCents: 200, feeCents: 200 })).toEqual({
      lines: { clearing: -200, feeRevenue: 200 },
      balance: emptyBalance,
    });
  });

  it('for a return: what came back, and no fee', () => {
    expect(post(balance({}), { kind: 'return', amountCents: 975 })).toEqual({
      lines: { clearing: -975, available: 975 },
      balance: balance({ available: 975 }),
    });
  });

  it('for a debit: what is there from available and the rest as a debt, never from reserved or held', () => {
    const before = balance({ available: 300, reserved: 500, held: 700 });
    expect(post(before, { kind: 'debit', amountCents: 1000 })).toEqual({
      lines: { clearing: 1000, available: -300, receivable: -700 },
      balance: balance({ reserved: 500, held: 700, receivable: 700 }),
    });
    expect(post(balance({ available: 1000 }), { kind: 'debit', amountCents: 1000 }).lines).toEqual({
      clearing: 1000,
      available: -1000,
    });
  });

  it('for suspense, in and out: no column of an operation', () => {
    for (const amountCents of [700, -700]) {
      const { lines, balance: after } = post(balance({ available: 5 }), {
        kind: 'bookToSuspense',
        amountCents,
      });
      expect(lines).toEqual({ clearing: -amountCents, suspense: amountCents });
      expect(after).toEqual(balance({ available: 5 }));
    }
  });
});

describe('a refund writes', () => {
  const has = balance({ available: 600 });
  const reserved = balance({ reserved: 600 });

  it('for its reserve: the amount from available, and nothing while the operation owes or has less', () => {
    expect(post(has, { kind: 'refundReserve', amountCents: 600 })).toEqual({
      lines: { available: -600, reserved: 600 },
      balance: reserved,
    });
    for (const before of [balance({ available: 599 }), balance({ available: 600, receivable: 1 })])
      expect(decide(before, { kind: 'refundReserve', amountCents: 600 })).toEqual({
        refused: 'insufficient_balance',
      });
  });

  it('for its completion: out of the provider’s account, without a fee', () => {
    expect(post(reserved, { kind: 'refundComplete', amountCents: 600, feeCents: 0 })).toEqual({
      lines: { reserved: -600, clearing: 600 },
      balance: emptyBalance,
    });
  });

  it('for its completion with a part of the fee: out of what was earned, to the merchant, a debt and a hold first', () => {
    const completed = { kind: 'refundComplete', amountCents: 600, feeCents: 9 } as const;
    expect(post(reserved, completed)).toEqual({
      lines: { reserved: -600, clearing: 600, feeRevenue: -9, available: 9 },
      balance: balance({ available: 9 }),
    });
    expect(post({ ...reserved, receivable: 2, holdWanted: 4 }, completed)).toEqual({
      lines: { reserved: -600, clearing: 600, feeRevenue: -9, receivable: 2, held: 4, available: 3 },
      balance: balance({ available: 3, held: 4 }),
    });
    expect(() => decide(reserved, { ...completed, feeCents: -1 })).toThrow(RangeError);
  });

  it('for what a person puts right after its end: the amount, and the part of the fee that goes with it', () => {
    expect(post(emptyBalance, { kind: 'creditNeverLeft', netCents: 600, feeCents: -9 })).toEqual({
      lines: { clearing: -600, feeRevenue: 9, available: 591 },
      balance: balance({ available: 591 }),
    });
    expect(
      post(balance({ available: 600 }), { kind: 'debitLateCompletion', netCents: 600, feeCents: -9 }),
    ).toEqual({
      lines: { clearing: 600, feeRevenue: -9, available: -591 },
      balance: balance({ available: 9 }),
    });
    for (const kind of ['creditNeverLeft', 'debitLateCompletion'] as const)
      expect(() => decide(emptyBalance, { kind, netCents: 8, feeCents: -9 })).toThrow(RangeError);
  });

  it('for the reserve of a return to the payer and its release: between suspense and reserved, never available', () => {
    expect(post(emptyBalance, { kind: 'suspenseReserve', amountCents: 600 })).toEqual({
      lines: { suspense: -600, reserved: 600 },
      balance: reserved,
    });
    // Neither a debt nor a hold takes of it.
    const owes = { ...reserved, receivable: 50, holdWanted: 50 };
    expect(post(owes, { kind: 'suspenseRelease', amountCents: 600 })).toEqual({
      lines: { reserved: -600, suspense: 600 },
      balance: { ...owes, reserved: 0 },
    });
  });
});

describe('a movement of an operator writes', () => {
  it('for a hold: what is there from available to held, and wants the rest', () => {
    expect(post(balance({ available: 300, reserved: 9 }), { kind: 'hold', amountCents: 1000 })).toEqual({
      lines: { available: -300, held: 300 },
      balance: balance({ held: 300, holdWanted: 700, reserved: 9 }),
    });
    expect(post(balance({}), { kind: 'hold', amountCents: 1000 })).toEqual({
      lines: {},
      balance: balance({ holdWanted: 1000 }),
    });
  });

  it('for the end of a hold: what it captured back, the debt and the other holds first', () => {
    const before = balance({ held: 900, holdWanted: 500, receivable: 100 });
    // One hold of 900 of which 600 were captured; another that still wants 200.
    expect(post(before, { kind: 'releaseHold', capturedCents: 600, wantedCents: 300 })).toEqual({
      lines: { held: -400, receivable: 100, available: 300 },
      balance: balance({ held: 500, available: 300 }),
    });
    expect(post(before, { kind: 'releaseHold', capturedCents: 0, wantedCents: 500 })).toEqual({
      lines: {},
      balance: { ...before, holdWanted: 0 },
    });
  });

  it.each(['creditFromSuspense', 'creditBesidePayment'] as const)(
    'for a %s: out of suspense, less the fee, to the operation',
    (kind) => {
      expect(post(balance({}), { kind, amountCents: 1000, feeCents: 30 })).toEqual({
        lines: { suspense: -1000, feeRevenue: 30, available: 970 },
        balance: balance({ available: 970 }),
      });
    },
  );

  it('for a hold and its end: nothing of what an acquirer holds, whatever the hold still wants', () => {
    const before = balance({ available: 200, cardHeld: 900 });
    const holding = post(before, { kind: 'hold', amountCents: 700 });
    expect(holding.balance).toEqual(balance({ held: 200, holdWanted: 500, cardHeld: 900 }));
    const end: Movement = { kind: 'releaseHold', capturedCents: 200, wantedCents: 500 };
    expect(post(holding.balance, end)).toEqual({
      lines: { available: 200, held: -200 },
      balance: balance({ available: 200, cardHeld: 900 }),
    });
  });

  it('for a write-off: out of suspense to our own account, gain or loss, and nothing of an operation', () => {
    for (const amountCents of [700, -700]) {
      expect(post(balance({ available: 5 }), { kind: 'writeOff', amountCents })).toEqual({
        lines: { suspense: -amountCents, adjustments: amountCents },
        balance: balance({ available: 5 }),
      });
    }
  });

  it('for a withdrawal that left after its release: net and fee, what is missing as a debt', () => {
    const movement: Movement = { kind: 'debitLateCompletion', netCents: 975, feeCents: 25 };
    expect(post(balance({ available: 400, reserved: 50 }), movement)).toEqual({
      lines: { clearing: 975, feeRevenue: 25, available: -400, receivable: -600 },
      balance: balance({ reserved: 50, receivable: 600 }),
    });
  });

  it('for a completed withdrawal that never left: net and fee back', () => {
    expect(post(balance({}), { kind: 'creditNeverLeft', netCents: 975, feeCents: 25 })).toEqual({
      lines: { clearing: -975, feeRevenue: -25, available: 1000 },
      balance: balance({ available: 1000 }),
    });
  });

  it('for a loss that we bear: nothing of an operation', () => {
    for (const amountCents of [700, -700]) {
      expect(post(balance({ available: 5 }), { kind: 'bookLoss', amountCents })).toEqual({
        lines: { clearing: amountCents, adjustments: -amountCents },
        balance: balance({ available: 5 }),
      });
    }
  });

  it('for costs of the provider and for money of the company: nothing of an operation, and each in its own account', () => {
    for (const amountCents of [700, -700]) {
      expect(post(balance({ available: 5 }), { kind: 'providerCost', amountCents })).toEqual({
        lines: { clearing: amountCents, providerCost: -amountCents },
        balance: balance({ available: 5 }),
      });
      expect(post(balance({ available: 5 }), { kind: 'ownMoney', amountCents })).toEqual({
        lines: { clearing: -amountCents, adjustments: amountCents },
        balance: balance({ available: 5 }),
      });
    }
  });

  it('for cash between two connections: in suspense while it is in transit, and the own money of where it arrived', () => {
    expect(post(balance({ available: 5 }), { kind: 'cashTransfer', amountCents: -700 })).toEqual({
      lines: { clearing: 700, suspense: -700 },
      balance: balance({ available: 5 }),
    });
    for (const amountCents of [700, -700])
      expect(post(emptyBalance, { kind: 'cashArrive', amountCents })).toEqual({
        lines: { adjustments: -amountCents, suspense: amountCents },
        balance: emptyBalance,
      });
  });

  it('for a debt that we take over: at most the debt', () => {
    expect(post(balance({ receivable: 700 }), { kind: 'waiveDebt', amountCents: 700 })).toEqual({
      lines: { receivable: 700, adjustments: -700 },
      balance: emptyBalance,
    });
    const more: Movement = { kind: 'waiveDebt', amountCents: 701 };
    expect(() => decide(balance({ receivable: 700 }), more)).toThrow(RangeError);
  });

  it('and frees no more of a hold than there is', () => {
    const before = balance({ held: 100, holdWanted: 50 });
    for (const [capturedCents, wantedCents] of [
      [101, 0],
      [0, 51],
      [-1, 0],
    ] as const)
      expect(() => decide(before, { kind: 'releaseHold', capturedCents, wantedCents })).toThrow(RangeError);
  });
});

describe('what raises available', () => {
  const before = balance({ reserved: 1000, receivable: 300, holdWanted: 400 });
  const raising: Movement[] = [
    { kind: 'credit', amountCents: 1030, feeCents: 30 },
    { kind: 'return', amountCents: 1000 },
    { kind: 'release', grossCents: 1000 },
    { kind: 'refundRelease', amountCents: 1000 },
    { kind: 'creditFromSuspense', amountCents: 1030, feeCents: 30 },
    { kind: 'creditBesidePayment', amountCents: 1030, feeCents: 30 },
    { kind: 'creditNeverLeft', netCents: 975, feeCents: 25 },
  ];

  it.each(raising)('pays the debt first, then the holds, then the merchant: $kind', (movement) => {
    const { lines, balance: after } = post(before, movement);
    expect(lines).toMatchObject({ receivable: 300, held: 400, available: 300 });
    expect(after).toMatchObject({ receivable: 0, held: 400, holdWanted: 0, available: 300 });
  });

  it('that is less than the debt leaves the hold wanting', () => {
    expect(post(before, { kind: 'return', amountCents: 200 })).toEqual({
      lines: { clearing: -200, receivable: 200 },
      balance: { ...before, receivable: 100 },
    });
  });

  it('that covers the debt and part of the hold leaves the rest of it wanting', () => {
    expect(post(before, { kind: 'return', amountCents: 500 })).toEqual({
      lines: { clearing: -500, receivable: 300, held: 200 },
      balance: { ...before, receivable: 0, held: 200, holdWanted: 200 },
    });
  });
});

describe('a reserve is refused', () => {
  it('when available does not cover it, whatever is reserved or held', () => {
    const before = balance({ available: 999, reserved: 5000, held: 5000 });
    expect(decide(before, { kind: 'reserve', grossCents: 1000 })).toEqual({
      refused: 'insufficient_balance',
    });
    expect(before).toEqual(balance({ available: 999, reserved: 5000, held: 5000 }));
  });

  it('while the operation owes us anything', () => {
    expect(
      decide(balance({ available: 5000, receivable: 1 }), { kind: 'reserve', grossCents: 1000 }),
    ).toEqual({
      refused: 'insufficient_balance',
    });
  });
});

describe('an amount', () => {
  const rich = balance({ available: 10_000, reserved: 10_000 });

  it.each([0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('of %d moves nothing', (amount) => {
    const movements: Movement[] = [
      { kind: 'reserve', grossCents: amount },
      { kind: 'complete', grossCents: amount, feeCents: 0 },
      { kind: 'release', grossCents: amount },
      { kind: 'credit', amountCents: amount, feeCents: 0 },
      { kind: 'return', amountCents: amount },
      { kind: 'debit', amountCents: amount },
      { kind: 'hold', amountCents: amount },
      { kind: 'refundReserve', amountCents: amount },
      { kind: 'refundComplete', amountCents: amount, feeCents: 0 },
      { kind: 'refundRelease', amountCents: amount },
      { kind: 'suspenseReserve', amountCents: amount },
      { kind: 'suspenseRelease', amountCents: amount },
      { kind: 'creditFromSuspense', amountCents: amount, feeCents: 0 },
      { kind: 'creditBesidePayment', amountCents: amount, feeCents: 0 },
      { kind: 'debitLateCompletion', netCents: amount, feeCents: 0 },
      { kind: 'creditNeverLeft', netCents: amount, feeCents: 0 },
      { kind: 'waiveDebt', amountCents: amount },
    ];
    for (const movement of movements) expect(() => decide(rich, movement)).toThrow(RangeError);
    if (amount === -1) return;
    for (const kind of [
      ...(['bookToSuspense', 'writeOff', 'bookLoss', 'providerCost', 'ownMoney'] as const),
      ...(['cashTransfer', 'cashArrive'] as const),
    ])
      expect(() => decide(rich, { kind, amountCents: amount })).toThrow(RangeError);
  });

  it('may not be less than the fee of its credit', () => {
    expect(() => decide(rich, { kind: 'credit', amountCents: 100, feeCents: 101 })).toThrow(RangeError);
    expect(() => decide(rich, { kind: 'credit', amountCents: 100, feeCents: -1 })).toThrow(RangeError);
  });
});

/** The operation's worth: our debt to it less its debt to us. */
const worth = ({ available, reserved, held, receivable }: Balance): number =>
  available + reserved + held - receivable;

/** The amount that a movement brings to the operation from outside, or takes away from it. */
function comesIn(movement: Movement): number {
  switch (movement.kind) {
    case 'credit':
    case 'creditFromSuspense':
    case 'creditBesidePayment':
      return movement.amountCents - movement.feeCents;
    case 'return':
    case 'waiveDebt':
      return movement.amountCents;
    case 'debitLateCompletion':
      return -(movement.netCents + movement.feeCents);
    case 'creditNeverLeft':
      return movement.netCents + movement.feeCents;
    case 'complete':
      return -movement.grossCents;
    case 'debit':
      return -movement.amountCents;
    default:
      return 0;
  }
}

/** The amount that a movement adds to held and wanted amounts together. */
function holdsWantMore(movement: Movement): number {
  if (movement.kind === 'hold') return movement.amountCents;
  return movement.kind === 'releaseHold' ? 0 - movement.capturedCents - movement.wantedCents : 0;
}

describe('any sequence of movements', () => {
  const cents = fc.integer({ min: 1, max: 1_000_000 });
  const step = fc.oneof(
    fc.record({ do: fc.constant('reserve' as const), grossCents: cents, feeCents: fc.nat(25) }),
    fc.record({ do: fc.constantFrom('complete' as const, 'release' as const), which: fc.nat() }),
    fc.record({
      do: fc.constantFrom('credit' as const, 'creditFromSuspense' as const, 'creditBesidePayment' as const),
      amountCents: cents,
      feeCents: fc.nat(200),
    }),
    fc.record({
      do: fc.constantFrom('return' as const, 'debit' as const, 'hold' as const),
      amountCents: cents,
    }),
    fc.record({
      do: fc.constantFrom(
        ...(['bookToSuspense', 'writeOff', 'bookLoss', 'providerCost', 'ownMoney'] as const),
        ...(['cashTransfer', 'cashArrive'] as const),
      ),
      amountCents: cents,
      out: fc.boolean(),
    }),
    fc.record({
      do: fc.constantFrom('debitLateCompletion' as const, 'creditNeverLeft' as const),
      netCents: cents,
      feeCents: fc.nat(25),
    }),
    fc.record({ do: fc.constantFrom('releaseHold' as const, 'waiveDebt' as const), share: fc.nat(1000) }),
  );
  type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

  it('keeps every journal at zero, no column below zero, and the worth at what came in less what went out', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let now: Balance = { ...emptyBalance };
        const sums = new Map<string, number>();
        const open: { grossCents: number; feeCents: number }[] = [];
        for (const one of steps) {
          const before = Object.freeze({ ...now });
          const movement = movementOf(one, before, open);
          if (movement === null) continue;
          const decision = decide(before, movement);
          if ('refused' in decision) {
            expect(movement.kind).toBe('reserve');
            const { grossCents } = movement as { grossCents: number };
            expect(before.receivable > 0 || before.available < grossCents).toBe(true);
            continue;
          }
          if (one.do === 'reserve') open.push({ grossCents: one.grossCents + 25, feeCents: one.feeCents });
          const { lines, balance: after } = decision;
          expect(accounts.reduce((sum, account) => sum + lines[account], 0)).toBe(0);
          if (movement.kind !== 'hold' && movement.kind !== 'releaseHold')
            expect(Object.values(moved(lines)).length).toBeGreaterThanOrEqual(2);
          for (const value of [...Object.values(after), ...Object.values(lines)]) {
            expect(Number.isSafeInteger(value)).toBe(true);
            expect(Object.is(value, -0)).toBe(false);
          }
          for (const value of Object.values(after)) expect(value).toBeGreaterThanOrEqual(0);
          expect(worth(after) - worth(before)).toBe(comesIn(movement));
          expect(after.held + after.holdWanted - before.held - before.holdWanted).toBe(
            holdsWantMore(movement),
          );
          for (const account of accounts) sums.set(account, (sums.get(account) ?? 0) + lines[account]);
          now = after;
        }
        // The columns are nothing but the sums of their lines, and what is reserved is what is open.
        expect(sums.get('available') ?? 0).toBe(now.available);
        expect(sums.get('reserved') ?? 0).toBe(now.reserved);
        expect(sums.get('held') ?? 0).toBe(now.held);
        expect(sums.get('receivable') ?? 0).toBe(0 - now.receivable);
        expect(now.reserved).toBe(open.reduce((sum, { grossCents }) => sum + grossCents, 0));
      }),
      { numRuns: 300 },
    );
  });

  function movementOf(
    one: Step,
    before: Balance,
    open: { grossCents: number; feeCents: number }[],
  ): Movement | null {
    switch (one.do) {
      case 'reserve':
        return { kind: 'reserve', grossCents: one.grossCents + 25 };
      case 'complete':
      case 'release': {
        const [chosen] = open.splice(one.which % Math.max(open.length, 1), 1);
        if (!chosen) return null;
        return one.do === 'complete'
          ? { kind: 'complete', ...chosen }
          : { kind: 'release', grossCents: chosen.grossCents };
      }
      case 'credit':
      case 'creditFromSuspense':
      case 'creditBesidePayment':
        return { kind: one.do, amountCents: one.amountCents + 200, feeCents: one.feeCents };
      case 'return':
      case 'debit':
      case 'hold':
        return { kind: one.do, amountCents: one.amountCents };
      case 'bookToSuspense':
      case 'writeOff':
      case 'bookLoss':
      case 'providerCost':
      case 'ownMoney':
      case 'cashTransfer':
      case 'cashArrive':
        return { kind: one.do, amountCents: one.out ? -one.amountCents : one.amountCents };
      case 'debitLateCompletion':
      case 'creditNeverLeft':
        return { kind: one.do, netCents: one.netCents, feeCents: one.feeCents };
      case 'releaseHold': {
        const part = (of: number) => Math.floor((of * one.share) / 1000);
        return {
          kind: 'releaseHold',
          capturedCents: part(before.held),
          wantedCents: part(before.holdWanted),
        };
      }
      case 'waiveDebt': {
        const amountCents = Math.ceil((before.receivable * one.share) / 1000);
        return amountCents === 0 ? null : { kind: 'waiveDebt', amountCents };
      }
    }
  }
});

describe('what was taken out of suspense beyond what stood there', () => {
  it('is taken from the operation, and what is missing becomes a debt', () => {
    expect(post(balance({ available: 300 }), { kind: 'debitToSuspense', amountCents: 1000 })).toEqual({
      lines: { suspense: 1000, available: -300, receivable: -700 },
      balance: balance({ receivable: 700 }),
    });
  });

  it('may be a fee as large as the amount, and no larger', () => {
    expect(post(emptyBalance, { kind: 'creditBesidePayment', amountCents: 25, feeCents: 25 }).lines).toEqual({
      suspense: -25,
      feeRevenue: 25,
    });
    expect(() =>
      decide(emptyBalance, { kind: 'creditBesidePayment', amountCents: 25, feeCents: 26 }),
    ).toThrow('a fee of 26 on 25');
  });
});
