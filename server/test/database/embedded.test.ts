import { execFile } from 'node:child_process';
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { freezePostgres, postmasterOf } from '@vintem/testkit/processes.ts';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLog } from '../../src/ground/log.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { type EmbeddedPostgres, findEmbedded, startEmbedded } from '../../src/store/database/embedded.ts';
import { LockHeld, takeLock, waitForLock } from '../../src/store/database/lock.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openPool } from '../../src/store/database/pool.ts';
import { checkServiceRole } from '../../src/store/database/roles.ts';

let dataDir: string;
let server: EmbeddedPostgres | null = null;
const said: string[] = [];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'vintem-embedded-'));
  await chmod(dataDir, 0o711);
  said.length = 0;
});
afterEach(async () => {
  await server?.stop();
  if (server?.apart) await rm(server.apart, { recursive: true, force: true });
  server = null;
  await rm(dataDir, { recursive: true, force: true });
});

async function begin(): Promise<EmbeddedPostgres> {
  server = await startEmbedded({ dataDir, log: createLog('silent'), say: (line) => said.push(line) });
  return server;
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

const clusterOf = async (): Promise<string> =>
  resolve(dataDir, JSON.parse(await readFile(join(dataDir, 'postgres.json'), 'utf8')).cluster);
const modeOf = async (file: string) => (await stat(join(dataDir, file))).mode & 0o777;

describe('the embedded PostgreSQL', () => {
  it('listens on loopback alone, asks for its password and loses nothing that was committed', async () => {
    const { url } = await begin();
    const settings = await query(
      url,
      `SELECT name, setting FROM pg_settings WHERE name IN ('listen_addresses', 'unix_socket_directories', 'fsync',
         'synchronous_commit', 'full_page_writes', 'data_checksums', 'password_encryption', 'deadlock_timeout', 'wal_compression') ORDER BY name`,
    );
    expect(Object.fromEntries(settings.map(({ name, setting }) => [name, setting]))).toEqual({
      data_checksums: 'on',
      deadlock_timeout: '100',
      fsync: 'on',
      full_page_writes: 'on',
      listen_addresses: '127.0.0.1',
      password_encryption: 'scram-sha-256',
      synchronous_commit: 'on',
      unix_socket_directories: '',
      wal_compression: 'off',
    });
    const wrong = new URL(url);
    wrong.password = 'wrong';
    await expect(query(wrong.toString(), 'SELECT 1')).rejects.toThrow('password authentication failed');
    for (const file of ['postgres.password', 'postgres.service.password', 'postgres.json', 'postgres.log']) {
      expect(await modeOf(file)).toBe(0o600);
    }
  });

  it('keeps its data and its port over a restart', async () => {
    const first = await begin();
    await query(first.url, 'CREATE TABLE kept (n int)');
    await first.stop();
    expect(await findEmbedded(dataDir)).toBeNull();
    const second = await begin();
    expect(second.url).toBe(first.url);
    expect(await query(second.url, 'SELECT * FROM kept')).toEqual([]);
    expect(await findEmbedded(dataDir)).toBe(second.url);
  });

  it('is adopted when its owner was killed, and stopped by who adopted it', async () => {
    await begin();
    const before = postmasterOf(dataDir);
    // As a process that was killed leaves it: its lock names no living one.
    await rm(join(await clusterOf(), 'lock.json'));
    const adopted = await begin();
    expect(postmasterOf(dataDir)).toBe(before);
    await adopted.stop();
    expect(await findEmbedded(dataDir)).toBeNull();
  });

  it('comes back with what was committed after every process was killed', async () => {
    const first = await begin();
    await query(first.url, 'CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n');
    const all = await freezePostgres(postmasterOf(dataDir));
    expect(all.length).toBeGreaterThan(1);
    for (const pid of all) process.kill(pid, 'SIGKILL');
    await first.lost;
    const second = await begin();
    expect(await query(second.url, 'SELECT count(*)::int AS n FROM kept')).toEqual([{ n: 1000 }]);
  });

  it('is not confused by a note of a process that is another program by now', async () => {
    const first = await begin();
    await first.stop();
    const note = [`${process.pid}`, await clusterOf(), '1700000000', '1', '', '', '', 'ready'].join('\n');
    await writeFile(join(await clusterOf(), 'postmaster.pid'), note, { mode: 0o666 });
    const second = await begin();
    expect(await query(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('begins anew after a first start that was cut off', async () => {
    await mkdir(join(dataDir, 'postgres.part'));
    await writeFile(join(dataDir, 'postgres.part', 'PG_VERSION'), '18\n');
    await writeFile(
      join(dataDir, 'postgres.json'),
      JSON.stringify({ cluster: join(dataDir, 'postgres'), port: 0, complete: false }),
    );
    const { url } = await begin();
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('never takes a missing database for a new installation', async () => {
    const first = await begin();
    await first.stop();
    const cluster = await clusterOf();
    await rename(cluster, `${cluster}.moved`);
    const refusal = await begin().catch((error: Error) => error.message);
    expect(refusal).toMatch(/is gone: bring it back from where it was moved to, or restore a backup/);
    expect(refusal).not.toMatch(/remove/);
    await rename(`${cluster}.moved`, cluster);
  });
});

describe('a data folder that was copied, moved or renamed', () => {
  const other = () => `${dataDir}-other`;
  const beginAt = (folder: string) =>
    startEmbedded({ dataDir: folder, log: createLog('silent'), say: (line) => said.push(line) });
  const copyTo = (folder: string) => promisify(execFile)('cp', ['-a', dataDir, folder]);
  const countAt = async (url: string) => (await query(url, 'SELECT count(*)::int AS n FROM kept'))[0]?.n;
  afterEach(async () => {
    await rm(other(), { recursive: true, force: true });
  });

  it('works on a database of its own beside the running original, and never reaches the other one', async () => {
    const original = await begin();
    await query(original.url, 'CREATE TABLE kept AS SELECT 1 AS n');
    await query(original.url, 'CHECKPOINT');
    await copyTo(other());
    expect(await findEmbedded(other())).toBeNull();
    const copy = await beginAt(other());
    expect(copy.copyOf).toBe(await realpath(dataDir));
    expect(original.copyOf).toBeNull();
    await query(copy.url, 'INSERT INTO kept VALUES (2)');
    expect([await countAt(original.url), await countAt(copy.url)]).toEqual([1, 2]);
    expect(postmasterOf(other())).not.toBe(postmasterOf(dataDir));
    await copy.stop();
    expect(await findEmbedded(dataDir)).toBe(original.url);
  });

  it('works on the database that it was moved with, and the new folder of its name on another', async () => {
    const first = await begin();
    await query(first.url, 'CREATE TABLE kept AS SELECT 1 AS n');
    await first.stop();
    await rename(dataDir, other());
    await mkdir(dataDir, { mode: 0o711 });
    const fresh = await begin();
    const moved = await beginAt(other());
    expect(moved.copyOf).toBeNull();
    expect(await countAt(moved.url)).toBe(1);
    await expect(countAt(fresh.url)).rejects.toThrow('does not exist');
    await moved.stop();
  });

  it('is refused as a copy whose database stands outside of it, and not once it was moved', async () => {
    const first = await begin();
    await query(first.url, 'CREATE TABLE kept AS SELECT 1 AS n');
    await first.stop();
    // As under /var/lib/vintem, and as behind a symbolic link.
    const outside = await mkdtemp(join(tmpdir(), 'vintem-outside-'));
    await chmod(outside, 0o711);
    await rename(await clusterOf(), join(outside, 'postgres'));
    const note = JSON.parse(await readFile(join(dataDir, 'postgres.json'), 'utf8'));
    for (const way of ['named', 'linked']) {
      if (way === 'named') {
        const named = { ...note, cluster: join(outside, 'postgres') };
        await writeFile(join(dataDir, 'postgres.json'), JSON.stringify(named));
      } else {
        await writeFile(join(dataDir, 'postgres.json'), JSON.stringify(note));
        await symlink(join(outside, 'postgres'), join(dataDir, 'postgres'));
      }
      const original = await begin();
      await copyTo(other());
      await expect(beginAt(other())).rejects.toThrow(
        /is a copy of .* without its database.*: use .*, or make a copy with `vintem backup`/,
      );
      expect(await countAt(original.url)).toBe(1);
      await original.stop();
      await rename(dataDir, `${dataDir}.away`);
      const moved = await beginAt(other());
      expect(await countAt(moved.url)).toBe(1);
      await moved.stop();
      await rm(other(), { recursive: true });
      await rename(`${dataDir}.away`, dataDir);
    }
    await rm(outside, { recursive: true });
  });

  it('is refused when the cluster in it is that of another installation, and nothing is changed', async () => {
    await (await begin()).stop();
    await mkdir(other(), { mode: 0o711 });
    await (await beginAt(other())).stop();
    const cluster = await clusterOf();
    await rename(cluster, `${cluster}.away`);
    await rename(join(other(), 'postgres'), cluster);
    await expect(begin()).rejects.toThrow('does not belong to DATA_DIR');
    await rm(join(dataDir, 'postgres.json'));
    await rename(cluster, join(other(), 'postgres'));
    await expect(begin()).rejects.toThrow(/which says where, is missing: bring that file back/);
  });

  it('of an earlier version, which kept whole paths, works on its own database as a copy and as itself', async () => {
    const first = await begin();
    await query(first.url, 'CREATE TABLE kept AS SELECT 1 AS n');
    await first.stop();
    const cluster = await clusterOf();
    await rm(join(cluster, 'vintem.json'));
    const earlier = { cluster, port: Number(new URL(first.url).port), complete: true };
    await writeFile(join(dataDir, 'postgres.json'), JSON.stringify(earlier));
    await copyTo(other());
    const original = await begin();
    const copy = await beginAt(other());
    await query(copy.url, 'INSERT INTO kept VALUES (2)');
    expect([await countAt(original.url), await countAt(copy.url)]).toEqual([1, 2]);
    await copy.stop();
  });
});

describe('the login of the service', () => {
  /** As the service works: its own login, its role, its session settings. */
  async function service(begun: EmbeddedPostgres) {
    await migrate({
      url: begun.serviceUrl,
      migrationUrl: begun.url,
      clock: systemClock,
      log: createLog('silent'),
    });
    return openPool({ url: begun.serviceUrl, log: createLog('silent'), name: 'vintem test', size: 1 });
  }

  it('cannot leave its role: no statement of the service makes a journal changeable', async () => {
    const sql = await service(await begin());
    await checkServiceRole(sql, { log: createLog('silent'), own: 'vintem_service' });
    for (const attack of [
      'SET ROLE NONE; DELETE FROM vintem.journal',
      'RESET ROLE; DELETE FROM vintem.journal',
      'SET ROLE vintem_owner',
      'SET ROLE vintem',
      'SET SESSION AUTHORIZATION vintem',
      'CREATE ROLE another LOGIN SUPERUSER',
      'ALTER ROLE vintem_service SUPERUSER',
      'GRANT vintem_owner TO vintem_service',
      'CREATE TABLE vintem.own (n int)',
      `COPY vintem.account TO PROGRAM 'cat'`,
      `SELECT pg_read_file('postgresql.conf')`,
    ]) {
      const tx = await sql.begin();
      let refused: unknown;
      for (const [at, text] of attack.split('; ').entries()) {
        await tx.run({ name: `attack ${attack} ${at}`.slice(0, 60), text }).catch((error: unknown) => {
          refused = error;
        });
      }
      await tx.rollback();
      expect.soft(refused, attack).toMatchObject({ code: '42501' });
    }
    await sql.close();
  });

  it('is refused by the start when a person gave it another role', async () => {
    const begun = await begin();
    const sql = await service(begun);
    const check = () => checkServiceRole(sql, { log: createLog('silent'), own: 'vintem_service' });
    await query(begun.url, 'GRANT vintem_owner TO vintem_service');
    await expect(check()).rejects.toThrow('take other roles');
    await query(begun.url, 'REVOKE vintem_owner FROM vintem_service');
    await check();
    await sql.close();
  });

  it('is made in a folder of an earlier version, and its password is known to the folder alone', async () => {
    const first = await begin();
    await query(first.url, 'DROP ROLE vintem_service');
    await first.stop();
    await rm(join(dataDir, 'postgres.service.password'));
    const second = await begin();
    expect(await query(second.serviceUrl, 'SELECT session_user::text AS login')).toEqual([
      { login: 'vintem_service' },
    ]);
    expect(await modeOf('postgres.service.password')).toBe(0o600);
    const [stored] = await query(
      second.url,
      `SELECT rolpassword AS stored FROM pg_authid WHERE rolname = 'vintem_service'`,
    );
    expect(stored?.stored).toMatch(/^SCRAM-SHA-256\$/);
  });

  it('gets the password of the folder again when the two differ', async () => {
    const first = await begin();
    await query(first.url, `ALTER ROLE vintem_service PASSWORD 'another'`);
    await first.stop();
    const second = await begin();
    expect(await query(second.serviceUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});

describe.runIf(process.getuid?.() === 0)('as root', () => {
  const nameOf = async (uid: number) =>
    (await readFile('/etc/passwd', 'utf8'))
      .split('\n')
      .map((line) => line.split(':'))
      .find((fields) => Number(fields[2]) === uid)?.[0];

  it('the cluster belongs to a user of its own, whom no other service uses', async () => {
    await begin();
    expect(await nameOf((await stat(await clusterOf())).uid)).toBe('vintem-db');
    expect((await stat(await clusterOf())).mode & 0o077).toBe(0);
  });

  it('a cluster of the shared system user gets its own user at the next start and keeps its data', async () => {
    const first = await begin();
    await query(first.url, 'CREATE TABLE kept (n int)');
    await first.stop();
    const cluster = await clusterOf();
    await promisify(execFile)('chown', ['-R', 'nobody', cluster]);
    const second = await begin();
    expect(await query(second.url, 'SELECT * FROM kept')).toEqual([]);
    const { stdout } = await promisify(execFile)('find', [cluster, '!', '-user', 'vintem-db']);
    expect(stdout).toBe('');
  });
});

describe('a data folder', () => {
  const owner = { command: 'start', port: 3000 };

  it('has one owner at a time', async () => {
    const takes = await Promise.allSettled([1, 2, 3].map(() => takeLock(dataDir, owner)));
    expect(takes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const refused = takes.find((take) => take.status === 'rejected');
    expect(refused?.reason).toBeInstanceOf(LockHeld);
    expect(refused?.reason.message).toContain(`process ${process.pid}, port 3000`);
  });

  it('is taken over from an owner that is gone, also when its process id is in use again', async () => {
    for (const gone of [
      { pid: 4_194_303, startedAt: 'x', command: 'start', port: 1 },
      { pid: process.pid, startedAt: 'another boot/1', command: 'start', port: 1 },
    ]) {
      await writeFile(join(dataDir, 'lock.json'), JSON.stringify(gone));
      const takes = await Promise.allSettled([1, 2, 3].map(() => takeLock(dataDir, owner)));
      const taken = takes.flatMap((take) => (take.status === 'fulfilled' ? [take.value] : []));
      expect(taken).toHaveLength(1);
      await taken[0]?.release();
    }
  });

  it('is held against a process of another container as long as its owner lives, and no longer', async () => {
    const lock = await takeLock(dataDir, owner);
    const path = join(dataDir, 'lock.json');
    const text = await readFile(path, 'utf8');
    // As the other container sees it: the process id names a process of its own, or none.
    const elsewhere = (bell: string) =>
      writeFile(path, JSON.stringify({ ...JSON.parse(text), processes: 'pid:[1]', startedAt: 'x', bell }));
    await elsewhere(JSON.parse(text).bell);
    await expect(takeLock(dataDir, owner)).rejects.toBeInstanceOf(LockHeld);
    await lock.release();
    await (await takeLock(dataDir, owner)).release();
    expect((await readdir(dataDir)).filter((name) => name.startsWith('lock'))).toEqual([]);
  });

  it('that was moved under its owner is still held, and a copy of it is not', async () => {
    const lock = await takeLock(dataDir, owner);
    const copy = `${dataDir}-copy`;
    await cp(join(dataDir, 'lock.json'), join(copy, 'lock.json'));
    await (await takeLock(copy, owner)).release();
    const moved = `${dataDir}-moved`;
    await rename(dataDir, moved);
    await mkdir(dataDir);
    await expect(takeLock(moved, owner)).rejects.toBeInstanceOf(LockHeld);
    await (await takeLock(dataDir, owner)).release();
    await lock.release();
    for (const folder of [copy, moved]) await rm(folder, { recursive: true });
  });

  it('is waited for while a command has it or its owner is ending', async () => {
    const command = await takeLock(dataDir, { command: 'account list', port: null });
    const waiting = waitForLock(systemClock, dataDir, owner, 60_000);
    await systemClock.sleep(100);
    await command.release();
    const start = await waiting;
    await expect(waitForLock(systemClock, dataDir, owner, 5_000)).rejects.toBeInstanceOf(LockHeld);
    await start.announceEnd();
    const next = waitForLock(systemClock, dataDir, owner, 60_000);
    await systemClock.sleep(100);
    await start.release();
    await (await next).release();
  });
});
