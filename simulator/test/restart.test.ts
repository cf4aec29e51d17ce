import { spawn } from 'node:child_process';
import { appendFileSync, cpSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startSimulator } from '../src/main.ts';
import {
  chargeBody,
  expectedSignature,
  newId,
  spawnProvider,
  startEndpoint,
  startProvider,
  temporaryState,
  until,
} from './provider.ts';

const span = 'inicio=2020-01-01T00:00:00Z&fim=2100-01-01T00:00:00Z';
const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

describe('a folder of state', () => {
  test('has one simulator at a time, and a copy of it has its own', async () => {
    const stateDir = temporaryState();
    const first = await spawnProvider(stateDir);
    await first.putCharge(newId(), chargeBody());
    const copy = `${stateDir}-copy`;
    cpSync(stateDir, copy, { recursive: true });
    onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
    await expect(startSimulator({ host: '127.0.0.1', port: 0, stateDir })).rejects.toThrow(
      /\(SIMULATOR_STATE\) is in use by another simulator \(process \d+\)/,
    );
    const beside = await startSimulator({ host: '127.0.0.1', port: 0, stateDir: copy });
    await beside.stop();
  });
});

describe('a kill -9', () => {
  test('forgets nothing that was answered', async () => {
    const stateDir = temporaryState();
    const first = await spawnProvider(stateDir);
    const endpoint = await startEndpoint();
    await endpoint.register(first);
    const ids = Array.from({ length: 6 }, newId);
    const [paid, expired, removed, completed, refused, lost] = ids as [
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    for (const txid of [paid, expired, removed]) {
      await first.putCharge(txid, chargeBody({ infoAdicionais: [{ nome: 'Ação', valor: 'çã' }] }));
    }
    await first.control('POST', `/charges/${paid}/pay`, { amountCents: 7 });
    await first.control('POST', `/charges/${paid}/pay`);
    await first.control('POST', `/charges/${expired}/expire`);
    await first.control('POST', `/charges/${removed}/remove`);
    await first.putPayout(completed, 'stay-pending@simulator.example');
    await first.control('POST', `/payouts/${completed}/complete`);
    await first.control('POST', `/payouts/${completed}/return`, { amountCents: 10 });
    await first.putPayout(refused, 'refuse-in-answer@simulator.example');
    await expect(first.putPayout(lost, 'lose-request@simulator.example')).rejects.toThrow();
    await first.behave({ settleAfterMs: 123, webhook: 'duplicate' });
    await until(endpoint.items, (items) => items.length >= 4);
    const seen = async (provider: typeof first) => {
      const answers = [];
      for (const path of [`cob?${span}`, `pix?${span}`, `gn/pix/enviados?${span}`, 'gn/saldo']) {
        answers.push((await provider.call('GET', `/v2/${path}`)).body);
      }
      return answers;
    };
    const before = await seen(first);
    const state = await until(
      () => first.state(),
      (now) => now.webhooksSent === endpoint.deliveries.length,
    );
    const token = await first.token();
    await first.kill();

    const second = await spawnProvider(stateDir);
    second.useToken(token);
    const stateAfter = await second.state();
    expect(stateAfter).toEqual(state);
    expect(await seen(second)).toEqual(before);
    expect((await second.control('GET', '/behaviour')).body).toMatchObject({
      settleAfterMs: 123,
      webhook: 'duplicate',
    });
    // Ids stay taken, numbering continues, and the registration with its secret is still there.
    expect((await second.putPayout(refused)).status).toBe(409);
    expect((await second.putCharge(paid)).status).toBe(409);
    await second.control('DELETE', '/behaviour');
    const fresh = newId();
    await second.putPayout(fresh);
    const items = await until(endpoint.items, (all) => all.some((item) => item.gnExtras?.idEnvio === fresh));
    expect(items.filter((item) => item.gnExtras?.idEnvio === fresh)).toHaveLength(1);
    const last = endpoint.deliveries.at(-1);
    const header = String(last?.headers['x-simulator-signature']);
    expect(header).toBe(expectedSignature(header, last?.raw ?? ''));
  });

  test('loses no settlement, no delayed request and no webhook that was to come', async () => {
    const stateDir = temporaryState();
    const first = await spawnProvider(stateDir);
    const endpoint = await startEndpoint();
    await endpoint.register(first);
    endpoint.close();
    const [settling, delayed, unheard] = [newId(), newId(), newId()];
    await first.putPayout(unheard);
    await until(
      () => first.payoutState(unheard),
      (payout) => payout?.status === 'completed',
    );
    await first.behave({ settleAfterMs: 700, delayMs: 600 });
    await first.putPayout(settling);
    await expect(first.putPayout(delayed, 'delay-request@simulator.example')).rejects.toThrow();
    await first.kill();

    const back = await startEndpoint(undefined, endpoint.port);
    const second = await spawnProvider(stateDir);
    const items = await until(back.items, (all) => all.length >= 3);
    expect(items.map((item) => item.gnExtras.idEnvio).sort()).toEqual([settling, delayed, unheard].sort());
    expect(await second.payoutState(delayed)).toMatchObject({
      timesReceived: 1,
      timesAccepted: 1,
      status: 'completed',
    });
  });

  test('in the middle of a write leaves a torn line, which was never answered and is ignored', async () => {
    const stateDir = temporaryState();
    const first = await startProvider(stateDir);
    const [kept, after] = [newId(), newId()];
    await first.putPayout(kept, 'stay-pending@simulator.example');
    await first.stop();
    appendFileSync(join(stateDir, 'journal.jsonl'), '[["payout",{"idEnvio":"torn","amountCe');
    const second = await startProvider(stateDir);
    expect((await second.state()).payouts).toHaveLength(1);
    await second.putPayout(after, 'stay-pending@simulator.example');
    await second.stop();
    const third = await startProvider(stateDir);
    expect((await third.state()).payouts.map((one: { idEnvio: string }) => one.idEnvio)).toEqual([
      kept,
      after,
    ]);
  });
});

test('a start compacts what is history', async () => {
  const stateDir = temporaryState();
  const first = await startProvider(stateDir);
  const idEnvio = newId();
  await first.putPayout(idEnvio, 'stay-pending@simulator.example');
  for (let n = 0; n < 100; n++) await first.putPayout(idEnvio);
  const state = await first.state();
  await first.stop();
  const path = join(stateDir, 'journal.jsonl');
  const before = statSync(path).size;
  const second = await startProvider(stateDir);
  expect(await second.state()).toEqual(state);
  expect(statSync(path).size).toBeLessThan(before / 10);
  expect(statSync(path).mode & 0o077).toBe(0);
  expect(readFileSync(path, 'utf8').endsWith('\n')).toBe(true);
});

describe('the process', () => {
  test('stops on SIGTERM, with requests that hang', async () => {
    const provider = await spawnProvider(temporaryState());
    const hanging = provider.putPayout(newId(), 'hang@simulator.example').catch(() => 'ended');
    await until(
      () => provider.state(),
      (state) => state.payouts.length === 1,
    );
    expect(await provider.terminate()).toBe(0);
    expect(await hanging).toBe('ended');
  });

  test('ends with its parent’s channel', async () => {
    const child = spawn(process.execPath, [main], {
      env: { ...process.env, SIMULATOR_PORT: '0', SIMULATOR_STATE: temporaryState() },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await new Promise((ready) => child.stdout?.once('data', ready));
    const exit = new Promise((done) => child.once('exit', done));
    child.disconnect();
    expect(await exit).toBe(0);
  });

  test.each([
    ['a taken port', undefined, /port (\d+) \(SIMULATOR_PORT\) is taken/],
    ['a malformed port', 'abc', /SIMULATOR_PORT/],
    ['a port that does not exist', '70000', /SIMULATOR_PORT/],
  ])('says in one line what is wrong and ends with 2: %s', async (_, given, expected) => {
    const blocker = createServer();
    await new Promise<void>((done) => blocker.listen(0, '127.0.0.1', done));
    onTestFinished(() => void blocker.close());
    const address = blocker.address();
    const taken = typeof address === 'object' ? address?.port : undefined;
    const child = spawn(process.execPath, [main], {
      env: { ...process.env, SIMULATOR_PORT: given ?? String(taken), SIMULATOR_STATE: temporaryState() },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let text = '';
    child.stderr.on('data', (part) => {
      text += part;
    });
    const code = await new Promise((done) => child.once('close', done));
    expect(code).toBe(2);
    expect(text).toMatch(expected);
    expect(text.trim().split('\n')).toHaveLength(1);
  });
});
