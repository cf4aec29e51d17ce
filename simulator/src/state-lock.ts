import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * One simulator works on a folder of state at a time: two would each keep half of the truth in memory and write over the other.
 *
 * @returns gives the folder back
 * @throws Error that names the process that works on it
 */
export function lockState(stateDir: string): () => void {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const path = join(stateDir, 'simulator.lock');
  const own = JSON.stringify({
    pid: process.pid,
    began: beginOf(process.pid),
    // A copy of the folder is another folder, although the file came with it.
    folder: realpathSync(stateDir),
  });
  const part = `${path}.${process.pid}`;
  writeFileSync(part, own, { mode: 0o600 });
  try {
    while (!linked(part, path)) {
      const found = read(path);
      if (found === null) continue;
      const pid = holderOf(found, realpathSync(stateDir));
      if (pid !== null) {
        throw new Error(`${stateDir} (SIMULATOR_STATE) is in use by another simulator (process ${pid})`);
      }
      // Of two that find the same stale file one moves it; what the other moves then is the first one's own.
      const aside = `${part}.stale`;
      try {
        renameSync(path, aside);
      } catch {
        continue;
      }
      if (read(aside) !== found) linked(aside, path);
      rmSync(aside, { force: true });
    }
  } finally {
    rmSync(part, { force: true });
  }
  return () => {
    if (read(path) === own) rmSync(path, { force: true });
  };
}

/** The process that holds the folder; null: it is gone, or the file was copied from another folder. */
function holderOf(text: string, folder: string): number | null {
  try {
    const owner = JSON.parse(text) as { pid: number; began: string; folder: string };
    const copied = owner.folder !== folder && read(join(owner.folder, 'simulator.lock')) === text;
    process.kill(owner.pid, 0);
    return !copied && beginOf(owner.pid) === owner.began ? owner.pid : null;
  } catch {
    return null;
  }
}

/** With its id this names a process for good. */
function beginOf(pid: number): string {
  try {
    if (process.platform === 'win32') return '';
    if (process.platform !== 'linux') {
      return execFileSync('ps', ['-o', 'lstart=', '-p', `${pid}`], { encoding: 'utf8' }).trim();
    }
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie has ended.
    return state === 'Z'
      ? 'ended'
      : `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')}/${fields[18]}`;
  } catch {
    return '';
  }
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
