import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type RouteOptions,
} from 'fastify';
import { accountRoutes } from '../api/accounts/routes.ts';
import { chargeRoutes } from '../api/charges/routes.ts';
import { checkoutRoutes } from '../api/checkouts/routes.ts';
import { disputeRoutes } from '../api/disputes/routes.ts';
import { dueChargeRoutes } from '../api/due-charges/routes.ts';
import { eventRoutes } from '../api/events/routes.ts';
import { type KeyPeppers, keyring } from '../api/keys/keys.ts';
import { linkRoutes } from '../api/links/routes.ts';
import type { OperationDirectory } from '../api/operations/operations.ts';
import { operationRoutes } from '../api/operations/routes.ts';
import { paymentRoutes } from '../api/payments/routes.ts';
import { mountPublic } from '../api/public-api.ts';
import { refundRoutes } from '../api/refunds/routes.ts';
import { statementRoutes } from '../api/statement/routes.ts';
import { posterRoute, staticCodeRoutes } from '../api/static-codes/routes.ts';
import { testRoutes } from '../api/test-mode/routes.ts';
import type { SimulationDeps } from '../api/test-mode/simulate.ts';
import type { TransferGuards } from '../api/transfers/create.ts';
import type { DraftDeps } from '../api/transfers/draft.ts';
import { transferRoutes } from '../api/transfers/routes.ts';
import type { WebhooksDeps } from '../api/webhooks/endpoints.ts';
import { describedEvents } from '../api/webhooks/event-docs.ts';
import { webhookRoutes } from '../api/webhooks/routes.ts';
import { type Answers, answerBrokenRequest, createAnswers } from '../edge/answers.ts';
import { trustOf } from '../edge/caller-address.ts';
import { shareConnections } from '../edge/connection-shares.ts';
import { costOf } from '../edge/costs.ts';
import { docsRoutes } from '../edge/docs.ts';
import type { CellOf } from '../edge/edge.ts';
import { takeFiles } from '../edge/file-body.ts';
import { certificateRulesOf, hookRoutes } from '../edge/hooks.ts';
import { parseJsonBody } from '../edge/json-body.ts';
import type { Load } from '../edge/load.ts';
import { type RateLimiter, rateLimiter } from '../edge/rate-limit.ts';
import type { RequestLog } from '../edge/request-log/request-log.ts';
import { createRequestTurns, type RequestTurns } from '../edge/request-turns.ts';
import { validatorCompiler } from '../edge/validation.ts';
import type { AcceptDeps } from '../flow/accept.ts';
import type { Defences } from '../flow/defend.ts';
import type { Inbound } from '../flow/inbound.ts';
import type { Questions } from '../flow/withdrawal-questions.ts';
import { type Language, refuse } from '../ground/errors.ts';
import type { Log } from '../ground/log.ts';
import type { Measures } from '../ground/measures.ts';
import type { PageAddresses } from '../ground/page-address.ts';
import type { Papers } from '../ground/paper/papers.ts';
import type { Quotas } from '../ground/quotas.ts';
import type { Secrets } from '../ground/secrets.ts';
import type { RequestSpan, Traces } from '../ground/traces.ts';
import type { LookupDeps } from '../kinds/payment/lookup.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Sql } from '../ports/sql.ts';
import { onBehalfOf } from '../store/database/whose-call.ts';

export const basePath = '/api/v1/public';
/** Test accounts alone: the public API has no call that decides a payment. */
export const testPath = '/api/v1/test';

/** The dependencies of the public API's calls in a cell. */
export type PublicCell = AcceptDeps &
  DraftDeps &
  TransferGuards &
  SimulationDeps &
  LookupDeps &
  Omit<WebhooksDeps, 'directory'> & {
    defences: Defences;
    directory: OperationDirectory;
    papers: Papers;
    pages: PageAddresses;
  };

/** The parts of the one HTTP server of a process; `sql` is the directory. */
export interface EdgeParts {
  config: {
    publicUrl: string;
    hooksUrl?: string;
    hooksHeader?: string;
    rateLimits: boolean;
    rateQuotas?: Quotas;
    /** The language of messages for requests that name none. */
    defaultLanguage?: Language;
    trustedProxies: readonly string[];
    cnpjLetters?: boolean;
  };
  sql: Sql;
  clock: Clock;
  ids: Ids;
  secrets: KeyPeppers & Pick<Secrets, 'derive' | 'seal'>;
  log: Log;
  /** The parts of each cell, with the key that signs cursors of the public API. */
  cellOf: CellOf<PublicCell>;
  inbound: Pick<Inbound, 'isOurAddress' | 'receive'>;
  questions: Questions;
  /** Whether this process may write limits that all processes share: its machine's clock is right. */
  mayShare(): boolean;
  /** The reasons why the process is not ready; empty: it is. */
  readiness(): Promise<readonly string[]>;
  /** Keeps what merchants see of their requests, when an answer is about to be sent; absent: nothing is kept. */
  noteRequest?: RequestLog['note'];
  /** Counts requests by route and status, and what was shed. */
  measures?: Pick<Measures, 'requests' | 'shed'>;
  traces?: Traces | null;
  /** Sheds calls of the public API under overload, by the cell of the caller where that is known; absent: nothing is shed. */
  loadOf?: (cell: string | undefined) => Load;
  /** From its abort on, new requests are refused and connections end with the answers under way. */
  draining: AbortSignal;
}

const maxBodyBytes = 16 * 1024;
const maxHeaderBytes = 16 * 1024;
const maxUrlLength = 4 * 1024;
/** How long a connection that broke a rule has for reading the answer. */
const lingerMs = 1_000;

/**
 * The HTTP edge. What it checks of a call of the public API stands in `public-api.ts`; the rest (repeat, state of account and provider,
 * business rules) is decided under the till's lock.
 */
export function buildServer(parts: EdgeParts): FastifyInstance {
  const answers = createAnswers(parts);
  const app = openApp(parts, answers);
  app.addHook('onRequest', (request, reply, done) => {
    request.arrivedMs = parts.clock.monotonicMs();
    answers.greet(request, reply);
    if (parts.draining.aborted) return done(refuse('maintenance', { retryAfterSeconds: 1 }));
    if ((request.raw.url as string).length > maxUrlLength) return done(refuse('uri_too_long'));
    done();
  });
  takeTurns(app);
  observe(app, parts);
  app.setErrorHandler(answers.failed);
  app.setNotFoundHandler((request, reply) => answers.refused(request, reply, refuse('route_not_found')));

  app.get('/healthz', () => ({ ok: true }));
  app.get('/readyz', async (_request, reply) => {
    const problems = await parts.readiness();
    return reply.code(problems.length === 0 ? 200 : 503).send({ ok: problems.length === 0, problems });
  });
  hookRoutes(app, parts.inbound, parts.questions, certificateRulesOf(parts.config));
  docsRoutes(app as unknown as FastifyInstance, parts.config.publicUrl);
  mountCalls(app as unknown as FastifyInstance, parts);
  return app as unknown as FastifyInstance;
}

function openApp({ config, clock, ids, log, draining }: EdgeParts, answers: Answers) {
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
    trustProxy: trustOf(config.trustedProxies),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: maxUrlLength },
    frameworkErrors: (_error, request, reply) => {
      answers.refused(request, reply as FastifyReply, refuse('malformed_request'));
    },
    clientErrorHandler: (error, socket) =>
      answerBrokenRequest(error, socket, newRequestId(), () => clock.sleep(lingerMs, draining)),
  }).withTypeProvider<TypeBoxTypeProvider>();
  shareConnections(app.server, {
    log,
    trustedProxies: config.trustedProxies,
    now: () => clock.monotonicMs(),
  });
  app.addHook('onRoute', requireCost);

  app.setValidatorCompiler(validatorCompiler as Parameters<typeof app.setValidatorCompiler>[0]);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, parseJsonBody);
  takeFiles(app as unknown as FastifyInstance);
  app.decorate('turns', createRequestTurns());
  // Both are set by hooks before anything reads them; declared here, every request object has one shape.
  app.decorateRequest('caller', null as never);
  app.decorateRequest('cell', '');
  app.decorateRequest('language', null as never);
  app.decorateRequest('trace', null as never);
  app.decorateRequest('arrivedMs', 0);
  app.decorateRequest('waitsAs', 'strangers');
  app.decorateRequest('holder', null);
  app.decorateRequest('refusal', null);

  return app;
}

/** @throws Error for a route whose cost is not known, or whose policy does not fit it: it would be served under another's limits */
function requireCost({ method, url, config }: RouteOptions): void {
  if (config?.refuses) return;
  for (const one of [method].flat()) {
    const { policy } = costOf(one, url);
    const said = url.startsWith('/api/') ? config?.api?.policy : undefined;
    if (said !== undefined && said !== policy)
      throw new Error(`${one} ${url} counts as ${said}, its cost as ${policy}`);
  }
}

/** Its statements wait in the line of its account, or of strangers; what still runs after its answer is done for everybody. */
function takeTurns(app: ReturnType<typeof openApp>): void {
  const whose = (request: FastifyRequest, reply: FastifyReply) => () =>
    reply.sent ? null : (request.caller?.accountId ?? request.waitsAs);
  app.addHook('onRequest', (request, reply, done) => onBehalfOf(whose(request, reply), done));
  // A body arrives in the socket's own context.
  app.addHook('preValidation', (request, reply, done) =>
    request.body === undefined ? done() : onBehalfOf(whose(request, reply), done),
  );
}

/** Measures, traces and logs requests, and keeps what merchants see of their own. */
function observe(app: ReturnType<typeof openApp>, parts: EdgeParts): void {
  const { clock, log, draining, traces, measures } = parts;
  const spans = new WeakMap<FastifyRequest, RequestSpan>();
  if (traces) {
    app.addHook('onRequest', (request, _reply, done) => {
      const span = traces.request(request.trace.traceparent);
      spans.set(request, span);
      span.run(done);
    });
    // The body arrives in the socket's own context: what comes behind it would stand below no span.
    app.addHook('preValidation', (request, _reply, done) => {
      const span = spans.get(request);
      if (span) span.run(done);
      else done();
    });
  }
  app.addHook('onSend', (request, reply, payload, done) => {
    if (draining.aborted) reply.header('connection', 'close');
    // Not in `onResponse`: Fastify then watches each answer to its end, which cost every request 10 to 28 µs (two pairs of hot 64).
    parts.noteRequest?.(request, reply);
    const route = routeOf(request);
    // A stream is measured up to its first byte, as every answer is.
    const seconds = (clock.monotonicMs() - request.arrivedMs) / 1000;
    measures?.requests.of(route, String(reply.statusCode)).observe(seconds);
    spans.get(request)?.end({ route, status: reply.statusCode, requestId: request.id });
    done(null, payload);
  });
  if (log.isLevelEnabled('debug')) {
    app.addHook('onResponse', (request, reply, done) => {
      const { method, url } = request.routeOptions;
      const { statusCode: status, elapsedTime: ms } = reply;
      log.debug({ requestId: request.id, ...request.trace, method, route: url, status, ms }, 'answered');
      done();
    });
  }
}

/** The pattern and never the path: paths hold ids and secrets. */
const routeOf = ({ method, routeOptions }: FastifyRequest): string =>
  `${method} ${routeOptions.url ?? 'none'}`;

/** The limits of calls, by the settings: of the API, the panel and the payer's pages each. */
export const limiterOf = (
  parts: Pick<EdgeParts, 'clock' | 'sql' | 'log' | 'mayShare' | 'draining'> & {
    config: Pick<EdgeParts['config'], 'rateLimits' | 'rateQuotas' | 'trustedProxies'>;
  },
  turns?: RequestTurns,
): RateLimiter =>
  rateLimiter({
    ...parts,
    ...(turns && { turns }),
    enabled: parts.config.rateLimits,
    quotas: parts.config.rateQuotas ?? {},
    behindProxy: parts.config.trustedProxies.length > 0,
  });

function mountCalls(app: FastifyInstance, parts: EdgeParts): void {
  const { config, clock, cellOf } = parts;
  const loadOf = parts.loadOf ?? (() => undefined);
  const { turns } = app;
  const edge = {
    config,
    clock,
    keys: keyring(parts),
    limiter: limiterOf(parts, turns),
    turns,
    loadOf,
    cellOf,
  };
  mountPublic(
    app,
    edge,
    basePath,
    (api) => {
      chargeRoutes(api, cellOf);
      checkoutRoutes(api, cellOf);
      dueChargeRoutes(api, cellOf);
      refundRoutes(api, cellOf);
      staticCodeRoutes(api, cellOf);
      posterRoute(api, cellOf);
      linkRoutes(api, cellOf);
      transferRoutes(api, cellOf, { cnpjLetters: config.cnpjLetters ?? false });
      paymentRoutes(api, cellOf);
      accountRoutes(api, cellOf);
      disputeRoutes(api, cellOf);
      statementRoutes(api, cellOf);
      operationRoutes(api, cellOf);
      webhookRoutes(api, cellOf);
      eventRoutes(api, cellOf);
    },
    describedEvents,
  );
  mountPublic(app, edge, testPath, (api) => testRoutes(api, cellOf), []);
}
