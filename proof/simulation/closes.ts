import { createCloses as createSteps } from '../../server/src/operate/closes/step.ts';
import type { Bank } from '../../simulator/src/bank.ts';
import type { Finding } from './checks.ts';
import type { Database } from './database.ts';
import { pixKey } from './prelude.ts';
import type { Random } from './random.ts';
import type { Life } from './service.ts';
import type { World } from './world.ts';

/** Days end while everything goes wrong, and the service closes them: each once, in their order, whichever process dies meanwhile. */
export interface Closes {
  /** Plans what happens during the storm. */
  plan(): void;
  /** Resolves when the day of the story is over and closed. */
  settle(): Promise<void>;
  /** The last day agrees with what the provider holds, once everything is well again. */
  check(provided: { unposted: boolean }): Finding[];
}

const hour = 3_600_000;
const day = 24 * hour;
/** Ten minutes after midnight in São Paulo. */
const closesAt = 3 * hour + 10 * 60_000;
/** As often as a worker that found nothing due looks again after a comparison that failed. */
const stepEveryMs = 2 * 60_000 + 1_000;
const stormMs = 4 * hour;

/** The next time, half a minute before a day is closed. */
export const beforeClose = (now: number): number =>
  Math.ceil((now - closesAt) / day) * day + closesAt - 30_000;

export function createCloses(parts: {
  world: World;
  db: Database;
  bank: Bank;
  living(): Life;
  chance: Random;
  say(line: string): void;
}): Closes {
  const { world, db, bank, living, chance, say } = parts;
  let over = false;
  /** Of which the books know nothing: the provider has it while the first days are closed. */
  const plantedCents = chance.pick([0, 1, -1]);

  /** A process keeps what it has summed up, and its successor begins anew. */
  const steps = new WeakMap<Life['home'], () => Promise<boolean>>();
  async function step(): Promise<void> {
    const { process, home } = living();
    const ofLife = steps.get(home) ?? createSteps(home);
    steps.set(home, ofLife);
    if (process.alive) await ofLife().catch(() => world.count('day not closed'));
  }
  const give = (cents: number): void => {
    const account = bank.accounts.get(pixKey);
    if (account) account.balanceCents += cents;
  };
  const closed = (): Close[] =>
    db.run<Close>(
      `SELECT to_char(day, 'YYYY-MM-DD') AS day, difference_cents AS difference, provider_cents AS provided
        FROM connection_close ORDER BY day`,
      [],
    );

  return {
    plan() {
      give(plantedCents);
      for (let at = 0; at < stormMs; at += stepEveryMs)
        world.at(world.now() + 30_500 + at, () => {
          if (!over) void step();
        });
    },
    async settle() {
      over = true;
      give(-plantedCents);
      const next = beforeClose(world.now()) + 30_000;
      const last = new Date(next - day).toISOString().slice(0, 10);
      await world.run(() => false, next);
      const until = next + 2 * hour;
      while (closed().at(-1)?.day !== last && world.now() < until) {
        let ended = false;
        void step().then(() => {
          ended = true;
        });
        await world.run(() => ended, until);
        await world.run(() => false, world.now() + stepEveryMs);
      }
      for (const { day: closedDay, difference } of closed())
        say(`closed ${closedDay}, the difference is ${difference}`);
    },
    check({ unposted }) {
      const days = closed();
      world.count(days.length > 1 ? 'days closed' : 'one day closed');
      if (days.some(({ difference }) => (difference ?? 0) !== 0)) world.count('a close found a difference');
      const last = days.at(-1);
      if (last?.provided == null) return [{ invariant: 58, what: 'the last day was not compared' }];
      if (last.difference === 0 || unposted) return [];
      return [{ invariant: 58, what: `the last day differs by ${last.difference} cents` }];
    },
  };
}

interface Close {
  day: string;
  difference: number | null;
  /** The provider's figure, cents. */
  provided: number | null;
}
