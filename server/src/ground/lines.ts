/** Items that wait, in a line for each owner; the lines are served in turn, each in its own order. */
export interface Lines<Item> {
  add(owner: string, item: Item): void;
  /** Removes the one whose turn it is. */
  take(): Item | undefined;
  has(owner: string): boolean;
  /** For how many something waits. */
  owners(): number;
}

export function createLines<Item>(): Lines<Item> {
  /** The one whose turn is next comes first. None is empty. */
  const lines = new Map<string, Item[]>();
  return {
    add(owner, item) {
      const line = lines.get(owner);
      if (line) line.push(item);
      else lines.set(owner, [item]);
    },
    take() {
      const next = lines.entries().next().value;
      if (next === undefined) return undefined;
      const [owner, line] = next;
      lines.delete(owner);
      if (line.length > 1) lines.set(owner, line);
      return line.shift();
    },
    has: (owner) => lines.has(owner),
    owners: () => lines.size,
  };
}
