import { spawn, spawnSync } from 'node:child_process';
import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freezePostgres, killIfAlive, postmasterIn } from '@vintem/testkit/processes.ts';

/** PostgreSQL servers of a rig, by PostgreSQL's own tools. */
export interface Servers {
  /** Of their data, and what else belongs to the user that PostgreSQL works as. */
  folder: string;
  /** A program as that user. @throws Error with what it printed, unless it ends well */
  run(program: string, words: readonly string[]): Promise<void>;
  /** A cluster of `initdb`, which trusts every login. */
  make(data: string): Promise<void>;
  /** Until it answers. @param settings as words of `postgres` */
  begin(data: string, port: number, settings?: string): Promise<void>;
  promote(data: string): Promise<void>;
  /** kill -9 of the postmaster and of every backend. */
  kill(data: string): Promise<void>;
}

/** @param tools the folder of PostgreSQL's own */
export function serversIn(tools: string, folder: string): Servers {
  mkdirSync(folder, { mode: 0o700 });
  // PostgreSQL refuses to work as root.
  const asRoot = process.getuid?.() === 0;
  const idOf = (flag: string) => Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout);
  const user = asRoot ? { uid: idOf('-u'), gid: idOf('-g') } : {};
  if (asRoot) chownSync(folder, user.uid as number, user.gid as number);
  const options = { ...user, cwd: folder, env: { ...process.env, HOME: folder } };
  const run = async (program: string, words: readonly string[]): Promise<void> => {
    const started = spawn(program, words, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    started.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const code = await new Promise((done, failed) => started.once('error', failed).once('close', done));
    if (code !== 0) throw new Error(`${program} ${words.join(' ')} ended with ${code}: ${said}`);
  };
  const tool = (name: string, words: readonly string[]) => run(join(tools, name), words);
  return {
    folder,
    run,
    make: (data) => {
      const form = ['-A', 'trust', '--data-checksums', '-E', 'UTF8', '--locale', 'C'];
      return tool('initdb', ['-D', data, '-U', 'postgres', ...form]);
    },
    begin: (data, port, settings = '-c unix_socket_directories=') => {
      const words = `-p ${port} -c listen_addresses=127.0.0.1 ${settings}`;
      return tool('pg_ctl', ['-D', data, '-w', '-t', '120', '-l', `${data}.log`, '-o', words, 'start']);
    },
    promote: (data) => tool('pg_ctl', ['-D', data, '-w', '-t', '60', 'promote']),
    kill: async (data) => {
      const postmaster = postmasterIn(data);
      if (postmaster === null) return;
      for (const pid of await freezePostgres(postmaster)) killIfAlive(pid, 'SIGKILL');
    },
  };
}
