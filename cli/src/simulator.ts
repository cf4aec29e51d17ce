import type { Vintem } from '@vintem/sdk';
import { UsageFault } from './command.ts';

/** The payer's bank and the receiver of test accounts. */
export interface Simulator {
  charge(id: string, action: 'pay' | 'expire' | 'remove'): Promise<unknown>;
  transfer(id: string, action: 'complete' | 'refuse' | 'return'): Promise<unknown>;
}

export const simulatorOption = { simulator: { type: 'string' } } as const;

/** By way of the service's test mode, or straight at the address that was given. */
export const simulatorOf = (given: string | boolean | undefined, vintem: Vintem): Simulator =>
  typeof given === 'string' ? simulatorAt(given) : behind(vintem);

const behind = ({ testMode }: Vintem): Simulator => ({
  charge: (id, action) => (action === 'pay' ? testMode.pay(id) : testMode.end(id, action)),
  transfer: (id, action) =>
    action === 'complete'
      ? testMode.complete(id)
      : action === 'refuse'
        ? testMode.refuse(id)
        : testMode.return(id),
});

function simulatorAt(url: string): Simulator {
  if (!URL.canParse(url)) throw new UsageFault('--simulator takes an address');
  const control = async (path: string): Promise<unknown> => {
    const answer = await fetch(`${url.replace(/\/+$/, '')}/control${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    }).catch(() => {
      throw new Error(`no simulator answers at ${url}: name it with --simulator`);
    });
    const body = (await answer.json()) as { error?: string };
    if (!answer.ok) throw new Error(`the simulator answered ${answer.status}: ${body.error}`);
    return body;
  };
  /** The simulator names things by payment ids without hyphens. */
  const nameOf = (id: string): string => id.replaceAll(/[^0-9a-f]/gi, '');
  return {
    charge: (id, action) => control(`/charges/${nameOf(id)}/${action}`),
    transfer: (id, action) => control(`/payouts/${nameOf(id)}/${action}`),
  };
}
