import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Config, SettingFault } from '../../ground/config.ts';
import type { Log } from '../../ground/log.ts';
import type { Clock } from '../../ports/clock.ts';
import {
  countOtherClients,
  type EmbeddedPostgres,
  holdsCluster,
  joinEmbedded,
  startEmbedded,
} from './embedded.ts';
import { LockHeld, ownerIsEnding, takeLock } from './lock.ts';

interface Needs {
  config: Config;
  clock: Clock;
  log: Log;
  say: (line: string) => void;
}

export interface OpenDatabase {
  /** The login of the service. */
  url: string;
  /** The login that migrates; undefined: the service's own. */
  migrationUrl: string | undefined;
  /** Ours alone, and not a PostgreSQL of the operator's. */
  embedded: boolean;
  /** The name of the login in `url` where vintem made it for itself; null: `url` is as the operator gave it. */
  own: string | null;
  close(): Promise<void>;
}

const WAIT_MS = 15_000;

/** Commands that may make an installation where there is none. A wrong DATA_DIR in any other one is a mistake to report. */
const creators: readonly string[] = ['migrate', 'restore'];

/**
 * The database for a command beside a running service or alone: `DATABASE_URL`, else the embedded server that runs on
 * `DATA_DIR`, else one that is started for as long as the command takes.
 * @throws SettingFault when there is no installation and the command may not create one
 */
export async function databaseOfCommand(needs: Needs, command: string): Promise<OpenDatabase> {
  const { config, clock } = needs;
  if (config.databaseUrl === null && !creators.includes(command) && !(await holdsCluster(config.dataDir))) {
    throw new SettingFault(
      `DATA_DIR: ${config.dataDir} holds no installation: name the folder of one, or run \`vintem start\` first`,
    );
  }
  await prepareDataDir(config.dataDir, config.databaseUrl === null ? 'write' : 'read');
  if (config.databaseUrl !== null) return given(config.databaseUrl, config);
  const deadline = clock.monotonicMs() + WAIT_MS;
  for (;;) {
    // While its owner waits for the last connection, new ones would only hold it up.
    const joined = (await ownerIsEnding(config.dataDir)) ? null : await joinEmbedded(config.dataDir);
    if (joined !== null) {
      // Who ends the server says so first, and looks for connections then: either it sees ours, or we hear of it here.
      if (!(await ownerIsEnding(config.dataDir))) return { ...loginsOf(joined), close: joined.leave };
      await joined.leave();
    }
    try {
      const lock = await takeLock(config.dataDir, { command, port: null });
      let server: EmbeddedPostgres;
      try {
        server = await startEmbedded({ ...needs, dataDir: config.dataDir });
      } catch (error) {
        await lock.release();
        throw error;
      }
      return {
        ...loginsOf(server),
        close: async () => {
          await lock.announceEnd();
          await otherCommandsEnd(server.url, clock);
          await server.stop();
          await lock.release();
        },
      };
    } catch (error) {
      // Its owner is about to start or to end the server.
      if (!(error instanceof LockHeld) || clock.monotonicMs() > deadline) throw error;
      await clock.sleep(50);
    }
  }
}

/** For `api` and `worker`: a part alone needs a database that another process keeps running. */
export async function databaseOfPart({ config }: Needs): Promise<OpenDatabase> {
  await prepareDataDir(config.dataDir, 'read');
  if (config.databaseUrl !== null) return given(config.databaseUrl, config);
  const joined = await joinEmbedded(config.dataDir);
  if (joined !== null) {
    await joined.leave();
    return { ...loginsOf(joined), close: async () => {} };
  }
  throw new Error(
    `no database runs on ${config.dataDir}: run \`vintem start\` there first, or set DATABASE_URL`,
  );
}

/**
 * Creates the folder. As root others may pass through: the database runs as another user. What is secret in it has its own mode.
 *
 * @param use `write`: files will be written into it. With a database and a secret from outside it may be read-only.
 * @throws SettingFault when it cannot be used
 */
export async function prepareDataDir(dataDir: string, use: 'read' | 'write'): Promise<void> {
  try {
    await makeFolders(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700);
    if (use === 'read') return;
    // Permissions alone do not tell: root passes them, and /proc and read-only disks refuse the file itself.
    const probe = join(dataDir, `.writable-${process.pid}`);
    await writeFile(probe, '', { mode: 0o600 });
    await rm(probe);
  } catch (error) {
    throw new SettingFault(`DATA_DIR: ${dataDir} cannot be used: ${(error as Error).message}`);
  }
}

/** One folder at a time: under /proc `mkdir` of Node with `recursive` tries without an end (`mkdir` says ENOENT though the parent exists). */
async function makeFolders(folder: string, mode: number): Promise<void> {
  const found = await stat(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (found?.isDirectory()) return;
  if (found) throw new Error('it is not a folder');
  await makeFolders(dirname(folder), mode);
  await mkdir(folder, { mode }).catch((error: NodeJS.ErrnoException) => {
    // Another process was first.
    if (error.code !== 'EEXIST') throw error;
  });
}

const given = (
  url: string,
  { migrationDatabaseUrl }: Pick<Config, 'migrationDatabaseUrl'>,
): OpenDatabase => ({
  url,
  migrationUrl: migrationDatabaseUrl ?? undefined,
  embedded: false,
  own: null,
  close: async () => {},
});

/** The two logins of the embedded server. */
export const loginsOf = ({ url, serviceUrl }: Pick<EmbeddedPostgres, 'url' | 'serviceUrl'>) => ({
  url: serviceUrl,
  migrationUrl: url,
  embedded: true,
  own: new URL(serviceUrl).username,
});

/** Another command may have found the server that this one started. */
async function otherCommandsEnd(url: string, clock: Clock): Promise<void> {
  const deadline = clock.monotonicMs() + WAIT_MS;
  while ((await countOtherClients(url)) > 0 && clock.monotonicMs() < deadline) await clock.sleep(50);
}
