import type { FastifyInstance, InjectOptions } from 'fastify';
import { createKey } from '../../server/src/api/keys/keys.ts';
import { buildServer, type EdgeParts } from '../../server/src/api/server.ts';
import { createAddresses } from '../../server/src/events/webhooks/address.ts';
import { createLog } from '../../server/src/ground/log.ts';
import { createPapers } from '../../server/src/ground/paper/papers.ts';
import { type Permission, permissions } from '../../server/src/ground/permissions.ts';
import { createSecrets } from '../../server/src/ground/secrets.ts';
import { createAccount } from '../../server/src/operate/connections/directory.ts';
import { systemClock } from '../../server/src/ports/clock.ts';
import { systemIds } from '../../server/src/ports/ids.ts';
import { subscribedTypes } from '../../server/src/store/events/subscribed-types.ts';
import { createDatabase, type TestDatabase } from './database.ts';

export const base = '/api/v1/public';

const ids = systemIds(systemClock);
export const secrets = createSecrets(ids, ids.bytes(32));

/** The edge over a real database, with nothing behind the calls that a test does not give. */
export interface Edge {
  app: FastifyInstance;
  /** For a second server over the same database. */
  parts: EdgeParts;
  database: TestDatabase;
  /** A test account with its main operation. */
  newAccount(): Promise<{ ownerId: string; operationId: string }>;
  /** The whole key, every permission unless given others. */
  newKey(accountId: string, held?: readonly Permission[]): Promise<{ id: string; key: string }>;
  call(key: string, options: InjectOptions): Promise<Answer>;
  drain(): void;
  close(): Promise<void>;
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | number | undefined>;
  // biome-ignore lint/suspicious/noExplicitAny: what a test looks at is checked by the test
  body: any;
}

const neverCalled = () => Promise.reject(new Error('this test calls nothing behind the edge'));

export const noDefences = {
  of: neverCalled,
  defend: neverCalled,
  keepFile: neverCalled,
  removeFile: neverCalled,
};

export async function openEdge(given: Partial<EdgeParts> = {}): Promise<Edge> {
  const database = await createDatabase();
  const draining = new AbortController();
  const rows = await database.admin<{ identity_secret: Buffer }>('SELECT identity_secret FROM installation');
  const runtime = { sql: database.sql, clock: systemClock, ids, secrets };
  const parts: EdgeParts = {
    ...runtime,
    config: { publicUrl: 'http://127.0.0.1:3000', rateLimits: false, trustedProxies: [] },
    identity: rows[0]?.identity_secret ?? Buffer.alloc(0),
    log: createLog('silent'),
    useCases: {
      createCharge: neverCalled,
      createTransfer: neverCalled,
      createRefund: neverCalled,
      defences: noDefences,
      confirmDraft: neverCalled,
      cancelDraft: neverCalled,
      refreshIfOverdue: async (payment) => payment,
      receiveWebhook: { isOurAddress: neverCalled, receive: neverCalled },
    },
    testCalls: {
      simulate: neverCalled,
      simulateDispute: neverCalled,
      showClock: neverCalled,
      startClock: neverCalled,
      advanceClock: neverCalled,
      reset: neverCalled,
    },
    subscribed: subscribedTypes(runtime),
    addresses: createAddresses(
      { allowCidrs: [], denyCidrs: [], allowInsecureLocal: true, proxy: null, ownHosts: [], ownPort: 3000 },
      { lookup: async () => ['127.0.0.1'], ownAddresses: () => [] },
    ),
    papers: createPapers(),
    mayShare: () => true,
    readiness: async () => [],
    draining: draining.signal,
    ...given,
  };
  const app = buildServer(parts);
  await app.ready();
  return {
    app,
    parts,
    database,
    newAccount: () => createAccount(runtime, { name: 'Loja', test: true, connection: 'simulator' }),
    newKey: (accountId, held = permissions) =>
      createKey(runtime, { accountId, name: `key ${ids.uuid()}`, permissions: held }),
    call: async (key, options) => {
      const answer = await app.inject({
        ...options,
        url: `${base}${options.url as string}`,
        headers: { authorization: `Bearer ${key}`, ...options.headers },
      });
      return {
        status: answer.statusCode,
        headers: answer.headers,
        body: bodyOf(answer.body, answer.headers['content-type']),
      };
    },
    drain: () => draining.abort(),
    close: async () => {
      await app.close();
      await parts.papers.stop();
      await database.drop();
    },
  };
}

/** JSON is parsed, a file is text. */
const bodyOf = (text: string, type: unknown): unknown =>
  text === '' ? undefined : String(type).includes('json') ? JSON.parse(text) : text;
