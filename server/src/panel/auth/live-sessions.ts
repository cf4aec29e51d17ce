import type { Log } from '../../ground/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { findInForce } from '../people/members.sql.ts';
import type { Role } from '../people/roles.ts';

/** The rights that a stream of the panel was opened with. */
interface Holder {
  sessionId: string;
  accountId: string;
  role: Role;
}

/** Streams outlive the request that was checked: this ends them with the session, the membership or the role they began with. */
export interface LiveSessions {
  /** @returns ends the watch */
  watch(holder: Holder, end: () => void): () => void;
}

const lookEveryMs = 1_000;
/** Without a successful look for so long nothing is known of the sessions any more. */
const blindMostMs = 10_000;

export function liveSessions(deps: {
  sql: Sql;
  clock: Clock;
  log: Log;
  draining: AbortSignal;
}): LiveSessions {
  const { sql, clock, log, draining } = deps;
  const watched = new Set<Holder & { end: () => void }>();
  let looking = false;

  /** One query a second for all streams of the process, and none while there are none. */
  async function look(): Promise<void> {
    looking = true;
    let lookedAt = clock.monotonicMs();
    while (watched.size > 0 && !draining.aborted) {
      await clock.sleep(lookEveryMs, draining);
      const all = [...watched];
      try {
        const ids = [...new Set(all.map(({ sessionId }) => sessionId))];
        const found = await findInForce(sql, ids, clock.now());
        const inForce = new Set(found.map((row) => `${row.sessionId} ${row.accountId} ${row.role}`));
        lookedAt = clock.monotonicMs();
        for (const one of all) {
          if (!inForce.has(`${one.sessionId} ${one.accountId} ${one.role}`)) one.end();
        }
      } catch (error) {
        log.warn({ err: error, streams: all.length }, 'sessions of open streams could not be read');
        if (clock.monotonicMs() - lookedAt > blindMostMs) for (const one of all) one.end();
      }
    }
    looking = false;
  }

  return {
    watch: (holder, end) => {
      const one = { ...holder, end };
      watched.add(one);
      if (!looking) void look();
      return () => watched.delete(one);
    },
  };
}
