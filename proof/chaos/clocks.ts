import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@vintem/testkit/free-port.ts';
import { numbersGiven } from '../flags.ts';
import { command, http, newFolder, type Part, part, sleep } from './processes.ts';

/**
 * Processes whose wall clocks are wrong, jump while they work, or stand still.
 *
 *   node proof/chaos/clocks.ts [--seconds 40]
 *
 * 1. A service with the right time takes charges, reads and transfers under its rate limits. The provider sends no webhooks, so each payment
 *    is found by a follow-up. First alone, then beside an `api` and a worker an hour ahead, a worker an hour behind, an `api` whose clock
 *    is set forwards and backwards while it runs, and a worker and an `api` that are stopped for 30 s (SIGSTOP); callers of the same account
 *    look payments up at each `api` too. No request of the right one is refused, and no follow-up is later than alone by more than 5 s.
 * 2. An `api` whose clock jumps accepts transfers, which must be due at the right time. A process whose clock is off by more than two seconds
 *    is not ready and claims nothing. Every transfer is paid once.
 *
 * `vintem verify --full` is clean at the end. The clocks are wrong inside each process (`wrong-clock.js`), so that no other program is needed:
 * the database and the provider keep the right time. Exit code 1 when something does not agree.
 */
const { seconds } = numbersGiven({ seconds: 40 });
const root = await newFolder('clocks');
const logFile = join(root, 'log.jsonl');
const [port, apiPort, simulatorPort] = [await freePort(), await freePort(), await freePort()];
const env = {
  DATA_DIR: join(root, 'data'),
  PORT: String(port),
  SIMULATOR_PORT: String(simulatorPort),
  LOG_LEVEL: 'warn',
};
const main = part('start', { words: ['start'], env, ready: 'vintem ready', logFile });
await main.start();
const key = /vintem test key (\S+)/.exec(main.output())?.[1] ?? '';

const hourMs = 3_600_000;
const jumpMs = 30_000;
const simulatorUrl = `http://127.0.0.1:${simulatorPort}`;
const preload = fileURLToPath(new URL('wrong-clock.js', import.meta.url));
const wrongBy = (name: string, shiftMs: number) => {
  const file = join(root, name);
  writeFileSync(file, String(shiftMs));
  return {
    set: (ms: number) => writeFileSync(file, String(ms)),
    env: { ...env, NODE_OPTIONS: `--import ${preload}`, WRONG_CLOCK_FILE: file },
  };
};
const beside = (name: string, words: [string], at: number | null, given: Record<string, string>): Part =>
  part(name, {
    words,
    env: { ...given, TRANSFER_WAIT_MS: '0', ...(at === null ? {} : { PORT: String(at) }) },
    ready: `vintem ${words[0]} ready`,
    logFile,
  });
const jumping = wrongBy('jumping', 0);
const ahead = wrongBy('ahead', hourMs).env;
const behind = wrongBy('behind', -hourMs).env;
const [aheadPort, pausedPort] = [await freePort(), await freePort()];
const api = beside('api that jumps', ['api'], apiPort, jumping.env);
const aheadApi = beside('api ahead', ['api'], aheadPort, ahead);
const workers = [
  beside('worker ahead', ['worker'], null, ahead),
  beside('worker behind', ['worker'], null, behind),
];
const paused = [
  beside('paused worker', ['worker'], null, env),
  beside('paused api', ['api'], pausedPort, env),
];

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
await http('POST', `${simulatorUrl}/control/charges/${funded.body.id.replaceAll('-', '')}/pay`, {});
for (let n = 0; n < 100 && (await call(port, 'GET', '/account')).body.balanceCents !== amountCents; n++)
  await sleep(100);

// ------------------------------------------------------------------------------------------- 1. follow-ups and limits

interface Measured {
  requests: number;
  refused: Record<string, number>;
  /** From the payment at the provider until the service knows of it. */
  latenessMs: number[];
}

/** Two charges a second that are paid at once, reads of them at the service and, where there are some, at `others`. */
async function underLoad(others: readonly number[]): Promise<Measured> {
  const measured: Measured = { requests: 0, refused: {}, latenessMs: [] };
  const paidAt = new Map<string, number>();
  const until = performance.now() + seconds * 1000;
  const own = async (method: string, path: string, body?: unknown) => {
    const answer = await call(port, method, path, body);
    measured.requests++;
    if (answer.status >= 400) measured.refused[answer.status] = (measured.refused[answer.status] ?? 0) + 1;
    return answer;
  };
  const look = async (): Promise<void> => {
    // Lists refresh nothing: what they show was found by a follow-up.
    const { body } = await own('GET', '/payments?status=paid&limit=100');
    for (const { id } of body.payments ?? []) {
      const at = paidAt.get(id);
      if (at === undefined) continue;
      paidAt.delete(id);
      measured.latenessMs.push(Math.round(performance.now() - at));
    }
  };
  const disturb = async (): Promise<void> => {
    const ids = [...paidAt.keys()].slice(-3);
    await Promise.all(
      others.flatMap((at) =>
        ids.map((id) => Promise.race([call(at, 'GET', `/payments/${id}`).catch(() => {}), sleep(1_000)])),
      ),
    );
  };
  for (let turn = 0; performance.now() < until || paidAt.size > 0; turn++) {
    if (performance.now() > until + 60_000) break;
    const rested = sleep(250);
    if (turn % 2 === 0 && performance.now() < until) {
      const order = {
        amountCents: 1000,
        payerName: 'Maria',
        description: '',
        requestKey: crypto.randomUUID(),
      };
      const { body } = await own('POST', '/pix/charges', order);
      if (body.id) {
        await http('POST', `${simulatorUrl}/control/charges/${body.id.replaceAll('-', '')}/pay`, {});
        paidAt.set(body.id, performance.now());
      }
    }
    void disturb();
    await Promise.all([look(), rested]);
  }
  measured.latenessMs.push(...[...paidAt.values()].map((at) => Math.round(performance.now() - at)));
  measured.latenessMs.sort((one, other) => one - other);
  return measured;
}

const behaviour = (webhook: string) => http('PUT', `${simulatorUrl}/control/behaviour`, { webhook });
await behaviour('drop');
const alone = await underLoad([]);
await Promise.all([api, aheadApi, ...workers, ...paused].map((one) => one.start()));
const readyAhead = (await http('GET', `http://127.0.0.1:${aheadPort}/readyz`)).status;
const steps = (async () => {
  await sleep(3_000);
  for (const one of paused) one.signal('SIGSTOP');
  for (const shiftMs of [hourMs, -jumpMs, 0, jumpMs, -hourMs, 0]) {
    jumping.set(shiftMs);
    await sleep(5_000);
  }
  for (const one of paused) one.signal('SIGCONT');
})();
const besides = await underLoad([apiPort, aheadPort, pausedPort]);
await steps;
await behaviour('send');
const laterMs = (besides.latenessMs.at(-1) ?? 0) - (alone.latenessMs.at(-1) ?? 0);
const followUpsAgree =
  alone.latenessMs.length > 0 &&
  besides.latenessMs.length > 0 &&
  Object.keys(besides.refused).length === 0 &&
  laterMs <= 5_000 &&
  readyAhead === 503;
const figuresOf = ({ requests, refused, latenessMs }: Measured) => ({
  requests,
  refused,
  followUps: latenessMs.length,
  medianMs: latenessMs[latenessMs.length >> 1],
  slowestMs: latenessMs.at(-1),
});

// ---------------------------------------------------------------------------------------- 2. transfers of a jumping clock

const balanceBefore = (await call(port, 'GET', '/account')).body.balanceCents;
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
  followUpsAgree &&
  readyAtFirst &&
  noticedAhead &&
  readyAgain &&
  answers['201'] === orders.length &&
  account.reservedWithdrawalCents === 0 &&
  account.balanceCents === balanceBefore - orders.length * 1000 &&
  truth.payouts.length === orders.length &&
  truth.payouts.every((one: { timesAccepted: number }) => one.timesAccepted === 1) &&
  verified.code === 0;
console.log(
  JSON.stringify(
    {
      agrees,
      alone: figuresOf(alone),
      besideWrongClocks: figuresOf(besides),
      slowestLaterByMs: laterMs,
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
for (const one of [api, aheadApi, ...workers, ...paused, main]) one.signal('SIGTERM');
await Promise.all([api, aheadApi, ...workers, ...paused, main].map((one) => one.exited()));
if (agrees) rmSync(root, { recursive: true, force: true });
else console.error(`kept: ${root}`);
process.exit(agrees ? 0 : 1);
