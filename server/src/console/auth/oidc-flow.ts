import { createHmac, hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { callerNetwork } from '../../edge/caller-address.ts';
import type { Log } from '../../ground/log.ts';
import { isOperatorRole } from '../../operate/acts.ts';
import { PanelError } from '../../panel/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Sql } from '../../ports/sql.ts';
import { answerFlow, type FlowPlace, findBound, insertFlow } from '../people/identities.sql.ts';
import { type FlowAnswer, type FlowSecrets, IssuerFailed, type Named, type OpenIdProvider } from './oidc.ts';

/** Sign-ins at the OpenID provider that are under way, each tied to the browser that began it. */

export interface FlowDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  log: Log;
  provider: OpenIdProvider;
  site: { overTls: boolean; key: Buffer };
}

const flowLivesMs = 10 * 60_000;

type Purpose = 'entrar' | 'vincular';

export interface Flows {
  /** @param sessionId of the session that binds; null: a sign-in. @returns where the browser goes, and the cookie that it keeps. @throws PanelError `oidc_unreachable`, `oidc_refused` */
  begin(request: FastifyRequest, sessionId: string | null): Promise<{ url: string; cookie: string }>;
  /** @throws PanelError `oidc_refused`, `oidc_unreachable` */
  whoIs(request: FastifyRequest, sessionId: string | null, answer: FlowAnswer): Promise<Named>;
  /** The operator who is bound to it, may sign in, and has the role of one of its groups. @throws PanelError `oidc_refused` */
  operatorOf(named: Named): Promise<{ id: string }>;
  placeOf(request: FastifyRequest, sessionId: string | null): FlowPlace;
  /** Takes the cookie away. */
  gone: string;
}

export function flows({ sql, clock, ids, log, provider, site }: FlowDeps): Flows {
  const name = site.overTls ? '__Host-vintem-operator-oidc' : 'vintem-operator-oidc';
  // The page that the provider leads back to asks for the rest itself: a request of the same site.
  const attributes = `Path=/; HttpOnly; SameSite=Strict${site.overTls ? '; Secure' : ''}`;
  const { issuer, groups } = provider.settings;

  const tokenOf = ({ headers }: FastifyRequest): string =>
    headers.cookie
      ?.split('; ')
      .find((one) => one.startsWith(`${name}=`))
      ?.slice(name.length + 1, name.length + 1 + 64) ?? '';

  /** Nothing of them stands in the database: the browser has the token, and the service the key. */
  function secretsOf(token: string, purpose: Purpose): FlowSecrets {
    const made = (what: string): string =>
      createHmac('sha256', site.key).update(`${what} ${purpose} ${token}`).digest('base64url');
    return { state: `${purpose}.${made('state')}`, nonce: made('nonce'), verifier: made('verifier') };
  }

  const purposeOf = (sessionId: string | null): Purpose => (sessionId === null ? 'entrar' : 'vincular');

  const placeOf = (request: FastifyRequest, sessionId: string | null): FlowPlace => ({
    tokenHash: hash('sha256', tokenOf(request), 'buffer'),
    network: callerNetwork(request),
    sessionId,
  });

  function refused(why: string): PanelError {
    log.warn({ why }, 'a sign-in at the OpenID provider was refused');
    return new PanelError('oidc_refused');
  }

  const asked = <T>(exchange: Promise<T>): Promise<T> =>
    exchange.catch((error: unknown) => {
      if (!(error instanceof IssuerFailed)) throw error;
      if (!error.unreachable) throw refused(error.code);
      log.warn({ code: error.code }, 'the OpenID provider does not answer');
      throw new PanelError('oidc_unreachable');
    });

  return {
    placeOf,
    gone: `${name}=; Max-Age=0; ${attributes}`,
    async begin(request, sessionId) {
      const token = ids.bytes(32).toString('base64url');
      const place = { ...placeOf(request, sessionId), tokenHash: hash('sha256', token, 'buffer') };
      await insertFlow(sql, place, clock.now() + flowLivesMs);
      const url = await asked(provider.addressFor(secretsOf(token, purposeOf(sessionId))));
      return { url, cookie: `${name}=${token}; Max-Age=${flowLivesMs / 1000}; ${attributes}` };
    },
    async whoIs(request, sessionId, answer) {
      // Taken before the provider is asked: no answer is looked at twice.
      if (!(await answerFlow(sql, placeOf(request, sessionId), clock.now()))) throw refused('no such flow');
      return asked(provider.whoIs(answer, secretsOf(tokenOf(request), purposeOf(sessionId))));
    },
    async operatorOf({ subject, groups: given }) {
      const bound = await findBound(sql, { issuer, subject });
      if (!bound || !isOperatorRole(bound.role)) throw refused('no operator is bound to the subject');
      if (groups !== null && !given.some((group) => groups.get(group) === bound.role))
        throw refused('no group of the token has the role of the operator');
      return { id: bound.id };
    },
  };
}
