import type { Intent } from '../money/intent.ts';
import type { Sql } from '../ports/sql.ts';
import type { StoredDelivery } from '../store/rows/inbound.sql.ts';
import { type DeliveryTurn, findLeftOfTurns, lookForDeliveryTurns } from '../store/rows/inbound-turns.sql.ts';
import {
  claimTurns,
  isOfSends,
  lookedAtMost,
  lookForTurns,
  type Turn,
  type TurnsOf,
} from '../store/rows/intent-turns.sql.ts';
import { intentClaimMs } from './claims.ts';

/**
 * Sends, queries and deliveries that were left are claimed in the order in which they became due. Where more is due than is begun at once, every second place belongs to the accounts in
 * turn: one with ten thousand due payments delays another one's by a few, and not by all of its own. Of each account the most urgent comes first, as
 * before. The other places keep the order of time, so the oldest waits for nothing new and what was sent without an end is taken over.
 *
 * Nothing is looked at while everything due is claimed, or while one account alone has something due. A look goes from account to account by an
 * index; it sees 256 of them, and the next one begins behind. Each process has turns of its own.
 *
 * Rejected: a share of each account in every claim. It costs a look at all accounts for each claim, and a provider that takes one send after the
 * other has a single place to share.
 */
export interface AccountTurns<Row> {
  /** Takes what is due of the accounts whose turn it is, up to `most` rows; none: one account alone has something due, or none of those looked at. */
  claim(now: number, most: number): Promise<Row[]>;
}

/** Where accounts with something due are found, and what is taken of them. */
interface Queues<Turn, Row> {
  /** The next ones behind the one that was seen last, `lookedAtMost` at most. @param behind null: from the first one */
  look(behind: Turn | null, now: number): Promise<(Turn & { isDue: boolean })[]>;
  /** A turn belongs to it once, with the most urgent that it has due. */
  ownerOf(turn: Turn): string;
  /** Of each turn what is due first, `each` rows at most. */
  take(turns: readonly Turn[], now: number, each: number): Promise<Row[]>;
}

/** Fewer due rows than this are claimed in the order of time. */
const crowdLeast = 4;

export const createAccountTurns = (sql: Sql, connection: string, of: TurnsOf): AccountTurns<Intent> =>
  createTurns<Turn, Intent>({
    look: (behind, now) => lookForTurns(sql, connection, of, behind, now),
    // Of sends, transfers have turns of their own.
    ownerOf: (turn) => (isOfSends(turn) ? `${turn.accountId} ${turn.line}` : turn.accountId),
    take: (turns, now, each) => claimTurns(sql, connection, turns, now, now + intentClaimMs, each),
  });

/** Deliveries of a provider that were left. None is claimed: one that two processes apply is applied once. */
export const createDeliveryTurns = (sql: Sql, connection: string): AccountTurns<StoredDelivery> =>
  createTurns<DeliveryTurn, StoredDelivery>({
    look: (behind, now) => lookForDeliveryTurns(sql, connection, behind, now, lookedAtMost),
    ownerOf: ({ line }) => String(line),
    take: (turns, now, each) => findLeftOfTurns(sql, connection, turns, now, each),
  });

function createTurns<Turn, Row>({ look, ownerOf, take }: Queues<Turn, Row>): AccountTurns<Row> {
  let waiting: Turn[] = [];
  let behind: Turn | null = null;

  async function lookAgain(now: number): Promise<void> {
    const seen = await look(behind, now);
    const isEnd = seen.length < lookedAtMost;
    const turns = new Map<string, Turn>();
    for (const turn of seen) if (turn.isDue && !turns.has(ownerOf(turn))) turns.set(ownerOf(turn), turn);
    const isAlone = behind === null && isEnd && turns.size === 1;
    waiting = isAlone ? [] : [...turns.values()];
    behind = isEnd ? null : (seen.at(-1) ?? null);
  }

  return {
    async claim(now, most) {
      if (most === 0) return [];
      if (waiting.length === 0) await lookAgain(now);
      const turns = waiting.splice(0, most);
      if (turns.length === 0) return [];
      return take(turns, now, Math.floor(most / turns.length));
    },
  };
}

/** Claims rows that are due, of any account. */
type ClaimInOrder<Row> = (now: number, most: number) => Promise<Row[]>;

/** Claims as `inOrder` does; half of it in turn while claims take all that they ask for. */
export function createFairClaim<Row>(
  turns: AccountTurns<Row>,
  inOrder: ClaimInOrder<Row>,
): ClaimInOrder<Row> {
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
