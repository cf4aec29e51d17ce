import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@vintem/testkit/free-port.ts';
import { command, newFolder, part, percentile } from '../chaos/processes.ts';
import { numbersGiven } from '../flags.ts';
import { random } from '../simulation/random.ts';
import { callWith, fund, pause, restAndCheck, startClients } from './clients.ts';
import { openPair, toolsLacking, toolsOf } from './pair.ts';

/**
 * A streaming standby with synchronous commit, promoted in the middle of load: the primary dies by kill -9, with every backend, and
 * its data is never looked at again. Each request that was answered must be there. Each round makes its own pair of servers.
 *
 *   node proof/processes/standby.ts [--seed N] [--rounds N]
 *
 * Needs PostgreSQL's own tools (initdb, pg_basebackup, pg_ctl: the Debian package `postgresql`), which the embedded server lacks:
 * PG_BIN, or the newest of /usr/lib/postgresql. Without them it says so and is not run.
 */
export interface StandbyFigures {
  notRun: string | null;
  promotions: number;
  calls: number;
  unanswered: number;
  acknowledged: number;
  missing: number;
  /** From the primary's death to the first 201, ms. */
  servingAfterMs: number[];
  faults: string[];
}

export async function promoteStandby(options: {
  seed: number;
  rounds: number;
  clients: number;
  say(line: string): void;
}): Promise<StandbyFigures> {
  const figures: StandbyFigures = {
    notRun: null,
    promotions: 0,
    calls: 0,
    unanswered: 0,
    acknowledged: 0,
    missing: 0,
    servingAfterMs: [],
    faults: [],
  };
  const tools = toolsOf();
  if (tools === null) {
    figures.notRun = toolsLacking;
    options.say(`not run: ${figures.notRun}`);
    return figures;
  }
  const chance = random(options.seed);
  for (let round = 0; round < options.rounds; round++)
    await promoteOnce(tools, options, chance.below(2_000), round, figures);
  return figures;
}

async function promoteOnce(
  tools: string,
  options: { seed: number; clients: number; say(line: string): void },
  extraMs: number,
  round: number,
  figures: StandbyFigures,
): Promise<void> {
  const folder = await newFolder('standby');
  // COMMIT is answered when the standby has it on disk.
  const pair = await openPair(tools, folder, { synchronous: true });
  const [port, simulatorPort] = [await freePort(), await freePort()];
  const env = {
    DATA_DIR: join(folder, 'data'),
    DATABASE_URL: pair.url,
    PORT: `${port}`,
    SIMULATOR_PORT: `${simulatorPort}`,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'error',
  };
  const service = part('start', {
    words: ['start'],
    env,
    ready: 'vintem ready',
    logFile: join(folder, 'log.jsonl'),
  });
  try {
    await service.start().catch((error: Error) => {
      throw new Error(`${error.message}: ${readFileSync(join(folder, 'log.jsonl'), 'utf8').slice(-1_000)}`);
    });
    const key = /vintem test key (vtm_test_\S+)/.exec(service.output())?.[1] ?? '';
    const call = callWith(`http://127.0.0.1:${port}`, key);
    const simulatorUrl = `http://127.0.0.1:${simulatorPort}`;
    const operations = await fund(call, simulatorUrl);
    using clients = startClients({
      call,
      operations,
      seed: options.seed + round,
      clients: options.clients,
      historyPath: join(folder, 'history.ndjson'),
    });
    await pause(2_000 + extraMs);

    const before = clients.counts.acknowledged;
    await pair.killPrimary();
    const died = performance.now();
    pair.promote();
    // Answers over the old connections are no sign of the new ones.
    const atSwitch = clients.counts.acknowledged;
    while (clients.counts.acknowledged === atSwitch) {
      if (performance.now() - died > 60_000)
        throw new Error('nothing was acknowledged for 60 s after the promotion');
      await pause(20);
    }
    figures.servingAfterMs.push(Math.round(performance.now() - died));
    figures.promotions++;
    await pause(2_000);
    await clients.stop();
    figures.calls += clients.counts.calls;
    figures.unanswered += clients.counts.unanswered;
    figures.acknowledged += clients.counts.acknowledged;
    const faults = await restAndCheck(folder, call, simulatorUrl, operations);
    figures.missing += faults.filter((fault) => fault.includes('is gone')).length;
    const verified = await command(['verify', '--full'], env);
    if (verified.code !== 0)
      faults.push(`verify ended with ${verified.code}: ${verified.text.slice(0, 2_000)}`);
    figures.faults.push(...faults.map((fault) => `round ${round + 1}: ${fault}`));
    options.say(
      `promotion ${round + 1}: ${before} acknowledged before, ${clients.counts.acknowledged} in all, ${faults.length} faults, serving after ${figures.servingAfterMs.at(-1)} ms`,
    );
  } finally {
    if (service.isRunning()) {
      service.signal('SIGTERM');
      await Promise.race([service.exited(), pause(10_000)]);
      service.signal('SIGKILL');
    }
    await pair.close();
    await rm(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const figures = await promoteStandby({
    ...numbersGiven({ seed: 1, rounds: 2, clients: 8 }),
    say: console.log,
  });
  console.log(JSON.stringify({ ...figures, medianMs: percentile(figures.servingAfterMs, 0.5) }));
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
