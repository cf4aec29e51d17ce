import { endsAt } from '../../server/src/operate/closes/day.ts';
import { closeDays } from '../../server/src/operate/closes/step.ts';
import { dayOf } from '../../server/src/operate/statement/period.ts';
import type { Service } from './service.ts';

/** Days of a service that are over before their time: what moves, moves today, and each later day has it as what moved since. */

const dayMs = 24 * 3_600_000;
const startedAt = Date.now();

/** The day that is so many after the first. */
export const inDays = (days: number): string => dayOf(startedAt + days * dayMs);

export const overAt = (day: string): number => endsAt(day) + 3_600_000;

export const closeDay = async ({ runtime, database }: Service, days: number, atMs = overAt(inDays(days))) => {
  const [row] = await database.admin<{ day: string | null }>(
    `SELECT to_char(closed_day, 'YYYY-MM-DD') AS day FROM installation`,
  );
  return closeDays(runtime, row?.day ?? null, atMs);
};

export type Close = Record<string, string | null>;

export const closesOf = ({ database }: Service): Promise<Close[]> =>
  database.admin<Close>(`SELECT *, to_char(day, 'YYYY-MM-DD') AS day FROM connection_close c ORDER BY c.day`);

export const costsOf = async ({ database }: Service): Promise<number> =>
  Number(
    (await database.admin<{ sum: string }>('SELECT coalesce(-sum(provider_cost), 0) AS sum FROM journal'))[0]
      ?.sum,
  );

/** The company's money at its providers, as the books have it. */
export const clearingOf = async ({ database }: Service): Promise<number> =>
  Number((await database.admin<{ sum: string }>('SELECT -sum(clearing) AS sum FROM journal'))[0]?.sum);

/** As the provider has it. */
export const balanceAt = async ({ simulator }: Service): Promise<number> =>
  (await simulator.control('GET', '/control/state')).body.balanceCents;
