import type { Log } from '../ground/log.ts';
import { isPrintable } from '../ground/printable.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Sql } from '../ports/sql.ts';

/** The operator of the installation, and the means of their acts. */
export interface Operator {
  /** Of the cell that has what is acted on; the first one for what concerns all accounts. */
  sql: Sql;
  /** Of every cell; absent where there is one. */
  everyCell?: readonly Sql[];
  /** The schemas of the other cells, where what is acted on may be booked in one alone. Absent: there are none. */
  otherCells?: () => readonly string[];
  clock: Clock;
  ids: Ids;
  log: Log;
  /** Who it is, for the audit log: the name of the system's user on the command line. */
  actor: string;
}

/** A sentence for an operator: what they asked for cannot be done. */
export class OperatorRefused extends Error {
  override name = 'OperatorRefused';
}

/** How long an operator's command may wait for the locks. */
export const operatorWaitMs = 15_000;

/** @throws OperatorRefused without a reason that could be understood later */
export function reasonOf(text: string): string {
  const reason = text.normalize('NFC').trim();
  if (reason.length === 0 || [...reason].length > 500 || !isPrintable(reason)) {
    throw new OperatorRefused('a reason has 1 to 500 characters');
  }
  return reason;
}
