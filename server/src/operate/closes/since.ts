import type { Queries } from '../../ports/sql.ts';
import { partsOf, type Stretch } from '../statement/stretches.ts';
import { chainsPerPage, findJournalsSince, findMovedIn } from './connection-closes.sql.ts';

export interface Since {
  cents: number;
  /** Two readings with the same number have the same journals between them. */
  journals: number;
}

/** The journals of a chain behind its close of a day, as far as they were summed up. */
interface Summed {
  after: number;
  upTo: number;
  cents: number;
}

/**
 * The movements of a cell's chains at a connection after their closes of a day, for one reading after the other. Each journal is summed up once, since none
 * ever changes: a further reading looks where each chain is, and adds what is new. Without that a comparison that does not agree read every
 * journal since the day, twice in two seconds, until it did: behind a day of two million payments 2.6 million rows each time.
 */
export function createSince(connection: string, day: string): (sql: Queries) => Promise<Since> {
  const kept = new Map<string, Summed>();

  /** The sums of a chain so far. Its close of the day may have been written since the last reading: then nothing is. */
  function summedOf({ accountId, chainId, after }: Stretch): Summed {
    const known = kept.get(accountId + chainId);
    return known?.after === after ? known : { after, upTo: after, cents: 0 };
  }

  async function addNew(sql: Queries, chains: readonly Stretch[]): Promise<void> {
    for (const chain of chains) kept.set(chain.accountId + chain.chainId, summedOf(chain));
    const unread = chains.map((chain) => ({ ...chain, after: summedOf(chain).upTo }));
    for (const part of partsOf(unread)) {
      const moved = await findMovedIn(sql, connection, part);
      for (const [at, { accountId, chainId, upTo }] of part.entries()) {
        const before = kept.get(accountId + chainId);
        if (before)
          kept.set(accountId + chainId, { ...before, upTo, cents: before.cents + (moved[at] ?? 0) });
      }
    }
  }

  return async (sql) => {
    const sum: Since = { cents: 0, journals: 0 };
    for (let place: { accountId: string; chainId: string } | null = null; ; ) {
      const chains: Stretch[] = await findJournalsSince(sql, day, place);
      await addNew(sql, chains);
      for (const chain of chains) {
        sum.cents += summedOf(chain).cents;
        sum.journals += chain.upTo;
      }
      const last = chains.at(-1);
      if (!last || chains.length < chainsPerPage) return sum;
      place = last;
    }
  };
}

/** The sums of the comparisons of a process, of each connection those of the day that it compares. */
export interface Sums {
  /** In one cell. */
  read(sql: Queries, connection: string, day: string): Promise<Since>;
  /** Its day is closed. */
  forget(connection: string): void;
}

export function createSums(): Sums {
  const kept = new Map<string, { day: string; cells: Map<Queries, ReturnType<typeof createSince>> }>();
  return {
    read: (sql, connection, day) => {
      const known = kept.get(connection);
      const ofDay = known?.day === day ? known : { day, cells: new Map() };
      kept.set(connection, ofDay);
      const since = ofDay.cells.get(sql) ?? createSince(connection, day);
      ofDay.cells.set(sql, since);
      return since(sql);
    },
    forget: (connection) => void kept.delete(connection),
  };
}
