import type { FastifyInstance, InjectOptions } from 'fastify';
import { createKey } from '../../server/src/api/keys/keys.ts';
import { operationDirectory } from '../../server/src/api/operations/operations.ts';
import { createAddresses } from '../../server/src/events/webhooks/address.ts';
import { createLog } from '../../server/src/ground/log.ts';
import { createPageAddresses } from '../../server/src/ground/page-address.ts';
import { createPapers } from '../../server/src/ground/paper/papers.ts';
import { type Permission, permissions } from '../../server/src/ground/permissions.ts';
import { createSecrets } from '../../server/src/ground/secrets.ts';
import { buildServer, type EdgeParts, type PublicCell } from '../../server/src/main/server.ts';
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
  /** The dependencies of its calls. */
  cell: PublicCell;
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

/** The till of a cell whose commands end as `decide` says. */
export const tillThat = (decide: () => Promise<unknown>): Partial<PublicCell> => ({
  till: { submit: decide } as unknown as PublicCell['till'],
});

export async function openEdge(
  given: Partial<EdgeParts> = {},
  ofCell: Partial<PublicCell> = {},
): Promise<Edge> {
  const database = await createDatabase();
  const draining = new AbortController();
  const rows = await database.admin<{ identity_secret: Buffer }>('SELECT identity_secret FROM installation');
  const runtime = { sql: database.sql, clock: systemClock, ids, secrets };
  const { clock = systemClock, sql = database.sql } = given;
  const cell = {
    ...runtime,
    sql,
    clock,
    log: createLog('silent'),
    identity: rows[0]?.identity_secret ?? Buffer.alloc(0),
    cursorKey: secrets.derive('cursors'),
    directory: operationDirectory({ sql, clock }),
    keyPlaces: { send: (_payment, send) => send(), lookUp: neverCalled },
    largeTransfers: { note: () => {} },
    defences: { of: neverCalled, defend: neverCalled, keepFile: neverCalled, removeFile: neverCalled },
    refreshIfOverdue: async (payment) => payment,
    subscribed: subscribedTypes(runtime),
    addresses: createAddresses(
      { allowCidrs: [], denyCidrs: [], allowInsecureLocal: true, proxy: null, ownHosts: [], ownPort: 3000 },
      { lookup: async () => ['127.0.0.1'], ownAddresses: () => [] },
    ),
    papers: createPapers(),
    pages: createPageAddresses(secrets.derive('pages'), 'http://127.0.0.1:3000'),
    providers: new Map(),
    connections: { takeUp: async () => {} },
    senders: new Map(),
    settings: {
      transferWaitMs: 6_000,
      chargeWaitMs: 6_000,
      chargeExpirySeconds: 3_600,
      pageOf: () => 'https://pay.example.com/pay/1',
    },
    draining: draining.signal,
    ...tillThat(neverCalled),
    ...ofCell,
  } as Partial<PublicCell> as PublicCell;
  const parts: EdgeParts = {
    ...runtime,
    config: { publicUrl: 'http://127.0.0.1:3000', rateLimits: false, trustedProxies: [] },
    log: createLog('silent'),
    cellOf: () => cell,
    inbound: { isOurAddress: neverCalled, receive: neverCalled },
    questions: { isAuthentic: () => false, answer: neverCalled },
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
    cell,
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
      await cell.papers.stop();
      await database.drop();
    },
  };
}

/** JSON is parsed, a file is text. */
const bodyOf = (text: string, type: unknown): unknown =>
  text === '' ? undefined : String(type).includes('json') ? JSON.parse(text) : text;
