import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { freePort } from '@vintem/testkit/free-port.ts';
import { postmasterOf } from '@vintem/testkit/processes.ts';
import pg from 'pg';
import { readConfig } from '../server/src/ground/config.ts';
import { createLog } from '../server/src/ground/log.ts';
import { systemClock } from '../server/src/ports/clock.ts';
import { makeCell } from '../server/src/store/database/cells.ts';
import { type EmbeddedPostgres, startEmbedded } from '../server/src/store/database/embedded.ts';
import { costOf, driveTransfers, type Measured } from './drive.ts';
import type { Target } from './load.ts';
import { cpuSecondsOf, startPart, startProgram, stopAll } from './processes.ts';
import { median } from './report.ts';
import { createMerchant, openWorld, targetsOf } from './world.ts';

/**
 * The cost of cells: the CPU time of a transfer (`spread 64` of the bench, service and PostgreSQL) over several cells of one PostgreSQL against the
 * same over one, and that of a worker that has nothing to do. Two processes stand beside each other, each over a database of its own in the same
 * server, and take turns under load, in pairs whose order alternates. One cell against one says how far equals differ.
 *
 *   node bench/cells.ts [--cells 1,4,16,64] [--pairs 7] [--seconds 10] [--accounts 100] [--callers 64] [--idle 30]
 *
 * With `--callers 1024`, 16 cells have 64 callers each, as one has by default. Their batches hold twelve transfers then, and those of one cell 400.
 * Takes some fifteen minutes. Run it on a machine that does nothing else. Exit code 1 when 16 cells
 * cost more than the limit.
 */
const { values } = parseArgs({
  options: {
    cells: { type: 'string', default: '1,4,16,64' },
    pairs: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '10' },
    accounts: { type: 'string', default: '100' },
    callers: { type: 'string', default: '64' },
    idle: { type: 'string', default: '30' },
  },
});
const pairs = Number(values.pairs);
const measuredMs = 1000 * Number(values.seconds);
const accounts = Number(values.accounts);
const callers = Number(values.callers);
const operationsEach = 10;
/** Until the code is compiled that is run most, and every cell has its connections. */
const warmupMs = 10_000;
/** Percent of a transfer's CPU, of this number of cells. */
const limit = { cells: 16, percent: 15 };

const dataDir = mkdtempSync(join(tmpdir(), 'vintem-bench-cells-'));
// As root the server of the database runs as another user, who has to pass through.
chmodSync(dataDir, 0o711);
const settings = {
  HOST: '127.0.0.1',
  DATA_DIR: dataDir,
  RATE_LIMITS: 'off',
  LOG_LEVEL: 'warn',
  TRANSFER_WAIT_MS: '0',
};

/** A database with the accounts spread over so many cells. */
interface Site {
  cells: number;
  env: Record<string, string>;
  targets: readonly Target[];
}

async function makeSite(server: EmbeddedPostgres, name: string, cells: number): Promise<Site> {
  const urlOf = (url: string): string => url.replace(/\/vintem(?=\?|$)/, `/${name}`);
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  await admin.end();
  const world = await openWorld(readConfig({ ...settings, PORT: '3000' }), urlOf(server.url));
  const owner = new pg.Client({ connectionString: urlOf(server.url) });
  await owner.connect();
  for (let made = 1; made < cells; made++) await makeCell(owner, systemClock.now());
  await owner.end();
  await world.runtime.cells.refresh();
  const targets: Target[] = [];
  for (let at = 0; at < accounts; at++) {
    const runtime = world.runtime.cells.all()[at % cells] ?? world.runtime;
    const merchant = await createMerchant(
      { ...world, runtime },
      `Loja ${at}`,
      operationsEach,
      1_000_000_000_000,
    );
    targets.push(...targetsOf([merchant]));
  }
  await world.close();
  return {
    cells,
    env: {
      ...settings,
      DATABASE_URL: urlOf(server.serviceUrl),
      MIGRATION_DATABASE_URL: urlOf(server.url),
    },
    targets,
  };
}

interface Api {
  site: Site;
  pid: number;
  origin: string;
  stop(): Promise<unknown>;
}

async function startApi(site: Site): Promise<Api> {
  const port = await freePort();
  const env = { ...site.env, PORT: `${port}` };
  const { pid, stop } = await startProgram(['api'], env, 'vintem api ready');
  return { site, pid, origin: `http://127.0.0.1:${port}`, stop };
}

type Load = Parameters<typeof driveTransfers>[0];

const transfersFor = (load: Load, api: Api, postgres: number, forMs: number): Promise<Measured> =>
  driveTransfers(
    load,
    { origin: api.origin, targets: api.site.targets, service: [api.pid], postgres, callers },
    forMs,
  );

interface Row {
  cells: number;
  /** Medians of one cell and of these. */
  costs: [number, number];
  perSecond: [number, number];
  p99: [number, number];
  percents: number[];
  idleMs: number;
}

async function compare(load: Load, one: Site, several: Site, postgres: number): Promise<Row> {
  // Before the load: what autovacuum does after it would count as well.
  const idleMs = await idleOf(several, postgres);
  const apis = [await startApi(one), await startApi(several)];
  for (const api of apis) await transfersFor(load, api, postgres, warmupMs);
  const measured = new Map<Api, Measured[]>(apis.map((api) => [api, []]));
  for (let pair = 0; pair < pairs; pair++) {
    for (const api of pair % 2 === 0 ? apis : [...apis].reverse())
      measured.get(api)?.push(await transfersFor(load, api, postgres, measuredMs));
    const [ones, others] = apis.map((api) => costOf(measured.get(api)?.at(-1) as Measured));
    console.log(
      `${several.cells} cells, pair ${pair + 1}: ${ones?.toFixed(1)} and ${others?.toFixed(1)} µs a transfer`,
    );
  }
  for (const api of apis) await api.stop();
  const of = (pick: (of: Measured) => number): [number, number] => {
    const [ones, others] = apis.map((api) => median((measured.get(api) ?? []).map(pick)));
    return [ones as number, others as number];
  };
  const [ones = [], others = []] = apis.map((api) => measured.get(api)?.map(costOf));
  return {
    cells: several.cells,
    costs: of(costOf),
    perSecond: of(({ perSecond }) => perSecond),
    p99: of(({ p99 }) => p99),
    percents: others.map((cost, at) => (cost / (ones[at] as number) - 1) * 100),
    idleMs,
  };
}

/** CPU milliseconds a second of a worker that finds nothing to do, with what PostgreSQL does for it. */
async function idleOf(site: Site, postgres: number): Promise<number> {
  const worker = await startProgram(['worker'], site.env, 'vintem worker ready');
  await systemClock.sleep(warmupMs);
  const cpu = (): number => cpuSecondsOf(worker.pid) + cpuSecondsOf(postgres);
  const [began, before] = [systemClock.monotonicMs(), cpu()];
  await systemClock.sleep(1000 * Number(values.idle));
  const used = cpu() - before;
  const seconds = (systemClock.monotonicMs() - began) / 1000;
  await worker.stop();
  return (used * 1000) / seconds;
}

function lineOf({ cells, costs, perSecond, p99, percents, idleMs }: Row): string {
  const all = percents.map((percent) => percent.toFixed(1)).join(', ');
  const two = ([one, several]: [number, number], digits: number) =>
    `${one.toFixed(digits)} / ${several.toFixed(digits)}`;
  const more = `${median(percents).toFixed(1)} %`;
  return `| ${cells} | ${two(costs, 1)} | ${more} | ${all} | ${two(perSecond, 0)} | ${two(p99, 1)} | ${idleMs.toFixed(0)} |`;
}

try {
  const server = await startEmbedded({ dataDir, log: createLog('warn'), say: () => {} });
  const load = await startPart<{ url: string }>('./load.ts');
  const postgres = postmasterOf(dataDir);
  const one = await makeSite(server, 'one_cell', 1);
  const rows: Row[] = [];
  for (const number of values.cells.split(',').map(Number))
    rows.push(await compare(load, one, await makeSite(server, `cells_${number}`, number), postgres));
  console.log(
    [
      '| Cells | CPU µs a transfer, one / these | More, median | In each pair % | A second, one / these | p99 ms, one / these | Idle worker, CPU ms a second |',
      '|---|---|---|---|---|---|---|',
      ...rows.map(lineOf),
    ].join('\n'),
  );
  const limited = rows.find(({ cells }) => cells === limit.cells);
  if (limited && median(limited.percents) > limit.percent) {
    console.log(`${limit.cells} cells cost more than ${limit.percent} %`);
    process.exitCode = 1;
  }
  await load.stop();
  await server.stop();
} finally {
  await stopAll();
  rmSync(dataDir, { recursive: true, force: true });
}
