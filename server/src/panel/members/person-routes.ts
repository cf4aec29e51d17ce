import type { FastifyRequest } from 'fastify';
import type { ApiScope, RouteFacts } from '../../http/edge.ts';
import { IdParams } from '../../http/schema.ts';
import { isoOf } from '../../payments/view.ts';
import type { Queries } from '../../ports/sql.ts';
import type { Attempts } from '../auth/attempts.ts';
import { askForEmail, cancelEmail, confirmEmail } from '../auth/email-change.ts';
import { isPassword } from '../auth/password.ts';
import { secondFactorDueAt } from '../auth/second-factor.ts';
import { recordSecurityEvent } from '../auth/security-events.ts';
import {
  actorOf,
  type Person,
  requireOwnFactor,
  requireSecondFactor,
  type Sessions,
} from '../auth/session.ts';
import type { PanelDeps } from '../deps.ts';
import { PanelError } from '../errors.ts';
import {
  AcceptBody,
  Done,
  EmailBody,
  InvitationBody,
  InvitationSchema,
  Nothing,
  PasswordBody,
  ProfileBody,
  SessionListSchema,
  SessionSchema,
} from '../schema.ts';
import {
  deleteNewEmailOf,
  endEverySession,
  endOtherSessions,
  endSession,
  findInvitation,
  findMemberships,
  findPassword,
  findSessions,
  findUser,
  markAuthenticated,
  updateProfile,
} from './members.sql.ts';
import { acceptInvitation, tokenHash } from './members.ts';
import { abilitiesOf } from './roles.ts';

const config: { api: RouteFacts } = {
  api: { permissions: ['read'], policy: 'reads', operation: 'syntax' },
};

/** What concerns a person, in whatever account. */
export function personRoutes(
  api: ApiScope,
  deps: PanelDeps,
  sessions: Sessions,
  attempts: Attempts,
  facts: { mailbox: boolean; simulatorUrl: string | null },
): void {
  const { sql, clock } = deps;
  const tags = ['Person'];

  /** Sessions end with what waits for a link: who ends them may have lost one. */
  const endSessions = async (
    request: FastifyRequest,
    person: Person,
    ending: (tx: Queries) => Promise<unknown>,
    which: string,
  ): Promise<void> => {
    await sql.tx(async (tx) => {
      await ending(tx);
      await deleteNewEmailOf(tx, person.userId);
    });
    await recordSecurityEvent(deps, { kind: 'session.ended', ...actorOf(request), detail: { which } });
  };

  api.get(
    '/session',
    { schema: { tags, summary: 'Who is signed in', response: { 200: SessionSchema } }, config },
    async (request) => {
      const person = await sessions.personOf(request);
      const memberships = await findMemberships(sql, person.userId);
      return {
        name: person.name,
        email: person.email,
        language: person.language,
        twoFactorEnabled: person.twoFactorEnabled,
        passkeys: person.passkeys,
        secondFactor: person.secondFactor,
        frozenUntil:
          person.frozenUntil !== null && person.frozenUntil > clock.now() ? isoOf(person.frozenUntil) : null,
        sessionId: person.id,
        csrf: person.csrf,
        mailbox: facts.mailbox,
        simulatorUrl: memberships.some((one) => one.test) ? facts.simulatorUrl : null,
        accounts: memberships.map((one) => ({
          id: one.accountId,
          name: one.accountName,
          test: one.test,
          role: one.role,
          abilities: [...abilitiesOf(one.role)],
          secondFactorDueAt: instant(secondFactorDueAt(one)),
        })),
      };
    },
  );

  api.patch(
    '/profile',
    {
      schema: { tags, summary: 'Change name or language', body: ProfileBody, response: { 200: Done } },
      config,
    },
    async (request) => {
      const person = await sessions.personOf(request);
      const { name = person.name, language = person.language } = request.body;
      await updateProfile(sql, person.userId, name, language);
      return { ok: true as const };
    },
  );

  api.post(
    '/reauthenticate',
    {
      schema: { tags, summary: 'Give the password again', body: PasswordBody, response: { 200: Done } },
      config,
    },
    async (request) => {
      const person = await sessions.personOf(request);
      await attempts.take('password', person.userId);
      const stored = await findPassword(sql, person.userId);
      if (stored === null || !(await isPassword(stored, request.body.password))) {
        throw new PanelError('wrong_password');
      }
      await attempts.forget('password', person.userId);
      await markAuthenticated(sql, person.id, clock.now());
      await recordSecurityEvent(deps, { kind: 'password.checked', ...actorOf(request) });
      return { ok: true as const };
    },
  );

  api.get(
    '/sessions',
    {
      schema: { tags, summary: 'Where this person is signed in', response: { 200: SessionListSchema } },
      config,
    },
    async (request) => {
      const person = await sessions.personOf(request);
      const rows = await findSessions(sql, person.userId, clock.now());
      return {
        sessions: rows.map((row) => ({
          ...row,
          current: row.id === person.id,
          createdAt: isoOf(row.createdAt),
          seenAt: row.seenAt === null ? null : isoOf(row.seenAt),
        })),
      };
    },
  );

  api.delete(
    '/sessions/:id',
    {
      schema: {
        tags,
        summary: 'End a session',
        params: IdParams('Session'),
        body: Nothing,
        response: { 200: Done },
      },
      config,
    },
    async (request) => {
      const person = await sessions.personOf(request);
      await endSessions(
        request,
        person,
        (tx) => endSession(tx, person.userId, request.params.id),
        request.params.id,
      );
      return { ok: true as const };
    },
  );

  api.post(
    '/sessions/end-others',
    { schema: { tags, summary: 'End every other session', body: Nothing, response: { 200: Done } }, config },
    async (request) => {
      const person = await sessions.personOf(request);
      await endSessions(request, person, (tx) => endOtherSessions(tx, person.userId, person.id), 'others');
      return { ok: true as const };
    },
  );

  api.post(
    '/sessions/end-all',
    { schema: { tags, summary: 'End every session', body: Nothing, response: { 200: Done } }, config },
    async (request) => {
      const person = await sessions.personOf(request);
      await endSessions(request, person, (tx) => endEverySession(tx, person.userId), 'all');
      return { ok: true as const };
    },
  );

  api.post(
    '/email',
    {
      schema: { tags, summary: 'Ask for another e-mail address', body: EmailBody, response: { 200: Done } },
      config,
    },
    async (request) => {
      const person = await sessions.personOf(request);
      sessions.requireFresh(person);
      requireOwnFactor(person);
      if ((await findMemberships(sql, person.userId)).some((one) => secondFactorDueAt(one) !== null)) {
        requireSecondFactor({ test: false, person });
      }
      sessions.requireUnfrozen(person);
      await askForEmail(deps, attempts, person, request.body.email);
      await recordSecurityEvent(deps, { kind: 'email.change_asked', ...actorOf(request) });
      return { ok: true as const };
    },
  );

  api.post(
    '/email/confirm',
    {
      schema: {
        tags,
        summary: 'Confirm the new address with the secret of its mail',
        body: InvitationBody,
        response: { 200: Done },
      },
      config,
    },
    async (request) => {
      sessions.requireOrigin(request);
      await attempts.take('linkSecret', request.ip);
      await confirmEmail(deps, request.body.token, request.ip);
      return { ok: true as const };
    },
  );

  api.post(
    '/email/cancel',
    {
      schema: {
        tags,
        summary: 'End a change of address, with the secret of the mail to the old one',
        body: InvitationBody,
        response: { 200: Done },
      },
      config,
    },
    async (request) => {
      sessions.requireOrigin(request);
      await attempts.take('linkSecret', request.ip);
      await cancelEmail(deps, request.body.token, request.ip);
      return { ok: true as const };
    },
  );

  // The secret of an invitation comes in a body: it shall be in no address and no log.
  api.post(
    '/invitations/look',
    {
      schema: {
        tags,
        summary: 'What an invitation is for',
        body: InvitationBody,
        response: { 200: InvitationSchema },
      },
      config,
    },
    async (request) => {
      sessions.requireOrigin(request);
      await attempts.take('linkSecret', request.ip);
      const invitation = await findInvitation(sql, tokenHash(request.body.token), clock.now());
      if (!invitation) throw new PanelError('invitation_invalid');
      const { email, role, accountName } = invitation;
      return { email, role, accountName, existing: (await findUser(sql, email)) !== undefined };
    },
  );

  api.post(
    '/invitations/accept',
    {
      schema: { tags, summary: 'Accept an invitation', body: AcceptBody, response: { 200: Done } },
      config,
    },
    async (request) => {
      sessions.requireOrigin(request);
      await attempts.take('linkSecret', request.ip);
      const { token, name = '', password = '' } = request.body;
      const { accountId, userId, role } = await acceptInvitation(deps, { token, name, password });
      const detail = { role };
      await recordSecurityEvent(deps, {
        kind: 'member.joined',
        accountId,
        userId,
        ipAddress: request.ip,
        detail,
      });
      return { ok: true as const };
    },
  );
}

const instant = (ms: number | null): string | null => (ms === null ? null : isoOf(ms));
