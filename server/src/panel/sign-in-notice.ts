import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Auth } from './auth.ts';
import type { PanelHouse } from './house.ts';
import { panelMails } from './mails.ts';
import { isStrangePlace, markByPasskey } from './members.sql.ts';
import type { Sessions } from './session.ts';

/**
 * Somebody has signed in, if the answer gave them a session: it keeps whether a passkey was used, and the person is told by mail when
 * they come from an address or a browser that they never came from before. Not the first time, which is right after the invitation.
 */
export async function signedIn(
  house: PanelHouse,
  auth: Auth,
  sessions: Sessions,
  request: FastifyRequest,
  call: string,
  answer: Response,
): Promise<void> {
  const given = answer.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0] ?? '')
    .find((cookie) => /session_token=./.test(cookie));
  if (given === undefined) return;
  const headers = sessions.headersOf(request);
  headers.set('cookie', given);
  const found = await auth.api.getSession({ headers });
  if (!found) return;
  if (call === 'POST /passkey/verify-authentication') await markByPasskey(house.sql, found.session.id);
  const { user } = found;
  const browser = String(request.headers['user-agent'] ?? '');
  // Without versions: a browser that was brought up to date is no news.
  const place = hash('sha256', `${request.ip}\n${browser.replace(/[\d.]+/g, '')}`, 'buffer');
  if (!(await isStrangePlace(house.sql, user.id, place, house.clock.now()))) return;
  panelMails(house)
    .newSignIn(user.email, { ip: request.ip, browser: browser.slice(0, 200), at: house.clock.now() })
    .catch((err: unknown) => house.log.error({ err }, 'a mail was not sent'));
}
