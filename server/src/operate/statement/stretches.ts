/** Journals of a chain: those behind `after`, up to `upTo`. */
export interface Stretch {
  accountId: string;
  chainId: string;
  after: number;
  upTo: number;
}

/** Journals that one statement sums. 500 chains in one statement, whatever each had, read 327,677 rows behind two million payments. */
export const summedAtOnce = 5_000;

/** Parts of these journals, in their order, cut so that each holds at most `most`. Pure. */
export function* partsOf(all: readonly Stretch[], most = summedAtOnce): Generator<Stretch[]> {
  let part: Stretch[] = [];
  let room = most;
  for (const one of all) {
    for (let { after } = one; after < one.upTo; ) {
      const upTo = Math.min(one.upTo, after + room);
      part.push({ ...one, after, upTo });
      room -= upTo - after;
      after = upTo;
      if (room > 0) continue;
      yield part;
      part = [];
      room = most;
    }
  }
  if (part.length > 0) yield part;
}
