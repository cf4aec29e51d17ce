import type { Log } from '../ground/log.ts';
import type { Sent } from '../kinds/kind.ts';
import type { Clock } from '../ports/clock.ts';
import type { Queries } from '../ports/sql.ts';
import type { Readable } from '../store/database/table.ts';

/**
 * Callers of this process that wait for an outcome that a worker applies.
 *
 * An outcome that this process applies wakes them at once. One that another process applies is found by a read of all awaited payments
 * together, ten times a second: as many statements for a thousand callers as for two. Rejected: LISTEN and NOTIFY, which would add a lock on
 * the whole database to every commit.
 */
export interface OutcomeWatch {
  /** Resolves with it once its status is not `unknown`, with null when the signal is aborted. */
  outcomeOf<Row extends Sent>(
    table: Readable<Row>,
    sent: Pick<Sent, 'accountId' | 'id'>,
    signal: AbortSignal,
  ): Promise<Row | null>;
  /** The sent row, as this process has just committed it. */
  committed(sent: Sent): void;
}

interface Deps {
  sql: Queries;
  clock: Clock;
  log: Log;
}

const pollMs = 100;
const rowsPerRead = 500;

export function createOutcomeWatch({ sql, clock, log }: Deps): OutcomeWatch {
  /** Ids of whatever is sent are of one space. */
  const waiting = new Map<string, { table: Readable<Sent>; resolves: Set<(sent: Sent) => void> }>();
  let polling = false;

  function committed(sent: Sent): void {
    if (sent.status === 'unknown') return;
    const key = sent.accountId + sent.id;
    for (const resolve of waiting.get(key)?.resolves ?? []) resolve(sent);
    waiting.delete(key);
  }

  async function poll(): Promise<void> {
    polling = true;
    for (;;) {
      await clock.sleep(pollMs);
      if (waiting.size === 0) break;
      try {
        for (const [table, awaited] of Map.groupBy(waiting, ([, { table: of }]) => of)) {
          const keys = awaited.map(([key]) => key);
          for (let at = 0; at < keys.length; at += rowsPerRead)
            for (const sent of await table.read(sql, keys.slice(at, at + rowsPerRead))) committed(sent);
        }
      } catch (error) {
        log.warn({ err: error, awaited: waiting.size }, 'awaited outcomes could not be read');
      }
    }
    polling = false;
  }

  return {
    committed,
    outcomeOf: <Row extends Sent>(
      table: Readable<Row>,
      { accountId, id }: Pick<Sent, 'accountId' | 'id'>,
      signal: AbortSignal,
    ) =>
      new Promise<Row | null>((resolve) => {
        if (signal.aborted) return resolve(null);
        const key = accountId + id;
        const awaited = waiting.get(key) ?? { table: table as Readable<Sent>, resolves: new Set() };
        waiting.set(key, awaited);
        const wake = (sent: Sent): void => resolve(sent as Row);
        awaited.resolves.add(wake);
        const stop = (): void => {
          awaited.resolves.delete(wake);
          if (awaited.resolves.size === 0 && waiting.get(key) === awaited) waiting.delete(key);
          resolve(null);
        };
        signal.addEventListener('abort', stop, { once: true });
        if (!polling) void poll();
      }),
  };
}
