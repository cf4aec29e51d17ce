import type { ChildProcess } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A run of tests has a folder of its own: data folders lie in it, and a file for each program that a test started, named by its process id.
 * A run that is interrupted never comes to the end of its tests, which end and remove these: the process of the run does so instead.
 */
const runFolder = 'TEST_RUN_FOLDER';
const systemFolder = 'TEST_SYSTEM_FOLDER';

/** In the process of the run, before its workers. */
export function beginRun(): void {
  process.env[systemFolder] = tmpdir();
  const folder = mkdtempSync(join(process.env.TMPDIR ?? memoryFolder() ?? tmpdir(), 'vintem-run-'));
  // As root the database runs as another user, who has to pass through.
  chmodSync(folder, 0o711);
  mkdirSync(join(folder, 'programs'));
  process.env[runFolder] = folder;
  process.env.TMPDIR = folder;
  process.once('exit', () => {
    const programs = readdirSync(join(folder, 'programs')).map(Number);
    for (const pid of programs) end(pid);
    waitForEnd(programs);
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // What did not end in time still writes there.
    }
  });
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch {
    // It has ended by itself, and its worker had no time left to say so.
  }
}

/** Longer than a program has to stop its PostgreSQL. */
const endsWithinMs = 12_000;

/** Blocks, since a process that exits waits for nothing else. A program that still writes would leave the folder behind. */
function waitForEnd(programs: readonly number[]): void {
  const untilMs = performance.now() + endsWithinMs;
  const pause = new Int32Array(new SharedArrayBuffer(4));
  while (programs.some(isAlive) && performance.now() < untilMs) Atomics.wait(pause, 0, 0, 50);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** In a worker. Outside a run of tests nothing is noted: a terminal interrupts its whole group. */
export function endWithRun<Child extends ChildProcess>(child: Child): Child {
  const folder = process.env[runFolder];
  if (folder === undefined || child.pid === undefined) return child;
  const note = join(folder, 'programs', String(child.pid));
  writeFileSync(note, '');
  child.once('exit', () => rmSync(note, { force: true }));
  return child;
}

/** The system's own folder for such things, which outlives the run. */
export const lastingFolder = (): string => process.env[systemFolder] ?? tmpdir();

/** More than a run has filled at any time, with room for what else the machine keeps there. */
const enoughBytes = 4 * 1024 ** 3;

/**
 * A folder that lies in memory, where a Linux machine has one that is large enough and runs programs from it (containers often have
 * neither). Clusters of a test live for seconds: a write that reaches a disk proves nothing more there, and tests wait for it. Three files
 * with 68 tests took a third less time, an eighth less of the processor's.
 */
function memoryFolder(): string | null {
  const path = '/dev/shm';
  try {
    const mounted = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
      .find(([, at, type]) => at === path && type === 'tmpfs');
    const { bavail, bsize } = statfsSync(path);
    const runs = mounted?.[3]?.split(',').includes('noexec') === false;
    return runs && bavail * bsize >= enoughBytes ? path : null;
  } catch {
    return null;
  }
}
