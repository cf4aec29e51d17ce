/** Work that falls due later, the earliest first: a binary heap over `at` (milliseconds), equal times in order of arrival. */
export type DueList<T> = { items: { at: number; turn: number; what: T }[]; turn: number };

export function emptyDueList<T>(): DueList<T> {
  return { items: [], turn: 0 };
}

export function nextDueAt<T>(list: DueList<T>): number | undefined {
  return list.items[0]?.at;
}

export function addDue<T>(list: DueList<T>, at: number, what: T): void {
  const items = list.items;
  const added = { at, turn: list.turn++, what };
  let place = items.length;
  items.push(added);
  while (place > 0) {
    const parent = (place - 1) >> 1;
    const above = items[parent];
    if (above === undefined || !earlier(added, above)) break;
    items[place] = above;
    place = parent;
  }
  items[place] = added;
}

/** Takes everything that is due at `now`, in order. */
export function takeDue<T>(list: DueList<T>, now: number): T[] {
  const taken: T[] = [];
  for (;;) {
    const first = list.items[0];
    if (first === undefined || first.at > now) return taken;
    taken.push(first.what);
    removeFirst(list);
  }
}

function removeFirst<T>(list: DueList<T>): void {
  const items = list.items;
  const moved = items.pop();
  if (moved === undefined || items.length === 0) return;
  let place = 0;
  for (;;) {
    let child = 2 * place + 1;
    let below = items[child];
    if (below === undefined) break;
    const right = items[child + 1];
    if (right !== undefined && earlier(right, below)) {
      child++;
      below = right;
    }
    if (!earlier(below, moved)) break;
    items[place] = below;
    place = child;
  }
  items[place] = moved;
}

function earlier(a: { at: number; turn: number }, b: { at: number; turn: number }): boolean {
  return a.at < b.at || (a.at === b.at && a.turn < b.turn);
}
