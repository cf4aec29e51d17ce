import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { finish } from '@vintem/testkit/command.ts';
import { type Program, programOn, testMerchant } from '@vintem/testkit/program.ts';
import { openReceiver, type Receiver, verified } from '@vintem/testkit/receiver.ts';
import { endWithRun } from '@vintem/testkit/run.ts';
import { type Call, callWith, type Merchant, until } from '@vintem/testkit/service.ts';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startDeliveryThread } from '../../src/main/delivery-thread.ts';

/** Webhooks of the whole program, in processes of its own: killed and started again. */

const entry = fileURLToPath(new URL('../../src/main/cli/launch.js', import.meta.url));

let program: Program;
let merchant: Merchant;
const receivers: Receiver[] = [];
const children: ChildProcess[] = [];

beforeAll(async () => {
  program = await programOn({ WEBHOOK_ALLOW_INSECURE_LOCAL: 'true' });
  await program.start();
  ({ merchant } = await testMerchant(program));
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGTERM');
  for (const receiver of receivers.splice(0)) await receiver.stop();
});
afterAll(() => program?.remove());

async function listening(call: Call = merchant.call) {
  const receiver = await openReceiver();
  receivers.push(receiver);
  const { body } = await call('POST', '/webhooks', {
    url: receiver.url,
    events: ['*'],
    requestKey: crypto.randomUUID(),
  });
  return { receiver, endpoint: body };
}

/** A command of the program; resolves with what it printed when it has ended by itself. */
function run(...args: string[]): { output(): string; ended: Promise<number | null>; kill(): void } {
  const child = spawn(process.execPath, [entry, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      DATA_DIR: program.dataDir,
      PORT: new URL(program.url).port,
      SIMULATOR_PORT: new URL(program.simulatorUrl).port,
      WEBHOOK_ALLOW_INSECURE_LOCAL: 'true',
      LOG_LEVEL: 'warn',
    },
  });
  endWithRun(child);
  children.push(child);
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (more: string) => {
    text += more;
  });
  child.stderr?.setEncoding('utf8').on('data', (more: string) => {
    text += more;
  });
  return {
    output: () => text,
    ended: new Promise((resolve) => child.once('exit', resolve)),
    kill: () => child.kill('SIGKILL'),
  };
}

test('kill -9 between commit and delivery: every event that was committed arrives, with the same bytes', async () => {
  const { receiver, endpoint } = await listening();
  // Nothing is answered, so nothing counts as delivered: the kill finds some attempts under way and the others waiting.
  receiver.answer(() => {});
  const named: string[] = [];
  for (let n = 0; n < 20; n++) {
    const name = `Loja ${n}`;
    const { status } = await merchant.call('PATCH', `/operations/${merchant.operationId}`, { name });
    if (status === 200) named.push(name);
  }
  await until(async () => receiver.got.length > 0);
  await program.kill();
  const begun = receiver.got.map(({ text }) => text);
  receiver.answer(200);
  await program.start();
  const heard = () => new Set(receiver.got.slice(begun.length).map(({ body }) => body.data.name));
  // The lease of the process that died must end first.
  await until(async () => named.every((name) => heard().has(name)));
  const after = receiver.got.slice(begun.length);
  for (const text of begun) expect(after.map((received) => received.text)).toContain(text);
  for (const received of after) verified(endpoint.secret, received);
  await merchant.call('DELETE', `/webhooks/${endpoint.id}`, {});
});

test('an endpoint that hangs does not hold up the end, and its event goes out again after the next start', async () => {
  const { receiver, endpoint } = await listening();
  receiver.answer(() => {});
  await merchant.call('PATCH', `/operations/${merchant.operationId}`, { name: 'Loja ao fim do dia' });
  const hung = await receiver.first(({ body }) => body.data.name === 'Loja ao fim do dia');
  expect(await program.stop()).toBe(0);
  receiver.answer(200);
  await program.start();
  await until(async () => receiver.got.filter(({ text }) => text === hung.text).length === 2);
  await merchant.call('DELETE', `/webhooks/${endpoint.id}`, {});
});

/** A busy process learns in one turn that its thread broke and that it ended. */
test.each([
  ['idle', ''],
  ['busy', 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000);'],
])(
  'a thread of the deliveries that breaks ends its process with the cause, also a process that is %s',
  async (_, busy) => {
    const outgoing = JSON.stringify(new URL('../../src/main/delivery-thread.ts', import.meta.url).href);
    const start = `import(${outgoing}).then(({ startDeliveryThread }) => { startDeliveryThread({ databaseUrl: 'no address' }); ${busy} });
    setInterval(() => {}, 1_000);`;
    const child = spawn(process.execPath, ['--eval', start], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: process.env.PATH, DATA_DIR: program.dataDir },
    });
    let text = '';
    child.stderr.setEncoding('utf8').on('data', (more: string) => {
      text += more;
    });
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(1);
    expect(text).toContain('Invalid URL');
  },
);

test('one that breaks while everything ends does not keep the rest from ending', async () => {
  await expect(
    startDeliveryThread({
      databaseUrl: 'no address',
      memory: new SharedArrayBuffer(1024),
      hearsAll: true,
    }).stop(),
  ).rejects.toThrow('Invalid URL');
});

test('two processes deliver together, and one is killed with -9 while it does: nothing is skipped', async () => {
  const worker = run('worker');
  await until(async () => worker.output().includes('vintem worker ready'));
  const endpoints = await Promise.all([0, 1, 2, 3, 4, 5].map(() => listening()));
  const named: string[] = [];
  for (let n = 0; n < 60; n++) {
    const name = `Filial ${n}`;
    const { status } = await merchant.call('PATCH', `/operations/${merchant.operationId}`, { name });
    if (status === 200) named.push(name);
    if (n === 30) worker.kill();
  }
  expect(named).toHaveLength(60);
  for (const { receiver, endpoint } of endpoints) {
    const heard = () => new Set(receiver.got.map(({ body }) => body.data.name));
    await until(async () => named.every((name) => heard().has(name)));
    // An event that arrived twice is the same event.
    for (const name of named) {
      const texts = receiver.got.filter(({ body }) => body.data.name === name).map(({ text }) => text);
      expect(new Set(texts).size).toBe(1);
    }
    await merchant.call('DELETE', `/webhooks/${endpoint.id}`, {});
  }
});

test('events of a cell that was made while it runs are delivered', async () => {
  const json = async (...words: string[]) => {
    const { code, stdout, stderr } = await finish([...words, '--json'], { DATA_DIR: program.dataDir });
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout);
  };
  const { name: cell } = await json('cells', 'add');
  const account = await json('account', 'create', '--name', 'Filial', '--test', '--cell', cell);
  const ofAccount = ['--account', account.ownerId, '--name', 'events'];
  const { key } = await json('key', 'create', ...ofAccount, '--permissions', 'operations,webhooks');
  const call = callWith(`${program.url}/api/v1/public`, key);
  const { receiver, endpoint } = await listening(call);
  const renamed = await call('PATCH', `/operations/${account.operationId}`, { name: 'Filial nova' });
  expect(renamed.status).toBe(200);
  const arrived = await receiver.first(({ body }) => body.data.name === 'Filial nova');
  expect(verified(endpoint.secret, arrived)).toEqual(arrived.body);
});
