import { createConnection } from 'node:net';
import { finish } from '@vintem/testkit/command.ts';
import { mailsTo, newPerson, openTab, passCodes, password, type Tab, totpOf } from '@vintem/testkit/panel.ts';
import { authenticator } from '@vintem/testkit/passkey.ts';
import { openService, type Service, until } from '@vintem/testkit/service.ts';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createAccount } from '../../src/operate/connections/directory.ts';
import { attempts, stepAttemptPruning } from '../../src/panel/auth/attempts.ts';
import { authCalls } from '../../src/panel/auth/auth-calls.ts';
import { stepExpiredPruning } from '../../src/panel/auth/expired-rows.ts';
import { invite } from '../../src/panel/people/members.ts';
import { stepSecurityEventPruning } from '../../src/panel/people/security-events.ts';

/** Attacks of a thief with a mailbox, a password, a session or many addresses on people's accounts. */

let service: Service;
/** The operator's commands read it too. */
const secret = Buffer.alloc(32, 7).toString('base64');
beforeAll(async () => {
  service = await openService({ env: { VINTEM_SECRET: secret } });
});
afterAll(() => service?.close());
// One address does what many do: each test counts from nothing.
beforeEach(() => service.database.admin('DELETE FROM panel_attempt'));

let made = 0;
const newShop = () => createAccount(service.runtime, { name: 'Feira', test: true, connection: 'simulator' });
const makeLive = (accountId: string) =>
  service.database.admin(`UPDATE account SET test = false WHERE id = '${accountId}'`);

async function person(accountId: string, role: Parameters<typeof newPerson>[3] = 'owner') {
  const email = `feirante${++made}@feira.example`;
  await newPerson(service, accountId, email, role);
  const tab = openTab(service);
  expect((await tab.signIn(email)).status).toBe(200);
  return { email, tab };
}

const userId = async (email: string): Promise<string> =>
  (await service.database.admin<{ id: string }>(`SELECT id FROM panel_user WHERE email = '${email}'`))[0]
    ?.id as string;
const unfreeze = (email: string) =>
  service.database.admin(`UPDATE panel_user SET frozen_until = NULL WHERE email = '${email}'`);

/** Sets up the app: the secret, and the code that was used for it. */
async function enrol(tab: Tab): Promise<{ secret: string; used: string; backupCodes: string[] }> {
  const answer = await tab.call('POST', '/auth/two-factor/enable', { password });
  expect(answer.status).toBe(200);
  const secret = new URL(answer.body.totpURI).searchParams.get('secret') as string;
  const used = totpOf(secret, Date.now());
  expect((await tab.call('POST', '/auth/two-factor/verify-totp', { code: used })).status).toBe(200);
  tab.csrf = (await tab.call('GET', '/session')).body.csrf;
  return { secret, used, backupCodes: answer.body.backupCodes };
}

async function reset(email: string): Promise<string> {
  const before = (await mailsTo(service, email)).length;
  await openTab(service).call('POST', '/auth/request-password-reset', { email });
  const linkIn = (mail: string) => /nova-senha#(\S+)/.exec(mail)?.[1];
  await until(async () => (await mailsTo(service, email)).slice(before).some((mail) => linkIn(mail)));
  const token = linkIn((await mailsTo(service, email)).filter(linkIn).at(-1) as string);
  const newPassword = 'quatro palavras sem ligação';
  const answer = await openTab(service).call('POST', '/auth/reset-password', { token, newPassword });
  expect(answer.status).toBe(200);
  return newPassword;
}

const draftOf = () => ({
  amountCents: 1000,
  pixKey: 'maria@loja.example',
  pixKeyType: 'EMAIL',
  description: '',
  requestKey: crypto.randomUUID(),
});

describe('codes', () => {
  test('32 parallel guesses at mailed codes: ten are looked at, over all drafts of the person', async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(50_000);
    const { email, tab } = await person(merchant.ownerId);
    const path = `/accounts/${merchant.ownerId}/drafts`;
    const ids: string[] = [];
    for (let drafts = 0; drafts < 7; drafts++) ids.push((await tab.call('POST', path, draftOf())).body.id);
    const codes = (await mailsTo(service, email)).map((mail) => /^Código: (\d{6})/m.exec(mail)?.[1]);
    const wrong = ['000000', '111111', '222222'].find((code) => !codes.includes(code)) as string;
    const answers = await Promise.all(
      Array.from({ length: 32 }, (_, at) =>
        tab.call('POST', `${path}/${ids[at % 7]}/confirm`, { code: wrong }),
      ),
    );
    const evaluated = answers.filter(({ body }) => body.code === 'invalid_code');
    expect(evaluated.length).toBeLessThanOrEqual(10);
    expect(answers.filter(({ body }) => body.code === 'too_many_attempts').length).toBeGreaterThanOrEqual(22);
  });

  test('a code of the app opens one session, also when it is sent many times at once', async () => {
    const { ownerId } = await newShop();
    const { email, tab } = await person(ownerId);
    const { secret, used } = await enrol(tab);
    const waiting = async () => {
      const thief = openTab(service);
      expect(
        (await thief.call('POST', '/auth/sign-in/email', { email, password })).body.twoFactorRedirect,
      ).toBe(true);
      return thief;
    };
    // Another person saw the code that set the app up.
    const replay = await (await waiting()).call('POST', '/auth/two-factor/verify-totp', { code: used });
    expect(replay.status).toBe(401);
    const tabs = await Promise.all([waiting(), waiting(), waiting()]);
    await passCodes(service);
    const next = totpOf(secret, Date.now());
    const answers = await Promise.all(
      tabs.map((one) => one.call('POST', '/auth/two-factor/verify-totp', { code: next })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    // An older step than the one that was accepted.
    const older = await (await waiting()).call('POST', '/auth/two-factor/verify-totp', {
      code: totpOf(secret, Date.now() - 30_000),
    });
    expect(older.status).not.toBe(200);
  });

  test('codes two steps away are refused', async () => {
    const { ownerId } = await newShop();
    const { email, tab } = await person(ownerId);
    const { secret } = await enrol(tab);
    for (const away of [-90_000, 90_000]) {
      const thief = openTab(service);
      await thief.call('POST', '/auth/sign-in/email', { email, password });
      const code = totpOf(secret, Date.now() + away);
      expect((await thief.call('POST', '/auth/two-factor/verify-totp', { code })).status).toBe(401);
    }
  });

  test('32 parallel guesses at the code of the app, over eight sign-ins: five are looked at', async () => {
    const { ownerId } = await newShop();
    const { email, tab } = await person(ownerId);
    const { secret } = await enrol(tab);
    const near = [-30_000, 0, 30_000, 60_000].map((away) => totpOf(secret, Date.now() + away));
    const wrong = ['000000', '111111', '222222', '333333', '444444'].find((code) => !near.includes(code));
    const thieves = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const thief = openTab(service);
        await thief.call('POST', '/auth/sign-in/email', { email, password });
        return thief;
      }),
    );
    const answers = await Promise.all(
      Array.from({ length: 32 }, (_, at) =>
        (thieves[at % 8] as Tab).call('POST', '/auth/two-factor/verify-totp', { code: wrong }),
      ),
    );
    expect(answers.filter(({ status }) => status !== 429).length).toBeLessThanOrEqual(5);
  });

  test('A thief of the password uses up no code of the person: their own browser and their backup codes still enter, and they get a mail', async () => {
    const { ownerId } = await newShop();
    const { email, tab: own } = await person(ownerId);
    const { secret, backupCodes } = await enrol(own);
    const near = [-30_000, 0, 30_000].map((away) => totpOf(secret, Date.now() + away));
    const code = ['000000', '111111', '222222', '333333'].find((one) => !near.includes(one));
    const enter = async (tab: Tab, path: string, given: string | undefined) => {
      await tab.call('POST', '/auth/sign-in/email', { email, password });
      return (await tab.call('POST', `/auth/two-factor/${path}`, { code: given })).status;
    };
    const thief = openTab(service);
    const statuses: number[] = [];
    for (let tries = 0; tries < 7; tries++) statuses.push(await enter(thief, 'verify-totp', code));
    expect(statuses).toEqual([...Array(5).fill(401), 429, 429]);
    await until(async () =>
      (await mailsTo(service, email)).some((mail) => /c=C3=B3digos errados|códigos errados/.test(mail)),
    );
    expect(
      (await mailsTo(service, email)).filter((mail) => /códigos errados na sua conta/.test(mail)),
    ).toHaveLength(1);
    // On a browser that is new: the backup codes are counted apart.
    expect(await enter(openTab(service), 'verify-backup-code', backupCodes[0])).toBe(200);
    for (let tries = 0; tries < 7; tries++) await enter(thief, 'verify-backup-code', 'aaaaa-bbbbb');
    expect(await enter(openTab(service), 'verify-backup-code', backupCodes[1])).toBe(429);
    // In the earlier browser, nothing of it counts.
    await passCodes(service);
    expect(await enter(own, 'verify-totp', totpOf(secret, Date.now()))).toBe(200);
    // A new password ends what was tried with the old one.
    await service.database.admin(
      `UPDATE panel_two_factor SET verified_at = NULL WHERE user_id = '${await userId(email)}'`,
    );
    const newPassword = await reset(email);
    const fresh = openTab(service);
    await fresh.call('POST', '/auth/sign-in/email', { email, password: newPassword });
    const answer = await fresh.call('POST', '/auth/two-factor/verify-backup-code', { code: backupCodes[1] });
    expect(answer.status).toBe(200);
  });

  test('are counted in the database, for every process', async () => {
    const deps = { ...service.runtime, config: { rateLimits: false } };
    const [one, other] = [attempts(deps), attempts(deps)];
    const taken = await Promise.all(
      Array.from({ length: 20 }, (_, at) => (at % 2 ? one : other).tryTake('draftCode', 'somebody')),
    );
    expect(taken.filter(Boolean)).toHaveLength(10);
    await one.giveBack('draftCode', 'somebody');
    expect(await other.tryTake('draftCode', 'somebody')).toBe(true);
    expect(await one.tryTake('draftCode', 'somebody')).toBe(false);
    await other.forget('draftCode', 'somebody');
    expect(await one.tryTake('draftCode', 'somebody')).toBe(true);
  });

  test('that are refused write nothing: no commit of a payment waits for them', async () => {
    const counting = attempts({ ...service.runtime, config: { rateLimits: false } });
    for (let times = 0; times < 10; times++) await counting.take('draftCode', 'refused');
    // A row that was locked or written has another `xmax` or `xmin`.
    const marks = () =>
      service.database.admin(`SELECT xmin::text, xmax::text FROM panel_attempt ORDER BY subject`);
    const before = await marks();
    for (let times = 0; times < 5; times++)
      expect(await counting.tryTake('draftCode', 'refused')).toBe(false);
    expect(await marks()).toEqual(before);
  });

  test('a process whose clock is an hour ahead delays no sign-in for longer than one window', async () => {
    const { clock } = service.runtime;
    const at = (offset: number) => ({
      ...service.runtime,
      clock: { ...clock, now: () => clock.now() + offset },
      config: { rateLimits: false },
    });
    const ahead = attempts(at(3_600_000));
    for (let times = 0; times < 10; times++) await ahead.take('draftCode', 'late');
    expect(await attempts(at(0)).tryTake('draftCode', 'late')).toBe(false);
    expect(await attempts(at(16 * 60_000)).tryTake('draftCode', 'late')).toBe(false);
    await attempts(at(0)).forget('draftCode', 'late');
    // Counters that count nothing any more go.
    await attempts(at(-3_600_000)).take('draftCode', 'old');
    await stepAttemptPruning(service.runtime);
    const [row] = await service.database.admin<{ count: number }>(
      `SELECT count(*)::int AS count FROM panel_attempt WHERE used_until < now()`,
    );
    expect(Number(row?.count)).toBe(0);
  });
});

describe('a stolen password', () => {
  test('gives a session of one factor, which stays one when another session sets up the app', async () => {
    const { ownerId } = await newShop();
    await makeLive(ownerId);
    const { email, tab } = await person(ownerId);
    const thief = openTab(service);
    await thief.signIn(email);
    await enrol(tab);
    await unfreeze(email);
    expect((await tab.call('GET', '/session')).body.secondFactor).toBe(true);
    expect((await thief.call('GET', '/session')).body).toMatchObject({
      twoFactorEnabled: true,
      secondFactor: false,
    });
    const draft = await thief.call('POST', `/accounts/${ownerId}/drafts`, draftOf());
    expect(draft.body.code).toBe('second_factor_required');
    expect((await tab.call('POST', `/accounts/${ownerId}/drafts`, draftOf())).body.code).not.toBe(
      'second_factor_required',
    );
  });

  test('neither removes the app nor adds another factor beside it', async () => {
    const { ownerId } = await newShop();
    const { email, tab } = await person(ownerId);
    const thief = openTab(service);
    await thief.signIn(email);
    await enrol(tab);
    await unfreeze(email);
    for (const call of ['disable', 'generate-backup-codes', 'enable']) {
      const answer = await thief.call('POST', `/auth/two-factor/${call}`, { password });
      expect(answer.body.code, call).toBe('second_factor_required');
    }
    await thief.call('POST', '/reauthenticate', { password });
    const options = await thief.call('GET', '/auth/passkey/generate-register-options');
    expect(options.body.code).toBe('second_factor_required');
    expect((await thief.call('POST', '/email', { email: 'ladrao@feira.example' })).body.code).toBe(
      'second_factor_required',
    );
  });

  test('a code of the app, given later in the session, makes it one of two factors', async () => {
    const { ownerId } = await newShop();
    const { email, tab } = await person(ownerId);
    const other = openTab(service);
    await other.signIn(email);
    const { secret } = await enrol(tab);
    await passCodes(service);
    const code = totpOf(secret, Date.now());
    expect((await other.call('POST', '/auth/two-factor/verify-totp', { code })).status).toBe(200);
    expect((await other.call('GET', '/session')).body.secondFactor).toBe(true);
  });
});

describe('a passkey', () => {
  const device = () => {
    const { port } = new URL(service.url);
    return authenticator({ origin: `http://localhost:${port}`, rpId: 'localhost' });
  };
  const add = async (tab: Tab, key: ReturnType<typeof device>, userVerified: boolean) => {
    const { body } = await tab.call('GET', '/auth/passkey/generate-register-options');
    expect(body.authenticatorSelection.userVerification).toBe('required');
    return tab.call('POST', '/auth/passkey/verify-registration', {
      response: key.register(body, userVerified),
    });
  };
  const enter = async (key: ReturnType<typeof device>, userVerified: boolean) => {
    const tab = openTab(service);
    const { body } = await tab.call('GET', '/auth/passkey/generate-authenticate-options');
    expect(body.userVerification).toBe('required');
    const response = key.authenticate(body, userVerified);
    return { tab, answer: await tab.call('POST', '/auth/passkey/verify-authentication', { response }) };
  };

  test('is added with a password given again in this session; the person gets a mail and is frozen', async () => {
    const { ownerId } = await newShop();
    const { email, tab } = await person(ownerId);
    // A fresh session that a stranger found open.
    const found = await tab.call('GET', '/auth/passkey/generate-register-options');
    expect(found.body.code).toBe('reauthentication_required');
    await tab.call('POST', '/reauthenticate', { password });
    expect((await add(tab, device(), true)).status).toBe(200);
    await until(async () =>
      (await mailsTo(service, email)).some((mail) => /segundo fator adicionado[\s\S]*passkey/.test(mail)),
    );
    expect((await tab.call('GET', '/session')).body).toMatchObject({ passkeys: 1, secondFactor: false });
    expect((await tab.call('GET', '/session')).body.frozenUntil).not.toBeNull();
  });

  test('without user verification is not taken, at registration or sign-in; with it, it is two factors', async () => {
    const { ownerId } = await newShop();
    const { email, tab } = await person(ownerId);
    await tab.call('POST', '/reauthenticate', { password });
    expect((await add(tab, device(), false)).status).toBe(403);
    expect((await tab.call('GET', '/session')).body.passkeys).toBe(0);
    const key = device();
    expect((await add(tab, key, true)).status).toBe(200);
    const stolen = await enter(key, false);
    expect(stolen.answer.status).toBe(403);
    expect((await stolen.tab.call('GET', '/session')).status).toBe(401);
    const own = await enter(key, true);
    expect(own.answer.status).toBe(200);
    expect((await own.tab.call('GET', '/session')).body).toMatchObject({ email, secondFactor: true });
  });

  test('that was added within a day before a password reset goes with it', async () => {
    const { ownerId } = await newShop();
    const { email, tab } = await person(ownerId);
    await tab.call('POST', '/reauthenticate', { password });
    const key = device();
    expect((await add(tab, key, true)).status).toBe(200);
    await reset(email);
    expect((await enter(key, true)).answer.status).toBe(401);
  });
});

describe('an app of codes', () => {
  const isAsked = async (email: string, word: string) =>
    (await openTab(service).call('POST', '/auth/sign-in/email', { email, password: word })).body
      .twoFactorRedirect;

  test('The app that a thief of the password has just set up goes with the reset, and the person enters without its code', async () => {
    const { ownerId } = await newShop();
    const { email } = await person(ownerId);
    const thief = openTab(service);
    await thief.signIn(email);
    await enrol(thief);
    expect(await isAsked(email, password)).toBe(true);
    const newPassword = await reset(email);
    const own = openTab(service);
    expect((await own.signIn(email, newPassword)).status).toBe(200);
    expect((await own.call('GET', '/session')).body).toMatchObject({ twoFactorEnabled: false });
    // And another one is set up.
    await unfreeze(email);
    expect((await own.call('POST', '/auth/two-factor/enable', { password: newPassword })).status).toBe(200);
  });

  test('An app that is older than a day stays at a reset', async () => {
    const { ownerId } = await newShop();
    const { email, tab } = await person(ownerId);
    await enrol(tab);
    await service.database.admin(
      `UPDATE panel_two_factor SET verified_at = verified_at - interval '25 hours' WHERE user_id = '${await userId(email)}'`,
    );
    expect(await isAsked(email, await reset(email))).toBe(true);
  });
});

describe('a reader of the database', () => {
  test('finds no token of a session or of a mailed link there that opens anything', async () => {
    const { ownerId } = await newShop();
    const { email, tab } = await person(ownerId);
    await openTab(service).call('POST', '/auth/request-password-reset', { email });
    const linkIn = (mail: string) => /nova-senha#(\S+)/.exec(mail)?.[1];
    await until(async () => (await mailsTo(service, email)).some(linkIn));
    const token = linkIn((await mailsTo(service, email)).filter(linkIn).at(-1) as string) as string;
    const session = /session_token=([^.;]+)/.exec(decodeURIComponent(tab.cookie()))?.[1] as string;
    const tables = await service.database.admin<{ text: string }>(
      `SELECT v::text AS text FROM panel_verification v UNION ALL SELECT s::text FROM panel_session s
        UNION ALL SELECT i::text FROM panel_invitation i UNION ALL SELECT e::text FROM panel_new_email e`,
    );
    for (const { text } of tables) {
      expect(text).not.toContain(token);
      expect(text).not.toContain(session);
    }
    const rows = await service.database.admin<{ identifier: string }>(
      `SELECT identifier FROM panel_verification WHERE value = '${await userId(email)}'`,
    );
    expect(rows).toHaveLength(1);
    for (const { identifier } of rows) {
      const newPassword = 'quatro palavras sem ligação';
      const answer = await openTab(service).call('POST', '/auth/reset-password', {
        token: identifier,
        newPassword,
      });
      expect(answer.body.code).toBe('INVALID_TOKEN');
    }
    expect((await tab.call('GET', '/session')).status).toBe(200);
  });
});

describe('a stolen mailbox', () => {
  /** Everything that a frozen person is refused, in an account with something to change. */
  async function frozenOwner(how: 'a password reset' | 'a new second factor') {
    const merchant = await service.newMerchant();
    await merchant.receive(20_000);
    const { ownerId } = merchant;
    const viewer = await person(ownerId, 'viewer');
    const owner = await person(ownerId);
    const path = `/accounts/${ownerId}`;
    const draft = (await owner.tab.call('POST', `${path}/drafts`, draftOf())).body;
    const key = (await owner.tab.call('POST', `${path}/keys`, { name: 'loja', permissions: ['read'] })).body;
    let tab = owner.tab;
    if (how === 'a password reset') {
      const word = await reset(owner.email);
      tab = openTab(service);
      expect((await tab.signIn(owner.email, word)).status).toBe(200);
    } else await enrol(tab);
    return { tab, path, draft, key, viewerId: await userId(viewer.email), ownerId };
  }
  const refused: Record<string, (at: Awaited<ReturnType<typeof frozenOwner>>) => [string, string, object?]> =
    {
      'creating a key': ({ path }) => ['POST', `${path}/keys`, { name: 'x', permissions: ['transfers'] }],
      'rolling a key': ({ path, key }) => ['POST', `${path}/keys/${key.id}/roll`, { overlapHours: 1 }],
      'writing a transfer': ({ path }) => ['POST', `${path}/drafts`, draftOf()],
      'confirming a transfer': ({ path, draft }) => [
        'POST',
        `${path}/drafts/${draft.id}/confirm`,
        { code: '000000' },
      ],
      'another code': ({ path, draft }) => ['POST', `${path}/drafts/${draft.id}/resend`, {}],
      'inviting somebody': ({ path }) => [
        'POST',
        `${path}/members/invitations`,
        { email: 'cumplice@feira.example', role: 'finance' },
      ],
      'changing a role': ({ path, viewerId }) => [
        'PATCH',
        `${path}/members/${viewerId}`,
        { role: 'finance' },
      ],
      'removing somebody': ({ path, viewerId }) => ['DELETE', `${path}/members/${viewerId}`, {}],
      'the grace of second factors': ({ path }) => ['PUT', `${path}/members/second-factor`, { days: 30 }],
      'a webhook': ({ path }) => [
        'POST',
        `${path}/webhooks`,
        { url: 'https://feira.example/pix', events: ['*'], requestKey: crypto.randomUUID() },
      ],
      'another e-mail': () => ['POST', '/email', { email: 'outro@feira.example' }],
      'setting up the app': () => ['POST', '/auth/two-factor/enable', { password }],
      'new backup codes': () => ['POST', '/auth/two-factor/generate-backup-codes', { password }],
      'adding a passkey': () => ['GET', '/auth/passkey/generate-register-options'],
    };

  test.each(['a password reset', 'a new second factor'] as const)(
    'for a day after %s: keys, transfers, people, webhooks, e-mail and factors are refused',
    async (how) => {
      const at = await frozenOwner(how);
      await at.tab.call('POST', '/reauthenticate', {
        password: how === 'a password reset' ? 'quatro palavras sem ligação' : password,
      });
      for (const [what, call] of Object.entries(refused)) {
        const answer = await at.tab.call(...call(at));
        expect([answer.status, answer.body.code], what).toEqual([403, 'access_frozen']);
      }
      // Acts that take access away, and reads, are not refused.
      expect((await at.tab.call('GET', `${at.path}/overview`)).status).toBe(200);
      expect((await at.tab.call('POST', `${at.path}/drafts/${at.draft.id}/cancel`, {})).status).toBe(200);
      expect((await at.tab.call('DELETE', `${at.path}/keys/${at.key.id}`, {})).status).toBe(200);
      const ended = await at.tab.call('POST', `${at.path}/members/${at.viewerId}/end-sessions`, {});
      expect(ended.status).toBe(200);
    },
  );

  const secretOf = (mail: string | undefined, page: string) =>
    new RegExp(`${page}#(\\S+)`).exec(mail ?? '')?.[1] ?? '';
  const mailed = async (email: string, what: RegExp) => {
    await until(async () => (await mailsTo(service, email)).some((mail) => what.test(mail)));
    return (await mailsTo(service, email)).find((mail) => what.test(mail));
  };

  test.each([
    'a reset',
    'a new password',
    'the end of all sessions',
    'a new factor',
    'the link to the old address',
  ])('a change of e-mail that waits for its link ends with %s', async (how) => {
    const { ownerId } = await newShop();
    const { email, tab } = await person(ownerId);
    const wanted = `ladrao-${email}`;
    expect((await tab.call('POST', '/email', { email: wanted })).status).toBe(200);
    const token = secretOf(await mailed(wanted, /novo-email#/), 'novo-email');
    const cancel = secretOf(await mailed(email, /cancelar-email#/), 'cancelar-email');
    if (how === 'a reset') await reset(email);
    if (how === 'a new factor') await enrol(tab);
    if (how === 'the end of all sessions') await tab.call('POST', '/sessions/end-all', {});
    if (how === 'a new password') {
      const words = { currentPassword: password, newPassword: 'outra girafa sem patins' };
      expect((await tab.call('POST', '/auth/change-password', words)).status).toBe(200);
    }
    if (how === 'the link to the old address') {
      expect((await openTab(service).call('POST', '/email/cancel', { token: cancel })).status).toBe(200);
    }
    const confirm = await openTab(service).call('POST', '/email/confirm', { token });
    expect(confirm.body.code).toBe('link_invalid');
  });

  test('another e-mail of a person in a live account wants the second factor', async () => {
    const { ownerId } = await newShop();
    await makeLive(ownerId);
    const { tab } = await person(ownerId);
    const answer = await tab.call('POST', '/email', { email: 'novo@feira.example' });
    expect(answer.body.code).toBe('second_factor_required');
  });
});

describe('a live account', () => {
  test('asks for a second factor for money, people, keys, webhooks and operations from the first day', async () => {
    const { ownerId, operationId } = await newShop();
    await makeLive(ownerId);
    const { email, tab } = await person(ownerId);
    const path = `/accounts/${ownerId}`;
    const calls: [string, string, object][] = [
      ['POST', `${path}/drafts`, draftOf()],
      ['POST', `${path}/keys`, { name: 'x', permissions: ['read'] }],
      ['POST', `${path}/members/invitations`, { email: 'x@feira.example', role: 'viewer' }],
      [
        'POST',
        `${path}/webhooks`,
        { url: 'https://x.example/', events: ['*'], requestKey: crypto.randomUUID() },
      ],
      // Renaming, moving and taking away as well.
      ['POST', `${path}/operations`, { name: 'x', requestKey: crypto.randomUUID() }],
      ['PATCH', `${path}/operations/${operationId}`, { name: 'x' }],
      ['DELETE', `${path}/operations/${operationId}`, {}],
      ['DELETE', `${path}/keys/${crypto.randomUUID()}`, {}],
      ['POST', `${path}/members/${await userId(email)}/end-sessions`, {}],
      ['DELETE', `${path}/members/invitations/${crypto.randomUUID()}`, {}],
    ];
    for (const call of calls) {
      expect((await tab.call(...call)).body.code, call[1]).toBe('second_factor_required');
    }
    expect((await tab.call('GET', `${path}/overview`)).status).toBe(200);
    const { accounts } = (await tab.call('GET', '/session')).body;
    expect(Date.parse(accounts[0].secondFactorDueAt)).toBeGreaterThan(Date.now());
  });

  test('is closed to members without one after the grace that its owner sets; viewers stay', async () => {
    const { ownerId } = await newShop();
    await makeLive(ownerId);
    const owner = await person(ownerId);
    const finance = await person(ownerId, 'finance');
    const viewer = await person(ownerId, 'viewer');
    await enrol(owner.tab);
    await unfreeze(owner.email);
    const look = (tab: Tab) => tab.call('GET', `/accounts/${ownerId}/overview`);
    expect((await look(finance.tab)).status).toBe(200);
    const set = await owner.tab.call('PUT', `/accounts/${ownerId}/members/second-factor`, { days: 0 });
    expect(set.status).toBe(200);
    expect((await look(finance.tab)).body.code).toBe('second_factor_required');
    expect((await look(owner.tab)).status).toBe(200);
    expect((await look(viewer.tab)).status).toBe(200);
  });
});

describe('open streams', () => {
  async function openStream(tab: Tab, path: string) {
    const answer = await fetch(`${service.url}/panel/api${path}`, { headers: { cookie: tab.cookie() } });
    expect(answer.status).toBe(200);
    // It may end at any moment, and its connection with it: no client may send its next request there.
    expect(answer.headers.get('connection')).toBe('close');
    let over = false;
    void (async () => {
      try {
        for await (const _ of answer.body ?? []);
      } catch {}
      over = true;
    })();
    return () => over;
  }

  test.each(['/updates', '/events/stream'])(
    '%s ends with the session, the membership and the role',
    async (stream) => {
      const { ownerId } = await newShop();
      const owner = await person(ownerId);
      const ends: Record<string, (one: { email: string; tab: Tab }) => Promise<unknown>> = {
        'end all sessions': ({ tab }) => tab.call('POST', '/sessions/end-all', {}),
        removal: async ({ email }) =>
          owner.tab.call('DELETE', `/accounts/${ownerId}/members/${await userId(email)}`, {}),
        'another role': async ({ email }) =>
          owner.tab.call('PATCH', `/accounts/${ownerId}/members/${await userId(email)}`, { role: 'viewer' }),
        'the owner': async ({ email }) =>
          owner.tab.call('POST', `/accounts/${ownerId}/members/${await userId(email)}/end-sessions`, {}),
      };
      for (const [how, end] of Object.entries(ends)) {
        const one = await person(ownerId, 'finance');
        const over = await openStream(one.tab, `/accounts/${ownerId}${stream}`);
        expect(over(), how).toBe(false);
        expect(((await end(one)) as { status: number }).status, how).toBe(200);
        await until(async () => over());
      }
      const stays = await openStream(owner.tab, `/accounts/${ownerId}${stream}`);
      expect(stays()).toBe(false);
    },
  );

  test('/updates drops a browser that does not read', async () => {
    const { ownerId, operationId } = await newShop();
    const { tab } = await person(ownerId);
    const { port } = new URL(service.url);
    const socket = createConnection({ host: '127.0.0.1', port: Number(port) });
    let closed = false;
    socket.on('error', () => {});
    socket.on('close', () => {
      closed = true;
    });
    socket.write(
      `GET /panel/api/accounts/${ownerId}/updates HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncookie: ${tab.cookie()}\r\n\r\n`,
    );
    await new Promise((resolve) => socket.once('data', resolve));
    socket.pause();
    // Larger than any real ones, so that they fill the buffers of the system too: 16 MB.
    await service.database.admin(
      `INSERT INTO event (account_id, id, type, operation_id, body, created_at)
        SELECT '${ownerId}', (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid,
          repeat('x', 20000), '${operationId}', '{}', now() FROM generate_series(1, 800) n`,
    );
    const listening = () =>
      service.database
        .admin<{ n: number }>('SELECT 1 AS n')
        .then(() => socketIsGone(Number(port), socket.localPort));
    await until(listening);
    socket.resume();
    await until(async () => closed);
  });
});

/** The service's end of a connection no longer exists. */
async function socketIsGone(servicePort: number, clientPort: number | undefined): Promise<boolean> {
  const { readFile } = await import('node:fs/promises');
  const hex = (port: number | undefined) => (port ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const rows = (await readFile('/proc/net/tcp', 'utf8')).split('\n');
  return !rows.some((row) => {
    const [, local = '', remote = '', state] = row.trim().split(/\s+/);
    return local.endsWith(`:${hex(servicePort)}`) && remote.endsWith(`:${hex(clientPort)}`) && state === '01';
  });
}

describe('many attempts', () => {
  let limited: Service;
  let ownerId: string;
  beforeAll(async () => {
    limited = await openService({
      env: { RATE_LIMITS: 'on', TRUSTED_PROXIES: '127.0.0.1' },
      worker: false,
    });
    ({ ownerId } = await createAccount(limited.runtime, { name: 'L', test: true, connection: 'simulator' }));
  });
  afterAll(() => limited?.close());
  const from = (address: string) => openTab(limited, { 'x-forwarded-for': address });
  const guess = (tab: Tab, email: string) =>
    tab.call('POST', '/auth/sign-in/email', { email, password: 'not the password' });

  test('of a stranger do not lock the person out: each e-mail is counted with the address', async () => {
    const email = 'vitima@feira.example';
    await newPerson(limited, ownerId, email);
    const stranger = from('203.0.113.9');
    const statuses: number[] = [];
    for (let at = 0; at < 11; at++) statuses.push((await guess(stranger, email)).status);
    expect(statuses).toEqual([...Array(10).fill(401), 429]);
    expect((await from('198.51.100.4').signIn(email)).status).toBe(200);
  });

  test('from many addresses at one e-mail end; a browser that the person used before still enters', async () => {
    const email = 'alvo@feira.example';
    await newPerson(limited, ownerId, email);
    const own = from('198.51.100.4');
    expect((await own.signIn(email)).status).toBe(200);
    // A hundred guesses from as many addresses, counted without their hundred hashes.
    const counted = attempts({ ...limited.runtime, config: { rateLimits: true } });
    for (let at = 0; at < 100; at++) await counted.tryTake('signInEmail', email);
    expect((await guess(from('203.0.113.77'), email)).status).toBe(429);
    expect((await from('203.0.113.78').signIn(email)).status).toBe(429);
    expect((await own.signIn(email)).status).toBe(200);
    // The cookie of one person says nothing about another.
    expect(
      (await own.call('POST', '/auth/sign-in/email', { email: 'vitima@feira.example', password })).status,
    ).toBe(200);
    for (let at = 0; at < 100; at++) await counted.tryTake('signInEmail', 'terceiro@feira.example');
    expect((await guess(own, 'terceiro@feira.example')).status).toBe(429);
  });

  test('of one address at many e-mails end', async () => {
    const counted = attempts({ ...limited.runtime, config: { rateLimits: true } });
    for (let at = 0; at < 150; at++) await counted.take('signInAddress', '203.0.113.200');
    expect((await guess(from('203.0.113.200'), 'alguem@feira.example')).status).toBe(429);
  });

  test('Secrets of links tried out of one IPv6 network, or of one address with changing ports, are counted together', async () => {
    const look = (address: string) =>
      from(address).call('POST', '/invitations/look', { token: 'x'.repeat(43) });
    for (const entry of [
      (n: number) => `[2001:db8:9:9:${n.toString(16)}::1]`,
      (n: number) => `198.51.100.77:${n}`,
    ]) {
      const codes: string[] = [];
      for (let n = 1; n <= 33; n++) codes.push((await look(entry(n))).body.code);
      expect([codes.indexOf('too_many_attempts'), new Set(codes.slice(30)).size]).toEqual([30, 1]);
    }
    expect((await look('[2001:db8:9:8::1]')).body.code).toBe('invitation_invalid');
  });

  const rowsOf = async () =>
    (
      await limited.database.admin<{ n: number }>(
        'SELECT ((SELECT count(*) FROM panel_verification) + (SELECT count(*) FROM panel_session))::int AS n',
      )
    )[0]?.n as number;

  test('Challenges for passkeys that strangers ask for are counted by address before a row is written', async () => {
    const counted = attempts({ ...limited.runtime, config: { rateLimits: true } });
    for (let at = 0; at < 148; at++) await counted.take('passkeyAddress', '203.0.113.150');
    const before = await rowsOf();
    const statuses: number[] = [];
    for (let at = 0; at < 5; at++)
      statuses.push(
        (await from('203.0.113.150').call('GET', '/auth/passkey/generate-authenticate-options')).status,
      );
    expect(statuses).toEqual([200, 200, 429, 429, 429]);
    expect(await rowsOf()).toBe(before + 2);
  });

  test('Calls of sign-in that any stranger may make are counted by address, or write and end nothing without a cookie of ours', async () => {
    const open = Object.entries(authCalls).filter(
      ([, { session, byNetwork }]) => session !== 'required' && byNetwork === undefined,
    );
    expect(open.map(([call]) => call)).toEqual([
      'POST /sign-out',
      'POST /two-factor/verify-totp',
      'POST /two-factor/verify-backup-code',
    ]);
    const before = await rowsOf();
    for (const [call] of open) {
      const [method = '', path = ''] = call.split(' ');
      const forged = { cookie: 'vintem.two_factor=x.y; vintem.session_token=x.y' };
      await from('203.0.113.151').call(method, `/auth${path}`, { code: '123456' }, forged);
    }
    expect(await rowsOf()).toBe(before);
  });

  test('A sign-in removes none of the rows that strangers left, however many; a worker does, in steps', async () => {
    const email = 'entra@feira.example';
    await newPerson(limited, ownerId, email);
    const tab = from('198.51.100.60');
    await tab.signIn(email);
    const { secret } = await enrol(tab);
    await limited.database.admin(
      `INSERT INTO panel_verification (id, identifier, value, expires_at, created_at, updated_at)
        SELECT gen_random_uuid(), 'old ' || n, 'x', now() - interval '1 day', now(), now() FROM generate_series(1, 1200) n`,
    );
    const old = async () =>
      (
        await limited.database.admin<{ n: number }>(
          `SELECT count(*)::int AS n FROM panel_verification WHERE identifier LIKE 'old %'`,
        )
      )[0]?.n;
    const again = from('198.51.100.61');
    await again.call('POST', '/auth/sign-in/email', { email, password });
    await passCodes(limited);
    const code = totpOf(secret, Date.now());
    expect((await again.call('POST', '/auth/two-factor/verify-totp', { code })).status).toBe(200);
    await again.call('POST', '/auth/request-password-reset', { email: 'ninguem@feira.example' });
    expect(await old()).toBe(1200);
    expect(await stepExpiredPruning(limited.runtime)).toBe(true);
    expect(await old()).toBe(700);
    expect(await stepExpiredPruning(limited.runtime)).toBe(true);
    expect(await stepExpiredPruning(limited.runtime)).toBe(false);
    expect(await old()).toBe(0);
    // Of what is still good nothing went.
    expect((await tab.call('GET', '/session')).status).toBe(200);
  });

  test('150 invitations at once: each recipient, person and account has a limit', async () => {
    const email = 'convida@feira.example';
    await newPerson(limited, ownerId, email);
    const tab = from('198.51.100.5');
    await tab.signIn(email);
    const invite = (to: string) =>
      tab.call('POST', `/accounts/${ownerId}/members/invitations`, { email: to, role: 'viewer' });
    const sameOne = await Promise.all(Array.from({ length: 15 }, () => invite('um@fora.example')));
    expect(sameOne.filter(({ status }) => status === 201).length).toBeLessThanOrEqual(5);
    const others = await Promise.all(
      Array.from({ length: 40 }, (_, at) => invite(`convidado${at}@fora.example`)),
    );
    const sent = [...sameOne, ...others].filter(({ status }) => status === 201);
    expect(sent.length).toBeLessThanOrEqual(20);
    expect(others.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(20);
  });

  test('of password resets: one recipient gets five mails an hour, and the answer is the same', async () => {
    const email = 'reset@feira.example';
    await newPerson(limited, ownerId, email);
    const statuses: number[] = [];
    for (let at = 0; at < 8; at++) {
      statuses.push(
        (await from(`203.0.113.${100 + at}`).call('POST', '/auth/request-password-reset', { email })).status,
      );
    }
    expect(new Set(statuses)).toEqual(new Set([200]));
    await until(async () => (await mailsTo(limited, email)).length === 5);
    // The next mail to this address is another one: none of the resets is still on its way.
    await limited.runtime.mail.send({
      to: email,
      'pt-BR': { subject: 'depois', text: '' },
      en: { subject: 'after', text: '' },
    });
    expect(await mailsTo(limited, email)).toHaveLength(6);
  });
});

describe('a right that is checked when it is used', () => {
  const invited = async (email: string): Promise<string | undefined> =>
    /convite#(\S+)/.exec((await mailsTo(service, email)).at(-1) ?? '')?.[1];
  const openLink = async (token: string | undefined) => {
    const look = await openTab(service).call('POST', '/invitations/look', { token });
    const given = { token, name: 'Nova', password };
    const accept = await openTab(service).call('POST', '/invitations/accept', given);
    return [look, accept].map(({ status, body }) => (status === 200 ? 'ok' : body.code));
  };

  test('An owner who was demoted opens no owner’s door: what the new role may not invite ends, the rest stays', async () => {
    const { ownerId } = await newShop();
    const path = `/accounts/${ownerId}`;
    const [first, second] = [await person(ownerId), await person(ownerId)];
    for (const role of ['owner', 'viewer']) {
      const body = { email: `como-${role}@feira.example`, role };
      expect((await second.tab.call('POST', `${path}/members/invitations`, body)).status).toBe(201);
    }
    const demoted = await first.tab.call('PATCH', `${path}/members/${await userId(second.email)}`, {
      role: 'admin',
    });
    expect(demoted.status).toBe(200);
    expect(await openLink(await invited('como-owner@feira.example'))).toEqual([
      'invitation_invalid',
      'invitation_invalid',
    ]);
    expect(await openLink(await invited('como-viewer@feira.example'))).toEqual(['ok', 'ok']);
  });

  test.each(['admin', 'finance', 'gone'] as const)(
    'An invitation gives nothing that its maker, who is now %s, may not give, whatever is stored',
    async (now) => {
      const { ownerId } = await newShop();
      await person(ownerId);
      const maker = await person(ownerId);
      const id = await userId(maker.email);
      const email = `de-${now}-${made}@feira.example`;
      const body = { email, role: 'owner' };
      expect((await maker.tab.call('POST', `/accounts/${ownerId}/members/invitations`, body)).status).toBe(
        201,
      );
      // Past the code that ends invitations with the role.
      await service.database.admin(
        now === 'gone'
          ? `DELETE FROM panel_member WHERE account_id = '${ownerId}' AND user_id = '${id}'`
          : `UPDATE panel_member SET role = '${now}' WHERE account_id = '${ownerId}' AND user_id = '${id}'`,
      );
      expect(await openLink(await invited(email))).toEqual(['invitation_invalid', 'invitation_invalid']);
    },
  );

  test('A demotion names the keys that the new role could not make, and they work on until a person decides', async () => {
    const { ownerId } = await newShop();
    const path = `/accounts/${ownerId}`;
    const owner = await person(ownerId);
    const admin = await person(ownerId, 'admin');
    const make = async (name: string, permissions: string[]) =>
      (await admin.tab.call('POST', `${path}/keys`, { name, permissions })).body;
    const [pays, reads] = [await make('paga', ['read', 'transfers']), await make('lê', ['read'])];
    const become = async (role: string) =>
      (
        await owner.tab.call('PATCH', `${path}/members/${await userId(admin.email)}`, { role })
      ).body.keysLeft.map(({ id }: { id: string }) => id);
    expect(await become('developer')).toEqual([pays.id]);
    expect((await become('viewer')).sort()).toEqual([pays.id, reads.id].sort());
    expect((await service.as(pays.key)('GET', '/account')).status).toBe(200);
    const roll = await admin.tab.call('POST', `${path}/keys/${pays.id}/roll`, { overlapHours: 0 });
    expect(roll.body.code).toBe('role_denied');
  });

  test('Two invitations to one new address that are opened at once make one person, and each is good in the end', async () => {
    const email = `duas-${made}@feira.example`;
    const tokens = await Promise.all(
      [await newShop(), await newShop(), await newShop()].map(
        async ({ ownerId }) =>
          (await invite(service.runtime, { accountId: ownerId, email, role: 'viewer' })).token,
      ),
    );
    const accept = (token: string) =>
      openTab(service).call('POST', '/invitations/accept', { token, name: 'Duas', password });
    const answers = await Promise.all(tokens.map(accept));
    const codes = answers.map(({ status, body }) => (status === 200 ? 'ok' : body.code));
    expect(codes.filter((code) => code === 'ok').length).toBeGreaterThan(0);
    for (const code of codes) expect(['ok', 'invitation_again']).toContain(code);
    for (const [at, code] of codes.entries())
      if (code !== 'ok') expect((await accept(tokens[at] as string)).status).toBe(200);
    const tab = openTab(service);
    await tab.signIn(email);
    expect((await tab.call('GET', '/session')).body.accounts).toHaveLength(3);
  });
});

describe('a person with two accounts', () => {
  test('An account ends and sees access to itself, and nothing else of its member’s life', async () => {
    const [a, b] = [await newShop(), await newShop()];
    const { email, tab } = await person(a.ownerId, 'finance');
    const owner = await person(b.ownerId);
    await newPerson(service, b.ownerId, email, 'viewer');
    const id = await userId(email);
    const seen = async () => {
      const { sessions } = (await owner.tab.call('GET', `/accounts/${b.ownerId}/members/${id}/sessions`))
        .body;
      const { events } = (await owner.tab.call('GET', `/accounts/${b.ownerId}/security-events?limit=100`))
        .body;
      return [
        sessions.length,
        events
          .filter((one: { userId: string }) => one.userId === id)
          .map((one: { kind: string }) => one.kind),
      ];
    };
    const at = async (on: Tab, { ownerId }: { ownerId: string }) =>
      (await on.call('GET', `/accounts/${ownerId}/overview`)).status;
    expect(await at(tab, a)).toBe(200);
    await tab.call('POST', '/reauthenticate', { password });
    await openTab(service).signIn(email);
    expect(await seen()).toEqual([0, []]);
    // A use in the account is seen there.
    expect(await at(tab, b)).toBe(200);
    expect(await seen()).toEqual([1, ['sign_in']]);
    expect((await tab.call('POST', '/email', { email: 'nova-contadora@feira.example' })).status).toBe(200);
    const end = () => owner.tab.call('POST', `/accounts/${b.ownerId}/members/${id}/end-sessions`, {});
    expect((await end()).status).toBe(200);
    expect([await at(tab, a), await at(tab, b)]).toEqual([200, 404]);
    const { accounts } = (await tab.call('GET', '/session')).body;
    expect(accounts.map((one: { id: string }) => one.id)).toEqual([a.ownerId]);
    expect((await seen())[0]).toBe(0);
    // Her change of address waits on, and a new sign-in opens both.
    const waiting = `SELECT 1 FROM panel_new_email WHERE user_id = '${id}'`;
    expect(await service.database.admin(waiting)).toHaveLength(1);
    const again = openTab(service);
    await again.signIn(email);
    expect([await at(again, a), await at(again, b)]).toEqual([200, 200]);
  });

  test('The only account of a person ends the sessions whole, with the change of address that waits', async () => {
    const { ownerId } = await newShop();
    const owner = await person(ownerId);
    const { email, tab } = await person(ownerId, 'viewer');
    await tab.call('POST', '/email', { email: 'outra-so@feira.example' });
    const id = await userId(email);
    await owner.tab.call('POST', `/accounts/${ownerId}/members/${id}/end-sessions`, {});
    expect((await tab.call('GET', '/session')).status).toBe(401);
    expect(await service.database.admin(`SELECT 1 FROM panel_new_email WHERE user_id = '${id}'`)).toEqual([]);
  });
});

describe('a person who leaves', () => {
  test('leaves their keys to the owner’s decision, and no invitation', async () => {
    const { ownerId } = await newShop();
    const owner = await person(ownerId);
    const path = `/accounts/${ownerId}`;
    const leaves = async (revokeKeys: boolean) => {
      const admin = await person(ownerId, 'admin');
      const key = await admin.tab.call('POST', `${path}/keys`, {
        name: `de ${admin.email}`,
        permissions: ['read', 'transfers'],
      });
      const invited = `por-${admin.email}`;
      const body = { email: invited, role: 'finance' };
      expect((await admin.tab.call('POST', `${path}/members/invitations`, body)).status).toBe(201);
      const answer = await owner.tab.call('DELETE', `${path}/members/${await userId(admin.email)}`, {
        revokeKeys,
      });
      const mail = (await mailsTo(service, invited)).at(-1);
      const token = /convite#(\S+)/.exec(mail ?? '')?.[1];
      const accept = await openTab(service).call('POST', '/invitations/accept', {
        token,
        name: 'Cúmplice',
        password,
      });
      expect(accept.body.code).toBe('invitation_invalid');
      return { answer, key: key.body };
    };
    const kept = await leaves(false);
    expect(kept.answer.body.keysLeft.map(({ id }: { id: string }) => id)).toEqual([kept.key.id]);
    expect((await service.as(kept.key.key)('GET', '/account')).status).toBe(200);
    const { keys } = (await owner.tab.call('GET', `${path}/keys`)).body;
    expect(keys.find(({ id }: { id: string }) => id === kept.key.id)).toMatchObject({ makerLeft: true });
    const revoked = await leaves(true);
    expect(revoked.answer.body.keysRevoked.map(({ id }: { id: string }) => id)).toEqual([revoked.key.id]);
    expect((await service.as(revoked.key.key)('GET', '/account')).status).toBe(401);
  });

  test('and whose keys are revoked is answered when no payment of them can be under way any more', async () => {
    const { ownerId } = await newShop();
    const owner = await person(ownerId);
    const admin = await person(ownerId, 'admin');
    const path = `/accounts/${ownerId}`;
    const body = { name: `de ${admin.email}`, permissions: ['read', 'transfers'] };
    expect((await admin.tab.call('POST', `${path}/keys`, body)).status).toBe(201);
    // As a till that has read the key and not yet committed.
    const till = new pg.Client({ connectionString: service.database.url, options: '-c search_path=vintem' });
    await till.connect();
    await till.query('BEGIN');
    await till.query('SELECT FROM balance WHERE account_id = $1 FOR NO KEY UPDATE', [ownerId]);
    let isAnswered = false;
    const answer = owner.tab
      .call('DELETE', `${path}/members/${await userId(admin.email)}`, { revokeKeys: true })
      .finally(() => {
        isAnswered = true;
      });
    const text = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    await until(async () => isAnswered || (await service.database.admin(text)).length > 0);
    expect(isAnswered).toBe(false);
    await till.query('COMMIT');
    await till.end();
    expect((await answer).body.keysRevoked).toHaveLength(1);
  });
});

describe('security events', () => {
  test('tell owners of sign-ins, failures, factors, passwords, keys, webhooks, people, refusals and exports', async () => {
    const { ownerId } = await newShop();
    const { email, tab } = await person(ownerId);
    const viewer = await person(ownerId, 'viewer');
    const path = `/accounts/${ownerId}`;
    await openTab(service).signIn(email, 'not the password');
    await tab.call('POST', `${path}/keys`, { name: 'nova', permissions: ['read'] });
    const hook = { url: 'https://feira.example/pix', events: ['*'], requestKey: crypto.randomUUID() };
    await tab.call('POST', `${path}/webhooks`, hook);
    await tab.call('GET', `${path}/records.csv`);
    await tab.call('PATCH', `${path}/members/${await userId(viewer.email)}`, { role: 'finance' });
    await viewer.tab.call('GET', `${path}/members`);
    const words = { currentPassword: password, newPassword: 'outra girafa sem patins' };
    await tab.call('POST', '/auth/change-password', words);
    await enrol2(tab, words.newPassword);
    const list = async () => (await tab.call('GET', `${path}/security-events?limit=100`)).body.events;
    const wanted = [
      'sign_in ok',
      'sign_in refused',
      'key.created ok',
      'export.downloaded ok',
      'member.role ok',
      'access.refused refused',
      'password.changed ok',
      'factor.enrolled ok',
    ];
    await until(async () => {
      const found = new Set(
        (await list()).map((one: { kind: string; outcome: string }) => `${one.kind} ${one.outcome}`),
      );
      return wanted.every((one) => found.has(one));
    });
    const events = await list();
    expect(events.find(({ kind }: { kind: string }) => kind === 'sign_in')).toMatchObject({
      ipAddress: '127.0.0.1',
    });
    const text = JSON.stringify(events);
    for (const secret of [password, words.newPassword, 'not the password'])
      expect(text).not.toContain(secret);
    // Pages.
    const first = (await tab.call('GET', `${path}/security-events?limit=2`)).body;
    expect(first.events).toEqual(events.slice(0, 2));
    const second = (await tab.call('GET', `${path}/security-events?limit=2&below=${first.nextBelow}`)).body;
    expect(second.events[0].id).toBe(events[2].id);
    // Filters by group, result and day, and the same as a file.
    const filtered = async (query: string) =>
      (await tab.call('GET', `${path}/security-events?limit=100&${query}`)).body.events;
    expect((await filtered('group=keys')).map(({ kind }: { kind: string }) => kind)).toEqual(['key.created']);
    for (const one of await filtered('outcome=refused')) expect(one.outcome).toBe('refused');
    expect(await filtered('from=2001-01-01&to=2001-12-31')).toEqual([]);
    const file = await tab.call('GET', `${path}/security-events.csv?group=people&language=pt-BR`);
    expect(file.body).toMatch(/^\ufeff?Data;Atividade;Resultado;Nome;/);
    expect(file.body).toContain(';Papel alterado;Feito;');
  });

  /** With another password. */
  async function enrol2(tab: Tab, word: string): Promise<void> {
    tab.csrf = (await tab.call('GET', '/session')).body.csrf;
    const answer = await tab.call('POST', '/auth/two-factor/enable', { password: word });
    const secret = new URL(answer.body.totpURI).searchParams.get('secret') as string;
    await tab.call('POST', '/auth/two-factor/verify-totp', { code: totpOf(secret, Date.now()) });
    tab.csrf = (await tab.call('GET', '/session')).body.csrf;
  }

  test('of another account are not shown, nor those of somebody’s life before they joined', async () => {
    const [one, other] = [await newShop(), await newShop()];
    const mine = await person(one.ownerId);
    const theirs = await person(other.ownerId);
    await theirs.tab.call('GET', `/accounts/${other.ownerId}/records.csv`);
    await newPerson(service, one.ownerId, theirs.email, 'viewer');
    const { events } = (await mine.tab.call('GET', `/accounts/${one.ownerId}/security-events`)).body;
    expect(events.length).toBeGreaterThan(0);
    expect(events.every((event: { email: string | null }) => event.email === mine.email)).toBe(true);
  });

  test('are kept for a year', async () => {
    const ids = await service.database.admin<{ id: string }>(
      `INSERT INTO security_event (id, at, actor, kind, outcome, detail)
        SELECT (lpad(to_hex((extract(epoch FROM now() - d * interval '1 day') * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid,
          now() - d * interval '1 day', 'person', 'sign_in', 'ok', '{}' FROM unnest(ARRAY[364, 366]) d RETURNING id`,
    );
    await stepSecurityEventPruning(service.runtime);
    const left = await service.database.admin<{ id: string }>(
      `SELECT id FROM security_event WHERE id IN ('${ids[0]?.id}', '${ids[1]?.id}')`,
    );
    expect(left.map(({ id }) => id)).toEqual([ids[0]?.id]);
  });
});

describe('the operator', () => {
  const vintem = async (...words: string[]) => {
    const { stdout, code, stderr } = await finish([...words, '--json'], {
      DATABASE_URL: service.database.url,
      DATA_DIR: service.dataDir,
      VINTEM_SECRET: secret,
    });
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout);
  };

  test('lists and ends the sessions of a person, and resets their factors', async () => {
    const { ownerId } = await newShop();
    const { email, tab } = await person(ownerId);
    const other = openTab(service);
    await other.signIn(email);
    const { sessions } = await vintem('member', 'sessions', '--email', email);
    expect(sessions).toHaveLength(2);
    const { sessionId } = (await other.call('GET', '/session')).body;
    expect(await vintem('member', 'end', '--email', email, '--session', sessionId)).toEqual({ ended: 1 });
    expect((await other.call('GET', '/session')).status).toBe(401);
    await enrol(tab);
    await vintem('member', 'reset-factor', '--email', email, '--reason', 'lost phone');
    expect((await tab.call('GET', '/session')).status).toBe(401);
    const again = openTab(service);
    expect((await again.signIn(email)).status).toBe(200);
    expect((await again.call('GET', '/session')).body).toMatchObject({
      twoFactorEnabled: false,
      passkeys: 0,
    });
    expect(await vintem('member', 'end', '--email', email)).toEqual({ ended: 1 });
    const events = await service.database.admin<{ kind: string }>(
      `SELECT kind FROM security_event WHERE actor = 'operator' AND user_id = '${await userId(email)}' ORDER BY id`,
    );
    expect(events.map(({ kind }) => kind)).toEqual(['session.ended', 'factor.removed', 'session.ended']);
  });
});
