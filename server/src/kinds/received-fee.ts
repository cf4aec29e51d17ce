import { refuse } from '../ground/errors.ts';
import { type FeeRule, feeOf } from '../ground/money.ts';

/**
 * The account's fee for an amount that it is to receive, in cents.
 * @throws ApiError `amount_out_of_limits`, `amount_below_fee`
 */
export function receivedFee(
  amountCents: number,
  limits: { minimumCents: number; maximumCents: number },
  rule: FeeRule,
): number {
  if (amountCents < limits.minimumCents || amountCents > limits.maximumCents)
    throw refuse('amount_out_of_limits');
  const feeCents = feeOf(amountCents, rule);
  if (feeCents >= amountCents) throw refuse('amount_below_fee');
  return feeCents;
}
