import { randomUUID } from 'node:crypto';
import { type Desk, newOperator, shellOf } from '@vintem/testkit/console.ts';
import { mailsTo, newPerson, openTab, type Tab } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service } from '@vintem/testkit/service.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { grantOperator, suspendOperator } from '../../src/console/people/operators.ts';
import { costs } from '../../src/edge/costs.ts';
import { masked } from '../../src/panel/support/mask.ts';
import { supportViews } from '../../src/panel/support/views.ts';

/** An operator sees the panel of an account: what opens it, what it shows, and that it changes nothing. */

let service: Service;
let shop: Merchant;
let other: Merchant;
let owner: Tab;
let desk: Desk;
const reason = 'chamado 4711: cobrança não aparece';
const hiddenText = 'pedido-segredo-88';

beforeAll(async () => {
  service = await openService({ env: { TRUSTED_PROXIES: '127.0.0.1' } });
  shop = await service.newMerchant();
  other = await service.newMerchant();
  await newPerson(service, shop.ownerId, 'dona@padaria.example');
  await newPerson(service, shop.ownerId, 'gerente@padaria.example', 'admin');
  owner = await signedIn('dona@padaria.example');
  await shop.receive(250_000);
});
afterAll(() => service?.close());
beforeEach(async () => {
  desk = await newOperator(service, 'support');
  await grant();
});

async function signedIn(email: string, on: Service = service): Promise<Tab> {
  const tab = openTab(on);
  expect((await tab.signIn(email)).status).toBe(200);
  return tab;
}
const at = (tab: Tab, method: string, path: string, body?: object) =>
  tab.call(method, `/accounts/${shop.ownerId}${path}`, body);
const grant = async (tab = owner, minutes = 60) => at(tab, 'POST', '/support/grant', { minutes });

/** A browser with the cookie of the view, and nothing else. */
async function begin(from: Desk = desk, accountId = shop.ownerId) {
  const answer = await fetch(`${service.url}/operator/api/accounts/${accountId}/view`, {
    method: 'POST',
    headers: {
      ...{ cookie: from.cookie, origin: service.url, 'x-csrf-token': from.csrf },
      'content-type': 'application/json',
    },
    body: JSON.stringify({ reason }),
  });
  const cookie = answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const body = (await answer.json()) as { code?: string; endsAt?: string };
  return { status: answer.status, cookie, body, set: answer.headers.getSetCookie()[0] };
}

const call = async (cookie: string, method: string, path: string, body?: object, headers = {}) => {
  const answer = await fetch(`${service.url}/panel/api${path}`, {
    method,
    headers: {
      ...{ cookie, origin: service.url, 'x-csrf-token': '', ...headers },
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream');
  if (isStream) await answer.body?.cancel();
  const text = isStream ? '' : await answer.text();
  return { status: answer.status, text, body: text.startsWith('{') ? JSON.parse(text) : null };
};
const reads = async (cookie: string) =>
  (await call(cookie, 'GET', `/accounts/${shop.ownerId}/overview`)).status;

/** Every call of the panel. */
const calls = Object.keys(costs)
  .filter((one) => one.split(' ')[1]?.startsWith('/panel/api/'))
  .map((one) => {
    const [method = '', path = ''] = one.split(' ');
    return { method, path: path.slice('/panel/api'.length) };
  });
const addressOf = (path: string, accountId = shop.ownerId): string =>
  path.replace(':account', accountId).replaceAll(/:\w+/g, randomUUID()).replace('*', 'elsewhere');

/** The contents of every table, but of those that a look or an earlier call of the API writes. */
async function contents(): Promise<Record<string, string>> {
  const tables = await service.database.admin(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'vintem' AND table_type = 'BASE TABLE'
      AND table_name NOT IN ('rate_bucket', 'panel_attempt', 'worker', 'database_mark', 'job', 'write_probe', 'operator_session', 'query_slot',
        'publisher', 'connection', 'request_log', 'storage_budget', 'installation', 'key_place')`,
  );
  const found: Record<string, string> = {};
  for (const { name } of tables as { name: string }[]) {
    const [row] = (await service.database.admin(
      `SELECT count(*) || ' ' || coalesce(md5(string_agg(t::text, '|' ORDER BY t::text)), '') AS sum FROM vintem.${name} t`,
    )) as { sum: string }[];
    found[name] = row?.sum ?? '';
  }
  return found;
}

describe('a support view', () => {
  test('shows the account to support under a grant of its owner, and stands in the audit log and in the panel', async () => {
    const { status, cookie, body, set } = await begin();
    expect(status).toBe(200);
    expect(set).toMatch(/^vintem-view=[\w-]{65}; Max-Age=1800; Path=\/; HttpOnly; SameSite=Strict$/);
    const session = (await call(cookie, 'GET', '/session')).body;
    expect(session).toMatchObject({
      ...{ name: 'Rita Lima', csrf: '', view: { endsAt: body.endsAt, reason } },
      accounts: [{ id: shop.ownerId, role: 'viewer', abilities: ['read'] }],
    });
    const overview = await call(cookie, 'GET', `/accounts/${shop.ownerId}/overview`);
    expect(overview.body.operations[0]).toMatchObject({ id: shop.operationId });
    expect((await owner.call('GET', '/session')).body.accounts[0].seenUntil).toBe(body.endsAt);
    const { views, grantedUntil } = (await at(owner, 'GET', '/support')).body;
    expect(views[0]).toMatchObject({ operator: 'Rita Lima', reason, granted: true, endedAt: null });
    expect(grantedUntil).not.toBe(null);
    const kept = await service.database.admin(
      `SELECT action, reason FROM audit WHERE account_id = $1 AND actor = $2 ORDER BY seq`,
      [shop.ownerId, desk.email],
    );
    expect(kept).toEqual([{ action: 'view.begin', reason }]);
  });

  test('refuses every call of the panel but GET, and nothing changes', async () => {
    const { cookie } = await begin();
    // As good as it gets: with the sign of the operator's own console, and with the owner's session in the same browser.
    const both = `${owner.cookie()}; ${cookie}`;
    const before = await contents();
    const sign = ['/auth/sign-in/email', '/auth/sign-out', '/auth/two-factor/verify-totp'];
    const changing = [
      ...calls.filter(({ method }) => method !== 'GET'),
      ...sign.map((path) => ({ method: 'POST', path })),
    ];
    expect(changing.length).toBeGreaterThan(60);
    for (const { method, path } of changing)
      for (const [sent, csrf] of [
        [cookie, desk.csrf],
        [both, owner.csrf],
      ] as const) {
        const { status, body } = await call(sent, method, addressOf(path), {}, { 'x-csrf-token': csrf });
        expect({ method, path, status, code: body?.code }).toEqual({
          ...{ method, path, status: 403, code: 'view_reads_only' },
        });
      }
    for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS'])
      expect((await call(cookie, method, `/accounts/${shop.ownerId}/overview`)).status).toBeGreaterThan(400);
    expect(await contents()).toEqual(before);
  });

  test('gives no file, no stream of payments, and no call that needs more than to read', async () => {
    const { cookie } = await begin();
    for (const path of ['/webhooks', '/members', '/security-events', '/receivers', '/support', '/test/clock'])
      expect({ path, ...(await call(cookie, 'GET', `/accounts/${shop.ownerId}${path}`)) }).toMatchObject({
        ...{ path, status: 403, body: { code: 'role_denied' } },
      });
    const files = calls.filter(({ method, path }) => method === 'GET' && /\.(csv|ofx|pdf)$/.test(path));
    for (const { path } of [...files, { path: '/accounts/:account/events/stream' }])
      expect({ path, status: (await call(cookie, 'GET', addressOf(path))).status }).toEqual({
        path,
        status: 403,
      });
    expect(files.length).toBeGreaterThan(12);
    for (const path of ['/sessions', '/mailbox'])
      expect((await call(cookie, 'GET', path)).status).toBeGreaterThanOrEqual(403);
  });

  test('opens no other account, and is neither a session of the panel nor one of the console', async () => {
    const { cookie } = await begin();
    const token = cookie.split('=')[1] ?? '';
    expect(await reads(cookie)).toBe(200);
    for (const { path } of calls.filter(
      ({ method, path }) => method === 'GET' && path.includes(':account'),
    )) {
      const { status } = await call(cookie, 'GET', addressOf(path, other.ownerId));
      expect({ path, refused: [403, 404].includes(status) }).toEqual({ path, refused: true });
    }
    for (const wrong of [
      desk.cookie,
      `vintem-view=${desk.cookie.split('=')[1]}`,
      `vintem.session_token=${token}`,
      `vintem-view=${'a'.repeat(43)}`,
    ])
      expect(await reads(wrong)).toBe(401);
    const console_ = await fetch(`${service.url}/operator/api/session`, {
      headers: { cookie: `vintem-operator=${token}` },
    });
    expect(console_.status).toBe(401);
    expect(
      await call(cookie, 'GET', `/accounts/${shop.ownerId}/overview`, undefined, {
        'x-forwarded-for': '203.0.113.9',
      }),
    ).toMatchObject({ status: 401 });
  });

  test('hides names, documents, Pix keys and codes, and shows figures, ids and states', async () => {
    const charge = (await shop.charge({ amountCents: 4_711, metadata: { pedido: hiddenText } })).body;
    await shop.transfer({ amountCents: 2_000, description: hiddenText });
    const { cookie } = await begin();
    const path = `/accounts/${shop.ownerId}`;
    const asOwner = (await at(owner, 'GET', `/payments/${charge.id}`)).body;
    const seen = (await call(cookie, 'GET', `${path}/payments/${charge.id}`)).body;
    expect(seen).toMatchObject({ id: charge.id, status: asOwner.status, amountCents: 4_711, metadata: {} });
    const secret = JSON.stringify([seen, (await call(cookie, 'GET', `${path}/records`)).body]);
    expect(asOwner.copyPaste.length).toBeGreaterThan(20);
    for (const text of [asOwner.copyPaste, asOwner.qrCodeBase64, hiddenText, 'Maria', 'maria@loja.example'])
      expect(secret).not.toContain(text);
    for (const { path: one } of calls.filter(
      (each) => each.method === 'GET' && each.path.includes(':account'),
    )) {
      const { text } = await call(cookie, 'GET', addressOf(one));
      expect({ one, shows: text.includes('Maria') || text.includes(asOwner.copyPaste) }).toEqual({
        one,
        shows: false,
      });
    }
  });

  test('gives no picture and no body that no rule speaks of', () => {
    const { sql, clock, log, draining, secrets } = service.runtime;
    const views = supportViews(
      { sql, clock, log, draining, secrets },
      { overTls: false, admits: () => true },
    );
    const ask = (view: object | null, type: string, payload: unknown) =>
      views.shown(
        { view, member: {} } as FastifyRequest,
        { getHeader: () => type } as unknown as FastifyReply,
        payload,
      );
    expect(() => ask({}, 'image/png', Buffer.from('png'))).toThrow('view_reads_only');
    expect(() => ask({}, 'application/json', { pipe: () => {} })).toThrow('view_reads_only');
    expect(ask(null, 'image/png', 'png')).toBe('png');
    expect(ask({}, 'application/json; charset=utf-8', '{"payerName":"Maria"}')).toBe('{"payerName":"•••"}');
  });

  test('hides a random Pix key, which has the form of an id', () => {
    const id = randomUUID();
    expect(
      masked({ id, paymentId: id, pixKey: id, list: [{ key: id, taxId: id, at: '2026-11-28' }] }),
    ).toEqual({
      ...{ id, paymentId: id, pixKey: '•••' },
      list: [{ key: '•••', taxId: id, at: '2026-11-28' }],
    });
  });
});

describe('a support view ends', () => {
  const ends: [string, (cookie: string) => Promise<unknown>][] = [
    [
      'after half an hour',
      () =>
        service.database.admin(
          `UPDATE support_view SET begun_at = begun_at - interval '31 minutes', ends_at = ends_at - interval '31 minutes'`,
        ),
    ],
    ['when the owner ends it', () => at(owner, 'POST', '/support/end', {})],
    [
      'with the grant',
      () =>
        service.database.admin(
          `UPDATE support_grant SET granted_at = granted_at - interval '2 hours', until_at = until_at - interval '2 hours'`,
        ),
    ],
    ['when the operator ends it', () => desk.call('POST', '/view/end', {})],
    ['with the operator’s session', () => desk.call('POST', '/sign-out', {})],
    [
      'when the operator’s session is idle',
      () => service.database.admin(`UPDATE operator_session SET seen_at = seen_at - interval '31 minutes'`),
    ],
    ['when the operator is suspended', () => suspendOperator(shellOf(service), desk.email)],
    ['with another role of the operator', () => grantOperator(shellOf(service), desk.email, 'treasury')],
    ['with another view of the same session', () => begin()],
  ];
  test.each(ends)('%s: reading is 401 then, and changing too', async (_, end) => {
    const { cookie } = await begin();
    expect(await reads(cookie)).toBe(200);
    await end(cookie);
    expect(await reads(cookie)).toBe(401);
    expect((await call(cookie, 'POST', '/sessions/end-all', {})).status).toBe(401);
    expect((await call(cookie, 'GET', '/session')).status).toBe(401);
  });

  test('with its streams', async () => {
    const { cookie } = await begin();
    const answer = await fetch(`${service.url}/panel/api/accounts/${shop.ownerId}/updates`, {
      headers: { cookie },
    });
    expect(answer.status).toBe(200);
    const ended = answer.text().then(
      () => true,
      () => true,
    );
    await at(owner, 'POST', '/support/end', {});
    expect(await ended).toBe(true);
  });
});

describe('a grant', () => {
  test('is an owner’s alone, for half an hour to seven days, and any administrator ends it', async () => {
    await at(owner, 'POST', '/support/end', {});
    const manager = await signedIn('gerente@padaria.example');
    expect((await grant(manager)).body.code).toBe('role_denied');
    for (const minutes of [29, 7 * 24 * 60 + 1, 45.5]) expect((await grant(owner, minutes)).status).toBe(400);
    expect((await begin()).body.code).toBe('view_not_granted');
    expect((await grant(owner, 30)).status).toBe(200);
    expect((await begin()).status).toBe(200);
    expect((await at(manager, 'POST', '/support/end', {})).status).toBe(200);
    expect((await begin()).body.code).toBe('view_not_granted');
    expect((await at(owner, 'GET', '/support')).body.grantedUntil).toBe(null);
  });

  test('opens its own account to support alone', async () => {
    expect((await begin(desk, other.ownerId)).body.code).toBe('view_not_granted');
    expect((await begin(desk, randomUUID())).status).toBe(404);
    for (const role of ['risk', 'treasury', 'administrator', 'auditor'] as const)
      expect((await begin(await newOperator(service, role))).status).toBe(403);
  });
});

test('Each grant, view and end stands among the security events of the account, with who did it', async () => {
  const newest = async (from: string) => {
    const { events } = (await at(owner, 'GET', '/security-events')).body as {
      events: { kind: string; actor: string; detail: Record<string, string>; at: string }[];
    };
    return events
      .filter(({ kind, at }) => kind.startsWith('support.') && at >= from)
      .map(({ kind, actor, detail }) => ({ kind, actor, operator: detail.operator ?? null }))
      .reverse();
  };
  const from = new Date().toISOString();
  await grant();
  await begin();
  await desk.call('POST', '/view/end', {});
  await at(owner, 'POST', '/support/end', {});
  expect(await newest(from)).toEqual([
    { kind: 'support.granted', actor: 'person', operator: null },
    { kind: 'support.view_begun', actor: 'operator', operator: 'Rita Lima' },
    { kind: 'support.view_ended', actor: 'operator', operator: 'Rita Lima' },
    { kind: 'support.ended', actor: 'person', operator: null },
  ]);
});

test('Without a grant a mail goes to the owners first where the installation says so, and an account without owners stays closed', async () => {
  const mailing = await openService({ worker: false, env: { SUPPORT_VIEWS: 'mailed' } });
  try {
    const bakery = await mailing.newMerchant();
    const support = await newOperator(mailing, 'support');
    const look = () => support.call('POST', `/accounts/${bakery.ownerId}/view`, { reason });
    expect((await look()).body.code).toBe('view_not_granted');
    await newPerson(mailing, bakery.ownerId, 'dona@outra.example');
    expect((await look()).status).toBe(200);
    const [mail = ''] = await mailsTo(mailing, 'dona@outra.example');
    expect(mail).toContain('chamado 4711');
    const tab = await signedIn('dona@outra.example', mailing);
    const { views } = (await tab.call('GET', `/accounts/${bakery.ownerId}/support`)).body;
    expect(views[0]).toMatchObject({ reason, granted: false });
  } finally {
    await mailing.close();
  }
});
