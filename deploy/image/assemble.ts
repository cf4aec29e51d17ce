// Puts together what the image holds below /app and nothing else: the sources that run, the packages that they reach, the built pages and
// the pinned runtime. The Dockerfile runs it, and so does deploy/image/try.ts, which starts the result without a container engine.
//
//   node deploy/image/assemble.ts TARGET [--node FILE]
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

interface Manifest {
  dependencies?: Record<string, string>;
  license?: string;
}

const root = fileURLToPath(new URL('../../', import.meta.url));
const { values, positionals } = parseArgs({ options: { node: { type: 'string' } }, allowPositionals: true });
const [target] = positionals;
if (target === undefined) throw new Error('usage: node deploy/image/assemble.ts TARGET [--node FILE]');

const app = join(target, 'app');
rmSync(app, { recursive: true, force: true });
mkdirSync(app, { recursive: true });

for (const path of [
  'package.json',
  'LICENSE',
  'server/package.json',
  'server/src',
  'server/sql',
  'simulator/package.json',
  'simulator/src',
  'panel/dist',
  'site/dist',
])
  copy(join(root, path), join(app, path));
if (!existsSync(join(app, 'panel/dist/index.html')))
  throw new Error('the panel is not built: run node panel/build.js first');

const workspaces = ['server', 'simulator'];
for (const folder of packagesOf(workspaces)) copy(folder, join(app, relative(root, folder)));
mkdirSync(join(app, 'node_modules/@vintem'), { recursive: true });
for (const name of workspaces) symlinkSync(`../../${name}`, join(app, 'node_modules/@vintem', name));

const node = values.node ?? process.execPath;
mkdirSync(join(target, 'usr/bin'), { recursive: true });
cpSync(realpathSync(node), join(target, 'usr/bin/node'));
// The service writes here only where a volume is mounted.
mkdirSync(join(target, 'var/lib/vintem'), { recursive: true });

/** The folders of every package that the workspaces reach through `dependencies`: what is optional or of a peer is not in the image. */
function packagesOf(names: readonly string[]): Set<string> {
  const found = new Set<string>();
  const visit = (from: string, manifest: Manifest): void => {
    for (const name of Object.keys(manifest.dependencies ?? {})) {
      const folder = resolvePackage(name, from);
      if (folder === null) throw new Error(`${name}, which ${relative(root, from)} needs, is not installed`);
      if (found.has(folder)) continue;
      found.add(folder);
      visit(folder, manifestOf(folder));
    }
  };
  for (const name of names) visit(join(root, name), manifestOf(join(root, name)));
  return found;
}

/** As Node looks for it: `node_modules` of each folder upwards. */
function resolvePackage(name: string, from: string): string | null {
  for (let folder = from; folder.length >= root.length - 1; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return candidate;
  }
  return null;
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

/** Without tests of ours, declarations, source maps and nested packages, which are copied by themselves. Licences stay. */
function copy(source: string, to: string): void {
  cpSync(source, to, {
    recursive: true,
    filter: (path) => {
      const name = basename(path);
      if (path !== source && name === 'node_modules') return false;
      return (
        !/\.(?:test\.ts|d\.[cm]?ts|map)$/.test(name) && !/^(?:readme|changelog|history)\.md$/i.test(name)
      );
    },
  });
}
