import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { freePort } from '@vintem/testkit/free-port.ts';
import { postmasterOf } from '@vintem/testkit/processes.ts';
import { readConfig } from '../server/src/ground/config.ts';
import { createLog } from '../server/src/ground/log.ts';
import { startEmbedded } from '../server/src/store/database/embedded.ts';
import { driveLoad } from './drive.ts';
import type { Plan } from './load.ts';
import {
  allOf,
  type CpuEach,
  startPart,
  startProgram,
  stopAll,
  textOf,
  withoutAutovacuum,
} from './processes.ts';
import { median } from './report.ts';
import { ask, forgetStatements, readStatements, startCounting, textOfStatements } from './statements.ts';
import { createCharged, createMerchant, openWorld, targetsOf } from './world.ts';

/**
 * The cost of a refund in transfers: the CPU time of `refunds 64` (service and PostgreSQL) against that of `hot 64`, in one process and on one
 * database, in pairs whose order alternates. CPU time and not seconds, so that other work on the machine counts for little.
 *
 *   node bench/refund-cost.ts [--pairs 9] [--seconds 5] [--charges 100000] [--statements]
 *
 * With as many charges as this a charge has one refund or two at the end, as charges have; with few of them a refund adds up all those that its
 * charge got in the turns before.
 * `--statements` adds PostgreSQL's execution time of each statement for one refund and one transfer (`pg_stat_statements`, which has a cost of its
 * own: such a run gives no ratio to quote). Takes some two minutes. Exit code 1 when the median is above the limit.
 */
const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '9' },
    seconds: { type: 'string', default: '5' },
    charges: { type: 'string', default: '100000' },
    statements: { type: 'boolean', default: false },
  },
});
const pairs = Number(values.pairs);
const measuredMs = 1000 * Number(values.seconds);
/** Until the code is compiled that is run most. */
const warmupMs = 8_000;
/** Until all callers of a turn wait for answers. */
const rampMs = 500;
const limit = 1.1;
const kinds = ['transfers', 'refunds'] as const;
type Kind = (typeof kinds)[number];

const dataDir = mkdtempSync(join(tmpdir(), 'vintem-refund-cost-'));
// As root the server of the database runs as another user, who has to pass through.
chmodSync(dataDir, 0o711);

async function startDatabase() {
  const options = { dataDir, log: createLog('warn'), say: () => {} };
  const server = await (values.statements ? startCounting : startEmbedded)(options);
  await withoutAutovacuum(server.url);
  return server;
}

async function measure(): Promise<boolean> {
  const server = await startDatabase();
  const port = await freePort();
  const settings = {
    HOST: '127.0.0.1',
    DATA_DIR: dataDir,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'warn',
    TRANSFER_WAIT_MS: '0',
    PORT: `${port}`,
  };
  const world = await openWorld(readConfig(settings), server.url);
  const merchant = await createMerchant(world, 'Hot', 1, 1_000_000_000_000);
  const charged = await createCharged(world, 'Charged', Number(values.charges), 1_000);
  // As live accounts are: those of test mode have a clock, which every refund reads and no transfer does.
  await ask(server.url, 'UPDATE vintem.account SET test = false');
  const load = await startPart<{ url: string }>('./load.ts');
  const api = await startProgram(['api'], settings, 'vintem api ready');
  const postgres = postmasterOf(dataDir);
  const calls: Record<Kind, Plan['calls']> = {
    transfers: { kind: 'transfers', targets: targetsOf([merchant]), amountCents: 1_000 },
    refunds: { kind: 'refunds', targets: charged.targets },
  };
  const turn = async (kind: Kind, forMs: number): Promise<CpuEach> => {
    const origin = `http://127.0.0.1:${port}`;
    const sent = { origin, calls: calls[kind], callers: 64, connections: 64, answeredFile: null };
    if (values.statements) await forgetStatements(server.url);
    const plan = { ...sent, warmupMs: rampMs, measuredMs: forMs };
    const { cost, count } = await driveLoad(load, plan, { service: api.pid, postgres, simulator: null });
    if (values.statements) {
      const costs = await readStatements(server.url);
      console.log(`${kind}\n${textOfStatements(costs, count * (1 + rampMs / forMs))}`);
    }
    const { service = Number.NaN, postgres: database = Number.NaN } = cost?.microsecondsEach ?? {};
    return { service, postgres: database };
  };
  for (const kind of kinds) await turn(kind, warmupMs);
  const ratios: number[] = [];
  const parts: Record<Kind, CpuEach[]> = { transfers: [], refunds: [] };
  for (let pair = 0; pair < pairs; pair++) {
    for (const kind of pair % 2 === 0 ? kinds : kinds.toReversed())
      parts[kind].push(await turn(kind, measuredMs));
    const [transfer, refund] = [parts.transfers.at(-1), parts.refunds.at(-1)] as [CpuEach, CpuEach];
    ratios.push(allOf(refund) / allOf(transfer));
    console.log(
      `pair ${pair + 1}: a transfer ${textOf(transfer)}, a refund ${textOf(refund)}: ${ratios.at(-1)?.toFixed(3)}`,
    );
  }
  await api.stop();
  await world.close();
  await server.stop();
  const middle = (kind: Kind, part: keyof CpuEach): string =>
    median(parts[kind].map((one) => one[part])).toFixed(0);
  for (const kind of kinds)
    console.log(`${kind}: service ${middle(kind, 'service')} µs, PostgreSQL ${middle(kind, 'postgres')} µs`);
  console.log(
    `a refund is ${median(ratios).toFixed(3)} of a transfer (limit ${limit}); pairs ${ratios.map((one) => one.toFixed(2)).join(', ')}`,
  );
  return median(ratios) <= limit;
}

try {
  process.exitCode = (await measure()) ? 0 : 1;
} finally {
  await stopAll();
  rmSync(dataDir, { recursive: true, force: true });
}
