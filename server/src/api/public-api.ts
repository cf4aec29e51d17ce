import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { bytesOfAscii } from '../edge/ascii-body.ts';
import { bearerOf } from '../edge/bearer.ts';
import { callerAddress, callerNetwork } from '../edge/caller-address.ts';
import { keptText } from '../edge/compress.ts';
import { type Cost, costOf, unitsOf } from '../edge/costs.ts';
import type { ApiScope, CellOf, RouteFacts } from '../edge/edge.ts';
import type { Load } from '../edge/load.ts';
import { namedOperationOf } from '../edge/operation-header.ts';
import type { RateLimiter } from '../edge/rate-limit.ts';
import type { RequestTurns } from '../edge/request-turns.ts';
import { type Caller, requirePermission } from '../ground/caller.ts';
import { answerWithinMs, before } from '../ground/deadline.ts';
import { refuse } from '../ground/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Keyring, VerifiedKey } from './keys/keys.ts';
import { type DescribedRoute, openApiOf } from './openapi.ts';
import type { OperationDirectory } from './operations/operations.ts';
import type { describedEvents } from './webhooks/event-docs.ts';

export interface PublicDeps {
  config: { publicUrl: string; trustedProxies: readonly string[] };
  clock: Clock;
  keys: Keyring;
  limiter: RateLimiter;
  turns: Pick<RequestTurns, 'ofAccount' | 'ofStranger'>;
  /** Sheds calls under overload: those with a key that was not seen valid yet by the load of the directory. */
  loadOf(cell: string | undefined): Load | undefined;
  cellOf: CellOf<{ directory: OperationDirectory }>;
}

/** Calls with a key below `prefix`, and the document that describes them. */
export function mountPublic(
  app: FastifyInstance,
  deps: PublicDeps,
  prefix: string,
  routes: (api: ApiScope) => void,
  events: typeof describedEvents,
): void {
  const admit = createAdmit(deps);
  app.register(
    async (scope) => {
      const api = scope.withTypeProvider<TypeBoxTypeProvider>();
      const described: DescribedRoute[] = [];
      const methodsOf = new Map<string, string[]>();
      // Here alone: the panel compresses texts.
      api.addHook('onSend', (_request, _reply, payload, done) => done(null, bytesOfAscii(payload)));
      api.addHook('onRoute', (route) => {
        const facts = route.config?.api;
        if (facts) route.onRequest = admit(facts, costOf(String(route.method), route.url));
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
      let document: ReturnType<typeof keptText> | undefined;
      api.get('/openapi.json', async (request, reply) => {
        document ??= keptText(JSON.stringify(openApiOf(described, deps.config.publicUrl + prefix, events)));
        reply.type('application/json; charset=utf-8');
        return reply.send(await document(request, reply));
      });
      for (const [path, methods] of [...methodsOf]) answerOtherMethods(scope, path, methods);
    },
    { prefix },
  );
}

/**
 * A call is checked in a fixed order, so that its answer is deterministic and a caller without a key learns nothing about an account: key
 * (401), limits (429), permission (403), header (400), operation (404), then the body (400).
 */
function createAdmit({ config, clock, keys, limiter, turns, loadOf, cellOf }: PublicDeps) {
  const behindProxy = config.trustedProxies.length > 0;
  const lookUpNewKey = createKeyLookup(keys, limiter);
  return (facts: RouteFacts, cost: Cost) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      const deadlineMs = request.arrivedMs + answerWithinMs;
      if (facts.deprecatedAt !== undefined) {
        reply.header('deprecation', `@${facts.deprecatedAt}`);
        reply.header('link', `<${config.publicUrl}/docs>; rel="deprecation"; type="text/html"`);
      }
      if (behindProxy && request.headers['x-forwarded-proto'] === 'http') throw refuse('tls_required');
      const presented = bearerOf(request.raw);
      const seen = keys.cellOf(presented);
      // Before anything is looked up: a refusal that costs as much as an answer sheds nothing.
      loadOf(seen)?.admit(facts);
      if (seen === undefined) await before(clock, deadlineMs, turns.ofStranger(callerNetwork(request)));
      const known = seen === undefined ? lookUpNewKey(request, presented) : keys.get(presented);
      const key = known instanceof Promise ? await before(clock, deadlineMs, known) : known;
      if (key === undefined) throw refuse('api_key_invalid');
      request.holder = key;
      if (key.expiresAt !== null && key.expiresAt <= clock.now()) throw refuse('api_key_expired');
      const address = callerAddress(request);
      if (!key.allows(address)) throw refuse('ip_not_allowed');
      keys.noteUse(key, address, request.headers['user-agent']);
      const turn = turns.ofAccount(key.accountId);
      if (turn) await before(clock, deadlineMs, turn);
      limiter.take(key, facts.policy, reply, cost.searches && unitsOf(cost, request.query, key.permissions));
      requirePermission(key.permissions, facts.permissions);
      const named = namedOperationOf(request.headers['x-service-operation']);
      let operationId = '';
      if (facts.operation === 'resolve') {
        const resolved = cellOf(key).directory.resolve(key.accountId, named);
        operationId = typeof resolved === 'string' ? resolved : await before(clock, deadlineMs, resolved);
      }
      request.cell = key.cell;
      request.caller = callerOf(request, key, operationId, named !== null);
    };
}

/** Each guess is counted before it costs a look-up. Requests that come together with the same key share one look-up. */
function createKeyLookup(keys: Keyring, limiter: RateLimiter) {
  const underWay = new Set<string>();
  return async (request: FastifyRequest, presented: string): Promise<VerifiedKey | undefined> => {
    if (underWay.has(presented)) {
      const key = await keys.get(presented);
      if (key === undefined) limiter.tryAuthentication(request);
      return key;
    }
    const giveBack = limiter.tryAuthentication(request);
    underWay.add(presented);
    try {
      const key = await keys.get(presented);
      if (key !== undefined) giveBack();
      return key;
    } catch (error) {
      // Not looked at: no guess was wrong.
      giveBack();
      throw error;
    } finally {
      underWay.delete(presented);
    }
  };
}

const callerOf = (
  { id, arrivedMs, trace }: FastifyRequest,
  key: VerifiedKey,
  operationId: string,
  operationNamed: boolean,
): Caller => ({
  accountId: key.accountId,
  accountNumber: key.accountNumber,
  test: key.test,
  connection: key.connection,
  chargeFallback: key.chargeFallback,
  keyId: key.id,
  permissions: key.permissions,
  requestId: id,
  arrivedMs,
  ...(trace.traceparent ? { traceparent: trace.traceparent } : {}),
  operationId,
  operationNamed,
});

/** No `Access-Control-Allow-Origin`, ever: keys are never in browser code. */
function answerOtherMethods(api: FastifyInstance, path: string, methods: readonly string[]): void {
  const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
  const config = { refuses: true } as const;
  api.options(path, { config }, (_request, reply) => reply.header('allow', allow).code(204).send());
  const others = api.supportedMethods.filter(
    (method) => method !== 'HEAD' && method !== 'OPTIONS' && !methods.includes(method),
  );
  api.route({
    method: others,
    url: path,
    config,
    exposeHeadRoute: others.includes('GET'),
    // Before a body is read: what it says does not matter.
    onRequest: (_request, reply, done) => {
      reply.header('allow', allow);
      done(refuse('method_not_allowed'));
    },
    handler: () => {},
  });
}
