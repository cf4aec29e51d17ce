import fastify from 'fastify';
import { validatorCompiler } from '../edge/validation.ts';
import { createLog } from '../ground/log.ts';
import { systemClock } from '../ports/clock.ts';
import { systemIds } from '../ports/ids.ts';
import { type ConsoleParts, consoleDocument, mountConsole } from './console.ts';

/** The calls of the operators' console, as an OpenAPI document: `node server/src/main/console-contract.ts` prints it. The service does not serve it. */
export async function documentOfConsole(): Promise<string> {
  const app = fastify();
  app.setValidatorCompiler(validatorCompiler as Parameters<typeof app.setValidatorCompiler>[0]);
  const publicUrl = 'http://127.0.0.1:3000';
  const parts = {
    config: {
      publicUrl,
      operatorUrl: publicUrl,
      rateLimits: false,
      trustedProxies: [],
      operatorAddresses: [],
    },
    clock: systemClock,
    ids: systemIds(systemClock),
    log: createLog('silent'),
    secrets: { derive: () => Buffer.alloc(32) },
    draining: new AbortController().signal,
  } as unknown as ConsoleParts;
  const described = mountConsole(app, parts);
  await app.ready();
  await app.close();
  return consoleDocument(described, publicUrl);
}

if (import.meta.main) process.stdout.write(await documentOfConsole());
