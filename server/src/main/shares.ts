import type { Log } from '../ground/log.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Sql, Statement } from '../ports/sql.ts';
import type { ClockOffset } from '../store/database/clock-offset.ts';

/**
 * Which cells this worker works in. With as many cells as workers or more, each cell has one worker; with fewer, workers share a cell, so that
 * an installation with one cell uses all of them.
 *
 * A worker renews a row that says until when it is alive, by the database's clock, and reads who else is. The living, in the order of their
 * ids, take the cells in turn. A worker that died or stands still is missing after `aliveMs`, and the others take its cells when they read next.
 * Two that see different workers for a moment both work in a cell, or none does: nothing but load rests on this, since rows are claimed, leased
 * and fenced one by one. Rejected: a lease for each cell, which needs a rule for who gives up what when a worker comes.
 */
export interface Shares {
  has(cell: string): boolean;
  /** `slowdownOf` its cells. */
  slowdown(): number;
  /** Calls with the cells of this worker, now and whenever they change. */
  each(use: (cells: readonly string[]) => void): void;
  /** Resolves with the first reading, or when it failed. */
  read: Promise<void>;
  /** Resolves once the others may take its cells. */
  leave(): Promise<void>;
}

interface Deps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  log: Log;
  cells: { all(): readonly { cell: string }[] };
}

export const aliveMs = 8_000;
const renewEveryMs = 2_000;
/** Cells in which one worker looks for work as often as it would in one. */
const cellsAtOnce = 4;

const renew: Statement = {
  name: 'worker_renew',
  text: `INSERT INTO worker (id, alive_until) VALUES ($1, clock_timestamp() + $2::integer * interval '1 millisecond')
    ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until`,
};
const living: Statement = {
  name: 'worker_living',
  text: 'SELECT id FROM worker WHERE alive_until > clock_timestamp() ORDER BY id',
};
const leave: Statement = { name: 'worker_leave', text: 'DELETE FROM worker WHERE id = $1' };
/** Of those that ended without leaving. */
const removeDead: Statement = {
  name: 'worker_remove_dead',
  text: `DELETE FROM worker WHERE alive_until < clock_timestamp() - interval '1 hour'`,
};

/**
 * @param clockOffset of a worker that does nothing while its clock is wrong: it is not counted among the living then
 * @param stopping ends the renewals
 */
export function joinWorkers(
  deps: Deps,
  clockOffset: Pick<ClockOffset, 'isTolerable' | 'measured'>,
  stopping: AbortSignal,
): Shares {
  const { sql, clock, ids, log, cells } = deps;
  const id = ids.uuid();
  const listeners: ((cells: readonly string[]) => void)[] = [];
  let share: readonly string[] = [];
  let renewedAt = Number.NEGATIVE_INFINITY;

  function change(to: readonly string[]): void {
    if (to.join() === share.join()) return;
    share = to;
    for (const use of listeners) use(share);
  }

  async function look(): Promise<void> {
    if (!clockOffset.isTolerable()) return;
    const began = clock.monotonicMs();
    await sql.run(renew, [id, aliveMs]);
    const workers = (await sql.run<{ id: string }>(living)).map((row) => row.id);
    renewedAt = began;
    const names = cells.all().map(({ cell }) => cell);
    change(shareOf(id, workers, names));
  }

  /** Paused, or without the database: the others have its cells by now. */
  const isAlive = (): boolean => clock.monotonicMs() - renewedAt <= aliveMs;
  const failed = (error: unknown): void =>
    log.warn({ err: error }, 'the workers of this installation were not read');
  const read = clockOffset.measured.then(look).catch(failed);
  const renewing = (async () => {
    await read;
    await sql.run(removeDead).catch(failed);
    while (!stopping.aborted) {
      await clock.sleep(renewEveryMs, stopping);
      if (stopping.aborted) return;
      await look().catch(failed);
      if (!isAlive()) change([]);
    }
  })();
  return {
    has: (cell) => isAlive() && share.includes(cell),
    slowdown: () => slowdownOf(share.length),
    each(use) {
      listeners.push(use);
      use(share);
    },
    read,
    leave: async () => {
      await renewing;
      await sql.run(leave, [id]).catch(failed);
    },
  };
}

/** The workers that are alive, each with the cells that it works in. */
export async function livingWorkers({
  sql,
  cells,
}: Pick<Deps, 'sql' | 'cells'>): Promise<{ id: string; cells: string[] }[]> {
  const workers = (await sql.run<{ id: string }>(living)).map(({ id }) => id);
  const names = cells.all().map(({ cell }) => cell);
  return workers.map((id) => ({ id, cells: shareOf(id, workers, names) }));
}

/** By how much longer than in one cell to rest between two looks for work, so that many cells cost as many looks a second as four. */
export const slowdownOf = (cells: number): number => Math.max(1, Math.ceil(cells / cellsAtOnce));

/** @param workers that are alive, in the same order for all of them */
export function shareOf(id: string, workers: readonly string[], cells: readonly string[]): string[] {
  const at = workers.indexOf(id);
  if (at < 0) return [];
  if (workers.length > cells.length) return cells.filter((_, cell) => cell === at % cells.length);
  return cells.filter((_, cell) => cell % workers.length === at);
}
