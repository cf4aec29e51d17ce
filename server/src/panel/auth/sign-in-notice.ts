import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { callerAddress, callerNetwork } from '../../edge/caller-address.ts';
import type { Log } from '../../ground/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import type { PanelMails } from '../people/mails.ts';
import { isStrangePlace } from '../people/members.sql.ts';

/**
 * Mails the person about a sign-in from an address or a browser that they never came from before. Not the first time, which is right
 * after the invitation.
 */
export async function noticeSignIn(
  deps: { sql: Sql; clock: Clock; log: Log; mails: PanelMails },
  request: FastifyRequest,
  user: { id: string; email: string },
): Promise<void> {
  const browser = String(request.headers['user-agent'] ?? '');
  // Without versions: a browser that was brought up to date is no news.
  const place = hash('sha256', `${callerNetwork(request)}\n${browser.replace(/[\d.]+/g, '')}`, 'buffer');
  if (!(await isStrangePlace(deps.sql, user.id, place, deps.clock.now()))) return;
  deps.mails
    .newSignIn(user.email, {
      ip: callerAddress(request),
      browser: browser.slice(0, 200),
      at: deps.clock.now(),
    })
    .catch((err: unknown) => deps.log.error({ err }, 'a mail was not sent'));
}
