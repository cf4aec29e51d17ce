import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { freePort } from '@vintem/testkit/free-port.ts';
import { postmasterOf } from '@vintem/testkit/processes.ts';
import pg from 'pg';
import { readConfig } from '../server/src/ground/config.ts';
import { createLog } from '../server/src/ground/log.ts';
import { startEmbedded } from '../server/src/store/database/embedded.ts';
import { databaseCounts, driveLoad } from './drive.ts';
import {
  allOf,
  type CpuEach,
  familyOf,
  memoryOf,
  sharedMemoryOf,
  startPart,
  startProgram,
  stopAll,
  textOf,
  waitsOf,
  withoutAutovacuum,
} from './processes.ts';
import { median } from './report.ts';
import { createMerchant, openWorld, targetsOf } from './world.ts';

/**
 * The cost of observing: the CPU time of a transfer (`hot 64` of the bench, service and PostgreSQL) with metrics scraped every 5 s, or with
 * traces at the default share, against the same without. Two processes stand beside each other on one database and take turns under load, in
 * pairs whose order alternates: pairs of fresh processes differed by more than the limits, since each compiles its code anew. And the memory of
 * an idle `vintem start`, with what its processes do while nothing happens.
 *
 *   node bench/costs.ts [--pairs 9] [--seconds 10] [--idle 60] [--only idle]
 *
 * Takes some nine minutes. Run it on a machine that does nothing else. Exit code 1 when a median is above its limit.
 */
const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '9' },
    seconds: { type: 'string', default: '10' },
    idle: { type: 'string', default: '60' },
    only: { type: 'string' },
  },
});
const pairs = Number(values.pairs);
const measuredMs = 1000 * Number(values.seconds);
/** Until the code is compiled that is run most. */
const warmupMs = 8_000;
/** Until all callers of a turn wait for answers. */
const rampMs = 500;
const scrapeEveryMs = 5_000;
/** Percent of a transfer's CPU, bytes, and what happens in a second of nothing. */
const limits = {
  metrics: 2,
  traces: 5,
  idleBytes: 300 << 20,
  idle: { bytes: 250 << 20, transactions: 8, waits: 20, logBytes: 0 },
};
/** Until an idle program has settled: its loops become quiet after ten seconds. */
const settledMs = 20_000;

const dataDir = mkdtempSync(join(tmpdir(), 'vintem-costs-'));
// As root the server of the database runs as another user, who has to pass through.
chmodSync(dataDir, 0o711);

type Kind = 'metrics' | 'traces';

interface Api {
  pid: number;
  stop(): Promise<unknown>;
  origin: string;
  /** Null: without metrics. */
  metricsPort: string | null;
}

interface Cost {
  what: string;
  measured: number;
  /** Every measured value, where there are several. */
  of: readonly number[];
  limit: number;
  unit: string;
}
const isWithin = ({ measured, limit }: Cost): boolean => measured <= limit;

async function measureCosts(): Promise<Cost[]> {
  const server = await startEmbedded({ dataDir, log: createLog('warn'), say: () => {} });
  await withoutAutovacuum(server.url);
  const settings = {
    HOST: '127.0.0.1',
    DATA_DIR: dataDir,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'warn',
    TRANSFER_WAIT_MS: '0',
  };
  const world = await openWorld(readConfig({ ...settings, PORT: '3000' }), server.url);
  const merchant = await createMerchant(world, 'Costs', 1, 1_000_000_000_000);
  const load = await startPart<{ url: string }>('./load.ts');
  const collector = createServer((request, answer) => {
    request.resume().on('end', () => answer.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  await new Promise<void>((done) => collector.listen(0, '127.0.0.1', done));
  const { port: collectorPort } = collector.address() as { port: number };
  const postgres = postmasterOf(dataDir);

  const paired = async (name: Kind, given: Record<string, string>): Promise<Cost> => {
    const start = async (more: Record<string, string>): Promise<Api> => {
      const port = await freePort();
      const { pid, stop } = await startProgram(
        ['api'],
        { ...settings, ...more, PORT: `${port}` },
        'vintem api ready',
      );
      return { pid, stop, origin: `http://127.0.0.1:${port}`, metricsPort: more.METRICS_PORT ?? null };
    };
    const run = async (api: Api, forMs: number): Promise<CpuEach> => {
      const stopScraping = scrape(api);
      const calls = { kind: 'transfers' as const, targets: targetsOf([merchant]), amountCents: 1_000 };
      const sent = { origin: api.origin, calls, callers: 64, connections: 64, answeredFile: null };
      const plan = { ...sent, warmupMs: rampMs, measuredMs: forMs };
      const { cost } = await driveLoad(load, plan, { service: api.pid, postgres, simulator: null });
      stopScraping();
      const each = cost?.microsecondsEach ?? {};
      return { service: each.service ?? Number.NaN, postgres: each.postgres ?? 0 };
    };
    const without = await start({});
    const observed = await start(given);
    for (const api of [without, observed]) await run(api, warmupMs);
    const overheads: number[] = [];
    for (let pair = 0; pair < pairs; pair++) {
      const costs = new Map<Api, CpuEach>();
      for (const api of pair % 2 === 0 ? [without, observed] : [observed, without])
        costs.set(api, await run(api, measuredMs));
      const [off, on] = [costs.get(without) as CpuEach, costs.get(observed) as CpuEach];
      overheads.push((allOf(on) / allOf(off) - 1) * 100);
      console.log(`${name}, pair ${pair + 1}: ${textOf(off)} and ${textOf(on)} a transfer`);
    }
    for (const api of [without, observed]) await api.stop();
    return {
      what: `${name}, of a transfer's CPU`,
      measured: median(overheads),
      of: overheads,
      limit: limits[name],
      unit: '%',
    };
  };
  const metrics = await paired('metrics', { METRICS_PORT: `${await freePort()}` });
  const traces = await paired('traces', {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collectorPort}`,
  });
  collector.close();
  await world.close();
  await server.stop();
  return [metrics, traces];
}

/** Asks for the metrics at once, and then as a Prometheus would, until the returned function is called. */
function scrape({ metricsPort }: Api): () => void {
  if (metricsPort === null) return () => {};
  const ask = (): void => {
    fetch(`http://127.0.0.1:${metricsPort}/metrics`)
      .then((answer) => answer.text())
      .catch(() => {});
  };
  ask();
  const scraping = setInterval(ask, scrapeEveryMs);
  return () => clearInterval(scraping);
}

/** Of the program itself, with its thread of deliveries, and of it with its PostgreSQL and its simulator, which are processes of their own. */
async function measureIdle(): Promise<Cost[]> {
  const folder = join(dataDir, 'idle');
  const env = {
    DATA_DIR: folder,
    PORT: `${await freePort()}`,
    SIMULATOR_PORT: `${await freePort()}`,
    METRICS_PORT: `${await freePort()}`,
  };
  const start = await startProgram(['start'], env, 'vintem ready');
  await new Promise((done) => setTimeout(done, settledMs));
  const family = familyOf(start.pid);
  const admin = new pg.Client(urlOfStart(folder));
  await admin.connect();
  const before = await countsOf(admin, family);
  const seconds = Math.max(10, Number(values.idle) - settledMs / 1000);
  await new Promise((done) => setTimeout(done, 1000 * seconds));
  const after = await countsOf(admin, family);
  await admin.end();
  const [bytes, all] = [memoryOf(start.pid), sharedMemoryOf(family)];
  await start.stop();
  const one = (what: string, measured: number, limit: number, unit: string): Cost => {
    return { what, measured, of: [], limit, unit };
  };
  const aSecond = (part: keyof typeof before): number => (after[part] - before[part]) / seconds;
  const { idle } = limits;
  return [
    one(
      `memory of an idle start after ${values.idle} s`,
      bytes / (1 << 20),
      limits.idleBytes / (1 << 20),
      'MB',
    ),
    one(
      'the same with PostgreSQL and simulator, shared pages once',
      all / (1 << 20),
      idle.bytes / (1 << 20),
      'MB',
    ),
    one('its transactions', aSecond('transactions'), idle.transactions, '/s'),
    one('its waits, of all threads', aSecond('waits'), idle.waits, '/s'),
    one('its log', aSecond('walBytes'), idle.logBytes, 'B/s'),
  ];
}

/** The superuser's. */
function urlOfStart(folder: string): string {
  const password = readFileSync(join(folder, 'postgres.password'), 'utf8').trim();
  const { port } = JSON.parse(readFileSync(join(folder, 'postgres.json'), 'utf8')) as { port: number };
  return `postgres://vintem:${password}@127.0.0.1:${port}/vintem`;
}

/** Our own look counts as one transaction. */
const countsOf = async (admin: pg.Client, family: readonly number[]) => ({
  ...(await databaseCounts(admin, 'vintem')),
  waits: waitsOf(family),
});

function tableOf(costs: readonly Cost[]): string {
  const lines = costs.map((cost) => {
    const { what, measured, of, limit, unit } = cost;
    const all = of.length > 0 ? `${of.map((one) => one.toFixed(1)).join(', ')}` : 'one value';
    return `| ${what} | ${measured.toFixed(1)} ${unit} | ${all} | ${limit} ${unit} | ${isWithin(cost) ? 'within' : 'ABOVE'} |`;
  });
  return ['| What | Median | Of | Limit | |', '|---|---|---|---|---|', ...lines].join('\n');
}

try {
  const costs = [...(await measureIdle()), ...(values.only === 'idle' ? [] : await measureCosts())];
  console.log(tableOf(costs));
  process.exitCode = costs.every(isWithin) ? 0 : 1;
} finally {
  await stopAll();
  rmSync(dataDir, { recursive: true, force: true });
}
