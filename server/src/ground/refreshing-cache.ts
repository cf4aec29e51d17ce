import type { Clock } from '../ports/clock.ts';
import { recentMap } from './recent-map.ts';

/**
 * Recent answers: an answer is given out for at most `maxAgeMs`, counted from before it was read, so that a change
 * is seen everywhere within that time. Reads of one key are made once, however many wait for it. Once half as old as it
 * may become it is read again behind the scenes, so that a busy key never waits for the database.
 */
export interface RefreshingCache<T> {
  /** A value at once where a fresh one is cached. Undefined answers are not kept. */
  get(key: string): T | undefined | Promise<T | undefined>;
  /** Reads anew what is given out from now on. */
  forget(key: string): void;
}

interface Entry<T> {
  value: T | undefined;
  /** When the read of `value` began, monotonic; -Infinity before the first. */
  readAt: number;
  reading: Promise<T | undefined> | undefined;
}

export function refreshingCache<T>(options: {
  clock: Clock;
  maxAgeMs: number;
  /** The last so many keys are kept, and at most twice as many. */
  maxEntries: number;
  read: (key: string) => Promise<T | undefined>;
}): RefreshingCache<T> {
  const { clock, maxAgeMs, maxEntries, read } = options;
  const entries = recentMap<Entry<T>>(maxEntries);

  function startRead(key: string, entry: Entry<T>): Promise<T | undefined> {
    const beganAt = clock.monotonicMs();
    const reading = read(key).then(
      (value) => {
        entry.reading = undefined;
        entry.value = value;
        entry.readAt = beganAt;
        if (value === undefined && entries.get(key) === entry) entries.delete(key);
        return value;
      },
      (error: unknown) => {
        entry.reading = undefined;
        throw error;
      },
    );
    entry.reading = reading;
    return reading;
  }

  return {
    get(key) {
      let entry = entries.get(key);
      if (entry === undefined) {
        entry = { value: undefined, readAt: Number.NEGATIVE_INFINITY, reading: undefined };
        entries.set(key, entry);
      }
      const age = clock.monotonicMs() - entry.readAt;
      if (age < maxAgeMs) {
        // A failed refresh shows as soon as the value is too old.
        if (age > maxAgeMs / 2 && entry.reading === undefined) startRead(key, entry).catch(() => {});
        return entry.value;
      }
      return entry.reading ?? startRead(key, entry);
    },
    forget(key) {
      entries.delete(key);
    },
  };
}
