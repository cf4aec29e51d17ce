import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { finish, run } from '@vintem/testkit/command.ts';
import { freePort } from '@vintem/testkit/free-port.ts';
import type { FromAttackers, Targets } from './attackers.ts';

/**
 * Attacks a running service anonymously and as a merchant, over loopback, while a well-behaved client measures.
 *
 * Rules. (1) The p99 of the client stays below 1 s, or below ten times its value without attack in the same run, if that is more: a
 * quiet machine has some 10 ms, so the second bound matters only on a machine that is already loaded. (2) The
 * largest memory of the service during the attack is at most 1.5 times the largest before it, both while the client works. (3) Some
 * time after the attack, with the attackers' connections still open on their side, the service has no more descriptors than before it, apart
 * from the client pools. (4) The provider's webhook reports every paid charge within ten seconds. (5) No answer to
 * the client is a 5xx, and no attack causes an unexpected error (500). (6) `verify --full` is clean.
 */
export interface Abused {
  minutes: number;
  before: Measured;
  during: Measured;
  limitMs: number;
  /** Bytes. */
  memoryBefore: number;
  memoryMost: number;
  descriptorsBefore: number;
  descriptorsMost: number;
  descriptorsAfter: number;
  attacks: Record<string, { done: number; statuses: Record<string, number> }>;
  loadAverage: number;
  faults: string[];
}

interface Measured {
  calls: number;
  p50Ms: number;
  p99Ms: number;
  slowestMs: number;
  /** Charges that were paid and told of. */
  paid: number;
  slowestPaidMs: number;
}

const bearableMs = 1_000;
const worsening = 10;
const memoryTimes = 1.5;
/** Connections to the database and of idle keep-alive clients come and go. */
const descriptorsSpare = 25;
/** A stream that takes nothing is let go after 75 s. */
const lettingGoMs = 100_000;
const paidWithinMs = 10_000;

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

export async function abuse({
  minutes,
  say,
}: {
  minutes: number;
  say: (line: string) => void;
}): Promise<Abused> {
  const dataDir = await mkdtemp(join(tmpdir(), 'vintem-abuse-'));
  // As root the database runs as another user, who has to pass through.
  await chmod(dataDir, 0o711);
  const [port, simulatorPort] = [await freePort(), await freePort()];
  const env = { DATA_DIR: dataDir, PORT: `${port}`, SIMULATOR_PORT: `${simulatorPort}`, LOG_LEVEL: 'error' };
  const program = run(['start'], env);
  try {
    await program.line('vintem ready ');
    const url = `http://127.0.0.1:${port}`;
    const targets = await targetsOf(url, program.stdout());
    const client = wellBehaved(targets, `http://127.0.0.1:${simulatorPort}`);
    const process = watch(program.pid);
    // What is compiled, cached and reserved for the first requests is no growth: the calls of the attack, in their right form and at full speed.
    await warmUp(targets, 15_000);
    await client.run(5_000);
    say('measuring without attack');
    process.reset();
    const before = await client.run(Math.min(30_000, minutes * 15_000));
    const memoryBefore = process.memoryMost();
    const descriptorsBefore = process.descriptors();
    const loadAverage = loadavg()[0] ?? 0;

    say(`attacking for ${minutes} minutes`);
    process.reset();
    const attackers = new Worker(new URL('./attackers.ts', import.meta.url), { workerData: targets });
    const attacks: Abused['attacks'] = {};
    const stopped = new Promise<void>((resolve, reject) => {
      attackers.once('error', reject);
      attackers.on('message', (message: FromAttackers) => {
        if ('stopped' in message) return resolve();
        const { attack, done, statuses } = message;
        attacks[attack] = { done, statuses };
      });
    });
    const during = await client.run(minutes * 60_000);
    const memoryMost = process.memoryMost();
    const descriptorsMost = process.descriptorsMost();
    attackers.postMessage('stop');
    await stopped;

    say('waiting for connections to be let go');
    const deadline = Date.now() + lettingGoMs;
    while (process.descriptors() > descriptorsBefore + descriptorsSpare && Date.now() < deadline)
      await sleep(500);
    const descriptorsAfter = process.descriptors();
    attackers.postMessage('close');
    process.stop();

    const verified = await finish(['verify', '--full', '--json'], env);
    const limitMs = Math.max(bearableMs, worsening * before.p99Ms);
    const result: Abused = {
      minutes,
      before,
      during,
      limitMs,
      memoryBefore,
      memoryMost,
      descriptorsBefore,
      descriptorsMost,
      descriptorsAfter,
      attacks,
      loadAverage,
      faults: [],
    };
    result.faults = [
      ...client.faults,
      ...(during.p99Ms > limitMs ? [`p99 ${during.p99Ms} ms, at most ${limitMs} wanted`] : []),
      ...(memoryMost > memoryTimes * memoryBefore
        ? [`memory ${mega(memoryMost)} MB from ${mega(memoryBefore)} MB`]
        : []),
      ...(descriptorsAfter > descriptorsBefore + descriptorsSpare
        ? [`${descriptorsAfter} descriptors are left, ${descriptorsBefore} before`]
        : []),
      ...program
        .stderr()
        .split('\n')
        .filter((line) => line.includes('a request failed'))
        .slice(0, 10),
      ...(verified.code === 0
        ? []
        : [`verify --full ended with ${verified.code}: ${verified.stdout.slice(0, 500)}`]),
    ];
    return result;
  } finally {
    program.kill('SIGTERM');
    await program.exit;
    await rm(dataDir, { recursive: true, force: true });
  }
}

export const mega = (bytes: number): number => Math.round(bytes / 1024 / 1024);

async function targetsOf(url: string, printed: string): Promise<Targets> {
  const key = /vintem test key (\S+)/.exec(printed)?.[1] ?? '';
  const account = await fetch(`${url}/api/v1/public/operations`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const { ownerId, operations } = (await account.json()) as { ownerId: string; operations: { id: string }[] };
  const [, email = '', password = ''] = /e-mail (\S+) password (\S+)/.exec(printed) ?? [];
  const signIn = await fetch(`${url}/panel/api/auth/sign-in/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url },
    body: JSON.stringify({ email, password }),
  });
  if (!signIn.ok) throw new Error(`the owner of the test account cannot sign in: ${signIn.status}`);
  const cookie = signIn.headers
    .getSetCookie()
    .map((one) => one.split(';', 1)[0])
    .join('; ');
  const session = await fetch(`${url}/panel/api/session`, { headers: { cookie } });
  const { csrf } = (await session.json()) as { csrf: string };
  return { url, key, accountId: ownerId, operationId: operations[0]?.id ?? '', cookie, csrf };
}

/** Eight at once, as fast as they are answered. */
async function warmUp(targets: Targets, ms: number): Promise<void> {
  const { url, key, cookie, accountId, operationId } = targets;
  const until = performance.now() + ms;
  const headers = { authorization: `Bearer ${key}`, cookie };
  const own = `/panel/api/accounts/${accountId}`;
  const paths = [
    '/api/v1/public/account',
    '/api/v1/public/payments?limit=100',
    `${own}/records?search=a&limit=100`,
    `${own}/records.csv`,
    `${own}/statement.csv?operationId=${operationId}`,
    '/',
  ];
  const read = async (from: number) => {
    for (let n = from; performance.now() < until; n++) {
      const answer = await fetch(url + paths[n % paths.length], { headers });
      await answer.arrayBuffer();
    }
  };
  // A wrong password costs what a right one costs; fewer than the ten after which an address is refused.
  const signIn = async () => {
    for (let n = 0; n < 2; n++) {
      const answer = await fetch(`${url}/panel/api/auth/sign-in/email`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: url },
        body: JSON.stringify({ email: 'ninguem@loja.example', password: 'girafa azul de patins' }),
      });
      await answer.arrayBuffer();
    }
  };
  await Promise.all([...Array.from({ length: 8 }, (_, n) => read(n)), ...Array.from({ length: 4 }, signIn)]);
}

/** Reads ten times a second. Once a second it creates a charge, pays it at the provider and waits until the webhook has reported it. */
function wellBehaved({ url, key }: Targets, simulatorUrl: string) {
  const faults: string[] = [];
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  let times: number[] = [];
  let paidTimes: number[] = [];

  async function call(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ status: number; body: unknown }> {
    const began = performance.now();
    const answer = await fetch(`${url}/api/v1/public${path}`, {
      method,
      headers,
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const got = (await answer.json()) as unknown;
    times.push(performance.now() - began);
    if (answer.status >= 500) faults.push(`${method} ${path} answered ${answer.status}`);
    return { status: answer.status, body: got };
  }

  async function pay(): Promise<void> {
    const charge = {
      amountCents: 1000,
      payerName: 'Maria',
      description: '',
      requestKey: crypto.randomUUID(),
    };
    const { status, body } = await call('POST', '/pix/charges', charge);
    // The attackers use the same key: its limits are theirs too.
    if (status !== 201) return;
    const { id } = body as { id: string };
    const began = performance.now();
    await fetch(`${simulatorUrl}/control/charges/${id.replaceAll('-', '')}/pay`, { method: 'POST' });
    for (;;) {
      const { body: now } = await call('GET', `/payments/${id}`);
      if ((now as { status?: string }).status === 'paid') break;
      if (performance.now() - began > paidWithinMs) {
        faults.push(`charge ${id} was paid and not told of within ${paidWithinMs} ms`);
        return;
      }
      await sleep(100);
    }
    paidTimes.push(performance.now() - began);
  }

  const every = async (ms: number, until: number, work: () => Promise<unknown>): Promise<void> => {
    while (performance.now() < until) {
      const began = performance.now();
      await work().catch((error: Error) => faults.push(`no answer: ${error.message}`));
      await sleep(Math.max(0, ms - (performance.now() - began)));
    }
  };

  return {
    faults,
    async run(ms: number): Promise<Measured> {
      [times, paidTimes] = [[], []];
      const until = performance.now() + ms;
      await Promise.all([every(100, until, () => call('GET', '/account')), every(1000, until, pay)]);
      const sorted = times.toSorted((a, b) => a - b);
      const at = (part: number) => Math.round(sorted[Math.floor(part * (sorted.length - 1))] ?? 0);
      return {
        calls: times.length,
        p50Ms: at(0.5),
        p99Ms: at(0.99),
        slowestMs: at(1),
        paid: paidTimes.length,
        slowestPaidMs: Math.round(Math.max(0, ...paidTimes)),
      };
    },
  };
}

/** Memory and descriptors of a process, four times a second, from Linux' /proc. */
function watch(pid: number) {
  let [memory, memoryMost, descriptors, descriptorsMost] = [0, 0, 0, 0];
  const look = async () => {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    memory = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024;
    memoryMost = Math.max(memoryMost, memory);
    descriptors = (await readdir(`/proc/${pid}/fd`).catch(() => [])).length;
    descriptorsMost = Math.max(descriptorsMost, descriptors);
  };
  const timer = setInterval(() => void look(), 250);
  return {
    reset: () => {
      [memoryMost, descriptorsMost] = [0, 0];
    },
    memoryMost: () => memoryMost,
    descriptors: () => descriptors,
    descriptorsMost: () => descriptorsMost,
    stop: () => clearInterval(timer),
  };
}

if (import.meta.main) {
  const { numbersGiven } = await import('../flags.ts');
  const done = await abuse({ ...numbersGiven({ minutes: 2 }), say: console.log });
  console.log(JSON.stringify(done, null, 2));
  process.exitCode = done.faults.length > 0 ? 1 : 0;
}
