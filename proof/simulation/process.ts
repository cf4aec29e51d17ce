import type { Clock } from '../../server/src/ports/clock.ts';
import type { Ids } from '../../server/src/ports/ids.ts';
import { type Net, type NetAnswer, NetFailure } from '../../server/src/ports/net.ts';
import {
  CommitUnknown,
  ConnectionLost,
  committed,
  type Sql,
  type Statement,
  type Transaction,
} from '../../server/src/ports/sql.ts';
import { homeCell } from '../../server/src/store/database/cells.ts';
import type { Database } from './database.ts';
import type { Random } from './random.ts';
import { DatabaseError, type Session } from './wire.ts';
import type { World } from './world.ts';

/** One operating-system process: what it holds in memory goes with it. */
export interface Process {
  readonly name: string;
  alive: boolean;
  /** Stopped and later continued: it does nothing until then. */
  frozenUntil: number;
  /** By how much its wall clock is wrong. */
  clockOffsetMs: number;
  /** To the directory and the first cell. */
  readonly sql: Sql;
  openCell(cell: string): Sql & { close(): Promise<void> };
  readonly clock: Clock;
  readonly ids: Ids;
  readonly net: Net;
  kill(): void;
  /** Calls back when it dies. */
  whenDead(told: () => void): void;
}

/** A process's view of its world. */
export interface Kernel {
  world: World;
  db: Database;
  random: Random;
  /** Since the boot of the machine, ms: every run has a later boot than the one before, so nothing that the edge remembers is young enough to count. */
  sinceBootMs(): number;
  addTimer(at: number, fire: () => void): void;
  addTask(task: Task): void;
  dropTasksOf(process: Process): void;
  /** Of what was drawn, for the trace. */
  note(what: string): void;
}

export interface Task {
  process: Process;
  what: string;
  /** Tasks of one connection keep their order. */
  lane: object | null;
  carryOut(): void;
}

/** One process: its ports ask it whether it lives. */
interface Body {
  process: Process;
  /** Gives a connection up that is in use when the process dies. */
  open: Set<() => void>;
  /** A port call, carried out when its turn comes; of a process that is dead by then nothing is heard. */
  task<T>(what: string, lane: object | null, carry: () => T): Promise<T>;
}

export function spawn(kernel: Kernel, name: string): Process {
  const open = new Set<() => void>();
  const mourners: (() => void)[] = [];
  const process = {
    name,
    alive: true,
    frozenUntil: 0,
    clockOffsetMs: 0,
    kill: () => {
      process.alive = false;
      kernel.dropTasksOf(process);
      for (const giveUp of open) giveUp();
      open.clear();
      for (const told of mourners.splice(0)) told();
    },
    whenDead: (told: () => void) => void mourners.push(told),
  } as Process;
  const body: Body = { process, open, task: taskOf(kernel, process) };
  return Object.assign(process, {
    sql: sqlOf(kernel, body, homeCell),
    openCell: (cell: string) => ({ ...sqlOf(kernel, body, cell), close: () => Promise.resolve() }),
    clock: clockOf(kernel, process),
    ids: idsOf(kernel, process),
    net: netOf(kernel, body),
  });
}

const taskOf =
  ({ addTask }: Kernel, process: Process): Body['task'] =>
  (what, lane, carry) =>
    new Promise((resolve, reject) => {
      if (!process.alive) return;
      addTask({
        process,
        what,
        lane,
        carryOut: () => {
          try {
            const result = carry();
            if (process.alive) resolve(result);
          } catch (error) {
            if (process.alive) reject(error);
          }
        },
      });
    });

function clockOf({ world, sinceBootMs, addTimer }: Kernel, process: Process): Clock {
  const now = (): number => world.now() + process.clockOffsetMs;
  return {
    now,
    machineMs: now,
    monotonicMs: sinceBootMs,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const end = () => {
          if (process.alive) resolve();
        };
        const wake = () => {
          if (process.frozenUntil > world.now()) addTimer(process.frozenUntil, end);
          else end();
        };
        addTimer(world.now() + ms, wake);
        signal?.addEventListener('abort', end, { once: true });
      }),
  };
}

function idsOf({ world, random, note }: Kernel, process: Process): Ids {
  let lastMs = 0;
  let counter = 0;
  return {
    uuid: () => {
      const now = world.now() + process.clockOffsetMs;
      if (now > lastMs) {
        lastMs = now;
        counter = random.below(0x800);
      } else if (++counter > 0xfff) {
        lastMs++;
        counter = 0;
      }
      const hex = lastMs.toString(16).padStart(12, '0');
      const tail = random.bytes(8);
      tail[0] = ((tail[0] as number) & 0x3f) | 0x80;
      const rest = tail.toString('hex');
      note('id');
      return `${hex.slice(0, 8)}-${hex.slice(8)}-7${counter.toString(16).padStart(3, '0')}-${rest.slice(0, 4)}-${rest.slice(4)}`;
    },
    bytes: (length) => {
      note('bytes');
      return random.bytes(length);
    },
  };
}

function netOf({ world, addTimer }: Kernel, { process, task }: Body): Net {
  return {
    request: (request) =>
      task(`net ${request.method}`, null, () => request).then(
        (sent) =>
          new Promise((resolve, reject) => {
            let ended = false;
            const end = (outcome: NetAnswer | Error) => {
              if (ended || !process.alive) return;
              ended = true;
              if (outcome instanceof Error) reject(outcome);
              else resolve(outcome);
            };
            addTimer(world.now() + sent.timeoutMs, () =>
              end(new NetFailure('timed out', { timedOut: true })),
            );
            world.outside(sent, end);
          }),
      ),
    lookup: () => Promise.resolve(['93.184.216.34']),
    ownAddresses: () => ['127.0.0.1'],
    close: () => Promise.resolve(),
  };
}

/** A statement with the faults of the world. */
type Run = <Row>(what: Statement, values?: readonly unknown[]) => Row[];

const runOf =
  ({ world, random }: Kernel, session: Session): Run =>
  <Row>(what: Statement, values: readonly unknown[] = []): Row[] => {
    const { lost, contention } = world.faults;
    if (random.chance(lost)) {
      world.count('sql connection lost');
      throw new ConnectionLost('the database connection was lost');
    }
    if (random.chance(contention)) {
      const code = random.pick(['40001', '40P01', '55P03']);
      world.count(`sql ${code}`);
      throw new DatabaseError('planted', code);
    }
    return inNoOrder(random, session.run<Row>(what.text, values), what.text);
  };

function sqlOf(kernel: Kernel, body: Body, cell: string): Sql {
  const { world, db } = kernel;
  const { process, open, task } = body;
  const session = db.on(cell);
  const statement = runOf(kernel, session);
  /** Exclusive: waits until the session is free. Never for a process that is dead by then. */
  const acquire = async (): Promise<() => void> => {
    const release = await db.acquire();
    if (process.alive) return release;
    release();
    return await new Promise(() => {});
  };
  const begin = async (): Promise<Transaction> => {
    const release = await acquire();
    session.exec('BEGIN');
    return transactionOf(kernel, body, { session, statement, release });
  };
  return {
    begin,
    run: async <Row>(what: Statement, values?: readonly unknown[]) => {
      const release = await acquire();
      open.add(release);
      try {
        return await task(`sql ${what.name}`, {}, () => {
          open.delete(release);
          release();
          const before = db.changes();
          const rows = statement<Row>(what, values);
          if (db.changes() !== before) world.changed();
          return rows;
        });
      } finally {
        open.delete(release);
        release();
      }
    },
    tx: async (work) => committed(await begin(), work),
  };
}

/** @param release gives the session on */
function transactionOf(
  { world, random }: Kernel,
  { open, task }: Body,
  { session, statement, release }: { session: Session; statement: Run; release(): void },
): Transaction {
  let ended = false;
  let failure: unknown = null;
  const lane = {};
  const giveUp = () => {
    ended = true;
    session.exec('ROLLBACK');
    open.delete(giveUp);
    release();
  };
  open.add(giveUp);
  return {
    run: (what, values) => {
      if (ended || failure) {
        const refused = Promise.reject(failure ?? new Error('the transaction has ended'));
        refused.catch(() => {});
        return refused;
      }
      const rows = task(`sql ${what.name}`, lane, () => {
        if (failure) throw failure;
        try {
          return statement<never>(what, values);
        } catch (error) {
          failure ??= error;
          throw error;
        }
      });
      rows.catch(() => {});
      return rows;
    },
    commit: () =>
      task('commit', lane, () => {
        if (ended) throw failure ?? new Error('the transaction has ended');
        if (failure) {
          giveUp();
          throw failure;
        }
        const unknown = random.chance(world.faults.commitUnknown);
        ended = true;
        open.delete(giveUp);
        if (unknown && random.chance(0.5)) {
          session.exec('ROLLBACK');
          release();
          world.count('commit lost');
          throw new CommitUnknown('the answer to COMMIT was lost');
        }
        session.exec('COMMIT');
        world.changed();
        release();
        if (!unknown) return;
        world.count('commit done, answer lost');
        throw new CommitUnknown('the answer to COMMIT was lost');
      }),
    rollback: async () => {
      if (!ended) giveUp();
    },
  };
}

/**
 * Rows for which no order was asked come in any: in PostgreSQL's own they would depend on what other runs left behind in
 * the tables, so the seed shuffles them.
 */
function inNoOrder<Row>(random: Random, rows: Row[], text: string): Row[] {
  if (rows.length < 2 || ordered.test(text)) return rows;
  const sorted = rows.map((row) => ({ row, key: JSON.stringify(row) }));
  sorted.sort((one, other) => (one.key < other.key ? -1 : 1));
  for (let at = sorted.length - 1; at > 0; at--) {
    const other = random.below(at + 1);
    [sorted[at], sorted[other]] = [sorted[other], sorted[at]] as [(typeof sorted)[0], (typeof sorted)[0]];
  }
  return sorted.map(({ row }) => row);
}

/** An ORDER BY of the statement itself, and not of something in brackets. */
const ordered = /ORDER BY[^()]*(\([^()]*\)[^()]*)*$/i;
