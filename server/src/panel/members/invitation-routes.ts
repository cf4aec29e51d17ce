import { callerAddress, callerNetwork } from '../../edge/caller-address.ts';
import type { ApiScope, CellOf } from '../../edge/edge.ts';
import type { Sql } from '../../ports/sql.ts';
import { findShownMerchant } from '../../store/rows/profile.sql.ts';
import { type Attempts, withLinkSecret } from '../auth/attempts.ts';
import type { Sessions } from '../auth/session.ts';
import { findUser } from '../people/members.sql.ts';
import { acceptInvitation, openInvitation } from '../people/members.ts';
import { recordSecurityEvent, type SecurityEventDeps } from '../people/security-events.ts';
import { AcceptBody, Done, InvitationBody, InvitationSchema } from '../schema/schema.ts';
import { personConfig } from './person-routes.ts';

/** A person's acts on an invitation to an account. */
export function invitationRoutes(
  api: ApiScope,
  deps: SecurityEventDeps,
  cellOf: CellOf<{ sql: Sql }>,
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
      const { accountId, cell, email, role, accountName } = await withLinkSecret(
        attempts,
        callerNetwork(request),
        () => openInvitation(sql, request.body.token, clock.now()),
      );
      const [{ name: companyName }, user] = await Promise.all([
        findShownMerchant(cellOf({ cell }).sql, accountId),
        findUser(sql, email),
      ]);
      return { email, role, accountName, companyName, existing: user !== undefined };
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
      const { token, name = '', password = '' } = request.body;
      const { accountId, userId, role } = await withLinkSecret(attempts, callerNetwork(request), () =>
        acceptInvitation(deps, { token, name, password }),
      );
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
