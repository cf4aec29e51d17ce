import { newPerson, openTab, type Tab } from '@vintem/testkit/panel.ts';
import { bytesOf, type Merchant, openService, type Service, typeOf, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acts, disputeActs } from '../../server/src/api/test-mode/simulate.ts';
import { createAccount } from '../../server/src/operate/connections/directory.ts';
import { invite } from '../../server/src/panel/people/members.ts';
import { type Ability, may, type Role, roles } from '../../server/src/panel/people/roles.ts';

/**
 * Who may call what in the panel: every route of its document, with the files and the stream, × an anonymous caller, each role and
 * the owner of another account, with the exact status. A route without a row fails; so does an answer that holds an id of
 * another account.
 */
interface Row {
  /** `session`: every signed-in person; `open`: every caller. */
  needs: Ability | 'session' | 'open';
  /** The status for allowed roles, with `body`. */
  allowed: number;
  /** A body that is refused, where a right one would change what the next caller finds. */
  body?: object;
  query?: string;
  /** Refused to a frozen member, whatever the role. */
  sensitive?: true;
  /** The status for another account's owner, in the own account, for these ids, with `foreignBody`. */
  foreign?: number;
  foreignBody?: object;
}

const malformed = { body: { unknownProperty: 1 }, allowed: 400 } as const;
const reads = { needs: 'read', allowed: 200 } as const;
const hooks = { needs: 'webhooks', allowed: 200 } as const;
const badHook = { needs: 'webhooks', ...malformed, sensitive: true } as const;

const ofPersons: Record<string, Row> = {
  'GET /session': { needs: 'session', allowed: 200 },
  'PATCH /profile': { needs: 'session', allowed: 200, body: {} },
  'POST /reauthenticate': { needs: 'session', ...malformed },
  'GET /sessions': { needs: 'session', allowed: 200 },
  'DELETE /sessions/{id}': { needs: 'session', ...malformed },
  'POST /sessions/end-others': { needs: 'session', ...malformed },
  'POST /sessions/end-all': { needs: 'session', ...malformed },
  'POST /email': { needs: 'session', ...malformed },
  'POST /email/confirm': { needs: 'open', ...malformed },
  'POST /email/cancel': { needs: 'open', ...malformed },
  'POST /invitations/look': { needs: 'open', ...malformed },
  'POST /invitations/accept': { needs: 'open', ...malformed },
  // Opened by the token that the start prints, and by nothing else: no session, no role (server/test/http/edges.test.ts).
  'GET /mailbox': { needs: 'open', allowed: 404 },
};

/** The body of a caller without a session: were it malformed, its shape would be refused before the session is looked at. */
const right: Record<string, object> = {
  'POST /reauthenticate': { password: 'girafa azul de patins' },
  'DELETE /sessions/{id}': {},
  'POST /sessions/end-others': {},
  'POST /sessions/end-all': {},
  'POST /email': { email: 'outra@loja.example' },
};

const ofAccounts: Record<string, Row> = {
  'POST /pix/charges': { needs: 'charges', ...malformed },
  'POST /pix/due-charges': { needs: 'charges', ...malformed },
  'POST /payments/{id}/cancel': { needs: 'charges', ...malformed, foreign: 404, foreignBody: {} },
  'POST /payment-links': { needs: 'charges', ...malformed },
  'GET /payment-links': reads,
  'GET /payment-links/{id}': { ...reads, foreign: 404 },
  'PATCH /pix/due-charges/{id}': {
    needs: 'charges',
    ...malformed,
    foreign: 404,
    foreignBody: { amountCents: 5_000 },
  },
  'PATCH /payment-links/{id}': {
    needs: 'charges',
    ...malformed,
    foreign: 404,
    foreignBody: { status: 'disabled' },
  },
  'GET /payment-links/{id}/payments': { ...reads, foreign: 404 },
  'GET /payment-links/{id}/records': { ...reads, query: '?operationId={operation}', foreign: 404 },
  'POST /static-codes': { needs: 'charges', ...malformed },
  'GET /static-codes': reads,
  'GET /static-codes/{id}': { ...reads, foreign: 404 },
  'PATCH /static-codes/{id}': {
    needs: 'charges',
    ...malformed,
    foreign: 404,
    foreignBody: { status: 'retired' },
  },
  'GET /static-codes/{id}/payments': { ...reads, foreign: 404 },
  'GET /static-codes/{id}/records': { ...reads, query: '?operationId={operation}', foreign: 404 },
  'GET /payments/{id}': { ...reads, foreign: 404 },
  'GET /payments': reads,
  'GET /account': reads,
  'GET /operations': reads,
  'POST /operations': { needs: 'operations', ...malformed, sensitive: true },
  'PATCH /operations/{id}': {
    needs: 'operations',
    allowed: 200,
    body: { name: 'Outro nome' },
    sensitive: true,
    foreign: 404,
  },
  // The only one stays.
  'DELETE /operations/{id}': { needs: 'operations', allowed: 400, body: {}, sensitive: true, foreign: 404 },
  'GET /webhooks': hooks,
  'POST /webhooks': badHook,
  'GET /webhooks/event-types': hooks,
  'GET /webhooks/{id}': { ...hooks, foreign: 404 },
  'PATCH /webhooks/{id}': { ...hooks, sensitive: true, body: { description: 'x' }, foreign: 404 },
  'DELETE /webhooks/{id}': { ...badHook, foreign: 404, foreignBody: {} },
  'POST /webhooks/{id}/rotate-secret': { ...badHook, foreign: 404, foreignBody: {} },
  'POST /webhooks/{id}/test': { ...badHook, foreign: 404, foreignBody: {} },
  'GET /webhooks/{id}/deliveries': { ...hooks, foreign: 404 },
  'GET /webhooks/{id}/deliveries/{deliveryId}': { ...hooks, allowed: 404, foreign: 404 },
  'POST /webhooks/{id}/deliveries/{deliveryId}/retry': {
    ...hooks,
    sensitive: true,
    allowed: 404,
    body: {},
    foreign: 404,
  },
  'POST /webhooks/{id}/replay': badHook,
  'GET /events': reads,
  // A stream that was let through does not end: one that is asked for wrongly does.
  'GET /events/stream': { needs: 'read', allowed: 400, query: '?types=nothing' },
  'GET /events/{id}': { needs: 'read', allowed: 404, foreign: 404 },
  'POST /drafts': { needs: 'transfers', ...malformed, sensitive: true },
  'POST /drafts/{id}/confirm': {
    needs: 'transfers',
    ...malformed,
    sensitive: true,
    foreign: 404,
    foreignBody: { code: '000000' },
  },
  'POST /drafts/{id}/receiver': {
    needs: 'transfers',
    ...malformed,
    sensitive: true,
    foreign: 404,
    foreignBody: {},
  },
  'POST /drafts/{id}/cancel': { needs: 'transfers', ...malformed, foreign: 404, foreignBody: {} },
  'POST /drafts/{id}/resend': {
    needs: 'transfers',
    ...malformed,
    sensitive: true,
    foreign: 404,
    foreignBody: {},
  },
  ...Object.fromEntries(
    acts.map((act) => [
      `POST /test/payments/{id}/${act}`,
      { needs: 'simulate' as const, ...malformed, foreign: 404, foreignBody: {} },
    ]),
  ),
  ...Object.fromEntries(
    disputeActs.map((act) => [
      `POST /test/disputes/{id}/${act}`,
      { needs: 'simulate' as const, ...malformed, foreign: 404, foreignBody: {} },
    ]),
  ),
  'GET /test/clock': { needs: 'simulate', allowed: 200 },
  'POST /test/clock': { needs: 'simulate', allowed: 200, body: {} },
  'POST /test/clock/advance': { needs: 'simulate', ...malformed },
  'POST /test/reset': { needs: 'operations', ...malformed, sensitive: true },
  'GET /keys': reads,
  'POST /keys': { needs: 'keys', ...malformed, sensitive: true },
  'POST /keys/{id}/roll': {
    needs: 'keys',
    ...malformed,
    sensitive: true,
    foreign: 404,
    foreignBody: { overlapHours: 0 },
  },
  'PATCH /keys/{id}': { needs: 'keys', ...malformed, foreign: 404, foreignBody: { permissions: ['read'] } },
  'DELETE /keys/{id}': { needs: 'keys', ...malformed, foreign: 404, foreignBody: {} },
  'GET /overview': reads,
  'GET /records': reads,
  'GET /records/{id}': { ...reads, foreign: 404 },
  'GET /records/{id}/refunds': { ...reads, foreign: 404 },
  'POST /records/{id}/refunds': {
    needs: 'refunds',
    ...malformed,
    sensitive: true,
    foreign: 404,
    foreignBody: { requestKey: crypto.randomUUID(), amountCents: 1, description: '' },
  },
  'GET /journal': { ...reads, query: '?operationId={operation}', foreign: 404 },
  'GET /closes': { ...reads, query: '?operationId={operation}', foreign: 404 },
  'GET /operation-disputes': { ...reads, query: '?operationId={operation}', foreign: 404 },
  'GET /operation-disputes/{id}/defence': {
    ...reads,
    query: '?operationId={operation}',
    allowed: 404,
    foreign: 404,
  },
  'POST /operation-disputes/{id}/files': {
    needs: 'disputes',
    sensitive: true,
    query: '?operationId={operation}&name=recibo.pdf',
    body: new Blob(['%PDF-1.7'], { type: 'application/pdf' }),
    allowed: 404,
    foreign: 404,
  },
  'DELETE /operation-disputes/{id}/files/{fileId}': {
    needs: 'disputes',
    allowed: 404,
    sensitive: true,
    query: '?operationId={operation}',
    foreign: 404,
  },
  'POST /operation-disputes/{id}/defence': {
    needs: 'disputes',
    ...malformed,
    sensitive: true,
    query: '?operationId={operation}',
    foreign: 404,
    foreignBody: { text: 'Entregue.' },
  },
  'GET /statement': { ...reads, query: '?operationId={operation}', foreign: 404 },
  'GET /merchant-profile': reads,
  'POST /merchant-profile': { needs: 'members', ...malformed, sensitive: true },
  'POST /merchant-profile/logo': { needs: 'members', ...malformed, sensitive: true },
  'POST /merchant-profile/logo/remove': { needs: 'members', ...malformed, sensitive: true },
  'GET /receivers': { needs: 'transfers', allowed: 200 },
  'POST /receivers': { needs: 'transfers', ...malformed, sensitive: true },
  'POST /receivers/{id}/remove': {
    needs: 'transfers',
    ...malformed,
    sensitive: true,
    foreign: 404,
    foreignBody: {},
  },
  'GET /members': { needs: 'members', allowed: 200 },
  'PUT /members/second-factor': { needs: 'members', ...malformed, sensitive: true },
  'GET /members/{id}/sessions': { needs: 'members', allowed: 200, foreign: 404 },
  'POST /members/{id}/end-sessions': { needs: 'members', ...malformed, foreign: 404, foreignBody: {} },
  'GET /security-events': { needs: 'audit', allowed: 200 },
  'GET /support': { needs: 'members', allowed: 200 },
  'POST /support/grant': { needs: 'members', ...malformed, sensitive: true },
  'POST /support/end': { needs: 'members', allowed: 200, body: {} },
  'POST /members/invitations': { needs: 'members', ...malformed, sensitive: true },
  // Withdrawing an invitation that does not exist succeeds.
  'DELETE /members/invitations/{id}': { needs: 'members', ...malformed, foreign: 200, foreignBody: {} },
  'PATCH /members/{id}': {
    needs: 'members',
    ...malformed,
    sensitive: true,
    foreign: 404,
    foreignBody: { role: 'viewer' },
  },
  'DELETE /members/{id}': { needs: 'members', ...malformed, sensitive: true, foreign: 404, foreignBody: {} },
  // Files and the stream are not in the document.
  'GET /records/{id}/receipt.pdf': { needs: 'read', allowed: 400, foreign: 404 },
  'GET /records/{id}/refunds/{refund}/receipt.pdf': { needs: 'read', allowed: 404, foreign: 404 },
  'GET /merchant-profile/logo.png': { needs: 'read', allowed: 404, foreign: 404 },
  'GET /records.csv': reads,
  'GET /payment-links/{id}/records.csv': { ...reads, query: '?operationId={operation}', foreign: 404 },
  'GET /static-codes/{id}/records.csv': { ...reads, query: '?operationId={operation}', foreign: 404 },
  'GET /closes.csv': { ...reads, query: '?operationId={operation}', foreign: 404 },
  'GET /closes.pdf': { ...reads, query: '?operationId={operation}&month=2026-11', foreign: 404 },
  'GET /journal.csv': { ...reads, query: '?operationId={operation}', foreign: 404 },
  'GET /statement.csv': { ...reads, query: '?operationId={operation}', foreign: 404 },
  'GET /statement.ofx': { ...reads, query: '?operationId={operation}', foreign: 404 },
  'GET /statement.pdf': { ...reads, query: '?operationId={operation}', foreign: 404 },
  'GET /operations.csv': reads,
  'GET /security-events.csv': { needs: 'audit', allowed: 200 },
  'GET /events.csv': reads,
  'GET /webhooks/{id}/deliveries.csv': { ...hooks, foreign: 404 },
  'GET /keys.csv': reads,
  'GET /members.csv': { needs: 'members', allowed: 200 },
  'GET /incidents.csv': reads,
  'GET /reconciliation': reads,
  'GET /mail-choice': reads,
  'POST /mail-choice': { needs: 'read', ...malformed },
  'GET /odd-money': reads,
  'POST /odd-money/{id}/acts': { needs: 'refunds', allowed: 404, body: {}, sensitive: true, foreign: 404 },
  'POST /odd-money/{id}/decision': {
    needs: 'refunds',
    ...malformed,
    sensitive: true,
    foreign: 404,
    foreignBody: { action: 'credit', shown: '0'.repeat(64) },
  },
  'GET /requests': reads,
  'GET /requests.csv': reads,
  'POST /records/{id}/query': { ...reads, body: {}, foreign: 404 },
  'GET /updates': reads,
};

const undocumented = [
  'GET /records/{id}/receipt.pdf',
  'GET /records/{id}/refunds/{refund}/receipt.pdf',
  'GET /merchant-profile/logo.png',
  'GET /records.csv',
  'GET /payment-links/{id}/records.csv',
  'GET /static-codes/{id}/records.csv',
  'GET /journal.csv',
  'GET /closes.csv',
  'GET /closes.pdf',
  'GET /statement.csv',
  'GET /statement.ofx',
  'GET /statement.pdf',
  'GET /operations.csv',
  'GET /security-events.csv',
  'GET /events.csv',
  'GET /webhooks/{id}/deliveries.csv',
  'GET /keys.csv',
  'GET /members.csv',
  'GET /incidents.csv',
  'GET /requests.csv',
  'GET /updates',
];

type Caller = Role | 'anonymous';

describe('every route of the panel for every caller', () => {
  let service: Service;
  let shop: Merchant;
  let strangerAccount: string;
  let strangerOperation: string;
  let stranger: Tab;
  let deletedOperation: string;
  const tabs = new Map<Caller, Tab>();
  const ids = { payment: '', link: '', code: '', webhook: '', key: '', invitation: '', person: '' };
  let cells = 0;

  beforeAll(async () => {
    service = await openService({ env: { WEBHOOK_ALLOW_CIDRS: '203.0.113.0/24' } });
    shop = await service.newMerchant();
    ids.payment = (await shop.charge()).body.id;
    ids.key = shop.key.split('_')[2] ?? '';
    const requestKey = () => crypto.randomUUID();
    const link = { title: 'Curso', amountCents: 1000, requestKey: requestKey() };
    ids.link = (await shop.call('POST', '/payment-links', link)).body.id;
    const code = { name: 'Balcão', requestKey: requestKey() };
    ids.code = (await shop.call('POST', '/static-codes', code)).body.id;
    const hook = { url: 'https://203.0.113.7/hook', events: ['charge.paid'], requestKey: requestKey() };
    ids.webhook = (await shop.call('POST', '/webhooks', hook)).body.id;
    const made = await shop.call('POST', '/operations', { name: 'Vai embora', requestKey: requestKey() });
    deletedOperation = made.body.id;
    expect((await shop.call('DELETE', `/operations/${deletedOperation}`, {})).status).toBe(200);
    tabs.set('anonymous', openTab(service));
    for (const role of roles) {
      const email = `${role}@loja.example`;
      await newPerson(service, shop.ownerId, email, role);
      const tab = openTab(service);
      expect((await tab.signIn(email)).status).toBe(200);
      tabs.set(role, tab);
    }
    ids.invitation = (
      await invite(service.runtime, { accountId: shop.ownerId, email: 'nova@loja.example', role: 'viewer' })
    ).id;
    const members = await tabOf('owner').call('GET', `/accounts/${shop.ownerId}/members`);
    ids.person = members.body.members.find((one: { role: Role }) => one.role === 'viewer').userId;
    const other = await createAccount(service.runtime, {
      name: 'Outra',
      test: true,
      connection: 'simulator',
    });
    strangerAccount = other.ownerId;
    strangerOperation = other.operationId;
    await newPerson(service, strangerAccount, 'dona@outra.example');
    stranger = openTab(service);
    expect((await stranger.signIn('dona@outra.example')).status).toBe(200);
  });
  afterAll(async () => {
    await service?.close();
    const routes = Object.keys(ofPersons).length + Object.keys(ofAccounts).length;
    process.stderr.write(`authorization matrix of the panel: ${routes} routes, ${cells} cells\n`);
  });

  const tabOf = (caller: Caller): Tab => tabs.get(caller) as Tab;

  interface Asked {
    account?: string;
    body?: object | undefined;
    operationId?: string;
  }

  /** The route with the shop's ids in it. */
  async function ask(tab: Tab, route: string, { account = shop.ownerId, body, operationId }: Asked = {}) {
    const [method = '', path = ''] = route.split(' ');
    const row = ofAccounts[route] ?? ofPersons[route];
    const [, id = crypto.randomUUID()] =
      [
        ['/webhooks', ids.webhook],
        ['/operations', shop.operationId],
        ['/keys', ids.key],
        ['/members/invitations', ids.invitation],
        ['/members', ids.person],
        ['/payments', ids.payment],
        ['/records', ids.payment],
        ['/drafts', ids.payment],
        ['/payment-links', ids.link],
        ['/static-codes', ids.code],
      ].find(([start = '']) => path.startsWith(start)) ?? [];
    const address = path.replace('{id}', id).replace(/{deliveryId}|{fileId}|{refund}/, crypto.randomUUID());
    const query = row?.query?.replace('{operation}', shop.operationId) ?? '';
    const below = route in ofAccounts ? `/accounts/${account}` : '';
    const sent = body ?? row?.body;
    cells++;
    const answer = await fetch(`${service.url}/panel/api${below}${address}${query}`, {
      method,
      headers: {
        cookie: tab.cookie(),
        origin: service.url,
        'x-csrf-token': tab.csrf,
        ...(sent && { 'content-type': typeOf(sent) }),
        ...(operationId && { 'x-service-operation': operationId }),
      },
      ...(sent && { body: bytesOf(sent) }),
    });
    const endless = answer.headers.get('content-type')?.startsWith('text/event-stream');
    if (endless) await answer.body?.cancel();
    return { status: answer.status, text: endless ? '' : await answer.text() };
  }

  it('has a row for each route of the document, and none besides', async () => {
    const document = (await tabOf('owner').call('GET', '/openapi.json')).body as {
      paths: Record<string, object>;
    };
    const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => ['get', 'post', 'put', 'patch', 'delete'].includes(method))
        .map((method) => `${method.toUpperCase()} ${path}`),
    );
    const known = [...Object.keys(ofPersons), ...Object.keys(ofAccounts)];
    expect(routes.sort()).toEqual(known.filter((route) => !undocumented.includes(route)).sort());
  });

  it('refuses callers without a session', async () => {
    for (const [route, { needs, allowed }] of Object.entries({ ...ofPersons, ...ofAccounts })) {
      const { status } = await ask(tabOf('anonymous'), route, { body: right[route] });
      expect(status, route).toBe(needs === 'open' ? allowed : 401);
    }
  });

  it.each(roles)('lets %s do what the role may, and nothing else', async (role) => {
    for (const [route, { needs, allowed }] of Object.entries({ ...ofPersons, ...ofAccounts })) {
      const mayCall = needs === 'open' || needs === 'session' || may(role, needs);
      expect((await ask(tabOf(role), route)).status, route).toBe(mayCall ? allowed : 403);
    }
  });

  const streams = ['/updates', '/events/stream'] as const;

  /** An open stream, and whether the service has ended it. */
  async function openStream(tab: Tab, path: string): Promise<() => boolean> {
    const answer = await fetch(`${service.url}/panel/api/accounts/${shop.ownerId}${path}`, {
      headers: { cookie: tab.cookie() },
    });
    expect(answer.status, path).toBe(200);
    let over = false;
    void (async () => {
      try {
        for await (const _ of answer.body ?? []);
      } catch {}
      over = true;
    })();
    return () => over;
  }

  /** An owner more, who is frozen, dismissed or signed out. */
  async function anotherOwner(email: string): Promise<{ tab: Tab; userId: string }> {
    await newPerson(service, shop.ownerId, email);
    const tab = openTab(service);
    expect((await tab.signIn(email)).status).toBe(200);
    const { members } = (await tabOf('owner').call('GET', `/accounts/${shop.ownerId}/members`)).body;
    return { tab, userId: members.find((one: { email: string }) => one.email === email).userId };
  }
  const leave = (userId: string) =>
    tabOf('owner').call('DELETE', `/accounts/${shop.ownerId}/members/${userId}`, {});

  it('refuses a frozen owner what moves money or gives access, and nothing else; streams stay open', async () => {
    const { tab, userId } = await anotherOwner('congelada@loja.example');
    const open = await Promise.all(streams.map((path) => openStream(tab, path)));
    await service.database.admin(
      `UPDATE panel_user SET frozen_until = now() + interval '1 day' WHERE id = '${userId}'`,
    );
    for (const [route, { sensitive, allowed }] of Object.entries(ofAccounts)) {
      const { status, text } = await ask(tab, route);
      expect(status, route).toBe(sensitive ? 403 : allowed);
      if (sensitive) expect(JSON.parse(text).code, route).toBe('access_frozen');
    }
    expect((await ask(tab, 'POST /email', { body: right['POST /email'] })).status).toBe(403);
    expect(open.map((over) => over())).toEqual([false, false]);
    expect((await leave(userId)).status).toBe(200);
  });

  it.each(roles.filter((role) => role !== 'owner'))(
    'lets an owner who was demoted to %s do what that role may from the next call on, in the session that is open',
    async (role) => {
      const { tab, userId } = await anotherOwner(`antes-dona-${role}@loja.example`);
      const open = await Promise.all(streams.map((path) => openStream(tab, path)));
      const changed = await tabOf('owner').call('PATCH', `/accounts/${shop.ownerId}/members/${userId}`, {
        role,
      });
      expect(changed.status).toBe(200);
      for (const [route, { needs, allowed }] of Object.entries(ofAccounts)) {
        const mayCall = may(role, needs as Ability);
        expect((await ask(tab, route)).status, route).toBe(mayCall ? allowed : 403);
      }
      for (const over of open) await until(async () => over());
      expect((await leave(userId)).status).toBe(200);
    },
  );

  it('ends the access of a person with two accounts in one of them, and not in the other', async () => {
    const { tab, userId } = await anotherOwner('duas-contas@loja.example');
    await newPerson(service, strangerAccount, 'duas-contas@loja.example', 'viewer');
    expect((await tab.call('GET', `/accounts/${strangerAccount}/overview`)).status).toBe(200);
    const open = await Promise.all(streams.map((path) => openStream(tab, path)));
    const ended = await tabOf('owner').call(
      'POST',
      `/accounts/${shop.ownerId}/members/${userId}/end-sessions`,
      {},
    );
    expect(ended.status).toBe(200);
    for (const route of Object.keys(ofAccounts)) expect((await ask(tab, route)).status, route).toBe(404);
    for (const over of open) await until(async () => over());
    expect((await tab.call('GET', `/accounts/${strangerAccount}/overview`)).status).toBe(200);
    expect((await leave(userId)).status).toBe(200);
  });

  it('shows a dismissed owner no account at all, and ends the streams', async () => {
    const { tab, userId } = await anotherOwner('dispensada@loja.example');
    const open = await Promise.all(streams.map((path) => openStream(tab, path)));
    expect((await leave(userId)).status).toBe(200);
    for (const route of Object.keys(ofAccounts)) expect((await ask(tab, route)).status, route).toBe(404);
    for (const over of open) await until(async () => over());
  });

  it('refuses a session that was ended like an unknown caller, and ends the streams', async () => {
    const { tab, userId } = await anotherOwner('encerrada@loja.example');
    const open = await Promise.all(streams.map((path) => openStream(tab, path)));
    const ended = await tabOf('owner').call(
      'POST',
      `/accounts/${shop.ownerId}/members/${userId}/end-sessions`,
      {},
    );
    expect(ended.status).toBe(200);
    for (const [route, { needs, allowed }] of Object.entries({ ...ofPersons, ...ofAccounts })) {
      const { status } = await ask(tab, route, { body: right[route] });
      expect(status, route).toBe(needs === 'open' ? allowed : 401);
    }
    for (const over of open) await until(async () => over());
    expect((await leave(userId)).status).toBe(200);
  });

  it('says to the owner of another account that there is none', async () => {
    for (const [route, { foreignBody }] of Object.entries(ofAccounts))
      expect((await ask(stranger, route, { body: foreignBody })).status, route).toBe(404);
  });

  it('shows people of one account nothing of another account, not even an id', async () => {
    const secret = [shop.ownerId, shop.operationId, ...Object.values(ids)];
    for (const [route, { foreign, foreignBody }] of Object.entries({ ...ofPersons, ...ofAccounts })) {
      const { status, text } = await ask(stranger, route, { account: strangerAccount, body: foreignBody });
      if (foreign !== undefined) expect(status, route).toBe(foreign);
      for (const id of secret) expect(text.includes(id), `${route} tells ${id}`).toBe(false);
    }
    const left = await tabOf('owner').call('GET', `/accounts/${shop.ownerId}/members`);
    expect(left.body.invitations.map(({ id }: { id: string }) => id)).toEqual([ids.invitation]);
    expect(left.body.members).toHaveLength(roles.length);
  });

  it.each([
    ['not a UUID', 400],
    ['of another account', 404],
    ['deleted', 404],
  ] as const)('with an operation in the header that is %s', async (which, expected) => {
    const operationId =
      which === 'not a UUID' ? 'x' : which === 'deleted' ? deletedOperation : strangerOperation;
    for (const route of Object.keys(ofAccounts))
      expect((await ask(tabOf('owner'), route, { operationId })).status, route).toBe(expected);
  });
});
