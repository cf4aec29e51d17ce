import { findAccountById } from '../../operate/find.sql.ts';
import type { Sql } from '../../ports/sql.ts';
import { OperatorRefused } from '../../store/operator.ts';
import { installationId } from '../../store/rows/audit.sql.ts';
import { type Context, type Edge, onDatabase } from '../start.ts';

/** Commands name accounts, keys, operations or incidents. What they do is done in the cell that has them, also what they write to the audit log. */

const within = (context: Context, cell: { sql: Context['sql'] } | undefined): Context => ({
  ...context,
  sql: cell?.sql ?? context.sql,
});

/** @throws OperatorRefused no such account */
export const onAccount = <T>(
  edge: Edge,
  command: string,
  accountId: string,
  work: (context: Context, directory: Context) => Promise<T>,
): Promise<T> =>
  onAll(edge, command, accountId, async (context) =>
    work(within(context, await context.cells.ofAccount(accountId)), context),
  );

/**
 * For what is read of one account, or (null) of all. A mistyped account has nothing to show and breaks no invariant: it is named instead.
 * @throws OperatorRefused no such account
 */
export const onAll = <T>(
  edge: Edge,
  command: string,
  accountId: string | null,
  work: (context: Context) => Promise<T>,
): Promise<T> =>
  onDatabase(edge, command, async (context) => {
    const isKnown =
      accountId === null ||
      accountId === installationId ||
      (await findAccountById(context.sql, accountId)) !== undefined;
    if (!isKnown) throw new OperatorRefused('no such account');
    return work(context);
  });

export const onKey = <T>(
  edge: Edge,
  command: string,
  keyId: string,
  work: (context: Context) => Promise<T>,
): Promise<T> =>
  onDatabase(edge, command, async (context) => work(within(context, await context.cells.ofKey(keyId))));

/** For ids that no directory knows: the cells are looked through. */
export const onCellWith = <T>(
  edge: Edge,
  command: string,
  find: (sql: Sql) => Promise<unknown>,
  work: (context: Context, directory: Context) => Promise<T>,
): Promise<T> =>
  onDatabase(edge, command, async (context) => {
    for (const cell of await cellsOf(context))
      if ((await find(cell.sql)) !== undefined) return work(within(context, cell), context);
    return work(context, context);
  });

/** The first one in front. */
export async function cellsOf(context: Context): Promise<ReturnType<Context['cells']['all']>> {
  await context.cells.refresh();
  return context.cells.all();
}
