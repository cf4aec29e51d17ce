import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openEdge } from './support/edge.ts';
import { openTab } from './support/panel.ts';
import { openService, type Service, until } from './support/service.ts';
import { deliver, receivedItem } from './support/settlement.ts';

/** What strangers send: each attack is refused before it costs memory, time or a descriptor. */

let service: Service;
beforeAll(async () => {
  service = await openService({ env: { RATE_LIMITS: 'on' } });
}, 60_000);
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

  test('is counted by caller too: one caller with ever other addresses is refused before they are kept', async () => {
    const tab = openTab(service);
    const statuses: number[] = [];
    for (let n = 0; n < 160; n++) {
      const email = `pessoa${n}@loja.example`;
      statuses.push((await tab.call('POST', '/auth/request-password-reset', { email })).status);
    }
    expect(statuses.at(-1)).toBe(429);
  });
});

describe('a provider’s delivery', () => {
  const head = (path: string) =>
    `POST /hooks/providers/simulator/${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1048576\r\n\r\n`;

  test('is taken while strangers hold bodies open that they announced and never send', async () => {
    await Promise.all(
      Array.from({ length: 60 }, () => socketTo(service.url, `${head('a-wrong-token/pix')}{`)),
    );
    expect(await deliver(service, [receivedItem(null, 100, 'E11111111222222222222222222222222')])).toBe(200);
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

test('the number of connections is bounded', async () => {
  const edge = await openEdge();
  expect(edge.app.server.maxConnections).toBe(5_000);
  await edge.close();
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
