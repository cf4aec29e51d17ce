import type { Clock } from '../ports/clock.ts';
import type { Queries, Sql } from '../ports/sql.ts';
import {
  becomePublisher,
  type FreshEvent,
  findFresh,
  hasFresh,
  logEvents,
  removeFresh,
  takeSeqs,
} from './publish.sql.ts';

/**
 * Gives events their place in the log, after their commit.
 *
 * An id or a time that was made before the commit is no cursor: transactions commit in another order than they began, and a
 * reader that has passed the later one never sees the earlier. So an event is written with a row in `event_fresh`. One
 * publisher at a time (the process that holds the row of `publisher`) takes the committed rows and numbers them, per account
 * and without gaps. The numbers become visible in order, since the next publisher waits for this commit. A reader that
 * follows them misses nothing.
 *
 * Many events share a transaction of four round trips. The same transaction creates the deliveries (`fanOut`), so an endpoint gets
 * every event of the time in which it existed, once.
 */
export interface PublishedEvent extends FreshEvent {
  /** Within the account, from 1. */
  seq: number;
}

/** Writes what follows from events, in the transaction that publishes them. */
export type FanOut = (tx: Queries, published: readonly PublishedEvent[]) => Promise<void>;

/** More events than this per transaction gain nothing. Where a round published so many, there may be more. */
export const publishedMost = 1_000;
/** Between two rounds, so that a busy installation publishes in crowds: the transaction costs the same for one and for a hundred. */
const paceMs = 20;

export interface Publisher {
  /** Events were committed. */
  announce(): void;
  /** One round. @returns how many events it published */
  step(): Promise<number>;
}

export function createPublisher({ sql, clock }: { sql: Sql; clock: Clock }, fanOut: FanOut): Publisher {
  let lastMs = Number.NEGATIVE_INFINITY;
  let foundLast = false;
  let announced = false;

  async function publish(): Promise<number> {
    // The lock of the publisher's row is written to the log: never for nothing. One whose last announcement was true does not look first: in an
    // installation of several cells an announcement is for all of them.
    const believed = announced && foundLast;
    announced = false;
    if (!believed && !(await hasFresh(sql))) return 0;
    const tx = await sql.begin();
    try {
      const [mine, fresh] = await Promise.all([becomePublisher(tx), findFresh(tx, publishedMost)]);
      if (!mine || fresh.length === 0) return 0;
      const counts = new Map<string, number>();
      for (const { accountId } of fresh) counts.set(accountId, (counts.get(accountId) ?? 0) + 1);
      const next = new Map<string, number>();
      for (const { accountId, lastSeq } of await takeSeqs(tx, counts)) {
        next.set(accountId, lastSeq - (counts.get(accountId) ?? 0));
      }
      const published = fresh.map((event) => {
        const seq = (next.get(event.accountId) ?? 0) + 1;
        next.set(event.accountId, seq);
        return { ...event, seq };
      });
      await Promise.all([removeFresh(tx, fresh), logEvents(tx, published), fanOut(tx, published)]);
      await tx.commit();
      return published.length;
    } finally {
      await tx.rollback();
    }
  }

  return {
    announce: () => {
      announced = true;
    },
    step: async () => {
      const waitMs = lastMs + paceMs - clock.monotonicMs();
      if (waitMs > 0) await clock.sleep(waitMs);
      lastMs = clock.monotonicMs();
      const published = await publish();
      foundLast = published > 0;
      return published;
    },
  };
}
