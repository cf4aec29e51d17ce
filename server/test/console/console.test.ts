import { randomUUID } from 'node:crypto';
import {
  acceptInvitation,
  type Desk,
  newOperator,
  openDesk,
  operatorPassword,
  passOperatorCodes,
  shellOf,
  signIn,
} from '@vintem/testkit/console.ts';
import { newPerson, openTab, totpOf } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createOperator,
  grantOperator,
  resetOperator,
  suspendOperator,
} from '../../src/console/people/operators.ts';
import { recordAlone } from '../../src/console/requests/alone.ts';
import { askAtShell } from '../../src/console/requests/requests.ts';
import { costs } from '../../src/edge/costs.ts';
import { type ActName, actOfRoute, mayAct, operatorRoles } from '../../src/operate/acts.ts';
import { shownAction } from '../../src/operate/incidents/allowed.ts';
import { listIncidents, resolveIncident } from '../../src/operate/incidents/incident.ts';
import { resumeWithdrawals } from '../../src/operate/pause.ts';
import { audits } from '../../src/store/rows/audit.sql.ts';

/** The operators' console: who comes in, what each role may call, and what is shown for a reason alone. */

let service: Service;
const base = '/operator/api';

beforeAll(async () => {
  service = await openService({ env: { TRUSTED_PROXIES: '127.0.0.1', OPERATOR_ALONE_CENTS: '5000' } });
});
afterAll(() => service?.close());

const withoutSession = [
  'GET /sign-in',
  'POST /sign-in',
  'POST /sign-in/oidc',
  'POST /sign-in/oidc/answer',
  'POST /sign-in/oidc/factor',
  'POST /sign-in/passkey/options',
  'POST /sign-in/passkey',
  'POST /enrolment/look',
  'POST /enrolment/app',
  'POST /enrolment/accept',
];
/** Every call of a realm, as method and path with a made-up id. */
const callsBelow = (prefix: string): [string, string][] =>
  Object.keys(costs)
    .filter((call) => call.split(' ')[1]?.startsWith(`${prefix}/`))
    .map((call) => {
      const [method = '', path = ''] = call.slice().split(' ');
      return [method, path.slice(prefix.length).replaceAll(/:\w+/g, randomUUID()).replace('*', 'elsewhere')];
    });
const sessionCalls = (): [string, string][] =>
  callsBelow(base).filter(([method, path]) => !withoutSession.includes(`${method} ${path}`));
const bodyFor = (method: string): object | undefined => (method === 'GET' ? undefined : {});

describe('a session', () => {
  test('that is none opens no call of the console', async () => {
    const desk = openDesk(service);
    for (const [method, path] of [...sessionCalls(), ['GET', ''], ['GET', '/'], ['POST', '/']] as const)
      expect({ method, path, status: (await desk.call(method, path, bodyFor(method))).status }).toEqual({
        method,
        path,
        status: 401,
      });
  });

  test('of a merchant’s person opens no call of the console, under either name of the cookie', async () => {
    const shop = await service.newMerchant();
    await newPerson(service, shop.ownerId, 'dona@padaria.example');
    const tab = openTab(service);
    expect((await tab.signIn('dona@padaria.example')).status).toBe(200);
    const desk = openDesk(service);
    const [token = ''] = /(?<=session_token=)[^;]+/.exec(tab.cookie()) ?? [];
    expect(token).not.toBe('');
    for (const cookie of [tab.cookie(), `vintem-operator=${token}`, `vintem-operator=${token.split('.')[0]}`])
      for (const [method, path] of sessionCalls())
        expect(
          (await desk.call(method, path, bodyFor(method), { cookie, 'x-csrf-token': tab.csrf })).status,
        ).toBe(401);
  });

  test('of an operator opens no call of the panel', async () => {
    const desk = await newOperator(service, 'administrator');
    const shop = await service.newMerchant();
    const [, token = ''] = desk.cookie.split('=');
    const opened: string[] = [];
    // The others are refused before their bodies are looked at.
    const bodies: Record<string, object> = {
      '/email': { email: 'a@b.example' },
      '/reauthenticate': { password: 'x' },
    };
    for (const [method, path] of callsBelow('/panel/api')) {
      if (path.startsWith('/auth/') || path.startsWith('/invitations/') || path.startsWith('/mailbox'))
        continue;
      if (path === '/email/confirm' || path === '/email/cancel' || path === '/openapi.json') continue;
      for (const cookie of [desk.cookie, `vintem.session_token=${token}`]) {
        const url = `${service.url}/panel/api${path.replace(/^\/accounts\/[^/]+/, `/accounts/${shop.ownerId}`)}`;
        const { status } = await fetch(url, {
          method,
          headers: {
            cookie,
            origin: service.url,
            'x-csrf-token': desk.csrf,
            'content-type': 'application/json',
          },
          ...(method !== 'GET' && { body: JSON.stringify(bodies[path] ?? {}) }),
        });
        if (status !== 401) opened.push(`${method} ${path} ${status}`);
      }
    }
    expect(opened).toEqual([]);
  });

  test('ends in another network, and stays ended in its own', async () => {
    const desk = await newOperator(service, 'support', { 'x-forwarded-for': '192.0.2.1' });
    expect((await desk.call('GET', '/session')).status).toBe(200);
    expect(
      (await desk.call('GET', '/session', undefined, { 'x-forwarded-for': '198.51.100.7' })).status,
    ).toBe(401);
    expect((await desk.call('GET', '/session')).status).toBe(401);
  });

  test('ends after half an hour without a call, and twelve hours after it began', async () => {
    const idle = await newOperator(service, 'support');
    const old = await newOperator(service, 'support');
    const age = (desk: Desk, change: string) =>
      service.database.admin(
        `UPDATE operator_session SET ${change} WHERE operator_id = (SELECT id FROM operator_person WHERE email = '${desk.email}')`,
      );
    await age(idle, `seen_at = seen_at - interval '29 minutes'`);
    expect((await idle.call('GET', '/session')).status).toBe(200);
    // A page that reads again by itself keeps no session open.
    const byItself = () => idle.call('GET', '/worklist', undefined, { 'x-unattended': '1' });
    await age(idle, `seen_at = seen_at - interval '29 minutes'`);
    expect((await byItself()).status).toBe(200);
    await age(idle, `seen_at = seen_at - interval '2 minutes'`);
    expect((await byItself()).status).toBe(401);
    expect((await idle.call('GET', '/session')).status).toBe(401);
    const { endsAt } = (await old.call('GET', '/session')).body;
    expect(Date.parse(endsAt) - Date.now()).toBeGreaterThan(11.9 * 3600 * 1000);
    await age(old, `expires_at = expires_at - interval '12 hours'`);
    expect((await old.call('GET', '/session')).status).toBe(401);
  });

  test('ends with its sign-out, and a change without the page’s own sign and origin is refused', async () => {
    const desk = await newOperator(service, 'support');
    const { cookie } = desk;
    const foreign = [{ origin: 'https://attacker.example' }, { 'x-csrf-token': 'x' }, { 'x-csrf-token': '' }];
    for (const headers of foreign)
      expect((await desk.call('POST', '/sign-out', {}, headers)).body.code).toBe('origin_refused');
    expect((await desk.call('POST', '/sign-out', {})).status).toBe(200);
    desk.cookie = cookie;
    expect((await desk.call('GET', '/session')).status).toBe(401);
  });

  test('of a suspended operator ends at once, and a changed role counts from the next call on', async () => {
    const desk = await newOperator(service, 'auditor');
    expect((await desk.call('GET', '/operators')).status).toBe(200);
    await grantOperator(shellOf(service), desk.email, 'support');
    expect((await desk.call('GET', '/operators')).status).toBe(403);
    await suspendOperator(shellOf(service), desk.email);
    expect((await desk.call('GET', '/session')).status).toBe(401);
    await passOperatorCodes(service);
    expect((await signIn(desk)).status).toBe(401);
    await grantOperator(shellOf(service), desk.email, 'support');
    expect((await signIn(desk)).status).toBe(200);
  });
});

describe('a role', () => {
  test('opens the calls whose act the table gives it, and no other', async () => {
    for (const role of operatorRoles) {
      const desk = await newOperator(service, role);
      for (const [route, act] of actOfRoute) {
        if (route === 'POST /sign-out') continue;
        const [method = '', path = ''] = route.split(' ');
        const query = path === '/find' ? '?text=padaria' : '';
        const url = path.replaceAll(/:\w+/g, randomUUID()) + query;
        const { status } = await desk.call(
          method,
          url,
          method === 'POST' && path !== '/withdrawals/pause' ? { reason: 'suporte' } : bodyFor(method),
        );
        expect({ role, route, refused: status === 403 }).toEqual({
          role,
          route,
          refused: !mayAct(role, act as ActName),
        });
      }
    }
  });

  test('is asked of HEAD as of GET', async () => {
    const desk = await newOperator(service, 'support');
    expect((await desk.call('HEAD', '/operators')).status).toBe(403);
    expect((await desk.call('HEAD', '/worklist')).status).toBe(200);
  });

  test('of the last administrator is neither taken nor suspended', async () => {
    const shell = shellOf(service);
    const kept = await newOperator(service, 'administrator');
    await service.database.admin(
      `UPDATE operator_person SET suspended_at = now() WHERE role = 'administrator' AND email <> '${kept.email}'`,
    );
    // An administrator who has not accepted the invitation could not sign in.
    await createOperator(shell, { email: 'nova@vintem.example', name: 'Nova', role: 'administrator' });
    await expect(grantOperator(shell, kept.email, 'support')).rejects.toThrow('no other administrator');
    await expect(suspendOperator(shell, kept.email)).rejects.toThrow('no other administrator');
    const other = await newOperator(service, 'administrator');
    const both = await Promise.allSettled([
      suspendOperator(shell, kept.email),
      grantOperator(shell, other.email, 'support'),
    ]);
    expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
});

describe('a sign-in', () => {
  test('needs the password and a code, and says the same whatever is wrong', async () => {
    const desk = await newOperator(service, 'support');
    await passOperatorCodes(service);
    const wrong = [
      { email: 'ninguem@vintem.example' },
      { password: 'girafa azul de patins' },
      { code: '000000' },
    ];
    const answers = [];
    for (const fields of wrong) answers.push(await signIn(desk, fields));
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
    expect(new Set(answers.map(({ body }) => body.code))).toEqual(new Set(['sign_in_failed']));
    expect(
      (await desk.call('POST', '/sign-in', { email: desk.email, password: operatorPassword })).status,
    ).toBe(400);
    expect((await signIn(desk)).status).toBe(200);
  });

  test('takes a code once, also from two calls at once', async () => {
    const desk = await newOperator(service, 'support');
    await passOperatorCodes(service);
    const statuses = (await Promise.all([signIn(desk), signIn(desk), signIn(desk)])).map(
      ({ status }) => status,
    );
    expect(statuses.sort()).toEqual([200, 401, 401]);
  });

  test('looks at no code after five wrong ones, not even at the right one', async () => {
    const desk = await newOperator(service, 'support');
    await passOperatorCodes(service);
    const right = totpOf(desk.appSecret, Date.now());
    const other = right === '000000' ? '111111' : '000000';
    for (let tries = 0; tries < 5; tries++) expect((await signIn(desk, { code: other })).status).toBe(401);
    expect((await signIn(desk)).status).toBe(401);
    expect((await desk.call('GET', '/session')).status).toBe(200);
  });

  test('takes hostile fields without an error of its own', async () => {
    const desk = openDesk(service);
    for (const fields of [
      { email: 'a\u0000b@c.example', password: 'x', code: '000000' },
      { email: 'a@c.example', password: '\ud800', code: '000000' },
      { email: 'a@c.example', password: 'x'.repeat(5000), code: '000000' },
      { email: ['a@c.example'], password: 'x', code: 0 },
    ]) {
      const { status } = await desk.call('POST', '/sign-in', fields);
      expect([400, 401]).toContain(status);
    }
  });
});

describe('an invitation', () => {
  test('is accepted once, with a password that is not easy to guess and a code of the app shown last', async () => {
    const email = 'convite@vintem.example';
    const { token } = await createOperator(shellOf(service), { email, name: 'Caio', role: 'risk' });
    const desk = openDesk(service);
    expect((await desk.call('POST', '/enrolment/look', { token })).body).toEqual({
      email,
      name: 'Caio',
      role: 'risk',
    });
    const early = await desk.call('POST', '/enrolment/accept', {
      token,
      password: operatorPassword,
      code: '123456',
    });
    expect(early.body.code).toBe('invitation_invalid');
    const first = new URL((await desk.call('POST', '/enrolment/app', { token })).body.appUri);
    const last = new URL((await desk.call('POST', '/enrolment/app', { token })).body.appUri);
    const codeOf = (uri: URL) => totpOf(uri.searchParams.get('secret') ?? '', Date.now());
    const accept = (fields: object) =>
      desk.call('POST', '/enrolment/accept', {
        token,
        password: operatorPassword,
        code: codeOf(last),
        ...fields,
      });
    expect((await accept({ code: codeOf(first) })).body.code).toBe('sign_in_failed');
    expect((await accept({ password: 'senha12345678' })).body.code).toBe('weak_password');
    const [one, other] = await Promise.all([accept({}), accept({})]);
    expect([one.status, other.status].sort()).toEqual([200, 400]);
    expect((await desk.call('POST', '/enrolment/look', { token })).body.code).toBe('invitation_invalid');
  });

  test('of a reset takes the password and the app away and ends the sessions', async () => {
    const desk = await newOperator(service, 'treasury');
    const { token } = await resetOperator(shellOf(service), desk.email);
    expect((await desk.call('GET', '/session')).status).toBe(401);
    await passOperatorCodes(service);
    expect((await signIn(desk)).status).toBe(401);
    await acceptInvitation(desk, desk.email, token);
    expect((await desk.call('GET', '/session')).body.role).toBe('treasury');
  });

  test('ends after a day and with a suspension', async () => {
    const shell = shellOf(service);
    const late = await createOperator(shell, { email: 'tarde@vintem.example', name: 'Tarde', role: 'risk' });
    const gone = await createOperator(shell, { email: 'fora@vintem.example', name: 'Fora', role: 'risk' });
    await service.database.admin(
      `UPDATE operator_person SET invitation_expires_at = invitation_expires_at - interval '24 hours' WHERE email = 'tarde@vintem.example'`,
    );
    await suspendOperator(shell, 'fora@vintem.example');
    for (const { token } of [late, gone]) {
      const { body } = await openDesk(service).call('POST', '/enrolment/look', { token });
      expect(body.code).toBe('invitation_invalid');
    }
    await expect(
      createOperator(shell, { email: 'fora@vintem.example', name: 'Fora', role: 'risk' }),
    ).rejects.toThrow('an operator has the address');
  });
});

describe('the console', () => {
  test('finds a payment by its end-to-end id and shows its story without names; names need a reason, which is kept', async () => {
    const shop = await service.newMerchant();
    const id = await shop.paidCharge({ payerName: 'Maria Aparecida', description: 'bolo de cenoura' });
    const { endToEnd } = (await shop.call('GET', `/payments/${id}`)).body;
    const desk = await newOperator(service, 'risk');
    const { found } = (await desk.call('GET', `/find?text=${endToEnd}`)).body;
    expect(found).toMatchObject([
      { kind: 'payment', id, ownerId: shop.ownerId, state: 'paid', amountCents: 1000 },
    ]);
    const story = await desk.call('GET', `/payments/${id}`);
    expect(story.body).toMatchObject({
      id,
      status: 'paid',
      endToEnd,
      refunds: [],
      disputes: [],
      incidents: [],
    });
    expect(story.body.postings.map(({ available }: { available: number }) => available)).toContain(1000);
    expect(JSON.stringify(story.body)).not.toMatch(/Maria|cenoura/);
    expect(story.headers.get('cache-control')).toBe('no-store');
    const evidence = await desk.call('GET', `/payments/${id}/evidence`);
    expect(evidence.headers.get('content-disposition')).toBe(`attachment; filename="vintem-${id}.json"`);
    expect(evidence.body).toMatchObject({ takenBy: desk.email, payment: story.body });
    expect(JSON.stringify(evidence.body)).not.toMatch(/Maria|cenoura/);
    const without = await desk.call('POST', `/payments/${id}/personal-data`, { reason: '  ' });
    expect(without.status).toBe(400);
    const shown = await desk.call('POST', `/payments/${id}/personal-data`, {
      reason: 'chamado 4711 do pagador',
    });
    expect(shown.body).toMatchObject({ payerName: 'Maria Aparecida', description: 'bolo de cenoura' });
    const kept = await service.cellOf(shop).sql.run(
      {
        name: 'test_audit_of_names',
        text: `SELECT actor, reason FROM audit WHERE action = 'personal_data.show' AND subject = $1`,
      },
      [id],
    );
    expect(kept).toEqual([{ actor: desk.email, reason: 'chamado 4711 do pagador' }]);
  });

  test('shows who caused the states of a payment, its events and what became of their deliveries', async () => {
    const shop = await service.newMerchant();
    const { sql } = service.cellOf(shop);
    await newPerson(service, shop.ownerId, 'rita@shop.example', 'owner');
    const person = openTab(service);
    await person.signIn('rita@shop.example');
    await shop.receive(5_000);
    const draft = await person.call('POST', `/accounts/${shop.ownerId}/drafts`, {
      ...{ amountCents: 1_000, pixKey: 'maria@loja.example', pixKeyType: 'EMAIL', description: '' },
      requestKey: crypto.randomUUID(),
    });
    const charge = await shop.paidCharge();
    const desk = await newOperator(service, 'risk');
    const told = async (): Promise<{ id: string; type: string }[]> =>
      (await desk.call('GET', `/payments/${charge}`)).body.events;
    await until(async () => (await told()).some(({ type }) => type === 'charge.paid'));
    const [paid] = (await told()).filter(({ type }) => type === 'charge.paid');
    const endpointId = crypto.randomUUID();
    await service.database.admin(
      `INSERT INTO webhook_endpoint (account_id, id, url, events, schema_version, enabled, disabled_at, disabled_reason, secret, secret_hint,
          created_at, updated_at)
        VALUES ($1, $2, 'https://shop.example/hooks', '{*}', 1, false, now(), 'merchant', '\\x00', '0000', now(), now())`,
      [shop.ownerId, endpointId],
    );
    await service.database.admin(
      `INSERT INTO webhook_delivery (account_id, endpoint_id, event_id, status, made, tries_left, attempts, created_at)
        VALUES ($1, $2, $3, 'failed', 2, 0, $4, now())`,
      [
        shop.ownerId,
        endpointId,
        paid?.id,
        JSON.stringify([
          { n: 1, at: '2026-11-20T10:00:00.000Z', statusCode: null, error: 'timeout', durationMs: 1 },
          { n: 2, at: '2026-11-20T10:01:00.000Z', statusCode: 503, error: null, durationMs: 1 },
        ]),
      ],
    );
    const story = (await desk.call('GET', `/payments/${charge}`)).body;
    expect(story.events.find((one: { id: string }) => one.id === paid?.id).deliveries).toEqual([
      {
        ...{ endpointId, status: 'failed', attempts: 2 },
        ...{ lastAt: '2026-11-20T10:01:00.000Z', lastResult: '503' },
      },
    ]);
    const [key] = await sql.run<{ name: string }>(
      { name: 'test_key', text: 'SELECT name FROM api_key WHERE account_id = $1' },
      [shop.ownerId],
    );
    expect(story.history[0]).toMatchObject({ by: 'api', actor: 'key', name: key?.name });
    // A person of the account is one, and has a name for those who see personal data.
    const drafted = (await desk.call('GET', `/payments/${draft.body.id}`)).body;
    expect(drafted.history[0]).toMatchObject({ by: 'api', actor: 'person', name: null });
    const shown = await desk.call('POST', `/payments/${draft.body.id}/personal-data`, {
      reason: 'chamado 4712',
    });
    expect(shown.body.people).toEqual(['Ana Prado']);
    const evidence = await desk.call('GET', `/payments/${charge}/evidence`);
    expect(evidence.body.payment.events).toEqual(story.events);
  });

  test('finds a payment by its request key, its event, its refund and the id of the return, and an id of letters that are digits', async () => {
    const shop = await service.newMerchant();
    const requestKey = crypto.randomUUID();
    const id = await shop.paidCharge({ requestKey });
    const desk = await newOperator(service, 'support');
    const find = async (text: string) =>
      (await desk.call('GET', `/find?text=${encodeURIComponent(text)}`)).body;
    const payment = { kind: 'payment', id, ownerId: shop.ownerId };
    expect((await find(id.replaceAll('-', ''))).found).toMatchObject([payment]);
    expect((await find(requestKey)).found).toMatchObject([payment]);
    let eventId = '';
    await until(async () => {
      eventId = (await shop.call('GET', `/events?paymentId=${id}`)).body.events[0]?.id ?? '';
      return eventId !== '';
    });
    expect((await find(eventId)).found).toMatchObject([payment]);
    const asked = { amountCents: 100, requestKey: crypto.randomUUID() };
    const refund = (await shop.call('POST', `/payments/${id}/refunds`, asked)).body.id;
    const refunds = async () => (await desk.call('GET', `/payments/${id}`)).body.refunds;
    await until(async () => (await refunds())[0]?.status === 'completed');
    const [row] = await service.database.admin<{ rtr: string }>(
      'SELECT rtr_id AS rtr FROM refund WHERE id = $1',
      [refund],
    );
    const found = await find(row?.rtr ?? '');
    expect(found).toMatchObject({ found: [{ kind: 'refund', id: refund }, payment], more: false });
    // Nothing but digits and the letters A to F: it could be read as an id.
    const pix = `E${'00000208202611281200'}${'ABCDEF01234'}`;
    await service.database.admin('UPDATE payment SET end_to_end = $2 WHERE id = $1', [id, pix]);
    expect((await find(pix)).found).toMatchObject([payment]);
  });

  test('finds a payment link and a static code by their ids, and the code by its identifier', async () => {
    const shop = await service.newMerchant();
    const desk = await newOperator(service, 'support');
    const find = async (text: string) => (await desk.call('GET', `/find?text=${text}`)).body.found;
    const link = await shop.call('POST', '/payment-links', {
      title: 'Curso',
      amountCents: 1_000,
      requestKey: crypto.randomUUID(),
    });
    expect(await find(link.body.id)).toMatchObject([{ kind: 'link', ownerId: shop.ownerId, state: 'Curso' }]);
    const code = await shop.call('POST', '/static-codes', {
      name: 'Balcão',
      requestKey: crypto.randomUUID(),
    });
    expect(await find(code.body.id)).toMatchObject([
      { kind: 'code', ownerId: shop.ownerId, state: 'Balcão' },
    ]);
    expect(await find(code.body.identifier)).toMatchObject([{ kind: 'code', id: code.body.id }]);
  });

  test('shows fifty of what has a name, and says that there are more', async () => {
    const desk = await newOperator(service, 'support');
    await service.database.admin(
      `INSERT INTO account (id, number, name, test, connection, created_at)
        SELECT gen_random_uuid(), 4000000000 + n, 'Padaria do bairro ' || n, true, 'simulator', now() FROM generate_series(1, 51) n`,
    );
    const { found, more } = (await desk.call('GET', '/find?text=padaria%20do%20bairro')).body;
    expect([found.length, more]).toEqual([50, true]);
    const one = (await desk.call('GET', '/find?text=padaria%20do%20bairro%2051')).body;
    expect([one.found.length, one.more]).toEqual([1, false]);
    await service.database.admin(`DELETE FROM account WHERE name LIKE 'Padaria do bairro %'`);
  });

  test('shows an account with its balances, and finds it by its id and its name', async () => {
    const shop = await service.newMerchant();
    await shop.receive(2_500);
    const desk = await newOperator(service, 'support');
    const account = (await desk.call('GET', `/accounts/${shop.ownerId}`)).body;
    expect(account).toMatchObject({ ownerId: shop.ownerId, name: 'Loja', test: true, openIncidents: 0 });
    expect(account.operations).toMatchObject([
      { id: shop.operationId, isDefault: true, availableCents: 2_500 },
    ]);
    expect((await desk.call('GET', `/find?text=${shop.ownerId}`)).body.found).toMatchObject([
      { kind: 'account' },
    ]);
    expect((await desk.call('GET', '/find?text=Loj')).body.found.length).toBeGreaterThan(0);
    expect((await desk.call('GET', '/find?text=100%25')).body.found).toEqual([]);
    expect((await desk.call('GET', '/find')).status).toBe(400);
  });

  test('lists an open incident, what freezes first, and shows it with the payment that it is about', async () => {
    const shop = await service.newMerchant();
    const { body: charge } = await shop.charge();
    const { sql, ids } = service.cellOf(shop);
    const open = (freezes: boolean, openedAt: string): Promise<string> =>
      sql.tx(async (tx) => {
        const id = ids.uuid();
        await tx.run(
          {
            name: 'test_open_incident',
            text: `INSERT INTO incident (account_id, id, kind, payment_id, operation_id, amount_cents, reference, freezes, detail, opened_at, state)
              VALUES ($1, $2, 'contradiction', $3, $4, 700, $5, $6, $7, $8, 'open')`,
          },
          [
            shop.ownerId,
            id,
            charge.id,
            shop.operationId,
            `test:${id}`,
            freezes,
            JSON.stringify({ payerName: 'Maria', endToEnd: 'E1', report: { name: 'Maria' } }),
            openedAt,
          ],
        );
        return id;
      });
    const older = await open(false, '2026-01-01T00:00:00Z');
    const frozen = await open(true, '2026-02-01T00:00:00Z');
    const desk = await newOperator(service, 'treasury');
    const { items, withdrawalsPausedAt } = (await desk.call('GET', '/worklist')).body;
    const own = items.filter(({ ownerId }: { ownerId: string }) => ownerId === shop.ownerId);
    expect(own.map(({ id }: { id: string }) => id)).toEqual([frozen, older]);
    expect(own[0]).toMatchObject({
      kind: 'incident',
      about: 'contradiction',
      amountCents: 700,
      freezes: true,
    });
    expect(withdrawalsPausedAt).toBe(null);
    const incident = await desk.call('GET', `/incidents/${frozen}`);
    expect(incident.body).toMatchObject({
      ownerId: shop.ownerId,
      paymentId: charge.id,
      state: 'open',
      resolution: null,
    });
    expect(incident.body.facts).toEqual([{ name: 'endToEnd', value: 'E1' }]);
    const story = (await desk.call('GET', `/payments/${charge.id}`)).body;
    expect(story.incidents.map(({ id }: { id: string }) => id)).toEqual([older, frozen]);
  });

  test('says who works at an entry of the worklist, whom another takes it from, and gives the list as a file', async () => {
    const shop = await service.newMerchant();
    const id = randomUUID();
    await service.database.admin(
      `INSERT INTO incident (account_id, id, kind, operation_id, amount_cents, reference, freezes, detail, state, opened_at)
        VALUES ($1, $2, 'contradiction', $3, 700, $4, false, '{}', 'open', now())`,
      [shop.ownerId, id, shop.operationId, `test:${id}`],
    );
    const [rita, bruno] = [await newOperator(service, 'risk'), await newOperator(service, 'treasury')];
    const auditor = await newOperator(service, 'auditor');
    const entry = { kind: 'incident', id };
    const seenBy = async (desk: Desk): Promise<[string | null, boolean]> => {
      const { items } = (await desk.call('GET', '/worklist')).body;
      const { takenBy, isMine } = items.find((one: { id: string }) => one.id === id);
      return [takenBy, isMine];
    };
    expect(await seenBy(rita)).toEqual([null, false]);
    expect((await rita.call('POST', '/worklist/claims', entry)).status).toBe(200);
    expect([await seenBy(rita), await seenBy(bruno)]).toEqual([
      ['Rita Lima', true],
      ['Rita Lima', false],
    ]);
    expect((await bruno.call('POST', '/worklist/claims/removal', entry)).status).toBe(404);
    expect((await bruno.call('POST', '/worklist/claims', entry)).status).toBe(200);
    expect([(await seenBy(rita))[1], (await seenBy(bruno))[1]]).toEqual([false, true]);
    const file = await bruno.call('GET', '/worklist.csv', undefined, { 'accept-language': 'en' });
    const line = (file.body as string).split('\r\n').find((one) => one.includes(id));
    expect(line).toMatch(/^incident,contradiction,.*,7\.00,.*,Rita Lima$/);
    expect((await bruno.call('POST', '/worklist/claims/removal', entry)).status).toBe(200);
    expect(await seenBy(bruno)).toEqual([null, false]);
    // One that is not there, and a role that works at nothing.
    expect((await rita.call('POST', '/worklist/claims', { ...entry, id: randomUUID() })).status).toBe(404);
    expect((await rita.call('POST', '/worklist/claims', { ...entry, kind: 'dispute' })).status).toBe(404);
    expect((await auditor.call('POST', '/worklist/claims', entry)).status).toBe(403);
    const kept = await service.database.admin<{ actor: string; action: string }>(
      `SELECT actor, action FROM audit WHERE subject = $1 AND action LIKE 'worklist.%' ORDER BY seq`,
      [id],
    );
    expect(kept.map(({ actor, action }) => [actor, action])).toEqual([
      [rita.email, 'worklist.take'],
      [bruno.email, 'worklist.take'],
      [bruno.email, 'worklist.leave'],
    ]);
    // The claims of a month ago go with the next one.
    await rita.call('POST', '/worklist/claims', entry);
    await service.database.admin(
      `UPDATE worklist_claim SET item = 'old', taken_at = now() - interval '31 days'`,
    );
    await rita.call('POST', '/worklist/claims', entry);
    expect(await service.database.admin('SELECT item FROM worklist_claim')).toEqual([
      { item: `incident  ${id}` },
    ]);
  });

  test('lists certificates that end soon, what a restore has left to compare, and cash that has not arrived', async () => {
    const { database } = service;
    await database.admin(
      `INSERT INTO connection SELECT (jsonb_populate_record(c, jsonb_build_object('id', name, 'state', t.state, 'webhook_token', gen_random_uuid(),
          'certificate_expires_at', now() + ends * interval '1 day'))).*
        FROM connection c, (VALUES ('soon', 20, 'active'), ('later', 40, 'active'), ('gone', 5, 'retired')) AS t (name, ends, state)
        WHERE c.id = 'simulator'`,
    );
    await database.admin(
      `INSERT INTO cash_transfer (connection, reference, to_connection, amount_cents, left_at, due_at, found_at)
        VALUES ('soon', 'po_1', 'later', 9900, now() - interval '3 days', now() - interval '1 day', now()),
          ('soon', 'po_2', 'later', 100, now(), now() + interval '1 day', now())`,
    );
    await database.admin(
      `UPDATE installation SET withdrawals_paused_at = now(), withdrawals_paused_reason = 'restored', restored_at = now(),
        uncompared_connections = '{later}'`,
    );
    const [support, treasury] = [
      await newOperator(service, 'support'),
      await newOperator(service, 'treasury'),
    ];
    const listed = async (desk: Desk) =>
      (await desk.call('GET', '/worklist')).body.items
        .filter(({ kind }: { kind: string }) => ['certificate', 'uncompared', 'cash'].includes(kind))
        .map((one: Record<string, unknown>) => [one.kind, one.id, one.amountCents, one.freezes]);
    const seen = await listed(treasury);
    const back = `UPDATE installation SET withdrawals_paused_at = NULL, withdrawals_paused_reason = NULL, restored_at = NULL, uncompared_connections = '{}'`;
    await database.admin(back);
    expect(seen.sort()).toEqual([
      ['cash', 'po_1', 9900, false],
      ['certificate', 'soon', null, false],
      ['uncompared', 'installation', null, true],
      ['uncompared', 'later', null, true],
    ]);
    expect((await listed(support)).sort()).toEqual([
      ['cash', 'po_1', null, false],
      ['certificate', 'soon', null, false],
    ]);
    await database.admin(`DELETE FROM cash_transfer`);
    await database.admin(`DELETE FROM connection WHERE id IN ('soon', 'later', 'gone')`);
  });

  test('gives requests, connections and operators as files to those who see the lists', async () => {
    const [administrator, risk] = [
      await newOperator(service, 'administrator'),
      await newOperator(service, 'risk'),
    ];
    const read = (desk: Desk, path: string) => desk.call('GET', path, undefined, { 'accept-language': 'en' });
    const people = await read(administrator, '/operators.csv');
    expect(people.headers.get('content-disposition')).toContain('vintem-operators.csv');
    expect(people.body).toContain(`${risk.email},Rita Lima,risk,`);
    const connections = await read(administrator, '/connections.csv');
    expect(connections.body).toMatch(/\r\nsimulator,/);
    expect((await read(administrator, '/requests.csv')).body).toMatch(/^id,act,subject,/);
    for (const path of ['/operators.csv', '/connections.csv'])
      expect((await read(risk, path)).status).toBe(403);
  });

  test('shows the audit log of all accounts, the newest first and page by page, with filters and as a file', async () => {
    const [shop, other] = [await service.newMerchant(), await service.newMerchant()];
    const actor = `tester ${randomUUID()}`;
    const at = service.runtime.clock.now();
    const note = (accountId: string, n: number) => ({
      ...{ accountId, id: service.runtime.ids.uuid(), at: at + Math.floor(n / 3), actor },
      ...{ action: n % 2 ? 'odd' : 'even', subject: String(n), reason: '=1+1', detail: { n } },
    });
    for (const { ownerId } of [shop, other])
      await service.cellOf(shop).sql.tx((tx) =>
        Promise.all(
          audits.write(tx, {
            ...{ inserted: Array.from({ length: 60 }, (_, n) => note(ownerId, n)), updated: [], deleted: [] },
          }),
        ),
      );
    const desk = await newOperator(service, 'auditor');
    const all = async (
      filters: string,
    ): Promise<{ id: string; at: string; subject: string; seq: number }[]> => {
      const found = [];
      for (let next: string | null = ''; next !== null; ) {
        const below: string = next === '' ? '' : `&below=${next}`;
        const { body } = await desk.call(
          'GET',
          `/audit?actor=${encodeURIComponent(actor)}${filters}${below}`,
        );
        expect(body.entries.length).toBeLessThanOrEqual(50);
        found.push(...body.entries);
        next = body.next;
      }
      return found;
    };
    const found = await all('');
    expect(found).toHaveLength(120);
    expect(new Set(found.map(({ id }) => id)).size).toBe(120);
    expect(found.map((one) => one.at)).toEqual(
      found
        .map((one) => one.at)
        .sort()
        .reverse(),
    );
    const own = await all(`&ownerId=${shop.ownerId}&action=odd`);
    expect(own.map(({ subject }) => Number(subject)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 30 }, (_, n) => 2 * n + 1),
    );
    const file = await desk.call('GET', `/audit.csv?actor=${encodeURIComponent(actor)}&action=even`);
    const lines = String(file.body).trimEnd().split('\r\n');
    expect([file.status, lines.length]).toEqual([200, 61]);
    // No spreadsheet runs it.
    expect(lines[1]).toContain("'=1+1");
    expect((await desk.call('GET', '/audit?below=x')).status).toBe(400);
  });

  test('shows those who do not read the audit log what they did themselves, and nothing else', async () => {
    const [risk, other] = [await newOperator(service, 'risk'), await newOperator(service, 'risk')];
    const shop = await service.newMerchant();
    const charge = await shop.paidCharge();
    for (const [desk, reason] of [
      [risk, 'chamado 4713'],
      [other, 'chamado 4714'],
    ] as const)
      await desk.call('POST', `/payments/${charge}/personal-data`, { reason });
    expect((await risk.call('GET', '/audit')).status).toBe(403);
    for (const query of ['', `?actor=${encodeURIComponent(other.email)}`]) {
      const { entries } = (await risk.call('GET', `/audit/own${query}`)).body;
      expect(new Set(entries.map((one: { actor: string }) => one.actor))).toEqual(new Set([risk.email]));
      expect(entries.map((one: { reason: string }) => one.reason)).toContain('chamado 4713');
    }
    const file = (await risk.call('GET', '/audit/own.csv')).body;
    expect(file).toContain('chamado 4713');
    expect(file).not.toContain('chamado 4714');
  });

  test('answers 404 for ids that are not there, and 400 for what is none', async () => {
    const desk = await newOperator(service, 'support');
    for (const path of ['/accounts', '/payments', '/incidents']) {
      expect((await desk.call('GET', `${path}/${randomUUID()}`)).status).toBe(404);
      expect((await desk.call('GET', `${path}/x`)).status).toBe(400);
    }
  });
});

describe('a decision', () => {
  /** A charge of R$ 10 that a payer paid with another amount: its money waits for a person. */
  async function oddlyPaid(shop: Merchant, paidCents = 1_200, operationId?: string): Promise<string> {
    const { body } = await shop.charge({ amountCents: 1_000 }, operationId);
    await service.simulator.control('POST', `/control/charges/${body.id.replaceAll('-', '')}/pay`, {
      amountCents: paidCents,
    });
    let found: { id: string }[] = [];
    await until(async () => {
      found = await listIncidents(service.cellOf(shop), shop.ownerId);
      return found.length > 0;
    });
    return found[0]?.id ?? '';
  }
  const journalsOf = (shop: Merchant) =>
    service.database.admin<{ template: string }>(
      'SELECT template, available, suspense FROM journal WHERE account_id = $1 ORDER BY posted_at, chain_id, seq',
      [shop.ownerId],
    );
  const allowedBy = async (desk: Desk, incidentId: string) =>
    (await desk.call('POST', `/incidents/${incidentId}/acts`, {})).body.allowed as {
      action: string;
      shown: string;
      alone: boolean;
      movedCents: number;
      postings: { movement: string; lines: { column: string; cents: number }[] }[];
    }[];
  const resolve = (desk: Desk, id: string, action: string, shown: string) =>
    desk.call('POST', `/incidents/${id}/resolution`, { action, shown, reason: 'visto no extrato' });

  test('shows the postings of each act, writes nothing until it is taken, and then exactly those', async () => {
    const shop = await service.newMerchant();
    const incidentId = await oddlyPaid(shop);
    const desk = await newOperator(service, 'treasury');
    const before = await journalsOf(shop);
    const allowed = await allowedBy(desk, incidentId);
    expect(await journalsOf(shop)).toEqual(before);
    expect(allowed.map(({ action, alone }) => [action, alone])).toEqual([
      ['credit', true],
      ['writeoff', true],
      ['return', true],
      ['none', true],
    ]);
    const [credit] = allowed;
    expect((await resolve(desk, incidentId, 'credit', credit?.shown ?? '')).status).toBe(200);
    const written = (await journalsOf(shop)).slice(before.length);
    expect(written.map(({ template }) => template)).toEqual(credit?.postings.map(({ movement }) => movement));
    const incident = (await desk.call('GET', `/incidents/${incidentId}`)).body;
    expect(incident.resolution).toEqual({ action: 'credit', reason: 'visto no extrato', actor: desk.email });
  });

  test('is refused, and posts nothing, once the facts are others than those shown', async () => {
    const shop = await service.newMerchant();
    const { body: branch } = await shop.call('POST', '/operations', {
      name: 'Filial',
      requestKey: randomUUID(),
    });
    const incidentId = await oddlyPaid(shop, 1_200, branch.id);
    const desk = await newOperator(service, 'treasury');
    const shown = new Map((await allowedBy(desk, incidentId)).map((one) => [one.action, one.shown]));
    const credit = shown.get('credit') ?? '';
    // The postings of one act are not agreed to for another.
    const swapped = await resolve(desk, incidentId, 'writeoff', credit);
    expect([swapped.status, swapped.body.code]).toEqual([409, 'facts_changed']);
    // The money of a closed operation goes to the main one: other postings than those shown.
    await service.database.admin('UPDATE balance SET deleted_at = now() WHERE operation_id = $1', [
      branch.id,
    ]);
    const before = await journalsOf(shop);
    expect((await resolve(desk, incidentId, 'credit', credit)).body.code).toBe('facts_changed');
    expect(await journalsOf(shop)).toEqual(before);
    await service.database.admin('UPDATE balance SET deleted_at = NULL WHERE operation_id = $1', [branch.id]);
    const shell = { ...service.cellOf(shop), actor: 'root' };
    await resolveIncident(shell, incidentId, { action: 'writeoff', reason: 'decided at the shell' });
    expect((await resolve(desk, incidentId, 'credit', credit)).body.code).toBe('act_refused');
  });

  test('that moves more than one person may move alone is not carried out by one', async () => {
    const shop = await service.newMerchant();
    const incidentId = await oddlyPaid(shop, 150_000);
    const desk = await newOperator(service, 'treasury');
    const allowed = await allowedBy(desk, incidentId);
    expect(allowed.map(({ action, alone }) => [action, alone])).toContainEqual(['credit', false]);
    expect(allowed.at(-1)).toMatchObject({ action: 'none', postings: [], movedCents: 0, alone: true });
    const before = await journalsOf(shop);
    const answer = await resolve(desk, incidentId, 'credit', allowed[0]?.shown ?? '');
    expect(answer.body.requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(await journalsOf(shop)).toEqual(before);
    const alone = await resolve(desk, incidentId, 'none', allowed.at(-1)?.shown ?? '');
    expect(alone.body).toEqual({ requestId: null });
  });

  /** A treasurer asks for a credit that moves too much for one person. */
  async function asked(
    shop: Merchant,
  ): Promise<{ desk: Desk; incidentId: string; id: string; shown: string }> {
    const incidentId = await oddlyPaid(shop, 150_000);
    const desk = await newOperator(service, 'treasury');
    const shown = (await allowedBy(desk, incidentId))[0]?.shown ?? '';
    const id = (await resolve(desk, incidentId, 'credit', shown)).body.requestId;
    return { desk, incidentId, id, shown };
  }
  const agree = (desk: Desk, id: string, shown: string) =>
    desk.call('POST', `/requests/${id}/agreement`, { shown });
  const stateOf = async (desk: Desk, id: string) =>
    (await desk.call('GET', '/requests')).body.requests.find((one: { id: string }) => one.id === id)?.state;

  test('of two people is carried out once, with the postings that both saw and both names', async () => {
    const shop = await service.newMerchant();
    const { desk, incidentId, id, shown } = await asked(shop);
    const before = await journalsOf(shop);
    const others = [await newOperator(service, 'risk'), await newOperator(service, 'treasury')];
    const [other] = others as [Desk, Desk];
    const { requests } = (await other.call('GET', '/requests')).body;
    const seen = requests.find((one: { id: string }) => one.id === id);
    expect(seen).toMatchObject({
      state: 'open',
      action: 'credit',
      incidentId,
      shown,
      mine: false,
      mayAgree: true,
    });
    expect((await agree(other, id, '0'.repeat(64))).body.code).toBe('request_closed');
    const answers = await Promise.all(others.map((one) => agree(one, id, shown)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const written = (await journalsOf(shop)).slice(before.length);
    const templates = seen.postings.map(({ movement }: { movement: string }) => movement);
    expect(written.map(({ template }) => template)).toEqual(templates);
    const { resolution } = (await desk.call('GET', `/incidents/${incidentId}`)).body;
    expect(others.map(({ email }) => `${desk.email} + ${email}`)).toContain(resolution.actor);
    expect(await stateOf(desk, id)).toBe('done');
    expect((await agree(other, id, shown)).body.code).toBe('request_closed');
  });

  test('is agreed to by no one but a second person with the role of the act', async () => {
    const { desk, id, shown } = await asked(await service.newMerchant());
    const again = openDesk(service);
    Object.assign(again, { email: desk.email, appSecret: desk.appSecret });
    await passOperatorCodes(service);
    expect((await signIn(again)).status).toBe(200);
    again.csrf = (await again.call('GET', '/session')).body.csrf;
    // The same person in another session.
    expect((await agree(again, id, shown)).body.code).toBe('own_request');
    for (const role of ['support', 'administrator', 'auditor'] as const) {
      const other = await newOperator(service, role);
      expect((await agree(other, id, shown)).body.code).toBe('operator_role_denied');
    }
    await expect(
      service.database.admin(
        `UPDATE operator_request SET state = 'agreed', decided_by = requested_by, decided_at = now() WHERE id = $1`,
        [id],
      ),
    ).rejects.toThrow('operator_request_check');
    expect(await stateOf(desk, id)).toBe('open');
  });

  test('that waits ends after a day, with a suspension or another role of who asked, and by a refusal', async () => {
    const risk = await newOperator(service, 'risk');
    const late = await asked(await service.newMerchant());
    await service.database.admin(
      `UPDATE operator_request SET expires_at = expires_at - interval '24 hours' WHERE id = $1`,
      [late.id],
    );
    const suspended = await asked(await service.newMerchant());
    await suspendOperator(shellOf(service), suspended.desk.email);
    const moved = await asked(await service.newMerchant());
    await grantOperator(shellOf(service), moved.desk.email, 'support');
    const refused = await asked(await service.newMerchant());
    expect((await risk.call('POST', `/requests/${refused.id}/refusal`, {})).status).toBe(200);
    const withdrawn = await asked(await service.newMerchant());
    expect((await withdrawn.desk.call('POST', `/requests/${withdrawn.id}/refusal`, {})).status).toBe(200);
    for (const { id, shown } of [late, suspended, moved, refused, withdrawn])
      expect((await agree(risk, id, shown)).body.code).toBe('request_closed');
    expect(await stateOf(risk, refused.id)).toBe('refused');
    expect(await stateOf(risk, withdrawn.id)).toBe('withdrawn');
    expect(await stateOf(risk, late.id)).toBe(undefined);
  });

  test('of two people posts nothing once the facts have changed, and its request is spent', async () => {
    const shop = await service.newMerchant();
    const { desk, incidentId, id, shown } = await asked(shop);
    const shell = { ...service.cellOf(shop), actor: 'root' };
    await resolveIncident(shell, incidentId, { action: 'writeoff', reason: 'decided at the shell' });
    const before = await journalsOf(shop);
    const risk = await newOperator(service, 'risk');
    expect((await agree(risk, id, shown)).body.code).toBe('act_refused');
    expect(await journalsOf(shop)).toEqual(before);
    expect(await stateOf(desk, id)).toBe('stale');
    expect((await agree(risk, id, shown)).body.code).toBe('request_closed');
  });

  /** The same at the shell. */
  async function askedAtShell(shop: Merchant): Promise<{ incidentId: string; id: string; shown: string }> {
    const incidentId = await oddlyPaid(shop, 150_000);
    const seen = await shownAction({ ...service.cellOf(shop), actor: 'root' }, incidentId, 'credit');
    const wanted = { act: 'resolveIncident' as const, subject: incidentId, body: { action: 'credit' } };
    const { id } = await askAtShell(shellOf(service), { ...wanted, ...seen, reason: 'visto no extrato' });
    return { incidentId, id, shown: seen.shown };
  }
  const takeUp = (desk: Desk, id: string, shown: string) =>
    desk.call('POST', `/requests/${id}/taking-up`, { shown });

  test('that the shell asks for takes two operators: one takes it up, another one agrees', async () => {
    const shop = await service.newMerchant();
    const { incidentId, id, shown } = await askedAtShell(shop);
    const before = await journalsOf(shop);
    const [risk, treasury] = [await newOperator(service, 'risk'), await newOperator(service, 'treasury')];
    const listed = async (desk: Desk) =>
      (await desk.call('GET', '/requests')).body.requests.find((one: { id: string }) => one.id === id);
    const ofShell = { requestedBy: 'root', ofShell: true, mine: false, mayAgree: true };
    expect(await listed(risk)).toMatchObject({ state: 'open', ...ofShell });
    // The one at the shell may be the one who agrees here.
    expect((await agree(risk, id, shown)).body.code).toBe('request_closed');
    for (const role of ['support', 'administrator', 'auditor'] as const)
      expect((await takeUp(await newOperator(service, role), id, shown)).body.code).toBe(
        'operator_role_denied',
      );
    expect((await takeUp(risk, id, '0'.repeat(64))).body.code).toBe('request_closed');

    const answers = await Promise.all([risk, treasury].map((desk) => takeUp(desk, id, shown)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const [first, second] = answers[0]?.status === 200 ? [risk, treasury] : [treasury, risk];
    const both = { requestedBy: `root + ${first.email}`, ofShell: false };
    expect(await listed(first)).toMatchObject({ ...both, mine: true, mayAgree: false });
    expect((await agree(first, id, shown)).body.code).toBe('own_request');
    expect(await journalsOf(shop)).toEqual(before);
    expect((await agree(second, id, shown)).status).toBe(200);
    expect((await journalsOf(shop)).length).toBeGreaterThan(before.length);
    const { resolution } = (await risk.call('GET', `/incidents/${incidentId}`)).body;
    expect(resolution.actor).toBe(`root + ${first.email} + ${second.email}`);
    expect((await listed(risk)).state).toBe('done');
  });

  test('that the shell asks for ends as any other: with its day, by a refusal, with the one who took it up, with other facts', async () => {
    const [risk, treasury] = [await newOperator(service, 'risk'), await newOperator(service, 'treasury')];
    const late = await askedAtShell(await service.newMerchant());
    await service.database.admin(
      `UPDATE operator_request SET expires_at = expires_at - interval '24 hours' WHERE id = $1`,
      [late.id],
    );
    const refused = await askedAtShell(await service.newMerchant());
    expect((await risk.call('POST', `/requests/${refused.id}/refusal`, {})).status).toBe(200);
    expect(await stateOf(risk, refused.id)).toBe('refused');
    for (const { id, shown } of [late, refused])
      expect((await takeUp(risk, id, shown)).body.code).toBe('request_closed');

    const left = await askedAtShell(await service.newMerchant());
    const leaving = await newOperator(service, 'risk');
    expect((await takeUp(leaving, left.id, left.shown)).status).toBe(200);
    await suspendOperator(shellOf(service), leaving.email);
    expect((await agree(risk, left.id, left.shown)).body.code).toBe('request_closed');

    const shop = await service.newMerchant();
    const other = await askedAtShell(shop);
    expect((await takeUp(risk, other.id, other.shown)).status).toBe(200);
    const shell = { ...service.cellOf(shop), actor: 'root' };
    await resolveIncident(shell, other.incidentId, { action: 'writeoff', reason: 'decided at the shell' });
    expect((await agree(treasury, other.id, other.shown)).body.code).toBe('act_refused');
    expect(await stateOf(risk, other.id)).toBe('stale');
    // The database knows it as well.
    const open = await askedAtShell(await service.newMerchant());
    await expect(
      service.database.admin(
        `UPDATE operator_request SET state = 'agreed', decided_at = now(),
          decided_by = (SELECT id FROM operator_person WHERE email = $2) WHERE id = $1`,
        [open.id, risk.email],
      ),
    ).rejects.toThrow('operator_request_shell');
  });

  test('to end a pause takes two people, and ends that pause alone', async () => {
    const desk = await newOperator(service, 'risk');
    const other = await newOperator(service, 'treasury');
    const reason = 'aguarda o banco';
    const ask = async () => {
      const { requestId } = (await desk.call('POST', '/withdrawals/resume', { reason: 'o banco voltou' }))
        .body;
      const { requests } = (await other.call('GET', '/requests')).body;
      return requests.find((one: { id: string }) => one.id === requestId);
    };
    const isPaused = async () => (await other.call('GET', '/worklist')).body.withdrawalsPausedAt !== null;
    expect((await desk.call('POST', '/withdrawals/resume', { reason })).body.code).toBe('act_refused');
    await desk.call('POST', '/withdrawals/pause', { reason });
    const first = await ask();
    const { items } = (await other.call('GET', '/worklist')).body;
    expect(items.find((one: { id: string }) => one.id === first.id)).toMatchObject({ kind: 'request' });
    await resumeWithdrawals(shellOf(service));
    await desk.call('POST', '/withdrawals/pause', { reason: 'outro incidente' });
    expect((await agree(other, first.id, first.shown)).body.code).toBe('facts_changed');
    expect(await isPaused()).toBe(true);
    const second = await ask();
    expect((await agree(other, second.id, second.shown)).status).toBe(200);
    expect(await isPaused()).toBe(false);
  });

  test('about a hold is shown first: one person places it as shown, and two end it', async () => {
    const shop = await service.newMerchant();
    await shop.receive(10_000);
    const risk = await newOperator(service, 'risk');
    const place = `/operations/${shop.operationId}/holds`;
    const look = async (desk: Desk, path: string, body: object = {}) =>
      (await desk.call('POST', `${path}/acts`, body)).body;
    const before = await journalsOf(shop);
    const seen = await look(risk, place, { amountCents: 4_000 });
    expect([seen.movedCents, await journalsOf(shop)]).toEqual([4_000, before]);
    const body = {
      ...{ amountCents: 4_000, reason: 'uma contestação', shown: seen.shown },
      requestKey: randomUUID(),
    };
    const other = { ...body, amountCents: 3_000 };
    expect((await risk.call('POST', place, other)).body.code).toBe('facts_changed');
    const { holds } = (await risk.call('POST', place, body)).body;
    expect(holds).toMatchObject([{ capturedCents: 4_000, placedBy: risk.email }]);
    // The answer was lost, and the same wish comes again: its postings would be the same.
    const again = await Promise.all([body, body].map((one) => risk.call('POST', place, one)));
    expect(again.map((one) => one.body.code)).toEqual(['act_refused', 'act_refused']);
    expect(await shop.balanceCents()).toBe(6_000);

    const path = `/holds/${holds[0].id}`;
    const { shown } = await look(risk, path);
    const asked = await risk.call('POST', `${path}/release`, { reason: 'contestação retirada', shown });
    expect(await shop.balanceCents()).toBe(6_000);
    const second = await newOperator(service, 'risk');
    const treasury = await newOperator(service, 'treasury');
    expect((await treasury.call('POST', `${path}/acts`, {})).body.code).toBe('operator_role_denied');
    const id = asked.body.requestId;
    expect((await agree(risk, id, shown)).body.code).toBe('own_request');
    expect((await agree(second, id, shown)).status).toBe(200);
    expect(await shop.balanceCents()).toBe(10_000);
    expect((await risk.call('GET', place)).body.holds).toMatchObject([
      { releasedBy: `${risk.email} + ${second.email}` },
    ]);
    expect((await risk.call('POST', `/holds/${randomUUID()}/acts`, {})).status).toBe(404);
  });

  test('that one person took alone at the shell stands in the worklist until an operator with its role has seen it', async () => {
    const wanted = {
      ...{ act: 'resumeWithdrawals' as const, subject: 'installation', body: { pausedAt: '1' } },
      ...{ postings: [], movedCents: 0, shown: 'a'.repeat(64), reason: 'nobody else was awake' },
    };
    const [risk, treasury] = [await newOperator(service, 'risk'), await newOperator(service, 'treasury')];
    const support = await newOperator(service, 'support');
    const id = await recordAlone(shellOf(service), wanted);
    const later = await newOperator(service, 'risk');
    const kindOf = async () =>
      (await risk.call('GET', '/worklist')).body.items.find((one: { id: string }) => one.id === id)?.kind;
    const listed = async () =>
      (await risk.call('GET', '/requests')).body.requests.find((one: { id: string }) => one.id === id);
    expect(await kindOf()).toBe('alone');
    expect(await listed()).toMatchObject({
      state: 'alone',
      requestedBy: 'root',
      mine: false,
      mayAgree: true,
    });
    const see = (desk: Desk) => desk.call('POST', `/requests/${id}/sight`, { shown: wanted.shown });
    expect((await see(support)).body.code).toBe('operator_role_denied');
    // One who was made since may have been made for this.
    expect((await see(later)).status).toBe(409);
    // It is not a request: it cannot be agreed to, nor refused.
    expect((await agree(risk, id, wanted.shown)).body.code).toBe('request_closed');
    expect((await risk.call('POST', `/requests/${id}/refusal`, {})).body.code).toBe('request_closed');
    const answers = await Promise.all([see(risk), see(treasury)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(await kindOf()).toBe(undefined);
    expect(await listed()).toMatchObject({ state: 'seen' });
  });

  test('that two people take alone at once is carried out once', async () => {
    const shop = await service.newMerchant();
    const incidentId = await oddlyPaid(shop);
    const desks = [await newOperator(service, 'risk'), await newOperator(service, 'treasury')];
    const [credit] = await allowedBy(desks[0] as Desk, incidentId);
    const answers = await Promise.all(
      desks.map((desk) => resolve(desk, incidentId, 'credit', credit?.shown ?? '')),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const credits = (await journalsOf(shop)).filter(
      ({ template }) => template === credit?.postings[0]?.movement,
    );
    expect(credits).toHaveLength(1);
  });

  test('to keep money and to pause withdrawals is kept with its reason and the name of the operator', async () => {
    const shop = await service.newMerchant();
    const incidentId = await oddlyPaid(shop);
    const desk = await newOperator(service, 'risk');
    const reason = 'aguarda o banco';
    expect((await desk.call('POST', `/incidents/${incidentId}/keep`, { reason })).status).toBe(200);
    expect((await desk.call('GET', `/incidents/${incidentId}`)).body.keptAt).not.toBe(null);
    const paused = await desk.call('POST', '/withdrawals/pause', { reason });
    expect(paused.body.withdrawalsPausedAt).not.toBe(null);
    expect((await shop.transfer()).body.code).toBe('withdrawals_paused');
    await resumeWithdrawals(shellOf(service));
    const { sql } = service.cellOf(shop);
    const kept = await sql.run({
      name: 'test_audit_of_keep',
      text: `SELECT action FROM audit WHERE actor = '${desk.email}' AND reason = '${reason}' AND action = 'incident.keep'`,
    });
    expect(kept).toHaveLength(1);
  });
});

test('The console opens from the addresses of its list alone, before anything else is looked at', async () => {
  const listed = await openService({
    worker: false,
    env: { TRUSTED_PROXIES: '127.0.0.1', OPERATOR_ADDRESSES: '192.0.2.0/24' },
  });
  try {
    const inside = await newOperator(listed, 'support', { 'x-forwarded-for': '192.0.2.9' });
    expect((await inside.call('GET', '/session')).status).toBe(200);
    const outside = { 'x-forwarded-for': '198.51.100.9' };
    expect((await inside.call('GET', '/session', undefined, outside)).body.code).toBe(
      'operator_address_refused',
    );
    expect((await inside.call('POST', '/sign-in', {}, outside)).body.code).toBe('operator_address_refused');
    expect((await inside.call('GET', '/session')).status).toBe(200);
  } finally {
    await listed.close();
  }
});
