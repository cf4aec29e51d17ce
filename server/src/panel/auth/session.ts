import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { OperationDirectory } from '../../api/operations/operations.ts';
import { callerAddress } from '../../edge/caller-address.ts';
import type { CellOf } from '../../edge/edge.ts';
import { namedOperationOf } from '../../edge/operation-header.ts';
import { uuidOf } from '../../edge/validation.ts';
import type { Caller } from '../../ground/caller.ts';
import type { Log } from '../../ground/log.ts';
import { isPermission, type Permission } from '../../ground/permissions.ts';
import type { Secrets } from '../../ground/secrets.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import { isUnavailable, type Sql } from '../../ports/sql.ts';
import { writeAudit } from '../../store/rows/audit.sql.ts';
import { PanelError } from '../errors.ts';
import {
  findMemberships,
  findSession,
  type Membership,
  type SessionRow,
  touchAccess,
  touchSession,
} from '../people/members.sql.ts';
import { type Ability, abilitiesOf, may } from '../people/roles.ts';
import {
  recordSecurityEvent,
  type SecurityEvent,
  type SecurityEventDeps,
} from '../people/security-events.ts';
import type { SupportView } from '../people/support-views.sql.ts';
import type { Auth } from './auth.ts';
import { addressHeader } from './auth-calls.ts';
import type { Live, LiveSessions } from './live-sessions.ts';
import { secondFactorDueAt } from './second-factor.ts';

/** A person who is signed in. */
export interface Person extends SessionRow {
  /** Behind every request that changes something. */
  csrf: string;
}

/** A person in an account of theirs. */
export interface Member extends Membership {
  person: Person;
}

/** The requirements of a panel route on its caller. */
export interface PanelFacts {
  needs: Ability;
  /** The password was given within the last ten minutes. */
  fresh?: boolean;
  /**
   * Moves money, or decides who may: people, keys, webhooks. In live accounts only with a second factor; nowhere while the person is
   * frozen.
   */
  sensitive?: boolean;
  /** Takes access away: in live accounts only with a second factor, and also while the person is frozen. */
  secondFactor?: boolean;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is signed in, once that was read: for what is recorded of refusals. */
    person: Person | null;
    /** Set where an operator sees the panel of an account: nothing is changed by such a request. */
    view: SupportView | null;
    /** Set on every route below an account before its handler runs. */
    member: Member;
  }
  interface FastifyContextConfig {
    panel?: PanelFacts;
  }
}

const idleMs = 30 * 60_000;
const freshMs = 10 * 60_000;
const touchEveryMs = 60_000;

export interface Sessions {
  /** The session of a request's cookie, read in one statement. */
  sessionIn(headers: Headers): Promise<SessionRow | null>;
  /** @throws PanelError `not_signed_in`, `origin_refused` */
  personOf(request: FastifyRequest): Promise<Person>;
  /** Lets a member of the account in the path through. @throws PanelError, ApiError */
  admit(facts: PanelFacts): (request: FastifyRequest) => Promise<void>;
  /** The request as better-auth takes it. */
  headersOf(request: FastifyRequest): Headers;
  /** @throws PanelError `origin_refused` for a change that another site sent */
  requireOrigin(request: FastifyRequest): void;
  requireFresh(person: Person): void;
  /** The password was given again in this session within ten minutes; the sign-in itself does not count. */
  requireGivenAgain(person: Person): void;
  /** @throws PanelError `access_frozen` */
  requireUnfrozen(person: SessionRow): void;
}

export interface SessionDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  log: Log;
  secrets: Pick<Secrets, 'derive'>;
  /** Where requests of the panel come from. */
  origins: ReadonlySet<string>;
  cellOf: CellOf<{ directory: OperationDirectory }>;
}

/** Streams end with the rights that they began with. */
interface LiveStreams {
  sessions: LiveSessions;
  views: Live<{ viewId: string }>;
}

export function sessions(deps: SessionDeps, auth: () => Promise<Auth>, live: LiveStreams): Sessions {
  const csrfKey = deps.secrets.derive('panel requests');
  const csrfOf = (sessionId: string): string =>
    createHmac('sha256', csrfKey).update(sessionId).digest('base64url');

  function headersOf(request: FastifyRequest): Headers {
    const headers = new Headers();
    for (const name of [
      'cookie',
      'origin',
      'user-agent',
      'content-type',
      'accept-language',
      'referer',
    ] as const) {
      const value = request.headers[name];
      if (typeof value === 'string') headers.set(name, value);
    }
    headers.set(addressHeader, callerAddress(request));
    return headers;
  }

  async function sessionIn(headers: Headers): Promise<SessionRow | null> {
    const token = await (await auth()).api.sessionToken({ headers });
    return token === null ? null : findSession(deps.sql, token, deps.clock.now());
  }

  function requireOrigin(request: FastifyRequest): void {
    if (request.method === 'GET' || request.method === 'HEAD') return;
    const { origin } = request.headers;
    if (origin === undefined || !deps.origins.has(origin)) throw new PanelError('origin_refused');
  }

  async function personOf(request: FastifyRequest): Promise<Person> {
    if (request.view !== null) throw new PanelError('view_reads_only');
    requireOrigin(request);
    if (request.headers.cookie === undefined) throw new PanelError('not_signed_in');
    const session = await sessionIn(headersOf(request));
    if (!session) throw new PanelError('not_signed_in');
    const csrf = csrfOf(session.id);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      const given = Buffer.from(String(request.headers['x-csrf-token'] ?? ''));
      const expected = Buffer.from(csrf);
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
        throw new PanelError('origin_refused');
      }
    }
    request.person = { ...session, csrf };
    return request.person;
  }

  const lastSeen = (person: Person): number => person.seenAt ?? person.createdAt;
  const lastProof = (person: Person): number => person.authenticatedAt ?? person.createdAt;

  function requireFresh(person: Person): void {
    if (deps.clock.now() - lastProof(person) > freshMs) throw new PanelError('reauthentication_required');
  }

  function requireGivenAgain(person: Person): void {
    const { authenticatedAt } = person;
    if (authenticatedAt === null || deps.clock.now() - authenticatedAt > freshMs) {
      throw new PanelError('reauthentication_required');
    }
  }

  function requireUnfrozen({ frozenUntil }: SessionRow): void {
    if (frozenUntil !== null && frozenUntil > deps.clock.now()) throw new PanelError('access_frozen');
  }

  /** The sign-in of a person with several accounts belongs to that person alone: each account sees when a session is first used in it. */
  async function noteUse(
    request: FastifyRequest,
    { accountId }: Membership,
    accounts: number,
  ): Promise<void> {
    const person = request.person as Person;
    const first = await touchAccess(deps.sql, person.id, accountId, deps.clock.now());
    if (!first || accounts === 1) return;
    await recordSecurityEvent(deps, {
      kind: 'sign_in',
      accountId,
      ...actorOf(request),
      detail: { step: 'account' },
    });
  }

  /** An operator reads what everybody of the account may read. @throws PanelError `not_found`, `role_denied` */
  async function admitView(request: FastifyRequest, view: SupportView, { needs }: PanelFacts): Promise<void> {
    // The same answer for a foreign account and a missing one.
    if (uuidOf((request.params as { account: string }).account) !== view.accountId)
      throw new PanelError('not_found');
    if (needs !== 'read') throw new PanelError('role_denied');
    const membership = membershipOf(view);
    const { person } = membership;
    request.member = membership;
    request.cell = membership.cell;
    request.caller = {
      ...(await callerOf(request, membership, person, deps.cellOf(membership).directory)),
      watch: (end) => live.views.watch({ viewId: view.id }, end),
    };
  }

  return {
    sessionIn,
    personOf,
    headersOf,
    requireOrigin,
    requireFresh,
    requireGivenAgain,
    requireUnfrozen,
    admit: (facts) => async (request) => {
      if (request.view !== null) return admitView(request, request.view, facts);
      const person = await personOf(request);
      const accountId = uuidOf((request.params as { account: string }).account);
      const memberships = await findMemberships(deps.sql, person);
      const membership = memberships.find((one) => one.accountId === accountId);
      // The same answer for a foreign account and a missing one: the caller must not learn which it is.
      if (!membership) throw new PanelError('not_found');
      request.member = { ...membership, person };
      if (!may(membership.role, facts.needs)) throw new PanelError('role_denied');
      const now = deps.clock.now();
      const dueAt = secondFactorDueAt(membership);
      if (dueAt !== null && dueAt <= now) requireSecondFactor({ test: membership.test, person });
      if (facts.sensitive || facts.secondFactor) requireSecondFactor({ test: membership.test, person });
      if (facts.sensitive) requireUnfrozen(person);
      const changes = request.method !== 'GET' && request.method !== 'HEAD';
      const idle = now - Math.max(lastSeen(person), lastProof(person)) > idleMs;
      if (changes && facts.needs !== 'read' && idle) throw new PanelError('reauthentication_required');
      if (facts.fresh) requireFresh(person);
      // An idle session stays so until the password was given: a page that is only looked at does not wake it.
      const notes: Promise<unknown>[] = [];
      if (!idle && now - lastSeen(person) > touchEveryMs) notes.push(touchSession(deps.sql, person.id, now));
      if (now - (membership.usedAt ?? 0) > touchEveryMs)
        notes.push(noteUse(request, membership, memberships.length));
      // A database that takes no writes still answers reads: the next request notes the use.
      await Promise.all(notes).catch((error: unknown) => {
        if (changes || !isUnavailable(error)) throw error;
      });
      request.cell = membership.cell;
      request.caller = {
        ...(await callerOf(request, membership, person, deps.cellOf(membership).directory)),
        watch: (end) => live.sessions.watch({ sessionId: person.id, ...membership }, end),
      };
    },
  };
}

/** No person of the account: it has the id of the view, under which nothing is stored. */
const membershipOf = (view: SupportView): Member => ({
  ...{ accountId: view.accountId, accountNumber: view.accountNumber, accountName: view.accountName },
  ...{ cell: view.cell, test: view.test, connection: view.connection, quotas: view.quotas },
  ...{ role: 'viewer', joinedAt: 0, graceDays: 0, graceSince: null, usedAt: null },
  person: {
    ...{ id: view.id, userId: view.id, createdAt: 0, seenAt: null, authenticatedAt: null },
    ...{ email: view.operatorEmail, name: view.operatorName, language: 'pt-BR', csrf: '' },
    ...{ twoFactorEnabled: false, passkeys: 0, secondFactor: false, frozenUntil: null },
  },
});

/** The member as the calls that the public API has as well know who calls: without a key. */
async function callerOf(
  request: FastifyRequest,
  { accountId, accountNumber, test, connection, role }: Membership,
  { userId }: Person,
  directory: OperationDirectory,
): Promise<Caller> {
  const named = namedOperationOf(request.headers['x-service-operation']);
  return {
    accountId,
    accountNumber,
    test,
    connection,
    keyId: null,
    userId,
    permissions: new Set(abilitiesOf(role).filter((ability): ability is Permission => isPermission(ability))),
    requestId: request.id,
    arrivedMs: request.arrivedMs,
    operationId: await directory.resolve(accountId, named),
    operationNamed: named !== null,
  };
}

/** A session that was signed in by password alone stays so, whatever other sessions set up. @throws PanelError */
export function requireSecondFactor({
  test,
  person,
}: {
  test: boolean;
  person: Pick<SessionRow, 'secondFactor'>;
}): void {
  if (!test && !person.secondFactor) throw new PanelError('second_factor_required');
}

/**
 * Changes of how a person signs in: with one of their factors, if they have one. A stolen password alone neither adds nor removes a
 * factor.
 * @throws PanelError `second_factor_required`
 */
export function requireOwnFactor(person: SessionRow): void {
  if ((person.twoFactorEnabled || person.passkeys > 0) && !person.secondFactor) {
    throw new PanelError('second_factor_required');
  }
}

/** Writes what a member did, once it is done, to the audit log, which is kept, and to the security events of the account. */
export async function note(
  deps: SecurityEventDeps,
  request: FastifyRequest,
  kind: SecurityEvent['kind'],
  detail: NonNullable<SecurityEvent['detail']> = {},
): Promise<void> {
  const { accountId, person } = request.member;
  const ipAddress = callerAddress(request);
  await deps.sql.tx((tx) =>
    writeAudit(tx, {
      ...{ accountId, id: deps.ids.uuid(), at: deps.clock.now(), actor: `panel:${person.userId}` },
      ...{ action: kind, subject: accountId, reason: null, detail: { ...detail, ipAddress } },
    }),
  );
  await recordSecurityEvent(deps, { kind, accountId, ...actorOf(request), detail });
}

/** Who did it and from where, as far as the request says. */
export const actorOf = (
  request: FastifyRequest,
): Pick<SecurityEvent, 'userId' | 'sessionId' | 'ipAddress'> => ({
  userId: request.person?.userId ?? null,
  sessionId: request.person?.id ?? null,
  ipAddress: callerAddress(request),
});
