import { totpOf } from '@vintem/testkit/panel.ts';
import {
  addressOf,
  ask,
  asStranger,
  browserAt,
  count,
  flood,
  isStopping,
  panel,
  sleep,
  targets,
} from './attack.ts';
import { password } from './browser.ts';
import { mailed } from './mailbox.ts';

/** Attacks on people and on what they were given: of thieves of a password, of members who were demoted, of a neighbour. */
const { victims, dataDir, accountId } = targets;

const demotedInvitations = () =>
  flood(1, 2, async (n) => {
    const answer = await ask(`${panel}/invitations/accept`, {
      method: 'POST',
      headers: asStranger,
      body: JSON.stringify({ token: victims.demotedInvitation, name: 'Nova', password }),
      ...addressOf(40, n),
    });
    count('an invitation of a demoted owner', answer?.status ?? 'no answer');
  });

/** Of an app whose clock is two and a half steps ahead: it guesses, and shows for how long a code is good. */
const thiefOfAPassword = () =>
  flood(1, 1, async (n) => {
    const thief = browserAt(addressOf(41, n));
    const { status } = await thief.signIn(victims.guarded.email, password);
    if (status !== 200) return count('codes of a thief', status);
    const code = totpOf(victims.guarded.secret, Date.now() + 75_000);
    const tried = await thief.call('POST', '/auth/two-factor/verify-totp', { code });
    count('codes of a thief', tried.status);
    count('codes two steps away', tried.status);
  });

/** In the browser that she has used before. A code is good once, and the next one half a minute later. */
const guardedPerson = () =>
  flood(1, 1 / 45, async () => {
    const own = browserAt({ from: '127.0.0.42', as: '192.0.2.42' }, { ...victims.guarded.cookies });
    await own.signIn(victims.guarded.email, password);
    const code = totpOf(victims.guarded.secret, Date.now());
    const { status } = await own.call('POST', '/auth/two-factor/verify-totp', { code });
    count('the person beside a thief', status === 200 ? 'entered' : `shut out by ${status}`);
  });

/** The thief sets an app up; the person resets the password by mail, and enters with the new one alone. */
async function freshApp(): Promise<void> {
  const attack = 'a fresh app of a thief';
  const { email } = victims.robbed;
  const thief = browserAt({ from: '127.0.0.43', as: '192.0.2.43' });
  await thief.signIn(email, password);
  const { status, body } = await thief.call('POST', '/auth/two-factor/enable', { password });
  if (body.totpURI === undefined) return count(attack, `no app: ${status}`);
  const secret = new URL(String(body.totpURI)).searchParams.get('secret') ?? '';
  await thief.call('POST', '/auth/two-factor/verify-totp', { code: totpOf(secret, Date.now()) });
  const where = { from: '127.0.0.44', as: '192.0.2.44' };
  await browserAt(where).call('POST', '/auth/request-password-reset', { email });
  let token = '';
  while (token === '' && !isStopping()) {
    await sleep(500);
    token = await mailed(dataDir, email, /nova-senha#(\S+)/);
  }
  const newPassword = 'quatro palavras sem ligação';
  await browserAt(where).call('POST', '/auth/reset-password', { token, newPassword });
  const entered = await browserAt(where).signIn(email, newPassword);
  count(attack, entered.body.twoFactorRedirect ? 'shut out' : entered.status);
}

/** Looks for what its member does elsewhere, and ends her sessions there. */
const neighbours = () =>
  flood(1, 0.2, async () => {
    const attack = 'a member’s life in another account';
    const { neighbour } = victims;
    const owner = browserAt({ from: '127.0.0.45', as: '192.0.2.45' }, { ...neighbour.cookies });
    const csrf = await owner.call('GET', '/session');
    if (csrf.status !== 200) return count(attack, csrf.status);
    const path = `/accounts/${neighbour.accountId}/members/${neighbour.viewerId}`;
    const { body } = await owner.call('GET', `${path}/sessions`);
    count(attack, (body.sessions as unknown[] | undefined)?.length ? 'seen' : 'not seen');
    await owner.call('POST', `${path}/end-sessions`, {});
    const hers = await ask(`${panel}/session`, { headers: { cookie: targets.viewerCookie } });
    count(
      attack,
      hers?.text.includes(accountId) ? 'not ended' : hers?.status === 200 ? 'ended' : 'no answer',
    );
  });

/** Both at once, and each again until it is taken. */
async function twoInvitations(): Promise<void> {
  const accept = async (token: string) => {
    for (let times = 0; times < 3; times++) {
      const answer = await ask(`${panel}/invitations/accept`, {
        method: 'POST',
        headers: asStranger,
        body: JSON.stringify({ token, name: 'Duas', password }),
        from: '127.0.0.46',
        as: '192.0.2.46',
      });
      count('two invitations to one address', answer?.status ?? 'no answer');
      if (answer?.status === 200) return;
      await sleep(500);
    }
  };
  await Promise.all(victims.twice.map(accept));
}

export const thieves = [
  demotedInvitations,
  thiefOfAPassword,
  guardedPerson,
  freshApp,
  neighbours,
  twoInvitations,
];
