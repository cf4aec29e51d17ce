import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@vintem/testkit/free-port.ts';
import { http, newFolder, part, percentile, sleep } from './processes.ts';

/**
 * A disk that is full, for real: the whole data folder on a tmpfs of a fixed size, filled to the last byte under traffic.
 *
 *   node proof/chaos/disk-full.ts          (as root: it mounts and unmounts)
 *
 * While the disk is full, a transfer gets 503 (or is accepted while a page still has room), `/readyz` answers 503 and `/healthz` 200.
 * Afterwards the service recovers by itself, each refused request key is free or holds its one payment, and `vintem verify --full` is clean.
 * Exit code 1 when not.
 */
const root = await newFolder('disk-full');
const dataDir = join(root, 'data');
mkdirSync(dataDir);
execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=700m,mode=0711', 'tmpfs', dataDir]);
const unmount = () => {
  try {
    execFileSync('umount', [dataDir]);
  } catch {
    execFileSync('umount', ['-l', dataDir]);
  }
};
process.once('exit', unmount);

const [port, simulatorPort] = [await freePort(), await freePort()];
const env = {
  DATA_DIR: dataDir,
  // The provider's truth is not ours to lose.
  SIMULATOR_STATE: join(root, 'simulator'),
  PORT: String(port),
  SIMULATOR_PORT: String(simulatorPort),
  RATE_LIMITS: 'off',
  LOG_LEVEL: 'warn',
};
const main = part('start', {
  words: ['start'],
  env,
  ready: 'vintem ready',
  logFile: join(root, 'log.jsonl'),
});
await main.start();
const key = /vintem test key (\S+)/.exec(main.output())?.[1] ?? '';
const base = `http://127.0.0.1:${port}`;
const call = (method: string, path: string, body?: unknown) =>
  http(method, `${base}/api/v1/public${path}`, body, { authorization: `Bearer ${key}` });
const status = async (path: string) => (await http('GET', base + path, undefined, {}, 5_000)).status;

const funded = await call('POST', '/pix/charges', {
  amountCents: 200_000,
  payerName: 'Maria',
  description: '',
  requestKey: crypto.randomUUID(),
});
await http(
  'POST',
  `http://127.0.0.1:${simulatorPort}/control/charges/${funded.body.id.replaceAll('-', '')}/pay`,
  {},
);
for (let n = 0; n < 100 && (await call('GET', '/account')).body.balanceCents !== 200_000; n++)
  await sleep(100);

const order = () => ({
  amountCents: 1000,
  pixKey: 'maria@loja.example',
  pixKeyType: 'EMAIL',
  description: '',
  requestKey: crypto.randomUUID(),
});
const orders: ReturnType<typeof order>[] = [];
const answers: string[] = [];
const tookMs: number[] = [];
async function ask(one: ReturnType<typeof order>): Promise<number> {
  const began = performance.now();
  const answer = await call('POST', '/pix/transfers', one);
  tookMs.push(performance.now() - began);
  answers.push(`${answer.status} ${answer.body?.code ?? ''}`.trim());
  return answer.status;
}
async function ten(): Promise<number[]> {
  const some = Array.from({ length: 10 }, order);
  orders.push(...some);
  return Promise.all(some.map(ask));
}
const before = await ten();

// To the last byte.
const ballast = join(dataDir, 'ballast');
const fill = () => {
  for (let size = 64 * 1024 * 1024; size >= 512; size >>= 1) {
    try {
      for (;;) writeFileSync(ballast, Buffer.alloc(size), { flag: 'a' });
    } catch {}
  }
};
fill();
const { bavail } = statfsSync(dataDir);
const [during, ready, live]: [number[], number[], number[]] = [[], [], []];
const fullSince = performance.now();
while (performance.now() - fullSince < 20_000 && orders.length < 120) {
  fill();
  during.push(...(await ten()));
  ready.push(await status('/readyz'));
  live.push(await status('/healthz'));
}
rmSync(ballast);
const freed = performance.now();
for (let n = 0; n < 600 && (await status('/readyz')) !== 200; n++) await sleep(100);
let again = 0;
for (let n = 0; n < 300 && again !== 201; n++) {
  again = (await ten()).every((one) => one === 201) ? 201 : 0;
  await sleep(100);
}
const recoveredMs = performance.now() - freed;

const ids = new Set<string>();
let kept = 0;
for (const one of orders) {
  const { status: code, body } = await call('POST', '/pix/transfers', one);
  if (code === 201) kept++;
  if (body?.id) ids.add(body.id);
}
for (let n = 0; n < 300 && (await call('GET', '/account')).body.reservedWithdrawalCents !== 0; n++)
  await sleep(200);
const account = (await call('GET', '/account')).body;
const truth = (await http('GET', `http://127.0.0.1:${simulatorPort}/control/state`)).body;
const { command } = await import('./processes.ts');
const verified = await command<{ ok: boolean }>(['verify', '--full'], env);
const agrees =
  ready.length > 0 &&
  ready.every((code) => code === 503) &&
  live.every((code) => code === 200) &&
  kept === orders.length &&
  ids.size === orders.length &&
  account.balanceCents === 200_000 - orders.length * 1000 &&
  account.reservedWithdrawalCents === 0 &&
  truth.payouts.every((one: { timesAccepted: number }) => one.timesAccepted === 1) &&
  truth.payouts.length === orders.length &&
  verified.code === 0;
const count = (of: (string | number)[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const one of of) counts[one] = (counts[one] ?? 0) + 1;
  return counts;
};
console.log(
  JSON.stringify(
    {
      agrees,
      bytesLeft: bavail * 4096,
      before: count(before),
      whileFull: { answers: count(during), readyz: count(ready), healthz: count(live) },
      answers: count(answers),
      latencyMs: { median: Math.round(percentile(tookMs, 0.5)), worst: Math.round(Math.max(...tookMs)) },
      recoveredMs: Math.round(recoveredMs),
      transfers: orders.length,
      balanceCents: account.balanceCents,
      verify: verified.code,
      verifySaid: verified.code === 0 ? '' : verified.text.slice(0, 2_000),
    },
    null,
    2,
  ),
);
main.signal('SIGTERM');
await main.exited();
unmount();
process.removeListener('exit', unmount);
if (agrees) rmSync(root, { recursive: true, force: true });
else console.error(`kept: ${root}`);
process.exit(agrees ? 0 : 1);
