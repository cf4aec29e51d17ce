import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmod,
  chown,
  lchown,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join, sep } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { exists, isSameFile, keptText, syncFolder } from '../../ground/durable-files.ts';
import type { Log } from '../../ground/log.ts';
import { systemClock } from '../../ports/clock.ts';
import { canReach, copyBinaries, findPackage, linkLibraries, type SystemUser } from './binaries.ts';
import {
  claimCluster,
  clusterOf,
  type Info,
  keptPath,
  newInfo,
  readInfo,
  writeInfo,
  writeNote,
} from './cluster-home.ts';
import { processExists, takeLock } from './lock.ts';
import { scramVerifier } from './service-login.ts';

/**
 * The embedded PostgreSQL: the npm package's binaries, run by ourselves on a cluster in `DATA_DIR`. It listens on loopback
 * alone and asks for a password (SCRAM) that only `DATA_DIR` knows.
 *
 * In `DATA_DIR` (readable by its owner alone):
 *   postgres/          the cluster; as root it may stand under /var/lib/vintem instead
 *   postgres.json      where the cluster is, its id (`store/database/cluster-home.ts`) and on which port it listens
 *   postgres.password  of the superuser `vintem`: for migrations, backup and restore
 *   postgres.service.password  of `vintem_service`, the login of the service: a member of `vintem_app` and of nothing else
 *   postgres.log       what the server says
 */
export interface EmbeddedPostgres {
  /** The superuser's, to the database `vintem`: for migrations, backup and restore. */
  url: string;
  /** The service's own login, which may work as `vintem_app` and as no other role. */
  serviceUrl: string;
  /** Where programs and data went because the server's user cannot reach `DATA_DIR` or the project. */
  apart: string | null;
  /** The data folder that this one was copied from, where that one still has its database; null: it is no copy. */
  copyOf: string | null;
  /** Resolves when the server has ended without `stop`. */
  lost: Promise<void>;
  /**
   * Ends the server: connections are cut, everything is on disk. What takes longer than 5 s (or less, so that it fits into
   * `withinMs`) is cut short and left to the recovery of the next start.
   */
  stop(withinMs?: number): Promise<void>;
}

export interface EmbeddedOptions {
  dataDir: string;
  log: Log;
  /** One line for the person who started this. */
  say: (line: string) => void;
  /** No other port will do: pools know this one. */
  port?: number;
}

const USER = 'vintem';
const SERVICE = 'vintem_service';
const DATABASE = 'vintem';

const SETTINGS: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  // `start` over sixty-four cells has 135, and an `api` beside it 70 (docs/operators/connections.md).
  max_connections: '300',
  shared_buffers: '256MB',
  fsync: 'on',
  synchronous_commit: 'on',
  // After a checkpoint the first change of a page writes it whole: fewer checkpoints. The backend that holds a flush's locks would compress it,
  // 105 µs of its CPU for 2 kB of log with pglz, the only method of these binaries: `hot 64` after a checkpoint over 250,000 payments of the
  // account took 312 µs of PostgreSQL for a transfer with pglz and 131 without. The log is then 1.6 times as long, and its limit as well.
  checkpoint_timeout: '30min',
  max_wal_size: '12GB',
  wal_compression: 'off',
  // Deadlocks are retried, so they had better be found soon.
  deadlock_timeout: '100ms',
  random_page_cost: '1.1',
  // Looks five times a second as they come, also while nothing is written; as many pages a second as before. A commit is on disk before it is
  // acknowledged: the writer of the log writes ahead and decides nothing.
  bgwriter_delay: '1s',
  bgwriter_lru_maxpages: '500',
  wal_writer_delay: '1s',
  jit: 'off',
  lc_messages: 'C',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] ',
  // The detail of an error holds the row, and with it names and Pix keys.
  log_error_verbosity: 'terse',
};

const RECOVERY_LIMIT_MS = 600_000;
const MAX_LOG_BYTES = 10_000_000;

/** Where a cluster lies, and what runs it. */
interface Place {
  dataDir: string;
  cluster: string;
  bin: string;
  libraries: string | null;
  /** Null: the user that we are. */
  user: (SystemUser & { name: string }) | null;
  apart: string | null;
}

/**
 * Starts the server of a data folder, or adopts one that an owner left running when it was killed. The caller holds the
 * folder's lock, so that no other process does the same; the cluster's own lock is for a cluster that two folders lead to.
 *
 * @throws LockHeld for the cluster; Error with what to do where the cluster is gone or not the folder's own
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { dataDir } = options;
  const info = (await readInfo(dataDir)) ?? (await newInfo(dataDir, await holdsCluster(dataDir)));
  const place = await locate(options, info);
  if (!info.complete) await initialize(place, info);
  const { copyOf } = await claimCluster(dataDir, info);
  const lock = await takeLock(place.cluster, { command: 'start', port: null });
  try {
    const server = await run(options, place, info);
    return {
      ...server,
      copyOf,
      lost: server.lost.then(lock.release),
      stop: (withinMs) => server.stop(withinMs).then(lock.release),
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** With the locks of the folder and of the cluster. */
async function run(
  options: EmbeddedOptions,
  place: Place,
  info: Info,
): Promise<Omit<EmbeddedPostgres, 'copyOf'>> {
  const { dataDir, log } = options;
  const password = await keptPassword(passwordPath(dataDir));
  const left = await findPostmaster(place.cluster);
  if (left) {
    const url = urlOf(password, left.port);
    const served = await clusterServedAt(url);
    if (served !== null && (await isSameFile(served, place.cluster))) {
      log.info({ pid: left.pid, port: left.port }, 'adopted the database that was left running');
      if (left.port !== info.port) await writeInfo(dataDir, { ...info, port: left.port });
      return {
        url,
        serviceUrl: await prepareServiceLogin(url, dataDir),
        apart: place.apart,
        lost: ended(left.pid),
        stop: (withinMs) => stopProcess(left.pid, withinMs),
      };
    }
    if (!left.surely) {
      throw new Error(
        `process ${left.pid}, which ${join(place.cluster, 'postmaster.pid')} names, may be the database of this folder and does not answer: end it, or remove that file when the process is another program`,
      );
    }
    log.warn({ pid: left.pid }, 'stopping a database that was left running and does not answer');
    await stopProcess(left.pid);
  }

  await handOver(place);
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort(attempt === 1 ? info.port : 0));
    if (port !== info.port) await writeInfo(dataDir, { ...info, port });
    try {
      const server = await launch(place, port, options);
      const url = urlOf(password, port);
      await createDatabase(url);
      const serviceUrl = await prepareServiceLogin(url, dataDir);
      return { ...server, url, serviceUrl, apart: place.apart };
    } catch (error) {
      if (attempt === 20 || !(error instanceof MayComeRight)) throw error;
      await systemClock.sleep(300);
      // A server that was killed may stand in the process table until its parent has noticed: its note goes with it.
      await findPostmaster(place.cluster);
    }
  }
}

/** The superuser's URL of the folder's own server, when one runs and answers. */
export async function findEmbedded(dataDir: string): Promise<string | null> {
  const joined = await joinEmbedded(dataDir);
  await joined?.leave();
  return joined?.url ?? null;
}

type Logins = Pick<EmbeddedPostgres, 'url' | 'serviceUrl'>;

/** The same, with a connection that stands until `leave`: `countOtherClients` counts it. */
export async function joinEmbedded(dataDir: string): Promise<(Logins & { leave(): Promise<void> }) | null> {
  const info = await readInfo(dataDir);
  const password = await readFile(passwordPath(dataDir), 'utf8').catch(() => null);
  if (!info?.complete || password === null) return null;
  const url = urlOf(password.trim(), info.port);
  const client = await connect(url).catch(() => null);
  if (client === null) return null;
  // The server of the folder that this one was copied from has this port and this password as well.
  if (!(await isSameFile(await servedBy(client), clusterOf(dataDir, info)))) {
    await client.end();
    return null;
  }
  try {
    return { url, serviceUrl: await prepareServiceLogin(url, dataDir), leave: () => client.end() };
  } catch (error) {
    await client.end();
    throw error;
  }
}

/** How many clients other than this connection use the server; 0 when it does not answer. */
export async function countOtherClients(url: string): Promise<number> {
  const client = await connect(url).catch(() => null);
  if (!client) return 0;
  try {
    const { rows } = await client.query<{ count: string }>(
      `SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
    );
    return Number(rows[0]?.count);
  } finally {
    await client.end();
  }
}

// ------------------------------------------------------------------------------------------------------------- places

const passwordPath = (dataDir: string) => join(dataDir, 'postgres.password');
const servicePasswordPath = (dataDir: string) => join(dataDir, 'postgres.service.password');
/** Whether an embedded server was ever made for this folder. */
export const holdsCluster = (dataDir: string): Promise<boolean> => exists(passwordPath(dataDir));

const urlOf = (password: string, port: number) =>
  `postgres://${USER}:${password}@127.0.0.1:${port}/${DATABASE}`;

/** Files outside of data folders: each has a place of its own there, named by the cluster's id and not by a path that may change. */
const OUTSIDE = '/var/lib/vintem';

/** @param info whose `cluster` is set to where a new one shall be made */
async function locate({ dataDir, say }: EmbeddedOptions, info: Info): Promise<Place> {
  const { folder, version } = await findPackage();
  const named = clusterOf(dataDir, info);
  if (process.getuid?.() !== 0) {
    const libraries = await linkLibraries(folder, join(dataDir, 'postgres-lib'));
    await checkOwner(named);
    return {
      dataDir,
      cluster: named,
      bin: join(folder, 'native', 'bin'),
      libraries,
      user: null,
      apart: null,
    };
  }

  const user = await unprivilegedUser(named, say);
  const native = join(await realpath(folder), 'native');
  const home = await realpath(dataDir);
  const reachesPrograms =
    (await canReach(join(native, 'bin', 'postgres'), user, 5)) &&
    (await canReach(join(native, 'share', 'postgresql', 'postgres.bki'), user, 4)) &&
    (await canReach(join(native, 'lib'), user, 5));
  const reachesData = await canReach(home, user, 1);
  const apart = named.startsWith(OUTSIDE + sep) ? dirname(named) : join(OUTSIDE, info.id);
  const cluster =
    info.complete || (reachesPrograms && reachesData) || (await exists(named))
      ? named
      : join(apart, 'postgres');
  info.cluster = keptPath(dataDir, cluster);
  const usesApart = !reachesPrograms || cluster.startsWith(apart);
  if (usesApart) {
    for (const path of [dirname(apart), apart]) {
      await mkdir(path, { recursive: true });
      await chmod(path, 0o755);
    }
    const what = reachesPrograms ? dataDir : folder;
    say(`vintem: the database runs as ${user.name}, who cannot reach ${what}; it is kept under ${apart}`);
  } else if (!reachesData) {
    throw new Error(
      `${user.name}, who owns the database ${cluster}, cannot reach it: open the folders above it`,
    );
  }
  if (reachesPrograms) {
    const libraries = await linkLibraries(folder, join(usesApart ? apart : dataDir, 'postgres-lib'));
    return { dataDir, cluster, bin: join(native, 'bin'), libraries, user, apart: usesApart ? apart : null };
  }
  const copy = await copyBinaries(folder, join(apart, `postgresql-${version}`));
  return { dataDir, cluster, bin: join(copy, 'bin'), libraries: null, user, apart };
}

interface NamedUser extends SystemUser {
  name: string;
}

/** The system user that owns the cluster when root starts it; made by us, and used by nothing else. */
const CLUSTER_USER = 'vintem-db';
const SHARED_USER = 'nobody';

/**
 * PostgreSQL refuses to run as root, and initdb looks its user's name up in the passwd file. Uses the user that already owns the
 * cluster, else a user of our own: other services run as `nobody` too and could read every payment. Falls back to `nobody` only where
 * no user can be created (a read-only system, no `useradd`).
 */
async function unprivilegedUser(cluster: string, say: (line: string) => void): Promise<NamedUser> {
  const users = await systemUsers();
  const owner = await stat(cluster).catch(() => null);
  const found = owner && owner.uid !== 0 ? users.find(({ uid }) => uid === owner.uid) : undefined;
  if (found && found.name !== SHARED_USER) return found;
  const own = users.find(({ name }) => name === CLUSTER_USER) ?? (await makeClusterUser());
  if (own) return own;
  const shared = found ?? users.find(({ name }) => name === SHARED_USER) ?? users[0];
  if (!shared) {
    throw new Error('PostgreSQL does not run as root, and /etc/passwd has no other user: set DATABASE_URL');
  }
  say(
    `vintem: the user ${CLUSTER_USER} cannot be created, so the database runs as ${shared.name}, which other services of this machine may use: run vintem as a user of its own`,
  );
  return shared;
}

async function systemUsers(): Promise<NamedUser[]> {
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '');
  return passwd
    .split('\n')
    .map((line) => line.split(':'))
    .filter((fields) => fields.length >= 4 && Number(fields[2]) > 0)
    .map(([name, , uid, gid]) => ({ name: name as string, uid: Number(uid), gid: Number(gid) }));
}

/** With the tools of shadow (most systems) or of BusyBox (Alpine). */
async function makeClusterUser(): Promise<NamedUser | undefined> {
  for (const [tool, ...options] of [
    [
      'useradd',
      '--system',
      '--user-group',
      '--no-create-home',
      '--home-dir',
      '/nonexistent',
      '--shell',
      '/usr/sbin/nologin',
    ],
    ['adduser', '-S', '-D', '-H', '-h', '/nonexistent', '-s', '/sbin/nologin'],
  ] as const) {
    // Another process may have made it at the same time: what counts is the passwd file.
    await promisify(execFile)(tool, [...options, CLUSTER_USER], {
      env: { PATH: '/usr/sbin:/sbin:/usr/bin:/bin' },
    }).catch(() => {});
    const made = (await systemUsers()).find(({ name }) => name === CLUSTER_USER);
    if (made) return made;
  }
  return undefined;
}

/** Changes the owner of a cluster from `nobody` to the user that runs it. The folder itself comes last, so an interrupted change is repeated. */
async function handOver({ cluster, user }: Place): Promise<void> {
  if (user === null || (await stat(cluster)).uid === user.uid) return;
  const entries = await readdir(cluster, { recursive: true });
  for (const entry of entries) await lchown(join(cluster, entry), user.uid, user.gid);
  await lchown(cluster, user.uid, user.gid);
}

async function checkOwner(cluster: string): Promise<void> {
  const uid = process.getuid?.();
  const owner = (await stat(cluster).catch(() => null))?.uid;
  if (uid !== undefined && owner !== undefined && owner !== uid) {
    throw new Error(
      `the database ${cluster} belongs to another user (${owner}): start vintem as that user or as root`,
    );
  }
}

const keptPassword = (path: string): Promise<string> => keptText(path, () => randomBytes(32).toString('hex'));

// ---------------------------------------------------------------------------------------------------------- the server

/** `initdb` beside the place, then a rename: a cluster is there whole or not at all. */
async function initialize(place: Place, info: Info): Promise<void> {
  const { cluster, user, dataDir } = place;
  // Before the password: a password without this file means that the file was removed.
  await writeInfo(dataDir, info);
  const password = await keptPassword(passwordPath(dataDir));
  if (await exists(cluster)) {
    // Complete: the end came between the rename and the note of it.
    info.complete = true;
    return writeInfo(dataDir, info);
  }
  const part = `${cluster}.part`;
  await rm(part, { recursive: true, force: true });
  await mkdir(part, { mode: 0o700 });
  const passwordFile = `${cluster}.pwfile`;
  await rm(passwordFile, { force: true });
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (user) {
    await chown(part, user.uid, user.gid);
    await chown(passwordFile, user.uid, user.gid);
  }
  try {
    // With its own sync to disk: 0.85 s against 0.65 s without, and the first start has 5.
    await promisify(execFile)(
      join(place.bin, 'initdb'),
      [
        ...['-D', part, '-U', USER, '--auth=scram-sha-256', `--pwfile=${passwordFile}`],
        ...['--encoding=UTF8', '--locale=C', '--data-checksums', '--no-instructions'],
      ],
      { cwd: '/', env: environment(place), ...(user ? { uid: user.uid, gid: user.gid } : {}) },
    );
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    throw new Error(`initdb failed: ${stderr?.trim() || (error as Error).message}`);
  } finally {
    await rm(passwordFile, { force: true });
  }
  await writeNote(part, info.id, dataDir);
  await rename(part, cluster);
  await syncFolder(dirname(cluster));
  info.complete = true;
  await writeInfo(dataDir, info);
}

/** Nothing of our own environment: it may hold secrets. */
function environment({ libraries }: Place): NodeJS.ProcessEnv {
  return {
    PATH: '/usr/bin:/bin',
    LC_ALL: 'C',
    TZ: 'UTC',
    ...(process.platform === 'win32' ? { SystemRoot: process.env.SystemRoot } : {}),
    ...(libraries ? { LD_LIBRARY_PATH: libraries, DYLD_LIBRARY_PATH: libraries } : {}),
  };
}

/** A start that failed for something that passes: a port that was taken meanwhile, remains of the server before. */
class MayComeRight extends Error {
  override name = 'MayComeRight';
}

async function launch(
  place: Place,
  port: number,
  { dataDir, say }: EmbeddedOptions,
): Promise<Pick<EmbeddedPostgres, 'lost' | 'stop'>> {
  const logPath = join(dataDir, 'postgres.log');
  const logBytes = (await stat(logPath).catch(() => null))?.size ?? 0;
  if (logBytes > MAX_LOG_BYTES) await rename(logPath, `${logPath}.1`);
  const output = await open(logPath, 'a', 0o600);
  const from = (await output.stat()).size;
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(join(place.bin, 'postgres'), ['-D', place.cluster, '-p', `${port}`, ...settings], {
    // Out of the terminal's process group: Ctrl-C is for us, and the database goes last.
    detached: true,
    cwd: '/',
    stdio: ['ignore', output.fd, output.fd],
    env: environment(place),
    ...(place.user ? { uid: place.user.uid, gid: place.user.gid } : {}),
  });
  let gone = false;
  const exit = new Promise<void>((resolve) => {
    // A parent that exits without stopping it still ends it.
    const leave = () => child.kill('SIGINT');
    process.once('exit', leave);
    const end = () => {
      gone = true;
      process.off('exit', leave);
      resolve();
    };
    child.once('exit', end);
    child.once('error', end);
  });
  await output.close();

  const began = systemClock.monotonicMs();
  let told = false;
  while (!(await isReady(place.cluster, child))) {
    if (gone) {
      const said = (await readFile(logPath, 'utf8')).slice(from).trim();
      const passes =
        /pre-existing shared memory block|could not bind|could not create any TCP|already exists/.test(said);
      throw new (passes ? MayComeRight : Error)(
        `PostgreSQL did not start: ${said.slice(-2000) || 'no message'}`,
      );
    }
    const waitedMs = systemClock.monotonicMs() - began;
    if (waitedMs > RECOVERY_LIMIT_MS) {
      await stopProcess(child.pid as number);
      throw new Error(`PostgreSQL was not ready after ${RECOVERY_LIMIT_MS / 60_000} minutes; see ${logPath}`);
    }
    if (!told && waitedMs > 5_000) {
      told = true;
      say('vintem: the database is recovering from the last end; this can take a while');
    }
    await systemClock.sleep(10);
  }

  let stopping = false;
  return {
    lost: new Promise((resolve) => exit.then(() => !stopping && resolve())),
    stop: async (withinMs) => {
      stopping = true;
      if (!gone) await stopProcess(child.pid as number, withinMs, exit);
    },
  };
}

/** Line 8 of `postmaster.pid` says how far the server is; the first names the process that wrote it. */
async function isReady(cluster: string, child: ChildProcess): Promise<boolean> {
  const lines = (await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
  return lines[0] === `${child.pid}` && lines[7]?.trim() === 'ready';
}

/** A server that a cluster's note names. */
interface Postmaster {
  pid: number;
  port: number;
  /** It is a server of this cluster; false: the system does not say what the process is. */
  surely: boolean;
}

/**
 * The server of a cluster that runs already. A note left by one that is gone is removed where its process id belongs to
 * another program by now, or to the server of the folder that this one was copied from: PostgreSQL itself could not tell and
 * would refuse to start.
 */
async function findPostmaster(cluster: string): Promise<Postmaster | null> {
  const path = join(cluster, 'postmaster.pid');
  const lines = (await readFile(path, 'utf8').catch(() => '')).split('\n');
  const pid = Number(lines[0]);
  if (!pid || !processExists(pid)) return null;
  const serves = await servesCluster(pid, cluster);
  if (serves === false) {
    await rm(path, { force: true });
    return null;
  }
  return { pid, port: Number(lines[3]), surely: serves === true };
}

/**
 * Whether a process works on this cluster; null where the system does not say. A server stands in its cluster's folder, whatever
 * that is called by now; elsewhere than on Linux its command line names it.
 */
async function servesCluster(pid: number, cluster: string): Promise<boolean | null> {
  if (process.platform === 'win32') return null;
  if (process.platform === 'linux') {
    // That of another user's process cannot be read: a server of this cluster is ours or that of the user we start it as.
    return isSameFile(`/proc/${pid}/cwd`, cluster);
  }
  const { stdout } = await promisify(execFile)('ps', ['-o', 'command=', '-p', `${pid}`]).catch(() => ({
    stdout: '',
  }));
  return stdout.split(' -D ')[1]?.startsWith(`${cluster} `) ?? false;
}

/** SIGINT is PostgreSQL's fast shutdown; SIGQUIT ends without a checkpoint and leaves a recovery to the next start. */
async function stopProcess(pid: number, withinMs = 10_000, exit: Promise<void> = ended(pid)): Promise<void> {
  for (const [signal, waitMs] of [
    ['SIGINT', Math.min(5_000, withinMs - 500)],
    ['SIGQUIT', 2_000],
    ['SIGKILL', 2_000],
  ] as const) {
    try {
      process.kill(pid, signal);
    } catch {
      return;
    }
    const waited = new AbortController();
    const gone = await Promise.race([
      exit.then(() => true),
      systemClock.sleep(waitMs, waited.signal).then(() => false),
    ]);
    waited.abort();
    if (gone) return;
  }
}

/** For a process that is not our child. */
async function ended(pid: number): Promise<void> {
  while (processExists(pid)) await systemClock.sleep(50);
}

/** `wanted` when it is free, else any. */
async function freePort(wanted: number): Promise<number> {
  const probe = (port: number) =>
    new Promise<number | null>((resolve) => {
      const server = createServer();
      server.once('error', () => resolve(null));
      server.listen(port, '127.0.0.1', () => {
        const { port: got } = server.address() as { port: number };
        server.close(() => resolve(got));
      });
    });
  return (wanted > 0 ? await probe(wanted) : null) ?? (await probe(0)) ?? 0;
}

async function createDatabase(url: string): Promise<void> {
  const client = await connect(new URL('/postgres', url).href);
  try {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE]);
    // Copying files instead of writing them into the log saves 0.1 s of the first start.
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE} STRATEGY file_copy`);
  } finally {
    await client.end();
  }
}

/**
 * The login of the service, made where it is missing. The service must not log in as the superuser: `SET ROLE NONE` in one
 * injected statement would make every journal changeable.
 * @returns its URL
 */
async function prepareServiceLogin(url: string, dataDir: string): Promise<string> {
  const password = await keptPassword(servicePasswordPath(dataDir));
  const service = new URL(url);
  service.username = SERVICE;
  service.password = password;
  if (await answers(service.href)) return service.href;
  const client = await connect(url);
  try {
    const { rowCount } = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [SERVICE]);
    await client.query(
      `${rowCount === 0 ? 'CREATE' : 'ALTER'} ROLE ${SERVICE} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS
         PASSWORD ${client.escapeLiteral(scramVerifier(password, randomBytes(16)))}`,
    );
  } finally {
    await client.end();
  }
  return service.href;
}

/** The folder of the cluster that a server works on, by the path that it was started with; null: none answers. */
async function clusterServedAt(url: string): Promise<string | null> {
  const client = await connect(url).catch(() => null);
  if (client === null) return null;
  try {
    return await servedBy(client);
  } finally {
    await client.end();
  }
}

const servedBy = async (client: pg.Client): Promise<string> =>
  (await client.query<{ data_directory: string }>('SHOW data_directory')).rows[0]?.data_directory ?? '';

async function answers(url: string): Promise<boolean> {
  const client = await connect(url).catch(() => null);
  await client?.end();
  return client !== null;
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 3_000,
    application_name: 'vintem edge',
  });
  client.on('error', () => {});
  await client.connect();
  return client;
}
