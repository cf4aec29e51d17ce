import { numbersGiven } from '../flags.ts';
import { random } from '../simulation/random.ts';
import { pause } from './clients.ts';
import { faultsOn } from './faults.ts';
import { beginLoad, conclude, firstMerchant, type LoadFigures, noLoad, openScene } from './scene.ts';

/**
 * Kill loops on the real program: `vintem start` under load, and in the middle of it kill -9 of the service, of PostgreSQL
 * or of everything, or a service that stands still longer than its leases. Clients record what they saw; a checker
 * that knows nothing of the inside compares it with the provider's truth and the data at the end.
 */
export interface KillFigures extends LoadFigures {
  loops: number;
  kills: Record<string, number>;
  cutConnections: number;
  /** From a death to the first answer, ms. */
  servingAfterMs: number[];
  seconds: number;
}

export async function killLoop(options: {
  seed: number;
  loops: number;
  clients: number;
  say(line: string): void;
}): Promise<KillFigures> {
  const began = performance.now();
  const chance = random(options.seed);
  const figures: KillFigures = {
    loops: 0,
    kills: {},
    cutConnections: 0,
    servingAfterMs: [],
    seconds: 0,
    ...noLoad(),
  };
  await using scene = await openScene('kill');
  const service = scene.launch(['start']);
  const dies = () => void scene[Symbol.asyncDispose]().then(() => process.exit(130));
  process.once('SIGTERM', dies).once('SIGINT', dies);
  scene.atEnd(async () => void process.off('SIGTERM', dies).off('SIGINT', dies));
  await service.start();
  const { call } = firstMerchant(scene, service);
  using load = await beginLoad(scene, call, options);
  const faults = faultsOn({ dataDir: scene.env.DATA_DIR as string, main: service });
  const strikes = {
    everything: () => faults.killEverything(),
    service: () => faults.kill(service),
    database: () => faults.killDatabase(),
    async connections() {
      figures.cutConnections += await faults.cutConnections(chance.below(3) + 1);
    },
    stop: () => faults.freeze(service, 17_000),
  };

  for (let loop = 0; loop < options.loops; loop++) {
    await pause(300 + chance.below(1_500));
    const how = chance.pick(Object.keys(strikes) as (keyof typeof strikes)[]);
    figures.kills[how] = (figures.kills[how] ?? 0) + 1;
    const died = performance.now();
    await strikes[how]();
    while ((await call('GET', '/account').catch(() => null))?.status !== 200) await pause(50);
    const servingAfterMs = Math.round(performance.now() - died);
    if (how !== 'stop') figures.servingAfterMs.push(servingAfterMs);
    figures.loops++;
    options.say(
      `loop ${loop + 1}: ${how}, ${load.clients.counts.calls} calls, serving after ${servingAfterMs} ms`,
    );
  }
  await conclude(scene, load, figures);
  figures.seconds = Math.round((performance.now() - began) / 1000);
  return figures;
}

if (import.meta.main) {
  const figures = await killLoop({
    ...numbersGiven({ seed: 1, loops: 4, clients: 8 }),
    say: console.log,
  });
  console.log(JSON.stringify(figures));
  for (const fault of figures.faults) console.log(`VIOLATION: ${fault}`);
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
