import type { Clock } from '../../ports/clock.ts';

/** `full`: every place is of a miss. `late`: a place may become free, but not in the time that the caller has. */
export type Place = 'taken' | 'full' | 'late';

export interface Looked {
  /** Those that were asked for: the first ones of the line, as many as the account has places. */
  asked: ReadonlySet<string>;
  taken: ReadonlySet<string>;
  /** One that was not taken may become free: it is of a payment whose key may still be shown to exist. */
  mayFree: boolean;
}

export interface PlaceLines {
  /**
   * Takes a place of the account, first come first served among the callers of this process.
   * @param untilMs monotonic: how long the caller waits for a place that may become free
   */
  place(accountId: string, id: string, untilMs: number): Promise<Place>;
  /** A place of the account became free, or was shown to be a miss: those who wait look at once. */
  changed(accountId: string): void;
}

/** How soon a place is seen that another process, or a delivery of a provider, made free. */
const lookEveryMs = 100;

interface Waiter {
  id: string;
  untilMs: number;
  answer(place: Place): void;
  fail(error: unknown): void;
}

interface Line {
  waiting: Waiter[];
  change: AbortController;
}

/**
 * A line for each account that asks. One look at the database is made for all that stand in it; an account whose callers wait makes ten a second,
 * and one for each change in this process. Rejected: a look for each caller (a hundred that wait were a thousand statements a second), and
 * LISTEN (a place becomes free by what is stored of a payment, and a notice of it would cost every payment a statement).
 */
export function createPlaceLines(
  clock: Clock,
  look: (accountId: string, ids: readonly string[]) => Promise<Looked>,
): PlaceLines {
  const lines = new Map<string, Line>();

  /** @returns those who still wait */
  async function ask(accountId: string, asking: readonly Waiter[]): Promise<Waiter[]> {
    try {
      const ids = asking.map(({ id }) => id);
      const { asked, taken, mayFree } = await look(accountId, ids);
      const nowMs = clock.monotonicMs();
      return asking.filter(({ id, untilMs, answer }) => {
        if (taken.has(id)) answer('taken');
        else if (!mayFree && asked.has(id)) answer('full');
        else if (nowMs >= untilMs) answer('late');
        else return true;
        return false;
      });
    } catch (error) {
      for (const { fail } of asking) fail(error);
      return [];
    }
  }

  async function serve(accountId: string, line: Line): Promise<void> {
    while (line.waiting.length > 0) {
      const asking = line.waiting;
      line.waiting = [];
      // Before the look: a change during it is looked at.
      line.change = new AbortController();
      const left = await ask(accountId, asking);
      line.waiting = [...left, ...line.waiting];
      // Where some were answered, the next ones of the line were not asked for yet.
      if (left.length > 0 && left.length === asking.length)
        await clock.sleep(lookEveryMs, line.change.signal);
    }
    lines.delete(accountId);
  }

  return {
    place: (accountId, id, untilMs) =>
      new Promise((answer, fail) => {
        const waiter = { id, untilMs, answer, fail };
        const line = lines.get(accountId);
        if (line) {
          line.waiting.push(waiter);
          return;
        }
        const opened = { waiting: [waiter], change: new AbortController() };
        lines.set(accountId, opened);
        void serve(accountId, opened);
      }),
    changed: (accountId) => lines.get(accountId)?.change.abort(null),
  };
}
