import type { PaymentLink } from '../api/client.ts';
import { money } from '../format.ts';
import type { Words } from '../text/pt.ts';
import { useWords } from '../text/text.tsx';

const moods = { active: 'good', completed: 'wait', expired: 'rest', disabled: 'rest' } as const;

/** A link for one payment is paid with it; one with a stock is sold out. */
export function LinkStatus({ link: { status, maxPayments } }: { link: PaymentLink }) {
  const { links } = useWords();
  if (status === 'completed' && maxPayments === 1)
    return <span className="status good">{links.paidOnce}</span>;
  return <span className={`status ${moods[status]}`}>{links.states[status]}</span>;
}

/** `R$ 250,00`; of an open amount its bounds. */
export function linkAmount({ amountCents, minimumCents, maximumCents }: PaymentLink, words: Words): string {
  if (amountCents !== null) return money(amountCents);
  if (minimumCents === undefined || maximumCents === undefined) return words.links.anyAmount;
  return words.links.range(money(minimumCents), money(maximumCents));
}

/** How it can be paid, as the words name it. */
export const wayOf = ({ methods }: PaymentLink): 'pix' | 'card' | 'both' =>
  methods.length > 1 ? 'both' : methods[0] === 'card' ? 'card' : 'pix';

/** How often it was paid: `3`, or `3 de 12` where it ends after so many. */
export const paidOf = ({ paidCount, maxPayments }: PaymentLink, words: Words): string =>
  maxPayments === null ? String(paidCount) : words.links.paidOf(paidCount, maxPayments);
