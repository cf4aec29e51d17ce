import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@vintem/testkit/free-port.ts';
import { findPostmaster, killIfAlive } from '@vintem/testkit/processes.ts';
import pg from 'pg';
import { findEmbedded } from '../../server/src/store/database/embedded.ts';
import { numbersGiven } from '../flags.ts';
import { random } from '../simulation/random.ts';
import { callWith, fund, restAndCheck, startClients } from './clients.ts';

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
  cutConnections: number;
  /** From a death to the first answer, ms. */
  servingAfterMs: number[];
  seconds: number;
}

const entry = fileURLToPath(new URL('../../server/src/main/cli/launch.js', import.meta.url));
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
  const figures: KillFigures = {
    loops: 0,
    kills: {},
    calls: 0,
    unanswered: 0,
    acknowledged: 0,
    missing: 0,
    cutConnections: 0,
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

  const dies = () => {
    if (child?.pid) killIfAlive(-child.pid, 'SIGKILL');
    killIfAlive(findPostmaster(dataDir), 'SIGKILL');
    process.exit(130);
  };
  process.once('SIGTERM', dies).once('SIGINT', dies);
  try {
    await start();
    const key = /vintem test key (vtm_test_\S+)/.exec(output)?.[1] ?? '';
    const call = callWith(url, key);
    const operations = await fund(call, simulatorUrl);
    using clients = startClients({
      ...options,
      call,
      operations,
      historyPath: join(dataDir, 'history.ndjson'),
    });

    for (let loop = 0; loop < options.loops; loop++) {
      await pause(300 + chance.below(1_500));
      const how = chance.pick(['everything', 'service', 'database', 'connections', 'stop'] as const);
      figures.kills[how] = (figures.kills[how] ?? 0) + 1;
      const died = performance.now();
      const pid = (child as ChildProcess | null)?.pid ?? null;
      const server = findPostmaster(dataDir);
      if (how === 'stop') {
        killIfAlive(pid, 'SIGSTOP');
        await pause(17_000);
        killIfAlive(pid, 'SIGCONT');
      } else if (how === 'connections') {
        figures.cutConnections += await cutConnections(dataDir, chance.below(3) + 1);
      } else {
        const gone = new Promise<void>((resolve) =>
          how === 'database' ? resolve() : (child as ChildProcess | null)?.once('exit', () => resolve()),
        );
        if (how === 'everything' && pid) killIfAlive(-pid, 'SIGKILL');
        if (how === 'service') killIfAlive(pid, 'SIGKILL');
        if (how !== 'service') killIfAlive(server, 'SIGKILL');
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
        `loop ${loop + 1}: ${how}, ${clients.counts.calls} calls, serving after ${Math.round(performance.now() - died)} ms`,
      );
    }
    await clients.stop();
    Object.assign(figures, clients.counts);
    figures.faults.push(...(await restAndCheck(dataDir, call, simulatorUrl, operations)));
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
    const server = findPostmaster(dataDir);
    if (last?.pid && last.exitCode === null) {
      last.kill('SIGTERM');
      await Promise.race([new Promise((resolve) => last.once('exit', resolve)), pause(10_000)]);
      killIfAlive(-last.pid, 'SIGKILL');
    }
    killIfAlive(server, 'SIGKILL');
    await rm(dataDir, { recursive: true, force: true });
  }
  figures.seconds = Math.round((performance.now() - began) / 1000);
  return figures;
}

/** Every session of the service's role is ended by the server, in the middle of whatever it was doing, so many times in a row. */
async function cutConnections(dataDir: string, times: number): Promise<number> {
  const url = await findEmbedded(dataDir);
  if (url === null) return 0;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  let cut = 0;
  try {
    for (let time = 0; time < times; time++) {
      const { rowCount } = await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      );
      cut += rowCount ?? 0;
      await pause(200);
    }
  } finally {
    await client.end();
  }
  return cut;
}

if (import.meta.main) {
  const figures = await killLoop({
    ...numbersGiven({ seed: 1, loops: 4, clients: 8 }),
    say: console.log,
  });
  console.log(JSON.stringify(figures));
  for (const fault of figures.faults) console.log(`VIOLATION: ${fault}`);
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
