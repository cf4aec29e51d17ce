import { type AcceptDeps, type Accepted, accept } from '../../flow/accept.ts';
import type { Caller } from '../../ground/caller.ts';
import { type TransferOrder, transfer } from '../../kinds/transfer/transfer.ts';
import type { Payment } from '../../money/payment.ts';
import type { LargeTransfers } from '../../operate/accounts/large-transfers.ts';
import { paymentIdFor } from '../../store/rows/idempotency.ts';
import type { KeyPlaces } from './key-places.ts';

/** The dependencies that transfers of keys and drafts share. */
export interface TransferGuards {
  /** Look-ups that the central directory may answer with no key. */
  keyPlaces: KeyPlaces;
  /** Mails the account's people about a large transfer of a key. */
  largeTransfers: LargeTransfers;
}

/** The transfer of a key: in a place of its account, and with a mail to the account's people where it is large. @throws ApiError as `accept`, `rate_limited` */
export async function sendTransfer(
  deps: AcceptDeps & TransferGuards,
  caller: Caller,
  order: TransferOrder,
): Promise<Accepted<Payment>> {
  const { accountId, accountNumber } = caller;
  const id = paymentIdFor(deps.identity, { id: accountId, number: accountNumber }, order.requestKey);
  const accepted = await deps.keyPlaces.send(
    { accountId, id, key: order.pixKey, arrivedMs: caller.arrivedMs },
    () => accept(deps, transfer, caller, order),
    ({ row }) => row,
  );
  if (!accepted.replayed) deps.largeTransfers.note(accepted.row);
  return accepted;
}
