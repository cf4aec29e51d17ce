import type { Sql } from '../../ports/sql.ts';
import { type Context, type Edge, onDatabase } from '../start.ts';

/** Commands name accounts, keys, operations or incidents. What they do is done in the cell that has them, also what they write to the audit log. */

const within = (context: Context, cell: { sql: Context['sql'] } | undefined): Context => ({
  ...context,
  sql: cell?.sql ?? context.sql,
});

/** Of an account that there is not, the first cell answers. */
export const onAccount = <T>(
  edge: Edge,
  command: string,
  accountId: string,
  work: (context: Context) => Promise<T>,
): Promise<T> =>
  onDatabase(edge, command, async (context) =>
    work(within(context, await context.cells.ofAccount(accountId))),
  );

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
