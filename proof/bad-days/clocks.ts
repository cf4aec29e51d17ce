import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { command, freePort, http, newFolder, part, sleep } from './processes.ts';

/**
 * Processes whose wall clocks are wrong, and jump while they work.
 *
 *   node proof/bad-days/clocks.ts
 *
 * Beside a whole service run a worker that is an hour ahead, one that is an hour behind, and an `api` whose clock jumps by half a minute,
 * forwards and backwards, under traffic (what it accepts then is due that much later, and no more happens). Who is off by more than two seconds is not ready and claims nothing; every transfer is paid once, and
 * `vintem verify --full` is clean. The clocks are wrong inside each process (`wrong-clock.js`), so that no other program is needed: the database
 * and the provider keep the right time. Exit code 1 when something does not agree.
 */
const root = await newFolder('clocks');
const logFile = join(root, 'log.jsonl');
const [port, apiPort, simulatorPort] = [await freePort(), await freePort(), await freePort()];
const env = {
  DATA_DIR: join(root, 'data'),
  PORT: String(port),
  SIMULATOR_PORT: String(simulatorPort),
  RATE_LIMITS: 'off',
  LOG_LEVEL: 'warn',
};
const main = part('start', { words: ['start'], env, ready: 'vintem ready', logFile });
await main.start();
const key = /vintem test key (\S+)/.exec(main.output())?.[1] ?? '';

const hourMs = 3_600_000;
const jumpMs = 30_000;
const preload = fileURLToPath(new URL('wrong-clock.js', import.meta.url));
const wrongBy = (name: string, shiftMs: number) => {
  const file = join(root, name);
  writeFileSync(file, String(shiftMs));
  return {
    set: (ms: number) => writeFileSync(file, String(ms)),
    env: { ...env, NODE_OPTIONS: `--import ${preload}`, WRONG_CLOCK_FILE: file },
  };
};
const jumping = wrongBy('api', 0);
const api = part('api', {
  words: ['api'],
  env: { ...jumping.env, PORT: String(apiPort), TRANSFER_WAIT_MS: '0' },
  ready: 'vintem api ready',
  logFile,
});
const workers = [hourMs, -hourMs].map((shiftMs, n) =>
  part(`worker ${n}`, {
    words: ['worker'],
    env: wrongBy(`worker ${n}`, shiftMs).env,
    ready: 'vintem worker ready',
    logFile,
  }),
);
await Promise.all([api, ...workers].map((one) => one.start()));

const call = (at: number, method: string, path: string, body?: unknown) =>
  http(method, `http://127.0.0.1:${at}/api/v1/public${path}`, body, { authorization: `Bearer ${key}` });
const readiness = async (): Promise<number> =>
  (await http('GET', `http://127.0.0.1:${apiPort}/readyz`, undefined)).status;
const becomes = async (wanted: number): Promise<boolean> => {
  for (let n = 0; n < 250; n++) {
    if ((await readiness()) === wanted) return true;
    await sleep(100);
  }
  return false;
};

const amountCents = 200_000;
const funded = await call(port, 'POST', '/pix/charges', {
  amountCents,
  payerName: 'Maria',
  description: '',
  requestKey: crypto.randomUUID(),
});
await http(
  'POST',
  `http://127.0.0.1:${simulatorPort}/control/charges/${funded.body.id.replaceAll('-', '')}/pay`,
  {},
);
for (let n = 0; n < 100 && (await call(port, 'GET', '/account')).body.balanceCents !== amountCents; n++)
  await sleep(100);

const orders: { requestKey: string }[] = [];
const answers: Record<string, number> = {};
/** A third of the answers are lost: fewer in a row than the breaker takes for a provider that is down. */
async function some(): Promise<void> {
  await Promise.all(
    Array.from({ length: 10 }, async (_, n) => {
      const requestKey = crypto.randomUUID();
      const order = {
        amountCents: 1000,
        pixKey: n % 3 === 0 ? 'lose-answer@simulator.example' : 'maria@loja.example',
        pixKeyType: 'EMAIL',
        description: '',
        requestKey,
      };
      orders.push(order);
      const { status } = await call(apiPort, 'POST', '/pix/transfers', order);
      answers[status] = (answers[status] ?? 0) + 1;
    }),
  );
}
const readyAtFirst = await becomes(200);
await some();
jumping.set(jumpMs);
// Before it has noticed: it accepts with the wrong time, and others send.
await some();
const noticedAhead = await becomes(503);
await some();
jumping.set(-jumpMs);
await some();
jumping.set(0);
const readyAgain = await becomes(200);
await some();

const open = async (): Promise<number> => {
  const { body } = await call(port, 'GET', '/account');
  return body.reservedWithdrawalCents;
};
const began = performance.now();
while ((await open()) > 0 && performance.now() - began < 90_000) await sleep(250);
const account = (await call(port, 'GET', '/account')).body;
const truth = (await http('GET', `http://127.0.0.1:${simulatorPort}/control/state`)).body;
const verified = await command<{ ok: boolean }>(['verify', '--full'], env);
const agrees =
  readyAtFirst &&
  noticedAhead &&
  readyAgain &&
  answers['201'] === orders.length &&
  account.reservedWithdrawalCents === 0 &&
  account.balanceCents === amountCents - orders.length * 1000 &&
  truth.payouts.length === orders.length &&
  truth.payouts.every((one: { timesAccepted: number }) => one.timesAccepted === 1) &&
  verified.code === 0;
console.log(
  JSON.stringify(
    {
      agrees,
      readyz: { atFirst: readyAtFirst, failsWhileWrong: noticedAhead, again: readyAgain },
      transfers: orders.length,
      answers,
      sentTwice: truth.payouts.filter((one: { timesReceived: number }) => one.timesReceived > 1).length,
      balanceCents: account.balanceCents,
      settledAfterMs: Math.round(performance.now() - began),
      verify: verified.code,
      verifySaid: verified.code === 0 ? '' : verified.text.slice(0, 2_000),
    },
    null,
    2,
  ),
);
for (const one of [api, ...workers, main]) one.signal('SIGTERM');
await Promise.all([api, ...workers, main].map((one) => one.exited()));
if (agrees) rmSync(root, { recursive: true, force: true });
else console.error(`kept: ${root}`);
process.exit(agrees ? 0 : 1);
