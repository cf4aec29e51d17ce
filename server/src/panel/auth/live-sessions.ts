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

/** Streams outlive the request that was checked: this ends them with the rights they began with. */
export interface Live<Rights> {
  /** @returns ends the watch */
  watch(holder: Rights, end: () => void): () => void;
}

export type LiveSessions = Live<Holder>;

export interface LiveDeps {
  sql: Sql;
  clock: Clock;
  log: Log;
  draining: AbortSignal;
}

const lookEveryMs = 1_000;
/** Without a successful look for so long nothing is known of the rights any more. */
const blindMostMs = 10_000;

/** @param readInForce which of these rights are in force */
export function liveRights<Rights>(
  { clock, log, draining }: Pick<LiveDeps, 'clock' | 'log' | 'draining'>,
  readInForce: (held: readonly Rights[]) => Promise<(one: Rights) => boolean>,
): Live<Rights> {
  const watched = new Set<{ holder: Rights; end: () => void }>();
  let looking = false;

  /** One query a second for all streams of the process, and none while there are none. */
  async function look(): Promise<void> {
    looking = true;
    let lookedAt = clock.monotonicMs();
    while (watched.size > 0 && !draining.aborted) {
      await clock.sleep(lookEveryMs, draining);
      const all = [...watched];
      try {
        const isInForce = await readInForce(all.map(({ holder }) => holder));
        lookedAt = clock.monotonicMs();
        for (const one of all) if (!isInForce(one.holder)) one.end();
      } catch (error) {
        log.warn({ err: error, streams: all.length }, 'sessions of open streams could not be read');
        if (clock.monotonicMs() - lookedAt > blindMostMs) for (const one of all) one.end();
      }
    }
    looking = false;
  }

  return {
    watch: (holder, end) => {
      const one = { holder, end };
      watched.add(one);
      if (!looking) void look();
      return () => watched.delete(one);
    },
  };
}

/** Streams of people end with the session, the membership or the role. */
export const liveSessions = (deps: LiveDeps): LiveSessions =>
  liveRights(deps, async (held) => {
    const ids = [...new Set(held.map(({ sessionId }) => sessionId))];
    const found = await findInForce(deps.sql, ids, deps.clock.now());
    const inForce = new Set(found.map((row) => `${row.sessionId} ${row.accountId} ${row.role}`));
    return (one) => inForce.has(`${one.sessionId} ${one.accountId} ${one.role}`);
  });
