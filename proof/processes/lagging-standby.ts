import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@vintem/testkit/free-port.ts';
import { programOn, testMerchant } from '@vintem/testkit/program.ts';
import { callWith, merchantOf } from '@vintem/testkit/service.ts';
import { newFolder, part } from '../chaos/processes.ts';
import { numbersGiven } from '../flags.ts';
import { random } from '../simulation/random.ts';
import { pause } from './clients.ts';
import { openPair, toolsLacking, toolsOf } from './pair.ts';
import { askForPayouts, compareAndRepeat } from './went-back.ts';

/**
 * An asynchronous standby that lags is promoted: payouts that were answered and sent are in no database any more. Two processes with folders of their
 * own have each to notice by itself: neither accepts a payout before `reconcile`, which completes, and repeats of all requests pay nothing twice.
 *
 *   node proof/processes/lagging-standby.ts [--seed N] [--rounds N]
 *
 * Needs PostgreSQL's own tools, as `standby.ts`.
 */
export interface LaggingFigures {
  notRun: string | null;
  rounds: number;
  /** By the processes that noticed: from the promotion to the answer that withdrawals are paused, ms. */
  noticedAfterMs: number[];
  lost: number;
  underWay: number;
  repeated: number;
  paidTwice: number;
  faults: string[];
}

export async function promoteLagging(options: {
  seed: number;
  rounds: number;
  say(line: string): void;
}): Promise<LaggingFigures> {
  const figures: LaggingFigures = {
    ...{ notRun: null, rounds: 0, noticedAfterMs: [], lost: 0, underWay: 0 },
    ...{ repeated: 0, paidTwice: 0, faults: [] },
  };
  const tools = toolsOf();
  if (tools === null) {
    figures.notRun = toolsLacking;
    options.say(`not run: ${toolsLacking}`);
    return figures;
  }
  for (let round = 0; round < options.rounds; round++) {
    await promoteOnce(tools, options.seed + round, figures).catch((error: Error) =>
      figures.faults.push(`seed ${options.seed + round}: ${error.message}`),
    );
    figures.rounds++;
    options.say(`lagging standby ${round + 1}: ${JSON.stringify(figures)}`);
  }
  return figures;
}

const noticedWithinMs = 30_000;

async function promoteOnce(tools: string, seed: number, figures: LaggingFigures): Promise<void> {
  const must = (holds: boolean, what: string): void => {
    if (!holds) figures.faults.push(`seed ${seed}: ${what}`);
  };
  const chance = random(seed);
  const folder = await newFolder('lagging');
  const pair = await openPair(tools, folder, { synchronous: false });
  const shared = {
    DATABASE_URL: pair.url,
    VINTEM_SECRET: Buffer.alloc(32, 7).toString('base64'),
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'error',
  };
  const program = await programOn(shared);
  const port = await freePort();
  const api = part('api', {
    words: ['api'],
    env: {
      ...shared,
      ...{ DATA_DIR: join(folder, 'api'), SIMULATOR_URL: program.simulatorUrl, PORT: `${port}` },
      PUBLIC_URL: program.url,
    },
    ready: 'vintem api ready',
    logFile: join(folder, 'api.jsonl'),
  });
  try {
    await program.start();
    await api.start();
    const { merchant, simulator } = await testMerchant(program);
    const { key, ownerId, operationId } = merchant;
    const call = callWith(`http://127.0.0.1:${port}/api/v1/public`, key);
    const besides = merchantOf({ ownerId, operationId, key, call }, simulator);
    await merchant.receive(100_000);
    await pair.caughtUp();
    pair.cutStandby();

    const isLate = chance.next() < 0.5;
    const asked = await askForPayouts({ merchant, simulator, isLate, must });
    // With 0 the standby may have the newest mark, and only its timeline shows the loss; later it lacks marks that processes have seen.
    await pause(chance.below(2) * 6_000);

    await pair.killPrimary();
    await pair.promote();
    const promotedAt = performance.now();
    for (const [name, one] of [
      ['start', merchant],
      ['api', besides],
    ] as const) {
      let said = '';
      while (said !== 'withdrawals_paused' && performance.now() - promotedAt < noticedWithinMs) {
        const answer = await one.transfer({ amountCents: 90_000 }).catch(() => null);
        said = answer?.status === 201 ? 'accepted' : (answer?.body?.code ?? 'no answer');
        if (said === 'accepted') break;
        await pause(50);
      }
      figures.noticedAfterMs.push(Math.round(performance.now() - promotedAt));
      must(said === 'withdrawals_paused', `after the promotion ${name} answered ${said}`);
    }
    const env = { ...shared, DATA_DIR: program.dataDir, SIMULATOR_URL: program.simulatorUrl };
    await compareAndRepeat({ merchant, simulator, env, asked, isLate, must }, figures);
  } finally {
    api.signal('SIGTERM');
    await Promise.race([api.exited(), pause(10_000)]);
    api.signal('SIGKILL');
    await program.remove();
    await pair.close();
    await rm(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const figures = await promoteLagging({ ...numbersGiven({ seed: 1, rounds: 2 }), say: console.log });
  console.log(JSON.stringify(figures));
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
