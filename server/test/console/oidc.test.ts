import {
  acceptInvitation,
  type Desk,
  newOperator,
  openDesk,
  passOperatorCodes,
  prove,
  shellOf,
  signIn,
} from '@vintem/testkit/console.ts';
import { freePort } from '@vintem/testkit/free-port.ts';
import {
  type FakeProvider,
  oidcClient,
  openFakeProvider,
  openRealProvider,
  visit,
} from '@vintem/testkit/openid.ts';
import { totpOf } from '@vintem/testkit/panel.ts';
import { openService, type Service } from '@vintem/testkit/service.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { changeAsShown, changeOf, shownChange } from '../../src/console/people/changes.ts';
import { bindOperator, resetOperator, suspendOperator } from '../../src/console/people/operators.ts';

/** The sign-in of operators at an OpenID provider: the one of npm, and one that answers as an attacker would. */

const settings = (issuer: string) => ({
  OPERATOR_OIDC_ISSUER: issuer,
  OPERATOR_OIDC_CLIENT_ID: oidcClient.id,
  OPERATOR_OIDC_CLIENT_SECRET: oidcClient.secret,
});

/** A browser at the console that keeps each cookie by its name. */
function browserAt(
  service: Service,
  always: Record<string, string> = {},
): Desk & { jar: Map<string, string> } {
  const jar = new Map<string, string>();
  const desk = openDesk(service, always);
  return Object.assign(desk, {
    jar,
    call: async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
      const answer = await openDesk(service, always).call(method, path, body, {
        ...{ cookie, 'x-csrf-token': desk.csrf, ...headers },
      });
      for (const one of answer.headers.getSetCookie()) {
        const [pair = ''] = one.split(';');
        jar.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
      }
      return answer;
    },
  });
}

/** The same operator in such a browser, with a factor shown again. */
async function inBrowser(service: Service, desk: Desk): Promise<Desk> {
  const browser = browserAt(service);
  const [name = '', value = ''] = desk.cookie.split('=');
  browser.jar.set(name, value);
  await prove(service, desk);
  return Object.assign(browser, { csrf: desk.csrf, email: desk.email, appSecret: desk.appSecret });
}

const codeOf = async (service: Service, { appSecret }: Pick<Desk, 'appSecret'>) => {
  await passOperatorCodes(service);
  return totpOf(appSecret, Date.now());
};

describe('at the provider of npm', () => {
  const who = { subject: 'rita-at-the-company' };
  let service: Service;
  let provider: Awaited<ReturnType<typeof openRealProvider>>;
  let redirectUri: string;
  beforeAll(async () => {
    const port = await freePort();
    redirectUri = `http://127.0.0.1:${port}/operator/entrar/oidc`;
    provider = await openRealProvider(redirectUri, who);
    service = await openService({ worker: false, env: { PORT: String(port), ...settings(provider.url) } });
  });
  afterAll(async () => {
    await service?.close();
    await provider?.close();
  });

  test('an operator binds the account, enters with it and a code of the app, and each answer counts once', async () => {
    const desk = await inBrowser(service, await newOperator(service, 'risk'));
    const { url } = (await desk.call('POST', '/factors/oidc', {})).body;
    const answer = await visit(url, redirectUri);
    expect((await desk.call('POST', '/factors/oidc/answer', answer)).status).toBe(200);
    expect((await desk.call('GET', '/factors')).body.identity).toMatchObject({
      issuer: provider.url,
      subject: who.subject,
    });

    const browser = browserAt(service);
    const begun = (await browser.call('POST', '/sign-in/oidc', {})).body;
    const back = await visit(begun.url, redirectUri);
    expect(back.iss).toBe(provider.url);
    expect((await browser.call('POST', '/sign-in/oidc/answer', back)).body).toEqual({ signedIn: false });
    expect((await browser.call('GET', '/session')).status).toBe(401);
    expect((await browser.call('POST', '/sign-in/oidc/answer', back)).body.code).toBe('oidc_refused');
    const code = await codeOf(service, desk);
    const wrong = code === '000000' ? '111111' : '000000';
    expect((await browser.call('POST', '/sign-in/oidc/factor', { code: wrong })).body.code).toBe(
      'factor_refused',
    );
    expect((await browser.call('POST', '/sign-in/oidc/factor', { code })).status).toBe(200);
    expect((await browser.call('GET', '/session')).body).toMatchObject({ email: desk.email, role: 'risk' });
    expect(
      (await browser.call('POST', '/sign-in/oidc/factor', { code: await codeOf(service, desk) })).body.code,
    ).toBe('oidc_refused');
    const kept = await service.database.admin(
      `SELECT detail->>'method' AS method, detail->>'factor' AS factor FROM audit WHERE actor = $1 AND action = 'operator.sign_in'`,
      [desk.email],
    );
    expect(kept).toEqual([{ method: 'oidc', factor: 'app' }]);
  });

  test('a code that was used in another sign-in is refused by the provider, and one of another browser by the console', async () => {
    const first = browserAt(service);
    const back = await visit((await first.call('POST', '/sign-in/oidc', {})).body.url, redirectUri);
    const thief = browserAt(service);
    const own = await visit((await thief.call('POST', '/sign-in/oidc', {})).body.url, redirectUri);
    expect((await thief.call('POST', '/sign-in/oidc/answer', back)).body.code).toBe('oidc_refused');
    expect((await browserAt(service).call('POST', '/sign-in/oidc/answer', own)).body.code).toBe(
      'oidc_refused',
    );
    expect((await first.call('POST', '/sign-in/oidc/answer', back)).status).toBe(200);
    // The code of the first with the state of another one's own sign-in.
    const again = browserAt(service);
    const begun = await visit((await again.call('POST', '/sign-in/oidc', {})).body.url, redirectUri);
    const mixed = { ...begun, code: back.code ?? '' };
    expect((await again.call('POST', '/sign-in/oidc/answer', mixed)).body.code).toBe('oidc_refused');
  });
});

describe('an answer', () => {
  let service: Service;
  let provider: FakeProvider;
  let desk: Desk;
  beforeAll(async () => {
    provider = await openFakeProvider();
    service = await openService({
      worker: false,
      env: {
        ...settings(provider.url),
        TRUSTED_PROXIES: '127.0.0.1',
        OPERATOR_OIDC_SECOND_FACTOR: 'amr:mfa acr:urn:example:2fa',
        OPERATOR_OIDC_GROUPS: 'vintem-risk=risk vintem-ops=support',
      },
    });
    desk = await newOperator(service, 'risk');
    await bindOperator(shellOf(service), desk.email, { issuer: provider.url, subject: 'ana' });
  });
  afterAll(async () => {
    await service?.close();
    await provider?.close();
  });
  afterEach(() => Object.assign(provider, { claims: {}, metadata: {}, answer: null, algorithm: 'RS256' }));

  let networks = 0;
  const right = { groups: ['vintem-risk'] };
  /** A sign-in whose token has these claims beside the right ones. */
  const enter = async (
    claims: Record<string, unknown> = {},
    spoil: (answer: Record<string, string>) => object = (one) => one,
  ) => {
    provider.claims = { ...right, ...claims };
    // Each from a network of its own: refusals are counted.
    const browser = browserAt(service, { 'x-forwarded-for': `203.0.113.${++networks % 250}` });
    const begun = await browser.call('POST', '/sign-in/oidc', {});
    const answer = spoil(provider.lead(begun.body.url));
    return { browser, answer: await browser.call('POST', '/sign-in/oidc/answer', answer) };
  };
  const seconds = (from: number): number => Math.floor(Date.now() / 1000) + from;

  test('asks with PKCE, a state and a nonce, and the secret of the client stands in no address', async () => {
    const { url } = (await browserAt(service).call('POST', '/sign-in/oidc', {})).body;
    const query = Object.fromEntries(new URL(url).searchParams);
    expect(query).toMatchObject({
      ...{ response_type: 'code', client_id: 'vintem', scope: 'openid', code_challenge_method: 'S256' },
      ...{ redirect_uri: `${service.url}/operator/entrar/oidc`, acr_values: 'urn:example:2fa' },
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^entrar\.[\w-]{43}$/),
    });
    expect(url).not.toContain(oidcClient.secret);
    const [kept] = await service.database.admin(
      `SELECT row_to_json(f)::text AS text FROM operator_oidc_flow f LIMIT 1`,
    );
    for (const secret of [query.nonce, query.state, query.code_challenge])
      expect(String(kept?.text)).not.toContain(secret);
  });

  test('of the right provider leads to the second factor, and its word for one to a session', async () => {
    expect((await enter()).answer.body).toEqual({ signedIn: false });
    expect((await enter({ amr: ['pwd'] })).answer.body).toEqual({ signedIn: false });
    for (const claims of [{ amr: ['pwd', 'mfa'] }, { acr: 'urn:example:2fa' }]) {
      const { browser, answer } = await enter(claims);
      expect(answer.body).toEqual({ signedIn: true });
      expect((await browser.call('GET', '/session')).body.email).toBe(desk.email);
    }
  });

  test.each<[string, Record<string, unknown>]>([
    ['another nonce', { nonce: 'x'.repeat(43) }],
    ['no nonce', { nonce: undefined }],
    ['another issuer', { iss: 'https://attacker.example' }],
    ['another audience', { aud: 'another-client' }],
    ['several audiences and another party', { aud: ['vintem', 'x'], azp: 'x' }],
    ['an end in the past', { iat: seconds(-400), exp: seconds(-100) }],
    ['a beginning in the future', { nbf: seconds(100) }],
    ['no end', { exp: undefined }],
    ['no subject', { sub: undefined }],
    ['a subject that is no text', { sub: 7 }],
    ['the subject of no operator', { sub: 'bia' }],
    ['the subject in other letters', { sub: 'Ana' }],
    [
      'the operator’s address instead',
      { sub: 'bia', email: 'operador1@vintem.example', email_verified: true },
    ],
    ['no group', { groups: undefined }],
    ['a group of another role', { groups: ['vintem-ops'] }],
    ['a group that is none', { groups: [null, 7, 'vintem-risk2'] }],
  ])('with %s opens nothing', async (_what, claims) => {
    const { browser, answer } = await enter({ amr: ['mfa'], ...claims });
    expect(answer.body.code).toBe('oidc_refused');
    expect((await browser.call('GET', '/session')).status).toBe(401);
  });

  test('whose clock is half a minute behind or before counts', async () => {
    expect((await enter({ iat: seconds(-300), exp: seconds(-20) })).answer.status).toBe(200);
    expect((await enter({ iat: seconds(20), nbf: seconds(20) })).answer.status).toBe(200);
  });

  test('for another state, without one, with another issuer or with an error opens nothing, and asks the provider nothing', async () => {
    const before = provider.asked.length;
    const spoilt: ((one: Record<string, string>) => object)[] = [
      (one) => ({ ...one, state: `entrar.${'x'.repeat(43)}` }),
      ({ code }) => ({ code }),
      (one) => ({ ...one, iss: 'https://attacker.example' }),
      ({ state }) => ({ state, error: 'access_denied' }),
      ({ state }) => ({ state }),
    ];
    for (const spoil of spoilt)
      expect((await enter({ amr: ['mfa'] }, spoil)).answer.body.code).toBe('oidc_refused');
    expect(provider.asked).toHaveLength(before);
  });

  test('that no key of the provider signed opens nothing; a key that it has changed counts at once', async () => {
    provider.rotate(false);
    expect((await enter({ amr: ['mfa'] })).answer.body.code).toBe('oidc_refused');
    provider.rotate(true);
    expect((await enter({ amr: ['mfa'] })).answer.body).toEqual({ signedIn: true });
    provider.algorithm = 'none';
    expect((await enter({ amr: ['mfa'] })).answer.body.code).toBe('oidc_refused');
  });

  test('that comes late, from another network, or for the other purpose opens nothing', async () => {
    const from = (address: string) => ({ 'x-forwarded-for': address });
    const browser = browserAt(service, from('192.0.2.1'));
    provider.claims = { ...right, amr: ['mfa'] };
    const first = provider.lead((await browser.call('POST', '/sign-in/oidc', {})).body.url);
    expect((await browser.call('POST', '/sign-in/oidc/answer', first, from('198.51.100.7'))).body.code).toBe(
      'oidc_refused',
    );
    const late = provider.lead((await browser.call('POST', '/sign-in/oidc', {})).body.url);
    await service.database.admin(
      `UPDATE operator_oidc_flow SET expires_at = expires_at - interval '10 minutes'`,
    );
    expect((await browser.call('POST', '/sign-in/oidc/answer', late)).body.code).toBe('oidc_refused');
    // A sign-in binds nothing, and a binding opens no session.
    const own = await inBrowser(service, await newOperator(service, 'support'));
    const signing = provider.lead((await own.call('POST', '/sign-in/oidc', {})).body.url);
    expect((await own.call('POST', '/factors/oidc/answer', signing)).body.code).toBe('oidc_refused');
    const binding = provider.lead((await own.call('POST', '/factors/oidc', {})).body.url);
    expect((await own.call('POST', '/sign-in/oidc/answer', binding)).body.code).toBe('oidc_refused');
  });

  test('that is no answer, leads elsewhere, is too long or does not come says so, and the other ways in stay', async () => {
    const answers: [(response: import('node:http').ServerResponse) => void, string][] = [
      [(response) => response.end('<html>'), 'oidc_refused'],
      [(response) => response.writeHead(302, { location: `${provider.url}/keys` }).end(), 'oidc_refused'],
      [(response) => response.writeHead(500).end('{}'), 'oidc_refused'],
      [(response) => response.end('x'.repeat(300 * 1024)), 'oidc_unreachable'],
      [(response) => response.destroy(), 'oidc_unreachable'],
    ];
    for (const [answer, code] of answers) {
      provider.answer = answer;
      expect((await enter({ amr: ['mfa'] })).answer.body.code).toBe(code);
    }
    await passOperatorCodes(service);
    expect((await signIn(desk)).status).toBe(200);
  });

  test('of a provider that calls itself otherwise is not asked for', async () => {
    for (const issuer of ['https://attacker.example', `${provider.url}/`]) {
      provider.metadata = { issuer };
      expect((await browserAt(service).call('POST', '/sign-in/oidc', {})).body.code).toBe('oidc_refused');
    }
  });

  test('names no operator who is suspended or was reset, also between the provider and the second factor', async () => {
    const other = await newOperator(service, 'risk');
    await bindOperator(shellOf(service), other.email, { issuer: provider.url, subject: 'rui' });
    const waiting = await enter({ sub: 'rui' });
    expect(waiting.answer.body).toEqual({ signedIn: false });
    await suspendOperator(shellOf(service), other.email);
    expect((await enter({ sub: 'rui', amr: ['mfa'] })).answer.body.code).toBe('oidc_refused');
    const code = await codeOf(service, other);
    expect((await waiting.browser.call('POST', '/sign-in/oidc/factor', { code })).body.code).toBe(
      'factor_refused',
    );
    const eva = await newOperator(service, 'risk');
    await bindOperator(shellOf(service), eva.email, { issuer: provider.url, subject: 'eva' });
    const { token } = await resetOperator(shellOf(service), eva.email);
    await acceptInvitation(openDesk(service), eva.email, token);
    expect((await enter({ sub: 'eva', amr: ['mfa'] })).answer.body.code).toBe('oidc_refused');
  });

  test('from an address that the console does not open to is not looked at', async () => {
    const closed = await openService({
      worker: false,
      env: { ...settings(provider.url), OPERATOR_ADDRESSES: '192.0.2.0/24' },
    });
    try {
      for (const path of [
        '/sign-in/oidc',
        '/sign-in/oidc/answer',
        '/sign-in/oidc/factor',
        '/sign-in/passkey',
      ])
        expect((await openDesk(closed).call('POST', path, {})).body.code).toBe('operator_address_refused');
    } finally {
      await closed.close();
    }
  });

  test('without a provider there is no such way in', async () => {
    const without = await openService({ worker: false });
    try {
      expect((await openDesk(without).call('GET', '/sign-in')).body).toEqual({ oidc: null });
      expect((await openDesk(without).call('POST', '/sign-in/oidc', {})).status).toBe(404);
    } finally {
      await without.close();
    }
  });

  test('binds an account once: neither a second one of the operator, nor the same one of another operator', async () => {
    const own = await inBrowser(service, await newOperator(service, 'support'));
    const bind = async (as: Desk, sub: string) => {
      provider.claims = { sub };
      const begun = await as.call('POST', '/factors/oidc', {});
      return as.call('POST', '/factors/oidc/answer', provider.lead(begun.body.url));
    };
    expect((await bind(own, 'ana')).body.code).toBe('act_refused');
    expect((await bind(own, 'leo')).status).toBe(200);
    expect((await bind(own, 'leo2')).body.code).toBe('act_refused');
    const shell = shellOf(service);
    const wanted = changeOf({ change: 'bind_oidc', email: own.email, issuer: provider.url, subject: 'leo3' });
    await expect(shownChange(shell, wanted)).rejects.toThrow('has an identity');
    expect((await own.call('POST', '/factors/oidc/removal', {})).status).toBe(200);
    await changeAsShown(shell, wanted, { shown: await shownChange(shell, wanted), by: [] });
    expect((await own.call('GET', '/factors')).body.identity).toMatchObject({ subject: 'leo3' });
    const acts = await service.database.admin(
      `SELECT action, actor FROM audit WHERE action LIKE 'operator.oidc%' AND (actor = $1 OR detail->>'email' = $1) ORDER BY id`,
      [own.email],
    );
    expect(acts).toEqual([
      { action: 'operator.oidc_bind', actor: own.email },
      { action: 'operator.oidc_remove', actor: own.email },
      { action: 'operator.oidc_bind', actor: 'root' },
    ]);
  });
});
