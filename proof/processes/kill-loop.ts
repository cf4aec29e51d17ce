import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Random, random } from '../simulation/random.ts';
import { checkHistory } from './check-history.ts';
import { type Entry, type Final, historyIn, type Truth } from './history.ts';

/**
 * Kill loops on the real program: `vintem start` under load, and in the middle of it kill -9 of the service, of PostgreSQL
 * or of everything, or a service that stands still longer than its leases. Clients record what they saw; a checker
 * that knows nothing of the inside compares it with the provider's truth and the data at the end.
 */
export interface KillFigures {
  loops: number;
  kills: Record<string, number>;
  calls: number;
  unanswered: number;
  acknowledged: number;
  missing: number;
  faults: string[];
  /** From a death to the first answer, ms. */
  servingAfterMs: number[];
  seconds: number;
}

const entry = fileURLToPath(new URL('../../server/src/launch.js', import.meta.url));
const base = '/api/v1/public';
const behaviours = [
  'complete',
  'complete',
  'lose-answer',
  'hang',
  'refuse-later',
  'refuse-in-answer',
  'error-500-after-accepting',
  'garbage',
];
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export async function killLoop(options: {
  seed: number;
  loops: number;
  clients: number;
  say(line: string): void;
}): Promise<KillFigures> {
  const began = performance.now();
  const chance = random(options.seed);
  const dataDir = await mkdtemp(join(tmpdir(), 'vintem-kill-'));
  await chmod(dataDir, 0o711);
  const [port, simulatorPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const simulatorUrl = `http://127.0.0.1:${simulatorPort}`;
  const historyPath = join(dataDir, 'history.ndjson');
  writeFileSync(historyPath, '');
  const history = historyIn(historyPath);
  const figures: KillFigures = {
    loops: 0,
    kills: {},
    calls: 0,
    unanswered: 0,
    acknowledged: 0,
    missing: 0,
    faults: [],
    servingAfterMs: [],
    seconds: 0,
  };
  let child: ChildProcess | null = null;
  let output = '';

  async function start(): Promise<void> {
    const env = {
      ...process.env,
      DATA_DIR: dataDir,
      PORT: `${port}`,
      SIMULATOR_PORT: `${simulatorPort}`,
      RATE_LIMITS: 'off',
      LOG_LEVEL: 'error',
    };
    const started = spawn(process.execPath, [entry, 'start'], {
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
      env,
    });
    child = started;
    await new Promise<void>((resolve, reject) => {
      let own = '';
      started.stdout?.setEncoding('utf8').on('data', (text: string) => {
        own += text;
        output += text;
        if (own.includes('vintem ready ')) resolve();
      });
      started.once('exit', (code) => reject(new Error(`the program ended with ${code}`)));
    });
  }

  const postmaster = (): number | null => {
    try {
      const { cluster } = JSON.parse(readFileSync(join(dataDir, 'postgres.json'), 'utf8'));
      return Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0]);
    } catch {
      return null;
    }
  };
  const signal = (pid: number | null | undefined, name: NodeJS.Signals): void => {
    try {
      if (pid) process.kill(pid, name);
    } catch {
      // It is gone already.
    }
  };

  const dies = () => {
    if (child?.pid) signal(-child.pid, 'SIGKILL');
    signal(postmaster(), 'SIGKILL');
    process.exit(130);
  };
  process.once('SIGTERM', dies).once('SIGINT', dies);
  try {
    await start();
    const key = /vintem test key (vtm_test_\S+)/.exec(output)?.[1] ?? '';
    const call = callWith(url, key);
    const main = (await call('GET', '/account')).body?.operationId as string;
    const second = (await call('POST', '/operations', { name: 'Segunda', requestKey: crypto.randomUUID() }))
      .body?.id as string;
    const operations = [main, second];
    for (const operationId of operations)
      for (let time = 0; time < 3; time++) {
        const charge = await call(
          'POST',
          '/pix/charges',
          { amountCents: 200_000, payerName: 'Maria', requestKey: crypto.randomUUID() },
          operationId,
        );
        await control(
          simulatorUrl,
          'POST',
          `/control/charges/${String(charge.body?.id).replaceAll('-', '')}/pay`,
        );
      }

    let stopping = false;
    const clients = Array.from({ length: options.clients }, (_, client) =>
      client_(client, random(options.seed * 1000 + client)),
    );
    async function client_(client: number, own: Random): Promise<void> {
      const open: Entry[] = [];
      while (!stopping) {
        const operationId = own.pick(operations);
        const what = own.below(10);
        const again = open.length > 0 && what < 3 ? own.pick(open) : null;
        if (what === 9) await record(client, 'account', operationId, null, null);
        else if (what === 8 && open.some(({ paymentId }) => paymentId)) {
          const one = own.pick(open.filter(({ paymentId }) => paymentId));
          await record(client, 'payment', one.operationId, one.requestKey, one.paymentId);
        } else {
          const entry = await record(
            client,
            'transfer',
            again?.operationId ?? operationId,
            again?.requestKey ?? crypto.randomUUID(),
            null,
          );
          if (again) again.paymentId ??= entry.paymentId;
          else open.push(entry);
        }
      }
      // The client does as it is told: what had no answer is repeated with the same key.
      for (const entry of open) {
        if (entry.paymentId !== null) continue;
        for (let tries = 0; tries < 20; tries++) {
          const repeated = await record(client, 'transfer', entry.operationId, entry.requestKey, null);
          if (repeated.result !== 'info' && repeated.status !== 503) break;
          await pause(500);
        }
      }
    }

    async function record(
      client: number,
      what: Entry['call'],
      operationId: string,
      requestKey: string | null,
      paymentId: string | null,
    ): Promise<Entry> {
      const invokedAt = Date.now();
      const entry: Entry = {
        client,
        invokedAt,
        returnedAt: null,
        call: what,
        operationId,
        requestKey,
        paymentId,
        amountCents: null,
        result: 'info',
        status: null,
        says: null,
        balanceCents: null,
      };
      try {
        let answer: Answer;
        if (what === 'transfer') {
          // The behaviour is a function of the key, so that a repeat asks for the same.
          const behaviour =
            behaviours[Number.parseInt((requestKey ?? '0').slice(0, 4), 16) % behaviours.length];
          const pixKey = `${behaviour}@simulator.example`;
          entry.amountCents = 1_000;
          answer = await call(
            'POST',
            '/pix/transfers',
            { amountCents: 1_000, pixKey, pixKeyType: 'EMAIL', description: '', requestKey },
            operationId,
          );
        } else if (what === 'payment')
          answer = await call('GET', `/payments/${paymentId}`, undefined, operationId);
        else answer = await call('GET', '/account', undefined, operationId);
        const { status, body } = answer;
        entry.returnedAt = Date.now();
        entry.status = status;
        entry.result = status < 300 ? 'ok' : status >= 500 ? 'info' : 'fail';
        entry.says = ((status < 300 ? body?.status : body?.code) as string) ?? null;
        entry.paymentId = ((status < 300 ? body?.id : body?.paymentId) as string) ?? paymentId;
        entry.balanceCents = what === 'account' && status < 300 ? (body?.balanceCents as number) : null;
      } catch {
        await pause(50);
      }
      history.add(entry);
      figures.calls++;
      if (entry.result === 'info') figures.unanswered++;
      if (entry.result === 'ok' && entry.paymentId) figures.acknowledged++;
      return entry;
    }

    for (let loop = 0; loop < options.loops; loop++) {
      await pause(300 + chance.below(1_500));
      const how = chance.pick(['everything', 'service', 'database', 'stop'] as const);
      figures.kills[how] = (figures.kills[how] ?? 0) + 1;
      const died = performance.now();
      const pid = (child as ChildProcess | null)?.pid;
      const server = postmaster();
      if (how === 'stop') {
        signal(pid, 'SIGSTOP');
        await pause(17_000);
        signal(pid, 'SIGCONT');
      } else {
        const gone = new Promise<void>((resolve) =>
          how === 'database' ? resolve() : (child as ChildProcess | null)?.once('exit', () => resolve()),
        );
        if (how === 'everything' && pid) signal(-pid, 'SIGKILL');
        if (how === 'service') signal(pid, 'SIGKILL');
        if (how !== 'service') signal(server, 'SIGKILL');
        await gone;
        if (how !== 'database') await start();
      }
      for (;;) {
        const answer = await call('GET', '/account').catch(() => null);
        if (answer?.status === 200) break;
        await pause(50);
      }
      if (how !== 'stop') figures.servingAfterMs.push(Math.round(performance.now() - died));
      figures.loops++;
      options.say(
        `loop ${loop + 1}: ${how}, ${figures.calls} calls, serving after ${Math.round(performance.now() - died)} ms`,
      );
    }
    stopping = true;
    await Promise.all(clients);

    // At rest: what is open at the provider is decided, and everything ends.
    let final: Final = { operations: [], payments: [] };
    const deadline = Date.now() + 150_000;
    for (;;) {
      const truth = (await control(simulatorUrl, 'GET', '/control/state')) as unknown as Truth;
      for (const { idEnvio, status } of truth.payouts)
        if (status === 'pending')
          await control(simulatorUrl, 'POST', `/control/payouts/${idEnvio}/complete`).catch(() => {});
      final = await finalOf(call, operations);
      if (final.payments.every(({ status }) => status !== 'unknown' && status !== 'pending')) break;
      if (Date.now() > deadline) {
        figures.faults.push('not everything came to an end within 150 s');
        break;
      }
      await pause(1_000);
    }
    const truth = (await control(simulatorUrl, 'GET', '/control/state')) as unknown as Truth;
    writeFileSync(join(dataDir, 'truth.json'), JSON.stringify(truth));
    writeFileSync(join(dataDir, 'final.json'), JSON.stringify(final));
    const entries = readFileSync(historyPath, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Entry);
    figures.faults.push(...checkHistory(entries, truth, final));
    figures.missing = figures.faults.filter((fault) => fault.includes('is gone')).length;
    const verified = spawnSync(process.execPath, [entry, 'verify', '--full', '--json'], {
      env: { ...process.env, DATA_DIR: dataDir, PORT: `${port}`, SIMULATOR_PORT: `${simulatorPort}` },
      encoding: 'utf8',
    });
    if (verified.status === 3) figures.faults.push(`verify: ${verified.stdout.slice(0, 2000)}`);
    else if (verified.status !== 0) options.say(`verify could not run: ${verified.stderr.slice(0, 300)}`);
  } finally {
    process.off('SIGTERM', dies).off('SIGINT', dies);
    const last = child as ChildProcess | null;
    const server = postmaster();
    if (last?.pid && last.exitCode === null) {
      last.kill('SIGTERM');
      await Promise.race([new Promise((resolve) => last.once('exit', resolve)), pause(10_000)]);
      signal(-last.pid, 'SIGKILL');
    }
    signal(server, 'SIGKILL');
    await rm(dataDir, { recursive: true, force: true });
  }
  figures.seconds = Math.round((performance.now() - began) / 1000);
  return figures;
}

async function finalOf(call: Call, operations: readonly string[]): Promise<Final> {
  const final: Final = { operations: [], payments: [] };
  for (const operationId of operations) {
    const account = (await call('GET', '/account', undefined, operationId)).body;
    final.operations.push({
      id: operationId,
      balanceCents: account?.balanceCents as number,
      reservedCents: account?.reservedWithdrawalCents as number,
    });
    for (let cursor: string | null = null; ; ) {
      const page: Answer = await call(
        'GET',
        `/payments?limit=100${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`,
        undefined,
        operationId,
      );
      const listed = page.body as unknown as {
        payments?: Final['payments'];
        data?: Final['payments'];
        nextCursor?: string | null;
      };
      final.payments.push(...(listed.payments ?? listed.data ?? []));
      if (!listed.nextCursor) break;
      cursor = listed.nextCursor;
    }
  }
  return final;
}

interface Answer {
  status: number;
  body: Record<string, unknown> | null;
}
type Call = (method: string, path: string, body?: object, operationId?: string) => Promise<Answer>;

const callWith =
  (url: string, key: string): Call =>
  async (method, path, body, operationId) => {
    const answer = await fetch(url + base + path, {
      method,
      signal: AbortSignal.timeout(15_000),
      headers: {
        authorization: `Bearer ${key}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...(operationId ? { 'x-service-operation': operationId } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
  };

async function control(url: string, method: string, path: string): Promise<Record<string, unknown>> {
  const answer = await fetch(url + path, { method, signal: AbortSignal.timeout(15_000) });
  return (await answer.json()) as Record<string, unknown>;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

if (import.meta.main) {
  const given = (name: string, otherwise: number): number => {
    const at = process.argv.indexOf(`--${name}`);
    return at === -1 ? otherwise : Number(process.argv[at + 1]);
  };
  const figures = await killLoop({
    seed: given('seed', 1),
    loops: given('loops', 4),
    clients: given('clients', 8),
    say: console.log,
  });
  console.log(JSON.stringify(figures));
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
