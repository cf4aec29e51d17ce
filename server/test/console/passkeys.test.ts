import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
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
import { mailsTo, totpOf } from '@vintem/testkit/panel.ts';
import { type Authenticator, authenticator } from '@vintem/testkit/passkey.ts';
import { openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { grantOperator, resetOperator, suspendOperator } from '../../src/console/people/operators.ts';

/** Passkeys of operators: who adds one, what a signature opens, and what it never does. */

let service: Service;
beforeAll(async () => {
  service = await openService({ worker: false, env: { TRUSTED_PROXIES: '127.0.0.1' } });
});
afterAll(() => service?.close());

const key = (): Authenticator => {
  const { port } = new URL(service.url);
  return authenticator({ origin: `http://localhost:${port}`, rpId: 'localhost' });
};
const add = async (desk: Desk, made: Authenticator, userVerified = true) => {
  const { body } = await desk.call('POST', '/factors/passkeys/options', {});
  const response = made.register(body, userVerified);
  return desk.call('POST', '/factors/passkeys', { name: 'chave', response });
};
/** An operator with a passkey, who has shown a code again. */
const withPasskey = async (): Promise<{ desk: Desk; made: Authenticator }> => {
  const desk = await newOperator(service, 'support');
  const made = key();
  await prove(service, desk);
  expect((await add(desk, made)).status).toBe(200);
  return { desk, made };
};
const challenge = async (desk: Desk) => (await desk.call('POST', '/sign-in/passkey/options', {})).body;
const enter = async (made: Authenticator, userVerified = true, desk = openDesk(service)) => {
  const response = made.authenticate(await challenge(desk), userVerified);
  return { desk, answer: await desk.call('POST', '/sign-in/passkey', { response }) };
};
const audited = (action: string, email: string) =>
  service.database.admin(`SELECT detail FROM audit WHERE action = $1 AND actor = $2`, [action, email]);

describe('a passkey of an operator', () => {
  test('is added after a factor was shown again in this session, with its user verified, and opens a session', async () => {
    const desk = await newOperator(service, 'risk');
    const made = key();
    // The session has begun with a code a moment ago: one that was found open adds nothing.
    expect((await desk.call('POST', '/factors/passkeys/options', {})).body.code).toBe(
      'fresh_factor_required',
    );
    expect((await prove(service, desk)).status).toBe(200);
    expect((await add(desk, made, false)).body.code).toBe('factor_refused');
    expect((await add(desk, made)).status).toBe(200);
    expect((await desk.call('GET', '/factors')).body.passkeys).toMatchObject([
      { name: 'chave', usedAt: null },
    ]);
    const other = await enter(made);
    expect(other.answer.status).toBe(200);
    expect((await other.desk.call('GET', '/session')).body).toMatchObject({
      email: desk.email,
      role: 'risk',
    });
    expect(await audited('operator.passkey_add', desk.email)).toHaveLength(1);
    expect(await audited('operator.sign_in', desk.email)).toMatchObject([{ detail: { method: 'passkey' } }]);
    await until(async () =>
      (await mailsTo(service, desk.email)).some((mail) => /passkey foi adicionada/.test(mail)),
    );
  });

  test('is asked again where ten minutes have passed since the factor was shown', async () => {
    const { desk } = await withPasskey();
    await service.database.admin(
      `UPDATE operator_session SET proved_at = proved_at - interval '601 seconds'`,
    );
    expect((await desk.call('POST', '/factors/passkeys/options', {})).body.code).toBe(
      'fresh_factor_required',
    );
    expect((await desk.call('POST', `/factors/passkeys/${randomUUID()}/removal`, {})).body.code).toBe(
      'fresh_factor_required',
    );
  });

  test('shows the factor again as a code of the app does, and one of another operator does not', async () => {
    const { desk, made } = await withPasskey();
    const other = await withPasskey();
    const next = (await enter(made)).desk;
    next.csrf = (await next.call('GET', '/session')).body.csrf;
    const options = async () => (await next.call('POST', '/factors/proof/options', {})).body;
    expect((await options()).allowCredentials).toHaveLength(1);
    const foreign = { response: other.made.authenticate(await options(), true) };
    expect((await next.call('POST', '/factors/proof', foreign)).body.code).toBe('factor_refused');
    const unverified = { response: made.authenticate(await options(), false) };
    expect((await next.call('POST', '/factors/proof', unverified)).body.code).toBe('factor_refused');
    expect((await next.call('POST', '/factors/passkeys/options', {})).body.code).toBe(
      'fresh_factor_required',
    );
    const right = { response: made.authenticate(await options(), true) };
    expect((await next.call('POST', '/factors/proof', right)).status).toBe(200);
    expect((await next.call('POST', '/factors/passkeys/options', {})).status).toBe(200);
    expect(await audited('operator.proof', desk.email)).toMatchObject([
      { detail: { method: 'app' } },
      { detail: { method: 'passkey' } },
    ]);
  });

  test('whose user was not verified, or that a page of another origin made sign, opens nothing', async () => {
    const { made } = await withPasskey();
    expect((await enter(made, false)).answer.body.code).toBe('passkey_refused');
    for (const origin of [
      'https://attacker.example',
      'http://localhost:1',
      service.url.replace('http', 'https'),
    ])
      expect((await enter(made.at(origin))).answer.body.code).toBe('passkey_refused');
    const { port } = new URL(service.url);
    const elsewhere = authenticator({ origin: `http://localhost:${port}`, rpId: 'attacker.example' });
    expect((await enter(elsewhere)).answer.body.code).toBe('passkey_refused');
    expect((await enter(made)).answer.status).toBe(200);
  });

  test('signs once for each challenge: an answer that is sent again, also at once, opens nothing', async () => {
    const { desk: own, made } = await withPasskey();
    const desk = openDesk(service);
    const response = made.authenticate(await challenge(desk), true);
    const answers = await Promise.all(
      [1, 2, 3].map(() => openDesk(service).call('POST', '/sign-in/passkey', { response })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
    expect((await desk.call('POST', '/sign-in/passkey', { response })).body.code).toBe('passkey_refused');
    // The challenge was gone: no count of the authenticator was looked at.
    expect(await audited('operator.passkey_copied', own.email)).toEqual([]);
  });

  test('answers a challenge that was asked for here, for this, in this network, within five minutes', async () => {
    const { desk, made } = await withPasskey();
    const at = (address: string) => openDesk(service, { 'x-forwarded-for': address });
    const asked = await challenge(at('192.0.2.1'));
    const elsewhere = { response: made.authenticate(asked, true) };
    expect((await at('198.51.100.7').call('POST', '/sign-in/passkey', elsewhere)).body.code).toBe(
      'passkey_refused',
    );
    // The challenge of a proof opens no session, and that of a sign-in proves nothing.
    const proof = (await desk.call('POST', '/factors/proof/options', {})).body;
    const asSignIn = { response: made.authenticate(proof, true) };
    expect((await openDesk(service).call('POST', '/sign-in/passkey', asSignIn)).body.code).toBe(
      'passkey_refused',
    );
    const asProof = { response: made.authenticate(await challenge(desk), true) };
    expect((await desk.call('POST', '/factors/proof', asProof)).body.code).toBe('factor_refused');
    // That of one session proves nothing in another one.
    const second = await newOperator(service, 'support');
    const ofSecond = (await second.call('POST', '/factors/proof/options', {})).body;
    const crossed = { response: made.authenticate(ofSecond, true) };
    expect((await desk.call('POST', '/factors/proof', crossed)).body.code).toBe('factor_refused');
    const late = await challenge(desk);
    await service.database.admin(
      `UPDATE operator_challenge SET expires_at = expires_at - interval '5 minutes'`,
    );
    const expired = { response: made.authenticate(late, true) };
    expect((await desk.call('POST', '/sign-in/passkey', expired)).body.code).toBe('passkey_refused');
    const own = { response: made.authenticate({ challenge: 'a'.repeat(43) }, true) };
    expect((await desk.call('POST', '/sign-in/passkey', own)).body.code).toBe('passkey_refused');
  });

  test('that a copy of it has signed before opens nothing more, and the audit log says so', async () => {
    const { desk, made } = await withPasskey();
    const copy = made.copy();
    expect((await enter(made)).answer.status).toBe(200);
    expect((await enter(copy)).answer.body.code).toBe('passkey_refused');
    expect(await audited('operator.passkey_copied', desk.email)).toHaveLength(1);
    expect((await enter(made)).answer.status).toBe(200);
    // In a proof as well.
    const next = (await enter(made)).desk;
    next.csrf = (await next.call('GET', '/session')).body.csrf;
    const options = (await next.call('POST', '/factors/proof/options', {})).body;
    const response = copy.authenticate(options, true);
    expect((await next.call('POST', '/factors/proof', { response })).body.code).toBe('factor_refused');
    expect(await audited('operator.passkey_copied', desk.email)).toHaveLength(2);
  });

  test('that is removed opens nothing, and the sessions that may have begun with it end', async () => {
    const { desk, made } = await withPasskey();
    const other = (await enter(made)).desk;
    const [{ id }] = (await desk.call('GET', '/factors')).body.passkeys;
    const foreign = await newOperator(service, 'administrator');
    await prove(service, foreign);
    expect((await foreign.call('POST', `/factors/passkeys/${id}/removal`, {})).status).toBe(404);
    await prove(service, desk);
    expect((await desk.call('POST', `/factors/passkeys/${id}/removal`, {})).status).toBe(200);
    expect((await other.call('GET', '/session')).status).toBe(401);
    expect((await desk.call('GET', '/session')).status).toBe(200);
    expect((await enter(made)).answer.status).toBe(401);
    expect(await audited('operator.passkey_remove', desk.email)).toHaveLength(1);
  });

  test('opens nothing while its operator is suspended, and is gone after a reset', async () => {
    const { desk, made } = await withPasskey();
    await suspendOperator(shellOf(service), desk.email);
    expect((await enter(made)).answer.status).toBe(401);
    await grantOperator(shellOf(service), desk.email, 'support');
    expect((await enter(made)).answer.status).toBe(200);
    const { token } = await resetOperator(shellOf(service), desk.email);
    expect((await enter(made)).answer.status).toBe(401);
    await acceptInvitation(openDesk(service), desk.email, token);
    expect((await enter(made)).answer.status).toBe(401);
  });

  test('is one of ten, and is known once', async () => {
    const { desk, made } = await withPasskey();
    expect((await add(desk, made)).status).toBe(409);
    const other = await newOperator(service, 'support');
    await prove(service, other);
    expect((await add(other, made)).status).toBe(409);
    const many = await Promise.all(Array.from({ length: 12 }, () => add(desk, key())));
    expect(many.filter(({ status }) => status === 200)).toHaveLength(9);
    expect((await desk.call('GET', '/factors')).body.passkeys).toHaveLength(10);
  });

  test('that cannot be read is refused without an error of its own', async () => {
    const { desk, made } = await withPasskey();
    const right = () =>
      challenge(desk).then((options) => made.authenticate(options, true)) as Promise<{
        response: Record<string, string>;
      }>;
    const spoilt: ((one: Awaited<ReturnType<typeof right>>) => object)[] = [
      (one) => ({ ...one, response: { ...one.response, signature: 'AAAA' } }),
      (one) => ({ ...one, response: { ...one.response, authenticatorData: 'AAAA' } }),
      (one) => ({ ...one, response: { ...one.response, clientDataJSON: 'bnVsbA' } }),
      (one) => ({ ...one, response: { ...one.response, clientDataJSON: 'e30' } }),
      (one) => ({ ...one, id: 'x' }),
      (one) => ({ ...one, rawId: 'x' }),
    ];
    for (const spoil of spoilt) {
      const answer = await openDesk(service).call('POST', '/sign-in/passkey', {
        response: spoil(await right()),
      });
      expect(answer.body.code).toBe('passkey_refused');
    }
    for (const body of [{}, { response: {} }, { response: { id: 'x', rawId: 'x', type: 'y', response: {} } }])
      expect((await openDesk(service).call('POST', '/sign-in/passkey', body)).status).toBe(400);
    expect((await desk.call('POST', '/factors/proof', {})).body.code).toBe('factor_refused');
  });
});

describe('the limits', () => {
  test('of factors that a session shows again are taken before the factor is looked at', async () => {
    const desk = await newOperator(service, 'support');
    await passOperatorCodes(service);
    const right = totpOf(desk.appSecret, Date.now());
    const other = right === '000000' ? '111111' : '000000';
    for (let tries = 0; tries < 5; tries++)
      expect((await desk.call('POST', '/factors/proof', { code: other })).body.code).toBe('factor_refused');
    expect((await desk.call('POST', '/factors/proof', { code: right })).status).toBe(429);
    // The person enters all the same.
    expect((await signIn(desk)).status).toBe(200);
  });

  test('of challenges are taken before a row is written', async () => {
    const desk = openDesk(service, { 'x-forwarded-for': '203.0.113.77' });
    const statuses = [];
    for (let n = 0; n < 62; n++)
      statuses.push((await desk.call('POST', '/sign-in/passkey/options', {})).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(60);
    expect(statuses.slice(60)).toEqual([429, 429]);
    const [{ count }] = (await service.database.admin<{ count: string }>(
      `SELECT count(*) FROM operator_challenge WHERE network = '203.0.113.77'`,
    )) as [{ count: string }];
    expect(Number(count)).toBe(60);
  });
});

/** A host that the address does not have, as a proxy hands it on. */
const fetchAt = (url: string, host: string, origin: string): Promise<{ status: number; body: unknown }> =>
  new Promise((resolve, reject) => {
    const headers = { host, origin, 'content-type': 'application/json' };
    const sent = request(url, { method: 'POST', headers }, async (answer) => {
      let text = '';
      for await (const part of answer) text += part;
      resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text) });
    });
    sent.once('error', reject);
    sent.end('{}');
  });

test('A console with a host of its own answers there alone, and its passkeys belong to that host', async () => {
  const own = await openService({
    worker: false,
    env: { OPERATOR_URL: 'https://console.vintem.example' },
  });
  try {
    const at = (host: string, origin: string) =>
      fetchAt(`${own.url}/operator/api/sign-in/passkey/options`, host, origin);
    expect(await at(new URL(own.url).host, own.url)).toMatchObject({ status: 403 });
    expect(await at(new URL(own.url).host, 'https://console.vintem.example')).toMatchObject({ status: 403 });
    expect(await at('console.vintem.example', own.url)).toMatchObject({ status: 403 });
    const right = await at('console.vintem.example', 'https://console.vintem.example');
    expect(right).toMatchObject({ status: 200, body: { rpId: 'console.vintem.example' } });
  } finally {
    await own.close();
  }
});
