import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { endPrograms, finish, type Running, run } from '@vintem/testkit/command.ts';
import { freePort } from '@vintem/testkit/free-port.ts';
import { openTab } from '@vintem/testkit/panel.ts';
import { childrenOf, postmasterOf } from '@vintem/testkit/processes.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { processExists } from '../../src/store/database/lock.ts';

let dataDir: string;
let env: Record<string, string>;
let program: Running;
let key: string;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'vintem-start-'));
  await chmod(dataDir, 0o711);
  env = {
    DATA_DIR: dataDir,
    PORT: `${await freePort()}`,
    SIMULATOR_PORT: `${await freePort()}`,
    LOG_LEVEL: 'warn',
  };
});
afterAll(async () => {
  await endPrograms();
  const info = JSON.parse(await readFile(join(dataDir, 'postgres.json'), 'utf8')) as { cluster: string };
  if (isAbsolute(info.cluster)) await rm(join(info.cluster, '..'), { recursive: true, force: true });
  await rm(dataDir, { recursive: true, force: true });
});

const address = () => `http://127.0.0.1:${env.PORT}`;
const account = (bearer = key) =>
  fetch(`${address()}/api/v1/public/account`, { headers: { authorization: `Bearer ${bearer}` } });
const readiness = () =>
  fetch(`${address()}/readyz`).then(
    ({ status }) => status,
    () => 0,
  );
const postmaster = (): number => postmasterOf(dataDir);

// The tests of this file are one story, each going on where the one before has ended.
describe('start', () => {
  it.each([
    ['under a folder that takes no files', '/proc/vintem/data', /ENOENT|EPERM|EACCES|EROFS/],
    ['a folder that takes no files', '/proc', /ENOENT|EPERM|EACCES|EROFS/],
    ['under a file', fileURLToPath(import.meta.url), /not a folder/],
    ['below a file', `${fileURLToPath(import.meta.url)}/data`, /ENOTDIR/],
  ])(
    'names a DATA_DIR that cannot be used in one line, with exit code 2: %s',
    async (_what, unusable, why) => {
      for (const words of [['start'], ['migrate']]) {
        const { code, stdout, stderr } = await finish(words, { ...env, DATA_DIR: unusable });
        expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
        expect(stderr.trimEnd().split('\n')).toHaveLength(1);
        expect(stderr).toContain(`vintem: DATA_DIR: ${unusable} cannot be used: `);
        expect(stderr).toMatch(why);
      }
    },
  );

  it('on an empty folder prints a test key once, and then that it is ready', async () => {
    program = run(['start'], env);
    const ready = await program.line('vintem ready ');
    expect(ready).toBe(`vintem ready ${address()}`);
    const lines = program.stdout().trimEnd().split('\n');
    expect(lines[0]).toMatch(/^vintem test key vtm_test_\w{62}$/);
    expect(lines.at(-1)).toBe(ready);
    key = (lines[0] as string).slice('vintem test key '.length);
    expect(await readiness()).toBe(200);
    expect((await account()).status).toBe(200);
    const state = await fetch(`http://127.0.0.1:${env.SIMULATOR_PORT}/control/state`);
    expect(state.status).toBe(200);
    // The provider knows where to deliver, so payments from now on arrive by webhook.
    const told = await readFile(join(dataDir, 'simulator', 'journal.jsonl'), 'utf8');
    expect(told).toContain(`${address()}/hooks/providers/simulator/`);
  });

  it('shows the notice that a command sets in the panel of the account that it has made', async () => {
    const [, email = '', word = ''] =
      /^vintem panel \S+ e-mail (\S+) password (\S+)$/m.exec(program.stdout()) ?? [];
    const pt = 'Manutenção hoje às 22h: os saques param por uma hora.';
    const en = 'Maintenance today at 22:00: withdrawals stop for an hour.';
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const set = await finish(['notice', 'set', '--pt', pt, '--en', en, '--until', until, '--json'], env);
    expect({ code: set.code, stderr: set.stderr }).toEqual({ code: 0, stderr: '' });
    const tab = openTab({ url: address() });
    expect((await tab.signIn(email, word)).status).toBe(200);
    expect((await tab.call('GET', '/session')).body.notice).toMatchObject({ pt, en, until });
  });

  it('is refused on a folder that is in use, with a line that names who uses it', async () => {
    const { code, stdout, stderr } = await finish(['start'], { ...env, PORT: `${await freePort()}` });
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toContain(`${dataDir} is in use by \`vintem start\` (process ${program.pid}`);
  });

  it('is refused where a port is taken, with a line that says which', async () => {
    const other = { ...env, DATA_DIR: `${dataDir}-other` };
    const taken = await finish(['start'], other);
    expect(taken.code).toBe(2);
    expect(taken.stderr).toBe(`vintem: PORT: port ${env.PORT} on 127.0.0.1 is taken\n`);
    const simulator = await finish(['start'], { ...other, PORT: `${await freePort()}` });
    expect(simulator.code).toBe(2);
    expect(simulator.stderr).toBe(
      `vintem: SIMULATOR_PORT: port ${env.SIMULATOR_PORT} on 127.0.0.1 is taken\n`,
    );
    await rm(other.DATA_DIR, { recursive: true });
  });

  it('lets commands and further parts work on its database, and keeps the deliveries of the provider', async () => {
    const accounts = await finish(['account', 'list', '--json'], env);
    expect(JSON.parse(accounts.stdout).accounts).toMatchObject([{ name: 'Loja de teste', test: true }]);
    const api = run(['api'], { ...env, PORT: `${await freePort()}` });
    const worker = run(['worker'], env);
    const ready = await api.line('vintem api ready ');
    expect(await worker.line('vintem worker ready')).toBe('vintem worker ready');
    const answer = await fetch(`${ready.slice('vintem api ready '.length)}/api/v1/public/account`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(answer.status).toBe(200);
    // Its address is of no use to the provider once it has ended: the deliveries stay with the first process.
    const told = await readFile(join(dataDir, 'simulator', 'journal.jsonl'), 'utf8');
    expect(told).not.toContain(`${ready.slice('vintem api ready '.length)}/hooks/`);
    for (const part of [api, worker]) {
      part.kill('SIGTERM');
      expect(await part.exit).toEqual({ code: 0, signal: null });
    }
    expect(await readiness()).toBe(200);
  });

  it('recovers by itself after its database or its simulator was killed', async () => {
    const before = postmaster();
    process.kill(before, 'SIGKILL');
    await expect.poll(readiness).not.toBe(200);
    await expect.poll(readiness).toBe(200);
    const database = postmaster();
    expect(database).not.toBe(before);
    expect((await account()).status).toBe(200);

    const simulator = (await childrenOf(program.pid)).find((pid) => pid !== database);
    process.kill(simulator as number, 'SIGKILL');
    const control = () =>
      fetch(`http://127.0.0.1:${env.SIMULATOR_PORT}/control/state`).then(
        ({ status }) => status,
        () => 0,
      );
    await expect.poll(control).toBe(0);
    await expect.poll(control).toBe(200);
  });

  it('stops everything on SIGTERM', async () => {
    const database = postmaster();
    program.kill('SIGTERM');
    expect(await program.exit).toEqual({ code: 0, signal: null });
    expect(processExists(database)).toBe(false);
    await expect(fetch(`http://127.0.0.1:${env.SIMULATOR_PORT}/control/state`)).rejects.toThrow();
  });

  it('leaves a folder on which a command runs the database for as long as it takes', async () => {
    const made = await Promise.all(
      ['One', 'Two', 'Three', 'Four'].map((name) =>
        finish(['account', 'create', '--test', '--name', name, '--json'], env),
      ),
    );
    for (const { code, stdout } of made) {
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toEqual({ ownerId: expect.any(String), operationId: expect.any(String) });
    }
    const { cluster } = JSON.parse(await readFile(join(dataDir, 'postgres.json'), 'utf8')) as {
      cluster: string;
    };
    await expect(stat(join(resolve(dataDir, cluster), 'postmaster.pid'))).rejects.toThrow('ENOENT');
  });

  it('is refused on a copy whose connections move money, beside the folder that it was copied from', async () => {
    const copy = `${dataDir}-copy`;
    await promisify(execFile)('cp', ['-a', dataDir, copy]);
    const ports = { PORT: `${await freePort()}`, SIMULATOR_PORT: `${await freePort()}` };
    const live = {
      PROVIDER: 'efi',
      PROVIDER_URL: 'http://127.0.0.1:9',
      PROVIDER_CLIENT_ID: 'id',
      PROVIDER_CLIENT_SECRET: 'secret',
      PROVIDER_PIX_KEY: 'key@example.com',
    };
    const { code, stderr } = await finish(['start'], { ...env, ...ports, ...live, DATA_DIR: copy });
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`is a copy of ${dataDir}, and its connections move money`),
    });
    await rm(copy, { recursive: true });
  });

  it('with a public address makes no test account, prints no key, and starts neither simulator nor mailbox', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'vintem-public-'));
    await chmod(dataDir, 0o711);
    const ports = { PORT: `${await freePort()}`, SIMULATOR_PORT: `${await freePort()}` };
    const open = run(['start'], { ...env, ...ports, DATA_DIR: dataDir, PUBLIC_URL: 'https://pay.example' });
    await open.line('vintem ready ');
    expect(open.stdout()).toBe(`vintem ready http://127.0.0.1:${ports.PORT}\n`);
    await expect(fetch(`http://127.0.0.1:${ports.SIMULATOR_PORT}/control/state`)).rejects.toThrow();
    expect((await fetch(`http://127.0.0.1:${ports.PORT}/panel/api/mailbox`)).status).toBe(404);
    open.kill('SIGTERM');
    await open.exit;
    await rm(dataDir, { recursive: true, force: true });
  });

  it('with a public address revokes the key and the password that a trial has printed, and nothing else', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'vintem-trial-'));
    await chmod(dataDir, 0o711);
    const ports = { PORT: `${await freePort()}`, SIMULATOR_PORT: `${await freePort()}` };
    const own = { ...env, ...ports, DATA_DIR: dataDir };
    const url = `http://127.0.0.1:${ports.PORT}`;
    const answer = async (key: string) =>
      (await fetch(`${url}/api/v1/public/operations`, { headers: { authorization: `Bearer ${key}` } }))
        .status;
    const signIn = async (origin: string, email: string, password: string) =>
      (
        await fetch(`${url}/panel/api/auth/sign-in/email`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', origin },
          body: JSON.stringify({ email, password }),
        })
      ).status;

    const trial = run(['start'], own);
    await trial.line('vintem ready ');
    const key = /vintem test key (\S+)/.exec(trial.stdout())?.[1] ?? '';
    const [, email = '', password = ''] = /e-mail (\S+) password (\S+)/.exec(trial.stdout()) ?? [];
    expect([await answer(key), await signIn(url, email, password)]).toEqual([200, 200]);
    const accounts = JSON.parse((await finish(['account', 'list', '--json'], own)).stdout).accounts;
    const made = await finish(
      ['key', 'create', '--account', accounts[0].ownerId, '--name', 'Own', '--permissions', 'read', '--json'],
      own,
    );
    trial.kill('SIGTERM');
    await trial.exit;

    const open = run(['start'], { ...own, PUBLIC_URL: 'https://pay.example' });
    await open.line('vintem ready ');
    expect([await answer(key), await answer(JSON.parse(made.stdout).key)]).toEqual([401, 200]);
    expect(await signIn('https://pay.example', email, password)).toBe(401);
    open.kill('SIGTERM');
    await open.exit;
    await rm(dataDir, { recursive: true, force: true });
  });

  it('continues with the same data, and prints no key again', async () => {
    program = run(['start'], env);
    await program.line('vintem ready ');
    const [simulator, mailbox, documentation, desk, ready, ...more] = program.stdout().trimEnd().split('\n');
    expect([simulator, documentation, desk, ready, more]).toEqual([
      `vintem simulator http://127.0.0.1:${env.SIMULATOR_PORT}`,
      `vintem documentation ${address()}/docs`,
      `vintem console ${address()}/operator opens to whom \`vintem operator create\` invites`,
      `vintem ready ${address()}`,
      [],
    ]);
    expect(mailbox).toMatch(/^vintem mailbox http:\/\/\S+\/mailbox#[\w-]{43}$/);
    expect((await account()).status).toBe(200);
  });

  it('recovers after a kill of its own process, whose database it takes over', async () => {
    const database = postmaster();
    program.kill('SIGKILL');
    await program.exit;
    expect(processExists(database)).toBe(true);
    program = run(['start'], env);
    await program.line('vintem ready ');
    expect(postmaster()).toBe(database);
    expect((await account()).status).toBe(200);
    program.kill('SIGINT');
    expect(await program.exit).toEqual({ code: 0, signal: null });
    await expect.poll(() => processExists(database)).toBe(false);
  });
});

describe('a simulator that runs apart', () => {
  const basic = `Basic ${Buffer.from('vintem:any secret').toString('base64')}`;
  const token = (port: string) =>
    fetch(`http://127.0.0.1:${port}/oauth/token`, {
      method: 'POST',
      headers: { authorization: basic, 'content-type': 'application/json' },
      body: JSON.stringify({ grant_type: 'client_credentials' }),
    });

  it.each([
    ['without a secret of an installation serves every client', {}, 200],
    [
      'serves the clients of the installation whose secret it has',
      { VINTEM_SECRET: Buffer.alloc(32, 7).toString('base64') },
      401,
    ],
  ])('%s', async (_what, more, status) => {
    const apart = { DATA_DIR: join(dataDir, 'apart'), SIMULATOR_PORT: `${await freePort()}`, ...more };
    const simulator = run(['simulator'], apart);
    await simulator.line('vintem simulator ready ');
    expect((await token(apart.SIMULATOR_PORT)).status).toBe(status);
    simulator.kill('SIGTERM');
    await simulator.exit;
  });
});

describe('a folder without an installation', () => {
  it.each([[['account', 'list']], [['verify']], [['backup', 'copy.vtm']]])(
    'is named and left as it is by %j',
    async (words) => {
      const dataDir = join(env.DATA_DIR as string, 'wrong', 'folder');
      const { code, stdout, stderr } = await finish(words, { ...env, DATA_DIR: dataDir });
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain(`DATA_DIR: ${dataDir} holds no installation`);
      await expect(stat(dataDir)).rejects.toThrow('ENOENT');
    },
  );
});

describe('api and worker', () => {
  it('say what to do where no database runs', async () => {
    for (const part of ['api', 'worker']) {
      const { code, stderr } = await finish([part], { ...env, PORT: `${await freePort()}` });
      expect(code).toBe(1);
      expect(stderr).toContain('run `vintem start` there first, or set DATABASE_URL');
    }
  });
});
