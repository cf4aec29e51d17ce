import type { Log } from '../ground/log.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Sql } from '../ports/sql.ts';
import { operatorWaitMs } from '../store/operator.ts';
import { createTill } from '../store/till.ts';
import { markLostTime } from './after-restore.ts';
import { buildInstallationIncident } from './incidents/of-installation.ts';

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
  const command = buildInstallationIncident({
    kind: 'lost_time',
    reference: `lost_time:${since}`,
    detail: { since: new Date(since).toISOString(), why },
    token: deps.ids.uuid(),
    deadlineMs: deps.clock.monotonicMs() + operatorWaitMs,
  });
  await createTill(deps).submit(command);
  await markLostTime({ ...deps, everyCell, actor: 'vintem' }, since, null);
}
