import type { Clock } from '../../server/src/ports/clock.ts';
import { systemClock } from '../../server/src/ports/clock.ts';

/** A wall clock that can be moved forward by days without waiting. Sleeps inside a process stay real. */
export interface ShiftedClock extends Clock {
  skip(ms: number): void;
}

export function shiftedClock(): ShiftedClock {
  let shiftMs = 0;
  return {
    ...systemClock,
    now: () => systemClock.now() + shiftMs,
    skip: (ms) => {
      shiftMs += ms;
    },
  };
}
