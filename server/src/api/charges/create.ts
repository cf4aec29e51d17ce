import type { AcceptDeps } from '../../flow/accept.ts';
import { type Accepted, acceptPayment } from '../../flow/accept.ts';
import type { Caller } from '../../ground/caller.ts';
import { refuse } from '../../ground/errors.ts';
import { feeOf } from '../../ground/money.ts';
import { askedMetadata, metadataOf } from '../../money/metadata.ts';
import type { ChargeRequest } from './schema.ts';

/**
 * Creates a Pix charge at the provider and waits for its code.
 * @throws ApiError `idempotency_conflict`, `account_disabled`, `provider_unavailable`, `amount_out_of_limits`, `amount_below_fee`
 */
export function createCharge(deps: AcceptDeps, caller: Caller, request: ChargeRequest): Promise<Accepted> {
  const { amountCents, payerName, description, requestKey } = request;
  const metadata = metadataOf(request.metadata);
  return acceptPayment(deps, caller, {
    kind: 'deposit',
    amountCents,
    requestKey,
    description,
    metadata,
    payerName,
    pixKey: null,
    asked: { amountCents, payerName, description, ...askedMetadata(metadata) },
    refusedAs: null,
    waitMs: deps.settings.chargeWaitMs,
    feeCents: (account) => {
      if (amountCents < account.minimumDepositCents || amountCents > account.maximumDepositCents) {
        throw refuse('amount_out_of_limits');
      }
      const feeCents = feeOf(amountCents, {
        fixedCents: account.depositFeeCents,
        bps: account.depositFeeBps,
      });
      if (feeCents >= amountCents) throw refuse('amount_below_fee');
      return feeCents;
    },
  });
}
