import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const wanted = fileURLToPath(new URL('clients/', import.meta.url));
/** Not in `clients/` itself: Git and the checkers leave `node_modules` out. */
const kept = fileURLToPath(new URL('../node_modules/.clients/', import.meta.url));
const files = ['package.json', 'package-lock.json'];

/**
 * Where the providers' own clients are installed, as `clients/package-lock.json` says; installs them at the first call. Test files that run
 * side by side each install into a folder of their own, and the first to end renames it: `npm ci` in one common folder removes what
 * another file has begun to import.
 */
export async function installedClients(): Promise<string> {
  const lock = await readFile(join(wanted, 'package-lock.json'));
  const folder = join(kept, createHash('sha256').update(lock).digest('hex').slice(0, 16));
  if (await isThere(folder)) return join(folder, 'node_modules');
  await mkdir(kept, { recursive: true });
  const own = await mkdtemp(join(kept, 'install-'));
  try {
    for (const file of files) await copyFile(join(wanted, file), join(own, file));
    await promisify(execFile)('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: own });
    await rename(own, folder).catch(async (error) => {
      if (!(await isThere(folder))) throw error;
    });
  } finally {
    await rm(own, { recursive: true, force: true });
  }
  return join(folder, 'node_modules');
}

const isThere = (folder: string): Promise<boolean> =>
  stat(folder).then(
    () => true,
    () => false,
  );
