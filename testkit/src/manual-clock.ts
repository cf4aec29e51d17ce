import { type Clock, systemClock } from '../../server/src/ports/clock.ts';

/** Monotonic time that stands still until a test moves it, so that limits of time are proved on a machine of any speed. */
export interface ManualClock extends Clock {
  /** Wakes whatever slept until then, the earliest first. */
  advance(ms: number): void;
  /** How many sleep now. What is to be woken must sleep before the time moves. */
  sleepers(): number;
}

export function manualClock(): ManualClock {
  let nowMs = 1_000;
  const sleepers = new Set<{ untilMs: number; wake: () => void }>();
  return {
    ...systemClock,
    monotonicMs: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (ms <= 0 || signal?.aborted) return resolve();
        const sleeper = {
          untilMs: nowMs + ms,
          wake: () => {
            sleepers.delete(sleeper);
            signal?.removeEventListener('abort', sleeper.wake);
            resolve();
          },
        };
        sleepers.add(sleeper);
        signal?.addEventListener('abort', sleeper.wake, { once: true });
      }),
    sleepers: () => sleepers.size,
    advance: (ms) => {
      nowMs += ms;
      const due = [...sleepers].filter(({ untilMs }) => untilMs <= nowMs);
      for (const { wake } of due.sort((one, other) => one.untilMs - other.untilMs)) wake();
    },
  };
}
