import type { ChildProcess } from 'node:child_process';
import type pg from 'pg';
import type { LoadMessage, LoadResult, Plan, Target } from './load.ts';
import { cpuSecondsOf } from './processes.ts';
import type { Cost, DatabaseEach } from './report.ts';

export interface Measured extends LoadResult {
  cost: Cost | null;
}

/** Counts since the server's start. */
export type DatabaseCounts = DatabaseEach;

/** Lets the generator work a plan off, and adds up what it cost the processes, and the database, between its `begin` and its `end`. */
export function driveLoad(
  load: { child: ChildProcess; pid: number },
  plan: Plan,
  /** `service` may stand on several processes. */
  of: { service: number | readonly number[] | null; postgres: number | null; simulator: number | null },
  count: (() => Promise<DatabaseCounts>) | null = null,
): Promise<Measured> {
  const parts = Object.entries({ ...of, load: load.pid });
  const cpu = (): Record<string, number> =>
    Object.fromEntries(
      parts.flatMap(([name, pids]) => (pids === null ? [] : [[name, sum([pids].flat().map(cpuSecondsOf))]])),
    );
  return new Promise((resolve, reject) => {
    let before: Record<string, number> = {};
    let used: Record<string, number> = {};
    const counted: Promise<DatabaseCounts>[] = [];
    const listen = (message: LoadMessage): void => {
      if (count && (message.type === 'begin' || message.type === 'end')) {
        const counting = count();
        // Looked at with the result.
        counting.catch(() => {});
        counted.push(counting);
      }
      if (message.type === 'begin') before = cpu();
      if (message.type === 'end') {
        const after = cpu();
        used = Object.fromEntries(
          Object.keys(after).map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)]),
        );
      }
      if (message.type !== 'result') return;
      load.child.off('message', listen);
      load.child.off('exit', lost);
      const { result } = message;
      const failed = Object.entries(result.failures);
      if (failed.length > 0)
        process.stderr.write(`  answers that were none: ${JSON.stringify(result.failures)}\n`);
      if (result.count === 0) {
        reject(new Error('nothing was answered'));
        return;
      }
      // `start` is the parent of the simulator, which counts apart.
      if (used.service !== undefined && used.simulator !== undefined) used.service -= used.simulator;
      const each = Object.fromEntries(
        Object.entries(used).map(([name, seconds]) => [name, (seconds / result.count) * 1e6]),
      );
      const cost = { microsecondsEach: each };
      Promise.all(counted).then(([first, last]) => {
        resolve({ ...result, cost: { ...cost, ...eachOf(first, last, result.count) } });
      }, reject);
    };
    const lost = () => reject(new Error('the load generator ended'));
    load.child.on('message', listen);
    load.child.once('exit', lost);
    load.child.send(plan);
  });
}

function eachOf(
  before: DatabaseCounts | undefined,
  after: DatabaseCounts | undefined,
  count: number,
): { databaseEach?: DatabaseEach } {
  if (!before || !after) return {};
  const each = (part: keyof DatabaseCounts): number => (after[part] - before[part]) / count;
  return {
    databaseEach: {
      transactions: each('transactions'),
      walBytes: each('walBytes'),
      fullPages: each('fullPages'),
    },
  };
}

const sum = (all: readonly number[]): number => all.reduce((total, one) => total + one, 0);

/**
 * The load of `spread 64`: transfers of 64 callers, with what they cost the `api` processes and PostgreSQL.
 * @param service process ids of the `api`
 */
export const driveTransfers = (
  load: Parameters<typeof driveLoad>[0],
  to: {
    origin: string;
    targets: readonly Target[];
    service: readonly number[];
    postgres: number;
    callers?: number;
  },
  measuredMs: number,
): Promise<Measured> =>
  driveLoad(
    load,
    {
      origin: to.origin,
      calls: { kind: 'transfers', targets: to.targets, amountCents: 1_000 },
      callers: to.callers ?? 64,
      connections: to.callers ?? 64,
      answeredFile: null,
      warmupMs: 500,
      measuredMs,
    },
    { service: to.service, postgres: to.postgres, simulator: null },
  );

/** CPU microseconds of service and PostgreSQL for one unit. */
export const costOf = ({ cost }: Measured): number =>
  (cost?.microsecondsEach.service ?? Number.NaN) + (cost?.microsecondsEach.postgres ?? Number.NaN);

/** The measurement as one line for the person who waits. */
export function textOf({ perSecond, p50, p99, cost }: Measured): string {
  const each = Object.entries(cost?.microsecondsEach ?? {}).map(([name, us]) => `${name} ${Math.round(us)}`);
  const { transactions, walBytes, fullPages } = cost?.databaseEach ?? {};
  const database =
    transactions === undefined
      ? ''
      : `, each: ${transactions.toFixed(2)} transactions, ${walBytes?.toFixed(0)} B of log, ${fullPages?.toFixed(2)} full pages`;
  const costs = (each.length > 0 ? `, CPU µs each: ${each.join(', ')}` : '') + database;
  return `${Math.round(perSecond)}/s, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms${costs}`;
}

/**
 * Transactions of one database, and the log of the server. A backend reports its transactions and pages once a second while it works: at both ends of a
 * row some of the last second's are missing.
 */
export async function databaseCounts(admin: pg.Client, database: string): Promise<DatabaseCounts> {
  const { rows } = await admin.query<Record<keyof DatabaseCounts, string>>(
    `SELECT xact_commit + xact_rollback AS transactions, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS "walBytes",
        (SELECT wal_fpi FROM pg_stat_wal) AS "fullPages"
      FROM pg_stat_database WHERE datname = $1`,
    [database],
  );
  const [row] = rows;
  if (!row) throw new Error(`there is no database ${database}`);
  return {
    transactions: Number(row.transactions),
    walBytes: Number(row.walBytes),
    fullPages: Number(row.fullPages),
  };
}
