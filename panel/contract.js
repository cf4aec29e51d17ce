// Writes src/api/contract.d.ts, the types of what the pages ask of the service, from the schemas of its routes. Runs in `npm ci` (the root's
// `prepare`). Only types: the pages are built without them. Plain JavaScript: `npm ci` may run it under an older Node.
import { execFileSync } from 'node:child_process';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { componentsOf, pathsOf } from '../contract/types.js';

if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write('panel/src/api/contract.d.ts is not written: the service needs Node 24 or newer\n');
} else {
  const program = fileURLToPath(new URL('../server/src/main/panel-contract.ts', import.meta.url));
  const document = execFileSync(process.execPath, [program], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const api = JSON.parse(document);
  const text = `// Written by panel/contract.js.\n\n${pathsOf(api)}\n${componentsOf(api.components?.schemas ?? {})}`;
  const file = fileURLToPath(new URL('src/api/contract.d.ts', import.meta.url));
  if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
    await writeFile(`${file}.${process.pid}`, text);
    await rename(`${file}.${process.pid}`, file);
  }
}
