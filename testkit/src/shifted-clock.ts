import type { Clock } from '../../server/src/ports/clock.ts';
import { systemClock } from '../../server/src/ports/clock.ts';

/** A wall clock that can be put forward: days pass, and nobody waits for them. Waits inside a process stay real. */
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
