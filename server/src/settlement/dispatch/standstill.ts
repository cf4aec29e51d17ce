import type { Clock } from '../../ports/clock.ts';

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

const pulseMs = 500;
/** A pulse that is later than this shows a standstill. On a busy machine it is late by some tens of milliseconds. */
const lateMs = 1_000;

/** Its pulse runs while a call is under way, so that a process at rest does nothing. */
export function createStandstills(clock: Pick<Clock, 'monotonicMs' | 'machineMs' | 'sleep'>): Standstills {
  // Both, since the monotonic clock may stand still with a suspended machine.
  const read = () => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.machineMs() });
  let last = read();
  let callsUnderWay = 0;
  let beats = false;
  let standstills = 0;

  function look(): void {
    const now = read();
    const passedMs = Math.max(now.monotonicMs - last.monotonicMs, now.wallMs - last.wallMs);
    if (passedMs > pulseMs + lateMs) standstills++;
    last = now;
  }

  async function beat(): Promise<void> {
    beats = true;
    while (callsUnderWay > 0) {
      await clock.sleep(pulseMs);
      look();
    }
    beats = false;
  }

  return {
    async during(make) {
      callsUnderWay++;
      if (beats) look();
      else {
        last = read();
        void beat();
      }
      const before = standstills;
      try {
        const outcome = await make();
        look();
        return { outcome, stoodStill: standstills > before };
      } finally {
        callsUnderWay--;
      }
    },
  };
}
