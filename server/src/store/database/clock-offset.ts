import type { Log } from '../../ground/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Queries } from '../../ports/sql.ts';

/** How far this machine's clock may be from the database's before the process is not ready and takes part in no shared work. */
const offsetMostMs = 2_000;
const measureEveryMs = 5_000;
/** While there is no measurement, or the clock has jumped since the last one. */
const measureAgainMs = 500;
/** A process that has not compared its clock for this long (it was paused, or the database is away) no longer knows it. */
const staleMs = 30_000;
/** The wall clock moved by more than this against the monotonic one: it was set, or the machine was suspended. */
const jumpMs = 500;

export interface ClockOffset {
  /** Whether the machine's clock was within bounds when last compared, and has not jumped since; false before the first comparison. */
  isTolerable(): boolean;
  /** The database's clock minus the machine's, in milliseconds, when last compared; null before the first comparison. */
  offsetMs(): number | null;
  /** Resolves with the first measurement, or when there will be none. */
  measured: Promise<void>;
}

interface Measured {
  /** The database's clock at a moment between `beforeMs` and `afterMs`. */
  databaseMs: number;
  /** Monotonic. */
  beforeMs: number;
  afterMs: number;
  /** The machine's wall clock minus the monotonic one. */
  wallMs: number;
}

interface Deps {
  sql: Queries;
  clock: Clock;
  log: Log;
}

const databaseNow = { name: 'clock_now', text: 'SELECT clock_timestamp() AS now' };
const wallOf = (clock: Clock): number => clock.machineMs() - clock.monotonicMs();

/** Compares the machine's clock with the database's until `stopping` is aborted. */
export const watchClock = (deps: Deps, stopping: AbortSignal): ClockOffset =>
  offsetOf(deps, measure(deps, stopping));

function offsetOf({ clock, log }: Deps, measurements: Measurements): ClockOffset {
  let inBounds: boolean | null = null;
  let lastMs: number | null = null;
  measurements.each(({ databaseMs, beforeMs, afterMs, wallMs }) => {
    const offsetMs = Math.round(databaseMs - (wallMs + (beforeMs + afterMs) / 2));
    lastMs = offsetMs;
    const within = Math.abs(offsetMs) <= offsetMostMs;
    if (!within && inBounds !== false) log.error({ offsetMs }, 'the clock differs from the database');
    if (within && inBounds === false) log.info({ offsetMs }, 'the clock agrees with the database again');
    inBounds = within;
  });
  return {
    isTolerable: () => inBounds === true && !measurements.isOutdated(clock.monotonicMs()),
    offsetMs: () => lastMs,
    measured: measurements.measured,
  };
}

export interface DatabaseClock {
  clock: Clock;
  /** Resolves with the first measurement, or when there will be none. */
  measured: Promise<void>;
  /** Compares the machine's clock as `watchClock` does, by the measurements that this clock makes. */
  watch(): ClockOffset;
}

/**
 * A clock that shows the database's time: `now` is the monotonic clock plus the measured difference. So all times that processes
 * write into shared rows (limits, leases, due times) agree to within a round trip, whatever a machine's wall clock says or does.
 * Rejected: `now()` in each statement (the rules that decide about times are pure, and the simulation turns the clock by hand).
 *
 * After a suspended machine, whose monotonic clock may have stood still, it lags until the next measurement: `watchClock` says so.
 */
export function databaseClock(deps: Deps, stopping: AbortSignal): DatabaseClock {
  const { clock } = deps;
  let offsetMs: number | null = null;
  const measurements = measure(deps, stopping);
  measurements.each(({ databaseMs, beforeMs, afterMs }) => {
    // The difference lies between the two. The earlier value stays while it may be right: a slow answer says little.
    const [least, most] = [databaseMs - afterMs, databaseMs + 1 - beforeMs];
    if (offsetMs === null) offsetMs = (least + most) / 2;
    else offsetMs = Math.min(Math.max(offsetMs, least), most);
  });
  return {
    clock: {
      ...clock,
      now: () => (offsetMs === null ? clock.now() : Math.round(clock.monotonicMs() + offsetMs)),
    },
    measured: measurements.measured,
    watch: () => offsetOf(deps, measurements),
  };
}

interface Measurements {
  /** Calls with the last one, where there is one, and with each that follows. */
  each(take: (measured: Measured) => void): void;
  isOutdated(monotonicMs: number): boolean;
  /** Resolves with the first measurement, or when there will be none. */
  measured: Promise<void>;
}

function measure({ sql, clock, log }: Deps, stopping: AbortSignal): Measurements {
  const { promise: measured, resolve } = Promise.withResolvers<void>();
  const takers: ((measured: Measured) => void)[] = [];
  let last: Measured | null = null;
  let soon = new AbortController();
  /** The comparison no longer holds: a new one is begun at once. */
  const isOutdated = (nowMs: number): boolean => {
    if (last === null) return true;
    const outdated = nowMs - last.beforeMs > staleMs || Math.abs(wallOf(clock) - last.wallMs) > jumpMs;
    if (outdated) soon.abort();
    return outdated;
  };
  void (async () => {
    while (!stopping.aborted) {
      soon = new AbortController();
      let failed = false;
      try {
        const [beforeMs, wallMs] = [clock.monotonicMs(), wallOf(clock)];
        const [row] = await sql.run<{ now: number }>(databaseNow);
        if (row) {
          last = { databaseMs: row.now, beforeMs, afterMs: clock.monotonicMs(), wallMs };
          for (const take of takers) take(last);
          resolve();
        }
      } catch (error) {
        failed = true;
        log.debug({ err: error }, 'the clock could not be measured');
      }
      const restMs = failed || last === null ? measureAgainMs : measureEveryMs;
      // After a failure a jump must not turn the rest into none.
      await clock.sleep(restMs, failed ? stopping : AbortSignal.any([soon.signal, stopping]));
    }
    resolve();
  })();
  const each = (take: (measured: Measured) => void): void => {
    takers.push(take);
    if (last !== null) take(last);
  };
  return { each, isOutdated, measured };
}
