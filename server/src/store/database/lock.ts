import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readlinkSync } from 'node:fs';
import { link, open, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { isSameFile, writeDurably } from '../../ground/durable-files.ts';
import type { Clock } from '../../ports/clock.ts';

/** Who owns a folder (a data folder, a cluster): at most one process at a time. */
interface Owner {
  pid: number;
  /** Real path of the folder that it took, so that a copy of the folder with the file in it is not taken for the folder. */
  folder: string;
  /** Where its id counts: two containers may share a folder. Null where there are no such namespaces. */
  processes: string | null;
  /** Name of the socket in the folder that answers as long as it lives; null where there are none. */
  bell: string | null;
  /** Distinguishes this process from a later one with the same id. */
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

/** Another process owns the folder. */
export class LockHeld extends Error {
  override name = 'LockHeld';
  readonly owner: Owner;
  constructor(folder: string, owner: Owner) {
    const where = owner.port === null ? '' : `, port ${owner.port}`;
    super(`${folder} is in use by \`vintem ${owner.command}\` (process ${owner.pid}${where})`);
    this.owner = owner;
  }
}

let takes = 0;

/**
 * Takes `lock.json` of a folder, also over from an owner that is gone.
 * @throws LockHeld
 */
export async function takeLock(
  folder: string,
  { command, port }: { command: string; port: number | null },
): Promise<Lock> {
  const path = join(folder, 'lock.json');
  // Of this take alone: of two at once, one would remove the file that the other is about to link.
  const mine = `${process.pid}-${++takes}`;
  const bell = await hangBell(folder, `lock.sock-${mine}`);
  const owner: Owner = {
    pid: process.pid,
    folder: await realpath(folder),
    processes: ownProcesses(),
    bell: bell?.name ?? null,
    startedAt: startOf(process.pid),
    command,
    port,
  };
  let own = `${JSON.stringify(owner)}\n`;
  const part = `${path}.part-${mine}`;
  // Readable: after a crash PostgreSQL, as another user, syncs every file of its folder.
  await writeFile(part, own, { mode: 0o644 });
  try {
    // Links a file that is already complete, so that no process reads half of one. Fails when the name exists.
    while (!(await linked(part, path))) {
      const found = await readFile(path, 'utf8').catch(() => null);
      if (found === null) continue;
      const other = parseOwner(found);
      if (other && (await holds(other, path, found))) throw new LockHeld(folder, other);
      // Two processes may find the same stale file: what one of them moves away must still be what it judged.
      const aside = `${path}.stale-${mine}`;
      const moved = await rename(path, aside).then(
        () => true,
        () => false,
      );
      if (moved && (await readFile(aside, 'utf8')) !== found) await linked(aside, path);
      await rm(aside, { force: true });
      if (other?.bell) await rm(join(folder, basename(other.bell)), { force: true });
    }
  } catch (error) {
    await bell?.take();
    throw error;
  } finally {
    await rm(part, { force: true });
  }
  return {
    announceEnd: async () => {
      own = `${JSON.stringify({ ...owner, ending: true })}\n`;
      await writeDurably(path, own);
    },
    release: async () => {
      await bell?.take();
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

/** Whether the owner that a lock names holds this folder. */
async function holds(owner: Owner, path: string, text: string): Promise<boolean> {
  if (await isCopied(owner, path, text)) return false;
  // A process id of another container says nothing here.
  if (owner.processes !== undefined && owner.processes !== ownProcesses()) {
    return owner.bell !== null && answersAt(dirname(path), basename(owner.bell));
  }
  return isAlive(owner);
}

/** The owner's folder is another one, which still has this lock: ours came with a copy. A folder that was moved under its owner is held. */
async function isCopied({ folder }: Owner, path: string, text: string): Promise<boolean> {
  if (folder === undefined || folder === (await realpath(dirname(path)))) return false;
  const original = join(folder, 'lock.json');
  if ((await readFile(original, 'utf8').catch(() => null)) !== text) return false;
  return !(await isSameFile(original, path));
}

// --------------------------------------------------------------------------------------------- between containers
// A socket in the folder answers as long as its owner lives, also to a process that cannot see the owner's id.

/** The path of a socket has at most 107 bytes: this one is short whatever the folder. */
async function throughHandle<T>(folder: string, name: string, use: (path: string) => Promise<T>): Promise<T> {
  const handle = await open(folder, 'r');
  try {
    return await use(`/proc/self/fd/${handle.fd}/${name}`);
  } finally {
    await handle.close();
  }
}

/** Null where there are no such sockets: other systems, some shared folders of virtual machines. */
async function hangBell(
  folder: string,
  name: string,
): Promise<{ name: string; take(): Promise<void> } | null> {
  if (process.platform !== 'linux') return null;
  const place = join(folder, name);
  const server = createServer((socket) => socket.destroy()).unref();
  return throughHandle(folder, name, async (path) => {
    // Left by a process of the same id.
    await rm(place, { force: true });
    server.listen(path);
    await once(server, 'listening');
    server.on('error', () => {});
    return {
      name,
      take: async () => {
        server.close();
        await rm(place, { force: true });
      },
    };
  }).catch(() => null);
}

async function answersAt(folder: string, name: string): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  return throughHandle(folder, name, async (path) => {
    const socket = connect(path);
    try {
      await once(socket, 'connect');
      return true;
    } finally {
      socket.destroy();
    }
  }).catch(() => false);
}

/** The namespace of process ids (Linux). */
function ownProcesses(): string | null {
  try {
    return process.platform === 'linux' ? readlinkSync('/proc/self/ns/pid') : null;
  } catch {
    return null;
  }
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
