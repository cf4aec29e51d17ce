import { refuse } from '../ground/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { RouteFacts } from './edge.ts';

/** Refuses what there is no time for. */
export interface Load {
  /** @throws ApiError `overloaded` */
  admit(facts: Pick<RouteFacts, 'creates' | 'policy'>): void;
}

/** Between two measurements, while requests come in. */
const restMs = 250;

/**
 * Shedding under overload: reads first, creations last. The rest of the time goes to whoever has already a place.
 *
 * What is measured is how long a command waits in the till, by one that changes nothing, four times a second while requests come in:
 * the queue of this process, its event loop and the database in one number, and exactly what every other command waits that came with it.
 * Two measurements in a row must be late, so that one pause (a checkpoint, a collection of garbage) refuses nobody, and only those that came
 * back count: a database that hangs is no overload and has an answer of its own. A second without requests forgets both.
 *
 * Callers are answered within eight seconds, so reads are refused from one second of waiting on, other changes from two, and what creates
 * from four: what is let in still ends in time. Rejected: the delay of the event loop (one turn
 * takes no more sockets than the kernel reports at once, so it stays near 100 ms however many wait), the number of requests under way (a
 * provider that is slow keeps hundreds of them waiting at no cost), and CPU time (a full core is no fault while answers are in time).
 *
 * @param probe submits a command that does nothing; resolves when it was its turn, rejects when nobody can tell
 * @param deadlineMs by which a caller is answered
 */
export function createLoad(clock: Clock, probe: () => Promise<unknown>, deadlineMs: number): Load {
  let waitedMs = 0;
  let previousMs = 0;
  let measuredAt = Number.NEGATIVE_INFINITY;
  let measuring = false;

  async function measure(): Promise<void> {
    const began = clock.monotonicMs();
    try {
      await probe();
      const now = clock.monotonicMs();
      previousMs = waitedMs;
      waitedMs = now - began;
      measuredAt = now;
    } catch {
      [waitedMs, previousMs] = [0, 0];
    }
    measuring = false;
  }

  return {
    admit({ creates, policy }) {
      const now = clock.monotonicMs();
      if (!measuring && now - measuredAt >= restMs) {
        // Nobody came for a while: what was before says nothing.
        if (now - measuredAt > 4 * restMs) [waitedMs, previousMs] = [0, 0];
        measuring = true;
        void measure();
      }
      const standingMs = Math.min(waitedMs, previousMs);
      const boundMs = deadlineMs / (creates ? 2 : policy === 'reads' ? 8 : 4);
      if (standingMs <= boundMs) return;
      throw refuse('overloaded', { retryAfterSeconds: Math.max(1, Math.ceil(standingMs / 1000)) });
    },
  };
}
