import { childrenOf, findPostmaster, freezePostgres, killIfAlive } from '@vintem/testkit/processes.ts';
import pg from 'pg';
import { findEmbedded } from '../../server/src/store/database/embedded.ts';
import { type Part, sleep } from '../chaos/processes.ts';

/** The processes of a data folder. */
export interface Stage {
  dataDir: string;
  /** `vintem start`, with the database and the simulator beside it. */
  main: Part;
  others?: readonly Part[];
}

/** Deaths and stops that rigs choose from. Afterwards all of them run again, or come up by themselves. */
export function faultsOn({ dataDir, main, others = [] }: Stage) {
  const postmaster = () => findPostmaster(dataDir);
  const simulator = async () => (await childrenOf(main.pid)).find((pid) => pid !== postmaster()) ?? null;
  async function kill(...parts: readonly Part[]): Promise<void> {
    for (const one of parts) one.signal('SIGKILL');
    await Promise.all(parts.map((one) => one.exited()));
    await Promise.all(parts.map(again));
  }
  return {
    kill,
    killSimulator: async () => killIfAlive(await simulator(), 'SIGKILL'),
    killDatabase: async () => killIfAlive(postmaster(), 'SIGKILL'),
    /** A backend that is killed takes the others with it: PostgreSQL recovers by itself. */
    async killBackend(): Promise<void> {
      const server = postmaster();
      const [one] = server === null ? [] : (await childrenOf(server)).slice(-1);
      killIfAlive(one ?? null, 'SIGKILL');
    },
    /** In one moment, database and simulator included. */
    async killEverything(): Promise<void> {
      const beside = [postmaster(), await simulator()];
      const all = [main, ...others];
      for (const one of all) one.signal('SIGKILL');
      for (const pid of beside) killIfAlive(pid, 'SIGKILL');
      await Promise.all(all.map((one) => one.exited()));
      await again(main);
      await Promise.all(others.map(again));
    },
    async freeze(one: Part, ms: number): Promise<void> {
      one.signal('SIGSTOP');
      await sleep(ms);
      one.signal('SIGCONT');
    },
    async freezeDatabase(ms: number): Promise<void> {
      const server = postmaster();
      if (server === null) return;
      const all = await freezePostgres(server);
      await sleep(ms);
      for (const pid of all) killIfAlive(pid, 'SIGCONT');
    },
    /** The server ends every session, in the middle of whatever it was doing, so many times in a row. @returns how many it ended */
    async cutConnections(times: number): Promise<number> {
      const url = await findEmbedded(dataDir);
      if (url === null) return 0;
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      let cut = 0;
      try {
        for (let time = 0; time < times; time++) {
          const { rowCount } = await client.query(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
              WHERE datname = current_database() AND pid <> pg_backend_pid()`,
          );
          cut += rowCount ?? 0;
          await sleep(200);
        }
      } finally {
        await client.end();
      }
      return cut;
    },
  };
}

async function again(one: Part): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await one.start();
      return;
    } catch (error) {
      // A part alone needs the database of `start`, which may be on its way up.
      if (tries > 20) throw error;
      await sleep(1_000);
    }
  }
}
