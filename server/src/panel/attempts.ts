import { hash } from 'node:crypto';
import type { Clock } from '../ports/clock.ts';
import { PanelError } from './errors.ts';

const attemptsWithinMs = 15 * 60_000;

/**
 * How many people, addresses and e-mails are counted at once: some 8 MB at ten attempts each. Beyond it the one that made its last attempt
 * longest ago is forgotten.
 */
const countedMost = 20_000;

/** So many attempts within a quarter of an hour, for each person, e-mail or address. */
export interface Attempts {
  /** @throws PanelError `too_many_attempts` */
  require(who: string): void;
  count(who: string): void;
  /** Both: every attempt counts, not the wrong ones only. @throws PanelError `too_many_attempts` */
  take(who: string): void;
  forget(who: string): void;
  /** How many are counted now. */
  readonly size: number;
}

export function attempts(clock: Clock, atMost = 10): Attempts {
  /** By a hash, since callers choose the length of what they are counted by. The latest attempt stands last. */
  const made = new Map<string, number[]>();
  const keyOf = (who: string): string => hash('sha256', who, 'base64url');
  const recentOf = (key: string): number[] =>
    (made.get(key) ?? []).filter((at) => clock.monotonicMs() - at < attemptsWithinMs);

  function requireKey(key: string): void {
    if (recentOf(key).length >= atMost) throw new PanelError('too_many_attempts');
  }

  function countKey(key: string): void {
    const times = [...recentOf(key), clock.monotonicMs()].slice(-atMost);
    made.delete(key);
    if (made.size >= countedMost) made.delete(made.keys().next().value as string);
    made.set(key, times);
  }

  return {
    require: (who) => requireKey(keyOf(who)),
    count: (who) => countKey(keyOf(who)),
    take: (who) => {
      const key = keyOf(who);
      requireKey(key);
      countKey(key);
    },
    forget: (who) => {
      made.delete(keyOf(who));
    },
    get size() {
      return made.size;
    },
  };
}
