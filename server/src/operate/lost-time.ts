import { buildIncident } from '../flow/open-incident.ts';
import type { Log } from '../ground/log.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Sql } from '../ports/sql.ts';
import { operatorWaitMs } from '../store/operator.ts';
import { installationId } from '../store/rows/audit.sql.ts';
import { createTill } from '../store/till.ts';
import { markLostTime } from './after-restore.ts';

interface Deps {
  sql: Sql;
  cells: { refresh(): Promise<void>; all(): readonly { sql: Sql }[] };
  clock: Clock;
  ids: Ids;
  log: Log;
}

/**
 * A process has noticed that the database went back. Withdrawals pause as after a restore, and the incident brings a mail to the operator. It
 * may be noted again until `lost_time` has its row, and opens one incident.
 */
export async function noteDatabaseLoss(deps: Deps, since: number, why: string): Promise<void> {
  await deps.cells.refresh();
  const everyCell = deps.cells.all().map(({ sql }) => sql);
  const incident = {
    ...{ accountId: installationId, kind: 'lost_time' as const, reference: `lost_time:${since}` },
    detail: { since: new Date(since).toISOString(), why },
  };
  const deadlineMs = deps.clock.monotonicMs() + operatorWaitMs;
  const command = buildIncident(incident, deps.ids.uuid(), deadlineMs);
  await createTill(deps).submit(command);
  await markLostTime({ ...deps, everyCell, actor: 'vintem' }, since, null);
}
