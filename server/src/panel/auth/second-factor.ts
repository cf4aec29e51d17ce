import type { Membership } from '../people/members.sql.ts';

const dayMs = 24 * 3600 * 1000;

/**
 * From when on a member enters a live account with a second factor only; null: not asked for. Test accounts move no money, and
 * viewers change nothing. Money, people, keys and webhooks ask for it from the first day (`PanelFacts.sensitive`).
 */
export const secondFactorDueAt = ({
  test,
  role,
  joinedAt,
  graceDays,
  graceSince,
}: Pick<Membership, 'test' | 'role' | 'joinedAt' | 'graceDays' | 'graceSince'>): number | null =>
  test || role === 'viewer' ? null : Math.max(joinedAt, graceSince ?? 0) + graceDays * dayMs;
