import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { accountRoutes } from '../api/accounts/routes.ts';
import { chargeRoutes } from '../api/charges/routes.ts';
import { dueChargeRoutes } from '../api/due-charges/routes.ts';
import { eventRoutes } from '../api/events/routes.ts';
import { allowList } from '../api/keys/address.ts';
import { linkRoutes } from '../api/links/routes.ts';
import { type DescribedRoute, openApiOf } from '../api/openapi.ts';
import { operationRoutes } from '../api/operations/routes.ts';
import { paymentRoutes } from '../api/payments/routes.ts';
import { staticCodeRoutes } from '../api/static-codes/routes.ts';
import { webhookRoutes } from '../api/webhooks/routes.ts';
import { callerNetwork } from '../edge/caller-address.ts';
import { compressed } from '../edge/compress.ts';
import { costOf, unitsOf } from '../edge/costs.ts';
import { type ApiScope, type CellOf, onceForCell } from '../edge/edge.ts';
import type { Load } from '../edge/load.ts';
import type { RateLimiter } from '../edge/rate-limit.ts';
import { turnInTime } from '../edge/request-turns.ts';
import type { Config } from '../ground/config.ts';
import type { Log } from '../ground/log.ts';
import type { Mail } from '../ground/mail.ts';
import type { Papers } from '../ground/paper/papers.ts';
import { createPlaces, type Places } from '../ground/places.ts';
import type { Secrets } from '../ground/secrets.ts';
import type { RecentNotice } from '../operate/notice.ts';
import { type Attempts, attempts } from '../panel/auth/attempts.ts';
import type { Auth } from '../panel/auth/auth.ts';
import type { SignInGuards } from '../panel/auth/auth-effects.ts';
import { authRoutes } from '../panel/auth/auth-routes.ts';
import { factorAttempts } from '../panel/auth/factor-attempts.ts';
import { knownDevices } from '../panel/auth/known-device.ts';
import { liveSessions } from '../panel/auth/live-sessions.ts';
import { actorOf, sessions as createSessions, type Sessions } from '../panel/auth/session.ts';
import { PanelError, panelErrorBody } from '../panel/errors.ts';
import { exportRoutes } from '../panel/exports/export-routes.ts';
import { receiptRoutes } from '../panel/exports/receipt-routes.ts';
import { statementFileRoutes } from '../panel/exports/statement-files.ts';
import { addressRoutes } from '../panel/members/address-routes.ts';
import { invitationRoutes } from '../panel/members/invitation-routes.ts';
import { mailChoiceRoutes } from '../panel/members/mail-choice-routes.ts';
import { memberRoutes } from '../panel/members/member-routes.ts';
import { personRoutes } from '../panel/members/person-routes.ts';
import { securityEventRoutes } from '../panel/members/security-event-routes.ts';
import { sessionRoutes } from '../panel/members/session-routes.ts';
import { merchantProfileRoutes } from '../panel/merchant/profile-routes.ts';
import { savedReceiverRoutes } from '../panel/merchant/receiver-routes.ts';
import { type PanelMails, panelMails } from '../panel/people/mails.ts';
import { recordSecurityEvent } from '../panel/people/security-events.ts';
import { pageRoutes } from '../panel/site/assets.ts';
import { hasMailbox, mailboxRoutes } from '../panel/site/mailbox.ts';
import { originsOf } from '../panel/site/origins.ts';
import { createUpdates } from '../panel/site/updates.ts';
import { supportRoutes } from '../panel/support/routes.ts';
import { supportViews } from '../panel/support/views.ts';
import { testModeRoutes } from '../panel/test-mode/routes.ts';
import { accountScopeRoutes } from '../panel/views/account-routes.ts';
import { closeViewRoutes } from '../panel/views/close-routes.ts';
import { draftRoutes } from '../panel/views/draft-routes.ts';
import { keyRoutes } from '../panel/views/key-routes.ts';
import { oddMoneyRoutes } from '../panel/views/odd-money-routes.ts';
import { reconciliationRoutes } from '../panel/views/reconciliation-routes.ts';
import { refundViewRoutes } from '../panel/views/refund-routes.ts';
import { requestRoutes } from '../panel/views/request-routes.ts';
import { sourceViewRoutes } from '../panel/views/source-routes.ts';
import { statementViewRoutes } from '../panel/views/statement-routes.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Sql } from '../ports/sql.ts';
import type { Served } from './served.ts';
import { limiterOf } from './server.ts';

export const panelPath = '/panel/api';

/** The parts of the panel's back end beside its cells: of the process, and of the directory. */
export interface PanelParts {
  config: Config;
  /** The directory. */
  sql: Sql;
  clock: Clock;
  ids: Ids;
  log: Log;
  secrets: Secrets;
  mail: Mail;
  papers: Papers;
  notice: RecentNotice;
  /** Whether this process may write limits that all processes share. */
  mayShare(): boolean;
  /** Sheds calls under overload, as those of the API; absent: nothing is shed. */
  loadOf?: (cell: string | undefined) => Load;
  draining: AbortSignal;
}

/**
 * The panel: its pages at `/`, its back end under `/panel/api`. Below an account stand the very calls of the public API, on
 * the same schemas and use cases, admitted by the session and the role instead of a key, and beside them what only people
 * need. `POST /pix/transfers` is not among them: a person's transfer is a draft first, confirmed by a code.
 */
export function mountPanel(app: FastifyInstance, parts: PanelParts, servedOf: CellOf<Served>): void {
  const { config, secrets } = parts;
  const deps: Panel = {
    ...parts,
    mails: panelMails(parts),
    origins: originsOf(config.publicUrl),
    attempts: attempts(parts),
  };
  const keySearches = createPlaces({ atOnce: 1, waiting: 8, perOwner: 2 });
  const cursorKey = secrets.derive('panel cursors');
  const cellOf = onceForCell(servedOf, (served) => ({ ...served, cursorKey, keySearches }));
  const devices = knownDevices({
    key: secrets.derive('panel devices'),
    overTls: config.publicUrl.startsWith('https:'),
  });
  const guards = {
    attempts: deps.attempts,
    devices,
    factorAttempts: factorAttempts(deps, deps.attempts, devices),
  };
  const loadAuth = lateAuth(deps, guards);

  app.register(
    async (scope) => {
      answerRefusals(scope, deps);
      const limiter = limiterOf(deps, app.turns);
      // Before a cookie is looked at: who it belongs to is a look-up.
      scope.addHook('onRequest', (request, _reply, done) => {
        limiter.takeVisit(request);
        done();
      });
      scope.addHook('onRequest', (request) =>
        turnInTime(parts.clock, request, app.turns.ofStranger(callerNetwork(request))),
      );
      scope.decorateRequest('person', null);
      scope.decorateRequest('member', null as never);
      scope.decorateRequest('view', null);
      const views = supportViews(deps, {
        overTls: config.publicUrl.startsWith('https:'),
        admits: allowList(config.operatorAddresses ?? []),
      });
      scope.addHook('onRequest', (request) => views.admit(request));
      const live = { sessions: liveSessions(deps), views: views.live };
      const sessions = createSessions({ ...deps, cellOf }, loadAuth, live);
      authRoutes(scope, { ...deps, sessions, guards }, loadAuth, config.publicUrl);

      const api = scope.withTypeProvider<TypeBoxTypeProvider>();
      const described = describedRoutes(api);
      const simulatorUrl = config.simulatorPort === null ? null : config.simulatorUrl;
      personRoutes(api, deps, sessions, deps.attempts, { mailbox: hasMailbox(deps), simulatorUrl });
      sessionRoutes(api, deps, sessions);
      addressRoutes(api, deps, sessions, deps.attempts);
      invitationRoutes(api, deps, cellOf, sessions, deps.attempts);
      if (hasMailbox(deps)) mailboxRoutes(api, { ...deps, dataDir: config.dataDir });

      api.register(
        async (inner) => {
          const account = inner.withTypeProvider<TypeBoxTypeProvider>();
          admitMembers(account, deps, sessions, limiter);
          account.addHook('onSend', async (request, reply, payload) => views.shown(request, reply, payload));
          // The answer to a GET has no secret in it; a new key is that to a POST.
          account.addHook('onSend', async (request, reply, payload) =>
            request.method === 'GET' && typeof payload === 'string'
              ? compressed(request, reply, payload)
              : payload,
          );
          account.addHook('onResponse', (request, reply) => recordAccess(deps, request, reply));
          publicCalls(account, cellOf);
          peopleCalls(account, deps, cellOf);
        },
        { prefix: '/accounts/:account' },
      );

      let document: string | undefined;
      scope.get('/openapi.json', (_request, reply) => {
        document ??= JSON.stringify(openApiOf(described, config.publicUrl + panelPath));
        return reply.type('application/json; charset=utf-8').send(document);
      });
    },
    { prefix: panelPath },
  );
  pageRoutes(app, deps);
}

interface Panel extends PanelParts {
  mails: PanelMails;
  origins: ReadonlySet<string>;
  attempts: Attempts;
}

/** Half a second of reading that neither a start nor the public API should wait for. */
function lateAuth(deps: Panel, { attempts, factorAttempts }: SignInGuards): () => Promise<Auth> {
  const site = { publicUrl: deps.config.publicUrl, origins: deps.origins };
  let auth: Promise<Auth> | undefined;
  return () => {
    auth ??= import('../panel/auth/auth.ts').then(({ createAuth }) =>
      createAuth({ ...deps, site }, attempts, factorAttempts),
    );
    return auth;
  };
}

function answerRefusals(scope: FastifyInstance, deps: Panel): void {
  scope.setErrorHandler(async (error, request, reply) => {
    if (!(error instanceof PanelError)) throw error;
    await recordRefusal(deps, request, error).catch((err: unknown) =>
      deps.log.warn({ err }, 'a refusal was not recorded'),
    );
    return reply
      .code(error.status)
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(panelErrorBody(error, request.language, request.id)));
  });
}

/** Adds each route of this scope that is registered from here on to the document. */
function describedRoutes(api: ApiScope): readonly DescribedRoute[] {
  const described: DescribedRoute[] = [];
  api.addHook('onRoute', (route) => {
    const facts = route.config?.api;
    if (!facts || typeof route.method !== 'string' || route.method === 'HEAD') return;
    const path = route.url.slice(panelPath.length).replace('/accounts/:account', '');
    described.push({ method: route.method, path, schema: route.schema ?? {}, facts });
  });
  return described;
}

function admitMembers(account: ApiScope, deps: Panel, sessions: Sessions, limiter: RateLimiter): void {
  account.addHook('onRoute', (route) => {
    // One of them is enough, and everybody here may read.
    const held = route.config?.api?.permissions ?? ['read'];
    const needs = held.includes('read') ? 'read' : (held[0] ?? 'read');
    const changes = route.method !== 'GET' && route.method !== 'HEAD';
    // Where events go is as good as a key: what changes it wants a fresh password. The operations say where money goes.
    const fresh = needs === 'webhooks' && changes;
    const sensitive = fresh || (needs === 'operations' && changes);
    const facts = route.config?.panel ?? { needs, fresh, sensitive };
    const cost = costOf(String(route.method), route.url);
    const policy = cost.policy ?? 'reads';
    const admit = sessions.admit(facts);
    route.onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
      deps.loadOf?.(undefined).admit({ creates: route.config?.api?.creates ?? false, policy });
      await admit(request);
      const { accountId, quotas, person } = request.member;
      // By person and not by session: a session more is no quota more.
      const limited = { id: `${person.userId} ${accountId}`, accountId, quotas };
      limiter.take(limited, policy, reply, unitsOf(cost, request.query, request.caller.permissions));
    };
  });
}

/** The very calls of the public API. */
function publicCalls(account: ApiScope, cellOf: CellOf<Served>): void {
  chargeRoutes(account, cellOf);
  dueChargeRoutes(account, cellOf);
  linkRoutes(account, cellOf);
  staticCodeRoutes(account, cellOf);
  paymentRoutes(account, cellOf);
  accountRoutes(account, cellOf);
  operationRoutes(account, cellOf);
  webhookRoutes(account, cellOf);
  eventRoutes(account, cellOf);
}

/** Routes that only people need. */
function peopleCalls(account: ApiScope, deps: Panel, cellOf: CellOf<Served & { keySearches: Places }>): void {
  const { attempts, mails, config } = deps;
  draftRoutes(account, cellOf, attempts, config);
  keyRoutes(account, cellOf, mails);
  refundViewRoutes(account, cellOf);
  sourceViewRoutes(account, cellOf);
  receiptRoutes(account, cellOf);
  merchantProfileRoutes(account, cellOf);
  savedReceiverRoutes(account, cellOf, config);
  accountScopeRoutes(account, cellOf);
  statementViewRoutes(account, cellOf);
  closeViewRoutes(account, cellOf);
  statementFileRoutes(account, cellOf);
  memberRoutes(account, deps, cellOf, mails, attempts);
  mailChoiceRoutes(account, cellOf);
  securityEventRoutes(account, deps);
  supportRoutes(account, deps);
  reconciliationRoutes(account, cellOf, attempts);
  oddMoneyRoutes(account, cellOf, attempts);
  requestRoutes(account, cellOf);
  exportRoutes(account, cellOf);
  account.register(async (test) => testModeRoutes(test.withTypeProvider<TypeBoxTypeProvider>(), cellOf), {
    prefix: '/test',
  });
  const updatesOf = onceForCell(cellOf, createUpdates);
  account.get('/updates', { config: { panel: { needs: 'read' } } }, (request, reply) => {
    updatesOf(request).stream(request, reply);
  });
}

/** Security events of calls that the public API has as well: exports, and changes of webhooks and operations. */
async function recordAccess(deps: Panel, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const route = request.routeOptions.url?.slice(`${panelPath}/accounts/:account`.length) ?? '';
  const exported = /\.(csv|ofx|pdf)$/.test(route);
  const writes = request.method !== 'GET' && request.method !== 'HEAD';
  const changed = !writes
    ? null
    : route.startsWith('/webhooks')
      ? 'webhook.changed'
      : route.startsWith('/operations')
        ? 'operation.changed'
        : null;
  const kind = exported ? 'export.downloaded' : changed;
  if (reply.statusCode >= 400 || kind === null) return;
  const { id } = request.params as { id?: string };
  await recordSecurityEvent(deps, {
    kind,
    accountId: request.member.accountId,
    ...actorOf(request),
    detail: { method: request.method, route, ...(id !== undefined && { subject: id }) },
  });
}

const recorded: ReadonlySet<string> = new Set([
  'role_denied',
  'second_factor_required',
  'access_frozen',
  'origin_refused',
  'too_many_attempts',
  'wrong_password',
  'not_found',
]);

/** A person's refusal, in the account that they named if they belong to it. A loop of refusals is not written whole. */
async function recordRefusal(deps: Panel, request: FastifyRequest, { code }: PanelError): Promise<void> {
  // The pages of a view ask for what it may not see as well; the account's own events are those of its people.
  if (request.view !== null) return;
  if (!recorded.has(code) || (request.person === null && code === 'not_found')) return;
  if (!(await deps.attempts.tryTake('refusalRecord', request.person?.userId ?? callerNetwork(request))))
    return;
  await recordSecurityEvent(deps, {
    kind: 'access.refused',
    outcome: 'refused',
    ...actorOf(request),
    accountId: request.member?.accountId ?? null,
    detail: { reason: code, method: request.method, route: request.routeOptions.url ?? '' },
  });
}
