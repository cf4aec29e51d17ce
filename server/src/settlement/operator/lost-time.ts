import type { Log } from '../../ground/log.ts';
import { type Command, createTill, put, read } from '../../ledger/till.ts';
import type { Clock } from '../../ports/clock.ts';
import { type Ids, idsOf } from '../../ports/ids.ts';
import type { Sql } from '../../ports/sql.ts';
import { incidentKey, incidents } from '../incidents/incidents.sql.ts';
import { markLostTime } from './after-restore.ts';
import { installationId } from './audit.sql.ts';
import { operatorWaitMs } from './operator.ts';

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
  const token = deps.ids.uuid();
  const deadlineMs = deps.clock.monotonicMs() + operatorWaitMs;
  await createTill(deps).submit(buildLostTime({ since, why, token, deadlineMs }));
  await markLostTime({ ...deps, everyCell, actor: 'vintem' }, since, null);
}

/** Opens the incident, once for each moment. Pure. */
export function buildLostTime(input: {
  since: number;
  why: string;
  token: string;
  deadlineMs: number;
}): Command<void> {
  const { since, why, token, deadlineMs } = input;
  const accountId = installationId;
  const reference = `lost_time:${since}`;
  const key = incidentKey(accountId, reference);
  return {
    token,
    deadlineMs,
    chains: [{ accountId, chainId: accountId }],
    reads: [read(incidents, key)],
    eventRefs: [],
    decide: (view, now) => {
      if (view.get(incidents, key)) return { answer: undefined };
      const incident = {
        accountId,
        id: idsOf(token).uuid(),
        kind: 'lost_time' as const,
        paymentId: null,
        operationId: null,
        amountCents: 0,
        reference,
        freezes: false,
        detail: { since: new Date(since).toISOString(), why },
        openedAt: now,
      };
      return { answer: undefined, writes: [put(incidents, incident)] };
    },
  };
}
