import { createHmac } from 'node:crypto';
import { request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { startSimulator } from '../src/main.ts';
import { temporaryState } from './provider.ts';

/** Who may talk to the provider at all. */

const clientKey = 'ab'.repeat(32);

async function provider(options: { clientKey?: string; hostNames?: string[] } = {}) {
  const simulator = await startSimulator({
    host: '127.0.0.1',
    port: 0,
    stateDir: temporaryState(),
    ...options,
  });
  onTestFinished(() => simulator.stop());
  return simulator.url;
}

const statusFor = (url: string, host: string, path = '/control/state'): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const sent = request(url + path, { headers: { host } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    sent.once('error', reject);
    sent.end();
  });

const token = async (url: string, id: string, secret: string): Promise<number> => {
  const answer = await fetch(`${url}/oauth/token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
      'content-type': 'application/json',
    },
    body: '{"grant_type":"client_credentials"}',
  });
  await answer.arrayBuffer();
  return answer.status;
};

test('a name that another site made point here is refused on every path', async () => {
  const url = await provider();
  const { port } = new URL(url);
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    '127.0.0.1.evil.example',
    'localhost.evil.example:80',
  ]) {
    for (const path of ['/', '/control/state', '/oauth/token', '/page/data']) {
      expect([host, path, await statusFor(url, host, path)]).toEqual([host, path, 421]);
    }
  }
});

test('the names of this machine and its own name are served, with any port', async () => {
  const url = await provider({ hostNames: ['simulator'] });
  for (const host of ['localhost:4010', '127.0.0.1', 'LOCALHOST:1', '[::1]:4010', 'simulator:4010']) {
    expect([host, await statusFor(url, host)]).toEqual([host, 200]);
  }
});

test('with a client key only the clients that were made from it get a token', async () => {
  const url = await provider({ clientKey });
  const other = createHmac('sha256', Buffer.from(clientKey, 'hex')).update('loja').digest('hex');
  expect(await token(url, 'vintem', clientKey)).toBe(200);
  expect(await token(url, 'loja', other)).toBe(200);
  for (const [id, secret] of [
    ['stranger', 'secret'],
    ['stranger', clientKey],
    ['vintem', other],
    ['loja2', other],
  ] as const) {
    expect([id, await token(url, id, secret)]).toEqual([id, 401]);
  }
});

test('without one every client is served, for tests against the provider alone', async () => {
  expect(await token(await provider(), 'anyone', 'anything')).toBe(200);
});
