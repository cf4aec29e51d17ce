import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAccount } from '../../src/operate/connections/directory.ts';
import { acceptInvitation, invite } from '../../src/panel/people/members.ts';
import type { Role } from '../../src/panel/people/roles.ts';

const password = 'girafa azul de patins';

let service: Service;
let shop: { ownerId: string; operationId: string };

beforeAll(async () => {
  service = await openService();
  shop = await newShop();
  // The first visit may have to build the pages.
  await fetch(service.url);
});
afterAll(() => service.close());

const newShop = () =>
  createAccount(service.runtime, { name: 'Padaria', test: true, connection: 'simulator' });

async function newPerson(email: string, role: Role, accountId = shop.ownerId): Promise<void> {
  const { token } = await invite(service.runtime, { accountId, email, role });
  await acceptInvitation(service.runtime, { token, name: 'Ana Prado', password });
}

interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what a test looks at is checked by the test
  body: any;
}

/** A browser's tab: it keeps its cookies and says where a request comes from. */
interface Tab {
  csrf: string;
  cookie(): string;
  call(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Answer>;
  account(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Answer>;
}

function openTab(accountId = shop.ownerId): Tab {
  const cookies = new Map<string, string>();
  const tab: Tab = {
    csrf: '',
    cookie: () => [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    account: (method, path, body, headers) =>
      tab.call(method, `/accounts/${accountId}${path}`, body, headers),
    call: async (method, path, body, headers = {}) => {
      const answer = await fetch(`${service.url}/panel/api${path}`, {
        method,
        headers: {
          cookie: tab.cookie(),
          origin: service.url,
          'x-csrf-token': tab.csrf,
          ...(body && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      for (const cookie of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
        cookies.set(name, value);
      }
      const text = await answer.text();
      return {
        status: answer.status,
        headers: answer.headers,
        body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text,
      };
    },
  };
  return tab;
}

async function signedIn(email: string, accountId = shop.ownerId): Promise<Tab> {
  const tab = openTab(accountId);
  const answer = await tab.call('POST', '/auth/sign-in/email', { email, password });
  expect(answer.status).toBe(200);
  tab.csrf = (await tab.call('GET', '/session')).body.csrf;
  return tab;
}

const mails = async (): Promise<string[]> => {
  const folder = join(service.dataDir, 'mail');
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.eml')).sort();
  return Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
};

describe('a caller without a session', () => {
  test('gets the pages and nothing else', async () => {
    const page = await fetch(`${service.url}/cobrancas`);
    expect(page.status).toBe(200);
    expect(page.headers.get('cache-control')).toBe('no-store');
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toContain('unsafe');
    expect(policy).toContain("frame-ancestors 'none'");
    for (const path of ['/session', '/sessions', `/accounts/${shop.ownerId}/overview`]) {
      expect((await openTab().call('GET', path)).body.code, path).toBe('not_signed_in');
    }
    expect((await fetch(`${service.url}/api/v1/public/nothing`)).status).toBe(404);
    expect((await fetch(`${service.url}/panel/api/nothing`)).status).toBe(404);
  });

  test.each([
    ['/', 'vintem.session_token=kept', true],
    ['/cobrancas', '__Host-vintem.session_token=kept', true],
    ['/cobrancas', '', false],
    ['/entrar', 'vintem.session_token=kept', false],
    ['/operator/entrar', 'vintem.session_token=kept', false],
  ])('%s with the cookie %j has the browser ask for the session: %j', async (path, cookie, asks) => {
    const page = await fetch(service.url + path, { headers: { cookie } });
    const preload = '<link rel="preload" as="fetch" crossorigin href="/panel/api/session" />';
    expect((await page.text()).includes(preload)).toBe(asks);
  });

  test('cannot sign up, and reaches no call of the library that is not named', async () => {
    const tab = openTab();
    const person = { email: 'novo@padaria.example', password, name: 'Novo' };
    expect((await tab.call('POST', '/auth/sign-up/email', person)).status).toBe(404);
    expect((await tab.call('GET', '/auth/get-session')).status).toBe(404);
  });

  test('learns from no answer whether an address is known', async () => {
    await newPerson('conhecida@padaria.example', 'viewer');
    const tab = openTab();
    const wrong = (email: string) =>
      tab.call('POST', '/auth/sign-in/email', { email, password: 'not the password' });
    const [known, unknown] = [
      await wrong('conhecida@padaria.example'),
      await wrong('ninguem@padaria.example'),
    ];
    expect(known.status).toBe(401);
    expect([unknown.status, unknown.body]).toEqual([known.status, known.body]);
    const reset = (email: string) => tab.call('POST', '/auth/request-password-reset', { email });
    const [sent, silent] = [await reset('conhecida@padaria.example'), await reset('ninguem@padaria.example')];
    expect([silent.status, silent.body]).toEqual([sent.status, sent.body]);
  });
});

describe('a request of another site', () => {
  test('changes nothing, with whatever cookies it comes', async () => {
    await newPerson('origem@padaria.example', 'owner');
    const tab = await signedIn('origem@padaria.example');
    const body = { name: 'Loja', requestKey: crypto.randomUUID() };
    const foreign = await tab.account('POST', '/operations', body, { origin: 'https://evil.example' });
    expect([foreign.status, foreign.body.code]).toEqual([403, 'origin_refused']);
    const blind = await tab.account('POST', '/operations', body, { 'x-csrf-token': 'guess' });
    expect([blind.status, blind.body.code]).toEqual([403, 'origin_refused']);
    expect((await tab.account('GET', '/operations')).body.operations).toHaveLength(1);
  });

  test('cannot sign any person in either', async () => {
    const answer = await openTab().call(
      'POST',
      '/auth/sign-in/email',
      { email: 'origem@padaria.example', password },
      { origin: 'https://evil.example' },
    );
    expect(answer.body.code).toBe('origin_refused');
  });
});

describe('a session', () => {
  test('is a cookie that scripts cannot read and other sites do not send', async () => {
    await newPerson('sessao@padaria.example', 'viewer');
    const answer = await openTab().call('POST', '/auth/sign-in/email', {
      email: 'sessao@padaria.example',
      password,
    });
    const [cookie = ''] = answer.headers.getSetCookie();
    expect(cookie).toMatch(/^vintem\.session_token=/);
    expect(cookie).toMatch(/HttpOnly/i);
    expect(cookie).toMatch(/SameSite=Lax/i);
    expect(cookie).toMatch(/Path=\//i);
    expect(cookie).not.toMatch(/Domain=/i);
  });

  test('is listed, and ends when its person ends it elsewhere', async () => {
    const [one, other] = [await signedIn('sessao@padaria.example'), await signedIn('sessao@padaria.example')];
    const { sessions } = (await one.call('GET', '/sessions')).body;
    expect(sessions.filter((each: { current: boolean }) => each.current)).toHaveLength(1);
    expect((await one.call('POST', '/sessions/end-others', {})).status).toBe(200);
    expect((await other.call('GET', '/session')).status).toBe(401);
    expect((await one.call('GET', '/session')).status).toBe(200);
  });

  test('that was idle for half an hour wants the password before anything is changed', async () => {
    await newPerson('ausente@padaria.example', 'owner');
    const tab = await signedIn('ausente@padaria.example');
    await service.database.admin(
      `UPDATE panel_session SET created_at = created_at - interval '31 minutes', seen_at = NULL
        WHERE user_id = (SELECT id FROM panel_user WHERE email = 'ausente@padaria.example')`,
    );
    const create = () =>
      tab.account('POST', '/pix/charges', {
        amountCents: 1000,
        payerName: 'Maria',
        requestKey: crypto.randomUUID(),
      });
    expect((await create()).body.code).toBe('reauthentication_required');
    expect((await tab.call('POST', '/reauthenticate', { password: 'wrong one' })).body.code).toBe(
      'wrong_password',
    );
    expect((await tab.call('POST', '/reauthenticate', { password })).status).toBe(200);
    expect((await create()).status).toBe(201);
  });

  test('older than ten minutes makes no key without the password', async () => {
    const tab = await signedIn('ausente@padaria.example');
    await service.database.admin(
      `UPDATE panel_session SET created_at = created_at - interval '11 minutes', authenticated_at = NULL
        WHERE user_id = (SELECT id FROM panel_user WHERE email = 'ausente@padaria.example')`,
    );
    const answer = await tab.account('POST', '/keys', { name: 'Loja', permissions: ['read'] });
    expect(answer.body.code).toBe('reauthentication_required');
  });
});

describe('roles', () => {
  const charge = () => ({ amountCents: 1000, payerName: 'Maria', requestKey: crypto.randomUUID() });

  test.each<[Role, number, number, number]>([
    // charge, key, invitation
    ['owner', 201, 201, 201],
    ['admin', 201, 201, 201],
    ['finance', 201, 403, 403],
    ['developer', 403, 201, 403],
    ['viewer', 403, 403, 403],
  ])('%s: may do what the role says and nothing more', async (role, charges, keys, invitations) => {
    await newPerson(`${role}@padaria.example`, role);
    const tab = await signedIn(`${role}@padaria.example`);
    expect((await tab.account('GET', '/overview')).status).toBe(200);
    expect((await tab.account('POST', '/pix/charges', charge())).status).toBe(charges);
    const key = { name: `key of ${role}`, permissions: ['read'] };
    expect((await tab.account('POST', '/keys', key)).status).toBe(keys);
    const guest = { email: `guest-of-${role}@padaria.example`, role: 'viewer' };
    expect((await tab.account('POST', '/members/invitations', guest)).status).toBe(invitations);
  });

  test('a developer makes no key that can transfer', async () => {
    const tab = await signedIn('developer@padaria.example');
    const answer = await tab.account('POST', '/keys', { name: 'saque', permissions: ['transfers'] });
    expect(answer.body.code).toBe('role_denied');
  });

  test('an admin cannot make anyone an owner, and the last owner stays', async () => {
    const admin = await signedIn('admin@padaria.example');
    const wanted = { email: 'dono@padaria.example', role: 'owner' };
    expect((await admin.account('POST', '/members/invitations', wanted)).body.code).toBe('role_denied');
    const lonely = await newShop();
    await newPerson('so@padaria.example', 'owner', lonely.ownerId);
    const owner = await signedIn('so@padaria.example', lonely.ownerId);
    const [self] = (await owner.account('GET', '/members')).body.members;
    const answer = await owner.account('PATCH', `/members/${self.userId}`, { role: 'viewer' });
    expect(answer.body.code).toBe('last_owner');
  });

  test('a session cannot use the automatic transfer of the public API', async () => {
    const owner = await signedIn('owner@padaria.example');
    const answer = await owner.account('POST', '/pix/transfers', {
      amountCents: 1000,
      pixKey: 'a@b.example',
      pixKeyType: 'EMAIL',
      description: '',
      requestKey: crypto.randomUUID(),
    });
    expect(answer.status).toBe(404);
  });
});

describe('an invitation', () => {
  test('is good once', async () => {
    const { token } = await invite(service.runtime, {
      accountId: shop.ownerId,
      email: 'uma-vez@padaria.example',
      role: 'viewer',
    });
    const tab = openTab();
    expect((await tab.call('POST', '/invitations/look', { token })).body).toMatchObject({
      email: 'uma-vez@padaria.example',
      accountName: 'Padaria',
      existing: false,
    });
    const accept = () => tab.call('POST', '/invitations/accept', { token, name: 'Ana Prado', password });
    expect((await accept()).status).toBe(200);
    expect((await accept()).body.code).toBe('invitation_invalid');
  });

  test('takes no password that is easy to guess', async () => {
    const { token } = await invite(service.runtime, {
      accountId: shop.ownerId,
      email: 'facil@padaria.example',
      role: 'viewer',
    });
    const answer = await openTab().call('POST', '/invitations/accept', {
      token,
      name: 'Ana',
      password: 'senha1234567',
    });
    expect(answer.body.code).toBe('weak_password');
  });
});

describe('a password reset', () => {
  test('ends every session and freezes transfers of the panel for a day', async () => {
    await newPerson('esqueci@padaria.example', 'owner');
    const before = await signedIn('esqueci@padaria.example');
    await openTab().call('POST', '/auth/request-password-reset', { email: 'esqueci@padaria.example' });
    const link = /nova-senha#(\S+)/;
    await until(async () =>
      (await mails()).some((mail) => link.test(mail) && mail.includes('To: esqueci@padaria.example')),
    );
    const mail = (await mails()).find((one) => link.test(one) && one.includes('To: esqueci@padaria.example'));
    const token = link.exec(mail ?? '')?.[1];
    const newPassword = 'outra girafa sem patins';
    expect((await openTab().call('POST', '/auth/reset-password', { token, newPassword })).status).toBe(200);
    expect((await before.call('GET', '/session')).status).toBe(401);

    const after = openTab();
    await after.call('POST', '/auth/sign-in/email', {
      email: 'esqueci@padaria.example',
      password: newPassword,
    });
    after.csrf = (await after.call('GET', '/session')).body.csrf;
    const draft = {
      amountCents: 1000,
      pixKey: 'maria@loja.example',
      pixKeyType: 'EMAIL',
      description: '',
      requestKey: crypto.randomUUID(),
    };
    expect((await after.account('POST', '/drafts', draft)).body.code).toBe('access_frozen');
  });
});

describe('a live account', () => {
  test('wants a second factor before transfers and keys that transfer', async () => {
    const live = await createAccount(service.runtime, { name: 'Viva', test: true, connection: 'simulator' });
    await service.database.admin(`UPDATE account SET test = false WHERE id = '${live.ownerId}'`);
    await newPerson('viva@padaria.example', 'owner', live.ownerId);
    const tab = await signedIn('viva@padaria.example', live.ownerId);
    const draft = {
      amountCents: 1000,
      pixKey: 'maria@loja.example',
      pixKeyType: 'EMAIL',
      description: '',
      requestKey: crypto.randomUUID(),
    };
    expect((await tab.account('POST', '/drafts', draft)).body.code).toBe('second_factor_required');
    const key = { name: 'saque', permissions: ['transfers'] };
    expect((await tab.account('POST', '/keys', key)).body.code).toBe('second_factor_required');
  });
});

describe('accounts apart', () => {
  test('keys and people of another account cannot be reached by their ids', async () => {
    const other = await newShop();
    await newPerson('vizinho@padaria.example', 'owner', other.ownerId);
    const mine = await signedIn('owner@padaria.example');
    const made = (await mine.account('POST', '/keys', { name: 'minha', permissions: ['read'] })).body;
    const [someone] = (await mine.account('GET', '/members')).body.members;
    const neighbour = await signedIn('vizinho@padaria.example', other.ownerId);
    expect((await neighbour.account('DELETE', `/keys/${made.id}`, {})).status).toBe(404);
    expect((await neighbour.account('POST', `/keys/${made.id}/roll`, { overlapHours: 0 })).status).toBe(404);
    expect((await neighbour.account('PATCH', `/members/${someone.userId}`, { role: 'viewer' })).status).toBe(
      404,
    );
    expect((await neighbour.account('DELETE', `/members/${someone.userId}`, {})).status).toBe(404);
    expect((await service.as(made.key)('GET', '/account')).status).toBe(200);
    const statement = await neighbour.account('GET', `/statement?operationId=${shop.operationId}`);
    expect(statement.status).toBe(404);
  });
});

describe('what is long', () => {
  test('travels compressed where it is read, and as it is where an act may answer with a secret', async () => {
    await newPerson('leitora@padaria.example', 'owner');
    const tab = await signedIn('leitora@padaria.example');
    const order = { amountCents: 1000, payerName: 'Maria', description: 'Um pedido '.repeat(13) };
    const takes = { 'accept-encoding': 'gzip, br' };
    const make = () =>
      tab.account('POST', '/pix/charges', { ...order, requestKey: crypto.randomUUID() }, takes);
    const [made] = [await make(), await make(), await make(), await make(), await make(), await make()];
    const read = await tab.account('GET', '/payments?kind=deposit', undefined, takes);
    for (const { body } of [made, read]) expect(JSON.stringify(body).length).toBeGreaterThan(1_400);
    const encodings = [made, read].map(({ headers }) => headers.get('content-encoding'));
    expect([made.status, read.status, ...encodings]).toEqual([201, 200, null, 'br']);
  });

  test('is compressed as well where it is the page of a payment, which names the files of its own', async () => {
    const url = `${service.url}/pagamentos/${crypto.randomUUID()}`;
    const plain = await fetch(url, { headers: { 'accept-encoding': 'identity' } });
    const small = await fetch(url, { headers: { 'accept-encoding': 'br' } });
    expect((await plain.text()).length).toBeGreaterThan(1_400);
    const encodings = [plain, small].map(({ headers }) => headers.get('content-encoding'));
    expect([...encodings, small.headers.get('vary')]).toEqual([null, 'br', 'accept-encoding']);
  });
});

describe('news', () => {
  test('of a payment reach every open page', async () => {
    const tab = await signedIn('owner@padaria.example');
    const stream = await listen(tab, shop.ownerId);
    const charge = (
      await tab.account('POST', '/pix/charges', {
        amountCents: 1000,
        payerName: 'Maria',
        requestKey: crypto.randomUUID(),
      })
    ).body;
    await service.simulator.control('POST', `/control/charges/${charge.id.replaceAll('-', '')}/pay`);
    await until(async () => stream.heard().includes(charge.id));
    expect(stream.heard()).toContain('charge.paid');
    stream.stop();
  });
});

async function listen(tab: Tab, accountId: string): Promise<{ heard(): string; stop(): void }> {
  // The tab's own fetch reads to the end, which a stream has not.
  const stopping = new AbortController();
  const answer = await fetch(`${service.url}/panel/api/accounts/${accountId}/updates`, {
    headers: { cookie: tab.cookie() },
    signal: stopping.signal,
  });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/event-stream');
  let text = '';
  void (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of answer.body ?? []) text += decoder.decode(chunk as Uint8Array);
  })().catch(() => {});
  return { heard: () => text, stop: () => stopping.abort() };
}
