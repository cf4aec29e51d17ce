import { bringCostsUpToDate } from '../../flow/connection-movements.ts';
import { readLatest } from '../../jobs/statement.ts';
import type { Queries } from '../../ports/sql.ts';
import { OperatorRefused } from '../../store/operator.ts';
import { type DayClose, findCloseState, findClosesOfDay } from './closes.sql.ts';
import { type ConnectionClose, findConnectionCloses } from './connection-closes.sql.ts';
import { type CloseDeps, closeDays, lastDayOver, providersToCompare } from './step.ts';

export interface ClosedDay {
  day: string;
  connections: ConnectionClose[];
  operations: DayClose[];
  /** A provider's balance could not be compared yet. */
  waits: boolean;
}

const perPage = 1_000;
const lowest = '00000000-0000-0000-0000-000000000000';

/**
 * Closes what is over, as the worker does, and shows a day. Beside a worker that does the same: each row is written once.
 * @throws OperatorRefused the day is not over or has no close, or a restore waits for its reconciliation
 */
export async function closeNow(deps: CloseDeps, wanted: string | null): Promise<ClosedDay> {
  const { closedDay, nowMs, day } = await dayToClose(deps, wanted);
  const { waits } = await closeDays(deps, closedDay, nowMs);
  const operations: DayClose[] = [];
  for (const { sql } of deps.cells.all()) operations.push(...(await closesOfDay(sql, day)));
  const connections = await findConnectionCloses(deps.sql, day);
  if (connections.length === 0 && operations.length === 0 && !waits)
    throw new OperatorRefused(`there is no close of ${day}`);
  return { day, connections, operations, waits };
}

/**
 * All that a close posts: the costs of the provider and the company's own money, which it brings up to date before it compares. It closes nothing, so
 * that no operation is locked for it.
 * @throws OperatorRefused as `closeNow`
 */
export async function postBeforeClose(deps: CloseDeps, wanted: string | null): Promise<void> {
  const { closedDay, nowMs } = await dayToClose(deps, wanted);
  for (const provider of await providersToCompare(deps, closedDay, nowMs)) {
    await readLatest(deps, provider);
    await bringCostsUpToDate(deps, provider);
  }
}

async function dayToClose(
  deps: CloseDeps,
  wanted: string | null,
): Promise<{ closedDay: string | null; nowMs: number; day: string }> {
  const { closedDay, restored, databaseNow } = await findCloseState(deps.sql);
  if (restored) throw new OperatorRefused('a restore waits for its comparison: run `vintem reconcile` first');
  const nowMs = Math.min(deps.clock.now(), databaseNow);
  const last = lastDayOver(nowMs);
  const day = wanted ?? last;
  if (day > last) throw new OperatorRefused(`${day} is not over: a day is closed ten minutes after its end`);
  return { closedDay, nowMs, day };
}

async function closesOfDay(sql: Queries, day: string): Promise<DayClose[]> {
  const closes: DayClose[] = [];
  for (let after = { accountId: lowest, chainId: lowest }; ; ) {
    const page = await findClosesOfDay(sql, day, after, perPage);
    closes.push(...page);
    const end = page.at(-1);
    if (!end || page.length < perPage) return closes;
    after = end;
  }
}
