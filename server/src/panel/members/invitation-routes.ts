import { callerAddress, callerNetwork } from '../../http/caller-address.ts';
import type { ApiScope } from '../../http/edge.ts';
import type { Attempts } from '../auth/attempts.ts';
import { recordSecurityEvent } from '../auth/security-events.ts';
import type { Sessions } from '../auth/session.ts';
import type { PanelDeps } from '../deps.ts';
import { PanelError } from '../errors.ts';
import { AcceptBody, Done, InvitationBody, InvitationSchema } from '../schema.ts';
import { findInvitation, findUser } from './members.sql.ts';
import { acceptInvitation, tokenHash } from './members.ts';
import { personConfig } from './person-routes.ts';

/** What a person does with an invitation to an account. */
export function invitationRoutes(
  api: ApiScope,
  deps: PanelDeps,
  sessions: Sessions,
  attempts: Attempts,
): void {
  const { sql, clock } = deps;
  const tags = ['Person'];

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
      config: personConfig,
    },
    async (request) => {
      sessions.requireOrigin(request);
      await attempts.take('linkSecret', callerNetwork(request));
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
      config: personConfig,
    },
    async (request) => {
      sessions.requireOrigin(request);
      await attempts.take('linkSecret', callerNetwork(request));
      const { token, name = '', password = '' } = request.body;
      const { accountId, userId, role } = await acceptInvitation(deps, { token, name, password });
      const detail = { role };
      await recordSecurityEvent(deps, {
        kind: 'member.joined',
        accountId,
        userId,
        ipAddress: callerAddress(request),
        detail,
      });
      return { ok: true as const };
    },
  );
}
