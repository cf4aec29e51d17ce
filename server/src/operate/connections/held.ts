import { buildIncident } from '../../flow/open-incident.ts';
import type { Log } from '../../ground/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Sql } from '../../ports/sql.ts';
import type { Finding, Provider } from '../../provider/provider.ts';
import { OperatorRefused, operatorWaitMs } from '../../store/operator.ts';
import { installationId } from '../../store/rows/audit.sql.ts';
import { incidentKey, incidents } from '../../store/rows/incidents.sql.ts';
import { createTill } from '../../store/till.ts';
import { resolveIncident } from '../incidents/incident.ts';
import type { ConnectionRow } from './connections.sql.ts';
import { endHold, findHoldsNotSeenSince, noteHold } from './held.sql.ts';
import { holdsIdentity } from './identity.ts';

/**
 * The report of a connection that is held (`keep.ts`): its row says so, with an incident. Each process that holds one says it again and
 * again, since their settings may differ and none knows of the others; the hold is over when none has said it for two minutes.
 */
export interface HoldDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  log: Log;
  connections: { held: ReadonlyMap<string, string> };
}

const sayAgainMs = 30_000;
const lastsMs = 4 * sayAgainMs;

/** @returns says which connections this process holds, where it was not said for half a minute */
export function createHoldNotes(deps: HoldDeps): () => Promise<void> {
  const { sql, clock, connections } = deps;
  const saidAt = new Map<string, number>();
  return async () => {
    for (const [connection, reason] of connections.held) {
      if (clock.monotonicMs() - (saidAt.get(connection) ?? Number.NEGATIVE_INFINITY) < sayAgainMs) continue;
      const since = await noteHold(sql, { connection, reason, at: clock.now() });
      if (since !== undefined) await openIncident(deps, { connection, reason, since });
      saidAt.set(connection, clock.monotonicMs());
    }
  };
}

const referenceOf = (connection: string, since: number): string => `connection_held:${connection}:${since}`;

async function openIncident(
  deps: HoldDeps,
  { connection, reason, since }: { connection: string; reason: string; since: number },
): Promise<void> {
  const reference = referenceOf(connection, since);
  if ((await incidents.read(deps.sql, [incidentKey(installationId, reference)])).length > 0) return;
  const incident = {
    ...{ accountId: installationId, kind: 'connection_held' as const, reference },
    detail: { connection, reason, since: new Date(since).toISOString() },
  };
  const deadlineMs = deps.clock.monotonicMs() + operatorWaitMs;
  const command = buildIncident(incident, deps.ids.uuid(), deadlineMs);
  await createTill(deps).submit(command);
}

/** Ends what no process holds any more, with its incident. */
export async function stepHolds(deps: Omit<HoldDeps, 'connections'>): Promise<void> {
  const notSeenSince = deps.clock.now() - lastsMs;
  for (const { connection, since } of await findHoldsNotSeenSince(deps.sql, notSeenSince)) {
    const key = incidentKey(installationId, referenceOf(connection, since));
    for (const { id } of await incidents.read(deps.sql, [key])) await resolve(deps, id);
    await endHold(deps.sql, connection, notSeenSince);
  }
}

async function resolve(deps: Omit<HoldDeps, 'connections'>, id: string): Promise<void> {
  const reason = 'the connection is in use again';
  try {
    await resolveIncident({ ...deps, actor: 'vintem' }, id, { action: 'none', reason });
  } catch (error) {
    // A person was faster.
    if (!(error instanceof OperatorRefused)) throw error;
  }
}

/**
 * Why a connection is held, or would be by a process with these settings. It changes nothing, so that new settings can be tried before they serve.
 * @returns null: it is in order, or the provider does not say which account it is
 */
export async function examineHold(
  sql: Sql,
  row: Pick<ConnectionRow, 'name' | 'adapter' | 'simulated' | 'identity' | 'heldSince' | 'heldReason'>,
  provider: Provider,
): Promise<Finding | null> {
  const reason = await reasonToHold(sql, row, provider);
  if (reason !== null) return findingOf(reason, null);
  return row.heldSince === null ? null : findingOf(row.heldReason ?? '', row.heldSince);
}

async function reasonToHold(
  sql: Sql,
  row: Pick<ConnectionRow, 'name' | 'adapter' | 'simulated' | 'identity'>,
  provider: Provider,
): Promise<string | null> {
  if (row.identity === null) return null;
  if (row.adapter === null)
    return provider.identity === row.identity ? null : await holdsIdentity(sql, row.name);
  const said = row.simulated ? undefined : await provider.askAccount?.();
  return said?.outcome === 'found' && said.identity !== row.identity ? anotherAnswers : null;
}

export const anotherAnswers = 'the provider answers with another account than before';

const findingOf = (reason: string, since: number | null): Finding => ({
  check: 'account',
  ok: false,
  message: `held${since === null ? '' : ` since ${new Date(since).toISOString()}`}: nothing is sent and nothing is asked for over it, because ${reason}`,
  action:
    'restore the earlier credentials (PROVIDER_*, or vintem connection rotate), and make a connection for the other account (vintem connection create); it is used again by itself',
});
