import type { Sql } from '../ports/sql.ts';
import type { Operator } from '../store/operator.ts';
import { findOwnerOf } from './find.sql.ts';

interface Cells {
  refresh(): Promise<unknown>;
  all(): readonly { sql: Sql }[];
  ofAccount(accountId: string): Promise<{ sql: Sql; otherCells: () => readonly string[] } | undefined>;
}

/** The operator in the cell of a payment, with all others. @returns undefined: no account has an id like this */
export async function inCellOfPayment(
  cells: Cells,
  operator: Operator,
  paymentId: string,
): Promise<Operator | undefined> {
  await cells.refresh();
  const ownerId = await findOwnerOf(operator.sql, paymentId);
  const cell = ownerId === undefined ? undefined : await cells.ofAccount(ownerId);
  if (!cell) return undefined;
  const everyCell = cells.all().map(({ sql }) => sql);
  return { ...operator, sql: cell.sql, everyCell, otherCells: cell.otherCells };
}
