import type { ChargeTruth, PayoutTruth } from '../../src/ledger/invariants.ts';
import type { Simulator } from './service.ts';

/** What the simulator itself holds true, for the invariants that compare with it. */
export async function truthOf(
  simulator: Simulator,
): Promise<{ payouts: PayoutTruth[]; charges: ChargeTruth[]; balanceCents: number }> {
  const { body } = await simulator.control('GET', '/control/state');
  return {
    // Rows without a status are requests that it saw and neither accepted nor refused.
    payouts: body.payouts
      .filter((one: { status?: string }) => one.status !== undefined)
      .map((one: PayoutTruth & { idEnvio: string }) => ({ ...one, providerId: one.idEnvio })),
    charges: body.charges.map((one: ChargeTruth & { paidAt?: string }) => ({
      ...one,
      paid: one.paidAt !== undefined,
    })),
    balanceCents: body.balanceCents,
  };
}
