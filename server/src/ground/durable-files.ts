import { link as hardLink, open, readFile, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

let parts = 0;

export async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}

/** Two paths to one file or folder, as with a bind mount. */
export async function isSameFile(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all(
    [one, other].map((path) => stat(path, { bigint: true }).catch(() => null)),
  );
  return a != null && b != null && a.dev === b.dev && a.ino === b.ino;
}

/** Writes a file so that a crash leaves the old content or the new one, both whole, and, by its mode, only its owner reads it. */
export async function writeDurably(path: string, content: string, mode = 0o600): Promise<void> {
  // The counter keeps two writers of one process apart.
  const part = `${path}.part-${process.pid}-${++parts}`;
  await rm(part, { force: true });
  const file = await open(part, 'wx', mode);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(part, path);
  await syncFolder(dirname(path));
}

/**
 * The content of a file that is made once and then kept. Of two processes that make it at once both get the first one's:
 * a link, unlike a rename, fails where a file exists.
 */
export async function keptText(path: string, make: () => string): Promise<string> {
  const found = await textOf(path);
  if (found) return found;
  const own = `${path}.new-${process.pid}-${++parts}`;
  await writeDurably(own, `${make()}\n`);
  // A crash of an earlier version may have left an empty file.
  if (found === '') await rename(own, path);
  else {
    await hardLink(own, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    await rm(own);
  }
  return (await textOf(path)) ?? '';
}

async function textOf(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Makes new names in a folder durable (where the system lets a folder be opened). */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => null);
  await handle?.sync().catch(() => {});
  await handle?.close();
}

/** File systems that end with the machine or the container (statfs(2), `f_type`): tmpfs, ramfs, and the overlay of a container. */
const passing = new Map([
  [0x01021994, 'tmpfs'],
  [0x858458f6, 'ramfs'],
  [0x794c7630, 'overlay'],
]);

/** The name of the file system when what is written there is gone after a restart; null: it stays, as far as Linux can tell. */
export async function passingFileSystem(folder: string): Promise<string | null> {
  if (process.platform !== 'linux') return null;
  return passing.get((await statfs(folder)).type) ?? null;
}
