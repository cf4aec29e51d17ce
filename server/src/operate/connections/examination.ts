import type { Log } from '../../ground/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import type { Finding } from '../../provider/provider.ts';
import { type Operator, OperatorRefused } from '../../store/operator.ts';
import { installationId, writeAudit } from '../../store/rows/audit.sql.ts';
import { findConnectionRow } from './connections.sql.ts';
import { askExamination, endExamination, takeExamination } from './examination.sql.ts';

/**
 * `vintem doctor` for a page: a person asks, a worker examines, and the page shows what it found. Rejected: to examine within the call, which
 * would keep a person's call and the process that serves people waiting for a provider.
 */

/** A second wish within this time is the first one: a provider is asked for one examination a minute at most. */
export const examinedEveryMs = 60_000;
/** An examination of a provider that hangs is cut. */
const examinationMs = 60_000;
/** Of a worker that ended while it was at it. */
const takenMs = 2 * examinationMs;

/** Notes the wish, once a minute, with an entry in the audit log. @throws OperatorRefused no such connection */
export async function wishExamination(operator: Operator, connection: string): Promise<void> {
  const { sql, clock, ids, actor } = operator;
  if (!(await findConnectionRow(sql, connection))) throw new OperatorRefused(`no connection ${connection}`);
  const at = clock.now();
  await sql.tx(async (tx) => {
    if (!(await askExamination(tx, { connection, at, by: actor, before: at - examinedEveryMs }))) return;
    const entry = { action: 'connection.examine', subject: connection, reason: null, detail: {} };
    await writeAudit(tx, { accountId: installationId, id: ids.uuid(), at, actor, ...entry });
  });
}

export interface ExaminationDeps {
  sql: Sql;
  clock: Clock;
  log: Log;
  /** As `vintem doctor` does. */
  examine(connection: string): Promise<readonly Finding[]>;
  /** Aborted when the process drains. */
  draining: AbortSignal;
}

/** One examination that was wished for. @returns whether there may be another */
export async function stepExaminations(deps: ExaminationDeps): Promise<boolean> {
  const { sql, clock } = deps;
  const takenAt = clock.now();
  const connection = await takeExamination(sql, takenAt, takenAt - takenMs);
  if (connection === undefined) return false;
  const findings = await found(deps, connection);
  // It is another worker's.
  if (findings === null && deps.draining.aborted) return false;
  await endExamination(sql, { connection, takenAt }, clock.now(), findings);
  return true;
}

/** Null: no answer in time. */
async function found(
  { clock, log, examine, draining }: ExaminationDeps,
  connection: string,
): Promise<readonly Finding[] | null> {
  const cut = new AbortController();
  const late = clock.sleep(examinationMs, AbortSignal.any([draining, cut.signal])).then(() => null);
  try {
    return await Promise.race([examine(connection), late]);
  } catch (err) {
    log.warn({ err, connection }, 'a connection was not examined');
    return null;
  } finally {
    cut.abort();
  }
}
