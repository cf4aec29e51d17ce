import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { callerAddress, callerNetwork } from '../../edge/caller-address.ts';
import type { Secrets } from '../../ground/secrets.ts';
import { type ActName, acts, isOperatorRole, mayAct, type OperatorRole } from '../../operate/acts.ts';
import { PanelError } from '../../panel/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import { isUnavailable, type Queries, type Sql } from '../../ports/sql.ts';
import {
  type ConsoleSession,
  endSession,
  findSession,
  insertSession,
  touchSession,
} from '../people/operators.sql.ts';
import { tokenHash } from '../people/operators.ts';

/** An operator who is signed in. */
export interface SignedIn extends Omit<ConsoleSession, 'role'> {
  role: OperatorRole;
  /** Behind every call that changes something. */
  csrf: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on every call of the console that needs a session. */
    operator: SignedIn;
  }
}

const sessionMs = 12 * 3600 * 1000;
const idleMs = 30 * 60_000;
const touchEveryMs = 60_000;

export interface SessionDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  secrets: Pick<Secrets, 'derive'>;
  site: {
    /** Where calls of the console come from. */
    origins: ReadonlySet<string>;
    overTls: boolean;
    /** The console answers under this host alone; null: under each that leads here. */
    host: string | null;
    /** Whether an operator may come from this address. */
    admits(address: string): boolean;
  };
}

export interface ConsoleSessions {
  /** Before anything is read. @throws PanelError `operator_address_refused`, `origin_refused` */
  requirePlace(request: FastifyRequest): void;
  /** @throws PanelError `not_signed_in`, `origin_refused`, `operator_role_denied`, `not_found` for what is no act */
  admit(request: FastifyRequest, act: ActName | undefined): Promise<void>;
  /** Begins a session of an operator who has just shown both factors. @returns its cookie, to be sent once the transaction has ended */
  begin(tx: Queries, operatorId: string, request: FastifyRequest): Promise<string>;
  /** @returns the cookie that takes the one of the session away */
  end(session: Pick<ConsoleSession, 'id'>): Promise<string>;
}

/**
 * Sessions of operators. They have a cookie, a table and a key of their own, so that no session of a merchant's person opens anything here and none
 * of these opens anything there. They end after twelve hours, half an hour without a call, in another network, and with a suspension.
 */
export function consoleSessions({ sql, clock, ids, secrets, site }: SessionDeps): ConsoleSessions {
  const csrfKey = secrets.derive('console requests');
  // Browsers take `__Host-` over TLS only.
  const name = site.overTls ? '__Host-vintem-operator' : 'vintem-operator';
  const attributes = `Path=/; HttpOnly; SameSite=Strict${site.overTls ? '; Secure' : ''}`;
  const csrfOf = (id: string): string => createHmac('sha256', csrfKey).update(id).digest('base64url');

  const tokenOf = (request: FastifyRequest): string | undefined =>
    request.headers.cookie
      ?.split('; ')
      .find((one) => one.startsWith(`${name}=`))
      ?.slice(name.length + 1);

  const changes = ({ method }: FastifyRequest): boolean => method !== 'GET' && method !== 'HEAD';

  /** A page that reads again by itself says so while no key and no pointer moves: it keeps no session open. */
  const isUnattended = ({ headers }: FastifyRequest): boolean => headers['x-unattended'] !== undefined;

  async function sessionOf(request: FastifyRequest): Promise<ConsoleSession> {
    const token = tokenOf(request);
    if (token === undefined || token.length > 64) throw new PanelError('not_signed_in');
    const now = clock.now();
    const session = await findSession(sql, tokenHash(token), now);
    if (!session) throw new PanelError('not_signed_in');
    if (now - session.seenAt > idleMs || session.network !== callerNetwork(request)) {
      await endSession(sql, session.id);
      throw new PanelError('not_signed_in');
    }
    if (now - session.seenAt > touchEveryMs && (changes(request) || !isUnattended(request))) {
      // A database that takes no writes still answers reads: the next call notes the use.
      await touchSession(sql, session.id, now).catch((error: unknown) => {
        if (changes(request) || !isUnavailable(error)) throw error;
      });
    }
    return session;
  }

  return {
    requirePlace(request) {
      // A page of the other host that runs foreign code reaches nothing here.
      if (site.host !== null && request.headers.host !== site.host)
        throw new PanelError('operator_address_refused');
      if (!site.admits(callerAddress(request))) throw new PanelError('operator_address_refused');
      const { origin } = request.headers;
      if (changes(request) && (origin === undefined || !site.origins.has(origin)))
        throw new PanelError('origin_refused');
    },
    async admit(request, act) {
      const session = await sessionOf(request);
      const csrf = csrfOf(session.id);
      if (changes(request)) {
        const given = Buffer.from(String(request.headers['x-csrf-token'] ?? ''));
        const expected = Buffer.from(csrf);
        if (given.length !== expected.length || !timingSafeEqual(given, expected))
          throw new PanelError('origin_refused');
      }
      const { role } = session;
      if (!isOperatorRole(role)) throw new PanelError('operator_role_denied');
      request.operator = { ...session, role, csrf };
      // A route without an act in the table is not there.
      if (act === undefined) throw new PanelError('not_found');
      if (!mayAct(role, act)) throw new PanelError('operator_role_denied');
    },
    async begin(tx, operatorId, request) {
      const token = ids.bytes(32).toString('base64url');
      const nowMs = clock.now();
      await insertSession(tx, {
        id: ids.uuid(),
        operatorId,
        tokenHash: tokenHash(token),
        network: callerNetwork(request),
        nowMs,
        expiresAt: nowMs + sessionMs,
      });
      return `${name}=${token}; Max-Age=${sessionMs / 1000}; ${attributes}`;
    },
    async end({ id }) {
      await endSession(sql, id);
      return `${name}=; Max-Age=0; ${attributes}`;
    },
  };
}

/** The acts of a role, for pages that show no button which would be refused. */
export const actsOf = (role: OperatorRole): ActName[] =>
  (Object.keys(acts) as ActName[]).filter((name) => mayAct(role, name));
