// Builds the pages into `dist`, unless what stands there was built from these very sources. Runs in `npm ci` (the root's
// `prepare`) and, where that was skipped, behind the first visit. Plain JavaScript: `npm ci` may run it under an older Node.
import { createHash } from 'node:crypto';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';

const root = dirname(fileURLToPath(import.meta.url));
const dist = join(root, 'dist');
const stamp = join(dist, '.built');

/** Of everything that the pages are made from, the versions of what they use included. */
async function hashOfSources() {
  const hash = createHash('sha256');
  const { dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const { packages } = JSON.parse(await readFile(join(root, '..', 'package-lock.json'), 'utf8'));
  for (const name of Object.keys(dependencies)) {
    const { version } = packages[`panel/node_modules/${name}`] ?? packages[`node_modules/${name}`] ?? {};
    hash.update(`${name}@${version}\0`);
  }
  const files = [];
  for (const name of ['build.js', 'index.html', 'vite.config.js', 'package.json'])
    files.push(join(root, name));
  for (const folder of ['src', 'public']) {
    const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
    for (const entry of entries)
      if (entry.isFile()) files.push(join(entry.parentPath ?? entry.path, entry.name));
  }
  for (const file of files.sort())
    hash
      .update(relative(root, file))
      .update('\0')
      .update(await readFile(file))
      .update('\0');
  return hash.digest('hex');
}

async function compress(folder) {
  const squeeze = promisify(brotliCompress);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  await Promise.all(
    entries
      .filter((entry) => entry.isFile() && ['.js', '.css', '.svg'].includes(extname(entry.name)))
      .map(async (entry) => {
        const path = join(entry.parentPath ?? entry.path, entry.name);
        const params = { [constants.BROTLI_PARAM_QUALITY]: 11 };
        await writeFile(`${path}.br`, await squeeze(await readFile(path), { params }));
      }),
  );
}

/** Pages whose code is a file of its own, by what their addresses begin with, the first that fits: the page says so, and the browser reads it beside the program. */
const ownFiles = [
  ['/operator/entrar', 'src/console/people-pages.ts'],
  ['/operator/convite', 'src/console/people-pages.ts'],
  ['/operator', 'src/console/pages.tsx'],
  ['/pagamentos/', 'src/pages/payment.tsx'],
];

/** `.preloads.json`: for each beginning of an address the scripts and styles that its page adds to those of every page. */
async function writePreloads(folder) {
  const manifest = JSON.parse(await readFile(join(folder, '.vite/manifest.json'), 'utf8'));
  const filesOf = (name) => {
    const { file, css = [], imports = [] } = manifest[name];
    return [...imports.flatMap(filesOf), file, ...css];
  };
  const page = await readFile(join(folder, 'index.html'), 'utf8');
  const preloads = ownFiles.map(([beginning, name]) => [
    beginning,
    [...new Set(filesOf(name))].map((file) => `/${file}`).filter((file) => !page.includes(file)),
  ]);
  await writeFile(join(folder, '.preloads.json'), JSON.stringify(preloads));
  await rm(join(folder, '.vite'), { recursive: true });
}

const sources = await hashOfSources();
if ((await readFile(stamp, 'utf8').catch(() => '')) !== sources) {
  // The environment may hold `test` or `development` (a test run does), and Vite would then take React's development build.
  process.env.NODE_ENV = 'production';
  const { build } = await import('vite');
  // Only errors: the warnings are about the "use client" lines of libraries, a screen of them per file.
  // Built in a separate folder until it is complete: readers of `dist` find the old pages meanwhile, and two builds at once do not mix.
  const fresh = join(root, `dist.${process.pid}`);
  await build({ root, logLevel: 'error', build: { outDir: fresh, emptyOutDir: true, manifest: true } });
  await writePreloads(fresh);
  await compress(fresh);
  await writeFile(join(fresh, '.built'), sources);
  await rm(dist, { recursive: true, force: true });
  await rename(fresh, dist).catch(async (error) => {
    await rm(fresh, { recursive: true, force: true });
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
}
