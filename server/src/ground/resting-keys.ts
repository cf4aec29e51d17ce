import type { Permission } from './permissions.ts';

const halfYearMs = 180 * 86_400_000;

/** Until when a key that may send money works, if it was last used, made or woken at `usedAt`. */
export const restsAt = (usedAt: number): number => usedAt + halfYearMs;

/**
 * A key that may send money and was not used for half a year is pure risk: it is suspended until a person reactivates it. Decided by its
 * dates each time it is presented, and while its streams are open, so it needs no worker.
 */
export const rests = (
  key: {
    permissions: readonly Permission[];
    createdAt: number;
    lastUsedAt: number | null;
    wokenAt: number | null;
  },
  now: number,
): boolean =>
  key.permissions.some((one) => one === 'transfers' || one === 'refunds') &&
  now > restsAt(Math.max(key.createdAt, key.lastUsedAt ?? 0, key.wokenAt ?? 0));
