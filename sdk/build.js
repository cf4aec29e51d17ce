// Compiles src to dist, twice: declarations with their comments, and JavaScript without, which halves what is installed.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(fileURLToPath(import.meta.url));
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
const compile = (...words) =>
  execFileSync(process.execPath, [tsc, '-p', root, ...words], { stdio: 'inherit' });

rmSync(join(root, 'dist'), { recursive: true, force: true });
compile('--declaration', '--emitDeclarationOnly');
compile('--removeComments');

// tsc rewrites the extensions of imports in JavaScript alone; older compilers want them rewritten in declarations too.
for (const name of readdirSync(join(root, 'dist')).filter((name) => name.endsWith('.d.ts'))) {
  const file = join(root, 'dist', name);
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/( from '\.\/[\w-]+)\.ts'/g, "$1.js'"));
}
