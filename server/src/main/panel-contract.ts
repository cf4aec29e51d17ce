import fastify from 'fastify';
import { createRequestTurns } from '../edge/request-turns.ts';
import { validatorCompiler } from '../edge/validation.ts';
import { createLog } from '../ground/log.ts';
import { systemClock } from '../ports/clock.ts';
import { systemIds } from '../ports/ids.ts';
import { mountPanel, type PanelParts, panelPath } from './panel.ts';

/**
 * The calls of the panel's pages to their back end, as an OpenAPI document: their client is generated from it. `node server/src/main/panel-contract.ts` prints it.
 */
export async function panelDocument(): Promise<string> {
  const app = fastify();
  app.setValidatorCompiler(validatorCompiler as Parameters<typeof app.setValidatorCompiler>[0]);
  app.decorate('turns', createRequestTurns());
  app.decorateRequest('arrivedMs', 0);
  app.addHook('onRequest', (request, _reply, done) => {
    request.arrivedMs = systemClock.monotonicMs();
    done();
  });
  const config = {
    publicUrl: 'http://127.0.0.1:3000',
    rateLimits: false,
    trustedProxies: [],
    provider: null,
    smtpUrl: null,
    simulatorPort: 4010,
    simulatorUrl: 'http://127.0.0.1:4010',
    dataDir: '.',
  };
  const parts = {
    config,
    clock: systemClock,
    ids: systemIds(systemClock),
    log: createLog('silent'),
    secrets: {
      derive: () => Buffer.alloc(32),
      known: [{ id: '00000000', derive: () => Buffer.alloc(32) }],
    },
    draining: new AbortController().signal,
  } as unknown as PanelParts;
  mountPanel(app, parts, () => {
    throw new Error('nothing is asked of a cell');
  });
  const answer = await app.inject({ url: `${panelPath}/openapi.json` });
  await app.close();
  return answer.body;
}

if (import.meta.main) process.stdout.write(await panelDocument());
