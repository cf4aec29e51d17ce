import { spawnSync } from 'node:child_process';
import { appendFileSync, chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@vintem/testkit/free-port.ts';
import { freezePostgres, killIfAlive, postmasterIn } from '@vintem/testkit/processes.ts';
import pg from 'pg';
import { pause } from './clients.ts';
import { openRelay } from './relay.ts';

/** Why rigs of standbys are not run. */
export const toolsLacking = "PostgreSQL's own tools (initdb, pg_basebackup, pg_ctl) are not installed";

/** The folder of PostgreSQL's own tools: PG_BIN, or the newest of /usr/lib/postgresql. Null: there are none. */
export function toolsOf(): string | null {
  const installed = existsSync('/usr/lib/postgresql')
    ? readdirSync('/usr/lib/postgresql').sort((one, other) => Number(other) - Number(one))
    : [];
  const places = [
    process.env.PG_BIN ?? '',
    ...installed.map((version) => `/usr/lib/postgresql/${version}/bin`),
  ];
  const tools = ['initdb', 'pg_basebackup', 'pg_ctl', 'postgres'];
  return places.find((place) => place && tools.every((tool) => existsSync(join(place, tool)))) ?? null;
}

/** A primary and its streaming standby, with a database `vintem`. */
export interface Pair {
  /** The one address of the database, which leads to the primary until the standby is promoted. */
  url: string;
  /** Resolves once the standby has everything that is committed now. */
  caughtUp(): Promise<void>;
  /** The standby receives nothing from here on. */
  cutStandby(): void;
  /** kill -9 of the primary and of every backend: its data is never looked at again. */
  killPrimary(): Promise<void>;
  /** Promotes the standby, and leads the address to it. */
  promote(): void;
  close(): Promise<void>;
}

/** @param synchronous COMMIT is answered when the standby has it on disk */
export async function openPair(
  tools: string,
  folder: string,
  { synchronous }: { synchronous: boolean },
): Promise<Pair> {
  const servers = join(folder, 'servers');
  mkdirSync(servers, { mode: 0o700 });
  // PostgreSQL refuses to work as root.
  const asRoot = process.getuid?.() === 0;
  const idOf = (flag: string) => Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout);
  const user = asRoot ? { uid: idOf('-u'), gid: idOf('-g') } : {};
  if (asRoot) chownSync(servers, user.uid as number, user.gid as number);
  const run = (tool: string, args: string[]): void => {
    const done = spawnSync(join(tools, tool), args, {
      ...user,
      cwd: servers,
      encoding: 'utf8',
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    if (done.status !== 0) throw new Error(`${tool} ended with ${done.status}: ${done.stderr}`);
  };
  const [primaryPort, standbyPort] = [await freePort(), await freePort()];
  const [primary, standby] = [join(servers, 'primary'), join(servers, 'standby')];
  const begin = (data: string, port: number): void => {
    const settings = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=`;
    run('pg_ctl', ['-D', data, '-w', '-t', '60', '-l', `${data}.log`, '-o', settings, 'start']);
  };
  const kill = async (data: string): Promise<void> => {
    const postmaster = postmasterIn(data);
    if (postmaster !== null) for (const pid of await freezePostgres(postmaster)) killIfAlive(pid, 'SIGKILL');
  };
  const ask = async (port: number, text: string, database = 'postgres') => {
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database });
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  };
  const until = async (what: string, text: string): Promise<void> => {
    for (let tries = 0; (await ask(primaryPort, text)).length === 0; tries++) {
      if (tries > 300) throw new Error(`${what} within 30 s`);
      await pause(100);
    }
  };
  const relay = await openRelay(primaryPort);
  const wire = await openRelay(primaryPort);
  const close = async (): Promise<void> => {
    relay.close();
    wire.close();
    await kill(standby);
    await kill(primary);
  };
  try {
    const form = ['-A', 'trust', '--data-checksums', '-E', 'UTF8', '--locale', 'C'];
    run('initdb', ['-D', primary, '-U', 'postgres', ...form]);
    appendFileSync(join(primary, 'postgresql.conf'), 'restart_after_crash = off\nwal_level = replica\n');
    begin(primary, primaryPort);
    await ask(primaryPort, 'CREATE DATABASE vintem');
    const sourceAt = (port: number) => `host=127.0.0.1 port=${port} user=postgres application_name=standby`;
    // Straight from the primary: this process waits for the copy, and a relay of its own would stand still meanwhile.
    const source = sourceAt(primaryPort);
    run('pg_basebackup', ['-D', standby, '-d', source, '-R', '-X', 'stream', '-c', 'fast']);
    appendFileSync(join(standby, 'postgresql.auto.conf'), `primary_conninfo = '${sourceAt(wire.port)}'\n`);
    begin(standby, standbyPort);
    if (synchronous) {
      // Only the primary's settings say so: the copy was made before.
      await ask(primaryPort, "ALTER SYSTEM SET synchronous_standby_names = 'standby'");
      await ask(primaryPort, 'SELECT pg_reload_conf()');
    }
    const state = synchronous ? 'sync' : 'async';
    await until(
      `the standby did not become ${state}`,
      `SELECT 1 FROM pg_stat_replication WHERE sync_state = '${state}' AND state = 'streaming'`,
    );
  } catch (error) {
    await close();
    throw error;
  }
  return {
    url: `postgresql://postgres@127.0.0.1:${relay.port}/vintem`,
    async caughtUp() {
      const [row] = await ask(primaryPort, 'SELECT pg_current_wal_lsn()::text AS place');
      await until(
        'the standby did not catch up',
        `SELECT 1 FROM pg_stat_replication WHERE replay_lsn >= '${row.place}'`,
      );
    },
    cutStandby: () => wire.cut(),
    killPrimary: () => kill(primary),
    promote() {
      run('pg_ctl', ['-D', standby, '-w', '-t', '60', 'promote']);
      relay.switchTo(standbyPort);
    },
    close,
  };
}
