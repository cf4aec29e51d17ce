import { readFile, writeFile } from 'node:fs/promises';
import { createLog } from '../ground/log.ts';
import { systemClock } from '../ports/clock.ts';
import { systemIds } from '../ports/ids.ts';
import { basePath, buildServer, type EdgeParts } from './server.ts';

/**
 * Writes the OpenAPI document of the public API from the schemas of its routes:
 * `node server/src/main/public-contract.ts --write FILE`. `--check FILE` ends with 1 when the file says something else.
 */
export async function committedDocument(): Promise<string> {
  const nothing = {} as EdgeParts;
  const app = buildServer({
    ...nothing,
    config: { publicUrl: 'http://127.0.0.1:3000', rateLimits: false, trustedProxies: [] },
    clock: systemClock,
    ids: systemIds(systemClock),
    log: createLog('silent'),
    secrets: { derive: () => Buffer.alloc(32) } as unknown as EdgeParts['secrets'],
    draining: new AbortController().signal,
  });
  const answer = await app.inject({ url: `${basePath}/openapi.json` });
  await app.close();
  return `${JSON.stringify(JSON.parse(answer.body), null, 2)}\n`;
}

async function main([what, file]: readonly string[]): Promise<void> {
  if ((what !== '--write' && what !== '--check') || file === undefined) {
    throw new Error('usage: public-contract.ts --write FILE | --check FILE');
  }
  const document = await committedDocument();
  if (what === '--write') return writeFile(file, document);
  if ((await readFile(file, 'utf8')) !== document) {
    throw new Error(`${file} is not what the route schemas say: npm run contract`);
  }
}

if (import.meta.main) {
  main(process.argv.slice(2)).catch((error: Error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
}
