import { type Cast, createCast } from './cast.ts';
import type { Examined, Finding } from './checks.ts';
import type { Database } from './database.ts';
import { shortStormMs } from './disputes.ts';
import { outcomeOf, settleAll } from './ending.ts';
import { createMirror, type Mirror } from './evidence.ts';
import { type Base, prelude } from './prelude.ts';
import { scryptAtOnce } from './scrypt.ts';
import { createService, type Service } from './service.ts';
import { type Crash, planClockJump, planDeaths, planFreeze } from './troubles.ts';

/**
 * A run: a merchant does a few things, everything goes wrong as the seed wants it, perhaps a process dies at one port call,
 * another one is born; then everything is well again, two days pass, and what the service says is compared with what the
 * provider knows.
 */
/** Stories of a run beside charges and transfers, each a switch of the command. */
export interface Stories {
  /** One or two actions and two minutes of storm: few enough calls that a process can die at every one of them. */
  short?: boolean;
  /** People act as well: drafts are made and confirmed, incidents are resolved. */
  people?: boolean;
  /** Paid charges are refunded, and money in suspense may go back to its payer. */
  refunds?: boolean;
  /** Charges are taken back. */
  cancels?: boolean;
  /** Charges with a due date are made, changed and paid. */
  dues?: boolean;
  /** Payers pay by card. */
  cards?: boolean;
  /** Payment links and static codes are made and paid. */
  links?: boolean;
  /** Paid charges are contested, and the provider decides. */
  disputes?: boolean;
  /** With disputes: one is read before the payment that it speaks of. */
  early?: boolean;
  /** Days end, and are closed. */
  closes?: boolean;
}
export type StoryName = keyof Stories;
export const storyNames: readonly StoryName[] = [
  ...([
    'short',
    'people',
    'refunds',
    'cancels',
    'dues',
    'cards',
    'links',
    'disputes',
    'early',
    'closes',
  ] as const),
];

export interface Run extends Stories {
  seed: number;
  crash: Crash | null;
  /** So many deaths, each a few calls after the one before: in the middle of a recovery, too. */
  deaths?: number;
  /** Keep each step. */
  traced?: boolean;
}

export interface Outcome {
  points: number;
  /** How often a process died, and another one went on with what it had left. */
  deaths: number;
  findings: Finding[];
  seen: ReadonlyMap<string, number>;
  examined: Examined;
  /** The faults and actions of the seed, for the reader of a failure. */
  story: string[];
  /** Of everything that happened and of all data at the end: the same for the same run. */
  digest: string;
  /** Each step, where it was asked for. */
  trace: readonly string[] | null;
}

export interface Stage {
  /** @param how `afresh`: on tables as they are on disk when nothing was played yet, for what shall come out the same again */
  play(run: Run, how?: { afresh: boolean }): Promise<Outcome>;
  close(): Promise<void>;
}

/** Opens a stage on a migrated database: what every run begins with is made once and kept. */
export async function openStage(db: Database): Promise<Stage> {
  const scryptBack = scryptAtOnce();
  const service = createService(db);
  const base = await prelude(db, service);
  // Objects made at first use (prepared statements, compiled schemas) shall make no run unlike the next.
  const mirror = createMirror(db);
  db.restore();
  await play(db, service, mirror, base, { seed: 0, crash: null, people: true });
  return {
    play: (run, how) => {
      db.restore(how);
      return play(db, service, mirror, base, run);
    },
    close: () => {
      scryptBack();
      return db.close();
    },
  };
}

const hour = 3_600_000;

async function play(db: Database, service: Service, mirror: Mirror, base: Base, run: Run): Promise<Outcome> {
  const cast = await createCast(db, service, mirror, base, run);
  const deaths = planDeaths(cast.scene, run);
  const lastAt = planActs(cast, run);
  await storm(cast, lastAt + stormMsOf(cast, run));
  const points = cast.scene.world.points();
  await settleAll(cast);
  return { points, deaths: deaths(), ...(await outcomeOf(cast, mirror, run)) };
}

const shortStorms = [5_000, 20_000, shortStormMs];
const longStorms = [20_000, 120_000, 3 * hour];

function stormMsOf({ chance }: Cast, { deaths, short, disputes }: Run): number {
  if (deaths) return hour;
  if (!short) return chance.pick(longStorms);
  return disputes ? shortStormMs : chance.pick(shortStorms);
}

/** The merchant's acts, and the process's troubles meanwhile. @returns when the last act is */
function planActs({ scene, merchant, chance }: Cast, run: Run): number {
  const { world } = scene;
  const acts = run.short ? 1 + chance.below(2) : 2 + chance.below(4);
  let when = world.now();
  for (let one = 0; one < acts; one++) {
    when += chance.pick([0, 1, 500, 8_000, 40_000]);
    const act = merchant.plan();
    world.at(when, () => void act());
  }
  if (chance.chance(0.15)) planClockJump(scene, chance);
  if (chance.chance(0.15)) planFreeze(scene, chance);
  return when;
}

/** Until it ends: whenever the process dies, another one is born. */
async function storm({ scene: { world, living }, rebirth, chance }: Cast, untilMs: number): Promise<void> {
  while (await world.run(() => !living().process.alive, untilMs)) {
    await world.run(() => false, world.now() + 1_100 + chance.below(20_000));
    await rebirth();
  }
}
