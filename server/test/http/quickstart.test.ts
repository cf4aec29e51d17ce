import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { appendFile, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '@vintem/testkit/free-port.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** The quick start, followed: its blocks as the files that they name, in a folder of its own, until a verified webhook is printed. */

const run = promisify(execFile);
const root = new URL('../../../', import.meta.url);
let service: Service;
let merchant: Merchant;
let page: string;
let folder: string;

beforeAll(async () => {
  service = await openService({ env: { WEBHOOK_ALLOW_INSECURE_LOCAL: 'true' } });
  merchant = await service.newMerchant();
  page = await readFile(new URL('docs/merchants/quickstart.md', root), 'utf8');
  folder = await mkdtemp(join(tmpdir(), 'vintem-quickstart-'));
  await mkdir(join(folder, 'node_modules/@vintem'), { recursive: true });
  await symlink(fileURLToPath(new URL('sdk', root)), join(folder, 'node_modules/@vintem/sdk'));
});
afterAll(async () => {
  await service?.close();
  await rm(folder, { recursive: true, force: true });
});

const blocksOf = (language: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`\\S+ ${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(
    ([, code = '']) => code,
  );

/** Writes each block to the file in its first line; what belongs "at the end of" a file goes there. */
async function writeFiles(language: string, port: number): Promise<void> {
  for (const block of blocksOf(language)) {
    const name = /^[^\n]*?(\w+\.(?:mjs|py|php))/.exec(block)?.[1];
    if (name === undefined) throw new Error(`no file is named: ${block.slice(0, 60)}`);
    await appendFile(join(folder, name), block.replaceAll('4000', String(port)));
  }
}

const env = (more: Record<string, string> = {}) => ({
  PATH: process.env.PATH,
  VINTEM_URL: service.url,
  VINTEM_KEY: merchant.key,
  ...more,
});

const listens = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => done(true)).once('error', () => done(false));
    socket.once('connect', () => socket.destroy());
  });

/** Runs the receiver with the secret, then what makes a charge and pays it, until the receiver has printed the verified event. */
async function receives(
  [command, ...words]: [string, ...string[]],
  secret: string,
  port: number,
  pay: () => Promise<unknown>,
): Promise<void> {
  expect(secret).toMatch(/^whsec_/);
  const hook: ChildProcess = spawn(command, words, {
    cwd: folder,
    env: env({ WEBHOOK_SECRET: secret, PYTHONUNBUFFERED: '1' }),
  });
  let said = '';
  for (const stream of [hook.stdout, hook.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  try {
    await until(() => listens(port));
    await pay();
    await until(async () => said.includes('charge.paid'));
  } finally {
    hook.kill('SIGKILL');
  }
}

/** The program needs Node alone: a language that is not installed is not tried. */
const has = (program: string, ...words: string[]): boolean => spawnSync(program, words).status === 0;

test('TypeScript', async () => {
  const port = await freePort();
  await writeFiles('TypeScript', port);
  const node = (file: string) => run(process.execPath, [file], { cwd: folder, env: env() });
  const { stdout: secret } = await node('register.mjs');
  await receives([process.execPath, 'hook.mjs'], secret.trim(), port, () => node('charge.mjs'));
});

test.runIf(has('curl', '--version') && has('bash', '--version') && has('uuidgen'))(
  'curl, with the receiver in TypeScript',
  async () => {
    const port = await freePort();
    const [register = '', , charge = '', pay = ''] = blocksOf('curl').map((block) =>
      block.replaceAll('4000', String(port)),
    );
    for (const name of ['vintem', 'register', 'hook', 'charge'])
      await rm(join(folder, `${name}.mjs`), { force: true });
    await writeFiles('TypeScript', port);
    const bash = async (script: string, more: Record<string, string> = {}) =>
      JSON.parse((await run('bash', ['-c', script], { cwd: folder, env: env(more) })).stdout);
    const { secret } = await bash(register);
    await receives([process.execPath, 'hook.mjs'], secret, port, async () => {
      const { id } = await bash(charge);
      expect(await bash(pay, { ID: id })).toEqual({ ok: true });
    });
  },
);

test.runIf(has('python3', '--version'))('Python', async () => {
  const port = await freePort();
  await writeFiles('Python', port);
  const python = (file: string) => run('python3', [file], { cwd: folder, env: env() });
  const { stdout: secret } = await python('register.py');
  await receives(['python3', 'hook.py'], secret.trim(), port, () => python('charge.py'));
});

test.runIf(has('php', '-r', 'exit(extension_loaded("curl") ? 0 : 1);'))('PHP', async () => {
  const port = await freePort();
  await writeFiles('PHP', port);
  const php = (file: string) => run('php', [file], { cwd: folder, env: env() });
  const { stdout: secret } = await php('register.php');
  await receives(['php', '-S', `127.0.0.1:${port}`, 'hook.php'], secret.trim(), port, () =>
    php('charge.php'),
  );
});
