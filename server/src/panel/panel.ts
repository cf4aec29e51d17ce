import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { accountRoutes } from '../accounts/routes.ts';
import { chargeRoutes } from '../charges/routes.ts';
import { eventRoutes } from '../events/routes.ts';
import { refuse } from '../http/errors.ts';
import { type DescribedRoute, openApiOf } from '../http/openapi.ts';
import { rateLimiter } from '../http/rate-limit.ts';
import type { UseCases } from '../http/server.ts';
import { operationDirectory } from '../operations/operations.ts';
import { operationRoutes } from '../operations/routes.ts';
import { paymentRoutes } from '../payments/routes.ts';
import type { Sql } from '../ports/sql.ts';
import { webhookRoutes } from '../webhooks/routes.ts';
import { accountScopeRoutes } from './account-routes.ts';
import { pageRoutes } from './assets.ts';
import { attempts } from './attempts.ts';
import type { Auth } from './auth.ts';
import {
  authPath,
  freshCalls,
  openCalls,
  passwordCalls,
  sessionCalls,
  signInCalls,
  signOutCall,
} from './auth-calls.ts';
import { draftRoutes } from './draft-routes.ts';
import { PanelError, panelErrorBody } from './errors.ts';
import { exportRoutes } from './export-routes.ts';
import { originsOf, type PanelHouse } from './house.ts';
import { keyRoutes } from './key-routes.ts';
import { hasMailbox, mailboxRoutes } from './mailbox.ts';
import { endSession } from './members.sql.ts';
import { emailMost, emailOf } from './members.ts';
import { passwordLength } from './password.ts';
import { personRoutes } from './person-routes.ts';
import { receiptRoutes } from './receipt-routes.ts';
import { reconciliationRoutes } from './reconciliation-routes.ts';
import { requestRoutes } from './request-routes.ts';
import { sessions as createSessions, type Sessions } from './session.ts';
import { signedIn } from './sign-in-notice.ts';
import { createUpdates } from './updates.ts';

export const panelPath = '/panel/api';

/**
 * The panel: its pages at `/`, its back end under `/panel/api`. Below an account stand the very calls of the public API, on
 * the same schemas and use cases, admitted by the session and the role instead of a key, and beside them what only people
 * need. `POST /pix/transfers` is not among them: a person's transfer is a draft first, confirmed by a code.
 */
export function mountPanel(
  app: FastifyInstance,
  given: Omit<PanelHouse, 'origins'>,
  useCases: Pick<UseCases, 'createCharge' | 'refreshIfOverdue'>,
): void {
  const house: PanelHouse = { ...given, origins: originsOf(given.config.publicUrl) };
  // Half a second of reading that neither a start nor the public API should wait for.
  let auth: Promise<Auth> | undefined;
  const loadAuth = (): Promise<Auth> => {
    auth ??= import('./auth.ts').then(({ createAuth }) => createAuth(house));
    return auth;
  };

  app.register(
    async (scope) => {
      scope.setErrorHandler((error, request, reply) => {
        if (!(error instanceof PanelError)) throw error;
        return reply
          .code(error.status)
          .type('application/json; charset=utf-8')
          .send(JSON.stringify(panelErrorBody(error, request.language, request.id)));
      });
      scope.decorateRequest('member', null as never);
      const directory = operationDirectory(house);
      const sessions = createSessions(house, loadAuth, directory);
      authRoutes(scope, house, sessions, loadAuth);

      const described: DescribedRoute[] = [];
      const api = scope.withTypeProvider<TypeBoxTypeProvider>();
      api.addHook('onRoute', (route) => {
        const facts = route.config?.api;
        if (!facts || typeof route.method !== 'string' || route.method === 'HEAD') return;
        const path = route.url.slice(panelPath.length).replace('/accounts/:account', '');
        described.push({ method: route.method, path, schema: route.schema ?? {}, facts });
      });
      const { config } = house;
      const simulatorUrl = config.simulatorPort === null ? null : config.simulatorUrl;
      personRoutes(api, house, sessions, { mailbox: hasMailbox(house), simulatorUrl });
      if (hasMailbox(house)) mailboxRoutes(api, house);

      api.register(
        async (inner) => {
          const account = inner.withTypeProvider<TypeBoxTypeProvider>();
          const limiter = rateLimiter({
            ...house,
            enabled: config.rateLimits,
            quotas: config.rateQuotas,
            behindProxy: config.trustedProxies.length > 0,
          });
          account.addHook('onRoute', (route) => {
            // One of them is enough, and everybody here may read.
            const held = route.config?.api?.permissions ?? ['read'];
            const needs = held.includes('read') ? 'read' : (held[0] ?? 'read');
            // Where events go is as good as a key: what changes it wants a fresh password.
            const fresh = needs === 'webhooks' && route.method !== 'GET' && route.method !== 'HEAD';
            const facts = route.config?.panel ?? { needs, fresh };
            const policy = route.config?.api?.policy ?? 'reads';
            const admit = sessions.admit(facts);
            route.onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
              await admit(request);
              const { member } = request;
              limiter.take({ id: member.person.id, accountId: member.accountId }, policy, reply);
            };
          });
          chargeRoutes(account, { createCharge: useCases.createCharge, directory });
          paymentRoutes(account, {
            ...house,
            cursorKey: house.secrets.derive('panel cursors'),
            refreshIfOverdue: useCases.refreshIfOverdue,
          });
          accountRoutes(account, { sql: house.sql, directory });
          operationRoutes(account, { ...house, directory });
          webhookRoutes(account, { ...house, directory });
          eventRoutes(account, { ...house, cursorKey: house.secrets.derive('panel cursors') });
          draftRoutes(account, house);
          keyRoutes(account, house);
          receiptRoutes(account, house);
          accountScopeRoutes(account, house, useCases.refreshIfOverdue);
          reconciliationRoutes(account, house, useCases.refreshIfOverdue);
          requestRoutes(account, house);
          exportRoutes(account, { ...house, directory });
          const updates = createUpdates(house);
          account.get('/updates', { config: { panel: { needs: 'read' } } }, (request, reply) => {
            updates.stream(request, reply, () => sessions.personOf(request).then(() => true, isNoRefusal));
          });
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
  pageRoutes(app, house);
}

const isNoRefusal = (error: unknown): boolean => !(error instanceof PanelError);

/** Sign-in, as far as `openCalls` names it, handed to better-auth. */
function authRoutes(
  scope: FastifyInstance,
  house: PanelHouse,
  sessions: Sessions,
  auth: () => Promise<Auth>,
): void {
  // By address, known here or not, beside better-auth's own limit by where the request came from.
  const signIns = attempts(house.clock);
  const callers = attempts(house.clock, 150);
  scope.route({
    method: ['GET', 'POST'],
    url: '/auth/*',
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      const path = new URL(request.url, house.config.publicUrl);
      const call = `${request.method} ${path.pathname.slice(authPath.length)}`;
      if (!openCalls.has(call)) throw new PanelError('not_found');
      sessions.requireOrigin(request);
      requireFieldLengths(request.body);
      if (freshCalls.has(call)) {
        const person = await sessions.personOf(request);
        sessions.requireFresh(person);
      }
      // Whoever found a session open shall not try passwords there.
      const guesses = passwordCalls.has(call) ? call + (await sessions.personOf(request)).userId : null;
      if (guesses !== null) signIns.take(guesses);
      if (sessionCalls.has(call)) await sessions.personOf(request);
      if (call === signOutCall) await endOwnSession(house.sql, sessions, request);
      const email = emailIn(call, request.body);
      if (email !== null && house.config.rateLimits) {
        // First, so that one address cannot fill what is kept of e-mails.
        callers.take(request.ip);
        signIns.take(call + email);
      }
      const answer = await (await auth()).handler(
        new Request(new URL(path.pathname + path.search, house.config.publicUrl), {
          method: request.method,
          headers: sessions.headersOf(request),
          ...(request.method === 'POST' ? { body: JSON.stringify(bodyOf(request.body)) } : {}),
        }),
      );
      // Of its own errors and of the store's, better-auth tells no more than the status; it depends on nothing but the database.
      if (answer.status >= 500) throw refuse('processing_unavailable');
      if (guesses !== null && answer.ok) signIns.forget(guesses);
      // Asking for a password reset always goes well, and so it never forgets.
      if (email !== null && answer.ok && signInCalls.has(call)) signIns.forget(call + email);
      if (answer.ok && signInCalls.has(call))
        await signedIn(house, await auth(), sessions, request, call, answer);
      for (const cookie of answer.headers.getSetCookie()) reply.header('set-cookie', cookie);
      return reply
        .code(answer.status)
        .type(answer.headers.get('content-type') ?? 'application/json')
        .send(await answer.text());
    },
  });
}

/** Without a session in force there is nothing to end: better-auth clears the cookies all the same. */
async function endOwnSession(sql: Sql, sessions: Sessions, request: FastifyRequest): Promise<void> {
  const person = await sessions.personOf(request).catch((error: unknown) => {
    if (error instanceof PanelError) return null;
    throw error;
  });
  if (person) await endSession(sql, person.userId, person.id);
}

/** No device is trusted for a month: a second factor is asked for at each sign-in. */
function bodyOf(body: unknown): unknown {
  const { trustDevice: _, ...rest } = (body ?? {}) as { trustDevice?: unknown };
  return rest;
}

const lengthsOf: Readonly<Record<string, number>> = {
  password: passwordLength.maximum,
  newPassword: passwordLength.maximum,
  currentPassword: passwordLength.maximum,
  email: emailMost,
};
/** Of any other field; the longest are the attestations of passkeys. */
const fieldMost = 12 * 1024;

/**
 * Before anything reads them: checking, normalizing and hashing cost by length.
 * @throws PanelError `password_too_long`, `field_too_long`
 */
function requireFieldLengths(body: unknown): void {
  for (const [name, value] of Object.entries(body ?? {})) {
    if (typeof value !== 'string' || value.length <= (lengthsOf[name] ?? fieldMost)) continue;
    throw new PanelError(/password/i.test(name) ? 'password_too_long' : 'field_too_long');
  }
}

function emailIn(call: string, body: unknown): string | null {
  if (call !== 'POST /sign-in/email' && call !== 'POST /request-password-reset') return null;
  const { email } = (body ?? {}) as { email?: unknown };
  return typeof email === 'string' ? emailOf(email) : null;
}
