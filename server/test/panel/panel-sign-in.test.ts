import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { mailsTo, newPerson, openTab, password, type Tab, totpOf } from '@vintem/testkit/panel.ts';
import { textOfPdf } from '@vintem/testkit/pdf-text.ts';
import { openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAccount } from '../../src/operate/connections/directory.ts';

/** How people prove who they are, and what follows when that changes. */

let service: Service;
let shop: { ownerId: string; operationId: string };

beforeAll(async () => {
  service = await openService();
  shop = await newShop();
});
afterAll(() => service?.close());

const newShop = () =>
  createAccount(service.runtime, { name: 'Padaria', test: true, connection: 'simulator' });

let people = 0;
/** A new person, signed in. */
async function person(accountId = shop.ownerId): Promise<{ email: string; tab: Tab }> {
  const email = `pessoa${++people}@padaria.example`;
  await newPerson(service, accountId, email);
  const tab = openTab(service);
  expect((await tab.signIn(email)).status).toBe(200);
  return { email, tab };
}

/** Notes the parameters of every password that is hashed. */
function watchHashing() {
  const { argon2 } = crypto;
  const put = (implementation: typeof argon2): void => {
    crypto.argon2 = implementation;
    syncBuiltinESMExports();
  };
  const parameters: object[] = [];
  put((kind, given, done) => {
    const { memory, passes, parallelism, tagLength } = given;
    parameters.push({ kind, memory, passes, parallelism, tagLength });
    argon2(kind, given, done);
  });
  return { parameters, [Symbol.dispose]: () => put(argon2) };
}

const draftOf = (fields: object = {}) => ({
  amountCents: 1000,
  pixKey: 'maria@loja.example',
  pixKeyType: 'EMAIL',
  description: '',
  requestKey: crypto.randomUUID(),
  ...fields,
});

async function codeOf(email: string, paymentId: string): Promise<string> {
  const mail = (await mailsTo(service, email)).filter((text) => text.includes(paymentId)).at(-1) ?? '';
  return /^Código: (\d{6})/m.exec(mail)?.[1] ?? '';
}
const otherThan = (code: string): string => (code === '000000' ? '111111' : '000000');

/** A shop with money, and drafts of its people. */
async function fundedShop() {
  const merchant = await service.newMerchant();
  await merchant.receive(20_000);
  const path = `/accounts/${merchant.ownerId}`;
  return {
    merchant,
    ...(await person(merchant.ownerId)),
    path,
    draft: (tab: Tab, fields?: object) => tab.call('POST', `${path}/drafts`, draftOf(fields)),
  };
}

const age = (email: string, minutes: number) =>
  service.database.admin(
    `UPDATE panel_session SET created_at = created_at - interval '${minutes} minutes', seen_at = NULL, authenticated_at = NULL
      WHERE user_id = (SELECT id FROM panel_user WHERE email = '${email}')`,
  );

describe('a password', () => {
  test('that is common, short or the person’s own address is not taken, at a change or a reset', async () => {
    const { email, tab } = await person();
    const change = (newPassword: string) =>
      tab.call('POST', '/auth/change-password', { currentPassword: password, newPassword });
    expect((await change('counterstrike1!')).body.code).toBe('WEAK_PASSWORD');
    expect((await change(`${email}!`)).body.code).toBe('WEAK_PASSWORD');
    expect((await change('onze letras')).body.code).toBe('PASSWORD_TOO_SHORT');
    expect((await change('girafa azul '.repeat(11))).body.code).toBe('password_too_long');
    const long = 'outra girafa sem patins, um barco e duas laranjas na gaveta azul'.slice(0, 64);
    expect(long).toHaveLength(64);
    expect((await change(long)).status).toBe(200);
  });

  test('is hashed once with the same parameters for an unknown address', async () => {
    const { email } = await person();
    const tab = openTab(service);
    const hashedFor = async (address: string) => {
      using hashing = watchHashing();
      const answer = await tab.call('POST', '/auth/sign-in/email', {
        email: address,
        password: 'not the password',
      });
      expect(answer.status).toBe(401);
      return hashing.parameters;
    };
    // The hash is nearly all of the time of an answer: without it an unknown address would be answered ten times as fast.
    const known = await hashedFor(email);
    expect(known).toHaveLength(1);
    expect(await hashedFor('ninguem@padaria.example')).toEqual(known);
  });
});

describe('guessing', () => {
  test('five wrong codes of the app lock it, for the right one as well', async () => {
    const { email, tab } = await person();
    const made = (await tab.call('POST', '/auth/two-factor/enable', { password })).body;
    const secret = new URL(made.totpURI).searchParams.get('secret') ?? '';
    const code = () => totpOf(secret, Date.now());
    expect((await tab.call('POST', '/auth/two-factor/verify-totp', { code: code() })).status).toBe(200);
    const thief = openTab(service);
    const answer = await thief.call('POST', '/auth/sign-in/email', { email, password });
    expect(answer.body.twoFactorRedirect).toBe(true);
    expect((await thief.call('GET', '/session')).status).toBe(401);
    const wrong = otherThan(code());
    for (let tries = 0; tries < 5; tries++) {
      expect((await thief.call('POST', '/auth/two-factor/verify-totp', { code: wrong })).status).not.toBe(
        200,
      );
    }
    await thief.call('POST', '/auth/sign-in/email', { email, password });
    const right = await thief.call('POST', '/auth/two-factor/verify-totp', {
      code: code(),
      trustDevice: true,
    });
    expect(right.status).toBe(429);
    expect((await thief.call('GET', '/session')).status).toBe(401);
  });

  test('wrong codes of the mail count together over all drafts of a person', async () => {
    const { tab, draft, path } = await fundedShop();
    const answers: string[] = [];
    for (let drafts = 0; drafts < 3; drafts++) {
      const { id } = (await draft(tab)).body;
      const wrong = otherThan(await codeOf((await tab.call('GET', '/session')).body.email, id));
      for (let tries = 0; tries < 5; tries++) {
        answers.push((await tab.call('POST', `${path}/drafts/${id}/confirm`, { code: wrong })).body.code);
      }
    }
    expect(answers.slice(0, 10)).toEqual(Array(10).fill('invalid_code'));
    expect(answers.slice(10)).toEqual(Array(5).fill('too_many_attempts'));
  });

  test('a session that was found open tries ten passwords at most', async () => {
    const { tab } = await person();
    const codes: string[] = [];
    for (let tries = 0; tries < 11; tries++) {
      codes.push((await tab.call('POST', '/reauthenticate', { password: `wrong ${tries}` })).body.code);
    }
    expect(codes).toEqual([...Array(10).fill('wrong_password'), 'too_many_attempts']);
  });
});

describe('the code of a transfer', () => {
  test('is good in the session that asked for it, and by no API key', async () => {
    const { email, tab, merchant, draft, path } = await fundedShop();
    const { id } = (await draft(tab)).body;
    const code = await codeOf(email, id);
    const elsewhere = openTab(service);
    await elsewhere.signIn(email);
    const confirm = (on: Tab, given = code) =>
      on.call('POST', `${path}/drafts/${id}/confirm`, { code: given });
    expect((await confirm(elsewhere)).body.code).toBe('invalid_code');
    expect((await merchant.call('POST', `/pix/transfers/${id}/confirm`, { code })).body.code).toBe(
      'invalid_code',
    );
    // Asked for there, it is good there, and the one before is void.
    expect((await elsewhere.call('POST', `${path}/drafts/${id}/resend`, {})).status).toBe(200);
    const next = await codeOf(email, id);
    expect((await confirm(tab, next)).body.code).toBe('invalid_code');
    expect((await confirm(elsewhere, next)).status).toBe(200);
  });

  test('is mailed three times, and the mail says what it is for', async () => {
    const { email, tab, draft, path } = await fundedShop();
    const { id } = (await draft(tab)).body;
    const resend = () => tab.call('POST', `${path}/drafts/${id}/resend`, {});
    expect((await resend()).status).toBe(200);
    expect((await resend()).status).toBe(200);
    expect((await resend()).body.code).toBe('rate_limited');
    const mail = (await mailsTo(service, email)).at(-1) ?? '';
    expect(mail).toContain('R$ 10,00');
    expect(mail).not.toContain('maria@loja.example');
    expect(mail).toMatch(/ma\*\*\*@loja\.example/);
    expect(mail).toContain('Principal');
    expect(mail).toContain('127.0.0.1');
    expect(mail).toContain('Se não foi você');
  });
});

describe('a session', () => {
  test('ends twelve hours after the sign-in, whatever is done with it', async () => {
    const { email, tab } = await person();
    const [row] = await service.database.admin<{ life: string }>(
      `SELECT extract(epoch FROM expires_at - created_at)::int::text AS life FROM panel_session
        WHERE user_id = (SELECT id FROM panel_user WHERE email = '${email}')`,
    );
    expect(Math.abs(Number(row?.life) - 12 * 3600)).toBeLessThan(60);
    await service.database.admin(
      `UPDATE panel_session SET expires_at = now() - interval '1 second'
        WHERE user_id = (SELECT id FROM panel_user WHERE email = '${email}')`,
    );
    expect((await tab.call('GET', '/session')).status).toBe(401);
  });

  test('is read by one statement, and opens nothing under a signature that is not ours', async () => {
    const { tab } = await person();
    const { sql } = service.runtime;
    const { run } = sql;
    const asked: string[] = [];
    sql.run = (statement, values) => {
      if (/\bpanel_(session|user)\b/.test(statement.text)) asked.push(statement.name);
      return run(statement, values);
    };
    try {
      expect((await tab.call('GET', `/accounts/${shop.ownerId}/overview`)).status).toBe(200);
      expect(asked).toEqual(['panel_session_of_token']);
      // The token is right, and a letter of its signature is another.
      const cookie = tab
        .cookie()
        .replace(/(session_token=[^;]*\.)(.)/, (_, token, letter) => token + (letter === 'A' ? 'B' : 'A'));
      expect(cookie).not.toBe(tab.cookie());
      const forged = await fetch(`${service.url}/panel/api/session`, { headers: { cookie } });
      expect(forged.status).toBe(401);
      expect(asked).toEqual(['panel_session_of_token']);
    } finally {
      sql.run = run;
    }
  });

  test('that was idle for half an hour is not woken by looking at a page', async () => {
    const { email, tab, draft, path } = await fundedShop();
    await age(email, 31);
    expect((await tab.call('GET', `${path}/overview`)).status).toBe(200);
    expect((await draft(tab)).body.code).toBe('reauthentication_required');
    expect((await tab.call('POST', '/reauthenticate', { password })).status).toBe(200);
    expect((await draft(tab)).status).toBe(201);
  });

  test.each<[string, string, object]>([
    ['a key', '/keys', { name: 'loja', permissions: ['read'] }],
    ['a webhook', '/webhooks', { url: 'https://loja.example/pix', events: ['*'] }],
    ['a member', '/members/invitations', { email: 'x@padaria.example', role: 'viewer' }],
  ])('older than ten minutes gives the password again before %s', async (_what, below, body) => {
    const { email, tab } = await person();
    await age(email, 11);
    const answer = await tab.call('POST', `/accounts/${shop.ownerId}${below}`, body);
    expect(answer.body.code).toBe('reauthentication_required');
  });

  test('ends with all others when its person says so', async () => {
    const { email, tab } = await person();
    const other = openTab(service);
    await other.signIn(email);
    expect((await tab.call('POST', '/sessions/end-all', {})).status).toBe(200);
    expect((await tab.call('GET', '/session')).status).toBe(401);
    expect((await other.call('GET', '/session')).status).toBe(401);
  });

  test('behind a proxy with TLS is a __Host- cookie, and only the public origin may change anything', async () => {
    const origin = 'https://pix.padaria.example';
    const behind = await openService({
      env: { PUBLIC_URL: origin, TRUSTED_PROXIES: '127.0.0.1' },
      worker: false,
    });
    try {
      const { ownerId } = await createAccount(behind.runtime, {
        name: 'P',
        test: true,
        connection: 'simulator',
      });
      await newPerson(behind, ownerId, 'ana@padaria.example');
      const forwarded = {
        origin,
        'x-forwarded-proto': 'https',
        'x-forwarded-host': 'pix.padaria.example',
        'x-forwarded-for': '203.0.113.7',
      };
      const tab = openTab(behind, forwarded);
      const answer = await tab.signIn('ana@padaria.example');
      const cookie = answer.headers.getSetCookie().find((one) => one.includes('session_token')) ?? '';
      expect(cookie).toMatch(/^__Host-vintem\.session_token=/);
      for (const part of [/; Secure/i, /; HttpOnly/i, /; SameSite=Lax/i, /; Path=\/(;|$)/i]) {
        expect(cookie).toMatch(part);
      }
      expect(cookie).not.toMatch(/Domain=/i);
      expect((await tab.call('GET', '/session')).status).toBe(200);
      const [session] = (await tab.call('GET', '/sessions')).body.sessions;
      expect(session.ipAddress).toBe('203.0.113.7');
      const foreign = await tab.call(
        'POST',
        '/sessions/end-others',
        {},
        { origin: 'http://pix.padaria.example' },
      );
      expect(foreign.body.code).toBe('origin_refused');
    } finally {
      await behind.close();
    }
  });
});

describe('another e-mail address', () => {
  const secretOf = (mail: string | undefined) => /novo-email#(\S+)/.exec(mail ?? '')?.[1] ?? '';
  const mailed = async (email: string, what: RegExp) => {
    await until(async () => (await mailsTo(service, email)).some((mail) => what.test(mail)));
    return (await mailsTo(service, email)).find((mail) => what.test(mail));
  };

  test('takes effect when its link is opened: the old address gets a mail, sessions end, transfers are blocked for a day', async () => {
    const { email, tab, draft } = await fundedShop();
    const fresh = `novo-${email}`;
    expect((await tab.call('POST', '/email', { email: fresh })).status).toBe(200);
    // Nothing has happened yet.
    expect((await tab.call('GET', '/session')).body.email).toBe(email);
    const token = secretOf(await mailed(fresh, /novo-email#/));
    expect((await openTab(service).call('POST', '/email/confirm', { token })).status).toBe(200);
    expect((await openTab(service).call('POST', '/email/confirm', { token })).body.code).toBe('link_invalid');
    expect(await mailed(email, /passou a ser/)).toContain('Se não foi você');
    expect((await tab.call('GET', '/session')).status).toBe(401);
    const after = openTab(service);
    expect((await after.signIn(email)).status).toBe(401);
    expect((await after.signIn(fresh)).status).toBe(200);
    expect((await draft(after)).body.code).toBe('access_frozen');
    const frozen = (await after.call('GET', '/session')).body.frozenUntil;
    expect(Date.parse(frozen) - Date.now()).toBeGreaterThan(23.9 * 3_600_000);
  });

  test('that another person has is answered alike, and gets no link', async () => {
    const { tab } = await person();
    const { email: taken } = await person();
    const [free, known] = [
      await tab.call('POST', '/email', { email: 'livre@padaria.example' }),
      await tab.call('POST', '/email', { email: taken }),
    ];
    expect([known.status, known.body]).toEqual([free.status, free.body]);
    const mail = await mailed(taken, /já tem acesso/);
    expect(mail).not.toContain('novo-email');
  });

  test('wants a fresh password, and a link that is asked for again makes the one before void', async () => {
    const { email, tab } = await person();
    const [first, second] = [`a-${email}`, `b-${email}`];
    await tab.call('POST', '/email', { email: first });
    await tab.call('POST', '/email', { email: second });
    const token = secretOf(await mailed(first, /novo-email#/));
    expect((await tab.call('POST', '/email/confirm', { token })).body.code).toBe('link_invalid');
    await age(email, 11);
    expect((await tab.call('POST', '/email', { email: first })).body.code).toBe('reauthentication_required');
  });
});

describe('news by mail', () => {
  test('a sign-in from a new place is reported once, the first sign-in of a person is not', async () => {
    const { email } = await person();
    const notices = async () =>
      (await mailsTo(service, email)).filter((mail) => mail.includes('novo acesso'));
    const from = async (agent: string) => {
      const tab = openTab(service, { 'user-agent': agent });
      expect((await tab.signIn(email)).status).toBe(200);
    };
    await from('Mozilla/5.0 (X11; Linux) Firefox/140.0');
    await until(async () => (await notices()).length === 1);
    // The same browser, brought up to date.
    await from('Mozilla/5.0 (X11; Linux) Firefox/141.0');
    await from('Mozilla/5.0 (iPhone) Safari/18');
    await until(async () => (await notices()).length === 2);
    expect((await notices()).filter((mail) => mail.includes('Firefox/140.0'))).toHaveLength(1);
    expect((await notices())[0]).toContain('127.0.0.1');
  });

  test('a new key is reported with its permissions', async () => {
    const { email, tab } = await person();
    const body = { name: 'conciliação', permissions: ['read', 'transfers'] };
    expect((await tab.call('POST', `/accounts/${shop.ownerId}/keys`, body)).status).toBe(201);
    await until(async () =>
      (await mailsTo(service, email)).some((mail) => mail.includes('Leitura, Transferências')),
    );
  });
});

describe('keys', () => {
  const keys = `/accounts/`;
  test('live as long as was said, from where was said, and lose permissions but gain none', async () => {
    const { tab } = await person();
    const path = `${keys}${shop.ownerId}/keys`;
    const made = await tab.call('POST', path, {
      name: 'restrita',
      permissions: ['read', 'charges'],
      expiresInDays: 30,
      ips: ['203.0.113.0/24'],
    });
    expect(made.status).toBe(201);
    const look = async () =>
      (await tab.call('GET', path)).body.keys.find((one: { id: string }) => one.id === made.body.id);
    const key = await look();
    expect(Date.parse(key.expiresAt) - Date.parse(key.createdAt)).toBe(30 * 24 * 3_600_000);
    expect(key.ips).toEqual(['203.0.113.0/24']);
    expect((await service.as(made.body.key)('GET', '/account')).body.code).toBe('ip_not_allowed');
    const narrow = (permissions: string[]) => tab.call('PATCH', `${path}/${made.body.id}`, { permissions });
    expect((await narrow(['read', 'transfers'])).body.code).toBe('key_refused');
    expect((await narrow(['read'])).status).toBe(200);
    expect((await look()).permissions).toEqual(['read']);
    expect((await narrow(['read', 'charges'])).body.code).toBe('key_refused');
    const wrong = { name: 'sem rede', permissions: ['read'], ips: ['0.0.0.0/0'] };
    expect((await tab.call('POST', path, wrong)).body.code).toBe('key_refused');
  });

  test('that lost a permission is refused what it was for', async () => {
    const { tab } = await person();
    const path = `${keys}${shop.ownerId}/keys`;
    const made = (await tab.call('POST', path, { name: 'some', permissions: ['read', 'operations'] })).body;
    const rename = () =>
      service.as(made.key)('PATCH', `/operations/${shop.operationId}`, { name: 'Principal' });
    expect((await rename()).status).toBe(200);
    await tab.call('PATCH', `${path}/${made.id}`, { permissions: ['read'] });
    await until(async () => (await rename()).status === 403);
  });
});

describe('a live account', () => {
  test('a password alone moves nothing, though its person has a passkey', async () => {
    const live = await newShop();
    await service.database.admin(`UPDATE account SET test = false WHERE id = '${live.ownerId}'`);
    const { email, tab } = await person(live.ownerId);
    await service.database.admin(
      `INSERT INTO panel_passkey (id, user_id, public_key, credential_id, counter, device_type, backed_up)
        SELECT gen_random_uuid(), id, 'x', '${email}', 0, 'singleDevice', false FROM panel_user WHERE email = '${email}'`,
    );
    const draft = () => tab.call('POST', `/accounts/${live.ownerId}/drafts`, draftOf());
    expect((await tab.call('GET', '/session')).body).toMatchObject({ passkeys: 1, secondFactor: false });
    expect((await draft()).body.code).toBe('second_factor_required');
    await service.database.admin(
      `UPDATE panel_session SET second_factor = true
        WHERE user_id = (SELECT id FROM panel_user WHERE email = '${email}')`,
    );
    expect((await draft()).body.code).not.toBe('second_factor_required');
  });
});

describe('a receipt', () => {
  const fetched = async (tab: Tab, path: string) => {
    const answer = await fetch(`${service.url}/panel/api${path}`, { headers: { cookie: tab.cookie() } });
    return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) };
  };

  test('of a transfer and of a charge says what happened, in both languages', async () => {
    const { email, tab, merchant, draft, path } = await fundedShop();
    await merchant.receive(200_000);
    const { id } = (await draft(tab, { amountCents: 123_481, description: 'Fornecedor de pão' })).body;
    expect((await fetched(tab, `${path}/records/${id}/receipt.pdf`)).status).toBe(400);
    await tab.call('POST', `${path}/drafts/${id}/confirm`, { code: await codeOf(email, id) });
    const record = async () => (await tab.call('GET', `${path}/records/${id}`)).body.record;
    await until(async () => (await record()).status === 'completed');
    const { settledAt, endToEnd } = await record();
    const answer = await fetched(tab, `${path}/records/${id}/receipt.pdf`);
    expect(answer.headers.get('content-type')).toBe('application/pdf');
    expect(answer.headers.get('content-disposition')).toContain(`comprovante-${id}.pdf`);
    expect(answer.bytes.subarray(0, 5).toString()).toBe('%PDF-');
    const when = new Date(Date.parse(settledAt) - 3 * 3_600_000).toISOString();
    const day = `${when.slice(8, 10)}/${when.slice(5, 7)}/${when.slice(0, 4)} ${when.slice(11, 19)}`;
    const text = textOfPdf(answer.bytes);
    for (const part of [
      'Pix enviado',
      'R$ 1.234,56',
      'R$ 0,25',
      'maria@loja.example',
      'Fornecedor de pão',
      day,
    ]) {
      expect(text).toContain(part);
    }
    expect(text).toContain(endToEnd);
    expect(text).toContain(id);
    const english = textOfPdf((await fetched(tab, `${path}/records/${id}/receipt.pdf?language=en`)).bytes);
    expect(english).toContain('Pix sent');
    expect(english).toContain('R$ 1.234,56');

    const [charge] = (await tab.call('GET', `${path}/records?kind=deposit`)).body.records;
    const received = textOfPdf((await fetched(tab, `${path}/records/${charge.id}/receipt.pdf`)).bytes);
    expect(received).toContain('Pix recebido');
    expect(received).toContain('R$ 2.000,00');
    expect(received).toContain('Conta de teste');
  });

  test('belongs to its account', async () => {
    const { tab, path } = await fundedShop();
    const [charge] = (await tab.call('GET', `${path}/records?kind=deposit`)).body.records;
    const stranger = await fundedShop();
    const answers = await Promise.all([
      fetched(stranger.tab, `${path}/records/${charge.id}/receipt.pdf`),
      fetched(stranger.tab, `${stranger.path}/records/${charge.id}/receipt.pdf`),
    ]);
    expect(answers.map((answer) => answer.status)).toEqual([404, 404]);
    expect((await fetched(openTab(service), `${path}/records/${charge.id}/receipt.pdf`)).status).toBe(401);
  });
});
