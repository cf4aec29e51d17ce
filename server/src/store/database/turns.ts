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

export function createTurns<Call>(): Turns<Call> {
  const everybody: Call[] = [];
  /** The one whose turn is next comes first. None is empty. */
  const lines = new Map<string, Call[]>();
  let everybodyNext = true;
  let count = 0;

  const isForEverybody = (): boolean => everybody.length > 0 && (everybodyNext || lines.size === 0);
  const ofCallers = (): [string, Call[]] | undefined => lines.entries().next().value;

  function takeOfCallers(): Call | undefined {
    const next = ofCallers();
    if (!next) return undefined;
    const [who, line] = next;
    lines.delete(who);
    if (line.length > 1) lines.set(who, line);
    return line.shift();
  }

  return {
    add(who, call) {
      const line = who === null ? everybody : (lines.get(who) ?? []);
      if (who !== null && line.length >= waitingMost) return false;
      line.push(call);
      if (who !== null && line.length === 1) lines.set(who, line);
      count++;
      return true;
    },
    first: () => (isForEverybody() ? everybody[0] : ofCallers()?.[1][0]),
    take() {
      const shared = isForEverybody();
      const call = shared ? everybody.shift() : takeOfCallers();
      everybodyNext = !shared;
      if (call !== undefined) count--;
      return call;
    },
    takeLate(isLate) {
      const late: Call[] = [];
      const from = (line: Call[]): void => {
        while (line[0] !== undefined && isLate(line[0])) late.push(line.shift() as Call);
      };
      from(everybody);
      for (const [who, line] of lines) {
        from(line);
        if (line.length === 0) lines.delete(who);
      }
      count -= late.length;
      return late;
    },
    count: () => count,
  };
}
