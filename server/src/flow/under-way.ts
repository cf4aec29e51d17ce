import type { Log } from '../ground/log.ts';

/** Work that continues beside its caller. A failure is logged; the rows that the work had claimed are due again when the claim runs out. */
export interface UnderWay {
  readonly size: number;
  begin(what: string, work: Promise<unknown>): void;
  /** Resolves when one has ended. */
  oneEnded(): Promise<void>;
  /** Resolves when none is left. */
  ended(): Promise<void>;
}

export function createUnderWay(deps: { log: Log }, connection: string): UnderWay {
  const works = new Set<Promise<void>>();
  return {
    get size() {
      return works.size;
    },
    begin(what, work) {
      const ended = work.then(
        () => {},
        (error: unknown) => deps.log.error({ err: error, connection, what }, 'background work failed'),
      );
      works.add(ended);
      void ended.finally(() => works.delete(ended));
    },
    oneEnded: () => Promise.race(works),
    async ended() {
      while (works.size > 0) await Promise.all(works);
    },
  };
}
