import { percentile } from '../chaos/processes.ts';
import { numbersGiven } from '../flags.ts';
import { random } from '../simulation/random.ts';
import { pause } from './clients.ts';
import { openPair, toolsLacking, toolsOf } from './pair.ts';
import { beginLoad, conclude, firstMerchant, type LoadFigures, noLoad, openScene } from './scene.ts';

/**
 * A streaming standby with synchronous commit, promoted in the middle of load: the primary dies by kill -9, with every backend, and
 * its data is never looked at again. Each request that was answered must be there. Each round makes its own pair of servers.
 *
 *   node proof/processes/standby.ts [--seed N] [--rounds N]
 *
 * Needs PostgreSQL's own tools (initdb, pg_basebackup, pg_ctl: the Debian package `postgresql`), which the embedded server lacks:
 * PG_BIN, or the newest of /usr/lib/postgresql. Without them it says so and is not run.
 */
export interface StandbyFigures extends LoadFigures {
  notRun: string | null;
  promotions: number;
  /** From the primary's death to the first 201, ms. */
  servingAfterMs: number[];
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
    servingAfterMs: [],
    ...noLoad(),
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
  await using scene = await openScene('standby');
  // COMMIT is answered when the standby has it on disk.
  const pair = await openPair(tools, scene.folder, { synchronous: true });
  scene.atEnd(pair.close);
  scene.env.DATABASE_URL = pair.url;
  const service = scene.launch(['start']);
  await service.start();
  const { seed, clients: many } = options;
  using load = await beginLoad(scene, firstMerchant(scene, service).call, {
    seed: seed + round,
    clients: many,
  });
  const { clients } = load;
  await pause(2_000 + extraMs);

  const before = clients.counts.acknowledged;
  await pair.killPrimary();
  const died = performance.now();
  await pair.promote();
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
  const faults = await conclude(scene, load, figures);
  options.say(
    `promotion ${round + 1}: ${before} acknowledged before, ${clients.counts.acknowledged} in all, ${faults.length} faults, serving after ${figures.servingAfterMs.at(-1)} ms`,
  );
}

if (import.meta.main) {
  const figures = await promoteStandby({
    ...numbersGiven({ seed: 1, rounds: 2, clients: 8 }),
    say: console.log,
  });
  console.log(JSON.stringify({ ...figures, medianMs: percentile(figures.servingAfterMs, 0.5) }));
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
