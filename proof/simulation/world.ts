import { createHash } from 'node:crypto';
import { homeCell } from '../../server/src/db/cells.ts';
import type { Clock } from '../../server/src/ports/clock.ts';
import type { Ids } from '../../server/src/ports/ids.ts';
import {
  type Net,
  type NetAnswer,
  NetFailure,
  type NetRequest,
  NotSent,
} from '../../server/src/ports/net.ts';
import {
  CommitUnknown,
  ConnectionLost,
  type Sql,
  type Statement,
  type Transaction,
} from '../../server/src/ports/sql.ts';
import type { Database } from './database.ts';
import type { Random } from './random.ts';
import { DatabaseError } from './wire.ts';

/**
 * Time, chance and the order of execution. Every call of a port becomes a task. One task runs at a time, chosen by chance where
 * several wait, and everything it starts runs to its end before the next. With no task left, time advances to the next
 * timer. So a run is a function of its seed, and a process can die between any two port calls.
 */
export interface World {
  readonly random: Random;
  /** The true time, which the provider knows; a process may be wrong about it. */
  now(): number;
  /** Schedules something at a later time, independent of which process is alive then. */
  at(when: number, what: () => void): void;
  spawn(name: string): Process;
  /** Runs until `done` says so or virtual time passes `until`; false when time ran out. */
  run(done: () => boolean, until: number): Promise<boolean>;
  /** How many port calls were made. */
  points(): number;
  /** Everything that happened so far, in its order: two runs of one seed must agree in it. */
  trace: Trace;
  /** The process that makes the port call of this number dies before it, or after it was carried out. */
  crashAt(point: number, when: 'before' | 'after', died: (process: Process) => void): void;
  /** Called after every statement and commit that changed what others can see. */
  changed(): void;
  readonly seen: Map<string, number>;
  count(what: string): void;
  faults: SqlFaults;
  /** What the outside makes of a request; the answer goes to `answered` when it comes, if ever. */
  outside(request: NetRequest, answered: (answer: NetAnswer | Error) => void): void;
}

export interface Trace {
  /** SHA-256, hex. */
  hash(): string;
  /** Each step, when it is to be read. */
  lines: string[] | null;
}

export interface SqlFaults {
  /** Per statement. */
  lost: number;
  contention: number;
  /** Per commit: its answer is lost, whatever became of it. */
  commitUnknown: number;
}

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

interface Task {
  process: Process;
  what: string;
  /** Tasks of one connection keep their order. */
  lane: object | null;
  carryOut(): void;
}

interface Timer {
  at: number;
  turn: number;
  fire(): void;
}

/** Turns of the event loop without a port call after which nothing more is expected: Fastify needs up to four. */
const quietTurns = 6;

let boots = 0;

export function createWorld(db: Database, random: Random, startMs: number): World {
  boots += 1e9;
  const boot = boots;
  const happened = createHash('sha256');
  const trace: Trace = { lines: null, hash: () => happened.copy().digest('hex') };
  const note = (what: string): void => {
    const line = `${time} ${random.drawn()} ${what}`;
    happened.update(line);
    trace.lines?.push(line);
  };
  let time = startMs;
  let turn = 0;
  let points = 0;
  let crash: { point: number; when: 'before' | 'after'; died: (process: Process) => void } | null = null;
  const tasks: Task[] = [];
  const timers: Timer[] = [];
  const seen = new Map<string, number>();

  const world: World = {
    random,
    seen,
    faults: { lost: 0, contention: 0, commitUnknown: 0 },
    outside: (_request, answered) => answered(new NotSent('there is nothing outside')),
    now: () => time,
    at: (when, what) => addTimer(when, what),
    spawn,
    points: () => points,
    changed: () => {},
    trace,
    crashAt: (point, when, died) => {
      crash = { point, when, died };
    },
    count: (what) => void seen.set(what, (seen.get(what) ?? 0) + 1),
    run,
  };

  function addTimer(at: number, fire: () => void): void {
    const timer = { at: Math.max(at, time), turn: turn++, fire };
    let place = timers.length;
    while (place > 0 && later(timers[place - 1] as Timer, timer)) place--;
    timers.splice(place, 0, timer);
  }

  async function run(done: () => boolean, until: number): Promise<boolean> {
    for (;;) {
      for (let quiet = 0; quiet < quietTurns && ready().length === 0; quiet++) await nextTurn();
      if (done()) return true;
      const waiting = ready();
      if (waiting.length > 0) {
        carryOut(waiting.length === 1 ? (waiting[0] as Task) : random.pick(waiting));
        await nextTurn();
        continue;
      }
      const [first] = timers;
      if (!first || first.at > until) {
        time = Math.max(time, until);
        return false;
      }
      time = Math.max(time, first.at);
      timers.shift();
      note('timer');
      first.fire();
    }
  }

  /** The first task of every lane of processes that run. */
  function ready(): Task[] {
    const lanes = new Set<object>();
    const found: Task[] = [];
    for (const task of tasks) {
      if (task.lane) {
        if (lanes.has(task.lane)) continue;
        lanes.add(task.lane);
      }
      if (task.process.frozenUntil <= time) found.push(task);
    }
    return found;
  }

  function carryOut(task: Task): void {
    tasks.splice(tasks.indexOf(task), 1);
    const point = points++;
    note(`${task.what} of ${tasks.length + 1}`);
    const dies = crash !== null && crash.point === point ? crash : null;
    if (dies === null) {
      task.carryOut();
      return;
    }
    crash = null;
    world.count(`crash ${dies.when} ${task.what.split(' ')[0]}`);
    if (dies.when === 'after') {
      // Carried out, but its process dies before the result.
      task.process.alive = false;
      task.carryOut();
    }
    task.process.kill();
    dies.died(task.process);
  }

  /**
   * Rows for which no order was asked come in any: in PostgreSQL's own they would depend on what other runs left behind in
   * the tables, so the seed shuffles them.
   */
  function inNoOrder<Row>(rows: Row[], text: string): Row[] {
    if (rows.length < 2 || ordered.test(text)) return rows;
    const sorted = rows.map((row) => ({ row, key: JSON.stringify(row) }));
    sorted.sort((one, other) => (one.key < other.key ? -1 : 1));
    for (let at = sorted.length - 1; at > 0; at--) {
      const other = random.below(at + 1);
      [sorted[at], sorted[other]] = [sorted[other], sorted[at]] as [(typeof sorted)[0], (typeof sorted)[0]];
    }
    return sorted.map(({ row }) => row);
  }

  function spawn(name: string): Process {
    const open = new Set<() => void>();
    const mourners: (() => void)[] = [];
    const task = <T>(what: string, lane: object | null, carry: () => T): Promise<T> =>
      new Promise((resolve, reject) => {
        if (!process.alive) return;
        tasks.push({
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
    const process: Process = {
      name,
      alive: true,
      frozenUntil: 0,
      clockOffsetMs: 0,
      sql: sqlOf(homeCell),
      openCell: (cell) => ({ ...sqlOf(cell), close: () => Promise.resolve() }),
      clock: {
        now: () => time + process.clockOffsetMs,
        machineMs: () => time + process.clockOffsetMs,
        // Every run has a later boot than the one before: nothing that the edge remembers is young enough to count.
        monotonicMs: () => time - startMs + boot,
        sleep: (ms, signal) =>
          new Promise((resolve) => {
            if (signal?.aborted) return resolve();
            const end = () => {
              if (process.alive) resolve();
            };
            const wake = () => {
              if (process.frozenUntil > time) addTimer(process.frozenUntil, end);
              else end();
            };
            addTimer(time + ms, wake);
            signal?.addEventListener('abort', end, { once: true });
          }),
      },
      ids: idsOf(),
      net: {
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
                addTimer(time + sent.timeoutMs, () => end(new NetFailure('timed out', { timedOut: true })));
                world.outside(sent, end);
              }),
          ),
        lookup: () => Promise.resolve(['93.184.216.34']),
        ownAddresses: () => ['127.0.0.1'],
        close: () => Promise.resolve(),
      },
      kill: () => {
        process.alive = false;
        for (let at = tasks.length - 1; at >= 0; at--)
          if (tasks[at]?.process === process) tasks.splice(at, 1);
        for (const giveUp of open) giveUp();
        open.clear();
        for (const told of mourners.splice(0)) told();
      },
      whenDead: (told) => void mourners.push(told),
    };

    function idsOf(): Ids {
      let lastMs = 0;
      let counter = 0;
      return {
        uuid: () => {
          const now = time + process.clockOffsetMs;
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

    function sqlOf(cell: string): Sql {
      const session = db.on(cell);
      const statement = <Row>(what: Statement, values: readonly unknown[] = []): Row[] => {
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
        return inNoOrder(session.run<Row>(what.text, values), what.text);
      };

      async function begin(): Promise<Transaction> {
        const release = await db.acquire();
        if (!process.alive) {
          release();
          return await new Promise(() => {});
        }
        let ended = false;
        let failure: unknown = null;
        const lane = {};
        const giveUp = () => {
          ended = true;
          db.exec('ROLLBACK');
          open.delete(giveUp);
          release();
        };
        open.add(giveUp);
        session.exec('BEGIN');
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
                db.exec('ROLLBACK');
                release();
                world.count('commit lost');
                throw new CommitUnknown('the answer to COMMIT was lost');
              }
              db.exec('COMMIT');
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

      return {
        begin,
        run: async <Row>(what: Statement, values?: readonly unknown[]) => {
          // Exclusive: waits until the session is free.
          const release = await db.acquire();
          if (!process.alive) {
            release();
            return await new Promise<Row[]>(() => {});
          }
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
        tx: async (work) => {
          const tx = await begin();
          try {
            const result = await work(tx);
            await tx.commit();
            return result;
          } catch (error) {
            await tx.rollback();
            throw error;
          }
        },
      };
    }
    return process;
  }

  return world;
}

/** An ORDER BY of the statement itself, and not of something in brackets. */
const ordered = /ORDER BY[^()]*(\([^()]*\)[^()]*)*$/i;

const later = (one: Timer, other: Timer): boolean =>
  one.at > other.at || (one.at === other.at && one.turn > other.turn);

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
