import type { Static } from 'typebox';
import type { ApiScope } from '../../edge/edge.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { connectionsOfCells, listCells, loadOfCell } from '../../store/database/cells.ts';
import { findConnectedMachines, readMigrationState } from '../../store/database/state.sql.ts';
import { consoleConfig } from '../route.ts';
import { ProcessesSchema, readingNames } from './processes.schema.ts';

type Processes = Static<typeof ProcessesSchema>;

export interface ProcessesDeps {
  sql: Sql;
  cells: { refresh(): Promise<unknown>; all(): readonly { cell: string; sql: Sql }[] };
  clock: Clock;
  /** Workers that are alive, with the cells of each. */
  workers(): Promise<{ id: string; cells: string[] }[]>;
  /** A gauge of the metrics (`main/metrics.ts`). */
  reading(name: string): Promise<readonly ({ value: number } & Record<string, unknown>)[]>;
}

/** Open payments are counted and tables measured: however many look, that often. */
const readEveryMs = 10_000;

/** Processes that run, cells with their accounts, and what waits. */
export function processesRoute(api: ApiScope, deps: ProcessesDeps): void {
  let last: { untilMs: number; page: Promise<Processes> } | undefined;
  api.get(
    '/processes',
    {
      schema: {
        tags: ['Operator'],
        summary: 'Processes, cells, migrations and what waits',
        response: { 200: ProcessesSchema },
      },
      config: consoleConfig,
    },
    () => {
      const nowMs = deps.clock.monotonicMs();
      if (last === undefined || nowMs >= last.untilMs) {
        const page = read(deps);
        const reading = { untilMs: nowMs + readEveryMs, page };
        last = reading;
        // A failure is no answer for ten seconds.
        page.catch(() => {
          if (last === reading) last = undefined;
        });
      }
      return last.page;
    },
  );
}

async function read(deps: ProcessesDeps): Promise<Processes> {
  const { sql, cells, clock } = deps;
  await cells.refresh();
  const [rows, connected, machines, workers, migrations, readings] = await Promise.all([
    listCells(sql),
    connectionsOfCells(sql),
    findConnectedMachines(sql),
    deps.workers(),
    readMigrationState(sql),
    Promise.all(readingNames.map((name) => readingsOf(deps, name))),
  ]);
  const databases = new Map(cells.all().map((one) => [one.cell, one.sql]));
  const loads = await Promise.all(rows.map(({ name }) => loadOfCell(databases.get(name) ?? sql)));
  return {
    takenAt: isoOf(clock.now()),
    workers,
    machines: machines.map((one) => ({ ...one, since: isoOf(one.since) })),
    cells: rows.map(({ createdAt, ...row }, at) => ({
      ...row,
      ...(loads[at] as (typeof loads)[number]),
      connections: connected.get(row.name) ?? 0,
      createdAt: isoOf(createdAt),
    })),
    migrations: { ...migrations, newestAt: isoOf(migrations.newestAt) },
    readings: readings.flat(),
  };
}

async function readingsOf({ reading }: ProcessesDeps, name: (typeof readingNames)[number]) {
  const rows = await reading(name);
  return rows.map(({ value, connection, standby }) => ({
    name,
    of: typeof connection === 'string' ? connection : typeof standby === 'string' ? standby : null,
    value: Number(value),
  }));
}
