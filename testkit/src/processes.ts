import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { processExists } from '../../server/src/store/database/lock.ts';

/** Processes of this machine, by their ids. */

/**
 * Sends a signal, and does nothing when the process has ended. Rejected: to check first and signal then, since it may end between the two.
 *
 * @param pid a negative number means a process group; with null nothing is sent
 */
export function killIfAlive(pid: number | null, signal: NodeJS.Signals): void {
  if (pid === null) return;
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The processes that a process has started, without `ps` where there is /proc: small images lack it. */
export async function childrenOf(parent: number): Promise<number[]> {
  if (process.platform !== 'linux') {
    const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
    const rows = table.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
    return rows.flatMap(([pid = 0, ppid]) => (ppid === parent ? [pid] : []));
  }
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')));
  return stats.flatMap((stat) => {
    const [state, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(ppid) === parent && state !== 'Z' ? [Number.parseInt(stat, 10)] : [];
  });
}

/** @returns null when no running server is noted in this folder of a PostgreSQL */
export function postmasterIn(cluster: string): number | null {
  try {
    const pid = Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0]);
    return pid > 1 && processExists(pid) ? pid : null;
  } catch {
    return null;
  }
}

/** Of the embedded PostgreSQL of a data folder; null when it does not run. */
export function findPostmaster(dataDir: string): number | null {
  try {
    return postmasterIn(
      resolve(dataDir, JSON.parse(readFileSync(join(dataDir, 'postgres.json'), 'utf8')).cluster),
    );
  } catch {
    return null;
  }
}

/** @throws Error when the embedded PostgreSQL of the data folder does not run */
export function postmasterOf(dataDir: string): number {
  const pid = findPostmaster(dataDir);
  if (pid === null) throw new Error(`no PostgreSQL runs on ${dataDir}`);
  return pid;
}

/**
 * Stops every process of a PostgreSQL with SIGSTOP, the postmaster first. A stopped postmaster starts no process and does not collect those
 * that end: the list is complete, and every process id in it stays valid for the next signal.
 *
 * @returns the process ids, the postmaster's last, so that a loop over them signals it last
 */
export async function freezePostgres(postmaster: number): Promise<number[]> {
  process.kill(postmaster, 'SIGSTOP');
  const all = [...(await childrenOf(postmaster)), postmaster];
  for (const pid of all) process.kill(pid, 'SIGSTOP');
  return all;
}
