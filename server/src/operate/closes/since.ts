import type { Queries } from '../../ports/sql.ts';
import { findJournalsSince, findMovedIn, type Journals } from './connection-closes.sql.ts';

export interface Since {
  cents: number;
  /** Two readings with the same number have the same journals between them. */
  journals: number;
}

/** Journals that one statement sums. 500 chains in one statement, whatever each had, read 327,677 rows behind two million payments. */
const journalsMost = 5_000;

/** Parts of these journals, in their order, cut so that each holds at most `most`. Pure. */
export function* partsOf(all: readonly Journals[], most: number): Generator<Journals[]> {
  let part: Journals[] = [];
  let room = most;
  for (const one of all) {
    for (let { after } = one; after < one.upTo; ) {
      const upTo = Math.min(one.upTo, after + room);
      part.push({ ...one, after, upTo });
      room -= upTo - after;
      after = upTo;
      if (room > 0) continue;
      yield part;
      part = [];
      room = most;
    }
  }
  if (part.length > 0) yield part;
}

/** The movements of a cell's chains at a connection after their closes of a day. */
export async function findSince(sql: Queries, connection: string, day: string): Promise<Since> {
  const sum: Since = { cents: 0, journals: 0 };
  for (let place: { accountId: string; chainId: string } | null = null; ; ) {
    const chains: Journals[] = await findJournalsSince(sql, day, place);
    for (const part of partsOf(chains, journalsMost)) sum.cents += await findMovedIn(sql, connection, part);
    for (const { upTo } of chains) sum.journals += upTo;
    const last = chains.at(-1);
    if (!last) return sum;
    place = last;
  }
}
