import { copyOf, type Local, machineOf, newLocal, type Subject, type World } from './machines.ts';
import type { Columns } from './memory.ts';
import { Violation } from './memory.ts';
import type { Rules } from './model.ts';

/**
 * Breadth-first over the product of payments and operations.
 *
 * The production code is run once for each pair of a payment's state and its operation's columns (both pure inputs) and
 * the outcome remembered, so that the product itself is integer arithmetic. Payments of one operation that are alike may
 * be swapped, and so may operations that are alike: one of each set of mirror images is kept.
 */
export interface Setting {
  name: string;
  rules: Rules;
  /** Each with what is available, and what of payments by card is held, at the beginning. */
  operations: readonly { available: number; cardHeld?: number; payments: readonly Subject[] }[];
  /** At most so many faults on one path; infinite: no bound. */
  faults: number;
  /** Operations may be deleted, all but the last. */
  deletion: boolean;
  /** From every state an end must be reachable. */
  endsByItself: boolean;
  /** Gives up above this many states. */
  most: number;
}

export interface Found {
  states: number;
  transitions: number;
  /** States of a single payment that the production code was run from. */
  locals: number;
  depth: number;
  ms: number;
  /** Null: everything was explored. */
  violation: { what: string; trace: string[] } | null;
  /** A state from which no end can be reached, with the way there; null: there is none. */
  stuck: { state: string; trace: string[] } | null;
  complete: boolean;
  actions: ReadonlySet<string>;
}

interface LocalStep {
  name: string;
  fault: boolean;
  local: number;
  columns: number;
  violation: string | null;
}

class Interned<T> {
  readonly values: T[] = [];
  readonly #ids = new Map<string, number>();
  of(key: string, value: () => T): number {
    let id = this.#ids.get(key);
    if (id === undefined) {
      id = this.values.length;
      this.#ids.set(key, id);
      this.values.push(value());
    }
    return id;
  }
}

const keyOfColumns = (one: Columns): string =>
  `${one.available},${one.reserved},${one.held},${one.receivable},${one.holdWanted},${one.cardHeld},${one.frozen},${one.deleted}`;

/** The steps of one payment over one set of columns, by production code, remembered. */
class Steps {
  readonly locals = new Interned<Local>();
  readonly columns = new Interned<Columns>();
  readonly ended: boolean[] = [];
  readonly blocking: boolean[] = [];
  readonly reserved: number[] = [];
  readonly cardHeld: number[] = [];
  readonly names = new Set<string>();
  readonly #rules: Rules;
  /** Without faults, and with them: what only a fault too many leads to is never looked at, which is two thirds of all. */
  readonly #sound = new Map<number, LocalStep[]>();
  readonly #all = new Map<number, LocalStep[]>();

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  localId(local: Local): number {
    const machine = machineOf(local);
    const id = this.locals.of(machine.keyOf(local), () => local);
    if (this.ended[id] === undefined) {
      this.ended[id] = machine.hasEnded(local);
      this.blocking[id] = machine.blocksDeletion(local);
      this.reserved[id] = machine.reservedFor(local);
      this.cardHeld[id] = machine.cardHeldFor(local);
    }
    return id;
  }

  columnsId(columns: Columns): number {
    return this.columns.of(keyOfColumns(columns), () => columns);
  }

  known(local: number, columns: number, withFaults: boolean): LocalStep[] | undefined {
    return (withFaults ? this.#all : this.#sound).get(local * 4096 + columns);
  }

  async of(local: number, columns: number, withFaults: boolean): Promise<LocalStep[]> {
    const sound = this.known(local, columns, false) ?? (await this.#run(local, columns, false));
    this.#sound.set(local * 4096 + columns, sound);
    if (!withFaults) return sound;
    const all = [...sound, ...(await this.#run(local, columns, true))];
    this.#all.set(local * 4096 + columns, all);
    return all;
  }

  async #run(localId: number, columnsId: number, faults: boolean): Promise<LocalStep[]> {
    const local = this.locals.values[localId] as Local;
    const columns = this.columns.values[columnsId] as Columns;
    const steps: LocalStep[] = [];
    const { actionsOf, check } = machineOf(local);
    for (const action of actionsOf(local, this.#rules)) {
      if (action.fault !== faults) continue;
      this.names.add(action.name);
      const world: World = { local: copyOf(local), columns };
      let violation: string | null = null;
      try {
        await action.run(world);
        check(world);
      } catch (error) {
        if (!(error instanceof Violation)) throw error;
        violation = error.message;
      }
      const step = { local: this.localId(world.local), columns: this.columnsId(world.columns) };
      if (violation === null && step.local === localId && step.columns === columnsId) continue;
      steps.push({ name: action.name, fault: action.fault, ...step, violation });
    }
    return steps;
  }
}

/** Numbers of a state's parts, packed into as few doubles as they need, in an open-addressed table. */
class Seen {
  readonly #width: number;
  #table: Int32Array;
  #rows: Int32Array;
  size = 0;

  constructor(width: number) {
    this.#width = width;
    this.#table = new Int32Array(1 << 16).fill(-1);
    this.#rows = new Int32Array(width << 15);
  }

  /** The state's number; negative (`-n - 1`) when it is new. */
  add(parts: Int32Array): number {
    if (this.size * 2 >= this.#table.length) this.#grow();
    let at = this.#hash(parts) & (this.#table.length - 1);
    for (;;) {
      const row = this.#table[at] as number;
      if (row === -1) break;
      if (this.#equals(row, parts)) return row;
      at = (at + 1) & (this.#table.length - 1);
    }
    const row = this.size++;
    if (this.size * this.#width > this.#rows.length) {
      const rows = new Int32Array(this.#rows.length * 2);
      rows.set(this.#rows);
      this.#rows = rows;
    }
    this.#rows.set(parts, row * this.#width);
    this.#table[at] = row;
    return -row - 1;
  }

  read(row: number, into: Int32Array): void {
    for (let i = 0; i < this.#width; i++) into[i] = this.#rows[row * this.#width + i] as number;
  }

  #hash(parts: Int32Array): number {
    let hash = 0x811c9dc5;
    for (let i = 0; i < this.#width; i++) {
      hash = Math.imul(hash ^ (parts[i] as number), 0x01000193);
      hash ^= hash >>> 15;
    }
    return Math.imul(hash ^ (hash >>> 13), 0x5bd1e995) >>> 0;
  }

  #equals(row: number, parts: Int32Array): boolean {
    for (let i = 0; i < this.#width; i++) if (this.#rows[row * this.#width + i] !== parts[i]) return false;
    return true;
  }

  #grow(): void {
    const old = this.#table.length;
    this.#table = new Int32Array(old * 2).fill(-1);
    const parts = new Int32Array(this.#width);
    for (let row = 0; row < this.size; row++) {
      this.read(row, parts);
      let at = this.#hash(parts) & (this.#table.length - 1);
      while (this.#table[at] !== -1) at = (at + 1) & (this.#table.length - 1);
      this.#table[at] = row;
    }
  }
}

export async function explore(setting: Setting): Promise<Found> {
  const began = performance.now();
  const { rules, faults } = setting;
  const steps = new Steps(rules);
  const operations = setting.operations.length;
  // A state: each operation's columns with its payments behind it, then the faults that are left.
  const groups: { columns: number; from: number; to: number }[] = [];
  let width = 0;
  for (const { payments } of setting.operations) {
    groups.push({ columns: width, from: width + 1, to: width + 1 + payments.length });
    width += 1 + payments.length;
  }
  const budget = width++;
  const bounded = Number.isFinite(faults);
  const kindAt: (Subject | null)[] = new Array(width).fill(null);
  const first = new Int32Array(width);
  for (const [index, { available, cardHeld = 0, payments }] of setting.operations.entries()) {
    const group = groups[index] as (typeof groups)[number];
    first[group.columns] = steps.columnsId({ ...empty, available, cardHeld });
    for (const [at, kind] of payments.entries()) {
      kindAt[group.from + at] = kind;
      first[group.from + at] = steps.localId(newLocal(kind));
    }
  }
  first[budget] = bounded ? faults : 0;
  const mirrored = (one: number, other: number): boolean => {
    const [a, b] = [setting.operations[one], setting.operations[other]];
    return JSON.stringify(a) === JSON.stringify(b);
  };

  /** Puts payments of one kind, then operations that are alike, in order. */
  function canonical(parts: Int32Array): void {
    for (const { from, to } of groups)
      for (let i = from + 1; i < to; i++)
        for (
          let j = i;
          j > from && kindAt[j] === kindAt[j - 1] && (parts[j] as number) < (parts[j - 1] as number);
          j--
        ) {
          const swapped = parts[j] as number;
          parts[j] = parts[j - 1] as number;
          parts[j - 1] = swapped;
        }
    for (let one = 1; one < operations; one++) {
      if (!mirrored(one - 1, one)) continue;
      const [a, b] = [groups[one - 1], groups[one]] as [(typeof groups)[number], (typeof groups)[number]];
      const length = b.to - b.columns;
      let order = 0;
      for (let i = 0; i < length && order === 0; i++)
        order = (parts[a.columns + i] as number) - (parts[b.columns + i] as number);
      if (order <= 0) continue;
      for (let i = 0; i < length; i++) {
        const swapped = parts[a.columns + i] as number;
        parts[a.columns + i] = parts[b.columns + i] as number;
        parts[b.columns + i] = swapped;
      }
    }
  }

  const seen = new Seen(width);
  let parents = new Int32Array(1 << 16);
  const labels: string[] = [];
  const labelIds = new Map<string, number>();
  let via = new Uint16Array(1 << 16);
  const labelOf = (name: string): number => {
    let id = labelIds.get(name);
    if (id === undefined) {
      id = labels.length;
      labels.push(name);
      labelIds.set(name, id);
    }
    return id;
  };
  const traceOf = (row: number, last?: string): string[] => {
    const trace: string[] = last ? [last] : [];
    for (let at = row; at > 0; at = parents[at] as number) trace.unshift(labels[via[at] as number] as string);
    return trace;
  };

  const found: Found = {
    states: 0,
    transitions: 0,
    locals: 0,
    depth: 0,
    ms: 0,
    violation: null,
    stuck: null,
    complete: false,
    actions: steps.names,
  };
  const finish = (): Found => {
    found.states = seen.size;
    found.locals = steps.locals.values.length;
    found.ms = Math.round(performance.now() - began);
    return found;
  };

  const parts = new Int32Array(width);
  const after = new Int32Array(width);

  /** Calls back with every successor of `parts` in `after`; may have to run production code first. */
  async function successors(visit: (label: string, violation: string | null) => boolean): Promise<boolean> {
    const left = parts[budget] as number;
    for (const [index, group] of groups.entries()) {
      const columns = parts[group.columns] as number;
      let previous = -1;
      for (let at = group.from; at < group.to; at++) {
        const local = parts[at] as number;
        // Two alike in the same state have the same future.
        if (local === previous && kindAt[at] === kindAt[at - 1]) continue;
        previous = local;
        const withFaults = !bounded || left > 0;
        const known = steps.known(local, columns, withFaults) ?? (await steps.of(local, columns, withFaults));
        for (const step of known) {
          after.set(parts);
          after[at] = step.local;
          after[group.columns] = step.columns;
          if (bounded && step.fault) after[budget] = left - 1;
          let violation = step.violation;
          if (violation === null) {
            let reserved = 0;
            let cardHeld = 0;
            for (let i = group.from; i < group.to; i++) {
              reserved += steps.reserved[after[i] as number] as number;
              cardHeld += steps.cardHeld[after[i] as number] as number;
            }
            const row = steps.columns.values[step.columns] as Columns;
            if (row.reserved !== reserved)
              violation = `reserved ${row.reserved}, open transfers ${reserved} (8)`;
            else if (row.cardHeld !== cardHeld)
              violation = `held of cards ${row.cardHeld}, of the payments ${cardHeld} (70)`;
          }
          if (!visit(`${index + 1}${String.fromCharCode(97 + at - group.from)} ${step.name}`, violation))
            return false;
        }
      }
    }
    if (setting.deletion) {
      const live = groups.filter(
        (group) => !(steps.columns.values[parts[group.columns] as number] as Columns).deleted,
      );
      for (const [index, group] of groups.entries()) {
        const row = steps.columns.values[parts[group.columns] as number] as Columns;
        if (row.deleted || live.length < 2) continue;
        if (row.available + row.reserved + row.held + row.receivable + row.holdWanted + row.cardHeld !== 0)
          continue;
        let blocked = false;
        for (let at = group.from; at < group.to; at++)
          blocked ||= steps.blocking[parts[at] as number] as boolean;
        if (blocked) continue;
        after.set(parts);
        after[group.columns] = steps.columnsId({ ...row, deleted: true });
        steps.names.add('the operation is deleted');
        if (!visit(`${index + 1} the operation is deleted`, null)) return false;
      }
    }
    return true;
  }

  first.forEach((part, at) => {
    parts[at] = part;
  });
  canonical(parts);
  seen.add(parts);
  let levelEnd = 1;
  for (let row = 0; row < seen.size; row++) {
    if (row === levelEnd) {
      found.depth++;
      levelEnd = seen.size;
    }
    seen.read(row, parts);
    const going = await successors((label, violation) => {
      found.transitions++;
      if (violation !== null) {
        found.violation = { what: violation, trace: traceOf(row, label) };
        return false;
      }
      canonical(after);
      const id = seen.add(after);
      if (id >= 0) return true;
      const fresh = -id - 1;
      if (fresh >= parents.length) {
        const [moreParents, moreVia] = [new Int32Array(fresh * 2), new Uint16Array(fresh * 2)];
        moreParents.set(parents);
        moreVia.set(via);
        parents = moreParents;
        via = moreVia;
      }
      parents[fresh] = row;
      via[fresh] = labelOf(label);
      return true;
    });
    if (!going || seen.size > setting.most) return finish();
  }
  found.complete = true;

  // From every state an end must be reachable: backwards from the ends over the reversed steps.
  const counts = new Int32Array(seen.size + 1);
  const total = found.transitions;
  const froms = new Int32Array(total);
  const tos = new Int32Array(total);
  let edge = 0;
  for (let row = 0; row < seen.size; row++) {
    seen.read(row, parts);
    await successors(() => {
      canonical(after);
      const to = seen.add(after);
      froms[edge] = row;
      tos[edge++] = to;
      counts[to + 1] = (counts[to + 1] as number) + 1;
      return true;
    });
  }
  for (let row = 0; row < seen.size; row++)
    counts[row + 1] = (counts[row + 1] as number) + (counts[row] as number);
  const place = counts.slice();
  const sources = new Int32Array(total);
  for (let at = 0; at < edge; at++) {
    const to = tos[at] as number;
    const into = place[to] as number;
    sources[into] = froms[at] as number;
    place[to] = into + 1;
  }
  const reaches = new Uint8Array(seen.size);
  const queue = new Int32Array(seen.size);
  let tail = 0;
  for (let row = 0; row < seen.size; row++) {
    seen.read(row, parts);
    let ended = true;
    for (const { from, to } of groups)
      for (let at = from; at < to; at++) ended &&= steps.ended[parts[at] as number] as boolean;
    if (!ended) continue;
    reaches[row] = 1;
    queue[tail++] = row;
  }
  for (let head = 0; head < tail; head++) {
    const to = queue[head] as number;
    for (let at = counts[to] as number; at < (counts[to + 1] as number); at++) {
      const from = sources[at] as number;
      if (reaches[from] === 1) continue;
      reaches[from] = 1;
      queue[tail++] = from;
    }
  }
  if (tail < seen.size && setting.endsByItself) {
    const row = reaches.indexOf(0);
    seen.read(row, parts);
    const state = groups
      .flatMap((group) =>
        [...parts.slice(group.from, group.to)].map((id) => {
          const local = steps.locals.values[id] as Local;
          return machineOf(local).keyOf(local);
        }),
      )
      .join(' // ');
    found.stuck = { state, trace: traceOf(row) };
  }
  return finish();
}

const empty: Columns = {
  available: 0,
  reserved: 0,
  held: 0,
  receivable: 0,
  holdWanted: 0,
  cardHeld: 0,
  frozen: false,
  deleted: false,
};
