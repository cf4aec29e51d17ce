import { createLines } from '../../ground/lines.ts';

/**
 * The calls that wait for a connection, in a line for each caller. The lines are served in turn, so a caller with a hundred calls under way delays
 * another one by a call and not by a hundred; alone it may use everything. Every second turn belongs to what is done for everybody: the till
 * carries the payments of all callers.
 *
 * Rejected: one line in order of arrival. At 850 statements a second, 75 calls of one merchant made every other one wait 90 ms for each statement.
 */
export interface Turns<Call> {
  /** @returns false: too many calls of this caller wait. @param who null: it is for everybody */
  add(who: string | null, call: Call): boolean;
  /** The one whose turn it is. */
  first(): Call | undefined;
  /** Removes the one whose turn it is. */
  take(): Call | undefined;
  /** Removes those for which `isLate` holds; in each line the longest wait is first. */
  takeLate(isLate: (call: Call) => boolean): Call[];
  count(): number;
}

/** Twice as many as a key may have under way. Beyond it there is no time to answer them. */
export const waitingMost = 512;

/** The one line of what is for everybody. */
const shared = '';

export function createTurns<Call>(): Turns<Call> {
  const everybody = createLines<Call>();
  const callers = createLines<Call>();
  let everybodyNext = true;
  let count = 0;

  const isForEverybody = (): boolean => everybody.owners() > 0 && (everybodyNext || callers.owners() === 0);

  return {
    add(who, call) {
      if (who !== null && callers.waiting(who) >= waitingMost) return false;
      if (who === null) everybody.add(shared, call);
      else callers.add(who, call);
      count++;
      return true;
    },
    first: () => (isForEverybody() ? everybody : callers).first(),
    take() {
      const isShared = isForEverybody();
      const call = (isShared ? everybody : callers).take();
      everybodyNext = !isShared;
      if (call !== undefined) count--;
      return call;
    },
    takeLate(isLate) {
      const late = [...everybody.takeWhile(isLate), ...callers.takeWhile(isLate)];
      count -= late.length;
      return late;
    },
    count: () => count,
  };
}
