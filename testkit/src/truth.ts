import type { ChargeTruth, PayoutTruth } from '../../server/src/operate/verify/invariants.ts';
import type { Simulator } from './service.ts';

type Returns = { amountCents: number; endToEnd?: string }[];

/** As `GET /control/state` of the simulator shows it. */
export interface SimulatorState {
  payouts: (Omit<PayoutTruth, 'providerId' | 'returns' | 'status'> & {
    idEnvio: string;
    status?: string;
    unlisted?: true;
    returns?: Returns;
  })[];
  charges: (Omit<ChargeTruth, 'paid' | 'received'> & {
    paidAt?: string;
    endToEnd?: string;
    payments?: { endToEnd: string }[];
    returns?: Returns;
  })[];
  balanceCents: number;
}

export interface Truth {
  payouts: PayoutTruth[];
  charges: ChargeTruth[];
  balanceCents: number;
}

/** The simulator's own truth, for the invariants that compare with it. */
export async function truthOf(simulator: Simulator): Promise<Truth> {
  return truthIn((await simulator.control('GET', '/control/state')).body);
}

export const truthIn = ({ payouts, charges, balanceCents }: SimulatorState): Truth => ({
  // Rows without a status are requests that it saw and neither accepted nor refused. A further transfer under a reference (Asaas) that did not leave is none.
  // Of one that was refused in unlisted words a person decides: nothing that the service can ask says that it was.
  payouts: payouts.flatMap(({ status, unlisted, returns = [], ...one }) =>
    status === undefined || (status === 'refused' && one.idEnvio.includes('~'))
      ? []
      : [
          {
            ...one,
            status: unlisted ? 'removed' : (status as PayoutTruth['status']),
            providerId: one.idEnvio,
            returns: returns.map(centsOf),
          },
        ],
  ),
  charges: charges.map(({ returns = [], payments, endToEnd, ...one }) => {
    const received = payments?.map((pix) => pix.endToEnd) ?? (endToEnd === undefined ? [] : [endToEnd]);
    return {
      ...one,
      paid: one.paidAt !== undefined,
      received: received.map((pix) => ({
        endToEnd: pix,
        returns: returns.filter((back) => back.endToEnd === pix).map(centsOf),
      })),
    };
  }),
  balanceCents,
});

const centsOf = ({ amountCents }: { amountCents: number }): number => amountCents;
