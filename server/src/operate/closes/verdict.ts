import type { ConnectionClose } from './connection-closes.sql.ts';

export type Figures = Pick<
  ConnectionClose,
  | 'differenceCents'
  | 'inTransitCents'
  | 'transitSettledCents'
  | 'transitPendingCents'
  | 'transitUnsentCents'
  | 'incidentId'
>;

/**
 * A close's word on the books beside the provider's account. `assumed`: they agree, or differ as before, only because what is under way at the
 * provider counts as gone, which the provider does not say. `known`: they differ as on the day before. `uncompared`: the provider did not say its
 * balance.
 */
export const verdicts = ['agrees', 'assumed', 'known', 'differs', 'uncompared'] as const;
export type Verdict = (typeof verdicts)[number];

export function verdictOf(close: Figures): Verdict {
  const { differenceCents, inTransitCents, transitSettledCents, transitPendingCents, incidentId } = close;
  if (differenceCents === null) return 'uncompared';
  if ((transitPendingCents ?? 0) > 0 && inTransitCents !== transitSettledCents) return 'assumed';
  if (differenceCents === 0) return 'agrees';
  return incidentId === null ? 'known' : 'differs';
}

/** Transfers and refunds without an end at the comparison, and the difference under each answer to whether they have left the account. */
export interface Answers {
  settledCents: number;
  pendingCents: number;
  unsentCents: number;
  ifNone: number;
  ifSettled: number;
  ifPending: number;
  ifAll: number;
}

/** Null: nothing was compared, or nothing was in transit. */
export function answersOf(close: Figures): Answers | null {
  const { differenceCents, inTransitCents } = close;
  const settledCents = close.transitSettledCents ?? 0;
  const pendingCents = close.transitPendingCents ?? 0;
  const unsentCents = close.transitUnsentCents ?? 0;
  if (differenceCents === null || inTransitCents === null) return null;
  if (settledCents + pendingCents + unsentCents === 0) return null;
  const ifGone = (cents: number): number => differenceCents - inTransitCents + cents;
  return {
    ...{ settledCents, pendingCents, unsentCents },
    ifNone: ifGone(0),
    ifSettled: ifGone(settledCents),
    ifPending: ifGone(settledCents + pendingCents),
    ifAll: ifGone(settledCents + pendingCents + unsentCents),
  };
}
