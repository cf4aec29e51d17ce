import type { Clock } from '../ports/clock.ts';
import type { Sql } from '../ports/sql.ts';
import type { ClockOffset } from '../store/database/clock-offset.ts';
import { createWriteProbe } from '../store/database/writes.ts';

export interface ReadinessDeps {
  sql: Sql;
  clock: Clock;
}

/** The reasons why a process cannot work; empty: it is ready. Never throws. */
export type Readiness = () => Promise<readonly string[]>;

/** A database that needs longer than this for one row is not one that requests should be sent to. */
const answersWithinMs = 2_000;

export function createReadiness(
  deps: ReadinessDeps,
  clockOffset: Pick<ClockOffset, 'isTolerable'>,
): Readiness {
  const writes = createWriteProbe(deps);
  return async () => {
    const problems = clockOffset.isTolerable() ? [] : ['the clock differs from the database'];
    if (!(await inTime(deps.clock, answersWithinMs, answers(deps.sql))))
      return [...problems, 'the database does not answer'];
    return (await inTime(deps.clock, answersWithinMs, writes()))
      ? problems
      : [...problems, 'the database cannot write'];
  };
}

/** Whether the database answers and its migrations have run. */
const answers = (sql: Sql): Promise<boolean> =>
  sql.run({ name: 'ready', text: 'SELECT 1 FROM installation' }).then(
    (rows) => rows.length === 1,
    () => false,
  );

/** The answer of `asked`, or false without one within `ms`. */
export async function inTime(clock: Clock, ms: number, asked: Promise<boolean>): Promise<boolean> {
  const cut = new AbortController();
  const late = clock.sleep(ms, cut.signal).then(() => false);
  const said = await Promise.race([asked, late]);
  cut.abort();
  return said;
}
