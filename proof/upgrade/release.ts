import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const top = fileURLToPath(new URL('../../', import.meta.url));

/** The newest tag before this commit, or null where the history has none. */
export function lastTag(): string | null {
  try {
    const words = ['describe', '--tags', '--abbrev=0', 'HEAD^'];
    return execFileSync('git', words, {
      cwd: top,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return null;
  }
}

/**
 * Unpacks the program as it was at a revision into `folder`, over the packages of this tree: those of another lock file would have to be
 * downloaded, and what is tried is the program.
 * @returns its `launch.js`
 * @throws Error for a revision that the history does not have
 */
export function unpackRelease(revision: string, folder: string): string {
  mkdirSync(folder);
  const archive = execFileSync('git', ['archive', '--format=tar', revision], {
    cwd: top,
    maxBuffer: 1 << 30,
  });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  linkAll(join(top, 'node_modules'), join(folder, 'node_modules'), ['@vintem', '.cache']);
  // The workspaces are the revision's own.
  mkdirSync(join(folder, 'node_modules/@vintem'));
  for (const name of readdirSync(join(top, 'node_modules/@vintem')))
    if (existsSync(join(folder, name)))
      symlinkSync(join(folder, name), join(folder, 'node_modules/@vintem', name));
  for (const name of readdirSync(folder)) {
    const own = join(top, name, 'node_modules');
    if (existsSync(own) && !existsSync(join(folder, name, 'node_modules')))
      symlinkSync(own, join(folder, name, 'node_modules'));
  }
  return join(folder, 'server/src/main/cli/launch.js');
}

/** Makes an unpacked program a newer one: a migration that programs without it work with. @returns its `launch.js` */
export function addMigration(entry: string): string {
  const sql = join(dirname(entry), '../../../sql/9999_newer.sql');
  writeFileSync(sql, '-- compatibleFrom: 0.1.0\n-- cells\nALTER TABLE payment ADD COLUMN newer text;\n');
  return entry;
}

function linkAll(from: string, to: string, except: readonly string[]): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from))
    if (!except.includes(name)) symlinkSync(join(from, name), join(to, name));
}
