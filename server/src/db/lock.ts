import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurably } from '../ground/durable-files.ts';
import type { Clock } from '../ports/clock.ts';

/** Who owns a data folder: at most one process at a time. */
interface Owner {
  pid: number;
  /** Tells this process from a later one with the same id. */
  startedAt: string;
  /** `start`, or the command that runs the database while it works. */
  command: string;
  /** Where the owner's service listens, for the message. */
  port: number | null;
  /** It is about to release the folder: worth waiting for. */
  ending?: boolean;
}

export interface Lock {
  /** Announces to waiting processes that the folder will be free in a moment. */
  announceEnd(): Promise<void>;
  release(): Promise<void>;
}

/** Somebody else owns the folder. */
export class LockHeld extends Error {
  override name = 'LockHeld';
  readonly owner: Owner;
  constructor(dataDir: string, owner: Owner) {
    const where = owner.port === null ? '' : `, port ${owner.port}`;
    super(`${dataDir} is in use by \`vintem ${owner.command}\` (process ${owner.pid}${where})`);
    this.owner = owner;
  }
}

let takes = 0;

/**
 * Takes `dataDir/lock.json`, also over from an owner that is gone.
 * @throws LockHeld
 */
export async function takeLock(
  dataDir: string,
  { command, port }: { command: string; port: number | null },
): Promise<Lock> {
  const path = join(dataDir, 'lock.json');
  const owner: Owner = { pid: process.pid, startedAt: startOf(process.pid), command, port };
  let own = `${JSON.stringify(owner)}\n`;
  // Of this take alone: of two at once, one would remove the file that the other is about to link.
  const mine = `${process.pid}-${++takes}`;
  const part = `${path}.part-${mine}`;
  await writeFile(part, own, { mode: 0o600 });
  try {
    // Links a file that is already complete, so that no process reads half of one. Fails when the name exists.
    while (!(await linked(part, path))) {
      const found = await readFile(path, 'utf8').catch(() => null);
      if (found === null) continue;
      const other = parseOwner(found);
      if (other && isAlive(other)) throw new LockHeld(dataDir, other);
      // Two processes may find the same stale file: what one of them moves away must still be what it judged.
      const aside = `${path}.stale-${mine}`;
      const moved = await rename(path, aside).then(
        () => true,
        () => false,
      );
      if (moved && (await readFile(aside, 'utf8')) !== found) await linked(aside, path);
      await rm(aside, { force: true });
    }
  } finally {
    await rm(part, { force: true });
  }
  return {
    announceEnd: async () => {
      own = `${JSON.stringify({ ...owner, ending: true })}\n`;
      await writeDurably(path, own);
    },
    release: async () => {
      if ((await readFile(path, 'utf8').catch(() => null)) === own) await rm(path, { force: true });
    },
  };
}

/**
 * The same, waiting while a short command owns it, or a `start` that is ending.
 * @throws LockHeld at once when a `start` is running, and after `waitMs`
 */
export async function waitForLock(
  clock: Clock,
  dataDir: string,
  owner: { command: string; port: number | null },
  waitMs: number,
): Promise<Lock> {
  const deadline = clock.monotonicMs() + waitMs;
  for (;;) {
    try {
      return await takeLock(dataDir, owner);
    } catch (error) {
      if (!(error instanceof LockHeld) || clock.monotonicMs() > deadline) throw error;
      if (error.owner.command === 'start' && !error.owner.ending) throw error;
      await clock.sleep(50);
    }
  }
}

/** Whether its owner has said that it is about to release `dataDir`. */
export async function ownerIsEnding(dataDir: string): Promise<boolean> {
  const text = await readFile(join(dataDir, 'lock.json'), 'utf8').catch(() => null);
  const owner = text === null ? null : parseOwner(text);
  return owner?.ending === true && isAlive(owner);
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function parseOwner(text: string): Owner | null {
  try {
    const owner = JSON.parse(text) as Owner;
    return Number.isInteger(owner.pid) ? owner : null;
  } catch {
    return null;
  }
}

function isAlive(owner: Owner): boolean {
  return processExists(owner.pid) && startOf(owner.pid) === owner.startedAt;
}

/** A zombie (ended, but not yet reaped by its parent) does not count: in a container it may never be reaped. */
export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  return process.platform !== 'linux' || statFields(pid)?.[0] !== 'Z';
}

/** When a process began: with its id, that names it for good. Empty where the system does not tell. */
function startOf(pid: number): string {
  try {
    if (process.platform === 'linux') {
      const ticks = statFields(pid)?.[19];
      return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${ticks}`;
    }
    if (process.platform === 'win32') return '';
    return execFileSync('ps', ['-o', 'lstart=', '-p', `${pid}`], { encoding: 'utf8' }).trim();
  } catch {
    return '';
  }
}

/** The fields of Linux's `stat` from the third on: the state first, the start in ticks since boot at 19. */
function statFields(pid: number): string[] | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in brackets and may hold spaces.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}
