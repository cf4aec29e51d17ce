import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { finish, type Running, run } from '@vintem/testkit/command.ts';
import { freePort } from '@vintem/testkit/free-port.ts';
import { openReceiver, type Receiver } from '@vintem/testkit/receiver.ts';
import { fetch } from 'undici';
import type { Targets } from './attack.ts';
import { openBrowser, password } from './browser.ts';
import { mailed } from './mailbox.ts';
import { findVictims } from './victims.ts';

/**
 * The whole program under attack, as an operator runs it. `one`: `vintem start`. `apart`: accounts in three cells, callers reach an `api`
 * through a proxy, a `worker` of its own beside it; a `start` that no caller reaches holds the embedded database.
 */
export type Shape = 'one' | 'apart';

/** A merchant that pays and is paid, and attacks no one. */
export interface Paying {
  ownerId: string;
  key: string;
}

export interface Stand {
  targets: Targets;
  paying: Paying[];
  simulatorUrl: string;
  dataDir: string;
  env: Record<string, string>;
  /** The process that answers callers. */
  pid: number;
  /** The standard error of the processes. */
  complaints(): string[];
  /** Ends the processes; `verify` can look at their data until `remove`. */
  end(): Promise<void>;
  remove(): Promise<void>;
}

/** The address that the proxy calls from; the only one that is trusted. */
const proxyAddress = '127.0.0.2';
const viewerEmail = 'leitora@loja.example';
const everything = 'read,charges,transfers,operations,webhooks,refunds';

export async function openStand(shape: Shape): Promise<Stand> {
  const dataDir = await mkdtemp(join(tmpdir(), 'vintem-abuse-'));
  // As root the database runs as another user, who has to pass through.
  await chmod(dataDir, 0o711);
  const [port, apiPort, simulatorPort] = [await freePort(), await freePort(), await freePort()];
  const direct = `http://127.0.0.1:${shape === 'one' ? port : apiPort}`;
  const proxy =
    shape === 'one'
      ? null
      : new Worker(new URL('./proxy.ts', import.meta.url), {
          workerData: { target: direct, own: proxyAddress },
        });
  const url =
    proxy === null
      ? direct
      : await new Promise<string>((resolve, reject) => {
          proxy.once('message', resolve);
          proxy.once('error', reject);
        });
  const origin = proxy === null ? url : url.replace('http:', 'https:');
  const env = {
    DATA_DIR: dataDir,
    PORT: `${port}`,
    SIMULATOR_PORT: `${simulatorPort}`,
    LOG_LEVEL: 'error',
    WEBHOOK_ALLOW_INSECURE_LOCAL: 'true',
    ...(proxy ? { PUBLIC_URL: origin, TRUSTED_PROXIES: proxyAddress } : {}),
  };
  const start = run(['start'], env);
  const programs: Running[] = [start];
  const receivers: Receiver[] = [];
  const stand = {
    end: async () => {
      for (const one of programs.toReversed()) one.kill('SIGTERM');
      await Promise.all(programs.map(({ exit }) => exit));
      await proxy?.terminate();
      for (const receiver of receivers) await receiver.stop();
    },
    remove: () => rm(dataDir, { recursive: true, force: true }),
  };
  try {
    await start.line('vintem ready ');
    const cells = ['vintem'];
    if (shape === 'apart') {
      for (let n = 0; n < 2; n++) cells.push((await command<{ name: string }>(['cells', 'add'], env)).name);
      const api = run(['api'], { ...env, PORT: `${apiPort}` });
      const worker = run(['worker'], env);
      programs.push(api, worker);
      await Promise.all([api.line('vintem api ready'), worker.line('vintem worker ready')]);
    }
    const paying: Paying[] = [];
    for (const n of [0, 1]) paying.push(await newAccount(`Loja ${n}`, cells[(n + 1) % cells.length], env));
    const simulatorUrl = `http://127.0.0.1:${simulatorPort}`;
    const targets = await attackersOf({
      url,
      origin,
      direct,
      dataDir,
      env,
      simulatorUrl,
      printed: start.stdout(),
    });
    // Each fails with a kilobyte.
    const receiver = await openReceiver();
    receivers.push(receiver);
    receiver.answer((response) => response.writeHead(500).end('x'.repeat(1024)));
    for (let n = 0; n < 10; n++)
      await call(`${url}/api/v1/public/webhooks`, targets.key, {
        url: receiver.url,
        events: ['*'],
        requestKey: crypto.randomUUID(),
      });
    return {
      ...stand,
      targets: { ...targets, proxied: shape === 'apart' },
      paying,
      simulatorUrl,
      dataDir,
      env,
      pid: (programs[1] ?? start).pid,
      complaints: () => programs.flatMap((one) => one.stderr().split('\n')),
    };
  } catch (error) {
    await stand.end();
    await stand.remove();
    throw error;
  }
}

async function command<Result>(words: string[], env: Record<string, string>): Promise<Result> {
  const { code, stdout, stderr } = await finish([...words, '--json'], env);
  if (code !== 0) throw new Error(`vintem ${words.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as Result;
}

async function newAccount(
  name: string,
  cell: string | undefined,
  env: Record<string, string>,
): Promise<Paying> {
  const words = [
    'account',
    'create',
    '--name',
    name,
    '--test',
    ...(cell === undefined ? [] : ['--cell', cell]),
  ];
  const { ownerId } = await command<{ ownerId: string }>(words, env);
  return { ownerId, key: await newKey(ownerId, 'Programa', everything, env) };
}

const newKey = async (account: string, name: string, permissions: string, env: Record<string, string>) =>
  (
    await command<{ key: string }>(
      ['key', 'create', '--account', account, '--name', name, '--permissions', permissions],
      env,
    )
  ).key;

/** @throws Error for an answer that refuses: the stand is not what the attacks expect */
async function call<Body>(url: string, key: string, body: object, method = 'POST'): Promise<Body> {
  const answer = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(method === 'GET' ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${url} answered ${answer.status}: ${text}`);
  return JSON.parse(text) as Body;
}

interface Place {
  url: string;
  direct: string;
  dataDir: string;
  env: Record<string, string>;
  simulatorUrl: string;
  printed: string;
  origin: string;
}

/** The merchant that attacks: the first test account, with its owner, a viewer, keys and a paid charge. */
async function attackersOf({
  url,
  origin,
  direct,
  dataDir,
  env,
  simulatorUrl,
  printed,
}: Place): Promise<Targets> {
  const key = /vintem test key (\S+)/.exec(printed)?.[1] ?? '';
  const { ownerId, operations } = await call<{ ownerId: string; operations: { id: string }[] }>(
    `${url}/api/v1/public/operations`,
    key,
    {},
    'GET',
  );
  const [, email = '', word = ''] = /e-mail (\S+) password (\S+)/.exec(printed) ?? [];
  const owner = await signIn({ url, origin }, email, word);
  const ownersBrowser = async () => {
    const browser = openBrowser({ url, origin }, fetch);
    await browser.signIn(email, word);
    return browser;
  };
  const viewer = await inviteViewer({ url, origin, dataDir }, ownerId, owner);
  const names = ['searching', 'missing1', 'missing2', 'missing3', 'refunding', 'polling'] as const;
  const keys = {} as Targets['keys'];
  for (const name of names) keys[name] = await newKey(ownerId, name, everything, env);
  keys.renaming = await newKey(ownerId, 'renaming', 'operations', env);
  const { id: paidId } = await call<{ id: string }>(`${url}/api/v1/public/pix/charges`, key, {
    amountCents: 200_000,
    payerName: 'Maria',
    description: '',
    requestKey: crypto.randomUUID(),
  });
  await fetch(`${simulatorUrl}/control/charges/${paidId.replaceAll('-', '')}/pay`, { method: 'POST' });
  const other = await command<{ ownerId: string }>(['account', 'create', '--name', 'Teste', '--test'], env);
  return {
    url,
    origin,
    direct,
    proxied: false,
    key,
    keys,
    accountId: ownerId,
    operationId: operations[0]?.id ?? '',
    paidId,
    resettingKey: await newKey(other.ownerId, 'resetting', `${everything},simulate`, env),
    ...owner,
    viewerCookie: viewer.cookie,
    dataDir,
    victims: await findVictims({
      url,
      origin,
      dataDir,
      accountId: ownerId,
      viewerEmail,
      owner: await ownersBrowser(),
      command: (words) => command(words, env),
      api: (key, path, body) => call(`${url}/api/v1/public${path}`, key, body),
    }),
  };
}

interface Session {
  cookie: string;
  csrf: string;
}

async function signIn(
  { url, origin }: Pick<Place, 'url' | 'origin'>,
  email: string,
  password: string,
): Promise<Session> {
  const answer = await fetch(`${url}/panel/api/auth/sign-in/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin },
    body: JSON.stringify({ email, password }),
  });
  if (!answer.ok) throw new Error(`${email} cannot sign in: ${answer.status}`);
  const cookie = answer.headers
    .getSetCookie()
    .map((one) => one.split(';', 1)[0])
    .join('; ');
  const session = await fetch(`${url}/panel/api/session`, { headers: { cookie } });
  return { cookie, csrf: ((await session.json()) as { csrf: string }).csrf };
}

/** By the mail that the panel sends, which a trial installation keeps in its folder. */
async function inviteViewer(
  place: Pick<Place, 'url' | 'origin' | 'dataDir'>,
  accountId: string,
  owner: Session,
): Promise<Session> {
  const { url, origin, dataDir } = place;
  const email = viewerEmail;
  const panel = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${url}/panel/api${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin, ...headers },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
  };
  await panel(
    `/accounts/${accountId}/members/invitations`,
    { email, role: 'viewer' },
    { cookie: owner.cookie, 'x-csrf-token': owner.csrf },
  );
  const token = await mailed(dataDir, email, /convite#([\w-]+)/);
  await panel('/invitations/accept', { token, name: 'Leitora', password });
  return signIn(place, email, password);
}
