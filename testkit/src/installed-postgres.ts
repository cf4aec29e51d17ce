import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { systemClock } from '../../server/src/ports/clock.ts';
import { freePort } from './free-port.ts';
import { endWithRun } from './run.ts';

export interface InstalledPostgres {
  /** The superuser's, to the database `vintem`. */
  url: string;
  stop(): Promise<void>;
}

/**
 * A PostgreSQL that is installed on this machine, on a new cluster: the suite on another version than the embedded one.
 *
 * @param bin the folder with its `initdb` and `postgres`
 */
export async function startInstalled(bin: string): Promise<InstalledPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'vintem-installed-'));
  const user = process.getuid?.() === 0 ? unprivilegedUser() : null;
  if (user) chownSync(folder, user.uid, user.gid);
  chmodSync(folder, 0o700);
  const options = { cwd: '/', env: { PATH: process.env.PATH, LC_ALL: 'C' }, ...(user ?? {}) };
  const words = ['-U', 'vintem', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
  execFileSync(join(bin, 'initdb'), ['-D', folder, ...words], { ...options, stdio: 'ignore' });
  const port = await freePort();
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 200,
    timezone: 'UTC',
  };
  const server = endWithRun(
    spawn(
      join(bin, 'postgres'),
      ['-D', folder, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      { ...options, stdio: 'ignore' },
    ),
  );
  const url = `postgres://vintem@127.0.0.1:${port}/vintem`;
  await createDatabase(url, server);
  return {
    url,
    stop: async () => {
      const ended = new Promise((resolve) => server.once('exit', resolve));
      server.kill('SIGINT');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** PostgreSQL refuses to run as root. */
function unprivilegedUser(): { uid: number; gid: number } {
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

async function createDatabase(url: string, server: ChildProcess): Promise<void> {
  while (server.exitCode === null) {
    const client = new pg.Client({ connectionString: url.replace(/[^/]*$/, 'postgres') });
    try {
      await client.connect();
      await client.query('CREATE DATABASE vintem');
      await client.end();
      return;
    } catch {
      await systemClock.sleep(100);
    }
  }
  throw new Error(`PostgreSQL ended with ${server.exitCode}`);
}
