// Writes src/api/contract.d.ts and src/api/console.d.ts, the types of what the pages ask of the service, from the schemas of its routes. Runs in
// `npm ci` (the root's `prepare`). Only types: the pages are built without them. Plain JavaScript: `npm ci` may run it under an older Node.
import { execFileSync } from 'node:child_process';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { componentsOf, pathsOf } from '../contract/types.js';

/** From what a program of the service prints. */
async function writeTypes(program, name) {
  const document = execFileSync(
    process.execPath,
    [fileURLToPath(new URL(`../server/src/main/${program}`, import.meta.url))],
    { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
  );
  const api = JSON.parse(document);
  const text = `// Written by panel/contract.js.\n\n${pathsOf(api)}\n${componentsOf(api.components?.schemas ?? {})}`;
  const file = fileURLToPath(new URL(`src/api/${name}`, import.meta.url));
  if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
    await writeFile(`${file}.${process.pid}`, text);
    await rename(`${file}.${process.pid}`, file);
  }
}

if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write('panel/src/api is not written: the service needs Node 24 or newer\n');
} else {
  await writeTypes('panel-contract.ts', 'contract.d.ts');
  await writeTypes('console-contract.ts', 'console.d.ts');
}
