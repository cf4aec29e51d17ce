import type { Log } from '../log.ts';
import type { Clock } from '../ports/clock.ts';
import type { Queries } from '../ports/sql.ts';

/** How far this process's clock may be from the database's before it is not ready and claims no work. */
const offsetMostMs = 2_000;
const measureEveryMs = 10_000;
/** While there is no measurement yet. */
const measureAgainMs = 500;

export interface ClockOffset {
  /** Whether the last measurement was within bounds; false before the first. */
  isTolerable(): boolean;
  /** Resolves with the first measurement, or when there will be none. */
  measured: Promise<void>;
}

/** Measures the clock against the database until `stopping` is aborted: leases and schedules are compared across processes. */
export function watchClock(
  { sql, clock, log }: { sql: Queries; clock: Clock; log: Log },
  stopping: AbortSignal,
): ClockOffset {
  let tolerable = false;
  let first = true;
  const { promise: measured, resolve } = Promise.withResolvers<void>();
  const now = { name: 'clock_now', text: 'SELECT clock_timestamp() AS now' };
  void (async () => {
    while (!stopping.aborted) {
      try {
        const before = clock.now();
        const [row] = await sql.run<{ now: number }>(now);
        const offsetMs = Math.round((row?.now ?? before) - (before + clock.now()) / 2);
        const wasTolerable: boolean = tolerable;
        tolerable = Math.abs(offsetMs) <= offsetMostMs;
        if (!tolerable && (wasTolerable || first))
          log.error({ offsetMs }, 'the clock differs from the database');
        first = false;
        resolve();
      } catch (error) {
        log.debug({ err: error }, 'the clock could not be measured');
      }
      await clock.sleep(first ? measureAgainMs : measureEveryMs, stopping);
    }
    resolve();
  })();
  return { isTolerable: () => tolerable, measured };
}
