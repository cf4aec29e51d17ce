import { type ChildProcess, fork } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { loadavg, setPriority } from 'node:os';
import { parseArgs } from 'node:util';
import { finish } from '@vintem/testkit/command.ts';
import pg from 'pg';
import { Agent, fetch } from 'undici';
import { findEmbedded } from '../../server/src/store/database/embedded.ts';
import { type StorageKind, storageBudgets } from '../../server/src/store/database/storage-budget.ts';
import type { Counted, FromAttackers, Targets } from './attack.ts';
import { limitsPassed } from './limits.ts';
import { type Measured, measuredOf, payingMerchants } from './paying.ts';
import { openStand, type Shape, type Stand } from './stand.ts';

/**
 * Attacks the whole program, anonymously and as a merchant with people and programs, beside two merchants that pay and are paid.
 *
 * Rules. (1) The p99 of the paying merchants is at most three times that of the same run without attack, measured before and after it. (2) No
 * answer to them is an error but one that asks to come back, which counts in their time; what was acknowledged to them comes to its end. (3) No attack gets
 * through more often than its limit (`limits.ts`), and what it stores stays in its budget. (4) The largest memory of the service during the attack is at most
 * 1.5 times the largest before it. (5) Some time after the attack, with the attackers' connections still open on their side, the service has no more
 * descriptors than before it, apart from the client pools. (6) No attack causes an unexpected error. (7) `verify --full` is clean.
 */
export const shapes: readonly Shape[] = ['one', 'apart'];

export interface Abused {
  shape: Shape;
  minutes: number;
  without: Measured;
  during: Measured;
  limitMs: number;
  /** Bytes. */
  memoryBefore: number;
  memoryMost: number;
  descriptorsBefore: number;
  descriptorsMost: number;
  descriptorsAfter: number;
  acknowledged: number;
  missing: number;
  attacks: Record<string, Counted>;
  /** Bytes that the attacking account stored, by budget. */
  stored: Partial<Record<StorageKind, number>>;
  loadAverage: number;
  faults: string[];
}

const worsening = 3;
/** Below it a ratio says nothing: on a quiet machine the p99 without attack is some 10 ms. */
const unfeltMs = 150;
const memoryTimes = 1.5;
/** Connections to the database and of idle keep-alive clients come and go. */
const descriptorsSpare = 25;
/** A stream that takes nothing is let go after 75 s. */
const lettingGoMs = 100_000;
const settlingMs = 60_000;

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** @param minutes of the attack; the time without it is half as long, before and after, and at most two minutes */
export async function abuse({
  shape,
  minutes,
  say,
}: {
  shape: Shape;
  minutes: number;
  say: (line: string) => void;
}): Promise<Abused> {
  const quietMs = Math.min(60_000, minutes * 15_000);
  const stand = await openStand(shape);
  let attackers: ChildProcess | undefined;
  try {
    const merchants = payingMerchants(stand);
    const watched = watch(stand.pid);
    // Compiled code, caches and reserves of the first requests are no growth: the calls of the attack, in their right form and at full speed.
    await warmUp(stand.targets, 15_000);
    await merchants.begin();
    await merchants.run(5_000);
    merchants.faults.length = 0;
    say(`${shape}: measuring without attack`);
    watched.reset();
    const before = await merchants.run(quietMs);
    const memoryBefore = watched.memoryMost();
    const descriptorsBefore = watched.descriptors();
    const loadAverage = loadavg()[0] ?? 0;

    say(`${shape}: attacking for ${minutes} minutes`);
    watched.reset();
    attackers = beginAttack(stand.targets);
    const times = await merchants.run(minutes * 60_000);
    const memoryMost = watched.memoryMost();
    const descriptorsMost = watched.descriptorsMost();
    const attacks = await endAttack(attackers);

    say(`${shape}: waiting for connections to be let go`);
    const deadline = Date.now() + lettingGoMs;
    while (watched.descriptors() > descriptorsBefore + descriptorsSpare && Date.now() < deadline)
      await sleep(500);
    const descriptorsAfter = watched.descriptors();
    attackers.send('close');
    const after = await merchants.run(quietMs);
    watched.stop();

    const opened = await openedByReader(stand);
    const missing = await merchants.missing(settlingMs);
    const stored = await storedBy(stand.dataDir, stand.targets.accountId);
    const verified = await finish(['verify', '--full', '--json'], stand.env);
    const without = measuredOf(before, after);
    const during = measuredOf(times);
    const limitMs = Math.max(unfeltMs, worsening * without.p99Ms);
    const seconds = minutes * 60;
    return {
      shape,
      minutes,
      without,
      during,
      limitMs,
      memoryBefore,
      memoryMost,
      descriptorsBefore,
      descriptorsMost,
      descriptorsAfter,
      acknowledged: merchants.acknowledged(),
      missing: missing.length,
      attacks,
      stored,
      loadAverage,
      faults: [
        ...merchants.faults.slice(0, 20),
        ...missing.map((one) => `acknowledged and missing: ${one}`).slice(0, 20),
        ...limitsPassed(attacks, seconds),
        ...budgetsPassed(stored, seconds),
        ...opened.map((one) => `L3: ${one}`),
        ...(during.p99Ms > limitMs ? [`p99 ${during.p99Ms} ms, at most ${limitMs} wanted`] : []),
        ...(memoryMost > memoryTimes * memoryBefore
          ? [`memory ${mega(memoryMost)} MB from ${mega(memoryBefore)} MB`]
          : []),
        ...(descriptorsAfter > descriptorsBefore + descriptorsSpare
          ? [`${descriptorsAfter} descriptors are left, ${descriptorsBefore} before`]
          : []),
        ...stand
          .complaints()
          .filter((line) => line.includes('a request failed'))
          .slice(0, 10),
        ...(verified.code === 0
          ? []
          : [`verify --full ended with ${verified.code}: ${verified.stdout.slice(0, 500)}`]),
      ],
    };
  } finally {
    attackers?.kill('SIGKILL');
    await stand.end();
    await stand.remove();
  }
}

const mega = (bytes: number): number => Math.round(bytes / 1024 / 1024);

/** In one line. */
export function figuresOf(done: Abused): string {
  const { without, during } = done;
  const times = Object.values(done.attacks).reduce((sum, one) => sum + one.done, 0);
  return `${times} attacks of ${Object.keys(done.attacks).length} kinds; paying merchants p50 ${without.p50Ms} ms and p99 ${without.p99Ms} ms without, ${during.p50Ms} and ${during.p99Ms} with them (at most ${done.limitMs}); ${done.acknowledged} payments acknowledged, ${done.missing} missing; memory ${mega(done.memoryBefore)} MB, at most ${mega(done.memoryMost)}; descriptors ${done.descriptorsBefore}, at most ${done.descriptorsMost}, ${done.descriptorsAfter} at the end`;
}

function beginAttack(targets: Targets): ChildProcess {
  const child = fork(new URL('./attackers.ts', import.meta.url), {
    env: { PATH: process.env.PATH, ABUSE_TARGETS: JSON.stringify(targets) },
  });
  // They have machines of their own: what is measured is not how much processor they take from the service.
  setPriority(child.pid as number, 15);
  return child;
}

const endAttack = (child: ChildProcess): Promise<Record<string, Counted>> =>
  new Promise((resolve, reject) => {
    const attacks: Record<string, Counted> = {};
    child.once('exit', (code) => reject(new Error(`the attackers ended with ${code}`)));
    child.on('message', (message: FromAttackers) => {
      if ('stopped' in message) resolve(attacks);
      else attacks[message.attack] = message.counted;
    });
    child.send('stop');
  });

/** The attacking account's stored rows that have a budget, by the columns that callers decide. */
async function storedBy(dataDir: string, accountId: string): Promise<Abused['stored']> {
  const client = new pg.Client({ connectionString: (await findEmbedded(dataDir)) ?? '' });
  await client.connect();
  try {
    const { rows: kinds } = await client.query<{ kind: StorageKind; bytes: string }>(
      `SELECT CASE WHEN status >= 400 THEN 'refused-requests' WHEN method IN ('GET', 'HEAD') THEN 'reading-requests'
          ELSE 'changing-requests' END AS kind, sum(pg_column_size(r.*)) AS bytes
        FROM vintem.request_log r WHERE account_id = $1 GROUP BY 1`,
      [accountId],
    );
    const { rows: answers } = await client.query<{ bytes: string }>(
      `SELECT coalesce(sum(greatest(0, octet_length(a ->> 'responseSnippet') - 64)), 0) AS bytes
        FROM vintem.webhook_delivery d, jsonb_array_elements(d.attempts) a WHERE d.account_id = $1`,
      [accountId],
    );
    return {
      ...Object.fromEntries(kinds.map(({ kind, bytes }) => [kind, Number(bytes)])),
      answers: Number(answers[0]?.bytes),
    };
  } finally {
    await client.end();
  }
}

/** A reader of the database tries what stands there as the token of a mailed link (`victims.ts` asked for one). @returns what opened */
async function openedByReader({ dataDir, targets }: Stand): Promise<string[]> {
  const client = new pg.Client({ connectionString: (await findEmbedded(dataDir)) ?? '' });
  await client.connect();
  const { rows } = await client.query<{ identifier: string }>(
    `SELECT identifier FROM vintem.panel_verification WHERE value = (SELECT id::text FROM vintem.panel_user WHERE email = $1)`,
    [targets.victims.guarded.email],
  );
  await client.end();
  if (rows.length === 0) return ['no link is stored'];
  // An address of its own: its tries are looked at.
  const dispatcher = new Agent({ localAddress: '127.0.0.47' });
  const opened: string[] = [];
  for (const { identifier } of rows.slice(0, 10)) {
    const token = identifier.replace('reset-password:', '');
    const answer = await fetch(`${targets.url}/panel/api/auth/reset-password`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: targets.origin, 'x-rig-address': '192.0.2.47' },
      body: JSON.stringify({ token, newPassword: 'quatro palavras sem ligação' }),
      dispatcher,
    });
    if (answer.status !== 400)
      opened.push(`a token that was read in the database was answered ${answer.status}`);
  }
  await dispatcher.close();
  return opened;
}

function budgetsPassed(stored: Abused['stored'], seconds: number): string[] {
  return Object.entries(stored).flatMap(([kind, bytes]) => {
    const { bytes: atOnce, perSecond } = storageBudgets[kind as StorageKind];
    const most = atOnce + perSecond * (seconds + 120);
    return bytes > most ? [`${kind}: ${bytes} bytes are stored, at most ${most} are allowed`] : [];
  });
}

/** Eight at once, as fast as they are answered. */
async function warmUp(targets: Targets, ms: number): Promise<void> {
  const { url, origin, key, cookie, accountId, operationId, victims } = targets;
  const today = new Date().toISOString().slice(0, 10);
  const until = performance.now() + ms;
  const headers = { authorization: `Bearer ${key}`, cookie };
  const own = `/panel/api/accounts/${accountId}`;
  const paths = [
    '/api/v1/public/account',
    '/api/v1/public/payments?limit=100',
    `${own}/records?search=a&limit=100`,
    `${own}/records.csv`,
    `${own}/statement.csv?operationId=${operationId}`,
    `${own}/statement.pdf?operationId=${operationId}&from=${today}&to=${today}`,
    new URL(victims.linkUrl).pathname,
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
        headers: { 'content-type': 'application/json', origin },
        body: JSON.stringify({ email: 'ninguem@loja.example', password: 'girafa azul de patins' }),
      });
      await answer.arrayBuffer();
    }
  };
  await Promise.all([...Array.from({ length: 8 }, (_, n) => read(n)), ...Array.from({ length: 4 }, signIn)]);
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
  const { values } = parseArgs({
    options: { minutes: { type: 'string', default: '2' }, shape: { type: 'string' } },
  });
  const wanted = shapes.filter((shape) => values.shape === undefined || shape === values.shape);
  const minutes = Number(values.minutes) / wanted.length;
  for (const shape of wanted) {
    const done = await abuse({ shape, minutes, say: console.log });
    console.log(JSON.stringify(done, null, 2));
    if (done.faults.length > 0) process.exitCode = 1;
  }
}
