import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endPrograms, type Running, run } from '@vintem/testkit/command.ts';
import { freePort } from '@vintem/testkit/free-port.ts';
import { type Answer, type Call, callWith, openService, type Service } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** SIGTERM to every process under load: what was accepted is there afterwards, and moves once. */

const secret = randomBytes(32).toString('base64');
const amountCents = 1_000;
let service: Service;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vintem-drain-'));
  service = await openService({ worker: false, env: { VINTEM_SECRET: secret } });
});
afterAll(async () => {
  await endPrograms();
  await service?.close();
  await rm(folder, { recursive: true, force: true });
});

async function startBoth(key: string): Promise<{ api: Running; worker: Running; call: Call }> {
  const env = {
    DATABASE_URL: service.database.url,
    DATA_DIR: folder,
    VINTEM_SECRET: secret,
    SIMULATOR_URL: service.simulator.url,
    SIMULATOR_PORT: 'off',
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'error',
  };
  const api = run(['api'], { ...env, PORT: String(await freePort()) });
  const worker = run(['worker'], env);
  const url = (await api.line('vintem api ready ')).split(' ').at(-1) as string;
  await worker.line('vintem worker ready');
  return { api, worker, call: callWith(`${url}/api/v1/public`, key) };
}

test('SIGTERM under load loses nothing that was answered, pays nothing twice, and ends', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(1_000_000);
  await expect.poll(() => merchant.balanceCents()).toBe(1_000_000);
  const transfer = (call: Call, requestKey: string): Promise<Answer> =>
    call('POST', '/pix/transfers', {
      amountCents,
      pixKey: 'maria@loja.example',
      pixKeyType: 'EMAIL',
      description: '',
      requestKey,
    });

  const { api, worker, call } = await startBoth(merchant.key);
  /** By request key: the id that was answered; null when the process did not accept it or the connection ended. */
  const asked = new Map<string, string | null>();
  const { promise: loaded, resolve: isLoaded, reject: loadFailed } = Promise.withResolvers<void>();
  let accepted = 0;
  const callers = Array.from({ length: 16 }, async () => {
    // No more than the balance allows.
    for (let left = 60; left > 0; left--) {
      const requestKey = crypto.randomUUID();
      asked.set(requestKey, null);
      const answer = await transfer(call, requestKey).catch(() => null);
      if (answer?.status !== 201) {
        // Only a process that ends refuses.
        if (accepted < 48) loadFailed(new Error(JSON.stringify(answer?.body ?? 'no answer')));
        return;
      }
      asked.set(requestKey, answer.body.id);
      if (++accepted === 48) isLoaded();
    }
  });
  await loaded;
  api.kill('SIGTERM');
  worker.kill('SIGTERM');
  expect([await api.exit, await worker.exit]).toEqual([
    { code: 0, signal: null },
    { code: 0, signal: null },
  ]);
  await Promise.all(callers);

  const again = await startBoth(merchant.key);
  const ids: string[] = [];
  for (const [requestKey, id] of asked) {
    const { status, body } = await transfer(again.call, requestKey);
    expect(status).toBe(201);
    if (id !== null) expect(body.id).toBe(id);
    ids.push(body.id);
  }
  const statusOf = async (id: string) => (await merchant.call('GET', `/payments/${id}`)).body.status;
  for (const id of ids) {
    await expect.poll(() => statusOf(id)).toBe('completed');
    expect((await service.simulator.payout(id))?.timesAccepted).toBe(1);
  }
  expect(await merchant.balanceCents()).toBe(1_000_000 - ids.length * amountCents);
});
