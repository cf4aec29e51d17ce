import { createHash } from 'node:crypto';
import { type NetAnswer, type NetRequest, NotSent } from '../../server/src/ports/net.ts';
import type { Database } from './database.ts';
import { type Kernel, type Process, spawn, type Task } from './process.ts';
import type { Random } from './random.ts';

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
  /** The outside's handling of a request; the answer goes to `answered` when it comes, if ever. */
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
    spawn: (name) => spawn(kernel, name),
    points: () => points,
    changed: () => {},
    trace,
    crashAt: (point, when, died) => {
      crash = { point, when, died };
    },
    count: (what) => void seen.set(what, (seen.get(what) ?? 0) + 1),
    run,
  };

  const kernel: Kernel = {
    world,
    db,
    random,
    sinceBootMs: () => time - startMs + boot,
    addTimer,
    addTask: (task) => void tasks.push(task),
    dropTasksOf: (process) => {
      for (let at = tasks.length - 1; at >= 0; at--) if (tasks[at]?.process === process) tasks.splice(at, 1);
    },
    note,
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

  return world;
}

const later = (one: Timer, other: Timer): boolean =>
  one.at > other.at || (one.at === other.at && one.turn > other.turn);

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
