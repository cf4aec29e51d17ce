import { paymentIdOf } from '../money/payment.ts';
import type { WebhookNews } from '../provider/provider.ts';
import { accountNumberOf } from '../store/rows/idempotency.ts';

/** In whose turn a delivery is applied: the number of the account whose payments it names; 0: it names none of our form, or those of several. */
export function lineOf({ received, payouts, named, removed, paidPages, unread }: WebhookNews): number {
  const providerIds = [
    ...received.map(({ txid }) => txid),
    ...[...payouts, ...(paidPages ?? []), ...(unread ?? [])].map(({ providerId }) => providerId),
    ...[...(named ?? []), ...(removed ?? [])],
  ];
  const ids = providerIds.flatMap((one) => (one === null ? [] : (paymentIdOf(one) ?? [])));
  const [line = 0, ...others] = new Set(ids.map(accountNumberOf));
  return others.length === 0 ? line : 0;
}

/** Places of which an owner has as many as it leaves free: half of them when it is alone, and there is always one for another. */
export interface Shares {
  /** @returns gives the place back; null: the owner has its share */
  take(owner: number): (() => void) | null;
}

export function createShares(most: number): Shares {
  const taken = new Map<number, number>();
  let all = 0;
  return {
    take(owner) {
      const own = taken.get(owner) ?? 0;
      if (own >= most - all) return null;
      taken.set(owner, own + 1);
      all++;
      return () => {
        const left = (taken.get(owner) ?? 1) - 1;
        if (left === 0) taken.delete(owner);
        else taken.set(owner, left);
        all--;
      };
    },
  };
}
