import { createHash } from 'node:crypto';
import { accounts } from '../money/decide.ts';
import { committed, type Sql, type Transaction } from '../ports/sql.ts';
import { type Operator, OperatorRefused } from './operator.ts';
import { type PlannedPosting, plannedBy } from './rehearsal.ts';

/** The act would write other postings than those that a person saw: nothing was written. */
export class FactsChanged extends OperatorRefused {
  override name = 'FactsChanged';
}

/** The act moves more than one person may move alone: nothing was written. */
export class MovesTooMuch extends OperatorRefused {
  override name = 'MovesTooMuch';
}

/** The postings that a person agreed to. */
export interface Agreed {
  /** As `hashOfShown` made it. */
  shown: string;
  /** The most that it may move in all, in cents. */
  mostCents: number;
}

/**
 * One hash of all that a person saw before an act: the act with its subject, and each posting as it would be written.
 * @returns SHA-256, 64 hexadecimal digits
 */
export function hashOfShown(act: readonly string[], postings: readonly PlannedPosting[]): string {
  const lines = postings.map(({ accountId, chainId, movement, lines, connection }) => [
    accountId,
    chainId,
    movement,
    accounts.map((account) => lines[account] ?? 0),
    connection,
  ]);
  return createHash('sha256')
    .update(JSON.stringify([act, lines]))
    .digest('hex');
}

/**
 * The same operator, whose transactions commit only the postings that were shown. The act itself decides under its locks as ever; its journals are
 * compared as the statement has them, so nothing can come between the comparison and the commit.
 *
 * Rejected: to compare the heads of the chains. On an account with traffic they change every second, and the postings of the act do not.
 */
export function onlyAsShown(operator: Operator, act: readonly string[], agreed: Agreed): Operator {
  return {
    ...operator,
    sql: withCheck(operator.sql, (posted) => {
      if (hashOfShown(act, posted) !== agreed.shown)
        throw new FactsChanged('the facts have changed since they were shown: look again');
      if (movedCents(posted) > agreed.mostCents)
        throw new MovesTooMuch('it moves more than one person may move alone');
    }),
  };
}

/** @param check throws where the postings may not be committed */
function withCheck(sql: Sql, check: (posted: readonly PlannedPosting[]) => void): Sql {
  const begin = async (): Promise<Transaction> => {
    const tx = await sql.begin();
    const posted: PlannedPosting[] = [];
    return {
      run: (statement, values = []) => {
        posted.push(...plannedBy(statement, values));
        return tx.run(statement, values);
      },
      commit: async () => {
        check(posted);
        await tx.commit();
      },
      rollback: () => tx.rollback(),
    };
  };
  return {
    run: (statement, values) => sql.run(statement, values),
    begin,
    tx: async (work) => committed(await begin(), work),
  };
}

/** The sum of what the postings move, in cents. */
export const movedCents = (postings: readonly PlannedPosting[]): number =>
  postings.reduce(
    (sum, { lines }) => sum + accounts.reduce((all, account) => all + Math.max(0, lines[account] ?? 0), 0),
    0,
  );
