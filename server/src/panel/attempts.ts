import type { Clock } from '../ports/clock.ts';
import { PanelError } from './errors.ts';

const attemptsWithinMs = 15 * 60_000;

/** So many within a quarter of an hour, for each of whatever is counted by: a person, an e-mail, an address. */
export interface Attempts {
  /** @throws PanelError `too_many_attempts` */
  require(who: string): void;
  count(who: string): void;
  /** Both: every attempt counts, not the wrong ones only. @throws PanelError `too_many_attempts` */
  take(who: string): void;
  forget(who: string): void;
}

export function attempts(clock: Clock, atMost = 10): Attempts {
  const made = new Map<string, number[]>();
  const recentOf = (who: string): number[] =>
    (made.get(who) ?? []).filter((at) => clock.monotonicMs() - at < attemptsWithinMs);
  const counting: Attempts = {
    require: (who) => {
      if (recentOf(who).length >= atMost) throw new PanelError('too_many_attempts');
    },
    count: (who) => {
      const now = clock.monotonicMs();
      made.set(who, [...recentOf(who), now]);
      if (made.size > 10_000)
        for (const [one, at] of made) if (now - (at.at(-1) ?? 0) > attemptsWithinMs) made.delete(one);
    },
    take: (who) => {
      counting.require(who);
      counting.count(who);
    },
    forget: (who) => {
      made.delete(who);
    },
  };
  return counting;
}
