import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import { IdParams } from '../../ground/schema.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import type { Sql } from '../../ports/sql.ts';
import type { Attempts } from '../auth/attempts.ts';
import { type Member, note, type PanelFacts } from '../auth/session.ts';
import { PanelError } from '../errors.ts';
import type { PanelMails } from '../people/mails.ts';
import {
  deleteInvitation,
  deleteNewEmailOf,
  endAccessTo,
  endEverySession,
  findAccess,
  findGraceDays,
  findInvitations,
  findMembers,
  type ListedMember,
  updateGraceDays,
} from '../people/members.sql.ts';
import { changeRole, dismiss, emailOf, invite } from '../people/members.ts';
import { mayManage } from '../people/roles.ts';
import type { SecurityEventDeps } from '../people/security-events.ts';
import {
  DismissBody,
  DismissedSchema,
  Done,
  GraceBody,
  InviteBody,
  MemberListSchema,
  Nothing,
  RoleBody,
  RoleChangedSchema,
  SessionListSchema,
} from '../schema/schema.ts';

/** The document's entry of a call; the role decides who may make it (`config.panel`). */
const described: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'syntax' };
const asks = (more: Omit<PanelFacts, 'needs'> = {}) => ({
  api: described,
  panel: { needs: 'members' as const, ...more },
});
const changes = asks({ fresh: true, sensitive: true });
const done = { ok: true as const };
const tags = ['Panel'];

/** The people of an account, as its owners and administrators manage them. */
export function memberRoutes(
  api: ApiScope,
  deps: SecurityEventDeps,
  cellOf: CellOf<Pick<SecurityEventDeps, 'sql'>>,
  mails: PanelMails,
  attempts: Attempts,
): void {
  memberListRoutes(api, deps);
  inviteRoutes(api, deps, mails, attempts);
  oneMemberRoutes(api, deps, cellOf);
  memberSessionRoutes(api, deps);
}

function memberListRoutes(api: ApiScope, deps: SecurityEventDeps): void {
  const { sql, clock } = deps;
  api.get(
    '/members',
    { schema: { tags, summary: 'People', response: { 200: MemberListSchema } }, config: asks() },
    async ({ member }) => ({
      members: (await findMembers(sql, member.accountId)).map((one) => ({
        userId: one.userId,
        name: one.name,
        email: one.email,
        role: one.role,
        createdAt: isoOf(one.createdAt),
        secondFactor: one.twoFactorEnabled || one.passkeys > 0,
        self: one.userId === member.person.userId,
      })),
      invitations: (await findInvitations(sql, member.accountId, clock.now())).map((one) => ({
        id: one.id,
        email: one.email,
        role: one.role,
        expiresAt: isoOf(one.expiresAt),
      })),
      secondFactorGraceDays: await findGraceDays(sql, member.accountId),
    }),
  );

  api.put(
    '/members/second-factor',
    {
      schema: {
        tags,
        summary: 'How long new members have to set up a second factor',
        body: GraceBody,
        response: { 200: Done },
      },
      config: changes,
    },
    async (request) => {
      const { member, body } = request;
      // An administrator must not let in longer whom an owner wants out.
      if (member.role !== 'owner') throw new PanelError('role_denied');
      await sql.tx((tx) => updateGraceDays(tx, member.accountId, body.days));
      await note(deps, request, 'factor.grace', { days: body.days });
      return done;
    },
  );
}

function inviteRoutes(api: ApiScope, deps: SecurityEventDeps, mails: PanelMails, attempts: Attempts): void {
  api.post(
    '/members/invitations',
    {
      schema: { tags, summary: 'Invite somebody', body: InviteBody, response: { 201: Done } },
      config: changes,
    },
    async (request, reply) => {
      const { member, body } = request;
      const { accountId, person } = member;
      if (!mayManage(member.role, body.role)) throw new PanelError('role_denied');
      await attempts.take('invitationPerson', person.userId);
      await attempts.take('invitationAccount', accountId);
      await attempts.take('invitationMail', emailOf(body.email));
      const { id, token } = await invite(deps, { accountId, ...body, createdBy: person.userId });
      await note(deps, request, 'member.invited', { invitationId: id, role: body.role });
      const { accountName } = member;
      const { role } = body;
      await mails.invitation(body.email, { accountName, role, token, language: request.language });
      return reply.code(201).send(done);
    },
  );

  api.delete(
    '/members/invitations/:id',
    {
      schema: {
        tags,
        summary: 'Withdraw an invitation',
        params: IdParams('Invitation'),
        body: Nothing,
        response: { 200: Done },
      },
      config: asks({ secondFactor: true }),
    },
    async (request) => {
      await deleteInvitation(deps.sql, request.member.accountId, request.params.id);
      await note(deps, request, 'member.invitation_withdrawn', { invitationId: request.params.id });
      return done;
    },
  );
}

function oneMemberRoutes(
  api: ApiScope,
  deps: SecurityEventDeps,
  cellOf: CellOf<Pick<SecurityEventDeps, 'sql'>>,
): void {
  api.patch(
    '/members/:id',
    {
      schema: {
        tags,
        summary: 'Change a role',
        params: IdParams('Person'),
        body: RoleBody,
        response: { 200: RoleChangedSchema },
      },
      config: changes,
    },
    async (request) => {
      const { member, params, body } = request;
      const left = await changeRole(deps, member.accountId, member.role, params.id, body.role);
      await note(deps, request, 'member.role', {
        userId: params.id,
        role: body.role,
        keysLeft: left.map(({ id }) => id),
      });
      return { ...done, keysLeft: left.map(named) };
    },
  );

  api.delete(
    '/members/:id',
    {
      schema: {
        tags,
        summary: 'Remove somebody',
        params: IdParams('Person'),
        body: DismissBody,
        response: { 200: DismissedSchema },
      },
      config: changes,
    },
    async (request) => {
      const { member, params, body } = request;
      const here = { ...deps, sql: cellOf(request).sql };
      const { revoked, left } = await dismiss(here, {
        accountId: member.accountId,
        by: member.role,
        userId: params.id,
        revokeKeys: body.revokeKeys ?? false,
      });
      await note(deps, request, 'member.removed', {
        userId: params.id,
        keysRevoked: revoked.map(({ id }) => id),
        keysLeft: left.map(({ id }) => id),
      });
      return { ...done, keysRevoked: revoked.map(named), keysLeft: left.map(named) };
    },
  );
}

function memberSessionRoutes(api: ApiScope, deps: SecurityEventDeps): void {
  const { sql, clock } = deps;
  api.get(
    '/members/:id/sessions',
    {
      schema: {
        tags,
        summary: 'The sessions that a member uses in this account',
        params: IdParams('Person'),
        response: { 200: SessionListSchema },
      },
      config: asks(),
    },
    async ({ member, params }) => {
      const { userId } = await managedBy(deps, member, params.id);
      const rows = await findAccess(sql, userId, member.accountId, clock.now());
      return {
        sessions: rows.map((row) => ({
          ...row,
          current: row.id === member.person.id,
          createdAt: isoOf(row.createdAt),
          seenAt: row.seenAt === null ? null : isoOf(row.seenAt),
        })),
      };
    },
  );

  api.post(
    '/members/:id/end-sessions',
    {
      schema: {
        tags,
        summary: "End a member's access to this account until the next sign-in",
        params: IdParams('Person'),
        body: Nothing,
        response: { 200: Done },
      },
      // Also while frozen, and without a fresh password: it only takes access away.
      config: asks({ secondFactor: true }),
    },
    async (request) => {
      const { userId } = await managedBy(deps, request.member, request.params.id);
      await sql.tx(async (tx) => {
        const only = await endAccessTo(tx, userId, request.member.accountId, clock.now());
        if (!only) return;
        await endEverySession(tx, userId);
        await deleteNewEmailOf(tx, userId);
      });
      await note(deps, request, 'session.ended', { userId, which: 'all' });
      return done;
    },
  );
}

/** @throws PanelError `not_found`, `role_denied` */
async function managedBy({ sql }: { sql: Sql }, member: Member, userId: string): Promise<ListedMember> {
  const found = (await findMembers(sql, member.accountId)).find((one) => one.userId === userId);
  if (!found) throw new PanelError('not_found');
  if (!mayManage(member.role, found.role)) throw new PanelError('role_denied');
  return found;
}

const named = ({ id, name }: { id: string; name: string }) => ({ id, name });
