import type { Log } from '../ground/log.ts';
import { PanelError } from '../panel/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Sql } from '../ports/sql.ts';
import { FactsChanged, MovesTooMuch } from '../store/as-shown.ts';
import { type Operator, OperatorRefused } from '../store/operator.ts';
import { RehearsalBusy } from '../store/rehearsal.ts';
import { findIncident } from '../store/rows/incidents.sql.ts';

export interface PlaceDeps {
  sql: Sql;
  cells: { refresh(): Promise<unknown>; all(): readonly { sql: Sql }[] };
  clock: Clock;
  ids: Ids;
  log: Log;
}

/** The operator in the cell that has the incident. @throws PanelError `not_found` */
export async function atIncident(
  { cells, ...deps }: PlaceDeps,
  id: string,
  actor: string,
): Promise<Operator> {
  await cells.refresh();
  const everyCell = cells.all().map(({ sql }) => sql);
  for (const sql of everyCell)
    if ((await findIncident(sql, id)) !== undefined) return { ...deps, sql, everyCell, actor };
  throw new PanelError('not_found');
}

/** The operator where the subject of an act is. */
export const placeOf = async (
  deps: PlaceDeps,
  { act, subject }: { act: string; subject: string },
  actor: string,
): Promise<Operator> =>
  act === 'resolveIncident'
    ? atIncident(deps, subject, actor)
    : { sql: deps.sql, clock: deps.clock, ids: deps.ids, log: deps.log, actor };

/** @throws PanelError where an operator at the shell reads a sentence */
export const asPanelError = <T>(act: Promise<T>): Promise<T> =>
  act.catch((error: unknown) => {
    if (error instanceof FactsChanged) throw new PanelError('facts_changed');
    if (error instanceof MovesTooMuch) throw new PanelError('second_person_needed');
    if (error instanceof RehearsalBusy) throw new PanelError('books_busy');
    throw error instanceof OperatorRefused ? new PanelError('act_refused') : error;
  });
