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
      const { lines, balance: after } = post(balance({ available: 5 }), { kind: 'suspend', amountCents });
      expect(lines).toEqual({ clearing: -amountCents, suspense: amountCents });
      expect(after).toEqual(balance({ available: 5 }));
    }
  });
});

describe('what raises available', () => {
  const before = balance({ reserved: 1000, receivable: 300, holdWanted: 400 });
  const raising: Movement[] = [
    { kind: 'credit', amountCents: 1030, feeCents: 30 },
    { kind: 'return', amountCents: 1000 },
    { kind: 'release', grossCents: 1000 },
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
    ];
    for (const movement of movements) expect(() => decide(rich, movement)).toThrow(RangeError);
    if (amount !== -1)
      expect(() => decide(rich, { kind: 'suspend', amountCents: amount })).toThrow(RangeError);
  });

  it('may not be less than the fee of its credit', () => {
    expect(() => decide(rich, { kind: 'credit', amountCents: 100, feeCents: 101 })).toThrow(RangeError);
    expect(() => decide(rich, { kind: 'credit', amountCents: 100, feeCents: -1 })).toThrow(RangeError);
  });
});

/** What the operation is worth: what we owe it less what it owes us. */
const worth = ({ available, reserved, held, receivable }: Balance): number =>
  available + reserved + held - receivable;

/** What a movement brings to the operation from outside, or takes away from it. */
function comesIn(movement: Movement): number {
  switch (movement.kind) {
    case 'credit':
      return movement.amountCents - movement.feeCents;
    case 'return':
      return movement.amountCents;
    case 'complete':
      return -movement.grossCents;
    case 'debit':
      return -movement.amountCents;
    default:
      return 0;
  }
}

describe('any sequence of movements', () => {
  const cents = fc.integer({ min: 1, max: 1_000_000 });
  const step = fc.oneof(
    fc.record({ do: fc.constant('reserve' as const), grossCents: cents, feeCents: fc.nat(25) }),
    fc.record({ do: fc.constantFrom('complete' as const, 'release' as const), which: fc.nat() }),
    fc.record({ do: fc.constant('credit' as const), amountCents: cents, feeCents: fc.nat(200) }),
    fc.record({ do: fc.constantFrom('return' as const, 'debit' as const), amountCents: cents }),
    fc.record({ do: fc.constant('suspend' as const), amountCents: cents, out: fc.boolean() }),
    fc.record({ do: fc.constant('hold' as const), amountCents: cents }),
  );

  it('keeps every journal at zero, no column below zero, and the worth at what came in less what went out', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let now: Balance = { ...emptyBalance };
        const sums = new Map<string, number>();
        const open: { grossCents: number; feeCents: number }[] = [];
        for (const one of steps) {
          if (one.do === 'hold') {
            now = { ...now, holdWanted: now.holdWanted + one.amountCents };
            continue;
          }
          const movement = movementOf(one, open);
          if (movement === null) continue;
          const before = Object.freeze({ ...now });
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
          expect(Object.values(moved(lines)).length).toBeGreaterThanOrEqual(2);
          for (const value of [...Object.values(after), ...Object.values(lines)]) {
            expect(Number.isSafeInteger(value)).toBe(true);
            expect(Object.is(value, -0)).toBe(false);
          }
          for (const value of Object.values(after)) expect(value).toBeGreaterThanOrEqual(0);
          expect(worth(after) - worth(before)).toBe(comesIn(movement));
          expect(after.held + after.holdWanted).toBe(before.held + before.holdWanted);
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

  type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

  function movementOf(
    one: Exclude<Step, { do: 'hold' }>,
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
        return { kind: 'credit', amountCents: one.amountCents + 200, feeCents: one.feeCents };
      case 'return':
      case 'debit':
        return { kind: one.do, amountCents: one.amountCents };
      case 'suspend':
        return { kind: 'suspend', amountCents: one.out ? -one.amountCents : one.amountCents };
    }
  }
});
