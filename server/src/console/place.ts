import type { Log } from '../ground/log.ts';
import { findAccountById } from '../operate/find.sql.ts';
import { inCellOfPayment } from '../operate/payment-cell.ts';
import { PanelError } from '../panel/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Sql } from '../ports/sql.ts';
import { FactsChanged, MovesTooMuch } from '../store/as-shown.ts';
import { type Operator, OperatorRefused } from '../store/operator.ts';
import { RehearsalBusy } from '../store/rehearsal.ts';
import { findAccountOf, findHold } from '../store/rows/holds.sql.ts';
import { findIncident } from '../store/rows/incidents.sql.ts';

export interface PlaceDeps {
  sql: Sql;
  cells: {
    refresh(): Promise<unknown>;
    all(): readonly { sql: Sql }[];
    ofAccount(accountId: string): Promise<{ sql: Sql; otherCells: () => readonly string[] } | undefined>;
  };
  clock: Clock;
  ids: Ids;
  log: Log;
}

/** The operator in the cell that has it. @throws PanelError `not_found` */
async function atOne(
  { cells, clock, ids, log }: PlaceDeps,
  find: (sql: Sql) => Promise<unknown>,
  actor: string,
): Promise<Operator> {
  await cells.refresh();
  const everyCell = cells.all().map(({ sql }) => sql);
  for (const sql of everyCell)
    if ((await find(sql)) !== undefined) return { clock, ids, log, sql, everyCell, actor };
  throw new PanelError('not_found');
}

/** The operator in the cell that has the incident. @throws PanelError `not_found` */
export const atIncident = (deps: PlaceDeps, id: string, actor: string): Promise<Operator> =>
  atOne(deps, (sql) => findIncident(sql, id), actor);

/** The same of a hold. @throws PanelError `not_found` */
export const atHold = (deps: PlaceDeps, id: string, actor: string): Promise<Operator> =>
  atOne(deps, (sql) => findHold(sql, id), actor);

/** The same of an operation. @throws PanelError `not_found` */
export const atOperation = (deps: PlaceDeps, id: string, actor: string): Promise<Operator> =>
  atOne(deps, (sql) => findAccountOf(sql, id), actor);

/** The operator in the cell of the account. @throws PanelError `not_found` */
export async function atAccount(deps: PlaceDeps, id: string, actor: string): Promise<Operator> {
  const { sql } = (await deps.cells.ofAccount(id)) ?? deps;
  if ((await findAccountById(sql, id)) === undefined) throw new PanelError('not_found');
  const { clock, ids, log } = deps;
  return { clock, ids, log, sql, actor };
}

/** The operator in the cell of a payment, with all others. @throws PanelError `not_found` */
export async function atPayment(deps: PlaceDeps, id: string, actor: string): Promise<Operator> {
  const { cells, sql, clock, ids, log } = deps;
  const operator = await inCellOfPayment(cells, { sql, clock, ids, log, actor }, id);
  if (!operator) throw new PanelError('not_found');
  return operator;
}

/** The operator where the subject of an act is. */
export async function placeOf(
  deps: PlaceDeps,
  { act, subject }: { act: string; subject: string },
  actor: string,
): Promise<Operator> {
  if (act === 'resolveIncident') return atIncident(deps, subject, actor);
  if (act === 'releaseHold') return atHold(deps, subject, actor);
  if (act === 'bookReturn') return atPayment(deps, subject, actor);
  if (act === 'changeOddMoneyRule') return atAccount(deps, subject, actor);
  return { sql: deps.sql, clock: deps.clock, ids: deps.ids, log: deps.log, actor };
}

/** @throws PanelError where an operator at the shell reads a sentence */
export const asPanelError = <T>(act: Promise<T>): Promise<T> =>
  act.catch((error: unknown) => {
    if (error instanceof FactsChanged) throw new PanelError('facts_changed');
    if (error instanceof MovesTooMuch) throw new PanelError('second_person_needed');
    if (error instanceof RehearsalBusy) throw new PanelError('books_busy');
    throw error instanceof OperatorRefused ? new PanelError('act_refused') : error;
  });
