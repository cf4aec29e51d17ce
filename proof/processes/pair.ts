import { appendFileSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@vintem/testkit/free-port.ts';
import pg from 'pg';
import { pause } from './clients.ts';
import { openRelay } from './relay.ts';
import { serversIn } from './servers.ts';

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
  promote(): Promise<void>;
  close(): Promise<void>;
}

/** @param synchronous COMMIT is answered when the standby has it on disk */
export async function openPair(
  tools: string,
  folder: string,
  { synchronous }: { synchronous: boolean },
): Promise<Pair> {
  const servers = serversIn(tools, join(folder, 'servers'));
  const { begin, kill } = servers;
  const [primaryPort, standbyPort] = [await freePort(), await freePort()];
  const [primary, standby] = [join(servers.folder, 'primary'), join(servers.folder, 'standby')];
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
    await servers.make(primary);
    appendFileSync(join(primary, 'postgresql.conf'), 'restart_after_crash = off\nwal_level = replica\n');
    await begin(primary, primaryPort);
    await ask(primaryPort, 'CREATE DATABASE vintem');
    const sourceAt = (port: number) => `host=127.0.0.1 port=${port} user=postgres application_name=standby`;
    const source = sourceAt(primaryPort);
    await servers.run(join(tools, 'pg_basebackup'), [
      '-D',
      standby,
      '-d',
      source,
      '-R',
      '-X',
      'stream',
      '-c',
      'fast',
    ]);
    appendFileSync(join(standby, 'postgresql.auto.conf'), `primary_conninfo = '${sourceAt(wire.port)}'\n`);
    await begin(standby, standbyPort);
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
    async promote() {
      await servers.promote(standby);
      relay.switchTo(standbyPort);
    },
    close,
  };
}
