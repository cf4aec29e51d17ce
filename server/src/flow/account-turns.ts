import type { Intent } from '../money/intent.ts';
import type { Sql } from '../ports/sql.ts';
import {
  claimTurns,
  isOfSends,
  type LookedAt,
  lookedAtMost,
  lookForTurns,
  type Turn,
  type TurnsOf,
} from '../store/rows/intent-turns.sql.ts';
import { intentClaimMs } from './claims.ts';

/**
 * Rows are claimed in the order in which they became due. Where more is due than is begun at once, every second place belongs to the accounts in
 * turn: one with ten thousand due payments delays another one's by a few, and not by all of its own. Of each account the most urgent comes first, as
 * before. The other places keep the order of time, so the oldest waits for nothing new and what was sent without an end is taken over.
 *
 * Nothing is looked at while everything due is claimed, or while one account alone has something due. A look goes from account to account by an
 * index; it sees 256 of them, and the next one begins behind. Each process has turns of its own.
 *
 * Rejected: a share of each account in every claim. It costs a look at all accounts for each claim, and a provider that takes one send after the
 * other has a single place to share.
 */
export interface AccountTurns {
  /** Claims what is due of the accounts whose turn it is, up to `most` rows; none: one account alone has something due, or none of those looked at. */
  claim(now: number, most: number): Promise<Intent[]>;
}

/** Fewer due rows than this are claimed in the order of time. */
const crowdLeast = 4;

export function createAccountTurns(sql: Sql, connection: string, of: TurnsOf): AccountTurns {
  let waiting: Turn[] = [];
  let behind: Turn | null = null;

  async function look(now: number): Promise<void> {
    const seen = await lookForTurns(sql, connection, of, behind, now);
    const isEnd = seen.length < lookedAtMost;
    const turns = firstOfEach(seen);
    const isAlone = behind === null && isEnd && turns.length === 1;
    waiting = isAlone ? [] : turns;
    behind = isEnd ? null : (seen.at(-1) ?? null);
  }

  return {
    async claim(now, most) {
      if (most === 0) return [];
      if (waiting.length === 0) await look(now);
      const turns = waiting.splice(0, most);
      if (turns.length === 0) return [];
      return claimTurns(sql, connection, turns, now, now + intentClaimMs, Math.floor(most / turns.length));
    },
  };
}

/** Each account once, with the most urgent that it has due; of sends, transfers have turns of their own. */
function firstOfEach(seen: readonly LookedAt[]): Turn[] {
  const turns = new Map<string, Turn>();
  for (const { isDue, ...turn } of seen) {
    const who = isOfSends(turn) ? `${turn.accountId} ${turn.line}` : turn.accountId;
    if (isDue && !turns.has(who)) turns.set(who, turn);
  }
  return [...turns.values()];
}

/** Claims rows that are due, of any account. */
type ClaimInOrder = (now: number, most: number) => Promise<Intent[]>;

/** Claims as `inOrder` does; half of it in turn while claims take all that they ask for. */
export function createFairClaim(turns: AccountTurns, inOrder: ClaimInOrder): ClaimInOrder {
  /** Rows of the claims in a row that were full. */
  let crowd = 0;
  let isTurn = false;
  return async (now, most) => {
    isTurn = !isTurn;
    const places = crowd < crowdLeast ? 0 : (most + Number(isTurn)) >> 1;
    const inTurn = await turns.claim(now, places);
    const claimed = [...inTurn, ...(inTurn.length < most ? await inOrder(now, most - inTurn.length) : [])];
    crowd = claimed.length === most ? crowd + most : 0;
    return claimed;
  };
}
