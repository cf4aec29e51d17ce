import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { command, commandsWith } from '../chaos/processes.ts';
import { numbersGiven } from '../flags.ts';
import { type CardFigures, openCardTrade } from './card-trade.ts';
import { pause } from './clients.ts';
import { askWhilePaused, completePending, countLost, repeatAll, transfersAsked } from './lost-interval.ts';
import { beginLoad, firstMerchant, openScene } from './scene.ts';

/**
 * Backup, restore, reconcile. A copy is made under load, the load continues (the lost interval), then the service ends and
 * only the copy and the provider's truth are left. Each round: `verify --full` on the restored copy (consistent, although made while
 * running); every transfer is refused as paused until `reconcile` has ended; then every request key of the history is sent once more,
 * including those of the lost interval, and the provider must have accepted none of them twice. Beside the transfers payments by card move at two acquirers
 * (`card-trade.ts`).
 *
 *   node proof/processes/restore.ts [--seed N] [--rounds N]
 */
export interface RestoreFigures {
  rounds: number;
  acknowledged: number;
  /** Acknowledged, and not in the copy: what was lost with the database. */
  lostInterval: number;
  pausedAnswers: number;
  postedByReconcile: number;
  repeated: number;
  paidTwice: number;
  /** At both acquirers. */
  cards: Omit<CardFigures, 'faults'> & { lost: number };
  faults: string[];
}

export async function restoreRounds(options: {
  seed: number;
  rounds: number;
  clients: number;
  say(line: string): void;
}): Promise<RestoreFigures> {
  const figures: RestoreFigures = {
    rounds: 0,
    acknowledged: 0,
    lostInterval: 0,
    pausedAnswers: 0,
    postedByReconcile: 0,
    repeated: 0,
    paidTwice: 0,
    cards: { lost: 0, pages: 0, approved: 0, refunds: 0, chargebacks: 0, beforePerson: 0 },
    faults: [],
  };
  for (let round = 0; round < options.rounds; round++) await restoreOnce(options, round, figures);
  return figures;
}

async function restoreOnce(
  options: Omit<Parameters<typeof restoreRounds>[0], 'rounds'>,
  round: number,
  figures: RestoreFigures,
): Promise<void> {
  const must = (holds: boolean, what: string) => {
    if (!holds) figures.faults.push(`round ${round + 1}: ${what}`);
  };
  await using scene = await openScene('restore');
  const { folder, simulatorUrl } = scene;
  // The secret is kept apart from the copy, and the provider's truth is not ours to lose.
  const kept = {
    VINTEM_SECRET: randomBytes(32).toString('base64'),
    SIMULATOR_STATE: join(folder, 'simulator'),
  };
  const envOn = (data: string): Record<string, string> => {
    const dataDir = join(folder, data);
    mkdirSync(dataDir, { mode: 0o711 });
    return { ...scene.env, ...kept, DATA_DIR: dataDir };
  };
  const [first, second] = [envOn('first'), envOn('second')];
  const before = scene.launch(['start'], { env: first });
  const after = scene.launch(['start'], { env: second, name: 'restored' });
  await before.start();
  const { seed, clients: many } = options;
  const cards = await openCardTrade({ ...scene, run: commandsWith(first), seed: seed + round });
  cards.begin();
  using load = await beginLoad(scene, firstMerchant(scene, before).call, {
    seed: seed + round,
    clients: many,
  });
  const { call, operations, clients } = load;
  await pause(2_000);
  const copy = join(folder, 'copy');
  const made = await command(['backup', copy], first);
  must(made.code === 0, `backup ended with ${made.code}: ${made.text.slice(0, 500)}`);
  const atCopy = clients.counts.acknowledged;
  for (let tries = 0; tries < 300 && clients.counts.acknowledged < atCopy + 40; tries++) await pause(100);
  await Promise.all([clients.stop(), cards.halt()]);
  const transfers = transfersAsked(join(folder, 'history.ndjson'));
  figures.acknowledged += transfers.filter(({ paymentId }) => paymentId !== null).length;
  before.signal('SIGTERM');
  await before.exited();

  // The old data folder is never looked at again.
  const restored = await command(['restore', copy], second);
  must(restored.code === 0, `restore ended with ${restored.code}: ${restored.text.slice(0, 500)}`);
  await after.start();
  const consistent = await command(['verify', '--full'], second);
  must(consistent.code === 0, `verify of the copy ended with ${consistent.code}`);
  const { lost, looked } = await countLost(call, transfers);
  figures.lostInterval += lost;
  must(
    lost > 0,
    `the interval after the copy held no transfer, so nothing was shown: ${JSON.stringify(looked)}`,
  );
  figures.pausedAnswers += await askWhilePaused(call, transfers.slice(-10), must);
  const lostPages = await cards.askEarly();
  figures.cards.lost += lostPages;
  must(lostPages > 0, 'the interval after the copy held no payment by card, so nothing was shown of them');
  // A payout of the lost time that is under way keeps the pause (`went-back.ts`).
  await completePending(simulatorUrl);
  type Compared = { missing: number; unexpected: number; different: number; restoreEnded: boolean };
  const compared = await command<Compared>(['reconcile'], second);
  must(
    compared.code === 0 && compared.json?.restoreEnded === true,
    `reconcile ended with ${compared.code}: ${compared.text.slice(0, 500)}`,
  );
  figures.postedByReconcile += compared.json?.unexpected ?? 0;

  const paidTwice = await repeatAll({ call, operations, simulatorUrl, must }, transfers);
  figures.repeated += transfers.length;
  figures.paidTwice += paidTwice;
  const { faults, ...ended } = await cards.conclude(join(folder, 'second'));
  for (const fault of faults) must(false, fault);
  for (const name of Object.keys(ended) as (keyof typeof ended)[]) figures.cards[name] += ended[name];
  const verified = await command(['verify', '--full'], second);
  must(
    verified.code === 0,
    `verify at the end ended with ${verified.code}: ${verified.text.slice(0, 2_000)}`,
  );
  figures.rounds++;
  options.say(
    `restore ${round + 1}: ${transfers.length} transfers, ${lost} of them lost with the database, ${compared.json?.unexpected} posted by reconcile, ${paidTwice} paid twice; by card so far ${JSON.stringify(figures.cards)}`,
  );
}

if (import.meta.main) {
  const figures = await restoreRounds({
    ...numbersGiven({ seed: 1, rounds: 2, clients: 6 }),
    say: console.log,
  });
  console.log(JSON.stringify(figures));
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
