import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { allowList } from '../api/keys/address.ts';
import { type DescribedRoute, openApiOf } from '../api/openapi.ts';
import { factorRoutes } from '../console/auth/factor-routes.ts';
import { openIdProvider } from '../console/auth/oidc.ts';
import { type Flows, flows } from '../console/auth/oidc-flow.ts';
import { oidcBindingRoutes, oidcSignInRoutes } from '../console/auth/oidc-routes.ts';
import { passkeys } from '../console/auth/passkeys.ts';
import { ownSessionRoutes, signInRoutes } from '../console/auth/routes.ts';
import { consoleSessions } from '../console/auth/sessions.ts';
import { auditRoutes } from '../console/views/audit.ts';
import { closesRoutes } from '../console/views/closes.ts';
import { connectionRoutes } from '../console/views/connections.ts';
import { decideRoutes } from '../console/views/decide.ts';
import { defenceRoutes } from '../console/views/defences.ts';
import { holdRoutes } from '../console/views/holds.ts';
import { lookRoutes } from '../console/views/look.ts';
import { noticeRoutes } from '../console/views/notice.ts';
import { oddMoneyRoutes } from '../console/views/odd-money.ts';
import { operatorRoutes } from '../console/views/operators.ts';
import { processesRoute } from '../console/views/processes.ts';
import { requestRoutes } from '../console/views/requests.ts';
import { returnedRoutes } from '../console/views/returned.ts';
import { savedViewRoutes } from '../console/views/saved.ts';
import { supportRoutes } from '../console/views/support.ts';
import { worklistRoutes } from '../console/views/worklist.ts';
import type { ApiScope } from '../edge/edge.ts';
import type { Config } from '../ground/config.ts';
import { actOfRoute } from '../operate/acts.ts';
import type { RecentNotice } from '../operate/notice.ts';
import { attempts } from '../panel/auth/attempts.ts';
import { passkeyNameOf } from '../panel/auth/passkey-rules.ts';
import { PanelError, panelErrorBody } from '../panel/errors.ts';
import { panelMails } from '../panel/people/mails.ts';
import { originsOf } from '../panel/site/origins.ts';
import { databaseReadings } from './metrics.ts';
import type { Runtime } from './runtime.ts';
import { limiterOf } from './server.ts';
import { livingWorkers } from './shares.ts';

export const consolePath = '/operator/api';

export type ConsoleParts = Pick<
  Runtime,
  | 'sql'
  | 'clock'
  | 'ids'
  | 'log'
  | 'secrets'
  | 'cells'
  | 'identity'
  | 'draining'
  | 'providers'
  | 'mail'
  | 'net'
> & {
  config: Config;
  /** The same as the panel's, so that a change shows there at once. */
  notice: RecentNotice;
  /** Whether this process may write limits that all processes share. */
  mayShare(): boolean;
};

/**
 * The operators' console: its pages at `/operator`, its calls under `/operator/api`. Every call but the sign-in needs a session of its own realm and
 * an act of the table that the role has; what is not there answers without a session as everything else.
 * @returns the calls, for the document of the pages' client
 */
export function mountConsole(app: FastifyInstance, parts: ConsoleParts): readonly DescribedRoute[] {
  const { config } = parts;
  const site = {
    origins: originsOf(config.operatorUrl),
    overTls: config.operatorUrl.startsWith('https:'),
    host: config.operatorUrl === config.publicUrl ? null : new URL(config.operatorUrl).host,
    admits: allowList(config.operatorAddresses),
  };
  const sessions = consoleSessions({ ...parts, site });
  const party = { id: passkeyNameOf(config.operatorUrl), origins: site.origins };
  const ofPasskeys = passkeys({ ...parts, party });
  const common = { ...parts, sessions, attempts: attempts(parts), passkeys: ofPasskeys };
  const deps = { ...common, proof: common, oidc: oidcOf(parts, site.overTls) };
  const described: DescribedRoute[] = [];

  app.register(
    async (scope) => {
      scope.setErrorHandler(async (error, request, reply) => {
        if (!(error instanceof PanelError)) throw error;
        const body = panelErrorBody(error, request.language, request.id);
        return reply.code(error.status).type('application/json; charset=utf-8').send(JSON.stringify(body));
      });
      const limiter = limiterOf(deps);
      scope.addHook('onRequest', (request, reply, done) => {
        // No proxy and no browser keeps what an operator saw.
        reply.header('cache-control', 'no-store');
        limiter.takeVisit(request);
        sessions.requirePlace(request);
        done();
      });
      scope.decorateRequest('operator', null as never);
      const api = scope.withTypeProvider<TypeBoxTypeProvider>();
      describe(api, described);
      signInRoutes(api, deps);
      oidcSignInRoutes(api, deps);
      api.register(async (inner) => {
        const inside = inner.withTypeProvider<TypeBoxTypeProvider>();
        inside.addHook('onRequest', async (request) => {
          const method = request.method === 'HEAD' ? 'GET' : request.method;
          const route = `${method} ${request.routeOptions.url?.slice(consolePath.length) ?? ''}`;
          await sessions.admit(request, actOfRoute.get(route));
        });
        ownSessionRoutes(inside, deps);
        factorRoutes(inside, deps);
        oidcBindingRoutes(inside, deps);
        savedViewRoutes(inside, deps);
        noticeRoutes(inside, deps);
        const views = { mails: panelMails(parts), supportViews: config.supportViews };
        supportRoutes(inside, { ...deps, ...views }, site.overTls);
        worklistRoutes(inside, deps);
        lookRoutes(inside, deps);
        operatorRoutes(inside, deps);
        requestRoutes(inside, deps);
        holdRoutes(inside, deps);
        defenceRoutes(inside, deps);
        auditRoutes(inside, deps);
        connectionRoutes(inside, deps);
        closesRoutes(inside, deps);
        processesRoute(inside, {
          ...deps,
          workers: () => livingWorkers(parts),
          reading: databaseReadings(parts),
        });
        decideRoutes(inside, { ...deps, aloneCents: config.operatorAloneCents });
        returnedRoutes(inside, { ...deps, aloneCents: config.operatorAloneCents });
        oddMoneyRoutes(inside, { ...deps, aloneCents: config.operatorAloneCents });
        for (const url of ['/', '/*'])
          for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const)
            inside.route({
              method,
              url,
              exposeHeadRoute: false,
              // Only the session is looked at before: a stranger does not learn what is there.
              handler: () => {
                throw new PanelError('not_found');
              },
            });
      });
    },
    { prefix: consolePath },
  );
  return described;
}

/** The OpenID provider of the installation; null: none is set. */
function oidcOf(parts: ConsoleParts, overTls: boolean): { issuer: string; flows: Flows } | null {
  const { operatorOidc, operatorUrl } = parts.config;
  if (!operatorOidc) return null;
  const provider = openIdProvider(parts.net, operatorOidc, `${operatorUrl}/operator/entrar/oidc`);
  const site = { overTls, key: parts.secrets.derive('console openid') };
  return { issuer: operatorOidc.issuer, flows: flows({ ...parts, provider, site }) };
}

/** Notes each route that is registered from here on. */
function describe(api: ApiScope, described: DescribedRoute[]): void {
  api.addHook('onRoute', (route) => {
    const facts = route.config?.api;
    if (!facts || typeof route.method !== 'string' || route.method === 'HEAD') return;
    described.push({
      method: route.method,
      path: route.url.slice(consolePath.length),
      schema: route.schema ?? {},
      facts,
    });
  });
}

/** The calls as an OpenAPI document, from which the types of the pages' client are made. It is not served. */
export const consoleDocument = (described: readonly DescribedRoute[], publicUrl: string): string =>
  JSON.stringify(openApiOf(described, publicUrl + consolePath));
