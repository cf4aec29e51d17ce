import type { Runtime } from '../../server/src/main/runtime.ts';
import { dayAfter, dayBefore, endsAt } from '../../server/src/operate/closes/day.ts';
import { createSums } from '../../server/src/operate/closes/since.ts';
import { closeDays } from '../../server/src/operate/closes/step.ts';
import { dayOf } from '../../server/src/operate/statement/period.ts';

const hourMs = 3_600_000;
/** Statements that sum up journals in a second comparison: twelve readings, each of two looks, while callers move money. */
const summedAgainMost = 60;

/**
 * The daily close of every operation, of yesterday and of today, as though today were over: the first one of an operation has all of its journals before. Then
 * the comparison with a provider whose account never agrees, since the seeds are not in it, twice; and the close that leaves it out.
 * @param runsOf how often a statement ran so far
 */
export async function closeAll(
  runtime: Runtime,
  nowMs: number,
  runsOf: (name: string) => number,
): Promise<string> {
  const today = dayOf(nowMs);
  const sums = createSums();
  const summed = async (closedDay: string | null, at: number): Promise<number> => {
    const before = runsOf('close_since');
    await closeDays(runtime, closedDay, at, sums);
    return runsOf('close_since') - before;
  };
  const first = await summed(null, endsAt(dayBefore(today)) + hourMs);
  await summed(dayBefore(today), endsAt(today) + hourMs);
  const again = await summed(today, endsAt(today) + hourMs);
  if (again > summedAgainMost)
    throw new Error(`a comparison that waited summed up ${again} times 5,000 journals again`);
  await summed(today, endsAt(today) + 13 * hourMs);
  const [row] = await runtime.sql.run<{ closes: number; day: string }>({
    name: 'size_closes',
    text: `SELECT (SELECT count(*) FROM day_close) AS closes, to_char(max(day), 'YYYY-MM-DD') AS day FROM connection_close`,
  });
  if (row?.day !== today) throw new Error(`the connection is closed to ${row?.day}, and not to ${today}`);
  return `${row.closes} closes of operations up to the one before ${dayAfter(today)}; sums of 5,000 journals: ${first} in a first comparison, ${again} in a later one`;
}
