import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { PanelHouse } from '../deps.ts';
import { panelMails } from '../members/mails.ts';
import { isStrangePlace } from '../members/members.sql.ts';

/**
 * Mails the person about a sign-in from an address or a browser that they never came from before. Not the first time, which is right
 * after the invitation.
 */
export async function noticeSignIn(
  house: Pick<PanelHouse, 'sql' | 'clock' | 'log' | 'config' | 'mail'>,
  request: FastifyRequest,
  user: { id: string; email: string },
): Promise<void> {
  const browser = String(request.headers['user-agent'] ?? '');
  // Without versions: a browser that was brought up to date is no news.
  const place = hash('sha256', `${request.ip}\n${browser.replace(/[\d.]+/g, '')}`, 'buffer');
  if (!(await isStrangePlace(house.sql, user.id, place, house.clock.now()))) return;
  panelMails(house)
    .newSignIn(user.email, { ip: request.ip, browser: browser.slice(0, 200), at: house.clock.now() })
    .catch((err: unknown) => house.log.error({ err }, 'a mail was not sent'));
}
