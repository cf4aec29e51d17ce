// Runs the service under the sandbox of each unit (`sandbox.py`): a rule that forbids what the program needs ends this with 1. The api
// listens on every address, a webhook to an address of the internet is registered, a charge is paid, and a webhook arrives.
//
//   node deploy/systemd/try.ts
//
// Needs Linux, root, python3, systemd-analyze and the kernel's headers. PostgreSQL is the embedded one, outside of the sandbox.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLog } from '../../server/src/ground/log.ts';
import { startEmbedded } from '../../server/src/store/database/embedded.ts';
import { settingsIn } from './settings.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'vintem-units-'));
chmodSync(folder, 0o711);
const state = join(folder, 'state');
const data = join(folder, 'data');
for (const one of [state, data]) mkdirSync(one, { mode: 0o711 });
const running: ChildProcess[] = [];
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const postgres = await startEmbedded({ dataDir: data, log: createLog('warn'), say });
const receiver = createServer();
receiver.listen(0, '127.0.0.1');
await once(receiver, 'listening');
const portOf = (server: typeof receiver): number => (server.address() as AddressInfo).port;
const [port, apiMetrics, workerMetrics, simulatorPort] = await Promise.all([1, 2, 3, 4].map(freePort));
const base = `http://127.0.0.1:${port}`;
const settings = settingsIn(`
HOST=0.0.0.0
PORT=${port}
PUBLIC_URL=${base}
SIMULATOR_URL=http://127.0.0.1:${simulatorPort}
SIMULATOR_STATE=${join(state, 'simulator')}
WEBHOOK_ALLOW_INSECURE_LOCAL=true
ALLOW_WITHOUT_TLS=public-url
DATA_DIR=${state}
LOG_LEVEL=warn
MAIL_FROM=Loja São João <pix@example.com>
DATABASE_URL=${postgres.serviceUrl}
VINTEM_SECRET=${randomBytes(32).toString('base64')}
`);

try {
  finish('migrate', ['migrate'], { MIGRATION_DATABASE_URL: postgres.url });
  await stays(null, ['simulator'], 'vintem simulator ready', { SIMULATOR_PORT: `${simulatorPort}` });
  await stays('worker', ['worker'], 'vintem worker ready', { METRICS_PORT: `${workerMetrics}` });
  await stays('api', ['api'], 'vintem api ready', { METRICS_PORT: `${apiMetrics}` });
  await serve();
  finish('verify', ['verify', '--full']);
  finish('backup', ['backup', join(state, 'copy')]);
  say('every unit runs under its own rules');
} finally {
  for (const child of running.reverse()) {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  receiver.close();
  await postgres.stop();
  if (postgres.apart !== null) rmSync(postgres.apart, { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
}

async function serve(): Promise<void> {
  const account = JSON.parse(finish('api', ['account', 'create', '--name', 'Loja', '--test', '--json']));
  const made = finish('api', [
    ...['key', 'create', '--account', account.ownerId, '--name', 'units', '--json'],
    ...['--permissions', 'read,charges,webhooks'],
  ]);
  const { key } = JSON.parse(made);
  const call = async (path: string, body: object) => {
    const answer = await fetch(`${base}/api/v1/public${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
  };
  const register = (url: string) => call('/webhooks', { url, events: ['*'], requestKey: randomUUID() });
  await register('https://93.184.215.14/hook');
  await register(`http://127.0.0.1:${portOf(receiver)}/hook`);
  const arrived = once(receiver, 'request');
  const charge = await call('/pix/charges', {
    requestKey: randomUUID(),
    amountCents: 5_000,
    payerName: 'Maria',
    description: '',
  });
  const id = charge.id.replaceAll('-', '');
  await fetch(`http://127.0.0.1:${simulatorPort}/control/charges/${id}/pay`, { method: 'POST' });
  const [, response] = await arrived;
  response.end();
}

/** The words that run `vintem WORDS` under a unit's rules; null: under none. */
function underRules(unit: string | null, words: string[]): string[] {
  const program = [process.execPath, here('../../server/src/main/cli/launch.js'), ...words];
  return unit === null
    ? program
    : ['python3', here('sandbox.py'), here(`vintem-${unit}.service`), ...program];
}

function envWith(more: Record<string, string>): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    SIMULATOR_PORT: 'off',
    SANDBOX_WRITABLE: state,
    ...settings,
    ...more,
  };
}

function finish(unit: string, words: string[], more: Record<string, string> = {}): string {
  const [file = '', ...args] = underRules(unit, words);
  return execFileSync(file, args, {
    encoding: 'utf8',
    env: envWith(more),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

async function stays(
  unit: string | null,
  words: string[],
  ready: string,
  more: Record<string, string>,
): Promise<void> {
  const [file = '', ...args] = underRules(unit, words);
  const child = spawn(file, args, { env: envWith(more), stdio: ['ignore', 'pipe', 'inherit'] });
  running.push(child);
  await new Promise<void>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => text.includes(ready) && resolve());
    child.once('exit', (code) => reject(new Error(`vintem ${words.join(' ')} ended with ${code}`)));
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const free = portOf(server);
  server.close();
  return free;
}
