import type { Log } from '../../ground/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Sql } from '../../ports/sql.ts';
import { PanelError } from '../errors.ts';
import type { PanelMails } from '../people/mails.ts';
import {
  cancelNewEmail,
  findUser,
  replaceNewEmail,
  takeNewEmail,
  updateEmail,
} from '../people/members.sql.ts';
import { emailOf, tokenHash } from '../people/members.ts';
import { recordSecurityEvent } from '../people/security-events.ts';
import type { Attempts } from './attempts.ts';
import { freezeMs } from './auth-calls.ts';
import type { Person } from './session.ts';

export interface EmailChangeDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  log: Log;
  mails: PanelMails;
}

const linkLivesMs = 60 * 60_000;

/**
 * Asks for another address: nothing changes until the link that goes there is opened. The old address gets a link that ends the
 * change. The answer is the same when another person has the wanted address already; its owner gets a mail then, and no link.
 * @throws PanelError `too_many_attempts`
 */
export async function askForEmail(
  deps: EmailChangeDeps,
  attempts: Attempts,
  person: Person,
  wanted: string,
): Promise<void> {
  const email = emailOf(wanted);
  await attempts.take('emailChangePerson', person.userId);
  await attempts.take('emailChangeMail', email);
  const { mails } = deps;
  const token = deps.ids.bytes(32).toString('base64url');
  const cancelToken = deps.ids.bytes(32).toString('base64url');
  const taken = (await findUser(deps.sql, email)) !== undefined;
  const expiresAt = deps.clock.now() + linkLivesMs;
  if (!taken) {
    await deps.sql.tx((tx) =>
      replaceNewEmail(tx, {
        userId: person.userId,
        email,
        tokenHash: tokenHash(token),
        cancelHash: tokenHash(cancelToken),
        expiresAt,
      }),
    );
  }
  // Not waited for: how long a mail takes must not tell who has an account here.
  const sent = taken ? [mails.emailTaken(email)] : [mails.confirmEmail(email, token)];
  sent.push(mails.emailChangeAsked(person.email, email, cancelToken));
  for (const one of sent) one.catch((err: unknown) => deps.log.error({ err }, 'a mail was not sent'));
}

/**
 * The link in the mail to the old address: the change ends.
 * @throws PanelError `link_invalid`
 */
export async function cancelEmail(deps: EmailChangeDeps, token: string, ipAddress: string): Promise<void> {
  const userId = await deps.sql.tx((tx) => cancelNewEmail(tx, tokenHash(token)));
  if (userId === undefined) throw new PanelError('link_invalid');
  await recordSecurityEvent(deps, { kind: 'email.change_cancelled', userId, ipAddress });
}

/**
 * The link was opened, so the address is theirs: the old one gets a mail, the person is frozen for a day, every session ends.
 * @throws PanelError `link_invalid`
 */
export async function confirmEmail(deps: EmailChangeDeps, token: string, ipAddress: string): Promise<void> {
  const now = deps.clock.now();
  const changed = await deps.sql.tx(async (tx) => {
    const wanted = await takeNewEmail(tx, tokenHash(token), now);
    // Another person may have taken that address since.
    if (!wanted || (await findUser(tx, wanted.email))) throw new PanelError('link_invalid');
    await updateEmail(tx, wanted.userId, wanted.email, now + freezeMs, now);
    return wanted;
  });
  await recordSecurityEvent(deps, { kind: 'email.changed', userId: changed.userId, ipAddress });
  await deps.mails.emailWasChanged(changed.oldEmail, changed.email);
}
