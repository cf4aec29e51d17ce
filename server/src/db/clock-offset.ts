import type { Log } from '../log.ts';
import type { Clock } from '../ports/clock.ts';
import type { Queries } from '../ports/sql.ts';

/** How far this process's clock may be from the database's before it is not ready and claims no work. */
const offsetMostMs = 2_000;
const measureEveryMs = 10_000;

export interface ClockOffset {
  /** Whether the last measurement was within bounds; true before the first one has failed them. */
  isTolerable(): boolean;
}

/** Measures the clock against the database until `stopping` is aborted: leases and schedules are compared across processes. */
export function watchClock(
  { sql, clock, log }: { sql: Queries; clock: Clock; log: Log },
  stopping: AbortSignal,
): ClockOffset {
  let tolerable = true;
  const now = { name: 'clock_now', text: 'SELECT clock_timestamp() AS now' };
  void (async () => {
    while (!stopping.aborted) {
      try {
        const before = clock.now();
        const [row] = await sql.run<{ now: number }>(now);
        const offsetMs = Math.round((row?.now ?? before) - (before + clock.now()) / 2);
        const wasTolerable: boolean = tolerable;
        tolerable = Math.abs(offsetMs) <= offsetMostMs;
        if (tolerable !== wasTolerable) log.error({ offsetMs }, 'the clock differs from the database');
      } catch (error) {
        log.debug({ err: error }, 'the clock could not be measured');
      }
      await clock.sleep(measureEveryMs, stopping);
    }
  })();
  return { isTolerable: () => tolerable };
}
