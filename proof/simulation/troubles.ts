import { placeHold, releaseHold } from '../../server/src/operate/accounts/holds.ts';
import type { Database } from './database.ts';
import { type Faults, noFaults } from './network.ts';
import type { Base } from './prelude.ts';
import { type Random, random } from './random.ts';
import type { Life } from './service.ts';
import type { SqlFaults, World } from './world.ts';

/** Troubles of a run beside the faults of single calls. */

export interface Scene {
  world: World;
  /** ms since 1970. */
  began: number;
  /** The process of this moment. */
  living(): Life;
  /** Adds a line to the story. */
  say(line: string): void;
}

/** How much of everything goes wrong in this seed: some seeds are calm, some concentrate on a few kinds. */
export function weather(chance: Random): {
  faults: Faults;
  sql: SqlFaults;
  refusals: number;
  transferWaitMs: number;
} {
  const faults = { ...noFaults };
  const storm = chance.pick([0, 0.05, 0.15, 0.4]);
  for (const kind of Object.keys(faults) as (keyof Faults)[])
    if (chance.chance(0.35)) faults[kind] = storm * chance.next();
  // There are few deliveries in a run.
  if (faults.hookDoubled > 0) faults.hookDoubled = Math.max(faults.hookDoubled, 0.25);
  const sql = chance.chance(0.4)
    ? { lost: 0.01 * chance.next(), contention: 0.03 * chance.next(), commitUnknown: 0.2 * chance.next() }
    : { lost: 0, contention: 0, commitUnknown: 0 };
  return {
    faults,
    sql,
    refusals: chance.pick([0, 0.3, 0.7]),
    transferWaitMs: chance.pick([6_000, 6_000, 0]),
  };
}

/** The database goes away for a while, at once or at a reported moment. */
export interface Absences {
  begin(kind: string, lastsMs: number): void;
  beginAt(kind: string, lastsMs: number): void;
  /** A thing has happened. */
  told(kind: string): void;
  /** From now on the database stays. */
  end(): void;
}

/** @param usual what the database does when it is there */
export function createAbsences({ world, say }: Pick<Scene, 'world' | 'say'>, usual: SqlFaults): Absences {
  const triggers = new Map<string, () => void>();
  let over = false;
  const begin = (kind: string, lastsMs: number): void => {
    if (over) return;
    say(`the database is away (${kind})`);
    world.count('database away');
    world.faults = { lost: 1, contention: 0, commitUnknown: 0 };
    world.at(world.now() + lastsMs, () => {
      if (!over) world.faults = usual;
    });
  };
  return {
    begin,
    beginAt: (kind, lastsMs) => triggers.set(kind, () => begin(kind, lastsMs)),
    told: (kind) => {
      const goAway = triggers.get(kind);
      triggers.delete(kind);
      goAway?.();
    },
    end: () => {
      over = true;
    },
  };
}

/** Begun by what a catch stands behind: an answer that cannot be written down, a look-up that cannot, a delivery that was applied and is not marked yet. */
export function planAbsence({ world }: Scene, absences: Absences, chance: Random): void {
  const kind = chance.pick(['any', 'send', 'query', 'delivery'] as const);
  const lastsMs = chance.pick([3_000, 12_000, 25_000]);
  world.at(world.now() + chance.below(40_000), () => {
    if (kind === 'any') absences.begin(kind, lastsMs);
    else absences.beginAt(kind, lastsMs);
  });
}

/** The wall clock of the process is wrong for a while. */
export function planClockJump({ world, began, living, say }: Scene, chance: Random): void {
  const by = chance.pick([-50_000, -5_000, 5_000, 50_000]);
  world.at(began + chance.below(60_000), () => {
    say(`the clock jumps by ${by} ms`);
    world.count('clock jump');
    const { process } = living();
    process.clockOffsetMs += by;
    world.at(world.now() + chance.below(300_000), () => {
      process.clockOffsetMs = 0;
    });
  });
}

/** The process is stopped for a while and continues. */
export function planFreeze({ world, began, living, say }: Scene, chance: Random): void {
  world.at(began + chance.below(10_000), () => {
    say('the process stands still');
    world.count('frozen');
    living().process.frozenUntil = world.now() + 20_000 + chance.below(20_000);
  });
}

/** The deaths of a run: at one call, or some calls after each other. @returns how many there were so far */
export function planDeaths(
  { world, say }: Scene,
  { seed, crash, deaths: wanted = 0 }: { seed: number; crash: Crash | null; deaths?: number },
): () => number {
  const fates = random(seed ^ 0xdead);
  let deaths = 0;
  const dieAt = (point: number, when: Crash['when']): void =>
    world.crashAt(point, when, () => {
      deaths++;
      say(`the process died ${when} call ${point}`);
      if (deaths < wanted) dieSoon();
    });
  /** Most deaths come while what the last one left is half done still. */
  const dieSoon = (): void =>
    dieAt(world.points() + fates.below(fates.pick([10, 30, 100])), fates.pick(['before', 'after'] as const));
  if (crash) dieAt(crash.point, crash.when);
  else if (wanted > 0) dieSoon();
  return () => deaths;
}

export interface Crash {
  point: number;
  when: 'before' | 'after';
}

/** An act of an operator, which a fault of the database may break off. */
const done = ({ world, say }: Scene, what: string, work: Promise<unknown>): Promise<void> =>
  work.then(
    () => {
      say(what);
      world.count(what);
    },
    () => world.count(`no ${what}`),
  );

const operatorOf = ({ living }: Scene) => ({ ...living().runtime, actor: 'operator' });

/** An operator holds some of an operation's money back, and perhaps lets it go again. */
export function planHold(scene: Scene, chance: Random, base: Base): void {
  const { world, living } = scene;
  const operationId = chance.pick(base.operations);
  const amountCents = chance.pick([300, 2_000, 9_000]);
  const after = chance.below(60_000);
  const releases = chance.chance(0.6) ? 1 + chance.below(60_000) : null;
  world.at(world.now() + after, () => {
    if (!living().process.alive) return;
    let held: string | null = null;
    void done(
      scene,
      'hold placed',
      placeHold(operatorOf(scene), { operationId, amountCents, reason: 'a court says so' }).then(({ id }) => {
        held = id;
      }),
    );
    if (releases === null) return;
    world.at(world.now() + releases, () => {
      if (held !== null && living().process.alive)
        void done(scene, 'hold released', releaseHold(operatorOf(scene), held));
    });
  });
}

/**
 * An operator releases what is held for disputes, at any moment of their lives: what their provider says of them afterwards holds nothing again (invariant 61).
 * @param overMs how long disputes are opened and moved
 */
export function planReleases(scene: Scene, db: Database, chance: Random, overMs: number): void {
  const { world, living } = scene;
  const looks = chance.pick([0, 2, 6]);
  for (let look = 0; look < looks; look++)
    world.at(world.now() + chance.below(overMs), () => {
      if (!living().process.alive) return;
      void db.acquire().then((leave) => {
        const [held] = db.run<{ id: string }>(
          `SELECT id FROM hold WHERE placed_by = 'dispute' AND released_at IS NULL ORDER BY placed_at, id LIMIT 1`,
          [],
        );
        leave();
        if (held && living().process.alive)
          void done(scene, 'hold of a dispute released', releaseHold(operatorOf(scene), held.id));
      });
    });
}

/** Other calls of another account found the provider down: the breaker is open, and a probe at a time decides what is sent. */
export function planOutage({ world, say }: Scene, db: Database, chance: Random): void {
  world.at(world.now() + chance.below(60_000), () => {
    void db.acquire().then((release) => {
      say('the breaker is open');
      world.count('breaker opened');
      const [now, probeAt] = [world.now(), world.now() + chance.below(30_000)];
      for (const call of ['charge', 'payout', 'refund', 'query'])
        db.run(
          `INSERT INTO breaker (connection, call, open, probe_at, changed_at) VALUES ('simulator', $1, true, $2, $3)
            ON CONFLICT (connection, call) DO UPDATE SET open = true, probe_at = excluded.probe_at, changed_at = excluded.changed_at`,
          [call, new Date(probeAt).toISOString(), new Date(now).toISOString()],
        );
      release();
    });
  });
}
