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
 * Sheds load under overload: reads first, creations last. Requests that were already accepted get the remaining capacity.
 *
 * It measures how long a command waits in the till, with a command that changes nothing, four times a second while requests arrive.
 * This one number covers the queue of this process, its event loop and the database, and equals the wait of the other commands.
 * Two measurements in a row must be late, so that one pause (a checkpoint, a garbage collection) refuses no request. Only completed ones
 * count: a database that hangs is not an overload and has its own answer. A second without requests discards both.
 *
 * Callers are answered within eight seconds. So reads are refused from a wait of one second, other changes from two, and creations
 * from four: accepted requests still end in time. Rejected: the delay of the event loop (one turn
 * takes no more sockets than the kernel reports at once, so it stays near 100 ms however many wait), the number of requests under way (a
 * slow provider keeps hundreds of them waiting at no cost), and CPU time (a full core is no fault while answers are in time).
 *
 * @param probe submits a command that does nothing; resolves when it was its turn, rejects when that cannot be known
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
        // No request for a while: the earlier measurements are out of date.
        if (now - measuredAt > 4 * restMs) [waitedMs, previousMs] = [0, 0];
        measuring = true;
        void measure();
      }
      const standingMs = Math.min(waitedMs, previousMs);
      const reads = policy === 'reads' || policy === 'files';
      const boundMs = deadlineMs / (creates ? 2 : reads ? 8 : 4);
      if (standingMs <= boundMs) return;
      throw refuse('overloaded', { retryAfterSeconds: Math.max(1, Math.ceil(standingMs / 1000)) });
    },
  };
}
