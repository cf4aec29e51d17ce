import type { Clock } from '../ports/clock.ts';

/**
 * Notices that this process stood still while a call was under way: it was stopped (SIGSTOP), its virtual machine was paused, or it had no
 * processor. All its timers end at once afterwards, so calls have timed out although the provider answered in time.
 *
 * Rejected: to compare how long a call took with its limit. Its parts have shorter limits (a token, a new connection), and a pause of just
 * that length would count as their failure.
 */
export interface Standstills {
  /** Makes a call. @throws what it throws */
  during<Outcome>(make: () => Promise<Outcome>): Promise<{ outcome: Outcome; stoodStill: boolean }>;
}

const checkEveryMs = 500;
/** A check that is later than this shows a standstill. On a busy machine it is late by some tens of milliseconds. */
const lateMs = 1_000;

/** Checks only while a call is under way, so that a process at rest does nothing. */
export function createStandstills(clock: Pick<Clock, 'monotonicMs' | 'machineMs' | 'sleep'>): Standstills {
  // Both, since the monotonic clock may stand still with a suspended machine.
  const read = () => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.machineMs() });
  let last = read();
  let callsUnderWay = 0;
  let checking = false;
  let standstills = 0;

  function check(): void {
    const now = read();
    const passedMs = Math.max(now.monotonicMs - last.monotonicMs, now.wallMs - last.wallMs);
    if (passedMs > checkEveryMs + lateMs) standstills++;
    last = now;
  }

  async function checkDuringCalls(): Promise<void> {
    checking = true;
    while (callsUnderWay > 0) {
      await clock.sleep(checkEveryMs);
      check();
    }
    checking = false;
  }

  return {
    async during(make) {
      callsUnderWay++;
      if (checking) check();
      else {
        last = read();
        void checkDuringCalls();
      }
      const before = standstills;
      try {
        const outcome = await make();
        check();
        return { outcome, stoodStill: standstills > before };
      } finally {
        callsUnderWay--;
      }
    },
  };
}
