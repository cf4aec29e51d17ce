import { type AcceptDeps, type Accepted, acceptPayment } from '../../flow/accept.ts';
import type { Caller } from '../../ground/caller.ts';
import { refuse } from '../../ground/errors.ts';
import { feeOf } from '../../ground/money.ts';
import { askedMetadata, metadataOf } from '../../money/metadata.ts';
import type { LargeTransfers } from '../../operate/accounts/large-transfers.ts';
import type { Conditions } from '../../store/rows/conditions.sql.ts';
import { paymentIdFor } from '../../store/rows/idempotency.ts';
import type { KeyPlaces } from './key-places.ts';
import { existsInDict } from './pix-key.ts';
import type { TransferRequest } from './schema.ts';

/**
 * Reserves the gross and sends the net. The API key authorizes the movement: no code, no confirmation.
 *
 * A key that cannot exist in DICT (wrong check digits, an e-mail that is too long) is recorded as refused without calling the
 * provider: each key that is not found costs it twenty tokens of a bucket that all merchants share.
 * @throws ApiError `idempotency_conflict`, `account_disabled`, `withdrawals_blocked`, `withdrawals_paused`,
 *         `provider_unavailable`, `amount_out_of_limits`, `amount_below_fee`, `insufficient_balance`
 */
export function createTransfer(
  deps: AcceptDeps,
  caller: Caller,
  request: TransferRequest,
): Promise<Accepted> {
  const { amountCents, pixKey, pixKeyType, description, requestKey } = request;
  const metadata = metadataOf(request.metadata);
  return acceptPayment(deps, caller, {
    kind: 'transfer',
    amountCents,
    requestKey,
    description,
    metadata,
    payerName: null,
    pixKey: { type: pixKeyType, key: pixKey },
    asked: { amountCents, pixKey, pixKeyType, description, ...askedMetadata(metadata) },
    refusedAs: existsInDict(pixKeyType, pixKey) ? null : 'pix_key_not_found',
    waitMs: deps.settings.transferWaitMs,
    feeCents: (account) => withdrawalFeeOf(account, amountCents),
  });
}

/** What stands beside the transfers of keys and drafts. */
export interface TransferGuards {
  /** Look-ups that the central directory may answer with no key. */
  keyPlaces: KeyPlaces;
  /** Mails the account's people about a large transfer of a key. */
  largeTransfers: LargeTransfers;
}

/** The transfer of a key: in a place of its account, and with a mail to the account's people where it is large. @throws ApiError as `createTransfer`, `rate_limited` */
export async function sendTransfer(
  deps: AcceptDeps & TransferGuards,
  caller: Caller,
  request: TransferRequest,
): Promise<Accepted> {
  const { accountId, accountNumber } = caller;
  const id = paymentIdFor(deps.identity, { id: accountId, number: accountNumber }, request.requestKey);
  const accepted = await deps.keyPlaces.send(
    { accountId, id, key: request.pixKey },
    () => createTransfer(deps, caller, request),
    ({ payment }) => payment,
  );
  if (!accepted.replayed) deps.largeTransfers.note(accepted.payment);
  return accepted;
}

/**
 * The fee of a withdrawal by an account's conditions.
 * @throws ApiError `amount_out_of_limits`, `amount_below_fee`
 */
export function withdrawalFeeOf(account: Conditions, amountCents: number): number {
  requireWithinLimits(account, amountCents);
  const feeCents = feeOf(amountCents, {
    fixedCents: account.withdrawalFeeCents,
    bps: account.withdrawalFeeBps,
  });
  if (feeCents >= amountCents) throw refuse('amount_below_fee');
  return feeCents;
}

/** @throws ApiError `amount_out_of_limits` */
export function requireWithinLimits(account: Conditions, amountCents: number): void {
  if (amountCents < account.minimumWithdrawalCents || amountCents > account.maximumWithdrawalCents) {
    throw refuse('amount_out_of_limits');
  }
}
