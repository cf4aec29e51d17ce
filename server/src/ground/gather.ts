import type { Clock } from '../ports/clock.ts';

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Combines what many callers ask for into one piece of work, such as a statement. While one is under way the next callers collect, so a lone
 * caller never waits and many share the cost of one round trip. Work always begins after it was asked for: it sees what was committed before.
 * @param most items in one piece of work
 * @param paceMs least time from a piece of several items to the next one, so that a crowd comes in fewer pieces. Who asks again only after an
 *   answer, as a provider does that sends one delivery after the other, never waits for it; 0 for none
 * @param work returns a result for each item, in their order; what it throws is thrown to each of its callers
 */
export function gather<Item, Result>(
  { clock, most, paceMs = 0 }: { clock: Clock; most: number; paceMs?: number },
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let working = false;
  let beganMs = Number.NEGATIVE_INFINITY;

  async function workAll(): Promise<void> {
    working = true;
    // Requests of one turn of the event loop share the first piece as well.
    await Promise.resolve();
    while (waiting.length > 0) {
      const earlyMs = beganMs + paceMs - clock.monotonicMs();
      if (earlyMs > 0) await clock.sleep(earlyMs);
      const batch = waiting.slice(0, most);
      waiting = waiting.slice(most);
      if (batch.length > 1) beganMs = clock.monotonicMs();
      try {
        const results = await work(batch.map(({ item }) => item));
        batch.forEach(({ resolve }, at) => {
          resolve(results[at] as Result);
        });
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    working = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (!working) void workAll();
    });
}
