/**
 * The one ledger rule: what a movement does to an operation's columns and which lines it writes, or why it may not.
 * Plain arithmetic on integer cents; the till, the state-space search and every test call this same function.
 *
 * A positive line is a credit, a negative one a debit, and every journal sums to zero. `available`, `reserved`, `held` and `cardHeld` are what we owe
 * the merchant, `cardHeld` of card payments that the acquirer has not released; `receivable` is what the merchant owes us (so its line is negative
 * when the debt grows); `clearing` is what the provider's account holds for this merchant, `suspense` what has no owner yet. There is no movement between two
 * operations: "another operation never covers a shortfall" holds because it cannot be said.
 *
 * Money that would raise `available` first pays the receivable, then fills what holds still want, and the rest becomes available.
 */

export interface Balance {
  available: number;
  reserved: number;
  held: number;
  receivable: number;
  /** The amount that holds still want beyond `held`. */
  holdWanted: number;
  /** Approved card payments that the acquirer has not released. No hold and no withdrawal reaches it. */
  cardHeld: number;
}

export const accounts = [
  'available',
  'reserved',
  'held',
  'receivable',
  'clearing',
  'feeRevenue',
  'providerCost',
  'suspense',
  'adjustments',
  'cardHeld',
] as const;

export type Lines = Record<(typeof accounts)[number], number>;

export type Movement =
  /** A withdrawal's gross is set aside before it is sent. */
  | { kind: 'reserve'; grossCents: number }
  /** The provider confirmed it: the net left, the fee is earned. */
  | { kind: 'complete'; grossCents: number; feeCents: number }
  /** Refused: everything goes back, without a fee. */
  | { kind: 'release'; grossCents: number }
  /** A charge was paid. */
  | { kind: 'credit'; amountCents: number; feeCents: number }
  /** Sets the amount of a refund aside before it is sent. */
  | { kind: 'refundReserve'; amountCents: number }
  /** The provider confirmed it: the payer has it. Its part of the charge's fee comes back to the merchant, where that is agreed. */
  | { kind: 'refundComplete'; amountCents: number; feeCents: number }
  /** Refused: the amount goes back to the merchant. */
  | { kind: 'refundRelease'; amountCents: number }
  /** Sets money in suspense aside before it is sent back to its payer; on the account's own chain. */
  | { kind: 'suspenseReserve'; amountCents: number }
  /** Refused: it stands in suspense again. */
  | { kind: 'suspenseRelease'; amountCents: number }
  /** A completed transfer came back; the fee stays. */
  | { kind: 'return'; amountCents: number }
  /** The provider took money of its own accord (MED, reversal); what is missing becomes a debt. */
  | { kind: 'debit'; amountCents: number }
  /**
   * The same of money that a hold was placed for: out of what the hold has captured, then as a debit. The hold wants so much less.
   */
  | { kind: 'debitHeld'; amountCents: number; capturedCents: number; wantedCents: number }
  /** Money without a live owner, in (positive) or out (negative), on the account's own chain. */
  | { kind: 'bookToSuspense'; amountCents: number }
  /** An administrative hold: takes what is there, and of what comes later until it has all that it wants. */
  | { kind: 'hold'; amountCents: number }
  /** A hold ends: what it had captured is treated as money that comes in, and what it still wanted is wanted no more. */
  | { kind: 'releaseHold'; capturedCents: number; wantedCents: number }
  /** Out of suspense to the operation: as the payment of its charge, or beside the payment that the charge has. */
  | { kind: 'creditFromSuspense' | 'creditBesidePayment'; amountCents: number; feeCents: number }
  /** Takes the amount that suspense lacks from the operation; the part that the operation lacks becomes a debt. */
  | { kind: 'debitToSuspense'; amountCents: number }
  /** Out of suspense to the installation's own account: a gain, or for what is missing (negative) a loss. */
  | { kind: 'writeOff'; amountCents: number }
  /**
   * A withdrawal whose reserve was released left all the same: net and fee are taken now; what is missing becomes a debt. A fee below zero comes back:
   * of a refund.
   */
  | { kind: 'debitLateCompletion'; netCents: number; feeCents: number }
  /** A withdrawal that was completed never left: net and fee come back. A fee below zero is taken: it had come back with a refund. */
  | { kind: 'creditNeverLeft'; netCents: number; feeCents: number }
  /** Money left the provider's account (or, negative, came into it) at the installation's own cost. */
  | { kind: 'bookLoss'; amountCents: number }
  /**
   * The provider's fees (or, negative, fees given back), and money of the company itself that came into the provider's
   * account (or, negative, left it). Both on the installation's own chain.
   */
  | { kind: 'providerCost' | 'ownMoney'; amountCents: number }
  /**
   * Cash between two connections of the company, on the installation's own chain. `cashTransfer`: it left the acquirer's account (below zero), or came back to
   * it, and stands in suspense meanwhile. `cashArrive`: it is in the other account, whose statement had it as the company's own money; below zero: it is not.
   */
  | { kind: 'cashTransfer' | 'cashArrive'; amountCents: number }
  /** The acquirer approved a card payment and owes it, less its own cost, until it releases it. */
  | { kind: 'cardApprove'; amountCents: number; costCents: number }
  /** The acquirer released it: from now on it is the merchant's, less the account's fee. `costCents`: of the acquirer, beyond what is booked. */
  | { kind: 'cardRelease'; amountCents: number; feeCents: number; costCents: number }
  /** Sets the amount of a refund aside out of a card payment that is not released; `cardRefundRelease`: it was refused before the release. */
  | { kind: 'cardRefundReserve' | 'cardRefundRelease'; amountCents: number }
  /**
   * The acquirer took money of a card payment by its own word: `heldCents` of it out of what is held, the rest from the balance, and what is missing becomes a
   * debt. The acquirer's cost of it is the installation's.
   */
  | { kind: 'cardSeize'; amountCents: number; heldCents: number; costCents: number }
  /** It came back: `heldCents` of it to what is held. */
  | { kind: 'cardGiveBack'; amountCents: number; heldCents: number; costCents: number }
  /** The installation takes over so much of the operation's debt. */
  | { kind: 'waiveDebt'; amountCents: number };

export type Decision = { lines: Lines; balance: Balance } | { refused: 'insufficient_balance' };

export const emptyBalance: Readonly<Balance> = {
  available: 0,
  reserved: 0,
  held: 0,
  receivable: 0,
  holdWanted: 0,
  cardHeld: 0,
};

/** @throws RangeError when the movement is not made of positive safe integers: a mistake of ours, never of a caller */
export function decide(before: Readonly<Balance>, movement: Movement): Decision {
  const lines = noLines();
  switch (movement.kind) {
    case 'reserve': {
      const gross = cents(movement.grossCents);
      if (before.receivable > 0 || before.available < gross) return { refused: 'insufficient_balance' };
      lines.available = -gross;
      lines.reserved = gross;
      return posted(before, lines);
    }
    case 'complete': {
      const gross = cents(movement.grossCents);
      const fee = cents(movement.feeCents, 0);
      lines.reserved = -gross;
      lines.clearing = gross - fee;
      lines.feeRevenue = fee;
      return posted(before, lines);
    }
    case 'release':
      lines.reserved = -cents(movement.grossCents);
      return raised(before, lines, movement.grossCents);
    case 'refundReserve': {
      const amount = cents(movement.amountCents);
      if (before.receivable > 0 || before.available < amount) return { refused: 'insufficient_balance' };
      lines.available = -amount;
      lines.reserved = amount;
      return posted(before, lines);
    }
    case 'refundComplete': {
      const fee = cents(movement.feeCents, 0);
      lines.reserved = -cents(movement.amountCents);
      lines.clearing = movement.amountCents;
      lines.feeRevenue = -fee;
      return raised(before, lines, fee);
    }
    case 'refundRelease':
      lines.reserved = -cents(movement.amountCents);
      return raised(before, lines, movement.amountCents);
    case 'suspenseReserve':
      lines.suspense = -cents(movement.amountCents);
      lines.reserved = movement.amountCents;
      return posted(before, lines);
    case 'suspenseRelease':
      lines.reserved = -cents(movement.amountCents);
      lines.suspense = movement.amountCents;
      return posted(before, lines);
    case 'credit': {
      const amount = cents(movement.amountCents);
      const fee = cents(movement.feeCents, 0);
      if (fee > amount) throw new RangeError(`a fee of ${fee} on ${amount}`);
      lines.clearing = -amount;
      lines.feeRevenue = fee;
      return raised(before, lines, amount - fee);
    }
    case 'return':
      lines.clearing = -cents(movement.amountCents);
      return raised(before, lines, movement.amountCents);
    case 'debit': {
      const amount = cents(movement.amountCents);
      const taken = Math.min(before.available, amount);
      lines.clearing = amount;
      lines.available = -taken;
      lines.receivable = taken - amount;
      return posted(before, lines);
    }
    case 'debitHeld': {
      const amount = cents(movement.amountCents);
      const captured = cents(movement.capturedCents, 0);
      const wanted = cents(movement.wantedCents, 0);
      if (captured > amount || captured > before.held || wanted > before.holdWanted)
        throw new RangeError(`a hold of ${captured} + ${wanted} for ${amount}`);
      const taken = Math.min(before.available, amount - captured);
      lines.clearing = amount;
      lines.held = -captured;
      lines.available = -taken;
      lines.receivable = taken + captured - amount;
      const decision = posted(before, lines);
      decision.balance.holdWanted -= wanted;
      return decision;
    }
    case 'bookToSuspense': {
      const amount = movement.amountCents;
      cents(Math.abs(amount));
      lines.clearing = -amount;
      lines.suspense = amount;
      return posted(before, lines);
    }
    case 'hold': {
      const wanted = cents(movement.amountCents);
      const captured = Math.min(before.available, wanted);
      lines.available = -captured;
      lines.held = captured;
      const decision = posted(before, lines);
      decision.balance.holdWanted += wanted - captured;
      return decision;
    }
    case 'releaseHold': {
      const freed = cents(movement.capturedCents, 0);
      const wanted = cents(movement.wantedCents, 0);
      if (freed > before.held || wanted > before.holdWanted)
        throw new RangeError(`a hold of ${freed} + ${wanted} on ${before.held} + ${before.holdWanted}`);
      const without = { ...before, held: before.held - freed, holdWanted: before.holdWanted - wanted };
      const decision = raised(without, lines, freed);
      lines.held -= freed;
      return decision;
    }
    case 'creditFromSuspense':
    case 'creditBesidePayment': {
      const amount = cents(movement.amountCents);
      const fee = cents(movement.feeCents, 0);
      if (fee > amount) throw new RangeError(`a fee of ${fee} on ${amount}`);
      lines.suspense = -amount;
      lines.feeRevenue = fee;
      return raised(before, lines, amount - fee);
    }
    case 'debitToSuspense': {
      const amount = cents(movement.amountCents);
      const taken = Math.min(before.available, amount);
      lines.suspense = amount;
      lines.available = -taken;
      lines.receivable = taken - amount;
      return posted(before, lines);
    }
    case 'writeOff': {
      const amount = movement.amountCents;
      cents(Math.abs(amount));
      lines.suspense = -amount;
      lines.adjustments = amount;
      return posted(before, lines);
    }
    case 'debitLateCompletion': {
      const net = cents(movement.netCents);
      const fee = cents(movement.feeCents, -net);
      const taken = Math.min(before.available, net + fee);
      lines.clearing = net;
      lines.feeRevenue = fee;
      lines.available = -taken;
      lines.receivable = taken - net - fee;
      return posted(before, lines);
    }
    case 'creditNeverLeft': {
      const net = cents(movement.netCents);
      const fee = cents(movement.feeCents, -net);
      lines.clearing = -net;
      lines.feeRevenue = -fee;
      return raised(before, lines, net + fee);
    }
    case 'bookLoss': {
      const amount = movement.amountCents;
      cents(Math.abs(amount));
      lines.clearing = amount;
      lines.adjustments = -amount;
      return posted(before, lines);
    }
    case 'providerCost': {
      const amount = movement.amountCents;
      cents(Math.abs(amount));
      lines.clearing = amount;
      lines.providerCost = -amount;
      return posted(before, lines);
    }
    case 'ownMoney': {
      const amount = movement.amountCents;
      cents(Math.abs(amount));
      lines.clearing = -amount;
      lines.adjustments = amount;
      return posted(before, lines);
    }
    case 'cashTransfer': {
      const amount = movement.amountCents;
      cents(Math.abs(amount));
      lines.clearing = -amount;
      lines.suspense = amount;
      return posted(before, lines);
    }
    case 'cashArrive': {
      const amount = movement.amountCents;
      cents(Math.abs(amount));
      lines.adjustments = -amount;
      lines.suspense = amount;
      return posted(before, lines);
    }
    case 'cardApprove': {
      const amount = cents(movement.amountCents);
      const cost = cents(movement.costCents, 0);
      if (cost >= amount) throw new RangeError(`a cost of ${cost} on ${amount}`);
      lines.clearing = cost - amount;
      lines.providerCost = -cost;
      lines.cardHeld = amount;
      return posted(before, lines);
    }
    case 'cardRelease': {
      const amount = cents(movement.amountCents, 0);
      const fee = cents(movement.feeCents, 0);
      if (amount > before.cardHeld) throw new RangeError(`a release of ${amount} of ${before.cardHeld}`);
      lines.cardHeld = -amount;
      lines.feeRevenue = fee;
      lines.clearing = cents(movement.costCents, -fee - amount);
      lines.providerCost = -movement.costCents;
      // A payment of which refunds left less than its fee: the rest of the fee is taken as a debit is.
      return fee > amount ? lowered(before, lines, fee - amount) : raised(before, lines, amount - fee);
    }
    case 'cardRefundReserve': {
      const amount = cents(movement.amountCents);
      if (amount > before.cardHeld) throw new RangeError(`a refund of ${amount} of ${before.cardHeld}`);
      lines.cardHeld = -amount;
      lines.reserved = amount;
      return posted(before, lines);
    }
    case 'cardRefundRelease':
      lines.reserved = -cents(movement.amountCents);
      lines.cardHeld = movement.amountCents;
      return posted(before, lines);
    case 'cardSeize': {
      const amount = cents(movement.amountCents, 0);
      const held = cents(movement.heldCents, 0);
      const cost = cents(movement.costCents, 0);
      if (held > amount || held > before.cardHeld)
        throw new RangeError(`${held} of ${before.cardHeld} held for ${amount}`);
      lines.cardHeld = -held;
      lines.clearing = amount + cost;
      lines.providerCost = -cost;
      return lowered(before, lines, amount - held);
    }
    case 'cardGiveBack': {
      const amount = cents(movement.amountCents, 0);
      const held = cents(movement.heldCents, 0);
      const cost = cents(movement.costCents, 0);
      if (held > amount) throw new RangeError(`${held} held of ${amount}`);
      lines.cardHeld = held;
      lines.clearing = -amount - cost;
      lines.providerCost = cost;
      return raised(before, lines, amount - held);
    }
    case 'waiveDebt': {
      const amount = cents(movement.amountCents);
      if (amount > before.receivable) throw new RangeError(`${amount} of a debt of ${before.receivable}`);
      lines.receivable = amount;
      lines.adjustments = -amount;
      return posted(before, lines);
    }
  }
}

/** Shares what comes in between the debt, the holds and the merchant, in that order. */
function raised(before: Readonly<Balance>, lines: Lines, cameIn: number): Decision {
  const repaid = Math.min(before.receivable, cameIn);
  const captured = Math.min(before.holdWanted, cameIn - repaid);
  lines.receivable = repaid;
  lines.held = captured;
  lines.available = cameIn - repaid - captured;
  const decision = posted(before, lines);
  decision.balance.holdWanted -= captured;
  return decision;
}

/** Takes what goes out from the merchant; what is missing becomes a debt. */
function lowered(before: Readonly<Balance>, lines: Lines, goesOut: number): Decision {
  const taken = Math.min(before.available, goesOut);
  lines.available = -taken;
  lines.receivable = taken - goesOut;
  return posted(before, lines);
}

function posted(before: Readonly<Balance>, lines: Lines): { lines: Lines; balance: Balance } {
  for (const account of accounts) lines[account] += 0; // -0 is not a number of cents
  return {
    lines,
    balance: {
      available: before.available + lines.available,
      reserved: before.reserved + lines.reserved,
      held: before.held + lines.held,
      receivable: before.receivable - lines.receivable,
      holdWanted: before.holdWanted,
      cardHeld: before.cardHeld + lines.cardHeld,
    },
  };
}

const noLines = (): Lines => ({
  available: 0,
  reserved: 0,
  held: 0,
  receivable: 0,
  clearing: 0,
  feeRevenue: 0,
  providerCost: 0,
  suspense: 0,
  adjustments: 0,
  cardHeld: 0,
});

function cents(amount: number, least = 1): number {
  if (!Number.isSafeInteger(amount) || amount < least)
    throw new RangeError(`${amount} is not an amount in cents`);
  return amount;
}
