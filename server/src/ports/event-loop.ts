import { monitorEventLoopDelay, performance } from 'node:perf_hooks';

/** Does the work in the next turn of the event loop, behind what sockets and timers bring to it. */
export const inNextTurn = (work: () => void): void => void setImmediate(work);

/** In seconds, since the last reading. */
export interface LoopLag {
  min: number;
  max: number;
  mean: number;
  stddev: number;
  p50: number;
  p90: number;
  p99: number;
}

const sampleEveryMs = 10;
const lookEveryMs = 1_000;
/** Share of a second that the loop worked: below it nothing can have waited for long. */
const idleBelow = 0.05;

/**
 * How late the event loop is. Samples of a hundredth of a second are taken while it works, and none while it is idle: they were most of what an
 * idle process woke up for.
 * @returns reads the lag, all zero while the loop was idle
 */
export function watchLoopLag(): () => LoopLag {
  const samples = monitorEventLoopDelay({ resolution: sampleEveryMs });
  let before = performance.eventLoopUtilization();
  samples.enable();
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    if (performance.eventLoopUtilization(now, before).utilization < idleBelow) samples.disable();
    else samples.enable();
    before = now;
  }, lookEveryMs).unref();
  // A sample is the time since the one before.
  const late = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e9 - sampleEveryMs / 1e3);
  return () => {
    const isEmpty = samples.count === 0;
    const of = (nanoseconds: number): number => (isEmpty ? 0 : late(nanoseconds));
    const lag = {
      min: of(samples.min),
      max: of(samples.max),
      mean: of(samples.mean),
      stddev: isEmpty ? 0 : samples.stddev / 1e9,
      p50: of(samples.percentile(50)),
      p90: of(samples.percentile(90)),
      p99: of(samples.percentile(99)),
    };
    samples.reset();
    return lag;
  };
}
