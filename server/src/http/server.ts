import type { Socket } from 'node:net';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { accountRoutes } from '../accounts/routes.ts';
import { type CreateCharge, chargeRoutes } from '../charges/routes.ts';
import { disputeRoutes } from '../disputes/routes.ts';
import { eventRoutes } from '../events/routes.ts';
import type { SubscribedTypes } from '../events/subscribed-types.ts';
import { answerWithinMs, before } from '../ground/deadline.ts';
import { ApiError, type ErrorCode, errorBody, type Language, languageOf, refuse } from '../ground/errors.ts';
import type { Log } from '../ground/log.ts';
import type { Measures } from '../ground/measures.ts';
import type { Quotas } from '../ground/quotas.ts';
import type { RefreshingCache } from '../ground/refreshing-cache.ts';
import type { Secrets } from '../ground/secrets.ts';
import type { RequestSpan, Traces } from '../ground/traces.ts';
import { type KeyPeppers, keyring, type VerifiedKey } from '../keys/keys.ts';
import { operationDirectory } from '../operations/operations.ts';
import { operationRoutes } from '../operations/routes.ts';
import type { LookupDeps } from '../payments/lookup.ts';
import { paymentRoutes } from '../payments/routes.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import { isUnavailable, type Sql } from '../ports/sql.ts';
import { refundRoutes } from '../refunds/routes.ts';
import type { RequestLog } from '../request-log/request-log.ts';
import type { CreateRefund } from '../settlement/dispatch/send-refund.ts';
import { statementRoutes } from '../statement/routes.ts';
import { type TestCalls, testRoutes } from '../test-mode/routes.ts';
import { type CreateTransfer, type DraftCalls, transferRoutes } from '../transfers/routes.ts';
import type { Addresses } from '../webhooks/address.ts';
import { describedEvents } from '../webhooks/event-docs.ts';
import { webhookRoutes } from '../webhooks/routes.ts';
import { bearerOf, requirePermission } from './auth.ts';
import { docsRoutes } from './docs.ts';
import type { ApiScope, RouteFacts } from './edge.ts';
import { hookRoutes, type ReceiveWebhook } from './hooks.ts';
import { parseJsonBody } from './json-body.ts';
import type { Load } from './load.ts';
import { type DescribedRoute, openApiOf } from './openapi.ts';
import { namedOperationOf } from './operation-header.ts';
import { rateLimiter } from './rate-limit.ts';
import { securityHeaders, strictTransport } from './security-headers.ts';
import { clientTraceOf } from './trace.ts';
import { validatorCompiler } from './validation.ts';

export const basePath = '/api/v1/public';
/** Test accounts alone: the public API has no call that decides a payment. */
export const testPath = '/api/v1/test';

/** What the calls do once the edge has let them through. */
export interface UseCases extends DraftCalls {
  createCharge: CreateCharge;
  createTransfer: CreateTransfer;
  createRefund: CreateRefund;
  refreshIfOverdue: LookupDeps['refreshIfOverdue'];
  receiveWebhook: ReceiveWebhook;
}

export interface EdgeParts {
  config: {
    publicUrl: string;
    rateLimits: boolean;
    rateQuotas?: Quotas;
    /** The language of messages for requests that name none. */
    defaultLanguage?: Language;
    trustedProxies: readonly string[];
  };
  sql: Sql;
  clock: Clock;
  ids: Ids;
  secrets: KeyPeppers & Pick<Secrets, 'derive' | 'seal'>;
  /** The installation's identity secret. */
  identity: Buffer;
  log: Log;
  /** Where merchants' webhooks may go. */
  addresses: Addresses;
  subscribed: RefreshingCache<SubscribedTypes>;
  useCases: UseCases;
  /** The calls of test accounts; absent: there are none. */
  testCalls?: TestCalls;
  /** Whether this process may write limits that all processes share: its machine's clock is right. */
  mayShare(): boolean;
  /** What keeps the process from being ready; empty: it is. */
  readiness(): Promise<readonly string[]>;
  /** What merchants see of their requests; absent: nothing is kept. */
  requestLog?: Pick<RequestLog, 'note'>;
  /** Counts requests by route and status, and what was shed. */
  measures?: Pick<Measures, 'requests' | 'shed'>;
  traces?: Traces | null;
  /** Sheds calls of the public API under overload; absent: nothing is shed. */
  load?: Load;
  /** From its abort on, new requests are refused and connections end with the answers under way. */
  draining: AbortSignal;
}

const maxBodyBytes = 16 * 1024;
const maxHeaderBytes = 16 * 1024;
const maxUrlLength = 4 * 1024;
/** Some 20 kB each while idle; beyond it a connection is closed at once. Half of the 10,000 descriptors that systems commonly allow. */
const maxConnections = 5_000;
/** How long a connection that broke a rule has for reading the answer. */
const lingerMs = 1_000;

/** `Retry-After` of an answer 503 that knows no better time: a database that restarts is back within seconds. */
const unavailableSeconds = 1;

/**
 * The HTTP edge. A request of the public API is checked in a fixed order, so that its answer is deterministic and a caller without a key
 * learns nothing about an account: key (401), limits (429), permission (403), header (400),
 * operation (404), body (400). The rest (repeat, state of account and provider, business rules) is decided under the
 * till's lock.
 */
export function buildServer(parts: EdgeParts): FastifyInstance {
  const { config, clock, ids, log, draining } = parts;
  const newRequestId = () => `req_${ids.uuid().replaceAll('-', '')}`;
  const app = fastify({
    // A logger of Fastify's makes a child for every request; what is worth a line is logged below.
    logger: false,
    genReqId: newRequestId,
    requestIdHeader: false,
    bodyLimit: maxBodyBytes,
    // A whole request must have arrived by then; the answer may take longer.
    requestTimeout: 15_000,
    keepAliveTimeout: 65_000,
    // Node looks for late requests every 30 s: twice as long as they have.
    http: { maxHeaderSize: maxHeaderBytes, headersTimeout: 10_000, connectionsCheckingInterval: 1_000 },
    // A client that takes nothing of its answer, not even a heartbeat of its stream, is let go.
    connectionTimeout: 75_000,
    forceCloseConnections: 'idle',
    trustProxy: config.trustedProxies.length > 0 ? [...config.trustedProxies] : false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: maxUrlLength },
    frameworkErrors: (_error, request, reply) => {
      answer(request, reply as FastifyReply, refuse('malformed_request'));
    },
    clientErrorHandler: (error, socket) =>
      answerBrokenRequest(error, socket, newRequestId(), () => clock.sleep(lingerMs, draining)),
  }).withTypeProvider<TypeBoxTypeProvider>();
  app.server.maxConnections = maxConnections;

  app.setValidatorCompiler(validatorCompiler as Parameters<typeof app.setValidatorCompiler>[0]);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, parseJsonBody);
  // Both are set by hooks before anything reads them; declared here, every request object has one shape.
  app.decorateRequest('caller', null as never);
  app.decorateRequest('language', null as never);
  app.decorateRequest('trace', null as never);
  app.decorateRequest('arrivedMs', 0);
  app.decorateRequest('holder', null);
  app.decorateRequest('refusal', null);

  const { traces } = parts;
  const spans = new WeakMap<FastifyRequest, RequestSpan>();
  app.addHook('onRequest', (request, reply, done) => {
    request.arrivedMs = clock.monotonicMs();
    greet(request, reply);
    if (draining.aborted) return done(refuse('maintenance', { retryAfterSeconds: 1 }));
    if ((request.raw.url as string).length > maxUrlLength) return done(refuse('uri_too_long'));
    if (!traces) return done();
    const span = traces.request(request.trace.traceparent);
    spans.set(request, span);
    span.run(done);
  });
  // The body arrives in the socket's own context: what comes behind it would stand below no span.
  if (traces)
    app.addHook('preValidation', (request, _reply, done) => {
      const span = spans.get(request);
      if (span) span.run(done);
      else done();
    });
  app.addHook('onSend', (request, reply, payload, done) => {
    if (draining.aborted) reply.header('connection', 'close');
    // Not in `onResponse`: Fastify then watches each answer to its end, which cost every request 10 to 28 µs (two pairs of hot 64).
    parts.requestLog?.note(request, reply);
    if (parts.measures) measureRequest(parts.measures.requests, request, reply.statusCode);
    if (traces)
      spans.get(request)?.end({ route: routeOf(request), status: reply.statusCode, requestId: request.id });
    done(null, payload);
  });

  /** A stream is measured up to its first byte, as every answer is. */
  function measureRequest(requests: Measures['requests'], request: FastifyRequest, status: number): void {
    requests.of(routeOf(request), String(status)).observe((clock.monotonicMs() - request.arrivedMs) / 1000);
  }

  /** The pattern and never the path: paths hold ids and secrets. */
  function routeOf(request: FastifyRequest): string {
    return `${request.method} ${request.routeOptions.url ?? 'none'}`;
  }

  const overTls = config.trustedProxies.length > 0 || config.publicUrl.startsWith('https:');
  function greet(request: FastifyRequest, reply: FastifyReply): void {
    request.trace = clientTraceOf(request.headers);
    request.language = languageOf(request.headers['accept-language'], config.defaultLanguage);
    reply.header('x-request-id', request.id);
    reply.header('cache-control', 'no-store');
    reply.header('content-language', request.language);
    reply.headers(securityHeaders);
    if (overTls) reply.header('strict-transport-security', strictTransport);
  }

  // ------------------------------------------------------------------------------------------------------------- errors

  function answer(request: FastifyRequest, reply: FastifyReply, error: ApiError): void {
    const { code, status, options } = error;
    request.refusal = error;
    if (code === 'overloaded' && parts.measures) parts.measures.shed.count++;
    if (!reply.hasHeader('x-request-id')) greet(request, reply);
    if (status === 401) reply.header('www-authenticate', 'Bearer');
    const retryAfterSeconds =
      options.retryAfterSeconds ?? (code === 'processing_unavailable' ? unavailableSeconds : undefined);
    if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds);
    reply
      .code(status)
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(errorBody(error, request.language, request.id)));
  }

  app.setErrorHandler((error: FastifyError | ApiError, request, reply) => {
    if (error instanceof ApiError) return answer(request, reply, error);
    const code = frameworkCodes[error.code];
    if (code) return answer(request, reply, refuse(code));
    // Only Fastify gives errors a status: what it could not read of the request, such as a body that broke off.
    if (error.statusCode !== undefined && error.statusCode < 500) {
      return answer(request, reply, refuse('malformed_request'));
    }
    const { method, url, config: route } = request.routeOptions;
    if (isUnavailable(error)) {
      log.warn({ err: error, requestId: request.id, method, route: url }, 'the database is unavailable');
      return answer(request, reply, refuse('processing_unavailable'));
    }
    log.error(
      { err: error, requestId: request.id, ...request.trace, method, route: url },
      'a request failed',
    );
    answer(request, reply, refuse(route.api?.creates ? 'processing_unavailable' : 'internal_error'));
  });

  app.setNotFoundHandler((request, reply) => answer(request, reply, refuse('route_not_found')));

  // ------------------------------------------------------------------------------------------------------------- health

  app.get('/healthz', () => ({ ok: true }));
  app.get('/readyz', async (_request, reply) => {
    const problems = await parts.readiness();
    return reply.code(problems.length === 0 ? 200 : 503).send({ ok: problems.length === 0, problems });
  });

  hookRoutes(app, parts.useCases.receiveWebhook);
  docsRoutes(app as unknown as FastifyInstance);

  // --------------------------------------------------------------------------------------------------------- public API

  const directory = operationDirectory(parts);
  const keys = keyring(parts);
  const limiter = rateLimiter({
    clock,
    sql: parts.sql,
    log,
    mayShare: parts.mayShare,
    enabled: config.rateLimits,
    quotas: config.rateQuotas ?? {},
    behindProxy: config.trustedProxies.length > 0,
    draining,
  });

  const newKeys = new Set<string>();
  /** Each guess is counted before it costs a look-up. Requests that come together with the same key share one look-up. */
  async function lookUpNewKey(request: FastifyRequest, presented: string): Promise<VerifiedKey | undefined> {
    if (newKeys.has(presented)) {
      const key = await keys.get(presented);
      if (key === undefined) limiter.tryAuthentication(request);
      return key;
    }
    const giveBack = limiter.tryAuthentication(request);
    newKeys.add(presented);
    try {
      const key = await keys.get(presented);
      if (key !== undefined) giveBack();
      return key;
    } finally {
      newKeys.delete(presented);
    }
  }

  function admit(facts: RouteFacts) {
    return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      // Before anything is looked up: a refusal that costs as much as an answer sheds nothing.
      parts.load?.admit(facts);
      const { arrivedMs } = request;
      const deadlineMs = arrivedMs + answerWithinMs;
      if (facts.deprecatedAt !== undefined) {
        reply.header('deprecation', `@${facts.deprecatedAt}`);
        reply.header('link', `<${config.publicUrl}/docs>; rel="deprecation"; type="text/html"`);
      }
      if (config.trustedProxies.length > 0 && request.headers['x-forwarded-proto'] === 'http') {
        throw refuse('tls_required');
      }
      const presented = bearerOf(request.raw);
      const known = keys.wasValid(presented) ? keys.get(presented) : lookUpNewKey(request, presented);
      const key = known instanceof Promise ? await before(clock, deadlineMs, known) : known;
      if (key === undefined) throw refuse('api_key_invalid');
      request.holder = key;
      if (key.expiresAt !== null && key.expiresAt <= clock.now()) throw refuse('api_key_expired');
      if (!key.allows(request.ip)) throw refuse('ip_not_allowed');
      keys.noteUse(key, request.ip, request.headers['user-agent']);
      limiter.take(key, facts.policy, reply);
      requirePermission(key.permissions, facts.permissions);
      const named = namedOperationOf(request.headers['x-service-operation']);
      let operationId = '';
      if (facts.operation === 'resolve') {
        const resolved = directory.resolve(key.accountId, named);
        operationId = typeof resolved === 'string' ? resolved : await before(clock, deadlineMs, resolved);
      }
      request.caller = {
        accountId: key.accountId,
        accountNumber: key.accountNumber,
        test: key.test,
        connection: key.connection,
        chargeFallback: key.chargeFallback,
        keyId: key.id,
        permissions: key.permissions,
        requestId: request.id,
        arrivedMs,
        ...(request.trace.traceparent ? { traceparent: request.trace.traceparent } : {}),
        operationId,
        operationNamed: named !== null,
      };
    };
  }

  /** Calls with a key below `prefix`, and the document that describes them. */
  function mount(prefix: string, routes: (api: ApiScope) => void, events: typeof describedEvents): void {
    app.register(
      async (scope) => {
        const api = scope.withTypeProvider<TypeBoxTypeProvider>();
        const described: DescribedRoute[] = [];
        const methodsOf = new Map<string, string[]>();
        api.addHook('onRoute', (route) => {
          const facts = route.config?.api;
          if (facts) route.onRequest = admit(facts);
          if (route.method === 'HEAD') return;
          const methods = methodsOf.get(route.routePath) ?? [];
          methodsOf.set(route.routePath, [...methods, ...[route.method].flat()]);
          if (facts && typeof route.method === 'string') {
            described.push({
              method: route.method,
              path: route.routePath,
              schema: route.schema ?? {},
              facts,
            });
          }
        });
        routes(api);
        let document: string | undefined;
        api.get('/openapi.json', (_request, reply) => {
          document ??= JSON.stringify(openApiOf(described, config.publicUrl + prefix, events));
          return reply.type('application/json; charset=utf-8').send(document);
        });
        for (const [path, methods] of [...methodsOf]) answerOtherMethods(scope, path, methods);
      },
      { prefix },
    );
  }

  mount(
    basePath,
    (api) => {
      chargeRoutes(api, { createCharge: parts.useCases.createCharge, directory });
      refundRoutes(api, { sql: parts.sql, createRefund: parts.useCases.createRefund, directory });
      transferRoutes(api, { ...parts.useCases, directory, limiter });
      paymentRoutes(api, {
        ...parts,
        cursorKey: parts.secrets.derive('cursors'),
        refreshIfOverdue: parts.useCases.refreshIfOverdue,
      });
      accountRoutes(api, { sql: parts.sql, directory });
      disputeRoutes(api, { ...parts, cursorKey: parts.secrets.derive('cursors'), directory });
      statementRoutes(api, { ...parts, cursorKey: parts.secrets.derive('cursors'), directory });
      operationRoutes(api, { ...parts, directory });
      webhookRoutes(api, { ...parts, directory });
      eventRoutes(api, { ...parts, cursorKey: parts.secrets.derive('cursors') });
    },
    describedEvents,
  );
  const { testCalls } = parts;
  if (testCalls) mount(testPath, (api) => testRoutes(api, testCalls), []);

  if (log.isLevelEnabled('debug')) {
    app.addHook('onResponse', (request, reply, done) => {
      const { method, url } = request.routeOptions;
      log.debug(
        {
          requestId: request.id,
          ...request.trace,
          method,
          route: url,
          status: reply.statusCode,
          ms: reply.elapsedTime,
        },
        'answered',
      );
      done();
    });
  }
  return app as unknown as FastifyInstance;
}

/** No `Access-Control-Allow-Origin`, ever: keys are never in browser code. */
function answerOtherMethods(api: FastifyInstance, path: string, methods: readonly string[]): void {
  const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
  api.options(path, (_request, reply) => reply.header('allow', allow).code(204).send());
  const others = api.supportedMethods.filter(
    (method) => method !== 'HEAD' && method !== 'OPTIONS' && !methods.includes(method),
  );
  api.route({
    method: others,
    url: path,
    exposeHeadRoute: others.includes('GET'),
    // Before a body is read: what it says does not matter.
    onRequest: (_request, reply, done) => {
      reply.header('allow', allow);
      done(refuse('method_not_allowed'));
    },
    handler: () => {},
  });
}

const frameworkCodes: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_EMPTY_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed_request',
  FST_ERR_BAD_URL: 'malformed_request',
};

const rawSecurityHeaders = Object.entries(securityHeaders)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');

/** What is no HTTP request gets an answer of the same form, as far as the connection still takes one. */
function answerBrokenRequest(
  error: NodeJS.ErrnoException,
  socket: Socket,
  requestId: string,
  linger: () => Promise<void>,
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const code: ErrorCode =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? 'headers_too_large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? 'request_timeout'
        : 'malformed_request';
  const refusal = refuse(code);
  const body = errorBody(refusal, 'en', requestId);
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${body.statusCode} ${body.error}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\nX-Request-Id: ${requestId}\r\nCache-Control: no-store\r\n${rawSecurityHeaders}Connection: close\r\n\r\n${text}`,
  );
  // `end` closes our half only: a client that keeps the other half open would hold the descriptor for ever.
  socket.destroySoon();
  void linger().then(() => socket.destroy());
}
