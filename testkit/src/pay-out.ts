import type { PayoutInstruction, Provider } from '../../server/src/provider/provider.ts';

/** Sends a payout by all the steps that its provider has. */
export async function payOut(
  provider: Provider,
  instruction: PayoutInstruction,
): ReturnType<Provider['sendPayout']> {
  const sent = await provider.sendPayout(instruction);
  if (sent.outcome !== 'accepted' || sent.report.status !== 'prepared') return sent;
  const { providerId, amountCents } = instruction;
  const providerRef = sent.report.providerRef ?? null;
  const confirmed = await provider.confirmPayout?.({ providerId, providerRef, amountCents });
  if (!confirmed) throw new Error('a prepared payout of a provider without a second step');
  return confirmed;
}
