import { randomBytes } from 'node:crypto';
import { readFile, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { exists, isSameFile, writeDurably } from '../../ground/durable-files.ts';

/**
 * Which cluster belongs to which data folder. A data folder may be copied, moved or renamed, and the cluster may stand outside of
 * it (under /var/lib/vintem, or behind a symbolic link), so a path alone does not say it: both carry one random id, and the
 * cluster also the folder that last worked on it.
 */

/** `postgres.json` in the data folder. */
export interface Info {
  id: string;
  /** Relative to the data folder where the cluster is inside, so that a copy of the folder has its own. */
  cluster: string;
  port: number;
  /** initdb has ended and everything is on disk. */
  complete: boolean;
}

/** `vintem.json` in the cluster. */
interface Note {
  id: string;
  /** Real path of the data folder that last worked on it. */
  home: string;
}

export const infoPath = (dataDir: string) => join(dataDir, 'postgres.json');
export const clusterOf = (dataDir: string, { cluster }: Pick<Info, 'cluster'>): string =>
  resolve(dataDir, cluster);
const newId = (): string => randomBytes(16).toString('hex');

/** A path as `postgres.json` keeps it. */
export function keptPath(dataDir: string, cluster: string): string {
  const path = relative(resolve(dataDir), cluster);
  return isAbsolute(path) || path.split(sep)[0] === '..' ? cluster : path;
}

/**
 * A file without an id is of an earlier version, which kept the whole path: of a folder that was copied or moved since, the path
 * is that of another one, so the cluster inside counts where there is one. The cluster says whether the path is still right.
 */
export async function readInfo(dataDir: string): Promise<Info | null> {
  const found = await readJson<Partial<Info> & Pick<Info, 'cluster'>>(infoPath(dataDir));
  if (found === null) return null;
  const { cluster, port = 0, complete = false } = found;
  if (found.id !== undefined) return { id: found.id, cluster, port, complete };
  const inside = join(dataDir, 'postgres');
  const path = (await exists(join(inside, 'PG_VERSION'))) ? inside : cluster;
  const id = (await readNote(clusterOf(dataDir, { cluster: path })))?.id ?? newId();
  return { id, cluster: keptPath(dataDir, path), port, complete };
}

/**
 * For a folder without `postgres.json`: a new one, or one that lost the file and still has its cluster.
 *
 * @param holdsPassword whether the folder once had a database
 * @throws Error when it had one and it is not known where
 */
export async function newInfo(dataDir: string, holdsPassword: boolean): Promise<Info> {
  const inside = join(dataDir, 'postgres');
  if (holdsPassword && !(await exists(inside))) {
    throw new Error(
      `DATA_DIR ${dataDir} had a database, and ${infoPath(dataDir)}, which says where, is missing: bring that file back, or name a new DATA_DIR`,
    );
  }
  return { id: (await readNote(inside))?.id ?? newId(), cluster: 'postgres', port: 0, complete: false };
}

export const writeInfo = (dataDir: string, info: Info) =>
  writeDurably(infoPath(dataDir), `${JSON.stringify(info, null, 2)}\n`);

const notePath = (cluster: string) => join(cluster, 'vintem.json');
const readNote = (cluster: string) => readJson<Note>(notePath(cluster));

/** Readable by the server's user, who may be another: after a crash PostgreSQL syncs every file of its folder. */
export const writeNote = async (cluster: string, id: string, dataDir: string) =>
  writeDurably(
    notePath(cluster),
    `${JSON.stringify({ id, home: await realpath(dataDir) } satisfies Note, null, 2)}\n`,
    0o644,
  );

/**
 * Examines that the cluster is the folder's own. A folder that was moved or renamed keeps its cluster, wherever that stands.
 *
 * @returns the folder that this one is a copy of, where that one still has a cluster of its own; else null
 * @throws Error with what to do, when the cluster is gone, is another one, or belongs to the folder that this one is a copy of
 */
export async function claimCluster(dataDir: string, info: Info): Promise<{ copyOf: string | null }> {
  const cluster = clusterOf(dataDir, info);
  if (!(await exists(join(cluster, 'PG_VERSION')))) {
    throw new Error(
      `the database ${cluster} of DATA_DIR ${dataDir} is gone: bring it back from where it was moved to, or restore a backup into a new DATA_DIR (docs/operators/backup.md)`,
    );
  }
  const note = await readNote(cluster);
  const home = await realpath(dataDir);
  if (note === null) {
    const stored = await readJson<Partial<Info>>(infoPath(dataDir));
    const insideHome = (await realpath(cluster)).startsWith(home + sep);
    // Of an earlier version: nothing says which folder a cluster outside belongs to.
    if (stored?.id !== undefined || !insideHome) throw notOwn(dataDir, cluster);
    await writeNote(cluster, info.id, dataDir);
    await writeInfo(dataDir, info);
    return { copyOf: null };
  }
  if (note.id !== info.id) throw notOwn(dataDir, cluster);
  if (note.home === home) return { copyOf: null };
  const owner = await readInfo(note.home).catch(() => null);
  if (owner?.id === info.id && !(await isSameFile(infoPath(note.home), infoPath(dataDir)))) {
    const other = clusterOf(note.home, owner);
    if (!(await isSameFile(other, cluster))) return { copyOf: note.home };
    throw new Error(
      `DATA_DIR ${dataDir} is a copy of ${note.home} without its database, which stands in ${await realpath(cluster)} and belongs to ${note.home}: use ${note.home}, or make a copy with \`vintem backup\` and \`vintem restore\` into a new DATA_DIR`,
    );
  }
  await writeNote(cluster, info.id, dataDir);
  return { copyOf: null };
}

const notOwn = (dataDir: string, cluster: string) =>
  new Error(
    `the database ${cluster} does not belong to DATA_DIR ${dataDir}: ${infoPath(dataDir)} and ${notePath(cluster)} name different ones. Put the folder back as it was; nothing was changed`,
  );

async function readJson<T>(path: string): Promise<T | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as T;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}
