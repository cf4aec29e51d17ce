import type { ApiScope, RouteFacts } from '../http/edge.ts';
import { IdParams } from '../http/schema.ts';
import { isoOf } from '../payments/view.ts';
import type { Clock } from '../ports/clock.ts';
import { PanelError } from './errors.ts';
import type { PanelHouse } from './house.ts';
import {
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
import { isPassword } from './password.ts';
import { abilitiesOf } from './roles.ts';
import {
  AcceptBody,
  Done,
  InvitationBody,
  InvitationSchema,
  Nothing,
  PasswordBody,
  ProfileBody,
  SessionListSchema,
  SessionSchema,
} from './schema.ts';
import type { Sessions } from './session.ts';

const config: { api: RouteFacts } = {
  api: { permissions: ['read'], policy: 'reads', operation: 'syntax' },
};

/** What concerns a person, in whatever account. */
export function personRoutes(
  api: ApiScope,
  house: PanelHouse,
  sessions: Sessions,
  facts: { mailbox: boolean; simulatorUrl: string | null },
): void {
  const { sql, clock } = house;
  const tags = ['Person'];
  const passwords = attempts(clock);
  const invitations = attempts(clock);

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
      passwords.take(person.userId);
      const stored = await findPassword(sql, person.userId);
      if (stored === null || !(await isPassword(stored, request.body.password))) {
        throw new PanelError('wrong_password');
      }
      passwords.forget(person.userId);
      await markAuthenticated(sql, person.id, clock.now());
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
      await endSession(sql, person.userId, request.params.id);
      return { ok: true as const };
    },
  );

  api.post(
    '/sessions/end-others',
    { schema: { tags, summary: 'End every other session', body: Nothing, response: { 200: Done } }, config },
    async (request) => {
      const person = await sessions.personOf(request);
      await endOtherSessions(sql, person.userId, person.id);
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
      invitations.take(request.ip);
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
      invitations.take(request.ip);
      const { token, name = '', password = '' } = request.body;
      await acceptInvitation(house, { token, name, password });
      return { ok: true as const };
    },
  );
}

const attemptsAtMost = 10;
const attemptsWithinMs = 15 * 60_000;

/** Ten within a quarter of an hour, for each of whatever is counted by. @throws PanelError `too_many_attempts` */
export function attempts(clock: Clock): { take(who: string): void; forget(who: string): void } {
  const made = new Map<string, number[]>();
  return {
    take: (who) => {
      const now = clock.monotonicMs();
      const recent = (made.get(who) ?? []).filter((at) => now - at < attemptsWithinMs);
      if (recent.length >= attemptsAtMost) throw new PanelError('too_many_attempts');
      made.set(who, [...recent, now]);
      if (made.size > 10_000)
        for (const [one, at] of made) if (now - (at.at(-1) ?? 0) > attemptsWithinMs) made.delete(one);
    },
    forget: (who) => {
      made.delete(who);
    },
  };
}
