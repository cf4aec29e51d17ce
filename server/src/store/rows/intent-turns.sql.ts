import { type Intent, sendPriority } from '../../money/intent.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { intents } from './intents.sql.ts';

/** An account that has something due in a line. */
export interface Turn {
  /** Rows of one priority: transfers, or everything else. A smaller number is more urgent. */
  line: number;
  accountId: string;
}

/** An account with open rows in a line, and whether one of them is due. */
export type LookedAt = Turn & { isDue: boolean };

/** `sends`: all of them. `limited`: those that an adapter's limit of parallel sends covers, and `unlimited` the others. */
export type TurnsOf = 'queries' | 'sends' | 'unlimited' | 'limited';

/** As the index `intent_turn` has it. */
const lineOf = (intent: string): string =>
  `(${intent}.priority * 2 + (${intent}.kind = 'transfer')::integer)`;

const [others, transfers] = [sendPriority * 2, sendPriority * 2 + 1];
const ranges: Record<TurnsOf, readonly [first: number, last: number]> = {
  queries: [transfers + 1, 0xffff],
  sends: [others, transfers],
  unlimited: [others, others],
  limited: [transfers, transfers],
};
const lowestId = '00000000-0000-0000-0000-000000000000';

/** Accounts that one look sees: each costs one descent of the index, some 10 µs. */
export const lookedAtMost = 256;

const firstBehind = (
  place: string,
): string => `SELECT ${lineOf('i')} AS line, i.account_id, i.due_at FROM intent i
        WHERE i.connection = $1 AND i.state <> 'sending' AND (${lineOf('i')}, i.account_id) > (${place}) AND ${lineOf('i')} <= $4
        ORDER BY ${lineOf('i')}, i.account_id, i.due_at LIMIT 1`;

/** From account to account: of each only the row that is due first is read. */
const look: Statement = {
  name: 'intent_turns',
  text: `WITH RECURSIVE seen (line, account_id, due_at, n) AS (
      SELECT f.*, 1 FROM (${firstBehind('$2::integer, $3::uuid')}) AS f
      UNION ALL
      SELECT f.*, seen.n + 1 FROM seen CROSS JOIN LATERAL (${firstBehind('seen.line, seen.account_id')}) AS f
      WHERE seen.n < $5)
    SELECT line, account_id AS "accountId", due_at <= $6 AS "isDue" FROM seen ORDER BY n`,
};

/**
 * The next accounts with open rows, the most urgent line first.
 * @param behind the last one that was seen; null: from the first one
 */
export const lookForTurns = (
  sql: Queries,
  connection: string,
  of: TurnsOf,
  behind: Turn | null,
  now: number,
): Promise<LookedAt[]> => {
  const [first, last] = ranges[of];
  const { line, accountId } = behind ?? { line: first, accountId: lowestId };
  return sql.run<LookedAt>(look, [
    connection,
    line,
    accountId,
    last,
    lookedAtMost,
    new Date(now).toISOString(),
  ]);
};

const claim: Statement = {
  name: 'intent_claim_turns',
  text: `WITH due AS (
      SELECT d.account_id, d.payment_id FROM unnest($2::integer[], $3::uuid[]) AS t (line, account_id)
        CROSS JOIN LATERAL (SELECT o.account_id, o.payment_id FROM intent o
          WHERE o.connection = $1 AND o.state <> 'sending' AND ${lineOf('o')} = t.line AND o.account_id = t.account_id AND o.due_at <= $4
          ORDER BY o.due_at LIMIT $6 FOR UPDATE SKIP LOCKED) AS d)
    UPDATE intent i SET due_at = $5
    FROM due
    WHERE i.account_id = due.account_id AND i.payment_id = due.payment_id
    RETURNING ${intents.columns}`,
};

/** Claims as `claimDue` does, of each turn what is due first, `each` rows at most. */
export const claimTurns = (
  sql: Queries,
  connection: string,
  turns: readonly Turn[],
  now: number,
  untilMs: number,
  each: number,
): Promise<Intent[]> =>
  sql.run<Intent>(claim, [
    connection,
    turns.map(({ line }) => line),
    turns.map(({ accountId }) => accountId),
    new Date(now).toISOString(),
    new Date(untilMs).toISOString(),
    each,
  ]);

/** Whether the rows of a line are sends. */
export const isOfSends = ({ line }: Turn): boolean => line <= transfers;
