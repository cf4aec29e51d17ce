import type { Clock } from '../ports/clock.ts';
import type { Log } from './log.ts';

/** Steps that are repeated until `stopping`. */
export interface LoopDeps {
  clock: Clock;
  log: Log;
  stopping: AbortSignal;
}

export interface Loop {
  /** In the log, when a step fails. */
  name: string;
  /** @returns whether there is more to do at once */
  step(): Promise<boolean>;
  /** How long it rests after a step that found nothing, in milliseconds. */
  restMs(): number;
  /** Cuts its rests short. */
  bell?: Bell | undefined;
  quiet?: Quiet | undefined;
  /** Asked in place of a step of a loop that found nothing for `quietAfterMs` and that nothing rang for; false: there is nothing to do. */
  mayHaveWork?: (() => Promise<boolean>) | undefined;
}

/** A loop with nothing to do looks more rarely, so that an idle installation costs little. */
export interface Quiet {
  /** How long it rests once nothing happened for `quietAfterMs`. */
  restMs: number;
  /** Something may have changed: it cuts a quiet rest, and the loop looks as often as before. */
  stirred: Bell;
}

/** Longer than the first queries of a payment are apart: while one is open that has just been sent, no loop becomes quiet. */
export const quietAfterMs = 10_000;

/** After failed steps. */
const longestMs = 10_000;

/** The timer of a rest may be early by a moment. */
const earlyMs = 5;

/** Idle loops end their rests at common times, so that one look answers all of them and the process wakes once. Pure. */
export function untilTogether(nowMs: number, restMs: number): number {
  const leftMs = restMs - (nowMs % restMs);
  return leftMs < earlyMs ? leftMs + restMs : leftMs;
}

/** Runs steps until `stopping`. After a failed step it rests longer, whatever rings, and continues. */
export async function runLoop({ clock, log, stopping }: LoopDeps, loop: Loop): Promise<void> {
  const { name, step, restMs, bell, quiet, mayHaveWork } = loop;
  let failures = 0;
  let busyAt = clock.monotonicMs();
  const isIdle = (): boolean => clock.monotonicMs() - busyAt >= quietAfterMs;
  while (!stopping.aborted) {
    // Before the step: what rings while it runs cuts the rest behind it.
    const rung = bell?.listen();
    const stirred = quiet?.stirred.listen();
    try {
      const hasNone = mayHaveWork !== undefined && isIdle() && !(await mayHaveWork());
      const more = !hasNone && (await step());
      failures = 0;
      if (more || rung?.aborted || stirred?.aborted) busyAt = clock.monotonicMs();
      if (more) continue;
    } catch (error) {
      failures++;
      log.error({ err: error, step: name }, 'a step of the worker failed');
    }
    if (failures > 0) {
      await clock.sleep(Math.min(restMs() * 2 ** Math.min(failures, 8), longestMs), stopping);
      continue;
    }
    const isQuiet = quiet !== undefined && isIdle();
    const cuts = [stopping, rung, isQuiet ? stirred : undefined].filter((cut) => cut !== undefined);
    const rest = isQuiet ? Math.max(quiet.restMs, restMs()) : restMs();
    const isAsking = mayHaveWork !== undefined && isIdle();
    await clock.sleep(isAsking ? untilTogether(clock.monotonicMs(), rest) : rest, AbortSignal.any(cuts));
    if (rung?.aborted || (isQuiet && stirred?.aborted)) busyAt = clock.monotonicMs();
  }
}

/** Wakes loops early. Calls before a loop listens again have no effect, so that ringing for each payment costs nothing. */
export interface Bell {
  ring(): void;
  /** Aborted at the next ring. */
  listen(): AbortSignal;
}

export function createBell(): Bell {
  let controller = new AbortController();
  return {
    ring: () => {
      if (!controller.signal.aborted) controller.abort(null);
    },
    listen: () => {
      if (controller.signal.aborted) controller = new AbortController();
      return controller.signal;
    },
  };
}
