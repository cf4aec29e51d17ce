import type { CheckoutName } from '../provider/cards.ts';
import type { CardPayment } from './card.ts';
import { type Payment, providerIdOf } from './payment.ts';

/** How the page of a payment is found at its acquirer. */
export const pageNameOf = (
  { id, createdAt, amountCents }: Pick<Payment, 'id' | 'createdAt' | 'amountCents'>,
  { ref, minutes, approval }: Pick<CardPayment, 'ref' | 'minutes' | 'approval'>,
): CheckoutName => ({
  ...{ providerId: providerIdOf(id), providerRef: ref },
  ...{ createdAt, amountCents, minutes, approval },
});
