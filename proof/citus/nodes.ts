import { spawn } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { ask, type CitusNode } from '@vintem/testkit/citus.ts';
import { childrenOf } from '@vintem/testkit/processes.ts';
import { processExists } from '../../server/src/store/database/lock.ts';
import { pause } from '../processes/clients.ts';

/** A node on this machine, which can be killed and started again as it was started. */
export interface LocalNode extends CitusNode {
  /** Of its postmaster. */
  readonly pid: number;
  /** kill -9 of the postmaster; its other processes see that and end. */
  kill(): Promise<void>;
  /** As it was started, until it answers. */
  start(): Promise<void>;
}

/**
 * @param node of a cluster, with a superuser's login
 * @returns null when it does not run on this machine, or may not be started from here
 */
export async function localNode(node: CitusNode): Promise<LocalNode | null> {
  const [row] = await ask<{ folder: string; pid: string; words: string }>(
    node.url,
    `SELECT current_setting('data_directory') AS folder, split_part(pg_read_file('postmaster.pid'), E'\\n', 1) AS pid,
        pg_read_file('postmaster.opts') AS words`,
  );
  if (!row || !isLoopback(node.host) || !processExists(Number(row.pid))) return null;
  let pid = Number(row.pid);
  const [program = '', ...words] = wordsOf(row.words);
  const { uid, gid } = statSync(row.folder);
  // Its own: with another HOME the coordinator looks for certificates that it may not read, and reaches no node.
  const env = Object.fromEntries(
    readFileSync(`/proc/${pid}/environ`, 'utf8')
      .split('\0')
      .filter((line) => line.includes('='))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  return {
    ...node,
    get pid() {
      return pid;
    },
    kill: async () => {
      const processes = [pid, ...(await childrenOf(pid))];
      process.kill(pid, 'SIGKILL');
      while (processes.some(processExists)) await pause(20);
    },
    start: async () => {
      const asRoot = process.getuid?.() === 0;
      const started = spawn(program, words, {
        cwd: '/',
        detached: true,
        stdio: 'ignore',
        env,
        ...(asRoot ? { uid, gid } : {}),
      });
      started.unref();
      pid = started.pid as number;
      while (!(await answers(node.url))) {
        if (!processExists(pid)) throw new Error(`${program} of ${row.folder} does not start again`);
        await pause(50);
      }
    },
  };
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host.startsWith('127.');

/** `/usr/bin/postgres "-D" "/data"` */
const wordsOf = (line: string): string[] =>
  [...line.trim().matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');

const answers = (url: string): Promise<boolean> =>
  ask(url, 'SELECT 1').then(
    () => true,
    () => false,
  );
