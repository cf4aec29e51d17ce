/**
 * Whether calls that overlapped can be explained by some order of them: each takes effect at one moment between its beginning
 * and its end, and has the answer that the model gives there (linearizability; the search is Wing and Gong's, with what was
 * seen before remembered, as Lowe proposed).
 */
export interface Call<State> {
  name: string;
  /** Any clock that all calls share. */
  beganMs: number;
  /** Infinity: it may take effect whenever it likes, or never. */
  endedMs: number;
  /** The state after it, or null where this answer cannot come of this state. */
  step(before: State): State | null;
}

/**
 * @param state plain data: two that are equal as JSON are one.
 * @returns the names in an order that explains every answer; null: there is none.
 */
export function explain<State>(state: State, calls: readonly Call<State>[]): string[] | null {
  const dead = new Set<string>();
  const order: string[] = [];
  const from = (now: State, left: readonly Call<State>[]): boolean => {
    if (left.every(({ endedMs }) => endedMs === Number.POSITIVE_INFINITY)) return true;
    const key = JSON.stringify([left.map((call) => calls.indexOf(call)), now]);
    if (dead.has(key)) return false;
    const firstEnd = Math.min(...left.map(({ endedMs }) => endedMs));
    for (const call of left) {
      // Another one had its answer before this one was asked for.
      if (call.beganMs > firstEnd) continue;
      const after = call.step(now);
      if (after === null) continue;
      order.push(call.name);
      const others = left.filter((one) => one !== call);
      if (from(after, others)) return true;
      order.pop();
    }
    dead.add(key);
    return false;
  };
  return from(state, calls) ? order : null;
}
