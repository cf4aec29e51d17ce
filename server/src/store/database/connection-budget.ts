import { systemClock } from '../../ports/clock.ts';
import { createTurns, type Turns } from './turns.ts';
import { whoseCall } from './whose-call.ts';

/**
 * How many connections the pools of one process may have together. Each cell has a pool of its own, opened at its first use; without a bound
 * a process would hold as many connections as there are cells times what one of them may have.
 *
 * A call takes a place before it takes a connection, and gives it back with it. So no more connections are in use than there are places, and
 * where all of them are open, one that rests in another pool is closed for the one that is missing. A waiting call never holds a place: what
 * works with a connection waits for no second one, which a test shows with a budget of one.
 *
 * When all places are taken, the next one goes to the pool that has the fewest, and there to the caller whose turn it is (`turns.ts`). Rejected:
 * the longest wait over all pools, by which a crowd of reads in one cell would keep the till of every other one waiting.
 *
 * Opening a connection costs far more than a small statement. So a pool that has one waits for it rather than take one from a pool that is in
 * use, and the last one of a pool goes only to a pool that has none, after a while. Without that, and with two calls promised one resting
 * connection, a transfer over 16 busy cells took nine times the CPU of one over a single cell; now twice, for smaller batches.
 */
export interface ConnectionBudget {
  join(pool: SharingPool): Places;
  load(): BudgetLoad;
}

export interface BudgetLoad {
  open: number;
  idle: number;
  /** Calls that wait for a place. */
  waiting: number;
  /** How many may be open. */
  most: number;
}

/** The readable numbers of a pool. They change at once with a call to it, before it is answered. */
export interface SharingPool {
  /** How many connections it may have by itself. */
  size: number;
  /** Those that are being opened included, and those that are being closed not. */
  open(): number;
  /** Those that rest, and that no call was promised. */
  idle(): number;
  /** Closes one that rests. */
  closeIdle(): Promise<void>;
}

export interface Places {
  /**
   * Takes a place, then a connection. The place is kept until `give`, unless this fails.
   * @param giveBack what comes when its caller waits no more
   * @throws Error when not both are to be had in time, or too many calls of the same caller wait; what `connect` fails with
   */
  take<Connection>(
    connect: () => Promise<Connection>,
    giveBack: (connection: Connection) => void,
  ): Promise<Connection>;
  give(): void;
  /** The pool is closed: its calls that wait fail. */
  leave(): void;
}

interface Member {
  pool: SharingPool;
  taken: number;
  /** Of its places, those that were granted to a call that has not asked for its connection yet. */
  promised: number;
  /** When it was used last, monotonic ms: the pool with the lowest number rested longest. */
  usedAtMs: number;
  waiting: Turns<Waiting>;
}

interface Waiting {
  /** Monotonic ms. */
  sinceMs: number;
  /** @param late no place was free in time, or the pool is closed */
  end(late: boolean): void;
}

/** A pool that is not used for so long is at rest. */
const restMs = 1_000;
/** While no pool is at rest, a call of a pool without a connection waits for so long. */
const patienceMs = 20;
/** A call of a pool that has connections: one of them is free sooner, unless all of them are in long transactions. */
const longPatienceMs = 1_000;

/**
 * @param mostOf of a number of pools
 * @param waitMs how long a call that waits for a place does so, the time for its connection included
 */
export function connectionBudget(mostOf: (pools: number) => number, waitMs: number): ConnectionBudget {
  const members = new Set<Member>();
  let taken = 0;
  /** Connections that are opened once another one is closed. */
  let owed = 0;
  let checking = false;

  const most = (): number => mostOf(members.size);
  const sum = (of: (member: Member) => number): number => {
    let total = 0;
    for (const member of members) total += of(member);
    return total;
  };
  const open = (): number => sum(({ pool }) => pool.open());
  const waiting = (): number => sum((member) => member.waiting.count());
  /** Without closing a connection of another pool. */
  const hasRoom = ({ pool, promised }: Member): boolean =>
    pool.idle() > promised || open() + owed + sum((member) => member.promised) < most();
  const mayTake = (member: Member, waitedMs: number): boolean =>
    taken < most() &&
    member.taken < member.pool.size &&
    (hasRoom(member) || someRest(members, member) || isUrgent(member, waitedMs));

  function next(nowMs: number): Member | undefined {
    let best: Member | undefined;
    for (const member of members) {
      const first = member.waiting.first();
      if (first && isBefore(member, best) && mayTake(member, nowMs - first.sinceMs)) best = member;
    }
    return best;
  }

  function count(member: Member, places: 1 | -1): void {
    member.taken += places;
    taken += places;
  }

  function grantNext(): void {
    const nowMs = systemClock.monotonicMs();
    for (let member = next(nowMs); member; member = next(nowMs)) {
      count(member, 1);
      member.promised++;
      member.waiting.take()?.end(false);
    }
  }

  /** One timer for all that wait. With two for each call they took a tenth of a busy process over 16 cells. */
  async function checkOften(): Promise<void> {
    if (checking) return;
    checking = true;
    while (waiting() > 0) {
      await systemClock.sleep(patienceMs);
      grantNext();
      const lateMs = systemClock.monotonicMs() - waitMs;
      for (const { waiting } of members)
        for (const { end } of waiting.takeLate(({ sinceMs }) => sinceMs <= lateMs)) end(true);
    }
    checking = false;
  }

  async function waitForPlace(member: Member): Promise<void> {
    const late = await new Promise<boolean>((end) => {
      if (!member.waiting.add(whoseCall(), { sinceMs: systemClock.monotonicMs(), end })) return end(true);
      void checkOften();
    });
    if (late) throw new Error('every connection of the process is in use');
    member.promised--;
  }

  async function connectWithin<Connection>(
    member: Member,
    connect: () => Promise<Connection>,
  ): Promise<Connection> {
    if (hasRoom(member)) return connect();
    owed++;
    try {
      await restedLongest(members)?.closeIdle();
    } catch {
      // It was lost, and is closed by that.
    }
    owed--;
    return connect();
  }

  function give(member: Member): void {
    member.usedAtMs = systemClock.monotonicMs();
    count(member, -1);
    grantNext();
  }

  async function takeFor<Connection>(
    member: Member,
    connect: () => Promise<Connection>,
    giveBack: (connection: Connection) => void,
  ): Promise<Connection> {
    const beganMs = systemClock.monotonicMs();
    const waits = !mayTake(member, 0);
    if (waits) await waitForPlace(member);
    else count(member, 1);
    member.usedAtMs = systemClock.monotonicMs();
    const connecting = connectWithin(member, connect);
    try {
      if (!waits) return await connecting;
      const leftMs = beganMs + waitMs - systemClock.monotonicMs();
      const found = await inTime(connecting, Math.max(0, leftMs));
      if (found) return found.connection;
    } catch (error) {
      give(member);
      throw error;
    }
    connecting.then(giveBack, () => {}).finally(() => give(member));
    throw new Error('no connection came in time');
  }

  return {
    join(pool) {
      const member: Member = { pool, taken: 0, promised: 0, usedAtMs: 0, waiting: createTurns() };
      members.add(member);
      return {
        take: (connect, giveBack) => takeFor(member, connect, giveBack),
        give: () => give(member),
        leave: () => {
          members.delete(member);
          for (const { end } of member.waiting.takeLate(() => true)) end(true);
        },
      };
    },
    load: () => ({
      open: open(),
      idle: sum(({ pool }) => pool.idle()),
      waiting: waiting(),
      most: most(),
    }),
  };
}

/** Among pools with calls that wait: the one that has the fewest places, and of those the one whose next call waited longest. */
const isBefore = (one: Member, other: Member | undefined): boolean =>
  !other || one.taken < other.taken || (one.taken === other.taken && waitsSince(one) < waitsSince(other));

const waitsSince = ({ waiting }: Member): number => waiting.first()?.sinceMs ?? Number.POSITIVE_INFINITY;

/** The connections that a pool may have at once: of one at rest, and its last one only where there is none yet. */
function someRest(members: Iterable<Member>, { pool: own }: Member): boolean {
  const since = systemClock.monotonicMs() - restMs;
  const least = own.open() === 0 ? 1 : 2;
  for (const { pool, usedAtMs } of members)
    if (usedAtMs <= since && pool.idle() > 0 && pool.open() >= least) return true;
  return false;
}

const isUrgent = ({ pool }: Member, waitedMs: number): boolean =>
  waitedMs >= (pool.open() === 0 ? patienceMs : longPatienceMs);

/** Where there is a choice, not the last connection of a pool. */
function restedLongest(members: Iterable<Member>): SharingPool | undefined {
  const resting = [...members].filter(({ pool }) => pool.idle() > 0);
  const several = resting.filter(({ pool }) => pool.open() > 1);
  return (several.length > 0 ? several : resting).sort((one, other) => one.usedAtMs - other.usedAtMs)[0]
    ?.pool;
}

/** `undefined` when the time is over; a call that waited for its place does not wait as long again. */
async function inTime<Connection>(
  connecting: Promise<Connection>,
  leftMs: number,
): Promise<{ connection: Connection } | undefined> {
  const cut = new AbortController();
  const late = systemClock.sleep(leftMs, cut.signal).then(() => undefined);
  try {
    return await Promise.race([connecting.then((connection) => ({ connection })), late]);
  } finally {
    cut.abort(null);
  }
}
