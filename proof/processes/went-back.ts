import { cp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Program, programOn, testMerchant } from '@vintem/testkit/program.ts';
import { type Merchant, type Simulator, until } from '@vintem/testkit/service.ts';
import { truthOf } from '@vintem/testkit/truth.ts';
import { command } from '../chaos/processes.ts';
import { numbersGiven } from '../flags.ts';
import { random } from '../simulation/random.ts';
import { beginCards, type LostCards } from './lost-cards.ts';

/**
 * The database goes back and no command of ours says so: its folder is put back as it was some payments ago, as a snapshot of a disk is. Payouts of the
 * lost time are completed or still under way, as the seed says, and payments by card moved in it as well (`lost-cards.ts`). Each round: the program that starts on it pauses by itself, says so in an incident,
 * stops the account, and the repeats of all requests pay nothing twice.
 *
 *   node proof/processes/went-back.ts [--seed N] [--rounds N]
 */
export interface WentBackFigures {
  rounds: number;
  lost: number;
  underWay: number;
  repeated: number;
  paidTwice: number;
  /** Payments by card that were approved, before the loss or in it. */
  cards: number;
  cardRefunds: number;
  faults: string[];
}

export async function wentBack(options: {
  seed: number;
  rounds: number;
  say(line: string): void;
}): Promise<WentBackFigures> {
  const figures: WentBackFigures = {
    rounds: 0,
    lost: 0,
    underWay: 0,
    repeated: 0,
    paidTwice: 0,
    cards: 0,
    cardRefunds: 0,
    faults: [],
  };
  for (let round = 0; round < options.rounds; round++) {
    const program = await programOn({ LOG_LEVEL: 'error' });
    try {
      await wentBackOnce(program, options.seed + round, figures);
      figures.rounds++;
      options.say(`went back ${round + 1}: ${JSON.stringify(figures)}`);
    } finally {
      await program.remove();
    }
  }
  return figures;
}

async function wentBackOnce(program: Program, seed: number, figures: WentBackFigures): Promise<void> {
  const must = (holds: boolean, what: string) => {
    if (!holds) figures.faults.push(`seed ${seed}: ${what}`);
  };
  const chance = random(seed);
  const env = { DATA_DIR: program.dataDir, SIMULATOR_URL: program.simulatorUrl, LOG_LEVEL: 'error' };
  await program.start();
  const { merchant, simulator } = await testMerchant(program);
  await merchant.receive(100_000);
  const cards = await beginCards({ merchant, simulator, dataDir: program.dataDir, env, must });
  await program.stop();
  const [folder, kept] = [join(program.dataDir, 'postgres'), join(program.dataDir, 'kept')];
  await cp(folder, kept, { recursive: true, preserveTimestamps: true });

  await program.start();
  await cards.atLoss();
  const isLate = chance.next() < 0.5;
  const asked = await askForPayouts({ merchant, simulator, isLate, must });
  await program.stop();
  await rm(folder, { recursive: true });
  await rename(kept, folder);

  await program.start();
  const refused = await merchant.transfer({ amountCents: 20_000 });
  must(
    refused.body.code === 'withdrawals_paused',
    `before reconcile a transfer was answered ${refused.body.code}`,
  );
  await compareAndRepeat({ merchant, simulator, env, asked, isLate, must, besides: cards }, figures);
  const { cards: pages, refunds } = await cards.repeatAll();
  figures.cards += pages;
  figures.cardRefunds += refunds;
  const again = await command(['verify', '--full'], env);
  must(again.code === 0, `verify ended with ${again.code}: ${again.text.slice(0, 1_000)}`);
}

/** The payouts that the database is going to lose: three, which the provider has and reports to no process. */
export async function askForPayouts({
  merchant,
  simulator,
  isLate,
  must,
}: Omit<LostPayouts, 'env' | 'asked' | 'besides'>): Promise<LostPayouts['asked']> {
  await simulator.behave({ webhook: 'drop', ...(isLate ? { settleAfterMs: 3_600_000 } : {}) });
  const asked: { request: { amountCents: number; requestKey: string }; id: string }[] = [];
  for (let n = 0; n < 3; n++) {
    const request = { amountCents: 20_000 + n * 100, requestKey: crypto.randomUUID() };
    const { status, body } = await merchant.transfer(request);
    must(status === 201, `a transfer was answered ${status} ${body?.code}`);
    asked.push({ request, id: body.id });
  }
  await until(async () => (await truthOf(simulator)).payouts.length === asked.length);
  return asked;
}

interface LostPayouts {
  merchant: Merchant;
  simulator: Simulator;
  /** Of the operator's commands. */
  env: Record<string, string>;
  /** The payouts of the lost time, out of 1,000.00 that were received before it. */
  asked: readonly { request: { amountCents: number; requestKey: string }; id: string }[];
  /** They are under way at the provider. */
  isLate: boolean;
  /** Lost as well. */
  besides?: Pick<LostCards, 'afterReconcile' | 'balanceCents'>;
  must(holds: boolean, what: string): void;
}

/** From the pause on: the comparison ends it on evidence alone, the account is stopped, and repeats of all requests pay nothing twice. */
export async function compareAndRepeat(
  { merchant, simulator, env, asked, isLate, must, besides }: LostPayouts,
  figures: Pick<WentBackFigures, 'lost' | 'underWay' | 'repeated' | 'paidTwice'>,
): Promise<void> {
  type Incidents = { incidents: { kind: string }[] };
  const kindsOf = async () =>
    (await command<Incidents>(['incident', 'list'], env)).json?.incidents.map(({ kind }) => kind) ?? [];
  must((await kindsOf()).includes('lost_time'), 'no incident says that the database went back');
  type Compared = { unexpected: number; underWay: number; restoreEnded: boolean; waitsFor: string[] };
  const compared = await command<Compared>(['reconcile'], env);
  figures.lost += compared.json?.unexpected ?? 0;
  figures.underWay += compared.json?.underWay ?? 0;
  must(compared.json?.restoreEnded === !isLate, `reconcile: ${compared.text.slice(0, 500)}`);
  must(compared.code === (isLate ? 3 : 0), `reconcile ended with ${compared.code}`);
  await simulator.behave({});
  if (isLate) {
    for (const { id } of asked)
      await simulator.control('POST', `/control/payouts/${id.replaceAll('-', '')}/complete`);
    const again = await command<Compared>(['reconcile'], env);
    must(again.json?.restoreEnded === true, `reconcile once they had ended: ${again.text.slice(0, 500)}`);
  }
  await besides?.afterReconcile();
  const other = await merchant.transfer({ amountCents: 20_000 });
  must(other.body.code === 'withdrawals_blocked', `a stopped account was answered ${other.body.code}`);
  for (const { request, id } of asked) {
    const { status, body } = await merchant.transfer(request);
    figures.repeated++;
    must(status === 201 && body.id === id, `a repeat was answered ${status} ${body?.code} ${body?.id}`);
    await until(async () => (await merchant.call('GET', `/payments/${id}`)).body.status === 'completed');
  }
  const { payouts } = await truthOf(simulator);
  const twice = payouts.filter(({ timesAccepted }) => timesAccepted !== 1);
  figures.paidTwice += twice.length;
  must(twice.length === 0 && payouts.length === asked.length, `payouts: ${JSON.stringify(payouts)}`);
  const sent = asked.reduce((sum, { request }) => sum + request.amountCents, 0);
  must(
    (await merchant.balanceCents()) === 100_000 - sent + (besides?.balanceCents() ?? 0),
    'the balance is not what was received less what was sent',
  );
  const verified = await command(['verify', '--full'], env);
  must(verified.code === 0, `verify ended with ${verified.code}: ${verified.text.slice(0, 1_000)}`);
}

if (import.meta.main) {
  const figures = await wentBack({ ...numbersGiven({ seed: 1, rounds: 2 }), say: console.log });
  console.log(JSON.stringify(figures));
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
