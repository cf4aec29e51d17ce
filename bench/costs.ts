import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { freePort } from '@vintem/testkit/free-port.ts';
import { startEmbedded } from '../server/src/db/embedded.ts';
import { readConfig } from '../server/src/ground/config.ts';
import { createLog } from '../server/src/ground/log.ts';
import { driveLoad } from './drive.ts';
import { memoryOf, startPart, startProgram, stopAll } from './processes.ts';
import { createMerchant, openWorld, targetsOf } from './world.ts';

/**
 * What observing costs: the CPU time of a transfer (`hot 64` of the bench, service and PostgreSQL) with metrics scraped every 5 s, or with
 * traces at the default share, against the same without, in pairs of fresh processes one after the other, whose order alternates. And the
 * memory of an idle `vintem start`.
 *
 *   node bench/costs.ts [--pairs 5] [--seconds 10] [--idle 60]
 *
 * Takes some eight minutes. Run it on a machine that does nothing else. Exit code 1 when a median is above its limit.
 */
const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '10' },
    idle: { type: 'string', default: '60' },
  },
});
const pairs = Number(values.pairs);
const measuredMs = 1000 * Number(values.seconds);
/** Until the code is compiled that is run most. */
const warmupMs = 8_000;
const scrapeEveryMs = 5_000;
/** Percent of a transfer's CPU, and bytes. */
const limits = { metrics: 2, traces: 5, idleBytes: 300 << 20 };

const median = (of: readonly number[]): number =>
  [...of].sort((one, other) => one - other)[Math.floor(of.length / 2)] ?? Number.NaN;
const dataDir = mkdtempSync(join(tmpdir(), 'vintem-costs-'));
// As root the server of the database runs as another user, who has to pass through.
chmodSync(dataDir, 0o711);

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
  const postgres = postmasterIn(dataDir);

  /** CPU microseconds of one transfer. */
  const run = async (given: Record<string, string>): Promise<number> => {
    const port = await freePort();
    const api = await startProgram(['api'], { ...settings, ...given, PORT: `${port}` }, 'vintem api ready');
    const { METRICS_PORT: metricsPort } = given;
    const scraping = metricsPort
      ? setInterval(() => {
          fetch(`http://127.0.0.1:${metricsPort}/metrics`)
            .then((answer) => answer.text())
            .catch(() => {});
        }, scrapeEveryMs)
      : null;
    const plan = {
      origin: `http://127.0.0.1:${port}`,
      calls: { kind: 'transfers' as const, targets: targetsOf([merchant]), amountCents: 1_000 },
      callers: 64,
      connections: 64,
      warmupMs,
      measuredMs,
      answeredFile: null,
    };
    const { cost } = await driveLoad(load, plan, { service: api.pid, postgres, simulator: null });
    if (scraping !== null) clearInterval(scraping);
    await api.stop();
    const each = cost?.microsecondsEach ?? {};
    return (each.service ?? Number.NaN) + (each.postgres ?? 0);
  };
  const paired = async (
    name: 'metrics' | 'traces',
    given: () => Promise<Record<string, string>>,
  ): Promise<Cost> => {
    const overheads: number[] = [];
    for (let pair = 0; pair < pairs; pair++) {
      const turns = pair % 2 === 0 ? [false, true] : [true, false];
      const costs = new Map<boolean, number>();
      for (const isOn of turns) costs.set(isOn, await run(isOn ? await given() : {}));
      const [off, on] = [costs.get(false) as number, costs.get(true) as number];
      overheads.push((on / off - 1) * 100);
      console.log(`${name}, pair ${pair + 1}: ${off.toFixed(1)} and ${on.toFixed(1)} µs a transfer`);
    }
    return {
      what: `${name}, of a transfer's CPU`,
      measured: median(overheads),
      of: overheads,
      limit: limits[name],
      unit: '%',
    };
  };
  const metrics = await paired('metrics', async () => ({ METRICS_PORT: `${await freePort()}` }));
  const traces = await paired('traces', async () => ({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collectorPort}`,
  }));
  collector.close();
  await world.close();
  await server.stop();
  return [metrics, traces];
}

/** Of the program itself, with its thread of deliveries; PostgreSQL and the simulator are processes of their own. */
async function measureIdle(): Promise<Cost> {
  const folder = join(dataDir, 'idle');
  const env = {
    DATA_DIR: folder,
    PORT: `${await freePort()}`,
    SIMULATOR_PORT: `${await freePort()}`,
    METRICS_PORT: `${await freePort()}`,
  };
  const start = await startProgram(['start'], env, 'vintem ready');
  await new Promise((done) => setTimeout(done, 1000 * Number(values.idle)));
  const bytes = memoryOf(start.pid);
  await start.stop();
  return {
    what: `memory of an idle start after ${values.idle} s`,
    measured: bytes / (1 << 20),
    of: [],
    limit: limits.idleBytes / (1 << 20),
    unit: 'MB',
  };
}

function tableOf(costs: readonly Cost[]): string {
  const lines = costs.map((cost) => {
    const { what, measured, of, limit, unit } = cost;
    const all = of.length > 0 ? `${of.map((one) => one.toFixed(1)).join(', ')}` : 'one value';
    return `| ${what} | ${measured.toFixed(1)} ${unit} | ${all} | ${limit} ${unit} | ${isWithin(cost) ? 'within' : 'ABOVE'} |`;
  });
  return ['| What | Median | Of | Limit | |', '|---|---|---|---|---|', ...lines].join('\n');
}

function postmasterIn(folder: string): number {
  const { cluster } = JSON.parse(readFileSync(join(folder, 'postgres.json'), 'utf8')) as { cluster: string };
  return Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0]);
}

try {
  const costs = [await measureIdle(), ...(await measureCosts())];
  console.log(tableOf(costs));
  process.exitCode = costs.every(isWithin) ? 0 : 1;
} finally {
  await stopAll();
  rmSync(dataDir, { recursive: true, force: true });
}
