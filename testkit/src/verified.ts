import type { Check } from '../../server/src/ledger/invariants.ts';
import { type Verified, type VerifyOptions, verify } from '../../server/src/ledger/verify.ts';
import { paymentIdFor } from '../../server/src/request-keys/idempotency.ts';
import type { Service } from './service.ts';
import { truthOf } from './truth.ts';

/** `vintem verify --full` over all accounts of a service, or as the options say. */
export const verified = ({ runtime }: Service, options: Partial<VerifyOptions> = {}): Promise<Verified> =>
  verify(runtime, {
    accountId: null,
    full: true,
    idOf: (account, requestKey) => paymentIdFor(runtime.identity, account, requestKey),
    ...options,
  });

/** The invariants that do not hold over what a service has stored. */
export const violationsOfBooks = async (
  service: Service,
  options: Partial<VerifyOptions> = {},
): Promise<Check[]> => (await verified(service, options)).checks.filter((check) => !check.ok);

/** The same, compared with what its provider holds true. */
export const violations = async (service: Service): Promise<Check[]> =>
  violationsOfBooks(service, { provider: await truthOf(service.simulator) });
