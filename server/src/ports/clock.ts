/**
 * The only source of time. Instants are milliseconds since 1970 (UTC), durations are milliseconds.
 */
export interface Clock {
  /** The time for what is stored, shared and shown; in a running service the database's (`store/database/clock-offset.ts`). It may jump. */
  now(): number;
  /** The machine's own wall clock. Only to be compared: a machine whose clock is wrong takes part in no shared work. */
  machineMs(): number;
  /** A clock that never jumps, for leases, deadlines and waits inside one process. */
  monotonicMs(): number;
  /**
   * Resolves after `ms`, or at once when `signal` is aborted (it never rejects). Once for each request it is aborted with `null`: without a
   * reason Node makes an exception with a stack each time, 2 % of a transfer.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  machineMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done, { once: true });
    }),
};
