/** Items that wait, in a line for each owner; the lines are served in turn, each in its own order. */
export interface Lines<Item> {
  add(owner: string, item: Item): void;
  /** The one whose turn it is. */
  first(): Item | undefined;
  /** Removes the one whose turn it is. */
  take(): Item | undefined;
  /** Removes from the front of each line those for which `isOver` holds. */
  takeWhile(isOver: (item: Item) => boolean): Item[];
  /** How many of an owner wait. */
  waiting(owner: string): number;
  /** For how many something waits. */
  owners(): number;
}

export function createLines<Item>(): Lines<Item> {
  /** The one whose turn is next comes first. None is empty. */
  const lines = new Map<string, Item[]>();
  const next = (): [string, Item[]] | undefined => lines.entries().next().value;
  return {
    add(owner, item) {
      const line = lines.get(owner);
      if (line) line.push(item);
      else lines.set(owner, [item]);
    },
    first: () => next()?.[1][0],
    take() {
      const [owner, line] = next() ?? [];
      if (owner === undefined || line === undefined) return undefined;
      lines.delete(owner);
      if (line.length > 1) lines.set(owner, line);
      return line.shift();
    },
    takeWhile(isOver) {
      const over: Item[] = [];
      for (const [owner, line] of lines) {
        const stays = line.findIndex((item) => !isOver(item));
        over.push(...line.splice(0, stays === -1 ? line.length : stays));
        if (line.length === 0) lines.delete(owner);
      }
      return over;
    },
    waiting: (owner) => lines.get(owner)?.length ?? 0,
    owners: () => lines.size,
  };
}

/** One of each owner after the other, each owner's in their own order. */
export function inTurn<Item>(items: Iterable<Item>, ownerOf: (item: Item) => string): Item[] {
  const lines = createLines<Item>();
  for (const item of items) lines.add(ownerOf(item), item);
  const ordered: Item[] = [];
  for (let item = lines.take(); item; item = lines.take()) ordered.push(item);
  return ordered;
}
