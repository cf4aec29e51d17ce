import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from './free-port.ts';
import { findPostmaster, killIfAlive } from './processes.ts';
import { endWithRun } from './run.ts';
import { callWith, type Merchant, merchantOf, type Simulator, simulatorAt } from './service.ts';

const entry = fileURLToPath(new URL('../../server/src/main/cli/launch.js', import.meta.url));

/** The program as a user starts it: processes of its own, on a folder of its own. */
export interface Program {
  dataDir: string;
  url: string;
  simulatorUrl: string;
  /** Its standard output, over all its starts. */
  output(): string;
  /** Starts it (again) on the same folder; resolves when it says that it is ready. */
  start(): Promise<void>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
  /** kill -9 of every process of it, the database included. */
  kill(): Promise<void>;
  /** Stops what is left and removes the folder. */
  remove(): Promise<void>;
}

export async function programOn(env: Record<string, string> = {}): Promise<Program> {
  const dataDir = await mkdtemp(join(tmpdir(), 'vintem-program-'));
  // As root the database runs as another user, who has to pass through.
  await chmod(dataDir, 0o711);
  const [port, simulatorPort] = [await freePort(), await freePort()];
  const printed: string[] = [];
  const errors: string[] = [];
  let child: ChildProcess | null = null;

  const exited = (one: ChildProcess): Promise<number | null> =>
    one.exitCode !== null || one.signalCode !== null
      ? Promise.resolve(one.exitCode)
      : new Promise((resolve) => one.once('exit', (code) => resolve(code)));

  const program: Program = {
    dataDir,
    url: `http://127.0.0.1:${port}`,
    simulatorUrl: `http://127.0.0.1:${simulatorPort}`,
    output: () => printed.join(''),

    async start() {
      const before = printed.length;
      const started = spawn(process.execPath, [entry, 'start'], {
        // A group of its own, so that all of it can be killed in one moment.
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          ...process.env,
          DATA_DIR: dataDir,
          PORT: String(port),
          SIMULATOR_PORT: String(simulatorPort),
          RATE_LIMITS: 'off',
          LOG_LEVEL: 'warn',
          ...env,
        },
      });
      child = endWithRun(started);
      started.stderr?.setEncoding('utf8').on('data', (text: string) => errors.push(text));
      await new Promise<void>((resolve, reject) => {
        started.stdout?.setEncoding('utf8').on('data', (text: string) => {
          printed.push(text);
          if (printed.slice(before).join('').includes('vintem ready ')) resolve();
        });
        started.once('exit', (code) =>
          reject(new Error(`it ended with ${code}: ${errors.join('').slice(-2000)}`)),
        );
      });
    },

    async stop() {
      if (!child) return null;
      child.kill('SIGTERM');
      return exited(child);
    },

    async kill() {
      if (!child?.pid) return;
      const postmaster = findPostmaster(dataDir);
      killIfAlive(-child.pid, 'SIGKILL');
      killIfAlive(postmaster, 'SIGKILL');
      await exited(child);
    },

    async remove() {
      if (child && child.exitCode === null && child.signalCode === null) await program.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
  return program;
}

/** The merchant whose key a first start prints, and the provider beside it. */
export async function testMerchant(program: Program): Promise<{ merchant: Merchant; simulator: Simulator }> {
  const key = /vintem test key (vtm_test_\S+)/.exec(program.output())?.[1] ?? '';
  const call = callWith(`${program.url}/api/v1/public`, key);
  const { ownerId, operations } = (await call('GET', '/operations')).body;
  const simulator = simulatorAt(program.simulatorUrl);
  return {
    merchant: merchantOf({ ownerId, operationId: operations[0].id, key, call }, simulator),
    simulator,
  };
}
