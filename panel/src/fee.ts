/** The fee of a transfer: a fixed part and hundredths of a percent of the amount debited, half a cent rounded up. */
export interface TransferFee {
  feeCents: number;
  withdrawalFeeBps: number;
}

export const feeOf = (grossCents: number, { feeCents, withdrawalFeeBps }: TransferFee): number =>
  feeCents + Math.floor((grossCents * withdrawalFeeBps + 5000) / 10_000);

/**
 * The smallest amount to debit of which the receiver gets exactly `netCents`. One cent more debited is none or one more received, so that
 * there is one for every amount. The percentage is below a hundred.
 */
export function grossFor(netCents: number, fee: TransferFee): number {
  const netOf = (grossCents: number) => grossCents - feeOf(grossCents, fee);
  let gross = Math.floor(((netCents + fee.feeCents) * 10_000) / (10_000 - fee.withdrawalFeeBps));
  while (netOf(gross) >= netCents) gross--;
  while (netOf(gross) < netCents) gross++;
  return gross;
}
