import { refuse } from './errors.ts';

/** How many pieces of expensive work a process does at once, and how many wait for one of these places. */
export interface PlacesOptions {
  atOnce: number;
  /** Beyond these a caller is refused. */
  waiting: number;
  /** Of one owner, waiting ones included: one account does not take every place. */
  perOwner: number;
}

export interface Places {
  /**
   * Waits for a place, in the order of arrival.
   * @returns gives the place back, once
   * @throws ApiError `too_many_concurrent_requests` (429) when the owner has its share, `overloaded` (503) when too many wait; both with
   *         `Retry-After`
   */
  take(owner: string): Promise<() => void>;
  /** Does `work` in a place. @throws as `take`, and what `work` throws */
  run<Answer>(owner: string, work: () => Promise<Answer>): Promise<Answer>;
}

const retryAfterSeconds = 2;

/**
 * A bound on what a process does at once of work that costs a tenth of a second or more. Rejected: a bound by time, which refuses more
 * on a slow machine; and none but the rate limits, which are for one key and add up over accounts.
 */
export function createPlaces({ atOnce, waiting, perOwner }: PlacesOptions): Places {
  const ofOwner = new Map<string, number>();
  const queue: (() => void)[] = [];
  let taken = 0;

  function giveBack(owner: string): void {
    const left = (ofOwner.get(owner) ?? 1) - 1;
    if (left === 0) ofOwner.delete(owner);
    else ofOwner.set(owner, left);
    const next = queue.shift();
    // The place goes to the next one without becoming free.
    if (next) next();
    else taken--;
  }

  async function take(owner: string): Promise<() => void> {
    const own = ofOwner.get(owner) ?? 0;
    if (own >= perOwner) throw refuse('too_many_concurrent_requests', { retryAfterSeconds });
    if (taken >= atOnce && queue.length >= waiting) throw refuse('overloaded', { retryAfterSeconds });
    ofOwner.set(owner, own + 1);
    if (taken < atOnce) taken++;
    else await new Promise<void>((turn) => queue.push(turn));
    let isGiven = false;
    return () => {
      if (isGiven) return;
      isGiven = true;
      giveBack(owner);
    };
  }

  return {
    take,
    async run(owner, work) {
      const leave = await take(owner);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
