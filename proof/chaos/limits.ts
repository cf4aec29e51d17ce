import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@vintem/testkit/free-port.ts';
import { command, http, newFolder, part, sleep } from './processes.ts';

/**
 * An `api` and a `worker` that may open few files and use little memory, under more callers than they have room for: who is not
 * served is not served, and nothing else happens. Exit code 1 when money or processes say otherwise.
 *
 *   node proof/chaos/limits.ts        (needs `prlimit` of util-linux)
 */
const dataDir = await newFolder('limits');
const [port, apiPort, simulatorPort] = [await freePort(), await freePort(), await freePort()];
const logFile = join(dataDir, 'log.jsonl');
const env = {
  DATA_DIR: dataDir,
  PORT: String(port),
  SIMULATOR_PORT: String(simulatorPort),
  RATE_LIMITS: 'off',
  LOG_LEVEL: 'warn',
};
const main = part('start', { words: ['start'], env, ready: 'vintem ready', logFile });
await main.start();
const tight = {
  ...env,
  PORT: String(apiPort),
  TRANSFER_WAIT_MS: '0',
  NODE_OPTIONS: '--max-old-space-size=64',
};
const before = ['prlimit', '--nofile=96:96', '--'];
const parts = [
  part('api', { words: ['api'], env: tight, ready: 'vintem api ready', logFile, before }),
  part('worker', { words: ['worker'], env: tight, ready: 'vintem worker ready', logFile, before }),
];
await Promise.all(parts.map((one) => one.start()));
const key = /vintem test key (\S+)/.exec(main.output())?.[1] ?? '';
const call = (at: number, method: string, path: string, body?: unknown) =>
  http(
    method,
    `http://127.0.0.1:${at}/api/v1/public${path}`,
    body,
    { authorization: `Bearer ${key}` },
    30_000,
  );
for (let n = 0; n < 4; n++) {
  const { body } = await call(port, 'POST', '/pix/charges', {
    amountCents: 200_000,
    payerName: 'Maria',
    description: '',
    requestKey: crypto.randomUUID(),
  });
  await http(
    'POST',
    `http://127.0.0.1:${simulatorPort}/control/charges/${body.id.replaceAll('-', '')}/pay`,
    {},
  );
}
const account = async () => (await call(port, 'GET', '/account')).body;
for (let n = 0; n < 100 && (await account()).balanceCents !== 800_000; n++) await sleep(100);

const orders = Array.from({ length: 600 }, () => ({
  amountCents: 1000,
  pixKey: 'maria@loja.example',
  pixKeyType: 'EMAIL',
  description: '',
  requestKey: crypto.randomUUID(),
}));
const token = (await call(port, 'GET', '/operations')).status;
const flood = Array.from({ length: 60 }, () =>
  http(
    'POST',
    `http://127.0.0.1:${apiPort}/hooks/providers/simulator/guess/pix`,
    'x'.repeat(900_000),
    {},
    30_000,
  ),
);
const answers = (
  await Promise.all(orders.map((order) => call(apiPort, 'POST', '/pix/transfers', order)))
).map(({ status }) => status);
await Promise.all(flood);
const alive = parts.map((one) => one.isRunning());
await Promise.all(parts.filter((one) => !one.isRunning()).map((one) => one.start()));
const ids = new Set<string>();
for (let at = 0; at < orders.length; at += 40) {
  const again = await Promise.all(
    orders.slice(at, at + 40).map((order) => call(port, 'POST', '/pix/transfers', order)),
  );
  for (const { body } of again) if (body?.id) ids.add(body.id);
}
for (let n = 0; n < 300 && (await account()).reservedWithdrawalCents !== 0; n++) await sleep(200);
const { balanceCents, reservedWithdrawalCents } = await account();
const truth = (await http('GET', `http://127.0.0.1:${simulatorPort}/control/state`)).body;
const verified = await command(['verify', '--full'], env);
const agrees =
  token === 200 &&
  ids.size === orders.length &&
  balanceCents === 200_000 &&
  reservedWithdrawalCents === 0 &&
  truth.payouts.length === orders.length &&
  truth.payouts.every((one: { timesAccepted: number }) => one.timesAccepted === 1) &&
  verified.code === 0;
const counts: Record<string, number> = {};
for (const status of answers) counts[status] = (counts[status] ?? 0) + 1;
console.log(
  JSON.stringify(
    { agrees, answers: counts, stillRunning: alive, payments: ids.size, balanceCents, verify: verified.code },
    null,
    2,
  ),
);
for (const one of [...parts, main]) one.signal('SIGTERM');
await Promise.all([...parts, main].map((one) => one.exited()));
if (agrees) await rm(dataDir, { recursive: true, force: true });
else console.error(`kept: ${dataDir}`);
process.exit(agrees ? 0 : 1);
