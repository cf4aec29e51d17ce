import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../http/auth.ts';
import { refuse } from '../http/errors.ts';
import { namedOperationOf } from '../http/operation-header.ts';
import { uuidOf } from '../http/validation.ts';
import { isPermission, type Permission } from '../keys/permissions.ts';
import type { OperationDirectory } from '../operations/operations.ts';
import type { Auth } from './auth.ts';
import { addressHeader } from './auth-calls.ts';
import { PanelError } from './errors.ts';
import type { PanelHouse } from './house.ts';
import {
  findMemberships,
  findSession,
  type Membership,
  type SessionRow,
  touchSession,
  writeAudit,
} from './members.sql.ts';
import { type Ability, abilitiesOf, may } from './roles.ts';

/** A person who is signed in. */
export interface Person extends SessionRow {
  /** Behind every request that changes something. */
  csrf: string;
}

/** A person in an account of theirs. */
export interface Member extends Membership {
  person: Person;
}

/** What a route of the panel asks of whoever calls it. */
export interface PanelFacts {
  needs: Ability;
  /** The password was given within the last ten minutes. */
  fresh?: boolean;
}

declare module 'fastify' {
  interface FastifyRequest {
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
  /** @throws PanelError `not_signed_in`, `origin_refused` */
  personOf(request: FastifyRequest): Promise<Person>;
  /** Lets a member of the account in the path through. @throws PanelError, ApiError */
  admit(facts: PanelFacts): (request: FastifyRequest) => Promise<void>;
  /** The request as better-auth takes it. */
  headersOf(request: FastifyRequest): Headers;
  /** @throws PanelError `origin_refused` for a change that another site sent */
  requireOrigin(request: FastifyRequest): void;
  requireFresh(person: Person): void;
}

export function sessions(
  house: PanelHouse,
  auth: () => Promise<Auth>,
  directory: OperationDirectory,
): Sessions {
  const csrfKey = house.secrets.derive('panel requests');
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
    headers.set(addressHeader, request.ip);
    return headers;
  }

  function requireOrigin(request: FastifyRequest): void {
    if (request.method === 'GET' || request.method === 'HEAD') return;
    const { origin } = request.headers;
    if (origin === undefined || !house.origins.has(origin)) throw new PanelError('origin_refused');
  }

  async function personOf(request: FastifyRequest): Promise<Person> {
    requireOrigin(request);
    if (request.headers.cookie === undefined) throw new PanelError('not_signed_in');
    const signedIn = await (await auth()).api.getSession({ headers: headersOf(request) }).catch(fromAuth);
    const session = signedIn && (await findSession(house.sql, signedIn.session.id));
    if (!session) throw new PanelError('not_signed_in');
    const csrf = csrfOf(session.id);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      const given = Buffer.from(String(request.headers['x-csrf-token'] ?? ''));
      const expected = Buffer.from(csrf);
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
        throw new PanelError('origin_refused');
      }
    }
    return { ...session, csrf };
  }

  const lastSeen = (person: Person): number => person.seenAt ?? person.createdAt;
  const lastProof = (person: Person): number => person.authenticatedAt ?? person.createdAt;

  function requireFresh(person: Person): void {
    if (house.clock.now() - lastProof(person) > freshMs) throw new PanelError('reauthentication_required');
  }

  return {
    personOf,
    headersOf,
    requireOrigin,
    requireFresh,
    admit: (facts) => async (request) => {
      const person = await personOf(request);
      const accountId = uuidOf((request.params as { account: string }).account);
      const membership = (await findMemberships(house.sql, person.userId)).find(
        (one) => one.accountId === accountId,
      );
      // Whose account it is, and whether there is one, is nobody else's business.
      if (!membership) throw new PanelError('not_found');
      if (!may(membership.role, facts.needs)) throw new PanelError('role_denied');
      const now = house.clock.now();
      const changes = request.method !== 'GET' && request.method !== 'HEAD';
      const idle = now - Math.max(lastSeen(person), lastProof(person)) > idleMs;
      if (changes && facts.needs !== 'read' && idle) throw new PanelError('reauthentication_required');
      if (facts.fresh) requireFresh(person);
      // What was idle stays so until the password was given: a page that is only looked at does not wake it.
      if (!idle && now - lastSeen(person) > touchEveryMs) await touchSession(house.sql, person.id, now);
      request.member = { ...membership, person };
      request.caller = await callerOf(request, membership, directory);
    },
  };
}

/**
 * better-auth hides what its store failed with behind an error of its own with status 500; it depends on nothing but the database.
 * @throws ApiError `processing_unavailable` for those, everything else as it came
 */
function fromAuth(error: unknown): never {
  const { statusCode } = error as { statusCode?: unknown };
  throw statusCode === 500 ? refuse('processing_unavailable') : error;
}

/** The member as the calls that the public API has as well know who calls: without a key. */
async function callerOf(
  request: FastifyRequest,
  { accountId, accountNumber, test, role }: Membership,
  directory: OperationDirectory,
): Promise<Caller> {
  const named = namedOperationOf(request.headers['x-service-operation']);
  return {
    accountId,
    accountNumber,
    test,
    keyId: null,
    permissions: new Set(abilitiesOf(role).filter((ability): ability is Permission => isPermission(ability))),
    requestId: request.id,
    operationId: await directory.resolve(accountId, named),
    operationNamed: named !== null,
  };
}

/**
 * Whether two factors stand behind this session. With an authenticator app every sign-in by password asks for it; who has passkeys
 * alone can still sign in by password, and has shown one factor then.
 */
export const hasSecondFactor = (person: SessionRow): boolean => person.twoFactorEnabled || person.byPasskey;

/** Money and what leads to it: a second factor, but in test accounts. @throws PanelError */
export function requireSecondFactor({ test, person }: Member): void {
  if (test || hasSecondFactor(person)) return;
  throw new PanelError('second_factor_required');
}

export const note = (
  house: PanelHouse,
  request: FastifyRequest,
  action: string,
  detail: object = {},
): Promise<unknown> =>
  writeAudit(house.sql, {
    accountId: request.member.accountId,
    id: house.ids.uuid(),
    userId: request.member.person.userId,
    action,
    detail,
    ipAddress: request.ip,
    createdAt: house.clock.now(),
  });
