import { freezeMs } from './auth-calls.ts';
import { PanelError } from './errors.ts';
import type { PanelHouse } from './house.ts';
import { panelMails } from './mails.ts';
import { findUser, replaceNewEmail, takeNewEmail, updateEmail } from './members.sql.ts';
import { emailOf, tokenHash } from './members.ts';
import type { Person } from './session.ts';

const linkLivesMs = 60 * 60_000;

/**
 * Asks for another address: nothing changes until the link that goes there is opened. The answer is the same when somebody has that
 * address already; they are then told, and get no link.
 */
export async function askForEmail(house: PanelHouse, person: Person, wanted: string): Promise<void> {
  const email = emailOf(wanted);
  const mails = panelMails(house);
  const token = house.ids.bytes(32).toString('base64url');
  const taken = (await findUser(house.sql, email)) !== undefined;
  const expiresAt = house.clock.now() + linkLivesMs;
  if (!taken) {
    await house.sql.tx((tx) =>
      replaceNewEmail(tx, { userId: person.userId, email, tokenHash: tokenHash(token), expiresAt }),
    );
  }
  // Not waited for: how long a mail takes must not tell who has an account here.
  const sent = taken ? mails.emailTaken(email) : mails.confirmEmail(email, token);
  sent.catch((err: unknown) => house.log.error({ err }, 'a mail was not sent'));
}

/**
 * The link was opened, so the address is theirs: the old one is told, transfers of the panel wait for a day, every session ends.
 * @throws PanelError `link_invalid`
 */
export async function confirmEmail(house: PanelHouse, token: string): Promise<void> {
  const now = house.clock.now();
  const changed = await house.sql.tx(async (tx) => {
    const wanted = await takeNewEmail(tx, tokenHash(token), now);
    // Somebody may have come with that address since.
    if (!wanted || (await findUser(tx, wanted.email))) throw new PanelError('link_invalid');
    await updateEmail(tx, wanted.userId, wanted.email, now + freezeMs, now);
    return wanted;
  });
  await panelMails(house).emailWasChanged(changed.oldEmail, changed.email);
}
