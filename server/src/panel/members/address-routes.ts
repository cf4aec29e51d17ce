import { callerAddress, callerNetwork } from '../../edge/caller-address.ts';
import type { ApiScope } from '../../edge/edge.ts';
import { type Attempts, withLinkSecret } from '../auth/attempts.ts';
import { askForEmail, cancelEmail, confirmEmail, type EmailChangeDeps } from '../auth/email-change.ts';
import { secondFactorDueAt } from '../auth/second-factor.ts';
import { actorOf, requireOwnFactor, requireSecondFactor, type Sessions } from '../auth/session.ts';
import { findMemberships } from '../people/members.sql.ts';
import { recordSecurityEvent } from '../people/security-events.ts';
import { Done, EmailBody, InvitationBody } from '../schema/schema.ts';
import { personConfig } from './person-routes.ts';

/** Another e-mail address for a person. */
export function addressRoutes(
  api: ApiScope,
  deps: EmailChangeDeps,
  sessions: Sessions,
  attempts: Attempts,
): void {
  const tags = ['Person'];

  api.post(
    '/email',
    {
      schema: { tags, summary: 'Ask for another e-mail address', body: EmailBody, response: { 200: Done } },
      config: personConfig,
    },
    async (request) => {
      const person = await sessions.personOf(request);
      sessions.requireFresh(person);
      requireOwnFactor(person);
      if ((await findMemberships(deps.sql, person)).some((one) => secondFactorDueAt(one) !== null)) {
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
      config: personConfig,
    },
    async (request) => {
      sessions.requireOrigin(request);
      await withLinkSecret(attempts, callerNetwork(request), () =>
        confirmEmail(deps, request.body.token, callerAddress(request)),
      );
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
      config: personConfig,
    },
    async (request) => {
      sessions.requireOrigin(request);
      await withLinkSecret(attempts, callerNetwork(request), () =>
        cancelEmail(deps, request.body.token, callerAddress(request)),
      );
      return { ok: true as const };
    },
  );
}
