import type { MethodConditions, PaymentLink } from '../../store/rows/payment-links.sql.ts';

/** How a payment link can be paid, in the order in which its page offers it. */
export const linkMethods = ['pix', 'card'] as const;
export type LinkMethod = (typeof linkMethods)[number];

export const methodsOf = ({
  takesPix,
  takesCard,
}: Pick<PaymentLink, 'takesPix' | 'takesCard'>): LinkMethod[] =>
  linkMethods.filter((method) => (method === 'pix' ? takesPix : takesCard));

/** Amounts from one to the other. */
export interface AmountRange {
  minimumCents: number;
  maximumCents: number;
}

/** The limits of the account for a method. Null: it does not offer it. */
export function limitsOf(method: LinkMethod, account: MethodConditions): AmountRange | null {
  if (method === 'pix')
    return { minimumCents: account.minimumDepositCents, maximumCents: account.maximumDepositCents };
  return account.cardConnection === null
    ? null
    : { minimumCents: account.minimumCardCents, maximumCents: account.maximumCardCents };
}

/** The amounts of both. Null: there is none. */
export function sharedRange(one: AmountRange, other: AmountRange): AmountRange | null {
  const minimumCents = Math.max(one.minimumCents, other.minimumCents);
  const maximumCents = Math.min(one.maximumCents, other.maximumCents);
  return minimumCents > maximumCents ? null : { minimumCents, maximumCents };
}

/** A method of a link as its page offers it. */
export interface OfferedMethod {
  method: LinkMethod;
  /** The amounts of the link that the account takes by it now. Null: none, or the account does not offer it any more. */
  range: AmountRange | null;
}

export function offeredBy(link: PaymentLink & MethodConditions): OfferedMethod[] {
  const { amountCents, minimumCents, maximumCents } = link;
  const asked = {
    minimumCents: amountCents ?? minimumCents ?? 0,
    maximumCents: amountCents ?? maximumCents ?? Number.POSITIVE_INFINITY,
  };
  return methodsOf(link).map((method) => {
    const limits = limitsOf(method, link);
    return { method, range: limits && sharedRange(limits, asked) };
  });
}
