// Writes src/contract.ts and compiles src to dist, twice: declarations with their comments, and JavaScript without, which halves what is installed.
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

await import('./contract.js');

const root = dirname(fileURLToPath(import.meta.url));
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
const dist = join(root, 'dist');
const fresh = mkdtempSync(join(root, 'dist.'));
const compile = (...words) =>
  execFileSync(process.execPath, [tsc, '-p', root, '--outDir', fresh, ...words], { stdio: 'inherit' });

try {
  compile('--declaration', '--emitDeclarationOnly');
  compile('--removeComments');

  // tsc rewrites the extensions of imports in JavaScript alone; older compilers want them rewritten in declarations too.
  for (const name of readdirSync(fresh).filter((name) => name.endsWith('.d.ts'))) {
    const file = join(fresh, name);
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/( from '\.\/[\w-]+)\.ts'/g, "$1.js'"));
  }

  // File by file, so that a program which imports the package meanwhile finds every file whole.
  mkdirSync(dist, { recursive: true });
  const names = readdirSync(fresh);
  for (const name of names) renameSync(join(fresh, name), join(dist, name));
  for (const name of readdirSync(dist)) if (!names.includes(name)) rmSync(join(dist, name), { force: true });
} finally {
  rmSync(fresh, { recursive: true, force: true });
}
