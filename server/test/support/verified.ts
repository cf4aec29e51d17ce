import type { Check } from '../../src/ledger/invariants.ts';
import { verify } from '../../src/ledger/verify.ts';
import { paymentIdFor } from '../../src/request-keys/claim.ts';
import type { Service } from './service.ts';
import { truthOf } from './truth.ts';

/** Every invariant over what a service has stored, compared with what its provider holds true: those that do not hold. */
export async function violations({ house, simulator }: Service): Promise<Check[]> {
  const { checks } = await verify(house, {
    accountId: null,
    full: true,
    idOf: (account, requestKey) => paymentIdFor(house.identity, account, requestKey),
    provider: await truthOf(simulator),
  });
  return checks.filter((check) => !check.ok);
}
