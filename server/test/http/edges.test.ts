import { get, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { openEdge } from '@vintem/testkit/edge.ts';
import { newPerson, openTab } from '@vintem/testkit/panel.ts';
import { openService, type Service, until } from '@vintem/testkit/service.ts';
import { deliver, receivedItem } from '@vintem/testkit/settlement.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectionsFor, connectionsMost } from '../../src/edge/connection-shares.ts';
import { readConfig } from '../../src/ground/config.ts';
import { hasMailbox, mailboxLink } from '../../src/panel/site/mailbox.ts';
import { openFilesMost } from '../../src/ports/open-files.ts';

/** Attacks of strangers: each is refused before it costs memory, time or a descriptor. */

let service: Service;
beforeAll(async () => {
  service = await openService({ env: { RATE_LIMITS: 'on' } });
});
afterAll(() => service?.close());

const opened: Socket[] = [];
afterAll(() => {
  for (const socket of opened) socket.destroy();
});

/** A raw connection that never closes its half. */
function socketTo(url: string, text: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true }, () => {
      socket.write(text, () => resolve(socket));
    });
    socket.once('error', reject);
    opened.push(socket);
  });
}

describe('a password', () => {
  test('above 128 characters is refused before its text is looked at, also by a stranger with a wrong token', async () => {
    const tab = openTab(service);
    for (const newPassword of ['1'.repeat(7_500), '\uFDFA'.repeat(2_500), `${'-'.repeat(129)}`]) {
      const answer = await tab.call('POST', '/auth/reset-password', { newPassword, token: 'x'.repeat(24) });
      expect([answer.status, answer.body.code]).toEqual([400, 'password_too_long']);
    }
    const signIn = { email: 'ana@loja.example', password: 'x'.repeat(129) };
    expect((await tab.call('POST', '/auth/sign-in/email', signIn)).body.code).toBe('password_too_long');
  });
});

describe('an e-mail address', () => {
  test('above 254 characters is refused by sign-in and reset', async () => {
    const tab = openTab(service);
    const email = `${'a'.repeat(243)}@loja.example`;
    for (const [path, more] of [
      ['/auth/sign-in/email', { password: 'girafa azul de patins' }],
      ['/auth/request-password-reset', {}],
    ] as const) {
      const answer = await tab.call('POST', path, { email, ...more });
      expect([path, answer.status, answer.body.code]).toEqual([path, 400, 'field_too_long']);
    }
  });
});

test.each([
  '/auth/sign-in/email',
  '/auth/request-password-reset',
  '/auth/reset-password',
  '/auth/passkey/verify-authentication',
])('text that no database stores is refused by %s, in every field', async (path) => {
  const tab = openTab(service);
  const right = {
    email: 'ana@loja.example',
    password: 'girafa azul de patins',
    newPassword: 'girafa azul',
    token: 'x'.repeat(24),
  };
  for (const wrong of ['\u0000', 'a\u0000b', '\ud800']) {
    for (const field of ['email', 'password', 'newPassword', 'token', 'response']) {
      const body = { ...right, [field]: field === 'response' ? { id: wrong } : wrong };
      const answer = await tab.call('POST', path, body);
      expect([field, answer.status, answer.body.code]).toEqual([field, 400, 'field_unreadable']);
    }
  }
});

describe('a provider’s delivery', () => {
  const head = (path: string) =>
    `POST /hooks/providers/simulator/${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1048576\r\n\r\n`;

  test('is taken while strangers hold bodies open that they announced and never send', async () => {
    await Promise.all(
      Array.from({ length: 60 }, () => socketTo(service.url, `${head('a-wrong-token/pix')}{`)),
    );
    expect(
      await deliver(service, [receivedItem(crypto.randomUUID(), 100, 'E11111111222222222222222222222222')]),
    ).toBe(200);
  });

  test('with a wrong secret in its address is answered before its body has come', async () => {
    const socket = await socketTo(service.url, head('another-wrong-token/pix'));
    const text = await new Promise<string>((resolve) => {
      socket.once('data', (data) => resolve(data.toString()));
    });
    expect(text).toMatch(/^HTTP\/1\.1 404 /);
    expect(text.toLowerCase()).toContain('connection: close');
  });
});

test('a connection that broke the protocol is destroyed, also when the client keeps its half open', async () => {
  const edge = await openEdge();
  const url = await edge.app.listen({ port: 0, host: '127.0.0.1' });
  const sockets = await Promise.all(Array.from({ length: 20 }, () => socketTo(url, 'NONSENSE\r\n\r\n')));
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('data', resolve))));
  const open = () =>
    new Promise<number>((resolve) => edge.app.server.getConnections((_error, count) => resolve(count)));
  await until(async () => (await open()) === 0);
  await edge.close();
});

describe('Connections', () => {
  /** Silent ones of an address of this machine. Linux answers on all of 127.0.0.0/8. @returns how many the service left open */
  /** A hundred at a time: a listener of Node holds 511 that it has not accepted yet, and the kernel drops the rest. */
  async function silent(url: string, localAddress: string, count: number): Promise<Socket[]> {
    const { hostname, port } = new URL(url);
    const sockets: Socket[] = [];
    while (sockets.length < count) {
      const few = Array.from({ length: Math.min(100, count - sockets.length) }, () =>
        connect({ host: hostname, port: Number(port), localAddress }),
      );
      opened.push(...few);
      sockets.push(...few);
      await Promise.all(
        few.map(
          (socket) =>
            new Promise<void>((resolve) => socket.once('connect', resolve).once('error', () => resolve())),
        ),
      );
    }
    return sockets;
  }
  const openAt = (server: Server) =>
    new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));

  test('of all callers are bounded for the process', async () => {
    const edge = await openEdge();
    expect(edge.app.server.maxConnections).toBe(connectionsMost);
    await edge.close();
    const limits = ['20000', '65536', '4096', 'unlimited', 'none'].map((most) =>
      openFilesMost(() => `Max processes   1   1   processes\nMax open files   ${most}   ${most}   files\n`),
    );
    expect(limits.map(connectionsFor)).toEqual([15_000, 15_000, 3_072, 15_000, 5_000]);
  });

  test('of one caller have a share of the process, so another still gets in, and it is free again when they end', async () => {
    const edge = await openEdge();
    const url = await edge.app.listen({ port: 0, host: '127.0.0.1' });
    const own = await silent(url, '127.0.0.2', 1500);
    await until(async () => (await openAt(edge.app.server)) === 1500);
    expect(await statusFrom(url, '127.0.0.3')).toBe(200);
    expect(await statusFrom(url, '127.0.0.2')).toBeNull();
    for (const socket of own) socket.destroy();
    await until(async () => (await statusFrom(url, '127.0.0.2')) === 200);
    await edge.close();
  });

  test('of a trusted proxy are those of all callers and have no share', async () => {
    const edge = await openEdge({
      config: { publicUrl: 'http://127.0.0.1:3000', rateLimits: false, trustedProxies: ['127.0.0.2'] },
    });
    const url = await edge.app.listen({ port: 0, host: '127.0.0.1' });
    const own = await silent(url, '127.0.0.2', 1520);
    await until(async () => (await openAt(edge.app.server)) === 1520);
    for (const socket of own) socket.destroy();
    await edge.close();
  });

  /** Null: the connection was closed without an answer. */
  const statusFrom = (url: string, localAddress: string): Promise<number | null> =>
    new Promise((resolve) => {
      get(`${url}/healthz`, { localAddress, agent: false }, (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? null);
      }).on('error', () => resolve(null));
    });
});

test('a path of slashes alone is answered, and not with 500', async () => {
  for (const path of ['//', '///', '//x', '/?//', '//?a']) {
    const socket = await socketTo(
      service.url,
      `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    const text = await new Promise<string>((resolve) => {
      socket.once('data', (data) => resolve(data.toString()));
    });
    expect([path, Number(text.slice(9, 12)) < 500]).toEqual([path, true]);
  }
});

const safe = {
  'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
  'x-content-type-options': 'nosniff',
  'referrer-policy': expect.stringMatching(/^(?:no-referrer|same-origin)$/),
};

test('every answer carries the headers that keep browsers from guessing, framing and telling', async () => {
  const merchant = await service.newMerchant();
  await newPerson(service, merchant.ownerId, 'ana@cabecalhos.example');
  const tab = openTab(service);
  await tab.signIn('ana@cabecalhos.example');
  const authorization = `Bearer ${merchant.key}`;
  const cookie = tab.cookie();
  const own = `/panel/api/accounts/${merchant.ownerId}`;
  const answers: [string, Record<string, string>, number][] = [
    ['/', {}, 200],
    ['/healthz', {}, 200],
    ['/readyz', {}, 200],
    ['/docs/', {}, 200],
    ['/docs/site.js', {}, 200],
    ['/api/v1/public/account', { authorization }, 200],
    ['/api/v1/public/account', {}, 401],
    ['/api/v1/public/nothing', {}, 404],
    ['/api/v1/public/openapi.json', {}, 200],
    ['/api/v1/public/events/stream', { authorization }, 200],
    ['/panel/api/session', { cookie }, 200],
    ['/panel/api/auth/nothing', {}, 404],
    [`${own}/records.csv`, { cookie }, 200],
    [`${own}/statement.csv?operationId=${merchant.operationId}`, { cookie }, 200],
    [`${own}/updates`, { cookie }, 200],
    ['/hooks/providers/simulator/wrong', {}, 404],
    [`/${'x'.repeat(5000)}`, {}, 414],
  ];
  for (const [path, headers, status] of answers) {
    const ended = new AbortController();
    const answer = await fetch(service.url + path, { headers, signal: ended.signal });
    const got = Object.fromEntries(answer.headers);
    ended.abort();
    expect([path.slice(0, 60), answer.status]).toEqual([path.slice(0, 60), status]);
    expect([path.slice(0, 60), got]).toEqual([path.slice(0, 60), expect.objectContaining(safe)]);
  }
  const broken = await socketTo(service.url, 'NONSENSE\r\n\r\n');
  const text = await new Promise<string>((resolve) =>
    broken.once('data', (data) => resolve(data.toString())),
  );
  expect(text.toLowerCase()).toContain('x-content-type-options: nosniff');
});

test('where the public address is https, every answer demands TLS of browsers', async () => {
  const edge = await openEdge({
    config: { publicUrl: 'https://pay.example', rateLimits: false, trustedProxies: [] },
  });
  for (const url of ['/healthz', '/api/v1/public/account', '/nothing']) {
    const { headers } = await edge.app.inject({ url });
    expect([url, headers['strict-transport-security']]).toEqual([url, 'max-age=31536000; includeSubDomains']);
  }
  await edge.close();
});

describe('the mailbox page', () => {
  const read = (headers: Record<string, string>) =>
    fetch(`${service.url}/panel/api/mailbox`, { headers }).then((answer) => answer.status);
  const token = () => new URL(mailboxLink(service.url, service.runtime.secrets)).hash.slice(1);

  test('opens with the token of the printed link alone', async () => {
    expect(await read({ 'x-mailbox-token': token() })).toBe(200);
    for (const wrong of [{}, { 'x-mailbox-token': '' }, { 'x-mailbox-token': `${token().slice(0, -1)}!` }]) {
      expect(await read(wrong as Record<string, string>)).toBe(404);
    }
  });

  test('stays closed to what came through a proxy, also with the token', async () => {
    for (const name of [
      'x-forwarded-for',
      'x-forwarded-host',
      'x-forwarded-proto',
      'x-real-ip',
      'forwarded',
      'via',
    ]) {
      expect([name, await read({ 'x-mailbox-token': token(), [name]: '127.0.0.1' })]).toEqual([name, 404]);
    }
  });

  test('closes with the first connection that moves money', async () => {
    await service.database.admin(
      `INSERT INTO connection SELECT (jsonb_populate_record(c, $1)).* FROM connection c WHERE id = 'simulator'`,
      [{ id: 'bank', adapter: 'efi', credentials: '\\x00', url: 'https://bank.example', test: false }],
    );
    expect(await read({ 'x-mailbox-token': token() })).toBe(404);
    await service.database.admin("UPDATE connection SET state = 'retired' WHERE id = 'bank'");
    expect(await read({ 'x-mailbox-token': token() })).toBe(404);
    await service.database.admin("DELETE FROM connection WHERE id = 'bank'");
    expect(await read({ 'x-mailbox-token': token() })).toBe(200);
  });

  test('does not exist with a live provider, a public address, a mail server or a proxy', () => {
    const mailbox = (env: Record<string, string>) => hasMailbox({ config: readConfig(env) });
    expect(mailbox({})).toBe(true);
    expect(mailbox({ PUBLIC_URL: 'https://pay.example' })).toBe(false);
    expect(mailbox({ TRUSTED_PROXIES: '127.0.0.1' })).toBe(false);
    expect(mailbox({ SMTP_URL: 'smtp://127.0.0.1', MAIL_FROM: 'a@b.example' })).toBe(false);
    const live = { PROVIDER_CLIENT_ID: 'c', PROVIDER_CLIENT_SECRET: 's', PROVIDER_PIX_KEY: 'k' };
    expect(mailbox({ PROVIDER: 'efi', PROVIDER_URL: 'https://bank.example', ...live })).toBe(false);
  });
});

// Last: afterwards this caller may neither sign in nor ask for a reset for a quarter of an hour.
test('an e-mail address is counted by caller too: one caller with ever other addresses is refused before they are kept', async () => {
  const tab = openTab(service);
  const statuses: number[] = [];
  for (let n = 0; n < 160; n++) {
    const email = `pessoa${n}@loja.example`;
    statuses.push((await tab.call('POST', '/auth/request-password-reset', { email })).status);
  }
  expect(statuses.at(-1)).toBe(429);
});
