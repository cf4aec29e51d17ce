import type { ChildProcess } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processExists } from '../../server/src/store/database/lock.ts';
import { killIfAlive } from './processes.ts';

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
  process.once('exit', () => endRun(folder));
}

/**
 * Ends every program of the run and removes its folder. It blocks, because an exiting process waits for nothing else. The workers are threads and
 * continue meanwhile: `endWithRun` ends what they still start, and after the rename they cannot write to the folder.
 */
function endRun(folder: string): void {
  writeFileSync(join(folder, 'over'), '');
  const untilMs = performance.now() + endsWithinMs;
  const pause = new Int32Array(new SharedArrayBuffer(4));
  const told = new Set<number>();
  while (programsIn(folder).length > 0 && performance.now() < untilMs) {
    for (const pid of programsIn(folder).filter((one) => !told.has(one))) {
      killIfAlive(pid, 'SIGTERM');
      told.add(pid);
    }
    Atomics.wait(pause, 0, 0, 50);
  }
  for (const pid of programsIn(folder)) killIfAlive(pid, 'SIGKILL');
  const over = `${folder}-over`;
  renameSync(folder, over);
  rmSync(over, { recursive: true, force: true, maxRetries: 5 });
}

const programsIn = (folder: string): number[] =>
  readdirSync(join(folder, 'programs')).map(Number).filter(processExists);

/** Longer than a program has to stop its PostgreSQL. */
const endsWithinMs = 12_000;

/** In a worker. Outside a run of tests nothing is noted: a terminal interrupts its whole group. */
export function endWithRun<Child extends ChildProcess>(child: Child): Child {
  const folder = process.env[runFolder];
  if (folder === undefined || child.pid === undefined) return child;
  const note = join(folder, 'programs', String(child.pid));
  try {
    writeFileSync(note, '');
  } catch {
    // The folder is gone with the run.
    child.kill();
    return child;
  }
  child.once('exit', () => rmSync(note, { force: true }));
  // Note first, then look: either `endRun` sees the note, or this sees that the run is over.
  if (existsSync(join(folder, 'over'))) child.kill();
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
