import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Not beside their lists: Git and the checkers leave `node_modules` out. */
const kept = fileURLToPath(new URL('node_modules/.clients/', import.meta.url));
const files = ['package.json', 'package-lock.json'];
const run = promisify(execFile);

/**
 * Where the foreign packages that judge us are installed, as the lock file in `list` says; installs them at the first call. Test files that
 * run side by side each install into a folder of their own, and the first to end renames it: `npm ci` in one common folder removes what
 * another file has begun to import.
 */
export async function installedPackages(list: URL): Promise<string> {
  const from = (file: string): string => join(fileURLToPath(list), file);
  const lock = await readFile(from('package-lock.json'));
  const folder = await installed(lock, async (own) => {
    for (const file of files) await copyFile(from(file), join(own, file));
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: own });
  });
  return join(folder, 'node_modules');
}

/**
 * The same for those in Python, as `requirements.txt` in `from` says. They judge where Python and its packages are to be had: nothing of the product needs them.
 * @returns the interpreter; null: there is none here, or its packages cannot be installed
 */
export async function installedPython(from: URL): Promise<string | null> {
  const list = fileURLToPath(new URL('requirements.txt', from));
  try {
    const folder = await installed(await readFile(list), async (own) => {
      await run('python3', ['-m', 'venv', own]);
      const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
      await run(join(own, 'bin/python'), [...install, '-r', list]);
    });
    return join(folder, 'bin/python');
  } catch (error) {
    console.log(`the judges in Python are left out: ${(error as Error).message.split('\n')[0]}`);
    return null;
  }
}

/** @param fill the folder of this call alone, which is renamed when it is whole */
async function installed(list: Buffer, fill: (own: string) => Promise<void>): Promise<string> {
  const folder = join(kept, createHash('sha256').update(list).digest('hex').slice(0, 16));
  if (await isThere(folder)) return folder;
  await mkdir(kept, { recursive: true });
  const own = await mkdtemp(join(kept, 'install-'));
  try {
    await fill(own);
    await rename(own, folder).catch(async (error) => {
      if (!(await isThere(folder))) throw error;
    });
  } finally {
    await rm(own, { recursive: true, force: true });
  }
  return folder;
}

const isThere = (folder: string): Promise<boolean> =>
  stat(folder).then(
    () => true,
    () => false,
  );
